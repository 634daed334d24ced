/* SPDX-License-Identifier: Apache-2.0 */
/* error.c - error records, and names of status codes and outcomes. */
#include "base/error.h"

#include <limits.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

int ds_fail(ds_error *e, int status, const char *format, ...)
{
    if (e != NULL) {
        va_list ap;
        va_start(ap, format);
        char text[DS_TEXT_LONG];
        vsnprintf(text, sizeof text, format, ap);
        va_end(ap);
        e->status = status;
        /* Texts may quote plugin messages and file contents: the result is still one line. */
        ds_text_shorten(e->text, sizeof e->text, text);
    }
    return status;
}

int ds_no_memory(ds_error *e)
{
    return ds_fail(e, DS_EXIT_MEMORY, "out of memory");
}

int ds_no_thread(const char *what, int code, ds_error *e)
{
    return ds_fail(e, DS_EXIT_MEMORY, "cannot start the thread %s: %s%s", what, strerror(code),
                   code == EAGAIN ? "; a limit of memory or of processes is too low (ulimit -v, ulimit -u)"
                                  : "");
}

typedef struct word {
    long value;
    const char *name, *text;
} word;

#define WORD(value, text)                                                                                    \
    {                                                                                                        \
        value, #value, text                                                                                  \
    }
static const word statuses[] = {WORD(DS_OK, "ok"),
                                WORD(DS_STOPPED, "stopped on request of the host"),
                                WORD(DS_E_GENERIC, "error"),
                                WORD(DS_E_ARG, "invalid argument"),
                                WORD(DS_E_NOMEM, "out of memory"),
                                WORD(DS_E_STATE, "call not allowed in this state"),
                                WORD(DS_E_UNSUPPORTED, "not supported"),
                                WORD(DS_E_PARAM, "bad or unknown parameter"),
                                WORD(DS_E_IO, "input or output failed"),
                                WORD(DS_E_DATA, "malformed data"),
                                WORD(DS_E_NUMERIC, "numerical failure"),
                                {LONG_MAX, "?", "?"}};
static const word outcomes[] = {WORD(DS_EVAL_OK, "ok"),
                                WORD(DS_EVAL_BAD_GRAD, "bad_gradient"),
                                WORD(DS_EVAL_DIVERGED, "diverged"),
                                WORD(DS_EVAL_INFEASIBLE, "infeasible"),
                                WORD(DS_EVAL_STOPPED, "stopped"),
                                WORD(DS_EVAL_INVALID, "invalid"),
                                WORD(DS_EVAL_CRASHED, "crashed"),
                                WORD(DS_EVAL_TIMEOUT, "timeout"),
                                WORD(DS_EVAL_ERROR, "error"),
                                {LONG_MAX, "?", "?"}};

static const word *find(const word *list, long value)
{
    while (list->value != value && list->value != LONG_MAX) {
        list++;
    }
    return list;
}

/* An error of a later version has no name. */
static const word *find_status(ds_status s)
{
    const word *w = find(statuses, s);
    return w->value == LONG_MAX && s < 0 ? find(statuses, DS_E_GENERIC) : w;
}

const char *ds_status_name(ds_status s)
{
    return find_status(s)->name;
}

const char *ds_status_text(ds_status s)
{
    return find_status(s)->text;
}

const char *ds_outcome_name(uint32_t outcome)
{
    return find(outcomes, outcome)->text;
}

const char *ds_gradient_name(uint32_t kind)
{
    static const char *const names[] = {"none", "adjoint", "forward", "fd", "smoothed"};
    return kind < sizeof names / sizeof names[0] ? names[kind] : "?";
}

int ds_status_exit(ds_status s)
{
    return s == DS_E_PARAM || s == DS_E_DATA ? DS_EXIT_CONFIG
           : s == DS_E_NOMEM                 ? DS_EXIT_MEMORY
           : s == DS_E_IO                    ? DS_EXIT_IO
                                             : DS_EXIT_PLUGIN;
}
