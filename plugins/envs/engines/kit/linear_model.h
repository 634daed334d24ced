/* SPDX-License-Identifier: Apache-2.0 */
/* linear_model.h - channels with the linear model of an episode and of its cost, for methods such as iLQR. T
 * steps, x of n numbers, u of m, which are the variables of the step, in their units:
 *
 *     state             (T + 1) x n
 *     state_jacobian    T x n x n: d x_(t+1) / d x_t
 *     control_jacobian  T x n x m: d x_(t+1) / d u_t
 *     cost_gradient     (T + 1) x (n + m): of the cost of a step by x and u; the last state has no u: zeros
 *     cost_hessian      (T + 1) x (n + m): its second derivatives, a diagonal; or (T + 1) x (n + m) x (n + m)
 *
 * Instead of second derivatives that are not positive, cost_hessian holds those of squares: (d r)' (d r) of a
 * cost r'r/2 (Gauss, Newton), and (d r)' (d r) / |r| of a cost |r|, which bounds it from above where r is
 * linear.
 * The costs of all steps and of the last state add up to the loss, up to a constant. Where stepwise control
 * observes as many numbers as the state has, the observation is the state. */
#ifndef DS_ENGINES_LINEAR_MODEL_H
#define DS_ENGINES_LINEAR_MODEL_H

#include <diffsim/helper/env_kit.h>

enum { MODEL_STATE, MODEL_STATE_JACOBIAN, MODEL_CONTROL_JACOBIAN, MODEL_COST_GRADIENT, MODEL_COST_HESSIAN };
enum { MODEL_CHANNELS = MODEL_COST_HESSIAN + 1 };

/* Describes channel i, for ds_env_table.channel. `full`: of all pairs, not of a diagonal. */
static inline void linear_model_describe_as(uint64_t i, uint64_t T, uint64_t n, uint64_t m, int full,
                                            ds_channel *out)
{
    static const struct {
        const char *name, *doc;
    } texts[MODEL_CHANNELS] = {
        {"state", "States of an episode, the first one included."},
        {"state_jacobian", "Derivatives of the state after each step by the state before it."},
        {"control_jacobian", "Derivatives of the state after each step by its control."},
        {"cost_gradient",
         "Derivatives of the cost of each step, and of the last state, by state and control."},
        {"cost_hessian",
         "Its second derivatives, or positive ones in their place; a diagonal if of rank 2."}};
    out->role = DS_CHANNEL_STATE;
    out->ops = DS_CAN(DS_QUERY_VALUE);
    out->name = texts[i].name;
    out->doc = texts[i].doc;
    out->unit = "";
    const int of_step = i == MODEL_STATE_JACOBIAN || i == MODEL_CONTROL_JACOBIAN;
    out->ndim = of_step || (full && i == MODEL_COST_HESSIAN) ? 3 : 2;
    out->shape[0] = of_step ? T : T + 1;
    out->shape[1] = i == MODEL_COST_GRADIENT || i == MODEL_COST_HESSIAN ? n + m : n;
    out->shape[2] = i == MODEL_COST_HESSIAN ? n + m : i == MODEL_STATE_JACOBIAN ? n : m;
}

static inline void linear_model_describe(uint64_t i, uint64_t T, uint64_t n, uint64_t m, ds_channel *out)
{
    linear_model_describe_as(i, T, n, m, 0, out);
}

#endif
