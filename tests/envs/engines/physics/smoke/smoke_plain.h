/* SPDX-License-Identifier: Apache-2.0 */
/* smoke_plain.h - reference implementation of smoke.h: cell by cell, as the equations read, without borders
 * and kernels. */
#ifndef DS_TEST_SMOKE_PLAIN_H
#define DS_TEST_SMOKE_PLAIN_H

#include "engines/physics/smoke/smoke.h"

/* Simulates `steps` steps from `start` to `end`. If bar is not NULL, turns the derivatives in it by the final
 * state into derivatives by the start. Returns 0 without memory. */
int smoke_plain(size_t n, size_t sweeps, uint64_t steps, const smoke_state *start, const smoke_state *end,
                const smoke_state *bar);

/* Makes velocities nearly divergence-free; `work` has room for 3 n n numbers. */
void smoke_plain_project(size_t n, size_t sweeps, double *vx, double *vy, double *work);

#endif
