/* SPDX-License-Identifier: Apache-2.0 */
/* test_systems.c - small systems: the simple and the double pendulum with unknown constants, a ball that
 * bounces off a floor, open-loop controllers; recorded motions, invariants, adjoint and tangent against
 * central differences. */
#include "differences.h"
#include "engines/physics/chain/chain.h"
#include "engines/physics/contact/floor_ball.h"
#include "engines/physics/control/control.h"
#include "engines/physics/pendulum/pendulum.h"
#include "test.h"

/* ---- pendula ---- */

static const double pi = 3.14159265358979323846;
enum { SUBSTEPS = 10 };

/* gradSim's two experiments. */
static const double simple[SIMPLE_PARAMETERS] = {
    [SIMPLE_LENGTH] = 1, [SIMPLE_GRAVITY] = 9.91, [SIMPLE_MASS] = 1, [SIMPLE_DAMPING] = 0.5};
static const double simple_start[SIMPLE_STATES] = {[SIMPLE_RATE] = 3};
static const double twins[DOUBLE_PARAMETERS] = {[DOUBLE_LENGTH1] = 1,
                                                [DOUBLE_LENGTH2] = 1,
                                                [DOUBLE_MASS1] = 1,
                                                [DOUBLE_MASS2] = 1,
                                                [DOUBLE_GRAVITY] = 10};

static void near_all(size_t n, const double *value, const double *want, double tolerance)
{
    for (size_t i = 0; i < n; i++) {
        assert_near(value[i], want[i], tolerance);
    }
}

static void recorded_motions(void **state)
{
    ds_memory room = {0};
    const double start[] = {3 * pi / 7, 0, 3 * pi / 4, 0};
    rk4 *r = rk4_create(&room, &pendulum_simple, 49, SUBSTEPS),
        *d = rk4_create(&room, &pendulum_double, 50, SUBSTEPS);
    assert_int_equal(rk4_simulate(r, NULL, simple, simple_start, 0.1, 49), -1);
    near_all(2, rk4_frame(r, 10), (double[]){0.1192029, -2.3514191}, 1e-6);
    near_all(2, rk4_frame(r, 20), (double[]){-0.14655798, 1.8163368}, 1e-6);
    near_all(2, rk4_frame(r, 30), (double[]){0.1390507, -1.40142471}, 1e-6);
    near_all(2, rk4_frame(r, 49), (double[]){0.17915022, -0.74037423}, 1e-6);
    assert_int_equal(rk4_simulate(d, NULL, twins, start, 1.0 / 30, 50), -1);
    near_all(4, rk4_frame(d, 15), (double[]){0.47021559, -2.08813319, 1.54816316, -4.8092873}, 1e-6);
    near_all(4, rk4_frame(d, 30), (double[]){-0.47509655, -4.77972741, -1.18611593, -0.34588124}, 1e-6);
    assert_near(double_pendulum_energy(twins, rk4_frame(d, 0)), 2.620649132739, 1e-12);
    for (uint64_t k = 1; k <= 50; k++) {
        assert_near(double_pendulum_energy(twins, rk4_frame(d, k)), 2.620649132739, 1e-7 * 2.62);
    }
    ds_memory_free(&room);
}

/* Mean square distance of the bob at frames 0, 10, ... 40 from the motion of length 1. */
static double loss_by_length(rk4 *r, double length)
{
    double theta[SIMPLE_PARAMETERS], want[5][2], bob[2], sum = 0;
    memcpy(theta, simple, sizeof theta);
    for (int round = 0; round < 2; round++) {
        theta[SIMPLE_LENGTH] = round ? length : 1;
        rk4_simulate(r, NULL, theta, simple_start, 0.1, 49);
        for (uint64_t k = 0; k < 5; k++) {
            simple_pendulum_bob(theta, rk4_frame(r, 10 * k), round ? bob : want[k]);
            for (int i = 0; round && i < 2; i++) {
                sum += (bob[i] - want[k][i]) * (bob[i] - want[k][i]) / 10;
            }
        }
    }
    return sum;
}

