/* SPDX-License-Identifier: Apache-2.0 */
/* search_path.h - finds the file of a plugin by what the user calls it. Loads nothing. */
#ifndef DS_PLUGIN_SEARCH_PATH_H
#define DS_PLUGIN_SEARCH_PATH_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

typedef struct ds_plugin_file {
    char path[PATH_MAX]; /* absolute, links resolved; followed by :NAME where an adapter makes the plugin */
    /* file name without .so, as the user sees it and not as a link resolves: the id of the plugin, or lib and
     * the id */
    char id[64];
} ds_plugin_file;

/* The parts of FILE.ENDING:NAME, a plugin that an adapter makes from a file of another language
 * (diffsim/adapter.h). */
typedef struct ds_object_path {
    char file[PATH_MAX]; /* FILE.ENDING */
    char ending[16];
    char object[64]; /* NAME; "" where none is given */
    /* provisional id until the plugin reports its own: NAME, else FILE, in the form of an id (MyEnv: my_env)
     */
    char id[64];
} ds_object_path;

/* Finds the file of a plugin by `name`: an id ("torus") or file name ("boleap.so"), both on the plugin path;
 * a path (with a slash); or a file of another language ("my.py:Env", here or on the plugin path). `kind` is
 * DS_KIND_*, or 0 for any; only messages use it. */
int ds_plugin_find(const char *name, uint32_t kind, ds_plugin_file *out, ds_error *e);

/* The same for a path. */
int ds_plugin_file_of(const char *name, ds_plugin_file *out, ds_error *e);

/* Does an adapter on the plugin path serve files of this name? 1 and *out, or 0. The file need not exist. */
int ds_plugin_adapted(const char *name, ds_object_path *out);

/* The adapter for an ending ("py"): 1 and its path, or 0. */
int ds_plugin_adapter(const char *ending, char out[PATH_MAX]);

/* The id in what the user calls a plugin: "torus" for "plugins/envs/torus.so", "env" for "my.py:Env". */
void ds_plugin_id_of(const char *name, char out[64]);

/* The plugin path, folder by folder, NULL-terminated; it never changes:
 *   DS_PLUGIN_PATH (colon-separated), ~/.local/lib/diffsim, plugins/ of the build tree if dshost runs in one,
 *   the plugin folder of the installation; each with its subfolders envs/ and optimizers/.
 * If another diffsim is installed in ~/.local, that folder comes last: each installation finds its own
 * plugins first. [any] */
const char *const *ds_loader_path(void);

/* Its last part: the plugin folders of this host. */
const char *const *ds_loader_own_path(void);

/* Adds the names of the plugin files in a folder (.so and what adapters serve), sorted, after the `count`
 * names that are there; free each of them. Returns the new count, at most DS_FILES_MAX. */
enum { DS_FILES_MAX = 1024 };
size_t ds_plugin_files(const char *folder, char *names[DS_FILES_MAX], size_t count);

/* Is this plugin bundled: built with this host, and in one of its plugin folders (which may also hold
 * third-party plugins)? Only bundled plugins are loaded into a process of dshost; a process of its own
 * describes any other first (worker/process.h). */
int ds_plugin_is_own(const ds_plugin_file *f);

/* Was the file found on the plugin path: by an id, or because it lies in one of its folders? */
int ds_plugin_on_path(const char *name, const ds_plugin_file *f);

/* "environment", "optimizer", "plugin". */
const char *ds_kind_name(uint32_t kind);

#endif
