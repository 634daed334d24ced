/* SPDX-License-Identifier: Apache-2.0 */
/* loader.h - modules: plugins that were loaded and accepted by this process, or described by another
 * one. They are never unloaded. */
#ifndef DS_PLUGIN_LOADER_H
#define DS_PLUGIN_LOADER_H

#include <diffsim/plugin.h>

#include "base/error.h"
#include "plugin/search_path.h"

typedef struct ds_module {
    char *path; /* absolute, links resolved */
    char *id;   /* file name without .so, equal to plugin->desc->id */
    const ds_plugin
        *plugin; /* in structs of our own size (descriptor.h): what the plugin does not know is 0 */
    /* The functions. All are NULL where another process has loaded the plugin and described it, so that
     * nothing of it can be called here. */
    ds_env_vtable env;
    ds_optimizer_vtable opt;
    int takes_turns; /* see ds_module_begin() */
    char blas[80];   /* "OpenBLAS 0.3.21 Haswell": what it computes with, and the kernels in use; "" = none */
    int own;         /* of this host, see own.h */
} ds_module;

/* Between these two an optimizer computes. A plugin that needs an OpenBLAS built without locks, as
 * Debian's serial one is, must not compute in two threads at once, nor with another such plugin: then they
 * take turns. For all others, and for NULL, nothing happens. [any; both in one thread] */
void ds_module_begin(const ds_module *m);
void ds_module_end(const ds_module *m);

/* Finds (search_path.h) a plugin and loads it into this process. Loading a file twice returns the same
 * module. The module belongs to the loader and lives as long as the process. [any, as all functions here] */
int ds_loader_open(const char *name, uint32_t kind, const ds_module **out, ds_error *e);

/* The same for a file that was found. */
int ds_loader_load(const ds_plugin_file *f, const ds_module **out, ds_error *e);

/* The plugin of FILE.ENDING:NAME as its adapter (diffsim/adapter.h) gives it, not yet tested: 0, or
 * DS_EXIT_PLUGIN and the adapter's own line. */
int ds_loader_ask_adapter(const char *path, const ds_plugin **out, ds_error *e);

/* The module of a file that was loaded or described already, or NULL. */
const ds_module *ds_loader_known(const char *path);

/* *out is the module, where it is of the kind that is wanted (0 = any). `name` is what the user called it. */
int ds_loader_of_kind(const char *name, const ds_module *m, uint32_t kind, const ds_module **out,
                      ds_error *e);

/* What a process that has loaded a plugin says to one that must not: bytes (to be freed, NULL without
 * memory) with the module, or why there is none (module NULL). The receiver believes none of them, and has
 * a module without functions. */
enum { DS_REPORT_MAX = 16 << 20 };
void *ds_loader_report(const ds_module *m, const ds_error *why, size_t *size);
int ds_loader_receive(const void *bytes, size_t size, const ds_plugin_file *f, const ds_module **out,
                      ds_error *e);

/* Says that a process ended while it loaded a plugin; `status` is that of waitpid(). */
int ds_loader_died(const char *path, int status, ds_error *e);

#endif
