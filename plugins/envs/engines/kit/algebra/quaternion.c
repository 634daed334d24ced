/* SPDX-License-Identifier: Apache-2.0 */
/* quaternion.c - quaternions of rigid tools (PlasticineLab: primitive/utils.py) and their adjoints. */
#include "engines/kit/algebra/quaternion.h"

#include "engines/kit/algebra/mat3.h"
#include "engines/kit/algebra/quaternion_inline.h"

void quat_rotate(const double q[4], const double a[3], double out[3])
{
    double t[3], u[3];
    vec3_cross(q + 1, a, t);
    vec3_cross(q + 1, t, u);
    for (int k = 0; k < 3; k++) {
        out[k] = a[k] + 2.0 * (q[0] * t[k] + u[k]);
    }
}

void quat_rotate_adjoint(const double q[4], const double a[3], const double out_bar[3], double q_bar[4],
                         double a_bar[3])
{
    double t[3], t_bar[3], c[3];
    vec3_cross(q + 1, a, t);
    vec3_cross(out_bar, q + 1, t_bar);
    for (int k = 0; k < 3; k++) {
        t_bar[k] = 2.0 * (t_bar[k] + q[0] * out_bar[k]);
    }
    q_bar[0] += 2.0 * vec3_dot(t, out_bar);
    vec3_cross(t, out_bar, c);
    vec3_add_scaled(q_bar + 1, 2.0, c);
    vec3_cross(a, t_bar, c);
    vec3_add_scaled(q_bar + 1, 1.0, c);
    vec3_cross(t_bar, q + 1, c);
    for (int k = 0; k < 3; k++) {
        a_bar[k] += out_bar[k] + c[k];
    }
}

void quat_matrix(const double q[4], double m[9])
{
    quat_matrix_inline(q, m);
}

void quat_matrix_adjoint(const double q[4], const double b[9], double q_bar[4])
{
    const double w = q[0], x = q[1], y = q[2], z = q[3];
    q_bar[0] += 2 * (x * (b[7] - b[5]) + y * (b[2] - b[6]) + z * (b[3] - b[1]));
    q_bar[1] += 2 * (w * (b[7] - b[5]) + y * (b[1] + b[3]) + z * (b[2] + b[6]) - 2 * x * (b[4] + b[8]));
    q_bar[2] += 2 * (w * (b[2] - b[6]) + x * (b[1] + b[3]) + z * (b[5] + b[7]) - 2 * y * (b[0] + b[8]));
    q_bar[3] += 2 * (w * (b[3] - b[1]) + x * (b[2] + b[6]) + y * (b[5] + b[7]) - 2 * z * (b[0] + b[4]));
}

void quat_matrix_tangent(const double q[4], const double d[4], double m[9])
{
    const double w = q[0], x = q[1], y = q[2], z = q[3], dw = d[0], dx = d[1], dy = d[2], dz = d[3];
    m[0] = -4 * (y * dy + z * dz);
    m[1] = 2 * (x * dy + dx * y - w * dz - dw * z);
    m[2] = 2 * (x * dz + dx * z + w * dy + dw * y);
    m[3] = 2 * (x * dy + dx * y + w * dz + dw * z);
    m[4] = -4 * (x * dx + z * dz);
    m[5] = 2 * (y * dz + dy * z - w * dx - dw * x);
    m[6] = 2 * (x * dz + dx * z - w * dy - dw * y);
    m[7] = 2 * (y * dz + dy * z + w * dx + dw * x);
    m[8] = -4 * (x * dx + y * dy);
}

static double norm4(const double q[4])
{
    return sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
}

double quat_normalise(double q[4])
{
    double norm = norm4(q);
    for (int k = 0; k < 4; k++) {
        q[k] /= norm;
    }
    return norm;
}

void quat_normalise_adjoint(const double unit[4], double norm, const double unit_bar[4], double in_bar[4])
{
    double along =
        unit[0] * unit_bar[0] + unit[1] * unit_bar[1] + unit[2] * unit_bar[2] + unit[3] * unit_bar[3];
    for (int k = 0; k < 4; k++) {
        in_bar[k] = (unit_bar[k] - along * unit[k]) / norm;
    }
}

void quat_inverse(const double q[4], double out[4])
{
    double norm = norm4(q);
    out[0] = q[0] / norm;
    for (int k = 1; k < 4; k++) {
        out[k] = -q[k] / norm;
    }
}

void quat_inverse_adjoint(const double q[4], const double out_bar[4], double q_bar[4])
{
    double out[4], c_bar[4];
    quat_inverse(q, out);
    quat_normalise_adjoint(out, norm4(q), out_bar, c_bar);
    q_bar[0] += c_bar[0];
    for (int k = 1; k < 4; k++) {
        q_bar[k] -= c_bar[k];
    }
}

void quat_product(const double a[4], const double b[4], double out[4])
{
    quat_product_inline(a, b, out);
}

void quat_multiply(const double a[4], const double b[4], double out[4])
{
    double q[4];
    quat_product(a, b, q);
    double norm = norm4(q);
    for (int k = 0; k < 4; k++) {
        out[k] = q[k] / norm;
    }
}

void quat_multiply_adjoint(const double a[4], const double b[4], const double out_bar[4], double a_bar[4],
                           double b_bar[4])
{
    double q[4], unit[4], t_bar[4], c[4], r[4];
    quat_product(a, b, q);
    double norm = norm4(q);
    for (int k = 0; k < 4; k++) {
        unit[k] = q[k] / norm;
    }
    quat_normalise_adjoint(unit, norm, out_bar, t_bar);
    /* The product is linear in each factor; its transpose is the product with the conjugate of the other one.
     */
    const double a_conj[4] = {a[0], -a[1], -a[2], -a[3]}, b_conj[4] = {b[0], -b[1], -b[2], -b[3]};
    quat_product(t_bar, b_conj, c);
    quat_product(a_conj, t_bar, r);
    for (int k = 0; k < 4; k++) {
        a_bar[k] += c[k];
        b_bar[k] += r[k];
    }
}

static const double small_angle = 1e-9;

void quat_from_vector(const double w[3], double out[4])
{
    double angle = sqrt(vec3_dot(w, w));
    if (angle > small_angle) {
        double s = sin(0.5 * angle) / angle;
        out[0] = cos(0.5 * angle);
        for (int k = 0; k < 3; k++) {
            out[1 + k] = w[k] * s;
        }
    } else { /* exact to rounding; a body at rest turns by such angles, and loses them in PlasticineLab's */
        out[0] = 1.0;
        for (int k = 0; k < 3; k++) {
            out[1 + k] = 0.5 * w[k];
        }
    }
}

void quat_from_vector_adjoint(const double w[3], const double out_bar[4], double w_bar[3])
{
    double angle = sqrt(vec3_dot(w, w));
    if (angle <= small_angle) {
        vec3_add_scaled(w_bar, 0.5, out_bar + 1); /* PlasticineLab gives 0 */
        return;
    }
    double sine = sin(0.5 * angle), cosine = cos(0.5 * angle);
    double s = sine / angle;
    double ds = (0.5 * cosine - s) / angle; /* ds / d angle */
    double angle_bar = -0.5 * sine * out_bar[0] + ds * vec3_dot(w, out_bar + 1);
    for (int k = 0; k < 3; k++) {
        w_bar[k] += s * out_bar[1 + k] + angle_bar * w[k] / angle;
    }
}
