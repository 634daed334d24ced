/* SPDX-License-Identifier: Apache-2.0 */
/* test_race.c - the parts of the optimizer racer: the doubt of gradients, local searches that depend on it
 * and can be paused, and the race between them. */
#include "functions.h"
#include "methods/race/race.h"
#include "test.h"

#define MOST 64 /* rows of a generation */

static const double box[20] = {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};

/* ---- trust ---- */

static double doubt_of(size_t n, double (*f)(void *, size_t, const double *, double *), const double *a,
                       const double *b)
{
    double g_a[8], g_b[8], l_a = f(NULL, n, a, g_a), l_b = f(NULL, n, b, g_b);
    trust t;
    trust_clear(&t);
    assert_true(trust_doubt(&t) == 0.0);
    trust_step(&t, n, 0.8, a, l_a, g_a, b, l_b, g_b);
    assert_int_equal(t.steps, 1);
    return trust_doubt(&t);
}

/* Eigenvalues from 1 to 1e6, not separable. */
static double stiff(void *ctx, size_t n, const double *x, double *g)
{
    double f = 0.0, sum = 0.0;
    for (size_t k = 0; k < n; k++) {
        sum += x[k];
    }
    for (size_t k = 0; k < n; k++) {
        double c = pow(10.0, 6.0 * (double)k / (double)(n - 1));
        f += c * x[k] * x[k] + sum * sum / (double)n;
        if (g) {
            g[k] = 2.0 * c * x[k] + 2.0 * sum;
        }
    }
    return f;
}

static double liar(void *ctx, size_t n, const double *x, double *g)
{
    double f = sphere(ctx, n, x, g);
    for (size_t k = 0; g && k < n; k++) {
        g[k] = -g[k];
    }
    return f;
}

static void test_trust(void **state)
{
    static const double a[4] = {0.9, -0.3, 0.2, 0.7}, b[4] = {-0.4, 0.5, 0.1, -0.9};
    assert_true(doubt_of(4, stiff, a, b) < 1e-12); /* curvature causes no doubt, however long the step */
    assert_true(doubt_of(4, stairs, a, b) == 1.0);
    assert_true(doubt_of(4, liar, a, b) == 1.0);
    assert_true(doubt_of(4, sphere, a, a) == 0.0); /* nothing was predicted, nothing happened */
    /* memory: after k steps the weight is 0.8^k */
    trust t;
    trust_clear(&t);
    const double x = 1.0, y = 0.0, g = 1.0, zero = 0.0;
    trust_step(&t, 1, 0.8, &x, 1.0, &zero, &y, 0.0, &zero); /* doubt 1 */
    trust_step(&t, 1, 0.8, &x, 1.0, &g, &y, 0.0, &g);       /* doubt 0 */
    assert_true(fabs(trust_doubt(&t) - 0.8 / 1.8) < 1e-15);
    trust_step(&t, 1, 0.8, &x, INFINITY, &g, &y, 0.0, &g); /* no information */
    assert_int_equal(t.steps, 2);
}

/* ---- basins ---- */

typedef struct told {
    double (*f)(void *, size_t, const double *, double *);
    size_t n;
    int64_t rows, gradients, failed_from; /* rows from this one on fail; 0 = none */
    int has_holes;                        /* are gradients bad? */
} told;

/* One call of a search: evaluates its request. */
static void step(told *t, basin *b)
{
    double loss[MOST], gradient[MOST * 10];
    uint32_t outcome[MOST];
    const double *points;
    int with_gradient = basin_wants_gradient(b);
    size_t count = basin_points(b, &points);
    assert_true(count >= 1 && count <= basin_rows(t->n) && (count == 1 || !with_gradient));
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < t->n; k++) {
            assert_true(fabs(points[i * t->n + k]) <= 1.0);
        }
        loss[i] = t->f(NULL, t->n, points + i * t->n, with_gradient ? gradient + i * t->n : NULL);
        int fails = t->failed_from > 0 && ++t->rows >= t->failed_from;
        loss[i] = fails ? (double)INFINITY : loss[i];
        outcome[i] = fails ? DS_EVAL_DIVERGED : DS_EVAL_OK;
        if (t->has_holes && with_gradient) {
            outcome[i] = DS_EVAL_BAD_GRAD;
            memset(gradient + i * t->n, 0, t->n * sizeof *gradient); /* as from the host */
        }
        t->gradients += with_gradient;
    }
    basin_tell(b, loss, with_gradient ? gradient : NULL, outcome);
}

