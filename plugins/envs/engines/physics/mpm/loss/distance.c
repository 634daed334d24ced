/* SPDX-License-Identifier: Apache-2.0 */
/* Distance to the target by sweeps that hand on nearest points (PlasticineLab: losses/loss.py,
 * update_target_sdf). In every sweep each node outside the target looks at the previous sweep's nearest
 * points of the nodes at offsets -3..2 (the original leaves out +3) and takes the closest one, the first in
 * lexicographic order of the offset on ties. The result is that of the original's 2 n sweeps over all nodes,
 * but found by the nodes whose point has changed: they offer it to the nodes that look at them. Only where
 * the neighbour whose point a node had taken offers a worse one does that node look around again. */
#include "distance.h"

#include <diffsim/helper/memory.h>
#include <math.h>
#include <string.h>

enum {
    BACK = 3,
    AHEAD = 2, /* offsets run from -BACK to AHEAD */
    WINDOW = BACK + AHEAD + 1,
    LANES = 4, /* nodes along k that get an offer together; two such vectors hold the window */
    NOBODY = WINDOW * WINDOW * WINDOW
};

typedef float lanes __attribute__((vector_size(4 * LANES)));
typedef float loose_lanes __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
typedef int32_t flags __attribute__((vector_size(4 * LANES)));
typedef int32_t loose_flags __attribute__((vector_size(4 * LANES), aligned(4), may_alias));

typedef struct point {
    int16_t i, j, k;
} point;

typedef struct node {
    int16_t i, j, k;
    point found; /* by the present sweep */
} node;

/* Not known yet, with a square that still fits into an int; and a squared distance (in nodes) above every
 * true one. */
static const point unknown = {1 << 13, 1 << 13, 1 << 13};
static const float far = 1e9f;

/* Arrays over the nodes with a frame around them, so that nobody has to ask where the grid ends. */
typedef struct field {
    int n;
    size_t row, plane, all; /* distances of neighbours along j and i; nodes with the frame */
    point *nearest;         /* after the previous sweep */
    float *best;            /* squared distance to the closest point on offer */
    int32_t *giver;         /* number of the offset to the neighbour that offers it */
    /* the offers have changed: TOUCHED, and DOUBTFUL if the closest may be another one */
    int32_t *touched;
    node *changed; /* those whose point was changed by the previous sweep */
    size_t count;
    ds_memory memory;
} field;

enum { TOUCHED = 1, DOUBTFUL = 2 };

static size_t index_of(const field *f, int i, int j, int k)
{
    return (size_t)(i + BACK) * f->plane + (size_t)(j + BACK) * f->row + (size_t)(k + BACK);
}

static bool init_field(field *f, int n)
{
    memset(f, 0, sizeof *f);
    f->n = n;
    f->row = (size_t)n + 2 * BACK + LANES;
    f->plane = f->row * ((size_t)n + 2 * BACK);
    f->all = f->plane * ((size_t)n + 2 * BACK) + LANES;
    f->nearest = ds_memory_take(&f->memory, f->all, sizeof *f->nearest);
    f->best = ds_memory_take(&f->memory, f->all, sizeof *f->best);
    f->giver = ds_memory_take(&f->memory, f->all, sizeof *f->giver);
    f->touched = ds_memory_take(&f->memory, f->all, sizeof *f->touched);
    f->changed = ds_memory_take(&f->memory, (size_t)n * (size_t)n * (size_t)n, sizeof *f->changed);
    if (f->memory.failed) {
        return false;
    }
    for (size_t p = 0; p < f->all; p++) {
        f->nearest[p] = unknown;
        f->best[p] = far;
        f->giver[p] = NOBODY;
    }
    return true;
}

static int32_t number_of(int a, int b, int c)
{
    return ((a + BACK) * WINDOW + b + BACK) * WINDOW + c + BACK;
}

static size_t neighbour(const field *f, int i, int j, int k, int number)
{
    return index_of(f, i + number / (WINDOW * WINDOW) - BACK, j + number / WINDOW % WINDOW - BACK,
                    k + number % WINDOW - BACK);
}

/* A point at squared distances d is offered to LANES nodes by the neighbours at the offsets of these
 * numbers (below 0: not theirs; nobody asks itself). */
static inline void offer(field *f, size_t at, lanes d, flags number)
{
    lanes best = *(loose_lanes *)(f->best + at);
    flags giver = *(loose_flags *)(f->giver + at), own = giver == number;
    flags better =
        (number >= 0) & (number != number_of(0, 0, 0)) & ((d < best) | ((d == best) & (number <= giver)));
    flags worse = own & (d > best);
    *(loose_lanes *)(f->best + at) = (lanes)((better & (flags)d) | (~better & (flags)best));
    *(loose_flags *)(f->giver + at) = (better & number) | (~better & giver);
    *(loose_flags *)(f->touched + at) |= (better & TOUCHED) | (worse & (TOUCHED | DOUBTFUL));
}

