/* SPDX-License-Identifier: Apache-2.0 */
/* solid.h - contact of vertices with fixed solids that have a signed distance (fem/obstacle.h).
 *
 * The law is that of the pan (touch.h): a vertex whose predicted position x + h u is nearer than the offset
 * of a solid loses its velocity towards it, moves out by a fifth of its depth in a step, at most 1 m/s, and
 * friction slows its sliding by mu times the change of the normal velocity. */
#ifndef DS_ENGINES_CLOTH_SOLID_H
#define DS_ENGINES_CLOTH_SOLID_H

#include "engines/physics/fem/obstacle.h"
#include "mesh.h"

/* Changes the velocities u in place, one solid after the other. Of a solid its distance, offset and mu are
 * used. */
void solid_push(const fem_obstacle *solid, size_t solids, double h, const cloth_mesh *m, const double *x,
                double *u);

/* Reverse: u holds the velocities before; v_bar goes from those after to those before; adds to x_bar, and to
 * by[solids] (NULL: not wanted) the derivatives by the constants that are used. */
void solid_adjoint(const fem_obstacle *solid, size_t solids, double h, const cloth_mesh *m, const double *x,
                   const double *u, double *x_bar, double *v_bar, fem_obstacle_bar *by);

#endif
