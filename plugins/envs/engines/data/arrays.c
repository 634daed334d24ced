/* SPDX-License-Identifier: Apache-2.0 */
/* arrays.c - recordings as NumPy's .npy and .npz (see recording.h). Sources: NumPy, "NPY format", versions
 * 1.0 and 2.0; PKWARE, "APPNOTE.TXT", 6.3. */
#include "source.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* One array of numbers, in C order. */
typedef struct array {
    const unsigned char *data;
    uint64_t rows, columns; /* columns 1 for one dimension */
    char kind;              /* 'f' or 'i' */
    size_t size;            /* bytes of an element: 4 or 8 */
} array;

/* A number of `bytes` bytes, the lowest first. */
static uint64_t little(const unsigned char *at, int bytes)
{
    uint64_t v = 0;
    while (bytes-- > 0) {
        v = v << 8 | at[bytes];
    }
    return v;
}

static double element(const array *a, uint64_t row, uint64_t column)
{
    const unsigned char *at = a->data + (row * a->columns + column) * a->size;
    const uint64_t bits = little(at, (int)a->size);
    if (a->kind == 'i') {
        return a->size == 4 ? (double)(int32_t)(uint32_t)bits : (double)(int64_t)bits;
    }
    double wide;
    float narrow;
    const uint32_t low = (uint32_t)bits;
    memcpy(&wide, &bits, sizeof wide);
    memcpy(&narrow, &low, sizeof narrow);
    return a->size == 4 ? (double)narrow : wide;
}

/* ---- .npy ---- */

/* What follows a key of the dictionary; NULL: there is no such key. */
static const char *value_of(const char *header, const char *key)
{
    const char *at = strstr(header, key);
    at = at != NULL ? at + strlen(key) : NULL;
    return at != NULL ? at + strspn(at, "'\": ") : NULL;
}

static int read_shape(const source *s, const char *at, array *out)
{
    uint64_t n[2] = {0, 1};
    int dimensions = 0;
    for (at += *at == '('; *at >= '0' && *at <= '9'; dimensions++) {
        char *end;
        if (dimensions == 2 || strspn(at, "0123456789") > 9) {
            return recording_wrong(s, "an array has more than two dimensions, or is too large");
        }
        n[dimensions] = strtoul(at, &end, 10);
        at = end + strspn(end, ", L");
    }
    out->rows = n[0];
    out->columns = n[1];
    return dimensions > 0 && *at == ')' && n[0] > 0 && n[1] > 0
               ? RECORDING_OK
               : recording_wrong(s, "an array has no rows of one or more columns");
}

static int read_array(const source *s, const unsigned char *bytes, size_t length, array *out)
{
    char header[1024];
    const size_t wide = length > 6 && bytes[6] == 2 ? 4 : 2, begin = 8 + wide;
    if (length < begin || memcmp(bytes, "\x93NUMPY", 6) != 0 || bytes[6] < 1 || bytes[6] > 2) {
        return recording_wrong(s, "an array is no .npy of version 1.0 or 2.0");
    }
    const uint64_t size = little(bytes + 8, (int)wide);
    if (size >= sizeof header || length - begin < size) {
        return recording_wrong(s, "the header of an array is damaged");
    }
    memcpy(header, bytes + begin, size);
    header[size] = '\0';
    const char *type = value_of(header, "descr"), *order = value_of(header, "fortran_order");
    const char *shape = value_of(header, "shape");
    if (type == NULL || order == NULL || shape == NULL) {
        return recording_wrong(s, "the header of an array is damaged");
    }
    if (type[0] != '<' || (type[1] != 'f' && type[1] != 'i') || (type[2] != '4' && type[2] != '8')) {
        return recording_wrong(
            s, "an array holds '%.8s': numbers of type <f8, <f4, <i8 or <i4 are needed",
            strtok((char[9]){type[0], type[0] ? type[1] : 0, type[0] && type[1] ? type[2] : 0}, "'\""));
    }
    out->kind = type[1];
    out->size = type[2] == '4' ? 4 : 8;
    int status = read_shape(s, shape, out);
    if (status == RECORDING_OK && strncmp(order, "False", 5) != 0 && out->columns > 1) {
        return recording_wrong(s, "an array is in Fortran order: save it in C order");
    }
    out->data = bytes + begin + size;
    if (status == RECORDING_OK && (out->rows > RECORDING_BYTES / out->columns ||
                                   (length - begin - size) / out->size < out->rows * out->columns)) {
        return recording_wrong(s, "an array ends early");
    }
    return status;
}

