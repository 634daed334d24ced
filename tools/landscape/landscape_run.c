/* SPDX-License-Identifier: Apache-2.0 */
/* landscape_run.c - the options of a landscape, and its survey as a run: opens everything, surveys the slice,
 * and leaves a complete folder. */
#include "config.h"

#include "base/log.h"
#include "landscape/landscape.h"
#include "results/npy_write.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- options ---- */

static const char *const gradients[] = {"auto", "yes", "no", NULL};

const ds_param *const ds_landscape_schema[] = {
    DS_TEXT("axes", "",
            "One or two variables (numbers from 0, or names) or random directions: 0,1 or velocity.y or "
            "random,random; empty = the first two, or none for a line."),
    DS_TEXT("center", "",
            "Values of the other variables: start, center, random:SEED, FILE, or DIR or DIR:ID of a run (its "
            "best point, or an evaluation); empty = start."),
    DS_TEXT("from", "", "First point of a line, which is then the first axis; same forms as center."),
    DS_TEXT("to", "", "Second point of the line."),
    DS_TEXT("range", "",
            "LOW:HIGH of the axes' coordinates, one or one per axis (-1:1,0:2); empty = the bounds of a "
            "variable, -1:1 of a random direction, 0:1 of a line."),
    DS_TEXT("grid", "", "Points: N or NxM; empty = 101x101, or 1001 on a line."),
    DS_ENUM("gradient", "auto", gradients,
            "yes: measure gradients and their quality; no: only losses; auto: yes if the environment has "
            "gradients."),
    DS_INT("samples", "200", 0, 1e6, "",
           "Grid points at which gradients are compared with finite differences."),
    DS_LIST("steps", "1e-3 1e-4 1e-5 1e-6", 1e-12, 0.25, DS_MEASURE_STEPS, "",
            "Steps of these differences, in widths of the slice, from large to small."),
    DS_INT("jumps", "50", 0, 1e6, "",
           "Steep places that are halved twelve times, to distinguish jumps from steep slopes."),
    DS_INT("box", "100", 0, 1e6, "",
           "Random points of the whole box that are checked for losses without a gradient; at most as many "
           "as the grid has."),
    NULL};

static int landscape_refuse(const ds_settings *settings, const char *key, const char *why, ds_error *e)
{
    return ds_slice_refuse(settings, DS_SECTION_LANDSCAPE, "landscape", key, why, e);
}

static int take_steps(const ds_settings *settings, ds_landscape_options *o, ds_error *e)
{
    const double *list = NULL;
    uint64_t count = 0;
    ds_params_list(o->params, "steps", &list, &count);
    for (uint64_t k = 0; k < count; k++) {
        o->step[k] = list[k];
        if (k > 0 && !(o->step[k] < o->step[k - 1])) {
            return landscape_refuse(settings, "steps", "each step must be smaller than the previous one", e);
        }
    }
    o->steps = (int)count;
    return 0;
}

static void landscape_options_clear(ds_landscape_options *o)
{
    ds_params_free(o->params);
    memset(o, 0, sizeof *o);
}

static int landscape_options_make(const ds_settings *settings, ds_landscape_options *out, ds_error *e)
{
    int64_t gradient = 0, samples = 0, jumps = 0, box = 0;
    const char *key = "axes";
    char why[160] = "";

    memset(out, 0, sizeof *out);
    int rc = ds_params_make(ds_landscape_schema, "", settings, DS_SECTION_LANDSCAPE, &out->params, e);
    if (rc != 0) {
        return rc;
    }
    const ds_params *p = out->params;
    ds_params_text(p, "axes", &out->text.axes);
    ds_params_text(p, "center", &out->text.center);
    ds_params_text(p, "from", &out->text.from);
    ds_params_text(p, "to", &out->text.to);
    ds_params_text(p, "range", &out->text.range);
    ds_params_text(p, "grid", &out->text.grid);
    ds_params_int(p, "gradient", &gradient);
    ds_params_int(p, "samples", &samples);
    ds_params_int(p, "jumps", &jumps);
    ds_params_int(p, "box", &box);
    out->gradient = (int)gradient;
    out->samples = (uint64_t)samples;
    out->jumps = (uint64_t)jumps;
    out->box = (uint64_t)box;
    rc = take_steps(settings, out, e);
    if (rc == 0 && ds_slice_parse(&out->text, &out->plan, &key, why) != 0) {
        rc = landscape_refuse(settings, key, why, e);
    }
    if (rc != 0) {
        landscape_options_clear(out);
    }
    return rc;
}

