/* SPDX-License-Identifier: Apache-2.0 */
/* test_rigid.c - rigid bodies with compliant contact: recorded motions, invariants, adjoint and tangent
 * against central differences along whole roll-outs, divergence. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <math.h>

#include "differences.h"
#include "engines/kit/algebra/mat3.h"
#include "engines/kit/algebra/quaternion.h"
#include "engines/physics/rigid/body.h"
#include "engines/physics/rigid/rigid.h"

static const double pi = 3.14159265358979323846;
static const double step = 1.0 / 960;
enum { POINTS = 8 };

static void near(double value, double want, double tolerance)
{
    if (!(fabs(value - want) <= tolerance)) {
        fail_msg("%.10g, expected %.10g", value, want);
    }
}

/* The cube with vertices at distance 1, density 5, 4 m above ground, turned by 0.3 pi about z. */
static void cube(rigid_body *b, rigid_point point[POINTS], rigid_state *start)
{
    const double half = 1 / sqrt(3);
    rigid_mass m;
    rigid_mass_box(5, (double[3]){half, half, half}, &m);
    rigid_points_box((double[3]){half, half, half}, point);
    *b = (rigid_body){.mass = m.mass, .gravity = {0, -9.8, 0}, .ke = 4900, .kd = 15};
    memcpy(b->inertia, m.inertia, sizeof b->inertia);
    *start = (rigid_state){.x = {0, 4, 0}, .q = {cos(0.15 * pi), 0, 0, sin(0.15 * pi)}};
}

static const rigid_state *after(const rigid *r, double seconds)
{
    return rigid_at(r, (uint64_t)lround(seconds / step));
}

/* Two motions of the scene of gradSim's study of contact parameters, recorded from another program. */
static void recorded_motions(void **state)
{
    (void)state;
    ds_memory room = {0};
    rigid *r = rigid_create(&room, POINTS, 1920);
    rigid_body b;
    rigid_point point[POINTS];
    rigid_state start;
    cube(&b, point, &start);
    b.kf = 990;
    b.mu = 0.77;
    start.v[1] = 2;
    assert_int_equal(rigid_simulate(r, &b, POINTS, point, &start, step, 1920), -1);
    near(after(r, 0.2)->x[1], 4.20298, 5e-6);
    near(after(r, 1)->x[1], 1.09490, 5e-6);
    near(after(r, 1)->v[1], -7.8, 5e-6);
    near(after(r, 1.2)->x[0], -0.26789, 5e-6);
    near(after(r, 1.2)->x[1], 1.29278, 5e-6);
    near(after(r, 1.2)->omega[2], 2.8944, 5e-5);
    near(after(r, 2)->x[0], -2.07696, 5e-6);
    near(after(r, 2)->x[1], 3.14296, 5e-6);
    b.kf = 50;
    b.mu = 0.3;
    start.v[0] = 2;
    start.v[1] = 0;
    assert_int_equal(rigid_simulate(r, &b, POINTS, point, &start, step, 1920), -1);
    near(after(r, 0.8)->x[1], 0.85992, 5e-6);
    near(after(r, 1)->x[0], 1.68926, 5e-6);
    near(after(r, 1)->x[1], 1.46030, 5e-6);
    near(after(r, 1)->v[0], -0.0928, 5e-5);
    near(after(r, 1)->v[1], 5.8088, 5e-5);
    near(after(r, 1)->omega[2], 2.5326, 5e-5);
    near(after(r, 2)->x[0], 1.59651, 5e-6);
    near(after(r, 2)->x[1], 2.36396, 5e-6);
    ds_memory_free(&room);
}

/* ---- invariants ---- */

