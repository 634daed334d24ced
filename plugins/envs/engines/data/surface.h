/* SPDX-License-Identifier: Apache-2.0 */
/* surface.h - closed surfaces of triangles from files (OBJ, STL, PLY, and the boundary of Gmsh and TetGen
 * volumes, see engines/physics/fem/read.h): their checks, what is inside, points inside, signed distances.
 *
 * surface_read() refuses, with one line that says what to change: files that cannot be read, holes, faces
 * that disagree about inside and outside, surfaces turned inside out, no volume, more than SURFACE_MOST_FACES
 * faces. Lengths are those of the file times `scale`. Not for several threads at once while it is made. */
#ifndef SURFACE_H
#define SURFACE_H

#include "engines/data/distance_grid.h"
#include "engines/physics/fem/mesh.h"

#include <stdbool.h>

enum { SURFACE_ERROR = 500, SURFACE_MOST_FACES = 200000 };

typedef struct surface {
    fem_mesh mesh; /* points and triangles, counter-clockwise seen from outside */
    double low[3], high[3], volume;
    /* Triangles by the cells of a grid in y and z that their box touches: those of cell c are
     * item[start[c]] .. item[start[c + 1] - 1]. */
    int cells[2];
    double cell[2];
    uint32_t *start, *item;
} surface;

/* Reads, scales and checks a closed surface. Returns 0; or with a line in `error` and an empty surface 1 =
 * the file, 2 = no memory. */
int surface_read(surface *s, const char *path, double scale, char error[SURFACE_ERROR]);
/* The same from a mesh, which it owns afterwards, also after a failure; `name` is for messages. */
int surface_open(surface *s, fem_mesh *mesh, const char *name, char error[SURFACE_ERROR]);
void surface_free(surface *s);

/* Parity of the crossings of a ray along +x; points of an edge count for one of its faces. */
bool surface_inside(const surface *s, const double x[3]);

/* Samples the signed distance with `cells` spacings along the longest edge of the box around the surface and
 * a margin of 4 spacings. The values come from malloc(). Returns false without memory. */
bool surface_distances(const surface *s, int cells, distance_grid *out);

#endif
