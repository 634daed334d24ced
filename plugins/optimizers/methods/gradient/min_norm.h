/* SPDX-License-Identifier: Apache-2.0 */
/* min_norm.h - the shortest vector of the convex hull of some points: the direction of gradient sampling. P.
 * Wolfe, "Finding the nearest point in a polytope" (Mathematical Programming 11, 1976). */
#ifndef DS_METHODS_MIN_NORM_H
#define DS_METHODS_MIN_NORM_H

#include <stddef.h>

/* Doubles that min_norm() needs for `count` points. */
size_t min_norm_room(size_t count);

/* Writes the shortest convex combination of `count` >= 1 finite points (count x n) to x (n values), and its
 * weights, at least 0 with sum 1, to w (count values). `room` has min_norm_room(count) doubles, `member`
 * `count` numbers. The result is exact up to rounding: no point p has x'p < x'x - 1e-10 max p'p. */
void min_norm(size_t count, size_t n, const double *points, double *x, double *w, double *room,
              size_t *member);

#endif
