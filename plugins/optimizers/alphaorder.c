/* SPDX-License-Identifier: Apache-2.0 */
/* alphaorder.c - stochastic descent on a smoothed loss with first-, zeroth- or alpha-order gradients. H. Suh,
 * M. Simchowitz, K. Zhang, R. Tedrake, "Do differentiable simulators give better policy gradients?" (ICML
 * 2022, arXiv:2202.00817):
 *
 *     repeat
 *         x ~ Uniform[-1, 1]^n
 *         repeat
 *             w_1, ..., w_N ~ N(0, s^2 I);  f, grad f at x and at each x + w_i
 *             g1 = mean of grad f(x + w_i),  g0 = mean of (f(x + w_i) - f(x)) w_i / s^2
 *             alpha from the variances of both, and from the bias that g1 may have
 *             g = alpha g1 + (1 - alpha) g0;  x = clamp(x - step(g))
 *         until the mean loss of the samples has not fallen for `patience` iterations
 *
 * In the paper each estimate has its own samples (shared = false); by default they share them: N + 1
 * evaluations per iteration. Outside the box f is constant along the outward direction: a sample is clamped,
 * and its gradient has no component there. Without gradients alpha is 0, which is an evolution strategy with
 * a fixed width.
 *
 * step = armijo: of t = lr, lr b, lr b^2, ... the first one with f(clamp(x - t g)) <= f(x) - c g . (x -
 * clamp(x - t g)) (L. Armijo 1966), by the loss without noise. If no trial satisfies it, x stays and the
 * samples are drawn anew.
 *
 * order = sampling is gradient sampling, for losses with kinks. J. Burke, A. Lewis, M. Overton, "A robust
 * gradient sampling algorithm for nonsmooth, nonconvex optimization" (SIAM Journal on Optimization 15, 2005):
 *
 *     repeat
 *         w_1, ..., w_N uniform in the ball of radius s
 *         g = shortest convex combination of grad f(x), grad f(x + w_1), ..., grad f(x + w_N)
 *         if |g| <= nu: s = reduce s, nu = reduce nu
 *         else x = clamp(x - step(g)), in the paper armijo with steps of length lr, lr b, ...
 *
 * nu is in units of the length of the first g of the search. */
#include "methods/base/own.h"
#include "methods/gradient/alpha_gradient.h"
#include "methods/gradient/min_norm.h"

#include <diffsim/ext/draft/files.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ADAM, SGD, ARMIJO };
enum { ALPHA, FIRST, ZEROTH, SAMPLING };
enum { CENTER, MEAN, NONE };
enum { RANDOM, X0 };
enum { BOX, UNITS_X };
enum { LINE = 200, MOST_SAMPLED = 4000 };
#define ADAM_EPS 1e-8 /* relative to the largest root of a second moment, which has the unit of the loss */
static const char *const rules[] = {"ivw", "bias", NULL};
static const char *const steps[] = {"adam", "sgd", "armijo", NULL};
static const char *const orders[] = {"alpha", "first", "zeroth", "sampling", NULL};
static const char *const baselines[] = {"center", "mean", "none", NULL};
static const char *const starts[] = {"random", "x0", NULL};
static const char *const units[] = {"box", "x", NULL};
static const char *const cases[] = {"uncertain", "inside", "hit"};

typedef struct alphaorder {
    ds_opt_kit kit;
    size_t n, N;   /* N: samples of one set */
    size_t rows;   /* rows of one batch: the sets, then x where the baseline is its loss */
    size_t centre; /* rows before the samples: 1 where the loss of x is requested */
    alpha_rule rule;
    int step, order, baseline, start, shared, units;
    double lr, tol, clip;
    double slope, shrink; /* c and b of armijo */
    int64_t trials;
    double s, s_decay, lr_decay; /* in iteration 1; exponents of their decay */
    double nu, reduce;           /* sampling: of the parameters */
    double nu_now, radius;       /* sampling: in this iteration; radius is a factor of s */
    int64_t j, patience;
    const double *scale;   /* per variable: one unit in [-1, 1] in the unit of s and lr */
    ds_random rng;         /* random numbers of this search */
    double *x, *m, *q, *g; /* n each: iterate, moments, gradient */
    double unit;           /* length of the first gradient of the search; 0 = not known yet */
    double *v, *gradient;  /* rows x n: x where it is requested, then the samples */
    double *loss;          /* rows */
    double *w, *work;      /* sets x N x n, (2 N + 1) x n */
    uint32_t *outcome;     /* rows */
    double *hull;          /* sampling: room and weights of min_norm(), and the points */
    size_t *member;
    char *trace; /* lines of trace.csv; NULL = not wanted */
    size_t trace_used, trace_room;
} alphaorder;

