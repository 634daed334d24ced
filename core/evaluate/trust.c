/* SPDX-License-Identifier: Apache-2.0 */
/* trust.c - the list of trusted plugins, and checks against it. */
#include "config.h"

#include "evaluate/trust.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/text.h"
#include "plugin/search_path.h"

static const char variable[] = "DS_TRUSTED_PLUGINS";
enum { TRUSTED_MOST = 256 };
static char *trusted[TRUSTED_MOST]; /* real paths of files and folders */
static size_t count;
static char *reported[TRUSTED_MOST]; /* plugins reported already */
static size_t told_count;
static int quiet;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of both */

/* ---- the list ---- */

static int keep(char **list, size_t *n, const char *text)
{
    size_t i = 0;
    while (i < *n && strcmp(list[i], text) != 0) {
        i++;
    }
    const int is_new = i == *n;
    if (is_new && i < TRUSTED_MOST && (list[i] = strdup(text)) != NULL) {
        *n = i + 1;
    }
    return is_new;
}

static void read_variable(void)
{
    char real[PATH_MAX];
    const char *at = secure_getenv(variable);
    while (at != NULL && *at != '\0') {
        const size_t n = strcspn(at, ":");
        char *one = strndup(at, n);
        if (one != NULL && one[0] == '/' && realpath(one, real) != NULL) {
            keep(trusted, &count, real);
        }
        free(one);
        at += n + (at[n] == ':');
    }
}

static void ready(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, read_variable);
}

/* The file of a plugin, without the :NAME after it. */
static void file_of(const char *path, char out[PATH_MAX])
{
    ds_object_path o;
    snprintf(out, PATH_MAX, "%s", ds_plugin_adapted(path, &o) ? o.file : path);
}

/* Adds a real path; with `inherit` also for programs that this one starts. */
static void add(const char *real, int inherit)
{
    const char *before = getenv(variable);
    char *all = NULL;
    pthread_mutex_lock(&lock);
    const int is_new = keep(trusted, &count, real);
    pthread_mutex_unlock(&lock);
    if (is_new && inherit && strchr(real, ':') == NULL &&
        asprintf(&all, "%s%s%s", before != NULL ? before : "", before != NULL ? ":" : "", real) >= 0) {
        setenv(variable, all, 1);
        free(all);
    }
}

int ds_trust_add(const char *what, ds_error *e)
{
    char file[PATH_MAX], real[PATH_MAX];
    ds_plugin_file f;
    ready();
    file_of(what, file);
    if (realpath(file, real) != NULL) {
        add(real, 1);
        return 0;
    }
    if (strchr(what, '/') != NULL || ds_plugin_find(what, 0, &f, e) != 0) {
        return ds_fail(e, DS_EXIT_USAGE, "--trust-plugin %.300s: no such file, folder or plugin", what);
    }
    file_of(f.path, file);
    add(file, 1);
    return 0;
}

void ds_trust_named(const char *name, uint32_t kind, int inherit)
{
    ds_plugin_file f;
    char file[PATH_MAX];
    ready();
    if (ds_plugin_find(name, kind, &f, NULL) == 0) {
        file_of(f.path, file);
        add(file, inherit);
    }
}

static int is_trusted(const char *file)
{
    int is = 0;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < count && !is; i++) {
        const size_t n = strlen(trusted[i]);
        is = strncmp(trusted[i], file, n) == 0 && (file[n] == '\0' || file[n] == '/');
    }
    pthread_mutex_unlock(&lock);
    return is;
}

/* ---- plugins and parameters in a record ---- */

void ds_trust_quiet(void)
{
    quiet = 1;
}

/* Reports once that a third-party plugin runs because a record names it. */
static void report_once(const char *record, const char *path)
{
    pthread_mutex_lock(&lock);
    const int is_new = keep(reported, &told_count, path);
    pthread_mutex_unlock(&lock);
    if (is_new && !quiet) {
        ds_log(DS_LOG_INFO, NULL, "running the plugin %s, which %s names", path, record);
    }
}

int ds_trust_plugin(const char *record, const char *name, ds_error *e)
{
    ds_plugin_file f;
    char file[PATH_MAX];
    ready();
    if (ds_plugin_find(name, 0, &f, NULL) != 0 || ds_plugin_is_own(&f)) {
        return 0; /* the loader reports that it does not exist */
    }
    file_of(f.path, file);
    if (!ds_plugin_on_path(name, &f) && !is_trusted(file)) {
        return ds_fail(e, DS_EXIT_PLUGIN,
                       "%.300s names the plugin %.300s, which is not on the plugin path. Running its code "
                       "means trusting the author of that folder; if you do, add --trust-plugin %.300s",
                       record, f.path, file);
    }
    report_once(record, f.path);
    return 0;
}

int ds_trust_check(const ds_settings *settings, const char *key, const char *name, ds_error *e)
{
    const ds_setting *s = settings != NULL ? ds_settings_find(settings, DS_SECTION_RUN, key) : NULL;
    return s == NULL || s->layer != DS_LAYER_RECORD ? 0 : ds_trust_plugin(s->origin, name, e);
}

int ds_trust_check_parameters(const ds_settings *settings, const ds_module *module, ds_error *e)
{
    const ds_section *env = settings != NULL ? &settings->section[DS_SECTION_ENV] : NULL;
    const ds_setting *of_record = NULL;
    ready();
    for (size_t i = 0; env != NULL && i < env->count; i++) {
        of_record = env->item[i].layer == DS_LAYER_RECORD ? &env->item[i] : of_record;
    }
    if (of_record == NULL || (module->plugin->desc->flags & DS_ENV_RUNS_CODE) == 0 ||
        is_trusted(module->path)) {
        return 0;
    }
    return ds_fail(e, DS_EXIT_PLUGIN,
                   "%.300s sets parameters of %s that name code to run. Running it means trusting the "
                   "author of that folder; if you do, add --trust-plugin %s",
                   of_record->origin, module->id, module->id);
}
