/* SPDX-License-Identifier: Apache-2.0 */
/* landscape_gradient.c - gradients on a grid against differences of the losses around them, and against
 * finite differences of several steps. */
#include "config.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "landscape/landscape_measure.h"

/* Collects one comparison after the other. */
typedef struct judge {
    ds_agreement *out;
    int dims;
    double range;
    double *cosine, *ratio; /* of the comparisons so far */
} judge;

static double length(const double *v, int dims)
{
    return dims > 1 ? hypot(v[0], v[1]) : fabs(v[0]);
}

/* hypot() keeps large values from overflowing; so does dividing first here. */
static double cosine(const double *a, const double *b, int dims)
{
    double la = length(a, dims), lb = length(b, dims);
    double c = a[0] / la * (b[0] / lb);
    c = dims > 1 ? c + a[1] / la * (b[1] / lb) : c;
    return fmax(-1, fmin(1, c));
}

/* Gradient g against difference d, both scaled. Where the loss does not change there is nothing to compare.
 */
static void compare(judge *j, const double *g, const double *d)
{
    ds_agreement *a = j->out;
    double size = length(d, j->dims);
    if (!(size > DS_CHANGE * j->range) || !isfinite(size)) {
        return;
    }
    double mine = length(g, j->dims);
    j->cosine[a->compared] = NAN;
    j->ratio[a->compared] = mine / size;
    if (mine <= DS_ZERO * j->range) {
        a->blind++;
    } else {
        j->cosine[a->compared] = cosine(g, d, j->dims);
        a->wrong_way += j->cosine[a->compared] < 0;
        for (int k = 0; k < j->dims; k++) {
            int both = fabs(d[k]) > DS_CHANGE * j->range && fabs(g[k]) > DS_ZERO * j->range;
            a->signs += (uint64_t)both;
            a->wrong_sign += both && (g[k] < 0) != (d[k] < 0);
        }
    }
    a->compared++;
}

static int open_judge(judge *j, ds_agreement *out, int dims, double range, uint64_t most, double step)
{
    memset(out, 0, sizeof *out);
    out->step = step;
    *j = (judge){out, dims, range, malloc((2 * most + 1) * sizeof(double)), NULL};
    j->ratio = j->cosine != NULL ? j->cosine + most : NULL;
    return j->cosine != NULL ? 0 : -1;
}

static void close_judge(judge *j)
{
    j->out->cosine = ds_spread_of(j->cosine, j->out->compared);
    j->out->ratio = ds_spread_of(j->ratio, j->out->compared);
    free(j->cosine);
}

/* Scaled derivatives of point k; 0 = it has none. */
static int gradient_at(const ds_field *f, uint64_t k, double g[2])
{
    g[0] = f->g[0][k] * f->width[0];
    g[1] = f->dims > 1 ? f->g[1][k] * f->width[1] : 0;
    return isfinite(g[0]) && isfinite(g[1]);
}

int ds_trend(const ds_field *f, uint64_t k, double d[DS_FIELD_DIMS])
{
    uint64_t at[2] = {k % f->count[0], k / f->count[0]};
    d[0] = d[1] = 0;
    for (int a = 0; a < f->dims; a++) {
        uint64_t stride = a == 0 ? 1 : f->count[0];
        if (at[a] == 0 || at[a] + 1 == f->count[a]) {
            return 0;
        }
        d[a] = (f->loss[k + stride] - f->loss[k - stride]) * 0.5 * (double)(f->count[a] - 1);
        if (!isfinite(d[a])) {
            return 0;
        }
    }
    return 1;
}

int ds_wrong_way(const ds_field *f, double range, uint64_t k)
{
    double g[2], d[2];
    return f->g[0] != NULL && gradient_at(f, k, g) && ds_trend(f, k, d) &&
           length(d, f->dims) > DS_CHANGE * range && length(g, f->dims) > DS_ZERO * range &&
           cosine(g, d, f->dims) < 0;
}

static void count_turns(const ds_field *f, uint64_t k, double range, ds_gradient_measure *out)
{
    uint64_t at[2] = {k % f->count[0], k / f->count[0]};
    for (int a = 0; a < f->dims; a++) {
        if (at[a] + 1 < f->count[a]) {
            double p = f->g[a][k], q = f->g[a][k + (a == 0 ? 1 : f->count[0])];
            double zero = DS_ZERO * range / f->width[a];
            out->pairs += isfinite(p) && isfinite(q);
            out->turns += fabs(p) > zero && fabs(q) > zero && (p < 0) != (q < 0);
        }
    }
}

/* From where on a scaled derivative has exploded: nowhere where the loss is constant, as there is no R. */
static double find_limit(const ds_field *f, double range)
{
    double largest = 0;
    for (uint64_t k = 0; k < f->count[0] * f->count[1]; k++) {
        largest = isfinite(f->loss[k]) ? fmax(largest, fabs(f->loss[k])) : largest;
    }
    return range > DS_EQUAL * largest ? DS_EXPLODING * range : (double)INFINITY;
}

