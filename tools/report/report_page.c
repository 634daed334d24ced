/* SPDX-License-Identifier: Apache-2.0 */
/* report_page.c - the HTML page of a report (see report.h). */
#include "config.h"

#include "report/report.h"

#include "base/file.h"
#include "base/text.h"
#include "page/page.h"
#include "results/run_table.h"
#include "store/run_folder.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct page {
    const ds_report *r;
    const char *folder;
    const ds_report_origin *origin;
    FILE *f;
    int rc;
    ds_error *e;
} page;

/* Makes the figures interactive. */
static const ds_page_script scripts[] = {{ds_page_figure_js, ds_page_figure_js_sum}, {NULL, NULL}};

/* ---- style ---- */

/* The overview has the colours of cividis (J. Nunez, C. Anderton and R. Renslow, PLoS ONE 13, 2018), which
 * look alike to all colour vision; all text on them has a contrast above 4.5. Figures are drawn for paper;
 * rules turn them dark. */

static const char style[] =
    ":root{color-scheme:light "
    "dark;--f:#222;--b:#fff;--s:#5a5a5a;--l:#ddd;--h:#8a8a8a;--r:#eef4fb;--g:#00663a;"
    "--w:#a51d00;--a:#0054a6;--p:#f5f5f5}"
    "body{font:15px/1.45 'DejaVu "
    "Sans',Verdana,sans-serif;color:var(--f);background:var(--b);max-width:1080px;"
    "margin:2em auto;padding:0 1em;overflow-wrap:anywhere}"
    "h1{font-size:1.7em;margin-bottom:.2em}h2{font-size:1.35em;margin-top:2em;border-bottom:1px solid "
    "var(--h)}"
    "h3{font-size:1.1em;break-after:avoid}"
    "table{border-collapse:collapse;margin:.4em 0;font-size:.86em}"
    "th,td{padding:.25em .5em;border-bottom:1px solid var(--l);text-align:right;white-space:nowrap}"
    "th:first-child,td:first-child,table.t th,table.t td{text-align:left}table.t td{white-space:normal}"
    "th{font-weight:bold;vertical-align:bottom}thead th{border-bottom:2px solid var(--h)}"
    "tr.r th,tr.r td{background:var(--r)}td.i{color:var(--s)}td.b{font-weight:bold}"
    "td.g{color:var(--g);font-weight:bold}td.w{color:var(--w);font-weight:bold}td.n{color:var(--s)}"
    ".s,figcaption code{color:var(--s);font-size:.86em}.m{border-left:4px solid var(--h);padding-left:.8em}"
    /* A shade at the edge shows that the content continues. */
    ".o{background:linear-gradient(90deg,var(--b) 30%,transparent) 0 0/40px 100% no-repeat local,"
    "linear-gradient(270deg,var(--b) 30%,transparent) 100% 0/40px 100% no-repeat local,"
    "linear-gradient(90deg,#8888,transparent) 0 0/14px 100% no-repeat scroll,"
    "linear-gradient(270deg,#8888,transparent) 100% 0/14px 100% no-repeat scroll}"
    ".o{overflow-x:auto;max-width:100%}.o:focus-visible,a:focus-visible,summary:focus-visible{outline:2px "
    "solid "
    "var(--a);outline-offset:2px}"
    "a.k{position:absolute;left:-99em}a.k:focus{position:static}"
    "img,figure svg{max-width:100%;height:auto}figure{margin:1em 0;break-inside:avoid}"
    "figcaption{font-size:.9em}a{color:var(--a)}nav{columns:14em;font-size:.9em}nav a{display:block}"
    "pre{background:var(--p);padding:.7em;white-space:pre-wrap;font-size:.82em}"
    ".x{columns:24em}.x pre{margin:.3em 0;break-inside:avoid}dt{font-weight:bold}dd{margin:0 0 .4em 1.5em}"
    /* the overview */
    "table.h{border-collapse:separate;border-spacing:2px}table.h th,table.h td{border:0}"
    "table.h td{text-align:center;min-width:4.2em;padding:.3em .45em}"
    "table.h thead th{text-align:center;white-space:normal;max-width:9em;overflow-wrap:break-word}"
    "table.h th:first-child{position:sticky;left:0;background:var(--b);text-align:left;min-width:6em;"
    "max-width:12em;white-space:normal;overflow-wrap:break-word}"
    "table.h small{display:block;font-size:.78em}table.h .b{box-shadow:inset 0 0 0 3px "
    "var(--f);font-weight:bold}"
    "table.h tr.z th,table.h tr.z td{border-top:2px solid var(--h)}"
    "span.h{display:inline-block;min-width:2.6em;text-align:center;padding:.1em .2em;font-size:.82em}"
    ".hn{background:#fff;color:#222;background-image:repeating-linear-gradient(45deg,#ccc 0 1px,#fff 1px "
    "7px)}"
    ".h0{background:#00224e;color:#fff}.h1{background:#123570;color:#fff}.h2{background:#3b496c;color:#fff}"
    ".h3{background:#575d6d;color:#fff}.h4{background:#6b6c70;color:#fff}.h5{background:#8f8b77;color:#000}"
    ".h6{background:#a59c74;color:#000}.h7{background:#c3b369;color:#000}.h8{background:#e1cc55;color:#000}"
    ".h9{background:#fee838;color:#000}";

