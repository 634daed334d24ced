/* SPDX-License-Identifier: Apache-2.0 */
/* bounce.c - a ball is thrown at the ground (and a wall) and should be at a target after a given time; the
 * decision variables are its initial velocity. */
#include "common/number.h"
#include "engines/kit/bundled.h"
#include "engines/kit/lanes.h"
#include "engines/physics/penalty/penalty.h"

#include <string.h>

enum { WARP = 0, PAPER = 1 };
enum { SQUARED = 0, L2 = 1 };
enum { BALL, TARGET, WALL };

static const char *const variants[] = {"warp", "paper", NULL};
static const char *const losses[] = {"squared", "l2", NULL};

static const ds_param *const params[] = {
    DS_ENUM("variant", "warp", variants,
            "Set of defaults. warp: the example of Warp, 0.6 s, with a wall, without friction; paper: 2 s, "
            "no wall, friction, thrown downward."),
    DS_INT("steps", "0", 0, 1000000, "", "Steps of an episode; 0 = 288 (warp), 960 (paper)."),
    DS_REAL("h", "0.0020833333333333333", 1e-9, 1, "s", "Time step."),
    DS_LIST("start", "-0.5,1,0", -1e6, 1e6, 3, "m", "Position of the ball at the start (y is up)."),
    DS_LIST("target", "", -1e6, 1e6, 3, "m",
            "Target of the ball at the end; empty = (-2, 1.5, 0) (warp), (2.340879433, 1.636667177, "
            "0.710219858) (paper)."),
    DS_ENUM("loss", "squared", losses, "Squared distance to the target, or the distance."),
    DS_LIST("wall", "", -INFINITY, INFINITY, 1, "m",
            "x of a wall to the right of the ball; inf = none; empty = 1.75 (warp), inf (paper)."),
    DS_REAL("mass", "1", 1e-9, 1e9, "kg", "Mass of the ball."),
    DS_REAL("radius", "0.1", 0, 1e3, "m", "Distance of the centre at which contact begins."),
    DS_REAL("gravity", "9.8", -1e3, 1e3, "m/s^2", "Gravity, downward."),
    DS_REAL("ke", "1e4", 0, 1e300, "N/m", "Stiffness of contact."),
    DS_REAL("kd", "10", 0, 1e300, "N s/m", "Damping of contact while the ball approaches."),
    DS_LIST("kf", "", 0, 1e300, 1, "N s/m", "Viscous friction at low speed; empty = 0 (warp), 10 (paper)."),
    DS_LIST("mu", "", 0, 1e3, 1, "",
            "Coulomb friction; empty = 0.25 (warp, where kf = 0 switches it off), 0.1 (paper)."),
    DS_LIST("lower", "", -1e6, 1e6, 3, "m/s", "Lower bounds of the velocity; empty = -10."),
    DS_LIST("upper", "", -1e6, 1e6, 3, "m/s",
            "Upper bounds of the velocity; empty = 10; paper: 10, -0.5, 10 (downward)."),
    SOFTNESS_PARAMS("width", "none", "0.01", "m"),
    SOFTNESS_BACKWARD_PARAMS("0.05", "m"),
    DS_HYBRID_PARAMS,
    NULL};

static const char cure[] = "reduce parameter h, ke or kd, or raise mass";

typedef struct bounce {
    ds_env_kit kit; /* first */
    penalty_params p;
    penalty *sim;
    int64_t variant, loss;
    double start[3], target[3], lower[3], upper[3];
    double end[3]; /* of the last episode */
} bounce;

/* ---- set-up ---- */

