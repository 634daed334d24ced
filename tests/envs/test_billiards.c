/* SPDX-License-Identifier: Apache-2.0 */
/* test_billiards.c - balls that push each other: momentum, single impacts, symmetry, and derivatives against
 * differences wherever both sides of a difference have the same contacts. */
#include "engines/physics/billiards/billiards.h"
#include "host.h"
#include "test.h"

#include <diffsim/ext/scene.h>
#include <diffsim/helper/random.h>

static const char name[] = "envs/billiards";

/* Two balls that touch; the others are far away. */
static billiards pair(double restitution, double friction)
{
    billiards b = {.h = 1.0 / 60,
                   .radius = 0.5,
                   .mass = 1,
                   .friction = friction,
                   .restitution = restitution,
                   .sweeps = 50};
    for (int k = 0; k < BILLIARDS_BALLS; k++) {
        b.ball[k].x[0].v = 100.0 * k;
    }
    b.ball[1].x[0].v = 0.999;
    b.ball[0].v[0].v = 2;
    return b;
}

static void impacts(void **state)
{
    billiards b = pair(0, 0.5);
    billiards_step(&b, 1); /* no restitution: both continue with half the velocity */
    assert_near(b.ball[0].v[0].v, 1, 1e-12);
    assert_near(b.ball[1].v[0].v, 1, 1e-12);
    b = pair(1, 0.5);
    billiards_step(&b, 1);
    assert_near(b.ball[0].v[0].v, 0, 1e-12);
    assert_near(b.ball[1].v[0].v, 2, 1e-12);
    b = pair(0, 0.25);
    b.ball[0].v[1].v = 2; /* slides: a quarter of the normal impulse, which turns both balls equally */
    billiards_step(&b, 1);
    assert_near(b.ball[0].v[1].v, 2 - 0.25, 1e-12);
    assert_near(b.ball[1].v[1].v, 0.25, 1e-12);
    assert_near(b.ball[0].w.v, -0.25 * 0.5 / 0.1, 1e-12);
    assert_near(b.ball[1].w.v, b.ball[0].w.v, 1e-12);
    b = pair(0, 0.5);
    b.ball[1].x[0].v = 1.001; /* nearly touching: only the smooth variant pushes */
    b.mending = 0.1;
    billiards_step(&b, 1);
    assert_near(b.ball[1].v[0].v, 0, 0);
    b = pair(0, 0.5);
    b.ball[1].x[0].v = 1.001;
    b.mending = 0.1;
    b.apart = 1;
    billiards_step(&b, 1);
    assert_true(b.ball[1].v[0].v > 0.9);
}

/* Momentum is conserved in all directions; mirrored forces mirror the motion of the ball in the middle of the
 * last row. */
static void laws(void **state)
{
    static const char *const smooth[2][2] = {{"smooth=false"}, {"smooth=true"}};
    for (int k = 0; k < 2; k++) {
        fake_env e;
        const double x[2] = {90, 700};
        fake_env_open(&e, name, smooth[k], 0, 0);
        const double loss = fake_eval(&e, x, NULL, 0, NULL);
        assert_true(isfinite(loss) && loss > 0);
        assert_near(fake_metric(&e, x, "distance")[300], sqrt(loss), 1e-12);
        fake_env_close(&e);
    }
    billiards b = pair(0.5, 0.3);
    b.ball[0].v[1].v = 1;
    for (int k = 0; k < 30; k++) {
        billiards_step(&b, 1);
    }
    assert_near(b.ball[0].v[0].v + b.ball[1].v[0].v, 2, 1e-12);
    assert_near(b.ball[0].v[1].v + b.ball[1].v[1].v, 1, 1e-12);
}

/* The scene of the paper: bounds of the force, duration, position of the last ball and of its target; the
 * force acts in the first step alone. */
