/* SPDX-License-Identifier: Apache-2.0 */
/* trajectory.c - reader of recorded lifts (see trajectory.h). */
#define _GNU_SOURCE /* strtod_l */
#include "trajectory.h"

#include <locale.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 4096, ERROR = 512, MAX_BYTES = 1 << 27 };

/* Keys found in the header. */
enum {
    HAS_FORMAT = 1,
    HAS_WIDTH = 2,
    HAS_LENGTH = 4,
    HAS_FRAME = 8,
    HAS_UNITS = 16,
    HAS_RATE = 32,
    HAS_N = 64
};

typedef struct reader {
    trajectory *t;
    char *error;
    locale_t c; /* C locale: the decimal sign is '.' */
    size_t line;
    unsigned has;
    uint64_t announced, capacity;
} reader;

__attribute__((format(printf, 2, 3))) static int malformed(const reader *r, const char *format, ...)
{
    int used = snprintf(r->error, ERROR, "line %zu: ", r->line);
    va_list args;
    va_start(args, format);
    vsnprintf(r->error + used, ERROR - (size_t)used, format, args);
    va_end(args);
    return 1;
}

static int blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* Reads one decimal number at *at and moves *at past it; `nan` only if allowed. Returns 0 if there is none.
 */
static int number(const reader *r, const char **at, int allow_nan, double *out)
{
    const char *p = *at;
    char *end = NULL;
    size_t length = strcspn(p, " \t\r");
    if (allow_nan && length == 3 && strncmp(p, "nan", 3) == 0) {
        *out = NAN;
        *at = p + 3;
        return 1;
    }
    if (length == 0 || strspn(p, "+-.0123456789eE") < length) {
        return 0;
    }
    *out = strtod_l(p, &end, r->c);
    *at = end;
    return end == p + length && isfinite(*out) && fabs(*out) < 1e6;
}

static int keyword(reader *r, const char *value, const char *want, unsigned bit, const char *key)
{
    r->has |= bit;
    return strcmp(value, want) == 0
               ? 0
               : malformed(r, "%s is '%.40s': the only known value is '%s'", key, value, want);
}

static int positive(reader *r, const char *value, unsigned bit, const char *key, double *out)
{
    const char *at = value;
    r->has |= bit;
    if (!number(r, &at, 0, out) || *at || !(*out > 0)) {
        return malformed(r, "%s is '%.40s': give a positive number", key, value);
    }
    return 0;
}

static int header(reader *r, char *line)
{
    double count = 0;
    char *equal = strchr(line, '='), *key = line;
    if (!equal) {
        return malformed(r, "'%.40s' is neither 'key = value' nor 'data'", line);
    }
    char *value = equal + 1 + strspn(equal + 1, " \t");
    while (equal > key && blank(equal[-1])) {
        equal--;
    }
    *equal = 0;
    if (strcmp(key, "format") == 0) {
        return keyword(r, value, "ds-cloth-1", HAS_FORMAT, key);
    }
    if (strcmp(key, "frame") == 0) {
        return keyword(r, value, "y-up", HAS_FRAME, key);
    }
    if (strcmp(key, "units") == 0) {
        return keyword(r, value, "m", HAS_UNITS, key);
    }
    if (strcmp(key, "nominal_width") == 0) {
        return positive(r, value, HAS_WIDTH, key, &r->t->size[0]);
    }
    if (strcmp(key, "nominal_length") == 0) {
        return positive(r, value, HAS_LENGTH, key, &r->t->size[1]);
    }
    if (strcmp(key, "rate_hz") == 0) {
        return positive(r, value, HAS_RATE, key, &r->t->rate);
    }
    if (strcmp(key, "n") == 0) {
        if (positive(r, value, HAS_N, key, &count) || count != floor(count) || count > TRAJECTORY_MAX_ROWS) {
            return malformed(r, "n is '%.40s': give the number of rows, at most %d", value,
                             TRAJECTORY_MAX_ROWS);
        }
        r->announced = (uint64_t)count;
        return 0;
    }
    return strcmp(key, "name") == 0 ? 0 : malformed(r, "unknown key '%.40s'", key);
}

static int header_end(const reader *r)
{
    static const char *const keys[7] = {
        "format", "nominal_width", "nominal_length", "frame", "units", "rate_hz", "n"};
    for (int i = 0; i < 7; i++) {
        if (!(r->has & 1u << i)) {
            return malformed(r, "key %s is missing in the header", keys[i]);
        }
    }
    return 0;
}

