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

enum { ROD_RECORD = 4 }; /* vectors of a record: theta, omega, cosine, whether the speed limit acts */

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
} rod_lanes;

/* The kernels of this machine. */
const rod_lanes *rod_lanes_find(void);

#endif
