/* SPDX-License-Identifier: Apache-2.0 */
/* landscape_basins.c - counts the basins of a grid of losses by flooding it from below: where two floods
 * meet, the shallower basin ends, and how deep it was tells whether it counts. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "landscape/landscape_measure.h"

typedef struct flood {
    const ds_field *f;
    uint64_t *order;  /* points with a loss, lowest first */
    uint64_t *parent; /* of the set of points that flooded together; NONE = dry */
    uint64_t *bottom; /* point where a descent from here ends; at a bottom: itself */
    uint64_t *into;   /* of a bottom: the bottom that took it over because it was shallow, else itself */
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

/* The bottom of the set that a point belongs to. */
static uint64_t find(flood *w, uint64_t k)
{
    while (w->parent[k] != k) {
        w->parent[k] = w->parent[w->parent[k]];
        k = w->parent[k];
    }
    return k;
}

/* The points around k that have a loss; *holes = of the others, those on the grid. */
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

/* How far neighbours lie apart at most. */
static int64_t reach(uint64_t count)
{
    return count < DS_BRIDGED ? 1 : (int64_t)(count / DS_BRIDGED);
}

/* Points of one quadrant such that no other one with a loss lies in the rectangle between k and them: at most
 * one in each column, each nearer to the row of k than those before. */
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

/* The points around k, and where some of them have no loss also those behind these holes. The relation is
 * mutual. */
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

/* Water reaches point k: joins the sets around it. Bottoms are ordered as in `order`, so that the lower one
 * of two is the one with the lower loss, or the smaller number. */
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
    /* Sets that never met, with a wide region without a loss between them, are basins of their own. */
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
