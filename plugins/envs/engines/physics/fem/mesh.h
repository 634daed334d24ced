/* SPDX-License-Identifier: Apache-2.0 */
/* mesh.h - meshes of points, triangles and tetrahedra: procedural shapes, surfaces, edges, elements at rest.
 *
 * A function below or a reader (read.h) makes a mesh; the caller owns it and releases it with
 * fem_mesh_free(). Lengths are in m. Functions that make a mesh return DS_OK, DS_E_NOMEM, or DS_E_PARAM for a
 * size that is not 1..FEM_MOST_POINTS; the mesh is empty after a failure. */
#ifndef DS_ENGINES_FEM_MESH_H
#define DS_ENGINES_FEM_MESH_H

#include <diffsim/base.h>

#include <stddef.h>
#include <stdint.h>

enum { FEM_MOST_POINTS = 1 << 20, FEM_MOST_ELEMENTS = 1 << 22 };

/* A named group of a file: of tetrahedra (dimension 3) or of triangles (2). */
enum { FEM_GROUP_NAME = 64 };
typedef struct fem_group {
    int32_t dimension, number;
    char name[FEM_GROUP_NAME];
} fem_group;

typedef struct fem_mesh {
    size_t points, triangles, tets;
    double *point;      /* [points][3] */
    uint32_t *triangle; /* [triangles][3], counter-clockwise seen from outside or from +z */
    uint32_t *tet;      /* [tets][4], positive volume in the meshes of this file */
    /* Of a mesh that a file gives (read.h), else NULL and 0: the group of each tetrahedron and triangle, the
     * names of groups, how many tetrahedra had a negative volume and the first of them. */
    int32_t *group, *triangle_group;
    fem_group *named;
    size_t groups, turned, first_turned;
} fem_mesh;

/* Opens a mesh with arrays of zeros. */
ds_status fem_mesh_open(fem_mesh *m, size_t points, size_t triangles, size_t tets);
void fem_mesh_free(fem_mesh *m);

/* Cloth: (nx + 1)(ny + 1) points p(x, y) = x a + y b, index y (nx + 1) + x, two triangles per cell. */
ds_status fem_mesh_grid(fem_mesh *m, size_t nx, size_t ny, const double a[3], const double b[3]);
/* Hexahedral cells of the given size from the origin, 5 tetrahedra each with alternating parity;
 * fem_block_index() gives the index of a point. */
ds_status fem_mesh_block(fem_mesh *m, size_t nx, size_t ny, size_t nz, const double cell[3]);
static inline uint32_t fem_block_index(size_t nx, size_t ny, size_t x, size_t y, size_t z)
{
    return (uint32_t)((z * (ny + 1) + y) * (nx + 1) + x);
}
/* A beam along x, 20 x 2 x 2 cells of 0.1: x in [-1, 1], y in [0, 0.2], z in [-0.1, 0.1]. */
ds_status fem_mesh_beam(fem_mesh *m);
/* A body on two legs in the plane z = 0: 74 points, 104 triangles; its feet stand at y = 0.0571795. */
ds_status fem_mesh_walker(fem_mesh *m);
/* The cap of a sphere of radius `radius` m about the y axis, pole up, as far as `angle` rad from it: the pole
 * and `rings` rings of `sectors` points, 3 at least. The pole is at the origin. */
ds_status fem_mesh_bell(fem_mesh *m, size_t rings, size_t sectors, double radius, double angle);
/* A wheel with 16 teeth about the z axis: 480 points, 1152 tetrahedra. */
ds_status fem_mesh_gear(fem_mesh *m);
/* Shells of radius 1 and 0.5 about the origin: 85 points, 320 tetrahedra. */
ds_status fem_mesh_ball(fem_mesh *m);
/* The surface of a cube with corners (+-1, +-1, +-1)/sqrt(3): 8 points, 12 triangles. */
ds_status fem_mesh_cube(fem_mesh *m);
/* The surface of a sphere of radius 1, an icosahedron subdivided twice: 162 points, 320 triangles. */
ds_status fem_mesh_sphere(fem_mesh *m);
/* Surfaces about the origin. A box: half sizes, points as those of the cube. Surfaces about the y axis have
 * points from the bottom pole over rings to the top pole: a cone and a cylinder of radius 1 and height 2 (34
 * and 66 points, 32 per ring), a capsule of radius 1, 4 high (594 points: 37 rings of 16; 9 in each cap,
 * including its rim, and 19 between). */
ds_status fem_mesh_box(fem_mesh *m, const double half[3]);
ds_status fem_mesh_cone(fem_mesh *m);
ds_status fem_mesh_cylinder(fem_mesh *m);
ds_status fem_mesh_capsule(fem_mesh *m);

/* Shifts the mean of the points to the origin and divides by the largest distance from it. Returns 0 if this
 * is not finite and positive. */
int fem_mesh_normalise(fem_mesh *m);

/* Replaces the triangles by the faces that belong to only one tetrahedron, outward. DS_E_PARAM: more than two
 * tetrahedra share the face of *bad (a tetrahedron; may be NULL). */
ds_status fem_mesh_surface(fem_mesh *m, size_t *bad);

/* Edges with a triangle on either side: (i, j, k, l) with opposite vertices i, j and the shared edge k, l, so
 * that the triangles are (k, l, i) and (l, k, j) up to rotation. The caller frees *edge, NULL if there are
 * none. DS_E_PARAM: three triangles meet at an edge of *bad, or two run along it in the same sense. */
ds_status fem_mesh_edges(const fem_mesh *m, uint32_t **edge, size_t *edges, size_t *bad);

double fem_mesh_area(const fem_mesh *m);   /* m^2, of the triangles */
double fem_mesh_volume(const fem_mesh *m); /* m^3, of the tetrahedra */
double fem_tet_volume(const double *a, const double *b, const double *c, const double *d);

/* Exchanges two vertices of each tetrahedron of negative volume. Returns how many. */
size_t fem_mesh_orient(fem_mesh *m);

/* ---- elements at rest; points of three numbers, in m ---- */

/* Sets the inverse of the edges (q1 - q0, q2 - q0) in the plane of the triangle, row by row. Returns the
 * area; 0 if it is not above working precision. */
double fem_rest_triangle(const double *q0, const double *q1, const double *q2, double inverse[4]);

/* Sets the inverse of the matrix with columns q1 - q0, q2 - q0, q3 - q0. Returns the volume, which is
 * positive; 0 if it is not above working precision. */
double fem_rest_tet(const double *q0, const double *q1, const double *q2, const double *q3,
                    double inverse[9]);

/* Sets the angle between the triangles (x3, x4, x1) and (x4, x3, x2). Returns the length of the edge x3, x4;
 * 0 if the edge or a triangle is degenerate. */
double fem_rest_edge(const double *x1, const double *x2, const double *x3, const double *x4, double *angle);

#endif
