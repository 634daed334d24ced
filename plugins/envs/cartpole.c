/* SPDX-License-Identifier: Apache-2.0 */
/* cartpole.c - a chain of links hangs from a cart on a rail and should be thrown to a target; the decision
 * variables are the cart's velocity (or the force on it) and one torque per joint, at every step. */
#include "engines/physics/chain/chain.h"
#include "engines/kit/bundled.h"
#include "engines/kit/lanes.h"
#include "engines/kit/linear_model.h"
#include "engines/kit/norm.h"

#include <string.h>

enum { PAPER = 0, NIMBLE = 1 };
enum { AUTO = 0 }; /* first choice of an enumeration: the variant decides */
enum { TIP = 0, STATE_NORM = 1, STATE_SQ = 2 };
enum { RAIL, CART, LINK_1 };

static const char *const variants[] = {"paper", "nimble", NULL};
static const char *const controls[] = {"auto", "velocity", "force", NULL};
static const char *const losses[] = {"auto", "tip", "state_norm", "state_sq", NULL};
static const char *const integrators[] = {"explicit", "semi-implicit", "rk4", NULL};

static const ds_param *const params[] = {
    DS_ENUM("variant", "paper", variants,
            "Set of defaults. paper: cart velocity and torques bring the tip to the target. nimble: the "
            "cart-pole example of Nimble: force on the cart, no torque, the final state should be zero."),
    DS_INT("links", "1", 1, CHAIN_MAX_LINKS, "", "Links of the chain.", .flags = DS_PARAM_SHAPE),
    DS_INT("steps", "100", 1, 100000, "",
           "Steps with their own controls; there are steps (links + 1) variables.", .flags = DS_PARAM_SHAPE),
    DS_INT("hold", "1", 1, 1000, "", "Simulation steps for which each control is held."),
    DS_LIST("h", "", 1e-9, 10, 1, "s", "Simulation step; empty = 0.02 (paper), 0.01 (nimble)."),
    DS_ENUM("control", "auto", controls,
            "First control of a step: velocity of the cart after the step, or force on it; auto = velocity "
            "(paper), force (nimble)."),
    DS_ENUM("loss", "auto", losses,
            "tip: distance of the tip to the target at the end. state_norm, state_sq: Euclidean norm, or "
            "its square, of the final state (cart position, relative joint angles, and their rates). auto = "
            "tip (paper), state_norm (nimble)."),
    DS_LIST("scale", "", -1e6, 1e6, CHAIN_MAX_LINKS + 1, "",
            "Size of the controls at x = 1: cart (m/s or N), then torques (N m); 0 = unused. Empty = 2, 5 "
            "with one link, else 2, 10, 5, 2, 1, 0.5, 0.25, ...; with force control the cart has 10; nimble "
            "10, 0, 0, ..."),
    DS_LIST("target", "", -1e6, 1e6, 2, "m",
            "Target of the tip (x, y). Empty = (1, 0.8) with one link, else (n/2, (n + 1)/2) with n links."),
    DS_LIST("start_theta", "3.1415926535897931", -1e3, 1e3, CHAIN_MAX_LINKS, "rad",
            "Angles of the links at the start, from the upward vertical: one for all or one for each."),
    DS_LIST("start_omega", "0", -1e3, 1e3, CHAIN_MAX_LINKS, "rad/s", "Rates of these angles at the start."),
    DS_REAL("start_x", "0", -1e6, 1e6, "m", "Position of the cart at the start."),
    DS_REAL("start_v", "0", -1e6, 1e6, "m/s", "Velocity of the cart at the start."),
    DS_ENUM(
        "integrator", "explicit", integrators,
        "explicit: positions move with the velocities before the step, as in Nimble; it adds energy: that "
        "of a free chain of 2 links grows fivefold in 10 s. semi-implicit: with the velocities after the "
        "step. rk4: the classical Runge-Kutta method, which keeps the energy to 1e-3 there, at four times "
        "the cost."),
    DS_REAL("gravity", "9.81", -1e3, 1e3, "m/s^2", "Gravity, downward."),
    DS_REAL("cart_mass", "1", 1e-9, 1e9, "kg",
            "Mass of the cart; without effect where its velocity is prescribed (control = velocity)."),
    DS_LIST("mass", "", 0, 1e9, CHAIN_MAX_LINKS, "kg", "Masses of the links; empty = 1, 0.5, 0.25, ..."),
    DS_LIST("length", "1", 1e-9, 1e6, CHAIN_MAX_LINKS, "m", "Lengths of the links."),
    DS_LIST("com", "", -1e6, 1e6, CHAIN_MAX_LINKS, "m",
            "Distance of each link's centre of mass from its joint; empty = half the length."),
    DS_LIST(
        "inertia", "", 0, 1e9, CHAIN_MAX_LINKS, "kg m^2",
        "Moments of inertia about the centres of mass. Empty = 1 for a single link (the default of Nimble), "
        "m L^2/12 (rods) for more."),
    DS_HYBRID_PARAMS,
    NULL};

