/* SPDX-License-Identifier: Apache-2.0 */
/* test_render.c - plots and rendered images: files have their formats, images are not blank, and hard inputs
 * do no harm. */
#include "config.h"

#include "base/file.h"
#include "plot/canvas.h"
#include "plot/plot.h"
#include "plot/plot_axes.h"
#include "render/picture.h"
#include "render/render.h"
#include "render/render_flat.h"
#include "render/render_internal.h"
#include "snapshot/snapshot.h"
#include "synthetic_scene.h"
#include "temporary.h"
#include "test.h"

#include <cairo.h>

/* Share of the pixels of a PNG that are not white; checks its size where width > 0. */
static double ink(const char *path, int width, int height)
{
    size_t len;
    unsigned char *bytes = temporary_read(path, &len);
    assert_true(len > 1000);
    assert_memory_equal(bytes, "\x89PNG\r\n\x1a\n", 8);
    free(bytes);
    cairo_surface_t *s = cairo_image_surface_create_from_png(path);
    assert_int_equal(cairo_surface_status(s), CAIRO_STATUS_SUCCESS);
    int w = cairo_image_surface_get_width(s);
    int h = cairo_image_surface_get_height(s);
    if (width > 0) {
        assert_int_equal(w, width);
        assert_int_equal(h, height);
    }
    const unsigned char *p = cairo_image_surface_get_data(s);
    int stride = cairo_image_surface_get_stride(s);
    long n = 0;
    for (int j = 0; j < h; j++) {
        for (int i = 0; i < w; i++) {
            const unsigned char *q = p + (ptrdiff_t)j * stride + (ptrdiff_t)4 * i;
            n += q[0] < 200 || q[1] < 200 || q[2] < 200;
        }
    }
    cairo_surface_destroy(s);
    return (double)n / ((double)w * h);
}

/* Elements are closed in the order in which they were opened, attributes are quoted, text is escaped. */
static void check_xml(const char *p)
{
    char open[16][32];
    int depth = 0;
    assert_int_equal(strncmp(p, "<?xml ", 6), 0);
    p = strstr(p, "?>") + 2;
    while (*p != '\0') {
        if (*p != '<') {
            assert_true(*p != '>');
            if (*p == '&') {
                assert_true(strncmp(p, "&amp;", 5) == 0 || strncmp(p, "&lt;", 4) == 0 ||
                            strncmp(p, "&gt;", 4) == 0 || strncmp(p, "&quot;", 6) == 0);
            }
            p++;
            continue;
        }
        int closing = p[1] == '/';
        const char *name = p + 1 + closing;
        size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");
        assert_true(n > 0 && n < 32);
        p = name + n;
        while (*p != '>' && !(p[0] == '/' && p[1] == '>')) {
            assert_true(*p != '\0' && *p != '<');
            if (*p == '"') {
                p = strchr(p + 1, '"');
                assert_non_null(p);
            }
            p++;
        }
        if (closing) {
            depth--;
            assert_true(depth >= 0);
            assert_true(strlen(open[depth]) == n && strncmp(open[depth], name, n) == 0);
        } else if (*p == '>') {
            assert_true(depth < 16);
            snprintf(open[depth++], 32, "%.*s", (int)n, name);
        }
        p += *p == '/' ? 2 : 1;
    }
    assert_int_equal(depth, 0);
}

static void plot(temporary *t, const ds_convergence *run, const char *expected)
{
    char png[512];
    snprintf(png, sizeof png, "%s", temporary_path(t, "c.png"));
    const char *svg = temporary_path(t, "c.svg");
    ds_error e = {0};
    if (ds_picture_convergence(png, svg, run, &e) != 0) {
        fail_msg("%s", e.text);
    }
    assert_true(ink(png, DS_PLOT_WIDTH, DS_PLOT_HEIGHT) > 0.002);
    size_t len;
    char *text = (char *)temporary_read(svg, &len);
    assert_int_equal(strlen(text), len);
    assert_true(len < 1000000);
    check_xml(text);
    if (strstr(text, expected) == NULL) {
        fail_msg("\"%s\" is not in the plot", expected);
    }
    free(text);
}

