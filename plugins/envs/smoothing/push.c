/* SPDX-License-Identifier: Apache-2.0 */
/* push.c - a force pushes a block, which pushes another one to its goal: the stiffer the contact, the worse
 * are first-order estimates under noise (Suh et al., ICML 2022, figures 5 and 8). */
#include "engines/kit/bundled.h"
#include "engines/physics/smoothing/blocks.h"
#include "engines/physics/smoothing/plain.h"

static const char *const sets[] = {"k10", "k100", "k1000", "variance", NULL};

static const ds_param *const params[] = {
    DS_ENUM("set", "k10", sets,
            "Default k, keep and steps: 10, 0.998, 400; 100, 0.998, 200; 1000, 0.99, 200; variance: 1e5, "
            "0.6, 30, for the study of variances over k.",
            .flags = DS_PARAM_SHAPE),
    BLOCKS_PARAMS,
    SOFTNESS_PARAMS("width", "none", "0.01", "m"),
    SOFTNESS_BACKWARD_PARAMS("0.1", "m"),
    OPEN_LOOP_PARAMS(4, "x1, x2, v1, v2"),
    NULL};

static void read_push(void *self, ds_param_reader *in)
{
    static const double k[] = {10, 100, 1000, 1e5}, keep[] = {0.998, 0.998, 0.99, 0.6};
    static const uint64_t steps[] = {400, 200, 200, 30};
    blocks *e = self;
    const int64_t set = ds_param_int(in, "set");
    e->k = k[set];
    e->keep = keep[set];
    blocks_read(e, in,
                &(open_loop_usual){.steps = steps[set],
                                   .h = 0.005,
                                   .start = {0, 1, 0, 0},
                                   .goal = {1, 2, 0, 0},
                                   .q = {0.1, 10, 0.1, 0.1},
                                   .qd = {0.1, 10, 0.1, 0.1},
                                   .r = {1},
                                   .guess = 0.1});
}

static const ds_env_table env = {.size = sizeof(blocks),
                                 .read = read_push,
                                 .simulate = open_loop_simulate,
                                 .adjoint = open_loop_adjoint,
                                 BLOCKS_TABLE};

static const ds_desc desc = {
    BUNDLED_DESC("push", "2"),
    .flags = DS_ENV_GRADIENT,
    .summary = "Push a block with a block, through contact of any stiffness.",
    .description = "Variables: the force u on block 1 in each step. Contact pushes the blocks apart with k "
                   "ramp(-gap), gap = x2 - x1 - 1. The loss is the sum of (x - goal)' Q (x - goal) + R u^2 "
                   "over the steps, plus the last state with Qd.\nUnder noise the variance of first-order "
                   "estimates grows with k, that of zeroth-order estimates does not.\nDefaults: h 0.005, "
                   "start 0, 1, 0, 0, goal 1, 2, 0, 0, Q = Qd = 0.1, 10, 0.1, 0.1, R 1.\nMetrics: x1, x2, "
                   "gap, contact force, u and cost of the step that starts at the frame.",
    .citation = SMOOTHING_SUH,
};

DS_ENV_KIT_DEFINE(env, desc)