/* Sine and cosine of the angles of a state, those of the C library. */
typedef struct turns {
    double sine[CHAIN_MAX_LINKS], cosine[CHAIN_MAX_LINKS];
} turns;

/* An episode of stepwise control, with the data of a sweep over its steps: the states before them, their
 * actions, the adjoint of the state. The simulation steps between two of these states are repeated. */
typedef struct episode {
    chain_state *path, now, bar;
    turns *turn; /* of the states of `path` */
    double loss; /* of `now` */
    double *taken;
} episode;

typedef struct cartpole {
    ds_env_kit kit; /* first */
    chain_params p;
    chain *sim;
    chain_state start;
    int64_t loss;
    uint64_t hold; /* simulation steps per control */
    double scale[CHAIN_MAX_LINKS + 1], target[2];
    double *u, *u_bar; /* controls in SI units */
    episode *episode;  /* of each lane */
} cartpole;

/* ---- loss ---- */

static void turns_of(const cartpole *e, const chain_state *s, turns *out)
{
    for (int i = 0; i < e->p.links; i++) {
        const double theta = s->theta[i], sine = sin(theta), cosine = cos(theta); /* one call of sincos() */
        out->sine[i] = sine;
        out->cosine[i] = cosine;
    }
}

/* Distance of the tip to the target; `bar` (zeros, or NULL) receives its derivatives (0 at the target). */
static double tip_loss(const cartpole *e, const chain_state *s, const turns *t, chain_state *bar)
{
    double tip[2];
    chain_tip_at(&e->p, s->x, t->sine, t->cosine, tip);
    const double error[2] = {tip[0] - e->target[0], tip[1] - e->target[1]};
    double p[2], d = norm_of(2, error, p);
    if (bar) {
        bar->x = p[0];
        for (int i = 0; i < e->p.links; i++) {
            bar->theta[i] = -e->p.length[i] * (p[0] * t->cosine[i] + p[1] * t->sine[i]);
        }
    }
    return d;
}

/* Sum of squares of the differences of neighbours, the first one against 0 (absolute to relative angles). */
static double relative_square(int n, const double *v)
{
    double sum = 0;
    for (int i = 0; i < n; i++) {
        double d = i ? v[i] - v[i - 1] : v[i];
        sum += d * d;
    }
    return sum;
}

static void relative_square_bar(int n, const double *v, double weight, double *bar)
{
    for (int i = 0; i < n; i++) {
        double d = 2 * weight * (i ? v[i] - v[i - 1] : v[i]);
        bar[i] += d;
        if (i) {
            bar[i - 1] -= d;
        }
    }
}

/* Norm, or its square, of the state in Nimble's coordinates (relative angles). */
static double state_loss(const cartpole *e, const chain_state *s, chain_state *bar)
{
    int n = e->p.links;
    double sum = s->x * s->x + s->v * s->v + relative_square(n, s->theta) + relative_square(n, s->omega);
    double norm = sqrt(sum);
    if (bar) {
        double weight = e->loss == STATE_SQ ? 1 : norm > 0 ? 0.5 / norm : 0;
        relative_square_bar(n, s->theta, weight, bar->theta);
        relative_square_bar(n, s->omega, weight, bar->omega);
        bar->x = 2 * weight * s->x;
        bar->v = 2 * weight * s->v;
    }
    return e->loss == STATE_SQ ? sum : norm;
}

static double loss_at(const cartpole *e, const chain_state *s, const turns *t, chain_state *bar)
{
    return e->loss == TIP ? tip_loss(e, s, t, bar) : state_loss(e, s, bar);
}

static double loss_of(const cartpole *e, const chain_state *s, chain_state *bar)
{
    turns t;
    if (e->loss == TIP) {
        turns_of(e, s, &t);
    }
    return loss_at(e, s, &t, bar);
}

/* Writes the rows of the derivatives of the residuals, whose norm or square is the loss, by x, v, theta and
 * omega. Returns their number. */
enum { MOST_RESIDUALS = 2 + 2 * CHAIN_MAX_LINKS, MODEL_STATES = 2 + 2 * CHAIN_MAX_LINKS };
static size_t residual_rows(const cartpole *e, const chain_state *s, double row[][MODEL_STATES])
{
    const size_t links = (size_t)e->p.links, n = 2 + 2 * links;
    turns t;
    memset(row, 0, MOST_RESIDUALS * sizeof *row);
    if (e->loss == TIP) {
        turns_of(e, s, &t);
        row[0][0] = 1;
        for (size_t i = 0; i < links; i++) {
            row[0][2 + i] = -e->p.length[i] * t.cosine[i];
            row[1][2 + i] = -e->p.length[i] * t.sine[i];
        }
        return 2;
    }
    for (size_t i = 0; i < n; i++) { /* relative angles and rates */
        row[i][i] = 1;
        if (i >= 2 && (i - 2) % links > 0) {
            row[i][i - 1] = -1;
        }
    }
    return n;
}

/* ---- set-up ---- */

