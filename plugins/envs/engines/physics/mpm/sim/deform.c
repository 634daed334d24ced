/* SPDX-License-Identifier: Apache-2.0 */
/* deform.c - the elastic solid and syrup, and the choice among all laws. */
#include "engines/physics/mpm/sim/deform.h"

#include "engines/kit/algebra/mat3.h"
#include "engines/physics/mpm/sim/sand.h"

#include <stdbool.h>

/* of the elastic solid, inside its logarithm */
static const double least_volume = 0.05;
static const double syrup_compressed = 0.6, syrup_loose = 1.05; /* limits of J */

/* 1 + dt C */
static void velocity_step(double dt, const double c[9], double step[9])
{
    for (int i = 0; i < 9; i++) {
        step[i] = dt * c[i];
    }
    step[0] += 1.0;
    step[4] += 1.0;
    step[8] += 1.0;
}

static double trace(const double m[9])
{
    return m[0] + m[4] + m[8];
}

/* ---- elastic ---- */

static void elastic_stress(const mpm_material *law, const double f[9], double stress[9])
{
    double j = mat3_det(f);
    double pressure = law->modulus * (log(j > least_volume ? j : least_volume) - 1.0);
    mat3_mult(f, f, stress);
    for (int i = 0; i < 9; i++) {
        stress[i] = law->modulus * stress[i] + (i % 4 == 0 ? pressure : 0.0);
    }
}

/* Adds to f_bar. */
static void elastic_stress_adjoint(const mpm_material *law, const double f[9], const double stress_bar[9],
                                   double f_bar[9])
{
    double left[9], right[9], cof[9];
    mat3_mul(stress_bar, f, left);
    mat3_tmul(stress_bar, f, right);
    mat3_cofactor(f, cof);
    double j = f[0] * cof[0] + f[1] * cof[1] + f[2] * cof[2];
    double volume = j > least_volume ? law->modulus * trace(stress_bar) / j : 0.0;
    for (int i = 0; i < 9; i++) {
        f_bar[i] += law->modulus * (left[i] + right[i]) + volume * cof[i];
    }
    if (law->bar) {
        double sum = (log(j > least_volume ? j : least_volume) - 1.0) * trace(stress_bar);
        for (int i = 0; i < 9; i++) {
            sum += left[i] * f[i];
        }
        law->bar[(size_t)MPM_CONSTANTS * law->part + MPM_BAR_MODULUS] += sum;
    }
}

/* ---- syrup ---- */

/* J of the next frame; *free: whether it is within its limits. */
static double syrup_volume(double dt, const double c[9], double j, bool *free)
{
    double next = j * (1.0 + dt * trace(c));
    *free = next > syrup_compressed && next < syrup_loose;
    return clamp(next, syrup_compressed, syrup_loose);
}

static void syrup_stress(const mpm_material *law, const double c[9], double j, double stress[9])
{
    for (int r = 0; r < 3; r++) {
        for (int k = 0; k < 3; k++) {
            stress[3 * r + k] =
                law->viscosity * (c[3 * r + k] + c[3 * k + r]) + (r == k ? law->modulus * (j - 1.0) : 0.0);
        }
    }
}

static void syrup_adjoint(const mpm_material *law, double dt, const double c[9], double j,
                          const double stress_bar[9], double f_bar[9], double c_bar[9])
{
    bool free;
    double next = syrup_volume(dt, c, j, &free);
    if (law->bar) {
        double *bar = law->bar + (size_t)MPM_CONSTANTS * law->part;
        bar[MPM_BAR_MODULUS] += (next - 1.0) * trace(stress_bar);
        for (int i = 0; i < 9; i++) {
            bar[MPM_BAR_VISCOSITY] += stress_bar[i] * (c[i] + c[i % 3 * 3 + i / 3]);
        }
    }
    double next_bar = free ? f_bar[0] + law->modulus * trace(stress_bar) : 0.0;
    for (int r = 0; r < 3; r++) {
        for (int k = 0; k < 3; k++) {
            c_bar[3 * r + k] = law->viscosity * (stress_bar[3 * r + k] + stress_bar[3 * k + r]) +
                               (r == k ? next_bar * j * dt : 0.0);
        }
    }
    memset(f_bar, 0, 9 * sizeof(double));
    f_bar[0] = next_bar * (1.0 + dt * trace(c));
}

/* ---- all laws ---- */

void mpm_law_update(const mpm_material *law, const double a[9], const mpm_svd *svd, double f_new[9],
                    double stress[9])
{
    if (law->law == MPM_SAND) {
        mpm_sand_update(law, a, svd, f_new, stress);
    } else {
        mpm_material_update(law, a, svd, f_new, stress);
    }
}

void mpm_law_adjoint(const mpm_material *law, const mpm_svd *svd, const double f_new[9],
                     const double f_bar[9], const double stress_bar[9], double a_bar[9])
{
    if (law->law == MPM_SAND) {
        mpm_sand_adjoint(law, svd, f_bar, stress_bar, a_bar);
    } else {
        mpm_material_adjoint(law, svd, f_new, f_bar, stress_bar, a_bar);
    }
}

void mpm_deform(const mpm_material *law, double dt, const double c[9], const double f[9], mpm_svd *svd,
                double f_new[9], double stress[9])
{
    double step[9], a[9];
    bool free;
    if (law->law == MPM_SYRUP) {
        double j = syrup_volume(dt, c, f[0], &free);
        mat3_identity(f_new);
        f_new[0] = j;
        syrup_stress(law, c, j, stress);
        return;
    }
    velocity_step(dt, c, step);
    mat3_mul(step, f, a);
    if (law->law == MPM_ELASTIC) {
        memcpy(f_new, a, sizeof a);
        elastic_stress(law, a, stress);
        return;
    }
    mpm_svd3(a, svd);
    mpm_law_update(law, a, svd, f_new, stress);
}

void mpm_deform_stress(const mpm_material *law, const double c[9], const mpm_svd *svd, const double f_new[9],
                       double stress[9])
{
    if (law->law == MPM_SAND) {
        double unused[9];
        mpm_sand_update(law, f_new, svd, unused, stress);
    } else if (law->law == MPM_SYRUP) {
        syrup_stress(law, c, f_new[0], stress);
    } else if (law->law == MPM_ELASTIC) {
        elastic_stress(law, f_new, stress);
    } else {
        mpm_material_stress(law, svd, f_new, stress);
    }
}

void mpm_deform_adjoint(const mpm_material *law, double dt, const double c[9], const double f[9],
                        const mpm_svd *svd, const double f_new[9], const double stress_bar[9],
                        double f_bar[9], double c_bar[9])
{
    double step[9], a_bar[9];
    if (law->law == MPM_SYRUP) {
        syrup_adjoint(law, dt, c, f[0], stress_bar, f_bar, c_bar);
        return;
    }
    if (law->law == MPM_ELASTIC) {
        memcpy(a_bar, f_bar, sizeof a_bar);
        elastic_stress_adjoint(law, f_new, stress_bar, a_bar);
    } else {
        mpm_law_adjoint(law, svd, f_new, f_bar, stress_bar, a_bar);
    }
    velocity_step(dt, c, step);
    mat3_mult(a_bar, f, c_bar);
    for (int i = 0; i < 9; i++) {
        c_bar[i] *= dt;
    }
    mat3_tmul(step, a_bar, f_bar);
}
