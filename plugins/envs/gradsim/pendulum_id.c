/* SPDX-License-Identifier: Apache-2.0 */
/* pendulum_id.c - find length, gravity and start of a damped pendulum that swings before a camera. System
 * identification of gradSim (Jatavallabhula et al., ICLR 2021, table 6 and its demonstrations). */
#include "engines/kit/bundled.h"
#include "engines/physics/pendulum/pendulum.h"
#include "engines/rendering/observation/ball_scene.h"

#include <string.h>

static const char cure[] = "raise substeps";

static const ds_param *const params[] = {
    OBSERVED_PARAMS("length gravity",
                    "length, gravity, damping, force, angle, rate (the last two at the start)", "image", "64",
                    "8, 0, 0", "alpha"),
    COMPARISON_OBJECT_PARAM,
    DS_REAL("length", "1", 0.01, 100, "m", "Length of the rod: of the target, and if it is not a variable.",
            .flags = DS_PARAM_LOG),
    DS_REAL("gravity", "9.91", -100, 100, "m/s^2", "The same for gravity, downward."),
    DS_REAL("damping", "0.5", 0, 100, "1/s", "The same for the rate at which the velocity decays."),
    DS_REAL("force", "0", -1e3, 1e3, "N", "The same for a constant horizontal force on the bob of 1 kg."),
    DS_REAL("angle", "0", -100, 100, "rad",
            "The same for the angle from the downward vertical at the start."),
    DS_REAL("rate", "3", -100, 100, "rad/s", "The same for its rate."),
    OBSERVED_FRAMES_PARAMS("50", "0.1 s", "10", "10"),
    NULL};

/* Bounds and start values of all but length and gravity are ours. */
enum { LENGTH, GRAVITY, DAMPING, ANGLE, RATE, FORCE, COUNT };
static const decision decisions[COUNT] = {
    DECISION("length", "m", 0.3, 3, 0.5), DECISION("gravity", "m/s^2", 5, 15, 5),
    DECISION("damping", "1/s", 0, 2, 1),  DECISION("angle", "rad", -1.5, 1.5, 0.5),
    DECISION("rate", "rad/s", -6, 6, 1),  DECISION("force", "N", -10, 10, 0.5)};

static const uint32_t start[SIMPLE_STATES] = {[SIMPLE_ANGLE] = ANGLE, [SIMPLE_RATE] = RATE};
static const uint32_t constant[SIMPLE_PARAMETERS] = {[SIMPLE_LENGTH] = LENGTH,
                                                     [SIMPLE_GRAVITY] = GRAVITY,
                                                     [SIMPLE_MASS] = BALL_SCENE_NONE,
                                                     [SIMPLE_DAMPING] = DAMPING,
                                                     [SIMPLE_FORCE] = FORCE};

typedef struct pendulum {
    ball_scene scene; /* must be first */
    rk4 *engine;
} pendulum;

/* ---- an episode ---- */

static int64_t launch_pendulum(void *self, const double *theta, const double *from)
{
    pendulum *e = self;
    const observed *s = &e->scene.observed;
    const int64_t lost = rk4_simulate(e->engine, NULL, theta, from, s->dt, s->steps);
    return lost < 0 ? -1 : lost - 1;
}

static void centre_of(const void *self, const double *theta, uint64_t t, double *centre)
{
    simple_pendulum_bob(theta, rk4_frame(((const pendulum *)self)->engine, t), centre);
}

static void centre_of_bar(const void *self, const double *theta, uint64_t t, const double *centre_bar,
                          double *bar, double *theta_bar)
{
    const pendulum *e = self;
    simple_pendulum_bob_adjoint(theta, rk4_frame(e->engine, t), centre_bar, bar, theta_bar);
}

static void centre_of_dot(const void *self, const double *theta, uint64_t t, const double *theta_dot,
                          const double *dot, double *centre_dot)
{
    const pendulum *e = self;
    simple_pendulum_bob_tangent(theta, rk4_frame(e->engine, t), theta_dot, dot, centre_dot);
}

static int sweep_back(void *self, uint64_t from, uint64_t to, double *bar, double *theta_bar)
{
    return rk4_adjoint(((pendulum *)self)->engine, from, to, bar, theta_bar);
}

static int sweep_forth(void *self, uint64_t from, uint64_t to, double *dot, const double *theta_dot)
{
    return rk4_tangent(((pendulum *)self)->engine, from, to, dot, theta_dot);
}

/* ---- set-up ---- */

static const ball_task task = {.offered = decisions,
                               .offers = COUNT,
                               .states = SIMPLE_STATES,
                               .constants = SIMPLE_PARAMETERS,
                               .start = start,
                               .constant = constant,
                               .other = 1, /* the mass, kg */
                               .launch = launch_pendulum,
                               .centre = centre_of,
                               .centre_bar = centre_of_bar,
                               .centre_dot = centre_of_dot,
                               .back = sweep_back,
                               .forth = sweep_forth,
                               .cure = cure};

static void read_pendulum_id(void *self, ds_param_reader *in)
{
    static const double *const colors[] = {balls_red};
    pendulum *e = self;
    observed *s = &e->scene.observed;
    ball_scene_read(&e->scene, in, &task);
    observed_frames(s, in, 0.1, 0);
    e->engine = rk4_create(&s->env.kit.memory, &pendulum_simple, s->steps, 1);
    ball_scene_ready(&e->scene, in, 1, 1, colors);
}

static const ds_scene_kit_label metrics[] = {
    {"angle", "rad"}, {"rate", "rad/s"}, {"distance", "m"}, {"error", ""}, {NULL, NULL}};

static void measure_pendulum_id(void *self, uint64_t k, double *out)
{
    pendulum *e = self;
    double mean[3];
    memcpy(out, rk4_frame(e->engine, observed_state(&e->scene.observed, k)), SIMPLE_STATES * sizeof *out);
    out[2] = observed_measure(&e->scene.observed, k, mean);
    identified_put(&e->scene.observed.error, out + 3);
}

/* ---- plugin ---- */

static const ds_env_table env = {.size = sizeof(pendulum),
                                 .advice = "reduce parameter image_size or frames",
                                 .cure = cure,
                                 .read = read_pendulum_id,
                                 .metrics = metrics,
                                 .measure = measure_pendulum_id,
                                 OBSERVED_TABLE(observed_allocate, observed_release)};

static const ds_desc desc = {
    BUNDLED_DESC("pendulum_id", "1"), .flags = DS_ENV_GRADIENT,
    .summary = "How long is a pendulum, and how strong is gravity? From images (gradSim).",
    .description =
        "A pendulum with a bob of radius 1 m swings for 4.9 s and loses speed. The variables are the unknown "
        "quantities, by default the length of its rod and gravity. The target is an episode of the same "
        "pendulum with the parameters length, gravity, damping, force, angle and rate, seen by the same "
        "camera, so "
        "the least loss is 0.\nWith observe = state the loss is the mean squared distance of the bob, "
        "m^2." COMPARISON_CHANNELS COMPARISON_ERROR("positive"),
    .citation = PAPER_GRADSIM};

DS_ENV_KIT_DEFINE(env, desc)
