/* SPDX-License-Identifier: Apache-2.0 */
/* smooth.c - test functions with one basin: sphere, ellipsoid, cigar, tablet, sharp ridge, Rosenbrock.
 * Forms as in Hansen and Ostermeier 2001, section 7, and Hansen et al. 2009 (BBOB); minimum 0. */
#include "function.h"

#include <math.h>

static double sphere(const fn_problem *p, const double *z, double *g)
{
    double f = 0;
    for (uint64_t i = 0; i < p->n; i++) {
        f += z[i] * z[i];
    }
    for (uint64_t i = 0; g && i < p->n; i++) {
        g[i] = 2 * z[i];
    }
    return f;
}

static double ellipsoid(const fn_problem *p, const double *z, double *g)
{
    double f = 0;
    for (uint64_t i = 0; i < p->n; i++) {
        f += p->weight[i] * z[i] * z[i];
    }
    for (uint64_t i = 0; g && i < p->n; i++) {
        g[i] = 2 * p->weight[i] * z[i];
    }
    return f;
}

/* a z_1^2 + b sum_{i>1} z_i^2: cigar and tablet. */
static double two_weights(const fn_problem *p, const double *z, double *g, double a, double b)
{
    double rest = 0;
    for (uint64_t i = 1; i < p->n; i++) {
        rest += z[i] * z[i];
    }
    for (uint64_t i = 0; g && i < p->n; i++) {
        g[i] = 2 * (i == 0 ? a : b) * z[i];
    }
    return a * z[0] * z[0] + b * rest;
}

static double cigar(const fn_problem *p, const double *z, double *g)
{
    return two_weights(p, z, g, 1, 1e6);
}

static double tablet(const fn_problem *p, const double *z, double *g)
{
    return two_weights(p, z, g, 1e6, 1);
}

/* BBOB f13: z_1^2 + 100 sqrt(sum_{i>1} z_i^2). On the ridge, 0 is a subgradient of the root. */
static double sharp_ridge(const fn_problem *p, const double *z, double *g)
{
    double rest = 0;
    for (uint64_t i = 1; i < p->n; i++) {
        rest += z[i] * z[i];
    }
    double r = sqrt(rest);
    if (g) {
        g[0] = 2 * z[0];
        for (uint64_t i = 1; i < p->n; i++) {
            g[i] = r > 0 ? 100 * z[i] / r : 0;
        }
    }
    return z[0] * z[0] + 100 * r;
}

static double rosenbrock_times(const fn_problem *p, const double *z, double *g, double factor)
{
    double f = 0;
    if (g) {
        g[0] = 0;
    }
    for (uint64_t i = 0; i + 1 < p->n; i++) {
        double a = z[i] * z[i] - z[i + 1];
        double b = z[i] - 1;
        f += 100 * a * a + b * b;
        if (g) {
            g[i] += factor * (400 * a * z[i] + 2 * b);
            g[i + 1] = factor * (-200 * a);
        }
    }
    return factor * f;
}

static double rosenbrock(const fn_problem *p, const double *z, double *g)
{
    return rosenbrock_times(p, z, g, 1);
}

static double valley(const fn_problem *p, const double *z, double *g)
{
    return rosenbrock_times(p, z, g, 0.01);
}

const fn_def fn_sphere = {"sphere", 0, 1, {-5, -5}, {5, 5}, 1, 0.8, 0, 0, sphere};
const fn_def fn_ellipsoid = {"ellipsoid", 0, 1, {-5, -5}, {5, 5}, 1, 0.8, 0, 0, ellipsoid};
const fn_def fn_cigar = {"cigar", 0, 1, {-5, -5}, {5, 5}, 1, 0.8, 0, 0, cigar};
const fn_def fn_tablet = {"tablet", 0, 1, {-5, -5}, {5, 5}, 1, 0.8, 0, 0, tablet};
const fn_def fn_sharp_ridge = {"sharp_ridge", 0, 1, {-5, -5}, {5, 5}, 1, 0.8, 0, 0, sharp_ridge};
const fn_def fn_rosenbrock = {"rosenbrock", 0, 2, {-5, -5}, {5, 5}, 1, 0.8, 1, 0, rosenbrock};
/* Rosenbrock's valley on the box [-1, 1], z = 2 (x - x_opt) + 1, over 100: losses of order 1 to 10. */
const fn_def fn_valley = {"valley", 0, 2, {-1, -1}, {1, 1}, 2, 0.5, 1, 0, valley};
