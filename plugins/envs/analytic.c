/* SPDX-License-Identifier: Apache-2.0 */
/* analytic.c - test functions with known optimum and exact gradient, for optimizers, the host and its tests.
 * One evaluation is one function value; noise and failures can be added. */
#include "common/number.h"
#include "engines/functions/bbob.h"
#include "engines/functions/functions.h"
#include "engines/kit/bundled.h"

#include <diffsim/helper/random.h>
#include <inttypes.h>
#include <string.h>

enum { DEFAULT_N = 10, MAX_ROTATED_N = 5000 };

static const char *const optimum_choices[] = {"random", "origin", "textbook", NULL};

static const ds_param *const params[] = {
    DS_ENUM("function", "sphere", fn_names,
            "Which function. rugged, plateau and valley are defined on [-1, 1]^n, branin, hartmann3, "
            "hartmann6 and camel6 in the box of the literature, all others on [-5, 5]^n. bbob_fN is function "
            "N of the BBOB suite."),
    DS_INT("dim", "0", 0, 100000, "",
           "Number of variables; 0 = 10, or the function's own number if it is fixed.",
           .flags = DS_PARAM_SHAPE),
    DS_BOOL("rotate", "false", "Rotate the coordinates by a random rotation drawn from `instance`."),
    DS_ENUM("optimum", "random", optimum_choices,
            "Position of the minimum: random = drawn from `instance` in the middle of the box, origin = at "
            "0, textbook = as in the literature. branin, hartmann3, hartmann6 and camel6 are never moved; "
            "bbob_fN supports only random, as the suite draws it, and origin."),
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
    ds_env_kit kit; /* first */
    fn_problem *fn;
    const fn_def *def;
    int optimum, rotate;
    uint64_t instance;
    double *lower, *upper;
    double noise, grad_noise, fail_rate;
} analytic;

/* The number of variables, from parameters function, dim and rotate. */
static ds_status choose_n(const ds_host *host, const fn_def *def, int64_t dim, int rotate, uint64_t *n)
{
    *n = dim ? (uint64_t)dim : def->fixed_n ? def->fixed_n : DEFAULT_N;
    if (def->fixed_n && *n != def->fixed_n) {
        return ds_host_fail(host, DS_E_PARAM,
                            "parameter dim = %" PRId64 ": function %s has %" PRIu64
                            " variables: leave dim at 0",
                            dim, def->name, def->fixed_n);
    }
    if (*n < def->min_n) {
        return ds_host_fail(host, DS_E_PARAM,
                            "parameter dim = %" PRId64 ": function %s needs at least %" PRIu64 " variables",
                            dim, def->name, def->min_n);
    }
    if (rotate && (def->fixed_n || bbob_is(def))) {
        return ds_host_fail(host, DS_E_PARAM, "parameter rotate: function %s %s: set rotate = false",
                            def->name, def->fixed_n ? "cannot be rotated" : "has the rotations of its suite");
    }
    if (bbob_is(def) && *n > BBOB_MAX_N) {
        return ds_host_fail(host, DS_E_PARAM,
                            "parameter dim = %" PRId64 ": function %s is made for up to %d variables", dim,
                            def->name, BBOB_MAX_N);
    }
    if (rotate && *n > MAX_ROTATED_N) {
        return ds_host_fail(host, DS_E_PARAM,
                            "parameter dim = %" PRId64 ": a rotation is possible up to dim = %d", dim,
                            MAX_ROTATED_N);
    }
    return DS_OK;
}

/* Reads a list of bounds (none, one or n values) into out[n]. */
static void read_bound(ds_param_reader *in, const char *name, uint64_t n, const double usual[2], double *out)
{
    uint64_t count;
    const double *value = ds_param_list(in, name, &count);
    if (count > 1 && count != n) {
        in->status =
            ds_host_fail(in->host, DS_E_PARAM,
                         "parameter %s has %" PRIu64 " values: give none, one for all variables, or %" PRIu64,
                         name, count, n);
        return;
    }
    for (uint64_t i = 0; i < n; i++) {
        out[i] = count == 0 ? usual[i > 0] : value[count == 1 ? 0 : i];
    }
}

