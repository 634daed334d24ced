/* SPDX-License-Identifier: Apache-2.0 */
/* test_render.c - camera, light, images, the exponential function; clouds of soft discs; PNG files; the mass
 * of a cube from a video. Derivatives against differences, and the same bits for all threads and instruction
 * sets. */
#include "common/exp.h"
#include "engines/rendering/render/image.h"
#include "engines/rendering/render/kernels.h"
#include "engines/rendering/render/mesh.h"
#include "engines/rendering/render/read_png.h"
#include "engines/rendering/render/softras.h"
#include "engines/rendering/render/splat.h"
#include "render_cases.h"
#include "temporary.h"
#include "softras_plain.h"
#include "test.h"

#include <unistd.h>

static const double pi = 3.14159265358979323846;

/* ---- camera ---- */

/* Points by hand: 30 degrees of half angle, from (0, 0, -5), and from above; the left-handed and the
 * right-handed view. */
static void known_points(void **state)
{
    const double p[] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1}, t = tan(pi / 6);
    double q[12];
    camera c = camera_orbit(CAMERA_SOFTRAS, 5, 0, 0);
    camera_project(&c, 4, p, q);
    const double straight[] = {0, 0, 5, 1 / (5 * t), 0, 5, 0, 1 / (5 * t), 5, 0, 0, 6};
    for (int i = 0; i < 12; i++) {
        assert_near(q[i], straight[i], 1e-14);
    }
    c = camera_orbit(CAMERA_SOFTRAS, 8, pi / 6, 0);
    assert_near(c.pose.eye[1], 4, 1e-14);
    assert_near(c.pose.eye[2], -8 * cos(pi / 6), 1e-14);
    camera_project(&c, 4, p, q);
    assert_near(q[6], 0, 1e-14);
    assert_near(q[8], 7.5, 1e-14); /* (0, 1, 0) is sin(30 degrees) nearer */
    assert_near(q[7], cos(pi / 6) / (7.5 * t), 1e-14);
    c = camera_orbit(CAMERA_DIBR, 5, 0, 0); /* at (0, 0, 5), +x on the right */
    camera_project(&c, 4, p, q);
    assert_near(c.pose.eye[2], 5, 1e-14);
    assert_near(1 / tan(c.pose.half_angle), 2.1875, 1e-6);
    assert_near(q[3], 2.1875 / 5, 1e-6);
    assert_near(q[11], 4, 1e-14);
}

typedef struct seen {
    camera c;
    double p[15], q[15], weight[15], orbit[3];
    camera_kind kind;
} seen;

static double weighted_points(void *context)
{
    seen *s = context;
    camera_project(&s->c, 5, s->p, s->q);
    return dot(15, s->q, s->weight);
}

static double weighted_orbit(void *context)
{
    seen *s = context;
    s->c.pose = camera_orbit(s->kind, s->orbit[0], s->orbit[1], s->orbit[2]).pose;
    return weighted_points(s);
}

static void camera_derivatives(void **state)
{
    for (uint64_t k = 0; k < 6; k++) {
        ds_random r = ds_random_open(k, "camera", 0);
        seen s = {.kind = (camera_kind)(k % 2)};
        double p_bar[15] = {0}, orbit_bar[3] = {0}, p_dot[15], q_dot[15], pose_dot[10];
        camera_pose bar = {.half_angle = 0}, dot_pose;
        s.c = some_camera(s.kind);
        fill(&r, s.p, 15, -1, 1);
        fill(&r, s.weight, 15, -1, 1);
        fill(&r, p_dot, 15, -1, 1);
        fill(&r, pose_dot, 10, -1, 1);
        memcpy(&dot_pose, pose_dot, sizeof dot_pose);
        camera_project_adjoint(&s.c, 5, s.p, s.weight, p_bar, &bar);
        camera_project_tangent(&s.c, 5, s.p, p_dot, &dot_pose, q_dot);
        assert_near(dot(15, q_dot, s.weight), dot(15, p_dot, p_bar) + dot(10, pose_dot, pose_numbers(&bar)),
                    1e-12);
        assert_int_equal(differences(15, s.p, p_bar, 1e-5, 1e-8, weighted_points, &s), 0);
        assert_int_equal(
            differences(10, pose_numbers(&s.c.pose), pose_numbers(&bar), 1e-5, 1e-8, weighted_points, &s), 0);
        fill(&r, s.orbit, 3, 0.3, 1);
        s.orbit[0] += 3;
        weighted_orbit(&s);
        bar = (camera_pose){.half_angle = 0};
        camera_project_adjoint(&s.c, 5, s.p, s.weight, NULL, &bar);
        camera_orbit_adjoint(s.kind, s.orbit[0], s.orbit[1], s.orbit[2], &bar, orbit_bar);
        assert_int_equal(differences(3, s.orbit, orbit_bar, 1e-5, 1e-8, weighted_orbit, &s), 0);
    }
}

