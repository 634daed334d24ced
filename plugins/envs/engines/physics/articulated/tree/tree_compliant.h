/* SPDX-License-Identifier: Apache-2.0 */
/* tree_compliant.h - contact by forces that grow with the depth, for the dynamics of trees of rigid bodies:
 * the law of K. Hunt and F. Crossley (1975) with regularised Coulomb friction, as in E. Heiden et al.,
 * "NeuralSim" (ICRA 2021). All act on the contacts of the last tree_touch_find(). */
#ifndef DS_ENGINES_ARTICULATED_TREE_COMPLIANT_H
#define DS_ENGINES_ARTICULATED_TREE_COMPLIANT_H

#include "engines/physics/articulated/tree/tree_touch.h"

/* Adds the forces to the links. */
void tree_compliant(const tree *t, tree_work *w);
/* Adds the derivatives of the power of the forces under the rates of the adjoint. */
void tree_compliant_bar(const tree *t, tree_work *w, double *number_bar);
/* Subtracts the changes of the forces from limb.ab. */
void tree_compliant_dot(const tree *t, tree_work *w, const tree_bar *dot);

/* With t->soft.at_distance, derivatives alone feel a force t->pull ramp(depth) along the normal between
 * solids that do not touch: what it adds to the adjoint and, in limb.ab, to the tangent, under every law. */
void tree_distant_bar(const tree *t, tree_work *w, double *number_bar);
void tree_distant_dot(const tree *t, tree_work *w, const tree_bar *dot);

#endif
