/* SPDX-License-Identifier: Apache-2.0 */
/* test_lm.c - the Levenberg-Marquardt method: convergence on problems with known answers, bounds, and the
 * optimizers lm and pbh on residuals, on a loss with gradient, on a loss alone, and with failures; the
 * backward pass of iLQR against dense algebra. */
#include "functions.h"
#include "methods/squares/levenberg.h"
#include "methods/squares/riccati.h"
#include "objective.h"
#include "test.h"

#include <diffsim/helper/random.h>

/* ---- problems ---- */

/* 10 (x_{i+1} - x_i^2), 1 - x_i */
static void rosenbrock_squares(void *ctx, size_t n, const double *x, double *r, double *j)
{
    memset(j, 0, 2 * (n - 1) * n * sizeof(double));
    for (size_t i = 0; i + 1 < n; i++) {
        r[2 * i] = 10 * (x[i + 1] - x[i] * x[i]);
        r[2 * i + 1] = 1 - x[i];
        j[2 * i * n + i] = -20 * x[i];
        j[2 * i * n + i + 1] = 10;
        j[(2 * i + 1) * n + i] = -1;
    }
}

/* Rastrigin's waves are squares, too: x_i, sqrt(20) sin(pi x_i). */
static void waves_squares(void *ctx, size_t n, const double *x, double *r, double *j)
{
    const double pi = FUNCTIONS_PI, a = sqrt(20);
    (void)ctx;
    memset(j, 0, 2 * n * n * sizeof(double));
    for (size_t i = 0; i < n; i++) {
        r[i] = x[i];
        r[n + i] = a * sin(pi * x[i]);
        j[i * n + i] = 1;
        j[(n + i) * n + i] = a * pi * cos(pi * x[i]);
    }
}

static double waves_loss(void *ctx, size_t n, const double *x, double *g)
{
    double r[32], j[32 * 16], f = 0;
    waves_squares(ctx, n, x, r, j);
    for (size_t k = 0; k < 2 * n; k++) {
        f += r[k] * r[k];
    }
    for (size_t i = 0; g && i < n; i++) {
        g[i] = 2 * (r[i] + r[n + i] * j[(n + i) * n + i]);
    }
    return f;
}

/* One residual for three variables: fewer than columns, so the optimizer requests rows of the Jacobian. */
static void plane_squares(void *ctx, size_t n, const double *x, double *r, double *j)
{
    r[0] = -1;
    for (size_t i = 0; i < n; i++) {
        r[0] += (double)(i + 1) * x[i];
        j[i] = (double)(i + 1);
    }
}

static double plane_loss(void *ctx, size_t n, const double *x, double *g)
{
    double r, j[8];
    plane_squares(ctx, n, x, &r, j);
    for (size_t i = 0; g && i < n; i++) {
        g[i] = 2 * r * j[i];
    }
    return r * r;
}

/* ---- the method ---- */

static const lm_options exact = {.radius = 1e4, .iterations = 1000, .accept = 1e-3};

/* Runs a search to its end; returns the number of Jacobians. */
static int solve(lm *s, const double *start, size_t n, size_t m, fake_residuals f, void *ctx, double *history)
{
    double *r = malloc((m + 2 * m * n) * sizeof(double)), *rows = r + m, *columns = rows + m * n;
    int next = lm_start(s, start), jacobians = 0;
    while (next != LM_DONE) {
        f(ctx, n, lm_point(s), r, rows);
        if (next == LM_RESIDUALS) {
            next = lm_tell_residuals(s, r);
            continue;
        }
        if (history) {
            memcpy(history + (size_t)jacobians * n, lm_point(s), n * sizeof(double));
        }
        jacobians++;
        for (size_t k = 0; k < m; k++) {
            for (size_t i = 0; i < n; i++) {
                columns[i * m + k] = rows[k * n + i];
            }
        }
        next = lm_tell_jacobian(s, columns);
    }
    free(r);
    return jacobians;
}

