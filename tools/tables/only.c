/* SPDX-License-Identifier: Apache-2.0 */
/* only.c - chooses runs by patterns of their cells, as `dshost bench --only` does (see run_table.h). */
#include "config.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "tables/run_table.h"

static const char between[] = " \t,";

/* The patterns of a list; `item` points into `text`. */
typedef struct patterns {
    char *text, **item, *used;
    size_t count;
} patterns;

static void patterns_free(patterns *p)
{
    free(p->text);
    free(p->item);
    free(p->used);
}

static int patterns_make(patterns *p, const char *list, ds_error *e)
{
    char *rest = NULL;
    *p = (patterns){strdup(list), calloc(strlen(list) + 1, sizeof *p->item), calloc(strlen(list) + 1, 1), 0};
    if (p->text == NULL || p->item == NULL || p->used == NULL) {
        patterns_free(p);
        return ds_no_memory(e);
    }
    for (char *word = strtok_r(p->text, between, &rest); word != NULL;
         word = strtok_r(NULL, between, &rest)) {
        p->item[p->count++] = word;
    }
    return 0;
}

static int is_wanted(patterns *p, const ds_result *r)
{
    char name[512];
    int found = 0;
    snprintf(name, sizeof name, "%s/%s", r->env, r->opt);
    for (size_t i = 0; i < p->count; i++) {
        const int hit = fnmatch(p->item[i], name, 0) == 0;
        p->used[i] = (char)(p->used[i] | hit);
        found |= hit;
    }
    return found;
}

static void keep(ds_run_results *r, patterns *p)
{
    size_t kept = 0;
    for (size_t i = 0; i < r->count; i++) {
        if (is_wanted(p, &r->item[i])) {
            r->item[kept++] = r->item[i];
        } else {
            r->damaged -= (size_t)r->item[i].damaged;
            ds_result_clear(&r->item[i]);
        }
    }
    r->count = kept;
}

int ds_run_table_only(ds_run_results *const *set, size_t sets, const char *list, ds_error *e)
{
    patterns p;
    char first[256] = "";
    size_t left = 0, all = 0;
    int rc = patterns_make(&p, list, e);
    if (rc != 0) {
        return rc;
    }
    for (size_t s = 0; s < sets; s++) {
        if (all == 0 && set[s]->count > 0) {
            snprintf(first, sizeof first, "%.120s/%.120s", set[s]->item[0].env, set[s]->item[0].opt);
        }
        all += set[s]->count;
        keep(set[s], &p);
        left += set[s]->count;
    }
    for (size_t i = 0; left > 0 && i < p.count; i++) {
        if (!p.used[i]) {
            ds_log(DS_LOG_WARNING, NULL, "--only %s matches no run (cells are called ENV/OPT)", p.item[i]);
        }
    }
    patterns_free(&p);
    return left > 0
               ? 0
               : ds_fail(e, DS_EXIT_USAGE,
                         "--only %.200s matches none of %zu runs (cells are called ENV/OPT; the first is %s)",
                         list, all, first);
}
