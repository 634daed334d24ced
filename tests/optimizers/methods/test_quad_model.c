/* SPDX-License-Identifier: Apache-2.0 */
/* test_quad_model.c - the quadratic through the best points: its minimum inside and on the surface of its
 * ball, saddles, degenerate points, and which points it keeps. */
#include "methods/cma/quad_model.h"
#include "test.h"

#include <diffsim/helper/random.h>

enum { MOST = 12 };

/* c + g.(x - o) + (x - o).A (x - o) / 2. */
typedef struct quadratic {
    size_t n;
    double a[MOST * MOST], g[MOST], o[MOST];
} quadratic;

static double at(const quadratic *f, const double *x)
{
    double sum = 3.0;
    for (size_t i = 0; i < f->n; i++) {
        sum += f->g[i] * (x[i] - f->o[i]);
        for (size_t j = 0; j < f->n; j++) {
            sum += 0.5 * f->a[i * f->n + j] * (x[i] - f->o[i]) * (x[j] - f->o[j]);
        }
    }
    return sum;
}

/* A = M M^T + I, or M + M^T where it may be indefinite. */
static void draw(quadratic *f, size_t n, int definite, ds_random *rng)
{
    double m[MOST * MOST];
    f->n = n;
    for (size_t i = 0; i < n * n; i++) {
        m[i] = ds_random_normal(rng);
    }
    for (size_t i = 0; i < n; i++) {
        f->g[i] = definite ? 0.0 : ds_random_normal(rng);
        f->o[i] = 0.3 * ds_random_normal(rng);
        for (size_t j = 0; j < n; j++) {
            double sum = definite ? (i == j) : m[i * n + j] + m[j * n + i];
            for (size_t k = 0; k < n && definite; k++) {
                sum += m[i * n + k] * m[j * n + k];
            }
            f->a[i * n + j] = sum;
        }
    }
}

static void point(size_t n, ds_random *rng, double *x)
{
    for (size_t k = 0; k < n; k++) {
        x[k] = 2.0 * ds_random_uniform(rng) - 1.0;
    }
}

static void fill(quad_model *q, const quadratic *f, ds_random *rng)
{
    double x[MOST];
    for (size_t i = 0; i < q->points; i++) {
        point(f->n, rng, x);
        quad_model_add(q, x, at(f, x));
    }
}

static double distance(size_t n, const double *a, const double *b)
{
    double square = 0.0;
    for (size_t k = 0; k < n; k++) {
        square += (a[k] - b[k]) * (a[k] - b[k]);
    }
    return sqrt(square);
}

/* The minimum, where the ball contains it. */
static void test_minimum(void **state)
{
    ds_random rng = ds_random_open(1, "minimum", 0);
    int inside = 0;
    for (size_t n = 1; n <= MOST; n++) {
        quadratic f;
        quad_model q;
        double x[MOST];
        draw(&f, n, 1, &rng);
        assert_true(quad_model_init(&q, n));
        assert_int_equal(q.points, (n + 1) * (n + 2) / 2);
        assert_false(quad_model_minimum(&q, x)); /* no points yet */
        for (int again = 0; again < 5; again++) {
            quad_model_clear(&q);
            fill(&q, &f, &rng);
            size_t best = 0;
            for (size_t i = 1; i < q.count; i++) {
                best = q.loss[i] < q.loss[best] ? i : best;
            }
            double radius = distance(n, q.x + best * n, q.x + q.worst * n);
            assert_true(quad_model_minimum(&q, x));
            assert_true(at(&f, x) < q.loss[best]);
            assert_true(distance(n, x, q.x + best * n) <= radius * (1.0 + 1e-9));
            if (distance(n, f.o, q.x + best * n) < radius) {
                assert_true(distance(n, x, f.o) < 1e-7);
                inside++;
            }
        }
        quad_model_free(&q);
    }
    assert_true(inside > 30);
}

/* Indefinite ones: no point in the ball or on its surface is lower. */
static void test_ball(void **state)
{
    ds_random rng = ds_random_open(2, "ball", 0);
    for (int k = 0; k < 40; k++) {
        size_t n = 2 + (size_t)k % 3;
        quadratic f;
        quad_model q;
        double x[MOST], y[MOST];
        draw(&f, n, 0, &rng);
        assert_true(quad_model_init(&q, n));
        fill(&q, &f, &rng);
        assert_true(quad_model_minimum(&q, x));
        size_t best = 0;
        for (size_t i = 1; i < q.count; i++) {
            best = q.loss[i] < q.loss[best] ? i : best;
        }
        double radius = distance(n, q.x + best * n, q.x + q.worst * n), least = at(&f, x);
        for (int i = 0; i < 5000; i++) {
            double length = 0.0;
            for (size_t a = 0; a < n; a++) {
                y[a] = ds_random_normal(&rng);
                length += y[a] * y[a];
            }
            double r = radius * (i % 2 ? 1.0 : ds_random_uniform(&rng)) / sqrt(length);
            for (size_t a = 0; a < n; a++) {
                y[a] = q.x[best * n + a] + r * y[a];
            }
            assert_true(at(&f, y) >= least - 1e-7 * (1.0 + fabs(least)));
        }
        quad_model_free(&q);
    }
}

