/* SPDX-License-Identifier: Apache-2.0 */
/* rand.c - random search: draws every point uniformly from the box, whatever the losses are. The baseline at
 * equal budget for any other optimizer. Independent points, or a Sobol sequence. */
#include "methods/base/own.h"
#include "methods/base/sobol.h"

/* Rows per call: enough for all workers, fewer where they are long. Results do not depend on it. */
enum { ROWS = 64, FEW = 4, NUMBERS = 1 << 24 };

enum { IID = 0, SOBOL = 1 };
static const char *const sequences[] = {"iid", "sobol", NULL};

static const ds_param *const params[] = {
    DS_ENUM("sequence", "iid", sequences,
            "iid = independent points; sobol = Joe and Kuo's sequence with a random digital shift, which "
            "fills the box more evenly (up to 53 variables; independent points beyond)."),
    DS_OPT_START_PARAMS("false"), NULL};

typedef struct rand_search {
    ds_opt_kit kit;
    ds_random random;
    int64_t sequence;
    uint64_t drawn; /* points so far */
    uint64_t rows;  /* of one call */
    double *x;      /* rows x n */
    double *loss;   /* rows */
} rand_search;

static void read_parameters(void *self, ds_param_reader *in)
{
    rand_search *r = self;
    r->sequence = r->kit.n > SOBOL_MAX_DIM ? IID : ds_param_int(in, "sequence");
    r->random = ds_random_open(r->kit.host->seed, "sample", 0);
}

static int allocate(void *self)
{
    rand_search *r = self;
    r->rows = NUMBERS / r->kit.n < ROWS ? NUMBERS / r->kit.n : ROWS;
    r->rows = r->rows > FEW ? r->rows : FEW;
    r->x = ds_memory_doubles(&r->kit.memory, r->rows * r->kit.n);
    r->loss = ds_memory_doubles(&r->kit.memory, r->rows);
    return 1;
}

/* The next points of the unit cube. */
static void draw(rand_search *r)
{
    if (r->sequence == SOBOL) {
        ds_random shift = r->random; /* every block with the same random shift */
        sobol_points_from(r->drawn, r->rows, r->kit.n, &shift, r->x);
        r->drawn += r->rows;
        return;
    }
    for (uint64_t k = 0; k < r->rows * r->kit.n; k++) {
        r->x[k] = ds_random_uniform(&r->random);
    }
}

static void stretch_to_box(const ds_problem *p, uint64_t rows, double *x)
{
    for (uint64_t k = 0; k < rows * p->n; k++) {
        double lower = p->lower[k % p->n], upper = p->upper[k % p->n];
        x[k] = fmin(fmax((1 - x[k]) * lower + x[k] * upper, lower), upper);
    }
}

static ds_status rand_round(void *self)
{
    rand_search *r = self;
    draw(r);
    stretch_to_box(r->kit.problem, r->rows, r->x);
    ds_evaluator_request request = {.count = r->rows, .x = r->x, .loss = r->loss};
    return ds_evaluator_send(&r->kit.evaluator, (ds_evaluator_label){"sample", 0}, &request);
}

static const ds_desc desc = {
    OPT_DESC("rand", "1"),
    .summary = "Random search: points drawn uniformly from the box.",
    .description = "",
    .citation = "",
};

static const ds_opt_table table = {
    .size = sizeof(rand_search),
    .read = read_parameters,
    .allocate = allocate,
    .round = rand_round,
};

DS_OPT_KIT_DEFINE(table, desc)
