/* SPDX-License-Identifier: Apache-2.0 */
/* pinball.c - a ball drops through a grid of tilted bars; the decision variables are their angles, the loss
 * is the distance of the ball to a target after a fixed time. */
#include "engines/physics/contact/ball.h"
#include "engines/kit/bundled.h"
#include "engines/kit/lanes.h"
#include "engines/kit/norm.h"
#include "engines/physics/smoothing/softness.h"

#include <string.h>

enum { PINBALL2 = 0, PINBALL16 = 1 };
enum { BALL, BARS, SIDES, FLOOR_AND_TOP, TARGET };
static const double wall_half_m = 0.1; /* drawn half thickness of the walls */

static const char *const variants[] = {"pinball2", "pinball16", NULL};
static const char *const integrators[] = {"explicit", "semi-implicit", NULL};
static const char *const orders[] = {"simultaneous", "sequential", "reversed", NULL};
static const char *const gradients[] = {"discrete", "nimble", "saltation", "alternate", NULL};

static const ds_param *const params[] = {
    DS_ENUM("variant", "pinball2", variants,
            "pinball2: one row of two bars, two variables; pinball16: four rows of four.",
            .flags = DS_PARAM_SHAPE),
    DS_INT("nh", "0", 0, 64, "", "Rows of bars; 0 = of the variant.", .flags = DS_PARAM_SHAPE),
    DS_INT("nw", "0", 0, 64, "", "Bars in a row; 0 = of the variant.", .flags = DS_PARAM_SHAPE),
    DS_INT("steps", "1000", 1, 1000000, "", "Steps of an episode."),
    DS_REAL("h", "0.002", 1e-9, 1, "s",
            "Time step. A ball of speed v passes through what is thinner than v h."),
    DS_REAL("width", "8", 1e-6, 1e6, "m", "Width of the platform; the left wall is at x = 0."),
    DS_REAL("height", "10", 1e-6, 1e6, "m", "Height of the platform; the floor is at y = 0."),
    DS_LIST(
        "half_length", "", 0, 1e6, 1, "m",
        "Half length of a bar; empty = 1.2 with one row of two, else 0.35 of the distance of the columns."),
    DS_REAL("half_thickness", "0.1", 0, 1e6, "m", "Half thickness of a bar."),
    DS_REAL("radius", "0.2", 1e-9, 1e6, "m", "Radius of the ball."),
    DS_LIST("start", "", -1e6, 1e6, 2, "m",
            "Centre of the ball at the start (x, y); empty = (2.5, 9.5) with two columns, else (3.3, 9.5)."),
    DS_LIST("start_velocity", "0,0", -1e6, 1e6, 2, "m/s", "Velocity of the ball at the start."),
    DS_LIST("target", "7,0.5", -1e6, 1e6, 2, "m", "Target of the ball's centre (x, y)."),
    DS_REAL("restitution", "0.6", 0, 1, "", "Coefficient of restitution of an impact."),
    DS_REAL("friction", "0", 0, 1e3, "", "Coulomb friction; the ball does not spin."),
    DS_REAL("gravity", "9.81", -1e3, 1e3, "m/s^2", "Gravity, downward."),
    DS_REAL("threshold", "0.1", 0, INFINITY, "m/s",
            "The ball bounces only where restitution times speed of approach exceeds this."),
    DS_REAL("clip", "inf", 0, INFINITY, "m",
            "Contacts deeper than this are ignored (0.03 in Nimble); inf = none are."),
    DS_ENUM(
        "integrator", "explicit", integrators,
        "explicit: positions move with the velocity before the step, as in Nimble; semi-implicit: after it."),
    DS_ENUM("contact_order", "simultaneous", orders,
            "Contacts of one step: together (linear complementarity), or one after the other, in order or "
            "reversed."),
    DS_ENUM(
        "gradient", "discrete", gradients,
        "discrete: of the program, exact. nimble: with its bounce approximation of positions. saltation: of "
        "the continuous motion, in which the time of impact shifts. alternate: contacts switched where that "
        "gives a larger derivative (Nimble's way off saddle points). Only the first is the derivative of "
        "the loss."),
    SOFTNESS_PARAMS("softness_width", "none", "0.03", "m"),
    SOFTNESS_BACKWARD_PARAMS("0.3", "m"),
    DS_REAL(
        "stiffness", "1e4", 0, 1e9, "N/m",
        "Of a softened contact: force = stiffness x ramp of the depth; restitution^2 of it on the way out. "
        "threshold, clip and contact_order have no effect then."),
    DS_REAL("grad_stiffness", "100", 0, 1e9, "N/m",
            "contact_grad = distance: the same of what the gradient takes for a force."),
    PROXIMITY_PARAMS("ball and bars", "0.1"),
    DS_HYBRID_PARAMS,
    NULL};

