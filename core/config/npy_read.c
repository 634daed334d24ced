/* SPDX-License-Identifier: Apache-2.0 */
/* npy_read.c - arrays of numbers from .npy files and text tables; every malformed input gives one line with
 * the reason. */
#include "config.h"

#include "config/npy.h"

#include <diffsim/helper/npy_read.h>

#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "array files are read and written in native byte order");
_Static_assert(sizeof(float) == 4 && sizeof(double) == 8, "IEEE 754 types");

/* The position in an input, and the status of failures. */
typedef struct reader {
    const unsigned char *p;
    size_t len;
    size_t at;
    const char *name;
    int status;
    ds_error *e;
} reader;

void ds_array_free(ds_array *a)
{
    free(a->data);
    memset(a, 0, sizeof *a);
}

/* ---- .npy ---- */

static int parse_npy(const void *p, size_t len, const char *name, uint64_t max_size, int gaps, int status,
                     ds_array *out, ds_error *e)
{
    ds_npy a;
    char why[DS_NPY_WHY];
    uint64_t size = 0;
    memset(out, 0, sizeof *out);
    if (!ds_npy_open(&a, p, len, why) ||
        (size = ds_npy_numbers(&a, max_size == 0 ? DS_ARRAY_MAX_DEFAULT : max_size, why)) == 0) {
        return ds_fail(e, status, "%s: %s", name, why);
    }
    double *data = malloc((size_t)size * sizeof *data);
    if (data == NULL) {
        return ds_fail(e, DS_EXIT_MEMORY, "%s: out of memory for %llu numbers", name,
                       (unsigned long long)size);
    }
    for (uint64_t i = 0; i < size; i++) {
        data[i] = ds_npy_number(&a, i);
        if (!isfinite(data[i]) && !(gaps && isnan(data[i]))) {
            const char *what = isnan(data[i]) ? "nan" : "infinite";
            free(data);
            return ds_fail(e, status, "%s: element %llu is %s: all numbers must be finite", name,
                           (unsigned long long)i, what);
        }
    }
    *out = (ds_array){.data = data, .size = size, .ndim = a.ndim};
    memcpy(out->shape, a.shape, sizeof out->shape);
    return 0;
}

int ds_array_parse_npy(const void *p, size_t len, const char *name, uint64_t max_size, int status,
                       ds_array *out, ds_error *e)
{
    return parse_npy(p, len, name, max_size, 0, status, out, e);
}

int ds_array_parse_npy_gaps(const void *p, size_t len, const char *name, uint64_t max_size, int status,
                            ds_array *out, ds_error *e)
{
    return parse_npy(p, len, name, max_size, 1, status, out, e);
}

/* Appends a code point as UTF-8, '?' where it is invalid. Returns the end. */
static char *put_point(char *to, uint32_t c)
{
    if (c < 0x80) {
        *to++ = (char)c;
    } else if (c < 0x800) {
        *to++ = (char)(0xc0 | c >> 6);
        *to++ = (char)(0x80 | (c & 0x3f));
    } else if (c < 0x10000 && (c < 0xd800 || c > 0xdfff)) {
        *to++ = (char)(0xe0 | c >> 12);
        *to++ = (char)(0x80 | (c >> 6 & 0x3f));
        *to++ = (char)(0x80 | (c & 0x3f));
    } else if (c >= 0x10000 && c <= 0x10ffff) {
        *to++ = (char)(0xf0 | c >> 18);
        *to++ = (char)(0x80 | (c >> 12 & 0x3f));
        *to++ = (char)(0x80 | (c >> 6 & 0x3f));
        *to++ = (char)(0x80 | (c & 0x3f));
    } else {
        *to++ = '?';
    }
    return to;
}

