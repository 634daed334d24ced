/* SPDX-License-Identifier: Apache-2.0 */
/* penalty_law.h - parameters of penalty contact, and the kernels for particles with hard contact side by
 * side, one in each lane of a vector (engines/kit/lanes.h). */
#ifndef DS_ENGINES_PENALTY_LAW_H
#define DS_ENGINES_PENALTY_LAW_H

#include "engines/physics/smoothing/softness.h"

#include <diffsim/helper/hybrid.h>

typedef struct penalty_params {
    double h;       /* s */
    double mass;    /* kg */
    double gravity; /* m/s^2, along -y */
    double radius;  /* m, distance at which contact starts */
    double ke;      /* N/m, stiffness */
    double kd;      /* N s/m, damping while approaching */
    double kf;      /* N s/m, viscous friction at low speed */
    double mu;      /* Coulomb friction */
    double wall;    /* m: the wall is the plane x = wall, seen from the left; infinite = none */
    softness soft;  /* ramps over the penetration, in m */
    /* Networks; NULL or empty: none. Inputs: position, velocity and contact force (3 each). Outputs: the
     * force without gravity (3), which starts as the contact force. Evaluated at each step. */
    const ds_hybrid *hybrid;
} penalty_params;

enum { PENALTY_RECORD = 7 }; /* vectors of a record: step, lanes that it concerns, x0, x1, v */

typedef struct penalty_lanes {
    const char *isa;
    uint64_t width;
    /* penalty_lanes_simulate() and penalty_lanes_adjoint(). record: room for steps x width records, or NULL;
     * returns their number. x and v: 3 x width. */
    uint64_t (*simulate)(const penalty_params *p, uint64_t steps, double *record, double *x, double *v);
    void (*adjoint)(const penalty_params *p, uint64_t steps, const double *record, uint64_t records,
                    double *x_bar, double *v_bar);
} penalty_lanes;

/* The kernels of this machine. */
const penalty_lanes *penalty_lanes_find(void);

#endif