/* From (-1.2, 1): below 1e-20 within 50 steps, including rejected ones, and to 1e-12 of the minimum within
 * 40. */
static void test_rosenbrock(void **state)
{
    const double lower[2] = {-10, -10}, upper[2] = {10, 10}, start[2] = {-1.2, 1};
    lm_options o = exact;
    for (o.iterations = 1;; o.iterations++) {
        lm *s = lm_create(2, 2, lower, upper, &o);
        solve(s, start, 2, 2, rosenbrock_squares, NULL, NULL);
        double cost = lm_cost(s), error = hypot(lm_point(s)[0] - 1, lm_point(s)[1] - 1);
        lm_destroy(s);
        if (cost < 1e-20 && error < 1e-12) {
            break;
        }
        assert_true(o.iterations < 50);
    }
    print_message("# Rosenbrock: %d steps\n", (int)o.iterations);
    assert_true(o.iterations < 40);
}

typedef struct linear {
    double a[8 * 4], b[8];
} linear;

static void linear_squares(void *ctx, size_t n, const double *x, double *r, double *j)
{
    const linear *l = ctx;
    for (size_t k = 0; k < 8; k++) {
        r[k] = -l->b[k];
        for (size_t i = 0; i < n; i++) {
            r[k] += l->a[k * n + i] * x[i];
            j[k * n + i] = l->a[k * n + i];
        }
    }
}

/* x = a^{-1} b for a symmetric positive definite 4 x 4 matrix, by elimination. */
static void solve_four(double a[4][4], double b[4])
{
    for (int i = 0; i < 4; i++) {
        for (int k = i + 1; k < 4; k++) {
            double t = a[k][i] / a[i][i];
            for (int c = i; c < 4; c++) {
                a[k][c] -= t * a[i][c];
            }
            b[k] -= t * b[i];
        }
    }
    for (int i = 3; i >= 0; i--) {
        for (int c = i + 1; c < 4; c++) {
            b[i] -= a[i][c] * b[c];
        }
        b[i] /= a[i][i];
    }
}

/* Error of a step with trust radius `radius` from one with error e: (A^T A + D/radius)^{-1} D/radius e, D =
 * diag A^T A. */
static void damped_error(const linear *l, double radius, double e[4])
{
    double a[4][4];
    for (int i = 0; i < 4; i++) {
        for (int c = 0; c < 4; c++) {
            a[i][c] = 0;
            for (int k = 0; k < 8; k++) {
                a[i][c] += l->a[k * 4 + i] * l->a[k * 4 + c];
            }
        }
    }
    for (int i = 0; i < 4; i++) {
        double d = a[i][i] / radius;
        e[i] *= d;
        a[i][i] += d;
    }
    solve_four(a, e);
}

/* Random 8 x 4 problems with a solution. The errors after one and two steps are exactly those that the
 * damping leaves: the radius is 1e4, and 3e4 after a step with the predicted decrease. With nearly orthogonal
 * columns that is below 1e-4 and 1e-8; in general the condition number of A^T A enters, once and twice. */
static void test_linear(void **state)
{
    const double lower[4] = {-1e3, -1e3, -1e3, -1e3}, upper[4] = {1e3, 1e3, 1e3, 1e3},
                 start[4] = {0, 0, 0, 0};
    int small = 0;
    for (uint64_t trial = 0; trial < 20; trial++) {
        ds_random random = ds_random_open(1, "linear", trial);
        linear l;
        double truth[4], history[4 * 1001], e[4], first = 0, second = 0;
        for (int i = 0; i < 4; i++) {
            truth[i] = ds_random_normal(&random);
            e[i] = -truth[i];
        }
        for (int k = 0; k < 8; k++) {
            l.b[k] = 0;
            for (int i = 0; i < 4; i++) {
                l.a[k * 4 + i] = ds_random_normal(&random);
                l.b[k] += l.a[k * 4 + i] * truth[i];
            }
        }
        lm *s = lm_create(4, 8, lower, upper, &exact);
        int steps = solve(s, start, 4, 8, linear_squares, &l, history);
        assert_true(steps >= 2);
        damped_error(&l, 1e4, e);
        for (int i = 0; i < 4; i++) {
            first = fmax(first, fabs(e[i]));
            assert_true(fabs(history[4 + i] - truth[i] - e[i]) < 1e-14 + 1e-9 * fabs(e[i]));
        }
        damped_error(&l, 3e4, e);
        for (int i = 0; i < 4; i++) {
            second = fmax(second, fabs(e[i]));
            double x = steps > 2 ? history[8 + i] : lm_point(s)[i];
            assert_true(fabs(x - truth[i] - e[i]) < 1e-14 + 1e-6 * fabs(e[i]));
        }
        small += first < 1e-4 && second < 1e-8;
        lm_destroy(s);
    }
    print_message("# below 1e-4 after one and 1e-8 after two steps: %d of 20\n", small);
    assert_true(small >= 1);
}

