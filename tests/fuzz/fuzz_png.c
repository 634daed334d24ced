/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_png.c - any bytes given to the reader of PNG files: an image with numbers in [0, 1], or one line that
 * says why not. Checksums are corrected first, so that changes get past them. */
#include "config.h"

#include <string.h>
#include <zlib.h>

#include "engines/rendering/render/read_png.h"
#include "tests/fuzz/fuzz.h"

static uint32_t big_endian(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

/* Gives each whole chunk (length, name, content, checksum) its checksum. */
static void mend_checksums(uint8_t *data, size_t size)
{
    for (size_t at = 8; size >= 12 && at <= size - 12;) {
        const size_t length = big_endian(data + at);
        if (length > size - 12 - at) {
            break;
        }
        const uLong sum = crc32(0, data + at + 4, (uInt)length + 4);
        uint8_t *to = data + at + 8 + length;
        for (int i = 0; i < 4; i++) {
            to[i] = (uint8_t)(sum >> (24 - 8 * i));
        }
        at += 12 + length;
    }
}

static void parse(const uint8_t *data, size_t size)
{
    png_picture p;
    char text[READ_PNG_TEXT];
    if (png_picture_parse(&p, data, size, text) != READ_PNG_OK) {
        FUZZ_REQUIRE(text[0] != '\0' && strchr(text, '\n') == NULL && p.pixel == NULL && p.width == 0);
        return;
    }
    FUZZ_REQUIRE(p.width > 0 && p.height > 0 && p.channels >= 1 && p.channels <= 4);
    FUZZ_REQUIRE(p.width <= READ_PNG_MAX_SIDE && p.height <= READ_PNG_MAX_SIDE);
    for (size_t i = 0; i < (size_t)p.width * p.height * p.channels; i++) {
        FUZZ_REQUIRE(p.pixel[i] >= 0 && p.pixel[i] <= 1);
    }
    png_picture_free(&p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    parse(data, size);
    uint8_t *mended = malloc(size > 0 ? size : 1);
    FUZZ_REQUIRE(mended != NULL);
    memcpy(mended, data, size);
    mend_checksums(mended, size);
    /* An image of many pixels that compresses to nothing costs only memory and time. */
    if (size < 24 || (uint64_t)big_endian(mended + 16) * big_endian(mended + 20) <= 1 << 20) {
        parse(mended, size);
    }
    free(mended);
    return 0;
}
