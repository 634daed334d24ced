/* SPDX-License-Identifier: Apache-2.0 */
/* test_momentum.c - rigid bodies by their momenta: a recorded motion, invariants, adjoint and tangent
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
#include "engines/kit/algebra/quaternion.h"
#include "engines/physics/rigid/body.h"
#include "engines/physics/rigid/momentum.h"

enum { POINTS = 8 };
static const uint32_t two[] = {0, 1}, lowest[] = {5};

static void near(double value, double want, double tolerance)
{
    if (!(fabs(value - want) <= tolerance)) {
        fail_msg("%.10g, expected %.10g", value, want);
    }
}

static void cube(double p[3 * POINTS])
{
    const double half = 1 / sqrt(3);
    for (int i = 0; i < POINTS; i++) {
        p[3 * i] = i & 4 ? half : -half;
        p[3 * i + 1] = i & 2 ? half : -half;
        p[3 * i + 2] = i & 1 ? half : -half;
    }
}

/* The body of point masses at `vertex`, and `point`, the same about its centre. */
static void body_of(const double *mass, const double *vertex, momentum_body *b, double *point)
{
    rigid_mass m;
    rigid_mass_points(POINTS, mass, vertex, &m);
    b->mass = m.mass;
    memcpy(b->inertia, m.inertia, sizeof b->inertia);
    for (int i = 0; i < 3 * POINTS; i++) {
        point[i] = vertex[i] - m.centre[i % 3];
    }
}

static const momentum_rules push = {
    .h = 1.0 / 30, .forces = 1, .list = {{.count = 2, .vertex = two, .end = UINT64_MAX}}};

/* The scene of gradSim's landscape of a mass: 10 N down on two vertices of a cube, 20 steps. */
static void recorded_motion(void **state)
{
    (void)state;
    ds_memory room = {0};
    momentum *r = momentum_create(&room, POINTS, 20);
    double mass[POINTS], vertex[3 * POINTS], point[3 * POINTS], v[3], omega[3];
    momentum_body b = {.force = {{0, -10, 0}}};
    momentum_rules rules = push;
    const momentum_state start = {.q = {1, 0, 0, 0}};
    for (int i = 0; i < POINTS; i++) {
        mass[i] = 1;
    }
    rules.parity = 1;
    cube(vertex);
    body_of(mass, vertex, &b, point);
    assert_int_equal(momentum_simulate(r, &rules, &b, POINTS, point, &start, 20), -1);
    const momentum_state *end = momentum_at(r, 20);
    momentum_velocity(&b, end, v, omega);
    near(end->x[1], -0.583333, 5e-7);
    near(end->q[0], 0.97399, 1.5e-5);
    near(end->q[3], 0.22653, 1.5e-5);
    near(omega[2], 1.44338, 5e-6);
    ds_memory_free(&room);
}

/* The same with levers that turn with the body, against the motion in the plane: a step turns the unit
 * quaternion by atan(h omega / 2), half the angle. */
static void turning_levers(void **state)
{
    (void)state;
    ds_memory room = {0};
    momentum *r = momentum_create(&room, POINTS, 20);
    double mass[POINTS], vertex[3 * POINTS], point[3 * POINTS], v[3], omega[3], angle = 0, rate = 0;
    momentum_body b = {.force = {{0, -10, 0}}};
    const momentum_state start = {.q = {3, 0, 0, 0}};
    for (int i = 0; i < POINTS; i++) {
        mass[i] = 2;
    }
    cube(vertex);
    body_of(mass, vertex, &b, point);
    momentum_simulate(r, &push, &b, POINTS, point, &start, 20);
    for (uint64_t t = 1; t <= 20; t++) {
        double turned = angle + 2 * atan(push.h * rate / 2), arm = (sin(angle) - cos(angle)) / sqrt(3);
        rate += push.h * 2 * arm * -10 / (2 * 16.0 / 3);
        angle = turned;
        momentum_velocity(&b, momentum_at(r, t), v, omega);
        near(omega[2], rate, 1e-13);
        near(2 * atan2(momentum_at(r, t)->q[3], momentum_at(r, t)->q[0]), angle, 1e-13);
    }
    ds_memory_free(&room);
}

/* ---- invariants ---- */

/* An elastic bounce of a ball-like body (one vertex below its centre) reverses its speed and creates no
 * momentum along the ground. */
static void impulses(void **state)
{
    (void)state;
    ds_memory room = {0};
    momentum *r = momentum_create(&room, 1, 960);
    const double point[3] = {0, -1, 0};
    momentum_body b = {.mass = 2, .inertia = {1, 0, 0, 0, 1, 0, 0, 0, 1}, .restitution = 1};
    const momentum_rules rules = {.h = 1.0 / 960, .impulses = 1, .threshold = 0.1, .slowest = 0.01};
    const momentum_state start = {.x = {0, 1.5, 0}, .q = {1, 0, 0, 0}, .P = {1, -2, 0}};
    assert_int_equal(momentum_simulate(r, &rules, &b, 1, point, &start, 960), -1);
    near(momentum_at(r, 960)->P[1], 2, 1e-12);
    near(momentum_at(r, 960)->P[0], 1, 1e-12);
    near(momentum_at(r, 960)->L[2], 0, 1e-12);
    b.restitution = 0.5;
    momentum_simulate(r, &rules, &b, 1, point, &start, 960);
    near(momentum_at(r, 960)->P[1], 1, 1e-12);
    ds_memory_free(&room);
}

