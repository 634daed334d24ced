/* SPDX-License-Identifier: Apache-2.0 */
/* diffsim/helper/npz.h - makes an .npz file in memory: named arrays that numpy.load() reads.
 *
 * Header only, optional, no part of the binary interface; C library only. For files that an optimizer saves
 * (diffsim/ext/draft/files.h):
 *
 *     ds_npz_memory z = {0};
 *     uint64_t shape[2] = {rows, columns};
 *     ds_npz_put(&z, "weights", "<f4", 2, shape, w);
 *     ds_npz_put_text(&z, "method", "walk");
 *     if (ds_npz_finish(&z)) {
 *         files->save(objective, "model.npz", z.data, z.bytes);
 *     }
 *     ds_npz_free(&z);
 *
 * and in Python
 *
 *     model = numpy.load("results/run/model.npz")
 *     model["weights"], str(model["method"])
 *
 * Types of elements have NumPy's names:
 *
 *     "<f8"  double       "<i8"  int64_t      "<u8"  uint64_t     "|u1"  unsigned char
 *     "<f4"  float        "<i4"  int32_t      "<u4"  uint32_t     "<Un"  n characters, uint32_t each
 *
 * Equal arrays give equal bytes: members are stored without compression and with the time 1980-01-01, so that
 * a resumed run ends with the same file. After a failure (no memory, a name that is too long, too many
 * arrays, more than 2000 MiB) nothing more is added and finish() returns 0, so one test at the end is enough.
 * Numbers are little-endian, and so must the machine be. One thread at a time; different files are
 * independent.
 *
 * Format: for each array a local header, its name and an .npy file; then the directory, a central header for
 * each array; last the end record, which readers read first. All fields are the short ones, without the
 * extensions for files of more than 4 GiB.
 *
 * Sources: NumPy, "NPY format", version 1.0; PKWARE, "APPNOTE.TXT", 6.3. */
#ifndef DIFFSIM_HELPER_NPZ_H
#define DIFFSIM_HELPER_NPZ_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    /* Arrays of one file. */
    DS_NPZ_MEMBERS = 128,
    /* Bytes of a name without its ".npy". */
    DS_NPZ_NAME = 59,
    /* Most bytes of the header of an array. */
    DS_NPZ_HEADER = 512,
    /* Most dimensions of a shape. */
    DS_NPZ_DIMENSIONS = 8,
    /* Most MiB of a file: what the short fields of zip files hold. */
    DS_NPZ_LONGEST = 2000
};

/* A file being made; starts as zeros. After finish(), read `data` (from malloc()) and `bytes`; the other
 * fields are private. `failed` is set by the first failure. Each array has its name with ".npy", the CRC-32
 * and the size of header and elements, and the offset of its local header. */
typedef struct ds_npz_memory {
    unsigned char *data;
    uint64_t bytes, room;
    int failed;
    uint32_t count;
    struct {
        char name[DS_NPZ_NAME + 5];
        uint32_t crc, bytes, at;
    } member[DS_NPZ_MEMBERS];
} ds_npz_memory;

/* Writes the header of an .npy file: magic, version 1.0, its length in two bytes, and a Python dictionary as
 * text, padded with blanks to a multiple of 64 bytes so that the elements after it are aligned. The array is
 * in C order, has elements of type `descr` (see above) and at most 8 dimensions; 0 dimensions = a single
 * element, `shape` may then be NULL. Returns the length of the header. */
static inline size_t ds_npy_head(char out[DS_NPZ_HEADER], const char *descr, uint32_t ndim,
                                 const uint64_t *shape)
{
    char dims[DS_NPZ_DIMENSIONS * 22 + 4];
    size_t n = 0;
    for (uint32_t k = 0; k < ndim && k < DS_NPZ_DIMENSIONS; k++) {
        n += (size_t)snprintf(dims + n, sizeof dims - n, "%s%llu", k > 0 ? ", " : "",
                              (unsigned long long)shape[k]);
    }
    snprintf(dims + n, sizeof dims - n, "%s", ndim == 1 ? "," : "");
    size_t len = (size_t)snprintf(out + 10, DS_NPZ_HEADER - 10,
                                  "{'descr': '%.20s', 'fortran_order': False, 'shape': (%s), }", descr, dims);
    /* Spaces and a newline bring magic + version + length + text to a multiple of 64 bytes. */
    size_t total = (10 + len + 1 + 63) / 64 * 64;
    memset(out + 10 + len, ' ', total - 10 - len);
    out[total - 1] = '\n';
    memcpy(out, "\x93NUMPY\x01\x00", 8);
    out[8] = (char)((total - 10) & 0xff);
    out[9] = (char)((total - 10) >> 8);
    return total;
}

