/* SPDX-License-Identifier: Apache-2.0 */
/* statistics.c - counts and the best point of a run. */
#include "config.h"

#include "run/statistics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int ds_statistics_open(ds_statistics *l, uint64_t n)
{
    memset(l, 0, sizeof(*l));
    l->n = n;
    l->best_loss = (double)INFINITY;
    atomic_store(&l->shown_best, (double)INFINITY);
    l->best_x = calloc(n, sizeof(double));
    return l->best_x != NULL ? 0 : -1;
}

void ds_statistics_close(ds_statistics *l)
{
    free(l->best_x);
    l->best_x = NULL;
}

int ds_statistics_add(ds_statistics *l, const double *x, const ds_answer *answer, uint32_t want, int replayed)
{
    l->count++;
    l->outcome[answer->outcome < DS_OUTCOMES ? answer->outcome : DS_EVAL_INVALID]++;
    l->cost_steps += answer->cost_steps;
    l->wall_s += answer->wall_s;
    l->gradients += (want & DS_WANT_GRAD) != 0;
    if (answer->outcome > DS_EVAL_BAD_GRAD && answer->outcome != DS_EVAL_INFEASIBLE) {
        l->failed++;
        atomic_store_explicit(&l->shown_failed, l->failed, memory_order_relaxed);
    }
    if (replayed) {
        l->replayed++;
        atomic_store_explicit(&l->shown_replayed, l->replayed, memory_order_relaxed);
    }
    atomic_store_explicit(&l->shown_count, l->count, memory_order_relaxed);
    if (!(answer->loss < l->best_loss)) {
        return 0;
    }
    l->best_loss = answer->loss;
    l->best_id = l->count;
    memcpy(l->best_x, x, l->n * sizeof(double));
    atomic_store_explicit(&l->shown_best, l->best_loss, memory_order_relaxed);
    return 1;
}
