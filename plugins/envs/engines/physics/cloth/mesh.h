/* SPDX-License-Identifier: Apache-2.0 */
/* mesh.h - masses on a lattice and the springs between them, laid out so that the loops over springs read and
 * write consecutive memory. */
#ifndef DS_ENGINES_CLOTH_MESH_H
#define DS_ENGINES_CLOTH_MESH_H

#include <diffsim/helper/memory.h>

enum { CLOTH_BANDS = 16, CLOTH_LANES = 8 };

/* All springs that connect lattice points at the same step (layer, row, column) apart. Spring s of the band
 * connects the vertices first + s and first + offset + s and has the constants k[at + s], c[at + s]. Where
 * the lattice has no such spring (the step leads across its border, or a point is absent) k and c are 0: such
 * a spring exerts no force, and the band stays one loop without gaps, of whole vectors. */
typedef struct cloth_band {
    size_t first, offset, count, at;
    int step[3]; /* layers, rows, columns */
    double rest; /* m, the length at which a spring of the band is at rest */
} cloth_band;

typedef struct cloth_mesh {
    size_t layers, rows, columns;
    size_t vertices; /* layers rows columns; vertex id = (layer rows + row) columns + column */
    size_t stride;   /* length of an array over vertices: vertices and the tails of bands, whole vectors */
    size_t springs;  /* slots of k and c, absent ones included */
    cloth_band band[CLOTH_BANDS];
    size_t bands;
    unsigned char *present; /* per vertex: 0 = there is no mass here */
    double *k;              /* N/m, per slot; also adjust them between episodes */
    double *c;              /* N s/m, damping along the spring, per slot */
} cloth_mesh;

/* A lattice with all points present and no springs; its arrays, with room for all bands, are of `room`.
 * 0 where there is no memory. */
int cloth_mesh_open(cloth_mesh *m, ds_memory *room, size_t layers, size_t rows, size_t columns);

/* Adds the springs of one step: layers >= 0, and the first component that is not 0 is positive. Vertices that
 * are to be absent have been marked before. At most CLOTH_BANDS of them. */
void cloth_mesh_band(cloth_mesh *m, int layer, int row, int column, double k, double c, double rest);

/* Is there a spring in slot s of the band? */
int cloth_mesh_has(const cloth_mesh *m, const cloth_band *b, size_t s);

/* The lattice coordinates of a vertex. */
static inline void cloth_mesh_at(const cloth_mesh *m, size_t vertex, size_t at[3])
{
    at[0] = vertex / (m->rows * m->columns);
    at[1] = vertex / m->columns % m->rows;
    at[2] = vertex % m->columns;
}

#endif
