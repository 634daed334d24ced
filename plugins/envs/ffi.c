/* SPDX-License-Identifier: Apache-2.0 */
/* ffi.c - the loss is a C function of any shared library, and so is its gradient, if there is one. Library,
 * function, its arguments and the box are parameters. */
#include "common/number.h"
#include "engines/ffi/call.h"
#include "engines/kit/bundled.h"

#include <inttypes.h>
#include <string.h>

static const char *const stderr_choices[] = {"fails", "fine", NULL};
static const ds_param *const params[] = {
    DS_PATH("file", "", "The shared library, a file; empty = see `library`."),
    DS_TEXT("library", "libm.so.6",
            "Name of a library that the dynamic loader can find, if `file` is empty, for example libm.so.6."),
    DS_BOOL("global", "false",
            "Let libraries that this one loads see its symbols and those of its dependencies, as Python's "
            "modules need (RTLD_GLOBAL)."),
    DS_TEXT("symbol", "j0", "Name of the function that gives the loss."),
    DS_TEXT("signature", "f64(x0:f64)",
            "How it is called: TYPE(ROLE:TYPE, ...). Types: void i32 i64 u32 u64 f32 f64, with * for a "
            "pointer. Roles: n, x, x0 x1 ..., g (gradient), f (loss), r (residuals; the loss is the sum of "
            "their squares), m (their number), J (their Jacobian), ctx (NULL), or a number. A "
            "floating-point value returned is the loss, an integer a status (0 = ok)."),
    DS_TEXT("gradient_symbol", "",
            "Name of the function that gives the gradient (role g; with one variable it may be returned), if "
            "it is a separate function."),
    DS_TEXT("gradient_signature", "", "Signature of that function."),
    DS_ENUM(
        "stderr", "fails", stderr_choices,
        "Meaning of output on stderr during a call: fails = there is no loss at this point; fine = none."),
    DS_REAL("factor", "1", -1e100, 1e100, "", "Factor from the value to the loss; -1 maximises."),
    DS_REAL("gradient_factor", "1", -1e100, 1e100, "", "Factor of the gradient, in addition to `factor`."),
    DS_INT("dim", "0", 0, 10000000, "", "Number of variables; 0 = as many as there are bounds.",
           .flags = DS_PARAM_SHAPE),
    DS_INT("residuals", "0", 0, 10000000, "", "Number of residuals, if the function has the role r."),
    DS_LIST("lower", "0", -1e100, 1e100, 0, "", "Lower bounds: one for each variable, or one for all.",
            .flags = DS_PARAM_SHAPE),
    DS_LIST("upper", "20", -1e100, 1e100, 0, "", "Upper bounds, as `lower`.", .flags = DS_PARAM_SHAPE),
    DS_LIST("x0", "", -1e100, 1e100, 0, "", "Start point, as `lower`; empty = the middle."),
    DS_REAL("floor", "-inf", -INFINITY, 1e100, "", "A lower bound of the loss, if one is known."),
    NULL};

typedef struct ffi_env {
    ds_env_kit kit;        /* first */
    foreign *loss, *slope; /* slope is NULL if the loss writes its gradient, or there is none */
    int loss_has_gradient, slope_returned, has_jacobian;
    int may_print, told; /* parameter stderr; its meaning has been reported once */
    uint64_t m;
    double factor, gradient_factor;
    double *lower, *upper, *x0, *residual, *jacobian; /* m, m x n */
} ffi_env;

/* ---- set-up ---- */

/* Finds n from `dim` and the lists, and reads the box. */
static ds_status read_box(ffi_env *e)
{
    static const char *const names[] = {"lower", "upper", "x0"};
    ds_param_reader in = {e->kit.host, DS_OK};
    uint64_t count[3], most = 1, dim = (uint64_t)ds_param_int(&in, "dim");
    for (int k = 0; k < 3; k++) {
        ds_param_list(&in, names[k], &count[k]);
        most = count[k] > most ? count[k] : most;
    }
    if (in.status != DS_OK) {
        return in.status;
    }
    e->kit.n = dim > 0 ? dim : most;
    ds_memory_each(&e->kit.memory, e->kit.n, (double **const[]){&e->lower, &e->upper, &e->x0, NULL});
    if (e->kit.memory.failed) {
        return DS_E_NOMEM;
    }
    if (count[0] == 0 || count[1] == 0) {
        return ds_host_fail(e->kit.host, DS_E_PARAM,
                            "parameter %s is empty: give one bound for all variables, or one for each",
                            count[0] == 0 ? "lower" : "upper");
    }
    ds_param_values(&in, "lower", e->kit.n, e->lower);
    ds_param_values(&in, "upper", e->kit.n, e->upper);
    for (uint64_t i = 0; in.status == DS_OK && i < e->kit.n; i++) {
        e->x0[i] = 0.5 * e->lower[i] + 0.5 * e->upper[i];
    }
    ds_param_values(&in, "x0", e->kit.n, e->x0);
    for (uint64_t i = 0; in.status == DS_OK && i < e->kit.n; i++) {
        if (!(e->lower[i] <= e->upper[i])) {
            in.status = ds_host_fail(e->kit.host, DS_E_PARAM,
                                     "parameters lower = %s, upper = %s of variable %" PRIu64
                                     ": make lower at most upper",
                                     NUMBER(e->lower[i]), NUMBER(e->upper[i]), i);
        } else if (!(e->x0[i] >= e->lower[i] && e->x0[i] <= e->upper[i])) {
            in.status =
                ds_host_fail(e->kit.host, DS_E_PARAM,
                             "parameter x0 = %s of variable %" PRIu64 " is outside of its bounds %s..%s",
                             NUMBER(e->x0[i]), i, NUMBER(e->lower[i]), NUMBER(e->upper[i]));
        }
    }
    return in.status;
}

