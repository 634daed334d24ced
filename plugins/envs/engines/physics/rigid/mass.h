/* SPDX-License-Identifier: Apache-2.0 */
/* mass.h - mass, centre and inertia of rigid bodies: of solids of uniform density, of point masses, of
 * several parts together, and their derivatives. SI units; matrices row by row; lists of positions are n x
 * 3. */
#ifndef DS_ENGINES_RIGID_MASS_H
#define DS_ENGINES_RIGID_MASS_H

#include <stddef.h>
#include <stdint.h>

/* The same struct holds derivatives of a loss by these numbers (`bar`) and directions (`dot`). Derivatives by
 * the inertia are those by its nine entries, symmetric. */
typedef struct rigid_mass {
    double mass;       /* kg */
    double centre[3];  /* m, centre of mass */
    double inertia[9]; /* kg m^2 about the centre of mass */
} rigid_mass;

/* Solids about the origin. Box: half sizes. Capsule: a cylinder of that length along x with two half
 * balls. */
void rigid_mass_sphere(double density, double radius, rigid_mass *out);
void rigid_mass_box(double density, const double half[3], rigid_mass *out);
void rigid_mass_capsule(double density, double radius, double length, rigid_mass *out);

/* The solid inside a closed surface whose triangles are counter-clockwise seen from outside. Exact for every
 * such surface: signed tetrahedra with the four-point rule of degree 2 (Hammer, Stroud 1956). Returns 0 and
 * zeros where the enclosed volume is not positive. */
int rigid_mass_mesh(double density, size_t vertices, const double *position, size_t triangles,
                    const uint32_t *corner, rigid_mass *out);

/* Derivative by the density of a solid, whose mass and inertia are multiples of it, with the properties at
 * density 1. */
double rigid_mass_density_adjoint(const rigid_mass *unit, const rigid_mass *bar);

/* Point masses, their sum not 0. The adjoint adds to mass_bar and to position_bar, which may be NULL;
 * position_dot may be NULL, too. */
void rigid_mass_points(size_t n, const double *mass, const double *position, rigid_mass *out);
void rigid_mass_points_adjoint(size_t n, const double *mass, const double *position, const rigid_mass *bar,
                               double *mass_bar, double *position_bar);
void rigid_mass_points_tangent(size_t n, const double *mass, const double *position, const double *mass_dot,
                               const double *position_dot, rigid_mass *dot);

/* A part turned by the unit quaternion q (w x y z) and then shifted. The adjoint is that for a fixed pose;
 * it sets out_bar. */
void rigid_mass_place(const rigid_mass *part, const double q[4], const double shift[3], rigid_mass *out);
void rigid_mass_place_adjoint(const double q[4], const rigid_mass *bar, rigid_mass *part_bar);

/* Several parts as one body (parallel axis theorem). The adjoint adds to part_bar. */
void rigid_mass_join(size_t parts, const rigid_mass *part, rigid_mass *out);
void rigid_mass_join_adjoint(size_t parts, const rigid_mass *part, const rigid_mass *bar,
                             rigid_mass *part_bar);

#endif
