/* SPDX-License-Identifier: Apache-2.0 */
/* read.h - meshes from files: Wavefront OBJ, Gmsh MSH 2.2 and 4.1 (text or binary), TetGen .node with .ele.
 *
 * Polygons become fans of triangles; a quadrangle or other element that is neither a triangle nor a
 * tetrahedron is an error in a volume mesh and left out where it is a point or a line. Points that no element
 * uses are kept. Tetrahedra of negative volume are turned over; degenerate elements, repeated vertices,
 * numbers that are not finite and sizes beyond FEM_MOST_* are refused with one line: file, line, what.
 *
 * All return 0, or with a line in `error`: 2 = memory, 1 = the file. The mesh is empty then. */
#ifndef DS_ENGINES_FEM_READ_H
#define DS_ENGINES_FEM_READ_H

#include "engines/physics/fem/mesh.h"

enum { FEM_READ_ERROR = 400 };

/* By the end of its name: .obj, .msh, .node or .ele (its partner is found by it). */
int fem_read_mesh(fem_mesh *m, const char *path, char error[FEM_READ_ERROR]);

/* From memory; `name` is for messages. */
int fem_parse_obj(fem_mesh *m, const char *text, size_t size, const char *name, char error[FEM_READ_ERROR]);
int fem_parse_gmsh(fem_mesh *m, const char *text, size_t size, const char *name, char error[FEM_READ_ERROR]);
int fem_parse_tetgen(fem_mesh *m, const char *node, size_t node_size, const char *node_name, const char *ele,
                     size_t ele_size, const char *ele_name, char error[FEM_READ_ERROR]);

/* Whether each edge of the triangles has exactly two of them, in opposite sense: a surface that is closed. 0,
 * or 1 with a line that names a triangle (from 1). 2: memory. */
int fem_check_closed(const fem_mesh *m, const char *name, char error[FEM_READ_ERROR]);

#endif
