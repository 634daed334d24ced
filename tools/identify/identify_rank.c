/* SPDX-License-Identifier: Apache-2.0 */
/* identify_rank.c - how many directions of the parameters the residuals determine; the others in words. */
#include "config.h"

#include "identify/identify.h"

#include "stats/singular.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double least = 1e-7, shown = 0.15;

/* ---- rank ---- */

static double wide_of(const ds_identify_problem *p, size_t i)
{
    return p->upper[i] - p->lower[i];
}

void ds_identify_determined_clear(ds_identify_determined *d)
{
    free(d->value);
    free(d->known);
    *d = (ds_identify_determined){0};
}

static int allocate(ds_identify_determined *d, size_t n)
{
    *d = (ds_identify_determined){.n = n};
    d->value = calloc(n + 2 * n * n, sizeof *d->value);
    d->known = calloc(n, sizeof *d->known);
    d->vector = d->value != NULL ? d->value + n : NULL;
    d->covariance = d->value != NULL ? d->vector + n * n : NULL;
    return d->value != NULL && d->known != NULL;
}

static uint64_t count_rows(const double *r, const double *j, uint64_t m, size_t n)
{
    uint64_t rows = 0;
    for (uint64_t k = 0; k < m; k++) {
        int counts = r != NULL && fabs(r[k]) > 0;
        for (size_t i = 0; !counts && i < n; i++) {
            counts = fabs(j[i * m + k]) > 0;
        }
        rows += (uint64_t)counts;
    }
    return rows;
}

/* From J (m x n, by columns; destroyed): singular values, rank, covariance. */
static void decompose(const ds_identify_problem *p, double *j, double *v, ds_identify_determined *d)
{
    const size_t n = p->n;
    for (size_t i = 0; i < n; i++) {
        for (uint64_t k = 0; k < p->m; k++) {
            j[i * p->m + k] *= wide_of(p, i);
        }
    }
    ds_singular_rotate(j, v, p->m, n);
    for (size_t k = 0; k < n; k++) {
        double sum = 0;
        for (uint64_t i = 0; i < p->m; i++) {
            sum += j[k * p->m + i] * j[k * p->m + i];
        }
        size_t at = k;
        const double s = sqrt(sum);
        while (at > 0 && d->value[at - 1] < s) {
            d->value[at] = d->value[at - 1];
            memcpy(d->vector + at * n, d->vector + (at - 1) * n, n * sizeof *v);
            at--;
        }
        d->value[at] = s;
        memcpy(d->vector + at * n, v + k * n, n * sizeof *v);
    }
    while (d->rank < n && d->value[d->rank] > least * d->value[0]) {
        d->rank++;
    }
    d->condition = d->rank == n ? pow(d->value[0] / d->value[n - 1], 2) : (double)INFINITY;
    for (size_t i = 0; i < n; i++) {
        d->known[i] = d->rank > 0;
        for (size_t k = d->rank; k < n; k++) {
            d->known[i] &= fabs(d->vector[k * n + i]) < 1e-3;
        }
        for (size_t l = 0; l < n; l++) {
            for (size_t k = 0; k < d->rank; k++) {
                d->covariance[i * n + l] += d->vector[k * n + i] * d->vector[k * n + l] /
                                            (d->value[k] * d->value[k]) * wide_of(p, i) * wide_of(p, l);
            }
        }
    }
}

int ds_identify_decompose(const ds_identify_problem *p, const double *residual, const double *j,
                          ds_identify_determined *out, ds_error *e)
{
    const size_t size = p->m * p->n;
    double *copy = malloc((size + p->n * p->n) * sizeof *copy);
    const int rc = copy == NULL || !allocate(out, p->n) ? ds_no_memory(e) : 0;
    if (rc == 0) {
        memcpy(copy, j, size * sizeof *j);
        out->rows = count_rows(residual, j, p->m, p->n);
        decompose(p, copy, copy + size, out);
    }
    free(copy);
    return rc;
}

