/* SPDX-License-Identifier: Apache-2.0 */
/* test_double_pendulum.c - the double pendulum by its angles: motions measured once with an independent
 * program, optima, derivatives against central differences, residuals with their products,
 * real recordings. */
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
#include <unistd.h>

#include "engines/physics/pendulum/compound.h"
#include "host.h"
#include "temporary.h"

static const char name[] = "envs/double_pendulum";
static const double seven[7] = {9.8, 0.735, 9.9, -26.5, -26, 0.35, 0.1};

/* Suh et al.'s double pendulum from (pi/2, 0, 5, -5), half-implicit steps of 1 ms: state and energy. */
static void measured_motion(void **state)
{
    (void)state;
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
    (void)state;
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

/* Noise of 0.0024 rad is what remains at the truth. */
static void noise_remains(void **state)
{
    (void)state;
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
    (void)state;
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

/* r'r is the loss, and w . J v = J' w . v; the value of the loss is the same whatever is asked. */
static void products(void **state)
{
    (void)state;
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

/* Windows of two real recordings at the constants that least squares find: the errors that were measured
 * independently of this program, and no slope. */
static void real_recordings(void **state)
{
    (void)state;
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

/* No instance of these settings, and why. */
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

/* Writes 60 samples of two angles and reads them as they are described. */
static void own_recordings(void **state)
{
    (void)state;
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
    for (int i = 0; i < 60; i++) { /* degrees, on the circle; one row is missing, one number in another */
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
    assert_near(e.x0[3], seven[3], 0.5); /* rates by differences */
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

/* A recording on the circle whose angles make turns: the truth is the truth with and without them, and a
 * motion that is a turn ahead is wrong only with them. */
static void turns(void **state)
{
    static const char *const wrap[2] = {"wrap=true", "wrap=false"};
    double loss[2], other[7], most = 0;
    char file[600];
    fake_env made, e;
    temporary folder;
    (void)state;
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
    assert_true(most > M_PI); /* else nothing is tested */
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

/* Every instruction set gives the same bits, with derivatives as without. */
static void instruction_sets(void **state)
{
    (void)state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(measured_motion), cmocka_unit_test(instruction_sets), cmocka_unit_test(optima),
        cmocka_unit_test(noise_remains),   cmocka_unit_test(derivatives),      cmocka_unit_test(products),
        cmocka_unit_test(real_recordings), cmocka_unit_test(own_recordings),   cmocka_unit_test(turns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
