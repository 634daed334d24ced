/* SPDX-License-Identifier: Apache-2.0 */
/* solid.c - contact of vertices with fixed solids, forward and reverse (see solid.h). */
#include "solid.h"

#include <math.h>

static const double slip_square = 1e-12; /* (m/s)^2 under the root of the sliding speed */
static const double drift_rate = 0.2;    /* share of the depth that one step corrects */
static const double drift_limit = 1;     /* m/s, limit of this correction */

typedef struct contact {
    double n[3], turn[9], slope; /* normal, its derivative by the position, length of the gradient */
    double depth, vn, wanted;    /* normal velocity before and after */
    double vt[3], slip, factor;  /* sliding velocity, its size, and the share that friction leaves */
} contact;

static double dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* Returns 0 where the solid does not push the vertex. */
static int contact_of(const fem_obstacle *o, double h, const double x[3], const double u[3], contact *c)
{
    const double q[3] = {x[0] + h * u[0], x[1] + h * u[1], x[2] + h * u[2]};
    if (!fem_obstacle_is_near(o, q)) {
        return 0;
    }
    c->depth = o->offset - fem_obstacle_distance(o, q, c->n, c->turn, &c->slope);
    c->vn = dot(u, c->n);
    c->wanted = fmin(drift_limit, drift_rate * c->depth / h);
    if (!(c->depth > 0 && c->vn < c->wanted)) {
        return 0;
    }
    for (int i = 0; i < 3; i++) {
        c->vt[i] = u[i] - c->vn * c->n[i];
    }
    c->slip = sqrt(dot(c->vt, c->vt) + slip_square);
    c->factor = fmax(0, 1 - o->mu * (c->wanted - c->vn) / c->slip);
    return 1;
}

static void after(const contact *c, double u[3])
{
    for (int i = 0; i < 3; i++) {
        u[i] = c->factor * c->vt[i] + c->wanted * c->n[i];
    }
}

void solid_push(const fem_obstacle *solid, size_t solids, double h, const cloth_mesh *m, const double *x,
                double *u)
{
    const size_t n = m->stride;
    contact c;
    for (size_t j = 0; j < n; j++) {
        const double at[3] = {x[j], x[n + j], x[2 * n + j]};
        double v[3] = {u[j], u[n + j], u[2 * n + j]};
        for (size_t k = 0; k < solids && m->present[j]; k++) {
            if (contact_of(&solid[k], h, at, v, &c)) {
                after(&c, v);
            }
        }
        for (size_t i = 0; i < 3; i++) {
            u[i * n + j] = v[i];
        }
    }
}

/* Reverse of after(): v_bar goes to the velocity before; sets q_bar, by the predicted position q. */
static void reverse(const fem_obstacle *o, double h, const double q[3], const double u[3], const contact *c,
                    double v_bar[3], double q_bar[3], fem_obstacle_bar *by)
{
    const double factor_bar = c->factor > 0 ? dot(v_bar, c->vt) : 0, change = c->wanted - c->vn;
    const double change_bar = -factor_bar * o->mu / c->slip;
    const double slip_bar = factor_bar * o->mu * change / (c->slip * c->slip);
    const double wanted_bar = dot(v_bar, c->n) + change_bar;
    double vt_bar[3], n_bar[3];
    for (int i = 0; i < 3; i++) {
        n_bar[i] = c->wanted * v_bar[i];
        vt_bar[i] = c->factor * v_bar[i] + slip_bar * c->vt[i] / c->slip;
    }
    const double vn_bar = -change_bar - dot(vt_bar, c->n);
    for (int i = 0; i < 3; i++) {
        n_bar[i] += vn_bar * u[i] - c->vn * vt_bar[i];
        v_bar[i] = vt_bar[i] + vn_bar * c->n[i];
    }
    const double depth_bar = drift_rate * c->depth / h < drift_limit ? wanted_bar * drift_rate / h : 0;
    fem_obstacle_surface_bar(o, q, &(fem_obstacle_surface){-c->depth, c->slope, c->n, c->turn}, -depth_bar,
                             n_bar, q_bar, by);
    for (int j = 0; j < 3; j++) {
        v_bar[j] += h * q_bar[j];
    }
    if (by != NULL) {
        by->mu -= factor_bar * change / c->slip;
    }
}

void solid_adjoint(const fem_obstacle *solid, size_t solids, double h, const cloth_mesh *m, const double *x,
                   const double *u, double *x_bar, double *v_bar, fem_obstacle_bar *by)
{
    const size_t n = m->stride;
    for (size_t j = 0; j < n; j++) {
        const double at[3] = {x[j], x[n + j], x[2 * n + j]};
        double v[FEM_MOST_OBSTACLES + 1][3] = {{u[j], u[n + j], u[2 * n + j]}};
        double bar[3] = {v_bar[j], v_bar[n + j], v_bar[2 * n + j]};
        contact c;
        for (size_t k = 0; k < solids && m->present[j]; k++) {
            for (int i = 0; i < 3; i++) {
                v[k + 1][i] = v[k][i];
            }
            if (contact_of(&solid[k], h, at, v[k], &c)) {
                after(&c, v[k + 1]);
            }
        }
        for (size_t k = m->present[j] ? solids : 0; k-- > 0;) {
            double q_bar[3];
            if (contact_of(&solid[k], h, at, v[k], &c)) {
                const double q[3] = {at[0] + h * v[k][0], at[1] + h * v[k][1], at[2] + h * v[k][2]};
                reverse(&solid[k], h, q, v[k], &c, bar, q_bar, by != NULL ? by + k : NULL);
                for (size_t i = 0; i < 3; i++) {
                    x_bar[i * n + j] += q_bar[i];
                }
            }
        }
        for (size_t i = 0; i < 3; i++) {
            v_bar[i * n + j] = bar[i];
        }
    }
}
