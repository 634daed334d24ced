/* SPDX-License-Identifier: Apache-2.0 */
/* compound_step.h - one step of the compound double pendulum (see compound.h), written once for one motion
 * and for several side by side. The file that includes it, after compound.h, defines
 *     real               a double, or a vector with one motion in each lane
 *     slopes             derivatives of a number: a vector of all variables, or a real for one of them
 *     SLOPES_MOST        of them in a derivative of a state, at most
 *     real_sines()       sines and cosines of both angles: sa, ca, sb, cb
 * of which a lane has the bits of a double's. */
#ifndef DS_ENGINES_COMPOUND_STEP_H
#define DS_ENGINES_COMPOUND_STEP_H

#define COMPOUND_INLINE static inline __attribute__((always_inline, unused))

enum { ANGLE_A, ANGLE_B, RATE_A, RATE_B, N = COMPOUND_STATES };

typedef struct sides {
    real sa, ca, sb, cb, s, c;
    real xx, xy, yy; /* the inverse of the matrix */
    real acc[2];     /* accelerations; set by sides_move() */
} sides;

/* k: the constants. */
COMPOUND_INLINE void sides_at(const real *restrict k, const real *restrict y, sides *t)
{
    real_sines(y, &t->sa, &t->ca, &t->sb, &t->cb);
    t->s = t->sa * t->cb - t->ca * t->sb;
    t->c = t->ca * t->cb + t->sa * t->sb;
    const real mixed = k[COMPOUND_C] * t->c;
    const real per = 1 / (k[COMPOUND_A] * k[COMPOUND_B] - mixed * mixed);
    t->xx = k[COMPOUND_B] * per;
    t->xy = -mixed * per;
    t->yy = k[COMPOUND_A] * per;
}

COMPOUND_INLINE void sides_solve(const sides *t, real first, real second, real out[2])
{
    out[0] = t->xx * first + t->xy * second;
    out[1] = t->xy * first + t->yy * second;
}

/* Sets the accelerations under the torques of both joints. */
COMPOUND_INLINE void sides_move(const real *restrict k, const real *restrict y, real t1, real t2, sides *t)
{
    const real pull = k[COMPOUND_C] * t->s;
    sides_solve(t, -pull * y[RATE_B] * y[RATE_B] - k[COMPOUND_G1] * t->sa + t1 - t2,
                pull * y[RATE_A] * y[RATE_A] - k[COMPOUND_G2] * t->sb + t2, t->acc);
}

/* ---- without networks ---- */

COMPOUND_INLINE void sides_of(const real *restrict k, const real *restrict y, sides *t)
{
    sides_at(k, y, t);
    sides_move(k, y, k[COMPOUND_D1] * y[RATE_A], k[COMPOUND_D2] * (y[RATE_B] - y[RATE_A]), t);
}

/* Derivatives of (right side - left side) of each row, by c, s and the constants. */
typedef struct pulls {
    real first_c, second_c, first, second, first_a, second_b, first_wa, first_wb, second_wa, t2;
} pulls;

COMPOUND_INLINE pulls pulls_of(const real *k, const real *restrict y, const sides *t)
{
    const real a1 = t->acc[0], a2 = t->acc[1], wa = y[RATE_A], wb = y[RATE_B];
    pulls p = {.first_c = -t->c * a2 - t->s * wb * wb, .second_c = -t->c * a1 + t->s * wa * wa};
    p.first = k[COMPOUND_C] * (t->s * a2 - t->c * wb * wb);
    p.second = k[COMPOUND_C] * (t->s * a1 + t->c * wa * wa);
    p.first_a = p.first - k[COMPOUND_G1] * t->ca;
    p.second_b = -p.second - k[COMPOUND_G2] * t->cb;
    p.first_wa = k[COMPOUND_D1] + k[COMPOUND_D2];
    p.t2 = k[COMPOUND_D2];
    p.first_wb = -2 * k[COMPOUND_C] * t->s * wb - p.t2;
    p.second_wa = 2 * k[COMPOUND_C] * t->s * wa - p.t2;
    return p;
}

