/* SPDX-License-Identifier: Apache-2.0 */
/* tree_lane.h - contact of robots side by side: solids meet in few lanes at a time and in many ways, so that
 * each lane goes through the code for one robot, with the links that may touch.
 *
 * Numbers of a lane are `width` doubles apart. `limbs` is the first number of the first link in that lane:
 * the links of several robots have the layout of those of one (struct limb). */
#ifndef DS_ENGINES_ARTICULATED_TREE_LANE_H
#define DS_ENGINES_ARTICULATED_TREE_LANE_H

#include <diffsim/helper/memory.h>

struct tree;
typedef struct tree_lane tree_lane;

/* Room for `width` lanes; NULL without memory. */
tree_lane *tree_lane_create(ds_memory *m, const struct tree *t, int width);

/* The numbers of the model in a lane, which must remain valid. */
void tree_lane_number(tree_lane *c, int lane, double *number);

/* Finds where the solids of `count` groups of contacts touch (`near`: the first contact of each; the others
 * are apart) and adds the forces of the compliant law to limb.f, which is 0. */
void tree_lane_forces(tree_lane *c, int lane, const double *ref, double *limbs, const int *near, int count);

/* The adjoint at these contacts: tree_compliant_bar() and tree_distant_bar(). number_bar may be NULL. */
void tree_lane_forces_bar(tree_lane *c, int lane, double *limbs, double *number_bar);

#endif
