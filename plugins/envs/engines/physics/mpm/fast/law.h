/* SPDX-License-Identifier: Apache-2.0 */
/* law.h - the constitutive laws of material.c for VL particles at once, each with its adjoint. Plasticine
 * needs no singular vectors:
 *
 * Let b = A A^T = U s^2 U^T for the trial deformation gradient A = U s V^T. Every quantity of the law is A
 * times an isotropic function of b, or such a function itself:
 *     H      = dev(log s in the frame U) = dev(log b) / 2            logarithmic shear
 *     F_new  = U diag(exp(e - excess/n dev e)) V^T = exp(k H) A,      k = min(yield / n - 1, 0),  n = |H|
 *     V_new  = U s_new U^T = j exp((1 + k) H),                        j = (det A)^(1/3)
 *     stress = 2 mu (F_new - R) F_new^T + ... = 2 mu (V_new^2 - V_new) + lambda J (J - 1) I.
 * An elastic particle has k = 0 and keeps F_new = A to the last bit. The functions are power series of small
 * traceless symmetric matrices, summed modulo the characteristic polynomial (Cayley-Hamilton): z^3 = z2 z +
 * z3 with the invariants z2 = tr(z^2) / 2 and z3 = det z, so that f(z) = f0 + f1 z + f2 z^2. */
#ifndef MPM_FAST_LAW_H
#define MPM_FAST_LAW_H

#include "engines/physics/mpm/fast/kernels.h"
#include "engines/physics/mpm/fast/lanes.h"

/* Symmetric matrices: xx xy xz yy yz zz. */
typedef vec sym[6];

enum { SERIES_TERMS = 22 };

/* Series are used while tr(D^2) / 2 of the relative deviator D of b is below this (shear 8 %); beyond it,
 * singular values. */
static const real largest_shear = R(0.02);
static const real strain_eps = R(1e-8); /* see material.c */
/* Below this mean squared stretch a singular value could be at its lower limit (0.05). */
static const real smallest_stretch_sq = R(0.004);

static const real log_terms[SERIES_TERMS] = {
    R(0),       R(1),      -R(1) / 2,  R(1) / 3,  -R(1) / 4,  R(1) / 5,  -R(1) / 6,  R(1) / 7,
    -R(1) / 8,  R(1) / 9,  -R(1) / 10, R(1) / 11, -R(1) / 12, R(1) / 13, -R(1) / 14, R(1) / 15,
    -R(1) / 16, R(1) / 17, -R(1) / 18, R(1) / 19, -R(1) / 20, R(1) / 21};
static const real exp_terms[SERIES_TERMS] = {R(1),
                                             R(1),
                                             R(1.0 / 2.0),
                                             R(1.0 / 6.0),
                                             R(1.0 / 24.0),
                                             R(1.0 / 120.0),
                                             R(1.0 / 720.0),
                                             R(1.0 / 5040.0),
                                             R(1.0 / 40320.0),
                                             R(1.0 / 362880.0),
                                             R(1.0 / 3628800.0),
                                             R(1.0 / 39916800.0),
                                             R(1.0 / 479001600.0),
                                             R(1.0 / 6227020800.0),
                                             R(1.0 / 87178291200.0),
                                             R(1.0 / 1307674368000.0),
                                             R(1.0 / 20922789888000.0),
                                             R(1.0 / 355687428096000.0),
                                             R(1.0 / 6402373705728000.0),
                                             R(1.0 / 121645100408832000.0),
                                             R(1.0 / 2432902008176640000.0),
                                             R(1.0 / 51090942171709440000.0)};

/* Largest second invariant z2 for which a series may end after 3, 4, 5 ... terms. The largest eigenvalue is
 * at most r = sqrt(4/3 z2); r^n |terms[n]|, the leading omitted term, is then at most a fraction of the
 * rounding (1e-17; 1e-9 for f32). So entry n - 3 is 3/4 (fraction / |terms[n]|)^(2/n), rounded down. */
