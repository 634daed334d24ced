/* SPDX-License-Identifier: Apache-2.0 */
/* snapshot.c - copies and checks what a plugin's scene extension tells. */
#include "config.h"

#include "scene/snapshot.h"
#include "scene/snapshot_internal.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void ds_snapshot_free(ds_snapshot *s)
{
    if (s == NULL) {
        return;
    }
    for (uint64_t b = 0; s->body != NULL && b < s->bodies; b++) {
        free(s->body[b].index);
        free(s->body[b].data);
    }
    for (uint64_t m = 0; s->metric != NULL && m < s->metrics; m++) {
        free(s->metric[m].values);
    }
    free(s->body);
    free(s->metric);
    free(s->frame);
    free(s);
}

const double *ds_snapshot_at(const ds_snapshot *s, uint64_t k, uint64_t b)
{
    const ds_snapshot_body *body = &s->body[b];
    return body->data + k * body->count * body->width;
}

const ds_snapshot_body *ds_snapshot_body_named(const ds_snapshot *s, const char *name)
{
    for (uint64_t b = 0; b < s->bodies; b++) {
        if (strcmp(s->body[b].name, name) == 0) {
            return &s->body[b];
        }
    }
    return NULL;
}

const ds_snapshot_metric *ds_snapshot_metric_named(const ds_snapshot *s, const char *name)
{
    for (uint64_t m = 0; m < s->metrics; m++) {
        if (strcmp(s->metric[m].name, name) == 0) {
            return &s->metric[m];
        }
    }
    return NULL;
}

/* ---- checks shared with the reader of blocks ---- */

uint32_t ds_scene_width(uint32_t shape)
{
    switch (shape) {
    case DS_BODY_POINTS:
    case DS_BODY_MESH:
    case DS_BODY_LINES:
        return 3;
    case DS_BODY_SPHERE:
    case DS_BODY_CAPSULE:
    case DS_BODY_CYLINDER:
    case DS_BODY_TORUS:
    case DS_BODY_BOX:
        return 7;
    default:
        return 0;
    }
}

int ds_scene_size_count(uint32_t shape)
{
    switch (shape) {
    case DS_BODY_SPHERE:
    case DS_BODY_LINES:
        return 1;
    case DS_BODY_POINTS:
    case DS_BODY_CAPSULE:
    case DS_BODY_CYLINDER:
    case DS_BODY_TORUS:
        return 2;
    case DS_BODY_BOX:
        return 3;
    default:
        return 0;
    }
}

static int good_name(const char *name)
{
    size_t n = strnlen(name, DS_SCENE_NAME_MAX);
    if (n == 0 || n == DS_SCENE_NAME_MAX || name[0] < 'a' || name[0] > 'z') {
        return 0;
    }
    for (size_t i = 0; i < n; i++) {
        if (!((name[i] >= 'a' && name[i] <= 'z') || (name[i] >= '0' && name[i] <= '9') || name[i] == '_')) {
            return 0;
        }
    }
    return 1;
}

int ds_scene_check_name(const char *name, const char *what, uint64_t number, ds_error *e)
{
    if (name == NULL || !good_name(name)) {
        return ds_fail(e, DS_EXIT_PLUGIN,
                       "scene: the name of %s %" PRIu64 " is not [a-z][a-z0-9_]* of at most %d characters",
                       what, number, DS_SCENE_NAME_MAX - 1);
    }
    return 0;
}

int ds_scene_check_unit(const char *unit, uint64_t number, ds_error *e)
{
    size_t n = unit == NULL ? 0 : strnlen(unit, DS_SCENE_UNIT_MAX);
    int good = unit != NULL && n < DS_SCENE_UNIT_MAX;
    for (size_t i = 0; good && i < n; i++) {
        good = (unsigned char)unit[i] >= 0x20 && unit[i] != 0x7f;
    }
    return good ? 0
                : ds_fail(e, DS_EXIT_PLUGIN,
                          "scene: the unit of metric %" PRIu64 " is not a printable text of at most %d bytes",
                          number, DS_SCENE_UNIT_MAX - 1);
}

