/* SPDX-License-Identifier: Apache-2.0 */
/* vacant.c - may a folder become that of a new run? Whoever reads folders takes one with a run.sqlite for a
 * run and what lies in it for a part of that. */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "store/run_folder.h"

/* Ends `name` with one of these? */
static int ends_with(const char *name, const char *const *endings)
{
    size_t n = strlen(name);
    for (; *endings != NULL; endings++) {
        size_t k = strlen(*endings);
        if (n > k && strcmp(name + n - k, *endings) == 0) {
            return 1;
        }
    }
    return 0;
}

/* What a start that was killed has left, and what is at home beside any run: settings, points, logs, hidden
 * files. */
static int is_harmless(const char *name)
{
    static const char *const beside[] = {".ini", ".log", ".out", ".err", ".txt", ".npy", NULL};
    return name[0] == '.' || strcmp(name, "run.lock") == 0 || strcmp(name, "lost+found") == 0 ||
           strncmp(name, "run.sqlite.", 11) == 0 || strncmp(name, "landscape.sqlite.", 17) == 0 ||
           (ends_with(name, beside) && strcmp(name, "bench.ini") != 0);
}

/* What only dshost writes. */
static int is_result(const char *name)
{
    static const char *const names[] = {"bench.ini", "bench.json", "run.sqlite", "landscape.sqlite",
                                        "summary.json"};
    for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++) {
        if (strcmp(name, names[k]) == 0) {
            return 1;
        }
    }
    return 0;
}

/* A folder in it with an experiment, runs or a landscape. */
static int holds_results(const char *folder, const char *name, int depth)
{
    struct stat st;
    char *path = ds_folder_path(folder, name);
    DIR *d = path != NULL && lstat(path, &st) == 0 && S_ISDIR(st.st_mode) ? opendir(path) : NULL;
    int has = 0;
    for (struct dirent *item; d != NULL && !has && (item = readdir(d)) != NULL;) {
        has = is_result(item->d_name) ||
              (depth > 0 && item->d_name[0] != '.' && holds_results(path, item->d_name, depth - 1));
    }
    if (d != NULL) {
        closedir(d);
    }
    free(path);
    return has;
}

int ds_folder_vacant(const char *folder, int results_only, ds_error *e)
{
    enum { DEPTH = 4 }; /* OUT/ENV/OPT/seed-K */
    DIR *d = opendir(folder);
    if (d == NULL) {
        return errno == ENOENT ? 0 : ds_fail(e, DS_EXIT_IO, "%s: %s", folder, strerror(errno));
    }
    int rc = 0;
    for (struct dirent *item; rc == 0 && (item = readdir(d)) != NULL;) {
        const char *name = item->d_name;
        const int result = is_result(name) || (name[0] != '.' && holds_results(folder, name, DEPTH));
        if (result || (!results_only && !is_harmless(name))) {
            rc = ds_fail(
                e, DS_EXIT_IO,
                "%s holds other %s already (%.100s): a run needs a folder of its own; choose another --out",
                folder, result ? "results" : "files", name);
        }
    }
    closedir(d);
    return rc;
}

int ds_folder_begun(const char *folder, const char *kind)
{
    char ini[48], store[48];
    snprintf(ini, sizeof(ini), "%s.ini", kind);
    snprintf(store, sizeof(store), "%s.sqlite", kind);
    return ds_folder_has(folder, ini) && !ds_folder_has(folder, store) &&
           ds_folder_vacant(folder, 0, NULL) == 0;
}