int ds_text_parse_npy(const void *p, size_t len, const char *name, int status, char **out, ds_error *e)
{
    ds_npy a;
    char why[DS_NPY_WHY];
    *out = NULL;
    if (!ds_npy_open(&a, p, len, why)) {
        return ds_fail(e, status, "%s: %s", name, why);
    }
    size_t count = a.bytes / 4;
    uint64_t promised = 0;
    if (strncmp(a.descr, "<U", 2) != 0 || a.ndim != 0 || !ds_parse_seed(a.descr + 2, &promised)) {
        return ds_fail(e, status, "%s: not a single text ('<U...' of no dimensions)", name);
    }
    if (promised != count || a.bytes % 4 != 0) {
        return ds_fail(e, status,
                       "%s: the header promises a text of %llu characters but %zu bytes follow: the file is "
                       "damaged or was cut",
                       name, (unsigned long long)promised, a.bytes);
    }
    char *text = malloc(4 * count + 1), *to = text;
    if (text == NULL) {
        return ds_fail(e, DS_EXIT_MEMORY, "%s: out of memory for a text", name);
    }
    for (size_t i = 0; i < count; i++) {
        uint32_t c;
        memcpy(&c, a.data + 4 * i, sizeof c);
        if (c == 0) {
            break; /* NumPy pads with zeros */
        }
        to = put_point(to, c);
    }
    *to = '\0';
    *out = text;
    return 0;
}

/* ---- text ---- */

enum { TOKEN_MAX = 400 };

/* The table during reading. */
typedef struct table {
    double *data;
    size_t size;
    size_t room;
    uint64_t max_size;
    uint64_t rows;
    uint64_t columns;  /* of the first row */
    uint64_t in_row;   /* numbers in the present row */
    uint64_t line;     /* from 1 */
    uint64_t row_line; /* line of the first row, for messages */
    int comma;         /* a comma without its number yet */
} table;

/* Is the next byte one of `set`? */
static int next_is(const reader *r, const char *set)
{
    return r->at < r->len && r->p[r->at] != '\0' && strchr(set, r->p[r->at]) != NULL;
}

