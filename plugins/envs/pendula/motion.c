/* SPDX-License-Identifier: Apache-2.0 */
/* motion.c - double_pendulum by its angles: a simulated motion is compared with a recorded one (model.c). The
 * motion carries the residuals and their exact Jacobian along. */
#include "engines/kit/lanes.h"
#include "engines/kit/norm.h"
#include "engines/physics/pendulum/compound.h"
#include "model.h"

#include <string.h>

enum { K = COMPOUND_VARIABLES, S = COMPOUND_STATES, SLOPES = COMPOUND_SLOPES };
enum { FIRST, SECOND, BOBS, SEEN };

static const char cure[] = "raise steps_per_sample";

typedef struct motion {
    ds_env_kit kit; /* must be first */
    model model;
    compound now;
    int onestep;
    double *y, *y_dot; /* [rows][S], [rows][SLOPES] */
    double *got;       /* [rows][quantities] */
    double x[K];
    uint64_t seen;    /* number of known states of y */
    compound_net net; /* with networks in the joints */
    double *bar;      /* the same, [rows][S] */
    const compound_lanes *lanes;
    double *lanes_y, *lanes_dot; /* of motions side by side */
} motion;

/* ---- set-up ---- */

static void read_motion(void *self, ds_param_reader *in)
{
    motion *e = self;
    model_read(&e->model, in, &e->kit.memory);
    e->onestep = ds_param_int(in, "rollout") == 1;
    e->kit.n = e->model.n;
    e->kit.steps = e->model.rows - 1;
    e->kit.dt = e->model.dt;
    e->kit.grad_kind = DS_GRAD_FORWARD;
    e->kit.cost = (e->model.fitted - 1) * e->model.substeps;
    if (in->status == DS_OK && e->onestep && e->model.variant == VARIANT_INITIAL) {
        in->status = ds_host_fail(
            in->host, DS_E_PARAM,
            "rollout = onestep needs a recording, which variant = initial does not have; use rollout = full");
    }
}

static uint64_t hooks_of_motion(const void *self, ds_hook *out)
{
    const int scaled = ((const motion *)self)->model.variant == VARIANT_RECORDING ||
                       ((const motion *)self)->model.variant == VARIANT_SYNTHETIC;
    uint64_t k = 0;
    ds_env_kit_hook(
        out, &k, DS_HOOK_INPUT, 2, "joint_angle", "rad",
        "Angle of the first arm from the downward vertical, and of the second arm from the first.");
    ds_env_kit_hook(out, &k, DS_HOOK_INPUT, 2, "joint_rate", "rad/s", "Rates of these angles.");
    ds_env_kit_hook(
        out, &k, DS_HOOK_OUTPUT, 2, "joint_torque", scaled ? "1/s^2" : "N m",
        scaled ? "Torques of the joints, divided by C like all constants; start as the damping torques."
               : "Torques of the joints; start as the damping torques.");
    return k;
}

enum { LANES_ROWS = 4096 }; /* longer motions have no lanes: they would not fit into caches */

static void open_lanes(motion *e)
{
    const uint64_t states = e->model.fitted * S;
    e->kit.max_rows = 1;
    if (e->kit.hybrid.nets > 0 || e->onestep || e->model.fitted > LANES_ROWS) {
        return;
    }
    e->lanes = compound_lanes_find();
    e->lanes_y = lanes_memory(&e->kit.memory, states, e->lanes->width);
    e->lanes_dot = lanes_memory(&e->kit.memory, states * e->model.n, e->lanes->width);
    e->kit.max_rows = 0;
}

