/* SPDX-License-Identifier: Apache-2.0 */
/* recording.c - reads recordings as text and as NumPy's .npy and .npz. */
#define _GNU_SOURCE /* strtod_l */
#include "engines/data/recording.h"

#include <diffsim/helper/npy_read.h>
#include <diffsim/helper/zip_read.h>

#include <ctype.h>
#include <locale.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <zlib.h>

enum { RECORDING_WORD = 64 };

/* The requested columns, the times last. */
typedef struct wanted {
    uint64_t columns; /* without the times */
    int time;         /* 1: a column of times is requested too */
    char word[RECORDING_COLUMNS + 1][RECORDING_WORD];
} wanted;

/* The bytes, the request and the result of one reader. */
typedef struct source {
    const unsigned char *bytes;
    size_t length;
    int cut;
    const recording_request *request;
    wanted want;
    recording *out;
    char *error;
} source;

static int wrong(const source *s, const char *format, ...) __attribute__((format(printf, 2, 3)));

static int wrong(const source *s, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(s->error, RECORDING_ERROR, format, args);
    va_end(args);
    return RECORDING_MALFORMED;
}

/* The number that a word is, from 1, or 0. */
static uint64_t column_number(const char *word)
{
    const size_t length = strlen(word);
    return length > 0 && length < 7 && strspn(word, "0123456789") == length ? strtoul(word, NULL, 10) : 0;
}

static int make_rows(source *s, uint64_t rows)
{
    recording *r = s->out;
    r->rows = rows;
    r->columns = s->want.columns;
    r->value = calloc(rows * r->columns, sizeof *r->value);
    r->time = s->want.time ? calloc(rows, sizeof *r->time) : NULL;
    return r->value == NULL || (s->want.time && r->time == NULL) ? RECORDING_NO_MEMORY : RECORDING_OK;
}

/* Stores value `column` of a row; column want.columns is the time. */
static void put(source *s, uint64_t row, uint64_t column, double value)
{
    if (column < s->want.columns) {
        s->out->value[row * s->want.columns + column] = value;
    } else {
        s->out->time[row] = value;
    }
}

/* ---- text ---- */

enum { LINE = 4096, MOST = 256 }; /* bytes per line, columns per line */

typedef struct table {
    source *s;
    locale_t c; /* its decimal sign is '.' whatever the user's locale */
    size_t at, line;
    char separator; /* ',', ';', or ' ' for any blanks */
    char text[LINE];
    char *field[MOST];
    uint64_t fields, width; /* of this line, of the first row */
    uint64_t place[RECORDING_COLUMNS + 1];
} table;

/* Copies the next line that is not empty, without its comment, to t->text. Returns 1, 0 at the end, -1 if it
 * is not text. */
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
            wrong(s, "line %zu is too long or is not text: this is not a recording", t->line);
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
            return wrong(t->s, "line %zu has more than %d columns", t->line, MOST);
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

/* Reads a field as a number, or NAN for a missing value; returns 0 if it is neither. */
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

/* Finds the requested columns of the file. */
static int find_columns(table *t, int named)
{
    const wanted *w = &t->s->want;
    t->width = t->fields;
    for (uint64_t c = 0; c < w->columns + (uint64_t)w->time; c++) {
        uint64_t found = column_number(w->word[c]);
        for (uint64_t i = 0; found == 0 && named && i < t->fields; i++) {
            found = strcmp(t->field[i], w->word[c]) == 0 ? i + 1 : 0;
        }
        if (found == 0 || found > t->fields) {
            return wrong(t->s, "line %zu: there is no column '%s' among its %llu%s", t->line, w->word[c],
                         (unsigned long long)t->fields,
                         named ? "" : "; they have no names: number them from 1");
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
            return wrong(t->s, "line %zu, column %llu: '%.40s' is not a number", t->line,
                         (unsigned long long)t->place[c] + 1, field);
        }
        put(t->s, row, c, v);
    }
    return RECORDING_OK;
}