static const char media_style[] =
    "@media(max-width:760px){body{margin:.6em auto}figure .o "
    "svg{width:100%}h1{font-size:1.35em}"
    "dd{margin-left:.6em}}"
    "@media screen and (prefers-color-scheme:dark){"
    ":root{--f:#e6e6e6;--b:#16181b;--s:#a9adb3;--l:#3a3e44;--h:#7d838b;--r:#1d2b3c;--g:#5fd39a;--w:#ff9077;"
    "--a:#7db8f5;--p:#22262b}"
    "figure img{filter:brightness(.82)}}"
    "@media print{@page{size:A4 landscape;margin:10mm}"
    "body{max-width:none;margin:0;padding:0;font-size:9.5pt}h2{break-before:page;margin-top:0}"
    "h2.f,#columns,#versions,#settings,#open{break-before:auto;margin-top:1em}nav,a.k{display:none}"
    ".o{overflow:visible;background:none}table{font-size:8pt}th,td{padding:.15em .45em}tr{break-inside:avoid}"
    "table.h td,span.h{print-color-adjust:exact;-webkit-print-color-adjust:exact}table.h "
    "th:first-child{position:static}"
    "figure svg,img{max-height:80mm;max-width:100%}.x pre{font-size:6.5pt;break-inside:auto}a{color:inherit;"
    "text-decoration:none}}";

/* ---- figures ---- */

/* A figure of the page: kind, environment (if any) and axis. */
typedef struct figure {
    int kind;
    size_t env; /* SIZE_MAX = all environments */
    int along;
    const char *about;
} figure;

static int has_axis(const figure *g)
{
    return g->kind == DS_FIGURE_CURVES || g->kind == DS_FIGURE_TARGETS;
}

/* The command that draws this figure. */
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
    if (p->origin->only != NULL) {
        fputs(" --only ", f);
        ds_text_shell_word(f, p->origin->only);
    }
    if (p->origin->pool != NULL) {
        fputs(" --pool ", f);
        ds_text_shell_word(f, p->origin->pool);
    }
    if (p->origin->any_version) {
        fputs(" --any-version", f);
    }
    fputs(" --out ", f);
    snprintf(file, sizeof file, "%s.svg", name);
    ds_text_shell_word(f, file);
    if (fclose(f) == 0) {
        ds_html_element(p->f, "code", text);
    }
    free(text);
}

