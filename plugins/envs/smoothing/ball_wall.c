/* SPDX-License-Identifier: Apache-2.0 */
/* ball_wall - throw a ball as far as possible over a wall, in closed form: a plateau where the wall stops
 * it, and a jump where it just clears it (Suh et al., ICML 2022, figure 1). */
#include "engines/smoothing/plain.h"
#include "engines/smoothing/sources.h"

static const ds_param *const params[] = {
    DS_REAL("speed", "1", 1e-3, 1e3, "m/s", "Speed of the throw."),
    DS_REAL("distance", "0.06", 1e-6, 1e6, "m", "From the throw to the wall."),
    DS_REAL("height", "0.02", 0, 1e6, "m", "Height of the wall."),
    DS_REAL("gravity", "9.81", 1e-3, 1e3, "m/s^2", "Gravity, downward."),
    PLAIN_PARAMS("0", "1.5707963267948966", "0.1", "rad"),
    NULL};

typedef struct shot {
    plain plain; /* first */
    double speed, distance, height, gravity;
    int stopped;
} shot;

static void read_shot(void *self, ds_param_reader *in)
{
    shot *e = self;
    e->speed = ds_param_real(in, "speed");
    e->distance = ds_param_real(in, "distance");
    e->height = ds_param_real(in, "height");
    e->gravity = ds_param_real(in, "gravity");
    plain_read(&e->plain, in, 1, "angle", "rad");
    const double farthest = e->speed * e->speed / e->gravity;
    e->plain.kit.loss_floor = -(1 + 1e-12) * farthest * farthest;
}

/* Where the ball comes down on free ground. */
static double range(const shot *e, double angle)
{
    return 2 * e->speed * e->speed * sin(angle) * cos(angle) / e->gravity;
}

static ds_status simulate_shot(void *self, ds_eval *io)
{
    shot *e = self;
    const double angle = io->x[0], far = range(e, angle), d = e->distance, vx = e->speed * cos(angle);
    const double at_wall = tan(angle) * d - e->gravity * d * d / (2 * vx * vx);
    e->stopped = far > d && at_wall <= e->height;
    io->loss = e->stopped ? -d * d : -far * far;
    return DS_OK;
}

static ds_status adjoint_of_shot(void *self, ds_eval *io)
{
    const shot *e = self;
    const double slope = 2 * e->speed * e->speed * cos(2 * io->x[0]) / e->gravity;
    io->grad[0] = e->stopped ? 0 : -2 * range(e, io->x[0]) * slope;
    return DS_OK;
}

static const env_table env = {.size = sizeof(shot),
                              .read = read_shot,
                              .simulate = simulate_shot,
                              .adjoint = adjoint_of_shot,
                              PLAIN_TABLE};

static const ds_desc desc = {
    ENV_KIT_DESC("ball_wall", "1"),
    .flags = DS_ENV_GRADIENT,
    .summary = "Throw a ball over a wall, in closed form.",
    .description =
        "Variable: the angle of the throw. Loss minus the square of where the ball comes down, which is the "
        "wall where it flies into it: a plateau of gradient 0 between 0.3147 and 0.6932 rad and again "
        "between "
        "1.1993 and 1.2561, and a jump where the ball just clears the wall. The minimum lies at pi/4; its "
        "mean under noise of 0.1 rad at 0.861.",
    .citation = SMOOTHING_SUH,
    .extensions = plain_extensions,
};

ENV_KIT_DEFINE(env, desc)
