/* SPDX-License-Identifier: Apache-2.0 */
/* bowl.c - an environment by the bare interface: five functions and a table, up to 64 rows per call. */
#include <diffsim/diffsim.h>
#include <stdlib.h>

typedef struct bowl {
    double stiffness;
} bowl;

static const ds_param *const params[] = {DS_REAL("stiffness", "2", 0.1, 10, "N/m", "Of the bowl."), NULL};

static ds_status create(const ds_host *host, void **out)
{
    bowl *b = malloc(sizeof *b);
    if (b == NULL) {
        host->error(host, DS_E_NOMEM, "out of memory for a bowl");
        return DS_E_NOMEM;
    }
    const ds_status status = host->get_real(host, "stiffness", &b->stiffness);
    if (status != DS_OK) {
        free(b);
        return status;
    }
    *out = b;
    return DS_OK;
}

static void destroy(void *self)
{
    free(self);
}

static ds_status info(void *self, ds_env_info *out)
{
    (void)self;
    out->n = 2;
    out->steps = 1;
    out->dt = 0;
    out->loss_floor = 0;
    out->max_rows = 64;
    return DS_OK;
}

static ds_status bounds(void *self, uint64_t n, double *lower, double *upper, double *x0)
{
    (void)self;
    for (uint64_t i = 0; i < n; i++) {
        lower[i] = -1;
        upper[i] = 1;
        if (x0 != NULL) {
            x0[i] = 0.5;
        }
    }
    return DS_OK;
}

static ds_status evaluate(void *self, const ds_rows *rows, const ds_results *results)
{
    const bowl *b = self;
    for (uint64_t k = 0; k < rows->count; k++) {
        const double *x = rows->x + k * rows->stride;
        const double loss = 0.5 * b->stiffness * (x[0] * x[0] + x[1] * x[1]);
        results->loss[k] = isfinite(loss) ? loss : INFINITY;
        results->outcome[k] = isfinite(loss) ? DS_EVAL_OK : DS_EVAL_DIVERGED;
        results->cost_steps[k] = 1;
        if (rows->want & DS_WANT_GRAD) {
            double *grad = results->grad + k * results->stride;
            grad[0] = b->stiffness * x[0];
            grad[1] = b->stiffness * x[1];
            results->grad_kind[k] = DS_GRAD_ADJOINT;
        }
    }
    return DS_OK;
}

static const ds_env_vtable vtable = {.struct_size = sizeof vtable,
                                     .create = create,
                                     .destroy = destroy,
                                     .info = info,
                                     .bounds = bounds,
                                     .evaluate = evaluate};
static const ds_desc desc = {.struct_size = sizeof desc,
                             .kind = DS_KIND_ENV,
                             .flags = DS_ENV_GRADIENT,
                             .id = "bowl",
                             .version = "1",
                             .license = "Apache-2.0",
                             .summary = "A quadratic bowl.",
                             .description = "",
                             .citation = "",
                             .params = params};
DS_DEFINE_ENV(desc, vtable)
