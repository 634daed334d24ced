/* SPDX-License-Identifier: Apache-2.0 */
/* motion_lanes.h - steps of several robots side by side (motion.h), with the bits of the steps of one.
 *
 * Arrays hold `width` numbers, of one robot each, for every number of motion.h: number k of lane i is
 * [k * width + i]. They are aligned for vectors: lanes_memory(). Contact is compliant or absent. */
#ifndef DS_ENGINES_ARTICULATED_MOTION_LANES_H
#define DS_ENGINES_ARTICULATED_MOTION_LANES_H

#include <diffsim/helper/memory.h>
#include <stdint.h>

struct tree;

/* What a step acts on; the adjoint: derivatives, where number may be NULL. */
typedef struct motion_lanes_step {
    int rule, contact; /* motion_rule, tree_law */
    double h;
    const double *tau, *target;
    const double *q, *v;                       /* before the step */
    double *q_next, *v_next;                   /* after it; unused by the adjoint */
    double *q_bar, *v_bar;                     /* as in motion_adjoint() */
    double *tau_bar, *target_bar, *number_bar; /* are added to */
} motion_lanes_step;

/* The functions of an instruction set. */
typedef struct motion_lanes {
    const char *name;
    uint64_t width;
    /* Room for steps of `t`; NULL without memory. */
    void *(*create)(ds_memory *m, const struct tree *t);
    /* Sets the numbers of the model in every lane from arrays that remain valid. */
    void (*numbers)(const struct tree *t, void *room, double *const *number);
    void (*step)(const struct tree *t, void *room, const motion_lanes_step *s);
    void (*adjoint)(const struct tree *t, void *room, const motion_lanes_step *s);
} motion_lanes;

/* The functions for this machine. */
const motion_lanes *motion_lanes_find(void);

#endif
