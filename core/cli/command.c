/* SPDX-License-Identifier: Apache-2.0 */
/* command.c - how every command begins and ends, the table of commands, and how dshost becomes the program of
 * one. */
#include "config.h"

#include "cli/command.h"

#include "arithmetic/arithmetic.h"
#include "base/json_text.h"
#include "base/log.h"
#include "base/program.h"
#include "base/text.h"
#include "protect/call_state.h"
#include "protect/crash.h"

#include <diffsim/base.h>

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int print_version(void)
{
    printf("dshost %s (plugin ABI %u.%u)\n", PACKAGE_VERSION, DS_ABI_MAJOR, DS_ABI_MINOR);
    return DS_EXIT_OK;
}

int ds_command_main(int argc, char **argv, int (*command)(int argc, char **argv, ds_error *e))
{
    ds_error e = {0, ""};
    ds_program_hold_standard();
    ds_files_least();
    ds_locale_use_c();
    ds_crash_allow();
    /* Exceeding `ulimit -f` becomes an error of write() instead of ending the program. */
    signal(SIGXFSZ, SIG_IGN);
    /* Inherited from a parent that ignores it, it would hide how children end. */
    signal(SIGCHLD, SIG_DFL);
    /* Flags may follow other arguments, also where POSIXLY_CORRECT is set. */
    unsetenv("POSIXLY_CORRECT");
    /* BLAS in a plugin reads these when it is loaded; more than one thread would make results depend on the
     * machine. */
    setenv("OPENBLAS_NUM_THREADS", "1", 0);
    setenv("OMP_NUM_THREADS", "1", 0);

    int version = argc > 1 && (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0);
    int status = version ? print_version() : ds_portable_begin(argc, argv, &e);
    status = status != 0 || version ? status : command(argc, argv, &e);
    /* Check that all output was written: a full disk behind a redirection is an error. */
    status = status > 0 ? status : ds_stdout_done(&e);
    if (status != 0 && e.text[0] != '\0') {
        ds_log(DS_LOG_ERROR, NULL, "%s", e.text);
    }
    if (ds_crash_ends_at_once()) {
        _exit(status); /* stdout is flushed, and stderr has no buffer */
    }
    return status;
}

/* ---- the table of commands ---- */

enum { NAME_MAX_BYTES = 60, OTHERS_MAX = 64 };

static const struct command {
    const char *name, *summary;
    int built_in; /* in dshost itself */
} commands[] = {
    {"run", "search with an optimizer; the default command", 1},
    {"resume", "continue an interrupted run, or extend a finished one", 1},
    {"bench", "run an experiment: environments x optimizers x seeds, resumable, in parallel", 0},
    {"merge", "join the parts of an experiment that were made on several machines", 0},
    {"plot", "one figure about many runs: curves, bars, scores, profiles", 0},
    {"table", "a table for a paper or a page: LaTeX, Markdown, CSV", 0},
    {"report", "one HTML page about many runs: tables, intervals, tests, figures", 0},
    {"compare", "which of two sets of runs is better, by how much, how sure", 0},
    {"export", "write the evaluations of a run as CSV, JSONL, NumPy, IOHanalyzer or COCO files", 0},
    {"eval", "evaluate one point: loss, gradient, metrics, trajectory", 0},
    {"view", "see episodes: an interactive page, and files for other programs", 0},
    {"gradients", "first-, zeroth- and alpha-order gradients of a smoothed loss, over slices and sweeps", 0},
    {"landscape", "loss, gradient and gradient quality on a slice, with pictures", 0},
    {"identify", "unknown quantities from recordings, with intervals, minima and a recovery certificate", 0},
    {"scene", "check and draw a scene file, and measure what an episode costs", 0},
    {"target", "make a target density of a mesh, of points, or of the end of an episode", 0},
    {"list", "list the plugins on the search path", 0},
    {"help", "describe a plugin and its parameters, or a command", 0},
    {"template", "print a commented .ini file for an environment and an optimizer", 0},
    {"new", "write a working plugin (C, C++, Python, Rust) or a scene file to start from", 0},
    {"check", "test a plugin for conformance (TAP on stdout)", 0},
    {"doctor", "print versions, paths and limits, and test what a run needs", 0},
};
enum { COMMANDS = sizeof commands / sizeof commands[0] };

static const struct command *find(const char *name)
{
    for (int i = 0; i < COMMANDS; i++) {
        if (strcmp(name, commands[i].name) == 0) {
            return &commands[i];
        }
    }
    return NULL;
}

/* ---- third-party commands ---- */

static int is_name(const char *s)
{
    size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789_-");
    return n > 0 && n < NAME_MAX_BYTES && s[n] == '\0';
}

typedef struct others {
    char *name[OTHERS_MAX + 1];
    size_t count;
} others;

