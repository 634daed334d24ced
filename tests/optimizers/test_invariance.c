/* SPDX-License-Identifier: Apache-2.0 */
/* test_invariance.c - what holds for every optimizer: a start that is given is evaluated first, exactly; the unit
 * and the zero of the loss change nothing; sizes that no memory holds are refused. */
#include "optimizer_cases.h"

#include "functions.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { N = 4, M = 6, BUDGET = 120 };

typedef struct method {
    const char *plugin, *parameters;
    int budget; /* 0 = BUDGET */
} method;

/* All that optimize a function, with the modes in which losses or gradients are used differently. */
static const method methods[] = {
    {"adam", "", 0},
    {"adam", "rule=sgd", 0},
    {"adam", "rule=momentum", 0},
    {"adam", "rule=nesterov", 0},
    {"adam", "rule=normalized", 0},
    {"adam", "schedule=halve smooth=true j=40 patience=3 arms=2", 0},
    {"alphaorder", "", 0},
    {"alphaorder", "order=first baseline=none", 0},
    {"alphaorder", "order=zeroth baseline=mean antithetic=false", 0},
    {"alphaorder", "step=sgd", 0},
    {"alphaorder", "step=armijo shared=false", 0},
    {"bo", "raw=64 starts=2", 0},
    {"bo", "raw=64 starts=2 j=1 acquisition=ei kernel=matern52", 40},
    {"bo", "raw=64 starts=2 j=5 acquisition=logei gp=2022 polish=0.3", 60},
    {"bo", "raw=64 starts=2 j=1 n_init=10 warp=log", 40},
    {"boleap", "raw=64 starts=2", 0},
    {"boleap", "raw=64 starts=2 k=0 n_init=5 resume=true leaps=2 polish=0.2", 0},
    {"boleap", "raw=64 starts=2 resume=true sample_gradients=true step=armijo", 0},
    {"cem", "samples=20 elite=5", 0},
    {"cem", "samples=20 elite=5 start=random polish=0.5", 0},
    {"cmaes", "", 0},
    {"cmaes", "profile=paper lambda=8", 0},
    {"cmaes", "profile=c-cmaes bounds=penalty", 0},
    {"cmaes", "model=quad covariance=full", 400},
    {"lbfgsb", "", 0},
    {"lbfgsb", "patience=3 arms=2", 0},
    {"leaprefine", "raw=64 starts=2", 0},
    {"leaprefine", "raw=64 starts=2 first=false refine=0.6", 0},
    {"lm", "", 0},
    {"lm", "residuals=scalar bounds=damp", 0},
    {"nlopt", "", 0},
    {"nlopt", "algorithm=gn_direct", 0},
    {"nlopt", "algorithm=gn_direct_l_rand", 0},
    {"nlopt", "algorithm=gn_orig_direct_l", 0},
    {"nlopt", "algorithm=gn_crs2_lm", 0},
    {"nlopt", "algorithm=gn_isres", 0},
    {"nlopt", "algorithm=gn_esch", 0},
    {"nlopt", "algorithm=gd_mlsl_lds", 0},
    {"nlopt", "algorithm=ld_lbfgs", 0},
    {"nlopt", "algorithm=ld_var2", 0},
    {"nlopt", "algorithm=ld_tnewton_precond_restart", 0},
    {"nlopt", "algorithm=ld_mma", 0},
    {"nlopt", "algorithm=ld_ccsaq", 0},
    {"nlopt", "algorithm=ld_slsqp", 0},
    {"nlopt", "algorithm=auglag", 0},
    {"nlopt", "algorithm=ln_praxis", 0},
    {"nlopt", "algorithm=ln_cobyla", 0},
    {"nlopt", "algorithm=ln_newuoa_bound", 0},
    {"nlopt", "algorithm=ln_bobyqa", 0},
    {"nlopt", "algorithm=ln_neldermead", 0},
    {"nlopt", "algorithm=ln_sbplx", 0},
    {"pbh", "workers=3", 0},
    {"pbh", "workers=3 residuals=scalar", 0},
    {"pbh", "workers=3 local=lbfgsb", 0},
    {"pbh", "workers=3 local=adam", 0},
    {"racer", "raw=64 starts=2", 200},
    {"racer", "raw=64 starts=2 lanes=2 polish_lanes=2 model=false good=0 noisy=0.01 blind=0.02", 200},
    {"rand", "", 0},
    {"rand", "sequence=sobol", 0},
    {"randdescents", "", 0},
    {"randdescents", "step=gd", 0},
    {"randdescents", "step=nsgd", 0},
    {"randdescents", "step=momentum", 0},
    {"randdescents", "step=armijo", 0},
    {"randdescents", "step=lbfgsb", 0},
    {"turbo", "candidates=200", 60},
    {"turbo", "candidates=200 j=3 batch=2", 60},
};
enum { METHODS = sizeof methods / sizeof *methods };

/* What learns from steps; tests/cli/methods/rl_unit.sh has its cases. */
static const char *const stepwise[] = {"apg", "ppo", "sac", "shac"};

/* ---- the problem: unit |r(x)|^2 + offset, a valley with ripples ---- */

typedef struct scaled {
    double unit, offset;
    int squares; /* residuals are offered: offset is 0 */
} scaled;