enum { RECORDED = 3 /* variables of the record: two coordinates and 0 */ };

/* ---- open ---- */

static int open_env(ds_landscape *l, ds_error *e)
{
    ds_session *s = &l->session;
    if (s->options.env[0] == '\0') {
        return ds_fail(e, DS_EXIT_USAGE,
                       "landscape: name an environment with --env (`dshost list` shows them)");
    }
    int rc = ds_session_find_env(s, e);
    rc = rc != 0 ? rc : ds_session_open_pool(s, RECORDED, e);
    if (rc != 0) {
        return rc;
    }
    l->want_gradient = l->wish.gradient != DS_GRADIENT_NO && s->env->has_gradient;
    return l->wish.gradient != DS_GRADIENT_YES || s->env->has_gradient
               ? 0
               : ds_fail(e, DS_EXIT_PLUGIN,
                         "%s returns no gradient; leave out --gradient to measure only the loss",
                         s->spec.env.id);
}

static int open_slice(ds_landscape *l, const ds_slice_text *text, ds_error *e)
{
    const char *key = "axes";
    char why[160] = "";
    int rc = ds_slice_make(&l->wish.plan, text, l->session.env_module->id, l->session.env,
                           l->session.options.seed, &l->slice, &key, why, e);
    return rc == -1 ? landscape_refuse(&l->session.settings, key, why, e) : rc;
}

static void close_landscape(ds_landscape *l)
{
    ds_session_close(&l->session);
    ds_slice_free(&l->slice);
    ds_landscape_free_trails(l);
    ds_landscape_free_marks(l);
    landscape_options_clear(&l->wish);
    free(l->grid);
    free((void *)(uintptr_t)l->samples.loss);
    free((void *)(uintptr_t)l->samples.g);
    free((void *)(uintptr_t)l->samples.d);
    free(l->sample_point);
    free(l->time.low);
    free(l);
}

static ds_landscape *new_landscape(const char *folder, ds_error *e)
{
    ds_landscape *l = calloc(1, sizeof *l);
    if (l == NULL || ds_session_open(&l->session, "landscape", folder, e) != 0) {
        free(l);
        ds_no_memory(e);
        return NULL;
    }
    l->session.journal.budget = UINT64_MAX;
    l->session.spec.survey = 1;
    l->session.spec.opt = (ds_plugin_name){.id = "landscape", .version = PACKAGE_VERSION};
    return l;
}

/* Reads section [landscape] of the session's settings. */
static int make_options(ds_landscape *l, ds_error *e)
{
    int rc = landscape_options_make(&l->session.settings, &l->wish, e);
    l->session.spec.section[DS_SECTION_LANDSCAPE] = l->wish.params;
    return rc;
}

/* ---- the points of the slice, for resuming ---- */

static int write_point(const ds_landscape *l, const char *name, const double *x, ds_error *e)
{
    char *path = ds_folder_path(l->session.folder, name);
    int rc = path == NULL ? ds_no_memory(e) : ds_npy_write(path, DS_NPY_F8, 1, &l->slice.n, x, e);
    free(path);
    return rc;
}

/* Keeps center.npy, and to.npy of a line, because their sources may change. */
static int keep_points(const ds_landscape *l, ds_error *e)
{
    const ds_slice *s = &l->slice;
    int rc = write_point(l, "center.npy", s->center, e);
    return rc != 0 || s->kind[0] != DS_AXIS_LINE ? rc : write_point(l, "to.npy", s->end, e);
}

