/* SPDX-License-Identifier: Apache-2.0 */
/* test_dibr.c - the interpolating rasterizer: properties of its images, derivatives against differences in
 * every mode, the same bits for all threads, and scenes that cannot be drawn. */
#include "engines/rendering/render/dibr_internal.h"
#include "render_cases.h"
#include "test.h"

enum { SIZE = 40, PIXELS = SIZE * SIZE * DIBR_CHANNELS, CORNERS = 8, SIDES = 12, WIDTH = 5, HEIGHT = 4 };

/* A cube with slightly moved corners, seen by a camera of either kind. */
typedef struct cube {
    dibr_options o;
    dibr *r;
    camera c;
    dibr_surface s, bar;
    camera_pose camera_bar;
    dibr_lighting lighting, lighting_bar;
    double p[3 * CORNERS], color[3 * CORNERS], uv[2 * CORNERS], texture[3 * WIDTH * HEIGHT], harmonics[9];
    double p_bar[3 * CORNERS], color_bar[3 * CORNERS], uv_bar[2 * CORNERS], texture_bar[3 * WIDTH * HEIGHT];
    double harmonics_bar[9], image[PIXELS], weight[PIXELS];
} cube;

static const uint32_t cube_face[3 * SIDES] = {0, 6, 4, 0, 2, 6, 0, 3, 2, 0, 1, 3, 2, 7, 6, 2, 3, 7,
                                              4, 6, 7, 4, 7, 5, 0, 4, 5, 0, 5, 1, 1, 5, 7, 1, 7, 3};

static dibr *open(const dibr_options *o, const render_mesh *m)
{
    char text[RENDER_TEXT];
    ds_status status;
    dibr *r = dibr_create(o, m, &status, text);
    if (!r) {
        fail_msg("%s", text);
    }
    return r;
}

static void cube_open(cube *t, dibr_mode mode, int textured, uint64_t key)
{
    ds_random r = ds_random_open(key, "cube", 0);
    *t = (cube){.o = dibr_defaults(mode, SIZE)};
    t->c = camera_orbit((camera_kind)(key % 2), 3.5, 0.5, 0.6);
    t->o.light[0] = 0.48;
    t->o.light[1] = 0.64;
    t->o.light[2] = key % 2 ? 0.6 : -0.6;
    t->o.specular = 0.3;
    t->o.shine = 3;
    t->o.background[2] = 0.2;
    if (textured) {
        t->o.texture_width = WIDTH;
        t->o.texture_height = HEIGHT;
    }
    for (uint32_t i = 0; i < CORNERS; i++) {
        for (uint32_t k = 0; k < 3; k++) {
            t->p[3 * i + k] = (i >> (2 - k) & 1 ? 0.577 : -0.577) + uniform(&r, -0.05, 0.05);
        }
    }
    fill(&r, t->color, 3 * CORNERS, 0.1, 0.6);
    fill(&r, t->uv, 2 * CORNERS, 0.05, 0.95);
    fill(&r, t->texture, 3 * WIDTH * HEIGHT, 0.1, 0.6);
    fill(&r, t->harmonics, 9, -0.5, 1);
    fill(&r, t->weight, PIXELS, -1, 1);
    t->s = (dibr_surface){t->p, t->color, t->uv, t->texture, t->harmonics, NULL};
    t->bar =
        (dibr_surface){t->p_bar, t->color_bar, t->uv_bar, t->texture_bar, t->harmonics_bar, &t->lighting_bar};
    t->lighting = (dibr_lighting){.light = {t->o.light[0], t->o.light[1], t->o.light[2]},
                                  .ambient = t->o.ambient,
                                  .diffuse = t->o.diffuse,
                                  .specular = t->o.specular,
                                  .shine = t->o.shine};
    t->r = open(&t->o, &(render_mesh){CORNERS, SIDES, cube_face});
}

static void cube_run(cube *t)
{
    render_report report;
    assert_int_equal(dibr_draw(t->r, &t->c, &t->s, t->image, &report), DS_OK);
    assert_int_equal(report.drawn + report.outside, SIDES);
    assert_true(report.drawn >= 4 && report.drawn <= 6); /* two or three sides are visible */
    assert_int_equal(dibr_adjoint(t->r, t->weight, &t->bar, &t->camera_bar), DS_OK);
}