static ds_status check_bounce(const bounce *e, const ds_host *host)
{
    for (int i = 0; i < 3; i++) {
        if (!(e->lower[i] <= e->upper[i])) {
            return ds_host_fail(
                host, DS_E_PARAM,
                "parameters lower = %s and upper = %s of velocity %c: lower must be at most upper",
                NUMBER(e->lower[i]), NUMBER(e->upper[i]), "xyz"[i]);
        }
    }
    if (e->p.wall - e->p.radius <= e->start[0]) {
        return ds_host_fail(
            host, DS_E_PARAM,
            "parameter wall = %g: the ball starts at x = %g, in the wall; put the wall at x > %g", e->p.wall,
            e->start[0], e->start[0] + e->p.radius);
    }
    double load = e->p.h * (e->p.h * e->p.ke + 2 * e->p.kd) / e->p.mass;
    if (load > 4) { /* limit of semi-implicit steps, see engines/physics/cloth/cloth.h */
        ds_host_say(host, DS_LOG_WARNING,
                    "(h^2 ke + 2 h kd) / mass = %g is above 4: contact throws the ball out instead of "
                    "letting it bounce; %s",
                    load, cure);
    }
    double overshoot = e->p.kf * e->p.h / e->p.mass;
    if (overshoot > 1) {
        ds_host_say(
            host, DS_LOG_WARNING,
            "kf h / mass = %g is above 1: friction reverses the sliding instead of stopping it; reduce "
            "kf or h",
            overshoot);
    }
    return DS_OK;
}

static void read_bounce(void *self, ds_param_reader *in)
{
    static const double targets[2][3] = {{-2, 1.5, 0}, {2.340879433, 1.636667177, 0.710219858}};
    bounce *e = self;
    penalty_params *p = &e->p;
    e->variant = ds_param_int(in, "variant");
    int64_t steps = ds_param_int(in, "steps");
    e->loss = ds_param_int(in, "loss");
    int paper = e->variant == PAPER;
    memcpy(e->target, targets[paper], sizeof e->target);
    p->wall = paper ? (double)INFINITY : 1.75;
    p->kf = paper ? 10 : 0;
    p->mu = paper ? 0.1 : 0.25;
    for (int i = 0; i < 3; i++) {
        e->lower[i] = -10;
        e->upper[i] = paper && i == 1 ? -0.5 : 10;
    }
    p->h = ds_param_real(in, "h");
    ds_param_values(in, "start", 3, e->start);
    ds_param_values(in, "target", 3, e->target);
    ds_param_values(in, "wall", 1, &p->wall);
    p->mass = ds_param_real(in, "mass");
    p->radius = ds_param_real(in, "radius");
    p->gravity = ds_param_real(in, "gravity");
    p->ke = ds_param_real(in, "ke");
    p->kd = ds_param_real(in, "kd");
    ds_param_values(in, "kf", 1, &p->kf);
    ds_param_values(in, "mu", 1, &p->mu);
    softness_read(&p->soft, in, "width");
    softness_read_backward(&p->soft, in);
    ds_param_values(in, "lower", 3, e->lower);
    ds_param_values(in, "upper", 3, e->upper);
    e->kit.grad_kind = p->soft.at_distance ? DS_GRAD_SMOOTHED : DS_GRAD_ADJOINT;
    e->kit.n = 3;
    e->kit.steps = steps ? (uint64_t)steps : paper ? 960 : 288;
    e->kit.dt = p->h;
    in->status = in->status == DS_OK ? check_bounce(e, in->host) : in->status;
}

static uint64_t hooks_of_bounce(const void *self, ds_hook *out)
{
    uint64_t k = 0;
    (void)self;
    ds_env_kit_hook(out, &k, DS_HOOK_INPUT, 3, "position", "m", "Of the ball (y is up), before the step.");
    ds_env_kit_hook(out, &k, DS_HOOK_INPUT, 3, "velocity", "m/s", "Of the ball.");
    ds_env_kit_hook(out, &k, DS_HOOK_INPUT, 3, "contact_force", "N",
                    "Of ground and wall by the contact law.");
    ds_env_kit_hook(out, &k, DS_HOOK_OUTPUT, 3, "force", "N",
                    "Force on the ball without gravity: starts as contact_force.");
    return k;
}

static ds_status allocate_bounce(void *self)
{
    bounce *e = self;
    e->p.hybrid = &e->kit.hybrid;
    e->sim = penalty_create(&e->kit.memory, &e->p, e->kit.steps);
    e->kit.max_rows = e->sim != NULL && penalty_width(e->sim) > 1 ? 0 : 1;
    return DS_OK;
}

static void name_velocity(const void *self, uint64_t i, ds_env_variable *out)
{
    (void)self;
    ds_env_variable_put(out->name, "velocity.%c", "xyz"[i]);
    ds_env_variable_put(out->unit, "m/s");
    ds_env_variable_put(out->group, "velocity");
}

