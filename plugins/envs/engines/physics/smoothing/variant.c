/* SPDX-License-Identifier: Apache-2.0 */
/* variant.c - open-loop episodes side by side (open_lanes.h), compiled for each instruction set: LANES_ISA is
 * its name, VECTOR_LANES its width. The order of all sums is that of rollout.c. */
#include "engines/kit/lanes.h"

#define real vec
#define real_mask vec_bits
#define real_choose vec_choose
#include "open_step.h"

OPEN_INLINE vec squares(const open_law *l, const double *weight, const vec *x, const int states)
{
    vec sum = {0};
    for (int i = 0; i < states; i++) {
        const vec d = x[i] - l->goal[i];
        sum += weight[i] * d * d;
    }
    return sum;
}

OPEN_INLINE void run(const open_law *l, const double *const *u, double *tape, double *cost, const int system,
                     const int states, const int controls)
{
    vec x[OPEN_STATES], sum = {0};
    for (int i = 0; i < states; i++) {
        x[i] = vec_all(l->start[i]);
    }
    for (uint64_t t = 0; t < l->steps; t++) {
        vec next[OPEN_STATES], control[OPEN_CONTROLS], effort = {0};
        for (int i = 0; i < controls; i++) {
            control[i] = lanes_load(u, t * (uint64_t)controls + (uint64_t)i);
            effort += l->r[i] * control[i] * control[i];
        }
        for (int i = 0; tape != NULL && i < states; i++) {
            vec_store(tape + (t * (uint64_t)states + (uint64_t)i) * VECTOR_LANES, x[i]);
        }
        sum += squares(l, l->q, x, states) + effort;
        if (system == OPEN_BLOCKS) {
            const vec overlap = -blocks_gap_of(x);
            blocks_move(l, x, control[0], l->k * vec_only((vec_bits)(overlap > 0.0), overlap), next);
        } else if (system == OPEN_WALLS) {
            walls_move(l, x, control[0], next);
        } else {
            discs_move(l, x, control, next);
        }
        for (int i = 0; i < states; i++) {
            x[i] = next[i];
        }
    }
    for (int i = 0; tape != NULL && i < states; i++) {
        vec_store(tape + (l->steps * (uint64_t)states + (uint64_t)i) * VECTOR_LANES, x[i]);
    }
    vec_store(cost, sum + squares(l, l->qd, x, states));
}

OPEN_INLINE void reverse(const open_law *l, const double *const *u, const double *tape, double *const *grad,
                         const int system, const int states, const int controls)
{
    const double *at = tape + l->steps * (uint64_t)states * VECTOR_LANES;
    vec bar[OPEN_STATES];
    for (int i = 0; i < states; i++) {
        bar[i] = 2 * l->qd[i] * (vec_load(at + i * VECTOR_LANES) - l->goal[i]) + 0.0;
    }
    for (uint64_t t = l->steps; t-- > 0;) {
        vec x[OPEN_STATES], x_bar[OPEN_STATES], control[OPEN_CONTROLS], u_bar[OPEN_CONTROLS];
        for (int i = 0; i < controls; i++) {
            control[i] = lanes_load(u, t * (uint64_t)controls + (uint64_t)i);
            u_bar[i] = 2 * l->r[i] * control[i];
        }
        at -= states * VECTOR_LANES;
        for (int i = 0; i < states; i++) {
            x[i] = vec_load(at + i * VECTOR_LANES);
            x_bar[i] = 2 * l->q[i] * (x[i] - l->goal[i]);
        }
        if (system == OPEN_BLOCKS) {
            const vec pull = vec_only((vec_bits)(-blocks_gap_of(x) > 0.0), vec_all(1));
            blocks_reverse(l, pull, bar, x_bar, u_bar);
        } else if (system == OPEN_WALLS) {
            walls_reverse(l, x, bar, x_bar, u_bar);
        } else {
            vec next[2];
            const vec moves = l->h * vec_only(~discs_block(l, x, control, next), vec_all(1));
            for (int i = 0; i < 2; i++) {
                x_bar[i] += bar[i];
                u_bar[i] += moves * bar[i];
            }
        }
        for (int i = 0; i < states; i++) {
            bar[i] = x_bar[i];
        }
        for (int i = 0; i < controls; i++) {
            lanes_store(grad, t * (uint64_t)controls + (uint64_t)i, u_bar[i]);
        }
    }
}

static void simulate(const open_law *l, const double *const *u, double *tape, double *cost)
{
    const open_law law = *l; /* nothing that is written can change it */
    if (l->system == OPEN_BLOCKS) {
        run(&law, u, tape, cost, OPEN_BLOCKS, 4, 1);
    } else if (l->system == OPEN_WALLS) {
        run(&law, u, tape, cost, OPEN_WALLS, 2, 1);
    } else {
        run(&law, u, tape, cost, OPEN_DISCS, 2, 2);
    }
}

static void adjoint(const open_law *l, const double *const *u, const double *tape, double *const *grad)
{
    const open_law law = *l;
    if (l->system == OPEN_BLOCKS) {
        reverse(&law, u, tape, grad, OPEN_BLOCKS, 4, 1);
    } else if (l->system == OPEN_WALLS) {
        reverse(&law, u, tape, grad, OPEN_WALLS, 2, 1);
    } else {
        reverse(&law, u, tape, grad, OPEN_DISCS, 2, 2);
    }
}

ISA_DEFINE(open_lanes) = {ISA_NAME(LANES_ISA), VECTOR_LANES, simulate, adjoint};
