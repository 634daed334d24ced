/* SPDX-License-Identifier: Apache-2.0 */
/* report_episodes.c - images, pages and metrics of best episodes (see report.h). */
#include "config.h"

#include "base/log.h"
#include "episode/episode.h"
#include "eval/best_picture.h"
#include "report/report.h"
#include "store/run_folder.h"
#include "view/view_page.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void ds_report_file_name(char *out, size_t room, const char *kind, const char *name)
{
    snprintf(out, room, "%s%s%.100s", kind, name[0] != '\0' ? "-" : "", name);
    for (char *c = out; *c != '\0'; c++) {
        *c = strchr("/\\ \t", *c) != NULL ? '_' : *c;
    }
}

char *ds_report_picture_path(const ds_report *r, size_t env, const char *folder)
{
    char name[200], *path = NULL;
    ds_report_file_name(name, sizeof name, "best", r->env[env].name);
    return asprintf(&path, "%s/figures/%s.png", folder, name) < 0 ? NULL : path;
}

static int has_picture(const ds_result *run)
{
    char *path = ds_folder_path(run->folder, "best.png");
    int has = path != NULL && access(path, R_OK) == 0;
    free(path);
    return has;
}

int ds_report_pictures(const ds_report *r, const char *folder, int draw, ds_error *e)
{
    char *figures = ds_folder_path(folder, "figures");
    int rc = figures == NULL ? ds_no_memory(e) : ds_folder_make_below(folder, figures, e);
    for (size_t i = 0; rc == 0 && i < r->envs; i++) {
        const ds_result *run = r->env[i].best_record;
        ds_error why = {0, ""};
        char *path = ds_report_picture_path(r, i, folder);
        if (path == NULL) {
            rc = ds_no_memory(e);
        } else if (unlink(path) != 0 && errno != ENOENT) {
            rc = ds_fail(e, DS_EXIT_IO, "%s: %s", path, strerror(errno));
        } else if (draw && run != NULL && !has_picture(run) && ds_best_picture_of_run(run, path, &why) != 0) {
            ds_log(DS_LOG_WARNING, NULL, "%s: no image of the best episode: %s", r->env[i].name, why.text);
        }
        free(path);
    }
    free(figures);
    return rc;
}

/* ---- pages ---- */

char *ds_report_episodes_path(const ds_report *r, size_t env, const char *folder)
{
    char name[200], *path = NULL;
    ds_report_file_name(name, sizeof name, "episodes", r->env[env].name);
    return asprintf(&path, "%s/figures/%s.html", folder, name) < 0 ? NULL : path;
}

static const ds_result *best_of(const ds_report_cell *c)
{
    const ds_result *best = NULL;
    for (size_t j = 0; j < c->runs; j++) {
        const ds_result *run = c->run[j].result;
        best = run->best_id != 0 && (best == NULL || run->best_loss < best->best_loss) ? run : best;
    }
    return best;
}

/* Appends the best episode of a run, if it can be simulated and has a scene. */
static int add_episode(const ds_result *run, ds_view_episodes *all, ds_error *e)
{
    ds_view_episode episode;
    ds_error why = {0, ""};
    char *title = NULL;
    int rc = ds_view_episode_of_run(run->folder, run->best_id, NULL, DS_KEEP_ALL, &episode, &why);
    if (rc != 0) {
        ds_log(DS_LOG_WARNING, NULL, "%s: the best episode cannot be played: %s", run->folder, why.text);
        rc = why.status == DS_EXIT_MEMORY ? ds_no_memory(e) : 0;
    } else if (episode.scene != NULL) {
        /* The name in the report may say more than the plugin's id. */
        rc = asprintf(&title, "%s, seed %" PRIu64 ", evaluation %" PRIu64, run->opt, run->seed,
                      run->best_id) < 0
                 ? ds_no_memory(e)
                 : 0;
    }
    if (title != NULL && rc == 0) {
        free(episode.title);
        episode.title = title;
        all->item[all->count++] = episode;
    } else {
        ds_view_episode_clear(&episode);
    }
    return rc;
}

