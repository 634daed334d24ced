/* SPDX-License-Identifier: Apache-2.0 */
/* plugin_list.h - plugins as they describe themselves, for commands that only show them. Those of others are
 * loaded by a process of their own (worker/describe.h). */
#ifndef DS_CATALOG_PLUGIN_LIST_H
#define DS_CATALOG_PLUGIN_LIST_H

#include "plugin/loader.h"

/* Finds a plugin and has it described. A crash, a hang or an exit() in start-up code is DS_EXIT_PLUGIN. */
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
