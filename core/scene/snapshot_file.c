/* SPDX-License-Identifier: Apache-2.0 */
/* snapshot_file.c - a scene as one block of bytes, written by a worker process and read by the host.
 *
 * Both processes run the same program on the same machine, so numbers are in native order. The worker ran a
 * plugin and may have been damaged by it: the reader believes nothing, and allocates no more than the block
 * itself holds.
 */
#include "config.h"

#include "scene/snapshot.h"
#include "scene/snapshot_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

static const char magic[8] = {'D', 'S', 'S', 'C', 'E', 'N', 'E', '1'};

/* Fixed-size records; each is a multiple of 8 bytes without padding. */
typedef struct block_head {
    char magic[8];
    uint64_t total; /* bytes of the block */
    uint64_t flat;
    uint64_t frames;
    uint64_t kept;
    uint64_t bodies;
    uint64_t metrics;
    double dt;
    double box[6];
    double ground;
} block_head;

typedef struct block_body {
    char name[DS_SCENE_NAME_MAX];
    uint32_t shape;
    uint32_t role;
    uint32_t variety;
    uint32_t reserved;
    uint64_t count;
    uint64_t index_count; /* the index numbers follow, filled up to 8 bytes, then the positions */
    double size[4];
} block_body;

typedef struct block_metric {
    char name[DS_SCENE_NAME_MAX];
    char unit[DS_SCENE_UNIT_MAX]; /* the values follow */
} block_metric;

_Static_assert(sizeof(block_head) == 15 * 8 && sizeof(block_body) == 64 + 8 * 8 && sizeof(block_metric) == 96,
               "records without padding");

/* ---- writing ---- */

static uint64_t padded(uint64_t bytes)
{
    return (bytes + 7) & ~(uint64_t)7;
}

static uint64_t block_size(const ds_snapshot *s)
{
    uint64_t n = sizeof(block_head) + s->kept * sizeof(uint64_t);
    for (uint64_t b = 0; b < s->bodies; b++) {
        const ds_snapshot_body *body = &s->body[b];
        n += sizeof(block_body) + padded(body->index_count * sizeof(uint32_t)) +
             s->kept * body->count * body->width * sizeof(double);
    }
    return n + s->metrics * (sizeof(block_metric) + s->frames * sizeof(double));
}

static int send_bytes(int fd, const void *p, uint64_t len, ds_error *e)
{
    return len == 0 ? 0 : ds_fd_write_all(fd, p, (size_t)len, "scene", e);
}

static int write_body(const ds_snapshot *s, const ds_snapshot_body *body, int fd, ds_error *e)
{
    static const unsigned char zeros[8];
    block_body r = {.shape = body->shape,
                    .role = body->role,
                    .variety = body->variety,
                    .count = body->count,
                    .index_count = body->index_count};
    memcpy(r.name, body->name, sizeof r.name);
    memcpy(r.size, body->size, sizeof r.size);
    uint64_t index_bytes = body->index_count * sizeof(uint32_t);
    int status = send_bytes(fd, &r, sizeof r, e);
    if (status == 0) {
        status = send_bytes(fd, body->index, index_bytes, e);
    }
    if (status == 0) {
        status = send_bytes(fd, zeros, padded(index_bytes) - index_bytes, e);
    }
    if (status == 0) {
        status = send_bytes(fd, body->data, s->kept * body->count * body->width * sizeof(double), e);
    }
    return status;
}

