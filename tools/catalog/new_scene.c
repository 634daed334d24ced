/* SPDX-License-Identifier: Apache-2.0 */
/* new_scene.c - see new_scene.h. */
#include "config.h"

#include "catalog/new_scene.h"

#include "base/file.h"
#include "base/json_text.h"
#include "catalog/new_files.h"

#include <ctype.h>
#include <diffsim/helper/nearest.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char folder[] = "scenes/", ending[] = ".ini";
enum { FILES = 16, NAME = 80, PATH = 4000 };

/* What is copied: `from` among the examples, and its name here. */
typedef struct copy {
    const ds_new_file *from;
    const char *to; /* NULL: its own name */
} copy;

typedef struct plan {
    char name[NAME];   /* of the new scene, without .ini */
    char source[NAME]; /* of the example, with .ini */
    char env[NAME];    /* the environment of the example */
    char beside[PATH]; /* folder of the new scene, with '/', or "" */
    copy file[FILES];
    size_t files;
} plan;

/* ---- examples ---- */

static const ds_new_file *find(const char *name, size_t length)
{
    const size_t skip = sizeof folder - 1;
    for (const ds_new_file *f = ds_new_files; f->name != NULL; f++) {
        if (strncmp(f->name, folder, skip) == 0 && strlen(f->name) == skip + length &&
            strncmp(f->name + skip, name, length) == 0) {
            return f;
        }
    }
    return NULL;
}

/* The word after "--env" in the comments of a scene; "" where it has none. */
static void read_env(const ds_new_file *f, char out[NAME])
{
    static const char mark[] = "--env ";
    out[0] = '\0';
    for (size_t i = 0; f->lines[i] != NULL && f->lines[i][0] == ';'; i++) {
        const char *at = strstr(f->lines[i], mark);
        if (at != NULL) {
            at += sizeof mark - 1;
            snprintf(out, NAME, "%.*s", (int)strcspn(at, " "), at);
            return;
        }
    }
}

/* A scene that a user can start from says how it is run. */
static int is_example(const ds_new_file *f)
{
    char env[NAME];
    const size_t n = strlen(f->name);
    if (strncmp(f->name, folder, sizeof folder - 1) != 0 || n < sizeof ending ||
        strcmp(f->name + n - (sizeof ending - 1), ending) != 0) {
        return 0;
    }
    read_env(f, env);
    return env[0] != '\0';
}

