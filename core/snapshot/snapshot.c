/* SPDX-License-Identifier: Apache-2.0 */
/* snapshot.c - reads and checks a scene from the block of bytes that scene_write.h makes.
 *
 * The block comes from a process that ran a plugin, which may have damaged it: the reader trusts nothing, and
 * allocates no more than the block holds. */
#include "config.h"

#include "snapshot/snapshot.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

/* ---- the rules of a scene ---- */

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

static int check_name(const char *name, const char *what, uint64_t number, ds_error *e)
{
    if (name == NULL || !good_name(name)) {
        return ds_fail(e, DS_EXIT_PLUGIN,
                       "scene: the name of %s %" PRIu64 " is not [a-z][a-z0-9_]* of at most %d characters",
                       what, number, DS_SCENE_NAME_MAX - 1);
    }
    return 0;
}

static int check_unit(const char *unit, uint64_t number, ds_error *e)
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

static int check_info(const ds_snapshot *s, ds_error *e)
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
        return ds_fail(e, DS_EXIT_PLUGIN, "scene: the box is a point: describe the region to show");
    }
    if (isnan(s->ground) || s->ground == (double)INFINITY) {
        return ds_fail(e, DS_EXIT_PLUGIN, "scene: ground is %g (allowed: finite, or -inf for none)",
                       s->ground);
    }
    if (s->camera && !(fabs(s->azimuth) <= 360 && fabs(s->elevation) <= 90)) {
        return ds_fail(
            e, DS_EXIT_PLUGIN,
            "scene: the camera has azimuth %g and elevation %g (allowed: -360 to 360 and -90 to 90 "
            "degrees)",
            s->azimuth, s->elevation);
    }
    return 0;
}

static int check_body(const ds_snapshot *s, uint64_t b, ds_error *e)
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

static int check_index(const ds_snapshot_body *body, ds_error *e)
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

static int check_metric(const ds_snapshot *s, uint64_t m, ds_error *e)
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

static void count_nonfinite(ds_snapshot *s)
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

static int no_memory(ds_error *e)
{
    return ds_fail(e, DS_EXIT_MEMORY, "scene: out of memory: keep fewer frames or particles");
}

/* ---- reading ---- */

typedef struct cursor {
    const unsigned char *p;
    size_t left;
    ds_error *e;
} cursor;

static int damaged(cursor *c, const char *what)
{
    return ds_fail(c->e, DS_EXIT_PLUGIN, "scene: the block from the worker is damaged: %s", what);
}

/* Copies the next `bytes` bytes into a record. */
static int take(cursor *c, void *out, size_t bytes)
{
    if (bytes > c->left) {
        return damaged(c, "it ends too early");
    }
    memcpy(out, c->p, bytes);
    c->p += bytes;
    c->left -= bytes;
    return 0;
}

/* Copies the next `n` items of `item` bytes into new memory; allocates only what the block holds. */
static int take_array(cursor *c, void **out, uint64_t n, uint64_t item)
{
    *out = NULL;
    if (n > c->left / item) {
        return damaged(c, "it ends too early");
    }
    if (n == 0) {
        return 0;
    }
    *out = malloc((size_t)(n * item));
    return *out == NULL ? no_memory(c->e) : take(c, *out, (size_t)(n * item));
}

static int read_frames(cursor *c, ds_snapshot *s)
{
    void *p;
    int status = take_array(c, &p, s->kept, sizeof(uint64_t));
    s->frame = p;
    for (uint64_t k = 0; k < s->kept && status == 0; k++) {
        if (s->frame[k] >= s->frames || (k > 0 && s->frame[k] <= s->frame[k - 1])) {
            status = damaged(c, "the frame numbers are not ascending");
        }
    }
    return status;
}

static int read_body(cursor *c, ds_snapshot *s, uint64_t b)
{
    ds_snapshot_body *body = &s->body[b];
    ds_block_body r;
    int status = take(c, &r, sizeof r);
    status = status != 0 ? status : check_name(r.name, "body", b, c->e);
    if (status != 0) {
        return status;
    }
    /* The check refused names that are longer than the field. */
    strcpy(body->name, r.name);
    body->shape = r.shape;
    body->role = r.role;
    body->variety = r.variety;
    body->count = r.count;
    body->index_count = r.index_count;
    memcpy(body->size, r.size, sizeof body->size);
    status = check_body(s, b, c->e);
    if (status != 0) {
        return status;
    }
    void *p;
    status = take_array(c, &p, body->index_count, sizeof(uint32_t));
    body->index = p;
    unsigned char filler[8];
    status = status != 0 ? status : take(c, filler, (size_t)(body->index_count % 2 * sizeof(uint32_t)));
    status = status != 0 ? status : check_index(body, c->e);
    uint64_t bytes = body->count * body->width * sizeof(double);
    if (status == 0) {
        status = take_array(c, &p, s->kept, bytes);
        body->data = p;
    }
    return status;
}

static int read_metric(cursor *c, ds_snapshot *s, uint64_t m)
{
    ds_snapshot_metric *metric = &s->metric[m];
    ds_block_metric r;
    int status = take(c, &r, sizeof r);
    status = status != 0 ? status : check_name(r.name, "metric", m, c->e);
    status = status != 0 ? status : check_unit(r.unit, m, c->e);
    if (status != 0) {
        return status;
    }
    strcpy(metric->name, r.name);
    strcpy(metric->unit, r.unit);
    status = check_metric(s, m, c->e);
    if (status == 0) {
        void *p;
        status = take_array(c, &p, s->frames, sizeof(double));
        metric->values = p;
    }
    return status;
}