static ds_status allocate_motion(void *self)
{
    motion *e = self;
    ds_memory *m = &e->kit.memory;
    const size_t rows = e->model.rows;
    if (e->kit.hybrid.nets > 0) {
        e->bar = ds_memory_doubles(m, rows * S);
        if (!compound_net_open(&e->net, m, &e->kit.hybrid, e->model.dt / (double)e->model.substeps,
                               e->onestep ? 1 : rows - 1, e->model.substeps)) {
            return DS_E_NOMEM;
        }
        e->kit.grad_kind = DS_GRAD_ADJOINT;
    }
    e->y = ds_memory_doubles(m, rows * S);
    e->y_dot = ds_memory_doubles(m, rows * SLOPES);
    e->got = ds_memory_doubles(m, rows * model_quantities(&e->model));
    open_lanes(e);
    return DS_OK;
}

static void range_of_motion(const void *self, uint64_t i, double *lower, double *upper, double *start)
{
    const model_variable *v = &((const motion *)self)->model.variable[i];
    *lower = v->lower;
    *upper = v->upper;
    *start = v->start;
}

static void name_of_motion(const void *self, uint64_t i, ds_env_variable *out)
{
    const model_variable *v = &((const motion *)self)->model.variable[i];
    ds_env_variable_put(out->name, "%s", v->name);
    ds_env_variable_put(out->unit, "%s", v->unit);
    ds_env_variable_put(out->group, "%s", v->group);
}

/* ---- an episode ---- */

/* Starts the motion at the sample before sample i; returns 0 if that is not known. */
static int begin_onestep(motion *e, uint64_t i)
{
    const double *from = e->model.given + (i > 0 ? i - 1 : 0) * S;
    memcpy(e->now.start, from, sizeof e->now.start);
    return i > 0 && isfinite(from[0]) && isfinite(from[1]) && isfinite(from[2]) && isfinite(from[3]);
}

/* Simulates every sample from the one before, if that is known. w: of the networks, or NULL. */
static int64_t run_onestep(motion *e, const double *w, uint64_t rows, int derivatives)
{
    const double h = e->model.dt / (double)e->model.substeps;
    memset(e->now.start_dot, 0, sizeof e->now.start_dot);
    for (uint64_t i = 0; i < rows; i++) {
        double y[2 * S], y_dot[2 * SLOPES] = {0};
        const int known = begin_onestep(e, i);
        if (known && (w != NULL ? compound_net_run(&e->net, &e->now, w, 1, y)
                                : compound_run(&e->now, h, 1, e->model.substeps, y,
                                               derivatives ? y_dot : NULL)) >= 0) {
            return (int64_t)i;
        }
        for (int k = 0; k < S; k++) { /* a sample without one before it does not count */
            e->y[i * S + (uint64_t)k] = known ? y[S + k] : e->model.given[i * S + (uint64_t)k];
        }
        if (derivatives) {
            memcpy(e->y_dot + i * SLOPES, y_dot + SLOPES, sizeof y_dot / 2);
        }
    }
    return -1;
}

/* The loss of the motion in e->y, of which row `lost`, unless it is negative, is not finite. */
static void compare(motion *e, int64_t lost, uint64_t rows, ds_eval *io)
{
    const model *m = &e->model;
    e->seen = lost >= 0 ? (uint64_t)lost : rows;
    if (e->seen < m->fitted) {
        io->bad_step = lost - 1;
        io->loss = HUGE_VAL;
        return;
    }
    for (uint64_t i = 0; i < e->seen; i++) {
        model_observe(m, e->y + i * S, 1, e->got + i * m->fit.quantities);
    }
    io->loss = fit_residuals(&m->fit, e->got, NULL);
}

static ds_status simulate_motion(void *self, ds_eval *io)
{
    motion *e = self;
    const model *m = &e->model;
    const uint64_t rows = (io->want & DS_WANT_SCENE) != 0 ? m->rows : m->fitted;
    int derivatives = (io->want & DS_WANT_GRAD) != 0;
    for (uint64_t i = 0; i < io->queries; i++) {
        derivatives |= io->query[i]->op != DS_QUERY_VALUE;
    }
    memcpy(e->x, io->x, m->n * sizeof *e->x);
    model_set(m, io->x, &e->now);
    const double *w = e->kit.hybrid.nets > 0 ? io->x + m->n : NULL;
    int64_t lost = e->onestep  ? run_onestep(e, w, rows, derivatives)
                   : w != NULL ? compound_net_run(&e->net, &e->now, w, rows - 1, e->y)
                               : compound_run(&e->now, m->dt / (double)m->substeps, rows - 1, m->substeps,
                                              e->y, derivatives ? e->y_dot : NULL);
    compare(e, lost, rows, io);
    return DS_OK;
}

