/* SPDX-License-Identifier: Apache-2.0 */
/* push_far.c - the blocks of push with a gap between them: without contact there is no gradient, unless the
 * loss measures the smallest gap, or the force or the gradient acts at a distance. */
#include "engines/kit/bundled.h"
#include "engines/physics/smoothing/blocks.h"
#include "engines/physics/smoothing/softness.h"
#include "engines/physics/smoothing/plain.h"

#include <string.h>

static const ds_param *const params[] = {
    DS_REAL("target", "3", -1e6, 1e6, "m", "Goal of block 2 at the end."),
    PROXIMITY_PARAMS("the blocks", "0.01"),
    BLOCKS_PARAMS,
    SOFTNESS_PARAMS("width", "none", "0.1", "m"),
    SOFTNESS_BACKWARD_PARAMS("0.1", "m"),
    OPEN_LOOP_PARAMS(4, "x1, x2, v1, v2"),
    NULL};

typedef struct far {
    blocks blocks; /* must be first */
    proximity near;
    proximity_seen seen; /* gaps, last episode */
    double *more;        /* derivatives by the states */
} far;

/* ---- proximity ---- */

static double gap_at(const far *e, uint64_t t)
{
    return blocks_gap(open_loop_state(&e->blocks.loop, t));
}

static double term_of_far(void *self)
{
    far *e = self;
    e->seen = (proximity_seen){0};
    for (uint64_t t = 0; t <= e->blocks.loop.kit.steps; t++) {
        proximity_add(&e->near, &e->seen, gap_at(e, t));
    }
    const double distance = proximity_distance(&e->near, &e->seen);
    return e->near.weight * distance * distance;
}

static const double *term_back_of_far(void *self)
{
    far *e = self;
    const uint64_t steps = e->blocks.loop.kit.steps;
    const double outer = 2 * e->near.weight * proximity_distance(&e->near, &e->seen);
    for (uint64_t t = 0; t <= steps; t++) {
        const double bar = outer * proximity_slope(&e->near, &e->seen, t, gap_at(e, t));
        double *more = e->more + t * BLOCKS_STATES;
        memset(more, 0, BLOCKS_STATES * sizeof *more);
        more[BLOCKS_X2] = bar;
        more[BLOCKS_X1] = -bar;
    }
    return e->more;
}

/* ---- plugin ---- */

static void read_far(void *self, ds_param_reader *in)
{
    far *e = self;
    const double target = ds_param_real(in, "target");
    proximity_read(&e->near, in);
    e->blocks.k = 1000;
    e->blocks.keep = 0.99;
    blocks_read(
        &e->blocks, in,
        &(open_loop_usual){
            .steps = 200, .h = 0.005, .start = {0, 2, 0, 0}, .goal = {0, target, 0, 0}, .qd = {0, 1, 0, 0}});
    e->blocks.loop.kit.max_rows = e->near.weight > 0 ? 1 : e->blocks.loop.kit.max_rows;
    if (e->near.weight > 0) {
        e->blocks.loop.term = term_of_far;
        e->blocks.loop.term_back = term_back_of_far;
    }
    e->more = ds_memory_doubles(&e->blocks.loop.kit.memory, (e->blocks.loop.kit.steps + 1) * BLOCKS_STATES);
}

static const ds_env_table env = {.size = sizeof(far),
                                 .read = read_far,
                                 .simulate = open_loop_simulate,
                                 .adjoint = open_loop_adjoint,
                                 BLOCKS_TABLE};

static const ds_desc desc = {
    BUNDLED_DESC("push_far", "2"),
    .flags = DS_ENV_GRADIENT,
    .summary = "Push a block that is far away: no contact, no gradient.",
    .description =
        "Variables: the force u on block 1 in each step. Block 2 lies 1 m away and should end 1 m farther: "
        "loss (x2 - target)^2 + contact_loss x gap^2. Without force the gradient is exactly 0.\nFour "
        "remedies: contact_loss > 0 (smallest gap of the blocks), softness (a force at a distance), "
        "contact_grad = distance (only the gradient uses such a force; its kind is `smoothed`, since it is "
        "not the derivative of the loss), and noise of the optimizer.\nDefaults: h 0.005, 200 steps, k 1000, "
        "keep 0.99, start 0, 2, 0, 0; Q = 0, Qd = 0, 1, 0, 0, R = 0. The goal of q and qd is 0, target, 0, "
        "0.\nMetrics: x1, x2, gap, contact force, u and quadratic cost of the step that starts at the frame.",
    .citation = SMOOTHING_HUANG " " SMOOTHING_SUH,
};

DS_ENV_KIT_DEFINE(env, desc)
