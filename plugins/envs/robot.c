/* SPDX-License-Identifier: Apache-2.0 */
/* robot.c - an articulated robot from a URDF or MJCF file does what a task file says; the decision variables
 * are the controls of its joints over time and numbers of the model.
 *
 * Variables: the controls of the first control step, of the second one, ..., unless a file gives them, then
 * the numbers of [variables]. A control in [-1, 1] is mapped to its bounds. Robots have z up, scenes y. */
#include "envs/robot/robot_env.h"

#include "engines/kit/algebra/mat3.h"
#include "engines/kit/algebra/quaternion.h"
#include "engines/kit/linear_model.h"
#include "engines/kit/norm.h"

#include <diffsim/helper/random.h>

#include <ctype.h>
#include <string.h>

static const ds_param *const params[] = {
    DS_PATH("task", "",
            "INI file of the task, which names its model; docs/robots.md describes it. "
            "Examples: examples/robots. Empty = a pole on a cart swings up.",
            .flags = DS_PARAM_SHAPE),
    DS_PATH("model", "", "URDF or MJCF file in place of the one that the task names; empty = that one.",
            .flags = DS_PARAM_SHAPE),
    DS_HYBRID_PARAMS, NULL};

enum { COM_X, COM_Y, COM_Z, ENERGY, FORCE, LOSS };
typedef enum robot_channel { JOINTS, RESIDUALS } robot_channel;

/* ---- set-up ---- */

static void read_robot(void *self, ds_param_reader *in)
{
    robot_env *e = self;
    char error[ROBOT_ERROR];
    const char *path = ds_param_text(in, "task"), *model = ds_param_text(in, "model");
    if (in->status != DS_OK) {
        return;
    }
    int failed = task_read(&e->kit.memory, path, model, &e->k, error);
    if (failed) {
        in->status = failed == 2 ? DS_E_NOMEM : ds_host_fail(in->host, DS_E_DATA, "%s", error);
        return;
    }
    const task *k = &e->k;
    const tree *t = k->robot.tree;
    e->kit.grad_kind = t->soft.at_distance ? DS_GRAD_SMOOTHED : DS_GRAD_ADJOINT;
    e->kit.n = decided(e) + (uint64_t)k->variables;
    e->kit.steps = (uint64_t)k->pieces;
    e->kit.cost = (uint64_t)k->pieces * (uint64_t)k->substeps;
    e->kit.dt = k->step * k->substeps;
    if (k->variables == 0 && k->shape == TASK_CONSTANT) {
        e->kit.horizon = e->kit.steps;
        e->kit.control_dt = e->kit.dt;
        for (int i = 0; i < t->links; i++) {
            static const uint64_t seen[] = {0, 2, 2, 9, 15};
            e->kit.n_obs += seen[t->link[i].kind];
        }
    }
}

/* The weights of the controls around simulation step s of a control step. */
static void blend(task_shape shape, double s, double w[4])
{
    double r = 1 - s;
    memset(w, 0, 4 * sizeof *w);
    if (shape == TASK_CONSTANT) {
        w[1] = 1;
    } else if (shape == TASK_LINEAR) {
        w[1] = r;
        w[2] = s;
    } else {
        w[0] = r * r * r / 6;
        w[1] = (3 * s * s * s - 6 * s * s + 4) / 6;
        w[2] = (3 * r * r * r - 6 * r * r + 4) / 6;
        w[3] = s * s * s / 6;
    }
}

/* ---- networks ---- */

/* Joints with one position, in the order of their links. */
static int single_joints(const tree *t, int *list)
{
    int n = 0;
    for (int i = 0; i < t->links; i++) {
        if (t->link[i].nv == 1) {
            if (list) {
                list[n] = i;
            }
            n++;
        }
    }
    return n;
}

static uint64_t hooks_of_robot(const void *self, ds_hook *out)
{
    const robot_env *e = self;
    const uint64_t n = e->k.robot.tree ? (uint64_t)single_joints(e->k.robot.tree, NULL) : 0;
    uint64_t k = 0;
    if (n > 0) {
        ds_env_kit_hook(out, &k, DS_HOOK_INPUT, n, "joint_position", "",
                        "Of the hinges and slides, in the order of the model, rad or m.");
        ds_env_kit_hook(out, &k, DS_HOOK_INPUT, n, "joint_rate", "", "Of the same joints, rad/s or m/s.");
        ds_env_kit_hook(out, &k, DS_HOOK_OUTPUT, n, "joint_force", "",
                        "On each of them during a step, with its control, N m or N.");
    }
    return k;
}

/* Applies the networks to the forces in a step from state q, v. */
static void net_forces(robot_env *e, const double *q, const double *v)
{
    const tree *t = e->k.robot.tree;
    for (int i = 0; i < e->joints; i++) {
        const tree_link *l = &t->link[e->joint[i]];
        e->net_in[i] = q[l->q];
        e->net_in[e->joints + i] = v[l->v];
        e->net_out[i] = e->tau[l->v];
    }
    ds_hybrid_forward(&e->kit.hybrid, e->net, e->net_in, e->net_out, e->tape);
    for (int i = 0; i < e->joints; i++) {
        e->tau[t->link[e->joint[i]].v] = e->net_out[i];
    }
}

/* Turns tau_bar into derivatives by the forces before the networks, and adds those by the state and the
 * parameters. */
static void net_forces_bar(robot_env *e)
{
    const tree *t = e->k.robot.tree;
    memset(e->net_in_bar, 0, 2 * (size_t)e->joints * sizeof *e->net_in_bar);
    for (int i = 0; i < e->joints; i++) {
        e->net_out_bar[i] = e->tau_bar[t->link[e->joint[i]].v];
    }
    ds_hybrid_reverse(&e->kit.hybrid, e->net, e->tape, e->net_out_bar, e->net_bar, e->net_in_bar);
    for (int i = 0; i < e->joints; i++) {
        const tree_link *l = &t->link[e->joint[i]];
        e->tau_bar[l->v] = e->net_out_bar[i];
        e->q_bar[l->v] += e->net_in_bar[i];
        e->v_bar[l->v] += e->net_in_bar[e->joints + i];
    }
}