/* The unconstrained minimum lies outside: the solution is on the bound, with the gradient pointing outward.
 */
static void test_box(void **state)
{
    const double lower[2] = {-2, -2}, upper[2] = {0.5, 2}, start[2] = {-1.2, 1};
    for (int bounds = LM_CLAMPED_BOUNDS; bounds <= LM_DAMPED_BOUNDS; bounds++) {
        lm_options o = exact;
        o.gtol = 1e-12;
        o.bounds = bounds;
        lm *s = lm_create(2, 2, lower, upper, &o);
        const int jacobians = solve(s, start, 2, 2, rosenbrock_squares, NULL, NULL);
        print_message("# minimum on the border: %d Jacobians\n", jacobians);
        assert_true(jacobians < 40);
        assert_true(lm_point(s)[0] == 0.5 && fabs(lm_point(s)[1] - 0.25) < 1e-9);
        assert_true(fabs(lm_cost(s) - 0.125) < 1e-12);
        lm_destroy(s);
    }
}

static void distant_squares(void *ctx, size_t n, const double *x, double *r, double *j)
{
    r[0] = x[0] - 3;
    j[0] = 1;
}

/* r = x - 3 on [0, 1]: the distance to the next bound limits the first step, from the middle or from the
 * other bound; later steps still end at the bound. */
static void test_damped_bounds(void **state)
{
    const double lower[1] = {0}, upper[1] = {1}, start[2] = {0.5, 0};
    lm_options o = exact;
    o.bounds = LM_DAMPED_BOUNDS;
    for (int k = 0; k < 2; k++) {
        double history[1001], g = 3 - start[k], room = 1 - start[k];
        lm *s = lm_create(1, 1, lower, upper, &o);
        const int jacobians = solve(s, &start[k], 1, 1, distant_squares, NULL, history);
        print_message("# to a bound: %d Jacobians\n", jacobians);
        assert_true(jacobians >= 3 && jacobians < 12 && lm_point(s)[0] == 1);
        assert_true(fabs(history[1] - start[k] - g / (1 + 1e-4 + g / room)) < 1e-12);
        lm_destroy(s);
    }
}

/* A start without residuals ends the search; a step to a point without residuals is undone. */
static void test_failed_steps(void **state)
{
    const double lower[1] = {-10}, upper[1] = {10}, start[1] = {3};
    lm *s = lm_create(1, 1, lower, upper, &exact);
    assert_int_equal(lm_start(s, start), LM_RESIDUALS);
    assert_int_equal(lm_tell_residuals(s, NULL), LM_DONE);
    assert_true(isinf(lm_cost(s)));
    double r = 3, j = 1;
    lm_start(s, start);
    assert_int_equal(lm_tell_residuals(s, &r), LM_JACOBIAN);
    assert_int_equal(lm_tell_jacobian(s, &j), LM_RESIDUALS);
    double first = lm_point(s)[0];
    int rejected = 0;
    while (rejected < 60 && lm_tell_residuals(s, NULL) == LM_RESIDUALS) {
        double now = lm_point(s)[0];
        assert_true(now > first - 1e-15 && now < 3); /* shorter and shorter */
        first = now;
        rejected++;
    }
    assert_true(rejected >= 5 && lm_cost(s) == 4.5 && lm_point(s)[0] == 3);
    lm_destroy(s);
}

