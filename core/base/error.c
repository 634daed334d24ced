/* SPDX-License-Identifier: Apache-2.0 */
/* error.c - error records, and names of status codes and outcomes. */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/text.h"

int ds_fail(ds_error *e, int status, const char *format, ...)
{
    if (e != NULL) {
        va_list ap;
        va_start(ap, format);
        e->status = status;
        vsnprintf(e->text, sizeof e->text, format, ap);
        va_end(ap);
        /* Texts may quote plugin messages and file contents: keep the promise of one line of text. */
        ds_text_clean(e->text);
    }
    return status;
}

int ds_no_memory(ds_error *e)
{
    return ds_fail(e, DS_EXIT_MEMORY, "out of memory");
}

const char *ds_status_name(ds_status s)
{
#define CASE(name, value, text)                                                                              \
    case value:                                                                                              \
        return #name;
    switch (s) {
        DS_STATUS_LIST(CASE)
    default:
        return "?";
    }
#undef CASE
}

const char *ds_status_text(ds_status s)
{
#define CASE(name, value, text)                                                                              \
    case value:                                                                                              \
        return text;
    switch (s) {
        DS_STATUS_LIST(CASE)
    default:
        return "?";
    }
#undef CASE
}

const char *ds_outcome_name(uint32_t outcome)
{
#define CASE(name, value, text)                                                                              \
    case value:                                                                                              \
        return text;
    switch (outcome) {
        DS_OUTCOME_LIST(CASE)
    default:
        return "?";
    }
#undef CASE
}

const char *ds_gradient_name(uint32_t kind)
{
    static const char *const names[] = {"none", "adjoint", "forward", "fd", "smoothed"};
    return kind < sizeof names / sizeof names[0] ? names[kind] : "?";
}

int ds_status_exit(ds_status s)
{
    switch (s) {
    case DS_E_PARAM:
    case DS_E_DATA:
        return DS_EXIT_CONFIG;
    case DS_E_NOMEM:
        return DS_EXIT_MEMORY;
    case DS_E_IO:
        return DS_EXIT_IO;
    default:
        return DS_EXIT_PLUGIN;
    }
}