/* Weight of a residual; 0 if nothing was recorded. */
static double weight_of(const model *m, uint64_t k)
{
    return isnan(m->fit.target[k]) ? 0 : m->fit.weight[k];
}

/* out[n] = J' w; w NULL: the gradient of the loss. */
static void reverse_product(motion *e, const double *w, double *out)
{
    const model *m = &e->model;
    const uint64_t quantities = m->fit.quantities;
    double sum[K] = {0};
    for (uint64_t i = 0; i < m->fitted; i++) {
        for (uint64_t q = 0; q < quantities; q++) {
            const uint64_t k = i * quantities + q;
            const double bar = w != NULL ? w[k] : 2 * m->fit.weight[k] * fit_error(&m->fit, i, q, e->got[k]);
            const double weighted = weight_of(m, k) * bar;
            double by[K];
            model_observe_slopes(m, q, e->y_dot + i * SLOPES, by);
            for (uint64_t v = 0; v < K; v++) {
                sum[v] += weighted * by[v];
            }
        }
    }
    memcpy(out, sum, m->n * sizeof *out);
}

/* In an order with few stalls. */
static double dot(const double *a, const double *b)
{
    return ((a[0] * b[0] + a[1] * b[1]) + (a[2] * b[2] + a[3] * b[3])) +
           ((a[4] * b[4] + a[5] * b[5]) + (a[6] * b[6] + a[7] * b[7]));
}

static void forward_product(motion *e, const double *v, double *out)
{
    const model *m = &e->model;
    const uint64_t quantities = m->fit.quantities; /* number of compared numbers of a state */
    double y_dot[S] = {0}, by[FIT_QUANTITIES], all[K] = {0};
    memcpy(all, v, m->n * sizeof *v);
    for (uint64_t i = 0, k = 0; i < m->fitted; i++) {
        for (uint64_t s = 0; s < quantities; s++) {
            y_dot[s] = dot(e->y_dot + i * SLOPES + s * K, all);
        }
        model_observe(m, y_dot, 1, by);
        for (uint64_t q = 0; q < quantities; q++, k++) {
            out[k] = weight_of(m, k) * by[q];
        }
    }
}

/* The sweeps of a motion with networks (callbacks supply derivatives by its states or take their changes): of
 * the whole motion, or step by step, each simulated again. */
static void sweep_back(motion *e, double *x_bar, double *w_bar)
{
    if (!e->onestep) {
        compound_net_adjoint(&e->net, &e->now, e->model.fitted - 1, e->bar, x_bar, w_bar);
    }
    for (uint64_t i = 1; e->onestep && i < e->model.fitted; i++) {
        double y[2 * S], bar[2 * S] = {0};
        if (begin_onestep(e, i)) {
            compound_net_run(&e->net, &e->now, e->net.w, 1, y);
            memcpy(bar + S, e->bar + i * S, sizeof bar / 2);
            compound_net_adjoint(&e->net, &e->now, 1, bar, x_bar, w_bar);
        }
    }
}

static void sweep_forward(motion *e, const double *x_dot, const double *w_dot)
{
    if (!e->onestep) {
        compound_net_tangent(&e->net, &e->now, e->model.fitted - 1, x_dot, w_dot, e->bar);
    }
    for (uint64_t i = 0; e->onestep && i < e->model.fitted; i++) {
        double y[2 * S], dot[2 * S] = {0};
        if (begin_onestep(e, i)) {
            compound_net_run(&e->net, &e->now, e->net.w, 1, y);
            compound_net_tangent(&e->net, &e->now, 1, x_dot, w_dot, dot);
        }
        memcpy(e->bar + i * S, dot + S, sizeof dot / 2);
    }
}