/* Writes a point that is uniform in the ball of radius s to w. */
static void draw_in_ball(alphaorder *self, double *w)
{
    double norm = 0.0;
    for (size_t k = 0; k < self->n; k++) {
        w[k] = ds_random_normal(&self->rng);
        norm = hypot(norm, w[k]);
    }
    const double length = self->rule.s * pow(ds_random_uniform(&self->rng), 1.0 / (double)self->n);
    for (size_t k = 0; k < self->n; k++) {
        w[k] = norm > 0.0 ? w[k] / norm * length : 0.0;
    }
}

/* Writes x, where its loss is needed, and the samples x + w_i of each set, in antithetic pairs w, -w if set.
 */
static void draw_samples(alphaorder *self)
{
    size_t n = self->n, half = self->N / 2, first = self->centre;
    if (first > 0) {
        memcpy(self->v, self->x, n * sizeof(double));
    }
    for (size_t i = 0; i < self->rows - first; i++) {
        if (self->order == SAMPLING) {
            draw_in_ball(self, self->w + i * n);
        }
        for (size_t k = 0; k < n; k++) {
            int mirrored = self->rule.antithetic && i % self->N >= half;
            double *w = self->w + i * n + k;
            if (self->order != SAMPLING) {
                *w = mirrored ? -self->w[(i - half) * n + k] : self->rule.s * ds_random_normal(&self->rng);
            }
            self->v[(i + first) * n + k] = ds_box_clamp(self->x[k] + *w / self->scale[k], -1.0, 1.0);
        }
    }
}

/* The mean of the finite losses; INFINITY without any. */
static double mean_loss(const alphaorder *self)
{
    double sum = 0.0, count = 0.0;
    for (size_t i = 0; i < self->rows; i++) {
        count += isfinite(self->loss[i]) ? 1.0 : 0.0;
    }
    for (size_t i = 0; i < self->rows; i++) {
        sum += isfinite(self->loss[i]) ? self->loss[i] / count : 0.0;
    }
    return count > 0.0 ? sum : (double)INFINITY;
}

/* Gradients in the unit of s: 0 where a sample was clamped. */
static void convert_gradients(alphaorder *self)
{
    for (size_t k = 0; self->order == SAMPLING && k < self->n; k++) {
        self->gradient[k] /= self->scale[k]; /* of x itself */
    }
    size_t n = self->n, first = self->centre * n;
    for (size_t i = first; self->kit.has_gradient && i < self->rows * n; i++) {
        size_t k = i % n;
        double unclamped = self->x[k] + self->w[i - first] / self->scale[k];
        self->gradient[i] = unclamped == self->v[i] ? self->gradient[i] / self->scale[k] : 0.0;
    }
}

/* Adds what iteration t of this search did to the trace. A line that finds no memory is left out. */
static void note(alphaorder *self, int64_t t, double mean, const alpha_report *r)
{
    if (self->trace_used + LINE > self->trace_room) {
        size_t room = 2 * self->trace_room + 16 * LINE;
        char *larger = room <= DS_MAX_FILE_BYTES ? realloc(self->trace, room) : NULL;
        if (!larger) {
            return;
        }
        self->trace = larger;
        self->trace_room = room;
    }
    const ds_problem *p = self->kit.problem;
    double first;
    ds_box_x_from_v(1, p->lower, p->upper, self->x, &first);
    int used = snprintf(self->trace + self->trace_used, LINE,
                        "%llu,%lld,%.9g,%.9g,%.9g,%.9g,%.9g,%.9g,%.9g,%s,%.9g\n",
                        (unsigned long long)self->kit.round, (long long)t, mean, self->rule.s, r->v1, r->v0,
                        r->distance, r->eps, r->alpha, cases[r->which], first);
    self->trace_used += used > 0 && used < LINE ? (size_t)used : 0;
}