/* CRC-32 of zip files (polynomial 0xedb88320, reflected), continued from `crc`, 0 at the start: the CRC of
 * two pieces is ds_npz_crc(ds_npz_crc(0, first, n), second, m). */
static inline uint32_t ds_npz_crc(uint32_t crc, const void *data, uint64_t bytes)
{
    const unsigned char *p = (const unsigned char *)data;
    /* A table for half bytes, computed in each call, so that threads share no state. */
    uint32_t table[16];
    for (uint32_t i = 0; i < 16; i++) {
        table[i] = i;
        for (int bit = 0; bit < 4; bit++) {
            table[i] = table[i] >> 1 ^ (0xedb88320u & (0u - (table[i] & 1u)));
        }
    }
    crc = ~crc;
    for (uint64_t i = 0; i < bytes; i++) {
        crc ^= p[i];
        crc = crc >> 4 ^ table[crc & 15];
        crc = crc >> 4 ^ table[crc & 15];
    }
    return ~crc;
}

/* Appends bytes to the file, for the functions below. Room is doubled, so that many small arrays cost no more
 * than a large one. */
static inline void ds_npz_append(ds_npz_memory *z, const void *data, uint64_t bytes)
{
    const uint64_t most = (uint64_t)DS_NPZ_LONGEST << 20;
    if (z->failed || bytes > most || z->bytes + bytes > most) {
        z->failed = 1;
        return;
    }
    if (z->bytes + bytes > z->room) {
        uint64_t room = 2 * (z->bytes + bytes) + 4096;
        unsigned char *more = (unsigned char *)realloc(z->data, (size_t)room);
        if (more == NULL) {
            z->failed = 1;
            return;
        }
        z->data = more;
        z->room = room;
    }
    if (bytes > 0) {
        memcpy(z->data + z->bytes, data, (size_t)bytes);
        z->bytes += bytes;
    }
}

/* Appends numbers of one to four bytes each, lowest byte first, as in zip records. `widths` has one digit per
 * number: "422" means one of four bytes and two of two. */
static inline void ds_npz_numbers(ds_npz_memory *z, const char *widths, const uint32_t *v)
{
    for (; *widths != '\0'; widths++, v++) {
        unsigned char byte[4];
        for (int k = 0; k < 4; k++) {
            byte[k] = (unsigned char)(*v >> (8 * k));
        }
        ds_npz_append(z, byte, (uint64_t)(*widths - '0'));
    }
}

/* The part that the local and the central header of member m share, with the bytes of each field:
 *
 *     2  version of the format that a reader needs   20, 2.0
 *     2  flags                                       0x0800, the name is UTF-8
 *     2  method                                      0, stored
 *     2  time                                        0
 *     2  date                                        0x21, 1980-01-01
 *     4  CRC-32 of header and elements
 *     4  bytes in the file
 *     4  bytes of header and elements                the same
 *     2  bytes of the name
 *     2  bytes of extra fields                       0
 */
static inline void ds_npz_common(ds_npz_memory *z, uint32_t m)
{
    const uint32_t crc = z->member[m].crc, bytes = z->member[m].bytes;
    const uint32_t v[] = {20, 0x0800, 0, 0, 0x21, crc, bytes, bytes, (uint32_t)strlen(z->member[m].name), 0};
    ds_npz_numbers(z, "2222244422", v);
}

/* Adds a copy of an array under a unique name of at most 59 bytes: elements of type `descr` (see above), as
 * many as the product of the shape, in C order. ndim = 0 is a single element, whose shape may be NULL. With a
 * 0 in its shape an array is empty, and data may be NULL. */
