/* SPDX-License-Identifier: Apache-2.0 */
/* report_page.c - the HTML page of a report (see report_page.h). */
#include "config.h"

#include "report_page.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "canvas.h"
#include "file.h"
#include "folder.h"
#include "report_figures.h"
#include "report_pictures.h"

enum { PICTURE_LIMIT = 2 << 20, TEXT_LIMIT = 1 << 18 };

typedef struct page {
    const ds_report *r;
    const char *folder, *command;
    FILE *f;
    int rc;
    ds_error *e;
} page;

/* ---- text ---- */

static void put_text(FILE *f, const char *text)
{
    for (; *text != '\0'; text++) {
        switch (*text) {
        case '<':
            fputs("&lt;", f);
            break;
        case '>':
            fputs("&gt;", f);
            break;
        case '&':
            fputs("&amp;", f);
            break;
        case '"':
            fputs("&quot;", f);
            break;
        default:
            fputc(*text, f);
        }
    }
}

static void cell_text(FILE *f, const char *tag, const char *text)
{
    fprintf(f, "<%s>", tag);
    put_text(f, text);
    fprintf(f, "</%s>", tag);
}

static void put_number(FILE *f, double v, int digits)
{
    char text[64] = "&ndash;";
    if (isinf(v)) {
        snprintf(text, sizeof text, "none");
    } else if (!isnan(v)) {
        ds_label_number(text, sizeof text, v, digits);
    }
    fputs(text, f);
}

static void cell_number(FILE *f, double v, int digits)
{
    fputs("<td>", f);
    put_number(f, v, digits);
    fputs("</td>", f);
}

static void cell_interval(FILE *f, ds_interval i, int digits)
{
    fputs("<td class=i>", f);
    if (isfinite(i.low) && isfinite(i.high)) {
        put_number(f, i.low, digits);
        fputs(" &hellip; ", f);
        put_number(f, i.high, digits);
    } else {
        fputs("&ndash;", f);
    }
    fputs("</td>", f);
}

/* ---- pictures ---- */

static void put_base64(FILE *f, const unsigned char *data, size_t n)
{
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < n; i += 3) {
        uint32_t v = (uint32_t)data[i] << 16 | (i + 1 < n ? (uint32_t)data[i + 1] << 8 : 0) |
                     (i + 2 < n ? data[i + 2] : 0);
        fputc(digit[v >> 18], f);
        fputc(digit[v >> 12 & 63], f);
        fputc(i + 1 < n ? digit[v >> 6 & 63] : '=', f);
        fputc(i + 2 < n ? digit[v & 63] : '=', f);
    }
}

/* A file as an image inside the page; nothing where it cannot be read. */
static int put_image(FILE *f, const char *path, const char *type, const char *about)
{
    void *data = NULL;
    size_t size = 0;
    ds_error ignored = {0, ""};
    if (ds_file_read(path, PICTURE_LIMIT, &data, &size, DS_EXIT_IO, &ignored) != 0) {
        return 0;
    }
    fputs("<img alt=\"", f);
    put_text(f, about);
    fprintf(f, "\" src=\"data:%s;base64,", type);
    put_base64(f, data, size);
    fputs("\">\n", f);
    free(data);
    return 1;
}

/* An SVG file as a part of the page; nothing where it cannot be read. */
static void put_svg(FILE *f, const char *path, const char *about)
{
    void *data = NULL;
    size_t size = 0;
    ds_error ignored = {0, ""};
    if (ds_file_read(path, PICTURE_LIMIT, &data, &size, DS_EXIT_IO, &ignored) != 0) {
        return;
    }
    /* In a page there is no declaration and no name space. */
    const char *size_of_figure = memmem(data, size, " width=", 7);
    if (size_of_figure != NULL) {
        fputs("<svg role=\"img\" aria-label=\"", f);
        put_text(f, about);
        fputs("\"", f);
        fwrite(size_of_figure, 1, size - (size_t)(size_of_figure - (const char *)data), f);
    }
    free(data);
}

