/* SPDX-License-Identifier: Apache-2.0 */
/* Fixed corotated stress and von Mises return mapping. The adjoint treats both as isotropic tensor
 * functions with divided differences in the singular values, so it is exact also where singular values
 * coincide (F = I). */
#include "material.h"

#include "engines/kit/algebra/mat3.h"

#include <stdbool.h>

/* Singular values below this one count as this one in the logarithmic strain. */
static const double min_stretch = 0.05;
/* Keeps the norm of the deviatoric strain differentiable at zero strain. */
static const double strain_eps = 1e-8;

typedef struct return_map {
    bool plastic;
    double dev[3];     /* deviatoric logarithmic strain of the trial state */
    double norm;       /* its regularised norm */
    double ratio;      /* yield strain / norm: factor on dev */
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
        e[k] = log(s[k] > min_stretch ? s[k] : min_stretch);
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

/* 1 / (si + sj), limited where a reflected matrix has si near -sj: the polar factor jumps there. */
static double inverse_sum(double si, double sj)
{
    double sum = si + sj;
    return 1.0 / (sum > 1e-6 ? sum : 1e-6);
}

/* Adds the polar factor R = U V^T to the middle matrix X of A_bar = U X V^T; m = U^T R_bar V. */
static void add_polar(const double s[3], const double m[9], double x[9])
{
    for (int i = 0; i < 3; i++) {
        for (int j = i + 1; j < 3; j++) {
            double spin = (m[3 * i + j] - m[3 * j + i]) * inverse_sum(s[i], s[j]);
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
        s_bar[k] = s[k] > min_stretch ? (h_bar[k] + shift) / s[k] : 0.0;
    }
}

/* Adds F_new = U diag(f(s)) V^T to X; m = U^T F_bar V. The off-diagonal part is the derivative of an
 * isotropic function: symmetric part with the divided difference of f, antisymmetric part with (fi + fj) /
 * (si + sj). */
static void add_returned(const mpm_material *law, const return_map *map, const double s[3], const double m[9],
                         double x[9])
{
    double s_bar[3];
    stretch_adjoint(law, map, s, m, s_bar);
    const double *f = map->stretch;
    for (int i = 0; i < 3; i++) {
        x[4 * i] += s_bar[i];
        for (int j = i + 1; j < 3; j++) {
            double ds = s[i] - s[j];
            double b = (f[i] + f[j]) * inverse_sum(s[i], s[j]);
            double a;
            if (fabs(ds) >= 1e-6) {
                a = (f[i] - f[j]) / ds;
            } else {
                a = s[i] > min_stretch || s[j] > min_stretch ? map->ratio * b : 0.0;
            }
            double mij = m[3 * i + j], mji = m[3 * j + i];
            x[3 * i + j] += 0.5 * ((a + b) * mij + (a - b) * mji);
            x[3 * j + i] += 0.5 * ((a + b) * mji + (a - b) * mij);
        }
    }
}

/* The same through adjoints of U, s and V, as the original does. */
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
