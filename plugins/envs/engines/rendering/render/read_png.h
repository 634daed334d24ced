/* SPDX-License-Identifier: Apache-2.0 */
/* read_png.h - a PNG file as numbers in [0, 1]. Files are written elsewhere (tools/plot, with cairo). */
#ifndef DS_ENGINES_RENDER_READ_PNG_H
#define DS_ENGINES_RENDER_READ_PNG_H

#include <stddef.h>
#include <stdint.h>

enum {
    READ_PNG_MAX_SIDE = 4096,              /* pixels */
    READ_PNG_MAX_BYTES = 64 * 1024 * 1024, /* of a file */
    READ_PNG_TEXT = 512                    /* room for a line */
};

/* [row][column][channel], row 0 on top; 1 channel (grey), 2 (grey, alpha), 3 (RGB) or 4 (RGBA). Values are
 * those of the file over the largest that it can hold: 8 and 16 bits, grey also 1, 2 and 4; palettes become
 * RGB; transparent colours become alpha. Alpha is not multiplied in, gamma and colour profiles are not
 * applied. */
typedef struct png_picture {
    uint32_t width, height, channels;
    double *pixel; /* png_picture_free() */
} png_picture;

enum {
    READ_PNG_OK = 0,
    READ_PNG_MALFORMED = 1, /* no PNG file, or a damaged one */
    READ_PNG_NO_MEMORY = 2,
    READ_PNG_TOO_LARGE = 3,
    READ_PNG_MISSING = 4, /* this build has no libpng */
    READ_PNG_IO = 5       /* the file cannot be read */
};

/* Reads `length` bytes. READ_PNG_OK, or what else is the matter; then `text` (READ_PNG_TEXT) has one line and
 * *out is empty. Several threads may read. */
int png_picture_parse(png_picture *out, const void *data, size_t length, char *text);

/* The same for a file, whose path the line begins with. */
int png_picture_read(png_picture *out, const char *path, char *text);

void png_picture_free(png_picture *p);

#endif
