/* SPDX-License-Identifier: Apache-2.0 */
/* test_pendulum.c - the environments pendulum, against recorded trajectories of Gymnasium
 * (pendulum_dynamics.json of the shared folder), and double_pendulum, against motions measured once and real
 * recordings: optima, derivatives, residuals with their products, scenes. */
#include "engines/physics/pendulum/compound.h"
#include "golden.h"
#include "host.h"
#include "temporary.h"
#include "test.h"

#include <diffsim/ext/channel.h>
#include <diffsim/ext/scene.h>
#include <diffsim/helper/random.h>
#include <unistd.h>

/* ---- pendulum ---- */

static const double *metric(fake_env *e, const char *name)
{
    const ds_scene *scene = e->plugin->env->get_extension(e->self, DS_EXT_SCENE);
    ds_scene_metric found = {.struct_size = sizeof found};
    assert_non_null(scene);
    for (uint64_t m = 0; scene->metric(e->self, m, &found) == DS_OK; m++) {
        if (strcmp(found.name, name) == 0) {
            return found.values;
        }
    }
    fail_msg("no metric %s", name);
    return NULL;
}

static double episode(fake_env *e, const double *x)
{
    ds_eval io = {.bad_step = -1, .want = DS_WANT_SCENE, .n = e->info.n, .x = x};
    assert_int_equal(ds_eval_call(e->plugin->env, e->self, &io), DS_OK);
    assert_int_equal(io.outcome, DS_EVAL_OK);
    return io.loss;
}

/* The torques of a recorded trajectory; a torque that depends on the speed is computed step by step. */
static void set_torques(fake_env *e, const char *action, double *x)
{
    for (int k = 0; k < 200; k++) {
        x[k] = 0;
    }
    for (int k = 0; k < 200; k++) {
        if (strncmp(action, "2 if", 4) == 0) {
            episode(e, x);
            x[k] = metric(e, "omega")[k] > 0 ? 2 : -2;
        } else if (strncmp(action, "1.5 sin", 7) == 0) {
            x[k] = 1.5 * sin(0.3 * k);
        } else {
            x[k] = fmin(strtod(action, NULL), 2);
        }
    }
}

static void check_trajectory(const json_t *trajectory)
{
    char theta0[64], omega0[64];
    double x[200], sum = 0;
    fake_env e;
    snprintf(theta0, sizeof theta0, "theta0=%.17g", golden_number(trajectory, "theta0"));
    snprintf(omega0, sizeof omega0, "omega0=%.17g", golden_number(trajectory, "omega0"));
    fake_env_open(&e, "envs/pendulum", SETTINGS("variant=gym", theta0, omega0), 1, -1);
    set_torques(&e, json_string_value(json_object_get(trajectory, "action")), x);
    double loss = episode(&e, x);
    assert_near(loss, -golden_number(trajectory, "return_200"), 1e-6 * loss);
    const double *theta = metric(&e, "theta"), *omega = metric(&e, "omega"), *cost = metric(&e, "cost");
    const json_t *states = json_object_get(trajectory, "states"), *state;
    size_t i, done = 0;
    json_array_foreach(states, i, state)
    {
        size_t after = (size_t)golden_number(state, "after_step");
        double tolerance = after <= 50 ? 1e-9 : 1e-6;
        for (; done < after; done++) {
            sum += cost[done];
        }
        assert_near(theta[after], golden_number(state, "theta"), tolerance);
        assert_near(omega[after], golden_number(state, "omega"), tolerance);
        assert_near(-cost[after - 1], golden_number(state, "reward"), tolerance);
        assert_near(-sum, golden_number(state, "sum_reward"), tolerance * (1 + sum));
    }
    fake_env_close(&e);
}

static void test_recorded(void **state)
{
    json_t *root = golden_or_skip("optimizers/pendulum_dynamics.json"), *trajectory;
    size_t i;
    json_array_foreach(golden_list(root, "trajectories"), i, trajectory)
    {
        check_trajectory(trajectory);
    }
    json_decref(root);
}

