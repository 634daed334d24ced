/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_frames.c - `dshost frames`: turns a scene on standard input into pixels on standard output, for
 * programs that get scenes from libdiffsim. */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "plot/canvas.h"
#include "render/render.h"
#include "render/render_flat.h"

/* Size in pixels, and the frame to draw; negative = all. */
typedef struct frames_request {
    int width, height;
    int64_t frame;
} frames_request;

enum { DS_FRAMES_SIDE_MIN = 16, DS_FRAMES_SIDE_MAX = 8192 };

enum { UNIT_ROOM = 14 /* for a flat scene: the unit to the right of the axis */ };

/* ---- input and output ---- */

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
            return ds_fail(e, DS_EXIT_IO, "cannot read the scene on standard input: %s", strerror(errno));
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
            return ds_fail(e, DS_EXIT_IO, "cannot write to standard output: %s", strerror(errno));
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

/* Frame k as bytes; `pixels` is a buffer for it. */
static int draw(const ds_snapshot *s, uint64_t k, const frames_request *q, uint32_t *pixels,
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

static int draw_frames(const ds_snapshot *s, int out, const frames_request *q, ds_error *e)
{
    uint64_t first = q->frame < 0 ? 0 : (uint64_t)q->frame, end = q->frame < 0 ? s->kept : first + 1;
    if (end > s->kept) {
        return ds_fail(e, DS_EXIT_USAGE, "frame %" PRIu64 " does not exist: the scene has %" PRIu64, first,
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

/* Reads one block of core/scene/scene_write.h from `in` to its end, and writes each requested frame to `out`:
 * height x width x 3 bytes, red green blue, row by row from the top. Fails with DS_EXIT_USAGE for a missing
 * frame, DS_EXIT_PLUGIN for an invalid block, DS_EXIT_IO or DS_EXIT_MEMORY. */
static int draw_all(int in, int out, const frames_request *q, ds_error *e)
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

static int wrong(const char *name, const char *value, const char *wanted, ds_error *e)
{
    return ds_fail(e, DS_EXIT_USAGE, "frames: --%s is '%s': expected %s", name, value, wanted);
}

static int take_size(void *request, const char *name, const char *value, ds_error *e)
{
    frames_request *q = request;
    char end = 0;
    int sound = sscanf(value, "%6dx%6d%c", &q->width, &q->height, &end) == 2;
    sound = sound && q->width >= DS_FRAMES_SIDE_MIN && q->width <= DS_FRAMES_SIDE_MAX;
    sound = sound && q->height >= DS_FRAMES_SIDE_MIN && q->height <= DS_FRAMES_SIDE_MAX;
    return sound ? 0 : wrong(name, value, "WIDTHxHEIGHT, 16 to 8192 pixels each", e);
}

static int take_frame(void *request, const char *name, const char *value, ds_error *e)
{
    frames_request *q = request;
    char end = 0;
    int sound = sscanf(value, "%18" SCNd64 "%c", &q->frame, &end) == 1 && q->frame >= 0;
    return sound ? 0 : wrong(name, value, "the number of a frame, from 0", e);
}

static int command(int argc, char **argv, ds_error *e)
{
    static const char usage[] =
        "usage: dshost frames [--size WxH] [--frame K] < SCENE > PIXELS\nFor programs: turns a scene, as the "
        "Python package diffsim writes it (core/scene/scene_write.h), into pixels:\nfor each frame height x "
        "width x 3 bytes, red green blue, row by row from the top.\n  --size WxH     size of a frame "
        "[480x360]\n  --frame K      only this frame, from 0\n";
    frames_request q = {480, 360, -1};
    const ds_flag flags[] = {
        {"size", .take = take_size}, {"frame", .take = take_frame}, {"help", .usage = usage}, {0}};
    int rc = ds_arguments_read(argc, argv, "frames", flags, 0, &q, e);
    rc = rc != 0 ? rc : ds_arguments_end(argc, argv, "frames", e);
    return rc != 0 ? rc : draw_all(STDIN_FILENO, STDOUT_FILENO, &q, e);
}

int main(int argc, char **argv)
{
    return ds_command_main(argc, argv, command);
}
