/* SPDX-License-Identifier: Apache-2.0 */
/* test_mpm_sizes.c - particles of bodies whose sizes change: the maps multiply every volume by the same
 * factor, fill the new shape to its surface, and have the derivatives that differences give. */
#include "engines/kit/algebra/mat3.h"
#include "engines/physics/mpm/env/sizes.h"
#include "mpm_support.h"
#include "test.h"

enum { CASES = 6, PARTICLES = 200 };
static const mpm_body bodies[CASES] = {
    {.shape = MPM_BODY_BOX, .size = {0.2, 0.1, 0.3}, .rotation = {1.0}},
    {.shape = MPM_BODY_SPHERE, .size = {0.1}, .rotation = {1.0}},
    {.shape = MPM_BODY_CYLINDER, .size = {0.1, 0.25}, .rotation = {1.0}},
    {.shape = MPM_BODY_CAPSULE, .size = {0.1, 0.15}, .rotation = {1.0}},
    {.shape = MPM_BODY_TORUS, .size = {0.15, 0.06}, .rotation = {1.0}},
    {.shape = MPM_BODY_SPHERE, .size = {1.0}, .rotation = {1.0}}, /* stands for points */
};
static const int sizes_of[CASES] = {3, 1, 2, 2, 2, 1};

static uint32_t shape_of(int k)
{
    return k == CASES - 1 ? (uint32_t)MPM_BODY_POINTS : bodies[k].shape;
}

static void draw(int k, mpm_particle *particles)
{
    mpm_scene scene = {.n_bodies = 1, .bodies = {bodies[k]}};
    const mpm_domain domain = mpm_domain_make(MPM_PRESET_FULL);
    scene.bodies[0].count = PARTICLES;
    mpm_particles_make(&scene, &domain, 0, 5, particles);
}

static void other_sizes(int k, double size[3])
{
    for (int i = 0; i < 3; i++) {
        size[i] = i < sizes_of[k] ? bodies[k].size[i] * uniform(0.6, 1.6) : 0.0;
    }
    if (bodies[k].shape == MPM_BODY_TORUS) {
        size[0] = bodies[k].size[0] * uniform(0.9, 1.6);
    }
}

static void map(int k, const double size[3], const double x[3], double out[3])
{
    mpm_body body = bodies[k];
    double sample[3];
    body.shape = shape_of(k);
    mpm_sizes_sample(&body, x, sample);
    mpm_sizes_place(shape_of(k), size, sample, out, NULL);
}

/* How far a point is inside: 0 at the surface. */
static double inside(int k, const double size[3], const double x[3])
{
    const double across = sqrt(x[0] * x[0] + x[2] * x[2]), along = fabs(x[1]);
    switch (bodies[k].shape) {
    case MPM_BODY_BOX:
        return fmin(fmin(size[0] - 2 * fabs(x[0]), size[1] - 2 * along), size[2] - 2 * fabs(x[2]));
    case MPM_BODY_SPHERE:
        return size[0] - sqrt(dot(x, x, 3));
    case MPM_BODY_CYLINDER:
        return fmin(size[0] - across, 0.5 * size[1] - along);
    case MPM_BODY_CAPSULE:
        return size[0] - hypot(across, fmax(along - 0.5 * size[1], 0.0));
    default:
        return size[1] - hypot(across - size[0], along);
    }
}

/* The determinant of the map at x, by differences. */
static double stretch(int k, const double size[3], const double x[3])
{
    const double h = 1e-6 * bodies[k].size[0];
    double by[9];
    for (int d = 0; d < 3; d++) {
        double low[3], high[3], to_low[3], to_high[3];
        for (int i = 0; i < 3; i++) {
            low[i] = x[i] - (i == d ? h : 0.0);
            high[i] = x[i] + (i == d ? h : 0.0);
        }
        map(k, size, low, to_low);
        map(k, size, high, to_high);
        for (int i = 0; i < 3; i++) {
            by[3 * i + d] = (to_high[i] - to_low[i]) / (2 * h);
        }
    }
    return mat3_det(by);
}