/* Reads all rows once; if `take` is set, stores the requested ones. *rows: their number. */
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
            return wrong(t->s, "line %zu has %llu columns, the first row has %llu", t->line,
                         (unsigned long long)t->fields, (unsigned long long)t->width);
        }
        if (row++ >= q->first) {
            status = status == RECORDING_OK && take ? take_row(t, *rows) : status;
            if (++*rows > RECORDING_ROWS) {
                return wrong(t->s, "there are more than %d rows: request fewer", RECORDING_ROWS);
            }
        }
    }
    if (status == RECORDING_OK && more < 0) {
        return RECORDING_MALFORMED;
    }
    if (status == RECORDING_OK && t->s->cut && (q->rows == 0 || *rows < q->rows)) {
        return wrong(t->s, "the requested rows are not within the first %d MiB", RECORDING_BYTES >> 20);
    }
    if (status == RECORDING_OK && *rows == 0) {
        return wrong(t->s, "it has %llu rows of numbers, but row %llu is requested as the first",
                     (unsigned long long)row, (unsigned long long)q->first + 1);
    }
    return status;
}

static int read_text(source *s)
{
    table *t = calloc(1, sizeof *t);
    uint64_t rows = 0;
    if (t == NULL) {
        return RECORDING_NO_MEMORY;
    }
    t->s = s;
    t->c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    int status = t->c != (locale_t)0 ? pass(t, 0, &rows) : RECORDING_NO_MEMORY;
    status = status != RECORDING_OK ? status : make_rows(s, rows);
    status = status != RECORDING_OK ? status : pass(t, 1, &rows);
    if (t->c != (locale_t)0) {
        freelocale(t->c);
    }
    free(t);
    return status;
}

/* ---- NumPy arrays: .npy ---- */

/* An array of numbers. */
typedef struct array {
    ds_npy npy;
    uint64_t rows, columns; /* columns is 1 for one dimension */
} array;

static int read_array(const source *s, const void *bytes, size_t length, array *out)
{
    char why[DS_NPY_WHY];
    if (!ds_npy_open(&out->npy, bytes, length, why) || ds_npy_numbers(&out->npy, RECORDING_BYTES, why) == 0) {
        return wrong(s, "%s", why);
    }
    if (out->npy.ndim < 1 || out->npy.ndim > 2) {
        return wrong(s, "an array has %u dimensions instead of one or two", out->npy.ndim);
    }
    out->rows = out->npy.shape[0];
    out->columns = out->npy.ndim == 2 ? out->npy.shape[1] : 1;
    return RECORDING_OK;
}

/* The number of requested rows in an array with `rows`. */
static int rows_of(source *s, uint64_t rows, uint64_t *out)
{
    const recording_request *q = s->request;
    if (rows <= q->first) {
        return wrong(s, "it has %llu rows of numbers, but row %llu is requested as the first",
                     (unsigned long long)rows, (unsigned long long)q->first + 1);
    }
    *out = q->rows > 0 && q->rows < rows - q->first ? q->rows : rows - q->first;
    return *out > RECORDING_ROWS ? wrong(s, "there are more than %d rows: request fewer", RECORDING_ROWS)
                                 : RECORDING_OK;
}

static int take_column(source *s, const array *a, uint64_t from, uint64_t to)
{
    if (from >= a->columns) {
        return wrong(s, "there is no column '%s' among its %llu", s->want.word[to],
                     (unsigned long long)a->columns);
    }
    if (a->rows < s->request->first + s->out->rows) {
        return wrong(s, "column '%s' has fewer rows than others", s->want.word[to]);
    }
    for (uint64_t i = 0; i < s->out->rows; i++) {
        put(s, i, to, ds_npy_number(&a->npy, (s->request->first + i) * a->columns + from));
    }
    return RECORDING_OK;
}

