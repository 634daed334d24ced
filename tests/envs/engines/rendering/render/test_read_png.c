/* SPDX-License-Identifier: Apache-2.0 */
/* test_read_png.c - pictures of all kinds as numbers, and one line for every kind of bad file. The files
 * are those that the fuzz target starts from. */
#include "render_cases.h"

#include "engines/rendering/render/read_png.h"
#include "temporary.h"

#include <unistd.h>

static int in_corpus(png_picture *p, const char *name, char *text)
{
    const char *top = getenv("DS_TOP_SRC");
    char path[4096];
    snprintf(path, sizeof path, "%s/tests/fuzz/corpus/png/%s", top ? top : ".", name);
    return png_picture_read(p, path, text);
}

/* Skips where this build has no libpng. */
static void needs_libpng(void)
{
    png_picture p;
    char text[READ_PNG_TEXT];
    if (png_picture_parse(&p, "", 0, text) == READ_PNG_MISSING) {
        assert_non_null(strstr(text, "install libpng"));
        skip();
    }
}

static void kinds(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        uint32_t width, height, channels;
        size_t at; /* numbers from here on */
        double value[4], over;
    } kind[] = {
        {"grey8.png", 3, 2, 1, 1, {128, 255, 1, 2}, 255},
        {"grey1.png", 10, 2, 1, 0, {1, 0, 1, 0}, 1},
        {"grey4.png", 3, 1, 1, 0, {0, 15, 7, 7}, 15},
        {"grey16.png", 2, 1, 1, 0, {65535, 257, 0, 0}, 65535},
        {"grey_alpha8.png", 2, 1, 2, 0, {10, 20, 30, 40}, 255},
        {"rgb8.png", 2, 2, 3, 5, {5, 255, 0, 0}, 255},
        {"rgb16.png", 1, 1, 3, 0, {1, 32768, 65535, 0}, 65535},
        {"rgba8.png", 2, 1, 4, 4, {252, 253, 254, 255}, 255},
        {"palette2.png", 4, 1, 4, 4, {255, 0, 0, 128}, 255},
        {"rgb_key.png", 2, 1, 4, 3, {0, 1, 2, 3}, 255},
        {"interlaced.png", 8, 8, 1, 34, {66, 67, 68, 69}, 255},
    };
    needs_libpng();
    for (size_t k = 0; k < sizeof kind / sizeof *kind; k++) {
        png_picture p;
        char text[READ_PNG_TEXT];
        if (in_corpus(&p, kind[k].name, text) != READ_PNG_OK) {
            fail_msg("%s", text);
        }
        assert_int_equal(p.width, kind[k].width);
        assert_int_equal(p.height, kind[k].height);
        assert_int_equal(p.channels, kind[k].channels);
        const size_t n = (size_t)p.width * p.height * p.channels;
        for (size_t i = 0; i < 4 && kind[k].at + i < n; i++) {
            check_near(p.pixel[kind[k].at + i], kind[k].value[i] / kind[k].over, 1e-15);
        }
        png_picture_free(&p);
        assert_null(p.pixel);
    }
}

static void refused(int status, int expected, const png_picture *p, const char *text, const char *says)
{
    assert_int_equal(status, expected);
    assert_null(p->pixel);
    if (!strstr(text, says) || strchr(text, '\n')) {
        fail_msg("'%s' does not say '%s'", text, says);
    }
}

static void bad_files(void **state)
{
    (void)state;
    png_picture p;
    char text[READ_PNG_TEXT];
    needs_libpng();
    refused(in_corpus(&p, "nowhere.png", text), READ_PNG_IO, &p, text, "nowhere.png: No such file");
    refused(in_corpus(&p, ".", text), READ_PNG_IO, &p, text, "Is a directory");
    refused(in_corpus(&p, "cut.png", text), READ_PNG_MALFORMED, &p, text,
            "cut.png: damaged PNG file: it ends early");
    refused(in_corpus(&p, "large.png", text), READ_PNG_TOO_LARGE, &p, text,
            "5000 x 2 pixels; the largest supported size is 4096 x 4096");
    refused(png_picture_parse(&p, "", 0, text), READ_PNG_MALFORMED, &p, text, "not a PNG file");
    refused(png_picture_parse(&p, "GIF89a and more of it", 21, text), READ_PNG_MALFORMED, &p, text,
            "not a PNG file");
    refused(png_picture_parse(&p, "\x89PNG\r\n\x1a\n", 8, text), READ_PNG_MALFORMED, &p, text,
            "it has no header");
}

/* One byte wrong in the header, in the pixels, in a checksum. */
static void damaged(void **state)
{
    (void)state;
    const char *top = getenv("DS_TOP_SRC");
    char path[4096], text[READ_PNG_TEXT];
    unsigned char data[256];
    png_picture p;
    needs_libpng();
    snprintf(path, sizeof path, "%s/tests/fuzz/corpus/png/rgb8.png", top ? top : ".");
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    const size_t n = fread(data, 1, sizeof data, f);
    fclose(f);
    const size_t places[] = {25, 30, 45, n - 18};
    for (size_t k = 0; k < sizeof places / sizeof *places; k++) {
        data[places[k]] ^= 0x10;
        refused(png_picture_parse(&p, data, n, text), READ_PNG_MALFORMED, &p, text, "damaged PNG file: ");
        data[places[k]] ^= 0x10;
    }
    assert_int_equal(png_picture_parse(&p, data, n, text), READ_PNG_OK);
    png_picture_free(&p);
}

/* A file beyond the limit, most of it a hole. */
static void long_file(void **state)
{
    (void)state;
    temporary folder;
    char text[READ_PNG_TEXT];
    png_picture p;
    needs_libpng();
    temporary_open(&folder);
    const char *path = temporary_path(&folder, "long.png");
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    fclose(f);
    assert_int_equal(truncate(path, READ_PNG_MAX_BYTES + 1L), 0);
    refused(png_picture_read(&p, path, text), READ_PNG_TOO_LARGE, &p, text, "more than 64 MiB");
    temporary_close(&folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kinds),
        cmocka_unit_test(bad_files),
        cmocka_unit_test(damaged),
        cmocka_unit_test(long_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
