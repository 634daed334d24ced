/* SPDX-License-Identifier: Apache-2.0 */
/* robot_lanes.c - episodes of environment robot side by side (robot_env.h). */
#include "envs/robot/robot_env.h"

#include "engines/kit/norm.h"

#include <string.h>

/* Whether episodes of this task can be simulated side by side: impulses are not, as their sets of contacts
 * differ, nor networks. Their states take room. */
static int fits_lanes(const robot_env *e, uint64_t width)
{
    const uint64_t most = (uint64_t)64 << 20;
    const tree *t = e->k.robot.tree;
    const uint64_t states = (uint64_t)e->k.pieces * (uint64_t)e->k.substeps + 1;
    return e->k.contact != TREE_COMPLEMENTARITY && e->kit.hybrid.nets == 0 && width <= LANES_MOST &&
           states * (uint64_t)(t->nq + t->nv) * width * sizeof(double) <= most;
}

void robot_lanes_allocate(robot_env *e)
{
    robot_lanes *a = &e->lanes;
    const motion_lanes *kernel = motion_lanes_find();
    const tree *t = e->k.robot.tree;
    ds_memory *m = &e->kit.memory;
    e->kit.max_rows = 1;
    if (!fits_lanes(e, kernel->width)) {
        return;
    }
    const size_t states = (size_t)e->k.pieces * (size_t)e->k.substeps + 1, nv = (size_t)t->nv + 1;
    const size_t controls = numbers_of_controls(e) + 1;
    const struct {
        double **to;
        size_t count;
    } rooms[] = {{&a->q, states * (size_t)t->nq + 1},
                 {&a->v, states * nv},
                 {&a->last_q[0], (size_t)t->nq + 1},
                 {&a->last_q[1], (size_t)t->nq + 1},
                 {&a->last_v[0], nv},
                 {&a->last_v[1], nv},
                 {&a->u, controls},
                 {&a->x_bar, controls},
                 {&a->tau, nv},
                 {&a->target, nv},
                 {&a->tau_bar, nv},
                 {&a->target_bar, nv},
                 {&a->q_bar, nv},
                 {&a->v_bar, nv},
                 {&a->number_bar, (size_t)t->numbers + 1}};
    for (size_t k = 0; k < sizeof rooms / sizeof *rooms; k++) {
        *rooms[k].to = lanes_memory(m, rooms[k].count, kernel->width);
    }
    for (uint64_t lane = 0; lane < kernel->width; lane++) {
        a->number[lane] = ds_memory_doubles(m, (size_t)t->numbers + 1);
    }
    a->room = kernel->create(m, t);
    a->kernel = kernel;
    e->kit.max_rows = 0;
}

/* one[count] = the numbers of a lane; back with put_lane(). */
static void take_lane(const robot_env *e, uint64_t lane, const double *all, int count, double *one)
{
    for (int k = 0; k < count; k++) {
        one[k] = all[(uint64_t)k * e->lanes.kernel->width + lane];
    }
}

static void put_lane(const robot_env *e, uint64_t lane, const double *one, int count, double *all)
{
    for (int k = 0; k < count; k++) {
        all[(uint64_t)k * e->lanes.kernel->width + lane] = one[k];
    }
}

/* The states after simulation step `at`: all are kept for a gradient. */
static double *lanes_q(const robot_env *e, const lanes_group *g, int at)
{
    const size_t row = (size_t)e->k.robot.tree->nq * e->lanes.kernel->width;
    return g->graded ? e->lanes.q + (size_t)at * row : e->lanes.last_q[at % 2];
}

static double *lanes_v(const robot_env *e, const lanes_group *g, int at)
{
    const size_t row = (size_t)e->k.robot.tree->nv * e->lanes.kernel->width;
    return g->graded ? e->lanes.v + (size_t)at * row : e->lanes.last_v[at % 2];
}

/* Numbers of the models, starts and controls with their noise. */
static void begin_lanes(robot_env *e, const lanes_group *g)
{
    robot_lanes *a = &e->lanes;
    const tree *t = e->k.robot.tree;
    const size_t controls = decided(e), all = numbers_of_controls(e);
    for (uint64_t lane = 0; lane < a->kernel->width; lane++) {
        const double *x = controls > 0 ? g->x[lane] : e->x;
        robot_set_variables(e, g->x[lane] + controls);
        robot_set_noise(e, g->io[lane]->noise_key);
        memcpy(a->number[lane], t->number, (size_t)t->numbers * sizeof *t->number);
        put_lane(e, lane, e->q, t->nq, lanes_q(e, g, 0));
        put_lane(e, lane, e->v, t->nv, lanes_v(e, g, 0));
        for (size_t i = 0; i < all; i++) {
            a->u[i * a->kernel->width + lane] = x[i] + e->shake[i];
        }
        a->bad[lane] = 0;
        g->io[lane]->loss = 0;
    }
    a->kernel->numbers(t, a->room, a->number);
}

