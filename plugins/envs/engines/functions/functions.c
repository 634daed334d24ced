/* SPDX-License-Identifier: Apache-2.0 */
/* functions.c - the list of test functions, and how one is placed in its box: seeded shift, rotation and
 * bumps. Gradients follow by the chain rule, df/dx = s Q^T dF/dz. */
#include "functions.h"

#include "bbob.h"

#include <diffsim/helper/random.h>
#include <math.h>
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

/* A rotation as a product of Householder reflections (Stewart 1980, uniform over the orthogonal group up to
 * signs): n^2/2 numbers and 2 n^2 operations, the same as a product with the matrix, but no O(n^3) set-up. */
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
        /* the reflector that maps the normal vector on the first axis */
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

/* The bump of height 1 sits at the optimum, the others anywhere in the middle 90 % of the box. */
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
    if (def->fixed_n) { /* classics of low dimension keep their own place */
        p->x_opt = NULL;
        return p;
    }
    place_optimum(p, lower, upper, optimum, instance);
    if (def == &fn_plateau) { /* its bumps are round and placed in x: nothing to transform */
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

const double *fn_to_z(fn_problem *p, const double *x)
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

void fn_direction_to_z(const fn_problem *p, const double *v, double *out)
{
    for (uint64_t i = 0; i < p->n; i++) {
        out[i] = p->transformed ? p->def->scale * v[i] : v[i];
    }
    if (p->transformed && p->rotated) {
        rotate_forward(p, out);
    }
}

void fn_gradient_to_x(fn_problem *p, double *g)
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
