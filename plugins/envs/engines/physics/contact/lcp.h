/* SPDX-License-Identifier: Apache-2.0 */
/* lcp.h - boxed linear complementarity problem of contact impulses.
 *
 * Find f, w with A f = b + w. A normal row has f >= 0, w >= 0, f w = 0. A friction row belongs to a normal
 * row n and has |f| <= mu f_n, with w = 0 inside the box, w <= 0 at its upper and w >= 0 at its lower end.
 */
#ifndef DS_ENGINES_LCP_H
#define DS_ENGINES_LCP_H

#include <stdint.h>

enum { DENSE_MAX = 16 };

/* x <- Q^-1 x, or Q^-T x if `transposed`, for up to DENSE_MAX equations; Q is n rows of DENSE_MAX numbers. A
 * matrix with a condition number above about 1e10 counts as singular: x is then the least-squares solution of
 * minimum norm. */
void dense_solve(int n, double Q[][DENSE_MAX], int transposed, double *x);

/* Class of a row in a solution; derivatives keep the classes fixed (Werling et al. 2021). */
enum {
    LCP_NOT_CLAMPING = 0, /* f = 0 */
    LCP_CLAMPING = 1,     /* w = 0 */
    LCP_UPPER = 2,        /* f = mu f_n */
    LCP_LOWER = 3         /* f = -mu f_n */
};

/* How a solution was found. */
enum { LCP_GUESS = 0, LCP_REFINED = 1, LCP_MIXED = 2, LCP_APPROXIMATE = 3 };

/* Added to the diagonal of a problem without solution (a body wedged in where restitution would push it
 * through another body): "constraint force mixing" of ODE and DART. */
extern const double lcp_mixing;

typedef struct lcp {
    int n;
    double A[DENSE_MAX][DENSE_MAX], b[DENSE_MAX];
    int normal[DENSE_MAX]; /* of a friction row: its normal row; -1 for a normal row */
    double mu[DENSE_MAX];  /* of a friction row */
} lcp;

/* Solves by active sets. Tries in turn: a first guess (rows that approach, friction sticking), the set found
 * by projected Gauss-Seidel, all sets of up to four contacts with friction or eight without; then the same
 * with mixing added to p->A (LCP_MIXED). If none satisfies the conditions, the result of Gauss-Seidel with
 * mixing is returned (LCP_APPROXIMATE). */
int lcp_solve(lcp *p, double *f, uint8_t *cls);

/* Impulses for given classes: w = 0 in the clamping rows. */
void lcp_solve_classes(const lcp *p, const uint8_t *cls, double *f);

#endif
