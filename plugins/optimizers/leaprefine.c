/* SPDX-License-Identifier: Apache-2.0 */
/* leaprefine.c - LeapRefine: leaps as in BO-Leap that begin with a descent and go on while they pay, then
 * refinement of the best point by whichever local search gains most. A method of this project, after R.
 * Antonova et al., "Rethinking optimization with differentiable simulation from a global perspective"
 * (arXiv:2207.00167):
 *
 *     S = {}
 *     repeat
 *         if (1 - refine) of the budget is spent and the best point is new since the last refinement
 *             repeat turns of L-BFGS-B, Adam and CMA-ES from the best point, the next turn to the one that
 *             gained most per evaluation in its last turn, until none gains any more      (gradient/refine.h)
 *         else
 *             x_n = argmin LCB(x | Gaussian process of S)
 *             mu, l = descent of at most J evaluations from x_n
 *             while the leap has evaluations left, or holds the best point of the run and gained 1 % of
 *                     what there may be to gain
 *                 x_k ~ N(mu, sigma^2 C), k = 1..K;  s = mean of the K/2 best
 *                 mu, l = descent of at most J evaluations from s;  update sigma, C
 *                 J = half of J, at least 2, if that descent never improved on its start, else twice, at
 *                     most j
 *         every simulated point enters S
 *
 * Three things differ from BO-Leap: a proposed point is followed downhill before anything is sampled around
 * it; descents shrink to a probe where gradients lead nowhere; and the best point is not left where a descent
 * began to oscillate.
 */
#include "methods/base/blas.h"
#include "methods/base/own.h"
#include "methods/bayes/bayes_search.h"
#include "methods/gradient/leap.h"

typedef struct leaprefine {
    bayes_search bayes; /* Gaussian process of S */
    leap_options options;
    leap leap;
    double *x_n, *loss, *gradient; /* n, samples, n or samples x n */
    uint32_t *outcome;
} leaprefine;

/* Takes one leap from x_n; ends early when the refinement is due. */
static ds_status take_leap(leaprefine *self, uint64_t trial)
{
    leap *l = &self->leap;
    bayes_search *b = &self->bayes;
    ds_status status = DS_OK;
    double run_best = b->best_loss;
    leap_begin(l, self->x_n, trial, ds_random_open(b->kit.host->seed, "sample", trial));
    while (status == DS_OK && (l->state != LEAP_OVER || leap_resume(l, run_best))) {
        const double *points;
        size_t count = leap_points(l, &points);
        int is_descent = l->state == LEAP_DESCENT, with_gradient = leap_wants_gradient(l);
        const unsigned char proposed = 1; /* a start is evaluated in its own batch */
        status = bayes_simulate(b, is_descent ? "descent" : "sample", count, l->at_start ? &proposed : NULL,
                                points, self->loss, with_gradient ? self->gradient : NULL, self->outcome);
        if (status == DS_OK) {
            leap_tell(l, self->loss, self->gradient, self->outcome);
            if (l->state != LEAP_DESCENT && b->kit.problem->budget > 0 && bayes_refine_due(b)) {
                break;
            }
        }
    }
    return status;
}

static ds_status leaprefine_search(void *self_)
{
    leaprefine *self = self_;
    uint64_t trial = self->bayes.group = self->bayes.kit.round;
    if (bayes_refine_due(&self->bayes)) {
        return bayes_refine(&self->bayes);
    }
    ds_status status = bayes_propose(&self->bayes, trial, 0, NULL, NULL, self->x_n);
    return status != DS_OK ? status : take_leap(self, trial);
}

/* Leaps that begin with samples do not evaluate the point where they begin. */
static int leaprefine_begins_at_start(const void *self_)
{
    const leaprefine *self = self_;
    return self->options.first && self->options.J > 0;
}

static ds_status leaprefine_begin(void *self_)
{
    leaprefine *self = self_;
    return bayes_take_start(&self->bayes) ? DS_OK : DS_E_NOMEM;
}