enum { LEAST_TERMS = 3, SERIES_LIMITS = SERIES_TERMS - 1 - LEAST_TERMS };
#if MPM_REAL_BITS == 64
static const real log_limits[SERIES_LIMITS] = {
    R(7.241e-12), R(4.743e-9), R(2.262e-7), R(2.936e-6), R(1.817e-5), R(7.093e-5),
    R(2.038e-4),  R(4.732e-4), R(9.407e-4), R(1.665e-3), R(2.698e-3), R(4.075e-3),
    R(5.823e-3),  R(7.953e-3), R(1.046e-2), R(1.335e-2), R(1.660e-2), R(2.019e-2)};
static const real exp_limits[SERIES_LIMITS] = {
    R(1.149e-11), R(1.161e-8), R(8.067e-7), R(1.448e-5), R(1.190e-4), R(5.976e-4),
    R(2.151e-3),  R(6.123e-3), R(1.466e-2), R(3.079e-2), R(5.841e-2), R(1.021e-1),
    R(1.674e-1),  R(2.600e-1), R(3.863e-1), R(5.526e-1), R(7.656e-1), R(1.031e0)};
#else
static const real log_limits[SERIES_LIMITS] = {
    R(1.560e-6), R(4.743e-5), R(3.586e-4), R(1.362e-3), R(3.508e-3), R(7.093e-3),
    R(1.222e-2), R(1.883e-2), R(2.679e-2), R(3.588e-2), R(4.590e-2), R(5.663e-2),
    R(6.790e-2), R(7.953e-2), R(9.141e-2), R(1.034e-1), R(1.154e-1), R(1.273e-1)};
static const real exp_limits[SERIES_LIMITS] = {
    R(2.476e-6), R(1.161e-4), R(1.278e-3), R(6.722e-3), R(2.298e-2), R(5.976e-2),
    R(1.289e-1), R(2.437e-1), R(4.175e-1), R(6.634e-1), R(9.937e-1), R(1.419e0),
    R(1.952e0),  R(2.600e0),  R(3.373e0),  R(4.278e0),  R(5.322e0),  R(6.511e0)};
#endif

/* Number of terms of a series for matrices with second invariant up to z2. */
INLINE int terms_needed(const real limits[SERIES_LIMITS], real z2)
{
    int n = 0;
    while (n < SERIES_LIMITS && limits[n] < z2) {
        n++;
    }
    return LEAST_TERMS + n;
}

/* f(z) = sum terms[i] z^i = f[0] + f[1] z + f[2] z^2, and slope: derivative of f by z3. Derivatives by z2
 * follow, see invariant_adjoint(). (Synthetic division by the characteristic polynomial p gives f as the
 * remainder; since p depends on z3 through -z3 only, the derivative of the remainder is the quotient, again
 * modulo p.) */
INLINE void series(const real *terms, int n, vec z2, vec z3, vec f[3], vec slope[3])
{
    vec f0 = all(terms[n - 3]), f1 = all(terms[n - 2]), f2 = all(terms[n - 1]);
    vec s0 = all(R(0)), s1 = s0, s2 = s0;
    for (int i = n - 4; i >= 0; i--) {
        vec t = s2 * z3 + f2, u = s2 * z2 + s0;
        s2 = s1;
        s1 = u;
        s0 = t;
        t = f2 * z3 + terms[i];
        u = f2 * z2 + f0;
        f2 = f1;
        f1 = u;
        f0 = t;
    }
    f[0] = f0;
    f[1] = f1;
    f[2] = f2;
    slope[0] = s0;
    slope[1] = s1;
    slope[2] = s2;
}

/* Adjoints of the invariants: bar is the adjoint of f contracted with 1, z, z^2. */
INLINE void invariant_adjoint(const vec slope[3], vec z2, vec z3, const vec bar[3], vec *z2_bar, vec *z3_bar)
{
    *z3_bar = bar[0] * slope[0] + bar[1] * slope[1] + bar[2] * slope[2];
    *z2_bar = bar[0] * (slope[2] * z3) + bar[1] * (slope[0] + slope[2] * z2) + bar[2] * slope[1];
}

