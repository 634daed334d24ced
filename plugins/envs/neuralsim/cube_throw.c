/* SPDX-License-Identifier: Apache-2.0 */
/* cube_throw.c - fit a model with springs and a small network in its friction to a thrown cube that moves by
 * impulses. After E. Heiden et al., "NeuralSim: Augmenting differentiable simulators with neural networks"
 * (ICRA 2021). */
#include "engines/kit/bundled.h"
#include "engines/kit/decision.h"
#include "engines/kit/lanes.h"
#include "engines/kit/norm.h"
#include "engines/data/recording.h"
#include "engines/physics/throw/throw.h"

#include <string.h>

enum { CUBE, SEEN };

static const char cure[] = "reduce h, or the bounds of stiffness and damping";
static const char *const frictions[] = {"none", "coulomb", "tanh", "andersson", "hollars", "brown", NULL};

static const char *const fades[] = {"none", "sigmoid", "tanh", "softsign", NULL};

static const ds_param *const params[] = {
    DS_TEXT("variables", "stiffness damping network",
            "The unknown quantities, one or several of: stiffness, damping, mu, mu_static, slip, network. "
            "Without network the model has none.",
            .flags = DS_PARAM_SHAPE),
    DS_ENUM("friction", "tanh", frictions,
            "Friction of the springs before the network adds to it: mu tanh(v / slip); a constant (coulomb), "
            "or the laws of Andersson, Hollars and Brown, which also use mu_static."),
    DS_REAL("stiffness", "5000", 0, 1e7, "N m^-3/2", "Stiffness, if it is not a variable."),
    DS_REAL("damping", "5000", 0, 1e7, "N s m^-5/2", "Damping, if it is not a variable."),
    DS_REAL("mu", "0.2", 0, 10, "", "Sliding friction, if it is not a variable."),
    DS_REAL("mu_static", "0.5", 0, 10, "", "Maximal friction, if it is not a variable."),
    DS_REAL("slip", "0.01", 1e-6, 10, "m/s",
            "Velocity below which friction decreases, if it is not a variable.", .flags = DS_PARAM_LOG),
    DS_BOOL("hc_repo", "false",
            "Springs as in tiny-differentiable-simulator: if a contact opens at r < 0 m/s, -|r|^(1/20) "
            "replaces r, and the normal force may pull."),
    DS_ENUM("damping_fade", "none", fades,
            "Factor of the damping that decreases with the penetration x from 1/2, with a = fade_rate: "
            "sigmoid 1/(1 + exp(a x)), tanh 1/2 - tanh(a x/2)/2, which is the same number, softsign 1/2 - a "
            "x/(2 + 2 a x)."),
    DS_REAL("fade_rate", "0.01", 0, 1e6, "1/m",
            "Rate of damping_fade. With 0.01, the value of tiny-differentiable-simulator, the factor is 1/2 "
            "at any depth of this cube."),
    DS_REAL("network_force", "1", 1e-3, 1e6, "N",
            "Unit of the normal force and of the friction of the network.", .flags = DS_PARAM_LOG),
    DS_REAL("weight_cost", "1", 0, 1e6, "", "Weight in the loss of the squared weights of the network."),
    DS_REAL("target_mu", "0.2", 0, 10, "", "Friction of the target, which moves by impulses."),
    DS_LIST("position", "0, 0, 1.2", -100, 100, 3, "m", "Centre of the cube at the start; z is up."),
    DS_LIST("turn", "0.8, 1.1, 0.9", -100, 100, 3, "rad",
            "Yaw, pitch and roll at the start: turns about z, then y, then x of the cube."),
    DS_LIST("velocity", "0.7, 5, 0", -100, 100, 3, "m/s", "Velocity at the start."),
    DS_LIST("spin", "0, 0, 0", -100, 100, 3, "rad/s", "Angular velocity at the start."),
    DS_REAL("h", "0.01", 1e-5, 0.1, "s", "Time step; with a recording it follows from its rate."),
    RECORDED_PARAMS(
        "1 2 3 4 5 6 7",
        "For parameter file: names or numbers (from 1) of 3 columns: position of the centre (z up); of 7: "
        "quaternion x, y, z, w, then position; or of 13: then angular velocity and velocity, all in the "
        "world frame. The first sample is the start, as far as it was recorded.",
        "100", "For parameter file without time_column: samples per second.", "300",
        "Number of compared states, with the start; without file h apart."),
    DS_INT("steps_per_sample", "1", 1, 1000, "", "For parameter file: steps from one sample to the next."),
    DS_HYBRID_PARAMS,
    NULL};