int ds_snapshot_write(const ds_snapshot *s, int fd, ds_error *e)
{
    block_head head = {.total = block_size(s),
                       .flat = s->flat,
                       .frames = s->frames,
                       .kept = s->kept,
                       .bodies = s->bodies,
                       .metrics = s->metrics,
                       .dt = s->dt,
                       .ground = s->ground};
    memcpy(head.magic, magic, sizeof magic);
    memcpy(head.box, s->box, sizeof head.box);
    int status = send_bytes(fd, &head, sizeof head, e);
    if (status == 0) {
        status = send_bytes(fd, s->frame, s->kept * sizeof(uint64_t), e);
    }
    for (uint64_t b = 0; b < s->bodies && status == 0; b++) {
        status = write_body(s, &s->body[b], fd, e);
    }
    for (uint64_t m = 0; m < s->metrics && status == 0; m++) {
        block_metric r;
        memcpy(r.name, s->metric[m].name, sizeof r.name);
        memcpy(r.unit, s->metric[m].unit, sizeof r.unit);
        status = send_bytes(fd, &r, sizeof r, e);
        if (status == 0) {
            status = send_bytes(fd, s->metric[m].values, s->frames * sizeof(double), e);
        }
    }
    return status;
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

/* Copies the next `n` items of `item` bytes into fresh memory; allocates only what the block really holds. */
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
    if (*out == NULL) {
        return ds_scene_no_memory(c->e);
    }
    return take(c, *out, (size_t)(n * item));
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
    block_body r;
    int status = take(c, &r, sizeof r);
    if (status == 0) {
        status = ds_scene_check_name(r.name, "body", b, c->e);
    }
    if (status != 0) {
        return status;
    }
    /* The name is shorter than its field, else the check would have refused it. */
    strcpy(body->name, r.name);
    body->shape = r.shape;
    body->role = r.role;
    body->variety = r.variety;
    body->count = r.count;
    body->index_count = r.index_count;
    memcpy(body->size, r.size, sizeof body->size);
    status = ds_scene_check_body(s, b, c->e);
    if (status != 0) {
        return status;
    }
    void *p;
    status = take_array(c, &p, body->index_count, sizeof(uint32_t));
    body->index = p;
    uint64_t index_bytes = body->index_count * sizeof(uint32_t);
    unsigned char filler[8];
    if (status == 0) {
        status = take(c, filler, (size_t)(padded(index_bytes) - index_bytes));
    }
    if (status == 0) {
        status = ds_scene_check_index(body, c->e);
    }
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
    block_metric r;
    int status = take(c, &r, sizeof r);
    if (status == 0) {
        status = ds_scene_check_name(r.name, "metric", m, c->e);
    }
    if (status == 0) {
        status = ds_scene_check_unit(r.unit, m, c->e);
    }
    if (status != 0) {
        return status;
    }
    strcpy(metric->name, r.name);
    strcpy(metric->unit, r.unit);
    status = ds_scene_check_metric(s, m, c->e);
    if (status == 0) {
        void *p;
        status = take_array(c, &p, s->frames, sizeof(double));
        metric->values = p;
    }
    return status;
}

static int read_all(cursor *c, ds_snapshot *s, size_t len)
{
    block_head head;
    int status = take(c, &head, sizeof head);
    if (status != 0) {
        return status;
    }
    if (memcmp(head.magic, magic, sizeof magic) != 0 || head.total != len || head.flat > 1) {
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
    status = ds_scene_check_info(s, c->e);
    if (status == 0) {
        status = read_frames(c, s);
    }
    if (status != 0) {
        return status;
    }
    /* The two counts are small: ds_scene_check_info() limits them. */
    s->body = calloc(s->bodies > 0 ? (size_t)s->bodies : 1, sizeof *s->body);
    s->metric = calloc(s->metrics > 0 ? (size_t)s->metrics : 1, sizeof *s->metric);
    if (s->body == NULL || s->metric == NULL) {
        return ds_scene_no_memory(c->e);
    }
    for (uint64_t b = 0; b < s->bodies && status == 0; b++) {
        status = read_body(c, s, b);
    }
    for (uint64_t m = 0; m < s->metrics && status == 0; m++) {
        status = read_metric(c, s, m);
    }
    if (status == 0 && c->left != 0) {
        status = damaged(c, "there is something behind its end");
    }
    return status;
}

int ds_snapshot_read(const void *p, size_t len, ds_snapshot **out, ds_error *e)
{
    cursor c = {p, len, e};
    *out = NULL;
    ds_snapshot *s = calloc(1, sizeof *s);
    if (s == NULL) {
        return ds_scene_no_memory(e);
    }
    int status = read_all(&c, s, len);
    if (status != 0) {
        ds_snapshot_free(s);
        return status;
    }
    ds_scene_count_nonfinite(s);
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
    /* Copied, not mapped: the worker could still cut it short. */
    size_t len = (size_t)st.st_size;
    unsigned char *p = malloc(len);
    if (p == NULL) {
        return ds_scene_no_memory(e);
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
    if (status == 0) {
        status = ds_snapshot_read(p, len, out, e);
    }
    free(p);
    return status;
}
