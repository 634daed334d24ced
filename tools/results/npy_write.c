/* SPDX-License-Identifier: Apache-2.0 */
/* npy_write.c - writes NumPy's .npy files and .npz archives (zip files of them, PKWARE APPNOTE 6.3); see
 * npy_write.h. */
#include "config.h"

#include "results/npy_write.h"

#include "base/file.h"
#include "base/text.h"

#include <diffsim/helper/npz.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "array files are read and written in native byte order");

static const struct {
    const char *descr;
    size_t size;
} types[] = {
    [DS_NPY_F8] = {"<f8", 8},
    [DS_NPY_I4] = {"<i4", 4},
    [DS_NPY_U4] = {"<u4", 4},
    [DS_NPY_I8] = {"<i8", 8},
    [DS_NPY_U8] = {"<u8", 8},
    [DS_NPY_TEXT] = {"<U48", 4 * DS_NPY_CHARACTERS},
    [DS_NPY_NAME] = {"<U64", 4 * DS_NPY_NAME_CHARACTERS},
    [DS_NPY_TAG] = {"<U16", 4 * DS_NPY_TAG_CHARACTERS},
};

size_t ds_npy_header(char out[DS_NPY_HEADER_MAX], int type, uint32_t ndim, const uint64_t *shape)
{
    return ds_npy_head(out, types[type].descr, ndim, shape);
}

/* Bytes of the data. Returns 0, or -1 if they exceed the address space. */
static int data_size(int type, uint32_t ndim, const uint64_t *shape, uint64_t *bytes)
{
    uint64_t n = types[type].size;
    for (uint32_t k = 0; k < ndim; k++) {
        if (shape[k] != 0 && n > (uint64_t)(SIZE_MAX >> 2) / shape[k]) {
            return -1;
        }
        n *= shape[k];
    }
    *bytes = n;
    return ndim <= DS_NPY_MAX_NDIM ? 0 : -1;
}

int ds_npy_write(const char *path, int type, uint32_t ndim, const uint64_t *shape, const void *data,
                 ds_error *e)
{
    char header[DS_NPY_HEADER_MAX];
    uint64_t bytes;
    if (data_size(type, ndim, shape, &bytes) != 0) {
        return ds_fail(e, DS_EXIT_IO, "%s: the array has an impossible shape", path);
    }
    ds_file *f;
    int status = ds_file_open(&f, path, e);
    if (status != 0) {
        return status;
    }
    /* commit() reports a failure. */
    (void)ds_file_write(f, header, ds_npy_header(header, type, ndim, shape), NULL);
    (void)ds_file_write(f, data, (size_t)bytes, NULL);
    return ds_file_commit(f, e);
}

/* ---- zip ---- */

enum { NAME_MAX_BYTES = 200, ZIP_TIME = 0, ZIP_DATE = 0x21 /* 1980-01-01 */ };

typedef struct member {
    char name[NAME_MAX_BYTES + 5];
    uint32_t crc;
    uint64_t size;
    uint64_t offset;
} member;

struct ds_npz {
    ds_file *file;
    char *path;
    uint64_t at; /* bytes written */
    member *members;
    size_t count;
    size_t room;
    ds_error failed; /* first failure; status 0 = none */
};

/* Buffer for little-endian records of the zip format. */
typedef struct record {
    unsigned char b[512];
    size_t n;
} record;

/* Numbers with these numbers of bytes, "2248". */
static void put_numbers(record *r, const char *bytes, const uint64_t *v)
{
    for (; *bytes != '\0'; bytes++, v++) {
        for (int k = 0; k < *bytes - '0'; k++) {
            r->b[r->n++] = (unsigned char)(*v >> (8 * k));
        }
    }
}

static void put_text(record *r, const char *text, size_t n)
{
    memcpy(r->b + r->n, text, n);
    r->n += n;
}

/* A size or offset as a 32-bit field: the largest value refers to the zip64 field. */
static uint64_t narrow(uint64_t v)
{
    return v >= UINT32_MAX ? UINT32_MAX : v;
}

/* Reports the failure stored in z->failed. */
static int tell(const ds_npz *z, ds_error *e)
{
    if (e != NULL) {
        *e = z->failed;
    }
    return z->failed.status;
}

static int emit(ds_npz *z, const void *data, size_t len, ds_error *e)
{
    int status = ds_file_write(z->file, data, len, &z->failed);
    z->at += len;
    return status == 0 ? 0 : tell(z, e);
}

/* The common part of the local and the central header. */
static void put_common(record *r, const member *m, uint64_t version)
{
    const uint64_t utf8_name = 0x0800, stored = 0;
    put_numbers(r, "222224442",
                (uint64_t[]){version, utf8_name, stored, ZIP_TIME, ZIP_DATE, m->crc, narrow(m->size),
                             narrow(m->size), strlen(m->name)});
}

