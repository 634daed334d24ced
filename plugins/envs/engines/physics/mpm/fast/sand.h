/* SPDX-License-Identifier: Apache-2.0 */
/* sand.h - the law of sand.c for VL particles at once, with its adjoint. In the terms of law.h, with t =
 * 3 log j and n = |H|:
 *     F_new  = g exp(k H) A      pressed (t < 0): k = min(-cone t / n - 1, 0), g = 1; else k = -1, g = 1 / j
 *     stress = 2 mu (1 + k) H + (lambda + 2/3 mu) t,    0 unless pressed */
#ifndef MPM_FAST_SAND_H
#define MPM_FAST_SAND_H

#include "engines/physics/mpm/fast/law.h"

static const real sand_shear_eps = R(1e-20); /* see sand.c */
static const real largest_growth = R(0.1);   /* of the mean squared stretch, for its logarithm */

typedef struct grains {
    vec log_mean; /* of the mean squared stretch */
    vec trace;    /* t; 0 unless pressed */
    vec shrink;   /* g */
} grains;

/* log(1 + m) for |m| <= largest_growth: 2 artanh(z), z = m / (2 + m). */
INLINE vec log_near(vec m)
{
    vec z = m / (R(2) + m), zz = z * z;
    vec sum = R(1) / 9 + zz * (R(1) / 11 + zz * (R(1) / 13));
    return R(2) * z * (R(1) + zz * (R(1) / 3 + zz * (R(1) / 5 + zz * (R(1) / 7 + zz * sum))));
}

/* After strain_deviator(): lanes whose mean stretch is far from 1 need singular values, too. */
INLINE void sand_volume(strain *s, grains *out)
{
    vec sum = s->a[0] * s->a[0];
    for (int i = 1; i < 9; i++) {
        sum += s->a[i] * s->a[i];
    }
    vec growth = sum * (R(1) / R(3)) - R(1);
    mask inside = less(growth, all(largest_growth)) & less(all(-largest_growth), growth);
    s->beyond = choose(inside, s->beyond, all(R(1)));
    out->log_mean = log_near(choose(less(s->beyond, all(R(0.5))), growth, all(R(0))));
}

/* The flow from H. */
INLINE void sand_flow(strain *s, const mpm_material *law, const vec log_series[3], grains *out)
{
    vec t = R(1.5) * (out->log_mean + log_series[0] + (R(2) / R(3)) * s->d2 * log_series[2]);
    mask pressed = less(t, all(R(0)));
    out->trace = choose(pressed, t, all(R(0)));
    out->shrink = choose(pressed, all(R(1)), R(1) / s->volume);
    s->inverse_norm = inverse_root(R(2) * s->h2 + sand_shear_eps);
    s->yield = R(-law->cone) * out->trace * s->inverse_norm;
    s->flow = choose(pressed, least(s->yield - R(1), all(R(0))), all(R(-1)));
}

/* Kirchhoff stress times `factor`. */
INLINE void sand_stress(const strain *s, const grains *at, const mpm_material *law, real factor, sym out)
{
    const vec shear = R(2 * law->mu) * factor * (R(1) + s->flow),
              pressure = R(law->lambda + 2.0 / 3.0 * law->mu) * factor * at->trace;
    for (int i = 0; i < 6; i++) {
        out[i] = shear * s->h[i];
    }
    out[0] += pressure;
    out[3] += pressure;
    out[5] += pressure;
}

/* Adds the adjoints of the constants, see material.h; lanes beyond the series add theirs elsewhere. */
static __attribute__((noinline)) void sand_constants(const strain *s, const grains *at,
                                                     const mpm_material *law, vec k_bar, vec t0, vec t1)
{
    const vec work = R(2) * (R(1) + s->flow) * t1, pressure = at->trace * t0,
              cone = -k_bar * at->trace * s->inverse_norm;
    double *bar = law->bar + (size_t)MPM_CONSTANTS * law->part;
    for (int l = 0; l < VL; l++) {
        if (!(s->beyond[l] > R(0))) {
            bar[MPM_BAR_MODULUS] += (double)(work[l] + (R(2) / R(3)) * pressure[l]);
            bar[MPM_BAR_LAMBDA] += (double)pressure[l];
            bar[MPM_BAR_CONE] += (double)cone[l];
        }
    }
}

/* As law_adjoint(). */
INLINE void sand_adjoint(const strain *s, const grains *at, const flow_function *flow,
                         const vec log_series[3], const vec log_slope[3], const sym dd,
                         const mpm_material *law, const vec f_bar[9], const sym t_bar, vec a_bar[9])
{
    const vec k = s->flow, none = all(R(0)), shear = all(R(2 * law->mu));
    const mask pressed = less(at->trace, none);
    vec scaled[9];
    sym p_bar;
    for (int i = 0; i < 9; i++) {
        scaled[i] = at->shrink * f_bar[i];
    }
    flow_bar(s, scaled, p_bar);
    vec p0 = sym_trace(p_bar), p1 = sym_dot(p_bar, s->h), p2 = sym_dot(p_bar, s->hh);
    vec t0 = sym_trace(t_bar), t1 = sym_dot(t_bar, s->h);

    /* k where pressed sand flows: d exp(k H)/dk = H exp(k H) */
    vec k_bar =
        (flow->c[0] + flow->c[2] * s->h2) * p1 + flow->c[1] * p2 + flow->c[2] * s->h3 * p0 + shear * t1;
    k_bar = choose(pressed & less(k, none), k_bar, none);
    if (law->bar) {
        sand_constants(s, at, law, k_bar, t0, t1);
    }

    /* log j = t / 3 */
    vec volume_bar =
        R(3) * (R(law->lambda + 2.0 / 3.0 * law->mu) * t0 - R(law->cone) * k_bar * s->inverse_norm);
    volume_bar = choose(pressed, volume_bar, -(flow->c[0] * p0 + flow->c[1] * p1 + flow->c[2] * p2));

    /* H through exp(k H), the stress and n = |H|; its trace has no effect */
    vec bar[3] = {p0, k * p1, k * k * p2}, z2_bar, z3_bar;
    sym h_bar, twice;
    for (int i = 0; i < 6; i++) {
        h_bar[i] = shear * (R(1) + k) * t_bar[i] + flow->f[1] * k * p_bar[i];
        twice[i] = flow->f[2] * (k * k) * p_bar[i];
    }
    add_anticommutator(s->h, twice, h_bar);
    invariant_adjoint(flow->slope, k * k * s->h2, k * k * k * s->h3, bar, &z2_bar, &z3_bar);
    vec along = k * k * z2_bar - k_bar * s->yield * (s->inverse_norm * s->inverse_norm);
    for (int i = 0; i < 6; i++) {
        h_bar[i] += along * s->h[i] + k * k * k * z3_bar * s->hh[i];
    }
    log_strain_adjoint(s, log_series, log_slope, dd, h_bar, volume_bar, a_bar);
    add_flow_bar(s, flow, scaled, a_bar);
}

#endif