static void bad_cameras(void **state)
{
    const struct {
        camera_pose pose;
        double near, far;
        const char *says;
    } bad[] = {
        {{{0, 0, 0}, {0, 0, 0}, {0, 1, 0}, 0.5}, 1, 2, "must differ"},
        {{{0, 0, 1}, {0, 0, 0}, {0, 0, 2}, 0.5}, 1, 2, "along the view"},
        {{{0, 0, 1}, {0, 0, 0}, {0, 0, 0}, 0.5}, 1, 2, "along the view"},
        {{{0, NAN, 1}, {0, 0, 0}, {0, 1, 0}, 0.5}, 1, 2, "finite"},
        {{{0, 0, 1}, {0, 0, 0}, {0, 1, 0}, 0}, 1, 2, "half angle"},
        {{{0, 0, 1}, {0, 0, 0}, {0, 1, 0}, NAN}, 1, 2, "half angle"},
        {{{0, 0, 1}, {0, 0, 0}, {0, 1, 0}, 1.6}, 1, 2, "half angle"},
        {{{0, 0, 1}, {0, 0, 0}, {0, 1, 0}, 0.5}, 0, 2, "near and far"},
        {{{0, 0, 1}, {0, 0, 0}, {0, 1, 0}, 0.5}, 2, 2, "near and far"},
        {{{0, 0, 1}, {0, 0, 0}, {0, 1, 0}, 0.5}, 1, INFINITY, "near and far"},
        {{{0, 0, 1e200}, {0, 0, 0}, {0, 1, 0}, 0.5}, 1, 2, "must differ"},
    };
    char text[RENDER_TEXT];
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        const camera c = {.pose = bad[k].pose, .near = bad[k].near, .far = bad[k].far};
        assert_int_equal(camera_check(&c, text), 1);
        if (!strstr(text, bad[k].says)) {
            fail_msg("%zu: '%s' does not say '%s'", k, text, bad[k].says);
        }
    }
    const camera fine = camera_orbit(CAMERA_SOFTRAS, 3, 1.5, 4);
    assert_int_equal(camera_check(&fine, text), 0);
}

/* ---- light ---- */

typedef struct lit {
    light l;
    triangles t;
    double texture[3 * SOME_FACES], color[3 * SOME_FACES], weight[3 * SOME_FACES];
    size_t stride;
} lit;

static double weighted_light(void *context)
{
    lit *s = context;
    light_faces(&s->l, &s->t.m, s->t.p, s->texture, s->stride, s->color);
    return dot(3 * SOME_FACES, s->color, s->weight);
}

static void light_derivatives(void **state)
{
    for (uint64_t k = 0; k < 4; k++) {
        ds_random r = ds_random_open(k, "light", 0);
        lit s = {.l = light_default(), .stride = k % 2 ? 3 : 0};
        double p_bar[3 * SOME_VERTICES] = {0}, texture_bar[3 * SOME_FACES] = {0};
        double p_dot[3 * SOME_VERTICES], texture_dot[3 * SOME_FACES], color_dot[3 * SOME_FACES];
        const size_t textures = s.stride ? 3 * SOME_FACES : 3;
        some_triangles(&s.t, k);
        fill(&r, s.texture, 3 * SOME_FACES, 0, 1);
        fill(&r, s.weight, 3 * SOME_FACES, -1, 1);
        fill(&r, p_dot, 3 * SOME_VERTICES, -1, 1);
        fill(&r, texture_dot, 3 * SOME_FACES, -1, 1);
        if (k > 1) {
            s.l.direction[0] = 0.6;
            s.l.direction[1] = 0.8;
        }
        light_faces_adjoint(&s.l, &s.t.m, s.t.p, s.texture, s.stride, s.weight, p_bar, texture_bar);
        light_faces_tangent(&s.l, &s.t.m, s.t.p, s.texture, s.stride, p_dot, texture_dot, color_dot);
        assert_near(dot(3 * SOME_FACES, color_dot, s.weight),
                    dot(3 * SOME_VERTICES, p_dot, p_bar) + dot(textures, texture_dot, texture_bar), 1e-12);
        assert_int_equal(differences(3 * SOME_VERTICES, s.t.p, p_bar, 1e-6, 1e-7, weighted_light, &s), 0);
        assert_int_equal(differences(textures, s.texture, texture_bar, 1e-3, 1e-10, weighted_light, &s), 0);
    }
}

