/* SPDX-License-Identifier: Apache-2.0 */
/* pool.c - environments of a sweep as one: each run of each of them is a sample. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "results/results.h"

/* ---- names ---- */

/* "@object=3" in "ball@object=3@frames=2", of `length` bytes; *count gets how many it has. NULL = none. */
static const char *find_variant(const char *name, size_t length, const char *key, size_t *count)
{
    const char *const end = name + length;
    const size_t n = strlen(key);
    for (const char *at = name; (at = memchr(at, '@', (size_t)(end - at))) != NULL; at++) {
        if ((size_t)(end - at) > n + 1 && strncmp(at + 1, key, n) == 0 && at[1 + n] == '=') {
            const char *next = memchr(at + 1, '@', (size_t)(end - at - 1));
            *count = (size_t)((next != NULL ? next : end) - at);
            return at;
        }
    }
    return NULL;
}

const char *ds_result_variant_folder(const ds_result *r, size_t *length)
{
    const char *path = r->place != NULL ? r->place : r->folder, *end = path + strlen(path), *from = end;
    for (int k = 0; k < 3; k++) {
        end = k > 0 && from > path ? from - 1 : end;
        for (from = end; from > path && from[-1] != '/'; from--) {
        }
    }
    *length = memchr(from, '@', (size_t)(end - from)) != NULL ? (size_t)(end - from) : 0;
    return from;
}

/* Takes "@object=3" out of the name of its environment, and keeps it as its variant; that of a row which was
 * pooled when its table was written is in its folder. Returns whether the name had it, or -1 without
 * memory. */
static int strip(ds_result *r, const char *key)
{
    size_t count = 0, length = 0, in_folder = 0;
    const char *at = find_variant(r->env, strlen(r->env), key, &count);
    const char *folder = ds_result_variant_folder(r, &length);
    const char *other = find_variant(folder, length, key, &in_folder);
    if (at != NULL) {
        r->variant = strndup(at + 1, count - 1);
        memmove(r->env + (at - r->env), at + count, strlen(at + count) + 1);
        return r->variant != NULL ? 1 : -1;
    }
    if (r->table == NULL || other != NULL) {
        r->variant = r->table != NULL ? strndup(other + 1, in_folder - 1) : strdup("");
        return r->variant != NULL ? 0 : -1;
    }
    return 0;
}

int ds_results_pool(ds_run_results *r, const char *key, ds_error *e)
{
    size_t pooled = 0;
    for (size_t i = 0; i < r->count; i++) {
        const int had = strip(&r->item[i], key);
        if (had < 0) {
            return ds_no_memory(e);
        }
        pooled += had != 0;
    }
    if (pooled == 0) {
        return ds_fail(e, DS_EXIT_USAGE,
                       "--pool %.60s: no environment is a variant of a sweep over it, ENV@%.60s=VALUE; the "
                       "first is %.60s",
                       key, key, r->item[0].env);
    }
    ds_results_sort(r);
    return 0;
}

/* ---- variants that optimizers lack ---- */

/* Runs of one optimizer on one environment, [first, end), by variant. */
typedef struct share {
    size_t variants, least, most, runs; /* variants with runs, the fewest and the most runs on one of them */
    const char *lacking;                /* the first variant that it has not; NULL = none */
    int known;                          /* is the variant of every run known? */
} share;

static int by_variant(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The variants of the runs that count of [first, end), each once, in order; `variant` has room for all. */
static size_t variants_of(const ds_run_results *r, size_t first, size_t end, const char **variant)
{
    size_t n = 0, kept = 0;
    for (size_t i = first; i < end; i++) {
        if (ds_result_counts(&r->item[i]) && r->item[i].variant != NULL) {
            variant[n++] = r->item[i].variant;
        }
    }
    qsort(variant, n, sizeof *variant, by_variant);
    for (size_t i = 0; i < n; i++) {
        if (kept == 0 || strcmp(variant[kept - 1], variant[i]) != 0) {
            variant[kept++] = variant[i];
        }
    }
    return kept;
}

static share share_of(const ds_run_results *r, size_t first, size_t end, const char *const *variant,
                      size_t variants)
{
    share s = {.least = SIZE_MAX, .known = 1};
    for (size_t i = first; i < end; i++) {
        s.runs += ds_result_counts(&r->item[i]);
        s.known &= !ds_result_counts(&r->item[i]) || r->item[i].variant != NULL;
    }
    for (size_t k = 0; s.known && k < variants; k++) {
        size_t runs = 0;
        for (size_t i = first; i < end; i++) {
            runs += ds_result_counts(&r->item[i]) && strcmp(r->item[i].variant, variant[k]) == 0;
        }
        s.lacking = runs == 0 && s.lacking == NULL ? variant[k] : s.lacking;
        s.variants += runs > 0;
        s.least = runs > 0 && runs < s.least ? runs : s.least;
        s.most = runs > s.most ? runs : s.most;
    }
    return s;
}

static int leave_out(ds_run_results *r, size_t first, size_t end, const char *why, ds_error *e)
{
    for (size_t i = first; i < end; i++) {
        if (ds_result_counts(&r->item[i])) {
            r->item[i].partial = 0;
            r->item[i].error = strdup(why);
            if (r->item[i].error == NULL) {
                return ds_no_memory(e);
            }
        }
    }
    return 0;
}

/* The runs of one optimizer on one environment, on which there are `variants` in all. */
static int balance(ds_run_results *r, size_t first, size_t end, const char *const *variant, size_t variants,
                   const char *key, ds_error *e)
{
    const char *env = r->item[first].env, *opt = r->item[first].opt;
    const share s = share_of(r, first, end, variant, variants);
    char why[300];
    if (s.runs == 0 || !s.known) {
        return 0;
    }
    if (s.lacking != NULL) {
        const char *lacking = s.lacking[0] != '\0' ? s.lacking : "the environment itself";
        snprintf(why, sizeof why, "its optimizer ran on %zu of %zu variants, and not on %.100s", s.variants,
                 variants, lacking);
        ds_log(DS_LOG_WARNING, NULL,
               "--pool %s: %s ran on %zu of %zu variants of %s, and not on %s: its %zu run%s there %s left "
               "out; --only ENV/OPT chooses variants that all ran on",
               key, opt, s.variants, variants, env, lacking, s.runs, s.runs == 1 ? "" : "s",
               s.runs == 1 ? "is" : "are");
        return leave_out(r, first, end, why, e);
    }
    if (s.least < s.most) {
        ds_log(DS_LOG_WARNING, NULL,
               "--pool %s: %s has %zu to %zu runs on a variant of %s, so that these have different weights",
               key, opt, s.least, s.most, env);
    }
    return 0;
}

int ds_results_balance(ds_run_results *r, const char *key, ds_error *e)
{
    const char **variant = calloc(r->count + 1, sizeof *variant);
    int rc = variant == NULL ? ds_no_memory(e) : 0;
    for (size_t i = 0, end; rc == 0 && i < r->count; i = end) {
        for (end = i; end < r->count && strcmp(r->item[end].env, r->item[i].env) == 0; end++) {
        }
        const size_t variants = variants_of(r, i, end, variant);
        for (size_t k = i, next; rc == 0 && variants > 1 && k < end; k = next) {
            for (next = k; next < end && strcmp(r->item[next].opt, r->item[k].opt) == 0; next++) {
            }
            rc = balance(r, k, next, variant, variants, key, e);
        }
    }
    free(variant);
    return rc;
}