int ds_scene_check_info(const ds_snapshot *s, ds_error *e)
{
    if (s->flat > 1) {
        return ds_fail(e, DS_EXIT_PLUGIN, "scene: flat is %u (allowed: 0 or 1)", s->flat);
    }
    if (s->frames == 0 || s->frames > DS_SCENE_MAX_BYTES / sizeof(double)) {
        return ds_fail(e, DS_EXIT_PLUGIN, "scene: %" PRIu64 " frames (allowed: 1 to %" PRIu64 ")", s->frames,
                       DS_SCENE_MAX_BYTES / sizeof(double));
    }
    if (s->bodies > DS_SCENE_MAX_BODIES || s->metrics > DS_SCENE_MAX_METRICS) {
        return ds_fail(e, DS_EXIT_PLUGIN,
                       "scene: %" PRIu64 " bodies and %" PRIu64 " metrics (allowed: at most %d and %d)",
                       s->bodies, s->metrics, DS_SCENE_MAX_BODIES, DS_SCENE_MAX_METRICS);
    }
    if (!isfinite(s->dt) || s->dt < 0) {
        return ds_fail(e, DS_EXIT_PLUGIN, "scene: dt is %g (allowed: finite, not negative)", s->dt);
    }
    double extent = 0;
    for (int k = 0; k < 3; k++) {
        double d = s->box[3 + k] - s->box[k];
        if (!isfinite(s->box[k]) || !isfinite(s->box[3 + k]) || !isfinite(d) || d < 0) {
            return ds_fail(e, DS_EXIT_PLUGIN,
                           "scene: the box runs from %g to %g along %c (allowed: finite, ascending)",
                           s->box[k], s->box[3 + k], "xyz"[k]);
        }
        extent = fmax(extent, d);
    }
    if (!(extent > 0)) {
        return ds_fail(e, DS_EXIT_PLUGIN, "scene: the box is a point: say what is worth seeing");
    }
    if (isnan(s->ground) || s->ground == (double)INFINITY) {
        return ds_fail(e, DS_EXIT_PLUGIN, "scene: ground is %g (allowed: finite, or -inf for none)",
                       s->ground);
    }
    return 0;
}

int ds_scene_check_body(const ds_snapshot *s, uint64_t b, ds_error *e)
{
    ds_snapshot_body *body = &s->body[b];
    for (uint64_t k = 0; k < b; k++) {
        if (strcmp(s->body[k].name, body->name) == 0) {
            return ds_fail(e, DS_EXIT_PLUGIN, "scene: bodies %" PRIu64 " and %" PRIu64 " are both named '%s'",
                           k, b, body->name);
        }
    }
    body->width = ds_scene_width(body->shape);
    if (body->width == 0) {
        return ds_fail(e, DS_EXIT_PLUGIN, "scene: body '%s' has the unknown shape %u", body->name,
                       body->shape);
    }
    if (body->role > DS_ROLE_TARGET) {
        return ds_fail(e, DS_EXIT_PLUGIN, "scene: body '%s' has the unknown role %u", body->name, body->role);
    }
    if (body->count == 0 || body->count > DS_SCENE_MAX_BYTES / sizeof(double) / body->width) {
        return ds_fail(e, DS_EXIT_PLUGIN,
                       "scene: body '%s' has %" PRIu64 " elements (allowed: 1 to %" PRIu64 ")", body->name,
                       body->count, DS_SCENE_MAX_BYTES / sizeof(double) / body->width);
    }
    for (int k = 0; k < 4; k++) {
        if (k >= ds_scene_size_count(body->shape)) {
            body->size[k] = 0;
        } else if (!isfinite(body->size[k]) || body->size[k] < 0) {
            return ds_fail(e, DS_EXIT_PLUGIN,
                           "scene: size[%d] of body '%s' is %g (allowed: finite, not negative)", k,
                           body->name, body->size[k]);
        }
    }
    uint64_t per = body->shape == DS_BODY_MESH ? 3 : body->shape == DS_BODY_LINES ? 2 : 0;
    if (per == 0 ? body->index_count != 0 : body->index_count % per != 0) {
        return ds_fail(e, DS_EXIT_PLUGIN, "scene: body '%s' has %" PRIu64 " index numbers (allowed: %s)",
                       body->name, body->index_count,
                       per == 0   ? "none"
                       : per == 3 ? "3 per triangle"
                                  : "2 per segment");
    }
    if (body->index_count > DS_SCENE_MAX_BYTES / sizeof(uint32_t)) {
        return ds_fail(e, DS_EXIT_PLUGIN, "scene: body '%s' has too many index numbers (%" PRIu64 ")",
                       body->name, body->index_count);
    }
    return 0;
}

int ds_scene_check_index(const ds_snapshot_body *body, ds_error *e)
{
    for (uint64_t i = 0; i < body->index_count; i++) {
        if (body->index[i] >= body->count) {
            return ds_fail(e, DS_EXIT_PLUGIN,
                           "scene: index number %" PRIu64 " of body '%s' is %u but there are %" PRIu64
                           " vertices",
                           i, body->name, body->index[i], body->count);
        }
    }
    return 0;
}