/* Without a normal or a direction: ambient light, and finite derivatives. */
static void light_without_normal(void **state)
{
    const uint32_t face[] = {0, 1, 1};
    const light l = light_default();
    const double p[] = {0, 0, 0, 1, 0, 0}, texture[] = {1, 0.5, 0}, bar[] = {1, 1, 1};
    double color[3], p_bar[6] = {0};
    light_faces(&l, &(render_mesh){2, 1, face}, p, texture, 0, color);
    for (int k = 0; k < 3; k++) {
        assert_true(color[k] == 0.5 * texture[k]);
    }
    light_faces_adjoint(&l, &(render_mesh){2, 1, face}, p, texture, 0, bar, p_bar, NULL);
    assert_true(norm(6, p_bar) == 0);
}

/* ---- images ---- */

static void images(void **state)
{
    enum { S = 6, CHANNELS = 4, N = S * S * CHANNELS };
    ds_random r = ds_random_open(1, "images", 0);
    double in[4 * N], out[N], out_bar[N], in_bar[4 * N];
    fill(&r, in, 4 * N, 0, 1);
    fill(&r, out_bar, N, -1, 1);
    image_halve(S, CHANNELS, in, out);
    image_halve_adjoint(S, CHANNELS, out_bar, in_bar);
    assert_near(dot(N, out, out_bar), dot(4 * N, in, in_bar), 1e-13);
    assert_near(out[1], (in[1] + in[5] + in[8 * S + 1] + in[8 * S + 5]) / 4, 1e-15);
    double sum = 0;
    for (int i = 0; i < N; i++) {
        sum += (out[i] - out_bar[i]) * (out[i] - out_bar[i]);
    }
    for (int n = N; n > N - 9; n--) {
        assert_near(image_mean_square((size_t)n, out, out_bar) * n, sum, 1e-12);
        sum -= (out[n - 1] - out_bar[n - 1]) * (out[n - 1] - out_bar[n - 1]);
    }
    assert_true(image_mean_square(N, out, out) == 0);
}

/* ---- exponential function ---- */

/* Within 1 ulp of the true value; all instruction sets have the bits of the scalar one. */
static void exponential(void **state)
{
    enum { N = 80000 };
    static const char *const isa[] = {"baseline", "avx2", "avx512"};
    static double x[N], out[N], scalar[N];
    ds_random r = ds_random_open(1, "exp", 0);
    double worst = 0;
    for (size_t i = 0; i < N; i++) {
        const double size[] = {1e-9, 0.4, 3, 40, 750};
        x[i] = uniform(&r, -1, 1) * size[i % 5];
    }
    const double ends[] = {0, -708, nextafter(-708, -800), 709, 1e300, -1e300, -INFINITY, INFINITY};
    memcpy(x, ends, sizeof ends);
    for (size_t i = 0; i < N; i++) {
        scalar[i] = exp_same(x[i]);
        if (x[i] >= EXP_LEAST && x[i] <= EXP_MOST) {
            const long double exact = expl((long double)x[i]);
            const double ulp = nextafter((double)exact, INFINITY) - (double)exact;
            worst = fmax(worst, fabs((double)((scalar[i] - exact) / ulp)));
        } else {
            assert_true(scalar[i] == (x[i] < 0 ? 0 : exp_same(EXP_MOST)));
        }
    }
    assert_true(worst < 1);
    assert_true(scalar[0] == 1);
    for (int k = 0; k < 3; k++) {
        render_kernels_find(isa[k])->exps(N, x, out);
        same_bits(N, out, scalar, isa[k]);
    }
}

