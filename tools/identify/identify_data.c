/* SPDX-License-Identifier: Apache-2.0 */
/* identify_data.c - reads recordings, and describes their columns. */
#include "config.h"

#include "identify/identify_data.h"

#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "policy/npz_read.h"
#include "stats/sample.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <zlib.h>

enum { BYTES_MOST = 1 << 28, NUMBERS_MOST = 1 << 23, LINE_MOST = 8192, TEXT_BYTES = 512 };

/* ---- text ---- */

typedef struct text_reader {
    const char *path;
    ds_recorded_table *t;
    uint64_t capacity, skip, most, line;
    char separator;
} text_reader;

static int wrong(const text_reader *r, const char *why, ds_error *e)
{
    return ds_fail(e, DS_EXIT_CONFIG, "%.300s: line %llu: %s", r->path, (unsigned long long)r->line, why);
}

static char *trimmed(char *s)
{
    s += strspn(s, " \t\"");
    size_t n = strlen(s);
    while (n > 0 && strchr(" \t\"\r", s[n - 1]) != NULL) {
        s[--n] = '\0';
    }
    return s;
}

static size_t split(char separator, char *line, char *field[DS_RECORDED_COLUMNS])
{
    size_t n = 0;
    for (char *at = line; at != NULL && n < DS_RECORDED_COLUMNS;) {
        if (separator == ' ') {
            at += strspn(at, " \t");
            if (*at == '\0') {
                break;
            }
        }
        char *end = separator == ' ' ? at + strcspn(at, " \t") : strchr(at, separator);
        char *next = end != NULL && *end != '\0' ? end + 1 : NULL;
        if (next != NULL) {
            *end = '\0';
        }
        field[n++] = trimmed(at);
        at = next;
    }
    return n;
}

static int number(const char *text, double *out)
{
    char *end;
    if (*text == '\0' || strcasecmp(text, "nan") == 0 || strcasecmp(text, "na") == 0 ||
        strcasecmp(text, "null") == 0) {
        *out = NAN;
        return 1;
    }
    *out = ds_strtod(text, &end);
    return end != text && *end == '\0' && isfinite(*out);
}

static int take_names(text_reader *r, char **field, size_t n, ds_error *e)
{
    ds_recorded_table *t = r->t;
    t->columns = n;
    t->name = calloc(n, sizeof *t->name);
    double v;
    int named = 0;
    for (size_t i = 0; t->name != NULL && i < n; i++) {
        named |= !number(field[i], &v);
    }
    for (size_t i = 0; t->name != NULL && i < n; i++) {
        if (named) {
            snprintf(t->name[i], sizeof t->name[i], "%s", field[i]);
        } else {
            snprintf(t->name[i], sizeof t->name[i], "%zu", i + 1);
        }
    }
    return t->name == NULL ? ds_no_memory(e) : named ? -1 : 0;
}

static int take_line(text_reader *r, char *line, ds_error *e)
{
    char *field[DS_RECORDED_COLUMNS];
    ds_recorded_table *t = r->t;
    line[strcspn(line, "#\r\n")] = '\0';
    if (line[strspn(line, " \t")] == '\0') {
        return 0;
    }
    if (r->separator == '\0') {
        r->separator = strchr(line, ',') != NULL ? ',' : strchr(line, ';') != NULL ? ';' : ' ';
    }
    const size_t n = split(r->separator, line, field);
    if (t->columns == 0) {
        const int named = take_names(r, field, n, e);
        if (named != 0) {
            return named < 0 ? 0 : named;
        }
    }
    if (n != t->columns) {
        char why[100];
        snprintf(why, sizeof why, "%zu columns, but %llu in the first line", n,
                 (unsigned long long)t->columns);
        return wrong(r, why, e);
    }
    if (r->skip > 0) {
        r->skip--;
        return 0;
    }
    if (t->rows == r->capacity) {
        r->capacity = r->capacity > 0 ? 2 * r->capacity : 1024;
        double *more = realloc(t->value, r->capacity * t->columns * sizeof *more);
        if (more == NULL) {
            return ds_no_memory(e);
        }
        t->value = more;
    }
    for (size_t i = 0; i < n; i++) {
        if (!number(field[i], &t->value[t->rows * t->columns + i])) {
            char why[120];
            snprintf(why, sizeof why, "column %zu, '%.40s', is not a number", i + 1, field[i]);
            return wrong(r, why, e);
        }
    }
    t->rows++;
    return 0;
}