static void recorded_losses(void **state)
{
    ds_memory room = {0};
    rk4 *r = rk4_create(&room, &pendulum_simple, 49, SUBSTEPS);
    const double want[][2] = {{0.3, .2538}, {0.5, .1527}, {0.7, .1071},
                              {0.9, .0207}, {1.1, .0186}, {1.3, .1164}};
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        assert_near(loss_by_length(r, want[i][0]), want[i][1], 6e-5);
    }
    assert_near(loss_by_length(r, 2), .789, 6e-4);
    ds_memory_free(&room);
}

/* ---- other programs for the same physics ---- */

/* A chain of two links with their mass at the ends, on a cart that does not move; it counts angles from
 * above. */
static void accelerations_of_the_chain(void **state)
{
    for (uint64_t seed = 1; seed <= 5; seed++) {
        ds_memory room = {0};
        double x[9], torque[2], a[2], cart = 0, alpha[CHAIN_MAX_LINKS];
        differences_random(seed, 9, x);
        const double theta[DOUBLE_PARAMETERS] = {1 + 0.5 * x[0], 1 + 0.5 * x[1], 2 + x[2], 2 + x[3],
                                                 9 + x[4]};
        const double y[] = {3 * x[5], 2 * x[6], 3 * x[7], 2 * x[8]};
        chain_params p = {.links = 2,
                          .control = CHAIN_VELOCITY,
                          .h = 1,
                          .gravity = theta[DOUBLE_GRAVITY],
                          .cart_mass = 1,
                          .mass = {theta[DOUBLE_MASS1], theta[DOUBLE_MASS2]},
                          .length = {theta[DOUBLE_LENGTH1], theta[DOUBLE_LENGTH2]},
                          .com = {theta[DOUBLE_LENGTH1], theta[DOUBLE_LENGTH2]}};
        const chain_state s = {.theta = {y[0] + pi, y[2] + pi}, .omega = {y[1], y[3]}};
        torque[0] = x[0] - x[1]; /* the torque of the second joint acts against the first rod */
        torque[1] = x[1];
        chain_accelerations(chain_create(&room, &p, 1), &s, (double[]){0, x[0], x[1]}, &cart, alpha);
        double_pendulum_acceleration(theta, y, torque, a);
        near_all(2, a, alpha, 1e-11 * fmax(1, fabs(alpha[0]) + fabs(alpha[1])));
        ds_memory_free(&room);
    }
}

/* Half the step, a sixteenth of the error. */
static void order_four(void **state)
{
    double end[3][4], error[2] = {0};
    for (uint64_t k = 0; k < 3; k++) {
        ds_memory room = {0};
        rk4 *r = rk4_create(&room, &pendulum_double, 1, k == 2 ? 4000 : 100u << k);
        rk4_simulate(r, NULL, twins, (double[]){0.5, 0, 0.3, 0}, 1, 1);
        memcpy(end[k], rk4_frame(r, 1), sizeof end[k]);
        ds_memory_free(&room);
    }
    for (int i = 0; i < 8; i++) {
        error[i / 4] += fabs(end[i / 4][i % 4] - end[2][i % 4]);
    }
    if (!(error[0] / error[1] > 14 && error[0] / error[1] < 18)) {
        fail_msg("errors %g, %g", error[0], error[1]);
    }
}

