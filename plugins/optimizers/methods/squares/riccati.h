/* SPDX-License-Identifier: Apache-2.0 */
/* riccati.h - the backward pass of iLQR: the best change of the controls of an episode by its linear model,
 *
 *     minimise   sum over t < T of  c_t'z + z'H_t z/2, z = (dx_t, dv_t),  + the same of dx_T
 *     subject to dx_(t+1) = A_t dx_t + B_t dv_t,  dx_0 = 0,  -1 <= v_t + dv_t <= 1
 *
 * as a feedback law dv_t = alpha k_t + K_t dx_t. W. Li, E. Todorov, "Iterative linear quadratic regulator
 * design for nonlinear biological movement systems" (ICINCO 2004); bounds as in Y. Tassa, N. Mansard, E.
 * Todorov, "Control-limited differential dynamic programming" (ICRA 2014): each step obeys its own. */
#ifndef DS_METHODS_RICCATI_H
#define DS_METHODS_RICCATI_H

#include <stddef.h>

/* The model of an episode of T steps with states of n and controls of m numbers, row by row. */
typedef struct riccati_model {
    size_t T, n, m;
    const double *A, *B; /* T x n x n, T x n x m */
    const double *c,
        *H;          /* (T + 1) x (n + m): gradient of the cost, and its second derivatives, a diagonal; */
    int full;        /* not 0: H is (T + 1) x (n + m) x (n + m) */
    const double *v; /* T x m: present controls in [-1, 1] */
} riccati_model;

/* Doubles that riccati_back() needs for sizes n and m. */
size_t riccati_room(size_t n, size_t m);

/* The mean second derivative of the cost by a control that the following controls do not answer: 0 where
 * every control has a cost of its own, and so a scale. `room` as for riccati_back(). */
double riccati_scale(const riccati_model *model, double *room);

/* Writes k (T x m), K (T x m x n) and the decrease of the cost that the model predicts: of alpha it is
 * alpha slope - alpha^2 bend. mu >= 0 is added to the second derivatives by the controls, in units of
 * `scale` or, where that is 0, of their mean over a step at mu = 0. Returns 0 where they are not positive: mu
 * must be larger. */
int riccati_back(const riccati_model *model, double mu, double scale, double *k, double *K, double *slope,
                 double *bend, double *room);

#endif
