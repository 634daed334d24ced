/* SPDX-License-Identifier: Apache-2.0 */
/* robot_controls.c - controls, numbers of the model and noise of environment robot (robot_env.h). */
#include "envs/robot/robot_env.h"

#include "engines/kit/decision.h"

#include <diffsim/helper/random.h>
#include <math.h>
#include <string.h>

void robot_inputs(robot_env *e, const double *x, int piece, int s)
{
    const task *k = &e->k;
    const tree *t = k->robot.tree;
    memset(e->tau, 0, (size_t)t->nv * sizeof *e->tau);
    memcpy(e->target, e->rest_target, (size_t)t->nv * sizeof *e->target);
    for (int c = 0; c < k->controls; c++) {
        const task_control *a = &k->control[c];
        double y = 0;
        for (int i = 0; i < 4; i++) {
            if (e->weight[s][i] > 0) {
                int at = neighbour(e, piece, i) * k->controls + c;
                y += e->weight[s][i] * (x[at] + e->shake[at]);
            }
        }
        double u = a->lower + 0.5 * (y + 1) * (a->upper - a->lower);
        (a->position ? e->target : e->tau)[t->link[a->link].v] += a->gear * u;
    }
}

void robot_inputs_bar(robot_env *e, int piece, int s, double *x_bar)
{
    const task *k = &e->k;
    const tree *t = k->robot.tree;
    for (int c = 0; c < k->controls; c++) {
        const task_control *a = &k->control[c];
        double y_bar = (a->position ? e->target_bar : e->tau_bar)[t->link[a->link].v] * a->gear * 0.5 *
                       (a->upper - a->lower);
        for (int i = 0; i < 4; i++) {
            if (e->weight[s][i] > 0) {
                x_bar[neighbour(e, piece, i) * k->controls + c] += e->weight[s][i] * y_bar;
            }
        }
    }
    memset(e->tau_bar, 0, (size_t)t->nv * sizeof *e->tau_bar);
    memset(e->target_bar, 0, (size_t)t->nv * sizeof *e->target_bar);
}

void robot_inputs_dot(robot_env *e, int piece, int s, const double *x_dot)
{
    const task *k = &e->k;
    const tree *t = k->robot.tree;
    memset(e->tau_bar, 0, (size_t)t->nv * sizeof *e->tau_bar);
    memset(e->target_bar, 0, (size_t)t->nv * sizeof *e->target_bar);
    for (int c = 0; c < k->controls; c++) {
        const task_control *a = &k->control[c];
        double y = 0;
        for (int i = 0; i < 4; i++) {
            y += e->weight[s][i] * x_dot[neighbour(e, piece, i) * k->controls + c];
        }
        (a->position ? e->target_bar : e->tau_bar)[t->link[a->link].v] +=
            a->gear * 0.5 * y * (a->upper - a->lower);
    }
}

void robot_set_variables(robot_env *e, const double *x)
{
    const task *k = &e->k;
    tree *t = k->robot.tree;
    memcpy(t->number, e->number, (size_t)t->numbers * sizeof *e->number);
    memcpy(e->q, k->q, (size_t)t->nq * sizeof *e->q);
    memcpy(e->v, k->v, (size_t)t->nv * sizeof *e->v);
    for (int i = 0; i < k->variables; i++) {
        const task_variable *y = &k->variable[i];
        double value = y->log ? exp(decision_ln10 * x[i]) : x[i];
        *(y->number >= 0 ? &t->number[y->number] : y->q >= 0 ? &e->q[y->q] : &e->v[y->v]) = value;
    }
    tree_couple(t, e->q, e->v);
}

void robot_set_noise(robot_env *e, uint64_t key)
{
    const task *k = &e->k;
    const tree *t = k->robot.tree;
    e->key = key;
    if (key == 0) {
        memset(e->shake, 0, numbers_of_controls(e) * sizeof *e->shake);
        return;
    }
    ds_random start = ds_random_open(key, "start", 0), control = ds_random_open(key, "control", 0);
    for (int i = 0; i < e->joints && k->noise_start > 0; i++) {
        e->q[t->link[e->joint[i]].q] += k->noise_start * ds_random_normal(&start);
    }
    for (int i = 0; i < t->nv && k->noise_rate > 0; i++) {
        e->v[i] += k->noise_rate * ds_random_normal(&start);
    }
    tree_couple(t, e->q, e->v);
    for (int i = 0; i < k->pieces * k->controls && k->noise_control > 0; i++) {
        e->shake[i] = k->noise_control * ds_random_normal(&control);
    }
}

static int velocity_of_position(const tree *t, int q)
{
    int i = 0;
    while (t->link[i].q != q || t->link[i].nq == 0) {
        i++;
    }
    return t->link[i].v;
}

void robot_variables_bar(robot_env *e, const double *x, double *grad)
{
    const task *k = &e->k;
    tree_couple_bar(k->robot.tree, e->q_bar, e->v_bar);
    for (int i = 0; i < k->variables; i++) {
        const task_variable *y = &k->variable[i];
        double bar = y->number >= 0 ? e->number_bar[y->number]
                     : y->q >= 0    ? e->q_bar[velocity_of_position(k->robot.tree, y->q)]
                                    : e->v_bar[y->v];
        grad[i] = y->log ? bar * decision_ln10 * exp(decision_ln10 * x[i]) : bar;
    }
}

void robot_variables_dot(const robot_env *e, const double *x, const double *x_dot)
{
    const task *k = &e->k;
    for (int i = 0; i < k->variables; i++) {
        const task_variable *y = &k->variable[i];
        *(y->number >= 0 ? &e->number_bar[y->number]
          : y->q >= 0    ? &e->q_bar[velocity_of_position(k->robot.tree, y->q)]
                         : &e->v_bar[y->v]) =
            y->log ? x_dot[i] * decision_ln10 * exp(decision_ln10 * x[i]) : x_dot[i];
    }
    tree_couple_dot(k->robot.tree, e->q_bar, e->v_bar);
}