static const decision physical[] = {DECISION("stiffness", "N m^-3/2", 0, 20000, 0),
                                    DECISION("damping", "N s m^-5/2", 0, 20000, 0),
                                    DECISION("mu", "", 0, 1, 0.2), DECISION("mu_static", "", 0, 1, 0.5),
                                    DECISION("slip", "m/s", 0.001, 0.5, 0.01)};

typedef struct cube {
    ds_env_kit kit; /* must be first */
    throw_motion motion;
    decision_set decisions;
    decision offered[LAW_CONSTANTS];
    char name[LAW_WEIGHTS][32];
    double start[THROW_STATES];
    double *target;  /* [steps + 1][THROW_STATES]; NAN if not recorded */
    double *bar;     /* same shape */
    uint64_t fitted; /* number of first steps that are compared; the others are held out */
    /* states of the last motion; fewer than in a scene if it diverges after the fitted steps */
    uint64_t known;
    int gaps;                      /* 1: a target may be NAN */
    double squares, place_squares; /* sums over the frames so far; the second for rmse */
    uint64_t places;               /* number of terms in it */
    double value[DECISIONS_MAX], value_bar[DECISIONS_MAX];
    double root_cost; /* sqrt of weight_cost; 0 without network */
} cube;

/* ---- set-up ---- */

static void read_start(cube *e, ds_param_reader *in)
{
    double turn[3] = {0}, s[3], c[3];
    ds_param_values(in, "turn", 3, turn);
    ds_param_values(in, "position", 3, e->start + THROW_PLACE);
    ds_param_values(in, "velocity", 3, e->start + THROW_VELOCITY);
    ds_param_values(in, "spin", 3, e->start + THROW_SPIN);
    for (int i = 0; i < 3; i++) {
        s[i] = sin(turn[i] / 2);
        c[i] = cos(turn[i] / 2);
    }
    e->start[0] = s[2] * c[1] * c[0] - c[2] * s[1] * s[0];
    e->start[1] = c[2] * s[1] * c[0] + s[2] * c[1] * s[0];
    e->start[2] = c[2] * c[1] * s[0] - s[2] * s[1] * c[0];
    e->start[3] = c[2] * c[1] * c[0] + s[2] * s[1] * s[0];
}

static void read_decisions(cube *e, ds_param_reader *in)
{
    const ds_network *net = &e->motion.law.source.net[0].net;
    memcpy(e->offered, physical, sizeof physical);
    for (uint32_t i = 0; i < LAW_WEIGHTS; i++) {
        char own[24];
        ds_network_name(net, i, own, sizeof own);
        snprintf(e->name[i], sizeof e->name[i], "network.%s", own);
        e->offered[LAW_NETWORK + i] = (decision)DECISION(e->name[i], "", -1, 1, 0);
    }
    for (int i = 0; i < LAW_NETWORK; i++) {
        e->decisions.truth[i] = ds_param_real(in, physical[i].name);
    }
    e->decisions.offered = e->offered;
    e->decisions.offers = LAW_CONSTANTS;
    if (in->status == DS_OK) {
        decision_pick(&e->decisions, in);
    }
    for (uint64_t i = 0; i < e->decisions.n; i++) {
        e->motion.law.network |= e->decisions.at[i] >= LAW_NETWORK;
    }
}

enum { WHERE = 3, POSE = 7 }; /* columns of a recording, or a whole state */

/* Writes the recorded numbers of a sample in the layout of a state; quaternions continue without a change of
 * sign. */
static void take_sample(const double *from, uint64_t columns, const double *before, double *to)
{
    double along = 0;
    if (columns == WHERE) {
        memcpy(to + THROW_PLACE, from, WHERE * sizeof *to);
        return;
    }
    memcpy(to, from, columns * sizeof *to);
    for (int i = 0; i < 4; i++) {
        along += before[i] * to[i];
    }
    for (int i = 0; i < 4 && along < 0; i++) {
        to[i] = -to[i];
    }
}

