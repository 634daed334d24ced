/* SPDX-License-Identifier: Apache-2.0 */
/* test_mpm_derivatives.c - the plasticine plugins through the public interface, on the small preset: a
 * network in the yield stress, and the derivatives of control steps. */
#include "host.h"
#include "sanitizers.h"
#include "test.h"

#include <diffsim/ext/draft/hooks.h>
#include <diffsim/ext/draft/steps_gradient.h>
#include <diffsim/ext/steps.h>
#include <diffsim/helper/random.h>

enum { N = 15, SEGMENTS = 5, ACTIONS = 3, NET = 4 * 2 + 4 + 4, ALL = N + NET };

static int set_up(void **state)
{
    fake_host *f = calloc(1, sizeof *f);
    fake_host_open(f, "envs/torus", 0, NULL);
    fake_host_set(f, "preset", "small");
    if (!check_all()) {
        fake_host_set(f, "steps", "5");
    }
    fake_host_set(f, "tool_start", "0.5 0.11 0.5 0 0 0 1"); /* in the slab, which yields at once */
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    fake_host_close(*state);
    free(*state);
    return 0;
}

static void *create(fake_host *f)
{
    void *env = NULL;
    if (f->plugin->env->create(&f->services.host, &env) != DS_OK) {
        print_error("%s\n", f->error);
        fail();
    }
    return env;
}

static double evaluate(fake_host *f, void *env, uint64_t n, const double *x, double *grad)
{
    ds_eval io = {.bad_step = -1, .want = grad ? DS_WANT_GRAD : 0, .n = n, .x = x, .grad = grad};
    assert_int_equal(ds_eval_call(f->plugin->env, env, &io), DS_OK);
    if (io.outcome != DS_EVAL_OK) {
        print_error("%s\n", f->error);
    }
    assert_int_equal(io.outcome, DS_EVAL_OK);
    return io.loss;
}

/* Actions, then weights of up to `size`. */
static void random_point(uint64_t index, double size, double x[ALL])
{
    ds_random r = ds_random_open(1, "derivatives", index);
    for (int i = 0; i < ALL; i++) {
        x[i] = (i < N ? 0.6 : size) * (2.0 * ds_random_uniform(&r) - 1.0);
    }
}

/* ---- a network in the yield stress ---- */

static const char *const wiring = "yield_stress = volume, shear | 4 | tanh | residual | hidden";

static void test_hook_points(void **state)
{
    fake_host *f = *state;
    void *env = create(f);
    const ds_env_hooks *hooks = f->plugin->env->get_extension(env, DS_EXT_HOOKS);
    uint64_t count = 0;
    assert_int_equal(hooks->count(env, &count), DS_OK);
    assert_int_equal(count, 3);
    f->plugin->env->destroy(env);
}

/* Weights of 0 keep the loss to the last bit; others do not. */
static void test_silent_network(void **state)
{
    fake_host *f = *state;
    static const char *const engines[] = {"fast", "scalar"};
    double x[ALL];
    random_point(1, 0.0, x);
    for (int k = 0; k < 2; k++) {
        fake_host_set(f, "engine", engines[k]);
        fake_host_set(f, "residual", "");
        void *plain = create(f);
        fake_host_set(f, "residual", wiring);
        void *wired = create(f);
        double loss = evaluate(f, plain, N, x, NULL);
        assert_true(evaluate(f, wired, ALL, x, NULL) == loss);
        x[N + 11] = 0.4; /* of the last hidden unit, whose input is the volume */
        x[N + 6] = 0.4;
        assert_true(evaluate(f, wired, ALL, x, NULL) != loss);
        x[N + 11] = x[N + 6] = 0.0;
        assert_null(f->plugin->env->get_extension(wired, DS_EXT_STEPS));
        f->plugin->env->destroy(plain);
        f->plugin->env->destroy(wired);
    }
}

