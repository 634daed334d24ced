/* SPDX-License-Identifier: Apache-2.0 */
/* robot_loss.c - the terms of the loss of environment robot, with derivatives (robot_env.h). */
#include "envs/robot/robot_env.h"

#include "engines/kit/algebra/mat3.h"
#include "engines/kit/norm.h"

#include <string.h>

/* The control step after which a term counts. */
static int piece_of(const robot_env *e, const task_term *term)
{
    int p = (int)ceil(term->when / (e->k.step * e->k.substeps) - 1e-6) - 1;
    return p < 0 ? 0 : p >= e->k.pieces ? e->k.pieces - 1 : p;
}

double robot_term_weight(const robot_env *e, const task_term *term, int which, int p)
{
    if (term->when < 0) {
        return which & RUNNING ? term->weight / e->k.pieces : 0;
    }
    int at = piece_of(e, term), final = at == e->k.pieces - 1;
    if (final) {
        return which & FINAL ? term->weight : 0;
    }
    return (which & RUNNING) && at == p ? term->weight : 0;
}

int robot_terms_count(const robot_env *e, int which, int p)
{
    for (int i = 0; i < e->k.terms; i++) {
        if (robot_term_weight(e, &e->k.term[i], which, p) != 0) {
            return 1;
        }
    }
    return 0;
}

/* Row r and the share of row r + 1 of a recording. */
static int row_at(const task_term *term, double time, double *share)
{
    int r = 0, n = term->columns + 1;
    while (r < term->rows - 2 && term->table[(r + 1) * n] <= time) {
        r++;
    }
    double from = term->table[r * n], to = term->table[(r + 1) * n];
    *share = clamp((time - from) / (to - from), 0, 1);
    return r;
}

int robot_errors(robot_env *e, const task_term *term, int p, const double *q, const double *v,
                 const double *x, double *out)
{
    const tree *t = e->k.robot.tree;
    double a[3], b[3], L[3], share;
    const double *value = a;
    int n = 3;
    switch (term->what) {
    case TASK_POSITION:
    case TASK_VELOCITY:
        tree_point(t, e->work, term->link, term->at, a, b);
        value = term->what == TASK_POSITION ? a : b;
        break;
    case TASK_SPIN:
        tree_spin(e->work, term->link, a);
        break;
    case TASK_COM:
    case TASK_COM_RATE:
        tree_centre(t, e->work, a, b, L);
        value = term->what == TASK_COM ? a : b;
        break;
    case TASK_TURN:
        out[0] = 3;
        for (int k = 0; k < 9; k++) {
            out[0] -= term->target[k] * tree_rotation(e->work, term->link)[k];
        }
        return 1;
    case TASK_JOINT:
        out[0] = q[t->link[term->joint].q] - term->target[0];
        return 1;
    case TASK_RATE:
        out[0] = v[t->link[term->joint].v] - term->target[0];
        return 1;
    case TASK_EFFORT:
        memcpy(out, x + (size_t)p * (size_t)e->k.controls, (size_t)e->k.controls * sizeof *out);
        return e->k.controls;
    case TASK_RECORDING:
        n = row_at(term, (p + 1) * e->k.step * e->k.substeps, &share);
        for (int k = 0; k < term->columns; k++) {
            const double *row = term->table + n * (term->columns + 1) + 1 + k;
            out[k] = q[t->link[term->column[k]].q] - (1 - share) * row[0] - share * row[term->columns + 1];
        }
        return term->columns;
    }
    for (int k = 0; k < 3; k++) {
        out[k] = term->axis[k] * (value[k] - term->target[k]);
    }
    return n;
}

void robot_errors_bar(robot_env *e, const task_term *term, const double *out_bar, const tree_bar *bar,
                      double *x_bar)
{
    static const double none[3];
    const tree *t = e->k.robot.tree;
    double value_bar[3] = {0};
    for (int k = 0; k < 3 && term->what != TASK_TURN; k++) {
        value_bar[k] = term->axis[k] * out_bar[k];
    }
    switch (term->what) {
    case TASK_POSITION:
        tree_point_bar(t, e->work, term->link, term->at, value_bar, none);
        break;
    case TASK_VELOCITY:
        tree_point_bar(t, e->work, term->link, term->at, none, value_bar);
        break;
    case TASK_SPIN:
        tree_turn_bar(e->work, term->link, none, value_bar);
        break;
    case TASK_COM:
        tree_centre_bar(t, e->work, value_bar, none);
        break;
    case TASK_COM_RATE:
        tree_centre_bar(t, e->work, none, value_bar);
        break;
    case TASK_TURN: {
        double A[9]; /* trace(target' [w] R) = -w . (A32 - A23, A13 - A31, A21 - A12) with A = R target' */
        mat3_mult(tree_rotation(e->work, term->link), term->target, A);
        const double turn[3] = {out_bar[0] * (A[7] - A[5]), out_bar[0] * (A[2] - A[6]),
                                out_bar[0] * (A[3] - A[1])};
        tree_turn_bar(e->work, term->link, turn, none);
        break;
    }
    case TASK_JOINT:
        bar->q[t->link[term->joint].v] += out_bar[0];
        break;
    case TASK_RATE:
        bar->v[t->link[term->joint].v] += out_bar[0];
        break;
    case TASK_EFFORT:
        for (int c = 0; x_bar && c < e->k.controls; c++) {
            x_bar[c] += out_bar[c];
        }
        break;
    case TASK_RECORDING:
        for (int k = 0; k < term->columns; k++) {
            bar->q[t->link[term->column[k]].v] += out_bar[k];
        }
        break;
    }
}

double robot_score(robot_env *e, int which, int p, const double *q, const double *v, const double *x,
                   double scale, const tree_bar *bar, double *x_bar)
{
    double sum = 0, error[TASK_MOST], error_bar[TASK_MOST];
    int placed = 0;
    for (int i = 0; i < e->k.terms; i++) {
        const task_term *term = &e->k.term[i];
        double weight = robot_term_weight(e, term, which, p), value = 0;
        if (weight == 0) {
            continue;
        }
        if (!placed) {
            tree_place(e->k.robot.tree, e->work, q, v);
            placed = 1;
            if (bar) {
                tree_bar_open(e->k.robot.tree, e->work, bar);
            }
        }
        int n = robot_errors(e, term, p, q, v, x, error);
        double norm = term->norm == TASK_DISTANCE ? norm_of((size_t)n, error, error_bar) : 0;
        for (int k = 0; k < n; k++) {
            value += term->norm == TASK_SQUARE ? error[k] * error[k] : term->norm == TASK_SUM ? error[k] : 0;
            double slope = term->norm == TASK_SQUARE ? 2 * error[k]
                           : term->norm == TASK_SUM  ? 1
                                                     : error_bar[k];
            error_bar[k] = scale * weight * slope;
        }
        sum += weight * (term->norm == TASK_DISTANCE ? norm : value);
        if (bar) {
            robot_errors_bar(e, term, error_bar, bar,
                             x_bar ? x_bar + (size_t)p * (size_t)e->k.controls : NULL);
        }
    }
    if (placed && bar) {
        tree_bar_close(e->k.robot.tree, e->work);
    }
    return sum;
}
