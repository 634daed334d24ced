/* SPDX-License-Identifier: Apache-2.0 */
/* batch_contract.c - see batch_contract.h. */
#include "config.h"

#include "evaluate/batch_contract.h"

#include <stdio.h>

static int refuse(char text[DS_BATCH_TEXT], const char *why)
{
    snprintf(text, DS_BATCH_TEXT, "%s", why);
    return 0;
}

static int rows_allowed(const ds_batch *b, const ds_problem *problem, char text[DS_BATCH_TEXT])
{
    uint64_t n = problem->n;
    for (uint64_t row = 0; row < b->count; row++) {
        const double *x = b->x + row * n;
        for (uint64_t i = 0; i < n; i++) {
            if (!(x[i] >= problem->lower[i] && x[i] <= problem->upper[i])) { /* also catches NaN */
                snprintf(text, DS_BATCH_TEXT,
                         "row %llu of %llu, variable %llu is %.17g, outside of its bounds %.17g..%.17g",
                         (unsigned long long)row, (unsigned long long)b->count, (unsigned long long)i, x[i],
                         problem->lower[i], problem->upper[i]);
                return 0;
            }
        }
    }
    return 1;
}

int ds_batch_allowed(const ds_batch *b, const ds_problem *problem, char text[DS_BATCH_TEXT])
{
    if (b == NULL || !DS_HAS(ds_batch, b, done)) {
        return refuse(text, "the batch is missing or its struct_size is too small");
    }
    if (b->count == 0 || b->x == NULL || b->loss == NULL) {
        return refuse(text, "count is 0, or x or loss is NULL");
    }
    if ((b->want & ~(uint32_t)DS_WANT_GRAD) != 0) {
        return refuse(text, "want holds more than DS_WANT_GRAD");
    }
    if ((b->want & DS_WANT_GRAD) != 0 && (!problem->has_gradient || b->grad == NULL)) {
        return refuse(text, problem->has_gradient
                                ? "a gradient is wanted but grad is NULL"
                                : "a gradient is wanted, which the environment does not have");
    }
    return rows_allowed(b, problem, text);
}
