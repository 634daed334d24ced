/* SPDX-License-Identifier: Apache-2.0 */
/* body.h - mass properties of rigid bodies (uniform boxes, point masses), their contact points, and their
 * points in the world; with derivatives. SI units. Matrices are stored row by row, lists of positions are n x
 * 3. */
#ifndef DS_ENGINES_RIGID_BODY_H
#define DS_ENGINES_RIGID_BODY_H

#include <stddef.h>

/* Also holds derivatives of a loss by these numbers (`bar`) or a direction (`dot`). Derivatives by the
 * inertia are taken by its nine entries and are symmetric. */
typedef struct rigid_mass {
    double mass;       /* kg */
    double centre[3];  /* m, centre of mass */
    double inertia[9]; /* kg m^2 about the centre of mass */
} rigid_mass;

/* A box about the origin; `half`: half sizes. */
void rigid_mass_box(double density, const double half[3], rigid_mass *out);

/* Derivative by the density of a solid; `unit` are the properties at density 1. */
double rigid_mass_density_adjoint(const rigid_mass *unit, const rigid_mass *bar);

/* Point masses; their sum must not be 0. The adjoint adds to mass_bar and position_bar. position_bar and
 * position_dot may be NULL. */
void rigid_mass_points(size_t n, const double *mass, const double *position, rigid_mass *out);
void rigid_mass_points_adjoint(size_t n, const double *mass, const double *position, const rigid_mass *bar,
                               double *mass_bar, double *position_bar);
void rigid_mass_points_tangent(size_t n, const double *mass, const double *position, const double *mass_dot,
                               const double *position_dot, rigid_mass *dot);

/* ---- contact points and poses ---- */

/* A contact ball, in the frame of the body with the centre of mass as origin. Radius 0: a point. */
typedef struct rigid_point {
    double at[3];  /* m */
    double radius; /* m */
} rigid_point;

/* The corners of a box, with index 4 [x > 0] + 2 [y > 0] + [z > 0]. */
enum { RIGID_BOX_POINTS = 8 };
void rigid_points_box(const double half[3], rigid_point out[RIGID_BOX_POINTS]);

/* world = x + R(q) (body - centre), each n x 3, for a unit quaternion q (w x y z). The adjoint adds to x_bar
 * and q_bar, and to body_bar and centre_bar unless they are NULL. body_dot and centre_dot may be NULL.
 * Derivatives by q are those of the formula; only the part orthogonal to q is a rotation. */
void rigid_place(const double x[3], const double q[4], const double centre[3], size_t n, const double *body,
                 double *world);
void rigid_place_adjoint(const double q[4], const double centre[3], size_t n, const double *body,
                         const double *world_bar, double x_bar[3], double q_bar[4], double centre_bar[3],
                         double *body_bar);
void rigid_place_tangent(const double q[4], const double centre[3], size_t n, const double *body,
                         const double x_dot[3], const double q_dot[4], const double centre_dot[3],
                         const double *body_dot, double *world_dot);

#endif