/* Restores the slice from the points that were kept, with its labels. */
static int restore_slice(ds_landscape *l, ds_error *e)
{
    ds_slice_text text = l->wish.text;
    char *center = ds_folder_path(l->session.folder, "center.npy"),
         *to = ds_folder_path(l->session.folder, "to.npy");
    int line = text.from[0] != '\0';
    int rc = center == NULL || to == NULL ? ds_no_memory(e) : 0;
    text.center = line ? "" : center;
    text.from = line ? center : "";
    text.to = line ? to : "";
    rc = rc != 0 ? rc : open_slice(l, &text, e);
    for (int k = 0; k < DS_SLICE_DIMS && rc == 0; k++) {
        char *label = NULL, key[] = "label0";
        key[5] = (char)('0' + k);
        rc = ds_store_get(l->session.journal.store, key, &label, e);
        if (label != NULL) {
            snprintf(l->slice.label[k], DS_SLICE_LABEL, "%s", label);
        }
        free(label);
    }
    free(center);
    free(to);
    return rc;
}

/* ---- survey and results ---- */

/* Commits new evaluations and records in the store how the survey ended. */
static int commit(ds_landscape *l, int rc, ds_error *e)
{
    ds_session *s = &l->session;
    ds_error late = {0, ""};
    int fresh = s->journal.recorder != NULL;
    int closed = ds_journal_commit(&s->journal, &late);
    if (closed == 0 && fresh) {
        const char *ended = rc == 0 ? "complete" : rc == DS_POOL_STOPPED ? "signal" : "error";
        closed = ds_session_note_end(s, ended, &late);
    } else if (closed == 0 && rc == 0) {
        closed = ds_store_set(s->journal.store, "ended", "complete", &late);
    }
    if (closed != 0 && (rc == 0 || rc == DS_POOL_STOPPED)) {
        *e = late;
        rc = closed;
    }
    return rc;
}

/* A slice that is mostly outside the box says little. */
static void warn_outside(const ds_landscape *l)
{
    uint64_t points = ds_slice_points(&l->slice), outside = l->measures.outside;
    if (2 * outside > points) {
        ds_log(DS_LOG_WARNING, NULL,
               "%llu of %llu points are outside the box and were left out: set a smaller --range, or a "
               "--center nearer to the middle",
               (unsigned long long)outside, (unsigned long long)points);
    }
}

/* Were there more failures on the slice than allowed? Infeasible parts of the box are not failures, unless
 * the slice has no loss at all. Only failures worse than a diverging simulation have left files. */
static int judge_failures(const ds_landscape *l, ds_error *e)
{
    const ds_session *s = &l->session;
    const ds_statistics *n = &s->journal.statistics;
    const int lossless = l->measures.loss.with_loss == 0;
    const ds_box_measure *box = &l->measures.box;
    const uint64_t infeasible = n->outcome[DS_EVAL_INFEASIBLE] - (box->points - box->with_loss - box->failed);
    const uint64_t count = n->count - box->points,
                   failed = n->failed - box->failed + (lossless ? infeasible : 0);
    uint64_t broken = 0;
    char files[PATH_MAX + 60] = "";
    for (uint32_t k = DS_EVAL_INVALID; k < DS_OUTCOMES; k++) {
        broken += n->outcome[k];
    }
    if (!((double)failed > s->options.max_failed * (double)count)) {
        return 0;
    }
    if (broken > 0) {
        snprintf(files, sizeof files, "; the files %s/failure-*.ini repeat some of them", s->folder);
    }
    return ds_fail(e, DS_EXIT_ENV, "%s: %llu of %llu evaluations %s (run.max_failed allows a share of %g)%s",
                   s->spec.env.id, (unsigned long long)failed, (unsigned long long)count,
                   lossless && infeasible > 0 ? "have no loss" : "failed", s->options.max_failed, files);
}

