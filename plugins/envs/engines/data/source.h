/* SPDX-License-Identifier: Apache-2.0 */
/* source.h - what the readers of recordings share (see recording.h). */
#ifndef DS_ENGINES_RECORDING_SOURCE_H
#define DS_ENGINES_RECORDING_SOURCE_H

#include "columns.h"

enum { RECORDING_WORD = 64 };

/* The columns that are asked for, the times last. */
typedef struct wanted {
    uint64_t columns; /* without the times */
    int time;         /* 1: those are wanted, too */
    char word[RECORDING_COLUMNS + 1][RECORDING_WORD];
} wanted;

/* Where bytes are read from, and what goes wrong there. */
typedef struct source {
    const unsigned char *bytes;
    size_t length;
    int cut;
    const recording_request *request;
    wanted want;
    recording *out;
    char *error;
} source;

/* One line to s->error; returns RECORDING_MALFORMED. */
int recording_wrong(const source *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Room for the rows; RECORDING_NO_MEMORY where there is none. */
int recording_make(source *s, uint64_t rows);
/* Notes value `column` of a row, a time for column want.columns. */
void recording_put(source *s, uint64_t row, uint64_t column, double value);
/* The number that a word is, from 1, or 0. */
uint64_t recording_number(const char *word);

int recording_text(source *s);
int recording_npy(source *s);
int recording_npz(source *s);

#endif