/* Lists the variants, and chooses them by name. */
static void variants(void **state)
{
    assert_string_equal(render_kernels_find("baseline")->isa, "baseline");
    assert_ptr_equal(render_kernels_find("avx512"), render_kernels_find("portable_avx512"));
    assert_null(render_kernels_find("anything"));
    assert_null(render_kernels_find("plain"));
    setenv("DS_ISA", "baseline", 1);
    assert_string_equal(render_kernels_find(NULL)->isa, "baseline");
    unsetenv("DS_ISA");
    assert_ptr_equal(render_kernels_find(NULL), render_kernels_find("avx512"));
}

/* ---- soft discs ---- */

enum { SIZE = 44, CAMERAS = 2, COUNT = 60, PIXELS = CAMERAS * SIZE * SIZE };

typedef struct cloud {
    splat_options o;
    splat *s;
    camera c[CAMERAS];
    double p[3 * COUNT], radius[COUNT], image[PIXELS], weight[PIXELS];
    double p_bar[3 * COUNT], radius_bar[COUNT];
    camera_pose bar[CAMERAS];
} cloud;

static void cloud_open(cloud *t, uint64_t key, uint32_t threads, const char *isa)
{
    char text[RENDER_TEXT];
    ds_status status;
    ds_random r = ds_random_open(key, "cloud", 0);
    *t = (cloud){.o = splat_defaults(SIZE)};
    t->o.cameras = CAMERAS;
    t->o.threads = threads;
    t->o.isa = isa;
    t->c[0] = some_camera(CAMERA_SOFTRAS);
    t->c[1] = camera_orbit(CAMERA_DIBR, 4, -0.3, 2);
    fill(&r, t->p, 3 * COUNT, -1, 1);
    fill(&r, t->radius, COUNT, 0.01, 0.2);
    fill(&r, t->weight, PIXELS, -1, 1);
    t->s = splat_create(&t->o, COUNT, &status, text);
    assert_non_null(t->s);
}

static void cloud_run(cloud *t, size_t stride)
{
    render_report report;
    assert_int_equal(splat_draw(t->s, t->c, t->p, t->radius, stride, t->image, &report), DS_OK);
    assert_int_equal(report.drawn + report.outside, CAMERAS * COUNT);
    assert_int_equal(splat_adjoint(t->s, t->weight, t->p_bar, t->radius_bar, stride, t->bar), DS_OK);
}

/* One particle on the axis: the largest opacity in the middle, nothing outside the support, half the opacity
 * at 0.91 radii. Two particles: the product of what each leaves transparent. */
static void profile(void **state)
{
    char text[RENDER_TEXT];
    ds_status status;
    splat_options o = splat_defaults(65);
    const camera c = camera_orbit(CAMERA_SOFTRAS, 5, 0, 0);
    const double p[] = {0, 0, 0, 0, 0, 0}, scale = sqrt(3), radius = 0.4;
    double image[65 * 65];
    splat *one = splat_create(&o, 1, &status, text), *two = splat_create(&o, 2, &status, text);
    assert_int_equal(splat_draw(one, &c, p, &radius, 0, image, NULL), DS_OK);
    const double R2 = pow(2 * radius * scale / 5, 2) + pow(2.0 / 65, 2);
    for (size_t i = 0; i < 65 * 65; i++) {
        const double x = (2.0 * (double)(i % 65) - 64) / 65, y = (64 - 2.0 * (double)(i / 65)) / 65;
        const double u = (x * x + y * y) / R2;
        assert_near(image[i], u < 1 ? 0.9 * (1 - u) * (1 - u) * (1 - u) : 0, 1e-14);
    }
    assert_near(image[32 * 65 + 32], 0.9, 1e-15);
    assert_int_equal(splat_draw(two, &c, p, &radius, 0, image, NULL), DS_OK);
    assert_near(image[32 * 65 + 32], 1 - 0.1 * 0.1, 1e-15);
    assert_true(pow(1 - 0.25 * 0.91 * 0.91, 3) > 0.49 && pow(1 - 0.25 * 0.91 * 0.91, 3) < 0.51);
    assert_true(splat_memory(two) > 65 * 65 * sizeof(double));
    splat_destroy(one);
    splat_destroy(two);
}

