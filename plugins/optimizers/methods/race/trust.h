/* SPDX-License-Identifier: Apache-2.0 */
/* trust.h - is the gradient of a loss worth following? What two gradients promise for the step between
 * their points, against what the loss did.
 *
 * By the trapezoidal rule l(a) - l(b) is (g_a + g_b) . (a - b) / 2, exactly where l is quadratic, however
 * long the step. So
 *
 *     doubt = mean of |l_a - l_b - promised| / (|l_a - l_b| + |promised|)      in [0, 1]
 *
 * is near 0 where gradients tell where the loss goes, above a half where they tell nothing, 1 where they
 * say the opposite or are 0 while the loss changes. Curvature alone raises no doubt; ripples shorter than a
 * step, jumps and noise do. Old steps count less and less.
 */
#ifndef DS_METHODS_TRUST_H
#define DS_METHODS_TRUST_H

#include <math.h>
#include <stddef.h>

typedef struct trust {
    double error, size; /* weighted sums: of the quotients, of 1 */
    int steps;          /* that they are made of */
} trust;

static inline void trust_clear(trust *t)
{
    *t = (trust){0.0, 0.0, 0};
}

/* A step from a to b (n values each) with losses l_a, l_b and gradients g_a, g_b; `kept` in [0, 1): share
 * of the old sums that is kept. Steps with a loss or gradient that is not finite say nothing. */
static inline void trust_step(trust *t, size_t n, double kept, const double *a, double l_a, const double *g_a,
                              const double *b, double l_b, const double *g_b)
{
    double promised = 0.0, fell = l_a - l_b;
    for (size_t k = 0; k < n; k++) {
        promised += 0.5 * (g_a[k] + g_b[k]) * (a[k] - b[k]);
    }
    double size = fabs(fell) + fabs(promised);
    if (!isfinite(size)) {
        return;
    }
    /* quotients, not sums, are averaged: a large step has no more say than a small one */
    t->error = kept * t->error + (size > 0.0 ? fabs(fell - promised) / size : 0.0);
    t->size = kept * t->size + 1.0;
    t->steps++;
}

/* 0 where nothing is known. */
static inline double trust_doubt(const trust *t)
{
    return t->size > 0.0 ? t->error / t->size : 0.0;
}

#endif
