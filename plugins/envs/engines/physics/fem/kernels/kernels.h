/* SPDX-License-Identifier: Apache-2.0 */
/* kernels.h - functions of each variant of the kernels: forces of a state, their reverse, and the step. All
 * variants give the same bits. */
#ifndef DS_ENGINES_FEM_KERNELS_H
#define DS_ENGINES_FEM_KERNELS_H

#include "engines/physics/fem/pack.h"

typedef struct fem_kernels {
    const char *isa;
    /* Computes force[particles][4] of a state [particles][8]; p->share is scratch memory. */
    void (*force)(fem_pack *p, const double *state, double *force);
    /* Reverse; fb: derivatives by the forces. Adds those by the state to bar [particles][8], those by the
     * ground and (if p->want_material) by other constants to the bars of the sets; overwrites the act_bar of
     * the sets. */
    void (*vjp)(fem_pack *p, const double *state, const double *fb, double *bar);
    /* One step from `state` to `next`: u' = u + dt (w f + g), q' = q + dt u'. Returns the largest |u'|^2,
     * infinite if the next state is not finite. */
    double (*step)(const fem_pack *p, double dt, const double *state, const double *force, double *next);
    /* Reverse of the step: bar goes from the next state to the state, without forces; sets fb. Adds the
     * derivatives by masses (from the velocities of both states) and by gravity. Returns the largest
     * component, infinite if one is not finite. */
    double (*step_bar)(const fem_pack *p, double dt, const double *state, const double *next, double *bar,
                       double *fb, double *mass_bar, double gravity_bar[4]);
} fem_kernels;

/* Returns the kernels of the instruction set `isa` (baseline, avx2, avx512; chosen as isa_choose() does),
 * NULL if unknown. */
const fem_kernels *fem_kernels_find(const char *isa);

#endif
