/* SPDX-License-Identifier: Apache-2.0 */
/* test_stepwise.c - stepwise control of the environment plugins: an episode has the loss of evaluate() at its
 * actions to the last bit, its rewards add up to it, earlier episodes leave no state, observations have the
 * documented content; sweeps give the gradient of evaluate() and, with a policy, agree with central
 * differences by its weights. */
#include "host.h"
#include "test.h"

#include <diffsim/ext/draft/steps_gradient.h>
#include <diffsim/ext/scene.h>
#include <diffsim/ext/steps.h>
#include <diffsim/helper/random.h>

#define MPM_SMALL "preset=small", "tool_start=0.5 0.13 0.5 0 0 0 1" /* the ring starts in the slab */

enum { MOST = 3000 };

typedef struct player {
    fake_env e;
    const ds_env_steps *rl;
    ds_steps_info info;
    double obs[MOST], sum, loss; /* the last observation; sum of the rewards; loss at the end */
    uint64_t steps, hash;        /* steps taken; hash of all results */
    uint32_t outcome, ended;
} player;

static void player_open(player *p, const char *name, const char *const *settings)
{
    memset(p, 0, sizeof *p);
    fake_env_open(&p->e, name, settings, 0, 0);
    p->rl = p->e.plugin->env->get_extension(p->e.self, DS_EXT_STEPS);
    assert_non_null(p->rl);
    p->info.struct_size = sizeof p->info;
    assert_int_equal(p->rl->info(p->e.self, &p->info), DS_OK);
    assert_int_equal(p->info.horizon * p->info.n_act, p->e.info.n);
    assert_true(p->info.n_obs >= 1 && p->info.n_obs <= MOST && p->e.info.n <= MOST);
}

static void mix(player *p, double v)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    p->hash = ds_random_mix(p->hash ^ bits);
}

static void look(player *p)
{
    for (uint64_t i = 0; i < p->info.n_obs; i++) {
        assert_true(isfinite(p->obs[i]));
        mix(p, p->obs[i]);
    }
}

static void reset(player *p)
{
    memset(p->obs, 0xff, sizeof p->obs);
    assert_int_equal(ds_step_begin_call(p->rl, p->e.self, 0, 0, p->obs, NULL), DS_OK);
    p->sum = p->loss = 0;
    p->steps = p->hash = 0;
    p->outcome = DS_EVAL_OK;
    look(p);
}

/* The next step with its action in x; returns 1 if the episode continues. */
static int step(player *p, const double *x)
{
    ds_step io = {.action = x + p->steps * p->info.n_act, .obs = p->obs};
    memset(p->obs, 0xff, sizeof p->obs);
    assert_int_equal(ds_step_call(p->rl, p->e.self, 0, &io), DS_OK);
    p->steps++;
    p->outcome = io.outcome;
    p->loss = io.loss;
    if (io.outcome == DS_EVAL_OK) {
        assert_true(isfinite(io.reward));
        p->sum += io.reward;
        mix(p, io.reward);
        look(p);
    } else {
        assert_true(io.ended && isinf(io.loss));
    }
    assert_true(io.ended <= DS_STEPS_TRUNCATED);
    assert_true(io.ended || p->steps < p->info.horizon);
    p->ended = io.ended;
    return !io.ended;
}

static void play(player *p, const double *x)
{
    reset(p);
    while (step(p, x)) {
    }
}

static ds_status try_step(player *p, const double *action)
{
    ds_step io = {.action = action, .obs = p->obs};
    return ds_step_call(p->rl, p->e.self, 0, &io);
}

static void random_point(const player *p, double *x, uint64_t key)
{
    ds_random r = ds_random_open(key, "stepwise", 0);
    for (uint64_t i = 0; i < p->e.info.n; i++) {
        x[i] = p->e.lower[i] + ds_random_uniform(&r) * (p->e.upper[i] - p->e.lower[i]);
    }
}

static void same_bits(double a, double b)
{
    if (memcmp(&a, &b, sizeof a) != 0) {
        fail_msg("%.17g is not %.17g", a, b);
    }
}

