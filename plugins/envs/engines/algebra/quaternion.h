/* SPDX-License-Identifier: Apache-2.0 */
/* Rotations of rigid tools by quaternions (w, x, y, z), with adjoints. Adjoint functions add to the *_bar
 * arguments of their inputs. */
#ifndef DS_ENGINES_QUATERNION_H
#define DS_ENGINES_QUATERNION_H

/* out = q a q^-1 for a unit q; the formula is used as it stands for others. */
void quat_rotate(const double q[4], const double a[3], double out[3]);
void quat_rotate_adjoint(const double q[4], const double a[3], const double out_bar[3], double q_bar[4],
                         double a_bar[3]);

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
