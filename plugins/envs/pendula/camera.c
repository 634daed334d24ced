/* SPDX-License-Identifier: Apache-2.0 */
/* camera.c - double_pendulum before a camera: find the lengths of two pendula in a row, and optionally mass,
 * gravity and start. System identification of gradSim (Jatavallabhula et al., ICLR 2021, table 6 and its
 * demonstrations). */
#include "engines/physics/pendulum/pendulum.h"
#include "engines/rendering/observation/ball_scene.h"
#include "engines/rendering/observation/observed.h"
#include "model.h"

#include <string.h>

static const char cure[] = "raise substeps";
static const double pi = 3.14159265358979323846;

/* Bounds other than those of the lengths, and the start values of the variables, are ours. */
enum { LENGTH, MASS = LENGTH + 2, GRAVITY, ANGLE, RATE = ANGLE + 2, FORCE = RATE + 2, COUNT };
static const decision decisions[COUNT] = {
    DECISION("length.1", "m", 0.4, 2.5, 1),  DECISION("length.2", "m", 0.4, 2.5, 1.7),
    DECISION("mass", "kg", 0.4, 2.5, 1.7),   DECISION("gravity", "m/s^2", 5, 15, 8),
    DECISION("angle.1", "rad", -3, 3, 1),    DECISION("angle.2", "rad", -3, 3, 2),
    DECISION("rate.1", "rad/s", -6, 6, 0.5), DECISION("rate.2", "rad/s", -6, 6, 0.5),
    DECISION("force", "N", -10, 10, 0.5)};

typedef struct twins {
    observed observed; /* must be first */
    balls bobs;
    rk4 *engine;
    double theta[DOUBLE_PARAMETERS]; /* of the episode */
} twins;

/* ---- an episode ---- */

static void constants(const double *value, double *theta)
{
    theta[DOUBLE_LENGTH1] = value[LENGTH];
    theta[DOUBLE_LENGTH2] = value[LENGTH + 1];
    theta[DOUBLE_MASS2] = value[MASS];
    theta[DOUBLE_GRAVITY] = value[GRAVITY];
    theta[DOUBLE_FORCE] = value[FORCE];
}

static void constants_bar(const double *theta_bar, double *value_bar)
{
    value_bar[LENGTH] += theta_bar[DOUBLE_LENGTH1];
    value_bar[LENGTH + 1] += theta_bar[DOUBLE_LENGTH2];
    value_bar[MASS] += theta_bar[DOUBLE_MASS2];
    value_bar[GRAVITY] += theta_bar[DOUBLE_GRAVITY];
    value_bar[FORCE] += theta_bar[DOUBLE_FORCE];
}

/* The state at the start, from the quantities or from their changes. */
static void start_of(const double *value, double *y)
{
    y[DOUBLE_ANGLE1] = value[ANGLE];
    y[DOUBLE_ANGLE2] = value[ANGLE + 1];
    y[DOUBLE_RATE1] = value[RATE];
    y[DOUBLE_RATE2] = value[RATE + 1];
}

static int64_t launch_twins(void *self, const double *value)
{
    twins *e = self;
    double start[DOUBLE_STATES];
    constants(value, e->theta);
    e->theta[DOUBLE_MASS1] = 1;
    start_of(value, start);
    const int64_t lost = rk4_simulate(e->engine, NULL, e->theta, start, e->observed.dt, e->observed.steps);
    return lost < 0 ? -1 : lost - 1;
}

static void place_bobs(const void *self, uint64_t t, double *points)
{
    const twins *e = self;
    double centre[2 * BALLS];
    double_pendulum_bobs(e->theta, rk4_frame(e->engine, t), centre);
    balls_place(&e->bobs, centre, points);
}

static void place_bobs_bar(const void *self, uint64_t t, const double *points_bar, double *bar,
                           double *value_bar)
{
    const twins *e = self;
    double centre_bar[2 * BALLS], theta_bar[DOUBLE_PARAMETERS] = {0};
    balls_place_adjoint(&e->bobs, points_bar, centre_bar);
    double_pendulum_bobs_adjoint(e->theta, rk4_frame(e->engine, t), centre_bar, bar, theta_bar);
    constants_bar(theta_bar, value_bar);
}