/* Node (i, j, k) offers its point to all that look at it: those at (i - a, j - b, k - c) for offsets (a,
 * b, c). */
static void hand_on(field *f, int i, int j, int k)
{
    const size_t self = index_of(f, i, j, k);
    const point own = f->nearest[self];
    lanes along[2];
    flags step[2];
    for (int l = 0; l < 2 * LANES; l++) {
        float dk = (float)(own.k - (k - AHEAD + l));
        along[l / LANES][l % LANES] = dk * dk;
        step[l / LANES][l % LANES] = l < WINDOW ? WINDOW - 1 - l : -2 * NOBODY;
    }
    for (int a = -BACK; a <= AHEAD; a++) {
        for (int b = -BACK; b <= AHEAD; b++) {
            int di = own.i - (i - a), dj = own.j - (j - b), first = number_of(a, b, -BACK);
            size_t at = self - (size_t)(a * (ptrdiff_t)f->plane + b * (ptrdiff_t)f->row + AHEAD);
            float across = (float)(di * di + dj * dj);
            offer(f, at, along[0] + across, step[0] + first);
            offer(f, at + LANES, along[1] + across, step[1] + first);
        }
    }
}

/* The closest of all points on offer at a node. */
static void look_around(field *f, int i, int j, int k)
{
    const size_t self = index_of(f, i, j, k);
    int best = INT32_MAX;
    f->giver[self] = NOBODY;
    f->best[self] = far;
    for (int number = 0; number < NOBODY; number++) {
        const point *p = &f->nearest[neighbour(f, i, j, k, number)];
        int di = p->i - i, dj = p->j - j, dk = p->k - k, d = di * di + dj * dj + dk * dk;
        if (p->i != unknown.i && number != number_of(0, 0, 0) && d < best) {
            best = d;
            f->best[self] = (float)d;
            f->giver[self] = number;
        }
    }
}

/* The node takes the closest point on offer. */
static void choose(field *f, int i, int j, int k)
{
    const size_t self = index_of(f, i, j, k);
    if (f->touched[self] & DOUBTFUL) {
        look_around(f, i, j, k);
    }
    node taken = {(int16_t)i, (int16_t)j, (int16_t)k, unknown};
    if (f->giver[self] != NOBODY) {
        taken.found = f->nearest[neighbour(f, i, j, k, f->giver[self])];
    }
    if (memcmp(&taken.found, &f->nearest[self], sizeof taken.found) != 0) {
        f->changed[f->count++] = taken;
    }
}

/* All nodes see the points of the previous sweep: the new ones are taken over at the end. */
static void sweep(field *f, const double *density)
{
    for (size_t c = 0; c < f->count; c++) {
        hand_on(f, f->changed[c].i, f->changed[c].j, f->changed[c].k);
    }
    size_t cell = 0;
    f->count = 0;
    for (int i = 0; i < f->n; i++) {
        for (int j = 0; j < f->n; j++) {
            int32_t *touched = f->touched + index_of(f, i, j, 0);
            for (int k = 0; k < f->n; k++, cell++) {
                if (touched[k] && !(density[cell] > MPM_TARGET_CELL)) {
                    choose(f, i, j, k);
                }
                touched[k] = 0;
            }
        }
    }
    for (size_t c = 0; c < f->count; c++) {
        const node *taken = &f->changed[c];
        f->nearest[index_of(f, taken->i, taken->j, taken->k)] = taken->found;
    }
}

/* Every target node is its own nearest point. */
static void start(field *f, const double *density)
{
    size_t cell = 0;
    for (int i = 0; i < f->n; i++) {
        for (int j = 0; j < f->n; j++) {
            for (int k = 0; k < f->n; k++, cell++) {
                if (density[cell] > MPM_TARGET_CELL) {
                    const point self = {(int16_t)i, (int16_t)j, (int16_t)k};
                    f->nearest[index_of(f, i, j, k)] = self;
                    f->changed[f->count++] = (node){self.i, self.j, self.k, self};
                }
            }
        }
    }
}

bool mpm_distance_field(int n, const double *density, double *distance)
{
    field f;
    bool ok = init_field(&f, n);
    if (ok) {
        start(&f, density);
    }
    for (int s = 0; ok && s < 2 * n && f.count > 0; s++) {
        sweep(&f, density);
    }
    size_t cell = 0;
    for (int i = 0; ok && i < n; i++) {
        for (int j = 0; j < n; j++) {
            for (int k = 0; k < n; k++, cell++) {
                const point *p = &f.nearest[index_of(&f, i, j, k)];
                double di = p->i - i, dj = p->j - j, dk = p->k - k;
                if (density[cell] > MPM_TARGET_CELL) {
                    distance[cell] = 0.0;
                } else if (p->i == unknown.i) {
                    distance[cell] = 1000.0;
                } else {
                    distance[cell] = sqrt((di * di + dj * dj + dk * dk) / ((double)n * n) + 1e-8);
                }
            }
        }
    }
    ds_memory_free(&f.memory);
    return ok;
}
