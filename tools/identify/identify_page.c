/* SPDX-License-Identifier: Apache-2.0 */
/* identify_page.c - identify.html: estimates, figures, minima and certificate on one page. */
#include "config.h"

#include "identify/identify.h"

#include "base/file.h"
#include "page/page.h"
#include "plot/plot_lines.h"
#include "store/run_folder.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const uint32_t colours[] = {0x0072b2, 0xd55e00, 0x009e73, 0xcc79a7};

/* ---- figures ---- */

/* Series of one recording at the estimate. */
typedef struct series {
    uint64_t rows, width;
    double *x, *residual, *recorded, *simulated; /* rows; rows x width, signal by signal */
} series;

static int make_series(ds_identify_problem *p, size_t k, const ds_identify_result *v, series *out,
                       ds_error *e)
{
    const ds_identify_recording *q = &p->c->recording[p->recording[k]];
    double sum;
    uint64_t count;
    const int rc = ds_identify_rms(p, k, v->u, 0, q->rows, &sum, &count, e); /* leaves last_r */
    *out = (series){.rows = q->rows, .width = q->width < DS_PANEL_CURVES ? q->width : DS_PANEL_CURVES};
    out->x = calloc(q->rows * (1 + 3 * out->width), sizeof *out->x);
    if (rc != 0 || out->x == NULL) {
        return rc != 0 ? rc : ds_no_memory(e);
    }
    out->residual = out->x + q->rows;
    out->recorded = out->residual + q->rows * out->width;
    out->simulated = out->recorded + q->rows * out->width;
    for (uint64_t i = 0; i < q->rows; i++) {
        out->x[i] = (double)i;
        for (uint64_t s = 0; s < out->width; s++) {
            const double r = q->last_r[i * q->width + s],
                         d = q->signals > 0 ? q->data.value[i * q->data.columns + s] : 0;
            out->residual[s * q->rows + i] = fabs(r) > 0 ? r : (double)NAN;
            out->recorded[s * q->rows + i] = d;
            out->simulated[s * q->rows + i] = isnan(d) ? (double)NAN : d + r;
        }
    }
    return 0;
}

static void put_curve(ds_panel *panel, const series *s, const double *y, size_t colour, const char *name,
                      int style)
{
    panel->curve[panel->curves++] = (ds_panel_curve){.name = name,
                                                     .x = s->x,
                                                     .y = y,
                                                     .count = s->rows,
                                                     .color = ds_color_hex(colours[colour], 1),
                                                     .style = style,
                                                     .size = style == DS_CURVE_DOTS ? 1.8 : 1.6};
}

/* Panels: recorded dots under the simulated curve of each signal, then all residuals. */
static int draw_series(const ds_identify_report *r, const ds_identify_recording *q, const series *s,
                       const char *path, ds_error *e)
{
    char title[120], subtitle[160], name[DS_PANEL_CURVES][60];
    ds_panels all = {.title = title,
                     .subtitle = subtitle,
                     .x_label = "sample",
                     .x_low = 0,
                     .x_high = (double)(s->rows > 1 ? s->rows - 1 : 1)};
    (void)r;
    snprintf(title, sizeof title, "Recording %s", q->name);
    snprintf(subtitle, sizeof subtitle, "samples 0 to %llu are fitted, the others only predicted",
             (unsigned long long)q->fitted - 1);
    for (uint64_t k = 0; q->signals > 0 && k < s->width && all.count + 1 < DS_PANELS_MAX; k++) {
        ds_panel *panel = &all.panel[all.count++];
        *panel = (ds_panel){.label = q->element[k].name, .low = NAN, .high = NAN};
        put_curve(panel, s, s->recorded + k * s->rows, 1, "recorded", DS_CURVE_DOTS);
        put_curve(panel, s, s->simulated + k * s->rows, 0, "simulated", DS_CURVE_LINE);
    }
    ds_panel *panel = &all.panel[all.count++];
    *panel = (ds_panel){.label = "residual", .low = NAN, .high = NAN};
    for (uint64_t k = 0; k < s->width; k++) {
        if (q->signals > 0) {
            snprintf(name[k], sizeof name[k], "%s", q->element[k].name);
        } else {
            snprintf(name[k], sizeof name[k], "residual %llu", (unsigned long long)k + 1);
        }
        put_curve(panel, s, s->residual + k * s->rows, k % 4, name[k], DS_CURVE_LINE);
    }
    return ds_plot_panels(NULL, path, &all, e);
}

