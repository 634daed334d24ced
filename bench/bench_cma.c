/* SPDX-License-Identifier: Apache-2.0 */
/* bench_cma.c - processor time of CMA-ES per evaluation, objective excluded: sampling, update and
 * decomposition at d = 10, 40, 200. Prints one JSON object per line. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>

#include "bench/bench.h"
#include "methods/cma/cma.h"

static double now_us(void)
{
    return 1e6 * bench_cpu_s();
}

/* Microseconds spent in sampling and updating over `generations`, on a sphere. */
static double time_generations(cma *c, double *x, double *f, ds_random *random, int generations)
{
    uint64_t n = c->k.n;
    double spent = 0;
    for (int g = 0; g < generations; g++) {
        double start = now_us();
        if (cma_sample(c, random, x) != 0) {
            exit(1);
        }
        spent += now_us() - start;
        for (uint64_t k = 0; k < c->k.lambda; k++) {
            f[k] = 0;
            for (uint64_t i = 0; i < n; i++) {
                f[k] += x[k * n + i] * x[k * n + i];
            }
        }
        start = now_us();
        cma_update(c, x, f, NULL);
        spent += now_us() - start;
    }
    return spent;
}

static void bench(uint64_t n, int profile, int diagonal, int generations)
{
    cma_options options = {
        .n = n, .profile = profile, .active = 1, .diagonal = diagonal, .eigen_share = 0.05};
    cma *c = cma_new(&options);
    double *m = calloc(n, sizeof(double));
    double *x = c ? malloc(c->k.lambda * n * sizeof(double)) : NULL;
    double *f = c ? malloc(c->k.lambda * sizeof(double)) : NULL;
    if (!m || !x || !f) {
        exit(1);
    }
    for (uint64_t i = 0; i < n; i++) {
        m[i] = 1;
    }
    double best = 1e300;
    ds_random random = ds_random_open(1, "bench", 0);
    for (int repeat = 0; repeat < 3; repeat++) {
        cma_start(c, m, 0.5);
        double us =
            time_generations(c, x, f, &random, generations) / (double)generations / (double)c->k.lambda;
        best = us < best ? us : best;
    }
    printf("{\"bench\": \"cma\", \"d\": %d, \"profile\": \"%s\", \"covariance\": \"%s\", \"lambda\": %d, "
           "\"us_per_evaluation\": %.3f}\n",
           (int)n, profile == CMA_PAPER ? "paper" : "tutorial", diagonal ? "diagonal" : "full",
           (int)c->k.lambda, best);
    free(m);
    free(x);
    free(f);
    cma_free(c);
}

int main(void)
{
    static const uint64_t dims[] = {10, 40, 200};
    static const int generations[] = {4000, 1000, 400};
    for (int i = 0; i < 3; i++) {
        bench(dims[i], CMA_TUTORIAL, 0, generations[i]);
        bench(dims[i], CMA_PAPER, 0, generations[i]);
        bench(dims[i], CMA_TUTORIAL, 1, generations[i]);
    }
    return 0;
}
