/* SPDX-License-Identifier: Apache-2.0 */
/* control.h - open-loop controllers of gradSim (K. M. Jatavallabhula et al., ICLR 2021): a layer of weights
 * on sinusoids and tanh,
 *     act_e(t) = scale tanh(sum_p W_gp sin(rate t + phase_p)),  g = group_e,
 * for elements e of a deformable body at the times t = step dt, with its adjoint.
 *
 * tanh is our own and the same for every instruction set; the sinusoids come from the C library, computed
 * once. One thread per object; arrays come from a ds_memory. */
#ifndef DS_ENGINES_CONTROL_CONTROL_H
#define DS_ENGINES_CONTROL_CONTROL_H

#include <diffsim/helper/memory.h>

typedef struct control_options {
    size_t elements, groups; /* groups = 0: each element has its own weights */
    const uint32_t *group;   /* [elements], each < groups; copied; NULL where groups = 0 */
    size_t phases;           /* 1..CONTROL_MOST_PHASES */
    const double *phase;     /* rad, [phases]; copied */
    double rate;             /* rad/s */
    double scale;            /* largest activation */
    double dt;               /* s */
    uint64_t steps;
    int tunable;     /* scale, rate and phases change: control_tune() */
    const char *isa; /* NULL: the best, or that of DS_ISA; "baseline", "avx2", "avx512" */
} control_options;

enum { CONTROL_MOST_PHASES = 1024 };

typedef struct control control;

/* Returns NULL without memory (room->failed) or for invalid options. */
control *control_open(ds_memory *room, const control_options *o);

/* Number of weights: (groups or elements) times phases. */
size_t control_weights(const control *c);
/* Sets W[group][phase]. */
void control_set(control *c, const double *weights);

/* Writes the activations of a step, act[elements]. */
void control_activate(control *c, uint64_t step, double *act);

/* Derivatives by the weights: clear, add the steps in any order, each after control_activate() of the same
 * step, then read W_bar[group][phase]. */
void control_clear(control *c);
void control_adjoint(control *c, uint64_t step, const double *act_bar);
void control_gradient(const control *c, double *weights_bar);

/* Change of the activations of a step along weights_dot and numbers_dot (either may be NULL); call after
 * control_activate() of the step. */
void control_tangent(control *c, uint64_t step, const double *weights_dot, const double *numbers_dot,
                     double *act_dot);

/* Of a tunable controller: scale, rate, then the phases. Sets them (NULL: as opened), after which the weights
 * are as before; their derivatives, summed like those by the weights. */
enum { CONTROL_SCALE, CONTROL_RATE, CONTROL_PHASE };
void control_tune(control *c, const double *numbers);
void control_tune_gradient(const control *c, double *numbers_bar);
/* The numbers as opened, NULL if it is not tunable; how many there are. */
const double *control_numbers(const control *c);
size_t control_count(const control *c);

/* Writes the phases of a scene and returns the rate: gear sin(2.5 (t + p pi/4)), walker sin(20 t + 2 pi p/8),
 * jellyfish sin(10 t + 2 pi p/8); sin and cos if `phases` is 2. */
double control_gear_phases(size_t phases, double *phase);
double control_walker_phases(size_t phases, double *phase);
double control_jellyfish_phases(size_t phases, double *phase);

#endif
