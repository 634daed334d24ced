/* SPDX-License-Identifier: Apache-2.0 */
/* test_film_files.c - films: a PNG holds exactly the frames that were drawn, read by the chunks of its
 * specification, a WebP those that its own library decodes; which frames are shown, for how long, in which
 * size; hard scenes and errors. */
#include "config.h"

#include "test.h"

#include <zlib.h>

#ifdef FILM_WEBP
#include <webp/demux.h>
#endif

#include "exchange/film.h"
#include "exchange/film_frame.h"
#include "synthetic_scene.h"
#include "temporary.h"

/* One or two episodes of the synthetic scene with all its frames, in a small picture. */
typedef struct set {
    synthetic s;
    ds_view_episode item[2];
    ds_view_episodes all;
    temporary t;
} set;

static void open_set(set *x, size_t count)
{
    static char title[] = "torus at <b>\xc3\xa9", env[] = "torus", none[] = "";
    ds_error e = {0};
    memset(x, 0, sizeof *x);
    synthetic_init(&x->s);
    for (size_t i = 0; i < count; i++) {
        x->item[i] = (ds_view_episode){
            .title = title, .env = env, .opt = none, .settings = none, .loss = 1.5, .whole = SYN_FRAMES};
        if (ds_snapshot_take(&synthetic_ext, &x->s, DS_KEEP_ALL, &x->item[i].scene, &e) != 0) {
            fail_msg("%s", e.text);
        }
    }
    x->all = (ds_view_episodes){.item = x->item, .count = count, .options = {.width = 220, .height = 200}};
    temporary_open(&x->t);
}

static void close_set(set *x)
{
    for (size_t i = 0; i < x->all.count; i++) {
        ds_snapshot_free(x->item[i].scene);
    }
    temporary_close(&x->t);
}

/* ---- PNG ---- */

