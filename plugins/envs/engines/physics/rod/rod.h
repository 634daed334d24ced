/* SPDX-License-Identifier: Apache-2.0 */
/* rod.h - a rod that turns about its end under gravity and a torque, with the costs of three tasks:
 * constants, and kernels for many episodes side by side (engines/kit/lanes.h). rod_step.h has the
 * equations. */
#ifndef DS_ENGINES_ROD_H
#define DS_ENGINES_ROD_H

#include <stdint.h>

/* Which cost, see rod_cost(). */
enum { ROD_EFFORT = 0, ROD_GYM = 1, ROD_TRACK = 2 };

typedef struct rod_law {
    int cost;
    double dt;          /* s */
    double weight_rate; /* 1/s^2, per sin(theta) */
    double torque_rate; /* 1/(kg m^2) */
    double speed_limit; /* rad/s; infinite = none */
    double effort;      /* ROD_EFFORT: weight of the squared torque of a step */
} rod_law;

enum { ROD_MOST = 16 };  /* lanes of a kernel */
enum { ROD_RECORD = 4 }; /* vectors of a record: theta, omega, cosine, whether the speed limit acts */

/* One step of each of many episodes, for each lane. */
typedef struct rod_rows {
    double u[ROD_MOST], theta[ROD_MOST], omega[ROD_MOST]; /* torque; state before the step, then after it */
    double cost[ROD_MOST];                                /* of the step */
    double limited[ROD_MOST];                             /* 1: the speed limit acts, else 0 */
    /* Of its reverse: how often the cost counts; derivatives as in rod_reverse(); that by the torque. */
    double weight[ROD_MOST], a[ROD_MOST], b[ROD_MOST], by_torque[ROD_MOST];
} rod_rows;

typedef struct rod_lanes {
    const char *isa;
    uint64_t width;
    /* Simulates `width` episodes under torques u[lane][step]. theta, omega, in: start; out: final state
     * (width each). running: sums of the costs of the steps. record: room for `steps` records, or NULL. */
    void (*simulate)(const rod_law *l, uint64_t steps, const double *const *u, double *theta, double *omega,
                     double *running, double *record);
    /* theta_bar, omega_bar: derivatives by the final states (width each); writes those by the torques. */
    void (*adjoint)(const rod_law *l, uint64_t steps, const double *const *u, const double *record,
                    const double *theta_bar, const double *omega_bar, double *const *grad);
    /* Takes one step of `width` episodes, forwards, or backwards from the state before it. */
    void (*step)(const rod_law *l, rod_rows *r);
    void (*back)(const rod_law *l, rod_rows *r);
} rod_lanes;

/* The kernels of this machine. */
const rod_lanes *rod_lanes_find(void);

#endif