/* out[2] = changes of the accelerations with those of the state, d[N], and of the constants, by[constant]. */
COMPOUND_INLINE void follow(const pulls *p, const real *restrict y, const sides *t, const slopes *d,
                            const slopes *by, slopes *out)
{
    const slopes damped = (y[RATE_B] - y[RATE_A]) * by[COMPOUND_D2];
    const slopes upper = ((p->first_a * d[ANGLE_A] - p->first * d[ANGLE_B]) +
                          (p->first_wa * d[RATE_A] + p->first_wb * d[RATE_B])) +
                         ((p->first_c * by[COMPOUND_C] - t->acc[0] * by[COMPOUND_A]) +
                          (y[RATE_A] * by[COMPOUND_D1] - t->sa * by[COMPOUND_G1])) -
                         damped;
    const slopes lower =
        ((p->second * d[ANGLE_A] + p->second_b * d[ANGLE_B]) +
         (p->second_wa * d[RATE_A] + p->t2 * d[RATE_B])) +
        ((p->second_c * by[COMPOUND_C] - t->acc[1] * by[COMPOUND_B]) - t->sb * by[COMPOUND_G2]) + damped;
    out[0] = t->xx * upper + t->xy * lower;
    out[1] = t->xy * upper + t->yy * lower;
}

/* One step of y and of its derivatives, D times d[N], with as many times by[COMPOUND_CONSTANTS]. */
COMPOUND_INLINE void step_rk4(const real *k, const slopes *by, double h, real *restrict y, slopes *restrict d,
                              const int D)
{
    static const double weight[4] = {1.0 / 6, 1.0 / 3, 1.0 / 3, 1.0 / 6}, ahead[4] = {0.5, 0.5, 1, 0};
    real at[N], sum[N];
    slopes d_at[SLOPES_MOST * N], d_sum[SLOPES_MOST * N], d_acc[2];
    for (int i = 0; i < N; i++) {
        at[i] = y[i];
        sum[i] = (real){0};
    }
    for (int i = 0; i < D * N; i++) {
        d_at[i] = d[i];
        d_sum[i] = (slopes){0};
    }
    for (int stage = 0; stage < 4; stage++) {
        const double share = h * weight[stage], reach = h * ahead[stage];
        sides t;
        sides_of(k, at, &t);
        const pulls p = pulls_of(k, at, &t);
        for (int v = 0; v < D * N; v += N) {
            follow(&p, at, &t, d_at + v, by + v / N * COMPOUND_CONSTANTS, d_acc);
            for (int i = v; i < v + 2; i++) {
                d_sum[i] += share * d_at[2 + i];
                d_sum[2 + i] += share * d_acc[i - v];
                d_at[i] = d[i] + reach * d_at[2 + i];
                d_at[2 + i] = d[2 + i] + reach * d_acc[i - v];
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
    for (int i = 0; i < D * N; i++) {
        d[i] += d_sum[i];
    }
}

COMPOUND_INLINE void step_semi_implicit(const real *k, const slopes *by, double h, real *restrict y,
                                        slopes *restrict d, const int D)
{
    slopes d_acc[2];
    sides t;
    sides_of(k, y, &t);
    const pulls p = pulls_of(k, y, &t);
    for (int v = 0; v < D * N; v += N) {
        follow(&p, y, &t, d + v, by + v / N * COMPOUND_CONSTANTS, d_acc);
        for (int i = v; i < v + 2; i++) {
            d[2 + i] += h * d_acc[i - v];
            d[i] += h * d[2 + i];
        }
    }
    for (int i = 0; i < 2; i++) {
        y[2 + i] += h * t.acc[i];
        y[i] += h * y[2 + i];
    }
}

/* `substeps` steps. */
COMPOUND_INLINE void to_next_frame(compound_method method, uint64_t substeps, const real *k, const slopes *by,
                                   double h, real *restrict y, slopes *restrict d, const int D)
{
    for (uint64_t i = 0; i < substeps; i++) {
        if (method == COMPOUND_RK4) {
            step_rk4(k, by, h, y, d, D);
        } else {
            step_semi_implicit(k, by, h, y, d, D);
        }
    }
}

#endif
