/* SPDX-License-Identifier: Apache-2.0 */
/* csv.c - reads and writes CSV files (see csv.h). */
#include "config.h"

#include "results/csv.h"

#include "base/file.h"
#include "base/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int refuse(const ds_csv *c, const char *what, ds_error *e)
{
    ds_fail(e, DS_EXIT_CONFIG, "%.300s:%zu: %s", c->path, c->line, what);
    return -1;
}

void ds_csv_begin(ds_csv *c, const char *text, size_t size, const char *path)
{
    const int mark = size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0;
    c->path = path;
    c->at = text + (mark ? 3 : 0);
    c->end = text + size;
    c->line = c->next = 1;
    c->fields = c->used = 0;
}

static int put(ds_csv *c, char byte, ds_error *e)
{
    if (c->used + 1 >= sizeof c->room) { /* leaves room for the NUL */
        return refuse(c, "a line has more than 65535 bytes", e);
    }
    if (byte == '\0') {
        return refuse(c, "a zero byte: this is not text", e);
    }
    c->room[c->used++] = byte;
    return 0;
}

static int is_end_of_line(const ds_csv *c)
{
    return c->at == c->end || *c->at == '\n' || (*c->at == '\r' && (c->at + 1 == c->end || c->at[1] == '\n'));
}

/* After the opening quote. */
static int take_quoted(ds_csv *c, ds_error *e)
{
    for (;;) {
        if (c->at == c->end) {
            return refuse(c, "a quoted field is not closed", e);
        }
        const char byte = *c->at++;
        if (byte == '"' && (c->at == c->end || *c->at != '"')) {
            return is_end_of_line(c) || *c->at == ','
                       ? 0
                       : refuse(c, "text after the closing quote of a field", e);
        }
        c->at += byte == '"'; /* two quotes stand for one */
        c->next += byte == '\n';
        if (put(c, byte, e) != 0) {
            return -1;
        }
    }
}

static int take_plain(ds_csv *c, ds_error *e)
{
    while (!is_end_of_line(c) && *c->at != ',') {
        if (*c->at == '"') {
            return refuse(c, "a quote inside an unquoted field", e);
        }
        if (put(c, *c->at++, e) != 0) {
            return -1;
        }
    }
    return 0;
}

static int take_field(ds_csv *c, ds_error *e)
{
    char *field = c->room + c->used;
    if (c->fields == DS_CSV_FIELDS) {
        return refuse(c, "more than 256 fields", e);
    }
    const int quoted = c->at < c->end && *c->at == '"';
    c->at += quoted;
    if ((quoted ? take_quoted(c, e) : take_plain(c, e)) != 0) {
        return -1;
    }
    c->room[c->used++] = '\0';
    ds_text_clean(field);
    c->field[c->fields++] = field;
    return c->used < sizeof c->room ? 0 : refuse(c, "a line has more than 65535 bytes", e);
}

static int take_record(ds_csv *c, ds_error *e)
{
    c->fields = c->used = 0;
    c->line = c->next;
    for (;;) {
        if (take_field(c, e) != 0) {
            return -1;
        }
        if (c->at == c->end || *c->at != ',') {
            break;
        }
        c->at++;
    }
    c->at += c->at < c->end && *c->at == '\r';
    c->at += c->at < c->end && *c->at == '\n';
    c->next++;
    return 1;
}

int ds_csv_next(ds_csv *c, ds_error *e)
{
    while (c->at < c->end) {
        const int blank = is_end_of_line(c);
        const int got = take_record(c, e);
        if (got < 0 || !blank) {
            return got;
        }
    }
    return 0;
}

/* ---- writing ---- */

struct ds_table {
    FILE *f; /* into `text` */
    char *text;
    size_t size;
};

ds_table *ds_table_new(const char *header)
{
    ds_table *t = calloc(1, sizeof *t);
    t = t != NULL && (t->f = open_memstream(&t->text, &t->size)) != NULL ? t : (free(t), NULL);
    if (t != NULL) {
        fprintf(t->f, "%s\n", header);
    }
    return t;
}

void ds_table_free(ds_table *t)
{
    if (t != NULL) {
        if (t->f != NULL) {
            fclose(t->f);
        }
        free(t->text);
        free(t);
    }
}

static void put_text(FILE *f, const char *text)
{
    const int quoted = strpbrk(text, ",\"\r\n") != NULL;
    fputs(quoted ? "\"" : "", f);
    for (; *text != '\0'; text++) {
        fputs(*text == '"' ? "\"\"" : (char[]){*text, '\0'}, f);
    }
    fputs(quoted ? "\"" : "", f);
}

static void put_real(FILE *f, double v)
{
    if (isfinite(v)) {
        fprintf(f, "%.17g", v);
    }
}

void ds_table_row(ds_table *t, const char *kinds, ...)
{
    va_list args;
    const double *more = NULL;
    va_start(args, kinds);
    for (const char *k = kinds; *k != '\0'; k++) {
        fputs(k > kinds ? "," : "", t->f);
        if (*k == 't') {
            const char *text = va_arg(args, const char *);
            put_text(t->f, text != NULL ? text : "");
        } else if (*k == 'n') {
            fprintf(t->f, "%" PRIu64, va_arg(args, uint64_t));
        } else if (*k == 'r') {
            put_real(t->f, va_arg(args, double));
        } else {
            more = k > kinds && k[-1] == 'R' ? more + 1 : va_arg(args, const double *);
            put_real(t->f, *more);
        }
    }
    va_end(args);
    fputc('\n', t->f);
}

int ds_table_close(ds_table *t, const char *path, int rc, ds_error *e)
{
    if (rc == 0 && (fflush(t->f) != 0 || ferror(t->f))) {
        rc = ds_no_memory(e);
    }
    rc = rc != 0 || path == NULL ? rc : ds_file_write_atomic(path, t->text, t->size, e);
    ds_table_free(t);
    return rc;
}
