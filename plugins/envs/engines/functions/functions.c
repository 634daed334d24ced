/* SPDX-License-Identifier: Apache-2.0 */
/* functions.c - the list of test functions; their shift, rotation and bumps drawn from a seed; residuals of
 * those that are sums of squares. Gradients follow by the chain rule, df/dx = s Q^T dF/dz. */
#include "engines/functions/functions.h"

#include "engines/functions/bbob.h"

#include <diffsim/helper/random.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

const fn_def *const fn_table[] = {
    &fn_sphere,   &fn_ellipsoid,   &fn_cigar,    &fn_tablet,   &fn_sharp_ridge, &fn_rosenbrock, &fn_rastrigin,
    &fn_ackley,   &fn_schaffer_f7, &fn_griewank, &fn_branin,   &fn_hartmann3,   &fn_hartmann6,  &fn_camel6,
    &fn_rugged,   &fn_plateau,     &fn_valley,   &fn_bbob_f1,  &fn_bbob_f2,     &fn_bbob_f3,    &fn_bbob_f8,
    &fn_bbob_f10, &fn_bbob_f15,    &fn_bbob_f17, &fn_bbob_f18, &fn_bbob_f21,    NULL,
};

const char *const fn_names[] = {
    "sphere",   "ellipsoid",   "cigar",    "tablet",   "sharp_ridge", "rosenbrock", "rastrigin",
    "ackley",   "schaffer_f7", "griewank", "branin",   "hartmann3",   "hartmann6",  "camel6",
    "rugged",   "plateau",     "valley",   "bbob_f1",  "bbob_f2",     "bbob_f3",    "bbob_f8",
    "bbob_f10", "bbob_f15",    "bbob_f17", "bbob_f18", "bbob_f21",    NULL,
};

/* A rotation as a product of Householder reflections (Stewart 1980; uniform over the orthogonal group up to
 * signs): n^2/2 numbers and 2 n^2 operations like a product with a matrix, but without O(n^3) set-up. */
static void draw_reflectors(fn_problem *p, uint64_t instance)
{
    ds_random r = ds_random_open(instance, "rotation", 0);
    double *v = p->reflector;
    for (uint64_t len = p->n; len >= 2; v += len, len--) {
        double sum = 0;
        for (uint64_t i = 0; i < len; i++) {
            v[i] = ds_random_normal(&r);
            sum += v[i] * v[i];
        }
        /* the reflector that maps the normal vector to the first axis */
        double shift = v[0] >= 0 ? sqrt(sum) : -sqrt(sum);
        double norm = sqrt(2 * (sum + fabs(v[0]) * sqrt(sum)));
        v[0] += shift;
        for (uint64_t i = 0; i < len; i++) {
            v[i] /= norm;
        }
    }
}

static void reflect(const double *v, uint64_t len, double *tail)
{
    double dot = 0;
    for (uint64_t i = 0; i < len; i++) {
        dot += v[i] * tail[i];
    }
    for (uint64_t i = 0; i < len; i++) {
        tail[i] -= 2 * dot * v[i];
    }
}

static void rotate_forward(const fn_problem *p, double *z)
{
    const double *v = p->reflector;
    for (uint64_t len = p->n; len >= 2; v += len, len--) {
        reflect(v, len, z + (p->n - len));
    }
}

static void rotate_back(const fn_problem *p, double *z)
{
    const double *v = p->reflector + (p->n * (p->n + 1) / 2 - 1);
    for (uint64_t len = 2; len <= p->n; len++) {
        v -= len;
        reflect(v, len, z + (p->n - len));
    }
}

static void place_optimum(fn_problem *p, const double *lower, const double *upper, int optimum,
                          uint64_t instance)
{
    ds_random r = ds_random_open(instance, "optimum", 0);
    for (uint64_t i = 0; i < p->n; i++) {
        double middle = 0.5 * (lower[i] + upper[i]);
        double half = 0.5 * p->def->opt_share * (upper[i] - lower[i]);
        double draw = middle + half * (2 * ds_random_uniform(&r) - 1);
        p->x_opt[i] = optimum == FN_OPTIMUM_RANDOM   ? draw
                      : optimum == FN_OPTIMUM_ORIGIN ? 0
                                                     : p->def->z_opt / p->def->scale;
    }
}

