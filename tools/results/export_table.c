/* SPDX-License-Identifier: Apache-2.0 */
/* export_table.c - one row per evaluation: CSV, JSON lines, NumPy arrays. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "results/printer.h"
#include "results/export.h"
#include "results/npy_write.h"

typedef void row_printer(ds_printer *p, const ds_export_run *r, const ds_row *row, double best, int times);

/* Prints all rows. */
static int print_rows(ds_export_run *r, ds_printer *p, row_printer *print, int times, ds_error *e)
{
    ds_cursor *c = NULL;
    ds_row row;
    double best = (double)INFINITY;
    int step = 0;
    int rc = ds_cursor_open(r->store, 1, &c, e);
    while (rc == 0 && (step = ds_cursor_next(c, &row, e)) == 1) {
        best = row.answer.loss < best ? row.answer.loss : best;
        print(p, r, &row, best, times);
    }
    ds_cursor_close(c);
    return rc != 0 ? rc : step < 0 ? e->status : 0;
}

/* ---- CSV (RFC 4180; empty = no value) ---- */

static void csv_real(ds_printer *p, double v)
{
    if (isfinite(v)) {
        ds_print(p, ",%.17g", v);
    } else {
        ds_print(p, ",");
    }
}

static void csv_text(ds_printer *p, const char *text)
{
    if (text[strcspn(text, ",\"\r\n")] == '\0') {
        ds_print(p, ",%s", text);
        return;
    }
    ds_print(p, ",\"");
    for (; *text != '\0'; text++) {
        ds_print(p, *text == '"' ? "\"\"" : "%c", *text);
    }
    ds_print(p, "\"");
}

static void csv_row(ds_printer *p, const ds_export_run *r, const ds_row *row, double best, int times)
{
    ds_print(p, "%llu", (unsigned long long)row->id);
    csv_real(p, row->answer.loss);
    csv_real(p, best);
    ds_print(p, ",%s,%s", ds_outcome_name(row->answer.outcome), ds_gradient_name(row->answer.grad_kind));
    csv_text(p, row->tag);
    ds_print(p, ",%llu,%llu,%lld", (unsigned long long)row->group, (unsigned long long)row->answer.cost_steps,
             (long long)row->answer.bad_step);
    csv_text(p, row->answer.message);
    if (times) {
        csv_real(p, row->answer.wall_s);
        ds_print(p, ",%.6f", row->at);
    }
    for (uint64_t i = 0; i < r->n; i++) {
        csv_real(p, row->x[i]);
    }
    for (uint64_t i = 0; i < r->n && r->gradients; i++) {
        csv_real(p, row->grad != NULL ? row->grad[i] : (double)NAN);
    }
    ds_print(p, "\n");
}

int ds_export_csv(ds_export_run *r, const char *path, int times, ds_error *e)
{
    ds_printer *p = NULL;
    int rc = ds_printer_open(path, &p, e);
    if (rc != 0) {
        return rc;
    }
    ds_print(p, "id,loss,best_loss,outcome,gradient_kind,tag,group,cost_steps,bad_step,message%s",
             times ? ",wall_s,at" : "");
    for (uint64_t i = 0; i < r->n; i++) {
        ds_print(p, ",x%llu", (unsigned long long)i);
    }
    for (uint64_t i = 0; i < r->n && r->gradients; i++) {
        ds_print(p, ",g%llu", (unsigned long long)i);
    }
    ds_print(p, "\n");
    return ds_printer_close(p, print_rows(r, p, csv_row, times, e), e);
}

/* ---- JSON lines ---- */

static void json_real_text(ds_printer *p, double v)
{
    if (isfinite(v)) {
        ds_print(p, "%.17g", v);
    } else {
        ds_print(p, "null");
    }
}

static void json_reals_text(ds_printer *p, const double *v, uint64_t n)
{
    ds_print(p, "[");
    for (uint64_t i = 0; i < n; i++) {
        ds_print(p, i > 0 ? "," : "");
        json_real_text(p, v[i]);
    }
    ds_print(p, "]");
}

/* Recorded texts are printable ASCII. */
static void json_text(ds_printer *p, const char *key, const char *text)
{
    ds_print(p, ",\"%s\":", key);
    if (text[0] == '\0') {
        ds_print(p, "null");
        return;
    }
    ds_print(p, "\"");
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\') {
            ds_print(p, "\\%c", *text);
        } else {
            ds_print(p, "%c", *text >= ' ' && *text <= '~' ? *text : '?');
        }
    }
    ds_print(p, "\"");
}

static void json_row(ds_printer *p, const ds_export_run *r, const ds_row *row, double best, int times)
{
    ds_print(p, "{\"id\":%llu,\"loss\":", (unsigned long long)row->id);
    json_real_text(p, row->answer.loss);
    ds_print(p, ",\"best_loss\":");
    json_real_text(p, best);
    ds_print(p, ",\"outcome\":\"%s\",\"gradient_kind\":\"%s\"", ds_outcome_name(row->answer.outcome),
             ds_gradient_name(row->answer.grad_kind));
    json_text(p, "tag", row->tag);
    ds_print(p, ",\"group\":%llu,\"cost_steps\":%llu,\"bad_step\":%lld", (unsigned long long)row->group,
             (unsigned long long)row->answer.cost_steps, (long long)row->answer.bad_step);
    json_text(p, "message", row->answer.message);
    if (times) {
        ds_print(p, ",\"wall_s\":");
        json_real_text(p, row->answer.wall_s);
        ds_print(p, ",\"at\":%.6f", row->at);
    }
    ds_print(p, ",\"x\":");
    json_reals_text(p, row->x, r->n);
    if (row->grad != NULL) {
        ds_print(p, ",\"gradient\":");
        json_reals_text(p, row->grad, r->n);
    } else {
        ds_print(p, ",\"gradient\":null");
    }
    ds_print(p, "}\n");
}

