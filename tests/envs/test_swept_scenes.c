/* SPDX-License-Identifier: Apache-2.0 */
/* test_swept_scenes.c - gradSim's scenes of rigid bodies and pendula: motions and losses of pictures measured once with an
 * independent program, optima, derivatives against central differences, residuals with their products. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <diffsim/ext/channel.h>
#include <diffsim/helper/random.h>
#include <math.h>

#include "host.h"

enum { MOST = 32 };

static const double truth[5] = {0.69897000433601886, 3.6901960800285138, 1.1760912590556813,
                                1.6989700043360187, 0.3};
static const double pendulum[2] = {1, 9.91};

static void random_numbers(uint64_t n, double *x, uint64_t key)
{
    ds_random r = ds_random_open(key, "swept scenes", 0);
    for (uint64_t i = 0; i < n; i++) {
        x[i] = 2 * ds_random_uniform(&r) - 1;
    }
}

static void cube_moves(void **state)
{
    (void)state;
    fake_env e;
    fake_env_open(&e, "envs/rigid_contact", NULL, 0, 0);
    const double *x = fake_metric(&e, truth, "x"), *y = fake_values(&e, "y");
    assert_near(y[24], 0.85992, 1e-5);
    assert_near(x[30], 1.68926, 1e-5);
    assert_near(y[30], 1.46030, 1e-5);
    assert_near(x[60], 1.59651, 1e-5);
    assert_near(y[60], 2.36396, 1e-5);
    fake_env_close(&e);
}

/* Raw colours of 128 x 128 pixels, where one number is 0.8 or 1.25 times that of the target. */
static void cube_slices(void **state)
{
    (void)state;
    static const double loss[5][2] = {
        {8.6e-4, 9.9e-4}, {5.8e-4, 5.8e-4}, {4.5e-4, 5.8e-4}, {1.3e-3, 1.2e-3}, {2.9e-4, 1.9e-4}};
    fake_env e;
    fake_env_open(&e, "envs/rigid_contact",
                  (const char *const[]){"obs=rgba", "image_size=128", "antialias=true", NULL}, 0, 0);
    for (int i = 0; i < 5; i++) {
        for (int k = 0; k < 2; k++) {
            double x[5];
            memcpy(x, truth, sizeof x);
            x[i] = i == 4 ? x[i] * (k ? 1.25 : 0.8) : x[i] + log10(k ? 1.25 : 0.8);
            assert_near(fake_eval(&e, x, NULL, 0, NULL), loss[i][k], 0.05 * loss[i][k]);
        }
    }
    fake_env_close(&e);
}

/* gradSim's landscape of the mass, raw colours of 64 x 64 pixels; and where the cube ends. */
static void pushed_cube(void **state)
{
    (void)state;
    static const double at[][2] = {
        {0.1, 1.5005e-2}, {0.493, 2.679e-3}, {0.689, 9.76e-4}, {2.064, 1.214e-3}, {5, 2.049e-3}};
    fake_env e;
    const double mass = 0;
    fake_env_open(&e, "envs/rigid_mass",
                  (const char *const[]){"obs=rgba", "parity=true", "antialias=true", NULL}, 0, 0);
    for (size_t k = 0; k < sizeof at / sizeof *at; k++) {
        assert_near(fake_eval(&e, (const double[1]){log10(at[k][0])}, NULL, 0, NULL), at[k][1],
                    2e-3 * at[k][1]);
    }
    assert_near(fake_eval(&e, &mass, NULL, 0, NULL), 0, 0);
    assert_near(fake_metric(&e, &mass, "y")[20], -0.583333, 1e-6);
    fake_env_close(&e);
}

