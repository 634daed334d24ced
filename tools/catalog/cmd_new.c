/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_new.c - `dshost new env NAME`: writes a folder with a working plugin to start from. Its source is the
 * example of the language with another id. `dshost new scene NAME` writes a scene file, a copy of one of
 * examples/scenes. */
#include "config.h"

#include <ctype.h>
#include <diffsim/helper/nearest.h>
#include <diffsim/plugin.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json_text.h"
#include "base/program.h"
#include "base/text.h"
#include "catalog/new_files.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "plugin/search_path.h"

/* Per language: the example, by its id for env and opt, the ending of its name, its Makefile, other files. */
typedef struct language {
    const char *name, *env, *opt, *ending, *makefile, *more;
    int is_plugin; /* the source is the plugin: nothing is compiled */
} language;

static const language languages[] = {{"c", "hill", "walk", "c", "Makefile-c", NULL, 0},
                                     {"c++", "hill_cpp", "walk_cpp", "cpp", "Makefile-cpp", "plugin.map", 0},
                                     {"python", "hill", "walk", "py", "Makefile-py", NULL, 1},
                                     {"rust", "hill_rust", "walk_rust", "rs", "Makefile-rs", NULL, 0}};
enum { LANGUAGES = sizeof languages / sizeof languages[0] };

/* Replacements for @NAME@ and the other markers. */
typedef struct plan {
    const language *lang;
    const char *name, *example, *folder;
    uint32_t kind;
    char source[80], plugin[80]; /* file names */
    char *dshost;                /* words of a shell in a Makefile */
    char *cflags;
} plan;

/* ---- texts ---- */

/* A path as a word of a shell in a Makefile, to be freed; NULL without memory. */
static char *make_word(const char *path)
{
    char *word = NULL, *out = NULL;
    size_t size;
    FILE *f = open_memstream(&word, &size);
    if (f != NULL) {
        ds_text_shell_word(f, path);
        fclose(f);
        f = open_memstream(&out, &size);
    }
    for (const char *p = word; f != NULL && *p != '\0'; p++) {
        fprintf(f, "%s%c", *p == '$' ? "$" : *p == '#' ? "\\" : "", *p);
    }
    if (f != NULL) {
        fclose(f);
    }
    free(word);
    return out;
}

/* How to find the headers: by pkg-config for this build or installation, else at their current path. */
static char *headers(const char *pc, const char *include)
{
    char *text = NULL, *pc_word = make_word(pc), *include_word = make_word(include);
    if (pc_word != NULL && include_word != NULL &&
        asprintf(&text,
                 "$(shell PKG_CONFIG_PATH=%s:$$PKG_CONFIG_PATH pkg-config --cflags diffsim 2> /dev/null || "
                 "echo -I%s)",
                 pc_word, include_word) < 0) {
        text = NULL;
    }
    free(pc_word);
    free(include_word);
    return text;
}

static int is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Writes a line with its markers replaced, and the id of the example where it is a word. */
static void fill(FILE *f, const char *line, const plan *p)
{
    const struct {
        const char *mark, *value;
    } marks[] = {{"@NAME@", p->name},     {"@SOURCE@", p->source},
                 {"@PLUGIN@", p->plugin}, {"@DSHOST@", p->dshost},
                 {"@CFLAGS@", p->cflags}, {"@MADE@", p->lang->is_plugin ? "nothing to be done" : p->plugin}};
    const size_t id = strlen(p->example);
    for (const char *s = line; *s != '\0';) {
        size_t k = 0, marked = sizeof marks / sizeof marks[0];
        while (k < marked && strncmp(s, marks[k].mark, strlen(marks[k].mark)) != 0) {
            k++;
        }
        if (k < marked) {
            fputs(marks[k].value, f);
            s += strlen(marks[k].mark);
        } else if (strncmp(s, p->example, id) == 0 && (s == line || !is_word(s[-1])) && !is_word(s[id])) {
            fputs(p->name, f);
            s += id;
        } else {
            fputc(*s++, f);
        }
    }
    fputc('\n', f);
}

/* ---- files ---- */

static int write_file(const char *from, const char *to, const plan *p, ds_error *e)
{
    char path[PATH_MAX], *text = NULL;
    size_t size = 0;
    const ds_new_file *file = ds_new_files;
    while (strcmp(file->name, from) != 0) {
        file++;
    }
    FILE *f = open_memstream(&text, &size);
    for (size_t i = 0; f != NULL && file->lines[i] != NULL; i++) {
        fill(f, file->lines[i], p);
    }
    int rc = f == NULL || fclose(f) != 0 ? ds_no_memory(e) : 0;
    if (rc == 0 && snprintf(path, sizeof path, "%s/%s", p->folder, to) >= (int)sizeof path) {
        rc = ds_fail(e, DS_EXIT_USAGE, "new: the path of the folder is too long");
    }
    rc = rc != 0 ? rc : ds_file_write_atomic(path, text, size, e);
    free(text);
    return rc;
}

