/* SPDX-License-Identifier: Apache-2.0 */
/* test_cartpole_gym.c - environment cartpole_gym: episodes of Gymnasium 1.4.0's
 * CartPole-v1, stepwise and as a whole. */
#include "host.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>
#include <diffsim/ext/steps.h>
#include <diffsim/ext/scene.h>
#include <math.h>

#define SETTINGS(...) ((const char *const[]){__VA_ARGS__, NULL})

enum { STEPS = 500 };

/* Whether to push to the right. */
typedef int policy(int k, const double *obs);

static int fixed_sequence(int k, const double *obs)
{
    (void)obs;
    return (k * k + k / 3) % 2;
}

static int feedback(int k, const double *obs)
{
    (void)k;
    return 0.1 * obs[0] + 0.3 * obs[1] + 1.5 * obs[2] + 0.7 * obs[3] > 0;
}

static int always(int k, const double *obs)
{
    (void)k, (void)obs;
    return 1;
}

static int never(int k, const double *obs)
{
    (void)k, (void)obs;
    return 0;
}

static void assert_state(const double *obs, const double *want, double tolerance)
{
    for (int i = 0; i < 4; i++) {
        assert_near(obs[i], want[i], tolerance);
    }
}

/* Recorded from CartPole-v1 with the state set to (0, 0, theta, 0) after reset(): the states after steps
 * 1, 2 and 10, the number of steps, and the state at the end or after 100 steps: from there on rounding
 * shows, as the pole doubles every difference in 9 steps and pushes of constant size do not undo it. */
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
    (void)state;
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
        /* What stepwise control left out has no effect on the loss of the whole sequence. */
        assert_true(loss_of(&e, x, 0) == loss);
        fake_env_close(&e);
    }
}

/* The last push is a time limit, but for a pole that falls with it. */
static void test_end(void **state)
{
    static const char *const steps[] = {"steps=8", "steps=9", "steps=10", "steps=11"};
    (void)state;
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

/* A push is a sign: 0 pushes to the left, as every number below it. */
static void test_sign(void **state)
{
    double x[STEPS], obs[4], left[4], action = 0;
    fake_env e;
    (void)state;
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
    /* The scene ends with the fall. */
    const ds_scene *scene = e.plugin->env->get_extension(e.self, DS_EXT_SCENE);
    ds_scene_info info = {.struct_size = sizeof info};
    ds_eval seen = {.bad_step = -1, .want = DS_WANT_SCENE, .n = STEPS, .x = x};
    assert_int_equal(ds_eval_call(e.plugin->env, e.self, &seen), DS_OK);
    assert_int_equal(scene->info(e.self, &info), DS_OK);
    assert_int_equal(info.frames, 9 + 1);
    fake_env_close(&e);
}

/* Random starts lie in the original's range and depend on the noise key alone. */
static void test_start(void **state)
{
    double obs[4], again[4], least = 1, most = -1;
    fake_env e;
    (void)state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recorded),
        cmocka_unit_test(test_end),
        cmocka_unit_test(test_sign),
        cmocka_unit_test(test_start),
    };
    return cmocka_run_group_tests_name("cartpole_gym", tests, NULL, NULL);
}
