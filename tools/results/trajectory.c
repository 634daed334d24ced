/* SPDX-License-Identifier: Apache-2.0 */
/* trajectory.c - writes frames and metrics of a scene as NumPy arrays in an .npz archive, or as a table. */
#include "config.h"

#include "results/trajectory.h"

#include "base/text.h"
#include "results/npy_write.h"
#include "results/printer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The word of a shape or a role, as a NumPy text. */
static int add_word(ds_npz *z, const char *body, const char *key, const char *word, ds_error *e)
{
    char name[DS_SCENE_NAME_MAX + 16];
    uint32_t text[DS_NPY_CHARACTERS] = {0};
    for (size_t i = 0; word[i] != '\0' && i < DS_NPY_CHARACTERS; i++) {
        text[i] = (unsigned char)word[i];
    }
    snprintf(name, sizeof name, "%s_%s", body, key);
    return ds_npz_add(z, name, DS_NPY_TEXT, 0, NULL, text, e);
}

static const char *shape_word(uint32_t shape)
{
    static const char *const words[] = {
        [DS_BODY_POINTS] = "points",     [DS_BODY_SPHERE] = "sphere", [DS_BODY_CAPSULE] = "capsule",
        [DS_BODY_CYLINDER] = "cylinder", [DS_BODY_TORUS] = "torus",   [DS_BODY_BOX] = "box",
        [DS_BODY_MESH] = "mesh",         [DS_BODY_LINES] = "lines"};
    return shape < sizeof words / sizeof *words && words[shape] != NULL ? words[shape] : "unknown";
}

static const char *role_word(uint32_t role)
{
    static const char *const words[] = {"material", "tool", "fixed", "target"};
    return words[role % 4];
}

/* The meaning of the entries of size[], in order; see DS_BODY_*. */
static int add_sizes(ds_npz *z, const ds_snapshot_body *body, ds_error *e)
{
    static const char *const keys[][2] = {
        [DS_BODY_POINTS] = {"radius", "clearness"},         [DS_BODY_SPHERE] = {"radius"},
        [DS_BODY_CAPSULE] = {"radius", "length"},           [DS_BODY_CYLINDER] = {"radius", "height"},
        [DS_BODY_TORUS] = {"major_radius", "minor_radius"}, [DS_BODY_LINES] = {"thickness"}};
    char name[DS_SCENE_NAME_MAX + 16];
    uint64_t n = (uint64_t)ds_scene_size_count(body->shape);
    snprintf(name, sizeof name, "%s_size", body->name);
    int status = n > 0 ? ds_npz_add(z, name, DS_NPY_F8, 1, &n, body->size, e) : 0;
    if (body->shape == DS_BODY_BOX) {
        snprintf(name, sizeof name, "%s_half_extents", body->name);
        return status != 0 ? status : ds_npz_add(z, name, DS_NPY_F8, 1, &n, body->size, e);
    }
    for (uint64_t k = 0; k < n && k < 2 && status == 0; k++) {
        snprintf(name, sizeof name, "%s_%s", body->name, keys[body->shape][k]);
        status = ds_npz_add(z, name, DS_NPY_F8, 0, NULL, &body->size[k], e);
    }
    return status;
}

/* Is it a target that has the same position in all kept frames? All frames of other bodies are written, so
 * that the shape of an array does not depend on the episode. */
static int rests(const ds_snapshot *s, const ds_snapshot_body *body)
{
    if (body->role != DS_ROLE_TARGET) {
        return 0;
    }
    size_t numbers = (size_t)(body->count * body->width);
    for (uint64_t k = 1; k < s->kept; k++) {
        if (memcmp(body->data, body->data + k * numbers, numbers * sizeof *body->data) != 0) {
            return 0;
        }
    }
    return 1;
}

static int add_body(ds_npz *z, const ds_snapshot *s, const ds_snapshot_body *body, ds_error *e)
{
    char name[DS_SCENE_NAME_MAX + 16];
    int status = add_word(z, body->name, "role", role_word(body->role), e);
    status = status != 0 ? status : add_word(z, body->name, "shape", shape_word(body->shape), e);
    status = status != 0 ? status : add_sizes(z, body, e);
    /* Fixed bodies are written once: with first axis 1 they broadcast over all frames. */
    uint64_t shape[3] = {rests(s, body) ? 1 : s->kept, body->count, body->width};
    snprintf(name, sizeof name, "%s_%s", body->name, body->width == 7 ? "poses" : "positions");
    status = status != 0 ? status : ds_npz_add(z, name, DS_NPY_F8, 3, shape, body->data, e);
    uint64_t per = body->shape == DS_BODY_MESH ? 3 : 2;
    if (status == 0 && (body->shape == DS_BODY_MESH || body->shape == DS_BODY_LINES)) {
        uint64_t rows[2] = {body->index_count / per, per};
        snprintf(name, sizeof name, "%s_index", body->name);
        status = ds_npz_add(z, name, DS_NPY_U4, 2, rows, body->index, e);
    }
    return status;
}