static void test_convergence(void **state)
{
    temporary t;
    temporary_open(&t);
    enum { MANY = 1000000 };
    double *loss = malloc(MANY * sizeof *loss);
    uint8_t *tag = malloc(MANY);
    assert_non_null(loss);
    assert_non_null(tag);
    static const char *const names[] = {"init", "", "a<b&\"c\" \x01\xff", "descent"};
    ds_convergence run = {
        .env = "torus", .opt = "boleap", .seed = 7, .loss = loss, .target = (double)INFINITY};
    plot(&t, &run, "no evaluations");
    loss[0] = 3.5;
    run.count = 1;
    run.budget = 20;
    plot(&t, &run, ">best 3.5</text>");
    loss[0] = (double)NAN;
    plot(&t, &run, "no finite loss: every evaluation failed");
    for (int i = 0; i < MANY; i++) {
        loss[i] = 5;
        tag[i] = (uint8_t)(i % 5);
    }
    run.count = 50;
    plot(&t, &run, ">best 5</text>");
    run.tag = tag;
    run.tags = 4;
    run.tag_name = names;
    for (int i = 0; i < MANY; i++) {
        loss[i] = i % 1000 == 3 ? (double)INFINITY : 1000.0 / (i + 1) + i % 7;
    }
    run.count = 1000;
    run.budget = 1000;
    run.target = 0.5;
    plot(&t, &run, "a&lt;b&amp;\"c\" \?\?");
    run.count = MANY;
    plot(&t, &run, "1000 failed");
    for (int i = 0; i < 300; i++) {
        loss[i] = -10 - i;
    }
    run.count = 300;
    run.target = -400;
    run.note = "stopped by a signal";
    plot(&t, &run, "stopped by a signal");
    for (int i = 0; i < 300; i++) {
        loss[i] = i % 2 == 0 ? 1.7e308 : -1.7e308;
    }
    plot(&t, &run, ">loss");
    for (int i = 0; i < 300; i++) {
        loss[i] = i == 299 ? 0 : 4.9e-324 * (300 - i);
    }
    run.target = 0;
    plot(&t, &run, ">best 0</text>");
    free(loss);
    free(tag);
    temporary_close(&t);
}

static void test_scale(void **state)
{
    static const double ranges[][2] = {{0, 1},      {-1, 1},      {1e-12, 1},      {1, 1},
                                       {0, 0},      {-5, -5},     {1e-240, 1e240}, {-1e250, 1e250},
                                       {3, 3.0001}, {-1e-9, 1e9}, {1e15, 1e15 + 4}};
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
        for (int kind = DS_SCALE_LINEAR; kind <= DS_SCALE_SYMLOG; kind++) {
            double low = ranges[i][0];
            double high = ranges[i][1];
            ds_scale s = ds_scale_make(kind, low, high, fmax(fabs(low), fabs(high)) * 1e-6 + 1e-12, 500, 100);
            ds_tick ticks[DS_SCALE_MAX_TICKS];
            size_t n = ds_scale_ticks(&s, 7, ticks);
            double a = ds_scale_map(&s, low);
            double b = ds_scale_map(&s, high);
            assert_true(a <= 500 && a >= 100 && b <= 500 && b >= 100 && b <= a);
            assert_true(n > 0 && n <= DS_SCALE_MAX_TICKS);
            int major = 0;
            for (size_t k = 0; k < n; k++) {
                double p = ds_scale_map(&s, ticks[k].value);
                assert_true(p >= 99 && p <= 501);
                major += ticks[k].major;
            }
            assert_true(major >= 1 && major <= 20);
        }
    }
    char text[40];
    ds_label_number(text, sizeof text, -1.25e-7, 0);
    assert_string_equal(text, "\xe2\x88\x92"
                              "1.25\xc2\xb7"
                              "10\xe2\x81\xbb\xe2\x81\xb7");
    ds_label_number(text, sizeof text, -0.0, 0);
    assert_string_equal(text, "0");
    ds_label_number(text, 8, 123456.75, 12);
    assert_true(strlen(text) < 8);
    ds_label_unit(text, sizeof text, "kg m^2/s^-1 ^x m^");
    assert_string_equal(text, "kg m\xc2\xb2/s\xe2\x81\xbb\xc2\xb9 ^x m^");
    ds_label_unit(text, 4, "m^2 s");
    assert_string_equal(text, "m\xc2\xb2");
}

