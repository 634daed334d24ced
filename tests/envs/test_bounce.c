/* SPDX-License-Identifier: Apache-2.0 */
/* test_bounce.c - penalty contact and the plugin bounce: episodes recorded from Warp (float) and from an
 * independent program (double), figures measured once, flight, invariants, differences. */
#include "differences.h"
#include "engines/physics/penalty/penalty.h"
#include "test.h"

#include <diffsim/ext/scene.h>

static const char *const files[] = {
    "bounce_warp.json",  "bounce_warp_2s.json",    "bounce_warp_v170_gravity.json",
    "bounce_paper.json", "bounce_friction10.json", "bounce_friction10_wall.json"};

static penalty_params read_params(const json_t *meta)
{
    const json_t *wall = json_object_get(meta, "wall_plane_x");
    return (penalty_params){.h = golden_number(meta, "h"),
                            .mass = golden_number(meta, "mass"),
                            .gravity = -golden_number(meta, "gravity_y"),
                            .radius = golden_number(meta, "radius"),
                            .ke = golden_number(meta, "ke"),
                            .kd = golden_number(meta, "kd"),
                            .kf = golden_number(meta, "kf"),
                            .mu = golden_number(meta, "mu"),
                            .wall = json_is_number(wall) ? json_number_value(wall) : HUGE_VAL};
}

static void check3(const json_t *object, const char *key, const double got[3], double absolute,
                   double relative, const char *file)
{
    double want[3], size = 1;
    assert_int_equal(rigid_numbers(json_object_get(object, key), want, 3), 3);
    for (int i = 0; i < 3; i++) {
        size = fmax(size, fabs(want[i]));
    }
    for (int i = 0; i < 3; i++) {
        if (!(fabs(got[i] - want[i]) <= absolute + relative * size)) {
            fail_msg("%s: %s[%d] = %.17g, not %.17g", file, key, i, got[i], want[i]);
        }
    }
}

static void check_positions(const penalty *sim, const json_t *rows, double tolerance, const char *file)
{
    size_t k = 0;
    json_t *row = NULL;
    json_array_foreach(rows, k, row)
    {
        const json_t *at = json_object_get(row, "x") ? json_object_get(row, "x") : json_object_get(row, "q");
        double want[3];
        const double *got = penalty_state(sim, (uint64_t)rigid_int(row, "t"));
        assert_int_equal(rigid_numbers(at, want, 3), 3);
        for (int i = 0; i < 3; i++) {
            if (!(fabs(got[i] - want[i]) <= tolerance * fmax(1, fabs(want[i])))) {
                fail_msg("%s: step %d, coordinate %d: %.17g, not %.17g", file, rigid_int(row, "t"), i, got[i],
                         want[i]);
            }
        }
    }
}

static void check_case(const json_t *meta, const json_t *c, const char *file)
{
    const int paper = strcmp(file, "bounce_paper.json") == 0;
    const json_t *exact = json_object_get(c, "double"), *warp = json_object_get(c, "warp");
    penalty_params p = read_params(meta);
    uint64_t steps = (uint64_t)rigid_int(meta, "steps");
    double x[3], v[3], target[3], loss = 0, tolerance = paper ? 1e-7 : 1e-9;
    rigid_numbers(json_object_get(meta, "x0"), x, 3);
    rigid_numbers(json_object_get(meta, "target"), target, 3);
    rigid_numbers(json_object_get(c, "v0"), v, 3);
    ds_memory room = {0};
    penalty *sim = penalty_create(&room, &p, steps);
    penalty_simulate(sim, x, v, steps, 1);
    check3(exact, "x_T", x, 0, tolerance, file);
    check3(exact, "v_T", v, 0, tolerance, file);
    check3(warp, "x_T", x, 5e-4, 0, file);
    check_positions(sim, json_object_get(exact, "x"), tolerance, file);
    check_positions(sim, json_object_get(warp, "x"), 5e-4, file);
    assert_int_equal(penalty_contacts(sim, PENALTY_GROUND), rigid_int(c, "ground_contact_steps"));
    assert_int_equal(penalty_contacts(sim, PENALTY_WALL), rigid_int(c, "wall_contact_steps"));
    double x_bar[3], v_bar[3] = {0, 0, 0};
    for (int i = 0; i < 3; i++) {
        loss += (x[i] - target[i]) * (x[i] - target[i]);
        x_bar[i] = 2 * (x[i] - target[i]);
    }
    penalty_adjoint(sim, x_bar, v_bar);
    assert_near(loss, golden_number(exact, "loss"), tolerance * fmax(1, loss));
    assert_near(loss, golden_number(warp, "loss"), fmax(1e-2, 5e-5 * loss));
    check3(exact, "grad_v0", v_bar, 0, tolerance, file);
    check3(warp, "grad_v0", v_bar, 0, paper ? 5e-3 : 5e-4, file);
    check3(warp, "grad_x0", x_bar, 0, 5e-3,
           file); /* no recorded tolerance: single precision with stiff contact */
    ds_memory_free(&room);
}

