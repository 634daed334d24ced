/* SPDX-License-Identifier: Apache-2.0 */
/* loader.h - modules: plugins that this process loaded and accepted, or that another process described. They
 * are never unloaded. */
#ifndef DS_PLUGIN_LOADER_H
#define DS_PLUGIN_LOADER_H

#include <diffsim/plugin.h>

#include "base/error.h"
#include "plugin/search_path.h"

typedef struct ds_module {
    char *path; /* absolute, links resolved */
    char *id;   /* file name without .so, equal to plugin->desc->id */
    const ds_plugin
        /* in structs of this version's size (descriptor.h): fields that the plugin does not have are 0 */
        *plugin;
    /* Copies of the vtables. All zero where another process loaded the plugin and described it: this process
     * cannot call it. */
    ds_env_vtable env;
    ds_optimizer_vtable opt;
    int takes_turns; /* see ds_module_begin() */
    char blas[80];   /* the BLAS and its kernels, "OpenBLAS 0.3.21 Haswell"; "" = none */
    int own;         /* bundled with this host (ds_plugin_is_own()) */
} ds_module;

/* An optimizer computes between these two calls. Plugins that use an OpenBLAS without locks, such as Debian's
 * serial one, must not compute in two threads at once: they take turns. No effect for other plugins and for
 * NULL. [any; both in one thread] */
void ds_module_begin(const ds_module *m);
void ds_module_end(const ds_module *m);

/* Finds a plugin (search_path.h) and loads it into this process. Loading a file again returns the same
 * module, which lives as long as the process. [any, as all functions here] */
int ds_loader_open(const char *name, uint32_t kind, const ds_module **out, ds_error *e);

/* The same for a file that was found. */
int ds_loader_load(const ds_plugin_file *f, const ds_module **out, ds_error *e);

/* Gets the plugin of FILE.ENDING:NAME from its adapter (diffsim/adapter.h), untested: 0, or DS_EXIT_PLUGIN
 * and the adapter's message. */
int ds_loader_ask_adapter(const char *path, const ds_plugin **out, ds_error *e);

/* The module of a file that was loaded or described before, or NULL. */
const ds_module *ds_loader_known(const char *path);

/* Sets *out to the module if it is of the wanted kind (0 = any). `name` is what the user called it. */
int ds_loader_of_kind(const char *name, const ds_module *m, uint32_t kind, const ds_module **out,
                      ds_error *e);

/* Packs what a process that loaded a plugin reports to one that must not: the description of the module, or
 * the reason why there is none (module NULL). Returns bytes to be freed, NULL without memory. The receiver
 * trusts none of them and gets a module without functions. */
enum { DS_REPORT_MAX = 16 << 20 };
void *ds_loader_report(const ds_module *m, const ds_error *why, size_t *size);
int ds_loader_receive(const void *bytes, size_t size, const ds_plugin_file *f, const ds_module **out,
                      ds_error *e);

/* The error for a process that ended while it loaded a plugin; `status` is the one of waitpid(). */
int ds_loader_died(const char *path, int status, ds_error *e);

#endif
