/* SPDX-License-Identifier: Apache-2.0 */
/* simple.c - the simple pendulum (see pendulum.h). */
#include "pendulum.h"

#include <math.h>

static void rate(const void *self, const double *theta, const double *y, double *out)
{
    (void)self;
    out[SIMPLE_ANGLE] = y[SIMPLE_RATE];
    out[SIMPLE_RATE] = -theta[SIMPLE_DAMPING] / theta[SIMPLE_MASS] * y[SIMPLE_RATE] -
                       theta[SIMPLE_GRAVITY] / theta[SIMPLE_LENGTH] * sin(y[SIMPLE_ANGLE]);
}

static void rate_adjoint(const void *self, const double *theta, const double *y, const double *bar,
                         double *y_bar, double *theta_bar)
{
    const double m = theta[SIMPLE_MASS], b = theta[SIMPLE_DAMPING], l = theta[SIMPLE_LENGTH];
    const double g = theta[SIMPLE_GRAVITY], a = bar[SIMPLE_RATE], w = y[SIMPLE_RATE],
                 s = sin(y[SIMPLE_ANGLE]);
    (void)self;
    y_bar[SIMPLE_RATE] += bar[SIMPLE_ANGLE] - a * b / m;
    y_bar[SIMPLE_ANGLE] -= a * g / l * cos(y[SIMPLE_ANGLE]);
    theta_bar[SIMPLE_DAMPING] -= a * w / m;
    theta_bar[SIMPLE_MASS] += a * b * w / (m * m);
    theta_bar[SIMPLE_GRAVITY] -= a * s / l;
    theta_bar[SIMPLE_LENGTH] += a * g * s / (l * l);
}

static void rate_tangent(const void *self, const double *theta, const double *y, const double *theta_dot,
                         const double *y_dot, double *out)
{
    double y_bar[SIMPLE_STATES] = {0}, theta_bar[SIMPLE_PARAMETERS] = {0};
    rate_adjoint(self, theta, y, (const double[]){0, 1}, y_bar, theta_bar); /* the row of the acceleration */
    out[SIMPLE_ANGLE] = y_dot[SIMPLE_RATE];
    out[SIMPLE_RATE] = y_bar[SIMPLE_ANGLE] * y_dot[SIMPLE_ANGLE] + y_bar[SIMPLE_RATE] * y_dot[SIMPLE_RATE];
    for (int i = 0; i < SIMPLE_PARAMETERS; i++) {
        out[SIMPLE_RATE] += theta_bar[i] * theta_dot[i];
    }
}

const rk4_law pendulum_simple = {.states = SIMPLE_STATES,
                                 .parameters = SIMPLE_PARAMETERS,
                                 .rate = rate,
                                 .rate_adjoint = rate_adjoint,
                                 .rate_tangent = rate_tangent};
