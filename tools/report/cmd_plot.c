/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_plot.c - `dshost plot`: one figure about the runs in folders and tables, as PNG, SVG, PDF or CSV. */
#include "config.h"

#include "base/file.h"
#include "base/text.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "report/report.h"
#include "results/run_table.h"
#include "store/run_folder.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct request {
    const char *out, *env, *pool;
    char *only; /* of all --only flags */
    int kind, along, any_version;
    ds_paper paper; /* width 0: not requested */
} request;

static const char usage[] =
    "usage: dshost plot [DIR|RUNS.csv]... [OPTIONS]\n"
    "\n"
    "Draws a figure about the runs below the folders and in the tables, counted as in `dshost report`, and "
    "prints the path\n"
    "of the file.\n"
    "\n"
    "  --kind K       curves (best loss so far; default), bars (final losses), scores (over all "
    "environments),\n"
    "                 profile (share of runs above a score), targets (share of targets reached: data "
    "profile)\n"
    "  --env E        the environment of curves and bars; required if the folders hold several\n"
    "  --only PATTERN only cells ENV/OPT that match, as in 'torus/*'; may be repeated or contain commas\n"
    "  --pool KEY     treat the variants of a sweep over a parameter of environments, ENV@KEY=VALUE, as one "
    "environment\n"
    "  --any-version  do not separate runs on different versions of an environment\n"
    "  --along A      horizontal axis of curves and targets: evaluations (default), steps (of simulation), "
    "seconds\n"
    "  --out FILE     .png, .svg, .pdf or .csv (the numbers); DIR/KIND.png by default (in the first DIR; "
    "required\n"
    "                 without one)\n"
    "\n"
    "For print (a PDF contains its fonts; a PNG has 300 dots per inch):\n"
    "\n"
    "  --width W      such as 85mm, 3.3in or 240pt; 160mm by default for a PDF\n"
    "  --height H     by default as high as needed\n"
    "  --font-size P  of labels, in points; 8 by default\n"
    "  --no-title     nothing above the frame, for figures with a caption\n";

/* --kind or --along: the number of a word. */
static int take_choice(void *to, const char *name, const char *value, ds_error *e)
{
    request *q = to;
    return strcmp(name, "kind") == 0 ? ds_choice_read(name, value, ds_figure_kinds, DS_FIGURES, &q->kind, e)
                                     : ds_choice_read(name, value, ds_figure_alongs, DS_ALONGS, &q->along, e);
}

/* --width, --height, --font-size. */
static int take_size(void *to, const char *name, const char *value, ds_error *e)
{
    static const struct {
        const char *unit;
        double mm;
    } units[] = {{"mm", 1}, {"cm", 10}, {"in", 25.4}, {"pt", 25.4 / 72}};
    request *q = to;
    char number[40];
    double v = 0, mm = 0;
    const size_t n = strlen(value);
    if (strcmp(name, "font-size") == 0) {
        const size_t unit = n > 2 && strcmp(value + n - 2, "pt") == 0 ? 2 : 0;
        snprintf(number, sizeof number, "%.*s", (int)(n - unit < 39 ? n - unit : 39), value);
        if (!ds_parse_real(number, &v) || !(v >= 3 && v <= 72)) {
            return ds_fail(e, DS_EXIT_USAGE, "--font-size %.40s: expected points from 3 to 72", value);
        }
        q->paper.font_pt = v;
        return 0;
    }
    for (size_t k = 0; k < sizeof units / sizeof *units; k++) {
        if (n > 2 && n < sizeof number && strcmp(value + n - 2, units[k].unit) == 0) {
            snprintf(number, sizeof number, "%.*s", (int)(n - 2), value);
            mm = ds_parse_real(number, &v) ? v * units[k].mm : 0;
        }
    }
    if (!(mm >= 20 && mm <= 2000)) {
        return ds_fail(e, DS_EXIT_USAGE, "--%s %.40s: expected 20mm to 2000mm, in mm, cm, in or pt", name,
                       value);
    }
    *(strcmp(name, "width") == 0 ? &q->paper.width_mm : &q->paper.height_mm) = mm;
    return 0;
}

static int parse(int argc, char **argv, request *q, ds_error *e)
{
    const ds_flag flags[] = {{"kind", .take = take_choice},
                             {"env", .text = &q->env},
                             {"along", .take = take_choice},
                             {"out", .text = &q->out},
                             {"width", .take = take_size},
                             {"height", .take = take_size},
                             {"font-size", .take = take_size},
                             {"no-title", .set = &q->paper.no_title},
                             {"only", .list = &q->only},
                             {"pool", .text = &q->pool},
                             {"any-version", .set = &q->any_version},
                             {"help", .usage = usage},
                             {0}};
    q->kind = DS_FIGURE_CURVES;
    int rc = ds_arguments_read(argc, argv, "plot", flags, -1, q, e);
    ds_file_named(q->out);
    return rc != 0 || optind < argc
               ? rc
               : ds_fail(e, DS_EXIT_USAGE,
                         "plot: name a folder with runs, or a table of runs: dshost plot results/");
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
                     near != NULL ? "nearest is" : "there are runs on", near != NULL ? near : name[0]);
    } else {
        *env = i;
    }
    free(name);
    return rc;
}

/* Sizes are for print; missing ones get defaults for the width of a page. */
static int is_paper(const request *q, int pdf)
{
    return pdf || q->paper.width_mm > 0 || q->paper.height_mm > 0 || q->paper.font_pt > 0 ||
           q->paper.no_title;
}

static int draw(const ds_report *r, const request *q, const char *path, ds_error *e)
{
    size_t env, n = strlen(path);
    const char *ending = n > 4 ? path + n - 4 : "";
    const int pdf = strcmp(ending, ".pdf") == 0;
    ds_figure f = {strcmp(ending, ".png") == 0 ? path : NULL, strcmp(ending, ".svg") == 0 ? path : NULL,
                   strcmp(ending, ".csv") == 0 ? path : NULL, NULL};
    ds_paper paper = q->paper;
    int rc = find_env(r, q, &env, e);
    if (rc == 0 && f.png == NULL && f.svg == NULL && f.csv == NULL && !pdf) {
        rc = ds_fail(e, DS_EXIT_USAGE, "--out %.200s: the name must end with .png, .svg, .pdf or .csv", path);
    }
    if (is_paper(q, pdf) && f.csv == NULL) {
        paper.path = path;
        paper.kind = pdf ? DS_CANVAS_PDF : f.svg != NULL ? DS_CANVAS_SVG : DS_CANVAS_PNG;
        paper.width_mm = paper.width_mm > 0 ? paper.width_mm : 160;
        paper.font_pt = paper.font_pt > 0 ? paper.font_pt : 8;
        f.paper = &paper;
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
        ds_fail(e, DS_EXIT_USAGE, "plot: with tables only, name the file with --out");
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
                                     .any_version = q->any_version,
                                     .tolerance = NAN};
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
