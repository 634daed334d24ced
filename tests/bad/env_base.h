/* SPDX-License-Identifier: Apache-2.0 */
/* env_base.h - a sound environment (a paraboloid with exact gradient) with holes in which the files beside it
 * commit one sin each: BAD_CREATE and BAD_EVALUATE (at its end) are statements, BAD_DESTROY is a function,
 * BAD_GETTER changes a status, BAD_ENTRIES is how much of the gradient is written, BAD_MAGIC, BAD_MINOR and
 * BAD_SIZE (of the descriptor) are numbers, BAD_FLAGS and BAD_NEEDS fill the descriptor, BAD_TOLERANCE and
 * BAD_STEPS and BAD_MAX_ROWS ds_env_info, BAD_ROWS evaluates a table, BAD_EXTENSIONS is a list of ids,
 * BAD_TABLE(id) the table for an id, BAD_TABLES the code that they need and BAD_FIELDS what it adds to an
 * instance. */
#include <diffsim/diffsim.h>
#include <diffsim/helper/eval.h>
#include <stdlib.h>

#ifndef BAD_CREATE
#define BAD_CREATE
#endif
#ifndef BAD_DESTROY
#define BAD_DESTROY free
#endif
#ifndef BAD_EVALUATE
#define BAD_EVALUATE
#endif
#ifndef BAD_ENTRIES
#define BAD_ENTRIES (io->n)
#endif
#ifndef BAD_GETTER
#define BAD_GETTER(status) (status)
#endif
#ifndef BAD_FIELDS
#define BAD_FIELDS
#endif
#ifndef BAD_EXTENSIONS
#define BAD_EXTENSIONS NULL
#define BAD_TABLE(id) NULL
#endif
#ifndef BAD_TABLES
#define BAD_TABLES
#endif
#ifndef BAD_FLAGS
#define BAD_FLAGS DS_ENV_GRADIENT
#endif
#ifndef BAD_NEEDS
#define BAD_NEEDS NULL
#endif
#ifndef BAD_STEPS
#define BAD_STEPS 0
#endif
#ifndef BAD_TOLERANCE
#define BAD_TOLERANCE 0
#endif
#ifndef BAD_MAX_ROWS
#define BAD_MAX_ROWS 1
#endif
#ifndef BAD_ROWS
#define BAD_ROWS ds_eval_each(self, rows, results, evaluate)
#endif
#ifndef BAD_MAGIC
#define BAD_MAGIC DS_MAGIC
#endif
#ifndef BAD_MINOR
#define BAD_MINOR DS_ABI_MINOR
#endif
#ifndef BAD_SIZE
#define BAD_SIZE sizeof(ds_desc)
#endif

typedef struct bowl {
    const ds_host *host;
    double centre;
    BAD_FIELDS
} bowl;

static const ds_param *const params[] = {DS_REAL("centre", "0.25", -1, 1, "", "Where the minimum is."), NULL};

static ds_status create(const ds_host *host, void **out)
{
    bowl *b = calloc(1, sizeof *b);
    if (b == NULL || BAD_GETTER(host->get_real(host, "centre", &b->centre)) != DS_OK) {
        host->error(host, DS_E_GENERIC, "no memory or no centre");
        free(b);
        return DS_E_GENERIC;
    }
    b->host = host;
    BAD_CREATE
    *out = b;
    return DS_OK;
}

static ds_status info(void *self, ds_env_info *out)
{
    (void)self;
    out->n = 3;
    out->steps = BAD_STEPS;
    out->dt = 0;
    out->loss_floor = 0;
    out->tolerance = BAD_TOLERANCE;
    out->max_rows = BAD_MAX_ROWS;
    return DS_OK;
}

static ds_status bounds(void *self, uint64_t n, double *lower, double *upper, double *x0)
{
    (void)self;
    for (uint64_t i = 0; i < n; i++) {
        lower[i] = -2;
        upper[i] = 2;
        if (x0 != NULL) {
            x0[i] = 1;
        }
    }
    return DS_OK;
}

static ds_status evaluate(void *self, ds_eval *io)
{
    bowl *b = self;
    io->loss = 0;
    for (uint64_t i = 0; i < io->n; i++) {
        double d = io->x[i] - b->centre;
        io->loss += d * d;
        if ((io->want & DS_WANT_GRAD) && i < BAD_ENTRIES) {
            io->grad[i] = 2 * d;
        }
    }
    io->outcome = DS_EVAL_OK;
    io->grad_kind = DS_GRAD_ADJOINT;
    if (!isfinite(io->loss)) {
        io->loss = INFINITY;
        io->outcome = DS_EVAL_INFEASIBLE;
    }
    BAD_EVALUATE
    return DS_OK;
}

BAD_TABLES

static ds_status evaluate_rows(void *self, const ds_rows *rows, const ds_results *results)
{
    return BAD_ROWS;
}

static const void *get_extension(void *self, const char *id)
{
    (void)self;
    (void)id;
    return BAD_TABLE(id);
}

static const char *const extensions[] = {BAD_EXTENSIONS, NULL};
static const char *const needs[] = {BAD_NEEDS, NULL};
static const ds_env_vtable vtable = {.struct_size = sizeof vtable,
                                     .create = create,
                                     .destroy = BAD_DESTROY,
                                     .info = info,
                                     .bounds = bounds,
                                     .evaluate = evaluate_rows,
                                     .get_extension = get_extension};
static const ds_desc desc = {.struct_size = BAD_SIZE,
                             .kind = DS_KIND_ENV,
                             .flags = BAD_FLAGS,
                             .id = BAD_ID,
                             .version = "1",
                             .license = "Apache-2.0",
                             .summary = "A bad environment.",
                             .description = "",
                             .citation = "",
                             .params = params,
                             .extensions = extensions,
                             .needs = needs};

const ds_plugin *ds_plugin_query(uint32_t host_major, uint32_t host_minor)
{
    static const ds_plugin plugin = {.magic = BAD_MAGIC,
                                     .struct_size = sizeof(ds_plugin),
                                     .abi_major = DS_ABI_MAJOR,
                                     .abi_minor = BAD_MINOR,
                                     .layout = DS_LAYOUT,
                                     .build = "",
                                     .desc = &desc,
                                     .env = &vtable};
    (void)host_major;
    (void)host_minor;
    return &plugin;
}
