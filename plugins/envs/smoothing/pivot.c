/* SPDX-License-Identifier: Apache-2.0 */
/* pivot.c - a ball is thrown at a bar that can turn, to make it turn as fast as possible: the simulation of
 * which momentum is the closed form (Suh et al., ICML 2022, section 5). One variable, forward mode. */
#include "engines/kit/bundled.h"
#include "engines/kit/state_net.h"
#include "engines/physics/smoothing/plain.h"
#include "engines/physics/smoothing/softness.h"

#include <diffsim/helper/random.h>
#include <string.h>

enum { X, Y, VX, VY, TILT, RATE, STATES };
enum { FULL, ALONG };
static const char *const arms[] = {"full", "along", NULL};

static const ds_param *const params[] = {
    DS_INT("steps", "100", 1, 1000000, "", "Steps of an episode."),
    DS_REAL("h", "0.005", 1e-9, 1, "s", "Time step."),
    DS_REAL("speed", "2", 0, 1e6, "m/s", "Speed of the throw."),
    DS_REAL("radius", "0.03", 0, 1e3, "m", "Radius of the ball, whose mass is 1 kg."),
    DS_REAL("distance", "0.7", -1e6, 1e6, "m", "x of the pivot; the ball starts at the origin."),
    DS_REAL("length", "0.5", 0, 1e6, "m",
            "Length of the bar, upright at the start, with an inertia of 1 kg m^2."),
    DS_REAL("length_noise", "0", 0, 1e6, "m",
            "Standard deviation of the length in episodes with noise; the paper uses 0.2."),
    DS_REAL("bar_radius", "0.025", 0, 1e3, "m", "Half the thickness of the bar."),
    DS_REAL("k", "1e4", 0, 1e9, "N/m", "Stiffness of contact."),
    DS_ENUM("arm", "full", arms,
            "Torque on the bar: full; along = only the part of the arm along the bar, as in the published "
            "program.",
            .flags = DS_PARAM_ADVANCED),
    SOFTNESS_PARAMS("width", "softplus", "0.01", "m"),
    PLAIN_PARAMS("0", "1.5707963267948966", "0.1", "rad"),
    DS_HYBRID_PARAMS,
    NULL};

typedef struct pivot {
    plain plain; /* must be first */
    softness soft;
    double h, speed, radius, distance, length, length_noise, bar_radius, k;
    int64_t arm;
    double now;   /* length of the bar in the last episode */
    double *path; /* steps + 1 states, last episode */
    state_net net;
    double *w_dot; /* of the networks: one direction */
} pivot;

static void read_pivot(void *self, ds_param_reader *in)
{
    pivot *e = self;
    const uint64_t steps = (uint64_t)ds_param_int(in, "steps");
    e->h = ds_param_real(in, "h");
    e->speed = ds_param_real(in, "speed");
    e->radius = ds_param_real(in, "radius");
    e->distance = ds_param_real(in, "distance");
    e->length = ds_param_real(in, "length");
    e->length_noise = ds_param_real(in, "length_noise");
    e->bar_radius = ds_param_real(in, "bar_radius");
    e->k = ds_param_real(in, "k");
    e->arm = ds_param_int(in, "arm");
    softness_read(&e->soft, in, "width");
    plain_read(&e->plain, in, 1, "angle", "rad");
    e->plain.kit.steps = e->plain.kit.cost = steps;
    e->plain.kit.dt = e->h;
    e->plain.kit.loss_floor = -INFINITY;
    e->path = ds_memory_doubles(&e->plain.kit.memory, (steps + 1) * STATES);
}

/* ---- a step, with derivatives by the angle of the throw ---- */

/* Force on the ball and torque that tips the bar towards +x. Frame of the bar: t across (towards +x if
 * upright), b along. */
