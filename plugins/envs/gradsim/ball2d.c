/* SPDX-License-Identifier: Apache-2.0 */
/* ball2d - a ball bounces past a camera: its speed and gravity are to be found. System identification of gradSim
 * (Jatavallabhula et al., ICLR 2021, its demonstration of bouncing in the plane). */
#include "engines/algebra/finite.h"
#include "engines/contact/floor_ball.h"
#include "engines/swept/balls.h"
#include "engines/swept/swept.h"

static const char cure[] = "reduce parameter gravity";

static const ds_param *const params[] = {
    SWEPT_PARAMS("speed gravity", "speed, gravity, position (at the start)", "image", "64", "15, 0, 0",
                 "alpha"),
    DS_REAL("speed", "1", -100, 100, "m/s",
            "Speed of the target along x at the start, and where it is no variable."),
    DS_REAL("gravity", "-9", -100, 0, "m/s^2", "Likewise gravity, upward."),
    DS_LIST("position", "-7.5, 5", -100, 100, 2, "m", "Likewise where the centre starts, x and y."),
    DS_REAL("radius", "0.75", 0.01, 10, "m", "Radius of the ball."),
    SWEPT_FRAMES_PARAMS("100", "1/30 s", "4", "1"),
    NULL};

/* Bounds of the position are ours. */
enum { SPEED, GRAVITY, POSITION, COUNT = POSITION + 2 };
static const knob knobs[COUNT] = {
    {.name = "speed", .unit = "m/s", .lower = 0, .upper = 6, .start = 3, .random = 1},
    {.name = "gravity", .unit = "m/s^2", .lower = -15, .upper = -5, .start = -10, .random = 1},
    KNOB("position.x", "m", -9, -6, -7),
    KNOB("position.y", "m", 2, 8, 4)};

enum { X, Y, VX, VY }; /* of a state */

typedef struct thrown {
    swept swept; /* first */
    balls ball;
    floor_ball *engine;
    double radius;
} thrown;

/* ---- an episode ---- */

static int64_t launch_ball(void *self, const double *value)
{
    thrown *e = self;
    const double start[FLOOR_BALL_STATE] = {value[POSITION], value[POSITION + 1], value[SPEED], 0};
    return floor_ball_simulate(e->engine, e->radius, value[GRAVITY], e->swept.dt, start, e->swept.steps);
}

static void place_ball(const void *self, uint64_t t, double *points)
{
    const thrown *e = self;
    balls_place(&e->ball, floor_ball_at(e->engine, t), points);
}

static void place_ball_bar(const void *self, uint64_t t, const double *points_bar, double *bar,
                           double *value_bar)
{
    const thrown *e = self;
    double centre_bar[2];
    (void)t;
    (void)value_bar;
    balls_place_adjoint(&e->ball, points_bar, centre_bar);
    bar[X] += centre_bar[0];
    bar[Y] += centre_bar[1];
}

static void place_ball_dot(const void *self, uint64_t t, const double *dot, const double *value_dot,
                           double *points_dot)
{
    const thrown *e = self;
    (void)t;
    (void)value_dot;
    balls_place_tangent(&e->ball, dot, points_dot);
}

static int sweep_back(void *self, uint64_t from, uint64_t to, double *bar, double *value_bar)
{
    const thrown *e = self;
    floor_ball_adjoint(e->engine, from, to, bar, &value_bar[GRAVITY]);
    return all_finite(FLOOR_BALL_STATE, bar) && isfinite(value_bar[GRAVITY]);
}

static int sweep_forth(void *self, uint64_t from, uint64_t to, double *dot, const double *value_dot)
{
    const thrown *e = self;
    floor_ball_tangent(e->engine, from, to, dot, value_dot[GRAVITY]);
    return all_finite(FLOOR_BALL_STATE, dot);
}

static void start_bar(void *self, const double *bar, double *value_bar)
{
    (void)self;
    value_bar[POSITION] += bar[X];
    value_bar[POSITION + 1] += bar[Y];
    value_bar[SPEED] += bar[VX];
}

static void start_dot(void *self, const double *value_dot, double *dot)
{
    (void)self;
    dot[X] = value_dot[POSITION];
    dot[Y] = value_dot[POSITION + 1];
    dot[VX] = value_dot[SPEED];
    dot[VY] = 0;
}

static const swept_task task = {.numbers = FLOOR_BALL_STATE,
                                .launch = launch_ball,
                                .place = place_ball,
                                .place_bar = place_ball_bar,
                                .place_dot = place_ball_dot,
                                .back = sweep_back,
                                .forth = sweep_forth,
                                .start_bar = start_bar,
                                .start_dot = start_dot,
                                .cure = cure};

/* ---- set-up ---- */

static void read_ball2d(void *self, ds_param_reader *in)
{
    static const double *const colors[] = {balls_red};
    thrown *e = self;
    swept *s = &e->swept;
    swept_read(s, in, &task);
    s->knobs.knob = knobs;
    s->knobs.knobs = COUNT;
    s->knobs.truth[SPEED] = ds_param_real(in, "speed");
    s->knobs.truth[GRAVITY] = ds_param_real(in, "gravity");
    s->knobs.truth[POSITION] = -7.5;
    s->knobs.truth[POSITION + 1] = 5;
    ds_param_values(in, "position", 2, s->knobs.truth + POSITION);
    e->radius = ds_param_real(in, "radius");
    swept_frames(s, in, 1.0 / 30, 1);
    e->engine = floor_ball_create(&s->watcher.kit.memory, s->steps);
    if (in->status == DS_OK) {
        in->status = balls_open(&e->ball, &s->watcher.kit.memory, 1, e->radius, colors, &s->subject);
    }
    s->floor = 0;
    swept_ready(s, in);
}

static const scene_metric metrics[] = {
    {"x", "m"}, {"y", "m"}, {"distance", "m"}, {"error", ""}, {NULL, NULL}};

static void measure_ball2d(void *self, uint64_t k, double *out)
{
    thrown *e = self;
    double mean[3];
    out[2] = swept_measure(&e->swept, k, mean);
    out[0] = mean[0];
    out[1] = mean[1];
    identified_put(&e->swept.error, out + 3);
}

/* ---- plugin ---- */

static const env_table env = {.size = sizeof(thrown),
                              .advice = "reduce parameter image_size or frames",
                              .cure = cure,
                              .read = read_ball2d,
                              .metrics = metrics,
                              .measure = measure_ball2d,
                              SWEPT_TABLE(swept_release)};

static const ds_desc desc = {
    ENV_KIT_DESC("ball2d", "1"),
    .flags = DS_ENV_GRADIENT,
    .summary = "How fast is a bouncing ball, and how strong is gravity? From pictures (gradSim).",
    .description =
        "A ball of radius 0.75 m is thrown from 5 m along the floor, which throws it back without loss, and "
        "passes the camera for 3.3 s. The variables are what is unknown of it, by default its speed and "
        "gravity, which is negative. The target is an episode of the same ball with the parameters speed, "
        "gravity and position, seen by the same camera, so the least loss is 0.\n"
        "With observe = state the loss is the mean squared distance of the ball, m^2. A step that meets the "
        "floor ends there: as impacts move from one step to the next, the loss has jumps.\n"
        "Channels: residuals with J v and J' w; with observe = image also pictures and target. Metric "
        "error: mean error of the variables, which the optimizer does not see.",
    .citation = ENV_KIT_GRADSIM,
    .extensions = env_kit_scene_channels};

ENV_KIT_DEFINE(env, desc)
