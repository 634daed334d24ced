/* SPDX-License-Identifier: Apache-2.0 */
/* ball.h - a ball (unit mass, no spin) under gravity among boxes that are held at given angles, inside four
 * walls: an episode of equal time steps and its adjoint.
 *
 * Step (Werling et al., RSS 2021): v* = v + h G; contacts at the position before the step; impulses that
 * solve the contact problem give v'; q' = q + h v (explicit) or q + h v' (semi-implicit).
 *
 * With a softened contact (soft.kernel) there are no impulses: each body pushes the ball with
 *
 *     F = N (n - mu v_t/sqrt(v_t^2 + c^2) t),  N = stiffness ramp(depth) (e^2 + (1 - e^2)/(1 + exp(v_n/c)))
 *
 * with c = 0.1 m/s: on the way out the push is e^2 times that on the way in, so that a stiff one throws the
 * ball back with e times its speed. Asked at the position that follows from v (explicit) or before the step
 * (semi-implicit): both keep the energy of a spring bounded. With soft.at_distance impulses are as ever, and
 * the reverse sweep alone knows the force stiffness ramp(depth) n of the bodies that are not touched.
 */
#ifndef DS_ENGINES_BALL_H
#define DS_ENGINES_BALL_H

#include "engines/physics/smoothing/softness.h"
#include "impact.h"

#include <diffsim/helper/hybrid.h>
#include <diffsim/helper/memory.h>
#include <diffsim/host.h>

enum { BALL_EXPLICIT = 0, BALL_SEMI_IMPLICIT = 1 };

/* How contacts of one step act together. */
enum {
    BALL_SIMULTANEOUS = 0, /* one linear complementarity problem */
    BALL_SEQUENTIAL = 1,   /* one after the other, boxes in order, then walls */
    BALL_REVERSED = 2      /* one after the other from the last to the first */
};

/* Which derivative the reverse sweep gives. */
enum {
    BALL_DISCRETE = 0,  /* of the program: what central differences with a small step show */
    BALL_NIMBLE = 1,    /* a shift along the normal is reflected by a bounce (its "bounce approximation") */
    BALL_SALTATION = 2, /* of the continuous motion: the time of impact shifts too */
    BALL_ALTERNATE = 3  /* discrete, with contacts switched where that gives a larger derivative */
};

/* Bodies: boxes 0, 1, ..., then the walls. */
enum { BALL_WALL = 1 << 20, BALL_LEFT = BALL_WALL, BALL_RIGHT, BALL_BOTTOM, BALL_TOP };

typedef struct ball_params {
    double h;        /* s */
    double gravity;  /* m/s^2, along -y */
    double radius;   /* m */
    double walls[4]; /* m: x of the left and right wall, y of the bottom and top one; infinite = none */
    double clip;     /* m: deeper contacts are ignored; infinite = none are */
    impact_law law;
    int integrator, order, gradient;
    softness soft;    /* ramps over the depth, in m */
    double stiffness; /* N/m, of the softened contact, or of the one that the gradient knows */
    /* Networks, NULL or without any: none. Asked for each contact with an impulse; inputs: normal velocity
     * and that along perp(normal) before the impulses, depth; output: an impulse along perp(normal), added to
     * that of `law`. */
    const ds_hybrid *hybrid;
    const ds_host *host; /* asked now and then whether to stop; may be NULL */
} ball_params;

/* The contacts of a step, as recorded for the reverse sweep. */
typedef struct ball_event {
    uint64_t step;
    uint64_t first; /* in the list of contacts */
    int count;
    double v[2]; /* before the impulses */
} ball_event;

typedef struct ball ball;

/* Centres and half sizes of n boxes; memory for `steps` steps, taken of `m`. NULL where there is none. */
ball *ball_create(ds_memory *m, const ball_params *p, uint64_t n, const shape_box *boxes, uint64_t steps);

/* Simulates `steps` steps; state = x, y, vx, vy. The first with impacts, the second with softened contact. */
void ball_simulate(ball *b, const double *angle, const double state[4], uint64_t steps);
void ball_far_simulate(ball *b, const double *angle, const double state[4], uint64_t steps);

/* In: the derivatives of a loss by the final state. Out: by the start state, and by the angles. `more`:
 * further derivatives by the positions before steps 0 .. steps - 1, two each; NULL where there are none. */
void ball_adjoint(ball *b, const double *more, double state_bar[4], double *angle_bar);

/* The parameters of the networks for what follows, and where the adjoint adds its derivatives by them (may be
 * NULL); both are the caller's. Needed where there are networks. */
void ball_weights(ball *b, const double *w, double *w_bar);

/* Whether the host ended the last simulation, whose results are then incomplete. */
int ball_stopped(const ball *b);

/* State before step t. */
const double *ball_state(const ball *b, uint64_t t);

/* Steps with contacts of the last simulation, in order, and their contacts. */
uint64_t ball_events(const ball *b);
const ball_event *ball_event_at(const ball *b, uint64_t i);
const impact_contact *ball_contacts(const ball *b, const ball_event *e);

/* The impulse along perp(normal) that networks add at a contact before whose impulses the ball has velocity
 * v, and its inputs; 0 where the contact has no impulse. Writes b->tape. */
enum { BALL_NET_INPUTS = 3 };
double ball_net_impulse(const ball *b, const impact_contact *k, const double v[2]);

/* The point of body i = 0 .. ball_bodies() - 1 (boxes, then walls) that is nearest to a ball at q. */
uint64_t ball_bodies(const ball *b);
void ball_near(const ball *b, uint64_t i, const double q[2], shape_contact *out);

/* Softened contact (ball_far.c): the force of all bodies on a ball at q with velocity v, and its reverse:
 * adds to the derivatives by q, v and the angles. The latter is of softened contact, or of what acts at
 * a distance. */
void ball_far_force(const ball *b, const double q[2], const double v[2], double force[2]);
void ball_far_reverse(const ball *b, const double q[2], const double v[2], const double force_bar[2],
                      double q_bar[2], double v_bar[2], double *angle_bar);

/* What both simulations begin with, and whether to end at step t. */
void ball_place(ball *b, const double *angle, uint64_t steps);
int ball_told_to_stop(ball *b, uint64_t t);

/* Memory shared by ball.c, ball_far.c and ball_adjoint.c. */
struct ball {
    ball_params p;
    uint64_t n, steps, events, contacts, approximate;
    shape_box *box;
    double *state;     /* (steps + 1) x 4 */
    ball_event *event; /* in sequential order one per contact */
    impact_contact *contact;
    double *tape, *w_bar; /* of networks: one tape; see ball_weights() */
    const double *w;
    int stopped;
};

#endif
