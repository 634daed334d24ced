/* SPDX-License-Identifier: Apache-2.0 */
/* test_alphaorder.c - mixtures of first- and zeroth-order gradients, shortest convex combinations, and the
 * optimizer alphaorder. */
#include "functions.h"
#include "methods/gradient/alpha_gradient.h"
#include "methods/gradient/min_norm.h"
#include "objective.h"
#include "test.h"

#include <diffsim/helper/random.h>

/* A set of samples of f around x, and the estimate from it. */
typedef struct estimate {
    double g[64], alpha;
    alpha_report report;
} estimate;

static alpha_rule usual(int antithetic)
{
    return (alpha_rule){.rule = ALPHA_IVW,
                        .s = 0.1,
                        .antithetic = antithetic,
                        .gamma = INFINITY,
                        .chance = 0.05,
                        .largest = 1.0,
                        .fixed = -1.0};
}

static int baseline_mean; /* instead of f(x) */

static estimate make(fake_function f, size_t n, const double *x, size_t count, const alpha_rule *rule,
                     int gradient)
{
    double *w = calloc(count * n * 4 + n + count, sizeof(double)), *gradients = w + count * n;
    double *work = gradients + count * n, *loss = work + (2 * count + 1) * n, at[64];
    uint32_t *outcome = calloc(count, sizeof(*outcome));
    ds_random rng = ds_random_open(1, "w", n);
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < n; k++) {
            size_t half = count / 2;
            w[i * n + k] =
                rule->antithetic && i >= half ? -w[(i - half) * n + k] : rule->s * ds_random_normal(&rng);
            at[k] = x[k] + w[i * n + k];
        }
        loss[i] = f(NULL, n, at, gradients + i * n);
    }
    const alpha_samples s = {
        n, count, w, loss, gradients, outcome, baseline_mean ? (double)NAN : f(NULL, n, x, NULL)};
    alpha_report report;
    estimate e;
    assert_int_equal(alpha_gradient(rule, gradient ? &s : NULL, &s, work, e.g, &report), 1);
    e.alpha = report.alpha;
    e.report = report;
    free(outcome);
    free(w);
    return e;
}

/* On a quadratic both orders have the exact gradient as their mean: each component
 * within 5 standard errors. */
static void test_unbiased(void **state)
{
    static const double x[3] = {0.5, -1.0, 0.2};
    size_t N = 100000;
    for (int antithetic = 0; antithetic < 2; antithetic++) {
        alpha_rule rule = usual(antithetic);
        estimate zeroth = make(sphere, 3, x, N, &rule, 0), mixed = make(sphere, 3, x, N, &rule, 1);
        assert_true(zeroth.alpha == 0.0);
        assert_true(mixed.alpha > 0.5);
        for (int k = 0; k < 3; k++) {
            /* variance of (g . w) w_k / s^2 is |g|^2 + g_k^2, of 2 w_k it is 4 s^2; quadratic terms add less
             */
            double error = sqrt((4 * 1.29 + 4 * x[k] * x[k] + 1.0) / (double)N);
            assert_true(fabs(zeroth.g[k] - 2 * x[k]) < 5 * error);
            assert_true(fabs(mixed.g[k] - 2 * x[k]) < 5 * error);
        }
    }
}

/* The mean of the other losses is as good a baseline as f(x): no bias, although each sample has its own. */
static void test_baseline(void **state)
{
    static const double x[3] = {0.5, -1.0, 0.2};
    const size_t N = 20000;
    alpha_rule rule = usual(0);
    baseline_mean = 1;
    estimate e = make(sphere, 3, x, N, &rule, 0);
    baseline_mean = 0;
    for (int k = 0; k < 3; k++) {
        double error = sqrt((4 * 1.29 + 4 * x[k] * x[k] + 1.0) / (double)N);
        assert_true(fabs(e.g[k] - 2 * x[k]) < 5 * error);
    }
    /* f = |x|^2: the first order of one sample has variance 4 n s^2 */
    e = make(sphere, 3, x, N, &rule, 1);
    assert_true(fabs(e.report.v1 / (4 * 3 * 0.01) - 1.0) < 0.03);
}

/* With one weight per component each has the inverse variances of that component; a fixed weight is used as
 * given. */