/* The change of the forces after the networks: turns tau_bar, the change before them, into it; the changes of
 * the state are in q_bar and v_bar, those of the parameters in net_dot. */
static void net_forces_dot(robot_env *e, const double *net_dot)
{
    const tree *t = e->k.robot.tree;
    for (int i = 0; i < e->joints; i++) {
        const tree_link *l = &t->link[e->joint[i]];
        e->net_in_bar[i] = e->q_bar[l->v];
        e->net_in_bar[e->joints + i] = e->v_bar[l->v];
        e->net_out_bar[i] = e->tau_bar[l->v];
    }
    ds_hybrid_tangent(&e->kit.hybrid, e->net, e->tape, net_dot, e->net_in_bar, e->net_out_bar);
    for (int i = 0; i < e->joints; i++) {
        e->tau_bar[t->link[e->joint[i]].v] = e->net_out_bar[i];
    }
}

static ds_status allocate_robot(void *self)
{
    robot_env *e = self;
    const task *k = &e->k;
    tree *t = k->robot.tree;
    ds_memory *m = &e->kit.memory;
    size_t states = (size_t)k->pieces * (size_t)k->substeps + 1, nv = (size_t)t->nv + 1;
    e->motion = motion_create(m, t);
    e->work = e->motion ? motion_work(e->motion) : NULL;
    e->q = ds_memory_doubles(m, states * (size_t)t->nq);
    e->v = ds_memory_doubles(m, states * nv);
    e->weight = ds_memory_take(m, (size_t)k->substeps, sizeof *e->weight);
    e->number = ds_memory_doubles(m, (size_t)t->numbers);
    e->number_bar = ds_memory_doubles(m, (size_t)t->numbers);
    e->x = ds_memory_doubles(m, numbers_of_controls(e) + (size_t)k->variables);
    e->x_bar = ds_memory_doubles(m, numbers_of_controls(e) + (size_t)k->variables);
    e->running = ds_memory_doubles(m, (size_t)k->pieces + 1);
    e->shake = ds_memory_doubles(m, numbers_of_controls(e) + 1);
    e->joint = ds_memory_take(m, nv, sizeof *e->joint);
    robot_residuals_allocate(e);
    e->tape = ds_memory_doubles(m, e->kit.hybrid.tape + 1);
    ds_memory_each(m, 2 * nv,
                   (double **const[]){&e->net_in, &e->net_out, &e->net_in_bar, &e->net_out_bar, NULL});
    ds_memory_each(m, nv,
                   (double **const[]){&e->rest_target, &e->tau, &e->target, &e->tau_bar, &e->target_bar,
                                      &e->q_bar, &e->v_bar, &e->seen_v, NULL});
    e->seen_q = ds_memory_doubles(m, (size_t)t->nq + 1);
    e->unit = ds_memory_doubles(m, 4 * nv + e->kit.n_obs + TASK_MOST);
    e->names = ds_memory_take(m, (size_t)t->shapes + (size_t)k->terms + 1, sizeof *e->names);
    e->drawn = ds_memory_take(m, (size_t)t->shapes + 1, sizeof *e->drawn);
    if (m->failed) {
        return DS_OK;
    }
    for (int s = 0; s < k->substeps; s++) {
        blend(k->shape, (double)s / k->substeps, e->weight[s]);
    }
    memcpy(e->number, t->number, (size_t)t->numbers * sizeof *e->number);
    e->joints = single_joints(t, e->joint);
    if (k->known != NULL) {
        memcpy(e->x, k->known, numbers_of_controls(e) * sizeof *e->x);
    }
    for (int i = 0; i < t->links; i++) {
        if (t->link[i].nv == 1) {
            e->rest_target[t->link[i].v] = k->q[t->link[i].q];
        }
    }
    for (int c = 0; c < k->controls; c++) {
        if (k->control[c].position) {
            e->rest_target[t->link[k->control[c].link].v] = 0;
        }
    }
    e->placed = -1;
    e->each = motion_kept(t, k->rule, k->contact);
    const size_t kept = (states - 1) * e->each;
    e->kept = kept > 0 && kept <= MOST_KEPT ? ds_memory_doubles(m, kept) : NULL;
    robot_lanes_allocate(e);
    return DS_OK;
}

static void range_of_robot(const void *self, uint64_t i, double *lower, double *upper, double *start)
{
    const robot_env *e = self;
    const uint64_t controls = decided(e);
    if (i < controls) {
        *lower = -1;
        *upper = 1;
        *start = e->k.control[i % (uint64_t)e->k.controls].start;
        return;
    }
    const task_variable *x = &e->k.variable[i - controls];
    *lower = x->lower;
    *upper = x->upper;
    *start = x->start;
}

static void name_variable(const void *self, uint64_t i, ds_env_variable *out)
{
    const robot_env *e = self;
    const uint64_t n = (uint64_t)e->k.controls, controls = decided(e);
    if (i < controls) {
        ds_env_variable_put(out->name, "%.40s.%llu", e->k.control[i % n].name, (unsigned long long)(i / n));
        ds_env_variable_put(out->group, "%.40s", e->k.control[i % n].name);
    } else {
        ds_env_variable_put(out->name, "%.50s", e->k.variable[i - controls].name);
        ds_env_variable_put(out->unit, "%s", e->k.variable[i - controls].log ? "log10" : "");
    }
}

/* ---- positions and velocities of the joints ---- */

static size_t joints_width(const robot_env *e)
{
    return (size_t)e->k.robot.tree->nq + (size_t)e->k.robot.tree->nv;
}

/* out = the change of state `step`, from that in the space of the velocities. A quaternion p turned by d in
 * the axes of the link changes by p d / 2. */
