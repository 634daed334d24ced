/* SPDX-License-Identifier: Apache-2.0 */
/* sand.c - sand that flows by the criterion of Drucker and Prager (Klar et al., Drucker-Prager
 * elastoplasticity for sand animation, SIGGRAPH 2016), without their correction of the volume. With the
 * logarithmic strain e = log s of the singular values, t = tr e, n = |dev e|:
 *     t >= 0          grains come apart: s = 1, without stress
 *     n <= -cone t    elastic
 *     else            dev e shrinks to the length -cone t, at the same volume
 *     stress = U (2 mu dev e + (lambda + 2/3 mu) t) U^T        Kirchhoff, by Hencky's energy
 * with cone = (3 lambda + 2 mu) / (2 mu) alpha and alpha = sqrt(2/3) 2 sin(phi) / (3 - sin(phi)) for the
 * angle phi of friction. The derivatives have kinks at t = 0 and where flow begins; there they are those
 * of the branch that was taken. */
#include "engines/physics/mpm/sim/sand.h"

#include "engines/kit/algebra/mat3.h"

#include <stdbool.h>

static const double degree = 3.14159265358979323846 / 180.0;
/* Keeps n differentiable at zero shear. Sand is stiff, so this is far below what plasticine takes. */
static const double shear_eps = 1e-20;

double mpm_sand_alpha(double friction_angle, double *slope)
{
    const double factor = 2.0 * sqrt(2.0 / 3.0), s = sin(degree * friction_angle), rest = 3.0 - s;
    *slope = factor * 3.0 / (rest * rest) * cos(degree * friction_angle) * degree;
    return factor * s / rest;
}

mpm_material mpm_sand_make(double youngs_modulus, double poisson_ratio, double friction_angle)
{
    double slope;
    mpm_material law = mpm_material_make(youngs_modulus, poisson_ratio, 0.0);
    law.law = MPM_SAND;
    law.cone = (3.0 * law.lambda + 2.0 * law.mu) / (2.0 * law.mu) * mpm_sand_alpha(friction_angle, &slope);
    return law;
}

typedef struct sand_state {
    bool pressed, flows;
    double dev[3], trace, norm; /* of the trial strain; the regularised norm */
    double ratio;               /* of dev e after to before */
    double stretch[3];          /* singular values after */
} sand_state;

static void sand_map(const mpm_material *law, const double s[3], sand_state *out)
{
    double e[3];
    out->trace = 0.0;
    for (int k = 0; k < 3; k++) {
        e[k] = log(s[k] > mpm_min_stretch ? s[k] : mpm_min_stretch);
        out->trace += e[k];
    }
    for (int k = 0; k < 3; k++) {
        out->dev[k] = e[k] - out->trace / 3.0;
    }
    out->norm = sqrt(vec3_dot(out->dev, out->dev) + shear_eps);
    out->pressed = out->trace < 0.0;
    out->flows = out->pressed && -law->cone * out->trace < out->norm;
    out->ratio = out->flows ? -law->cone * out->trace / out->norm : out->pressed ? 1.0 : 0.0;
    for (int k = 0; k < 3; k++) {
        out->stretch[k] = out->pressed ? exp(out->ratio * out->dev[k] + out->trace / 3.0) : 1.0;
    }
}

static double bulk_modulus(const mpm_material *law)
{
    return law->lambda + 2.0 / 3.0 * law->mu;
}

void mpm_sand_update(const mpm_material *law, const double a[9], const mpm_svd *svd, double f_new[9],
                     double stress[9])
{
    sand_state map;
    double value[3] = {0.0};
    sand_map(law, svd->s, &map);
    if (map.pressed && !map.flows) {
        memmove(f_new, a, 9 * sizeof *f_new);
    } else {
        mat3_compose(svd->u, map.stretch, svd->v, f_new);
    }
    for (int k = 0; k < 3 && map.pressed; k++) {
        value[k] = 2.0 * law->mu * map.ratio * map.dev[k] + bulk_modulus(law) * map.trace;
    }
    mat3_compose(svd->u, value, svd->u, stress);
}