/* Estimates g from the results of the samples. Returns 0 where too few succeeded. */
static int estimate_gradient(alphaorder *self, int64_t t, double mean)
{
    size_t at = self->centre;
    double base = self->baseline == MEAN ? (double)NAN : self->baseline == NONE ? 0.0 : self->loss[0];
    alpha_samples one = {.n = self->n,
                         .count = self->N,
                         .w = self->w,
                         .loss = self->loss + at,
                         .gradient = self->kit.has_gradient ? self->gradient + at * self->n : NULL,
                         .outcome = self->outcome + at,
                         .base = isinf(base) ? mean : base};
    alpha_samples other = one;
    if (!self->shared) {
        other.w += self->N * self->n;
        other.loss += self->N;
        other.gradient += self->N * self->n;
        other.outcome += self->N;
    }
    alpha_report report = {0};
    convert_gradients(self);
    int made = alpha_gradient(&self->rule, self->order == ZEROTH ? NULL : &other,
                              self->order == FIRST ? NULL : &one, self->work, self->g, &report);
    if (made && self->trace) {
        note(self, t, mean, &report);
    }
    return made;
}

/* The shortest combination of the gradients. Returns 0 where none is known. */
static int sample_gradients(alphaorder *self)
{
    double *points = self->hull, *w = points + self->rows * self->n, *room = w + self->rows;
    size_t count = 0;
    convert_gradients(self);
    for (size_t i = 0; i < self->rows; i++) {
        if (self->outcome[i] == DS_EVAL_OK) {
            memcpy(points + count++ * self->n, self->gradient + i * self->n, self->n * sizeof(double));
        }
    }
    if (count > 0) {
        min_norm(count, self->n, points, self->g, w, room, self->member);
    }
    return count > 0;
}

static double length_of_gradient(const alphaorder *self)
{
    double norm = 0.0;
    for (size_t k = 0; k < self->n; k++) {
        norm = hypot(norm, self->g[k]);
    }
    return norm;
}

/* Factor of the gradient in a step of sgd or armijo: 1 with clip = inf (the paper), else relative to the
 * first gradient of the search. */
static double gradient_scale(alphaorder *self)
{
    double norm = length_of_gradient(self);
    self->unit = self->unit > 0.0 ? self->unit : norm;
    if (self->order == SAMPLING) {
        return norm > 0.0 ? 1.0 / norm : 0.0;
    }
    return isinf(self->clip) || !(norm > 0.0) ? 1.0 : fmin(norm / self->unit, self->clip) / norm;
}

/* x = clamp(x - step(g)) in iteration t = 1, 2, ... */
static void take_step(alphaorder *self, int64_t t)
{
    double scale = gradient_scale(self), lr = self->lr / pow((double)t, self->lr_decay), root = 0.0;
    for (size_t k = 0; k < self->n; k++) {
        self->m[k] = 0.9 * self->m[k] + 0.1 * self->g[k];
        /* the root of the second moment: the square of a huge gradient would overflow */
        self->q[k] = hypot(sqrt(0.999) * self->q[k], sqrt(0.001) * self->g[k]);
        root = fmax(root, self->q[k]);
    }
    for (size_t k = 0; k < self->n; k++) {
        double change = lr * scale * self->g[k];
        if (self->step == ADAM) {
            change = lr * (self->m[k] / (1.0 - pow(0.9, (double)t))) /
                     ((self->q[k] + ADAM_EPS * root) / sqrt(1.0 - pow(0.999, (double)t)));
        }
        double target = self->x[k] - change / self->scale[k];
        self->x[k] = isnan(target) ? self->x[k] : ds_box_clamp(target, -1.0, 1.0);
    }
}

