/* SPDX-License-Identifier: Apache-2.0 */
/* rand - random search: every point is drawn uniformly from the box, whatever the answers are.
 * The baseline that any other optimizer has to beat at equal budget. */
#include <diffsim/plugin.h>
#include <diffsim/random.h>

#include <stdlib.h>
#include <string.h>

/* Rows per call: enough to feed the workers. Results do not depend on it. */
enum { ROWS = 64 };

static const ds_param *const params[] = {
    DS_BOOL("use_x0", "false", "Evaluate the start point that the environment suggests first."), NULL};

typedef struct rand_search {
    const ds_problem *problem;
    ds_random random;
    int64_t use_x0;
    double *x;    /* ROWS x n */
    double *loss; /* ROWS */
} rand_search;

static void destroy(void *self)
{
    rand_search *r = self;
    if (r) {
        free(r->x);
        free(r->loss);
        free(r);
    }
}

static ds_status create(const ds_host *host, const ds_problem *problem, void **out)
{
    rand_search *r = calloc(1, sizeof *r);
    if (r) {
        r->x = malloc(ROWS * problem->n * sizeof(double));
        r->loss = malloc(ROWS * sizeof(double));
    }
    if (!r || !r->x || !r->loss) {
        destroy(r);
        host->error(host, DS_E_NOMEM, "out of memory");
        return DS_E_NOMEM;
    }
    r->problem = problem;
    r->random = ds_random_open(host->seed, "sample", 0);
    ds_status status = host->get_int(host, "use_x0", &r->use_x0);
    if (status != DS_OK) {
        destroy(r);
        return status;
    }
    *out = r;
    return DS_OK;
}

static ds_status evaluate(rand_search *r, const ds_objective *objective, uint64_t count, const char *tag)
{
    ds_batch batch = {.struct_size = sizeof batch, .count = count, .x = r->x, .loss = r->loss, .tag = tag};
    return objective->evaluate(objective, &batch);
}

static ds_status run(void *self, const ds_objective *objective)
{
    rand_search *r = self;
    const ds_problem *p = r->problem;
    ds_status status = DS_OK;
    if (r->use_x0) {
        memcpy(r->x, p->x0, p->n * sizeof(double));
        status = evaluate(r, objective, 1, "init");
    }
    while (status == DS_OK) {
        for (uint64_t k = 0; k < ROWS * p->n; k++) {
            double lower = p->lower[k % p->n], upper = p->upper[k % p->n];
            double u = ds_random_uniform(&r->random), x = (1 - u) * lower + u * upper;
            r->x[k] = fmin(fmax(x, lower), upper);
        }
        status = evaluate(r, objective, ROWS, "sample");
    }
    return status;
}

static const ds_optimizer_vtable vtable = {sizeof(ds_optimizer_vtable), 0, create, destroy, run, NULL};

static const ds_desc desc = {
    sizeof(ds_desc),
    DS_KIND_OPTIMIZER,
    0,
    "rand",
    "1",
    "Apache-2.0",
    "Random search: points drawn uniformly from the box.",
    "",
    "",
    params,
    NULL,
};

DS_DEFINE_OPTIMIZER(desc, vtable)
