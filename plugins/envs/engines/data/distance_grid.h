/* SPDX-License-Identifier: Apache-2.0 */
/* distance_grid.h - the signed distance to a closed surface from samples on a grid, interpolated by cubic
 * B-splines: value, gradient and second derivatives are continuous inside the box of the grid. Outside it,
 * the distance to the box is added to the value at the nearest point of the box.
 *
 * The samples are the coefficients of the spline, so that a plane is exact and an edge is rounded by about a
 * spacing. */
#ifndef DISTANCE_GRID_H
#define DISTANCE_GRID_H

#include <stddef.h>

typedef struct distance_grid {
    int n[3];         /* samples along each axis, at least 4 */
    double origin[3]; /* position of sample 0 */
    double spacing;
    double *value; /* [n[0]][n[1]][n[2]], negative inside; of the owner */
} distance_grid;

/* Signed distance at x. gradient: NULL or receives it; hessian: NULL or receives the second derivatives (row
 * by row). */
double distance_grid_at(const distance_grid *g, const double x[3], double gradient[3], double hessian[9]);

/* A lower bound of the distance of x to the surface, for searches, except for the rounding of edges. */
double distance_grid_bound(const distance_grid *g, const double x[3]);

#endif
