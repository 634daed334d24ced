/* SPDX-License-Identifier: Apache-2.0 */
/* scene_write.c - reads a plugin's scene extension and writes one block. */
#include "config.h"

#include "scene/scene_write.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/plugin_memory.h"

/* A block being written. */
typedef struct writer {
    const ds_scene *ext;
    void *self;
    FILE *out;
    ds_block_head head;
    uint64_t *frame;   /* head.kept numbers */
    uint64_t bytes;    /* of positions, index and metrics so far */
    uint64_t left_out; /* bodies of unknown shape */
    ds_error *e;
} writer;

enum { ENDED = -1 /* status of a block that ends early; its reader reports the error */ };

uint32_t ds_scene_width(uint32_t shape)
{
    static const uint32_t width[] = {
        [DS_BODY_POINTS] = 3,  [DS_BODY_MESH] = 3,     [DS_BODY_LINES] = 3, [DS_BODY_SPHERE] = 7,
        [DS_BODY_CAPSULE] = 7, [DS_BODY_CYLINDER] = 7, [DS_BODY_TORUS] = 7, [DS_BODY_BOX] = 7};
    return shape < sizeof width / sizeof width[0] ? width[shape] : 0;
}

static int no_memory(writer *w)
{
    return ds_fail(w->e, DS_EXIT_MEMORY, "scene: out of memory: keep fewer frames or particles");
}

/* Reports a failed call of the plugin. */
static int refused(writer *w, ds_status st, const char *call)
{
    if (st == DS_E_STATE) {
        return ds_fail(w->e, DS_EXIT_PLUGIN,
                       "scene: the plugin kept no scene although the evaluation wanted one");
    }
    return ds_fail(w->e, ds_status_exit(st), "scene: %s() of the plugin failed: %s (%s)", call,
                   ds_status_text(st), ds_status_name(st));
}

/* Copies a text into a field of zeros; one that is too long ends without a NUL. */
static void put_text(char *field, size_t size, const char *text)
{
    memcpy(field, text, strnlen(text, size));
}

static int compare_u64(const void *a, const void *b)
{
    uint64_t x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return x < y ? -1 : x > y;
}

/* Resolves the list of frames to keep, ascending and without duplicates. */
static int choose_frames(writer *w, const uint64_t *keep, uint64_t keep_count)
{
    uint64_t frames = w->head.frames, room = keep == NULL ? frames : keep_count, n = 0;
    w->frame = malloc((size_t)(room + 1) * sizeof *w->frame);
    if (w->frame == NULL) {
        return no_memory(w);
    }
    for (uint64_t i = 0; i < room; i++) {
        uint64_t k = keep == NULL ? i : keep[i];
        k = k == DS_SCENE_LAST ? frames - 1 : k == DS_SCENE_MIDDLE ? frames / 2 : k;
        if (k < frames) {
            w->frame[n++] = k;
        }
    }
    qsort(w->frame, (size_t)n, sizeof *w->frame, compare_u64);
    for (uint64_t i = 0; i < n; i++) {
        if (w->head.kept == 0 || w->frame[w->head.kept - 1] != w->frame[i]) {
            w->frame[w->head.kept++] = w->frame[i];
        }
    }
    return 0;
}

static int write_head(writer *w, const uint64_t *keep, uint64_t keep_count)
{
    ds_scene_info info = {.struct_size = sizeof info};
    ds_status st = w->ext->info(w->self, &info);
    if (st != DS_OK) {
        return refused(w, st, "info");
    }
    w->head = (ds_block_head){.flat = info.flat,
                              .frames = info.frames,
                              .bodies = info.bodies,
                              .metrics = info.metrics,
                              .dt = info.dt,
                              .ground = info.ground,
                              .camera = info.camera == 1};
    if (w->head.camera == 1) {
        w->head.azimuth = info.azimuth;
        w->head.elevation = info.elevation;
    }
    memcpy(w->head.magic, DS_SCENE_MAGIC, sizeof w->head.magic);
    memcpy(w->head.box, info.box, sizeof w->head.box);
    int possible = info.frames > 0 && info.frames <= DS_SCENE_MAX_BYTES / sizeof(double) &&
                   info.bodies <= DS_SCENE_MAX_BODIES && info.metrics <= DS_SCENE_MAX_METRICS;
    int rc = possible ? choose_frames(w, keep, keep_count) : ENDED;
    fwrite(&w->head, sizeof w->head, 1, w->out);
    if (rc == 0) {
        fwrite(w->frame, sizeof *w->frame, (size_t)w->head.kept, w->out);
    }
    return rc;
}

