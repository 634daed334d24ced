/* SPDX-License-Identifier: Apache-2.0 */
/* plugin_list.h - plugins as they describe themselves, for commands that only show them: each is loaded by
 * a process of its own, forked, so the caller has no other threads. */
#ifndef DS_CATALOG_PLUGIN_LIST_H
#define DS_CATALOG_PLUGIN_LIST_H

#include "plugin/loader.h"

/* As ds_loader_open(), with a module that has no functions (one that this process has loaded already is
 * taken as it is). A crash or a hang in start-up code is DS_EXIT_PLUGIN. */
int ds_loader_describe(const char *name, uint32_t kind, const ds_module **out, ds_error *e);

/* One plugin file on the search path. */
typedef struct ds_found {
    char *path;
    char *id;
    uint32_t kind;           /* of the plugin; 0 = unknown */
    int shadowed;            /* another file with this id comes first */
    const ds_module *module; /* described; NULL where it was refused */
    char refusal[1024];
} ds_found;

/* Lists every .so on the search path in search order, each loaded and tested. */
int ds_loader_list(ds_found **out, size_t *count, ds_error *e);
void ds_found_free(ds_found *list, size_t count);

#endif