/* sampling: the ball shrinks, because no step in it lowers the loss by as much as nu demands. */
static void shrink_ball(alphaorder *self)
{
    self->radius *= self->reduce;
    self->nu_now *= self->reduce;
}

/* armijo in iteration t. v is free by then and takes the trials one after the other. */
static ds_status search_line(alphaorder *self, int64_t t, ds_evaluator_label label)
{
    const double here = self->loss[0];
    double rate = self->lr / pow((double)t, self->lr_decay) * gradient_scale(self);
    double loss = INFINITY;
    ds_status status = DS_OK;
    for (int64_t i = 0; i < self->trials; i++, rate *= self->shrink) {
        double promised = 0.0;
        size_t done;
        for (size_t k = 0; k < self->n; k++) {
            const double target = self->x[k] - rate * self->g[k] / self->scale[k];
            self->v[k] = isnan(target) ? self->x[k] : ds_box_clamp(target, -1.0, 1.0);
            promised += self->g[k] * self->scale[k] * (self->x[k] - self->v[k]);
        }
        status = ds_evaluator_run(&self->kit.evaluator, label, 1, self->v, &loss, NULL, self->outcome, &done);
        if (status != DS_OK) {
            return status;
        }
        if (isfinite(loss) && (!isfinite(here) || loss <= here - self->slope * promised)) {
            memcpy(self->x, self->v, self->n * sizeof(double));
            return DS_OK;
        }
    }
    if (self->order == SAMPLING) {
        shrink_ball(self);
    }
    return DS_OK;
}

/* With the loss of the present point as baseline, that point is the first row. */
static int alphaorder_begins_at_start(const void *self)
{
    return ((const alphaorder *)self)->centre > 0;
}

/* One search from a random start. */
static ds_status descend(void *self_)
{
    alphaorder *self = self_;
    uint64_t number = self->kit.round;
    double best = INFINITY, first = INFINITY;
    int64_t stall = 0;
    self->unit = 0.0;
    self->radius = 1.0;
    self->nu_now = self->nu;
    self->rng = ds_random_open(self->kit.host->seed, "smooth", number);
    ds_opt_kit_start(&self->kit, number, self->x);
    if (self->start == X0 && number == 1 && !self->kit.start.v) {
        ds_opt_kit_x0(self->kit.problem, self->x);
    }
    memset(self->m, 0, self->n * sizeof(double));
    memset(self->q, 0, self->n * sizeof(double));
    for (int64_t t = 1; t <= self->j; t++) {
        size_t done;
        self->rule.s = self->radius * self->s / pow((double)t, self->s_decay);
        draw_samples(self);
        ds_evaluator_label label = {t == 1 ? "init" : "sample", number};
        ds_status status =
            ds_evaluator_run(&self->kit.evaluator, label, self->rows, self->v, self->loss,
                             self->order != ZEROTH ? self->gradient : NULL, self->outcome, &done);
        if (status != DS_OK) {
            return status;
        }
        /* estimates the smoothed loss */
        double mean = self->order == SAMPLING ? self->loss[0] : mean_loss(self);
        first = t == 1 ? mean : first;
        if (t == 1 || mean < best - self->tol * (first - best)) {
            best = mean;
            stall = 0;
        } else {
            stall++;
        }
        if (stall > self->patience ||
            !(self->order == SAMPLING ? sample_gradients(self) : estimate_gradient(self, t, mean))) {
            return DS_OK;
        }
        if (self->order == SAMPLING && length_of_gradient(self) <= self->nu_now * self->unit) {
            shrink_ball(self);
            continue;
        }
        if (self->step != ARMIJO) {
            take_step(self, t);
        } else if ((status = search_line(self, t, (ds_evaluator_label){"line", number})) != DS_OK) {
            return status;
        }
    }
    return DS_OK;
}

