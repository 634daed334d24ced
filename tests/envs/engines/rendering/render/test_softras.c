/* SPDX-License-Identifier: Apache-2.0 */
/* test_softras.c - the soft rasterizer: properties of its images, derivatives against differences and the
 * plain one, the same bits for all threads and instruction sets, and scenes that cannot be drawn. */
#include "engines/rendering/render/image.h"
#include "engines/rendering/render/mesh.h"
#include "render_cases.h"
#include "softras_plain.h"
#include "test.h"

static const softras_mode every_mode[] = {SOFTRAS_ALPHA, SOFTRAS_OVER, SOFTRAS_RGBA};

static size_t numbers(const softras_options *o)
{
    return (size_t)o->size * o->size * softras_channels(o->mode);
}

static softras *open(const softras_options *o, const render_mesh *m)
{
    char text[RENDER_TEXT];
    ds_status status;
    softras *r = softras_create(o, m, &status, text);
    if (!r) {
        fail_msg("%s", text);
    }
    assert_int_equal(status, DS_OK);
    return r;
}

static double *doubles(size_t n)
{
    double *p = calloc(n + 1, sizeof *p);
    assert_non_null(p);
    return p;
}

/* ---- images ---- */

/* A camera at (0, 0, -distance) that looks along +z: image x = X / (Z tan 30 degrees). */
static camera straight(double distance)
{
    return camera_orbit(CAMERA_SOFTRAS, distance, 0, 0);
}

/* World coordinates of a point of the image plane at depth z. */
static void place(const camera *c, double x, double y, double z, double p[3])
{
    const double t = tan(c->pose.half_angle);
    p[0] = x * z * t;
    p[1] = y * z * t;
    p[2] = c->pose.eye[2] + z;
}

static void draw_once(const softras_options *o, const render_mesh *m, const camera *c, const double *p,
                      const double *color, double *image, render_report *report)
{
    softras *r = open(o, m);
    assert_int_equal(softras_draw(r, c, p, color, image, report), DS_OK);
    softras_destroy(r);
}

/* One triangle with an edge through the centre of pixel (20, 30): alpha is 1 deep inside, one half on the
 * edge, 0 far outside. */
static void coverage(void **state)
{
    const camera c = straight(5);
    const softras_options o = softras_defaults(SOFTRAS_ALPHA, 64);
    const double x = (2.0 * 30 + 1 - 64) / 64, y = (63 - 2.0 * 20) / 64;
    const uint32_t face[] = {0, 1, 2};
    double p[9], image[64 * 64];
    place(&c, x, y - 0.9, 5, p);
    place(&c, x, y + 0.3, 5, p + 3);
    place(&c, x + 0.8, y - 0.2, 5, p + 6);
    draw_once(&o, &(render_mesh){3, 1, face}, &c, p, NULL, image, NULL);
    assert_near(image[20 * 64 + 30], 0.5, 1e-12);
    assert_true(image[25 * 64 + 36] > 0.999);
    assert_true(image[20 * 64 + 27] == 0);
    assert_true(image[20 * 64 + 31] > 0.9 &&
                image[20 * 64 + 29] < 0.1); /* half a pixel or more outside of the edge */
    assert_near(image[20 * 64 + 31] + image[20 * 64 + 29], 1, 1e-12);
}