static int looks_binary(const unsigned char *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (p[i] < 9 || (p[i] > 13 && p[i] < 32) || p[i] == 127) {
            return 1;
        }
    }
    return 0;
}

/* Reads by lines and stops after the last wanted row: the file may be larger than memory. */
static int read_text(text_reader *r, gzFile f, ds_error *e)
{
    char line[LINE_MOST];
    int rc = 0;
    long at = 0;
    while (rc == 0 && (r->most == 0 || r->t->rows < r->most) && gzgets(f, line, sizeof line) != NULL) {
        const size_t n = strlen(line);
        const long to = gztell(f);
        const int zeros = to - at != (long)n; /* bytes of 0 end the text before its line */
        at = to;
        r->line++;
        if (zeros || looks_binary((unsigned char *)line, n < TEXT_BYTES ? n : TEXT_BYTES)) {
            rc = ds_fail(e, DS_EXIT_CONFIG,
                         "%.300s: line %llu is not text: a recording is a text table, an .npz or .npy file",
                         r->path, (unsigned long long)r->line);
        } else if (n + 1 == sizeof line && line[n - 1] != '\n') {
            rc = wrong(r, "longer than 8191 bytes: this is not a table of numbers", e);
        } else if (r->t->rows * r->t->columns > NUMBERS_MOST) {
            rc = ds_fail(e, DS_EXIT_CONFIG, "%.300s: more than %d numbers: set n_samples, or cut the file",
                         r->path, NUMBERS_MOST);
        } else {
            rc = take_line(r, line, e);
        }
    }
    int problem = Z_OK;
    const char *why = gzerror(f, &problem);
    return rc != 0 || problem == Z_OK || problem == Z_STREAM_END || problem == Z_BUF_ERROR
               ? rc
               : ds_fail(e, DS_EXIT_IO, "%.300s: %s", r->path, why);
}

/* ---- .npy and .npz ---- */

/* Adds the columns of an array (rows, or rows x columns); the caller keeps it. 0: it has another shape. */
static int add_columns(ds_recorded_table *t, const char *name, const ds_array *a, uint64_t length)
{
    const uint64_t wide = a->ndim == 2 ? a->shape[1] : 1;
    if (a->ndim < 1 || a->ndim > 2 || (length > 0 && a->shape[0] != length) ||
        t->columns + wide > DS_RECORDED_COLUMNS) {
        return 0;
    }
    char(*names)[DS_RECORDED_NAME] = realloc(t->name, (t->columns + wide) * sizeof *names);
    if (names == NULL) {
        return -1;
    }
    t->name = names;
    for (uint64_t k = 0; k < wide; k++, t->columns++) {
        if (name[0] == '\0') {
            snprintf(names[t->columns], sizeof *names, "%llu", (unsigned long long)k + 1);
        } else if (a->ndim == 2) {
            snprintf(names[t->columns], sizeof *names, "%.40s.%llu", name, (unsigned long long)k + 1);
        } else {
            snprintf(names[t->columns], sizeof *names, "%.60s", name);
        }
    }
    return 1;
}

/* Rows of the columns of all arrays, which have `length` each. */
static int fill_rows(ds_recorded_table *t, const ds_array *a, size_t count, uint64_t length, uint64_t first,
                     uint64_t rows, ds_error *e)
{
    if (length <= first || count == 0) {
        return 0;
    }
    t->rows = rows == 0 || length - first < rows ? length - first : rows;
    t->value = malloc(t->rows * t->columns * sizeof *t->value);
    if (t->value == NULL) {
        return ds_no_memory(e);
    }
    for (uint64_t at = 0, k = 0; k < count; k++) {
        const uint64_t wide = a[k].ndim == 2 ? a[k].shape[1] : 1;
        for (uint64_t i = 0; i < t->rows; i++) {
            memcpy(t->value + i * t->columns + at, a[k].data + (first + i) * wide, wide * sizeof(double));
        }
        at += wide;
    }
    return 0;
}