static void recorded_episodes(void **state)
{
    for (int f = 0; f < 6; f++) {
        json_t *root = rigid_golden(files[f]), *c = NULL;
        size_t k = 0;
        json_array_foreach(golden_list(root, "cases"), k, c)
        {
            check_case(json_object_get(root, "meta"), c, files[f]);
        }
        json_decref(root);
    }
}

static void recorded_by_plugin(void **state)
{
    static const char *const settings[6][5] = {{NULL},
                                               {"steps=960"},
                                               {"gravity=9.80665", "mu=0.2"},
                                               {"variant=paper", "kf=1000", "mu=0.25", "target=2,1,0"},
                                               {"variant=paper"},
                                               {"variant=paper", "wall=1.75"}};
    for (int f = 0; f < 6; f++) {
        json_t *root = rigid_golden(files[f]), *c = NULL;
        size_t k = 0;
        fake_env e;
        fake_env_open(&e, "envs/bounce", settings[f], 0, 0);
        /* a warning where friction overshoots */
        assert_true((strstr(e.host.log, "kf h") != NULL) == (f == 3));
        json_array_foreach(golden_list(root, "cases"), k, c)
        {
            double v[3], g[3];
            const json_t *exact = json_object_get(c, "double");
            rigid_numbers(json_object_get(c, "v0"), v, 3);
            double loss = fake_eval(&e, v, g, 0, NULL), tolerance = f == 3 ? 1e-7 : 1e-9;
            assert_near(loss, golden_number(exact, "loss"), tolerance * fmax(1, loss));
            check3(exact, "grad_v0", g, 0, tolerance, files[f]);
        }
        fake_env_close(&e);
        json_decref(root);
    }
}

/* ---- figures measured once ---- */

static void example_of_warp(void **state)
{
    fake_env e;
    double g[3];
    fake_env_open(&e, "envs/bounce", NULL, 0, 0);
    assert_near(fake_eval(&e, e.x0, g, 0, NULL), 9.105709062, 5e-10);
    assert_near(g[0], -4.972765, 1e-6);
    assert_near(g[1], -0.398443, 1e-6);
    assert_near(g[2], 0, 1e-15);
    fake_env_close(&e);
}

/* The two descents of the example end where they ended in Warp (outside the default bounds). */
static void descents(void **state)
{
    static const double rate[2] = {0.01, 0.02}, loss[2] = {0.01825, 2.4e-5};
    static const double end[2][2] = {{10.488, -4.422}, {10.639, -4.288}};
    for (int k = 0; k < 2; k++) {
        fake_env e;
        double v[3] = {5, -5, 0}, g[3];
        fake_env_open(&e, "envs/bounce", (const char *const[]){"upper=20", NULL}, 0, 0);
        for (int t = 0; t < 250; t++) {
            fake_eval(&e, v, g, 0, NULL);
            for (int i = 0; i < 3; i++) {
                v[i] -= rate[k] * g[i];
            }
        }
        assert_near(fake_eval(&e, v, NULL, 0, NULL), loss[k], k ? 6e-7 : 6e-6);
        assert_near(v[0], end[k][0], 6e-4);
        assert_near(v[1], end[k][1], 6e-4);
        assert_near(v[2], 0, 1e-12);
        fake_env_close(&e);
    }
}