/* Figures are written by a function of report_figures.h through this. */
typedef int figure_writer(const ds_report *r, size_t env, int along, const ds_figure *f, ds_error *e);

static int write_bars(const ds_report *r, size_t env, int along, const ds_figure *f, ds_error *e)
{
    (void)along;
    return ds_figure_bars(r, env, f, e);
}

static int write_anytime(const ds_report *r, size_t env, int along, const ds_figure *f, ds_error *e)
{
    return ds_figure_anytime(r, env, along, f, e);
}

static int write_scores(const ds_report *r, size_t env, int along, const ds_figure *f, ds_error *e)
{
    (void)env, (void)along;
    return ds_figure_scores(r, f, e);
}

static int write_profile(const ds_report *r, size_t env, int along, const ds_figure *f, ds_error *e)
{
    (void)env, (void)along;
    return ds_figure_profile(r, f, e);
}

static int write_targets(const ds_report *r, size_t env, int along, const ds_figure *f, ds_error *e)
{
    (void)env, (void)along;
    return ds_figure_targets(r, f, e);
}

/* Writes figures/NAME.svg and .csv and shows it. */
static void put_figure(page *p, figure_writer *write, size_t env, int along, const char *kind,
                       const char *about)
{
    char *svg = NULL, *csv = NULL, name[200];
    if (p->rc != 0) {
        return;
    }
    ds_report_file_name(name, sizeof name, kind, env < p->r->envs ? p->r->env[env].name : "");
    if (asprintf(&svg, "%s/figures/%s.svg", p->folder, name) < 0 ||
        asprintf(&csv, "%s/figures/%s.csv", p->folder, name) < 0) {
        p->rc = ds_fail(p->e, DS_EXIT_MEMORY, "out of memory");
    } else {
        const ds_figure f = {NULL, svg, csv};
        p->rc = write(p->r, env, along, &f, p->e);
    }
    if (p->rc == 0) {
        fputs("<figure>", p->f);
        put_svg(p->f, svg, about);
        fprintf(p->f, "<figcaption>%s. <span class=s>figures/", about);
        put_text(p->f, name);
        fputs(".svg, .csv</span></figcaption></figure>\n", p->f);
    }
    free(svg);
    free(csv);
}

/* ---- parts ---- */

static const char style[] =
    "body{font:15px/1.45 'DejaVu Sans',sans-serif;color:#222;max-width:1080px;margin:2em auto;padding:0 1em}"
    "h1{font-size:1.7em}h2{font-size:1.35em;margin-top:2em;border-bottom:1px solid #bbb}h3{font-size:1.1em}"
    "table{border-collapse:collapse;margin:.8em 0;font-size:.86em}th,td{padding:.25em .6em;border-bottom:1px "
    "solid #ddd;"
    "text-align:right;white-space:nowrap}th:first-child,td:first-child{text-align:left}th{border-bottom:2px "
    "solid #888}"
    "tr.r td{background:#eef4fb}td.i{color:#555}td.b{font-weight:bold}.s{color:#666;font-size:.86em}"
    "img,figure>svg{max-width:100%;height:auto}figure{margin:1em 0}figcaption{color:#444;font-size:.9em}"
    "pre{background:#f5f5f5;padding:.7em;overflow-x:auto;font-size:.82em}details{margin:.5em 0}"
    "@media "
    "print{body{max-width:none;margin:0}h2{break-before:page}figure,table{break-inside:avoid}details{display:"
    "none}}";

