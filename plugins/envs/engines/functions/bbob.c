/* SPDX-License-Identifier: Apache-2.0 */
/* bbob.c - functions f1, f2, f3, f8, f10, f15, f17, f18 and f21 of the noiseless BBOB suite, with gradients:
 * N. Hansen, S. Finck, R. Ros, A. Auger, INRIA RR-6829, 2009. Minimum 0 (the suite adds f_opt). */
#include "engines/functions/bbob.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---- random numbers of the suite: a minimal standard generator with a shuffle table (RR-6829) ---- */

enum { TABLE = 32, WARM_UP = 40 };

static const double modulus = 2147483647; /* 2^31 - 1 */
static const double pi = 3.14159265358979323846;

/* Park and Miller's generator by Schrage's method: no product exceeds 2^31. */
static double next_state(double state)
{
    double high = floor(state / 127773);
    state = 16807 * (state - high * 127773) - 2836 * high;
    return state < 0 ? state + modulus : state;
}

void bbob_uniform(double seed, uint64_t count, double *out)
{
    double table[TABLE], state = fmod(fabs(seed), modulus);
    state = state < 1 ? 1 : state;
    for (int i = WARM_UP; i-- > 0;) {
        state = next_state(state);
        if (i < TABLE) {
            table[i] = state;
        }
    }
    double drawn = table[0];
    for (uint64_t i = 0; i < count; i++) {
        state = next_state(state);
        int slot = (int)floor(drawn / 67108865);
        drawn = table[slot];
        table[slot] = state;
        out[i] = drawn > 0 ? drawn / modulus : 1e-99;
    }
}

/* A rotation out[n][n] with orthonormal rows: normal numbers (Box and Muller, cosine only), then Gram and
 * Schmidt row by row. */
int bbob_rotation(double seed, uint64_t n, double *out)
{
    uint64_t count = n * n;
    double *u = malloc(2 * count * sizeof(double));
    if (!u) {
        return 0;
    }
    bbob_uniform(seed, 2 * count, u);
    for (uint64_t k = 0; k < count; k++) {
        double g = sqrt(-2 * log(u[k])) * cos(2 * pi * u[count + k]);
        out[k] = g != 0 ? g : 1e-99;
    }
    free(u);
    for (uint64_t i = 0; i < n; i++) {
        double *row = out + i * n, square = 0;
        for (uint64_t j = 0; j < i; j++) {
            double dot = 0;
            for (uint64_t k = 0; k < n; k++) {
                dot += row[k] * out[j * n + k];
            }
            for (uint64_t k = 0; k < n; k++) {
                row[k] -= dot * out[j * n + k];
            }
        }
        for (uint64_t k = 0; k < n; k++) {
            square += row[k] * row[k];
        }
        for (uint64_t k = 0; k < n; k++) {
            row[k] /= sqrt(square);
        }
    }
    return 1;
}

double bbob_osz(double t, double *slope)
{
    if (t == 0) {
        if (slope) {
            *slope = 1;
        }
        return 0;
    }
    double c1 = t > 0 ? 10 : 5.5, c2 = t > 0 ? 7.9 : 3.1, l = log(fabs(t));
    double ratio = exp(0.049 * (sin(c1 * l) + sin(c2 * l)));
    if (slope) {
        *slope = ratio * (1 + 0.049 * (c1 * cos(c1 * l) + c2 * cos(c2 * l)));
    }
    return t * ratio;
}

double bbob_asy(double t, double power, double *slope)
{
    if (!(t > 0) || power == 0) {
        if (slope) {
            *slope = 1;
        }
        return t;
    }
    double root = power * sqrt(t), l = log(t), ratio = exp(root * l);
    if (slope) {
        *slope = ratio * (1 + root + 0.5 * root * l);
    }
    return t * ratio;
}

enum { PEAKS = 101 };

/* How a function of the suite is composed: z = Lambda Q T_asy(T_osz(R (x - x_opt))), then `core`. */
typedef struct recipe {
    const fn_def *def;
    const fn_def *core; /* function of z; NULL = sphere with the weights below */
    double seed;        /* number of the function whose draws it uses */
    int rotate;         /* R */
    int osz;
    double beta;      /* T_asy, 0 = none */
    double condition; /* of Lambda, 1 = none */
    int turn;         /* Q between the distortions and `core` */
    double weight;    /* condition of the weights of the sphere */
    double penalty;   /* factor of the squared distance from [-5, 5]^n */
} recipe;