/* Sets the start, as far as it was recorded. */
static ds_status start_of_recording(cube *e, const recorded *r, const ds_host *host)
{
    const double *first = r->data.value;
    double norm = 0;
    for (uint64_t i = 0; i < r->data.columns; i++) {
        if (isnan(first[i])) {
            return ds_host_fail(host, DS_E_DATA,
                                "the first sample of the recording is incomplete: choose another first_row");
        }
    }
    if (r->data.columns == WHERE) {
        memcpy(e->start + THROW_PLACE, first, WHERE * sizeof *first);
        return DS_OK;
    }
    memcpy(e->start, first, r->data.columns * sizeof *first);
    for (int i = 0; i < 4; i++) {
        norm += e->start[i] * e->start[i];
    }
    if (!(fabs(norm - 1) < 0.02)) {
        return ds_host_fail(
            host, DS_E_DATA,
            "columns 1 to 4 of the recording have length %.4g at the start: a quaternion has length 1",
            sqrt(norm));
    }
    for (int i = 0; i < 4; i++) {
        e->start[i] /= sqrt(norm);
    }
    return DS_OK;
}

/* Sets target and start from a recording; `each` steps lead from sample to sample. */
static ds_status take_recording(cube *e, ds_param_reader *in, const recorded *r, uint64_t each)
{
    const uint64_t columns = r->data.columns;
    const double *before = e->start;
    ds_status status = start_of_recording(e, r, in->host);
    for (uint64_t k = 0; status == DS_OK && k < (e->kit.steps + 1) * THROW_STATES; k++) {
        e->target[k] = NAN;
    }
    for (uint64_t i = 0; status == DS_OK && i < r->data.rows; i++) {
        double *to = e->target + i * each * THROW_STATES;
        take_sample(r->data.value + i * columns, columns, before, to);
        before = columns != WHERE && !isnan(to[0]) ? to : before;
    }
    e->gaps = 1;
    return status;
}

static void make_target(cube *e, ds_param_reader *in, uint64_t samples, uint64_t held_out)
{
    ds_memory *m = &e->kit.memory;
    const double mu = ds_param_real(in, "target_mu"), rate = ds_param_real(in, "sample_rate");
    const int file = *ds_param_text(in, "file") != '\0';
    const uint64_t each = file ? (uint64_t)ds_param_int(in, "steps_per_sample") : 1;
    double h = ds_param_real(in, "h");
    recorded r = {.dt = 0};
    if (in->status == DS_OK && (samples < 2 || (file && !(rate > 0)))) {
        in->status = ds_host_fail(in->host, DS_E_PARAM, "parameter %s",
                                  samples < 2 ? "n_samples: give 2 or more, the first is the start"
                                              : "sample_rate: give a number above 0");
    }
    if (file && in->status == DS_OK && recorded_open(&r, in, rate, samples, held_out) == DS_OK) {
        h = r.dt / (double)each;
        if (r.data.columns != WHERE && r.data.columns != POSE && r.data.columns != THROW_STATES) {
            in->status =
                ds_host_fail(in->host, DS_E_PARAM, "parameter columns names %llu columns; give 3, 7 or 13",
                             (unsigned long long)r.data.columns);
        }
    }
    e->fitted = (samples - 1) * each;
    const uint64_t steps = (samples + held_out - 1) * each;
    e->kit.steps = steps;
    e->kit.cost = e->fitted;
    if (in->status == DS_OK && throw_open(&e->motion, m, h, steps)) {
        e->motion.steps = e->fitted; /* a scene continues after them */
        ds_memory_each(m, (steps + 1) * THROW_STATES, (double **const[]){&e->target, &e->bar, NULL});
    }
    if (in->status == DS_OK && !m->failed && file) {
        in->status = take_recording(e, in, &r, each);
    } else if (in->status == DS_OK && !m->failed) {
        throw_impulses(h, steps, mu, e->start, e->target);
    }
    recorded_close(&r);
}

