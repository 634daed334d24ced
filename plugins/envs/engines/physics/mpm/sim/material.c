/* SPDX-License-Identifier: Apache-2.0 */
/* material.c - the law of plasticine, fixed corotated stress and von Mises return mapping, and the
 * singular value decomposition that it needs. Its adjoint treats stress and return map as isotropic
 * tensor functions with divided differences in the singular values, so it is also exact where singular
 * values coincide (F = I). */
#include "engines/physics/mpm/sim/material.h"

#include "engines/kit/algebra/mat3.h"

#include <stdbool.h>

/* ---- singular value decomposition ----
 *
 * Jacobi eigenvectors of A^T A give V; orthonormalising A V gives U (Golub and Van Loan, Matrix Computations,
 * 8.5 and 8.6). The matrices are close to rotations, so squaring them loses no accuracy that matters. */

enum { MAX_SWEEPS = 30 };

/* One Jacobi rotation that zeroes m_pq of the symmetric matrix m and rotates the columns p, q of v. r is the
 * third index. Returns false if the element is already negligible: A V then has columns orthogonal to
 * round-off. */
static inline bool rotate(double m[9], double v[9], int p, int q, int r)
{
    double app = m[4 * p], aqq = m[4 * q], apq = m[3 * p + q];
    /* 2^-112: the cosine between the two columns of A V is below 2^-56. */
    if (apq * apq <= 0x1p-112 * (app * aqq)) {
        return false;
    }
    /* tangent of the smaller of the two angles */
    double d = aqq - app, h = 2.0 * apq;
    double root = sqrt(d * d + h * h);
    double t = d < 0.0 ? h / (d - root) : h / (d + root);
    double c = 1.0 / sqrt(t * t + 1.0);
    double s = t * c;
    m[4 * p] = app - t * apq;
    m[4 * q] = aqq + t * apq;
    m[3 * p + q] = m[3 * q + p] = 0.0;
    double arp = m[3 * r + p], arq = m[3 * r + q];
    m[3 * r + p] = m[3 * p + r] = c * arp - s * arq;
    m[3 * r + q] = m[3 * q + r] = s * arp + c * arq;
    for (int k = 0; k < 3; k++) {
        double vp = v[3 * k + p], vq = v[3 * k + q];
        v[3 * k + p] = c * vp - s * vq;
        v[3 * k + q] = s * vp + c * vq;
    }
    return true;
}

/* Exchanges columns p and q of v and negates one of them, which keeps det V = 1. */
static void swap_columns(double value[3], double v[9], int p, int q)
{
    double t = value[p];
    value[p] = value[q];
    value[q] = t;
    for (int k = 0; k < 3; k++) {
        t = v[3 * k + p];
        v[3 * k + p] = v[3 * k + q];
        v[3 * k + q] = -t;
    }
}

static void eigenvectors_sorted(const double a[9], double v[9])
{
    double m[9];
    mat3_tmul(a, a, m);
    mat3_identity(v);
    for (int sweep = 0; sweep < MAX_SWEEPS; sweep++) {
        bool any = rotate(m, v, 0, 1, 2);
        any |= rotate(m, v, 0, 2, 1);
        any |= rotate(m, v, 1, 2, 0);
        if (!any) {
            break;
        }
    }
    double value[3] = {m[0], m[4], m[8]};
    if (value[0] < value[1]) {
        swap_columns(value, v, 0, 1);
    }
    if (value[0] < value[2]) {
        swap_columns(value, v, 0, 2);
    }
    if (value[1] < value[2]) {
        swap_columns(value, v, 1, 2);
    }
}

/* Some unit vector orthogonal to the unit vector n. */
static void any_orthogonal(const double n[3], double out[3])
{
    int k =
        fabs(n[0]) <= fabs(n[1]) ? (fabs(n[0]) <= fabs(n[2]) ? 0 : 2) : (fabs(n[1]) <= fabs(n[2]) ? 1 : 2);
    double axis[3] = {0.0, 0.0, 0.0};
    axis[k] = 1.0;
    vec3_cross(n, axis, out);
    double inv = 1.0 / sqrt(vec3_dot(out, out));
    for (int i = 0; i < 3; i++) {
        out[i] *= inv;
    }
}

