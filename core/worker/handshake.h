/* SPDX-License-Identifier: Apache-2.0 */
/* greeting.h - what a worker says about its environment when it has made an instance, read by the host. The
 * plugin can write to the file that it comes in: nothing of it is believed. */
#ifndef DS_WORKER_HANDSHAKE_H
#define DS_WORKER_HANDSHAKE_H

#include "plugin/instance.h"

typedef struct ds_handshake {
    ds_env_facts facts; /* without parameters */
    double *bounds;
    ds_channels channels;
} ds_handshake;

/* Reads the greeting of a worker with plugin `id` from its start file: 0, or the error that it reports. */
int ds_handshake_read(const char *id, int fd, ds_handshake *out, ds_error *e);
void ds_handshake_clear(ds_handshake *g);

/* Does a further worker describe the same environment? */
int ds_handshake_compare(const char *id, int fd, const ds_handshake *first, ds_error *e);

#endif
