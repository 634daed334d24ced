/* SPDX-License-Identifier: Apache-2.0 */
/* surfaces.h - closed surfaces of bodies: which vertices of one body are near the surface of another.
 *
 * A pair is a vertex and the nearest place on the surface of another body: inside a triangle, on an edge or
 * at a corner. It depends on the positions alone, not on the search. */
#ifndef DS_ENGINES_FEM_SURFACES_H
#define DS_ENGINES_FEM_SURFACES_H

#include <diffsim/helper/memory.h>

#include <stddef.h>
#include <stdint.h>

typedef enum fem_feature { FEM_FACE, FEM_EDGE, FEM_CORNER } fem_feature;

typedef struct fem_near_pair {
    uint32_t vertex, body; /* particle; index of the other body */
    uint32_t corner[3];    /* particles of the triangle; the edge has the first two, the corner the first */
    fem_feature feature;
    double sign; /* 1: the vertex is outside; -1: inside */
} fem_near_pair;

typedef struct fem_surfaces fem_surfaces;

/* Surfaces of several bodies: triangles by particles, outward; body[triangles], ascending, below `bodies`.
 * Copies them; arrays are from `room`. NULL without memory (room->failed). One thread per object. */
fem_surfaces *fem_surfaces_open(ds_memory *room, const uint32_t *triangle, const uint32_t *body,
                                size_t triangles, size_t bodies);

/* Mean length of the edges at the positions q[particles][3], m. */
double fem_surfaces_edge(const fem_surfaces *s, const double *q);

/* All pairs at most `reach` m from each other, which stay valid until the next call; positions are `width`
 * numbers apart. Sets *pairs; returns how many. */
size_t fem_surfaces_near(fem_surfaces *s, const double *q, size_t width, double reach,
                         const fem_near_pair **pairs);

#endif
