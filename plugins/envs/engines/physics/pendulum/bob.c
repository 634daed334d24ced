/* SPDX-License-Identifier: Apache-2.0 */
/* bob.c - where the bobs of pendula are (see pendulum.h). */
#include "pendulum.h"

#include <math.h>

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
