/* SPDX-License-Identifier: Apache-2.0 */
/* test_swept_scenes.c - gradSim's scenes of rigid bodies: motions and losses of pictures measured once with an
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

static void optimum(void **state)
{
    (void)state;
    static const char *const observe[] = {"observe=image", "observe=state"};
    for (int k = 0; k < 2; k++) {
        fake_env e;
        fake_env_open(&e, "envs/rigid_contact", (const char *const[]){observe[k], NULL}, 0, 0);
        assert_true(fake_eval(&e, truth, NULL, 0, NULL) < 1e-20);
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
    static const char *const names[] = {"envs/rigid_contact", "envs/rigid_contact", "envs/rigid_contact",
                                        "envs/rigid_mass", "envs/rigid_mass"};
    static const char *const settings[][4] = {
        {"image_size=32", NULL},
        {"observe=state", "force=-10, 0, 3",
         "variables=density ke kd kf mu gravity position velocity turn spin", NULL},
        {"image_size=32", "variables=turn velocity spin", NULL},
        {"image_size=32", NULL},
        {"scene=video", "variables=masses", "observe=state", NULL}};
    for (size_t s = 0; s < sizeof settings / sizeof *settings; s++) {
        fake_env e;
        double v[MOST], g[MOST], slope = 0, best = HUGE_VAL;
        fake_env_open(&e, names[s], settings[s], 0, 0);
        random_numbers(e.info.n, v, s);
        fake_eval(&e, e.x0, g, 0, NULL);
        for (uint64_t i = 0; i < e.info.n; i++) {
            slope += g[i] * v[i];
        }
        for (double h = 1e-5; h > 1e-9; h *= 0.1) {
            best = fmin(best, fabs((along(&e, e.x0, v, h) - along(&e, e.x0, v, -h)) / (2 * h) - slope));
        }
        assert_true(fabs(slope) > 0 && best <= 1e-5 * fabs(slope));
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
}

static void refused(void **state)
{
    (void)state;
    fake_env_refuses("envs/rigid_contact", (const char *const[]){"variables=colour", NULL},
                     "no quantity 'colour'");
    fake_env_refuses("envs/rigid_contact", (const char *const[]){"variables=ke turn turn.x", NULL},
                     "turn.x twice");
    fake_env_refuses("envs/rigid_contact",
                     (const char *const[]){"variables=density mu", "unmodelled=friction", NULL},
                     "variables names mu");
    fake_env_refuses("envs/rigid_mass", (const char *const[]){"frames=3, 2", NULL}, "parameter frames: 2");
    fake_env_refuses("envs/rigid_mass", (const char *const[]){"frames=20", NULL}, "from 0 to 19");
    fake_env_refuses("envs/rigid_mass", (const char *const[]){"truth=0", NULL}, "no mass");
}

/* A quarter heavier on a ground a quarter stiffer it moves alike, until a known force pushes it. */
static void proportions(void **state)
{
    (void)state;
    static const char *const force[] = {"force=0, 0, 0", "force=-10, 0, 0"};
    double x[5], loss[2];
    memcpy(x, truth, sizeof x);
    for (int i = 0; i < 4; i++) {
        x[i] += 0.1;
    }
    for (int k = 0; k < 2; k++) {
        fake_env e;
        fake_env_open(&e, "envs/rigid_contact", (const char *const[]){force[k], "observe=state", NULL}, 0, 0);
        loss[k] = fake_eval(&e, x, NULL, 0, NULL);
        assert_true(fake_eval(&e, truth, NULL, 0, NULL) < 1e-20);
        fake_env_close(&e);
    }
    assert_true(loss[0] < 1e-16 && loss[1] > 1e-3);
}

/* A model without the friction or the damping of the target does not get to it at the truth; its gradient is exact. */
static void imperfect(void **state)
{
    (void)state;
    static const char *const lacks[] = {"unmodelled=friction", "unmodelled=damping"};
    for (int k = 0; k < 2; k++) {
        fake_env e;
        double g, at[2];
        const double h = 1e-6;
        fake_env_open(&e, "envs/rigid_contact",
                      (const char *const[]){lacks[k], "variables=density", "observe=state", NULL}, 0, 0);
        assert_true(fake_eval(&e, truth, &g, 0, NULL) > 1e-3);
        for (int side = 0; side < 2; side++) {
            const double x = truth[0] + (side ? h : -h);
            at[side] = fake_eval(&e, &x, NULL, 0, NULL);
        }
        assert_near(g, (at[1] - at[0]) / (2 * h), 1e-5 * fabs(g));
        fake_env_close(&e);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cube_moves), cmocka_unit_test(cube_slices), cmocka_unit_test(pushed_cube),
        cmocka_unit_test(optimum),    cmocka_unit_test(derivatives), cmocka_unit_test(products),
        cmocka_unit_test(refused),    cmocka_unit_test(proportions), cmocka_unit_test(imperfect),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