/* Moved by one pixel in the image plane, an object looks the same one pixel further. */
static void translation(void **state)
{
    enum { S = 48 };
    const camera c = straight(6);
    for (size_t k = 0; k < 3; k++) {
        softras_options o = softras_defaults(every_mode[k], S);
        const size_t n = softras_channels(o.mode);
        triangles t;
        double a[S * S * 4], b[S * S * 4], pixel = 2.0 / S;
        some_triangles(&t, 3);
        for (size_t i = 0; i < SOME_VERTICES; i++) { /* a flat object */
            place(&c, 0.5 * t.p[3 * i], 0.5 * t.p[3 * i + 1], 6, t.p + 3 * i);
        }
        draw_once(&o, &t.m, &c, t.p, t.color, a, NULL);
        for (size_t i = 0; i < SOME_VERTICES; i++) {
            t.p[3 * i] += 6 * tan(c.pose.half_angle) * pixel;
            t.p[3 * i + 1] -= 6 * tan(c.pose.half_angle) * 2 * pixel;
        }
        draw_once(&o, &t.m, &c, t.p, t.color, b, NULL);
        for (size_t r = 0; r + 2 < S; r++) {
            for (size_t q = 0; q + 1 < S; q++) {
                for (size_t i = 0; i < n; i++) {
                    assert_near(b[((r + 2) * S + q + 1) * n + i], a[(r * S + q) * n + i], 1e-9);
                }
            }
        }
    }
}

/* The world's +x is right, +y is up; nearer faces hide the others, in any order. */
static void orientation(void **state)
{
    const camera c = straight(5);
    const softras_options o = softras_defaults(SOFTRAS_RGBA, 32);
    const uint32_t face[] = {0, 1, 2, 3, 4, 5};
    const double color[] = {1, 0, 0, 0, 1, 0};
    double p[18], q[18], image[32 * 32 * 4], other[32 * 32 * 4];
    for (int k = 0; k < 2; k++) { /* red at 5 m, green at 4 m and smaller */
        place(&c, 0.1, 0.1, 5 - k, p + 9 * k);
        place(&c, 0.9 - 0.3 * k, 0.1, 5 - k, p + 9 * k + 3);
        place(&c, 0.1, 0.9 - 0.3 * k, 5 - k, p + 9 * k + 6);
    }
    draw_once(&o, &(render_mesh){6, 2, face}, &c, p, color, image, NULL);
    memcpy(q, p + 9, 9 * sizeof *p);
    memcpy(q + 9, p, 9 * sizeof *p);
    draw_once(&o, &(render_mesh){6, 2, face}, &c, q, (double[]){0, 1, 0, 1, 0, 0}, other, NULL);
    const size_t both = 4 * (12 * 32 + 19), red = 4 * (12 * 32 + 25), none = 4 * (20 * 32 + 12);
    const double is_green[] = {0, 1, 0, 1}, is_red[] = {1, 0, 0, 1};
    for (size_t i = 0; i < 4; i++) {
        assert_near(image[both + i], is_green[i], 1e-9);
        assert_near(image[red + i], is_red[i], 1e-9);
        assert_true(image[none + i] == 0);
        assert_near(other[both + i], image[both + i], 1e-9);
    }
}

/* A horizontal face seen from above has the colour of its texture, a vertical one half of it: 127 of 255. */
static void lit_faces(void **state)
{
    const light l = light_default();
    const uint32_t face[] = {0, 1, 2};
    const double texture[] = {1, 1, 0};
    const double flat[] = {-2, 0, -2, -2, 0, 2, 2, 0, 0}, upright[] = {-2, -2, 0, 2, -2, 0, 0, 2, 0};
    double color[3], image[32 * 32 * 4];
    const softras_options o = softras_defaults(SOFTRAS_OVER, 32);
    camera c = camera_orbit(CAMERA_SOFTRAS, 5, 1.2, 0);
    light_faces(&l, &(render_mesh){3, 1, face}, flat, texture, 0, color);
    draw_once(&o, &(render_mesh){3, 1, face}, &c, flat, color, image, NULL);
    assert_near(image[4 * (16 * 32 + 16)], 1, 1e-9);
    assert_near(image[4 * (16 * 32 + 16) + 2], 0, 1e-9);
    light_faces(&l, &(render_mesh){3, 1, face}, upright, texture, 0, color);
    c = straight(5);
    draw_once(&o, &(render_mesh){3, 1, face}, &c, upright, color, image, NULL);
    assert_int_equal((int)(255 * image[4 * (16 * 32 + 16)]), 127);
}

/* ---- against the plain one ---- */

typedef struct result {
    size_t n, faces;
    double *image, *p, *color;
    camera_pose pose;
    render_report report;
} result;

