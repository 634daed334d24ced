/* SPDX-License-Identifier: Apache-2.0 */
/* alphaorder.c - stochastic descent on a smoothed loss with alpha-order gradients. H. Suh, M. Simchowitz, K.
 * Zhang, R. Tedrake, "Do differentiable simulators give better policy gradients?" (ICML 2022,
 * arXiv:2202.00817):
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
 * Unlike the paper both estimates use the same samples: N + 1 evaluations per iteration. Outside of the box f
 * is taken as constant along the outward direction: a sample is clamped, and its gradient has no component
 * there. Without gradients alpha is 0, which is an evolution strategy with a fixed width.
 */
#include "methods/base/box.h"
#include "methods/base/opt_kit.h"
#include "methods/gradient/alpha_gradient.h"

#include <math.h>
#include <string.h>

enum { ADAM, SGD };
static const char *const rules[] = {"ivw", "bias", NULL};
static const char *const steps[] = {"adam", "sgd", NULL};

typedef struct alphaorder {
    opt_kit kit;
    size_t n, N;
    alpha_rule rule;
    int step;
    double lr, tol;
    int64_t j, patience;
    ds_random rng;         /* of the present search */
    double *x, *m, *q, *g; /* n each: iterate, moments, gradient */
    double *v, *gradient;  /* (N + 1) x n: x, then the samples */
    double *loss;          /* N + 1 */
    double *w, *work;      /* N x n, (2 N + 1) x n */
    uint32_t *outcome;     /* N + 1 */
} alphaorder;

/* x and the samples x + w_i, in antithetic pairs w, -w where wanted. */
static void draw_samples(alphaorder *self)
{
    size_t n = self->n, half = self->N / 2;
    memcpy(self->v, self->x, n * sizeof(double));
    for (size_t i = 0; i < self->N; i++) {
        for (size_t k = 0; k < n; k++) {
            int mirrored = self->rule.antithetic && i >= half;
            double *w = self->w + i * n + k;
            *w = mirrored ? -self->w[(i - half) * n + k] : self->rule.s * ds_random_normal(&self->rng);
            self->v[(i + 1) * n + k] = box_clamp(self->x[k] + *w, -1.0, 1.0);
        }
    }
}

/* The mean of the finite losses; INFINITY where there is none. */
static double mean_loss(const alphaorder *self)
{
    double sum = 0.0, count = 0.0;
    for (size_t i = 0; i <= self->N; i++) {
        count += isfinite(self->loss[i]) ? 1.0 : 0.0;
    }
    for (size_t i = 0; i <= self->N; i++) {
        sum += isfinite(self->loss[i]) ? self->loss[i] / count : 0.0;
    }
    return count > 0.0 ? sum : (double)INFINITY;
}

/* g, from the answers to the samples. 0 where too few succeeded. */
static int estimate_gradient(alphaorder *self)
{
    size_t n = self->n;
    double alpha;
    for (size_t i = n; self->kit.has_gradient && i < (self->N + 1) * n; i++) {
        double unclamped = self->x[i % n] + self->w[i - n];
        self->gradient[i] = unclamped == self->v[i] ? self->gradient[i] : 0.0;
    }
    double base = isfinite(self->loss[0]) ? self->loss[0] : mean_loss(self);
    alpha_samples samples = {n,
                             self->N,
                             self->w,
                             self->loss + 1,
                             self->kit.has_gradient ? self->gradient + n : NULL,
                             self->outcome + 1,
                             base};
    return alpha_gradient(&self->rule, &samples, self->work, self->g, &alpha);
}

/* x = clamp(x - step(g)) in iteration t = 1, 2, ... */
static void take_step(alphaorder *self, int64_t t)
{
    double norm = 0.0;
    for (size_t k = 0; k < self->n; k++) {
        norm = hypot(norm, self->g[k]);
    }
    for (size_t k = 0; k < self->n; k++) {
        double g = self->g[k], change = self->lr * (norm > 1.0 ? g / norm : g);
        if (self->step == ADAM) {
            self->m[k] = 0.9 * self->m[k] + 0.1 * g;
            /* the root of the second moment: the square of a huge gradient would overflow */
            self->q[k] = hypot(sqrt(0.999) * self->q[k], sqrt(0.001) * g);
            change = self->lr * (self->m[k] / (1.0 - pow(0.9, (double)t))) /
                     (self->q[k] / sqrt(1.0 - pow(0.999, (double)t)) + 1e-8);
        }
        double target = self->x[k] - change;
        self->x[k] = isnan(target) ? self->x[k] : box_clamp(target, -1.0, 1.0);
    }
}

/* One search from a random start. */
static ds_status descend(void *self_)
{
    alphaorder *self = self_;
    uint64_t number = self->kit.round;
    double best = INFINITY;
    int64_t stall = 0;
    self->rng = ds_random_open(self->kit.host->seed, "smooth", number);
    opt_kit_start(self->kit.host, number, self->n, self->x);
    memset(self->m, 0, self->n * sizeof(double));
    memset(self->q, 0, self->n * sizeof(double));
    for (int64_t t = 1; t <= self->j; t++) {
        size_t done;
        draw_samples(self);
        batch_label label = {t == 1 ? "init" : "sample", number};
        ds_status status =
            evaluator_run(&self->kit.evaluator, label, self->N + 1, self->v, self->loss,
                          self->kit.has_gradient ? self->gradient : NULL, self->outcome, &done);
        if (status != DS_OK) {
            return status;
        }
        double mean = mean_loss(self); /* estimates the smoothed loss */
        if (mean < best - self->tol * fmax(1.0, fabs(best)) || t == 1) {
            best = mean;
            stall = 0;
        } else {
            stall++;
        }
        if (stall > self->patience || !estimate_gradient(self)) {
            return DS_OK;
        }
        take_step(self, t);
    }
    return DS_OK;
}

