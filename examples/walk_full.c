/* SPDX-License-Identifier: Apache-2.0 */
/* walk_full - the optimizer of walk.c on the optimizer kit: start from here where the short form does not
 * fit. The (1+1) evolution strategy with the one-fifth success rule (Rechenberg 1973, in the form of Kern et
 * al. 2004). */
#include <diffsim/helper/opt_kit.h>

static const ds_param *const params[] = {
    DS_REAL("sigma", "0.3", 1e-9, 1, "", "Standard deviation of the first step, as a share of the box."),
    DS_OPT_START_PARAMS("true"), NULL};

typedef struct walk {
    ds_opt_kit kit;
    ds_random random;
    double sigma, f_best;
    double *best, *x; /* the best point so far and the next one: n values each */
} walk;

static void walk_read(void *self, ds_param_reader *in)
{
    walk *w = self;
    w->sigma = ds_param_real(in, "sigma");
    w->f_best = INFINITY;
    w->random = ds_random_open(w->kit.host->seed, "walk", 0);
    w->best = ds_memory_doubles(&w->kit.memory, w->kit.n);
    w->x = ds_memory_doubles(&w->kit.memory, w->kit.n);
}

static ds_status walk_round(void *self)
{
    walk *w = self;
    const ds_problem *p = w->kit.problem;
    const int is_start = w->kit.round == 1;
    double f = INFINITY;
    /* The start point first; then one normal step from the best point, kept inside the box. */
    for (size_t i = 0; i < w->kit.n; i++) {
        double step = w->sigma * (p->upper[i] - p->lower[i]) * ds_random_normal(&w->random);
        w->x[i] = ds_box_clamp(w->best[i] + step, p->lower[i], p->upper[i]);
    }
    if (is_start) {
        ds_opt_kit_start_x(&w->kit, 1, w->x);
    }
    ds_evaluator_request request = {.count = 1, .x = w->x, .loss = &f};
    ds_status status = ds_evaluator_send(&w->kit.evaluator, (ds_evaluator_label){NULL, 0}, &request);
    const int success = f <= w->f_best;
    if (status == DS_OK && success) {
        memcpy(w->best, w->x, w->kit.n * sizeof *w->x);
        w->f_best = f;
    }
    if (!is_start) {
        w->sigma = fmin(fmax(w->sigma * exp(success ? 0.8 : -0.2), 1e-15), 1);
    }
    return status; /* says when the run is over */
}

static const ds_opt_table table = {.size = sizeof(walk),
                                   .read = walk_read,
                                   .begins_at_start = ds_opt_kit_begins_at_start,
                                   .round = walk_round};
static const ds_desc desc = {
    DS_OPT_KIT_DESC("walk_full", "1", "Apache-2.0", params),
    .summary = "(1+1) evolution strategy with the one-fifth success rule.", .description = "",
    .citation = "S. Kern et al., Learning probability distributions in continuous "
                "evolutionary algorithms - a comparative review, Natural Computing 3, 2004."};
DS_OPT_KIT_DEFINE(table, desc)
