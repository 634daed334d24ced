/* SPDX-License-Identifier: Apache-2.0 */
/* runner.c - implements diffsim/lib/run.h: runs with a stop flag and an observer of their own. */
#include "config.h"

#include <diffsim/lib/run.h>

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "config/npy.h"
#include "protect/call_state.h"
#include "embed/embed.h"
#include "evaluate/trust.h"
#include "run/run.h"
#include "worker/process.h"

struct ds_runner {
    ds_settings settings; /* of a new run, or the overrides of a resumed one */
    uint32_t resume;
    char *folder;
    uint32_t(DS_CALL *progress)(void *ctx, const ds_runner_result *now);
    void *ctx;
    locale_t caller_locale; /* of the calling thread, for progress() */
    atomic_int stop;
    int begun;
    ds_error error;
    ds_runner_result result; /* its pointers point to the next fields; summary NULL = none */
    char *summary;
    double *best_x;
    char ended[32];
};

/* ---- open ---- */

static int add(ds_runner *r, const char *key, const char *value, ds_error *e)
{
    return ds_settings_add(&r->settings, DS_SECTION_RUN, key, value, "the options of the run", NULL,
                           DS_EXIT_USAGE, DS_LAYER_FLAG, e);
}

static int check(const ds_runner_options *o, ds_error *e)
{
    if (o == NULL || !DS_HAS(ds_runner_options, o, ctx)) {
        return ds_fail(e, DS_EXIT_USAGE,
                       "the options are missing or their struct_size is not sizeof(ds_runner_options)");
    }
    if (o->resume > 1 || o->folder == NULL || o->folder[0] == '\0') {
        return ds_fail(e, DS_EXIT_USAGE, "a run needs a folder, and resume is 0 or 1");
    }
    if (o->resume ? o->env != NULL || o->opt != NULL : o->environment == NULL || o->optimizer == NULL) {
        return ds_fail(e, DS_EXIT_USAGE,
                       o->resume
                           ? "a resumed run already has its environment, its optimizer and their settings"
                           : "the name of the environment or of the optimizer is missing");
    }
    return 0;
}

/* Checks the settings of one new or resumed run. */
static int check_settings(ds_runner *r, ds_error *e)
{
    ds_section *run = &r->settings.section[DS_SECTION_RUN];
    ds_run_options options = {0};
    for (size_t i = 0; i < run->count; i++) {
        const char *key = run->item[i].key;
        run->item[i].layer = DS_LAYER_FLAG; /* overrides the record of a resumed run */
        if (r->resume && !ds_run_may_override(key)) {
            return ds_fail(e, DS_EXIT_CONFIG, "%s: %s: a resumed run keeps its value", run->item[i].origin,
                           key);
        }
        if (strcmp(key, "out") == 0) {
            return ds_fail(e, DS_EXIT_CONFIG, "%s: out: the options name the folder", run->item[i].origin);
        }
    }
    int rc = r->resume ? 0 : ds_portable_settle(&r->settings, e);
    rc = rc != 0 ? rc : ds_run_options_make(&r->settings, &options, e);
    if (rc == 0 && options.runs != 1) {
        rc = ds_fail(e, DS_EXIT_CONFIG, "runs = %lld: make one run per seed", (long long)options.runs);
    }
    ds_run_options_clear(&options);
    return rc;
}

static int prepare(ds_runner *r, const ds_runner_options *o, ds_error *e)
{
    int rc = check(o, e);
    if (rc != 0) {
        return rc;
    }
    r->resume = o->resume;
    r->progress = o->progress;
    r->ctx = o->ctx;
    r->folder = strdup(o->folder);
    rc = r->folder != NULL ? 0 : ds_no_memory(e);
    rc = rc != 0 ? rc : ds_embed_settings(DS_SECTION_RUN, o->run, &r->settings, e);
    rc = rc != 0 ? rc : ds_embed_settings(DS_SECTION_ENV, o->env, &r->settings, e);
    rc = rc != 0 ? rc : ds_embed_settings(DS_SECTION_OPT, o->opt, &r->settings, e);
    if (o->resume && o->environment != NULL) {
        ds_trust_named(o->environment, DS_KIND_ENV, 0);
    }
    if (o->resume && o->optimizer != NULL) {
        ds_trust_named(o->optimizer, DS_KIND_OPTIMIZER, 0);
    }
    rc = rc != 0 || o->resume ? rc : add(r, "env", o->environment, e);
    rc = rc != 0 || o->resume ? rc : add(r, "opt", o->optimizer, e);
    return rc != 0 ? rc : check_settings(r, e);
}

DS_EXPORT ds_runner *ds_runner_open(const ds_runner_options *options, char *why, uint64_t size)
{
    DS_LOCALE_C_HERE;
    ds_error error = {0, "out of memory"};
    ds_runner *r = calloc(1, sizeof *r);
    int rc = r != NULL ? prepare(r, options, &error) : DS_EXIT_MEMORY;
    if (ds_embed_note(rc) != 0) {
        ds_embed_say(&error, why, size);
        ds_runner_close(r);
        return NULL;
    }
    return r;
}

DS_EXPORT void ds_runner_close(ds_runner *r)
{
    DS_LOCALE_C_HERE;
    if (r != NULL) {
        ds_settings_clear(&r->settings);
        free(r->folder);
        free(r->summary);
        free(r->best_x);
        free(r);
    }
}