int ds_export_jsonl(ds_export_run *r, const char *path, int times, ds_error *e)
{
    ds_printer *p = NULL;
    int rc = ds_printer_open(path, &p, e);
    return rc != 0 ? rc : ds_printer_close(p, print_rows(r, p, json_row, times, e), e);
}

/* ---- NumPy ---- */

typedef struct columns {
    double *x, *grad, *loss, *best, *wall, *at;
    int32_t *outcome, *kind;
    uint64_t *group, *cost;
    int64_t *bad;
} columns;

static void free_columns(columns *c)
{
    free(c->x);
    free(c->grad);
    free(c->loss);
    free(c->outcome);
    free(c->group);
    free(c->bad);
}

static int make_columns(const ds_export_run *r, columns *c, ds_error *e)
{
    size_t count = r->count > 0 ? r->count : 1;
    memset(c, 0, sizeof(*c));
    c->x = malloc(count * r->n * sizeof(double));
    c->grad = r->gradients ? malloc(count * r->n * sizeof(double)) : NULL;
    c->loss = malloc(4 * count * sizeof(double));
    c->outcome = malloc(2 * count * sizeof(int32_t));
    c->group = malloc(2 * count * sizeof(uint64_t));
    c->bad = malloc(count * sizeof(int64_t));
    if (c->x == NULL || (r->gradients && c->grad == NULL) || c->loss == NULL || c->outcome == NULL ||
        c->group == NULL || c->bad == NULL) {
        return ds_fail(e, DS_EXIT_MEMORY, "out of memory for %llu evaluations", (unsigned long long)r->count);
    }
    c->best = c->loss + count;
    c->wall = c->best + count;
    c->at = c->wall + count;
    c->kind = c->outcome + count;
    c->cost = c->group + count;
    return 0;
}

static int fill_columns(ds_export_run *r, columns *c, ds_error *e)
{
    ds_cursor *cursor = NULL;
    ds_row row;
    double best = (double)INFINITY;
    int step = 0;
    uint64_t k = 0;
    int rc = ds_cursor_open(r->store, 1, &cursor, e);
    for (; rc == 0 && k < r->count && (step = ds_cursor_next(cursor, &row, e)) == 1; k++) {
        best = row.answer.loss < best ? row.answer.loss : best;
        memcpy(c->x + k * r->n, row.x, r->n * sizeof(double));
        for (uint64_t i = 0; i < r->n && c->grad != NULL; i++) {
            c->grad[k * r->n + i] = row.grad != NULL ? row.grad[i] : (double)NAN;
        }
        c->loss[k] = row.answer.loss;
        c->best[k] = best;
        c->wall[k] = row.answer.wall_s;
        c->at[k] = row.at;
        c->outcome[k] = (int32_t)row.answer.outcome;
        c->kind[k] = (int32_t)row.answer.grad_kind;
        c->group[k] = row.group;
        c->cost[k] = row.answer.cost_steps;
        c->bad[k] = row.answer.bad_step;
    }
    ds_cursor_close(cursor);
    return rc != 0 ? rc : step < 0 ? e->status : 0;
}

int ds_export_npz(ds_export_run *r, const char *path, int times, ds_error *e)
{
    columns c;
    ds_npz *z = NULL;
    int rc = make_columns(r, &c, e);
    rc = rc != 0 ? rc : fill_columns(r, &c, e);
    rc = rc != 0 ? rc : ds_npz_open(&z, path, e);
    const uint64_t shape[2] = {r->count, r->n};
    const struct {
        const char *name;
        int type;
        uint32_t ndim;
        const void *data;
        int wanted;
    } array[] = {
        {"x", DS_NPY_F8, 2, c.x, 1},
        {"loss", DS_NPY_F8, 1, c.loss, 1},
        {"best_loss", DS_NPY_F8, 1, c.best, 1},
        {"gradient", DS_NPY_F8, 2, c.grad, r->gradients},
        {"outcome", DS_NPY_I4, 1, c.outcome, 1},
        {"gradient_kind", DS_NPY_I4, 1, c.kind, 1},
        {"group", DS_NPY_U8, 1, c.group, 1},
        {"cost_steps", DS_NPY_U8, 1, c.cost, 1},
        {"bad_step", DS_NPY_I8, 1, c.bad, 1},
        {"wall_s", DS_NPY_F8, 1, c.wall, times},
        {"at", DS_NPY_F8, 1, c.at, times},
    };
    for (size_t i = 0; i < sizeof(array) / sizeof(array[0]) && rc == 0; i++) {
        if (array[i].wanted) {
            rc = ds_npz_add(z, array[i].name, array[i].type, array[i].ndim, shape, array[i].data, e);
        }
    }
    if (z != NULL && rc == 0) {
        rc = ds_npz_close(z, e);
    } else {
        ds_npz_abort(z);
    }
    free_columns(&c);
    return rc;
}