typedef struct pinball {
    ds_env_kit kit; /* first */
    ball_params p;
    ball *sim;
    shape_box *bar;
    uint64_t rows, columns; /* of bars */
    double *angle;          /* of the last episode */
    double width, height, half[2], start[4], target[2];
    uint64_t told; /* contacts with measured impulses */
    proximity near;
    proximity_seen *seen; /* per bar, in the last episode */
    double *more;         /* derivatives by the positions of all states */
} pinball;

/* ---- set-up ---- */

static void read_physics(pinball *e, ds_param_reader *in)
{
    ball_params *p = &e->p;
    p->host = in->host;
    p->h = ds_param_real(in, "h");
    p->gravity = ds_param_real(in, "gravity");
    p->radius = ds_param_real(in, "radius");
    p->clip = ds_param_real(in, "clip");
    p->law.restitution = ds_param_real(in, "restitution");
    p->law.friction = ds_param_real(in, "friction");
    p->law.threshold = ds_param_real(in, "threshold");
    /* the choices are in the order of the engine's constants */
    p->integrator = (int)ds_param_int(in, "integrator");
    p->order = (int)ds_param_int(in, "contact_order");
    p->gradient = (int)ds_param_int(in, "gradient");
    p->walls[1] = e->width;
    p->walls[3] = e->height;
    softness_read(&p->soft, in, "softness_width");
    softness_read_backward(&p->soft, in);
    const double hard = ds_param_real(in, "stiffness"), felt = ds_param_real(in, "grad_stiffness");
    p->stiffness = p->soft.at_distance ? felt : hard;
    proximity_read(&e->near, in);
}

/* Refuses parameters that exclude each other. */
static ds_status check_pinball(const pinball *e, const ds_host *host)
{
    const ball_params *p = &e->p;
    const int soft = p->soft.kernel != SOFTNESS_NONE;
    if (2 * p->radius > fmin(e->width, e->height)) {
        return ds_host_fail(
            host, DS_E_PARAM,
            "parameter radius = %g: a ball of diameter %g does not fit between walls %g m x %g m apart",
            p->radius, 2 * p->radius, e->width, e->height);
    }
    if (soft && p->gradient != BALL_DISCRETE) {
        return ds_host_fail(
            host, DS_E_PARAM,
            "parameters softness = %s and gradient = %s: a softened contact has no impacts; set "
            "gradient = discrete",
            softness_kernels[p->soft.kernel], gradients[p->gradient]);
    }
    const double load = p->h * p->h * p->stiffness;
    if (soft && load > 1) {
        ds_host_say(
            host, DS_LOG_WARNING,
            "h^2 stiffness = %g is above 1: contact throws the ball out instead of letting it bounce; "
            "reduce parameter h or stiffness",
            load);
    }
    return DS_OK;
}

