/* SPDX-License-Identifier: Apache-2.0 */
/* test_rigid.c - rigid bodies: mass properties; motion with compliant contact and by momenta against recorded
 * motions and invariants; adjoint and tangent against central differences along whole roll-outs; divergence.
 * */
#include "differences.h"
#include "engines/kit/algebra/mat3.h"
#include "engines/kit/algebra/quaternion.h"
#include "engines/physics/rigid/body.h"
#include "engines/physics/rigid/momentum.h"
#include "engines/physics/rigid/rigid.h"
#include "test.h"

/* ---- velocities ---- */

/* Velocities of a state, and momenta from velocities at a pose with a unit quaternion. The adjoint moves the
 * derivatives by P and L out of `bar` and adds them to the derivatives by velocities, pose, mass and inertia.
 */
static void momentum_velocity(const momentum_body *body, const momentum_state *s, double v[3],
                              double omega[3])
{
    double R[9], inverse[9], L[3];
    quat_matrix(s->q, R);
    mat3_inverse_symmetric(body->inertia, inverse);
    mat3_tapply(R, s->L, L);
    mat3_apply(inverse, L, L);
    mat3_apply(R, L, omega);
    for (int k = 0; k < 3; k++) {
        v[k] = s->P[k] / body->mass;
    }
}

static void momentum_set(const momentum_body *body, const double v[3], const double omega[3],
                         momentum_state *s)
{
    double R[9], W[3];
    quat_matrix(s->q, R);
    mat3_tapply(R, omega, W);
    mat3_apply(body->inertia, W, W);
    mat3_apply(R, W, s->L);
    for (int k = 0; k < 3; k++) {
        s->P[k] = body->mass * v[k];
    }
}

static void momentum_set_adjoint(const momentum_body *body, const double v[3], const double omega[3],
                                 const double q[4], momentum_state *bar, momentum_body *body_bar,
                                 double v_bar[3], double omega_bar[3])
{
    double R[9], R_bar[9] = {0}, W[3], IW[3], IW_bar[3], W_bar[3], c[3];
    quat_matrix(q, R);
    mat3_tapply(R, omega, W);
    mat3_apply(body->inertia, W, IW);
    mat3_tapply(R, bar->L, IW_bar);
    mat3_add_outer(R_bar, 1, bar->L, IW);
    mat3_apply(body->inertia, IW_bar, W_bar);
    mat3_add_symmetric(body_bar->inertia, 1, IW_bar, W);
    mat3_apply(R, W_bar, c);
    vec3_add_scaled(omega_bar, 1, c);
    mat3_add_outer(R_bar, 1, omega, W_bar);
    quat_matrix_adjoint(q, R_bar, bar->q);
    body_bar->mass += vec3_dot(v, bar->P);
    vec3_add_scaled(v_bar, body->mass, bar->P);
    memset(bar->P, 0, sizeof bar->P);
    memset(bar->L, 0, sizeof bar->L);
}

/* ---- compliant contact ---- */

static const double pi = 3.14159265358979323846;
static const double step = 1.0 / 960;
enum { POINTS = 8 };

/* The cube with vertices at distance 1, density 5, 4 m above ground, rotated by 0.3 pi about z. */
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
    assert_near(after(r, 0.2)->x[1], 4.20298, 5e-6);
    assert_near(after(r, 1)->x[1], 1.09490, 5e-6);
    assert_near(after(r, 1)->v[1], -7.8, 5e-6);
    assert_near(after(r, 1.2)->x[0], -0.26789, 5e-6);
    assert_near(after(r, 1.2)->x[1], 1.29278, 5e-6);
    assert_near(after(r, 1.2)->omega[2], 2.8944, 5e-5);
    assert_near(after(r, 2)->x[0], -2.07696, 5e-6);
    assert_near(after(r, 2)->x[1], 3.14296, 5e-6);
    b.kf = 50;
    b.mu = 0.3;
    start.v[0] = 2;
    start.v[1] = 0;
    assert_int_equal(rigid_simulate(r, &b, POINTS, point, &start, step, 1920), -1);
    assert_near(after(r, 0.8)->x[1], 0.85992, 5e-6);
    assert_near(after(r, 1)->x[0], 1.68926, 5e-6);
    assert_near(after(r, 1)->x[1], 1.46030, 5e-6);
    assert_near(after(r, 1)->v[0], -0.0928, 5e-5);
    assert_near(after(r, 1)->v[1], 5.8088, 5e-5);
    assert_near(after(r, 1)->omega[2], 2.5326, 5e-5);
    assert_near(after(r, 2)->x[0], 1.59651, 5e-6);
    assert_near(after(r, 2)->x[1], 2.36396, 5e-6);
    ds_memory_free(&room);
}

