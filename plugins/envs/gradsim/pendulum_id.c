/* SPDX-License-Identifier: Apache-2.0 */
/* pendulum_id - a damped pendulum swings before a camera: its length and gravity are to be found, and how it started.
 * System identification of gradSim (Jatavallabhula et al., ICLR 2021, table 6 and its demonstrations). */
#include "engines/pendulum/pendulum.h"
#include "engines/swept/balls.h"
#include "engines/swept/swept.h"

#include <string.h>

static const char cure[] = "raise substeps";

static const ds_param *const params[] = {
    SWEPT_PARAMS("length gravity", "length, gravity, damping, angle, rate (the last two at the start)",
                 "image", "64", "8, 0, 0", "alpha"),
    DS_REAL("length", "1", 0.01, 100, "m", "Length of the rod of the target, and where it is no variable.",
            .flags = DS_PARAM_LOG),
    DS_REAL("gravity", "9.91", -100, 100, "m/s^2", "Likewise gravity, downward."),
    DS_REAL("damping", "0.5", 0, 100, "1/s", "Likewise the rate at which the velocity decays."),
    DS_REAL("angle", "0", -100, 100, "rad", "Likewise the angle from the downward vertical at the start."),
    DS_REAL("rate", "3", -100, 100, "rad/s", "Likewise its rate."),
    SWEPT_FRAMES_PARAMS("50", "0.1 s", "10", "10"),
    NULL};

/* Bounds of damping, angle and rate, and where they start, are ours. */
enum { LENGTH, GRAVITY, DAMPING, ANGLE, RATE, COUNT };
static const knob knobs[COUNT] = {KNOB("length", "m", 0.3, 3, 0.5), KNOB("gravity", "m/s^2", 5, 15, 5),
                                  KNOB("damping", "1/s", 0, 2, 1), KNOB("angle", "rad", -1.5, 1.5, 0.5),
                                  KNOB("rate", "rad/s", -6, 6, 1)};

typedef struct pendulum {
    swept swept; /* first */
    balls bob;
    rk4 *engine;
    double theta[SIMPLE_PARAMETERS]; /* of the episode */
} pendulum;

/* ---- an episode ---- */

static void constants(const double *value, double *theta)
{
    theta[SIMPLE_LENGTH] = value[LENGTH];
    theta[SIMPLE_GRAVITY] = value[GRAVITY];
    theta[SIMPLE_DAMPING] = value[DAMPING];
}

static void constants_bar(const double *theta_bar, double *value_bar)
{
    value_bar[LENGTH] += theta_bar[SIMPLE_LENGTH];
    value_bar[GRAVITY] += theta_bar[SIMPLE_GRAVITY];
    value_bar[DAMPING] += theta_bar[SIMPLE_DAMPING];
}

static int64_t launch_pendulum(void *self, const double *value)
{
    pendulum *e = self;
    const double start[SIMPLE_STATES] = {value[ANGLE], value[RATE]};
    constants(value, e->theta);
    e->theta[SIMPLE_MASS] = 1;
    const int64_t lost = rk4_simulate(e->engine, NULL, e->theta, start, e->swept.dt, e->swept.steps);
    return lost < 0 ? -1 : lost - 1;
}

static void place_bob(const void *self, uint64_t t, double *points)
{
    const pendulum *e = self;
    double centre[2];
    simple_pendulum_bob(e->theta, rk4_frame(e->engine, t), centre);
    balls_place(&e->bob, centre, points);
}

static void place_bob_bar(const void *self, uint64_t t, const double *points_bar, double *bar,
                          double *value_bar)
{
    const pendulum *e = self;
    double centre_bar[2], theta_bar[SIMPLE_PARAMETERS] = {0};
    balls_place_adjoint(&e->bob, points_bar, centre_bar);
    simple_pendulum_bob_adjoint(e->theta, rk4_frame(e->engine, t), centre_bar, bar, theta_bar);
    constants_bar(theta_bar, value_bar);
}

static void place_bob_dot(const void *self, uint64_t t, const double *dot, const double *value_dot,
                          double *points_dot)
{
    const pendulum *e = self;
    double centre_dot[2], theta_dot[SIMPLE_PARAMETERS] = {0};
    constants(value_dot, theta_dot);
    simple_pendulum_bob_tangent(e->theta, rk4_frame(e->engine, t), theta_dot, dot, centre_dot);
    balls_place_tangent(&e->bob, centre_dot, points_dot);
}