/* All files, or none and no folder. */
static int write_folder(const plan *p, ds_error *e)
{
    const int env = p->kind == DS_KIND_ENV;
    char example[80], ini[80];
    snprintf(example, sizeof example, "%s.%s", p->example, p->lang->ending);
    snprintf(ini, sizeof ini, "%s.ini", p->name);
    const struct {
        const char *from, *to;
    } files[] = {
        {example, p->source},       {p->lang->makefile, "Makefile"}, {env ? "env.ini" : "opt.ini", ini},
        {"README.md", "README.md"}, {"test.sh", "test.sh"},          {p->lang->more, p->lang->more}};
    const size_t count = sizeof files / sizeof files[0] - (p->lang->more == NULL);
    if (mkdir(p->folder, 0777) != 0) {
        return errno == EEXIST
                   ? ds_fail(e, DS_EXIT_IO, "%s already exists: choose another name, or a folder with --out",
                             p->folder)
                   : ds_fail(e, DS_EXIT_IO, "%s: cannot create the folder: %s", p->folder, strerror(errno));
    }
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < count; i++) {
        rc = write_file(files[i].from, files[i].to, p, e);
    }
    for (size_t i = 0; rc != 0 && i < count; i++) {
        char path[PATH_MAX];
        if (snprintf(path, sizeof path, "%s/%s", p->folder, files[i].to) < (int)sizeof path) {
            unlink(path);
        }
    }
    if (rc != 0) {
        rmdir(p->folder);
    }
    return rc;
}

/* ---- the command ---- */

static int read_kind(const char *word, plan *p, ds_error *e)
{
    p->kind = strcmp(word, "env") == 0   ? (uint32_t)DS_KIND_ENV
              : strcmp(word, "opt") == 0 ? (uint32_t)DS_KIND_OPTIMIZER
                                         : 0;
    return p->kind != 0
               ? 0
               : ds_fail(e, DS_EXIT_USAGE,
                         "new: '%.40s' is not env, opt or scene: write, for example, `dshost new env pusher`",
                         word);
}

static int read_language(const char *word, plan *p, ds_error *e)
{
    for (int k = 0; k < LANGUAGES; k++) {
        if (strcmp(word, languages[k].name) == 0) {
            p->lang = &languages[k];
            p->example = p->kind == DS_KIND_ENV ? p->lang->env : p->lang->opt;
            return 0;
        }
    }
    return ds_fail(e, DS_EXIT_USAGE, "new: --lang %.40s: expected c, c++, python or rust", word);
}

static int read_name(const char *word, plan *p, ds_error *e)
{
    ds_plugin_file other;
    ds_error none;
    const size_t n = strlen(word);
    if (n > DS_MAX_NAME || strspn(word, "abcdefghijklmnopqrstuvwxyz0123456789_") != n ||
        !isalpha((unsigned char)word[0])) {
        return ds_fail(e, DS_EXIT_USAGE,
                       "new: '%.60s' cannot be the id of a plugin: use small letters, digits and _, "
                       "beginning with a letter, at most %u",
                       word, DS_MAX_NAME);
    }
    if (ds_plugin_find(word, 0, &other, &none) == 0) {
        return ds_fail(e, DS_EXIT_USAGE, "new: the plugin '%s' already exists, %.300s: choose another name",
                       word, other.path);
    }
    p->name = word;
    snprintf(p->source, sizeof p->source, "%s.%s", word, p->lang->ending);
    snprintf(p->plugin, sizeof p->plugin, "%s.%s", word, p->lang->is_plugin ? p->lang->ending : "so");
    return 0;
}

/* The commands in the Makefile: this dshost, and the compiler with its headers. */
static int find_tools(plan *p, ds_error *e)
{
    char pkgconfig[PATH_MAX], dshost[PATH_MAX], include[PATH_MAX + 16];
    if (ds_program_find("dshost", dshost, NULL) != 0) {
        snprintf(dshost, sizeof dshost, "dshost");
    }
    if (ds_installation_build_tree(pkgconfig)) {
        snprintf(include, sizeof include, "%s/include", pkgconfig);
    } else {
        ds_installation_folder(DS_INSTALLED_PKGCONFIG, pkgconfig);
        ds_installation_folder(DS_INSTALLED_INCLUDE, include);
    }
    p->dshost = make_word(dshost);
    p->cflags = headers(pkgconfig, include);
    return p->dshost == NULL || p->cflags == NULL ? ds_no_memory(e) : 0;
}

