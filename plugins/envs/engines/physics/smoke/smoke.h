/* SPDX-License-Identifier: Apache-2.0 */
/* smoke.h - smoke carried by a fluid on a periodic square grid (J. Stam: Stable Fluids, SIGGRAPH 1999), as in
 * gradSim (Jatavallabhula et al., ICLR 2021): simulation, discrete adjoint and tangent.
 *
 * Fields are N x N, element (i, j) at [i N + j]; vx moves along i, vy along j, in cells per step. One step:
 *     the velocity carries both velocities: f'(i, j) = bilinear f at (i - vx, j - vy)
 *     `sweeps` Jacobi sweeps for the pressure make them nearly divergence-free
 *     the new velocity carries the smoke
 * No step increases the velocity (in the sum of squares) or moves the smoke out of the range of its values,
 * so a simulation cannot diverge; neither conserves smoke. All instruction sets give the same bits. */
#ifndef DS_ENGINES_SMOKE_H
#define DS_ENGINES_SMOKE_H

#include <diffsim/helper/memory.h>
#include <diffsim/host.h>

enum { SMOKE_LEAST = 4, SMOKE_MOST = 512 }; /* N */

/* Faster velocities are refused, cells per step. */
#define SMOKE_FASTEST 1e6

/* The three fields of a state, of derivatives by it, or of a direction, N x N each, owned by the caller. */
typedef struct smoke_state {
    double *vx, *vy, *density;
} smoke_state;

typedef struct smoke smoke;

/* Allocates from `m` for up to `steps` steps: about 24 (N + 8)^2 (steps + 1) bytes. `isa` names the kernels
 * ("baseline", "avx2", "avx512"); NULL takes the environment variable DS_ISA, or the best set of this
 * machine; a missing set is replaced by the next lower one. `host` (may be NULL) is polled for stop requests.
 * Returns NULL without memory or for an unknown set. */
smoke *smoke_create(ds_memory *m, size_t n, size_t sweeps, uint64_t steps, const char *isa,
                    const ds_host *host);

/* Simulates `steps` steps and stores all states. Returns 0 without simulating if an element of `start` is not
 * finite or faster than SMOKE_FASTEST. */
int smoke_simulate(smoke *s, const smoke_state *start, uint64_t steps);

/* Did the host stop the last simulation or sweep? Its results are then incomplete. */
int smoke_stopped(const smoke *s);

/* Copies the state before step t (t = steps: the final one); NULL fields are skipped. */
void smoke_get(const smoke *s, uint64_t t, const smoke_state *out);

/* Reverse sweep over steps from .. to - 1 of the last simulation. Turns `bar`, the derivatives by state `to`,
 * into derivatives by state `from`. For a loss of several frames sweep from frame to frame, adding in
 * between. */
void smoke_adjoint(smoke *s, uint64_t from, uint64_t to, const smoke_state *bar);

/* Forward sweep: turns `dot`, the direction of state `from`, into the direction of state `to`. */
void smoke_tangent(smoke *s, uint64_t from, uint64_t to, const smoke_state *dot);

/* Name of the instruction set in use. */
const char *smoke_isa(const smoke *s);

/* Bytes held. */
size_t smoke_bytes(const smoke *s);

#endif
