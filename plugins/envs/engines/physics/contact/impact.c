/* SPDX-License-Identifier: Apache-2.0 */
/* impact.c - impulses of simultaneous contacts and the adjoint of the velocity step (see impact.h).
 *
 * Rows: all normals n_i, then, with friction, all tangents t_i = perp(n_i). With A_c the clamping rows as
 * columns and X = A_c + (friction at its bound) E, the impulses satisfy Q f_c = beta, Q = A_c^T X, beta = -D
 * A_c^T v, and v' = v + X f_c; D = 1 + restitution for a row that bounces. Derivatives keep the classes
 * fixed. */
#include "impact.h"

#include <math.h>
#include <string.h>

#include "lcp.h"

static const double negligible = 1e-3; /* restitution or friction up to this is switched off, as in Nimble */
static const double fastest_bounce = 100; /* m/s */

static double dot(const double a[2], const double b[2])
{
    return a[0] * b[0] + a[1] * b[1];
}

/* Returns the velocity that restitution adds for an approach speed b; sets the flags of k. */
static double bounce(const impact_law *law, double b, impact_contact *k)
{
    double e = law->restitution > negligible ? law->restitution * b : 0;
    k->bounced = e > law->threshold;
    k->capped = k->bounced && e > fastest_bounce;
    return !k->bounced ? 0 : k->capped ? fastest_bounce : e;
}

/* Direction of row i of the problem. */
static void direction(int count, const impact_contact *k, int i, double a[2])
{
    const double *n = k[i % count].at.n;
    a[0] = i < count ? n[0] : -n[1];
    a[1] = i < count ? n[1] : n[0];
}

static void build(const impact_law *law, int count, impact_contact *k, const double v[2], lcp *p)
{
    p->n = law->friction > negligible ? 2 * count : count;
    for (int i = 0; i < p->n; i++) {
        double a[2], b[2];
        direction(count, k, i, a);
        for (int j = 0; j < p->n; j++) {
            direction(count, k, j, b);
            p->A[i][j] = dot(a, b);
        }
        p->b[i] = -dot(a, v);
        p->b[i] += i < count ? bounce(law, p->b[i], &k[i]) : 0;
        p->normal[i] = i < count ? -1 : i - count;
        p->mu[i] = law->friction;
    }
}

static void store(int count, impact_contact *k, const lcp *p, const double *f, const uint8_t *cls)
{
    for (int i = 0; i < count; i++) {
        int with_friction = p->n > count;
        k[i].f[0] = f[i];
        k[i].cls[0] = cls[i];
        k[i].f[1] = with_friction ? f[count + i] : 0;
        k[i].cls[1] = with_friction ? cls[count + i] : LCP_NOT_CLAMPING;
        k[i].mixed = 0;
    }
}

static void push(int count, const impact_contact *k, double v[2])
{
    for (int i = 0; i < count; i++) {
        const double *n = k[i].at.n;
        v[0] += k[i].f[0] * n[0] - k[i].f[1] * n[1];
        v[1] += k[i].f[0] * n[1] + k[i].f[1] * n[0];
    }
}

int impact_apply(const impact_law *law, int count, impact_contact *k, double v[2])
{
    if (count == 1 && !(law->friction > negligible)) {
        double b = -dot(k->at.n, v);
        memset(k->f, 0, sizeof k->f);
        memset(k->cls, LCP_NOT_CLAMPING, sizeof k->cls);
        k->bounced = k->capped = k->mixed = 0;
        if (b > 0) {
            k->cls[0] = LCP_CLAMPING;
            k->f[0] = b + bounce(law, b, k);
        }
        push(1, k, v);
        return LCP_GUESS;
    }
    lcp p;
    double f[DENSE_MAX];
    uint8_t cls[DENSE_MAX];
    build(law, count, k, v, &p);
    int how = lcp_solve(&p, f, cls);
    store(count, k, &p, f, cls);
    for (int i = 0; i < count; i++) {
        k[i].mixed = how >= LCP_MIXED;
    }
    push(count, k, v);
    return how;
}

