/* SPDX-License-Identifier: Apache-2.0 */
/* embed.h - what the functions for other programs (diffsim/lib/) share: reading settings, the line that
 * says why something failed, and how statuses of the host are told. */
#ifndef DS_EMBED_EMBED_H
#define DS_EMBED_EMBED_H

#include "config/settings.h"
#include "plugin/loader.h"

/* Copies the text of an error to a caller's buffer of `size` bytes, which may be NULL. */
void ds_embed_say(const ds_error *e, char *why, uint64_t size);

/* Keeps the exit status of a call that opened or ran something, for ds_library_exit_status(), and
 * returns it. */
int ds_embed_note(int rc);

/* What an exit status of the host is to a program. */
ds_status ds_embed_status(int rc);

/* From the first call on stderr gets warnings and errors of plugins, no other messages. [any] */
void ds_embed_quiet(void);

/* Reads `lines` ("key = value", may be NULL), which all belong to one section; they are called "settings". */
int ds_embed_settings(int section, const char *lines, ds_settings *settings, ds_error *e);

#endif