static void test_weights(void **state)
{
    static const double x[3] = {0.5, -1.0, 0.2};
    alpha_rule rule = usual(0), fixed = usual(0), small = usual(0);
    rule.block = 1;
    estimate one = make(sphere, 3, x, 500, &rule, 1);
    rule.block = 0;
    estimate all = make(sphere, 3, x, 500, &rule, 1);
    assert_true(one.alpha > 0.5 && one.alpha < 1.0);
    assert_true(fabs(all.alpha - all.report.v0 / (all.report.v0 + all.report.v1)) < 1e-12);
    fixed.fixed = 0.25;
    estimate e = make(sphere, 3, x, 500, &fixed, 1);
    assert_true(fabs(e.alpha - 0.25) < 1e-15);
    small.small = 1e-5;
    e = make(sphere, 3, x, 500, &small, 1);
    assert_true(fabs(e.alpha - e.report.v0 / (e.report.v0 + e.report.v1 + 1e-5)) < 1e-12);
    for (double gamma = 1e-3; gamma < 1e3; gamma *= 3) { /* for any tolerance */
        rule.rule = ALPHA_BIAS;
        rule.gamma = gamma;
        e = make(sphere, 3, x, 500, &rule, 1);
        assert_true(e.alpha >= 0.0 && e.alpha <= 1.0);
        assert_true(e.report.which != ALPHA_UNCERTAIN || (e.alpha == 0.0 && e.report.eps > gamma));
        assert_true(e.report.which == ALPHA_UNCERTAIN ||
                    e.report.eps + e.alpha * e.report.distance <= gamma * (1 + 1e-12));
    }
}

/* A step at 0 without slope on either side: the first order is 0 with certainty, and wrong. */
static double heaviside(void *ctx, size_t n, const double *x, double *g)
{
    for (size_t k = 0; g && k < n; k++) {
        g[k] = 0.0;
    }
    return x[0] > 0.0 ? 1.0 : 0.0;
}

static void test_jump(void **state)
{
    static const double x[1] = {0.0};
    alpha_rule rule = usual(0);
    double slope = 1.0 / (0.1 * sqrt(2.0 * FUNCTIONS_PI)); /* density of w at the jump */
    estimate zeroth = make(heaviside, 1, x, 100000, &rule, 0);
    assert_true(fabs(zeroth.g[0] - slope) < 0.02 * slope);
    estimate trusting = make(heaviside, 1, x, 1000, &rule, 1);
    assert_true(trusting.alpha == 1.0 && trusting.g[0] == 0.0);
    rule.rule = ALPHA_BIAS;
    rule.gamma = 0.01; /* far below the resolution of 1000 samples */
    estimate wary = make(heaviside, 1, x, 1000, &rule, 1);
    assert_true(wary.alpha == 0.0);
    assert_true(fabs(wary.g[0] - slope) < 0.2 * slope);
    rule.gamma = 1.0;
    estimate limited = make(heaviside, 1, x, 100000, &rule, 1);
    assert_true(limited.alpha > 0.0 && limited.alpha < 1.0);
    assert_true(fabs(limited.g[0] - slope) < 1.0 + 0.02 * slope); /* the bias is at most gamma */
}

static double linear(void *ctx, size_t n, const double *x, double *g)
{
    for (size_t k = 0; g && k < n; k++) {
        g[k] = k == 0;
    }
    return x[0];
}

/* The squared error of the zeroth order grows like n + 1 for a slope of length 1: 5 and 41 variables,
 * ratio 7. */
static void test_variance(void **state)
{
    static const size_t sizes[2] = {5, 41};
    double x[64] = {0}, error[2] = {0, 0};
    alpha_rule rule = usual(0);
    for (int i = 0; i < 2; i++) {
        estimate e = make(linear, sizes[i], x, 2000, &rule, 0);
        for (size_t k = 0; k < sizes[i]; k++) {
            error[i] += (e.g[k] - (k == 0)) * (e.g[k] - (k == 0));
        }
        error[i] *= 2000.0 / ((double)sizes[i] + 1.0);
        print_message("# n = %d: squared error is %.2f of the expected one\n", (int)sizes[i], error[i]);
    }
    assert_true(error[0] > 0.1 && error[0] < 3.0); /* chi-square with 5 and 41 degrees of freedom */
    assert_true(error[1] > 0.5 && error[1] < 1.7);
}

