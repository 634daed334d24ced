/* SPDX-License-Identifier: Apache-2.0 */
/* landscape_loss.c - range, plateaus, steep places and turning points of a grid of losses. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "landscape/landscape_measure.h"

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Value at share q of a sorted sample, between neighbours linear. */
static double quantile(const double *v, uint64_t n, double q)
{
    double at = q * (double)(n - 1);
    uint64_t k = (uint64_t)at;
    double t = at - (double)k;
    return k + 1 < n ? (1 - t) * v[k] + t * v[k + 1] : v[n - 1];
}

ds_spread ds_spread_of(double *v, uint64_t count)
{
    ds_spread s = {0, NAN, NAN, NAN, NAN, NAN};
    uint64_t n = 0;
    for (uint64_t k = 0; k < count; k++) {
        if (isfinite(v[k])) {
            v[n++] = v[k];
        }
    }
    s.count = n;
    if (n > 0) {
        qsort(v, n, sizeof *v, ascending);
        s.min = v[0];
        s.q10 = quantile(v, n, 0.1);
        s.median = quantile(v, n, 0.5);
        s.q90 = quantile(v, n, 0.9);
        s.max = v[n - 1];
    }
    return s;
}

/* Follows a line up and down; a way back of less than `depth` is no turn. */
typedef struct walk {
    int direction;    /* 1 up, -1 down, 0 not known yet */
    double low, high; /* since the last turn */
} walk;

/* One step to `here`; 1 = a turn. */
static int turns(walk *w, double here, double depth)
{
    int turned = 0;
    w->low = fmin(w->low, here);
    w->high = fmax(w->high, here);
    if (w->direction <= 0 && here - w->low > depth) {
        turned = w->direction < 0;
        *w = (walk){1, here, here};
    } else if (w->direction >= 0 && w->high - here > depth) {
        turned = w->direction > 0;
        *w = (walk){-1, here, here};
    }
    return turned;
}

/* What one line of points says: n points, `stride` apart. */
static double measure_line(const double *loss, uint64_t n, uint64_t stride, double range, double largest,
                           ds_axis_measure *m)
{
    double low = INFINITY, high = -INFINITY, variation = 0;
    walk w = {0, INFINITY, -INFINITY};
    uint64_t row = 0; /* points in a row that have a loss */
    for (uint64_t k = 0; k < n; k++) {
        double here = loss[k * stride];
        if (!isfinite(here)) {
            w = (walk){0, INFINITY, -INFINITY};
            row = 0;
            continue;
        }
        row++;
        m->triples += row >= 3;
        m->turns += (uint64_t)turns(&w, here, DS_DEPTH * range);
        low = fmin(low, here);
        high = fmax(high, here);
        if (k + 1 == n || !isfinite(loss[(k + 1) * stride])) {
            continue;
        }
        double d = loss[(k + 1) * stride] - here;
        m->pairs++;
        m->equal += fabs(d) <= DS_EQUAL * largest;
        m->steep += fabs(d) > DS_STEEP * range;
        variation += fabs(d);
    }
    return high > low ? variation / (high - low) : (double)NAN;
}

static void measure_axis(const ds_field *f, int axis, double range, double largest, ds_axis_measure *m)
{
    uint64_t lines = f->count[1 - axis], measured = 0;
    uint64_t stride = axis == 0 ? 1 : f->count[0], next = axis == 0 ? f->count[0] : 1;
    for (uint64_t k = 0; k < lines; k++) {
        double sweeps = measure_line(f->loss + k * next, f->count[axis], stride, range, largest, m);
        if (isfinite(sweeps)) {
            m->sweeps += sweeps;
            measured++;
        }
    }
    m->lines = lines;
    m->sweeps = measured > 0 ? m->sweeps / (double)measured : 0;
}

static void measure_cells(const ds_field *f, double range, ds_loss_measure *out)
{
    uint64_t w = f->count[0], rows = f->dims > 1 ? f->count[1] - 1 : 1;
    uint64_t up = f->dims > 1 ? w : 0;
    for (uint64_t j = 0; j < rows; j++) {
        for (uint64_t i = 0; i + 1 < w; i++) {
            const double *p = f->loss + j * w + i;
            double v[4] = {p[0], p[1], p[up], p[up + 1]};
            double low = INFINITY, high = -INFINITY;
            int whole = 1;
            for (int k = 0; k < 4; k++) {
                whole &= isfinite(v[k]) != 0;
                low = fmin(low, v[k]);
                high = fmax(high, v[k]);
            }
            out->cells += (uint64_t)whole;
            out->steep_cells += whole && high - low > DS_STEEP * range;
        }
    }
}

int ds_measure_loss(const ds_field *f, ds_loss_measure *out)
{
    memset(out, 0, sizeof *out);
    out->points = f->count[0] * f->count[1];
    double *copy = malloc(out->points * sizeof *copy);
    if (copy == NULL) {
        return -1;
    }
    memcpy(copy, f->loss, out->points * sizeof *copy);
    out->loss = ds_spread_of(copy, out->points);
    free(copy);
    out->with_loss = out->loss.count;
    if (out->with_loss == 0) {
        return 0;
    }
    out->range = out->loss.max - out->loss.min;
    for (uint64_t k = out->points; k-- > 0;) {
        out->best = f->loss[k] <= out->loss.min ? k : out->best;
    }
    double largest = fmax(fabs(out->loss.min), fabs(out->loss.max));
    for (int a = 0; a < f->dims; a++) {
        measure_axis(f, a, out->range, largest, &out->axis[a]);
    }
    measure_cells(f, out->range, out);
    return 0;
}

uint64_t ds_measure_steep(const ds_field *f, double range, ds_pair *out, uint64_t room)
{
    uint64_t points = f->count[0] * f->count[1], total = 0, taken = 0;
    for (int pass = 0; pass < 2; pass++) {
        uint64_t seen = 0;
        for (uint64_t k = 0; k < points; k++) {
            uint64_t at[2] = {k % f->count[0], k / f->count[0]};
            for (int a = 0; a < f->dims; a++) {
                if (at[a] + 1 == f->count[a] ||
                    !(fabs(f->loss[k + (a == 0 ? 1 : f->count[0])] - f->loss[k]) > DS_STEEP * range)) {
                    continue;
                }
                if (pass == 1 && taken < room && seen * room >= taken * total) {
                    out[taken++] = (ds_pair){k, a};
                }
                seen++;
            }
        }
        total = seen;
    }
    return taken;
}