/* Writes the positions of a body, `numbers` in each frame. */
static int write_positions(writer *w, uint64_t b, uint64_t numbers)
{
    size_t all = (size_t)(w->head.kept * numbers);
    double *data = malloc((all + 1) * sizeof *data);
    ds_status st = DS_OK;
    if (data == NULL) {
        return no_memory(w);
    }
    /* What the plugin does not write must not look like a position. */
    for (size_t i = 0; i < all; i++) {
        data[i] = (double)NAN;
    }
    for (uint64_t k = 0; k < w->head.kept && st == DS_OK; k++) {
        st = w->ext->frame(w->self, w->frame[k], b, numbers, data + k * numbers);
    }
    fwrite(data, sizeof *data, all, w->out);
    free(data);
    return st == DS_OK ? 0 : refused(w, st, "frame");
}

static int write_body(writer *w, uint64_t b)
{
    static const unsigned char zeros[8];
    ds_scene_body said = {.struct_size = sizeof said};
    ds_status st = w->ext->body(w->self, b, &said);
    if (st != DS_OK) {
        return refused(w, st, "body");
    }
    if (said.shape > DS_BODY_LINES) {
        w->left_out++; /* a shape of a later version */
        return 0;
    }
    ds_block_body body = {.shape = said.shape,
                          .role = said.role <= DS_ROLE_TARGET ? said.role : DS_ROLE_MATERIAL,
                          .variety = said.variety,
                          .count = said.count,
                          .index_count = said.index_count};
    put_text(body.name, sizeof body.name, said.name != NULL ? said.name : "");
    memcpy(body.size, said.size, sizeof body.size);
    fwrite(&body, sizeof body, 1, w->out);
    uint64_t width = ds_scene_width(said.shape);
    int indexed = said.shape == DS_BODY_MESH || said.shape == DS_BODY_LINES;
    if (width == 0 || said.count == 0 || said.count > DS_SCENE_MAX_BYTES / sizeof(double) / width ||
        said.index_count > (indexed ? DS_SCENE_MAX_BYTES / sizeof(uint32_t) : 0)) {
        return ENDED;
    }
    /* Cannot overflow: count x width x 8 and index_count x 4 are below 2^32, kept is below 2^29. */
    uint64_t numbers = said.count * width;
    w->bytes += numbers * w->head.kept * sizeof(double) + said.index_count * sizeof(uint32_t);
    if (w->bytes > DS_SCENE_MAX_BYTES) {
        return ds_fail(w->e, DS_EXIT_PLUGIN,
                       "scene: %" PRIu64 " frames up to body '%.63s' take over %" PRIu64
                       " GiB: keep fewer frames",
                       w->head.kept, body.name, DS_SCENE_MAX_BYTES >> 30);
    }
    if (said.index_count > 0 && said.index == NULL) {
        return ds_fail(w->e, DS_EXIT_PLUGIN, "scene: the index of body '%.63s' is NULL", body.name);
    }
    if (said.index_count > 0) {
        fwrite(said.index, sizeof *said.index, (size_t)said.index_count, w->out);
        fwrite(zeros, sizeof *said.index, said.index_count % 2, w->out);
    }
    return write_positions(w, b, numbers);
}

static int write_metric(writer *w, uint64_t m)
{
    ds_block_metric metric = {.name = ""};
    ds_scene_metric told = {.struct_size = sizeof told};
    ds_status st = w->ext->metric(w->self, m, &told);
    const char *name = told.name, *unit = told.unit;
    const double *values = told.values;
    if (st != DS_OK) {
        return refused(w, st, "metric");
    }
    put_text(metric.name, sizeof metric.name, name != NULL ? name : "");
    /* a unit cannot contain it, so the reader refuses it */
    put_text(metric.unit, sizeof metric.unit, unit != NULL ? unit : "\n");
    w->bytes += w->head.frames * sizeof(double);
    fwrite(&metric, sizeof metric, 1, w->out);
    if (name == NULL || unit == NULL) {
        return ENDED;
    }
    if (values == NULL || w->bytes > DS_SCENE_MAX_BYTES) {
        return ds_fail(w->e, DS_EXIT_PLUGIN, "scene: the values of metric '%.63s' are %s", metric.name,
                       values == NULL ? "NULL" : "too many");
    }
    fwrite(values, sizeof *values, (size_t)w->head.frames, w->out);
    return 0;
}