/* A saddle whose best point has no slope along the descending axis: the step goes to the surface along it. */
static void test_saddle(void **state)
{
    static const double points[6][2] = {{0, 0}, {1, 0}, {-1, 0}, {0.5, 0.5}, {0.5, -0.5}, {-0.5, 0.5}};
    quad_model q;
    double x[2];
    assert_true(quad_model_init(&q, 2));
    for (int i = 0; i < 6; i++) { /* x^2 - y^2 / 2, whose lowest point here is a saddle */
        quad_model_add(&q, points[i], points[i][0] * points[i][0] - 0.5 * points[i][1] * points[i][1]);
    }
    assert_true(quad_model_minimum(&q, x));
    assert_true(fabs(x[0]) < 1e-9 && fabs(fabs(x[1]) - 1.0) < 1e-9); /* (1, 0) is the worst: radius 1 */
    quad_model_free(&q);
}

/* Points on a line, equal losses, a constant: no proposal, and all numbers stay finite. */
static void test_undetermined(void **state)
{
    quad_model q;
    double x[3];
    assert_true(quad_model_init(&q, 3));
    for (size_t i = 0; i < 2 * q.points; i++) {
        const double same[3] = {0.1, 0.2, 0.3};
        quad_model_add(&q, same, (double)i);
    }
    assert_false(quad_model_minimum(&q, x));
    quad_model_clear(&q);
    ds_random rng = ds_random_open(3, "undetermined", 0);
    for (size_t i = 0; i < 2 * q.points; i++) {
        point(3, &rng, x);
        quad_model_add(&q, x, 1.0);
    }
    assert_false(quad_model_minimum(&q, x));
    quad_model_clear(&q);
    for (size_t i = 0; i < q.points; i++) {
        const double line[3] = {0.01 * (double)i, 0.01 * (double)i, 0.01 * (double)i};
        quad_model_add(&q, line, (double)(i * i));
    }
    if (quad_model_minimum(&q, x)) {
        assert_true(isfinite(x[0]) && isfinite(x[1]) && isfinite(x[2]));
    }
    quad_model_clear(&q);
    for (size_t i = 0; i < q.points; i++) {
        point(3, &rng, x);
        quad_model_add(&q, x, i % 2 ? 1e308 : -1e308); /* their difference is not finite */
    }
    assert_false(quad_model_minimum(&q, x));
    quad_model_free(&q);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The best ones are kept, failures never. */
static void test_keeps_best(void **state)
{
    enum { N = 4, ALL = 200 };
    ds_random rng = ds_random_open(4, "keeps", 0);
    quad_model q;
    double all[ALL], x[N];
    assert_true(quad_model_init(&q, N));
    for (int i = 0; i < ALL; i++) {
        point(N, &rng, x);
        all[i] = ds_random_normal(&rng);
        x[0] = all[i];
        quad_model_add(&q, x, all[i]);
        quad_model_add(&q, x, i % 2 ? (double)INFINITY : (double)NAN);
    }
    assert_int_equal(q.count, q.points);
    qsort(all, ALL, sizeof *all, by_value);
    double kept[(N + 1) * (N + 2) / 2];
    for (size_t i = 0; i < q.count; i++) {
        kept[i] = q.loss[i];
        assert_true(q.x[i * N] == q.loss[i]);
    }
    qsort(kept, q.count, sizeof *kept, by_value);
    assert_memory_equal(kept, all, sizeof kept);
    quad_model_free(&q);
}

/* A search requests a step every generation: it gets a new fit once in 0.9 k evaluations, also where the last
 * one predicted no gain, and at once after a start. */
static void test_pace(void **state)
{
    enum { N = 6, GENERATION = 9, EVALUATIONS = 1000 };
    ds_random rng = ds_random_open(5, "pace", 0);
    for (int bottom = 0; bottom < 2; bottom++) { /* the minimum is one of its points */
        quadratic f;
        quad_model q;
        double x[MOST];
        draw(&f, N, 1, &rng);
        assert_true(quad_model_init(&q, N));
        assert_false(quad_model_propose(&q, 0, x));
        fill(&q, &f, &rng);
        if (bottom) {
            quad_model_add(&q, f.o, at(&f, f.o));
        }
        const uint64_t every = (uint64_t)(0.9 * (double)q.points);
        uint64_t proposed = 0;
        for (uint64_t i = 0; i < EVALUATIONS; i += GENERATION) {
            proposed += (uint64_t)quad_model_propose(&q, i, x);
        }
        assert_true(q.fits >= EVALUATIONS / (every + GENERATION) && q.fits <= EVALUATIONS / every + 1);
        assert_int_equal(proposed, bottom ? 0 : q.fits);
        const uint64_t fits = q.fits;
        quad_model_clear(&q);
        fill(&q, &f, &rng);
        quad_model_propose(&q, 1, x);
        assert_int_equal(q.fits, fits + 1);
        quad_model_free(&q);
    }
}

RUN_TESTS(test_minimum, test_ball, test_saddle, test_undetermined, test_keeps_best, test_pace)