static ds_snapshot *collect(synthetic *s)
{
    static const uint64_t keep[3] = {0, DS_SCENE_MIDDLE, DS_SCENE_LAST};
    ds_snapshot *d = NULL;
    ds_error e = {0};
    if (ds_snapshot_collect(&synthetic_ext, s, keep, 3, &d, &e) != 0) {
        fail_msg("%s", e.text);
    }
    return d;
}

static const ds_caption caption = {
    .env = "torus", .opt = "boleap", .seed = 1, .loss = 3.25, .number = 17, .text = "x 1"};

static void best(temporary *t, const ds_snapshot *d, int width, double least, double most)
{
    const char *path = temporary_path(t, "best.png");
    ds_error e = {0};
    if (ds_picture_best(path, d, d->frames, &caption, NULL, &e) != 0) {
        fail_msg("%s", e.text);
    }
    double share = ink(path, 0, 0);
    if (share < least || share > most) {
        fail_msg("%.4f of the pixels are coloured", share);
    }
    cairo_surface_t *s = cairo_image_surface_create_from_png(path);
    assert_int_equal(cairo_image_surface_get_width(s), width);
    cairo_surface_destroy(s);
}

static void test_best(void **state)
{
    temporary t;
    temporary_open(&t);
    synthetic s;
    synthetic_init(&s);
    ds_snapshot *d = collect(&s);
    best(&t, d, 2360, 0.05, 0.5);
    char text[100];
    ds_picture_metrics(text, sizeof text, d, 5);
    assert_string_equal(text, "iou 1, com_y 0.05 m");
    ds_picture_metrics(text, 8, d, 5);
    assert_string_equal(text, "iou 1");
    /* A target of a few points is a marker and gets no panel. */
    d->body[SYN_TARGET].count = 20;
    best(&t, d, 1784, 0.05, 0.5);
    d->flat = 1;
    best(&t, d, 1784, 0.05, 0.7);
    ds_snapshot_free(d);
    temporary_close(&t);
}

/* A small flat picture, read again; to be destroyed. */
static cairo_surface_t *flat_picture(const ds_snapshot *d, uint64_t k, uint32_t what)
{
    temporary t;
    ds_error e = {0};
    temporary_open(&t);
    const char *path = temporary_path(&t, "flat.png");
    ds_canvas *c = ds_canvas_new(DS_CANVAS_PNG, 300, 300);
    assert_non_null(c);
    ds_flat_draw(c, d, k, what, NULL, 0, 0, 300, 300, 1);
    assert_int_equal(ds_canvas_write(c, path, &e), 0);
    ds_canvas_free(c);
    cairo_surface_t *s = cairo_image_surface_create_from_png(path);
    temporary_close(&t);
    return s;
}

/* Pixels that the trajectories of the bodies change. */
static int pixels_of_traces(const ds_snapshot *d, uint64_t k)
{
    cairo_surface_t *without = flat_picture(d, k, DS_RENDER_SCENE);
    cairo_surface_t *with = flat_picture(d, k, DS_RENDER_SCENE | DS_RENDER_TRACE);
    const unsigned char *p = cairo_image_surface_get_data(without), *q = cairo_image_surface_get_data(with);
    int changed = 0;
    for (int i = 0; i < 300 * cairo_image_surface_get_stride(with); i += 4) {
        changed += memcmp(p + i, q + i, 4) != 0;
    }
    cairo_surface_destroy(without);
    cairo_surface_destroy(with);
    return changed;
}

/* A flat scene keeps many frames for its image and shows trajectories; other scenes keep three. */
static void test_traces(void **state)
{
    synthetic s;
    synthetic_init(&s);
    ds_snapshot *d = NULL;
    ds_error e = {0};
    assert_int_equal(ds_snapshot_take(&synthetic_ext, &s, DS_KEEP_FEW, &d, &e), 0);
    assert_true(d->kept == 3 && d->frames > 3);
    ds_snapshot_free(d);
    assert_int_equal(ds_snapshot_take(&synthetic_ext, &s, DS_KEEP_METRICS, &d, &e), 0);
    assert_true(d->kept == 0);
    ds_snapshot_free(d);
    s.info.flat = 1;
    assert_int_equal(ds_snapshot_take(&synthetic_ext, &s, DS_KEEP_FEW, &d, &e), 0);
    assert_true(d->kept == d->frames && d->frame[d->kept - 1] == d->frames - 1);
    assert_int_equal(pixels_of_traces(d, 0), 0);
    assert_true(pixels_of_traces(d, d->kept - 1) > 20);
    ds_snapshot_free(d);
}