static void read_parameters(void *self_, ds_param_reader *in)
{
    leaprefine *self = self_;
    leap_options *o = &self->options;
    blas_use_one_thread();
    o->K = (size_t)ds_param_int(in, "k");
    o->mu = o->K / 2;
    o->J = self->bayes.kit.has_gradient ? ds_param_int(in, "j") : 0;
    o->first = ds_param_int(in, "first") != 0;
    o->lengths = ds_param_int(in, "trust") ? LEAP_TRUST : LEAP_FIXED;
    o->gradients = self->bayes.kit.has_gradient && ds_param_int(in, "sample_gradients") != 0;
    o->steps = ds_param_int(in, "leap_steps");
    o->floor = self->bayes.kit.problem->loss_floor;
    o->sigma = ds_param_real(in, "sigma1");
    o->descent = descent_read_options(in);
    bayes_read(&self->bayes, in, "refine");
    in->status = in->status != DS_OK ? in->status : bayes_check_size(in->host, self->bayes.kit.n);
    if (in->status == DS_OK && o->steps < (int64_t)o->K + (o->J > 0)) {
        in->status =
            ds_host_fail(in->host, DS_E_PARAM,
                         "leap_steps = %lld is too few for k = %zu samples and a descent: at least %lld",
                         (long long)o->steps, o->K, (long long)o->K + (o->J > 0));
    }
}

static int allocate(void *self_)
{
    leaprefine *self = self_;
    ds_memory *own = &self->bayes.kit.memory;
    size_t n = self->bayes.kit.n, K = self->options.K;
    self->x_n = ds_memory_doubles(own, n);
    self->loss = ds_memory_doubles(own, K);
    self->gradient = ds_memory_doubles(own, self->options.gradients ? K * n : n);
    self->outcome = ds_memory_take(own, K, sizeof *self->outcome);
    return leap_init(&self->leap, n, &self->options) &&
           bayes_allocate(&self->bayes, K, 1u << REFINE_LBFGSB | 1u << REFINE_ADAM | 1u << REFINE_SAMPLES);
}

static void leaprefine_release(void *self_)
{
    leaprefine *self = self_;
    bayes_release(&self->bayes);
    leap_free(&self->leap);
}

static const ds_param *const params[] = {
    DS_REAL(
        "refine", "0.3", 0, 1, "",
        "Share of the budget kept for the refinement of the best point; 0 = no refinement. Without a budget, "
        "every leap that improved the best point is followed by one."),
    DS_INT("k", "10", 2, 1e5, "", "Samples of a generation; the mean of the better half starts the descent."),
    DS_INT("j", "10", 1, 1e6, "", "Most evaluations of a descent in a leap."),
    DS_INT("leap_steps", "100", 1, 1e9, "",
           "Evaluations of a leap; one that improves the best point of the run continues for as many more."),
    DS_REAL("sigma1", "0.3", 1e-6, 1e3, "",
            "Standard deviation of the first samples of a leap, where the box is [-1, 1]."),
    DS_BOOL("first", "true", "A leap begins with a descent from the proposed point, before any samples."),
    DS_BOOL("trust", "true", "Shorten descents while they do not improve on their starts."),
    LEAP_GRADIENTS,
    DESCENT_PARAMS,
    SURROGATE_PARAMS,
    DS_OPT_START_PARAMS("false"),
    NULL};

static const ds_desc desc = {
    OPT_DESC("leaprefine", "0.3.1"),
    .flags = DS_OPT_USES_BUDGET,
    .uses = DS_OPT_IDS(DS_HAS_GRADIENT),
    .summary = "LeapRefine: BO-Leap with descents first, leaps that continue while they gain, and refinement",
    .description = "Repeats leaps as boleap does, from points that a Gaussian process proposes, but each "
                   "begins with a gradient descent. For the last part of the budget L-BFGS-B, Adam and "
                   "CMA-ES alternate at the best point; each turn goes to the one that gained most recently. "
                   "When none gains any more, leaps begin again.",
    .citation = "This project; after " OPT_ANTONOVA,
};

static const ds_opt_table table = {
    .size = sizeof(leaprefine),
    .no_memory_run = BAYES_NO_MEMORY,
    .read = read_parameters,
    .allocate = allocate,
    .release = leaprefine_release,
    .begins_at_start = leaprefine_begins_at_start,
    .begin = leaprefine_begin,
    .round = leaprefine_search,
};

DS_OPT_KIT_DEFINE(table, desc)
