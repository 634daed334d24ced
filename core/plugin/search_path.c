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
#include "own_plugins.h"

/* Folders, NULL-terminated: all of the path, and those of this host among them. */
typedef struct folder_list {
    char **item;
    size_t count;
} folder_list;
static folder_list all_path, own_path;

static void add_folder(folder_list *list, const char *dir, size_t length)
{
    static const char *const below[] = {"", "/envs", "/optimizers"};
    for (size_t i = 0; i < list->count; i += 3) { /* an installation in ~/.local */
        if (strlen(list->item[i]) == length && strncmp(list->item[i], dir, length) == 0) {
            return;
        }
    }
    char **grown = length > 0 ? realloc(list->item, (list->count + 4) * sizeof *grown) : NULL;
    if (grown == NULL) {
        return;
    }
    list->item = grown;
    for (int k = 0; k < 3; k++) {
        char text[PATH_MAX];
        if ((size_t)snprintf(text, sizeof text, "%.*s%s", (int)length, dir, below[k]) < sizeof text &&
            (list->item[list->count] = strdup(text)) != NULL) {
            list->count++;
        }
    }
    list->item[list->count] = NULL;
}

static void add_own(const char *dir, size_t length)
{
    add_folder(&all_path, dir, length);
    add_folder(&own_path, dir, length);
}

/* The user's folder: 1 where it is also that of an installation in ~/.local. */
static int user_folder(char out[PATH_MAX])
{
    char worker[PATH_MAX];
    const char *home = secure_getenv("HOME");
    out[0] = '\0';
    if (home == NULL || home[0] != '/' ||
        snprintf(out, PATH_MAX, "%s/.local/lib/diffsim", home) >= PATH_MAX ||
        snprintf(worker, sizeof worker, "%s/.local/libexec/diffsim/dshost-worker", home) >= PATH_MAX) {
        out[0] = '\0';
        return 0;
    }
    return access(worker, F_OK) == 0;
}

static void make_path(void)
{
    char own[PATH_MAX], user[PATH_MAX];
    const char *env = secure_getenv("DS_PLUGIN_PATH");
    while (env != NULL && *env != '\0') {
        size_t n = strcspn(env, ":");
        add_folder(&all_path, env, n);
        env += n + (env[n] == ':');
    }
    const int installation = user_folder(user);
    if (!installation) {
        add_folder(&all_path, user, strlen(user));
    }
    if (ds_installation_build_tree(own)) {
        size_t n = strlen(own);
        n += (size_t)snprintf(own + n, sizeof own - n, "/plugins");
        add_own(own, n < sizeof own ? n : 0);
    }
    ds_installation_folder(DS_INSTALLED_PLUGINS, own);
    add_own(own, strlen(own));
    if (installation) {
        add_folder(&all_path, user, strlen(user));
    }
}

static void ready(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_path);
}

const char *const *ds_loader_path(void)
{
    static char *const none[] = {NULL};
    ready();
    return (const char *const *)(all_path.item != NULL ? all_path.item : none);
}

const char *const *ds_loader_own_path(void)
{
    static char *const none[] = {NULL};
    ready();
    return (const char *const *)(own_path.item != NULL ? own_path.item : none);
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
    const char *const *folder = ds_loader_path();
    for (; *folder != NULL; folder++) {
        n = ds_plugin_files(*folder, known, n);
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
        for (int k = 0; k < 2; k++) { /* Cargo and CMake put lib before the name */
            if ((size_t)snprintf(file, sizeof file, "%s/%s%s.so", path[i], k == 0 ? "" : "lib", id) <
                    sizeof file &&
                access(file, F_OK) == 0) {
                return ds_plugin_file_of(file, out, e);
            }
        }
    }
    return not_found(id, kind, e);
}

/* ---- plugins of this host ---- */

static int is_known(const char *id)
{
    static const char *const known[] = {DS_OWN_PLUGINS NULL};
    size_t i = 0;
    while (known[i] != NULL && strcmp(known[i], id) != 0) {
        i++;
    }
    return known[i] != NULL;
}

/* Does the file lie in a folder, or where libtool keeps what it links for that folder? */
static int lies_in(const char *path, const char *folder)
{
    static const char libtool[] = "/.libs";
    char real[PATH_MAX];
    const char *slash = strrchr(path, '/');
    size_t n = realpath(folder, real) != NULL ? strlen(real) : 0;
    if (n == 0 || slash == NULL || strncmp(path, real, n) != 0) {
        return 0;
    }
    size_t rest = (size_t)(slash - path) - n;
    return rest == 0 || (rest == sizeof libtool - 1 && strncmp(path + n, libtool, rest) == 0);
}

int ds_plugin_is_own(const ds_plugin_file *f)
{
    const char *const *folder = is_known(f->id) ? ds_loader_own_path() : NULL;
    while (folder != NULL && *folder != NULL && !lies_in(f->path, *folder)) {
        folder++;
    }
    return folder != NULL && *folder != NULL;
}