static const basin_options usual = {.has_gradient = 1,
                                    .trust = 1,
                                    .lr = 0.1,
                                    .patience = 6,
                                    .good = 0.15,
                                    .noisy = 0.3,
                                    .stall = 1,
                                    .blind = 0.7,
                                    .sigma = 0.3};

static basin *begun(size_t n, const basin_options *options)
{
    static const double start[10] = {0.7, -0.6, 0.5, -0.8, 0.3, 0.9, -0.2, 0.4, -0.5, 0.1};
    double bounds[20];
    for (size_t k = 0; k < 2 * n; k++) {
        bounds[k] = k < n ? -1.0 : 1.0;
    }
    basin *b = basin_create(n, bounds, options);
    assert_non_null(b);
    basin_begin(b, start, 0, ds_random_open(7, "sample", 1));
    return b;
}

static void go(told *t, basin *b, int64_t evaluations)
{
    while (!b->over && b->evaluations < evaluations) {
        step(t, b);
    }
}

/* Good gradients: quasi-Newton steps to the bottom of Rosenbrock's valley, no samples. */
static void test_good_gradients(void **state)
{
    told t = {.f = rosenbrock, .n = 5};
    basin *b = begun(5, &usual);
    go(&t, b, 150);
    assert_true(b->best_loss < 1e-12 && b->best_loss == rosenbrock(NULL, 5, b->best, NULL));
    assert_true(b->spent[BASIN_NEWTON] > 20 && b->spent[BASIN_LEAP] + b->spent[BASIN_SAMPLES] == 0);
    basin_destroy(b);
    /* the ablation: descents alone */
    basin_options plain = usual;
    plain.trust = 0;
    b = begun(5, &plain);
    go(&t, b, 150);
    assert_int_equal(b->spent[BASIN_DESCENT], b->evaluations);
    assert_true(b->best_loss > 1e-6 && b->best_loss < 10.0);
    basin_destroy(b);
}

/* A bowl with ripples shorter than a step: leaps. */
static double ripples_of(void *ctx, size_t n, const double *x, double *g)
{
    double f = 0.0;
    for (size_t k = 0; k < n; k++) {
        double z = x[k] - 0.1;
        f += z * z + 0.1 * (1.0 - cos(60.0 * z));
        if (g) {
            g[k] = 2.0 * z + 6.0 * sin(60.0 * z);
        }
    }
    return f;
}

static void test_noisy_gradients(void **state)
{
    told t = {.f = ripples_of, .n = 5};
    basin *b = begun(5, &usual);
    go(&t, b, 6);
    double first = b->best_loss;
    go(&t, b, 200);
    print_message("# ripples: %.3g after 6, %.3g after %d, %d of them in leaps\n", first, b->best_loss,
                  (int)b->evaluations, (int)b->spent[BASIN_LEAP]);
    assert_true(b->spent[BASIN_LEAP] > 50 && b->best_loss < 0.5 * first);
    basin_destroy(b);
}

/* A patient search follows Adam to the end of its descent where gradients are good, and only then L-BFGS-B.
 */
static void test_patience(void **state)
{
    static const double start[5] = {0.7, -0.6, 0.5, -0.8, 0.3};
    int64_t before[2] = {0, 0}; /* evaluations of the descent that comes first */
    for (int patient = 0; patient < 2; patient++) {
        told t = {.f = rosenbrock, .n = 5};
        basin *b = begun(5, &usual);
        basin_begin(b, start, patient, ds_random_open(7, "sample", 1));
        while (!b->over && b->mode == BASIN_DESCENT && b->lr >= usual.lr) {
            step(&t, b);
        }
        before[patient] = b->evaluations;
        go(&t, b, 300);
        assert_true(b->spent[BASIN_NEWTON] > 20 && b->best_loss < 1e-12);
        basin_destroy(b);
    }
    print_message("# Adam first: %d evaluations, %d of a patient search\n", (int)before[0], (int)before[1]);
    assert_true(before[0] <= 6 && before[1] > 3 * before[0]);
}

