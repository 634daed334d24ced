/* SPDX-License-Identifier: Apache-2.0 */
/* test_racer.c - the optimizer racer as a plugin: the cases of every optimizer, its start, batches, polish
 * and ablations, and results that others do not reach. */
#include "functions.h"
#include "methods/race/race.h"
#include "objective.h"
#include "sanitizers.h"
#include "test.h"

static void test_every_case(void **state)
{
    optimizer_stands("racer", "raw=32 starts=2", 203, 1, 1);
    optimizer_stands("racer", "raw=32 starts=2 lanes=1 polish=0", 203, 1, 0);
    optimizer_stands("racer", "model=false lanes=7 racing=false", 203, 1, 1);
    optimizer_stands("racer", "raw=32 starts=2 trust=false use_x0=false keep=1.5 first=1", 203, 1, 1);
    optimizer_stands("racer", "raw=32 starts=2 polish_lanes=3", 203, 1, 1);
    optimizer_stands("racer", "raw=32 starts=2 polish_lanes=9 lanes=2 polish=0.9", 203, 1, 1);
    /* no gradient is trusted */
    optimizer_stands("racer", "raw=32 starts=2 good=0 noisy=0 blind=0 anywhere=0", 203, 1, 1);
    /* every gradient is trusted */
    optimizer_stands("racer", "model=false good=1 noisy=1 blind=1", 203, 1, 1);
}

/* The given start comes first, one request has as many points as there are lanes, and the polish gets its
 * share. */
static void test_structure(void **state)
{
    fake_problem p = optimizer_box(6, -1, 1, rosenbrock, 400);
    fake_result r = fake_run("racer", "raw=64 starts=2 lanes=5", &p, 3);
    optimizer_assert_sound(&r, 400);
    for (int k = 0; k < 6; k++) {
        assert_true(r.x[k] == 0.0); /* the host's x0 here: the middle of the box */
    }
    uint64_t first = 0;
    while (first < 400 && strcmp(r.rows[first].tag, "refine") != 0) {
        first++;
    }
    assert_true(first >= 280 && first < 285);
    assert_true(fake_groups(&r) >= 56); /* rounds of five */
    for (uint64_t i = 0; i < 5; i++) {
        assert_int_equal(r.rows[i].group, 1);
    }
    assert_int_equal(r.rows[5].group, 2);
    fake_free(&r);
    r = fake_run("racer", "raw=64 starts=2 use_x0=false", &p, 3);
    assert_true(r.x[0] != 0.0);
    fake_free(&r);
    p.no_gradient = 1;
    r = fake_run("racer", "raw=64 starts=2", &p, 3);
    optimizer_assert_sound(&r, 400);
    for (uint64_t i = 0; i < 400; i++) {
        assert_int_equal(r.rows[i].want, 0);
    }
    assert_true(fake_count(&r, "sample") > 0);
    fake_free(&r);
    double mean = 0.0;
    for (uint64_t seed = 0; seed < 12; seed++) {
        r = fake_run("racer", "raw=64 starts=2", &p, seed);
        mean += r.best / 12.0;
        fake_free(&r);
    }
    assert_true(mean < 3.6); /* 5 at the start; 1.8 to 5 */
    r = fake_run("racer", "good=0.5 noisy=0.3", &p, 3);
    assert_int_equal(r.create_status, DS_E_PARAM);
    assert_non_null(strstr(r.error, "ascending order"));
    fake_free(&r);
}

static double distance(size_t n, const double *a, const double *b)
{
    double most = 0.0;
    for (size_t k = 0; k < n; k++) {
        most = fmax(most, fabs(a[k] - b[k]));
    }
    return most;
}

/* At the bottom of a basin a search ends: it does not alternate between L-BFGS-B and descents. */
static void test_ends_at_the_bottom(void **state)
{
    fake_problem p = optimizer_box(2, -2, 2, rosenbrock, 400);
    fake_result r = fake_run("racer", "raw=32 starts=2 lanes=1 racing=false polish=0", &p, 1);
    uint64_t most = 0, repeats = 0;
    for (uint64_t i = 0; i < 400; i++) {
        uint64_t same = 0;
        for (uint64_t j = 0; j < 400; j++) {
            same += distance(2, r.x + 2 * i, r.x + 2 * j) == 0.0;
        }
        most = same > most ? same : most;
        repeats += same > 1;
    }
    print_message("# one point %llu times, %llu of 400 repeated\n", (unsigned long long)most,
                  (unsigned long long)repeats);
    assert_true(most <= 40 && repeats < 130); /* several searches end at the optimum; 138 and 204 once */
    fake_free(&r);
}

/* A round of samples does not use the evaluations that are reserved for the refinement. */
static void test_keeps_the_refinement(void **state)
{
    static const struct {
        size_t n;
        uint64_t budget;
        const char *parameters;
    } cases[] = {{2, 60, ""}, {10, 50, ""}, {10, 100, ""}, {30, 90, ""}, {10, 400, "lanes=32 "}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        char parameters[80];
        snprintf(parameters, sizeof parameters, "%sraw=32 starts=2", cases[k].parameters);
        fake_problem p = optimizer_box(cases[k].n, -1, 1, ripples, cases[k].budget);
        p.no_gradient = 1;
        fake_result r = fake_run("racer", parameters, &p, 0);
        optimizer_assert_sound(&r, cases[k].budget);
        print_message("# %zu variables, %llu evaluations, %llu of them refine\n", cases[k].n,
                      (unsigned long long)cases[k].budget, (unsigned long long)fake_count(&r, "refine"));
        const double share = (double)fake_count(&r, "refine") / (double)cases[k].budget;
        assert_true(share >= 0.75 * 0.3 - 0.03 &&
                    share < 0.3 + (double)basin_rows(cases[k].n) / (double)cases[k].budget);
        fake_free(&r);
    }
}

