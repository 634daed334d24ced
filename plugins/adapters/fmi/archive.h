/* SPDX-License-Identifier: Apache-2.0 */
/* archive.h - reads a .fmu, which is a ZIP archive, and refuses what could write outside of a folder. */
#ifndef DS_ADAPTERS_FMI_ARCHIVE_H
#define DS_ADAPTERS_FMI_ARCHIVE_H

#include <diffsim/helper/zip_read.h>

/* An archive in memory. */
typedef struct archive {
    unsigned char *data;
    ds_zip zip;
} archive;

/* Reads the file and tests the names of all entries: absolute ones, those with "..", links and encrypted
 * entries are refused. 0, or -1 and one line at `why`; archive_close() in both cases. */
int archive_open(archive *a, const char *path, char *why, size_t room);
void archive_close(archive *a);

/* The contents of an entry, with a NUL after them, to be released by free(); NULL and one line where it is
 * missing or damaged. */
char *archive_read(const archive *a, const char *name, size_t *size, char *why, size_t room);

/* The number of files whose names begin with `prefix`. */
unsigned archive_count(const archive *a, const char *prefix);

/* Writes all entries whose names begin with `prefix` below a folder. The number of files, or -1 and a
 * line. */
int archive_extract(const archive *a, const char *prefix, const char *folder, char *why, size_t room);

#endif
