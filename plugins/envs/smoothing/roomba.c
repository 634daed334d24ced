/* SPDX-License-Identifier: Apache-2.0 */
/* roomba.c - a robot must reach a goal behind discs that stop it (motion planning of Suh et al., ICML 2022);
 * a point, or a bicycle. */
#include "engines/kit/bundled.h"
#include "engines/physics/smoothing/rollout.h"
#include "engines/physics/smoothing/softness.h"
#include "engines/physics/smoothing/plain.h"

#include <string.h>

enum { X, Y, HEADING, SPEED, STEER };
enum { POINT_ROBOT, BICYCLE };
enum { NONE, LAST, ANY };
enum { MOST_DISCS = 16 };

static const char *const robots[] = {"point", "bicycle", NULL};
static const char *const collisions[] = {"none", "last", "any", NULL};

static const ds_param *const params[] = {
    DS_ENUM("robot", "point", robots,
            "point: x' = x + h u; bicycle: x, y, heading, speed, steering angle with rates speed cos, speed "
            "sin, speed tan(steering), u0, u1."),
    DS_LIST("discs", "-0.2,0.5,0.2, 0.5,1.2,0.2, 0,2.3,0.3, 0.4,3.2,0.5, -0.8,3.8,0.1, -1,1,0.5, 0,1.5,0.2",
            -1e6, 1e6, 3 * MOST_DISCS, "m",
            "x, y and radius of each disc; a step that would end in a disc leaves the robot where it is."),
    DS_ENUM("collision", "none", collisions,
            "Adds collision_cost if a step, or the last step, is stopped; batches of the published program "
            "use last.",
            .flags = DS_PARAM_ADVANCED),
    DS_REAL("collision_cost", "100", 0, 1e9, "", "See collision.", .flags = DS_PARAM_ADVANCED),
    SOFTNESS_PARAMS("width", "none", "0.02", "m"),
    SOFTNESS_BACKWARD_PARAMS("0.02", "m"),
    OPEN_LOOP_PARAMS(5, "x, y; of the bicycle x, y, heading, speed, steering angle"),
    NULL};

typedef struct robot {
    open_loop loop; /* must be first */
    int64_t kind, collision;
    uint64_t discs;
    double disc[MOST_DISCS][3], collision_cost;
    softness soft;
} robot;

static int stopped(const robot *e, double x, double y)
{
    int in = 0;
    for (uint64_t k = 0; k < e->discs; k++) {
        const double dx = x - e->disc[k][0], dy = y - e->disc[k][1], r = e->disc[k][2];
        in |= dx * dx + dy * dy <= r * r;
    }
    return in;
}

/* The share of a step to p that the robot may take. With softness each disc lets 1 - s(depth) of the step
 * through, s the slope of the ramp: how often the disc does not stop it if the radius is noisy. by_place:
 * derivative by p. `pull`: as gradients use it. */
static double passage(const robot *e, const double p[2], int pull, double by_place[2])
{
    double share = 1, slope[MOST_DISCS], turn[MOST_DISCS][2];
    for (uint64_t k = 0; k < e->discs; k++) {
        const double dx = p[X] - e->disc[k][0], dy = p[Y] - e->disc[k][1], far = hypot(dx, dy);
        const double depth = fabs(e->disc[k][2]) - far;
        const double density =
            pull ? softness_pull_density(&e->soft, depth) : softness_density(&e->soft, depth);
        slope[k] = pull ? softness_pull(&e->soft, depth) : softness_slope(&e->soft, depth);
        turn[k][X] = far > 0 ? density * dx / far : 0;
        turn[k][Y] = far > 0 ? density * dy / far : 0;
        share *= 1 - slope[k];
    }
    by_place[X] = by_place[Y] = 0;
    for (uint64_t k = 0; k < e->discs; k++) {
        double others = 1;
        for (uint64_t j = 0; j < e->discs; j++) {
            others *= j != k ? 1 - slope[j] : 1;
        }
        by_place[X] += others * turn[k][X];
        by_place[Y] += others * turn[k][Y];
    }
    return share;
}

