/* SPDX-License-Identifier: Apache-2.0 */
/* test_cartpole.c - the environments cartpole, as a host sees it, and cartpole_gym, against episodes of
 * CartPole-v1 of Gymnasium 1.4.0: recorded values, parameters, scenes, stepwise control. */
#include "differences.h"
#include "host.h"
#include "test.h"

#include <diffsim/ext/scene.h>
#include <diffsim/ext/steps.h>

/* ---- cartpole ---- */

/* The settings that reproduce the constants of a recorded file. */
typedef struct settings {
    char text[20][256];
    const char *list[21];
    int count;
} settings;

static char *next(settings *s)
{
    s->list[s->count] = s->text[s->count];
    s->list[s->count + 1] = NULL;
    return s->text[s->count++];
}

static void add_list(settings *s, const char *name, const json_t *array)
{
    double v[16];
    uint64_t n = rigid_numbers(array, v, 16);
    if (n) {
        rigid_list(next(s), 256, name, v, n);
    }
}

static void add_number(settings *s, const char *name, const json_t *object, const char *key)
{
    double v = golden_number(object, key);
    rigid_list(next(s), 256, name, &v, 1);
}

static void add_text(settings *s, const char *name, const json_t *object, const char *key)
{
    snprintf(next(s), 256, "%s=%s", name, json_string_value(json_object_get(object, key)));
}

static void from_meta(settings *s, const json_t *meta, const json_t *start)
{
    s->count = 0;
    add_number(s, "links", meta, "links");
    add_number(s, "steps", meta, "T");
    add_number(s, "h", meta, "h");
    add_number(s, "gravity", meta, "gravity");
    add_number(s, "cart_mass", meta, "cart_mass");
    add_list(s, "mass", json_object_get(meta, "link_masses"));
    add_list(s, "length", json_object_get(meta, "link_lengths"));
    add_list(s, "com", json_object_get(meta, "com_distance"));
    add_list(s, "inertia", json_object_get(meta, "link_inertia_about_com"));
    add_list(s, "scale", json_object_get(meta, "scale"));
    add_list(s, "target", json_object_get(meta, "target"));
    add_text(s, "integrator", meta, "integrator");
    add_text(s, "control", meta, "control");
    add_text(s, "loss", meta, "loss");
    add_number(s, "start_x", start, "x");
    add_number(s, "start_v", start, "v");
    add_list(s, "start_theta", json_object_get(start, "theta"));
    add_list(s, "start_omega", json_object_get(start, "omega"));
}

static void recorded_losses(void **state)
{
    static const char *const files[] = {
        "cartpole1_force.json",         "cartpole1_force_example.json", "cartpole1_force_example_sq.json",
        "cartpole1_velocity_semi.json", "cartpole1_velocity.json",      "cartpole2_force_normal_start.json",
        "cartpole3_velocity.json",      "cartpole3_force_semi.json",    "cartpole5_velocity.json"};
    for (size_t f = 0; f < sizeof files / sizeof *files; f++) {
        json_t *root = rigid_golden(files[f]), *c = NULL;
        size_t k = 0;
        json_array_foreach(golden_list(root, "cases"), k, c)
        {
            settings s;
            fake_env e;
            double x[1000], grad[1000], want[1000];
            from_meta(&s, json_object_get(root, "meta"), json_object_get(c, "start"));
            fake_env_open(&e, "envs/cartpole", s.list, 0, 0);
            uint64_t n = rigid_numbers(json_object_get(c, "params"), x, 1000);
            assert_int_equal(n, e.info.n);
            assert_near(fake_eval(&e, x, grad, 0, NULL), golden_number(c, "loss"), 1e-9);
            rigid_numbers(json_object_get(c, "grad_params"), want, 1000);
            for (uint64_t i = 0; i < n; i++) {
                assert_near(grad[i], want[i], 1e-9 * fmax(1, golden_number(c, "grad_max_abs")));
            }
            fake_env_close(&e);
        }
        json_decref(root);
    }
}