static void joints_dot(const robot_env *e, int step, double *out)
{
    const tree *t = e->k.robot.tree;
    const double *q = state_q(e, step);
    for (int i = 0; i < t->links; i++) {
        const tree_link *l = &t->link[i];
        int plain = l->nq == 7 ? 3 : l->nq == 1;
        memcpy(out + l->q, e->q_bar + l->v, (size_t)plain * sizeof *out);
        if (l->nq >= 4) {
            const double *d = e->q_bar + l->v + plain, half[4] = {0, 0.5 * d[0], 0.5 * d[1], 0.5 * d[2]};
            quat_product(q + l->q + plain, half, out + l->q + plain);
        }
    }
    memcpy(out + t->nq, e->v_bar, (size_t)t->nv * sizeof *out);
}

/* Adds the derivatives by state `step` to those in the space of the velocities. */
static void joints_bar(robot_env *e, int step, const double *w)
{
    const tree *t = e->k.robot.tree;
    const double *q = state_q(e, step);
    for (int i = 0; i < t->links; i++) {
        const tree_link *l = &t->link[i];
        int plain = l->nq == 7 ? 3 : l->nq == 1;
        for (int k = 0; k < plain; k++) {
            e->q_bar[l->v + k] += w[l->q + k];
        }
        for (int k = 0; l->nq >= 4 && k < 3; k++) {
            const double half[4] = {0, 0.5 * (k == 0), 0.5 * (k == 1), 0.5 * (k == 2)};
            double turned[4];
            quat_product(q + l->q + plain, half, turned);
            for (int r = 0; r < 4; r++) {
                e->q_bar[l->v + plain + k] += turned[r] * w[l->q + plain + r];
            }
        }
    }
    for (int j = 0; j < t->nv; j++) {
        e->v_bar[j] += w[t->nq + j];
    }
}

/* ---- episode ---- */

/* Where simulation step `at` is kept for the adjoint, or NULL. */
static double *kept_at(const robot_env *e, int at)
{
    return e->keeps ? e->kept + (size_t)at * e->each : NULL;
}

/* Simulates control step p from state p x substeps on; returns whether the states are finite. */
static int run_piece(robot_env *e, const double *x, int p)
{
    const task *k = &e->k;
    const tree *t = k->robot.tree;
    const tree_input in = {.tau = e->tau, .target = e->target, .contact = k->contact};
    int from = p * k->substeps;
    for (int s = 0; s < k->substeps; s++) {
        if (s == 0 || k->shape != TASK_CONSTANT || e->kit.hybrid.nets > 0) {
            robot_inputs(e, x, p, s);
        }
        if (e->kit.hybrid.nets > 0) {
            net_forces(e, state_q(e, from + s), state_v(e, from + s));
        }
        motion_keep(e->motion, kept_at(e, from + s));
        motion_step(t, e->motion, k->rule, k->step, &in, state_q(e, from + s), state_v(e, from + s),
                    e->q + (size_t)(from + s + 1) * (size_t)t->nq,
                    e->v + (size_t)(from + s + 1) * (size_t)t->nv);
    }
    return all_finite((size_t)t->nq, state_q(e, from + k->substeps)) &&
           all_finite((size_t)t->nv, state_v(e, from + k->substeps));
}

/* The adjoint of control step p: e->q_bar, v_bar and number_bar. */
static void back_piece(robot_env *e, const double *x, int p, double *x_bar)
{
    const task *k = &e->k;
    const tree_input in = {.tau = e->tau, .target = e->target, .contact = k->contact};
    const tree_bar bar = {
        .tau = e->tau_bar, .target = e->target_bar, .number = k->variables > 0 ? e->number_bar : NULL};
    int from = p * k->substeps;
    const int changes = k->shape != TASK_CONSTANT || e->kit.hybrid.nets > 0;
    for (int s = k->substeps - 1; s >= 0; s--) {
        if (changes || s == k->substeps - 1) {
            robot_inputs(e, x, p, s);
        }
        if (e->kit.hybrid.nets > 0) {
            net_forces(e, state_q(e, from + s), state_v(e, from + s));
        }
        motion_keep(e->motion, kept_at(e, from + s));
        motion_adjoint(k->robot.tree, e->motion, k->rule, k->step, &in, state_q(e, from + s),
                       state_v(e, from + s), e->q_bar, e->v_bar, &bar);
        if (e->kit.hybrid.nets > 0) {
            net_forces_bar(e);
        }
        if (changes || s == 0) {
            robot_inputs_bar(e, p, s, x_bar);
        }
    }
}

static ds_status simulate_robot(void *self, ds_eval *io)
{
    robot_env *e = self;
    const task *k = &e->k;
    const size_t controls = decided(e);
    memcpy(e->x, io->x, controls * sizeof *e->x);
    robot_set_variables(e, io->x + controls);
    robot_set_noise(e, io->noise_key);
    e->net = io->x + e->kit.n;
    e->keeps = e->kept != NULL && ((io->want & DS_WANT_GRAD) != 0 || io->queries > 0);
    e->stopped = 0;
    e->bad = -1;
    e->placed = -1;
    io->loss = 0;
    for (int p = 0; p < k->pieces && e->bad < 0; p++) {
        if (should_stop(e)) {
            return DS_STOPPED;
        }
        if (!run_piece(e, e->x, p)) {
            e->bad = p;
            io->loss = INFINITY;
            break;
        }
        int end = (p + 1) * k->substeps;
        io->loss +=
            robot_score(e, robot_terms_at(e, p), p, state_q(e, end), state_v(e, end), e->x, 0, NULL, NULL);
    }
    return DS_OK;
}

static int64_t bad_step_of_robot(void *self, ds_eval *io)
{
    (void)io;
    return ((robot_env *)self)->bad;
}

static void clear_bars(robot_env *e)
{
    const tree *t = e->k.robot.tree;
    memset(e->q_bar, 0, (size_t)t->nv * sizeof *e->q_bar);
    memset(e->v_bar, 0, (size_t)t->nv * sizeof *e->v_bar);
    memset(e->number_bar, 0, (size_t)t->numbers * sizeof *e->number_bar);
    memset(e->tau_bar, 0, (size_t)t->nv * sizeof *e->tau_bar);
    memset(e->target_bar, 0, (size_t)t->nv * sizeof *e->target_bar);
}

