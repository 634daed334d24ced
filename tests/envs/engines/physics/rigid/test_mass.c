/* SPDX-License-Identifier: Apache-2.0 */
/* test_mass.c - mass properties of rigid bodies against closed forms, and their derivatives against central
 * differences. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <math.h>

#include "differences.h"
#include "engines/physics/rigid/body.h"

static void near(double value, double want, double tolerance)
{
    if (!(fabs(value - want) <= tolerance)) {
        fail_msg("%.15g, expected %.15g", value, want);
    }
}

/* ---- derivatives ---- */

enum { POINTS = 5 };

static rigid_mass weight; /* the loss is its product with the result */

static double product(const rigid_mass *m)
{
    return differences_dot(13, &weight.mass, &m->mass);
}

static void random_weight(void)
{
    differences_random(5, 13, &weight.mass);
    for (int i = 0; i < 9; i++) { /* derivatives by an inertia are symmetric */
        weight.inertia[i] = weight.inertia[3 * (i % 3) + i / 3];
    }
}

static double loss_of_points(void *self, const double *x)
{
    rigid_mass m;
    (void)self;
    rigid_mass_points(POINTS, x, x + POINTS, &m);
    return product(&m);
}

static void derivatives_of_points(void **state)
{
    (void)state;
    double x[4 * POINTS], grad[4 * POINTS] = {0}, dot[4 * POINTS];
    rigid_mass along;
    random_weight();
    differences_random(6, 4 * POINTS, x);
    differences_random(7, 4 * POINTS, dot);
    for (int i = 0; i < POINTS; i++) {
        x[i] += 1.5;
    }
    rigid_mass_points_adjoint(POINTS, x, x + POINTS, &weight, grad, grad + POINTS);
    differences d = {.name = "points",
                     .n = 4 * POINTS,
                     .x = x,
                     .grad = grad,
                     .loss = loss_of_points,
                     .step = 1e-3,
                     .tolerance = 1e-8};
    assert_int_equal(differences_check(&d, NULL), 0);
    rigid_mass_points_tangent(POINTS, x, x + POINTS, dot, dot + POINTS, &along);
    near(product(&along), differences_dot(4 * POINTS, grad, dot), 1e-12);
}

static void box_and_density(void **state)
{
    (void)state;
    const double half[3] = {0.2, 0.3, 0.7};
    rigid_mass unit, other;
    random_weight();
    rigid_mass_box(1, half, &unit);
    rigid_mass_box(3, half, &other);
    near(unit.mass, 8 * 0.2 * 0.3 * 0.7, 1e-15);
    near(unit.inertia[4], unit.mass / 3 * (0.2 * 0.2 + 0.7 * 0.7), 1e-15);
    near(rigid_mass_density_adjoint(&unit, &weight), (product(&other) - product(&unit)) / 2, 1e-14);
}

/* ---- points in the world ---- */

static double world_weight[3 * POINTS];

/* x: position, quaternion, centre, points. */
static double loss_of_place(void *self, const double *x)
{
    double world[3 * POINTS];
    (void)self;
    rigid_place(x, x + 3, x + 7, POINTS, x + 10, world);
    return differences_dot(3 * POINTS, world, world_weight);
}

static void derivatives_of_places(void **state)
{
    (void)state;
    enum { N = 10 + 3 * POINTS };
    double x[N], grad[N] = {0}, dot[N], out[3 * POINTS];
    differences_random(10, N, x);
    differences_random(11, N, dot);
    differences_random(12, 3 * POINTS, world_weight);
    rigid_place_adjoint(x + 3, x + 7, POINTS, x + 10, world_weight, grad, grad + 3, grad + 7, grad + 10);
    differences d = {.name = "places",
                     .n = N,
                     .x = x,
                     .grad = grad,
                     .loss = loss_of_place,
                     .step = 1e-3,
                     .tolerance = 1e-8};
    assert_int_equal(differences_check(&d, NULL), 0);
    rigid_place_tangent(x + 3, x + 7, POINTS, x + 10, dot, dot + 3, dot + 7, dot + 10, out);
    near(differences_dot(3 * POINTS, out, world_weight), differences_dot(N, grad, dot), 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(derivatives_of_points),
        cmocka_unit_test(box_and_density),
        cmocka_unit_test(derivatives_of_places),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
