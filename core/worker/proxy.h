/* SPDX-License-Identifier: Apache-2.0 */
/* proxy.h - the optimizer's side of remote.h, in a worker process: an instance, and an objective
 * whose calls the host answers. */
#ifndef DS_WORKER_PROXY_H
#define DS_WORKER_PROXY_H

#include "config/settings.h"
#include "plugin/services.h"

typedef struct ds_proxy ds_proxy;

/* Where it is and what it is told. */
typedef struct ds_proxy_config {
    const ds_module *module;
    const ds_settings *settings; /* section [opt] */
    uint64_t seed;
    uint32_t threads;
    int share, socket;
} ds_proxy_config;

/* Makes an instance for the problem in the shared memory: create() of the plugin. */
int ds_proxy_open(const ds_proxy_config *config, ds_proxy **out, ds_error *e);

/* Lets it search, and tells the host what run() returned. */
void ds_proxy_run(ds_proxy *p);

/* destroy() of the plugin; NULL is fine. All else stays until the process ends: a thread that the plugin
 * has left behind may use it. */
void ds_proxy_close(ds_proxy *p);

#endif
