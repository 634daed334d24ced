/* SPDX-License-Identifier: Apache-2.0 */
/* lbfgsb.c - L-BFGS-B on the simulated loss, from random starts. R. Byrd, P. Lu, J. Nocedal, C. Zhu, "A
 * limited memory algorithm for bound constrained optimization", SIAM J. Sci. Comput. 16 (1995):
 *
 *     repeat
 *         s ~ Uniform[-1, 1]^n
 *         repeat
 *             c = generalised Cauchy point of the limited-memory model along the projected gradient
 *             d = minimiser of the model over the variables that are free at c, minus s
 *             s = s + t d, with t from the line search of More and Thuente
 *         until the projected gradient or the decrease is small, or nothing was gained for `patience`
 *             evaluations
 *
 * Every trial of a line search is one simulation. A trial that fails counts as infinitely high.
 */
#include <diffsim/plugin.h>
#include <diffsim/helper/params.h>

#include "methods/base/blas.h"
#include "methods/gradient/lbfgsb.h"
#include "methods/gradient/multistart.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>

typedef struct arm {
    lbfgsb *search;
    double best;
    int64_t told;  /* evaluations of this search */
    int64_t stall; /* of them, the last ones that were no improvement */
} arm;

typedef struct multi_lbfgsb {
    lbfgsb_options options;
    int64_t patience, limit;
    arm *arms;
    multistart starts;
} multi_lbfgsb;

static void multi_lbfgsb_begin(void *self_, size_t i, const double *start)
{
    multi_lbfgsb *self = self_;
    arm *a = &self->arms[i];
    lbfgsb_start(a->search, start);
    a->best = INFINITY;
    a->stall = a->told = 0;
}

static const double *multi_lbfgsb_point(void *self_, size_t i)
{
    const multi_lbfgsb *self = self_;
    return lbfgsb_point(self->arms[i].search);
}

static int multi_lbfgsb_tell(void *self_, size_t i, double loss, const double *gradient, uint32_t outcome)
{
    multi_lbfgsb *self = self_;
    arm *a = &self->arms[i];
    a->stall = loss < a->best ? 0 : a->stall + 1;
    a->best = fmin(a->best, loss);
    if (outcome == DS_EVAL_BAD_GRAD || a->stall > self->patience || ++a->told == self->limit) {
        return 0;
    }
    return lbfgsb_tell(a->search, loss, gradient) == LBFGSB_EVALUATE;
}

static ds_status multi_lbfgsb_run(void *self_, const ds_objective *objective)
{
    static const local_search quasi_newton = {multi_lbfgsb_begin, multi_lbfgsb_point, multi_lbfgsb_tell};
    multi_lbfgsb *self = self_;
    return multistart_run(&self->starts, objective, &quasi_newton, self);
}

static void multi_lbfgsb_destroy(void *self_)
{
    multi_lbfgsb *self = self_;
    if (self) {
        for (size_t i = 0; self->arms && i < self->starts.arms; i++) {
            lbfgsb_destroy(self->arms[i].search);
        }
        free(self->arms);
        multistart_free(&self->starts);
        free(self);
    }
}

static ds_status allocate(multi_lbfgsb *self, const ds_host *host, size_t n)
{
    double *bounds = malloc(2 * n * sizeof(double));
    self->arms = calloc(self->starts.arms, sizeof(*self->arms));
    int ok = bounds && self->arms;
    for (size_t k = 0; ok && k < n; k++) {
        bounds[k] = -1.0;
        bounds[n + k] = 1.0;
    }
    for (size_t i = 0; ok && i < self->starts.arms; i++) {
        self->arms[i].search = lbfgsb_create(n, bounds, bounds + n, &self->options);
        ok = self->arms[i].search != NULL;
    }
    free(bounds);
    if (!ok) {
        return ds_host_fail(host, DS_E_NOMEM, "out of memory: lower arms or memory");
    }
    return DS_OK;
}

static ds_status multi_lbfgsb_create(const ds_host *host, const ds_problem *problem, void **out)
{
    blas_use_one_thread();
    ds_status status = multistart_need_gradient(host, problem, "lbfgsb");
    if (status != DS_OK) {
        return status;
    }
    multi_lbfgsb *self = calloc(1, sizeof(*self));
    if (!self) {
        return ds_host_fail(host, DS_E_NOMEM, "out of memory");
    }
    ds_param_reader in = {host, DS_OK};
    self->options = (lbfgsb_options){(int)ds_param_int(&in, "memory"), ds_param_real(&in, "ftol"),
                                     ds_param_real(&in, "gtol"), INT_MAX, INT_MAX};
    self->limit = ds_param_int(&in, "j");
    self->patience = ds_param_int(&in, "patience");
    status = multistart_init(&self->starts, &in, problem);
    status = status != DS_OK ? status : allocate(self, host, (size_t)problem->n);
    if (status != DS_OK) {
        multi_lbfgsb_destroy(self);
        return status;
    }
    *out = self;
    return DS_OK;
}

static const ds_param *const params[] = {
    DS_INT("memory", "10", 1, 20, "",
           "Pairs of steps and gradient changes that the model of the loss is made of."),
    DS_REAL("ftol", "2.220446e-9", 0, 1, "",
            "A search ends when a step lowers the loss by less than ftol max(1, |loss|)."),
    DS_REAL(
        "gtol", "1e-5", 0, INFINITY, "",
        "A search ends when no component of the projected gradient exceeds gtol, where the box is [-1, 1]."),
    DS_INT("patience", "20", 0, 1e6, "",
           "A search ends when more than so many evaluations in a row were no improvement; 3 suits rugged "
           "losses."),
    DS_INT("j", "0", 0, 1e9, "", "Most evaluations of a search, its start included; 0 = no limit."),
    MULTISTART_PARAMS,
    NULL};

static const ds_desc desc = {
    .struct_size = sizeof(ds_desc),
    .kind = DS_KIND_OPTIMIZER,
    .flags = DS_OPT_USES_GRADIENT | DS_OPT_NEEDS_GRADIENT,
    .id = "lbfgsb",
    .version = "0.1.0",
    .license = "Apache-2.0",
    .summary = "Limited-memory quasi-Newton searches (L-BFGS-B) from random starts",
    .description =
        "Repeats: draw a start uniformly from the box; minimise a quadratic model made of the last "
        "`memory` steps over the box; search along the line to that point; until the projected "
        "gradient or the decrease is small. Every trial of a line search is one evaluation.\n"
        "The fastest choice for a smooth loss with few local minima; noise in the loss or in the "
        "gradient misleads its model.",
    .citation = "R. Byrd, P. Lu, J. Nocedal, C. Zhu: A limited memory algorithm for bound constrained "
                "optimization. SIAM J. Sci. Comput. 16 (1995) 1190-1208; J. Morales, J. Nocedal: Remark on "
                "algorithm 778. ACM Trans. Math. Softw. 38 (2011) 7",
    .params = params,
};

static const ds_optimizer_vtable vtable = {
    .struct_size = sizeof(ds_optimizer_vtable),
    .create = multi_lbfgsb_create,
    .destroy = multi_lbfgsb_destroy,
    .run = multi_lbfgsb_run,
};

DS_DEFINE_OPTIMIZER(desc, vtable)
