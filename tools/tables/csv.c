/* SPDX-License-Identifier: Apache-2.0 */
/* csv.c - reads the records of a CSV file (see csv.h). */
#include "config.h"

#include "tables/csv.h"

#include <string.h>

#include "base/text.h"

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
    if (c->used + 1 >= sizeof c->room) { /* the end of the field needs one, too */
        return refuse(c, "a line of more than 65535 bytes", e);
    }
    if (byte == '\0') {
        return refuse(c, "a byte 0: this is no text", e);
    }
    c->room[c->used++] = byte;
    return 0;
}

static int is_end_of_line(const ds_csv *c)
{
    return c->at == c->end || *c->at == '\n' || (*c->at == '\r' && (c->at + 1 == c->end || c->at[1] == '\n'));
}

/* Behind the quote that begins it. */
static int take_quoted(ds_csv *c, ds_error *e)
{
    for (;;) {
        if (c->at == c->end) {
            return refuse(c, "a quoted field has no end", e);
        }
        const char byte = *c->at++;
        if (byte == '"' && (c->at == c->end || *c->at != '"')) {
            return is_end_of_line(c) || *c->at == ','
                       ? 0
                       : refuse(c, "text behind the quote that ends a field", e);
        }
        c->at += byte == '"'; /* two of them stand for one */
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
            return refuse(c, "a quote inside a field that does not begin with one", e);
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
    return c->used < sizeof c->room ? 0 : refuse(c, "a line of more than 65535 bytes", e);
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
