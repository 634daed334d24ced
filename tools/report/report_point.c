/* SPDX-License-Identifier: Apache-2.0 */
/* report_point.c - the best point of a run, and what optimizers reported, in the page of a report. */
#include "config.h"

#include "page/page.h"
#include "report/report.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 50 /* largest number of table rows */ };

static void put_table(FILE *f, const char *env, const char *of, const ds_row *row,
                      const ds_named_variable *variables)
{
    fprintf(f, "<details><summary>The best point%s: evaluation %" PRIu64, of, row->id);
    fputs("</summary>", f);
    ds_html_table(f, "", "the best point", env);
    fputs("<tr><th scope=col>variable<th scope=col>value<th scope=col>unit<th scope=col>group</tr>\n", f);
    for (uint64_t i = 0; i < row->n && i < ROWS; i++) {
        char room[24];
        fputs("<tr>", f);
        ds_html_element(f, "td", ds_variable_name(variables, i, room));
        ds_html_number_cell(f, row->x[i], 8);
        ds_html_element(f, "td", ds_variable_unit(variables, i));
        ds_html_element(f, "td", variables != NULL ? variables[i].group : "");
        fputs("</tr>\n", f);
    }
    ds_html_table_end(f);
    if (row->n > ROWS) {
        fprintf(f, "<p>and %" PRIu64 " more; dshost export writes all.</p>", row->n - ROWS);
    }
    fputs("</details>\n", f);
}

void ds_report_point(FILE *f, const ds_result *run, const char *of)
{
    ds_store *store = NULL;
    ds_cursor *cursor = NULL;
    ds_named_variable *variables = NULL;
    uint64_t named = 0;
    ds_row row;
    ds_error e = {0, ""};
    int rc = run->best_id == 0 ? DS_EXIT_IO : ds_result_store(run->folder, &store, &e);
    rc = rc != 0 ? rc : ds_store_get_variables(store, &variables, &named, &e);
    rc = rc != 0 ? rc : ds_cursor_open(store, run->best_id, &cursor, &e);
    if (rc == 0 && ds_cursor_next(cursor, &row, &e) == 1) {
        put_table(f, run->env, of, &row, named == row.n ? variables : NULL);
    }
    ds_cursor_close(cursor);
    free(variables);
    ds_store_close(store, NULL);
}

/* ---- what optimizers reported ---- */

enum { SCALARS = 16, POINTS = 80 /* points per line */ };

/* The values of one name, thinned to every `stride`-th. */
typedef struct series {
    char name[DS_MAX_NAME + 1];
    uint64_t id[2 * POINTS], seen, stride;
    double value[2 * POINTS], first, last, least, most;
    size_t count;
} series;

typedef struct all_series {
    series item[SCALARS];
    size_t count;
} all_series;

static void add_value(series *s, uint64_t id, double v)
{
    if (!isfinite(v)) {
        return;
    }
    s->first = s->seen == 0 ? v : s->first;
    s->least = s->seen == 0 ? v : fmin(s->least, v);
    s->most = s->seen == 0 ? v : fmax(s->most, v);
    s->last = v;
    if (s->seen++ % s->stride != 0) {
        return;
    }
    if (s->count == 2 * POINTS) {
        for (s->count = 0; s->count < POINTS; s->count++) {
            s->id[s->count] = s->id[2 * s->count];
            s->value[s->count] = s->value[2 * s->count];
        }
        s->stride *= 2;
    }
    s->id[s->count] = id;
    s->value[s->count++] = v;
}

static int add_report(void *ctx, uint64_t id, const ds_row_progress *p)
{
    all_series *all = ctx;
    char name[DS_MAX_NAME + 1];
    const char *at = p->names;
    for (uint64_t i = 0; i < p->count && (at = ds_progress_name(at, name)) != NULL; i++) {
        size_t k = 0;
        while (k < all->count && strcmp(all->item[k].name, name) != 0) {
            k++;
        }
        if (k == SCALARS) {
            continue;
        }
        if (k == all->count) {
            all->item[k] = (series){.stride = 1};
            memcpy(all->item[all->count++].name, name, sizeof name);
        }
        add_value(&all->item[k], id, p->value[i]);
    }
    return 0;
}

/* A line over the run, logarithmic if the values span decades. */
static void put_line(FILE *f, const ds_result *run, const series *s)
{
    const uint64_t evaluations = run->evaluations;
    const int log_scale = s->least > 0 && s->most > 30 * s->least;
    const double low = log_scale ? log(s->least) : s->least, high = log_scale ? log(s->most) : s->most;
    fputs("<td><svg viewBox=\"0 0 160 30\" width=160 height=30 role=img aria-label=\"", f);
    ds_html_text(f, run->opt);
    fputs(" on ", f);
    ds_html_text(f, run->env);
    fputs(": ", f);
    ds_html_text(f, s->name);
    fputs(" over the run\"><polyline fill=none stroke=currentColor points=\"", f);
    for (size_t i = 0; i < s->count; i++) {
        const double v = log_scale ? log(s->value[i]) : s->value[i],
                     share = high > low ? (v - low) / (high - low) : 0;
        fprintf(f, "%.1f,%.1f ", 160 * (double)s->id[i] / (double)(evaluations > 0 ? evaluations : 1),
                28 - 26 * share);
    }
    fprintf(f, "\"/></svg>%s</td>", log_scale ? " (logarithmic)" : "");
}

static void put_series(FILE *f, const ds_result *run, const series *s)
{
    fputs("<tr>", f);
    ds_html_element(f, "td", run->opt);
    ds_html_element(f, "td", s->name);
    ds_html_number_cell(f, s->first, 4);
    ds_html_number_cell(f, s->least, 4);
    ds_html_number_cell(f, s->most, 4);
    ds_html_number_cell(f, s->last, 4);
    put_line(f, run, s);
    fputs("</tr>\n", f);
}

/* The run of a cell in a folder with the lowest loss, or NULL. */
static const ds_result *best_of(const ds_report_cell *c)
{
    const ds_result *best = NULL;
    for (size_t j = 0; j < c->runs; j++) {
        const ds_result *run = c->run[j].result;
        if (run->table == NULL && (best == NULL || run->best_loss < best->best_loss)) {
            best = run;
        }
    }
    return best;
}

void ds_report_progress(FILE *f, const ds_report *r, size_t env)
{
    all_series *all = malloc(sizeof *all);
    int begun = 0;
    for (size_t k = 0; all != NULL && k < r->opts; k++) {
        const ds_result *run = best_of(ds_report_at(r, env, r->order[k]));
        ds_store *store = NULL;
        ds_error e = {0, ""};
        all->count = 0;
        if (run != NULL && ds_result_store(run->folder, &store, &e) == 0) {
            (void)ds_store_scan_progress(store, add_report, all,
                                         &e); /* for a damaged record, shows what could be read */
        }
        ds_store_close(store, NULL);
        for (size_t i = 0; i < all->count; i++) {
            if (!begun) {
                fputs("<details><summary>What the optimizers reported in their best runs</summary>", f);
                ds_html_table(f, "", "what the optimizers reported", r->env[env].name);
                fputs("<tr><th scope=col>optimizer<th scope=col>scalar<th scope=col>first<th "
                      "scope=col>least<th scope=col>most<th scope=col>last<th scope=col>over the run</tr>\n",
                      f);
                begun = 1;
            }
            put_series(f, run, &all->item[i]);
        }
    }
    if (begun) {
        ds_html_table_end(f);
        fputs("</details>\n", f);
    }
    free(all);
}