/* ---- defaults ---- */

static const char *const three[] = {"links=3", NULL};

/* At x = 0 nothing moves: the loss is the distance from the hanging tip to the target. */
static void loss_at_rest(void **state)
{
    fake_env e;
    fake_env_open(&e, "envs/cartpole", NULL, 0, 0);
    assert_int_equal(e.info.n, 200);
    assert_int_equal(e.info.steps, 100);
    assert_near(fake_eval(&e, e.x0, NULL, 0, NULL), sqrt(1 + 1.8 * 1.8), 1e-13);
    fake_env_close(&e);
    fake_env_open(&e, "envs/cartpole", three, 0, 0);
    assert_int_equal(e.info.n, 400);
    assert_near(fake_eval(&e, e.x0, NULL, 0, NULL), sqrt(1.5 * 1.5 + 25), 1e-12);
    fake_env_close(&e);
}

/* Mean, smallest and largest loss of 300 uniform points, within the range of 100 such samples that were
 * measured once. */
static void random_points(void **state)
{
    static const double measured[2][3] = {{2.06, 1.73, 2.55}, {4.17, 2.04, 5.68}};
    for (int k = 0; k < 2; k++) {
        fake_env e;
        double x[400], low[3] = {HUGE_VAL, HUGE_VAL, HUGE_VAL}, high[3] = {0, 0, 0};
        fake_env_open(&e, "envs/cartpole", k ? three : NULL, 0, 0);
        for (uint64_t sample = 0; sample < 100; sample++) {
            double value[3] = {0, HUGE_VAL, 0};
            for (uint64_t i = 0; i < 300; i++) {
                rigid_random(x, e.info.n, 1000 * sample + i);
                double f = fake_eval(&e, x, NULL, 0, NULL);
                value[0] += f / 300;
                value[1] = fmin(value[1], f);
                value[2] = fmax(value[2], f);
            }
            for (int i = 0; i < 3; i++) {
                low[i] = fmin(low[i], value[i]);
                high[i] = fmax(high[i], value[i]);
            }
        }
        print_message("links = %d: of 300 random points mean %.2f..%.2f, min %.2f..%.2f, max %.2f..%.2f\n",
                      k ? 3 : 1, low[0], high[0], low[1], high[1], low[2], high[2]);
        for (int i = 0; i < 3; i++) {
            assert_true(measured[k][i] > low[i] - 0.005 && measured[k][i] < high[i] + 0.005);
        }
        fake_env_close(&e);
    }
}

/* Best loss of projected Adam, rate 0.05, 300 gradients, from a start within 0.1 of zero. */
static double adam(fake_env *e, uint64_t key)
{
    double x[400], g[400], m[400] = {0}, v[400] = {0}, best = HUGE_VAL, b1 = 1, b2 = 1;
    rigid_random(x, e->info.n, key);
    for (uint64_t i = 0; i < e->info.n; i++) {
        x[i] *= 0.1;
    }
    for (int t = 0; t < 300; t++) {
        best = fmin(best, fake_eval(e, x, g, 0, NULL));
        b1 *= 0.9;
        b2 *= 0.999;
        for (uint64_t i = 0; i < e->info.n; i++) {
            m[i] = 0.9 * m[i] + 0.1 * g[i];
            v[i] = 0.999 * v[i] + 0.001 * g[i] * g[i];
            x[i] -= 0.05 * m[i] / (1 - b1) / (sqrt(v[i] / (1 - b2)) + 1e-8);
            x[i] = fmin(1, fmax(-1, x[i]));
        }
    }
    return best;
}