static void test_every_case(void **state)
{
    optimizer_stands("alphaorder", "order=sampling step=armijo samples=5", 203, 1, 0);
    optimizer_stands("alphaorder", "", 203, 1, 0);
    optimizer_stands("alphaorder", "antithetic=false samples=5 block=2 step=sgd", 203, 1, 0);
    optimizer_stands("alphaorder", "rule=bias gamma=0.1 j=3", 203, 1, 0);
    optimizer_stands("alphaorder", "order=zeroth baseline=mean start=x0 s_decay=0.5 lr_decay=0.1", 203, 1, 0);
    optimizer_stands("alphaorder",
                     "shared=false units=x step=sgd clip=inf small=1e-5 baseline=none trace=true", 203, 1, 0);
    optimizer_stands("alphaorder", "step=armijo units=x trials=3 shrink=0.2", 203, 1, 0);
    optimizer_stands("alphaorder", "step=armijo order=first slope=0 lr_decay=0.3", 203, 1, 0);
}

/* Rows tagged "line" between the batches of an iteration are the trials of armijo from its first row, x. More
 * follow until one gives the required decrease. The next x is the last trial or, after the largest number of
 * trials, the old x. */
static void test_backtracking(void **state)
{
    enum { N = 5, TRIALS = 8 };
    double centre[N];
    for (int k = 0; k < N; k++) {
        centre[k] = 0.7 * sin(k + 1.0);
    }
    for (int order = 0; order < 3; order++) {
        static const char *const orders[3] = {"alpha", "first", "zeroth"};
        char settings[200];
        uint64_t taken = 0, left = 0, at = 0;
        fake_problem p = optimizer_box(N, -1, 1, sphere, 1500);
        p.ctx = centre;
        snprintf(settings, sizeof settings,
                 "step=armijo lr=40 trials=%d order=%s patience=1000 clip=inf s=0.02 slope=0.3 samples=8",
                 TRIALS, orders[order]);
        fake_result r = fake_run("alphaorder", settings, &p, 3);
        optimizer_assert_sound(&r, 1500);
        while (at + 9 + TRIALS + 1 < r.evaluations) {
            uint64_t next = at + 9;
            for (; strcmp(r.rows[next].tag, "line") == 0; next++) {
                assert_int_equal(r.rows[next].want, 0);
                assert_true(next - at - 9 < TRIALS);
            }
            const int stays = memcmp(r.x + next * N, r.x + at * N, N * sizeof *r.x) == 0;
            if (strcmp(r.rows[next].tag, "init") != 0) { /* otherwise another search has begun */
                assert_true(stays ? next - at - 9 == TRIALS
                                  : memcmp(r.x + next * N, r.x + (next - 1) * N, N * sizeof *r.x) == 0 &&
                                        r.rows[next].loss < r.rows[at].loss);
                taken += !stays;
                left += stays;
            }
            at = next;
        }
        print_message("# order=%s: best %.2e, %d steps, %d times none\n", orders[order], r.best, (int)taken,
                      (int)left);
        assert_true(taken > 5 && r.best < (order == 2 ? 0.05 : 1e-4));
        fake_free(&r);
    }
    /* At this rate steps without line search jump from one side of the box to the other. */
    fake_problem p = optimizer_box(N, -1, 1, sphere, 1500);
    p.ctx = centre;
    fake_result r = fake_run("alphaorder", "step=sgd lr=40 patience=1000 clip=inf s=0.02 samples=8", &p, 3);
    assert_true(r.best > 0.1);
    fake_free(&r);
}

static void test_reaches(void **state)
{
    double centre[10];
    for (int k = 0; k < 10; k++) {
        centre[k] = 0.7 * sin(k + 1.0);
    }
    for (int no_gradient = 0; no_gradient < 2; no_gradient++) {
        fake_problem p = optimizer_box(10, -1, 1, sphere, 1000);
        p.ctx = centre;
        p.no_gradient = no_gradient;
        fake_result r = fake_run("alphaorder", "", &p, 1);
        optimizer_assert_sound(&r, 1000);
        print_message("# sphere %s gradient: %.2e\n", no_gradient ? "without" : "with", r.best);
        assert_true(r.best < (no_gradient ? 0.5 : 0.02)); /* the samples alone are 10 s^2 = 0.025 away */
        fake_free(&r);
    }
}