/* Adds U diag(stress) U^T to the off-diagonal part of X; w = U^T stress_bar U. */
static void add_stress(const mpm_material *law, const sand_state *map, const double s[3], const double w[9],
                       double x[9])
{
    for (int i = 0; i < 3; i++) {
        for (int j = i + 1; j < 3; j++) {
            const double ds = s[j] - s[i];
            double rise = 0.0; /* of dev e */
            if (fabs(ds) >= 1e-6) {
                rise = (map->dev[j] - map->dev[i]) / ds;
            } else if (s[i] > mpm_min_stretch) {
                rise = 1.0 / s[i];
            }
            const double c = 2.0 * law->mu * map->ratio * rise * mpm_inverse_sum(s[i], s[j]) *
                             (w[3 * i + j] + w[3 * j + i]);
            x[3 * i + j] += c * s[j];
            x[3 * j + i] += c * s[i];
        }
    }
}

/* The diagonal of X, and the adjoints of the constants. m = U^T F_bar V. */
static void add_diagonal(const mpm_material *law, const sand_state *map, const double s[3], const double m[9],
                         const double w[9], double x[9])
{
    const bool flows = map->flows;
    double q_bar[3], dev_bar[3], trace_bar = 0.0, ratio_bar = 0.0, mean = 0.0, work = 0.0, pressure = 0.0;
    for (int k = 0; k < 3; k++) {
        const double stretched = flows ? m[4 * k] * map->stretch[k] : 0.0;
        q_bar[k] = stretched + 2.0 * law->mu * w[4 * k];
        trace_bar += stretched / 3.0 + bulk_modulus(law) * w[4 * k];
        ratio_bar += flows ? q_bar[k] * map->dev[k] : 0.0;
        work += map->ratio * map->dev[k] * w[4 * k];
        pressure += map->trace * w[4 * k];
    }
    trace_bar -= ratio_bar * law->cone / map->norm;
    for (int k = 0; k < 3; k++) {
        dev_bar[k] = map->ratio * q_bar[k] - ratio_bar * map->ratio * map->dev[k] / (map->norm * map->norm);
        mean += dev_bar[k] / 3.0;
    }
    for (int k = 0; k < 3; k++) {
        x[4 * k] += s[k] > mpm_min_stretch ? (dev_bar[k] - mean + trace_bar) / s[k] : 0.0;
    }
    if (law->bar) {
        double *bar = law->bar + (size_t)MPM_CONSTANTS * law->part;
        bar[MPM_BAR_MODULUS] += 2.0 * work + 2.0 / 3.0 * pressure;
        bar[MPM_BAR_LAMBDA] += pressure;
        bar[MPM_BAR_CONE] -= ratio_bar * map->trace / map->norm;
    }
}

void mpm_sand_adjoint(const mpm_material *law, const mpm_svd *svd, const double f_bar[9],
                      const double stress_bar[9], double a_bar[9])
{
    sand_state map;
    double x[9] = {0.0}, t[9], m[9], w[9];
    sand_map(law, svd->s, &map);
    mat3_mul(f_bar, svd->v, t);
    mat3_tmul(svd->u, t, m);
    mat3_mul(stress_bar, svd->u, t);
    mat3_tmul(svd->u, t, w);
    if (map.flows || !map.pressed) {
        mpm_add_spectral(svd->s, map.stretch, map.ratio, m, x);
    }
    if (map.pressed) {
        add_stress(law, &map, svd->s, w, x);
        add_diagonal(law, &map, svd->s, m, w, x);
    }
    mat3_mul(svd->u, x, t);
    mat3_mult(t, svd->v, a_bar);
    for (int i = 0; map.pressed && !map.flows && i < 9; i++) {
        a_bar[i] += f_bar[i];
    }
}