static int sweep_back(void *self, uint64_t from, uint64_t to, double *bar, double *value_bar)
{
    pendulum *e = self;
    double theta_bar[SIMPLE_PARAMETERS] = {0};
    const int finite = rk4_adjoint(e->engine, from, to, bar, theta_bar);
    constants_bar(theta_bar, value_bar);
    return finite;
}

static int sweep_forth(void *self, uint64_t from, uint64_t to, double *dot, const double *value_dot)
{
    pendulum *e = self;
    double theta_dot[SIMPLE_PARAMETERS] = {0};
    constants(value_dot, theta_dot);
    return rk4_tangent(e->engine, from, to, dot, theta_dot);
}

static void start_bar(void *self, const double *bar, double *value_bar)
{
    (void)self;
    value_bar[ANGLE] += bar[SIMPLE_ANGLE];
    value_bar[RATE] += bar[SIMPLE_RATE];
}

static void start_dot(void *self, const double *value_dot, double *dot)
{
    (void)self;
    dot[SIMPLE_ANGLE] = value_dot[ANGLE];
    dot[SIMPLE_RATE] = value_dot[RATE];
}

static const swept_task task = {.numbers = SIMPLE_STATES,
                                .launch = launch_pendulum,
                                .place = place_bob,
                                .place_bar = place_bob_bar,
                                .place_dot = place_bob_dot,
                                .back = sweep_back,
                                .forth = sweep_forth,
                                .start_bar = start_bar,
                                .start_dot = start_dot,
                                .cure = cure};

/* ---- set-up ---- */

static void read_pendulum_id(void *self, ds_param_reader *in)
{
    static const double *const colors[] = {balls_red};
    pendulum *e = self;
    swept *s = &e->swept;
    swept_read(s, in, &task);
    s->knobs.knob = knobs;
    s->knobs.knobs = COUNT;
    for (int k = 0; k < COUNT; k++) {
        s->knobs.truth[k] = ds_param_real(in, knobs[k].name);
    }
    swept_frames(s, in, 0.1, 0);
    e->engine = rk4_create(&s->watcher.kit.memory, &pendulum_simple, s->steps, 1);
    if (in->status == DS_OK) {
        in->status = balls_open(&e->bob, &s->watcher.kit.memory, 1, 1, colors, &s->subject);
    }
    swept_ready(s, in);
}

static const scene_metric metrics[] = {
    {"angle", "rad"}, {"rate", "rad/s"}, {"distance", "m"}, {"error", ""}, {NULL, NULL}};

static void measure_pendulum_id(void *self, uint64_t k, double *out)
{
    pendulum *e = self;
    double mean[3];
    memcpy(out, rk4_frame(e->engine, swept_state(&e->swept, k)), SIMPLE_STATES * sizeof *out);
    out[2] = swept_measure(&e->swept, k, mean);
    identified_put(&e->swept.error, out + 3);
}

/* ---- plugin ---- */

static const env_table env = {.size = sizeof(pendulum),
                              .advice = "reduce parameter image_size or frames",
                              .cure = cure,
                              .read = read_pendulum_id,
                              .metrics = metrics,
                              .measure = measure_pendulum_id,
                              SWEPT_TABLE(swept_release)};

static const ds_desc desc = {
    ENV_KIT_DESC("pendulum_id", "1"),
    .flags = DS_ENV_GRADIENT,
    .summary = "How long is a pendulum, and how strong is gravity? From pictures (gradSim).",
    .description =
        "A pendulum with a bob of radius 1 m swings for 4.9 s and loses speed. The variables are what is "
        "unknown of it, by default the length of its rod and gravity. The target is an episode of the same "
        "pendulum with the parameters length, gravity, damping, angle and rate, seen by the same camera, so "
        "the least loss is 0.\n"
        "With observe = state the loss is the mean squared distance of the bob, m^2.\n"
        "Channels: residuals with J v and J' w; with observe = image also pictures and target. Metric "
        "error: mean error of the variables, which the optimizer does not see.",
    .citation = ENV_KIT_GRADSIM,
    .extensions = env_kit_scene_channels};

ENV_KIT_DEFINE(env, desc)