static int collect(const ds_report *r, size_t env, ds_view_episodes *all, ds_error *e)
{
    size_t *order = calloc(r->opts, sizeof *order);
    all->item = calloc(DS_REPORT_EPISODES, sizeof *all->item);
    int rc = order == NULL || all->item == NULL ? ds_no_memory(e) : 0;
    const size_t opts = rc == 0 ? ds_report_order_on(r, env, order) : 0;
    for (size_t k = 0; rc == 0 && k < opts && k < DS_REPORT_EPISODES; k++) {
        const ds_result *run = best_of(ds_report_at(r, env, order[k]));
        rc = run != NULL ? add_episode(run, all, e) : 0;
    }
    free(order);
    return rc;
}

int ds_report_episodes(const ds_report *r, const char *folder, int wanted, ds_error *e)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < r->envs; i++) {
        ds_view_episodes all = {0};
        char *path = ds_report_episodes_path(r, i, folder);
        rc = path == NULL ? ds_no_memory(e) : wanted ? collect(r, i, &all, e) : 0;
        if (rc == 0 && all.count > 0) {
            rc = ds_view_page(path, &all, e);
        } else if (rc == 0 && unlink(path) != 0 && errno != ENOENT) {
            rc = ds_fail(e, DS_EXIT_IO, "%s: %s", path, strerror(errno));
        }
        ds_view_episodes_clear(&all);
        free(path);
    }
    return rc;
}

/* ---- metrics ---- */

/* The defined values of a metric in the best episodes of a cell; returns their number. */
static size_t metric_values(const ds_report_cell *c, size_t m, double *value, ds_metric_summary *out)
{
    size_t n = 0;
    for (size_t j = 0; j < c->runs; j++) {
        const ds_last_metric *metric = c->run[j].metric;
        if (metric != NULL) {
            out->metric = &metric[m];
            if (!isnan(metric[m].value)) {
                value[n++] = metric[m].value;
            }
        }
    }
    return n;
}

int ds_report_metric(const ds_report_cell *c, size_t m, ds_metric_summary *out, ds_error *e)
{
    static const double level = 0.95;
    double *value = calloc(c->runs + 1, sizeof *value);
    memset(out, 0, sizeof *out);
    if (value == NULL) {
        return ds_no_memory(e);
    }
    out->mean = out->median = out->q1 = out->q3 = out->least = out->most = NAN;
    out->mean95 = (ds_interval){NAN, NAN};
    const size_t n = out->runs = c->rows == 0 ? metric_values(c, m, value, out) : 0;
    int rc = 0;
    if (n > 0) {
        out->mean = ds_sample_mean(value, n);
        rc = ds_mean_intervals(value, n, DS_REPORT_SEED, DS_REPORT_RESAMPLES, &level, 1, &out->mean95) != 0
                 ? ds_no_memory(e)
                 : 0;
        ds_sample_sort(value, n);
        out->median = ds_sorted_quantile(value, n, 0.5);
        out->q1 = ds_sorted_quantile(value, n, 0.25);
        out->q3 = ds_sorted_quantile(value, n, 0.75);
        out->least = value[0];
        out->most = value[n - 1];
    }
    free(value);
    return rc;
}

/* Measures the metrics of a run, if they are the same as those of the environment's other runs. */
static int measure(ds_report_env *env, ds_report_run *run, ds_error *e)
{
    size_t count = 0;
    ds_error why = {0, ""};
    ds_result then = *run->result; /* as it was after the number of evaluations common to all */
    if (env->common > 0) {
        then.best_id = run->compared.count > 0 ? run->compared.id[run->compared.count - 1] : 0;
    }
    if (then.best_id == 0) {
        return 0;
    }
    if (ds_best_metrics(&then, &run->metric, &count, &why) != 0) {
        ds_log(DS_LOG_WARNING, NULL, "%s: no metrics of the best episode: %s", run->result->folder, why.text);
        return why.status == DS_EXIT_MEMORY ? ds_no_memory(e) : 0;
    }
    env->metrics = env->metrics == 0 ? count : env->metrics;
    if (count != env->metrics) { /* the plugin has changed its metrics */
        free(run->metric);
        run->metric = NULL;
    }
    return 0;
}

int ds_report_metrics(ds_report *r, ds_error *e)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < r->envs * r->opts; i++) {
        for (size_t j = 0; rc == 0 && j < r->cell[i].runs; j++) {
            rc = measure(&r->env[i / r->opts], &r->cell[i].run[j], e);
        }
    }
    return rc;
}