static void read_pinball(void *self, ds_param_reader *in)
{
    pinball *e = self;
    uint64_t usual = ds_param_int(in, "variant") == PINBALL16 ? 4 : 2;
    uint64_t rows = (uint64_t)ds_param_int(in, "nh"), columns = (uint64_t)ds_param_int(in, "nw");
    e->kit.steps = (uint64_t)ds_param_int(in, "steps");
    e->width = ds_param_real(in, "width");
    e->height = ds_param_real(in, "height");
    e->rows = rows ? rows : usual == 4 ? 4 : 1;
    e->columns = columns ? columns : usual;
    e->kit.n = e->rows * e->columns;
    e->half[0] = e->kit.n == 2 && e->columns == 2 ? 1.2 : 0.35 * e->width / (double)e->columns;
    e->start[0] = e->columns == 2 ? 2.5 : 3.3;
    e->start[1] = 9.5;
    ds_param_values(in, "half_length", 1, e->half);
    e->half[1] = ds_param_real(in, "half_thickness");
    ds_param_values(in, "start", 2, e->start);
    ds_param_values(in, "start_velocity", 2, e->start + 2);
    ds_param_values(in, "target", 2, e->target);
    read_physics(e, in);
    e->kit.dt = e->p.h;
    e->kit.grad_kind =
        e->p.gradient == BALL_DISCRETE && !e->p.soft.at_distance ? DS_GRAD_ADJOINT : DS_GRAD_SMOOTHED;
    in->status = in->status == DS_OK ? check_pinball(e, in->host) : in->status;
}

/* Bars row by row, the top row first, evenly spread: centres x = W (j + 1/2)/nw, y = H (nh - i)/(nh + 1). */
static void set_bars(pinball *e)
{
    for (uint64_t k = 0; k < e->kit.n; k++) {
        shape_box *b = &e->bar[k];
        b->centre[0] = e->width * ((double)(k % e->columns) + 0.5) / (double)e->columns;
        b->centre[1] = e->height * (double)(e->rows - k / e->columns) / (double)(e->rows + 1);
        memcpy(b->half, e->half, sizeof b->half);
    }
}

/* Rows and columns are counted from the top left. */
static void name_bar(const void *self, uint64_t i, ds_env_variable *out)
{
    const pinball *e = self;
    unsigned row = (unsigned)(i / e->columns), column = (unsigned)(i % e->columns);
    ds_env_variable_put(out->name, "bar.%u.%u", row, column);
    ds_env_variable_put(out->unit, "rad");
    ds_env_variable_put(out->group, "row%u", row);
}

static uint64_t hooks_of_pinball(const void *self, ds_hook *out)
{
    uint64_t k = 0;
    (void)self;
    ds_env_kit_hook(out, &k, DS_HOOK_INPUT, 1, "normal_velocity", "m/s",
                    "Before the impact; negative: approaching.");
    ds_env_kit_hook(out, &k, DS_HOOK_INPUT, 1, "sliding_velocity", "m/s",
                    "Before the impact, along the surface.");
    ds_env_kit_hook(out, &k, DS_HOOK_INPUT, 1, "depth", "m", "Of penetration.");
    ds_env_kit_hook(out, &k, DS_HOOK_OUTPUT, 1, "friction", "N s",
                    "Impulse along the surface at each impact, added to that of parameter friction.");
    return k;
}

static ds_status allocate_pinball(void *self)
{
    pinball *e = self;
    e->bar = ds_memory_take(&e->kit.memory, e->kit.n, sizeof *e->bar);
    e->angle = ds_memory_doubles(&e->kit.memory, e->kit.n);
    if (e->near.weight > 0) {
        e->seen = ds_memory_take(&e->kit.memory, e->kit.n, sizeof *e->seen);
        e->more = ds_memory_doubles(&e->kit.memory, 2 * (e->kit.steps + 1));
    }
    if (e->kit.memory.failed) {
        return DS_E_NOMEM;
    }
    if (e->kit.hybrid.nets > 0 && e->p.soft.kernel != SOFTNESS_NONE) {
        return ds_host_fail(
            e->kit.host, DS_E_PARAM,
            "parameters residual and softness = %s: networks act at impacts, and a softened contact "
            "has none; set one of them",
            softness_kernels[e->p.soft.kernel]);
    }
    set_bars(e);
    e->p.hybrid = &e->kit.hybrid;
    e->sim = ball_create(&e->kit.memory, &e->p, e->kit.n, e->bar, e->kit.steps);
    e->kit.max_rows = e->sim != NULL && ball_width(e->sim) > 1 && !(e->near.weight > 0) ? 0 : 1;
    return DS_OK;
}