INLINE void sym_square(const sym a, sym out)
{
    out[0] = a[0] * a[0] + a[1] * a[1] + a[2] * a[2];
    out[1] = a[0] * a[1] + a[1] * a[3] + a[2] * a[4];
    out[2] = a[0] * a[2] + a[1] * a[4] + a[2] * a[5];
    out[3] = a[1] * a[1] + a[3] * a[3] + a[4] * a[4];
    out[4] = a[1] * a[2] + a[3] * a[4] + a[4] * a[5];
    out[5] = a[2] * a[2] + a[4] * a[4] + a[5] * a[5];
}

INLINE vec sym_dot(const sym a, const sym b)
{
    vec off = a[1] * b[1] + a[2] * b[2] + a[4] * b[4];
    return a[0] * b[0] + a[3] * b[3] + a[5] * b[5] + (off + off);
}

INLINE vec sym_trace(const sym a)
{
    return a[0] + a[3] + a[5];
}

/* out += A B + B A */
INLINE void add_anticommutator(const sym a, const sym b, sym out)
{
    vec xy = a[1] * b[1], xz = a[2] * b[2], yz = a[4] * b[4];
    out[0] += R(2) * (a[0] * b[0] + xy + xz);
    out[3] += R(2) * (a[3] * b[3] + xy + yz);
    out[5] += R(2) * (a[5] * b[5] + xz + yz);
    out[1] += (a[0] + a[3]) * b[1] + (b[0] + b[3]) * a[1] + a[2] * b[4] + b[2] * a[4];
    out[2] += (a[0] + a[5]) * b[2] + (b[0] + b[5]) * a[2] + a[1] * b[4] + b[1] * a[4];
    out[4] += (a[3] + a[5]) * b[4] + (b[3] + b[5]) * a[4] + a[1] * b[2] + b[1] * a[2];
}

/* out = S A for symmetric S */
INLINE void sym_mul(const sym s, const vec a[9], vec out[9])
{
#pragma GCC unroll 3
    for (int j = 0; j < 3; j++) {
        vec x = a[j], y = a[3 + j], z = a[6 + j];
        out[j] = s[0] * x + s[1] * y + s[2] * z;
        out[3 + j] = s[1] * x + s[3] * y + s[4] * z;
        out[6 + j] = s[2] * x + s[4] * y + s[5] * z;
    }
}

/* Intermediate results of the law, for VL particles. */
typedef struct strain {
    vec a[9];                    /* trial deformation gradient A */
    sym d;                       /* b / mean - 1 */
    vec inverse_mean, root_mean; /* of tr b / 3 */
    vec d2, d3;                  /* invariants of D */
    vec beyond;                  /* lanes: 1 where singular values are needed */
    sym h, hh;                   /* H and H^2 */
    vec h2, h3;                  /* invariants of H */
    vec volume;                  /* j: cube root of det A */
    vec inverse_norm;            /* 1 / n */
    vec yield;                   /* yield / n */
    vec flow;                    /* k */
} strain;

/* A = (1 + dt C) F; step = dt C. */
INLINE void trial(const vec step[9], const vec f[9], vec a[9])
{
#pragma GCC unroll 3
    for (int i = 0; i < 3; i++) {
#pragma GCC unroll 3
        for (int j = 0; j < 3; j++) {
            a[3 * i + j] =
                f[3 * i + j] + step[3 * i] * f[j] + step[3 * i + 1] * f[3 + j] + step[3 * i + 2] * f[6 + j];
        }
    }
}