/* Warp's example starts from (5, -5, 0). */
static void range_of_velocity(const void *self, uint64_t i, double *lower, double *upper, double *start)
{
    static const double example[3] = {5, -5, 0};
    const bounce *e = self;
    *lower = e->lower[i];
    *upper = e->upper[i];
    int fits = e->variant == WARP && example[i] >= *lower && example[i] <= *upper;
    *start = fits ? example[i] : 0.5 * *lower + 0.5 * *upper;
}

/* ---- loss ---- */

static double square_distance(const bounce *e, const double x[3])
{
    double sum = 0;
    for (int i = 0; i < 3; i++) {
        sum += (x[i] - e->target[i]) * (x[i] - e->target[i]);
    }
    return sum;
}

/* Simulates an episode; its last position goes to x. `velocity`: all variables. */
static void throw_ball(bounce *e, const double *velocity, double x[3], int keep)
{
    double v[3];
    memcpy(x, e->start, sizeof e->start);
    memcpy(v, velocity, sizeof v);
    penalty_weights(e->sim, velocity + e->kit.n, NULL);
    penalty_simulate(e->sim, x, v, e->kit.steps, keep);
}

static ds_status simulate_bounce(void *self, ds_eval *io)
{
    bounce *e = self;
    throw_ball(e, io->x, e->end, (io->want & DS_WANT_SCENE) != 0);
    double square = square_distance(e, e->end);
    io->loss = e->loss == SQUARED ? square : sqrt(square);
    return DS_OK;
}

/* The derivatives of the loss by the last position. */
static void loss_bar(const bounce *e, const double x[3], double x_bar[3])
{
    const double distance = sqrt(square_distance(e, x));
    const double factor = e->loss == SQUARED ? 2 : distance > 0 ? 1 / distance : 0;
    for (int i = 0; i < 3; i++) {
        x_bar[i] = factor * (x[i] - e->target[i]);
    }
}

/* Many episodes side by side. */
static ds_status simulate_rows(void *self, uint64_t count, ds_eval *const *io)
{
    bounce *e = self;
    const uint64_t width = penalty_width(e->sim);
    for (uint64_t k = 0; k < count; k += width) {
        const lanes_group g = lanes_take(width, count - k, io + k);
        double x[3 * LANES_MOST], v[3 * LANES_MOST];
        for (uint64_t j = 0; j < 3 * width; j++) {
            x[j] = e->start[j / width];
            v[j] = g.x[j % width][j / width];
        }
        penalty_lanes_simulate(e->sim, x, v, e->kit.steps, g.graded);
        for (uint64_t lane = 0; lane < width; lane++) {
            double end[3] = {x[lane], x[width + lane], x[2 * width + lane]}, bar[3];
            const double square = square_distance(e, end);
            g.io[lane]->loss = e->loss == SQUARED ? square : sqrt(square);
            loss_bar(e, end, bar);
            for (uint64_t i = 0; i < 3; i++) {
                x[i * width + lane] = bar[i];
            }
        }
        if (g.graded) {
            memset(v, 0, sizeof v);
            penalty_lanes_adjoint(e->sim, x, v);
            for (uint64_t j = 0; j < 3 * width; j++) {
                g.grad[j % width][j / width] = v[j];
            }
        }
    }
    return DS_OK;
}

/* Simulates again to find the step that diverged. */
static int64_t bad_step_of_bounce(void *self, ds_eval *io)
{
    bounce *e = self;
    throw_ball(e, io->x, e->end, 1);
    io->cost_steps *= 2;
    return penalty_bad_step(e->sim);
}

static ds_status adjoint_of_bounce(void *self, ds_eval *io)
{
    bounce *e = self;
    double x_bar[3];
    loss_bar(e, e->end, x_bar);
    memset(io->grad, 0, io->n * sizeof *io->grad);
    penalty_weights(e->sim, io->x + e->kit.n, io->grad + e->kit.n);
    penalty_adjoint(e->sim, x_bar, io->grad);
    return DS_OK;
}

/* ---- scene ---- */

