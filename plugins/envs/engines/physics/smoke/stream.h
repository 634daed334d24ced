/* SPDX-License-Identifier: Apache-2.0 */
/* stream.h - velocities on a periodic N x N grid from a few numbers: a stream function of K x K waves.
 *
 * The waves have the K^2 shortest wave vectors (a, b); of each pair (a, b), (-a, -b) the one with a > 0 or a
 * = 0 < b is used. Waves of equal length are ordered by a, then by b. Wave m has the phase 2 pi (a i + b j) /
 * N and two numbers, c[2 m] of its cosine and c[2 m + 1] of its sine, in cells per step: the largest speed of
 * this wave alone. The velocity is the curl of the stream function by central differences, so its divergence
 * by central differences is 0. */
#ifndef DS_ENGINES_SMOKE_STREAM_H
#define DS_ENGINES_SMOKE_STREAM_H

#include <diffsim/helper/memory.h>

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
