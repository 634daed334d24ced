/* SPDX-License-Identifier: Apache-2.0 */
/* settings.c - reading of parameters whose default depends on another parameter (see settings.h). */
#include "settings.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

ds_status setting_bad(const ds_host *host, const char *line, ...)
{
    char text[512];
    va_list args;
    va_start(args, line);
    vsnprintf(text, sizeof text, line, args);
    va_end(args);
    host->error(host, DS_E_PARAM, text);
    return DS_E_PARAM;
}

ds_status setting_list(const ds_host *host, const char *name, uint64_t n, double *out)
{
    const double *value = NULL;
    uint64_t count = 0;
    ds_status status = host->get_list(host, name, &value, &count);
    if (status != DS_OK || count == 0) {
        return status;
    }
    if (count != 1 && count != n) {
        return n == 1
                   ? setting_bad(host,
                                 "parameter %s has %" PRIu64 " values: give one, or none for the default",
                                 name, count)
                   : setting_bad(host,
                                 "parameter %s has %" PRIu64 " values: give none, one for all, or %" PRIu64,
                                 name, count, n);
    }
    for (uint64_t i = 0; i < n; i++) {
        out[i] = value[count == 1 ? 0 : i];
    }
    return DS_OK;
}

void setting_values(ds_status *status, const ds_host *host, const char *name, uint64_t n, double *out)
{
    *status = *status == DS_OK ? setting_list(host, name, n, out) : *status;
}

void setting_real(ds_status *status, const ds_host *host, const char *name, double *out)
{
    *status = *status == DS_OK ? host->get_real(host, name, out) : *status;
}

void setting_int(ds_status *status, const ds_host *host, const char *name, int64_t *out)
{
    *status = *status == DS_OK ? host->get_int(host, name, out) : *status;
}
