/* SPDX-License-Identifier: Apache-2.0 */
/* store_long_path.c - stores whose path is too long for SQLite, whose file layer for Unix takes paths of at
 * most 512 bytes and follows their links. Such a store is opened by a short name below a descriptor of its
 * folder, "/proc/self/fd/N/run.sqlite", through a copy of that layer that leaves full names as they are. */
#include "config.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/store_internal.h"

enum { SQLITE_PATH_MAX = 512 - 40 /* less "-journal" and the names of temporary files */ };

static const char layer_name[] = "ds-long-path";

static int full_name(sqlite3_vfs *layer, const char *name, int size, char *out)
{
    (void)layer;
    return snprintf(out, (size_t)size, "%s", name) < size ? SQLITE_OK : SQLITE_CANTOPEN;
}

static void register_layer(void)
{
    static sqlite3_vfs layer;
    const sqlite3_vfs *standard = sqlite3_vfs_find(NULL);
    if (standard != NULL) {
        layer = *standard;
        layer.pNext = NULL;
        layer.zName = layer_name;
        layer.xFullPathname = full_name;
        sqlite3_vfs_register(&layer, 0);
    }
}

/* Length of the path as SQLite would use it. */
static size_t full_length(const char *folder, const char *name)
{
    char *real = realpath(folder, NULL);
    const size_t length = real != NULL ? strlen(real) + strlen(name) + 1 : 0;
    free(real);
    return length;
}

char *ds_store_short_path(const char *path, int *folder, const char **layer)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
    char *parent = slash == NULL ? strdup(".") : strndup(path, slash > path ? (size_t)(slash - path) : 1);
    char *brief = NULL;
    *folder = -1;
    if (parent != NULL && full_length(parent, name) > SQLITE_PATH_MAX && strlen(name) < 100) {
        *folder = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    }
    free(parent);
    if (*folder < 0 || asprintf(&brief, "/proc/self/fd/%d/%s", *folder, name) < 0) {
        return NULL;
    }
    pthread_once(&once, register_layer);
    *layer = layer_name;
    return brief;
}
