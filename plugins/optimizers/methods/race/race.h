/* SPDX-License-Identifier: Apache-2.0 */
/* race.h - divides evaluations among local searches ("runners") by their predicted losses: asynchronous
 * successive halving over pausable searches. K. Jamieson, A. Talwalkar, "Non-stochastic best arm
 * identification" (AISTATS 2016); L. Li et al., "A system for massively parallel hyperparameter tuning"
 * (arXiv:1810.05934).
 *
 * A fixed number of lanes each hold a runner, and all of them advance in step. A runner goes through rungs of
 * `first`, 2 first, 4 first, ... evaluations and is paused at the end of each. It continues only if it is
 * among the best 1/keep of all that have reached that rung, by its predicted loss (basin_promise()), or
 * predicts less than the least loss found by any. Otherwise its lane takes another paused runner for which
 * that holds, of the highest rung, or a new one.
 *
 *     while ((lane = race_idle(r)) < lanes) {
 *         race_enter(r, lane, start, rng);
 *     }
 *     for each lane: count = race_points(r, lane, &points);
 *     simulate all of them
 *     for each lane: race_tell(r, lane, loss, gradient, outcome); */
#ifndef DS_METHODS_RACE_H
#define DS_METHODS_RACE_H

#include "methods/cma/cma.h"
#include "methods/gradient/descent.h"
#include "methods/gradient/lbfgsb.h"
#include "methods/gradient/leap.h"

#include <math.h>
#include <stddef.h>

/* ---- basins ---- */

/* A local search that can be paused and chooses its method by how reliable its gradients are.
 *
 *     descent    Adam, increasingly careful: where its loss no longer falls it begins again from the best
 *                point at a lower rate
 *     newton     L-BFGS-B from the best point: where gradients are good
 *     leap       generations of samples with short descents from their mean (gradient/leap.h): where they are
 *                noisy
 *     samples    CMA-ES around the best point, without gradients: where they are useless or missing
 *
 * The caller simulates, so that several searches can advance in step; a search is paused by not calling it:
 *
 *     basin_begin(b, start, rng);
 *     while (!b->over) {
 *         with_gradient = basin_wants_gradient(b);
 *         count = basin_points(b, &points);
 *         simulate them
 *         basin_tell(b, loss, gradient, outcome);
 *     }
 */

/* ---- trust: is the gradient of a loss worth following? ---- */

/* Compares the change of the loss that two gradients predict for the step between their points with the
 * actual one. By the trapezoidal rule l(a) - l(b) is (g_a + g_b) . (a - b) / 2, exactly where l is quadratic,
 * however long the step. So
 *
 *     doubt = mean of |l_a - l_b - predicted| / (|l_a - l_b| + |predicted|)      in [0, 1]
 *
 * is near 0 where gradients predict the loss, above a half where they carry no information, 1 where they
 * predict the opposite or are 0 while the loss changes. Curvature alone raises no doubt; ripples shorter than
 * a step, jumps and noise do. Old steps count less and less. */

typedef struct trust {
    double error, size; /* weighted sums: of the quotients, of 1 */
    int steps;          /* that they are made of */
} trust;

static inline void trust_clear(trust *t)
{
    *t = (trust){0.0, 0.0, 0};
}

/* A step from a to b (n values each) with losses l_a, l_b and gradients g_a, g_b; `kept` in [0, 1): share
 * of the old sums that is kept. Steps with a loss or gradient that is not finite say nothing. */
static inline void trust_step(trust *t, size_t n, double kept, const double *a, double l_a, const double *g_a,
                              const double *b, double l_b, const double *g_b)
{
    double promised = 0.0, fell = l_a - l_b;
    for (size_t k = 0; k < n; k++) {
        promised += 0.5 * (g_a[k] + g_b[k]) * (a[k] - b[k]);
    }
    double size = fabs(fell) + fabs(promised);
    if (!isfinite(size)) {
        return;
    }
    /* quotients, not sums, are averaged: a large step has no more say than a small one */
    t->error = kept * t->error + (size > 0.0 ? fabs(fell - promised) / size : 0.0);
    t->size = kept * t->size + 1.0;
    t->steps++;
}

/* 0 where nothing is known. */
static inline double trust_doubt(const trust *t)
{
    return t->size > 0.0 ? t->error / t->size : 0.0;
}