/* Damped joints remove energy; a joint between the bobs does not affect the common rotation. */
static void damping(void **state)
{
    ds_memory room = {0};
    double theta[DOUBLE_PARAMETERS], y[] = {0.3, 1, 0.3, 1}, with[4], without[4];
    memcpy(theta, twins, sizeof theta);
    pendulum_double.rate(NULL, theta, y, without);
    theta[DOUBLE_DAMPING2] = 3;
    pendulum_double.rate(NULL, theta, y, with);
    near_all(4, with, without, 0);
    rk4 *r = rk4_create(&room, &pendulum_double, 100, SUBSTEPS);
    theta[DOUBLE_DAMPING1] = 0.5;
    rk4_simulate(r, NULL, theta, (double[]){2, 0, 1, 0}, 0.05, 100);
    for (uint64_t k = 1; k <= 100; k++) {
        assert_true(double_pendulum_energy(theta, rk4_frame(r, k)) <
                    double_pendulum_energy(theta, rk4_frame(r, k - 1)));
    }
    ds_memory_free(&room);
}

/* A constant force holds the rods aside: the tangent of each angle is the force over the weight below. */
static void force_and_weight_balance(void **state)
{
    double rate[4], one[SIMPLE_PARAMETERS], two[DOUBLE_PARAMETERS];
    memcpy(one, simple, sizeof one);
    memcpy(two, twins, sizeof two);
    one[SIMPLE_FORCE] = two[DOUBLE_FORCE] = 3;
    pendulum_simple.rate(NULL, one, (double[]){atan(3 / (one[SIMPLE_MASS] * one[SIMPLE_GRAVITY])), 0}, rate);
    near_all(2, rate, (double[]){0, 0}, 1e-14);
    const double m = two[DOUBLE_MASS1] + two[DOUBLE_MASS2], g = two[DOUBLE_GRAVITY];
    pendulum_double.rate(NULL, two, (double[]){atan(3 / (m * g)), 0, atan(3 / (two[DOUBLE_MASS2] * g)), 0},
                         rate);
    near_all(4, rate, (double[]){0, 0, 0, 0}, 1e-13);
}

/* ---- derivatives ---- */

enum { FRAMES = 20, MOST = 16 };

typedef struct problem {
    rk4 *r;
    const rk4_law *law;
    size_t bobs;
    double weight[2][4]; /* of the bobs at frames 8 and 20 */
    double by_rate[2];   /* of the last rate at these frames */
} problem;

static void bobs_of(const problem *p, const double *theta, const double *y, double *out)
{
    (p->bobs == 4 ? double_pendulum_bobs : simple_pendulum_bob)(theta, y, out);
}

static uint64_t frame(int k)
{
    return k ? FRAMES : 8;
}

static double loss_of(void *self, const double *x)
{
    problem *p = self;
    double bob[4], sum = 0;
    assert_int_equal(rk4_simulate(p->r, NULL, x, x + p->law->parameters, 0.05, FRAMES), -1);
    for (int k = 0; k < 2; k++) {
        const double *y = rk4_frame(p->r, frame(k));
        bobs_of(p, x, y, bob);
        sum += differences_dot(p->bobs, p->weight[k], bob) + p->by_rate[k] * y[p->law->states - 1];
    }
    return sum;
}

static void gradient_of(problem *p, const double *x, double *grad)
{
    double *y_bar = grad + p->law->parameters;
    loss_of(p, x);
    memset(grad, 0, MOST * sizeof *grad);
    for (int k = 1; k >= 0; k--) {
        const double *y = rk4_frame(p->r, frame(k));
        (p->bobs == 4 ? double_pendulum_bobs_adjoint : simple_pendulum_bob_adjoint)(x, y, p->weight[k], y_bar,
                                                                                    grad);
        y_bar[p->law->states - 1] += p->by_rate[k];
        assert_true(rk4_adjoint(p->r, k ? frame(0) : 0, frame(k), y_bar, grad));
    }
}

static double along(problem *p, const double *x, const double *direction)
{
    double y_dot[4], bob_dot[4], sum = 0;
    loss_of(p, x);
    memcpy(y_dot, direction + p->law->parameters, p->law->states * sizeof *y_dot);
    for (int k = 0; k < 2; k++) {
        assert_true(rk4_tangent(p->r, k ? frame(0) : 0, frame(k), y_dot, direction));
        (p->bobs == 4 ? double_pendulum_bobs_tangent
                      : simple_pendulum_bob_tangent)(x, rk4_frame(p->r, frame(k)), direction, y_dot, bob_dot);
        sum += differences_dot(p->bobs, p->weight[k], bob_dot) + p->by_rate[k] * y_dot[p->law->states - 1];
    }
    return sum;
}