/* A particle is visible however small it is and wherever it lies between pixels. */
static void tiny_particles(void **state)
{
    char text[RENDER_TEXT];
    ds_status status;
    splat_options o = splat_defaults(16);
    const camera c = camera_orbit(CAMERA_SOFTRAS, 5, 0, 0);
    const double radius = 1e-9;
    double image[16 * 16];
    splat *s = splat_create(&o, 1, &status, text);
    for (int k = 0; k < 100; k++) {
        const double p[] = {0.05 * (k % 10), 0.05 * (k / 10), 0};
        double most = 0;
        splat_draw(s, &c, p, &radius, 0, image, NULL);
        for (int i = 0; i < 16 * 16; i++) {
            most = fmax(most, image[i]);
        }
        assert_true(most > 0.1);
    }
    splat_destroy(s);
}

static void against_plain(void **state)
{
    for (uint64_t key = 0; key < 3; key++) {
        static cloud a, b;
        cloud_open(&a, key, 2, NULL);
        cloud_open(&b, key, 1, NULL);
        cloud_run(&a, key % 2);
        assert_int_equal(splat_plain(&b.o, COUNT, b.c, b.p, b.radius, key % 2, b.image, b.weight, b.p_bar,
                                     b.radius_bar, b.bar),
                         DS_OK);
        for (size_t i = 0; i < PIXELS; i++) {
            assert_near(a.image[i], b.image[i], 1e-13);
        }
        for (size_t i = 0; i < 3 * COUNT; i++) {
            assert_near(a.p_bar[i], b.p_bar[i], 1e-12 * norm(3 * COUNT, b.p_bar));
        }
        for (size_t i = 0; i < COUNT; i++) {
            assert_near(a.radius_bar[i], b.radius_bar[i], 1e-12 * norm(COUNT, b.radius_bar));
        }
        for (size_t i = 0; i < 20; i++) {
            assert_near(pose_numbers(a.bar)[i], pose_numbers(b.bar)[i],
                        1e-12 * norm(10, pose_numbers(b.bar)));
        }
        splat_destroy(a.s);
        splat_destroy(b.s);
    }
}

static void same_results(void **state)
{
    static const char *const isa[] = {"baseline", "avx2", "avx512"};
    static cloud first, other;
    cloud_open(&first, 7, 1, "baseline");
    cloud_run(&first, 1);
    for (int k = 1; k < 9; k++) {
        cloud_open(&other, 7, 1u << k / 3, isa[k % 3]);
        cloud_run(&other, 1);
        same_bits(PIXELS, other.image, first.image, "image");
        same_bits(3 * COUNT, other.p_bar, first.p_bar, "by positions");
        same_bits(COUNT, other.radius_bar, first.radius_bar, "by radii");
        same_bits(20, pose_numbers(other.bar), pose_numbers(first.bar), "by the cameras");
        splat_destroy(other.s);
    }
    splat_destroy(first.s);
}

static double weighted_sum(void *context)
{
    cloud *t = context;
    splat_draw(t->s, t->c, t->p, t->radius, 1, t->image, NULL);
    return dot(PIXELS, t->weight, t->image);
}

static void against_differences(void **state)
{
    static cloud t;
    cloud_open(&t, 11, 1, NULL);
    cloud_run(&t, 1);
    size_t kinks = differences(3 * COUNT, t.p, t.p_bar, 1e-6, 1e-6, weighted_sum, &t);
    kinks += differences(COUNT, t.radius, t.radius_bar, 1e-6, 1e-6, weighted_sum, &t);
    for (int k = 0; k < CAMERAS; k++) {
        kinks += differences(10, pose_numbers(&t.c[k].pose), pose_numbers(&t.bar[k]), 1e-7, 1e-6,
                             weighted_sum, &t);
    }
    assert_int_equal(kinks, 0); /* the profile has no kinks */
    splat_destroy(t.s);
}