struct bbob {
    const recipe *of;
    uint64_t n;
    double scale, shift;       /* of x - x_opt: f8 */
    double *rotation, *linear; /* n x n: z is a row vector times these; NULL = none */
    double *diagonal;          /* n: used without `linear` */
    double *weight;            /* n */
    double *peak, *shape;      /* f21: PEAKS x n centres (rotated) and inverse variances */
    double height[PEAKS];
    double *a, *b, *c, *z, *bar; /* n each: stages of x and adjoints */
};

/* ---- pieces ---- */

/* out = row vector v times matrix. */
static void times(uint64_t n, const double *v, const double *matrix, double *out)
{
    for (uint64_t j = 0; j < n; j++) {
        out[j] = 0;
    }
    for (uint64_t i = 0; i < n; i++) {
        for (uint64_t j = 0; j < n; j++) {
            out[j] += v[i] * matrix[i * n + j];
        }
    }
}

/* out = matrix times column vector v: the adjoint of times(). */
static void times_back(uint64_t n, const double *v, const double *matrix, double *out)
{
    for (uint64_t i = 0; i < n; i++) {
        double sum = 0;
        for (uint64_t j = 0; j < n; j++) {
            sum += matrix[i * n + j] * v[j];
        }
        out[i] = sum;
    }
}

static double weighted_sphere(const bbob *s, double *bar)
{
    double f = 0;
    for (uint64_t i = 0; i < s->n; i++) {
        f += s->weight[i] * s->z[i] * s->z[i];
        if (bar) {
            bar[i] = 2 * s->weight[i] * s->z[i];
        }
    }
    return f;
}

static double boundary_penalty(const bbob *s, const double *x, double *g)
{
    double f = 0, factor = s->of->penalty;
    for (uint64_t i = 0; factor > 0 && i < s->n; i++) {
        double out = fmax(0, fabs(x[i]) - 5);
        f += factor * out * out;
        if (g) {
            g[i] += 2 * factor * copysign(out, x[i]);
        }
    }
    return f;
}

/* f21: (T_osz(10 - highest of 101 Gaussian peaks))^2. Where two peaks tie, the first gives the gradient. */
static double gallagher(bbob *s, const double *x, double *g)
{
    double best = -1, slope;
    uint64_t n = s->n, top = 0;
    times(n, x, s->rotation, s->a);
    for (uint64_t k = 0; k < PEAKS; k++) {
        double square = 0;
        for (uint64_t i = 0; i < n; i++) {
            double d = s->a[i] - s->peak[k * n + i];
            square += s->shape[k * n + i] * d * d;
        }
        double value = s->height[k] * exp(-0.5 / (double)n * square);
        if (value > best) {
            best = value;
            top = k;
        }
    }
    double t = bbob_osz(10 - best, &slope);
    if (g) {
        for (uint64_t i = 0; i < n; i++) {
            double d = s->a[i] - s->peak[top * n + i];
            s->bar[i] = 2 * t * slope * best / (double)n * s->shape[top * n + i] * d;
        }
        times_back(n, s->bar, s->rotation, g);
    }
    return t * t;
}

/* ---- evaluation ---- */

static double distort(const bbob *s, uint64_t i, double *slope)
{
    const double power = s->n > 1 ? s->of->beta * (double)i / (double)(s->n - 1) : 0;
    double asy = 1, osz = 1;
    double t = s->of->osz ? bbob_osz(s->a[i], &osz) : s->a[i];
    t = bbob_asy(t, power, &asy);
    *slope = osz * asy;
    return t;
}