/* The relative deviator of b. Marks lanes beyond the series for strain_beyond(). */
INLINE void strain_deviator(strain *s)
{
    const vec *a = s->a;
    sym b;
    b[0] = a[0] * a[0] + a[1] * a[1] + a[2] * a[2];
    b[1] = a[0] * a[3] + a[1] * a[4] + a[2] * a[5];
    b[2] = a[0] * a[6] + a[1] * a[7] + a[2] * a[8];
    b[3] = a[3] * a[3] + a[4] * a[4] + a[5] * a[5];
    b[4] = a[3] * a[6] + a[4] * a[7] + a[5] * a[8];
    b[5] = a[6] * a[6] + a[7] * a[7] + a[8] * a[8];
    vec mean = (b[0] + b[3] + b[5]) * (R(1) / R(3));
    vec inverse_root_mean = inverse_root(mean), inverse = inverse_root_mean * inverse_root_mean;
    s->d[0] = (b[0] - mean) * inverse;
    s->d[3] = (b[3] - mean) * inverse;
    s->d[5] = (b[5] - mean) * inverse;
    s->d[1] = b[1] * inverse;
    s->d[2] = b[2] * inverse;
    s->d[4] = b[4] * inverse;
    vec det = a[0] * (a[4] * a[8] - a[5] * a[7]) + a[1] * (a[5] * a[6] - a[3] * a[8]) +
              a[2] * (a[3] * a[7] - a[4] * a[6]);
    s->inverse_mean = inverse;
    s->root_mean = mean * inverse_root_mean;
    s->d2 = R(0.5) * sym_dot(s->d, s->d);
    /* written so that NaN counts as beyond */
    mask inside = less(s->d2, all(largest_shear)) & less(all(smallest_stretch_sq), mean) &
                  less(mean, all(R(1e6))) & less(all(R(0)), det);
    s->beyond = choose(inside, all(R(0)), all(R(1)));
}

/* D = 0 in the lanes beyond the series. */
INLINE void strain_beyond(strain *s)
{
    mask inside = less(s->beyond, all(R(0.5)));
    for (int i = 0; i < 6; i++) {
        s->d[i] = choose(inside, s->d[i], all(R(0)));
    }
    s->inverse_mean = choose(inside, s->inverse_mean, all(R(1)));
    s->root_mean = choose(inside, s->root_mean, all(R(1)));
    s->d2 = choose(inside, s->d2, all(R(0)));
}

/* exp(t) for |t| below 0.004 */
INLINE vec exp_small(vec t)
{
    return R(1) + t * (R(1) + t * (R(1) / 2 + t * (R(1) / 6 + t * (R(1) / 24 + t * (R(1) / 120)))));
}

/* H from D; log_series: coefficients of log(1 + D), and their derivatives. */
INLINE void log_strain(strain *s, int terms, vec log_series[3], vec log_slope[3], sym dd)
{
    sym_square(s->d, dd);
    s->d3 = sym_dot(s->d, dd) * (R(1) / R(3));
    series(log_terms, terms, s->d2, s->d3, log_series, log_slope);
    vec half1 = R(0.5) * log_series[1], half2 = R(0.5) * log_series[2];
    vec trace = half2 * s->d2 * (R(2) / R(3)); /* of the D^2 part, a third of it */
    for (int i = 0; i < 6; i++) {
        s->h[i] = half1 * s->d[i] + half2 * dd[i];
    }
    s->h[0] -= trace;
    s->h[3] -= trace;
    s->h[5] -= trace;
    /* det b = mean^3 det(1 + D), so j = mean^(1/2) exp(tr log(1 + D) / 6) */
    s->volume = s->root_mean * exp_small(R(0.5) * log_series[0] + (R(1) / R(3)) * s->d2 * log_series[2]);
    sym_square(s->h, s->hh);
    s->h2 = R(0.5) * sym_trace(s->hh);
    s->h3 = sym_dot(s->h, s->hh) * (R(1) / R(3));
}

/* The same and the plastic flow. Returns the second invariant of k H. */
INLINE vec strain_flow(strain *s, const mpm_material *law, int terms, vec log_series[3], vec log_slope[3],
                       sym dd)
{
    log_strain(s, terms, log_series, log_slope, dd);
    s->inverse_norm = inverse_root(R(2) * s->h2 + strain_eps);
    s->yield = R(law->yield_strain) * s->inverse_norm;
    s->flow = least(s->yield - R(1), all(R(0)));
    return s->flow * s->flow * s->h2;
}

/* exp(k H) as coefficients of 1, H, H^2. */
typedef struct flow_function {
    vec f[3], slope[3]; /* of the series in k H */
    vec c[3];
} flow_function;

INLINE void flow_function_of(const strain *s, int terms, flow_function *out)
{
    vec k = s->flow, kk = k * k;
    series(exp_terms, terms, kk * s->h2, kk * k * s->h3, out->f, out->slope);
    out->c[0] = out->f[0];
    out->c[1] = out->f[1] * k;
    out->c[2] = out->f[2] * kk;
}