static void unusual(void **state)
{
    char text[RENDER_TEXT];
    ds_status status;
    splat_options o = splat_defaults(16);
    const camera c = camera_orbit(CAMERA_SOFTRAS, 5, 0, 0);
    const double p[] = {0,     0, 0, 0,  0, -9, NAN, 0, 0, 0, INFINITY, 0,
                        1e200, 0, 0, 40, 0, 0,  0,   0, 0, 0, 0,        0};
    const double radius[] = {0.5, 0.5, 0.5, 0.5, 0.5, 0.5, NAN, -1};
    double image[16 * 16], bar[16 * 16], p_bar[24] = {0}, radius_bar[8] = {0};
    camera_pose pose = {.half_angle = 0};
    render_report report;
    splat *s = splat_create(&o, 8, &status, text);
    assert_int_equal(splat_adjoint(s, bar, p_bar, NULL, 0, NULL), DS_E_STATE);
    assert_int_equal(splat_draw(s, &c, p, radius, 1, image, &report), DS_OK);
    all_finite(16 * 16, image, "image");
    assert_int_equal(report.drawn, 1);
    assert_int_equal(report.behind, 1);
    assert_int_equal(report.broken, 5);
    assert_int_equal(report.outside, 1);
    for (int i = 0; i < 16 * 16; i++) {
        bar[i] = i % 3;
    }
    assert_int_equal(splat_adjoint(s, bar, p_bar, radius_bar, 1, &pose), DS_OK);
    all_finite(24, p_bar, "by positions");
    all_finite(8, radius_bar, "by radii");
    all_finite(10, pose_numbers(&pose), "by the camera");
    assert_true(norm(3, p_bar) > 0 && norm(21, p_bar + 3) == 0);
    camera bad = c;
    bad.near = 0;
    assert_int_equal(splat_draw(s, &bad, p, radius, 1, image, NULL), DS_E_ARG);
    splat_destroy(s);
}

static void bad_options(void **state)
{
    static const struct {
        splat_options o;
        uint32_t particles;
        const char *says;
    } bad[] = {
        {{.size = 4, .cameras = 1, .opacity = 0.9, .threads = 1},
         1,
         "4 pixels per side; 8 to 1024 are allowed"},
        {{.size = 64, .cameras = 65, .opacity = 0.9, .threads = 1}, 1, "65 cameras"},
        {{.size = 64, .cameras = 1, .opacity = 1, .threads = 1}, 1, "opacity"},
        {{.size = 64, .cameras = 1, .opacity = 0.5, .threads = 0}, 1, "threads"},
        {{.size = 64, .cameras = 1, .opacity = 0.5, .threads = 1},
         RENDER_MAX_COUNT + 1,
         "10000001 particles"},
    };
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        char text[RENDER_TEXT];
        ds_status status = DS_OK;
        assert_null(splat_create(&bad[k].o, bad[k].particles, &status, text));
        assert_int_equal(status, DS_E_ARG);
        assert_non_null(strstr(text, bad[k].says));
    }
}

/* ---- a video ---- */

enum { CORNERS = 8, SIDES = 12, FRAMES = 20 };

static const uint32_t cube_face[3 * SIDES] = {0, 6, 4, 0, 2, 6, 0, 3, 2, 0, 1, 3, 2, 7, 6, 2, 3, 7,
                                              4, 6, 7, 4, 7, 5, 0, 4, 5, 0, 5, 1, 1, 5, 7, 1, 7, 3};
static const render_mesh cube = {CORNERS, SIDES, cube_face};

/* Each corner has the mass m. 10 N pull corners 0 and 1 down with the lever arms of the start, so the torque
 * is constant along z. */
typedef struct body {
    double y, speed, w, z, omega; /* height, rotation (quaternion about z), angular velocity */
} body;

static void corner(int i, double p[3])
{
    for (int k = 0; k < 3; k++) {
        p[k] = (i >> (2 - k) & 1 ? 1 : -1) / sqrt(3);
    }
}

static void step(body *b, double m)
{
    const double dt = 1.0 / 30, inertia = CORNERS * m * 2 / 3;
    const double w = b->w - dt / 2 * b->omega * b->z, z = b->z + dt / 2 * b->omega * b->w;
    const double length = sqrt(w * w + z * z);
    b->w = w / length;
    b->z = z / length;
    b->speed -= dt * 20 / (CORNERS * m);
    b->omega += dt * 20 / sqrt(3) / inertia;
    b->y += dt * b->speed;
}