/* A slope that jumps by more than a step gains, as where contacts change: gradients predict little, yet the
 * descent makes progress. Samples must not interrupt it. */
static double cliffs(void *ctx, size_t n, const double *x, double *g)
{
    double f = 0.0;
    for (size_t k = 0; k < n; k++) {
        f += x[k] + floor(x[k] / 0.1);
        if (g) {
            g[k] = 1.0;
        }
    }
    return f;
}

static void test_stall(void **state)
{
    told t = {.f = cliffs, .n = 1};
    basin_options options = usual;
    int64_t leaps[2];
    for (int is_given = 0; is_given < 2; is_given++) {
        options.stall = is_given ? 1 : 0;
        basin *b = begun(1, &options);
        go(&t, b, 12);
        assert_true(trust_doubt(&b->trust) > usual.noisy || b->spent[BASIN_LEAP] > 0);
        leaps[is_given] = b->spent[BASIN_LEAP];
        basin_destroy(b);
    }
    assert_true(leaps[0] > 0 && leaps[1] == 0);
}

/* Zero or missing gradients: the caller learns that the search has turned, then it only samples. */
static void test_blind(void **state)
{
    for (int has_gradient = 0; has_gradient < 2; has_gradient++) {
        basin_options options = usual;
        options.has_gradient = has_gradient;
        told t = {.f = stairs, .n = 5};
        basin *b = begun(5, &options);
        step(&t, b);
        assert_true(b->turned && b->evaluations == 1);
        double first = b->best_loss;
        go(&t, b, 400);
        assert_true(b->best_loss < 0.2 * first);
        assert_int_equal(t.gradients, has_gradient);
        assert_int_equal(b->spent[BASIN_SAMPLES], b->evaluations - 1);
        basin_destroy(b);
        options.trust = 0; /* nothing left to do */
        b = begun(5, &options);
        step(&t, b);
        assert_true(b->over);
        basin_destroy(b);
    }
}

/* Bad gradients are as good as none: no point is requested twice, samples take over. Small first steps of
 * descents do not count against gradients. */
static void test_bad_gradients(void **state)
{
    basin_options options = usual;
    for (int small = 0; small < 2; small++) {
        options.lr = small ? 1e-3 : usual.lr;
        told t = {.f = sphere, .n = 5, .has_holes = 1};
        basin *b = begun(5, &options);
        double first = INFINITY;
        step(&t, b);
        first = b->best_loss;
        assert_true(b->turned && !b->over && b->evaluations == 1);
        go(&t, b, 300);
        assert_int_equal(b->spent[BASIN_SAMPLES], b->evaluations - t.gradients);
        assert_true(t.gradients <= 4 && b->best_loss < 1e-2 * first);
        basin_destroy(b);
    }
}

/* A search ends at the bottom, and where every simulation fails. */
static void test_ends(void **state)
{
    told t = {.f = sphere, .n = 5};
    basin *b = begun(5, &usual);
    go(&t, b, 1000);
    assert_true(b->over && b->best_loss < 1e-20);
    basin_destroy(b);
    t = (told){.f = rosenbrock, .n = 5, .failed_from = 1};
    b = begun(5, &usual);
    step(&t, b);
    assert_true(b->over && isinf(b->best_loss) && isinf(basin_promise(b)));
    basin_destroy(b);
    t = (told){.f = rosenbrock,
               .n = 5,
               .failed_from = 20}; /* from some point on: it finally gives up and keeps its best */
    b = begun(5, &usual);
    go(&t, b, 2000);
    assert_true(b->over && isfinite(b->best_loss));
    basin_destroy(b);
}

/* Paused and continued alternately with another, and used again from the start: the same points. */
static void test_pauses(void **state)
{
    told t = {.f = ripples_of, .n = 4}, other = {.f = rosenbrock, .n = 4};
    basin *alone = begun(4, &usual), *paused = begun(4, &usual), *beside = begun(4, &usual);
    for (int i = 0; i < 60 && !alone->over; i++) {
        step(&t, alone);
        if (i % 3 == 0) {
            step(&other, beside);
        }
        step(&t, paused);
        assert_true(alone->best_loss == paused->best_loss && alone->evaluations == paused->evaluations);
        assert_memory_equal(alone->best, paused->best, 4 * sizeof(double));
    }
    double loss = alone->best_loss;
    int64_t evaluations = alone->evaluations;
    static const double start[4] = {0.7, -0.6, 0.5, -0.8};
    basin_begin(paused, start, 0, ds_random_open(7, "sample", 1));
    go(&t, paused, evaluations);
    assert_true(paused->best_loss == loss && paused->evaluations == evaluations);
    basin_destroy(alone);
    basin_destroy(paused);
    basin_destroy(beside);
}