/* Position of the ball after 2 s for a few vertical velocities; the target is one of these points. */
static void end_points(void **state)
{
    static const double vy[6] = {-10, -8, -6, -4, -2, -5};
    static const double want[6][3] = {{2.508112, 1.569963, 0.752028}, {2.458194, 1.054710, 0.739548},
                                      {2.372875, 1.845707, 0.718219}, {2.348425, 1.279123, 0.712106},
                                      {2.345739, 0.147017, 0.711435}, {2.340879, 1.636667, 0.710220}};
    fake_env e;
    fake_env_open(&e, "envs/bounce", (const char *const[]){"variant=paper", NULL}, 0, 0);
    const ds_scene *scene = e.plugin->env->get_extension(e.self, DS_EXT_SCENE);
    for (int k = 0; k < 6; k++) {
        double at[7], v[3] = {2, vy[k], 0.5};
        ds_eval io = {.bad_step = -1, .want = DS_WANT_SCENE, .n = 3, .x = v};
        assert_int_equal(ds_eval_call(e.plugin->env, e.self, &io), DS_OK);
        assert_int_equal(scene->frame(e.self, 960, 0, 7, at), DS_OK);
        for (int i = 0; i < 3; i++) {
            assert_near(at[i], want[k][i], 1e-5);
        }
        if (k == 5) {
            assert_near(io.loss, 0, 1e-17);
        }
    }
    fake_env_close(&e);
}

/* Without friction, 2001 vertical velocities: the loss has saw-teeth at the times of impact. */
static void teeth(void **state)
{
    fake_env e;
    double v[3] = {2, 0, 0}, g[3], low = HUGE_VAL, high = 0, last = 0, last_g = 0, jump = 0, steep[2001];
    int signs = 0;
    fake_env_open(&e, "envs/bounce",
                  (const char *const[]){"variant=paper", "kf=0", "target=2,1,0", "upper=10", NULL}, 0, 0);
    for (int k = 0; k <= 2000; k++) {
        v[1] = -10 + 0.01 * k;
        double f = fake_eval(&e, v, g, 0, NULL);
        low = fmin(low, f);
        high = fmax(high, f);
        if (k) {
            signs += (g[1] > 0) != (last_g > 0);
            jump = fmax(jump, fabs(f - last));
        }
        last = f;
        last_g = g[1];
        steep[k] = fabs(g[1]);
    }
    double most = 0;
    int below = 0;
    for (int k = 0; k <= 2000; k++) {
        most = fmax(most, steep[k]);
        below += steep[k] < 9.5;
    }
    print_message(
        "loss %.3f..%.3f, %d sign changes, steepest %.1f, share below 9.5: %.3f, largest jump %.3f\n", low,
        high, signs, most, below / 2001.0, jump);
    assert_near(low, 2.25, 6e-3);
    assert_near(high, 4.55, 6e-3);
    assert_int_equal(signs, 81);
    assert_near(most, 121, 0.6);
    assert_near(below / 2001.0, 0.5, 0.02);
    assert_near(jump, 0.48, 6e-3);
    fake_env_close(&e);
}

/* ---- flight and bounces ---- */

static penalty_params plain(void)
{
    return (penalty_params){.h = 1.0 / 480,
                            .mass = 1,
                            .gravity = 9.8,
                            .radius = 0.1,
                            .ke = 1e4,
                            .kd = 10,
                            .kf = 0,
                            .mu = 0,
                            .wall = HUGE_VAL};
}

