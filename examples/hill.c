/* SPDX-License-Identifier: Apache-2.0 */
/* hill - an environment: a ball is pushed over hilly ground h(q) = cos(3 q) and should be at `target` at the
 * end. x = start position [m] and start velocity [m/s]; the gradient is carried along (forward mode). */
#include <diffsim/helper/scene.h>

static const ds_param *const params[] = {DS_REAL("friction", "0.5", 0, 10, "1/s", "Damping of the velocity."),
                                         DS_REAL("target", "1", -5, 5, "m", "Where the ball should end."),
                                         NULL};

static double loss(const double *param, const double *x, double *grad)
{
    const double dt = 0.01, friction = param[0], target = param[1];
    double q = x[0], v = x[1];                    /* state: position and velocity */
    double dq[2] = {1, 0}, dv[2] = {0, 1};        /* its derivative with respect to x */
    for (int k = 0; k < 200; k++) {               /* symplectic Euler */
        ds_see((uint64_t)k, 0, q, cos(3 * q), 0); /* for pictures */
        double slope = -3 * sin(3 * q), curvature = -9 * cos(3 * q);
        for (int i = 0; i < 2; i++) {
            dv[i] += dt * (-9.81 * curvature * dq[i] - friction * dv[i]);
            dq[i] += dt * dv[i];
        }
        v += dt * (-9.81 * slope - friction * v);
        q += dt * v;
    }
    ds_see(200, 0, q, cos(3 * q), 0);
    for (int i = 0; i < 2 && grad != NULL; i++) {
        grad[i] = 2 * (q - target) * dq[i];
    }
    return (q - target) * (q - target);
}

DS_SIMPLE_SCENE("hill", "A ball pushed over hilly ground.", params, DS_ENV_GRADIENT, 2, -4, 4, 0.5, 200, 0.01,
                1, 0.06, loss)
