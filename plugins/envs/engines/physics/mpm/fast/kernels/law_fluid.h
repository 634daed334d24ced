/* SPDX-License-Identifier: Apache-2.0 */
/* The laws of deform.c other than plasticine, for VL particles at once: the syrup, and the elastic solid in
 * it; forward beside adjoint. Stresses come out multiplied by the pass's factor. */
#ifndef MPM_FAST_LAW_FLUID_H
#define MPM_FAST_LAW_FLUID_H

#include "kernels.h"
#include "lanes.h"
#include "law.h"

/* As in deform.c. */
static const real least_volume = R(0.05), syrup_compressed = R(0.6), syrup_loose = R(1.05);

/* ---- syrup: step = dt C, j: relative volume before ---- */

INLINE vec syrup_growth(const vec step[9])
{
    return R(1) + (step[0] + step[4] + step[8]);
}

INLINE vec syrup_volume(vec j, vec growth)
{
    return least(most(j * growth, all(syrup_compressed)), all(syrup_loose));
}

INLINE void syrup_stress(const mpm_pass *p, const vec step[9], vec j_new, sym out)
{
    vec viscosity = all(R(p->law->viscosity * p->rate * p->stress));
    vec pressure = R(p->law->modulus * p->stress) * (j_new - R(1));
    out[0] = R(2) * viscosity * step[0] + pressure;
    out[3] = R(2) * viscosity * step[4] + pressure;
    out[5] = R(2) * viscosity * step[8] + pressure;
    out[1] = viscosity * (step[1] + step[3]);
    out[2] = viscosity * (step[2] + step[6]);
    out[4] = viscosity * (step[5] + step[7]);
}

/* t_bar: symmetric part of the adjoint of the stress; *j_bar: adjoint of J after on entry, before on return.
 * turned: adjoint of C, divided by dt. */
INLINE void syrup_adjoint(const mpm_pass *p, vec j, vec growth, const sym t_bar, vec *j_bar, vec turned[9])
{
    vec next = j * growth;
    mask free = (next > all(syrup_compressed)) & (next < all(syrup_loose));
    vec bar = *j_bar + R(p->law->modulus) * sym_trace(t_bar);
    bar = choose(free, bar, all(R(0)));
    *j_bar = bar * growth;
    vec viscosity = all(R(2 * p->law->viscosity * p->rate)), volume = bar * j;
    turned[0] = viscosity * t_bar[0] + volume;
    turned[4] = viscosity * t_bar[3] + volume;
    turned[8] = viscosity * t_bar[5] + volume;
    turned[1] = turned[3] = viscosity * t_bar[1];
    turned[2] = turned[6] = viscosity * t_bar[2];
    turned[5] = turned[7] = viscosity * t_bar[4];
}

/* ---- elastic solid: A = F after ---- */

INLINE void cofactor(const vec a[9], vec out[9])
{
    out[0] = a[4] * a[8] - a[5] * a[7];
    out[1] = a[5] * a[6] - a[3] * a[8];
    out[2] = a[3] * a[7] - a[4] * a[6];
    out[3] = a[2] * a[7] - a[1] * a[8];
    out[4] = a[0] * a[8] - a[2] * a[6];
    out[5] = a[1] * a[6] - a[0] * a[7];
    out[6] = a[1] * a[5] - a[2] * a[4];
    out[7] = a[2] * a[3] - a[0] * a[5];
    out[8] = a[0] * a[4] - a[1] * a[3];
}

INLINE void elastic_stress(const mpm_pass *p, const vec a[9], sym out)
{
    vec cof[9], modulus = all(R(p->law->modulus * p->stress));
    cofactor(a, cof);
    vec j = most(a[0] * cof[0] + a[1] * cof[1] + a[2] * cof[2], all(least_volume));
    vec pressure;
    for (int l = 0; l < VL; l++) {
        pressure[l] = R(__builtin_log((double)j[l]) - 1.0);
    }
    pressure *= modulus;
    out[0] = modulus * (a[0] * a[0] + a[1] * a[1] + a[2] * a[2]) + pressure;
    out[1] = modulus * (a[0] * a[3] + a[1] * a[4] + a[2] * a[5]);
    out[2] = modulus * (a[0] * a[6] + a[1] * a[7] + a[2] * a[8]);
    out[3] = modulus * (a[3] * a[3] + a[4] * a[4] + a[5] * a[5]) + pressure;
    out[4] = modulus * (a[3] * a[6] + a[4] * a[7] + a[5] * a[8]);
    out[5] = modulus * (a[6] * a[6] + a[7] * a[7] + a[8] * a[8]) + pressure;
}

/* a_bar: adjoint of A from its later uses on entry, with that of the stress on return. */
INLINE void elastic_adjoint(const mpm_pass *p, const vec a[9], const sym t_bar, vec a_bar[9])
{
    vec cof[9], through[9];
    cofactor(a, cof);
    vec j = a[0] * cof[0] + a[1] * cof[1] + a[2] * cof[2];
    mask free = j > all(least_volume);
    vec volume = R(p->law->modulus) * sym_trace(t_bar) / choose(free, j, all(R(1)));
    volume = choose(free, volume, all(R(0)));
    sym_mul(t_bar, a, through);
    for (int i = 0; i < 9; i++) {
        a_bar[i] += R(2 * p->law->modulus) * through[i] + volume * cof[i];
    }
}

#endif
