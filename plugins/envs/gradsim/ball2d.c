/* SPDX-License-Identifier: Apache-2.0 */
/* ball2d.c - find speed and gravity of a ball that bounces past a camera. System identification of gradSim
 * (Jatavallabhula et al., ICLR 2021, its demonstration of bouncing in the plane). */
#include "engines/kit/norm.h"
#include "engines/physics/contact/floor_ball.h"
#include "engines/kit/bundled.h"
#include "engines/rendering/observation/ball_scene.h"

#include <string.h>

static const char cure[] = "reduce parameter gravity";

static const ds_param *const params[] = {
    OBSERVED_PARAMS("speed gravity", "speed, gravity, position (at the start)", "image", "64", "15, 0, 0",
                    "alpha"),
    COMPARISON_OBJECT_PARAM,
    DS_REAL("speed", "1", -100, 100, "m/s",
            "Speed along x at the start: of the target, and if it is not a variable."),
    DS_REAL("gravity", "-9", -100, 0, "m/s^2", "The same for gravity, upward."),
    DS_LIST("position", "-7.5, 5", -100, 100, 2, "m", "The same for the start of the centre, x and y."),
    DS_REAL("radius", "0.75", 0.01, 10, "m", "Radius of the ball."),
    OBSERVED_FRAMES_PARAMS("100", "1/30 s", "4", "1"),
    DS_HYBRID_PARAMS,
    NULL};

/* The bounds of the position are ours. */
enum { SPEED, GRAVITY, POSITION, COUNT = POSITION + 2 };
static const decision decisions[COUNT] = {
    {.name = "speed", .unit = "m/s", .lower = 0, .upper = 6, .start = 3, .random = 1},
    {.name = "gravity", .unit = "m/s^2", .lower = -15, .upper = -5, .start = -10, .random = 1},
    DECISION("position.x", "m", -9, -6, -7),
    DECISION("position.y", "m", 2, 8, 4)};

/* State of the ball: x, y, v_x, v_y. */
static const uint32_t start[FLOOR_BALL_STATE] = {POSITION, POSITION + 1, SPEED, BALL_SCENE_NONE};
static const uint32_t constant[] = {GRAVITY};

typedef struct thrown {
    ball_scene scene; /* must be first */
    floor_ball *engine;
    state_net net;
    double radius;
} thrown;

/* ---- an episode ---- */

static int64_t launch_ball(void *self, const double *theta, const double *from)
{
    thrown *e = self;
    const observed *s = &e->scene.observed;
    e->net.w = s->w;
    floor_ball_networks(e->engine, s->is_target ? NULL : &e->net);
    return floor_ball_simulate(e->engine, e->radius, theta[0], s->dt, from, s->steps);
}

static void centre_of(const void *self, const double *theta, uint64_t t, double *centre)
{
    (void)theta;
    memcpy(centre, floor_ball_at(((const thrown *)self)->engine, t), 2 * sizeof *centre);
}

static void centre_of_bar(const void *self, const double *theta, uint64_t t, const double *centre_bar,
                          double *bar, double *theta_bar)
{
    (void)self;
    (void)theta;
    (void)t;
    (void)theta_bar;
    bar[0] += centre_bar[0];
    bar[1] += centre_bar[1];
}

static void centre_of_dot(const void *self, const double *theta, uint64_t t, const double *theta_dot,
                          const double *dot, double *centre_dot)
{
    (void)self;
    (void)theta;
    (void)t;
    (void)theta_dot;
    memcpy(centre_dot, dot, 2 * sizeof *centre_dot);
}

static int sweep_back(void *self, uint64_t from, uint64_t to, double *bar, double *theta_bar)
{
    thrown *e = self;
    e->net.w_bar = e->scene.observed.w_bar;
    floor_ball_adjoint(e->engine, from, to, bar, theta_bar);
    return all_finite(FLOOR_BALL_STATE, bar) && isfinite(theta_bar[0]);
}

