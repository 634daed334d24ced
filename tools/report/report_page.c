/* SPDX-License-Identifier: Apache-2.0 */
/* report_page.c - the HTML page of a report (see report_page.h). */
#include "config.h"

#include "report/report_page.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "report/report_csv.h"
#include "report/report_figures.h"
#include "report/report_html.h"
#include "report/report_pictures.h"
#include "report/report_point.h"
#include "report/report_settings.h"
#include "store/run_folder.h"

typedef struct page {
    const ds_report *r;
    const char *folder;
    const ds_report_origin *origin;
    FILE *f;
    int rc;
    ds_error *e;
} page;

/* ---- figures ---- */

/* A figure of the page: its kind, its environment where it has one, and its axis. */
typedef struct figure {
    int kind;
    size_t env; /* SIZE_MAX = over all */
    int along;
    const char *about;
} figure;

static int has_axis(const figure *g)
{
    return g->kind == DS_FIGURE_CURVES || g->kind == DS_FIGURE_TARGETS;
}

/* The command that draws it alone. */
static void put_command(page *p, const figure *g, const char *name)
{
    char *text = NULL, file[240];
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    if (f == NULL) {
        return;
    }
    fprintf(f, "dshost plot %s --kind %s", p->origin->folders, ds_figure_kinds[g->kind]);
    if (g->env != SIZE_MAX) {
        fputs(" --env ", f);
        ds_text_shell_word(f, p->r->env[g->env].name);
    }
    if (has_axis(g)) {
        fprintf(f, " --along %s", ds_figure_alongs[g->along]);
    }
    fputs(" --out ", f);
    snprintf(file, sizeof file, "%s.svg", name);
    ds_text_shell_word(f, file);
    if (fclose(f) == 0) {
        ds_html_element(p->f, "code", text);
    }
    free(text);
}

/* Writes figures/NAME.svg and .csv and shows it. */
static void put_figure(page *p, const figure *g)
{
    char *svg = NULL, *csv = NULL, name[200], kind[64];
    if (p->rc != 0) {
        return;
    }
    snprintf(kind, sizeof kind, "%s%s%s", g->kind == DS_FIGURE_CURVES ? "" : ds_figure_kinds[g->kind],
             g->kind == DS_FIGURE_TARGETS && g->along != DS_ALONG_EVALUATIONS ? "-" : "",
             g->kind == DS_FIGURE_CURVES || (g->kind == DS_FIGURE_TARGETS && g->along != DS_ALONG_EVALUATIONS)
                 ? ds_figure_alongs[g->along]
                 : "");
    ds_report_file_name(name, sizeof name, kind, g->env != SIZE_MAX ? p->r->env[g->env].name : "");
    if (asprintf(&svg, "%s/figures/%s.svg", p->folder, name) < 0 ||
        asprintf(&csv, "%s/figures/%s.csv", p->folder, name) < 0) {
        p->rc = ds_no_memory(p->e);
    } else {
        const ds_figure f = {NULL, svg, csv};
        p->rc = ds_figure_draw(p->r, g->kind, g->env, g->along, &f, p->e);
    }
    if (p->rc == 0) {
        fputs("<figure>", p->f);
        ds_html_svg(p->f, svg, g->about);
        fprintf(p->f, "<figcaption>%s. ", g->about);
        if (p->origin->page_only) {
            unlink(svg);
            unlink(csv);
        } else {
            fputs("<span class=s>", p->f);
            ds_html_link(p->f, svg + strlen(p->folder) + 1, "SVG");
            fputs(", ", p->f);
            ds_html_link(p->f, csv + strlen(p->folder) + 1, "CSV");
            fputs("</span>", p->f);
        }
        fputs("<br>", p->f);
        put_command(p, g, name);
        fputs("</figcaption></figure>\n", p->f);
    }
    free(svg);
    free(csv);
}

/* ---- head ---- */

