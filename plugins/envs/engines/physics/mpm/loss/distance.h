/* SPDX-License-Identifier: Apache-2.0 */
/* The distance of every grid node to the target shape, as PlasticineLab approximates it. */
#ifndef MPM_DISTANCE_H
#define MPM_DISTANCE_H

#include <stdbool.h>

/* A node belongs to the target where its density (mass) exceeds this. */
#define MPM_TARGET_CELL 1e-4

/* density, distance: n^3 values, index (i n + j) n + k. distance in units of the domain, 1000 where there is
 * no target at all. False when there is no memory. */
bool mpm_distance_field(int n, const double *density, double *distance);

#endif
