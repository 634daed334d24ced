/* SPDX-License-Identifier: Apache-2.0 */
/* settings.h - reading of parameters whose default depends on another parameter (a variant, a number of
 * links). They are lists in the schema: empty = the usual values, which the environment passes in `out`. */
#ifndef DS_ENGINES_SETTINGS_H
#define DS_ENGINES_SETTINGS_H

#include <diffsim/host.h>

/* A list of none, one (for all) or n values; `out` keeps its n values where the list is empty. */
ds_status setting_list(const ds_host *host, const char *name, uint64_t n, double *out);

/* The short forms below leave *out alone where an earlier *status is an error, and put their own there. */
void setting_values(ds_status *status, const ds_host *host, const char *name, uint64_t n, double *out);
void setting_real(ds_status *status, const ds_host *host, const char *name, double *out);
void setting_int(ds_status *status, const ds_host *host, const char *name, int64_t *out);

/* Reports `line` (a printf format) as a bad parameter; returns DS_E_PARAM. */
__attribute__((format(printf, 2, 3))) ds_status setting_bad(const ds_host *host, const char *line, ...);

#endif
