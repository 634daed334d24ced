/* SPDX-License-Identifier: Apache-2.0 */
/* chain_lanes.h - kernels for chains side by side, one in each lane of a vector (engines/kit/lanes.h). */
#ifndef DS_ENGINES_CHAIN_LANES_H
#define DS_ENGINES_CHAIN_LANES_H

#include "chain.h"

/* The constants of the equations of motion (chain.c). */
typedef struct chain_law {
    chain_params p;
    double A[CHAIN_MAX_LINKS][CHAIN_MAX_LINKS], b[CHAIN_MAX_LINKS], M0;
} chain_law;

typedef struct chain_lanes {
    const char *isa;
    uint64_t width;
    /* chain_lanes_simulate() and chain_lanes_adjoint() of `width` episodes. `tape` has a record of `width`
     * doubles per number for each of steps + 1 states; without `keep` only the first two are used. */
    void (*simulate)(const chain_law *law, const chain_table *t, const chain_state *start, double *tape,
                     int keep, chain_state *end);
    void (*adjoint)(const chain_law *law, const chain_table *t, const double *tape, const chain_state *bar,
                    double *const *grad);
} chain_lanes;

#endif