static void free_fall(void **state)
{
    (void)state;
    enum { STEPS = 100 };
    ds_memory room = {0};
    rigid *r = rigid_create(&room, POINTS, STEPS);
    rigid_body b, body_bar = {0};
    rigid_point point[POINTS];
    rigid_state start, bar = {.x = {0, 1, 0}};
    cube(&b, point, &start);
    start.x[1] = 100;
    rigid_simulate(r, &b, POINTS, point, &start, step, STEPS);
    near(rigid_at(r, STEPS)->v[1], -9.8 * STEPS * step, 1e-13);
    near(rigid_at(r, STEPS)->x[1] - 100, -9.8 * step * step * STEPS * (STEPS + 1) / 2, 1e-12);
    assert_true(rigid_adjoint(r, 0, STEPS, &bar, &body_bar, NULL));
    near(bar.v[1], STEPS * step, 1e-14);
    near(body_bar.gravity[1], step * step * STEPS * (STEPS + 1) / 2, 1e-14);
    ds_memory_free(&room);
}

/* Change of angular momentum and energy of a box that turns freely for 1 s, by |L| and the energy; the
 * length of its quaternion at the end, less 1. */
static void free_turn(uint64_t steps, double out[3])
{
    ds_memory room = {0};
    rigid *r = rigid_create(&room, POINTS, steps);
    rigid_mass m;
    rigid_point point[1] = {{.at = {0}}};
    rigid_mass_box(1, (double[3]){0.5, 0.3, 0.1}, &m);
    rigid_body b = {.mass = m.mass};
    memcpy(b.inertia, m.inertia, sizeof b.inertia);
    rigid_state start = {.q = {2, 0, 0, 0}, .omega = {1, 3, 0.5}};
    assert_int_equal(rigid_simulate(r, &b, 0, point, &start, 1 / (double)steps, steps), -1);
    double size[2], energy[2];
    for (int i = 0; i < 2; i++) {
        const rigid_state *s = rigid_at(r, i ? steps : 0);
        double R[9], W[3], L[3];
        quat_matrix(s->q, R);
        mat3_tapply(R, s->omega, W);
        mat3_apply(b.inertia, W, L);
        size[i] = sqrt(vec3_dot(L, L));
        energy[i] = vec3_dot(L, W) / 2;
    }
    const double *q = rigid_at(r, steps)->q;
    out[0] = size[1] / size[0] - 1;
    out[1] = energy[1] / energy[0] - 1;
    out[2] = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]) - 1;
    ds_memory_free(&room);
}

/* With the gyroscopic term conserved quantities drift with the first power of the step. */
static void free_rotation(void **state)
{
    (void)state;
    double coarse[3], fine[3];
    free_turn(4000, coarse);
    free_turn(8000, fine);
    for (int i = 0; i < 2; i++) {
        if (!(fabs(coarse[i]) < 1e-2 && coarse[i] / fine[i] > 1.9 && coarse[i] / fine[i] < 2.1)) {
            fail_msg("drift %d: %g, %g with half the step", i, coarse[i], fine[i]);
        }
    }
    near(fine[2], 0, 1e-12);
}

/* A ball at rest sinks until the ground carries it; two joined ones sink half as deep. */
static void rest(void **state)
{
    (void)state;
    ds_memory room = {0};
    rigid *r = rigid_create(&room, POINTS, 9600);
    rigid_mass m;
    const rigid_point one[1] = {{.radius = 0.5}}, two[2] = {{{-0.5, 0, 0}, 0.5}, {{0.5, 0, 0}, 0.5}};
    rigid_mass_box(10, (double[3]){0.5, 0.5, 0.5}, &m);
    rigid_body b = {.mass = m.mass, .gravity = {0, -9.8, 0}, .ke = 1e4, .kd = 500, .kf = 100, .mu = 0.5};
    memcpy(b.inertia, m.inertia, sizeof b.inertia);
    rigid_state start = {.x = {0, 0.55, 0}, .q = {1, 0, 0, 0}};
    assert_int_equal(rigid_simulate(r, &b, 1, one, &start, step, 9600), -1);
    near(rigid_at(r, 9600)->x[1], 0.5 - m.mass * 9.8 / 1e4, 1e-6);
    assert_int_equal(rigid_simulate(r, &b, 2, two, &start, step, 9600), -1);
    near(rigid_at(r, 9600)->x[1], 0.5 - m.mass * 9.8 / 2e4, 1e-6);
    ds_memory_free(&room);
}