/* Writes everything that follows from the evaluations. */
static int write_results(ds_landscape *l, const ds_landscape_request *q, json_t **summary, ds_error *e)
{
    const ds_session *s = &l->session;
    ds_error picture = {0, ""};
    warn_outside(l);
    *summary = ds_landscape_summary(l);
    int rc = ds_session_write_summary(s, *summary, e);
    rc = rc != 0 ? rc : ds_landscape_write_files(l, e);
    if (rc == 0 && s->options.pictures &&
        (ds_landscape_draw(l, &picture) != 0 || ds_landscape_page(l, &picture) != 0)) {
        ds_log(DS_LOG_WARNING, NULL, "no figures: %s", picture.text);
    }
    if (rc == 0 && q->text) {
        (q->advise ? ds_landscape_print_advice : ds_landscape_print)(l, stdout);
    }
    return rc != 0 ? rc : judge_failures(l, e);
}

static int carry_out(ds_landscape *l, const ds_landscape_request *q, json_t **summary, ds_error *e)
{
    ds_session *s = &l->session;
    ds_journal *j = &s->journal;
    char title[200];
    snprintf(title, sizeof title, "landscape of %s", s->spec.env.id);
    const ds_progress_config progress = {
        .title = title, .budget = ds_landscape_planned(l), .recorded = l->recorded, .stop = j->stop};
    int rc = ds_progress_open(&j->statistics, &progress, &j->progress, e);
    if (rc != 0) {
        return rc;
    }
    rc = ds_landscape_survey(l, e);
    rc = rc != 0 ? rc : ds_landscape_time(l, e);
    ds_progress_close(j->progress);
    j->progress = NULL;
    if (rc == 0 && ds_journal_replaying(j)) {
        return ds_fail(e, DS_EXIT_PLUGIN,
                       "%s: it has more evaluations than are needed now: another version made this "
                       "landscape; nothing was changed",
                       ds_store_path(j->store));
    }
    rc = commit(l, rc, e);
    uint64_t done = j->statistics.count;
    if (rc == DS_POOL_STOPPED) {
        ds_log(DS_LOG_INFO, NULL,
               "stopped by a signal: %llu evaluations are saved; continue with: dshost resume %s",
               (unsigned long long)(done > l->recorded ? done : l->recorded), s->folder);
        return ds_session_signal_status(s);
    }
    if (rc != 0) {
        return rc;
    }
    ds_log(DS_LOG_INFO, NULL, "%s (%llu evaluations, %.3g s)", l->verdict.words, (unsigned long long)done,
           ds_session_seconds(s));
    return write_results(l, q, summary, e);
}

/* ---- start ---- */

static int refuse_folder(const ds_landscape *l, ds_error *e)
{
    const char *folder = l->session.folder;
    return ds_folder_has_run(folder) && !ds_folder_has_landscape(folder)
               ? ds_fail(e, DS_EXIT_IO, "%s holds a run already; choose another --out", folder)
               : ds_session_taken(&l->session, e);
}

static int prepare_folder(ds_landscape *l, ds_error *e)
{
    ds_session *s = &l->session;
    int rc = ds_session_make_folder(s, e);
    rc = rc != 0 ? rc : keep_points(l, e);
    rc = rc != 0 ? rc : ds_session_make_store(s, e);
    rc = rc != 0 ? rc : ds_store_set(s->journal.store, "label0", l->slice.label[0], e);
    return rc != 0 ? rc : ds_store_set(s->journal.store, "label1", l->slice.label[1], e);
}

int ds_landscape_start(const ds_settings *settings, const ds_landscape_request *q, json_t **summary,
                       ds_error *e)
{
    ds_landscape *l = new_landscape(q->folder, e);
    if (l == NULL) {
        return e->status;
    }
    ds_session *s = &l->session;
    *summary = NULL;
    int rc = refuse_folder(l, e);
    rc = rc != 0 ? rc : ds_session_configure(s, settings, e);
    rc = rc != 0 ? rc : make_options(l, e);
    rc = rc != 0 ? rc : open_env(l, e);
    rc = rc != 0 ? rc : open_slice(l, &l->wish.text, e);
    rc = rc != 0 ? rc : ds_landscape_read_trails(l, q->path, q->paths, e);
    rc = rc != 0 || q->marks == NULL ? rc : ds_landscape_read_marks(l, q->marks, e);
    rc = rc != 0 ? rc : prepare_folder(l, e);
    rc = rc != 0 ? rc : ds_landscape_write_marks(l, e);
    if (rc == 0) {
        ds_log(DS_LOG_INFO, NULL, "landscape of %s (%llu variables): %llu x %llu points -> %s",
               s->spec.env.id, (unsigned long long)l->slice.n, (unsigned long long)l->slice.count[0],
               (unsigned long long)l->slice.count[1], s->folder);
        rc = carry_out(l, q, summary, e);
    }
    close_landscape(l);
    return rc;
}