static const char style[] =
    "body{font:15px/1.45 'DejaVu Sans',sans-serif;color:#222;max-width:1080px;margin:2em auto;padding:0 1em}"
    "h1{font-size:1.7em}h2{font-size:1.35em;margin-top:2em;border-bottom:1px solid #bbb}h3{font-size:1.1em;"
    "break-after:avoid}"
    "table{border-collapse:collapse;margin:.8em 0;font-size:.86em}th,td{padding:.25em .6em;border-bottom:1px "
    "solid #ddd;text-align:right;white-space:nowrap}"
    "th:first-child,td:first-child,table.t th,table.t td{text-align:left}table.t td{white-space:normal}"
    "th{border-bottom:2px solid #888;vertical-align:bottom}"
    "tr.r td{background:#eef4fb}td.i{color:#555}td.b{font-weight:bold}td.g{color:#00703c}td.w{color:#b02000}"
    ".s,figcaption code{color:#666;font-size:.86em}figcaption code{overflow-wrap:anywhere}"
    "img,figure>svg{max-width:100%;height:auto}figure{margin:1em 0;break-inside:avoid}"
    "figcaption{color:#444;font-size:.9em}a{color:#0054a6}nav{columns:14em;font-size:.9em}nav "
    "a{display:block}"
    "pre{background:#f5f5f5;padding:.7em;white-space:pre-wrap;overflow-wrap:anywhere;font-size:.82em}"
    ".k{columns:24em}.k pre{margin:.3em 0;break-inside:avoid}dt{font-weight:bold}dd{margin:0 0 .4em 1.5em}"
    "@media print{@page{size:A4 landscape;margin:10mm}"
    "body{max-width:none;margin:0;padding:0;font-size:9.5pt}h2{break-before:page;margin-top:0}"
    "h2.f,#columns,#versions,#settings,#open{break-before:auto;margin-top:1em}"
    "table{font-size:8pt}th,td{padding:.15em .45em}tr{break-inside:avoid}"
    "figure>svg,img{max-height:80mm;max-width:100%}.k pre{font-size:6.5pt;break-inside:auto}a{color:inherit;"
    "text-decoration:none}}";

static void put_head(page *p)
{
    const ds_report *r = p->r;
    size_t runs = 0;
    for (size_t i = 0; i < r->envs * r->opts; i++) {
        runs += r->cell[i].runs;
    }
    fprintf(p->f,
            "<!DOCTYPE html>\n<html lang=en><head><meta charset=utf-8><meta name=viewport "
            "content=\"width=device-width\"><title>diffsim report</title><style>%s</style></head><body>\n"
            "<h1>Optimizers on differentiable simulations</h1>\n"
            "<p>%zu finished run%s of %zu optimizer%s on %zu environment%s. Others are compared with <b>",
            style, runs, runs == 1 ? "" : "s", r->opts, r->opts == 1 ? "" : "s", r->envs,
            r->envs == 1 ? "" : "s");
    ds_html_text(p->f, r->opt[r->reference].name);
    fputs("</b>. Made with</p>\n<pre>", p->f);
    ds_html_text(p->f, p->origin->command);
    fputs("</pre>\n<p class=s>All numbers as tables: <a href=\"runs.csv\">runs.csv</a> (every run), <a "
          "href=\"cells.csv\">cells.csv</a> (every optimizer on every environment), <a "
          "href=\"summary.csv\">summary.csv</a> (over all environments).</p>\n<nav>",
          p->f);
    ds_html_link(p->f, "#all", "All environments");
    for (size_t i = 0; i < r->envs; i++) {
        char to[32];
        snprintf(to, sizeof to, "#env%zu", i + 1);
        ds_html_link(p->f, to, r->env[i].name);
    }
    if (r->open_count > 0) {
        ds_html_link(p->f, "#open", "Left out");
    }
    ds_html_link(p->f, "#columns", "What the columns mean");
    ds_html_link(p->f, "#versions", "Versions");
    ds_html_link(p->f, "#settings", "Settings");
    fputs("</nav>\n", p->f);
}

/* ---- over all environments ---- */

