/* SPDX-License-Identifier: Apache-2.0 */
/* dense.h - square systems of up to 16 equations, also singular ones (least squares, minimum norm). */
#ifndef DS_ENGINES_DENSE_H
#define DS_ENGINES_DENSE_H

enum { DENSE_MAX = 16 };

/* x <- Q^-1 x, or Q^-T x where `transposed`. A matrix with a condition number above about 1e10 counts as
 * singular: x is then the least-squares solution of minimum norm. Q is n rows of DENSE_MAX numbers and
 * is not changed. */
void dense_solve(int n, double Q[][DENSE_MAX], int transposed, double *x);

#endif