/* Returns whether a step of velocity v would end in a disc. */
static int blocked(const robot *e, const double *x, const double v[2])
{
    return stopped(e, x[X] + e->loop.h * v[X], x[Y] + e->loop.h * v[Y]);
}

/* Writes the state after the step; if that is in a disc, the place stays the same or moves part of the way.
 */
static void move(const robot *e, const double *x, const double v[2], double *next)
{
    const double h = e->loop.h;
    next[X] = x[X] + h * v[X];
    next[Y] = x[Y] + h * v[Y];
    if (e->soft.kernel != SOFTNESS_NONE) {
        double by_place[2];
        const double share = passage(e, next, 0, by_place);
        next[X] = x[X] + share * h * v[X];
        next[Y] = x[Y] + share * h * v[Y];
    } else if (stopped(e, next[X], next[Y])) {
        next[X] = x[X];
        next[Y] = x[Y];
    }
}

/* How the place after a step depends on the place before and on the velocity, as gradients use it: the share
 * of the step, and more[], the derivative of a loss by the place aimed at; 0 if nothing acts at a distance.
 */
static double move_back(const robot *e, const double *x, const double v[2], const double *next_bar,
                        double more[2])
{
    const double h = e->loop.h;
    more[X] = more[Y] = 0;
    if (e->soft.kernel == SOFTNESS_NONE && !e->soft.at_distance) {
        return blocked(e, x, v) ? 0 : 1;
    }
    const double aim[2] = {x[X] + h * v[X], x[Y] + h * v[Y]};
    const double along = h * (v[X] * next_bar[X] + v[Y] * next_bar[Y]);
    const double share = passage(e, aim, 1, more);
    more[X] *= along;
    more[Y] *= along;
    return share;
}

static void step_point(const void *self, const double *x, const double *u, double *next)
{
    move(self, x, u, next);
}

static void back_point(const void *self, const double *x, const double *u, const double *next_bar,
                       double *x_bar, double *u_bar)
{
    const double h = ((const robot *)self)->loop.h;
    double more[2];
    const double moves = h * move_back(self, x, u, next_bar, more);
    for (int i = 0; i < 2; i++) {
        x_bar[i] += next_bar[i] + more[i];
        u_bar[i] += moves * next_bar[i] + h * more[i];
    }
}

static void velocity_of(const double *x, double v[2])
{
    v[X] = x[SPEED] * cos(x[HEADING]);
    v[Y] = x[SPEED] * sin(x[HEADING]);
}

static void step_bicycle(const void *self, const double *x, const double *u, double *next)
{
    const robot *e = self;
    double v[2];
    velocity_of(x, v);
    move(e, x, v, next);
    next[HEADING] = x[HEADING] + e->loop.h * x[SPEED] * tan(x[STEER]);
    next[SPEED] = x[SPEED] + e->loop.h * u[0];
    next[STEER] = x[STEER] + e->loop.h * u[1];
}

static void back_bicycle(const void *self, const double *x, const double *u, const double *next_bar,
                         double *x_bar, double *u_bar)
{
    const robot *e = self;
    const double h = e->loop.h, c = cos(x[HEADING]), s = sin(x[HEADING]), t = tan(x[STEER]);
    const double v[2] = {x[SPEED] * c, x[SPEED] * s};
    double more[2];
    const double moves = h * move_back(e, x, v, next_bar, more);
    (void)u;
    for (int i = 0; i < 5; i++) {
        x_bar[i] += next_bar[i] + (i < HEADING ? more[i] : 0);
    }
    x_bar[HEADING] += moves * x[SPEED] * (c * next_bar[Y] - s * next_bar[X]);
    x_bar[HEADING] += h * x[SPEED] * (c * more[Y] - s * more[X]);
    x_bar[SPEED] += moves * (c * next_bar[X] + s * next_bar[Y]) + h * t * next_bar[HEADING];
    x_bar[SPEED] += h * (c * more[X] + s * more[Y]);
    x_bar[STEER] += h * x[SPEED] * (1 + t * t) * next_bar[HEADING];
    u_bar[0] += h * next_bar[SPEED];
    u_bar[1] += h * next_bar[STEER];
}

