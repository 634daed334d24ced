/* SPDX-License-Identifier: Apache-2.0 */
/* recording.h - columns of numbers from a file: text (comma, semicolon or blanks between columns, with or
 * without names in its first line, '#' comments), NumPy's .npy and .npz, each of them also compressed by
 * gzip. Text is read no further than the rows that are asked for. */
#ifndef DS_ENGINES_RECORDING_H
#define DS_ENGINES_RECORDING_H

#include "columns.h"

/* Reads from bytes; `cut`: more follows in the file, and its last line may not be whole. On failure `error`
 * (RECORDING_ERROR bytes) is one line that says where, and *r is empty. */
int recording_parse(recording *r, const recording_request *q, const void *bytes, size_t length, int cut,
                    char *error);
/* The same of a file. */
int recording_read(recording *r, const recording_request *q, const char *path, char *error);
void recording_free(recording *r);

#endif