static void read_cube(void *self, ds_param_reader *in)
{
    cube *e = self;
    const double cost = ds_param_real(in, "weight_cost");
    const uint64_t samples = (uint64_t)ds_param_int(in, "n_samples"),
                   held_out = (uint64_t)ds_param_int(in, "held_out");
    contact_law_open(&e->motion.law, (friction_law)ds_param_int(in, "friction"), 0,
                     ds_param_real(in, "network_force"));
    e->motion.law.kind.suction = ds_param_int(in, "hc_repo") != 0;
    e->motion.law.kind.fade = (law_fade)ds_param_int(in, "damping_fade");
    e->motion.law.kind.fade_rate = ds_param_real(in, "fade_rate");
    read_start(e, in);
    read_decisions(e, in);
    make_target(e, in, samples, held_out);
    e->root_cost = e->motion.law.network ? sqrt(cost) : 0;
    e->kit.n = e->decisions.n;
    e->kit.dt = e->motion.h;
}

static uint64_t hooks_of_cube(const void *self, ds_hook *out)
{
    (void)self;
    memcpy(out, contact_law_hook, sizeof contact_law_hook);
    return LAW_HOOKS;
}

static ds_status allocate_cube(void *self)
{
    cube *e = self;
    if (e->kit.hybrid.nets > 0) {
        e->motion.law.hybrid = &e->kit.hybrid;
        e->motion.law.tape = ds_memory_doubles(&e->kit.memory, e->kit.hybrid.tape);
    }
    throw_lanes_open(&e->motion, &e->kit.memory);
    e->kit.max_rows = e->motion.lanes != NULL ? 0 : 1;
    return DS_OK;
}

static void range_of_cube(const void *self, uint64_t i, double *lower, double *upper, double *start)
{
    decision_range(&((const cube *)self)->decisions, i, lower, upper, start);
}

static void name_of_cube(const void *self, uint64_t i, ds_env_variable *out)
{
    decision_name(&((const cube *)self)->decisions, i, out);
}

/* ---- an episode ---- */

static uint64_t numbers_of(const cube *e)
{
    return (e->fitted + 1) * THROW_STATES;
}

/* out[THROW_STATES] = simulated minus target, 0 if not recorded. */
static void errors_of(const cube *e, uint64_t state, double *out)
{
    const double *is = throw_state(&e->motion, state), *should = e->target + state * THROW_STATES;
    for (int i = 0; i < THROW_STATES; i++) {
        out[i] = is[i] - should[i];
    }
    for (int i = 0; e->gaps && i < THROW_STATES; i++) {
        out[i] = isnan(should[i]) ? 0 : out[i];
    }
}

/* numbers[(fitted + 1) THROW_STATES]: sets those that were not recorded to 0. */
static void leave_out(const cube *e, double *numbers)
{
    for (uint64_t k = 0; e->gaps && k < (e->fitted + 1) * THROW_STATES; k++) {
        numbers[k] = isnan(e->target[k]) ? 0 : numbers[k];
    }
}

/* Adds the squared errors of a state one after the other. */
static double add_squares(const cube *e, uint64_t state, double sum)
{
    double error[THROW_STATES];
    errors_of(e, state, error);
    for (int i = 0; i < THROW_STATES; i++) {
        sum += error[i] * error[i];
    }
    return sum;
}

/* Adds the squared weights of the network. */
static double add_weights(const cube *e, const double *value, double sum)
{
    for (int i = LAW_NETWORK; i < LAW_CONSTANTS; i++) {
        const double r = e->root_cost * value[i];
        sum += r * r;
    }
    return sum;
}

static ds_status simulate_cube(void *self, ds_eval *io)
{
    cube *e = self;
    decision_values(&e->decisions, io->x, e->value);
    e->motion.law.w = io->x + e->kit.n;
    io->bad_step = throw_simulate(&e->motion, e->value, e->start);
    e->known = e->fitted + 1;
    if (io->bad_step < 0 && (io->want & DS_WANT_SCENE) != 0) {
        const int64_t lost = throw_go_on(&e->motion, e->kit.steps);
        e->known = lost < 0 ? e->kit.steps + 1 : (uint64_t)lost + 1;
    }
    io->loss = io->bad_step >= 0 ? HUGE_VAL : 0;
    for (uint64_t k = 0; io->bad_step < 0 && k <= e->fitted; k++) {
        io->loss = add_squares(e, k, io->loss);
    }
    io->loss = add_weights(e, e->value, io->loss);
    return DS_OK;
}

