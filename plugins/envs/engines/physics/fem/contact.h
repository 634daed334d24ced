/* SPDX-License-Identifier: Apache-2.0 */
/* contact.h - contact between bodies: vertices of one on the surface of another. Force, reverse, tangent.
 *
 * A vertex with the velocity u, at the signed distance phi from the nearest place of the other surface (with
 * the velocity w, the normal n), is pushed at the depth d = offset - phi > 0 by
 *     N - kd s min((u - w).n, 0) along n,    N = ke d^2 / (2 offset), s = d / offset    where d < offset,
 *                                            N = ke (d - offset / 2), s = 1             where it is inside,
 * and slowed by kf times its sliding velocity, at most mu N. The corners of the place take the opposite force
 * by their weights, so bodies exchange momentum exactly. The force and, but for its damping and friction, its
 * derivatives are continuous where contact begins. Only vertices touch: edges pass through edges. */
#ifndef DS_ENGINES_FEM_CONTACT_H
#define DS_ENGINES_FEM_CONTACT_H

#include "engines/physics/fem/surfaces.h"

typedef struct fem_contact_law {
    double offset;         /* m, above 0: contact begins at this distance */
    double ke, kd, kf, mu; /* N/m, N s/m, N s/m, 1 */
} fem_contact_law;

typedef struct fem_contact {
    fem_surfaces *surfaces; /* NULL: bodies do not touch; owned by the environment */
    fem_contact_law law;
    double reach; /* m: how far inside a vertex is still pushed outward */
} fem_contact;

/* As the functions of obstacle.h: states are [particles][8], forces [particles][4]. */
void fem_contact_force(const fem_contact *c, const double *state, double *force);
void fem_contact_vjp(const fem_contact *c, const double *state, const double *force_bar, double *bar,
                     fem_contact_law *by);
void fem_contact_jvp(const fem_contact *c, const double *state, const double *dot,
                     const fem_contact_law *along, double *force_dot);

/* The deepest vertex inside another body at q[particles][3]: its depth, m, or 0, and the pair. */
double fem_contact_overlap(const fem_contact *c, const double *q, fem_near_pair *deepest);

#endif
