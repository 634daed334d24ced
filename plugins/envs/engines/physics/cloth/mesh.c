/* SPDX-License-Identifier: Apache-2.0 */
/* mesh.c - bands of springs of a lattice (see mesh.h). */
#include "mesh.h"

#include <string.h>

int cloth_mesh_open(cloth_mesh *m, ds_memory *room, size_t layers, size_t rows, size_t columns)
{
    memset(m, 0, sizeof *m);
    m->layers = layers;
    m->rows = rows;
    m->columns = columns;
    m->vertices = layers * rows * columns;
    m->stride = (m->vertices + 2 * CLOTH_LANES - 2) / CLOTH_LANES * CLOTH_LANES;
    m->present = ds_memory_take(room, m->stride, 1);
    m->k = ds_memory_doubles(room, CLOTH_BANDS * m->stride);
    m->c = ds_memory_doubles(room, CLOTH_BANDS * m->stride);
    if (room->failed) {
        return 0;
    }
    memset(m->present, 1, m->vertices);
    return 1;
}

/* Is there a spring from the vertex over the step? */
static int connected(const cloth_mesh *m, size_t vertex, const int step[3])
{
    const size_t size[3] = {m->layers, m->rows, m->columns};
    size_t at[3], to[3];
    if (vertex >= m->vertices) {
        return 0; /* the tail of a band */
    }
    cloth_mesh_at(m, vertex, at);
    for (int i = 0; i < 3; i++) {
        if (step[i] < 0 && at[i] < (size_t)-step[i]) {
            return 0;
        }
        to[i] = step[i] < 0 ? at[i] - (size_t)-step[i] : at[i] + (size_t)step[i];
        if (to[i] >= size[i]) {
            return 0;
        }
    }
    return m->present[vertex] && m->present[(to[0] * m->rows + to[1]) * m->columns + to[2]];
}

int cloth_mesh_has(const cloth_mesh *m, const cloth_band *b, size_t s)
{
    return connected(m, b->first + s, b->step);
}

void cloth_mesh_band(cloth_mesh *m, int layer, int row, int column, double k, double c, double rest)
{
    cloth_band *b = &m->band[m->bands];
    *b = (cloth_band){.step = {layer, row, column}, .rest = rest, .at = m->springs, .first = m->vertices};
    b->offset = (size_t)(((long)layer * (long)m->rows + row) * (long)m->columns + column);
    size_t last = 0;
    for (size_t v = 0; v + b->offset < m->vertices; v++) {
        if (connected(m, v, b->step)) {
            b->first = v < b->first ? v : b->first;
            last = v + 1;
        }
    }
    if (last == 0) {
        return; /* the lattice is too small for such springs */
    }
    b->count = (last - b->first + CLOTH_LANES - 1) / CLOTH_LANES * CLOTH_LANES;
    for (size_t s = 0; s < b->count; s++) {
        int has = cloth_mesh_has(m, b, s);
        m->k[b->at + s] = has ? k : 0;
        m->c[b->at + s] = has ? c : 0;
    }
    m->springs += b->count;
    m->bands++;
}