static int write_all(writer *w, const uint64_t *keep, uint64_t keep_count)
{
    int rc = write_head(w, keep, keep_count);
    for (uint64_t b = 0; b < w->head.bodies && rc == 0; b++) {
        rc = write_body(w, b);
    }
    for (uint64_t m = 0; m < w->head.metrics && rc == 0; m++) {
        rc = write_metric(w, m);
    }
    free(w->frame);
    return rc == ENDED ? 0 : rc;
}

int ds_scene_write(const ds_scene *ext, void *self, const uint64_t *keep, uint64_t keep_count, char **block,
                   size_t *size, ds_error *e)
{
    ds_scene own;
    *block = NULL;
    if (DS_SIZED_READ(&own, ext, DS_SCENE_SIZE_1_0, "scene", "the table of " DS_EXT_SCENE, e) != 0) {
        return DS_EXIT_PLUGIN;
    }
    if (own.info == NULL || own.body == NULL || own.frame == NULL || own.metric == NULL) {
        return ds_fail(e, DS_EXIT_PLUGIN, "scene: the plugin's extension " DS_EXT_SCENE " lacks a function");
    }
    writer w = {.ext = &own, .self = self, .out = open_memstream(block, size), .e = e};
    if (w.out == NULL) {
        return no_memory(&w);
    }
    int rc = write_all(&w, keep, keep_count);
    rc = rc == 0 && ferror(w.out) ? no_memory(&w) : rc;
    rc = fclose(w.out) != 0 && rc == 0 ? no_memory(&w) : rc;
    if (rc != 0) {
        free(*block);
        *block = NULL;
        return rc;
    }
    uint64_t total = *size, bodies = w.head.bodies - w.left_out;
    memcpy(*block + offsetof(ds_block_head, total), &total, sizeof total);
    memcpy(*block + offsetof(ds_block_head, bodies), &bodies, sizeof bodies);
    return 0;
}

/* Few elements, all rigid, so that trajectories can be drawn. */
static int few_bodies(const ds_scene *own, void *self, const ds_scene_info *info)
{
    uint64_t elements = 0;
    int rigid = own->body != NULL && info->bodies > 0 && info->bodies <= DS_TRACE_BODIES;
    for (uint64_t b = 0; rigid && b < info->bodies; b++) {
        ds_scene_body body = {.struct_size = sizeof body};
        rigid = own->body(self, b, &body) == DS_OK && ds_scene_width(body.shape) == 7;
        elements += body.count < UINT32_MAX ? body.count : UINT32_MAX;
    }
    return rigid && elements <= DS_TRACE_BODIES;
}

/* Frames of a scene whose images show trajectories (flat, or few bodies); 0 = another scene, or none. */
static uint64_t traced_frames(const ds_scene *ext, void *self)
{
    ds_scene_info info = {.struct_size = sizeof info};
    ds_scene own;
    return DS_SIZED_READ(&own, ext, DS_SCENE_SIZE_1_0, "", "", NULL) == 0 && own.info != NULL &&
                   own.info(self, &info) == DS_OK && info.frames < UINT32_MAX &&
                   (info.flat == 1 || few_bodies(&own, self, &info))
               ? info.frames
               : 0;
}

const uint64_t *ds_scene_frames(const ds_scene *ext, void *self, uint32_t keep,
                                uint64_t room[DS_TRACE_FRAMES], uint64_t *count)
{
    static const uint64_t few[] = {0, DS_SCENE_MIDDLE, DS_SCENE_LAST};
    uint64_t frames = keep == DS_KEEP_FEW ? traced_frames(ext, self) : 0;
    if (frames == 0) {
        *count = keep == DS_KEEP_FEW ? sizeof few / sizeof few[0] : 0;
        return keep == DS_KEEP_ALL ? NULL : few;
    }
    *count = frames < DS_TRACE_FRAMES ? frames : DS_TRACE_FRAMES;
    for (uint64_t i = 0; i < *count; i++) {
        room[i] = *count > 1 ? i * (frames - 1) / (*count - 1) : 0;
    }
    return room;
}
