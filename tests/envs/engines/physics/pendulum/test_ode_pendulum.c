/* SPDX-License-Identifier: Apache-2.0 */
/* test_ode_pendulum.c - the simple and the double pendulum with unknown constants: recorded motions,
 * energy, the chain engine's accelerations, order of the method, adjoint and tangent against central
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
#include "engines/physics/chain/chain.h"
#include "engines/physics/pendulum/pendulum.h"

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

static void near(double value, double want, double tolerance)
{
    if (!(fabs(value - want) <= tolerance)) {
        fail_msg("%.12g, expected %.12g", value, want);
    }
}

static void near_all(size_t n, const double *value, const double *want, double tolerance)
{
    for (size_t i = 0; i < n; i++) {
        near(value[i], want[i], tolerance);
    }
}

static void recorded_motions(void **state)
{
    (void)state;
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
    near(double_pendulum_energy(twins, rk4_frame(d, 0)), 2.620649132739, 1e-12);
    for (uint64_t k = 1; k <= 50; k++) {
        near(double_pendulum_energy(twins, rk4_frame(d, k)), 2.620649132739, 1e-7 * 2.62);
    }
    ds_memory_free(&room);
}

/* Mean square of the bob's coordinates at frames 0, 10, ... 40 against those of length 1. */
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
    (void)state;
    ds_memory room = {0};
    rk4 *r = rk4_create(&room, &pendulum_simple, 49, SUBSTEPS);
    const double want[][2] = {{0.3, .2538}, {0.5, .1527}, {0.7, .1071},
                              {0.9, .0207}, {1.1, .0186}, {1.3, .1164}};
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        near(loss_by_length(r, want[i][0]), want[i][1], 6e-5);
    }
    near(loss_by_length(r, 2), .789, 6e-4);
    ds_memory_free(&room);
}

/* ---- other programs of the same physics ---- */

/* A chain of two links with their mass at the ends, on a cart that does not move; it counts angles from
 * above. */
static void accelerations_of_the_chain(void **state)
{
    (void)state;
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
    (void)state;
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
    (void)state;
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
    near(along(&p, x, direction), reverse, 1e-11 * fmax(1, fabs(reverse)));
    ds_memory_free(&room);
}

static void derivatives(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        check_derivatives("simple", &pendulum_simple, simple, seed);
        check_derivatives("double", &pendulum_double, twins, seed);
    }
}

/* ---- finding the constants ---- */

static void find_length(void **state)
{
    (void)state;
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
    near(theta[SIMPLE_LENGTH], 1, 1e-3);
    ds_memory_free(&room);
}

static void divergence(void **state)
{
    (void)state;
    ds_memory room = {0};
    double theta[SIMPLE_PARAMETERS];
    rk4 *r = rk4_create(&room, &pendulum_simple, 49, SUBSTEPS);
    memcpy(theta, simple, sizeof theta);
    theta[SIMPLE_MASS] = 1e-6; /* a damping that the step cannot follow */
    int64_t bad = rk4_simulate(r, NULL, theta, simple_start, 0.1, 49);
    assert_true(bad > 1 && bad < 49);
    assert_int_equal(rk4_frames(r), bad - 1);
    assert_true(isfinite(rk4_frame(r, (uint64_t)bad - 1)[1]));
    ds_memory_free(&room);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recorded_motions),
        cmocka_unit_test(recorded_losses),
        cmocka_unit_test(accelerations_of_the_chain),
        cmocka_unit_test(order_four),
        cmocka_unit_test(damping),
        cmocka_unit_test(derivatives),
        cmocka_unit_test(find_length),
        cmocka_unit_test(divergence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
