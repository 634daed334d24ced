/* SPDX-License-Identifier: Apache-2.0 */
/* scene_kit.c - the calls of the scene extension, answered from the tables of a scene_kit. */
#include "scene_kit.h"

#include <math.h>
#include <string.h>

void scene_kit_open(scene_kit *s, uint64_t steps, double dt,
                    void (*frame)(const void *self, uint64_t k, uint64_t b, double *out))
{
    memset(s, 0, sizeof *s);
    s->capacity = steps + 1;
    s->info.frames = steps + 1;
    s->info.dt = dt;
    s->info.ground = -HUGE_VAL;
    for (int i = 0; i < 3; i++) {
        s->info.box[i] = HUGE_VAL;
        s->info.box[3 + i] = -HUGE_VAL;
    }
    s->frame = frame;
}

uint64_t scene_kit_body(scene_kit *s, const char *name, uint32_t shape, uint32_t role, uint64_t count,
                        const double size[4])
{
    ds_scene_body *b = &s->body[s->info.bodies];
    b->shape = shape;
    b->role = role;
    b->count = count;
    b->name = name;
    memcpy(b->size, size, sizeof b->size);
    return s->info.bodies++;
}

int scene_kit_ready(scene_kit *s, ds_memory *m)
{
    memcpy(s->view, s->info.box, sizeof s->view);
    s->value = ds_memory_doubles(m, s->info.metrics * s->capacity);
    return s->value != NULL;
}

void scene_kit_reset_box(scene_kit *s)
{
    memcpy(s->info.box, s->view, sizeof s->view);
}

void scene_kit_measured(scene_kit *s, uint64_t k, const double *values)
{
    for (uint64_t m = 0; m < s->info.metrics; m++) {
        s->value[m * s->capacity + k] = values[m];
    }
}

void scene_kit_include(scene_kit *s, double x, double y, double z, double r)
{
    const double at[3] = {x, y, z};
    for (int i = 0; i < 3; i++) {
        s->info.box[i] = fmin(s->info.box[i], at[i] - r);
        s->info.box[3 + i] = fmax(s->info.box[3 + i], at[i] + r);
    }
}

void scene_kit_pose(double x, double y, double z, double angle, double *out)
{
    const double pose[7] = {x, y, z, cos(0.5 * angle), 0, 0, sin(0.5 * angle)};
    memcpy(out, pose, sizeof pose);
}

/* ---- the extension ---- */

/* Copies what fits into a struct of the caller, whose first field says how large it is. */
static void fill(void *out, const void *from, size_t size)
{
    uint32_t room;
    memcpy(&room, out, sizeof room);
    memcpy(out, from, room < size ? room : size);
    memcpy(out, &room, sizeof room);
}

static ds_status scene_info(void *self, ds_scene_info *out)
{
    const scene_kit *s = self;
    if (!s->kept) {
        return DS_E_STATE;
    }
    fill(out, &s->info, sizeof s->info);
    return DS_OK;
}

static ds_status scene_body(void *self, uint64_t b, ds_scene_body *out)
{
    const scene_kit *s = self;
    if (b >= s->info.bodies) {
        return DS_E_ARG;
    }
    fill(out, &s->body[b], sizeof s->body[b]);
    return DS_OK;
}

static ds_status scene_frame(void *self, uint64_t k, uint64_t b, uint64_t capacity, double *out)
{
    const scene_kit *s = self;
    if (!s->kept) {
        return DS_E_STATE;
    }
    if (k >= s->info.frames || b >= s->info.bodies) {
        return DS_E_ARG;
    }
    uint32_t shape = s->body[b].shape;
    uint64_t width = shape == DS_BODY_POINTS || shape == DS_BODY_MESH || shape == DS_BODY_LINES ? 3 : 7;
    if (capacity < width * s->body[b].count) {
        return DS_E_ARG;
    }
    s->frame(self, k, b, out);
    return DS_OK;
}

static ds_status scene_metric_values(void *self, uint64_t m, const char **name, const char **unit,
                                     const double **values)
{
    const scene_kit *s = self;
    if (!s->kept) {
        return DS_E_STATE;
    }
    if (m >= s->info.metrics) {
        return DS_E_ARG;
    }
    *name = s->metric[m].name;
    *unit = s->metric[m].unit;
    *values = s->value + m * s->capacity;
    return DS_OK;
}

const ds_scene scene_kit_table = {.struct_size = sizeof(ds_scene),
                                  .info = scene_info,
                                  .body = scene_body,
                                  .frame = scene_frame,
                                  .metric = scene_metric_values};