/* Converts s and lr to [-1, 1] for each variable. */
static int find_scale(alphaorder *self)
{
    const ds_problem *p = self->kit.problem;
    double *scale = ds_memory_doubles(&self->kit.memory, self->n);
    for (size_t k = 0; scale && k < self->n; k++) {
        scale[k] = self->units == UNITS_X ? 0.5 * p->upper[k] - 0.5 * p->lower[k] : 1.0;
    }
    self->scale = scale;
    return scale != NULL;
}

static int allocate(void *self_)
{
    alphaorder *self = self_;
    ds_memory *own = &self->kit.memory;
    size_t n = self->n, rows = self->rows;
    self->x = ds_memory_doubles(own, n);
    self->m = ds_memory_doubles(own, n);
    self->q = ds_memory_doubles(own, n);
    self->g = ds_memory_doubles(own, n);
    self->v = ds_memory_doubles(own, rows * n);
    self->gradient = ds_memory_doubles(own, rows * n);
    self->loss = ds_memory_doubles(own, rows);
    self->w = ds_memory_doubles(own, (rows - self->centre) * n);
    self->work = ds_memory_doubles(own, (2 * self->N + 1) * n);
    self->outcome = ds_memory_take(own, rows, sizeof *self->outcome);
    if (self->order == SAMPLING) {
        self->hull = ds_memory_doubles(own, rows * n + rows + min_norm_room(rows));
        self->member = ds_memory_take(own, rows, sizeof *self->member);
    }
    return find_scale(self) && ds_opt_kit_rows(&self->kit, rows);
}

static void release(void *self_)
{
    free(((alphaorder *)self_)->trace);
}

/* Leaves trace.csv in the folder of the run. */
static void end(void *self_)
{
    alphaorder *self = self_;
    if (self->trace) {
        ds_opt_kit_save(&self->kit, "trace.csv", self->trace, self->trace_used);
    }
}

/* Begins the trace with the names of its columns. */
static void open_trace(alphaorder *self)
{
    static const char names[] =
        "search,iteration,mean_loss,s,variance_first,variance_zeroth,distance,eps,alpha,case,x0\n";
    self->trace = malloc(16 * LINE);
    if (self->trace) {
        self->trace_room = 16 * LINE;
        self->trace_used = sizeof names - 1;
        memcpy(self->trace, names, sizeof names);
    }
}

/* Chooses which sets of samples there are, and the layout of a batch. */
static void lay_out(alphaorder *self)
{
    if (!self->kit.has_gradient) {
        self->order = ZEROTH;
    }
    self->shared = self->shared || self->order != ALPHA;
    self->centre =
        (self->order != FIRST && self->baseline == CENTER) || self->step == ARMIJO || self->order == SAMPLING;
    self->rows = self->centre + (self->shared ? 1 : 2) * self->N;
}

static void read_rule(alphaorder *self, ds_param_reader *in)
{
    alpha_rule *r = &self->rule;
    double confidence = ds_param_real(in, "confidence");
    r->antithetic = ds_param_int(in, "antithetic") != 0;
    r->rule = (int)ds_param_int(in, "rule");
    r->gamma = ds_param_real(in, "gamma");
    r->chance = ds_param_int(in, "delta_repo") ? confidence : 1.0 - confidence;
    r->largest = ds_param_real(in, "largest");
    r->small = ds_param_real(in, "small");
    r->fixed = ds_param_real(in, "alpha");
    r->block = (size_t)ds_param_int(in, "block");
    self->s = ds_param_real(in, "s");
    self->s_decay = ds_param_real(in, "s_decay");
}

