/* SPDX-License-Identifier: Apache-2.0 */
/* kernels.h - what each variant of the kernels offers: the forces of a state and their reverse, and the step.
 * All but "plain" give the same bits. */
#ifndef DS_ENGINES_FEM_KERNELS_H
#define DS_ENGINES_FEM_KERNELS_H

#include "engines/physics/fem/pack.h"

typedef struct fem_kernels {
    const char *isa;
    /* force[particles][4] of a state [particles][8]; p->share is scratch. */
    void (*force)(fem_pack *p, const double *state, double *force);
    /* With fb the derivatives by force, adds those by the state to bar [particles][8], those by constants
     * to the bars of the sets (where p->want_material; those of the ground always), and sets the act_bar
     * of the sets. */
    void (*vjp)(fem_pack *p, const double *state, const double *fb, double *bar);
    /* One step from `state` to `next`: u' = u + dt (w f + g), q' = q + dt u'. The largest |u'|^2, infinite
     * where the next state is not finite. */
    double (*step)(const fem_pack *p, double dt, const double *state, const double *force, double *next);
    /* The reverse: from bar of the next state to that of the state without forces, and fb; adds those by
     * masses, from the velocities of both, and by gravity. The largest component, infinite where one is
     * not finite. */
    double (*step_bar)(const fem_pack *p, double dt, const double *state, const double *next, double *bar,
                       double *fb, double *mass_bar, double gravity_bar[4]);
} fem_kernels;

/* Those of the instruction set `isa` (plain, baseline, avx2, avx512) as isa_choose() has it;
 * NULL: unknown. */
const fem_kernels *fem_kernels_find(const char *isa);

#endif