static int bad_line(const reader *r, const table *t, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static int bad_line(const reader *r, const table *t, const char *format, ...)
{
    char text[200];
    va_list ap;
    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    return ds_fail(r->e, r->status, "%s: line %llu: %s", r->name, (unsigned long long)t->line, text);
}

/* Converts one token, which need not end with NUL. */
static int number(const reader *r, const table *t, size_t start, size_t end, double *out)
{
    char token[TOKEN_MAX + 1], shown[41], *stop;
    size_t n = end - start, k = n < sizeof shown - 1 ? n : sizeof shown - 1;
    snprintf(token, sizeof token, "%.*s", (int)(n < sizeof token ? n : k), (const char *)r->p + start);
    for (size_t i = 0; i < k; i++) {
        unsigned char c = r->p[start + i];
        shown[i] = c > 0x20 && c < 0x7f ? (char)c : '?';
    }
    shown[k] = '\0';
    if (n > TOKEN_MAX || strspn(token, "0123456789+-.eE") != n) {
        return bad_line(r, t, "'%s%s' is not a finite decimal number", shown, n > k ? "..." : "");
    }
    *out = ds_strtod(token, &stop);
    return stop != token + n ? bad_line(r, t, "'%s' is not a number", shown)
           : !isfinite(*out) ? bad_line(r, t, "%s is too large for a double (at most %.17g)", shown, DBL_MAX)
                             : 0;
}

static int append(const reader *r, table *t, double v)
{
    if (t->size >= t->max_size) {
        return bad_line(r, t, "too many numbers: at most %llu are read", (unsigned long long)t->max_size);
    }
    if (t->size == t->room) {
        size_t room = t->room == 0 ? 64 : t->room * 2;
        double *more = realloc(t->data, room * sizeof *more);
        if (more == NULL) {
            return ds_fail(r->e, DS_EXIT_MEMORY, "%s: out of memory for its numbers", r->name);
        }
        t->data = more;
        t->room = room;
    }
    t->data[t->size++] = v;
    t->in_row++;
    t->comma = 0;
    return 0;
}

/* Called at the end of each line. */
static int end_row(const reader *r, table *t)
{
    if (t->comma) {
        return bad_line(r, t, "there is no number after the last comma");
    }
    if (t->in_row > 0) {
        if (t->rows == 0) {
            t->columns = t->in_row;
            t->row_line = t->line;
        } else if (t->in_row != t->columns) {
            return ds_fail(
                r->e, r->status,
                "%s: line %llu has %llu numbers but line %llu has %llu: all rows must have the same "
                "length",
                r->name, (unsigned long long)t->line, (unsigned long long)t->in_row,
                (unsigned long long)t->row_line, (unsigned long long)t->columns);
        }
        t->rows++;
        t->in_row = 0;
    }
    t->line++;
    return 0;
}

#define ENDS " \t\n\r\v\f,#" /* of a number */

static int parse_table(reader *r, table *t)
{
    int rc = 0;
    r->at = r->len >= 3 && memcmp(r->p, "\xef\xbb\xbf", 3) == 0 ? 3 : 0; /* byte order mark */
    t->line = 1;
    while (rc == 0 && r->at < r->len) {
        size_t start = r->at;
        if (next_is(r, "\n")) {
            rc = end_row(r, t);
            r->at++;
        } else if (next_is(r, "#")) {
            const unsigned char *end = memchr(r->p + start, '\n', r->len - start);
            r->at = end != NULL ? (size_t)(end - r->p) : r->len;
        } else if (next_is(r, ",")) {
            if (t->in_row == 0 || t->comma) {
                rc = bad_line(r, t, "there is no number before a comma");
            }
            t->comma = 1;
            r->at++;
        } else if (next_is(r, ENDS)) {
            r->at++;
        } else {
            double v = 0;
            while (r->at < r->len && !next_is(r, ENDS)) {
                r->at++;
            }
            rc = number(r, t, start, r->at, &v);
            rc = rc != 0 ? rc : append(r, t, v);
        }
    }
    rc = rc != 0 ? rc : end_row(r, t);
    return rc == 0 && t->size == 0 ? ds_fail(r->e, r->status, "%s: there are no numbers in it", r->name) : rc;
}

int ds_array_parse_text(const void *p, size_t len, const char *name, uint64_t max_size, int status,
                        ds_array *out, ds_error *e)
{
    reader r = {p, len, 0, name, status, e};
    table t = {.max_size = max_size == 0 ? DS_ARRAY_MAX_DEFAULT : max_size};
    memset(out, 0, sizeof *out);
    int rc = parse_table(&r, &t);
    if (rc != 0) {
        free(t.data);
        return rc;
    }
    int vector = t.rows == 1 || t.columns == 1;
    *out = (ds_array){t.data, t.size, vector ? 1 : 2, {vector ? t.size : t.rows, vector ? 0 : t.columns}};
    return 0;
}

/* ---- files ---- */

int ds_array_read(const char *path, uint64_t max_size, int status, ds_array *out, ds_error *e)
{
    memset(out, 0, sizeof *out);
    max_size = max_size == 0 ? DS_ARRAY_MAX_DEFAULT : max_size;
    /* A number in text seldom takes more than 32 bytes; the constant allows comments and headers. */
    size_t limit = (max_size > (SIZE_MAX >> 6) ? SIZE_MAX >> 1 : (size_t)max_size * 32) + ((size_t)1 << 20);
    void *bytes;
    size_t len;
    int rc = ds_file_read(path, limit, &bytes, &len, status, e);
    if (rc != 0) {
        return rc;
    }
    const char *name = strcmp(path, "-") == 0 ? "standard input" : path;
    const char *dot = strrchr(path, '.');
    if (len >= 4 && memcmp(bytes, "PK\3\4", 4) == 0) {
        rc = ds_fail(e, status, "%s: this is an .npz archive: save the one array in a .npy or .txt file",
                     name);
    } else if ((len >= 6 && memcmp(bytes, "\x93NUMPY", 6) == 0) ||
               (dot != NULL && strcmp(dot, ".npy") == 0)) {
        rc = ds_array_parse_npy(bytes, len, name, max_size, status, out, e);
    } else {
        rc = ds_array_parse_text(bytes, len, name, max_size, status, out, e);
    }
    free(bytes);
    return rc;
}