/* Central difference of the loss by x[i]. */
static double difference(fake_host *f, void *env, double *x, int i, double h)
{
    const double before = x[i];
    x[i] = before + h;
    double up = evaluate(f, env, ALL, x, NULL);
    x[i] = before - h;
    double down = evaluate(f, env, ALL, x, NULL);
    x[i] = before;
    return (up - down) / (2.0 * h);
}

/* Against differences where these exist: the loss jumps when a grid node enters the reach of the ring. The
 * derivatives of the vectorised engine agree with the plain one. */
static void test_network_gradient(void **state)
{
    fake_host *f = *state;
    static const char *const engines[] = {"fast", "scalar"};
    double x[ALL], grad[2][ALL], scale[2] = {0.0, 0.0};
    random_point(2, 0.5, x);
    x[N + 2] = 1.5; /* strains are small: a weight large enough to matter */
    x[N + 8] = 2.0;
    fake_host_set(f, "residual", wiring);
    fake_host_set(f, "residual_limit", "10");
    for (int k = 0; k < 2; k++) {
        int compared = 0, all = 0;
        fake_host_set(f, "engine", engines[k]);
        void *env = create(f);
        evaluate(f, env, ALL, x, grad[k]);
        for (int i = 0; i < ALL; i++) {
            scale[i >= N] = fmax(scale[i >= N], fabs(grad[k][i]));
        }
        for (int i = 0; i < ALL; i += k == 0 && check_all() ? 1 : 4, all++) {
            const double h = i < N ? 1e-5 : 1e-3, tolerance = 1e-5 * scale[i >= N];
            const double d = difference(f, env, x, i, h), again = difference(f, env, x, i, 0.3 * h);
            compared += fabs(d - again) <= tolerance;
            if (fabs(d - again) <= tolerance && !(fabs(d - grad[k][i]) <= 2.0 * tolerance)) {
                print_error("%s, variable %d: %.10g, differences %.10g\n", engines[k], i, grad[k][i], d);
                fail();
            }
        }
        assert_true(compared >= 3 * all / 4);
        f->plugin->env->destroy(env);
    }
    assert_true(scale[1] > 1e-5);
    for (int i = 0; i < ALL; i++) {
        assert_true(fabs(grad[0][i] - grad[1][i]) <= 1e-8 * scale[i >= N]);
    }
}

static void test_network_threads(void **state)
{
    fake_host *f = *state;
    double x[ALL], grad[2][ALL], loss[2];
    random_point(3, 0.5, x);
    fake_host_set(f, "residual", wiring);
    for (uint32_t k = 0; k < 2; k++) {
        f->services.host.threads = k + 1;
        void *env = create(f);
        loss[k] = evaluate(f, env, ALL, x, grad[k]);
        f->plugin->env->destroy(env);
    }
    f->services.host.threads = 1;
    assert_true(loss[0] == loss[1]);
    assert_memory_equal(grad[0], grad[1], sizeof grad[0]);
}

/* ---- derivatives of control steps ---- */

enum { N_OBS = 6 * 25 + 7 }; /* every 50th of 1250 particles, and the ring */

typedef struct steps {
    const ds_env_steps *rl;
    const ds_env_steps_gradient *gradient;
    void *env;
    int idle; /* some control steps contain no step of the simulation */
    double obs[SEGMENTS][N_OBS], reward[SEGMENTS], loss;
} steps;

static void open_steps(steps *s, fake_host *f, const char *loss, const char *engine)
{
    fake_host_set(f, "loss", loss);
    fake_host_set(f, "engine", engine);
    fake_host_set(f, "observed", "25");
    s->idle = 0;
    s->env = create(f);
    s->rl = f->plugin->env->get_extension(s->env, DS_EXT_STEPS);
    s->gradient = f->plugin->env->get_extension(s->env, DS_EXT_STEPS_GRADIENT);
    ds_steps_info info = {.struct_size = sizeof info};
    assert_int_equal(s->rl->info(s->env, &info), DS_OK);
    assert_int_equal(info.n_obs, N_OBS);
    assert_int_equal(info.horizon, SEGMENTS);
}