static int read_npz(const char *path, uint64_t first, uint64_t rows, ds_recorded_table *t, ds_error *e)
{
    ds_npz_reader *r = NULL;
    ds_array a[DS_RECORDED_COLUMNS];
    size_t count = 0, out = 0;
    char left[200] = "";
    int rc = ds_npz_read(path, BYTES_MOST, &r, e);
    const size_t members = rc == 0 ? ds_npz_count(r) : 0;
    for (size_t i = 0; rc == 0 && i < members && count < DS_RECORDED_COLUMNS; i++) {
        ds_error why = {0, ""};
        rc = ds_npz_array_gaps(r, ds_npz_name(r, i), &a[count], &why);
        if (rc != 0) {
            out += (size_t)snprintf(left + out, sizeof left - out, "%s%.40s", out > 0 ? ", " : "",
                                    ds_npz_name(r, i));
            out = out < sizeof left - 1 ? out : sizeof left - 1;
            rc = rc == DS_EXIT_MEMORY ? ds_no_memory(e) : 0;
            continue;
        }
        const int added = add_columns(t, ds_npz_name(r, i), &a[count], count > 0 ? a[0].shape[0] : 0);
        if (added > 0) {
            count++;
        } else {
            ds_array_free(&a[count]);
            rc = added < 0 ? ds_no_memory(e) : 0;
        }
    }
    if (rc == 0 && out > 0) {
        ds_log(DS_LOG_INFO, NULL, "%.200s: left out, as no numbers of a type that is read: %s", path, left);
    }
    rc = rc != 0 ? rc : fill_rows(t, a, count, count > 0 ? a[0].shape[0] : 0, first, rows, e);
    for (size_t k = 0; k < count; k++) {
        ds_array_free(&a[k]);
    }
    ds_npz_reader_free(r);
    return rc;
}

static int read_npy(const char *path, uint64_t first, uint64_t rows, ds_recorded_table *t, ds_error *e)
{
    void *data = NULL;
    size_t bytes = 0;
    ds_array a = {0};
    int rc = ds_file_read(path, BYTES_MOST, &data, &bytes, DS_EXIT_CONFIG, e);
    rc = rc != 0 ? rc : ds_array_parse_npy_gaps(data, bytes, path, 0, DS_EXIT_CONFIG, &a, e);
    if (rc == 0) {
        const int added = add_columns(t, "", &a, 0);
        rc = added < 0    ? ds_no_memory(e)
             : added == 0 ? ds_fail(e, DS_EXIT_CONFIG, "%.300s: expected rows of at most %d columns", path,
                                    DS_RECORDED_COLUMNS)
                          : fill_rows(t, &a, 1, a.shape[0], first, rows, e);
    }
    ds_array_free(&a);
    free(data);
    return rc;
}

int ds_recorded_read(const char *path, uint64_t first, uint64_t rows, ds_recorded_table *out, ds_error *e)
{
    static const char *const npz[] = {"npz", NULL}, *const npy[] = {"npy", NULL};
    struct stat s;
    *out = (ds_recorded_table){0};
    if (stat(path, &s) != 0 || S_ISDIR(s.st_mode)) {
        return ds_fail(e, DS_EXIT_IO,
                       "%.300s: no such recording: name a file with --data, or file = in [recording]", path);
    }
    int rc;
    if (ds_text_ends_with(path, npz)) {
        rc = read_npz(path, first, rows, out, e);
    } else if (ds_text_ends_with(path, npy)) {
        rc = read_npy(path, first, rows, out, e);
    } else {
        gzFile f = gzopen(path, "rb");
        text_reader r = {.path = path, .t = out, .skip = first, .most = rows};
        if (f == NULL) {
            return ds_fail(e, DS_EXIT_IO, "%.300s: cannot open", path);
        }
        rc = read_text(&r, f, e);
        gzclose(f);
    }
    if (rc == 0 && out->rows == 0) {
        rc = ds_fail(e, DS_EXIT_CONFIG, "%.300s: no numbers from row %llu on", path,
                     (unsigned long long)first);
    }
    if (rc != 0) {
        ds_recorded_free(out);
    }
    return rc;
}

void ds_recorded_free(ds_recorded_table *t)
{
    free(t->value);
    free(t->name);
    *t = (ds_recorded_table){0};
}

int64_t ds_recorded_column(const ds_recorded_table *t, const char *word)
{
    int64_t number = 0;
    for (uint64_t i = 0; i < t->columns; i++) {
        if (strcmp(t->name[i], word) == 0) {
            return (int64_t)i;
        }
    }
    return ds_parse_int(word, &number) && number >= 1 && number <= (int64_t)t->columns ? number - 1 : -1;
}