static int put_figure(const ds_identify_report *r, ds_identify_problem *p, size_t k,
                      const ds_identify_result *v, FILE *f, ds_error *e)
{
    const ds_identify_recording *q = &p->c->recording[p->recording[k]];
    char name[DS_MAX_NAME + 12], about[DS_MAX_NAME + 40];
    series s = {0};
    snprintf(name, sizeof name, "fit-%s.svg", q->name);
    snprintf(about, sizeof about, "Fit and residuals of recording %s", q->name);
    char *path = ds_folder_path(r->folder, name);
    int rc = path == NULL ? ds_no_memory(e) : make_series(p, k, v, &s, e);
    rc = rc != 0 ? rc : draw_series(r, q, &s, path, e);
    if (rc == 0) {
        fputs("<figure><div class=o>", f);
        if (!ds_html_svg(f, path, about)) {
            ds_html_link(f, name, about);
        }
        fputs("</div><figcaption class=s>", f);
        ds_html_text(f, about);
        fputs("</figcaption></figure>\n", f);
    }
    free(s.x);
    free(path);
    return rc;
}

/* ---- tables ---- */

static void head(FILE *f, const char *const *word, size_t count)
{
    fputs("<thead><tr>", f);
    for (size_t i = 0; i < count; i++) {
        ds_html_element(f, "th", word[i]);
    }
    fputs("</tr></thead>\n<tbody>", f);
}

static void put_estimates(const ds_identify_problem *p, const ds_identify_result *v, const char *of, FILE *f)
{
    static const char *const word[] = {"parameter",   "estimate",    "from", "to",    "interval",
                                       "lower bound", "upper bound", "unit", "remark"};
    ds_html_table(f, "", "Estimates", of);
    head(f, word, sizeof word / sizeof *word);
    for (size_t i = 0; i < p->n; i++) {
        const ds_identify_parameter *x = &p->c->parameter[p->parameter[i]];
        const ds_identify_estimate *s = &v->estimate[i];
        fputs("<tr>", f);
        ds_html_element(f, "td", x->name);
        ds_html_number_cell(f, s->value, 6);
        ds_html_number_cell(f, s->low, 6);
        ds_html_number_cell(f, s->high, 6);
        ds_html_element(f, "td", s->interval);
        ds_html_number_cell(f, x->lower, 4);
        ds_html_number_cell(f, x->upper, 4);
        ds_html_element(f, "td", x->unit);
        ds_html_element(f, "td",
                        !s->known          ? "not determined"
                        : s->at_bound != 0 ? "at its bound: widen it, or the model lacks something"
                                           : "");
        fputs("</tr>\n", f);
    }
    fputs("</tbody>", f);
    ds_html_table_end(f);
}

static void put_correlation(const ds_identify_problem *p, const ds_identify_determined *d, const char *of,
                            FILE *f)
{
    if (p->n > 20) {
        return;
    }
    ds_html_table(f, "", "Correlation of the estimates", of);
    fputs("<thead><tr><th></th>", f);
    for (size_t i = 0; i < p->n; i++) {
        ds_html_element(f, "th", p->c->parameter[p->parameter[i]].name);
    }
    fputs("</tr></thead>\n<tbody>", f);
    for (size_t i = 0; i < p->n; i++) {
        fputs("<tr>", f);
        ds_html_element(f, "th", p->c->parameter[p->parameter[i]].name);
        for (size_t k = 0; k < p->n; k++) {
            ds_html_fixed_cell(f,
                               d->covariance[i * p->n + k] /
                                   sqrt(d->covariance[i * p->n + i] * d->covariance[k * p->n + k]),
                               2);
        }
        fputs("</tr>\n", f);
    }
    fputs("</tbody>", f);
    ds_html_table_end(f);
}

static void put_minima(const ds_identify_problem *p, const ds_identify_result *v, const char *of, FILE *f)
{
    static const char *const word[] = {"minimum",       "loss",         "fit rmse",
                                       "held-out rmse", "within noise", "searches"};
    ds_html_table(f, "", "Minima", of);
    head(f, word, sizeof word / sizeof *word);
    for (size_t i = 0; i < v->found.count; i++) {
        const ds_identify_minimum *m = &v->found.minimum[i];
        fputs("<tr>", f);
        ds_html_count_cell(f, i + 1);
        ds_html_number_cell(f, m->loss, 5);
        ds_html_number_cell(f, m->fit, 4);
        ds_html_number_cell(f, m->held_out, 4);
        ds_html_element(f, "td", m->within ? "yes" : "no");
        ds_html_count_cell(f, m->found);
        fputs("</tr>\n", f);
    }
    fputs("</tbody>", f);
    ds_html_table_end(f);
    (void)p;
}

