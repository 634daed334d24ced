/* SPDX-License-Identifier: Apache-2.0 */
/* opt_base.h - a sound optimizer (random search) with holes in which the files beside it commit one sin each:
 * BAD_X(u) makes a variable from a uniform number, BAD_AFTER is a statement after each evaluation, BAD_WANT
 * what is wanted beside the loss, BAD_GRAD where gradients go, BAD_USES and BAD_NEEDS what it makes use of
 * and needs, BAD_PARAMS a list of parameters, BAD_CODE what they need. */
#include <diffsim/diffsim.h>
#include <diffsim/helper/random.h>
#include <stdlib.h>

#ifndef BAD_X
#define BAD_X(u) (p->lower[i] + (u) * (p->upper[i] - p->lower[i]))
#endif
#ifndef BAD_AFTER
#define BAD_AFTER
#endif
#ifndef BAD_WANT
#define BAD_WANT 0
#endif
#ifndef BAD_GRAD
#define BAD_GRAD (s->x + p->n)
#endif
#ifndef BAD_USES
#define BAD_USES NULL
#endif
#ifndef BAD_NEEDS
#define BAD_NEEDS NULL
#endif
#ifndef BAD_CODE
#define BAD_CODE
#endif
#ifndef BAD_PARAMS
#define BAD_PARAMS NULL
#endif

typedef struct search {
    const ds_host *host;
    const ds_problem *problem;
    ds_random random;
    double x[];
} search;

BAD_CODE

static ds_status create(const ds_host *host, const ds_problem *problem, void **out)
{
    search *s = calloc(1, sizeof *s + 2 * problem->n * sizeof(double));
    if (s == NULL) {
        host->error(host, DS_E_NOMEM, "out of memory");
        return DS_E_NOMEM;
    }
    s->host = host;
    s->problem = problem;
    s->random = ds_random_open(host->seed, "search", 0);
    *out = s;
    return DS_OK;
}

static ds_status run(void *self, const ds_objective *objective)
{
    search *s = self;
    const ds_problem *p = s->problem;
    double f;
    uint64_t done;
    ds_rows rows = {
        .struct_size = sizeof rows, .want = BAD_WANT, .count = 1, .n = p->n, .stride = p->n, .x = s->x};
    const ds_results results = {.struct_size = sizeof results, .stride = p->n, .loss = &f, .grad = BAD_GRAD};
    for (;;) {
        for (uint64_t i = 0; i < p->n; i++) {
            s->x[i] = BAD_X(ds_random_uniform(&s->random));
        }
        ds_status status = objective->evaluate(objective, &rows, NULL, &results, &done);
        BAD_AFTER
        if (status != DS_OK) {
            return status;
        }
    }
}

static const ds_optimizer_vtable vtable = {sizeof vtable, 0, create, free, run, NULL};
static const ds_param *const params[] = {BAD_PARAMS, NULL};
static const char *const uses[] = {BAD_USES, NULL};
static const char *const needs[] = {BAD_NEEDS, NULL};
static const ds_desc desc = {.struct_size = sizeof desc,
                             .kind = DS_KIND_OPTIMIZER,
                             .id = BAD_ID,
                             .version = "1",
                             .license = "Apache-2.0",
                             .summary = "A bad optimizer.",
                             .description = "",
                             .citation = "",
                             .params = params,
                             .needs = needs,
                             .uses = uses};
DS_DEFINE_OPTIMIZER(desc, vtable)