/* grad[n] of the loss (w = NULL), or J' w of a channel. */
static ds_status reverse(robot_env *e, robot_channel channel, const double *w, const double *x, double *grad)
{
    const task *k = &e->k;
    const size_t controls = decided(e);
    const tree_bar bar = state_bar(e);
    double *x_bar = controls > 0 ? grad : e->x_bar;
    clear_bars(e);
    e->net_bar = grad + e->kit.n;
    memset(grad, 0, (e->kit.n + e->kit.hybrid.variables) * sizeof *grad);
    memset(x_bar, 0, numbers_of_controls(e) * sizeof *x_bar);
    const double *rest = w + (w != NULL && channel == RESIDUALS ? e->residuals : 0);
    for (int p = k->pieces - 1; p >= 0; p--) {
        if (should_stop(e)) {
            return DS_STOPPED;
        }
        int end = (p + 1) * k->substeps;
        if (w == NULL) {
            robot_score(e, robot_terms_at(e, p), p, state_q(e, end), state_v(e, end), e->x, 1, &bar, x_bar);
        } else if (channel == RESIDUALS) {
            rest -= robot_residuals_at(e, p);
            robot_residuals_bar(e, p, rest, &bar, x_bar + (size_t)p * (size_t)k->controls);
        } else {
            joints_bar(e, end, w + (size_t)(p + 1) * joints_width(e));
        }
        back_piece(e, e->x, p, x_bar);
    }
    if (w != NULL && channel == JOINTS) {
        joints_bar(e, 0, w);
    }
    robot_variables_bar(e, x + controls, grad + controls);
    return DS_OK;
}

static ds_status adjoint_of_robot(void *self, ds_eval *io)
{
    return reverse(self, JOINTS, NULL, io->x, io->grad);
}

/* out = J v of a channel at x. */
static ds_status forward(robot_env *e, robot_channel channel, const double *x, const double *v, double *out)
{
    const task *k = &e->k;
    const tree *t = k->robot.tree;
    const size_t controls = decided(e);
    const tree_input in = {.tau = e->tau, .target = e->target, .contact = k->contact};
    const tree_bar dot = {.q = e->q_bar,
                          .v = e->v_bar,
                          .tau = e->tau_bar,
                          .target = e->target_bar,
                          .number = k->variables > 0 ? e->number_bar : NULL};
    clear_bars(e);
    robot_variables_dot(e, x + controls, v + controls);
    memset(e->x_bar, 0, numbers_of_controls(e) * sizeof *e->x_bar);
    memcpy(e->x_bar, v, controls * sizeof *e->x_bar);
    if (channel == JOINTS) {
        joints_dot(e, 0, out);
        out += joints_width(e);
    }
    for (int p = 0; p < k->pieces; p++) {
        if (should_stop(e)) {
            return DS_STOPPED;
        }
        for (int s = 0; s < k->substeps; s++) {
            int at = p * k->substeps + s;
            robot_inputs(e, e->x, p, s);
            robot_inputs_dot(e, p, s, e->x_bar);
            if (e->kit.hybrid.nets > 0) {
                net_forces(e, state_q(e, at), state_v(e, at));
                net_forces_dot(e, v + e->kit.n);
            }
            motion_tangent(t, e->motion, k->rule, k->step, &in, state_q(e, at), state_v(e, at), &dot);
        }
        if (channel == JOINTS) {
            joints_dot(e, (p + 1) * k->substeps, out);
            out += joints_width(e);
        } else {
            robot_residuals_dot(e, p, e->x_bar, out);
            out += robot_residuals_at(e, p);
        }
    }
    return DS_OK;
}

/* ---- observations ---- */

/* For each joint its positions and velocities; a quaternion as the first two columns of its matrix. */
static void observe_robot(const void *self, double *obs)
{
    const robot_env *e = self;
    const tree *t = e->k.robot.tree;
    const double *q = state_q(e, e->last_taken * e->k.substeps),
                 *v = state_v(e, e->last_taken * e->k.substeps);
    for (int i = 0; i < t->links; i++) {
        const tree_link *l = &t->link[i];
        int plain = l->nq == 7 ? 3 : l->nq == 1;
        memcpy(obs, q + l->q, (size_t)plain * sizeof *obs);
        obs += plain;
        if (l->nq >= 4) {
            double R[9];
            quat_matrix(q + l->q + plain, R);
            for (int r = 0; r < 6; r++) {
                *obs++ = R[3 * (r % 3) + r / 3];
            }
        }
        memcpy(obs, v + l->v, (size_t)l->nv * sizeof *obs);
        obs += l->nv;
    }
    if (e->key != 0 && e->k.noise_observe > 0) {
        ds_random r = ds_random_open(e->key, "observe", (uint64_t)e->last_taken);
        for (uint64_t i = 1; i <= e->kit.n_obs; i++) {
            obs[-(int64_t)i] += e->k.noise_observe * ds_random_normal(&r);
        }
    }
}

/* Adds the derivatives of the observation of state `step`. */
static void observe_bar(robot_env *e, int step, const double *obs_bar)
{
    const tree *t = e->k.robot.tree;
    const double *q = state_q(e, step);
    for (int i = 0; i < t->links; i++) {
        const tree_link *l = &t->link[i];
        int plain = l->nq == 7 ? 3 : l->nq == 1;
        for (int k = 0; k < plain; k++) {
            e->q_bar[l->v + k] += *obs_bar++;
        }
        if (l->nq >= 4) {
            double R[9], b[3], turn[3];
            quat_matrix(q + l->q + plain, R);
            for (int c = 0; c < 2; c++, obs_bar += 3) {
                const double axis[3] = {c == 0, c == 1, 0};
                mat3_tapply(R, obs_bar, b);
                vec3_cross(axis, b, turn);
                vec3_add_scaled(e->q_bar + l->v + plain, 1, turn);
            }
        }
        for (int k = 0; k < l->nv; k++) {
            e->v_bar[l->v + k] += *obs_bar++;
        }
    }
}

/* ---- the linear model of robots whose joints have one position each ----
 *
 * The state is that of the observation, position and velocity of each joint. Terms after control step p are
 * the cost of state p + 1; efforts are that of the controls of step p. */