static void local_header(record *r, const member *m)
{
    int big = m->size >= UINT32_MAX;
    r->n = 0;
    put_numbers(r, "4", (uint64_t[]){0x04034b50});
    put_common(r, m, big ? 45 : 20);
    put_numbers(r, "2", (uint64_t[]){big ? 20 : 0});
    put_text(r, m->name, strlen(m->name));
    if (big) {
        put_numbers(r, "2288", (uint64_t[]){1, 16, m->size, m->size});
    }
}

static void central_header(record *r, const member *m)
{
    const uint64_t made_on_unix = 3 << 8 | 45, mode = (uint64_t)0100644 << 16;
    int big = m->size >= UINT32_MAX, far = m->offset >= UINT32_MAX;
    uint64_t extra = (big ? 16 : 0) + (far ? 8 : 0);
    r->n = 0;
    put_numbers(r, "42", (uint64_t[]){0x02014b50, made_on_unix});
    put_common(r, m, extra > 0 ? 45 : 20);
    /* Then zero lengths of comment, disk and internal attributes. */
    put_numbers(r, "222244", (uint64_t[]){extra > 0 ? extra + 4 : 0, 0, 0, 0, mode, narrow(m->offset)});
    put_text(r, m->name, strlen(m->name));
    if (extra > 0) {
        put_numbers(r, "22", (uint64_t[]){1, extra});
        put_numbers(r, big ? "88" : "", (uint64_t[]){m->size, m->size});
        put_numbers(r, far ? "8" : "", &m->offset);
    }
}

int ds_npz_open(ds_npz **out, const char *path, ds_error *e)
{
    *out = NULL;
    ds_npz *z = calloc(1, sizeof *z);
    char *copy = strdup(path);
    if (z == NULL || copy == NULL) {
        free(z);
        free(copy);
        return ds_fail(e, DS_EXIT_MEMORY, "%s: out of memory", path);
    }
    z->path = copy;
    int status = ds_file_open(&z->file, path, e);
    if (status != 0) {
        ds_npz_abort(z);
        return status;
    }
    *out = z;
    return 0;
}

/* crc32() takes 32-bit lengths. */
static uint32_t crc_of(uint32_t crc, const void *data, uint64_t len)
{
    const unsigned char *p = data;
    while (len > 0) {
        uInt n = len < 1u << 30 ? (uInt)len : 1u << 30;
        crc = (uint32_t)crc32(crc, p, n);
        p += n;
        len -= n;
    }
    return crc;
}

/* A member being written: its header, and the number of data bytes that follow. */
typedef struct opening {
    char header[DS_NPY_HEADER_MAX];
    size_t header_size;
    uint64_t bytes;
    member *m;
} opening;

/* Adds a member before its data are read. */
static int begin_member(ds_npz *z, const char *name, int type, uint32_t ndim, const uint64_t *shape,
                        opening *out, ds_error *e)
{
    uint64_t bytes;
    if (z->failed.status != 0) {
        return tell(z, e);
    }
    if (strlen(name) > NAME_MAX_BYTES || data_size(type, ndim, shape, &bytes) != 0) {
        ds_fail(&z->failed, DS_EXIT_IO, "%s: the name of array '%.200s' is too long, or its shape impossible",
                z->path, name);
        return tell(z, e);
    }
    if (z->count == z->room) {
        size_t room = z->room == 0 ? 16 : z->room * 2;
        member *more = realloc(z->members, room * sizeof *more);
        if (more == NULL) {
            ds_fail(&z->failed, DS_EXIT_MEMORY, "%s: out of memory", z->path);
            return tell(z, e);
        }
        z->members = more;
        z->room = room;
    }
    member *m = out->m = &z->members[z->count++];
    out->header_size = ds_npy_header(out->header, type, ndim, shape);
    out->bytes = bytes;
    snprintf(m->name, sizeof m->name, "%s.npy", name);
    m->crc = crc_of(0, out->header, out->header_size);
    m->size = out->header_size + bytes;
    m->offset = z->at;
    return 0;
}

/* Writes the headers before the data; the member's checksum is complete. */
static int emit_heads(ds_npz *z, const opening *o, ds_error *e)
{
    record r;
    local_header(&r, o->m);
    int status = emit(z, r.b, r.n, e);
    return status != 0 ? status : emit(z, o->header, o->header_size, e);
}

int ds_npz_add(ds_npz *z, const char *name, int type, uint32_t ndim, const uint64_t *shape, const void *data,
               ds_error *e)
{
    opening o;
    int status = begin_member(z, name, type, ndim, shape, &o, e);
    if (status != 0) {
        return status;
    }
    o.m->crc = crc_of(o.m->crc, data, o.bytes);
    status = emit_heads(z, &o, e);
    return status != 0 ? status : emit(z, data, (size_t)o.bytes, e);
}

