/* SPDX-License-Identifier: Apache-2.0 */
/* npy_read.c - arrays of numbers from .npy files and text tables; every malformed input gives one line with
 * the reason.
 *
 * Format: "NumPy Enhancement Proposal 1" - magic "\x93NUMPY", version, length of the header, and the header:
 * a Python dict literal with the keys descr, fortran_order and shape, then the data. */
#include "config.h"

#include "config/npy.h"

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

static const unsigned char npy_magic[6] = {0x93, 'N', 'U', 'M', 'P', 'Y'};

typedef struct npy_header {
    char descr[16];
    int fortran;
    uint32_t ndim;
    uint64_t shape[DS_MAX_DIMENSIONS];
} npy_header;

static int bad_header(const reader *r, const char *why)
{
    return ds_fail(r->e, r->status, "%s: not a valid .npy file: %s", r->name, why);
}

/* Is the next byte one of `set`? */
static int next_is(const reader *r, const char *set)
{
    return r->at < r->len && r->p[r->at] != '\0' && strchr(set, r->p[r->at]) != NULL;
}

static void skip_blanks(reader *r)
{
    while (next_is(r, " \t\n")) {
        r->at++;
    }
}

/* Takes `word` if it comes next, after blanks. */
static int take(reader *r, const char *word)
{
    skip_blanks(r);
    size_t n = strlen(word);
    int there = r->len - r->at >= n && memcmp(r->p + r->at, word, n) == 0;
    r->at += there ? n : 0;
    return there;
}

/* Takes a quoted string without escapes, shorter than `room`. Returns 0 or -1. */
static int take_string(reader *r, char *out, size_t room)
{
    skip_blanks(r);
    if (!next_is(r, "'\"")) {
        return -1;
    }
    unsigned char quote = r->p[r->at++];
    size_t n = 0;
    for (; r->at < r->len && r->p[r->at] != quote; r->at++) {
        unsigned char c = r->p[r->at];
        if (c < 0x20 || c > 0x7e || c == '\\' || n + 1 >= room) {
            return -1;
        }
        out[n++] = (char)c;
    }
    out[n] = '\0';
    return r->at++ < r->len ? 0 : -1;
}

/* "(3, 4)", "(3,)" or "()". */
static int take_shape(reader *r, npy_header *h)
{
    if (!take(r, "(")) {
        return bad_header(r, "'shape' is not a tuple");
    }
    while (!take(r, ")")) {
        if (h->ndim == DS_MAX_DIMENSIONS) {
            return bad_header(r, "more than 8 dimensions");
        }
        skip_blanks(r);
        uint64_t v = 0;
        size_t start = r->at;
        while (next_is(r, "0123456789")) {
            if (v > (UINT64_MAX - 9) / 10) {
                return bad_header(r, "a dimension in 'shape' is out of range");
            }
            v = v * 10 + (uint64_t)(r->p[r->at++] - '0');
        }
        if (r->at == start) {
            return bad_header(r, "'shape' holds something other than whole numbers");
        }
        h->shape[h->ndim++] = v;
        if (!take(r, ",")) {
            return take(r, ")") ? 0 : bad_header(r, "'shape' is not a tuple");
        }
    }
    return 0;
}

enum { DESCR, ORDER, SHAPE, KEYS };

static int take_value(reader *r, npy_header *h, int key)
{
    if (key == SHAPE) {
        return take_shape(r, h);
    }
    if (key == DESCR) {
        return take_string(r, h->descr, sizeof h->descr) == 0
                   ? 0
                   : bad_header(
                         r, "'descr' is not a simple type; records are not supported, save plain numbers");
    }
    h->fortran = take(r, "True");
    return h->fortran || take(r, "False") ? 0 : bad_header(r, "'fortran_order' is neither True nor False");
}

