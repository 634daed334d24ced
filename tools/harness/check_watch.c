/* SPDX-License-Identifier: Apache-2.0 */
/* check_watch.c - what the objectives that watch an optimizer have in common. */
#include "config.h"

#include "harness/check_watch.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

uint64_t ds_check_hash_row(const double *x, uint64_t n, uint32_t want)
{
    uint64_t hash = want;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        hash = ds_random_mix(hash ^ bits);
    }
    return hash;
}

void ds_check_breach(ds_check_watch *w, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    w->s->broken = 1;
    if (w->s->strict) {
        ds_check_fail(w->c, "%s: %s", w->name, text);
    } else {
        ds_check_skip(w->c, "the search breaks its contract (%s: %.200s), see search.points and search.stop",
                      w->name, text);
    }
}

void ds_check_advise(const ds_check_watch *w, const char *text)
{
    if (w->s->strict) {
        ds_check_hint(w->c, "%s", text);
    }
}

ds_status ds_check_watch_stop(ds_check_watch *w)
{
    if (!w->stopped) {
        w->s->told_stop = ds_check_now() - w->begin;
    }
    w->stopped = 1;
    return DS_STOPPED;
}

ds_status ds_check_asked_after(ds_check_watch *w)
{
    if (++w->s->asked_after >= DS_CHECK_AFTER_CUT) {
        longjmp(w->cut, 1);
    }
    return DS_STOPPED;
}

int ds_check_is_hurried(ds_check_watch *w)
{
    return atomic_load(&w->h.stop) != 0;
}

int ds_check_time_is_up(ds_check_watch *w)
{
    return ds_check_is_hurried(w) || (w->s->seconds > 0 && ds_check_now() - w->begin >= w->s->seconds);
}