/* ---- images ---- */

/* A triangle in front of the camera, in coordinates of the image plane. */
static void place(const camera *c, double x, double y, double z, double p[3])
{
    const double t = tan(c->pose.half_angle);
    p[0] = x * z * t;
    p[1] = y * z * t;
    p[2] = c->pose.eye[2] - z;
}

/* Colours are interpolated in the image; outside of the triangle alpha depends on the distance to it. */
static void interpolation(void **state)
{
    const camera c = camera_orbit(CAMERA_DIBR, 5, 0, 0);
    const dibr_options o = dibr_defaults(DIBR_COLOR, 256);
    const uint32_t face[] = {0, 1, 2, 3, 5, 4};
    double p[18], color[18] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, *image = calloc(256 * 256 * 4, sizeof *image);
    assert_non_null(image);
    place(&c, -0.5, -0.5, 5, p);
    place(&c, 0.5, -0.5, 4, p + 3);
    place(&c, -0.5, 0.5, 6, p + 6);
    memcpy(p + 9, p, 9 * sizeof *p); /* a face is invisible from behind */
    for (int i = 2; i < 18; i += 3) {
        p[i] += i > 9 ? 1 : 0; /* although it is nearer */
    }
    dibr *r = open(&o, &(render_mesh){6, 2, face});
    render_report report;
    const dibr_surface s = {.p = p, .color = color};
    assert_int_equal(dibr_draw(r, &c, &s, image, &report), DS_OK);
    assert_int_equal(report.drawn, 1);
    for (size_t row = 0; row < 256; row++) {
        for (size_t column = 0; column < 256; column++) {
            const double x = (2.0 * (double)column - 255) / 256, y = (255 - 2.0 * (double)row) / 256;
            const double *at = image + 4 * (256 * row + column), w1 = x + 0.5, w2 = y + 0.5, w0 = 1 - w1 - w2;
            if (w0 > 1e-9 && w1 > 1e-9 && w2 > 1e-9) {
                assert_near(at[0], w0, 1e-12);
                assert_near(at[1], w1, 1e-12);
                assert_near(at[2], w2, 1e-12);
                assert_near(at[3], 1, 0);
            } else if (w2 < -1e-9 && w1 > 0 && w0 + w2 > 0 && w2 > -0.019) { /* below the lower edge */
                assert_near(at[3], exp(-7000 * w2 * w2), 1e-12);
                assert_near(at[0], 0, 0);
            } else if (w2 < -0.021) {
                assert_near(at[3], 0, 0);
            }
        }
    }
    dibr_destroy(r);
    free(image);
}

/* The nearer of two faces is visible, in either order. */
static void nearest(void **state)
{
    const camera c = camera_orbit(CAMERA_DIBR, 5, 0, 0);
    const dibr_options o = dibr_defaults(DIBR_COLOR, 32);
    const uint32_t face[2][6] = {{0, 1, 2, 3, 4, 5}, {3, 4, 5, 0, 1, 2}};
    double p[18], color[18] = {0}, image[32 * 32 * 4];
    for (int k = 0; k < 2; k++) {
        place(&c, -0.5, -0.5, 5 - k, p + 9 * k);
        place(&c, 0.5, -0.5, 5 - k, p + 9 * k + 3);
        place(&c, 0, 0.5, 5 - k, p + 9 * k + 6);
    }
    color[9] = color[12] = color[15] = 1; /* the nearer one is red */
    for (int k = 0; k < 2; k++) {
        dibr *r = open(&o, &(render_mesh){6, 2, face[k]});
        dibr_draw(r, &c, &(dibr_surface){.p = p, .color = color}, image, NULL);
        assert_near(image[4 * (18 * 32 + 16)], 1, 1e-12);
        dibr_destroy(r);
    }
}

/* A texture of two colours: red on the left, green on the right of a face that shows all of it; row 0 is the
 * top. */
