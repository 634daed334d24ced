/* SPDX-License-Identifier: Apache-2.0 */
/* plot_contour.c - marching squares, and the joining of its segments to lines. */
#include "config.h"

#include "plot/plot_contour.h"

#include <math.h>
#include <stdlib.h>

#define NONE UINT64_MAX

/* Edge 2k leads from grid point k to the right, edge 2k + 1 from k to the next row. A line passes from edge
 * to edge; each edge has at most two neighbours on it. */
typedef struct mesh {
    const double *v;
    uint64_t columns, rows;
    double level;
    uint64_t (*link)[2];
} mesh;

static void join(mesh *m, uint64_t a, uint64_t b)
{
    m->link[a][m->link[a][0] == NONE ? 0 : 1] = b;
    m->link[b][m->link[b][0] == NONE ? 0 : 1] = a;
}

/* The segments of the cell whose first corner is point k. */
static void join_cell(mesh *m, uint64_t k)
{
    const double *v = m->v;
    uint64_t w = m->columns;
    double corner[4] = {v[k], v[k + 1], v[k + w + 1], v[k + w]};
    uint64_t edge[4] = {2 * k, 2 * (k + 1) + 1, 2 * (k + w), 2 * k + 1}; /* bottom, right, top, left */
    uint64_t crossed[4];
    int above[4], n = 0;
    double sum = 0;
    for (int c = 0; c < 4; c++) {
        if (!isfinite(corner[c])) {
            return;
        }
        above[c] = corner[c] >= m->level;
        sum += corner[c] / 4;
    }
    for (int c = 0; c < 4; c++) {
        if (above[c] != above[(c + 1) % 4]) {
            crossed[n++] = edge[c];
        }
    }
    if (n == 2) {
        join(m, crossed[0], crossed[1]);
    } else if (n == 4) {
        /* A saddle: its middle decides which corners belong together. */
        int with_first = (sum >= m->level) == above[0];
        join(m, crossed[0], crossed[with_first ? 1 : 3]);
        join(m, crossed[2], crossed[with_first ? 3 : 1]);
    }
}

static void place(const mesh *m, uint64_t edge, double *xy)
{
    uint64_t a = edge / 2, b = edge % 2 == 0 ? a + 1 : a + m->columns;
    double t = (m->level - m->v[a]) / (m->v[b] - m->v[a]);
    t = isfinite(t) ? t : 0.5;
    xy[0] = (double)(a % m->columns) + (edge % 2 == 0 ? t : 0);
    xy[1] = (double)(a / m->columns) + (edge % 2 == 0 ? 0 : t);
}

/* Walks along a line from its end, or around it, and takes its links away. */
static size_t walk(mesh *m, uint64_t edge, double *xy)
{
    size_t n = 0;
    place(m, edge, xy);
    for (n = 1; m->link[edge][0] != NONE || m->link[edge][1] != NONE; n++) {
        int side = m->link[edge][0] != NONE ? 0 : 1;
        uint64_t next = m->link[edge][side];
        m->link[edge][side] = NONE;
        int back = m->link[next][0] == edge ? 0 : 1;
        m->link[next][back] = NONE;
        edge = next;
        place(m, edge, xy + 2 * n);
    }
    return n;
}

int ds_contour(const double *v, uint64_t columns, uint64_t rows, double level, ds_contour_line *line,
               void *ctx)
{
    if (columns < 2 || rows < 2) {
        return 0;
    }
    uint64_t edges = 2 * columns * rows;
    mesh m = {v, columns, rows, level, malloc(edges * sizeof *m.link)};
    double *xy = malloc((edges + 1) * 2 * sizeof *xy);
    if (m.link == NULL || xy == NULL) {
        free(m.link);
        free(xy);
        return -1;
    }
    for (uint64_t k = 0; k < edges; k++) {
        m.link[k][0] = m.link[k][1] = NONE;
    }
    for (uint64_t j = 0; j + 1 < rows; j++) {
        for (uint64_t i = 0; i + 1 < columns; i++) {
            join_cell(&m, j * columns + i);
        }
    }
    for (int closed = 0; closed < 2; closed++) { /* open lines from their ends first */
        for (uint64_t k = 0; k < edges; k++) {
            int one = m.link[k][0] != NONE, two = m.link[k][1] != NONE;
            if (closed ? one || two : one != two) {
                line(ctx, xy, walk(&m, k, xy));
            }
        }
    }
    free(m.link);
    free(xy);
    return 0;
}