static void take_step(steps *s, int k, const double *x)
{
    ds_step io = {.action = x + (size_t)k * ACTIONS, .obs = s->obs[k]};
    assert_int_equal(ds_step_call(s->rl, s->env, 0, &io), DS_OK);
    assert_int_equal(io.outcome, DS_EVAL_OK);
    s->reward[k] = io.reward;
    s->loss = io.loss;
}

static void play(steps *s, int count, const double *x)
{
    double obs[N_OBS];
    assert_int_equal(ds_step_begin_call(s->rl, s->env, 0, 0, obs, NULL), DS_OK);
    for (int k = 0; k < count; k++) {
        take_step(s, k, x);
    }
}

/* The differentiated function: sum over the steps of weight[k] reward[k] + by_obs[k] . obs[k]. */
static double objective(const steps *s, int first, int last, const double weight[SEGMENTS],
                        double by_obs[SEGMENTS][N_OBS])
{
    double sum = 0.0;
    for (int k = first; k < last; k++) {
        sum += weight[k] * s->reward[k];
        for (int i = 0; i < N_OBS; i++) {
            sum += by_obs[k][i] * s->obs[k][i];
        }
    }
    return sum;
}

static void sweep(const steps *s, int first, int last, const double weight[SEGMENTS],
                  double by_obs[SEGMENTS][N_OBS], double *grad)
{
    for (int k = last - 1; k >= first; k--) {
        ds_back io = {.step = (uint64_t)k,
                      .begins = k == last - 1,
                      .reward_bar = weight[k],
                      .obs_bar = by_obs[k],
                      .action_bar = grad + (size_t)k * ACTIONS};
        assert_int_equal(ds_back_call(s->gradient, s->env, 0, &io), DS_OK);
        assert_true(io.cost_steps > 0 || s->idle);
    }
}

static const char *const losses[] = {"segment_sum", "step_sum", "final", "image"};
static const char *const engines_of_steps[] = {"fast", "scalar"};

/* With rewards alone a sweep gives the gradient of evaluate(). */
static void test_sweep_is_gradient(void **state)
{
    fake_host *f = *state;
    static double none[SEGMENTS][N_OBS];
    double x[ALL], grad[N], swept[N];
    const double weight[SEGMENTS] = {-1.0, -1.0, -1.0, -1.0, -1.0};
    random_point(5, 0.0, x);
    for (int l = 0; l < 4; l++) {
        for (int k = 0; k < (l == 0 || l == 3 || check_all() ? 2 : 1); k++) {
            steps s;
            double size = 0.0, error = 0.0;
            open_steps(&s, f, losses[l], engines_of_steps[k]);
            double loss = evaluate(f, s.env, N, x, grad);
            play(&s, SEGMENTS, x);
            assert_true(s.loss == loss);
            for (int round = 0; round < 2;
                 round++) { /* simulated again for the first sweep, kept for the next */
                sweep(&s, 0, SEGMENTS, weight, none, swept);
                for (int i = 0; i < N; i++) {
                    size = fmax(size, fabs(grad[i]));
                    error = fmax(error, fabs(grad[i] - swept[i]));
                }
                assert_true(error <= 1e-11 * size);
                play(&s, SEGMENTS, x);
                assert_true(s.loss == loss);
            }
            f->plugin->env->destroy(s.env);
        }
    }
}

/* Windows of an episode against differences: with observations, and with images without observations, which
 * would hide the images' part. */