static void put_head(page *p)
{
    const ds_report *r = p->r;
    size_t runs = 0;
    for (size_t i = 0; i < r->envs * r->opts; i++) {
        runs += r->cell[i].runs;
    }
    fprintf(
        p->f,
        "<!DOCTYPE html>\n<html lang=en><head><meta charset=utf-8><meta name=viewport "
        "content=\"width=device-width\"><title>diffsim report</title><style>%s</style></head><body>\n"
        "<h1>Optimizers on differentiable simulations</h1>\n"
        "<p>%zu finished runs of %zu optimizer%s on %zu environment%s; dshost %s. Others are compared with "
        "<b>",
        style, runs, r->opts, r->opts == 1 ? "" : "s", r->envs, r->envs == 1 ? "" : "s", PACKAGE_VERSION);
    put_text(p->f, r->opt[r->reference].name);
    fputs("</b>. Made with</p>\n<pre>", p->f);
    put_text(p->f, p->command);
    fputs("</pre>\n<p class=s>All runs: runs.csv. All numbers of the tables: cells.csv.</p>\n", p->f);
}

static void put_summary(page *p)
{
    FILE *f = p->f;
    const ds_report *r = p->r;
    fputs("<h2>All environments</h2>\n<table><tr><th>optimizer<th>environments<th>score<th>95 %<th>mean "
          "rank<th>beats reference<th>95 %<th>significantly better<th>worse</tr>\n",
          f);
    for (size_t k = 0; k < r->opts; k++) {
        const ds_report_opt *o = &r->opt[k];
        fprintf(f, "<tr%s>", k == r->reference ? " class=r" : "");
        cell_text(f, "td", o->name);
        fprintf(f, "<td>%zu</td>", o->envs);
        cell_number(f, o->score, 3);
        cell_interval(f, o->score95, 3);
        cell_number(f, o->envs > 0 ? o->rank : (double)NAN, 3);
        cell_number(f, o->improvement, 3);
        cell_interval(f, o->improvement95, 3);
        if (k == r->reference) {
            fputs("<td>&ndash;</td><td>&ndash;</td></tr>\n", f);
        } else {
            fprintf(f, "<td>%zu</td><td>%zu</td></tr>\n", o->better, o->worse);
        }
    }
    fputs("</table>\n<p class=s>Score: 0 = mean of random search (of the worst optimizer where rand did not "
          "run), 1 = the best loss that any run has found; interquartile mean over all runs, stratified "
          "bootstrap with 50000 resamples. Beats reference: probability that a run of the optimizer ends "
          "lower than one of the reference, mean over environments. Significant: Mann-Whitney, two-sided, "
          "p &lt; 0.05 after Holm's correction over the optimizers of an environment.</p>\n",
          f);
    put_figure(p, write_scores, SIZE_MAX, 0, "scores", "Scores over all environments");
    put_figure(p, write_targets, SIZE_MAX, 0, "targets", "Data profile");
    put_figure(p, write_profile, SIZE_MAX, 0, "profile", "Performance profile");
}

static void put_cells(page *p, size_t i)
{
    FILE *f = p->f;
    const ds_report *r = p->r;
    fputs("<table><tr><th>optimizer<th>runs<th>mean<th>90 % (t)<th>95 % (t)<th>95 % "
          "(bootstrap)<th>median<th>quartiles<th>best<th>worst<th>area<th>A12<th>p (Holm)</tr>\n",
          f);
    for (size_t k = 0; k < r->opts; k++) {
        const ds_report_cell *c = ds_report_at(r, i, k);
        if (c->runs == 0) {
            continue;
        }
        fprintf(f, "<tr%s>", k == r->reference ? " class=r" : "");
        cell_text(f, "td", r->opt[k].name);
        fprintf(f, "<td>%zu</td>", c->runs);
        fprintf(f, "<td%s>", c->rank == 1 ? " class=b" : "");
        put_number(f, c->mean, 5);
        fputs("</td>", f);
        cell_interval(f, c->student90, 4);
        cell_interval(f, c->student95, 4);
        cell_interval(f, c->bootstrap95, 4);
        cell_number(f, c->median, 5);
        cell_interval(f, (ds_interval){c->q1, c->q3}, 4);
        cell_number(f, c->least, 5);
        cell_number(f, c->most, 5);
        cell_number(f, c->area, 3);
        cell_number(f, c->test.a12, 3);
        cell_number(f, c->p_holm, 2);
        fputs("</tr>\n", f);
    }
    fputs("</table>\n<table><tr><th>cost, mean per run<th>evaluations<th>simulation steps<th>seconds</tr>\n",
          f);
    for (size_t k = 0; k < r->opts; k++) {
        const ds_report_cell *c = ds_report_at(r, i, k);
        if (c->runs > 0) {
            fputs("<tr>", f);
            cell_text(f, "td", r->opt[k].name);
            cell_number(f, c->evaluations, 6);
            cell_number(f, c->cost_steps, 6);
            cell_number(f, c->wall_s, 4);
            fputs("</tr>\n", f);
        }
    }
    fputs("</table>\n", f);
}

