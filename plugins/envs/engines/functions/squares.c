/* SPDX-License-Identifier: Apache-2.0 */
/* squares.c - residuals of sphere, ellipsoid, cigar, tablet, Rosenbrock, valley, Rastrigin and rugged. */
#include "squares.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double pi = 3.14159265358979323846;

/* A row of J has at most two entries, in neighbouring columns. */
typedef struct row {
    double r;
    uint64_t column;
    double d[2]; /* of columns `column` and `column` + 1 */
} row;

/* Residual k at z. */
typedef row residual_row(const fn_problem *p, const double *z, uint64_t k);

static row weighted(const double *z, uint64_t k, double root)
{
    return (row){root * z[k], k, {root, 0}};
}

static row sphere_row(const fn_problem *p, const double *z, uint64_t k)
{
    (void)p;
    return weighted(z, k, 1);
}

static row ellipsoid_row(const fn_problem *p, const double *z, uint64_t k)
{
    return weighted(z, k, sqrt(p->weight[k]));
}

static row cigar_row(const fn_problem *p, const double *z, uint64_t k)
{
    (void)p;
    return weighted(z, k, k == 0 ? 1 : 1e3);
}

static row tablet_row(const fn_problem *p, const double *z, uint64_t k)
{
    (void)p;
    return weighted(z, k, k == 0 ? 1e3 : 1);
}

/* 10 (z_i^2 - z_{i+1}) and z_i - 1, times a factor. */
static row valley_rows(const double *z, uint64_t k, double factor)
{
    uint64_t i = k / 2;
    return k % 2 == 0 ? (row){10 * factor * (z[i] * z[i] - z[i + 1]), i, {20 * factor * z[i], -10 * factor}}
                      : (row){factor * (z[i] - 1), i, {factor, 0}};
}

static row rosenbrock_row(const fn_problem *p, const double *z, uint64_t k)
{
    (void)p;
    return valley_rows(z, k, 1);
}

static row valley_row(const fn_problem *p, const double *z, uint64_t k)
{
    (void)p;
    return valley_rows(z, k, 0.1);
}

/* z_i, then sqrt(2 a) sin(w z_i / 2): a wave a (1 - cos(w z_i)) is a square, too. */
static row wavy_rows(const fn_problem *p, const double *z, uint64_t k, double a, double w)
{
    if (k < p->n) {
        return weighted(z, k, 1);
    }
    double root = sqrt(2 * a), angle = 0.5 * w * z[k - p->n];
    return (row){root * sin(angle), k - p->n, {0.5 * w * root * cos(angle), 0}};
}

static row rastrigin_row(const fn_problem *p, const double *z, uint64_t k)
{
    return wavy_rows(p, z, k, 10, 2 * pi);
}

static row rugged_row(const fn_problem *p, const double *z, uint64_t k)
{
    return wavy_rows(p, z, k, 0.3, 3.6 * pi);
}

/* Number of residuals: per variable, less `less`. */
static const struct {
    const fn_def *def;
    residual_row *row;
    uint64_t per, less;
} squares[] = {
    {&fn_sphere, sphere_row, 1, 0},         {&fn_ellipsoid, ellipsoid_row, 1, 0},
    {&fn_cigar, cigar_row, 1, 0},           {&fn_tablet, tablet_row, 1, 0},
    {&fn_rosenbrock, rosenbrock_row, 2, 2}, {&fn_valley, valley_row, 2, 2},
    {&fn_rastrigin, rastrigin_row, 2, 0},   {&fn_rugged, rugged_row, 2, 0},
};
enum { SQUARES = sizeof squares / sizeof *squares };

static residual_row *row_of(const fn_problem *p, uint64_t *m)
{
    for (size_t k = 0; k < SQUARES; k++) {
        if (squares[k].def == p->def) {
            *m = squares[k].per * p->n - squares[k].less;
            return squares[k].row;
        }
    }
    *m = 0;
    return NULL;
}

uint64_t fn_squares(const fn_problem *p)
{
    uint64_t m;
    row_of(p, &m);
    return m;
}

void fn_residuals(fn_problem *p, const double *x, double *r)
{
    uint64_t m;
    residual_row *of = row_of(p, &m);
    const double *z = fn_to_z(p, x);
    for (uint64_t k = 0; k < m; k++) {
        r[k] = of(p, z, k).r;
    }
}

void fn_residuals_jv(fn_problem *p, const double *x, const double *v, double *out)
{
    uint64_t m;
    residual_row *of = row_of(p, &m);
    const double *z = fn_to_z(p, x);
    fn_direction_to_z(p, v, p->gz);
    for (uint64_t k = 0; k < m; k++) {
        row a = of(p, z, k);
        out[k] = a.d[0] * p->gz[a.column] + (a.d[1] != 0 ? a.d[1] * p->gz[a.column + 1] : 0);
    }
}

void fn_residuals_jtv(fn_problem *p, const double *x, const double *v, double *out)
{
    uint64_t m;
    residual_row *of = row_of(p, &m);
    const double *z = fn_to_z(p, x);
    memset(p->gz, 0, p->n * sizeof(double));
    for (uint64_t k = 0; k < m; k++) {
        row a = of(p, z, k);
        p->gz[a.column] += a.d[0] * v[k];
        if (a.d[1] != 0) {
            p->gz[a.column + 1] += a.d[1] * v[k];
        }
    }
    fn_gradient_to_x(p, out);
}