static void check_derivatives(const char *name, const rk4_law *law, const double *theta, uint64_t seed)
{
    ds_memory room = {0};
    const size_t n = law->parameters + law->states;
    problem p = {.r = rk4_create(&room, law, FRAMES, SUBSTEPS), .law = law, .bobs = law->states};
    double x[MOST], grad[MOST], direction[MOST];
    differences_random(seed, n, x);
    for (size_t i = 0; i < law->parameters; i++) {
        x[i] = theta[i] * (1 + 0.3 * x[i]) + (theta[i] == 0 ? 0.2 : 0);
    }
    differences_random(seed + 10, 8, p.weight[0]);
    differences_random(seed + 20, 2, p.by_rate);
    differences_random(seed + 30, n, direction);
    gradient_of(&p, x, grad);
    differences d = {.name = name,
                     .n = n,
                     .x = x,
                     .grad = grad,
                     .loss = loss_of,
                     .self = &p,
                     .step = 1e-4,
                     .tolerance = 1e-6};
    assert_int_equal(differences_check(&d, NULL), 0);
    double reverse = differences_dot(n, grad, direction);
    assert_near(along(&p, x, direction), reverse, 1e-11 * fmax(1, fabs(reverse)));
    ds_memory_free(&room);
}

static void derivatives(void **state)
{
    for (uint64_t seed = 1; seed <= 4; seed++) {
        check_derivatives("simple", &pendulum_simple, simple, seed);
        check_derivatives("double", &pendulum_double, twins, seed);
    }
}

/* ---- finding the constants ---- */

static void find_length(void **state)
{
    ds_memory room = {0};
    rk4 *r = rk4_create(&room, &pendulum_simple, 49, SUBSTEPS);
    double theta[SIMPLE_PARAMETERS], want[5][2], first = 0, second = 0;
    memcpy(theta, simple, sizeof theta);
    rk4_simulate(r, NULL, theta, simple_start, 0.1, 49);
    for (uint64_t k = 0; k < 5; k++) {
        simple_pendulum_bob(theta, rk4_frame(r, 10 * k), want[k]);
    }
    theta[SIMPLE_LENGTH] = 0.5;
    for (int it = 1; it <= 400; it++) {
        double theta_bar[SIMPLE_PARAMETERS] = {0}, y_bar[2] = {0}, bob[2];
        rk4_simulate(r, NULL, theta, simple_start, 0.1, 49);
        for (uint64_t k = 5; k-- > 0;) {
            simple_pendulum_bob(theta, rk4_frame(r, 10 * k), bob);
            double bar[2] = {(bob[0] - want[k][0]) / 5, (bob[1] - want[k][1]) / 5};
            simple_pendulum_bob_adjoint(theta, rk4_frame(r, 10 * k), bar, y_bar, theta_bar);
            rk4_adjoint(r, k > 0 ? 10 * (k - 1) : 0, 10 * k, y_bar, theta_bar);
        }
        double g = theta_bar[SIMPLE_LENGTH];
        first = 0.9 * first + 0.1 * g;
        second = 0.999 * second + 0.001 * g * g;
        theta[SIMPLE_LENGTH] -=
            0.1 * first / (1 - pow(0.9, it)) / (sqrt(second / (1 - pow(0.999, it))) + 1e-8);
    }
    assert_near(theta[SIMPLE_LENGTH], 1, 1e-3);
    ds_memory_free(&room);
}

