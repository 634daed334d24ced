/* SPDX-License-Identifier: Apache-2.0 */
/* balance.h - a pole on a cart that is pushed left or right, as CartPole-v1 of Gymnasium: kernels for many
 * episodes side by side (engines/kit/lanes.h); balance_step.h has the equations. */
#ifndef DS_ENGINES_BALANCE_H
#define DS_ENGINES_BALANCE_H

#include <stdint.h>

typedef struct balance_lanes {
    const char *isa;
    uint64_t width;
    /* Simulates `width` episodes of at most `steps` pushes action[lane][step], until the pole of each has
     * fallen. state: x, v, theta, omega at the start (`width` each); lived: the pushes of each. */
    void (*simulate)(uint64_t steps, const double *const *action, const double *state, double *lived);
    /* One push of `width` episodes. state: as above, before the push; then after it. fallen: 1 where the pole
     * has fallen, else 0. */
    void (*push)(const double *action, double *state, double *fallen);
} balance_lanes;

/* The kernels of this machine. */
const balance_lanes *balance_lanes_find(void);

#endif
