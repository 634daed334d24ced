/* SPDX-License-Identifier: Apache-2.0 */
/* landscape_run.c - the life of a landscape: open everything, survey the slice, and
 * leave a complete folder. */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json_text.h"
#include "base/log.h"
#include "base/stop.h"
#include "landscape/landscape_internal.h"
#include "results/npy_write.h"
#include "run/run.h"

/* ---- open ---- */

static int open_env(ds_landscape *l, ds_error *e)
{
    const ds_run_options *o = &l->options;
    if (o->env[0] == '\0') {
        return ds_fail(e, DS_EXIT_USAGE,
                       "landscape: name an environment with --env (`dshost list` shows them)");
    }
    ds_pool_config c = ds_pool_config_of(NULL, &l->settings, o);
    int rc = ds_pool_find_env(&c, o->env, e);
    if (rc != 0) {
        return rc;
    }
    l->env_module = c.module;
    c.exact = 1;
    c.noise_key = o->noise_key;
    rc = ds_pool_open(&c, &l->pool, e);
    if (rc != 0) {
        return rc;
    }
    l->env = ds_pool_env_of(l->pool);
    l->want_gradient = l->wish.gradient != DS_GRADIENT_NO && l->env->has_gradient;
    l->spec = (ds_run_spec){
        .env = l->env_module, .options = o, .env_params = l->env->params, .landscape_params = l->wish.params};
    if (l->wish.gradient == DS_GRADIENT_YES && !l->env->has_gradient) {
        return ds_fail(e, DS_EXIT_PLUGIN,
                       "%s returns no gradient; leave out --gradient to measure the loss alone",
                       l->env_module->id);
    }
    return ds_statistics_open(&l->statistics, 3) != 0 ? ds_fail(e, DS_EXIT_MEMORY, "out of memory") : 0;
}

static int open_slice(ds_landscape *l, const ds_slice_text *text, ds_error *e)
{
    const char *key = "axes";
    char why[160] = "";
    int rc = ds_slice_make(&l->wish.plan, text, l->env_module->id, l->env, l->options.seed, &l->slice, &key,
                           why, e);
    return rc == -1 ? ds_landscape_refuse(&l->settings, key, why, e) : rc;
}

static void close_landscape(ds_landscape *l)
{
    ds_progress_close(l->progress);
    ds_cursor_close(l->cursor);
    ds_recorder_close(l->recorder, NULL);
    ds_store_close(l->store, NULL);
    ds_pool_close(l->pool);
    ds_runlock_drop(l->lock);
    ds_statistics_close(&l->statistics);
    ds_slice_free(&l->slice);
    ds_landscape_free_trails(l);
    ds_landscape_options_clear(&l->wish);
    ds_run_options_clear(&l->options);
    ds_settings_clear(&l->settings);
    free(l->grid);
    free((void *)(uintptr_t)l->samples.loss);
    free((void *)(uintptr_t)l->samples.g);
    free((void *)(uintptr_t)l->samples.d);
    free(l->sample_point);
    free(l->time.low);
    free(l->folder);
    free(l);
}

static ds_landscape *new_landscape(const char *folder, ds_error *e)
{
    ds_landscape *l = calloc(1, sizeof *l);
    if (l == NULL || (l->folder = strdup(folder)) == NULL) {
        free(l);
        ds_fail(e, DS_EXIT_MEMORY, "out of memory");
        return NULL;
    }
    l->start_ns = ds_clock_ns();
    return l;
}

/* ---- the points of the slice, for resuming ---- */

static int write_point(const ds_landscape *l, const char *name, const double *x, ds_error *e)
{
    char *path = ds_folder_path(l->folder, name);
    int rc = path == NULL ? ds_fail(e, DS_EXIT_MEMORY, "out of memory")
                          : ds_npy_write(path, DS_NPY_F8, 1, &l->slice.n, x, e);
    free(path);
    return rc;
}

/* center.npy, and to.npy of a line: what they were read from may change. */
static int keep_points(const ds_landscape *l, ds_error *e)
{
    const ds_slice *s = &l->slice;
    int rc = write_point(l, "center.npy", s->center, e);
    return rc != 0 || s->kind[0] != DS_AXIS_LINE ? rc : write_point(l, "to.npy", s->end, e);
}

