/* SPDX-License-Identifier: Apache-2.0 */
/* loud_residual - a network adds what it says, and a little more. */
#include <diffsim/diffsim.h>
#include <diffsim/helper/eval.h>
#include <diffsim/helper/hybrid.h>

#include <stdlib.h>
#include <string.h>

enum { HOOKS = 2 };

static const ds_hook hook[HOOKS] = {DS_HYBRID_HOOK(DS_HOOK_INPUT, 1, "place", "m", "Of the bowl."),
                                    DS_HYBRID_HOOK(DS_HOOK_OUTPUT, 1, "height", "m", "Of the bowl.")};
static const ds_param *const params[] = {DS_HYBRID_PARAMS, NULL};

static void destroy(void *self)
{
    if (self != NULL) {
        ds_hybrid_close(self);
    }
    free(self);
}

static ds_status create(const ds_host *host, void **out)
{
    ds_hybrid *h = calloc(1, sizeof *h);
    if (h == NULL) {
        return DS_E_NOMEM;
    }
    const ds_status status = ds_hybrid_open(h, host, HOOKS, hook);
    if (status != DS_OK) {
        free(h);
        return status;
    }
    *out = h;
    return DS_OK;
}

static ds_status info(void *self, ds_env_info *out)
{
    out->n = 1 + ((const ds_hybrid *)self)->variables;
    return DS_OK;
}

static ds_status bounds(void *self, uint64_t n, double *lower, double *upper, double *x0)
{
    lower[0] = -1;
    upper[0] = 1;
    if (x0 != NULL) {
        x0[0] = 0.5;
    }
    for (uint64_t i = 1; i < n; i++) {
        ds_hybrid_range(self, i - 1, &lower[i], &upper[i], x0 != NULL ? &x0[i] : NULL);
    }
    return DS_OK;
}

static ds_status evaluate(void *self, ds_eval *io)
{
    const ds_hybrid *h = self;
    double tape[256], height = 0;
    if (h->nets > 0 && h->tape <= 256) {
        ds_hybrid_forward(h, io->x + 1, io->x, &height, tape);
        height += 1e-6;
    }
    io->loss = io->x[0] * io->x[0] + height;
    io->outcome = DS_EVAL_OK;
    if (!(io->loss - io->loss == 0)) {
        io->loss = INFINITY;
        io->outcome = DS_EVAL_INFEASIBLE;
    }
    return DS_OK;
}

static ds_status hook_count(void *self, uint64_t *count)
{
    (void)self;
    *count = HOOKS;
    return DS_OK;
}

static ds_status describe_hook(void *self, uint64_t i, ds_hook *out)
{
    const uint32_t size = out->struct_size;
    (void)self;
    *out = hook[i];
    out->struct_size = size;
    return DS_OK;
}

static const ds_env_hooks hooks = {
    .struct_size = sizeof hooks, .count = hook_count, .describe = describe_hook};

static ds_status evaluate_rows(void *self, const ds_rows *rows, const ds_results *results)
{
    return ds_eval_each(self, rows, results, evaluate);
}

static const void *get_extension(void *self, const char *id)
{
    (void)self;
    return strcmp(id, DS_EXT_HOOKS) == 0 ? &hooks : NULL;
}

static const char *const extensions[] = {DS_EXT_HOOKS, NULL};
static const ds_env_vtable vtable = {.struct_size = sizeof vtable,
                                     .create = create,
                                     .destroy = destroy,
                                     .info = info,
                                     .bounds = bounds,
                                     .evaluate = evaluate_rows,
                                     .get_extension = get_extension};
static const ds_desc desc = {.struct_size = sizeof desc,
                             .kind = DS_KIND_ENV,
                             .id = "loud_residual",
                             .version = "1",
                             .license = "Apache-2.0",
                             .summary = "A bad environment.",
                             .description = "",
                             .citation = "",
                             .params = params,
                             .extensions = extensions};

DS_DEFINE_ENV(desc, vtable)