static void residuals(void *ctx, size_t n, const double *x, double *r, double *jacobian)
{
    const double root = sqrt(((const scaled *)ctx)->unit);
    if (jacobian) {
        memset(jacobian, 0, M * n * sizeof(double));
    }
    for (size_t i = 0; i < M; i++) {
        const size_t a = i % n, b = (i + 1) % n;
        const double slope = 0.3 + 0.2 * (double)i;
        r[i] = root * (x[a] - 0.3 + slope * (x[b] + 0.2) * (x[b] + 0.2) + 0.1 * sin(5.0 * x[a]));
        if (jacobian) {
            jacobian[i * n + a] += root * (1.0 + 0.5 * cos(5.0 * x[a]));
            jacobian[i * n + b] += root * 2.0 * slope * (x[b] + 0.2);
        }
    }
}

static double loss_of(void *ctx, size_t n, const double *x, double *g)
{
    const scaled *s = ctx;
    scaled one = {1.0, 0.0, 0};
    double r[M], j[M * N], sum = 0.0;
    residuals(&one, n, x, r, j);
    for (size_t i = 0; i < M; i++) {
        sum += r[i] * r[i];
    }
    for (size_t k = 0; g && k < n; k++) {
        g[k] = 0.0;
        for (size_t i = 0; i < M; i++) {
            g[k] += 2.0 * r[i] * j[i * n + k];
        }
        g[k] *= s->unit;
    }
    return s->unit * sum + s->offset;
}

static fake_problem problem_of(const method *m, scaled *s)
{
    fake_problem p = optimizer_box(N, -2, 3, loss_of, (uint64_t)(m->budget > 0 ? m->budget : BUDGET));
    p.ctx = s;
    p.loss_floor = s->offset;
    if (s->squares) {
        p.m = M;
        p.squares = residuals;
    }
    return p;
}

static int uses_residuals(const method *m)
{
    return strcmp(m->plugin, "lm") == 0 || strcmp(m->plugin, "pbh") == 0;
}

/* ---- starts ---- */

static void test_start_is_evaluated_first(void **state)
{
    static const double x0[N] = {0.1234567890123456, -1.7, 2.9999999999999996, -2};
    (void)state;
    for (size_t k = 0; k < METHODS; k++) {
        for (int kind = 0; kind < 3; kind++) { /* x0; use_x0; x0 without gradients */
            scaled s = {1.0, 0.0, uses_residuals(&methods[k])};
            fake_problem p = problem_of(&methods[k], &s);
            char parameters[256];
            double middle[N] = {0.5, 0.5, 0.5, 0.5};
            p.budget = 24;
            p.no_gradient = kind == 2;
            snprintf(parameters, sizeof parameters, "%s %s", methods[k].parameters,
                     kind == 1 ? "use_x0=true" : "x0=0.1234567890123456,-1.7,2.9999999999999996,-2");
            fake_result r = fake_run(methods[k].plugin, parameters, &p, 5);
            if (kind == 2 && r.create_status == DS_E_UNSUPPORTED) {
                fake_free(&r);
                continue;
            }
            assert_int_equal(r.create_status, DS_OK);
            assert_int_equal(r.violations, 0);
            if (r.evaluations == 0 || memcmp(r.x, kind == 1 ? middle : x0, sizeof x0) != 0) {
                fail_msg("%s %s: begins at %.17g %.17g %.17g %.17g", methods[k].plugin, parameters, r.x[0],
                         r.x[1], r.x[2], r.x[3]);
            }
            fake_free(&r);
        }
    }
}

static void test_bad_starts_are_refused(void **state)
{
    static const struct {
        const char *x0, *word;
    } bad[] = {{"x0=1,2", "has 2 values"}, {"x0=0,0,0,9", "variable 3 is outside its bounds"}};
    (void)state;
    for (size_t k = 0; k < METHODS; k++) {
        for (size_t i = 0; i < 2; i++) {
            scaled s = {1.0, 0.0, 0};
            fake_problem p = problem_of(&methods[k], &s);
            fake_result r = fake_run(methods[k].plugin, bad[i].x0, &p, 5);
            assert_int_equal(r.create_status, DS_E_PARAM);
            assert_non_null(strstr(r.error, bad[i].word));
            fake_free(&r);
        }
    }
}

/* ---- every optimizer is here ---- */

static int is_known(const char *id)
{
    for (size_t k = 0; k < METHODS; k++) {
        if (strcmp(methods[k].plugin, id) == 0) {
            return 1;
        }
    }
    for (size_t k = 0; k < sizeof stepwise / sizeof *stepwise; k++) {
        if (strcmp(stepwise[k], id) == 0) {
            return 1;
        }
    }
    return 0;
}

static void test_every_optimizer_is_tested(void **state)
{
    const char *top = getenv("DS_TOP_BUILD");
    char path[4096];
    size_t found = 0;
    (void)state;
    snprintf(path, sizeof path, "%s/plugins/optimizers", top ? top : ".");
    DIR *folder = opendir(path);
    assert_non_null(folder);
    for (const struct dirent *e; (e = readdir(folder)) != NULL;) {
        const char *end = strstr(e->d_name, ".la");
        if (end && end[3] == '\0') {
            snprintf(path, sizeof path, "%.*s", (int)(end - e->d_name), e->d_name);
            found++;
            if (!is_known(path)) {
                fail_msg("%s is not among the methods of this test", path);
            }
        }
    }
    closedir(folder);
    assert_true(found >= 18);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_start_is_evaluated_first),
        cmocka_unit_test(test_bad_starts_are_refused),
        cmocka_unit_test(test_every_optimizer_is_tested),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