/* ---- the optimizers ---- */

static fake_problem squares(size_t n, double half, fake_function loss, size_t m, fake_residuals f,
                            uint64_t budget)
{
    fake_problem p = optimizer_box(n, -half, half, loss, budget);
    p.m = m;
    p.squares = f;
    p.loss_floor = 0;
    return p;
}

static const char *const plugins[] = {"lm", "pbh"};

static void test_stands(void **state)
{
    optimizer_stands("ilqr", "trials=4", 203, 1, 0);
    for (int k = 0; k < 2; k++) {
        optimizer_stands(plugins[k], "", 300, 1, 0);
        optimizer_stands(plugins[k], "residuals=scalar iterations=7", 200, 1, 0);
        optimizer_stands(plugins[k], "bounds=damp iterations=20", 300, 1, 0);
    }
    optimizer_stands("pbh", "local=lbfgsb workers=3 j=20", 300, 1, 0);
    optimizer_stands("pbh", "local=adam workers=3 j=20 fade_std=true", 300, 1, 0);
}

/* Counting, bounds, determinism and failures with residuals. */
static void test_residuals(void **state)
{
    for (int k = 0; k < 2; k++) {
        fake_problem p = squares(6, 3, rosenbrock, 10, rosenbrock_squares, 1000);
        fake_result a = fake_run(plugins[k], "", &p, 3), b = fake_run(plugins[k], "", &p, 3);
        optimizer_assert_sound(&a, 1000);
        optimizer_assert_same(&a, &b, p.n);
        assert_true(a.best < 1e-18);
        /* A Jacobian is n products; the budget may cut off the last ones. */
        uint64_t values = fake_count(&a, k ? "local" : "residuals"), products = fake_count(&a, "jacobian");
        assert_int_equal(values + products, 1000);
        assert_true(products > 0 && products / 6 <= values);
        fake_free(&b);
        p.budget = 333;
        b = fake_run(plugins[k], "", &p, 3);
        optimizer_assert_sound(&b, 333);
        optimizer_assert_same(&a, &b, p.n);
        fake_free(&a);
        fake_free(&b);
        p.budget = 1000;
        p.failure_rate = 0.2;
        a = fake_run(plugins[k], "", &p, 4);
        optimizer_assert_sound(&a, 1000);
        assert_true(isfinite(a.best) && a.best < 100);
        fake_free(&a);
        p.failure_rate = 1;
        a = fake_run(plugins[k], "", &p, 5);
        optimizer_assert_sound(&a, 1000);
        fake_free(&a);
        p.stop_after = 5;
        p.failure_rate = 0;
        p.budget = 1000000;
        a = fake_run(plugins[k], "", &p, 6);
        assert_true(a.status == DS_STOPPED && a.evaluations < 100000);
        fake_free(&a);
    }
}

/* Fewer residuals than variables: rows of the Jacobian are cheaper than columns. */
static void test_rows(void **state)
{
    fake_problem p = squares(3, 1, plane_loss, 1, plane_squares, 6);
    fake_result r = fake_run("lm", "", &p, 1);
    optimizer_assert_sound(&r, 6);
    assert_string_equal(r.rows[0].tag, "residuals");
    assert_string_equal(r.rows[1].tag, "jacobian");
    assert_string_equal(r.rows[2].tag, "residuals");
    assert_true(r.best < 1e-6);
    fake_free(&r);
    /* one residual, the root of the loss: one evaluation with gradient per step */
    r = fake_run("lm", "residuals=scalar", &p, 1);
    optimizer_assert_sound(&r, 6);
    assert_true(r.rows[1].want == DS_WANT_GRAD && r.best < 0.1);
    fake_free(&r);
    p.no_gradient = 1;
    p.budget = 40;
    r = fake_run("lm", "residuals=scalar", &p, 1); /* and three differences without a gradient */
    optimizer_assert_sound(&r, 40);
    assert_int_equal(r.rows[1].want, 0);
    assert_string_equal(r.rows[3].tag, "jacobian");
    assert_true(r.best < 0.1);
    fake_free(&r);
    p.m = 0;
    r = fake_run("lm", "residuals=vector", &p, 1);
    assert_int_equal(r.status, DS_E_UNSUPPORTED);
    assert_non_null(strstr(r.error, "no residuals"));
    fake_free(&r);
}

