/* SPDX-License-Identifier: Apache-2.0 */
/* smoke.h - smoke carried by a fluid on a periodic square grid (J. Stam: Stable Fluids, SIGGRAPH 1999), as in
 * gradSim (Jatavallabhula et al., ICLR 2021): a roll-out, its discrete adjoint and its tangent.
 *
 * Fields are N x N, element (i, j) at [i N + j]; vx moves along i, vy along j, in cells per step. One step:
 *     both velocities are carried by the velocity: f'(i, j) = bilinear f at (i - vx, j - vy)
 *     they are made nearly free of divergence, by `sweeps` Jacobi sweeps for the pressure
 *     the smoke is carried by the new velocity
 * No step makes the velocity larger (in the sum of squares) or the smoke leave the range of its values, so a
 * roll-out cannot diverge; neither conserves smoke. Results are the same to the last bit on all instruction
 * sets. */
#ifndef DS_ENGINES_SMOKE_H
#define DS_ENGINES_SMOKE_H

#include <diffsim/helper/memory.h>
#include <diffsim/host.h>

enum { SMOKE_LEAST = 4, SMOKE_MOST = 512 }; /* N */

/* Velocities beyond this are refused, cells per step. */
#define SMOKE_FASTEST 1e6

/* The three fields of a state, of derivatives of a loss by it, or of a direction. The caller's, N x N
 * each. */
typedef struct smoke_state {
    double *vx, *vy, *density;
} smoke_state;

typedef struct smoke smoke;

/* Memory for roll-outs of up to `steps` steps, taken of `m`: about 24 (N + 8)^2 (steps + 1) bytes. Kernels
 * for `isa` ("baseline", "avx2", "avx512"), or where that is NULL for what the environment variable DS_ISA
 * says, or for the best of this machine; what a machine lacks is replaced by the next lower one. `host` is
 * asked now and then whether to stop; may be NULL. NULL where there is no memory, or no such set. */
smoke *smoke_create(ds_memory *m, size_t n, size_t sweeps, uint64_t steps, const char *isa,
                    const ds_host *host);

/* Simulates `steps` steps and keeps all states. Returns 0 where an element of `start` is not finite or faster
 * than SMOKE_FASTEST; nothing is simulated then. */
int smoke_simulate(smoke *s, const smoke_state *start, uint64_t steps);

/* Whether the host ended the last roll-out or sweep, whose results are then incomplete. */
int smoke_stopped(const smoke *s);

/* Copies the state before step t (t = steps: the final one); fields that are NULL are left out. */
void smoke_get(const smoke *s, uint64_t t, const smoke_state *out);

/* Reverse sweep over steps from .. to - 1 of the last roll-out. In: `bar`, the derivatives of a loss by state
 * `to`. Out: by state `from`. A loss of several frames is swept from frame to frame, adding in between. */
void smoke_adjoint(smoke *s, uint64_t from, uint64_t to, const smoke_state *bar);

/* Forward sweep: `dot`, in: the direction of state `from`, out: of state `to`. */
void smoke_tangent(smoke *s, uint64_t from, uint64_t to, const smoke_state *dot);

/* Name of the instruction set in use. */
const char *smoke_isa(const smoke *s);

/* Bytes that it holds. */
size_t smoke_bytes(const smoke *s);

#endif
