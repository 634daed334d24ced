/* SPDX-License-Identifier: Apache-2.0 */
/* walk_full - the optimizer of walk.c with every function of the interface in view: start from here where the
 * short form does not fit. The (1+1) evolution strategy with the one-fifth success rule (Rechenberg 1973, in
 * the form of Kern et al. 2004). */
#include <diffsim/diffsim.h>
#include <diffsim/helper/params.h>
#include <diffsim/helper/random.h>
#include <stdlib.h>
#include <string.h>

static const ds_param *const params[] = {
    DS_REAL("sigma", "0.3", 1e-9, 1, "", "Standard deviation of the first step, as a share of the box."),
    NULL};

typedef struct walk {
    const ds_problem *problem;
    ds_random random;
    double sigma;
    double x[]; /* the best point so far, then the next one: n values each */
} walk;

static ds_status create(const ds_host *host, const ds_problem *problem, void **out)
{
    walk *w = calloc(1, sizeof *w + 2 * problem->n * sizeof(double));
    if (w == NULL) {
        return ds_host_fail(host, DS_E_NOMEM, "no memory for points of %llu numbers",
                            (unsigned long long)problem->n);
    }
    ds_param_reader in = {host, DS_OK};
    w->sigma = ds_param_real(&in, "sigma");
    if (in.status != DS_OK) {
        free(w);
        return in.status;
    }
    w->problem = problem;
    w->random = ds_random_open(host->seed, "walk", 0);
    *out = w;
    return DS_OK;
}

static ds_status run(void *self, const ds_objective *objective)
{
    walk *w = self;
    const ds_problem *p = w->problem;
    double *best = w->x, *x = best + p->n, f_best = INFINITY, f = INFINITY;
    ds_batch batch = {.struct_size = sizeof batch, .count = 1, .x = x, .loss = &f};
    ds_status status = DS_OK;

    for (int start = 1; status == DS_OK; start = 0) {
        /* The start point first; then one normal step from the best point, kept inside the box. */
        for (uint64_t i = 0; i < p->n; i++) {
            double step = w->sigma * (p->upper[i] - p->lower[i]) * ds_random_normal(&w->random);
            x[i] = start ? p->x0[i] : fmin(fmax(best[i] + step, p->lower[i]), p->upper[i]);
        }
        status = objective->evaluate(objective, &batch); /* says when the run is over */
        int success = f <= f_best;
        if (status == DS_OK && success) {
            memcpy(best, x, p->n * sizeof *x);
            f_best = f;
        }
        if (!start) {
            w->sigma = fmin(fmax(w->sigma * exp(success ? 0.8 : -0.2), 1e-15), 1);
        }
    }
    return status;
}

static const ds_optimizer_vtable vtable = {
    .struct_size = sizeof vtable, .create = create, .destroy = free, .run = run};
static const ds_desc desc = {.struct_size = sizeof desc,
                             .kind = DS_KIND_OPTIMIZER,
                             .id = "walk_full",
                             .version = "1",
                             .license = "Apache-2.0",
                             .summary = "(1+1) evolution strategy with the one-fifth success rule.",
                             .description = "",
                             .citation =
                                 "S. Kern et al., Learning probability distributions in continuous "
                                 "evolutionary algorithms - a comparative review, Natural Computing 3, 2004.",
                             .params = params};
DS_DEFINE_OPTIMIZER(desc, vtable)