/* phi(Y) = (j e^Y)^2 - j e^Y for Y = (1 + k) H, as coefficients of 1, Y, Y^2; derivatives by the third
 * invariant of Y; and the coefficients of its derivative phi'(Y) = 2 (j e^Y)^2 - j e^Y. */
typedef struct stress_function {
    vec f[3], slope[3], rise[3];
    vec scale, y2, y3; /* 1 + k; invariants of Y */
} stress_function;

INLINE void stress_function_of(const strain *s, int terms, stress_function *out)
{
    vec r = R(1) + s->flow, rr = r * r, y2 = rr * s->h2, y3 = rr * r * s->h3;
    vec e[3], de[3];
    series(exp_terms, terms, y2, y3, e, de);
    /* e^(2Y): the square of a remainder e = e0 + e1 z + e2 z^2 modulo p, whose quotient by p is q1 + q2 z */
    vec q1 = R(2) * e[1] * e[2], q2 = e[2] * e[2];
    vec twice[3] = {e[0] * e[0] + q1 * y3, R(2) * (e[0] * e[1]) + q1 * y2 + q2 * y3,
                    R(2) * (e[0] * e[2]) + e[1] * e[1] + q2 * y2};
    /* its derivative: 2 e de + q1 + q2 z modulo p */
    vec m0 = R(2) * (e[0] * de[0]) + q1, m1 = R(2) * (e[0] * de[1] + e[1] * de[0]) + q2,
        m2 = R(2) * (e[0] * de[2] + e[1] * de[1] + e[2] * de[0]), m3 = R(2) * (e[1] * de[2] + e[2] * de[1]),
        m4 = R(2) * (e[2] * de[2]);
    vec dtwice[3] = {m0 + m3 * y3, m1 + m3 * y2 + m4 * y3, m2 + m4 * y2};
    vec j = s->volume, jj = j * j;
#pragma GCC unroll 3
    for (int i = 0; i < 3; i++) {
        vec square = jj * twice[i];
        out->f[i] = square - j * e[i];
        out->rise[i] = square + out->f[i];
        out->slope[i] = jj * dtwice[i] - j * de[i];
    }
    out->scale = r;
    out->y2 = y2;
    out->y3 = y3;
}

/* F_new = exp(k H) A; the new F is exactly A where k = 0. */
INLINE void new_gradient(const strain *s, const flow_function *flow, vec f_new[9])
{
    sym p;
    for (int i = 0; i < 6; i++) {
        p[i] = flow->c[1] * s->h[i] + flow->c[2] * s->hh[i];
    }
    vec more = flow->c[0] - R(1);
    p[0] += more;
    p[3] += more;
    p[5] += more;
    sym_mul(p, s->a, f_new);
    for (int i = 0; i < 9; i++) {
        f_new[i] += s->a[i];
    }
}

/* Symmetric part of f_bar A^T. */
INLINE void flow_bar(const strain *s, const vec f_bar[9], sym p_bar)
{
    const vec *a = s->a;
    p_bar[0] = f_bar[0] * a[0] + f_bar[1] * a[1] + f_bar[2] * a[2];
    p_bar[3] = f_bar[3] * a[3] + f_bar[4] * a[4] + f_bar[5] * a[5];
    p_bar[5] = f_bar[6] * a[6] + f_bar[7] * a[7] + f_bar[8] * a[8];
    p_bar[1] = R(0.5) * (f_bar[0] * a[3] + f_bar[1] * a[4] + f_bar[2] * a[5] + f_bar[3] * a[0] +
                         f_bar[4] * a[1] + f_bar[5] * a[2]);
    p_bar[2] = R(0.5) * (f_bar[0] * a[6] + f_bar[1] * a[7] + f_bar[2] * a[8] + f_bar[6] * a[0] +
                         f_bar[7] * a[1] + f_bar[8] * a[2]);
    p_bar[4] = R(0.5) * (f_bar[3] * a[6] + f_bar[4] * a[7] + f_bar[5] * a[8] + f_bar[6] * a[3] +
                         f_bar[7] * a[4] + f_bar[8] * a[5]);
}