static double flat(void *ctx, size_t n, const double *x, double *g)
{
    for (size_t k = 0; g != NULL && k < n; k++) {
        g[k] = 0.0;
    }
    return 1.0;
}

/* On a plateau it compares single points, and samples around only half of them. */
static void test_plateau(void **state)
{
    fake_problem p = optimizer_box(5, -1, 1, flat, 600);
    fake_result r = fake_run("racer", "raw=32 starts=2 polish=0", &p, 0);
    const uint64_t starts = fake_count(&r, "descent");
    print_message("# %llu starts, %llu samples\n", (unsigned long long)starts,
                  (unsigned long long)fake_count(&r, "sample"));
    /* A search that samples continues for seven generations of eight points without gain. */
    assert_true(starts >= 18 && fake_count(&r, "sample") > 300);
    fake_free(&r);
}

/* Each of its parts can be switched off, which changes the search. */
static void test_ablations(void **state)
{
    static const char *const without[] = {"racing=false", "trust=false", "use_x0=false", "polish=0",
                                          "model=false"};
    fake_problem p = optimizer_box(4, -1, 1, ripples, 150);
    fake_result whole = fake_run("racer", "raw=32 starts=2", &p, 1);
    for (size_t i = 0; i < sizeof without / sizeof *without; i++) {
        char parameters[80] = "raw=32 starts=2 ";
        strcat(parameters, without[i]);
        fake_result r = fake_run("racer", parameters, &p, 1);
        optimizer_assert_sound(&r, 150);
        assert_memory_not_equal(r.x, whole.x, 150 * 4 * sizeof(double));
        fake_free(&r);
    }
    fake_free(&whole);
}

/* With polish_lanes the search is the same until the polish, which then requests as many points at once as
 * there are lanes. With gradients the result is as good. Without, generations have few evaluations left per
 * lane: worse than the polish of one point, better than a race without polish. */
static void test_polish_lanes(void **state)
{
    for (int blind = 0; blind < 2; blind++) {
        fake_problem p = optimizer_box(6, -2, 2, ripples, 600);
        double alone = 0.0, together = 0.0, without = 0.0;
        uint64_t calls = 0, fewer = 0;
        p.no_gradient = blind;
        const uint64_t seeds = check_all() ? 20 : 5;
        for (uint64_t seed = 0; seed < seeds; seed++) {
            fake_result a = fake_run("racer", "raw=32 starts=2 lanes=8 polish=0.6", &p, seed);
            fake_result b = fake_run("racer", "raw=32 starts=2 lanes=8 polish=0.6 polish_lanes=8", &p, seed);
            fake_result c = fake_run("racer", "raw=32 starts=2 lanes=8 polish=0", &p, seed);
            optimizer_assert_sound(&b, 600);
            uint64_t first = 0;
            while (first < 600 && strcmp(b.rows[first].tag, "refine") != 0) {
                first++;
            }
            assert_true(first >= 240 && first < 320);
            assert_memory_equal(a.x, b.x, first * 6 * sizeof(double));
            alone += a.best / (double)seeds;
            together += b.best / (double)seeds;
            without += c.best / (double)seeds;
            calls += a.calls;
            fewer += b.calls;
            fake_free(&a);
            fake_free(&b);
            fake_free(&c);
        }
        print_message("# polish %s gradients: alone %.3g, %g calls; in step %.3g, %g calls; none %.3g\n",
                      blind ? "without" : "with", alone, (double)calls / (double)seeds, together,
                      (double)fewer / (double)seeds, without);
        assert_true(fewer < calls && alone < 0.5 * without && together < (blind ? 1.0 : 0.5) * without);
        assert_true(blind || together < 1e-20);
    }
}

/* Functions with a known optimum: smooth, rippled, blind. */
static void test_reaches(void **state)
{
    static const struct {
        const char *name;
        fake_function f;
        uint64_t runs;     /* of 500 evaluations, 3 in a quick test */
        double goal, lead; /* largest mean loss, and largest share of boleap's */
    } cases[] = {{"valley", rosenbrock, 5, 1e-12, 1e-6},
                 {"stairs", stairs, 5, 0.3, 0.5},
                 /* half of the runs find the lowest ripple, half one next to it: five runs are a small sample
                  */
                 {"ripples", ripples, 60, 0.5, 0.5}};
    for (size_t i = 0; i < (check_all() ? 3 : 2); i++) {
        fake_problem p = optimizer_box(10, -2, 2, cases[i].f, 500);
        const uint64_t runs = check_all() ? cases[i].runs : 3;
        double ours = 0.0, theirs = 0.0;
        for (uint64_t seed = 0; seed < runs; seed++) {
            fake_result a = fake_run("racer", "raw=64 starts=2 use_x0=false", &p, seed);
            fake_result b = fake_run("boleap", "raw=64 starts=2", &p, seed);
            ours += a.best / (double)runs;
            theirs += b.best / (double)runs;
            fake_free(&a);
            fake_free(&b);
        }
        print_message("# %s: racer %.3g, boleap %.3g\n", cases[i].name, ours, theirs);
        assert_true(ours < cases[i].goal && ours < cases[i].lead * theirs);
    }
}

RUN_TESTS(test_every_case, test_ends_at_the_bottom, test_keeps_the_refinement, test_plateau, test_structure,
          test_ablations, test_polish_lanes, test_reaches)
