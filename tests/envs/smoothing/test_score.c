/* SPDX-License-Identifier: Apache-2.0 */
/* test_score.c - the score of noise on the actions of a policy (diffsim/ext/draft/score.h), for lqr and
 * tennis: by its definition, compared with evaluate(), and by the mean that both estimates of a gradient
 * share. */
#include "host.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <diffsim/ext/draft/score.h>
#include <math.h>

#define SETTINGS(...) ((const char *const[]){__VA_ARGS__, NULL})

static const ds_env_score *table_of(const fake_env *e)
{
    const ds_env_score *t = e->plugin->env->get_extension(e->self, DS_EXT_SCORE);
    assert_non_null(t);
    return t;
}

typedef struct answer {
    double loss, baseline;
    uint64_t cost;
} answer;

/* An episode with score, and evaluate() of the same. */
static answer ask(fake_env *e, const double *x, uint64_t key, double sigma, double *grad, double *score,
                  double *noise)
{
    ds_eval io = {.bad_step = -1,
                  .want = grad != NULL ? DS_WANT_GRAD : 0,
                  .n = e->info.n,
                  .x = x,
                  .noise_key = key,
                  .grad = grad};
    ds_score s = {
        .struct_size = sizeof s, .flags = DS_SCORE_BASELINE, .sigma = sigma, .score = score, .noise = noise};
    ds_eval_table t;
    ds_eval_table_of(&io, &t);
    assert_int_equal(table_of(e)->evaluate(e->self, &t.rows, &t.results, &s), DS_OK);
    assert_int_equal(io.outcome, DS_EVAL_OK);
    return (answer){io.loss, s.baseline, io.cost_steps};
}

static void beside_evaluate(void **state)
{
    static const char *const names[] = {"envs/tennis", "envs/lqr"};
    (void)state;
    for (int k = 0; k < 2; k++) {
        fake_env e;
        ds_score_info info = {.struct_size = sizeof info};
        fake_env_open(&e, names[k], k ? SETTINGS("states=4") : NULL, 0, 0);
        const uint64_t n = e.info.n;
        assert_int_equal(table_of(&e)->info(e.self, &info), DS_OK);
        assert_int_equal(info.noise, k ? 40 : 600);
        assert_int_equal(info.action, k ? 4 : 3);
        assert_near(info.sigma, k ? 0.1 : 0.01, 0);
        double *x = calloc(4 * n + 2 * info.noise, sizeof *x), *grad = x + n, *again = grad + n,
               *score = again + n;
        double *noise = score + n, *twice = noise + info.noise;
        assert_non_null(x);
        for (uint64_t i = 0; i < n; i++) {
            x[i] = 0.02 * sin((double)i);
        }
        const answer a = ask(&e, x, 7, 0, grad, score, noise);
        assert_true(a.loss == fake_eval(&e, x, again, 7, NULL));
        assert_memory_equal(grad, again, n * sizeof *grad);
        assert_true(a.loss != a.baseline && a.cost >= 2 * e.info.steps);
        /* the same noise, ten times as strong, and again at another x */
        ask(&e, x, 7, 10 * info.sigma, NULL, again, twice);
        for (uint64_t i = 0; i < info.noise; i++) {
            assert_near(twice[i], 10 * noise[i], 1e-14);
        }
        x[0] += 0.01;
        ask(&e, x, 7, 0, NULL, again, twice);
        assert_memory_equal(noise, twice, info.noise * sizeof *noise);
        /* no key, no noise */
        const answer quiet = ask(&e, x, 0, 0, NULL, score, noise);
        assert_true(quiet.loss == quiet.baseline);
        for (uint64_t i = 0; i < n; i++) {
            assert_true(score[i] == 0);
        }
        free(x);
        fake_env_close(&e);
    }
}

