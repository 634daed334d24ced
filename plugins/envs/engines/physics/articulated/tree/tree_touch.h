/* SPDX-License-Identifier: Apache-2.0 */
/* tree_touch.h - where the solids of a tree of rigid bodies touch, for the laws of contact: points, normals
 * and depths with their derivatives, velocities and forces there. */
#ifndef DS_ENGINES_ARTICULATED_TREE_TOUCH_H
#define DS_ENGINES_ARTICULATED_TREE_TOUCH_H

#include "engines/physics/articulated/tree/tree_state.h"

/* Fills w->touch with the contacts of the last placement whose depth is above 0, or above -t->margin for
 * balls and rims. */
void tree_touch_find(const tree *t, tree_work *w);
/* Adds those of one group, `group` being its first contact. */
void tree_touch_find_group(const tree *t, tree_work *w, int group);

/* Adds the derivatives by the poses and lengths, given those by the depth, the normal and the point. */
void tree_touch_bar(const tree *t, tree_work *w, const touch *c, double depth_bar, const double n_bar[3],
                    const double x_bar[3], double *number_bar);
/* depth_dot, n_dot and x_dot of a contact from the motion limb.pose of the links and dot->number. */
void tree_touch_dot(const tree *t, tree_work *w, touch *c, const tree_bar *dot);

/* Velocity of the first solid against the second one at the contact, and angular velocity. */
void tree_touch_velocity(const tree_work *w, const touch *c, tree_field field, double out[3]);
void tree_touch_spin(const tree_work *w, const touch *c, tree_field field, double out[3]);

/* Adds `scale` times a force at the contact to the first solid, and subtracts it from the second one. */
void tree_touch_push(tree_work *w, const touch *c, tree_field field, double scale, const double force[3]);
/* Subtracts the change of the force c->F at the contact from limb.ab. */
void tree_touch_push_dot(tree_work *w, const touch *c, const double force_dot[3]);

#endif