/* Takes the dict literal; keys in any order, each exactly once. */
static int take_dict(reader *r, npy_header *h)
{
    static const char *const keys[KEYS] = {"descr", "fortran_order", "shape"};
    int seen = 0, more = 1;
    memset(h, 0, sizeof *h);
    if (!take(r, "{")) {
        return bad_header(r, "the header is not a dictionary");
    }
    while (more && !take(r, "}")) {
        char word[32];
        int key = 0;
        if (take_string(r, word, sizeof word) != 0 || !take(r, ":")) {
            return bad_header(r, "the header is not a dictionary of quoted keys");
        }
        while (key < KEYS && strcmp(word, keys[key]) != 0) {
            key++;
        }
        if (key == KEYS || (seen & 1 << key) != 0) {
            return ds_fail(r->e, r->status, "%s: not a valid .npy file: key '%s' is %s", r->name, word,
                           key == KEYS ? "unknown" : "there twice");
        }
        seen |= 1 << key;
        int status = take_value(r, h, key);
        more = status == 0 && take(r, ",");
        if (status != 0 || (!more && !take(r, "}"))) {
            return status != 0 ? status : bad_header(r, "the header is not a dictionary");
        }
    }
    skip_blanks(r);
    return r->at != r->len           ? bad_header(r, "the header continues after the dictionary")
           : seen != (1 << KEYS) - 1 ? bad_header(r, "'descr', 'fortran_order' or 'shape' is missing")
                                     : 0;
}

/* Converts element i of the data. */
static double element(const unsigned char *data, char kind, size_t item, uint64_t i)
{
    union {
        double f8;
        float f4;
        int64_t i8;
        int32_t i4;
    } v;
    memcpy(&v, data + i * item, item);
    return kind == 'f' ? (item == 8 ? v.f8 : (double)v.f4) : item == 8 ? (double)v.i8 : (double)v.i4;
}

/* Compares the header with what we support and with the bytes that follow. */
static int check_layout(const reader *r, const npy_header *h, size_t bytes, uint64_t max_size, uint64_t *size)
{
    const char *d = h->descr;
    if (d[0] == '>' && d[1] != '\0') {
        return ds_fail(r->e, r->status,
                       "%s: its numbers are big-endian ('%s'): save the array with .astype('<f8')", r->name,
                       d);
    }
    if (strcmp(d, "<f8") != 0 && strcmp(d, "<f4") != 0 && strcmp(d, "<i8") != 0 && strcmp(d, "<i4") != 0) {
        return ds_fail(r->e, r->status,
                       "%s: elements of type '%s' are not supported (allowed: <f8, <f4, <i8, <i4): save the "
                       "array with .astype('<f8')",
                       r->name, d);
    }
    if (h->fortran) {
        return ds_fail(r->e, r->status,
                       "%s: the array is in Fortran order: save numpy.ascontiguousarray(a) instead", r->name);
    }
    uint64_t n = 1;
    for (uint32_t k = 0; k < h->ndim; k++) {
        if (h->shape[k] == 0) {
            return ds_fail(r->e, r->status, "%s: the array is empty (dimension %u is 0)", r->name, k);
        }
        if (h->shape[k] > max_size || n > max_size / h->shape[k]) {
            return ds_fail(r->e, r->status, "%s: the array is too large: at most %llu numbers are read",
                           r->name, (unsigned long long)max_size);
        }
        n *= h->shape[k];
    }
    uint64_t item = (uint64_t)(d[2] - '0');
    if (n > max_size || n > bytes / item || n * item != bytes) {
        return ds_fail(r->e, r->status,
                       "%s: the header promises %llu numbers of %llu bytes but %zu bytes follow: the file is "
                       "damaged or was cut",
                       r->name, (unsigned long long)n, (unsigned long long)item, bytes);
    }
    *size = n;
    return 0;
}

