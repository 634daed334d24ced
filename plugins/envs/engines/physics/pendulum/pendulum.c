/* SPDX-License-Identifier: Apache-2.0 */
/* pendulum.c - the simple and the double pendulum (see pendulum.h). For the double one, with c = cos(t1 -
 * t2), s = sin(t1 - t2) and accelerations a,
 *     (m1 + m2) l1^2 a1 + m2 l1 l2 c a2 = -m2 l1 l2 s w2^2 - (m1 + m2) g l1 sin t1 + torque 1
 *     m2 l1 l2 c a1   + m2 l2^2 a2      =  m2 l1 l2 s w1^2 - m2 g l2 sin t2        + torque 2.
 * Derivatives solve this system for the change of both sides at fixed accelerations, so no inverse is
 * differentiated. */
#include "pendulum.h"

#include <math.h>

/* ---- simple pendulum ---- */

static void simple_rate(const void *self, const double *theta, const double *y, double *out)
{
    (void)self;
    out[SIMPLE_ANGLE] = y[SIMPLE_RATE];
    out[SIMPLE_RATE] =
        -theta[SIMPLE_DAMPING] / theta[SIMPLE_MASS] * y[SIMPLE_RATE] -
        theta[SIMPLE_GRAVITY] / theta[SIMPLE_LENGTH] * sin(y[SIMPLE_ANGLE]) +
        theta[SIMPLE_FORCE] / (theta[SIMPLE_MASS] * theta[SIMPLE_LENGTH]) * cos(y[SIMPLE_ANGLE]);
}

static void simple_rate_adjoint(const void *self, const double *theta, const double *y, const double *bar,
                                double *y_bar, double *theta_bar)
{
    const double m = theta[SIMPLE_MASS], b = theta[SIMPLE_DAMPING], l = theta[SIMPLE_LENGTH];
    const double g = theta[SIMPLE_GRAVITY], a = bar[SIMPLE_RATE], w = y[SIMPLE_RATE],
                 s = sin(y[SIMPLE_ANGLE]), c = cos(y[SIMPLE_ANGLE]), f = theta[SIMPLE_FORCE] / (m * l);
    (void)self;
    y_bar[SIMPLE_RATE] += bar[SIMPLE_ANGLE] - a * b / m;
    y_bar[SIMPLE_ANGLE] -= a * g / l * c + a * f * s;
    theta_bar[SIMPLE_DAMPING] -= a * w / m;
    theta_bar[SIMPLE_MASS] += a * b * w / (m * m) - a * f * c / m;
    theta_bar[SIMPLE_GRAVITY] -= a * s / l;
    theta_bar[SIMPLE_LENGTH] += a * g * s / (l * l) - a * f * c / l;
    theta_bar[SIMPLE_FORCE] += a * c / (m * l);
}

static void simple_rate_tangent(const void *self, const double *theta, const double *y,
                                const double *theta_dot, const double *y_dot, double *out)
{
    double y_bar[SIMPLE_STATES] = {0}, theta_bar[SIMPLE_PARAMETERS] = {0};
    simple_rate_adjoint(self, theta, y, (const double[]){0, 1}, y_bar,
                        theta_bar); /* the row of the acceleration */
    out[SIMPLE_ANGLE] = y_dot[SIMPLE_RATE];
    out[SIMPLE_RATE] = y_bar[SIMPLE_ANGLE] * y_dot[SIMPLE_ANGLE] + y_bar[SIMPLE_RATE] * y_dot[SIMPLE_RATE];
    for (int i = 0; i < SIMPLE_PARAMETERS; i++) {
        out[SIMPLE_RATE] += theta_bar[i] * theta_dot[i];
    }
}

const rk4_law pendulum_simple = {.states = SIMPLE_STATES,
                                 .parameters = SIMPLE_PARAMETERS,
                                 .rate = simple_rate,
                                 .rate_adjoint = simple_rate_adjoint,
                                 .rate_tangent = simple_rate_tangent};

/* ---- double pendulum ---- */

/* Terms of both sides of the system at a state. */
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

/* out = inverse of the matrix of the system times b. */
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

/* Adds the derivatives of p . (right side - matrix a) at fixed a by state and parameters. */
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

static void double_pendulum_acceleration_adjoint(const double *theta, const double y[4],
                                                 const double acceleration[2],
                                                 const double acceleration_bar[2], double y_bar[4],
                                                 double torque_bar[2], double *theta_bar)
{
    const terms t = terms_of(theta, y);
    double p[2];
    solve(&t, acceleration_bar, p);
    reverse_sides(&t, y, acceleration, p, y_bar, theta_bar);
    torque_bar[0] += p[0];
    torque_bar[1] += p[1];
}