static void place(const body *b, double p[3 * CORNERS])
{
    const double c = b->w * b->w - b->z * b->z, s = 2 * b->w * b->z;
    for (int i = 0; i < CORNERS; i++) {
        double at[3];
        corner(i, at);
        p[3 * i] = c * at[0] - s * at[1];
        p[3 * i + 1] = s * at[0] + c * at[1] + b->y;
        p[3 * i + 2] = at[2];
    }
}

static void motion(void **state)
{
    body b = {.w = 1};
    for (int k = 0; k < FRAMES; k++) {
        step(&b, 1);
    }
    assert_near(b.y, -0.583333, 1e-6);
    assert_near(b.w, 0.97399, 2e-5); /* the released code divides by |q| + 1e-5 */
    assert_near(b.z, 0.22653, 2e-5);
    assert_near(b.omega, 1.44338, 1e-5);
}

static void film(softras *r, double m, size_t pixels, double *video)
{
    const camera c = camera_orbit(CAMERA_SOFTRAS, 8, 3.14159265358979323846 / 6, 0);
    const light l = light_default();
    const double yellow[] = {1, 1, 0};
    body b = {.w = 1};
    for (size_t k = 0; k < FRAMES; k++) {
        double p[3 * CORNERS], color[3 * SIDES];
        render_report report;
        step(&b, m);
        place(&b, p);
        light_faces(&l, &cube, p, yellow, 0, color);
        assert_int_equal(softras_draw(r, &c, p, color, video + k * pixels, &report), DS_OK);
        assert_int_equal(report.behind + report.broken, 0);
    }
}

/* Losses of masses against the video of mass 1, within `tolerance` of the known values. */
static void losses(uint32_t size, size_t n, const double *mass, const double *known, double tolerance)
{
    const size_t pixels = (size_t)size * size * 4;
    softras_options o = softras_defaults(SOFTRAS_RGBA, size);
    char text[RENDER_TEXT];
    ds_status status;
    double *truth = calloc(2 * FRAMES * pixels, sizeof *truth), *other = truth + FRAMES * pixels;
    assert_non_null(truth);
    o.antialias = 1;
    softras *r = softras_create(&o, &cube, &status, text);
    assert_non_null(r);
    film(r, 1, pixels, truth);
    for (size_t i = 0; i < n; i++) {
        film(r, mass[i], pixels, other);
        const double loss = image_mean_square(FRAMES * pixels, other, truth);
        assert_near(loss / known[i], 1, tolerance);
    }
    softras_destroy(r);
    free(truth);
}

/* The grid of the paper's figure: 500 masses in [0.1, 5]. */
static double mass_at(int k)
{
    return 0.1 + k * 4.9 / 499;
}

static void landscape(void **state)
{
    const double mass[] = {0.1, mass_at(40), mass_at(60), mass_at(200), 5};
    const double at64[] = {1.5005e-2, 2.679e-3, 9.76e-4, 1.214e-3, 2.049e-3};
    const double at128[] = {1.4241e-2, 2.950e-3, 1.098e-3, 1.352e-3, 2.358e-3};
    const double at256[] = {1.4129e-2, 3.224e-3, 1.260e-3, 1.556e-3, 2.655e-3};
    losses(64, 5, mass, at64, 5e-4);
    losses(128, 2, mass + 1, at128 + 1, 5e-4);
    losses(256, 1, mass + 2, at256 + 2, 5e-4);
}

/* ---- PNG files ---- */

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
            assert_near(p.pixel[kind[k].at + i], kind[k].value[i] / kind[k].over, 1e-15);
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

/* One wrong byte in the header, in the pixels, in a checksum. */
static void damaged(void **state)
{
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

/* A sparse file beyond the limit. */
static void long_file(void **state)
{
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

RUN_TESTS(known_points, camera_derivatives, bad_cameras, light_derivatives, light_without_normal, images,
          exponential, variants, profile, tiny_particles, against_plain, same_results, against_differences,
          unusual, bad_options, motion, landscape, kinds, bad_files, damaged, long_file)