/* In Rastrigin's function with 4 variables hops as wide as a basin beat searches from random starts at the
 * same budget, and finally always find the bottom. From a point with one variable in the wrong valley a hop
 * succeeds if that variable falls within 1/2 of 0 and the others stay: 0.243 0.383^3, one hop in 73, each
 * about 60 evaluations long. 2000 evaluations suffice for a third of the seeds, 50000 except with probability
 * e^-11. */
static void test_basins(void **state)
{
    uint64_t total = 0;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        fake_problem p = squares(4, 5, waves_loss, 8, waves_squares, 50000);
        fake_result hops = fake_run("pbh", "initial_std=0.1 use_x0=false cost_limit=1e-12", &p, seed);
        p.budget = 2000;
        fake_result random = fake_run("lm", "use_x0=false", &p, seed);
        print_message("# seed %d: pbh %.3g, lm %.3g; pbh at the bottom after %d\n", (int)seed,
                      fake_best_after(&hops, 2000), random.best, (int)hops.evaluations);
        assert_true(fake_best_after(&hops, 2000) < 0.5 * random.best);
        assert_true(hops.status == DS_OK && hops.best < 1e-12); /* ends by itself */
        total += hops.evaluations;
        fake_free(&hops);
        fake_free(&random);
    }
    assert_true(total < 6 * 15000);
}

/* The workers share one best point, which a worse one never replaces: with hops of length zero each round
 * begins with all of them at the best point of all earlier rounds. */
static void test_shared_best(void **state)
{
    enum { WORKERS = 3, N = 4 };
    for (uint64_t seed = 1; seed <= 5; seed++) {
        fake_problem p = squares(N, 5, waves_loss, 8, waves_squares, 3000);
        fake_result r = fake_run("pbh", "initial_std=1e-12 workers=3 iterations=3 use_x0=false", &p, seed);
        uint64_t best = 0, best_before = 0, rounds = 0, in_round = 0;
        optimizer_assert_sound(&r, 3000);
        for (uint64_t i = 0; i < r.evaluations; i++) {
            if (i > 0 && r.rows[i].group != r.rows[i - 1].group) {
                best_before = best;
                in_round = 0;
                rounds++;
            }
            if (rounds > 0 && in_round++ < WORKERS) {
                for (int k = 0; k < N; k++) {
                    assert_true(fabs(r.x[i * N + k] - r.x[best_before * N + k]) < 1e-9);
                }
            }
            best = r.rows[i].loss < r.rows[best].loss ? i : best;
        }
        assert_true(rounds >= 10);
        fake_free(&r);
    }
}

/* ---- the backward pass of iLQR ---- */

enum { RT = 6, RN = 3, RM = 2, ALL = RT * RM };

typedef struct quadratic {
    double A[RT * RN * RN], B[RT * RN * RM], c[(RT + 1) * (RN + RM)], H[(RT + 1) * (RN + RM)], v[ALL];
} quadratic;

static quadratic random_quadratic(uint64_t key, double size)
{
    quadratic q;
    ds_random rng = ds_random_open(11, "riccati", key);
    for (size_t i = 0; i < sizeof q.A / sizeof *q.A; i++) {
        q.A[i] = 0.6 * ds_random_normal(&rng);
    }
    for (size_t i = 0; i < sizeof q.B / sizeof *q.B; i++) {
        q.B[i] = ds_random_normal(&rng);
    }
    for (size_t i = 0; i < sizeof q.c / sizeof *q.c; i++) {
        q.c[i] = size * ds_random_normal(&rng);
        q.H[i] = 0.1 + ds_random_uniform(&rng);
    }
    for (size_t i = 0; i < ALL; i++) {
        q.v[i] = 1.8 * ds_random_uniform(&rng) - 0.9;
    }
    return q;
}