void mpm_svd3(const double a[9], mpm_svd *out)
{
    eigenvectors_sorted(a, out->v);
    double b[9];
    mat3_mul(a, out->v, b);
    double b0[3] = {b[0], b[3], b[6]}, b1[3] = {b[1], b[4], b[7]}, b2[3] = {b[2], b[5], b[8]};
    double u0[3] = {1.0, 0.0, 0.0}, u1[3], u2[3];
    double n0 = sqrt(vec3_dot(b0, b0));
    if (n0 >= 1e-12) {
        for (int k = 0; k < 3; k++) {
            u0[k] = b0[k] / n0;
        }
    }
    memcpy(u1, b1, sizeof u1);
    vec3_add_scaled(u1, -vec3_dot(u0, b1), u0);
    double n1 = sqrt(vec3_dot(u1, u1));
    if (n1 >= 1e-12) {
        for (int k = 0; k < 3; k++) {
            u1[k] /= n1;
        }
    } else {
        any_orthogonal(u0, u1);
    }
    vec3_cross(u0, u1, u2);
    out->s[0] = n0;
    out->s[1] = vec3_dot(u1, b1);
    out->s[2] = vec3_dot(u2, b2);
    for (int k = 0; k < 3; k++) {
        out->u[3 * k] = u0[k];
        out->u[3 * k + 1] = u1[k];
        out->u[3 * k + 2] = u2[k];
    }
}

/* Adds to a_bar the adjoint of A for adjoints of U, s and V. The factors 1/(sj^2 - si^2) are limited to 1e6,
 * which loses the derivative where singular values coincide: for comparison with PlasticineLab;
 * mpm_material_adjoint() is exact. */
static void mpm_svd3_adjoint_clamped(const mpm_svd *svd, const double u_bar[9], const double s_bar[3],
                                     const double v_bar[9], double a_bar[9])
{
    double pu[9], pv[9], x[9], t[9];
    mat3_tmul(svd->u, u_bar, pu);
    mat3_tmul(svd->v, v_bar, pv);
    const double *s = svd->s;
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) {
            if (i == j) {
                x[3 * i + j] = s_bar[i];
                continue;
            }
            double d = s[j] * s[j] - s[i] * s[i];
            double k = 1.0 / (d >= 0.0 ? fmax(d, 1e-6) : fmin(d, -1e-6));
            x[3 * i + j] =
                k * ((pu[3 * i + j] - pu[3 * j + i]) * s[j] + s[i] * (pv[3 * i + j] - pv[3 * j + i]));
        }
    }
    mat3_mul(svd->u, x, t);
    mat3_mult(t, svd->v, x);
    for (int i = 0; i < 9; i++) {
        a_bar[i] += x[i];
    }
}

/* ---- plasticine ---- */

/* Keeps the norm of the deviatoric strain differentiable at zero strain. */
static const double strain_eps = 1e-8;

typedef struct return_map {
    bool plastic;
    double dev[3];     /* deviatoric logarithmic strain of the trial state */
    double norm;       /* its regularised norm */
    double ratio;      /* yield strain / norm: factor of dev */
    double volume;     /* product of the singular values, for a yield strain that depends on it */
    double stretch[3]; /* singular values after the return */
} return_map;

mpm_material mpm_material_make(double youngs_modulus, double poisson_ratio, double yield_stress)
{
    mpm_material law = {0};
    law.mu = youngs_modulus / (2.0 * (1.0 + poisson_ratio));
    law.lambda = youngs_modulus * poisson_ratio / ((1.0 + poisson_ratio) * (1.0 - 2.0 * poisson_ratio));
    law.yield_strain = yield_stress / (2.0 * law.mu);
    return law;
}

static void map_back(const mpm_material *law, const double s[3], return_map *out)
{
    double e[3], mean = 0.0;
    for (int k = 0; k < 3; k++) {
        e[k] = log(s[k] > mpm_min_stretch ? s[k] : mpm_min_stretch);
        mean += e[k];
    }
    mean /= 3.0;
    for (int k = 0; k < 3; k++) {
        out->dev[k] = e[k] - mean;
    }
    out->norm = sqrt(vec3_dot(out->dev, out->dev) + strain_eps);
    double yield = law->yield_strain;
    if (law->yield) {
        out->volume = exp(3.0 * mean);
        law->yield->strain(law->yield->self, law->part, 1, &out->volume, &out->norm, &yield);
    }
    double excess = out->norm - yield;
    out->plastic = excess > 0.0;
    out->ratio = yield / out->norm;
    if (out->plastic) {
        for (int k = 0; k < 3; k++) {
            out->stretch[k] = exp(e[k] - excess / out->norm * out->dev[k]);
        }
    }
}

