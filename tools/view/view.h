/* SPDX-License-Identifier: Apache-2.0 */
/* view.h - the formats of `dshost view`, by the ending of the file name. */
#ifndef DS_VIEW_VIEW_H
#define DS_VIEW_VIEW_H

#include "episode/episode.h"

/* Writes the episodes to `path`: a complete file or none. Further files of a format are named after `path`.
 * Returns an exit status with a message that begins with the path. */
typedef int ds_view_write(const char *path, const ds_view_episodes *episodes, ds_error *e);

typedef struct ds_view_format {
    const char *ending;   /* of the file name, without the dot, in lower case */
    const char *help;     /* half a line: content and purpose */
    int side_by_side;     /* 1 = several episodes, 0 = one */
    ds_view_write *write; /* NULL ends the table */
} ds_view_format;

/* To add a format, add a row here and a module in tools/exchange. */
extern const ds_view_format ds_view_formats[];

#endif
