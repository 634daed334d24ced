/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_new.c - `dshost new env NAME`: writes a folder with a working plugin to start from. Its source is the
 * example of the language with another id. `dshost new scene NAME` writes a scene file (new_scene.h). */
#include "config.h"

#include <ctype.h>
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
#include "catalog/new_scene.h"
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
        rc = scene ? ds_new_scene(argv[optind + 1], from != NULL ? from : "press", p.folder, e)
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
