/* SPDX-License-Identifier: Apache-2.0 */
/* read_png.c - reads PNG files with libpng. Sizes beyond our limits are refused before libpng sees the file.
 */
#include "engines/rendering/render/read_png.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int fail(int status, char *text, const char *what)
{
    snprintf(text, READ_PNG_TEXT, "%s", what);
    return status;
}

void png_picture_free(png_picture *p)
{
    free(p->pixel);
    *p = (png_picture){.width = 0};
}

#ifdef READ_PNG_LIBPNG
#include <png.h>

enum {
    SIGNATURE = 8,
    HEADER = 26,                  /* signature, length and name of IHDR, width, height, depth, colours */
    MAX_CHUNK = 16 * 1024 * 1024, /* memory limit of chunks other than pixels */
    MAX_CHUNKS = 1000
};

/* State that survives a longjmp out of libpng. */
typedef struct decoder {
    png_structp png;
    png_infop info;
    const unsigned char *at, *end;
    png_bytep data;
    png_bytep *row;
    png_picture *out;
    char *text;
    int status;
} decoder;

/* Reports libpng's message, which is one line. Does not return. */
static void failed(png_structp png, png_const_charp what)
{
    decoder *d = png_get_error_ptr(png);
    d->status = READ_PNG_MALFORMED;
    snprintf(d->text, READ_PNG_TEXT, "damaged PNG file: %s", what);
    png_longjmp(png, 1);
}

static void warned(png_structp png, png_const_charp what)
{
    (void)png;
    (void)what;
}

static void next_bytes(png_structp png, png_bytep to, size_t count)
{
    decoder *d = png_get_io_ptr(png);
    if ((size_t)(d->end - d->at) < count) {
        png_error(png, "it ends early");
    }
    memcpy(to, d->at, count);
    d->at += count;
}

static uint32_t big_endian(const unsigned char *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static int check_header(const unsigned char *data, size_t length, char *text)
{
    if (length < SIGNATURE || png_sig_cmp(data, 0, SIGNATURE) != 0) {
        return fail(READ_PNG_MALFORMED, text, "not a PNG file");
    }
    if (length < HEADER || memcmp(data + 12, "IHDR", 4) != 0) {
        return fail(READ_PNG_MALFORMED, text, "damaged PNG file: it has no header");
    }
    const uint32_t width = big_endian(data + 16), height = big_endian(data + 20);
    if (width > READ_PNG_MAX_SIDE || height > READ_PNG_MAX_SIDE) {
        snprintf(text, READ_PNG_TEXT, "%u x %u pixels; the largest supported size is %d x %d", width, height,
                 (int)READ_PNG_MAX_SIDE, (int)READ_PNG_MAX_SIDE);
        return READ_PNG_TOO_LARGE;
    }
    return READ_PNG_OK;
}

/* Requests 8 or 16 bits in 1 to 4 channels. */
static void ask_for_plain_rows(decoder *d)
{
    const int color = png_get_color_type(d->png, d->info);
    if (color == PNG_COLOR_TYPE_PALETTE) {
        png_set_palette_to_rgb(d->png);
    }
    if (color == PNG_COLOR_TYPE_GRAY) {
        png_set_expand_gray_1_2_4_to_8(d->png);
    }
    if (png_get_valid(d->png, d->info, PNG_INFO_tRNS)) {
        png_set_tRNS_to_alpha(d->png);
    }
    png_set_interlace_handling(d->png);
    png_read_update_info(d->png, d->info);
}

static int make_room(decoder *d)
{
    png_picture *out = d->out;
    const size_t bytes = png_get_rowbytes(d->png, d->info);
    out->width = png_get_image_width(d->png, d->info);
    out->height = png_get_image_height(d->png, d->info);
    out->channels = png_get_channels(d->png, d->info);
    out->pixel = calloc((size_t)out->width * out->height * out->channels, sizeof *out->pixel);
    d->data = calloc(out->height, bytes);
    d->row = calloc(out->height, sizeof *d->row);
    if (!out->pixel || !d->data || !d->row) {
        return fail(READ_PNG_NO_MEMORY, d->text, "out of memory");
    }
    for (uint32_t r = 0; r < out->height; r++) {
        d->row[r] = d->data + r * bytes;
    }
    return READ_PNG_OK;
}

/* Converts bytes to numbers in [0, 1]. */
static void convert(const decoder *d, int bits)
{
    const size_t across = (size_t)d->out->width * d->out->channels;
    double *to = d->out->pixel;
    for (uint32_t r = 0; r < d->out->height; r++) {
        const unsigned char *row = d->row[r];
        for (size_t i = 0; i < across; i++) {
            *to++ = bits == 16 ? (row[2 * i] << 8 | row[2 * i + 1]) / 65535.0 : row[i] / 255.0;
        }
    }
}

/* The part that may longjmp. */
static int decode(decoder *d)
{
    if (setjmp(png_jmpbuf(d->png))) {
        return d->status;
    }
    png_set_read_fn(d->png, d, next_bytes);
    png_set_user_limits(d->png, READ_PNG_MAX_SIDE, READ_PNG_MAX_SIDE);
    png_set_chunk_malloc_max(d->png, MAX_CHUNK);
    png_set_chunk_cache_max(d->png, MAX_CHUNKS);
    png_read_info(d->png, d->info);
    ask_for_plain_rows(d);
    if (make_room(d) != READ_PNG_OK) {
        return READ_PNG_NO_MEMORY;
    }
    png_read_image(d->png, d->row);
    png_read_end(d->png, NULL);
    convert(d, png_get_bit_depth(d->png, d->info));
    return READ_PNG_OK;
}

int png_picture_parse(png_picture *out, const void *data, size_t length, char *text)
{
    decoder d = {.at = data, .end = (const unsigned char *)data + length, .out = out, .text = text};
    *out = (png_picture){.width = 0};
    text[0] = '\0';
    int status = check_header(data, length, text);
    if (status != READ_PNG_OK) {
        return status;
    }
    d.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &d, failed, warned);
    d.info = d.png ? png_create_info_struct(d.png) : NULL;
    status = d.info ? decode(&d) : fail(READ_PNG_NO_MEMORY, text, "out of memory");
    if (d.png) {
        png_destroy_read_struct(&d.png, &d.info, NULL);
    }
    free(d.data);
    free(d.row);
    if (status != READ_PNG_OK) {
        png_picture_free(out);
    }
    return status;
}

