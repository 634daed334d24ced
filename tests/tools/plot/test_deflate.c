/* SPDX-License-Identifier: Apache-2.0 */
/* test_deflate.c - zlib restores what plot/deflate.h compressed, for all kinds of data; cairo reads every
 * pixel of the images of plot/png.h. */
#include "config.h"

#include "plot/deflate.h"
#include "plot/png.h"
#include "test.h"

#include <cairo.h>
#include <stdint.h>
#include <zlib.h>

static uint32_t state = 1;

static uint32_t draw(void)
{
    state = state * 1664525u + 1013904223u;
    return state >> 8;
}

/* Compresses n bytes in pieces of `piece`, and compares what zlib makes of it. Returns the compressed
 * size. */
static size_t there_and_back(const unsigned char *data, size_t n, size_t piece)
{
    ds_bytes out = {NULL, 0, 0};
    ds_deflate *d = ds_deflate_open(&out);
    unsigned char *back = malloc(n + 1);
    for (size_t k = 0; k < n; k += piece) {
        assert_true(ds_deflate_put(d, data + k, n - k < piece ? n - k : piece));
    }
    assert_true(ds_deflate_close(d));
    z_stream z = {
        .next_in = out.data, .avail_in = (uInt)out.size, .next_out = back, .avail_out = (uInt)(n + 1)};
    assert_int_equal(inflateInit2(&z, -15), Z_OK);
    assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
    assert_int_equal(z.avail_in, 0);
    assert_int_equal(z.total_out, n);
    inflateEnd(&z);
    assert_memory_equal(back, data, n);
    free(back);
    free(out.data);
    return out.size;
}

enum { MOST = 300000 };
static unsigned char data[MOST];

static void test_kinds_of_data(void **unused)
{
    static const size_t sizes[] = {0,   1,    2,     3,     4,     5,     7,      258,
                                   259, 1000, 32768, 65535, 65536, 65537, 100001, MOST};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const size_t n = sizes[i], piece = 1 + draw() % 7000;
        memset(data, 0, n);
        assert_true(there_and_back(data, n, piece) <= 300 + n / 500);
        for (size_t k = 0; k < n; k++) { /* cannot be compressed */
            data[k] = (unsigned char)draw();
        }
        assert_true(there_and_back(data, n, piece) <= 300 + n + n / 50);
        for (size_t k = 0; k < n; k++) { /* runs of pixels and repeated words at all distances */
            const size_t back = 1 + draw() % 40000, run = draw() % 400;
            data[k] = (unsigned char)(draw() % 5);
            for (size_t j = 0; j < run && k + 1 < n && back <= k + 1; j++, k++) {
                data[k + 1] = data[k + 1 - back];
            }
        }
        there_and_back(data, n, piece);
    }
}

/* Fibonacci's numbers as counts make the longest codes, which must be cut to 15 bits. */
static void test_long_codes(void **unused)
{
    for (unsigned kinds = 2; kinds <= 24; kinds++) {
        size_t n = 0;
        for (unsigned kind = 0, count = 1, last = 1; kind < kinds; kind++) {
            for (unsigned k = 0; k < count && n < MOST; k++) {
                data[n++] = (unsigned char)(7 * kind + 3);
            }
            const unsigned sum = count + last;
            last = count;
            count = sum;
        }
        for (size_t k = n; k > 1; k--) { /* mixed, so that they are not matches */
            const size_t j = draw() % k;
            const unsigned char t = data[k - 1];
            data[k - 1] = data[j];
            data[j] = t;
        }
        there_and_back(data, n, n + 1);
    }
}

typedef struct reader {
    const unsigned char *at;
    size_t left;
} reader;

static cairo_status_t read_png(void *closure, unsigned char *out, unsigned n)
{
    reader *r = closure;
    if (n > r->left) {
        return CAIRO_STATUS_READ_ERROR;
    }
    memcpy(out, r->at, n);
    r->at += n;
    r->left -= n;
    return CAIRO_STATUS_SUCCESS;
}

/* Rows as they are, rows like the one above, equal rows, noise in the unused byte. */
static void test_pixels(void **unused)
{
    static const int sizes[][2] = {{1, 1}, {1, 50}, {50, 1}, {3, 3}, {257, 90}, {1200, 300}, {23000, 4}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const int width = sizes[i][0], height = sizes[i][1];
        const size_t stride = (size_t)width + 2;
        uint32_t *pixels = calloc(stride * (size_t)height, sizeof *pixels);
        for (int y = 0; y < height; y++) {
            uint32_t *row = pixels + (size_t)y * stride;
            const uint32_t kind = draw() % 4, color = draw();
            for (int x = 0; x < width; x++) {
                row[x] = kind == 0 || y == 0 ? (draw() % 9 == 0 ? draw() : color)
                         : kind == 1         ? (row - stride)[x] + (draw() % 9 == 0)
                                             : (row - stride)[x];
                row[x] ^= kind == 3 ? draw() << 24 : 0;
            }
        }
        unsigned char *png = NULL;
        size_t size = 0;
        ds_error e = {0, ""};
        assert_int_equal(ds_png_encode(pixels, stride, width, height, &png, &size, &e), 0);
        reader r = {png, size};
        cairo_surface_t *s = cairo_image_surface_create_from_png_stream(read_png, &r);
        assert_int_equal(cairo_surface_status(s), CAIRO_STATUS_SUCCESS);
        assert_int_equal(cairo_image_surface_get_width(s), width);
        assert_int_equal(cairo_image_surface_get_height(s), height);
        for (int y = 0; y < height; y++) {
            const unsigned char *row =
                cairo_image_surface_get_data(s) + y * cairo_image_surface_get_stride(s);
            for (int x = 0; x < width; x++) {
                uint32_t v;
                memcpy(&v, row + 4 * x, sizeof v);
                assert_int_equal(v & 0xffffff, pixels[(size_t)y * stride + (size_t)x] & 0xffffff);
            }
        }
        cairo_surface_destroy(s);
        free(png);
        free(pixels);
    }
}

RUN_TESTS(test_kinds_of_data, test_long_codes, test_pixels)