/* Reads the header at the beginning of r; *data = start of the elements. */
static int read_header(const reader *r, npy_header *h, size_t *data)
{
    const unsigned char *b = r->p;
    if (r->len < 10 || memcmp(b, npy_magic, sizeof npy_magic) != 0) {
        return bad_header(r, r->len < 10 ? "it is shorter than a header" : "the magic bytes are missing");
    }
    if ((b[6] != 1 && b[6] != 2) || b[7] != 0) {
        return ds_fail(r->e, r->status, "%s: .npy format %u.%u is not supported (allowed: 1.0 and 2.0)",
                       r->name, b[6], b[7]);
    }
    size_t start = b[6] == 1 ? 10 : 12;
    if (r->len < start) {
        return bad_header(r, "it is shorter than a header");
    }
    size_t header = (size_t)b[8] | (size_t)b[9] << 8;
    if (b[6] == 2) {
        header |= (size_t)b[10] << 16 | (size_t)b[11] << 24;
    }
    if (header > r->len - start) {
        return bad_header(r, "the file ends inside the header");
    }
    reader text = {b + start, header, 0, r->name, r->status, r->e};
    *data = start + header;
    return take_dict(&text, h);
}

static int parse_npy(const void *p, size_t len, const char *name, uint64_t max_size, int gaps, int status,
                     ds_array *out, ds_error *e)
{
    const unsigned char *b = p;
    reader r = {b, len, 0, name, status, e};
    npy_header h;
    uint64_t size = 0;
    size_t start = 0;
    memset(out, 0, sizeof *out);
    max_size = max_size == 0 ? DS_ARRAY_MAX_DEFAULT : max_size;
    int rc = read_header(&r, &h, &start);
    rc = rc != 0 ? rc : check_layout(&r, &h, len - start, max_size, &size);
    if (rc != 0) {
        return rc;
    }
    double *data = malloc((size_t)size * sizeof *data);
    if (data == NULL) {
        return ds_fail(e, DS_EXIT_MEMORY, "%s: out of memory for %llu numbers", name,
                       (unsigned long long)size);
    }
    for (uint64_t i = 0; i < size; i++) {
        data[i] = element(b + start, h.descr[1], (size_t)(h.descr[2] - '0'), i);
        if (!isfinite(data[i]) && !(gaps && isnan(data[i]))) {
            const char *what = isnan(data[i]) ? "nan" : "infinite";
            free(data);
            return ds_fail(e, status, "%s: element %llu is %s: all numbers must be finite", name,
                           (unsigned long long)i, what);
        }
    }
    *out = (ds_array){.data = data, .size = size, .ndim = h.ndim};
    memcpy(out->shape, h.shape, sizeof out->shape);
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
    const unsigned char *b = p;
    reader r = {b, len, 0, name, status, e};
    npy_header h;
    size_t start = 0;
    *out = NULL;
    int rc = read_header(&r, &h, &start);
    if (rc != 0) {
        return rc;
    }
    size_t count = (len - start) / 4;
    uint64_t promised = 0;
    if (strncmp(h.descr, "<U", 2) != 0 || h.ndim != 0 || !ds_parse_seed(h.descr + 2, &promised)) {
        return ds_fail(e, status, "%s: not a single text ('<U...' of no dimensions)", name);
    }
    if (promised != count || (len - start) % 4 != 0) {
        return ds_fail(e, status,
                       "%s: the header promises a text of %llu characters but %zu bytes follow: the file is "
                       "damaged or was cut",
                       name, (unsigned long long)promised, len - start);
    }
    char *text = malloc(4 * count + 1), *to = text;
    if (text == NULL) {
        return ds_fail(e, DS_EXIT_MEMORY, "%s: out of memory for a text", name);
    }
    for (size_t i = 0; i < count; i++) {
        uint32_t c;
        memcpy(&c, b + start + 4 * i, sizeof c);
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
    } else if ((len >= sizeof npy_magic && memcmp(bytes, npy_magic, sizeof npy_magic) == 0) ||
               (dot != NULL && strcmp(dot, ".npy") == 0)) {
        rc = ds_array_parse_npy(bytes, len, name, max_size, status, out, e);
    } else {
        rc = ds_array_parse_text(bytes, len, name, max_size, status, out, e);
    }
    free(bytes);
    return rc;
}
