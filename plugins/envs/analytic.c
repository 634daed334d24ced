/* SPDX-License-Identifier: Apache-2.0 */
/* analytic - test functions with known optimum and exact gradient, for optimizers, the host and its tests.
 * One evaluation is one function value; noise and failures can be added to it. */
#include <diffsim/ext/batch.h>
#include <diffsim/ext/residuals.h>
#include <diffsim/plugin.h>
#include <diffsim/random.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engines/functions/bbob.h"
#include "engines/functions/squares.h"

enum { DEFAULT_N = 10, MAX_ROTATED_N = 5000 };

static const char *const optimum_choices[] = {"random", "origin", "textbook", NULL};

static const ds_param *const params[] = {
    DS_ENUM("function", "sphere", fn_names,
            "Which function. rugged, plateau and valley live in [-1, 1]^n, branin, hartmann3, hartmann6 and "
            "camel6 in the box of the literature, all others in [-5, 5]^n. bbob_fN is function N of the BBOB "
            "suite."),
    &(const ds_param){sizeof(ds_param), DS_PARAM_INT, DS_PARAM_SHAPE, 0, 0, 100000, "dim", "0", "",
                      "Number of variables; 0 = 10, or the function's own where that is fixed.", NULL},
    DS_BOOL("rotate", "false", "Turn the coordinates by a random rotation drawn from `instance`."),
    DS_ENUM("optimum", "random", optimum_choices,
            "Where the minimum lies: random = drawn from `instance` in the middle of the box, origin = at 0, "
            "textbook = where the literature has it. branin, hartmann3, hartmann6 and camel6 always stay "
            "where they are; bbob_fN knows only random, as the suite draws it, and origin."),
    DS_INT("instance", "1", 0, INT32_MAX, "",
           "Selects optimum, rotation and bumps (not the seed of the run)."),
    DS_LIST("lower", "", -1e100, 1e100, 0, "",
            "Lower bounds of the variables: one value for all or one for each; empty = the function's usual "
            "box."),
    DS_LIST("upper", "", -1e100, 1e100, 0, "", "Upper bounds, as `lower`."),
    DS_REAL("noise", "0", 0, 1e100, "", "Standard deviation of a normal deviate that is added to the loss."),
    DS_REAL("grad_noise", "0", 0, 1, "",
            "Probability that the gradient is replaced by one of random direction and 3 times its length."),
    DS_REAL("fail_rate", "0", 0, 1, "",
            "Share of all points at which the evaluation diverges (always the same points), to test error "
            "paths."),
    NULL};

typedef struct analytic {
    const ds_host *host;
    fn_problem *fn;
    uint64_t n;
    double *lower, *upper;
    double noise, grad_noise, fail_rate;
} analytic;

static ds_status fail(const ds_host *host, const char *line)
{
    host->error(host, DS_E_PARAM, line);
    return DS_E_PARAM;
}

/* How many variables, given parameters function, dim and rotate. */
static ds_status choose_n(const ds_host *host, const fn_def *def, int64_t dim, int64_t rotate, uint64_t *n)
{
    char line[256];
    *n = dim ? (uint64_t)dim : def->fixed_n ? def->fixed_n : DEFAULT_N;
    if (def->fixed_n && *n != def->fixed_n) {
        snprintf(line, sizeof line,
                 "parameter dim = %" PRId64 ": function %s has %" PRIu64 " variables: leave dim at 0", dim,
                 def->name, def->fixed_n);
        return fail(host, line);
    }
    if (*n < def->min_n) {
        snprintf(line, sizeof line,
                 "parameter dim = %" PRId64 ": function %s needs at least %" PRIu64 " variables", dim,
                 def->name, def->min_n);
        return fail(host, line);
    }
    if (rotate && (def->fixed_n || bbob_is(def))) {
        snprintf(line, sizeof line, "parameter rotate: function %s %s: set rotate = false", def->name,
                 def->fixed_n ? "cannot be rotated" : "has the rotations of its suite");
        return fail(host, line);
    }
    if (bbob_is(def) && *n > BBOB_MAX_N) {
        snprintf(line, sizeof line, "parameter dim = %" PRId64 ": function %s is made for up to %d variables",
                 dim, def->name, BBOB_MAX_N);
        return fail(host, line);
    }
    if (rotate && *n > MAX_ROTATED_N) {
        snprintf(line, sizeof line, "parameter dim = %" PRId64 ": a rotation is possible up to dim = %d", dim,
                 MAX_ROTATED_N);
        return fail(host, line);
    }
    return DS_OK;
}

/* One bound list (none, one or n values) into out[n]. */
static ds_status read_bound(const ds_host *host, const char *name, uint64_t n, const double usual[2],
                            double *out)
{
    const double *value = NULL;
    uint64_t count = 0;
    ds_status status = host->get_list(host, name, &value, &count);
    if (status != DS_OK) {
        return status;
    }
    if (count > 1 && count != n) {
        char line[256];
        snprintf(line, sizeof line,
                 "parameter %s has %" PRIu64 " values: give none, one for all variables, or %" PRIu64, name,
                 count, n);
        return fail(host, line);
    }
    for (uint64_t i = 0; i < n; i++) {
        out[i] = count == 0 ? usual[i > 0] : value[count == 1 ? 0 : i];
    }
    return DS_OK;
}

