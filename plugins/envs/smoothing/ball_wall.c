/* SPDX-License-Identifier: Apache-2.0 */
/* ball_wall.c - throw a ball as far as possible over a wall, in closed form: a plateau where the wall stops
 * the ball, and a jump where the ball just clears it (Suh et al., ICML 2022, figure 1). */
#include "engines/kit/bundled.h"
#include "engines/physics/smoothing/plain.h"

static const ds_param *const params[] = {
    DS_REAL("speed", "1", 1e-3, 1e3, "m/s", "Speed of the throw."),
    DS_REAL("distance", "0.06", 1e-6, 1e6, "m", "Distance from the throw to the wall."),
    DS_REAL("height", "0.02", 0, 1e6, "m", "Height of the wall."),
    DS_REAL("gravity", "9.81", 1e-3, 1e3, "m/s^2", "Gravity, downward."),
    PLAIN_PARAMS("0", "1.5707963267948966", "0.1", "rad"),
    NULL};

typedef struct shot {
    plain plain; /* must be first */
    double speed, distance, height, gravity;
    int stopped;
    double angle; /* last throw */
} shot;

enum { FRAMES = 40 };

static void read_shot(void *self, ds_param_reader *in)
{
    shot *e = self;
    e->speed = ds_param_real(in, "speed");
    e->distance = ds_param_real(in, "distance");
    e->height = ds_param_real(in, "height");
    e->gravity = ds_param_real(in, "gravity");
    plain_read(&e->plain, in, 1, "angle", "rad");
    e->plain.kit.steps = FRAMES;
    e->plain.kit.dt = 2 * e->speed / e->gravity / FRAMES; /* the longest flight goes straight up */
    const double farthest = e->speed * e->speed / e->gravity;
    e->plain.kit.loss_floor = -(1 + 1e-12) * farthest * farthest;
}

/* Where the ball lands on free ground. */
static double range(const shot *e, double angle)
{
    return 2 * e->speed * e->speed * sin(angle) * cos(angle) / e->gravity;
}

static ds_status simulate_shot(void *self, ds_eval *io)
{
    shot *e = self;
    const double angle = io->x[0], far = range(e, angle), d = e->distance, vx = e->speed * cos(angle);
    const double at_wall = tan(angle) * d - e->gravity * d * d / (2 * vx * vx);
    e->angle = angle;
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

/* ---- scene ---- */

enum { BALL, WALL };

/* Position of the ball at frame k; it stays where it lands or hits the wall. */
static void ball_at(const shot *e, uint64_t k, double at[2])
{
    const double vx = e->speed * cos(e->angle), vy = e->speed * sin(e->angle);
    const double down = 2 * vy / e->gravity, wall = e->stopped ? e->distance / vx : HUGE_VAL;
    const double t = fmin((double)k * e->plain.kit.dt, fmin(down, wall));
    at[0] = vx * t;
    at[1] = fmax(0, t * (vy - 0.5 * e->gravity * t));
}

static void bodies_of_shot(void *self, ds_scene_kit *s)
{
    const shot *e = self;
    const double farthest = e->speed * e->speed / e->gravity, size = 0.02 * farthest;
    s->info.flat = 1;
    s->info.ground = 0;
    ds_scene_kit_body(s, "ball", DS_BODY_SPHERE, DS_ROLE_MATERIAL, 1, (double[4]){size, 0, 0, 0});
    ds_scene_kit_body(s, "wall", DS_BODY_BOX, DS_ROLE_FIXED, 1,
                      (double[4]){0.25 * size, 0.5 * e->height, 0.25 * size, 0});
    ds_scene_kit_include(s, 0, 0, 0, size);
    ds_scene_kit_include(s, fmax(farthest, e->distance), 0.5 * farthest, 0, size);
}

static void place_shot(const void *self, uint64_t k, uint64_t b, double *out)
{
    const shot *e = self;
    double at[2] = {e->distance, 0.5 * e->height};
    if (b == BALL) {
        ball_at(e, k, at);
    }
    ds_scene_kit_pose(at[0], at[1], 0, 0, out);
}

static const ds_scene_kit_label metrics[] = {{"x", "m"}, {"y", "m"}, {NULL, NULL}};

static void measure_shot(void *self, uint64_t k, double *out)
{
    ball_at(self, k, out);
}

static const ds_env_table env = {.size = sizeof(shot),
                                 .read = read_shot,
                                 .simulate = simulate_shot,
                                 .adjoint = adjoint_of_shot,
                                 .metrics = metrics,
                                 .bodies = bodies_of_shot,
                                 .place = place_shot,
                                 .measure = measure_shot,
                                 PLAIN_TABLE};

static const ds_desc desc = {
    BUNDLED_DESC("ball_wall", "1"),
    .flags = DS_ENV_GRADIENT,
    .summary = "Throw a ball over a wall, in closed form.",
    .description = "Variable: the angle of the throw. Loss: minus the square of the landing distance, or of "
                   "the distance of the wall if the ball hits it. The wall gives plateaus of gradient 0 "
                   "between 0.3147 and 0.6932 rad and between 1.1993 and 1.2561 rad, and a jump where the "
                   "ball just clears it. The minimum lies at pi/4; the minimum of the mean under noise of "
                   "0.1 rad lies at 0.861.\nMetrics: position of the ball on its flight.",
    .citation = SMOOTHING_SUH,
};

DS_ENV_KIT_DEFINE(env, desc)
