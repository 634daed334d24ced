/* SPDX-License-Identifier: Apache-2.0 */
/* tree_distance.h - signed distances of points from solids, with first and second derivatives. */
#ifndef DS_ENGINES_ARTICULATED_TREE_DISTANCE_H
#define DS_ENGINES_ARTICULATED_TREE_DISTANCE_H

#include "engines/physics/articulated/tree/tree.h"

/* The gradient g, a unit vector, and the second derivative (1 - t t' - g g') / length + curve t t'. t is a
 * unit vector across g, or 0; length INFINITY: without the first part. */
typedef struct tree_bend {
    double g[3], t[3], length, curve;
} tree_bend;

/* Distance of y from a solid, both in its frame; negative inside. At the nearest face inside a box, a
 * cylinder or a hull; along the normal of the triangle above a point under terrain. HUGE_VAL beyond
 * `reach` of a hull or terrain. */
double tree_distance(const tree_shape *s, const double y[3], double reach, tree_bend *out);

/* out = the second derivative applied to z. */
void tree_distance_bend(const tree_bend *b, const double z[3], double out[3]);

#endif