/* The model's cost of changes d of all controls. */
static double cost_of_changes(const quadratic *q, const double *d)
{
    double x[RN] = {0}, sum = 0.0;
    for (size_t t = 0; t <= RT; t++) {
        const double *c = q->c + t * (RN + RM), *h = q->H + t * (RN + RM);
        double next[RN] = {0};
        for (size_t i = 0; i < RN; i++) {
            sum += c[i] * x[i] + 0.5 * h[i] * x[i] * x[i];
        }
        for (size_t a = 0; a < RM && t < RT; a++) {
            sum += c[RN + a] * d[t * RM + a] + 0.5 * h[RN + a] * d[t * RM + a] * d[t * RM + a];
        }
        for (size_t i = 0; i < RN && t < RT; i++) {
            for (size_t j = 0; j < RN; j++) {
                next[i] += q->A[(t * RN + i) * RN + j] * x[j];
            }
            for (size_t a = 0; a < RM; a++) {
                next[i] += q->B[(t * RN + i) * RM + a] * d[t * RM + a];
            }
        }
        memcpy(x, next, sizeof x);
    }
    return sum;
}

/* The controls that the law chooses along the linear model. */
static void follow_law(const quadratic *q, const double *k, const double *K, double *d)
{
    double x[RN] = {0};
    for (size_t t = 0; t < RT; t++) {
        double next[RN] = {0};
        for (size_t a = 0; a < RM; a++) {
            d[t * RM + a] = k[t * RM + a];
            for (size_t i = 0; i < RN; i++) {
                d[t * RM + a] += K[(t * RM + a) * RN + i] * x[i];
            }
        }
        for (size_t i = 0; i < RN; i++) {
            for (size_t j = 0; j < RN; j++) {
                next[i] += q->A[(t * RN + i) * RN + j] * x[j];
            }
            for (size_t a = 0; a < RM; a++) {
                next[i] += q->B[(t * RN + i) * RM + a] * d[t * RM + a];
            }
        }
        memcpy(x, next, sizeof x);
    }
}

/* Without bounds in reach the law is the minimum of the whole quadratic: no change of a control, and no two,
 * lower its cost; the predicted decrease is the actual one. */
static void test_riccati_is_optimal(void **state)
{
    double room[2 * RN + 3 * RN * RN + 4 * RM + 2 * RM * RM + 2 * RN * RM];
    assert_true(riccati_room(RN, RM) == sizeof room / sizeof *room);
    for (uint64_t key = 0; key < 50; key++) {
        const quadratic q = random_quadratic(key, 1e-3);
        const riccati_model o = {RT, RN, RM, q.A, q.B, q.c, q.H, 0, q.v};
        double k[ALL], K[ALL * RN], d[ALL], slope, bend;
        assert_int_equal(riccati_back(&o, 0.0, 0.0, k, K, &slope, &bend, room), 1);
        follow_law(&q, k, K, d);
        const double least = cost_of_changes(&q, d);
        assert_true(least < 0 && fabs(-least - (slope - bend)) < 1e-12 * slope);
        for (size_t i = 0; i < ALL; i++) {
            for (size_t j = 0; j < ALL; j++) {
                for (int side = i == j ? 1 : -1; side <= 1; side += 2) {
                    double other[ALL];
                    memcpy(other, d, sizeof d);
                    other[i] += 1e-4;
                    other[j] += 1e-4 * side;
                    assert_true(cost_of_changes(&q, other) >= least);
                }
            }
        }
        for (int half = 1; half < 4; half++) { /* shorter steps */
            double part[ALL], alpha = 0.25 * half;
            for (size_t i = 0; i < ALL; i++) {
                part[i] = alpha * d[i];
            }
            assert_near(cost_of_changes(&q, part), -(alpha * slope - alpha * alpha * bend), 1e-9 * slope);
        }
    }
}