static void place_bobs_dot(const void *self, uint64_t t, const double *dot, const double *value_dot,
                           double *points_dot)
{
    const twins *e = self;
    double centre_dot[2 * BALLS], theta_dot[DOUBLE_PARAMETERS] = {0};
    constants(value_dot, theta_dot);
    double_pendulum_bobs_tangent(e->theta, rk4_frame(e->engine, t), theta_dot, dot, centre_dot);
    balls_place_tangent(&e->bobs, centre_dot, points_dot);
}

static int sweep_back(void *self, uint64_t from, uint64_t to, double *bar, double *value_bar)
{
    twins *e = self;
    double theta_bar[DOUBLE_PARAMETERS] = {0};
    const int finite = rk4_adjoint(e->engine, from, to, bar, theta_bar);
    constants_bar(theta_bar, value_bar);
    return finite;
}

static int sweep_forth(void *self, uint64_t from, uint64_t to, double *dot, const double *value_dot)
{
    twins *e = self;
    double theta_dot[DOUBLE_PARAMETERS] = {0};
    constants(value_dot, theta_dot);
    return rk4_tangent(e->engine, from, to, dot, theta_dot);
}

static void start_bar(void *self, const double *bar, double *value_bar)
{
    (void)self;
    value_bar[ANGLE] += bar[DOUBLE_ANGLE1];
    value_bar[ANGLE + 1] += bar[DOUBLE_ANGLE2];
    value_bar[RATE] += bar[DOUBLE_RATE1];
    value_bar[RATE + 1] += bar[DOUBLE_RATE2];
}

static void start_dot(void *self, const double *value_dot, double *dot)
{
    (void)self;
    start_of(value_dot, dot);
}

static const observed_task task = {.numbers = DOUBLE_STATES,
                                   .launch = launch_twins,
                                   .place = place_bobs,
                                   .place_bar = place_bobs_bar,
                                   .place_dot = place_bobs_dot,
                                   .back = sweep_back,
                                   .forth = sweep_forth,
                                   .start_bar = start_bar,
                                   .start_dot = start_dot,
                                   .cure = cure};

/* ---- set-up ---- */

static void read_truth(twins *e, ds_param_reader *in)
{
    const double usual[COUNT] = {1, 1, 1, 10, 3 * pi / 7, 3 * pi / 4, 0, 0, 0};
    double *truth = e->observed.decisions.truth;
    memcpy(truth, usual, sizeof usual);
    ds_param_values(in, "length", 2, truth + LENGTH);
    truth[MASS] = ds_param_real(in, "mass");
    ds_param_values(in, "gravity", 1, truth + GRAVITY);
    ds_param_values(in, "angle", 2, truth + ANGLE);
    ds_param_values(in, "rate", 2, truth + RATE);
    truth[FORCE] = ds_param_real(in, "force");
}

static void read_double_pendulum(void *self, ds_param_reader *in)
{
    static const double *const colors[BALLS] = {balls_red, balls_blue};
    twins *e = self;
    observed *s = &e->observed;
    observed_read(s, in, &task);
    s->decisions.offered = decisions;
    s->decisions.offers = COUNT;
    read_truth(e, in);
    observed_frames(s, in, 1.0 / 30, 0);
    e->engine = rk4_create(&s->env.kit.memory, &pendulum_double, s->steps, 1);
    if (in->status == DS_OK) {
        in->status = balls_open(&e->bobs, &s->env.kit.memory, BALLS, 0.25, colors, &s->subject);
    }
    observed_ready(s, in);
}

static const ds_scene_kit_label metrics[] = {{"angle1", "rad"},  {"rate1", "rad/s"}, {"angle2", "rad"},
                                             {"rate2", "rad/s"}, {"energy", "J"},    {"distance", "m"},
                                             {"error", ""},      {NULL, NULL}};

static void measure_double_pendulum(void *self, uint64_t k, double *out)
{
    twins *e = self;
    const double *y = rk4_frame(e->engine, observed_state(&e->observed, k));
    double mean[3];
    memcpy(out, y, DOUBLE_STATES * sizeof *out);
    out[4] = double_pendulum_energy(e->theta, y);
    out[5] = observed_measure(&e->observed, k, mean);
    identified_put(&e->observed.error, out + 6);
}

const ds_env_table camera_table = {.size = sizeof(twins),
                                   .advice = "reduce parameter image_size or frames",
                                   .cure = cure,
                                   .read = read_double_pendulum,
                                   .metrics = metrics,
                                   .measure = measure_double_pendulum,
                                   OBSERVED_TABLE(observed_allocate, observed_release)};
