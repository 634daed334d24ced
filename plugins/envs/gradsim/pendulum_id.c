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
    DS_HYBRID_PARAMS,
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
    double *tape; /* of the networks */
} pendulum;

/* ---- networks ---- */

/* The torque of the networks at a state; 0 without them, and for the target. */
static double torque_at(const pendulum *e, const double *y)
{
    double torque = 0;
    ds_hybrid_forward(&e->scene.observed.env.kit.hybrid, e->scene.observed.w, y, &torque, e->tape);
    return torque;
}

static int acts(const pendulum *e)
{
    return e->scene.observed.env.kit.hybrid.nets > 0 && !e->scene.observed.is_target;
}

static void rate(const void *self, const double *theta, const double *y, double *out)
{
    const pendulum *e = self;
    pendulum_simple.rate(NULL, theta, y, out);
    if (acts(e)) {
        out[SIMPLE_RATE] +=
            torque_at(e, y) / (theta[SIMPLE_MASS] * theta[SIMPLE_LENGTH] * theta[SIMPLE_LENGTH]);
    }
}

static void rate_adjoint(const void *self, const double *theta, const double *y, const double *bar,
                         double *y_bar, double *theta_bar)
{
    const pendulum *e = self;
    const double m = theta[SIMPLE_MASS], l = theta[SIMPLE_LENGTH], inertia = m * l * l;
    pendulum_simple.rate_adjoint(NULL, theta, y, bar, y_bar, theta_bar);
    if (acts(e)) {
        const double by_torque = bar[SIMPLE_RATE] * torque_at(e, y) / inertia;
        double torque_bar = bar[SIMPLE_RATE] / inertia;
        theta_bar[SIMPLE_MASS] -= by_torque / m;
        theta_bar[SIMPLE_LENGTH] -= 2 * by_torque / l;
        ds_hybrid_reverse(&e->scene.observed.env.kit.hybrid, e->scene.observed.w, e->tape, &torque_bar,
                          e->scene.observed.w_bar, y_bar);
    }
}

static void rate_tangent(const void *self, const double *theta, const double *y, const double *theta_dot,
                         const double *y_dot, double *out)
{
    const pendulum *e = self;
    const double m = theta[SIMPLE_MASS], l = theta[SIMPLE_LENGTH], inertia = m * l * l;
    pendulum_simple.rate_tangent(NULL, theta, y, theta_dot, y_dot, out);
    if (acts(e)) {
        double torque_dot = 0;
        const double torque = torque_at(e, y);
        ds_hybrid_tangent(&e->scene.observed.env.kit.hybrid, e->scene.observed.w, e->tape,
                          e->scene.observed.w_dot, y_dot, &torque_dot);
        out[SIMPLE_RATE] +=
            (torque_dot - torque * (theta_dot[SIMPLE_MASS] / m + 2 * theta_dot[SIMPLE_LENGTH] / l)) / inertia;
    }
}

static const rk4_law law = {.states = SIMPLE_STATES,
                            .parameters = SIMPLE_PARAMETERS,
                            .rate = rate,
                            .rate_adjoint = rate_adjoint,
                            .rate_tangent = rate_tangent};

/* ---- an episode ---- */

static int64_t launch_pendulum(void *self, const double *theta, const double *from)
{
    pendulum *e = self;
    const observed *s = &e->scene.observed;
    const int64_t lost = rk4_simulate(e->engine, e, theta, from, s->dt, s->steps);
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
    e->engine = rk4_create(&s->env.kit.memory, &law, s->steps, 1);
    ball_scene_ready(&e->scene, in, 1, 1, colors);
}

static uint64_t hooks_of_pendulum_id(const void *self, ds_hook *out)
{
    uint64_t k = 0;
    (void)self;
    ds_env_kit_hook(out, &k, DS_HOOK_INPUT, 1, "angle", "rad", "From the downward vertical.");
    ds_env_kit_hook(out, &k, DS_HOOK_INPUT, 1, "rate", "rad/s", "Of the angle.");
    ds_env_kit_hook(out, &k, DS_HOOK_OUTPUT, 1, "torque", "N m",
                    "On the rod, in addition to the others; begins at 0. The target has none.");
    return k;
}

static ds_status allocate_pendulum_id(void *self)
{
    pendulum *e = self;
    ds_env_kit *kit = &e->scene.observed.env.kit;
    e->tape = ds_memory_doubles(&kit->memory, kit->hybrid.tape + 1);
    return observed_allocate(self);
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
                                 .hook_points = hooks_of_pendulum_id,
                                 OBSERVED_TABLE(allocate_pendulum_id, observed_release)};

static const ds_desc desc = {
    BUNDLED_DESC("pendulum_id", "2"), .flags = DS_ENV_GRADIENT,
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
