/* SPDX-License-Identifier: Apache-2.0 */
/* chain_step.h - one step of the chain and its reverse (see chain.c), written once for one episode and for
 * several side by side. The file that includes it defines
 *     real           a double, or a vector with one episode in each lane,
 *     real_sincos()  its sine and cosine, of which a lane has the bits of a double's. */
#ifndef DS_ENGINES_CHAIN_STEP_H
#define DS_ENGINES_CHAIN_STEP_H

#include "chain_law.h"

#define N CHAIN_MAX_LINKS
#define INLINE static inline __attribute__((always_inline, unused))

/* A record holds theta, omega, alpha, sin, cos (n each), x, v, a, and the packed factor of n + 1 rows. */
#define RECORD(n) (5 * (n) + 3 + ((n) + 1) * ((n) + 2) / 2)
#define THETA(r, n) (r)
#define OMEGA(r, n) ((r) + (n))
#define ALPHA(r, n) ((r) + 2 * (n))
#define SIN(r, n) ((r) + 3 * (n))
#define COS(r, n) ((r) + 4 * (n))
#define CART(r, n) ((r) + 5 * (n)) /* x, v, a */
#define FACTOR(r, n) ((r) + 5 * (n) + 3)
#define ROW(i) ((i) * ((i) + 1) / 2) /* start of row i of a packed lower triangle */

/* ---- small dense algebra ---- */

/* Packed lower triangle F of m rows, in: a symmetric positive definite matrix; out: L below the diagonal and
 * 1/D on it. */
INLINE void factor(real *F, const int m)
{
    for (int i = 0; i < m; i++) {
        real d = F[ROW(i) + i];
        for (int j = 0; j < i; j++) {
            real s = F[ROW(i) + j];
            for (int k = 0; k < j; k++) {
                s -= F[ROW(i) + k] * F[ROW(j) + k]; /* row i holds L_ik D_k here, row j holds L_jk */
            }
            F[ROW(i) + j] = s;
        }
        for (int j = 0; j < i; j++) {
            real ld = F[ROW(i) + j];
            F[ROW(i) + j] = ld * F[ROW(j) + j];
            d -= ld * F[ROW(i) + j];
        }
        F[ROW(i) + i] = 1 / d;
    }
}

INLINE void solve(const real *F, const int m, real *r)
{
    for (int i = 0; i < m; i++) {
        for (int j = 0; j < i; j++) {
            r[i] -= F[ROW(i) + j] * r[j];
        }
    }
    for (int i = m - 1; i >= 0; i--) {
        r[i] *= F[ROW(i) + i];
        for (int j = i + 1; j < m; j++) {
            r[i] -= F[ROW(j) + i] * r[j];
        }
    }
}

/* Ac = A c-vector, As = A s-vector. */
INLINE void times_A(const chain_law *c, const int n, const real *cv, const real *sv, real *Ac, real *As)
{
    for (int i = 0; i < n; i++) {
        real u = {0}, w = {0};
        for (int j = 0; j < n; j++) {
            u += c->A[i][j] * cv[j];
            w += c->A[i][j] * sv[j];
        }
        Ac[i] = u;
        As[i] = w;
    }
}

/* ---- forward ---- */

/* Fills sin, cos, factor, alpha and a of record r from its state and the controls u; v: velocity of the cart
 * at the start of the step. */
INLINE void accelerate(const chain_law *c, real *r, const real *u, real v, const int n, const int force)
{
    const real *omega = OMEGA(r, n);
    real *sn = SIN(r, n), *cs = COS(r, n), *F = FACTOR(r, n), *cart = CART(r, n);
    real cw[N], sw[N], Ac[N], As[N], rhs[N + 1];
    for (int i = 0; i < n; i++) {
        const real square = omega[i] * omega[i];
        real_sincos(THETA(r, n)[i], &sn[i], &cs[i]);
        cw[i] = cs[i] * square;
        sw[i] = sn[i] * square;
    }
    times_A(c, n, cw, sw, Ac, As);
    for (int i = 0; i < n; i++) {
        const real torque = i + 1 < n ? u[i + 1] - u[i + 2] : u[i + 1];
        rhs[i] = torque - (sn[i] * Ac[i] - cs[i] * As[i]) + c->p.gravity * c->b[i] * sn[i];
        for (int j = 0; j < i; j++) {
            F[ROW(i) + j] = c->A[i][j] * (cs[i] * cs[j] + sn[i] * sn[j]);
        }
        F[ROW(i) + i] = (real){0} + (c->A[i][i] + c->p.inertia[i]);
    }
    if (force) {
        rhs[n] = u[0];
        for (int i = 0; i < n; i++) {
            rhs[n] -= c->b[i] * sw[i];
            F[ROW(n) + i] = -c->b[i] * cs[i];
        }
        F[ROW(n) + n] = (real){0} + c->M0;
    } else {
        cart[2] = (u[0] - v) / c->p.h;
        for (int i = 0; i < n; i++) {
            rhs[i] += c->b[i] * cs[i] * cart[2];
        }
    }
    factor(F, n + force);
    solve(F, n + force, rhs);
    for (int i = 0; i < n; i++) { /* compilers copy vectors in parts, for which later loads wait */
        ALPHA(r, n)[i] = rhs[i];
    }
    if (force) {
        cart[2] = rhs[n];
    }
}