/* Defaults that depend on the variant and the number of links. */
static void set_usual(cartpole *e, int nimble)
{
    static const double torque[CHAIN_MAX_LINKS] = {10, 5, 2, 1, 0.5, 0.25, 0.125, 0.0625, 0.03125, 0.015625};
    int n = e->p.links, force = e->p.control == CHAIN_FORCE;
    e->p.h = nimble ? 0.01 : 0.02;
    e->scale[0] = force ? 10 : 2;
    for (int i = 0; i < n; i++) {
        e->scale[1 + i] = nimble ? 0 : n == 1 ? 5 : torque[i];
        e->p.mass[i] = ldexp(1, -i);
    }
    e->target[0] = n == 1 ? 1 : 0.5 * n;
    e->target[1] = n == 1 ? 0.8 : 0.5 * (n + 1);
}

static void read_links(cartpole *e, ds_param_reader *in)
{
    chain_params *p = &e->p;
    uint64_t n = (uint64_t)p->links;
    ds_param_values(in, "mass", n, p->mass);
    ds_param_values(in, "length", n, p->length);
    for (int i = 0; i < p->links; i++) {
        p->com[i] = 0.5 * p->length[i];
        p->inertia[i] = n == 1 ? 1 : p->mass[i] * p->length[i] * p->length[i] / 12;
    }
    ds_param_values(in, "com", n, p->com);
    ds_param_values(in, "inertia", n, p->inertia);
    for (int i = 0; in->status == DS_OK && i < p->links; i++) {
        if (!(p->inertia[i] + p->mass[i] * p->com[i] * p->com[i] > 0)) {
            in->status = ds_host_fail(in->host, DS_E_PARAM,
                                      "link %d has mass %g, com %g and inertia %g: nothing resists its "
                                      "rotation; set inertia above 0",
                                      i + 1, p->mass[i], p->com[i], p->inertia[i]);
        }
    }
}

static void read_cartpole(void *self, ds_param_reader *in)
{
    cartpole *e = self;
    chain_params *p = &e->p;
    int nimble = ds_param_int(in, "variant") == NIMBLE;
    uint64_t n = (uint64_t)ds_param_int(in, "links"), blocks = (uint64_t)ds_param_int(in, "steps");
    int64_t control = ds_param_int(in, "control"), loss = ds_param_int(in, "loss");
    e->hold = (uint64_t)ds_param_int(in, "hold");
    p->host = in->host;
    p->links = (int)n;
    p->control = control == AUTO ? (nimble ? CHAIN_FORCE : CHAIN_VELOCITY) : (int)control - 1;
    p->integrator = (int)ds_param_int(in, "integrator"); /* CHAIN_EXPLICIT ... in this order */
    e->loss = loss == AUTO ? (nimble ? STATE_NORM : TIP) : loss - 1;
    set_usual(e, nimble);
    ds_param_values(in, "h", 1, &p->h);
    ds_param_values(in, "scale", n + 1, e->scale);
    ds_param_values(in, "target", 2, e->target);
    ds_param_values(in, "start_theta", n, e->start.theta);
    ds_param_values(in, "start_omega", n, e->start.omega);
    e->start.x = ds_param_real(in, "start_x");
    e->start.v = ds_param_real(in, "start_v");
    p->gravity = ds_param_real(in, "gravity");
    p->cart_mass = ds_param_real(in, "cart_mass");
    read_links(e, in);
    e->kit.n = blocks * (n + 1);
    e->kit.steps = blocks * e->hold;
    e->kit.dt = p->h;
    e->kit.horizon = blocks;
    e->kit.n_obs = 2 + 3 * n;
    e->kit.control_dt = p->h * (double)e->hold;
    e->kit.lanes =
        ds_env_kit_lanes_of((blocks + 1) * (sizeof(chain_state) + sizeof(turns)) + e->kit.n * sizeof(double));
}

static void name_control(const void *self, uint64_t i, ds_env_variable *out)
{
    const cartpole *e = self;
    unsigned m = (unsigned)e->p.links + 1, step = (unsigned)i / m, j = (unsigned)i % m;
    int velocity = e->p.control == CHAIN_VELOCITY;
    if (j == 0) {
        ds_env_variable_put(out->name, "cart.%s.%u", velocity ? "velocity" : "force", step);
        ds_env_variable_put(out->group, "cart");
        ds_env_variable_unit(out, e->scale[j], velocity ? "m/s" : "N");
    } else {
        ds_env_variable_put(out->name, "joint%u.torque.%u", j, step);
        ds_env_variable_put(out->group, "joint%u", j);
        ds_env_variable_unit(out, e->scale[j], "N m");
    }
}

