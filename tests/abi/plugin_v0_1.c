/* SPDX-License-Identifier: Apache-2.0 */
/* plugin_v0_1 - a plugin of the first ABI version, kept as it was written: a paraboloid with a parameter.
 * Hosts of later versions must load it (from 1.0 on) or refuse it with both versions (while the major version
 * is 0). It includes its own frozen declarations, never the headers of today. */
#include "plugin_v0_1.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>

typedef struct bowl {
    int64_t n;
    double centre;
} bowl;

static const v01_param n_param = {sizeof(v01_param),      2,   4, 0, 1, 100, "n", "3", "",
                                  "Number of variables.", NULL};
static const v01_param centre_param = {sizeof(v01_param),       3,   0, 0, -1, 1, "centre", "0.25", "",
                                       "Where the minimum is.", NULL};
static const v01_param *const params[] = {&n_param, &centre_param, NULL};

static v01_status create(const v01_host *host, void **out)
{
    bowl *b = malloc(sizeof *b);
    if (b == NULL || host->get_int(host, "n", &b->n) != 0 ||
        host->get_real(host, "centre", &b->centre) != 0) {
        host->error(host, -6, "no memory, or no parameters n and centre");
        free(b);
        return -6;
    }
    *out = b;
    return 0;
}

static v01_status info(void *self, v01_env_info *out)
{
    out->n = (uint64_t)((bowl *)self)->n;
    out->steps = 0;
    out->dt = 0;
    out->loss_floor = 0;
    return 0;
}

static v01_status bounds(void *self, uint64_t n, double *lower, double *upper, double *x0)
{
    (void)self;
    for (uint64_t i = 0; i < n; i++) {
        lower[i] = -2;
        upper[i] = 2;
        if (x0 != NULL) {
            x0[i] = 1;
        }
    }
    return 0;
}

static v01_status evaluate(void *self, v01_eval *io)
{
    const bowl *b = self;
    io->loss = 0;
    for (uint64_t i = 0; i < io->n; i++) {
        double d = io->x[i] - b->centre;
        io->loss += d * d;
        if ((io->want & 1) != 0) {
            io->grad[i] = 2 * d;
        }
    }
    io->outcome = isfinite(io->loss) ? 0 : 3;
    io->loss = isfinite(io->loss) ? io->loss : INFINITY;
    io->grad_kind = (io->want & 1) != 0;
    io->bad_step = -1;
    io->cost_steps = 1;
    return 0;
}

static const v01_env_vtable vtable = {sizeof(v01_env_vtable), 0, create, free, info, bounds, evaluate, NULL};
static const v01_desc desc = {sizeof(v01_desc),         1,  1,  "plugin_v0_1", "1", "Apache-2.0",
                              "Paraboloid of ABI 0.1.", "", "", params,        NULL};
static const v01_plugin plugin = {0x31505344, sizeof(v01_plugin), 0, 1, 0x01080804, 0, "", &desc, &vtable,
                                  NULL};

__attribute__((visibility("default"))) const v01_plugin *ds_plugin_query(void);
const v01_plugin *ds_plugin_query(void)
{
    return &plugin;
}
