/* SPDX-License-Identifier: Apache-2.0 */
/* friction.c - a pushed box carries a block by friction; pushed too hard, it slides out from under the block
 * (Suh et al., ICML 2022, figures 4 and 8). */
#include "engines/kit/bundled.h"
#include "engines/physics/smoothing/rollout.h"
#include "engines/physics/smoothing/plain.h"

enum { X1, X2, V1, V2, STATES };

static const ds_param *const params[] = {
    DS_REAL("mass", "0.1", 1e-9, 1e9, "kg", "Mass of box and block each."),
    DS_REAL("mu", "1.8", 0, 1e6, "N s/m", "Friction per speed of slip, up to slip_speed."),
    DS_REAL("slip_speed", "0.1", 1e-9, 1e6, "m/s",
            "Speed of slip above which friction stays constant (regularized Coulomb friction).",
            .flags = DS_PARAM_LOG),
    DS_REAL("reach", "0.1", 1e-9, 1e6, "m",
            "The block stands on the box within this distance of its middle."),
    OPEN_LOOP_PARAMS(4, "x1, x2, v1, v2"),
    NULL};

typedef struct carrier {
    open_loop loop; /* must be first */
    double mass, mu, slip, reach;
} carrier;

/* Friction on the box, and its derivative by the speed of the block relative to the box. */
static double drag(const carrier *e, const double *x, double *slope)
{
    const double speed = x[V2] - x[V1];
    const int on = fabs(x[X2] - x[X1]) < e->reach, sticks = fabs(speed) < e->slip;
    *slope = on && sticks ? e->mu : 0;
    return on ? e->mu * fmin(fmax(speed, -e->slip), e->slip) : 0;
}

static void step(const void *self, const double *x, const double *u, double *next)
{
    const carrier *e = self;
    const double h = e->loop.h, rate = h / e->mass;
    double slope, force = drag(e, x, &slope);
    next[V1] = x[V1] + rate * (u[0] + force);
    next[V2] = x[V2] - rate * force;
    next[X1] = x[X1] + h * next[V1];
    next[X2] = x[X2] + h * next[V2];
}

static void back(const void *self, const double *x, const double *u, const double *next_bar, double *x_bar,
                 double *u_bar)
{
    const carrier *e = self;
    const double h = e->loop.h, rate = h / e->mass;
    const double v1_bar = next_bar[V1] + h * next_bar[X1], v2_bar = next_bar[V2] + h * next_bar[X2];
    double slope;
    (void)u;
    drag(e, x, &slope);
    const double speed_bar = rate * slope * (v1_bar - v2_bar);
    x_bar[X1] += next_bar[X1];
    x_bar[X2] += next_bar[X2];
    x_bar[V1] += v1_bar - speed_bar;
    x_bar[V2] += v2_bar + speed_bar;
    u_bar[0] += rate * v1_bar;
}

static const uint32_t pushed[] = {V1, V2};
static const rollout_system carried = {
    .states = STATES, .controls = 1, .step = step, .back = back, .forces = 2, .pushed = pushed};

static void read_carrier(void *self, ds_param_reader *in)
{
    static const char *const names[] = {"u"};
    carrier *e = self;
    e->mass = ds_param_real(in, "mass");
    e->mu = ds_param_real(in, "mu");
    e->slip = ds_param_real(in, "slip_speed");
    e->reach = ds_param_real(in, "reach");
    open_loop_read(&e->loop, in, &carried,
                   &(open_loop_usual){.steps = 400,
                                      .h = 0.005,
                                      .goal = {2, 2, 0, 0},
                                      .q = {0.1, 10, 0.1, 0.1},
                                      .qd = {0.1, 10, 0.1, 0.1},
                                      .r = {1}});
    e->loop.names = names;
    e->loop.unit = "N";
    e->loop.state_doc = "Positions (m) and velocities (m/s) of box and block before the step.";
    e->loop.roll.kick = e->loop.h / e->mass;
}

/* ---- scene ---- */

enum { BOX, BLOCK, GOAL };

static void bodies_of_carrier(void *self, ds_scene_kit *s)
{
    const carrier *e = self;
    const double small[4] = {0.4 * e->reach, 0.4 * e->reach, 0.4 * e->reach, 0};
    s->info.flat = 1;
    ds_scene_kit_body(s, "box", DS_BODY_BOX, DS_ROLE_TOOL, 1,
                      (double[4]){e->reach, 0.5 * e->reach, e->reach, 0});
    ds_scene_kit_body(s, "block", DS_BODY_BOX, DS_ROLE_MATERIAL, 1, small);
    ds_scene_kit_body(s, "goal", DS_BODY_BOX, DS_ROLE_TARGET, 1, small);
    ds_scene_kit_include(s, e->loop.roll.start[X2], e->reach, 0, 2 * e->reach);
    ds_scene_kit_include(s, e->loop.roll.goal[X2], e->reach, 0, 2 * e->reach);
}

static void place_carrier(const void *self, uint64_t k, uint64_t b, double *out)
{
    const carrier *e = self;
    const double *x = b == GOAL ? e->loop.roll.goal : open_loop_state(&e->loop, k);
    ds_scene_kit_pose(x[b == BOX ? X1 : X2], (b == BOX ? 0.5 : 1.4) * e->reach, 0, 0, out);
}

static const ds_scene_kit_label metrics[] = {{"x1", "m"}, {"x2", "m"},  {"slip", "m/s"}, {"friction", "N"},
                                             {"u", "N"},  {"cost", ""}, {NULL, NULL}};

static void measure_carrier(void *self, uint64_t k, double *out)
{
    carrier *e = self;
    const double *x = open_loop_state(&e->loop, k);
    double slope;
    ds_scene_kit_include(&e->loop.kit.scene, x[X1], e->reach, 0, 2 * e->reach);
    ds_scene_kit_include(&e->loop.kit.scene, x[X2], e->reach, 0, 2 * e->reach);
    out[0] = x[X1];
    out[1] = x[X2];
    out[2] = x[V1] - x[V2];
    out[3] = drag(e, x, &slope);
    out[4] = open_loop_control(&e->loop, k, 0);
    out[5] = rollout_cost(&e->loop.roll, k);
}

static const ds_env_table env = {.size = sizeof(carrier),
                                 .cure = "reduce parameter h or mu",
                                 .read = read_carrier,
                                 .simulate = open_loop_simulate,
                                 .adjoint = open_loop_adjoint,
                                 .metrics = metrics,
                                 .bodies = bodies_of_carrier,
                                 .place = place_carrier,
                                 .measure = measure_carrier,
                                 OPEN_LOOP_TABLE};

static const ds_desc desc = {
    BUNDLED_DESC("friction", "2"),
    .flags = DS_ENV_GRADIENT,
    .summary = "Carry a block on a box that is pushed, by friction.",
    .description =
        "Variables: the force u on the box in each step. While |x2 - x1| < reach, friction drags the block "
        "with mu times the speed of slip, at most mu slip_speed. If the box is pushed too hard it slides out "
        "from under the block: the loss jumps, and beyond the jump no gradient leads back.\nDefaults: h "
        "0.005, 400 steps, start 0, goal 2, 2, 0, 0, Q = Qd = 0.1, 10, 0.1, 0.1, R 1; a search starts at u = "
        "0.\nMetrics: x1, x2, slip, friction, u and cost of the step that starts at the frame.",
    .citation = SMOOTHING_SUH,
};

DS_ENV_KIT_DEFINE(env, desc)
