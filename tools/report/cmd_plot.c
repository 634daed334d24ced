/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_plot.c - `dshost plot`: one figure about the runs in some folders and tables, as PNG, SVG or CSV. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "report/report_figures.h"
#include "store/run_folder.h"
#include "tables/run_table.h"

typedef struct request {
    const char *out, *env, *pool;
    char *only; /* of all flags --only */
    int kind, along, any_version;
} request;

static const char usage[] =
    "usage: dshost plot [DIR|RUNS.csv]... [OPTIONS]\n"
    "\n"
    "Draws a figure about the runs below the folders and in the tables, as `dshost report` counts them, and "
    "prints the path of\n"
    "the file.\n"
    "\n"
    "  --kind K       curves (best loss so far; default), bars (final losses), scores (over all "
    "environments),\n"
    "                 profile (share of runs above a score), targets (share of targets reached: data "
    "profile)\n"
    "  --env E        the environment of curves and bars; needed where the folders hold several\n"
    "  --only PATTERN only cells ENV/OPT that match, as in 'torus/*'; several times, or with commas\n"
    "  --pool KEY     the variants of a sweep over a parameter of environments, ENV@KEY=VALUE, are one "
    "environment\n"
    "  --any-version  runs on different versions of an environment are not kept apart\n"
    "  --along A      horizontal axis of curves and targets: evaluations (default), steps (of simulation), "
    "seconds\n"
    "  --out FILE     .png, .svg or .csv (the numbers); DIR/KIND.png by default (of the first DIR; needed "
    "where\n"
    "                 there is none)\n";

/* --kind or --along: a number of a word. */
static int take_choice(void *to, const char *name, const char *value, ds_error *e)
{
    request *q = to;
    const int kind = strcmp(name, "kind") == 0;
    const char *const *known = kind ? ds_figure_kinds : ds_figure_alongs;
    const int count = kind ? DS_FIGURES : DS_ALONGS;
    for (int k = 0; k < count; k++) {
        if (strcmp(value, known[k]) == 0) {
            *(kind ? &q->kind : &q->along) = k;
            return 0;
        }
    }
    char choices[200];
    ds_text_choices(value, known, (size_t)count, choices, sizeof choices);
    return ds_fail(e, DS_EXIT_USAGE, "--%s %.40s: %s", name, value, choices);
}

static int parse(int argc, char **argv, request *q, ds_error *e)
{
    const ds_flag flags[] = {{"kind", .take = take_choice},
                             {"env", .text = &q->env},
                             {"along", .take = take_choice},
                             {"out", .text = &q->out},
                             {"only", .list = &q->only},
                             {"pool", .text = &q->pool},
                             {"any-version", .set = &q->any_version},
                             {"help", .usage = usage},
                             {0}};
    q->kind = DS_FIGURE_CURVES;
    int rc = ds_arguments_read(argc, argv, "plot", flags, -1, q, e);
    return rc != 0 || optind < argc
               ? rc
               : ds_fail(e, DS_EXIT_USAGE,
                         "plot: name a folder with runs, or a table of them: dshost plot results/");
}

static int find_env(const ds_report *r, const request *q, size_t *env, ds_error *e)
{
    *env = 0;
    if (q->kind != DS_FIGURE_BARS && q->kind != DS_FIGURE_CURVES) {
        return 0;
    }
    if (q->env == NULL && r->envs == 1) {
        return 0;
    }
    const char **name = calloc(r->envs, sizeof *name);
    if (name == NULL) {
        return ds_no_memory(e);
    }
    size_t i = 0;
    for (size_t k = 0; k < r->envs; k++) {
        name[k] = r->env[k].name;
    }
    while (q->env != NULL && i < r->envs && strcmp(name[i], q->env) != 0) {
        i++;
    }
    int rc = 0;
    if (q->env == NULL) {
        rc = ds_fail(e, DS_EXIT_USAGE,
                     "plot --kind %s: name one of %zu environments with --env; the first is %.90s",
                     ds_figure_kinds[q->kind], r->envs, name[0]);
    } else if (i == r->envs) {
        const char *near = ds_nearest(q->env, name, r->envs);
        rc = ds_fail(e, DS_EXIT_USAGE, "--env %.60s: there are no runs on it; %s %.90s", q->env,
                     near != NULL ? "nearest is" : "there are some on", near != NULL ? near : name[0]);
    } else {
        *env = i;
    }
    free(name);
    return rc;
}

static int draw(const ds_report *r, const request *q, const char *path, ds_error *e)
{
    size_t env, n = strlen(path);
    const char *ending = n > 4 ? path + n - 4 : "";
    const ds_figure f = {strcmp(ending, ".png") == 0 ? path : NULL, strcmp(ending, ".svg") == 0 ? path : NULL,
                         strcmp(ending, ".csv") == 0 ? path : NULL};
    int rc = find_env(r, q, &env, e);
    if (rc == 0 && f.png == NULL && f.svg == NULL && f.csv == NULL) {
        rc = ds_fail(e, DS_EXIT_USAGE, "--out %.200s: the name must end with .png, .svg or .csv", path);
    }
    return rc != 0 ? rc : ds_figure_draw(r, q->kind, env, q->along, &f, e);
}

/* To be freed, or NULL after filling *e. */
static char *path_of(const request *q, int sources, char *const *source, ds_error *e)
{
    char name[32];
    int i = 0;
    while (i < sources && ds_run_table_is(source[i])) {
        i++;
    }
    if (q->out == NULL && i == sources) {
        ds_fail(e, DS_EXIT_USAGE, "plot: of tables alone: say with --out which file");
        return NULL;
    }
    snprintf(name, sizeof name, "%s.png", ds_figure_kinds[q->kind]);
    char *path = q->out != NULL ? strdup(q->out) : ds_folder_path(source[i], name);
    if (path == NULL) {
        ds_no_memory(e);
    }
    return path;
}

static int plot(const request *q, int sources, char *const *source, ds_error *e)
{
    ds_report r;
    const ds_report_choice choice = {.source = (const char *const *)source,
                                     .sources = (size_t)sources,
                                     .only = q->only,
                                     .pool = q->pool,
                                     .any_version = q->any_version};
    char *path = path_of(q, sources, source, e);
    int rc = path == NULL ? e->status : ds_report_make(&choice, &r, e);
    if (rc == 0) {
        rc = draw(&r, q, path, e);
        if (rc == 0) {
            printf("%s\n", path);
            rc = ds_results_left_out(r.results.damaged, e);
        }
        ds_report_clear(&r);
    }
    free(path);
    return rc;
}

static int command(int argc, char **argv, ds_error *e)
{
    request q = {0};
    int rc = parse(argc, argv, &q, e);
    rc = rc != 0 ? rc : plot(&q, argc - optind, argv + optind, e);
    free(q.only);
    return rc;
}

int main(int argc, char **argv)
{
    return ds_command_main(argc, argv, command);
}
