/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_frames.c - `dshost frames`: a scene on standard input becomes pixels on standard output, for programs
 * that have scenes from libdiffsim. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/arguments.h"
#include "cli/command.h"
#include "eval/frames.h"

static int wrong(const char *name, const char *value, const char *wanted, ds_error *e)
{
    return ds_fail(e, DS_EXIT_USAGE, "frames: --%s is '%s': expected %s", name, value, wanted);
}

static int take_size(void *request, const char *name, const char *value, ds_error *e)
{
    ds_frames_request *q = request;
    char end = 0;
    int sound = sscanf(value, "%6dx%6d%c", &q->width, &q->height, &end) == 2;
    sound = sound && q->width >= DS_FRAMES_SIDE_MIN && q->width <= DS_FRAMES_SIDE_MAX;
    sound = sound && q->height >= DS_FRAMES_SIDE_MIN && q->height <= DS_FRAMES_SIDE_MAX;
    return sound ? 0 : wrong(name, value, "WIDTHxHEIGHT, 16 to 8192 pixels each", e);
}

static int take_frame(void *request, const char *name, const char *value, ds_error *e)
{
    ds_frames_request *q = request;
    char end = 0;
    int sound = sscanf(value, "%18" SCNd64 "%c", &q->frame, &end) == 1 && q->frame >= 0;
    return sound ? 0 : wrong(name, value, "the number of a frame, from 0", e);
}

static int command(int argc, char **argv, ds_error *e)
{
    static const char usage[] =
        "usage: dshost frames [--size WxH] [--frame K] < SCENE > PIXELS\n"
        "For programs: a scene, as the package diffsim for Python writes it (core/scene/scene_write.h), "
        "becomes\n"
        "pixels: of each frame height x width x 3 bytes, red green blue, row by row from the top.\n"
        "  --size WxH     of the pictures [480x360]\n"
        "  --frame K      that frame alone, from 0\n";
    ds_frames_request q = {480, 360, -1};
    const ds_flag flags[] = {
        {"size", .take = take_size}, {"frame", .take = take_frame}, {"help", .usage = usage}, {0}};
    int rc = ds_arguments_read(argc, argv, "frames", flags, 0, &q, e);
    rc = rc != 0 ? rc : ds_arguments_end(argc, argv, "frames", e);
    return rc != 0 ? rc : ds_frames_draw(STDIN_FILENO, STDOUT_FILENO, &q, e);
}

int main(int argc, char **argv)
{
    return ds_command_main(argc, argv, command);
}