static int sweep_forth(void *self, uint64_t from, uint64_t to, double *dot, const double *theta_dot)
{
    thrown *e = self;
    e->net.w_dot = e->scene.observed.w_dot;
    floor_ball_tangent(e->engine, from, to, dot, theta_dot[0]);
    return all_finite(FLOOR_BALL_STATE, dot);
}

/* ---- set-up ---- */

static const ball_task task = {.offered = decisions,
                               .offers = COUNT,
                               .states = FLOOR_BALL_STATE,
                               .constants = 1,
                               .start = start,
                               .constant = constant,
                               .launch = launch_ball,
                               .centre = centre_of,
                               .centre_bar = centre_of_bar,
                               .centre_dot = centre_of_dot,
                               .back = sweep_back,
                               .forth = sweep_forth,
                               .cure = cure};

static void read_ball2d(void *self, ds_param_reader *in)
{
    static const double *const colors[] = {balls_red};
    thrown *e = self;
    observed *s = &e->scene.observed;
    double *position = s->decisions.truth + POSITION;
    ball_scene_read(&e->scene, in, &task);
    position[0] = -7.5;
    position[1] = 5;
    ds_param_values(in, "position", 2, position);
    e->radius = ds_param_real(in, "radius");
    observed_frames(s, in, 1.0 / 30, 1);
    e->engine = floor_ball_create(&s->env.kit.memory, s->steps);
    s->floor = 0;
    ball_scene_ready(&e->scene, in, 1, e->radius, colors);
}

static uint64_t hooks_of_ball2d(const void *self, ds_hook *out)
{
    (void)self;
    return state_net_hooks(out, FLOOR_BALL_STATE, 0, 2, "",
                           "x, y, v_x, v_y of the ball, which has 1 kg (m, s).");
}

static ds_status allocate_ball2d(void *self)
{
    static const uint32_t velocity[] = {2, 3};
    thrown *e = self;
    ds_env_kit *kit = &e->scene.observed.env.kit;
    e->net = (state_net){
        .states = FLOOR_BALL_STATE, .forces = 2, .pushed = velocity, .kick = e->scene.observed.dt};
    state_net_open(&e->net, &kit->memory, &kit->hybrid);
    return observed_allocate(self);
}

static const ds_scene_kit_label metrics[] = {
    {"x", "m"}, {"y", "m"}, {"distance", "m"}, {"error", ""}, {NULL, NULL}};

static void measure_ball2d(void *self, uint64_t k, double *out)
{
    thrown *e = self;
    double mean[3];
    out[2] = observed_measure(&e->scene.observed, k, mean);
    out[0] = mean[0];
    out[1] = mean[1];
    identified_put(&e->scene.observed.error, out + 3);
}

/* ---- plugin ---- */

static const ds_env_table env = {.size = sizeof(thrown),
                                 .advice = "reduce parameter image_size or frames",
                                 .cure = cure,
                                 .read = read_ball2d,
                                 .metrics = metrics,
                                 .measure = measure_ball2d,
                                 .hook_points = hooks_of_ball2d,
                                 OBSERVED_TABLE(allocate_ball2d, observed_release)};

static const ds_desc desc = {
    BUNDLED_DESC("ball2d", "3"), .flags = DS_ENV_GRADIENT,
    .summary = "How fast is a bouncing ball, and how strong is gravity? From images (gradSim).",
    .description =
        "A ball of radius 0.75 m is thrown from 5 m along the floor, bounces without loss, and passes the "
        "camera for 3.3 s. The variables are the unknown quantities, by default speed and gravity, which is "
        "negative. The target is an episode of the same ball with the parameters speed, gravity and "
        "position, seen by the same camera, so the least loss is 0.\nWith observe = state the loss is the "
        "mean squared distance of the ball, m^2. A step that meets the floor ends there: where impacts move "
        "from one step to the next, the loss jumps." COMPARISON_CHANNELS COMPARISON_ERROR("positive"),
    .citation = PAPER_GRADSIM};

DS_ENV_KIT_DEFINE(env, desc)