/* ---- invariants ---- */

static void free_fall(void **state)
{
    enum { STEPS = 100 };
    ds_memory room = {0};
    rigid *r = rigid_create(&room, POINTS, STEPS);
    rigid_body b, body_bar = {0};
    rigid_point point[POINTS];
    rigid_state start, bar = {.x = {0, 1, 0}};
    cube(&b, point, &start);
    start.x[1] = 100;
    rigid_simulate(r, &b, POINTS, point, &start, step, STEPS);
    assert_near(rigid_at(r, STEPS)->v[1], -9.8 * STEPS * step, 1e-13);
    assert_near(rigid_at(r, STEPS)->x[1] - 100, -9.8 * step * step * STEPS * (STEPS + 1) / 2, 1e-12);
    assert_true(rigid_adjoint(r, 0, STEPS, &bar, &body_bar, NULL));
    assert_near(bar.v[1], STEPS * step, 1e-14);
    assert_near(body_bar.gravity[1], step * step * STEPS * (STEPS + 1) / 2, 1e-14);
    ds_memory_free(&room);
}

/* Relative change of angular momentum and energy of a box that rotates freely for 1 s; the length of its
 * quaternion at the end, minus 1. */
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
    double coarse[3], fine[3];
    free_turn(4000, coarse);
    free_turn(8000, fine);
    for (int i = 0; i < 2; i++) {
        if (!(fabs(coarse[i]) < 1e-2 && coarse[i] / fine[i] > 1.9 && coarse[i] / fine[i] < 2.1)) {
            fail_msg("drift %d: %g, %g with half the step", i, coarse[i], fine[i]);
        }
    }
    assert_near(fine[2], 0, 1e-12);
}

/* A ball at rest sinks until the ground carries it; two joined ones sink half as deep. */
static void rest(void **state)
{
    ds_memory room = {0};
    rigid *r = rigid_create(&room, POINTS, 9600);
    rigid_mass m;
    const rigid_point one[1] = {{.radius = 0.5}}, two[2] = {{{-0.5, 0, 0}, 0.5}, {{0.5, 0, 0}, 0.5}};
    rigid_mass_box(10, (double[3]){0.5, 0.5, 0.5}, &m);
    rigid_body b = {.mass = m.mass, .gravity = {0, -9.8, 0}, .ke = 1e4, .kd = 500, .kf = 100, .mu = 0.5};
    memcpy(b.inertia, m.inertia, sizeof b.inertia);
    rigid_state start = {.x = {0, 0.55, 0}, .q = {1, 0, 0, 0}};
    assert_int_equal(rigid_simulate(r, &b, 1, one, &start, step, 9600), -1);
    assert_near(rigid_at(r, 9600)->x[1], 0.5 - m.mass * 9.8 / 1e4, 1e-6);
    assert_int_equal(rigid_simulate(r, &b, 2, two, &start, step, 9600), -1);
    assert_near(rigid_at(r, 9600)->x[1], 0.5 - m.mass * 9.8 / 2e4, 1e-6);
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
    assert_near(forward, reverse, 1e-9 * fmax(1, fabs(reverse)));
    ds_memory_free(&room);
}

static void smooth_derivatives(void **state)
{
    for (uint64_t seed = 1; seed <= 3; seed++) {
        check_derivatives("free", seed, 50, 480, 0);
    }
}

static void contact_derivatives(void **state)
{
    for (uint64_t seed = 1; seed <= 6; seed++) {
        check_derivatives("contact", seed, 1.5, 1920, 1);
    }
}

/* ---- divergence ---- */