/* A gradient method reaches both targets, far below every random point. */
static void gradient_descent(void **state)
{
    for (int k = 0; k < 2; k++) {
        fake_env e;
        double best = HUGE_VAL;
        fake_env_open(&e, "envs/cartpole", k ? three : NULL, 0, 0);
        for (uint64_t run = 0; run < 3; run++) {
            double f = adam(&e, 50 + run);
            print_message("links = %d: Adam reaches %.4f\n", k ? 3 : 1, f);
            best = fmin(best, f);
        }
        assert_true(best < (k ? 0.2 : 0.02));
        fake_env_close(&e);
    }
}

static void central_differences(void **state)
{
    static const char *const cases[][6] = {
        {"links=1", NULL},
        {"links=3", NULL},
        {"links=4", "loss=state_sq", "hold=3", "steps=20", NULL},
        {"links=2", "control=force", "loss=state_norm", NULL},
        {"variant=nimble", NULL},
        {"links=10", "steps=40", "h=0.005", NULL},
        {"links=3", "integrator=rk4", "hold=2", "steps=50", NULL},
        {"variant=nimble", "links=2", "integrator=rk4", NULL},
        {"links=2", "integrator=rk4", "residual=joint_torque = joint_angle, joint_rate", "steps=30", NULL},
        {"links=2", "integrator=rk4", "residual=cart_force, joint_torque.1 = cart_velocity, joint_rate",
         "control=force", NULL}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        fake_env e;
        double x[500], g[500], size = 0, worst = 0;
        fake_env_open(&e, "envs/cartpole", cases[c], 0, 0);
        for (uint64_t point = 0; point < 5; point++) {
            rigid_random(x, e.info.n, 200 + point);
            for (uint64_t i = 0; i < e.info.n; i++) {
                x[i] *= 0.9;
            }
            fake_eval(&e, x, g, 0, NULL);
            for (uint64_t i = 0; i < e.info.n; i++) {
                size = fmax(size, fabs(g[i]));
            }
            for (uint64_t i = point; i < e.info.n; i += 17) {
                double spread, q = rigid_difference(&e, x, i, 1e-4, &spread);
                worst = fmax(worst, fabs(q - g[i]) / fmax(size, 1e-3));
            }
        }
        print_message("%s: differences agree to %.1e\n", cases[c][0], worst);
        assert_true(worst < 1e-7);
        fake_env_close(&e);
    }
}

/* Every call gives the same bits whatever ran before, with and without gradient and scene. */
static void pure(void **state)
{
    fake_env e, other;
    double x[400], y[400], g[400], again[400];
    fake_env_open(&e, "envs/cartpole", three, 0, 0);
    fake_env_open(&other, "envs/cartpole", three, 0, 0);
    rigid_random(x, 400, 8);
    rigid_random(y, 400, 9);
    double f = fake_eval(&e, x, g, 0, NULL);
    fake_eval(&other, y, again, 0, NULL);
    assert_true(fake_eval(&other, x, NULL, 0, NULL) == f);
    assert_true(fake_eval(&other, x, again, 0, NULL) == f);
    assert_memory_equal(g, again, sizeof g);
    fake_env_close(&e);
    fake_env_close(&other);
}

/* ---- errors ---- */

static void bad_parameters(void **state)
{
    fake_env_refuses("envs/cartpole", (const char *const[]){"links=3", "mass=1,2", NULL}, "mass");
    fake_env_refuses("envs/cartpole", (const char *const[]){"links=2", "scale=1,2,3,4", NULL}, "scale");
    fake_env_refuses("envs/cartpole", (const char *const[]){"links=1", "inertia=0", "com=0", NULL},
                     "inertia");
    fake_env_refuses("envs/cartpole", (const char *const[]){"start_theta=1,2", NULL}, "start_theta");
}

