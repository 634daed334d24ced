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

static void warn(const ds_result *a, const ds_result *b)
{
    ds_log(DS_LOG_WARNING, NULL,
           "runs with different arithmetic are put side by side, and may differ for that alone: %s "
           "(%s), %s (%s); runs with --portable do not",
           ds_result_where(a), a->arithmetic, ds_result_where(b), b->arithmetic);
}

void ds_results_warn_mixed(ds_run_results *const *set, size_t sets)
{
    enum { KINDS = 64 }; /* texts, of which a run of each; more are passed over */
    const ds_result *kind[KINDS];
    size_t kinds = 0;
    for (size_t s = 0; s < sets; s++) {
        for (size_t i = 0; i < set[s]->count; i++) {
            const ds_result *run = &set[s]->item[i];
            size_t k = 0;
            while (arithmetic_of(run) != NULL && k < kinds &&
                   strcmp(kind[k]->arithmetic, run->arithmetic) != 0) {
                k++;
            }
            if (arithmetic_of(run) == NULL || k < kinds) {
                continue;
            }
            for (k = 0; k < kinds; k++) {
                if (differs(kind[k]->arithmetic, run->arithmetic)) {
                    warn(kind[k], run);
                    return;
                }
            }
            if (kinds < KINDS) {
                kind[kinds++] = run;
            }
        }
    }
}