int ds_scene_check_metric(const ds_snapshot *s, uint64_t m, ds_error *e)
{
    for (uint64_t k = 0; k < m; k++) {
        if (strcmp(s->metric[k].name, s->metric[m].name) == 0) {
            return ds_fail(e, DS_EXIT_PLUGIN,
                           "scene: metrics %" PRIu64 " and %" PRIu64 " are both named '%s'", k, m,
                           s->metric[m].name);
        }
    }
    return 0;
}

void ds_scene_count_nonfinite(ds_snapshot *s)
{
    s->nonfinite = 0;
    for (uint64_t b = 0; b < s->bodies; b++) {
        ds_snapshot_body *body = &s->body[b];
        body->nonfinite = 0;
        for (uint64_t i = 0; i < s->kept * body->count * body->width; i++) {
            body->nonfinite += !isfinite(body->data[i]);
        }
        s->nonfinite += body->nonfinite;
    }
}

int ds_scene_no_memory(ds_error *e)
{
    return ds_fail(e, DS_EXIT_MEMORY, "scene: out of memory: keep fewer frames or particles");
}

/* ---- collecting ---- */

/* A call that the plugin must not fail. */
static int refused(ds_status st, const char *call, ds_error *e)
{
    if (st == DS_E_STATE) {
        return ds_fail(e, DS_EXIT_PLUGIN,
                       "scene: the plugin kept no scene although the evaluation asked for one");
    }
    return ds_fail(e, ds_status_exit(st), "scene: %s() of the plugin failed: %s (%s)", call,
                   ds_status_text(st), ds_status_name(st));
}

static int compare_u64(const void *a, const void *b)
{
    uint64_t x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return x < y ? -1 : x > y;
}

/* Resolves the list of frames to keep into s->frame, ascending and without duplicates. */
static int choose_frames(ds_snapshot *s, const uint64_t *keep, uint64_t keep_count, ds_error *e)
{
    uint64_t room = keep == NULL ? s->frames : keep_count;
    s->frame = malloc((size_t)(room > 0 ? room : 1) * sizeof *s->frame);
    if (s->frame == NULL) {
        return ds_scene_no_memory(e);
    }
    uint64_t n = 0;
    for (uint64_t i = 0; i < room; i++) {
        uint64_t k = keep == NULL ? i : keep[i];
        k = k == DS_SCENE_LAST ? s->frames - 1 : k == DS_SCENE_MIDDLE ? s->frames / 2 : k;
        if (k < s->frames) {
            s->frame[n++] = k;
        }
    }
    if (n > 1) {
        qsort(s->frame, (size_t)n, sizeof *s->frame, compare_u64);
    }
    for (uint64_t i = 0; i < n; i++) {
        if (s->kept == 0 || s->frame[s->kept - 1] != s->frame[i]) {
            s->frame[s->kept++] = s->frame[i];
        }
    }
    return 0;
}

static int collect_body(ds_snapshot *s, const ds_scene *ext, void *self, uint64_t b, uint64_t *bytes,
                        ds_error *e)
{
    ds_snapshot_body *body = &s->body[b];
    ds_scene_body said = {.struct_size = sizeof said};
    ds_status st = ext->body(self, b, &said);
    if (st != DS_OK) {
        return refused(st, "body", e);
    }
    int status = ds_scene_check_name(said.name, "body", b, e);
    if (status != 0) {
        return status;
    }
    strcpy(body->name, said.name);
    body->shape = said.shape;
    body->role = said.role;
    body->variety = said.variety;
    body->count = said.count;
    memcpy(body->size, said.size, sizeof body->size);
    body->index_count = said.index_count;
    status = ds_scene_check_body(s, b, e);
    if (status != 0) {
        return status;
    }
    /* No overflow: count x width x 8 and index_count x 4 are below 2^32, kept is below 2^29. */
    uint64_t numbers = body->count * body->width;
    *bytes += numbers * s->kept * sizeof(double) + body->index_count * sizeof(uint32_t);
    if (*bytes > DS_SCENE_MAX_BYTES) {
        return ds_fail(e, DS_EXIT_PLUGIN,
                       "scene: %" PRIu64 " frames up to body '%s' take over %" PRIu64
                       " GiB: keep fewer frames",
                       s->kept, body->name, DS_SCENE_MAX_BYTES >> 30);
    }
    if (body->index_count > 0) {
        if (said.index == NULL) {
            return ds_fail(e, DS_EXIT_PLUGIN, "scene: the index of body '%s' is NULL", body->name);
        }
        body->index = malloc((size_t)body->index_count * sizeof *body->index);
        if (body->index == NULL) {
            return ds_scene_no_memory(e);
        }
        memcpy(body->index, said.index, (size_t)body->index_count * sizeof *body->index);
        status = ds_scene_check_index(body, e);
        if (status != 0) {
            return status;
        }
    }
    if (s->kept == 0) {
        return 0;
    }
    body->data = malloc((size_t)(s->kept * numbers) * sizeof *body->data);
    if (body->data == NULL) {
        return ds_scene_no_memory(e);
    }
    /* What the plugin forgets to write must not look like a position. */
    for (uint64_t i = 0; i < s->kept * numbers; i++) {
        body->data[i] = (double)NAN;
    }
    for (uint64_t k = 0; k < s->kept; k++) {
        st = ext->frame(self, s->frame[k], b, numbers, body->data + k * numbers);
        if (st != DS_OK) {
            return refused(st, "frame", e);
        }
    }
    return 0;
}

