/* SPDX-License-Identifier: Apache-2.0 */
/* png.h - PNG of 24-bit pixels: Portable Network Graphics, third edition (W3C). */
#ifndef DS_PNG_H
#define DS_PNG_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

enum { DS_PNG_SIGNATURE = 8, DS_PNG_HEADER = 13, DS_PNG_HEAD = 8, DS_PNG_TAIL = 4 };

extern const unsigned char ds_png_signature[DS_PNG_SIGNATURE];

/* Writes a number in the byte order of the format. */
void ds_png_word(unsigned char *p, uint32_t v);

/* Data of the chunk IHDR: 8 bits each of red, green and blue, not interlaced. */
void ds_png_header(unsigned char header[DS_PNG_HEADER], uint32_t width, uint32_t height);

/* What stands before and behind the data of a chunk; section 5.3. */
void ds_png_chunk(const char *type, const void *data, size_t n, unsigned char head[DS_PNG_HEAD],
                  unsigned char tail[DS_PNG_TAIL]);

/* A whole PNG in memory, to be freed. `pixels`: 0x00RRGGBB, rows of `stride` pixels. It is compressed for
 * speed: pictures are drawn at the end of every run. Returns 0, or DS_EXIT_MEMORY and NULL. */
int ds_png_encode(const uint32_t *pixels, size_t stride, int width, int height, unsigned char **png,
                  size_t *size, ds_error *e);

#endif
