/* SPDX-License-Identifier: Apache-2.0 */
/* disc.h - a round slab on a lattice: its masses and springs, and its surface as triangles. */
#ifndef DS_ENGINES_CLOTH_DISC_H
#define DS_ENGINES_CLOTH_DISC_H

#include "mesh.h"

typedef struct cloth_disc {
    size_t layers, radius;     /* radius in lattice steps */
    double spacing;            /* m, of the lattice in all directions */
    double stiffness, damping; /* N/m, N s/m; half as stiff over two steps of a layer */
} cloth_disc;

/* Lattice points within the radius, in layers of (2 radius + 1)^2; springs to all neighbours closer than 1.75
 * steps and over two steps of a layer. 0 where there is no memory. */
int cloth_disc_mesh(cloth_mesh *m, ds_memory *room, const cloth_disc *d);

/* The vertices that are present, in order; `vertex` has room for m->vertices. Returns how many. */
uint64_t cloth_disc_vertices(const cloth_mesh *m, uint32_t *vertex);

/* Triangles of both faces and the rim of a mesh of two layers or more, three numbers in that order of
 * vertices each; room for cloth_disc_room(m). Returns how many numbers, 0 where there is no memory. */
uint64_t cloth_disc_triangles(const cloth_mesh *m, uint32_t *triangle);
uint64_t cloth_disc_room(const cloth_mesh *m);

#endif
