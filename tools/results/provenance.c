/* SPDX-License-Identifier: Apache-2.0 */
/* provenance.c - compares the environment of a run with one at hand, and takes it over. */
#include "config.h"

#include "results/provenance.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "store/run_folder.h"

enum { NAMED = 4 /* parameters that a warning names */ };

/* The parameters of the run by the schema of the environment at hand; to be freed. */
static int stored_params(ds_store *store, const char *id, const ds_params *like, ds_params **out, ds_error *e)
{
    size_t count = ds_params_count(like);
    const ds_param **schema = calloc(count + 1, sizeof *schema);
    ds_settings s = {0};
    int rc = schema == NULL ? ds_no_memory(e) : ds_store_get_settings(store, &s, e);
    for (size_t i = 0; i < count && rc == 0; i++) {
        schema[i] = ds_params_info(like, i);
    }
    rc = rc != 0 ? rc : ds_params_make(schema, id, &s, DS_SECTION_ENV, out, e);
    ds_settings_clear(&s);
    free(schema);
    return rc;
}

static void warn_different(const char *what, const ds_params *then, const ds_params *now)
{
    char list[600] = "";
    size_t used = 0;
    unsigned different = 0;
    for (size_t i = 0; i < ds_params_count(now); i++) {
        if (ds_params_same(then, now, i)) {
            continue;
        }
        if (different++ < NAMED && used < sizeof list) {
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%s = %.40s (here %.40s)",
                                     different > 1 ? ", " : "", ds_params_info(now, i)->name,
                                     ds_params_value_text(then, i), ds_params_value_text(now, i));
        }
    }
    if (different > 0) {
        ds_log(DS_LOG_WARNING, NULL,
               "%.200s: that run has other parameters of the environment, so that its points have other "
               "losses there: %s%s",
               what, list, different > NAMED ? ", and more" : "");
    }
}

int ds_provenance_compare(ds_store *store, const char *what, const char *id, const ds_params *params,
                          ds_error *e)
{
    ds_params *then = NULL;
    char *env = NULL;
    ds_error why = {0, ""};
    int rc = ds_store_get(store, "env", &env, e);
    if (rc == 0 && env != NULL && strcmp(env, id) != 0) {
        rc = ds_fail(e, DS_EXIT_CONFIG, "%.200s: a run of %s, not of %s: give a run of the same environment",
                     what, env, id);
    } else if (rc == 0 && stored_params(store, id, params, &then, &why) == 0) {
        warn_different(what, then, params);
    } else if (rc == 0) {
        ds_log(DS_LOG_WARNING, NULL,
               "%.200s: whether that run has the same parameters of the environment cannot be told: %s", what,
               why.text);
    }
    ds_params_free(then);
    free(env);
    return rc;
}

/* Adds a section of the run; of [run] only what makes the environment. */
static int adopt_section(const ds_settings *from, int section, ds_settings *to, ds_error *e)
{
    int rc = 0;
    for (size_t i = 0; i < from->section[section].count && rc == 0; i++) {
        const ds_setting *s = &from->section[section].item[i];
        int wanted = section != DS_SECTION_RUN || strcmp(s->key, "env") == 0 || strcmp(s->key, "seed") == 0;
        if (wanted && ds_settings_find(to, section, s->key) == NULL) {
            rc = ds_settings_add(to, section, s->key, s->value, s->origin, s->base, s->status, s->layer, e);
        }
    }
    return rc;
}

int ds_provenance_load(const char *folder, ds_settings *settings, ds_error *e)
{
    ds_store *store = NULL;
    ds_settings of_run = {0};
    char *path = ds_folder_path(folder, "run.sqlite");
    int rc = path == NULL ? ds_no_memory(e) : ds_store_open(path, DS_STORE_READ, &store, e);
    rc = rc != 0 ? rc : ds_store_get_settings(store, &of_run, e);
    rc = rc != 0 ? rc : adopt_section(&of_run, DS_SECTION_RUN, settings, e);
    rc = rc != 0 ? rc : adopt_section(&of_run, DS_SECTION_ENV, settings, e);
    ds_settings_clear(&of_run);
    ds_store_close(store, NULL);
    free(path);
    return rc;
}