static ds_status frame_of_balls(void *self, uint64_t k, uint64_t b, uint64_t capacity, double *out)
{
    const double pose[7] = {0.1 * (double)k, 0.2 * (double)b, 0, 1, 0, 0, 0};
    (void)self;
    assert_true(capacity >= 7);
    memcpy(out, pose, sizeof pose);
    return DS_OK;
}

/* A scene of few rigid bodies keeps as many frames as a flat one and shows the trajectories of those that
 * move. */
static void test_traces_in_the_round(void **state)
{
    enum { W = 160, H = 120 };
    static uint32_t pixels[2][W * H];
    ds_error e = {0};
    synthetic s;
    int changed = 0;
    synthetic_init(&s);
    for (uint64_t b = 0; b < s.info.bodies; b++) { /* all are balls now */
        s.body[b].shape = DS_BODY_SPHERE;
        s.body[b].count = 1;
        s.body[b].index_count = 0;
    }
    ds_snapshot *d = NULL;
    ds_scene balls = synthetic_ext;
    balls.frame = frame_of_balls;
    if (ds_snapshot_take(&balls, &s, DS_KEEP_FEW, &d, &e) != 0) {
        fail_msg("%s", e.text);
    }
    assert_int_equal(d->kept, d->frames);
    ds_snapshot_free(d);
    synthetic_init(&s);
    d = NULL;
    assert_int_equal(ds_snapshot_take(&synthetic_ext, &s, DS_KEEP_ALL, &d, &e), 0);
    for (uint64_t k = 0; k < d->kept; k++) {
        d->body[SYN_TOOL].data[7 * k] = 0.2 + 0.6 * (double)k / (double)(d->kept - 1);
        d->body[SYN_TOOL].data[7 * k + 1] = 0.3;
    }
    for (int i = 0; i < 2; i++) {
        assert_int_equal(
            ds_render(d, d->kept - 1, DS_RENDER_SCENE | (i ? DS_RENDER_TRACE : 0u), W, H, pixels[i], &e), 0);
    }
    for (int i = 0; i < W * H; i++) {
        changed += pixels[0][i] != pixels[1][i];
    }
    assert_true(changed > 30);
    ds_snapshot_free(d);
}

/* ds_render() draws a point of the world where the projection says: a ball there is in the middle of the
 * changed pixels. */
static void test_projection(void **state)
{
    enum { W = 320, H = 240 };
    static uint32_t pixels[2][W * H];
    ds_error e = {0};
    synthetic s;
    double place[3] = {0.3, 0.25, 0.6}, at[2], sum[2] = {0, 0};
    int changed = 0;
    synthetic_init(&s);
    ds_snapshot *d = collect(&s);
    d->ground = -(double)INFINITY; /* no shadow on it */
    d->body[SYN_TOOL].shape = DS_BODY_SPHERE;
    d->body[SYN_TOOL].size[0] = 0.01;
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < 3; i++) {
            d->body[SYN_TOOL].data[i] = k ? place[i] : (double)NAN;
        }
        assert_int_equal(ds_render(d, 0, DS_RENDER_SCENE, W, H, pixels[k], &e), 0);
    }
    for (int i = 0; i < W * H; i++) {
        if ((pixels[0][i] & 0xff) != (pixels[1][i] & 0xff) && pixels[0][i] == 0xffffff) {
            sum[0] += i % W + 0.5;
            sum[1] += i / W + 0.5;
            changed++;
        }
    }
    assert_true(changed > 5 && ds_render_project(d, NULL, W, H, place, at));
    if (!(fabs(at[0] - sum[0] / changed) < 1 && fabs(at[1] - sum[1] / changed) < 1)) {
        fail_msg("projected to %g, %g, drawn around %g, %g", at[0], at[1], sum[0] / changed,
                 sum[1] / changed);
    }
    assert_true(ds_render_spacing(d) > 0.02 && ds_render_spacing(d) < 0.2);
    ds_snapshot_free(d);
}