static void test_volume(void **state)
{
    mpm_particle particles[PARTICLES];
    for (int k = 0; k < CASES; k++) {
        double size[3], slope[3], same[3];
        draw(k, particles);
        other_sizes(k, size);
        const double growth =
            mpm_sizes_volume(shape_of(k), size, slope) / mpm_sizes_volume(shape_of(k), bodies[k].size, slope);
        for (int p = 0; p < PARTICLES; p++) {
            const double *x = particles[p].x;
            double moved[3];
            map(k, bodies[k].size, x, same);
            assert_true(mpm_relative(same, x, 3) < 1e-9);
            map(k, size, x, moved);
            assert_true(inside(k, size, moved) > -1e-12);
            if (inside(k, bodies[k].size, x) > 1e-4 * bodies[k].size[0]) {
                mpm_expect(stretch(k, size, x), growth, 1e-5 * growth, "volume of particle %d, shape %u", p,
                           shape_of(k));
            }
        }
    }
}

/* Particles at the surface stay there. */
static void test_surface(void **state)
{
    mpm_particle particles[PARTICLES];
    for (int k = 0; k < CASES; k++) {
        double size[3];
        draw(k, particles);
        other_sizes(k, size);
        for (int p = 0; p < PARTICLES; p++) {
            /* outwards to the surface, from the middle or from the circle in the tube */
            double *x = particles[p].x, out[3] = {0.0}, core[3] = {0.0}, moved[3], low = 0.0, high = 64.0;
            if (bodies[k].shape == MPM_BODY_TORUS) {
                const double across = sqrt(x[0] * x[0] + x[2] * x[2]);
                core[0] = x[0] / across * bodies[k].size[0];
                core[2] = x[2] / across * bodies[k].size[0];
            }
            for (int i = 0; i < 60; i++) {
                const double far = 0.5 * (low + high);
                for (int d = 0; d < 3; d++) {
                    out[d] = core[d] + far * (x[d] - core[d]);
                }
                *(inside(k, bodies[k].size, out) > 0.0 ? &low : &high) = far;
            }
            map(k, size, out, moved);
            mpm_expect(inside(k, size, moved), 0.0, 1e-7 * size[0], "surface, particle %d, shape %u", p,
                       shape_of(k));
        }
    }
}

static void test_slopes(void **state)
{
    mpm_particle particles[PARTICLES];
    for (int k = 0; k < CASES; k++) {
        mpm_body body = bodies[k];
        double size[3], by_volume[3], unused[3];
        body.shape = shape_of(k);
        draw(k, particles);
        other_sizes(k, size);
        mpm_sizes_volume(body.shape, size, by_volume);
        for (int i = 0; i < sizes_of[k]; i++) {
            const double h = 1e-6 * size[i];
            double less[3], more[3];
            memcpy(less, size, sizeof less);
            memcpy(more, size, sizeof more);
            less[i] -= h;
            more[i] += h;
            const double v =
                (mpm_sizes_volume(body.shape, more, unused) - mpm_sizes_volume(body.shape, less, unused)) /
                (2 * h);
            mpm_expect(by_volume[i], v, 1e-8 * fabs(v), "volume by size %d, shape %u", i, body.shape);
            for (int p = 0; p < PARTICLES; p++) {
                double sample[3], at[3], low[3], high[3], slope[3][3];
                mpm_sizes_sample(&body, particles[p].x, sample);
                mpm_sizes_place(body.shape, size, sample, at, slope);
                mpm_sizes_place(body.shape, less, sample, low, NULL);
                mpm_sizes_place(body.shape, more, sample, high, NULL);
                for (int d = 0; d < 3; d++) {
                    mpm_expect(slope[i][d], (high[d] - low[d]) / (2 * h), 1e-6,
                               "particle %d by size %d, shape %u", p, i, body.shape);
                }
            }
        }
    }
}

RUN_EACH_WITH(reseed, NULL, test_volume, test_surface, test_slopes)
