/* SPDX-License-Identifier: Apache-2.0 */
/* double.c - the double pendulum (see pendulum.h). With c = cos(t1 - t2), s = sin(t1 - t2) and
 * accelerations a,
 *     (m1 + m2) l1^2 a1 + m2 l1 l2 c a2 = -m2 l1 l2 s w2^2 - (m1 + m2) g l1 sin t1 + torque 1
 *     m2 l1 l2 c a1   + m2 l2^2 a2      =  m2 l1 l2 s w1^2 - m2 g l2 sin t2        + torque 2.
 * Derivatives go through this system: at fixed accelerations, what changes its sides is divided by the
 * same symmetric matrix, so that no inverse is ever differentiated. */
#include "pendulum.h"

#include <math.h>

/* Of a state: what both sides of the system are made of. */
typedef struct terms {
    double l1, l2, m1, m2, g;
    double m, k; /* m1 + m2, m2 l1 l2 */
    double c, s, s1, s2, w1, w2;
} terms;

static terms terms_of(const double *theta, const double y[4])
{
    const double l1 = theta[DOUBLE_LENGTH1], l2 = theta[DOUBLE_LENGTH2], m1 = theta[DOUBLE_MASS1];
    const double m2 = theta[DOUBLE_MASS2], between = y[DOUBLE_ANGLE1] - y[DOUBLE_ANGLE2];
    return (terms){.l1 = l1,
                   .l2 = l2,
                   .m1 = m1,
                   .m2 = m2,
                   .g = theta[DOUBLE_GRAVITY],
                   .m = m1 + m2,
                   .k = m2 * l1 * l2,
                   .c = cos(between),
                   .s = sin(between),
                   .s1 = sin(y[DOUBLE_ANGLE1]),
                   .s2 = sin(y[DOUBLE_ANGLE2]),
                   .w1 = y[DOUBLE_RATE1],
                   .w2 = y[DOUBLE_RATE2]};
}

/* out = the matrix of the system divided into b. */
static void solve(const terms *t, const double b[2], double out[2])
{
    double xx = t->m * t->l1 * t->l1, xy = t->k * t->c, yy = t->m2 * t->l2 * t->l2;
    double det = t->m2 * t->l1 * t->l1 * t->l2 * t->l2 * (t->m1 + t->m2 * t->s * t->s);
    double x = (yy * b[0] - xy * b[1]) / det, y = (xx * b[1] - xy * b[0]) / det;
    out[0] = x;
    out[1] = y;
}

void double_pendulum_acceleration(const double *theta, const double y[4], const double torque[2],
                                  double acceleration[2])
{
    const terms t = terms_of(theta, y);
    const double right[2] = {-t.k * t.s * t.w2 * t.w2 - t.m * t.g * t.l1 * t.s1 + torque[0],
                             t.k * t.s * t.w1 * t.w1 - t.m2 * t.g * t.l2 * t.s2 + torque[1]};
    solve(&t, right, acceleration);
}

/* Adds, for p . (right side - matrix a) at fixed a, the derivatives by state and parameters. */
static void reverse_sides(const terms *t, const double y[4], const double a[2], const double p[2],
                          double y_bar[4], double *theta_bar)
{
    double mixed = -t->s * t->w2 * t->w2 * p[0] + t->s * t->w1 * t->w1 * p[1] -
                   t->c * (a[1] * p[0] + a[0] * p[1]); /* derivative by k */
    double between =
        t->k * (t->c * (-t->w2 * t->w2 * p[0] + t->w1 * t->w1 * p[1]) + t->s * (a[1] * p[0] + a[0] * p[1]));
    double upper = -(t->l1 * a[0] + t->g * t->s1) * p[0]; /* of m l1 times this */
    double lower = -(t->l2 * a[1] + t->g * t->s2) * p[1]; /* of m2 l2 times this */
    y_bar[DOUBLE_ANGLE1] += between - t->m * t->g * t->l1 * cos(y[DOUBLE_ANGLE1]) * p[0];
    y_bar[DOUBLE_ANGLE2] += -between - t->m2 * t->g * t->l2 * cos(y[DOUBLE_ANGLE2]) * p[1];
    y_bar[DOUBLE_RATE1] += 2 * t->k * t->s * t->w1 * p[1];
    y_bar[DOUBLE_RATE2] -= 2 * t->k * t->s * t->w2 * p[0];
    theta_bar[DOUBLE_LENGTH1] += t->m * (upper - t->l1 * a[0] * p[0]) + t->m2 * t->l2 * mixed;
    theta_bar[DOUBLE_LENGTH2] += t->m2 * (lower - t->l2 * a[1] * p[1]) + t->m2 * t->l1 * mixed;
    theta_bar[DOUBLE_MASS1] += t->l1 * upper;
    theta_bar[DOUBLE_MASS2] += t->l1 * upper + t->l2 * lower + t->l1 * t->l2 * mixed;
    theta_bar[DOUBLE_GRAVITY] -= t->m * t->l1 * t->s1 * p[0] + t->m2 * t->l2 * t->s2 * p[1];
}

void double_pendulum_acceleration_adjoint(const double *theta, const double y[4],
                                          const double acceleration[2], const double acceleration_bar[2],
                                          double y_bar[4], double torque_bar[2], double *theta_bar)
{
    const terms t = terms_of(theta, y);
    double p[2];
    solve(&t, acceleration_bar, p);
    reverse_sides(&t, y, acceleration, p, y_bar, theta_bar);
    torque_bar[0] += p[0];
    torque_bar[1] += p[1];
}

