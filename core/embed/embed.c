/* SPDX-License-Identifier: Apache-2.0 */
/* embed.c - what the functions of libdiffsim share; version and last exit status of the library. */
#include "config.h"

#include "embed/embed.h"

#include "base/log.h"

#include <diffsim/lib/library.h>

#include <pthread.h>
#include <stdio.h>

void ds_embed_say(const ds_error *e, char *why, uint64_t size)
{
    if (why != NULL && size > 0) {
        snprintf(why, size, "%s", e->text);
    }
}

ds_status ds_embed_status(int rc)
{
    static const struct {
        int rc;
        ds_status status;
    } known[] = {{DS_EXIT_OK, DS_OK},          {DS_EXIT_UNMET, DS_OK},       {DS_EXIT_USAGE, DS_E_ARG},
                 {DS_EXIT_CONFIG, DS_E_PARAM}, {DS_EXIT_ENV, DS_E_NUMERIC},  {DS_EXIT_IO, DS_E_IO},
                 {DS_EXIT_MEMORY, DS_E_NOMEM}, {DS_EXIT_LOCKED, DS_E_STATE}, {DS_EXIT_SIGINT, DS_STOPPED},
                 {DS_EXIT_SIGTERM, DS_STOPPED}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (known[i].rc == rc) {
            return known[i].status;
        }
    }
    return DS_E_GENERIC;
}

static void lower_level(void)
{
    ds_log_set_level(DS_LOG_WARNING);
}

void ds_embed_quiet(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, lower_level);
}

int ds_embed_settings(int section, const char *lines, ds_settings *settings, ds_error *e)
{
    const char *name = ds_section_names[section];
    size_t before[DS_SECTIONS];
    for (int k = 0; k < DS_SECTIONS; k++) {
        before[k] = settings->section[k].count;
    }
    int rc = lines != NULL ? ds_settings_parse_section(settings, section, lines, "settings", e) : 0;
    for (int k = 0; rc == 0 && k < DS_SECTIONS; k++) {
        if (k != section && settings->section[k].count > before[k]) {
            rc = ds_fail(e, DS_EXIT_CONFIG, "%s: section [%s] is not allowed here: all lines belong to [%s]",
                         settings->section[k].item[before[k]].origin, ds_section_names[k], name);
        }
    }
    return rc;
}

/* ---- diffsim/lib/library.h ---- */

static _Thread_local int last_status;

int ds_embed_note(int rc)
{
    last_status = rc;
    return rc;
}

DS_EXPORT const char *ds_library_version(void)
{
    return PACKAGE_VERSION;
}

DS_EXPORT uint32_t ds_library_exit_status(void)
{
    return (uint32_t)last_status;
}
