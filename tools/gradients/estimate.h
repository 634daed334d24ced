/* SPDX-License-Identifier: Apache-2.0 */
/* estimate.h - gradients of a smoothed loss F(x) = E_w f(x + w), w ~ N(0, sigma^2 I), from samples: moments
 * of single estimates, how the two orders are mixed, and what rare large samples do to a variance.
 *
 * Single estimates z_i are grad f(x + w_i) (first order) or (f(x + w_i) - f(x)) w_i / sigma^2 (zeroth order).
 * Source: H. J. T. Suh, M. Simchowitz, K. Zhang, R. Tedrake, "Do differentiable simulators give better policy
 * gradients?", ICML 2022, sections 2 to 4. Nothing here knows of environments. Pure functions; callable from
 * any thread.
 */
#ifndef DS_GRADIENTS_ESTIMATE_H
#define DS_GRADIENTS_ESTIMATE_H

#include <stdint.h>

/* Mean and scatter of estimates of n numbers, one after the other (B. P. Welford, Technometrics 4, 1962). An
 * estimate may be the mean of several samples, of an antithetic pair. */
typedef struct ds_moments {
    uint64_t n, count; /* numbers of one estimate; estimates so far */
    uint64_t samples;  /* in them */
    double *mean;      /* n values; belongs to the caller, as does m2 */
    double *m2;        /* n values: sums of squared distances from the mean */
} ds_moments;

/* Begins with no estimates; `room` has 2 n values. */
void ds_moments_begin(ds_moments *m, uint64_t n, double *room);
/* Adds the estimate z (n values), which is the mean of so many samples. */
void ds_moments_add(ds_moments *m, const double *z, uint64_t samples);

/* The empirical variance of one sample, 1/(N-1) sum |z_i - mean|^2: the trace of the sample covariance. Of
 * means of pairs the variance of a sample that would give the mean the same error. NAN for fewer than two
 * estimates. Variable k alone: the same of component k. */
double ds_moments_variance(const ds_moments *m);
double ds_moments_variance_of(const ds_moments *m, uint64_t k);

/* How alpha is chosen. */
enum {
    DS_ALPHA_BIAS =
        0, /* inverse variances, as long as the difference that the first order may make stays below gamma */
    DS_ALPHA_IVW = 1 /* inverse variances alone */
};

/* What became of it: the zeroth order is too uncertain (alpha = 0); alpha of the variances; alpha limited
 * by gamma. */
enum { DS_ALPHA_UNCERTAIN = 0, DS_ALPHA_INSIDE = 1, DS_ALPHA_HIT = 2, DS_ALPHA_CASES = 3 };
extern const char *const ds_alpha_case_names[DS_ALPHA_CASES];

/* Constants of the mixture. */
typedef struct ds_alpha_rule {
    int rule;
    double gamma; /* error of the gradient that is allowed, in its unit; INFINITY = any */
    /* a bound that is believed of the length of one zeroth-order sample, in the gradient's unit */
    double largest;
    double chance; /* that the bound of the error of the zeroth order is wrong: above 0 */
    double fixed;  /* alpha itself, 0..1; negative = by the rule */
} ds_alpha_rule;

typedef struct ds_alpha {
    double alpha; /* weight of the first order, 0..1 */
    double eps;   /* bound of the error of the zeroth order (Bernstein's inequality for vectors) */
    int which;    /* DS_ALPHA_* case */
} ds_alpha;

/* The weight for empirical variances of one sample, `distance` = B = |g1 - g0|, n variables and N
 * zeroth-order samples:
 *
 *     eps = sqrt(2 variance0 ln((n+1)/chance) / N) + 2 largest / (3 N) ln((n+1)/chance)
 *     alpha = variance0 / (variance0 + variance1 + 1e-5)     where alpha B <= gamma - eps,
 *             (gamma - eps) / B                              where not, 0 where eps > gamma
 *
 * A variance that is NAN (no such estimate) gives the other order all the weight, both 0. */
ds_alpha ds_alpha_choose(const ds_alpha_rule *rule, double variance1, double variance0, double distance,
                         uint64_t n, uint64_t N);

/* |a - b| of n numbers, without overflow. */
double ds_distance(const double *a, const double *b, uint64_t n);

/* Empirical bias: the share 1 - beta of the samples that lie together has another mean than all of them,
 * though it scatters little; then the variance of one sample is at least bound = max(0, (1-beta) delta - beta
 * |E z|)^2 / beta, however small it looks as long as no sample of the rest was seen. */
typedef struct ds_empirical_bias {
    double beta;   /* what was found to be outside: at most what was asked for */
    double delta;  /* |E[z | event] - E z| */
    double radius; /* largest |z - E[z | event]| within the event: S */
    double bound;  /* of the variance */
} ds_empirical_bias;

/* Of `count` samples z (count x n): the event is the share 1 - beta that lies nearest to the median of each
 * component. `mean`: E z, or the best that is known of it. All NAN where there is no such event. -1 without
 * memory, else 0. */
int ds_empirical_bias_of(const double *z, uint64_t count, uint64_t n, const double *mean, double beta,
                         ds_empirical_bias *out);

#endif
