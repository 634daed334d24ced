/* SPDX-License-Identifier: Apache-2.0 */
/* foreign.c - a library of functions for tests of the environment ffi: each way to be called, and each
 * way to fail. */
#include <fenv.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT double rosen(const double *x, double *g);
EXPORT void fortran_sphere_(const int32_t *n, const double *x, double *f);
EXPORT int status_sphere(int32_t n, const double *x, double *f, double *g);
EXPORT float float_sphere(uint64_t n, const float *x, float *g);
EXPORT double mixed(double x1, const double *x0, double c, void *ctx, int64_t k, uint32_t u);
EXPORT void fit(int64_t m, const double *x, double *r);
EXPORT void curve(int32_t m, const double *x, double *r, double *jacobian);
EXPORT void rosen_gradient(const double *x, double *g);
EXPORT double crash_right(double x);
EXPORT double nan_right(double x);
EXPORT double huge_gradient(const double *x, double *g);
EXPORT double writes_past(const double *x, double *g);
EXPORT double changes_x(double *x);
EXPORT double rounds_up(double x);
EXPORT extern double a_variable;

double a_variable = 1;

double rosen(const double *x, double *g)
{
    double a = x[1] - x[0] * x[0], b = 1 - x[0];
    if (g) {
        rosen_gradient(x, g);
    }
    return 100 * a * a + b * b;
}

void rosen_gradient(const double *x, double *g)
{
    double a = x[1] - x[0] * x[0];
    g[0] = -400 * a * x[0] - 2 * (1 - x[0]);
    g[1] = 200 * a;
}

void fortran_sphere_(const int32_t *n, const double *x, double *f)
{
    *f = 0;
    for (int i = 0; i < *n; i++) {
        *f += x[i] * x[i];
    }
}

/* -1 right of 0.5. */
int status_sphere(int32_t n, const double *x, double *f, double *g)
{
    fortran_sphere_(&n, x, f);
    for (int i = 0; g && i < n; i++) {
        g[i] = 2 * x[i];
    }
    return x[0] > 0.5 ? -1 : 0;
}

float float_sphere(uint64_t n, const float *x, float *g)
{
    float f = 0;
    for (uint64_t i = 0; i < n; i++) {
        f += x[i] * x[i];
        if (g) {
            g[i] = 2 * x[i];
        }
    }
    return f;
}

double mixed(double x1, const double *x0, double c, void *ctx, int64_t k, uint32_t u)
{
    return ctx ? -1 : 1000 * x1 + 100 * *x0 + 10 * c + (double)k + 0.1 * (double)u;
}

/* r_i = x_0 + x_1 i - i^2 */
void fit(int64_t m, const double *x, double *r)
{
    for (int64_t i = 0; i < m; i++) {
        r[i] = x[0] + x[1] * (double)i - (double)(i * i);
    }
}

/* A decay x_0 exp(-x_1 i) through points of one with 3 and 0.5. */
void curve(int32_t m, const double *x, double *r, double *jacobian)
{
    for (int32_t i = 0; i < m; i++) {
        double e = exp(-x[1] * i);
        r[i] = x[0] * e - 3 * exp(-0.5 * i);
        if (jacobian) {
            jacobian[2 * i] = e;
            jacobian[2 * i + 1] = -x[0] * i * e;
        }
    }
}

double crash_right(double x)
{
    if (x > 0.5) {
        abort();
    }
    return x * x;
}

double nan_right(double x)
{
    return x > 0.5 ? (double)NAN : x * x;
}

/* A gradient that is not finite where x is positive, with a loss that is. */
double huge_gradient(const double *x, double *g)
{
    if (g) {
        g[0] = x[0] > 0 ? (double)INFINITY : 1;
    }
    return x[0];
}

double writes_past(const double *x, double *g)
{
    if (g) {
        g[0] = 1;
        g[1] = 1; /* one variable */
    }
    return x[0];
}

double changes_x(double *x)
{
    x[0] += 1;
    return x[0];
}

/* Leaves another rounding mode behind. */
double rounds_up(double x)
{
    fesetround(FE_UPWARD);
    return x;
}