void double_pendulum_acceleration_tangent(const double *theta, const double y[4],
                                          const double acceleration[2], const double *theta_dot,
                                          const double y_dot[4], const double torque_dot[2],
                                          double acceleration_dot[2])
{
    const terms t = terms_of(theta, y);
    double right[2];
    for (int row = 0; row < 2; row++) {
        double y_bar[DOUBLE_STATES] = {0}, theta_bar[DOUBLE_PARAMETERS] = {0};
        const double p[2] = {row == 0, row == 1};
        reverse_sides(&t, y, acceleration, p, y_bar, theta_bar);
        right[row] = torque_dot[row];
        for (int i = 0; i < DOUBLE_STATES; i++) {
            right[row] += y_bar[i] * y_dot[i];
        }
        for (int i = 0; i < DOUBLE_PARAMETERS; i++) {
            right[row] += theta_bar[i] * theta_dot[i];
        }
    }
    solve(&t, right, acceleration_dot);
}

double double_pendulum_energy(const double *theta, const double y[4])
{
    const terms t = terms_of(theta, y);
    double kinetic =
        t.m * t.l1 * t.l1 * t.w1 * t.w1 / 2 + t.m2 * t.l2 * t.l2 * t.w2 * t.w2 / 2 + t.k * t.w1 * t.w2 * t.c;
    return kinetic - t.m * t.g * t.l1 * cos(y[DOUBLE_ANGLE1]) - t.m2 * t.g * t.l2 * cos(y[DOUBLE_ANGLE2]);
}

/* ---- with viscous joints ---- */

static void joints(const double *theta, const double *y, double torque[2])
{
    double outer = theta[DOUBLE_DAMPING2] * (y[DOUBLE_RATE2] - y[DOUBLE_RATE1]);
    torque[0] = outer - theta[DOUBLE_DAMPING1] * y[DOUBLE_RATE1];
    torque[1] = -outer;
}

static void joints_adjoint(const double *theta, const double *y, const double bar[2], double *y_bar,
                           double *theta_bar)
{
    double outer_bar = bar[0] - bar[1];
    theta_bar[DOUBLE_DAMPING1] -= bar[0] * y[DOUBLE_RATE1];
    theta_bar[DOUBLE_DAMPING2] += outer_bar * (y[DOUBLE_RATE2] - y[DOUBLE_RATE1]);
    y_bar[DOUBLE_RATE1] -= theta[DOUBLE_DAMPING1] * bar[0] + theta[DOUBLE_DAMPING2] * outer_bar;
    y_bar[DOUBLE_RATE2] += theta[DOUBLE_DAMPING2] * outer_bar;
}

static void rate(const void *self, const double *theta, const double *y, double *out)
{
    double torque[2], a[2];
    (void)self;
    joints(theta, y, torque);
    double_pendulum_acceleration(theta, y, torque, a);
    out[DOUBLE_ANGLE1] = y[DOUBLE_RATE1];
    out[DOUBLE_ANGLE2] = y[DOUBLE_RATE2];
    out[DOUBLE_RATE1] = a[0];
    out[DOUBLE_RATE2] = a[1];
}

static void rate_adjoint(const void *self, const double *theta, const double *y, const double *bar,
                         double *y_bar, double *theta_bar)
{
    double torque[2], a[2], torque_bar[2] = {0};
    (void)self;
    joints(theta, y, torque);
    double_pendulum_acceleration(theta, y, torque, a);
    double_pendulum_acceleration_adjoint(theta, y, a, (const double[]){bar[DOUBLE_RATE1], bar[DOUBLE_RATE2]},
                                         y_bar, torque_bar, theta_bar);
    joints_adjoint(theta, y, torque_bar, y_bar, theta_bar);
    y_bar[DOUBLE_RATE1] += bar[DOUBLE_ANGLE1];
    y_bar[DOUBLE_RATE2] += bar[DOUBLE_ANGLE2];
}

static void rate_tangent(const void *self, const double *theta, const double *y, const double *theta_dot,
                         const double *y_dot, double *out)
{
    double torque[2], by_rate[2], by_damping[2], torque_dot[2], a[2], a_dot[2];
    (void)self;
    joints(theta, y, torque);
    joints(theta, y_dot, by_rate); /* bilinear in damping and rates */
    joints(theta_dot, y, by_damping);
    for (int k = 0; k < 2; k++) {
        torque_dot[k] = by_rate[k] + by_damping[k];
    }
    double_pendulum_acceleration(theta, y, torque, a);
    double_pendulum_acceleration_tangent(theta, y, a, theta_dot, y_dot, torque_dot, a_dot);
    out[DOUBLE_ANGLE1] = y_dot[DOUBLE_RATE1];
    out[DOUBLE_ANGLE2] = y_dot[DOUBLE_RATE2];
    out[DOUBLE_RATE1] = a_dot[0];
    out[DOUBLE_RATE2] = a_dot[1];
}

const rk4_law pendulum_double = {.states = DOUBLE_STATES,
                                 .parameters = DOUBLE_PARAMETERS,
                                 .rate = rate,
                                 .rate_adjoint = rate_adjoint,
                                 .rate_tangent = rate_tangent};
