/* SPDX-License-Identifier: Apache-2.0 */
/* descent.h - gradient descent on a simulated loss in [-1, 1]^n, the local search of the
 * gradient-based optimizers.
 *
 * A descent evaluates s_1, steps to s_2 = clamp(s_1 - step(gradient)), and so on. It ends after its number of
 * evaluations, once the loss has failed to fall at more than `patience` evaluations in a row (3 in the
 * papers), at a point where nothing can change any more (zero gradient, or the step leads nowhere because of
 * the box), and at a failed simulation or a bad gradient. The moments of Adam and momentum start at zero in
 * each descent.
 */
#ifndef DS_METHODS_DESCENT_H
#define DS_METHODS_DESCENT_H

#include "methods/gradient/lbfgsb.h"

#include <diffsim/base.h>
#include <diffsim/helper/memory.h>
#include <diffsim/helper/opt_kit.h>
#include <diffsim/helper/params.h>
#include <diffsim/host.h>

#include <math.h>
#include <stddef.h>
#include <stdint.h>

/* ---- outliers ---- */

/* Gradients far longer than those before them (chaos, a contact that is only just met) get the
 * length of a typical one: their direction may be of use, their length would spoil moments and quasi-Newton
 * models for long. */

#define OUTLIER_NORMS 15 /* lengths whose median a gradient is compared with */
#define OUTLIER_LEAST 3  /* known ones before any is called an outlier */

/* The lengths of the last gradients of a search; all 0 at its start. */
typedef struct outlier {
    double norm[OUTLIER_NORMS]; /* a ring */
    int64_t count;
} outlier;

/* The upper median of `count` >= 1 values, at most OUTLIER_NORMS. */
static inline double outlier_median(size_t count, const double *values)
{
    double sorted[OUTLIER_NORMS];
    for (size_t i = 0; i < count; i++) {
        size_t at = i;
        for (; at > 0 && sorted[at - 1] > values[i]; at--) {
            sorted[at] = sorted[at - 1];
        }
        sorted[at] = values[i];
    }
    return sorted[count / 2];
}

/* Notes the length of a gradient and returns that which it is given: the median of the last ones where it
 * is more than `factor` times as long; factor = 0: its own, always. */
static inline double outlier_length(outlier *o, double factor, double norm)
{
    size_t known = o->count < OUTLIER_NORMS ? (size_t)o->count : OUTLIER_NORMS;
    double typical = known >= OUTLIER_LEAST ? outlier_median(known, o->norm) : norm;
    o->norm[o->count++ % OUTLIER_NORMS] = norm;
    return factor > 0.0 && norm > factor * typical && typical > 0.0 ? typical : norm;
}

enum {
    DESCENT_ADAM, /* D. Kingma, J. Ba 2015: beta 0.9, 0.999, eps 1e-8 of the largest root, bias correction */
    DESCENT_GD,   /* s - lr g */
    DESCENT_NSGD, /* s - lr sqrt(n) g / |g| */
    DESCENT_MOMENTUM, /* m = 0.9 m + 0.1 g, s - lr m */
    /* nsgd with backtracking: takes a step if the loss falls by 1e-4 of what the slope predicts; else tries
     * half of it, at most ten times; the next step begins with twice the last one. */
    DESCENT_ARMIJO,
    DESCENT_LBFGSB, /* quasi-Newton steps and line searches, see lbfgsb.h; lr is not used */
    /* gd and momentum with sqrt(n) g / |g_1| for g, g_1 the first gradient of the descent: no step depends on
     * the unit of the loss. Those are the ones of descent_read_options(). */
    DESCENT_MEASURED_GD,
    DESCENT_MEASURED_MOMENTUM
};

typedef struct descent_options {
    int step;  /* DESCENT_ADAM ... */
    double lr; /* learning rate in units of [-1, 1] */
    int64_t patience;
    double tol;     /* progress is a fall by more than this share of the fall so far */
    double outlier; /* gradients this many times longer than usual are shortened; 0 = none */
} descent_options;

extern const char *const descent_steps[];

