/* SPDX-License-Identifier: Apache-2.0 */
/* bench_parts.c - lists of environments and optimizers, and of words. */
#include "config.h"

#include "bench/bench_parts.h"

#include <stdlib.h>
#include <string.h>

static void clear_part(ds_bench_part *p)
{
    free(p->name);
    free(p->plugin);
    free(p->origin);
    ds_settings_clear(&p->settings);
}

void ds_bench_parts_clear(ds_bench_parts *list)
{
    for (size_t i = 0; i < list->count; i++) {
        clear_part(&list->item[i]);
    }
    free(list->item);
    *list = (ds_bench_parts){NULL, 0};
}

ds_bench_part *ds_bench_parts_find(const ds_bench_parts *list, const char *name)
{
    for (size_t i = 0; i < list->count; i++) {
        if (strcmp(list->item[i].name, name) == 0) {
            return &list->item[i];
        }
    }
    return NULL;
}

int ds_bench_split(const char *text, const char *separators, const char *origin, ds_bench_words *out,
                   ds_error *e)
{
    char *rest = NULL;
    out->count = 0;
    out->text = strdup(text);
    if (out->text == NULL) {
        return ds_no_memory(e);
    }
    for (char *w = strtok_r(out->text, separators, &rest); w != NULL; w = strtok_r(NULL, separators, &rest)) {
        if (out->count == DS_BENCH_WORDS) {
            free(out->text);
            out->text = NULL;
            return ds_fail(e, DS_EXIT_CONFIG, "%s: more than %d names or values in one list", origin,
                           DS_BENCH_WORDS);
        }
        out->item[out->count++] = w;
    }
    return 0;
}
