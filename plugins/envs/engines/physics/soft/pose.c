/* SPDX-License-Identifier: Apache-2.0 */
/* pose.c - position and rotation of all particles together as variables (see pose.h). */
#include "engines/physics/soft/pose.h"

#include <math.h>

int body_is_pose(body_variable_kind kind)
{
    return kind == BODY_VARIABLE_POSITION || kind == BODY_VARIABLE_TURN;
}

/* out = the rotation about x, then y, then z; for axis 0, 1 or 2 its derivative by that angle. */
static void rotation(const double angle[3], int axis, double out[9])
{
    double c[3], s[3], one[3] = {1, 1, 1};
    for (int i = 0; i < 3; i++) {
        c[i] = i == axis ? -sin(angle[i]) : cos(angle[i]);
        s[i] = i == axis ? cos(angle[i]) : sin(angle[i]);
        one[i] = i == axis ? 0 : 1;
    }
    const double x[9] = {one[0], 0, 0, 0, c[0], -s[0], 0, s[0], c[0]};
    const double y[9] = {c[1], 0, s[1], 0, one[1], 0, -s[1], 0, c[1]};
    const double z[9] = {c[2], -s[2], 0, s[2], c[2], 0, 0, 0, one[2]};
    double yx[9];
    for (int i = 0; i < 9; i++) {
        const int r = i / 3, k = i % 3;
        yx[i] = y[3 * r] * x[k] + y[3 * r + 1] * x[3 + k] + y[3 * r + 2] * x[6 + k];
    }
    for (int i = 0; i < 9; i++) {
        const int r = i / 3, k = i % 3;
        out[i] = z[3 * r] * yx[k] + z[3 * r + 1] * yx[3 + k] + z[3 * r + 2] * yx[6 + k];
    }
}

/* The variables of `kind`, or NULL if it was not picked. */
static const double *values_of(const body_variables *set, body_variable_kind kind, const double *x)
{
    for (uint64_t i = 0; i < set->count; i++) {
        if (set->item[i]->kind == kind) {
            return x + set->at[i];
        }
    }
    return NULL;
}

/* Position of particle i relative to the mean position, rotated. */
static void turned(const body_variables *set, const double turn[9], size_t i, double out[3])
{
    const double *q = set->truth.q + 3 * i, *c = set->middle;
    for (int d = 0; d < 3; d++) {
        out[d] =
            turn[3 * d] * (q[0] - c[0]) + turn[3 * d + 1] * (q[1] - c[1]) + turn[3 * d + 2] * (q[2] - c[2]);
    }
}

void body_pose_apply(const body_variables *set, const double *x)
{
    static const double none[3];
    const double *move = values_of(set, BODY_VARIABLE_POSITION, x),
                 *angle = values_of(set, BODY_VARIABLE_TURN, x);
    double turn[9], arm[3];
    if (move == NULL && angle == NULL) {
        return;
    }
    rotation(angle != NULL ? angle : none, -1, turn);
    for (size_t i = 0; i < set->model->particles; i++) {
        turned(set, turn, i, arm);
        for (int d = 0; d < 3; d++) {
            set->model->q[3 * i + d] = set->middle[d] + arm[d] + (move != NULL ? move[d] : 0);
        }
    }
}

void body_pose_gather(const body_variables *set, uint64_t i, const double *x, const double *bar, double *grad)
{
    const size_t n = set->model->particles;
    double turn[9], arm[3];
    for (int d = 0; d < 3; d++) {
        if (set->item[i]->kind == BODY_VARIABLE_TURN) {
            rotation(x + set->at[i], d, turn);
        }
        for (size_t p = 0; p < n; p++) {
            if (set->item[i]->kind == BODY_VARIABLE_POSITION) {
                grad[d] += bar[3 * p + d];
                continue;
            }
            turned(set, turn, p, arm);
            grad[d] += bar[3 * p] * arm[0] + bar[3 * p + 1] * arm[1] + bar[3 * p + 2] * arm[2];
        }
    }
}

void body_pose_spread(const body_variables *set, uint64_t i, const double *x, const double *v, double *dot)
{
    const size_t n = set->model->particles;
    double turn[9], arm[3];
    for (size_t j = 0; set->item[i]->kind == BODY_VARIABLE_POSITION && j < 3 * n; j++) {
        dot[j] += v[j % 3];
    }
    for (int axis = 0; set->item[i]->kind == BODY_VARIABLE_TURN && axis < 3; axis++) {
        rotation(x + set->at[i], axis, turn);
        for (size_t p = 0; p < n; p++) {
            turned(set, turn, p, arm);
            for (int d = 0; d < 3; d++) {
                dot[3 * p + d] += v[axis] * arm[d];
            }
        }
    }
}