static void destroy(void *self)
{
    analytic *a = self;
    if (a) {
        fn_destroy(a->fn);
        free(a->lower);
        free(a->upper);
        free(a);
    }
}

static ds_status set_up(analytic *a, const ds_host *host)
{
    int64_t function = 0, dim = 0, rotate = 0, optimum = 0, instance = 0;
    ds_status s = host->get_int(host, "function", &function);
    s = s ? s : host->get_int(host, "dim", &dim);
    s = s ? s : host->get_int(host, "rotate", &rotate);
    s = s ? s : host->get_int(host, "optimum", &optimum);
    s = s ? s : host->get_int(host, "instance", &instance);
    s = s ? s : host->get_real(host, "noise", &a->noise);
    s = s ? s : host->get_real(host, "grad_noise", &a->grad_noise);
    s = s ? s : host->get_real(host, "fail_rate", &a->fail_rate);
    if (s != DS_OK) {
        return s;
    }
    const fn_def *def = fn_table[function];
    s = choose_n(host, def, dim, rotate, &a->n);
    if (s != DS_OK) {
        return s;
    }
    a->lower = malloc(a->n * sizeof(double));
    a->upper = malloc(a->n * sizeof(double));
    if (!a->lower || !a->upper) {
        return DS_E_NOMEM;
    }
    s = read_bound(host, "lower", a->n, def->lower, a->lower);
    s = s ? s : read_bound(host, "upper", a->n, def->upper, a->upper);
    if (s != DS_OK) {
        return s;
    }
    for (uint64_t i = 0; i < a->n; i++) {
        if (!(a->lower[i] < a->upper[i])) {
            char line[256];
            snprintf(line, sizeof line,
                     "parameters lower = %g, upper = %g of variable %" PRIu64 ": make lower less than upper",
                     a->lower[i], a->upper[i], i);
            return fail(host, line);
        }
    }
    a->fn = fn_create(def, a->n, a->lower, a->upper, (int)optimum, (int)rotate, (uint64_t)instance);
    return a->fn ? DS_OK : DS_E_NOMEM;
}

static ds_status create(const ds_host *host, void **out)
{
    analytic *a = calloc(1, sizeof *a);
    ds_status status = a ? DS_OK : DS_E_NOMEM;
    if (a) {
        a->host = host;
        status = set_up(a, host);
    }
    if (status == DS_E_NOMEM) {
        host->error(host, status, "out of memory: reduce parameter dim");
    }
    if (status != DS_OK) {
        destroy(a);
        return status;
    }
    *out = a;
    return DS_OK;
}

static ds_status info(void *self, ds_env_info *out)
{
    const analytic *a = self;
    out->n = a->n;
    out->steps = 0;
    out->dt = 0;
    out->loss_floor = a->noise > 0 ? -HUGE_VAL : a->fn->def->f_floor;
    return DS_OK;
}

static ds_status bounds(void *self, uint64_t n, double *lower, double *upper, double *x0)
{
    const analytic *a = self;
    memcpy(lower, a->lower, n * sizeof(double));
    memcpy(upper, a->upper, n * sizeof(double));
    for (uint64_t i = 0; x0 && i < n; i++) {
        x0[i] = 0.5 * lower[i] + 0.5 * upper[i];
    }
    return DS_OK;
}

/* A number in (0, 1) that depends on all bits of x: failures hit fixed points of the search space. */
static double hash_of(const double *x, uint64_t n)
{
    uint64_t h = 0;
    for (uint64_t i = 0; i < n; i++) {
        double value = x[i] + 0.0; /* -0 is 0 */
        uint64_t bits;
        memcpy(&bits, &value, sizeof bits);
        h = ds_random_mix(h ^ bits);
    }
    return ((double)(h >> 12) + 0.5) * 0x1p-52;
}

/* A gradient as contacts give it at times: right order of magnitude, arbitrary direction. */
static void spoil_gradient(double *g, uint64_t n, ds_random *r)
{
    double length = 0, norm = 0;
    for (uint64_t i = 0; i < n; i++) {
        length += g[i] * g[i];
        g[i] = ds_random_normal(r);
        norm += g[i] * g[i];
    }
    double scale = 3 * sqrt(length / norm);
    for (uint64_t i = 0; i < n; i++) {
        g[i] *= scale;
    }
}

static void add_noise(const analytic *a, ds_eval *io, double *g)
{
    if (a->noise > 0) {
        ds_random r = ds_random_open(io->noise_key, "noise", 0);
        io->loss += a->noise * ds_random_normal(&r);
    }
    if (g && a->grad_noise > 0) {
        ds_random r = ds_random_open(io->noise_key, "grad_noise", 0);
        if (ds_random_uniform(&r) < a->grad_noise) {
            spoil_gradient(g, a->n, &r);
        }
    }
}