/* ---- derivatives ---- */

/* All inputs of a roll-out as numbers, and a loss of three of its frames. */
enum { NUMBERS = RIGID_BODY_NUMBERS + RIGID_STATE_NUMBERS + 4 * POINTS, FRAMES = 3 };

typedef struct problem {
    rigid *r;
    uint64_t steps;
    double weight[FRAMES][RIGID_STATE_NUMBERS];
} problem;

static void symmetrise(double I[9])
{
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < i; j++) {
            I[3 * i + j] = I[3 * j + i] = (I[3 * i + j] + I[3 * j + i]) / 2;
        }
    }
}

static uint64_t frame(const problem *p, int k)
{
    return p->steps * (uint64_t)(k + 1) / FRAMES;
}

static void unpack(const double *x, rigid_body *b, rigid_state *start, rigid_point point[POINTS])
{
    memcpy(b, x, sizeof *b);
    memcpy(start, x + RIGID_BODY_NUMBERS, sizeof *start);
    memcpy(point, x + RIGID_BODY_NUMBERS + RIGID_STATE_NUMBERS, POINTS * sizeof *point);
}

static double loss_of(void *self, const double *x)
{
    problem *p = self;
    rigid_body b;
    rigid_state start;
    rigid_point point[POINTS];
    double sum = 0;
    unpack(x, &b, &start, point);
    symmetrise(b.inertia);
    assert_int_equal(rigid_simulate(p->r, &b, POINTS, point, &start, step, p->steps), -1);
    for (int k = 0; k < FRAMES; k++) {
        sum += differences_dot(RIGID_STATE_NUMBERS, p->weight[k], rigid_at(p->r, frame(p, k))->x);
    }
    return sum;
}

static uint64_t branches_of(void *self)
{
    return rigid_branches(((problem *)self)->r);
}

static void gradient_of(problem *p, const double *x, double grad[NUMBERS])
{
    rigid_body body_bar = {0};
    rigid_state bar = {.x = {0}};
    rigid_point point_bar[POINTS] = {{.at = {0}}};
    loss_of(p, x);
    for (int k = FRAMES; k-- > 0;) {
        double *number = bar.x;
        for (int i = 0; i < RIGID_STATE_NUMBERS; i++) {
            number[i] += p->weight[k][i];
        }
        assert_true(
            rigid_adjoint(p->r, k > 0 ? frame(p, k - 1) : 0, frame(p, k), &bar, &body_bar, point_bar));
    }
    memcpy(grad, &body_bar, sizeof body_bar);
    memcpy(grad + RIGID_BODY_NUMBERS, &bar, sizeof bar);
    memcpy(grad + RIGID_BODY_NUMBERS + RIGID_STATE_NUMBERS, point_bar, sizeof point_bar);
}

/* The derivative of the loss along `dot`. */
static double along(problem *p, const double *x, const double *direction)
{
    rigid_body body_dot;
    rigid_state dot;
    rigid_point point_dot[POINTS];
    double sum = 0;
    loss_of(p, x);
    unpack(direction, &body_dot, &dot, point_dot);
    symmetrise(body_dot.inertia);
    for (int k = 0; k < FRAMES; k++) {
        uint64_t from = k > 0 ? frame(p, k - 1) : 0;
        assert_true(rigid_tangent(p->r, from, frame(p, k), &dot, &body_dot, point_dot));
        sum += differences_dot(RIGID_STATE_NUMBERS, p->weight[k], dot.x);
    }
    return sum;
}

