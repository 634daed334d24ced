/* SPDX-License-Identifier: Apache-2.0 */
/* test_cube_throw.c - the thrown cube: motions and sums of errors that were measured once with an independent
 * program, the contact law and whole motions against central differences, residuals with their products. */
#include "engines/physics/throw/throw.h"
#include "host.h"
#include "temporary.h"
#include "test.h"

#include <diffsim/ext/channel.h>
#include <diffsim/ext/scene.h>
#include <diffsim/helper/random.h>
#include <time.h>

static const char name[] = "envs/cube_throw";

/* ---- measured motions ---- */

static void impulses(void **state)
{
    static const double at[6][4] = {{20, 0.1400, 1.0000, 0.9940},  {40, 0.2769, 1.9782, 0.5056},
                                    {60, 0.4576, 2.8029, 0.4829},  {100, 0.7701, 4.2152, 0.4887},
                                    {200, 1.2420, 6.4113, 0.4959}, {299, 1.3226, 6.8116, 0.4985}};
    static const char *const names[3] = {"recorded_x", "recorded_y", "recorded_z"};
    /* The start, where y is up: position (0, 0, 1.2); yaw 0.8, pitch 1.1, roll 0.9 = quaternion x, y, z, w
     * 0.158266, 0.577903, 0.089534, 0.795590. */
    static const double start[7] = {0, 1.2, 0, 0.795590, 0.158266, 0.089534, -0.577903};
    double pose[7];
    fake_env e;
    fake_env_open(&e, name, NULL, 0, 0);
    fake_metric(&e, e.x0, "x");
    const ds_scene *scene = e.plugin->env->get_extension(e.self, DS_EXT_SCENE);
    assert_int_equal(scene->frame(e.self, 0, 0, 7, pose), DS_OK);
    for (int k = 0; k < 7; k++) {
        assert_near(pose[k], start[k], 5.01e-7);
    }
    for (int k = 0; k < 6; k++) {
        for (int d = 0; d < 3; d++) {
            assert_near(fake_values(&e, names[d])[(int)at[k][0]], at[k][1 + d], 5.01e-5);
        }
    }
    fake_env_close(&e);
}

static void springs(void **state)
{
    static const double at[3][4] = {
        {0, 0, 204308.9, 0.05}, {5000, 5000, 273.2, 0.05}, {20000, 5000, 5604, 0.5}};
    fake_env e;
    fake_env_open(&e, name, (const char *const[]){"variables=stiffness damping", NULL}, 0, 0);
    for (int k = 0; k < 3; k++) {
        assert_near(fake_eval(&e, at[k], NULL, 0, NULL), at[k][2], at[k][3]);
        assert_near(fake_metric(&e, at[k], "error_sum")[299], at[k][2], at[k][3]);
    }
    const double *x = fake_metric(&e, e.x0, "x"), *y = fake_values(&e, "y"), *z = fake_values(&e, "z");
    assert_near(x[299], 2.0930, 5e-5);
    assert_near(y[299], 14.9500, 5e-5);
    assert_near(z[299], -42.7979, 1e-4);
    fake_env_close(&e);
    double zero[24] = {0};
    fake_env_open(&e, name, NULL, 0, 0);
    assert_int_equal(e.info.n, 24);
    assert_near(fake_eval(&e, zero, NULL, 0, NULL), 204308.9, 0.05);
    fake_env_close(&e);
}

/* ---- derivatives ---- */

static void random_numbers(size_t n, double *out, uint64_t key)
{
    ds_random r = ds_random_open(key, "cube", 0);
    for (size_t i = 0; i < n; i++) {
        out[i] = 2 * ds_random_uniform(&r) - 1;
    }
}

/* Normal force of the other spring laws against their formulas, at one penetration for four rates. */
static void other_springs(void **state)
{
    static const double rate[4] = {0.7, 0.02, -0.02, -2}, k = 3000, d = 4000, x = 0.04, a = 30, power = 0.008;
    const double theta[LAW_CONSTANTS] = {k, d, 0.2, 0.5, 0.01};
    const double fade[4] = {1, 1 / (1 + exp(a * x)), 0.5 * tanh(-x * a / 2) + 0.5,
                            -0.5 * x * a / (1 + x * a) + 0.5};
    for (int i = 0; i < 4 * 4 * 2; i++) {
        const double r = rate[i % 4], part = fade[i / 4 % 4], held = r < 0 ? -pow(-r, 1.0 / 20) : r;
        contact_law l;
        contact_record here;
        contact_law_open(&l, FRICTION_TANH, 0, 1);
        l.kind.fade = (law_fade)(i / 4 % 4);
        l.kind.fade_rate = a;
        l.kind.suction = i / 16;
        contact_law_set(&l, theta);
        contact_law_force(&l, x, (const double[3]){0.3, 0, -r}, &here);
        const double f = power * (k + d * part * (l.kind.suction ? held : r));
        assert_near(here.force[2], l.kind.suction ? f : fmax(0, f), 1e-12 * 100);
        assert_near(here.force[0], -0.2 * here.force[2], 1e-10);
        assert_true(i != 19 || here.force[2] < 0); /* pulls; the default law does not */
        assert_true(i != 3 || here.force[2] == 0);
    }
}