/* ---- episode ---- */

/* Distance of the ball to the target; `bar` receives its derivatives by the position. */
static double distance(const pinball *e, const double *state, double bar[2])
{
    const double error[2] = {state[0] - e->target[0], state[1] - e->target[1]};
    return norm_of(2, error, bar);
}

/* How close the ball came to each bar: the sum of the squared distances. */
static double see_bars(pinball *e)
{
    double sum = 0;
    for (uint64_t i = 0; i < e->kit.n; i++) {
        shape_contact k;
        e->seen[i] = (proximity_seen){0};
        for (uint64_t t = 0; t <= e->kit.steps; t++) {
            ball_near(e->sim, i, ball_state(e->sim, t), &k);
            proximity_add(&e->near, &e->seen[i], -k.depth);
        }
        const double distance = proximity_distance(&e->near, &e->seen[i]);
        sum += distance * distance;
    }
    return sum;
}

/* Its derivatives times the weight, by the states and by the angles. */
static void see_bars_adjoint(pinball *e, double *more, double *angle_bar)
{
    memset(more, 0, 2 * (e->kit.steps + 1) * sizeof *more);
    for (uint64_t i = 0; i < e->kit.n; i++) {
        const double outer = 2 * e->near.weight * proximity_distance(&e->near, &e->seen[i]);
        for (uint64_t t = 0; outer > 0 && t <= e->kit.steps; t++) {
            shape_contact k;
            ball_near(e->sim, i, ball_state(e->sim, t), &k);
            const double bar = outer * proximity_slope(&e->near, &e->seen[i], t, -k.depth);
            more[2 * t] += bar * k.n[0];
            more[2 * t + 1] += bar * k.n[1];
            angle_bar[i] += bar != 0 ? bar * shape_gap_angle(&k) : 0;
        }
    }
}

static ds_status simulate_pinball(void *self, ds_eval *io)
{
    pinball *e = self;
    double unused[2];
    memcpy(e->angle, io->x, e->kit.n * sizeof *e->angle);
    ball_weights(e->sim, io->x + e->kit.n, NULL);
    (e->p.soft.kernel == SOFTNESS_NONE ? ball_simulate : ball_far_simulate)(e->sim, e->angle, e->start,
                                                                            e->kit.steps);
    if (ball_stopped(e->sim)) {
        return DS_STOPPED;
    }
    io->loss = distance(e, ball_state(e->sim, e->kit.steps), unused);
    io->loss += e->near.weight > 0 ? e->near.weight * see_bars(e) : 0;
    return DS_OK;
}

/* Many episodes side by side. */
static ds_status simulate_rows(void *self, uint64_t count, ds_eval *const *io)
{
    pinball *e = self;
    const uint64_t width = ball_width(e->sim);
    for (uint64_t k = 0; k < count; k += width) {
        const lanes_group g = lanes_take(width, count - k, io + k);
        double end[LANES_MOST][4];
        ball_lanes_simulate(e->sim, g.x, e->start, e->kit.steps, end);
        for (uint64_t lane = 0; lane < g.count; lane++) {
            double bar[4] = {0, 0, 0, 0};
            g.io[lane]->loss = distance(e, end[lane], bar);
            if (g.graded) {
                ball_adjoint(ball_lane(e->sim, lane), NULL, bar, g.grad[lane]);
            }
        }
        if (e->p.host->should_stop(e->p.host)) {
            return DS_STOPPED;
        }
    }
    return DS_OK;
}