static uint64_t hooks_of_cartpole(const void *self, ds_hook *out)
{
    const cartpole *e = self;
    uint64_t k = 0, n = (uint64_t)e->p.links;
    ds_env_kit_hook(out, &k, DS_HOOK_INPUT, 1, "cart_position", "m", "Of the cart along the rail.");
    ds_env_kit_hook(out, &k, DS_HOOK_INPUT, 1, "cart_velocity", "m/s", "Of the cart.");
    ds_env_kit_hook(out, &k, DS_HOOK_INPUT, n, "joint_angle", "rad",
                    "Of a link against the one before (1: the vertical).");
    ds_env_kit_hook(out, &k, DS_HOOK_INPUT, n, "joint_rate", "rad/s", "Of these angles.");
    if (e->p.control == CHAIN_FORCE) {
        ds_env_kit_hook(out, &k, DS_HOOK_OUTPUT, 1, "cart_force", "N", "On the cart, with its control.");
    }
    ds_env_kit_hook(out, &k, DS_HOOK_OUTPUT, n, "joint_torque", "N m", "Of each joint, with its control.");
    return k;
}

static ds_status allocate_cartpole(void *self)
{
    cartpole *e = self;
    e->p.hybrid = &e->kit.hybrid;
    e->sim = chain_create(&e->kit.memory, &e->p, e->kit.steps);
    e->u = ds_memory_doubles(&e->kit.memory, e->kit.n);
    e->u_bar = ds_memory_doubles(&e->kit.memory, e->kit.n);
    /* One block for all lanes is large, so its pages are only taken when a lane is used. */
    const uint64_t lanes = e->kit.lanes, points = e->kit.horizon + 1;
    e->episode = ds_memory_take(&e->kit.memory, lanes, sizeof *e->episode);
    chain_state *path = ds_memory_take(&e->kit.memory, lanes * points, sizeof *path);
    turns *turn = ds_memory_take(&e->kit.memory, lanes * points, sizeof *turn);
    double *taken = ds_memory_doubles(&e->kit.memory, lanes * e->kit.n);
    for (uint64_t lane = 0; !e->kit.memory.failed && lane < lanes; lane++) {
        e->episode[lane].path = path + lane * points;
        e->episode[lane].turn = turn + lane * points;
        e->episode[lane].taken = taken + lane * e->kit.n;
    }
    e->kit.max_rows = e->sim != NULL && chain_width(e->sim) > 1 ? 0 : 1;
    return DS_OK;
}

/* ---- episode ---- */

/* Converts `count` variables, a multiple of those of a step, to controls. */
static void to_controls(const cartpole *e, uint64_t count, const double *x, double *u)
{
    uint64_t m = (uint64_t)e->p.links + 1;
    for (uint64_t i = 0; i < count; i += m) {
        for (uint64_t j = 0; j < m; j++) {
            u[i + j] = e->scale[j] * x[i + j];
        }
    }
}

static ds_status simulate_cartpole(void *self, ds_eval *io)
{
    cartpole *e = self;
    chain_state end;
    to_controls(e, e->kit.n, io->x, e->u);
    chain_weights(e->sim, io->x + e->kit.n, NULL);
    chain_simulate(e->sim, &e->start, e->kit.steps, e->u, e->hold);
    if (chain_stopped(e->sim)) {
        return DS_STOPPED;
    }
    chain_get(e->sim, e->kit.steps, &end);
    io->loss = chain_finite(e->sim, e->kit.steps) ? loss_of(e, &end, NULL) : (double)INFINITY;
    return DS_OK;
}

/* Many episodes side by side. */
static ds_status simulate_rows(void *self, uint64_t count, ds_eval *const *io)
{
    cartpole *e = self;
    const uint64_t width = chain_width(e->sim);
    for (uint64_t k = 0; k < count; k += width) {
        const lanes_group g = lanes_take(width, count - k, io + k);
        const chain_table t = {.steps = e->kit.steps, .hold = e->hold, .scale = e->scale, .x = g.x};
        chain_state end[LANES_MOST], bar[LANES_MOST];
        memset(end, 0, sizeof end);
        memset(bar, 0, sizeof bar);
        chain_lanes_simulate(e->sim, &t, &e->start, g.graded, end);
        for (uint64_t lane = 0; lane < width; lane++) {
            const double loss = loss_of(e, &end[lane], g.graded ? &bar[lane] : NULL);
            g.io[lane]->loss = all_finite(sizeof *end / sizeof(double), &end[lane]) ? loss : (double)INFINITY;
        }
        if (g.graded) {
            chain_lanes_adjoint(e->sim, &t, bar, g.grad);
        }
        if (e->p.host->should_stop(e->p.host)) {
            return DS_STOPPED;
        }
    }
    return DS_OK;
}

static int64_t bad_step_of_cartpole(void *self, ds_eval *io)
{
    (void)io;
    return chain_bad_step(((cartpole *)self)->sim);
}

static ds_status adjoint_of_cartpole(void *self, ds_eval *io)
{
    cartpole *e = self;
    chain_state end, bar = {0};
    chain_get(e->sim, e->kit.steps, &end);
    loss_of(e, &end, &bar);
    memset(io->grad + e->kit.n, 0, (io->n - e->kit.n) * sizeof *io->grad);
    chain_weights(e->sim, io->x + e->kit.n, io->grad + e->kit.n);
    chain_adjoint(e->sim, &bar, e->u_bar);
    if (chain_stopped(e->sim)) {
        return DS_STOPPED;
    }
    to_controls(e, e->kit.n, e->u_bar, io->grad); /* the same factors */
    return DS_OK;
}