/* With as many marked bodies as targets they form pairs. */
static void test_pairs(void **state)
{
    synthetic s;
    synthetic_init(&s);
    ds_snapshot *d = collect(&s);
    assert_int_equal(ds_overlay_has_pairs(d), 0);
    ds_snapshot_body *target = &d->body[SYN_TARGET], *mark = &d->body[SYN_TOOL];
    target->shape = DS_BODY_SPHERE;
    target->width = 7;
    target->count = 1;
    mark->role = DS_ROLE_MATERIAL;
    assert_int_equal(ds_overlay_has_pairs(d), 0); /* a single one needs no number */
    target->count = 4;
    assert_int_equal(ds_overlay_has_pairs(d), 0);
    mark->count = 4;
    assert_int_equal(ds_overlay_has_pairs(d), 1);
    mark->count = 1;
    target->count = 20; /* as created */
    ds_snapshot_free(d);
}

/* Long captions wrap: the image grows and no text is cut. */
static void test_long_captions(void **state)
{
    temporary t;
    temporary_open(&t);
    synthetic s;
    synthetic_init(&s);
    ds_snapshot *d = collect(&s);
    int height[2];
    for (int k = 0; k < 2; k++) {
        ds_error e = {0};
        ds_caption shown = caption;
        const char *path = temporary_path(&t, "best.png");
        char text[1000] = "";
        for (int i = 0; k && i < 12; i++) {
            strcat(text, "a_rather_long_name_of_a_metric 0.123456 kg m^2/s, ");
        }
        shown.text = text;
        shown.settings = "variant 2, preset small";
        assert_int_equal(ds_picture_best(path, d, d->frames + 5, &shown, NULL, &e), 0);
        cairo_surface_t *png = cairo_image_surface_create_from_png(path);
        height[k] = cairo_image_surface_get_height(png);
        cairo_surface_destroy(png);
    }
    assert_true(height[1] > height[0] + 20);
    char title[200];
    const ds_caption named = {.env = "torus", .opt = "boleap", .settings = "variant 2, preset small"};
    ds_caption_title(title, sizeof title, &named);
    assert_non_null(strstr(title, "torus (variant 2, preset small)"));
    ds_snapshot_free(d);
    temporary_close(&t);
}

/* Number of pixels that a ball inside the slab changes, for a slab of this transparency. */
static int pixels_of_ball(double clearness)
{
    enum { W = 160, H = 120 };
    static uint32_t pixels[2][W * H];
    ds_error e = {0};
    int changed = 0;
    synthetic s;
    synthetic_init(&s);
    s.body[SYN_SLAB].size[1] = clearness;
    ds_snapshot *d = collect(&s);
    d->body[SYN_TOOL].shape = DS_BODY_SPHERE;
    d->body[SYN_TOOL].size[0] = 0.03;
    for (int k = 0; k < 2; k++) {
        const double place[3] = {0.5, 0.05, 0.5};
        for (uint64_t f = 0; f < d->kept; f++) {
            for (int i = 0; i < 3; i++) {
                d->body[SYN_TOOL].data[7 * f + (uint64_t)i] = k ? (double)NAN : place[i];
            }
        }
        assert_int_equal(ds_render(d, 0, DS_RENDER_SCENE, W, H, pixels[k], &e), 0);
    }
    for (int i = 0; i < W * H; i++) {
        changed += pixels[0][i] != pixels[1][i];
    }
    ds_snapshot_free(d);
    return changed;
}

/* The inside of a transparent body is visible. */
static void test_clear(void **state)
{
    int opaque = pixels_of_ball(0), clear = pixels_of_ball(0.5);
    print_message("# the ball changes %d pixels in an opaque slab, %d in a clear one\n", opaque, clear);
    assert_true(clear > 60 && clear > 5 * opaque);
}

/* Draws a small perspective and a flat image; it must only succeed. */
static void draw_small(ds_snapshot *d)
{
    enum { W = 96, H = 72 };
    static uint32_t pixels[W * H];
    ds_error e = {0};
    assert_int_equal(ds_render(d, 0, DS_RENDER_SCENE | DS_RENDER_GHOST, W, H, pixels, &e), 0);
    assert_int_equal(ds_render(d, d->kept - 1, DS_RENDER_TARGET, W, H, pixels, &e), 0);
    ds_canvas *c = ds_canvas_new(DS_CANVAS_PNG, 200, 160);
    assert_non_null(c);
    ds_flat_draw(c, d, 0, DS_RENDER_SCENE | DS_RENDER_GHOST, NULL, 0, 0, 200, 160, 1);
    ds_file_named("/dev/null");
    assert_int_equal(ds_canvas_write(c, "/dev/null", &e), 0);
    ds_canvas_free(c);
}