/* A plugin in a folder. */
static int new_plugin(const char *kind, const char *name, const char *lang, plan *p, ds_error *e)
{
    int rc = read_kind(kind, p, e);
    rc = rc != 0 ? rc : read_language(lang != NULL ? lang : "c", p, e);
    rc = rc != 0 ? rc : read_name(name, p, e);
    if (rc == 0) {
        p->folder = p->folder != NULL ? p->folder : p->name;
        rc = find_tools(p, e);
        rc = rc != 0 ? rc : write_folder(p, e);
    }
    if (rc == 0) {
        printf("%s: %s; next: cd there, then make check, make run\n", p->folder, p->source);
        rc = ds_stdout_done(e);
    }
    return rc;
}

/* ---- a scene ---- */

static const char folder[] = "scenes/", ending[] = ".ini";
enum { FILES = 16, NAME = 80, PATH = 4000 };

/* What is copied: `from` among the examples, and its name here. */
typedef struct copy {
    const ds_new_file *from;
    const char *to; /* NULL: its own name */
} copy;

typedef struct scene_plan {
    char name[NAME];   /* of the new scene, without .ini */
    char source[NAME]; /* of the example, with .ini */
    char env[NAME];    /* the environment of the example */
    char beside[PATH]; /* folder of the new scene, with '/', or "" */
    copy file[FILES];
    size_t files;
} scene_plan;

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

/* ---- the scene_plan ---- */

/* Adds the examples' files that a scene names as values, and what these name. */
static int add(scene_plan *p, const ds_new_file *f, const char *to, ds_error *e)
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

static int make_plan(scene_plan *p, const char *from, ds_error *e)
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
static void put_head(FILE *out, const scene_plan *p)
{
    fprintf(out,
            "; Check and draw it: dshost scene %s.ini -o %s.png\n"
            "; Optimize it: dshost run --env %s --set env.scene=%s.ini --opt racer --budget 50\n"
            "; Lengths are in m, y is up. Names of files are relative to this one. A ';' begins a comment.\n"
            "; docs/scenes.md lists all sections and keys; a wrong one is refused with its line.\n",
            p->name, p->name, p->env, p->name);
}

/* A scene file with the new name in place of the example's; others as they are. */
static int write_copy(const scene_plan *p, const copy *c, const char *path, ds_error *e)
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

static int write_all(const scene_plan *p, const char *scene, ds_error *e)
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

static int read_scene_name(scene_plan *p, const char *name, const char *out, char scene[PATH], ds_error *e)
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

/* Writes NAME.ini (or `out`) from the example `from`, with comments that name the next commands, and beside
 * it the meshes and scene files that it refers to; those that exist already stay as they are. Prints what was
 * written. */
static int new_scene(const char *name, const char *from, const char *out, ds_error *e)
{
    char scene[PATH];
    scene_plan *p = calloc(1, sizeof *p);
    int rc = p == NULL ? ds_no_memory(e) : read_scene_name(p, name, out, scene, e);
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

/* ---- the command ---- */

static int command(int argc, char **argv, ds_error *e)
{
    static const char usage[] =
        "usage: dshost new env NAME [--lang c|c++|python|rust] [--out DIR]\n       dshost new opt NAME "
        "[--lang c|c++|python|rust] [--out DIR]\n       dshost new scene NAME [--from EXAMPLE] [--out "
        "FILE.ini]\nWrites a folder with a working plugin: source, Makefile, settings, test; or a scene "
        "file.\n  --lang L     c, c++, python or rust [c]\n  --from E     the scene of examples/scenes to "
        "start from [press]\n  --out DIR    the folder, which must not exist [NAME]; or the scene file "
        "[NAME.ini]\n";
    const char *lang = NULL, *from = NULL;
    plan p = {0};
    const ds_flag flags[] = {{"lang", .text = &lang},
                             {"from", .text = &from},
                             {"out", .text = &p.folder},
                             {"help", .usage = usage},
                             {0}};
    int rc = ds_arguments_read(argc, argv, "new", flags, -1, NULL, e);
    if (rc == 0 && optind + 2 != argc) {
        rc =
            ds_fail(e, DS_EXIT_USAGE, "new: say what to create, and its name, as in `dshost new env pusher`");
    }
    const int scene = rc == 0 && strcmp(argv[optind], "scene") == 0;
    if (rc == 0 && (scene ? lang : from) != NULL) {
        rc = ds_fail(e, DS_EXIT_USAGE, "new: --%s is for %s: leave it out", scene ? "lang" : "from",
                     scene ? "plugins" : "scenes");
    }
    if (rc == 0) {
        rc = scene ? new_scene(argv[optind + 1], from != NULL ? from : "press", p.folder, e)
                   : new_plugin(argv[optind], argv[optind + 1], lang, &p, e);
    }
    free(p.dshost);
    free(p.cflags);
    return rc;
}

int main(int argc, char **argv)
{
    return ds_command_main(argc, argv, command);
}
