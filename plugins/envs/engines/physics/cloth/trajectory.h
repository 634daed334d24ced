/* SPDX-License-Identifier: Apache-2.0 */
/* trajectory.h - a recorded lift of a cloth: positions of the gripper and the four corners. Text format
 * "ds-cloth-1": header lines `key = value`, a line `data`, then rows of 16 numbers: t, gripper x y z, corners
 * 0..3 x y z. A corner that was not seen is three `nan`. '#' starts a comment. Metres and seconds, y up. */
#ifndef DS_ENGINES_CLOTH_TRAJECTORY_H
#define DS_ENGINES_CLOTH_TRAJECTORY_H

#include <stddef.h>
#include <stdint.h>

enum { TRAJECTORY_COLUMNS = 16, TRAJECTORY_MAX_ROWS = 100000 };

typedef struct trajectory {
    double size[2]; /* nominal width and length, m */
    double rate;    /* 1/s, for information; 0 = not given */
    uint64_t rows;
    double *row; /* rows x 16 */
} trajectory;

/* Reads `length` bytes of text. Returns 0 = done, 1 = malformed, 2 = out of memory. After a failure `error`
 * (512 bytes) has one line that names the line of the text, and *t is empty. */
int trajectory_parse(trajectory *t, const char *text, size_t length, char *error);

/* The same for a file; also returns 3 = it cannot be read. */
int trajectory_read(trajectory *t, const char *path, char *error);

void trajectory_free(trajectory *t);

#endif
