/* SPDX-License-Identifier: Apache-2.0 */
/* Slow check of the plasticine engine: the gradient of torus episodes of 2, 10 and 50
 * steps against differences. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engines/physics/mpm/env/env.h"
#include "mpm_support.h"
#include "engines/physics/mpm/sim/scene.h"

#include <stdlib.h>
#include <string.h>

enum { STEPS = 50 };

/* Torus with the ring just above the slab, so that it works from the start; segments = steps. */
static void open_torus(mpm_episode *e, const mpm_scene *scene, uint32_t steps)
{
    static const mpm_pose start = {{0.5, 0.11, 0.5}, {0.0, 0.0, 0.0, 1.0}, 0.0};
    mpm_episode_spec spec = {.scene = scene,
                             .domain = mpm_domain_make(MPM_PRESET_FULL),
                             .steps = steps,
                             .segments = steps,
                             .loss_mode = MPM_LOSS_SEGMENT_SUM,
                             .softness = 666.0,
                             .tool_start = &start,
                             .engine = MPM_ENGINE_FAST,
                             .fast = {.bits = 64, .threads = 1}};
    double *stored = calloc(64 * 64 * 64, sizeof(double));
    const char *top = getenv("DS_TOP_SRC");
    char path[4096];
    snprintf(path, sizeof path, "%s/plugins/envs/data/torus.targets", top ? top : ".");
    assert_null(mpm_target_read(path, 64, 1, stored));
    assert_int_equal(mpm_episode_init(e, &spec), MPM_OK);
    e->objective.weight_density = 10.0;
    e->objective.weight_sdf = 10.0;
    e->objective.weight_contact = 40.0;
    e->objective.soft_contact = true;
    assert_int_equal(mpm_objective_init(&e->objective, spec.domain.n, stored), MPM_OK);
    free(stored);
}

/* The loss of the episode, from output step `from` on (earlier actions unchanged since the
 * last gradient run). */
static double loss_from(mpm_episode *e, const double *x, uint32_t from)
{
    mpm_outcome out;
    assert_int_equal(mpm_episode_resume(e, x, from, &out), MPM_OK);
    return out.loss;
}

typedef struct tally {
    double errors[512];
    size_t count;
    size_t without;  /* no two quotients agreed */
    size_t larger;   /* error above 1e-6, */
    size_t switched; /* of these: gone at a smaller h, so a branch switched inside the larger one */
} tally;

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double quotient_at(mpm_episode *e, double *x, uint32_t i, double h)
{
    double at = x[i], value[2];
    for (int side = 0; side < 2; side++) {
        x[i] = at + (side ? -h : h);
        value[side] = loss_from(e, x, i / e->action_dim);
    }
    x[i] = at;
    return (value[0] - value[1]) / (2.0 * h);
}

/* One component: quotients at smaller and smaller h until two agree. */
static void component(mpm_episode *e, double *x, uint32_t i, double slope, double norm, tally *all)
{
    static const double steps[] = {1e-5, 3e-6, 1e-6, 3e-7, 1e-7, 3e-8, 1e-8};
    enum { COUNT = sizeof steps / sizeof steps[0] };
    double previous = NAN;
    for (int k = 0; k < COUNT; k++) {
        double quotient = quotient_at(e, x, i, steps[k]);
        if (fabs(quotient - previous) <= 2e-6 * norm) {
            double error = fabs(quotient - slope) / norm;
            all->errors[all->count++] = error;
            if (error > 1e-6) {
                bool gone = false;
                for (int j = k + 1; j < COUNT && !gone; j++) {
                    gone = fabs(quotient_at(e, x, i, steps[j]) - slope) <= 1e-6 * norm;
                }
                all->larger++;
                all->switched += gone;
            }
            return;
        }
        previous = quotient;
    }
    all->without++;
}

