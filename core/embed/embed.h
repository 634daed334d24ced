/* SPDX-License-Identifier: Apache-2.0 */
/* embed.h - what the functions for other programs (diffsim/lib/ask_tell.h, diffsim/lib/environment.h) share: finding a
 * plugin, reading its settings, and the line that says why something failed. */
#ifndef DS_EMBED_EMBED_H
#define DS_EMBED_EMBED_H

#include "config/settings.h"
#include "plugin/loader.h"

/* Copies the text of an error to a caller's buffer of `size` bytes, which may be NULL. */
void ds_embed_say(const ds_error *e, char *why, uint64_t size);

/* Loads a plugin of a kind and reads `lines` ("key = value", may be NULL) as its section. From then on stderr gets
 * warnings and errors of plugins, no other messages. [any] */
int ds_embed_open(const char *name, uint32_t kind, const char *lines, const ds_module **module,
                  ds_settings *settings, ds_error *e);

#endif
