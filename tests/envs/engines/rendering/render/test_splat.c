/* SPDX-License-Identifier: Apache-2.0 */
/* test_splat.c - clouds of soft discs: what is true of their images, the plain one, derivatives against
 * differences, the same bits for all threads and instruction sets, and what cannot be drawn. */
#include "render_cases.h"

#include "engines/rendering/render/splat.h"

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

/* One particle on the axis: the largest opacity in the middle, nothing outside of the support, 0.5 of the
 * opacity at 0.91 radii; of two, what both leave clear. */
static void profile(void **state)
{
    (void)state;
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
        check_near(image[i], u < 1 ? 0.9 * (1 - u) * (1 - u) * (1 - u) : 0, 1e-14);
    }
    check_near(image[32 * 65 + 32], 0.9, 1e-15);
    assert_int_equal(splat_draw(two, &c, p, &radius, 0, image, NULL), DS_OK);
    check_near(image[32 * 65 + 32], 1 - 0.1 * 0.1, 1e-15);
    assert_true(pow(1 - 0.25 * 0.91 * 0.91, 3) > 0.49 && pow(1 - 0.25 * 0.91 * 0.91, 3) < 0.51);
    assert_true(splat_memory(two) > 65 * 65 * sizeof(double));
    splat_destroy(one);
    splat_destroy(two);
}

/* However small, a particle is seen, wherever it is between the pixels. */
static void tiny_particles(void **state)
{
    (void)state;
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
    (void)state;
    for (uint64_t key = 0; key < 3; key++) {
        static cloud a, b;
        cloud_open(&a, key, 2, NULL);
        cloud_open(&b, key, 1, NULL);
        cloud_run(&a, key % 2);
        assert_int_equal(splat_plain(&b.o, COUNT, b.c, b.p, b.radius, key % 2, b.image, b.weight, b.p_bar,
                                     b.radius_bar, b.bar),
                         DS_OK);
        for (size_t i = 0; i < PIXELS; i++) {
            check_near(a.image[i], b.image[i], 1e-13);
        }
        for (size_t i = 0; i < 3 * COUNT; i++) {
            check_near(a.p_bar[i], b.p_bar[i], 1e-12 * norm(3 * COUNT, b.p_bar));
        }
        for (size_t i = 0; i < COUNT; i++) {
            check_near(a.radius_bar[i], b.radius_bar[i], 1e-12 * norm(COUNT, b.radius_bar));
        }
        for (size_t i = 0; i < 20; i++) {
            check_near(pose_numbers(a.bar)[i], pose_numbers(b.bar)[i], 1e-12 * norm(10, pose_numbers(b.bar)));
        }
        splat_destroy(a.s);
        splat_destroy(b.s);
    }
}

static void same_results(void **state)
{
    (void)state;
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
    (void)state;
    static cloud t;
    cloud_open(&t, 11, 1, NULL);
    cloud_run(&t, 1);
    size_t kinks = differences(3 * COUNT, t.p, t.p_bar, 1e-6, 1e-6, weighted_sum, &t);
    kinks += differences(COUNT, t.radius, t.radius_bar, 1e-6, 1e-6, weighted_sum, &t);
    for (int k = 0; k < CAMERAS; k++) {
        kinks += differences(10, pose_numbers(&t.c[k].pose), pose_numbers(&t.bar[k]), 1e-7, 1e-6,
                             weighted_sum, &t);
    }
    assert_int_equal(kinks, 0); /* the profile has none */
    splat_destroy(t.s);
}

static void unusual(void **state)
{
    (void)state;
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
    (void)state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(profile),
        cmocka_unit_test(tiny_particles),
        cmocka_unit_test(against_plain),
        cmocka_unit_test(same_results),
        cmocka_unit_test(against_differences),
        cmocka_unit_test(unusual),
        cmocka_unit_test(bad_options),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
