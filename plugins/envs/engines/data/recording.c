/* SPDX-License-Identifier: Apache-2.0 */
/* recording.c - which kind of file a recording is, and what all of them have in common (see recording.h). */
#include "recording.h"

#include "source.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

static int no_memory(char *error)
{
    snprintf(error, RECORDING_ERROR, "out of memory");
    return RECORDING_NO_MEMORY;
}

/* ---- what is asked for ---- */

static int take_word(source *s, const char *at, size_t length, uint64_t column)
{
    if (length >= RECORDING_WORD) {
        return recording_wrong(s, "the name of a column is too long: '%.40s'", at);
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
            return recording_wrong(s, "more than %d columns are asked for", RECORDING_COLUMNS);
        }
        status = take_word(s, at, length, s->want.columns++);
        at += length;
    }
    if (status == RECORDING_OK && s->want.columns == 0) {
        return recording_wrong(s, "no column is asked for");
    }
    s->want.time = s->request->time[0] != '\0';
    return status == RECORDING_OK && s->want.time
               ? take_word(s, s->request->time, strlen(s->request->time), s->want.columns)
               : status;
}

/* ---- what all recordings must be ---- */

static int check(const source *s)
{
    const recording *r = s->out;
    for (uint64_t i = 0; i < r->rows; i++) {
        const unsigned long long row = s->request->first + i + 1;
        for (uint64_t c = 0; c < r->columns; c++) {
            const double v = r->value[i * r->columns + c];
            if (isinf(v) || fabs(v) > 1e12) {
                return recording_wrong(s, "row %llu, column %s: %g is no measured value", row,
                                       s->want.word[c], v);
            }
        }
        if (r->time != NULL && (!isfinite(r->time[i]) || fabs(r->time[i]) > 1e12)) {
            return recording_wrong(s, "row %llu: the time is missing", row);
        }
        if (r->time != NULL && i > 0 && !(r->time[i] > r->time[i - 1])) {
            return recording_wrong(s, "row %llu: time %g comes after %g: times must increase", row,
                                   r->time[i], r->time[i - 1]);
        }
    }
    return r->rows > 0 ? RECORDING_OK : recording_wrong(s, "there are no rows of numbers");
}

static int parse(source *s)
{
    static const unsigned char npy[6] = {0x93, 'N', 'U', 'M', 'P', 'Y'}, zip[4] = {'P', 'K', 3, 4};
    int status = read_request(s);
    if (status != RECORDING_OK) {
        return status;
    }
    if (s->length >= sizeof npy && memcmp(s->bytes, npy, sizeof npy) == 0) {
        status = recording_npy(s);
    } else if (s->length >= sizeof zip && memcmp(s->bytes, zip, sizeof zip) == 0) {
        status = recording_npz(s);
    } else {
        status = recording_text(s);
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
        if (length == room) { /* grows, so that a small file takes little */
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