/* Episodes in sequence, and one that is abandoned; the sum of rewards and the loss are those of the first. */
static void check_losses(player *p, int episodes)
{
    double x[MOST], constant = 0;
    for (int k = 0; k < episodes; k++) {
        random_point(p, x, (uint64_t)k);
        if (k % 2 == 1) {
            reset(p);
            step(p, x);
        }
        play(p, x);
        assert_int_equal(p->outcome, DS_EVAL_OK);
        assert_int_equal(p->steps, p->info.horizon);
        assert_int_equal(p->ended, p->info.flags ? DS_STEPS_TRUNCATED : DS_STEPS_TERMINATED);
        same_bits(p->loss, fake_eval(&p->e, x, NULL, 0, NULL));
        constant = k == 0 ? p->sum + p->loss : constant;
        assert_near(p->sum + p->loss, constant, 1e-12 * (1 + fabs(p->loss)));
    }
}

/* Calls without an episode, bad actions, another instance in between, gradients in sequence. */
static void check_state(player *p, const char *name, const char *const *settings)
{
    double x[MOST], g[2][MOST], bad[MOST];
    player other;
    player_open(&other, name, settings);
    random_point(p, x, 77);
    double loss = fake_eval(&p->e, x, g[0], 0, NULL);
    assert_int_equal(try_step(p, x), DS_E_STATE);
    play(p, x);
    assert_int_equal(try_step(p, x), DS_E_STATE);
    uint64_t hash = p->hash;
    same_bits(fake_eval(&p->e, x, g[1], 0, NULL), loss);
    assert_memory_equal(g[0], g[1], p->e.info.n * sizeof(double));
    for (uint64_t i = 0; i < p->info.n_act; i++) {
        bad[i] = i + 1 < p->info.n_act ? 0 : (double)NAN;
    }
    for (int sign = -1; sign <= 1; sign += 2) { /* the result is undefined, but it does no harm */
        ds_step io = {.action = g[0], .obs = p->obs};
        for (uint64_t i = 0; i < p->info.n_act; i++) {
            g[0][i] = sign * 1e300;
        }
        reset(p);
        while (ds_step_call(p->rl, p->e.self, 0, &io) == DS_OK && !io.ended) {
        }
    }
    reset(p);
    reset(&other);
    for (uint64_t t = 0; t < p->info.horizon; t++) {
        if (t % 3 == 0) {
            assert_true(try_step(p, bad) < 0);
        }
        step(p, x);
        step(&other, x);
    }
    same_bits(p->loss, loss);
    assert_true(p->hash == hash && other.hash == hash);
    reset(p);
    step(p, x);
    fake_eval(&p->e, x, NULL, 0, NULL);
    assert_int_equal(try_step(p, x), DS_E_STATE);
    fake_env_close(&other.e);
}

static void check(const char *name, const char *const *settings, int episodes)
{
    player p;
    player_open(&p, name, settings);
    assert_int_equal(try_step(&p, p.e.x0), DS_E_STATE);
    check_losses(&p, episodes);
    check_state(&p, name, settings);
    fake_env_close(&p.e);
}

static void test_flip(void **state)
{
    check("envs/flip", NULL, 3);
    check("envs/flip", SETTINGS("segments=7", "duration=0.3", "h=4e-4"), 2);
}

static void test_plasticine(void **state)
{
    static const char *const tasks[] = {"assembly", "chopsticks", "move",       "pinch", "rollingpin",
                                        "rope",     "table",      "triplemove", "writer"};
    for (size_t t = 0; t < sizeof tasks / sizeof tasks[0]; t++) {
        char name[40];
        snprintf(name, sizeof name, "envs/%s", tasks[t]);
        check(name, SETTINGS("preset=small", "particles=400", "steps=5"), 1);
    }
    check("envs/torus", SETTINGS(MPM_SMALL), 3);
    check("envs/torus", SETTINGS(MPM_SMALL, "loss=step_sum", "steps=40", "segments=3"), 2);
    check("envs/torus", SETTINGS(MPM_SMALL, "loss=final", "segments=4", "memory=store"), 2);
    check("envs/torus", SETTINGS(MPM_SMALL, "loss=final", "engine=scalar", "particles=300"), 2);
    check("envs/torus", SETTINGS(MPM_SMALL, "precision=f32", "observed=0"), 2);
    /* More segments than steps: some actions have no effect. */
    check("envs/torus", SETTINGS(MPM_SMALL, "steps=4", "segments=9", "loss=final"), 2);
    check("envs/torus", SETTINGS(MPM_SMALL, "steps=4", "segments=9"), 2);
}

