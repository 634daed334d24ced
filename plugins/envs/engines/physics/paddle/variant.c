/* SPDX-License-Identifier: Apache-2.0 */
/* variant.c - paddles side by side (paddle.h), compiled for each instruction set: LANES_ISA is its name,
 * VECTOR_LANES its width. The order of all sums is that of rollout.c. Sine and cosine are those of the C
 * library, lane by lane, as in the single episode. */
#include "engines/kit/lanes.h"

#include <math.h>

VEC_INLINE void sincos_of_lanes(vec angle, vec *sine, vec *cosine)
{
    double s[VECTOR_LANES], c[VECTOR_LANES];
    for (int lane = 0; lane < VECTOR_LANES; lane++) {
        s[lane] = sin(angle[lane]);
        c[lane] = cos(angle[lane]);
    }
    *sine = vec_load(s);
    *cosine = vec_load(c);
}

#define real vec
#define real_mask vec_bits
#define real_sincos sincos_of_lanes
#define real_choose vec_choose
#define real_any vec_any
#define real_abs vec_abs
#include "paddle_step.h"

enum { S = PADDLE_STATES, C = PADDLE_CONTROLS, GAINS = S * C };

VEC_INLINE vec squares(int n, const double *weight, const vec *v, const double *from)
{
    vec sum = {0};
    for (int i = 0; i < n; i++) {
        const vec d = from != NULL ? v[i] - from[i] : v[i];
        sum += weight[i] * d * d;
    }
    return sum;
}

/* dot() of rollout.c for S numbers. */
VEC_INLINE vec dot(const vec *a, const vec *b)
{
    const vec zero = {0}, first = zero + a[0] * b[0];
    const vec s = ((first + a[4] * b[4]) + a[5] * b[5]) + a[6] * b[6];
    return (s + (zero + a[1] * b[1])) + ((zero + a[2] * b[2]) + (zero + a[3] * b[3]));
}

static void simulate(const paddle_law *l, const paddle_cost *c, const double *const *gain,
                     const double *const *noise, const double *start, double *tape, double *cost)
{
    const paddle_law law = *l; /* nothing that is written can change it */
    vec K[GAINS], x[S], sum = {0};
    for (int i = 0; i < GAINS; i++) {
        K[i] = lanes_load(gain, (uint64_t)i);
    }
    for (int i = 0; i < S; i++) {
        x[i] = vec_load(start + i * VECTOR_LANES);
    }
    for (uint64_t t = 0; t < c->steps; t++) {
        vec u[C], next[S];
        for (int i = 0; i < C; i++) {
            u[i] = dot(K + i * S, x) + lanes_load(noise, t * C + (uint64_t)i);
        }
        paddle_step(&law, x, u, next);
        sum += squares(S, c->q, x, c->goal) + squares(C, c->r, u, NULL);
        for (int i = 0; tape != NULL && i < PADDLE_RECORD; i++) {
            vec_store(tape + (t * PADDLE_RECORD + (uint64_t)i) * VECTOR_LANES, i < S ? x[i] : u[i - S]);
        }
        for (int i = 0; i < S; i++) {
            x[i] = next[i];
        }
    }
    for (int i = 0; tape != NULL && i < S; i++) {
        vec_store(tape + (c->steps * PADDLE_RECORD + (uint64_t)i) * VECTOR_LANES, x[i]);
    }
    vec_store(cost, sum + squares(S, c->qd, x, c->goal));
}

static void adjoint(const paddle_law *l, const paddle_cost *c, const double *const *gain, const double *tape,
                    double *const *grad)
{
    const paddle_law law = *l;
    const double *at = tape + c->steps * PADDLE_RECORD * VECTOR_LANES;
    vec K[GAINS], K_bar[GAINS], bar[S];
    for (int i = 0; i < GAINS; i++) {
        K[i] = lanes_load(gain, (uint64_t)i);
        K_bar[i] = vec_all(0);
    }
    for (int i = 0; i < S; i++) {
        bar[i] = 2 * c->qd[i] * (vec_load(at + i * VECTOR_LANES) - c->goal[i]) + 0.0;
    }
    for (uint64_t t = c->steps; t-- > 0;) {
        vec x[S], u[C], x_bar[S], u_bar[C];
        at -= PADDLE_RECORD * VECTOR_LANES;
        for (int i = 0; i < S; i++) {
            x[i] = vec_load(at + i * VECTOR_LANES);
            x_bar[i] = 2 * c->q[i] * (x[i] - c->goal[i]);
        }
        for (int i = 0; i < C; i++) {
            u[i] = vec_load(at + (S + i) * VECTOR_LANES);
            u_bar[i] = 2 * c->r[i] * u[i];
        }
        paddle_back(&law, x, u, bar, x_bar, u_bar);
        for (int i = 0; i < C; i++) {
            for (int j = 0; j < S; j++) {
                K_bar[i * S + j] += u_bar[i] * x[j];
                x_bar[j] += u_bar[i] * K[i * S + j];
            }
        }
        for (int i = 0; i < S; i++) {
            bar[i] = x_bar[i];
        }
    }
    for (int i = 0; i < GAINS; i++) {
        lanes_store(grad, (uint64_t)i, K_bar[i]);
    }
}

ISA_DEFINE(paddle_lanes) = {ISA_NAME(LANES_ISA), VECTOR_LANES, simulate, adjoint};
