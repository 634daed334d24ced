/* SPDX-License-Identifier: Apache-2.0 */
/* test_racer.c - the optimizer racer as a plugin: the cases of every optimizer, its start, its batches, its
 * polish, its ablations, and that it gets where others do not. */
#include "functions.h"
#include "objective.h"
#include "optimizer_cases.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void test_every_case(void **state)
{
    (void)state;
    optimizer_stands("racer", "raw=32 starts=2", 203, 1, 1);
    optimizer_stands("racer", "raw=32 starts=2 lanes=1 polish=0", 203, 1, 0);
    optimizer_stands("racer", "model=false lanes=7 racing=false", 203, 1, 1);
    optimizer_stands("racer", "raw=32 starts=2 trust=false use_x0=false keep=1.5 first=1", 203, 1, 1);
    optimizer_stands("racer", "raw=32 starts=2 polish_lanes=3", 203, 1, 1);
    optimizer_stands("racer", "raw=32 starts=2 polish_lanes=9 lanes=2 polish=0.9", 203, 1, 1);
    optimizer_stands("racer", "raw=32 starts=2 good=0 noisy=0 blind=0 anywhere=0", 203, 1, 1); /* all doubt */
    optimizer_stands("racer", "model=false good=1 noisy=1 blind=1", 203, 1, 1);                /* none */
}

/* The given start comes first, as many points as there are lanes are asked for at once, and the polish has
 * its share. */
static void test_structure(void **state)
{
    (void)state;
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
    assert_true(fake_count(&r, "sample") > 0 && r.best < 3.0);
    fake_free(&r);
    r = fake_run("racer", "good=0.5 noisy=0.3", &p, 3);
    assert_int_equal(r.create_status, DS_E_PARAM);
    assert_non_null(strstr(r.error, "ascending order"));
    fake_free(&r);
}

/* Each of its parts can be taken away, and changes the search. */
static void test_ablations(void **state)
{
    (void)state;
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

/* With polish_lanes the search is the same until the polish, which then asks for as many points at once as
 * there are lanes, and comes about as far; without gradients, too. */
static void test_polish_lanes(void **state)
{
    (void)state;
    for (int blind = 0; blind < 2; blind++) {
        fake_problem p = optimizer_box(6, -2, 2, ripples, 600);
        double alone = 0.0, together = 0.0;
        uint64_t calls = 0, fewer = 0;
        p.no_gradient = blind;
        for (uint64_t seed = 0; seed < 5; seed++) {
            fake_result a = fake_run("racer", "raw=32 starts=2 lanes=8 polish=0.6", &p, seed);
            fake_result b = fake_run("racer", "raw=32 starts=2 lanes=8 polish=0.6 polish_lanes=8", &p, seed);
            optimizer_assert_sound(&b, 600);
            uint64_t first = 0;
            while (first < 600 && strcmp(b.rows[first].tag, "refine") != 0) {
                first++;
            }
            assert_true(first >= 240 && first < 320);
            assert_memory_equal(a.x, b.x, first * 6 * sizeof(double));
            alone += a.best / 5.0;
            together += b.best / 5.0;
            calls += a.calls;
            fewer += b.calls;
            fake_free(&a);
            fake_free(&b);
        }
        print_message("# polish %s gradients: alone %.3g, %g calls; in step %.3g, %g calls\n",
                      blind ? "without" : "with", alone, (double)calls / 5.0, together, (double)fewer / 5.0);
        assert_true(fewer < calls && together < 1.5 * alone + 0.05);
    }
}

/* Functions with a known optimum: smooth, rippled, blind. */
static void test_reaches(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        fake_function f;
        uint64_t runs;     /* of 500 evaluations */
        double goal, lead; /* mean loss, and at most this share of boleap's */
    } cases[] = {{"valley", rosenbrock, 5, 1e-12, 1e-6},
                 /* half of the runs find the lowest ripple, half one beside it: five say little */
                 {"ripples", ripples, 60, 0.5, 0.5},
                 {"stairs", stairs, 5, 0.3, 0.5}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fake_problem p = optimizer_box(10, -2, 2, cases[i].f, 500);
        double ours = 0.0, theirs = 0.0;
        for (uint64_t seed = 0; seed < cases[i].runs; seed++) {
            fake_result a = fake_run("racer", "raw=64 starts=2 use_x0=false", &p, seed);
            fake_result b = fake_run("boleap", "raw=64 starts=2", &p, seed);
            ours += a.best / (double)cases[i].runs;
            theirs += b.best / (double)cases[i].runs;
            fake_free(&a);
            fake_free(&b);
        }
        print_message("# %s: racer %.3g, boleap %.3g\n", cases[i].name, ours, theirs);
        assert_true(ours < cases[i].goal && ours < cases[i].lead * theirs);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_case), cmocka_unit_test(test_structure),
        cmocka_unit_test(test_ablations),  cmocka_unit_test(test_polish_lanes),
        cmocka_unit_test(test_reaches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