/* One contact with every friction and spring law, with and without network, at many states: adjoint against
 * tangent, tangent against differences. */
static void law(void **state)
{
    for (int k = 0; k < 12 * 80; k++) {
        double theta[LAW_CONSTANTS], dot[LAW_CONSTANTS], bar[LAW_CONSTANTS] = {0}, at[4], v_bar[3] = {0},
                                                         depth_bar = 0;
        double f_dot[3], f_bar[3], move[4], left = 0, right = 0;
        const double h = 1e-7;
        contact_law l;
        contact_record here, there[2];
        contact_change change;
        contact_sums sums = {.theta = {0}};
        contact_law_open(&l, (friction_law)(k % 6), k / 6 % 2, 40);
        l.kind.fade = (law_fade)(k / 12 % 4);
        l.kind.fade_rate = 20;
        l.kind.suction = k / 48 % 2;
        random_numbers(LAW_CONSTANTS, theta, (uint64_t)k);
        random_numbers(LAW_CONSTANTS, dot, (uint64_t)k + 1000);
        random_numbers(4, at, (uint64_t)k + 2000);
        random_numbers(4, move, (uint64_t)k + 3000);
        random_numbers(3, f_bar, (uint64_t)k + 4000);
        theta[LAW_STIFFNESS] = 5000 + 4000 * theta[LAW_STIFFNESS];
        theta[LAW_DAMPING] = 5000 + 4000 * theta[LAW_DAMPING];
        theta[LAW_MU] = 0.3 + 0.2 * theta[LAW_MU];
        theta[LAW_MU_STATIC] = 0.7 + 0.2 * theta[LAW_MU_STATIC];
        theta[LAW_SLIP] = 0.3 + 0.2 * theta[LAW_SLIP];
        const double x = 0.1 + 0.05 * at[3], x_dot = 0.1 * move[3];
        contact_law_set(&l, theta);
        contact_law_force(&l, x, at, &here);
        contact_law_change(&l, dot, &change);
        contact_law_tangent(&l, &here, &change, x_dot, move, f_dot);
        contact_law_adjoint(&l, &here, f_bar, &depth_bar, v_bar, &sums);
        contact_law_gather(&l, &sums, bar);
        for (int side = 0; side < 2; side++) {
            const double step = side ? h : -h;
            double moved[LAW_CONSTANTS], v[3];
            for (int i = 0; i < LAW_CONSTANTS; i++) {
                moved[i] = theta[i] + step * dot[i];
            }
            for (int i = 0; i < 3; i++) {
                v[i] = at[i] + step * move[i];
            }
            contact_law_set(&l, moved);
            contact_law_force(&l, x + step * x_dot, v, &there[side]);
        }
        for (int i = 0; i < 3; i++) {
            assert_near(f_dot[i], (there[1].force[i] - there[0].force[i]) / (2 * h),
                        1e-6 * (1 + fabs(here.force[2]) + fabs(f_dot[i])));
            left += f_bar[i] * f_dot[i];
            right += v_bar[i] * move[i];
        }
        right += depth_bar * x_dot;
        for (int i = 0; i < LAW_CONSTANTS; i++) {
            right += bar[i] * dot[i];
        }
        assert_near(left, right, 1e-10 * (1 + fabs(here.force[2])));
    }
}