static void read_parameters(void *self_, ds_param_reader *in)
{
    alphaorder *self = self_;
    self->n = self->kit.n;
    read_rule(self, in);
    self->N = (size_t)ds_param_int(in, "samples");
    self->N += self->rule.antithetic ? self->N % 2 : 0;
    self->order = (int)ds_param_int(in, "order");
    self->baseline = (int)ds_param_int(in, "baseline");
    self->shared = ds_param_int(in, "shared") != 0;
    self->units = (int)ds_param_int(in, "units");
    self->start = (int)ds_param_int(in, "start");
    self->step = (int)ds_param_int(in, "step");
    self->lr = ds_param_real(in, "lr");
    self->lr_decay = ds_param_real(in, "lr_decay");
    self->clip = ds_param_real(in, "clip");
    self->slope = ds_param_real(in, "slope");
    self->shrink = ds_param_real(in, "shrink");
    self->trials = ds_param_int(in, "trials");
    self->nu = ds_param_real(in, "nu");
    self->reduce = ds_param_real(in, "reduce");
    self->j = ds_param_int(in, "j");
    self->patience = ds_param_int(in, "patience");
    self->tol = ds_param_real(in, "tol");
    if (in->status == DS_OK && (self->order == FIRST || self->order == SAMPLING) && !self->kit.has_gradient) {
        in->status =
            ds_host_fail(in->host, DS_E_UNSUPPORTED,
                         "order = %s needs gradients and this environment has none: take order = zeroth",
                         orders[self->order]);
    } else if (in->status == DS_OK && self->order == SAMPLING && self->N > MOST_SAMPLED) {
        in->status = ds_host_fail(in->host, DS_E_PARAM,
                                  "order = sampling takes at most %d samples, not %zu: lower samples",
                                  MOST_SAMPLED, self->N);
    } else if (!self->kit.has_gradient && self->order == ALPHA) {
        in->host->log(in->host, DS_LOG_INFO, "the environment has no gradient: zeroth-order estimates only");
    }
    lay_out(self);
    if (ds_param_int(in, "trace")) {
        open_trace(self);
    }
}

static const ds_param *const params[] = {
    DS_INT("samples", "10", 4, 1e5, "",
           "Samples per iteration, rounded up to pairs; a baseline costs one evaluation more, independent "
           "samples as many again."),
    DS_ENUM("order", "alpha", orders,
            "Which estimate: alpha = the mixture; first = gradients alone; zeroth = losses alone; sampling = "
            "the shortest convex combination of the gradients of x and of samples that are uniform in a ball "
            "of radius s (Burke, Lewis, Overton 2005; with step=armijo and more samples than variables)."),
    DS_REAL("nu", "0.1", 0, 1, "",
            "order = sampling: a combination that is shorter than this share of the first one makes the ball "
            "smaller."),
    DS_REAL("reduce", "0.1", 1e-6, 0.999, "", "order = sampling: factor of s and nu then."),
    DS_BOOL("shared", "true",
            "order = alpha: both orders use the same samples; false = independent ones (the paper)."),
    DS_ENUM("baseline", "center", baselines,
            "What the zeroth order subtracts from a loss: center = the loss of the present point; mean = the "
            "mean of the other samples (of a pair: of the other pairs); none."),
    DS_REAL("s", "0.05", 1e-9, 10, "",
            "Standard deviation of the samples, width of the smoothing, in `units`."),
    DS_REAL("s_decay", "0", 0, 10, "", "In iteration t it is s / t^s_decay."),
    DS_ENUM("units", "box", units,
            "Unit of s, lr and gamma: box = the box is [-1, 1]; x = the variables themselves (the paper)."),
    DS_BOOL("antithetic", "true",
            "Draw the samples in pairs w, -w, which removes noise from the zeroth order."),
    DS_ENUM("rule", "ivw", rules,
            "Weight of the first order: ivw = inverse variances; bias = the same, limited by gamma, which "
            "must be set (the paper)."),
    DS_REAL("gamma", "inf", 0, INFINITY, "",
            "rule = bias: tolerated bias of the gradient, in units of the loss."),
    DS_REAL("confidence", "0.95", 1e-12, 0.999999999999, "",
            "rule = bias: confidence that the bias is not larger."),
    DS_BOOL("delta_repo", "false",
            "rule = bias: use the confidence in place of the probability of failure, as the authors' program "
            "does."),
    DS_REAL("largest", "1", 0, INFINITY, "",
            "rule = bias: bound of one zeroth-order sample in Bernstein's inequality."),
    DS_REAL("small", "0", 0, 1e100, "",
            "Added to the sum of the empirical variances of both orders; 1e-5 in the authors' program."),
    DS_REAL("alpha", "-1", -1, 1, "", "Weight of the first order itself; negative = by the rule."),
    DS_INT("block", "0", 0, 1e6, "",
           "Variables that share a weight, for example those of one control segment; 1 = each has its own; 0 "
           "= all share one."),
    DS_ENUM(
        "step", "adam", steps,
        "How the gradient becomes a step: adam; sgd; or armijo, which is sgd with the first length of lr, lr "
        "shrink, lr shrink^2, ... at which the loss without noise has fallen enough (one evaluation each)."),
    DS_REAL("slope", "0.5", 0, 1, "",
            "step = armijo: share of the decrease that the gradient predicts which a step must reach."),
    DS_REAL("shrink", "0.5", 1e-3, 0.999, "", "step = armijo: factor from one length to the next."),
    DS_INT("trials", "10", 1, 1000, "",
           "step = armijo: most lengths in an iteration; after that the point stays."),
    DS_REAL("clip", "1", 1e-12, INFINITY, "",
            "step = sgd, armijo: clips the gradient to this length, in units of the length of the first "
            "gradient of the search; inf = no clipping, and lr is per unit of the loss (the paper)."),
    DS_REAL("lr", "0.05", 1e-12, 1e6, "", "Learning rate, in `units`."),
    DS_REAL("lr_decay", "0", 0, 10, "", "In iteration t it is lr / t^lr_decay."),
    DS_ENUM(
        "start", "random", starts,
        "Start of the first search without use_x0 and x0: random, or x0, which the environment suggests."),
    DS_OPT_START_PARAMS("false"),
    DS_INT("j", "100", 1, 1e9, "", "Most iterations of a search."),
    DS_INT("patience", "10", 0, 1e9, "",
           "A search ends when the mean loss has not fallen for more than this many iterations in a row."),
    DS_REAL("tol", "1e-9", 0, 1, "",
            "Least decrease of the mean loss that counts as progress, as a share of the decrease since the "
            "start."),
    DS_BOOL("trace", "false",
            "Leave trace.csv in the folder of the run: per iteration the empirical variances, |g1 - g0|, "
            "eps, alpha and the case (uncertain, inside, hit), the mean loss, and the first variable."),
    NULL};

