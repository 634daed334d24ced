/* SPDX-License-Identifier: Apache-2.0 */
/* Distance to the target by sweeps that hand on nearest points (PlasticineLab: losses/loss.py,
 * update_target_sdf). In every sweep each node outside the target looks at the previous sweep's nearest
 * points of the nodes at offsets -3..2 (the original leaves out +3) and takes the closest one, the first in
 * lexicographic order of the offset on ties. The result is that of the original's 2 n sweeps over all nodes,
 * but a node is visited only when one of the nodes it looks at has changed, and squared distances are
 * compared as integers (in nodes), which is exact. */
#include "distance.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { BACK = 3, AHEAD = 2 }; /* offsets run from -BACK to AHEAD */

/* Nearest target node of a node; `far` components mean that none is known yet. */
typedef struct nearest {
    int16_t i, j, k;
} nearest;

enum { FAR = 8192 };

typedef struct field {
    int n;
    nearest *now, *next; /* of the previous and of the present sweep */
    uint8_t *changed;    /* in the previous sweep, then spread to the nodes that look at it */
    uint8_t *spread;
} field;

/* For each node: does any node at offset -BACK..AHEAD along one axis have its flag set? `step` is the
 * distance of neighbours along this axis in memory. */
static void spread_line(int n, size_t step, const uint8_t *in, uint8_t *out)
{
    int last = -BACK - AHEAD - 1; /* the highest flagged position seen so far */
    for (int p = 0; p < AHEAD && p < n; p++) {
        last = in[(size_t)p * step] ? p : last;
    }
    for (int p = 0; p < n; p++) {
        if (p + AHEAD < n && in[(size_t)(p + AHEAD) * step]) {
            last = p + AHEAD;
        }
        out[(size_t)p * step] = last >= p - BACK;
    }
}

/* changed -> nodes to be visited, by one pass per axis. */
static void spread_changes(field *f)
{
    size_t n = (size_t)f->n;
    const size_t step[3] = {n * n, n, 1};
    for (int axis = 0; axis < 3; axis++) {
        size_t a = step[axis], b = step[(axis + 1) % 3], c = step[(axis + 2) % 3];
        for (size_t i = 0; i < n; i++) {
            for (size_t j = 0; j < n; j++) {
                spread_line(f->n, a, f->changed + i * b + j * c, f->spread + i * b + j * c);
            }
        }
        uint8_t *t = f->changed;
        f->changed = f->spread;
        f->spread = t;
    }
}

static int lower_bound(int p)
{
    return p > BACK ? p - BACK : 0;
}

static int upper_bound(int p, int n)
{
    return p + AHEAD < n ? p + AHEAD : n - 1;
}

/* The closest of the nearest points known to the nodes around (i, j, k), itself excluded. */
static nearest look_around(field *f, size_t self, int i, int j, int k)
{
    int n = f->n;
    nearest found = {FAR, FAR, FAR}, own = f->now[self];
    f->now[self] = found;
    int best = 3 * FAR * (FAR / 4); /* above every true distance, below every FAR one */
    int k0 = lower_bound(k), k1 = upper_bound(k, n);
    for (int a = lower_bound(i); a <= upper_bound(i, n); a++) {
        for (int b = lower_bound(j); b <= upper_bound(j, n); b++) {
            const nearest *line = f->now + ((size_t)a * (size_t)n + (size_t)b) * (size_t)n;
            for (int c = k0; c <= k1; c++) {
                int di = line[c].i - i, dj = line[c].j - j, dk = line[c].k - k;
                int d = di * di + dj * dj + dk * dk;
                if (d < best) {
                    best = d;
                    found = line[c];
                }
            }
        }
    }
    f->now[self] = own;
    return found;
}

/* One sweep; returns whether anything changed. */
static bool sweep(field *f, const double *density)
{
    int n = f->n;
    bool any = false;
    size_t at = 0;
    spread_changes(f);
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) {
            for (int k = 0; k < n; k++, at++) {
                bool visit = f->changed[at] && !(density[at] > MPM_TARGET_CELL);
                f->changed[at] = 0;
                if (!visit) {
                    continue;
                }
                nearest found = look_around(f, at, i, j, k);
                if (memcmp(&found, &f->now[at], sizeof found) != 0) {
                    f->next[at] = found;
                    f->changed[at] = 1;
                    any = true;
                }
            }
        }
    }
    if (any) {
        for (size_t p = 0; p < at; p++) {
            if (f->changed[p]) {
                f->now[p] = f->next[p];
            }
        }
    }
    return any;
}

bool mpm_distance_field(int n, const double *density, double *distance)
{
    size_t cells = (size_t)n * (size_t)n * (size_t)n;
    field f = {n, malloc(cells * sizeof(nearest)), malloc(cells * sizeof(nearest)), malloc(cells),
               malloc(cells)};
    bool ok = f.now && f.next && f.changed && f.spread;
    size_t at = 0;
    for (int i = 0; ok && i < n; i++) {
        for (int j = 0; j < n; j++) {
            for (int k = 0; k < n; k++, at++) {
                bool inside = density[at] > MPM_TARGET_CELL;
                nearest start = {FAR, FAR, FAR}, self = {(int16_t)i, (int16_t)j, (int16_t)k};
                f.now[at] = inside ? self : start;
                f.changed[at] = inside;
            }
        }
    }
    for (int s = 0; ok && s < 2 * n && sweep(&f, density); s++) {
    }
    at = 0;
    for (int i = 0; ok && i < n; i++) {
        for (int j = 0; j < n; j++) {
            for (int k = 0; k < n; k++, at++) {
                double di = f.now[at].i - i, dj = f.now[at].j - j, dk = f.now[at].k - k;
                if (density[at] > MPM_TARGET_CELL) {
                    distance[at] = 0.0;
                } else if (f.now[at].i == FAR) {
                    distance[at] = 1000.0;
                } else {
                    distance[at] = sqrt((di * di + dj * dj + dk * dk) / ((double)n * n) + 1e-8);
                }
            }
        }
    }
    free(f.now);
    free(f.next);
    free(f.changed);
    free(f.spread);
    return ok;
}