static const rollout_system systems[] = {
    {.states = 2, .controls = 2, .step = step_point, .back = back_point},
    {.states = 5, .controls = 2, .step = step_bicycle, .back = back_bicycle}};

/* ---- loss ---- */

/* Returns whether the robot was stopped in step t of the last episode; with soft discs, whether it aimed into
 * one. */
static int stopped_at(const robot *e, uint64_t t)
{
    const double *x, *u;
    rollout_acting(&e->loop.roll, t, &x, &u);
    double v[2] = {u[0], u[1]};
    if (e->kind == BICYCLE) {
        velocity_of(x, v);
    }
    return blocked(e, x, v);
}

static double cost_of_collisions(void *self)
{
    const robot *e = self;
    const uint64_t last = e->loop.kit.steps - 1;
    int stops = 0;
    for (uint64_t t = e->collision == ANY ? 0 : last; t <= last; t++) {
        stops |= stopped_at(e, t);
    }
    return stops ? e->collision_cost : 0;
}

/* ---- set-up ---- */

static void read_discs(robot *e, ds_param_reader *in)
{
    uint64_t count;
    const double *value = ds_param_list(in, "discs", &count);
    if (in->status == DS_OK && count % 3 != 0) {
        in->status =
            ds_host_fail(in->host, DS_E_PARAM,
                         "parameter discs has %llu values; give three for each disc: x, y and radius",
                         (unsigned long long)count);
    }
    e->discs = in->status == DS_OK ? count / 3 : 0;
    for (uint64_t k = 0; k < e->discs; k++) {
        memcpy(e->disc[k], value + 3 * k, sizeof e->disc[k]);
    }
}

static void read_robot(void *self, ds_param_reader *in)
{
    static const char *const point[] = {"vx", "vy"}, *const bicycle[] = {"gas", "steering"};
    robot *e = self;
    e->kind = ds_param_int(in, "robot");
    e->collision = ds_param_int(in, "collision");
    e->collision_cost = ds_param_real(in, "collision_cost");
    softness_read(&e->soft, in, "width");
    softness_read_backward(&e->soft, in);
    read_discs(e, in);
    open_loop_read(&e->loop, in, &systems[e->kind],
                   &(open_loop_usual){.steps = 200,
                                      .h = 0.01,
                                      .start = {0, 0, 1.5707963267948966},
                                      .goal = {0, 4},
                                      .q = {1, 1},
                                      .qd = {10, 10},
                                      .r = {0.001, 0.001},
                                      .guess = 0.01});
    e->loop.names = e->kind == BICYCLE ? bicycle : point;
    e->loop.unit = e->kind == BICYCLE ? "" : "m/s";
    e->loop.state_doc = "Place of the robot (m); of the bicycle also heading, speed and steering angle.";
    e->loop.kit.grad_kind = e->soft.at_distance ? DS_GRAD_SMOOTHED : DS_GRAD_ADJOINT;
    const int hard = e->soft.kernel == SOFTNESS_NONE && !e->soft.at_distance;
    e->loop.law =
        (open_law){.system = hard && e->kind == POINT_ROBOT && e->collision == NONE ? OPEN_DISCS : OPEN_OTHER,
                   .disc = (const double(*)[3])e->disc,
                   .discs = e->discs};
    e->loop.term = e->collision != NONE ? cost_of_collisions : NULL;
    open_loop_lanes(&e->loop);
}

/* ---- scene ---- */

enum { ROBOT, GOAL, DISC };

