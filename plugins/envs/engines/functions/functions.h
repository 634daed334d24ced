/* SPDX-License-Identifier: Apache-2.0 */
/* functions.h - test functions for global optimization with known optimum and exact gradient,
 * each placed in its box by a seeded shift and rotation: f(x) = F(z), z = s Q (x - x_opt) + z_opt. */
#ifndef FUNCTIONS_H
#define FUNCTIONS_H

#include <stdint.h>

/* Where the optimum lies. */
enum {
    FN_OPTIMUM_RANDOM = 0,  /* uniform in the middle part of the box, drawn from the instance number */
    FN_OPTIMUM_ORIGIN = 1,  /* at x = 0 */
    FN_OPTIMUM_TEXTBOOK = 2 /* where the literature has it: no shift at all */
};

typedef struct fn_problem fn_problem;

/* One function F(z). */
typedef struct fn_def {
    const char *name;
    uint64_t fixed_n; /* number of variables, 0 = any */
    uint64_t min_n;   /* least number of variables */
    double lower[2];  /* usual box; entry 1 is that of the variables after the first */
    double upper[2];
    double scale;     /* s: units of z per unit of x */
    double opt_share; /* random optima lie in this share of the box, around its middle */
    double z_opt;     /* every coordinate of the minimiser of F */
    double f_floor;   /* lower bound of F everywhere */
    /* F(z) and, where g is not NULL, its gradient. At a kink, g is one subgradient (0 where 0 is one). */
    double (*eval)(const fn_problem *p, const double *z, double *g);
} fn_def;

/* A function in its place. */
struct fn_problem {
    const fn_def *def;
    uint64_t n;
    int transformed; /* 0 = z is x */
    int rotated;
    double *x_opt;     /* n: minimiser in x (NULL for functions that cannot be moved) */
    double *weight;    /* n: weights of ellipsoid and griewank */
    double *reflector; /* rotation: n - 1 unit Householder vectors of lengths n, n-1, ..., 2 */
    double *bump;      /* plateau: centres, FN_BUMPS x n */
    double *z, *gz;    /* n each: scratch */
    struct bbob *bbob; /* functions of the BBOB suite: what was drawn for them */
};

enum { FN_BUMPS = 7 };

/* NULL-terminated names, in the order of fn_table. */
extern const char *const fn_names[];
extern const fn_def *const fn_table[];

/* Places function `def` with n variables in the box. `instance` selects rotation, shift and bumps. The caller
 * has checked n and, for functions with fixed_n (they cannot be moved) or of the BBOB suite (they have
 * rotations of their own), that no rotation is asked for. Returns NULL where memory is short. */
fn_problem *fn_create(const fn_def *def, uint64_t n, const double *lower, const double *upper, int optimum,
                      int rotate, uint64_t instance);
void fn_destroy(fn_problem *p);

/* f(x), and its gradient into g[n] where g is not NULL. Uses the scratch of p. */
double fn_eval(fn_problem *p, const double *x, double *g);

/* The point z of x (in the scratch of p, or x itself), a direction in x as one in z, and the gradient with
 * respect to z that lies in p->gz as one with respect to x. Not for functions of the BBOB suite. */
const double *fn_to_z(fn_problem *p, const double *x);
void fn_direction_to_z(const fn_problem *p, const double *v, double *out);
void fn_gradient_to_x(fn_problem *p, double *g);

/* smooth.c */
extern const fn_def fn_sphere, fn_ellipsoid, fn_cigar, fn_tablet, fn_sharp_ridge, fn_rosenbrock, fn_valley;
/* rugged.c */
extern const fn_def fn_rastrigin, fn_ackley, fn_schaffer_f7, fn_griewank, fn_rugged, fn_plateau;
/* classic.c */
extern const fn_def fn_branin, fn_hartmann3, fn_hartmann6, fn_camel6;

#endif