/* Expected running times to three scores. */
static void put_running_times(page *p, size_t i)
{
    static const double score[3] = {0.5, 0.9, 0.99};
    const ds_report *r = p->r;
    const ds_report_env *env = &r->env[i];
    double target[3];
    for (int t = 0; t < 3; t++) {
        target[t] = env->random - score[t] * (env->random - env->best);
    }
    fputs("<table><tr><th>evaluations expected until the score is<th>0.5<th>0.9<th>0.99</tr>\n", p->f);
    for (size_t k = 0; k < r->opts; k++) {
        const ds_report_cell *c = ds_report_at(r, i, k);
        ds_hits *run = calloc(c->runs + 1, sizeof *run);
        uint64_t(*hit)[3] = calloc(c->runs + 1, sizeof *hit);
        for (size_t j = 0; run != NULL && hit != NULL && j < c->runs; j++) {
            const ds_curve *curve = &c->run[j].curve;
            ds_target_hits(curve->id, curve->loss, curve->count, target, 3, hit[j]);
            run[j] = (ds_hits){hit[j], curve->evaluations};
        }
        if (c->runs > 0 && run != NULL && hit != NULL) {
            fputs("<tr>", p->f);
            cell_text(p->f, "td", r->opt[k].name);
            for (size_t t = 0; t < 3; t++) {
                cell_number(p->f, ds_expected_running_time(run, c->runs, t), 4);
            }
            fputs("</tr>\n", p->f);
        }
        free(run);
        free(hit);
    }
    fputs("</table>\n<p class=s>Evaluations of all runs until they reached it or ended, per run that did "
          "(ERT).</p>\n",
          p->f);
}

/* The settings of a run, as it left them. */
static void put_settings(page *p, const ds_result *run, const char *about)
{
    char *path = ds_folder_path(run->folder, "run.ini");
    void *text = NULL;
    size_t size = 0;
    ds_error ignored = {0, ""};
    if (path != NULL && ds_file_read(path, TEXT_LIMIT, &text, &size, DS_EXIT_IO, &ignored) == 0) {
        fprintf(p->f, "<details><summary>%s</summary><pre>", about);
        put_text(p->f, text);
        fputs("</pre></details>\n", p->f);
    }
    free(text);
    free(path);
}

