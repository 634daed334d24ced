/* SPDX-License-Identifier: Apache-2.0 */
/* params.h - reads typed parameters one after the other; the first failure is kept, so that create()
 * tests one status at the end instead of one per parameter. */
#ifndef DS_METHODS_PARAMS_H
#define DS_METHODS_PARAMS_H

#include <diffsim/host.h>
#include <stdio.h>

typedef struct param_reader {
    const ds_host *host;
    ds_status status; /* of the first failed question; DS_OK so far */
} param_reader;

static inline void param_failed(param_reader *in, ds_status status, const char *name)
{
    if (in->status == DS_OK) {
        char line[120];
        snprintf(line, sizeof line, "parameter '%.60s' cannot be read", name);
        in->host->error(in->host, status, line);
        in->status = status;
    }
}

/* The value, or 0 after a failure. */
static inline int64_t param_int(param_reader *in, const char *name)
{
    int64_t value = 0;
    ds_status status = in->host->get_int(in->host, name, &value);
    if (status != DS_OK) {
        param_failed(in, status, name);
        return 0;
    }
    return value;
}

static inline double param_real(param_reader *in, const char *name)
{
    double value = 0.0;
    ds_status status = in->host->get_real(in->host, name, &value);
    if (status != DS_OK) {
        param_failed(in, status, name);
        return 0.0;
    }
    return value;
}

#endif