/* A vertex hit off the centre separates with e times the speed of approach; an elastic impulse keeps the
 * energy. */
static void impulse_off_centre(void **state)
{
    (void)state;
    ds_memory room = {0};
    momentum *r = momentum_create(&room, 1, 1);
    const double point[3] = {0.4, -1, 0.3};
    momentum_body b = {.mass = 2, .inertia = {1, 0.1, 0, 0.1, 2, 0.2, 0, 0.2, 1.5}, .restitution = 1};
    const momentum_rules rules = {.h = 1e-9, .impulses = 1, .threshold = 0.1, .slowest = 0.01};
    momentum_state start = {.x = {0, 0.5, 0}, .q = {0.9, 0.1, 0.2, 0.3}};
    quat_normalise(start.q);
    momentum_set(&b, (double[3]){1, -2, 0.5}, (double[3]){0.3, 0.2, -0.4}, &start);
    momentum_simulate(r, &rules, &b, 1, point, &start, 1);
    double energy[2], v[3], omega[3];
    for (uint64_t t = 0; t < 2; t++) {
        const momentum_state *s = momentum_at(r, t);
        momentum_velocity(&b, s, v, omega);
        energy[t] = differences_dot(3, s->P, v) + differences_dot(3, s->L, omega);
    }
    assert_true(momentum_at(r, 1)->P[1] > start.P[1] + 1);
    near(energy[1], energy[0], 1e-8 * energy[0]);
    ds_memory_free(&room);
}

/* ---- derivatives ---- */

/* Masses, vertices, restitution, forces, start with velocities instead of momenta. */
enum { FORCES = 3, AT_E = 4 * POINTS, AT_FORCE = AT_E + 1, AT_START = AT_FORCE + 3 * MOMENTUM_FORCES };
enum { NUMBERS = AT_START + MOMENTUM_STATE_NUMBERS, FRAMES = 2 };

typedef struct problem {
    momentum *r;
    momentum_rules rules;
    uint64_t steps;
    double weight[FRAMES][MOMENTUM_STATE_NUMBERS];
    momentum_body body;
    momentum_state start;
} problem;

static double loss_of(void *self, const double *x)
{
    problem *p = self;
    double point[3 * POINTS], sum = 0;
    body_of(x, x + POINTS, &p->body, point);
    p->body.restitution = x[AT_E];
    memcpy(p->body.force, x + AT_FORCE, sizeof p->body.force);
    memcpy(&p->start, x + AT_START, sizeof p->start);
    double norm = quat_normalise(p->start.q);
    momentum_set(&p->body, x + AT_START + 7, x + AT_START + 10, &p->start);
    for (int k = 0; k < 4; k++) {
        p->start.q[k] *= norm;
    }
    assert_int_equal(momentum_simulate(p->r, &p->rules, &p->body, POINTS, point, &p->start, p->steps), -1);
    for (int k = 0; k < FRAMES; k++) {
        const momentum_state *s = momentum_at(p->r, p->steps * (uint64_t)(k + 1) / FRAMES);
        sum += differences_dot(MOMENTUM_STATE_NUMBERS, p->weight[k], s->x);
    }
    return sum;
}

static uint64_t branches_of(void *self)
{
    return momentum_branches(((problem *)self)->r);
}

/* From derivatives by body and points to those by masses and vertices. */
static void reverse_body(const double *x, const momentum_body *bar, const double *point_bar, double *grad)
{
    rigid_mass m_bar = {.mass = bar->mass};
    memcpy(m_bar.inertia, bar->inertia, sizeof m_bar.inertia);
    for (int i = 0; i < 3 * POINTS; i++) {
        m_bar.centre[i % 3] -= point_bar[i];
        grad[POINTS + i] += point_bar[i];
    }
    rigid_mass_points_adjoint(POINTS, x, x + POINTS, &m_bar, grad, grad + POINTS);
}

static void gradient_of(problem *p, const double *x, double grad[NUMBERS])
{
    momentum_body body_bar = {0};
    momentum_state bar = {.x = {0}};
    double point_bar[3 * POINTS] = {0}, *number = bar.x;
    loss_of(p, x);
    memset(grad, 0, NUMBERS * sizeof *grad);
    for (uint64_t k = FRAMES; k-- > 0;) {
        for (int i = 0; i < MOMENTUM_STATE_NUMBERS; i++) {
            number[i] += p->weight[k][i];
        }
        assert_true(momentum_adjoint(p->r, p->steps * k / FRAMES, p->steps * (k + 1) / FRAMES, &bar,
                                     &body_bar, point_bar));
    }
    momentum_state set_bar = {.x = {0}};
    double unit[4], norm;
    memcpy(unit, p->start.q, sizeof unit);
    norm = quat_normalise(unit);
    memcpy(set_bar.P, bar.P, sizeof set_bar.P);
    memcpy(set_bar.L, bar.L, sizeof set_bar.L);
    momentum_set_adjoint(&p->body, x + AT_START + 7, x + AT_START + 10, unit, &set_bar, &body_bar,
                         grad + AT_START + 7, grad + AT_START + 10);
    quat_normalise_adjoint(unit, norm, set_bar.q, set_bar.q);
    for (int k = 0; k < 4; k++) {
        grad[AT_START + 3 + k] = bar.q[k] + set_bar.q[k];
    }
    memcpy(grad + AT_START, bar.x, sizeof bar.x);
    grad[AT_E] = body_bar.restitution;
    memcpy(grad + AT_FORCE, body_bar.force, sizeof body_bar.force);
    reverse_body(x, &body_bar, point_bar, grad);
}