static void put_env(page *p, size_t i)
{
    const ds_report_env *env = &p->r->env[i];
    cell_text(p->f, "h2", env->name);
    fputs("<p>", p->f);
    if (env->n > 0) {
        fprintf(p->f, "%" PRIu64 " variables. ", env->n);
    }
    if (env->budget > 0) {
        fprintf(p->f, "%" PRIu64 " evaluations per run. ", env->budget);
    } else {
        fputs("<b>The runs have different budgets.</b> ", p->f);
    }
    fputs("Best loss known here: ", p->f);
    put_number(p->f, env->best, 8);
    fputs(env->has_random ? "; random search: " : "; worst mean (random search did not run): ", p->f);
    put_number(p->f, env->random, 5);
    fputs(".</p>\n", p->f);
    put_cells(p, i);
    put_running_times(p, i);
    put_figure(p, write_bars, i, 0, "bars", "Best loss after the budget");
    put_figure(p, write_anytime, i, DS_ALONG_EVALUATIONS, "evaluations",
               "Best loss so far against evaluations");
    put_figure(p, write_anytime, i, DS_ALONG_STEPS, "steps",
               "Best loss so far against simulation steps, forward and backward");
    if (env->best_run != NULL) {
        char *path = ds_folder_path(env->best_run->folder, "best.png");
        char *made = ds_report_picture_path(p->r, i, p->folder);
        fputs("<figure>", p->f);
        int shown = (path != NULL && put_image(p->f, path, "image/png", "the best episode")) ||
                    (made != NULL && put_image(p->f, made, "image/png", "the best episode"));
        fputs("<figcaption>", p->f);
        fprintf(p->f, "%sest run: ", shown ? "The best episode. B" : "B");
        put_text(p->f, env->best_run->folder);
        fputs("</figcaption></figure>\n", p->f);
        free(path);
        free(made);
    }
    for (size_t k = 0; k < p->r->opts; k++) {
        const ds_report_cell *c = ds_report_at(p->r, i, k);
        char about[160];
        if (c->runs > 0) {
            snprintf(about, sizeof about, "settings of %.100s", p->r->opt[k].name);
            put_settings(p, c->run[0].result, about);
        }
    }
}

static void put_open(page *p)
{
    const ds_report *r = p->r;
    if (r->open_count == 0) {
        return;
    }
    fprintf(p->f,
            "<h2>Left out: %zu run%s that did not finish</h2>\n"
            "<table><tr><th>folder<th>evaluations<th>why</tr>\n",
            r->open_count, r->open_count == 1 ? "" : "s");
    for (size_t i = 0; i < r->open_count; i++) {
        const ds_result *run = r->open[i];
        fputs("<tr>", p->f);
        cell_text(p->f, "td", run->folder);
        fprintf(p->f, "<td>%" PRIu64 "</td>", run->evaluations);
        cell_text(p->f, "td",
                  run->error != NULL   ? run->error
                  : run->ended != NULL ? run->ended
                                       : "no summary yet");
        fputs("</tr>\n", p->f);
    }
    fputs("</table>\n", p->f);
}

int ds_report_page(const ds_report *r, const char *folder, const char *command, ds_error *e)
{
    char *text = NULL, *figures = ds_folder_path(folder, "figures"),
         *path = ds_folder_path(folder, "index.html");
    char *runs = ds_folder_path(folder, "runs.csv"), *cells = ds_folder_path(folder, "cells.csv");
    size_t size = 0;
    page p = {r, folder, command, NULL, 0, e};
    if (figures == NULL || path == NULL || runs == NULL || cells == NULL ||
        (p.f = open_memstream(&text, &size)) == NULL) {
        p.rc = ds_fail(e, DS_EXIT_MEMORY, "out of memory");
    }
    p.rc = p.rc != 0 ? p.rc : ds_folder_make(figures, e);
    p.rc = p.rc != 0 ? p.rc : ds_report_runs_csv(r, runs, e);
    p.rc = p.rc != 0 ? p.rc : ds_report_cells_csv(r, cells, e);
    if (p.rc == 0) {
        put_head(&p);
        put_summary(&p);
        for (size_t i = 0; i < r->envs; i++) {
            put_env(&p, i);
        }
        put_open(&p);
        fputs("</body></html>\n", p.f);
    }
    if (p.f != NULL) {
        int failed = ferror(p.f);
        failed |= fclose(p.f) != 0;
        p.rc = p.rc == 0 && failed ? ds_fail(e, DS_EXIT_MEMORY, "out of memory") : p.rc;
    }
    p.rc = p.rc != 0 ? p.rc : ds_file_write_atomic(path, text, size, e);
    free(text);
    free(figures);
    free(path);
    free(runs);
    free(cells);
    return p.rc;
}
