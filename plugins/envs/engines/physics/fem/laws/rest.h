/* SPDX-License-Identifier: Apache-2.0 */
/* rest.h - what an element remembers of its shape at rest. Points are of three numbers, in m. */
#ifndef DS_ENGINES_FEM_REST_H
#define DS_ENGINES_FEM_REST_H

/* Inverse of the edges (q1 - q0, q2 - q0) in the plane of the triangle, rows one after the other, and its
 * area; 0 where it has none to working precision. */
double fem_rest_triangle(const double *q0, const double *q1, const double *q2, double inverse[4]);

/* Inverse of the matrix with columns q1 - q0, q2 - q0, q3 - q0, and its volume, which is positive; 0 where it
 * has none to working precision. */
double fem_rest_tet(const double *q0, const double *q1, const double *q2, const double *q3,
                    double inverse[9]);

/* Angle between the triangles (x3, x4, x1) and (x4, x3, x2), and the length of the edge x3, x4; 0 where the
 * edge or a triangle is degenerate. */
double fem_rest_edge(const double *x1, const double *x2, const double *x3, const double *x4, double *angle);

#endif