static double bbob_eval(const fn_problem *p, const double *x, double *g)
{
    bbob *s = p->bbob;
    uint64_t n = p->n;
    double f;
    if (s->peak) {
        f = gallagher(s, x, g);
        return f + boundary_penalty(s, x, g);
    }
    for (uint64_t i = 0; i < n; i++) {
        s->c[i] = s->scale * (x[i] - p->x_opt[i]) + s->shift;
    }
    if (s->rotation) {
        times(n, s->c, s->rotation, s->a);
    } else {
        memcpy(s->a, s->c, n * sizeof(double));
    }
    for (uint64_t i = 0; i < n; i++) {
        s->b[i] = distort(s, i, &s->c[i]); /* c holds slopes from here on */
    }
    if (s->linear) {
        times(n, s->b, s->linear, s->z);
    } else {
        for (uint64_t i = 0; i < n; i++) {
            s->z[i] = s->diagonal[i] * s->b[i];
        }
    }
    double *bar = g ? s->bar : NULL;
    f = s->of->core ? s->of->core->eval(p, s->z, bar) : weighted_sphere(s, bar);
    if (g) {
        if (s->linear) {
            times_back(n, s->bar, s->linear, s->a);
        } else {
            for (uint64_t i = 0; i < n; i++) {
                s->a[i] = s->diagonal[i] * s->bar[i];
            }
        }
        for (uint64_t i = 0; i < n; i++) {
            s->a[i] *= s->scale * s->c[i];
        }
        if (s->rotation) {
            times_back(n, s->a, s->rotation, g);
        } else {
            memcpy(g, s->a, n * sizeof(double));
        }
    }
    return f + boundary_penalty(s, x, g);
}

#define BBOB_DEF(number, least)                                                                              \
    const fn_def fn_bbob_f##number = {"bbob_f" #number, 0, least, {-5, -5}, {5, 5}, 1, 0.8, 0, 0, bbob_eval}
BBOB_DEF(1, 1);
BBOB_DEF(2, 2);
BBOB_DEF(3, 2);
BBOB_DEF(8, 2);
BBOB_DEF(10, 2);
BBOB_DEF(15, 2);
BBOB_DEF(17, 2);
BBOB_DEF(18, 2);
BBOB_DEF(21, 2);

static const recipe recipes[] = {
    {&fn_bbob_f1, NULL, 1, 0, 0, 0, 1, 0, 1, 0},
    {&fn_bbob_f2, NULL, 2, 0, 1, 0, 1, 0, 1e6, 0},
    {&fn_bbob_f3, &fn_rastrigin, 3, 0, 1, 0.2, 10, 0, 1, 0},
    {&fn_bbob_f8, &fn_rosenbrock, 8, 0, 0, 0, 1, 0, 1, 0},
    {&fn_bbob_f10, NULL, 10, 1, 1, 0, 1, 0, 1e6, 0},
    {&fn_bbob_f15, &fn_rastrigin, 15, 1, 1, 0.2, 10, 2, 1, 0},
    {&fn_bbob_f17, &fn_schaffer_f7, 17, 1, 0, 0.5, 10, 1, 1, 10},
    {&fn_bbob_f18, &fn_schaffer_f7, 17, 1, 0, 0.5, 1000, 1, 1, 10},
    {&fn_bbob_f21, NULL, 21, 1, 0, 0, 1, 0, 1, 1},
};

static const recipe *find_recipe(const fn_def *def)
{
    for (size_t k = 0; k < sizeof recipes / sizeof *recipes; k++) {
        if (recipes[k].def == def) {
            return &recipes[k];
        }
    }
    return NULL;
}

int bbob_is(const fn_def *def)
{
    return find_recipe(def) != NULL;
}

/* ---- an instance ---- */

static double part(uint64_t i, uint64_t n)
{
    return n > 1 ? (double)i / (double)(n - 1) : 0;
}

static void draw_optimum(fn_problem *p, double seed, double factor)
{
    bbob_uniform(seed, p->n, p->x_opt);
    for (uint64_t i = 0; i < p->n; i++) {
        double x = 8 * floor(1e4 * p->x_opt[i]) / 1e4 - 4;
        p->x_opt[i] = factor * (x != 0 ? x : -1e-5);
    }
}

/* linear = Q Lambda, times R again for f15. */
static int make_linear(ds_memory *m, bbob *s, double seed)
{
    uint64_t n = s->n;
    double *q = malloc(n * n * sizeof(double));
    s->linear = ds_memory_doubles(m, n * n);
    if (!q || !s->linear || !bbob_rotation(seed, n, q)) {
        free(q);
        return 0;
    }
    for (uint64_t i = 0; i < n * n; i++) {
        q[i] *= s->diagonal[i % n];
    }
    if (s->of->turn == 2) {
        for (uint64_t i = 0; i < n; i++) {
            times(n, q + i * n, s->rotation, s->linear + i * n);
        }
    } else {
        memcpy(s->linear, q, n * n * sizeof(double));
    }
    free(q);
    return 1;
}

