/* SPDX-License-Identifier: Apache-2.0 */
/* lm.c - the Levenberg-Marquardt method, from one start after the other:
 *
 *     repeat
 *         x = x0 at first, then Uniform[-1, 1]^n;  mu = radius, nu = 2
 *         repeat
 *             r = residuals, J = their Jacobian at x;  D = clamp(diag J^T J)
 *             p = argmin |J p + r|^2 + p^T D p / mu over the variables that are free to move
 *             x' = clamp(x + p);  rho = actual decrease / predicted decrease of |r|^2 / 2
 *             if rho > 1e-3: x = x', mu = mu / max(1/3, 1 - (2 rho - 1)^3), nu = 2
 *             else:          mu = mu / nu, nu = 2 nu
 *         until the decrease, the step or the gradient is small, or after `iterations` steps
 *
 * Residuals cost one evaluation, their Jacobian min(n, m) more: one for each product with a unit vector
 * (squares/least_squares.h). A step into a failing simulation is a rejected one.
 */
#include <diffsim/plugin.h>
#include <diffsim/helper/params.h>
#include <diffsim/random.h>

#include "methods/base/blas.h"
#include "methods/base/box.h"
#include "methods/squares/lm_params.h"

#include <math.h>
#include <stdlib.h>

typedef struct levenberg {
    const ds_host *host;
    const ds_problem *problem;
    lm_options options;
    int residuals, use_x0;
    size_t n;
    uint64_t starts;
    least_squares squares;
    lm *search;
    double *v, *bounds, *r, *j; /* n: start; 2 n: the box [-1, 1]^n; m; m x n */
} levenberg;

/* Start number 1, 2, ... */
static void draw_start(levenberg *self)
{
    ds_random random = ds_random_open(self->host->seed, "start", ++self->starts);
    for (size_t i = 0; i < self->n; i++) {
        self->v[i] = 2 * ds_random_uniform(&random) - 1;
    }
    if (self->use_x0 && self->starts == 1) {
        box_v_from_x(self->n, self->problem->lower, self->problem->upper, self->problem->x0, self->v);
    }
}

/* One search, from its start to its end. */
static ds_status search(levenberg *self)
{
    const size_t arm = 0;
    const batch_label residuals = {"residuals", self->starts}, jacobian = {"jacobian", self->starts};
    ds_status status = DS_OK;
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

static ds_status prepare(levenberg *self, const ds_objective *objective)
{
    ds_status status =
        least_squares_open(&self->squares, self->host, self->problem, objective, self->residuals, 1);
    if (status != DS_OK) {
        return status;
    }
    size_t n = self->n, m = self->squares.m;
    self->v = malloc((3 * n + m + m * n) * sizeof(double));
    if (self->v) {
        self->bounds = self->v + n;
        self->r = self->bounds + 2 * n;
        self->j = self->r + m;
        for (size_t i = 0; i < n; i++) {
            self->bounds[i] = -1;
            self->bounds[n + i] = 1;
        }
        self->search = lm_create(n, m, self->bounds, self->bounds + n, &self->options);
    }
    if (!self->search) {
        return ds_host_fail(self->host, DS_E_NOMEM, "out of memory for the Jacobian: use residuals = scalar");
    }
    return DS_OK;
}

static ds_status levenberg_run(void *self_, const ds_objective *objective)
{
    levenberg *self = self_;
    ds_status status = prepare(self, objective);
    while (status == DS_OK) {
        draw_start(self);
        status = search(self);
        if (status == DS_OK && self->host->should_stop(self->host)) {
            status = DS_STOPPED;
        }
    }
    return status;
}

static void levenberg_destroy(void *self_)
{
    levenberg *self = self_;
    if (self) {
        lm_destroy(self->search);
        least_squares_free(&self->squares);
        free(self->v);
        free(self);
    }
}

static ds_status levenberg_create(const ds_host *host, const ds_problem *problem, void **out)
{
    blas_use_one_thread();
    levenberg *self = calloc(1, sizeof *self);
    if (!self) {
        return ds_host_fail(host, DS_E_NOMEM, "out of memory");
    }
    ds_param_reader in = {host, DS_OK};
    self->host = host;
    self->problem = problem;
    self->n = (size_t)problem->n;
    self->options = lm_read_options(&in);
    self->residuals = (int)ds_param_int(&in, "residuals");
    self->use_x0 = ds_param_int(&in, "use_x0") != 0;
    if (in.status != DS_OK) {
        levenberg_destroy(self);
        return in.status;
    }
    *out = self;
    return DS_OK;
}

static const ds_param *const params[] = {
    LM_PARAMS,
    DS_BOOL("use_x0", "true", "The first search begins at the start point that the environment suggests."),
    NULL};

static const ds_desc desc = {
    .struct_size = sizeof(ds_desc),
    .kind = DS_KIND_OPTIMIZER,
    .flags = DS_OPT_USES_GRADIENT,
    .id = "lm",
    .version = "0.1",
    .license = "Apache-2.0",
    .summary = "Levenberg-Marquardt searches for sums of squares",
    .description =
        "Repeats: linearise the residuals at x; step to the minimum of the linear model, damped; accept "
        "the step where the sum of squares falls as predicted, else damp more. It ends where nothing is "
        "gained, and begins again at a random point.\n"
        "The choice where the loss is a sum of squares and the environment offers its residuals: it then "
        "converges almost as fast as Newton's method. Without residuals it sees the loss as one "
        "residual, which makes it a damped gradient descent.",
    .citation =
        "K. Levenberg 1944; D. Marquardt: An algorithm for least-squares estimation of nonlinear "
        "parameters. SIAM J. Appl. Math. 11 (1963) 431-441; K. Madsen, H. Nielsen, O. Tingleff: Methods "
        "for non-linear least squares problems. DTU 2004",
    .params = params,
};

static const ds_optimizer_vtable vtable = {
    .struct_size = sizeof(ds_optimizer_vtable),
    .create = levenberg_create,
    .destroy = levenberg_destroy,
    .run = levenberg_run,
};

DS_DEFINE_OPTIMIZER(desc, vtable)
