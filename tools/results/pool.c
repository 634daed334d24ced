/* SPDX-License-Identifier: Apache-2.0 */
/* pool.c - environments of a sweep as one: each run of each of them is a sample. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "results/results.h"

/* "ball@object=3@frames=2" without "@object=3"; returns whether it was there. */
static int strip(char *name, const char *key)
{
    const size_t length = strlen(key);
    for (char *at = strchr(name, '@'); at != NULL; at = strchr(at + 1, '@')) {
        if (strncmp(at + 1, key, length) == 0 && at[1 + length] == '=') {
            const char *rest = strchr(at + 1, '@');
            memmove(at, rest != NULL ? rest : "", rest != NULL ? strlen(rest) + 1 : 1);
            return 1;
        }
    }
    return 0;
}

int ds_results_pool(ds_results *r, const char *key, ds_error *e)
{
    size_t pooled = 0;
    for (size_t i = 0; i < r->count; i++) {
        pooled += strip(r->item[i].env, key) != 0;
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
