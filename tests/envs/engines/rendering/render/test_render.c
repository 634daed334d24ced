/* SPDX-License-Identifier: Apache-2.0 */
/* test_render.c - what the renderers share: camera, light, images, the exponential function; derivatives
 * against differences. */
#include "render_cases.h"

#include "common/exp.h"
#include "engines/rendering/render/image.h"
#include "engines/rendering/render/kernels.h"
#include "engines/rendering/render/mesh.h"

static const double pi = 3.14159265358979323846;

/* ---- camera ---- */

/* Where points are by hand: 30 degrees of half angle, from (0, 0, -5), and from above; the left-handed
 * view and the right-handed one. */
static void known_points(void **state)
{
    (void)state;
    const double p[] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1}, t = tan(pi / 6);
    double q[12];
    camera c = camera_orbit(CAMERA_SOFTRAS, 5, 0, 0);
    camera_project(&c, 4, p, q);
    const double straight[] = {0, 0, 5, 1 / (5 * t), 0, 5, 0, 1 / (5 * t), 5, 0, 0, 6};
    for (int i = 0; i < 12; i++) {
        check_near(q[i], straight[i], 1e-14);
    }
    c = camera_orbit(CAMERA_SOFTRAS, 8, pi / 6, 0);
    check_near(c.pose.eye[1], 4, 1e-14);
    check_near(c.pose.eye[2], -8 * cos(pi / 6), 1e-14);
    camera_project(&c, 4, p, q);
    check_near(q[6], 0, 1e-14);
    check_near(q[8], 7.5, 1e-14); /* (0, 1, 0) is sin(30 degrees) nearer */
    check_near(q[7], cos(pi / 6) / (7.5 * t), 1e-14);
    c = camera_orbit(CAMERA_DIBR, 5, 0, 0); /* at (0, 0, 5), +x on the right */
    camera_project(&c, 4, p, q);
    check_near(c.pose.eye[2], 5, 1e-14);
    check_near(1 / tan(c.pose.half_angle), 2.1875, 1e-6);
    check_near(q[3], 2.1875 / 5, 1e-6);
    check_near(q[11], 4, 1e-14);
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
    (void)state;
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
        check_near(dot(15, q_dot, s.weight), dot(15, p_dot, p_bar) + dot(10, pose_dot, pose_numbers(&bar)),
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
    (void)state;
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
    (void)state;
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
        check_near(dot(3 * SOME_FACES, color_dot, s.weight),
                   dot(3 * SOME_VERTICES, p_dot, p_bar) + dot(textures, texture_dot, texture_bar), 1e-12);
        assert_int_equal(differences(3 * SOME_VERTICES, s.t.p, p_bar, 1e-6, 1e-7, weighted_light, &s), 0);
        assert_int_equal(differences(textures, s.texture, texture_bar, 1e-3, 1e-10, weighted_light, &s), 0);
    }
}

/* No normal, no direction: ambient light, and derivatives that are numbers. */
static void light_without_normal(void **state)
{
    (void)state;
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
    (void)state;
    enum { S = 6, CHANNELS = 4, N = S * S * CHANNELS };
    ds_random r = ds_random_open(1, "images", 0);
    double in[4 * N], out[N], out_bar[N], in_bar[4 * N], bar[N] = {0};
    fill(&r, in, 4 * N, 0, 1);
    fill(&r, out_bar, N, -1, 1);
    image_halve(S, CHANNELS, in, out);
    image_halve_adjoint(S, CHANNELS, out_bar, in_bar);
    check_near(dot(N, out, out_bar), dot(4 * N, in, in_bar), 1e-13);
    check_near(out[1], (in[1] + in[5] + in[8 * S + 1] + in[8 * S + 5]) / 4, 1e-15);
    double sum = 0;
    for (int i = 0; i < N; i++) {
        sum += (out[i] - out_bar[i]) * (out[i] - out_bar[i]);
    }
    for (int n = N; n > N - 9; n--) {
        check_near(image_mean_square((size_t)n, out, out_bar) * n, sum, 1e-12);
        sum -= (out[n - 1] - out_bar[n - 1]) * (out[n - 1] - out_bar[n - 1]);
    }
    image_mean_square_adjoint(N, out, out_bar, 3, bar);
    check_near(bar[7], 3 * 2 * (out[7] - out_bar[7]) / N, 1e-15);
    assert_true(image_mean_square(N, out, out) == 0);
}

/* ---- exponential function ---- */

/* Within 1 ulp of the true value, in all instruction sets the bits of the scalar one. */
static void exponential(void **state)
{
    (void)state;
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

/* Which variants there are, and that names choose them. */
static void variants(void **state)
{
    (void)state;
    assert_string_equal(render_kernels_find("baseline")->isa, "baseline");
    assert_ptr_equal(render_kernels_find("avx512"), render_kernels_find("portable_avx512"));
    assert_null(render_kernels_find("anything"));
    assert_null(render_kernels_find("plain"));
    setenv("DS_ISA", "baseline", 1);
    assert_string_equal(render_kernels_find(NULL)->isa, "baseline");
    unsetenv("DS_ISA");
    assert_ptr_equal(render_kernels_find(NULL), render_kernels_find("avx512"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_points),         cmocka_unit_test(camera_derivatives),
        cmocka_unit_test(bad_cameras),          cmocka_unit_test(light_derivatives),
        cmocka_unit_test(light_without_normal), cmocka_unit_test(images),
        cmocka_unit_test(exponential),          cmocka_unit_test(variants),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
