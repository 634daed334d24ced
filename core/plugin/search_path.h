/* SPDX-License-Identifier: Apache-2.0 */
/* search_path.h - from what the user calls a plugin to its file. Nothing is loaded. */
#ifndef DS_PLUGIN_SEARCH_PATH_H
#define DS_PLUGIN_SEARCH_PATH_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

typedef struct ds_plugin_file {
    char path[PATH_MAX]; /* absolute, links resolved */
    char id[64]; /* file name without .so, as the user sees it, not what a link points to: the id of the
                            plugin, or lib and the id */
} ds_plugin_file;

/* Finds the file of the plugin that the user means by `name`: an id ("torus"), a file name
 * ("boleap.so", both found on the search path), or a path (with a slash). `kind` is DS_KIND_*, or 0 for
 * any; it serves the message. */
int ds_plugin_find(const char *name, uint32_t kind, ds_plugin_file *out, ds_error *e);

/* The same for a path. */
int ds_plugin_file_of(const char *name, ds_plugin_file *out, ds_error *e);

/* The search path, folder by folder, NULL-terminated, for ever:
 *   DS_PLUGIN_PATH (colon list), ~/.local/lib/diffsim, the build tree's plugins/ where dshost runs in one,
 * the plugin folder of the installation; each with its subfolders envs/ and optimizers/. Where another diffsim is
 * installed in ~/.local, that folder is the last: each has its own plugins first. [any] */
const char *const *ds_loader_path(void);

/* Its last part: the plugin folders of this host itself. */
const char *const *ds_loader_own_path(void);

/* Appends the names of the .so files of a folder, sorted, to `count` that are there; each is to be freed.
 * Returns the number of all, at most DS_FILES_MAX. */
enum { DS_FILES_MAX = 1024 };
size_t ds_plugin_files(const char *folder, char *names[DS_FILES_MAX], size_t count);

/* Is this a plugin of ours: built with this host, and in its plugin folders, which may also hold those of
 * others? Only those are loaded into a process of dshost; any other is described by a process of its own
 * first (worker/probe.h). */
int ds_plugin_is_own(const ds_plugin_file *f);

/* "environment", "optimizer", "plugin". */
const char *ds_kind_name(uint32_t kind);

#endif
