/* SPDX-License-Identifier: Apache-2.0 */
/* test_soft_scenes.c - gradSim's scenes of deformable bodies, with losses of states and of images: figures
 * measured once with an independent program, optima, derivatives against central differences, residuals with
 * their products. */
#include "host.h"
#include "temporary.h"
#include "test.h"

#include <diffsim/ext/channel.h>
#include <diffsim/helper/random.h>

enum { MOST = 1024 };

/* Short episodes and small images of each scene, smooth at the points drawn here. */
static const struct {
    const char *name;
    const char *const settings[8];
    double agree; /* relative agreement of a directional derivative with its quotient */
} scenes[] = {
    {"envs/beam", {"duration=0.2", "frames=3", "image_size=32"}, 1e-6},
    {"envs/beam",
     {"duration=0.2", "frames=3", "observe=state", "variables=masses damping position turn velocity gravity"},
     1e-6},
    {"envs/beam",
     {"duration=0.1", "frames=2", "image_size=32", "obs=over", "variables=density gravity"},
     1e-4},
    {"envs/soft_ball", {"duration=0.2", "frames=3", "image_size=32", "variables=velocity mu turn"}, 1e-6},
    {"envs/soft_ball",
     {"duration=0.5", "frames=2", "observe=state", "variables=contact_ke contact_kd mu density"},
     1e-3},
    {"envs/cloth_velocity", {"duration=0.2", "frames=3", "image_size=32"}, 1e-5},
    {"envs/cloth_velocity",
     {"duration=0.2", "frames=2", "observe=state", "variables=velocities stretch area damping bend masses"},
     1e-6},
    {"envs/cloth_velocity",
     {"duration=0.2", "frames=2", "observe=state", "variables=rest_areas rest_angle velocity"},
     1e-5},
    {"envs/cloth_velocity",
     {"duration=0.1", "frames=2", "observe=state", "variables=rest_area rest_angles", "image_size=16"},
     1e-5},
    {"envs/cloth_velocity",
     {"scene=slide", "duration=0.3", "frames=2", "observe=state", "velocity=3,0,0",
      "variables=contact_mu contact_ke contact_kf rest_area"},
     1e-3},
    {"envs/soft_ball",
     {"shape=cube", "substeps=16", "frames=9", "camera=10,30,0", "image_size=32", "variables=density",
      "contact=3267,10,33,0.3"},
     1e-3},
    {"envs/jellyfish", {"duration=0.3"}, 1e-5},
    {"envs/jellyfish",
     {"duration=0.1", "observe=image", "image_size=32", "controller=full", "variables=bend rest_area lift"},
     1e-5},
    {"envs/cloth_throw", {"duration=0.2", "image_size=32", "target=-4"}, 1e-5},
    {"envs/cloth_throw",
     {"duration=0.3", "observe=state", "variables=velocity lift drag mass bend turn"},
     1e-6},
    {"envs/walker", {"duration=0.2", "image_size=32"}, 1e-3},
    {"envs/walker",
     {"duration=0.2", "observe=state", "controller=full", "variables=weights stretch area"},
     1e-3},
    {"envs/walker", {"duration=0.2", "observe=state", "variables=stretch area"}, 1e-3},
    {"envs/gear", {"duration=0.2"}, 1e-6},
    {"envs/gear", {"duration=0.1", "observe=image", "image_size=32", "variables=weights velocity"}, 1e-6},
    {"envs/spring_cage", {"cube=true", "variables=rest stiff damp mass velocity gravity"}, 1e-6},
    {"envs/spring_cage", {"observe=image", "image_size=32", "target=0.05,0.05,0"}, 1e-6},
};
enum { SCENES = sizeof scenes / sizeof *scenes };

static void random_numbers(uint64_t n, double *x, uint64_t key)
{
    ds_random r = ds_random_open(key, "soft scenes", 0);
    for (uint64_t i = 0; i < n; i++) {
        x[i] = 2 * ds_random_uniform(&r) - 1;
    }
}