static void place_bounce(const void *self, uint64_t k, uint64_t b, double *out)
{
    const bounce *e = self;
    const double *at = penalty_state(e->sim, k);
    if (b == BALL) {
        ds_scene_kit_pose(at[0], at[1], at[2], 0, out);
    } else if (b == TARGET) {
        ds_scene_kit_pose(e->target[0], e->target[1], e->target[2], 0, out);
    } else {
        ds_scene_kit_pose(e->p.wall + 0.25, 1, 0, 0, out);
    }
}

static void bodies_of_bounce(void *self, ds_scene_kit *s)
{
    const bounce *e = self;
    const double r = e->p.radius;
    ds_scene_kit_body(s, "ball", DS_BODY_SPHERE, DS_ROLE_MATERIAL, 1, (double[4]){r, 0, 0, 0});
    ds_scene_kit_body(s, "target", DS_BODY_SPHERE, DS_ROLE_TARGET, 1, (double[4]){r, 0, 0, 0});
    if (isfinite(e->p.wall)) {
        ds_scene_kit_body(s, "wall", DS_BODY_BOX, DS_ROLE_FIXED, 1, (double[4]){0.25, 1, 1, 0});
        ds_scene_kit_include(s, e->p.wall, 1, 0, 1);
    }
    ds_scene_kit_include(s, e->start[0], e->start[1], e->start[2], 1 + r);
    ds_scene_kit_include(s, e->target[0], e->target[1], e->target[2], 1 + r);
    s->info.box[1] = 0;
    s->info.ground = 0;
}

static const ds_scene_kit_label metrics[] = {{"x", "m"},       {"y", "m"},        {"z", "m"},
                                             {"speed", "m/s"}, {"distance", "m"}, {"energy", "J"},
                                             {"force", "N"},   {NULL, NULL}};

static void measure_bounce(void *self, uint64_t k, double *out)
{
    bounce *e = self;
    const double *x = penalty_state(e->sim, k), *v = x + 3;
    double force[3], square = v[0] * v[0] + v[1] * v[1] + v[2] * v[2];
    penalty_force(&e->p, x, v, force);
    ds_scene_kit_include(&e->kit.scene, x[0], fmax(x[1], e->p.radius), x[2], e->p.radius);
    memcpy(out, x, 3 * sizeof *out);
    out[3] = sqrt(square);
    out[4] = sqrt(square_distance(e, x));
    out[5] = e->p.mass * (0.5 * square + e->p.gravity * x[1]);
    out[6] = sqrt(force[0] * force[0] + force[1] * force[1] + force[2] * force[2]);
}

/* ---- plugin ---- */

static const ds_env_table env = {.size = sizeof(bounce),
                                 .cure = cure,
                                 .advice = "reduce parameter steps",
                                 .read = read_bounce,
                                 .hook_points = hooks_of_bounce,
                                 .allocate = allocate_bounce,
                                 .range = range_of_velocity,
                                 .variable = name_velocity,
                                 .simulate = simulate_bounce,
                                 .bad_step = bad_step_of_bounce,
                                 .adjoint = adjoint_of_bounce,
                                 .passes = 1,
                                 .rows = simulate_rows,
                                 .rows_adjoint = 1,
                                 .metrics = metrics,
                                 .bodies = bodies_of_bounce,
                                 .place = place_bounce,
                                 .measure = measure_bounce};

static const ds_desc desc = {
    BUNDLED_DESC("bounce", "3"),
    .flags = DS_ENV_GRADIENT,
    .summary = "Throw a ball so that it bounces to a target.",
    .description =
        "Variables: the initial velocity (x, y, z) in m/s. Contact is a stiff spring with damping while "
        "approaching and regularized Coulomb friction; steps are semi-implicit.\nAlong the horizontal "
        "velocities the loss is smooth; along the vertical one it has many local minima. A contact begins "
        "and ends in whole steps, so the loss jumps by small amounts at most velocities: the exact gradient "
        "is steep and often has the sign of a tooth, not of the trend.\nNo stepwise control: there are no "
        "actions after the throw.\nMetrics: x, y, z, speed, distance to the target, energy (without that of "
        "the contact spring), force of contact.",
    .citation = "M. Macklin, Warp: a high-performance Python framework for GPU simulation and graphics, 2022 "
                "(example bounce). " PAPER_ANTONOVA,
};

DS_ENV_KIT_DEFINE(env, desc)