static void put_residuals(const ds_identify_result *v, FILE *f)
{
    const int white = fabs(v->white) < 2.6 / sqrt((double)(v->counted > 0 ? v->counted : 1));
    fprintf(f,
            "<p>%llu residuals with a standard deviation of %.4g. Neighbours correlate by %.2f, so about "
            "%.0f of them are "
            "independent: %s Their mean is %.1f standard errors from 0%s.</p>\n",
            (unsigned long long)v->counted, v->sigma, v->white, v->effective,
            white ? "they are white."
                  : "they are not white. Something is missing in the model, or the noise is slow. Linear "
                    "intervals are "
                    "then too narrow; wider ones are used.",
            v->bias, fabs(v->bias) > 3 ? ": the fit is biased" : "");
}

static void put_certificate(const ds_identify_result *v, FILE *f)
{
    const ds_identify_recovery *c = &v->recovery;
    if (c->starts == 0) {
        fputs("<p>No recovery certificate was requested.</p>\n", f);
        return;
    }
    fprintf(f,
            "<p>The estimate was simulated %zu times with noise like that of the residuals, and identified "
            "again from "
            "random starts with the same budget. %zu of %zu searches reached a fit at least as good as the "
            "truth. ",
            c->starts, c->recovered, c->starts);
    if (c->intervals > 0) {
        const double share = (double)c->covered / (double)c->intervals;
        fprintf(f, "Their intervals cover the truth in %zu of %zu cases (%.0f %%)%s.", c->covered,
                c->intervals, 100 * share, share < 0.85 ? ": they are too narrow" : "");
    }
    fputs("</p>\n", f);
}

static int put_problem(const ds_identify_report *r, size_t k, FILE *f, ds_error *e)
{
    ds_identify_problem *p = &r->problem[k];
    const ds_identify_result *v = &r->result[k];
    const ds_identify_minimum *m = &v->found.minimum[0];
    const char *of = r->problems == 1 ? "" : p->c->recording[p->recording[0]].name;
    int rc = 0;
    if (*of != '\0') {
        ds_html_element(f, "h2", of);
    }
    fprintf(f, "<p>Fit: rmse %.4g.", m->fit);
    if (isfinite(m->held_out)) {
        fprintf(f, " Held out: rmse %.4g.", m->held_out);
    }
    fprintf(f, " %llu evaluations (", (unsigned long long)v->evaluations);
    ds_html_text(f, v->found.recipe);
    fprintf(f, "), rank %zu of %zu, condition of J'J %.2g.</p>\n", v->determined.rank, p->n,
            v->determined.condition);
    for (size_t i = 0; i < v->undetermined_count; i++) {
        fputs("<p><b>Not determined:</b> ", f);
        ds_html_text(f, v->undetermined[i]);
        fputs("</p>\n", f);
    }
    put_estimates(p, v, of, f);
    for (size_t i = 0; rc == 0 && i < p->recordings; i++) {
        rc = put_figure(r, p, i, v, f, e);
    }
    fputs("<h3>Residuals</h3>\n", f);
    put_residuals(v, f);
    put_correlation(p, &v->determined, of, f);
    put_minima(p, v, of, f);
    fputs("<h3>Recovery certificate</h3>\n", f);
    put_certificate(v, f);
    return rc;
}

int ds_identify_page(const ds_identify_report *r, const json_t *summary, ds_error *e)
{
    static const char *const *const style[] = {ds_page_page_css, ds_page_figure_css, NULL};
    static const ds_page_script script[] = {{ds_page_figure_js, ds_page_figure_js_sum}, {NULL, NULL}};
    char *path = ds_folder_path(r->folder, "identify.html"), *text = NULL, title[120];
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    int rc = path == NULL || f == NULL ? ds_no_memory(e) : 0;
    (void)summary;
    snprintf(title, sizeof title, "%.60s: identification", r->c->module->id);
    const ds_page page = {title, style, script};
    if (rc == 0) {
        ds_page_begin(f, &page);
        ds_html_element(f, "h1", title);
        fputs("<main>\n", f);
        for (size_t i = 0; i < r->c->warnings; i++) {
            fputs("<p><b>Data:</b> ", f);
            ds_html_text(f, r->c->warning[i]);
            fputs("</p>\n", f);
        }
        for (size_t k = 0; rc == 0 && k < r->problems; k++) {
            rc = put_problem(r, k, f, e);
        }
        fputs("</main>\n", f);
        ds_page_end(f, &page);
    }
    const int good = f != NULL && fclose(f) == 0;
    rc = rc != 0 ? rc : good ? ds_file_write_atomic(path, text, size, e) : ds_no_memory(e);
    free(path);
    free(text);
    return rc;
}
