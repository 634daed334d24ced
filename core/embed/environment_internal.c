/* SPDX-License-Identifier: Apache-2.0 */
/* environment_internal.c - messages and tests that all functions of an environment share. */
#include "config.h"

#include "embed/environment_internal.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/text.h"
#include "embed/embed.h"

ds_status ds_environment_say(ds_environment *e, ds_status status, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    vsnprintf(e->message, sizeof e->message, format, ap);
    va_end(ap);
    return status;
}

ds_status ds_environment_outcome(ds_environment *e, int rc, const ds_error *error)
{
    return rc == 0 ? DS_OK
           : rc == DS_POOL_STOPPED || rc == DS_EXIT_SIGINT
               ? ds_environment_say(e, DS_STOPPED, "stopped: nothing more is evaluated")
               : ds_environment_say(e, ds_embed_status(rc), "%s", error->text);
}

int ds_environment_inside(ds_environment *e, const double *x, uint64_t row)
{
    const ds_pool_env *f = e->facts;
    for (uint64_t i = 0; i < f->info.n; i++) {
        if (!(x[i] >= f->lower[i] && x[i] <= f->upper[i])) { /* also catches NaN */
            ds_environment_say(e, DS_E_ARG, "point %llu, variable %llu is %s, outside of its bounds %s..%s",
                               (unsigned long long)row, (unsigned long long)i, DS_TEXT_OF(x[i]),
                               DS_TEXT_OF(f->lower[i]), DS_TEXT_OF(f->upper[i]));
            return 0;
        }
    }
    return 1;
}
