/* SPDX-License-Identifier: Apache-2.0 */
/* target.h - built-in targets of two kinds: densities that a scripted motion of the tools produced, stored in
 * a data file next to the plugin because simulating them takes seconds; or the particles of the start, moved
 * elsewhere. Also the shape of a target density. */
#ifndef MPM_TARGET_H
#define MPM_TARGET_H

#include "engines/physics/mpm/sim/scene.h"

#include <diffsim/helper/memory.h>
#include <stddef.h>

enum { MPM_TARGET_VARIANTS = 5, MPM_TARGET_PIECES = 5 };

/* Simulates the full preset with the actions moves[MPM_TARGET_PIECES][action_dim], each held for an equal
 * share of the 50 steps (so they are the decision variables of a default episode), with rigid tools (softness
 * 0) as in PlasticineLab's environments, and writes the masses of the 64^3 nodes at the end. It starts from
 * the particles of an episode, as PlasticineLab's targets evidently did, so a density loss near 0 is
 * reachable. Returns 0, or nonzero if it diverged or memory ran out. */
int mpm_target_simulate(const mpm_scene *scene, const double *moves, double *density);

/* The masses of the nodes of `domain` for the `total` particles (0: the scene's own) of an episode where
 * their aims place them. Returns an mpm_result; MPM_DIVERGED: a particle is outside of the grid. */
int mpm_target_arrange(const mpm_scene *scene, const mpm_domain *domain, uint32_t total, double *density);

/* Data file: "MPMT", then bytes: version 1, n, number of variants, 0; then per variant: lower corner (3
 * bytes), extent (3 bytes), 2 bytes 0, mass of one unit (double), extent[0] * extent[1] * extent[2] masses in
 * units (16 bit), z fastest. All little-endian. Both return NULL, or a few words that say what is wrong. */
const char *mpm_target_write(const char *path, int n, uint32_t variants, const double *densities);
const char *mpm_target_read(const char *path, int n, uint32_t variant, double *density);

/* Transfers a density of the full preset to the grid of `domain` (each node gives its mass to the nodes
 * around it, with linear weights) and scales it to a total of `count` particle masses. */
void mpm_target_fit(const double *density, int n, const mpm_domain *domain, uint32_t count, double *out);

/* ---- shape as points ----
 *
 * The shape of a target density as a cloud of points. */

/* Spreads points like mass, cell after cell: a cell gets one point per point mass, at the positions of a
 * low-discrepancy sequence (Roberts 2018, generalised golden ratio). The running total is rounded, so that
 * nothing drifts. */
typedef struct mpm_spread {
    double point_mass, mass; /* of a point; total so far */
    uint64_t count, points;  /* limit; number so far */
    double *out;             /* [count][3] */
} mpm_spread;

/* Number of points for this mass. */
static inline uint64_t mpm_spread_points(double mass, double point_mass)
{
    return mass > 0.0 ? (uint64_t)(mass / point_mass + 0.5) : 0;
}

/* Spreads the mass of the cell around `at`, in edges of a cell. Coordinates stay at or above 0. */
void mpm_spread_cell(mpm_spread *s, double mass, const double at[3], double edge);

/* Mass per target point: that of a particle, or more if there would be too many. */
double mpm_point_mass(const mpm_domain *domain, double mass);

/* Points for the density (n^3 masses of nodes), one per particle mass, where it exceeds a share of its value
 * inside, linear between the nodes: mass spreads to the nodes around a particle, also to some outside the
 * body. Returns [*count][3] from `room`; NULL without memory. */
double *mpm_shape_points(const mpm_domain *domain, const double *density, ds_memory *room, size_t *count);

#endif
