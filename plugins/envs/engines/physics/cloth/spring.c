/* SPDX-License-Identifier: Apache-2.0 */
/* spring.c - forces of damped springs and their adjoint, as loops over bands that the compiler vectorizes
 * (see spring.h). Mass-spring systems as in Y. Hu et al., DiffTaichi, ICLR 2020, with damping along the
 * spring. */
#include "spring.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Keeps |d| differentiable if both ends coincide; added to d.d it is below the last digit of any length. */
static const double tiny = 1e-300;
static const double epsilon = 1e-9; /* m, added to every length */

/* Writes the force of each spring to t and adds it to the spring's first end. */
INLINE void band_force(const cloth_band *b, size_t n, const double *x, const double *v,
                       const double *restrict k, const double *restrict c, double *restrict f,
                       double *restrict t)
{
    const double *xa = x + b->first, *xb = xa + b->offset, *va = v + b->first, *vb = va + b->offset;
    const double rest = b->rest;
    const size_t count =
        b->count & ~(size_t)(CLOTH_LANES - 1); /* lets the compiler leave out the loop for a remainder */
#pragma omp simd
    for (size_t s = 0; s < count; s++) {
        double dx = xb[s] - xa[s], dy = xb[n + s] - xa[n + s], dz = xb[2 * n + s] - xa[2 * n + s];
        double wx = vb[s] - va[s], wy = vb[n + s] - va[n + s], wz = vb[2 * n + s] - va[2 * n + s];
        double q = 1 / (sqrt(dx * dx + dy * dy + dz * dz + tiny) + epsilon);
        double p = wx * dx + wy * dy + wz * dz;
        double a = k[s] * (1 - rest * q) + c[s] * p * q * q;
        t[s] = a * dx;
        t[n + s] = a * dy;
        t[2 * n + s] = a * dz;
        f[s] += t[s];
        f[n + s] += t[n + s];
        f[2 * n + s] += t[2 * n + s];
    }
}

/* Adds `sign` t to `components` vectors over the vertices from `to` on. */
INLINE void band_add(double *restrict to, const double *restrict t, size_t n, size_t slots, int components,
                     double sign)
{
    const size_t count = slots & ~(size_t)(CLOTH_LANES - 1);
    for (int i = 0; i < components; i++) {
        double *restrict at = to + (size_t)i * n;
        const double *restrict from = t + (size_t)i * n;
#pragma omp simd
        for (size_t s = 0; s < count; s++) {
            at[s] += sign * from[s];
        }
    }
}

INLINE void force(const cloth_mesh *m, const double *x, const double *v, double *f, double *work)
{
    for (size_t i = 0; i < m->bands; i++) {
        const cloth_band *b = &m->band[i];
        band_force(b, m->stride, x, v, m->k + b->at, m->c + b->at, f + b->first, work);
        band_add(f + b->first + b->offset, work, m->stride, b->count, 3, -1);
    }
}

/* With F = a d, a = k (1 - rest q) + c p q^2, q = 1/l, p = w.d: writes the derivatives by d (3) and by w (3)
 * to t. */
INLINE void band_adjoint(const cloth_band *b, size_t n, const double *x, const double *v, const double *f_bar,
                         const double *restrict k, const double *restrict c, double *restrict k_bar,
                         double *restrict rest_bar, double *restrict t)
{
    const double *xa = x + b->first, *xb = xa + b->offset, *va = v + b->first, *vb = va + b->offset;
    const double *ga = f_bar + b->first, *gb = ga + b->offset;
    const double rest = b->rest;
    const size_t count =
        b->count & ~(size_t)(CLOTH_LANES - 1); /* lets the compiler leave out the loop for a remainder */
#pragma omp simd
    for (size_t s = 0; s < count; s++) {
        double dx = xb[s] - xa[s], dy = xb[n + s] - xa[n + s], dz = xb[2 * n + s] - xa[2 * n + s];
        double wx = vb[s] - va[s], wy = vb[n + s] - va[n + s], wz = vb[2 * n + s] - va[2 * n + s];
        double gx = ga[s] - gb[s], gy = ga[n + s] - gb[n + s], gz = ga[2 * n + s] - gb[2 * n + s];
        double r = sqrt(dx * dx + dy * dy + dz * dz + tiny), q = 1 / (r + epsilon);
        double p = wx * dx + wy * dy + wz * dz, cq2 = c[s] * q * q;
        double a = k[s] * (1 - rest * q) + cq2 * p;
        double a_bar = gx * dx + gy * dy + gz * dz;
        double p_bar = a_bar * cq2;
        double l_bar = (a_bar * k[s] * rest * q - 2 * p_bar * p) * q; /* derivative by l = r + epsilon */
        double e = l_bar / r;
        k_bar[s] += a_bar * (1 - rest * q);
        rest_bar[s] -= a_bar * k[s] * q;
        t[s] = a * gx + p_bar * wx + e * dx;
        t[n + s] = a * gy + p_bar * wy + e * dy;
        t[2 * n + s] = a * gz + p_bar * wz + e * dz;
        t[3 * n + s] = p_bar * dx;
        t[4 * n + s] = p_bar * dy;
        t[5 * n + s] = p_bar * dz;
    }
}

