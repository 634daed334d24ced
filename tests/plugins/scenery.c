/* SPDX-License-Identifier: Apache-2.0 */
/* scenery.c - an environment of a third party that does nothing but be seen: a body of every shape and role,
 * particles that are nowhere, a metric that is not always there. With `evil` its texts try to get out of
 * a page. */
#include <diffsim/ext/scene.h>
#include <diffsim/helper/eval.h>
#include <diffsim/plugin.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const ds_param *const params[] = {
    DS_BOOL("evil", "false", "Are the units of metrics ends of scripts?"),
    DS_BOOL("flat", "false", "Is it seen from the front?"), NULL};

enum { STEPS = 20, FRAMES = STEPS + 1, METRICS = 2, GRAINS = 300, LUMP = 400 };
enum { GRAIN, GLASS, BALL, STICK, CAN, RING, BRICK, SHEET, ROPE, GOAL, BODIES };

typedef struct env {
    int64_t evil, flat;
    double way; /* x of the last evaluation */
    int kept;
    double metric[METRICS][FRAMES];
} env;

static const uint32_t triangles[] = {0, 1, 2, 0, 2, 3}, segments[] = {0, 1, 1, 2, 2, 3};

static const ds_scene_body bodies[BODIES] = {
    [GRAIN] = {.shape = DS_BODY_POINTS, .count = GRAINS, .size = {0.02}, .name = "grain"},
    [GLASS] = {.shape = DS_BODY_POINTS, .variety = 1, .count = LUMP, .size = {0.03, 0.6}, .name = "glass"},
    [BALL] = {.shape = DS_BODY_SPHERE, .variety = 2, .count = 3, .size = {0.1}, .name = "ball"},
    [STICK] =
        {.shape = DS_BODY_CAPSULE, .role = DS_ROLE_TOOL, .count = 1, .size = {0.05, 0.4}, .name = "stick"},
    [CAN] = {.shape = DS_BODY_CYLINDER,
             .role = DS_ROLE_TOOL,
             .variety = 1,
             .count = 1,
             .size = {0.1, 0.2},
             .name = "can"},
    [RING] = {.shape = DS_BODY_TORUS, .variety = 3, .count = 2, .size = {0.12, 0.04}, .name = "ring"},
    [BRICK] =
        {.shape = DS_BODY_BOX, .role = DS_ROLE_FIXED, .count = 1, .size = {0.1, 0.05, 0.15}, .name = "brick"},
    [SHEET] = {.shape = DS_BODY_MESH,
               .variety = 4,
               .count = 4,
               .index = triangles,
               .index_count = 6,
               .name = "sheet"},
    [ROPE] = {.shape = DS_BODY_LINES,
              .role = DS_ROLE_FIXED,
              .variety = 1,
              .count = 4,
              .size = {0.02},
              .index = segments,
              .index_count = 6,
              .name = "rope"},
    [GOAL] = {.shape = DS_BODY_SPHERE, .role = DS_ROLE_TARGET, .count = 1, .size = {0.1}, .name = "goal"},
};

static ds_status create(const ds_host *host, void **out)
{
    env *e = calloc(1, sizeof *e);
    if (e == NULL) {
        host->error(host, DS_E_NOMEM, "out of memory");
        return DS_E_NOMEM;
    }
    if (host->get_int(host, "evil", &e->evil) != DS_OK || host->get_int(host, "flat", &e->flat) != DS_OK) {
        free(e);
        return DS_E_PARAM;
    }
    *out = e;
    return DS_OK;
}

static ds_status info(void *self, ds_env_info *out)
{
    (void)self;
    out->n = 1;
    out->steps = STEPS;
    out->dt = 0.05;
    out->loss_floor = 0;
    return DS_OK;
}

static ds_status bounds(void *self, uint64_t n, double *lower, double *upper, double *x0)
{
    (void)self;
    (void)n;
    lower[0] = -1;
    upper[0] = 1;
    if (x0 != NULL) {
        x0[0] = 0.5;
    }
    return DS_OK;
}

static ds_status evaluate(void *self, ds_eval *io)
{
    env *e = self;
    e->way = io->x[0];
    e->kept = (io->want & DS_WANT_SCENE) != 0;
    for (int k = 0; k < FRAMES; k++) {
        e->metric[0][k] = k == 0 ? (double)NAN : e->way * k / STEPS;
        e->metric[1][k] = sin(0.3 * k);
    }
    io->loss = (e->way - 1) * (e->way - 1);
    io->outcome = DS_EVAL_OK;
    io->cost_steps = STEPS;
    return DS_OK;
}

/* ---- the scene ---- */

