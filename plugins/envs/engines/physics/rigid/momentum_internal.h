/* SPDX-License-Identifier: Apache-2.0 */
/* momentum_internal.h - what one step of momentum.h computes on its way, for the step, its adjoint and its
 * tangent. */
#ifndef DS_ENGINES_MOMENTUM_INTERNAL_H
#define DS_ENGINES_MOMENTUM_INTERNAL_H

#include "momentum.h"

#include <string.h>

/* An impulse, in the frame of the body: what it found and what it is. */
typedef struct momentum_hit {
    size_t vertex;
    double P;        /* momentum along the normal before it */
    double L[3];     /* angular momentum before it */
    double a[3];     /* lever x normal */
    double turn[3];  /* I^-1 a */
    double give;     /* 1/M + a . I^-1 a */
    double approach; /* normal velocity of the vertex, negative */
    double impulse;
} momentum_hit;

struct momentum {
    momentum_body body;
    momentum_rules rules;
    double inverse[9]; /* of the inertia */
    size_t points;
    double *point;
    size_t count[MOMENTUM_FORCES];  /* vertices that a force acts on */
    double sum[MOMENTUM_FORCES][3]; /* of their positions in the frame of the body */
    uint64_t steps;
    double norm; /* of the quaternion that the roll-out was started with */
    momentum_state *state;
    momentum_hit *hit;     /* room for the impulses of a step */
    const wrench_net *net; /* NULL: none */
};

/* Numbers of a state that networks see. */
static inline void momentum_seen(const momentum_state *s, double in[WRENCH_INPUTS])
{
    memcpy(in, s->x, sizeof s->x);
    memcpy(in + 3, s->P, sizeof s->P);
    memcpy(in + 6, s->L, sizeof s->L);
}

typedef struct momentum_step {
    double R[9];
    double L[3], W[3];    /* angular momentum and velocity in the frame of the body */
    double omega[3];      /* the latter, axes of the world */
    double F[3];          /* force, axes of the world */
    double norm;          /* of the quaternion before it was normalised */
    momentum_state moved; /* after the step, before impulses */
    double moved_R[9];    /* its rotation, where there are impulses */
} momentum_step;

/* How often the torque of force k counts in step t: 0 where it does not act. */
double momentum_weight(const momentum *r, size_t k, uint64_t t);

/* Sum of the levers of force k. */
void momentum_lever(const momentum *r, size_t k, const double x[3], const double R[9], double lever[3]);

/* Step t from state s, without impulses. */
void momentum_step_from(const momentum *r, uint64_t t, const momentum_state *s, momentum_step *out);

/* The impulses after a step, into r->hit; returns how many. `next` gets them. */
size_t momentum_impulses(momentum *r, momentum_step *step, momentum_state *next);

/* The same for derivatives: `bar` from after the impulses to before them, and `dot` from before to after. */
void momentum_impulses_adjoint(momentum *r, momentum_step *step, momentum_state *bar, momentum_body *body_bar,
                               double *point_bar);
void momentum_impulses_tangent(momentum *r, momentum_step *step, momentum_state *dot,
                               const momentum_body *body_dot, const double *point_dot);

#endif