/* The same two products with networks, over the compared rows; later rows may have diverged. */
static void reverse_with_networks(motion *e, const double *w, double *out)
{
    const model *m = &e->model;
    double x_bar[K] = {0};
    memset(e->bar, 0, m->rows * S * sizeof *e->bar);
    for (uint64_t k = 0; k < m->fitted * m->fit.quantities; k++) {
        const uint64_t i = k / m->fit.quantities, q = k % m->fit.quantities;
        const double weight = weight_of(m, k);
        const double bar = w != NULL ? w[k] : 2 * m->fit.weight[k] * fit_error(&m->fit, i, q, e->got[k]);
        model_observe_bar(m, q, weight * bar, e->bar + i * S);
    }
    memset(out + m->n, 0, e->kit.hybrid.variables * sizeof *out);
    sweep_back(e, x_bar, out + m->n);
    memcpy(out, x_bar, m->n * sizeof *out);
}

static void forward_with_networks(motion *e, const double *v, double *out)
{
    const model *m = &e->model;
    double x_dot[K] = {0}, by[FIT_QUANTITIES];
    memcpy(x_dot, v, m->n * sizeof *v);
    sweep_forward(e, x_dot, v + m->n);
    for (uint64_t i = 0; i < m->fitted; i++) {
        model_observe(m, e->bar + i * S, 1, by);
        for (uint64_t q = 0; q < m->fit.quantities; q++) {
            const uint64_t k = i * m->fit.quantities + q;
            out[k] = weight_of(m, k) * by[q];
        }
    }
}

/* Takes the motion of a lane to e->y and e->y_dot. Returns its first row that is not finite, or -1. */
static int64_t take_lane(motion *e, uint64_t lane, int graded)
{
    const uint64_t width = e->lanes->width, n = e->model.n;
    for (uint64_t i = 0; i < e->model.fitted; i++) {
        double *y = e->y + i * S, *y_dot = e->y_dot + i * SLOPES;
        for (uint64_t k = 0; k < S; k++) {
            y[k] = e->lanes_y[(i * S + k) * width + lane];
            for (uint64_t v = 0; graded && v < n; v++) {
                y_dot[k * K + v] = e->lanes_dot[((i * n + v) * S + k) * width + lane];
            }
        }
        if (!all_finite(S, y)) {
            return (int64_t)i;
        }
    }
    return -1;
}

/* Many motions side by side. */
static ds_status simulate_rows(void *self, uint64_t count, ds_eval *const *io)
{
    motion *e = self;
    const model *m = &e->model;
    const uint64_t width = e->lanes->width;
    for (uint64_t k = 0; k < count; k += width) {
        const lanes_group g = lanes_take(width, count - k, io + k);
        compound p[LANES_MOST];
        for (uint64_t lane = 0; lane < width; lane++) {
            model_set(m, g.x[lane], &p[lane]);
        }
        e->lanes->run(p, m->n, m->dt / (double)m->substeps, m->fitted - 1, m->substeps, e->lanes_y,
                      g.graded ? e->lanes_dot : NULL);
        for (uint64_t lane = 0; lane < g.count; lane++) {
            memcpy(e->x, g.x[lane], m->n * sizeof *e->x);
            compare(e, take_lane(e, lane, g.graded), m->fitted, g.io[lane]);
            if (g.graded && isfinite(g.io[lane]->loss)) {
                reverse_product(e, NULL, g.grad[lane]);
            }
        }
    }
    return DS_OK;
}

static ds_status adjoint_of_motion(void *self, ds_eval *io)
{
    motion *e = self;
    if (e->kit.hybrid.nets > 0) {
        reverse_with_networks(e, NULL, io->grad);
    } else {
        reverse_product(e, NULL, io->grad);
    }
    return DS_OK;
}

