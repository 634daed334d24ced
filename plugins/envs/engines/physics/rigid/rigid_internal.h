/* SPDX-License-Identifier: Apache-2.0 */
/* rigid_internal.h - what one step of rigid.h computes on its way, for the step, its adjoint and
 * its tangent. */
#ifndef DS_ENGINES_RIGID_INTERNAL_H
#define DS_ENGINES_RIGID_INTERNAL_H

#include "rigid.h"

#include <string.h>

struct rigid {
    rigid_body body;
    double inverse[9]; /* of the inertia */
    double h;
    size_t points;
    rigid_point *point;
    uint64_t steps;
    double norm; /* of the quaternion that the roll-out was started with */
    rigid_state *state;
    const wrench_net *net; /* NULL: none */
    softness soft;         /* 0: hard */
};

/* Numbers of a state that networks see. */
static inline void rigid_seen(const rigid_state *s, double in[WRENCH_INPUTS])
{
    memcpy(in, s->x, sizeof s->x);
    memcpy(in + 3, s->v, sizeof s->v);
    memcpy(in + 6, s->omega, sizeof s->omega);
}

/* A contact point that touches, or is felt from afar. */
typedef struct rigid_touch {
    double depth; /* m, negative where it touches: the height c */
    double ramp;  /* m, of -c, as derivatives see it; its slope */
    double slope;
    double r[3];     /* lowest place, from the centre of mass, axes of the world */
    double u[3];     /* its velocity */
    double approach; /* u_y, or 0 where it leaves or does not touch */
    double N;        /* N, pressing; the friction is at most mu N along each axis */
    int slides[3];   /* by axis: +1 or -1 for the sign of the velocity where the bound holds, else 0 */
    double f[3];     /* the force */
} rigid_touch;

/* The quantities of one step; those of the body are in its frame. */
typedef struct rigid_step {
    double R[9];
    double F[3], T[3];    /* force and torque, axes of the world */
    double W[3], IW[3];   /* angular velocity and angular momentum, body */
    double Z[3];          /* what changes the latter: torque less gyroscopic term, body */
    double next_W[3];     /* angular velocity after the step, body */
    double next_omega[3]; /* the same, axes of the world */
    double q[4];          /* after the step */
    double norm;          /* of the quaternion before it was normalised */
} rigid_step;

/* Whether point i touches, or is felt from afar, in a state with rotation R, and how. */
int rigid_touches(const rigid *r, const rigid_state *s, const double R[9], size_t i, rigid_touch *t);

/* The step from state s. */
void rigid_step_from(const rigid *r, const rigid_state *s, rigid_step *out);

#endif
