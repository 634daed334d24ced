/* SPDX-License-Identifier: Apache-2.0 */
/* test_leaprefine.c - parallel leaps and polish of bo and boleap, leaprefine, their common refinement, and
 * the cases of every optimizer for these three. */
#include "functions.h"
#include "methods/gradient/refine.h"
#include "objective.h"
#include "sanitizers.h"
#include "test.h"

static void test_every_case(void **state)
{
    optimizer_stands("bo", "raw=32 starts=2 j=8", 120, 1, 1);
    optimizer_stands("bo", "raw=32 starts=2 polish=0.5", 120, 1, 1);
    optimizer_stands("boleap", "raw=32 starts=2 leap_steps=30 leaps=3", 203, 1, 0);
    optimizer_stands("boleap", "raw=32 starts=2 leap_steps=40 polish=0.4 resume=true leaps=2", 203, 1, 1);
    optimizer_stands("leaprefine", "raw=32 starts=2", 203, 1, 1);
    optimizer_stands("leaprefine", "raw=32 starts=2 refine=0 leap_steps=25", 203, 1, 0);
}

/* A constant slope; where `lies` is set every third requested gradient has the wrong sign. */
typedef struct slope {
    int lies, asked;
} slope;

static double descend(void *ctx, size_t n, const double *x, double *g)
{
    slope *s = ctx;
    double f = 0.0, sign = g && s->lies && s->asked % 3 == 0 ? -1.0 : 1.0;
    s->asked += g != NULL;
    for (size_t k = 0; k < n; k++) {
        f += (double)(k + 1) * x[k];
        if (g) {
            g[k] = sign * (double)(k + 1);
        }
    }
    return f;
}

/* The first descent of a leap begins at the mean of the better samples, minus lr sqrt(n) times `agreement`
 * along the slope. */
static void check_start(const fake_result *r, size_t n, size_t K, double lr, double agreement)
{
    double norm = 0.0;
    for (size_t k = 0; k < n; k++) {
        norm = hypot(norm, (double)(k + 1));
    }
    for (size_t k = 0; k < n; k++) {
        double mean = 0.0, taken = 0.0;
        for (size_t i = 0; i < K; i++) { /* better than at least half of them */
            size_t worse = 0;
            for (size_t j = 0; j < K; j++) {
                worse += r->rows[j].loss > r->rows[i].loss;
            }
            mean += worse >= K - K / 2 ? r->x[i * n + k] : 0.0;
            taken += worse >= K - K / 2;
        }
        assert_true(taken == (double)(K / 2));
        const double to = mean / taken - lr * sqrt((double)n) * agreement * (double)(k + 1) / norm;
        assert_true(fabs(r->x[K * n + k] - fmax(-1.0, fmin(1.0, to))) < 1e-12);
    }
}

/* Gradients of samples are requested and their directions averaged; without them nothing changes. */
static void test_sample_gradients(void **state)
{
    enum { N = 5, K = 10 };
    slope s = {0, 0};
    fake_problem p = optimizer_box(N, -1, 1, descend, 40);
    p.ctx = &s;
    for (s.lies = 0; s.lies < 2; s.lies++) {
        s.asked = 0;
        fake_result r = fake_run("boleap", "raw=64 starts=2 sigma1=0.1 lr=0.03 sample_gradients=true", &p, 5);
        optimizer_assert_sound(&r, 40);
        for (size_t i = 0; i < K; i++) {
            assert_string_equal(r.rows[i].tag, "sample");
            assert_int_equal(r.rows[i].want, DS_WANT_GRAD);
        }
        check_start(&r, N, K, 0.03, s.lies ? 0.2 : 1.0); /* 4 of 10 are wrong */
        fake_free(&r);
    }
    s.lies = 0;
    fake_result plain = fake_run("boleap", "raw=64 starts=2 sigma1=0.1 lr=0.03", &p, 5);
    check_start(&plain, N, K, 0.03, 0.0);
    fake_free(&plain);
    static const char *const plugins[] = {"boleap", "leaprefine", "racer"};
    p = optimizer_box(N, -1, 1, ripples, 200);
    p.no_gradient = 1;
    for (size_t i = 0; i < 3; i++) {
        optimizer_stands(plugins[i], "raw=32 starts=2 sample_gradients=true", 203, 1, i > 0);
        fake_result a = fake_run(plugins[i], "raw=64 starts=2", &p, 5),
                    b = fake_run(plugins[i], "raw=64 starts=2 sample_gradients=true", &p, 5);
        optimizer_assert_same(&a, &b, N);
        fake_free(&a);
        fake_free(&b);
    }
}

