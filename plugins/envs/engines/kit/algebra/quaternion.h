/* SPDX-License-Identifier: Apache-2.0 */
/* Rotations of rigid tools by quaternions (w, x, y, z), with adjoints. Adjoint functions add to the *_bar
 * arguments of their inputs. */
#ifndef DS_ENGINES_QUATERNION_H
#define DS_ENGINES_QUATERNION_H

/* out = q a q^-1 for a unit q; the formula is used as it stands for others. */
void quat_rotate(const double q[4], const double a[3], double out[3]);
void quat_rotate_adjoint(const double q[4], const double a[3], const double out_bar[3], double q_bar[4],
                         double a_bar[3]);

/* The matrix (row by row) that turns as q does: M a = q a q^-1 for a unit q; the polynomial in q is used
 * as it stands for others. The tangent sets m, the derivative in direction q_dot. */
void quat_matrix(const double q[4], double m[9]);
void quat_matrix_adjoint(const double q[4], const double m_bar[9], double q_bar[4]);
void quat_matrix_tangent(const double q[4], const double q_dot[4], double m_dot[9]);

/* Makes q a unit quaternion and returns the norm it had. The adjoint sets in_bar, the derivatives by what was
 * normalised, from those by the result; it is its own transpose, so it serves as tangent, too. in_bar may be
 * unit_bar. */
double quat_normalise(double q[4]);
void quat_normalise_adjoint(const double unit[4], double norm, const double unit_bar[4], double in_bar[4]);

/* out = a b (Hamilton product), not normalised; linear in each, with the product with the conjugate of the
 * other factor as transpose. out is neither a nor b. */
void quat_product(const double a[4], const double b[4], double out[4]);

/* out = conj(q) / |q|: the inverse rotation, always of unit length. */
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
