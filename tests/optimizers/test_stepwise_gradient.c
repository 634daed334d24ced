/* SPDX-License-Identifier: Apache-2.0 */
/* test_stepwise_gradient.c - derivatives of stepwise control of the environment plugins: a sweep without a
 * policy gives the gradient of evaluate(); with a policy and a value of the last state it agrees with central
 * differences by the policy's weights, over whole episodes and over windows; a sweep leaves
 * nothing behind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <diffsim/ext/draft/steps_gradient.h>
#include <diffsim/helper/random.h>
#include <math.h>

#include "host.h"

#define SETTINGS(...) ((const char *const[]){__VA_ARGS__, NULL})

enum { MOST = 2000, MOST_ACT = 16 };

typedef struct player {
    fake_env e;
    const ds_env_steps *rl;
    const ds_env_steps_gradient *back;
    ds_steps_info info;
    uint64_t key;
    double *obs;                  /* of all states */
    double x[MOST], reward[MOST]; /* of all steps */
    double loss;
    /* The policy: action k = middle + half width times tanh(w[k] . (obs, 1)), where w = NULL that of x. */
    double *w, *value; /* value of the state behind a window: value . obs */
} player;

static void player_open(player *p, const char *name, const char *const *settings, uint64_t key)
{
    memset(p, 0, sizeof *p);
    fake_env_open(&p->e, name, settings, 0, 0);
    p->rl = p->e.plugin->env->get_extension(p->e.self, DS_EXT_STEPS);
    p->back = p->e.plugin->env->get_extension(p->e.self, DS_EXT_STEPS_GRADIENT);
    assert_non_null(p->back);
    p->info.struct_size = sizeof p->info;
    assert_int_equal(p->rl->info(p->e.self, &p->info), DS_OK);
    assert_true(p->e.info.n <= MOST && p->info.n_act <= MOST_ACT);
    p->key = key;
    p->obs = calloc((p->info.horizon + 1) * p->info.n_obs, sizeof(double));
    p->w = calloc((p->info.n_obs + 1) * p->info.n_act + p->info.n_obs, sizeof(double));
    p->value = p->w + (p->info.n_obs + 1) * p->info.n_act;
    ds_random r = ds_random_open(key, "policy", 0);
    for (uint64_t i = 0; i < (p->info.n_obs + 1) * p->info.n_act + p->info.n_obs; i++) {
        p->w[i] = ds_random_normal(&r) / sqrt((double)p->info.n_obs);
    }
    for (uint64_t i = 0; i < p->e.info.n; i++) {
        p->x[i] = p->e.lower[i] + ds_random_uniform(&r) * (p->e.upper[i] - p->e.lower[i]);
    }
}

static void player_close(player *p)
{
    free(p->obs);
    free(p->w);
    fake_env_close(&p->e);
}

static double preference(const player *p, uint64_t t, uint64_t k)
{
    const uint64_t n = p->info.n_obs;
    const double *w = p->w + k * (n + 1), *obs = p->obs + t * n;
    double sum = w[n];
    for (uint64_t i = 0; i < n; i++) {
        sum += w[i] * obs[i];
    }
    return tanh(sum);
}

static void reset(player *p)
{
    assert_int_equal(ds_step_begin_call(p->rl, p->e.self, 0, p->key, p->obs, NULL), DS_OK);
}

static void step(player *p, uint64_t t)
{
    ds_step io = {.action = p->x + t * p->info.n_act, .obs = p->obs + (t + 1) * p->info.n_obs};
    assert_int_equal(ds_step_call(p->rl, p->e.self, 0, &io), DS_OK);
    assert_int_equal(io.outcome, DS_EVAL_OK);
    p->reward[t] = io.reward;
    p->loss = io.loss;
}

/* Steps from `from` to `to`, with the policy where `follow`. */
static void play(player *p, uint64_t from, uint64_t to, int follow)
{
    const uint64_t m = p->info.n_act;
    for (uint64_t t = from; t < to; t++) {
        for (uint64_t k = 0; follow && k < m; k++) {
            double lo = p->e.lower[t * m + k], hi = p->e.upper[t * m + k];
            p->x[t * m + k] = 0.5 * (lo + hi) + 0.5 * (hi - lo) * preference(p, t, k);
        }
        step(p, t);
    }
}

/* Goes back over step t, which begins a sweep where `begins`. */
static ds_status back(player *p, uint64_t t, int begins, double reward_bar, const double *obs_bar,
                      double *action_bar)
{
    ds_back io = {.step = t,
                  .begins = begins != 0,
                  .reward_bar = reward_bar,
                  .obs_bar = obs_bar,
                  .action_bar = action_bar};
    for (uint64_t k = 0; k < p->info.n_act; k++) {
        action_bar[k] = (double)NAN;
    }
    return ds_back_call(p->back, p->e.self, 0, &io);
}

