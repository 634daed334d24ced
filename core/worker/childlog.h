/* SPDX-License-Identifier: Apache-2.0 */
/* childlog.h - passes on what worker processes write to stdout and stderr, line by line, and not too much of
 * it. */
#ifndef DS_WORKER_CHILDLOG_H
#define DS_WORKER_CHILDLOG_H

#include <stddef.h>
#include <stdint.h>

typedef struct ds_childlog {
    const char *source;  /* id of the plugin */
    uint64_t second;     /* the current second */
    uint32_t lines;      /* shown in it */
    uint64_t suppressed; /* not shown since the last line that was */
    size_t used;
    char line[1024];
} ds_childlog;

/* Takes bytes as they come. Messages of the worker's own log keep their level. */
void ds_childlog_feed(ds_childlog *log, const char *bytes, size_t count);

/* Shows an unfinished last line and the number of suppressed ones. */
void ds_childlog_end(ds_childlog *log);

#endif
