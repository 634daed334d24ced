/* SPDX-License-Identifier: Apache-2.0 */
/* rogue_env.c - an environment that does things to its process (rogue.h), for tests of the host. Its loss
 * is that of a sphere, with digits that depend on the floating-point mode. */
#define _GNU_SOURCE
#include <diffsim/helper/eval.h>
#include <diffsim/plugin.h>

#include <stdint.h>

#include "rogue.h"

static const ds_param *const params[] = {DS_TEXT("create", "", "What create() does."),
                                         DS_TEXT("evaluate", "", "What evaluate() does behind its work."),
                                         DS_TEXT("destroy", "", "What destroy() does."), NULL};

typedef struct env {
    const char *evaluate, *destroy;
} env;

static ds_status create(const ds_host *host, void **out)
{
    const char *what = "";
    env *s = calloc(1, sizeof *s);
    if (s == NULL) {
        return DS_E_NOMEM;
    }
    host->get_text(host, "create", &what);
    host->get_text(host, "evaluate", &s->evaluate);
    host->get_text(host, "destroy", &s->destroy);
    rogue_do(what);
    *out = s;
    return DS_OK;
}

static void destroy(void *self)
{
    env *s = self;
    if (s != NULL) {
        rogue_do(s->destroy);
        free(s);
    }
}

static ds_status info(void *self, ds_env_info *out)
{
    (void)self;
    out->n = 3;
    return DS_OK;
}

static ds_status bounds(void *self, uint64_t n, double *lower, double *upper, double *x0)
{
    (void)self;
    for (uint64_t i = 0; i < n; i++) {
        lower[i] = -1.0;
        upper[i] = 1.0;
        x0[i] = 0.25;
    }
    return DS_OK;
}

static ds_status evaluate(void *self, ds_eval *io)
{
    const env *s = self;
    volatile double sum = 0.0;
    for (uint64_t i = 0; i < io->n; i++) {
        sum = sum + io->x[i] * io->x[i] / 3.0;
    }
    io->loss = sum;
    rogue_do(s->evaluate);
    return DS_OK;
}

static ds_status evaluate_rows(void *self, const ds_rows *rows, const ds_results *results)
{
    return ds_eval_each(self, rows, results, evaluate);
}

static const ds_desc desc = {
    .struct_size = sizeof(ds_desc),
    .kind = DS_KIND_ENV,
    .id = "rogue_env",
    .version = "1",
    .license = "Apache-2.0",
    .summary = "An environment that does things to its process.",
    .description = "",
    .citation = "",
    .params = params,
};

static const ds_env_vtable vtable = {
    .struct_size = sizeof(ds_env_vtable),
    .create = create,
    .destroy = destroy,
    .info = info,
    .bounds = bounds,
    .evaluate = evaluate_rows,
};

ROGUE_PLUGIN(.env = &vtable)