/* Prepares the function that parameters `symbol` and `layout` describe. */
static ds_status open_function(ffi_env *e, void *library, const char *where, const char *symbol,
                               const char *layout, signature *sig, foreign **out)
{
    ds_param_reader in = {e->kit.host, DS_OK};
    const char *name = ds_param_text(&in, symbol), *text = ds_param_text(&in, layout);
    char error[SIGNATURE_ERROR];
    if (in.status != DS_OK) {
        return in.status;
    }
    void *address = foreign_symbol(library, name, error);
    if (!address) {
        return ds_host_fail(e->kit.host, DS_E_PARAM, "parameter %s = %.80s in %.200s: %s", symbol, name,
                            where, error);
    }
    if (!signature_parse(text, sig, error)) {
        return ds_host_fail(e->kit.host, DS_E_PARAM, "parameter %s = %.120s: %s", layout, text, error);
    }
    *out = foreign_open(&e->kit.memory, address, sig, e->kit.n, e->m, error);
    if (!*out) {
        return error[0]
                   ? ds_host_fail(e->kit.host, DS_E_PARAM, "parameter %s = %.120s: %s", layout, text, error)
                   : DS_E_NOMEM;
    }
    return DS_OK;
}

/* Does the loss come from exactly one place? */
static ds_status check_loss(const ffi_env *e, const signature *s)
{
    int returned = s->result == SCALAR_F64 || s->result == SCALAR_F32;
    int written = signature_find(s, ROLE_F) != NULL, residuals = signature_find(s, ROLE_R) != NULL;
    if (returned + written + residuals != 1) {
        return ds_host_fail(e->kit.host, DS_E_PARAM,
                            "parameter signature: the loss comes from %d places: return f64 or f32, or have "
                            "one argument f or r",
                            returned + written + residuals);
    }
    if (residuals != (e->m > 0)) {
        return ds_host_fail(
            e->kit.host, DS_E_PARAM,
            residuals
                ? "parameter residuals = 0: set it to the number of residuals that the function writes to r"
                : "parameter residuals: the signature has no argument r; add one, or set residuals = 0");
    }
    if (signature_find(s, ROLE_J) && (!residuals || signature_find(s, ROLE_G) || !(e->factor > 0))) {
        return ds_host_fail(e->kit.host, DS_E_PARAM,
                            "parameter signature: J goes with r, without g, and with a positive factor");
    }
    return DS_OK;
}

static ds_status check_gradient(const ffi_env *e, const signature *s)
{
    int returned = s->result == SCALAR_F64 || s->result == SCALAR_F32;
    if (signature_find(s, ROLE_R) || signature_find(s, ROLE_F) ||
        (signature_find(s, ROLE_G) != NULL) == (returned != 0)) {
        return ds_host_fail(
            e->kit.host, DS_E_PARAM,
            "parameter gradient_signature: the gradient comes from one argument g, or is returned");
    }
    if (returned && e->kit.n != 1) {
        return ds_host_fail(e->kit.host, DS_E_PARAM,
                            "parameter gradient_signature: a gradient of %" PRIu64
                            " variables cannot be returned: use an argument g",
                            e->kit.n);
    }
    return DS_OK;
}