/* Computes the state of record `next` from record r. */
INLINE void advance(const chain_law *c, const real *r, real *next, const int n)
{
    const double h = c->p.h;
    const real *cart = CART(r, n);
    const int semi = c->p.integrator == CHAIN_SEMI_IMPLICIT;
    real *to = CART(next, n);
    for (int i = 0; i < n; i++) {
        const real omega = OMEGA(r, n)[i] + h * ALPHA(r, n)[i];
        THETA(next, n)[i] = THETA(r, n)[i] + h * (semi ? omega : OMEGA(r, n)[i]);
        OMEGA(next, n)[i] = omega;
    }
    to[1] = cart[1] + h * cart[2];
    to[0] = cart[0] + h * (semi ? to[1] : cart[1]);
}

/* ---- reverse ---- */

/* Reverse of the accelerations of record r. lam, in: derivatives by alpha and a. Adds those by the state to
 * tb and ob, those by the torques to ub. Returns the derivative by the force, or by the acceleration of the
 * cart if it is prescribed. */
INLINE real reverse_accelerations(const chain_law *c, const real *r, real *lam, real *tb, real *ob, real *ub,
                                  const int n, const int force)
{
    const double g = c->p.gravity;
    const real a = CART(r, n)[2];
    const real *omega = OMEGA(r, n), *alpha = ALPHA(r, n), *sn = SIN(r, n), *cs = COS(r, n);
    real p[N], q[N], P[N], Q[N], cl[N], sl[N], X[N], Y[N];
    solve(FACTOR(r, n), n + force, lam);
    for (int i = 0; i < n; i++) {
        const real square = omega[i] * omega[i];
        p[i] = cs[i] * square + sn[i] * alpha[i];
        q[i] = sn[i] * square - cs[i] * alpha[i];
        cl[i] = cs[i] * lam[i];
        sl[i] = sn[i] * lam[i];
    }
    times_A(c, n, p, q, P, Q);
    times_A(c, n, cl, sl, X, Y);
    for (int i = 0; i < n; i++) {
        const real bc = c->b[i] * cs[i], bs = c->b[i] * sn[i], Sl = sn[i] * X[i] - cs[i] * Y[i];
        tb[i] += lam[i] * (g * bc - bs * a - cs[i] * P[i] - sn[i] * Q[i]) +
                 omega[i] * omega[i] * (cs[i] * X[i] + sn[i] * Y[i]) + alpha[i] * Sl;
        ob[i] += 2 * omega[i] * Sl;
        if (force) {
            tb[i] -= lam[n] * (bc * omega[i] * omega[i] + bs * alpha[i]);
            ob[i] -= 2 * lam[n] * bs * omega[i];
        } else {
            lam[n] += lam[i] * bc;
        }
        ub[i + 1] += i ? lam[i] - lam[i - 1] : lam[i];
    }
    return lam[n];
}

/* Reverse of one step. cart_bar, tb, ob go from the state after the step to the state before it; adds the
 * derivatives by the controls to ub. */
INLINE void reverse_step(const chain_law *c, const real *r, real cart_bar[2], real *tb, real *ob, real *ub,
                         const int n, const int force)
{
    const double h = c->p.h;
    const real kept_x = cart_bar[0];
    const int semi = c->p.integrator == CHAIN_SEMI_IMPLICIT;
    const real zero = {0};
    real lam[N + 1], kept[N];
    for (int i = 0; i < n; i++) {
        kept[i] = tb[i];
        if (semi) {
            ob[i] += h * tb[i];
        }
        lam[i] = h * ob[i];
    }
    if (semi) {
        cart_bar[1] += h * kept_x;
    }
    lam[n] = h * cart_bar[1];
    const real by_cart = reverse_accelerations(c, r, lam, tb, ob, ub, n, force);
    for (int i = 0; i < n && !semi; i++) {
        ob[i] += h * kept[i];
    }
    ub[0] += force ? by_cart : by_cart / h; /* a = (u0 - v)/h of a cart whose velocity is prescribed */
    cart_bar[1] += (semi ? zero : h * kept_x) - (force ? zero : by_cart / h);
}

#endif