/* Makes the slice again from the points that were kept, with the old labels. */
static int restore_slice(ds_landscape *l, ds_error *e)
{
    ds_slice_text text = l->wish.text;
    char *center = ds_folder_path(l->folder, "center.npy"), *to = ds_folder_path(l->folder, "to.npy");
    int line = text.from[0] != '\0';
    int rc = center == NULL || to == NULL ? ds_fail(e, DS_EXIT_MEMORY, "out of memory") : 0;
    text.center = line ? "" : center;
    text.from = line ? center : "";
    text.to = line ? to : "";
    rc = rc != 0 ? rc : open_slice(l, &text, e);
    for (int k = 0; k < DS_SLICE_DIMS && rc == 0; k++) {
        char *label = NULL, key[] = "label0";
        key[5] = (char)('0' + k);
        rc = ds_store_get(l->store, key, &label, e);
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

/* Commits what is new and says in the store how the survey ended. */
static int commit(ds_landscape *l, int rc, ds_error *e)
{
    ds_error late = {0, ""};
    char text[32];
    int fresh = l->recorder != NULL;
    int closed = ds_recorder_close(l->recorder, &late);
    l->recorder = NULL;
    snprintf(text, sizeof text, "%.3f", l->wall_before + 1e-9 * (double)(ds_clock_ns() - l->start_ns));
    if (closed == 0 && (fresh || rc == 0)) {
        closed = fresh ? ds_store_set(l->store, "wall_s", text, &late) : 0;
        closed = closed != 0 ? closed
                             : ds_store_set(l->store, "ended",
                                            rc == 0                 ? "complete"
                                            : rc == DS_POOL_STOPPED ? "signal"
                                                                    : "error",
                                            &late);
    }
    if (closed != 0 && (rc == 0 || rc == DS_POOL_STOPPED)) {
        *e = late;
        rc = closed;
    }
    return rc;
}

/* A slice that is mostly outside of the box says little. */
static void warn_outside(const ds_landscape *l)
{
    uint64_t points = ds_slice_points(&l->slice), outside = l->measures.outside;
    if (2 * outside > points) {
        ds_log(DS_LOG_WARNING, NULL,
               "%llu of %llu points lie outside of the box and were left out: give a smaller --range, or a "
               "--center nearer to the middle",
               (unsigned long long)outside, (unsigned long long)points);
    }
}

/* Everything that is made from the answers. */
static int write_results(ds_landscape *l, const ds_landscape_request *q, json_t **summary, ds_error *e)
{
    const ds_statistics *n = &l->statistics;
    ds_error picture = {0, ""};
    warn_outside(l);
    char *path = ds_folder_path(l->folder, "summary.json");
    *summary = ds_landscape_summary(l);
    int rc =
        path == NULL ? ds_fail(e, DS_EXIT_MEMORY, "out of memory") : ds_json_write_file(*summary, path, e);
    free(path);
    rc = rc != 0 ? rc : ds_landscape_write_files(l, e);
    if (rc == 0 && l->options.pictures && ds_landscape_draw(l, &picture) != 0) {
        ds_log(DS_LOG_WARNING, NULL, "no picture: %s", picture.text);
    }
    if (rc == 0 && q->text) {
        ds_landscape_print(l, stdout);
    }
    if (rc == 0 && (double)n->failed > l->options.max_failed * (double)n->count) {
        rc = ds_fail(e, DS_EXIT_ENV,
                     "%s: %llu of %llu evaluations failed (run.max_failed allows a share of %g); the files "
                     "%s/failure-*.ini repeat single ones",
                     l->env_module->id, (unsigned long long)n->failed, (unsigned long long)n->count,
                     l->options.max_failed, l->folder);
    }
    return rc;
}

static int carry_out(ds_landscape *l, const ds_landscape_request *q, json_t **summary, ds_error *e)
{
    char title[200];
    snprintf(title, sizeof title, "landscape of %s", l->env_module->id);
    int rc =
        ds_progress_open(&l->statistics, title, ds_landscape_planned(l), 0, l->recorded, &l->progress, e);
    if (rc != 0) {
        return rc;
    }
    rc = ds_landscape_survey(l, e);
    rc = rc != 0 ? rc : ds_landscape_time(l, e);
    ds_progress_close(l->progress);
    l->progress = NULL;
    if (rc == 0 && l->left > 0) {
        return ds_fail(
            e, DS_EXIT_PLUGIN,
            "%s: more is recorded than is wanted now: another version made this landscape; nothing "
            "was changed",
            ds_store_path(l->store));
    }
    rc = commit(l, rc, e);
    if (rc == DS_POOL_STOPPED) {
        int why = atomic_load(&ds_stop_flag);
        ds_log(DS_LOG_INFO, NULL,
               "stopped by a signal: %llu evaluations are saved; go on with: dshost resume %s",
               (unsigned long long)l->statistics.count, l->folder);
        return 128 + (why > 0 ? why : 2);
    }
    if (rc != 0) {
        return rc;
    }
    ds_log(DS_LOG_INFO, NULL, "%s (%llu evaluations, %.3g s)", l->verdict.words,
           (unsigned long long)l->statistics.count, 1e-9 * (double)(ds_clock_ns() - l->start_ns));
    return write_results(l, q, summary, e);
}

/* ---- start ---- */

static int refuse_folder(const char *folder, ds_error *e)
{
    if (ds_folder_has_landscape(folder)) {
        return ds_fail(e, DS_EXIT_IO,
                       "%s holds a landscape already; go on with it by: dshost resume %s, or choose another "
                       "--out",
                       folder, folder);
    }
    if (ds_folder_has_run(folder)) {
        return ds_fail(e, DS_EXIT_IO, "%s holds a run already; choose another --out", folder);
    }
    return 0;
}

static int prepare_folder(ds_landscape *l, ds_error *e)
{
    int rc = ds_folder_make(l->folder, e);
    rc = rc != 0 ? rc : ds_runlock_take(l->folder, &l->lock, e);
    rc = rc != 0 ? rc : refuse_folder(l->folder, e);
    rc = rc != 0 ? rc : ds_folder_write_ini(l->folder, &l->spec, e);
    rc = rc != 0 ? rc : keep_points(l, e);
    rc = rc != 0 ? rc : ds_folder_create_store(l->folder, &l->spec, 3, &l->store, e);
    rc = rc != 0 ? rc : ds_store_set(l->store, "label0", l->slice.label[0], e);
    return rc != 0 ? rc : ds_store_set(l->store, "label1", l->slice.label[1], e);
}

int ds_landscape_start(const ds_settings *settings, const ds_landscape_request *q, json_t **summary,
                       ds_error *e)
{
    ds_landscape *l = new_landscape(q->folder, e);
    if (l == NULL) {
        return e->status;
    }
    *summary = NULL;
    int rc = refuse_folder(q->folder, e);
    rc = rc != 0 ? rc : ds_settings_copy(&l->settings, settings, e);
    rc = rc != 0 ? rc : ds_run_options_make(&l->settings, &l->options, e);
    rc = rc != 0 ? rc : ds_landscape_options_make(&l->settings, &l->wish, e);
    rc = rc != 0 ? rc : open_env(l, e);
    rc = rc != 0 ? rc : open_slice(l, &l->wish.text, e);
    rc = rc != 0 ? rc : ds_landscape_read_trails(l, q->path, q->paths, e);
    rc = rc != 0 ? rc : prepare_folder(l, e);
    if (rc == 0) {
        ds_log(DS_LOG_INFO, NULL, "landscape of %s (%llu variables): %llu x %llu points -> %s",
               l->env_module->id, (unsigned long long)l->slice.n, (unsigned long long)l->slice.count[0],
               (unsigned long long)l->slice.count[1], l->folder);
        rc = carry_out(l, q, summary, e);
    }
    close_landscape(l);
    return rc;
}

/* ---- resume ---- */

static int restore_settings(ds_landscape *l, const ds_settings *overrides, ds_error *e)
{
    char *wall = NULL;
    int rc = ds_store_get_settings(l->store, &l->settings, e);
    const ds_section *given = &overrides->section[DS_SECTION_RUN];
    for (size_t i = 0; i < given->count && rc == 0; i++) {
        const ds_setting *s = &given->item[i];
        rc = ds_settings_add(&l->settings, DS_SECTION_RUN, s->key, s->value, s->origin, s->base, s->status,
                             s->layer, e);
    }
    rc = rc != 0 ? rc : ds_run_options_make(&l->settings, &l->options, e);
    rc = rc != 0 ? rc : ds_landscape_options_make(&l->settings, &l->wish, e);
    rc = rc != 0 ? rc : ds_store_get(l->store, "wall_s", &wall, e);
    if (wall != NULL) {
        ds_parse_real(wall, &l->wall_before);
    }
    free(wall);
    return rc;
}

static int open_stored(ds_landscape *l, const ds_settings *overrides, ds_error *e)
{
    char *path = ds_folder_path(l->folder, "landscape.sqlite");
    int rc = 0;
    if (path == NULL) {
        rc = ds_fail(e, DS_EXIT_MEMORY, "out of memory");
    } else if (access(l->folder, F_OK) != 0) {
        rc = ds_fail(e, DS_EXIT_IO, "%s: %s", l->folder, strerror(errno));
    } else if (!ds_folder_has_landscape(l->folder)) {
        rc = ds_fail(e, DS_EXIT_IO, "%s holds no landscape (there is no landscape.sqlite)", l->folder);
    }
    rc = rc != 0 ? rc : ds_runlock_take(l->folder, &l->lock, e);
    rc = rc != 0 ? rc : ds_store_open(path, DS_STORE_WRITE, &l->store, e);
    if (rc == 0 && ds_store_n(l->store) != 3) {
        rc = ds_fail(e, DS_EXIT_IO, "%s: not the record of a landscape", path);
    }
    rc = rc != 0 ? rc : ds_store_count(l->store, &l->recorded, e);
    rc = rc != 0 ? rc : restore_settings(l, overrides, e);
    if (rc == 0 && l->recorded > 0) {
        l->left = l->recorded;
        rc = ds_cursor_open(l->store, 1, &l->cursor, e);
    }
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
    rc = rc != 0 ? rc : open_stored(l, overrides, e);
    rc = rc != 0 ? rc : open_env(l, e);
    rc = rc != 0 ? rc : restore_slice(l, e);
    rc = rc != 0 ? rc : ds_landscape_read_trails(l, q->path, q->paths, e);
    if (rc == 0) {
        ds_log(DS_LOG_INFO, NULL, "landscape of %s: %llu evaluations are recorded, going on in %s",
               l->env_module->id, (unsigned long long)l->recorded, l->folder);
        rc = carry_out(l, q, summary, e);
    }
    close_landscape(l);
    return rc;
}
