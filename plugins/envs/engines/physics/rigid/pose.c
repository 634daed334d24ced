/* SPDX-License-Identifier: Apache-2.0 */
/* pose.c - points of a rigid body, in its frame and in the world (see pose.h). */
#include "pose.h"

#include "engines/kit/algebra/mat3.h"
#include "engines/kit/algebra/quaternion.h"

void rigid_points_sphere(double radius, rigid_point out[RIGID_SPHERE_POINTS])
{
    out[0] = (rigid_point){.radius = radius};
}

void rigid_points_capsule(double radius, double length, rigid_point out[RIGID_CAPSULE_POINTS])
{
    out[0] = (rigid_point){.at = {-length / 2, 0, 0}, .radius = radius};
    out[1] = (rigid_point){.at = {length / 2, 0, 0}, .radius = radius};
}

void rigid_points_box(const double half[3], rigid_point out[RIGID_BOX_POINTS])
{
    for (int i = 0; i < RIGID_BOX_POINTS; i++) {
        out[i] = (rigid_point){
            .at = {i & 4 ? half[0] : -half[0], i & 2 ? half[1] : -half[1], i & 1 ? half[2] : -half[2]}};
    }
}

void rigid_points_vertices(size_t n, const double *position, const double centre[3], rigid_point *out)
{
    for (size_t i = 0; i < n; i++) {
        const double *at = position + 3 * i;
        out[i] = (rigid_point){.at = {at[0] - centre[0], at[1] - centre[1], at[2] - centre[2]}};
    }
}

void rigid_place(const double x[3], const double q[4], const double centre[3], size_t n, const double *body,
                 double *world)
{
    double R[9];
    quat_matrix(q, R);
    for (size_t i = 0; i < n; i++) {
        const double *at = body + 3 * i;
        double *out = world + 3 * i;
        mat3_apply(R, (double[3]){at[0] - centre[0], at[1] - centre[1], at[2] - centre[2]}, out);
        vec3_add_scaled(out, 1, x);
    }
}

void rigid_place_adjoint(const double q[4], const double centre[3], size_t n, const double *body,
                         const double *world_bar, double x_bar[3], double q_bar[4], double centre_bar[3],
                         double *body_bar)
{
    double R[9], R_bar[9] = {0}, c[3];
    quat_matrix(q, R);
    for (size_t i = 0; i < n; i++) {
        const double *at = body + 3 * i, *bar = world_bar + 3 * i;
        vec3_add_scaled(x_bar, 1, bar);
        mat3_add_outer(R_bar, 1, bar, (double[3]){at[0] - centre[0], at[1] - centre[1], at[2] - centre[2]});
        mat3_tapply(R, bar, c);
        if (body_bar != NULL) {
            vec3_add_scaled(body_bar + 3 * i, 1, c);
        }
        if (centre_bar != NULL) {
            vec3_add_scaled(centre_bar, -1, c);
        }
    }
    quat_matrix_adjoint(q, R_bar, q_bar);
}

void rigid_place_tangent(const double q[4], const double centre[3], size_t n, const double *body,
                         const double x_dot[3], const double q_dot[4], const double centre_dot[3],
                         const double *body_dot, double *world_dot)
{
    double R[9], R_dot[9], shift[3] = {0}, c[3];
    quat_matrix(q, R);
    quat_matrix_tangent(q, q_dot, R_dot);
    if (centre_dot != NULL) {
        mat3_apply(R, centre_dot, shift);
    }
    for (size_t i = 0; i < n; i++) {
        const double *at = body + 3 * i;
        double *out = world_dot + 3 * i;
        mat3_apply(R_dot, (double[3]){at[0] - centre[0], at[1] - centre[1], at[2] - centre[2]}, out);
        vec3_add_scaled(out, 1, x_dot);
        vec3_add_scaled(out, -1, shift);
        if (body_dot != NULL) {
            mat3_apply(R, body_dot + 3 * i, c);
            vec3_add_scaled(out, 1, c);
        }
    }
}
