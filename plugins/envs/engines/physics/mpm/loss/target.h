/* SPDX-License-Identifier: Apache-2.0 */
/* Built-in targets, either of two kinds: densities that a scripted motion of the tools really produced,
 * kept in a data file beside the plugin because simulating them at every start would take seconds; or
 * the start's own particles put elsewhere. */
#ifndef MPM_TARGET_H
#define MPM_TARGET_H

#include "engines/physics/mpm/scene/scene.h"

#include <stddef.h>

enum { MPM_TARGET_VARIANTS = 5, MPM_TARGET_PIECES = 5 };

/* Simulates the full preset with the actions moves[MPM_TARGET_PIECES][action_dim], each held for an
 * equal share of the 50 steps (so they are the decision variables of a default episode), with rigid
 * tools (softness 0) as PlasticineLab's environments have, and writes the masses of the 64^3 nodes at
 * the end. It starts from the same particles as an episode, as the original's targets evidently did: a
 * density loss near 0 can be reached. Returns 0, or nonzero where it diverged or memory ran out. */
int mpm_target_simulate(const mpm_scene *scene, const double *moves, double *density);

/* Moves a particle of body `body` from its place at the start of an episode to its place in the target
 * of variant 1..5. `scene` is that variant's. */
typedef void mpm_place(const mpm_scene *scene, uint32_t variant, uint32_t body, double x[3]);

/* The masses of the nodes of `domain` when the `total` particles (0: the scene's own) of an episode are
 * put in place. Returns as mpm_target_simulate(). */
int mpm_target_arrange(const mpm_scene *scene, const mpm_domain *domain, uint32_t total, mpm_place *place,
                       uint32_t variant, double *density);

/* Data file: "MPMT", then bytes: version 1, n, number of variants, 0; then per variant: lower corner (3
 * bytes), extent (3 bytes), 2 bytes 0, mass of one unit (double), extent[0] * extent[1] * extent[2]
 * masses in units (16 bit), z fastest. All little-endian. Both return NULL on success, else what is wrong
 * in a few words. */
const char *mpm_target_write(const char *path, int n, uint32_t variants, const double *densities);
const char *mpm_target_read(const char *path, int n, uint32_t variant, double *density);

/* Brings a density of the full preset to the grid of `domain` (each node hands its mass to the nodes around
 * it, with linear weights) and scales it to a total of `count` particle masses. */
void mpm_target_fit(const double *density, int n, const mpm_domain *domain, uint32_t count, double *out);

#endif
