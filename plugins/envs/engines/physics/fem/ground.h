/* SPDX-License-Identifier: Apache-2.0 */
/* ground.h - relaxed contact of a particle with a horizontal plane and its friction (gradSim; the penalty is
 * that of dFlex and Warp). All variants of the kernels compile these lines. */
#ifndef DS_ENGINES_FEM_GROUND_H
#define DS_ENGINES_FEM_GROUND_H

#include "engines/physics/fem/pack.h"

#include <math.h>

/* Squared speed, m^2/s^2, below which a sliding particle is held by kf alone. */
#define FEM_SLOW 1e-12

static inline double ground_depth(const fem_ground *g, const double *q)
{
    return q[1] - g->offset - g->height;
}

static inline double bounded(double x, double most)
{
    return x < -most ? -most : x > most ? most : x;
}

/* The load (negative); friction is at most mu times its size. *damped: it includes the damping. */
static inline double friction_load(const fem_ground *g, double c, double uy, int *damped)
{
    *damped = g->friction == FEM_FRICTION_COULOMB && uy < 0;
    return g->ke * c + (*damped ? g->kd * uy : 0);
}

/* Adds the force of the ground; c < 0. */
static inline void ground_force(const fem_ground *g, double c, const double *u, double *f)
{
    int damped;
    const double bound = -g->mu * friction_load(g, c, u[1], &damped);
    f[1] -= g->ke * c + g->kd * (u[1] < 0 ? u[1] : 0);
    if (g->friction == FEM_FRICTION_BOX) {
        f[0] -= bounded(g->kf * u[0], bound);
        f[2] -= bounded(g->kf * u[2], bound);
    } else {
        const double most = bound / sqrt(u[0] * u[0] + u[2] * u[2] + FEM_SLOW),
                     hold = g->kf < most ? g->kf : most;
        f[0] -= hold * u[0];
        f[2] -= hold * u[2];
    }
}

/* Reverse of the bound of friction; `share`: derivative of fb . f by the bound. */
static inline void bound_vjp(const fem_ground *g, double c, double uy, double share, double *qb, double *ub,
                             fem_ground_bar *bar)
{
    int damped;
    bar->mu -= share * friction_load(g, c, uy, &damped);
    qb[1] -= share * g->mu * g->ke;
    bar->offset += share * g->mu * g->ke;
    bar->ke -= share * g->mu * c;
    if (damped) {
        ub[1] -= share * g->mu * g->kd;
        bar->kd -= share * g->mu * uy;
    }
}

static inline void box_vjp(const fem_ground *g, double c, const double *u, const double *fb, int t,
                           double *qb, double *ub, fem_ground_bar *bar)
{
    const double bound = -g->mu * g->ke * c, wanted = g->kf * u[t];
    if (wanted < -bound) {
        bound_vjp(g, c, u[1], fb[t], qb, ub, bar);
    } else if (wanted > bound) {
        bound_vjp(g, c, u[1], -fb[t], qb, ub, bar);
    } else {
        ub[t] -= g->kf * fb[t];
        bar->kf -= u[t] * fb[t];
    }
}

static inline void isotropic_vjp(const fem_ground *g, double c, const double *u, const double *fb, double *qb,
                                 double *ub, fem_ground_bar *bar)
{
    int damped;
    const double bound = -g->mu * friction_load(g, c, u[1], &damped);
    const double speed = sqrt(u[0] * u[0] + u[2] * u[2] + FEM_SLOW), slide = fb[0] * u[0] + fb[2] * u[2];
    const double hold = bound / speed;
    if (g->kf < hold) {
        ub[0] -= g->kf * fb[0];
        ub[2] -= g->kf * fb[2];
        bar->kf -= slide;
        return;
    }
    const double turn = hold * slide / (speed * speed);
    ub[0] -= hold * fb[0] - turn * u[0];
    ub[2] -= hold * fb[2] - turn * u[2];
    bound_vjp(g, c, u[1], -slide / speed, qb, ub, bar);
}

/* Reverse of ground_force(). */
static inline void ground_vjp(const fem_ground *g, double c, const double *u, const double *fb, double *qb,
                              double *ub, fem_ground_bar *bar)
{
    qb[1] -= g->ke * fb[1];
    bar->offset += g->ke * fb[1];
    ub[1] -= u[1] < 0 ? g->kd * fb[1] : 0;
    bar->ke -= c * fb[1];
    bar->kd -= u[1] < 0 ? u[1] * fb[1] : 0;
    if (g->friction == FEM_FRICTION_BOX) {
        box_vjp(g, c, u, fb, 0, qb, ub, bar);
        box_vjp(g, c, u, fb, 2, qb, ub, bar);
    } else {
        isotropic_vjp(g, c, u, fb, qb, ub, bar);
    }
}

/* Change of one component of box friction along du and the change of the bound. */
static inline double box_jvp(const fem_ground *g, double bound, double dbound, double u, double du,
                             double dkf)
{
    const double wanted = g->kf * u;
    return wanted < -bound ? dbound : wanted > bound ? -dbound : -(g->kf * du + dkf * u);
}

/* Adds the change of the force along dy (height), du (velocity) and the change of the constants. */
static inline void ground_jvp(const fem_ground *g, double c, const double *u, double dy, const double *du,
                              const fem_ground_bar *dot, double *df)
{
    int damped;
    const double dc = dy - dot->offset;
    const double load = friction_load(g, c, u[1], &damped), bound = -g->mu * load;
    const double dload = g->ke * dc + dot->ke * c + (damped ? g->kd * du[1] + dot->kd * u[1] : 0);
    const double dbound = -g->mu * dload - dot->mu * load;
    df[1] -= g->ke * dc + dot->ke * c + (u[1] < 0 ? g->kd * du[1] + dot->kd * u[1] : 0);
    if (g->friction == FEM_FRICTION_BOX) {
        df[0] += box_jvp(g, bound, dbound, u[0], du[0], dot->kf);
        df[2] += box_jvp(g, bound, dbound, u[2], du[2], dot->kf);
        return;
    }
    const double speed = sqrt(u[0] * u[0] + u[2] * u[2] + FEM_SLOW), hold = bound / speed;
    const int sticks = g->kf < hold;
    const double turn = (u[0] * du[0] + u[2] * du[2]) / (speed * speed);
    const double now = sticks ? g->kf : hold, change = sticks ? dot->kf : dbound / speed - hold * turn;
    df[0] -= now * du[0] + change * u[0];
    df[2] -= now * du[2] + change * u[2];
}

#endif