static inline void ds_npz_put(ds_npz_memory *z, const char *name, const char *descr, uint32_t ndim,
                              const uint64_t *shape, const void *data)
{
    char header[DS_NPZ_HEADER];
    /* Bytes of an element, then of all; one more than allowed where they do not fit. */
    uint64_t size = strlen(descr) > 2 ? strtoull(descr + 2, NULL, 10) * (descr[1] == 'U' ? 4u : 1u) : 0;
    const uint64_t most = (uint64_t)DS_NPZ_LONGEST << 20;
    for (uint32_t k = 0; k < ndim && k < DS_NPZ_DIMENSIONS; k++) {
        size = shape[k] > most || size * shape[k] > most ? most + 1 : size * shape[k];
    }
    if (z->failed || z->count >= DS_NPZ_MEMBERS || strlen(name) > DS_NPZ_NAME || ndim > DS_NPZ_DIMENSIONS ||
        size > most) {
        z->failed = 1;
        return;
    }
    /* The CRC precedes the data, so it is computed first. */
    size_t head = ds_npy_head(header, descr, ndim, shape);
    uint32_t m = z->count++;
    snprintf(z->member[m].name, sizeof z->member[m].name, "%s.npy", name);
    z->member[m].crc = ds_npz_crc(ds_npz_crc(0, header, head), data, size);
    z->member[m].bytes = (uint32_t)(head + size);
    z->member[m].at = (uint32_t)z->bytes;
    const uint32_t signature = 0x04034b50;
    ds_npz_numbers(z, "4", &signature);
    ds_npz_common(z, m);
    ds_npz_append(z, z->member[m].name, strlen(z->member[m].name));
    ds_npz_append(z, header, head);
    ds_npz_append(z, data, size);
}

/* Adds a NUL-terminated UTF-8 text as a single element of type "<Un", which Python's str() turns into a
 * string. n is the number of characters, but 1 for "", because NumPy has no shorter type and drops the zero.
 * Bytes that are not UTF-8 become '?'. */
static inline void ds_npz_put_text(ds_npz_memory *z, const char *name, const char *text)
{
    char descr[24];
    const unsigned char *p = (const unsigned char *)text;
    uint64_t n = 0, bytes = strlen(text);
    uint32_t *points = (uint32_t *)calloc((size_t)bytes + 1, sizeof *points);
    if (points == NULL) {
        z->failed = 1;
        return;
    }
    /* The first byte says how many more follow, each beginning with the bits 10. If they do not, only the
     * first byte is replaced, and the next one begins a character. The final NUL never counts as a following
     * byte. */
    for (uint64_t i = 0; i < bytes; n++) {
        const unsigned char c = p[i++];
        const uint32_t more = c < 0x80 ? 0u : c < 0xe0 ? 1u : c < 0xf0 ? 2u : 3u;
        uint32_t k = 0, point = more == 0 ? c : c & (0x3fu >> more);
        while (k < more && (p[i + k] & 0xc0) == 0x80) {
            point = point << 6 | (p[i + k++] & 0x3fu);
        }
        const int good = k == more && (c < 0x80 || c >= 0xc2) && c < 0xf5 && point <= 0x10ffff;
        points[n] = good ? point : '?';
        i += good ? more : 0;
    }
    snprintf(descr, sizeof descr, "<U%llu", (unsigned long long)(n > 0 ? n : 1));
    ds_npz_put(z, name, descr, 0, NULL, points);
    free(points);
}

/* Writes the directory and the end record. Returns 1 = data and bytes are the file, 0 = an earlier call
 * failed. After the common part a central header has
 *
 *     2  bytes of a comment                          0
 *     2  number of the disk                          0
 *     2  kind of content                             0, binary
 *     4  permissions                                 0100644 of Unix, in the upper half
 *     4  offset of the local header
 *
 * and the end record has the numbers of this and of the first disk (0), the number of arrays on this disk and
 * on all, size and offset of the directory, and the bytes of a comment (0). */
static inline int ds_npz_finish(ds_npz_memory *z)
{
    const uint32_t start = (uint32_t)z->bytes;
    for (uint32_t m = 0; m < z->count; m++) {
        const uint32_t head[] = {0x02014b50, 3 << 8 | 20 /* made on Unix */};
        const uint32_t tail[] = {0, 0, 0, (uint32_t)0100644 << 16, z->member[m].at};
        ds_npz_numbers(z, "42", head);
        ds_npz_common(z, m);
        ds_npz_numbers(z, "22244", tail);
        ds_npz_append(z, z->member[m].name, strlen(z->member[m].name));
    }
    const uint32_t end[] = {0x06054b50, 0, 0, z->count, z->count, (uint32_t)z->bytes - start, start, 0};
    ds_npz_numbers(z, "42222442", end);
    return !z->failed;
}

/* Releases the memory. The struct is then empty and can hold another file. */
static inline void ds_npz_free(ds_npz_memory *z)
{
    free(z->data);
    memset(z, 0, sizeof *z);
}

#endif
