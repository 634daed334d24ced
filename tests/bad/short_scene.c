/* SPDX-License-Identifier: Apache-2.0 */
/* short_scene - an episode always has its three steps, and its scene two frames. */
#include <diffsim/diffsim.h>
#include <diffsim/ext/scene.h>
#define BAD_ID "short_scene"
#define BAD_FLAGS 0
#define BAD_END DS_STEPS_TERMINATED
#define BAD_STEPS 3
#include "steps_base.h"

static int kept;

static ds_status scene_info(void *self, ds_scene_info *out)
{
    (void)self;
    out->flat = 1;
    out->frames = 2;
    out->bodies = 1;
    out->metrics = 0;
    out->dt = 1;
    const double box[6] = {-2, -2, 0, 2, 2, 0};
    memcpy(out->box, box, sizeof box);
    out->ground = -2;
    return kept ? DS_OK : DS_E_STATE;
}

static ds_status scene_body(void *self, uint64_t b, ds_scene_body *out)
{
    (void)self;
    (void)b;
    out->shape = DS_BODY_POINTS;
    out->role = DS_ROLE_MATERIAL;
    out->count = 1;
    out->size[0] = 0.1;
    out->name = "ball";
    return DS_OK;
}

static ds_status scene_frame(void *self, uint64_t k, uint64_t b, uint64_t capacity, double *out)
{
    (void)self;
    (void)b;
    if (capacity < 3) {
        return DS_E_ARG;
    }
    out[0] = (double)k;
    out[1] = out[2] = 0;
    return DS_OK;
}

static ds_status scene_metric(void *self, uint64_t m, ds_scene_metric *out)
{
    (void)self;
    (void)m;
    (void)out;
    return DS_E_ARG;
}

static const ds_scene scene = {.struct_size = sizeof scene,
                               .info = scene_info,
                               .body = scene_body,
                               .frame = scene_frame,
                               .metric = scene_metric};

#undef BAD_EXTENSIONS
#undef BAD_TABLE
#undef BAD_EVALUATE
#define BAD_EXTENSIONS DS_EXT_STEPS, DS_EXT_SCENE
#define BAD_TABLE(id)                                                                                        \
    (strcmp(id, DS_EXT_STEPS) == 0   ? (const void *)&steps                                                  \
     : strcmp(id, DS_EXT_SCENE) == 0 ? (const void *)&scene                                                  \
                                     : NULL)
#define BAD_EVALUATE                                                                                         \
    b->lane[0].open = 0;                                                                                     \
    kept = (io->want & DS_WANT_SCENE) != 0;
#include "env_base.h"
