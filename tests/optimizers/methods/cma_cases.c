/* SPDX-License-Identifier: Apache-2.0 */
/* cma_cases.c - test functions and the plain CMA-ES loop for counting evaluations (see cma_cases.h).
 * Functions as in Hansen and Ostermeier 2001, table 3. */
#include "cma_cases.h"

#include "methods/cma/cma_stop.h"
#include "test.h"

double cma_sphere(uint64_t n, const double *x)
{
    double f = 0;
    for (uint64_t i = 0; i < n; i++) {
        f += x[i] * x[i];
    }
    return f;
}

double cma_ellipsoid(uint64_t n, const double *x)
{
    double f = 0;
    for (uint64_t i = 0; i < n; i++) {
        f += pow(1e6, (double)i / (double)(n - 1)) * x[i] * x[i];
    }
    return f;
}

double cma_rosenbrock(uint64_t n, const double *x)
{
    double f = 0;
    for (uint64_t i = 0; i + 1 < n; i++) {
        f += 100 * pow(x[i] * x[i] - x[i + 1], 2) + pow(x[i] - 1, 2);
    }
    return f;
}

double cma_cigar(uint64_t n, const double *x)
{
    return 1e6 * cma_sphere(n, x) - (1e6 - 1) * x[0] * x[0];
}

double cma_tablet(uint64_t n, const double *x)
{
    return cma_sphere(n, x) + (1e6 - 1) * x[0] * x[0];
}

static double rastrigin(uint64_t n, const double *x, double scale)
{
    double f = 0;
    for (uint64_t i = 0; i < n; i++) {
        double z = scale * x[i], s = sin(3.14159265358979323846 * z);
        f += z * z + 20 * s * s;
    }
    return f;
}

double cma_rastrigin(uint64_t n, const double *x)
{
    return rastrigin(n, x, 1);
}

double cma_rastrigin5(uint64_t n, const double *x)
{
    return rastrigin(n, x, 5);
}

static int by_value(const void *p, const void *q)
{
    double a = *(const double *)p, b = *(const double *)q;
    return a < b ? -1 : a > b;
}

double cma_median(double *values, uint64_t count)
{
    qsort(values, count, sizeof(double), by_value);
    return 0.5 * (values[(count - 1) / 2] + values[count / 2]);
}

cma_outcome cma_minimise(const cma_options *options, cma_function *function, const double *m, double sigma,
                         double target, uint64_t most, uint64_t seed)
{
    cma *c = cma_new(options);
    cma_stop stop = {0};
    cma_outcome out = {0, 0, HUGE_VAL};
    ds_random random = ds_random_open(seed, "sample", 0);
    assert_non_null(c);
    uint64_t n = c->k.n, lambda = c->k.lambda;
    double *x = malloc(lambda * n * sizeof(double)), *f = malloc(lambda * sizeof(double));
    assert_true(x && f);
    cma_start(c, m, sigma);
    assert_int_equal(cma_stop_start(&stop, c, 1e-12, 0, 0), 0);
    for (int reason = CMA_GO_ON; reason == CMA_GO_ON && !out.hit && out.evaluations < most;) {
        assert_int_equal(cma_sample(c, &random, x), 0);
        for (uint64_t k = 0; k < lambda && !out.hit; k++) {
            f[k] = function(n, x + k * n);
            out.evaluations++;
            out.best = fmin(out.best, f[k]);
            out.hit = f[k] <= target;
        }
        if (!out.hit) {
            cma_update(c, x, f, NULL);
            reason = cma_stop_check(&stop, c, f);
        }
    }
    cma_stop_free(&stop);
    cma_free(c);
    free(x);
    free(f);
    return out;
}
