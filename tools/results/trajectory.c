/* SPDX-License-Identifier: Apache-2.0 */
/* trajectory.c - writes the frames and metrics of a scene as NumPy arrays in one .npz archive. */
#include "config.h"

#include "results/trajectory.h"

#include <stdio.h>
#include <stdlib.h>

#include "results/npy_write.h"

static int add_body(ds_npz *z, const ds_snapshot *s, const ds_snapshot_body *body, ds_error *e)
{
    char name[DS_SCENE_NAME_MAX + 16];
    uint64_t shape[3] = {s->kept, body->count, body->width};
    snprintf(name, sizeof name, "%s_%s", body->name, body->width == 7 ? "poses" : "positions");
    int status = ds_npz_add(z, name, DS_NPY_F8, 3, shape, body->data, e);
    uint64_t n = (uint64_t)ds_scene_size_count(body->shape);
    if (status == 0 && n > 0) {
        snprintf(name, sizeof name, "%s_size", body->name);
        status = ds_npz_add(z, name, DS_NPY_F8, 1, &n, body->size, e);
    }
    uint64_t per = body->shape == DS_BODY_MESH ? 3 : 2;
    if (status == 0 && (body->shape == DS_BODY_MESH || body->shape == DS_BODY_LINES)) {
        uint64_t rows[2] = {body->index_count / per, per};
        snprintf(name, sizeof name, "%s_index", body->name);
        status = ds_npz_add(z, name, DS_NPY_U4, 2, rows, body->index, e);
    }
    return status;
}

static int add_arrays(ds_npz *z, const ds_snapshot *s, ds_error *e)
{
    double *time = malloc((size_t)s->frames * sizeof *time);
    if (time == NULL) {
        return ds_no_memory(e);
    }
    for (uint64_t k = 0; k < s->frames; k++) {
        time[k] = (double)k * s->dt;
    }
    int status = ds_npz_add(z, "time", DS_NPY_F8, 1, &s->frames, time, e);
    free(time);
    uint64_t six = 6;
    status = status != 0 ? status : ds_npz_add(z, "frame", DS_NPY_U8, 1, &s->kept, s->frame, e);
    status = status != 0 ? status : ds_npz_add(z, "dt", DS_NPY_F8, 0, NULL, &s->dt, e);
    status = status != 0 ? status : ds_npz_add(z, "box", DS_NPY_F8, 1, &six, s->box, e);
    status = status != 0 ? status : ds_npz_add(z, "ground", DS_NPY_F8, 0, NULL, &s->ground, e);
    for (uint64_t b = 0; b < s->bodies && status == 0; b++) {
        status = add_body(z, s, &s->body[b], e);
    }
    for (uint64_t m = 0; m < s->metrics && status == 0; m++) {
        char name[DS_SCENE_NAME_MAX + 16];
        snprintf(name, sizeof name, "metrics/%s", s->metric[m].name);
        status = ds_npz_add(z, name, DS_NPY_F8, 1, &s->frames, s->metric[m].values, e);
    }
    return status;
}

int ds_trajectory_write(const char *path, const ds_snapshot *s, ds_error *e)
{
    ds_npz *z;
    int status = ds_npz_open(&z, path, e);
    if (status != 0) {
        return status;
    }
    status = add_arrays(z, s, e);
    if (status != 0) {
        ds_npz_abort(z);
        return status;
    }
    return ds_npz_close(z, e);
}
