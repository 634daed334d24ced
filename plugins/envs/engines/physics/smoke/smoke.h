/* SPDX-License-Identifier: Apache-2.0 */
/* smoke.h - smoke carried by a fluid on a periodic square grid (J. Stam: Stable Fluids, SIGGRAPH 1999), as in
 * gradSim (Jatavallabhula et al., ICLR 2021): simulation, discrete adjoint and tangent.
 *
 * Fields are N x N, element (i, j) at [i N + j]; vx moves along i, vy along j, in cells per step. One step:
 *     the velocity carries both velocities: f'(i, j) = bilinear f at (i - vx, j - vy)
 *     `sweeps` Jacobi sweeps for the pressure make them nearly divergence-free
 *     the new velocity carries the smoke
 * Without a push no step increases the velocity (in the sum of squares) or moves the smoke out of the range
 * of its values, so a simulation cannot diverge; neither conserves smoke. All instruction sets give the same
 * bits. */
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

/* A push of each cell in each step, cells per step, added after the velocity has carried itself: a function
 * of vx, vy and density of the cell before the step. add() adds it, bar() and dot() are its adjoint and
 * tangent and add, too. */
typedef struct smoke_push {
    void (*add)(void *self, const double in[3], double push[2]);
    void (*bar)(void *self, const double in[3], const double push_bar[2], double in_bar[3]);
    void (*dot)(void *self, const double in[3], const double in_dot[3], double push_dot[2]);
    void *self;
} smoke_push;

/* Sets the push of all later simulations and sweeps; it must outlive them. NULL: none, as at the start. */
void smoke_set_push(smoke *s, const smoke_push *push);

/* Simulates `steps` steps and stores all states. Returns 0 if an element of `start` or a pushed velocity is
 * not finite or faster than SMOKE_FASTEST; smoke_steps() is then the number of steps before that one. */
int smoke_simulate(smoke *s, const smoke_state *start, uint64_t steps);
uint64_t smoke_steps(const smoke *s);

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

/* ---- stream functions ---- */

/* Velocities on a periodic N x N grid from a few numbers: a stream function of K x K waves.
 *
 * The waves have the K^2 shortest wave vectors (a, b); of each pair (a, b), (-a, -b) the one with a > 0 or a
 * = 0 < b is used. Waves of equal length are ordered by a, then by b. Wave m has the phase 2 pi (a i + b j) /
 * N and two numbers, c[2 m] of its cosine and c[2 m + 1] of its sine, in cells per step: the largest speed of
 * this wave alone. The velocity is the curl of the stream function by central differences, so its divergence
 * by central differences is 0. */

enum { STREAM_MOST = 16 }; /* K; N is at least 4 K */

typedef struct stream stream;

/* Creates the tables for one grid in `m`; NULL without memory. */
stream *stream_create(ds_memory *m, size_t n, size_t k);

/* Wave vector of wave 0 .. K^2 - 1. */
void stream_wave(const stream *s, size_t wave, int vector[2]);

/* Sets vx, vy (N x N) from 2 K^2 numbers. Linear, so it is its own tangent. */
void stream_velocity(const stream *s, const double *c, double *vx, double *vy);

/* Sets c_bar from the derivatives by the velocities. */
void stream_adjoint(const stream *s, const double *vx_bar, const double *vy_bar, double *c_bar);

#endif