/* Adds a command that is new and that the shell would find. */
static void add_other(others *o, const char *folder, const char *file)
{
    char path[PATH_MAX];
    const char *name = file + strlen("dshost-");
    int n = snprintf(path, sizeof path, "%s/%s", folder, file);
    int fresh = o->count < OTHERS_MAX && n < (int)sizeof path && is_name(name) && find(name) == NULL &&
                strcmp(name, "worker") != 0 && strcmp(name, "picture") != 0 && strcmp(name, "frames") != 0 &&
                access(path, X_OK) == 0;
    for (size_t i = 0; i < o->count; i++) {
        fresh = fresh && strcmp(o->name[i], name) != 0;
    }
    if (fresh && (o->name[o->count] = strdup(name)) != NULL) {
        o->count++;
    }
}

static void add_folder(others *o, const char *folder)
{
    DIR *d = opendir(folder);
    const struct dirent *entry;
    while (d != NULL && (entry = readdir(d)) != NULL) {
        if (strncmp(entry->d_name, "dshost-", strlen("dshost-")) == 0) {
            add_other(o, folder, entry->d_name);
        }
    }
    if (d != NULL) {
        closedir(d);
    }
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void print_others(FILE *f)
{
    others o = {0};
    const char *path = getenv("PATH");
    char *copy = path != NULL ? strdup(path) : NULL, *rest = copy;
    for (char *folder; (folder = strsep(&rest, ":")) != NULL;) {
        add_folder(&o, folder);
    }
    free(copy);
    qsort(o.name, o.count, sizeof o.name[0], by_name);
    for (size_t i = 0; i < o.count; i++) {
        fprintf(f, "%s  %s\n", i == 0 ? "\ncommands on PATH:\n" : "", o.name[i]);
        free(o.name[i]);
    }
}

void ds_usage(FILE *f)
{
    fprintf(f, "usage: dshost [COMMAND] [OPTIONS]\n\n"
               "  dshost --env plugins/envs/torus.so --opt boleap.so    one run: progress, saved result, "
               "pictures\n\n"
               "commands:\n");
    for (int i = 0; i < COMMANDS; i++) {
        fprintf(f, "  %-9s %s\n", commands[i].name, commands[i].summary);
    }
    print_others(f);
    fprintf(f, "\nMore: `dshost COMMAND --help`, `dshost help ID`, `man dshost`\n");
}

/* ---- becoming a program ---- */

/* Finds the program of a command: 0 and *path, or an exit status. */
static int program_of(const char *name, char path[PATH_MAX], ds_error *e)
{
    char file[NAME_MAX_BYTES + 8];
    if (!is_name(name)) {
        return ds_fail(e, DS_EXIT_USAGE, "not a valid command name");
    }
    snprintf(file, sizeof file, "dshost-%s", name);
    return ds_program_find(file, path, e);
}

int ds_is_command(const char *name)
{
    char path[PATH_MAX];
    ds_error none;
    return find(name) != NULL || program_of(name, path, &none) == 0;
}

static int unknown(const char *name, ds_error *e)
{
    const char *names[COMMANDS];
    for (int i = 0; i < COMMANDS; i++) {
        names[i] = commands[i].name;
    }
    const char *near = ds_nearest(name, names, COMMANDS);
    return ds_fail(e, DS_EXIT_USAGE,
                   near != NULL ? "unknown command '%.60s'; did you mean '%s'?"
                                : "unknown command '%.60s'; `dshost --help` lists them",
                   name, near);
}

/* Becomes the program at `path` with the NULL-terminated arguments `rest`. */
static int become(char *path, char *const *rest, ds_error *e)
{
    size_t n = 0;
    while (rest[n] != NULL) {
        n++;
    }
    char **argv = calloc(n + 2, sizeof *argv);
    if (argv == NULL) {
        return ds_no_memory(e);
    }
    argv[0] = strrchr(path, '/') + 1;
    memcpy(argv + 1, rest, n * sizeof *argv);
    execv(path, argv);
    free(argv);
    return ds_fail(e, DS_EXIT_IO, "cannot start %.200s: %s", path, strerror(errno));
}

int ds_dispatch(const char *name, char *const *rest, ds_error *e)
{
    char path[PATH_MAX];
    if (program_of(name, path, e) != 0) {
        return find(name) != NULL ? e->status : unknown(name, e);
    }
    return become(path, rest, e);
}

int ds_dispatch_help(const char *name, ds_error *e)
{
    char flag[] = "--help", copy[NAME_MAX_BYTES], path[PATH_MAX];
    char *const rest[] = {copy, flag, NULL};
    const struct command *c = find(name);
    if (c == NULL || !c->built_in) {
        return ds_dispatch(name, rest + 1, e);
    }
    snprintf(copy, sizeof copy, "%s", name);
    return ds_program_find("dshost", path, e) != 0 ? e->status : become(path, rest, e);
}
