/* SPDX-License-Identifier: Apache-2.0 */
/* estimate.c - see estimate.h. */
#include "config.h"

#include "gradients/estimate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stats/sample.h"

/* Keeps the weights defined where both variances are 0; the value is that of the authors' program. */
#define SMALL_VARIANCE 1e-5

const char *const ds_alpha_case_names[DS_ALPHA_CASES] = {"uncertain", "inside", "hit"};

void ds_moments_begin(ds_moments *m, uint64_t n, double *room)
{
    *m = (ds_moments){.n = n, .mean = room, .m2 = room + n};
    memset(room, 0, 2 * n * sizeof *room);
}

void ds_moments_add(ds_moments *m, const double *z, uint64_t samples)
{
    m->count++;
    m->samples += samples;
    for (uint64_t k = 0; k < m->n; k++) {
        double d = z[k] - m->mean[k];
        m->mean[k] += d / (double)m->count;
        m->m2[k] += d * (z[k] - m->mean[k]);
    }
}

double ds_moments_variance_of(const ds_moments *m, uint64_t k)
{
    double each = m->count > 0 ? (double)m->samples / (double)m->count : 1.0;
    return m->count < 2 ? (double)NAN : each * m->m2[k] / (double)(m->count - 1);
}

double ds_moments_variance(const ds_moments *m)
{
    double sum = m->count < 2 ? (double)NAN : 0.0;
    for (uint64_t k = 0; k < m->n; k++) {
        sum += ds_moments_variance_of(m, k);
    }
    return sum;
}

double ds_distance(const double *a, const double *b, uint64_t n)
{
    double largest = 0, sum = 0;
    for (uint64_t k = 0; k < n; k++) {
        largest = fmax(largest, fabs(a[k] - b[k]));
    }
    for (uint64_t k = 0; k < n && largest > 0; k++) {
        double d = (a[k] - b[k]) / largest;
        sum += d * d;
    }
    return largest * sqrt(sum);
}

ds_alpha ds_alpha_choose(const ds_alpha_rule *rule, double variance1, double variance0, double distance,
                         uint64_t n, uint64_t N)
{
    double words = log(((double)n + 1.0) / rule->chance), count = (double)N;
    ds_alpha a = {.eps = sqrt(2.0 * variance0 * words / count) + 2.0 * rule->largest / (3.0 * count) * words,
                  .which = DS_ALPHA_INSIDE};
    a.alpha = isnan(variance1)   ? 0.0
              : isnan(variance0) ? 1.0
                                 : variance0 / (variance0 + variance1 + SMALL_VARIANCE);
    if (rule->fixed >= 0.0) {
        a.alpha = isnan(variance1) ? 0.0 : isnan(variance0) ? 1.0 : rule->fixed;
    } else if (rule->rule == DS_ALPHA_BIAS && !isnan(variance0)) {
        if (a.eps > rule->gamma) {
            a.alpha = 0.0;
            a.which = DS_ALPHA_UNCERTAIN;
        } else if (a.alpha * distance > rule->gamma - a.eps) {
            a.alpha = (rule->gamma - a.eps) / distance;
            a.which = DS_ALPHA_HIT;
        }
    }
    return a;
}

/* ---- empirical bias ---- */

/* The median of every component. `column`: count values. */
static void medians(const double *z, uint64_t count, uint64_t n, double *column, double *out)
{
    for (uint64_t k = 0; k < n; k++) {
        for (uint64_t i = 0; i < count; i++) {
            column[i] = z[i * n + k];
        }
        ds_sample_sort(column, count);
        out[k] = ds_sorted_quantile(column, count, 0.5);
    }
}

int ds_empirical_bias_of(const double *z, uint64_t count, uint64_t n, const double *mean, double beta,
                         ds_empirical_bias *out)
{
    *out = (ds_empirical_bias){NAN, NAN, NAN, NAN};
    uint64_t outside = (uint64_t)(beta * (double)count), inside = count - outside, taken = 0;
    if (outside == 0 || inside == 0) {
        return 0;
    }
    double *room = malloc((2 * count + 2 * n) * sizeof *room);
    if (room == NULL) {
        return -1;
    }
    double *distance = room, *sorted = room + count, *centre = sorted + count, *zero = centre + n;
    medians(z, count, n, sorted, centre);
    for (uint64_t i = 0; i < count; i++) {
        sorted[i] = distance[i] = ds_distance(z + i * n, centre, n);
    }
    ds_sample_sort(sorted, count);
    double limit = sorted[inside - 1]; /* equal distances are all inside: beta gets smaller */
    memset(centre, 0, n * sizeof *centre);
    memset(zero, 0, n * sizeof *zero);
    for (uint64_t i = 0; i < count; i++) {
        if (distance[i] > limit) {
            continue;
        }
        taken++;
        for (uint64_t k = 0; k < n; k++) {
            centre[k] += (z[i * n + k] - centre[k]) / (double)taken;
        }
    }
    if (taken == count) { /* the farthest samples are all as far as those of the event */
        free(room);
        return 0;
    }
    out->beta = 1.0 - (double)taken / (double)count;
    out->delta = ds_distance(centre, mean, n);
    out->radius = 0;
    for (uint64_t i = 0; i < count; i++) {
        out->radius =
            distance[i] > limit ? out->radius : fmax(out->radius, ds_distance(z + i * n, centre, n));
    }
    double shift = fmax(0.0, (1.0 - out->beta) * out->delta - out->beta * ds_distance(mean, zero, n));
    out->bound = shift * shift / out->beta;
    free(room);
    return 0;
}
