/* SPDX-License-Identifier: Apache-2.0 */
/* Jacobi eigenvectors of A^T A give V; orthonormalising A V gives U (Golub and Van Loan, Matrix
 * Computations, 8.5 and 8.6). The matrices are close to rotations, so squaring them costs no
 * accuracy that matters. */
#include "svd3.h"

#include "engines/kit/algebra/mat3.h"

#include <stdbool.h>

enum { MAX_SWEEPS = 30 };

/* One Jacobi rotation that zeroes m_pq of the symmetric matrix m and turns the columns p, q of v. r is
 * the third index. Returns false where the element is already negligible: A V then has columns
 * orthogonal to round-off. */
static inline bool rotate(double m[9], double v[9], int p, int q, int r)
{
    double app = m[4 * p], aqq = m[4 * q], apq = m[3 * p + q];
    /* 2^-112: the cosine between the two columns of A V is below 2^-56. */
    if (apq * apq <= 0x1p-112 * (app * aqq)) {
        return false;
    }
    /* tangent of the smaller of the two angles */
    double d = aqq - app, h = 2.0 * apq;
    double root = sqrt(d * d + h * h);
    double t = d < 0.0 ? h / (d - root) : h / (d + root);
    double c = 1.0 / sqrt(t * t + 1.0);
    double s = t * c;
    m[4 * p] = app - t * apq;
    m[4 * q] = aqq + t * apq;
    m[3 * p + q] = m[3 * q + p] = 0.0;
    double arp = m[3 * r + p], arq = m[3 * r + q];
    m[3 * r + p] = m[3 * p + r] = c * arp - s * arq;
    m[3 * r + q] = m[3 * q + r] = s * arp + c * arq;
    for (int k = 0; k < 3; k++) {
        double vp = v[3 * k + p], vq = v[3 * k + q];
        v[3 * k + p] = c * vp - s * vq;
        v[3 * k + q] = s * vp + c * vq;
    }
    return true;
}

/* Exchanges columns p and q of v and negates one of them, which keeps det V = 1. */
static void swap_columns(double value[3], double v[9], int p, int q)
{
    double t = value[p];
    value[p] = value[q];
    value[q] = t;
    for (int k = 0; k < 3; k++) {
        t = v[3 * k + p];
        v[3 * k + p] = v[3 * k + q];
        v[3 * k + q] = -t;
    }
}

static void eigenvectors_sorted(const double a[9], double v[9])
{
    double m[9];
    mat3_tmul(a, a, m);
    mat3_identity(v);
    for (int sweep = 0; sweep < MAX_SWEEPS; sweep++) {
        bool any = rotate(m, v, 0, 1, 2);
        any |= rotate(m, v, 0, 2, 1);
        any |= rotate(m, v, 1, 2, 0);
        if (!any) {
            break;
        }
    }
    double value[3] = {m[0], m[4], m[8]};
    if (value[0] < value[1]) {
        swap_columns(value, v, 0, 1);
    }
    if (value[0] < value[2]) {
        swap_columns(value, v, 0, 2);
    }
    if (value[1] < value[2]) {
        swap_columns(value, v, 1, 2);
    }
}

/* Some unit vector orthogonal to the unit vector n. */
static void any_orthogonal(const double n[3], double out[3])
{
    int k =
        fabs(n[0]) <= fabs(n[1]) ? (fabs(n[0]) <= fabs(n[2]) ? 0 : 2) : (fabs(n[1]) <= fabs(n[2]) ? 1 : 2);
    double axis[3] = {0.0, 0.0, 0.0};
    axis[k] = 1.0;
    vec3_cross(n, axis, out);
    double inv = 1.0 / sqrt(vec3_dot(out, out));
    for (int i = 0; i < 3; i++) {
        out[i] *= inv;
    }
}

void mpm_svd3(const double a[9], mpm_svd *out)
{
    eigenvectors_sorted(a, out->v);
    double b[9];
    mat3_mul(a, out->v, b);
    double b0[3] = {b[0], b[3], b[6]}, b1[3] = {b[1], b[4], b[7]}, b2[3] = {b[2], b[5], b[8]};
    double u0[3] = {1.0, 0.0, 0.0}, u1[3], u2[3];
    double n0 = sqrt(vec3_dot(b0, b0));
    if (n0 >= 1e-12) {
        for (int k = 0; k < 3; k++) {
            u0[k] = b0[k] / n0;
        }
    }
    memcpy(u1, b1, sizeof u1);
    vec3_add_scaled(u1, -vec3_dot(u0, b1), u0);
    double n1 = sqrt(vec3_dot(u1, u1));
    if (n1 >= 1e-12) {
        for (int k = 0; k < 3; k++) {
            u1[k] /= n1;
        }
    } else {
        any_orthogonal(u0, u1);
    }
    vec3_cross(u0, u1, u2);
    out->s[0] = n0;
    out->s[1] = vec3_dot(u1, b1);
    out->s[2] = vec3_dot(u2, b2);
    for (int k = 0; k < 3; k++) {
        out->u[3 * k] = u0[k];
        out->u[3 * k + 1] = u1[k];
        out->u[3 * k + 2] = u2[k];
    }
}

void mpm_svd3_adjoint_clamped(const mpm_svd *svd, const double u_bar[9], const double s_bar[3],
                              const double v_bar[9], double a_bar[9])
{
    double pu[9], pv[9], x[9], t[9];
    mat3_tmul(svd->u, u_bar, pu);
    mat3_tmul(svd->v, v_bar, pv);
    const double *s = svd->s;
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) {
            if (i == j) {
                x[3 * i + j] = s_bar[i];
                continue;
            }
            double d = s[j] * s[j] - s[i] * s[i];
            double k = 1.0 / (d >= 0.0 ? fmax(d, 1e-6) : fmin(d, -1e-6));
            x[3 * i + j] =
                k * ((pu[3 * i + j] - pu[3 * j + i]) * s[j] + s[i] * (pv[3 * i + j] - pv[3 * j + i]));
        }
    }
    mat3_mul(svd->u, x, t);
    mat3_mult(t, svd->v, x);
    for (int i = 0; i < 9; i++) {
        a_bar[i] += x[i];
    }
}
