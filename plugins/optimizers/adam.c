/* SPDX-License-Identifier: Apache-2.0 */
/* adam.c - first-order gradient methods from random starts: Adam (D. Kingma, J. Ba, "Adam: a method for
 * stochastic optimization", ICLR 2015) and its relatives. With g the gradient at x, eta the learning rate and
 * b = beta1:
 *
 *     adam      m = b m + (1 - b) g,  q = beta2 q + (1 - beta2) g^2
 *               x = x - eta (m / (1 - b^t)) / ((sqrt(q) + eps max sqrt(q)) / sqrt(1 - beta2^t))
 *     sgd       x = x - eta g
 *     momentum  m = b m + (1 - b) g,  x = x - eta m
 *     nesterov  g taken at x - eta b m;  m = b m + g,  x = x - eta m      (Y. Nesterov 1983)
 *     normalized
 *               m = b m + (1 - b) g / |g|,  x = x - eta sqrt((f - floor) / (f_1 - floor)) m / |m|,
 *               f_1 the loss of the start
 *
 * All of it happens in [-1, 1]^n, and x is clamped after each step. With clip > 0, sgd, momentum and nesterov
 * measure g in units of the largest component of the first gradient of the search, so the unit of the loss
 * changes no step. Where the box holds a coordinate, its first moment is dropped: it would hold the
 * coordinate there after the gradient has turned. A search is longer than the descents of randdescents: its
 * learning rate follows a schedule, outliers of the gradient (chaos, contacts) are shortened, and with blind
 * > 0 a bad gradient is replaced by the moments as they are. */
#include "methods/base/own.h"
#include "methods/gradient/descent.h"

#include <math.h>
#include <string.h>

#define LEAST_RATE 0.01 /* end of the schedules, relative to the learning rate */

enum { ADAM, SGD, MOMENTUM, NESTEROV, NORMALIZED };
enum { CONSTANT, COSINE, HALVE };
static const char *const rules[] = {"adam", "sgd", "momentum", "nesterov", "normalized", NULL};
static const char *const schedules[] = {"constant", "cosine", "halve", NULL};

typedef struct arm {
    double *x;              /* current point */
    double *probe;          /* point to simulate: x; with nesterov the point ahead of x */
    double *m, *q;          /* moments of the gradient; sgd: m is the previous gradient */
    int64_t t;              /* simulations of this search */
    int64_t learned;        /* gradients averaged in the moments */
    int64_t blind;          /* bad gradients since the last good one */
    double best, rate;      /* least smoothed loss; factor of the schedule "halve" */
    double first;           /* loss at the start */
    double unit, component; /* length and largest component of the first gradient; 0 = not known yet */
    int64_t stall;
    double recent[3]; /* last losses */
    outlier norms;    /* lengths of its gradients */
} arm;

typedef struct adam {
    multistart starts;
    size_t n;
    int rule, schedule, smooth;
    double lr, beta1, beta2, eps, clip, outlier, tol;
    double floor; /* lower bound of the loss; -INFINITY = unknown */
    int64_t j, patience;
    int64_t blind; /* bad gradients in a row that a search tolerates */
    arm *arms;
} adam;

static void adam_begin(void *self_, size_t i, const double *start)
{
    adam *self = self_;
    arm *a = &self->arms[i];
    size_t bytes = self->n * sizeof(double);
    memcpy(a->x, start, bytes);
    memcpy(a->probe, start, bytes);
    memset(a->m, 0, bytes);
    memset(a->q, 0, bytes);
    a->t = a->stall = a->learned = 0;
    a->blind = 0;
    a->norms.count = 0;
    a->unit = a->component = 0.0;
    a->best = INFINITY;
    a->rate = 1.0;
}

static const double *adam_point(void *self_, size_t i)
{
    const adam *self = self_;
    return self->arms[i].probe;
}