INLINE void adjoint(const cloth_mesh *m, const double *x, const double *v, const double *f_bar, double *x_bar,
                    double *v_bar, double *k_bar, double *rest_bar, double *work)
{
    const size_t n = m->stride;
    for (size_t i = 0; i < m->bands; i++) {
        const cloth_band *b = &m->band[i];
        band_adjoint(b, n, x, v, f_bar, m->k + b->at, m->c + b->at, k_bar + b->at, rest_bar + b->at, work);
        band_add(x_bar + b->first, work, n, b->count, 3, -1);
        band_add(x_bar + b->first + b->offset, work, n, b->count, 3, 1);
        band_add(v_bar + b->first, work + 3 * n, n, b->count, 3, -1);
        band_add(v_bar + b->first + b->offset, work + 3 * n, n, b->count, 3, 1);
    }
}

INLINE void band_damping(const cloth_band *b, size_t n, const double *x, const double *v, const double *f_bar,
                         double *restrict c_bar)
{
    const double *xa = x + b->first, *xb = xa + b->offset, *va = v + b->first, *vb = va + b->offset;
    const double *ga = f_bar + b->first, *gb = ga + b->offset;
    const size_t count = b->count & ~(size_t)(CLOTH_LANES - 1);
#pragma omp simd
    for (size_t s = 0; s < count; s++) {
        double dx = xb[s] - xa[s], dy = xb[n + s] - xa[n + s], dz = xb[2 * n + s] - xa[2 * n + s];
        double wx = vb[s] - va[s], wy = vb[n + s] - va[n + s], wz = vb[2 * n + s] - va[2 * n + s];
        double gx = ga[s] - gb[s], gy = ga[n + s] - gb[n + s], gz = ga[2 * n + s] - gb[2 * n + s];
        double q = 1 / (sqrt(dx * dx + dy * dy + dz * dz + tiny) + epsilon);
        c_bar[s] += (gx * dx + gy * dy + gz * dz) * (wx * dx + wy * dy + wz * dz) * q * q;
    }
}

INLINE void damping(const cloth_mesh *m, const double *x, const double *v, const double *f_bar, double *c_bar)
{
    for (size_t i = 0; i < m->bands; i++) {
        band_damping(&m->band[i], m->stride, x, v, f_bar, c_bar + m->band[i].at);
    }
}

CLOTH_SETS(forces, force, (const cloth_mesh *m, const double *x, const double *v, double *f, double *work),
           (m, x, v, f, work));
CLOTH_SETS(adjoints, adjoint,
           (const cloth_mesh *m, const double *x, const double *v, const double *f_bar, double *x_bar,
            double *v_bar, double *k_bar, double *rest_bar, double *work),
           (m, x, v, f_bar, x_bar, v_bar, k_bar, rest_bar, work));
CLOTH_SETS(dampings, damping,
           (const cloth_mesh *m, const double *x, const double *v, const double *f_bar, double *c_bar),
           (m, x, v, f_bar, c_bar));

int spring_widest(void)
{
    return isa_choose(NULL) - ISA_BASELINE;
}

void spring_force(int set, const cloth_mesh *m, const double *x, const double *v, double *f, double *work)
{
    forces[set](m, x, v, f, work);
}

void spring_adjoint(int set, const cloth_mesh *m, const double *x, const double *v, const double *f_bar,
                    double *x_bar, double *v_bar, double *k_bar, double *rest_bar, double *work)
{
    adjoints[set](m, x, v, f_bar, x_bar, v_bar, k_bar, rest_bar, work);
}

void spring_damping_adjoint(int set, const cloth_mesh *m, const double *x, const double *v,
                            const double *f_bar, double *c_bar)
{
    dampings[set](m, x, v, f_bar, c_bar);
}