static int add_times(ds_npz *z, const ds_snapshot *s, ds_error *e)
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
    return status;
}

static int add_names(ds_npz *z, const ds_snapshot *s, ds_error *e)
{
    uint32_t *text = calloc((size_t)s->bodies + 1, DS_NPY_NAME_CHARACTERS * sizeof *text);
    if (text == NULL) {
        return ds_no_memory(e);
    }
    for (uint64_t b = 0; b < s->bodies; b++) {
        const char *name = s->body[b].name; /* of ASCII letters */
        for (size_t i = 0; name[i] != '\0'; i++) {
            text[b * DS_NPY_NAME_CHARACTERS + i] = (unsigned char)name[i];
        }
    }
    int status = ds_npz_add(z, "bodies", DS_NPY_NAME, 1, &s->bodies, text, e);
    free(text);
    return status;
}

static int add_arrays(ds_npz *z, const ds_snapshot *s, ds_error *e)
{
    uint64_t six = 6;
    int status = add_times(z, s, e);
    status = status != 0 ? status : ds_npz_add(z, "frame", DS_NPY_U8, 1, &s->kept, s->frame, e);
    status = status != 0 ? status : ds_npz_add(z, "dt", DS_NPY_F8, 0, NULL, &s->dt, e);
    status = status != 0 ? status : ds_npz_add(z, "box", DS_NPY_F8, 1, &six, s->box, e);
    status = status != 0 ? status : ds_npz_add(z, "ground", DS_NPY_F8, 0, NULL, &s->ground, e);
    status = status != 0 ? status : add_names(z, s, e);
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

static int write_arrays(const char *path, const ds_snapshot *s, ds_error *e)
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

/* ---- table ---- */

/* Movable rigid bodies, if they are few enough for columns. */
static int in_table(const ds_snapshot_body *body)
{
    return body->width == 7 && body->count <= 16 && body->role != DS_ROLE_TARGET &&
           body->role != DS_ROLE_FIXED;
}

static void print_head(ds_printer *p, const ds_snapshot *s)
{
    static const char *const part[7] = {"x", "y", "z", "qw", "qx", "qy", "qz"};
    ds_print(p, "step,time");
    for (uint64_t m = 0; m < s->metrics; m++) {
        ds_print(p, ",metrics/%s", s->metric[m].name);
    }
    for (uint64_t b = 0; b < s->bodies; b++) {
        const ds_snapshot_body *body = &s->body[b];
        for (uint64_t i = 0; in_table(body) && i < 7 * body->count; i++) {
            if (body->count > 1) {
                ds_print(p, ",%s.%d.%s", body->name, (int)(i / 7), part[i % 7]);
            } else {
                ds_print(p, ",%s.%s", body->name, part[i % 7]);
            }
        }
    }
    ds_print(p, "\n");
}

static int write_table(const char *path, const ds_snapshot *s, ds_error *e)
{
    ds_printer *p;
    int status = ds_printer_open(path, &p, e);
    if (status != 0) {
        return status;
    }
    print_head(p, s);
    for (uint64_t k = 0; k < s->kept; k++) {
        ds_print(p, "%llu", (unsigned long long)s->frame[k]);
        ds_print_field(p, (double)s->frame[k] * s->dt);
        for (uint64_t m = 0; m < s->metrics; m++) {
            ds_print_field(p, s->metric[m].values[s->frame[k]]);
        }
        for (uint64_t b = 0; b < s->bodies; b++) {
            const ds_snapshot_body *body = &s->body[b];
            for (uint64_t i = 0; in_table(body) && i < 7 * body->count; i++) {
                ds_print_field(p, ds_snapshot_at(s, k, b)[i]);
            }
        }
        ds_print(p, "\n");
    }
    return ds_printer_close(p, 0, e);
}

int ds_trajectory_write(const char *path, const ds_snapshot *s, ds_error *e)
{
    return ds_text_ends_with(path, (const char *const[]){"csv", NULL}) ? write_table(path, s, e)
                                                                       : write_arrays(path, s, e);
}
