/* SPDX-License-Identifier: Apache-2.0 */
/* test_invariance.c - for every optimizer: a given start is evaluated first and exactly; the unit and the
 * zero of the loss do not matter; problems too large for memory are refused. */
#include "functions.h"
#include "objective.h"
#include "test.h"

#include <dirent.h>

enum { N = 4, M = 6, BUDGET = 120 };

typedef struct method {
    const char *plugin, *parameters;
    int budget;   /* 0 = BUDGET */
    int agreeing; /* see test_units(); 0 = all */
    int floor;    /* uses the floor of the loss where it is known, or residuals */
} method;

#define MODEL "raw=32 starts=1 "

/* All optimizers of functions, with each mode that uses losses or gradients differently. */
static const method methods[] = {
    {"adam", "", 0, 0, 0},
    {"adam", "rule=sgd", 0, 0, 0},
    {"adam", "rule=momentum", 0, 0, 0},
    {"adam", "rule=nesterov", 0, 0, 0},
    {"adam", "rule=normalized", 0, 0, 1},
    {"adam", "schedule=halve smooth=true j=40 patience=3 arms=2", 0, 0, 0},
    {"alphaorder", "", 0, 0, 0},
    {"alphaorder", "order=first baseline=none", 0, 0, 0},
    {"alphaorder", "order=zeroth baseline=mean antithetic=false", 0, 0, 0},
    {"alphaorder", "step=sgd", 0, 0, 0},
    {"alphaorder", "step=armijo shared=false", 0, 0, 0},
    {"alphaorder", "order=sampling step=armijo samples=5", 0, 0, 0},
    {"alphaorder", "order=sampling", 0, 0, 0},
    {"bo", MODEL, 60, 55, 0},
    {"bo", MODEL "j=1 acquisition=ei kernel=matern52", 24, 0, 0},
    {"bo", MODEL "j=5 acquisition=logei gp=2022 polish=0.3", 40, 30, 1},
    {"bo", MODEL "j=1 n_init=10 warp=log", 24, 0, 1},
    {"boleap", MODEL, 60, 0, 0},
    {"boleap", MODEL "k=0 j=8 leap_steps=8 n_init=5 resume=true leaps=2 polish=0.2", 60, 50, 1},
    {"boleap", MODEL "resume=true leap_steps=30 sample_gradients=true step=armijo", 60, 0, 1},
    {"cem", "samples=20 elite=5", 0, 0, 0},
    {"cem", "samples=20 elite=5 start=random polish=0.5", 0, 0, 1},
    {"cmaes", "", 0, 0, 0},
    {"cmaes", "profile=paper lambda=8", 0, 0, 0},
    {"cmaes", "profile=c-cmaes bounds=penalty", 0, 0, 0},
    {"cmaes", "model=quad covariance=full", 400, 0, 0},
    {"ilqr", "", 0, 60, 0},
    {"lbfgsb", "", 0, 0, 0},
    {"lbfgsb", "patience=3 arms=2", 0, 0, 0},
    {"leaprefine", MODEL, 0, 80, 1},
    {"leaprefine", MODEL "first=false refine=0.6", 0, 50, 1},
    {"lm", "", 0, 30, 1},
    {"lm", "residuals=scalar bounds=damp", 0, 30, 1},
    {"mppi", "", 0, 0, 0},
    {"mppi", "samples=8 horizon=2 nominal=true alpha=0.5 correlation=0.5", 0, 0, 0},
    {"nlopt", "", 0, 0, 1},
    {"nlopt", "algorithm=gn_direct", 0, 0, 1},
    {"nlopt", "algorithm=gn_direct_l_rand", 0, 0, 0},
    {"nlopt", "algorithm=gn_orig_direct_l", 0, 0, 0},
    {"nlopt", "algorithm=gn_crs2_lm", 0, 0, 0},
    {"nlopt", "algorithm=gn_isres", 0, 0, 0},
    {"nlopt", "algorithm=gn_esch", 0, 0, 0},
    {"nlopt", "algorithm=gd_mlsl_lds", 0, 0, 1},
    {"nlopt", "algorithm=ld_lbfgs", 0, 0, 1},
    {"nlopt", "algorithm=ld_var2", 0, 0, 0},
    {"nlopt", "algorithm=ld_tnewton_precond_restart", 0, 0, 0},
    {"nlopt", "algorithm=ld_mma", 0, 0, 1},
    {"nlopt", "algorithm=ld_ccsaq", 0, 0, 0},
    {"nlopt", "algorithm=ld_slsqp", 0, 0, 1},
    {"nlopt", "algorithm=auglag", 0, 0, 0},
    {"nlopt", "algorithm=ln_praxis", 0, 50, 0},
    {"nlopt", "algorithm=ln_cobyla", 0, 50, 0},
    {"nlopt", "algorithm=ln_bobyqa", 0, 50, 1},
    {"nlopt", "algorithm=ln_newuoa", 0, 50, 1},
    {"nlopt", "algorithm=ln_newuoa_bound", 8, 8, 1}, /* then its inner search takes minutes */
    {"nlopt", "algorithm=ln_neldermead", 0, 0, 0},
    {"nlopt", "algorithm=ln_sbplx", 0, 0, 0},
    {"pbh", "workers=3", 0, 60, 1},
    {"pbh", "workers=3 residuals=scalar", 0, 60, 1},
    {"pbh", "workers=3 local=lbfgsb", 0, 0, 0},
    {"pbh", "workers=3 local=adam", 0, 0, 0},
    {"racer", MODEL, 0, 80, 1},
    {"racer", "lanes=2 polish_lanes=2 model=false good=0 noisy=0.01 blind=0.02", 200, 120, 1},
    {"rand", "", 0, 0, 0},
    {"rand", "sequence=sobol", 0, 0, 0},
    {"randdescents", "", 0, 0, 0},
    {"randdescents", "step=gd", 0, 0, 0},
    {"randdescents", "step=nsgd", 0, 0, 0},
    {"randdescents", "step=momentum", 0, 0, 0},
    {"randdescents", "step=armijo", 0, 0, 0},
    {"randdescents", "step=lbfgsb", 0, 60, 0},
    {"turbo", "candidates=100", 40, 0, 1},
    {"turbo", "candidates=100 j=3 batch=2", 40, 0, 0},
};
enum { METHODS = sizeof methods / sizeof *methods };