/* Bodies of every shape; positions that are not finite or far away; boxes without depth. */
static void test_hard_scenes(void **state)
{
    synthetic s;
    synthetic_init(&s);
    static const uint32_t shapes[] = {DS_BODY_SPHERE, DS_BODY_CAPSULE, DS_BODY_CYLINDER, DS_BODY_TORUS,
                                      DS_BODY_BOX};
    static const double odd[] = {(double)NAN, (double)INFINITY, -1e300, 1e30, 0, 1e-310};
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        ds_snapshot *d = collect(&s);
        d->body[SYN_SLAB].count = 500;
        d->body[SYN_TARGET].count = 500;
        d->body[SYN_TOOL].shape = shapes[i];
        d->body[SYN_TOOL].size[2] = 0.02;
        draw_small(d);
        for (uint64_t b = 0; b < d->bodies; b++) {
            uint64_t n = d->kept * d->body[b].count * d->body[b].width;
            for (uint64_t k = 0; k < n; k++) {
                if ((k * 2654435761u >> 7) % 3 == 0) {
                    d->body[b].data[k] = odd[k % 6];
                }
            }
        }
        draw_small(d);
        d->box[5] = d->box[2];
        d->box[4] = d->box[1];
        d->ground = -(double)INFINITY;
        draw_small(d);
        d->box[3] = d->box[0] + 1e-300;
        draw_small(d);
        d->box[0] = -1e300;
        d->box[3] = 1e300;
        draw_small(d);
        ds_snapshot_free(d);
    }
}

static void test_render_depends_on_frame(void **state)
{
    enum { W = 120, H = 90 };
    static uint32_t a[W * H], b[W * H], c[W * H];
    synthetic s;
    synthetic_init(&s);
    ds_snapshot *d = collect(&s);
    ds_error e = {0};
    assert_int_equal(ds_render(d, 0, DS_RENDER_SCENE, W, H, a, &e), 0);
    assert_int_equal(ds_render(d, 0, DS_RENDER_SCENE, W, H, b, &e), 0);
    assert_int_equal(ds_render(d, 2, DS_RENDER_SCENE, W, H, c, &e), 0);
    assert_memory_equal(a, b, sizeof a);
    assert_true(memcmp(a, c, sizeof a) != 0);
    /* The middle of the picture shows the warm material at the end, where the tool is above it at the start.
     */
    int warm = 0;
    for (int i = 0; i < W * H; i++) {
        warm += (a[i] >> 16 & 255) > (a[i] & 255) + 60;
    }
    assert_true(warm > W * H / 20);
    ds_snapshot_free(d);
}

static void test_best_x(void **state)
{
    temporary t;
    temporary_open(&t);
    enum { N = 5000 };
    static double x[N], lower[N], upper[N];
    for (int i = 0; i < N; i++) {
        x[i] = sin(i);
        lower[i] = -1;
        upper[i] = 1;
    }
    static const uint64_t counts[] = {1, 2, 15, 60, 1000, N};
    for (int mixed = 0; mixed < 2; mixed++) {
        for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
            const char *path = temporary_path(&t, "x.png");
            const ds_bars bars = {counts[i], x, lower, upper, NULL};
            assert_int_equal(ds_picture_best_x(path, &bars, &caption, NULL), 0);
            assert_true(ink(path, DS_PLOT_WIDTH, DS_PLOT_HEIGHT) > 0.003);
        }
        upper[1] = 1e308;
        lower[1] = -1e308;
        lower[2] = 0;
    }
    temporary_close(&t);
}