/* ---- stepwise control ---- */

/* The episode of the present lane. */
static episode *present(const cartpole *e)
{
    return &e->episode[e->kit.lane];
}

static ds_status begin_cartpole(void *self, uint64_t noise_key)
{
    const cartpole *e = self;
    episode *ep = present(e);
    (void)noise_key;
    ep->now = ep->path[0] = e->start;
    turns_of(e, &ep->now, &ep->turn[0]);
    ep->loss = loss_at(e, &ep->now, &ep->turn[0], NULL);
    return DS_OK;
}

/* Position and velocity of the cart; sine, cosine and rate of the angle of each link. */
static void observe_cartpole(const void *self, double *obs)
{
    const cartpole *e = self;
    const chain_state *now = &present(e)->now;
    const turns *t = &present(e)->turn[e->kit.next];
    obs[0] = now->x;
    obs[1] = now->v;
    for (int i = 0; i < e->p.links; i++) {
        obs[2 + 3 * i] = t->sine[i];
        obs[3 + 3 * i] = t->cosine[i];
        obs[4 + 3 * i] = now->omega[i];
    }
}

/* Completes step k, which ended in ep->now. The reward is the decrease of the loss of the state. */
static void finish_step(const cartpole *e, episode *ep, uint64_t k, ds_step *io)
{
    const uint64_t m = (uint64_t)e->p.links + 1;
    const double before = ep->loss;
    memcpy(ep->taken + k * m, io->action, m * sizeof *io->action);
    ep->path[k + 1] = ep->now;
    turns_of(e, &ep->now, &ep->turn[k + 1]);
    ep->loss = loss_at(e, &ep->now, &ep->turn[k + 1], NULL);
    io->loss = ep->loss;
    io->reward = before - io->loss;
    io->cost_steps = e->hold;
    io->outcome = isfinite(io->loss) && all_finite(sizeof ep->now / sizeof(double), &ep->now)
                      ? DS_EVAL_OK
                      : DS_EVAL_DIVERGED;
}

static ds_status act_on_cartpole(void *self, uint64_t k, ds_step *io)
{
    cartpole *e = self;
    episode *ep = present(e);
    to_controls(e, (uint64_t)e->p.links + 1, io->action, e->u);
    chain_simulate(e->sim, &ep->now, e->hold, e->u, e->hold);
    if (chain_stopped(e->sim)) {
        return DS_STOPPED;
    }
    chain_get(e->sim, e->hold, &ep->now);
    finish_step(e, ep, k, io);
    return DS_OK;
}

static int stopped(const cartpole *e)
{
    return e->p.host->should_stop(e->p.host) != 0;
}

static ds_status act_on_many(void *self, uint64_t count, ds_env_kit_act *row)
{
    cartpole *e = self;
    const uint64_t width = chain_width(e->sim);
    for (uint64_t at = 0; at < count; at += width, row += width) {
        const uint64_t here = count - at < width ? count - at : width;
        chain_state start[LANES_MOST], end[LANES_MOST];
        const double *action[LANES_MOST];
        const chain_table t = {.steps = e->hold, .hold = e->hold, .apart = 1, .scale = e->scale, .x = action};
        for (uint64_t lane = 0; lane < width; lane++) {
            const ds_env_kit_act *is = &row[lane < here ? lane : here - 1];
            action[lane] = is->io.action;
            start[lane] = e->episode[is->lane].now;
        }
        memset(end, 0, sizeof end);
        chain_lanes_simulate(e->sim, &t, start, 0, end);
        for (uint64_t lane = 0; lane < here; lane++) {
            episode *ep = &e->episode[row[lane].lane];
            ep->now = end[lane];
            finish_step(e, ep, row[lane].k, &row[lane].io);
        }
        if (stopped(e)) {
            return DS_STOPPED;
        }
    }
    return DS_OK;
}

static ds_status begin_sweep(void *self, uint64_t last)
{
    episode *ep = present(self);
    (void)last;
    memset(&ep->bar, 0, sizeof ep->bar);
    return DS_OK;
}

/* Adds `weight` times the derivatives of the loss of state k to the adjoint. */
static void add_loss_bar(const cartpole *e, episode *ep, uint64_t k, double weight)
{
    chain_state bar = {0}, *to = &ep->bar;
    loss_at(e, &ep->path[k], &ep->turn[k], &bar);
    to->x += weight * bar.x;
    to->v += weight * bar.v;
    for (int i = 0; i < e->p.links; i++) {
        to->theta[i] += weight * bar.theta[i];
        to->omega[i] += weight * bar.omega[i];
    }
}

