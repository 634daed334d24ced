/* SPDX-License-Identifier: Apache-2.0 */
/* read.h - meshes from files: Wavefront OBJ, STL and PLY (text or binary), Gmsh MSH 2.2 and 4.1 (text or
 * binary), TetGen .node with .ele. engines/data/surface.h makes closed surfaces of them.
 *
 * Polygons become fans of triangles. In a volume mesh points and lines are skipped; any other element that is
 * not a triangle or a tetrahedron is an error. Points without elements are kept. Tetrahedra of negative
 * volume are turned over and counted. The group of an element is its physical group in Gmsh files (the first
 * one; in MSH 4.1 files without physical groups the number of its volume or surface), its first attribute in
 * TetGen, 0 without one. Degenerate elements,
 * repeated vertices, numbers that are not finite and sizes beyond FEM_MOST_* are refused with one line:
 * file, line, what.
 *
 * All functions return 0; or with a line in `error` and an empty mesh 1 = the file is bad, 2 = no memory. */
#ifndef DS_ENGINES_FEM_READ_H
#define DS_ENGINES_FEM_READ_H

#include "engines/physics/fem/mesh.h"

enum { FEM_READ_ERROR = 400 };

/* Reads a file by its suffix, in any case: .obj, .stl, .ply, .msh, .node or .ele (finds the partner file). */
int fem_read_mesh(fem_mesh *m, const char *path, char error[FEM_READ_ERROR]);
/* The triangles of a .obj, .stl or .ply file as a set of faces: those without area are left out. */
int fem_read_faces(fem_mesh *m, const char *path, char error[FEM_READ_ERROR]);
/* The vertices of a .ply file, which may have no faces. */
int fem_read_points(fem_mesh *m, const char *path, char error[FEM_READ_ERROR]);

/* Parses from memory; `name` is for messages. */
int fem_parse_obj(fem_mesh *m, const char *text, size_t size, const char *name, char error[FEM_READ_ERROR]);
int fem_parse_stl(fem_mesh *m, const char *text, size_t size, const char *name, char error[FEM_READ_ERROR]);
int fem_parse_ply(fem_mesh *m, const char *text, size_t size, const char *name, char error[FEM_READ_ERROR]);
int fem_parse_ply_points(fem_mesh *m, const char *text, size_t size, const char *name,
                         char error[FEM_READ_ERROR]);
int fem_parse_gmsh(fem_mesh *m, const char *text, size_t size, const char *name, char error[FEM_READ_ERROR]);
int fem_parse_tetgen(fem_mesh *m, const char *node, size_t node_size, const char *node_name, const char *ele,
                     size_t ele_size, const char *ele_name, char error[FEM_READ_ERROR]);

#endif
