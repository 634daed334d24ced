/* SPDX-License-Identifier: Apache-2.0 */
/* read_png.h - a PNG file as numbers in [0, 1]. Files are written elsewhere (tools/plot, with cairo). */
#ifndef DS_ENGINES_RENDER_READ_PNG_H
#define DS_ENGINES_RENDER_READ_PNG_H

#include <stddef.h>
#include <stdint.h>

enum {
    READ_PNG_MAX_SIDE = 8192,              /* pixels */
    READ_PNG_MAX_BYTES = 64 * 1024 * 1024, /* of a file */
    READ_PNG_TEXT = 512                    /* room for a line */
};

/* [row][column][channel], row 0 on top; 1 channel (grey), 2 (grey, alpha), 3 (RGB) or 4 (RGBA). 8 and 16
 * bit values over 255 and 65535; 1, 2 and 4 bit grey over its largest value; palettes become RGB, with
 * alpha where the file names transparent colours. Alpha is not multiplied in, gamma and colour profiles
 * are not applied. */
typedef struct png_picture {
    uint32_t width, height, channels;
    double *pixel; /* png_picture_free() */
} png_picture;

/* Reads `length` bytes. 0 = done; 1 = not a PNG file, or a damaged one; 2 = out of memory; 3 = too large;
 * 4 = this build has no libpng. Else than 0, `text` (READ_PNG_TEXT) has one line and *out is empty.
 * Several threads may read. */
int png_picture_parse(png_picture *out, const void *data, size_t length, char *text);

/* The same for a file, whose path the line begins with; 5 = it cannot be read. */
int png_picture_read(png_picture *out, const char *path, char *text);

void png_picture_free(png_picture *p);

#endif
