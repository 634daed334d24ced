/* SPDX-License-Identifier: Apache-2.0 */
/* picture.h - metrics and bodies of one episode, as Python returned them: JSON, and the numbers after it. */
#ifndef DS_ADAPTERS_PYTHON_PICTURE_H
#define DS_ADAPTERS_PYTHON_PICTURE_H

#include <diffsim/env.h>
#include <diffsim/ext/scene.h>
#include <jansson.h>

#include "adapters/python/talk.h"

typedef struct picture {
    int possible;   /* the last evaluation kept one */
    json_t *json;   /* NULL = not requested yet */
    double *number; /* metrics, then bodies: frame by frame */
    uint64_t numbers, frames;
    uint32_t *index; /* of the body requested last */
} picture;

/* Takes what lies in the room: 0, or -1. */
int picture_read(picture *p, const talk *t);
void picture_clear(picture *p);

/* The functions of ds_scene. */
void picture_info(const picture *p, const ds_env_info *env, ds_scene_info *out);
ds_status picture_body(picture *p, uint64_t b, ds_scene_body *out);
ds_status picture_frame(const picture *p, uint64_t k, uint64_t b, uint64_t capacity, double *out);
ds_status picture_metric(const picture *p, uint64_t m, ds_scene_metric *out);

#endif
