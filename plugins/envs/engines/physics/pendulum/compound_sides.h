/* SPDX-License-Identifier: Apache-2.0 */
/* compound_sides.h - what both sides of the equations of motion of compound.h are made of at a state: shared
 * by the motion with all its derivatives (compound.c) and by that with networks (compound_net.c). */
#ifndef DS_ENGINES_COMPOUND_SIDES_H
#define DS_ENGINES_COMPOUND_SIDES_H

#include "common/vector_math.h"
#include "compound_constants.h"
#include "engines/physics/cloth/sets.h"

#include <math.h>

enum { ANGLE_A, ANGLE_B, RATE_A, RATE_B };

typedef struct sides {
    double sa, ca, sb, cb, s, c;
    double xx, xy, yy; /* the inverse of the matrix */
    double acc[2];     /* accelerations, once the right sides are known */
} sides;

/* Of two angles at once, with the same bits everywhere; of ones that turned very often by the C library. */
INLINE void sines_of(const double *y, sides *t)
{
    vec sine, cosine;
    if (fabs(y[ANGLE_A]) <= VEC_SINCOS_MOST && fabs(y[ANGLE_B]) <= VEC_SINCOS_MOST) {
        vec_sincos((vec){y[ANGLE_A], y[ANGLE_B]}, &sine, &cosine);
        t->sa = sine[0];
        t->ca = cosine[0];
        t->sb = sine[1];
        t->cb = cosine[1];
        return;
    }
    t->sa = sin(y[ANGLE_A]);
    t->ca = cos(y[ANGLE_A]);
    t->sb = sin(y[ANGLE_B]);
    t->cb = cos(y[ANGLE_B]);
}

INLINE void sides_at(const double *restrict k, const double *restrict y, sides *t)
{
    sines_of(y, t);
    t->s = t->sa * t->cb - t->ca * t->sb;
    t->c = t->ca * t->cb + t->sa * t->sb;
    const double mixed = k[COMPOUND_C] * t->c;
    const double per = 1 / (k[COMPOUND_A] * k[COMPOUND_B] - mixed * mixed);
    t->xx = k[COMPOUND_B] * per;
    t->xy = -mixed * per;
    t->yy = k[COMPOUND_A] * per;
}

INLINE void sides_solve(const sides *t, double first, double second, double out[2])
{
    out[0] = t->xx * first + t->xy * second;
    out[1] = t->xy * first + t->yy * second;
}

/* The accelerations under the torques of both joints. */
INLINE void sides_move(const double *restrict k, const double *restrict y, double t1, double t2, sides *t)
{
    const double pull = k[COMPOUND_C] * t->s;
    sides_solve(t, -pull * y[RATE_B] * y[RATE_B] - k[COMPOUND_G1] * t->sa + t1 - t2,
                pull * y[RATE_A] * y[RATE_A] - k[COMPOUND_G2] * t->sb + t2, t->acc);
}

#endif
