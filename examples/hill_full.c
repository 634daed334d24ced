/* SPDX-License-Identifier: Apache-2.0 */
/* hill_full - the environment of hill.c with every function of the interface in view: start from here where
 * the short form does not fit. x = start position [m] and start velocity [m/s]; gradient in forward mode. */
#include <diffsim/diffsim.h>
#include <diffsim/ext/scene.h>
#include <diffsim/helper/params.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 200, GROUND = 161 /* vertices of the ground that is drawn */ };
static const double DT = 0.01; /* seconds */

static const ds_param *const params[] = {DS_REAL("friction", "0.5", 0, 10, "1/s", "Damping of the velocity."),
                                         DS_REAL("target", "1", -5, 5, "m", "Where the ball should end."),
                                         NULL};

typedef struct hill {
    double friction, target;
    int kept;                                    /* is there a scene? */
    double path[STEPS + 1], distance[STEPS + 1]; /* of the ball, step by step; from the target */
    uint32_t segment[2 * (GROUND - 1)];
} hill;

static double height(double q)
{
    return cos(3 * q);
}

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
    for (uint32_t i = 0; i < 2 * (GROUND - 1); i++) {
        h->segment[i] = (i + 1) / 2;
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
    hill *h = self;
    h->kept = (io->want & DS_WANT_SCENE) != 0;
    double q = io->x[0], v = io->x[1];     /* state */
    double dq[2] = {1, 0}, dv[2] = {0, 1}; /* its derivative with respect to x */
    for (int k = 0; k < STEPS; k++) {      /* symplectic Euler */
        h->path[k] = q;
        double slope = -3 * sin(3 * q), curvature = -9 * cos(3 * q);
        for (int i = 0; i < 2; i++) {
            dv[i] += DT * (-9.81 * curvature * dq[i] - h->friction * dv[i]);
            dq[i] += DT * dv[i];
        }
        v += DT * (-9.81 * slope - h->friction * v);
        q += DT * v;
    }
    h->path[STEPS] = q;
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

/* What it looked like: the ground, the ball and the target, as lines and points. */
enum { HILLS, BALL, TARGET, BODIES };

static ds_status scene_info(void *self, ds_scene_info *out)
{
    if (!((const hill *)self)->kept) {
        return DS_E_STATE;
    }
    out->flat = 1;
    out->frames = STEPS + 1;
    out->bodies = BODIES;
    out->metrics = 1;
    out->dt = DT;
    memcpy(out->box, (const double[6]){-5, -1.2, -0.2, 5, 1.4, 0.2}, sizeof out->box);
    out->ground = -INFINITY;
    return DS_OK;
}

static ds_status scene_body(void *self, uint64_t b, ds_scene_body *out)
{
    const hill *h = self;
    static const char *const name[BODIES] = {"hills", "ball", "target"};
    static const uint32_t role[BODIES] = {DS_ROLE_FIXED, DS_ROLE_MATERIAL, DS_ROLE_TARGET};
    out->name = name[b];
    out->role = role[b];
    out->shape = b == HILLS ? DS_BODY_LINES : DS_BODY_POINTS;
    out->count = b == HILLS ? GROUND : 1;
    out->size[0] = b == HILLS ? 0.04 : 0.12; /* thickness, radius: m */
    out->index = b == HILLS ? h->segment : NULL;
    out->index_count = b == HILLS ? 2 * (GROUND - 1) : 0;
    return DS_OK;
}

static ds_status scene_frame(void *self, uint64_t k, uint64_t b, uint64_t capacity, double *out)
{
    const hill *h = self;
    const uint64_t count = b == HILLS ? GROUND : 1;
    if (capacity < 3 * count) {
        return DS_E_ARG;
    }
    for (uint64_t i = 0; i < count; i++) {
        double q = b == HILLS ? -5 + 10.0 * (double)i / (GROUND - 1) : b == BALL ? h->path[k] : h->target;
        out[3 * i] = q;
        out[3 * i + 1] = height(q) + (b == HILLS ? 0 : 0.14); /* rests on the line */
        out[3 * i + 2] = 0;
    }
    return DS_OK;
}

static ds_status scene_metric(void *self, uint64_t m, const char **name, const char **unit,
                              const double **values)
{
    hill *h = self;
    (void)m;
    for (int k = 0; k <= STEPS; k++) {
        h->distance[k] = fabs(h->path[k] - h->target);
    }
    *name = "distance";
    *unit = "m";
    *values = h->distance;
    return DS_OK;
}

static const ds_scene scene = {.struct_size = sizeof scene,
                               .info = scene_info,
                               .body = scene_body,
                               .frame = scene_frame,
                               .metric = scene_metric};

static const void *get_extension(void *self, const char *id)
{
    (void)self;
    return strcmp(id, DS_EXT_SCENE) == 0 ? &scene : NULL;
}

static const ds_env_vtable vtable = {.struct_size = sizeof vtable,
                                     .create = create,
                                     .destroy = free,
                                     .info = info,
                                     .bounds = bounds,
                                     .evaluate = evaluate,
                                     .get_extension = get_extension};
static const char *const extensions[] = {DS_EXT_SCENE, NULL};
static const ds_desc desc = {.struct_size = sizeof desc,
                             .kind = DS_KIND_ENV,
                             .flags = DS_ENV_GRADIENT,
                             .id = "hill_full",
                             .version = "1",
                             .license = "Apache-2.0",
                             .summary = "A ball pushed over hilly ground.",
                             .description = "",
                             .citation = "",
                             .params = params,
                             .extensions = extensions};
DS_DEFINE_ENV(desc, vtable)