/* The rows that are asked for, of an array with `rows`. */
static int rows_of(source *s, uint64_t rows, uint64_t *out)
{
    const recording_request *q = s->request;
    if (rows <= q->first) {
        return recording_wrong(s, "it has %llu rows of numbers, and row %llu is to be the first",
                               (unsigned long long)rows, (unsigned long long)q->first + 1);
    }
    *out = q->rows > 0 && q->rows < rows - q->first ? q->rows : rows - q->first;
    return *out > RECORDING_ROWS
               ? recording_wrong(s, "there are more than %d rows: ask for fewer", RECORDING_ROWS)
               : RECORDING_OK;
}

static int take_column(source *s, const array *a, uint64_t from, uint64_t to)
{
    if (from >= a->columns) {
        return recording_wrong(s, "there is no column '%s' among its %llu", s->want.word[to],
                               (unsigned long long)a->columns);
    }
    if (a->rows < s->request->first + s->out->rows) {
        return recording_wrong(s, "column '%s' has fewer rows than others", s->want.word[to]);
    }
    for (uint64_t i = 0; i < s->out->rows; i++) {
        recording_put(s, i, to, element(a, s->request->first + i, from));
    }
    return RECORDING_OK;
}

int recording_npy(source *s)
{
    array a;
    uint64_t rows = 0;
    if (s->cut) {
        return recording_wrong(s, "it is larger than %d MiB", RECORDING_BYTES >> 20);
    }
    int status = read_array(s, s->bytes, s->length, &a);
    status = status != RECORDING_OK ? status : rows_of(s, a.rows, &rows);
    status = status != RECORDING_OK ? status : recording_make(s, rows);
    for (uint64_t c = 0; status == RECORDING_OK && c < s->want.columns + (uint64_t)s->want.time; c++) {
        const uint64_t number = recording_number(s->want.word[c]);
        status = number > 0
                     ? take_column(s, &a, number - 1, c)
                     : recording_wrong(s, "there is no column '%s': those of an .npy have numbers, from 1",
                                       s->want.word[c]);
    }
    return status;
}

/* ---- .npz ---- */

enum { LOCAL = 30, CENTRAL = 46, END = 22 };

/* The end of the central directory, or NULL. */
static const unsigned char *find_end(const source *s)
{
    for (size_t back = END; back <= s->length && back < END + 65536; back++) {
        const unsigned char *at = s->bytes + s->length - back;
        if (memcmp(at, "PK\5\6", 4) == 0) {
            return at;
        }
    }
    return NULL;
}

/* Inflates or points at what a member of the archive holds; *own is to be freed. */
static int open_member(const source *s, const unsigned char *entry, const unsigned char **data,
                       size_t *length, unsigned char **own)
{
    const uint64_t method = little(entry + 10, 2), packed = little(entry + 20, 4),
                   size = little(entry + 24, 4);
    const uint64_t local = little(entry + 42, 4);
    if (local > s->length || s->length - local < LOCAL || size > RECORDING_BYTES) {
        return recording_wrong(s, "the archive is damaged, or an array is larger than %d MiB",
                               RECORDING_BYTES >> 20);
    }
    const uint64_t begin =
        local + LOCAL + little(s->bytes + local + 26, 2) + little(s->bytes + local + 28, 2);
    if (begin > s->length || s->length - begin < packed || (method == 0 && packed != size)) {
        return recording_wrong(s, "the archive is damaged");
    }
    *data = s->bytes + begin;
    *length = size;
    if (method == 8) {
        z_stream z = {.next_in = (unsigned char *)(uintptr_t)*data, .avail_in = (unsigned)packed};
        *own = malloc(size + 1);
        if (*own == NULL || inflateInit2(&z, -MAX_WBITS) != Z_OK) {
            return RECORDING_NO_MEMORY;
        }
        z.next_out = *own;
        z.avail_out = (unsigned)size + 1;
        const int end = inflate(&z, Z_FINISH);
        inflateEnd(&z);
        *data = *own;
        if (end != Z_STREAM_END || z.total_out != size) {
            return recording_wrong(s, "the compression of an array is damaged");
        }
    } else if (method != 0) {
        return recording_wrong(s, "an array is compressed by a method that is not known");
    }
    return crc32(0, *data, (unsigned)size) == little(entry + 16, 4)
               ? RECORDING_OK
               : recording_wrong(s, "the archive is damaged: a checksum is wrong");
}