/* robot_inputs() and robot_inputs_bar() of all lanes. */
static void lanes_inputs(robot_env *e, int piece, int s)
{
    const task *k = &e->k;
    const tree *t = k->robot.tree;
    const robot_lanes *a = &e->lanes;
    const size_t width = a->kernel->width;
    memset(a->tau, 0, (size_t)t->nv * width * sizeof *a->tau);
    for (size_t i = 0; i < (size_t)t->nv * width; i++) {
        a->target[i] = e->rest_target[i / width];
    }
    for (int c = 0; c < k->controls; c++) {
        const task_control *at = &k->control[c];
        double *to = (at->position ? a->target : a->tau) + (size_t)t->link[at->link].v * width;
        double y[LANES_MOST] = {0};
        for (int i = 0; i < 4; i++) {
            const double *u = a->u + (size_t)(neighbour(e, piece, i) * k->controls + c) * width;
            for (size_t lane = 0; e->weight[s][i] > 0 && lane < width; lane++) {
                y[lane] += e->weight[s][i] * u[lane];
            }
        }
        for (size_t lane = 0; lane < width; lane++) {
            to[lane] += at->gear * (at->lower + 0.5 * (y[lane] + 1) * (at->upper - at->lower));
        }
    }
}

static void lanes_inputs_bar(robot_env *e, int piece, int s)
{
    const task *k = &e->k;
    const tree *t = k->robot.tree;
    const robot_lanes *a = &e->lanes;
    const size_t width = a->kernel->width, bytes = (size_t)t->nv * width * sizeof(double);
    for (int c = 0; c < k->controls; c++) {
        const task_control *at = &k->control[c];
        const double *of = (at->position ? a->target_bar : a->tau_bar) + (size_t)t->link[at->link].v * width;
        for (int i = 0; i < 4; i++) {
            double *to = a->x_bar + (size_t)(neighbour(e, piece, i) * k->controls + c) * width;
            for (size_t lane = 0; e->weight[s][i] > 0 && lane < width; lane++) {
                to[lane] += e->weight[s][i] * (of[lane] * at->gear * 0.5 * (at->upper - at->lower));
            }
        }
    }
    memset(a->tau_bar, 0, bytes);
    memset(a->target_bar, 0, bytes);
}

/* robot_score() of one lane, after control step p; `graded`: with the derivatives of the lane. */
static double lane_score(robot_env *e, const lanes_group *g, uint64_t lane, int p, int graded)
{
    robot_lanes *a = &e->lanes;
    const task *k = &e->k;
    tree *t = k->robot.tree;
    const int end = (p + 1) * k->substeps, which = robot_terms_at(e, p);
    const size_t row = (size_t)p * (size_t)k->controls;
    double *own = t->number, *x_bar = a->x_bar + row * a->kernel->width;
    const double *x = decided(e) > 0 ? g->x[lane] : e->x;
    if (!robot_terms_count(e, which, p)) {
        return 0;
    }
    const tree_bar bar = state_bar(e);
    take_lane(e, lane, lanes_q(e, g, end), t->nq, e->seen_q);
    take_lane(e, lane, lanes_v(e, g, end), t->nv, e->seen_v);
    t->number = a->number[lane];
    if (graded) {
        take_lane(e, lane, a->q_bar, t->nv, e->q_bar);
        take_lane(e, lane, a->v_bar, t->nv, e->v_bar);
        take_lane(e, lane, a->number_bar, bar.number != NULL ? t->numbers : 0, e->number_bar);
        take_lane(e, lane, x_bar, k->controls, e->x_bar + row);
    }
    const double loss = robot_score(e, which, p, e->seen_q, e->seen_v, x, graded, graded ? &bar : NULL,
                                    graded ? e->x_bar : NULL);
    if (graded) {
        put_lane(e, lane, e->q_bar, t->nv, a->q_bar);
        put_lane(e, lane, e->v_bar, t->nv, a->v_bar);
        put_lane(e, lane, e->number_bar, bar.number != NULL ? t->numbers : 0, a->number_bar);
        put_lane(e, lane, e->x_bar + row, k->controls, x_bar);
    }
    t->number = own;
    return loss;
}

/* The states after control step p are finite, or the episode in this lane has diverged. */
static int is_finite_lane(robot_env *e, const lanes_group *g, uint64_t lane, int p)
{
    const tree *t = e->k.robot.tree;
    const int end = (p + 1) * e->k.substeps;
    take_lane(e, lane, lanes_q(e, g, end), t->nq, e->seen_q);
    take_lane(e, lane, lanes_v(e, g, end), t->nv, e->seen_v);
    return all_finite((size_t)t->nq, e->seen_q) && all_finite((size_t)t->nv, e->seen_v);
}