/* simulate_cube() has set it. */
static int64_t bad_step_of_cube(void *self, ds_eval *io)
{
    (void)self;
    return io->bad_step;
}

/* Adds the derivatives of the squared weights. */
static void add_weights_bar(const cube *e, const double *value, double *value_bar)
{
    for (int i = LAW_NETWORK; e->motion.law.network && i < LAW_CONSTANTS; i++) {
        value_bar[i] += e->root_cost * (2 * e->root_cost * value[i]);
    }
}

/* Many motions side by side. */
static ds_status simulate_rows(void *self, uint64_t count, ds_eval *const *io)
{
    cube *e = self;
    const uint64_t width = e->motion.lanes->width;
    double value[LANES_MOST][LAW_CONSTANTS], bar[LANES_MOST][LAW_CONSTANTS], loss[LANES_MOST];
    const double *theta[LANES_MOST];
    double *theta_bar[LANES_MOST];
    for (uint64_t k = 0; k < count; k += width) {
        const lanes_group g = lanes_take(width, count - k, io + k);
        for (uint64_t lane = 0; lane < width; lane++) {
            decision_values(&e->decisions, g.x[lane], value[lane]);
            theta[lane] = value[lane];
            theta_bar[lane] = bar[lane];
        }
        throw_lanes_simulate(&e->motion, theta, e->start, e->target, loss);
        for (uint64_t lane = 0; lane < width; lane++) {
            g.io[lane]->loss = add_weights(e, value[lane], loss[lane]);
        }
        if (!g.graded) {
            continue;
        }
        memset(bar, 0, sizeof bar);
        throw_lanes_adjoint(&e->motion, theta, theta_bar);
        for (uint64_t lane = 0; lane < width; lane++) {
            const int finite = all_finite(LAW_CONSTANTS, bar[lane]);
            add_weights_bar(e, value[lane], bar[lane]);
            decision_gather(&e->decisions, value[lane], bar[lane], g.grad[lane]);
            g.grad[lane][0] = finite ? g.grad[lane][0] : (double)NAN; /* as reverse_product() */
        }
    }
    return DS_OK;
}

/* out[n] = J' w; w NULL: the gradient of the loss. */
static void reverse_product(cube *e, const double *w, double *out)
{
    const uint64_t numbers = numbers_of(e);
    memset(e->value_bar, 0, sizeof e->value_bar);
    memset(out + e->kit.n, 0, e->kit.hybrid.variables * sizeof *out);
    e->motion.law.w_bar = out + e->kit.n;
    if (w != NULL) {
        memcpy(e->bar, w, numbers * sizeof *w);
        leave_out(e, e->bar);
    }
    for (uint64_t k = 0; k <= e->fitted && w == NULL; k++) {
        double *bar = e->bar + k * THROW_STATES;
        errors_of(e, k, bar);
        for (int i = 0; i < THROW_STATES; i++) {
            bar[i] *= 2;
        }
    }
    const int finite = throw_adjoint(&e->motion, e->bar, e->value_bar);
    for (uint64_t i = 0; w != NULL && e->motion.law.network && i < LAW_WEIGHTS; i++) {
        e->value_bar[LAW_NETWORK + i] += e->root_cost * w[numbers + i];
    }
    if (w == NULL) {
        add_weights_bar(e, e->value, e->value_bar);
    }
    decision_gather(&e->decisions, e->value, e->value_bar, out);
    if (!finite) {
        out[0] = (double)NAN; /* the kit reports it */
    }
}

static ds_status adjoint_of_cube(void *self, ds_eval *io)
{
    reverse_product(self, NULL, io->grad);
    return DS_OK;
}

/* With a cost of the weights of wired networks the loss is not a sum of these squares. */
static uint64_t channels_of_cube(const void *self)
{
    const ds_hybrid *h = &((const cube *)self)->kit.hybrid;
    return h->l1 > 0 || h->l2 > 0 ? 0 : 1;
}