/* w . (J v) = (J' w) . v for random directions of all inputs of the roll-out. */
static void check_tangent(problem *p, const double *x, uint64_t seed)
{
    momentum_body body_dot, body_bar = {0};
    momentum_state dot, bar;
    double point_dot[3 * POINTS], point_bar[3 * POINTS] = {0};
    loss_of(p, x);
    differences_random(seed, MOMENTUM_BODY_NUMBERS, &body_dot.mass);
    differences_random(seed + 1, MOMENTUM_STATE_NUMBERS, dot.x);
    differences_random(seed + 2, 3 * POINTS, point_dot);
    for (int i = 0; i < 9; i++) {
        body_dot.inertia[i] = body_dot.inertia[3 * (i % 3) + i / 3];
    }
    const momentum_state direction = dot;
    memcpy(&bar, p->weight[0], sizeof bar);
    assert_true(momentum_tangent(p->r, 0, p->steps, &dot, &body_dot, point_dot));
    double forward = differences_dot(MOMENTUM_STATE_NUMBERS, p->weight[0], dot.x);
    assert_true(momentum_adjoint(p->r, 0, p->steps, &bar, &body_bar, point_bar));
    double reverse = differences_dot(MOMENTUM_BODY_NUMBERS, &body_bar.mass, &body_dot.mass) +
                     differences_dot(MOMENTUM_STATE_NUMBERS, bar.x, direction.x) +
                     differences_dot(3 * POINTS, point_bar, point_dot);
    near(forward, reverse, 1e-9 * fmax(1, fabs(reverse)));
}

static void check_derivatives(const char *name, uint64_t seed, int parity, int contact)
{
    ds_memory room = {0};
    const uint64_t steps = contact ? 960 : 60;
    problem p = {.r = momentum_create(&room, POINTS, steps), .steps = steps};
    double x[NUMBERS], grad[NUMBERS];
    size_t switched = 0;
    p.rules = (momentum_rules){.h = contact ? 1.0 / 960 : 1.0 / 30,
                               .forces = FORCES,
                               .parity = parity,
                               .impulses = contact,
                               .threshold = 0.1,
                               .slowest = 0.01,
                               .list = {{.count = 1, .vertex = lowest, .end = 4},
                                        {.end = UINT64_MAX},
                                        {.count = 2, .vertex = two, .first = 3, .end = UINT64_MAX}}};
    differences_random(seed, NUMBERS, x);
    for (int i = 0; i < POINTS; i++) {
        x[i] = 1 + 0.5 * x[i];
    }
    double vertex[3 * POINTS];
    cube(vertex);
    for (int i = 0; i < 3 * POINTS; i++) {
        x[POINTS + i] = vertex[i] + 0.1 * x[POINTS + i];
    }
    x[AT_E] = 0.6;
    x[AT_FORCE + 4] = -3; /* down, on every vertex */
    x[AT_START + 1] = contact ? 1.5 : 0;
    x[AT_START + 3] += 1.5;
    differences_random(seed + 100, FRAMES * MOMENTUM_STATE_NUMBERS, p.weight[0]);
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
        assert_true(grad[AT_E] != 0);
    }
    check_tangent(&p, x, seed + 300);
    ds_memory_free(&room);
}

static void smooth_derivatives(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 2; seed++) {
        check_derivatives("forces", seed, 0, 0);
        check_derivatives("forces, parity", seed, 1, 0);
    }
}

static void impulse_derivatives(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        check_derivatives("impulses", seed, 0, 1);
    }
}

static void divergence(void **state)
{
    (void)state;
    ds_memory room = {0};
    momentum *r = momentum_create(&room, POINTS, 20);
    double vertex[3 * POINTS];
    momentum_body b = {.mass = 0, .force = {{0, -10, 0}}};
    const momentum_state start = {.q = {1, 0, 0, 0}};
    cube(vertex);
    assert_int_equal(momentum_simulate(r, &push, &b, POINTS, vertex, &start, 20), 0);
    assert_int_equal(momentum_steps(r), 0);
    ds_memory_free(&room);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recorded_motion),    cmocka_unit_test(turning_levers),
        cmocka_unit_test(impulses),           cmocka_unit_test(impulse_off_centre),
        cmocka_unit_test(smooth_derivatives), cmocka_unit_test(impulse_derivatives),
        cmocka_unit_test(divergence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
