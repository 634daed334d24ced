/* SPDX-License-Identifier: Apache-2.0 */
/* slow_rl.c - returns of ppo and sac on the pendulum of Gymnasium, with the settings and start states of
 * recorded runs of Stable-Baselines3, and of ppo on CartPole-v1; three seeds each. Minutes. */
#include "golden.h"
#include "rl.h"
#include "test.h"

#define GYM "env.variant=gym env.start=random"
#define AS_GYM "opt.time=false opt.end=truncate opt.reward_scale=1 "
#define TUNED_PPO                                                                                            \
    AS_GYM                                                                                                   \
    "opt.envs=4 opt.n_steps=1024 opt.minibatch=64 opt.epochs=10 opt.lr=1e-3 opt.gamma=0.9 opt.anneal=false " \
    "opt.log_std=0 opt.action_range=2 opt.normalise_obs=false opt.target_kl=0 opt.evaluate_every=512 "

static double starts[64];
static size_t start_count;

static int read_starts(void **state)
{
    json_t *root = golden_load("optimizers/pendulum_dynamics.json");
    start_count = root ? golden_array(root, "evaluation_initial_states", starts) / 2 : 0;
    json_decref(root);
    return 0;
}

/* Mean over the trials numbered first..last (groups) of the mean return without noise. */
static double final_return(const char *opt, const char *settings, uint64_t budget, uint64_t seed,
                           uint64_t trials)
{
    fake_rl f = {.env = "pendulum",
                 .env_settings = GYM,
                 .opt = opt,
                 .opt_settings = settings,
                 .budget = budget,
                 .seed = seed,
                 .starts = starts,
                 .start_count = start_count};
    double sum = 0;
    uint64_t count = 0;
    assert_true(fake_rl_run(&f));
    assert_int_equal(f.broken, 0);
    assert_int_equal(f.begun, budget);
    for (uint64_t i = f.begun; i-- > 0 && count < 20 * trials;) {
        if (strcmp(f.rows[i].tag, "evaluate") == 0) {
            sum -= f.rows[i].loss;
            count++;
        }
    }
    assert_int_equal(count, 20 * trials);
    print_message("# %s, seed %d: %.1f (%.1f s)\n", opt, (int)seed, sum / (double)count, f.wall);
    fake_rl_free(&f);
    return sum / (double)count;
}

static void need_starts(void)
{
    if (start_count != 20) {
        skip();
    }
}

/* 8000 steps = 40 episodes, a trial of 20 episodes after every fifth one; the last two count. */
static void test_sac(void **state)
{
    need_starts();
    for (uint64_t seed = 0; seed < 3; seed++) {
        double r = final_return("sac",
                                AS_GYM "opt.hidden=256,256 opt.log_std=clamp opt.learning_starts=100 "
                                       "opt.evaluate_every=5",
                                200, seed, 2);
        assert_true(r > -300);
    }
}

/* 25 updates of 4096 steps = 512 episodes, then one trial. */
static void test_ppo(void **state)
{
    need_starts();
    for (uint64_t seed = 0; seed < 3; seed++) {
        assert_true(final_return("ppo", TUNED_PPO, 532, seed, 1) > -300);
    }
}

static void test_ppo_sde(void **state)
{
    need_starts();
    for (uint64_t seed = 0; seed < 3; seed++) {
        assert_true(final_return("ppo", TUNED_PPO "opt.sde=true", 532, seed, 1) > -300);
    }
}

/* The defaults of Stable-Baselines3 do not learn this task in 100000 steps: a control for the other tests. */
static void test_ppo_default(void **state)
{
    need_starts();
    double r = final_return(
        "ppo",
        AS_GYM "opt.envs=1 opt.n_steps=2048 opt.minibatch=64 opt.epochs=10 opt.gamma=0.99 opt.lr=3e-4 "
               "opt.anneal=false opt.log_std=0 opt.action_range=2 opt.normalise_obs=false "
               "opt.target_kl=0 opt.evaluate_every=500",
        522, 0, 1);
    assert_true(r < -600);
}

/* CartPole-v1 with the settings of the RL Zoo (without its schedules): in the last trial of 20 episodes that
 * began within 100000 training steps every episode holds the pole to the end. */
static void test_ppo_cartpole(void **state)
{
    for (uint64_t seed = 0; seed < 3; seed++) {
        fake_rl f = {.env = "cartpole_gym",
                     .env_settings = "env.start=random",
                     .opt = "ppo",
                     .opt_settings = AS_GYM
                     "opt.envs=8 opt.n_steps=32 opt.minibatch=256 opt.epochs=20 opt.lr=1e-3 opt.lambda=0.8 "
                     "opt.gamma=0.98 opt.anneal=false opt.log_std=0 opt.normalise_obs=false "
                     "opt.target_kl=0 opt.evaluate_every=50",
                     .budget = 600,
                     .seed = seed};
        uint64_t steps = 0, in_trial = 0;
        double worst = 0, of_last = -1;
        assert_true(fake_rl_run(&f));
        assert_int_equal(f.broken, 0);
        for (uint64_t i = 0; i < f.begun && steps <= 100000; i++) {
            if (strcmp(f.rows[i].tag, "evaluate") != 0) {
                steps += f.rows[i].steps;
                continue;
            }
            worst = in_trial == 0 ? f.rows[i].loss : fmax(worst, f.rows[i].loss);
            if (++in_trial == 20) {
                of_last = worst;
                in_trial = 0;
            }
        }
        print_message("# ppo on CartPole-v1, seed %d: shortest of the last 20 episodes %.0f steps (%.1f s)\n",
                      (int)seed, 500 - of_last, f.wall);
        assert_true(steps > 100000 && of_last == 0);
        fake_rl_free(&f);
    }
}

RUN_TESTS_WITH(read_starts, NULL, test_ppo_cartpole, test_ppo, test_ppo_sde, test_ppo_default, test_sac)