/* ---- residuals ---- */

/* With a cost of weights the loss is not a sum of these squares. */
static uint64_t channels_of_motion(const void *self)
{
    const ds_hybrid *h = &((const motion *)self)->kit.hybrid;
    return h->l1 > 0 || h->l2 > 0 ? 0 : 1;
}

static void channel_of_motion(const void *self, uint64_t i, ds_channel *out)
{
    const motion *e = self;
    (void)i;
    out->role = DS_CHANNEL_RESIDUAL;
    out->ops = DS_CAN(DS_QUERY_VALUE) | DS_CAN(DS_QUERY_JV) | DS_CAN(DS_QUERY_JTV);
    out->ndim = 2;
    out->shape[0] = e->model.fitted;
    out->shape[1] = e->model.fit.quantities;
    out->name = "residuals";
    out->doc = "Weighted errors of the compared numbers, sample by sample; their squares add up to the loss.";
}

static ds_status answer_of_motion(void *self, ds_eval *io, ds_eval_query *ask)
{
    motion *e = self;
    if (ask->op == DS_QUERY_VALUE) {
        fit_residuals(&e->model.fit, e->got, ask->out);
        return DS_OK;
    }
    const int networks = e->kit.hybrid.nets > 0;
    if (ask->op == DS_QUERY_JV) {
        (networks ? forward_with_networks : forward_product)(e, ask->v, ask->out);
        ask->kind = DS_GRAD_FORWARD;
    } else {
        (networks ? reverse_with_networks : reverse_product)(e, ask->v, ask->out);
        ask->kind = networks ? DS_GRAD_ADJOINT : DS_GRAD_FORWARD;
    }
    io->cost_steps += e->kit.cost;
    return DS_OK;
}

/* ---- scene and metrics ---- */

/* The last known state if a held-out motion diverges. */
static const double *state_of(const motion *e, uint64_t k)
{
    return e->y + (k < e->seen ? k : e->seen - 1) * S;
}

/* Recorded angles of sample k, or NAN. */
static void recorded_at(const motion *e, uint64_t k, double angle[2])
{
    const double *target = e->model.fit.target + k * e->model.fit.quantities;
    angle[0] = target[0];
    angle[1] = e->model.joints ? target[0] + target[1] : target[1];
}

static void tips(const double length[2], const double angle[2], double out[2][2])
{
    out[0][0] = length[0] * sin(angle[0]);
    out[0][1] = -length[0] * cos(angle[0]);
    out[1][0] = out[0][0] + length[1] * sin(angle[1]);
    out[1][1] = out[0][1] - length[1] * cos(angle[1]);
}

static void place_motion(const void *self, uint64_t k, uint64_t b, double *out)
{
    const motion *e = self;
    const double *y = state_of(e, k);
    double length[2], at[2][2], angle[2] = {y[0], y[1]};
    model_arms(&e->model, e->x, length);
    if (b == SEEN) {
        recorded_at(e, k, angle);
        for (int i = 0; i < 2; i++) { /* missing: draw it behind the simulated one */
            angle[i] = isnan(angle[i]) ? y[i] : angle[i];
        }
        if (e->model.variant == VARIANT_LENGTHS) {
            memcpy(length, e->model.length, sizeof length);
        }
    }
    tips(length, angle, at);
    if (b == FIRST) {
        ds_scene_kit_pose(0.5 * at[0][0], 0.5 * at[0][1], 0, angle[0], out);
    } else if (b == SECOND) {
        ds_scene_kit_pose(0.5 * (at[0][0] + at[1][0]), 0.5 * (at[0][1] + at[1][1]), 0, angle[1], out);
    } else {
        ds_scene_kit_pose(at[0][0], at[0][1], 0, 0, out);
        ds_scene_kit_pose(at[1][0], at[1][1], 0, 0, out + 7);
    }
}