static void add_obs_bar(const cartpole *e, episode *ep, uint64_t k, const double *obs_bar)
{
    const turns *t = &ep->turn[k];
    chain_state *to = &ep->bar;
    to->x += obs_bar[0];
    to->v += obs_bar[1];
    for (int i = 0; i < e->p.links; i++) {
        const double *b = obs_bar + 2 + 3 * i;
        to->theta[i] += b[0] * t->cosine[i] - b[1] * t->sine[i];
        to->omega[i] += b[2];
    }
}

/* Before the reverse of a step: what comes from the observation and the reward of the state after it. */
static void begin_back(const cartpole *e, episode *ep, const ds_back *io)
{
    add_obs_bar(e, ep, io->step + 1, io->obs_bar);
    add_loss_bar(e, ep, io->step + 1, -io->reward_bar);
}

/* After it. */
static void finish_back(const cartpole *e, episode *ep, ds_back *io)
{
    add_loss_bar(e, ep, io->step, io->reward_bar);
    io->cost_steps = 2 * e->hold;
}

static ds_status sweep_cartpole(void *self, ds_back *io)
{
    cartpole *e = self;
    const uint64_t m = (uint64_t)e->p.links + 1;
    episode *ep = present(e);
    begin_back(e, ep, io);
    to_controls(e, m, ep->taken + io->step * m, e->u);
    chain_simulate(e->sim, &ep->path[io->step], e->hold, e->u, e->hold);
    if (!chain_stopped(e->sim)) {
        chain_adjoint(e->sim, &ep->bar, e->u_bar);
    }
    if (chain_stopped(e->sim)) {
        return DS_STOPPED;
    }
    to_controls(e, m, e->u_bar, io->action_bar); /* the same factors */
    finish_back(e, ep, io);
    return DS_OK;
}

static ds_status sweep_many(void *self, uint64_t count, ds_env_kit_sweep *row)
{
    cartpole *e = self;
    const uint64_t width = chain_width(e->sim), m = (uint64_t)e->p.links + 1;
    for (uint64_t at = 0; at < count; at += width, row += width) {
        const uint64_t here = count - at < width ? count - at : width;
        chain_state start[LANES_MOST], end[LANES_MOST], bar[LANES_MOST];
        const double *action[LANES_MOST];
        double *action_bar[LANES_MOST];
        const chain_table t = {.steps = e->hold, .hold = e->hold, .apart = 1, .scale = e->scale, .x = action};
        for (uint64_t lane = 0; lane < width; lane++) {
            const ds_env_kit_sweep *is = &row[lane < here ? lane : here - 1];
            episode *ep = &e->episode[is->lane];
            if (lane < here) {
                begin_back(e, ep, &is->io);
            }
            action[lane] = ep->taken + is->io.step * m;
            action_bar[lane] = is->io.action_bar;
            start[lane] = ep->path[is->io.step];
            bar[lane] = ep->bar;
        }
        chain_lanes_simulate(e->sim, &t, start, 1, end);
        chain_lanes_adjoint(e->sim, &t, bar, action_bar);
        for (uint64_t lane = 0; lane < here; lane++) {
            episode *ep = &e->episode[row[lane].lane];
            ep->bar = bar[lane];
            finish_back(e, ep, &row[lane].io);
        }
        if (stopped(e)) {
            return DS_STOPPED;
        }
    }
    return DS_OK;
}

/* ---- channels: the linear model; the state is x, v, theta, omega ---- */

static uint64_t model_states(const cartpole *e)
{
    return 2 + 2 * (uint64_t)e->p.links;
}

/* Not with networks: their parameters are not controls. */
static uint64_t channels_of_cartpole(const void *self)
{
    return ((const cartpole *)self)->kit.hybrid.nets == 0 ? MODEL_CHANNELS : 0;
}

static void channel_of_cartpole(const void *self, uint64_t i, ds_channel *out)
{
    const cartpole *e = self;
    linear_model_describe_as(i, e->kit.horizon, model_states(e), (uint64_t)e->p.links + 1, 1, out);
}

static void pack_state(const cartpole *e, const chain_state *s, double *out)
{
    const size_t links = (size_t)e->p.links;
    out[0] = s->x;
    out[1] = s->v;
    memcpy(out + 2, s->theta, links * sizeof *out);
    memcpy(out + 2 + links, s->omega, links * sizeof *out);
}

/* Writes row l of d state / d state, or of d state / d control, of the control step that was simulated
 * last. */
static void model_row(cartpole *e, uint64_t l, int by_state, double *row)
{
    const uint64_t links = (uint64_t)e->p.links;
    chain_state bar = {0};
    *(l == 0 ? &bar.x : l == 1 ? &bar.v : l < 2 + links ? &bar.theta[l - 2] : &bar.omega[l - 2 - links]) = 1;
    chain_adjoint(e->sim, &bar, e->u_bar);
    if (by_state) {
        pack_state(e, &bar, row);
    } else {
        to_controls(e, links + 1, e->u_bar, row); /* the same factors */
    }
}