static int collect_metric(ds_snapshot *s, const ds_scene *ext, void *self, uint64_t m, uint64_t *bytes,
                          ds_error *e)
{
    ds_snapshot_metric *metric = &s->metric[m];
    const char *name = NULL;
    const char *unit = NULL;
    const double *values = NULL;
    ds_status st = ext->metric(self, m, &name, &unit, &values);
    if (st != DS_OK) {
        return refused(st, "metric", e);
    }
    int status = ds_scene_check_name(name, "metric", m, e);
    if (status == 0) {
        status = ds_scene_check_unit(unit, m, e);
    }
    if (status != 0) {
        return status;
    }
    strcpy(metric->name, name);
    strcpy(metric->unit, unit);
    status = ds_scene_check_metric(s, m, e);
    if (status != 0) {
        return status;
    }
    *bytes += s->frames * sizeof(double);
    if (values == NULL || *bytes > DS_SCENE_MAX_BYTES) {
        return ds_fail(e, DS_EXIT_PLUGIN, "scene: the values of metric '%s' are %s", metric->name,
                       values == NULL ? "NULL" : "too many");
    }
    metric->values = malloc((size_t)s->frames * sizeof *metric->values);
    if (metric->values == NULL) {
        return ds_scene_no_memory(e);
    }
    memcpy(metric->values, values, (size_t)s->frames * sizeof *metric->values);
    return 0;
}

static int collect_all(ds_snapshot *s, const ds_scene *ext, void *self, const uint64_t *keep,
                       uint64_t keep_count, ds_error *e)
{
    if (!DS_HAS(ds_scene, ext, metric) || ext->info == NULL || ext->body == NULL || ext->frame == NULL ||
        ext->metric == NULL) {
        return ds_fail(e, DS_EXIT_PLUGIN, "scene: the plugin's extension " DS_EXT_SCENE " lacks a function");
    }
    ds_scene_info info = {.struct_size = sizeof info};
    ds_status st = ext->info(self, &info);
    if (st != DS_OK) {
        return refused(st, "info", e);
    }
    s->flat = info.flat;
    s->frames = info.frames;
    s->bodies = info.bodies;
    s->metrics = info.metrics;
    s->dt = info.dt;
    memcpy(s->box, info.box, sizeof s->box);
    s->ground = info.ground;
    int status = ds_scene_check_info(s, e);
    if (status == 0) {
        status = choose_frames(s, keep, keep_count, e);
    }
    if (status != 0) {
        return status;
    }
    s->body = calloc(s->bodies > 0 ? (size_t)s->bodies : 1, sizeof *s->body);
    s->metric = calloc(s->metrics > 0 ? (size_t)s->metrics : 1, sizeof *s->metric);
    if (s->body == NULL || s->metric == NULL) {
        return ds_scene_no_memory(e);
    }
    uint64_t bytes = 0;
    for (uint64_t b = 0; b < s->bodies && status == 0; b++) {
        status = collect_body(s, ext, self, b, &bytes, e);
    }
    for (uint64_t m = 0; m < s->metrics && status == 0; m++) {
        status = collect_metric(s, ext, self, m, &bytes, e);
    }
    return status;
}

int ds_snapshot_collect(const ds_scene *ext, void *self, const uint64_t *keep, uint64_t keep_count,
                        ds_snapshot **out, ds_error *e)
{
    *out = NULL;
    ds_snapshot *s = calloc(1, sizeof *s);
    if (s == NULL) {
        return ds_scene_no_memory(e);
    }
    int status = collect_all(s, ext, self, keep, keep_count, e);
    if (status != 0) {
        ds_snapshot_free(s);
        return status;
    }
    ds_scene_count_nonfinite(s);
    *out = s;
    return 0;
}