int ds_measure_gradient(const ds_field *f, double range, ds_gradient_measure *out)
{
    const uint64_t points = f->count[0] * f->count[1];
    const double limit = find_limit(f, range);
    judge trend;
    memset(out, 0, sizeof *out);
    double *size = malloc((2 * points + 1) * sizeof *size);
    if (size == NULL || open_judge(&trend, &out->trend, f->dims, range, points, 0) != 0) {
        free(size);
        return -1;
    }
    double *norm = size + points;
    for (uint64_t k = 0; k < points; k++) {
        double g[2], d[2];
        if (!isfinite(f->loss[k])) {
            continue;
        }
        if (!gradient_at(f, k, g)) {
            out->missing++;
            continue;
        }
        double s = length(g, f->dims);
        size[out->points] = range > 0 ? s / range : s;
        norm[out->points] = f->norm != NULL ? f->norm[k] : (double)NAN;
        out->zero += s <= DS_ZERO * range;
        for (int a = 0; a < f->dims; a++) {
            out->zero_axis[a] += fabs(g[a]) <= DS_ZERO * range;
        }
        out->all_zero += f->norm != NULL && f->norm[k] <= DS_ZERO * range;
        out->exploding += s > limit;
        out->points++;
        count_turns(f, k, range, out);
        if (ds_trend(f, k, d)) {
            compare(&trend, g, d);
        }
    }
    out->size = ds_spread_of(size, out->points);
    out->norm = ds_spread_of(norm, out->points);
    close_judge(&trend);
    out->trend.step = f->count[0] > 1 ? 1.0 / (double)(f->count[0] - 1) : 0;
    free(size);
    return 0;
}

/* ---- several steps ---- */

/* Have the differences converged? Told by the two finest steps whose round-off is small: a saw-tooth has
 * another slope, which also looks converged, over coarser ones. `out` gets the finer difference, *noise its
 * round-off, *known = there were two steps. */
static int converged(const ds_samples *s, uint64_t m, double out[2], double *noise, int *known)
{
    const double *d = s->d + m * (uint64_t)s->steps * 2;
    int flat = 0;
    *known = 0;
    for (int k = s->steps - 2; k >= 0; k--) {
        const double *a = d + (ptrdiff_t)2 * k, *b = a + 2;
        double la = length(a, s->dims), lb = length(b, s->dims);
        if (!isfinite(la) || !isfinite(lb)) {
            continue;
        }
        const double gap[2] = {a[0] - b[0], a[1] - b[1]};
        double rounding = 8 * DBL_EPSILON * fabs(s->loss[m]) / s->step[k + 1];
        double miss = length(gap, s->dims), size = fmax(la, lb);
        if (*known == 0) { /* the finest ones: what they say where all is round-off */
            memcpy(out, b, 2 * sizeof *out);
            *noise = rounding;
            flat = miss <= rounding;
            *known = 1;
        }
        if (rounding <= DS_CONVERGED * size) {
            memcpy(out, b, 2 * sizeof *out);
            *noise = rounding;
            return miss <= DS_CONVERGED * size;
        }
    }
    return flat;
}

int ds_measure_quality(const ds_samples *s, double range, ds_quality_measure *out)
{
    memset(out, 0, sizeof *out);
    out->samples = s->count;
    out->steps = s->steps;
    double *error = malloc((s->count + 1) * sizeof *error);
    if (error == NULL) {
        return -1;
    }
    for (int k = 0; k < s->steps; k++) {
        judge j;
        if (open_judge(&j, &out->at[k], s->dims, range, s->count, s->step[k]) != 0) {
            free(error);
            return -1;
        }
        for (uint64_t m = 0; m < s->count; m++) {
            const double *g = s->g + 2 * m, *d = s->d + 2 * (m * (uint64_t)s->steps + (uint64_t)k);
            if (isfinite(length(g, s->dims))) {
                compare(&j, g, d);
            }
        }
        close_judge(&j);
    }
    for (uint64_t m = 0; m < s->count; m++) {
        const double *g = s->g + 2 * m;
        double d[2] = {NAN, NAN}, noise = 0;
        int known = 0, is = converged(s, m, d, &noise, &known);
        if (!isfinite(length(g, s->dims))) {
            continue;
        }
        out->judged += (uint64_t)known;
        if (!is) {
            continue;
        }
        double gap[2] = {g[0] - d[0], g[1] - d[1]};
        double larger = fmax(length(g, s->dims), length(d, s->dims));
        double miss = fmax(0, length(gap, s->dims) - noise);
        double e = larger > 0 ? miss / larger : 0;
        error[out->converged++] = e;
        out->exact += e <= DS_EXACT;
        out->opposite += larger > noise && length(g, s->dims) > 0 && length(d, s->dims) > noise &&
                         cosine(g, d, s->dims) < 0;
    }
    out->error = ds_spread_of(error, out->converged);
    free(error);
    return 0;
}