static size_t model_states(const robot_env *e)
{
    return 2 * (size_t)e->k.robot.tree->nv;
}

static int has_model(const robot_env *e)
{
    const tree *t = e->k.robot.tree;
    const uint64_t all = model_states(e) + (uint64_t)e->k.controls;
    int plain = e->kit.horizon > 0 && e->k.controls > 0 && e->k.known == NULL && e->kit.hybrid.nets == 0 &&
                !t->soft.at_distance && ((uint64_t)e->k.pieces + 1) * all * all <= DS_MAX_ELEMENTS;
    for (int i = 0; i < t->links; i++) {
        plain &= t->link[i].nv <= 1;
    }
    return plain;
}

/* The numbers of e->q_bar and v_bar in the order of a state. */
static void pack_bars(const robot_env *e, double *out)
{
    const tree *t = e->k.robot.tree;
    for (int i = 0; i < t->links; i++) {
        if (t->link[i].nv == 1) {
            *out++ = e->q_bar[t->link[i].v];
            *out++ = e->v_bar[t->link[i].v];
        }
    }
}

/* Rows of the Jacobian of each control step, by its state or by its controls. */
static void model_steps(robot_env *e, int by_state, double *out)
{
    const size_t n = model_states(e), m = (size_t)e->k.controls;
    double *unit = e->unit;
    for (int p = 0; p < e->k.pieces && !should_stop(e); p++) {
        for (size_t l = 0; l < n; l++, out += by_state ? n : m) {
            clear_bars(e);
            memset(e->x_bar + (size_t)p * m, 0, m * sizeof *e->x_bar);
            unit[l] = 1;
            observe_bar(e, 0, unit);
            unit[l] = 0;
            back_piece(e, e->x, p, e->x_bar);
            if (by_state) {
                pack_bars(e, out);
            } else {
                memcpy(out, e->x_bar + (size_t)p * m, m * sizeof *out);
            }
        }
    }
}

/* Gradient of the cost of every state and control. */
static void model_gradient(robot_env *e, double *out)
{
    const size_t n = model_states(e), m = (size_t)e->k.controls;
    const tree_bar bar = state_bar(e);
    memset(e->x_bar, 0, numbers_of_controls(e) * sizeof *e->x_bar);
    for (int p = 0; p < e->k.pieces; p++) {
        const int end = (p + 1) * e->k.substeps;
        clear_bars(e);
        robot_score(e, robot_terms_at(e, p), p, state_q(e, end), state_v(e, end), e->x, 1, &bar, e->x_bar);
        pack_bars(e, out + (size_t)(p + 1) * (n + m));
        memcpy(out + (size_t)p * (n + m) + n, e->x_bar + (size_t)p * m, m * sizeof *out);
    }
}

/* Adds `weight` times the square of row, numbers begin .. end - 1 of it, to H. */
static void add_square(size_t all, size_t begin, size_t end, double weight, const double *row, double *H)
{
    for (size_t i = begin; i < end; i++) {
        for (size_t j = begin; j < end; j++) {
            H[i * all + j] += weight * (row[i] * row[j]);
        }
    }
}

/* Adds `factor` times the squares of the three turns of a link after control step p. 3 minus the trace of a
 * turn by an angle a is 2 - 2 cos(a), at most a^2. */
