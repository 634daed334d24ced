/* SPDX-License-Identifier: Apache-2.0 */
/* textbook.c - test functions from the literature. Sources: Hansen and Ostermeier 2001, section 7; Hansen et
 * al. 2009 (BBOB); Ackley 1987; Dixon and Szegoe (eds.), Towards Global Optimisation 2, 1978 (Branin,
 * Hartmann, camel). */
#include "engines/functions/function.h"

#include <math.h>

/* ---- one basin; minimum 0 ---- */

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
/* Rosenbrock's valley on the box [-1, 1], z = 2 (x - x_opt) + 1, divided by 100: losses of order 1 to 10. */
const fn_def fn_valley = {"valley", 0, 2, {-1, -1}, {1, 1}, 2, 0.5, 1, 0, valley};

/* ---- many basins or plateaus; minimum 0 ---- */

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
 * square of x - x_opt: large flat areas with hardly any slope. If two bumps tie, the first gives the
 * gradient. */
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
/* Our own constants: about five basins per axis on [-1, 1]. */
const fn_def fn_rugged = {"rugged", 0, 1, {-1, -1}, {1, 1}, 1.4, 0.6, 0, 0, rugged};
const fn_def fn_plateau = {"plateau", 0, 1, {-1, -1}, {1, 1}, 1, 0.4, 0, 0, plateau};

/* ---- two to six variables, in a fixed place ---- */

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

/* Lower bounds: Branin 10/(8 pi) by its form; the others are the known minima minus 1e-6. They also hold
 * outside the box: moving a point into [0, 1]^n brings it closer to every centre of Hartmann's functions. */
const fn_def fn_branin = {"branin", 2, 2, {-5, 0}, {10, 15}, 1, 0, 0, 0.39788735772, branin};
const fn_def fn_hartmann3 = {"hartmann3", 3, 3, {0, 0}, {1, 1}, 1, 0, 0, -3.862783, hartmann3};
const fn_def fn_hartmann6 = {"hartmann6", 6, 6, {0, 0}, {1, 1}, 1, 0, 0, -3.322369, hartmann6};
const fn_def fn_camel6 = {"camel6", 2, 2, {-3, -2}, {3, 2}, 1, 0, 0, -1.0316295, camel6};
