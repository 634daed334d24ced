/* SPDX-License-Identifier: Apache-2.0 */
/* hooks.c - reads and tests the hook points that an environment lists. */
#include "config.h"

#include "hooks/hooks.h"

#include <stdio.h>
#include <string.h>

#include "base/sized.h"
#include "base/text.h"

static int is_name(const char *s)
{
    size_t n = s[0] >= 'a' && s[0] <= 'z' ? strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789_") : 0;
    return n > 0 && n <= 47 && s[n] == '\0';
}

static void copy_text(char *to, size_t size, const char *from)
{
    snprintf(to, size, "%s", from != NULL ? from : "");
    ds_text_clean(to);
}

static int refuse(const char *id, uint64_t i, const char *why, ds_error *e)
{
    return ds_fail(e, DS_EXIT_PLUGIN, "%s: hook point %llu %s", id, (unsigned long long)i, why);
}

static int describe(const char *id, const ds_env_hooks *table, void *self, uint64_t i, ds_hooks *all,
                    ds_error *e)
{
    ds_hook h = {.struct_size = sizeof h};
    ds_hook_entry *to = &all->entry[i];
    ds_status st = table->describe(self, i, &h);
    if (st != DS_OK) {
        return ds_fail(e, ds_status_exit(st),
                       "%s: describe() of " DS_EXT_HOOKS " failed for hook point %llu (%s)", id,
                       (unsigned long long)i, ds_status_name(st));
    }
    if (h.name == NULL || !is_name(h.name)) {
        return refuse(id, i, "has a name that does not match [a-z][a-z0-9_]{0,46}", e);
    }
    if (h.kind != DS_HOOK_INPUT && h.kind != DS_HOOK_OUTPUT) {
        return refuse(id, i, "is neither DS_HOOK_INPUT nor DS_HOOK_OUTPUT", e);
    }
    if (h.count < 1 || h.count > DS_MAX_HOOK_ELEMENTS) {
        return refuse(id, i, "has no 1 to 64 elements", e);
    }
    for (uint64_t k = 0; k < i; k++) {
        if (strcmp(all->entry[k].name, h.name) == 0) {
            return refuse(id, i, "has the name of another one", e);
        }
    }
    to->kind = h.kind;
    to->count = (uint32_t)h.count;
    copy_text(to->name, sizeof to->name, h.name);
    copy_text(to->unit, sizeof to->unit, h.unit);
    copy_text(to->doc, sizeof to->doc, h.doc);
    return 0;
}

int ds_hooks_read(const char *id, const ds_env_hooks *theirs, void *self, ds_hooks *out, ds_error *e)
{
    ds_env_hooks table;
    uint64_t count = 0;
    memset(out, 0, sizeof *out);
    if (DS_SIZED_READ(&table, theirs, DS_ENV_HOOKS_SIZE_1_0, id, "the table of " DS_EXT_HOOKS, e) != 0) {
        return DS_EXIT_PLUGIN;
    }
    if (table.count == NULL || table.describe == NULL) {
        return ds_fail(e, DS_EXIT_PLUGIN, "%s: extension " DS_EXT_HOOKS ": a function is missing", id);
    }
    ds_status st = table.count(self, &count);
    if (st != DS_OK) {
        return ds_fail(e, ds_status_exit(st), "%s: count() of " DS_EXT_HOOKS " failed (%s)", id,
                       ds_status_name(st));
    }
    if (count < 1 || count > DS_MAX_HOOKS) {
        return ds_fail(e, DS_EXIT_PLUGIN, "%s: %llu hook points, 1 to %u are possible", id,
                       (unsigned long long)count, DS_MAX_HOOKS);
    }
    int rc = 0;
    for (uint64_t i = 0; rc == 0 && i < count; i++) {
        rc = describe(id, &table, self, i, out, e);
    }
    out->count = rc == 0 ? count : 0;
    return rc;
}

void ds_hooks_tidy(ds_hooks *h)
{
    h->count = h->count <= DS_MAX_HOOKS ? h->count : 0;
    for (uint64_t i = 0; i < h->count; i++) {
        ds_hook_entry *t = &h->entry[i];
        t->name[sizeof t->name - 1] = t->unit[sizeof t->unit - 1] = t->doc[sizeof t->doc - 1] = '\0';
        ds_text_clean(t->name);
        ds_text_clean(t->unit);
        ds_text_clean(t->doc);
    }
}

const char *ds_hook_kind_name(uint32_t kind)
{
    return kind == DS_HOOK_INPUT ? "input" : "output";
}