static void channel_of_cube(const void *self, uint64_t i, ds_channel *out)
{
    const cube *e = self;
    (void)i;
    out->role = DS_CHANNEL_RESIDUAL;
    out->ops = DS_CAN(DS_QUERY_VALUE) | DS_CAN(DS_QUERY_JV) | DS_CAN(DS_QUERY_JTV);
    out->shape[0] = numbers_of(e) + (e->motion.law.network ? LAW_WEIGHTS : 0);
    out->name = "residuals";
    out->doc = "States minus those of the target, then the weights of the network, scaled as in the loss.";
}

static ds_status answer_of_cube(void *self, ds_eval *io, ds_eval_query *ask)
{
    cube *e = self;
    double *out = ask->out, value_dot[DECISIONS_MAX];
    const uint64_t numbers = numbers_of(e), weights = e->motion.law.network ? LAW_WEIGHTS : 0;
    if (ask->op == DS_QUERY_VALUE) {
        for (uint64_t k = 0; k <= e->fitted; k++) {
            errors_of(e, k, out + k * THROW_STATES);
        }
        for (uint64_t i = 0; i < weights; i++) {
            out[numbers + i] = e->root_cost * e->value[LAW_NETWORK + i];
        }
        return DS_OK;
    }
    io->cost_steps += 2 * e->motion.steps;
    if (ask->op == DS_QUERY_JTV) {
        reverse_product(e, ask->v, out);
        ask->kind = DS_GRAD_ADJOINT;
        return DS_OK;
    }
    decision_spread(&e->decisions, e->value, ask->v, value_dot);
    e->motion.law.w_dot = ask->v + e->kit.n;
    const int finite = throw_tangent(&e->motion, value_dot, e->bar);
    leave_out(e, e->bar);
    memcpy(out, e->bar, numbers * sizeof *out);
    if (!finite) {
        out[0] = (double)NAN;
    }
    for (uint64_t i = 0; i < weights; i++) {
        out[numbers + i] = e->root_cost * value_dot[LAW_NETWORK + i];
    }
    ask->kind = DS_GRAD_FORWARD;
    return DS_OK;
}

/* ---- scene and metrics (y is up) ---- */

/* `own` gets the simulated numbers where nothing was recorded; the last state is used if a held-out motion
 * diverged. */
static const double *state_of(const cube *e, uint64_t k, uint64_t body, double own[THROW_STATES])
{
    const double *is = throw_state(&e->motion, k < e->known ? k : e->known - 1);
    const double *should = e->target + k * THROW_STATES;
    for (int i = 0; i < THROW_STATES; i++) {
        own[i] = body == CUBE || isnan(should[i]) ? is[i] : should[i];
    }
    return own;
}

static void place_cube(const void *self, uint64_t k, uint64_t b, double *out)
{
    double own[THROW_STATES];
    const double *s = state_of(self, k, b, own);
    const double pose[7] = {s[THROW_PLACE], s[THROW_PLACE + 2], -s[THROW_PLACE + 1], s[3], s[0], s[2], -s[1]};
    memcpy(out, pose, sizeof pose);
}

static void bodies_of_cube(void *self, ds_scene_kit *s)
{
    const cube *e = self;
    const double half = throw_corner + throw_radius, size[4] = {half, half, half, 0};
    ds_scene_kit_body(s, "cube", DS_BODY_BOX, DS_ROLE_MATERIAL, 1, size);
    ds_scene_kit_body(s, "recorded", DS_BODY_BOX, DS_ROLE_TOOL, 1, size);
    for (uint64_t k = 0; k <= e->kit.steps; k++) {
        const double *at = e->target + k * THROW_STATES + THROW_PLACE;
        if (!isnan(at[0] + at[1] + at[2])) {
            ds_scene_kit_include(s, at[0], at[2], -at[1], 0.9);
        }
    }
    s->info.box[1] = fmax(s->info.box[1], -0.1);
    s->info.ground = 0;
}

static const ds_scene_kit_label metrics[] = {{"x", "m"},          {"y", "m"},          {"z", "m"},
                                             {"recorded_x", "m"}, {"recorded_y", "m"}, {"recorded_z", "m"},
                                             {"distance", "m"},   {"error_sum", ""},   {"held_out", ""},
                                             {"rmse", "m"},       {NULL, NULL}};

