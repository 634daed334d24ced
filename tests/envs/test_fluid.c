/* SPDX-License-Identifier: Apache-2.0 */
/* test_fluid.c - environment fluid: figures measured once with an independent program, physical limits,
 * gradients against central differences, both engines. With SLOW: more points, whole episodes, the default
 * preset. */
#include "host.h"
#include "sanitizers.h"
#include "test.h"

#include <diffsim/ext/scene.h>
#include <diffsim/helper/random.h>

enum { MOST = 100 };

#ifdef SLOW
static const int points = 12, episodes = 4, presets = 2;
#else
static const int points = 1, episodes = 1, presets = 1;
#endif

/* Whole episodes above the small preset take too long with sanitizers. */
static void not_under_sanitizers(void)
{
    if (SANITIZED) {
        skip();
    }
}

static const double idle[10] = {0};
static const double scoop[10] = {0, -.62, .7, 0, 0, 0, 0, .6, 0, .6};
static const double slower[10] = {0, -.62, .7, 0, 0, .3, 0, .3, 0, .3};

/* A metric at the end of the last episode. */
static double last(fake_env *e, const char *metric)
{
    return fake_values(e, metric)[e->info.steps];
}

/* The loss of an episode; checks limits that hold in all episodes. */
static double episode(fake_env *e, const double *x)
{
    const double *fastest = fake_metric(e, x, "speed"), *least = fake_values(e, "volume_least");
    const double *most = fake_values(e, "volume_most");
    for (uint64_t k = 0; k <= e->info.steps; k++) {
        assert_true(fastest[k] < 3.0 && least[k] >= 0.6 && most[k] <= 1.05);
    }
    return last(e, "loss");
}

/* Losses of four episodes, and the final position of the cube. */
static void test_measured(void **state)
{
    static const struct {
        const char *preset;
        uint64_t syrup;
        double idle, scoop, slower, height[2]; /* of the cube after the scoops */
    } want[2] = {{"preset=fast", 10204, 0.553, 0.164, 0.209, {0.157, 0.141}},
                 {"preset=default", 19136, 0.554, 0.089, 0.124, {0.249, 0.184}}};
    not_under_sanitizers();
    for (int k = 0; k < presets; k++) {
        fake_env e;
        fake_env_open(&e, "envs/fluid", SETTINGS(want[k].preset), 1, 0);
        assert_int_equal(e.info.n, 10);
        assert_int_equal(e.info.steps, 50);
        assert_near(episode(&e, idle), want[k].idle, 0.003);
        assert_near(last(&e, "cube_x"), 0.22, 0.002);
        assert_near(last(&e, "cube_y"), 0.086, 0.002);
        assert_near(last(&e, "cube_z"), 0.2, 0.001);
        assert_near(last(&e, "level"), 0.12, 0.007);
        assert_near(episode(&e, scoop), want[k].scoop, 0.01);
        assert_near(last(&e, "cube_y"), want[k].height[0], 0.005);
        assert_true(last(&e, "success") == (k == 1));
        assert_near(episode(&e, slower), want[k].slower, 0.01);
        assert_near(last(&e, "cube_y"), want[k].height[1], 0.005);
        assert_true(last(&e, "success") == 0);
        const ds_scene *scene = e.plugin->env->get_extension(e.self, DS_EXT_SCENE);
        ds_scene_body body = {.struct_size = sizeof body};
        assert_int_equal(scene->body(e.self, 0, &body), DS_OK);
        assert_int_equal(body.count, want[k].syrup);
        assert_int_equal(scene->body(e.self, 1, &body), DS_OK);
        assert_int_equal(body.count, 64);
        fake_env_close(&e);
    }
}

/* Most losses of random episodes are in the range of the paper's figures. */
static void test_range(void **state)
{
    fake_env e;
    double x[MOST];
    int usual = 0, count = 0;
    not_under_sanitizers();
    fake_env_open(&e, "envs/fluid", SETTINGS("preset=fast"), 1, 0);
    for (uint64_t k = 0; k < (uint64_t)(3 * points); k++) {
        ds_random r = ds_random_open(k, "fluid range", 0);
        for (int i = 0; i < 10; i++) {
            x[i] = 4 * ds_random_uniform(&r) - 2;
        }
        double loss = episode(&e, x);
        usual += loss > 0.1 && loss < 0.72;
        count++;
    }
    assert_true(3 * usual >= 2 * count); /* a ladle far from the cube increases it */
    fake_env_close(&e);
}

/* The ladle first dips into the syrup; otherwise nothing happens in a short episode. */
static void dive(uint64_t key, uint64_t n, double *x)
{
    ds_random r = ds_random_open(key, "fluid", 0);
    for (uint64_t i = 0; i < n; i++) {
        x[i] = 2.4 * ds_random_uniform(&r) - 1.2;
        if (i % 2 == 1 && i < n / 2) {
            x[i] = -0.3 - fabs(x[i]);
        }
    }
}

