/* SPDX-License-Identifier: Apache-2.0 */
/* spring.h - forces of damped springs and their adjoint. Vectors over vertices are structures of arrays:
 * component i of vertex v is at [i stride + v]. */
#ifndef DS_ENGINES_CLOTH_SPRING_H
#define DS_ENGINES_CLOTH_SPRING_H

#include "mesh.h"
#include "sets.h"

/* Instruction sets that the loops are compiled for. All do the same operations in the same order without
 * fused multiply-add, so results are bitwise the same. */
enum { SPRING_PORTABLE = 0, SPRING_AVX2 = 1, SPRING_AVX512 = 2 };

/* The widest set of this machine. */
int spring_widest(void);

/* Adds the forces at positions x and velocities v to f (N). With d from one end to the other, w their
 * relative velocity, l = |d| + 1e-9 and u = d / l, the force k (l - rest) u + c (w . u) u pulls the ends
 * together. `work` holds 6 stride doubles. */
void spring_force(int set, const cloth_mesh *m, const double *x, const double *v, double *f, double *work);

/* Reverse of spring_force(). f_bar: derivatives of the loss by f. Adds those by x and v to x_bar and v_bar,
 * those by the constants to k_bar and rest_bar (one number per slot; k_bar is meaningless at absent springs).
 */
void spring_adjoint(int set, const cloth_mesh *m, const double *x, const double *v, const double *f_bar,
                    double *x_bar, double *v_bar, double *k_bar, double *rest_bar, double *work);

/* Adds the derivatives by the damping c of each slot, meaningless at absent springs. */
void spring_damping_adjoint(int set, const cloth_mesh *m, const double *x, const double *v,
                            const double *f_bar, double *c_bar);

#endif
