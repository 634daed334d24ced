/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "plot/png.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { LEVEL = 3, BYTES = 3, AS_IS = 0, UP = 2 };

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
 * section 12.7 proposes a costlier rule. Rows of a plot often equal the one above. */
static void put_row(unsigned char *out, const uint32_t *row, const uint32_t *above, size_t n)
{
    const int same = above != NULL && memcmp(row, above, n * sizeof *row) == 0;
    const int differ = same || (above != NULL && is_like_above(row, above, n));
    *out++ = differ ? UP : AS_IS;
    if (same) {
        memset(out, 0, n * BYTES);
        return;
    }
    for (size_t x = 0; x < n; x++, out += BYTES) {
        put_pixel(out, differ ? byte_differences(row[x], above[x]) : row[x]);
    }
}

typedef struct output {
    unsigned char *data;
    size_t size, room;
} output;

/* Makes room for `more` bytes. */
static int grow(output *o, size_t more)
{
    if (o->room - o->size >= more) {
        return 1;
    }
    const size_t room = 2 * o->room + more;
    unsigned char *data = realloc(o->data, room);
    if (data != NULL) {
        o->data = data;
        o->room = room;
    }
    return data != NULL;
}

static int append(output *o, const void *data, size_t n)
{
    if (!grow(o, n)) {
        return 0;
    }
    memcpy(o->data + o->size, data, n);
    o->size += n;
    return 1;
}

static int append_chunk(output *o, const char *type, const void *data, size_t n)
{
    unsigned char head[DS_PNG_HEAD], tail[DS_PNG_TAIL];
    ds_png_chunk(type, data, n, head, tail);
    return append(o, head, sizeof head) && (n == 0 || append(o, data, n)) && append(o, tail, sizeof tail);
}

static int deflate_row(z_stream *z, output *o, unsigned char *row, size_t n, int flush)
{
    enum { PIECE = 1 << 15 };
    z->next_in = row;
    z->avail_in = (uInt)n;
    int done = Z_OK;
    do {
        if (!grow(o, PIECE)) {
            return 0;
        }
        z->next_out = o->data + o->size;
        z->avail_out = PIECE;
        done = deflate(z, flush);
        o->size += PIECE - z->avail_out;
    } while (z->avail_out == 0);
    return done != Z_STREAM_ERROR;
}

/* Appends the chunk IDAT. Row by row: the pixels in bytes would be as large as the canvas. */
static int append_pixels(output *o, const uint32_t *pixels, size_t stride, size_t width, int height)
{
    static const unsigned char none[DS_PNG_HEAD] = {0};
    const size_t n = 1 + BYTES * width, begin = o->size;
    z_stream z = {.next_in = NULL};
    unsigned char *row = malloc(n);
    if (row == NULL || deflateInit(&z, LEVEL) != Z_OK) {
        free(row);
        return 0;
    }
    int good = append(o, none, sizeof none);
    for (int y = 0; y < height && good; y++) {
        const uint32_t *from = pixels + (size_t)y * stride;
        put_row(row, from, y > 0 ? from - stride : NULL, width);
        good = deflate_row(&z, o, row, n, y + 1 < height ? Z_NO_FLUSH : Z_FINISH);
    }
    deflateEnd(&z);
    free(row);
    unsigned char tail[DS_PNG_TAIL];
    if (good) {
        unsigned char *head = o->data + begin;
        ds_png_chunk("IDAT", head + DS_PNG_HEAD, o->size - begin - DS_PNG_HEAD, head, tail);
    }
    return good && append(o, tail, sizeof tail);
}

int ds_png_encode(const uint32_t *pixels, size_t stride, int width, int height, unsigned char **png,
                  size_t *size, ds_error *e)
{
    output o = {NULL, 0, 0};
    unsigned char header[DS_PNG_HEADER];
    ds_png_header(header, (uint32_t)width, (uint32_t)height);
    if (!append(&o, ds_png_signature, DS_PNG_SIGNATURE) || !append_chunk(&o, "IHDR", header, sizeof header) ||
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
