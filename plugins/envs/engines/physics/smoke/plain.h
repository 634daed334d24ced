/* SPDX-License-Identifier: Apache-2.0 */
/* plain.h - the simulation of smoke.h without borders, kernels or stored trajectories that are shared with
 * it: cell by cell, as the equations stand. The oracle of the fast one. */
#ifndef DS_ENGINES_SMOKE_PLAIN_H
#define DS_ENGINES_SMOKE_PLAIN_H

#include "smoke.h"

/* `steps` steps from `start`; the final state to `end`. Where bar is not NULL, it holds the derivatives of
 * a loss by the final state, and gets those by the start. Returns 0 without memory. */
int smoke_plain(size_t n, size_t sweeps, uint64_t steps, const smoke_state *start, const smoke_state *end,
                const smoke_state *bar);

/* Makes velocities nearly free of divergence; `work` has room for 3 n n numbers. */
void smoke_plain_project(size_t n, size_t sweeps, double *vx, double *vy, double *work);

#endif
