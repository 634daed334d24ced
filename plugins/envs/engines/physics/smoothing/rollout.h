/* SPDX-License-Identifier: Apache-2.0 */
/* rollout.h - an episode of a small system with controls, a quadratic cost, and the reverse sweep:
 *
 *     x_(t+1) = f(x_t, u_t),   J = sum_(t<T) [ |x_t - goal|^2_Q + |u_t|^2_R ] + |x_T - goal|^2_Qd
 *
 * with diagonal weights. Controls are given (open loop), or come from a linear policy u = K x with noise.
 *
 * Source: the example systems of H. J. T. Suh, M. Simchowitz, K. Zhang, R. Tedrake, "Do differentiable
 * simulators give better policy gradients?", ICML 2022.
 */
#ifndef DS_ENGINES_ROLLOUT_H
#define DS_ENGINES_ROLLOUT_H

#include <diffsim/helper/memory.h>
#include <diffsim/host.h>

/* A system. States and controls are `states` and `controls` numbers. */
typedef struct rollout_system {
    uint64_t states, controls;
    /* The state after x with control u. */
    void (*step)(const void *self, const double *x, const double *u, double *next);
    /* Adds to x_bar and u_bar the product of next_bar with the derivative of step(). */
    void (*back)(const void *self, const double *x, const double *u, const double *next_bar, double *x_bar,
                 double *u_bar);
} rollout_system;

typedef struct rollout {
    const rollout_system *system;
    const void *self; /* first argument of its functions */
    uint64_t steps;
    const ds_host *host;           /* asked now and then whether to stop; NULL = nobody */
    int stopped;                   /* the last call was, and its results mean nothing */
    double *start, *goal, *q, *qd; /* `states` each; start is that of the next episode */
    double *r;                     /* `controls` */
    double *x, *u;                 /* the last episode: steps + 1 states, steps controls */
    double *bar, *x_bar, *u_bar;   /* of the reverse sweep */
} rollout;

/* Memory for episodes of `steps` steps; arrays are 0. What cannot be had is noted in `m`. */
void rollout_open(rollout *r, ds_memory *m, const rollout_system *system, const void *self, uint64_t steps);

/* Simulates with controls u of all steps and returns the cost. */
double rollout_simulate(rollout *r, const double *u);

/* The gradient by the controls, steps x controls. `more` (may be NULL) holds derivatives of what a loss has
 * beside the cost by all states, (steps + 1) x states. */
void rollout_back(rollout *r, const double *more, double *u_bar);

/* The same with u_t = K x_t + w_t; K is controls x states, row by row; w of all steps, NULL = none. */
double rollout_follow(rollout *r, const double *gain, const double *noise);
void rollout_follow_back(rollout *r, const double *gain, double *gain_bar);

/* Writes sum over t of the outer product of w_t and x_t, as K, of the episode just simulated. */
void rollout_score(const rollout *r, const double *noise, double *score);

/* The cost of step t of the last episode, of its last state where t = steps. */
double rollout_cost(const rollout *r, uint64_t t);

/* First step after which the state of the last episode is not finite, or -1. */
int64_t rollout_bad_step(const rollout *r);

#endif
