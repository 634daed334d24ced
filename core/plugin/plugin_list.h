/* SPDX-License-Identifier: Apache-2.0 */
/* plugin_list.h - all plugins on the search path, for `dshost list`. */
#ifndef DS_PLUGIN_PLUGIN_LIST_H
#define DS_PLUGIN_PLUGIN_LIST_H

#include "plugin/loader.h"

typedef struct ds_found {
    char *path;
    char *id;
    uint32_t kind;           /* of the plugin; 0 = unknown */
    int shadowed;            /* another file with this id comes first */
    const ds_module *module; /* described; NULL where it was refused */
    char refusal[1024];
} ds_found;

/* Lists every .so on the search path in search order, each loaded and tested by a process of its own. The caller has no
 * other threads. */
int ds_loader_list(ds_found **out, size_t *count, ds_error *e);
void ds_found_free(ds_found *list, size_t count);

#endif
