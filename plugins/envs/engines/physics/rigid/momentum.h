/* SPDX-License-Identifier: Apache-2.0 */
/* momentum.h - a rigid body described by its momenta, with forces on its vertices and impulses at the ground:
 * roll-out in equal steps, discrete adjoint, tangent. This is the form of gradSim's experiments that find
 * masses from video (Jatavallabhula et al., ICLR 2021).
 *
 * One step, with omega = R I^-1 R^T L at the old state:
 *     q' = q + h/2 (0, omega) q, normalised
 *     P' = P + h F,   L' = L + h T,   x' = x + h P' / M
 * A force acts on each of its vertices: F counts it once per vertex, T = sum (R p) x f. So a force on all
 * vertices differs from gravity: it does not depend on the mass, and therefore the mass is observable. With
 * `impulses`, each vertex that is lower than `threshold` after the step and approaches faster than `slowest`
 * receives the impulse -(1 + e) u_y / (1/M + a . I^-1 a), a = r x n, along the normal n, one vertex after the
 * other. SI units. */
#ifndef DS_ENGINES_RIGID_MOMENTUM_H
#define DS_ENGINES_RIGID_MOMENTUM_H

#include "wrench_net.h"

#include <diffsim/helper/memory.h>
#include <stddef.h>
#include <stdint.h>

enum { MOMENTUM_FORCES = 4 };

/* A state, derivatives of a loss by it (`bar`), or a direction (`dot`). Holds doubles only. */
typedef struct momentum_state {
    double x[3]; /* m, centre of mass */
    double q[4]; /* unit quaternion w x y z, from the frame of the body to the world */
    double P[3]; /* kg m/s */
    double L[3]; /* kg m^2/s about the centre of mass, axes of the world */
} momentum_state;

/* Inputs of the motion; also derivatives by them. */
typedef struct momentum_body {
    double mass;        /* kg */
    double inertia[9];  /* kg m^2, in the frame of the body about its centre of mass, symmetric */
    double restitution; /* of the impulses */
    double force[MOMENTUM_FORCES][3]; /* N, on each vertex of its list */
} momentum_body;

enum {
    MOMENTUM_STATE_NUMBERS = sizeof(momentum_state) / sizeof(double),
    MOMENTUM_BODY_NUMBERS = sizeof(momentum_body) / sizeof(double)
};

/* Where and when a force acts. */
typedef struct momentum_list {
    size_t count;           /* number of vertices; 0 = all vertices */
    const uint32_t *vertex; /* owned by the caller, valid while the roll-out is used */
    uint64_t first, end;    /* in steps first .. end - 1 */
} momentum_list;

typedef struct momentum_rules {
    double h;      /* s */
    size_t forces; /* at most MOMENTUM_FORCES */
    momentum_list list[MOMENTUM_FORCES];
    /* 1: reproduce the program behind the paper's figures. Levers are then p - x with p in the frame of the
     * body, and the torque of a force counts once more for every later force that acts in the same step. */
    int parity;
    int impulses;     /* 1: there is a ground, y = 0 */
    double threshold; /* m */
    double slowest;   /* m/s */
} momentum_rules;

typedef struct momentum momentum;

/* Takes memory from `m` for roll-outs of up to `steps` steps and `points` vertices; NULL without memory. */
momentum *momentum_create(ds_memory *m, size_t points, uint64_t steps);

/* Sets the networks of the following roll-outs and their derivatives; owned by the caller, NULL = none.
 * Inputs: position, momentum and angular momentum, 3 each. Outputs: a force at the centre of mass and a
 * torque, added to the forces on vertices. */
void momentum_networks(momentum *r, const wrench_net *net);

/* Simulates `steps` steps and keeps all states. `point` (points x 3): vertices about the centre of mass. The
 * quaternion of `start` may have any length except 0. Returns -1, or the first step after which the state is
 * not finite; the roll-out then ends before that step and all kept states are finite. */
int64_t momentum_simulate(momentum *r, const momentum_rules *rules, const momentum_body *body, size_t points,
                          const double *point, const momentum_state *start, uint64_t steps);

/* Steps of the last roll-out; state before step t (t = steps: the final state). */
uint64_t momentum_steps(const momentum *r);
const momentum_state *momentum_at(const momentum *r, uint64_t t);

/* Like rigid_adjoint() and rigid_tangent(). point_bar and point_dot (points x 3) may be NULL. */
int momentum_adjoint(momentum *r, uint64_t from, uint64_t to, momentum_state *bar, momentum_body *body_bar,
                     double *point_bar);
int momentum_tangent(momentum *r, uint64_t from, uint64_t to, momentum_state *dot,
                     const momentum_body *body_dot, const double *point_dot);

/* Hash of the vertices hit in each step: roll-outs with other impulses have another hash. */
uint64_t momentum_branches(momentum *r);

#endif
