/* SPDX-License-Identifier: Apache-2.0 */
/* test_observed_scenes.c - gradSim's scenes of rigid bodies and pendula: motions and losses of pictures
 * measured once with an independent program, optima, derivatives against central differences, residuals with
 * their products. */
#include "host.h"
#include "temporary.h"
#include "test.h"
#include "test.h"

#include <diffsim/ext/channel.h>
#include <diffsim/ext/channel.h>
#include <diffsim/helper/random.h>
#include <diffsim/helper/random.h>

enum { MOST = 601 };

static const double truth[5] = {0.69897000433601886, 3.6901960800285138, 1.1760912590556813,
                                1.6989700043360187, 0.3};
static const double pendulum[2] = {1, 9.91}, twins[2] = {1, 1}, ball[2] = {1, -9};

static void random_numbers(uint64_t n, double *x, uint64_t key)
{
    ds_random r = ds_random_open(key, "swept scenes", 0);
    for (uint64_t i = 0; i < n; i++) {
        x[i] = 2 * ds_random_uniform(&r) - 1;
    }
}

static void cube_moves(void **state)
{
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

/* Raw colours of 128 x 128 pixels, where one parameter is 0.8 or 1.25 times the target's. */
static void cube_slices(void **state)
{
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

/* gradSim's landscape of the mass, raw colours of 64 x 64 pixels, and the final position of the cube. */
static void pushed_cube(void **state)
{
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

/* Recorded states, and the loss along the length. The loss of the table is the mean over two coordinates. */
static void pendulum_swings(void **state)
{
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

/* Recorded states; the energy stays constant. */
static void twins_swing(void **state)
{
    static const char *const names[4] = {"angle1", "rate1", "angle2", "rate2"};
    static const double at[2][5] = {{15, 0.47021559, -2.08813319, 1.54816316, -4.8092873},
                                    {30, -0.47509655, -4.77972741, -1.18611593, -0.34588124}};
    fake_env e;
    fake_env_open(&e, "envs/double_pendulum", NULL, 0, 0);
    assert_near(e.x0[0], 1, 0);
    assert_near(e.x0[1], 1.7, 0);
    fake_metric(&e, twins, "energy");
    for (int k = 0; k < 8; k++) {
        assert_near(fake_values(&e, names[k % 4])[(int)at[k / 4][0]], at[k / 4][1 + k % 4], 1e-6);
    }
    for (int k = 0; k < 50; k++) {
        assert_near(fake_values(&e, "energy")[k], 2.620649132739, 1e-7 * 2.62);
    }
    fake_env_close(&e);
}

/* Each bob has its own image: where only the second rod is longer the image of the first bob is unchanged. */
static void bobs_are_seen_apart(void **state)
{
    enum { SIZE = 32, FRAMES = 13, PICTURE = SIZE * SIZE };
    fake_env e;
    fake_env_open(&e, "envs/double_pendulum",
                  (const char *const[]){"image_size=32", "mass=0.001", "variables=length.2", NULL}, 0, 0);
    static double r[FRAMES * 2 * PICTURE];
    ds_eval_query ask = {.op = DS_QUERY_VALUE, .out = r, .bytes = sizeof r};
    ds_eval_query *asks[1] = {&ask};
    const double longer = 1.5;
    ds_eval io = {.bad_step = -1, .n = 1, .x = &longer, .queries = 1, .query = asks};
    assert_int_equal(ds_eval_call(e.plugin->env, e.self, &io), DS_OK);
    double red = 0, blue = 0;
    for (size_t i = 0; i < PICTURE; i++) { /* of the first frame, the start */
        red += r[i] * r[i];
        blue += r[PICTURE + i] * r[PICTURE + i];
    }
    assert_true(red == 0 && blue > 0);
    fake_env_close(&e);
}

/* A parabola up to the first bounce; along the speed all distances grow in proportion. */
static void ball_flies(void **state)
{
    fake_env e;
    double mean = 0;
    fake_env_open(&e, "envs/ball2d", (const char *const[]){"observe=state", NULL}, 0, 0);
    assert_true(e.x0[0] > 3 && e.x0[0] < 4 && e.x0[1] > -10 && e.x0[1] < -9);
    const double *x = fake_metric(&e, ball, "x"), *y = fake_values(&e, "y");
    for (int k = 0; k <= 29; k++) {
        assert_near(x[k], -7.5 + k / 30.0, 1e-12);
        assert_near(y[k], 5 - 4.5 * (k / 30.0) * (k / 30.0), 1e-12);
    }
    for (int k = 0; k < 25; k++) {
        mean += (x[1 + 4 * k] + 7.5) * (x[1 + 4 * k] + 7.5) / 25;
    }
    assert_near(fake_eval(&e, (const double[2]){3, -9}, NULL, 0, NULL), 4 * mean, 1e-11);
    fake_env_close(&e);
}

static void optimum(void **state)
{
    static const char *const observe[] = {"observe=image", "observe=state"};
    static const struct {
        const char *name;
        const double *truth;
    } scenes[] = {{"envs/rigid_contact", truth},
                  {"envs/pendulum_id", pendulum},
                  {"envs/double_pendulum", twins},
                  {"envs/ball2d", ball}};
    for (int k = 0; k < 8; k++) {
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

/* Whole episodes with all their contacts, at a step whose quotient stays between two switches. */
static void derivatives(void **state)
{
    static const struct {
        const char *name, *settings[8];
    } scenes[] = {
        {"envs/rigid_contact", {"image_size=32"}},
        {"envs/rigid_contact",
         {"observe=state", "force=-10, 0, 3",
          "variables=density ke kd kf mu gravity position velocity turn spin force"}},
        {"envs/rigid_contact", {"image_size=32", "variables=turn velocity spin"}},
        {"envs/rigid_mass", {"image_size=32"}},
        {"envs/rigid_mass", {"scene=video", "variables=masses", "observe=state"}},
        {"envs/pendulum_id", {"image_size=32"}},
        {"envs/pendulum_id", {"observe=state", "variables=length gravity damping force angle rate"}},
        {"envs/pendulum_id", {"image_size=32", "variables=angle rate damping", "obs=over"}},
        {"envs/double_pendulum", {"image_size=32"}},
        {"envs/double_pendulum", {"observe=state", "variables=length mass gravity force angle rate"}},
        {"envs/double_pendulum", {"image_size=32", "variables=angle.2 rate.1 mass", "obs=over"}},
        {"envs/ball2d", {"image_size=32"}},
        {"envs/ball2d", {"observe=state", "variables=speed gravity position"}},
        {"envs/rigid_mass", {"shape=box", "scene=video", "variables=masses", "image_size=32"}},
        {"envs/rigid_mass", {"shape=sphere", "scene=video", "variables=masses", "image_size=32"}},
        {"envs/rigid_mass", {"shape=capsule", "scene=video", "variables=masses", "observe=state"}},
        {"envs/rigid_mass", {"shape=cone", "scene=video", "variables=masses", "image_size=32"}},
        {"envs/rigid_mass", {"shape=cylinder", "scene=video", "variables=masses", "observe=state"}},
        {"envs/rigid_mass", {"stretch=1.2, 0.9, 0.8", "variables=vertices mass force", "image_size=32"}},
        {"envs/rigid_mass",
         {"scene=video", "shape=cone", "variables=vertices masses", "observe=state", "stretch=0.8, 1, 1.1"}},
        {"envs/rigid_mass", {"image_size=32", "obs=over", "variables=camera light mass"}},
        {"envs/rigid_mass",
         {"image_size=32", "obs=over", "renderer=dibr", "light=0.4, 0.4, 0.5, 10", "light_from=60, 30",
          "variables=camera light mass"}},
        {"envs/pendulum_id", {"image_size=32", "obs=over", "variables=light camera length"}},
        {"envs/rigid_mass", {"shape=cone", "image_size=32"}},
        {"envs/rigid_mass", {"shape=cylinder", "scene=video", "observe=state"}}};
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
    ds_eval_query value = {.op = DS_QUERY_VALUE, .out = r, .bytes = m * sizeof *r};
    ds_eval_query forward = {.op = DS_QUERY_JV, .v = v, .out = jv, .bytes = m * sizeof *r};
    ds_eval_query reverse = {.op = DS_QUERY_JTV, .v = w, .out = back, .bytes = e.info.n * sizeof *r};
    ds_eval_query *asks[3] = {&value, &forward, &reverse};
    ds_eval io = {.bad_step = -1, .n = e.info.n, .x = e.x0, .queries = 3, .query = asks};
    assert_int_equal(ds_eval_call(e.plugin->env, e.self, &io), DS_OK);
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
    products_of("envs/rigid_contact",
                (const char *const[]){"image_size=32", "variables=density ke turn velocity", NULL});
    products_of("envs/rigid_mass",
                (const char *const[]){"image_size=32", "variables=masses", "scene=video", NULL});
    products_of("envs/rigid_mass", (const char *const[]){"image_size=32", "obs=over",
                                                         "variables=camera light mass vertices", NULL});
    products_of("envs/rigid_mass",
                (const char *const[]){"image_size=32", "obs=over", "renderer=dibr", "light=0.4, 0.4, 0.5, 10",
                                      "variables=camera light mass", NULL});
    products_of("envs/rigid_mass", (const char *const[]){"observe=state", "frames=0, 7, 19", NULL});
    products_of("envs/rigid_mass", (const char *const[]){"stretch=1.2, 0.9, 0.8", "image_size=32",
                                                         "variables=vertices mass force", NULL});
    products_of(
        "envs/pendulum_id",
        (const char *const[]){"image_size=32", "variables=length gravity damping force angle rate", NULL});
    products_of(
        "envs/double_pendulum",
        (const char *const[]){"image_size=32", "variables=length mass gravity force angle rate", NULL});
    products_of("envs/ball2d",
                (const char *const[]){"image_size=32", "variables=speed gravity position", NULL});
    products_of("envs/rigid_mass", (const char *const[]){"shape=cone", "variables=masses", "scene=video",
                                                         "image_size=32", NULL});
}

/* A stretched cube is the box, whose vertices have the same numbers: with these offsets it moves and looks
 * alike. */
static void stretched_cube_is_the_box(void **state)
{
    char stretch[120];
    double y[40];
    const double of[3] = {1, 0.75, 0.5}, long_side = sqrt(1 + 0.5625 + 0.25);
    double offset[24];
    snprintf(stretch, sizeof stretch, "stretch=%.17g, %.17g, %.17g", of[0] / long_side * sqrt(3),
             of[1] / long_side * sqrt(3), of[2] / long_side * sqrt(3));
    fake_env e;
    fake_env_open(&e, "envs/rigid_mass", (const char *const[]){stretch, "variables=vertices", NULL}, 0, 0);
    assert_int_equal(e.info.n, 24);
    for (int i = 0; i < 24; i++) {
        const double corner = (i / 3 >> (2 - i % 3)) & 1 ? 1 : -1;
        offset[i] = corner * (of[i % 3] / long_side - 1 / sqrt(3));
    }
    assert_true(fake_eval(&e, offset, NULL, 0, NULL) < 1e-20);
    assert_true(fake_eval(&e, e.x0, NULL, 0, NULL) > 1e-4);
    memcpy(y, fake_metric(&e, offset, "y"), 21 * sizeof *y);
    fake_env_close(&e);
    fake_env_open(&e, "envs/rigid_mass", (const char *const[]){"shape=box", NULL}, 0, 0);
    const double truth_of_mass = 0, *with_box = fake_metric(&e, &truth_of_mass, "y");
    for (int t = 0; t <= 20; t++) {
        assert_near(y[t], with_box[t], 1e-12);
    }
    fake_env_close(&e);
    fake_env_open(&e, "envs/rigid_mass", (const char *const[]){stretch, "variables=mass", NULL}, 0, 0);
    assert_true(fake_eval(&e, &truth_of_mass, NULL, 0, NULL) > 1e-4); /* a wrong model */
    fake_env_close(&e);
}

/* A camera that is a variable sees what a camera at that place sees; so does a light. */
static void views_are_those_of_the_parameters(void **state)
{
    static const char *const at[2][3] = {{"camera=8,30,0", "light=0.5,0.5,0,20", "light_from=90,0"},
                                         {"camera=9,35,-20", "light=0.3,0.6,0.4,8", "light_from=50,40"}};
    enum { PIXELS = 20 * 32 * 32 * 4 };
    static double picture[2][PIXELS];
    const double x[9] = {9, 35, -20, 50, 40, 0.3, 0.6, 0.4, 8};
    for (int k = 0; k < 2; k++) {
        fake_env e;
        fake_env_open(&e, "envs/rigid_mass",
                      (const char *const[]){at[1 - k][0], at[1 - k][1], at[1 - k][2], "renderer=dibr",
                                            "obs=rgba", "image_size=32",
                                            k ? "variables=camera light" : "variables=mass", "force=0", NULL},
                      0, 0);
        ds_eval_query ask = {.op = DS_QUERY_VALUE, .channel = 1, .out = picture[k], .bytes = sizeof *picture};
        ds_eval_query *asks[1] = {&ask};
        ds_eval io = {.bad_step = -1, .n = e.info.n, .x = k ? x : e.x0, .queries = 1, .query = asks};
        assert_int_equal(e.info.n, k ? 9 : 1);
        assert_int_equal(ds_eval_call(e.plugin->env, e.self, &io), DS_OK);
        fake_env_close(&e);
    }
    assert_true(memcmp(picture[0], picture[1], sizeof *picture) == 0);
}

/* A force moves the falling cube by F / m times the sum of the steps; before the first contact. */
static void force_on_the_cube(void **state)
{
    const double force[2][3] = {{0, 0, 0}, {6, 2, 0}}, side = 2 / sqrt(3), mass = 5 * side * side * side;
    double x[2], y[2];
    fake_env e;
    fake_env_open(&e, "envs/rigid_contact", (const char *const[]){"variables=force", "image_size=16", NULL},
                  0, 0);
    for (int k = 0; k < 2; k++) {
        x[k] = fake_metric(&e, force[k], "x")[15];
        y[k] = fake_values(&e, "y")[15];
    }
    const double steps = 15 * 32, moved = steps * (steps + 1) / 2 / (960.0 * 960) / mass;
    assert_near(x[1] - x[0], 6 * moved, 1e-12);
    assert_near(y[1] - y[0], 2 * moved, 1e-12);
    fake_env_close(&e);
}

/* The bodies of table 1: a mass per vertex, drawn by the number of the object. */
static void bodies_have_their_vertices(void **state)
{
    static const struct {
        const char *shape;
        uint64_t vertices;
    } bodies[] = {{"shape=cube", 8},      {"shape=box", 8},   {"shape=sphere", 162},
                  {"shape=capsule", 594}, {"shape=cone", 34}, {"shape=cylinder", 66}};
    for (size_t k = 0; k < sizeof bodies / sizeof *bodies; k++) {
        fake_env e;
        double loss[2];
        for (int object = 0; object < 2; object++) {
            fake_env_open(&e, "envs/rigid_mass",
                          (const char *const[]){bodies[k].shape, "scene=video", "variables=masses",
                                                "observe=state", object ? "object=1" : "object=0", NULL},
                          0, 0);
            assert_int_equal(e.info.n, bodies[k].vertices);
            loss[object] = fake_eval(&e, e.x0, NULL, 0, NULL);
            fake_env_close(&e);
        }
        assert_true(loss[0] > 0 && loss[1] > 0 && loss[0] != loss[1]);
    }
}

/* The number of an object draws the unknown parameters, at least a tenth of the range inside their bounds.
 * The metric error at the lower bound shows which values were drawn. */
static void objects_are_drawn(void **state)
{
    static const char *const objects[] = {"object=1", "object=2"};
    static const struct {
        const char *name, *variables;
        double lower, upper;
    } scenes[] = {{"envs/pendulum_id", "variables=length", 0.3, 3}, {"envs/ball2d", "variables=speed", 0, 6}};
    for (int k = 0; k < 2; k++) {
        const double lower = scenes[k].lower, tenth = 0.1 * (scenes[k].upper - lower);
        double drawn[2];
        for (int o = 0; o < 2; o++) {
            fake_env e;
            fake_env_open(&e, scenes[k].name,
                          (const char *const[]){scenes[k].variables, "observe=state", objects[o], NULL}, 0,
                          0);
            const double error = fake_metric(&e, &lower, "error")[0];
            drawn[o] = lower > 0 ? lower / (1 - error) : error;
            assert_true(drawn[o] > lower + tenth && drawn[o] < scenes[k].upper - tenth);
            assert_true(fake_eval(&e, &drawn[o], NULL, 0, NULL) < 1e-20);
            fake_env_close(&e);
        }
        assert_true(drawn[0] != drawn[1]);
    }
}

static const char *write_mesh(temporary *t, const char *name, const char *text)
{
    static char setting[600];
    temporary_write(temporary_path(t, name), text, strlen(text));
    snprintf(setting, sizeof setting, "mesh_file=%s", temporary_path(t, name));
    return setting;
}

/* Size and position in the file do not matter; a bad mesh is refused with one line. */
static void mesh_from_a_file(void **state)
{
    static const char tetrahedron[] =
        "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n",
                      larger[] = "v 9 2 1\nv 13 2 1\nv 9 6 1\nv 9 2 5\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n";
    static char many[700 * 10];
    double loss[2];
    temporary t;
    temporary_open(&t);
    for (int k = 0; k < 2; k++) {
        fake_env e;
        fake_env_open(&e, "envs/rigid_mass",
                      (const char *const[]){"shape=mesh", write_mesh(&t, "a.obj", k ? larger : tetrahedron),
                                            "variables=masses", "image_size=32", NULL},
                      0, 0);
        assert_int_equal(e.info.n, 4);
        loss[k] = fake_eval(&e, e.x0, NULL, 0, NULL);
        fake_env_close(&e);
    }
    assert_true(loss[0] > 0);
    assert_near(loss[1], loss[0], 1e-12);
    size_t used = (size_t)snprintf(many, sizeof many, "%s", tetrahedron);
    for (size_t i = 0; i < 598; i++) {
        used += (size_t)snprintf(many + used, sizeof many - used, "v 0 0 1\n");
    }
    fake_env_refuses("envs/rigid_mass",
                     (const char *const[]){"shape=mesh", write_mesh(&t, "b.obj", many), NULL},
                     "b.obj has 602 vertices: give a mesh of at most 600");
    fake_env_refuses("envs/rigid_mass",
                     (const char *const[]){
                         "shape=mesh", write_mesh(&t, "c.obj", "v 0 0 0\nv 1 0 0\nv 2 0 0\nf 1 2 3\n"), NULL},
                     "c.obj:4: triangle 1 has no area");
    fake_env_refuses("envs/rigid_mass",
                     (const char *const[]){"shape=mesh",
                                           write_mesh(&t, "d.obj", "v 0 0 0\nv 1 0 0\nv 2 1e-6 0\nf 1 2 3\n"),
                                           NULL},
                     "lie on a line");
    fake_env_refuses("envs/rigid_mass", (const char *const[]){"shape=mesh", NULL}, "shape=mesh needs a file");
    fake_env_refuses("envs/rigid_mass", (const char *const[]){write_mesh(&t, "e.obj", tetrahedron), NULL},
                     "a file needs shape=mesh");
    temporary_close(&t);
}

static void refused(void **state)
{
    fake_env_refuses("envs/rigid_mass", (const char *const[]){"variables=light", NULL},
                     "unknown variable 'light': choose from mass, masses, force, vertices, camera");
    fake_env_refuses("envs/rigid_mass", (const char *const[]){"light=0.5,0.5,0.3,10", NULL},
                     "the reflected share, is 0.3");
    fake_env_refuses("envs/rigid_contact", (const char *const[]){"variables=colour", NULL},
                     "unknown variable 'colour'");
    fake_env_refuses("envs/rigid_contact", (const char *const[]){"variables=ke turn turn.x", NULL},
                     "turn.x twice");
    fake_env_refuses("envs/rigid_contact",
                     (const char *const[]){"variables=density mu", "unmodelled=friction", NULL},
                     "variables names mu");
    fake_env_refuses("envs/rigid_mass", (const char *const[]){"frames=3, 2", NULL}, "parameter frames: 2");
    fake_env_refuses("envs/rigid_mass", (const char *const[]){"frames=20", NULL}, "from 0 to 19");
    fake_env_refuses("envs/rigid_mass", (const char *const[]){"truth=0", NULL}, "no mass");
}

/* A quarter heavier on a ground a quarter stiffer it moves the same, until a known force pushes it. */
static void proportions(void **state)
{
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

/* A model that lacks the target's friction or damping has a positive loss at the truth; its gradient is
 * exact. */
static void imperfect(void **state)
{
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

/* ---- drawn objects ---- */

static const struct {
    const char *plugin, *variable, *duration; /* long enough to touch the ground, or to sag */
} drawn[] = {{"envs/rigid_contact", "variables=density", "duration=1.5"},
             {"envs/beam", "variables=mu", "duration=0.2"},
             {"envs/soft_ball", "variables=lambda", "duration=0.8"}};

enum { DRAWN = sizeof drawn / sizeof *drawn };

static void open_object(fake_env *e, int k, const char *object)
{
    fake_env_open(e, drawn[k].plugin,
                  (const char *const[]){drawn[k].variable, object, "image_size=16", drawn[k].duration, NULL},
                  0, 0);
    assert_int_equal(e->info.n, 1);
}

/* Finds the object: at the lower bound the error, relative as for all logarithms, is 1 - 10^(bound - object).
 */
static double place_of(fake_env *e)
{
    const double *error = fake_metric(e, e->lower, "error");
    return e->lower[0] - log10(1 - error[0]);
}

static void is_the_optimum(void **state)
{
    for (int k = 0; k < DRAWN; k++) {
        fake_env e;
        open_object(&e, k, "object=7");
        const double width = e.upper[0] - e.lower[0], x = place_of(&e);
        assert_true(x > e.lower[0] + 0.1 * width && x < e.upper[0] - 0.1 * width);
        assert_true(fake_eval(&e, &x, NULL, 0, NULL) < 1e-15);
        assert_near(fake_metric(&e, &x, "error")[0], 0, 1e-12);
        assert_true(fake_eval(&e, e.x0, NULL, 0, NULL) > 1e-9);
        fake_env_close(&e);
    }
}

static void numbers_tell_objects_apart(void **state)
{
    for (int k = 0; k < DRAWN; k++) {
        fake_env one, other, again;
        open_object(&one, k, "object=7");
        open_object(&other, k, "object=8");
        open_object(&again, k, "object=7");
        assert_true(fabs(place_of(&one) - place_of(&other)) > 1e-6);
        assert_true(place_of(&one) == place_of(&again));
        fake_env_close(&one);
        fake_env_close(&other);
        fake_env_close(&again);
    }
}

/* Each velocity of a cloth is drawn: no two are equal, and the error is their mean distance. */
static void each_particle(void **state)
{
    fake_env e;
    fake_env_open(&e, "envs/cloth_velocity",
                  (const char *const[]){"variables=velocities", "object=1", "image_size=8", "duration=0.01",
                                        "observe=state", NULL},
                  0, 0);
    const double at_start = fake_metric(&e, e.x0, "error")[0];
    assert_true(at_start > 0.5 && at_start < 2); /* uniform in (-1.6, 1.6), seen from (-0.01, 0.99) */
    assert_true(fake_eval(&e, e.x0, NULL, 0, NULL) > 0);
    fake_env_close(&e);
}

/* Each of several parameters has its own error and `error` is their mean; positive parameters have relative
 * errors. */
static void each_quantity(void **state)
{
    static const char *const name[] = {"error_density", "error_ke", "error_kd", "error_kf", "error_mu"};
    const double x[5] = {log10(5 * 1.5), log10(4900 * 1.25), log10(15), log10(50 * 0.5), 0.3 * 1.1};
    const double expected[5] = {0.5, 0.25, 0, 0.5, 0.1};
    fake_env e;
    double sum = 0;
    fake_env_open(&e, "envs/rigid_contact", (const char *const[]){"image_size=16", NULL}, 0, 0);
    const double mean = fake_metric(&e, x, "error")[0];
    for (int i = 0; i < 5; i++) {
        const double error = fake_values(&e, name[i])[0];
        assert_near(error, expected[i], 1e-12);
        sum += error;
    }
    assert_near(mean, sum / 5, 1e-12);
    fake_env_close(&e);

    fake_env_open(&e, "envs/soft_ball",
                  (const char *const[]){"image_size=16", "duration=0.05", "variables=mu masses", NULL}, 0, 0);
    assert_near(fake_metric(&e, e.x0, "error_mu")[0], fabs(pow(10, 2.7) / 1000 - 1), 1e-12);
    assert_near(fake_values(&e, "error_masses")[0], pow(10, 0.1) - 1, 1e-12);
    fake_env_close(&e);
}

/* Start values of the 85 masses of a ball, and their mean error. */
static double masses_start(const char *near, const char *object, const char *seed, double start[85])
{
    fake_env e;
    fake_env_open(&e, "envs/soft_ball",
                  (const char *const[]){"variables=masses", "image_size=8", "duration=0.01", "observe=state",
                                        near, object, seed, NULL},
                  0, 0);
    assert_int_equal(e.info.n, 85);
    const double error = fake_metric(&e, e.x0, "error")[0];
    for (int i = 0; i < 85; i++) {
        assert_true(e.x0[i] >= e.lower[i] && e.x0[i] <= e.upper[i]);
        start[i] = e.x0[i];
    }
    fake_env_close(&e);
    return error;
}

/* Masses that start near those of the target: by their inverses as in gradSim, or by factors between 1/2 and
 * 2. In a ball of uniform density the lightest particle has 0.174 kg, the heaviest 1.143 kg, the mean is
 * 0.430 kg. */
static void masses_near_the_target(void **state)
{
    double far[85], at[85], other[85], least = 0, most = -1, differ = 0;
    masses_start("near=anywhere", "object=0", "seed=0", far);
    const double inverse = masses_start("near=inverse", "object=0", "seed=0", at);
    double mean = 0;
    for (int i = 0; i < 85; i++) {
        assert_near(far[i], 0.1, 0);
        least = fmin(least, at[i]);
        most = fmax(most, at[i]);
        mean += (1 - pow(10, at[i])) / 85;
    }
    assert_true(most < 0 && least > -log10(1 + 0.2 * 1.144));
    for (int i = 42; i < 54; i++) { /* the corners of the outer icosahedron have 0.274 kg */
        assert_true(at[i] > -log10(1 + 0.2 * 0.274));
    }
    assert_near(inverse, mean, 1e-12);             /* the target is 1 for all */
    assert_true(inverse > 0.03 && inverse < 0.05); /* 0.1/kg on average, of 0.43 kg */

    assert_true(masses_start("near=inverse", "object=0", "seed=1", other) != inverse);
    const double of_drawn = masses_start("near=inverse", "object=1", "seed=0", other);
    assert_true(of_drawn > 0.03 && of_drawn < 0.07); /* of masses between 0.4 and 2.5 of that */
    for (int i = 0; i < 85; i++) {
        differ = fmax(differ, fabs(other[i] - at[i]));
    }
    assert_true(differ > 0.3);

    /* |2^u - 1| for u uniform in (-1, 1) has the mean 0.361. */
    const double factor = masses_start("near=factor", "object=0", "seed=0", at);
    assert_near(factor, 0.361, 0.1);
    for (int i = 0; i < 85; i++) {
        assert_true(fabs(at[i]) <= log10(2));
    }
    masses_start("near=factor", "object=1", "seed=0", other); /* bounded: masses_start() checks it */
}

RUN_TESTS(cube_moves, cube_slices, pushed_cube, pendulum_swings, twins_swing, bobs_are_seen_apart, ball_flies,
          bodies_have_their_vertices, stretched_cube_is_the_box, views_are_those_of_the_parameters,
          force_on_the_cube, mesh_from_a_file, optimum, derivatives, products, refused, proportions,
          imperfect, objects_are_drawn, is_the_optimum, numbers_tell_objects_apart, each_particle,
          each_quantity, masses_near_the_target)