static void divergence(void **state)
{
    fake_env e;
    double x[400], g[400];
    uint32_t outcome = 0;
    fake_env_open(&e, "envs/cartpole", (const char *const[]){"links=3", "h=10", "scale=1e6", NULL}, 0, 0);
    rigid_random(x, 400, 10);
    ds_eval io = {.bad_step = -1, .want = DS_WANT_GRAD, .n = 400, .x = x, .grad = g};
    assert_int_equal(ds_eval_call(e.plugin->env, e.self, &io), DS_OK);
    outcome = io.outcome;
    assert_int_equal(outcome, DS_EVAL_DIVERGED);
    assert_true(isinf(io.loss));
    assert_true(io.bad_step >= 0 && io.bad_step < 100);
    assert_non_null(strstr(e.host.error, "reduce parameter h"));
    fake_env_close(&e);
}

/* ---- scene ---- */

static void scene_of_an_episode(void **state)
{
    fake_env e;
    double x[400], pose[7], tip[7];
    fake_env_open(&e, "envs/cartpole", three, 0, 0);
    const ds_scene *scene = e.plugin->env->get_extension(e.self, DS_EXT_SCENE);
    ds_scene_info info = {.struct_size = sizeof info};
    assert_int_equal(scene->info(e.self, &info), DS_E_STATE);
    rigid_random(x, 400, 11);
    ds_eval io = {.bad_step = -1, .want = DS_WANT_SCENE, .n = 400, .x = x};
    assert_int_equal(ds_eval_call(e.plugin->env, e.self, &io), DS_OK);
    assert_int_equal(scene->info(e.self, &info), DS_OK);
    assert_int_equal(info.frames, 101);
    assert_int_equal(info.bodies, 7);
    for (uint64_t k = 0; k < 101; k += 20) { /* the last link ends at the tip */
        assert_int_equal(scene->frame(e.self, k, 4, 7, pose), DS_OK);
        assert_int_equal(scene->frame(e.self, k, 5, 7, tip), DS_OK);
        double sine = 2 * pose[3] * pose[6], cosine = 1 - 2 * pose[6] * pose[6];
        assert_near(pose[0] - 0.5 * sine, tip[0], 1e-12);
        assert_near(pose[1] + 0.5 * cosine, tip[1], 1e-12);
    }
    for (uint64_t m = 0; m < info.metrics; m++) {
        ds_scene_metric metric = {.struct_size = sizeof metric};
        assert_int_equal(scene->metric(e.self, m, &metric), DS_OK);
        if (strcmp(metric.name, "loss") == 0) {
            assert_true(metric.values[100] == io.loss);
        }
    }
    fake_eval(&e, x, NULL, 0, NULL);
    assert_int_equal(scene->info(e.self, &info), DS_E_STATE);
    fake_env_close(&e);
}

/* ---- cartpole_gym ---- */

enum { STEPS = 500 };

/* 1: push to the right. */
typedef int policy(int k, const double *obs);

static int fixed_sequence(int k, const double *obs)
{
    return (k * k + k / 3) % 2;
}

static int feedback(int k, const double *obs)
{
    return 0.1 * obs[0] + 0.3 * obs[1] + 1.5 * obs[2] + 0.7 * obs[3] > 0;
}

static int always(int k, const double *obs)
{
    return 1;
}

static int never(int k, const double *obs)
{
    return 0;
}

static void assert_state(const double *obs, const double *want, double tolerance)
{
    for (int i = 0; i < 4; i++) {
        assert_near(obs[i], want[i], tolerance);
    }
}

/* Recorded from CartPole-v1 with the state set to (0, 0, theta, 0) after reset(): the states after steps 1, 2
 * and 10, the number of steps, and the state at the end or after 100 steps. Later states differ by rounding:
 * the pole doubles every difference in 9 steps and pushes of constant size do not correct it. */
typedef struct recorded {
    const char *theta;
    policy *act;
    int steps;
    double state[4][4];
} recorded;

