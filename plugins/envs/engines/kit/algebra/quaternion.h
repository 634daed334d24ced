/* SPDX-License-Identifier: Apache-2.0 */
/* quaternion.h - rotations of rigid tools by quaternions (w, x, y, z), with adjoints. Adjoint functions add
 * to the *_bar arguments of their inputs. */
#ifndef DS_ENGINES_QUATERNION_H
#define DS_ENGINES_QUATERNION_H

/* out = q a q^-1 for a unit q; other q use the same formula. */
void quat_rotate(const double q[4], const double a[3], double out[3]);
void quat_rotate_adjoint(const double q[4], const double a[3], const double out_bar[3], double q_bar[4],
                         double a_bar[3]);

/* The row-major matrix of the rotation: M a = q a q^-1 for a unit q; other q use the same polynomial. The
 * tangent sets m, the derivative in direction q_dot. */
void quat_matrix(const double q[4], double m[9]);
void quat_matrix_adjoint(const double q[4], const double m_bar[9], double q_bar[4]);
void quat_matrix_tangent(const double q[4], const double q_dot[4], double m_dot[9]);

/* Normalises q and returns its former norm. The adjoint sets in_bar, the derivatives by the input, from the
 * derivatives by the result; it is its own transpose, so it also serves as the tangent. in_bar may be
 * unit_bar. */
double quat_normalise(double q[4]);
void quat_normalise_adjoint(const double unit[4], double norm, const double unit_bar[4], double in_bar[4]);

/* out = a b (Hamilton product), not normalised. It is linear in each factor; the transpose is the product
 * with the conjugate of the other factor. out must differ from a and b. */
void quat_product(const double a[4], const double b[4], double out[4]);

/* out = conj(q) / |q|: the inverse rotation, of unit length. */
void quat_inverse(const double q[4], double out[4]);
void quat_inverse_adjoint(const double q[4], const double out_bar[4], double q_bar[4]);

/* out = a b / |a b| (Hamilton product) */
void quat_multiply(const double a[4], const double b[4], double out[4]);
void quat_multiply_adjoint(const double a[4], const double b[4], const double out_bar[4], double a_bar[4],
                           double b_bar[4]);

/* The rotation by |w| radians about w. */
void quat_from_vector(const double w[3], double out[4]);
void quat_from_vector_adjoint(const double w[3], const double out_bar[4], double w_bar[3]);

#endif
