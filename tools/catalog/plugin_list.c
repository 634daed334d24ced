/* SPDX-License-Identifier: Apache-2.0 */
/* plugin_list.c - lists plugins. One that crashes or hangs in its start-up code costs a line of the list,
 * not the program. */
#include "config.h"

#include "catalog/plugin_list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "worker/describe.h"

static const ds_describe_config look = {.start_timeout = DS_DESCRIBE_ONLY_SECONDS};

int ds_loader_describe(const char *name, uint32_t kind, const ds_module **out, ds_error *e)
{
    return ds_describe_name(name, kind, &look, out, e);
}

/* ---- listing ---- */

static int list_file(const char *dir, const char *file, ds_found **list, size_t *count, ds_error *e)
{
    char path[PATH_MAX];
    struct stat st, other;
    ds_plugin_file found;
    ds_error why = {0};
    ds_found new = {0};
    int n = (int)(strrchr(file, '.') - file);

    /* a link that leads nowhere is a plugin that somebody misses */
    if ((size_t)snprintf(path, sizeof path, "%s/%s", dir, file) >= sizeof path ||
        (stat(path, &st) != 0 && lstat(path, &st) != 0)) {
        return 0;
    }
    for (size_t i = 0; i < *count; i++) {
        const ds_found *f = &(*list)[i];
        if (strncmp(f->id, file, (size_t)n) == 0 && f->id[n] == '\0') {
            if (stat(f->path, &other) == 0 && other.st_ino == st.st_ino && other.st_dev == st.st_dev) {
                return 0; /* the same file through another folder or link */
            }
            new.shadowed = 1;
        }
    }
    ds_found *grown = realloc(*list, (*count + 1) * sizeof **list);
    *list = grown != NULL ? grown : *list;
    new.path = strdup(path);
    new.id = strndup(file, (size_t)n);
    if (grown == NULL || new.path == NULL || new.id == NULL) {
        free(new.path);
        free(new.id);
        return ds_no_memory(e);
    }
    if (ds_plugin_file_of(path, &found, &why) != 0 ||
        ds_describe_file(&found, &look, &new.module, &why) != 0) {
        snprintf(new.refusal, sizeof new.refusal, "%s", why.text);
    } else {
        new.kind = new.module->plugin->desc->kind;
        if (strncmp(new.id, "lib", 3) == 0 && strcmp(new.id + 3, new.module->id) == 0) { /* libmy.so */
            memmove(new.id, new.id + 3, strlen(new.id) - 2);
        }
    }
    grown[(*count)++] = new;
    return 0;
}

int ds_loader_list(ds_found **out, size_t *count, ds_error *e)
{
    const char *const *path = ds_loader_path();
    int status = 0;

    *out = NULL;
    *count = 0;
    for (size_t i = 0; path[i] != NULL && status == 0; i++) {
        char *names[DS_FILES_MAX];
        size_t n = ds_plugin_files(path[i], names, 0);
        for (size_t k = 0; k < n; k++) {
            status = status != 0 ? status : list_file(path[i], names[k], out, count, e);
            free(names[k]);
        }
    }
    if (status != 0) {
        ds_found_free(*out, *count);
        *out = NULL;
        *count = 0;
    }
    return status;
}

void ds_found_free(ds_found *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(list[i].path);
        free(list[i].id);
    }
    free(list);
}