static void texture(void **state)
{
    const camera c = camera_orbit(CAMERA_DIBR, 5, 0, 0);
    dibr_options o = dibr_defaults(DIBR_TEXTURE, 32);
    const uint32_t face[] = {0, 1, 2, 0, 2, 3};
    double p[12], uv[] = {0, 0, 1, 0, 1, 1, 0, 1}, image[32 * 32 * 4];
    double colors[] = {1, 0, 0, 0, 1, 0, 1, 0, 1, 0, 1, 1}; /* blue is added below */
    o.texture_width = o.texture_height = 2;
    for (int k = 0; k < 4; k++) {
        place(&c, k == 1 || k == 2 ? 1 : -1, k > 1 ? 1 : -1, 5, p + 3 * k);
    }
    dibr *r = open(&o, &(render_mesh){4, 2, face});
    dibr_draw(r, &c, &(dibr_surface){.p = p, .uv = uv, .texture = colors}, image, NULL);
    for (int k = 0; k < 4; k++) { /* near the corners the texels are clamped: pure colours */
        const size_t row = k < 2 ? 2 : 29, column = k % 2 ? 29 : 2;
        for (size_t i = 0; i < 3; i++) {
            assert_near(image[4 * (32 * row + column) + i], colors[3 * (size_t)k + i], 1e-12);
        }
    }
    dibr_destroy(r);
}

/* The bands are orthogonal on the sphere, and their squares have the integrals of the theory; all but the
 * first have mean 0. */
static void bands(void **state)
{
    enum { N = 200 };
    double sum[9][9] = {{0}}, mean[9] = {0};
    for (int i = 0; i < N; i++) {
        for (int k = 0; k < 2 * N; k++) {
            const double z = (2 * i + 1.0) / N - 1, a = 3.14159265358979 * (k + 0.5) / N, s = sqrt(1 - z * z);
            const double n[] = {s * cos(a), s * sin(a), z};
            double b[9];
            dibr_bands(n, b);
            for (int x = 0; x < 9; x++) {
                mean[x] += b[x] / (2 * N * N);
                for (int y = 0; y < 9; y++) {
                    sum[x][y] += b[x] * b[y] / (2 * N * N);
                }
            }
        }
    }
    static const double size[] = {1, 2.0 / 3, 0.25}; /* of bands of order 0, 1, 2; times 1 / (2 sqrt pi) */
    for (int x = 0; x < 9; x++) {
        const double expected = size[x == 0 ? 0 : x < 4 ? 1 : 2] * 0.2820948;
        assert_near(sqrt(sum[x][x]), expected, 1e-4);
        assert_near(mean[x], x == 0 ? 0.2820948 : 0, 1e-5);
        for (int y = 0; y < x; y++) {
            assert_near(sum[x][y], 0, 1e-5);
        }
    }
}

/* ---- derivatives ---- */

static double weighted_sum(void *context)
{
    cube *t = context;
    dibr_light(t->r, &t->lighting);
    assert_int_equal(dibr_draw(t->r, &t->c, &t->s, t->image, NULL), DS_OK);
    return dot(PIXELS, t->weight, t->image);
}

static const struct {
    dibr_mode mode;
    int textured;
} kind[] = {{DIBR_COLOR, 0}, {DIBR_TEXTURE, 1},   {DIBR_PHONG, 0},
            {DIBR_PHONG, 1}, {DIBR_HARMONICS, 0}, {DIBR_HARMONICS, 1}};

static void against_differences(void **state)
{
    size_t kinks = 0;
    for (uint64_t k = 0; k < 12; k++) {
        static cube t;
        const int textured = kind[k % 6].textured;
        cube_open(&t, kind[k % 6].mode, textured, k);
        cube_run(&t);
        kinks += differences(3 * CORNERS, t.p, t.p_bar, 1e-7, 1e-6, weighted_sum, &t);
        kinks += differences(10, pose_numbers(&t.c.pose), pose_numbers(&t.camera_bar), 1e-7, 1e-6,
                             weighted_sum, &t);
        if (textured) {
            kinks += differences(2 * CORNERS, t.uv, t.uv_bar, 1e-6, 1e-6, weighted_sum, &t);
            kinks += differences(3 * WIDTH * HEIGHT, t.texture, t.texture_bar, 1e-5, 1e-6, weighted_sum, &t);
        } else {
            kinks += differences(3 * CORNERS, t.color, t.color_bar, 1e-5, 1e-6, weighted_sum, &t);
        }
        if (t.o.mode == DIBR_HARMONICS) {
            kinks += differences(9, t.harmonics, t.harmonics_bar, 1e-4, 1e-8, weighted_sum, &t);
        }
        if (t.o.mode == DIBR_PHONG) {
            kinks += differences(7, (double *)&t.lighting, (double *)&t.lighting_bar, 1e-5, 1e-7,
                                 weighted_sum, &t);
        }
        dibr_destroy(t.r);
    }
    assert_true(kinks < 8);
}