typedef struct basin_options {
    int has_gradient;
    int trust;            /* go on by what gradients are worth; 0 = descents only */
    double lr;            /* learning rate of the first descent */
    int64_t patience;     /* evaluations in a row without progress that end a descent */
    double good;          /* doubt below which gradients are good, */
    double noisy;         /* above which they are noisy, */
    int64_t stall;        /* evaluations in a row without progress after which a noisy descent leaps */
    double blind;         /* and above which they are blind */
    int sample_gradients; /* of the samples of leaps move their descents, see leap.h */
    double sigma;         /* standard deviation of the first samples, of leaps and without gradients */
    double floor;         /* known lower bound of the loss, or -INFINITY */
} basin_options;

enum { BASIN_DESCENT, BASIN_NEWTON, BASIN_LEAP, BASIN_SAMPLES, BASIN_MODES };

typedef struct basin {
    size_t n;
    basin_options options;
    int mode; /* BASIN_... */
    int over;
    /* set where the search has turned blind, so that its loss predicts little; the caller clears it */
    int turned;
    int64_t evaluations; /* of this search, and of them in each mode */
    int64_t spent[BASIN_MODES];
    double *best, best_loss; /* n values; INFINITY where no evaluation succeeded */
    double first_loss;       /* the first finite one; INFINITY as long as there is none */
    trust trust;
    int patient; /* Adam continues to its end even where gradients are good */

    /* Private. */
    double *last, last_loss, *last_gradient; /* the last point with a gradient */
    int has_last;
    double turn_loss;  /* best loss when this turn began */
    int64_t fruitless; /* of the turn: evaluations or generations without progress */
    int has_leapt;
    double lr;
    descent descent;
    lbfgsb *newton;
    leap *leap;    /* made when first used, */
    cma *samples;  /* this, too */
    double *x, *v; /* lambda x n: of the samples, as drawn and in the box */
    ds_random rng;
    int64_t mark; /* evaluations at the newer of two marks, each at twice as many as the one before, */
    double marked, marked_before; /* and the best losses at both */
    ds_memory memory;
} basin;

/* The most points that basin_points() may be. */
size_t basin_rows(size_t n);

/* `box`: n lower and n upper bounds, -1 and 1. NULL without memory. */
basin *basin_create(size_t n, const double *box, const basin_options *options);
void basin_destroy(basin *b);

/* Begins at `start` (n values in [-1, 1]); samples are drawn from `rng`. `patient`: see above. */
void basin_begin(basin *b, const double *start, int patient, ds_random rng);

/* The points to simulate next (rows of n values, valid until basin_tell()), and whether with gradients. 0
 * without memory. */
size_t basin_points(basin *b, const double **points);

/* How many these will be. */
size_t basin_count(const basin *b);
int basin_wants_gradient(const basin *b);
void basin_tell(basin *b, const double *loss, const double *gradient, const uint32_t *outcome);

/* The loss that the search is predicted to reach: it will gain as much again as in the last doubling of its
 * evaluations. */
double basin_promise(const basin *b);

/* ---- races ---- */

typedef struct race_options {
    size_t lanes;
    int64_t first; /* evaluations of the first rung */
    double keep;   /* one runner in this many continues */
    int racing;    /* 0: all go on, each to its end */
    int promise;   /* a runner predicted to beat all continues in any case */
    int patient;   /* every second runner is patient, see basin_options */
    basin_options basin;
} race_options;

typedef struct race race;

/* NULL without memory. `box` as in basin_create(). */
race *race_create(size_t n, const double *box, const race_options *options);
void race_destroy(race *r);

/* The first lane that needs a new runner, after paused runners have taken their lanes; `lanes` where none
 * does. */
size_t race_idle(race *r);
/* 0 without memory. */
int race_enter(race *r, size_t lane, const double *start, ds_random rng);

/* As basin_points() and basin_tell(), for the runner of a lane; DS_E_NOMEM. */
size_t race_points(race *r, size_t lane, const double **points);
ds_status race_tell(race *r, size_t lane, const double *loss, const double *gradient,
                    const uint32_t *outcome);

/* A loss found elsewhere: runners must predict less than it, too. */
void race_know(race *r, double loss);

/* The best points of at most `most` runners, running, paused or over, that have one, in ascending order of
 * their losses; returns how many. They are valid until the next race_enter() or race_tell(). */
size_t race_best(const race *r, size_t most, const double **points);

/* The runner of a lane, or NULL. */
const basin *race_runner(const race *r, size_t lane);

#endif