static ds_status open_functions(ffi_env *e)
{
    ds_param_reader in = {e->kit.host, DS_OK};
    const char *file = ds_param_text(&in, "file"), *name = ds_param_text(&in, "library");
    const char *slope = ds_param_text(&in, "gradient_symbol");
    char error[SIGNATURE_ERROR];
    signature sig;
    if (in.status != DS_OK) {
        return in.status;
    }
    const char *where = *file ? file : name;
    if (!*where || (!*file && strchr(name, '/'))) {
        return ds_host_fail(
            e->kit.host, DS_E_PARAM,
            "parameter library = %.200s: give a name such as libm.so.6, or put a path in parameter file",
            name);
    }
    const int global = ds_param_int(&in, "global") != 0;
    if (in.status != DS_OK) {
        return in.status;
    }
    void *library = foreign_library(where, global, error);
    if (!library) {
        return ds_host_fail(e->kit.host, DS_E_PARAM, "parameter %s: %s", *file ? "file" : "library", error);
    }
    ds_status s = open_function(e, library, where, "symbol", "signature", &sig, &e->loss);
    s = s == DS_OK ? check_loss(e, &sig) : s;
    if (s == DS_OK && signature_find(&sig, ROLE_J)) {
        e->has_jacobian = 1;
        e->jacobian = ds_memory_doubles(&e->kit.memory, e->m * e->kit.n);
        s = e->jacobian ? DS_OK : DS_E_NOMEM;
    }
    e->loss_has_gradient = s == DS_OK && (signature_find(&sig, ROLE_G) != NULL || e->has_jacobian);
    if (s == DS_OK && *slope && e->loss_has_gradient) {
        return ds_host_fail(e->kit.host, DS_E_PARAM,
                            "parameter gradient_symbol: the function of the loss already writes the gradient "
                            "(role g); remove one of them");
    }
    if (s == DS_OK && *slope) {
        s = open_function(e, library, where, "gradient_symbol", "gradient_signature", &sig, &e->slope);
        s = s == DS_OK ? check_gradient(e, &sig) : s;
        e->slope_returned = sig.result == SCALAR_F64 || sig.result == SCALAR_F32;
    }
    return s;
}

static void read_ffi(void *self, ds_param_reader *in)
{
    ffi_env *e = self;
    e->factor = ds_param_real(in, "factor");
    e->gradient_factor = ds_param_real(in, "gradient_factor");
    e->m = (uint64_t)ds_param_int(in, "residuals");
    e->may_print = ds_param_int(in, "stderr") == 1;
    e->kit.loss_floor = ds_param_real(in, "floor");
    e->kit.cost = 1;
}

static ds_status allocate_ffi(void *self)
{
    ffi_env *e = self;
    ds_status s = read_box(e);
    if (s == DS_OK) {
        e->residual = ds_memory_doubles(&e->kit.memory, e->m + 1);
        s = e->residual ? open_functions(e) : DS_E_NOMEM;
    }
    e->kit.flags = e->loss_has_gradient || e->slope ? 0 : DS_INFO_NO_GRADIENT;
    return s;
}

static void range_of_ffi(const void *self, uint64_t i, double *lower, double *upper, double *start)
{
    const ffi_env *e = self;
    *lower = e->lower[i];
    *upper = e->upper[i];
    *start = e->x0[i];
}

/* ---- evaluation ---- */

static ds_status outside(const ffi_env *e, const char *symbol)
{
    ds_param_reader in = {e->kit.host, DS_OK};
    return ds_host_fail(e->kit.host, DS_E_DATA, "%.80s wrote outside its arrays: check its signature",
                        ds_param_text(&in, symbol));
}

/* A call that reports failure on stderr, whatever its numbers are. */
static int call(ffi_env *e, foreign *f, const double *x, const foreign_results *out)
{
    if (e->may_print) {
        return foreign_call(f, x, out);
    }
    printed_begin();
    int left = foreign_call(f, x, out);
    if (!printed_end()) {
        return left;
    }
    if (!e->told && e->kit.host->log != NULL) {
        e->told = 1;
        e->kit.host->log(e->kit.host, DS_LOG_WARNING,
                         "the function writes to stderr, so these evaluations fail (if symbols are missing: "
                         "global = true; stderr = fine accepts them)");
    }
    return left == FOREIGN_OUTSIDE ? left : FOREIGN_FAILED;
}

/* Calls the function of the loss: value, and whatever else is wanted; with residuals the sum of their
 * squares. */
static int call_loss(ffi_env *e, const double *x, double *value, double *gradient, double *jacobian)
{
    const foreign_results out = {.value = e->m > 0 ? NULL : value,
                                 .gradient = gradient,
                                 .jacobian = jacobian,
                                 .residual = e->residual};
    *value = NAN;
    int left = call(e, e->loss, x, &out);
    if (e->m > 0) {
        *value = 0;
        for (uint64_t i = 0; i < e->m; i++) {
            *value += e->residual[i] * e->residual[i];
        }
    }
    *value *= e->factor;
    return left;
}

/* The gradient, from any source, before factors; the function of the loss has been called. */
static int find_gradient(ffi_env *e, const double *x, double *g)
{
    if (e->has_jacobian) {
        for (uint64_t i = 0; i < e->kit.n; i++) {
            g[i] = 0;
        }
        for (uint64_t k = 0; k < e->m * e->kit.n; k++) {
            g[k % e->kit.n] += 2 * e->residual[k / e->kit.n] * e->jacobian[k];
        }
    } else if (e->slope) {
        const foreign_results out = {.value = e->slope_returned ? g : NULL,
                                     .gradient = e->slope_returned ? NULL : g};
        return call(e, e->slope, x, &out);
    }
    return FOREIGN_OK;
}

