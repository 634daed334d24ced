/* SPDX-License-Identifier: Apache-2.0 */
/* compound.c - the double pendulum by its constants, see compound.h. Derivatives go forward with the state,
 * all variables at once: the equations are solved for what changes their sides at fixed accelerations, so
 * that no inverse is differentiated. */
#include "compound.h"

#include "compound_sides.h"
#include "engines/kit/algebra/finite.h"

#include <math.h>
#include <string.h>

enum { N = COMPOUND_STATES, K = COMPOUND_VARIABLES };

/* ---- the equations of motion ---- */

INLINE void sides_of(const double *restrict k, const double *restrict y, sides *t)
{
    sides_at(k, y, t);
    sides_move(k, y, k[COMPOUND_D1] * y[RATE_A], k[COMPOUND_D2] * (y[RATE_B] - y[RATE_A]), t);
}

/* A number for each variable: compilers make of such vectors what the processor has. */
typedef double variables __attribute__((vector_size(8 * COMPOUND_VARIABLES), aligned(8), may_alias));

/* No function: what a vector is returned in depends on the instruction set. */
#define SLOPE(p, constant) (*(const variables *)(const void *)(p)->slope[constant])

/* out[2] = derivatives of the accelerations along those of the state, d[N], and of the constants. */
INLINE void follow(const compound *restrict p, const double *restrict y, const sides *t, const variables *d,
                   variables *out)
{
    const double *k = p->constant;
    const double a1 = t->acc[0], a2 = t->acc[1], wa = y[RATE_A], wb = y[RATE_B];
    /* Of the right side minus the left one, of each row, by c s and the constants. */
    const double first_c = -t->c * a2 - t->s * wb * wb, second_c = -t->c * a1 + t->s * wa * wa;
    const double first = k[COMPOUND_C] * (t->s * a2 - t->c * wb * wb);
    const double second = k[COMPOUND_C] * (t->s * a1 + t->c * wa * wa);
    const double first_a = first - k[COMPOUND_G1] * t->ca, second_b = -second - k[COMPOUND_G2] * t->cb;
    const double first_wa = k[COMPOUND_D1] + k[COMPOUND_D2], t2 = k[COMPOUND_D2];
    const double first_wb = -2 * k[COMPOUND_C] * t->s * wb - t2,
                 second_wa = 2 * k[COMPOUND_C] * t->s * wa - t2;
    const variables by_c = SLOPE(p, COMPOUND_C), damped = (wb - wa) * SLOPE(p, COMPOUND_D2);
    const variables upper =
        ((first_a * d[ANGLE_A] - first * d[ANGLE_B]) + (first_wa * d[RATE_A] + first_wb * d[RATE_B])) +
        ((first_c * by_c - a1 * SLOPE(p, COMPOUND_A)) +
         (wa * SLOPE(p, COMPOUND_D1) - t->sa * SLOPE(p, COMPOUND_G1))) -
        damped;
    const variables lower =
        ((second * d[ANGLE_A] + second_b * d[ANGLE_B]) + (second_wa * d[RATE_A] + t2 * d[RATE_B])) +
        ((second_c * by_c - a2 * SLOPE(p, COMPOUND_B)) - t->sb * SLOPE(p, COMPOUND_G2)) + damped;
    out[0] = t->xx * upper + t->xy * lower;
    out[1] = t->xy * upper + t->yy * lower;
}

/* ---- steps ---- */

