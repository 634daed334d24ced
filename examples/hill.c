/* SPDX-License-Identifier: Apache-2.0 */
/* hill - an environment: a ball is pushed over hilly ground h(q) = cos(3 q) and should be at `target` at the
 * end. x = start position [m] and start velocity [m/s]; the gradient is carried along (forward mode). */
#include <diffsim/helper/simple.h>

static const ds_thing things[] = {DS_THING("ball", DS_BODY_SPHERE, DS_ROLE_MATERIAL, 0.12),
                                  DS_THING("goal", DS_BODY_SPHERE, DS_ROLE_TARGET, 0.12)};
static const ds_param *const params[] = {DS_REAL("friction", "0.5", 0, 10, "1/s", "Damping of the velocity."),
                                         DS_REAL("target", "1", -5, 5, "m", "Where the ball should end."),
                                         NULL};

static double loss(const ds_simple_episode *e)
{
    const double dt = 0.01, friction = e->param[0], target = e->param[1];
    double q = e->x[0], v = e->x[1], dq[2] = {1, 0}, dv[2] = {0, 1}; /* the state and its derivative to x */
    for (uint64_t k = 0; k < 200; k++) {                             /* symplectic Euler */
        ds_see(k, 0, q, cos(3 * q) + 0.14, 0);
        const double slope = -3 * sin(3 * q), curvature = -9 * cos(3 * q);
        for (int i = 0; i < 2; i++) {
            dv[i] += dt * (-9.81 * curvature * dq[i] - friction * dv[i]);
            dq[i] += dt * dv[i];
        }
        v += dt * (-9.81 * slope - friction * v);
        q += dt * v;
    }
    ds_see(200, 0, q, cos(3 * q) + 0.14, 0);
    ds_see(0, 1, target, cos(3 * target) + 0.14, 0);
    for (int i = 0; i < 2 && e->grad != NULL; i++) {
        e->grad[i] = 2 * (q - target) * dq[i];
    }
    return (q - target) * (q - target);
}

DS_DEFINE_SIMPLE(.id = "hill", .summary = "A ball pushed over hilly ground.", .params = params,
                 .flags = DS_ENV_GRADIENT, .n = 2, .lower = -4, .upper = 4, .start = 0.5, .steps = 200,
                 .dt = 0.01, DS_THINGS(things), .loss = loss, .grad_kind = DS_GRAD_FORWARD)