static void result_open(result *a, const softras_options *o, const render_mesh *m)
{
    *a = (result){.n = numbers(o), .faces = m->faces};
    a->image = doubles(a->n);
    a->p = doubles(3 * (size_t)m->vertices);
    a->color = doubles(3 * (size_t)m->faces);
}

static void result_close(result *a)
{
    free(a->image);
    free(a->p);
    free(a->color);
}

static softras_bar bar_of(result *a)
{
    return (softras_bar){.p = a->p, .color = a->color, .camera = &a->pose};
}

static void run(const softras_options *o, const render_mesh *m, const camera *c, const double *p,
                const double *color, const double *weight, result *a)
{
    softras *r = open(o, m);
    softras_bar bar = bar_of(a);
    assert_int_equal(softras_draw(r, c, p, color, a->image, &a->report), DS_OK);
    assert_int_equal(softras_adjoint(r, weight, &bar), DS_OK);
    softras_destroy(r);
}

static void near_all(size_t n, const double *a, const double *b, double tolerance, const char *what)
{
    const double size = fmax(norm(n, b), 1e-300);
    for (size_t i = 0; i < n; i++) {
        if (!(fabs(a[i] - b[i]) <= tolerance * size)) {
            fail_msg("%s: number %zu is %.17g, not %.17g (of %g)", what, i, a[i], b[i], size);
        }
    }
}

/* Image and derivatives in every mode, with and without antialiasing, also for a size that is not a multiple
 * of a tile's. */
static void against_plain(void **state)
{
    for (uint64_t k = 0; k < 12; k++) {
        softras_options o = softras_defaults(every_mode[k % 3], k % 4 == 3 ? 20 : 45);
        ds_random random = ds_random_open(k, "plain", 0);
        camera c = some_camera((camera_kind)(k % 2));
        triangles t;
        result fast, plain;
        o.antialias = k % 4 == 3;
        o.sigma_scale = k % 5 == 0 ? 20 : 1;
        o.gamma = k % 5 == 1 ? 1e-2 : 1e-4;
        o.threads = 2;
        fill(&random, o.background, 3, 0, 1);
        some_triangles(&t, k);
        result_open(&fast, &o, &t.m);
        result_open(&plain, &o, &t.m);
        double *weight = doubles(fast.n);
        fill(&random, weight, fast.n, -1, 1);
        run(&o, &t.m, &c, t.p, t.color, weight, &fast);
        softras_bar bar = bar_of(&plain);
        assert_int_equal(softras_plain(&o, &t.m, &c, t.p, t.color, plain.image, weight, &bar, &plain.report),
                         DS_OK);
        near_all(fast.n, fast.image, plain.image, 1e-13, "image");
        near_all(3 * SOME_VERTICES, fast.p, plain.p, 1e-10, "by vertices");
        near_all(3 * SOME_FACES, fast.color, plain.color, 1e-12, "by colours");
        near_all(sizeof fast.pose / sizeof(double), pose_numbers(&fast.pose), pose_numbers(&plain.pose),
                 1e-10, "by the camera");
        assert_memory_equal(&fast.report, &plain.report, sizeof fast.report);
        result_close(&fast);
        result_close(&plain);
        free(weight);
    }
}

/* ---- the same bits ---- */

