/* SPDX-License-Identifier: Apache-2.0 */
/* functions.h - analytic test functions with exact gradients, in the form of objective.h. `ctx` is
 * unused unless a comment says so; the gradient may be NULL. */
#ifndef DS_TESTS_FUNCTIONS_H
#define DS_TESTS_FUNCTIONS_H

#include <math.h>
#include <stddef.h>

#define FUNCTIONS_PI 3.14159265358979323846

/* |x - c|^2 with c in ctx (n values; NULL = 0). */
static inline double sphere(void *ctx, size_t n, const double *x, double *g)
{
    const double *c = ctx;
    double f = 0.0;
    for (size_t k = 0; k < n; k++) {
        double d = x[k] - (c ? c[k] : 0.0);
        f += d * d;
        if (g) {
            g[k] = 2.0 * d;
        }
    }
    return f;
}

/* Steps down to 0 around 0.2 in every variable; gradients of zero everywhere. */
static inline double stairs(void *ctx, size_t n, const double *x, double *g)
{
    double f = 0.0;
    for (size_t k = 0; k < n; k++) {
        f += floor(50.0 * fabs(x[k] - 0.2)) / 50.0;
        if (g) {
            g[k] = 0.0;
        }
    }
    return f;
}

static inline double rosenbrock(void *ctx, size_t n, const double *x, double *g)
{
    double f = 0.0;
    for (size_t k = 0; g && k < n; k++) {
        g[k] = 0.0;
    }
    for (size_t k = 0; k + 1 < n; k++) {
        double a = x[k + 1] - x[k] * x[k], b = 1.0 - x[k];
        f += 100.0 * a * a + b * b;
        if (g) {
            g[k] += -400.0 * a * x[k] - 2.0 * b;
            g[k + 1] += 200.0 * a;
        }
    }
    return f;
}

/* Branin on [0, 1]^2; optimum 0.39788735772973816. */
static inline double branin(void *ctx, size_t n, const double *u, double *g)
{
    double x1 = 15.0 * u[0] - 5.0, x2 = 15.0 * u[1];
    double b = 5.1 / (4.0 * FUNCTIONS_PI * FUNCTIONS_PI), c = 5.0 / FUNCTIONS_PI;
    double q = x2 - b * x1 * x1 + c * x1 - 6.0, s = 10.0 * (1.0 - 1.0 / (8.0 * FUNCTIONS_PI));
    if (g) {
        g[0] = 15.0 * (2.0 * q * (-2.0 * b * x1 + c) - s * sin(x1));
        g[1] = 15.0 * 2.0 * q;
    }
    return q * q + s * cos(x1) + 10.0;
}

/* Hartmann-6 on [0, 1]^6; optimum -3.322368011415515. */
static inline double hartmann6(void *ctx, size_t n, const double *x, double *g)
{
    static const double a[4] = {1.0, 1.2, 3.0, 3.2};
    static const double A[4][6] = {{10, 3, 17, 3.5, 1.7, 8},
                                   {0.05, 10, 17, 0.1, 8, 14},
                                   {3, 3.5, 1.7, 10, 17, 8},
                                   {17, 8, 0.05, 10, 0.1, 14}};
    static const double P[4][6] = {{0.1312, 0.1696, 0.5569, 0.0124, 0.8283, 0.5886},
                                   {0.2329, 0.4135, 0.8307, 0.3736, 0.1004, 0.9991},
                                   {0.2348, 0.1451, 0.3522, 0.2883, 0.3047, 0.6650},
                                   {0.4047, 0.8828, 0.8732, 0.5743, 0.1091, 0.0381}};
    double f = 0.0;
    for (size_t k = 0; g && k < n; k++) {
        g[k] = 0.0;
    }
    for (int i = 0; i < 4; i++) {
        double r = 0.0;
        for (int k = 0; k < 6; k++) {
            r += A[i][k] * (x[k] - P[i][k]) * (x[k] - P[i][k]);
        }
        double e = a[i] * exp(-r);
        f -= e;
        for (int k = 0; g && k < 6; k++) {
            g[k] += 2.0 * e * A[i][k] * (x[k] - P[i][k]);
        }
    }
    return f;
}

/* A rotated bowl with ripples on [-1, 1]^n (any n up to 64), optimum 0: y = v - o with o_i = 0.6 sin i,
 * reflected by the vector w_i = i, z = 1.5 times that, |z|^2 + 1/4 sum (1 - cos 4 pi z_i). */
static inline double ripples(void *ctx, size_t n, const double *v, double *g)
{
    double y[64], z[64], dz[64], ww = 0.0, wy = 0.0, wd = 0.0, f = 0.0;
    for (size_t k = 0; k < n; k++) {
        double w = (double)k + 1.0;
        y[k] = v[k] - 0.6 * sin(w);
        ww += w * w;
        wy += w * y[k];
    }
    for (size_t k = 0; k < n; k++) {
        z[k] = 1.5 * (y[k] - 2.0 * ((double)k + 1.0) * wy / ww);
        f += z[k] * z[k] + 0.25 * (1.0 - cos(4.0 * FUNCTIONS_PI * z[k]));
        dz[k] = 2.0 * z[k] + FUNCTIONS_PI * sin(4.0 * FUNCTIONS_PI * z[k]);
        wd += ((double)k + 1.0) * dz[k];
    }
    for (size_t k = 0; g && k < n; k++) {
        g[k] = 1.5 * (dz[k] - 2.0 * ((double)k + 1.0) * wd / ww);
    }
    return f;
}

#endif
