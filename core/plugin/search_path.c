/* SPDX-License-Identifier: Apache-2.0 */
/* search_path.c - the folders in which plugins are looked for, and the files in them. */
#include "config.h"

#include "plugin/search_path.h"

#include <diffsim/plugin.h>
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/program.h"
#include "base/text.h"

static char **folders; /* NULL-terminated */
static size_t folder_count;

static void add_folder(const char *dir, size_t length)
{
    static const char *const below[] = {"", "/envs", "/optimizers"};
    char **grown = length > 0 ? realloc(folders, (folder_count + 4) * sizeof *folders) : NULL;
    if (grown == NULL) {
        return;
    }
    folders = grown;
    for (int k = 0; k < 3; k++) {
        char text[PATH_MAX];
        if ((size_t)snprintf(text, sizeof text, "%.*s%s", (int)length, dir, below[k]) < sizeof text &&
            (folders[folder_count] = strdup(text)) != NULL) {
            folder_count++;
        }
    }
    folders[folder_count] = NULL;
}

static void make_path(void)
{
    char text[PATH_MAX];
    const char *env, *home;

    env = secure_getenv("DS_PLUGIN_PATH");
    while (env != NULL && *env != '\0') {
        size_t n = strcspn(env, ":");
        add_folder(env, n);
        env += n + (env[n] == ':');
    }
    home = secure_getenv("HOME");
    if (home != NULL && home[0] == '/') {
        int n = snprintf(text, sizeof text, "%s/.local/lib/diffsim", home);
        add_folder(text, n < (int)sizeof text ? (size_t)n : 0);
    }
    if (ds_program_build_tree(text)) {
        size_t n = strlen(text);
        n += (size_t)snprintf(text + n, sizeof text - n, "/plugins");
        add_folder(text, n < sizeof text ? n : 0);
    }
    add_folder(DS_PLUGINDIR, strlen(DS_PLUGINDIR));
}

const char *const *ds_loader_path(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_path);
    return (const char *const *)folders;
}

/* Length of a name without its .so; 0 where it is none of a plugin. */
static size_t stem(const char *name)
{
    size_t n = strlen(name);
    return n > 3 && strcmp(name + n - 3, ".so") == 0 ? n - 3 : 0;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

size_t ds_plugin_files(const char *folder, char *names[DS_FILES_MAX], size_t count)
{
    DIR *d = opendir(folder);
    size_t n = count;
    for (struct dirent *f; d != NULL && n < DS_FILES_MAX && (f = readdir(d)) != NULL;) {
        if (stem(f->d_name) > 0) {
            names[n] = strdup(f->d_name);
            n += names[n] != NULL;
        }
    }
    if (d != NULL) {
        closedir(d);
    }
    qsort(names + count, n - count, sizeof *names, by_name);
    return n;
}

const char *ds_kind_name(uint32_t kind)
{
    return kind == DS_KIND_ENV ? "environment" : kind == DS_KIND_OPTIMIZER ? "optimizer" : "plugin";
}

/* Says that an id is nowhere, with the nearest one that is. */
static int not_found(const char *id, uint32_t kind, ds_error *e)
{
    char *known[DS_FILES_MAX], hint[120], here[64];
    size_t n = 0;
    const char *const *path = ds_loader_path();
    for (size_t i = 0; path[i] != NULL; i++) {
        n = ds_plugin_files(path[i], known, n);
    }
    for (size_t i = 0; i < n; i++) {
        known[i][strlen(known[i]) - 3] = '\0';
    }
    const char *near = ds_nearest(id, (const char *const *)known, n);
    snprintf(here, sizeof here, "%.50s.so", id);
    if (near == NULL && access(here, F_OK) == 0) {
        snprintf(hint, sizeof hint, "there is one in this folder: './%s'", here);
    } else {
        snprintf(hint, sizeof hint, near != NULL ? "did you mean '%s'?" : "`dshost list` shows what there is",
                 near);
    }
    int status =
        ds_fail(e, DS_EXIT_PLUGIN, "no %s '%s' on the plugin path; %s", ds_kind_name(kind), id, hint);
    for (size_t i = 0; i < n; i++) {
        free(known[i]);
    }
    return status;
}

int ds_plugin_file_of(const char *name, ds_plugin_file *out, ds_error *e)
{
    const char *base = strrchr(name, '/');
    base = base != NULL ? base + 1 : name;
    if (realpath(name, out->path) == NULL) {
        return ds_fail(e, DS_EXIT_PLUGIN, "%s: cannot be opened: %s", name, strerror(errno));
    }
    size_t n = stem(base);
    if (n == 0 || n >= sizeof out->id) {
        return ds_fail(e, DS_EXIT_PLUGIN, "%s: the name of a plugin file is ID.so", name);
    }
    snprintf(out->id, sizeof out->id, "%.*s", (int)n, base);
    return 0;
}

int ds_plugin_find(const char *name, uint32_t kind, ds_plugin_file *out, ds_error *e)
{
    char id[64], file[PATH_MAX];
    size_t n = stem(name) > 0 ? stem(name) : strlen(name);
    if (strchr(name, '/') != NULL) {
        return ds_plugin_file_of(name, out, e);
    }
    if (n == 0 || n >= sizeof id) {
        return ds_fail(e, DS_EXIT_PLUGIN, "'%.80s' is no name of a plugin", name);
    }
    snprintf(id, sizeof id, "%.*s", (int)n, name);
    const char *const *path = ds_loader_path();
    for (size_t i = 0; path[i] != NULL; i++) {
        if ((size_t)snprintf(file, sizeof file, "%s/%s.so", path[i], id) < sizeof file &&
            access(file, F_OK) == 0) {
            return ds_plugin_file_of(file, out, e);
        }
    }
    return not_found(id, kind, e);
}
