/* SPDX-License-Identifier: Apache-2.0 */
/* test_nlopt.c - every algorithm of the optimizer nlopt: the cases of every optimizer, its gradient, its
 * errors, and its results. */
#include "functions.h"
#include "objective.h"
#include "test.h"

/* Name, and the largest loss allowed on a sphere of 3 variables after 600 evaluations. */
static const struct {
    const char *parameters;
    double reached;
} cases[] = {
    {"", 1e-12},
    {"algorithm=gn_direct_l_rand", 1e-2},
    {"algorithm=gn_direct_l_rand_noscal", 1e-2},
    {"algorithm=ld_lbfgs", 1e-12},
    {"algorithm=ln_praxis", 1e-6},
    {"algorithm=ld_var1", 1e-12},
    {"algorithm=ld_var2", 1e-12},
    {"algorithm=ld_tnewton", 1e-12},
    {"algorithm=ld_tnewton_restart", 1e-12},
    {"algorithm=ld_tnewton_precond", 1e-12},
    {"algorithm=ld_tnewton_precond_restart", 1e-12},
    {"algorithm=gn_crs2_lm", 1e-2},
    {"algorithm=gn_mlsl", 1e-6},
    {"algorithm=gd_mlsl", 1e-6},
    {"algorithm=gn_mlsl_lds", 1e-6},
    {"algorithm=gd_mlsl_lds", 1e-6},
    {"algorithm=ld_mma", 1e-6},
    {"algorithm=ln_cobyla", 1e-6},
    {"algorithm=ln_newuoa", 1e-12},
    {"algorithm=ln_neldermead", 1e-6},
    {"algorithm=ln_sbplx", 1e-6},
    {"algorithm=ln_auglag", 1e-6},
    {"algorithm=ld_auglag", 1e-6},
    {"algorithm=ln_auglag_eq", 1e-6},
    {"algorithm=ld_auglag_eq", 1e-6},
    {"algorithm=ln_bobyqa", 1e-12},
    {"algorithm=gn_isres", 0.3},
    {"algorithm=auglag local=ld_var2", 1e-12},
    {"algorithm=auglag_eq", 1e-6},
    {"algorithm=g_mlsl local=ld_mma", 1e-6},
    {"algorithm=g_mlsl_lds", 1e-6},
    {"algorithm=ld_slsqp", 1e-12},
    {"algorithm=ld_ccsaq", 1e-6},
    {"algorithm=gn_esch", 0.3},
};

/* ln_newuoa_bound is not run: its inner search may take minutes. These use neither random numbers nor the
 * start, and may end before the budget is spent. The last three exist only in an NLopt built with C++
 * (gd_stogo_rand does use random numbers). */
static const char *const fixed[] = {"gn_direct",          "gn_direct_l",    "gn_direct_noscal",
                                    "gn_direct_l_noscal", "gn_orig_direct", "gn_orig_direct_l",
                                    "gd_stogo",           "gn_ags",         "gd_stogo_rand"};

static double centre[3] = {0.31, -0.47, 0.12};

static void test_every_case(void **state)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        optimizer_stands("nlopt", cases[i].parameters, 120, 2, 0);
    }
}

static void test_reaches(void **state)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        fake_problem p = optimizer_box(3, -1, 2, sphere, 600);
        p.ctx = centre;
        fake_result r = fake_run("nlopt", cases[i].parameters, &p, 1);
        optimizer_assert_sound(&r, 600);
        print_message("# %-40s %.2e, %d searches\n", cases[i].parameters, r.best, (int)fake_groups(&r));
        assert_true(r.best <= cases[i].reached);
        fake_free(&r);
    }
}

static void test_fixed_algorithms(void **state)
{
    for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++) {
        char text[80];
        snprintf(text, sizeof(text), "algorithm=%s", fixed[i]);
        fake_problem p = optimizer_box(3, -1, 2, sphere, 600);
        p.ctx = centre;
        fake_result r[3];
        for (uint64_t seed = 0; seed < 2; seed++) {
            r[seed] = fake_run("nlopt", text, &p, strcmp(fixed[i], "gd_stogo_rand") == 0 ? 0 : seed);
            assert_int_equal(r[seed].violations, 0);
            if (i >= 6 && r[seed].status == DS_E_UNSUPPORTED) {
                assert_non_null(strstr(r[seed].error, "NLopt does not run"));
                continue;
            }
            assert_true(r[seed].status == DS_STOPPED || r[seed].status == DS_OK);
            assert_true(r[seed].evaluations == 600 || r[seed].status == DS_OK);
        }
        if (r[0].evaluations == 0) {
            print_message("# %-40s is not in this NLopt\n", fixed[i]);
            fake_free(&r[0]);
            fake_free(&r[1]);
            continue;
        }
        optimizer_assert_same(&r[0], &r[1], 3);
        print_message("# %-40s %.2e after %d\n", fixed[i], r[0].best, (int)r[0].evaluations);
        assert_true(r[0].best < 1e-2);
        for (int failing = 0; failing < 2; failing++) {
            p.failure_rate = failing ? 1.0 : 0.2;
            r[2] = fake_run("nlopt", text, &p, 3);
            assert_int_equal(r[2].violations, 0);
            assert_true(r[2].evaluations <= 600);
            assert_true(failing || isfinite(r[2].best));
            fake_free(&r[2]);
        }
        fake_free(&r[0]);
        fake_free(&r[1]);
    }
}

static void test_errors(void **state)
{
    static const struct {
        const char *parameters;
        ds_status create, run;
        size_t n;
    } wrong[] = {
        {"algorithm=ld_mma", DS_E_UNSUPPORTED, DS_OK, 3},
        {"algorithm=g_mlsl local=ld_mma", DS_E_UNSUPPORTED, DS_OK, 3},
        {"algorithm=auglag local=gn_esch", DS_E_PARAM, DS_OK, 3},
        {"algorithm=ln_newuoa", DS_OK, DS_E_UNSUPPORTED, 1},
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        fake_problem p = optimizer_box(wrong[i].n, -1, 2, sphere, 50);
        p.no_gradient = 1;
        fake_result r = fake_run("nlopt", wrong[i].parameters, &p, 1);
        assert_int_equal(r.create_status, wrong[i].create);
        assert_int_equal(r.status, wrong[i].run);
        print_message("# %s\n", r.error);
        assert_true(strlen(r.error) > 40);
        fake_free(&r);
    }
}

RUN_TESTS(test_reaches, test_fixed_algorithms, test_errors, test_every_case)