static void put_summary(page *p)
{
    FILE *f = p->f;
    const ds_report *r = p->r;
    size_t parts = 0;
    fputs("<h2 id=all class=f>All environments</h2>\n<table><tr><th>optimizer<th>environments<th>score<th>95 "
          "%<th>mean "
          "rank<th>beats reference<th>95 %<th>significantly<br>better on<th>worse on</tr>\n",
          f);
    for (size_t k = 0; k < r->opts; k++) {
        const ds_report_opt *o = &r->opt[k];
        parts += o->envs < r->envs;
        fprintf(f, "<tr%s>", k == r->reference ? " class=r" : "");
        ds_html_element(f, "td", o->name);
        fprintf(f, o->envs < r->envs ? "<td><b>%zu of %zu</b></td>" : "<td>%zu of %zu</td>", o->envs,
                r->envs);
        ds_html_number_cell(f, o->score, 3);
        ds_html_interval_cell(f, o->score95, 3);
        ds_html_number_cell(f, o->rank, 3);
        ds_html_number_cell(f, o->improvement, 3);
        ds_html_interval_cell(f, o->improvement95, 3);
        if (k == r->reference) {
            fputs("<td>&ndash;</td><td>&ndash;</td></tr>\n", f);
        } else {
            fprintf(f, "<td>%zu</td><td>%zu</td></tr>\n", o->better, o->worse);
        }
    }
    fputs("</table>\n", f);
    if (parts > 0) {
        fputs("<p><b>Not all optimizers ran on all environments: scores, ranks and profiles over different "
              "environments do not compare.</b></p>\n",
              f);
    }
    put_figure(p, &(figure){DS_FIGURE_SCORES, SIZE_MAX, 0, "Scores over all environments"});
    put_figure(
        p, &(figure){DS_FIGURE_TARGETS, SIZE_MAX, DS_ALONG_EVALUATIONS, "Data profile against evaluations"});
    put_figure(p, &(figure){DS_FIGURE_TARGETS, SIZE_MAX, DS_ALONG_STEPS,
                            "Data profile against simulation steps, forward and backward"});
    put_figure(p, &(figure){DS_FIGURE_PROFILE, SIZE_MAX, 0, "Performance profile"});
}

/* ---- one environment ---- */

static void begin_row(page *p, size_t k)
{
    fprintf(p->f, "<tr%s>", k == p->r->reference ? " class=r" : "");
    ds_html_element(p->f, "td", p->r->opt[k].name);
}

static void put_means(page *p, size_t i)
{
    FILE *f = p->f;
    fputs("<table><tr><th>optimizer<th>runs<th>mean<th>90 % (t)<th>95 % (t)<th>95 % (bootstrap)</tr>\n", f);
    for (size_t k = 0; k < p->r->opts; k++) {
        const ds_report_cell *c = ds_report_at(p->r, i, k);
        if (c->runs > 0) {
            begin_row(p, k);
            fprintf(f, "<td>%zu</td><td%s>", c->runs, c->mean == p->r->env[i].least_mean ? " class=b" : "");
            ds_html_number(f, c->mean, 5);
            fputs("</td>", f);
            ds_html_interval_cell(f, c->student90, 4);
            ds_html_interval_cell(f, c->student95, 4);
            ds_html_interval_cell(f, c->bootstrap95, 4);
            fputs("</tr>\n", f);
        }
    }
    fputs("</table>\n", f);
}

static void put_orders(page *p, size_t i)
{
    static const char *const verdict[] = {"<td class=w>worse</td>", "<td></td>", "<td class=g>better</td>"};
    FILE *f = p->f;
    fputs("<table><tr><th>optimizer<th>median<th>quartiles<th>best<th>worst<th>A12<th>p (Holm)<th>than ", f);
    ds_html_text(f, p->r->opt[p->r->reference].name);
    fputs("</tr>\n", f);
    for (size_t k = 0; k < p->r->opts; k++) {
        const ds_report_cell *c = ds_report_at(p->r, i, k);
        if (c->runs > 0) {
            begin_row(p, k);
            ds_html_number_cell(f, c->median, 5);
            ds_html_interval_cell(f, c->runs > 1 ? (ds_interval){c->q1, c->q3} : (ds_interval){NAN, NAN}, 4);
            ds_html_number_cell(f, c->least, 5);
            ds_html_number_cell(f, c->most, 5);
            ds_html_number_cell(f, c->test.a12, 3);
            ds_html_number_cell(f, c->p_holm, 2);
            fprintf(f, "%s</tr>\n", verdict[1 + ds_report_verdict(c)]);
        }
    }
    fputs("</table>\n<p class=s>Bold: the lowest mean. Better and worse (p &lt; 0.05) go by ranks, so that "
          "one run "
          "far off, which moves a mean, counts as one run.</p>\n",
          f);
}