static double quotient(fake_env *e, double *x, uint64_t i, double h)
{
    static const double offset[4] = {-2, -1, 1, 2};
    double f[4], keep = x[i];
    for (int k = 0; k < 4; k++) {
        x[i] = keep + offset[k] * h;
        f[k] = fake_eval(e, x, NULL, 0, NULL);
    }
    x[i] = keep;
    return (f[0] - 8 * f[1] + 8 * f[2] - f[3]) / (12 * h);
}

/* Every component against fourth-order central differences, at the step where two of them agree best: a long
 * step may straddle a kink (speed limit, angle pi) of one of the 200 states. */
static void check_gradient(const char *const *settings, double amplitude)
{
    fake_env e;
    double x[200], g[200], norm = 0;
    fake_env_open(&e, "envs/pendulum", settings, 1, -1);
    ds_random r = ds_random_open(1, "test", 0);
    for (uint64_t i = 0; i < e.info.n; i++) {
        x[i] = amplitude * (2 * ds_random_uniform(&r) - 1);
    }
    fake_eval(&e, x, g, 0, NULL);
    for (uint64_t i = 0; i < e.info.n; i++) {
        norm = fmax(norm, fabs(g[i]));
    }
    for (uint64_t i = 0; i < e.info.n; i++) {
        double best = 0, gap = HUGE_VAL, last = quotient(&e, x, i, 1e-3);
        for (double h = 1e-4; h > 5e-8; h *= 0.1) {
            double next = quotient(&e, x, i, h);
            if (fabs(next - last) < gap) {
                gap = fabs(next - last);
                best = next;
            }
            last = next;
        }
        assert_near(best, g[i], 1e-6 * norm);
    }
    fake_env_close(&e);
}

static void test_gradients(void **state)
{
    check_gradient(SETTINGS("variant=swingup60"), 1.9);
    check_gradient(SETTINGS("variant=swingup60", "theta0=1", "omega0=2"), 1.9);
    check_gradient(SETTINGS("variant=gym", "theta0=2.5"), 1.9);
    check_gradient(SETTINGS("variant=gym", "theta0=0.1", "omega0=7.9"), 1.9); /* the speed limit applies */
}

/* Adam from the suggested start swings the rod up. */
static void test_swing_up(void **state)
{
    fake_env e;
    double x[60], g[60], m[60] = {0}, v[60] = {0}, best = HUGE_VAL;
    fake_env_open(&e, "envs/pendulum", NULL, 1, -1);
    assert_int_equal(e.info.n, 60);
    memcpy(x, e.x0, sizeof x);
    for (int k = 1; k <= 300; k++) {
        best = fmin(best, fake_eval(&e, x, g, 0, NULL));
        for (int i = 0; i < 60; i++) {
            m[i] = 0.9 * m[i] + 0.1 * g[i];
            v[i] = 0.999 * v[i] + 0.001 * g[i] * g[i];
            x[i] -= 0.1 * m[i] / (1 - pow(0.9, k)) / (sqrt(v[i] / (1 - pow(0.999, k))) + 1e-8);
            x[i] = fmin(fmax(x[i], -2), 2);
        }
    }
    print_message("# best loss %.4f\n", best);
    assert_true(best < 0.15);
    fake_env_close(&e);
}

static void test_scene(void **state)
{
    fake_env e;
    double x[60] = {0}, pose[7];
    fake_env_open(&e, "envs/pendulum", SETTINGS("theta0=1.5707963267948966"), 1, -1);
    const ds_scene *scene = e.plugin->env->get_extension(e.self, DS_EXT_SCENE);
    ds_scene_info info = {.struct_size = sizeof info};
    assert_int_equal(scene->info(e.self, &info), DS_E_STATE);
    episode(&e, x);
    assert_int_equal(scene->info(e.self, &info), DS_OK);
    assert_true(info.frames == 61 && info.flat == 1);
    for (uint64_t b = 0; b < info.bodies; b++) {
        ds_scene_body body = {.struct_size = sizeof body};
        assert_int_equal(scene->body(e.self, b, &body), DS_OK);
        assert_int_equal(scene->frame(e.self, 60, b, 7, pose), DS_OK);
        assert_near(pose[3] * pose[3] + pose[6] * pose[6], 1, 1e-15);
    }
    assert_int_equal(scene->frame(e.self, 0, 0, 7, pose), DS_OK);
    assert_near(pose[0], -0.5, 1e-15); /* a quarter turn to the left */
    assert_int_equal(scene->frame(e.self, 61, 0, 7, pose), DS_E_ARG);
    assert_int_equal(scene->frame(e.self, 0, 0, 6, pose), DS_E_ARG);
    fake_eval(&e, x, NULL, 0, NULL);
    assert_int_equal(scene->info(e.self, &info), DS_E_STATE);
    fake_env_close(&e);
}

