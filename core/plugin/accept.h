/* SPDX-License-Identifier: Apache-2.0 */
/* accept.h - the acceptance test of what a plugin says about itself. */
#ifndef DS_PLUGIN_ACCEPT_H
#define DS_PLUGIN_ACCEPT_H

#include <diffsim/plugin.h>

#include "base/error.h"

/* Tests the data that a plugin returned (not the file): magic, sizes, versions, layout, descriptor, schema,
 * vtable. Reads nothing outside of what the sizes in it allow. `id` is the id expected, or NULL. */
int ds_plugin_accept(const ds_plugin *p, const char *id, const char *path, ds_error *e);

/* The part of it that tests the descriptor with its schema. */
int ds_desc_accept(const ds_desc *d, const char *id, const char *path, ds_error *e);

#endif