static void scene_of_the_source(void **state)
{
    fake_env e;
    fake_env_open(&e, name, NULL, 0, 0);
    assert_true(e.info.n == 2 && e.info.steps == 300 && e.x0[0] == 500 && e.x0[1] == 400);
    assert_true(e.lower[0] == -1000 && e.upper[1] == 1000);
    assert_near(e.info.dt, 1.0 / 60, 1e-15);
    const double *x = fake_metric(&e, (double[2]){0, 0}, "x"), *y = fake_values(&e, "y");
    assert_near(x[0], 1, 1e-15); /* row 3 starts at y = -0.5 (3 - 1); spacing 1; height 0.8660 (3 - 1) */
    assert_near(y[0], 2 * 0.8660, 1e-4);
    assert_true(x[300] == x[0] && y[300] == y[0]); /* nothing moves */
    assert_near(fake_eval(&e, (double[2]){0, 0}, NULL, 0, NULL),
                (3.5 - x[0]) * (3.5 - x[0]) + (8 - y[0]) * (8 - y[0]), 1e-12);
    const ds_scene *scene = e.plugin->env->get_extension(e.self, DS_EXT_SCENE);
    double at[2][7];
    fake_metric(&e, (double[2]){60, -90}, "x"); /* away from the rack: an impulse of (1, -1.5) N s */
    assert_int_equal(scene->frame(e.self, 0, 2, 7, at[0]), DS_OK);
    assert_int_equal(scene->frame(e.self, 60, 2, 7, at[1]), DS_OK);
    assert_near(at[0][1], -2, 1e-15);
    assert_near(at[1][0] - at[0][0], 1, 1e-12);
    assert_near(at[1][1] - at[0][1], -1.5, 1e-12);
    fake_env_close(&e);
}

/* ---- derivatives ---- */

/* The last ball at the end, and which contacts acted. */
static void play(int apart, const double force[2], ball_state *last, uint64_t *switches)
{
    billiards b = {.h = 1.0 / 60,
                   .radius = 0.5,
                   .mass = 1,
                   .friction = apart ? 0 : 0.5,
                   .mending = 0.1,
                   .sweeps = 50,
                   .apart = apart};
    for (int row = 0, k = 0; row < 3; row++) {
        for (int i = 0; i <= row; i++, k++) {
            b.ball[k].x[0].v = i - 0.5 * row;
            b.ball[k].x[1].v = sqrt(0.75) * row;
        }
    }
    b.ball[6].x[1].v = -2;
    for (int d = 0; d < 2; d++) {
        b.ball[6].v[d].v = force[d] / 60;
        b.ball[6].v[d].d[d] = 1.0 / 60;
    }
    for (int t = 0; t < 300; t++) {
        billiards_step(&b, 1);
    }
    *last = b.ball[5];
    *switches = b.switches;
}

/* Where both sides of a difference have the same contacts it equals the derivative. At most a fifth of the
 * points have no such difference at any step. */
static void derivatives(void **state)
{
    ds_random r = ds_random_open(1, "billiards", 0);
    for (int apart = 0; apart < 2; apart++) {
        int same = 0, moved = 0, agree = 0;
        enum { POINTS = 60 };
        for (int k = 0; k < POINTS; k++) {
            const double at[2] = {400 * ds_random_uniform(&r) - 200, 300 + 600 * ds_random_uniform(&r)};
            const double along[2] = {ds_random_uniform(&r) - 0.5, ds_random_uniform(&r) - 0.5};
            ball_state last;
            uint64_t way;
            double best[2] = {HUGE_VAL, HUGE_VAL};
            int found = 0;
            play(apart, at, &last, &way);
            moved += fabs(last.x[0].d[0]) > 0;
            for (double h = 1e-2; h > 1e-7; h *= 0.1) {
                ball_state side[2];
                uint64_t ways[2];
                for (int s = 0; s < 2; s++) {
                    const double there[2] = {at[0] + (s ? h : -h) * along[0],
                                             at[1] + (s ? h : -h) * along[1]};
                    play(apart, there, &side[s], &ways[s]);
                }
                const int alike = ways[0] == way && ways[1] == way;
                found |= alike;
                for (int d = 0; alike && d < 2; d++) {
                    const double slope = last.x[d].d[0] * along[0] + last.x[d].d[1] * along[1];
                    const double quotient = (side[1].x[d].v - side[0].x[d].v) / (2 * h);
                    const double size = fabs(last.x[d].d[0]) + fabs(last.x[d].d[1]);
                    best[d] = fmin(best[d], fabs(quotient - slope) / (size + 1e-6));
                }
            }
            same += found;
            agree += best[0] < 1e-5 && best[1] < 1e-5;
        }
        if (same < 0.8 * POINTS || agree < same || moved < POINTS / 4) {
            fail_msg("of %d points %d with the same switches, %d derivatives that agree, %d that are not 0",
                     POINTS, same, agree, moved);
        }
    }
}

RUN_TESTS(impacts, laws, scene_of_the_source, derivatives)