static void flight(void **state)
{
    penalty_params p = plain();
    const double x0[3] = {0.3, 100, -2}, v0[3] = {3, 1, -0.5};
    double x[3], v[3], T = 700;
    memcpy(x, x0, sizeof x);
    memcpy(v, v0, sizeof v);
    ds_memory room = {0};
    penalty *sim = penalty_create(&room, &p, 700);
    penalty_simulate(sim, x, v, 700, 0);
    for (int i = 0; i < 3; i++) {
        double g = i == 1 ? -p.gravity : 0;
        assert_near(x[i], x0[i] + v0[i] * p.h * T + g * p.h * p.h * T * (T + 1) / 2, 1e-11);
    }
    double x_bar[3] = {1, 2, 3}, v_bar[3] = {0.5, 0.25, 0};
    penalty_adjoint(sim, x_bar, v_bar);
    assert_near(v_bar[1], 0.25 + 2 * p.h * T, 1e-13);
    assert_near(x_bar[1], 2, 0);
    ds_memory_free(&room);
}

/* A ball rebounds to 0.75 to 0.9 of the height of fall; without damping it keeps its height to the order of
 * h. */
static void rebound(void **state)
{
    for (int k = 0; k < 2; k++) {
        penalty_params p = plain();
        p.kd = k ? 0 : 10;
        p.h = k ? 1e-5 : p.h;
        uint64_t steps = k ? 100000 : 500;
        double x[3] = {0, 1.1, 0}, v[3] = {0, 0, 0}, apex = 0;
        int touched = 0;
        ds_memory room = {0};
        penalty *sim = penalty_create(&room, &p, steps);
        penalty_simulate(sim, x, v, steps, 1);
        for (uint64_t t = 0; t <= steps; t++) {
            double y = penalty_state(sim, t)[1];
            touched |= y < p.radius;
            apex = touched ? fmax(apex, y) : 0;
        }
        print_message("kd = %g: rises to %.4f of the height of the fall\n", p.kd, apex - p.radius);
        assert_true(k ? fabs(apex - 1.1) < 1e-4 : apex - p.radius > 0.75 && apex - p.radius < 0.9);
        ds_memory_free(&room);
    }
}

/* ---- gradients ---- */

static double probe(penalty *sim, const double v0[3], const double target[3], double grad[3],
                    uint64_t *branches)
{
    double x[3] = {-0.5, 1, 0}, v[3] = {v0[0], v0[1], v0[2]}, x_bar[3], loss = 0;
    penalty_simulate(sim, x, v, 960, 0);
    for (int i = 0; i < 3; i++) {
        loss += (x[i] - target[i]) * (x[i] - target[i]);
        x_bar[i] = 2 * (x[i] - target[i]);
        grad[i] = 0;
    }
    penalty_adjoint(sim, x_bar, grad);
    *branches = penalty_branches(sim);
    return loss;
}

/* All three components at random points agree to 1e-7 of the gradient's norm where no branch changes over the
 * difference; the others are counted. */
static void central_differences(void **state)
{
    static const double constants[5][4] = {{0, 0, 1.75, 1e4},
                                           {10, 0.1, HUGE_VAL, 1e4},
                                           {100, 0.5, 1.75, 1e4},
                                           {1000, 0.25, HUGE_VAL, 1e4},
                                           {30, 0.2, HUGE_VAL, 3000}};
    static const double target[3] = {2.3, 1.6, 0.7};
    for (int s = 0; s < 5; s++) {
        penalty_params p = plain();
        p.kf = constants[s][0];
        p.mu = constants[s][1];
        p.wall = constants[s][2];
        p.ke = constants[s][3];
        ds_memory room = {0};
        penalty *sim = penalty_create(&room, &p, 960);
        int switched = 0, wrong = 0;
        double worst = 0;
        for (uint64_t k = 0; k < 900; k++) {
            double v[3], g[3], unused[3], error = HUGE_VAL, nearest = 0;
            uint64_t here = 0, there = 0, i = k % 3;
            rigid_random(v, 3, 40 + k);
            for (int j = 0; j < 3; j++) {
                v[j] *= 10;
            }
            probe(sim, v, target, g, &here);
            double norm = fmax(1, sqrt(g[0] * g[0] + g[1] * g[1] + g[2] * g[2])), kept = v[i];
            for (double eps = 1e-2; eps > 5e-6; eps *= 0.3) {
                double q[2] = {0, 0};
                int same = 1;
                for (int m = 0; m < 4; m++) {
                    double d = (m % 2 ? -1 : 1) * (m < 2 ? eps : 0.5 * eps);
                    v[i] = kept + d;
                    q[m / 2] += probe(sim, v, target, unused, &there) / (2 * d);
                    same &= here == there;
                }
                v[i] = kept;
                nearest = fabs((4 * q[1] - q[0]) / 3 - g[i]) / norm;
                error = same ? fmin(error, nearest) : error;
            }
            switched += isinf(error);
            wrong += isinf(error) && nearest > 1e-5;
            worst = isinf(error) ? worst : fmax(worst, error);
        }
        print_message(
            "kf %g, mu %g: worst error %.1e of the norm; %d of 900 components next to a switch, %d of them "
            "disagree\n",
            p.kf, p.mu, worst, switched, wrong);
        assert_true(worst < 1e-7);
        assert_true(switched < 45);
        ds_memory_free(&room);
    }
}

