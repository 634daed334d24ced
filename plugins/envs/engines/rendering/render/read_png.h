/* SPDX-License-Identifier: Apache-2.0 */
/* read_png.h - reads a PNG file as numbers in [0, 1]. tools/plot writes such files with cairo. */
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
 * file values divided by the largest possible one: 8 and 16 bits, grey also 1, 2 and 4; palettes become RGB;
 * transparent colours become alpha. Alpha is not premultiplied; gamma and colour profiles are ignored. */
typedef struct png_picture {
    uint32_t width, height, channels;
    double *pixel; /* png_picture_free() */
} png_picture;

enum {
    READ_PNG_OK = 0,
    READ_PNG_MALFORMED = 1, /* not a PNG file, or damaged */
    READ_PNG_NO_MEMORY = 2,
    READ_PNG_TOO_LARGE = 3,
    READ_PNG_MISSING = 4, /* this build has no libpng */
    READ_PNG_IO = 5       /* the file cannot be read */
};

/* Reads from memory. On failure `text` (READ_PNG_TEXT) has one line and *out is empty. Thread-safe. */
int png_picture_parse(png_picture *out, const void *data, size_t length, char *text);

/* Reads a file, likewise; the line begins with the path. */
int png_picture_read(png_picture *out, const char *path, char *text);

void png_picture_free(png_picture *p);

#endif