/* a_bar += exp(k H) f_bar */
INLINE void add_flow_bar(const strain *s, const flow_function *flow, const vec f_bar[9], vec a_bar[9])
{
    sym p;
    for (int i = 0; i < 6; i++) {
        p[i] = flow->c[1] * s->h[i] + flow->c[2] * s->hh[i];
    }
    p[0] += flow->c[0];
    p[3] += flow->c[0];
    p[5] += flow->c[0];
    vec through[9];
    sym_mul(p, f_bar, through);
    for (int i = 0; i < 9; i++) {
        a_bar[i] += through[i];
    }
}

/* From the adjoints of H and of log j to that of A. */
INLINE void log_strain_adjoint(const strain *s, const vec log_series[3], const vec log_slope[3], const sym dd,
                               const sym h_bar, vec volume_bar, vec a_bar[9])
{
    /* H = dev(L) / 2, log j = log(mean) / 2 + tr L / 6 for L = log(1 + D) */
    sym l_bar, d_bar, twice;
    vec bar[3], z2_bar, z3_bar;
    vec shift = R(1) / R(6) * (volume_bar - sym_trace(h_bar));
    for (int i = 0; i < 6; i++) {
        l_bar[i] = R(0.5) * h_bar[i];
    }
    l_bar[0] += shift;
    l_bar[3] += shift;
    l_bar[5] += shift;
    bar[0] = sym_trace(l_bar);
    bar[1] = sym_dot(l_bar, s->d);
    bar[2] = sym_dot(l_bar, dd);
    invariant_adjoint(log_slope, s->d2, s->d3, bar, &z2_bar, &z3_bar);
    for (int i = 0; i < 6; i++) {
        d_bar[i] = log_series[1] * l_bar[i] + z2_bar * s->d[i] + z3_bar * dd[i];
        twice[i] = log_series[2] * l_bar[i];
    }
    add_anticommutator(s->d, twice, d_bar);

    /* D = b / mean - 1, mean = tr b / 3; then b = A A^T */
    vec inverse = R(2) * s->inverse_mean;
    shift = sym_trace(d_bar) * (R(1) / R(3));
    d_bar[0] -= shift;
    d_bar[3] -= shift;
    d_bar[5] -= shift;
    shift = (R(1) / R(3)) * (R(0.5) * volume_bar - sym_dot(d_bar, s->d));
    d_bar[0] += shift;
    d_bar[3] += shift;
    d_bar[5] += shift;
    for (int i = 0; i < 6; i++) {
        d_bar[i] *= inverse;
    }
    sym_mul(d_bar, s->a, a_bar);
}

/* Kirchhoff stress times `factor`. */
INLINE void stress_of(const strain *s, const stress_function *phi, const mpm_material *law, real factor,
                      sym out)
{
    vec shear = all(R(2 * law->mu) * factor), r = phi->scale;
    vec jjj = s->volume * s->volume * s->volume;
    vec c0 = shear * phi->f[0] + R(law->lambda) * factor * (jjj * jjj - jjj);
    vec c1 = shear * phi->f[1] * r, c2 = shear * phi->f[2] * (r * r);
    for (int i = 0; i < 6; i++) {
        out[i] = c1 * s->h[i] + c2 * s->hh[i];
    }
    out[0] += c0;
    out[3] += c0;
    out[5] += c0;
}

/* ---- yield strain that depends on the trial state ---- */

/* The state; lanes beyond the series count as undeformed and are handled elsewhere. */
static void yield_state(const strain *s, double volume[VL], double shear[VL])
{
    const vec j = s->volume * s->volume * s->volume, n = (R(2) * s->h2 + strain_eps) * s->inverse_norm;
    for (int l = 0; l < VL; l++) {
        volume[l] = (double)j[l];
        shear[l] = (double)n[l];
    }
}

/* Sets the flow again; returns the second invariant of k H. */
static __attribute__((noinline)) vec yield_flow(strain *s, const mpm_material *law)
{
    double volume[VL], shear[VL], yield[VL];
    vec strains;
    yield_state(s, volume, shear);
    law->yield->strain(law->yield->self, law->part, VL, volume, shear, yield);
    for (int l = 0; l < VL; l++) {
        strains[l] = R(yield[l]);
    }
    s->yield = strains * s->inverse_norm;
    s->flow = least(s->yield - R(1), all(R(0)));
    s->flow = choose(less(s->beyond, all(R(0.5))), s->flow, all(R(0)));
    return s->flow * s->flow * s->h2;
}