static void same_results(void **state)
{
    static const char *const isa[] = {"baseline", "avx2", "avx512"};
    for (size_t mode = 0; mode < 3; mode++) {
        const camera c = some_camera(CAMERA_SOFTRAS);
        softras_options o = softras_defaults(every_mode[mode], 100);
        ds_random random = ds_random_open(mode, "bits", 0);
        triangles t;
        result first, other;
        double *weight = doubles(numbers(&o));
        fill(&random, weight, numbers(&o), -1, 1);
        some_triangles(&t, 40 + mode);
        o.isa = isa[0];
        result_open(&first, &o, &t.m);
        run(&o, &t.m, &c, t.p, t.color, weight, &first);
        assert_true(norm(first.n, first.image) > 1 && norm(3 * SOME_VERTICES, first.p) > 1);
        for (int k = 0; k < 9; k++) {
            o.isa = isa[k % 3];
            o.threads = 1u << k / 3;
            result_open(&other, &o, &t.m);
            run(&o, &t.m, &c, t.p, t.color, weight, &other);
            same_bits(first.n, other.image, first.image, "image");
            same_bits(3 * SOME_VERTICES, other.p, first.p, "by vertices");
            same_bits(3 * SOME_FACES, other.color, first.color, "by colours");
            same_bits(sizeof first.pose / sizeof(double), pose_numbers(&other.pose),
                      pose_numbers(&first.pose), "by the camera");
            result_close(&other);
        }
        result_close(&first);
        free(weight);
    }
}

/* ---- derivatives ---- */

typedef struct weighted {
    softras *r;
    camera c;
    triangles t;
    double *image, *weight;
    size_t n;
} weighted;

static double weighted_sum(void *context)
{
    weighted *w = context;
    assert_int_equal(softras_draw(w->r, &w->c, w->t.p, w->t.color, w->image, NULL), DS_OK);
    return dot(w->n, w->weight, w->image);
}

static void weighted_open(weighted *w, const softras_options *o, uint64_t key)
{
    ds_random random = ds_random_open(key, "weights", 0);
    *w = (weighted){.c = some_camera((camera_kind)(key % 2)), .n = numbers(o)};
    some_triangles(&w->t, 100 + key);
    w->r = open(o, &w->t.m);
    w->image = doubles(w->n);
    w->weight = doubles(w->n);
    fill(&random, w->weight, w->n, -1, 1);
}

static void weighted_close(weighted *w)
{
    softras_destroy(w->r);
    free(w->image);
    free(w->weight);
}

/* By vertices, colours and camera, of a randomly weighted sum of the pixels. A few derivatives may meet a
 * kink: of the distance, of clipping, of the set of pixels that a face reaches. */
static void against_differences(void **state)
{
    size_t kinks = 0, all = 0;
    for (uint64_t k = 0; k < 9; k++) {
        softras_options o = softras_defaults(every_mode[k % 3], 32);
        weighted w;
        double p[3 * SOME_VERTICES] = {0}, color[3 * SOME_FACES] = {0};
        camera_pose pose = {.half_angle = 0};
        o.antialias = k % 2 == 1;
        o.gamma = 0.05;
        o.sigma_scale = k < 6 ? 1 : 4;
        o.background[1] = 0.3;
        weighted_open(&w, &o, k);
        weighted_sum(&w);
        softras_adjoint(w.r, w.weight, &(softras_bar){p, color, &pose});
        kinks += differences(3 * SOME_VERTICES, w.t.p, p, 1e-7, 1e-6, weighted_sum, &w);
        kinks += differences(sizeof pose / sizeof(double), pose_numbers(&w.c.pose), pose_numbers(&pose), 1e-8,
                             1e-6, weighted_sum, &w);
        if (o.mode != SOFTRAS_ALPHA) {
            assert_int_equal(differences(3 * SOME_FACES, w.t.color, color, 1e-4, 1e-7, weighted_sum, &w), 0);
        }
        all += 3 * SOME_VERTICES + 10;
        weighted_close(&w);
    }
    assert_true(kinks * 50 < all);
}