static int allocate(void *self_)
{
    alphaorder *self = self_;
    memory *own = &self->kit.memory;
    size_t n = self->n, rows = self->N + 1;
    self->x = memory_doubles(own, n);
    self->m = memory_doubles(own, n);
    self->q = memory_doubles(own, n);
    self->g = memory_doubles(own, n);
    self->v = memory_doubles(own, rows * n);
    self->gradient = memory_doubles(own, rows * n);
    self->loss = memory_doubles(own, rows);
    self->w = memory_doubles(own, self->N * n);
    self->work = memory_doubles(own, (2 * self->N + 1) * n);
    self->outcome = memory_take(own, rows, sizeof *self->outcome);
    return opt_kit_rows(&self->kit, rows);
}

static void read_parameters(void *self_, ds_param_reader *in)
{
    alphaorder *self = self_;
    self->n = self->kit.n;
    self->N = (size_t)ds_param_int(in, "samples");
    self->rule.antithetic = ds_param_int(in, "antithetic") != 0;
    self->N += self->rule.antithetic ? self->N % 2 : 0;
    self->rule.s = ds_param_real(in, "s");
    self->rule.rule = (int)ds_param_int(in, "rule");
    self->rule.gamma = ds_param_real(in, "gamma");
    self->rule.delta = ds_param_real(in, "delta");
    self->rule.largest = ds_param_real(in, "largest");
    self->rule.block = (size_t)ds_param_int(in, "block");
    self->step = (int)ds_param_int(in, "step");
    self->lr = ds_param_real(in, "lr");
    self->j = ds_param_int(in, "j");
    self->patience = ds_param_int(in, "patience");
    self->tol = ds_param_real(in, "tol");
    if (!self->kit.has_gradient) {
        in->host->log(in->host, DS_LOG_INFO, "the environment has no gradient: zeroth-order estimates only");
    }
}

static const ds_param *const params[] = {
    DS_INT("samples", "10", 4, 1e5, "",
           "Samples per iteration; it costs one evaluation more. Rounded up to pairs."),
    DS_REAL("s", "0.05", 1e-9, 10, "",
            "Standard deviation of the samples, where the box is [-1, 1]: width of the smoothing."),
    DS_BOOL("antithetic", "true",
            "Draw the samples in pairs w, -w, which removes noise from the zeroth order."),
    DS_ENUM("rule", "ivw", rules,
            "Weight of the first order: ivw = inverse variances; bias = the same, limited by gamma, "
            "which has to be given (the paper)."),
    DS_REAL("gamma", "inf", 0, INFINITY, "",
            "rule = bias: bias of the gradient that is tolerated, in units of the loss."),
    DS_REAL("delta", "0.05", 1e-12, 0.999999, "", "rule = bias: chance that the bias is larger."),
    DS_REAL("largest", "1", 0, INFINITY, "",
            "rule = bias: bound of one zeroth-order sample in Bernstein's inequality."),
    DS_INT("block", "0", 0, 1e6, "",
           "Variables that share a weight, for example those of one control segment; 0 = all."),
    DS_ENUM("step", "adam", steps,
            "How the gradient becomes a step: adam, or sgd with the gradient clipped to length 1."),
    DS_REAL("lr", "0.05", 1e-12, 1e6, "", "Learning rate; the box is [-1, 1] wide."),
    DS_INT("j", "100", 1, 1e9, "", "Most iterations of a search."),
    DS_INT("patience", "10", 0, 1e9, "",
           "A search ends when the mean loss has not fallen for more than so many iterations in a row."),
    DS_REAL("tol", "1e-9", 0, 1, "", "Least relative improvement that counts as one."),
    NULL};

static const ds_desc desc = {
    OPT_KIT_DESC("alphaorder", "0.1.0"),
    .uses = opt_gradient,
    .summary = "Descent on a smoothed loss with mixtures of first- and zeroth-order gradients",
    .description =
        "Repeats from random starts: sample around the present point; estimate the gradient of the "
        "smoothed loss as the mean of the sampled gradients (first order) and from the sampled "
        "losses alone (zeroth order); step against their mixture, weighted by their variances. "
        "Where the loss jumps the first order is wrong, and rule = bias limits its part.",
    .citation =
        "H. Suh, M. Simchowitz, K. Zhang, R. Tedrake: Do differentiable simulators give better policy "
        "gradients? ICML 2022, arXiv:2202.00817",
};

static const opt_table table = {
    .size = sizeof(alphaorder),
    .no_memory = "out of memory: lower samples",
    .read = read_parameters,
    .allocate = allocate,
    .round = descend,
};

OPT_KIT_DEFINE(table, desc)