/* ---- double_pendulum ---- */

static const char name[] = "envs/double_pendulum";
static const double seven[7] = {9.8, 0.735, 9.9, -26.5, -26, 0.35, 0.1};

/* Suh et al.'s double pendulum from (pi/2, 0, 5, -5), half-implicit steps of 1 ms: state and energy. */
static void measured_motion(void **state)
{
    static const char *const names[5] = {"angle1", "angle2", "rate1", "rate2", "energy"};
    static const double at[3][5] = {{1.570796, 0, 5, -5, 2.769},
                                    {2.846814, -1.768236, 1.973551, -2.217632, 2.7477},
                                    {7.879745, 1.025925, 4.704070, 2.050990, 2.7772}};
    static const int row[3] = {0, 500, 2000};
    fake_env e;
    fake_env_open(&e, name, (const char *const[]){"variant=initial", "n_samples=2001", NULL}, 0, 0);
    fake_metric(&e, e.x0, "angle1");
    for (int k = 0; k < 3; k++) {
        for (int i = 0; i < 5; i++) {
            assert_near(fake_values(&e, names[i])[row[k]], at[k][i], i < 4 ? 1e-6 : 1e-4);
        }
    }
    fake_env_close(&e);
}

static void optima(void **state)
{
    static const struct {
        const char *settings[4];
        double x[7];
    } at[] = {{{"variant=lengths"}, {3, 4}},
              {{"variant=lengths", "length=0.7, 2", "rollout=onestep"}, {0.7, 2}},
              {{"variant=lengths", "integrator=rk4", "steps_per_sample=3"}, {3, 4}},
              {{"variant=damping"}, {-0.2, -0.1}},
              {{"variant=damping", "damping=0.4, 0", "time_weight=10, 1.2"}, {-0.4, 0}},
              {{"variant=synthetic", "noise=0"}, {9.8, 0.735, 9.9, -26.5, -26, 0.35, 0.1}}};
    for (size_t k = 0; k < sizeof at / sizeof *at; k++) {
        fake_env e;
        fake_env_open(&e, name, at[k].settings, 0, 0);
        assert_true(fake_eval(&e, at[k].x, NULL, 0, NULL) <= 1e-20);
        assert_true(fake_eval(&e, e.x0, NULL, 0, NULL) > 1e-3);
        assert_near(fake_metric(&e, at[k].x, "error")[1], 0, 0);
        fake_env_close(&e);
    }
}

/* At the true constants the noise of 0.0024 rad remains. */
static void noise_remains(void **state)
{
    fake_env e;
    fake_env_open(&e, name, (const char *const[]){"variant=synthetic", "held_out=100", NULL}, 0, 0);
    const double *rmse = fake_metric(&e, seven, "rmse"), *held = fake_values(&e, "held_out");
    assert_near(rmse[199], 0.0024, 3e-4);
    assert_near(rmse[299], 0.0024, 4e-4);
    assert_true(held[199] == 0 && held[200] == 1);
    assert_near(fake_eval(&e, seven, NULL, 0, NULL), 400 * rmse[199] * rmse[199], 1e-12);
    fake_env_close(&e);
}

/* ---- derivatives ---- */

static const char *const cases[][5] = {
    {"variant=lengths"},
    {"variant=lengths", "rollout=onestep"},
    {"variant=damping", "n_samples=300"},
    {"variant=damping", "n_samples=200", "integrator=rk4", "time_weight=10, 1.2"},
    {"variant=synthetic"},
    {"variant=synthetic", "integrator=semi_implicit", "rollout=onestep"},
    {"variant=synthetic", "steps_per_sample=2"},
    {"variant=synthetic", "wrap=false"},
    {"variant=initial", "n_samples=301"}};
