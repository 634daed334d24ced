/* SPDX-License-Identifier: Apache-2.0 */
/* rugged.c - test functions with many basins or plateaus: Rastrigin, Ackley, Schaffer F7, Griewank and two of
 * our own on [-1, 1]^n. Forms as in Hansen et al. 2009 (BBOB) and Ackley 1987; minimum 0. */
#include "function.h"

#include <math.h>

static const double pi = 3.14159265358979323846;

/* sum_i z_i^2 + a (1 - cos(w z_i)), written with 2 sin^2(w z_i / 2) so that nothing cancels near 0. */
static double wavy_bowl(const fn_problem *p, const double *z, double *g, double a, double w)
{
    double f = 0;
    for (uint64_t i = 0; i < p->n; i++) {
        double s = sin(0.5 * w * z[i]);
        f += z[i] * z[i] + 2 * a * s * s;
        if (g) {
            g[i] = 2 * z[i] + a * w * sin(w * z[i]);
        }
    }
    return f;
}

static double rastrigin(const fn_problem *p, const double *z, double *g)
{
    return wavy_bowl(p, z, g, 10, 2 * pi);
}

static double rugged(const fn_problem *p, const double *z, double *g)
{
    return wavy_bowl(p, z, g, 0.3, 3.6 * pi);
}

/* 20 - 20 exp(-0.2 r) + e - exp(mean cos 2 pi z), r^2 = mean z^2. The cone at z = 0 has subgradient 0. */
static double ackley(const fn_problem *p, const double *z, double *g)
{
    double n = (double)p->n, square = 0, wave = 0;
    for (uint64_t i = 0; i < p->n; i++) {
        double s = sin(pi * z[i]);
        square += z[i] * z[i];
        wave -= 2 * s * s; /* cos(2 pi z) - 1 */
    }
    double r = sqrt(square / n);
    double bowl = -20 * expm1(-0.2 * r), ripple = -exp(1) * expm1(wave / n);
    if (g) {
        double a = r > 0 ? 4 * exp(-0.2 * r) / (n * r) : 0;
        double b = 2 * pi * exp(1 + wave / n) / n;
        for (uint64_t i = 0; i < p->n; i++) {
            g[i] = a * z[i] + b * sin(2 * pi * z[i]);
        }
    }
    return bowl + ripple;
}

/* (mean of q(s_i))^2, s_i = z_i^2 + z_{i+1}^2, q = s^(1/4) (1 + sin^2(50 s^(1/10))): BBOB f17 without its
 * conditioning. Terms with s = 0 give no gradient. */
static double schaffer_f7(const fn_problem *p, const double *z, double *g)
{
    double m = (double)(p->n - 1), sum = 0;
    for (uint64_t i = 0; g && i < p->n; i++) {
        g[i] = 0;
    }
    for (uint64_t i = 0; i + 1 < p->n; i++) {
        double s = z[i] * z[i] + z[i + 1] * z[i + 1];
        double root = sqrt(sqrt(s)), phase = 50 * pow(s, 0.1), wave = sin(phase);
        sum += root * (1 + wave * wave);
        if (g && s > 0) { /* dq/ds times 2, to be multiplied by z */
            double d = 2 * root * (0.25 * (1 + wave * wave) + 0.1 * phase * sin(2 * phase)) / s;
            g[i] += d * z[i];
            g[i + 1] += d * z[i + 1];
        }
    }
    double mean = sum / m;
    for (uint64_t i = 0; g && i < p->n; i++) {
        g[i] *= 2 * mean / m;
    }
    return mean * mean;
}

/* |z|^2/4000 + 1 - prod cos(z_i / sqrt(i)). Products from both ends give the product without factor i. */
static double griewank(const fn_problem *p, const double *z, double *g)
{
    double square = 0, product = 1;
    for (uint64_t i = 0; i < p->n; i++) {
        square += z[i] * z[i];
        if (g) {
            g[i] = product; /* of the factors before i */
        }
        product *= cos(z[i] * p->weight[i]);
    }
    if (g) {
        double after = 1;
        for (uint64_t i = p->n; i-- > 0;) {
            double angle = z[i] * p->weight[i];
            g[i] = z[i] / 2000 + g[i] * after * p->weight[i] * sin(angle);
            after *= cos(angle);
        }
    }
    return square / 4000 + (1 - product);
}

/* 1 - (highest of 7 Gaussian bumps: one of height 1 at the optimum, six of height 1/2) + 0.001 times the mean
 * square of x - x_opt: large flats with hardly a slope. Where two bumps tie, the first gives the gradient. */
static double plateau(const fn_problem *p, const double *x, double *g)
{
    double n = (double)p->n, variance = 0.055 * n, best = 0, mean = 0;
    const double *top = p->bump;
    for (uint64_t k = 0; k < FN_BUMPS; k++) {
        const double *c = p->bump + k * p->n;
        double d2 = 0;
        for (uint64_t i = 0; i < p->n; i++) {
            d2 += (x[i] - c[i]) * (x[i] - c[i]);
        }
        if (k == 0) {
            mean = d2 / n;
        }
        double bump = (k == 0 ? 1 : 0.5) * exp(-0.5 * d2 / variance);
        if (bump > best) {
            best = bump;
            top = c;
        }
    }
    for (uint64_t i = 0; g && i < p->n; i++) {
        g[i] = best * (x[i] - top[i]) / variance + 0.002 * (x[i] - p->bump[i]) / n;
    }
    return 1 - best + 0.001 * mean;
}

const fn_def fn_rastrigin = {"rastrigin", 0, 1, {-5, -5}, {5, 5}, 1, 0.8, 0, 0, rastrigin};
const fn_def fn_ackley = {"ackley", 0, 1, {-5, -5}, {5, 5}, 1, 0.8, 0, 0, ackley};
const fn_def fn_schaffer_f7 = {"schaffer_f7", 0, 2, {-5, -5}, {5, 5}, 1, 0.8, 0, 0, schaffer_f7};
const fn_def fn_griewank = {"griewank", 0, 1, {-5, -5}, {5, 5}, 1, 0.8, 0, 0, griewank};
/* Constants of our own: about five basins per axis on [-1, 1]. */
const fn_def fn_rugged = {"rugged", 0, 1, {-1, -1}, {1, 1}, 1.4, 0.6, 0, 0, rugged};
const fn_def fn_plateau = {"plateau", 0, 1, {-1, -1}, {1, 1}, 1, 0.4, 0, 0, plateau};
