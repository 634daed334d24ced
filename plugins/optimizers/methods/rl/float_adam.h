/* SPDX-License-Identifier: Apache-2.0 */
/* float_adam.h - Adam for the weights of networks, and the averages of weights that target networks are.
 *
 *     m = b1 m + (1 - b1) g,   v = b2 v + (1 - b2) g^2
 *     w = w - lr / (1 - b1^t) m / (sqrt(v / (1 - b2^t)) + eps),     b1 = 0.9, b2 = 0.999 unless set
 *
 * Source: D. Kingma, J. Ba, "Adam: a method for stochastic optimization", ICLR 2015.
 */
#ifndef DS_METHODS_FLOAT_ADAM_H
#define DS_METHODS_FLOAT_ADAM_H

#include <stddef.h>
#include <stdint.h>

typedef struct float_adam {
    size_t count;
    double eps;
    double beta1, beta2; /* 0.9, 0.999 by float_adam_init() */
    int64_t steps;
    float *m, *v;
} float_adam;

/* 0 without memory. */
int float_adam_init(float_adam *a, size_t count, double eps);
void float_adam_free(float_adam *a);

/* One step against the gradient g times `scale`. */
void float_adam_step(float_adam *a, double lr, double scale, const float *g, float *w);

/* target += tau (w - target) */
void float_average(size_t count, double tau, const float *w, float *target);

/* Euclidean norm, summed in double: from the first to the last; and in sixteen parts, which is many times
 * as fast. */
double float_norm(size_t count, const float *g);
double float_length(size_t count, const float *g);

#endif
