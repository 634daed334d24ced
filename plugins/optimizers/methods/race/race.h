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

#include "methods/race/basin.h"

typedef struct race_options {
    size_t lanes;
    int64_t first; /* evaluations of the first rung */
    double keep;   /* one runner in this many continues */
    int racing;    /* 0: all go on, each to its end */
    int promise;   /* a runner predicted to beat all continues in any case */
    int patient;   /* every second runner is patient, see basin.h */
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
