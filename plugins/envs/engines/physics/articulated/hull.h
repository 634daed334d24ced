/* SPDX-License-Identifier: Apache-2.0 */
/* hull.h - the convex hull of a set of points, with a limited number of corners; mass properties and coarser
 * copies of surfaces of triangles. */
#ifndef DS_ENGINES_ARTICULATED_HULL_H
#define DS_ENGINES_ARTICULATED_HULL_H

#include "engines/physics/articulated/robot_parts.h"

/* The hull of `count` points with at most TREE_CORNERS of them as corners, the farthest ones first, and no
 * point farther outside than a thousandth of the size unless the corners are used up (incremental quickhull,
 * after Barber, Dobkin, Huhdanpaa, ACM TOMS 22(4), 1996). Points in one plane get the corners of the box
 * around them. The arrays belong to `m`. Returns 0 without memory. */
int hull_of(ds_memory *m, const double *point, size_t count, tree_mesh *out);

/* Mass 1, centre and inertia of the solid inside a surface; returns its volume, negative if the faces are
 * turned inside out and meaningless if they are not closed. */
double hull_mass(const tree_mesh *surface, robot_mass *out);
/* The same as MuJoCo computes it by default: pyramids over the triangles, first with the centre of the
 * surface and then with the centre of mass as apex, all count as positive. Differs where a ray from the
 * centre meets the surface more than once. */
double hull_mass_legacy(const tree_mesh *surface, robot_mass *out);
/* 0 up to rounding for a closed surface whose triangles are all turned the same way, else a share of its
 * area: areas as vectors add up to 0, and the fluxes of the coordinates are those of one volume. */
double hull_opening(const tree_mesh *surface);
/* How far the farthest of these points is outside of a convex surface. */
double hull_outside(const tree_mesh *surface, const double *point, size_t count);

/* A coarser copy for pictures: points in one cell of a grid become one, so that about `most` remain. The
 * arrays belong to `m`. Returns 0 without memory. */
int hull_coarse(ds_memory *m, const double *point, size_t points, const uint32_t *triangle, size_t triangles,
                size_t most, tree_mesh *out);

#endif
