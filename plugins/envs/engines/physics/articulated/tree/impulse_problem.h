/* SPDX-License-Identifier: Apache-2.0 */
/* impulse_problem.h - the complementarity problem of contact impulses with friction, for many contacts.
 *
 * Contact k has the rows 3 k (normal), 3 k + 1 and 3 k + 2 (tangents). Find f and w = A f - b with
 *     normal   f >= 0, w >= 0, f w = 0
 *     tangent  |f| <= mu f_n; w = 0 inside, w <= 0 at the upper end, w >= 0 at the lower one
 * (a pyramid of friction: Werling et al., RSS 2021). A is symmetric and, with what the caller adds to its
 * diagonal, positive definite: contacts may be redundant, as the four corners of a box on the ground.
 *
 * The solution is that of a linear system, given the class of each row. Classes are found by changing those
 * that break their conditions until none does; where that runs in a circle, projected Gauss-Seidel proposes
 * others. Derivatives keep the classes. */
#ifndef DS_ENGINES_ARTICULATED_IMPULSE_PROBLEM_H
#define DS_ENGINES_ARTICULATED_IMPULSE_PROBLEM_H

#include <diffsim/helper/memory.h>

enum { IMPULSE_OFF, IMPULSE_CLAMPING, IMPULSE_UPPER, IMPULSE_LOWER }; /* f = 0; w = 0; f = mu f_n, -mu f_n */

typedef struct impulse_problem {
    int most, contacts;   /* room; present number */
    double *A, *b;        /* rows x rows, rows */
    double *mu;           /* of the contacts */
    unsigned char *still; /* of the rows: 1 = f is 0; of a normal row: f of the whole contact */
    double *f, *z;        /* solution; free for the caller */
    unsigned char *cls;   /* its classes */
    int met;              /* 1: the solution satisfies every condition */
    /* The system of the clamping rows and its factors. */
    int clamping, *row, *pivot;
    double *factor, *x;
    unsigned char *next, *best;
} impulse_problem;

/* Room for `most` contacts; NULL without memory. */
impulse_problem *impulse_problem_create(ds_memory *m, int most);

/* Solves; where no classes satisfy all conditions (`met` = 0), takes those that come nearest. */
void impulse_problem_solve(impulse_problem *p);

/* x[rows] = solution of the system of the clamping rows, or of its transpose, for the right side x; 0 in
 * other rows. */
void impulse_problem_linear(const impulse_problem *p, int transposed, double *x);

/* Tangential / normal impulse of row i: mu, -mu, or 0 where it does not slide. */
double impulse_problem_slope(const impulse_problem *p, int i);

#endif