void impact_alternate(const impact_law *law, int count, impact_contact *k, const double v[2],
                      const double v_bar[2])
{
    lcp p;
    double f[DENSE_MAX];
    uint8_t cls[DENSE_MAX] = {0};
    build(law, count, k, v, &p);
    for (int i = 0; i < count; i++) {
        cls[i] = dot(k[i].at.n, v_bar) >= 0 ? LCP_CLAMPING : LCP_NOT_CLAMPING;
    }
    lcp_solve_classes(&p, cls, f);
    store(count, k, &p, f, cls);
}

/* Friction / normal impulse of a contact whose friction is at its bound. */
static double bound_slope(const impact_law *law, const impact_contact *k)
{
    return k->cls[1] == LCP_UPPER ? law->friction : k->cls[1] == LCP_LOWER ? -law->friction : 0;
}

/* Passes derivatives by row i (a column of A_c or A_ub) on to its normal. */
static void to_normal(int count, int i, const double a_bar[2], double n_bar[][2])
{
    n_bar[i % count][0] += i < count ? a_bar[0] : a_bar[1];
    n_bar[i % count][1] += i < count ? a_bar[1] : -a_bar[0];
}

void impact_adjoint(const impact_law *law, int count, const impact_contact *k, const double v[2],
                    double v_bar[2], double n_bar[][2])
{
    int set[DENSE_MAX], m = 0;
    double a[DENSE_MAX][2], x[DENSE_MAX][2], Q[DENSE_MAX][DENSE_MAX], D[DENSE_MAX], f[DENSE_MAX];
    double z[DENSE_MAX] /* first f_bar */, p[2] = {0, 0}, s[2] = {0, 0};
    const double y[2] = {v_bar[0], v_bar[1]};
    memset(n_bar, 0, (size_t)count * sizeof *n_bar);
    for (int i = 0; i < 2 * count; i++) {
        const impact_contact *c = &k[i % count];
        if (c->cls[i / count] != LCP_CLAMPING) {
            continue;
        }
        double slope = i < count ? bound_slope(law, c) : 0;
        direction(count, k, i, a[m]);
        x[m][0] = a[m][0] - slope * a[m][1]; /* a + slope perp(a) */
        x[m][1] = a[m][1] + slope * a[m][0];
        D[m] = i < count && c->bounced && !c->capped ? 1 + law->restitution : 1;
        f[m] = c->f[i / count];
        z[m] = dot(x[m], y);
        p[0] += x[m][0] * f[m];
        p[1] += x[m][1] * f[m];
        set[m++] = i;
    }
    for (int i = 0; i < m; i++) {
        for (int j = 0; j < m; j++) {
            Q[i][j] = dot(a[i], x[j]) + (i == j && k->mixed ? lcp_mixing : 0);
        }
    }
    dense_solve(m, Q, 1, z);
    for (int i = 0; i < m; i++) {
        s[0] += a[i][0] * z[i];
        s[1] += a[i][1] * z[i];
    }
    for (int i = 0; i < m; i++) {
        double a_bar[2];
        for (int d = 0; d < 2; d++) {
            a_bar[d] = (y[d] - s[d]) * f[i] - (p[d] + v[d] * D[i]) * z[i];
            v_bar[d] -= a[i][d] * D[i] * z[i];
        }
        to_normal(count, set[i], a_bar, n_bar);
        double slope = set[i] < count ? bound_slope(law, &k[set[i]]) : 0;
        if (slope != 0) {
            const double t_bar[2] = {(y[0] - s[0]) * slope * f[i], (y[1] - s[1]) * slope * f[i]};
            to_normal(count, count + set[i], t_bar, n_bar);
        }
    }
}

void impact_bounce_weights(const impact_law *law, int count, const impact_contact *k, double weight[])
{
    int set[IMPACT_MAX], m = 0;
    double G[DENSE_MAX][DENSE_MAX], w[DENSE_MAX];
    for (int i = 0; i < count; i++) {
        weight[i] = 0;
        if (k[i].cls[0] == LCP_CLAMPING && k[i].bounced) {
            w[m] = -(1 + law->restitution);
            set[m++] = i;
        }
    }
    for (int i = 0; i < m; i++) {
        for (int j = 0; j < m; j++) {
            double c = dot(k[set[i]].at.n, k[set[j]].at.n);
            G[i][j] = c * c;
        }
    }
    dense_solve(m, G, 0, w);
    for (int i = 0; i < m; i++) {
        weight[set[i]] = w[i];
    }
}
