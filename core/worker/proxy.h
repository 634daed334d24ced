/* SPDX-License-Identifier: Apache-2.0 */
/* proxy.h - the optimizer's side of remote.h in a worker process: an instance, and an objective whose calls
 * the host serves. */
#ifndef DS_WORKER_PROXY_H
#define DS_WORKER_PROXY_H

#include "config/settings.h"
#include "plugin/services.h"

typedef struct ds_proxy ds_proxy;

/* Start arguments. */
typedef struct ds_proxy_config {
    const ds_module *module;
    const ds_settings *settings; /* section [opt] */
    uint64_t seed;
    uint32_t threads;
    int share, socket;
} ds_proxy_config;

/* Makes an instance for the problem in the shared memory: calls create() of the plugin. */
int ds_proxy_open(const ds_proxy_config *config, ds_proxy **out, ds_error *e);

/* Calls run(), and reports to the host what it returned. */
void ds_proxy_run(ds_proxy *p);

/* Calls destroy() of the plugin; accepts NULL. Everything else stays until the process ends, because a thread
 * that the plugin left running may use it. */
void ds_proxy_close(ds_proxy *p);

#endif