static void read_analytic(void *self, ds_param_reader *in)
{
    analytic *a = self;
    int64_t dim = ds_param_int(in, "dim");
    a->def = fn_table[ds_param_int(in, "function")];
    a->rotate = (int)ds_param_int(in, "rotate");
    a->optimum = (int)ds_param_int(in, "optimum");
    a->instance = (uint64_t)ds_param_int(in, "instance");
    a->noise = ds_param_real(in, "noise");
    a->grad_noise = ds_param_real(in, "grad_noise");
    a->fail_rate = ds_param_real(in, "fail_rate");
    a->kit.cost = 1;
    a->kit.loss_floor = a->noise > 0 ? -HUGE_VAL : a->def->f_floor;
    in->status = in->status == DS_OK ? choose_n(in->host, a->def, dim, a->rotate, &a->kit.n) : in->status;
}

static ds_status allocate_analytic(void *self)
{
    analytic *a = self;
    ds_param_reader in = {a->kit.host, DS_OK};
    const uint64_t n = a->kit.n;
    ds_memory_each(&a->kit.memory, n, (double **const[]){&a->lower, &a->upper, NULL});
    if (a->kit.memory.failed) {
        return DS_E_NOMEM;
    }
    read_bound(&in, "lower", n, a->def->lower, a->lower);
    read_bound(&in, "upper", n, a->def->upper, a->upper);
    for (uint64_t i = 0; in.status == DS_OK && i < n; i++) {
        if (!(a->lower[i] <= a->upper[i])) {
            in.status = ds_host_fail(in.host, DS_E_PARAM,
                                     "parameters lower = %s, upper = %s of variable %" PRIu64
                                     ": make lower at most upper",
                                     NUMBER(a->lower[i]), NUMBER(a->upper[i]), i);
        }
    }
    if (in.status == DS_OK) {
        a->fn = fn_create(&a->kit.memory, a->def, n, a->lower, a->upper, a->optimum, a->rotate, a->instance);
    }
    return in.status == DS_OK && !a->fn ? DS_E_NOMEM : in.status;
}

