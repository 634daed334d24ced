/* SPDX-License-Identifier: Apache-2.0 */
/* roomba - a robot among discs that stop it is to come to a goal behind them (motion planning of Suh et
 * al., ICML 2022); a point, or a bicycle. */
#include "engines/smoothing/open_loop.h"
#include "engines/smoothing/sources.h"

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
            "x, y and radius of each disc; a step that would end in one leaves the robot "
            "where it is."),
    DS_ENUM("collision", "none", collisions,
            "Adds collision_cost where a step, or the last step, is stopped; last is what batches of the "
            "published "
            "program have.",
            .flags = DS_PARAM_ADVANCED),
    DS_REAL("collision_cost", "100", 0, 1e9, "", "See collision.", .flags = DS_PARAM_ADVANCED),
    OPEN_LOOP_PARAMS(5, "x, y; of the bicycle x, y, heading, speed, steering angle"),
    NULL};

typedef struct robot {
    open_loop loop; /* first */
    int64_t kind, collision;
    uint64_t discs;
    double disc[MOST_DISCS][3], collision_cost;
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

/* Writes where the step leads to; if that is in a disc, place stays as it was. Returns whether. */
static int move(const robot *e, const double *x, double vx, double vy, double *next)
{
    next[X] = x[X] + e->loop.h * vx;
    next[Y] = x[Y] + e->loop.h * vy;
    if (stopped(e, next[X], next[Y])) {
        next[X] = x[X];
        next[Y] = x[Y];
        return 1;
    }
    return 0;
}

static void step_point(const void *self, const double *x, const double *u, double *next)
{
    move(self, x, u[0], u[1], next);
}

static void back_point(const void *self, const double *x, const double *u, const double *next_bar,
                       double *x_bar, double *u_bar)
{
    const robot *e = self;
    double next[2];
    const double moves = move(e, x, u[0], u[1], next) ? 0 : e->loop.h;
    for (int i = 0; i < 2; i++) {
        x_bar[i] += next_bar[i];
        u_bar[i] += moves * next_bar[i];
    }
}

static void step_bicycle(const void *self, const double *x, const double *u, double *next)
{
    const robot *e = self;
    move(e, x, x[SPEED] * cos(x[HEADING]), x[SPEED] * sin(x[HEADING]), next);
    next[HEADING] = x[HEADING] + e->loop.h * x[SPEED] * tan(x[STEER]);
    next[SPEED] = x[SPEED] + e->loop.h * u[0];
    next[STEER] = x[STEER] + e->loop.h * u[1];
}

static void back_bicycle(const void *self, const double *x, const double *u, const double *next_bar,
                         double *x_bar, double *u_bar)
{
    const robot *e = self;
    const double h = e->loop.h, c = cos(x[HEADING]), s = sin(x[HEADING]), t = tan(x[STEER]);
    double next[2];
    const double moves = move(e, x, x[SPEED] * c, x[SPEED] * s, next) ? 0 : h;
    (void)u;
    for (int i = 0; i < 5; i++) {
        x_bar[i] += next_bar[i];
    }
    x_bar[HEADING] += moves * x[SPEED] * (c * next_bar[Y] - s * next_bar[X]);
    x_bar[SPEED] += moves * (c * next_bar[X] + s * next_bar[Y]) + h * t * next_bar[HEADING];
    x_bar[STEER] += h * x[SPEED] * (1 + t * t) * next_bar[HEADING];
    u_bar[0] += h * next_bar[SPEED];
    u_bar[1] += h * next_bar[STEER];
}

static const rollout_system systems[] = {
    {.states = 2, .controls = 2, .step = step_point, .back = back_point},
    {.states = 5, .controls = 2, .step = step_bicycle, .back = back_bicycle}};

/* ---- set-up ---- */

static void read_discs(robot *e, ds_param_reader *in)
{
    uint64_t count;
    const double *value = ds_param_list(in, "discs", &count);
    if (in->status == DS_OK && count % 3 != 0) {
        in->status = ds_host_fail(in->host, DS_E_PARAM,
                                  "parameter discs has %llu values: give three for each, x, y and radius",
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
}

/* ---- loss ---- */

/* Was the robot stopped in step t of the last episode? */
static int stopped_at(const robot *e, uint64_t t)
{
    const double *x = open_loop_state(&e->loop, t), *u = e->loop.roll.u + 2 * t;
    double next[2];
    return e->kind == BICYCLE ? move(e, x, x[SPEED] * cos(x[HEADING]), x[SPEED] * sin(x[HEADING]), next)
                              : move(e, x, u[0], u[1], next);
}

static ds_status simulate_robot(void *self, ds_eval *io)
{
    robot *e = self;
    const uint64_t last = e->loop.kit.steps - 1;
    int stops = 0;
    io->loss = rollout_simulate(&e->loop.roll, io->x);
    if (e->loop.roll.stopped) {
        return DS_STOPPED;
    }
    for (uint64_t t = e->collision == ANY ? 0 : last; e->collision != NONE && t <= last; t++) {
        stops |= stopped_at(e, t);
    }
    io->loss += stops ? e->collision_cost : 0;
    return DS_OK;
}

/* ---- scene ---- */

enum { ROBOT, GOAL, DISC };

static void bodies_of_robot(void *self, scene_kit *s)
{
    static const char *const names[MOST_DISCS] = {"disc_a", "disc_b", "disc_c", "disc_d", "disc_e", "disc_f",
                                                  "disc_g", "disc_h", "disc_i", "disc_j", "disc_k", "disc_l",
                                                  "disc_m", "disc_n", "disc_o", "disc_p"};
    const robot *e = self;
    const double *start = e->loop.roll.start, *goal = e->loop.roll.goal;
    s->info.flat = 1;
    scene_kit_body(s, "robot", DS_BODY_SPHERE, DS_ROLE_MATERIAL, 1, (double[4]){0.05, 0, 0, 0});
    scene_kit_body(s, "goal", DS_BODY_SPHERE, DS_ROLE_TARGET, 1, (double[4]){0.05, 0, 0, 0});
    for (uint64_t k = 0; k < e->discs; k++) {
        const double r = fabs(e->disc[k][2]);
        scene_kit_body(s, names[k], DS_BODY_SPHERE, DS_ROLE_FIXED, 1, (double[4]){r, 0, 0, 0});
        scene_kit_include(s, e->disc[k][0], e->disc[k][1], 0, 1.1 * r);
    }
    scene_kit_include(s, start[X], start[Y], 0, 0.1);
    scene_kit_include(s, goal[X], goal[Y], 0, 0.1);
}

static void place_robot(const void *self, uint64_t k, uint64_t b, double *out)
{
    const robot *e = self;
    const double *x = b == ROBOT  ? open_loop_state(&e->loop, k)
                      : b == GOAL ? e->loop.roll.goal
                                  : e->disc[b - DISC];
    scene_kit_pose(x[X], x[Y], 0, 0, out);
}

static const scene_metric metrics[] = {{"x", "m"},      {"y", "m"},   {"distance", "m"},
                                       {"stopped", ""}, {"cost", ""}, {NULL, NULL}};

static void measure_robot(void *self, uint64_t k, double *out)
{
    robot *e = self;
    const double *x = open_loop_state(&e->loop, k), *goal = e->loop.roll.goal;
    scene_kit_include(&e->loop.kit.scene, x[X], x[Y], 0, 0.1);
    out[0] = x[X];
    out[1] = x[Y];
    out[2] = hypot(x[X] - goal[X], x[Y] - goal[Y]);
    out[3] = k < e->loop.kit.steps ? stopped_at(e, k) : (double)NAN;
    out[4] = rollout_cost(&e->loop.roll, k);
}

static const env_table env = {.size = sizeof(robot),
                              .cure = "reduce parameter h or limit",
                              .read = read_robot,
                              .simulate = simulate_robot,
                              .adjoint = open_loop_adjoint,
                              .metrics = metrics,
                              .bodies = bodies_of_robot,
                              .place = place_robot,
                              .measure = measure_robot,
                              OPEN_LOOP_TABLE};

static const ds_desc desc = {
    ENV_KIT_DESC("roomba", "1"),
    .flags = DS_ENV_GRADIENT,
    .summary = "Drive around discs that stop the robot.",
    .description =
        "Variables: the velocity (bicycle: acceleration and rate of steering) in each step. A step that "
        "would "
        "end in a disc leaves the robot where it is; the gradient then knows nothing of that step's "
        "control.\n"
        "Usual numbers: h 0.01, 200 steps, start 0, 0 (bicycle: heading upward, at rest), goal 0, 4, Q 1, R "
        "0.001, Qd 10 of "
        "the place; a search starts at u = 0.01. The bicycle's place is stopped, its other numbers go on.\n"
        "Metrics: x, y, distance to the goal, whether the step that begins at the frame is stopped, its "
        "cost.",
    .citation = SMOOTHING_SUH,
    .extensions = env_kit_scene,
};

ENV_KIT_DEFINE(env, desc)