enum { CASES = sizeof cases / sizeof *cases, MOST = 8 };

/* A point inside the box, near where the search starts, and a direction. */
static void random_point(const fake_env *e, uint64_t key, double *x, double *v)
{
    ds_random r = ds_random_open(key, "double pendulum", 0);
    for (uint64_t i = 0; i < e->info.n; i++) {
        const double wide = e->upper[i] - e->lower[i];
        x[i] = fmin(e->upper[i], fmax(e->lower[i], e->x0[i] + 0.1 * wide * (ds_random_uniform(&r) - 0.5)));
        v[i] = wide * (2 * ds_random_uniform(&r) - 1);
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

static void derivatives(void **state)
{
    for (int k = 0; k < CASES; k++) {
        fake_env e;
        fake_env_open(&e, name, cases[k], 0, 0);
        for (uint64_t key = 0; key < 5; key++) {
            double x[MOST], v[MOST], g[MOST], slope = 0, best = HUGE_VAL;
            random_point(&e, key, x, v);
            fake_eval(&e, x, g, 0, NULL);
            for (uint64_t i = 0; i < e.info.n; i++) {
                slope += g[i] * v[i];
            }
            for (double h = 1e-4; h > 1e-9; h *= 0.1) {
                best = fmin(best, fabs((along(&e, x, v, h) - along(&e, x, v, -h)) / (2 * h) - slope));
            }
            if (!(fabs(slope) > 0 && best <= 1e-6 * fabs(slope))) {
                fail_msg("case %d, point %d: slope %.9g, quotients differ by %.3g", k, (int)key, slope, best);
            }
        }
        fake_env_close(&e);
    }
}

/* r'r is the loss, and w . J v = J' w . v. The loss is the same for every query. */
static void products(void **state)
{
    for (int k = 0; k < CASES; k++) {
        double x[MOST], v[MOST];
        fake_env e;
        fake_env_open(&e, name, cases[k], 0, 0);
        random_point(&e, 9, x, v);
        fake_products(&e, x, v, 1e-10);
        fake_env_close(&e);
    }
}

/* ---- recordings ---- */

/* Windows of two real recordings at the least-squares constants: the errors that an independent program
 * measured, and a gradient near 0. */
static void real_recordings(void **state)
{
    static const struct {
        int file, samples;
        double rmse, x[7];
    } at[] = {{0,
               200,
               0.0061,
               {9.435117390621896, 0.742606951438226, 8.883151154565775, -26.802126678454783,
                -25.82225496244905, 0.41552396988110835, 0.08799118918238669}},
              {2,
               100,
               0.0014,
               {9.616135049298492, 0.7346465392841617, 9.648044863147053, -21.239571099045264,
                -35.083301250711784, 0.32651133007856187, 0.0557810973691808}},
              {0,
               100,
               0.0023,
               {10.029697151997656, 0.7365152185480827, 10.658692525765154, -26.37204645830944,
                -25.644056378326724, 0.11684210736494921, 0.017291301578502893}},
              {0,
               400,
               0.0084,
               {9.836311268031759, 0.7361684802826169, 9.528831197395757, -26.63366329341213,
                -26.172102453279834, 0.3064234790710904, 0.12239427897846267}},
              {2,
               200,
               0.0037,
               {9.40996336056756, 0.7333339911274441, 9.758538739516633, -21.039468884288507,
                -34.83983817356078, 0.10064397273629011, 0.05401700034896628}},
              {2,
               400,
               0.0084,
               {9.962863208684567, 0.7321377045542077, 10.229269555313971, -21.28070189153844,
                -35.27896806268468, 0.5803207807121833, 0.08642603596400678}}};
    const char *shared = getenv("DS_SHARED");
    for (size_t k = 0; k < sizeof at / sizeof *at; k++) {
        char file[4096], samples[40];
        double grad[7], worse[7];
        snprintf(file, sizeof file, "file=%s/data/double-pendulum/%d.csv.gz", shared ? shared : "",
                 at[k].file);
        if (access(file + 5, R_OK) != 0) {
            print_message("# %s is not there: not compared\n", file + 5);
            skip();
        }
        snprintf(samples, sizeof samples, "n_samples=%d", at[k].samples);
        fake_env e;
        fake_env_open(&e, name, (const char *const[]){"variant=recording", file, samples, NULL}, 0, 0);
        const double loss = fake_eval(&e, at[k].x, grad, 0, NULL);
        assert_near(sqrt(loss / (2 * at[k].samples)), at[k].rmse, 5e-5);
        assert_near(fake_metric(&e, at[k].x, "rmse")[at[k].samples - 1], at[k].rmse, 5e-5);
        for (int i = 0; i < 7; i++) {
            memcpy(worse, at[k].x, sizeof worse);
            worse[i] *= 1.001;
            assert_true(fabs(grad[i]) * 1e-4 * fabs(worse[i]) <
                        0.01 * (fake_eval(&e, worse, NULL, 0, NULL) - loss));
        }
        fake_env_close(&e);
    }
}

/* Creation with these settings is refused with `word` in the message. */
static void refuses(const char *const *settings, const char *word)
{
    fake_host f;
    void *self = NULL;
    fake_host_open(&f, name, 0, settings);
    const ds_status status = f.plugin->env->create(&f.services.host, &self);
    assert_true((status == DS_E_PARAM || status == DS_E_DATA) && self == NULL);
    if (strstr(f.error, word) == NULL) {
        fail_msg("'%s' instead of '%s'", f.error, word);
    }
    fake_host_close(&f);
}

/* Writes 60 samples of two angles and reads them with the settings that describe them. */
static void own_recordings(void **state)
{
    fake_env made, e;
    char file[600];
    temporary folder;
    fake_env_open(&made, name, (const char *const[]){"variant=synthetic", "noise=0", "n_samples=60", NULL}, 0,
                  0);
    const double *a = fake_metric(&made, seven, "angle1"), *b = fake_values(&made, "angle2");
    temporary_open(&folder);
    snprintf(file, sizeof file, "file=%s", temporary_path(&folder, "own.csv"));
    FILE *f = fopen(file + 5, "w");
    assert_non_null(f);
    fprintf(f, "t,second,first\n");
    /* degrees, on the circle; one row is missing, another has a missing number */
    for (int i = 0; i < 60; i++) {
        if (i != 30) {
            fprintf(f, "%.17g,%.17g,", i * 0.002, b[i] * 180 / M_PI);
            fprintf(f, "%.17g\n", i == 31 ? (double)NAN : remainder(a[i], 2 * M_PI) * 180 / M_PI);
        }
    }
    fclose(f);
    fake_env_open(&e, name,
                  (const char *const[]){"variant=recording", file, "columns=first second", "time_column=t",
                                        "column_scale=0.017453292519943295", "n_samples=50", "held_out=10",
                                        "gaps=true", NULL},
                  0, 0);
    assert_near(e.info.dt, 0.002, 1e-15);
    assert_near(e.x0[3], seven[3], 0.5); /* rates from differences */
    assert_true(fake_eval(&e, seven, NULL, 0, NULL) < 1e-20);
    assert_true(isnan(fake_metric(&e, seven, "recorded_angle1")[31]));
    fake_env_close(&e);
    fake_env_close(&made);
    refuses((const char *const[]){"variant=recording", file, "columns=first second", "time_column=t",
                                  "n_samples=50", NULL},
            "gaps");
    refuses((const char *const[]){"variant=recording", file, "columns=first third", NULL}, "'third'");
    refuses(
        (const char *const[]){"variant=recording", file, "columns=1 2 3", "gaps=true", "n_samples=50", NULL},
        "two angles");
    refuses((const char *const[]){"variant=recording", file, "columns=2 3", "n_samples=60", NULL},
            "n_samples + held_out = 60");
    refuses((const char *const[]){"variant=recording", NULL}, "file");
    refuses((const char *const[]){"variant=initial", "rollout=onestep", NULL}, "onestep");
    temporary_close(&folder);
}

/* A recording on the circle whose angles make full turns: the truth has loss 0 with and without wrapping. A
 * motion one turn ahead is wrong only without wrapping. */
static void turns(void **state)
{
    static const char *const wrap[2] = {"wrap=true", "wrap=false"};
    double loss[2], other[7], most = 0;
    char file[600];
    fake_env made, e;
    temporary folder;
    fake_env_open(&made, name, (const char *const[]){"variant=synthetic", "noise=0", "n_samples=300", NULL},
                  0, 0);
    const double *a = fake_metric(&made, seven, "angle1"), *b = fake_values(&made, "angle2");
    temporary_open(&folder);
    snprintf(file, sizeof file, "file=%s", temporary_path(&folder, "turns.csv"));
    FILE *f = fopen(file + 5, "w");
    assert_non_null(f);
    for (int i = 0; i < 300; i++) {
        most = fmax(most, fmax(fabs(a[i]), fabs(b[i])));
        if (i == 150) {
            fprintf(f, "nan,nan\n");
        } else {
            fprintf(f, "%.17g,%.17g\n", remainder(a[i], 2 * M_PI), remainder(b[i], 2 * M_PI));
        }
    }
    assert_int_equal(fclose(f), 0);
    assert_true(most > M_PI); /* otherwise the test would be empty */
    memcpy(other, seven, sizeof other);
    other[3] += 60; /* turns the other way */
    for (int k = 0; k < 2; k++) {
        fake_env_open(&e, name,
                      (const char *const[]){"variant=recording", file, "columns=1 2", "sample_rate=500",
                                            "gaps=true", "n_samples=300", wrap[k], NULL},
                      0, 0);
        assert_true(fake_eval(&e, seven, NULL, 0, NULL) < 1e-18);
        loss[k] = fake_eval(&e, other, NULL, 0, NULL);
        fake_env_close(&e);
    }
    assert_true(loss[0] <= 599 * M_PI * M_PI && loss[1] > 2 * loss[0]);
    fake_env_close(&made);
    temporary_close(&folder);
}

/* Every instruction set gives the same bits, with and without derivatives. */
static void instruction_sets(void **state)
{
    static const char *const sets[] = {"baseline", "avx2", "avx512"};
    enum { FRAMES = 200 };
    static double y[4][(FRAMES + 1) * COMPOUND_STATES], y_dot[3][(FRAMES + 1) * COMPOUND_SLOPES];
    compound p = {.constant = {9.8, 0.735, 1, 9.9 * 107.8, 107.8, -0.35, -0.1},
                  .start = {1.951, -0.082, -26.5, -26}};
    for (int i = 0; i < COMPOUND_CONSTANTS; i++) {
        p.slope[i][i] = 1 + i;
    }
    for (int i = 0; i < COMPOUND_STATES; i++) {
        p.start_dot[i * COMPOUND_VARIABLES + i + 4] = 1;
    }
    const char *before = getenv("DS_ISA");
    char *own = before ? strdup(before) : NULL;
    for (int method = 0; method < 2; method++) {
        p.method = method ? COMPOUND_SEMI_IMPLICIT : COMPOUND_RK4;
        for (int k = 0; k < 3; k++) {
            assert_int_equal(setenv("DS_ISA", sets[k], 1), 0);
            assert_int_equal(compound_run(&p, 0.001, FRAMES, 2, y[k], y_dot[k]), -1);
            assert_memory_equal(y[k], y[0], sizeof *y);
            assert_memory_equal(y_dot[k], y_dot[0], sizeof *y_dot);
        }
        assert_int_equal(compound_run(&p, 0.001, FRAMES, 2, y[3], NULL), -1);
        assert_memory_equal(y[3], y[0], sizeof *y);
    }
    assert_int_equal(own ? setenv("DS_ISA", own, 1) : unsetenv("DS_ISA"), 0);
    free(own);
}

RUN_TESTS(test_recorded, test_gradients, test_swing_up, test_scene, measured_motion, instruction_sets, optima,
          noise_remains, derivatives, products, real_recordings, own_recordings, turns)