/* strain_bar: adjoint of the yield strain. Writes the adjoints of log det A and of the second invariant of H.
 */
static __attribute__((noinline)) void yield_adjoint(const strain *s, const mpm_material *law, vec strain_bar,
                                                    vec *volume_bar, vec *h2_bar)
{
    double volume[VL], shear[VL], yield_bar[VL], j_bar[VL], n_bar[VL];
    yield_state(s, volume, shear);
    for (int l = 0; l < VL; l++) {
        yield_bar[l] = (double)strain_bar[l];
    }
    law->yield->adjoint(law->yield->self, law->part, VL, volume, shear, yield_bar, j_bar, n_bar);
    for (int l = 0; l < VL; l++) {
        (*volume_bar)[l] = R(j_bar[l] * volume[l]);
        (*h2_bar)[l] = R(n_bar[l] / shear[l]);
    }
}

/* Adds the adjoints of the constants, see material.h; lanes beyond the series add theirs elsewhere. k_bar:
 * adjoint of k. */
static __attribute__((noinline)) void constants_adjoint(const strain *s, const stress_function *phi,
                                                        const mpm_material *law, vec k_bar, const sym t_bar)
{
    const vec r = phi->scale, jjj = s->volume * s->volume * s->volume, t0 = sym_trace(t_bar);
    const vec mu = R(2) * (phi->f[0] * t0 + phi->f[1] * r * sym_dot(t_bar, s->h) +
                           phi->f[2] * (r * r) * sym_dot(t_bar, s->hh));
    const vec lambda = t0 * (jjj * jjj - jjj), yield = k_bar * s->inverse_norm;
    double *bar = law->bar + (size_t)MPM_CONSTANTS * law->part;
    for (int l = 0; l < VL; l++) {
        if (!(s->beyond[l] > R(0))) {
            bar[MPM_BAR_MODULUS] += (double)mu[l];
            bar[MPM_BAR_LAMBDA] += (double)lambda[l];
            bar[MPM_BAR_YIELD] += (double)yield[l];
        }
    }
}

