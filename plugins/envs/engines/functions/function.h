/* SPDX-License-Identifier: Apache-2.0 */
/* function.h - a test function, and one placed in its box. */
#ifndef DS_ENGINES_FUNCTION_H
#define DS_ENGINES_FUNCTION_H

#include <stdint.h>

typedef struct fn_problem fn_problem;

/* One function F(z). */
typedef struct fn_def {
    const char *name;
    uint64_t fixed_n; /* number of variables, 0: any */
    uint64_t min_n;   /* least number of variables */
    double lower[2];  /* usual box: entry 0 for the first variable, entry 1 for the others */
    double upper[2];
    double scale;     /* s: units of z per unit of x */
    double opt_share; /* random optima lie in this part of the box, around its middle */
    double z_opt;     /* every coordinate of the minimiser of F */
    double f_floor;   /* lower bound of F everywhere */
    /* F(z) and, if g is not NULL, its gradient. At a kink g is one subgradient (0 if 0 is one). */
    double (*eval)(const fn_problem *p, const double *z, double *g);
} fn_def;

/* A function placed in its box. */
struct fn_problem {
    const fn_def *def;
    uint64_t n;
    int transformed; /* 0: z is x */
    int rotated;
    double *x_opt;     /* n: minimiser in x (NULL for functions that cannot be moved) */
    double *weight;    /* n: weights of ellipsoid and griewank */
    double *reflector; /* rotation: n - 1 unit Householder vectors of lengths n, n-1, ..., 2 */
    double *bump;      /* plateau: centres, FN_BUMPS x n */
    double *z, *gz;    /* n each: scratch */
    struct bbob *bbob; /* BBOB suite: drawn data */
};

enum { FN_BUMPS = 7 };

/* textbook.c */
extern const fn_def fn_sphere, fn_ellipsoid, fn_cigar, fn_tablet, fn_sharp_ridge, fn_rosenbrock, fn_valley;
extern const fn_def fn_rastrigin, fn_ackley, fn_schaffer_f7, fn_griewank, fn_rugged, fn_plateau;
extern const fn_def fn_branin, fn_hartmann3, fn_hartmann6, fn_camel6;

#endif