static double distance(uint64_t n, const double *a, const double *b)
{
    double d = 0, s = 0;
    for (uint64_t i = 0; i < n; i++) {
        assert_true(isfinite(a[i]));
        d += (a[i] - b[i]) * (a[i] - b[i]);
        s += b[i] * b[i];
    }
    return sqrt(d) / (s > 0 ? sqrt(s) : 1);
}

/* ---- without a policy ---- */

static void sweep_all(player *p, double *grad)
{
    double *none = calloc(p->info.n_obs, sizeof(double));
    for (uint64_t t = p->info.horizon; t-- > 0;) {
        assert_int_equal(back(p, t, t + 1 == p->info.horizon, -1, none, grad + t * p->info.n_act), DS_OK);
    }
    free(none);
}

/* The gradient of evaluate(), twice, and steps and sweeps in each other's way. */
static void check_gradient(player *p, double tolerance)
{
    static double g[MOST], swept[MOST], again[MOST];
    const uint64_t n = p->e.info.n, horizon = p->info.horizon, half = horizon / 2;
    double *none = calloc(p->info.n_obs, sizeof(double)), action_bar[MOST_ACT];
    double loss = fake_eval(&p->e, p->x, g, p->key, NULL);
    assert_int_equal(back(p, 0, 1, -1, none, action_bar), DS_E_STATE); /* no episode */
    reset(p);
    assert_int_equal(back(p, 0, 1, -1, none, action_bar), DS_E_STATE); /* no step */
    play(p, 0, horizon, 0);
    sweep_all(p, swept);
    assert_near(distance(n, swept, g), 0, tolerance);
    sweep_all(p, again);
    assert_memory_equal(swept, again, n * sizeof(double));
    assert_int_equal(back(p, 0, 0, -1, none, action_bar), DS_E_STATE); /* it is over */

    reset(p);
    play(p, 0, half, 0);
    assert_int_equal(back(p, half, 1, -1, none, action_bar), DS_E_STATE);     /* not taken */
    assert_int_equal(back(p, half - 1, 0, -1, none, action_bar), DS_E_STATE); /* no sweep */
    assert_int_equal(back(p, half - 1, 1, -1, none, action_bar), DS_OK);
    assert_int_equal(back(p, half - 1, 0, -1, none, action_bar), DS_E_STATE); /* the one before is next */
    step(p, half);
    assert_int_equal(back(p, half - 2, 0, -1, none, action_bar), DS_E_STATE); /* stepped since */
    play(p, half + 1, horizon, 0);
    assert_true(p->loss == loss);
    sweep_all(p, again);
    assert_memory_equal(swept, again, n * sizeof(double));
    fake_eval(&p->e, p->x, NULL, p->key, NULL);
    assert_int_equal(back(p, 0, 1, -1, none, action_bar), DS_E_STATE);
    free(none);
}

/* ---- with a policy ---- */

static const double discount = 0.97;

/* Discounted rewards of the steps from..to - 1 of the policy, and the value of the state behind them. What
 * was done before is done. */
static double objective(player *p, uint64_t from, uint64_t to)
{
    double sum = 0, weight = 1;
    reset(p);
    play(p, 0, from, 0);
    play(p, from, to, 1);
    for (uint64_t t = from; t < to; t++, weight *= discount) {
        sum += weight * p->reward[t];
    }
    for (uint64_t i = 0; i < p->info.n_obs; i++) {
        sum += weight * p->value[i] * p->obs[to * p->info.n_obs + i];
    }
    return sum;
}

/* Its gradient by the weights of the policy. The steps were taken. */
static void gradient(player *p, uint64_t from, uint64_t to, double *g)
{
    const uint64_t n = p->info.n_obs, m = p->info.n_act;
    double *obs_bar = calloc(n, sizeof(double)), action_bar[MOST_ACT];
    for (uint64_t i = 0; i < n; i++) {
        obs_bar[i] = pow(discount, (double)(to - from)) * p->value[i];
    }
    memset(g, 0, (n + 1) * m * sizeof(double));
    for (uint64_t t = to; t-- > from;) {
        const double *obs = p->obs + t * n;
        assert_int_equal(back(p, t, t + 1 == to, pow(discount, (double)(t - from)), obs_bar, action_bar),
                         DS_OK);
        memset(obs_bar, 0, n * sizeof(double));
        for (uint64_t k = 0; k < m; k++) {
            double y = preference(p, t, k), half = 0.5 * (p->e.upper[t * m + k] - p->e.lower[t * m + k]);
            double bar = action_bar[k] * half * (1 - y * y);
            for (uint64_t i = 0; i < n; i++) {
                g[k * (n + 1) + i] += bar * obs[i];
                obs_bar[i] += bar * p->w[k * (n + 1) + i];
            }
            g[k * (n + 1) + n] += bar;
        }
    }
    free(obs_bar);
}

