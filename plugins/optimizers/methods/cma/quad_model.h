/* SPDX-License-Identifier: Apache-2.0 */
/* quad_model.h - a full quadratic through the best points of a search without gradients, and its minimiser.
 *
 * The meta-model of Nevergrad's NGOpt (J. Rapin, O. Teytaud, 2018, github.com/facebookresearch/nevergrad): as
 * many of the best points as a quadratic in n variables has coefficients, k = (n + 1)(n + 2)/2, determine one
 * by least squares. On a smooth loss it finds the curvature that a covariance matrix needs several times as
 * many points to learn.
 *
 *     quad_model_add(q, x, loss);      each point that was simulated
 *     if (quad_model_propose(q, evaluations, x)) {
 *         simulate x
 *     }
 *
 * Deterministic; equal losses keep the order in which they were added. */
#ifndef DS_METHODS_QUAD_MODEL_H
#define DS_METHODS_QUAD_MODEL_H

#include <diffsim/helper/memory.h>
#include <stddef.h>
#include <stdint.h>

/* Most variables: a fit costs n^6 / 6 operations, a tenth of a second at 40. */
enum { QUAD_MODEL_MAX_N = 40 };

typedef struct quad_model {
    size_t n, points, count; /* points: k, kept at most; count: kept */
    double *x, *loss;        /* points x n; points */
    size_t worst;            /* row of the greatest loss */
    uint64_t fits;           /* quadratics made so far */
    uint64_t due;            /* evaluations from which the next one is worth its time */

    /* Private. */
    double *rows, *rhs, *z, *hessian, *value, *slope, *step, *mean, *work, *eigen;
    int lwork, *iwork;
    ds_memory memory;
} quad_model;

/* For n <= QUAD_MODEL_MAX_N variables; 0 without memory. quad_model_free() releases also what a failed call
 * left. */
int quad_model_init(quad_model *q, size_t n);
void quad_model_free(quad_model *q);

/* Forgets all points. */
void quad_model_clear(quad_model *q);

/* A point (n values) that was simulated; one whose loss is not finite is left out. */
void quad_model_add(quad_model *q, const double *x, double loss);

/* Whether the model expects less than the best loss somewhere within the distance of the worst point from
 * the best one, around the best; sets x (n values) to where it expects least. 0 as long as points are
 * missing, and where they determine no quadratic. */
int quad_model_minimum(quad_model *q, double *x);

/* The same, but only once in max(13, 0.9 k) evaluations of the search alone (`evaluations` so far): between
 * them the points hardly change, and where the last fit predicted no gain the next would not either. */
int quad_model_propose(quad_model *q, uint64_t evaluations, double *x);

#endif
