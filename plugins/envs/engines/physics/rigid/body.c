/* SPDX-License-Identifier: Apache-2.0 */
/* body.c - mass properties, contact points and poses of rigid bodies (see body.h). */
#include "body.h"

#include "engines/kit/algebra/mat3.h"
#include "engines/kit/algebra/quaternion.h"

void rigid_mass_box(double density, const double half[3], rigid_mass *out)
{
    double m = 8 * density * half[0] * half[1] * half[2];
    double x = half[0] * half[0], y = half[1] * half[1], z = half[2] * half[2];
    *out = (rigid_mass){.mass = m,
                        .inertia = {[0] = m / 3 * (y + z), [4] = m / 3 * (z + x), [8] = m / 3 * (x + y)}};
}

/* I += m (|r|^2 1 - r r^T) */
static void add_point(double inertia[9], double m, const double r[3])
{
    double square = vec3_dot(r, r);
    mat3_add_outer(inertia, -m, r, r);
    for (int k = 0; k < 9; k += 4) {
        inertia[k] += m * square;
    }
}

double rigid_mass_density_adjoint(const rigid_mass *unit, const rigid_mass *bar)
{
    double sum = bar->mass * unit->mass;
    for (int k = 0; k < 9; k++) {
        sum += bar->inertia[k] * unit->inertia[k];
    }
    return sum;
}

/* ---- point masses ---- */

static void offset(const double *at, const double centre[3], double r[3])
{
    for (int k = 0; k < 3; k++) {
        r[k] = at[k] - centre[k];
    }
}

void rigid_mass_points(size_t n, const double *mass, const double *position, rigid_mass *out)
{
    memset(out, 0, sizeof *out);
    for (size_t i = 0; i < n; i++) {
        out->mass += mass[i];
        vec3_add_scaled(out->centre, mass[i], position + 3 * i);
    }
    for (int k = 0; k < 3; k++) {
        out->centre[k] /= out->mass;
    }
    for (size_t i = 0; i < n; i++) {
        double r[3];
        offset(position + 3 * i, out->centre, r);
        add_point(out->inertia, mass[i], r);
    }
}

/* Derivative by a mass m at r from the centre of a body of mass `total`. The inertia does not depend on the
 * centre to first order, because the first moments about it vanish. */
static double reverse_mass(const rigid_mass *bar, double total, const double r[3])
{
    double of_point[9] = {0}, sum = bar->mass + vec3_dot(bar->centre, r) / total;
    add_point(of_point, 1, r);
    for (int k = 0; k < 9; k++) {
        sum += bar->inertia[k] * of_point[k];
    }
    return sum;
}

static void reverse_position(const rigid_mass *bar, double total, double m, const double r[3], double out[3])
{
    const double *b = bar->inertia;
    double trace = b[0] + b[4] + b[8];
    for (int k = 0; k < 3; k++) {
        double along = 0;
        for (int l = 0; l < 3; l++) {
            along += (b[3 * k + l] + b[3 * l + k]) * r[l];
        }
        out[k] += m * (2 * trace * r[k] - along + bar->centre[k] / total);
    }
}

void rigid_mass_points_adjoint(size_t n, const double *mass, const double *position, const rigid_mass *bar,
                               double *mass_bar, double *position_bar)
{
    rigid_mass whole;
    rigid_mass_points(n, mass, position, &whole);
    for (size_t i = 0; i < n; i++) {
        double r[3];
        offset(position + 3 * i, whole.centre, r);
        mass_bar[i] += reverse_mass(bar, whole.mass, r);
        if (position_bar != NULL) {
            reverse_position(bar, whole.mass, mass[i], r, position_bar + 3 * i);
        }
    }
}

void rigid_mass_points_tangent(size_t n, const double *mass, const double *position, const double *mass_dot,
                               const double *position_dot, rigid_mass *dot)
{
    rigid_mass whole;
    rigid_mass_points(n, mass, position, &whole);
    memset(dot, 0, sizeof *dot);
    for (size_t i = 0; i < n; i++) {
        double r[3];
        offset(position + 3 * i, whole.centre, r);
        dot->mass += mass_dot[i];
        vec3_add_scaled(dot->centre, mass_dot[i] / whole.mass, r);
        add_point(dot->inertia, mass_dot[i], r);
        if (position_dot != NULL) {
            const double *d = position_dot + 3 * i;
            vec3_add_scaled(dot->centre, mass[i] / whole.mass, d);
            mat3_add_symmetric(dot->inertia, -2 * mass[i], r, d);
            for (int k = 0; k < 9; k += 4) {
                dot->inertia[k] += 2 * mass[i] * vec3_dot(r, d);
            }
        }
    }
}

/* ---- contact points and poses ---- */

void rigid_points_box(const double half[3], rigid_point out[RIGID_BOX_POINTS])
{
    for (int i = 0; i < RIGID_BOX_POINTS; i++) {
        out[i] = (rigid_point){
            .at = {i & 4 ? half[0] : -half[0], i & 2 ? half[1] : -half[1], i & 1 ? half[2] : -half[2]}};
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
