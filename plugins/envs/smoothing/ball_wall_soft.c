/* SPDX-License-Identifier: Apache-2.0 */
/* ball_wall_soft.c - throw a ball over a tower, simulated: a soft tower that acts at a distance, or a hard
 * one with or without a dome (Suh et al., ICML 2022, figure 3). One variable, forward mode. */
#include "engines/kit/bundled.h"
#include "engines/kit/state_net.h"
#include "engines/physics/smoothing/plain.h"
#include "engines/physics/smoothing/softness.h"

#include <string.h>

enum { X, Y, VX, VY, STATES };
enum { SOFT, HARD };
static const char *const variants[] = {"soft", "hard", NULL};
/* m: depth of the tower below 0, so that the ball only meets its sides and top */
static const double deep = 1e3;

static const ds_param *const params[] = {
    DS_ENUM("variant", "soft", variants,
            "soft = a rounded tower with a force; hard = elastic reflection at the time of impact."),
    DS_INT("steps", "0", 0, 1000000, "", "Steps of an episode; 0 = 250 (soft), 80 (hard)."),
    DS_LIST("h", "", 1e-9, 1, 1, "s", "Time step; empty = 0.004 (soft), 0.005 (hard)."),
    DS_REAL("speed", "5", 0, 1e6, "m/s", "Speed of the throw from the origin."),
    DS_LIST("gravity", "", -1e6, 1e6, 1, "m/s^2", "Gravity, downward; empty = 5 (soft), 9.81 (hard)."),
    DS_REAL("tower_x", "1.5", 0.01, 1e6, "m", "Middle of the tower."),
    DS_LIST("tower_width", "", 1e-6, 1e6, 1, "m", "Width of the tower; empty = 0.1 (soft), 0.05 (hard)."),
    DS_REAL("tower_height", "0.5", 0, 1e6, "m", "Height of the tower."),
    DS_REAL("round", "0.1", 0, 1e3, "m", "soft: the tower grows by this on all sides, with round corners."),
    DS_BOOL("dome", "false", "hard: a half disc on the tower, as wide as the tower."),
    DS_REAL("k", "1e4", 0, 1e9, "N/m", "soft: stiffness of contact; the ball has 1 kg."),
    SOFTNESS_PARAMS("width", "softplus", "0.1", "m"),
    PLAIN_PARAMS("0", "1.5707963267948966", "0.5", "rad"),
    DS_HYBRID_PARAMS,
    NULL};

typedef struct tower {
    plain plain; /* must be first */
    softness soft;
    int64_t variant;
    int dome;
    double h, speed, gravity, x, width, height, round, k;
    double *path; /* steps + 1 states, last episode */
    state_net net;
    double *w_dot; /* of the networks: one direction */
} tower;

static void read_tower(void *self, ds_param_reader *in)
{
    tower *e = self;
    e->variant = ds_param_int(in, "variant");
    const uint64_t steps = (uint64_t)ds_param_int(in, "steps");
    const int hard = e->variant == HARD;
    e->h = hard ? 0.005 : 0.004;
    e->gravity = hard ? 9.81 : 5;
    e->width = hard ? 0.05 : 0.1;
    ds_param_values(in, "h", 1, &e->h);
    e->speed = ds_param_real(in, "speed");
    ds_param_values(in, "gravity", 1, &e->gravity);
    e->x = ds_param_real(in, "tower_x");
    ds_param_values(in, "tower_width", 1, &e->width);
    e->height = ds_param_real(in, "tower_height");
    e->round = ds_param_real(in, "round");
    e->dome = (int)ds_param_int(in, "dome");
    e->k = ds_param_real(in, "k");
    softness_read(&e->soft, in, "width");
    plain_read(&e->plain, in, 1, "angle", "rad");
    e->plain.kit.steps = e->plain.kit.cost = steps > 0 ? steps : hard ? 80 : 250;
    e->plain.kit.dt = e->h;
    e->plain.kit.loss_floor = -INFINITY;
    e->path = ds_memory_doubles(&e->plain.kit.memory, (e->plain.kit.steps + 1) * STATES);
    if (in->status == DS_OK && hard && e->x <= 0.5 * e->width) {
        in->status =
            ds_host_fail(in->host, DS_E_PARAM,
                         "parameters tower_x = %g, tower_width = %g: the ball starts in the tower; put it at "
                         "tower_x > tower_width / 2",
                         e->x, e->width);
    }
}

