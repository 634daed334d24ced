/* SPDX-License-Identifier: Apache-2.0 */
/* methods/params.h - short forms of the host's typed parameter access. A row of questions shares one status: the first
 * error stays in it, and is looked at once, at the end. */
#ifndef DS_METHODS_PARAMS_H
#define DS_METHODS_PARAMS_H

#include <diffsim/host.h>

/* The value, or 0 where it cannot be had; *status then says why. */
static inline int64_t param_int(const ds_host *host, const char *name, ds_status *status)
{
    int64_t value = 0;
    ds_status result = host->get_int(host, name, &value);
    *status = *status == DS_OK ? result : *status;
    return value;
}

static inline double param_real(const ds_host *host, const char *name, ds_status *status)
{
    double value = 0.0;
    ds_status result = host->get_real(host, name, &value);
    *status = *status == DS_OK ? result : *status;
    return value;
}

#endif
