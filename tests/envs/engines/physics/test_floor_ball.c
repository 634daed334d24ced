/* SPDX-License-Identifier: Apache-2.0 */
/* test_floor_ball.c - a ball over a floor without loss: its flight, its bounces, derivatives through the time
 * of impact against central differences. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <math.h>

#include "differences.h"
#include "engines/physics/contact/floor_ball.h"

/* gradSim's demonstration: 100 steps of 1/30 s. */
static const double radius = 0.75, step = 1.0 / 30, start[FLOOR_BALL_STATE] = {-7.5, 5, 1, 0};
enum { STEPS = 100, NUMBERS = 1 + FLOOR_BALL_STATE };

static void near(double value, double want, double tolerance)
{
    if (!(fabs(value - want) <= tolerance)) {
        fail_msg("%.12g, expected %.12g", value, want);
    }
}

/* A parabola up to the first bounce; then never below the floor, and at the floor with the speed of impact.
 */
static void bounces(void **state)
{
    (void)state;
    ds_memory room = {0};
    floor_ball *b = floor_ball_create(&room, STEPS);
    int hits = 0;
    assert_int_equal(floor_ball_simulate(b, radius, -9, step, start, STEPS), -1);
    for (uint64_t t = 0; t <= 29; t++) {
        double time = (double)t * step;
        near(floor_ball_at(b, t)[0], -7.5 + time, 1e-13);
        near(floor_ball_at(b, t)[1], 5 - 4.5 * time * time, 1e-12);
    }
    for (uint64_t t = 1; t <= STEPS; t++) {
        const double *s = floor_ball_at(b, t), *before = floor_ball_at(b, t - 1);
        assert_true(s[1] >= radius);
        if (s[1] == radius) {
            double time = (radius - before[1]) / before[3];
            near(s[3], -(before[3] - 9 * time), 1e-13);
            near(s[0], before[0] + before[2] * time, 1e-13);
            hits++;
        }
    }
    assert_int_equal(hits, 2);
    ds_memory_free(&room);
}

/* A ball too slow to leave the floor in one step stays where it is. */
static void slow_ball(void **state)
{
    (void)state;
    ds_memory room = {0};
    floor_ball *b = floor_ball_create(&room, STEPS);
    assert_int_equal(floor_ball_simulate(b, radius, -9, step, (double[]){0, radius, 1, 1e-3}, STEPS), -1);
    for (uint64_t t = 1; t <= STEPS; t++) {
        assert_true(floor_ball_at(b, t)[1] == radius && fabs(floor_ball_at(b, t)[3]) <= 1e-3);
    }
    ds_memory_free(&room);
}

/* ---- derivatives ---- */

typedef struct problem {
    floor_ball *b;
    double weight[2][FLOOR_BALL_STATE]; /* of the states after 40 and 100 steps */
} problem;

/* x: gravity, start. */
static double loss_of(void *self, const double *x)
{
    problem *p = self;
    assert_int_equal(floor_ball_simulate(p->b, radius, x[0], step, x + 1, STEPS), -1);
    return differences_dot(FLOOR_BALL_STATE, p->weight[0], floor_ball_at(p->b, 40)) +
           differences_dot(FLOOR_BALL_STATE, p->weight[1], floor_ball_at(p->b, STEPS));
}

static void derivatives(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 8; seed++) {
        ds_memory room = {0};
        problem p = {.b = floor_ball_create(&room, STEPS)};
        double x[NUMBERS] = {-9, start[0], start[1], start[2], start[3]}, noise[NUMBERS], grad[NUMBERS] = {0};
        double dot[NUMBERS];
        differences_random(seed, NUMBERS, noise);
        differences_random(seed + 10, 2 * FLOOR_BALL_STATE, p.weight[0]);
        differences_random(seed + 20, NUMBERS, dot);
        for (int i = 0; i < NUMBERS; i++) {
            x[i] += 0.5 * noise[i];
        }
        loss_of(&p, x);
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
        near(along, reverse, 1e-12 * fmax(1, fabs(reverse)));
        differences d = {.name = "ball",
                         .n = NUMBERS,
                         .x = x,
                         .grad = grad,
                         .loss = loss_of,
                         .self = &p,
                         .step = 1e-5,
                         .tolerance = 1e-6};
        assert_int_equal(differences_check(&d, NULL), 0);
        ds_memory_free(&room);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bounces),
        cmocka_unit_test(slow_ball),
        cmocka_unit_test(derivatives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