/* ---- facts ---- */

static int ascending(const void *a, const void *b)
{
    return ds_sample_ascending(a, b);
}

/* Median of n values, which are sorted. */
static double median(double *v, size_t n)
{
    qsort(v, n, sizeof *v, ascending);
    return n > 0 ? ds_sorted_quantile(v, n, 0.5) : (double)NAN;
}

static void find_range(const double *v, uint64_t rows, uint64_t stride, ds_recorded_facts *f)
{
    double sum = 0, squares = 0;
    uint64_t gap = 0;
    f->least = INFINITY;
    f->most = -INFINITY;
    for (uint64_t i = 0; i < rows; i++) {
        const double x = v[i * stride];
        gap = isnan(x) ? gap + 1 : 0;
        f->longest_gap = gap > f->longest_gap ? gap : f->longest_gap;
        f->missing += (uint64_t)isnan(x);
        if (!isnan(x)) {
            f->count++;
            sum += x;
            f->least = fmin(f->least, x);
            f->most = fmax(f->most, x);
        }
    }
    f->mean = f->count > 0 ? sum / (double)f->count : (double)NAN;
    for (uint64_t i = 0; i < rows; i++) {
        const double x = v[i * stride] - f->mean;
        squares += isnan(x) ? 0 : x * x;
    }
    f->deviation = f->count > 1 ? sqrt(squares / (double)(f->count - 1)) : 0;
    f->constant = f->count > 0 && !(f->most > f->least);
}

/* Longest run of samples at the largest or smallest value. */
static uint64_t longest_at(const double *v, uint64_t rows, uint64_t stride, double at)
{
    uint64_t run = 0, most = 0;
    for (uint64_t i = 0; i < rows; i++) {
        run = v[i * stride] >= at && v[i * stride] <= at ? run + 1 : 0;
        most = run > most ? run : most;
    }
    return most;
}

/* What a cubic through four neighbours leaves: v[i] against (-v[i-2] + 4 v[i-1] + 4 v[i+1] - v[i+2]) / 6.
 * For white noise of deviation s its deviation is sqrt(70) / 6 s. An outlier is a sample alone that this
 * misses by more than 12 median deviations, and by more than a tenth of the deviation of the signal. */
static void find_outliers(const double *v, uint64_t rows, uint64_t stride, ds_recorded_facts *f)
{
    double *left = rows > 4 ? malloc(2 * rows * sizeof *left) : NULL,
           *sorted = left != NULL ? left + rows : NULL;
    size_t n = 0;
    for (uint64_t i = 2; left != NULL && i + 2 < rows; i++) {
        const double *x = v + i * stride;
        const double near = 4 * (x[-(int64_t)stride] + x[stride]) - x[-2 * (int64_t)stride] - x[2 * stride];
        left[i] = x[0] - near / 6;
        if (!isnan(left[i])) {
            sorted[n++] = fabs(left[i]);
        }
    }
    const double middle = n > 0 ? median(sorted, n) : 0;
    f->noise = middle * 1.4826 * 6 / sqrt(70);
    for (uint64_t i = 3; left != NULL && n > 0 && i + 3 < rows; i++) {
        const double size = fabs(left[i]);
        if (size > 12 * 1.4826 * middle && size > 0.1 * f->deviation && size > fabs(left[i - 1]) &&
            size > fabs(left[i + 1])) {
            f->first_outlier = f->outliers == 0 ? i : f->first_outlier;
            f->outliers++;
        }
    }
    free(left);
}

ds_recorded_facts ds_recorded_look(const double *value, uint64_t rows, uint64_t stride)
{
    ds_recorded_facts f = {0};
    double steps = 0;
    uint64_t count = 0;
    find_range(value, rows, stride, &f);
    for (uint64_t i = 1; i < rows; i++) {
        const double d = value[i * stride] - value[(i - 1) * stride];
        steps += isnan(d) ? 0 : d * d;
        count += !isnan(d);
    }
    f.step = count > 0 ? sqrt(steps / (double)count) : 0;
    if (!f.constant && f.count > 0) {
        const uint64_t high = longest_at(value, rows, stride, f.most),
                       low = longest_at(value, rows, stride, f.least);
        f.saturated = high > low ? high : low;
        find_outliers(value, rows, stride, &f);
    }
    return f;
}