static void bodies_of_motion(void *self, ds_scene_kit *s)
{
    const motion *e = self;
    const double *length = e->model.length, reach = length[0] + length[1], thick = 0.02 * reach;
    const int seen = e->model.variant != VARIANT_LENGTHS;
    ds_scene_kit_body(s, "arm1", DS_BODY_CAPSULE, DS_ROLE_MATERIAL, 1,
                      (double[4]){thick, seen ? length[0] : 0, 0, 0});
    ds_scene_kit_body(s, "arm2", DS_BODY_CAPSULE, DS_ROLE_MATERIAL, 1,
                      (double[4]){thick, seen ? length[1] : 0, 0, 0});
    ds_scene_kit_body(s, "tips", DS_BODY_SPHERE, DS_ROLE_MATERIAL, 2, (double[4]){2 * thick, 0, 0, 0});
    ds_scene_kit_body(s, "recorded", DS_BODY_SPHERE, DS_ROLE_TOOL, 2, (double[4]){1.5 * thick, 0, 0, 0});
    ds_scene_kit_at(s, SECOND)->variety = 1;
    ds_scene_kit_include(s, 0, 0, 0, reach + 2 * thick);
    s->info.flat = 1;
}

static const ds_scene_kit_label metrics[] = {{"angle1", "rad"},
                                             {"angle2", "rad"},
                                             {"rate1", "rad/s"},
                                             {"rate2", "rad/s"},
                                             {"recorded_angle1", "rad"},
                                             {"recorded_angle2", "rad"},
                                             {"held_out", ""},
                                             {"rmse", "rad"},
                                             {"energy", "J"},
                                             {"error", ""},
                                             {NULL, NULL}};

/* Mean error of the variables, relative if they are positive; NAN if the truth is not known. */
static double error_of(const motion *e)
{
    double sum = 0;
    for (uint64_t i = 0; i < e->model.n; i++) {
        const double truth = e->model.truth[i], gap = fabs(e->x[i] - truth);
        sum += e->model.variable[i].lower >= 0 ? gap / truth : gap;
    }
    return sum / (double)e->model.n;
}

static void measure_motion(void *self, uint64_t k, double *out)
{
    motion *e = self;
    const model *m = &e->model;
    const double turn = 6.283185307179586476925;
    const int there = k < e->seen;
    double target[2];
    recorded_at(e, k, target);
    for (uint64_t i = 0; i < 2; i++) {
        const double angle = there ? e->y[k * S + i] : (double)NAN;
        out[i] = angle;
        out[2 + i] = there ? e->y[k * S + 2 + i] : (double)NAN;
        /* On the same turn as the simulated one. */
        out[4 + i] =
            there && m->variant != VARIANT_INITIAL ? angle + remainder(target[i] - angle, turn) : target[i];
    }
    const uint64_t from = k < m->fitted ? 0 : m->fitted;
    out[6] = k >= m->fitted;
    out[7] = there ? fit_rms(&m->fit, e->got, from, k + 1) : (double)NAN;
    out[8] = there ? compound_energy(&e->now, e->y + k * S) : (double)NAN;
    out[9] = error_of(e);
}

const ds_env_table motion_table = {.size = sizeof(motion),
                                   .advice = "reduce n_samples",
                                   .cure = cure,
                                   .read = read_motion,
                                   .hook_points = hooks_of_motion,
                                   .allocate = allocate_motion,
                                   .range = range_of_motion,
                                   .variable = name_of_motion,
                                   .simulate = simulate_motion,
                                   .adjoint = adjoint_of_motion,
                                   .passes = 1,
                                   .rows = simulate_rows,
                                   .rows_adjoint = 1,
                                   .metrics = metrics,
                                   .bodies = bodies_of_motion,
                                   .place = place_motion,
                                   .measure = measure_motion,
                                   .channels = channels_of_motion,
                                   .channel = channel_of_motion,
                                   .answer = answer_of_motion};
