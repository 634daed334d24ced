/* SPDX-License-Identifier: Apache-2.0 */
/* recording.h - reads columns of numbers from a file: text (comma, semicolon or blanks between columns, with
 * or without names in its first line, '#' comments), NumPy's .npy and .npz, each also compressed by gzip.
 * Text is read only as far as the requested rows. */
#ifndef DS_ENGINES_RECORDING_H
#define DS_ENGINES_RECORDING_H

#include <stddef.h>
#include <stdint.h>

enum {
    RECORDING_COLUMNS = 16, /* most columns of a request */
    RECORDING_ERROR = 512,
    RECORDING_ROWS = 1 << 20,
    RECORDING_BYTES = 1 << 26 /* largest file after decompression */
};

/* A column is a name, or a number from 1. In an .npz it is the name of an array of one dimension, or "name.2"
 * for column 2 of an array of two. */
typedef struct recording_request {
    const char *columns; /* words separated by blanks or commas */
    const char *time;    /* column of the times; "": none */
    /* first row, from 0, and number of rows; rows 0: all */
    uint64_t first, rows;
} recording_request;

typedef struct recording {
    uint64_t rows, columns;
    double *value; /* [rows][columns]; NAN where a value is missing: an empty field, nan, na or null */
    double *time;  /* [rows], ascending; NULL if not requested */
} recording;

enum { RECORDING_OK, RECORDING_MALFORMED, RECORDING_NO_MEMORY, RECORDING_UNREADABLE };

/* Reads from memory. `cut`: the file continues, and its last line may be incomplete. On failure `error`
 * (RECORDING_ERROR bytes) is one line that says where, and *r is empty. */
int recording_parse(recording *r, const recording_request *q, const void *bytes, size_t length, int cut,
                    char *error);
/* Reads a file, likewise. */
int recording_read(recording *r, const recording_request *q, const char *path, char *error);
void recording_free(recording *r);

#endif
