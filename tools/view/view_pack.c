/* SPDX-License-Identifier: Apache-2.0 */
/* view_pack.c - see view_pack.h. Particles move little from frame to frame: the upper bytes of differences
 * are nearly all 0, and runs of them cost nothing (zlib's strategy Z_RLE). */
#include "config.h"

#include "view/view_pack.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "plot/canvas_svg.h"

/* As far away as the renderer draws. */
#define FAR_AWAY 50.0

/* ---- frames ---- */

static uint64_t numbers_of(const ds_snapshot *s)
{
    uint64_t n = 0;
    for (uint64_t b = 0; b < s->bodies; b++) {
        n += s->body[b].count * s->body[b].width;
    }
    return n > 0 ? n : 1;
}

static uint64_t up(uint64_t a, uint64_t b)
{
    return a / b + (a % b > 0);
}

int ds_pack_frames_choose(const ds_snapshot *s, uint64_t every, size_t episodes, ds_pack_frames *out,
                          ds_error *e)
{
    if (every == 0) {
        const uint64_t room = DS_PACK_NUMBERS / episodes / numbers_of(s) + 2;
        const uint64_t most = room < DS_PACK_FRAMES ? room : DS_PACK_FRAMES;
        every = s->kept > most ? up(s->kept - 1, most - 1) : 1;
    }
    out->count = 0;
    out->kept = calloc((size_t)(up(s->kept, every) + 1), sizeof *out->kept);
    if (out->kept == NULL) {
        return ds_no_memory(e);
    }
    for (uint64_t k = 0; k < s->kept; k += every) {
        out->kept[out->count++] = k;
    }
    if (out->kept[out->count - 1] != s->kept - 1) {
        out->kept[out->count++] = s->kept - 1;
    }
    return 0;
}

/* ---- whole numbers ---- */

/* The box, for what is too far away. */
typedef struct reach {
    double center[3], far;
} reach;

static reach reach_of(const ds_snapshot *s)
{
    reach r;
    double sum = 0;
    for (int c = 0; c < 3; c++) {
        const double d = s->box[3 + c] - s->box[c];
        r.center[c] = s->box[c] + d / 2;
        sum += d * d;
    }
    r.far = FAR_AWAY * sqrt(sum);
    return r;
}

static int is_drawn(const reach *r, const double *v, uint32_t width)
{
    for (uint32_t c = 0; c < width; c++) {
        if (c < 3 ? !(fabs(v[c] - r->center[c]) < r->far) : !isfinite(v[c])) {
            return 0;
        }
    }
    return 1;
}

static int moves(const ds_snapshot *s, uint64_t b, const ds_pack_frames *frames)
{
    const size_t bytes = (size_t)(s->body[b].count * s->body[b].width) * sizeof(double);
    for (uint64_t k = 1; k < frames->count; k++) {
        if (memcmp(ds_snapshot_at(s, frames->kept[0], b), ds_snapshot_at(s, frames->kept[k], b), bytes) !=
            0) {
            return 1;
        }
    }
    return 0;
}

void ds_pack_measure(const ds_snapshot *s, uint64_t b, const ds_pack_frames *frames, ds_pack_range *out)
{
    const ds_snapshot_body *body = &s->body[b];
    const reach r = reach_of(s);
    /* Of a target only the first frame counts (diffsim/ext/scene.h). */
    out->frames = body->role != DS_ROLE_TARGET && moves(s, b, frames) ? frames->count : 1;
    for (uint32_t c = 0; c < 7; c++) {
        out->low[c] = (double)INFINITY;
        out->high[c] = -(double)INFINITY;
    }
    for (uint64_t k = 0; k < out->frames; k++) {
        const double *v = ds_snapshot_at(s, frames->kept[k], b);
        for (uint64_t i = 0; i < body->count; i++, v += body->width) {
            if (!is_drawn(&r, v, body->width)) {
                continue;
            }
            for (uint32_t c = 0; c < body->width; c++) {
                out->low[c] = v[c] < out->low[c] ? v[c] : out->low[c];
                out->high[c] = v[c] > out->high[c] ? v[c] : out->high[c];
            }
        }
    }
    for (uint32_t c = 0; c < 7; c++) { /* nothing is drawn, or there is no such component */
        if (!(out->low[c] <= out->high[c])) {
            out->low[c] = out->high[c] = 0;
        }
    }
}

