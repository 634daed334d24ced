/* SPDX-License-Identifier: Apache-2.0 */
/* methods/sim.c - one batch of simulations in canonical coordinates, see sim.h. */
#include "sim.h"

#include "box.h"

#include <stdlib.h>

int sim_init(sim *s, const ds_problem *problem, size_t rows)
{
    s->problem = problem;
    s->objective = NULL;
    s->n = (size_t)problem->n;
    s->rows = rows;
    s->x = malloc(rows * s->n * sizeof(double));
    return s->x != NULL;
}

void sim_free(sim *s)
{
    free(s->x);
    s->x = NULL;
}

ds_status sim_evaluate(sim *s, sim_label label, size_t count, const double *v, double *loss, double *gradient,
                       uint32_t *outcome, size_t *done)
{
    const ds_problem *p = s->problem;
    for (size_t i = 0; i < count; i++) {
        box_x_from_v(s->n, p->lower, p->upper, v + i * s->n, s->x + i * s->n);
    }
    ds_batch batch = {sizeof(batch), gradient ? DS_WANT_GRAD : 0u,
                      count,         s->x,
                      loss,          gradient,
                      outcome,       label.tag,
                      label.group,   0};
    ds_status status = s->objective->evaluate(s->objective, &batch);
    *done = status == DS_OK ? count : (status == DS_STOPPED ? (size_t)batch.done : 0);
    for (size_t i = 0; gradient && i < *done; i++) {
        box_gradient_to_v(s->n, p->lower, p->upper, gradient + i * s->n);
    }
    return status;
}
