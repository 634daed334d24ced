/* SPDX-License-Identifier: Apache-2.0 */
/* loader.h - finds plugins and loads them: search path, dlopen, the acceptance test. Modules are never
 * unloaded. */
#ifndef DS_PLUGIN_LOADER_H
#define DS_PLUGIN_LOADER_H

#include <diffsim/plugin.h>

#include "base/error.h"

typedef struct ds_module {
    char *path; /* absolute, links resolved */
    char *id;   /* file name without .so, equal to plugin->desc->id */
    const ds_plugin *plugin;
    ds_env_vtable env; /* copies in our own size: fields that the plugin does not know are NULL */
    ds_optimizer_vtable opt;
} ds_module;

/* Loads the plugin that the user means by `name`: an id ("torus"), a file name ("boleap.so", both found on
 * the search path), or a path (with a slash). `kind` is DS_KIND_*, or 0 for any. Loading a file twice returns
 * the same module. The module belongs to the loader and lives as long as the process. [one thread at a
 * time] */
int ds_loader_open(const char *name, uint32_t kind, const ds_module **out, ds_error *e);

/* One plugin file on the search path, for `dshost list`. */
typedef struct ds_found {
    char *path;
    char *id;
    uint32_t kind;           /* of the folder or, once loaded, of the plugin; 0 = unknown */
    int shadowed;            /* another file with this id comes first */
    const ds_module *module; /* NULL where it was refused */
    char refusal[1024];
} ds_found;

/* Lists every .so on the search path in search order, each loaded and tested. */
int ds_loader_list(ds_found **out, size_t *count, ds_error *e);
void ds_found_free(ds_found *list, size_t count);

/* The search path, folder by folder, NULL-terminated (owned by the loader):
 *   DS_PLUGIN_PATH (colon list), ~/.local/lib/diffsim, the build tree's plugins/ where dshost runs in one,
 * the installed plugin folder; each with its subfolders envs/ and optimizers/. */
const char *const *ds_loader_path(void);

/* Tests the data that a plugin returned (not the file): magic, sizes, versions, layout, descriptor, schema,
 * vtable. Reads nothing outside of what the sizes in it allow. `id` is the id expected, or NULL. */
int ds_plugin_accept(const ds_plugin *p, const char *id, const char *path, ds_error *e);

#endif