/* What the runs cost, and how soon they were good. */
static void put_costs(page *p, size_t i)
{
    FILE *f = p->f;
    fputs("<table><tr><th rowspan=2>optimizer<th colspan=3>cost, mean per run<th colspan=2>area, by<th "
          "colspan=3>evaluations expected until the score is<th colspan=3>simulation steps expected</tr>\n"
          "<tr><th style=\"text-align:right\">evaluations<th>steps<th>seconds<th>evaluations<th>steps",
          f);
    for (int t = 0; t < 2 * DS_REPORT_SCORES; t++) {
        fprintf(f, "<th>%g", ds_report_score[t % DS_REPORT_SCORES]);
    }
    fputs("</tr>\n", f);
    for (size_t k = 0; k < p->r->opts; k++) {
        const ds_report_cell *c = ds_report_at(p->r, i, k);
        if (c->runs > 0) {
            begin_row(p, k);
            ds_html_number_cell(f, c->evaluations, 6);
            ds_html_number_cell(f, c->cost_steps, 6);
            ds_html_number_cell(f, c->wall_s, 4);
            ds_html_number_cell(f, c->area[0], 3);
            ds_html_number_cell(f, c->area[1], 3);
            for (int t = 0; t < 2 * DS_REPORT_SCORES; t++) {
                ds_html_number_cell(f, c->expected[t / DS_REPORT_SCORES][t % DS_REPORT_SCORES], 4);
            }
            fputs("</tr>\n", f);
        }
    }
    fputs("</table>\n", f);
}

static void put_best_run(page *p, size_t i)
{
    const ds_report_env *env = &p->r->env[i];
    char *path = ds_folder_path(env->best_run->folder, "best.png");
    char *made = ds_report_picture_path(p->r, i, p->folder);
    fputs("<figure>", p->f);
    int shown = (path != NULL && ds_html_png(p->f, path, "the best episode")) ||
                (made != NULL && ds_html_png(p->f, made, "the best episode"));
    fprintf(p->f, "<figcaption>%sest run: ", shown ? "The best episode. B" : "B");
    ds_html_text(p->f, env->best_run->folder);
    fputs("</figcaption></figure>\n", p->f);
    ds_report_point(p->f, env->best_run);
    free(path);
    free(made);
}

static void put_env(page *p, size_t i)
{
    static const char *const zero[] = {[DS_ZERO_RANDOM] = "mean of random search",
                                       [DS_ZERO_WORST_MEAN] = "worst mean (there is none of random search)",
                                       [DS_ZERO_WORST_RUN] = "worst loss of a run (no optimizer has a mean)"};
    const ds_report_env *env = &p->r->env[i];
    fprintf(p->f, "<h2 id=env%zu>", i + 1);
    ds_html_text(p->f, env->name);
    fprintf(p->f, "</h2>\n<p>%" PRIu64 " variable%s. ", env->n, env->n == 1 ? "" : "s");
    if (env->budget > 0) {
        fprintf(p->f, "%" PRIu64 " evaluations per run. ", env->budget);
    } else {
        fputs("<b>The runs have different budgets.</b> ", p->f);
    }
    if (!isfinite(env->best)) {
        fputs("<b>No run has found a valid loss.</b></p>\n", p->f);
        put_costs(p, i);
        return;
    }
    fputs("Best loss known here (score 1): ", p->f);
    ds_html_number(p->f, env->best, 8);
    fprintf(p->f, "; %s (score 0): ", zero[env->zero]);
    ds_html_number(p->f, env->random, 5);
    fputs(".</p>\n", p->f);
    put_means(p, i);
    put_orders(p, i);
    put_costs(p, i);
    put_figure(p, &(figure){DS_FIGURE_BARS, i, 0, "Best loss after the budget"});
    put_figure(p,
               &(figure){DS_FIGURE_CURVES, i, DS_ALONG_EVALUATIONS, "Best loss so far against evaluations"});
    put_figure(p, &(figure){DS_FIGURE_CURVES, i, DS_ALONG_STEPS,
                            "Best loss so far against simulation steps, forward and backward"});
    put_best_run(p, i);
}

/* ---- ends ---- */

static void put_open(page *p)
{
    const ds_report *r = p->r;
    if (r->open_count == 0) {
        return;
    }
    fprintf(p->f,
            "<h2 id=open>Left out: %zu run%s that did not finish</h2>\n"
            "<table class=t><tr><th>folder<th>evaluations<th>why</tr>\n",
            r->open_count, r->open_count == 1 ? "" : "s");
    for (size_t i = 0; i < r->open_count; i++) {
        const ds_result *run = r->open[i];
        fputs("<tr>", p->f);
        ds_html_element(p->f, "td", run->folder);
        ds_html_count_cell(p->f, run->evaluations);
        ds_html_element(p->f, "td", ds_result_open_reason(run));
        fputs("</tr>\n", p->f);
    }
    fputs("</table>\n", p->f);
}

