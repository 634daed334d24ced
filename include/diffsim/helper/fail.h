/* SPDX-License-Identifier: Apache-2.0 */
/* diffsim/helper/fail.h - messages of a plugin to its host, with values in them: printf in front of
 * host->error() and host->log().
 *
 * Header only, optional, no part of the binary interface. A function that gives up says why and returns, in
 * one line:
 *
 *     if (!(lower < upper)) {
 *         return ds_host_fail(host, DS_E_PARAM, "lower = %g must be less than upper = %g", lower, upper);
 *     }
 *
 * The compiler checks the values against the format, as for printf.
 */
#ifndef DIFFSIM_HELPER_FAIL_H
#define DIFFSIM_HELPER_FAIL_H

#include <diffsim/host.h>

#include <stdarg.h>
#include <stdio.h>

/* Argument `format_` of a function is a printf format for the arguments from `first_` on. */
#if defined(__GNUC__)
#define DS_PRINTF(format_, first_) __attribute__((format(printf, format_, first_)))
#else
#define DS_PRINTF(format_, first_)
#endif

/* Reports through host->error() why the plugin is about to return `status` (negative): what happened, which
 * value, what is allowed, what to do. One line without a newline, cut at 511 bytes. Returns `status`. [any]
 */
DS_PRINTF(3, 4)
static inline ds_status ds_host_fail(const ds_host *host, ds_status status, const char *format, ...)
{
    char line[512]; /* the most that host->error() shows */
    va_list values;
    va_start(values, format);
    vsnprintf(line, sizeof line, format, values);
    va_end(values);
    host->error(host, status, line);
    return status;
}

/* A remark through host->log() at a level DS_LOG_...; nothing has failed. One line without a newline, cut at
 * 1023 bytes. [any] */
DS_PRINTF(3, 4)
static inline void ds_host_say(const ds_host *host, uint32_t level, const char *format, ...)
{
    char line[1024]; /* the most that host->log() shows */
    va_list values;
    va_start(values, format);
    vsnprintf(line, sizeof line, format, values);
    va_end(values);
    host->log(host, level, line);
}

#endif
