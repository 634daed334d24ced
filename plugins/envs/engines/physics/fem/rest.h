/* SPDX-License-Identifier: Apache-2.0 */
/* rest.h - the shape at rest as a quantity: elements from the positions of their corners at rest, and
 * derivatives of the forces by these positions and by the factors of stiffness of triangles and edges.
 *
 * Angles of edges at rest stay as they are: they do not change where a flat sheet is stretched or a mesh is
 * scaled. */
#ifndef DS_ENGINES_FEM_REST_H
#define DS_ENGINES_FEM_REST_H

#include "engines/physics/fem/pack.h"
#include "engines/physics/fem/variation.h"

/* Sets the constants at rest of all elements between the particles first .. first + count - 1 from m->rest.
 * Masses stay. */
void fem_rest_set(fem_model *m, size_t first, size_t count);

/* For a state and derivatives fb by the forces (layouts of kernels.h), adds the derivatives to bar->rest (if
 * m->rest is set), bar->triangle_factor and bar->edge_factor. */
void fem_rest_vjp(const fem_pack *p, const fem_model *m, const double *state, const double *fb,
                  fem_variation *bar);
/* Adds the change of the forces along the same members of `dot`. */
void fem_rest_jvp(const fem_pack *p, const fem_model *m, const double *state, const fem_variation *dot,
                  double *force_dot);

/* The volume of tetrahedron t, or the area of triangle t (`tet` 0), by the positions at rest: adds size_bar
 * times its derivatives to rest_bar; its change along rest_dot. */
void fem_rest_size_vjp(const fem_model *m, int tet, size_t t, double size_bar, double *rest_bar);
double fem_rest_size_jvp(const fem_model *m, int tet, size_t t, const double *rest_dot);

#endif