/* A direction of all numbers of the cube, and their positions in its structures. */
typedef struct way {
    struct {
        double *at, *bar;
        size_t n;
    } part[7];
    double dot[3 * CORNERS + 3 * CORNERS + 2 * CORNERS + 3 * WIDTH * HEIGHT + 9 + 10 + 7];
    dibr_dot along;
    camera_pose camera;
    dibr_lighting lighting;
} way;

static void way_open(way *d, cube *t, uint64_t key)
{
    ds_random r = ds_random_open(key, "way", 0);
    double *of[5];
    *d = (way){.part = {{t->p, t->p_bar, 3 * CORNERS},
                        {t->color, t->color_bar, 3 * CORNERS},
                        {t->uv, t->uv_bar, 2 * CORNERS},
                        {t->texture, t->texture_bar, 3 * WIDTH * HEIGHT},
                        {t->harmonics, t->harmonics_bar, 9},
                        {pose_numbers(&t->c.pose), pose_numbers(&t->camera_bar), 10},
                        {(double *)&t->lighting, (double *)&t->lighting_bar, 7}}};
    fill(&r, d->dot, sizeof d->dot / sizeof *d->dot, -1, 1);
    double *at = d->dot;
    for (int k = 0; k < 5; at += d->part[k++].n) {
        of[k] = at;
    }
    memcpy(pose_numbers(&d->camera), at, 10 * sizeof *at);
    memcpy(&d->lighting, at + 10, 7 * sizeof *at);
    d->along = (dibr_dot){of[0], of[1], of[2], of[3], of[4], &d->camera, &d->lighting};
}

/* Moves the numbers by h along the direction. */
static void way_go(const way *d, double h)
{
    const double *dot = d->dot;
    for (int k = 0; k < 7; dot += d->part[k++].n) {
        for (size_t i = 0; i < d->part[k].n; i++) {
            d->part[k].at[i] += h * dot[i];
        }
    }
}

/* Every number of the image along a direction, against differences (within one a pixel may change to another
 * face or edge) and against the adjoint. */
static void tangents(void **state)
{
    const double h = 1e-6;
    for (uint64_t k = 0; k < 12; k++) {
        static cube t;
        static double image_dot[PIXELS], low[PIXELS];
        way d;
        double along = 0, largest = 0;
        size_t kinks = 0, changed = 0;
        cube_open(&t, kind[k % 6].mode, kind[k % 6].textured, k);
        assert_int_equal(dibr_tangent(t.r, &(dibr_dot){.p = t.p}, image_dot), DS_E_STATE);
        cube_run(&t);
        way_open(&d, &t, k);
        assert_int_equal(dibr_tangent(t.r, &d.along, image_dot), DS_OK);
        const double *v = d.dot;
        for (int i = 0; i < 7; v += d.part[i++].n) {
            along += dot(d.part[i].n, v, d.part[i].bar);
        }
        assert_near(dot(PIXELS, t.weight, image_dot) / along, 1, 1e-9);
        way_go(&d, -h);
        weighted_sum(&t);
        memcpy(low, t.image, sizeof low);
        way_go(&d, 2 * h);
        weighted_sum(&t);
        for (size_t i = 0; i < PIXELS; i++) {
            largest = fmax(largest, fabs(image_dot[i]));
        }
        for (size_t i = 0; i < PIXELS; i++) {
            changed += image_dot[i] != 0;
            kinks += fabs((t.image[i] - low[i]) / (2 * h) - image_dot[i]) > 1e-5 * largest;
        }
        assert_true(changed > 500 && kinks < 8);
        dibr_destroy(t.r);
    }
}