/* w . (J v) = (J' w) . v, for random v and w. */
static void products(void **state)
{
    for (uint64_t k = 0; k < 9; k++) {
        softras_options o = softras_defaults(every_mode[k % 3], 37 - k % 2);
        ds_random random = ds_random_open(k, "products", 0);
        weighted w;
        double p[3 * SOME_VERTICES] = {0}, color[3 * SOME_FACES] = {0};
        double p_dot[3 * SOME_VERTICES], color_dot[3 * SOME_FACES], pose_dot[10];
        camera_pose pose = {.half_angle = 0}, c_dot;
        o.antialias = k % 2 == 1;
        o.threads = 2;
        o.isa = k % 4 == 2 ? "avx2" : NULL;
        weighted_open(&w, &o, k);
        double *image_dot = doubles(w.n);
        fill(&random, p_dot, 3 * SOME_VERTICES, -1, 1);
        fill(&random, color_dot, 3 * SOME_FACES, -1, 1);
        fill(&random, pose_dot, 10, -1, 1);
        memcpy(&c_dot, pose_dot, sizeof c_dot);
        weighted_sum(&w);
        assert_int_equal(softras_adjoint(w.r, w.weight, &(softras_bar){p, color, &pose}), DS_OK);
        assert_int_equal(softras_tangent(w.r, &(softras_dot){p_dot, color_dot, &c_dot}, image_dot), DS_OK);
        double right = dot(3 * SOME_VERTICES, p, p_dot) + dot(10, pose_numbers(&pose), pose_dot);
        right += dot(3 * SOME_FACES, color, color_dot);
        double size = norm(w.n, image_dot) * norm(w.n, w.weight);
        assert_near(dot(w.n, w.weight, image_dot) / size, right / size, 1e-11);
        assert_true(fabs(right) > 1e-3);
        free(image_dot);
        weighted_close(&w);
    }
}

/* Where two edges are equally far the derivative is that of one of them, and each one-sided quotient belongs
 * to one of them. The nearest edge changes in the middle of a strip. */
static void kink(void **state)
{
    const camera c = straight(5);
    softras_options o = softras_defaults(SOFTRAS_ALPHA, 33);
    const uint32_t face[] = {0, 1, 2};
    double p[9], q[9], image[33 * 33], bar[33 * 33] = {0}, g[9] = {0}, side[2];
    o.sigma_scale = 40;
    /* The middle pixel sees the left and the right side of a symmetric triangle equally. */
    place(&c, -0.12, -0.9, 5, p);
    place(&c, 0.12, -0.9, 5, p + 3);
    place(&c, 0, 0.9, 5, p + 6);
    softras *r = open(&o, &(render_mesh){3, 1, face});
    softras_draw(r, &c, p, NULL, image, NULL);
    const double here = image[16 * 33 + 16], h = 1e-6;
    bar[16 * 33 + 16] = 1;
    softras_adjoint(r, bar, &(softras_bar){.p = g});
    for (int k = 0; k < 2; k++) { /* the whole triangle to the left, to the right */
        memcpy(q, p, sizeof q);
        for (int i = 0; i < 3; i++) {
            q[3 * i] += k == 0 ? -h : h;
        }
        softras_draw(r, &c, q, NULL, image, NULL);
        side[k] = (image[16 * 33 + 16] - here) / (k == 0 ? -h : h);
    }
    const double slope = g[0] + g[3] + g[6];
    assert_true(side[0] > 0.01 && side[1] < -0.01); /* decreases on either side */
    assert_true(fmin(fabs(slope - side[0]), fabs(slope - side[1])) < 1e-4 * fabs(slope));
    softras_destroy(r);
}

/* Deep inside a face 1 - A is 0 to all digits: derivatives by the other faces are exactly 0 and never NaN.
 * Where 1 - A is 1e-9 they still agree with differences. */