/* Whether a word asks for the member of this name, and for which column of it, from 0. */
static int asks_for(const char *word, const unsigned char *name, size_t length, uint64_t *column)
{
    *column = 0;
    if (strlen(word) < length || memcmp(word, name, length) != 0) { /* a name may hold zeros */
        return 0;
    }
    const uint64_t number = word[length] == '.' ? recording_number(word + length + 1) : 0;
    *column = number > 0 ? number - 1 : 0;
    return word[length] == '\0' || number > 0;
}

/* All columns that are asked for of one member; found: a bit for each of them. */
static int take_member(source *s, const unsigned char *entry, const unsigned char *name, size_t length,
                       uint32_t *found)
{
    const unsigned char *data = NULL;
    unsigned char *own = NULL;
    size_t size = 0;
    array a = {.data = NULL};
    int status = RECORDING_OK;
    for (uint64_t c = 0; status == RECORDING_OK && c < s->want.columns + (uint64_t)s->want.time; c++) {
        uint64_t column, rows;
        if (!asks_for(s->want.word[c], name, length, &column)) {
            continue;
        }
        if (a.data == NULL) {
            status = open_member(s, entry, &data, &size, &own);
            status = status != RECORDING_OK ? status : read_array(s, data, size, &a);
        }
        if (status == RECORDING_OK && s->out->value == NULL) {
            status = rows_of(s, a.rows, &rows);
            status = status != RECORDING_OK ? status : recording_make(s, rows);
        }
        status = status != RECORDING_OK ? status : take_column(s, &a, column, c);
        *found |= 1u << c;
    }
    free(own);
    return status;
}

int recording_npz(source *s)
{
    const unsigned char *end = s->cut ? NULL : find_end(s);
    uint32_t found = 0;
    if (end == NULL) {
        return recording_wrong(s, "the archive is larger than %d MiB or ends early", RECORDING_BYTES >> 20);
    }
    uint64_t at = little(end + 16, 4), members = little(end + 10, 2);
    int status = RECORDING_OK;
    for (; status == RECORDING_OK && members > 0; members--) {
        if (at > s->length || s->length - at < CENTRAL || memcmp(s->bytes + at, "PK\1\2", 4) != 0) {
            return recording_wrong(s, "the directory of the archive is damaged");
        }
        const unsigned char *entry = s->bytes + at;
        const uint64_t name = little(entry + 28, 2);
        if (s->length - at - CENTRAL < name) {
            return recording_wrong(s, "the directory of the archive is damaged");
        }
        const int npy = name > 4 && memcmp(entry + CENTRAL + name - 4, ".npy", 4) == 0;
        status = take_member(s, entry, entry + CENTRAL, (size_t)name - (npy ? 4 : 0), &found);
        at += CENTRAL + name + little(entry + 30, 2) + little(entry + 32, 2);
    }
    for (uint64_t c = 0; status == RECORDING_OK && c < s->want.columns + (uint64_t)s->want.time; c++) {
        if (!(found >> c & 1)) {
            return recording_wrong(s, "there is no array '%s' in it", s->want.word[c]);
        }
    }
    return status;
}