static void add_turn_curvature(robot_env *e, int link, double factor, int p, double *H)
{
    static const double axes[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, none[3];
    const size_t n = model_states(e), all = n + (size_t)e->k.controls;
    const tree_bar bar = state_bar(e);
    for (int k = 0; k < 3; k++) {
        clear_bars(e);
        tree_bar_open(e->k.robot.tree, e->work, &bar);
        tree_turn_bar(e->work, link, axes[k], none);
        tree_bar_close(e->k.robot.tree, e->work);
        pack_bars(e, e->unit + n);
        add_square(all, 0, n, factor, e->unit + n, H + (size_t)(p + 1) * all * all);
    }
}

/* Adds the second derivatives of a term after control step p, by linear_model.h, to those of state p + 1 and
 * of the controls of step p. */
static void add_term_curvature(robot_env *e, const task_term *term, double weight, int p, double *H)
{
    const size_t n = model_states(e), m = (size_t)e->k.controls, all = n + m;
    const tree_bar bar = state_bar(e);
    const int end = (p + 1) * e->k.substeps;
    double error[TASK_MOST], unit[TASK_MOST] = {0}, *row = e->unit + n;
    const int count = robot_errors(e, term, p, state_q(e, end), state_v(e, end), e->x, error);
    const double length = norm_of((size_t)count, error, NULL);
    const double factor = term->norm == TASK_SQUARE ? 2 * weight : length > 0 ? weight / length : 0;
    for (int k = 0; k < count && term->norm != TASK_SUM; k++) {
        clear_bars(e);
        memset(e->x_bar + (size_t)p * m, 0, m * sizeof *e->x_bar);
        tree_bar_open(e->k.robot.tree, e->work, &bar);
        unit[k] = 1;
        robot_errors_bar(e, term, unit, &bar, e->x_bar + (size_t)p * m);
        unit[k] = 0;
        tree_bar_close(e->k.robot.tree, e->work);
        pack_bars(e, row);
        memcpy(row + n, e->x_bar + (size_t)p * m, m * sizeof *row);
        add_square(all, 0, n, factor, row, H + (size_t)(p + 1) * all * all);
        add_square(all, n, all, factor, row, H + (size_t)p * all * all);
    }
    if (term->what == TASK_TURN) {
        add_turn_curvature(e, term->link, (term->norm == TASK_SQUARE ? 4 * error[0] : 2) * weight, p, H);
    }
}

static void model_curvature(robot_env *e, double *H)
{
    for (int p = 0; p < e->k.pieces; p++) {
        const int end = (p + 1) * e->k.substeps;
        tree_place(e->k.robot.tree, e->work, state_q(e, end), state_v(e, end));
        for (int i = 0; i < e->k.terms; i++) {
            const double weight = robot_term_weight(e, &e->k.term[i], robot_terms_at(e, p), p);
            if (weight > 0) {
                add_term_curvature(e, &e->k.term[i], weight, p, H);
            }
        }
    }
}

static ds_status answer_model(robot_env *e, ds_eval *io, uint64_t which, ds_eval_query *ask)
{
    double *out = ask->out;
    memset(out, 0, ask->bytes);
    if (which == MODEL_STATE) {
        const uint64_t key = e->key;
        const int taken = e->last_taken;
        e->key = 0; /* without noise */
        for (e->last_taken = 0; e->last_taken <= e->k.pieces; e->last_taken++, out += model_states(e)) {
            observe_robot(e, out);
        }
        e->key = key;
        e->last_taken = taken;
    } else if (which == MODEL_COST_GRADIENT) {
        model_gradient(e, out);
    } else if (which == MODEL_COST_HESSIAN) {
        model_curvature(e, out);
    } else {
        model_steps(e, which == MODEL_STATE_JACOBIAN, out);
        io->cost_steps += model_states(e) * e->kit.cost;
    }
    ask->kind = DS_GRAD_NONE;
    return e->stopped ? DS_STOPPED : DS_OK;
}

static uint64_t has_joints(const robot_env *e)
{
    return ((uint64_t)e->k.pieces + 1) * joints_width(e) <= DS_MAX_ELEMENTS;
}

/* Joints, the linear model, residuals: their number without the last ones. */
static uint64_t first_channels(const robot_env *e)
{
    return has_joints(e) + (has_joints(e) && has_model(e) ? MODEL_CHANNELS : 0);
}

static uint64_t channels_of_robot(const void *self)
{
    const robot_env *e = self;
    return first_channels(e) + (e->residuals > 0);
}

static void channel_of_robot(const void *self, uint64_t i, ds_channel *out)
{
    const robot_env *e = self;
    if (i > 0 && i < first_channels(e)) {
        linear_model_describe_as(i - 1, e->kit.horizon, model_states(e), (uint64_t)e->k.controls, 1, out);
        return;
    }
    out->ops = DS_CAN(DS_QUERY_VALUE) | DS_CAN(DS_QUERY_JV) | DS_CAN(DS_QUERY_JTV);
    if (i == first_channels(e)) {
        out->role = DS_CHANNEL_RESIDUAL;
        out->ndim = 1;
        out->shape[0] = (uint64_t)e->residuals;
        out->name = "residuals";
        out->doc =
            "Weighted errors of the terms, control step by control step; their squares add up to the loss.";
        return;
    }
    out->role = DS_CHANNEL_STATE;
    out->ndim = 2;
    out->shape[0] = (uint64_t)e->k.pieces + 1;
    out->shape[1] = joints_width(e);
    out->name = "joints";
    out->doc = "At the start and after each control step: positions of all joints in the order of the model, "
               "then their velocities.";
}

static void channel_values(robot_env *e, robot_channel channel, double *out)
{
    const tree *t = e->k.robot.tree;
    for (int p = 0; channel == RESIDUALS && p < e->k.pieces; p++) {
        out += robot_residuals(e, p, out);
        e->placed = -1;
    }
    for (int p = 0; channel == JOINTS && p <= e->k.pieces; p++, out += joints_width(e)) {
        memcpy(out, state_q(e, p * e->k.substeps), (size_t)t->nq * sizeof *out);
        memcpy(out + t->nq, state_v(e, p * e->k.substeps), (size_t)t->nv * sizeof *out);
    }
}

static ds_status answer_of_robot(void *self, ds_eval *io, ds_eval_query *ask)
{
    robot_env *e = self;
    const robot_channel channel = ask->channel == first_channels(e) ? RESIDUALS : JOINTS;
    if (channel == JOINTS && ask->channel > 0) {
        return answer_model(e, io, ask->channel - 1, ask);
    }
    if (ask->op == DS_QUERY_VALUE) {
        channel_values(e, channel, ask->out);
        return DS_OK;
    }
    io->cost_steps += 2 * e->kit.cost;
    ask->kind = ask->op == DS_QUERY_JV ? DS_GRAD_FORWARD : DS_GRAD_ADJOINT;
    return ask->op == DS_QUERY_JV ? forward(e, channel, io->x, ask->v, ask->out)
                                  : reverse(e, channel, ask->v, io->x, ask->out);
}

/* ---- stepwise control ---- */

static ds_status begin_robot(void *self, uint64_t noise_key)
{
    robot_env *e = self;
    robot_set_variables(e, NULL);
    robot_set_noise(e, noise_key);
    e->last_taken = 0;
    e->keeps = 0;
    e->stopped = 0;
    e->placed = -1;
    e->running[0] = 0;
    return DS_OK;
}

static double score_state(robot_env *e, int which, int taken)
{
    int at = taken * e->k.substeps;
    return robot_score(e, which, taken - 1, state_q(e, at), state_v(e, at), e->x, 0, NULL, NULL);
}

/* The reward is the decrease of the terms of the end, minus the terms of the control step. */
static ds_status act_on_robot(void *self, uint64_t k, ds_step *io)
{
    robot_env *e = self;
    int p = (int)k;
    double before = score_state(e, FINAL, p);
    memcpy(e->x + (size_t)p * (size_t)e->k.controls, io->action, (size_t)e->k.controls * sizeof *io->action);
    if (should_stop(e)) {
        return DS_STOPPED;
    }
    int finite = run_piece(e, e->x, p);
    io->cost_steps = (uint64_t)e->k.substeps;
    e->last_taken = p + 1;
    e->placed = -1;
    if (!finite) {
        io->outcome = DS_EVAL_DIVERGED;
        return DS_OK;
    }
    double running = score_state(e, RUNNING, p + 1), after = score_state(e, FINAL, p + 1);
    e->running[p + 1] = e->running[p] + (p + 1 < e->k.pieces ? running : 0);
    /* The sum of the last step is that of an episode, bit for bit. */
    io->loss = p + 1 < e->k.pieces ? e->running[p + 1] + after
                                   : e->running[p] + score_state(e, RUNNING | FINAL, p + 1);
    io->reward = before - after - running;
    io->outcome = isfinite(io->loss) ? DS_EVAL_OK : DS_EVAL_DIVERGED;
    return DS_OK;
}

static ds_status begin_back(void *self, uint64_t last)
{
    (void)last;
    clear_bars(self);
    return DS_OK;
}

static ds_status back_robot(void *self, ds_back *io)
{
    robot_env *e = self;
    const task *k = &e->k;
    const tree_bar bar = state_bar(e);
    int p = (int)io->step, end = (p + 1) * k->substeps;
    if (should_stop(e)) {
        return DS_STOPPED;
    }
    memset(e->x_bar, 0, e->kit.n * sizeof *e->x_bar);
    observe_bar(e, end, io->obs_bar);
    robot_score(e, RUNNING | FINAL, p, state_q(e, end), state_v(e, end), e->x, -io->reward_bar, &bar,
                e->x_bar);
    back_piece(e, e->x, p, e->x_bar);
    end -= k->substeps;
    robot_score(e, FINAL, p, state_q(e, end), state_v(e, end), e->x, io->reward_bar, &bar, NULL);
    memcpy(io->action_bar, e->x_bar + (size_t)p * (size_t)k->controls,
           (size_t)k->controls * sizeof *io->action_bar);
    io->cost_steps = 2 * (uint64_t)k->substeps;
    return DS_OK;
}

/* ---- scene ---- */

static void place_state(const robot_env *e, uint64_t k)
{
    robot_env *writable = (robot_env *)e; /* the kit gives place() a constant instance; this is a cache */
    int step = (int)k * e->k.substeps;
    if (e->placed != step) {
        tree_place(e->k.robot.tree, writable->work, state_q(e, step), state_v(e, step));
        writable->placed = step;
    }
}

/* A pose with z up, as a pose with y up. `along`: the shape has its axis along y there. */
static void write_pose(const double x[3], const double R[9], int along, double out[7])
{
    static const double to_scene[9] = {1, 0, 0, 0, 0, 1, 0, -1, 0};
    double T[9], S[9];
    mat3_mul(to_scene, R, T);
    if (along) {
        mat3_mult(T, to_scene, S);
    } else {
        memcpy(S, T, sizeof S);
    }
    const double four[4] = {1 + S[0] + S[4] + S[8], 1 + S[0] - S[4] - S[8], 1 - S[0] + S[4] - S[8],
                            1 - S[0] - S[4] + S[8]};
    int big = 0;
    for (int k = 1; k < 4; k++) {
        big = four[k] > four[big] ? k : big;
    }
    const double N[16] = {four[0],     S[7] - S[5], S[2] - S[6], S[3] - S[1], S[7] - S[5], four[1],
                          S[1] + S[3], S[2] + S[6], S[2] - S[6], S[1] + S[3], four[2],     S[5] + S[7],
                          S[3] - S[1], S[2] + S[6], S[5] + S[7], four[3]};
    mat3_apply(to_scene, x, out);
    for (int k = 0; k < 4; k++) {
        out[3 + k] = N[4 * big + k];
    }
    quat_normalise(out + 3);
}

static const char *body_name(robot_env *e, uint64_t b, const char *from, const char *kind)
{
    char *name = e->names[b];
    snprintf(name, sizeof e->names[b], "%s%llu_%.40s", kind, (unsigned long long)b, from);
    for (char *c = name; *c; c++) {
        *c = (char)(isalnum((unsigned char)*c) ? tolower((unsigned char)*c) : '_');
    }
    return name;
}

static int is_shown_target(const robot_env *e, const task_term *term)
{
    return term->what == TASK_POSITION && term->norm != TASK_SUM && term->axis[0] * term->axis[1] != 0 &&
           e->k.terms < TASK_MOST;
}

static void bodies_of_robot(void *self, ds_scene_kit *s)
{
    robot_env *e = self;
    const tree *t = e->k.robot.tree;
    double size = 0.02;
    for (int i = 0; i < t->shapes && s->info.bodies < 1000; i++) {
        const tree_shape *h = &t->shape[i];
        static const uint32_t kinds[] = {DS_BODY_SPHERE, DS_BODY_CAPSULE, DS_BODY_BOX, DS_BODY_CYLINDER};
        if (h->form == TREE_PLANE) {
            s->info.ground = h->rotation[8] > 0.999 ? h->at[2] : s->info.ground;
            continue;
        }
        if (!h->visible) {
            continue;
        }
        const tree_mesh *mesh = h->drawn;
        double numbers[4] = {mesh ? 0 : h->size[0], mesh ? 0 : h->size[1], mesh ? 0 : h->size[2], 0};
        if (h->form != TREE_BOX) {
            numbers[1] *= 2;
        }
        e->drawn[s->info.bodies] = i;
        uint64_t b = ds_scene_kit_body(
            s, body_name(e, s->info.bodies, h->link < 0 ? "world" : t->link[h->link].name, "b"),
            mesh ? DS_BODY_MESH : kinds[h->form], h->link < 0 ? DS_ROLE_FIXED : DS_ROLE_MATERIAL,
            mesh ? (uint64_t)mesh->points : 1, numbers);
        if (mesh) {
            ds_scene_kit_at(s, b)->index = mesh->triangle;
            ds_scene_kit_at(s, b)->index_count = 3 * (uint64_t)mesh->triangles;
        }
        ds_scene_kit_at(s, b)->variety = h->link < 0 ? 0 : (uint32_t)h->link % 4;
        size = fmax(size, 0.3 * h->size[0]);
    }
    e->first_target = s->info.bodies;
    for (int i = 0; i < e->k.terms && s->info.bodies < 1020; i++) {
        if (is_shown_target(e, &e->k.term[i])) {
            ds_scene_kit_body(s, body_name(e, s->info.bodies, e->k.term[i].name, "t"), DS_BODY_SPHERE,
                              DS_ROLE_TARGET, 1, (double[4]){size});
            const double *x = e->k.term[i].target;
            ds_scene_kit_include(s, x[0], x[2], -x[1], 3 * size);
        }
    }
    memcpy(e->q, e->k.q, (size_t)t->nq * sizeof *e->q);
    memcpy(e->v, e->k.v, (size_t)t->nv * sizeof *e->v);
    place_state(e, 0);
    e->placed = -1;
    for (int i = 0; i < t->shapes; i++) {
        const tree_shape *h = &t->shape[i];
        double x[3], v[3];
        if (h->form != TREE_PLANE) {
            tree_point(t, e->work, h->link, h->at, x, v);
            ds_scene_kit_include(s, x[0], x[2], -x[1], h->size[0] + h->size[1] + h->size[2] + 0.1);
        }
    }
    if (!(s->info.box[3] > s->info.box[0])) { /* nothing to see but the joints */
        ds_scene_kit_include(s, 0, 0, 0, 1);
    }
}

static void place_robot(const void *self, uint64_t k, uint64_t b, double *out)
{
    const robot_env *e = self;
    const tree *t = e->k.robot.tree;
    static const double straight[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    if (b >= e->first_target) {
        uint64_t seen = e->first_target;
        for (int i = 0; i < e->k.terms; i++) {
            if (is_shown_target(e, &e->k.term[i]) && seen++ == b) {
                write_pose(e->k.term[i].target, straight, 0, out);
            }
        }
        return;
    }
    const tree_shape *h = &t->shape[e->drawn[b]];
    double x[3], v[3], R[9];
    place_state(e, k);
    if (h->drawn) {
        for (int i = 0; i < h->drawn->points; i++) {
            double at[3];
            mat3_apply(h->rotation, h->drawn->point + 3 * i, at);
            vec3_add_scaled(at, 1, h->at);
            tree_point(t, e->work, h->link, at, x, v);
            out[3 * i] = x[0];
            out[3 * i + 1] = x[2];
            out[3 * i + 2] = -x[1];
        }
        return;
    }
    tree_point(t, e->work, h->link, h->at, x, v);
    mat3_mul(tree_rotation(e->work, h->link), h->rotation, R);
    write_pose(x, R, h->form != TREE_BOX, out);
}

static const ds_scene_kit_label metrics[] = {{"com_x", "m"},  {"com_y", "m"},         {"com_z", "m"},
                                             {"energy", "J"}, {"contact_force", "N"}, {"loss", ""},
                                             {NULL, NULL}};

static void measure_robot(void *self, uint64_t k, double *out)
{
    robot_env *e = self;
    const tree *t = e->k.robot.tree;
    int step = (int)k * e->k.substeps;
    double v[3], L[3];
    out[LOSS] = k ? score_state(e, FINAL, (int)k) : (double)NAN;
    tree_place(t, e->work, state_q(e, step), state_v(e, step));
    tree_centre(t, e->work, out + COM_X, v, L);
    out[ENERGY] = tree_energy(t, e->work, state_q(e, step), state_v(e, step));
    robot_inputs(e, e->x, (int)k < e->k.pieces ? (int)k : e->k.pieces - 1, 0);
    tree_forward(t, e->work, state_q(e, step), state_v(e, step),
                 &(tree_input){.tau = e->tau,
                               .target = e->target,
                               .contact = e->k.contact,
                               .implicit = e->k.rule == MOTION_EULER ? e->k.step : 0},
                 NULL);
    tree_touching(e->work, &out[FORCE]);
    e->placed = -1;
    ds_scene_kit_include(&e->kit.scene, out[COM_X], out[COM_Z], -out[COM_Y], 0.3);
}

/* ---- plugin ---- */

static const ds_env_table env = {.size = sizeof(robot_env),
                                 .cure =
                                     "reduce step, stiffness or the bounds of the controls in the task file",
                                 .advice = "reduce duration or raise step in the task file",
                                 .read = read_robot,
                                 .allocate = allocate_robot,
                                 .limit = 1,
                                 .range = range_of_robot,
                                 .variable = name_variable,
                                 .simulate = simulate_robot,
                                 .bad_step = bad_step_of_robot,
                                 .adjoint = adjoint_of_robot,
                                 .passes = 2,
                                 .rows = robot_lanes_rows,
                                 .rows_adjoint = 1,
                                 .metrics = metrics,
                                 .bodies = bodies_of_robot,
                                 .place = place_robot,
                                 .measure = measure_robot,
                                 .begin = begin_robot,
                                 .observe = observe_robot,
                                 .channels = channels_of_robot,
                                 .channel = channel_of_robot,
                                 .answer = answer_of_robot,
                                 .act = act_on_robot,
                                 .back_begin = begin_back,
                                 .back = back_robot,
                                 .hook_points = hooks_of_robot};

static const ds_desc desc = {
    BUNDLED_DESC("robot", "4"),
    .flags = DS_ENV_GRADIENT | DS_ENV_STOCHASTIC,
    .summary = "An articulated robot from a URDF or MJCF file and a task.",
    .description =
        "The task file names the model and gives start, controls, terms of the loss and decision variables. "
        "The variables are the controls of each control step, in [-1, 1] times their bounds, then the "
        "numbers "
        "of [variables].\n"
        "Dynamics by the articulated-body algorithm; contact by the law of Hunt and Crossley with "
        "regularised Coulomb friction, or by impulses that solve a complementarity problem. The gradient is "
        "exact, with impulses between changes of contact.\n"
        "Stepwise control with constant controls and without [variables]: observations are the positions and "
        "velocities of all joints, rewards the decrease of the terms at the end minus the terms of the "
        "step.\n"
        "Networks (parameter residual) add to the forces of the joints; they are evaluated once a step. "
        "[noise] of the task disturbs start, controls and observations.\n"
        "Metrics: centre of mass, energy, sum of the normal forces of contacts, the terms of the end as if "
        "the "
        "episode ended there.",
    .citation =
        "R. Featherstone: Rigid Body Dynamics Algorithms. Springer, 2008. E. Heiden, D. Millard, "
        "E. Coumans, Y. Sheng, G. Sukhatme: NeuralSim. ICRA 2021, arXiv:2011.04217. K. Werling et al., "
        "RSS 2021.",
};

DS_ENV_KIT_DEFINE(env, desc)