/* Parallel leaps: one call holds the samples of all of them, or one descent step of each; every leap keeps
 * its length. */
static void test_parallel_leaps(void **state)
{
    fake_problem p = optimizer_box(6, -1, 1, ripples, 600);
    fake_result one = fake_run("boleap", "raw=64 starts=2 leap_steps=50", &p, 5);
    fake_result four = fake_run("boleap", "raw=64 starts=2 leap_steps=50 leaps=4", &p, 5);
    optimizer_assert_sound(&one, 600);
    optimizer_assert_sound(&four, 600);
    assert_true(four.calls < one.calls / 2);
    /* the first four generations, begun at four different points that the model does not know */
    for (uint64_t i = 0; i < 40; i++) {
        assert_string_equal(four.rows[i].tag, "sample");
        assert_int_equal(four.rows[i].group, 1);
    }
    assert_memory_equal(one.x, four.x, 10 * 6 * sizeof(double));
    double far = 0.0;
    for (int k = 0; k < 6; k++) {
        far = fmax(far, fabs(four.x[k] - four.x[60 + k]));
    }
    assert_true(far > 0.3);
    fake_free(&one);
    fake_free(&four);
}

/* The polish takes its share of the budget and improves its start. */
static void test_polish(void **state)
{
    static const char *const plugins[] = {"bo", "boleap"};
    fake_problem p = optimizer_box(6, -2, 2, rosenbrock, 500);
    double before[2] = {0.0, 0.0}, after[2] = {0.0, 0.0};
    const uint64_t runs = check_all() ? 8 : 4;
    for (uint64_t run = 0; run < runs; run++) {
        const char *plugin = plugins[run % 2];
        fake_result plain = fake_run(plugin, "raw=64 starts=2", &p, run);
        fake_result polished = fake_run(plugin, "raw=64 starts=2 polish=0.3", &p, run);
        optimizer_assert_sound(&plain, 500);
        optimizer_assert_sound(&polished, 500);
        assert_memory_equal(plain.x, polished.x, 350 * 6 * sizeof(double));
        uint64_t refined = fake_count(&polished, "refine");
        assert_true(refined > 0 && refined <= 150);
        for (uint64_t k = 0; k < 350; k++) {
            assert_string_not_equal(polished.rows[k].tag, "refine");
        }
        before[run % 2] += 2 * log(fake_best_after(&polished, 350)) / (double)runs;
        after[run % 2] += 2 * log(polished.best) / (double)runs;
        fake_free(&plain);
        fake_free(&polished);
    }
    for (int i = 0; i < 2; i++) {
        print_message("# %s: loss before and after the polish %.2e %.2e\n", plugins[i], exp(before[i]),
                      exp(after[i]));
        assert_true(after[i] < before[i] - log(2.0));
        p.budget = 0; /* a share of nothing */
        fake_result r = fake_run(plugins[i], "polish=0.3", &p, 4);
        assert_int_equal(r.create_status, DS_E_PARAM);
        assert_non_null(strstr(r.error, "budget"));
        fake_free(&r);
    }
}

/* ---- refinement ---- */

typedef struct counted {
    fake_function f;
    size_t n;
    int64_t left, wanted_gradients;
} counted;

static ds_status evaluate(void *ctx, const char *tag, size_t count, const double *v, double *loss,
                          double *gradient, uint32_t *outcome)
{
    counted *c = ctx;
    assert_string_equal(tag, "refine");
    for (size_t i = 0; i < count; i++) {
        if (c->left-- <= 0) {
            return DS_STOPPED;
        }
        loss[i] = c->f(NULL, c->n, v + i * c->n, gradient ? gradient + i * c->n : NULL);
        c->wanted_gradients += gradient != NULL;
        if (outcome) {
            outcome[i] = DS_EVAL_OK;
        }
    }
    return DS_OK;
}