static void divergence(void **state)
{
    ds_memory room = {0};
    double theta[SIMPLE_PARAMETERS];
    rk4 *r = rk4_create(&room, &pendulum_simple, 49, SUBSTEPS);
    memcpy(theta, simple, sizeof theta);
    theta[SIMPLE_MASS] = 1e-6; /* a damping too strong for the step */
    int64_t bad = rk4_simulate(r, NULL, theta, simple_start, 0.1, 49);
    assert_true(bad > 1 && bad < 49);
    assert_int_equal(rk4_frames(r), bad - 1);
    assert_true(isfinite(rk4_frame(r, (uint64_t)bad - 1)[1]));
    ds_memory_free(&room);
}

/* ---- ball on a floor ---- */

/* gradSim's demonstration: 100 steps of 1/30 s. */
static const double radius = 0.75, step = 1.0 / 30, start[FLOOR_BALL_STATE] = {-7.5, 5, 1, 0};
enum { STEPS = 100, NUMBERS = 1 + FLOOR_BALL_STATE };

/* A parabola up to the first bounce; then never below the floor, and at the floor with the speed of impact.
 */
static void bounces(void **state)
{
    ds_memory room = {0};
    floor_ball *b = floor_ball_create(&room, STEPS);
    int hits = 0;
    assert_int_equal(floor_ball_simulate(b, radius, -9, step, start, STEPS), -1);
    for (uint64_t t = 0; t <= 29; t++) {
        double time = (double)t * step;
        assert_near(floor_ball_at(b, t)[0], -7.5 + time, 1e-13);
        assert_near(floor_ball_at(b, t)[1], 5 - 4.5 * time * time, 1e-12);
    }
    for (uint64_t t = 1; t <= STEPS; t++) {
        const double *s = floor_ball_at(b, t), *before = floor_ball_at(b, t - 1);
        assert_true(s[1] >= radius);
        if (s[1] == radius) {
            double time = (radius - before[1]) / before[3];
            assert_near(s[3], -(before[3] - 9 * time), 1e-13);
            assert_near(s[0], before[0] + before[2] * time, 1e-13);
            hits++;
        }
    }
    assert_int_equal(hits, 2);
    ds_memory_free(&room);
}

/* A ball too slow to leave the floor in one step stays where it is. */
static void slow_ball(void **state)
{
    ds_memory room = {0};
    floor_ball *b = floor_ball_create(&room, STEPS);
    assert_int_equal(floor_ball_simulate(b, radius, -9, step, (double[]){0, radius, 1, 1e-3}, STEPS), -1);
    for (uint64_t t = 1; t <= STEPS; t++) {
        assert_true(floor_ball_at(b, t)[1] == radius && fabs(floor_ball_at(b, t)[3]) <= 1e-3);
    }
    ds_memory_free(&room);
}

/* ---- derivatives ---- */

typedef struct problem_floor_ball {
    floor_ball *b;
    double weight[2][FLOOR_BALL_STATE]; /* of the states after 40 and 100 steps */
} problem_floor_ball;

/* x: gravity, start. */
static double loss_of_floor_ball(void *self, const double *x)
{
    problem_floor_ball *p = self;
    assert_int_equal(floor_ball_simulate(p->b, radius, x[0], step, x + 1, STEPS), -1);
    return differences_dot(FLOOR_BALL_STATE, p->weight[0], floor_ball_at(p->b, 40)) +
           differences_dot(FLOOR_BALL_STATE, p->weight[1], floor_ball_at(p->b, STEPS));
}

