/* SPDX-License-Identifier: Apache-2.0 */
/* rand - random search: every point is drawn uniformly from the box, whatever the answers are.
 * The baseline that any other optimizer has to beat at equal budget. Independent points, or a Sobol sequence.
 */
#include <diffsim/plugin.h>
#include <diffsim/helper/params.h>
#include <diffsim/random.h>

#include "methods/base/sobol.h"

#include <stdlib.h>
#include <string.h>

/* Rows per call: enough to feed the workers. Results do not depend on it. */
enum { ROWS = 64 };

enum { IID = 0, SOBOL = 1 };
static const char *const sequences[] = {"iid", "sobol", NULL};

static const ds_param *const params[] = {
    DS_ENUM("sequence", "iid", sequences,
            "iid = independent points; sobol = Joe and Kuo's sequence with a random digital shift, which "
            "fills the box more evenly (up to 53 variables; independent points beyond)."),
    DS_BOOL("use_x0", "false", "Evaluate the start point that the environment suggests first."), NULL};

typedef struct rand_search {
    const ds_problem *problem;
    ds_random random;
    int64_t use_x0, sequence;
    uint64_t drawn; /* points so far */
    double *x;      /* ROWS x n */
    double *loss;   /* ROWS */
} rand_search;

static void rand_destroy(void *self)
{
    rand_search *r = self;
    if (r) {
        free(r->x);
        free(r->loss);
        free(r);
    }
}

static ds_status rand_create(const ds_host *host, const ds_problem *problem, void **out)
{
    rand_search *r = calloc(1, sizeof *r);
    if (r) {
        r->x = malloc(ROWS * problem->n * sizeof(double));
        r->loss = malloc(ROWS * sizeof(double));
    }
    if (!r || !r->x || !r->loss) {
        rand_destroy(r);
        return ds_host_fail(host, DS_E_NOMEM, "out of memory");
    }
    r->problem = problem;
    r->random = ds_random_open(host->seed, "sample", 0);
    ds_param_reader in = {host, DS_OK};
    r->use_x0 = ds_param_int(&in, "use_x0");
    r->sequence = ds_param_int(&in, "sequence");
    if (problem->n > SOBOL_MAX_DIM) {
        r->sequence = IID;
    }
    if (in.status != DS_OK) {
        rand_destroy(r);
        return in.status;
    }
    *out = r;
    return DS_OK;
}

static ds_status evaluate(rand_search *r, const ds_objective *objective, uint64_t count, const char *tag)
{
    ds_batch batch = {.struct_size = sizeof batch, .count = count, .x = r->x, .loss = r->loss, .tag = tag};
    return objective->evaluate(objective, &batch);
}

/* The next ROWS points of the unit cube. */
static void draw(rand_search *r)
{
    if (r->sequence == SOBOL) {
        ds_random shift = r->random; /* every block with the same random shift */
        sobol_points_from(r->drawn, ROWS, r->problem->n, &shift, r->x);
        r->drawn += ROWS;
        return;
    }
    for (uint64_t k = 0; k < ROWS * r->problem->n; k++) {
        r->x[k] = ds_random_uniform(&r->random);
    }
}

static void stretch_to_box(const ds_problem *p, double *x)
{
    for (uint64_t k = 0; k < ROWS * p->n; k++) {
        double lower = p->lower[k % p->n], upper = p->upper[k % p->n];
        x[k] = fmin(fmax((1 - x[k]) * lower + x[k] * upper, lower), upper);
    }
}

static ds_status rand_run(void *self, const ds_objective *objective)
{
    rand_search *r = self;
    ds_status status = DS_OK;
    if (r->use_x0) {
        memcpy(r->x, r->problem->x0, r->problem->n * sizeof(double));
        status = evaluate(r, objective, 1, "init");
    }
    while (status == DS_OK) {
        draw(r);
        stretch_to_box(r->problem, r->x);
        status = evaluate(r, objective, ROWS, "sample");
    }
    return status;
}

static const ds_desc desc = {
    .struct_size = sizeof(ds_desc),
    .kind = DS_KIND_OPTIMIZER,
    .id = "rand",
    .version = "1",
    .license = "Apache-2.0",
    .summary = "Random search: points drawn uniformly from the box.",
    .description = "",
    .citation = "",
    .params = params,
};

static const ds_optimizer_vtable vtable = {
    .struct_size = sizeof(ds_optimizer_vtable),
    .create = rand_create,
    .destroy = rand_destroy,
    .run = rand_run,
};

DS_DEFINE_OPTIMIZER(desc, vtable)
