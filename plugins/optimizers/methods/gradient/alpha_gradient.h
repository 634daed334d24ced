/* SPDX-License-Identifier: Apache-2.0 */
/* alpha_gradient.h - the gradient of a smoothed loss F(x) = E f(x + w), w ~ N(0, s^2 I), as a mixture of two
 * estimates (H. Suh, M. Simchowitz, K. Zhang, R. Tedrake, "Do differentiable simulators
 * give better policy gradients?", ICML 2022, arXiv:2202.00817):
 *
 *     first order   g1 = mean of grad f(x + w_i)                 small variance, wrong where f jumps
 *     zeroth order  g0 = mean of (f(x + w_i) - b) w_i / s^2      right for every f, variance grows with n
 *     g = alpha g1 + (1 - alpha) g0
 */
#ifndef DS_METHODS_ALPHA_GRADIENT_H
#define DS_METHODS_ALPHA_GRADIENT_H

#include <stddef.h>
#include <stdint.h>

enum {
    ALPHA_IVW, /* inverse-variance weights: alpha = V0 / (V0 + V1), with the variances of g0 and g1 */
    ALPHA_BIAS /* the same, but the difference that g1 may make is limited to gamma; see the source */
};

/* How alpha was chosen: g0 too uncertain to judge (alpha = 0), from the variances, or limited by gamma. */
enum { ALPHA_UNCERTAIN, ALPHA_INSIDE, ALPHA_HIT };

typedef struct alpha_rule {
    int rule;
    double s;             /* standard deviation of w */
    int antithetic;       /* samples i and i + count / 2 are a pair w, -w */
    size_t block;         /* variables that share one alpha; 0 = all */
    double gamma, chance; /* ALPHA_BIAS: tolerated bias, chance that it is exceeded */
    double largest;       /* ALPHA_BIAS: bound of one sample of g0 in Bernstein's inequality */
    double small; /* added to the sum of the variances of single samples: 1e-5 in the authors' program */
    double fixed; /* alpha itself; negative = by the rule */
} alpha_rule;

/* One set of samples: `count` displacements w (count x n), losses (INFINITY = failed), gradients (count x n;
 * NULL = none) and outcomes DS_EVAL_*; base = b, or NAN: each sample takes the mean of the others. */
typedef struct alpha_samples {
    size_t n, count;
    const double *w, *loss, *gradient;
    const uint32_t *outcome;
    double base;
} alpha_samples;

/* How the mixture came about: means over the blocks but for v0, v1 (sums: empirical variances of
 * one sample). */
typedef struct alpha_report {
    double alpha, v0, v1, distance, eps;
    int which; /* ALPHA_*, of the last block */
} alpha_report;

/* Writes g (n values) and, where not NULL, the report. `zeroth` are the samples of g0, `first`, which may be
 * the same set, those of g1; NULL = no such order. work: (count0 + count1 + 1) n values. 0 where fewer than
 * two samples succeeded, or there is no usable order. */
int alpha_gradient(const alpha_rule *rule, const alpha_samples *first, const alpha_samples *zeroth,
                   double *work, double *g, alpha_report *report);

#endif