static int read_npy(source *s)
{
    array a;
    uint64_t rows = 0;
    if (s->cut) {
        return wrong(s, "it is larger than %d MiB", RECORDING_BYTES >> 20);
    }
    int status = read_array(s, s->bytes, s->length, &a);
    status = status != RECORDING_OK ? status : rows_of(s, a.rows, &rows);
    status = status != RECORDING_OK ? status : make_rows(s, rows);
    for (uint64_t c = 0; status == RECORDING_OK && c < s->want.columns + (uint64_t)s->want.time; c++) {
        const uint64_t number = column_number(s->want.word[c]);
        status = number > 0 ? take_column(s, &a, number - 1, c)
                            : wrong(s, "there is no column '%s': columns of a .npy have numbers, from 1",
                                    s->want.word[c]);
    }
    return status;
}

/* ---- NumPy archives: .npz ---- */

/* The bytes of a member, to be freed. */
static int open_member(const source *s, const ds_zip_member *m, unsigned char **out)
{
    const char *why = ds_zip_flaw(m);
    if (why != NULL || m->bytes > RECORDING_BYTES) {
        return why != NULL ? wrong(s, "the archive is damaged: %s", why)
                           : wrong(s, "an array is larger than %d MiB", RECORDING_BYTES >> 20);
    }
    *out = malloc(m->bytes + 1);
    return *out == NULL             ? RECORDING_NO_MEMORY
           : ds_zip_unpack(m, *out) ? RECORDING_OK
                                    : wrong(s, "the archive is damaged: wrong checksum");
}

/* Does a word request the member of this name, and which column, from 0? */
static int asks_for(const char *word, const char *name, size_t length, uint64_t *column)
{
    *column = 0;
    if (strlen(word) < length || memcmp(word, name, length) != 0) { /* a name may hold zeros */
        return 0;
    }
    const uint64_t number = word[length] == '.' ? column_number(word + length + 1) : 0;
    *column = number > 0 ? number - 1 : 0;
    return word[length] == '\0' || number > 0;
}

/* Stores all requested columns of one member; found: a bit for each of them. */
static int take_member(source *s, const ds_zip_member *m, uint32_t *found)
{
    const int npy = m->length > 4 && memcmp(m->name + m->length - 4, ".npy", 4) == 0;
    unsigned char *data = NULL;
    array a;
    int status = RECORDING_OK;
    for (uint64_t c = 0; status == RECORDING_OK && c < s->want.columns + (uint64_t)s->want.time; c++) {
        uint64_t column, rows;
        if (!asks_for(s->want.word[c], m->name, m->length - (npy ? 4 : 0), &column)) {
            continue;
        }
        if (data == NULL) {
            status = open_member(s, m, &data);
            status = status != RECORDING_OK ? status : read_array(s, data, m->bytes, &a);
        }
        if (status == RECORDING_OK && s->out->value == NULL) {
            status = rows_of(s, a.rows, &rows);
            status = status != RECORDING_OK ? status : make_rows(s, rows);
        }
        status = status != RECORDING_OK ? status : take_column(s, &a, column, c);
        *found |= 1u << c;
    }
    free(data);
    return status;
}

static int read_npz(source *s)
{
    ds_zip z;
    uint32_t found = 0;
    if (s->cut || ds_zip_open(&z, s->bytes, s->length) != NULL) {
        return wrong(s, "the archive is larger than %d MiB or ends early", RECORDING_BYTES >> 20);
    }
    int status = RECORDING_OK;
    size_t at = z.directory;
    for (uint32_t i = 0; status == RECORDING_OK && i < z.members; i++) {
        ds_zip_member m;
        const char *why = ds_zip_next(&z, &at, &m);
        status = why != NULL ? wrong(s, "the archive is damaged: %s", why) : take_member(s, &m, &found);
    }
    for (uint64_t c = 0; status == RECORDING_OK && c < s->want.columns + (uint64_t)s->want.time; c++) {
        if (!(found >> c & 1)) {
            return wrong(s, "there is no array '%s' in it", s->want.word[c]);
        }
    }
    return status;
}

static int no_memory(char *error)
{
    snprintf(error, RECORDING_ERROR, "out of memory");
    return RECORDING_NO_MEMORY;
}

/* ---- request ---- */