DS_EXPORT void ds_runner_stop(ds_runner *r)
{
    if (r != NULL) {
        int none = 0;
        atomic_compare_exchange_strong(&r->stop, &none, SIGINT);
    }
}

/* ---- run ---- */

/* Reports the state of the run to progress(). */
static void report_progress(void *ctx, int event, const ds_observed *o)
{
    ds_runner *r = ctx;
    const ds_statistics *l = o->statistics;
    const ds_runner_result now = {.struct_size = sizeof now,
                                  .evaluations = l->count,
                                  .repeated = l->replayed,
                                  .budget = o->budget,
                                  .failed = l->failed,
                                  .best_loss = l->best_loss,
                                  .best = l->best_id,
                                  .n = l->n,
                                  .best_x = l->best_id > 0 ? l->best_x : NULL,
                                  .evaluation_s = l->wall_s,
                                  .ended = "running",
                                  .folder = r->folder};
    r->result.repeated = l->replayed;
    r->result.failed = l->failed;
    if (event == DS_RUN_STEP && r->progress != NULL) {
        locale_t ours = uselocale(r->caller_locale);
        uint32_t enough = r->progress(r->ctx, &now);
        uselocale(ours);
        if (enough != 0) {
            ds_runner_stop(r);
        }
    }
}

static uint64_t whole(const json_t *summary, const char *key)
{
    json_int_t v = json_integer_value(json_object_get(summary, key));
    return v > 0 ? (uint64_t)v : 0;
}

/* Reads the best point of a run with many variables. */
static int read_best_x(ds_runner *r, const char *file)
{
    char *path = ds_folder_path(r->folder, file);
    ds_array a = {0};
    int rc = path == NULL ? ds_no_memory(&r->error) : ds_array_read(path, 0, DS_EXIT_IO, &a, &r->error);
    r->best_x = a.data;
    free(path);
    return rc;
}

/* Takes the result from the summary of the run, whose numbers are exact. */
static int keep_result(ds_runner *r, const json_t *summary)
{
    const json_t *x = json_object_get(summary, "best_x"), *loss = json_object_get(summary, "best_loss");
    const char *ended = json_string_value(json_object_get(summary, "ended"));
    size_t n = json_array_size(x);
    const char *file = json_string_value(json_object_get(summary, "best_x_file"));
    if (file != NULL && read_best_x(r, file) != 0) {
        return r->error.status;
    }
    r->summary = json_dumps(summary, JSON_INDENT(2) | JSON_REAL_PRECISION(17));
    r->best_x = n > 0 ? malloc(n * sizeof *r->best_x) : r->best_x;
    if (r->summary == NULL || (n > 0 && r->best_x == NULL)) {
        return ds_no_memory(&r->error);
    }
    for (size_t i = 0; i < n; i++) {
        r->best_x[i] = json_number_value(json_array_get(x, i));
    }
    strncat(r->ended, ended != NULL ? ended : "", sizeof r->ended - 1);
    r->result.evaluations = whole(summary, "evaluations");
    r->result.budget = whole(summary, "budget");
    r->result.best_loss = json_is_number(loss) ? json_number_value(loss) : (double)INFINITY;
    r->result.best = whole(summary, "best_evaluation");
    r->result.n = whole(summary, "n");
    r->result.best_x = r->best_x;
    r->result.evaluation_s = json_number_value(json_object_get(summary, "evaluation_s"));
    r->result.ended = r->ended;
    r->result.folder = r->folder;
    r->result.summary = r->summary;
    return 0;
}

DS_EXPORT ds_status ds_runner_run(ds_runner *r)
{
    DS_LOCALE_C_HERE;
    if (r == NULL) {
        return DS_E_ARG;
    }
    if (r->begun) {
        return DS_E_STATE;
    }
    const ds_observer observer = {.ctx = r, .see = report_progress, .stop = &r->stop};
    json_t *summary = NULL;
    r->begun = 1;
    r->caller_locale = ds_locale_before;
    ds_embed_quiet();
    int rc =
        r->resume && ds_series_is(r->folder)
            ? ds_fail(&r->error, DS_EXIT_USAGE, "%s holds several runs: resume one of its folders", r->folder)
        : r->resume ? ds_run_resume(r->folder, &r->settings, &observer, &summary, &r->error)
                    : ds_run_start(&r->settings, r->folder, &observer, &summary, &r->error);
    ds_describe_end();
    if (summary != NULL) {
        int kept = keep_result(r, summary);
        rc = kept != 0 ? kept : rc;
    }
    r->result.exit_status = (uint32_t)rc;
    json_decref(summary);
    return ds_embed_status(ds_embed_note(rc));
}

DS_EXPORT ds_status ds_runner_describe(const ds_runner *r, ds_runner_result *out)
{
    if (r == NULL || out == NULL || !DS_HAS(ds_runner_result, out, summary)) {
        return DS_E_ARG;
    }
    if (r->result.summary == NULL) {
        return DS_E_STATE;
    }
    uint32_t size = out->struct_size;
    *out = r->result;
    out->struct_size = size;
    return DS_OK;
}

DS_EXPORT const char *ds_runner_message(const ds_runner *r)
{
    return r != NULL ? r->error.text : "";
}