/* Central difference quotient by a weight. */
static double quotient(player *p, uint64_t from, uint64_t to, uint64_t at, double h)
{
    const double w = p->w[at];
    p->w[at] = w + h;
    double up = objective(p, from, to);
    p->w[at] = w - h;
    double down = objective(p, from, to);
    p->w[at] = w;
    return (up - down) / (2 * h);
}

/* By at most 24 weights; quotients of two widths, extrapolated. */
static void check_policy(player *p, uint64_t from, uint64_t to, double h, double tolerance)
{
    static double g[MOST];
    double numeric[24];
    uint64_t count = (p->info.n_obs + 1) * p->info.n_act, some = count < 24 ? count : 24;
    double *all = calloc(count, sizeof(double));
    objective(p, from, to);
    gradient(p, from, to, all);
    for (uint64_t i = 0; i < some; i++) {
        uint64_t at = i * (count / some);
        numeric[i] = (4 * quotient(p, from, to, at, h) - quotient(p, from, to, at, 2 * h)) / 3;
        g[i] = all[at];
    }
    free(all);
    /* Rounding of the quotients, where the objective is large beside its gradient. */
    double norm = distance(some, g, (double[24]){0}), size = 0;
    for (uint64_t t = from; t < to; t++) {
        size += fabs(p->reward[t]);
    }
    assert_near(distance(some, g, numeric), 0, tolerance + 1e-14 * (1 + size) / (h * norm));
}

static void check(const char *name, const char *const *settings, uint64_t key, double tolerance, double h,
                  double numeric_tolerance)
{
    player p;
    player_open(&p, name, settings, key);
    const uint64_t horizon = p.info.horizon;
    check_gradient(&p, tolerance);
    check_policy(&p, 0, horizon, h, numeric_tolerance);
    check_policy(&p, horizon / 3, 2 * horizon / 3 + 1, h, numeric_tolerance);
    check_policy(&p, horizon - 1, horizon, h, numeric_tolerance);
    player_close(&p);
}

static void test_cartpole(void **state)
{
    (void)state;
    for (uint64_t key = 0; key < 3; key++) {
        check("envs/cartpole", SETTINGS("steps=40"), key, 1e-12, 1e-4, 1e-7);
        check("envs/cartpole", SETTINGS("steps=12", "hold=3", "links=3"), key, 1e-12, 1e-4, 1e-7);
        check("envs/cartpole", SETTINGS("steps=30", "variant=nimble"), key, 1e-12, 1e-4, 1e-7);
        check("envs/cartpole", SETTINGS("steps=15", "control=force", "loss=state_sq", "links=2"), key, 1e-12,
              1e-5, 1e-7);
        check("envs/cartpole", SETTINGS("steps=15", "integrator=semi-implicit", "links=4"), key, 1e-12, 1e-4,
              1e-7);
    }
}

static void test_pendulum(void **state)
{
    (void)state;
    for (uint64_t key = 0; key < 3; key++) {
        check("envs/pendulum", NULL, key, 1e-12, 1e-4, 1e-7);
        check("envs/pendulum", SETTINGS("start=random"), key, 1e-12, 1e-4, 1e-7);
    }
    /* gym: from where the speed limit is not met and the angle does not pass pi. */
    check("envs/pendulum", SETTINGS("variant=gym", "theta0=0.3"), 2, 1e-12, 1e-6, 1e-5);
    check("envs/pendulum", SETTINGS("variant=gym", "start=random"), 1, 1e-12, 1e-6, 1e-5);
    check("envs/pendulum", SETTINGS("variant=swingup200"), 2, 1e-12, 1e-6, 1e-5);
}

/* A push is the sign of its variable. */
static void test_none(void **state)
{
    (void)state;
    fake_env e;
    fake_env_open(&e, "envs/cartpole_gym", NULL, 0, 0);
    assert_null(e.plugin->env->get_extension(e.self, DS_EXT_STEPS_GRADIENT));
    fake_env_close(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cartpole),
        cmocka_unit_test(test_pendulum),
        cmocka_unit_test(test_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