static void random_start(uint64_t seed, double height, double x[NUMBERS])
{
    double noise[NUMBERS];
    rigid_body b;
    rigid_state start;
    rigid_point point[POINTS];
    cube(&b, point, &start);
    b.kf = 60;
    b.mu = 0.4;
    b.force[0] = 3;
    b.torque[1] = -2;
    memcpy(x, &b, sizeof b);
    memcpy(x + RIGID_BODY_NUMBERS, &start, sizeof start);
    memcpy(x + RIGID_BODY_NUMBERS + RIGID_STATE_NUMBERS, point, sizeof point);
    differences_random(seed, NUMBERS, noise);
    for (int i = 0; i < NUMBERS; i++) {
        double size = i < RIGID_BODY_NUMBERS ? 0.2 : i < RIGID_BODY_NUMBERS + RIGID_STATE_NUMBERS ? 1 : 0.05;
        x[i] += size * noise[i] * (i >= RIGID_BODY_NUMBERS ? 1 : fmax(fabs(x[i]), 0.1));
    }
    x[RIGID_BODY_NUMBERS + 1] = height;
    symmetrise(x + offsetof(rigid_body, inertia) / sizeof(double));
}

static void check_derivatives(const char *name, uint64_t seed, double height, uint64_t steps, int contact)
{
    ds_memory room = {0};
    problem p = {.r = rigid_create(&room, POINTS, steps), .steps = steps};
    double x[NUMBERS], grad[NUMBERS], direction[NUMBERS];
    size_t switched = 0;
    random_start(seed, height, x);
    differences_random(seed + 100, FRAMES * RIGID_STATE_NUMBERS, p.weight[0]);
    differences_random(seed + 200, NUMBERS, direction);
    gradient_of(&p, x, grad);
    differences d = {.name = name,
                     .n = NUMBERS,
                     .x = x,
                     .grad = grad,
                     .loss = loss_of,
                     .self = &p,
                     .branches = contact ? branches_of : NULL,
                     .step = contact ? 1e-7 : 3e-4,
                     .tolerance = contact ? 1e-3 : 1e-6};
    assert_int_equal(differences_check(&d, &switched), 0);
    if (contact) {
        print_message("%s, seed %u: %zu of %d components disagree across a switch\n", name, (unsigned)seed,
                      switched, NUMBERS);
        assert_true(switched <= NUMBERS / 4);
        for (size_t i = offsetof(rigid_body, ke) / sizeof(double); i < RIGID_BODY_NUMBERS; i++) {
            assert_true(grad[i] != 0); /* it does touch, sticks and slides */
        }
    }
    double forward = along(&p, x, direction), reverse = differences_dot(NUMBERS, grad, direction);
    near(forward, reverse, 1e-9 * fmax(1, fabs(reverse)));
    ds_memory_free(&room);
}

static void smooth_derivatives(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        check_derivatives("free", seed, 50, 480, 0);
    }
}

static void contact_derivatives(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        check_derivatives("contact", seed, 1.5, 1920, 1);
    }
}

/* ---- divergence ---- */

static void divergence(void **state)
{
    (void)state;
    ds_memory room = {0};
    rigid *r = rigid_create(&room, POINTS, 4000);
    rigid_body b;
    rigid_point point[POINTS];
    rigid_state start;
    cube(&b, point, &start);
    b.inertia[0] *= 2; /* an explicit gyroscopic term grows with the square of such a spin */
    b.inertia[4] *= 3;
    start.omega[0] = start.omega[1] = start.omega[2] = 1e4;
    int64_t bad = rigid_simulate(r, &b, POINTS, point, &start, step, 4000);
    assert_true(bad > 0 && bad < 4000);
    assert_int_equal(rigid_steps(r), bad);
    const double *last = rigid_at(r, (uint64_t)bad)->x;
    for (int i = 0; i < RIGID_STATE_NUMBERS; i++) {
        assert_true(isfinite(last[i]));
    }
    cube(&b, point, &start);
    b.mass = 0;
    assert_int_equal(rigid_simulate(r, &b, POINTS, point, &start, step, 10), 0);
    ds_memory_free(&room);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recorded_motions),   cmocka_unit_test(free_fall),
        cmocka_unit_test(free_rotation),      cmocka_unit_test(rest),
        cmocka_unit_test(smooth_derivatives), cmocka_unit_test(contact_derivatives),
        cmocka_unit_test(divergence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