/* ---- resume ---- */

static int open_stored(ds_landscape *l, const ds_settings *overrides, ds_error *e)
{
    ds_session *s = &l->session;
    int rc = ds_session_reopen(s, overrides, "", &l->recorded, e);
    if (rc == 0 && ds_store_n(s->journal.store) != RECORDED) {
        rc = ds_fail(e, DS_EXIT_IO, "%s: not the record of a landscape", ds_store_path(s->journal.store));
    }
    rc = rc != 0 ? rc : make_options(l, e);
    if (rc == 0 && ds_settings_find(&s->settings, DS_SECTION_LANDSCAPE, "box") == NULL) {
        l->wish.box = 0; /* made by a version that measured only the slice */
    }
    return rc != 0 || l->recorded == 0 ? rc : ds_replay_open(s->journal.store, NULL, &s->journal.replay, e);
}

/* A start that was killed before it had a record has left landscape.ini. */
static int begin_again(const ds_settings *overrides, const ds_landscape_request *q, json_t **summary,
                       ds_error *e)
{
    ds_settings settings = {0};
    const ds_section *given = &overrides->section[DS_SECTION_RUN];
    char *path = ds_folder_path(q->folder, "landscape.ini");
    int rc = path == NULL ? ds_no_memory(e) : ds_settings_read_record(&settings, path, e);
    for (size_t i = 0; i < given->count && rc == 0; i++) {
        const ds_setting *o = &given->item[i];
        if (strcmp(o->key, "verify") != 0) {
            rc = ds_settings_add(&settings, DS_SECTION_RUN, o->key, o->value, o->origin, o->base, o->status,
                                 o->layer, e);
        }
    }
    rc = rc != 0 ? rc : ds_landscape_start(&settings, q, summary, e);
    ds_settings_clear(&settings);
    free(path);
    return rc;
}

int ds_landscape_resume(const ds_settings *overrides, const ds_landscape_request *q, json_t **summary,
                        ds_error *e)
{
    ds_landscape *l = new_landscape(q->folder, e);
    if (l == NULL) {
        return e->status;
    }
    *summary = NULL;
    int rc = 0;
    static const char *const searches[] = {"budget", "seconds"};
    for (size_t i = 0; i < 2 && rc == 0; i++) {
        if (ds_settings_find(overrides, DS_SECTION_RUN, searches[i]) != NULL) {
            rc = ds_fail(e, DS_EXIT_USAGE, "%s holds a landscape: --%s is for runs", q->folder, searches[i]);
        }
    }
    if (rc == 0 && ds_folder_begun(q->folder, "landscape")) {
        close_landscape(l);
        return begin_again(overrides, q, summary, e);
    }
    rc = rc != 0 ? rc : open_stored(l, overrides, e);
    rc = rc != 0 ? rc : open_env(l, e);
    rc = rc != 0 ? rc : ds_session_compare_arithmetic(&l->session, e);
    rc = rc != 0 ? rc : restore_slice(l, e);
    rc = rc != 0 ? rc : ds_landscape_read_trails(l, q->path, q->paths, e);
    rc = rc != 0 ? rc : ds_landscape_read_marks(l, q->marks, e);
    rc = rc != 0 || q->marks == NULL ? rc : ds_landscape_write_marks(l, e);
    if (rc == 0) {
        ds_log(DS_LOG_INFO, NULL, "landscape of %s: %llu evaluations are recorded, continuing in %s",
               l->session.spec.env.id, (unsigned long long)l->recorded, l->session.folder);
        rc = carry_out(l, q, summary, e);
    }
    close_landscape(l);
    return rc;
}