/* Learning rate of step t = 1, 2, ... */
static double learning_rate(const adam *self, const arm *a)
{
    if (self->schedule == COSINE && self->j > 1) {
        double done = (double)(a->t - 1) / (double)(self->j - 1);
        return self->lr *
               (LEAST_RATE + (1.0 - LEAST_RATE) * 0.5 * (1.0 + cos(3.14159265358979323846 * done)));
    }
    return self->lr * a->rate;
}

/* Counts evaluations without progress and returns whether the search continues after `loss`. With "halve", a
 * stall halves the rate. */
static int progress(const adam *self, arm *a, double loss)
{
    a->recent[(a->t - 1) % 3] = loss;
    double smoothed = self->smooth && a->t >= 3 ? outlier_median(3, a->recent) : loss;
    if (a->t == 1 || smoothed < a->best - self->tol * (a->first - a->best)) {
        a->best = smoothed;
        a->stall = 0;
    } else if (++a->stall > self->patience) {
        a->stall = 0;
        a->rate *= 0.5;
        return self->schedule == HALVE && a->rate >= LEAST_RATE;
    }
    return 1;
}

/* Factor of the step of the rule "normalized": where the loss is a squared distance, its root falls like the
 * distance left. */
static double way_left(const adam *self, const arm *a, double loss)
{
    const double above = a->first - self->floor;
    return isfinite(above) && above > 0.0 ? sqrt(fmax(loss - self->floor, 0.0) / above) : 1.0;
}

/* Euclidean norm, without overflow; infinite where a component is not finite. */
static double norm2(size_t n, const double *g)
{
    double norm = 0.0;
    for (size_t k = 0; k < n; k++) {
        norm = isfinite(g[k]) ? hypot(norm, g[k]) : (double)INFINITY;
    }
    return norm;
}

/* Factor of a gradient of length `norm`: an outlier gets the median length of the previous ones; a gradient
 * longer than `clip` is clipped. */
static double gradient_scale(const adam *self, arm *a, const double *gradient, double norm)
{
    double length = outlier_length(&a->norms, self->outlier, norm);
    for (size_t k = 0; !(a->unit > 0.0) && k < self->n; k++) {
        a->component = fmax(a->component, fabs(gradient[k]));
    }
    a->unit = a->unit > 0.0 ? a->unit : norm;
    return self->rule == ADAM || self->rule == NORMALIZED || !(self->clip > 0.0)
               ? length / norm
               : fmin(length / a->unit, self->clip) * (a->unit / a->component) / norm;
}

/* Adds component k of a gradient to the moments, except for "normalized", which turn() handles. */
static void absorb(const adam *self, arm *a, size_t k, double g)
{
    double b1 = self->beta1, b2 = self->beta2;
    switch (self->rule) {
    case ADAM:
        a->m[k] = b1 * a->m[k] + (1.0 - b1) * g;
        /* q holds the root of the second moment: the square of a huge gradient would overflow */
        a->q[k] = hypot(sqrt(b2) * a->q[k], sqrt(1.0 - b2) * g);
        break;
    case MOMENTUM:
        a->m[k] = b1 * a->m[k] + (1.0 - b1) * g;
        break;
    case NESTEROV:
        a->m[k] = b1 * a->m[k] + g;
        break;
    case SGD:
        a->m[k] = g;
        break;
    default:
        break;
    }
}

/* The change of coordinate k, which is subtracted; `root`: the largest root of a second moment. */
static double step(const adam *self, const arm *a, size_t k, double eta, double root)
{
    if (self->rule != ADAM) {
        return eta * a->m[k];
    }
    const double t = (double)a->learned;
    return eta * (a->m[k] / (1.0 - pow(self->beta1, t))) /
           ((a->q[k] + self->eps * root) / sqrt(1.0 - pow(self->beta2, t)));
}

/* Rule "normalized": updates the mean direction, where there is a gradient, and returns the factor that makes
 * its length 1. */
