/* SPDX-License-Identifier: Apache-2.0 */
/* embed.c - see embed.h. */
#include "config.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "embed/embed.h"

void ds_embed_say(const ds_error *e, char *why, uint64_t size)
{
    if (why != NULL && size > 0) {
        snprintf(why, size, "%s", e->text);
    }
}

static int read_lines(int section, const char *lines, ds_settings *settings, ds_error *e)
{
    const char *name = ds_section_names[section];
    int status = ds_settings_parse_section(settings, section, lines, "settings", e);
    for (int other = 0; status == 0 && other < DS_SECTIONS; other++) {
        if (other != section && settings->section[other].count > 0) {
            status = ds_fail(e, DS_EXIT_CONFIG, "%s: [%s] has no place here: all lines belong to [%s]",
                             settings->section[other].item[0].origin, ds_section_names[other], name);
        }
    }
    return status;
}

int ds_embed_open(const char *name, uint32_t kind, const char *lines, const ds_module **module,
                  ds_settings *settings, ds_error *e)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* the loader works for one thread at a time */
    static int quiet;
    pthread_mutex_lock(&lock);
    if (!quiet) {
        ds_log_set_level(DS_LOG_WARNING);
        quiet = 1;
    }
    int status = name == NULL ? ds_fail(e, DS_EXIT_USAGE, "the name of the plugin is missing")
                              : ds_loader_open(name, kind, module, e);
    pthread_mutex_unlock(&lock);
    if (status == 0 && lines != NULL) {
        status = read_lines(kind == DS_KIND_ENV ? DS_SECTION_ENV : DS_SECTION_OPT, lines, settings, e);
    }
    return status;
}