/* The expanded network equals the network of the wiring: value and derivatives in both directions. */
static void multiplied_out(void **state)
{
    contact_law l;
    contact_law_open(&l, FRICTION_TANH, 1, 1);
    const ds_network *net = &l.source.net[0].net;
    assert_int_equal(ds_network_count(net), LAW_WEIGHTS);
    for (uint64_t key = 0; key < 200; key++) {
        double w[LAW_WEIGHTS], w_dot[LAW_WEIGHTS], x[2], x_dot[2], tape[64], a[LAW_UNITS], dot = 0;
        double w_bar[2][LAW_WEIGHTS] = {{0}}, x_bar[2][2] = {{0}};
        const double bar = 1.7;
        law_net n, n_dot;
        law_net_sums sums = {.a = {0}};
        assert_true(net->tape <= 64);
        random_numbers(LAW_WEIGHTS, w, 7000 + key);
        random_numbers(LAW_WEIGHTS, w_dot, 8000 + key);
        random_numbers(2, x, 9000 + key);
        random_numbers(2, x_dot, 10000 + key);
        x[0] *= 50;
        x[1] *= key % 2 == 0 ? 5 : 1e-9;
        law_net_make(w, &n);
        law_net_make_tangent(w, w_dot, &n_dot);
        assert_near(law_net_forward(&n, x, a), ds_network_forward(net, w, x, tape)[0], 1e-13 * 50);
        law_net_reverse(&n, x, a, bar, &sums, x_bar[0]);
        law_net_gather(w, &sums, w_bar[0]);
        ds_network_reverse(net, w, tape, &bar, w_bar[1], x_bar[1]);
        ds_network_tangent(net, w, tape, w_dot, x_dot, &dot);
        assert_near(law_net_tangent(&n, &n_dot, x, a, x_dot), dot, 1e-12 * 50);
        for (int i = 0; i < LAW_WEIGHTS; i++) {
            assert_near(w_bar[0][i], w_bar[1][i], 1e-13 * (50 + fabs(w_bar[1][i])));
        }
        for (int i = 0; i < 2; i++) {
            assert_near(x_bar[0][i], x_bar[1][i], 1e-14 * 50);
        }
    }
}

static const char *const cases[][6] = {
    {"network_force=50"},
    {"friction=brown", "variables=stiffness damping mu mu_static slip", "slip=0.1", "n_samples=150"},
    {"friction=hollars", "variables=stiffness damping mu mu_static slip network", "network_force=20",
     "n_samples=150"},
    {"friction=andersson", "variables=mu mu_static network", "velocity=2, 0, -1", "spin=1, 3, 0"},
    {"friction=coulomb", "variables=stiffness mu", "n_samples=120"},
    {"friction=none", "variables=network damping", "weight_cost=0", "n_samples=150", "position=0, 0, 0.9"},
    {"hc_repo=true", "damping_fade=softsign", "fade_rate=20", "variables=stiffness damping mu",
     "n_samples=120"},
    {"damping_fade=sigmoid", "fade_rate=50", "network_force=20", "n_samples=150"}};
enum { CASES = sizeof cases / sizeof *cases, MOST = 27 };

static void random_point(const fake_env *e, uint64_t key, double *x, double *v)
{
    random_numbers(e->info.n, x, key);
    random_numbers(e->info.n, v, key + 77);
    for (uint64_t i = 0; i < e->info.n; i++) {
        const double half = (e->upper[i] - e->lower[i]) / 2;
        x[i] = e->lower[i] + half * (1 + 0.5 * x[i]);
        v[i] *= half;
    }
}

/* Whole motions with the same contacts: at some step the difference quotient equals the gradient. */
static void derivatives(void **state)
{
    for (int k = 0; k < CASES; k++) {
        fake_env e;
        fake_env_open(&e, name, cases[k], 0, 0);
        for (uint64_t key = 0; key < 4; key++) {
            double x[MOST], v[MOST], g[MOST], slope = 0, best = HUGE_VAL;
            random_point(&e, key, x, v);
            fake_eval(&e, x, g, 0, NULL);
            for (uint64_t i = 0; i < e.info.n; i++) {
                slope += g[i] * v[i];
            }
            for (double h = 1e-5; h > 1e-12; h *= 0.1) {
                double at[2];
                for (int side = 0; side < 2; side++) {
                    double there[MOST];
                    for (uint64_t i = 0; i < e.info.n; i++) {
                        there[i] = x[i] + (side ? h : -h) * v[i];
                    }
                    at[side] = fake_eval(&e, there, NULL, 0, NULL);
                }
                best = fmin(best, fabs((at[1] - at[0]) / (2 * h) - slope));
            }
            if (!(fabs(slope) > 0 && best <= 1e-5 * fabs(slope))) {
                fail_msg("case %d, point %d: slope %.9g, quotients differ by %.3g", k, (int)key, slope, best);
            }
        }
        fake_env_close(&e);
    }
}

static void products(void **state)
{
    for (int k = 0; k < CASES; k++) {
        double x[MOST], v[MOST];
        fake_env e;
        fake_env_open(&e, name, cases[k], 0, 0);
        random_point(&e, 5, x, v);
        fake_products(&e, x, v, 1e-9);
        fake_env_close(&e);
    }
}

/* ---- recordings ---- */

enum { ROWS = 120 };

