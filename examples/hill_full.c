/* SPDX-License-Identifier: Apache-2.0 */
/* hill_full - the environment of hill.c with every function of the interface in view: start from here where
 * the short form does not fit. x = start position [m] and start velocity [m/s]; gradient in forward mode. */
#include <diffsim/diffsim.h>
#include <diffsim/helper/params.h>
#include <stdlib.h>

enum { STEPS = 200 };
static const double DT = 0.01; /* seconds */

static const ds_param *const params[] = {DS_REAL("friction", "0.5", 0, 10, "1/s", "Damping of the velocity."),
                                         DS_REAL("target", "1", -5, 5, "m", "Where the ball should end."),
                                         NULL};

typedef struct hill {
    double friction, target;
} hill;

static ds_status create(const ds_host *host, void **out)
{
    hill *h = calloc(1, sizeof *h);
    if (h == NULL) {
        return ds_host_fail(host, DS_E_NOMEM, "no memory for a ball");
    }
    ds_param_reader in = {host, DS_OK};
    h->friction = ds_param_real(&in, "friction");
    h->target = ds_param_real(&in, "target");
    if (in.status != DS_OK) {
        free(h);
        return in.status;
    }
    *out = h;
    return DS_OK;
}

static ds_status info(void *self, ds_env_info *out)
{
    (void)self;
    out->n = 2;
    out->steps = STEPS;
    out->dt = DT;
    out->loss_floor = 0;
    return DS_OK;
}

static ds_status bounds(void *self, uint64_t n, double *lower, double *upper, double *x0)
{
    (void)self;
    for (uint64_t i = 0; i < n; i++) {
        lower[i] = -4;
        upper[i] = 4;
        if (x0 != NULL) {
            x0[i] = 0.5;
        }
    }
    return DS_OK;
}

static ds_status evaluate(void *self, ds_eval *io)
{
    const hill *h = self;
    double q = io->x[0], v = io->x[1];     /* state */
    double dq[2] = {1, 0}, dv[2] = {0, 1}; /* its derivative with respect to x */
    for (int k = 0; k < STEPS; k++) {      /* symplectic Euler */
        double slope = -3 * sin(3 * q), curvature = -9 * cos(3 * q);
        for (int i = 0; i < 2; i++) {
            dv[i] += DT * (-9.81 * curvature * dq[i] - h->friction * dv[i]);
            dq[i] += DT * dv[i];
        }
        v += DT * (-9.81 * slope - h->friction * v);
        q += DT * v;
    }
    io->loss = (q - h->target) * (q - h->target);
    if (io->want & DS_WANT_GRAD) {
        io->grad[0] = 2 * (q - h->target) * dq[0];
        io->grad[1] = 2 * (q - h->target) * dq[1];
        io->grad_kind = DS_GRAD_FORWARD;
    }
    io->outcome = isfinite(io->loss) ? DS_EVAL_OK : DS_EVAL_DIVERGED;
    io->loss = isfinite(io->loss) ? io->loss : INFINITY;
    io->cost_steps = STEPS;
    return DS_OK;
}

static const ds_env_vtable vtable = {.struct_size = sizeof vtable,
                                     .create = create,
                                     .destroy = free,
                                     .info = info,
                                     .bounds = bounds,
                                     .evaluate = evaluate};
static const ds_desc desc = {.struct_size = sizeof desc,
                             .kind = DS_KIND_ENV,
                             .flags = DS_ENV_GRADIENT,
                             .id = "hill_full",
                             .version = "1",
                             .license = "Apache-2.0",
                             .summary = "A ball pushed over hilly ground.",
                             .description = "",
                             .citation = "",
                             .params = params};
DS_DEFINE_ENV(desc, vtable)