static void contact(const pivot *e, const double *x, const double *dx, double force[2], double d_force[2],
                    double *torque, double *d_torque)
{
    const double c = cos(x[TILT]), s = sin(x[TILT]), px = x[X] - e->distance, py = x[Y];
    const double across = px * c - py * s, along = px * s + py * c;
    const double d_across = dx[X] * c - dx[Y] * s - along * dx[TILT];
    const double d_along = dx[X] * s + dx[Y] * c + across * dx[TILT];
    const double at = fmin(fmax(along, 0), e->now), d_at = along > 0 && along < e->now ? d_along : 0;
    const double far = hypot(across, along - at);
    const double n[2] = {far > 0 ? across / far : -1, far > 0 ? (along - at) / far : 0};
    const double d_far = n[0] * d_across + n[1] * (d_along - d_at);
    const double d_n[2] = {far > 0 ? (d_across - n[0] * d_far) / far : 0,
                           far > 0 ? (d_along - d_at - n[1] * d_far) / far : 0};
    const double in = e->radius + e->bar_radius - far;
    const double f = e->k * softness_ramp(&e->soft, in), d_f = -e->k * softness_slope(&e->soft, in) * d_far;
    const double arm = at + (e->arm == ALONG ? e->bar_radius * n[1] : 0);
    const double d_arm = d_at + (e->arm == ALONG ? e->bar_radius * d_n[1] : 0);
    const double w[2] = {n[0] * c + n[1] * s, n[1] * c - n[0] * s};
    const double d_w[2] = {d_n[0] * c + d_n[1] * s + w[1] * dx[TILT],
                           d_n[1] * c - d_n[0] * s - w[0] * dx[TILT]};
    for (int i = 0; i < 2; i++) {
        force[i] = f * w[i];
        d_force[i] = d_f * w[i] + f * d_w[i];
    }
    *torque = -f * n[0] * arm;
    *d_torque = -(d_f * n[0] * arm + f * d_n[0] * arm + f * n[0] * d_arm);
}

static void step(const pivot *e, const double *x, const double *dx, double *next, double *d_next)
{
    double force[2], d_force[2], torque, d_torque;
    contact(e, x, dx, force, d_force, &torque, &d_torque);
    for (int i = 0; i < 2; i++) {
        next[VX + i] = x[VX + i] + e->h * force[i];
        d_next[VX + i] = dx[VX + i] + e->h * d_force[i];
        next[X + i] = x[X + i] + e->h * next[VX + i];
        d_next[X + i] = dx[X + i] + e->h * d_next[VX + i];
    }
    next[RATE] = x[RATE] + e->h * torque;
    d_next[RATE] = dx[RATE] + e->h * d_torque;
    next[TILT] = x[TILT] + e->h * next[RATE];
    d_next[TILT] = dx[TILT] + e->h * d_next[RATE];
}

/* The last state of an episode at this angle of the throw, and its derivatives in a direction: by the angle,
 * or by the parameters of networks that w_dot names. */
static const double *throw_pivot(pivot *e, double angle, const double *w_dot, double last[STATES])
{
    const double c = cos(angle), s = sin(angle), turn = w_dot == NULL;
    double d[2][STATES] = {{0, 0, -e->speed * s * turn, e->speed * c * turn}}, *x = e->path;
    memcpy(x, (double[STATES]){0, 0, e->speed * c, e->speed * s}, STATES * sizeof *x);
    for (uint64_t t = 0; t < e->plain.kit.steps; t++, x += STATES) {
        const double *from = state_net_push(&e->net, x);
        state_net_push_dot(&e->net, w_dot, d[t % 2]);
        step(e, from, d[t % 2], x + STATES, d[(t + 1) % 2]);
    }
    memcpy(last, d[e->plain.kit.steps % 2], STATES * sizeof *last);
    return x;
}

static ds_status simulate_pivot(void *self, ds_eval *io)
{
    pivot *e = self;
    const uint64_t weights = e->plain.kit.hybrid.variables;
    double d[STATES];
    e->now = e->length;
    if (io->noise_key != 0 && e->length_noise > 0) {
        ds_random random = ds_random_open(io->noise_key, "length", 0);
        e->now = fmax(e->length + e->length_noise * ds_random_normal(&random), 0);
    }
    e->net.w = io->x + 1;
    const double *x = throw_pivot(e, io->x[0], NULL, d);
    io->loss = -x[RATE] * x[RATE];
    if (io->want & DS_WANT_GRAD) {
        io->grad[0] = -2 * x[RATE] * d[RATE];
        for (uint64_t i = 0; i < weights; i++) {
            e->w_dot[i] = 1;
            throw_pivot(e, io->x[0], e->w_dot, d);
            e->w_dot[i] = 0;
            io->grad[1 + i] = -2 * x[RATE] * d[RATE];
        }
        ds_hybrid_penalty(&e->plain.kit.hybrid, io->x + 1, io->grad + 1);
        io->grad_kind = DS_GRAD_FORWARD;
        io->cost_steps += weights * e->plain.kit.cost;
    }
    return DS_OK;
}