static const recorded episodes[] = {
    {"theta0=0.02",
     fixed_sequence,
     14,
     {{0.0, -0.19540298565685102, 0.02, 0.2989254675514232},
      {-0.00390805971313702, -0.0005717454174676839, 0.025978509351028464, 0.012616662623973485},
      {-0.0589221278409348, -0.7866625081242106, 0.1164793147952053, 1.3140429083607432},
      {-0.12204940647499567, -0.7941399014821706, 0.22649592212005043, 1.505602337247014}}},
    {"theta0=0.05",
     feedback,
     STEPS,
     {{0.0, 0.194370546605301, 0.05, -0.2764975752871551},
      {0.0038874109321060204, -0.0014277685738404988, 0.0444700484942569, 0.031526727883519345},
      {0.018932350675324394, -0.0059748478596751975, 0.0335031996961915, 0.13187187896769453},
      {0.2422529422884169, -0.0077029303080818345, 0.0013124365480561458, 0.16992004069867017}}},
    {"theta0=0.02",
     always,
     10,
     {{0.0, 0.19482949686643772, 0.02, -0.28630619039102573},
      {0.0038965899373287543, 0.38966059301817124, 0.014273876192179485, -0.5726147792302255},
      {0.1756262526923776, 1.9543050107634947, -0.24505393444261256, -3.0659178717709903},
      {0.1756262526923776, 1.9543050107634947, -0.24505393444261256, -3.0659178717709903}}},
};

static double loss_of(fake_env *e, const double *x, uint64_t noise_key)
{
    ds_eval io = {.bad_step = -1, .n = e->info.n, .x = x, .noise_key = noise_key};
    assert_int_equal(ds_eval_call(e->plugin->env, e->self, &io), DS_OK);
    assert_int_equal(io.outcome, DS_EVAL_OK);
    assert_int_equal(io.cost_steps, STEPS - io.loss);
    return io.loss;
}

static void test_recorded(void **state)
{
    for (size_t i = 0; i < sizeof episodes / sizeof episodes[0]; i++) {
        const recorded *r = &episodes[i];
        double x[STEPS], obs[4], sum = 0, action;
        fake_env e;
        fake_env_open(&e, "envs/cartpole_gym", SETTINGS(r->theta), 1, -1);
        const ds_env_steps *rl = e.plugin->env->get_extension(e.self, DS_EXT_STEPS);
        ds_step io = {.action = &action, .obs = obs};
        for (int k = 0; k < STEPS; k++) {
            x[k] = -1;
        }
        assert_int_equal(ds_step_begin_call(rl, e.self, 0, 0, obs, NULL), DS_OK);
        int k = 0;
        for (; !io.ended; k++) {
            x[k] = action = r->act(k, obs) ? 0.25 : -0.25;
            assert_int_equal(ds_step_call(rl, e.self, 0, &io), DS_OK);
            sum += io.reward;
            if (k < 2 || k == 9) {
                assert_state(obs, r->state[k < 2 ? k : 2], 1e-13);
            }
            if (k == 99 || (io.ended && k < 99)) {
                assert_state(obs, r->state[3], 1e-10);
            }
        }
        assert_int_equal(k, r->steps);
        assert_int_equal(io.ended, k == STEPS ? DS_STEPS_TRUNCATED : DS_STEPS_TERMINATED);
        assert_true(sum == r->steps && io.loss == STEPS - r->steps);
        const double loss = io.loss; /* a call that fails has no results */
        assert_int_equal(ds_step_call(rl, e.self, 0, &io), DS_E_STATE);
        /* Actions after the end of the stepwise episode do not change the loss of the whole sequence. */
        assert_true(loss_of(&e, x, 0) == loss);
        fake_env_close(&e);
    }
}

