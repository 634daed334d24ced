/* SPDX-License-Identifier: Apache-2.0 */
/* methods/params.h - short forms of the host's typed parameter access.
 *
 * The schema declares every name with its type and the host has filled in defaults, so a lookup cannot fail; a
 * misspelt name reads as 0.
 */
#ifndef DS_METHODS_PARAMS_H
#define DS_METHODS_PARAMS_H

#include <diffsim/host.h>

static inline int64_t param_int(const ds_host *host, const char *name)
{
    int64_t value = 0;
    host->get_int(host, name, &value);
    return value;
}

static inline double param_real(const ds_host *host, const char *name)
{
    double value = 0.0;
    host->get_real(host, name, &value);
    return value;
}

#endif