static ds_status evaluate(void *self, ds_eval *io)
{
    analytic *a = self;
    double *g = io->want & DS_WANT_GRAD ? io->grad : NULL;
    io->outcome = DS_EVAL_OK;
    io->grad_kind = g ? DS_GRAD_ADJOINT : DS_GRAD_NONE;
    io->bad_step = -1;
    io->cost_steps = 1;
    io->loss = fn_eval(a->fn, io->x, g);
    if (io->noise_key) {
        add_noise(a, io, g);
    }
    if (!isfinite(io->loss) || (a->fail_rate > 0 && hash_of(io->x, a->n) < a->fail_rate)) {
        io->loss = INFINITY;
        io->outcome = DS_EVAL_DIVERGED;
        io->bad_step = 0;
        if (g) {
            memset(g, 0, a->n * sizeof(double));
        }
        io->grad_kind = DS_GRAD_NONE;
        return DS_OK;
    }
    for (uint64_t i = 0; g && i < a->n; i++) {
        if (!isfinite(g[i])) { /* only in boxes so large that squares overflow */
            memset(g, 0, a->n * sizeof(double));
            io->outcome = DS_EVAL_BAD_GRAD;
        }
    }
    return DS_OK;
}

/* ---- extensions ---- */

static ds_status evaluate_many(void *self, uint64_t count, ds_eval *const *io)
{
    ds_status status = DS_OK;
    for (uint64_t k = 0; status == DS_OK && k < count; k++) {
        status = evaluate(self, io[k]);
    }
    return status;
}

static const ds_env_batch many = {sizeof(ds_env_batch), 0, evaluate_many};

static ds_status residual_count(void *self, uint64_t *m)
{
    const analytic *a = self;
    *m = fn_squares(a->fn);
    return DS_OK;
}

static ds_status evaluate_residuals(void *self, ds_residual_eval *io)
{
    analytic *a = self;
    ds_eval loss = {.struct_size = sizeof loss, .n = io->n, .x = io->x};
    ds_status status = evaluate(a, &loss);
    io->loss = loss.loss;
    io->outcome = loss.outcome;
    io->bad_step = loss.bad_step;
    io->cost_steps = loss.cost_steps;
    io->grad_kind = DS_GRAD_NONE;
    if (status != DS_OK || loss.outcome != DS_EVAL_OK) {
        return status;
    }
    if (io->kind == DS_RESIDUALS_VALUE) {
        fn_residuals(a->fn, io->x, io->out);
    } else if (io->kind == DS_RESIDUALS_JV) {
        io->grad_kind = DS_GRAD_FORWARD;
        fn_residuals_jv(a->fn, io->x, io->v, io->out);
    } else {
        io->grad_kind = DS_GRAD_ADJOINT;
        fn_residuals_jtv(a->fn, io->x, io->v, io->out);
    }
    return DS_OK;
}

static const ds_residuals residuals = {sizeof(ds_residuals), 0, residual_count, evaluate_residuals};

static const void *get_extension(void *self, const char *id)
{
    const analytic *a = self;
    if (strcmp(id, DS_EXT_BATCH) == 0) {
        return &many;
    }
    int exact = !(a->noise > 0) && !(a->grad_noise > 0); /* noise is added to the loss, not to residuals */
    return strcmp(id, DS_EXT_RESIDUALS) == 0 && exact && fn_squares(a->fn) > 0 ? &residuals : NULL;
}

static const char *const extensions[] = {DS_EXT_BATCH, DS_EXT_RESIDUALS, NULL};

static const ds_env_vtable vtable = {sizeof(ds_env_vtable), 0, create, destroy, info, bounds, evaluate,
                                     get_extension};

static const ds_desc desc = {
    sizeof(ds_desc),
    DS_KIND_ENV,
    DS_ENV_GRADIENT | DS_ENV_STOCHASTIC,
    "analytic",
    "1",
    "Apache-2.0",
    "Test functions with known optimum and exact gradient.",
    "Placed as f(x) = F(s Q (x - x_opt) + z_opt) with a seeded optimum x_opt and rotation Q. The minimum is "
    "0, except branin 0.397887, hartmann3 -3.86278, hartmann6 -3.32237, camel6 -1.03163.\n"
    "rugged: |z|^2 + 0.3 sum(1 - cos(3.6 pi z_i)), z = 1.4 Q (x - x_opt). plateau: 1 minus the highest of "
    "seven Gaussian bumps (one of height 1, six of 0.5), almost flat between them. valley: Rosenbrock/100, z "
    "= 2 Q (x - x_opt) + 1.\n"
    "bbob_f1 .. bbob_f21: functions of the noiseless BBOB suite; `instance` gives the optimum and the "
    "rotations of the suite's instance of that number, the loss is the suite's less its f_opt.\n"
    "sphere, ellipsoid, cigar, tablet, rosenbrock, valley, rastrigin and rugged are sums of squares and "
    "offer "
    "their residuals.\n"
    "noise and grad_noise act where the host passes a noise key; without one the function is exact.",
    "N. Hansen et al., Real-parameter black-box optimization benchmarking 2009: noiseless functions "
    "definitions, INRIA RR-6829.",
    params,
    extensions,
};

DS_DEFINE_ENV(desc, vtable)
