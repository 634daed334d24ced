/* SPDX-License-Identifier: Apache-2.0 */
/* mesh.h - masses on a lattice and the springs between them, laid out so that loops over springs read and
 * write consecutive memory; discs on a lattice. */
#ifndef DS_ENGINES_CLOTH_MESH_H
#define DS_ENGINES_CLOTH_MESH_H

#include <diffsim/helper/memory.h>

enum { CLOTH_BANDS = 16, CLOTH_LANES = 8 };

/* A band: all springs between lattice points that are the same step (layers, rows, columns) apart. Spring s
 * connects the vertices first + s and first + offset + s and has the constants k[at + s], c[at + s]. Where
 * the lattice has no such spring (the step crosses its border, or a point is absent) k and c are 0. Such a
 * spring exerts no force, and the band stays one loop of whole vectors without gaps. */
typedef struct cloth_band {
    size_t first, offset, count, at;
    int step[3]; /* layers, rows, columns */
    double rest; /* m, rest length of the springs */
} cloth_band;

typedef struct cloth_mesh {
    size_t layers, rows, columns;
    size_t vertices; /* layers rows columns; vertex id = (layer rows + row) columns + column */
    size_t stride;   /* length of an array over vertices: vertices and the tails of bands, in whole vectors */
    size_t springs;  /* slots of k and c, absent ones included */
    cloth_band band[CLOTH_BANDS];
    size_t bands;
    unsigned char *present; /* per vertex: 0 = no mass here */
    double *k;              /* N/m, per slot; may change between episodes */
    double *c;              /* N s/m, damping along the spring, per slot */
} cloth_mesh;

/* Opens a lattice with all points present and no springs; arrays from `room`, with room for all bands.
 * Returns 0 without memory. */
int cloth_mesh_open(cloth_mesh *m, ds_memory *room, size_t layers, size_t rows, size_t columns);

/* Adds the springs of one step: layers >= 0, and the first component that is not 0 is positive. Mark absent
 * vertices before. At most CLOTH_BANDS calls. */
void cloth_mesh_band(cloth_mesh *m, int layer, int row, int column, double k, double c, double rest);

/* Returns whether slot s of the band holds a spring. */
int cloth_mesh_has(const cloth_mesh *m, const cloth_band *b, size_t s);

/* The lattice coordinates of a vertex. */
static inline void cloth_mesh_at(const cloth_mesh *m, size_t vertex, size_t at[3])
{
    at[0] = vertex / (m->rows * m->columns);
    at[1] = vertex / m->columns % m->rows;
    at[2] = vertex % m->columns;
}

/* ---- discs ---- */

typedef struct cloth_disc {
    size_t layers, radius;     /* radius in lattice steps */
    double spacing;            /* m, of the lattice in all directions */
    double stiffness, damping; /* N/m, N s/m; half as stiff over two steps of a layer */
} cloth_disc;

/* A round slab: the lattice points within the radius, in layers of (2 radius + 1)^2; springs to all
 * neighbours closer than 1.75 steps and over two steps within a layer. Returns 0 without memory. */
int cloth_disc_mesh(cloth_mesh *m, ds_memory *room, const cloth_disc *d);

/* Writes the present vertices in order (`vertex` has room for m->vertices) and returns their number. */
uint64_t cloth_disc_vertices(const cloth_mesh *m, uint32_t *vertex);

/* Writes the triangles of both faces and the rim of a mesh of at least two layers: three indices into the
 * present vertices each, room for cloth_disc_room(m) numbers. Returns how many numbers, 0 without memory. */
uint64_t cloth_disc_triangles(const cloth_mesh *m, uint32_t *triangle);
uint64_t cloth_disc_room(const cloth_mesh *m);

#endif
