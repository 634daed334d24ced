/* SPDX-License-Identifier: Apache-2.0 */
/* descriptor.h - the description of a plugin: copied into structs of this version's size, tested before use,
 * and packed into bytes for a process that must not load the plugin. */
#ifndef DS_PLUGIN_DESCRIPTOR_H
#define DS_PLUGIN_DESCRIPTOR_H

#include "base/error.h"

#include <diffsim/plugin.h>

/* Does the descriptor list this extension? The instance decides in the end. */
int ds_desc_offers(const ds_desc *d, const char *extension);

/* Is `id` among its needs; among its needs or uses? */
int ds_desc_needs(const ds_desc *d, const char *id);
int ds_desc_uses(const ds_desc *d, const char *id);

/* Packs an accepted descriptor into bytes, to be freed; NULL without memory. */
char *ds_descriptor_pack(const ds_desc *d, size_t *size);

/* Copies a plugin whose magic, version and layout are known to be ours, with its descriptor, parameters and
 * vtables, into structs of this version's size; fields that the plugin does not have become 0. Texts and
 * lists of texts are not copied. Returns DS_EXIT_PLUGIN for an impossible struct_size or more than
 * DS_MAX_PARAMS parameters. The content is not tested. */
int ds_descriptor_copy(const ds_plugin *theirs, const char *path, ds_plugin **out, ds_error *e);

/* Makes a plugin without functions from untrusted bytes: DS_EXIT_PLUGIN where they are damaged. The content
 * is not tested. */
int ds_descriptor_unpack(const void *bytes, size_t size, ds_plugin **out, ds_error *e);

/* Frees a plugin made by one of these functions; accepts NULL. */
void ds_descriptor_free(ds_plugin *p);

/* ---- acceptance ---- */

/* Tests what ds_plugin_query() returned (NULL: the plugin cannot serve this host): magic, versions, layout,
 * sizes, descriptor, schema, vtable. Reads nothing beyond the sizes that the structs state. `id` is the
 * expected id, or NULL. *out gets a copy (ds_descriptor_copy()). */
int ds_plugin_accept(const ds_plugin *theirs, const char *id, const char *path, ds_plugin **out, ds_error *e);

/* Tests only the descriptor with its schema, in structs of this version's size. */
int ds_desc_accept(const ds_desc *d, const char *id, const char *path, ds_error *e);

#endif
