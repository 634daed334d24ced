/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "plot/png.h"

#include "plot/deflate.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { BYTES = 3, AS_IS = 0, UP = 2 };

const unsigned char ds_png_signature[DS_PNG_SIGNATURE] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};

void ds_png_word(unsigned char *p, uint32_t v)
{
    for (int k = 0; k < 4; k++) {
        p[k] = (unsigned char)(v >> (24 - 8 * k));
    }
}

void ds_png_header(unsigned char header[DS_PNG_HEADER], uint32_t width, uint32_t height)
{
    memset(header, 0, DS_PNG_HEADER);
    ds_png_word(header, width);
    ds_png_word(header + 4, height);
    header[8] = 8; /* bits */
    header[9] = 2; /* red, green, blue */
}

void ds_png_chunk(const char *type, const void *data, size_t n, unsigned char head[DS_PNG_HEAD],
                  unsigned char tail[DS_PNG_TAIL])
{
    ds_png_word(head, (uint32_t)n);
    memcpy(head + 4, type, 4);
    const uLong sum = crc32(crc32(0, NULL, 0), head + 4, 4);
    ds_png_word(tail, (uint32_t)(n > 0 ? crc32(sum, data, (uInt)n) : sum));
}

enum { COLOR = 0xffffff };

/* Whether more pixels equal the one above them than the one on their left. */
static int is_like_above(const uint32_t *row, const uint32_t *above, size_t n)
{
    size_t up = 0, left = 0;
    for (size_t x = 1; x < n; x++) {
        up += ((row[x] ^ above[x]) & COLOR) == 0;
        left += ((row[x] ^ row[x - 1]) & COLOR) == 0;
    }
    return up > left;
}

static void put_pixel(unsigned char *out, uint32_t v)
{
    out[0] = (unsigned char)(v >> 16);
    out[1] = (unsigned char)(v >> 8);
    out[2] = (unsigned char)v;
}

/* a - b in each of the four bytes. */
static uint32_t byte_differences(uint32_t a, uint32_t b)
{
    const uint32_t high = 0x80808080u;
    return ((a | high) - (b & ~high)) ^ ((a ^ ~b) & high);
}

/* Writes a row after its filter byte. It writes the difference from the row above (or NULL) if the row
 * resembles that one more than a constant, else the row itself. This suits both plots and shaded images;
 * section 12.7 proposes a costlier rule. Rows of a plot often equal the one above: then it returns 1. */
static int put_row(unsigned char *out, const uint32_t *row, const uint32_t *above, size_t n)
{
    const int same = above != NULL && memcmp(row, above, n * sizeof *row) == 0;
    const int differ = same || (above != NULL && is_like_above(row, above, n));
    *out++ = differ ? UP : AS_IS;
    if (same) {
        memset(out, 0, n * BYTES);
        return 1;
    }
    for (size_t x = 0; x < n; x++, out += BYTES) {
        put_pixel(out, differ ? byte_differences(row[x], above[x]) : row[x]);
    }
    return 0;
}

static int append_chunk(ds_bytes *o, const char *type, const void *data, size_t n)
{
    unsigned char head[DS_PNG_HEAD], tail[DS_PNG_TAIL];
    ds_png_chunk(type, data, n, head, tail);
    return ds_bytes_append(o, head, sizeof head) && (n == 0 || ds_bytes_append(o, data, n)) &&
           ds_bytes_append(o, tail, sizeof tail);
}

/* The checksum after a row that equals the one above: the byte UP and zeros. */
static uLong add_same(uLong sum, size_t n)
{
    const uLong each = 1 + UP, prime = 65521;
    return adler32_combine(sum, (each * (n % prime) % prime) << 16 | each, (z_off_t)n);
}

/* Appends the chunk IDAT, a zlib stream (RFC 1950). Row by row: the pixels in bytes would be as large as the
 * canvas. */
static int append_pixels(ds_bytes *o, const uint32_t *pixels, size_t stride, size_t width, int height)
{
    static const unsigned char none[DS_PNG_HEAD] = {0}, zlib[] = {0x78, 0x01};
    const size_t n = 1 + BYTES * width, begin = o->size;
    unsigned char *row = malloc(n), sum[4], tail[DS_PNG_TAIL];
    int good = row != NULL && ds_bytes_append(o, none, sizeof none) && ds_bytes_append(o, zlib, sizeof zlib);
    ds_deflate *d = good ? ds_deflate_open(o) : NULL;
    uLong adler = adler32(0, NULL, 0);
    good = d != NULL;
    for (int y = 0; y < height && good; y++) {
        const uint32_t *from = pixels + (size_t)y * stride;
        const int same = put_row(row, from, y > 0 ? from - stride : NULL, width);
        adler = same ? add_same(adler, n) : adler32(adler, row, (uInt)n);
        good = ds_deflate_put(d, row, n);
    }
    good = d != NULL && ds_deflate_close(d) && good;
    free(row);
    ds_png_word(sum, (uint32_t)adler);
    if (!good || !ds_bytes_append(o, sum, sizeof sum)) {
        return 0;
    }
    unsigned char *head = o->data + begin;
    ds_png_chunk("IDAT", head + DS_PNG_HEAD, o->size - begin - DS_PNG_HEAD, head, tail);
    return ds_bytes_append(o, tail, sizeof tail);
}

int ds_png_encode(const uint32_t *pixels, size_t stride, int width, int height, unsigned char **png,
                  size_t *size, ds_error *e)
{
    ds_bytes o = {NULL, 0, 0};
    unsigned char header[DS_PNG_HEADER];
    ds_png_header(header, (uint32_t)width, (uint32_t)height);
    if (!ds_bytes_append(&o, ds_png_signature, DS_PNG_SIGNATURE) ||
        !append_chunk(&o, "IHDR", header, sizeof header) ||
        !append_pixels(&o, pixels, stride, (size_t)width, height) || !append_chunk(&o, "IEND", NULL, 0)) {
        free(o.data);
        *png = NULL;
        *size = 0;
        return ds_no_memory(e);
    }
    *png = o.data;
    *size = o.size;
    return 0;
}