/* Sum of w_t x_t' of lqr, whose episode is written out here. */
static void by_definition(void **state)
{
    enum { D = 3, T = 10 };
    double k[D * D], score[D * D], want[D * D] = {0}, noise[D * T], x[D] = {1, 1, 1};
    fake_env e;
    (void)state;
    fake_env_open(&e, "envs/lqr", SETTINGS("states=3", "begin=fixed"), 0, 0);
    for (int i = 0; i < D * D; i++) {
        k[i] = 0.1 * cos(i);
    }
    const answer a = ask(&e, k, 3, 0, NULL, score, noise);
    assert_true(a.baseline == fake_eval(&e, k, NULL, 0, NULL));
    double cost = 0;
    for (int t = 0; t < T; t++) {
        double u[D];
        for (int i = 0; i < D; i++) {
            u[i] = noise[t * D + i];
            for (int j = 0; j < D; j++) {
                u[i] += k[i * D + j] * x[j];
                want[i * D + j] += noise[t * D + i] * x[j];
            }
        }
        for (int i = 0; i < D; i++) {
            cost += x[i] * x[i] + 0.1 * u[i] * u[i];
            x[i] += u[i];
        }
    }
    for (int i = 0; i < D; i++) {
        cost += 10 * x[i] * x[i];
    }
    assert_near(a.loss, cost, 1e-12 * cost);
    for (int i = 0; i < D * D; i++) {
        assert_near(score[i], want[i], 1e-13);
    }
    ds_eval io = {.bad_step = -1, .n = e.info.n, .x = k};
    ds_score bad = {.struct_size = sizeof bad, .sigma = -1, .score = score};
    ds_eval_table t;
    ds_eval_table_of(&io, &t);
    assert_int_equal(table_of(&e)->evaluate(e.self, &t.rows, &t.results, &bad), DS_E_ARG);
    assert_non_null(strstr(e.host.error, "sigma"));
    fake_env_close(&e);
}

/* The loss of lqr is smooth: zeroth and first order have the same mean. */
static void same_mean(void **state)
{
    enum { D = 2, M = D * D, N = 20000 };
    double k[M] = {-0.5, 0.1, -0.2, -0.4}, grad[M], score[M], sum[M] = {0}, squares[M] = {0};
    fake_env e;
    (void)state;
    fake_env_open(&e, "envs/lqr", SETTINGS("states=2", "steps=4", "sigma=0.3"), 0, 0);
    for (uint64_t key = 1; key <= N; key++) {
        const answer a = ask(&e, k, key, 0, grad, score, NULL);
        for (int i = 0; i < M; i++) {
            const double apart = (a.loss - a.baseline) / 0.09 * score[i] - grad[i];
            sum[i] += apart / N;
            squares[i] += apart * apart / N;
        }
    }
    for (int i = 0; i < M; i++) {
        const double deviation = sqrt((squares[i] - sum[i] * sum[i]) / N);
        print_message("gain %d: means apart by %.3g, standard error %.3g\n", i, sum[i], deviation);
        assert_true(fabs(sum[i]) < 4.5 * deviation);
        assert_true(deviation < 0.5);
    }
    fake_env_close(&e);
}

/* Starts are drawn as described, independently of x. */
static void random_starts(void **state)
{
    enum { N = 4000 };
    double k[21] = {0}, squares = 0;
    fake_env e;
    (void)state;
    fake_env_open(&e, "envs/tennis", SETTINGS("steps=1", "goal=0,0,0,0,0,0,0", "qd=1,0,0,0,0,0,0", "r=0"), 0,
                  0);
    for (uint64_t key = 1; key <= N; key++) { /* one step further: x (1 - 0.2 h 0.999) and little else */
        squares += fake_eval(&e, k, NULL, key, NULL) / N;
    }
    assert_near(squares, 4.0 / 3 * 0.99 * 0.99, 0.05);
    fake_env_close(&e);
    fake_env_open(&e, "envs/tennis", SETTINGS("begin=fixed", "sigma=1e-9"), 0, 0);
    assert_near(fake_eval(&e, k, NULL, 5, NULL), 523.897545, 1e-4);
    fake_env_close(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(beside_evaluate),
        cmocka_unit_test(by_definition),
        cmocka_unit_test(same_mean),
        cmocka_unit_test(random_starts),
    };
    return cmocka_run_group_tests_name("smoothing: score", tests, NULL, NULL);
}