static const ds_desc desc = {
    OPT_DESC("alphaorder", "0.4.0"),
    .uses = DS_OPT_IDS(DS_HAS_GRADIENT),
    .summary = "Descent on a smoothed loss with first-order, zeroth-order or mixed gradients",
    .description = "Repeats from random starts: sample around the present point; estimate the gradient of "
                   "the smoothed loss as the mean of the sampled gradients (first order) and from the "
                   "sampled losses alone (zeroth order); step against their mixture, weighted by their "
                   "variances. Where the loss jumps the first order is wrong, and rule = bias limits its "
                   "weight.\n\nThe paper's own search: shared=false units=x step=sgd clip=inf rule=bias "
                   "small=1e-5 antithetic=false start=x0 and j, patience as large as the budget.\n\nGradient "
                   "sampling, for losses with kinks: order=sampling step=armijo slope=1e-4 s=0.1 lr=1.",
    .citation =
        "H. Suh, M. Simchowitz, K. Zhang, R. Tedrake: Do differentiable simulators give better policy "
        "gradients? ICML 2022, arXiv:2202.00817. Gradient sampling: J. Burke, A. Lewis, M. Overton: A robust "
        "gradient sampling algorithm for nonsmooth, nonconvex optimization. SIAM Journal on Optimization 15, "
        "2005",
};

static const ds_opt_table table = {
    .size = sizeof(alphaorder),
    .no_memory = "out of memory: lower samples",
    .read = read_parameters,
    .allocate = allocate,
    .begins_at_start = alphaorder_begins_at_start,
    .round = descend,
    .release = release,
    .end = end,
};

DS_OPT_KIT_DEFINE(table, desc)
