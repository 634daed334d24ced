/* SPDX-License-Identifier: Apache-2.0 */
/* diffsim/helper/params.h - reads the parameters of a plugin, one line each, with one test at the end.
 *
 * Header only, optional, no part of the binary interface. In create():
 *
 *     ds_param_reader in = {host, DS_OK};
 *     e->mass = ds_param_real(&in, "mass");
 *     e->steps = (uint64_t)ds_param_int(&in, "steps");
 *     ds_param_values(&in, "target", 3, e->target);
 *     if (in.status != DS_OK) {
 *         return in.status;
 *     }
 *
 * The first failure is reported to the host and kept in `status`; after it nothing more is read. A failure is
 * an error of the plugin (its schema does not declare the name, or declares another type) or of the host; the
 * host has already checked the user's values against the schema.
 *
 * A default that depends on another parameter is an empty LIST in the schema; pass its value in:
 *
 *     e->speed = uphill ? 2 : 1;
 *     ds_param_values(&in, "speed", 1, &e->speed);
 *
 * Check what a schema cannot express yourself, and report it by
 *
 *     in.status = ds_host_fail(host, DS_E_PARAM, ...);        (diffsim/helper/fail.h) */
#ifndef DIFFSIM_HELPER_PARAMS_H
#define DIFFSIM_HELPER_PARAMS_H

#include <diffsim/helper/fail.h>

/* Reads for one instance, in create(). */
typedef struct ds_param_reader {
    const ds_host *host;
    ds_status status; /* of the first failed read; DS_OK so far */
} ds_param_reader;

/* Records that reading `name` returned `status`. Used by the functions below. */
static inline void ds_param_answered(ds_param_reader *in, const char *name, ds_status status)
{
    if (status != DS_OK) {
        in->status = ds_host_fail(in->host, status, "parameter '%.60s' cannot be read", name);
    }
}

/* A BOOL (0 or 1), INT or ENUM (index of the choice); 0 after a failure. [instance] */
static inline int64_t ds_param_int(ds_param_reader *in, const char *name)
{
    int64_t value = 0; /* a getter that fails leaves it unchanged */
    if (in->status == DS_OK) {
        ds_param_answered(in, name, in->host->get_int(in->host, name, &value));
    }
    return value;
}

/* A REAL or INT; 0 after a failure. [instance] */
static inline double ds_param_real(ds_param_reader *in, const char *name)
{
    double value = 0;
    if (in->status == DS_OK) {
        ds_param_answered(in, name, in->host->get_real(in->host, name, &value));
    }
    return value;
}

/* A TEXT, PATH or ENUM (its choice), which stays valid until destroy(); "" after a failure. [instance] */
static inline const char *ds_param_text(ds_param_reader *in, const char *name)
{
    const char *value = "";
    if (in->status == DS_OK) {
        ds_param_answered(in, name, in->host->get_text(in->host, name, &value));
    }
    return value;
}

/* A LIST of *count values, which stay valid until destroy(); none after a failure. [instance] */
static inline const double *ds_param_list(ds_param_reader *in, const char *name, uint64_t *count)
{
    const double *value = NULL;
    *count = 0;
    if (in->status == DS_OK) {
        ds_param_answered(in, name, in->host->get_list(in->host, name, &value, count));
    }
    return value;
}

/* A LIST for n variables: one value for all, or n. `out` keeps its n values where the list is empty, so that
 * a default may depend on other parameters, and after a failure. Any other number of values is reported to
 * the host as a user's mistake. [instance] */
static inline void ds_param_values(ds_param_reader *in, const char *name, uint64_t n, double *out)
{
    uint64_t count;
    const double *value = ds_param_list(in, name, &count);
    const unsigned long long has = count, most = n;
    if (count > 1 && n == 1) {
        in->status =
            ds_host_fail(in->host, DS_E_PARAM,
                         "parameter %s has %llu values: give one, or none for the default", name, has);
    } else if (count > 1 && count != n) {
        in->status =
            ds_host_fail(in->host, DS_E_PARAM,
                         "parameter %s has %llu values: give none, one for all, or %llu", name, has, most);
    } else {
        for (uint64_t i = 0; count > 0 && i < n; i++) {
            out[i] = value[count == 1 ? 0 : i];
        }
    }
}

#endif
