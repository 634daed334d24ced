/* SPDX-License-Identifier: Apache-2.0 */
/* search_path.h - from what the user calls a plugin to its file. Nothing is loaded. */
#ifndef DS_PLUGIN_SEARCH_PATH_H
#define DS_PLUGIN_SEARCH_PATH_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

typedef struct ds_plugin_file {
    char path[PATH_MAX]; /* absolute, links resolved; with :NAME where an adapter makes the plugin */
    char id[64]; /* file name without .so, as the user sees it, not what a link points to: the id of the
                            plugin, or lib and the id */
} ds_plugin_file;

/* FILE.ENDING:NAME, the path of a plugin that an adapter makes of a file of another language
 * (diffsim/adapter.h). */
typedef struct ds_object_path {
    char file[PATH_MAX]; /* FILE.ENDING */
    char ending[16];
    char object[64]; /* NAME, "" where none is named */
    char id[64]; /* what it is called until it says so itself: NAME, else FILE, as an id: MyEnv is my_env */
} ds_object_path;

/* Finds the file of the plugin that the user means by `name`: an id ("torus"), a file name
 * ("boleap.so", both found on the search path), a path (with a slash), or a file of another language
 * ("my.py:Env", here or on the search path). `kind` is DS_KIND_*, or 0 for any; it serves the message. */
int ds_plugin_find(const char *name, uint32_t kind, ds_plugin_file *out, ds_error *e);

/* The same for a path. */
int ds_plugin_file_of(const char *name, ds_plugin_file *out, ds_error *e);

/* Is this the name or path of a file for which there is an adapter on the plugin path? 1 and *out, or 0; the
 * file need not be there. */
int ds_plugin_adapted(const char *name, ds_object_path *out);

/* The adapter of an ending ("py"): 1 and its path, or 0. */
int ds_plugin_adapter(const char *ending, char out[PATH_MAX]);

/* What a plugin is called by what the user calls it: "torus" of "plugins/envs/torus.so", "env"
 * of "my.py:Env". */
void ds_plugin_id_of(const char *name, char out[64]);

/* The search path, folder by folder, NULL-terminated, for ever:
 *   DS_PLUGIN_PATH (colon list), ~/.local/lib/diffsim, the build tree's plugins/ where dshost runs in one,
 * the plugin folder of the installation; each with its subfolders envs/ and optimizers/. Where another
 * diffsim is installed in ~/.local, that folder is the last: each has its own plugins first. [any] */
const char *const *ds_loader_path(void);

/* Its last part: the plugin folders of this host itself. */
const char *const *ds_loader_own_path(void);

/* Appends the names of the plugin files of a folder (.so and what adapters serve), sorted, to `count` that
 * are there; each is to be freed. Returns the number of all, at most DS_FILES_MAX. */
enum { DS_FILES_MAX = 1024 };
size_t ds_plugin_files(const char *folder, char *names[DS_FILES_MAX], size_t count);

/* Is this a plugin of ours: built with this host, and in its plugin folders, which may also hold those of
 * others? Only those are loaded into a process of dshost; any other is described by a process of its own
 * first (worker/describe.h). */
int ds_plugin_is_own(const ds_plugin_file *f);

/* Was the file found on the plugin path: by an id, or does it lie in one of its folders? */
int ds_plugin_on_path(const char *name, const ds_plugin_file *f);

/* "environment", "optimizer", "plugin". */
const char *ds_kind_name(uint32_t kind);

#endif
