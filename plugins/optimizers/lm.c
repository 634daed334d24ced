/* SPDX-License-Identifier: Apache-2.0 */
/* lm.c - the Levenberg-Marquardt method, from one start after the other:
 *
 *     repeat
 *         x = x0 at first, then Uniform[-1, 1]^n;  mu = radius, nu = 2
 *         repeat
 *             r = residuals, J = their Jacobian at x;  D = diag J^T J, at least 1e-6 of its largest at first
 *             p = argmin |J p + r|^2 + p^T D p / mu over the variables that are free to move
 *                 (bounds = damp: D/mu + |g_i| / distance to the bound ahead, see squares/levenberg.h)
 *             x' = clamp(x + p);  rho = actual decrease / predicted decrease of |r|^2 / 2
 *             if rho > 1e-3: x = x', mu = mu / max(1/3, 1 - (2 rho - 1)^3), nu = 2
 *             else:          mu = mu / nu, nu = 2 nu
 *         until the decrease, the step or the gradient is small, or after `iterations` steps
 *
 * Residuals cost one evaluation, their Jacobian min(n, m) more: one for each product with a unit vector
 * (squares/levenberg.h). A step into a failing simulation is a rejected one.
 */
#include "methods/base/blas.h"
#include "methods/base/own.h"
#include "methods/squares/levenberg.h"

#include <math.h>

typedef struct levenberg {
    ds_opt_kit kit;
    lm_options options;
    int residuals;
    least_squares squares;
    lm *search;
    double *v, *r, *j; /* n: start; m; m x n */
} levenberg;

/* One search, from start to end. */
static ds_status lm_search(void *self_)
{
    levenberg *self = self_;
    const size_t arm = 0;
    const ds_evaluator_label residuals = {"residuals", self->kit.round},
                             jacobian = {"jacobian", self->kit.round};
    ds_status status = DS_OK;
    ds_opt_kit_start(&self->kit, self->kit.round, self->v);
    int next = lm_start(self->search, self->v);
    least_squares_begin(&self->squares, arm);
    while (status == DS_OK && next != LM_DONE) {
        const double *v = lm_point(self->search);
        double loss = INFINITY;
        if (next == LM_RESIDUALS) {
            status = least_squares_residuals(&self->squares, residuals, 1, &arm, v, self->r, &loss);
            next = status == DS_OK ? lm_tell_residuals(self->search, isfinite(loss) ? self->r : NULL) : next;
        } else {
            status = least_squares_jacobian(&self->squares, jacobian, arm, v, self->j);
            next = status == DS_OK ? lm_tell_jacobian(self->search, self->j) : next;
        }
    }
    return status;
}

static ds_status lm_begin(void *self_)
{
    levenberg *self = self_;
    ds_opt_kit *kit = &self->kit;
    ds_status status = least_squares_open(&self->squares, kit, self->residuals, 1);
    if (status != DS_OK) {
        return status;
    }
    size_t n = kit->n, m = self->squares.m;
    const double *box = ds_opt_kit_box(&kit->memory, n);
    self->v = ds_memory_doubles(&kit->memory, n);
    self->r = ds_memory_doubles(&kit->memory, m);
    self->j = ds_memory_doubles(&kit->memory, m * n);
    self->search = kit->memory.failed ? NULL : lm_create(n, m, box, box + n, &self->options);
    if (!self->search) {
        return ds_host_fail(kit->host, DS_E_NOMEM, "out of memory for the Jacobian: use residuals = scalar");
    }
    return DS_OK;
}

static void read_parameters(void *self_, ds_param_reader *in)
{
    levenberg *self = self_;
    blas_use_one_thread();
    self->options = lm_read_options(in);
    self->residuals = (int)ds_param_int(in, "residuals");
}

static void lm_release(void *self_)
{
    levenberg *self = self_;
    lm_destroy(self->search);
    least_squares_free(&self->squares);
}

static const ds_param *const params[] = {LM_PARAMS, DS_OPT_START_PARAMS("true"), NULL};

static const ds_desc desc = {
    OPT_DESC("lm", "0.2"),
    .uses = DS_OPT_IDS(DS_HAS_RESIDUALS, DS_HAS_GRADIENT),
    .summary = "Levenberg-Marquardt searches for sums of squares",
    .description =
        "Repeats: linearise the residuals at x; step to the minimum of the damped linear model; accept the "
        "step if the sum of squares falls as predicted, else damp more. A search ends when it gains nothing, "
        "and another begins at a random point.\nThe choice where the loss is a sum of squares and the "
        "environment offers its residuals: it then converges almost as fast as Newton's method. Without "
        "residuals it treats the loss as one residual, which makes it a damped gradient descent.",
    .citation =
        "K. Levenberg 1944; D. Marquardt: An algorithm for least-squares estimation of nonlinear "
        "parameters. SIAM J. Appl. Math. 11 (1963) 431-441; K. Madsen, H. Nielsen, O. Tingleff: Methods "
        "for non-linear least squares problems. DTU 2004",
};

static const ds_opt_table table = {
    .size = sizeof(levenberg),
    .read = read_parameters,
    .release = lm_release,
    .begins_at_start = ds_opt_kit_begins_at_start,
    .begin = lm_begin,
    .round = lm_search,
};

DS_OPT_KIT_DEFINE(table, desc)
