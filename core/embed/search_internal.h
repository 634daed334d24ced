/* SPDX-License-Identifier: Apache-2.0 */
/* search_internal.h - searches by ask and tell (diffsim/lib/ask_tell.h) for the host itself, which has
 * loaded the plugin and read the settings already. */
#ifndef DS_EMBED_SEARCH_INTERNAL_H
#define DS_EMBED_SEARCH_INTERNAL_H

#include <diffsim/lib/ask_tell.h>

#include "config/settings.h"
#include "plugin/loader.h"

/* As ds_search_open(), with section [opt] of `settings` in place of options->settings. NULL after filling
 * *e. */
ds_search *ds_search_start(const ds_module *optimizer, const ds_settings *settings,
                           const ds_search_options *options, ds_error *e);

#endif