/* Prediction: the gain of the last doubling is expected once more. */
static void test_promise(void **state)
{
    static const double losses[] = {10, 9, 8, 7, 6, 5};
    basin_options plain = usual;
    plain.trust = 0;
    basin *b = begun(4, &plain);
    assert_true(isinf(basin_promise(b)));
    for (int i = 0; i < 6; i++) {
        double gradient[4] = {1, 1, 1, 1};
        const double *points;
        uint32_t outcome = DS_EVAL_OK;
        basin_points(b, &points);
        basin_tell(b, &losses[i], gradient, &outcome);
    }
    assert_true(basin_promise(b) == 5 - (8 - 5));
    basin_destroy(b);
}

/* ---- the race ---- */

/* Bowls with another depth for each runner; the first coordinate, which no gradient moves, selects the bowl.
 */
static double bowls(void *ctx, size_t n, const double *x, double *g)
{
    double f = sphere(NULL, n - 1, x + 1, g ? g + 1 : NULL) + 5.0 * fabs(x[0]);
    if (g) {
        g[0] = 0.0;
    }
    return f;
}

/* Races with starts of x0 = -1, -0.9, ...; fills `spent` with the evaluations of each of 16 starts. */
static size_t run_race(const race_options *options, int64_t evaluations, int64_t *spent)
{
    race *r = race_create(4, box, options);
    size_t entered = 0, n = 4;
    assert_non_null(r);
    memset(spent, 0, 1000 * sizeof *spent);
    for (int64_t used = 0; used < evaluations;) {
        for (size_t lane; (lane = race_idle(r)) < options->lanes;) {
            double start[4] = {(double)((7 * entered) % 16) / 16.0, 0.9, -0.9, 0.9};
            assert_true(entered < 1000 && race_enter(r, lane, start, ds_random_open(1, "sample", entered)));
            entered++;
        }
        for (size_t lane = 0; lane < options->lanes; lane++) {
            const double *points;
            double loss, gradient[4];
            uint32_t outcome = DS_EVAL_OK;
            assert_int_equal(race_points(r, lane, &points), 1);
            loss = bowls(NULL, n, points, gradient);
            spent[(int)lround(16.0 * points[0])]++;
            assert_int_equal(race_tell(r, lane, &loss, gradient, &outcome), DS_OK);
            used++;
        }
    }
    race_destroy(r);
    return entered;
}

static void test_race(void **state)
{
    static int64_t spent[1000];
    race_options options = {.lanes = 4, .racing = 1, .first = 4, .keep = 2, .basin = usual};
    options.basin.trust = 0;
    size_t raced = run_race(&options, 600, spent);
    int64_t good = 0, bad = 0;
    for (int i = 0; i < 16; i++) {
        good += i < 4 ? spent[i] : 0;
        bad += i >= 12 ? spent[i] : 0;
    }
    print_message("# %d runners; the best quarter got %d, the worst %d of 600\n", (int)raced, (int)good,
                  (int)bad);
    assert_true(good > 2 * bad && bad > 0);
    options.racing = 0;
    size_t all = run_race(&options, 600, spent);
    assert_true(all < raced); /* each continues to its end */
    options.racing = 1;
    options.keep = 1e6; /* no runner continues: each has only its first rung */
    assert_int_equal(run_race(&options, 640, spent), 640 / 4);
    options.promise = 1; /* except those predicted to beat all */
    size_t entered = run_race(&options, 640, spent);
    print_message("# %d runners where those that promise the least loss go on\n", (int)entered);
    assert_true(entered < 640 / 4 - 10 && spent[0] > 2 * spent[4] && spent[15] > 0);
}

RUN_TESTS(test_trust, test_good_gradients, test_noisy_gradients, test_patience, test_stall, test_blind,
          test_bad_gradients, test_ends, test_pauses, test_promise, test_race)
