/* SPDX-License-Identifier: Apache-2.0 */
/* greeting.h - what a worker says about its environment when it has made an instance, read by the host. The
 * plugin can write to the file that it comes in: nothing of it is believed. */
#ifndef DS_WORKER_GREETING_H
#define DS_WORKER_GREETING_H

#include "plugin/instance.h"

typedef struct ds_greeting {
    ds_env_facts facts; /* without parameters */
    double *bounds;
    ds_channels channels;
} ds_greeting;

/* Reads the greeting of a worker with plugin `id` from its start file: 0, or the error that it reports. */
int ds_greeting_read(const char *id, int fd, ds_greeting *out, ds_error *e);
void ds_greeting_clear(ds_greeting *g);

/* Does a further worker describe the same environment? */
int ds_greeting_compare(const char *id, int fd, const ds_greeting *first, ds_error *e);

#endif