/* Optimizers for stepwise control; tests/cli/methods/units.sh has their cases. */
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
    for (size_t k = 0; k < METHODS; k++) {
        for (int kind = 0; kind < 3; kind++) { /* x0; use_x0; x0 without gradients */
            scaled s = {1.0, 0.0, uses_residuals(&methods[k])};
            fake_problem p = problem_of(&methods[k], &s);
            char parameters[256];
            double middle[N] = {0.5, 0.5, 0.5, 0.5};
            p.budget = p.budget < 12 ? p.budget : 12;
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

/* ---- units ---- */

/* The run of a method on unit * loss + offset. */
static fake_result run_in(const method *m, double unit, double offset, int squares, int knows_floor)
{
    scaled s = {unit, offset, squares};
    fake_problem p = problem_of(m, &s);
    p.loss_floor = knows_floor ? offset : -(double)INFINITY;
    return fake_run(m->plugin, m->parameters, &p, 5);
}

/* The number of leading rows whose points agree to `tolerance`. */
static uint64_t same_rows(const fake_result *a, const fake_result *b, double tolerance)
{
    uint64_t most = a->evaluations < b->evaluations ? a->evaluations : b->evaluations;
    for (uint64_t i = 0; i < most; i++) {
        for (size_t k = 0; k < N; k++) {
            if (!(fabs(a->x[i * N + k] - b->x[i * N + k]) <= tolerance)) {
                return i;
            }
        }
    }
    return most;
}

/* A unit that is a power of two changes no bit. With other units or another zero points differ by rounding,
 * which some methods amplify over time: at least `agreeing` rows agree. */
static void test_units(void **state)
{
    static const struct {
        double unit, offset;
    } cases[] = {{0x1p-40, 0}, {0x1p40, 0}, {1e-12, 0}, {1e12, 0}, {1, -5}, {1e-9, 3e-9}};
    for (size_t k = 0; k < METHODS; k++) {
        const method *m = &methods[k];
        const int has_squares = uses_residuals(m);
        for (int knows_floor = 0; knows_floor < (m->floor ? 2 : 1); knows_floor++) {
            fake_result one = run_in(m, 1.0, 0.0, has_squares && knows_floor, knows_floor);
            assert_int_equal(one.create_status, DS_OK);
            for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                if (has_squares && knows_floor && cases[i].offset != 0) {
                    continue; /* residuals have a fixed zero */
                }
                fake_result r =
                    run_in(m, cases[i].unit, cases[i].offset, has_squares && knows_floor, knows_floor);
                uint64_t rows = i < 2 || m->agreeing == 0 ? one.evaluations : (uint64_t)m->agreeing;
                uint64_t same = same_rows(&one, &r, i < 2 ? 0.0 : 1e-6);
                if (same < rows || (rows == one.evaluations && r.evaluations != rows)) {
                    fail_msg("%s %s, floor %sknown: in units of %g, with %g added, %d rows agree", m->plugin,
                             m->parameters, knows_floor ? "" : "not ", cases[i].unit, cases[i].offset,
                             (int)same);
                }
                fake_free(&r);
            }
            fake_free(&one);
        }
    }
}

/* ---- sizes ---- */

/* A method that would need more memory than there is says at once which setting to use instead; the others
 * accept 6000 variables. */
static void test_sizes(void **state)
{
    static const struct {
        const char *plugin, *parameters;
        int is_refused;
    } cases[] = {{"bo", "", 1},
                 {"boleap", "", 1},
                 {"leaprefine", "", 1},
                 {"turbo", "", 1},
                 {"nlopt", "", 0},
                 {"nlopt", "algorithm=ln_bobyqa", 1},
                 {"nlopt", "algorithm=ld_slsqp", 1},
                 {"nlopt", "algorithm=ld_lbfgs", 0},
                 {"racer", "", 0},
                 {"lm", "", 0},
                 {"pbh", "", 0},
                 {"cmaes", "", 0},
                 {"cem", "", 0},
                 {"lbfgsb", "", 0}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        fake_problem p = optimizer_box(6000, -1, 1, sphere, 12);
        fake_result r = fake_run(cases[k].plugin, cases[k].parameters, &p, 1);
        assert_int_equal(r.create_status, cases[k].is_refused ? DS_E_PARAM : DS_OK);
        if (cases[k].is_refused) {
            assert_non_null(strstr(r.error, "6000 variables are too many"));
            assert_non_null(strstr(r.error, "take "));
        } else {
            assert_int_equal(r.evaluations, 12);
        }
        fake_free(&r);
    }
}

/* ---- every optimizer is covered ---- */

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
    char path[4096];
    size_t found = 0;
    test_path(path, "plugins/optimizers");
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

RUN_TESTS(test_start_is_evaluated_first, test_bad_starts_are_refused, test_units, test_sizes,
          test_every_optimizer_is_tested)
