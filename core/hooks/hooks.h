/* SPDX-License-Identifier: Apache-2.0 */
/* hooks.h - the hook points that an environment lists (diffsim/ext/draft/hooks.h), as values that travel from
 * the process of the plugin to those who show them. */
#ifndef DS_HOOKS_HOOKS_H
#define DS_HOOKS_HOOKS_H

#include <diffsim/ext/draft/hooks.h>

#include "base/error.h"

typedef struct ds_hook_entry {
    uint32_t kind; /* DS_HOOK_* */
    uint32_t count;
    char name[DS_MAX_NAME + 1], unit[32], doc[152];
} ds_hook_entry;

/* None: count 0. */
typedef struct ds_hooks {
    uint64_t count;
    ds_hook_entry entry[DS_MAX_HOOKS];
} ds_hooks;

/* Asks the instance `self` of plugin `id`; a breach of the rules is one line and DS_EXIT_PLUGIN. `theirs`:
 * the table of the plugin, in its own size. */
int ds_hooks_read(const char *id, const ds_env_hooks *theirs, void *self, ds_hooks *out, ds_error *e);

/* What another process has written becomes a list that can be shown. */
void ds_hooks_tidy(ds_hooks *h);

/* "input" or "output". */
const char *ds_hook_kind_name(uint32_t kind);

#endif
