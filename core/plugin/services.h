/* SPDX-License-Identifier: Apache-2.0 */
/* services.h - the host as one plugin instance sees it, with the parameters of the instance. */
#ifndef DS_PLUGIN_SERVICES_H
#define DS_PLUGIN_SERVICES_H

#include <stdatomic.h>

#include "config/params.h"
#include "plugin/loader.h"

/* Host services of one instance: `host.ctx` points back to this struct. */
typedef struct ds_services {
    ds_host host;
    const ds_module *module;
    ds_params *params;
    const atomic_int *stop; /* nonzero = end the run; may be NULL */
    ds_status last_status;  /* from the last host->error() */
    char last_error[DS_MAX_ERROR + 1];
} ds_services;

/* Fills *s for a module; owns `params` from then on. */
void ds_services_init(ds_services *s, const ds_module *module, ds_params *params, uint64_t seed,
                      uint32_t threads, const atomic_int *stop);
void ds_services_clear(ds_services *s);

/* Drops the lines that the plugin logs from now on. */
void ds_services_quiet(ds_services *s);

/* The error for a failed call of the plugin: "torus: create() failed: TEXT (DS_E_PARAM)". */
int ds_services_fail(const ds_services *s, ds_error *e, const char *function, ds_status status);

/* Appends to the error in e what the plugin said about it, if anything; returns rc. Clear last_error before
 * the call. */
int ds_services_explain(const ds_services *s, int rc, ds_error *e);

#endif