/* Each order alone, and both from separate samples. */
static void test_orders(void **state)
{
    static const char *const settings[] = {"order=first", "order=zeroth", "shared=false",
                                           "units=x lr_decay=0.1"};
    double centre[10] = {0};
    for (int k = 0; k < 4; k++) {
        fake_problem p = optimizer_box(10, -1, 1, sphere, 1000);
        p.ctx = centre;
        fake_result r = fake_run("alphaorder", settings[k], &p, 1);
        optimizer_assert_sound(&r, 1000);
        print_message("# sphere %s: %.2e\n", settings[k], r.best);
        assert_true(r.best < (k == 1 ? 0.5 : 0.05));
        fake_free(&r);
    }
    fake_problem p = optimizer_box(10, -1, 1, sphere, 100);
    p.ctx = centre;
    p.no_gradient = 1;
    fake_result r = fake_run("alphaorder", "order=first", &p, 1);
    assert_int_equal(r.create_status, DS_E_UNSUPPORTED);
    assert_non_null(strstr(r.error, "take order = zeroth"));
    fake_free(&r);
}

/* ---- the constants of the paper's program ---- */

/* Mean, and standard deviation in *spread, of the ends of 10 searches of the paper on an environment of one
 * variable: the centres of their last samples. */
static double end_of_search(const char *env, const char *const *usual, const char *other, double *spread)
{
    enum { SEEDS = 10, MOST = 24 };
    double sum = 0, squares = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        const char *settings[MOST] = {"units=x",          "step=sgd",        "clip=inf",        "rule=bias",
                                      "small=1e-5",       "shared=false",    "start=x0",        "tol=0",
                                      "antithetic=false", "confidence=0.95", "delta_repo=true", "largest=1",
                                      "samples=50",       "patience=1000000"};
        int k = 14;
        for (; *usual != NULL; usual++) {
            settings[k++] = *usual;
        }
        usual -= k - 14;
        settings[k] = other; /* the last setting counts */
        fake_env e;
        fake_env_open(&e, env, NULL, 1000000, -INFINITY);
        e.x0[0] = 0.1;
        e.transform = NULL;
        uint64_t iterations = strcmp(env, "envs/ball_wall") == 0 ? 1000 : 500;
        int samples = 50;
        if (other != NULL && sscanf(other, "samples=%d", &samples) != 1) {
            samples = 50;
        }
        const uint64_t batch =
            (other != NULL && strcmp(other, "shared=true") == 0 ? 1 : 2) * (uint64_t)samples + 1;
        e.budget = e.problem.budget = batch * iterations;
        assert_int_equal(fake_env_run(&e, "optimizers/alphaorder", seed, settings), DS_STOPPED);
        const double x = e.x[e.done - batch];
        sum += x / SEEDS;
        squares += x * x / SEEDS;
        fake_env_close(&e);
    }
    *spread = sqrt(fmax(0, squares - sum * sum));
    return sum;
}

/* Each constant is moved away from the published value. The minimum of the smoothed loss is 0.861
 * (ball_wall), the first order alone stays at 0.495; on momentum the cliff is at 0.785. */