static int take_word(source *s, const char *at, size_t length, uint64_t column)
{
    if (length >= RECORDING_WORD) {
        return wrong(s, "the name of a column is too long: '%.40s'", at);
    }
    memcpy(s->want.word[column], at, length);
    return RECORDING_OK;
}

static int read_request(source *s)
{
    static const char blanks[] = " ,\t";
    const char *at = s->request->columns;
    int status = RECORDING_OK;
    for (at += strspn(at, blanks); status == RECORDING_OK && *at != '\0'; at += strspn(at, blanks)) {
        const size_t length = strcspn(at, blanks);
        if (s->want.columns == RECORDING_COLUMNS) {
            return wrong(s, "more than %d columns are requested", RECORDING_COLUMNS);
        }
        status = take_word(s, at, length, s->want.columns++);
        at += length;
    }
    if (status == RECORDING_OK && s->want.columns == 0) {
        return wrong(s, "no column is requested");
    }
    s->want.time = s->request->time[0] != '\0';
    return status == RECORDING_OK && s->want.time
               ? take_word(s, s->request->time, strlen(s->request->time), s->want.columns)
               : status;
}

/* ---- checks and choice of reader ---- */

static int check(const source *s)
{
    const recording *r = s->out;
    for (uint64_t i = 0; i < r->rows; i++) {
        const unsigned long long row = s->request->first + i + 1;
        for (uint64_t c = 0; c < r->columns; c++) {
            const double v = r->value[i * r->columns + c];
            if (isinf(v) || fabs(v) > 1e12) {
                return wrong(s, "row %llu, column %s: %g is not a measured value", row, s->want.word[c], v);
            }
        }
        if (r->time != NULL && (!isfinite(r->time[i]) || fabs(r->time[i]) > 1e12)) {
            return wrong(s, "row %llu: the time is missing", row);
        }
        if (r->time != NULL && i > 0 && !(r->time[i] > r->time[i - 1])) {
            return wrong(s, "row %llu: time %g comes after %g: times must increase", row, r->time[i],
                         r->time[i - 1]);
        }
    }
    return r->rows > 0 ? RECORDING_OK : wrong(s, "there are no rows of numbers");
}

static int parse(source *s)
{
    static const unsigned char npy[6] = {0x93, 'N', 'U', 'M', 'P', 'Y'}, zip[4] = {'P', 'K', 3, 4};
    int status = read_request(s);
    if (status != RECORDING_OK) {
        return status;
    }
    if (s->length >= sizeof npy && memcmp(s->bytes, npy, sizeof npy) == 0) {
        status = read_npy(s);
    } else if (s->length >= sizeof zip && memcmp(s->bytes, zip, sizeof zip) == 0) {
        status = read_npz(s);
    } else {
        status = read_text(s);
    }
    return status == RECORDING_OK ? check(s) : status;
}

int recording_parse(recording *r, const recording_request *q, const void *bytes, size_t length, int cut,
                    char *error)
{
    source s = {.bytes = bytes, .length = length, .cut = cut, .request = q, .out = r, .error = error};
    *r = (recording){.rows = 0};
    error[0] = '\0';
    const int status = parse(&s);
    if (status != RECORDING_OK) {
        if (status == RECORDING_NO_MEMORY) {
            no_memory(error);
        }
        recording_free(r);
    }
    return status;
}

/* ---- files ---- */

static int unreadable(char *error, const char *why)
{
    snprintf(error, RECORDING_ERROR, "%s", why);
    return RECORDING_UNREADABLE;
}