/* 2 mu (F - R) F^T + lambda J (J - 1) I with the rotation R of the trial state. */
void mpm_material_stress(const mpm_material *law, const mpm_svd *svd, const double f_new[9], double stress[9])
{
    double r[9], diff[9];
    mat3_mult(svd->u, svd->v, r);
    for (int i = 0; i < 9; i++) {
        diff[i] = f_new[i] - r[i];
    }
    mat3_mult(diff, f_new, stress);
    double j = mat3_det(f_new);
    double pressure = law->lambda * j * (j - 1.0);
    for (int i = 0; i < 9; i++) {
        stress[i] = 2.0 * law->mu * stress[i] + (i % 4 == 0 ? pressure : 0.0);
    }
}

void mpm_material_update(const mpm_material *law, const double a[9], const mpm_svd *svd, double f_new[9],
                         double stress[9])
{
    return_map map;
    map_back(law, svd->s, &map);
    if (map.plastic) {
        mat3_compose(svd->u, map.stretch, svd->v, f_new);
    } else {
        memcpy(f_new, a, 9 * sizeof(double));
    }
    mpm_material_stress(law, svd, f_new, stress);
}

/* The polar factor jumps where si = -sj. */
double mpm_inverse_sum(double si, double sj)
{
    double sum = si + sj;
    return 1.0 / (sum > 1e-6 ? sum : 1e-6);
}

/* Adds the polar factor R = U V^T to the middle matrix X of A_bar = U X V^T; m = U^T R_bar V. */
static void add_polar(const double s[3], const double m[9], double x[9])
{
    for (int i = 0; i < 3; i++) {
        for (int j = i + 1; j < 3; j++) {
            double spin = (m[3 * i + j] - m[3 * j + i]) * mpm_inverse_sum(s[i], s[j]);
            x[3 * i + j] += spin;
            x[3 * j + i] -= spin;
        }
    }
}

/* Adjoint of the singular values for m_kk, the adjoint of the returned ones. */
static void stretch_adjoint(const mpm_material *law, const return_map *map, const double s[3],
                            const double m[9], double s_bar[3])
{
    double z[3];
    for (int k = 0; k < 3; k++) {
        z[k] = m[4 * k] * map->stretch[k];
    }
    double along = vec3_dot(map->dev, z) / (map->norm * map->norm);
    double h_bar[3];
    for (int k = 0; k < 3; k++) {
        h_bar[k] = map->ratio * (z[k] - map->dev[k] * along);
    }
    double shift = (z[0] + z[1] + z[2] - h_bar[0] - h_bar[1] - h_bar[2]) / 3.0;
    if (law->yield) {
        double yield_bar = along * map->norm, volume_bar, norm_bar;
        law->yield->adjoint(law->yield->self, law->part, 1, &map->volume, &map->norm, &yield_bar, &volume_bar,
                            &norm_bar);
        for (int k = 0; k < 3; k++) {
            h_bar[k] += norm_bar * map->dev[k] / map->norm;
        }
        shift += volume_bar * map->volume;
    }
    for (int k = 0; k < 3; k++) {
        s_bar[k] = s[k] > mpm_min_stretch ? (h_bar[k] + shift) / s[k] : 0.0;
    }
}

/* Off the diagonal the derivative of an isotropic function has a symmetric part with the divided
 * difference of f and an antisymmetric part with (fi + fj) / (si + sj). */
void mpm_add_spectral(const double s[3], const double f[3], double ratio, const double m[9], double x[9])
{
    for (int i = 0; i < 3; i++) {
        for (int j = i + 1; j < 3; j++) {
            double ds = s[i] - s[j];
            double b = (f[i] + f[j]) * mpm_inverse_sum(s[i], s[j]);
            double a;
            if (fabs(ds) >= 1e-6) {
                a = (f[i] - f[j]) / ds;
            } else {
                a = s[i] > mpm_min_stretch || s[j] > mpm_min_stretch ? ratio * b : 0.0;
            }
            double mij = m[3 * i + j], mji = m[3 * j + i];
            x[3 * i + j] += 0.5 * ((a + b) * mij + (a - b) * mji);
            x[3 * j + i] += 0.5 * ((a + b) * mji + (a - b) * mij);
        }
    }
}

/* Adds F_new = U diag(f(s)) V^T to X; m = U^T F_bar V. */
static void add_returned(const mpm_material *law, const return_map *map, const double s[3], const double m[9],
                         double x[9])
{
    double s_bar[3];
    stretch_adjoint(law, map, s, m, s_bar);
    for (int i = 0; i < 3; i++) {
        x[4 * i] += s_bar[i];
    }
    mpm_add_spectral(s, map->stretch, map->ratio, m, x);
}

