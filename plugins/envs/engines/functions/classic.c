/* SPDX-License-Identifier: Apache-2.0 */
/* classic.c - the low-dimensional classics with fixed place: Branin, Hartmann-3, Hartmann-6, six-hump camel.
 * Source: Dixon and Szegoe (eds.), Towards Global Optimisation 2, 1978. */
#include "function.h"

#include <math.h>

static const double pi = 3.14159265358979323846;

/* Minimum 10/(8 pi) at (-pi, 12.275), (pi, 2.275), (3 pi, 2.475): the square is 0 and the cosine -1. */
static double branin(const fn_problem *p, const double *z, double *g)
{
    (void)p;
    double b = 5.1 / (4 * pi * pi), c = 5 / pi, h = 10 * (1 - 1 / (8 * pi));
    double q = z[1] - b * z[0] * z[0] + c * z[0] - 6;
    if (g) {
        g[0] = 2 * q * (c - 2 * b * z[0]) - h * sin(z[0]);
        g[1] = 2 * q;
    }
    return q * q + h * cos(z[0]) + 10;
}

/* (4 - 2.1 x^2 + x^4/3) x^2 + x y + (4 y^2 - 4) y^2; two global minima at +-(0.0898420, -0.7126564). */
static double camel6(const fn_problem *p, const double *z, double *g)
{
    (void)p;
    double x = z[0], y = z[1], x2 = x * x, y2 = y * y;
    if (g) {
        g[0] = x * (8 - 8.4 * x2 + 2 * x2 * x2) + y;
        g[1] = x + y * (16 * y2 - 8);
    }
    return (4 - 2.1 * x2 + x2 * x2 / 3) * x2 + x * y + 4 * (y2 - 1) * y2;
}

/* -sum_k a_k exp(-sum_j A_kj (z_j - P_kj)^2), four terms. */
static double hartmann(const fn_problem *p, const double *z, double *g, const double *shape,
                       const double *centre)
{
    static const double height[4] = {1, 1.2, 3, 3.2};
    double f = 0;
    for (uint64_t j = 0; g && j < p->n; j++) {
        g[j] = 0;
    }
    for (uint64_t k = 0; k < 4; k++, shape += p->n, centre += p->n) {
        double e = 0;
        for (uint64_t j = 0; j < p->n; j++) {
            double d = z[j] - 1e-4 * centre[j];
            e += shape[j] * d * d;
        }
        double t = height[k] * exp(-e);
        f -= t;
        for (uint64_t j = 0; g && j < p->n; j++) {
            g[j] += 2 * t * shape[j] * (z[j] - 1e-4 * centre[j]);
        }
    }
    return f;
}

static double hartmann3(const fn_problem *p, const double *z, double *g)
{
    static const double shape[4 * 3] = {3, 10, 30, 0.1, 10, 35, 3, 10, 30, 0.1, 10, 35};
    static const double centre[4 * 3] = {3689, 1170, 2673, 4699, 4387, 7470,
                                         1091, 8732, 5547, 381,  5743, 8828};
    return hartmann(p, z, g, shape, centre);
}

static double hartmann6(const fn_problem *p, const double *z, double *g)
{
    static const double shape[4 * 6] = {10, 3,   17,  3.5, 1.7, 8, 0.05, 10, 17,   0.1, 8,   14,
                                        3,  3.5, 1.7, 10,  17,  8, 17,   8,  0.05, 10,  0.1, 14};
    static const double centre[4 * 6] = {1312, 1696, 5569, 124,  8283, 5886, 2329, 4135,
                                         8307, 3736, 1004, 9991, 2348, 1451, 3522, 2883,
                                         3047, 6650, 4047, 8828, 8732, 5743, 1091, 381};
    return hartmann(p, z, g, shape, centre);
}

/* Lower bounds: Branin 10/(8 pi) by its form; the others are the known minima less 1e-6. They hold outside
 * the box too (moving a point into [0, 1]^n brings it nearer to every centre of Hartmann's functions). */
const fn_def fn_branin = {"branin", 2, 2, {-5, 0}, {10, 15}, 1, 0, 0, 0.39788735772, branin};
const fn_def fn_hartmann3 = {"hartmann3", 3, 3, {0, 0}, {1, 1}, 1, 0, 0, -3.862783, hartmann3};
const fn_def fn_hartmann6 = {"hartmann6", 6, 6, {0, 0}, {1, 1}, 1, 0, 0, -3.322369, hartmann6};
const fn_def fn_camel6 = {"camel6", 2, 2, {-3, -2}, {3, 2}, 1, 0, 0, -1.0316295, camel6};
