/* SPDX-License-Identifier: Apache-2.0 */
/* optimizer_cases.c - cases that every optimizer has to stand, see optimizer_cases.h. */
#include "optimizer_cases.h"

#include "functions.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

fake_problem optimizer_box(size_t n, double lower, double upper, fake_function f, uint64_t budget)
{
    fake_problem p = {.n = n, .lower = lower, .upper = upper, .f = f, .budget = budget};
    p.target = p.loss_floor = -INFINITY;
    return p;
}

void optimizer_assert_sound(const fake_result *r, uint64_t budget)
{
    assert_int_equal(r->create_status, DS_OK);
    assert_int_equal(r->violations, 0);
    assert_int_equal(r->status, DS_STOPPED);
    assert_int_equal(r->evaluations, budget);
}

void optimizer_assert_same(const fake_result *a, const fake_result *b, size_t n)
{
    uint64_t count = a->evaluations < b->evaluations ? a->evaluations : b->evaluations;
    assert_true(count > 0);
    assert_memory_equal(a->x, b->x, count * n * sizeof(double));
    for (uint64_t i = 0; i < count; i++) {
        assert_string_equal(a->rows[i].tag, b->rows[i].tag);
        assert_int_equal(a->rows[i].group, b->rows[i].group);
    }
}

/* A constant. */
static double plateau(void *ctx, size_t n, const double *x, double *g)
{
    (void)ctx, (void)x;
    if (g) {
        memset(g, 0, n * sizeof(double));
    }
    return 3.0;
}

/* A sphere times 1e200: squares of losses and gradients overflow. */
static double huge(void *ctx, size_t n, const double *x, double *g)
{
    double f = sphere(ctx, n, x, g);
    for (size_t k = 0; g && k < n; k++) {
        g[k] *= 1e200;
    }
    return 1e200 * f;
}

/* Steps without slope, and a gradient that lies. */
static double lying_stairs(void *ctx, size_t n, const double *x, double *g)
{
    double f = 0.0;
    (void)ctx;
    for (size_t k = 0; k < n; k++) {
        f += floor(4.0 * fabs(x[k]));
        if (g) {
            g[k] = cos(37.0 * x[k]) * 1e3;
        }
    }
    return f;
}

static void run_cases(const char *plugin, const char *parameters, const fake_problem *p, uint64_t seed)
{
    fake_result r = fake_run(plugin, parameters, p, seed);
    optimizer_assert_sound(&r, p->budget);
    fake_free(&r);
}

void optimizer_stands(const char *plugin, const char *parameters, uint64_t budget, size_t least,
                      int uses_budget)
{
    fake_problem p = optimizer_box(least > 3 ? least : 3, -2, 3, ripples, budget);
    fake_result a = fake_run(plugin, parameters, &p, 7);
    fake_result b = fake_run(plugin, parameters, &p, 7);
    optimizer_assert_sound(&a, budget);
    optimizer_assert_sound(&b, budget);
    optimizer_assert_same(&a, &b, p.n);
    fake_free(&b);
    if (!uses_budget) {
        p.budget = budget / 2 + 1;
        b = fake_run(plugin, parameters, &p, 7);
        optimizer_assert_sound(&b, p.budget);
        optimizer_assert_same(&a, &b, p.n);
        fake_free(&b);
    }
    fake_free(&a);
    p.budget = budget;
    p.failure_rate = p.bad_gradient_rate = 0.2;
    a = fake_run(plugin, parameters, &p, 8);
    optimizer_assert_sound(&a, budget);
    assert_true(isfinite(a.best));
    fake_free(&a);
    p.failure_rate = 1.0;
    run_cases(plugin, parameters, &p, 9);
    p.failure_rate = p.bad_gradient_rate = 0.0;
    static const fake_function nasty[] = {plateau, huge, lying_stairs};
    for (int i = 0; i < 3; i++) {
        p.f = nasty[i];
        run_cases(plugin, parameters, &p, 10);
    }
    p.f = sphere;
    p.n = least;
    run_cases(plugin, parameters, &p, 11);
    p.lower = -1e308; /* a box wider than the largest number */
    p.upper = 1e308;
    p.f = plateau;
    run_cases(plugin, parameters, &p, 12);
    p = optimizer_box(least > 4 ? least : 4, -1, 1, ripples, 1000000);
    p.stop_after = 20;
    p.budget = 20000;
    a = fake_run(plugin, parameters, &p, 13);
    assert_int_equal(a.status, DS_STOPPED);
    assert_true(a.evaluations < 20000);
    fake_free(&a);
}