static int64_t bad_step_of_pinball(void *self, ds_eval *io)
{
    const pinball *e = self;
    uint64_t k = 0;
    (void)io;
    while (k + 1 < e->kit.steps && isfinite(ball_state(e->sim, k + 1)[0] + ball_state(e->sim, k + 1)[1])) {
        k++;
    }
    return (int64_t)k;
}

static ds_status adjoint_of_pinball(void *self, ds_eval *io)
{
    pinball *e = self;
    const uint64_t T = e->kit.steps;
    double bar[4] = {0, 0, 0, 0};
    distance(e, ball_state(e->sim, T), bar);
    memset(io->grad + e->kit.n, 0, (io->n - e->kit.n) * sizeof *io->grad);
    ball_weights(e->sim, io->x + e->kit.n, io->grad + e->kit.n);
    if (!(e->near.weight > 0)) {
        ball_adjoint(e->sim, NULL, bar, io->grad);
        return DS_OK;
    }
    memset(e->angle, 0, e->kit.n * sizeof *e->angle);
    see_bars_adjoint(e, e->more, e->angle);
    bar[0] += e->more[2 * T];
    bar[1] += e->more[2 * T + 1];
    ball_adjoint(e->sim, e->more, bar, io->grad);
    for (uint64_t i = 0; i < e->kit.n; i++) {
        io->grad[i] += e->angle[i];
    }
    memcpy(e->angle, io->x, e->kit.n * sizeof *e->angle); /* of the last episode, for its scene */
    return DS_OK;
}

/* ---- scene ---- */

static void bodies_of_pinball(void *self, ds_scene_kit *s)
{
    const pinball *e = self;
    const double r = e->p.radius, W = 0.5 * e->width, H = 0.5 * e->height;
    ds_scene_kit_body(s, "ball", DS_BODY_SPHERE, DS_ROLE_MATERIAL, 1, (double[4]){r, 0, 0, 0});
    ds_scene_kit_body(s, "bars", DS_BODY_BOX, DS_ROLE_TOOL, e->kit.n,
                      (double[4]){e->half[0], e->half[1], r, 0});
    ds_scene_kit_body(s, "sides", DS_BODY_BOX, DS_ROLE_FIXED, 2,
                      (double[4]){wall_half_m, H + 2 * wall_half_m, r, 0});
    ds_scene_kit_body(s, "floor_and_top", DS_BODY_BOX, DS_ROLE_FIXED, 2, (double[4]){W, wall_half_m, r, 0});
    ds_scene_kit_body(s, "target", DS_BODY_SPHERE, DS_ROLE_TARGET, 1, (double[4]){r, 0, 0, 0});
    ds_scene_kit_include(s, 0, 0, 0, 2 * wall_half_m);
    ds_scene_kit_include(s, e->width, e->height, 0, 2 * wall_half_m);
    ds_scene_kit_include(s, e->target[0], e->target[1], 0, r);
    s->info.flat = 1;
}

static void place_pinball(const void *self, uint64_t k, uint64_t b, double *out)
{
    const pinball *e = self;
    const double *at = ball_state(e->sim, k), W = e->width, H = e->height;
    if (b == BALL) {
        ds_scene_kit_pose(at[0], at[1], 0, 0, out);
    } else if (b == TARGET) {
        ds_scene_kit_pose(e->target[0], e->target[1], 0, 0, out);
    } else if (b == SIDES) {
        ds_scene_kit_pose(-wall_half_m, 0.5 * H, 0, 0, out);
        ds_scene_kit_pose(W + wall_half_m, 0.5 * H, 0, 0, out + 7);
    } else if (b == FLOOR_AND_TOP) {
        ds_scene_kit_pose(0.5 * W, -wall_half_m, 0, 0, out);
        ds_scene_kit_pose(0.5 * W, H + wall_half_m, 0, 0, out + 7);
    } else {
        for (uint64_t i = 0; i < e->kit.n; i++) {
            ds_scene_kit_pose(e->bar[i].centre[0], e->bar[i].centre[1], 0, e->angle[i], out + 7 * i);
        }
    }
}