static void saturated(void **state)
{
    const camera c = straight(5);
    const softras_options o = softras_defaults(SOFTRAS_ALPHA, 64);
    const uint32_t face[] = {0, 1, 2, 3, 4, 5};
    double p[18], image[64 * 64], bar[64 * 64] = {0}, g[18] = {0};
    place(&c, -0.9, -0.9, 5, p);
    place(&c, 0.9, -0.9, 5, p + 3);
    place(&c, 0, 0.9, 5, p + 6);
    memcpy(p + 9, p, 9 * sizeof *p);
    softras *r = open(&o, &(render_mesh){6, 2, face});
    softras_draw(r, &c, p, NULL, image, NULL);
    assert_true(image[40 * 64 + 32] == 1);
    bar[40 * 64 + 32] = 1;
    softras_adjoint(r, bar, &(softras_bar){.p = g});
    for (int i = 0; i < 18; i++) {
        assert_true(g[i] == 0);
    }
    /* 1 - alpha = q^2 with q = 1 - A: compare d alpha / dy of both triangles with the formula 2 q^2 A s'. */
    const double pixel = (63 - 2.0 * 60) / 64, D = pixel + 0.9, sigma = 1.6e-4, s = D * D / sigma;
    const double q = 1 / (1 + exp(s)), move = 1e-3;
    memset(bar, 0, sizeof bar);
    memset(g, 0, sizeof g);
    bar[60 * 64 + 32] = 1;
    softras_draw(r, &c, p, NULL, image, NULL);
    assert_near(image[60 * 64 + 32], 1 - q * q, 1e-12);
    softras_adjoint(r, bar, &(softras_bar){.p = g});
    double along = 0;
    for (int i = 0; i < 6; i++) {
        along += g[3 * i + 1] * move;
    }
    const double expected = -2 * q * q * (1 - q) * 2 * D / sigma * move / (5 * tan(c.pose.half_angle));
    assert_near(along / expected, 1, 1e-9);
    softras_destroy(r);
}

/* ---- scenes that cannot be drawn ---- */

/* Faces behind the camera, across the near plane, with NaN, infinite, far away, without area or length:
 * finite image and derivatives, and counts. */
static void unusual(void **state)
{
    for (size_t mode = 0; mode < 3; mode++) {
        softras_options o = softras_defaults(every_mode[mode], 40);
        const camera c = straight(5);
        double p[] = {-1,    -1,  0,  1,    -1,       0,  0,  1,  0,  /* 0: seen */
                      -1,    -1,  -9, 1,    -1,       -9, 0,  1,  -9, /* 3: behind */
                      NAN,   0,   0,  0,    INFINITY, 0,              /* 6, 7 */
                      1e300, 0,   0,  2e12, 0,        0,              /* 8, 9: too far to the side */
                      50,    50,  0,  51,   50,       0,  50, 51, 0,  /* 10: outside of the image */
                      0.2,   0.2, 0};                                 /* 13 */
        const uint32_t face[] = {0, 1, 2, 3, 4, 5, 0,  1,  5,  0, 1, 6, 0,  7,  1,
                                 8, 1, 2, 9, 1, 2, 10, 11, 12, 0, 1, 1, 13, 13, 13};
        const render_mesh m = {14, 10, face};
        double color[30];
        for (int i = 0; i < 30; i++) {
            color[i] = 0.5;
        }
        result a;
        result_open(&a, &o, &m);
        double *weight = doubles(a.n), p_dot[42] = {0}, *image_dot = doubles(a.n);
        for (size_t i = 0; i < a.n; i++) {
            weight[i] = 1;
        }
        run(&o, &m, &c, p, color, weight, &a);
        all_finite(a.n, a.image, "image");
        all_finite(42, a.p, "by vertices");
        all_finite(30, a.color, "by colours");
        all_finite(10, pose_numbers(&a.pose), "by the camera");
        assert_true(norm(9, a.p) > 0 && norm(12, a.p + 18) == 0);
        assert_int_equal(a.report.drawn, 3);
        assert_int_equal(a.report.flat, 2);
        assert_int_equal(a.report.behind, 2);
        assert_int_equal(a.report.broken, 4);
        assert_int_equal(a.report.outside, 1);
        softras *r = open(&o, &m);
        color[0] = NAN; /* matters only in modes with colours */
        softras_draw(r, &c, p, color, a.image, &a.report);
        assert_int_equal(a.report.broken, mode == 0 ? 4 : 5);
        all_finite(a.n, a.image, "image");
        p_dot[0] = 1;
        softras_tangent(r, &(softras_dot){.p = p_dot}, image_dot);
        all_finite(a.n, image_dot, "change");
        softras_destroy(r);
        free(image_dot);
        free(weight);
        result_close(&a);
    }
}

