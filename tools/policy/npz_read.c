/* SPDX-License-Identifier: Apache-2.0 */
/* npz_read.c - reads .npz files. The directory at the end lists place and size of the members; every field is
 * validated against the actual bytes. Source: PKWARE, "APPNOTE.TXT", 6.3. */
#include "config.h"

#include "policy/npz_read.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/file.h"

enum {
    MEMBERS = 4096,
    NAME_ROOM = 64,
    END_BYTES = 22,
    CENTRAL_BYTES = 46,
    LOCAL_BYTES = 30,
    STORED = 0,
    DEFLATED = 8
};

typedef struct member {
    char name[NAME_ROOM]; /* without ".npy" */
    const unsigned char *data;
    uint32_t method, crc;
    size_t packed, bytes;
} member;

struct ds_npz_reader {
    unsigned char *file;
    size_t bytes;
    char *path;
    member *member;
    size_t count;
};

static uint32_t number(const unsigned char *p, int bytes)
{
    uint32_t v = 0;
    for (int k = bytes; k-- > 0;) {
        v = v << 8 | p[k];
    }
    return v;
}

static int damaged(const ds_npz_reader *r, const char *why, ds_error *e)
{
    return ds_fail(e, DS_EXIT_CONFIG, "%.300s: not an .npz file, or damaged: %s", r->path, why);
}

/* Finds the end record, which may be followed by a comment of at most 64 KiB. */
static const unsigned char *find_end(const ds_npz_reader *r)
{
    const size_t least = r->bytes > END_BYTES + 0xffff ? r->bytes - END_BYTES - 0xffff : 0;
    for (size_t at = r->bytes >= END_BYTES ? r->bytes - END_BYTES + 1 : 0; at-- > least;) {
        const unsigned char *p = r->file + at;
        if (memcmp(p, "PK\5\6", 4) == 0 && number(p + 20, 2) == r->bytes - END_BYTES - at) {
            return p;
        }
    }
    return NULL;
}

/* Offset of the data of the member whose local header is at `at`; 0 = outside of the file. */
static size_t data_at(const ds_npz_reader *r, size_t at)
{
    if (at > r->bytes || r->bytes - at < LOCAL_BYTES || memcmp(r->file + at, "PK\3\4", 4) != 0) {
        return 0;
    }
    const size_t names = number(r->file + at + 26, 2) + number(r->file + at + 28, 2);
    return r->bytes - at - LOCAL_BYTES >= names ? at + LOCAL_BYTES + names : 0;
}

/* Reads the central header at p. Returns NULL, or the error. */
static const char *read_member(const ds_npz_reader *r, const unsigned char *p, member *m)
{
    const size_t length = number(p + 28, 2), at = data_at(r, number(p + 42, 4));
    m->method = number(p + 10, 2);
    m->crc = number(p + 16, 4);
    m->packed = number(p + 20, 4);
    m->bytes = number(p + 24, 4);
    m->data = r->file + at;
    const int kept =
        length >= 5 && length - 4 < NAME_ROOM && memcmp(p + CENTRAL_BYTES + length - 4, ".npy", 4) == 0;
    snprintf(m->name, sizeof m->name, "%.*s", kept ? (int)length - 4 : 0, (const char *)p + CENTRAL_BYTES);
    return (number(p + 8, 2) & 1) != 0                    ? "a member is encrypted"
           : m->method != STORED && m->method != DEFLATED ? "a member has an unsupported compression"
           : m->packed == UINT32_MAX || m->bytes == UINT32_MAX
               ? "a member has more than 4 GiB, which is unsupported"
           : at == 0 || r->bytes - at < m->packed         ? "a member lies outside of the file"
           : m->method == STORED && m->packed != m->bytes ? "a member has two different sizes"
                                                          : NULL;
}

static int read_directory(ds_npz_reader *r, size_t limit, ds_error *e)
{
    const unsigned char *end = r->bytes > 0 ? find_end(r) : NULL;
    if (end == NULL) {
        return damaged(r, "its end record is missing", e);
    }
    size_t count = number(end + 10, 2), at = number(end + 16, 4), stop = (size_t)(end - r->file), total = 0;
    r->member = count <= MEMBERS ? calloc(count + 1, sizeof *r->member) : NULL;
    if (r->member == NULL) {
        return count <= MEMBERS ? ds_no_memory(e) : damaged(r, "it has too many members", e);
    }
    for (; r->count < count; r->count++) {
        member *m = &r->member[r->count];
        const unsigned char *p = r->file + at;
        if (at > stop || stop - at < CENTRAL_BYTES || memcmp(p, "PK\1\2", 4) != 0) {
            return damaged(r, "its directory is cut off", e);
        }
        const size_t rest = number(p + 28, 2) + number(p + 30, 2) + number(p + 32, 2);
        if (stop - at - CENTRAL_BYTES < rest) {
            return damaged(r, "its directory is cut off", e);
        }
        const char *why = read_member(r, p, m);
        total += m->bytes;
        if (why != NULL || total > limit) {
            return damaged(r, why != NULL ? why : "its arrays are too large", e);
        }
        at += CENTRAL_BYTES + rest;
    }
    return 0;
}

