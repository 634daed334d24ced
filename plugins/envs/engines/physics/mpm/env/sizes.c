/* SPDX-License-Identifier: Apache-2.0 */
/* sizes.c - how the particles of a body follow its sizes. The maps keep ratios of volumes, so the particles
 * stay spread evenly: boxes, spheres, cylinders and points scale along their axes, capsules and tori also
 * shift the particles between their parts, since scaling would thin out the parts that grow more. */
#include "engines/physics/mpm/env/sizes.h"

#include <math.h>
#include <string.h>

void mpm_sizes_start(const mpm_body *body, double size[3])
{
    static const double one[3] = {1.0, 1.0, 1.0};
    memcpy(size, body->shape == MPM_BODY_POINTS ? one : body->size, sizeof one);
}

double mpm_sizes_volume(uint32_t shape, const double size[3], double slope[3])
{
    const double a = size[0], b = size[1], c = size[2];
    memset(slope, 0, 3 * sizeof *slope);
    switch (shape) {
    case MPM_BODY_BOX:
        slope[0] = b * c;
        slope[1] = a * c;
        slope[2] = a * b;
        return a * b * c;
    case MPM_BODY_CYLINDER:
        slope[0] = 2.0 * a * b;
        slope[1] = a * a;
        return a * a * b;
    case MPM_BODY_CAPSULE:
        slope[0] = 2.0 * a * b + 4.0 * a * a;
        slope[1] = a * a;
        return a * a * (b + 4.0 / 3.0 * a);
    case MPM_BODY_TORUS:
        slope[0] = b * b;
        slope[1] = 2.0 * a * b;
        return a * b * b;
    default: /* sphere, points */
        slope[0] = 3.0 * a * a;
        return a * a * a;
    }
}

/* ---- capsule ----
 *
 * In units of the radius, with k half the distance of the centres of the ends: up to height s from the
 * middle are, in discs of volume pi, s below k, and k + t - t^3 / 3 with t = s - k in the cap; k + 2 / 3 in
 * all. A sample is the share of the half that lies below a particle, with the sign of y, and the place in
 * its disc. */

/* Height and radius of the disc that a share lies below, and their derivatives by k. */
static void disc_at(double share, double k, double *height, double *radius, double slope[2])
{
    const double inside = share * (k + 2.0 / 3.0), above = inside - k;
    if (above <= 0.0) {
        *height = inside;
        *radius = 1.0;
        slope[0] = share;
        slope[1] = 0.0;
        return;
    }
    /* t - t^3 / 3 = above, by sin 3a = 3 sin a - 4 sin^3 a */
    const double t = 2.0 * sin(asin(fmin(1.5 * above, 1.0)) / 3.0), square = fmax(1.0 - t * t, 1e-12),
                 t_slope = (share - 1.0) / square;
    *height = k + t;
    *radius = sqrt(square);
    slope[0] = 1.0 + t_slope;
    slope[1] = -t * t_slope / *radius;
}

static void sample_capsule(const double size[3], const double local[3], double sample[3])
{
    const double k = 0.5 * size[1] / size[0], s = fabs(local[1]) / size[0], t = fmax(s - k, 0.0),
                 inside = fmin(s, k) + t - t * t * t / 3.0, radius = size[0] * sqrt(fmax(1.0 - t * t, 1e-12));
    sample[0] = local[0] / radius;
    sample[1] = copysign(inside / (k + 2.0 / 3.0), local[1]);
    sample[2] = local[2] / radius;
}

static void place_capsule(const double size[3], const double sample[3], double local[3], double slope[3][3])
{
    const double r = size[0], k = 0.5 * size[1] / r, side = copysign(1.0, sample[1]);
    double height, radius, by_k[2];
    disc_at(fabs(sample[1]), k, &height, &radius, by_k);
    for (int d = 0; d < 3; d++) {
        const double at = d == 1 ? side * height : radius * sample[d],
                     at_slope = d == 1 ? side * by_k[0] : by_k[1] * sample[d];
        local[d] = r * at;
        slope[0][d] = at - k * at_slope;
        slope[1][d] = 0.5 * at_slope;
    }
}

/* ---- torus ----
 *
 * A particle at distance p = R + a u from the axis and height a y, with w^2 = 1 - y^2: the volume between
 * the inner side, u = -w, and u goes with (p^2 - (R - a w)^2) / (R a w). Keeping it and y, p of other sizes
 * is p^2 = R^2 + R a g + (a w)^2, with g = 2 u + (u^2 - w^2) a / R of the sizes at the start. A sample is g,
 * y and the angle about the axis. */

static void sample_torus(const double size[3], const double local[3], double sample[3])
{
    const double y = local[1] / size[1],
                 u = (sqrt(local[0] * local[0] + local[2] * local[2]) - size[0]) / size[1];
    sample[0] = 2.0 * u + (u * u - (1.0 - y * y)) * size[1] / size[0];
    sample[1] = y;
    sample[2] = atan2(local[2], local[0]);
}

static void place_torus(const double size[3], const double sample[3], double local[3], double slope[3][3])
{
    const double major = size[0], minor = size[1], g = sample[0], w2 = 1.0 - sample[1] * sample[1],
                 p = sqrt(major * major + major * minor * g + minor * minor * w2),
                 by_major = (2.0 * major + minor * g) / (2.0 * p),
                 by_minor = (major * g + 2.0 * minor * w2) / (2.0 * p);
    for (int d = 0; d < 3; d += 2) {
        const double along = d == 0 ? cos(sample[2]) : sin(sample[2]);
        local[d] = p * along;
        slope[0][d] = by_major * along;
        slope[1][d] = by_minor * along;
    }
    local[1] = minor * sample[1];
    slope[0][1] = 0.0;
    slope[1][1] = sample[1];
}

/* ---- all shapes ---- */

/* The size that scales the coordinate d of the shapes that only scale. */
static int size_along(uint32_t shape, int d)
{
    return shape == MPM_BODY_BOX ? d : shape == MPM_BODY_CYLINDER ? d == 1 : 0;
}

void mpm_sizes_sample(const mpm_body *body, const double local[3], double sample[3])
{
    double size[3];
    mpm_sizes_start(body, size);
    if (body->shape == MPM_BODY_CAPSULE) {
        sample_capsule(size, local, sample);
    } else if (body->shape == MPM_BODY_TORUS) {
        sample_torus(size, local, sample);
    } else {
        for (int d = 0; d < 3; d++) {
            sample[d] = local[d] / size[size_along(body->shape, d)];
        }
    }
}

void mpm_sizes_place(uint32_t shape, const double size[3], const double sample[3], double local[3],
                     double slope[3][3])
{
    double unused[3][3], (*by)[3] = slope ? slope : unused;
    memset(by, 0, sizeof unused);
    if (shape == MPM_BODY_CAPSULE) {
        place_capsule(size, sample, local, by);
    } else if (shape == MPM_BODY_TORUS) {
        place_torus(size, sample, local, by);
    } else {
        for (int d = 0; d < 3; d++) {
            const int along = size_along(shape, d);
            local[d] = size[along] * sample[d];
            by[along][d] = sample[d];
        }
    }
}