static void double_pendulum_acceleration_tangent(const double *theta, const double y[4],
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

/* ---- with viscous joints and a force ---- */

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

/* Adds the torques of the force on the second bob. */
static void push(const double *theta, const double *y, double torque[2])
{
    torque[0] += theta[DOUBLE_FORCE] * theta[DOUBLE_LENGTH1] * cos(y[DOUBLE_ANGLE1]);
    torque[1] += theta[DOUBLE_FORCE] * theta[DOUBLE_LENGTH2] * cos(y[DOUBLE_ANGLE2]);
}

static void push_adjoint(const double *theta, const double *y, const double bar[2], double *y_bar,
                         double *theta_bar)
{
    const double c[2] = {cos(y[DOUBLE_ANGLE1]), cos(y[DOUBLE_ANGLE2])}, f = theta[DOUBLE_FORCE];
    theta_bar[DOUBLE_FORCE] += bar[0] * theta[DOUBLE_LENGTH1] * c[0] + bar[1] * theta[DOUBLE_LENGTH2] * c[1];
    theta_bar[DOUBLE_LENGTH1] += bar[0] * f * c[0];
    theta_bar[DOUBLE_LENGTH2] += bar[1] * f * c[1];
    y_bar[DOUBLE_ANGLE1] -= bar[0] * f * theta[DOUBLE_LENGTH1] * sin(y[DOUBLE_ANGLE1]);
    y_bar[DOUBLE_ANGLE2] -= bar[1] * f * theta[DOUBLE_LENGTH2] * sin(y[DOUBLE_ANGLE2]);
}

/* Adds the change of these torques. */
static void push_tangent(const double *theta, const double *y, const double *theta_dot, const double *y_dot,
                         double torque_dot[2])
{
    for (int k = 0; k < 2; k++) {
        double y_bar[DOUBLE_STATES] = {0}, theta_bar[DOUBLE_PARAMETERS] = {0};
        push_adjoint(theta, y, (const double[]){k == 0, k == 1}, y_bar, theta_bar);
        for (int i = 0; i < DOUBLE_STATES; i++) {
            torque_dot[k] += y_bar[i] * y_dot[i];
        }
        for (int i = 0; i < DOUBLE_PARAMETERS; i++) {
            torque_dot[k] += theta_bar[i] * theta_dot[i];
        }
    }
}

static void double_rate(const void *self, const double *theta, const double *y, double *out)
{
    double torque[2], a[2];
    (void)self;
    joints(theta, y, torque);
    push(theta, y, torque);
    double_pendulum_acceleration(theta, y, torque, a);
    out[DOUBLE_ANGLE1] = y[DOUBLE_RATE1];
    out[DOUBLE_ANGLE2] = y[DOUBLE_RATE2];
    out[DOUBLE_RATE1] = a[0];
    out[DOUBLE_RATE2] = a[1];
}

static void double_rate_adjoint(const void *self, const double *theta, const double *y, const double *bar,
                                double *y_bar, double *theta_bar)
{
    double torque[2], a[2], torque_bar[2] = {0};
    (void)self;
    joints(theta, y, torque);
    push(theta, y, torque);
    double_pendulum_acceleration(theta, y, torque, a);
    double_pendulum_acceleration_adjoint(theta, y, a, (const double[]){bar[DOUBLE_RATE1], bar[DOUBLE_RATE2]},
                                         y_bar, torque_bar, theta_bar);
    joints_adjoint(theta, y, torque_bar, y_bar, theta_bar);
    push_adjoint(theta, y, torque_bar, y_bar, theta_bar);
    y_bar[DOUBLE_RATE1] += bar[DOUBLE_ANGLE1];
    y_bar[DOUBLE_RATE2] += bar[DOUBLE_ANGLE2];
}

static void double_rate_tangent(const void *self, const double *theta, const double *y,
                                const double *theta_dot, const double *y_dot, double *out)
{
    double torque[2], by_rate[2], by_damping[2], torque_dot[2], a[2], a_dot[2];
    (void)self;
    joints(theta, y, torque);
    push(theta, y, torque);
    joints(theta, y_dot, by_rate); /* bilinear in damping and rates */
    joints(theta_dot, y, by_damping);
    for (int k = 0; k < 2; k++) {
        torque_dot[k] = by_rate[k] + by_damping[k];
    }
    push_tangent(theta, y, theta_dot, y_dot, torque_dot);
    double_pendulum_acceleration(theta, y, torque, a);
    double_pendulum_acceleration_tangent(theta, y, a, theta_dot, y_dot, torque_dot, a_dot);
    out[DOUBLE_ANGLE1] = y_dot[DOUBLE_RATE1];
    out[DOUBLE_ANGLE2] = y_dot[DOUBLE_RATE2];
    out[DOUBLE_RATE1] = a_dot[0];
    out[DOUBLE_RATE2] = a_dot[1];
}

const rk4_law pendulum_double = {.states = DOUBLE_STATES,
                                 .parameters = DOUBLE_PARAMETERS,
                                 .rate = double_rate,
                                 .rate_adjoint = double_rate_adjoint,
                                 .rate_tangent = double_rate_tangent};

/* ---- bobs ---- */

/* Adds the end of a rod. */
static void rod(double length, double angle, double out[2])
{
    out[0] += length * sin(angle);
    out[1] -= length * cos(angle);
}

static void rod_adjoint(double length, double angle, const double bar[2], double *length_bar,
                        double *angle_bar)
{
    *length_bar += bar[0] * sin(angle) - bar[1] * cos(angle);
    *angle_bar += length * (bar[0] * cos(angle) + bar[1] * sin(angle));
}

static void rod_tangent(double length, double angle, double length_dot, double angle_dot, double out[2])
{
    out[0] += length_dot * sin(angle) + length * cos(angle) * angle_dot;
    out[1] += -length_dot * cos(angle) + length * sin(angle) * angle_dot;
}

void simple_pendulum_bob(const double *theta, const double y[2], double bob[2])
{
    bob[0] = bob[1] = 0;
    rod(theta[SIMPLE_LENGTH], y[SIMPLE_ANGLE], bob);
}

void simple_pendulum_bob_adjoint(const double *theta, const double y[2], const double bob_bar[2],
                                 double y_bar[2], double *theta_bar)
{
    rod_adjoint(theta[SIMPLE_LENGTH], y[SIMPLE_ANGLE], bob_bar, &theta_bar[SIMPLE_LENGTH],
                &y_bar[SIMPLE_ANGLE]);
}

void simple_pendulum_bob_tangent(const double *theta, const double y[2], const double *theta_dot,
                                 const double y_dot[2], double bob_dot[2])
{
    bob_dot[0] = bob_dot[1] = 0;
    rod_tangent(theta[SIMPLE_LENGTH], y[SIMPLE_ANGLE], theta_dot[SIMPLE_LENGTH], y_dot[SIMPLE_ANGLE],
                bob_dot);
}

void double_pendulum_bobs(const double *theta, const double y[4], double bobs[4])
{
    bobs[0] = bobs[1] = 0;
    rod(theta[DOUBLE_LENGTH1], y[DOUBLE_ANGLE1], bobs);
    bobs[2] = bobs[0];
    bobs[3] = bobs[1];
    rod(theta[DOUBLE_LENGTH2], y[DOUBLE_ANGLE2], bobs + 2);
}

void double_pendulum_bobs_adjoint(const double *theta, const double y[4], const double bobs_bar[4],
                                  double y_bar[4], double *theta_bar)
{
    const double first_bar[2] = {bobs_bar[0] + bobs_bar[2], bobs_bar[1] + bobs_bar[3]};
    rod_adjoint(theta[DOUBLE_LENGTH1], y[DOUBLE_ANGLE1], first_bar, &theta_bar[DOUBLE_LENGTH1],
                &y_bar[DOUBLE_ANGLE1]);
    rod_adjoint(theta[DOUBLE_LENGTH2], y[DOUBLE_ANGLE2], bobs_bar + 2, &theta_bar[DOUBLE_LENGTH2],
                &y_bar[DOUBLE_ANGLE2]);
}

void double_pendulum_bobs_tangent(const double *theta, const double y[4], const double *theta_dot,
                                  const double y_dot[4], double bobs_dot[4])
{
    bobs_dot[0] = bobs_dot[1] = 0;
    rod_tangent(theta[DOUBLE_LENGTH1], y[DOUBLE_ANGLE1], theta_dot[DOUBLE_LENGTH1], y_dot[DOUBLE_ANGLE1],
                bobs_dot);
    bobs_dot[2] = bobs_dot[0];
    bobs_dot[3] = bobs_dot[1];
    rod_tangent(theta[DOUBLE_LENGTH2], y[DOUBLE_ANGLE2], theta_dot[DOUBLE_LENGTH2], y_dot[DOUBLE_ANGLE2],
                bobs_dot + 2);
}