static void divergence(void **state)
{
    ds_memory room = {0};
    rigid *r = rigid_create(&room, POINTS, 4000);
    rigid_body b;
    rigid_point point[POINTS];
    rigid_state start;
    cube(&b, point, &start);
    b.inertia[0] *= 2; /* an explicit gyroscopic term grows with the square of this spin */
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

/* ---- momenta ---- */

enum { POINTS_momentum = 8 };
static const uint32_t two[] = {0, 1}, lowest[] = {5};

static void cube_momentum(double p[3 * POINTS_momentum])
{
    const double half = 1 / sqrt(3);
    for (int i = 0; i < POINTS_momentum; i++) {
        p[3 * i] = i & 4 ? half : -half;
        p[3 * i + 1] = i & 2 ? half : -half;
        p[3 * i + 2] = i & 1 ? half : -half;
    }
}

/* The body of point masses at `vertex`; `point` gets their positions about its centre. */
static void body_of(const double *mass, const double *vertex, momentum_body *b, double *point)
{
    rigid_mass m;
    rigid_mass_points(POINTS_momentum, mass, vertex, &m);
    b->mass = m.mass;
    memcpy(b->inertia, m.inertia, sizeof b->inertia);
    for (int i = 0; i < 3 * POINTS_momentum; i++) {
        point[i] = vertex[i] - m.centre[i % 3];
    }
}

static const momentum_rules push = {
    .h = 1.0 / 30, .forces = 1, .list = {{.count = 2, .vertex = two, .end = UINT64_MAX}}};

/* The scene of gradSim's landscape of the mass: 10 N down on two vertices of a cube, 20 steps. */
static void recorded_motion(void **state)
{
    ds_memory room = {0};
    momentum *r = momentum_create(&room, POINTS_momentum, 20);
    double mass[POINTS_momentum], vertex[3 * POINTS_momentum], point[3 * POINTS_momentum], v[3], omega[3];
    momentum_body b = {.force = {{0, -10, 0}}};
    momentum_rules rules = push;
    const momentum_state start = {.q = {1, 0, 0, 0}};
    for (int i = 0; i < POINTS_momentum; i++) {
        mass[i] = 1;
    }
    rules.parity = 1;
    cube_momentum(vertex);
    body_of(mass, vertex, &b, point);
    assert_int_equal(momentum_simulate(r, &rules, &b, POINTS_momentum, point, &start, 20), -1);
    const momentum_state *end = momentum_at(r, 20);
    momentum_velocity(&b, end, v, omega);
    assert_near(end->x[1], -0.583333, 5e-7);
    assert_near(end->q[0], 0.97399, 1.5e-5);
    assert_near(end->q[3], 0.22653, 1.5e-5);
    assert_near(omega[2], 1.44338, 5e-6);
    ds_memory_free(&room);
}

/* The same with levers that rotate with the body, against the motion in the plane: a step rotates the unit
 * quaternion by atan(h omega / 2), half the angle. */
static void turning_levers(void **state)
{
    ds_memory room = {0};
    momentum *r = momentum_create(&room, POINTS_momentum, 20);
    double mass[POINTS_momentum], vertex[3 * POINTS_momentum], point[3 * POINTS_momentum], v[3], omega[3],
        angle = 0, rate = 0;
    momentum_body b = {.force = {{0, -10, 0}}};
    const momentum_state start = {.q = {3, 0, 0, 0}};
    for (int i = 0; i < POINTS_momentum; i++) {
        mass[i] = 2;
    }
    cube_momentum(vertex);
    body_of(mass, vertex, &b, point);
    momentum_simulate(r, &push, &b, POINTS_momentum, point, &start, 20);
    for (uint64_t t = 1; t <= 20; t++) {
        double turned = angle + 2 * atan(push.h * rate / 2), arm = (sin(angle) - cos(angle)) / sqrt(3);
        rate += push.h * 2 * arm * -10 / (2 * 16.0 / 3);
        angle = turned;
        momentum_velocity(&b, momentum_at(r, t), v, omega);
        assert_near(omega[2], rate, 1e-13);
        assert_near(2 * atan2(momentum_at(r, t)->q[3], momentum_at(r, t)->q[0]), angle, 1e-13);
    }
    ds_memory_free(&room);
}

/* ---- invariants ---- */

/* An elastic bounce of a ball-like body (one vertex below its centre) reverses its speed and creates no
 * momentum along the ground. */
static void impulses(void **state)
{
    ds_memory room = {0};
    momentum *r = momentum_create(&room, 1, 960);
    const double point[3] = {0, -1, 0};
    momentum_body b = {.mass = 2, .inertia = {1, 0, 0, 0, 1, 0, 0, 0, 1}, .restitution = 1};
    const momentum_rules rules = {.h = 1.0 / 960, .impulses = 1, .threshold = 0.1, .slowest = 0.01};
    const momentum_state start = {.x = {0, 1.5, 0}, .q = {1, 0, 0, 0}, .P = {1, -2, 0}};
    assert_int_equal(momentum_simulate(r, &rules, &b, 1, point, &start, 960), -1);
    assert_near(momentum_at(r, 960)->P[1], 2, 1e-12);
    assert_near(momentum_at(r, 960)->P[0], 1, 1e-12);
    assert_near(momentum_at(r, 960)->L[2], 0, 1e-12);
    b.restitution = 0.5;
    momentum_simulate(r, &rules, &b, 1, point, &start, 960);
    assert_near(momentum_at(r, 960)->P[1], 1, 1e-12);
    ds_memory_free(&room);
}

/* A vertex hit off the centre separates with e times the speed of approach; an elastic impulse keeps the
 * energy. */
static void impulse_off_centre(void **state)
{
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
    assert_near(energy[1], energy[0], 1e-8 * energy[0]);
    ds_memory_free(&room);
}

/* ---- derivatives ---- */

/* Masses, vertices, restitution, forces; the start has velocities instead of momenta. */
enum {
    FORCES = 3,
    AT_E = 4 * POINTS_momentum,
    AT_FORCE = AT_E + 1,
    AT_START = AT_FORCE + 3 * MOMENTUM_FORCES
};
enum { NUMBERS_momentum = AT_START + MOMENTUM_STATE_NUMBERS, FRAMES_momentum = 2 };

typedef struct problem_momentum {
    momentum *r;
    momentum_rules rules;
    uint64_t steps;
    double weight[FRAMES_momentum][MOMENTUM_STATE_NUMBERS];
    momentum_body body;
    momentum_state start;
} problem_momentum;

static double loss_of_momentum(void *self, const double *x)
{
    problem_momentum *p = self;
    double point[3 * POINTS_momentum], sum = 0;
    body_of(x, x + POINTS_momentum, &p->body, point);
    p->body.restitution = x[AT_E];
    memcpy(p->body.force, x + AT_FORCE, sizeof p->body.force);
    memcpy(&p->start, x + AT_START, sizeof p->start);
    double norm = quat_normalise(p->start.q);
    momentum_set(&p->body, x + AT_START + 7, x + AT_START + 10, &p->start);
    for (int k = 0; k < 4; k++) {
        p->start.q[k] *= norm;
    }
    assert_int_equal(
        momentum_simulate(p->r, &p->rules, &p->body, POINTS_momentum, point, &p->start, p->steps), -1);
    for (int k = 0; k < FRAMES_momentum; k++) {
        const momentum_state *s = momentum_at(p->r, p->steps * (uint64_t)(k + 1) / FRAMES_momentum);
        sum += differences_dot(MOMENTUM_STATE_NUMBERS, p->weight[k], s->x);
    }
    return sum;
}

static uint64_t branches_of_momentum(void *self)
{
    return momentum_branches(((problem_momentum *)self)->r);
}

/* From derivatives by body and points to derivatives by masses and vertices. */
static void reverse_body(const double *x, const momentum_body *bar, const double *point_bar, double *grad)
{
    rigid_mass m_bar = {.mass = bar->mass};
    memcpy(m_bar.inertia, bar->inertia, sizeof m_bar.inertia);
    for (int i = 0; i < 3 * POINTS_momentum; i++) {
        m_bar.centre[i % 3] -= point_bar[i];
        grad[POINTS_momentum + i] += point_bar[i];
    }
    rigid_mass_points_adjoint(POINTS_momentum, x, x + POINTS_momentum, &m_bar, grad, grad + POINTS_momentum);
}

static void gradient_of_momentum(problem_momentum *p, const double *x, double grad[NUMBERS_momentum])
{
    momentum_body body_bar = {0};
    momentum_state bar = {.x = {0}};
    double point_bar[3 * POINTS_momentum] = {0}, *number = bar.x;
    loss_of_momentum(p, x);
    memset(grad, 0, NUMBERS_momentum * sizeof *grad);
    for (uint64_t k = FRAMES_momentum; k-- > 0;) {
        for (int i = 0; i < MOMENTUM_STATE_NUMBERS; i++) {
            number[i] += p->weight[k][i];
        }
        assert_true(momentum_adjoint(p->r, p->steps * k / FRAMES_momentum,
                                     p->steps * (k + 1) / FRAMES_momentum, &bar, &body_bar, point_bar));
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
static void check_tangent(problem_momentum *p, const double *x, uint64_t seed)
{
    momentum_body body_dot, body_bar = {0};
    momentum_state dot, bar;
    double point_dot[3 * POINTS_momentum], point_bar[3 * POINTS_momentum] = {0};
    loss_of_momentum(p, x);
    differences_random(seed, MOMENTUM_BODY_NUMBERS, &body_dot.mass);
    differences_random(seed + 1, MOMENTUM_STATE_NUMBERS, dot.x);
    differences_random(seed + 2, 3 * POINTS_momentum, point_dot);
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
                     differences_dot(3 * POINTS_momentum, point_bar, point_dot);
    assert_near(forward, reverse, 1e-9 * fmax(1, fabs(reverse)));
}

static void check_derivatives_momentum(const char *name, uint64_t seed, int parity, int contact)
{
    ds_memory room = {0};
    const uint64_t steps = contact ? 960 : 60;
    problem_momentum p = {.r = momentum_create(&room, POINTS_momentum, steps), .steps = steps};
    double x[NUMBERS_momentum], grad[NUMBERS_momentum];
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
    differences_random(seed, NUMBERS_momentum, x);
    for (int i = 0; i < POINTS_momentum; i++) {
        x[i] = 1 + 0.5 * x[i];
    }
    double vertex[3 * POINTS_momentum];
    cube_momentum(vertex);
    for (int i = 0; i < 3 * POINTS_momentum; i++) {
        x[POINTS_momentum + i] = vertex[i] + 0.1 * x[POINTS_momentum + i];
    }
    x[AT_E] = 0.6;
    x[AT_FORCE + 4] = -3; /* down, on every vertex */
    x[AT_START + 1] = contact ? 1.5 : 0;
    x[AT_START + 3] += 1.5;
    differences_random(seed + 100, FRAMES_momentum * MOMENTUM_STATE_NUMBERS, p.weight[0]);
    gradient_of_momentum(&p, x, grad);
    differences d = {.name = name,
                     .n = NUMBERS_momentum,
                     .x = x,
                     .grad = grad,
                     .loss = loss_of_momentum,
                     .self = &p,
                     .branches = contact ? branches_of_momentum : NULL,
                     .step = contact ? 1e-7 : 3e-4,
                     .tolerance = contact ? 1e-3 : 1e-6};
    assert_int_equal(differences_check(&d, &switched), 0);
    if (contact) {
        print_message("%s, seed %u: %zu of %d components disagree across a switch\n", name, (unsigned)seed,
                      switched, NUMBERS_momentum);
        assert_true(switched <= NUMBERS_momentum / 4);
        assert_true(grad[AT_E] != 0);
    }
    check_tangent(&p, x, seed + 300);
    ds_memory_free(&room);
}

static void smooth_derivatives_momentum(void **state)
{
    for (uint64_t seed = 1; seed <= 2; seed++) {
        check_derivatives_momentum("forces", seed, 0, 0);
        check_derivatives_momentum("forces, parity", seed, 1, 0);
    }
}

static void impulse_derivatives(void **state)
{
    for (uint64_t seed = 1; seed <= 4; seed++) {
        check_derivatives_momentum("impulses", seed, 0, 1);
    }
}

static void divergence_momentum(void **state)
{
    ds_memory room = {0};
    momentum *r = momentum_create(&room, POINTS_momentum, 20);
    double vertex[3 * POINTS_momentum];
    momentum_body b = {.mass = 0, .force = {{0, -10, 0}}};
    const momentum_state start = {.q = {1, 0, 0, 0}};
    cube_momentum(vertex);
    assert_int_equal(momentum_simulate(r, &push, &b, POINTS_momentum, vertex, &start, 20), 0);
    assert_int_equal(momentum_steps(r), 0);
    ds_memory_free(&room);
}

/* ---- mass properties ---- */

/* ---- derivatives ---- */

enum { POINTS_mass = 5 };

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
    rigid_mass_points(POINTS_mass, x, x + POINTS_mass, &m);
    return product(&m);
}

static void derivatives_of_points(void **state)
{
    double x[4 * POINTS_mass], grad[4 * POINTS_mass] = {0}, dot[4 * POINTS_mass];
    rigid_mass along;
    random_weight();
    differences_random(6, 4 * POINTS_mass, x);
    differences_random(7, 4 * POINTS_mass, dot);
    for (int i = 0; i < POINTS_mass; i++) {
        x[i] += 1.5;
    }
    rigid_mass_points_adjoint(POINTS_mass, x, x + POINTS_mass, &weight, grad, grad + POINTS_mass);
    differences d = {.name = "points",
                     .n = 4 * POINTS_mass,
                     .x = x,
                     .grad = grad,
                     .loss = loss_of_points,
                     .step = 1e-3,
                     .tolerance = 1e-8};
    assert_int_equal(differences_check(&d, NULL), 0);
    rigid_mass_points_tangent(POINTS_mass, x, x + POINTS_mass, dot, dot + POINTS_mass, &along);
    assert_near(product(&along), differences_dot(4 * POINTS_mass, grad, dot), 1e-12);
}

static void box_and_density(void **state)
{
    const double half[3] = {0.2, 0.3, 0.7};
    rigid_mass unit, other;
    random_weight();
    rigid_mass_box(1, half, &unit);
    rigid_mass_box(3, half, &other);
    assert_near(unit.mass, 8 * 0.2 * 0.3 * 0.7, 1e-15);
    assert_near(unit.inertia[4], unit.mass / 3 * (0.2 * 0.2 + 0.7 * 0.7), 1e-15);
    assert_near(rigid_mass_density_adjoint(&unit, &weight), (product(&other) - product(&unit)) / 2, 1e-14);
}

/* ---- points in the world ---- */

static double world_weight[3 * POINTS_mass];

/* x: position, quaternion, centre, points. */
static double loss_of_place(void *self, const double *x)
{
    double world[3 * POINTS_mass];
    (void)self;
    rigid_place(x, x + 3, x + 7, POINTS_mass, x + 10, world);
    return differences_dot(3 * POINTS_mass, world, world_weight);
}

static void derivatives_of_places(void **state)
{
    enum { N = 10 + 3 * POINTS_mass };
    double x[N], grad[N] = {0}, dot[N], out[3 * POINTS_mass];
    differences_random(10, N, x);
    differences_random(11, N, dot);
    differences_random(12, 3 * POINTS_mass, world_weight);
    rigid_place_adjoint(x + 3, x + 7, POINTS_mass, x + 10, world_weight, grad, grad + 3, grad + 7, grad + 10);
    differences d = {.name = "places",
                     .n = N,
                     .x = x,
                     .grad = grad,
                     .loss = loss_of_place,
                     .step = 1e-3,
                     .tolerance = 1e-8};
    assert_int_equal(differences_check(&d, NULL), 0);
    rigid_place_tangent(x + 3, x + 7, POINTS_mass, x + 10, dot, dot + 3, dot + 7, dot + 10, out);
    assert_near(differences_dot(3 * POINTS_mass, out, world_weight), differences_dot(N, grad, dot), 1e-12);
}

RUN_TESTS(recorded_motions, free_fall, free_rotation, rest, smooth_derivatives, contact_derivatives,
          divergence, recorded_motion, turning_levers, impulses, impulse_off_centre,
          smooth_derivatives_momentum, impulse_derivatives, divergence_momentum, derivatives_of_points,
          box_and_density, derivatives_of_places)