/* One step with bounds: against all ways to hold controls. mu makes steps shorter; what is not convex needs
 * it. */
static void test_riccati_bounds(void **state)
{
    double room[2 * RN + 3 * RN * RN + 4 * RM + 2 * RM * RM + 2 * RN * RM];
    int held = 0;
    for (uint64_t key = 0; key < 200; key++) {
        quadratic q = random_quadratic(key, 3.0);
        const riccati_model o = {1, RN, RM, q.A, q.B, q.c, q.H, 0, q.v};
        double k[RM], K[RM * RN], slope, bend, shorter[RM], least = INFINITY, best[RM] = {0};
        assert_int_equal(riccati_back(&o, 0.0, 0.0, k, K, &slope, &bend, room), 1);
        double Q[RM][RM] = {{0}}, g[RM];
        for (size_t a = 0; a < RM; a++) {
            g[a] = q.c[RN + a];
            Q[a][a] = q.H[RN + a];
            for (size_t i = 0; i < RN; i++) {
                g[a] += q.B[i * RM + a] * q.c[RN + RM + i];
                for (size_t b = 0; b < RM; b++) {
                    Q[a][b] += q.B[i * RM + a] * q.B[i * RM + b] * q.H[RN + RM + i];
                }
            }
        }
        for (int way = 0; way < 9; way++) { /* each control: free, low, high */
            const int side[RM] = {way % 3, way / 3};
            double d[RM];
            for (int a = 0; a < RM; a++) {
                d[a] = side[a] == 1 ? -1 - q.v[a] : side[a] == 2 ? 1 - q.v[a] : 0;
            }
            if (side[0] == 0 && side[1] == 0) {
                const double det = Q[0][0] * Q[1][1] - Q[0][1] * Q[1][0];
                d[0] = -(Q[1][1] * g[0] - Q[0][1] * g[1]) / det;
                d[1] = -(Q[0][0] * g[1] - Q[1][0] * g[0]) / det;
            } else {
                for (int a = 0; a < RM; a++) {
                    d[a] = side[a] == 0 ? -(g[a] + Q[a][1 - a] * d[1 - a]) / Q[a][a] : d[a];
                }
            }
            const double cost = g[0] * d[0] + g[1] * d[1] +
                                0.5 * (Q[0][0] * d[0] * d[0] + Q[1][1] * d[1] * d[1]) + Q[0][1] * d[0] * d[1];
            int inside = 1;
            for (int a = 0; a < RM; a++) {
                inside &= q.v[a] + d[a] >= -1 - 1e-12 && q.v[a] + d[a] <= 1 + 1e-12;
            }
            if (inside && cost < least) {
                least = cost;
                memcpy(best, d, sizeof d);
            }
        }
        for (int a = 0; a < RM; a++) {
            assert_near(k[a], best[a], 1e-9);
            const int at = fabs(fabs(q.v[a] + k[a]) - 1) < 1e-12;
            held += at;
            for (int i = 0; at && i < RN; i++) {
                assert_true(K[a * RN + i] == 0.0);
            }
        }
        assert_int_equal(riccati_back(&o, 10.0, 0.0, shorter, K, &slope, &bend, room), 1);
        assert_true(hypot(shorter[0], shorter[1]) <= hypot(k[0], k[1]) * (1 + 1e-9));
        for (size_t i = 0; i < 2 * (RN + RM); i++) {
            q.H[i] = -q.H[i];
        }
        q.c[RN] = 1.0;
        q.c[RN + 1] = 1.0;
        memset(q.v, 0, sizeof q.v);
        assert_int_equal(riccati_back(&o, 0.0, 0.0, k, K, &slope, &bend, room), 0);
        assert_int_equal(riccati_back(&o, 1e3, 0.0, k, K, &slope, &bend, room), 1);
    }
    assert_true(held > 50 && held < 350);
}

