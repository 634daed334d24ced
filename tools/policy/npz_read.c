/* SPDX-License-Identifier: Apache-2.0 */
/* npz_read.c - reads .npz files (diffsim/helper/zip_read.h). */
#include "config.h"

#include "policy/npz_read.h"

#include <diffsim/helper/zip_read.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

enum { MEMBERS = 4096, NAME_ROOM = 64 };

typedef struct member {
    char name[NAME_ROOM]; /* without ".npy" */
    ds_zip_member zip;
} member;

struct ds_npz_reader {
    unsigned char *file;
    char *path;
    member *member;
    size_t count;
};

static int damaged(const ds_npz_reader *r, const char *why, ds_error *e)
{
    return ds_fail(e, DS_EXIT_CONFIG, "%.300s: not an .npz file, or damaged: %s", r->path, why);
}

/* Names the member, "" where it is no array with a name that is short enough. */
static void name_member(member *m)
{
    const size_t n = m->zip.length;
    const int kept = n >= 5 && n - 4 < NAME_ROOM && memcmp(m->zip.name + n - 4, ".npy", 4) == 0;
    snprintf(m->name, sizeof m->name, "%.*s", kept ? (int)n - 4 : 0, m->zip.name);
}

static int read_directory(ds_npz_reader *r, size_t bytes, size_t limit, ds_error *e)
{
    ds_zip z;
    const char *why = ds_zip_open(&z, r->file, bytes);
    size_t at = z.directory, total = 0;
    why = why != NULL || z.members <= MEMBERS ? why : "it has too many members";
    r->member = why == NULL ? calloc(z.members + 1, sizeof *r->member) : NULL;
    if (why == NULL && r->member == NULL) {
        return ds_no_memory(e);
    }
    for (; why == NULL && r->count < z.members; r->count++) {
        member *m = &r->member[r->count];
        why = ds_zip_next(&z, &at, &m->zip);
        if (why == NULL) {
            name_member(m);
            total += m->zip.bytes;
            why = ds_zip_flaw(&m->zip);
            why = why == NULL && total > limit ? "its arrays are too large" : why;
        }
    }
    return why != NULL ? damaged(r, why, e) : 0;
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
    *r = (ds_npz_reader){.file = data, .path = path};
    int rc = read_directory(r, bytes, limit, e);
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
    *out = malloc(m->zip.bytes + 1);
    *bytes = m->zip.bytes;
    if (*out == NULL) {
        return ds_no_memory(e);
    }
    if (!ds_zip_unpack(&m->zip, *out)) {
        free(*out);
        *out = NULL;
        return ds_fail(e, DS_EXIT_CONFIG, "%s: damaged: wrong checksum", label);
    }
    return 0;
}

typedef int parse_array(const void *p, size_t len, const char *name, uint64_t max_size, int status,
                        ds_array *out, ds_error *e);

static int read_array(const ds_npz_reader *r, const char *name, parse_array *parse, ds_array *out,
                      ds_error *e)
{
    unsigned char *data;
    size_t bytes = 0;
    char label[400];
    memset(out, 0, sizeof *out);
    int rc = take(r, name, &data, &bytes, label, e);
    rc = rc != 0 ? rc : parse(data, bytes, label, 0, DS_EXIT_CONFIG, out, e);
    free(data);
    return rc;
}

int ds_npz_array(const ds_npz_reader *r, const char *name, ds_array *out, ds_error *e)
{
    return read_array(r, name, ds_array_parse_npy, out, e);
}

int ds_npz_array_gaps(const ds_npz_reader *r, const char *name, ds_array *out, ds_error *e)
{
    return read_array(r, name, ds_array_parse_npy_gaps, out, e);
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
