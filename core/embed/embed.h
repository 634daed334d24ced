/* SPDX-License-Identifier: Apache-2.0 */
/* embed.h - what the functions of libdiffsim (diffsim/lib/) share: settings, error texts and statuses. */
#ifndef DS_EMBED_EMBED_H
#define DS_EMBED_EMBED_H

#include <diffsim/lib/ask_tell.h>

#include "config/settings.h"
#include "plugin/loader.h"

/* Copies the text of an error to a caller's buffer of `size` bytes, which may be NULL. */
void ds_embed_say(const ds_error *e, char *why, uint64_t size);

/* Keeps the exit status of a call that opened or ran something, for ds_library_exit_status(). Returns it. */
int ds_embed_note(int rc);

/* The ds_status for an exit status of the host. */
ds_status ds_embed_status(int rc);

/* From the first call on, only warnings and errors of plugins go to stderr. [any] */
void ds_embed_quiet(void);

/* Reads `lines` ("key = value", may be NULL), all of one section. Messages call them "settings". */
int ds_embed_settings(int section, const char *lines, ds_settings *settings, ds_error *e);

/* As ds_search_open(), for a plugin that is loaded and settings that are read: section [opt] of `settings`
 * replaces options->settings. NULL after filling *e. */
ds_search *ds_search_start(const ds_module *optimizer, const ds_settings *settings,
                           const ds_search_options *options, ds_error *e);

#endif