/* Recorded states, and the loss along the length; that of the table is the mean of two coordinates. */
static void pendulum_swings(void **state)
{
    (void)state;
    static const double at[4][3] = {{10, 0.1192029, -2.3514191},
                                    {20, -0.14655798, 1.8163368},
                                    {30, 0.1390507, -1.40142471},
                                    {49, 0.17915022, -0.74037423}};
    static const double loss[7][3] = {{0.3, .2538, 5e-5}, {0.5, .1527, 5e-5}, {0.7, .1071, 5e-5},
                                      {0.9, .0207, 5e-5}, {1.1, .0186, 5e-5}, {1.3, .1164, 5e-5},
                                      {2, .789, 5e-4}};
    fake_env e;
    fake_env_open(&e, "envs/pendulum_id",
                  (const char *const[]){"observe=state", "variables=length gravity", NULL}, 0, 0);
    assert_near(e.x0[0], 0.5, 0);
    assert_near(e.x0[1], 5, 0);
    const double *angle = fake_metric(&e, pendulum, "angle"), *rate = fake_values(&e, "rate");
    for (int k = 0; k < 4; k++) {
        assert_near(angle[(int)at[k][0]], at[k][1], 1e-6);
        assert_near(rate[(int)at[k][0]], at[k][2], 1e-6);
    }
    for (int k = 0; k < 7; k++) {
        assert_near(fake_eval(&e, (const double[]){loss[k][0], 9.91}, NULL, 0, NULL) / 2, loss[k][1],
                    loss[k][2]);
    }
    fake_env_close(&e);
}

static void optimum(void **state)
{
    (void)state;
    static const char *const observe[] = {"observe=image", "observe=state"};
    static const struct {
        const char *name;
        const double *truth;
    } scenes[] = {{"envs/rigid_contact", truth}, {"envs/pendulum_id", pendulum}};
    for (int k = 0; k < 4; k++) {
        fake_env e;
        fake_env_open(&e, scenes[k / 2].name, (const char *const[]){observe[k % 2], NULL}, 0, 0);
        assert_true(fake_eval(&e, scenes[k / 2].truth, NULL, 0, NULL) < 1e-20);
        assert_true(fake_eval(&e, e.x0, NULL, 0, NULL) > 1e-4);
        fake_env_close(&e);
    }
}

static double along(fake_env *e, const double *x, const double *v, double h)
{
    double at[MOST];
    for (uint64_t i = 0; i < e->info.n; i++) {
        at[i] = x[i] + h * v[i];
    }
    return fake_eval(e, at, NULL, 0, NULL);
}

/* Over whole episodes with all of their contacts, between two switches of which the quotient of some step lies. */
static void derivatives(void **state)
{
    (void)state;
    static const struct {
        const char *name, *settings[4];
    } scenes[] = {{"envs/rigid_contact", {"image_size=32"}},
                  {"envs/rigid_contact",
                   {"observe=state", "variables=density ke kd kf mu gravity position velocity turn spin"}},
                  {"envs/rigid_contact", {"image_size=32", "variables=turn velocity spin"}},
                  {"envs/rigid_mass", {"image_size=32"}},
                  {"envs/rigid_mass", {"scene=video", "variables=masses", "observe=state"}},
                  {"envs/pendulum_id", {"image_size=32"}},
                  {"envs/pendulum_id", {"observe=state", "variables=length gravity damping angle rate"}},
                  {"envs/pendulum_id", {"image_size=32", "variables=angle rate damping", "obs=over"}}};
    for (size_t s = 0; s < sizeof scenes / sizeof *scenes; s++) {
        fake_env e;
        double v[MOST], g[MOST], slope = 0, best = HUGE_VAL;
        fake_env_open(&e, scenes[s].name, scenes[s].settings, 0, 0);
        random_numbers(e.info.n, v, s);
        fake_eval(&e, e.x0, g, 0, NULL);
        for (uint64_t i = 0; i < e.info.n; i++) {
            slope += g[i] * v[i];
        }
        for (double h = 1e-5; h > 1e-9; h *= 0.1) {
            best = fmin(best, fabs((along(&e, e.x0, v, h) - along(&e, e.x0, v, -h)) / (2 * h) - slope));
        }
        if (!(fabs(slope) > 0 && best <= 1e-5 * fabs(slope))) {
            fail_msg("%s, scene %zu: slope %.9g, quotients differ by %.3g", scenes[s].name, s, slope, best);
        }
        fake_env_close(&e);
    }
}