/* The Jacobians of all control steps. The simulation of the episode is repeated after them. */
static ds_status model_steps(cartpole *e, ds_eval *io, int by_state, double *out)
{
    const uint64_t n = model_states(e), m = (uint64_t)e->p.links + 1, width = by_state ? n : m;
    chain_state *path = e->episode[0].path;
    for (uint64_t t = 0; t < e->kit.horizon; t++) {
        chain_get(e->sim, t * e->hold, &path[t]);
    }
    for (uint64_t t = 0; t < e->kit.horizon && !chain_stopped(e->sim); t++) {
        to_controls(e, m, io->x + t * m, e->u);
        chain_simulate(e->sim, &path[t], e->hold, e->u, e->hold);
        for (uint64_t l = 0; l < n; l++) {
            model_row(e, l, by_state, out + (t * n + l) * width);
        }
    }
    io->cost_steps += (2 + n) * e->kit.steps;
    if (!chain_stopped(e->sim)) {
        to_controls(e, e->kit.n, io->x, e->u);
        chain_simulate(e->sim, &e->start, e->kit.steps, e->u, e->hold);
    }
    return chain_stopped(e->sim) ? DS_STOPPED : DS_OK;
}

/* Second derivatives of the cost of the final state, by linear_model.h. */
static void model_curvature(const cartpole *e, const chain_state *end, double *out)
{
    const size_t n = (size_t)model_states(e), all = n + (size_t)e->p.links + 1;
    double row[MOST_RESIDUALS][MODEL_STATES];
    const size_t rows = residual_rows(e, end, row);
    const double loss = loss_of(e, end, NULL), weight = e->loss == STATE_SQ ? 2 : loss > 0 ? 1 / loss : 0;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++) {
            for (size_t r = 0; r < rows; r++) {
                out[i * all + j] += weight * (row[r][i] * row[r][j]);
            }
        }
    }
}

static ds_status answer_of_cartpole(void *self, ds_eval *io, ds_eval_query *ask)
{
    cartpole *e = self;
    const uint64_t n = model_states(e), T = e->kit.horizon;
    double *out = ask->out;
    chain_state end, bar = {0};
    ask->kind = DS_GRAD_NONE;
    if (ask->channel == MODEL_STATE_JACOBIAN || ask->channel == MODEL_CONTROL_JACOBIAN) {
        return model_steps(e, io, ask->channel == MODEL_STATE_JACOBIAN, out);
    }
    memset(out, 0, ask->bytes);
    for (uint64_t t = 0; t <= T && ask->channel == MODEL_STATE; t++) {
        chain_get(e->sim, t * e->hold, &bar);
        pack_state(e, &bar, out + t * n);
    }
    chain_get(e->sim, e->kit.steps, &end);
    out += T * (ask->bytes / sizeof *out / (T + 1)); /* only the last state costs */
    if (ask->channel == MODEL_COST_GRADIENT) {
        loss_of(e, &end, &bar);
        pack_state(e, &bar, out);
    } else if (ask->channel == MODEL_COST_HESSIAN) {
        model_curvature(e, &end, out);
    }
    return DS_OK;
}

/* ---- scene ---- */

/* How far the cart can move: by its prescribed velocity, or, under force, about the length of the chain. */
static double reach(const cartpole *e)
{
    double length = 0, slide = fabs(e->scale[0]) * e->p.h * (double)e->kit.steps;
    for (int i = 0; i < e->p.links; i++) {
        length += e->p.length[i];
    }
    return length + (e->p.control == CHAIN_VELOCITY ? 0.5 * slide : length);
}

static void bodies_of_cartpole(void *self, ds_scene_kit *s)
{
    const cartpole *e = self;
    static const char *const names[CHAIN_MAX_LINKS] = {"link1", "link2", "link3", "link4", "link5",
                                                       "link6", "link7", "link8", "link9", "link10"};
    const double wide = reach(e), thick = 0.04 * e->p.length[0];
    ds_scene_kit_body(s, "rail", DS_BODY_BOX, DS_ROLE_FIXED, 1, (double[4]){wide, 0.25 * thick, thick, 0});
    ds_scene_kit_body(s, "cart", DS_BODY_BOX, DS_ROLE_TOOL, 1,
                      (double[4]){5 * thick, 2 * thick, 2 * thick, 0});
    for (int i = 0; i < e->p.links; i++) {
        uint64_t b = ds_scene_kit_body(s, names[i], DS_BODY_CAPSULE, DS_ROLE_MATERIAL, 1,
                                       (double[4]){thick, e->p.length[i], 0, 0});
        ds_scene_kit_at(s, b)->variety = (uint32_t)i % 2;
    }
    ds_scene_kit_body(s, "tip", DS_BODY_SPHERE, DS_ROLE_MATERIAL, 1, (double[4]){2 * thick, 0, 0, 0});
    if (e->loss == TIP) {
        ds_scene_kit_body(s, "target", DS_BODY_SPHERE, DS_ROLE_TARGET, 1, (double[4]){2 * thick, 0, 0, 0});
        ds_scene_kit_include(s, e->target[0], e->target[1], 0, 4 * thick);
    }
    double length = 0;
    for (int i = 0; i < e->p.links; i++) {
        length += e->p.length[i];
    }
    ds_scene_kit_include(s, e->start.x, 0, 0, length + 2 * thick);
    ds_scene_kit_include(s, e->start.x, 0, 0, wide);
    s->info.box[1] = fmax(s->info.box[1], -length - 2 * thick);
    s->info.box[4] = fmin(s->info.box[4], fmax(length, e->target[1]) + 4 * thick);
    s->info.flat = 1;
}

