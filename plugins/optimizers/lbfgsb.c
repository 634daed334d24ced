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
#include "methods/base/blas.h"
#include "methods/base/own.h"
#include "methods/gradient/lbfgsb.h"
#include "methods/gradient/descent.h"

#include <limits.h>
#include <math.h>

/* The largest component of the first step, where the box is [-1, 1]. A random start is far from a
 * minimum, and a long step leaves its basin: on Ackley's function in 30 variables the median falls from 7.6
 * (0.1) to 1.3. */
#define FIRST_STEP 1.0

typedef struct arm {
    lbfgsb *search;
    double best;
    int64_t told;  /* evaluations of this search */
    int64_t stall; /* of them, the last ones that were no improvement */
} arm;

typedef struct multi_lbfgsb {
    multistart starts;
    lbfgsb_options options;
    int64_t patience, limit;
    arm *arms;
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

static void read_parameters(void *self_, ds_param_reader *in)
{
    static const local_search quasi_newton = {multi_lbfgsb_begin, multi_lbfgsb_point, multi_lbfgsb_tell};
    multi_lbfgsb *self = self_;
    blas_use_one_thread();
    self->options = (lbfgsb_options){(int)ds_param_int(in, "memory"),
                                     ds_param_real(in, "ftol"),
                                     ds_param_real(in, "gtol"),
                                     INT_MAX,
                                     INT_MAX,
                                     FIRST_STEP};
    self->limit = ds_param_int(in, "j");
    self->patience = ds_param_int(in, "patience");
    multistart_read(&self->starts, in, &quasi_newton);
}

static int allocate(void *self_)
{
    multi_lbfgsb *self = self_;
    ds_opt_kit *kit = &self->starts.kit;
    const double *box = ds_opt_kit_box(&kit->memory, kit->n);
    self->arms = ds_memory_take(&kit->memory, self->starts.arms, sizeof *self->arms);
    int made = multistart_allocate(&self->starts);
    for (size_t i = 0; made && i < self->starts.arms; i++) {
        self->arms[i].search = lbfgsb_create(kit->n, box, box + kit->n, &self->options);
        made = self->arms[i].search != NULL;
    }
    return made;
}

static void lbfgsb_release(void *self_)
{
    multi_lbfgsb *self = self_;
    for (size_t i = 0; self->arms && i < self->starts.arms; i++) {
        lbfgsb_destroy(self->arms[i].search);
    }
}

static const ds_param *const params[] = {
    DS_INT("memory", "10", 1, 20, "",
           "Pairs of steps and gradient changes that the model of the loss is made of."),
    DS_REAL("ftol", "2.220446e-9", 0, 1, "",
            "A search ends when a step lowers the loss by less than this share of its fall over the last 10 "
            "steps."),
    DS_REAL(
        "gtol", "1e-5", 0, INFINITY, "",
        "A search ends when no component of the projected gradient exceeds this share of the largest one at "
        "its start, and of the fall of the loss over the last 10 steps, where the box is [-1, 1]."),
    DS_INT("patience", "20", 0, 1e6, "",
           "A search ends after more than this many evaluations in a row without improvement; 3 suits rugged "
           "losses."),
    DS_INT("j", "0", 0, 1e9, "", "Most evaluations of a search, its start included; 0 = no limit."),
    MULTISTART_PARAMS,
    NULL};

static const ds_desc desc = {
    OPT_DESC("lbfgsb", "0.3.0"),
    .needs = DS_OPT_IDS(DS_HAS_GRADIENT),
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
};

static const ds_opt_table table = {
    .size = sizeof(multi_lbfgsb),
    .no_memory = "out of memory: lower arms or memory",
    .read = read_parameters,
    .allocate = allocate,
    .release = lbfgsb_release,
    .begins_at_start = ds_opt_kit_begins_at_start,
    .begin = multistart_begin,
    .round = multistart_round,
};

DS_OPT_KIT_DEFINE(table, desc)