/* An unknown example, with the known ones and the nearest of them. */
static int refuse(const char *word, ds_error *e)
{
    enum { MOST = 64 };
    char name[MOST][NAME], all[1000] = "";
    const char *known[MOST];
    size_t count = 0, used = 0;
    for (const ds_new_file *f = ds_new_files; f->name != NULL && count < MOST; f++) {
        if (!is_example(f)) {
            continue;
        }
        const char *bare = f->name + sizeof folder - 1;
        snprintf(name[count], NAME, "%.*s", (int)(strlen(bare) - (sizeof ending - 1)), bare);
        const int put = snprintf(all + used, sizeof all - used, "%s%s", count > 0 ? ", " : "", name[count]);
        used += put > 0 && (size_t)put < sizeof all - used ? (size_t)put : 0;
        known[count] = name[count];
        count++;
    }
    const char *near = ds_nearest(word, known, count);
    return ds_fail(e, DS_EXIT_USAGE, "new: --from %.60s: expected one of %s%s%s%s", word, all,
                   near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

/* ---- the plan ---- */

/* Adds the examples' files that a scene names as values, and what these name. */
static int add(plan *p, const ds_new_file *f, const char *to, ds_error *e)
{
    for (size_t k = 0; k < p->files; k++) {
        if (p->file[k].from == f) {
            return 0;
        }
    }
    if (p->files == FILES) {
        return ds_fail(e, DS_EXIT_USAGE, "new: the scene refers to more than %d files", FILES);
    }
    p->file[p->files++] = (copy){f, to};
    for (size_t i = 0; f->lines[i] != NULL; i++) {
        const char *value = strstr(f->lines[i], " = ");
        const ds_new_file *other = value == NULL ? NULL : find(value + 3, strcspn(value + 3, " ;"));
        const int rc = other == NULL ? 0 : add(p, other, NULL, e);
        if (rc != 0) {
            return rc;
        }
    }
    return 0;
}

static int make_plan(plan *p, const char *from, ds_error *e)
{
    snprintf(p->source, sizeof p->source, "%.70s%s", from, ending);
    const ds_new_file *f = find(p->source, strlen(p->source));
    if (f == NULL || !is_example(f)) {
        return refuse(from, e);
    }
    read_env(f, p->env);
    return add(p, f, NULL, e);
}

/* ---- files ---- */

static void put_replaced(FILE *out, const char *line, const char *old, const char *new)
{
    const size_t n = strlen(old);
    for (const char *at; (at = strstr(line, old)) != NULL; line = at + n) {
        fprintf(out, "%.*s%s", (int)(at - line), line, new);
    }
    fprintf(out, "%s\n", line);
}

/* The comments about the next commands. */
static void put_head(FILE *out, const plan *p)
{
    fprintf(out,
            "; Check and draw it: dshost scene %s.ini -o %s.png\n"
            "; Optimize it: dshost run --env %s --set env.scene=%s.ini --opt racer --budget 50\n"
            "; Lengths are in m, y is up. Names of files are relative to this one. A ';' begins a comment.\n"
            "; docs/scenes.md lists all sections and keys; a wrong one is refused with its line.\n",
            p->name, p->name, p->env, p->name);
}

/* A scene file with the new name in place of the example's; others as they are. */
static int write_copy(const plan *p, const copy *c, const char *path, ds_error *e)
{
    char *text = NULL, named[NAME + 8];
    size_t size = 0;
    int head = c == &p->file[0];
    FILE *out = open_memstream(&text, &size);
    if (out == NULL) {
        return ds_no_memory(e);
    }
    snprintf(named, sizeof named, "%s%s", p->name, ending);
    for (const char *const *line = c->from->lines; *line != NULL; line++) {
        if (head && **line != ';') {
            put_head(out, p);
            head = 0;
        }
        put_replaced(out, *line, p->source, named);
    }
    int rc = fclose(out) != 0 ? ds_no_memory(e) : ds_file_write_atomic(path, text, size, e);
    free(text);
    return rc;
}

static int write_all(const plan *p, const char *scene, ds_error *e)
{
    int rc = 0;
    for (size_t k = p->files; rc == 0 && k-- > 0;) {
        char path[PATH + NAME];
        const char *own = p->file[k].from->name + sizeof folder - 1;
        snprintf(path, sizeof path, "%s%s", p->beside, own);
        const char *to = k == 0 ? scene : path;
        if (k > 0 && access(to, F_OK) == 0) {
            continue;
        }
        rc = write_copy(p, &p->file[k], to, e);
    }
    return rc;
}

/* ---- the command ---- */

static int read_name(plan *p, const char *name, const char *out, char scene[PATH], ds_error *e)
{
    const size_t n = strlen(name);
    if (n == 0 || n > 60 || !isalnum((unsigned char)name[0]) ||
        strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != n) {
        return ds_fail(
            e, DS_EXIT_USAGE,
            "new: '%.70s' cannot be the name of a scene: use letters, digits, _ and -, at most 60; "
            "--out FILE.ini gives another place",
            name);
    }
    snprintf(p->name, sizeof p->name, "%s", name);
    const int put = out != NULL ? snprintf(scene, PATH, "%s", out) : snprintf(scene, PATH, "%s.ini", name);
    if (put >= PATH) {
        return ds_fail(e, DS_EXIT_USAGE, "new: --out: the path is too long");
    }
    const char *slash = strrchr(scene, '/'), *last = slash != NULL ? slash + 1 : scene;
    snprintf(p->beside, sizeof p->beside, "%.*s", (int)(last - scene), scene);
    const size_t length = strlen(last);
    if (length < sizeof ending || strcmp(last + length - (sizeof ending - 1), ending) != 0) {
        return ds_fail(e, DS_EXIT_USAGE, "new: --out %.200s: the name of a scene file ends with .ini", scene);
    }
    snprintf(p->name, sizeof p->name, "%.*s", (int)(length - (sizeof ending - 1)), last);
    return access(scene, F_OK) == 0 ? ds_fail(e, DS_EXIT_IO,
                                              "%s already exists: choose another name, or another file with "
                                              "--out",
                                              scene)
                                    : 0;
}

int ds_new_scene(const char *name, const char *from, const char *out, ds_error *e)
{
    char scene[PATH];
    plan *p = calloc(1, sizeof *p);
    int rc = p == NULL ? ds_no_memory(e) : read_name(p, name, out, scene, e);
    rc = rc != 0 ? rc : make_plan(p, from, e);
    rc = rc != 0 ? rc : write_all(p, scene, e);
    if (rc == 0) {
        printf("%s: a scene of the environment %s; next: dshost scene %s -o %s.png\n", scene, p->env, scene,
               p->name);
        rc = ds_stdout_done(e);
    }
    free(p);
    return rc;
}
