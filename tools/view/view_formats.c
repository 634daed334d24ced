/* SPDX-License-Identifier: Apache-2.0 */
/* view_formats.c - the table of view.h. */
#include "config.h"

#include "results/trajectory.h"
#include "view/view.h"
#include "view/view_page.h"

static int write_arrays(const char *path, const ds_view_episodes *episodes, ds_error *e)
{
    return ds_trajectory_write(path, episodes->item[0].scene, e);
}

const ds_view_format ds_view_formats[] = {
    {.ending = "html",
     .help = "a page to play, turn and measure them in, that needs nothing else",
     .side_by_side = 1,
     .write = ds_view_page},
    {.ending = "npz", .help = "all frames as NumPy arrays (docs/trajectory.md)", .write = write_arrays},
    {.ending = "csv", .help = "a table of metrics and poses, a row per frame", .write = write_arrays},
    {0},
};
