/* SPDX-License-Identifier: Apache-2.0 */
/* rk4.h - an ordinary differential equation y' = f(y, theta) by the classical Runge-Kutta method of order 4
 * in equal steps: states at frames, adjoint of the discrete method, tangent. */
#ifndef DS_ENGINES_RK4_H
#define DS_ENGINES_RK4_H

#include <diffsim/helper/memory.h>

/* A right-hand side with `states` numbers and `parameters`. `self` is the argument of rk4_simulate(). */
typedef struct rk4_law {
    size_t states, parameters;
    /* rate = f(y, theta) */
    void (*rate)(const void *self, const double *theta, const double *y, double *rate);
    /* Adds the derivatives of rate_bar . f by y and theta. */
    void (*rate_adjoint)(const void *self, const double *theta, const double *y, const double *rate_bar,
                         double *y_bar, double *theta_bar);
    /* rate_dot = change of f in a direction. */
    void (*rate_tangent)(const void *self, const double *theta, const double *y, const double *theta_dot,
                         const double *y_dot, double *rate_dot);
} rk4_law;

typedef struct rk4 rk4;

/* Takes memory from `m` for roll-outs of up to `frames` frames with `substeps` steps each; NULL without
 * memory. */
rk4 *rk4_create(ds_memory *m, const rk4_law *law, uint64_t frames, uint64_t substeps);

/* Simulates from `start`, frame 0, to frame `frames`, dt seconds per frame. Keeps all states and theta.
 * Returns -1, or the first frame without a finite state; the roll-out then ends before it. */
int64_t rk4_simulate(rk4 *r, const void *self, const double *theta, const double *start, double dt,
                     uint64_t frames);

/* Frames reached by the last roll-out; the state at one of 0 .. rk4_frames(). */
uint64_t rk4_frames(const rk4 *r);
const double *rk4_frame(const rk4 *r, uint64_t frame);

/* Reverse sweep from frame `to` to frame `from`. y_bar, in: derivatives of a loss by the state at `to`; out:
 * by the state at `from`. Adds to theta_bar. Returns 0 if a result is not finite. */
int rk4_adjoint(rk4 *r, uint64_t from, uint64_t to, double *y_bar, double *theta_bar);

/* Forward sweep. y_dot, in: direction of the state at `from`; out: at `to`. Returns 0 if the result is not
 * finite. */
int rk4_tangent(rk4 *r, uint64_t from, uint64_t to, double *y_dot, const double *theta_dot);

#endif