static void test_fluid(void **state)
{
    check("envs/fluid", SETTINGS("preset=small"), 2);
    check("envs/fluid", SETTINGS("preset=small", "steps=11", "segments=4", "loss_sign=printed"), 2);
    check("envs/fluid", SETTINGS("preset=small", "steps=3", "segments=2", "engine=scalar"), 1);
}

/* The horizon is a time limit where the original has one and the loss counts every step equally. Where the
 * loss depends on the final state it is part of the task. */
static void test_limits(void **state)
{
    static const struct {
        const char *name, *setting;
        uint32_t flags;
    } cases[] = {{"envs/pendulum", "variant=gym", DS_STEPS_TIME_LIMIT},
                 {"envs/pendulum", "variant=swingup60", 0},
                 {"envs/cartpole", "steps=20", 0},
                 {"envs/flip", "duration=0.3", 0},
                 {"envs/fluid", "preset=small", 0},
                 {"envs/torus", "preset=small", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        player p;
        player_open(&p, cases[i].name, SETTINGS(cases[i].setting));
        assert_int_equal(p.info.flags, cases[i].flags);
        check_losses(&p, 2); /* and their ends */
        fake_env_close(&p.e);
    }
}

/* An episode fails in a step as in evaluate(); for the material point engine see test_mpm_plugins.c. */
static void test_failures(void **state)
{
    player p;
    double x[MOST];
    uint32_t outcome = 0;
    player_open(&p, "envs/flip", SETTINGS("h=0.01", "stiffness=1e6"));
    random_point(&p, x, 5);
    for (int k = 0; k < 2; k++) {
        play(&p, x);
        assert_int_equal(p.outcome, DS_EVAL_DIVERGED);
        assert_int_equal(p.ended, DS_STEPS_TERMINATED);
        assert_int_equal(try_step(&p, x), DS_E_STATE);
        fake_eval(&p.e, x, NULL, 0, &outcome);
        assert_int_equal(outcome, DS_EVAL_DIVERGED);
    }
    fake_env_close(&p.e);
}

/* ---- observations ---- */

/* In free fall every part of the pancake has the velocity of free fall. */
static void test_flip_observations(void **state)
{
    player p;
    double x[45], fall = 0;
    const double h = 5e-4, steps = 100;
    player_open(&p, "envs/flip", SETTINGS("segments=15"));
    assert_int_equal(p.info.n_obs, 33);
    assert_near(p.info.dt, 0.05, 1e-15);
    memset(x, 0, sizeof x);
    for (int k = 0; k < 15; k++) {
        x[3 * k + 1] = -0.07;
    }
    reset(&p);
    assert_near(p.obs[4], 0.006, 1e-12); /* middle of the two layers */
    step(&p, x);
    for (int k = 0; k < (int)steps; k++) {
        fall = exp(-0.5 * h) * fall - 9.81 * h;
    }
    assert_near(p.obs[1], -0.07, 0);
    for (int body = 0; body < 5; body++) {
        assert_near(p.obs[3 + 6 * body + 3], 0, 1e-5); /* springs are at rest to 1e-9 m */
        assert_near(p.obs[3 + 6 * body + 4], fall, 1e-5);
        assert_near(p.obs[3 + 6 * body + 5], 0, 1e-5);
    }
    static const double mark[4][2] = {{0.08, 0}, {-0.08, 0}, {0, 0.08}, {0, -0.08}};
    for (int k = 0; k < 4; k++) {
        assert_near(p.obs[9 + 6 * k], mark[k][0], 1e-6);
        assert_near(p.obs[11 + 6 * k], mark[k][1], 1e-6);
    }
    while (step(&p, x)) {
    }
    /* The centre equals the metrics. */
    static const char *const metrics[3] = {"x", "y", "z"};
    for (int i = 0; i < 3; i++) {
        assert_near(p.obs[3 + i], fake_metric(&p.e, x, metrics[i])[p.e.info.steps], 1e-15);
    }
    fake_env_close(&p.e);
}

/* Particles 0, s, 2 s, ... of the scene, and the tools. */
static void test_plasticine_observations(void **state)
{
    static const struct {
        const char *name;
        uint64_t full, stride; /* numbers at full size as in PlasticineLab; stride of the particles */
    } tasks[] = {{"envs/torus", 1207, 50},      {"envs/pinch", 1207, 30}, {"envs/rope", 1221, 50},
                 {"envs/chopsticks", 1208, 50}, {"envs/move", 1214, 50},  {"envs/triplemove", 1272, 49}};
    player p;
    for (size_t t = 0; t < sizeof tasks / sizeof tasks[0]; t++) {
        player_open(&p, tasks[t].name, SETTINGS("steps=1"));
        assert_int_equal(p.info.n_obs, tasks[t].full);
        fake_env_close(&p.e);
    }
    double x[15], frame[3 * 1300];
    player_open(&p, "envs/torus", SETTINGS(MPM_SMALL));
    random_point(&p, x, 3);
    assert_near(p.info.dt, 2 * 1.8e-3, 1e-15);
    play(&p, x);
    fake_metric(&p.e, x, "iou");
    const ds_scene *scene = p.e.plugin->env->get_extension(p.e.self, DS_EXT_SCENE);
    assert_int_equal(scene->frame(p.e.self, 10, 0, 3 * 1300, frame), DS_OK);
    assert_int_equal(p.info.n_obs, 6 * 209 + 7); /* 1250 particles, every sixth */
    for (int i = 0; i < 209; i++) {
        for (int d = 0; d < 3; d++) {
            same_bits(p.obs[6 * i + d], frame[3 * 6 * i + d]);
        }
    }
    assert_int_equal(scene->frame(p.e.self, 10, 1, 7, frame), DS_OK);
    for (int i = 0; i < 7; i++) {
        assert_near(p.obs[6 * 209 + i], frame[i], 1e-15);
    }
    fake_env_close(&p.e);
    /* The ring carries the particles in it: velocities are differences of the positions. */
    double last[MOST];
    player_open(&p, "envs/torus", SETTINGS(MPM_SMALL, "segments=10"));
    double down[30] = {0};
    for (int k = 0; k < 10; k++) {
        down[3 * k + 1] = -1;
    }
    double moved = 0, error = 0;
    reset(&p);
    for (int k = 0; k < 6; k++) {
        memcpy(last, p.obs, sizeof last);
        step(&p, down);
    }
    for (uint64_t i = 0; i < 6 * 209; i++) {
        if (i % 6 < 3) {
            double rate = (p.obs[i] - last[i]) / 1.8e-3;
            moved += fabs(rate);
            error += fabs(rate - 0.5 * (p.obs[i + 3] + last[i + 3]));
        }
    }
    assert_true(moved > 1 && error < 0.1 * moved);
    fake_env_close(&p.e);
}

static void test_fluid_observations(void **state)
{
    static const char *const metrics[4] = {"ladle_x", "ladle_y", "cube_x", "cube_y"};
    player p;
    double x[100], last[14];
    player_open(&p, "envs/fluid", SETTINGS("preset=small", "segments=50"));
    assert_int_equal(p.info.n_obs, 14);
    assert_near(p.info.dt, 0.02, 1e-15);
    memset(x, 0, sizeof x);
    for (int k = 0; k < 50; k++) {
        x[2 * k] = k < 10 ? 0 : 0.3;
        x[2 * k + 1] = k < 10 ? -0.62 : 0;
    }
    reset(&p);
    for (int i = 0; i < 3; i++) {
        assert_near(p.obs[5 + i], 0, 0);
        assert_near(p.obs[11 + i], 0, 0);
    }
    double moved = 0, error = 0;
    int more = 1;
    for (int k = 0; more; k++) {
        memcpy(last, p.obs, sizeof last);
        more = step(&p, x);
        for (int i = 0; i < 3 && k > 10; i++) { /* of cube and syrup */
            for (int b = 2; b < 14; b += 6) {
                double rate = (p.obs[b + i] - last[b + i]) / 0.02;
                moved += fabs(rate);
                error += fabs(rate - 0.5 * (p.obs[b + 3 + i] + last[b + 3 + i]));
            }
        }
    }
    assert_true(moved > 1 && error < 0.1 * moved);
    for (int i = 0; i < 4; i++) {
        same_bits(p.obs[i], fake_metric(&p.e, x, metrics[i])[50]);
    }
    fake_env_close(&p.e);
}

/* ---- derivatives ---- */

enum { MOST_stepwise_gradient = 2000, MOST_ACT = 16 };

typedef struct player_stepwise_gradient {
    fake_env e;
    const ds_env_steps *rl;
    const ds_env_steps_gradient *back;
    ds_steps_info info;
    uint64_t key;
    double *obs;                                                      /* of all states */
    double x[MOST_stepwise_gradient], reward[MOST_stepwise_gradient]; /* of all steps */
    double loss;
    /* The policy: action k = middle + half width times tanh(w[k] . (obs, 1)); w = NULL: the actions in x. */
    double *w, *value; /* value of the state after a window: value . obs */
} player_stepwise_gradient;

static void player_open_stepwise_gradient(player_stepwise_gradient *p, const char *name,
                                          const char *const *settings, uint64_t key)
{
    memset(p, 0, sizeof *p);
    fake_env_open(&p->e, name, settings, 0, 0);
    p->rl = p->e.plugin->env->get_extension(p->e.self, DS_EXT_STEPS);
    p->back = p->e.plugin->env->get_extension(p->e.self, DS_EXT_STEPS_GRADIENT);
    assert_non_null(p->back);
    p->info.struct_size = sizeof p->info;
    assert_int_equal(p->rl->info(p->e.self, &p->info), DS_OK);
    assert_true(p->e.info.n <= MOST_stepwise_gradient && p->info.n_act <= MOST_ACT);
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

static void player_close(player_stepwise_gradient *p)
{
    free(p->obs);
    free(p->w);
    fake_env_close(&p->e);
}

static double preference(const player_stepwise_gradient *p, uint64_t t, uint64_t k)
{
    const uint64_t n = p->info.n_obs;
    const double *w = p->w + k * (n + 1), *obs = p->obs + t * n;
    double sum = w[n];
    for (uint64_t i = 0; i < n; i++) {
        sum += w[i] * obs[i];
    }
    return tanh(sum);
}

static void reset_stepwise_gradient(player_stepwise_gradient *p)
{
    assert_int_equal(ds_step_begin_call(p->rl, p->e.self, 0, p->key, p->obs, NULL), DS_OK);
}

static void step_stepwise_gradient(player_stepwise_gradient *p, uint64_t t)
{
    ds_step io = {.action = p->x + t * p->info.n_act, .obs = p->obs + (t + 1) * p->info.n_obs};
    assert_int_equal(ds_step_call(p->rl, p->e.self, 0, &io), DS_OK);
    assert_int_equal(io.outcome, DS_EVAL_OK);
    p->reward[t] = io.reward;
    p->loss = io.loss;
}

/* Steps from `from` to `to`, with the policy where `follow`. */
static void play_stepwise_gradient(player_stepwise_gradient *p, uint64_t from, uint64_t to, int follow)
{
    const uint64_t m = p->info.n_act;
    for (uint64_t t = from; t < to; t++) {
        for (uint64_t k = 0; follow && k < m; k++) {
            double lo = p->e.lower[t * m + k], hi = p->e.upper[t * m + k];
            p->x[t * m + k] = 0.5 * (lo + hi) + 0.5 * (hi - lo) * preference(p, t, k);
        }
        step_stepwise_gradient(p, t);
    }
}

/* Goes back over step t; `begins`: starts a sweep. */
static ds_status back(player_stepwise_gradient *p, uint64_t t, int begins, double reward_bar,
                      const double *obs_bar, double *action_bar)
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

static void sweep_all(player_stepwise_gradient *p, double *grad)
{
    double *none = calloc(p->info.n_obs, sizeof(double));
    for (uint64_t t = p->info.horizon; t-- > 0;) {
        assert_int_equal(back(p, t, t + 1 == p->info.horizon, -1, none, grad + t * p->info.n_act), DS_OK);
    }
    free(none);
}

/* The gradient of evaluate(), twice; steps and sweeps in wrong order are refused. */
static void check_gradient(player_stepwise_gradient *p, double tolerance)
{
    static double g[MOST_stepwise_gradient], swept[MOST_stepwise_gradient], again[MOST_stepwise_gradient];
    const uint64_t n = p->e.info.n, horizon = p->info.horizon, half = horizon / 2;
    double *none = calloc(p->info.n_obs, sizeof(double)), action_bar[MOST_ACT];
    double loss = fake_eval(&p->e, p->x, g, p->key, NULL);
    assert_int_equal(back(p, 0, 1, -1, none, action_bar), DS_E_STATE); /* no episode */
    reset_stepwise_gradient(p);
    assert_int_equal(back(p, 0, 1, -1, none, action_bar), DS_E_STATE); /* no step */
    play_stepwise_gradient(p, 0, horizon, 0);
    sweep_all(p, swept);
    assert_near(distance(n, swept, g), 0, tolerance);
    sweep_all(p, again);
    assert_memory_equal(swept, again, n * sizeof(double));
    assert_int_equal(back(p, 0, 0, -1, none, action_bar), DS_E_STATE); /* the episode is over */

    reset_stepwise_gradient(p);
    play_stepwise_gradient(p, 0, half, 0);
    assert_int_equal(back(p, half, 1, -1, none, action_bar), DS_E_STATE);     /* not taken */
    assert_int_equal(back(p, half - 1, 0, -1, none, action_bar), DS_E_STATE); /* no sweep */
    assert_int_equal(back(p, half - 1, 1, -1, none, action_bar), DS_OK);
    assert_int_equal(back(p, half - 1, 0, -1, none, action_bar), DS_E_STATE); /* the previous step is next */
    step_stepwise_gradient(p, half);
    assert_int_equal(back(p, half - 2, 0, -1, none, action_bar), DS_E_STATE); /* stepped since */
    play_stepwise_gradient(p, half + 1, horizon, 0);
    assert_true(p->loss == loss);
    sweep_all(p, again);
    assert_memory_equal(swept, again, n * sizeof(double));
    fake_eval(&p->e, p->x, NULL, p->key, NULL);
    assert_int_equal(back(p, 0, 1, -1, none, action_bar), DS_E_STATE);
    free(none);
}

/* ---- with a policy ---- */

static const double discount = 0.97;

/* Discounted rewards of the steps from..to - 1 of the policy, plus the value of the state after them. Earlier
 * steps are not repeated. */
static double objective(player_stepwise_gradient *p, uint64_t from, uint64_t to)
{
    double sum = 0, weight = 1;
    reset_stepwise_gradient(p);
    play_stepwise_gradient(p, 0, from, 0);
    play_stepwise_gradient(p, from, to, 1);
    for (uint64_t t = from; t < to; t++, weight *= discount) {
        sum += weight * p->reward[t];
    }
    for (uint64_t i = 0; i < p->info.n_obs; i++) {
        sum += weight * p->value[i] * p->obs[to * p->info.n_obs + i];
    }
    return sum;
}

/* Its gradient by the weights of the policy, after these steps. */
static void gradient(player_stepwise_gradient *p, uint64_t from, uint64_t to, double *g)
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
static double quotient(player_stepwise_gradient *p, uint64_t from, uint64_t to, uint64_t at, double h)
{
    const double w = p->w[at];
    p->w[at] = w + h;
    double up = objective(p, from, to);
    p->w[at] = w - h;
    double down = objective(p, from, to);
    p->w[at] = w;
    return (up - down) / (2 * h);
}

/* By at most 24 weights; quotients of two widths are extrapolated. */
static void check_policy(player_stepwise_gradient *p, uint64_t from, uint64_t to, double h, double tolerance)
{
    static double g[MOST_stepwise_gradient];
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
    /* Rounding of the quotients, where the objective is large compared with its gradient. */
    double norm = distance(some, g, (double[24]){0}), size = 0;
    for (uint64_t t = from; t < to; t++) {
        size += fabs(p->reward[t]);
    }
    assert_near(distance(some, g, numeric), 0, tolerance + 1e-14 * (1 + size) / (h * norm));
}

static void check_stepwise_gradient(const char *name, const char *const *settings, uint64_t key,
                                    double tolerance, double h, double numeric_tolerance)
{
    player_stepwise_gradient p;
    player_open_stepwise_gradient(&p, name, settings, key);
    const uint64_t horizon = p.info.horizon;
    check_gradient(&p, tolerance);
    check_policy(&p, 0, horizon, h, numeric_tolerance);
    check_policy(&p, horizon / 3, 2 * horizon / 3 + 1, h, numeric_tolerance);
    check_policy(&p, horizon - 1, horizon, h, numeric_tolerance);
    player_close(&p);
}

static void test_cartpole(void **state)
{
    for (uint64_t key = 0; key < 3; key++) {
        check_stepwise_gradient("envs/cartpole", SETTINGS("steps=40"), key, 1e-12, 1e-4, 1e-7);
        check_stepwise_gradient("envs/cartpole", SETTINGS("steps=12", "hold=3", "links=3"), key, 1e-12, 1e-4,
                                1e-7);
        check_stepwise_gradient("envs/cartpole", SETTINGS("steps=30", "variant=nimble"), key, 1e-12, 1e-4,
                                1e-7);
        check_stepwise_gradient("envs/cartpole",
                                SETTINGS("steps=15", "control=force", "loss=state_sq", "links=2"), key, 1e-12,
                                1e-5, 1e-7);
        check_stepwise_gradient("envs/cartpole", SETTINGS("steps=15", "integrator=semi-implicit", "links=4"),
                                key, 1e-12, 1e-4, 1e-7);
    }
}

static void test_pendulum(void **state)
{
    for (uint64_t key = 0; key < 3; key++) {
        check_stepwise_gradient("envs/pendulum", NULL, key, 1e-12, 1e-4, 1e-7);
        check_stepwise_gradient("envs/pendulum", SETTINGS("start=random"), key, 1e-12, 1e-4, 1e-7);
    }
    /* gym: from a start that does not reach the speed limit or pass pi. */
    check_stepwise_gradient("envs/pendulum", SETTINGS("variant=gym", "theta0=0.3"), 2, 1e-12, 1e-6, 1e-5);
    check_stepwise_gradient("envs/pendulum", SETTINGS("variant=gym", "start=random"), 1, 1e-12, 1e-6, 1e-5);
    check_stepwise_gradient("envs/pendulum", SETTINGS("variant=swingup200"), 2, 1e-12, 1e-6, 1e-5);
}

/* The sign of a push counts. */
static void test_none(void **state)
{
    fake_env e;
    fake_env_open(&e, "envs/cartpole_gym", NULL, 0, 0);
    assert_null(e.plugin->env->get_extension(e.self, DS_EXT_STEPS_GRADIENT));
    fake_env_close(&e);
}

RUN_TESTS(test_flip, test_plasticine, test_fluid, test_limits, test_failures, test_flip_observations,
          test_plasticine_observations, test_fluid_observations, test_cartpole, test_pendulum, test_none)