static void test_authors_constants(void **state)
{
    static const char *const ball[] = {"s=0.1", "lr=0.1", "gamma=0.01", "j=1000", NULL};
    static const char *const bar[] = {"s=0.02", "lr=0.01", "gamma=0.2", "j=500", NULL};
    static const struct {
        const char *other;
        double ball[2], bar[2]; /* where the searches end */
    } rows[] = {
        {NULL, {0.848, 0.860}, {0.728, 0.760}},       {"samples=10", {0.84, 0.87}, {0.68, 0.78}},
        {"samples=200", {0.48, 0.53}, {0.725, 0.76}}, {"delta_repo=false", {0.848, 0.86}, {0.71, 0.77}},
        {"largest=0.01", {0.49, 0.57}, {0.72, 0.77}}, {"largest=100", {0.848, 0.86}, {0.71, 0.77}},
        {"gamma=0.001", {0.848, 0.86}, {0.71, 0.77}}, {"gamma=1", {0.485, 0.5}, {0.71, 0.77}},
        {"gamma=inf", {0.485, 0.5}, {0.83, 0.85}},    {"small=0", {0.848, 0.86}, {0.72, 0.77}},
        {"shared=true", {0.84, 0.87}, {0.72, 0.77}},  {"antithetic=true", {0.84, 0.87}, {0.72, 0.77}},
        {"lr_decay=0.1", {0.44, 0.48}, {0.72, 0.76}}, {"s_decay=0.1", {0.41, 0.45}, {0.62, 0.78}},
        {"step=adam", {0.8, 0.95}, {0.72, 0.76}}};
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        double spread[2];
        const double x = end_of_search("envs/ball_wall", ball, rows[k].other, &spread[0]),
                     z = end_of_search("envs/momentum", bar, rows[k].other, &spread[1]);
        print_message("# %-18s ball_wall %.3f +- %.3f, momentum %.3f +- %.3f\n",
                      rows[k].other ? rows[k].other : "as published", x, spread[0], z, spread[1]);
        assert_true(x > rows[k].ball[0] && x < rows[k].ball[1]);
        assert_true(z > rows[k].bar[0] && z < rows[k].bar[1]);
    }
}

/* ---- gradient sampling ---- */

/* The distance of the origin from the segment a b, in the plane. */
static double distance_of_segment(const double *a, const double *b)
{
    const double d[2] = {b[0] - a[0], b[1] - a[1]}, dd = d[0] * d[0] + d[1] * d[1];
    const double t = dd > 0.0 ? fmin(fmax(-(a[0] * d[0] + a[1] * d[1]) / dd, 0.0), 1.0) : 0.0;
    return hypot(a[0] + t * d[0], a[1] + t * d[1]);
}

/* Is the origin in the triangle a b c? */
static int holds_origin(const double *a, const double *b, const double *c)
{
    const double u = a[0] * b[1] - a[1] * b[0], v = b[0] * c[1] - b[1] * c[0], w = c[0] * a[1] - c[1] * a[0];
    return (u > 0 && v > 0 && w > 0) || (u < 0 && v < 0 && w < 0);
}

/* Against all segments and triangles, in the plane. */
static void test_min_norm_in_the_plane(void **state)
{
    enum { MOST = 12 };
    int inside = 0;
    ds_random rng = ds_random_open(3, "plane", 0);
    for (int k = 0; k < 2000; k++) {
        const size_t count = 1 + (size_t)ds_random_below(&rng, MOST);
        double p[2 * MOST], x[2], w[MOST], room[2 * MOST * MOST + 2 * MOST], expected = INFINITY;
        size_t member[MOST];
        const double away = 3.0 * ds_random_uniform(&rng);
        for (size_t i = 0; i < 2 * count; i++) {
            p[i] = ds_random_normal(&rng) + (i % 2 ? away : 0.0);
        }
        if (k % 5 == 0 && count > 1) {
            p[2] = p[0]; /* two equal points */
            p[3] = p[1];
        }
        for (size_t a = 0; a < count; a++) {
            for (size_t b = 0; b < count; b++) {
                expected = fmin(expected, distance_of_segment(p + 2 * a, p + 2 * b));
                for (size_t c = 0; c < count; c++) {
                    expected = holds_origin(p + 2 * a, p + 2 * b, p + 2 * c) ? 0.0 : expected;
                }
            }
        }
        assert_true(min_norm_room(MOST) == sizeof room / sizeof *room);
        min_norm(count, 2, p, x, w, room, member);
        inside += expected == 0.0;
        if (!(fabs(hypot(x[0], x[1]) - expected) < 1e-7)) {
            fail_msg("case %d, %d points: %.12g, %.12g expected", k, (int)count, hypot(x[0], x[1]), expected);
        }
    }
    assert_true(inside > 300 && inside < 1700);
}

