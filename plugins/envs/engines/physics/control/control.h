/* SPDX-License-Identifier: Apache-2.0 */
/* control.h - open-loop controllers of gradSim (K. M. Jatavallabhula et al., ICLR 2021): a layer of
 * weights on sinusoids and tanh,
 *     act_e(t) = scale tanh(sum_p W_gp sin(rate t + phase_p)),  g = group_e,
 * for elements e of a deformable body, at the times t = step dt, with its adjoint.
 *
 * tanh is our own and the same for every instruction set; the sinusoids are those of the C library,
 * computed once. An object belongs to one thread; its arrays are of a `memory`. */
#ifndef DS_ENGINES_CONTROL_CONTROL_H
#define DS_ENGINES_CONTROL_CONTROL_H

#include <diffsim/helper/memory.h>

typedef struct control_options {
    size_t elements, groups; /* groups = 0: each element has weights of its own */
    const uint32_t *group;   /* [elements], each < groups; copied; NULL where groups = 0 */
    size_t phases;           /* 1..CONTROL_MOST_PHASES */
    const double *phase;     /* rad, [phases]; copied */
    double rate;             /* rad/s */
    double scale;            /* the most that an activation can be */
    double dt;               /* s */
    uint64_t steps;
    const char *isa; /* NULL: the best, or that of DS_ISA; "plain", "baseline", "avx2", "avx512" */
} control_options;

enum { CONTROL_MOST_PHASES = 1024 };

typedef struct control control;

/* NULL where there is no memory (room->failed), or where the options make no sense. */
control *control_open(ds_memory *room, const control_options *o);

/* How many weights there are: (groups or elements) times phases. */
size_t control_weights(const control *c);
/* W[group][phase]. */
void control_set(control *c, const double *weights);

/* Activations of a step: act[elements]. */
void control_activate(control *c, uint64_t step, double *act);

/* Derivatives by the weights: clear, then add the steps in any order (control_activate() of the same step has
 * come right before), then read W_bar[group][phase]. */
void control_clear(control *c);
void control_adjoint(control *c, uint64_t step, const double *act_bar);
void control_gradient(const control *c, double *weights_bar);

/* Variation of the activations of a step for that of the weights; after control_activate() of the step. */
void control_tangent(control *c, uint64_t step, const double *weights_dot, double *act_dot);

/* Phases of the scenes: sin(2.5 (t + p pi/4)) of the gear; sin(20 t + 2 pi p/8) of the walker; sin and cos,
 * where `phases` is 2. `phase` gets them, the rate is returned. */
double control_gear_phases(size_t phases, double *phase);
double control_walker_phases(size_t phases, double *phase);

#endif
