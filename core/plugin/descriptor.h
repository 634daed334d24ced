/* SPDX-License-Identifier: Apache-2.0 */
/* descriptor.h - what a descriptor offers; what a plugin says about itself in structs of our own size; and as
 * bytes, for a process that must not load the plugin. */
#ifndef DS_PLUGIN_DESCRIPTOR_H
#define DS_PLUGIN_DESCRIPTOR_H

#include "base/error.h"

#include <diffsim/plugin.h>

/* Does the descriptor list this extension? (The instance has the last word.) */
int ds_desc_offers(const ds_desc *d, const char *extension);

/* Is `id` among its needs; among what it needs or uses? */
int ds_desc_needs(const ds_desc *d, const char *id);
int ds_desc_uses(const ds_desc *d, const char *id);

/* The bytes of an accepted descriptor, to be freed; NULL without memory. */
char *ds_descriptor_pack(const ds_desc *d, size_t *size);

/* Copies a plugin, of which magic, version and layout are known to be ours, with its descriptor, parameters
 * and tables of functions into structs of our own size: fields that it does not know are 0. Texts and lists
 * of texts stay where they are. Refused (DS_EXIT_PLUGIN) where a struct_size is not possible, or there are
 * more than DS_MAX_PARAMS. What is in it has yet to be accepted. */
int ds_descriptor_copy(const ds_plugin *theirs, const char *path, ds_plugin **out, ds_error *e);

/* Makes a plugin without functions from bytes of which nothing is believed: DS_EXIT_PLUGIN where they are
 * damaged. What is in it has yet to be accepted (accept.h). */
int ds_descriptor_unpack(const void *bytes, size_t size, ds_plugin **out, ds_error *e);

/* Releases what one of the two has made; accepts NULL. */
void ds_descriptor_free(ds_plugin *p);

/* ---- accept ---- */

/* the acceptance test of what a plugin says about itself. */

/* Tests the data that a plugin returned (not the file; NULL: it cannot serve this host): magic,
 * versions, layout, sizes, descriptor, schema, vtable. Reads nothing outside of what the sizes in it
 * allow. `id` is the id expected, or NULL. *out gets a copy in structs of our own size
 * (descriptor.h, which also releases it). */
int ds_plugin_accept(const ds_plugin *theirs, const char *id, const char *path, ds_plugin **out, ds_error *e);

/* The part of it that tests the descriptor with its schema, in structs of our own size. */
int ds_desc_accept(const ds_desc *d, const char *id, const char *path, ds_error *e);

#endif