/* The bump of height 1 is at the optimum; the others are anywhere in the middle 90 % of the box. */
static void place_bumps(fn_problem *p, const double *lower, const double *upper, uint64_t instance)
{
    ds_random r = ds_random_open(instance, "bumps", 0);
    memcpy(p->bump, p->x_opt, p->n * sizeof(double));
    for (uint64_t k = 1; k < FN_BUMPS; k++) {
        for (uint64_t i = 0; i < p->n; i++) {
            double u = 0.05 + 0.9 * ds_random_uniform(&r);
            p->bump[k * p->n + i] = lower[i] + u * (upper[i] - lower[i]);
        }
    }
}

static void set_weights(fn_problem *p)
{
    for (uint64_t i = 0; i < p->n; i++) {
        if (p->def == &fn_ellipsoid) {
            p->weight[i] = p->n > 1 ? pow(1e6, (double)i / (double)(p->n - 1)) : 1;
        } else {
            p->weight[i] = 1 / sqrt((double)(i + 1));
        }
    }
}

fn_problem *fn_create(ds_memory *m, const fn_def *def, uint64_t n, const double *lower, const double *upper,
                      int optimum, int rotate, uint64_t instance)
{
    fn_problem *p = ds_memory_take(m, 1, sizeof *p);
    if (!p) {
        return NULL;
    }
    p->def = def;
    p->n = n;
    ds_memory_each(m, n, (double **const[]){&p->z, &p->gz, &p->weight, &p->x_opt, NULL});
    if (rotate && n > 1) {
        p->reflector = ds_memory_doubles(m, n * (n + 1) / 2 - 1);
    }
    if (def == &fn_plateau) {
        p->bump = ds_memory_doubles(m, FN_BUMPS * n);
    }
    if (m->failed) {
        return NULL;
    }
    set_weights(p);
    if (bbob_is(def)) {
        return bbob_place(m, p, optimum == FN_OPTIMUM_ORIGIN, instance) ? p : NULL;
    }
    if (def->fixed_n) { /* low-dimensional classics cannot be moved */
        p->x_opt = NULL;
        return p;
    }
    place_optimum(p, lower, upper, optimum, instance);
    if (def == &fn_plateau) { /* round bumps placed in x need no transformation */
        place_bumps(p, lower, upper, instance);
        return p;
    }
    if (p->reflector) {
        draw_reflectors(p, instance);
        p->rotated = 1;
    }
    p->transformed = p->rotated || def->scale != 1 || optimum == FN_OPTIMUM_RANDOM ||
                     (optimum == FN_OPTIMUM_ORIGIN && def->z_opt != 0);
    return p;
}

/* Maps x to z (in the scratch of p, or x itself), a direction in x to z, and the gradient p->gz by z to one
 * by x. Not for functions of the BBOB suite. */
static const double *fn_to_z(fn_problem *p, const double *x)
{
    if (!p->transformed) {
        return x;
    }
    for (uint64_t i = 0; i < p->n; i++) {
        p->z[i] = p->def->scale * (x[i] - p->x_opt[i]);
    }
    if (p->rotated) {
        rotate_forward(p, p->z);
    }
    for (uint64_t i = 0; i < p->n; i++) {
        p->z[i] += p->def->z_opt;
    }
    return p->z;
}

/* Maps x to z (in the scratch of p, or x itself), a direction in x to z, and the gradient p->gz by z to one
 * by x. Not for functions of the BBOB suite. */
static void fn_direction_to_z(const fn_problem *p, const double *v, double *out)
{
    for (uint64_t i = 0; i < p->n; i++) {
        out[i] = p->transformed ? p->def->scale * v[i] : v[i];
    }
    if (p->transformed && p->rotated) {
        rotate_forward(p, out);
    }
}

/* Maps x to z (in the scratch of p, or x itself), a direction in x to z, and the gradient p->gz by z to one
 * by x. Not for functions of the BBOB suite. */
static void fn_gradient_to_x(fn_problem *p, double *g)
{
    if (p->transformed && p->rotated) {
        rotate_back(p, p->gz);
    }
    for (uint64_t i = 0; i < p->n; i++) {
        g[i] = p->transformed ? p->def->scale * p->gz[i] : p->gz[i];
    }
}

double fn_eval(fn_problem *p, const double *x, double *g)
{
    const fn_def *def = p->def;
    if (!p->transformed) {
        return def->eval(p, x, g);
    }
    double f = def->eval(p, fn_to_z(p, x), g ? p->gz : NULL);
    if (g) {
        fn_gradient_to_x(p, g);
    }
    return f;
}

/* ---- sums of squares ---- */

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

/* z_i, then sqrt(2 a) sin(w z_i / 2): a wave a (1 - cos(w z_i)) is a square too. */
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

/* Number of residuals: `per` variable, minus `less`. */
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
