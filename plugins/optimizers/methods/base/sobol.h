/* SPDX-License-Identifier: Apache-2.0 */
/* sobol.h - randomised Sobol points in the unit cube.
 *
 * S. Joe, F. Kuo, "Constructing Sobol sequences with better two-dimensional projections", SIAM J. Sci.
 * Comput. 30 (2008): their direction numbers for up to SOBOL_MAX_DIM dimensions, and a random digital shift
 * (exclusive or with a random word per dimension), which keeps the equidistribution and makes every point
 * uniform. In more dimensions the points are independent and uniform instead: there a few hundred points fill
 * no net anyway.
 */
#ifndef DS_METHODS_SOBOL_H
#define DS_METHODS_SOBOL_H

#include <diffsim/helper/random.h>
#include <stddef.h>

#define SOBOL_MAX_DIM 53

/* Writes the first `count` points (row-major, count x dim, in (0, 1)); the randomisation comes from `rng`. */
void sobol_points(size_t count, size_t dim, ds_random *rng, double *points);

/* The same for points first, first + 1, ... (at most 2^32 in all): called with equal copies of `rng`, blocks
 * continue one sequence in up to SOBOL_MAX_DIM dimensions. */
void sobol_points_from(uint64_t first, size_t count, size_t dim, ds_random *rng, double *points);

#endif