static void test_sweep_differences(void **state)
{
    fake_host *f = *state;
    static double noise[SEGMENTS][N_OBS], none[SEGMENTS][N_OBS];
    double x[ALL], grad[N], weight[SEGMENTS];
    random_point(6, 0.0, x);
    ds_random r = ds_random_open(1, "sweep", 0);
    for (int k = 0; k < SEGMENTS; k++) {
        weight[k] = 2.0 * ds_random_uniform(&r) - 1.0;
        for (int i = 0; i < N_OBS; i++) {
            noise[k][i] = 0.02 * (2.0 * ds_random_uniform(&r) - 1.0);
        }
    }
    static const int tried[] = {0, 3, 2}; /* of the losses; step_sum is as segment_sum */
    for (int t = 0; t < (check_all() ? 3 : 2); t++) {
        const int l = tried[t];
        double(*by_obs)[N_OBS] = l == 3 ? none : noise;
        for (int k = 0; k < 2; k++) {
            steps s;
            int compared = 0, all = 0;
            double size = 0.0;
            open_steps(&s, f, losses[l], engines_of_steps[k]);
            play(&s, 4, x);
            sweep(&s, 2, 4, weight, by_obs, grad);
            sweep(&s, 0, 4, weight, by_obs, grad);
            for (int i = 0; i < 4 * ACTIONS; i++) {
                size = fmax(size, fabs(grad[i]));
            }
            for (int i = 0; i < 4 * ACTIONS; i += k == 0 && check_all() ? 1 : 3, all++) {
                double quotient[2];
                for (int h = 0; h < 2; h++) {
                    const double step = h == 0 ? 1e-5 : 3e-6, before = x[i];
                    x[i] = before + step;
                    play(&s, 4, x);
                    double up = objective(&s, 0, 4, weight, by_obs);
                    x[i] = before - step;
                    play(&s, 4, x);
                    quotient[h] = (up - objective(&s, 0, 4, weight, by_obs)) / (2.0 * step);
                    x[i] = before;
                }
                if (fabs(quotient[0] - quotient[1]) <= 1e-5 * size) { /* otherwise a jump is near */
                    compared++;
                    if (!(fabs(quotient[0] - grad[i]) <= 3e-5 * size)) {
                        print_error("%s, %s, action %d: %.10g, differences %.10g\n", losses[l],
                                    engines_of_steps[k], i, grad[i], quotient[0]);
                        fail();
                    }
                }
            }
            assert_true(2 * compared >= all);
            f->plugin->env->destroy(s.env);
        }
    }
}

/* A sweep within an open episode does not change the rest of the episode. */
static void test_sweep_leaves_no_trace(void **state)
{
    fake_host *f = *state;
    static double none[SEGMENTS][N_OBS];
    double x[ALL], grad[2][N];
    const double weight[SEGMENTS] = {-1.0, -1.0, -1.0, -1.0, -1.0};
    random_point(7, 0.0, x);
    for (int k = 0; k < 4; k++) { /* in the second half some control steps have no step of the simulation */
        static steps plain, swept;
        if (k == 2) {
            fake_host_set(f, "steps", "3");
        }
        open_steps(&plain, f, "final", engines_of_steps[k % 2]);
        open_steps(&swept, f, "final", engines_of_steps[k % 2]);
        swept.idle = k >= 2;
        play(&plain, SEGMENTS, x);
        play(&swept, 2, x);
        sweep(&swept, 1, 2, weight, none, grad[0]);
        sweep(&swept, 0, 1, weight, none, grad[0]);
        take_step(&swept, 2, x);
        sweep(&swept, 0, 3, weight, none, grad[1]);
        for (int j = 3; j < SEGMENTS; j++) {
            take_step(&swept, j, x);
        }
        assert_memory_equal(plain.obs, swept.obs, sizeof plain.obs);
        assert_memory_equal(plain.reward, swept.reward, sizeof plain.reward);
        assert_true(plain.loss == swept.loss);
        f->plugin->env->destroy(plain.env);
        f->plugin->env->destroy(swept.env);
    }
}

RUN_EACH_WITH(set_up, tear_down, test_hook_points, test_silent_network, test_network_gradient,
              test_network_threads, test_sweep_is_gradient, test_sweep_differences,
              test_sweep_leaves_no_trace)
