/* SPDX-License-Identifier: Apache-2.0 */
/* impact.h - the velocity of a disc (unit mass, no rotation) after simultaneous impacts with resting bodies,
 * and its adjoint (Werling et al., Fast and feature-complete differentiable physics, RSS 2021). */
#ifndef DS_ENGINES_IMPACT_H
#define DS_ENGINES_IMPACT_H

#include <stdint.h>

#include "shape.h"

enum { IMPACT_MAX = 8 }; /* contacts at a time */

typedef struct impact_law {
    double restitution; /* product of both bodies; 0.001 and less count as 0 */
    double friction;    /* Coulomb; 0.001 and less count as 0 */
    double threshold;   /* m/s: bodies bounce only where restitution times approach speed exceeds this */
} impact_law;

typedef struct impact_contact {
    shape_contact at;
    double f[2];    /* impulses along the normal and along perp(normal), N s */
    uint8_t cls[2]; /* LCP_* of the two */
    uint8_t bounced;
    uint8_t capped; /* the velocity of restitution was at its limit of 100 m/s */
    uint8_t mixed;  /* lcp_mixing was used */
} impact_contact;

/* Turns v from the velocity before the impacts to the velocity after them and fills the solution in k.
 * Returns LCP_GUESS, ... */
int impact_apply(const impact_law *law, int count, impact_contact *k, double v[2]);

/* Reverse. v: velocity before the impacts. v_bar, in: derivatives by the velocity after them; out: by v. Sets
 * n_bar, the derivatives by the normals. */
void impact_adjoint(const impact_law *law, int count, const impact_contact *k, const double v[2],
                    double v_bar[2], double n_bar[][2]);

/* Sets classes and impulses as Nimble does to leave a saddle point: a contact clamps if the derivative by the
 * velocity after the impact points out of the body; friction never acts. */
void impact_alternate(const impact_law *law, int count, impact_contact *k, const double v[2],
                      const double v_bar[2]);

/* Weights mu_i such that K = I + sum_i mu_i n_i n_i^T is the matrix nearest to the identity with n_i^T K n_i
 * = -e for all contacts that bounced (0 for the others): Nimble's derivative of positions through a bounce.
 */
void impact_bounce_weights(const impact_law *law, int count, const impact_contact *k, double weight[]);

#endif
