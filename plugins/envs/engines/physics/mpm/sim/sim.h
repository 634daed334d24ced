/* SPDX-License-Identifier: Apache-2.0 */
/* sim.h - one substep of the MLS-MPM simulation (Hu et al. 2018) as in PlasticineLab, and its adjoint: the
 * scalar reference implementation of the fast engine. */
#ifndef MPM_SIM_H
#define MPM_SIM_H

#include "engines/physics/mpm/sim/grid.h"
#include "engines/physics/mpm/sim/material.h"
#include "engines/physics/mpm/sim/scene.h"

#include <stdbool.h>
#include <stddef.h>

/* Particles `first` .. first + count - 1 are of one matter. */
typedef struct mpm_phase {
    uint32_t first, count;
    double mass, volume; /* of a particle */
    mpm_material material;
} mpm_phase;

typedef struct mpm_sim {
    mpm_domain domain;
    uint32_t n_phases; /* consecutive bodies of the same matter form one phase */
    mpm_phase phases[MPM_MAX_BODIES];
    mpm_forcing forcing;
    uint32_t n_particles;
    mpm_grid grid;
} mpm_sim;

/* Data for the backward pass of a substep in addition to the particles before and after it. */
typedef struct mpm_tape {
    mpm_svd *svd; /* of the trial deformation gradient, per particle */
    mpm_grid_record grid;
} mpm_tape;

typedef enum mpm_result {
    MPM_OK = 0,
    MPM_DIVERGED = 1, /* a particle left the domain or became non-finite */
    MPM_STOPPED = 2,  /* on request */
    MPM_NO_MEMORY = 3
} mpm_result;

/* The scene must outlive the simulation. Its tools are used in place; softness applies to all of them. */
mpm_result mpm_sim_init(mpm_sim *sim, const mpm_scene *scene, const mpm_domain *domain, uint32_t n_particles,
                        double softness);
void mpm_sim_free(mpm_sim *sim);

/* Particles `in` -> `out` (may be the same array) while the tools move from `now` to `next`. tape: NULL, or
 * receives the data for the adjoint. */
mpm_result mpm_substep(mpm_sim *sim, const mpm_particle *in, mpm_particle *out, const mpm_pose *now,
                       const mpm_pose *next, mpm_tape *tape);

/* bar: adjoint of `out` on entry, of `in` on return (same layout as the particles). Adds to the adjoints of
 * the poses. Needs mpm_grid_init_adjoint(). */
void mpm_substep_adjoint(mpm_sim *sim, const mpm_particle *in, const mpm_particle *out, const mpm_tape *tape,
                         const mpm_pose *now, const mpm_pose *next, mpm_particle *bar, mpm_pose *now_bar,
                         mpm_pose *next_bar);

/* ---- interpolation ----
 *
 * Quadratic B-spline interpolation between a particle and the 27 grid nodes around it. All
 * transfers of the affine particle-in-cell method (APIC, Jiang et al. 2015) and their adjoints use these few
 * operations. */

/* The nodes base + (0..2, 0..2, 0..2) and their weights. */
typedef struct mpm_stencil {
    size_t first; /* index of the lowest node */
    int base[3];
    double fx[3];    /* offset of the particle from the lowest node, in nodes */
    double w[3][3];  /* w[axis][0..2] */
    double dw[3][3]; /* their derivatives by fx */
} mpm_stencil;

/* In the unit cube, dx = 1 / n: positions are valid from 0 to (n - 3) dx. Returns false, without writing, for
 * others and for non-finite ones. */
bool mpm_stencil_at(int n, const double x[3], mpm_stencil *out);

/* A field has 4 components per node, node (i, j, k) at 4 ((i n + j) n + k). An affine function of the node
 * offset o = (0..2)^3 is value[c] + sum_k slope[k][c] o_k. */
typedef struct mpm_affine {
    double value[4];
    double slope[3][4];
} mpm_affine;

/* field_i += w_i g(o_i) */
void mpm_scatter(double *field, int n, const mpm_stencil *s, const mpm_affine *g);

/* out.value = sum w_i field_i, out.slope[k] = sum w_i field_i o_ik */
void mpm_gather(const double *field, int n, const mpm_stencil *s, mpm_affine *out);

/* fx_bar += sum_i (field_i . g(o_i)) dw_i/dfx: the part of both operations above in the adjoint of the
 * position through the weights (field or its adjoint, and g or its adjoint, in any pairing). */
void mpm_weight_adjoint(const double *field, int n, const mpm_stencil *s, const mpm_affine *g,
                        double fx_bar[3]);

/* The scalar versions, for densities: one component per node. */
void mpm_splat(double *field, int n, const mpm_stencil *s, double amount);
void mpm_splat_adjoint(const double *field_bar, int n, const mpm_stencil *s, double amount, double fx_bar[3]);

#endif