static void place_cartpole(const void *self, uint64_t k, uint64_t b, double *out)
{
    const cartpole *e = self;
    uint64_t n = (uint64_t)e->p.links;
    chain_state s;
    double tip[2];
    chain_get(e->sim, k, &s);
    if (b == RAIL) {
        ds_scene_kit_pose(e->start.x, 0, 0, 0, out);
    } else if (b == CART) {
        ds_scene_kit_pose(s.x, 0, 0, 0, out);
    } else if (b < LINK_1 + n) {
        double x = s.x, y = 0, half = 0;
        for (uint64_t i = 0; i <= b - LINK_1; i++) { /* from the middle of a link to the middle of the next */
            double from = i ? 0.5 * e->p.length[i - 1] : 0;
            half = 0.5 * e->p.length[i];
            x -= half * sin(s.theta[i]) + (i ? from * sin(s.theta[i - 1]) : 0);
            y += half * cos(s.theta[i]) + (i ? from * cos(s.theta[i - 1]) : 0);
        }
        ds_scene_kit_pose(x, y, 0, s.theta[b - LINK_1], out);
    } else if (b == LINK_1 + n) {
        chain_tip(&e->p, &s, tip);
        ds_scene_kit_pose(tip[0], tip[1], 0, 0, out);
    } else {
        ds_scene_kit_pose(e->target[0], e->target[1], 0, 0, out);
    }
}

static const ds_scene_kit_label metrics[] = {{"tip_x", "m"}, {"tip_y", "m"}, {"distance", "m"}, {"x", "m"},
                                             {"v", "m/s"},   {"loss", ""},   {"energy", "J"},   {NULL, NULL}};

static void measure_cartpole(void *self, uint64_t k, double *out)
{
    const cartpole *e = self;
    chain_state at;
    turns t;
    chain_get(e->sim, k, &at);
    chain_tip(&e->p, &at, out);
    turns_of(e, &at, &t);
    out[2] = tip_loss(e, &at, &t, NULL);
    out[3] = at.x;
    out[4] = at.v;
    out[5] = loss_of(e, &at, NULL);
    out[6] = chain_energy(&e->p, &at);
}

/* ---- plugin ---- */

static const ds_env_table env = {.size = sizeof(cartpole),
                                 .cure = "reduce parameter h, scale or gravity, or raise mass and length",
                                 .advice = "reduce parameters steps and hold",
                                 .read = read_cartpole,
                                 .hook_points = hooks_of_cartpole,
                                 .allocate = allocate_cartpole,
                                 .limit = 1,
                                 .variable = name_control,
                                 .simulate = simulate_cartpole,
                                 .bad_step = bad_step_of_cartpole,
                                 .adjoint = adjoint_of_cartpole,
                                 .passes = 1,
                                 .rows = simulate_rows,
                                 .rows_adjoint = 1,
                                 .metrics = metrics,
                                 .bodies = bodies_of_cartpole,
                                 .place = place_cartpole,
                                 .measure = measure_cartpole,
                                 .begin = begin_cartpole,
                                 .observe = observe_cartpole,
                                 .act = act_on_cartpole,
                                 .act_many = act_on_many,
                                 .back_begin = begin_sweep,
                                 .back = sweep_cartpole,
                                 .back_many = sweep_many,
                                 .channels = channels_of_cartpole,
                                 .channel = channel_of_cartpole,
                                 .answer = answer_of_cartpole};

static const ds_desc desc = {
    BUNDLED_DESC("cartpole", "4"),
    .flags = DS_ENV_GRADIENT,
    .summary = "n-link cart-pole: throw the tip of a hanging chain to a target.",
    .description =
        "links = 1 has 200 variables, links = 3 has 400: per step (cart, torque 1, ..., torque n), each in "
        "[-1, 1], times `scale`. theta = 0 is upright. The chain does not collide with anything.\n"
        "The landscape is smooth and the gradient exact. The system is chaotic for many links and long "
        "episodes: gradients grow with the horizon.\n"
        "Stepwise control: observations x, v of the cart, then sine, cosine and rate of each link's angle; "
        "rewards are the decrease of the loss of the state.\n"
        "Channels: states x, v, angles, rates, the Jacobians of each step, derivatives of the cost.\n"
        "Metrics: tip_x, tip_y; distance of the tip to the target; x, v of the cart; loss as if the episode "
        "ended there; energy.",
    .citation = PAPER_ANTONOVA " Nimble: K. Werling et al., Fast and feature-complete differentiable "
                               "physics for articulated rigid bodies with contact, RSS 2021.",
};

DS_ENV_KIT_DEFINE(env, desc)