/* ---- steps, with derivatives by the angle of the throw ---- */

static void step_soft(const tower *e, const double *x, const double *dx, double *next, double *d_next)
{
    const double from[2] = {x[X] - e->x, x[Y] - e->height + deep};
    const rounded r = rounded_box(from, 0.5 * e->width, deep, e->round, 1);
    const double d_distance = r.n[0] * dx[X] + r.n[1] * dx[Y];
    const double force = e->k * softness_ramp(&e->soft, -r.distance);
    const double d_force = -e->k * softness_slope(&e->soft, -r.distance) * d_distance;
    for (int i = 0; i < 2; i++) {
        const double d_n = r.curvature * (dx[X + i] - d_distance * r.n[i]);
        next[VX + i] = x[VX + i] + e->h * (force * r.n[i] - (i == 1 ? e->gravity : 0));
        d_next[VX + i] = dx[VX + i] + e->h * (d_force * r.n[i] + force * d_n);
        next[X + i] = x[X + i] + e->h * next[VX + i];
        d_next[X + i] = dx[X + i] + e->h * d_next[VX + i];
    }
}

/* Where a ball with velocity v hits the tower within a step: sets time and normal; returns 0 without a hit.
 * round: the normal changes with the place. */
typedef struct impact {
    double time, n[2];
    int met, round;
} impact;

static void keep_first(impact *first, double time, double limit, double nx, double ny, int round)
{
    if (time >= 0 && time <= limit && (!first->met || time < first->time)) {
        *first = (impact){time, {nx, ny}, 1, round};
    }
}

static impact meet(const tower *e, const double *x, const double *v)
{
    impact first = {0};
    const double half = 0.5 * e->width, side = v[0] > 0 ? -1 : 1, px = x[X] - e->x, py = x[Y] - e->height;
    const double to_side = (side * half - px) / v[0], to_top = -py / v[1];
    if (fabs(v[0]) > 0 && py + to_side * v[1] <= 0) {
        keep_first(&first, to_side, e->h, side, 0, 0);
    }
    if (!e->dome && v[1] < 0 && fabs(px + to_top * v[0]) <= half) {
        keep_first(&first, to_top, e->h, 0, 1, 0);
    }
    const double a = v[0] * v[0] + v[1] * v[1], b = px * v[0] + py * v[1];
    const double root = b * b - a * (px * px + py * py - half * half);
    if (e->dome && b < 0 && root > 0) {
        const double time = (-b - sqrt(root)) / a, nx = (px + time * v[0]) / half,
                     ny = (py + time * v[1]) / half;
        if (ny >= 0) {
            keep_first(&first, time, e->h, nx, ny, 1);
        }
    }
    return first;
}

/* After the impact the ball has left a convex tower, so a step has at most one impact. */
static void step_hard(const tower *e, const double *x, const double *dx, double *next, double *d_next)
{
    const double v[2] = {x[VX], x[VY] - e->h * e->gravity}, *dv = dx + VX;
    const impact m = meet(e, x, v);
    const double into = m.n[0] * v[0] + m.n[1] * v[1], rest = e->h - m.time;
    double d_time = 0, d_into = 0, d_hit[2], d_n[2];
    for (int i = 0; m.met && i < 2; i++) {
        d_time -= m.n[i] * (dx[X + i] + m.time * dv[i]) / into;
    }
    for (int i = 0; i < 2; i++) {
        d_hit[i] = dx[X + i] + m.time * dv[i] + d_time * v[i];
        d_n[i] = m.round ? d_hit[i] / (0.5 * e->width) : 0;
        d_into += m.n[i] * dv[i] + d_n[i] * v[i];
    }
    for (int i = 0; i < 2; i++) {
        next[VX + i] = v[i] - 2 * into * m.n[i];
        d_next[VX + i] = dv[i] - 2 * (d_into * m.n[i] + into * d_n[i]);
        next[X + i] = x[X + i] + m.time * v[i] + rest * next[VX + i];
        d_next[X + i] = d_hit[i] + rest * d_next[VX + i] - d_time * next[VX + i];
    }
}