typedef struct keyed {
    double key;
    uint64_t index;
} keyed;

static int by_key(const void *a, const void *b)
{
    double x = ((const keyed *)a)->key, y = ((const keyed *)b)->key;
    return (x > y) - (x < y);
}

/* The order that sorts `count` uniform numbers; u and k are scratch. */
static void permutation(double seed, uint64_t count, double *u, keyed *k)
{
    bbob_uniform(seed, count, u);
    for (uint64_t i = 0; i < count; i++) {
        k[i] = (keyed){u[i], i};
    }
    qsort(k, count, sizeof *k, by_key);
}

static int make_peaks(ds_memory *m, fn_problem *p, double seed, int zero)
{
    bbob *s = p->bbob;
    uint64_t n = s->n, most = n > PEAKS ? n : PEAKS;
    ds_memory scratch = {0};
    double condition[PEAKS];
    double *u = ds_memory_doubles(&scratch, most), *place = ds_memory_doubles(&scratch, PEAKS * n);
    keyed *order = ds_memory_take(&scratch, most, sizeof *order);
    s->peak = ds_memory_doubles(m, PEAKS * n);
    s->shape = ds_memory_doubles(m, PEAKS * n);
    int ok = !scratch.failed && !m->failed;
    if (ok) {
        permutation(seed, PEAKS - 1, u, order);
        condition[0] = sqrt(1000);
        s->height[0] = 10;
        for (uint64_t k = 1; k < PEAKS; k++) {
            condition[k] = pow(1000, part(order[k - 1].index, PEAKS - 1));
            s->height[k] = 1.1 + 8 * part(k - 1, PEAKS - 1);
        }
        for (uint64_t k = 0; k < PEAKS; k++) {
            permutation(seed + 1e3 * (double)k, n, u, order);
            for (uint64_t i = 0; i < n; i++) {
                s->shape[k * n + i] = pow(condition[k], part(order[i].index, n) - 0.5);
            }
        }
        bbob_uniform(seed, PEAKS * n, place);
        for (uint64_t k = 0; k < PEAKS; k++) {
            for (uint64_t i = 0; i < n; i++) {
                double x = 10 * place[k * n + i] - 5;
                place[k * n + i] = k > 0  ? x
                                   : zero ? 0
                                          : 0.8 * x; /* keeps the global peak away from the border */
            }
            times(n, place + k * n, s->rotation, s->peak + k * n);
        }
        memcpy(p->x_opt, place, n * sizeof(double));
    }
    ds_memory_free(&scratch);
    return ok;
}

int bbob_place(ds_memory *m, fn_problem *p, int zero, uint64_t instance)
{
    const recipe *r = find_recipe(p->def);
    bbob *s = p->bbob = ds_memory_take(m, 1, sizeof *s);
    double seed = r->seed + 1e4 * (double)instance;
    uint64_t n = p->n;
    if (!s) {
        return 0;
    }
    s->of = r;
    s->n = n;
    s->scale = r->core == &fn_rosenbrock ? fmax(1, sqrt((double)n) / 8) : 1;
    s->shift = r->core == &fn_rosenbrock ? 1 : 0;
    ds_memory_each(m, n,
                   (double **const[]){&s->a, &s->b, &s->c, &s->z, &s->bar, &s->diagonal, &s->weight, NULL});
    if (m->failed) {
        return 0;
    }
    for (uint64_t i = 0; i < n; i++) {
        s->diagonal[i] = pow(sqrt(r->condition), part(i, n));
        s->weight[i] = pow(r->weight, part(i, n));
    }
    if (zero) {
        memset(p->x_opt, 0, n * sizeof(double));
    } else {
        draw_optimum(p, seed, r->core == &fn_rosenbrock ? 0.75 : 1);
    }
    if (r->rotate) {
        s->rotation = ds_memory_doubles(m, n * n);
        if (!s->rotation || !bbob_rotation(r->def == &fn_bbob_f21 ? seed : seed + 1e6, n, s->rotation)) {
            return 0;
        }
    }
    if (r->turn && !make_linear(m, s, seed)) {
        return 0;
    }
    return r->def != &fn_bbob_f21 || make_peaks(m, p, seed, zero);
}
