/* SPDX-License-Identifier: Apache-2.0 */
/* Elastic solid and syrup of the material point engine: closed forms, limits, and the adjoint against
 * differences. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engines/physics/mpm/sim/material.h"
#include "engines/kit/algebra/mat3.h"
#include "mpm_random.h"
#include "mpm_support.h"

#include <string.h>

static const double dt = 1e-3;
static const mpm_material elastic = {.law = MPM_ELASTIC, .modulus = 50.0};
static const mpm_material syrup = {.law = MPM_SYRUP, .modulus = 25.0, .viscosity = 0.005};

static void step(const mpm_material *law, const double c[9], const double f[9], double f_new[9],
                 double stress[9])
{
    mpm_svd svd;
    double again[9];
    mpm_deform(law, dt, c, f, &svd, f_new, stress);
    mpm_deform_stress(law, c, &svd, f_new, again);
    assert_memory_equal(stress, again, sizeof again);
}

static void test_elastic(void **state)
{
    (void)state;
    double still[9] = {0.0}, f[9], f_new[9], stress[9];
    mat3_identity(f);
    step(&elastic, still, f, f_new, stress);
    for (int i = 0; i < 9; i++) {
        assert_true(stress[i] == 0.0 && f_new[i] == f[i]);
    }
    /* stretched along the axes: mu (s^2 - 1 + ln J) */
    f[0] = 1.2;
    f[4] = 0.9;
    step(&elastic, still, f, f_new, stress);
    mpm_expect(stress[0], 50.0 * (1.44 - 1.0 + log(1.08)), 1e-12, "x");
    mpm_expect(stress[4], 50.0 * (0.81 - 1.0 + log(1.08)), 1e-12, "y");
    mpm_expect(stress[8], 50.0 * log(1.08), 1e-12, "z");
    /* crushed beyond 0.05, and inside out: the logarithm stays that of 0.05 */
    for (int side = -1; side <= 1; side += 2) {
        mat3_identity(f);
        f[0] = side * 0.02;
        step(&elastic, still, f, f_new, stress);
        mpm_expect(stress[4], 50.0 * log(0.05), 1e-12, "crushed");
    }
    /* a turn of the deformed body turns its stress */
    const double turn[9] = {0.8, -0.6, 0.0, 0.6, 0.8, 0.0, 0.0, 0.0, 1.0};
    double turned[9], other[9], t[9];
    random_numbers(f, 9, 0.1);
    f[0] += 1.0;
    f[4] += 1.0;
    f[8] += 1.0;
    mat3_mul(turn, f, turned);
    step(&elastic, still, f, f_new, stress);
    step(&elastic, still, turned, f_new, other);
    mat3_mul(turn, stress, t);
    mat3_mult(t, turn, stress);
    assert_true(mpm_relative(other, stress, 9) < 1e-13);
}

static void test_syrup(void **state)
{
    (void)state;
    const double flow[9] = {3.0, 1.0, 0.0, 0.5, -2.0, 4.0, 0.0, -1.0, 9.0};
    double f[9], f_new[9], stress[9];
    mat3_identity(f);
    f[0] = 0.9;
    step(&syrup, flow, f, f_new, stress);
    double j = 0.9 * (1.0 + dt * 10.0);
    mpm_expect(f_new[0], j, 1e-15, "J");
    mpm_expect(mat3_det(f_new), j, 1e-15, "det F");
    mpm_expect(stress[0], 25.0 * (j - 1.0) + 0.005 * 6.0, 1e-13, "pressure and friction");
    mpm_expect(stress[1], 0.005 * 1.5, 1e-15, "shear");
    mpm_expect(stress[5], 0.005 * 3.0, 1e-15, "shear");
    assert_true(stress[1] == stress[3] && stress[2] == stress[6] && stress[5] == stress[7]);
    /* limits */
    f[0] = 1.045;
    step(&syrup, flow, f, f_new, stress);
    assert_true(f_new[0] == 1.05);
    const double crush[9] = {-200.0, 0.0, 0.0, 0.0, -200.0, 0.0, 0.0, 0.0, 0.0};
    f[0] = 0.7;
    step(&syrup, crush, f, f_new, stress);
    assert_true(f_new[0] == 0.6);
}

static double value(const mpm_material *law, const double c[9], const double f[9], const double f_bar[9],
                    const double stress_bar[9])
{
    double f_new[9], stress[9];
    step(law, c, f, f_new, stress);
    return dot(f_bar, f_new, 9) + dot(stress_bar, stress, 9);
}

static void check_adjoint(const mpm_material *law, const double c[9], const double f[9], const char *label)
{
    double f_new[9], stress[9], f_bar[9], stress_bar[9], bar[18], start[9], dc[9], df[9], q[2], h = 1e-6;
    mpm_svd svd;
    random_numbers(f_bar, 9, law->modulus);
    random_numbers(stress_bar, 9, 1.0);
    random_numbers(dc, 9, 100.0);
    random_numbers(df, 9, 1.0);
    memcpy(start, f_bar, sizeof start);
    mpm_deform(law, dt, c, f, &svd, f_new, stress);
    mpm_deform_adjoint(law, dt, c, f, &svd, f_new, stress_bar, f_bar, bar);
    for (int side = 0; side < 2; side++) {
        double cm[9], fm[9];
        for (int i = 0; i < 9; i++) {
            cm[i] = c[i] + (side ? -h : h) * dc[i];
            fm[i] = f[i] + (side ? -h : h) * df[i];
        }
        q[side] = value(law, cm, fm, start, stress_bar);
    }
    double scale =
        sqrt(dot(f_bar, f_bar, 9) * dot(df, df, 9)) + sqrt(dot(bar, bar, 9) * dot(dc, dc, 9)) + 1e-3;
    mpm_expect(dot(f_bar, df, 9) + dot(bar, dc, 9), (q[0] - q[1]) / (2.0 * h), 1e-7 * scale, "%s", label);
}

static void test_adjoints(void **state)
{
    (void)state;
    for (int k = 0; k < 300; k++) {
        double c[9], f[9];
        random_numbers(c, 9, 50.0);
        random_numbers(f, 9, k % 3 == 0 ? 0.5 : 0.1);
        f[0] += 1.0;
        f[4] += 1.0;
        f[8] += 1.0;
        if (k % 10 == 9) {
            f[0] *= 0.03; /* beyond the limit of the logarithm */
        }
        if (fabs(mat3_det(f) - 0.05) > 0.02) {
            check_adjoint(&elastic, c, f, "elastic");
        }
        mat3_identity(f);
        f[0] = uniform(0.5, 1.2); /* free, and beyond both limits */
        double next = f[0] * (1.0 + dt * (c[0] + c[4] + c[8]));
        if (fabs(next - 0.6) > 1e-3 && fabs(next - 1.05) > 1e-3) {
            check_adjoint(&syrup, c, f, "syrup");
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_elastic, reseed),
        cmocka_unit_test_setup(test_syrup, reseed),
        cmocka_unit_test_setup(test_adjoints, reseed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
