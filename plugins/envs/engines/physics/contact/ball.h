/* SPDX-License-Identifier: Apache-2.0 */
/* ball.h - a ball (unit mass, no spin) under gravity among boxes at given angles, inside four walls: an
 * episode in equal time steps and its adjoint.
 *
 * Step (Werling et al., RSS 2021): v* = v + h G; contacts at the position before the step; impulses that
 * solve the contact problem give v'; q' = q + h v (explicit) or q + h v' (semi-implicit).
 *
 * With a softened contact (soft.kernel) there are no impulses: each body pushes the ball with
 *
 *     F = N (n - mu v_t/sqrt(v_t^2 + c^2) t),  N = stiffness ramp(depth) (e^2 + (1 - e^2)/(1 + exp(v_n/c)))
 *
 * with c = 0.1 m/s. On the way out the push is e^2 times the push on the way in, so a stiff contact throws
 * the ball back with e times its speed. F is evaluated at the position that follows from v (explicit) or
 * before the step (semi-implicit): both keep the energy of a spring bounded. With soft.at_distance the motion
 * has impulses as usual, and only the reverse sweep uses the force stiffness ramp(depth) n of bodies that the
 * ball does not touch. */
#ifndef DS_ENGINES_BALL_H
#define DS_ENGINES_BALL_H

#include "engines/physics/smoothing/softness.h"
#include "impact.h"

#include <diffsim/helper/hybrid.h>
#include <diffsim/helper/memory.h>
#include <diffsim/host.h>

enum { BALL_EXPLICIT = 0, BALL_SEMI_IMPLICIT = 1 };

/* How the contacts of one step are combined. */
enum {
    BALL_SIMULTANEOUS = 0, /* one linear complementarity problem */
    BALL_SEQUENTIAL = 1,   /* one after the other, boxes in order, then walls */
    BALL_REVERSED = 2      /* one after the other, from last to first */
};

/* Which derivative the reverse sweep gives. */
enum {
    BALL_DISCRETE = 0,  /* of the program: agrees with central differences of a small step */
    BALL_NIMBLE = 1,    /* a bounce reflects a shift along the normal (Nimble's "bounce approximation") */
    BALL_SALTATION = 2, /* of the continuous motion: the time of impact shifts too */
    BALL_ALTERNATE = 3  /* discrete, with contacts switched if that gives a larger derivative */
};

/* Bodies: boxes 0, 1, ..., then the walls. */
enum { BALL_WALL = 1 << 20, BALL_LEFT = BALL_WALL, BALL_RIGHT, BALL_BOTTOM, BALL_TOP };

typedef struct ball_params {
    double h;        /* s */
    double gravity;  /* m/s^2, along -y */
    double radius;   /* m */
    double walls[4]; /* m: x of the left and right wall, y of the bottom and top one; infinite = none */
    double clip;     /* m: deeper contacts are ignored; infinite = no limit */
    impact_law law;
    int integrator, order, gradient;
    softness soft;    /* ramps over the depth, in m */
    double stiffness; /* N/m, of the softened contact or of the one that only the gradient uses */
    /* Networks; NULL or empty: none. Evaluated for each contact with an impulse. Inputs: velocity along the
     * normal and along perp(normal) before the impulses, depth. Output: an impulse along perp(normal), added
     * to that of `law`. */
    const ds_hybrid *hybrid;
    const ds_host *host; /* its stop flag is polled; may be NULL */
} ball_params;

/* The contacts of a step, as recorded for the reverse sweep. */
typedef struct ball_event {
    uint64_t step;
    uint64_t first; /* index in the list of contacts */
    int count;
    double v[2]; /* before the impulses */
} ball_event;

typedef struct ball ball;

/* Takes memory from `m` for `steps` steps among n boxes (centres, half sizes); NULL without memory. */
ball *ball_create(ds_memory *m, const ball_params *p, uint64_t n, const shape_box *boxes, uint64_t steps);

/* Simulates `steps` steps with impacts (ball_simulate) or softened contact (ball_far_simulate); state = x, y,
 * vx, vy. */
void ball_simulate(ball *b, const double *angle, const double state[4], uint64_t steps);
void ball_far_simulate(ball *b, const double *angle, const double state[4], uint64_t steps);

/* Balls side by side with impacts: lanes of one call; 1: ball_lanes_simulate() cannot be called (networks,
 * softened contact, long episodes). Lane k is ball_lane(b, k) afterwards, for ball_adjoint(), without states.
 * angle: one array for each lane; state: that of the start; end: 4 numbers per lane. */
uint64_t ball_width(const ball *b);
void ball_lanes_simulate(ball *b, const double *const *angle, const double state[4], uint64_t steps,
                         double end[][4]);
ball *ball_lane(const ball *b, uint64_t k);

/* state_bar, in: derivatives of a loss by the final state; out: by the start state. Sets angle_bar. `more`:
 * further derivatives by the positions before steps 0 .. steps - 1, two each; NULL = none. */
void ball_adjoint(ball *b, const double *more, double state_bar[4], double *angle_bar);

/* Sets the parameters of the networks and where the adjoint adds their derivatives (may be NULL); owned by
 * the caller. Required if there are networks. */
void ball_weights(ball *b, const double *w, double *w_bar);

/* Returns 1 if the host stopped the last simulation, whose results are then incomplete. */
int ball_stopped(const ball *b);

/* State before step t. */
const double *ball_state(const ball *b, uint64_t t);

/* Steps with contacts of the last simulation, in order, and their contacts. */
uint64_t ball_events(const ball *b);
const ball_event *ball_event_at(const ball *b, uint64_t i);
const impact_contact *ball_contacts(const ball *b, const ball_event *e);

/* The point of body i (boxes, then walls) that is nearest to a ball at q. */
void ball_near(const ball *b, uint64_t i, const double q[2], shape_contact *out);

#endif
