/* SPDX-License-Identifier: Apache-2.0 */
/* plugin_v0_2 - a plugin of ABI 0.2: a paraboloid with a parameter. A host of another minor version refuses
 * it with both versions while the major version is 0. It includes its own frozen declarations. */
#include "plugin_v0_2.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>

typedef struct bowl {
    int64_t n;
    double centre;
} bowl;

static const v02_param n_param = {sizeof(v02_param),      2,   4, 0, 1, 100, "n", "3", "",
                                  "Number of variables.", NULL};
static const v02_param centre_param = {sizeof(v02_param),       3,   0, 0, -1, 1, "centre", "0.25", "",
                                       "Where the minimum is.", NULL};
static const v02_param *const params[] = {&n_param, &centre_param, NULL};

static v02_status create(const v02_host *host, void **out)
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

static v02_status info(void *self, v02_env_info *out)
{
    out->n = (uint64_t)((bowl *)self)->n;
    out->steps = 0;
    out->dt = 0;
    out->loss_floor = 0;
    out->tolerance = 0;
    return 0;
}

static v02_status bounds(void *self, uint64_t n, double *lower, double *upper, double *x0)
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

static v02_status evaluate(void *self, v02_eval *io)
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

static const v02_env_vtable vtable = {sizeof(v02_env_vtable), 0, create, free, info, bounds, evaluate, NULL};
static const v02_desc desc = {
    sizeof(v02_desc), 1,    1,    "plugin_v0_2", "1", "Apache-2.0", "Paraboloid of ABI 0.2.", "", "",
    params,           NULL, NULL, NULL};
static const v02_plugin plugin = {0x31505344, sizeof(v02_plugin), 0, 2, 0x01080804, 0, "", &desc, &vtable,
                                  NULL};

__attribute__((visibility("default"))) const v02_plugin *ds_plugin_query(uint32_t host_major,
                                                                         uint32_t host_minor);
const v02_plugin *ds_plugin_query(uint32_t host_major, uint32_t host_minor)
{
    (void)host_major;
    (void)host_minor;
    return &plugin;
}