/* A camera inside an object sees the faces in front of it. */
static void inside(void **state)
{
    const softras_options o = softras_defaults(SOFTRAS_OVER, 32);
    const double p[] = {4, 4, 4, -4, -4, 4, -4, 4, -4, 4, -4, -4},
                 color[] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    const uint32_t face[] = {0, 1, 2, 0, 3, 1, 0, 2, 3, 1, 3, 2};
    camera c = straight(2);
    render_report report;
    double image[32 * 32 * 4];
    draw_once(&o, &(render_mesh){4, 4, face}, &c, p, color, image, &report);
    all_finite(32 * 32 * 4, image, "image");
    assert_true(report.behind > 0 && report.drawn + report.behind == 4);
}

/* Nothing to draw: the background. */
static void empty(void **state)
{
    softras_options o = softras_defaults(SOFTRAS_OVER, 16);
    const camera c = straight(5);
    double image[16 * 16 * 4], bar[16 * 16 * 4] = {0};
    o.background[1] = 0.25;
    softras *r = open(&o, &(render_mesh){0, 0, NULL});
    assert_int_equal(softras_adjoint(r, bar, &(softras_bar){.p = NULL}), DS_E_STATE);
    assert_int_equal(softras_tangent(r, &(softras_dot){.p = NULL}, image), DS_E_STATE);
    assert_int_equal(softras_draw(r, &c, image, image, image, NULL), DS_OK);
    for (size_t i = 0; i < sizeof image / sizeof *image; i++) {
        assert_near(image[i], i % 4 == 1 ? 0.25 : 0, 1e-15);
    }
    camera bad = c;
    bad.pose.eye[1] = NAN;
    assert_int_equal(softras_draw(r, &bad, image, image, image, NULL), DS_E_ARG);
    assert_int_equal(softras_adjoint(r, bar, &(softras_bar){.p = NULL}), DS_E_STATE);
    assert_int_equal(softras_draw(r, &c, image, NULL, image, NULL), DS_E_ARG);
    assert_true(softras_memory(r) > 16 * 16 * 6 * sizeof(double));
    softras_destroy(r);
}

static void refused(const softras_options *o, const render_mesh *m, const char *says)
{
    char text[RENDER_TEXT];
    ds_status status = DS_OK;
    assert_null(softras_create(o, m, &status, text));
    assert_int_equal(status, DS_E_ARG);
    if (!strstr(text, says)) {
        fail_msg("'%s' does not say '%s'", text, says);
    }
}

static void bad_options(void **state)
{
    const uint32_t face[] = {0, 1, 3};
    const render_mesh none = {0, 0, NULL};
    softras_options o = softras_defaults(SOFTRAS_ALPHA, 7);
    refused(&o, &none, "7 pixels per side; allowed are 8 to 1024");
    o.size = 513;
    o.antialias = 1;
    refused(&o, &none, "allowed are 8 to 512 with antialiasing");
    o = softras_defaults((softras_mode)3, 64);
    refused(&o, &none, "unknown mode");
    o = softras_defaults(SOFTRAS_OVER, 64);
    refused(&o, &(render_mesh){3, 1, face}, "face 0 uses vertex 3, but there are only 3");
    refused(&o, &(render_mesh){RENDER_MAX_COUNT + 1, 0, NULL}, "at most 10000000");
    o.sigma_scale = 0;
    refused(&o, &none, "sigma_scale");
    o.sigma_scale = NAN;
    refused(&o, &none, "sigma_scale");
    o = softras_defaults(SOFTRAS_OVER, 64);
    o.gamma = -1;
    refused(&o, &none, "gamma");
    o = softras_defaults(SOFTRAS_OVER, 64);
    o.threads = 0;
    refused(&o, &none, "threads");
    o = softras_defaults(SOFTRAS_OVER, 64);
    o.background[2] = INFINITY;
    refused(&o, &none, "background");
}

RUN_TESTS(coverage, translation, orientation, lit_faces, against_plain, same_results, against_differences,
          products, kink, saturated, unusual, inside, empty, bad_options)