int recording_read(recording *r, const recording_request *q, const char *path, char *error)
{
    struct stat st;
    *r = (recording){.rows = 0};
    if (stat(path, &st) != 0 || !S_ISREG(st.st_mode)) {
        return unreadable(error, "there is no such file");
    }
    gzFile f = gzopen(path, "rb");
    if (f == NULL) {
        return unreadable(error, "it cannot be read");
    }
    unsigned char *bytes = NULL;
    size_t length = 0, room = 0;
    int got = 1, cut = 0, status = RECORDING_OK;
    while (status == RECORDING_OK && got > 0 && length < RECORDING_BYTES) {
        if (length == room) { /* grows, so that a small file needs little memory */
            room = room == 0 ? 1u << 18 : 2 * room;
            unsigned char *more = realloc(bytes, room);
            status = more == NULL ? no_memory(error) : status;
            bytes = more != NULL ? more : bytes;
        }
        got = status == RECORDING_OK ? gzread(f, bytes + length, (unsigned)(room - length)) : 0;
        length += got > 0 ? (size_t)got : 0;
    }
    if (status == RECORDING_OK && got < 0) {
        status = unreadable(error, "it cannot be read, or its compression is damaged");
    }
    if (status == RECORDING_OK) {
        cut = length == RECORDING_BYTES && gzgetc(f) != -1;
        status = recording_parse(r, q, bytes, length, cut, error);
    }
    gzclose(f);
    free(bytes);
    return status;
}

void recording_free(recording *r)
{
    free(r->value);
    free(r->time);
    *r = (recording){.rows = 0};
}

/* ---- recordings as the data of an environment ---- */

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median time step; 0 without memory. */
static double spacing(const recording *d)
{
    double *step = malloc(d->rows * sizeof *step), middle = 0;
    for (uint64_t i = 0; step != NULL && i + 1 < d->rows; i++) {
        step[i] = d->time[i + 1] - d->time[i];
    }
    if (step != NULL) {
        qsort(step, d->rows - 1, sizeof *step, ascending);
        middle = step[(d->rows - 1) / 2];
    }
    free(step);
    return middle;
}

/* Moves rows to their times, with gaps between them, up to `samples` rows. */
static ds_status spread(recorded *r, const ds_host *host, uint64_t samples, const char *path)
{
    recording *d = &r->data;
    uint64_t last = 0;
    r->dt = d->rows > 1 ? spacing(d) : 0;
    if (!(r->dt > 0)) {
        return ds_host_fail(host, DS_E_DATA, "%.200s: at least two rows are needed to find the time step",
                            path);
    }
    double *value = malloc(samples * d->columns * sizeof *value);
    if (value == NULL) {
        return DS_E_NOMEM;
    }
    for (uint64_t i = 0; i < samples * d->columns; i++) {
        value[i] = NAN;
    }
    for (uint64_t i = 0; i < d->rows; i++) {
        const double at = (d->time[i] - d->time[0]) / r->dt, near = floor(at + 0.5);
        if (!(fabs(at - near) <= 0.1) || (i > 0 && near <= (double)last)) {
            free(value);
            return ds_host_fail(host, DS_E_DATA,
                                "%.200s: time %g is not a whole number of steps of %g s after the first row: "
                                "resample the recording at equal distances",
                                path, d->time[i], r->dt);
        }
        if (near >= (double)samples) {
            break;
        }
        last = (uint64_t)near;
        memcpy(value + last * d->columns, d->value + i * d->columns, d->columns * sizeof *value);
    }
    free(d->value);
    d->value = value;
    d->rows = last + 1;
    return DS_OK;
}

static ds_status scale(recorded *r, ds_param_reader *in, const char *path, uint64_t first)
{
    double by[RECORDING_COLUMNS];
    recording *d = &r->data;
    const int gaps = ds_param_int(in, "gaps") != 0;
    ds_param_values(in, "column_scale", d->columns, by);
    for (uint64_t k = 0; in->status == DS_OK && k < d->rows * d->columns; k++) {
        if (isnan(d->value[k]) && !gaps) {
            in->status = ds_host_fail(in->host, DS_E_DATA,
                                      "%.200s: row %llu has no value in requested column %llu: set parameter "
                                      "gaps = true, or choose other rows",
                                      path, (unsigned long long)(first + k / d->columns + 1),
                                      (unsigned long long)(k % d->columns + 1));
        }
        d->value[k] *= by[k % d->columns];
    }
    return in->status;
}

