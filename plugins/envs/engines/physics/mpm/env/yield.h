/* SPDX-License-Identifier: Apache-2.0 */
/* A network in the yield stress of the plasticine: hook points, and what the simulation asks of it. Source:
 * E. Heiden et al., "NeuralSim", ICRA 2021, for the wiring; where it is put in is ours. */
#ifndef MPM_ENV_YIELD_H
#define MPM_ENV_YIELD_H

#include "engines/physics/mpm/sim/material.h"

#include <diffsim/helper/hybrid.h>
#include <diffsim/helper/memory.h>
#include <stdbool.h>

typedef struct mpm_net {
    mpm_yield yield; /* for mpm_material.yield */
    const ds_hybrid *hybrid;
    double stress, mu; /* Pa; of the scene */
    const double *weights;
    double *tape;  /* [MPM_PARTS][hybrid->tape] */
    double *w_bar; /* [MPM_PARTS][hybrid->variables] */
} mpm_net;

/* Fills `out`; returns their number. */
uint64_t mpm_net_hooks(ds_hook *out);

/* Takes memory of `room`; `hybrid` must outlive the net. stress, mu: yield stress and shear modulus in Pa.
 * False when there is no memory. */
bool mpm_net_open(mpm_net *net, const ds_hybrid *hybrid, double stress, double mu, ds_memory *room);

/* Before an episode: its weights, which must stay until the episode is over. */
void mpm_net_begin(mpm_net *net, const double *weights);

/* After one with gradient: adds the derivatives by the weights to grad. The sum does not depend on
 * the threads. */
void mpm_net_gradient(const mpm_net *net, double *grad);

#endif