static uint64_t hooks_of_pivot(const void *self, ds_hook *out)
{
    (void)self;
    return state_net_hooks(out, STATES, 0, 3, "",
                           "x, y, v_x, v_y of the ball, tilt and rate of the bar (m, rad, s).");
}

static ds_status allocate_pivot(void *self)
{
    static const uint32_t pushed[] = {VX, VY, RATE};
    pivot *e = self;
    ds_env_kit *kit = &e->plain.kit;
    e->net = (state_net){.states = STATES, .forces = 3, .pushed = pushed, .kick = e->h};
    state_net_open(&e->net, &kit->memory, &kit->hybrid);
    e->w_dot = ds_memory_doubles(&kit->memory, kit->hybrid.variables + 1);
    return DS_OK;
}

static int64_t bad_step_of_pivot(void *self, ds_eval *io)
{
    const pivot *e = self;
    (void)io;
    for (uint64_t k = STATES; k < (e->plain.kit.steps + 1) * STATES; k++) {
        if (!isfinite(e->path[k])) {
            return (int64_t)(k / STATES) - 1;
        }
    }
    return -1;
}

/* ---- scene ---- */

static void bodies_of_pivot(void *self, ds_scene_kit *s)
{
    const pivot *e = self;
    s->info.flat = 1;
    ds_scene_kit_body(s, "ball", DS_BODY_SPHERE, DS_ROLE_TOOL, 1, (double[4]){e->radius, 0, 0, 0});
    ds_scene_kit_body(s, "bar", DS_BODY_CAPSULE, DS_ROLE_MATERIAL, 1,
                      (double[4]){e->bar_radius, e->length, 0, 0});
    ds_scene_kit_body(s, "pivot", DS_BODY_SPHERE, DS_ROLE_FIXED, 1,
                      (double[4]){1.2 * e->bar_radius, 0, 0, 0});
    ds_scene_kit_include(s, 0, 0, 0, 0.1);
    ds_scene_kit_include(s, e->distance, 0, 0, 1.1 * e->length + 2 * e->bar_radius);
}

static void place_pivot(const void *self, uint64_t k, uint64_t b, double *out)
{
    const pivot *e = self;
    const double *x = e->path + k * STATES, half = b == 1 ? 0.5 * e->length : 0;
    if (b == 0) {
        ds_scene_kit_pose(x[X], x[Y], 0, 0, out);
    } else {
        ds_scene_kit_pose(e->distance + half * sin(x[TILT]), half * cos(x[TILT]), 0, -x[TILT], out);
    }
}

static const ds_scene_kit_label metrics[] = {{"x", "m"},      {"y", "m"},        {"speed", "m/s"},
                                             {"tilt", "rad"}, {"rate", "rad/s"}, {NULL, NULL}};

static void measure_pivot(void *self, uint64_t k, double *out)
{
    pivot *e = self;
    const double *x = e->path + k * STATES;
    ds_scene_kit_include(&e->plain.kit.scene, x[X], x[Y], 0, e->radius);
    out[0] = x[X];
    out[1] = x[Y];
    out[2] = hypot(x[VX], x[VY]);
    out[3] = x[TILT];
    out[4] = x[RATE];
}

static const ds_env_table env = {.size = sizeof(pivot),
                                 .advice = "reduce parameter steps",
                                 .cure = "reduce parameter h or k",
                                 .read = read_pivot,
                                 .hook_points = hooks_of_pivot,
                                 .allocate = allocate_pivot,
                                 .simulate = simulate_pivot,
                                 .bad_step = bad_step_of_pivot,
                                 .metrics = metrics,
                                 .bodies = bodies_of_pivot,
                                 .place = place_pivot,
                                 .measure = measure_pivot,
                                 PLAIN_TABLE};

static const ds_desc desc = {
    BUNDLED_DESC("pivot", "2"),
    .flags = DS_ENV_GRADIENT | DS_ENV_STOCHASTIC,
    .summary = "Throw a ball at a bar to make it turn fast.",
    .description =
        "Variable: the angle of the throw. The bar stands upright on its pivot and turns freely; contact is "
        "k ramp(penetration) along the normal of the bar, steps are semi-implicit, there is no gravity. "
        "Loss: minus the square of the bar's final rate: the higher the hit the better, until the ball "
        "misses.\nWith a noise key and length_noise > 0 each episode draws the length of the bar.\nMetrics: "
        "position and speed of the ball, tilt (towards +x) and rate of the bar.",
    .citation = SMOOTHING_SUH,
};

DS_ENV_KIT_DEFINE(env, desc)
