/* SPDX-License-Identifier: Apache-2.0 */
/* view.h - the files that `dshost view` writes: one row for each ending of a name. */
#ifndef DS_VIEW_VIEW_H
#define DS_VIEW_VIEW_H

#include "episode/episode.h"

/* Writes the episodes to `path`. What it leaves is complete or not there; where the format has several files,
 * those besides `path` are named after it. An exit status, and one line that begins with the path. */
typedef int ds_view_write(const char *path, const ds_view_episodes *episodes, ds_error *e);

typedef struct ds_view_format {
    const char *ending;   /* of the file's name, without the dot, in lower case */
    const char *help;     /* half a line: what is in it and what for */
    int side_by_side;     /* does it take several episodes? else one */
    ds_view_write *write; /* NULL ends the table */
} ds_view_format;

/* A new format is a row here, and a room below this one in core/LAYERS that includes episode/episode.h. */
extern const ds_view_format ds_view_formats[];

#endif
