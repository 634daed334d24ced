/* SPDX-License-Identifier: Apache-2.0 */
/* tree_contact.h - contact of trees of rigid bodies, for their dynamics. */
#ifndef DS_ENGINES_ARTICULATED_TREE_CONTACT_H
#define DS_ENGINES_ARTICULATED_TREE_CONTACT_H

#include "engines/physics/articulated/tree_state.h"

/* Finds the contacts that touch and adds their forces to the links. */
void tree_press(const tree *t, tree_work *w);
/* Adds the derivatives of the power of the contact forces under the rates of the adjoint. */
void tree_press_bar(const tree *t, tree_work *w, double *number_bar);
/* Subtracts the changes of the contact forces from limb.ab. */
void tree_press_dot(const tree *t, tree_work *w, const tree_bar *dot);

#endif
