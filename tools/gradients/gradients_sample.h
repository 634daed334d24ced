/* SPDX-License-Identifier: Apache-2.0 */
/* gradients_sample.h - samples around a point: drawn from a named stream, evaluated by the pool, and taken
 * together as moments of the estimates of both orders. The same for every number of workers, as answers
 * arrive in the order of the rows.
 */
#ifndef DS_GRADIENTS_GRADIENTS_SAMPLE_H
#define DS_GRADIENTS_GRADIENTS_SAMPLE_H

#include "evaluate/pool.h"
#include "gradients/estimate.h"

/* Which orders a set of samples serves. */
enum { DS_ORDER_FIRST = 1, DS_ORDER_ZEROTH = 2 };

enum { DS_SAMPLE_MESSAGE = 200 };

/* How samples are made around one point. Gradients are in the unit of the scaled variables x[k] / scale[k],
 * in which the noise has standard deviation sigma in every direction. */
typedef struct ds_sampler {
    ds_pool *pool;
    const ds_pool_env *env;
    uint64_t seed;
    const double *x, *scale; /* n values each */
    double sigma;
    double center; /* f(x); NAN = none */
    int actions;   /* the environment puts the noise on the actions of a policy */
    int antithetic;
    int baseline; /* DS_BASELINE_* */
    /* A control variate of the zeroth order, n values or NULL: with any fixed g, (f(x + w) - f(x) - g . w) w
     * / sigma^2 + g has the same mean, and scatters less the nearer g is to the gradient. Not with noise
     * on actions. */
    const double *tilt;
} ds_sampler;

/* A set of samples. The caller provides the places; those of an order that is not wanted may be NULL. */
typedef struct ds_sample_set {
    const char *stream; /* name and index of the random numbers */
    uint64_t index;
    uint64_t count;        /* wanted; rounded up to pairs */
    int orders;            /* DS_ORDER_* */
    double *room1, *room0; /* 2 n values each, for the moments */
    double *keep;          /* the first `keep_rows` samples of the first order (keep_rows x n); or NULL */
    uint64_t keep_rows;

    /* out */
    ds_moments first, zeroth, loss;
    double loss_room[2];
    uint64_t kept;    /* rows of `keep` */
    uint64_t failed;  /* samples without a loss, or without a gradient that was wanted */
    uint64_t clamped; /* samples that were moved back into the box */
    uint64_t evaluations;
    char message[DS_SAMPLE_MESSAGE]; /* why the first one failed */
} ds_sample_set;

/* Draws and evaluates. 0, an exit status, or DS_POOL_STOPPED. */
int ds_sample(const ds_sampler *s, ds_sample_set *set, ds_error *e);

/* f(x) itself, without noise; NAN where the evaluation fails, with the reason in `message`, else "". */
int ds_sample_center(const ds_sampler *s, double *loss, char message[DS_SAMPLE_MESSAGE], ds_error *e);

#endif