/* The throw by impulses as a table of whole states. Every 7th quaternion has the other sign; `gap`: a
 * position is missing. */
static void write_throw(const char *path, int gap)
{
    static double state[ROWS * THROW_STATES];
    double start[THROW_STATES] = {0, 0, 0, 0, 0, 0, 1.2, 0, 0, 0, 0.7, 5, 0}, sn[3], cs[3];
    for (int i = 0; i < 3; i++) { /* yaw, pitch and roll */
        sn[i] = sin((0.8 * (i == 0) + 1.1 * (i == 1) + 0.9 * (i == 2)) / 2);
        cs[i] = cos((0.8 * (i == 0) + 1.1 * (i == 1) + 0.9 * (i == 2)) / 2);
    }
    start[0] = sn[2] * cs[1] * cs[0] - cs[2] * sn[1] * sn[0];
    start[1] = cs[2] * sn[1] * cs[0] + sn[2] * cs[1] * sn[0];
    start[2] = cs[2] * cs[1] * sn[0] - sn[2] * sn[1] * cs[0];
    start[3] = cs[2] * cs[1] * cs[0] + sn[2] * sn[1] * sn[0];
    throw_impulses(0.01, ROWS - 1, 0.2, start, state);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs("qx qy qz qw x y z wx wy wz vx vy vz\n", f);
    for (int k = 0; k < ROWS; k++) {
        for (int i = 0; i < THROW_STATES; i++) {
            const double number = state[k * THROW_STATES + i] * (i < 4 && k % 7 == 3 ? -1 : 1);
            if (gap && k % 5 == 2 && i >= 4 && i < 7) {
                fputs("nan ", f);
            } else {
                fprintf(f, "%.17g ", number);
            }
        }
        fputs("\n", f);
    }
    assert_int_equal(fclose(f), 0);
}

/* A recorded throw has the loss of the simulated one. Held-out, missing and unnamed columns have no part in
 * it. */
static void recorded_throw(void **state)
{
    temporary dir;
    char whole[600], gaps[600];
    const double x[3] = {5000, 6000, 0.3}, v[3] = {100, -50, 0.01};
    double g[2][3], error = 0;
    fake_env e;
    temporary_open(&dir);
    snprintf(whole, sizeof whole, "file=%s", temporary_path(&dir, "a.txt"));
    write_throw(whole + 5, 0);
    snprintf(gaps, sizeof gaps, "file=%s", temporary_path(&dir, "b.txt"));
    write_throw(gaps + 5, 1);
#define THREE "variables=stiffness damping mu"
#define ALL "columns=1 2 3 4 5 6 7 8 9 10 11 12 13"
    fake_env_open(&e, name, (const char *const[]){THREE, "n_samples=80", NULL}, 0, 0);
    const double loss = fake_eval(&e, x, g[0], 0, NULL);
    fake_env_close(&e);
    fake_env_open(&e, name, (const char *const[]){THREE, whole, ALL, "n_samples=80", "held_out=40", NULL}, 0,
                  0);
    assert_near(fake_eval(&e, x, g[1], 0, NULL), loss, 1e-9 * loss);
    for (int i = 0; i < 3; i++) {
        assert_near(g[1][i], g[0][i], 1e-7 * fabs(g[0][i]));
    }
    const double *rmse = fake_metric(&e, x, "rmse"), *held = fake_values(&e, "held_out");
    assert_true(held[79] == 0 && held[80] == 1 && rmse[79] > 0 && rmse[119] > 0 &&
                fabs(rmse[119] - rmse[79]) > 1e-6);
    fake_products(&e, x, v, 1e-9);
    fake_env_close(&e);

    /* Positions alone: their errors are also metrics. */
    fake_env_open(&e, name,
                  (const char *const[]){THREE, gaps, "columns=x y z", "gaps=true", "n_samples=80", NULL}, 0,
                  0);
    const double places = fake_eval(&e, x, NULL, 0, NULL), *distance = fake_metric(&e, x, "distance");
    for (int k = 0; k < 80; k++) {
        assert_true(isnan(distance[k]) == (k % 5 == 2));
        error += isnan(distance[k]) ? 0 : distance[k] * distance[k];
    }
    assert_near(places, error, 1e-12 * error);
    fake_products(&e, x, v, 1e-9);
    fake_env_close(&e);

    /* More steps between the same samples: a finer motion. */
    fake_env_open(&e, name,
                  (const char *const[]){THREE, whole, ALL, "n_samples=80", "steps_per_sample=4", NULL}, 0, 0);
    assert_int_equal(e.info.steps, 79 * 4);
    assert_true(isfinite(fake_eval(&e, x, g[0], 0, NULL)) && isfinite(g[0][0]));
    fake_products(&e, x, v, 1e-9);
    fake_env_close(&e);
    fake_env_refuses(name, (const char *const[]){whole, "columns=x y", "n_samples=9", NULL}, "3, 7 or 13");
    fake_env_refuses(name, (const char *const[]){"n_samples=1", NULL}, "give 2 or more");
    temporary_close(&dir);
}

