/* SPDX-License-Identifier: Apache-2.0 */
/* new_scene.h - `dshost new scene NAME`: a scene file to start from, a copy of one of examples/scenes. */
#ifndef DS_CATALOG_NEW_SCENE_H
#define DS_CATALOG_NEW_SCENE_H

#include "base/error.h"

/* Writes NAME.ini (or `out`) from the example `from`, with comments that name the next commands, and beside
 * it the meshes and scene files that it refers to; those that exist already stay as they are. Prints what was
 * written. Fails with DS_EXIT_USAGE for an unknown example or a name that is not a file name, with
 * DS_EXIT_IO where the scene exists. */
int ds_new_scene(const char *name, const char *from, const char *out, ds_error *e);

#endif