static const ds_scene_kit_label metrics[] = {{"x", "m"},       {"y", "m"},      {"distance", "m"},
                                             {"speed", "m/s"}, {"energy", "J"}, {"impulse", "N s"},
                                             {NULL, NULL}};

static void measure_pinball(void *self, uint64_t k, double *out)
{
    pinball *e = self;
    const double *at = ball_state(e->sim, k), square = at[2] * at[2] + at[3] * at[3];
    double unused[2];
    out[0] = at[0];
    out[1] = at[1];
    out[2] = distance(e, at, unused);
    out[3] = sqrt(square);
    out[4] = 0.5 * square + e->p.gravity * at[1];
    out[5] = 0;
    e->told = k > 0 ? e->told : 0;
    for (; e->told < ball_events(e->sim); e->told++) { /* impulses of the step before, in order of time */
        const ball_event *event = ball_event_at(e->sim, e->told);
        const impact_contact *c = ball_contacts(e->sim, event);
        if (event->step + 1 > k) {
            return;
        }
        for (int j = 0; j < event->count; j++) {
            out[5] += hypot(c[j].f[0], c[j].f[1]);
        }
    }
}

/* ---- plugin ---- */

static const ds_env_table env = {.size = sizeof(pinball),
                                 .cure = "reduce parameter h, gravity or start_velocity",
                                 .advice = "reduce parameter steps",
                                 .read = read_pinball,
                                 .hook_points = hooks_of_pinball,
                                 .allocate = allocate_pinball,
                                 .limit = 1,
                                 .variable = name_bar,
                                 .simulate = simulate_pinball,
                                 .bad_step = bad_step_of_pinball,
                                 .adjoint = adjoint_of_pinball,
                                 .passes = 1,
                                 .rows = simulate_rows,
                                 .rows_adjoint = 1,
                                 .metrics = metrics,
                                 .bodies = bodies_of_pinball,
                                 .place = place_pinball,
                                 .measure = measure_pinball};

static const ds_desc desc = {
    BUNDLED_DESC("pinball", "3"),
    .flags = DS_ENV_GRADIENT,
    .summary = "A ball drops through a grid of tilted bars and is to reach a target.",
    .description =
        "Variables: the angles of the bars in rad, each in [-1, 1], row by row from the top left. Rigid "
        "contact with bars and walls; the bars do not move.\nThe landscape has plateaus and jumps: a bar "
        "that the ball never touches has gradient exactly zero; hit or miss at an edge, face or corner, the "
        "order of impacts, the restitution threshold and the clipping depth are switches; a ball at rest on "
        "a level bar no longer depends on anything; the fixed end time cuts a flight short.\nThe discrete "
        "gradient is exact for the program, but the program moves impacts in whole steps: compared with the "
        "loss over a distance it has an error that does not vanish with h (compare gradient = "
        "saltation).\nAn untouched bar can still be felt: softness (a force at a distance instead of "
        "impacts), contact_grad = distance (only the gradient uses one; its kind is `smoothed`), "
        "contact_loss (how close the ball came to each bar). See docs/contact.md.\nNo stepwise control: the "
        "bars stand still, there are no actions during an episode.\nMetrics: x, y, distance to the target, "
        "speed, energy, impulse of the contacts in the step before.",
    .citation = PAPER_ANTONOVA " Contact: K. Werling et al., RSS 2021.",
};

DS_ENV_KIT_DEFINE(env, desc)
