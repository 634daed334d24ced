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
#include "engines/kit/algebra/quaternion.h"
#include "engines/physics/rigid/body.h"

static const double pi = 3.14159265358979323846;
static const uint32_t cube_corner[36] = {0, 6, 4, 0, 2, 6, 0, 3, 2, 0, 1, 3, 2, 7, 6, 2, 3, 7,
                                         4, 6, 7, 4, 7, 5, 0, 4, 5, 0, 5, 1, 1, 5, 7, 1, 7, 3};

static void near(double value, double want, double tolerance)
{
    if (!(fabs(value - want) <= tolerance)) {
        fail_msg("%.15g, expected %.15g", value, want);
    }
}

static void near_all(size_t n, const double *value, const double *want, double tolerance)
{
    for (size_t i = 0; i < n; i++) {
        near(value[i], want[i], tolerance);
    }
}

/* A box mesh of these sides with one corner at `at`. */
static void box_mesh(const double side[3], const double at[3], double out[24])
{
    for (int i = 0; i < 8; i++) {
        const int bit[3] = {i >> 2 & 1, i >> 1 & 1, i & 1};
        for (int k = 0; k < 3; k++) {
            out[3 * i + k] = at[k] + bit[k] * side[k];
        }
    }
}

static void closed_forms(void **state)
{
    (void)state;
    rigid_mass m, ball;
    double mesh[24];
    box_mesh((double[3]){1, 1, 1}, (double[3]){3, -2, 7}, mesh);
    assert_true(rigid_mass_mesh(1, 8, mesh, 12, cube_corner, &m));
    near(m.mass, 1, 1e-13);
    near_all(3, m.centre, (double[3]){3.5, -1.5, 7.5}, 1e-12);
    near_all(9, m.inertia, (double[9]){1 / 6.0, 0, 0, 0, 1 / 6.0, 0, 0, 0, 1 / 6.0}, 1e-13);
    rigid_mass_sphere(2, 0.5, &ball);
    near(ball.mass, pi / 3, 1e-14);
    near(ball.inertia[4], 0.1 * pi / 3, 1e-14);
    rigid_mass_capsule(2, 0.5, 0, &m);
    near_all(9, m.inertia, ball.inertia, 1e-14);
    near(m.mass, ball.mass, 1e-14);
    assert_false(rigid_mass_mesh(1, 8, mesh, 0, cube_corner, &m));
}

/* Triangles turned inside out enclose a negative volume. */
static void inside_out(void **state)
{
    (void)state;
    uint32_t corner[36];
    double mesh[24];
    rigid_mass m;
    for (int i = 0; i < 36; i++) {
        corner[i] = cube_corner[i / 3 * 3 + 2 - i % 3];
    }
    box_mesh((double[3]){1, 2, 3}, (double[3]){0}, mesh);
    assert_false(rigid_mass_mesh(1, 8, mesh, 12, corner, &m));
}

/* A long box is the same as a mesh, as two halves, and as those turned and shifted. */
static void joined_parts(void **state)
{
    (void)state;
    const double half[3] = {1, 0.3, 0.2}, quarter[3] = {0.5, 0.3, 0.2}, none[4] = {1, 0, 0, 0};
    double q[4] = {0.4, -0.2, 0.7, 0.1}, mesh[24];
    rigid_mass whole, part, halves[2], joined, placed;
    rigid_mass_box(3, half, &whole);
    box_mesh((double[3]){2, 0.6, 0.4}, (double[3]){-1, -0.3, -0.2}, mesh);
    assert_true(rigid_mass_mesh(3, 8, mesh, 12, cube_corner, &joined));
    near_all(13, &joined.mass, &whole.mass, 1e-13);
    rigid_mass_box(3, quarter, &part);
    rigid_mass_place(&part, none, (double[3]){-0.5, 0, 0}, &halves[0]);
    rigid_mass_place(&part, none, (double[3]){0.5, 0, 0}, &halves[1]);
    rigid_mass_join(2, halves, &joined);
    near_all(13, &joined.mass, &whole.mass, 1e-13);
    quat_normalise(q);
    rigid_mass_place(&whole, q, (double[3]){1, 2, 3}, &placed);
    for (int i = 0; i < 2; i++) {
        rigid_mass_place(&halves[i], q, (double[3]){1, 2, 3}, &halves[i]);
    }
    rigid_mass_join(2, halves, &joined);
    near_all(13, &joined.mass, &placed.mass, 1e-12);
}

/* ---- derivatives ---- */

enum { PARTS = 3, POINTS = 5 };

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

static double loss_of_parts(void *self, const double *x)
{
    rigid_mass part[PARTS], m;
    (void)self;
    memcpy(part, x, sizeof part);
    rigid_mass_join(PARTS, part, &m);
    return product(&m);
}

static void derivatives_of_parts(void **state)
{
    (void)state;
    double x[13 * PARTS];
    rigid_mass part[PARTS], bar[PARTS];
    random_weight();
    differences_random(8, 13 * PARTS, x);
    for (int i = 0; i < PARTS; i++) {
        x[13 * i] += 2;
    }
    memcpy(part, x, sizeof part);
    memset(bar, 0, sizeof bar);
    rigid_mass_join_adjoint(PARTS, part, &weight, bar);
    differences d = {.name = "parts",
                     .n = 13 * PARTS,
                     .x = x,
                     .grad = &bar[0].mass,
                     .loss = loss_of_parts,
                     .step = 1e-3,
                     .tolerance = 1e-8};
    assert_int_equal(differences_check(&d, NULL), 0);
}

/* A part that is turned and shifted: the adjoint is the transpose of the linear map that the pose is. */
static void pose_of_a_part(void **state)
{
    (void)state;
    double q[4] = {0.4, -0.2, 0.7, 0.1}, a[13], b[13];
    rigid_mass part, placed, part_bar;
    quat_normalise(q);
    random_weight();
    differences_random(9, 13, a);
    memcpy(&part, a, sizeof part);
    rigid_mass_place(&part, q, (double[3]){0}, &placed);
    rigid_mass_place_adjoint(q, &weight, &part_bar);
    memcpy(b, &part_bar, sizeof b);
    near(product(&placed), differences_dot(13, a, b), 1e-13);
}

static void density(void **state)
{
    (void)state;
    rigid_mass unit, other;
    random_weight();
    rigid_mass_capsule(1, 0.2, 0.7, &unit);
    rigid_mass_capsule(3, 0.2, 0.7, &other);
    near(rigid_mass_density_adjoint(&unit, &weight), (product(&other) - product(&unit)) / 2, 1e-14);
}

/* ---- where points are ---- */

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
        cmocka_unit_test(closed_forms),
        cmocka_unit_test(inside_out),
        cmocka_unit_test(joined_parts),
        cmocka_unit_test(derivatives_of_points),
        cmocka_unit_test(derivatives_of_parts),
        cmocka_unit_test(pose_of_a_part),
        cmocka_unit_test(density),
        cmocka_unit_test(derivatives_of_places),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