/* The last state of an episode at this angle of the throw, and its derivatives in a direction: by the angle,
 * or by the parameters of networks that w_dot names. */
static const double *throw_tower(tower *e, double angle, const double *w_dot, double last[STATES])
{
    const double c = cos(angle), s = sin(angle), turn = w_dot == NULL;
    double d[2][STATES] = {{0, 0, -e->speed * s * turn, e->speed * c * turn}}, *x = e->path;
    memcpy(x, (double[STATES]){0, 0, e->speed * c, e->speed * s}, STATES * sizeof *x);
    for (uint64_t t = 0; t < e->plain.kit.steps; t++, x += STATES) {
        const double *from = state_net_push(&e->net, x);
        state_net_push_dot(&e->net, w_dot, d[t % 2]);
        (e->variant == HARD ? step_hard : step_soft)(e, from, d[t % 2], x + STATES, d[(t + 1) % 2]);
    }
    memcpy(last, d[e->plain.kit.steps % 2], STATES * sizeof *last);
    return x;
}

static ds_status simulate_tower(void *self, ds_eval *io)
{
    tower *e = self;
    const uint64_t weights = e->plain.kit.hybrid.variables;
    double d[STATES];
    e->net.w = io->x + 1;
    const double *x = throw_tower(e, io->x[0], NULL, d);
    io->loss = -x[X] * x[X];
    if (io->want & DS_WANT_GRAD) {
        io->grad[0] = -2 * x[X] * d[X];
        for (uint64_t i = 0; i < weights; i++) {
            e->w_dot[i] = 1;
            throw_tower(e, io->x[0], e->w_dot, d);
            e->w_dot[i] = 0;
            io->grad[1 + i] = -2 * x[X] * d[X];
        }
        ds_hybrid_penalty(&e->plain.kit.hybrid, io->x + 1, io->grad + 1);
        io->grad_kind = DS_GRAD_FORWARD;
        io->cost_steps += weights * e->plain.kit.cost;
    }
    return DS_OK;
}

static uint64_t hooks_of_tower(const void *self, ds_hook *out)
{
    (void)self;
    return state_net_hooks(out, STATES, 0, 2, "", "x, y, v_x, v_y of the ball (m, s).");
}

static ds_status allocate_tower(void *self)
{
    static const uint32_t pushed[] = {VX, VY};
    tower *e = self;
    ds_env_kit *kit = &e->plain.kit;
    e->net = (state_net){.states = STATES, .forces = 2, .pushed = pushed, .kick = e->h};
    state_net_open(&e->net, &kit->memory, &kit->hybrid);
    e->w_dot = ds_memory_doubles(&kit->memory, kit->hybrid.variables + 1);
    return DS_OK;
}

static int64_t bad_step_of_tower(void *self, ds_eval *io)
{
    const tower *e = self;
    (void)io;
    for (uint64_t k = STATES; k < (e->plain.kit.steps + 1) * STATES; k++) {
        if (!isfinite(e->path[k])) {
            return (int64_t)(k / STATES) - 1;
        }
    }
    return -1;
}

/* ---- scene ---- */

enum { BALL, TOWER, TOP };