static int read_all(cursor *c, ds_snapshot *s, size_t len)
{
    ds_block_head head;
    int status = take(c, &head, sizeof head);
    if (status != 0) {
        return status;
    }
    if (memcmp(head.magic, DS_SCENE_MAGIC, sizeof head.magic) != 0 || head.total != len ||
        head.flat > UINT32_MAX || head.camera > 1 ||
        (head.camera == 0 && (head.azimuth != 0 || head.elevation != 0))) {
        return damaged(c, "its head is wrong");
    }
    s->flat = (uint32_t)head.flat;
    s->frames = head.frames;
    s->kept = head.kept;
    s->bodies = head.bodies;
    s->metrics = head.metrics;
    s->dt = head.dt;
    memcpy(s->box, head.box, sizeof s->box);
    s->ground = head.ground;
    s->camera = head.camera == 1;
    s->azimuth = head.azimuth;
    s->elevation = head.elevation;
    status = check_info(s, c->e);
    status = status != 0 ? status : read_frames(c, s);
    if (status != 0) {
        return status;
    }
    /* check_info() limits both counts. */
    s->body = calloc(s->bodies > 0 ? (size_t)s->bodies : 1, sizeof *s->body);
    s->metric = calloc(s->metrics > 0 ? (size_t)s->metrics : 1, sizeof *s->metric);
    if (s->body == NULL || s->metric == NULL) {
        return no_memory(c->e);
    }
    for (uint64_t b = 0; b < s->bodies && status == 0; b++) {
        status = read_body(c, s, b);
    }
    for (uint64_t m = 0; m < s->metrics && status == 0; m++) {
        status = read_metric(c, s, m);
    }
    if (status == 0 && c->left != 0) {
        status = damaged(c, "it continues after its end");
    }
    return status;
}

int ds_snapshot_read(const void *p, size_t len, ds_snapshot **out, ds_error *e)
{
    cursor c = {p, len, e};
    *out = NULL;
    ds_snapshot *s = calloc(1, sizeof *s);
    if (s == NULL) {
        return no_memory(e);
    }
    int status = read_all(&c, s, len);
    if (status != 0) {
        ds_snapshot_free(s);
        return status;
    }
    count_nonfinite(s);
    *out = s;
    return 0;
}

int ds_snapshot_read_fd(int fd, ds_snapshot **out, ds_error *e)
{
    struct stat st;
    *out = NULL;
    if (fstat(fd, &st) != 0) {
        return ds_fail(e, DS_EXIT_IO, "scene: cannot read the block from the worker: %s", strerror(errno));
    }
    /* Positions, index and metrics share DS_SCENE_MAX_BYTES; the rest is small. */
    if (st.st_size <= 0 || (uint64_t)st.st_size > DS_SCENE_MAX_BYTES + ((uint64_t)64 << 20)) {
        return ds_fail(e, DS_EXIT_PLUGIN, "scene: the block from the worker has %lld bytes",
                       (long long)st.st_size);
    }
    /* Copied, not mapped: the worker could still cut the file. */
    size_t len = (size_t)st.st_size;
    unsigned char *p = malloc(len);
    if (p == NULL) {
        return no_memory(e);
    }
    size_t at = 0;
    int status = 0;
    while (at < len && status == 0) {
        ssize_t n = pread(fd, p + at, len - at, (off_t)at);
        if (n > 0) {
            at += (size_t)n;
        } else if (n == 0 || errno != EINTR) {
            status = ds_fail(e, DS_EXIT_IO, "scene: cannot read the block from the worker: %s",
                             n == 0 ? "it ended early" : strerror(errno));
        }
    }
    status = status != 0 ? status : ds_snapshot_read(p, len, out, e);
    free(p);
    return status;
}

int ds_snapshot_collect(const ds_scene *ext, void *self, const uint64_t *keep, uint64_t keep_count,
                        ds_snapshot **out, ds_error *e)
{
    char *block;
    size_t size;
    *out = NULL;
    int status = ds_scene_write(ext, self, keep, keep_count, &block, &size, e);
    status = status != 0 ? status : ds_snapshot_read(block, size, out, e);
    free(block);
    return status;
}

int ds_snapshot_take(const ds_scene *ext, void *self, uint32_t keep, ds_snapshot **out, ds_error *e)
{
    uint64_t room[DS_TRACE_FRAMES], count;
    const uint64_t *frames = ds_scene_frames(ext, self, keep, room, &count);
    return ds_snapshot_collect(ext, self, frames, count, out, e);
}

int ds_snapshot_is_traced(const ds_snapshot *s)
{
    uint64_t elements = 0;
    int rigid = s->bodies <= DS_TRACE_BODIES;
    for (uint64_t b = 0; rigid && b < s->bodies; b++) {
        rigid = s->body[b].width == 7;
        elements += s->body[b].count;
    }
    return s->kept > 3 && (s->flat || (rigid && elements <= DS_TRACE_BODIES));
}
