/* SPDX-License-Identifier: Apache-2.0 */
/* columns.h - what is asked of a recording, and what it answers (see recording.h). */
#ifndef DS_ENGINES_RECORDING_COLUMNS_H
#define DS_ENGINES_RECORDING_COLUMNS_H

#include <stddef.h>
#include <stdint.h>

enum {
    RECORDING_COLUMNS = 16, /* most that can be asked for */
    RECORDING_ERROR = 512,
    RECORDING_ROWS = 1 << 20,
    RECORDING_BYTES = 1 << 26 /* of a file after decompression, as far as it is read */
};

/* What is wanted of a file. A column is its name, or its number from 1. In an .npz it is the name of an array
 * of one dimension, or "name.2" for a column of one with two. */
typedef struct recording_request {
    const char *columns; /* words */
    const char *time;    /* column of the times, "": none */
    /* from this row of numbers on, 0 the first, so many or as far as there are; rows 0: all */
    uint64_t first, rows;
} recording_request;

typedef struct recording {
    uint64_t rows, columns;
    double *value; /* [rows][columns]; NAN where a value is missing: an empty field, nan, na or null */
    double *time;  /* [rows], ascending; NULL where none was asked for */
} recording;

enum { RECORDING_OK, RECORDING_MALFORMED, RECORDING_NO_MEMORY, RECORDING_UNREADABLE };

#endif
