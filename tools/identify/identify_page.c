/* SPDX-License-Identifier: Apache-2.0 */
/* identify_page.c - identify.html: estimates, figures, minima and certificate on one page. */
#include "config.h"

#include "identify/identify.h"

#include "base/file.h"
#include "page/page.h"
#include "store/run_folder.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    const size_t shown = p->n <= 20 ? p->n : 0;
    const char *all[sizeof word / sizeof *word + 20];
    memcpy(all, word, sizeof word);
    for (size_t k = 0; k < shown; k++) {
        all[sizeof word / sizeof *word + k] = p->c->parameter[p->parameter[k]].name;
    }
    ds_html_table(f, "", "Minima", of);
    head(f, all, sizeof word / sizeof *word + shown);
    for (size_t i = 0; i < v->found.count; i++) {
        const ds_identify_minimum *m = &v->found.minimum[i];
        fputs("<tr>", f);
        ds_html_count_cell(f, i + 1);
        ds_html_number_cell(f, m->loss, 5);
        ds_html_number_cell(f, m->fit, 4);
        ds_html_number_cell(f, m->held_out, 4);
        ds_html_element(f, "td", m->within ? "yes" : "no");
        ds_html_count_cell(f, m->found);
        for (size_t k = 0; k < shown; k++) {
            ds_html_number_cell(f, ds_identify_value(&p->c->parameter[p->parameter[k]], m->u[k]), 5);
        }
        fputs("</tr>\n", f);
    }
    fputs("</tbody>", f);
    ds_html_table_end(f);
}

static void put_errors(ds_identify_problem *p, const ds_identify_result *v, const char *of, FILE *f,
                       ds_error *e)
{
    static const char *const word[] = {"recording", "signal", "fit rmse", "held-out rmse", "unit"};
    ds_html_table(f, "", "Errors of each signal", of);
    head(f, word, sizeof word / sizeof *word);
    for (size_t k = 0; k < p->recordings; k++) {
        const ds_identify_recording *q = &p->c->recording[p->recording[k]];
        const uint64_t columns = ds_identify_columns(q);
        for (uint64_t s = 0; s < columns; s++) {
            ds_identify_errors x;
            char name[DS_IDENTIFY_NAME];
            if (ds_identify_errors_of(p, k, v->u, (int64_t)s, &x, e) != 0) {
                continue;
            }
            ds_identify_column_name(q, s, name);
            fputs("<tr>", f);
            ds_html_element(f, "td", q->name);
            ds_html_element(f, "td", name);
            ds_html_number_cell(f, ds_identify_rmse(&x, 0), 4);
            ds_html_number_cell(f, ds_identify_rmse(&x, 1), 4);
            ds_html_element(f, "td", q->signals > 0 ? q->unit[q->env->info.n + 3 * s + 1] : "");
            fputs("</tr>\n", f);
        }
    }
    fputs("</tbody>", f);
    ds_html_table_end(f);
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

static void put_certificate(const ds_identify_problem *p, const ds_identify_result *v, FILE *f)
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
        char judgement[DS_IDENTIFY_LINE];
        const double share = (double)c->covered / (double)c->intervals;
        fprintf(f, "Their intervals cover the truth in %zu of %zu cases (%.1f %%)", c->covered, c->intervals,
                100 * share);
        ds_identify_judge_coverage(c, p->c->options.level, judgement);
        ds_html_text(f, judgement);
        fputs(".", f);
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
        rc = ds_identify_figures(r, p, i, v, f, e);
    }
    put_errors(p, v, of, f, e);
    fputs("<h3>Residuals</h3>\n", f);
    put_residuals(v, f);
    put_correlation(p, &v->determined, of, f);
    put_minima(p, v, of, f);
    fputs("<h3>Recovery certificate</h3>\n", f);
    put_certificate(p, v, f);
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