static void bodies_of_tower(void *self, ds_scene_kit *s)
{
    const tower *e = self;
    const double grown = e->variant == SOFT ? e->round : 0, half = 0.5 * e->width + grown, height = e->height;
    s->info.flat = 1;
    ds_scene_kit_body(s, "ball", DS_BODY_SPHERE, DS_ROLE_MATERIAL, 1, (double[4]){0.02, 0, 0, 0});
    ds_scene_kit_body(s, "tower", DS_BODY_BOX, DS_ROLE_FIXED, 1, (double[4]){half, 0.5 * height, half, 0});
    if (e->variant == SOFT) {
        ds_scene_kit_body(s, "top", DS_BODY_BOX, DS_ROLE_FIXED, 1,
                          (double[4]){0.5 * e->width, grown, half, 0});
        ds_scene_kit_body(s, "corner", DS_BODY_SPHERE, DS_ROLE_FIXED, 2, (double[4]){grown, 0, 0, 0});
    } else if (e->dome) {
        ds_scene_kit_body(s, "dome", DS_BODY_SPHERE, DS_ROLE_FIXED, 1, (double[4]){half, 0, 0, 0});
    }
    ds_scene_kit_include(s, 0, 0, 0, 0.1);
    ds_scene_kit_include(s, e->x, height, 0, 0.3);
    s->info.box[1] = 0;
}

static void place_tower(const void *self, uint64_t k, uint64_t b, double *out)
{
    const tower *e = self;
    const double *x = e->path + k * STATES;
    if (b == BALL) {
        ds_scene_kit_pose(x[X], x[Y], 0, 0, out);
    } else if (b == TOWER) {
        ds_scene_kit_pose(e->x, 0.5 * e->height, 0, 0, out);
    } else if (b == TOP) {
        ds_scene_kit_pose(e->x, e->height, 0, 0, out);
    } else {
        ds_scene_kit_pose(e->x - 0.5 * e->width, e->height, 0, 0, out);
        ds_scene_kit_pose(e->x + 0.5 * e->width, e->height, 0, 0, out + 7);
    }
}

static const ds_scene_kit_label metrics[] = {{"x", "m"}, {"y", "m"}, {"speed", "m/s"}, {NULL, NULL}};

static void measure_tower(void *self, uint64_t k, double *out)
{
    tower *e = self;
    const double *x = e->path + k * STATES;
    ds_scene_kit_include(&e->plain.kit.scene, x[X], x[Y], 0, 0.05);
    out[0] = x[X];
    out[1] = x[Y];
    out[2] = hypot(x[VX], x[VY]);
}

static const ds_env_table env = {.size = sizeof(tower),
                                 .advice = "reduce parameter steps",
                                 .cure = "reduce parameter h or k",
                                 .read = read_tower,
                                 .hook_points = hooks_of_tower,
                                 .allocate = allocate_tower,
                                 .simulate = simulate_tower,
                                 .bad_step = bad_step_of_tower,
                                 .metrics = metrics,
                                 .bodies = bodies_of_tower,
                                 .place = place_tower,
                                 .measure = measure_tower,
                                 PLAIN_TABLE};

static const ds_desc desc = {
    BUNDLED_DESC("ball_wall_soft", "2"),
    .flags = DS_ENV_GRADIENT,
    .summary = "Throw a ball over a tower, soft or hard.",
    .description =
        "Variable: the angle of the throw. Loss: minus the square of the final distance; steps are "
        "semi-implicit.\nsoft: k ramp(penetration) along the normal of a rounded tower; the paper uses "
        "widths of 1/10, 1/15.8, 1/25.1 and 1e-10, and 1/8, 1/20, 1/100. hard: elastic reflection at the "
        "time of impact within the step. The loss jumps where the ball just misses the edge; a dome makes it "
        "continuous, but as steep to few samples.\nMetrics: x, y and speed of the ball.",
    .citation = SMOOTHING_SUH,
};

DS_ENV_KIT_DEFINE(env, desc)