int ds_npz_parse(void *data, size_t bytes, const char *name, size_t limit, ds_npz_reader **out, ds_error *e)
{
    ds_npz_reader *r = calloc(1, sizeof *r);
    char *path = strdup(name);
    *out = NULL;
    if (r == NULL || path == NULL) {
        free(r);
        free(path);
        free(data);
        return ds_no_memory(e);
    }
    *r = (ds_npz_reader){.file = data, .bytes = bytes, .path = path};
    int rc = read_directory(r, limit, e);
    if (rc != 0) {
        ds_npz_reader_free(r);
        return rc;
    }
    *out = r;
    return 0;
}

int ds_npz_read(const char *path, size_t limit, ds_npz_reader **out, ds_error *e)
{
    void *data = NULL;
    size_t bytes = 0;
    int rc = ds_file_read(path, limit, &data, &bytes, DS_EXIT_CONFIG, e);
    return rc != 0 ? rc : ds_npz_parse(data, bytes, path, limit, out, e);
}

void ds_npz_reader_free(ds_npz_reader *r)
{
    if (r != NULL) {
        free(r->file);
        free(r->path);
        free(r->member);
        free(r);
    }
}

/* ---- members ---- */

static const member *find(const ds_npz_reader *r, const char *name)
{
    size_t i = 0;
    while (i < r->count && strcmp(r->member[i].name, name) != 0) {
        i++;
    }
    return i < r->count ? &r->member[i] : NULL;
}

int ds_npz_has(const ds_npz_reader *r, const char *name)
{
    return find(r, name) != NULL;
}

size_t ds_npz_count(const ds_npz_reader *r)
{
    return r->count;
}

const char *ds_npz_name(const ds_npz_reader *r, size_t i)
{
    return r->member[i].name;
}

static int unpack(const member *m, unsigned char *to)
{
    z_stream z = {.next_in = (unsigned char *)(uintptr_t)m->data,
                  .avail_in = (uInt)m->packed,
                  .next_out = to,
                  .avail_out = (uInt)m->bytes};
    if (inflateInit2(&z, -MAX_WBITS) != Z_OK) {
        return -1;
    }
    int ended = inflate(&z, Z_FINISH) == Z_STREAM_END && z.total_out == m->bytes;
    inflateEnd(&z);
    return ended ? 0 : -1;
}

/* The bytes of a member, to be freed, and its name for messages. */
static int take(const ds_npz_reader *r, const char *name, unsigned char **out, size_t *bytes, char label[400],
                ds_error *e)
{
    const member *m = find(r, name);
    *out = NULL;
    snprintf(label, 400, "%.300s: %s", r->path, name);
    if (m == NULL) {
        return ds_fail(e, DS_EXIT_CONFIG, "%s: the file has no such array", label);
    }
    *out = malloc(m->bytes + 1);
    *bytes = m->bytes;
    if (*out == NULL) {
        return ds_no_memory(e);
    }
    int bad = 0;
    if (m->method == DEFLATED) {
        bad = unpack(m, *out) != 0;
    } else {
        memcpy(*out, m->data, m->bytes);
    }
    if (bad || (uint32_t)crc32(0, *out, (uInt)m->bytes) != m->crc) {
        free(*out);
        *out = NULL;
        return ds_fail(e, DS_EXIT_CONFIG, "%s: damaged: wrong checksum", label);
    }
    return 0;
}

int ds_npz_array(const ds_npz_reader *r, const char *name, ds_array *out, ds_error *e)
{
    unsigned char *data;
    size_t bytes = 0;
    char label[400];
    memset(out, 0, sizeof *out);
    int rc = take(r, name, &data, &bytes, label, e);
    rc = rc != 0 ? rc : ds_array_parse_npy(data, bytes, label, 0, DS_EXIT_CONFIG, out, e);
    free(data);
    return rc;
}

int ds_npz_array_gaps(const ds_npz_reader *r, const char *name, ds_array *out, ds_error *e)
{
    unsigned char *data;
    size_t bytes = 0;
    char label[400];
    memset(out, 0, sizeof *out);
    int rc = take(r, name, &data, &bytes, label, e);
    rc = rc != 0 ? rc : ds_array_parse_npy_gaps(data, bytes, label, 0, DS_EXIT_CONFIG, out, e);
    free(data);
    return rc;
}

int ds_npz_text(const ds_npz_reader *r, const char *name, char **out, ds_error *e)
{
    unsigned char *data;
    size_t bytes = 0;
    char label[400];
    *out = NULL;
    int rc = take(r, name, &data, &bytes, label, e);
    rc = rc != 0 ? rc : ds_text_parse_npy(data, bytes, label, DS_EXIT_CONFIG, out, e);
    free(data);
    return rc;
}