/* Schema entries of the options, and their values. */
#define DESCENT_PARAMS                                                                                       \
    DS_ENUM("step", "adam", descent_steps, "Step rule of the descents."),                                    \
        DS_REAL("lr", "0.1", 1e-12, 1e6, "",                                                                 \
                "Learning rate of the descents, in units in which the box is [-1, 1]: the first step of gd " \
                "and nsgd is lr sqrt(n) long."),                                                             \
        DS_INT("patience", "3", 0, 1e6, "",                                                                  \
               "A descent ends after more than this many evaluations in a row without improvement."),        \
        DS_REAL("tol", "1e-9", 0, 1, "",                                                                     \
                "Least fall of the loss that is progress, as a share of the fall since the start."),         \
        DS_REAL(                                                                                             \
            "outlier", "1000", 0, 1e300, "",                                                                 \
            "A gradient more than so many times as long as the median of the last 15 gets the length of "    \
            "that; 0 = never.")
descent_options descent_read_options(ds_param_reader *in);

/* Simulates s (n values): loss, gradient with respect to s, and DS_EVAL_* outcome. DS_STOPPED or an error
 * ends the descent. */
typedef ds_status (*descent_evaluate)(void *ctx, const double *s, double *loss, double *gradient,
                                      uint32_t *outcome);

typedef struct descent {
    size_t n;
    ds_memory memory;
    descent_options options;
    double *best;                     /* s_best: the point of least loss, n values */
    double best_loss;                 /* INFINITY where no evaluation succeeded */
    double first_loss;                /* of the start */
    double unit;                      /* length of the first gradient; 0 = none yet */
    double *last;                     /* the last point evaluated successfully */
    int64_t evaluations;              /* of the last run */
    double *s;                        /* the point to evaluate next */
    double *gradient, *moment, *root; /* work */
    int64_t limit, told, stall;
    double length, base_loss, slope; /* armijo: of the present step; loss and slope where it begins */
    int trials;
    outlier norms;
    lbfgsb *quasi_newton; /* lbfgsb alone */
} descent;

/* 0 without memory; descent_free() releases also what a failed call left. */
int descent_init(descent *d, size_t n, const descent_options *options);
void descent_free(descent *d);

/* One descent of at most `limit` >= 1 evaluations from `start`, clamped to the box. DS_OK when it ended by
 * itself, else what `evaluate` returned; the results are valid in either case. */
ds_status descent_run(descent *d, const double *start, int64_t limit, descent_evaluate evaluate, void *ctx);

/* The same with the caller evaluating, so that several descents can advance in step: evaluate d->s, pass its
 * loss, gradient and outcome, and continue while the return value is 1. */
void descent_begin(descent *d, const double *start, int64_t limit);
int descent_tell(descent *d, double loss, const double *gradient, uint32_t outcome);

/* ---- from many starts ---- */

/* Local searches from random starts, one after the other or several in step ("arms").
 *
 * Each arm runs a local search; all arms advance together, so that one batch of simulations holds the next
 * point of each. An arm whose search has ended begins the next one at once: the batch stays full. Starts are
 * numbered from 1 over all arms in the order they begin; start i is drawn uniformly from the box, from its
 * own random stream. */

/* Schema entries of the options. */
#define MULTISTART_PARAMS                                                                                    \
    DS_INT("arms", "1", 1, 1e4, "",                                                                          \
           "Searches that advance in step; their next points are simulated in parallel, as one batch."),     \
        DS_OPT_START_PARAMS("false")

/* The local search of the optimizer `self`: each arm has a state machine. Points are in [-1, 1]^n. */
typedef struct local_search {
    void (*begin)(void *self, size_t arm, const double *start);
    const double *(*point)(void *self, size_t arm); /* the next point to simulate */
    /* Takes the result (gradient with respect to the point); returns 1 while the search continues. */
    int (*tell)(void *self, size_t arm, double loss, const double *gradient, uint32_t outcome);
} local_search;

/* What an optimizer made of such searches begins with. */
typedef struct multistart {
    ds_opt_kit kit;
    const local_search *search;
    size_t arms;
    uint64_t starts;  /* begun so far */
    uint64_t *number; /* of the start of each arm */
    int *fresh;       /* the arm is at its start */
    double *v, *loss, *gradient, *start;
    uint32_t *outcome;
} multistart;

/* Reads the options and allocates. 0 without memory; all is released with the kit. */
void multistart_read(multistart *m, ds_param_reader *in, const local_search *search);
int multistart_allocate(multistart *m);

/* ds_opt_table.begin and round: the first starts; the next point of every arm. Batches carry the tag "init"
 * where every row is a start, else "descent", and as their group the least start number among their rows. */
ds_status multistart_begin(void *self);
ds_status multistart_round(void *self);

#endif
