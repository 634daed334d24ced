/* SPDX-License-Identifier: Apache-2.0 */
/* mesh.c - bands of springs of a lattice, and the mesh of a disc (see mesh.h). */
#include "mesh.h"

#include <math.h>
#include <stdlib.h>
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

/* Returns whether a spring goes from the vertex along the step. */
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
        return; /* the lattice is too small for this step */
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

/* ---- discs ---- */

int cloth_disc_mesh(cloth_mesh *m, ds_memory *room, const cloth_disc *d)
{
    static const int layer_step[6][2] = {{0, 1}, {1, 0}, {1, 1}, {1, -1}, {0, 2}, {2, 0}};
    int radius = (int)d->radius;
    double k = d->stiffness, c = d->damping;
    if (!cloth_mesh_open(m, room, d->layers, 2 * d->radius + 1, 2 * d->radius + 1)) {
        return 0;
    }
    for (size_t v = 0; v < m->vertices; v++) {
        size_t at[3];
        cloth_mesh_at(m, v, at);
        int i = (int)at[1] - radius, j = (int)at[2] - radius;
        m->present[v] = i * i + j * j <= radius * radius;
    }
    for (int s = 0; s < 6; s++) {
        double length = d->spacing * hypot(layer_step[s][0], layer_step[s][1]);
        cloth_mesh_band(m, 0, layer_step[s][0], layer_step[s][1], s < 4 ? k : 0.5 * k, c, length);
    }
    for (int i = -1; i <= 1; i++) {
        for (int j = -1; j <= 1; j++) {
            cloth_mesh_band(m, 1, i, j, k, c, d->spacing * sqrt(1 + i * i + j * j));
        }
    }
    return 1;
}

uint64_t cloth_disc_vertices(const cloth_mesh *m, uint32_t *vertex)
{
    uint64_t count = 0;
    for (uint32_t v = 0; v < m->vertices; v++) {
        if (m->present[v]) {
            vertex[count++] = v;
        }
    }
    return count;
}

/* Two triangles per cell of both faces, and two for each of at most two edges per cell on the rim. */
uint64_t cloth_disc_room(const cloth_mesh *m)
{
    return (12 + 24) * (uint64_t)(m->rows * m->columns);
}

typedef struct list {
    uint32_t *triangle;
    uint64_t count;
} list;

static void add(list *l, uint32_t a, uint32_t b, uint32_t c)
{
    const uint32_t t[3] = {a, b, c};
    memcpy(l->triangle + l->count, t, sizeof t);
    l->count += 3;
}

/* Adds the face of the first layer; number[v]: index of vertex v among the present ones. */
static void add_face(const cloth_mesh *m, const uint32_t *number, list *l)
{
    uint32_t columns = (uint32_t)m->columns;
    for (uint32_t i = 0; i + 1 < m->rows; i++) {
        for (uint32_t j = 0; j + 1 < columns; j++) {
            const uint32_t cell[4] = {i * columns + j, i * columns + j + 1, (i + 1) * columns + j + 1,
                                      (i + 1) * columns + j};
            uint32_t have[4], count = 0;
            for (int q = 0; q < 4; q++) {
                have[count] = number[cell[q]];
                count += m->present[cell[q]];
            }
            for (uint32_t q = 2; q < count; q++) {
                add(l, have[0], have[q - 1], have[q]);
            }
        }
    }
}

/* Adds a quad at each edge a-b of the first face that belongs to one triangle only. `edge`: n x n zeros. */
static void add_rim(uint64_t face, uint32_t n, uint32_t top, uint8_t *edge, list *l)
{
    for (int pass = 0; pass < 2; pass++) {
        for (uint64_t t = 0; t < face; t++) {
            uint32_t a = l->triangle[t], b = l->triangle[t % 3 == 2 ? t - 2 : t + 1];
            if (pass == 0) {
                edge[a * n + b] = 1;
            } else if (!edge[b * n + a]) {
                add(l, a, b, b + top);
                add(l, a, b + top, a + top);
            }
        }
    }
}

uint64_t cloth_disc_triangles(const cloth_mesh *m, uint32_t *triangle)
{
    list l = {triangle, 0};
    uint32_t count = 0, layer, top;
    uint32_t *number = calloc(m->vertices, sizeof *number);
    uint8_t *edge = NULL;
    for (size_t v = 0; number && v < m->vertices; v++) {
        number[v] = count;
        count += m->present[v];
    }
    layer = count / (uint32_t)m->layers;
    top = count - layer;
    edge = calloc((size_t)layer * layer, 1);
    if (number && edge) {
        add_face(m, number, &l);
        uint64_t face = l.count;
        for (uint64_t t = 0; t < face; t += 3) {
            add(&l, triangle[t] + top, triangle[t + 2] + top, triangle[t + 1] + top);
        }
        add_rim(face, layer, top, edge, &l);
    }
    free(number);
    free(edge);
    return l.count;
}