static int row(reader *r, const char *line)
{
    trajectory *t = r->t;
    if (t->rows == r->capacity) {
        r->capacity = r->capacity ? 2 * r->capacity : 64;
        double *grown = realloc(t->row, r->capacity * TRAJECTORY_COLUMNS * sizeof *grown);
        if (!grown) {
            snprintf(r->error, ERROR, "out of memory");
            return 2;
        }
        t->row = grown;
    }
    double *v = t->row + t->rows * TRAJECTORY_COLUMNS;
    int count = 0;
    while (*line) {
        if (count == TRAJECTORY_COLUMNS) {
            return malformed(r, "more than 16 numbers in a row");
        }
        if (!number(r, &line, count >= 4, &v[count])) {
            return malformed(r, "column %d: '%.*s' is not a number%s", count + 1,
                             (int)strcspn(line, " \t\r") % 41, line, count >= 4 ? " or nan" : "");
        }
        count++;
        line += strspn(line, " \t\r");
    }
    if (count < TRAJECTORY_COLUMNS) {
        return malformed(r, "%d numbers in a row: 16 are needed", count);
    }
    for (int c = 0; c < 4; c++) {
        const double *at = v + 4 + 3 * c;
        int missing = isnan(at[0]) + isnan(at[1]) + isnan(at[2]);
        if (missing != 0 && (missing != 3 || t->rows == 0)) {
            return malformed(r,
                             t->rows ? "corner %d is partly nan: give three numbers or three nan"
                                     : "corner %d is nan: the first row needs all corners",
                             c);
        }
    }
    if (t->rows == 0 ? v[0] != 0 : !(v[0] > v[-TRAJECTORY_COLUMNS])) {
        return malformed(r, "time %g: times start at 0 and increase", v[0]);
    }
    if (++t->rows > TRAJECTORY_MAX_ROWS) {
        return malformed(r, "more than %d rows", TRAJECTORY_MAX_ROWS);
    }
    return 0;
}

static int parse(reader *r, const char *text, size_t length)
{
    char line[LINE];
    int in_data = 0, status = 0;
    for (size_t at = 0; at < length && !status;) {
        const char *newline = memchr(text + at, '\n', length - at);
        size_t size = newline ? (size_t)(newline - text) - at : length - at, begin = at;
        r->line++;
        at += size + 1;
        if (size >= LINE || memchr(text + begin, 0, size)) {
            return malformed(r, "a line is too long or holds a zero byte: this is not a trajectory file");
        }
        memcpy(line, text + begin, size);
        line[size] = 0;
        size = strcspn(line, "#");
        while (size && blank(line[size - 1])) {
            size--;
        }
        line[size] = 0;
        char *start = line + strspn(line, " \t\r");
        if (!*start) {
            continue;
        }
        if (in_data) {
            status = row(r, start);
        } else if (strcmp(start, "data") == 0) {
            in_data = 1;
            status = header_end(r);
        } else {
            status = header(r, start);
        }
    }
    if (!status && r->t->rows < 2) {
        return malformed(r, "%d rows of data: at least two are needed", (int)r->t->rows);
    }
    if (!status && r->t->rows != r->announced) {
        return malformed(r, "%d rows of data, but the header has n = %d", (int)r->t->rows, (int)r->announced);
    }
    return status;
}

int trajectory_parse(trajectory *t, const char *text, size_t length, char *error)
{
    reader r = {.t = t, .error = error, .c = newlocale(LC_ALL_MASK, "C", (locale_t)0)};
    memset(t, 0, sizeof *t);
    int status = 2;
    snprintf(error, ERROR, "out of memory");
    if (r.c != (locale_t)0) {
        status = parse(&r, text, length);
        freelocale(r.c);
    }
    if (status) {
        trajectory_free(t);
    }
    return status;
}

int trajectory_read(trajectory *t, const char *path, char *error)
{
    FILE *f = fopen(path, "rb");
    char *text = NULL;
    long size = -1;
    memset(t, 0, sizeof *t);
    int status = 3;
    snprintf(error, ERROR, "cannot be read");
    if (f && fseek(f, 0, SEEK_END) == 0 && (size = ftell(f)) >= 0 && size < MAX_BYTES &&
        fseek(f, 0, SEEK_SET) == 0) {
        text = malloc((size_t)size + 1);
        if (text && fread(text, 1, (size_t)size, f) == (size_t)size) {
            status = trajectory_parse(t, text, (size_t)size, error);
        }
    }
    free(text);
    if (f) {
        fclose(f);
    }
    return status;
}

void trajectory_free(trajectory *t)
{
    free(t->row);
    memset(t, 0, sizeof *t);
}