/* f_bar: adjoint of F_new; t_bar: symmetric part of the adjoint of the stress. Writes the adjoint of A. */
INLINE void law_adjoint(const strain *s, const flow_function *flow, const stress_function *phi,
                        const vec log_series[3], const vec log_slope[3], const sym dd,
                        const mpm_material *law, const vec f_bar[9], const sym t_bar, vec a_bar[9])
{
    vec k = s->flow, r = phi->scale, rr = r * r;
    vec shear = all(R(2 * law->mu));

    /* F_new = P A, P = exp(k H) */
    sym p_bar;
    flow_bar(s, f_bar, p_bar);
    vec p0 = sym_trace(p_bar), p1 = sym_dot(p_bar, s->h), p2 = sym_dot(p_bar, s->hh);
    vec t0 = sym_trace(t_bar), t1 = sym_dot(t_bar, s->h), t2 = sym_dot(t_bar, s->hh);

    /* k through both functions: d exp(k H)/dk = H exp(k H), d phi(r H)/dr = H phi'(r H), r = 1 + k */
    vec k_bar = (flow->c[0] + flow->c[2] * s->h2) * p1 + flow->c[1] * p2 + flow->c[2] * s->h3 * p0;
    vec q0 = phi->rise[0], q1 = r * phi->rise[1], q2 = rr * phi->rise[2];
    k_bar += shear * ((q0 + q2 * s->h2) * t1 + q1 * t2 + q2 * s->h3 * t0);
    k_bar = choose(less(k, all(R(0))), k_bar, all(R(0)));

    /* j: j d/dj of the stress is 2 mu phi'(Y) + 3 lambda J (2 J - 1) I with J = j^3 */
    vec jjj = s->volume * s->volume * s->volume;
    vec volume_bar =
        shear * (q0 * t0 + q1 * t1 + q2 * t2) + R(3 * law->lambda) * t0 * jjj * (jjj + jjj - R(1));

    if (law->bar) {
        constants_adjoint(s, phi, law, k_bar, t_bar);
    }
    vec yield_h2_bar = all(R(0));
    if (law->yield) {
        vec more;
        yield_adjoint(s, law, k_bar * s->inverse_norm, &more, &yield_h2_bar);
        volume_bar += R(3) * more;
    }

    /* H through both functions and n = |H|; its trace has no effect */
    vec bar[3], z2_bar, z3_bar;
    sym h_bar, twice;
    vec c1 = shear * phi->f[1] * r, c2 = shear * phi->f[2] * rr;
    for (int i = 0; i < 6; i++) {
        h_bar[i] = c1 * t_bar[i] + flow->f[1] * k * p_bar[i];
        twice[i] = c2 * t_bar[i] + flow->f[2] * (k * k) * p_bar[i];
    }
    add_anticommutator(s->h, twice, h_bar);
    bar[0] = shear * t0;
    bar[1] = shear * r * t1;
    bar[2] = shear * rr * t2;
    invariant_adjoint(phi->slope, phi->y2, phi->y3, bar, &z2_bar, &z3_bar);
    vec along = rr * z2_bar, square = rr * r * z3_bar;
    bar[0] = p0;
    bar[1] = k * p1;
    bar[2] = k * k * p2;
    invariant_adjoint(flow->slope, k * k * s->h2, k * k * k * s->h3, bar, &z2_bar, &z3_bar);
    along += k * k * z2_bar - k_bar * s->yield * (s->inverse_norm * s->inverse_norm);
    if (law->yield) {
        along += yield_h2_bar;
    }
    square += k * k * k * z3_bar;
    for (int i = 0; i < 6; i++) {
        h_bar[i] += along * s->h[i] + square * s->hh[i];
    }
    log_strain_adjoint(s, log_series, log_slope, dd, h_bar, volume_bar, a_bar);
    add_flow_bar(s, flow, f_bar, a_bar);
}

/* ---- syrup and elastic solid ---- */

/* As in material.c. */
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

/* t_bar: symmetric part of the adjoint of the stress; *j_bar: adjoint of J, after on entry, before on return.
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

/* Adds `value` of all lanes to the adjoint of a constant. */
INLINE void add_constant(const mpm_material *law, int which, vec value)
{
    double *bar = law->bar + (size_t)MPM_CONSTANTS * law->part + which;
    for (int l = 0; l < VL; l++) {
        *bar += (double)value[l];
    }
}

/* Adds the adjoints of the constants of syrup. */
static __attribute__((noinline)) void syrup_constants(const mpm_pass *p, const vec step[9], vec j_new,
                                                      const sym t_bar)
{
    const vec along = t_bar[0] * step[0] + t_bar[3] * step[4] + t_bar[5] * step[8],
              off = t_bar[1] * (step[1] + step[3]) + t_bar[2] * (step[2] + step[6]) +
                    t_bar[4] * (step[5] + step[7]);
    add_constant(p->law, MPM_BAR_MODULUS, (j_new - R(1)) * sym_trace(t_bar));
    add_constant(p->law, MPM_BAR_VISCOSITY, R(2 * p->rate) * (along + off));
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

/* a_bar: adjoint of A from its later uses on entry, including the stress on return. */
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

/* Adds the adjoint of the shear modulus. */
static __attribute__((noinline)) void elastic_constants(const mpm_pass *p, const vec a[9], const sym t_bar)
{
    vec cof[9], through[9], sum = all(R(0)), pressure;
    cofactor(a, cof);
    const vec j = most(a[0] * cof[0] + a[1] * cof[1] + a[2] * cof[2], all(least_volume));
    for (int l = 0; l < VL; l++) {
        pressure[l] = R(__builtin_log((double)j[l]) - 1.0);
    }
    sym_mul(t_bar, a, through);
    for (int i = 0; i < 9; i++) {
        sum += through[i] * a[i];
    }
    add_constant(p->law, MPM_BAR_MODULUS, sum + pressure * sym_trace(t_bar));
}

#endif