/* Through the plugin, both losses. */
static void plugin_gradient(void **state)
{
    for (int s = 0; s < 2; s++) {
        fake_env e;
        double v[3] = {1.3, -3.2, 0.4}, g[3], spread;
        fake_env_open(&e, "envs/bounce",
                      (const char *const[]){"variant=paper", s ? "loss=l2" : "loss=squared", NULL}, 0, 0);
        fake_eval(&e, v, g, 0, NULL);
        for (uint64_t i = 0; i < 3; i++) {
            assert_near(g[i], rigid_difference(&e, v, i, 1e-5, &spread), 1e-7 * fmax(1, fabs(g[i])));
        }
        fake_env_close(&e);
    }
}

static void pure(void **state)
{
    fake_env e, other;
    double g[3], again[3];
    fake_env_open(&e, "envs/bounce", (const char *const[]){"variant=paper", NULL}, 0, 0);
    fake_env_open(&other, "envs/bounce", (const char *const[]){"variant=paper", NULL}, 0, 0);
    const double v[3] = {1, -3, 2}, w[3] = {-4, -8, 1};
    double f = fake_eval(&e, v, g, 0, NULL);
    fake_eval(&other, w, again, 0, NULL);
    assert_true(fake_eval(&other, v, again, 0, NULL) == f);
    assert_memory_equal(g, again, sizeof g);
    ds_eval io = {.bad_step = -1, .want = DS_WANT_SCENE | DS_WANT_GRAD, .n = 3, .x = v, .grad = again};
    assert_int_equal(ds_eval_call(other.plugin->env, other.self, &io), DS_OK);
    assert_true(io.loss == f);
    assert_memory_equal(g, again, sizeof g);
    fake_env_close(&e);
    fake_env_close(&other);
}

static void divergence_and_errors(void **state)
{
    fake_env e;
    double g[3];
    fake_env_open(&e, "envs/bounce", (const char *const[]){"ke=1e300", "mass=1e-9", NULL}, 0, 0);
    ds_eval io = {.bad_step = -1, .want = DS_WANT_GRAD, .n = 3, .x = e.x0, .grad = g};
    assert_int_equal(ds_eval_call(e.plugin->env, e.self, &io), DS_OK);
    assert_int_equal(io.outcome, DS_EVAL_DIVERGED);
    assert_true(isinf(io.loss) && io.bad_step >= -1 && io.bad_step < 288);
    assert_non_null(strstr(e.host.log, "above 4"));
    assert_non_null(strstr(e.host.error, "reduce parameter h, ke"));
    fake_env_close(&e);
    static const char *const bad[2][3] = {{"lower=1", "upper=0.5", NULL}, {"wall=-1", NULL}};
    for (int k = 0; k < 2; k++) {
        fake_env_refuses("envs/bounce", bad[k], k ? "wall" : "lower");
    }
}

RUN_TESTS(recorded_episodes, recorded_by_plugin, example_of_warp, descents, end_points, teeth, flight,
          rebound, central_differences, plugin_gradient, pure, divergence_and_errors)
