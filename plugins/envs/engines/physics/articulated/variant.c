/* SPDX-License-Identifier: Apache-2.0 */
/* variant.c - steps of several robots side by side (motion_lanes.h), compiled for each instruction set with
 * the kernels of real.h: LANES_ISA is its name, VECTOR_LANES its width. */
#include "engines/physics/articulated/motion_lanes.h"

#include "engines/physics/articulated/motion.h"
#include "engines/physics/articulated/tree/tree_lane.h"
#include "engines/physics/articulated/tree/tree_lanes.h"

static void *create(ds_memory *m, const tree *t)
{
    motion *s = motion_create(m, t);
    return s != NULL && tree_lanes_create(m, t, motion_work(s)) ? s : NULL;
}

static void set_numbers(const tree *t, void *room, double *const *number)
{
    tree_work *w = motion_work(room);
    for (int k = 0; k < t->numbers; k++) {
        w->number[k] = lanes_load((const double *const *)number, (uint64_t)k);
    }
    for (int lane = 0; lane < VECTOR_LANES; lane++) {
        tree_lane_number(w->lane, lane, number[lane]);
    }
}

static tree_input input_of(const motion_lanes_step *s)
{
    return (tree_input){
        .tau = (const real *)s->tau, .target = (const real *)s->target, .contact = (tree_law)s->contact};
}

static void step(const tree *t, void *room, const motion_lanes_step *s)
{
    const tree_input in = input_of(s);
    motion_step(t, room, (motion_rule)s->rule, s->h, &in, (const real *)s->q, (const real *)s->v,
                (real *)s->q_next, (real *)s->v_next);
}

static void adjoint(const tree *t, void *room, const motion_lanes_step *s)
{
    const tree_input in = input_of(s);
    const tree_bar bar = {
        .tau = (real *)s->tau_bar, .target = (real *)s->target_bar, .number = (real *)s->number_bar};
    motion_adjoint(t, room, (motion_rule)s->rule, s->h, &in, (const real *)s->q, (const real *)s->v,
                   (real *)s->q_bar, (real *)s->v_bar, &bar);
}

ISA_DEFINE(motion_lanes) = {ISA_NAME(LANES_ISA), VECTOR_LANES, create, set_numbers, step, adjoint};