static motion_lanes_step lanes_step(const robot_env *e, const lanes_group *g, int at)
{
    const robot_lanes *a = &e->lanes;
    return (motion_lanes_step){.rule = e->k.rule,
                               .contact = e->k.contact,
                               .h = e->k.step,
                               .tau = a->tau,
                               .target = a->target,
                               .q = lanes_q(e, g, at),
                               .v = lanes_v(e, g, at)};
}

static ds_status simulate_lanes(robot_env *e, const lanes_group *g)
{
    const task *k = &e->k;
    robot_lanes *a = &e->lanes;
    begin_lanes(e, g);
    for (int p = 0; p < k->pieces; p++) {
        if (should_stop(e)) {
            return DS_STOPPED;
        }
        for (int s = 0; s < k->substeps; s++) {
            const int at = p * k->substeps + s;
            motion_lanes_step step = lanes_step(e, g, at);
            step.q_next = lanes_q(e, g, at + 1);
            step.v_next = lanes_v(e, g, at + 1);
            if (s == 0 || k->shape != TASK_CONSTANT) {
                lanes_inputs(e, p, s);
            }
            a->kernel->step(k->robot.tree, a->room, &step);
        }
        int left = 0;
        for (uint64_t lane = 0; lane < g->count; lane++) {
            a->bad[lane] = a->bad[lane] || !is_finite_lane(e, g, lane, p);
            g->io[lane]->loss += a->bad[lane] ? (double)INFINITY : lane_score(e, g, lane, p, 0);
            left += !a->bad[lane];
        }
        if (left == 0) {
            break;
        }
    }
    return DS_OK;
}

/* The adjoint of all lanes; the derivatives of episodes that diverged are not used. */
static ds_status reverse_lanes(robot_env *e, const lanes_group *g)
{
    const task *k = &e->k;
    const tree *t = k->robot.tree;
    robot_lanes *a = &e->lanes;
    const size_t width = a->kernel->width, nv = (size_t)t->nv * width, controls = decided(e);
    memset(a->q_bar, 0, nv * sizeof *a->q_bar);
    memset(a->v_bar, 0, nv * sizeof *a->v_bar);
    memset(a->tau_bar, 0, nv * sizeof *a->tau_bar);
    memset(a->target_bar, 0, nv * sizeof *a->target_bar);
    memset(a->number_bar, 0, (size_t)t->numbers * width * sizeof *a->number_bar);
    memset(a->x_bar, 0, numbers_of_controls(e) * width * sizeof *a->x_bar);
    for (int p = k->pieces - 1; p >= 0; p--) {
        if (should_stop(e)) {
            return DS_STOPPED;
        }
        for (uint64_t lane = 0; lane < g->count; lane++) {
            if (!a->bad[lane]) {
                lane_score(e, g, lane, p, 1);
            }
        }
        for (int s = k->substeps - 1; s >= 0; s--) {
            motion_lanes_step step = lanes_step(e, g, p * k->substeps + s);
            step.q_bar = a->q_bar;
            step.v_bar = a->v_bar;
            step.tau_bar = a->tau_bar;
            step.target_bar = a->target_bar;
            step.number_bar = k->variables > 0 ? a->number_bar : NULL;
            if (s == k->substeps - 1 || k->shape != TASK_CONSTANT) {
                lanes_inputs(e, p, s);
            }
            a->kernel->adjoint(t, a->room, &step);
            if (s == 0 || k->shape != TASK_CONSTANT) {
                lanes_inputs_bar(e, p, s);
            }
        }
    }
    for (uint64_t lane = 0; lane < g->count; lane++) {
        take_lane(e, lane, a->x_bar, (int)controls, g->grad[lane]);
        take_lane(e, lane, a->q_bar, t->nv, e->q_bar);
        take_lane(e, lane, a->v_bar, t->nv, e->v_bar);
        take_lane(e, lane, a->number_bar, t->numbers, e->number_bar);
        robot_variables_bar(e, g->x[lane] + controls, g->grad[lane] + controls);
    }
    return DS_OK;
}

ds_status robot_lanes_rows(void *self, uint64_t count, ds_eval *const *io)
{
    robot_env *e = self;
    const uint64_t width = e->lanes.kernel->width;
    ds_status status = DS_OK;
    e->stopped = 0;
    e->placed = -1;
    for (uint64_t k = 0; status == DS_OK && k < count; k += width) {
        const lanes_group g = lanes_take(width, count - k, io + k);
        status = simulate_lanes(e, &g);
        status = status == DS_OK && g.graded ? reverse_lanes(e, &g) : status;
    }
    return status;
}
