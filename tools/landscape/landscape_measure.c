/* SPDX-License-Identifier: Apache-2.0 */
/* landscape_measure.c - measures of losses and gradients on a grid (see landscape_measure.h). */
#include "config.h"

#include "landscape/landscape_measure.h"

#include "stats/sample.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Quantile q of a sorted sample, linear between neighbours. */
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
        ds_sample_sort(v, n);
        s.min = v[0];
        s.q10 = quantile(v, n, 0.1);
        s.median = quantile(v, n, 0.5);
        s.q90 = quantile(v, n, 0.9);
        s.max = v[n - 1];
    }
    return s;
}

/* Follows a line up and down; reversals of less than `depth` are not turns. */
typedef struct walk {
    int direction;    /* 1 up, -1 down, 0 not known yet */
    double low, high; /* since the last turn */
} walk;

/* One step to `here`; returns 1 for a turn. */
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

/* Measures one line of n points with the given stride. */
static double measure_line(const double *loss, uint64_t n, uint64_t stride, double range, double largest,
                           ds_axis_measure *m)
{
    double low = INFINITY, high = -INFINITY, variation = 0;
    walk w = {0, INFINITY, -INFINITY};
    uint64_t row = 0; /* consecutive points with a loss */
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

/* ---- basins ---- */

/* The grid is flooded from below. Where two floods meet, the shallower basin ends, and counts if it was deep
 * enough. */

typedef struct flood {
    const ds_field *f;
    uint64_t *order;  /* points with a loss, lowest first */
    uint64_t *parent; /* of the set of flooded points; NONE = dry */
    uint64_t *bottom; /* where a descent from this point ends; of a bottom: itself */
    uint64_t *into;   /* of a bottom: the bottom that absorbed it because it was shallow, else itself */
    uint64_t *near;   /* room for the neighbours of a point */
    uint64_t count;
} flood;

#define NONE UINT64_MAX

typedef struct entry {
    double loss;
    uint64_t point;
} entry;

static int lower(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    return x->loss < y->loss ? -1 : x->loss > y->loss ? 1 : (x->point > y->point) - (x->point < y->point);
}

static int sort_points(flood *w, uint64_t points)
{
    entry *e = malloc((points + 1) * sizeof *e);
    if (e == NULL) {
        return -1;
    }
    for (uint64_t k = 0; k < points; k++) {
        if (isfinite(w->f->loss[k])) {
            e[w->count++] = (entry){w->f->loss[k], k};
        }
    }
    qsort(e, w->count, sizeof *e, lower);
    for (uint64_t k = 0; k < w->count; k++) {
        w->order[k] = e[k].point;
    }
    free(e);
    return 0;
}

/* The bottom of a point's set. */
static uint64_t find(flood *w, uint64_t k)
{
    while (w->parent[k] != k) {
        w->parent[k] = w->parent[w->parent[k]];
        k = w->parent[k];
    }
    return k;
}

/* The points around k with a loss; *holes = the number of others on the grid. */
static uint64_t around(const ds_field *f, uint64_t k, uint64_t *out, int *holes)
{
    const int64_t x = (int64_t)(k % f->count[0]), y = (int64_t)(k / f->count[0]);
    uint64_t n = 0;
    *holes = 0;
    for (int64_t j = y - 1; j <= y + 1; j++) {
        for (int64_t i = x - 1; i <= x + 1; i++) {
            if ((i == x && j == y) || i < 0 || j < 0 || i >= (int64_t)f->count[0] ||
                j >= (int64_t)f->count[1]) {
                continue;
            }
            const uint64_t at = (uint64_t)j * f->count[0] + (uint64_t)i;
            if (isfinite(f->loss[at])) {
                out[n++] = at;
            } else {
                *holes += 1;
            }
        }
    }
    return n;
}

/* Largest distance of neighbours. */
static int64_t reach(uint64_t count)
{
    return count < DS_BRIDGED ? 1 : (int64_t)(count / DS_BRIDGED);
}

/* Points of one quadrant with no other point with a loss in the rectangle between them and k: at most one per
 * column, each nearer to the row of k than the previous. */
static uint64_t beyond(const ds_field *f, uint64_t k, int64_t right, int64_t up, uint64_t *out)
{
    const int64_t w = (int64_t)f->count[0], h = (int64_t)f->count[1], x = (int64_t)k % w, y = (int64_t)k / w;
    int64_t most = reach(f->count[1]);
    uint64_t n = 0;
    for (int64_t a = 0; a <= reach(f->count[0]) && most >= 0; a++) {
        const int64_t i = x + right * a;
        for (int64_t b = a == 0; b <= most && i >= 0 && i < w; b++) {
            const int64_t j = y + up * b;
            if (j >= 0 && j < h && isfinite(f->loss[j * w + i])) {
                out[n++] = (uint64_t)(j * w + i);
                most = b - 1;
            }
        }
    }
    return n;
}

/* The points around k, and, where these have no loss, those beyond the holes. The relation is symmetric. */
static uint64_t neighbours(const ds_field *f, uint64_t k, uint64_t *out)
{
    int holes = 0;
    uint64_t n = around(f, k, out, &holes);
    for (int64_t quadrant = 0; quadrant < 4 && holes > 0; quadrant++) {
        n += beyond(f, k, quadrant % 2 == 0 ? -1 : 1, quadrant < 2 ? -1 : 1, out + n);
    }
    return n;
}

static uint64_t neighbours_most(const ds_field *f)
{
    return 8 + 4 * (uint64_t)(reach(f->count[0]) + 1);
}

/* Floods point k: joins the sets around it. Bottoms are numbered as in `order`, so the lower of two has the
 * lower loss, or the smaller number. */
static void wet(flood *w, uint64_t k, double depth, ds_basin_measure *out)
{
    const uint64_t *near = w->near;
    const double *loss = w->f->loss;
    uint64_t next = NONE, n = neighbours(w->f, k, w->near);
    w->parent[k] = k;
    w->bottom[k] = k;
    w->into[k] = k;
    for (uint64_t i = 0; i < n; i++) {
        if (w->parent[near[i]] == NONE) {
            continue;
        }
        if (next == NONE || loss[near[i]] < loss[next]) {
            next = near[i];
        }
        uint64_t a = find(w, near[i]), b = find(w, k);
        if (a == b) {
            continue;
        }
        int a_is_lower = loss[a] < loss[b] || (!(loss[b] < loss[a]) && a < b);
        uint64_t deep = a_is_lower ? a : b, flat = a_is_lower ? b : a;
        double gone = loss[k] - loss[flat];
        w->parent[flat] = deep;
        out->minima += flat != k && gone > 0;
        if (flat != k && gone > depth) {
            out->basins++;
            out->second = fmin(out->second, loss[flat]);
        } else {
            w->into[flat] = deep;
        }
    }
    if (next != NONE) {
        w->bottom[k] = w->bottom[next];
    }
}

int ds_measure_basins(const ds_field *f, double range, ds_basin_measure *out)
{
    uint64_t points = f->count[0] * f->count[1];
    flood w = {.f = f};
    *out = (ds_basin_measure){0, 0, 0, INFINITY};
    uint64_t *memory = malloc((points * 4 + neighbours_most(f)) * sizeof *memory);
    w.order = memory;
    w.parent = memory != NULL ? memory + points : NULL;
    w.bottom = memory != NULL ? memory + 2 * points : NULL;
    w.into = memory != NULL ? memory + 3 * points : NULL;
    w.near = memory != NULL ? memory + 4 * points : NULL;
    if (memory == NULL || sort_points(&w, points) != 0) {
        free(memory);
        return -1;
    }
    for (uint64_t k = 0; k < points; k++) {
        w.parent[k] = NONE;
    }
    for (uint64_t k = 0; k < w.count; k++) {
        wet(&w, w.order[k], DS_DEPTH * range, out);
    }
    /* Sets that never met, separated by a wide region without losses, are separate basins. */
    uint64_t drained = 0;
    for (uint64_t k = 0; k < w.count; k++) {
        uint64_t p = w.order[k], b = w.bottom[p];
        if (w.parent[p] == p) {
            out->minima++;
            out->basins++;
            out->second = k > 0 ? fmin(out->second, f->loss[p]) : out->second;
        }
        while (w.into[b] != b) {
            b = w.into[b];
        }
        drained += b == w.order[0];
    }
    out->drain = w.count > 0 ? (double)drained / (double)w.count : 0;
    out->second =
        isfinite(out->second) && range > 0 ? (out->second - f->loss[w.order[0]]) / range : (double)NAN;
    free(memory);
    return 0;
}

/* ---- gradients against differences ---- */

/* Collects comparisons. */
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

/* hypot() avoids overflow for large values; so does dividing first here. */
static double cosine(const double *a, const double *b, int dims)
{
    double la = length(a, dims), lb = length(b, dims);
    double c = a[0] / la * (b[0] / lb);
    c = dims > 1 ? c + a[1] / la * (b[1] / lb) : c;
    return fmax(-1, fmin(1, c));
}

/* Compares gradient g with difference d, both scaled. Where the loss does not change there is nothing to
 * compare. */
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

/* Scaled derivatives of point k; returns 0 if it has none. */
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

/* Size from which on a scaled derivative has exploded; infinite for a constant loss, which has no R. */
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

/* ---- differences of several steps ---- */

/* Have the differences converged? Decided by the two finest steps with small round-off: over coarser steps a
 * saw-tooth has another slope, which also looks converged. `out` receives the finer difference, *noise its
 * round-off, *known whether there were two such steps. */
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
        if (*known == 0) { /* use the finest ones, although all are round-off */
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