/* r'r is the loss, and w . J v = J' w . v. */
static void products_of(const char *name, const char *const *settings)
{
    fake_env e;
    double v[MOST], back[MOST], left = 0, right = 0, sum = 0, size = 0;
    ds_channel c = {.struct_size = sizeof c};
    fake_env_open(&e, name, settings, 0, 0);
    const ds_env_channels *channels = e.plugin->env->get_extension(e.self, DS_EXT_CHANNELS);
    assert_int_equal(channels->describe(e.self, 0, &c), DS_OK);
    const size_t m = c.shape[0];
    double *r = calloc(3 * m, sizeof *r), *jv = r + m, *w = jv + m;
    random_numbers(e.info.n, v, 11);
    random_numbers(m, w, 12);
    ds_ask value = {.struct_size = sizeof value, .op = DS_ASK_VALUE, .out = r, .out_bytes = m * sizeof *r};
    ds_ask forward = {
        .struct_size = sizeof value, .op = DS_ASK_JV, .v = v, .out = jv, .out_bytes = m * sizeof *r};
    ds_ask reverse = {.struct_size = sizeof value,
                      .op = DS_ASK_JTV,
                      .v = w,
                      .out = back,
                      .out_bytes = e.info.n * sizeof *r};
    ds_ask *asks[3] = {&value, &forward, &reverse};
    ds_eval io = {.struct_size = sizeof io, .n = e.info.n, .x = e.x0, .asks = 3, .ask = asks};
    assert_int_equal(e.plugin->env->evaluate(e.self, &io), DS_OK);
    for (size_t i = 0; i < m; i++) {
        sum += r[i] * r[i];
        left += w[i] * jv[i];
        size += fabs(w[i] * jv[i]);
    }
    for (uint64_t i = 0; i < e.info.n; i++) {
        right += back[i] * v[i];
    }
    assert_true(fabs(sum - io.loss) <= 1e-12 * io.loss);
    assert_true(size > 0 && fabs(left - right) <= 1e-9 * size);
    free(r);
    fake_env_close(&e);
}

static void products(void **state)
{
    (void)state;
    products_of("envs/rigid_contact",
                (const char *const[]){"image_size=32", "variables=density ke turn velocity", NULL});
    products_of("envs/rigid_mass",
                (const char *const[]){"image_size=32", "variables=masses", "scene=video", NULL});
    products_of("envs/rigid_mass", (const char *const[]){"observe=state", "frames=0, 7, 19", NULL});
    products_of("envs/pendulum_id",
                (const char *const[]){"image_size=32", "variables=length gravity damping angle rate", NULL});
}

static void refused(void **state)
{
    (void)state;
    fake_env_refuses("envs/rigid_contact", (const char *const[]){"variables=colour", NULL},
                     "no quantity 'colour'");
    fake_env_refuses("envs/rigid_contact", (const char *const[]){"variables=ke turn turn.x", NULL},
                     "turn.x twice");
    fake_env_refuses("envs/rigid_mass", (const char *const[]){"frames=3, 2", NULL}, "parameter frames: 2");
    fake_env_refuses("envs/rigid_mass", (const char *const[]){"frames=20", NULL}, "from 0 to 19");
    fake_env_refuses("envs/rigid_mass", (const char *const[]){"truth=0", NULL}, "no mass");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cube_moves),      cmocka_unit_test(cube_slices), cmocka_unit_test(pushed_cube),
        cmocka_unit_test(pendulum_swings), cmocka_unit_test(optimum),     cmocka_unit_test(derivatives),
        cmocka_unit_test(products),        cmocka_unit_test(refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
