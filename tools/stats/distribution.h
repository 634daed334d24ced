/* SPDX-License-Identifier: Apache-2.0 */
/* distribution.h - the normal and Student's t distribution, as far as intervals and tests need them. */
#ifndef DS_STATS_DISTRIBUTION_H
#define DS_STATS_DISTRIBUTION_H

/* P(Z <= z) for a standard normal Z. */
double ds_normal_cdf(double z);

/* Its inverse, 0 < p < 1; -INFINITY and INFINITY at the ends, NaN outside. */
double ds_normal_quantile(double p);

/* P(T <= t) of Student's t with `df` > 0 degrees of freedom. */
double ds_student_cdf(double t, double df);

/* Its inverse, as above. */
double ds_student_quantile(double p, double df);

/* The regularized incomplete beta function I_x(a, b); a, b > 0, 0 <= x <= 1. */
double ds_beta_regular(double a, double b, double x);

#endif