/* The conditions of an optimum with more points and variables, in any unit. */
static void test_min_norm_is_optimal(void **state)
{
    static const size_t counts[] = {3, 20, 60}, sizes[] = {2, 10, 40};
    static double p[60 * 40], x[40], w[60], room[2 * 60 * 60 + 2 * 60];
    size_t member[60];
    ds_random rng = ds_random_open(3, "polytope", 0);
    for (int k = 0; k < 180; k++) {
        const size_t count = counts[k % 3], n = sizes[k / 3 % 3];
        const double unit = k % 2 ? 1e-150 : 1e100, away = 0.1 * (k % 20);
        double square = 0.0, longest = 0.0, sum = 0.0;
        for (size_t i = 0; i < count * n; i++) {
            p[i] = unit * (ds_random_normal(&rng) + (i % n == 0 ? away : 0.0));
        }
        min_norm(count, n, p, x, w, room, member);
        for (size_t j = 0; j < n; j++) {
            double combination = 0.0;
            for (size_t i = 0; i < count; i++) {
                combination += w[i] * p[i * n + j];
            }
            assert_true(fabs(combination - x[j]) <= 1e-12 * unit);
            square += x[j] / unit * (x[j] / unit);
        }
        for (size_t i = 0; i < count; i++) {
            double slope = 0.0, length = 0.0;
            for (size_t j = 0; j < n; j++) {
                slope += x[j] / unit * (p[i * n + j] / unit);
                length += p[i * n + j] / unit * (p[i * n + j] / unit);
            }
            longest = fmax(longest, length);
            assert_true(w[i] >= 0.0 && slope >= square - 1e-10 * longest);
            sum += w[i];
        }
        assert_true(fabs(sum - 1.0) < 1e-12);
    }
}

/* A valley with a kink along its floor: 8 |x0^2 - x1| + (1 - x0)^2, least at (1, 1). */
static double kinked(void *ctx, size_t n, const double *x, double *g)
{
    const double side = x[0] * x[0] - x[1] > 0.0 ? 8.0 : -8.0;
    if (g) {
        g[0] = side * 2.0 * x[0] - 2.0 * (1.0 - x[0]);
        g[1] = -side;
    }
    return side * (x[0] * x[0] - x[1]) + (1.0 - x[0]) * (1.0 - x[0]);
}

/* Gradient sampling follows the kink to its end; the mean of the same gradients stays in the valley. */
static void test_sampling_follows_a_kink(void **state)
{
    double sampling = 0.0, mean = 0.0;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        fake_problem p = optimizer_box(2, -2, 2, kinked, 3000);
        fake_result a =
            fake_run("alphaorder",
                     "order=sampling step=armijo slope=1e-4 lr=1 s=0.1 samples=6 j=1000 trials=40 "
                     "patience=100 x0=-1,1.5",
                     &p, seed);
        fake_result b = fake_run("alphaorder",
                                 "order=first step=armijo slope=1e-4 lr=1 s=0.1 samples=6 j=1000 trials=40 "
                                 "patience=100 x0=-1,1.5",
                                 &p, seed);
        optimizer_assert_sound(&a, 3000);
        sampling += log10(a.best) / 10;
        mean += log10(b.best) / 10;
        fake_free(&a);
        fake_free(&b);
    }
    print_message("# mean exponent of the loss: sampling %.2f, mean gradient %.2f\n", sampling, mean);
    assert_true(sampling < -4.0 && mean > -2.0);
}

static void test_sampling_refused(void **state)
{
    fake_problem p = optimizer_box(2, -1, 1, sphere, 10);
    fake_result r = fake_run("alphaorder", "order=sampling samples=5000", &p, 1);
    assert_int_equal(r.create_status, DS_E_PARAM);
    assert_non_null(strstr(r.error, "at most 4000 samples"));
    fake_free(&r);
    p.no_gradient = 1;
    r = fake_run("alphaorder", "order=sampling", &p, 1);
    assert_int_equal(r.create_status, DS_E_UNSUPPORTED);
    assert_non_null(strstr(r.error, "order = sampling needs gradients"));
    fake_free(&r);
}

RUN_TESTS(test_min_norm_in_the_plane, test_min_norm_is_optimal, test_sampling_follows_a_kink,
          test_sampling_refused, test_unbiased, test_jump, test_variance, test_every_case, test_reaches,
          test_baseline, test_weights, test_orders, test_authors_constants, test_backtracking)
