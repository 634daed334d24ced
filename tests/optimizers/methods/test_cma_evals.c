/* SPDX-License-Identifier: Apache-2.0 */
/* test_cma_evals.c - evaluations that CMA-ES needs to reach 1e-8, against pycma and the library cmaes.
 * Compiled twice: the quick subset of `make check`, and with SLOW all functions and dimensions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <math.h>

#include "cma_cases.h"

#include "golden.h"

#ifdef SLOW
enum { SLOW_RUN = 1 };
#else
enum { SLOW_RUN = 0 };
#endif

/* Medians of pycma 4.4.0 from x = 1 (Rosenbrock 0), sigma 0.5, no bounds: with and
 * without negative weights. */
static const struct reference {
    cma_function *f;
    const char *name;
    uint64_t n;
    double active, positive;
} references[] = {
    {cma_sphere, "sphere", 5, 624, 658},
    {cma_sphere, "sphere", 10, 1320, 1298},
    {cma_sphere, "sphere", 20, 2491, 2470},
    {cma_sphere, "sphere", 40, 4800, 4746},
    {cma_ellipsoid, "ellipsoid", 5, 1432, 1931},
    {cma_ellipsoid, "ellipsoid", 10, 3990, 5531},
    {cma_ellipsoid, "ellipsoid", 20, 12780, 17661},
    {cma_ellipsoid, "ellipsoid", 40, 48212, 65668},
    {cma_rosenbrock, "rosenbrock", 5, 1599, 1911},
    {cma_rosenbrock, "rosenbrock", 10, 5012, 5932},
    {cma_rosenbrock, "rosenbrock", 20, 16295, 20101},
    {cma_rosenbrock, "rosenbrock", 40, 61633, 76916},
    {cma_cigar, "cigar", 5, 1599, 1964},
    {cma_cigar, "cigar", 10, 3863, 3943},
    {cma_cigar, "cigar", 20, 7860, 7957},
    {cma_tablet, "tablet", 5, 1198, 2046},
    {cma_tablet, "tablet", 10, 2904, 5204},
    {cma_tablet, "tablet", 20, 7342, 14218},
};

enum { RUNS = 11 };

static int median_is_near(const struct reference *r, int active)
{
    double m[40], counts[RUNS], want = active ? r->active : r->positive;
    uint64_t hits = 0;
    cma_options options = {.n = r->n, .active = active, .eigen_share = 0.05};
    for (uint64_t i = 0; i < r->n; i++) {
        m[i] = r->f == cma_rosenbrock ? 0 : 1;
    }
    for (uint64_t seed = 1; seed <= RUNS; seed++) {
        cma_outcome out = cma_minimise(&options, r->f, m, 0.5, 1e-8, 400000, seed);
        if (out.hit) {
            counts[hits++] = (double)out.evaluations;
        }
    }
    double median = hits ? cma_median(counts, hits) : 0;
    int good = fabs(median / want - 1) <= 0.1 && hits >= (r->f == cma_rosenbrock ? RUNS - 3 : RUNS);
    print_message("# %-10s n %2d %s median %6.0f, reference %6.0f (%+.1f %%), %d of %d\n", r->name, (int)r->n,
                  active ? "active  " : "positive", median, want, 100 * (median / want - 1), (int)hits, RUNS);
    return good;
}

static void test_medians(void **state)
{
    (void)state;
    int bad = 0;
    for (size_t i = 0; i < sizeof references / sizeof *references; i++) {
        const struct reference *r = &references[i];
        int quick = r->n <= 10 && (r->f == cma_sphere || r->f == cma_ellipsoid);
        if (SLOW_RUN || quick) {
            bad += !median_is_near(r, 1);
            bad += SLOW_RUN && !median_is_near(r, 0);
        }
    }
    assert_int_equal(bad, 0);
}

/* ---- 51 runs each, recorded ---- */