/* The last push ends the episode by time limit, unless the pole falls with it. */
static void test_end(void **state)
{
    static const char *const steps[] = {"steps=8", "steps=9", "steps=10", "steps=11"};
    for (int i = 0; i < 4; i++) {
        double obs[4], action = 1;
        fake_env e;
        fake_env_open(&e, "envs/cartpole_gym", SETTINGS(steps[i]), 1, -1);
        const ds_env_steps *rl = e.plugin->env->get_extension(e.self, DS_EXT_STEPS);
        ds_steps_info info = {.struct_size = sizeof info};
        ds_step io = {.action = &action, .obs = obs};
        assert_int_equal(rl->info(e.self, &info), DS_OK);
        assert_int_equal(info.flags, DS_STEPS_TIME_LIMIT);
        assert_int_equal(ds_step_begin_call(rl, e.self, 0, 0, obs, NULL), DS_OK);
        do {
            assert_int_equal(ds_step_call(rl, e.self, 0, &io), DS_OK);
        } while (io.ended == DS_STEPS_CONTINUES);
        assert_int_equal(io.ended,
                         i < 2 ? DS_STEPS_TRUNCATED : DS_STEPS_TERMINATED); /* it falls in step 10 */
        assert_true(io.loss == (i < 3 ? 0 : 1));
        fake_env_close(&e);
    }
}

/* The sign of a push counts: 0 and below push to the left. */
static void test_sign(void **state)
{
    double x[STEPS], obs[4], left[4], action = 0;
    fake_env e;
    fake_env_open(&e, "envs/cartpole_gym", NULL, 1, -1);
    const ds_env_steps *rl = e.plugin->env->get_extension(e.self, DS_EXT_STEPS);
    ds_step io = {.action = &action, .obs = left};
    ds_step_begin_call(rl, e.self, 0, 0, obs, NULL);
    ds_step_call(rl, e.self, 0, &io);
    action = -1;
    io.obs = obs;
    ds_step_begin_call(rl, e.self, 0, 0, obs, NULL);
    ds_step_call(rl, e.self, 0, &io);
    assert_memory_equal(left, obs, sizeof obs);
    action = 1e-300;
    ds_step_begin_call(rl, e.self, 0, 0, obs, NULL);
    ds_step_call(rl, e.self, 0, &io);
    assert_true(obs[1] > 0 && left[1] < 0);
    for (int k = 0; k < STEPS; k++) {
        x[k] = never(k, obs) ? 1 : -1;
    }
    assert_true(loss_of(&e, x, 0) == STEPS - 9); /* as recorded: 9 steps */
    /* The scene ends when the pole falls. */
    const ds_scene *scene = e.plugin->env->get_extension(e.self, DS_EXT_SCENE);
    ds_scene_info info = {.struct_size = sizeof info};
    ds_eval seen = {.bad_step = -1, .want = DS_WANT_SCENE, .n = STEPS, .x = x};
    assert_int_equal(ds_eval_call(e.plugin->env, e.self, &seen), DS_OK);
    assert_int_equal(scene->info(e.self, &info), DS_OK);
    assert_int_equal(info.frames, 9 + 1);
    fake_env_close(&e);
}

/* Random starts lie in Gymnasium's range and depend on the noise key alone. */
static void test_start(void **state)
{
    double obs[4], again[4], least = 1, most = -1;
    fake_env e;
    fake_env_open(&e, "envs/cartpole_gym", SETTINGS("start=random"), 1, -1);
    const ds_env_steps *rl = e.plugin->env->get_extension(e.self, DS_EXT_STEPS);
    for (uint64_t key = 1; key <= 1000; key++) {
        ds_step_begin_call(rl, e.self, 0, key, obs, NULL);
        ds_step_begin_call(rl, e.self, 0, key, again, NULL);
        assert_memory_equal(obs, again, sizeof obs);
        for (int i = 0; i < 4; i++) {
            least = fmin(least, obs[i]);
            most = fmax(most, obs[i]);
        }
    }
    assert_true(least >= -0.05 && least < -0.0499 && most <= 0.05 && most > 0.0499);
    fake_env_close(&e);
}

RUN_TESTS(recorded_losses, loss_at_rest, random_points, gradient_descent, central_differences, pure,
          bad_parameters, divergence, scene_of_an_episode, test_recorded, test_end, test_sign, test_start)
