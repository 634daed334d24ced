/* SPDX-License-Identifier: Apache-2.0 */
/* accept.h - the acceptance test of what a plugin says about itself. */
#ifndef DS_PLUGIN_ACCEPT_H
#define DS_PLUGIN_ACCEPT_H

#include <diffsim/plugin.h>

#include "base/error.h"

/* Tests the data that a plugin returned (not the file; NULL: it cannot serve this host): magic,
 * versions, layout, sizes, descriptor, schema, vtable. Reads nothing outside of what the sizes in it
 * allow. `id` is the id expected, or NULL. *out gets a copy in structs of our own size
 * (descriptor.h, which also releases it). */
int ds_plugin_accept(const ds_plugin *theirs, const char *id, const char *path, ds_plugin **out, ds_error *e);

/* The part of it that tests the descriptor with its schema, in structs of our own size. */
int ds_desc_accept(const ds_desc *d, const char *id, const char *path, ds_error *e);

#endif
