/* SPDX-License-Identifier: Apache-2.0 */
/* json_text.c - JSON output through jansson. */
#include "config.h"

#include "json_text.h"

#include <errno.h>
#include <math.h>
#include <string.h>

json_t *ds_json_real(double v)
{
    return isfinite(v) ? json_real(v) : json_null();
}

json_t *ds_json_reals(const double *v, uint64_t n)
{
    json_t *a = json_array();
    for (uint64_t i = 0; i < n; i++) {
        json_array_append_new(a, ds_json_real(v[i]));
    }
    return a;
}

int ds_json_write(const json_t *object, FILE *f, const char *name, ds_error *e)
{
    if (json_dumpf(object, f, JSON_INDENT(0) | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(17)) != 0 ||
        fputc('\n', f) == EOF) {
        return ds_fail(e, DS_EXIT_IO, "%s: cannot write: %s", name, strerror(errno));
    }
    return 0;
}

int ds_stdout_done(ds_error *e)
{
    if (fflush(stdout) != 0 || ferror(stdout)) {
        return ds_fail(e, DS_EXIT_IO, "standard output: cannot write: %s", strerror(errno));
    }
    return 0;
}