int ds_identify_determine(ds_identify_problem *p, const double *u, ds_identify_determined *out, int *failed,
                          ds_error *e)
{
    double *j = malloc(p->m * p->n * sizeof *j);
    int rc = j == NULL ? ds_no_memory(e) : ds_identify_jacobian(p, u, j, failed, e);
    *out = (ds_identify_determined){0};
    rc = rc != 0 || *failed ? rc : ds_identify_decompose(p, NULL, j, out, e);
    free(j);
    return rc;
}

/* ---- directions in words ---- */

/* Relative change of a parameter along a direction; NAN where its value is not positive. Names of units tell
 * which variables are logarithms. */
static double relative(const ds_identify_problem *p, const double *u, const double *vector, size_t i)
{
    const ds_identify_parameter *x = &p->c->parameter[p->parameter[i]];
    const double change = vector[i] * wide_of(p, i) * ds_identify_slope(x, u[i]),
                 value = ds_identify_value(x, u[i]);
    if (strncmp(x->unit, "log10", 5) == 0) {
        return change * log(10);
    }
    return value > 0 ? change / value : (double)NAN;
}

static int close_to(double a, double b)
{
    return fabs(a - b) < 0.02 * fabs(b);
}

void ds_identify_direction_words(const ds_identify_problem *p, const double *u, const double *vector,
                                 char out[DS_IDENTIFY_LINE])
{
    size_t big[DS_IDENTIFY_PARAMETERS], count = 0, at = 0;
    double most = 0;
    int equal = 1;
    for (size_t i = 0; i < p->n; i++) {
        most = fmax(most, fabs(vector[i]));
    }
    for (size_t i = 0; i < p->n; i++) {
        if (fabs(vector[i]) > shown * most || fabs(relative(p, u, vector, i)) > 0.05) {
            if (fabs(vector[i]) > 1e-3 * most) {
                big[count++] = i;
            }
        }
    }
    const double first = count > 0 ? relative(p, u, vector, big[0]) : (double)NAN;
    for (size_t k = 1; k < count; k++) {
        equal &= close_to(relative(p, u, vector, big[k]), first);
    }
#define NAME(k) p->c->parameter[p->parameter[big[k]]].name
    if (count == 1) {
        snprintf(out, DS_IDENTIFY_LINE, "%s has no effect on the data", NAME(0));
    } else if (count == 2 && equal) {
        snprintf(out, DS_IDENTIFY_LINE, "%s and %s only as a ratio: fix one of them", NAME(0), NAME(1));
    } else if (count == 2 && close_to(-relative(p, u, vector, big[1]), first)) {
        snprintf(out, DS_IDENTIFY_LINE, "%s and %s only as a product: fix one of them", NAME(0), NAME(1));
    } else if (count > 2 && equal) {
        for (size_t k = 0; k < count && at < DS_IDENTIFY_LINE - 100; k++) {
            at += (size_t)snprintf(out + at, DS_IDENTIFY_LINE - at, "%s%s",
                                   k == 0           ? ""
                                   : k + 1 == count ? " and "
                                                    : ", ",
                                   NAME(k));
        }
        snprintf(out + at, DS_IDENTIFY_LINE - at, " only up to a common factor: fix one of them");
    } else {
        at = (size_t)snprintf(out, DS_IDENTIFY_LINE, "no change along");
        for (size_t k = 0; k < count && at < DS_IDENTIFY_LINE - 100; k++) {
            at += (size_t)snprintf(out + at, DS_IDENTIFY_LINE - at, " %s%.2g %s",
                                   vector[big[k]] < 0 ? "- "
                                   : k > 0            ? "+ "
                                                      : "",
                                   fabs(vector[big[k]]), NAME(k));
        }
        snprintf(out + at, DS_IDENTIFY_LINE - at,
                 " (in widths of the box): fix one of them, or record a richer motion");
    }
#undef NAME
}