/* Adds frame k to the sums; the sums of positions restart at the first held-out frame. */
static void add_frame(cube *e, uint64_t k)
{
    const double *should = e->target + k * THROW_STATES + THROW_PLACE;
    double error[THROW_STATES];
    if (k == 0) {
        e->squares = 0;
    }
    if (k == 0 || k == e->fitted + 1) {
        e->place_squares = 0;
        e->places = 0;
    }
    errors_of(e, k, error);
    e->squares = add_squares(e, k, e->squares);
    if (!isnan(should[0] + should[1] + should[2])) {
        e->place_squares += error[THROW_PLACE] * error[THROW_PLACE] +
                            error[THROW_PLACE + 1] * error[THROW_PLACE + 1] +
                            error[THROW_PLACE + 2] * error[THROW_PLACE + 2];
        e->places++;
    }
}

/* Frames without a state are NAN. */
static void measure_cube(void *self, uint64_t k, double *out)
{
    cube *e = self;
    const int there = k < e->known;
    double square = 0;
    for (int d = 0; d < 3; d++) {
        out[d] = there ? throw_state(&e->motion, k)[THROW_PLACE + d] : (double)NAN;
        out[3 + d] = e->target[k * THROW_STATES + THROW_PLACE + (uint64_t)d];
        square += (out[d] - out[3 + d]) * (out[d] - out[3 + d]);
    }
    if (there) {
        add_frame(e, k);
    }
    out[6] = sqrt(square);
    out[7] = there ? e->squares : (double)NAN;
    out[8] = k > e->fitted;
    out[9] = there && e->places > 0 ? sqrt(e->place_squares / (double)e->places) : (double)NAN;
}

/* ---- plugin ---- */

static const ds_env_table env = {.size = sizeof(cube),
                                 .advice = "reduce n_samples",
                                 .cure = cure,
                                 .read = read_cube,
                                 .hook_points = hooks_of_cube,
                                 .allocate = allocate_cube,
                                 .range = range_of_cube,
                                 .variable = name_of_cube,
                                 .simulate = simulate_cube,
                                 .bad_step = bad_step_of_cube,
                                 .rows = simulate_rows,
                                 .rows_adjoint = 1,
                                 .adjoint = adjoint_of_cube,
                                 .passes = 2,
                                 .metrics = metrics,
                                 .bodies = bodies_of_cube,
                                 .place = place_cube,
                                 .measure = measure_cube,
                                 .channels = channels_of_cube,
                                 .channel = channel_of_cube,
                                 .answer = answer_of_cube};

static const ds_desc desc = {
    BUNDLED_DESC("cube_throw", "3"), .flags = DS_ENV_GRADIENT,
    .summary =
        "Fit contact by springs and a small network to a thrown cube that moves by impulses (NeuralSim).",
    .description =
        "A cube of 10 kg with eight spheres at its corners is thrown onto a plane and tumbles for 3 s. The "
        "target moves by impulses (linear complementarity, friction 0.2). The model has springs after Hunt "
        "and Crossley, smooth friction, and a network of 22 weights that adds to the friction, from normal "
        "force and sliding speed. Variables: stiffness, damping and the weights, or other constants of the "
        "springs. The loss is the sum of squared errors of quaternion, position, angular velocity and "
        "velocity over all samples, plus the squared weights.\nParameter residual adds further networks to "
        "the friction or the normal force of each contact; their inputs are normal force, sliding speed, "
        "depth and its rate.\nThe target may be a recording (parameter file): positions, with quaternions, "
        "or whole states. The first sample is the start; missing numbers do not count. The held_out samples "
        "after the compared ones are only predicted.\nTo predict another throw, set the parameters position, "
        "turn, velocity and spin and give x of another run.\nThe loss jumps where a corner meets the plane a "
        "step earlier; in between the gradient is exact.\nChannel: residuals with J v and J' w. Metrics: "
        "position of the cube and of the target, their distance, the sum of squared errors so far, held_out, "
        "and rmse of the position so far, over the held-out frames from their first on.",
    .citation =
        "E. Heiden, D. Millard, E. Coumans, Y. Sheng, G. S. Sukhatme: NeuralSim: Augmenting differentiable "
        "simulators with neural networks. ICRA 2021, arXiv:2011.04217."};

DS_ENV_KIT_DEFINE(env, desc)
