/* SPDX-License-Identifier: Apache-2.0 */
/* robot_residuals.c - residuals of environment robot and products with their Jacobian (robot_env.h). */
#include "envs/robot/robot_env.h"

#include <string.h>

static double dot(size_t n, const double *a, const double *b)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

static int numbers_of(const robot_env *e, const task_term *term)
{
    switch (term->what) {
    case TASK_TURN:
    case TASK_JOINT:
    case TASK_RATE:
        return 1;
    case TASK_EFFORT:
        return e->k.controls;
    case TASK_RECORDING:
        return term->columns;
    default:
        return 3;
    }
}

/* Residuals of the state after control step p. */
int robot_residuals_at(const robot_env *e, int p)
{
    int n = 0;
    for (int i = 0; i < e->k.terms; i++) {
        n += robot_term_weight(e, &e->k.term[i], robot_terms_at(e, p), p) > 0 ? numbers_of(e, &e->k.term[i])
                                                                              : 0;
    }
    return n;
}

/* Sets their number, 0 unless they are the whole loss. Returns the largest one of a control step. */
static int count_residuals(robot_env *e)
{
    const ds_hybrid *h = &e->kit.hybrid;
    int64_t count = 0;
    int most = 0;
    e->residuals = 0;
    for (int i = 0; i < e->k.terms; i++) {
        if (e->k.term[i].norm != TASK_SQUARE || e->k.term[i].weight < 0 || h->l1 > 0 || h->l2 > 0) {
            return 0;
        }
    }
    for (int p = 0; p < e->k.pieces; p++) {
        int here = robot_residuals_at(e, p);
        count += here;
        most = here > most ? here : most;
    }
    e->residuals = count <= DS_MAX_ELEMENTS ? (int)count : 0;
    return most;
}

/* out = residuals of the state after control step p; returns how many. */
int robot_residuals(robot_env *e, int p, double *out)
{
    int n = 0, end = (p + 1) * e->k.substeps;
    tree_place(e->k.robot.tree, e->work, state_q(e, end), state_v(e, end));
    for (int i = 0; i < e->k.terms; i++) {
        double root = sqrt(robot_term_weight(e, &e->k.term[i], robot_terms_at(e, p), p));
        int m =
            root > 0 ? robot_errors(e, &e->k.term[i], p, state_q(e, end), state_v(e, end), e->x, out + n) : 0;
        for (int k = 0; k < m; k++) {
            out[n + k] *= root;
        }
        n += m;
    }
    return n;
}

/* Adds the derivatives of w . r for the residuals r of control step p; x_bar: by its controls. */
void robot_residuals_bar(robot_env *e, int p, const double *w, const tree_bar *bar, double *x_bar)
{
    const tree *t = e->k.robot.tree;
    int end = (p + 1) * e->k.substeps;
    tree_place(t, e->work, state_q(e, end), state_v(e, end));
    tree_bar_open(t, e->work, bar);
    for (int i = 0; i < e->k.terms; i++) {
        double root = sqrt(robot_term_weight(e, &e->k.term[i], robot_terms_at(e, p), p)),
               error_bar[TASK_MOST];
        int m = root > 0 ? numbers_of(e, &e->k.term[i]) : 0;
        for (int k = 0; k < m; k++) {
            error_bar[k] = root * w[k];
        }
        if (m > 0) {
            robot_errors_bar(e, &e->k.term[i], error_bar, bar, x_bar);
        }
        w += m;
    }
    tree_bar_close(t, e->work);
}

/* out = the change of the residuals of control step p along the changes q_bar, v_bar and number_bar, and
 * x_dot of the controls: each residual has a row of derivatives. */
void robot_residuals_dot(robot_env *e, int p, const double *x_dot, double *out)
{
    const size_t nv = (size_t)e->k.robot.tree->nv, numbers = (size_t)e->k.robot.tree->numbers,
                 controls = (size_t)e->k.controls;
    double *by_v = e->row + nv, *by_number = by_v + nv, *by_x = by_number + numbers, *unit = by_x + controls;
    const tree_bar bar = {.q = e->row, .v = by_v, .number = e->k.variables > 0 ? by_number : NULL};
    int count = robot_residuals_at(e, p);
    x_dot += (size_t)p * controls;
    for (int i = 0; i < count; i++) {
        memset(e->row, 0, (2 * nv + numbers + controls + (size_t)count) * sizeof *e->row);
        unit[i] = 1;
        robot_residuals_bar(e, p, unit, &bar, by_x);
        out[i] = dot(nv, e->row, e->q_bar) + dot(nv, by_v, e->v_bar) +
                 dot(numbers, by_number, e->number_bar) + dot(controls, by_x, x_dot);
    }
}

void robot_residuals_allocate(robot_env *e)
{
    const tree *t = e->k.robot.tree;
    const int most = count_residuals(e);
    e->row = ds_memory_doubles(&e->kit.memory, (size_t)(2 * t->nv + t->numbers + e->k.controls + most) + 1);
}