/* A motion that diverges among the held-out samples has the loss and derivatives of the compared ones. Its
 * scene keeps the last finite pose, its metrics are empty. */
static void lost_behind(void **state)
{
    enum { FITTED = 36, WITH_WEIGHT = 4 };
    /* Nothing supports the cube, and a network accelerates it along the plane. */
    const double x[WITH_WEIGHT] = {0, 0, 0.2, -1000}, v[WITH_WEIGHT] = {100, -50, 0.01, 3};
    double g[2][WITH_WEIGHT], loss[2], pose[7];
    for (int k = 0; k < 2; k++) {
        fake_env e;
        uint32_t outcome = DS_EVAL_DIVERGED;
        fake_env_open(&e, name,
                      (const char *const[]){
                          THREE, "residual=friction = sliding_speed | - | identity | residual | none",
                          "residual_limit=1e9", "n_samples=36", k == 0 ? "held_out=0" : "held_out=200", NULL},
                      0, 0);
        assert_int_equal(e.info.n, WITH_WEIGHT);
        loss[k] = fake_eval(&e, x, g[k], 0, &outcome);
        assert_int_equal(outcome, DS_EVAL_OK);
        fake_products(&e, x, v, 1e-9);
        if (k == 1) {
            const ds_scene *scene = e.plugin->env->get_extension(e.self, DS_EXT_SCENE);
            const double *z = fake_metric(&e, x, "z"), *sum = fake_values(&e, "error_sum");
            const uint64_t last = e.info.steps;
            assert_near(sum[FITTED - 1], loss[0], 0);
            assert_true(isnan(z[last]) && isnan(sum[last]) && isnan(fake_values(&e, "rmse")[last]));
            assert_int_equal(scene->frame(e.self, last, 0, 7, pose), DS_OK);
            for (int i = 0; i < 7; i++) {
                assert_true(isfinite(pose[i]));
            }
        }
        fake_env_close(&e);
    }
    assert_near(loss[1], loss[0], 0);
    assert_memory_equal(g[1], g[0], sizeof g[0]);
}

/* The metrics of all frames need as many sums as there are frames, not the square of that. */
static void long_scene(void **state)
{
    const double x[3] = {5000, 5000, 0.2};
    double spent[2];
    fake_env e;
    fake_env_open(&e, name, (const char *const[]){THREE, "n_samples=40001", NULL}, 0, 0);
    const double loss = fake_eval(&e, x, NULL, 0, NULL);
    for (int k = 0; k < 2; k++) {
        ds_eval io = {.bad_step = -1, .want = k == 1 ? DS_WANT_SCENE : 0, .n = 3, .x = x};
        const clock_t before = clock();
        assert_int_equal(ds_eval_call(e.plugin->env, e.self, &io), DS_OK);
        spent[k] = (double)(clock() - before) / CLOCKS_PER_SEC;
    }
    print_message("40000 steps: %.3g s, with a scene %.3g s\n", spent[0], spent[1]);
    assert_near(fake_values(&e, "error_sum")[40000], loss, 0);
    assert_true(spent[1] < 50 * (spent[0] + 0.01));
    fake_env_close(&e);
}

/* The quaternion keeps length one to round-off. */
static void unit_quaternion(void **state)
{
    ds_memory m = {.last = NULL};
    throw_motion t = {.h = 0};
    const double theta[LAW_CONSTANTS] = {5000, 5000, 0.2, 0.5, 0.01};
    const double start[THROW_STATES] = {0, 0.6, 0, 0.8, 0, 0, 1.2, 3, -2, 5, 0.7, 5, 0};
    contact_law_open(&t.law, FRICTION_BROWN, 0, 1);
    assert_true(throw_open(&t, &m, 0.01, 299));
    assert_int_equal(throw_simulate(&t, theta, start), -1);
    for (uint64_t k = 0; k <= 299; k++) {
        const double *q = throw_state(&t, k);
        assert_near(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3], 1, 1e-12);
    }
    ds_memory_free(&m);
}

RUN_TESTS(impulses, springs, other_springs, law, multiplied_out, derivatives, products, unit_quaternion,
          recorded_throw, lost_behind, long_scene)