static void protocol(uint32_t steps, uint32_t points, uint32_t components)
{
    mpm_scene scene = mpm_test_scene(TASK_TORUS, 1);
    mpm_episode e;
    mpm_rng rng;
    tally all = {.count = 0};
    open_torus(&e, &scene, steps);
    uint32_t n = mpm_episode_dim(&e);
    double *x = calloc(n, sizeof(double)), *grad = calloc(n, sizeof(double));
    mpm_rng_seed(&rng, 100 + steps);
    for (uint32_t p = 0; p < points; p++) {
        mpm_outcome out;
        double norm = 0.0;
        for (uint32_t i = 0; i < n; i++) {
            x[i] = 0.999 * (2.0 * mpm_rng_uniform(&rng) - 1.0);
        }
        assert_int_equal(mpm_episode_run(&e, x, grad, NULL, NULL, &out), MPM_OK);
        for (uint32_t i = 0; i < n; i++) {
            norm += grad[i] * grad[i];
        }
        norm = sqrt(norm);
        for (uint32_t c = 0; c < components && c < n; c++) {
            uint32_t i = components < n ? (uint32_t)(mpm_rng_uniform(&rng) * n) : c;
            component(&e, x, i, grad[i], norm, &all);
        }
    }
    qsort(all.errors, all.count, sizeof all.errors[0], by_size);
    assert_true(all.count > all.without);
    double median = all.errors[all.count / 2];
    print_message(
        "H=%u: %zu of %zu components without two agreeing quotients; error relative to the gradient's norm: "
        "median %.2e, 90 %% %.2e, largest %.2e; %zu above 1e-6, %zu of them gone at a smaller h\n",
        steps, all.without, all.count + all.without, median, all.errors[all.count * 9 / 10],
        all.errors[all.count - 1], all.larger, all.switched);
    mpm_expect(median, 0.0, 1e-6, "H=%u median error", steps);
    free(x);
    free(grad);
    mpm_episode_free(&e);
}

static uint32_t points_wanted(uint32_t otherwise)
{
    const char *text = getenv("MPM_GRADIENT_POINTS");
    return text ? (uint32_t)strtoul(text, NULL, 10) : otherwise;
}

static void test_gradient_2(void **state)
{
    (void)state;
    protocol(2, 10, 15);
}

static void test_gradient_10(void **state)
{
    (void)state;
    protocol(10, 10, 15);
}

/* One point here; MPM_GRADIENT_POINTS=10 takes a quarter of an hour. */
static void test_gradient_50(void **state)
{
    (void)state;
    protocol(50, points_wanted(1), 15);
}

/* Derivatives along random directions over all 50 steps, with the episode's 15 default variables. Jumps
 * (a node enters the reach of the ring) spoil the quotients at larger h, rounding those at smaller
 * ones, about 1e-13 / h of the norm: where jumps lie closer than 1e-8 no two quotients agree, and the
 * direction says nothing. */
static void test_direction(void **state)
{
    (void)state;
    enum { DIRECTIONS = 10, COUNT = 9 };
    mpm_scene scene = mpm_test_scene(TASK_TORUS, 1);
    mpm_episode e;
    mpm_rng rng;
    mpm_outcome out;
    double x[15], d[15], y[15], grad[15];
    int agreed = 0;
    open_torus(&e, &scene, STEPS);
    e.segments = 5;
    mpm_rng_seed(&rng, 7);
    for (int direction = 0; direction < DIRECTIONS; direction++) {
        double slope = 0.0, size = 0.0, previous = NAN, first = NAN, error = INFINITY;
        bool known = false;
        for (int i = 0; i < 15; i++) {
            x[i] = 1.8 * mpm_rng_uniform(&rng) - 0.9;
            d[i] = 2.0 * mpm_rng_uniform(&rng) - 1.0;
        }
        assert_int_equal(mpm_episode_run(&e, x, grad, NULL, NULL, &out), MPM_OK);
        for (int i = 0; i < 15; i++) {
            slope += grad[i] * d[i];
            size += grad[i] * grad[i];
        }
        for (int k = 0; k < COUNT; k++) {
            double value[2], h = pow(10.0, -6.0 - 0.25 * k);
            for (int side = 0; side < 2; side++) {
                for (int i = 0; i < 15; i++) {
                    y[i] = x[i] + (side ? -h : h) * d[i];
                }
                assert_int_equal(mpm_episode_run(&e, y, NULL, NULL, NULL, &out), MPM_OK);
                value[side] = out.loss;
            }
            double quotient = (value[0] - value[1]) / (2.0 * h);
            double now = fabs(quotient - slope) / sqrt(size);
            known |= fabs(quotient - previous) <= 4e-6 * sqrt(size);
            first = known && isnan(first) ? now : first;
            error = known ? fmin(error, now) : error;
            previous = quotient;
        }
        if (known) { /* a larger error of the first quotient that is gone at a smaller h is that of a switch
                        between */
            print_message("direction %d, 50 steps: error %.2e of the gradient's norm, %.2e at smaller h\n",
                          direction, first, error);
            mpm_expect(error, 0.0, 1e-5, "directional derivative %d", direction);
            agreed++;
        }
    }
    print_message("%d of %d directions have two agreeing quotients\n", agreed, DIRECTIONS);
    assert_true(agreed >= DIRECTIONS / 2);
    mpm_episode_free(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gradient_2),
        cmocka_unit_test(test_gradient_10),
        cmocka_unit_test(test_direction),
        cmocka_unit_test(test_gradient_50),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