static ds_status scene_info(void *self, ds_scene_info *out)
{
    const env *e = self;
    const double box[6] = {-0.8, 0, -0.8, 0.8, 0.9, 0.8};
    if (!e->kept) {
        return DS_E_STATE;
    }
    out->flat = (uint32_t)e->flat;
    out->frames = FRAMES;
    out->bodies = BODIES;
    out->metrics = METRICS;
    out->dt = 0.05;
    memcpy(out->box, box, sizeof box);
    out->ground = 0;
    return DS_OK;
}

static ds_status scene_body(void *self, uint64_t b, ds_scene_body *out)
{
    const uint32_t size = out->struct_size;
    (void)self;
    *out = bodies[b];
    out->struct_size = size;
    return DS_OK;
}

/* The same cloud of points in [0, 1)^3 for each body. */
static void cloud(uint32_t state, uint64_t n, double *out)
{
    for (uint64_t i = 0; i < 3 * n; i++) {
        state = state * 1664525u + 1013904223u;
        out[i] = (double)(state >> 8) / 16777216.0;
    }
}

static void points(uint64_t b, double t, double *out)
{
    cloud((uint32_t)b + 1, bodies[b].count, out);
    for (uint64_t i = 0; i < bodies[b].count; i++) {
        double *p = out + 3 * i;
        p[0] = (b == GRAIN ? -0.7 : 0.3) + 0.35 * p[0] * (1 + 0.5 * t);
        p[1] = 0.02 + 0.3 * p[1] * (1 - 0.5 * t);
        p[2] = (b == GRAIN ? -0.7 : 0.3) + 0.35 * p[2];
    }
    if (b == GRAIN) {
        out[0] = (double)NAN;
        out[3] = 1e12;
    }
}

static void poses(uint64_t b, double t, double way, double *out)
{
    for (uint64_t i = 0; i < bodies[b].count; i++) {
        const double turn = b == BRICK ? 0 : 1.5 * t, at = 0.45 * (double)b - 2.4;
        const double pose[7] = {at + 0.3 * (double)i,
                                0.15 + (b != BRICK && b != GOAL ? 0.4 * way * t : 0),
                                -0.3 + 0.3 * (double)i,
                                cos(turn / 2),
                                0,
                                0,
                                sin(turn / 2)};
        memcpy(out + 7 * i, pose, sizeof pose);
    }
}

static ds_status scene_frame(void *self, uint64_t k, uint64_t b, uint64_t capacity, double *out)
{
    const env *e = self;
    const double t = (double)k / STEPS;
    const double sheet[12] = {-0.6, 0.5, 0.2, -0.2, 0.5 + 0.2 * t, 0.2,
                              -0.2, 0.5, 0.6, -0.6, 0.5 + 0.1 * t, 0.6};
    const double rope[12] = {0.4, 0.6, -0.6, 0.5, 0.7, -0.4, 0.6, 0.6, -0.2, 0.7, 0.7, 0};
    const uint64_t width = b == GRAIN || b == GLASS || b == SHEET || b == ROPE ? 3 : 7;
    if (capacity < bodies[b].count * width) {
        return DS_E_ARG;
    }
    if (b == GRAIN || b == GLASS) {
        points(b, t, out);
    } else if (b == SHEET) {
        memcpy(out, sheet, sizeof sheet);
    } else if (b == ROPE) {
        memcpy(out, rope, sizeof rope);
    } else {
        poses(b, t, e->way, out);
    }
    return DS_OK;
}

static ds_status scene_metric(void *self, uint64_t m, ds_scene_metric *out)
{
    static const char *const names[METRICS] = {"way", "swing"};
    const env *e = self;
    out->name = names[m];
    out->unit = e->evil ? "</script><script>alert(1)//\"" : m == 0 ? "m" : "kg m^2";
    out->values = e->metric[m];
    return DS_OK;
}

static ds_status evaluate_rows(void *self, const ds_rows *rows, const ds_results *results)
{
    return ds_eval_each(self, rows, results, evaluate);
}

static const void *get_extension(void *self, const char *id)
{
    static const ds_scene scene = {.struct_size = sizeof(scene),
                                   .info = scene_info,
                                   .body = scene_body,
                                   .frame = scene_frame,
                                   .metric = scene_metric};
    (void)self;
    return strcmp(id, DS_EXT_SCENE) == 0 ? &scene : NULL;
}

static const char *const extensions[] = {DS_EXT_SCENE, NULL};

static const ds_desc desc = {
    .struct_size = sizeof(ds_desc),
    .kind = DS_KIND_ENV,
    .flags = 0,
    .id = "scenery",
    .version = "1",
    .license = "Apache-2.0",
    .summary = "A body of every shape and role, to be looked at.",
    .description = "",
    .citation = "",
    .params = params,
    .extensions = extensions,
};

static const ds_env_vtable vtable = {
    .struct_size = sizeof(ds_env_vtable),
    .create = create,
    .destroy = free,
    .info = info,
    .bounds = bounds,
    .evaluate = evaluate_rows,
    .get_extension = get_extension,
};

DS_DEFINE_ENV(desc, vtable)