static void derivatives_floor_ball(void **state)
{
    for (uint64_t seed = 1; seed <= 8; seed++) {
        ds_memory room = {0};
        problem_floor_ball p = {.b = floor_ball_create(&room, STEPS)};
        double x[NUMBERS] = {-9, start[0], start[1], start[2], start[3]}, noise[NUMBERS], grad[NUMBERS] = {0};
        double dot[NUMBERS];
        differences_random(seed, NUMBERS, noise);
        differences_random(seed + 10, 2 * FLOOR_BALL_STATE, p.weight[0]);
        differences_random(seed + 20, NUMBERS, dot);
        for (int i = 0; i < NUMBERS; i++) {
            x[i] += 0.5 * noise[i];
        }
        loss_of_floor_ball(&p, x);
        for (int i = 0; i < FLOOR_BALL_STATE; i++) {
            grad[1 + i] = p.weight[1][i];
        }
        floor_ball_adjoint(p.b, 40, STEPS, grad + 1, grad);
        for (int i = 0; i < FLOOR_BALL_STATE; i++) {
            grad[1 + i] += p.weight[0][i];
        }
        floor_ball_adjoint(p.b, 0, 40, grad + 1, grad);
        double reverse = differences_dot(NUMBERS, grad, dot);
        floor_ball_tangent(p.b, 0, 40, dot + 1, dot[0]);
        double along = differences_dot(FLOOR_BALL_STATE, p.weight[0], dot + 1);
        floor_ball_tangent(p.b, 40, STEPS, dot + 1, dot[0]);
        along += differences_dot(FLOOR_BALL_STATE, p.weight[1], dot + 1);
        assert_near(along, reverse, 1e-12 * fmax(1, fabs(reverse)));
        differences d = {.name = "ball",
                         .n = NUMBERS,
                         .x = x,
                         .grad = grad,
                         .loss = loss_of_floor_ball,
                         .self = &p,
                         .step = 1e-5,
                         .tolerance = 1e-6};
        assert_int_equal(differences_check(&d, NULL), 0);
        ds_memory_free(&room);
    }
}

/* ---- controllers ---- */

static void controllers_share_weights_in_groups(void **state)
{
    enum { E = 11, G = 3, P = 2 };
    ds_memory room = {0};
    uint32_t group[E];
    double phase[P], w[G * P], bar[G * P], act[E], act_bar[E], up, down;
    for (uint32_t i = 0; i < E; i++) {
        group[i] = i * i % G;
        act_bar[i] = cos(i);
    }
    control *c = control_open(&room, &(control_options){.elements = E,
                                                        .groups = G,
                                                        .group = group,
                                                        .phases = P,
                                                        .phase = phase,
                                                        .rate = control_walker_phases(P, phase),
                                                        .scale = 0.3,
                                                        .dt = 0.01,
                                                        .steps = 50});
    assert_non_null(c);
    assert_int_equal(control_weights(c), G * P);
    for (int i = 0; i < G * P; i++) {
        w[i] = sin(i + 1);
    }
    control_set(c, w);
    control_clear(c);
    control_activate(c, 13, act);
    for (int i = 0; i < E; i++) { /* the two phases give sin and cos */
        const double *row = w + P * group[i], t = 20 * 13 * 0.01;
        assert_true(fabs(act[i] - 0.3 * tanh(row[0] * sin(t) + row[1] * cos(t))) < 1e-14);
    }
    control_adjoint(c, 13, act_bar);
    control_gradient(c, bar);
    for (int k = 0; k < G * P; k++) {
        const double at = w[k], h = 1e-6;
        up = down = 0;
        for (int side = 0; side < 2; side++) {
            w[k] = at + (side ? h : -h);
            control_set(c, w);
            control_activate(c, 13, act);
            for (int i = 0; i < E; i++) {
                *(side ? &up : &down) += act_bar[i] * act[i];
            }
        }
        w[k] = at;
        assert_true(fabs((up - down) / (2 * h) - bar[k]) < 1e-9);
    }
    group[4] = G;
    assert_null(control_open(
        &room, &(control_options){
                   .elements = E, .groups = G, .group = group, .phases = P, .phase = phase, .steps = 1}));
    assert_null(
        control_open(&room, &(control_options){.elements = E, .phases = 0, .phase = phase, .steps = 1}));
    ds_memory_free(&room);
}

RUN_TESTS(recorded_motions, recorded_losses, accelerations_of_the_chain, order_four, damping,
          force_and_weight_balance, derivatives, find_length, divergence, bounces, slow_ball,
          derivatives_floor_ball, controllers_share_weights_in_groups)
