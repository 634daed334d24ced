/* SPDX-License-Identifier: Apache-2.0 */
/* bench_gp.c - times of the Gaussian process: one evaluation of the fit objective with gradient, a
 * refit, and the search of the acquisition function, at the sizes that Bayesian optimization meets; then
 * whole trials of Bayesian optimization with their memory, up to 4000 points. CPU time of one thread. */
#include "bench/bench.h"
#include "methods/base/blas.h"
#include "methods/bayes/acquisition.h"
#include "methods/bayes/gp.h"
#include "methods/bayes/surrogate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

/* A rugged function at uniform random points, standardised. */
static void make_data(size_t n, size_t d, double *u, double *y)
{
    ds_random rng = ds_random_open(1, "bench", n);
    double mean = 0.0, square = 0.0;
    for (size_t i = 0; i < n; i++) {
        y[i] = 0.0;
        for (size_t k = 0; k < d; k++) {
            double v = 2.0 * ds_random_uniform(&rng) - 1.0, z = 1.5 * (v - 0.6 * sin((double)k + 1.0));
            u[i * d + k] = 0.5 * (v + 1.0);
            y[i] += z * z + 0.25 * (1.0 - cos(12.566370614359172 * z));
        }
        mean += y[i] / (double)n;
    }
    for (size_t i = 0; i < n; i++) {
        square += (y[i] - mean) * (y[i] - mean);
    }
    for (size_t i = 0; i < n; i++) {
        y[i] = (y[i] - mean) / sqrt(square / (double)(n - 1));
    }
}

static void bench(const char *name, const gp_model *model, size_t n, size_t d, int repeats)
{
    double *u = malloc(n * d * sizeof(double)), *y = malloc(n * sizeof(double));
    double *theta = malloc(2 * (d + 3) * sizeof(double)), *gradient = theta + d + 3;
    gp *g = gp_create(d, model);
    make_data(n, d, u, y);
    gp_get_theta(g, theta);
    gp_objective(g, n, u, y, theta, gradient);
    double best = INFINITY;
    for (int i = 0; i < repeats; i++) {
        double t = bench_cpu_s();
        gp_objective(g, n, u, y, theta, gradient);
        best = fmin(best, bench_cpu_s() - t);
    }
    gp_default_hyper(g);
    ds_random rng = ds_random_open(1, "fit", 0);
    double t = bench_cpu_s();
    gp_fit(g, n, u, y, 200, &rng, NULL, NULL);
    double first = bench_cpu_s() - t;
    t = bench_cpu_s(); /* warm start: one tenth less data, then all of it */
    gp_fit(g, n - n / 10, u, y, 75, &rng, NULL, NULL);
    t = bench_cpu_s();
    gp_fit(g, n, u, y, 75, &rng, NULL, NULL);
    gp_condition(g, n, u);
    gp_set_targets(g, y);
    double refit = bench_cpu_s() - t;
    acquisition a = {ACQUISITION_LCB, 1.0, 0.0};
    acquisition_search search = {512, 10, 200, u, (n + 19) / 20, u, n, 1e-3};
    double *point = malloc(d * sizeof(double));
    t = bench_cpu_s();
    acquisition_minimise(g, &a, &search, &rng, NULL, NULL, point);
    double search_time = bench_cpu_s() - t;
    printf("%-14s n %4zu d %2zu  objective+gradient %7.2f ms  first fit %6.3f s  refit %6.3f s  acquisition "
           "%6.3f s\n",
           name, n, d, 1e3 * best, first, refit, search_time);
    free(point);
    free(theta);
    free(u);
    free(y);
    gp_destroy(g);
}

static void silent(const ds_host *host, uint32_t level, const char *line)
{
    (void)host, (void)level, (void)line;
}

static uint32_t never(const ds_host *host)
{
    (void)host;
    return 0;
}

/* A model with the options that bo has by default, but for n_max, filled to n points: a proposal with a
 * fit (a tenth of the data is new) and one without (one point is new), and the largest memory of the
 * process so far. */
static void bench_trial(size_t n, size_t d)
{
    static const surrogate_options usual = {.model = {GP_SE, GP_PRIOR_2024, 0.0},
                                            .alpha = 1.0,
                                            .raw = 512,
                                            .starts = 10,
                                            .around_best = 1,
                                            .fit_max = 500,
                                            .n_max = 4000};
    ds_host host = {.struct_size = sizeof(host), .seed = 1, .log = silent, .should_stop = never};
    ds_problem problem = {.struct_size = sizeof(problem), .n = d, .loss_floor = -INFINITY};
    double *v = malloc(n * d * sizeof(double)), *y = malloc(n * sizeof(double)),
           *point = malloc(d * sizeof(double));
    surrogate *s = surrogate_create(&host, &problem, &usual);
    make_data(n, d, v, y);
    for (size_t i = 0; i < n * d; i++) {
        v[i] = 2.0 * v[i] - 1.0;
    }
    size_t first = n * 9 / 10, second = n - 1;
    surrogate_add(s, first, v, y, 0);
    surrogate_propose(s, 1, point);
    surrogate_add(s, second - first, v + first * d, y + first, 0);
    double t = bench_cpu_s();
    surrogate_propose(s, 2, point);
    double with_fit = bench_cpu_s() - t;
    surrogate_add(s, 1, v + second * d, y + second, 0);
    t = bench_cpu_s();
    surrogate_propose(s, 3, point);
    double without = bench_cpu_s() - t;
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("trial          n %4zu d %3zu  with a fit %6.3f s  without %6.3f s  memory at most %.0f MB\n", n,
           d, with_fit, without, (double)usage.ru_maxrss / 1024.0);
    surrogate_destroy(s);
    free(v);
    free(y);
    free(point);
}

int main(void)
{
    static const gp_model se = {GP_SE, GP_PRIOR_2024, 0.0}, matern = {GP_MATERN52, GP_PRIOR_2022, 0.0};
    static const size_t sizes[] = {200, 500, 1000, 2000, 4000};
    openblas_set_num_threads(1);
    bench_trial(1000, 200);
    bench_trial(1000, 400);
    for (int i = 0; i < 5; i++) {
        bench_trial(sizes[i], 30);
    }
    bench("se 2024", &se, 200, 15, 50);
    bench("matern52 2022", &matern, 200, 15, 50);
    bench("se 2024", &se, 500, 15, 20);
    bench("se 2024", &se, 1000, 30, 10);
    bench("matern52 2022", &matern, 1000, 30, 10);
    bench("se 2024", &se, 2000, 30, 3);
    return 0;
}