static void put_columns(page *p)
{
    static const char *const about[][2] = {
        {"mean, median, quartiles, best, worst",
         "of the best losses of the runs of an optimizer. A run that found no "
         "valid loss counts as infinite: \"none\"."},
        {"90 % (t), 95 % (t)", "interval of the mean by Student's t. For one run there is none."},
        {"95 % (bootstrap)",
         "interval of the mean by the bias-corrected and accelerated bootstrap, 10000 resamples."},
        {"A12", "probability that a run of the optimizer ends lower than one of the reference; equal ones "
                "count half. "
                "Above 0.5 the optimizer is ahead."},
        {"p (Holm)",
         "two-sided Mann-Whitney test against the reference, exact up to 200 values, corrected by Holm for "
         "the number of optimizers on the environment. Better or worse: below 0.05."},
        {"score",
         "(random - loss) / (random - best): 0 is the mean of random search, 1 the best loss that any run "
         "found; 0 for a run without a valid loss. Without random search its place is taken by the worst "
         "mean. "
         "Over environments: interquartile mean over all runs, 95 % by the stratified bootstrap, 50000 "
         "resamples."},
        {"mean rank", "of the mean losses on each environment, 1 is best."},
        {"beats reference", "mean over environments of A12, 95 % by the same bootstrap, 10000 resamples."},
        {"significantly better, worse", "number of environments where p (Holm) is below 0.05."},
        {"area", "area under the best score so far, 1 is best: over evaluations up to the budget, and over "
                 "simulation "
                 "steps up to the longest run of the environment. A run that ended keeps its score."},
        {"expected until the score is ...",
         "cost of all runs until they reached it or ended, per run that reached it "
         "(ERT); \"none\" where none did."},
        {"simulation steps",
         "steps forward and backward; an evaluation with a gradient costs two to five times as many "
         "as one without."},
        {"data profile",
         "share of (environment, target, run) reached against cost per variable; 51 targets as in COCO, "
         "without those that nobody reached."},
        {"performance profile", "share of runs with a score above tau, mean over environments."},
    };
    fputs("<h2 id=columns>What the columns mean</h2>\n<dl>\n", p->f);
    for (size_t i = 0; i < sizeof about / sizeof *about; i++) {
        ds_html_element(p->f, "dt", about[i][0]);
        ds_html_element(p->f, "dd", about[i][1]);
    }
    fputs("</dl>\n", p->f);
}

static void put_page(page *p)
{
    put_head(p);
    put_summary(p);
    for (size_t i = 0; i < p->r->envs; i++) {
        put_env(p, i);
    }
    put_open(p);
    put_columns(p);
    ds_report_put_versions(p->f, p->r);
    ds_report_put_settings(p->f, p->r);
    fputs("</body></html>\n", p->f);
}

typedef int write_table(const ds_report *r, const char *path, ds_error *e);

static int write_tables(const ds_report *r, const char *folder, ds_error *e)
{
    static const struct {
        const char *name;
        write_table *write;
    } table[] = {{"runs.csv", ds_report_runs_csv},
                 {"cells.csv", ds_report_cells_csv},
                 {"summary.csv", ds_report_summary_csv}};
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < sizeof table / sizeof *table; i++) {
        char *path = ds_folder_path(folder, table[i].name);
        rc = path == NULL ? ds_no_memory(e) : table[i].write(r, path, e);
        free(path);
    }
    return rc;
}

int ds_report_page(const ds_report *r, const char *folder, const ds_report_origin *origin, ds_error *e)
{
    char *text = NULL, *figures = ds_folder_path(folder, "figures"),
         *path = ds_folder_path(folder, "index.html");
    size_t size = 0;
    page p = {r, folder, origin, NULL, 0, e};
    if (figures == NULL || path == NULL || (p.f = open_memstream(&text, &size)) == NULL) {
        p.rc = ds_no_memory(e);
    }
    p.rc = p.rc != 0 ? p.rc : ds_folder_make(figures, e);
    p.rc = p.rc != 0 ? p.rc : write_tables(r, folder, e);
    if (p.rc == 0) {
        put_page(&p);
    }
    if (p.f != NULL) {
        int failed = ferror(p.f);
        failed |= fclose(p.f) != 0;
        p.rc = p.rc == 0 && failed ? ds_no_memory(e) : p.rc;
    }
    p.rc = p.rc != 0 ? p.rc : ds_file_write_atomic(path, text, size, e);
    free(text);
    free(figures);
    free(path);
    return p.rc;
}
