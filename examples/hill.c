/* SPDX-License-Identifier: Apache-2.0 */
/* hill - an environment: a ball is pushed over hilly ground h(q) = cos(3 q) and should be at `target` at the
 * end. x = start position [m] and start velocity [m/s]; the gradient is carried along (forward mode). */
#include <diffsim/helper/scene.h>

enum { BALL, GOAL, GROUND, POINTS = 81 /* of the ground that is drawn */ };
static const ds_thing things[] = {
    DS_THING("ball", DS_BODY_SPHERE, DS_ROLE_MATERIAL, 0.12),
    DS_THING("goal", DS_BODY_SPHERE, DS_ROLE_TARGET, 0.12),
    {.name = "ground", .shape = DS_BODY_POINTS, .role = DS_ROLE_FIXED, .count = POINTS, .size = {0.02}},
    {.name = "hills",
     .shape = DS_BODY_LINES,
     .role = DS_ROLE_FIXED,
     .count = POINTS - 1,
     .from = GROUND,
     .to = GROUND + 1,
     .size = {0.04}}};

static const ds_param *const params[] = {DS_REAL("friction", "0.5", 0, 10, "1/s", "Damping of the velocity."),
                                         DS_REAL("target", "1", -5, 5, "m", "Where the ball should end."),
                                         NULL};

/* What does not move, for pictures. */
static void look(double target)
{
    for (int i = 0; ds_is_seen() && i < POINTS; i++) {
        const double q = -5 + 10.0 * i / (POINTS - 1);
        ds_see(0, GROUND + (uint64_t)i, q, cos(3 * q), 0);
    }
    ds_see(0, GOAL, target, cos(3 * target) + 0.14, 0);
}

static double loss(const double *param, const double *x, double *grad)
{
    const double dt = 0.01, friction = param[0], target = param[1];
    double q = x[0], v = x[1];             /* state: position and velocity */
    double dq[2] = {1, 0}, dv[2] = {0, 1}; /* its derivative with respect to x */
    for (int k = 0; k < 200; k++) {        /* symplectic Euler */
        ds_see((uint64_t)k, BALL, q, cos(3 * q) + 0.14, 0);
        double slope = -3 * sin(3 * q), curvature = -9 * cos(3 * q);
        for (int i = 0; i < 2; i++) {
            dv[i] += dt * (-9.81 * curvature * dq[i] - friction * dv[i]);
            dq[i] += dt * dv[i];
        }
        v += dt * (-9.81 * slope - friction * v);
        q += dt * v;
    }
    ds_see(200, BALL, q, cos(3 * q) + 0.14, 0);
    look(target);
    for (int i = 0; i < 2 && grad != NULL; i++) {
        grad[i] = 2 * (q - target) * dq[i];
    }
    return (q - target) * (q - target);
}

DS_SIMPLE_THINGS("hill", "A ball pushed over hilly ground.", params, DS_ENV_GRADIENT, 2, -4, 4, 0.5, 200,
                 0.01, things, loss)