static double quotient(fake_env *e, const double *x, const double *direction, double h)
{
    double moved[MOST], value[2];
    for (int side = 0; side < 2; side++) {
        for (uint64_t i = 0; i < e->info.n; i++) {
            moved[i] = x[i] + (side ? -h : h) * direction[i];
        }
        value[side] = fake_eval(e, moved, NULL, 0, NULL);
    }
    return (value[0] - value[1]) / (2 * h);
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* One variable per step and direction; each component at a step where two quotients agree. */
static void check_components(const char *preset, const char *engine, const char *steps, const char *segments,
                             int count, double median, double most)
{
    fake_env e;
    double x[MOST], g[MOST], direction[MOST], error[MOST];
    uint64_t compared = 0, wanted = 0;
    fake_env_open(&e, "envs/fluid", SETTINGS(preset, engine, steps, segments), 1, 0);
    for (int k = 0; k < count; k++) {
        double norm = 0;
        uint64_t n = 0;
        dive((uint64_t)k, e.info.n, x);
        fake_eval(&e, x, g, 0, NULL);
        for (uint64_t i = 0; i < e.info.n; i++) {
            norm += g[i] * g[i];
        }
        norm = sqrt(norm);
        for (uint64_t i = 0; i < e.info.n; i++) {
            double q[2] = {0, INFINITY};
            memset(direction, 0, sizeof direction);
            direction[i] = 1;
            for (double h = 1e-4; h > 2e-7 && !(fabs(q[0] - q[1]) <= 2e-6 * norm); h *= 0.1) {
                q[0] = quotient(&e, x, direction, h);
                q[1] = quotient(&e, x, direction, 0.4 * h);
            }
            if (fabs(q[0] - q[1]) <= 2e-6 * norm) {
                error[n++] = fabs(g[i] - q[1]) / norm;
            }
        }
        qsort(error, n, sizeof *error, by_size);
        compared += n;
        wanted += e.info.n;
        if (!(n > 0 && error[n / 2] <= median && error[n - 1] <= most)) {
            fail_msg("point %d: %d compared, median error %.2e, largest %.2e", k, (int)n,
                     n ? error[n / 2] : HUGE_VAL, n ? error[n - 1] : HUGE_VAL);
        }
    }
    print_message("# %s %s: %d of %d components compared\n", preset, engine, (int)compared, (int)wanted);
    assert_true(compared * 10 >= wanted * 9);
    fake_env_close(&e);
}

static void test_components(void **state)
{
    check_components("preset=small", "engine=fast", "steps=10", "segments=10", points, 1e-6, 1e-5);
    check_components("preset=small", "engine=scalar", "steps=6", "segments=6", points, 1e-6, 1e-5);
#ifdef SLOW
    check_components("preset=fast", "engine=fast", "steps=12", "segments=12", 4, 1e-6, 1e-5);
    check_components("preset=fast", "engine=scalar", "steps=8", "segments=4", 1, 1e-6, 1e-5);
    check_components("preset=default", "engine=fast", "steps=10", "segments=5", 1, 1e-6, 1e-5);
#endif
}

/* The whole episode in a random direction. */
static void check_episode(const char *preset, const char *engine, int count)
{
    fake_env e;
    double g[MOST], x[MOST], direction[MOST];
    fake_env_open(&e, "envs/fluid", SETTINGS(preset, engine), 1, 0);
    for (int k = 0; k < count; k++) {
        double slope = 0, q[2] = {0, INFINITY};
        ds_random r = ds_random_open((uint64_t)k, "fluid direction", 0);
        for (int i = 0; i < 10; i++) {
            x[i] = (k % 2 ? slower : scoop)[i] + (k < 2 ? 0.01 : 0.2) * (ds_random_uniform(&r) - 0.5);
            direction[i] = ds_random_normal(&r);
        }
        fake_eval(&e, x, g, 0, NULL);
        double norm = 0;
        for (int i = 0; i < 10; i++) {
            slope += g[i] * direction[i];
            norm += g[i] * g[i];
        }
        norm = sqrt(norm);
        for (double h = 1e-5; h > 1e-8 && !(fabs(q[0] - q[1]) <= 1e-5 * norm); h *= 0.1) {
            q[0] = quotient(&e, x, direction, h);
            q[1] = quotient(&e, x, direction, 0.5 * h);
        }
        assert_near(slope, q[1], 2e-5 * norm);
        assert_near(q[0], q[1], 1e-5 * norm);
    }
    fake_env_close(&e);
}

static void test_episodes(void **state)
{
    check_episode("preset=small", "engine=fast", episodes);
#ifdef SLOW
    check_episode("preset=fast", "engine=fast", episodes);
    check_episode("preset=fast", "engine=scalar", 1);
    check_episode("preset=default", "engine=fast", 2);
#endif
}

/* Loss and gradient of one engine against the other. */
static void check_engines(const char *preset, const char *steps, const double *x, double loss_tolerance,
                          double gradient_tolerance)
{
    static const char *const settings[3][2] = {{"engine=scalar", "precision=f64"},
                                               {"engine=fast", "precision=f64"},
                                               {"engine=fast", "precision=f32"}};
    double g[3][MOST], loss[3], norm = 0;
    for (int k = 0; k < 3; k++) {
        fake_env e;
        fake_env_open(&e, "envs/fluid", SETTINGS(preset, steps, settings[k][0], settings[k][1]), 1, 0);
        loss[k] = fake_eval(&e, x, g[k], 0, NULL);
        fake_env_close(&e);
    }
    for (int i = 0; i < 10; i++) {
        norm += g[0][i] * g[0][i];
    }
    norm = sqrt(norm);
    assert_near(loss[1], loss[0], loss_tolerance);
    assert_near(loss[2], loss[0], 1e-4);
    for (int i = 0; i < 10; i++) {
        assert_near(g[1][i], g[0][i], gradient_tolerance * norm);
        assert_near(g[2][i], g[0][i], 0.02 * norm);
    }
}

static void test_engines(void **state)
{
    double x[MOST];
    dive(7, 10, x);
    check_engines("preset=small", "steps=20", x, 1e-11, 1e-8);
    if (!SANITIZED) {
        check_engines("preset=fast", "steps=10", x, 1e-11, 1e-8);
    }
#ifdef SLOW
    check_engines("preset=small", "steps=50", x, 1e-11, 1e-8);
    check_engines("preset=fast", "steps=50", scoop, 1e-10, 1e-7);
    check_engines("preset=default", "steps=50", scoop, 1e-10, 1e-7);
#endif
}

static void test_options(void **state)
{
    fake_env e;
    double x[10], g[10];
    /* a velocity outside of the box counts as the bound's and has derivative 0 */
    dive(3, 10, x);
    fake_env_open(&e, "envs/fluid", SETTINGS("preset=small", "steps=10"), 1, 0);
    for (int i = 0; i < 10; i++) {
        assert_true(e.lower[i] == -2 && e.upper[i] == 2 && e.x0[i] == 0);
    }
    x[2] = 2.5;
    double loss = fake_eval(&e, x, g, 0, NULL);
    assert_true(g[2] == 0.0 && g[3] != 0.0);
    x[2] = 2.0;
    assert_true(fake_eval(&e, x, g, 0, NULL) == loss && g[2] != 0.0);
    assert_true(fake_metric(&e, x, "loss")[e.info.steps] == loss);
    double y = last(&e, "cube_y");
    double cx = last(&e, "cube_x"), cz = last(&e, "cube_z");
    double lx = last(&e, "ladle_x");
    double level = 3 * hypot(cx - lx, cz - 0.2) + hypot(cx - 0.2, cz - 0.2);
    assert_near(loss, fmax(0, 0.2 - y) + level, 1e-12);
    fake_env_close(&e);
    fake_env_open(&e, "envs/fluid", SETTINGS("preset=small", "steps=10", "loss_sign=printed"), 1, 0);
    assert_near(fake_eval(&e, x, NULL, 0, NULL), fmax(0, y - 0.2) + level, 1e-12);
    fake_env_close(&e);

    fake_env_refuses("envs/fluid", SETTINGS("preset=small", "steps=4"), "segments = 5 and steps = 4");
}

/* Thin and thick, soft and stiff: finite results or a reported divergence. */
static void test_matter(void **state)
{
    static const char *const settings[][2] = {{"viscosity=0", "friction=0"},
                                              {"viscosity=50", "friction=10"},
                                              {"bulk=1000", "gravity=0"},
                                              {"stiffness=100000", "bulk=40000"},
                                              {"stiffness=0", "gravity=100"}};
    double g[10], x[10];
    dive(5, 10, x);
    for (size_t k = 0; k < sizeof settings / sizeof settings[0]; k++) {
        fake_env e;
        uint32_t outcome = 0;
        fake_env_open(&e, "envs/fluid", SETTINGS("preset=small", settings[k][0], settings[k][1]), 1, 0);
        double loss = fake_eval(&e, x, g, 0, &outcome);
        assert_true(outcome == DS_EVAL_DIVERGED ? isinf(loss) : isfinite(loss));
        for (int i = 0; i < 10; i++) {
            assert_true(isfinite(g[i]));
        }
        fake_env_close(&e);
    }
}

/* A light cube rises to the surface, a heavy one sinks. */
static void test_buoyancy(void **state)
{
    static const char *const density[2] = {"cube_density=200", "cube_density=5000"};
    double height[2];
    not_under_sanitizers();
    for (int k = 0; k < 2; k++) {
        fake_env e;
        fake_env_open(&e, "envs/fluid", SETTINGS("preset=fast", "steps=25", "viscosity=1", density[k]), 1, 0);
        height[k] = fake_metric(&e, idle, "cube_y")[25];
        fake_env_close(&e);
    }
    assert_true(height[0] > 0.0915 && height[1] < 0.07);
}

RUN_TESTS(test_measured, test_range, test_components, test_episodes, test_engines, test_options, test_matter,
          test_buoyancy)
