/* SPDX-License-Identifier: Apache-2.0 */
/* The plasticine plugins through the public interface, on the small preset: a network in the yield stress, and the
 * derivatives of control steps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "host.h"

#include <diffsim/ext/hooks.h>
#include <diffsim/ext/rl.h>
#include <diffsim/ext/rl_gradient.h>
#include <diffsim/helper/random.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = 15, SEGMENTS = 5, ACTIONS = 3, NET = 4 * 2 + 4 + 4, ALL = N + NET };

static int set_up(void **state)
{
    fake_host *f = calloc(1, sizeof *f);
    fake_host_open(f, "envs/torus", 0, NULL);
    fake_host_set(f, "preset", "small");
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
    ds_eval io = {.struct_size = sizeof io, .want = grad ? DS_WANT_GRAD : 0, .n = n, .x = x, .grad = grad};
    assert_int_equal(f->plugin->env->evaluate(env, &io), DS_OK);
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

/* Weights of 0 leave the loss as it is, to the last bit; others do not. */
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
        x[N + 11] = 0.4; /* of the last hidden unit, which sees the volume */
        x[N + 6] = 0.4;
        assert_true(evaluate(f, wired, ALL, x, NULL) != loss);
        x[N + 11] = x[N + 6] = 0.0;
        assert_null(f->plugin->env->get_extension(wired, DS_EXT_RL));
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

/* Against differences where these exist: the loss jumps where a grid node enters the reach of the ring. And the
 * derivation of the vectorised engine against that of the plain one. */
static void test_network_gradient(void **state)
{
    fake_host *f = *state;
    static const char *const engines[] = {"fast", "scalar"};
    double x[ALL], grad[2][ALL], scale[2] = {0.0, 0.0};
    random_point(2, 0.5, x);
    x[N + 2] = 1.5; /* strains are small: a weight that feels them */
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
        for (int i = 0; i < ALL; i += k == 0 ? 1 : 4, all++) {
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_hook_points, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_silent_network, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_network_gradient, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_network_threads, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
