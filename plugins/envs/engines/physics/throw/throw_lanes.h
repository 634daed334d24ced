/* SPDX-License-Identifier: Apache-2.0 */
/* throw_lanes.h - the thrown cube (throw.h): its state, and motions side by side (engines/kit/lanes.h). */
#ifndef DS_ENGINES_THROW_LANES_H
#define DS_ENGINES_THROW_LANES_H

#include "contact_types.h"

#include <stdint.h>

/* A state: quaternion x, y, z, w, position, angular velocity, velocity, all in the world frame. */
enum { THROW_TURN, THROW_PLACE = 4, THROW_SPIN = 7, THROW_VELOCITY = 10, THROW_STATES = 13 };
/* Kept with a state: force and torque of the contacts for the next step, and the norm of the quaternion
 * before normalisation. */
enum { THROW_FORCE = 13, THROW_TORQUE = 16, THROW_NORM = 19, THROW_KEPT = 20 };
enum { THROW_CORNERS = 8 };

static const double throw_mass = 10, throw_corner = 0.4, throw_radius = 0.1,
                    throw_gravity = 9.81; /* kg, m, m/s^2 */

/* Numbers of a law that differ between motions, `width` doubles each: the first constants, 1 / v_s, then
 * law_net; and sums of derivatives: by the first constants, then law_net_sums. */
enum { THROW_LAW_NET = LAW_NETWORK + 1, THROW_LAW = THROW_LAW_NET + 4 * LAW_UNITS };
enum { THROW_SUMS = LAW_NETWORK + 4 * LAW_UNITS };

typedef struct throw_table {
    contact_kind kind;
    int network; /* 1: with the network of the paper */
    double h;
    uint64_t steps;
    const double *start;  /* [THROW_STATES] */
    const double *target; /* [steps + 1][THROW_STATES]; NAN if not recorded */
    const double *law;    /* [THROW_LAW][width] */
    /* Written by simulate() for adjoint(): all states, [steps + 1][THROW_KEPT][width]; the contacts, up to
     * THROW_CORNERS x contact_doubles x width doubles for each step. */
    double *kept, *contact;
    uint64_t contacts;
} throw_table;

typedef struct throw_lanes {
    const char *isa;
    uint64_t width, contact_doubles;
    /* loss: sums of the squared differences of all states from the target; not finite where throw_simulate()
     * returns a step, and in motions so large that their sums are not finite. */
    void (*simulate)(throw_table *t, double *loss);
    /* sums[THROW_SUMS][width]: of the derivatives of that loss. */
    void (*adjoint)(const throw_table *t, double *sums);
} throw_lanes;

/* The kernels of this machine. */
const throw_lanes *throw_lanes_find(void);

#endif
