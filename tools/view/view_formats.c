/* SPDX-License-Identifier: Apache-2.0 */
/* view_formats.c - the table of formats (see view.h). */
#include "config.h"

#include "exchange/exchange.h"
#include "exchange/film.h"
#include "results/trajectory.h"
#include "view/view.h"
#include "view/view_page.h"

static int write_arrays(const char *path, const ds_view_episodes *episodes, ds_error *e)
{
    return ds_trajectory_write(path, episodes->item[0].scene, e);
}

const ds_view_format ds_view_formats[] = {
    {.ending = "html",
     .help = "an interactive page to play, turn and measure them",
     .side_by_side = 1,
     .write = ds_view_page},
    {.ending = "webp", .help = "a film, small: animated WebP", .side_by_side = 1, .write = ds_film_webp},
    {.ending = "png",
     .help = "a lossless film: animated PNG; a plain image for one frame",
     .side_by_side = 1,
     .write = ds_film_png},
    {.ending = "mp4", .help = "a film, by ffmpeg", .side_by_side = 1, .write = ds_film_mp4},
    {.ending = "gif", .help = "a film, by ffmpeg", .side_by_side = 1, .write = ds_film_gif},
    {.ending = "pvd",
     .help = "for ParaView: the times of FILE-0000.vtu, ..., next to it",
     .write = ds_exchange_pvd},
    {.ending = "vtu",
     .help = "the same without the .pvd; FILE itself for one frame",
     .write = ds_exchange_vtu},
    {.ending = "usda",
     .help = "for Blender, usdview, Omniverse: USD with time samples",
     .write = ds_exchange_usda},
    {.ending = "ply",
     .help = "binary PLY, FILE-0000.ply, ...; FILE itself for one frame",
     .write = ds_exchange_ply},
    {.ending = "obj", .help = "Wavefront OBJ with its .mtl, named the same way", .write = ds_exchange_obj},
    {.ending = "npz", .help = "all frames as NumPy arrays (docs/trajectory.md)", .write = write_arrays},
    {.ending = "csv", .help = "a table of metrics and poses, a row per frame", .write = write_arrays},
    {0},
};