int ds_npz_add_file(ds_npz *z, const char *name, int type, uint32_t ndim, const uint64_t *shape, FILE *data,
                    ds_error *e)
{
    enum { BLOCK = 1 << 16 };
    opening o;
    int status = begin_member(z, name, type, ndim, shape, &o, e);
    char *block = status == 0 ? malloc(BLOCK) : NULL;
    if (status == 0 && block == NULL) {
        ds_fail(&z->failed, DS_EXIT_MEMORY, "%s: out of memory", z->path);
        status = tell(z, e);
    }
    for (int pass = 0; pass < 2 && status == 0; pass++) {
        rewind(data);
        status = pass == 1 ? emit_heads(z, &o, e) : 0;
        for (uint64_t left = o.bytes; left > 0 && status == 0;) {
            const size_t n = fread(block, 1, left < BLOCK ? (size_t)left : BLOCK, data);
            if (n == 0) {
                ds_fail(&z->failed, DS_EXIT_IO, "%s: its temporary file cannot be read", z->path);
                status = tell(z, e);
            } else if (pass == 0) {
                o.m->crc = crc_of(o.m->crc, block, n);
            } else {
                status = emit(z, block, n, e);
            }
            left -= n;
        }
    }
    free(block);
    return status;
}

/* Writes the end records, with zip64 ones first if a 32-bit or 16-bit field would overflow. */
static int write_end(ds_npz *z, uint64_t start, uint64_t size, ds_error *e)
{
    record r = {.n = 0};
    uint64_t end = z->at;
    uint64_t short_count = z->count >= UINT16_MAX ? UINT16_MAX : z->count;
    if (start >= UINT32_MAX || size >= UINT32_MAX || z->count >= UINT16_MAX) {
        put_numbers(&r, "4822448888",
                    (uint64_t[]){0x06064b50, 44, 3 << 8 | 45, 45, 0, 0, z->count, z->count, size, start});
        put_numbers(&r, "4484", (uint64_t[]){0x07064b50, 0, end, 1});
    }
    put_numbers(&r, "42222442",
                (uint64_t[]){0x06054b50, 0, 0, short_count, short_count, narrow(size), narrow(start), 0});
    return emit(z, r.b, r.n, e);
}

int ds_npz_close(ds_npz *z, ds_error *e)
{
    int status = z->failed.status != 0 ? tell(z, e) : 0;
    uint64_t start = z->at;
    for (size_t k = 0; k < z->count && status == 0; k++) {
        record r;
        central_header(&r, &z->members[k]);
        status = emit(z, r.b, r.n, e);
    }
    status = status != 0 ? status : write_end(z, start, z->at - start, e);
    if (status == 0) {
        status = ds_file_commit(z->file, e);
        z->file = NULL;
    }
    ds_npz_abort(z);
    return status;
}

void ds_npz_abort(ds_npz *z)
{
    if (z == NULL) {
        return;
    }
    ds_file_abort(z->file);
    free(z->path);
    free(z->members);
    free(z);
}

/* ---- variables ---- */

/* NumPy stores texts as UCS-4, in elements of equal length. */

_Static_assert((int)DS_NPY_CHARACTERS > (int)DS_MAX_NAME, "every text of a variable fits");

/* Converts UTF-8 to code points. */
static void widen(const char *text, uint32_t out[DS_NPY_CHARACTERS])
{
    size_t left = strlen(text), k = 0;
    memset(out, 0, DS_NPY_CHARACTERS * sizeof *out);
    while (left > 0 && k < DS_NPY_CHARACTERS) {
        size_t bytes = ds_utf8_length(text, left);
        uint32_t c = (unsigned char)*text;
        c = bytes < 2 ? c : c & (0x7fu >> bytes); /* the first of several bytes gives their number */
        bytes = bytes > 0 ? bytes : 1;
        for (size_t i = 1; i < bytes; i++) {
            c = c << 6 | ((unsigned char)text[i] & 0x3fu);
        }
        out[k++] = c;
        text += bytes;
        left -= bytes;
    }
}

int ds_npz_add_variables(ds_npz *z, const ds_named_variable *v, uint64_t n, ds_error *e)
{
    static const struct {
        const char *name;
        size_t offset;
    } field[] = {{"names", offsetof(ds_named_variable, name)},
                 {"units", offsetof(ds_named_variable, unit)},
                 {"groups", offsetof(ds_named_variable, group)}};
    if (v == NULL) {
        return 0;
    }
    uint32_t *text = malloc(n * DS_NPY_CHARACTERS * sizeof *text);
    int rc = text != NULL ? 0 : ds_no_memory(e);
    for (size_t f = 0; f < sizeof field / sizeof *field && rc == 0; f++) {
        for (uint64_t i = 0; i < n; i++) {
            widen((const char *)&v[i] + field[f].offset, text + i * DS_NPY_CHARACTERS);
        }
        rc = ds_npz_add(z, field[f].name, DS_NPY_TEXT, 1, &n, text, e);
    }
    free(text);
    return rc;
}