static ds_status load(recorded *r, ds_param_reader *in, const char *path, uint64_t rows)
{
    char error[RECORDING_ERROR];
    const recording_request q = {.columns = ds_param_text(in, "columns"),
                                 .time = ds_param_text(in, "time_column"),
                                 .first = (uint64_t)ds_param_int(in, "first_row"),
                                 .rows = rows};
    const int failed = in->status == DS_OK ? recording_read(&r->data, &q, path, error) : 0;
    if (failed == RECORDING_NO_MEMORY) {
        return DS_E_NOMEM;
    }
    if (failed) {
        return ds_host_fail(in->host, failed == RECORDING_UNREADABLE ? DS_E_IO : DS_E_DATA,
                            "parameter file: %.200s: %.280s", path, error);
    }
    ds_status status = in->status;
    if (status == DS_OK && r->data.time != NULL) {
        status = spread(r, in->host, rows, path);
    }
    if (status == DS_OK && r->data.rows < rows) {
        return ds_host_fail(in->host, DS_E_DATA,
                            "parameter file: %.200s has %llu samples from row %llu on, but n_samples + "
                            "held_out = %llu: request fewer",
                            path, (unsigned long long)r->data.rows, (unsigned long long)q.first,
                            (unsigned long long)rows);
    }
    return status == DS_OK ? scale(r, in, path, q.first) : status;
}

ds_status recorded_open(recorded *r, ds_param_reader *in, double rate, uint64_t n_samples, uint64_t held_out)
{
    const char *path = ds_param_text(in, "file");
    *r = (recorded){.dt = 1 / rate};
    if (in->status == DS_OK && *path == '\0') {
        in->status = ds_host_fail(in->host, DS_E_PARAM, "parameter file is empty: name the recording");
    }
    in->status = in->status == DS_OK ? load(r, in, path, n_samples + held_out) : in->status;
    if (in->status != DS_OK) {
        recorded_close(r);
    }
    return in->status;
}

void recorded_close(recorded *r)
{
    recording_free(&r->data);
}

/* ---- residuals ---- */

int fit_open(fit *f, ds_memory *m, uint64_t rows, uint64_t quantities)
{
    *f = (fit){.rows = rows, .fitted = rows, .quantities = quantities};
    ds_memory_each(m, rows * quantities, (double **const[]){&f->target, &f->weight, NULL});
    for (uint64_t i = 0; !m->failed && i < rows * quantities; i++) {
        f->weight[i] = 1;
    }
    return !m->failed;
}

void fit_fade(fit *f, double dt, double a, double b)
{
    for (uint64_t i = 0; i < f->rows; i++) {
        const double share = i > 0 ? pow(a * (double)i * dt, -b / 2) : 0;
        for (uint64_t q = 0; q < f->quantities; q++) {
            f->weight[i * f->quantities + q] *= share;
        }
    }
}

double fit_error(const fit *f, uint64_t row, uint64_t quantity, double got)
{
    const double turn = 6.283185307179586476925, target = f->target[row * f->quantities + quantity];
    if (isnan(target)) {
        return 0;
    }
    const double error = got - target; /* an angle error below half a turn is its own remainder */
    return (f->angles >> quantity & 1) != 0 && !(fabs(error) < 3.14) ? remainder(error, turn) : error;
}

double fit_residuals(const fit *f, const double *got, double *r)
{
    double sum = 0;
    for (uint64_t i = 0, k = 0; i < f->fitted; i++) {
        for (uint64_t q = 0; q < f->quantities; q++, k++) {
            const double residual = f->weight[k] * fit_error(f, i, q, got[k]);
            sum += residual * residual;
            if (r != NULL) {
                r[k] = residual;
            }
        }
    }
    return sum;
}

double fit_rms(const fit *f, const double *got, uint64_t from, uint64_t to)
{
    double sum = 0, count = 0;
    for (uint64_t k = from * f->quantities; k < to * f->quantities; k++) {
        const double error = fit_error(f, k / f->quantities, k % f->quantities, got[k]);
        sum += error * error;
        count += !isnan(f->target[k]);
    }
    return count > 0 ? sqrt(sum / count) : (double)NAN;
}