/* Names are below the bars where they fit: more ink than numbers; 30 names give the same image as none. */
static void test_bar_names(void **state)
{
    temporary t;
    temporary_open(&t);
    double x[30] = {0}, lower[30], upper[30], drawn[2][2];
    ds_named_variable names[30];
    for (int i = 0; i < 30; i++) {
        char name[32], why[DS_VARIABLE_WHY];
        lower[i] = -1;
        upper[i] = 1;
        snprintf(name, sizeof name, "tool.displacement.%d", i);
        assert_int_equal(ds_variable_set(&names[i], name, "m/step", "tool", 0, why), 0);
    }
    for (int many = 0; many < 2; many++) {
        for (int named = 0; named < 2; named++) {
            const char *path = temporary_path(&t, "x.png");
            const ds_bars bars = {many ? 30 : 3, x, lower, upper, named ? names : NULL};
            assert_int_equal(ds_picture_best_x(path, &bars, &caption, NULL), 0);
            drawn[many][named] = ink(path, DS_PLOT_WIDTH, DS_PLOT_HEIGHT);
        }
    }
    assert_true(drawn[0][1] > drawn[0][0]);
    assert_true(drawn[1][1] == drawn[1][0]);
    temporary_close(&t);
}

static void test_errors(void **state)
{
    temporary t;
    temporary_open(&t);
    synthetic s;
    synthetic_init(&s);
    ds_snapshot *d = collect(&s);
    double loss[2] = {2, 1};
    d->flat = 1;
    ds_convergence run = {.env = "a", .opt = "b", .count = 2, .loss = loss, .target = (double)INFINITY};
    ds_error e = {0};
    char gone[512];
    snprintf(gone, sizeof gone, "%s/none/x.png", t.folder);
    ds_file_named("/dev/full");
    const char *const paths[] = {"/dev/full", gone, t.folder};
    for (int i = access("/dev/full", W_OK) == 0 ? 0 : 1; i < 3; i++) {
        assert_int_equal(ds_picture_best(paths[i], d, 0, &caption, NULL, &e), DS_EXIT_IO);
        assert_non_null(strstr(e.text, paths[i]));
        assert_int_equal(ds_picture_convergence(paths[i], NULL, &run, &e), DS_EXIT_IO);
        assert_int_equal(ds_picture_convergence(NULL, paths[i], &run, &e), DS_EXIT_IO);
        const ds_bars bars = {2, loss, loss, loss, NULL};
        assert_int_equal(ds_picture_best_x(paths[i], &bars, &caption, &e), DS_EXIT_IO);
    }
    d->kept = 0;
    assert_int_equal(ds_picture_best(temporary_path(&t, "x.png"), d, 0, &caption, NULL, &e), DS_EXIT_PLUGIN);
    assert_int_equal(temporary_count(&t), 0);
    ds_snapshot_free(d);
    temporary_close(&t);
}

/* A triangle that is seen from its front keeps its normals, also where they point away at a sharp edge; they
 * are turned over where its back is seen. */
static void test_sides(void **state)
{
    (void)state;
    const ds_view v = {.eye = {0, 0, -4},
                       .right = {1, 0, 0},
                       .up = {0, 1, 0},
                       .forward = {0, 0, 1},
                       .focal = 4,
                       .cx = 4,
                       .cy = 4,
                       .parallel = 1,
                       .width = 8,
                       .height = 8};
    ds_triangle t = {.p = {{-1, -1, 0}, {1, -1, 0}, {0, 1, 0}},
                     .n = {{0, 0, -1}, {0, 0, -1}, {0, 0.9F, 0.436F}},
                     .surface = 0};
    const ds_geometry g = {.triangle = &t, .triangles = 1};
    for (int back = 0; back < 2; back++) {
        ds_pixel pixels[64];
        int seen = 0;
        ds_raster_clear(pixels, &v);
        ds_raster_geometry(pixels, &v, &g);
        for (int i = 0; i < 64; i++) {
            if (isfinite(pixels[i].z)) {
                assert_true(pixels[i].n[1] > 0);
                seen++;
            }
        }
        assert_true(seen > 10);
        for (int k = 0; k < 3; k++) {
            t.n[k] = (vec3){-t.n[k].x, -t.n[k].y, -t.n[k].z};
        }
    }
}

RUN_TESTS(test_sides, test_convergence, test_scale, test_clear, test_best, test_traces,
          test_traces_in_the_round, test_projection, test_pairs, test_long_captions, test_hard_scenes,
          test_render_depends_on_frame, test_best_x, test_bar_names, test_errors)
