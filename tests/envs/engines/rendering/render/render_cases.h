/* SPDX-License-Identifier: Apache-2.0 */
/* render_cases.h - shared by the tests of the renderer: random scenes, and derivatives against differences.
 */
#ifndef DS_TESTS_RENDER_CASES_H
#define DS_TESTS_RENDER_CASES_H

#include "engines/rendering/render/camera.h"
#include "test.h"

#include <diffsim/helper/random.h>

static inline double uniform(ds_random *r, double low, double high)
{
    return low + (high - low) * ds_random_uniform(r);
}

static inline void fill(ds_random *r, double *x, size_t n, double low, double high)
{
    for (size_t i = 0; i < n; i++) {
        x[i] = uniform(r, low, high);
    }
}

static inline double dot(size_t n, const double *a, const double *b)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

static inline double norm(size_t n, const double *a)
{
    return sqrt(dot(n, a, a));
}

/* A number that depends on x; `context` is for the function. */
typedef double number_of(void *context);

/* Derivatives against central differences of step h. Where they differ by more than tolerance times the
 * largest derivative the two one-sided quotients must differ, too (a kink or a jump within h). Returns how
 * many do. */
static inline size_t differences(size_t n, double *x, const double *grad, double h, double tolerance,
                                 number_of *f, void *context)
{
    size_t kinks = 0;
    double largest = 0;
    for (size_t i = 0; i < n; i++) {
        largest = fmax(largest, fabs(grad[i]));
    }
    assert_true(largest > 0 && isfinite(largest));
    for (size_t i = 0; i < n; i++) {
        const double at = x[i], here = f(context);
        x[i] = at + h;
        const double up = f(context);
        x[i] = at - h;
        const double down = f(context);
        x[i] = at;
        const double central = (up - down) / (2 * h), sides = fabs(up - 2 * here + down) / h;
        if (fabs(central - grad[i]) <= tolerance * largest) {
            continue;
        }
        if (sides < fabs(central - grad[i])) {
            fail_msg("derivative %zu is %.12g, not %.12g (largest %g, second difference %g)", i, grad[i],
                     central, largest, sides);
        }
        kinks++;
    }
    return kinks;
}

static inline void same_bits(size_t n, const double *a, const double *b, const char *what)
{
    for (size_t i = 0; i < n; i++) {
        if (memcmp(&a[i], &b[i], sizeof *a) != 0) {
            fail_msg("%s: number %zu is %.17g and %.17g", what, i, a[i], b[i]);
        }
    }
}

static inline void all_finite(size_t n, const double *a, const char *what)
{
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(a[i])) {
            fail_msg("%s: number %zu is %g", what, i, a[i]);
        }
    }
}

/* A camera in front of the origin that looks slightly past it. */
static inline camera some_camera(camera_kind kind)
{
    camera c = camera_orbit(kind, 3.2, 0.4, 0.7);
    c.pose.target[0] = 0.05;
    c.pose.target[1] = -0.1;
    c.pose.up[0] = 0.1;
    return c;
}

/* The ten numbers of a pose one after the other. */
enum { POSE_NUMBERS = sizeof(camera_pose) / sizeof(double) };
static inline double *pose_numbers(camera_pose *p)
{
    return (double *)p;
}

/* Triangles around the origin, some with common vertices. */
enum { SOME_FACES = 12, SOME_VERTICES = 24 };
typedef struct triangles {
    render_mesh m;
    uint32_t face[3 * SOME_FACES];
    double p[3 * SOME_VERTICES], color[3 * SOME_FACES];
} triangles;

static inline void some_triangles(triangles *t, uint64_t key)
{
    ds_random r = ds_random_open(key, "triangles", 0);
    fill(&r, t->p, 3 * SOME_VERTICES, -1, 1);
    fill(&r, t->color, 3 * SOME_FACES, 0, 1);
    for (size_t i = 0; i < SOME_FACES; i++) {
        t->face[3 * i] = (uint32_t)(2 * i);
        t->face[3 * i + 1] = (uint32_t)(2 * i + 1);
        t->face[3 * i + 2] = (uint32_t)((2 * i + 2 + ds_random_below(&r, SOME_VERTICES - 2)) % SOME_VERTICES);
    }
    t->m = (render_mesh){SOME_VERTICES, SOME_FACES, t->face};
}

#endif