/* The same through adjoints of U, s and V, as PlasticineLab does. */
static void clamped_adjoint(const mpm_material *law, const mpm_svd *svd, const return_map *map,
                            const double f_bar[9], const double r_bar[9], double a_bar[9])
{
    double u_bar[9], v_bar[9], s_bar[3] = {0.0, 0.0, 0.0}, t[9], m[9];
    mat3_mul(r_bar, svd->v, u_bar);
    mat3_tmul(r_bar, svd->u, v_bar);
    if (map->plastic) {
        mat3_mul(f_bar, svd->v, t);
        mat3_tmul(svd->u, t, m);
        stretch_adjoint(law, map, svd->s, m, s_bar);
        for (int i = 0; i < 9; i++) {
            u_bar[i] += t[i] * map->stretch[i % 3];
        }
        mat3_tmul(f_bar, svd->u, t);
        for (int i = 0; i < 9; i++) {
            v_bar[i] += t[i] * map->stretch[i % 3];
        }
        memset(a_bar, 0, 9 * sizeof(double));
    } else {
        memcpy(a_bar, f_bar, 9 * sizeof(double));
    }
    mpm_svd3_adjoint_clamped(svd, u_bar, s_bar, v_bar, a_bar);
}

/* Adds the adjoints of the constants. diff: F - R; sf: stress_bar F; total: adjoint of F, stress included.
 * The returned stretches are exp(e - (norm - yield) dev / norm). */
static void add_constants(const mpm_material *law, const mpm_svd *svd, const return_map *map,
                          const double diff[9], const double sf[9], const double total[9], double lambda_bar)
{
    double *bar = law->bar + (size_t)MPM_CONSTANTS * law->part, t[9], m[9], sum = 0.0;
    for (int i = 0; i < 9; i++) {
        sum += 2.0 * diff[i] * sf[i];
    }
    bar[MPM_BAR_MODULUS] += sum;
    bar[MPM_BAR_LAMBDA] += lambda_bar;
    if (map->plastic) {
        mat3_mul(total, svd->v, t);
        mat3_tmul(svd->u, t, m);
        for (int k = 0; k < 3; k++) {
            bar[MPM_BAR_YIELD] += m[4 * k] * map->stretch[k] * map->dev[k] / map->norm;
        }
    }
}

void mpm_material_adjoint(const mpm_material *law, const mpm_svd *svd, const double f_new[9],
                          const double f_bar[9], const double stress_bar[9], double a_bar[9])
{
    return_map map;
    map_back(law, svd->s, &map);

    /* stress = 2 mu (F - R) F^T + lambda J (J - 1) I */
    double r[9], diff[9], sf[9], sd[9], cof[9], total[9], r_bar[9];
    mat3_mult(svd->u, svd->v, r);
    for (int i = 0; i < 9; i++) {
        diff[i] = f_new[i] - r[i];
    }
    mat3_mul(stress_bar, f_new, sf);
    mat3_tmul(stress_bar, diff, sd);
    mat3_cofactor(f_new, cof);
    double j = f_new[0] * cof[0] + f_new[1] * cof[1] + f_new[2] * cof[2];
    double volume = law->lambda * (2.0 * j - 1.0) * (stress_bar[0] + stress_bar[4] + stress_bar[8]);
    for (int i = 0; i < 9; i++) {
        total[i] = f_bar[i] + 2.0 * law->mu * (sf[i] + sd[i]) + volume * cof[i];
        r_bar[i] = -2.0 * law->mu * sf[i];
    }
    if (law->bar) {
        add_constants(law, svd, &map, diff, sf, total,
                      j * (j - 1.0) * (stress_bar[0] + stress_bar[4] + stress_bar[8]));
    }
    if (law->clamped_svd) {
        clamped_adjoint(law, svd, &map, total, r_bar, a_bar);
        return;
    }

    double x[9] = {0.0}, t[9], m[9];
    mat3_mul(r_bar, svd->v, t);
    mat3_tmul(svd->u, t, m);
    add_polar(svd->s, m, x);
    if (map.plastic) {
        mat3_mul(total, svd->v, t);
        mat3_tmul(svd->u, t, m);
        add_returned(law, &map, svd->s, m, x);
    }
    mat3_mul(svd->u, x, t);
    mat3_mult(t, svd->v, a_bar);
    if (!map.plastic) {
        for (int i = 0; i < 9; i++) {
            a_bar[i] += total[i];
        }
    }
}