/* Writes figures/NAME.svg and .csv and shows the figure, unless it is empty. */
static void put_figure(page *p, const figure *g)
{
    const int known = ds_figure_is_known(p->r, g->kind, g->env);
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
    } else if (known) {
        const ds_figure f = {NULL, svg, csv, NULL};
        p->rc = ds_figure_draw(p->r, g->kind, g->env, g->along, &f, p->e);
    } else { /* files of an earlier report */
        unlink(svg);
        unlink(csv);
    }
    if (p->rc == 0 && known) {
        char about[260];
        snprintf(about, sizeof about, "%.120s%s%s", g->env != SIZE_MAX ? p->r->env[g->env].name : "",
                 g->env != SIZE_MAX ? ": " : "", g->about);
        fputs("<figure><div class=o tabindex=0 role=group aria-label=\"", p->f);
        ds_html_text(p->f, about);
        fputs(" (figure)\">", p->f);
        ds_html_svg(p->f, svg, about);
        fprintf(p->f, "</div><figcaption>%s. ", g->about);
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

/* The last part of the path of the first folder, or of the folder of the first table; to be freed. */
static char *name_of(const char *folder)
{
    char *place = realpath(folder, NULL), *slash = place != NULL ? strrchr(place, '/') : NULL;
    if (slash != NULL && ds_run_table_is(folder)) {
        *slash = '\0';
        slash = strrchr(place, '/');
    }
    char *name = strdup(slash != NULL && slash[1] != '\0' ? slash + 1 : folder);
    free(place);
    return name;
}

/* Writes each distinct text of the runs that count; "" if there is none. */
static void put_machines(page *p)
{
    const ds_run_results *all = &p->r->results;
    const char *between = "";
    for (size_t i = 0; i < all->count; i++) {
        const char *own = all->item[i].machine;
        int known = own == NULL || !ds_result_counts(&all->item[i]); /* table rows have none */
        for (size_t j = 0; j < i && !known; j++) {
            const ds_result *other = &all->item[j];
            known = ds_result_counts(other) && other->machine != NULL && strcmp(other->machine, own) == 0;
        }
        if (!known) {
            fputs(between, p->f);
            ds_html_text(p->f, own);
            between = "; ";
        }
    }
    if (between[0] == '\0') {
        fputs("an unrecorded machine", p->f);
    }
}

/* Dates of the first and last run, and their machines. */
static void put_origin(page *p)
{
    const ds_run_results *all = &p->r->results;
    const char *first = NULL, *last = NULL;
    for (size_t i = 0; i < all->count; i++) {
        const char *day = ds_result_counts(&all->item[i]) ? all->item[i].created : NULL;
        first = day != NULL && (first == NULL || strcmp(day, first) < 0) ? day : first;
        last = day != NULL && (last == NULL || strcmp(day, last) > 0) ? day : last;
    }
    if (ds_report_records(all) == 0) {
        return;
    }
    fputs("<p class=s>Runs ", p->f);
    if (first != NULL) { /* YYYY-MM-DD of an ISO time */
        fprintf(p->f, "of %.10s", first);
        fprintf(p->f, strncmp(first, last, 10) != 0 ? " to %.10s" : "", last);
    }
    fputs(" on ", p->f);
    put_machines(p);
    fputs(".", p->f);
    const ds_result *one = NULL;
    const size_t unchecked = ds_results_unchecked(all, &one);
    if (unchecked > 0) {
        fprintf(p->f, " %zu of the %zu records have no checksums (store format 1).", unchecked,
                ds_report_records(all));
    }
    fputs("</p>\n", p->f);
}

static void put_counts(page *p)
{
    const ds_report *r = p->r;
    size_t runs = 0, open = 0;
    for (size_t i = 0; i < r->envs * r->opts; i++) {
        *(r->cell[i].unfinished ? &open : &runs) += r->cell[i].runs + r->cell[i].repeated;
    }
    fprintf(p->f, "<p>%zu finished run%s ", runs, runs == 1 ? "" : "s");
    if (open > 0) {
        fprintf(p->f, "<b>and %zu unfinished run%s</b> ", open, open == 1 ? "" : "s");
    }
    if (ds_report_rows(r) > 0) {
        fprintf(p->f, "(%zu of them rows of <a href=\"#tables\">tables</a>) ", ds_report_rows(r));
    }
    fprintf(p->f, "of %zu optimizer%s on %zu environment%s. The others are compared with <b>", r->opts,
            r->opts == 1 ? "" : "s", r->envs, r->envs == 1 ? "" : "s");
    ds_html_text(p->f, r->opt[r->reference].name);
    fputs(p->origin->reference ? "</b> (--reference).</p>\n"
                               : "</b>: without --reference the first of boleap, rand, cmaes that ran, else "
                                 "the first by name.</p>\n",
          p->f);
}

static void put_head(page *p)
{
    const ds_report *r = p->r;
    char *name = name_of(p->origin->first);
    fputs("<!DOCTYPE html>\n<html lang=en><head><meta charset=utf-8><meta name=viewport "
          "content=\"width=device-width,initial-scale=1\"><meta name=color-scheme content=\"light "
          "dark\">",
          p->f);
    ds_page_policy(p->f, scripts);
    fputs("<title>", p->f);
    ds_html_text(p->f, name != NULL ? name : "runs");
    fprintf(p->f, ": %zu optimizer%s on %zu environment%s &ndash; diffsim report</title><style>%s%s</style>",
            r->opts, r->opts == 1 ? "" : "s", r->envs, r->envs == 1 ? "" : "s", style, media_style);
    ds_page_style(p->f, ds_page_figure_css);
    fputs("</head><body>\n<a class=k href=\"#overview\">To the overview</a>\n<header><h1>", p->f);
    ds_html_text(p->f, name != NULL ? name : "runs");
    fputs(": optimizers on differentiable simulations</h1>\n", p->f);
    free(name);
    put_counts(p);
    put_origin(p);
    fputs("</header>\n<main>\n<h2 id=overview class=f>Overview</h2>\n", p->f);
    ds_report_put_overview(p->f, r);
    ds_report_put_power(p->f, r);
    fputs("<p>Made with</p>\n<pre>", p->f);
    ds_html_text(p->f, p->origin->command);
    fputs("</pre>\n<p class=s>All numbers as tables: <a href=\"runs.csv\">runs.csv</a> (every run), <a "
          "href=\"cells.csv\">cells.csv</a> (every optimizer on every environment), <a "
          "href=\"summary.csv\">summary.csv</a> (over all environments)",
          p->f);
    fputs(p->origin->metrics ? ", <a href=\"metrics.csv\">metrics.csv</a> (of the best episode of every "
                               "run), <a href=\"metric_cells.csv\">metric_cells.csv</a> (of every optimizer "
                               "on every environment).</p>\n"
                             : ".</p>\n",
          p->f);
    fputs("<nav aria-label=\"contents\">", p->f);
    ds_html_link(p->f, "#all", "All environments");
    for (size_t i = 0; i < r->envs; i++) {
        char to[32];
        snprintf(to, sizeof to, "#env%zu", i + 1);
        ds_html_link(p->f, to, r->env[i].name);
    }
    if (ds_report_rows(r) > 0) {
        ds_html_link(p->f, "#tables", "Runs of tables");
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
    fputs("<h2 id=all class=f>All environments</h2>\n", p->f);
    ds_report_put_overall(p->f, p->r);
    put_figure(p, &(figure){DS_FIGURE_SCORES, SIZE_MAX, 0, "Scores over all environments"});
    put_figure(
        p, &(figure){DS_FIGURE_TARGETS, SIZE_MAX, DS_ALONG_EVALUATIONS, "Data profile against evaluations"});
    put_figure(p, &(figure){DS_FIGURE_TARGETS, SIZE_MAX, DS_ALONG_STEPS,
                            "Data profile against simulation steps, forward and backward"});
    put_figure(p, &(figure){DS_FIGURE_PROFILE, SIZE_MAX, 0, "Performance profile"});
}

/* ---- one environment ---- */

/* If it was written. */
static void put_episodes(page *p, size_t i)
{
    char *path = ds_report_episodes_path(p->r, i, p->folder);
    if (path != NULL && !p->origin->page_only && access(path, R_OK) == 0) {
        fputs("<p>", p->f);
        ds_html_link(p->f, path + strlen(p->folder) + 1,
                     "Play the best episodes of the optimizers, side by side");
        fputs(p->r->env[i].rows > 0 ? ", for runs with a record.</p>\n" : ".</p>\n", p->f);
    }
    free(path);
}

/* For a table row also its recorded folder. */
static void put_place(page *p, const ds_result *run)
{
    ds_html_text(p->f, ds_result_where(run));
    if (run->table != NULL && run->folder[0] != '\0') {
        fputs(" (", p->f);
        ds_html_text(p->f, run->folder);
        fputs(")", p->f);
    }
}

static void put_best_caption(page *p, const ds_report_env *env, int shown)
{
    const ds_result *best = env->best_run, *record = env->best_record;
    fputs("<figcaption>", p->f);
    if (record == best) {
        fputs(shown ? "The best episode. B" : "B", p->f);
    } else if (record != NULL) {
        fputs(shown ? "The best episode of the runs with a record, of " : "Best of the runs with a record: ",
              p->f);
        ds_html_text(p->f, record->folder);
        fputs(", loss ", p->f);
        ds_html_number(p->f, record->best_loss, 8);
        fputs(". B", p->f);
    } else {
        fputs("B", p->f);
    }
    fputs("est run: ", p->f);
    put_place(p, best);
    fputs("</figcaption>", p->f);
}

static void put_best_run(page *p, size_t i)
{
    const ds_report_env *env = &p->r->env[i];
    const ds_result *record = env->best_record;
    char *path = record != NULL ? ds_folder_path(record->folder, "best.png") : NULL;
    char *made = record != NULL ? ds_report_picture_path(p->r, i, p->folder) : NULL;
    char about[200];
    snprintf(about, sizeof about, "%.120s: the best episode%s", env->name,
             record == env->best_run ? "" : " of the runs with a record");
    fputs("<figure>", p->f);
    int shown =
        (path != NULL && ds_html_png(p->f, path, about)) || (made != NULL && ds_html_png(p->f, made, about));
    put_best_caption(p, env, shown);
    fputs("</figure>\n", p->f);
    put_episodes(p, i);
    if (record != NULL) {
        ds_report_point(p->f, record, record == env->best_run ? "" : " of the runs with a record");
    }
    free(path);
    free(made);
}

/* Unfinished runs and their progress. */
static void put_unfinished(page *p, size_t i)
{
    const char *between = "";
    const uint64_t common = p->r->env[i].common;
    if (common == 0) {
        return;
    }
    fprintf(p->f,
            "<p class=m><b>Not all runs have finished.</b> All are compared after %" PRIu64
            " evaluations, which every run has made. Unfinished: ",
            common);
    for (size_t k = 0; k < p->r->opts; k++) {
        const ds_report_cell *c = ds_report_at(p->r, i, p->r->order[k]);
        for (size_t j = 0; c->unfinished && j < c->runs; j++) {
            const ds_result *run = c->run[j].result;
            fputs(between, p->f);
            ds_html_text(p->f, run->opt);
            fprintf(p->f, " seed %" PRIu64 ": %" PRIu64 " of %" PRIu64, run->seed, run->evaluations,
                    run->budget);
            between = ", ";
        }
    }
    fputs(".</p>\n", p->f);
}

static void put_env(page *p, size_t i)
{
    static const char *const zero[] = {[DS_ZERO_RANDOM] = "mean of random search",
                                       [DS_ZERO_WORST_MEAN] = "worst mean (there is no random search)",
                                       [DS_ZERO_WORST_RUN] = "worst loss of a run (no optimizer has a mean)"};
    const ds_report_env *env = &p->r->env[i];
    fprintf(p->f, "<h2 id=env%zu>", i + 1);
    ds_html_text(p->f, env->name);
    fprintf(p->f, "</h2>\n<p>%" PRIu64, env->least_n);
    if (env->least_n < env->most_n) {
        fprintf(p->f, " to %" PRIu64, env->most_n);
    }
    fprintf(p->f, " variable%s. ", env->most_n == 1 ? "" : "s");
    if (env->budget > 0) {
        fprintf(p->f, "%" PRIu64 " evaluations per run. ", env->budget);
    } else {
        fputs("<b>The runs have different budgets.</b> ", p->f);
    }
    if (!isfinite(env->best)) {
        fputs("<b>No run found a valid loss.</b></p>\n", p->f);
        put_unfinished(p, i);
        p->rc = p->rc != 0 ? p->rc : ds_report_put_tables(p->f, p->r, i, p->e);
        return;
    }
    if (env->recommended) {
        fputs("<b>The environment is noisy.</b> The loss of a run is the mean loss of its recommended point "
              "over fixed noise keys, which are the same for all runs. Curves show the lowest loss so far, "
              "which is the luckiest draw. ",
              p->f);
    }
    fputs("Best loss known here (score 1): ", p->f);
    ds_html_number(p->f, env->best, 8);
    fprintf(p->f, "; %s (score 0): ", zero[env->zero]);
    ds_html_number(p->f, env->random, 5);
    fputs(".</p>\n", p->f);
    put_unfinished(p, i);
    p->rc = p->rc != 0 ? p->rc : ds_report_put_tables(p->f, p->r, i, p->e);
    put_figure(p, &(figure){DS_FIGURE_BARS, i, 0, "Best loss after the budget"});
    put_figure(p,
               &(figure){DS_FIGURE_CURVES, i, DS_ALONG_EVALUATIONS, "Best loss so far against evaluations"});
    put_figure(p, &(figure){DS_FIGURE_CURVES, i, DS_ALONG_STEPS,
                            "Best loss so far against simulation steps, forward and backward"});
    put_best_run(p, i);
    ds_report_progress(p->f, p->r, i);
}

/* ---- ends ---- */

static void put_open(page *p)
{
    const ds_report *r = p->r;
    size_t done = 0; /* of optimizers that lack pooled variants, or of tables */
    if (r->open_count == 0) {
        return;
    }
    for (size_t i = 0; i < r->open_count; i++) {
        done += ds_result_is_done(r->open[i]) && !r->open[i]->damaged;
    }
    fprintf(p->f,
            done > 0
                ? "<h2 id=open>Left out: %zu run%s that did not finish or do not compare</h2>\n<p class=s>An "
                  "interrupted run counts if its optimizer has no finished run on the environment.</p>\n"
                : "<h2 id=open>Left out: %zu run%s that did not finish</h2>\n<p class=s>An interrupted run "
                  "counts if its optimizer has no finished run on the environment.</p>\n",
            r->open_count, r->open_count == 1 ? "" : "s");
    ds_html_table(p->f, "t", "runs that are left out", "");
    fputs("<thead><tr><th scope=col>folder<th scope=col>evaluations<th scope=col>why</tr></thead>\n", p->f);
    for (size_t i = 0; i < r->open_count; i++) {
        const ds_result *run = r->open[i];
        fputs("<tr>", p->f);
        ds_html_element(p->f, "td", ds_result_where(run));
        if (run->budget > 0 && !run->damaged && run->error == NULL && run->table == NULL) {
            fprintf(p->f, "<td>unfinished: %" PRIu64 " of %" PRIu64 "</td>", run->evaluations, run->budget);
        } else {
            ds_html_count_cell(p->f, run->evaluations);
        }
        ds_html_element(p->f, "td", ds_result_open_reason(run));
        fputs("</tr>\n", p->f);
    }
    ds_html_table_end(p->f);
}

static void put_columns(page *p)
{
    static const char *const about[][2] = {
        {"mean, median, quartiles, best, worst", "of the best losses of an optimizer's runs. A run without a "
                                                 "valid loss counts as infinite: \"none\"."},
        {"95 % of the mean",
         "interval of the mean by the bias-corrected and accelerated bootstrap (Efron 1987), 10000 "
         "resamples, with levels expanded for few runs (Hesterberg 2015). It stays within the range of the "
         "runs' losses. A nominal 90 % interval contains the true mean in about 3 of 4 cases with 3 runs, "
         "and in 8 to 9 of 10 with 10 runs. There is none for a single run."},
        {"A12", "probability that a run of the optimizer ends lower than a run of the reference; ties count "
                "half. Above 0.5 the optimizer is ahead. Its interval (Newcombe 2006, method 5) does not "
                "shrink to a point when all runs of one are below all runs of the other."},
        {"p, p (Holm)",
         "two-sided Mann-Whitney test against the reference, exact up to 200 values; then corrected by Holm "
         "for the number of optimizers on the environment. Better or worse: p (Holm) below 0.05. Too few "
         "runs: p (Holm) cannot fall below 0.05 with this number of runs."},
        {"score",
         "(zero - loss) / (zero - best): zero is the mean of random search, or without it the worst mean; 1 "
         "is the best loss that any run found; 0 for a run without a valid loss. Over environments: "
         "interquartile mean over all runs, 95 % by the stratified bootstrap, 50000 resamples."},
        {"mean rank", "of the mean losses on each environment; 1 is best."},
        {"beats reference", "mean of A12 over environments; its interval combines those of the environments "
                            "(Zou and Donner 2008)."},
        {"over all: p, p (Holm)", "is \"beats reference\" different from one half? Mann-Whitney test within "
                                  "the environments, combined (van Elteren 1960); exact except for large "
                                  "numbers of runs; corrected for the number of optimizers."},
        {"Friedman's test, critical difference",
         "as recommended by Demsar (2006): ranks of the mean losses on the environments on which all ran; p "
         "from 99999 permutations, which also holds for few environments."},
        {"better on, worse on",
         "number of environments with p (Holm) below 0.05. Alone: p corrected for the number of environments "
         "only, as if no other optimizer were compared. Use it for one comparison that was planned in "
         "advance, such as a new method with an old one; for a pair chosen after looking at the results it "
         "claims too much."},
        {"area",
         "area under the best score so far, 1 is best: over evaluations up to the budget, and over "
         "simulation steps up to the longest run on the environment. A run that ended keeps its score."},
        {"expected until the score is ...", "cost of all runs until they reached the score or ended, per run "
                                            "that reached it (ERT); \"none\" if no run did."},
        {"simulation steps",
         "steps forward and backward; an evaluation with a gradient costs two to five times as many "
         "as one without."},
        {"data profile", "share of (environment, target, run) reached against cost per variable; 51 targets "
                         "as in COCO, without those that no run reached."},
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
    ds_report_put_sources(p->f, p->r, p->origin->any_version);
    put_open(p);
    put_columns(p);
    ds_report_put_versions(p->f, p->r, p->origin->any_version);
    ds_report_put_settings(p->f, p->r);
    fputs("</main>\n", p->f);
    ds_page_scripts(p->f, scripts);
    fputs("</body></html>\n", p->f);
}

typedef int write_table(const ds_report *r, const char *path, ds_error *e);

/* Writes a table if wanted, else removes the one of an earlier report. */
static int write_or_remove(const ds_report *r, const char *folder, const char *name, write_table *write,
                           int wanted, ds_error *e)
{
    char *path = ds_folder_path(folder, name);
    int rc = path == NULL ? ds_no_memory(e) : 0;
    if (rc == 0 && wanted) {
        rc = write(r, path, e);
    } else if (rc == 0 && unlink(path) != 0 && errno != ENOENT) {
        rc = ds_fail(e, DS_EXIT_IO, "%s: cannot be removed: %s", path, strerror(errno));
    }
    free(path);
    return rc;
}

static int write_tables(const ds_report *r, const char *folder, int metrics, ds_error *e)
{
    const struct {
        const char *name;
        write_table *write;
        int wanted;
    } table[] = {{"runs.csv", ds_report_runs_csv, 1},
                 {"cells.csv", ds_report_cells_csv, 1},
                 {"summary.csv", ds_report_summary_csv, 1},
                 {"metrics.csv", ds_report_metrics_csv, metrics},
                 {"metric_cells.csv", ds_report_metric_cells_csv, metrics}};
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < sizeof table / sizeof *table; i++) {
        rc = write_or_remove(r, folder, table[i].name, table[i].write, table[i].wanted, e);
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
    p.rc = p.rc != 0 ? p.rc : ds_folder_make_below(folder, figures, e);
    p.rc = p.rc != 0 ? p.rc : write_tables(r, folder, origin->metrics, e);
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
