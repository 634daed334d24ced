/* SPDX-License-Identifier: Apache-2.0 */
/* walk - an optimizer: the (1+1) evolution strategy with the one-fifth success rule (Rechenberg 1973, in the
 * form of Kern et al. 2004). One normal step from the best point so far; a success widens the steps, else
 * they shrink. */
#include <diffsim/helper/simple.h>

static const ds_param *const params[] = {
    DS_REAL("sigma", "0.3", 1e-9, 1, "", "Standard deviation of the first step, as a share of the box."),
    DS_OPT_START_PARAMS("true"), NULL};

static ds_status search(ds_simple_search *s)
{
    const ds_problem *p = s->problem;
    double *best = s->point, *x = best + p->n, sigma = s->param[0], f_best = INFINITY, f = INFINITY;
    ds_simple_start_x(s, 1, x);
    ds_status status = ds_simple_ask(s, x, &f, NULL); /* says when the run is over */
    while (status == DS_OK) {
        if (f <= f_best) {
            memcpy(best, x, p->n * sizeof *x);
            f_best = f;
            sigma = fmin(sigma * exp(0.8), 1);
        } else {
            sigma = fmax(sigma * exp(-0.2), 1e-15);
        }
        for (uint64_t i = 0; i < p->n; i++) {
            double step = sigma * (p->upper[i] - p->lower[i]) * ds_random_normal(&s->random);
            x[i] = ds_box_clamp(best[i] + step, p->lower[i], p->upper[i]);
        }
        status = ds_simple_ask(s, x, &f, NULL);
    }
    return status;
}

DS_SIMPLE_OPTIMIZER("walk", "(1+1) evolution strategy with the one-fifth success rule.", params, 0, search)