static double turn(const adam *self, arm *a, const double *gradient, double norm)
{
    for (size_t k = 0; gradient && k < self->n; k++) {
        a->m[k] = self->beta1 * a->m[k] + (1.0 - self->beta1) * (gradient[k] / norm);
    }
    const double length = norm2(self->n, a->m);
    return length > 0.0 ? 1.0 / length : 0.0; /* 0: the new direction cancelled the mean */
}

/* Takes one step; gradient = NULL: along the moments as they are. Returns whether the point changed. */
static int update(const adam *self, arm *a, double loss, const double *gradient, double norm)
{
    double eta = learning_rate(self, a), scale = gradient ? gradient_scale(self, a, gradient, norm) : 0.0;
    int moved = 0;
    a->learned += gradient != NULL;
    if (self->rule == NORMALIZED) {
        eta *= way_left(self, a, loss) * turn(self, a, gradient, norm);
    }
    double root = 0.0;
    for (size_t k = 0; k < self->n; k++) {
        if (gradient) {
            absorb(self, a, k, scale * gradient[k]);
        }
        root = fmax(root, a->q[k]);
    }
    for (size_t k = 0; k < self->n; k++) {
        double before = a->probe[k], change = step(self, a, k, eta, root), target = a->x[k] - change;
        double push = gradient ? scale * gradient[k] : change;
        if (!isnan(target)) {
            a->x[k] = ds_box_clamp(target, -1.0, 1.0);
        }
        if (a->x[k] != target &&
            push * (a->x[k] - target) > 0.0) { /* the box holds it, and the step pushes further out */
            a->m[k] = 0.0;
        }
        double ahead = self->rule == NESTEROV ? eta * self->beta1 * a->m[k] : 0.0;
        a->probe[k] = ds_box_clamp(a->x[k] - ahead, -1.0, 1.0);
        moved |= a->probe[k] != before;
    }
    return moved;
}

static int adam_tell(void *self_, size_t i, double loss, const double *gradient, uint32_t outcome)
{
    adam *self = self_;
    arm *a = &self->arms[i];
    a->t++;
    a->first = a->t == 1 ? loss : a->first;
    const int is_blind = outcome == DS_EVAL_BAD_GRAD;
    if ((outcome != DS_EVAL_OK && !is_blind) || !progress(self, a, loss) || a->t >= self->j) {
        return 0;
    }
    a->blind = is_blind ? a->blind + 1 : 0;
    if (is_blind) {
        return a->learned > 0 && a->blind <= self->blind && update(self, a, loss, NULL, 0.0);
    }
    double norm = norm2(self->n, gradient);
    if (!(norm > 0.0) || isinf(norm)) {
        return 0;
    }
    update(self, a, loss, gradient, norm);
    return 1;
}

static void read_parameters(void *self_, ds_param_reader *in)
{
    static const local_search first_order = {adam_begin, adam_point, adam_tell};
    adam *self = self_;
    self->n = self->starts.kit.n;
    self->floor = self->starts.kit.problem->loss_floor;
    self->rule = (int)ds_param_int(in, "rule");
    self->lr = ds_param_real(in, "lr");
    self->beta1 = ds_param_real(in, "beta1");
    self->beta2 = ds_param_real(in, "beta2");
    self->eps = ds_param_real(in, "eps");
    self->schedule = (int)ds_param_int(in, "schedule");
    self->clip = ds_param_real(in, "clip");
    self->outlier = ds_param_real(in, "outlier");
    self->smooth = ds_param_int(in, "smooth") != 0;
    self->j = ds_param_int(in, "j");
    self->patience = ds_param_int(in, "patience");
    self->blind = ds_param_int(in, "blind");
    self->tol = ds_param_real(in, "tol");
    multistart_read(&self->starts, in, &first_order);
}

