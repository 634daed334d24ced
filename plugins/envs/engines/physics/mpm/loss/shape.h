/* SPDX-License-Identifier: Apache-2.0 */
/* The shape that a target density stands for, as a cloud of points. */
#ifndef MPM_SHAPE_H
#define MPM_SHAPE_H

#include "engines/physics/mpm/scene/scene.h"

#include <diffsim/helper/memory.h>

/* Points spread like mass, cell after cell: as many in a cell as its mass has point masses, at the places of
 * a low-discrepancy sequence (Roberts 2018, generalised golden ratio). They are counted in sums, rounded, so
 * that nothing drifts. */
typedef struct mpm_spread {
    double point_mass, mass; /* of a point; so far */
    uint64_t count, points;  /* most of them; so far */
    double *out;             /* [count][3] */
} mpm_spread;

/* How many points this mass is. */
static inline uint64_t mpm_spread_points(double mass, double point_mass)
{
    return mass > 0.0 ? (uint64_t)(mass / point_mass + 0.5) : 0;
}

/* The mass of the cell about `at`, in edges of a cell. No coordinate gets below 0. */
void mpm_spread_cell(mpm_spread *s, double mass, const double at[3], double edge);

/* The mass of a target's points: that of a particle, or more where there would be too many. */
double mpm_point_mass(const mpm_domain *domain, double mass);

/* As many points as the density (n^3 masses of nodes) has particle masses, there where it is more than a
 * share of what it is inside, linear between the nodes: mass is spread to the nodes around a particle, also
 * to some outside of the body. Returns [*count][3], of `room`; NULL without memory. */
double *mpm_shape_points(const mpm_domain *domain, const double *density, ds_memory *room, size_t *count);

#endif
