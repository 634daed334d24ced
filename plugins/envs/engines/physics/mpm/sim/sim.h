/* SPDX-License-Identifier: Apache-2.0 */
/* One substep of the MLS-MPM simulation (Hu et al. 2018) as PlasticineLab does it, and its adjoint. This is
 * the plain scalar version that faster ones are compared with. */
#ifndef MPM_SIM_H
#define MPM_SIM_H

#include "grid.h"
#include "deform.h"
#include "engines/physics/mpm/scene/scene.h"

/* Particles `first` .. first + count - 1 are of one matter. */
typedef struct mpm_phase {
    uint32_t first, count;
    double mass, volume; /* of a particle */
    mpm_material material;
} mpm_phase;

typedef struct mpm_sim {
    mpm_domain domain;
    uint32_t n_phases; /* consecutive bodies of the same matter are one phase */
    mpm_phase phases[MPM_MAX_BODIES];
    mpm_forcing forcing;
    uint32_t n_particles;
    mpm_grid grid;
} mpm_sim;

/* What the backward pass of a substep needs besides the particles before and after it. */
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

/* Particles `in` -> `out` (which may be the same array) while the tools go from `now` to `next`. tape: NULL,
 * or where to keep what the adjoint needs. */
mpm_result mpm_substep(mpm_sim *sim, const mpm_particle *in, mpm_particle *out, const mpm_pose *now,
                       const mpm_pose *next, mpm_tape *tape);

/* bar: adjoint of `out` on entry, of `in` on return (same layout as the particles). Adds to the adjoints of
 * the poses. Needs mpm_grid_init_adjoint(). */
void mpm_substep_adjoint(mpm_sim *sim, const mpm_particle *in, const mpm_particle *out, const mpm_tape *tape,
                         const mpm_pose *now, const mpm_pose *next, mpm_particle *bar, mpm_pose *now_bar,
                         mpm_pose *next_bar);

#endif
