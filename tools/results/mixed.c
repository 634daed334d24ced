/* SPDX-License-Identifier: Apache-2.0 */
/* mixed.c - warns where runs that are looked at together were made with different arithmetic. */
#include "config.h"

#include "results/results.h"

#include <string.h>

#include "base/log.h"

/* The BLAS is its last part, which runs that use none lack: "x86_64 avx2, glibc 2.36 (libm 5f3c2a91),
 * OpenBLAS 0.3.21 Haswell". */
static size_t without_blas(const char *text)
{
    const char *end = strchr(text, ')');
    return end != NULL ? (size_t)(end + 1 - text) : strlen(text);
}

static int differs(const char *a, const char *b)
{
    size_t n = without_blas(a), m = without_blas(b);
    return n != m || strncmp(a, b, n) != 0 || (a[n] != '\0' && b[m] != '\0' && strcmp(a + n, b + m) != 0);
}

static const char *arithmetic_of(const ds_result *r)
{
    return ds_result_is_finished(r) ? r->arithmetic : NULL;
}

/* The first run whose arithmetic is not that of `a`, or NULL. */
static const ds_result *other_than(const ds_result *a, ds_results *const *set, size_t sets)
{
    for (size_t s = 0; s < sets; s++) {
        for (size_t i = 0; i < set[s]->count; i++) {
            const ds_result *b = &set[s]->item[i];
            if (arithmetic_of(b) != NULL && differs(a->arithmetic, b->arithmetic)) {
                return b;
            }
        }
    }
    return NULL;
}

void ds_results_warn_mixed(ds_results *const *set, size_t sets)
{
    for (size_t s = 0; s < sets; s++) {
        for (size_t i = 0; i < set[s]->count; i++) {
            const ds_result *a = &set[s]->item[i], *b = NULL;
            if (arithmetic_of(a) == NULL || (b = other_than(a, set, sets)) == NULL) {
                continue;
            }
            ds_log(DS_LOG_WARNING, NULL,
                   "runs with different arithmetic are put side by side, and may differ for that alone: %s "
                   "(%s), %s (%s); runs with --portable do not",
                   ds_result_where(a), a->arithmetic, ds_result_where(b), b->arithmetic);
            return;
        }
    }
}
