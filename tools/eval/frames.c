/* SPDX-License-Identifier: Apache-2.0 */
/* frames.c - see frames.h. */
#include "config.h"

#include "eval/frames.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plot/canvas.h"
#include "render/render.h"
#include "render/render_flat.h"

enum { UNIT_ROOM = 14 /* of a flat scene: its unit stands to the right of the axis */ };

/* ---- in and out ---- */

static int read_all(int in, char **data, size_t *size, ds_error *e)
{
    size_t room = 1 << 20;
    ssize_t got = 1;
    *size = 0;
    *data = malloc(room);
    while (*data != NULL && got != 0) {
        if (*size == room) {
            char *more = room < DS_SCENE_MAX_BYTES ? realloc(*data, 2 * room) : NULL;
            if (more == NULL) {
                return ds_no_memory(e);
            }
            *data = more;
            room *= 2;
        }
        got = read(in, *data + *size, room - *size);
        if (got < 0 && errno != EINTR) {
            return ds_fail(e, DS_EXIT_IO, "the scene on standard input cannot be read: %s", strerror(errno));
        }
        *size += got > 0 ? (size_t)got : 0;
    }
    return *data != NULL ? 0 : ds_no_memory(e);
}

static int write_all(int out, const unsigned char *data, size_t size, ds_error *e)
{
    while (size > 0) {
        ssize_t put = write(out, data, size);
        if (put < 0 && errno != EINTR) {
            return ds_fail(e, DS_EXIT_IO, "the picture cannot be written to standard output: %s",
                           strerror(errno));
        }
        data += put > 0 ? put : 0;
        size -= put > 0 ? (size_t)put : 0;
    }
    return 0;
}

/* ---- drawing ---- */

static int draw_flat(const ds_snapshot *s, uint64_t k, uint32_t what, int width, int height, uint32_t *pixels,
                     ds_error *e)
{
    ds_canvas *c = ds_canvas_new(DS_CANVAS_PNG, width, height);
    if (c == NULL) {
        return ds_no_memory(e);
    }
    ds_flat_draw(c, s, k, what, NULL, 0, 0, width - UNIT_ROOM, height, 1);
    int rc = ds_canvas_pixels(c, pixels, e);
    ds_canvas_free(c);
    return rc;
}

/* Frame k as bytes; `pixels` is room for it. */
static int draw(const ds_snapshot *s, uint64_t k, const ds_frames_request *q, uint32_t *pixels,
                unsigned char *bytes, ds_error *e)
{
    uint32_t what = DS_RENDER_SCENE | (k > 0 ? DS_RENDER_TRACE : 0u) |
                    (ds_render_has_target(s) && !ds_render_target_beside(s) ? DS_RENDER_GHOST : 0u);
    int rc = s->flat ? draw_flat(s, k, what, q->width, q->height, pixels, e)
                     : ds_render(s, k, what, q->width, q->height, pixels, e);
    size_t count = (size_t)q->width * (size_t)q->height;
    for (size_t i = 0; rc == 0 && i < count; i++) {
        bytes[3 * i] = (unsigned char)(pixels[i] >> 16);
        bytes[3 * i + 1] = (unsigned char)(pixels[i] >> 8);
        bytes[3 * i + 2] = (unsigned char)pixels[i];
    }
    return rc;
}

static int draw_frames(const ds_snapshot *s, int out, const ds_frames_request *q, ds_error *e)
{
    uint64_t first = q->frame < 0 ? 0 : (uint64_t)q->frame, end = q->frame < 0 ? s->kept : first + 1;
    if (end > s->kept) {
        return ds_fail(e, DS_EXIT_USAGE, "there is no frame %" PRIu64 ": the scene has %" PRIu64, first,
                       s->kept);
    }
    size_t count = (size_t)q->width * (size_t)q->height;
    uint32_t *pixels = malloc(count * sizeof *pixels);
    unsigned char *bytes = malloc(3 * count);
    int rc = pixels == NULL || bytes == NULL ? ds_no_memory(e) : 0;
    for (uint64_t k = first; rc == 0 && k < end; k++) {
        rc = draw(s, k, q, pixels, bytes, e);
        rc = rc != 0 ? rc : write_all(out, bytes, 3 * count, e);
    }
    free(pixels);
    free(bytes);
    return rc;
}

int ds_frames_draw(int in, int out, const ds_frames_request *q, ds_error *e)
{
    char *block = NULL;
    size_t size = 0;
    ds_snapshot *s = NULL;
    int rc = read_all(in, &block, &size, e);
    rc = rc != 0 ? rc : ds_snapshot_read(block, size, &s, e);
    free(block);
    rc = rc != 0 ? rc : draw_frames(s, out, q, e);
    ds_snapshot_free(s);
    return rc;
}