/* Matrices of second derivatives: a diagonal gives the same bits; M'HM in the coordinates M^-1 x of the
 * states gives the same controls. A control without a cost has a scale, and mu in its units makes it
 * solvable. */
static void test_riccati_matrices(void **state)
{
    enum { EACH = RN + RM };
    static double full[(RT + 1) * EACH * EACH];
    double room[2 * RN + 3 * RN * RN + 4 * RM + 2 * RM * RM + 2 * RN * RM];
    for (uint64_t key = 0; key < 20; key++) {
        quadratic q = random_quadratic(key, 1e-3);
        const riccati_model thin = {RT, RN, RM, q.A, q.B, q.c, q.H, 0, q.v},
                            wide = {RT, RN, RM, q.A, q.B, q.c, full, 1, q.v};
        double k[2][ALL], K[2][ALL * RN], slope[2], bend[2];
        memset(full, 0, sizeof full);
        for (size_t i = 0; i < (RT + 1) * EACH; i++) {
            full[i * EACH + i % EACH] = q.H[i];
        }
        assert_int_equal(riccati_back(&thin, 0.0, 0.0, k[0], K[0], &slope[0], &bend[0], room), 1);
        assert_int_equal(riccati_back(&wide, 0.0, 0.0, k[1], K[1], &slope[1], &bend[1], room), 1);
        assert_memory_equal(k[0], k[1], sizeof k[0]);
        assert_memory_equal(K[0], K[1], sizeof K[0]);
        assert_true(riccati_scale(&thin, room) == 0.0);

        /* x_0 = y_0 + g y_1 in every state */
        const double g = 0.7;
        for (size_t t = 0; t <= RT; t++) {
            double *H = full + t * EACH * EACH, *c = q.c + t * EACH;
            H[1] = H[EACH] = g * q.H[t * EACH];
            H[EACH + 1] += g * g * q.H[t * EACH];
            c[1] += g * c[0];
        }
        for (size_t t = 0; t < RT; t++) {
            double *A = q.A + t * RN * RN, *B = q.B + t * RN * RM;
            for (size_t i = 0; i < RN; i++) {
                A[i * RN + 1] += g * A[i * RN];
            }
            for (size_t j = 0; j < RN; j++) {
                A[j] -= g * A[RN + j];
            }
            for (size_t a = 0; a < RM; a++) {
                B[a] -= g * B[RM + a];
            }
        }
        assert_int_equal(riccati_back(&wide, 0.0, 0.0, k[1], K[1], &slope[1], &bend[1], room), 1);
        assert_near(slope[0], slope[1], 1e-9 * slope[0]);
        double d[2][ALL];
        quadratic plain = random_quadratic(key, 1e-3);
        follow_law(&plain, k[0], K[0], d[0]);
        follow_law(&q, k[1], K[1], d[1]);
        for (size_t i = 0; i < ALL; i++) {
            assert_near(d[0][i], d[1][i], 1e-9);
        }

        for (size_t t = 0; t < RT; t++) { /* the first control costs nothing and does nothing at last */
            plain.H[t * EACH + RN] = 0.0;
        }
        for (size_t i = 0; i < RN; i++) {
            plain.B[((RT - 1) * RN + i) * RM] = 0.0;
        }
        const riccati_model free_of_cost = {RT, RN, RM, plain.A, plain.B, plain.c, plain.H, 0, plain.v};
        const double scale = riccati_scale(&free_of_cost, room);
        assert_true(scale > 0.0);
        assert_int_equal(riccati_back(&free_of_cost, 0.0, scale, k[0], K[0], &slope[0], &bend[0], room), 0);
        assert_int_equal(riccati_back(&free_of_cost, 1e-3, scale, k[0], K[0], &slope[0], &bend[0], room), 1);
    }
}

RUN_TESTS(test_riccati_is_optimal, test_riccati_bounds, test_riccati_matrices, test_rosenbrock, test_linear,
          test_box, test_damped_bounds, test_failed_steps, test_stands, test_residuals, test_rows,
          test_basins, test_shared_best)
