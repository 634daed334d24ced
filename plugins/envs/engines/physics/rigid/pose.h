/* SPDX-License-Identifier: Apache-2.0 */
/* pose.h - points of a rigid body: where contact is sought, and where they are in the world. */
#ifndef DS_ENGINES_RIGID_POSE_H
#define DS_ENGINES_RIGID_POSE_H

#include <stddef.h>

/* A ball of the body, in its frame, with the centre of mass as origin; radius 0: a point. */
typedef struct rigid_point {
    double at[3];  /* m */
    double radius; /* m */
} rigid_point;

enum { RIGID_SPHERE_POINTS = 1, RIGID_CAPSULE_POINTS = 2, RIGID_BOX_POINTS = 8 };

/* Contact points of solids about their centre (the shapes of mass.h): the centre of a sphere, both ends of
 * a capsule, the corners of a box, 4 [x > 0] + 2 [y > 0] + [z > 0]; the vertices of a mesh, about its
 * centre. */
void rigid_points_sphere(double radius, rigid_point out[RIGID_SPHERE_POINTS]);
void rigid_points_capsule(double radius, double length, rigid_point out[RIGID_CAPSULE_POINTS]);
void rigid_points_box(const double half[3], rigid_point out[RIGID_BOX_POINTS]);
void rigid_points_vertices(size_t n, const double *position, const double centre[3], rigid_point *out);

/* world = x + R(q) (body - centre), each n x 3, for a unit quaternion q (w x y z). The adjoint adds to
 * x_bar, q_bar, and to body_bar and centre_bar where they are not NULL; body_dot and centre_dot may be
 * NULL. Derivatives by q are those of the formula, of which only the part across q means a turn. */
void rigid_place(const double x[3], const double q[4], const double centre[3], size_t n, const double *body,
                 double *world);
void rigid_place_adjoint(const double q[4], const double centre[3], size_t n, const double *body,
                         const double *world_bar, double x_bar[3], double q_bar[4], double centre_bar[3],
                         double *body_bar);
void rigid_place_tangent(const double q[4], const double centre[3], size_t n, const double *body,
                         const double x_dot[3], const double q_dot[4], const double centre_dot[3],
                         const double *body_dot, double *world_dot);

#endif
