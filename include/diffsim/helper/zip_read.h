/* SPDX-License-Identifier: Apache-2.0 */
/* diffsim/helper/zip_read.h - reads zip archives in memory, such as NumPy's .npz (its members: npy_read.h).
 *
 * Header only, optional, no part of the binary interface; needs zlib (-lz). Nothing is trusted: every input
 * ends with bytes or with a reason.
 *
 *     ds_zip z;
 *     ds_zip_member m;
 *     const char *why = ds_zip_open(&z, bytes, count);
 *     for (size_t i = 0, at = z.directory; why == NULL && i < z.members; i++) {
 *         why = ds_zip_next(&z, &at, &m);
 *         if (why == NULL && m has the name that is wanted) {
 *             why = ds_zip_flaw(&m);
 *             allocate m.bytes + 1 bytes; ds_zip_unpack(&m, to)
 *         }
 *     }
 *
 * The directory at the end of a zip file lists place and size of its members, each stored or deflated.
 * Source: PKWARE, "APPNOTE.TXT", 6.3, without ZIP64. */
#ifndef DIFFSIM_HELPER_ZIP_READ_H
#define DIFFSIM_HELPER_ZIP_READ_H

#include <stdint.h>
#include <string.h>
#include <zlib.h>

enum { DS_ZIP_LOCAL = 30, DS_ZIP_CENTRAL = 46, DS_ZIP_END = 22, DS_ZIP_STORED = 0, DS_ZIP_DEFLATED = 8 };

/* An archive in memory that belongs to the caller. */
typedef struct ds_zip {
    const unsigned char *data;
    size_t bytes;
    size_t directory, end; /* where the directory begins, and the record after it */
    uint32_t members;
} ds_zip;

typedef struct ds_zip_member {
    const char *name; /* in the archive, without a NUL; may hold any bytes */
    size_t length;    /* of the name */
    uint32_t flags, method, crc;
    uint32_t mode; /* st_mode, 0 where it was not made on Unix */
    size_t packed, bytes;
    const unsigned char *data; /* `packed` bytes; NULL = outside of the file */
} ds_zip_member;

/* Finds the directory; a comment of at most 64 KiB may follow it. Returns NULL, or what is wrong. */
static inline const char *ds_zip_open(ds_zip *z, const void *data, size_t bytes);

/* Reads the directory at *at, from z->directory on, and moves *at to the next member. Returns NULL, or what
 * is wrong. */
static inline const char *ds_zip_next(const ds_zip *z, size_t *at, ds_zip_member *m);

/* Why a member cannot be unpacked, or NULL. */
static inline const char *ds_zip_flaw(const ds_zip_member *m);

/* Writes the bytes of a member without a flaw to `to`, which has room for one more. Returns 0 where size or
 * checksum are wrong. */
static inline int ds_zip_unpack(const ds_zip_member *m, void *to);

#include <diffsim/helper/zip_read.inl>

#endif