static uint32_t word(const unsigned char *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* Undoes the filters of a w x h picture (PNG, section 9) and puts it into `canvas` at x, y. */
static void put_rows(unsigned char *data, uint32_t x, uint32_t y, uint32_t w, uint32_t h, uint32_t *canvas,
                     uint32_t width)
{
    const size_t n = (size_t)w * 3;
    for (uint32_t j = 0; j < h; j++) {
        unsigned char *row = data + j * (n + 1) + 1;
        const unsigned char *up = j > 0 ? row - (n + 1) : NULL;
        assert_true(row[-1] <= 4);
        for (size_t i = 0; i < n; i++) {
            const int a = i >= 3 ? row[i - 3] : 0, b = up != NULL ? up[i] : 0,
                      c = up != NULL && i >= 3 ? up[i - 3] : 0;
            const int p = a + b - c, pa = abs(p - a), pb = abs(p - b), pc = abs(p - c);
            const int paeth = pa <= pb && pa <= pc ? a : pb <= pc ? b : c;
            const int guess[5] = {0, a, b, (a + b) / 2, paeth};
            row[i] = (unsigned char)(row[i] + guess[row[-1]]);
        }
        for (uint32_t i = 0; i < w; i++) {
            canvas[(size_t)(y + j) * width + x + i] =
                (uint32_t)row[3 * i] << 16 | (uint32_t)row[3 * i + 1] << 8 | row[3 * i + 2];
        }
    }
}

/* A PNG as described by its chunks. */
typedef struct reader {
    unsigned char *packed; /* data of the frame that is being read */
    size_t size;
    uint32_t box[4], width, frames, sequence;
    uint32_t *canvas;
    double seconds;
} reader;

/* The frame is complete: compares it with the film. */
static void end_frame(reader *r, ds_film *film, uint32_t *drawn, size_t pixels)
{
    ds_error e = {0};
    uLongf n = (uLongf)(r->box[2] * 3 + 1) * r->box[3];
    unsigned char *rows = malloc(n);
    assert_non_null(rows);
    const uLongf wanted = n;
    assert_int_equal(uncompress(rows, &n, r->packed, r->size), Z_OK);
    assert_int_equal(n, wanted);
    put_rows(rows, r->box[0], r->box[1], r->box[2], r->box[3], r->canvas, r->width);
    assert_int_equal(ds_film_draw(film, r->frames, drawn, &e), 0);
    assert_memory_equal(r->canvas, drawn, pixels * sizeof *drawn);
    free(rows);
    r->frames++;
    r->size = 0;
}

/* Reads all chunks and compares all frames; returns their number and the duration. */
static uint32_t read_png(set *x, const char *path, double *seconds)
{
    ds_error e = {0};
    ds_film *film = NULL;
    ds_film_plan plan;
    size_t length, at = 8;
    unsigned char *bytes = temporary_read(path, &length);
    assert_int_equal(ds_film_open(&film, &plan, path, &x->all, &e), 0);
    const size_t pixels = (size_t)plan.width * (size_t)plan.height;
    uint32_t *drawn = malloc(pixels * sizeof *drawn), said = 1;
    reader r = {
        .packed = malloc(length), .canvas = calloc(pixels, sizeof *r.canvas), .width = (uint32_t)plan.width};
    r.box[2] = (uint32_t)plan.width;
    r.box[3] = (uint32_t)plan.height;
    assert_true(drawn != NULL && r.packed != NULL && r.canvas != NULL);
    assert_memory_equal(bytes, "\x89PNG\r\n\x1a\n", 8);
    for (int end = 0; !end;) {
        assert_true(at + 12 <= length);
        const uint32_t n = word(bytes + at);
        const unsigned char *type = bytes + at + 4, *data = type + 4;
        assert_true(at + 12 + n <= length);
        assert_int_equal(crc32(crc32(0, NULL, 0), type, n + 4), word(data + n));
        const int control = memcmp(type, "fcTL", 4) == 0;
        end = memcmp(type, "IEND", 4) == 0;
        if (memcmp(type, "IHDR", 4) == 0) {
            assert_int_equal(word(data), plan.width);
            assert_int_equal(word(data + 4), plan.height);
        } else if (memcmp(type, "acTL", 4) == 0) {
            said = word(data);
        } else if (memcmp(type, "IDAT", 4) == 0) {
            assert_int_equal(r.frames, 0);
            memcpy(r.packed + r.size, data, n);
            r.size += n;
        } else if (memcmp(type, "fdAT", 4) == 0) {
            assert_int_equal(word(data), r.sequence++);
            memcpy(r.packed + r.size, data + 4, n - 4);
            r.size += n - 4;
        }
        if ((control || end) && r.size > 0) {
            end_frame(&r, film, drawn, pixels);
        }
        if (control) {
            assert_int_equal(word(data), r.sequence++);
            r.box[2] = word(data + 4);
            r.box[3] = word(data + 8);
            r.box[0] = word(data + 12);
            r.box[1] = word(data + 16);
            assert_true(r.box[0] + r.box[2] <= r.width && r.box[1] + r.box[3] <= (uint32_t)plan.height);
            r.seconds += (double)(data[20] << 8 | data[21]) / (double)(data[22] << 8 | data[23]);
        }
        at += 12 + (size_t)n;
    }
    assert_int_equal(at, length);
    assert_int_equal(said, r.frames);
    assert_int_equal(plan.frames, r.frames);
    *seconds = r.seconds;
    ds_film_close(film);
    free(drawn);
    free(r.packed);
    free(r.canvas);
    free(bytes);
    return r.frames;
}

static void test_animated_png(void **state)
{
    set x;
    ds_error e = {0};
    double seconds;
    open_set(&x, 1);
    const char *path = temporary_path(&x.t, "a.png");
    assert_int_equal(ds_film_png(path, &x.all, &e), 0);
    assert_int_equal(read_png(&x, path, &seconds), SYN_FRAMES);
    /* 0.4 s of an episode are shown in two, and the last frame for one more. */
    assert_true(fabs(seconds - 3.2) < 0.02);
    /* The same call gives the same bytes. */
    size_t n, m;
    unsigned char *a = temporary_read(path, &n);
    assert_int_equal(ds_film_png(path, &x.all, &e), 0);
    unsigned char *b = temporary_read(path, &m);
    assert_int_equal(n, m);
    assert_memory_equal(a, b, n);
    free(a);
    free(b);
    close_set(&x);
}

static void test_still(void **state)
{
    set x;
    ds_error e = {0};
    double seconds;
    open_set(&x, 1);
    x.s.info.frames = 1;
    ds_snapshot_free(x.item[0].scene);
    assert_int_equal(ds_snapshot_take(&synthetic_ext, &x.s, DS_KEEP_ALL, &x.item[0].scene, &e), 0);
    const char *path = temporary_path(&x.t, "still.png");
    assert_int_equal(ds_film_png(path, &x.all, &e), 0);
    assert_int_equal(read_png(&x, path, &seconds), 1);
    assert_true(seconds < 1e-9); /* no chunk of an animation */
    close_set(&x);
}

/* ---- WebP ---- */

static void test_webp(void **state)
{
#ifdef FILM_WEBP
    set x;
    ds_error e = {0};
    ds_film *film = NULL;
    ds_film_plan plan;
    WebPAnimInfo info;
    size_t length;
    uint32_t frames = 0;
    int stamp = 0;
    open_set(&x, 1);
    const char *path = temporary_path(&x.t, "a.webp");
    assert_int_equal(ds_film_webp(path, &x.all, &e), 0);
    unsigned char *bytes = temporary_read(path, &length);
    const WebPData data = {bytes, length};
    WebPAnimDecoder *d = WebPAnimDecoderNew(&data, NULL);
    assert_non_null(d);
    assert_true(WebPAnimDecoderGetInfo(d, &info));
    assert_int_equal(ds_film_open(&film, &plan, path, &x.all, &e), 0);
    assert_int_equal(info.canvas_width, plan.width);
    assert_int_equal(info.canvas_height, plan.height);
    const size_t pixels = (size_t)plan.width * (size_t)plan.height;
    uint32_t *drawn = malloc(pixels * sizeof *drawn);
    assert_non_null(drawn);
    while (WebPAnimDecoderHasMoreFrames(d)) {
        uint8_t *rgba;
        double square = 0;
        assert_true(WebPAnimDecoderGetNext(d, &rgba, &stamp));
        assert_int_equal(ds_film_draw(film, frames++, drawn, &e), 0);
        for (size_t i = 0; i < pixels; i++) {
            for (int c = 0; c < 3; c++) {
                const double v = rgba[4 * i + (size_t)c] - (double)(drawn[i] >> (16 - 8 * c) & 255);
                square += v * v;
            }
        }
        /* Peak signal-to-noise ratio in dB, at a level where people see the same image. */
        const double psnr = 10 * log10(255.0 * 255.0 * 3 * (double)pixels / (square + 1));
        assert_true(psnr > 32);
    }
    assert_int_equal(frames, SYN_FRAMES);
    assert_true(abs(stamp - 3200) <= 2);
    WebPAnimDecoderDelete(d);
    ds_film_close(film);
    free(drawn);
    free(bytes);
    close_set(&x);
#else
    set x;
    ds_error e = {0};
    open_set(&x, 1);
    assert_int_equal(ds_film_webp(temporary_path(&x.t, "a.webp"), &x.all, &e), DS_EXIT_IO);
    assert_non_null(strstr(e.text, "libwebp-dev"));
    assert_int_equal(temporary_count(&x.t), 0);
    close_set(&x);
#endif
}

/* ---- which frames are shown ---- */

static ds_film_plan plan_of(set *x)
{
    ds_error e = {0};
    ds_film *film = NULL;
    ds_film_plan plan;
    assert_int_equal(ds_film_open(&film, &plan, "f.png", &x->all, &e), 0);
    ds_film_close(film);
    return plan;
}

static void test_plan(void **state)
{
    set x;
    open_set(&x, 2);
    x.all.options = (ds_view_options){0};
    assert_int_equal(plan_of(&x).width, 880);
    assert_int_equal(plan_of(&x).frames, SYN_FRAMES);
    x.all.count = 1;
    assert_int_equal(plan_of(&x).width, 640);
    assert_true(plan_of(&x).width % 2 == 0 && plan_of(&x).height % 2 == 0);
    assert_true(fabs(plan_of(&x).fps - 5) < 1e-9); /* ten steps in the least time */
    x.all.options.every = 4;
    assert_int_equal(plan_of(&x).frames, 4); /* 0, 4, 8 and the last */
    x.all.options.fps = 12;
    assert_true(fabs(plan_of(&x).fps - 12) < 1e-9);
    /* An episode that has more frames than its time can show. */
    x.all.options = (ds_view_options){0};
    x.item[0].scene->dt = 0.001;
    assert_int_equal(plan_of(&x).frames, SYN_FRAMES);
    x.all.options.fps = 2;
    assert_int_equal(plan_of(&x).frames, 5); /* A rate changes the number of frames, not the duration. */
    /* A rate changes the number of pictures, not how long the episode takes. */
    x.item[0].scene->dt = 0.5;
    x.all.options.fps = 10;
    assert_int_equal(plan_of(&x).frames, 51);
    x.all.options.fps = 60;
    assert_int_equal(plan_of(&x).frames, 301);
    x.item[0].scene->dt = 0; /* without time */
    x.all.options = (ds_view_options){0};
    assert_int_equal(plan_of(&x).frames, SYN_FRAMES);
    x.all.count = 2;
    close_set(&x);
}

/* Pixels of frame i that are not those of `other`. */
static long differences(set *x, uint64_t i, const ds_view_options *other, uint64_t j)
{
    ds_error e = {0};
    ds_film *film = NULL;
    ds_film_plan plan;
    const ds_view_options kept = x->all.options;
    uint32_t *pixels[2];
    size_t n = 0;
    long count = 0;
    for (int k = 0; k < 2; k++) {
        x->all.options = k == 1 && other != NULL ? *other : kept;
        assert_int_equal(ds_film_open(&film, &plan, "f.png", &x->all, &e), 0);
        n = (size_t)plan.width * (size_t)plan.height;
        pixels[k] = malloc(n * sizeof *pixels[k]);
        assert_non_null(pixels[k]);
        assert_int_equal(ds_film_draw(film, k == 0 ? i : j, pixels[k], &e), 0);
        ds_film_close(film);
    }
    for (size_t p = 0; p < n; p++) {
        count += pixels[0][p] != pixels[1][p];
    }
    x->all.options = kept;
    free(pixels[0]);
    free(pixels[1]);
    return count;
}

static void test_views(void **state)
{
    set x;
    open_set(&x, 1);
    ds_view_options o = x.all.options;
    assert_int_equal(differences(&x, 3, &o, 3), 0);
    assert_true(differences(&x, 0, &o, SYN_FRAMES - 1) > 500);
    o.background = "#101418";
    assert_true(differences(&x, 3, &o, 3) > 220 * 200 / 2);
    o = x.all.options;
    o.camera_set = 1;
    o.azimuth = 120;
    o.elevation = 20;
    o.zoom = 1;
    assert_true(differences(&x, 3, &o, 3) > 5000);
    o = x.all.options;
    o.orbit = 90;
    x.all.options.orbit = 1e-9; /* from the same distance: the first frames are equal, the others turn away */
    assert_int_equal(differences(&x, 0, &o, 0), 0);
    assert_true(differences(&x, SYN_FRAMES - 1, &o, SYN_FRAMES - 1) > 5000);
    o = x.all.options;
    o.zoom = 2;
    assert_true(differences(&x, 3, &o, 3) > 5000);
    o = x.all.options;
    o.caption = "";
    assert_true(differences(&x, 3, &o, 3) > 500);
    close_set(&x);
}

/* ---- errors ---- */

static void test_hard(void **state)
{
    set x;
    ds_error e = {0};
    double seconds;
    open_set(&x, 2);
    x.item[1].scene->body[SYN_SLAB].data[4] = NAN; /* one particle is left out */
    x.item[1].scene->body[SYN_TOOL].data[0] = INFINITY;
    x.item[1].loss = NAN;
    x.all.options = (ds_view_options){.width = 40, .height = 31};
    const char *path = temporary_path(&x.t, "hard.png");
    assert_int_equal(ds_film_png(path, &x.all, &e), 0);
    assert_int_equal(read_png(&x, path, &seconds), SYN_FRAMES);
    x.all.options = (ds_view_options){.width = 16, .height = 16, .caption = "x"};
    x.all.count = 2;
    assert_int_equal(ds_film_png(path, &x.all, &e), 0);
    x.all.options.height = 6;
    assert_int_equal(ds_film_png(path, &x.all, &e), DS_EXIT_USAGE);
    assert_non_null(strstr(e.text, "larger --size"));
    x.all.options = (ds_view_options){.width = 64, .height = 64};
    assert_int_equal(ds_film_png("/nowhere/a.png", &x.all, &e), DS_EXIT_IO);
    assert_int_equal(strncmp(e.text, "/nowhere/a.png: ", 16), 0);
    assert_int_equal(ds_film_webp("/nowhere/a.webp", &x.all, &e), DS_EXIT_IO);
    close_set(&x);
}

RUN_TESTS(test_animated_png, test_still, test_webp, test_plan, test_views, test_hard)