static void test_refinement(void **state)
{
    static const struct {
        fake_function f;
        unsigned arms;
        double goal;
    } cases[] = {{rosenbrock, 7, 1e-12},
                 {rosenbrock, 1u << REFINE_ADAM, 1.0},
                 {rosenbrock, 1u << REFINE_SAMPLES, 3.0},
                 {stairs, 7, 0.3}}; /* gradients of zero: only the samples move */
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        double best[5] = {0.1, 0.3, -0.1, 0.2, 0.0}, loss = cases[i].f(NULL, 5, best, NULL), before = loss;
        counted c = {cases[i].f, 5, 400, 0};
        refine *r = refine_create(5, cases[i].arms, 3);
        assert_non_null(r);
        ds_status status = refine_run(r, best, &loss, evaluate, &c);
        print_message("# refinement %d: %.3g to %.3g, %d evaluations left\n", (int)i, before, loss,
                      (int)c.left);
        assert_true(status == DS_OK || (status == DS_STOPPED && c.left < 0));
        assert_true(loss < before && loss < cases[i].goal);
        assert_true(loss == cases[i].f(NULL, 5, best, NULL));
        assert_int_equal(c.wanted_gradients > 0, cases[i].arms != 1u << REFINE_SAMPLES);
        refine_destroy(r);
    }
}

/* At the bottom of a bowl the refinement soon ends by itself. */
static void test_refinement_ends(void **state)
{
    double best[4] = {0.0, 0.0, 0.0, 0.0}, loss = 0.0;
    counted c = {sphere, 4, 400, 0};
    refine *r = refine_create(4, 7, 3);
    assert_int_equal(refine_run(r, best, &loss, evaluate, &c), DS_OK);
    assert_true(c.left > 250);
    refine_destroy(r);
}

/* ---- leaprefine ---- */

static void test_structure(void **state)
{
    fake_problem p = optimizer_box(8, -1, 1, ripples, 400);
    fake_result r = fake_run("leaprefine", "raw=64 starts=2", &p, 6);
    optimizer_assert_sound(&r, 400);
    assert_string_equal(r.rows[0].tag, "descent"); /* a descent before the first sample */
    uint64_t first = 0;
    while (first < 400 && strcmp(r.rows[first].tag, "refine") != 0) {
        first++;
    }
    assert_true(first >= 280 && first < 300);
    assert_true(fake_count(&r, "sample") > 0);
    fake_free(&r);
    p.no_gradient = 1;
    r = fake_run("leaprefine", "raw=64 starts=2", &p, 6);
    optimizer_assert_sound(&r, 400);
    assert_int_equal(fake_count(&r, "descent"), 0);
    assert_true(fake_count(&r, "refine") > 0);
    fake_free(&r);
    r = fake_run("leaprefine", "k=10 leap_steps=9", &p, 6);
    assert_int_equal(r.create_status, DS_E_PARAM);
    assert_non_null(strstr(r.error, "leap_steps"));
    fake_free(&r);
}

/* In Rosenbrock's valley: ten times as good as boleap in the mean of five runs. */
static void test_beats_boleap(void **state)
{
    double ours = 0.0, theirs = 0.0;
    fake_problem p = optimizer_box(10, -2, 2, rosenbrock, 500);
    const uint64_t runs = check_all() ? 5 : 2;
    for (uint64_t seed = 0; seed < runs; seed++) {
        fake_result a = fake_run("leaprefine", "raw=64 starts=2", &p, seed);
        fake_result b = fake_run("boleap", "raw=64 starts=2", &p, seed);
        ours += a.best / (double)runs;
        theirs += b.best / (double)runs;
        fake_free(&a);
        fake_free(&b);
    }
    print_message("# leaprefine %.3g, boleap %.3g\n", ours, theirs);
    assert_true(ours < 0.1 * theirs);
}

/* With the whole budget for the refinement the part before it is at most one batch. */
static void test_refines_all_the_way(void **state)
{
    fake_problem p = optimizer_box(5, -2, 2, rosenbrock, 100);
    fake_result r = fake_run("leaprefine", "refine=1", &p, 1);
    optimizer_assert_sound(&r, 100);
    assert_true(fake_count(&r, "refine") >= 85);
    fake_free(&r);
}

RUN_TESTS(test_every_case, test_sample_gradients, test_parallel_leaps, test_polish, test_refinement,
          test_refinement_ends, test_structure, test_refines_all_the_way, test_beats_boleap)