/* y and d, its derivatives or NULL, one step on. */
INLINE void step_rk4(const compound *p, double h, double *restrict y, variables *restrict d)
{
    static const double weight[4] = {1.0 / 6, 1.0 / 3, 1.0 / 3, 1.0 / 6}, ahead[4] = {0.5, 0.5, 1, 0};
    double at[N], sum[N] = {0};
    variables d_at[N], d_sum[N] = {{0}}, d_acc[2];
    memcpy(at, y, sizeof at);
    for (int i = 0; d != NULL && i < N; i++) {
        d_at[i] = d[i];
    }
    for (int k = 0; k < 4; k++) {
        const double share = h * weight[k], reach = h * ahead[k];
        sides t;
        sides_of(p->constant, at, &t);
        if (d != NULL) {
            follow(p, at, &t, d_at, d_acc);
            for (int i = 0; i < 2; i++) {
                d_sum[i] += share * d_at[2 + i];
                d_sum[2 + i] += share * d_acc[i];
                d_at[i] = d[i] + reach * d_at[2 + i];
                d_at[2 + i] = d[2 + i] + reach * d_acc[i];
            }
        }
        for (int i = 0; i < 2; i++) {
            sum[i] += share * at[2 + i];
            sum[2 + i] += share * t.acc[i];
            at[i] = y[i] + reach * at[2 + i];
            at[2 + i] = y[2 + i] + reach * t.acc[i];
        }
    }
    for (int i = 0; i < N; i++) {
        y[i] += sum[i];
    }
    for (int i = 0; d != NULL && i < N; i++) {
        d[i] += d_sum[i];
    }
}

INLINE void step_semi_implicit(const compound *p, double h, double *restrict y, variables *restrict d)
{
    variables d_acc[2];
    sides t;
    sides_of(p->constant, y, &t);
    if (d != NULL) {
        follow(p, y, &t, d, d_acc);
        for (int i = 0; i < 2; i++) {
            d[2 + i] += h * d_acc[i];
            d[i] += h * d[2 + i];
        }
    }
    for (int i = 0; i < 2; i++) {
        y[2 + i] += h * t.acc[i];
        y[i] += h * y[2 + i];
    }
}

INLINE int64_t run(const compound *p, double h, uint64_t frames, uint64_t substeps, double *y, double *y_dot)
{
    double now[N];
    variables dot[N];
    memcpy(now, p->start, sizeof now);
    memcpy(dot, p->start_dot, sizeof dot);
    for (uint64_t f = 0;; f++) {
        if (!all_finite(N, now)) {
            return (int64_t)f;
        }
        memcpy(y + f * N, now, sizeof now);
        if (y_dot != NULL) {
            memcpy(y_dot + f * N * K, dot, sizeof dot);
        }
        if (f == frames) {
            return -1;
        }
        for (uint64_t k = 0; k < substeps; k++) {
            if (p->method == COMPOUND_RK4) {
                step_rk4(p, h, now, y_dot != NULL ? dot : NULL);
            } else {
                step_semi_implicit(p, h, now, y_dot != NULL ? dot : NULL);
            }
        }
    }
}

#ifdef ISA_X86
TARGET_AVX2 static int64_t run_avx2(const compound *p, double h, uint64_t frames, uint64_t substeps,
                                    double *y, double *y_dot)
{
    return run(p, h, frames, substeps, y, y_dot);
}

TARGET_AVX512 static int64_t run_avx512(const compound *p, double h, uint64_t frames, uint64_t substeps,
                                        double *y, double *y_dot)
{
    return run(p, h, frames, substeps, y, y_dot);
}
#endif

int64_t compound_run(const compound *p, double h, uint64_t frames, uint64_t substeps, double *y,
                     double *y_dot)
{
#ifdef ISA_X86
    const int isa = y_dot != NULL ? isa_choose(NULL) : ISA_BASELINE;
    if (isa >= ISA_AVX2) {
        return (isa >= ISA_AVX512 ? run_avx512 : run_avx2)(p, h, frames, substeps, y, y_dot);
    }
#endif
    return run(p, h, frames, substeps, y, y_dot);
}

/* ---- what else is asked ---- */

void compound_acceleration(const compound *p, const double y[COMPOUND_STATES], double out[2])
{
    sides t;
    sides_of(p->constant, y, &t);
    memcpy(out, t.acc, sizeof t.acc);
}

double compound_energy(const compound *p, const double y[COMPOUND_STATES])
{
    const double *k = p->constant;
    return k[COMPOUND_A] * y[RATE_A] * y[RATE_A] / 2 + k[COMPOUND_B] * y[RATE_B] * y[RATE_B] / 2 +
           k[COMPOUND_C] * y[RATE_A] * y[RATE_B] * cos(y[ANGLE_A] - y[ANGLE_B]) -
           k[COMPOUND_G1] * cos(y[ANGLE_A]) - k[COMPOUND_G2] * cos(y[ANGLE_B]);
}
