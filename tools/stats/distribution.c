/* SPDX-License-Identifier: Apache-2.0 */
/* distribution.c - normal and Student's t: distribution functions and their inverses (see distribution.h). */
#include "config.h"

#include "stats/distribution.h"

#include <float.h>
#include <math.h>

static const double root_half = 0.70710678118654752440;
static const double root_two_pi = 2.50662827463100050242;

double ds_normal_cdf(double z)
{
    return 0.5 * erfc(-z * root_half);
}

double ds_normal_quantile(double p)
{
    if (!(p >= 0 && p <= 1)) {
        return NAN;
    }
    if (p == 0 || p == 1) {
        return p == 0 ? -(double)INFINITY : (double)INFINITY;
    }
    /* Abramowitz and Stegun 26.2.23 for the smaller tail, off by at most 4.5e-4; then Halley's method, which
     * triples the digits. */
    const int left = p < 0.5;
    const double tail = left ? p : 1 - p, t = sqrt(-2 * log(tail));
    double z =
        (2.515517 + t * (0.802853 + t * 0.010328)) / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308))) - t;
    for (int i = 0; i < 3; i++) {
        double e = (ds_normal_cdf(z) - tail) * root_two_pi * exp(0.5 * z * z);
        z -= e / (1 + 0.5 * z * e);
    }
    return left ? z : -z;
}

/* Continued fraction of I_x(a, b) (Abramowitz and Stegun 26.5.8) by the method of Lentz. Converges fast for
 * x < (a + 1) / (a + b + 2). */
static double beta_fraction(double a, double b, double x)
{
    const double smallest = 1e-300;
    double c = 1, d = 1 - (a + b) * x / (a + 1);
    d = 1 / (fabs(d) < smallest ? smallest : d);
    double h = d;
    for (int m = 1; m < 10000; m++) {
        for (int odd = 0; odd < 2; odd++) {
            double k = odd ? -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
                           : m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
            d = 1 + k * d;
            c = 1 + k / c;
            d = 1 / (fabs(d) < smallest ? smallest : d);
            c = fabs(c) < smallest ? smallest : c;
            h *= c * d;
        }
        if (fabs(c * d - 1) < DBL_EPSILON) {
            break;
        }
    }
    return h;
}

double ds_beta_regular(double a, double b, double x)
{
    if (x <= 0 || x >= 1) {
        return x <= 0 ? 0 : 1;
    }
    const double front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
    return x < (a + 1) / (a + b + 2) ? front * beta_fraction(a, b, x) / a
                                     : 1 - front * beta_fraction(b, a, 1 - x) / b;
}

/* P(T <= -t), t >= 0, without cancellation in the tail. */
static double student_tail(double t, double df)
{
    return 0.5 * ds_beta_regular(0.5 * df, 0.5, df / (df + t * t));
}

double ds_student_cdf(double t, double df)
{
    return t < 0 ? student_tail(-t, df) : 1 - student_tail(t, df);
}

double ds_student_quantile(double p, double df)
{
    if (!(p >= 0 && p <= 1) || p == 0 || p == 1) {
        return ds_normal_quantile(p);
    }
    const double tail = p < 0.5 ? p : 1 - p;
    double low = 0, high = 1; /* tail probability above and below the one wanted */
    while (student_tail(high, df) > tail) {
        low = high;
        high *= 2;
    }
    for (int i = 0; i < 200 && high - low > DBL_EPSILON * high; i++) {
        double middle = 0.5 * (low + high);
        *(student_tail(middle, df) > tail ? &low : &high) = middle;
    }
    return p < 0.5 ? -0.5 * (low + high) : 0.5 * (low + high);
}