static void bodies_of_robot(void *self, ds_scene_kit *s)
{
    static const char *const names[MOST_DISCS] = {"disc_a", "disc_b", "disc_c", "disc_d", "disc_e", "disc_f",
                                                  "disc_g", "disc_h", "disc_i", "disc_j", "disc_k", "disc_l",
                                                  "disc_m", "disc_n", "disc_o", "disc_p"};
    const robot *e = self;
    const double *start = e->loop.roll.start, *goal = e->loop.roll.goal;
    s->info.flat = 1;
    ds_scene_kit_body(s, "robot", DS_BODY_SPHERE, DS_ROLE_MATERIAL, 1, (double[4]){0.05, 0, 0, 0});
    ds_scene_kit_body(s, "goal", DS_BODY_SPHERE, DS_ROLE_TARGET, 1, (double[4]){0.05, 0, 0, 0});
    for (uint64_t k = 0; k < e->discs; k++) {
        const double r = fabs(e->disc[k][2]);
        ds_scene_kit_body(s, names[k], DS_BODY_SPHERE, DS_ROLE_FIXED, 1, (double[4]){r, 0, 0, 0});
        ds_scene_kit_include(s, e->disc[k][0], e->disc[k][1], 0, 1.1 * r);
    }
    ds_scene_kit_include(s, start[X], start[Y], 0, 0.1);
    ds_scene_kit_include(s, goal[X], goal[Y], 0, 0.1);
}

static void place_robot(const void *self, uint64_t k, uint64_t b, double *out)
{
    const robot *e = self;
    const double *x = b == ROBOT  ? open_loop_state(&e->loop, k)
                      : b == GOAL ? e->loop.roll.goal
                                  : e->disc[b - DISC];
    ds_scene_kit_pose(x[X], x[Y], 0, 0, out);
}

static const ds_scene_kit_label metrics[] = {{"x", "m"},      {"y", "m"},   {"distance", "m"},
                                             {"stopped", ""}, {"cost", ""}, {NULL, NULL}};

static void measure_robot(void *self, uint64_t k, double *out)
{
    robot *e = self;
    const double *x = open_loop_state(&e->loop, k), *goal = e->loop.roll.goal;
    ds_scene_kit_include(&e->loop.kit.scene, x[X], x[Y], 0, 0.1);
    out[0] = x[X];
    out[1] = x[Y];
    out[2] = hypot(x[X] - goal[X], x[Y] - goal[Y]);
    out[3] = k < e->loop.kit.steps ? stopped_at(e, k) : (double)NAN;
    out[4] = rollout_cost(&e->loop.roll, k);
}

static const ds_env_table env = {.size = sizeof(robot),
                                 .cure = "reduce parameter h or limit",
                                 .read = read_robot,
                                 .simulate = open_loop_simulate,
                                 .adjoint = open_loop_adjoint,
                                 .metrics = metrics,
                                 .bodies = bodies_of_robot,
                                 .place = place_robot,
                                 .measure = measure_robot,
                                 OPEN_LOOP_ROWS,
                                 OPEN_LOOP_TABLE};

static const ds_desc desc = {
    BUNDLED_DESC("roomba", "2"),
    .flags = DS_ENV_GRADIENT,
    .summary = "Drive around discs that stop the robot.",
    .description =
        "Variables: the velocity (bicycle: acceleration and rate of steering) in each step. A step that "
        "would end in a disc leaves the robot where it is; the gradient then ignores the control of that "
        "step.\nNear discs can act at a distance: softness (each disc lets a part of the step through, the "
        "average for noisy radii), contact_grad = distance (only for the gradient, whose kind is "
        "`smoothed`).\nDefaults: h 0.01, 200 steps, start 0, 0 (bicycle: heading upward, at rest), goal 0, "
        "4, Q 1, R 0.001, Qd 10 of the place; a search starts at u = 0.01. A stop holds the place of the "
        "bicycle, its other state components go on.\nMetrics: x, y, distance to the goal, whether the step "
        "that starts at the frame is stopped, its cost.",
    .citation = SMOOTHING_SUH,
};

DS_ENV_KIT_DEFINE(env, desc)
