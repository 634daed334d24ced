/* SPDX-License-Identifier: Apache-2.0 */
/* text.c - recordings as text, a row a line (see recording.h). */
#define _GNU_SOURCE /* strtod_l */
#include "source.h"

#include <ctype.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { LINE = 4096, MOST = 256 }; /* bytes of a line, columns in it */

typedef struct table {
    source *s;
    locale_t c; /* the decimal sign is '.' whatever the user's locale */
    size_t at, line;
    char separator; /* ',', ';', or ' ' for any blanks */
    char text[LINE];
    char *field[MOST];
    uint64_t fields, width; /* of this line, of the first row */
    uint64_t place[RECORDING_COLUMNS + 1];
} table;

/* The next line that is not empty, without its comment, into t->text. 0: there is none, -1: it is none
 * of text. */
static int next_line(table *t)
{
    const source *s = t->s;
    while (t->at < s->length) {
        const unsigned char *from = s->bytes + t->at;
        const unsigned char *end = memchr(from, '\n', s->length - t->at);
        size_t size = end != NULL ? (size_t)(end - from) : s->length - t->at;
        t->line++;
        t->at += size + 1;
        if (size >= LINE || memchr(from, 0, size) != NULL) {
            recording_wrong(s, "line %zu is too long or no text: this is no recording", t->line);
            return -1;
        }
        if (end == NULL && s->cut) {
            return 0;
        }
        memcpy(t->text, from, size);
        t->text[size] = '\0';
        t->text[strcspn(t->text, "#\r")] = '\0';
        if (t->text[strspn(t->text, " \t")] != '\0') {
            return 1;
        }
    }
    return 0;
}

static char *trimmed(char *field)
{
    field += strspn(field, " \t\"");
    size_t length = strlen(field);
    while (length > 0 && strchr(" \t\"", field[length - 1]) != NULL) {
        field[--length] = '\0';
    }
    return field;
}

static int split(table *t)
{
    char *at = t->text;
    t->fields = 0;
    if (t->separator == '\0') {
        t->separator = strchr(at, ',') != NULL ? ',' : strchr(at, ';') != NULL ? ';' : ' ';
    }
    at += t->separator == ' ' ? strspn(at, " \t") : 0;
    while (at != NULL && (t->separator != ' ' || *at != '\0')) {
        if (t->fields == MOST) {
            return recording_wrong(t->s, "line %zu has more than %d columns", t->line, MOST);
        }
        char *end = t->separator == ' ' ? at + strcspn(at, " \t") : strchr(at, t->separator);
        const int last = end == NULL || *end == '\0';
        if (!last) {
            *end = '\0';
        }
        t->field[t->fields++] = trimmed(at);
        at = last ? NULL : end + 1;
        if (at != NULL && t->separator == ' ') {
            at += strspn(at, " \t");
        }
    }
    return RECORDING_OK;
}

/* The number of a field, NAN where it says that it has none; 0 where it is neither. */
static int number(const table *t, const char *field, double *out)
{
    char *end = NULL;
    if (*field == '\0' || strcasecmp(field, "nan") == 0 || strcasecmp(field, "na") == 0 ||
        strcasecmp(field, "null") == 0) {
        *out = NAN;
        return 1;
    }
    if (strspn(field, "+-.0123456789eE") < strlen(field)) {
        return 0;
    }
    *out = strtod_l(field, &end, t->c);
    return *end == '\0' && end != field;
}

static int is_header(const table *t)
{
    double v;
    for (uint64_t i = 0; i < t->fields; i++) {
        if (!number(t, t->field[i], &v)) {
            return 1;
        }
    }
    return 0;
}

/* In which column of the file the wanted ones are. */
static int find_columns(table *t, int named)
{
    const wanted *w = &t->s->want;
    t->width = t->fields;
    for (uint64_t c = 0; c < w->columns + (uint64_t)w->time; c++) {
        uint64_t found = recording_number(w->word[c]);
        for (uint64_t i = 0; found == 0 && named && i < t->fields; i++) {
            found = strcmp(t->field[i], w->word[c]) == 0 ? i + 1 : 0;
        }
        if (found == 0 || found > t->fields) {
            return recording_wrong(t->s, "line %zu: there is no column '%s' among its %llu%s", t->line,
                                   w->word[c], (unsigned long long)t->fields,
                                   named ? "" : ", which have no names: number them from 1");
        }
        t->place[c] = found - 1;
    }
    return RECORDING_OK;
}

static int take_row(table *t, uint64_t row)
{
    const wanted *w = &t->s->want;
    for (uint64_t c = 0; c < w->columns + (uint64_t)w->time; c++) {
        const char *field = t->field[t->place[c]];
        double v;
        if (!number(t, field, &v)) {
            return recording_wrong(t->s, "line %zu, column %llu: '%.40s' is not a number", t->line,
                                   (unsigned long long)t->place[c] + 1, field);
        }
        recording_put(t->s, row, c, v);
    }
    return RECORDING_OK;
}

/* Passes over the rows once; where `take` is set, those that are wanted are kept. *rows: how many
 * of these. */
static int pass(table *t, int take, uint64_t *rows)
{
    const recording_request *q = t->s->request;
    int status = RECORDING_OK, more = 0;
    uint64_t row = 0;
    *rows = 0;
    t->at = t->line = t->width = 0;
    t->separator = '\0';
    while (status == RECORDING_OK && (q->rows == 0 || *rows < q->rows) && (more = next_line(t)) > 0) {
        status = split(t);
        if (status == RECORDING_OK && t->width == 0) {
            const int named = is_header(t);
            status = find_columns(t, named);
            if (named) {
                continue;
            }
        }
        if (status == RECORDING_OK && t->fields != t->width) {
            return recording_wrong(t->s, "line %zu has %llu columns, the first one %llu", t->line,
                                   (unsigned long long)t->fields, (unsigned long long)t->width);
        }
        if (row++ >= q->first) {
            status = status == RECORDING_OK && take ? take_row(t, *rows) : status;
            if (++*rows > RECORDING_ROWS) {
                return recording_wrong(t->s, "there are more than %d rows: ask for fewer", RECORDING_ROWS);
            }
        }
    }
    if (status == RECORDING_OK && more < 0) {
        return RECORDING_MALFORMED;
    }
    if (status == RECORDING_OK && t->s->cut && (q->rows == 0 || *rows < q->rows)) {
        return recording_wrong(t->s, "what is wanted does not lie within the first %d MiB",
                               RECORDING_BYTES >> 20);
    }
    if (status == RECORDING_OK && *rows == 0) {
        return recording_wrong(t->s, "it has %llu rows of numbers, and row %llu is to be the first",
                               (unsigned long long)row, (unsigned long long)q->first + 1);
    }
    return status;
}

int recording_text(source *s)
{
    table *t = calloc(1, sizeof *t);
    uint64_t rows = 0;
    if (t == NULL) {
        return RECORDING_NO_MEMORY;
    }
    t->s = s;
    t->c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    int status = t->c != (locale_t)0 ? pass(t, 0, &rows) : RECORDING_NO_MEMORY;
    status = status != RECORDING_OK ? status : recording_make(s, rows);
    status = status != RECORDING_OK ? status : pass(t, 1, &rows);
    if (t->c != (locale_t)0) {
        freelocale(t->c);
    }
    free(t);
    return status;
}