static int allocate(void *self_)
{
    adam *self = self_;
    ds_memory *own = &self->starts.kit.memory;
    self->arms = ds_memory_take(own, self->starts.arms, sizeof *self->arms);
    for (size_t i = 0; !own->failed && i < self->starts.arms; i++) {
        arm *a = &self->arms[i];
        a->x = ds_memory_doubles(own, self->n);
        a->probe = ds_memory_doubles(own, self->n);
        a->m = ds_memory_doubles(own, self->n);
        a->q = ds_memory_doubles(own, self->n);
    }
    return multistart_allocate(&self->starts);
}

static const ds_param *const params[] = {
    DS_ENUM("rule", "adam", rules,
            "How the gradient becomes a step. normalized: only its direction counts; the first step is lr "
            "long, later steps shrink with the root of the loss above its floor. It suits squared distances "
            "whose gradients jump in length."),
    DS_REAL("lr", "0.1", 1e-12, 1e6, "",
            "Learning rate; the box is [-1, 1] wide. rule = normalized: Euclidean length of the first step."),
    DS_ENUM("schedule", "constant", schedules,
            "Learning rate over a search: constant; cosine, down to a hundredth at evaluation j; halve, each "
            "time the loss has not fallen for `patience` evaluations, down to a hundredth."),
    DS_INT("j", "100", 1, 1e9, "", "Most evaluations of a search, its start included."),
    DS_INT("patience", "20", 0, 1e9, "",
           "A search ends (schedule = halve: halves its rate) after more than this many evaluations in a row "
           "without improvement."),
    DS_INT("blind", "0", 0, 1e9, "",
           "Bad gradients in a row (of valid losses) that a search tolerates by stepping along the moments "
           "it has (sgd: the previous gradient); with 0 the first bad gradient ends the search."),
    DS_REAL("beta1", "0.9", 0, 0.999999, "",
            "Decay of the first moment: adam, momentum, nesterov, normalized."),
    DS_REAL("beta2", "0.999", 0, 0.999999, "", "Decay of the second moment: adam."),
    DS_REAL("eps", "1e-8", 0, 1, "",
            "Share of the largest root of a second moment that is added to all of them: adam."),
    DS_REAL("clip", "1", 0, INFINITY, "",
            "Longest gradient, in units of the length of the first gradient of the search; a longer one is "
            "scaled down, and the first step moves no variable by more than lr: sgd, momentum, nesterov. 0 = "
            "no limit, and lr is per unit of the loss."),
    DS_REAL("outlier", "1000", 0, INFINITY, "",
            "A gradient more than this many times longer than the median of the previous ones is cut to that "
            "median; 0 = never."),
    DS_BOOL("smooth", "false", "Judge progress by the median of the last three losses; for noisy losses."),
    DS_REAL(
        "tol", "1e-9", 0, 1, "",
        "Least decrease of the loss that counts as progress, as a share of the decrease since the start."),
    MULTISTART_PARAMS,
    NULL};

static const ds_desc desc = {
    OPT_DESC("adam", "0.2.0"),
    .needs = DS_OPT_IDS(DS_HAS_GRADIENT),
    .summary = "Adam, gradient descent, momentum or Nesterov's method from random starts",
    .description = "Repeats: draw a start uniformly from the box; step against the gradient, averaged over "
                   "recent steps and with adam scaled per coordinate, for at most j evaluations; stop "
                   "earlier when the loss has not fallen for `patience` evaluations, at a zero gradient, or "
                   "where the simulation or its gradient fails.\nThe learning rate may follow a schedule, "
                   "and gradients far longer than recent ones are shortened.",
    .citation = "D. Kingma, J. Ba: Adam: a method for stochastic optimization. ICLR 2015, arXiv:1412.6980",
};

static const ds_opt_table table = {
    .size = sizeof(adam),
    .no_memory = "out of memory: lower arms",
    .read = read_parameters,
    .allocate = allocate,
    .begins_at_start = ds_opt_kit_begins_at_start,
    .begin = multistart_begin,
    .round = multistart_round,
};

DS_OPT_KIT_DEFINE(table, desc)
