/* SPDX-License-Identifier: Apache-2.0 */
/* tree_impulse.h - contact by impulses, for the dynamics of trees of rigid bodies: velocity-level
 * complementarity as in K. Werling et al., "Fast and feature-complete differentiable physics for articulated
 * rigid bodies with contact" (RSS 2021).
 *
 * A step of h seconds first gives v* without contact. With the velocities u of the contacts that touch and
 * the Jacobian J of the normals n and two tangents, impulses f change it to v' = v* + M^-1 J' f so that
 *
 *     normal   f >= 0,  n u' - r + c f >= 0, one of both 0;    tangents: |f_t| <= mu f_n, sticking or sliding
 *     r = e s                    where e s > bounce, s = -n u the speed before the step
 *     r = min(b depth / h, pop)  otherwise
 *
 * with restitution e, mixing c and correction b (the part of the depth that a step removes), which are
 * numbers of the model. Where bodies cannot move in a direction, it has no impulse.
 *
 * Derivatives keep the class of every row. G = 0, the rows that clamp, defines f; with z = -Q^-T f_bar,
 * where Q = dG/df, the adjoint of v' gains J' z, and f counts as a constant force f / h whose point and
 * directions move. */
#ifndef DS_ENGINES_ARTICULATED_TREE_IMPULSE_H
#define DS_ENGINES_ARTICULATED_TREE_IMPULSE_H

#include "engines/physics/articulated/tree/tree_touch.h"

/* Adds the impulses, divided by the step w->in.implicit, to limb.f, given the accelerations w->a without
 * them. */
void tree_impulse(const tree *t, tree_work *w);
/* Replaces w->rate and limb.d, which are those of a_bar, by those of a_bar and J' z, and adds the derivatives
 * of the power of the impulses and of the rows. w->a includes the impulses. */
void tree_impulse_bar(const tree *t, tree_work *w, const double *a_bar, double *number_bar);
/* Subtracts the changes of constant impulses from limb.ab. */
void tree_impulse_dot(const tree *t, tree_work *w, const tree_bar *dot);
/* Adds to a_dot, the change of the accelerations with constant impulses, what the change of the impulses
 * adds. */
void tree_impulse_change(const tree *t, tree_work *w, const tree_bar *dot, double *a_dot);

#endif