static void same_results(void **state)
{
    static cube first, other;
    cube_open(&first, DIBR_PHONG, 1, 3);
    cube_run(&first);
    for (uint32_t threads = 2; threads <= 4; threads *= 2) {
        cube_open(&other, DIBR_PHONG, 1, 3);
        dibr_destroy(other.r);
        other.o.threads = threads;
        other.r = open(&other.o, &(render_mesh){CORNERS, SIDES, cube_face});
        cube_run(&other);
        same_bits(PIXELS, other.image, first.image, "image");
        same_bits(3 * CORNERS, other.p_bar, first.p_bar, "by positions");
        same_bits(2 * CORNERS, other.uv_bar, first.uv_bar, "by u v");
        same_bits(3 * WIDTH * HEIGHT, other.texture_bar, first.texture_bar, "by the texture");
        same_bits(10, pose_numbers(&other.camera_bar), pose_numbers(&first.camera_bar), "by the camera");
        dibr_destroy(other.r);
    }
    dibr_destroy(first.r);
}

/* ---- scenes that cannot be drawn ---- */

static void unusual(void **state)
{
    for (int mode = DIBR_COLOR; mode <= DIBR_HARMONICS; mode++) {
        static cube t;
        render_report report;
        cube_open(&t, (dibr_mode)mode, mode == DIBR_TEXTURE, 1);
        assert_int_equal(dibr_adjoint(t.r, t.weight, &t.bar, NULL), DS_E_STATE);
        t.p[0] = NAN;
        t.p[3 * 7 + 1] = 1e300;
        t.uv[2 * 6] = NAN;
        t.color[3 * 6] = INFINITY;
        t.texture[3] = NAN;
        assert_int_equal(dibr_draw(t.r, &t.c, &t.s, t.image, &report), DS_OK);
        all_finite(PIXELS, t.image, "image");
        assert_true(report.broken > 0);
        assert_int_equal(dibr_adjoint(t.r, t.weight, &t.bar, &t.camera_bar), DS_OK);
        t.c.pose.eye[0] *= 0.1; /* inside */
        t.c.pose.eye[1] *= 0.1;
        t.c.pose.eye[2] *= 0.1;
        assert_int_equal(dibr_draw(t.r, &t.c, &t.s, t.image, &report), DS_OK);
        all_finite(PIXELS, t.image, "image");
        all_finite(3 * CORNERS, t.p_bar, "by positions");
        all_finite(10, pose_numbers(&t.camera_bar), "by the camera");
        t.c.far = 0;
        assert_int_equal(dibr_draw(t.r, &t.c, &t.s, t.image, &report), DS_E_ARG);
        t.c.far = 100;
        t.s.p = NULL;
        assert_int_equal(dibr_draw(t.r, &t.c, &t.s, t.image, &report), DS_E_ARG);
        dibr_destroy(t.r);
    }
}

static void refused(const dibr_options *o, const char *says)
{
    char text[RENDER_TEXT];
    ds_status status = DS_OK;
    assert_null(dibr_create(o, &(render_mesh){CORNERS, SIDES, cube_face}, &status, text));
    assert_int_equal(status, DS_E_ARG);
    if (!strstr(text, says)) {
        fail_msg("'%s' does not say '%s'", text, says);
    }
}

static void bad_options(void **state)
{
    dibr_options o = dibr_defaults(DIBR_COLOR, 4);
    refused(&o, "8 to 1024 pixels");
    o = dibr_defaults((dibr_mode)4, 64);
    refused(&o, "unknown mode");
    o = dibr_defaults(DIBR_TEXTURE, 64);
    refused(&o, "width and a height");
    o.texture_width = 3;
    refused(&o, "width and a height");
    o = dibr_defaults(DIBR_PHONG, 64);
    o.shine = -1;
    refused(&o, "shine");
    o.shine = NAN;
    refused(&o, "finite");
    o = dibr_defaults(DIBR_PHONG, 64);
    o.threads = 257;
    refused(&o, "threads");
}

RUN_TESTS(interpolation, nearest, texture, bands, against_differences, tangents, same_results, unusual,
          bad_options)