#else

int png_picture_parse(png_picture *out, const void *data, size_t length, char *text)
{
    (void)data;
    (void)length;
    *out = (png_picture){.width = 0};
    return fail(
        READ_PNG_MISSING, text,
        "this build cannot read PNG files: install libpng (Debian: libpng-dev), run ./configure and make");
}

#endif

/* The bytes of a file; NULL with a line on failure. */
static unsigned char *read_bytes(const char *path, size_t *length, int *status, char *text)
{
    FILE *f = fopen(path, "rb");
    unsigned char *data = NULL;
    size_t room = 0;
    *length = 0;
    *status = f ? READ_PNG_OK : fail(READ_PNG_IO, text, strerror(errno));
    while (*status == READ_PNG_OK && *length == room) {
        room = room ? 2 * room : 1 << 16;
        unsigned char *more = realloc(data, room);
        if (!more) {
            *status = fail(READ_PNG_NO_MEMORY, text, "out of memory");
            break;
        }
        data = more;
        *length += fread(data + *length, 1, room - *length, f);
        if (ferror(f)) {
            *status = fail(READ_PNG_IO, text, strerror(errno));
        } else if (*length > READ_PNG_MAX_BYTES) {
            *status = fail(READ_PNG_TOO_LARGE, text, "more than 64 MiB; larger files are not supported");
        }
    }
    if (f) {
        fclose(f);
    }
    return data;
}

int png_picture_read(png_picture *out, const char *path, char *text)
{
    char line[READ_PNG_TEXT];
    size_t length;
    int status;
    *out = (png_picture){.width = 0};
    text[0] = '\0';
    unsigned char *data = read_bytes(path, &length, &status, line);
    if (status == READ_PNG_OK) {
        status = png_picture_parse(out, data, length, line);
    }
    if (status != READ_PNG_OK) {
        snprintf(text, READ_PNG_TEXT, "%.300s: %.200s", path, line);
    }
    free(data);
    return status;
}
