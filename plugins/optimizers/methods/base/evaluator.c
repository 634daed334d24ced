/* SPDX-License-Identifier: Apache-2.0 */
/* evaluator.c - one batch of simulations in canonical coordinates, see evaluator.h. */
#include "methods/base/evaluator.h"

#include "methods/base/box.h"

#include <stdlib.h>
#include <string.h>

int evaluator_init(evaluator *e, const ds_problem *problem, size_t rows)
{
    e->problem = problem;
    e->objective = NULL;
    e->n = (size_t)problem->n;
    e->rows = rows;
    e->x = malloc(rows * e->n * sizeof(double));
    return e->x != NULL;
}

void evaluator_free(evaluator *e)
{
    free(e->x);
    e->x = NULL;
}

void evaluator_x(const evaluator *e, const double *v, double *x)
{
    const opt_start *s = e->start;
    if (s && v[0] == s->v[0] && memcmp(v, s->v, e->n * sizeof *v) == 0) {
        memcpy(x, s->x, e->n * sizeof *x);
    } else {
        box_x_from_v(e->n, e->problem->lower, e->problem->upper, v, x);
    }
}

ds_status evaluator_run(evaluator *e, batch_label label, size_t count, const double *v, double *loss,
                        double *gradient, uint32_t *outcome, size_t *done)
{
    const ds_problem *p = e->problem;
    for (size_t i = 0; i < count; i++) {
        evaluator_x(e, v + i * e->n, e->x + i * e->n);
    }
    ds_batch batch = {.struct_size = sizeof(batch),
                      .want = gradient ? DS_WANT_GRAD : 0u,
                      .count = count,
                      .x = e->x,
                      .loss = loss,
                      .grad = gradient,
                      .outcome = outcome,
                      .tag = label.tag,
                      .group = label.group};
    ds_status status = e->objective->evaluate(e->objective, &batch);
    *done = status == DS_OK ? count : (status == DS_STOPPED ? (size_t)batch.done : 0);
    for (size_t i = 0; gradient && i < *done; i++) {
        box_gradient_to_v(e->n, p->lower, p->upper, gradient + i * e->n);
    }
    return status;
}