static void quantise(const ds_snapshot *s, uint64_t b, uint64_t kept, const ds_pack_range *range,
                     const reach *r, uint16_t *out)
{
    const ds_snapshot_body *body = &s->body[b];
    const double *v = ds_snapshot_at(s, kept, b);
    double scale[7];
    for (uint32_t c = 0; c < body->width; c++) {
        const double span = range->high[c] - range->low[c];
        scale[c] = span > 1e-290 && isfinite(span) ? DS_PACK_LEVELS / span : 0;
    }
    for (uint64_t i = 0; i < body->count; i++, v += body->width) {
        const int drawn = is_drawn(r, v, body->width);
        for (uint32_t c = 0; c < body->width; c++) {
            /* Positive, so that cutting off after adding a half rounds. */
            out[c * body->count + i] = !drawn         ? DS_PACK_NOTHING
                                       : scale[c] > 0 ? (uint16_t)((v[c] - range->low[c]) * scale[c] + 0.5)
                                                      : 0;
        }
    }
}

/* ---- the stream ---- */

enum { OUT = 48 << 10 /* a multiple of 3: pieces of base64 that fit together */ };

typedef struct stream {
    z_stream z;
    FILE *f;
    unsigned char out[OUT];
} stream;

static int open_stream(stream *s, FILE *f, ds_error *e)
{
    memset(&s->z, 0, sizeof s->z);
    s->f = f;
    s->z.next_out = s->out;
    s->z.avail_out = OUT;
    return deflateInit2(&s->z, 6, Z_DEFLATED, 15, 9, Z_RLE) == Z_OK ? 0 : ds_no_memory(e);
}

/* Compresses n bytes; `flush` is Z_NO_FLUSH, or Z_FINISH with the last ones. */
static void put(stream *s, unsigned char *data, size_t n, int flush)
{
    int status = Z_OK;
    while (status == Z_OK && (n > 0 || flush == Z_FINISH || s->z.avail_in > 0)) {
        if (s->z.avail_in == 0) {
            const size_t part = n < ((size_t)1 << 30) ? n : (size_t)1 << 30;
            s->z.next_in = data;
            s->z.avail_in = (uInt)part;
            data += part;
            n -= part;
        }
        status = deflate(&s->z, n > 0 ? Z_NO_FLUSH : flush);
        if (s->z.avail_out == 0 || status == Z_STREAM_END) {
            ds_put_base64(s->f, s->out, OUT - s->z.avail_out);
            s->z.next_out = s->out;
            s->z.avail_out = OUT;
        }
    }
}

static unsigned zigzag(int16_t d)
{
    return d >= 0 ? 2u * (unsigned)d : 2u * (unsigned)-(d + 1) + 1u;
}

/* The differences of one frame as planes of bytes; `now` becomes what the next frame is told from. */
static void difference(const uint16_t *now, const uint16_t *before, uint64_t count, uint64_t n,
                       unsigned char *out)
{
    for (uint64_t i = 0; i < n; i++) {
        const unsigned from = before != NULL ? before[i] : i % count > 0 ? now[i - 1] : 0;
        const unsigned z = zigzag((int16_t)(uint16_t)(now[i] - from));
        out[i] = (unsigned char)(z & 255);
        out[n + i] = (unsigned char)(z >> 8);
    }
}

int ds_pack_positions(FILE *f, const ds_snapshot *s, uint64_t b, const ds_pack_frames *frames,
                      const ds_pack_range *range, ds_error *e)
{
    const ds_snapshot_body *body = &s->body[b];
    const uint64_t n = body->count * body->width;
    const reach r = reach_of(s);
    uint16_t *q = calloc((size_t)n, 2 * sizeof *q);
    unsigned char *bytes = malloc((size_t)n * 2);
    stream *z = malloc(sizeof *z);
    int rc = q == NULL || bytes == NULL || z == NULL ? ds_no_memory(e) : open_stream(z, f, e);
    if (rc == 0) {
        for (uint64_t k = 0; k < range->frames; k++) {
            uint16_t *now = q + k % 2 * n, *before = q + (k + 1) % 2 * n;
            quantise(s, b, frames->kept[k], range, &r, now);
            difference(now, k > 0 ? before : NULL, body->count, n, bytes);
            put(z, bytes, (size_t)n * 2, k + 1 == range->frames ? Z_FINISH : Z_NO_FLUSH);
        }
        deflateEnd(&z->z);
    }
    free(q);
    free(bytes);
    free(z);
    return rc;
}

int ds_pack_index(FILE *f, const ds_snapshot_body *body, ds_error *e)
{
    const size_t n = (size_t)body->index_count;
    unsigned char *bytes = malloc(4 * n + 1);
    stream *z = malloc(sizeof *z);
    int rc = bytes == NULL || z == NULL ? ds_no_memory(e) : open_stream(z, f, e);
    if (rc == 0) {
        for (size_t i = 0; i < n; i++) {
            const uint32_t d = body->index[i] - (i > 0 ? body->index[i - 1] : 0);
            for (size_t p = 0; p < 4; p++) {
                bytes[p * n + i] = (unsigned char)(d >> 8 * p & 255);
            }
        }
        put(z, bytes, 4 * n, Z_FINISH);
        deflateEnd(&z->z);
    }
    free(bytes);
    free(z);
    return rc;
}
