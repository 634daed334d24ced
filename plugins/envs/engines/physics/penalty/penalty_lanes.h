/* SPDX-License-Identifier: Apache-2.0 */
/* penalty_lanes.h - kernels for particles with hard penalty contact side by side, one in each lane of a vector
 * (engines/kit/lanes.h). */
#ifndef DS_ENGINES_PENALTY_LANES_H
#define DS_ENGINES_PENALTY_LANES_H

#include "penalty.h"

enum { PENALTY_RECORD = 7 }; /* vectors of a record: step, lanes that it concerns, x0, x1, v */

typedef struct penalty_lanes {
    const char *isa;
    uint64_t width;
    /* penalty_lanes_simulate() and penalty_lanes_adjoint(). record: room for steps x width records, or NULL;
     * returns their number. x and v: 3 x width. */
    uint64_t (*simulate)(const penalty_params *p, uint64_t steps, double *record, double *x, double *v);
    void (*adjoint)(const penalty_params *p, uint64_t steps, const double *record, uint64_t records,
                    double *x_bar, double *v_bar);
} penalty_lanes;

#endif
