/* SPDX-License-Identifier: Apache-2.0 */
/* mat3.h - small vectors and 3x3 matrices (3 numbers, 9 row-major ones) for engines of bodies in space.
 * Everything is inline, because every kernel uses it. Numbers are doubles; a kernel for many bodies side by
 * side defines MAT3_NUMBER as its vector first, and gets what has no branches. */
#ifndef DS_ENGINES_MAT3_H
#define DS_ENGINES_MAT3_H

#include <math.h>
#include <string.h>

#ifdef MAT3_NUMBER
typedef MAT3_NUMBER mat3_number;
#else
typedef double mat3_number;
#endif

static inline mat3_number vec3_dot(const mat3_number a[3], const mat3_number b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static inline void vec3_cross(const mat3_number a[3], const mat3_number b[3], mat3_number out[3])
{
    mat3_number x = a[1] * b[2] - a[2] * b[1];
    mat3_number y = a[2] * b[0] - a[0] * b[2];
    mat3_number z = a[0] * b[1] - a[1] * b[0];
    out[0] = x;
    out[1] = y;
    out[2] = z;
}

/* y += s x */
static inline void vec3_add_scaled(mat3_number y[3], mat3_number s, const mat3_number x[3])
{
    y[0] += s * x[0];
    y[1] += s * x[1];
    y[2] += s * x[2];
}

/* out = M a */
static inline void mat3_apply(const mat3_number m[9], const mat3_number a[3], mat3_number out[3])
{
    mat3_number x = m[0] * a[0] + m[1] * a[1] + m[2] * a[2];
    mat3_number y = m[3] * a[0] + m[4] * a[1] + m[5] * a[2];
    mat3_number z = m[6] * a[0] + m[7] * a[1] + m[8] * a[2];
    out[0] = x;
    out[1] = y;
    out[2] = z;
}

/* out = M^T a */
static inline void mat3_tapply(const mat3_number m[9], const mat3_number a[3], mat3_number out[3])
{
    mat3_number x = m[0] * a[0] + m[3] * a[1] + m[6] * a[2];
    mat3_number y = m[1] * a[0] + m[4] * a[1] + m[7] * a[2];
    mat3_number z = m[2] * a[0] + m[5] * a[1] + m[8] * a[2];
    out[0] = x;
    out[1] = y;
    out[2] = z;
}

/* out = A B */
static inline void mat3_mul(const mat3_number a[9], const mat3_number b[9], mat3_number out[9])
{
    mat3_number r[9];
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) {
            r[3 * i + j] = a[3 * i] * b[j] + a[3 * i + 1] * b[3 + j] + a[3 * i + 2] * b[6 + j];
        }
    }
    memcpy(out, r, sizeof r);
}

/* out = A B^T */
static inline void mat3_mult(const mat3_number a[9], const mat3_number b[9], mat3_number out[9])
{
    mat3_number r[9];
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) {
            r[3 * i + j] = a[3 * i] * b[3 * j] + a[3 * i + 1] * b[3 * j + 1] + a[3 * i + 2] * b[3 * j + 2];
        }
    }
    memcpy(out, r, sizeof r);
}

#ifndef MAT3_NUMBER

static inline double clamp(double value, double lower, double upper)
{
    return value < lower ? lower : value > upper ? upper : value;
}

/* M += s a b^T */
static inline void mat3_add_outer(double m[9], double s, const double a[3], const double b[3])
{
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) {
            m[3 * i + j] += s * a[i] * b[j];
        }
    }
}

/* M += s (a b^T + b a^T) / 2 */
static inline void mat3_add_symmetric(double m[9], double s, const double a[3], const double b[3])
{
    mat3_add_outer(m, 0.5 * s, a, b);
    mat3_add_outer(m, 0.5 * s, b, a);
}

static inline void mat3_identity(double m[9])
{
    memset(m, 0, 9 * sizeof(double));
    m[0] = m[4] = m[8] = 1.0;
}

/* out = A^T B */
static inline void mat3_tmul(const double a[9], const double b[9], double out[9])
{
    double r[9];
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) {
            r[3 * i + j] = a[i] * b[j] + a[3 + i] * b[3 + j] + a[6 + i] * b[6 + j];
        }
    }
    memcpy(out, r, sizeof r);
}

static inline double mat3_det(const double m[9])
{
    return m[0] * (m[4] * m[8] - m[5] * m[7]) - m[1] * (m[3] * m[8] - m[5] * m[6]) +
           m[2] * (m[3] * m[7] - m[4] * m[6]);
}

/* out = det(M) M^-T, the derivative of det(M) */
static inline void mat3_cofactor(const double m[9], double out[9])
{
    out[0] = m[4] * m[8] - m[5] * m[7];
    out[1] = m[5] * m[6] - m[3] * m[8];
    out[2] = m[3] * m[7] - m[4] * m[6];
    out[3] = m[2] * m[7] - m[1] * m[8];
    out[4] = m[0] * m[8] - m[2] * m[6];
    out[5] = m[1] * m[6] - m[0] * m[7];
    out[6] = m[1] * m[5] - m[2] * m[4];
    out[7] = m[2] * m[3] - m[0] * m[5];
    out[8] = m[0] * m[4] - m[1] * m[3];
}

/* The inverse of a symmetric matrix; not finite if it is singular. */
static inline void mat3_inverse_symmetric(const double m[9], double out[9])
{
    double det = mat3_det(m);
    mat3_cofactor(m, out);
    for (int i = 0; i < 9; i++) {
        out[i] /= det;
    }
}

/* out = U diag(d) V^T */
static inline void mat3_compose(const double u[9], const double d[3], const double v[9], double out[9])
{
    for (int i = 0; i < 3; i++) {
        double a = u[3 * i] * d[0], b = u[3 * i + 1] * d[1], c = u[3 * i + 2] * d[2];
        for (int j = 0; j < 3; j++) {
            out[3 * i + j] = a * v[3 * j] + b * v[3 * j + 1] + c * v[3 * j + 2];
        }
    }
}

#endif

#endif