static cma_function *find(const char *name)
{
    static const struct {
        const char *name;
        cma_function *f;
    } list[] = {{"sphere", cma_sphere},
                {"ellipsoid", cma_ellipsoid},
                {"rosenbrock", cma_rosenbrock},
                {"rastrigin", cma_rastrigin},
                {"rastrigin_5v", cma_rastrigin5}};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        if (strcmp(list[i].name, name) == 0) {
            return list[i].f;
        }
    }
    fail_msg("unknown function %s", name);
    return NULL;
}

static double failed_median(const json_t *result)
{
    return golden_number(json_object_get(result, "failed_best_f"), "median");
}

/* As many runs as recorded; the median of the successful ones, and how many succeed. */
static int result_agrees(const json_t *result)
{
    const char *name = json_string_value(json_object_get(result, "function"));
    const char *library = json_string_value(json_object_get(result, "library"));
    uint64_t n = (uint64_t)golden_number(result, "n"), runs = (uint64_t)golden_number(result, "runs"),
             hits = 0, failed = 0;
    double counts[64], best[64], m[64];
    cma_options options = {.n = n,
                           .lambda = (uint64_t)golden_number(result, "population"),
                           .active = 1,
                           .eigen_share = 0.05,
                           .profile = strcmp(library, "cmaes") == 0 ? CMA_PAPER : CMA_TUTORIAL};
    assert_true(runs <= 64 && n <= 64);
    for (uint64_t seed = 1; seed <= runs; seed++) {
        ds_random random = ds_random_open(seed, "init", 0);
        for (uint64_t i = 0; i < n; i++) {
            m[i] = 2 * ds_random_uniform(&random) - 1;
        }
        cma_outcome out = cma_minimise(&options, find(name), m, 0.3, 1e-8, 400000, seed);
        if (out.hit) {
            counts[hits++] = (double)out.evaluations;
        } else {
            best[failed++] = out.best;
        }
    }
    double successes = golden_number(result, "successes"), want = golden_number(result, "p50");
    double median = hits ? cma_median(counts, hits) : 0, left = failed ? cma_median(best, failed) : 0;
    double limit = strcmp(name, "rosenbrock") == 0 ? 0.08 : 0.05;
    int good;
    if (strcmp(name, "rastrigin_5v") ==
        0) { /* three standard deviations of the difference of two binomials */
        double p = (successes + (double)hits) / (2 * (double)runs);
        good = fabs(successes - (double)hits) <= fmax(2, 3 * sqrt(2 * (double)runs * p * (1 - p)));
    } else if (successes == 0) {
        double ratio = left / failed_median(result);
        good = hits == 0 && ratio > 1 / 1.5 && ratio < 1.5;
    } else {
        good = fabs(median / want - 1) <= limit && fabs(successes - (double)hits) <= 0.15 * (double)runs;
    }
    print_message("# %-12s n %2d population %3d %-6s median %6.0f (recorded %6.0f, %+.1f %%), %d of %d (%d), "
                  "failed best %.3g (%.3g)%s\n",
                  name, (int)n, (int)options.lambda, library, median, want,
                  want > 0 ? 100 * (median / want - 1) : 0, (int)hits, (int)runs, (int)successes, left,
                  failed ? failed_median(result) : 0, good ? "" : " <- too far");
    return good;
}

static void test_recorded(void **state)
{
    (void)state;
    json_t *root = golden_or_skip("optimizers/cma_evals.json"), *result;
    size_t i, compared = 0;
    int bad = 0;
    json_array_foreach(golden_list(root, "results"), i, result)
    {
        const char *name = json_string_value(json_object_get(result, "function"));
        int quick = golden_number(result, "n") == 10 &&
                    (strcmp(name, "sphere") == 0 || strcmp(name, "ellipsoid") == 0);
        if (SLOW_RUN || quick) {
            bad += !result_agrees(result);
            compared++;
        }
    }
    json_decref(root);
    assert_int_equal(bad, 0);
    assert_true(compared > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_medians), cmocka_unit_test(test_recorded)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