/* A point near the start, inside the box. */
static void near_start(const fake_env *e, double *x, uint64_t key)
{
    random_numbers(e->info.n, x, key);
    for (uint64_t i = 0; i < e->info.n; i++) {
        x[i] = fmax(e->lower[i], fmin(e->upper[i], e->x0[i] + 0.02 * (e->upper[i] - e->lower[i]) * x[i]));
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

/* The derivative along v agrees with the closest of four quotients. */
static void derivative_agrees(fake_env *e, const char *name, double agree)
{
    double x[MOST], v[MOST], g[MOST], slope = 0, best = HUGE_VAL;
    uint32_t outcome = 0;
    near_start(e, x, 1);
    random_numbers(e->info.n, v, 2);
    fake_eval(e, x, g, 0, &outcome);
    assert_int_equal(outcome, DS_EVAL_OK);
    for (uint64_t i = 0; i < e->info.n; i++) {
        slope += g[i] * v[i];
    }
    assert_true(fabs(slope) > 0);
    for (double h = 1e-4; h > 1e-8; h *= 0.1) {
        const double q = (along(e, x, v, h) - along(e, x, v, -h)) / (2 * h);
        best = fmin(best, fabs(q - slope) / fabs(slope));
    }
    if (!(best <= agree)) {
        print_message("%s: derivative %.9g, best quotient off by %.2g of it\n", name, slope, best);
    }
    assert_true(best <= agree);
}

/* Residuals r, J v and J' w: r'r is the loss, J v the derivative of r, and w . J v = J' w . v. */
static void products_agree(fake_env *e, double agree)
{
    const ds_env_channels *channels = e->plugin->env->get_extension(e->self, DS_EXT_CHANNELS);
    ds_channel c = {.struct_size = sizeof c};
    double x[MOST], v[MOST], back[MOST], left = 0, right = 0, sum = 0, error = 0, size = 0;
    assert_non_null(channels);
    assert_int_equal(channels->describe(e->self, 0, &c), DS_OK);
    assert_int_equal(c.role, DS_CHANNEL_RESIDUAL);
    const size_t m = c.shape[0];
    double *r = calloc(4 * m, sizeof *r), *jv = r + m, *w = jv + m, *there = w + m;
    ds_eval_query value = {.op = DS_QUERY_VALUE, .out = r, .bytes = m * sizeof *r};
    ds_eval_query forward = {.op = DS_QUERY_JV, .v = v, .out = jv, .bytes = m * sizeof *r};
    ds_eval_query reverse = {.op = DS_QUERY_JTV, .v = w, .out = back, .bytes = e->info.n * sizeof *r};
    ds_eval_query *asks[3] = {&value, &forward, &reverse};
    ds_eval io = {.bad_step = -1, .n = e->info.n, .x = x, .queries = 3, .query = asks};
    near_start(e, x, 3);
    random_numbers(e->info.n, v, 4);
    random_numbers(m, w, 5);
    assert_int_equal(ds_eval_call(e->plugin->env, e->self, &io), DS_OK);
    assert_int_equal(io.outcome, DS_EVAL_OK);
    for (size_t i = 0; i < m; i++) {
        sum += r[i] * r[i];
        left += w[i] * jv[i];
        size += fabs(w[i] * jv[i]);
        there[i] = r[i];
    }
    for (uint64_t i = 0; i < e->info.n; i++) {
        right += back[i] * v[i];
    }
    assert_true(fabs(sum - io.loss) <= 1e-12 * io.loss);
    assert_true(fabs(left - right) <= 1e-9 * size);
    const double h = 1e-6;
    double ends[2][MOST], norm = 0;
    for (int k = 0; k < 2; k++) {
        for (uint64_t i = 0; i < e->info.n; i++) {
            ends[k][i] = x[i] + (k ? -h : h) * v[i];
        }
        io.x = ends[k];
        io.queries = 1;
        assert_int_equal(ds_eval_call(e->plugin->env, e->self, &io), DS_OK);
        for (size_t i = 0; i < m; i++) {
            there[i] = k == 0 ? r[i] : (there[i] - r[i]) / (2 * h);
        }
    }
    for (size_t i = 0; i < m; i++) {
        error += (there[i] - jv[i]) * (there[i] - jv[i]);
        norm += jv[i] * jv[i];
    }
    assert_true(norm > 0);
    if (!(sqrt(error / norm) <= 30 * agree)) {
        print_message("J v is off by %.2g\n", sqrt(error / norm));
    }
    assert_true(sqrt(error / norm) <= 30 * agree);
    free(r);
}

/* Scene files in which everything is a variable. */
static void derivatives_of_files(void **state)
{
    static const struct {
        const char *env, *file;
        uint64_t n;
        double agree;
    } files[] = {{"envs/cloth", "membranes.ini", 65, 1e-5},
                 {"envs/soft", "solids.ini", 63, 1e-4},
                 {"envs/soft", "pressed.ini", 16, 1e-4}};
    const char *top = getenv("DS_TOP_SRC");
    char scene[4096];
    fake_env e;
    for (size_t k = 0; k < sizeof files / sizeof *files; k++) {
        snprintf(scene, sizeof scene, "scene=%s/tests/data/scenes/%s", top != NULL ? top : ".",
                 files[k].file);
        fake_env_open(&e, files[k].env, (const char *const[]){scene, NULL}, 0, 0);
        assert_int_equal(e.info.n, files[k].n);
        derivative_agrees(&e, files[k].file, files[k].agree);
        products_agree(&e, files[k].agree);
        fake_env_close(&e);
    }
}

static void derivatives(void **state)
{
    for (int k = 0; k < SCENES; k++) {
        fake_env e;
        fake_env_open(&e, scenes[k].name, scenes[k].settings, 0, 0);
        derivative_agrees(&e, scenes[k].name, scenes[k].agree);
        products_agree(&e, scenes[k].agree);
        fake_env_close(&e);
    }
}

/* ---- figures ---- */

/* The loss of the images over the Lame parameters of the beam, as drawn from 128 x 128 pixels. */
static void beam_slices(void **state)
{
    static const double at[][3] = {{100, 1000, 1.58e-2}, {410, 1000, 5.0e-3}, {809, 1000, 5.6e-4},
                                   {2000, 1000, 2.4e-3}, {1000, 100, 8.9e-3}, {1000, 410, 6.8e-4},
                                   {1000, 2000, 2.0e-4}};
    fake_env e;
    fake_env_open(&e, "envs/beam",
                  (const char *const[]){"obs=rgba", "image_size=128", "antialias=true", NULL}, 0, 0);
    for (size_t k = 0; k < sizeof at / sizeof *at; k++) {
        const double x[2] = {log10(at[k][0]), log10(at[k][1])};
        assert_near(fake_eval(&e, x, NULL, 0, NULL), at[k][2], 0.05 * at[k][2]);
    }
    assert_near(fake_eval(&e, (const double[2]){3, 3}, NULL, 0, NULL), 0, 0);
    fake_env_close(&e);
}

/* The centre of the ball with the target's own parameters. After the first contact the diagonals of its mesh
 * matter, which the measured scene does not define. */
static void ball_flies(void **state)
{
    static const double at[][3] = {{0.2, -1.6, 1.80349},
                                   {0.4, -1.2, 1.21498},
                                   {0.6, -0.81371, 0.44481},
                                   {1, -0.26490, 1.26751},
                                   {2, 0.89763, 1.13572}};
    fake_env e;
    const double x[2] = {3, 3};
    fake_env_open(&e, "envs/soft_ball", (const char *const[]){"observe=state", NULL}, 0, 0);
    for (size_t k = 0; k < sizeof at / sizeof *at; k++) {
        const size_t frame = (size_t)round(30 * at[k][0]);
        const double tolerance = at[k][0] < 0.5 ? 1e-5 : 1.5e-3;
        assert_near(fake_metric(&e, x, "x")[frame], at[k][1], tolerance);
        assert_near(fake_values(&e, "y")[frame], at[k][2], tolerance);
    }
    assert_near(fake_eval(&e, x, NULL, 0, NULL), 0, 0);
    fake_env_close(&e);
}

/* Without weights the gear rolls back and the walker stands. */
static void no_control(void **state)
{
    const double x[32] = {0};
    fake_env e;
    fake_env_open(&e, "envs/gear", NULL, 0, 0);
    assert_int_equal(e.info.n, 32);
    const double end = fake_metric(&e, x, "x")[e.info.steps],
                 miss = fake_values(&e, "distance")[e.info.steps];
    assert_near(end, -2.558, 0.02);
    assert_near(fake_eval(&e, x, NULL, 0, NULL), miss * miss / 3, 1e-12);
    fake_env_close(&e);
    fake_env_open(&e, "envs/walker", (const char *const[]){"observe=state", NULL}, 0, 0);
    assert_int_equal(e.info.n, 8);
    assert_near(fake_metric(&e, x, "x")[e.info.steps], 0, 0.01);
    fake_env_close(&e);
}

/* Every scene with its defaults: the start has a positive loss, and a simulated target has loss 0 at the
 * truth. */
static void defaults(void **state)
{
    static const struct {
        const char *name;
        double truth[3];
        int n; /* of the truth; 0: none */
    } scene[] = {
        {"envs/beam", {3, 3}, 2},     {"envs/soft_ball", {3, 3}, 2}, {"envs/cloth_velocity", {1, 0, 0}, 3},
        {"envs/cloth_throw", {0}, 0}, {"envs/walker", {0}, 0},       {"envs/gear", {0}, 0},
        {"envs/spring_cage", {0}, 0}, {"envs/jellyfish", {0}, 0}};
    for (size_t k = 0; k < sizeof scene / sizeof *scene; k++) {
        fake_env e;
        uint32_t outcome = DS_EVAL_DIVERGED;
        fake_env_open(&e, scene[k].name, NULL, 0, 0);
        assert_true(fake_eval(&e, e.x0, NULL, 0, &outcome) > 1e-4);
        assert_int_equal(outcome, DS_EVAL_OK);
        if (scene[k].n > 0) {
            assert_int_equal(e.info.n, scene[k].n);
            assert_near(fake_eval(&e, scene[k].truth, NULL, 0, NULL), 0, 0);
        }
        fake_env_close(&e);
    }
}

/* The best throw of an independent program. */
static void throw_hits(void **state)
{
    fake_env e;
    fake_env_open(&e, "envs/cloth_throw", (const char *const[]){"observe=state", NULL}, 0, 0);
    assert_true(fake_eval(&e, (const double[3]){9.1, -3.4, 0.03}, NULL, 0, NULL) < 0.02);
    fake_env_close(&e);
}

static void sizes(void **state)
{
    static const struct {
        const char *name, *setting;
        uint64_t n;
    } cases[] = {{"envs/gear", "controller=full", 9216},
                 {"envs/walker", "controller=full", 832},
                 {"envs/cloth_velocity", "variables=velocities", 693},
                 {"envs/soft_ball", "variables=masses", 85},
                 {"envs/spring_cage", "cube=true", 8},
                 {"envs/cloth_throw", "cells=20", 3},
                 {"envs/cloth_velocity", "variables=rest_areas", 400},
                 {"envs/jellyfish", "controller=rings", 8},
                 {"envs/jellyfish", "controller=full", 1280}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        fake_env e;
        fake_env_open(&e, cases[k].name,
                      (const char *const[]){cases[k].setting, "duration=0.05", "image_size=16", NULL}, 0, 0);
        assert_int_equal(e.info.n, cases[k].n);
        fake_env_close(&e);
    }
}

/* Velocities start at random or equal. */
static void starts_of_velocities(void **state)
{
    static const char *const spread[] = {"start_spread=1", "start_spread=0.5", "start_spread=0"};
    double start[3][MOST];
    for (size_t k = 0; k < 3; k++) {
        fake_env e;
        fake_env_open(&e, "envs/cloth_velocity",
                      (const char *const[]){spread[k], "duration=0.05", "image_size=16", NULL}, 0, 0);
        memcpy(start[k], e.x0, e.info.n * sizeof *e.x0);
        fake_env_close(&e);
    }
    for (size_t i = 0; i < 3; i++) {
        assert_true(start[0][i] > -0.01 && start[0][i] < 0.99);
        assert_near(start[1][i] + 0.01, 0.5 * (start[0][i] + 0.01), 1e-15);
        assert_near(start[2][i], -0.01, 0);
    }
    assert_true(fabs(start[0][0] - start[0][1]) > 0.01);
}

/* The velocity of the target: when one of three variables changes from -2 to 2, the mean error falls by 2/3
 * of it. */
static void find_throw(const char *setting, const char *velocity, double v[3])
{
    fake_env e;
    fake_env_open(
        &e, "envs/cloth_velocity",
        (const char *const[]){setting, velocity, "duration=0.05", "frames=3", "image_size=16", NULL}, 0, 0);
    const double least = fake_metric(&e, (const double[3]){-2, -2, -2}, "error")[0];
    for (int d = 0; d < 3; d++) {
        double x[3] = {-2, -2, -2};
        x[d] = 2;
        v[d] = 1.5 * (least - fake_metric(&e, x, "error")[0]);
    }
    assert_near(fake_eval(&e, v, NULL, 0, NULL), 0, 1e-20);
    fake_env_close(&e);
}

/* A number selects a throw: its speed is parameter velocity, its direction is drawn. */
static void throws_are_drawn(void **state)
{
    double v[4][3];
    find_throw("throw=0", "velocity=0.5,-1,0.7", v[0]);
    assert_near(fabs(v[0][0] - 0.5) + fabs(v[0][1] + 1) + fabs(v[0][2] - 0.7), 0, 1e-12);
    find_throw("throw=1", "velocity=1,0,0", v[1]);
    find_throw("throw=2", "velocity=1,0,0", v[2]);
    find_throw("throw=2", "velocity=0,0,1.5", v[3]);
    for (int d = 0; d < 3; d++) {
        assert_near(v[3][d], 1.5 * v[2][d], 1e-12);
    }
    for (int k = 1; k < 3; k++) {
        assert_near(v[k][0] * v[k][0] + v[k][1] * v[k][1] + v[k][2] * v[k][2], 1, 1e-12);
    }
    assert_true(fabs(v[1][0] - v[2][0]) + fabs(v[1][1] - v[2][1]) + fabs(v[1][2] - v[2][2]) > 0.1);
}

/* A deformable cube has the start, the weight and the compared states of the rigid one; until it touches the
 * ground its centre moves alike. */
static void soft_cube_flies_as_the_rigid_one(void **state)
{
    static const char *const names[] = {"envs/soft_ball", "envs/rigid_contact"};
    const double density = log10(5);
    double y[2][30];
    for (int k = 0; k < 2; k++) {
        fake_env e;
        ds_channel c = {.struct_size = sizeof c};
        fake_env_open(&e, names[k],
                      (const char *const[]){"substeps=16", "frames=9", "variables=density", "image_size=16",
                                            "object=3", k ? NULL : "shape=cube", NULL},
                      0, 0);
        assert_near(e.lower[0], 0.30103, 0);
        assert_near(e.upper[0], 1.07918, 0);
        memcpy(y[k], fake_metric(&e, &density, "y"), 24 * sizeof **y);
        const ds_env_channels *channels = e.plugin->env->get_extension(e.self, DS_EXT_CHANNELS);
        assert_int_equal(channels->describe(e.self, 1, &c), DS_OK);
        assert_int_equal(c.shape[1], 9 * 16);
        fake_env_close(&e);
    }
    for (int t = 0; t < 20; t++) {
        assert_near(y[0][t], y[1][t], 1e-9);
    }
}

/* A sliding cloth loses mu g of its speed each second, from its landing on. */
static void cloth_slides(void **state)
{
    static const double mu[] = {0, 0.2, 0.4};
    fake_env e;
    fake_env_open(&e, "envs/cloth_velocity",
                  (const char *const[]){"scene=slide", "velocity=5,0,0", "variables=contact_mu", "duration=1",
                                        "image_size=16", NULL},
                  0, 0);
    for (size_t k = 0; k < 3; k++) {
        const double *x = fake_metric(&e, &mu[k], "x");
        const double speed[2] = {30 * (x[16] - x[15]), 30 * (x[28] - x[27])};
        assert_near((speed[0] - speed[1]) / 0.4, 9.8 * mu[k], 0.02 * 9.8);
    }
    fake_env_close(&e);
}

/* Internal forces do not move the centre of a jellyfish: without lift and drag it stays. Without actuation it
 * rests; with it, it swims. */
static void jellyfish_swims_by_lift(void **state)
{
    double x[10] = {1, 0.5, -1, 0.5, 1, -1, 0.5, 1, 0, 0}, still[8] = {0};
    fake_env e;
    fake_env_open(&e, "envs/jellyfish", (const char *const[]){"variables=weights lift drag", NULL}, 0, 0);
    assert_int_equal(e.info.n, 10);
    const double start = fake_metric(&e, x, "y")[0];
    assert_near(fake_values(&e, "y")[e.info.steps], start, 1e-9);
    x[8] = 1000;
    x[9] = 100;
    assert_true(fabs(fake_metric(&e, x, "y")[e.info.steps] - start) > 0.01);
    assert_near(fake_values(&e, "x")[e.info.steps], 0, 1e-9);
    fake_env_close(&e);
    fake_env_open(&e, "envs/jellyfish", NULL, 0, 0);
    assert_near(fake_metric(&e, still, "y")[e.info.steps], start, 1e-12);
    assert_near(fake_eval(&e, still, NULL, 0, NULL), 0.03, 1e-9);
    fake_env_close(&e);
}

/* Size, height and goal of a thrown cloth depend on the number of the object. */
static void scenes_of_throws(void **state)
{
    double height[3];
    for (int k = 1; k <= 3; k++) {
        char object[20];
        fake_env e;
        snprintf(object, sizeof object, "object=%d", k);
        fake_env_open(
            &e, "envs/cloth_throw",
            (const char *const[]){object, "observe=state", "duration=0.05", "variables=velocities", NULL}, 0,
            0);
        const double across = sqrt((double)e.info.n / 3);
        assert_near(across, round(across), 0);
        assert_true(across >= 9 && across <= 32);
        height[k - 1] = fake_metric(&e, e.x0, "y")[0];
        fake_env_close(&e);
    }
    assert_true(height[0] != height[1] && height[1] != height[2] && height[2] != height[0]);
}

/* 8 x 8 grey pixels; the first row is white. */
static const uint8_t white_row[] = {
    137, 80, 78, 71, 13, 10,  26,  10,  0,  0,  0,   13, 73, 72, 68, 82, 0,  0,   0,   8,   0,   0,  0,  8,
    8,   0,  0,  0,  0,  225, 100, 225, 87, 0,  0,   0,  14, 73, 68, 65, 84, 120, 218, 99,  248, 15, 5,  12,
    148, 1,  0,  26, 74, 7,   249, 92,  12, 11, 182, 0,  0,  0,  0,  73, 69, 78,  68,  174, 66,  96, 130};

/* Target images from a PNG file replace the simulated ones and are compared. */
static void target_from_file(void **state)
{
    temporary t;
    char setting[600];
    fake_env e;
    double picture[64], target[64], sum = 0;
    temporary_open(&t);
    FILE *f = fopen(temporary_path(&t, "target.png"), "wb");
    assert_int_equal(fwrite(white_row, 1, sizeof white_row, f), sizeof white_row);
    fclose(f);
    snprintf(setting, sizeof setting, "target_image=%s", t.path);
    fake_env_open(&e, "envs/cloth_throw",
                  (const char *const[]){setting, "image_size=8", "duration=0.1", NULL}, 0, 0);
    ds_eval_query asks[2] = {{.op = DS_QUERY_VALUE, .channel = 1, .out = picture, .bytes = sizeof picture},
                             {.op = DS_QUERY_VALUE, .channel = 2, .out = target, .bytes = sizeof target}};
    ds_eval_query *ask[2] = {&asks[0], &asks[1]};
    ds_eval io = {.bad_step = -1, .n = e.info.n, .x = e.x0, .queries = 2, .query = ask};
    assert_int_equal(ds_eval_call(e.plugin->env, e.self, &io), DS_OK);
    for (int i = 0; i < 64; i++) {
        assert_near(target[i], i < 8, 0);
        sum += (picture[i] - target[i]) * (picture[i] - target[i]);
    }
    assert_near(io.loss, sum / 64, 1e-15);
    fake_env_close(&e);
    fake_env_refuses("envs/cloth_throw", (const char *const[]){setting, "image_size=9", NULL},
                     "8 x 8 pixels: give 9 x 9");
    temporary_close(&t);
}

/* A product that is not finite is reported as missing. */
static void broken_product(void **state)
{
    enum { MOST_RESIDUALS = 3000 };
    static const char *const settings[] = {"variables=position", "observe=state", "duration=0.02", "frames=2",
                                           NULL};
    static double w[MOST_RESIDUALS];
    fake_env e;
    ds_channel c = {.struct_size = sizeof c};
    double back[3] = {1, 1, 1};
    fake_env_open(&e, "envs/soft_ball", settings, 0, 0);
    const ds_env_channels *channels = e.plugin->env->get_extension(e.self, DS_EXT_CHANNELS);
    assert_non_null(channels);
    assert_int_equal(channels->describe(e.self, 0, &c), DS_OK);
    assert_true(c.shape[0] <= MOST_RESIDUALS);
    for (uint64_t i = 0; i < c.shape[0]; i++) {
        w[i] = 1e308;
    }
    ds_eval_query ask = {.op = DS_QUERY_JTV, .v = w, .out = back, .bytes = sizeof back};
    ds_eval_query *asks[1] = {&ask};
    ds_eval io = {.bad_step = -1, .n = 3, .x = e.x0, .queries = 1, .query = asks};
    assert_int_equal(ds_eval_call(e.plugin->env, e.self, &io), DS_OK);
    assert_int_equal(io.outcome, DS_EVAL_BAD_GRAD);
    assert_true(back[0] == 0 && back[1] == 0 && back[2] == 0);
    fake_env_close(&e);
}

/* Residuals of a state of walker, J v along v[8] and J' w. */
static void walker_products(fake_env *e, const double *x, const double *v, const double *w, double r[3],
                            double jv[3], double *back)
{
    ds_eval_query ask[] = {{.op = DS_QUERY_VALUE, .out = r, .bytes = 3 * sizeof *r},
                           {.op = DS_QUERY_JV, .v = v, .out = jv, .bytes = 3 * sizeof *r},
                           {.op = DS_QUERY_JTV, .v = w, .out = back, .bytes = 8 * sizeof *r}};
    ds_eval_query *asks[] = {ask, ask + 1, ask + 2};
    ds_eval io = {.bad_step = -1, .n = 8, .x = x, .queries = 3, .query = asks};
    assert_int_equal(ds_eval_call(e->plugin->env, e->self, &io), DS_OK);
    assert_int_equal(io.outcome, DS_EVAL_OK);
}

/* The walker is a sheet that moves in a plane. Across the plane the adjoint grows by 1e300 within the episode
 * and would overflow, though its part of the gradient is 0. */
static void flat_sheet_has_gradients(void **state)
{
    static const double x[8] = {-1.6574033314255026, -1.0527579736156012, 1.2050978608255876,
                                0.32864814425747113, -1.6234854310384033, -0.2674922390541048,
                                -0.0837948074366639, -1.3610443414516857};
    static const double v[8] = {1, -0.5, 0.25, 2, -1, 0.75, -0.3, 1};
    double g[8], back[8], r[3], jv[3], slope = 0, by_products = 0, size = 0;
    uint32_t outcome = 0;
    fake_env e;
    fake_env_open(&e, "envs/walker", (const char *const[]){"observe=state", NULL}, 0, -INFINITY);
    fake_eval(&e, x, g, 0, &outcome);
    assert_int_equal(outcome, DS_EVAL_OK);
    const double across[2][3] = {{0, 0, 1}, {0, 0, 1e-300}};
    for (int k = 0; k < 2; k++) {
        walker_products(&e, x, v, across[k], r, jv, back);
        for (int i = 0; i < 8; i++) {
            assert_true(back[i] == 0);
        }
        assert_true(r[2] == 0 && jv[2] == 0);
    }
    const double w[3] = {2 * r[0], 2 * r[1], 5};
    walker_products(&e, x, v, w, r, jv, back);
    for (int i = 0; i < 8; i++) {
        slope += g[i] * v[i];
        size += fabs(g[i] * v[i]);
        assert_near(back[i], g[i], 1e-12 * fabs(g[i]));
    }
    by_products = 2 * (r[0] * jv[0] + r[1] * jv[1]);
    assert_true(size > 0);
    assert_near(slope, by_products, 1e-9 * size);
    fake_env_close(&e);
}

static void refused(void **state)
{
    fake_env_refuses("envs/beam", (const char *const[]){"variables=mu colour", NULL},
                     "unknown variable 'colour'");
    fake_env_refuses("envs/beam", (const char *const[]){"variables=mu mu", NULL}, "same numbers");
    fake_env_refuses("envs/beam", (const char *const[]){"variables=density masses", NULL}, "same numbers");
    fake_env_refuses("envs/beam", (const char *const[]){"variables=", NULL}, "variables is empty");
    fake_env_refuses("envs/soft_ball", (const char *const[]){"near=inverse", NULL},
                     "masses are not variables");
    fake_env_refuses("envs/spring_cage", (const char *const[]){"observe=image", "obs=over", NULL},
                     "silhouettes only");
    fake_env_refuses("envs/spring_cage", (const char *const[]){"observe=image", "renderer=dibr", NULL},
                     "silhouettes only");
    fake_env_refuses("envs/beam", (const char *const[]){"camera=4,30", NULL},
                     "distance, elevation and azimuth");
    fake_env_refuses("envs/beam", (const char *const[]){"camera=0,0,0", NULL}, "camera 1");
    fake_env_refuses("envs/beam", (const char *const[]){"truth=1e7,1e7,1e7,1", NULL}, "diverges");
    fake_env_refuses("envs/cloth_velocity",
                     (const char *const[]){"truth=1e4,1e4,100,0", "variables=velocity bend", NULL},
                     "parameter truth: variable bend is a logarithm");
    fake_env_refuses("envs/cloth_velocity",
                     (const char *const[]){"truth=1e4,1e4,0,100", "variables=damping", "object=1", NULL},
                     "parameter truth: variable damping is a logarithm");
    fake_env_refuses("envs/cloth_velocity", (const char *const[]){"variables=contact_mu", NULL},
                     "unknown variable 'contact_mu'");
    fake_env_refuses("envs/cloth_velocity", (const char *const[]){"variables=rest_area rest_areas", NULL},
                     "same numbers");
    fake_env_refuses("envs/soft_ball",
                     (const char *const[]){"contact=1e4,0,10,0.5", "variables=contact_kd", NULL},
                     "parameter contact: variable contact_kd is a logarithm");
}

RUN_TESTS(derivatives, derivatives_of_files, beam_slices, ball_flies, no_control, sizes, starts_of_velocities,
          throws_are_drawn, target_from_file, cloth_slides, soft_cube_flies_as_the_rigid_one,
          jellyfish_swims_by_lift, scenes_of_throws, flat_sheet_has_gradients, refused, defaults, throw_hits,
          broken_product)
