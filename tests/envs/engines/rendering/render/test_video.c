/* SPDX-License-Identifier: Apache-2.0 */
/* test_video.c - the mass of a falling, turning cube from a video (K. M. Jatavallabhula et al., "gradSim",
 * ICLR 2021, figures 4 and 12): the loss of another mass, with the whole way from vertices over light to
 * antialiased images. The values are those of an independent implementation in double precision,
 * normalised ones those released with the paper. */
#include "render_cases.h"

#include "engines/rendering/render/image.h"
#include "engines/rendering/render/mesh.h"
#include "engines/rendering/render/softras.h"

enum { CORNERS = 8, SIDES = 12, FRAMES = 20 };

static const uint32_t cube_face[3 * SIDES] = {0, 6, 4, 0, 2, 6, 0, 3, 2, 0, 1, 3, 2, 7, 6, 2, 3, 7,
                                              4, 6, 7, 4, 7, 5, 0, 4, 5, 0, 5, 1, 1, 5, 7, 1, 7, 3};
static const render_mesh cube = {CORNERS, SIDES, cube_face};

/* Each corner has the mass m; 10 N pull corners 0 and 1 down, with the lever arms of the start, so that
 * the torque is constant along z. */
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
    (void)state;
    body b = {.w = 1};
    for (int k = 0; k < FRAMES; k++) {
        step(&b, 1);
    }
    check_near(b.y, -0.583333, 1e-6);
    check_near(b.w, 0.97399, 2e-5); /* the released code divides by |q| + 1e-5 */
    check_near(b.z, 0.22653, 2e-5);
    check_near(b.omega, 1.44338, 1e-5);
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

/* Losses of masses against the video of mass 1, within `tolerance` of those known. */
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
        check_near(loss / known[i], 1, tolerance);
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
    (void)state;
    const double mass[] = {0.1, mass_at(40), mass_at(60), mass_at(200), 5};
    const double at64[] = {1.5005e-2, 2.679e-3, 9.76e-4, 1.214e-3, 2.049e-3};
    const double at128[] = {1.4241e-2, 2.950e-3, 1.098e-3, 1.352e-3, 2.358e-3};
    const double at256[] = {1.4129e-2, 3.224e-3, 1.260e-3, 1.556e-3, 2.655e-3};
    losses(64, 5, mass, at64, 5e-4);
    losses(128, 2, mass + 1, at128 + 1, 5e-4);
    losses(256, 1, mass + 2, at256 + 2, 5e-4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(motion),
        cmocka_unit_test(landscape),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