static void range_of_analytic(const void *self, uint64_t i, double *lower, double *upper, double *start)
{
    const analytic *a = self;
    *lower = a->lower[i];
    *upper = a->upper[i];
    *start = 0.5 * *lower + 0.5 * *upper;
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

/* A misleading gradient as contacts sometimes give it: right order of magnitude, arbitrary direction. */
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

/* Adds noise and failures. Kept separate, because a function value takes a few nanoseconds and most
 * evaluations have neither. */
__attribute__((noinline)) static void disturb(const analytic *a, ds_eval *io, double *g)
{
    if (a->fail_rate > 0 && hash_of(io->x, a->kit.n) < a->fail_rate) {
        io->loss = INFINITY;
        return;
    }
    if (io->noise_key == 0) {
        return;
    }
    if (a->noise > 0) {
        ds_random r = ds_random_open(io->noise_key, "noise", 0);
        io->loss += a->noise * ds_random_normal(&r);
    }
    if (g && a->grad_noise > 0) {
        ds_random r = ds_random_open(io->noise_key, "grad_noise", 0);
        if (ds_random_uniform(&r) < a->grad_noise) {
            spoil_gradient(g, a->kit.n, &r);
        }
    }
}

static inline ds_status simulate_analytic(void *self, ds_eval *io)
{
    analytic *a = self;
    double *g = io->want & DS_WANT_GRAD ? io->grad : NULL;
    io->loss = fn_eval(a->fn, io->x, g);
    if (io->noise_key || a->fail_rate > 0) {
        disturb(a, io, g);
    }
    if (!isfinite(io->loss)) {
        io->loss = INFINITY;
        io->bad_step = 0;
    } else if (g) { /* not finite only in boxes so large that squares overflow */
        io->grad_kind = DS_GRAD_ADJOINT;
    }
    return DS_OK;
}

static ds_status simulate_rows(void *self, uint64_t count, ds_eval *const *io)
{
    for (uint64_t k = 0; k < count; k++) {
        simulate_analytic(self, io[k]);
    }
    return DS_OK;
}

/* Noise is added to the loss, not to residuals. */
static uint64_t channels_of_analytic(const void *self)
{
    const analytic *a = self;
    return !(a->noise > 0) && !(a->grad_noise > 0) && fn_squares(a->fn) > 0;
}

static void channel_of_analytic(const void *self, uint64_t i, ds_channel *out)
{
    const analytic *a = self;
    (void)i;
    out->role = DS_CHANNEL_RESIDUAL;
    out->ops = DS_CAN(DS_QUERY_VALUE) | DS_CAN(DS_QUERY_JV) | DS_CAN(DS_QUERY_JTV);
    out->shape[0] = fn_squares(a->fn);
    out->name = "residuals";
    out->doc = "Their squares add up to the function.";
}

static ds_status answer_of_analytic(void *self, ds_eval *io, ds_eval_query *ask)
{
    const analytic *a = self;
    if (ask->op == DS_QUERY_VALUE) {
        fn_residuals(a->fn, io->x, ask->out);
    } else if (ask->op == DS_QUERY_JV) {
        ask->kind = DS_GRAD_FORWARD;
        fn_residuals_jv(a->fn, io->x, ask->v, ask->out);
    } else {
        ask->kind = DS_GRAD_ADJOINT;
        fn_residuals_jtv(a->fn, io->x, ask->v, ask->out);
    }
    return DS_OK;
}

static const ds_env_table env = {.size = sizeof(analytic),
                                 .advice = "reduce parameter dim",
                                 .read = read_analytic,
                                 .allocate = allocate_analytic,
                                 .range = range_of_analytic,
                                 .simulate = simulate_analytic,
                                 .rows = simulate_rows,
                                 .channels = channels_of_analytic,
                                 .channel = channel_of_analytic,
                                 .answer = answer_of_analytic};

static const ds_desc desc = {
    BUNDLED_DESC("analytic", "1"),
    .flags = DS_ENV_GRADIENT | DS_ENV_STOCHASTIC,
    .summary = "Test functions with known optimum and exact gradient.",
    .description =
        "Placed as f(x) = F(s Q (x - x_opt) + z_opt) with a seeded optimum x_opt and rotation Q. The minimum "
        "is 0, except branin 0.397887, hartmann3 -3.86278, hartmann6 -3.32237, camel6 -1.03163.\nrugged: "
        "|z|^2 + 0.3 sum(1 - cos(3.6 pi z_i)), z = 1.4 Q (x - x_opt). plateau: 1 minus the highest of seven "
        "Gaussian bumps (one of height 1, six of 0.5), almost flat between them. valley: Rosenbrock/100, z = "
        "2 Q (x - x_opt) + 1.\nbbob_f1 .. bbob_f21: functions of the noiseless BBOB suite; `instance` gives "
        "the optimum and the rotations of the suite's instance of that number; the loss is the suite's minus "
        "its f_opt.\nsphere, ellipsoid, cigar, tablet, rosenbrock, valley, rastrigin and rugged are sums of "
        "squares and offer their residuals.\nnoise and grad_noise act if the host passes a noise key; "
        "without one the function is exact.",
    .citation =
        "N. Hansen et al., Real-parameter black-box optimization benchmarking 2009: noiseless functions "
        "definitions, INRIA RR-6829.",
};

DS_ENV_KIT_DEFINE(env, desc)