static ds_status simulate_ffi(void *self, ds_eval *io)
{
    ffi_env *e = self;
    double *g = io->want & DS_WANT_GRAD ? io->grad : NULL;
    int left = call_loss(e, io->x, &io->loss, e->slope || e->has_jacobian ? NULL : g, g ? e->jacobian : NULL);
    if (left == FOREIGN_FAILED || !isfinite(io->loss)) {
        io->loss = INFINITY;
        io->bad_step = 0;
    }
    return left == FOREIGN_OUTSIDE ? outside(e, "symbol") : DS_OK;
}

static ds_status adjoint_of_ffi(void *self, ds_eval *io)
{
    ffi_env *e = self;
    int left = find_gradient(e, io->x, io->grad);
    for (uint64_t i = 0; i < io->n; i++) {
        io->grad[i] = left == FOREIGN_FAILED ? (double)NAN : io->grad[i] * (e->factor * e->gradient_factor);
    }
    return left == FOREIGN_OUTSIDE ? outside(e, "gradient_symbol") : DS_OK;
}

/* ---- residuals: a function that writes r and J ---- */

static uint64_t channels_of_ffi(const void *self)
{
    return ((const ffi_env *)self)->has_jacobian != 0;
}

static void channel_of_ffi(const void *self, uint64_t i, ds_channel *out)
{
    const ffi_env *e = self;
    (void)i;
    out->role = DS_CHANNEL_RESIDUAL;
    out->ops = DS_CAN(DS_QUERY_VALUE) | DS_CAN(DS_QUERY_JV) | DS_CAN(DS_QUERY_JTV);
    out->shape[0] = e->m;
    out->name = "residuals";
    out->doc = "The values in r, times the square root of parameter factor.";
}

static ds_status answer_of_ffi(void *self, ds_eval *io, ds_eval_query *ask)
{
    ffi_env *e = self;
    double root = sqrt(e->factor), loss, *out = ask->out;
    if (ask->op == DS_QUERY_VALUE) {
        for (uint64_t i = 0; i < e->m; i++) {
            out[i] = root * e->residual[i];
        }
        return DS_OK;
    }
    int forward = ask->op == DS_QUERY_JV;
    int left = call_loss(e, io->x, &loss, NULL, e->jacobian);
    if (left != FOREIGN_OK) {
        io->outcome = DS_EVAL_BAD_GRAD;
        return left == FOREIGN_OUTSIDE ? outside(e, "symbol") : DS_OK;
    }
    io->cost_steps++;
    ask->kind = DS_GRAD_FORWARD;
    memset(out, 0, ask->bytes);
    for (uint64_t k = 0; k < e->m * e->kit.n; k++) {
        uint64_t row = k / e->kit.n, column = k % e->kit.n;
        out[forward ? row : column] += root * e->jacobian[k] * ask->v[forward ? column : row];
    }
    return DS_OK;
}

static const ds_env_table env = {.size = sizeof(ffi_env),
                                 .advice = "reduce parameter dim or residuals",
                                 .read = read_ffi,
                                 .allocate = allocate_ffi,
                                 .range = range_of_ffi,
                                 .simulate = simulate_ffi,
                                 .adjoint = adjoint_of_ffi,
                                 .channels = channels_of_ffi,
                                 .channel = channel_of_ffi,
                                 .answer = answer_of_ffi};

static const ds_desc desc = {
    BUNDLED_DESC("ffi", "2"),
    .flags = DS_ENV_GRADIENT | DS_ENV_RUNS_CODE,
    .summary = "The loss is a C function of any shared library.",
    .description =
        "Name a library, a function of it, its signature and the box; the function's gradient, if there is "
        "one, may come from the same call or from another function. NaN and infinity mean that there is no "
        "loss at this point.\nA signature cannot be verified: with a wrong one the function reads memory "
        "that is not its own. It runs in a worker process like every environment, so a crash costs one "
        "evaluation; arrays have guard bytes that are checked after every call. The function must be pure: "
        "the same x gives the same value, whatever was called before.\nWhat a call does not write (loss, "
        "gradient, residuals) is NaN, which fails; output on stderr makes it fail too, in worker processes, "
        "unless stderr = fine.\nThe default is an example: the Bessel function J0 of the C library between 0 "
        "and 20; its gradient is -J1, with gradient_symbol = j1, gradient_signature = f64(x0:f64), "
        "gradient_factor = -1.",
    .citation = "",
};

DS_ENV_KIT_DEFINE(env, desc)
