/* SPDX-License-Identifier: Apache-2.0 */
/* compound.c - the compound double pendulum, without and with networks (see compound.h). compound_run()
 * carries the derivatives by all variables forward with the state. Derivatives solve the equations for the
 * change of both sides at fixed accelerations, so no inverse is differentiated. */
#include "compound.h"

#include "common/vector_math.h"
#include "engines/kit/norm.h"
#include "engines/physics/cloth/sets.h"

#include <math.h>
#include <string.h>

/* ---- equations of motion ---- */

/* Sines and cosines of both angles at once, with the same bits everywhere; the C library computes those of
 * angles after very many turns. */
INLINE void sines_of(const double *y, double *sa, double *ca, double *sb, double *cb)
{
    vec sine, cosine;
    if (fabs(y[0]) <= SINCOS_MOST && fabs(y[1]) <= SINCOS_MOST) {
        vec_sincos((vec){y[0], y[1]}, &sine, &cosine);
        *sa = sine[0];
        *ca = cosine[0];
        *sb = sine[1];
        *cb = cosine[1];
        return;
    }
    *sa = sin(y[0]);
    *ca = cos(y[0]);
    *sb = sin(y[1]);
    *cb = cos(y[1]);
}

/* One number per variable; compilers map these vectors to the registers of the processor. */
typedef double variables __attribute__((vector_size(8 * COMPOUND_VARIABLES), aligned(8), may_alias));

#define real double
#define slopes variables
#define SLOPES_MOST 1
#define real_sines sines_of
#include "compound_step.h"

enum { K = COMPOUND_VARIABLES };

/* ---- without networks ---- */

/* D: 1 with derivatives, else 0. */
INLINE int64_t run(const compound *p, double h, uint64_t frames, uint64_t substeps, double *y, double *y_dot,
                   const int D)
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
        if (D > 0) {
            memcpy(y_dot + f * N * K, dot, sizeof dot);
        }
        if (f == frames) {
            return -1;
        }
        to_next_frame(p->method, substeps, p->constant, (const variables *)(const void *)p->slope, h, now,
                      dot, D);
    }
}

#ifdef ISA_X86
TARGET_AVX2 static int64_t run_avx2(const compound *p, double h, uint64_t frames, uint64_t substeps,
                                    double *y, double *y_dot)
{
    return run(p, h, frames, substeps, y, y_dot, 1);
}

TARGET_AVX512 static int64_t run_avx512(const compound *p, double h, uint64_t frames, uint64_t substeps,
                                        double *y, double *y_dot)
{
    return run(p, h, frames, substeps, y, y_dot, 1);
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
    return y_dot != NULL ? run(p, h, frames, substeps, y, y_dot, 1) : run(p, h, frames, substeps, y, NULL, 0);
}

double compound_energy(const compound *p, const double y[COMPOUND_STATES])
{
    const double *k = p->constant;
    return k[COMPOUND_A] * y[RATE_A] * y[RATE_A] / 2 + k[COMPOUND_B] * y[RATE_B] * y[RATE_B] / 2 +
           k[COMPOUND_C] * y[RATE_A] * y[RATE_B] * cos(y[ANGLE_A] - y[ANGLE_B]) -
           k[COMPOUND_G1] * cos(y[ANGLE_A]) - k[COMPOUND_G2] * cos(y[ANGLE_B]);
}

/* ---- with networks ---- */

enum { C = COMPOUND_CONSTANTS, STAGES = 4 };

static const double rk4_weight[STAGES] = {1.0 / 6, 1.0 / 3, 1.0 / 3, 1.0 / 6},
                    rk4_ahead[STAGES] = {0.5, 0.5, 1, 0};

static void joints(const double *y, double in[COMPOUND_NET_INPUTS])
{
    in[0] = y[ANGLE_A];
    in[1] = y[ANGLE_B] - y[ANGLE_A];
    in[2] = y[RATE_A];
    in[3] = y[RATE_B] - y[RATE_A];
}

static void evaluate(const compound_net *n, const double *k, const double *y, double *tape, sides *t)
{
    double in[COMPOUND_NET_INPUTS];
    joints(y, in);
    double torque[COMPOUND_NET_OUTPUTS] = {k[COMPOUND_D1] * in[2], k[COMPOUND_D2] * in[3]};
    ds_hybrid_forward(n->hybrid, n->w, in, torque, tape);
    sides_at(k, y, t);
    sides_move(k, y, torque[0], torque[1], t);
}

/* Adds the derivatives by state, constants and weights, from those by the accelerations. */
static void evaluate_reverse(const compound_net *n, const double *k, const double *y, const double *tape,
                             const sides *t, const double acc_bar[2], double *y_bar, double *k_bar,
                             double *w_bar)
{
    const double first = t->xx * acc_bar[0] + t->xy * acc_bar[1],
                 second = t->xy * acc_bar[0] + t->yy * acc_bar[1];
    const double a1 = t->acc[0], a2 = t->acc[1], wa = y[RATE_A], wb = y[RATE_B];
    const double turn1 = k[COMPOUND_C] * (t->s * a2 - t->c * wb * wb) * first,
                 turn2 = k[COMPOUND_C] * (t->s * a1 + t->c * wa * wa) * second;
    double torque_bar[COMPOUND_NET_OUTPUTS] = {first, second - first}, in_bar[COMPOUND_NET_INPUTS] = {0};
    ds_hybrid_reverse(n->hybrid, n->w, tape, torque_bar, w_bar, in_bar);
    for (int j = 0; j < 2; j++) {
        in_bar[2 + j] += k[COMPOUND_D1 + j] * torque_bar[j];
    }
    k_bar[COMPOUND_D1] += torque_bar[0] * wa;
    k_bar[COMPOUND_D2] += torque_bar[1] * (wb - wa);
    k_bar[COMPOUND_A] -= first * a1;
    k_bar[COMPOUND_B] -= second * a2;
    k_bar[COMPOUND_C] += first * (-t->c * a2 - t->s * wb * wb) + second * (-t->c * a1 + t->s * wa * wa);
    k_bar[COMPOUND_G1] -= first * t->sa;
    k_bar[COMPOUND_G2] -= second * t->sb;
    y_bar[ANGLE_A] += turn1 - first * k[COMPOUND_G1] * t->ca + turn2 + in_bar[0] - in_bar[1];
    y_bar[ANGLE_B] += -turn1 - turn2 - second * k[COMPOUND_G2] * t->cb + in_bar[1];
    y_bar[RATE_A] += 2 * second * k[COMPOUND_C] * t->s * wa + in_bar[2] - in_bar[3];
    y_bar[RATE_B] += -2 * first * k[COMPOUND_C] * t->s * wb + in_bar[3];
}

/* acc_dot = change of the accelerations with those of state, constants and weights. */
static void evaluate_tangent(const compound_net *n, const double *k, const double *y, const double *tape,
                             const sides *t, const double *y_dot, const double *k_dot, const double *w_dot,
                             double acc_dot[2])
{
    double in[COMPOUND_NET_INPUTS], in_dot[COMPOUND_NET_INPUTS];
    joints(y, in);
    joints(y_dot, in_dot);
    double torque_dot[COMPOUND_NET_OUTPUTS];
    for (int j = 0; j < 2; j++) {
        torque_dot[j] = k_dot[COMPOUND_D1 + j] * in[2 + j] + k[COMPOUND_D1 + j] * in_dot[2 + j];
    }
    ds_hybrid_tangent(n->hybrid, n->w, tape, w_dot, in_dot, torque_dot);
    const double a1 = t->acc[0], a2 = t->acc[1], wa = y[RATE_A], wb = y[RATE_B];
    const double between = y_dot[ANGLE_A] - y_dot[ANGLE_B];
    const double first = k[COMPOUND_C] * (t->s * a2 - t->c * wb * wb) * between -
                         2 * k[COMPOUND_C] * t->s * wb * y_dot[RATE_B] -
                         k[COMPOUND_G1] * t->ca * y_dot[ANGLE_A] + torque_dot[0] - torque_dot[1] -
                         k_dot[COMPOUND_A] * a1 - k_dot[COMPOUND_C] * (t->c * a2 + t->s * wb * wb) -
                         k_dot[COMPOUND_G1] * t->sa;
    const double second = k[COMPOUND_C] * (t->s * a1 + t->c * wa * wa) * between +
                          2 * k[COMPOUND_C] * t->s * wa * y_dot[RATE_A] -
                          k[COMPOUND_G2] * t->cb * y_dot[ANGLE_B] + torque_dot[1] - k_dot[COMPOUND_B] * a2 -
                          k_dot[COMPOUND_C] * (t->c * a1 - t->s * wa * wa) - k_dot[COMPOUND_G2] * t->sb;
    acc_dot[0] = t->xx * first + t->xy * second;
    acc_dot[1] = t->xy * first + t->yy * second;
}

/* The stages of a step: states and sides. */
typedef struct compound_net_stages {
    int count;
    double at[STAGES][N];
    sides side[STAGES];
} stages;

static const uint64_t most_bytes = 8 << 20; /* limit of the kept stages */

static stages *stages_of(const compound_net *n, uint64_t k)
{
    return n->stages + (n->keeps ? k : 0);
}

static double *tape_of(const compound_net *n, uint64_t k, int stage)
{
    return n->tape + ((n->keeps ? k : 0) * STAGES + (uint64_t)stage) * n->hybrid->tape;
}

/* Step k from y; writes the state after it to `next`. */
static void step(const compound_net *n, const compound *p, uint64_t at_step, const double *y, double *next)
{
    const double h = n->h;
    stages *s = stages_of(n, at_step);
    memcpy(s->at[0], y, N * sizeof *y);
    if (p->method == COMPOUND_SEMI_IMPLICIT) {
        s->count = 1;
        evaluate(n, p->constant, y, tape_of(n, at_step, 0), &s->side[0]);
        for (int i = 0; i < 2; i++) {
            next[2 + i] = y[2 + i] + h * s->side[0].acc[i];
            next[i] = y[i] + h * next[2 + i];
        }
        return;
    }
    double sum[N] = {0};
    s->count = STAGES;
    for (int k = 0; k < STAGES; k++) {
        const double *at = s->at[k], share = h * rk4_weight[k], reach = h * rk4_ahead[k];
        evaluate(n, p->constant, at, tape_of(n, at_step, k), &s->side[k]);
        for (int i = 0; i < 2; i++) {
            sum[i] += share * at[2 + i];
            sum[2 + i] += share * s->side[k].acc[i];
            if (k + 1 < STAGES) {
                s->at[k + 1][i] = y[i] + reach * at[2 + i];
                s->at[k + 1][2 + i] = y[2 + i] + reach * s->side[k].acc[i];
            }
        }
    }
    for (int i = 0; i < N; i++) {
        next[i] = y[i] + sum[i];
    }
}

/* Returns the stages of a step of the last motion, computed again if they are not kept. */
static const stages *recomputed_stages(const compound_net *n, const compound *p, uint64_t k)
{
    double next[N];
    if (!n->keeps) {
        step(n, p, k, n->step + k * N, next);
    }
    return stages_of(n, k);
}

/* bar, in: derivatives by the state after the step; out: by the state before it. */
static void step_reverse(const compound_net *n, const compound *p, uint64_t at_step, double *bar,
                         double *k_bar, double *w_bar)
{
    const double h = n->h, *y = n->step + at_step * N;
    double before[N], ahead[N] = {0}; /* by the state of the next stage */
    const stages *s = recomputed_stages(n, p, at_step);
    if (s->count == 1) {
        const double acc_bar[2] = {h * (bar[2] + h * bar[0]), h * (bar[3] + h * bar[1])};
        bar[2] += h * bar[0];
        bar[3] += h * bar[1];
        evaluate_reverse(n, p->constant, y, tape_of(n, at_step, 0), &s->side[0], acc_bar, bar, k_bar, w_bar);
        return;
    }
    memcpy(before, bar, sizeof before);
    for (int k = STAGES; k-- > 0;) {
        const double share = h * rk4_weight[k], reach = h * rk4_ahead[k];
        double at_bar[N] = {0}, acc_bar[2];
        for (int i = 0; i < 2; i++) {
            at_bar[2 + i] = share * bar[i] + reach * ahead[i];
            acc_bar[i] = share * bar[2 + i] + reach * ahead[2 + i];
        }
        for (int i = 0; i < N; i++) { /* each stage starts at y */
            before[i] += ahead[i];
        }
        evaluate_reverse(n, p->constant, s->at[k], tape_of(n, at_step, k), &s->side[k], acc_bar, at_bar,
                         k_bar, w_bar);
        memcpy(ahead, at_bar, sizeof ahead);
    }
    for (int i = 0; i < N; i++) { /* the first one is at y */
        bar[i] = before[i] + ahead[i];
    }
}

static void step_tangent(const compound_net *n, const compound *p, uint64_t at_step, double *dot,
                         const double *k_dot, const double *w_dot)
{
    const double h = n->h, *y = n->step + at_step * N;
    double at_dot[N], sum[N] = {0}, acc_dot[2];
    const stages *s = recomputed_stages(n, p, at_step);
    if (s->count == 1) {
        evaluate_tangent(n, p->constant, y, tape_of(n, at_step, 0), &s->side[0], dot, k_dot, w_dot, acc_dot);
        for (int i = 0; i < 2; i++) {
            dot[2 + i] += h * acc_dot[i];
            dot[i] += h * dot[2 + i];
        }
        return;
    }
    memcpy(at_dot, dot, sizeof at_dot);
    for (int k = 0; k < STAGES; k++) {
        const double share = h * rk4_weight[k], reach = h * rk4_ahead[k];
        evaluate_tangent(n, p->constant, s->at[k], tape_of(n, at_step, k), &s->side[k], at_dot, k_dot, w_dot,
                         acc_dot);
        for (int i = 0; i < 2; i++) {
            sum[i] += share * at_dot[2 + i];
            sum[2 + i] += share * acc_dot[i];
            at_dot[i] = dot[i] + reach * at_dot[2 + i];
            at_dot[2 + i] = dot[2 + i] + reach * acc_dot[i];
        }
    }
    for (int i = 0; i < N; i++) {
        dot[i] += sum[i];
    }
}

int compound_net_open(compound_net *n, ds_memory *m, const ds_hybrid *hybrid, double h, uint64_t frames,
                      uint64_t substeps)
{
    const uint64_t steps = frames * substeps, each = sizeof(stages) + STAGES * hybrid->tape * sizeof(double);
    const int keeps = steps <= most_bytes / each;
    const size_t kept = keeps && steps > 0 ? steps : 1;
    *n = (compound_net){.hybrid = hybrid,
                        .h = h,
                        .substeps = substeps,
                        .step = ds_memory_doubles(m, (steps + 1) * N),
                        .stages = ds_memory_take(m, kept, sizeof(stages)),
                        .tape = ds_memory_doubles(m, kept * STAGES * hybrid->tape),
                        .keeps = keeps};
    return !m->failed;
}

int64_t compound_net_run(compound_net *n, const compound *p, const double *w, uint64_t frames, double *y)
{
    n->w = w;
    memcpy(n->step, p->start, N * sizeof *n->step);
    for (uint64_t k = 0;; k++) {
        const double *now = n->step + k * N;
        if (k % n->substeps == 0) {
            if (!all_finite(N, now)) {
                return (int64_t)(k / n->substeps);
            }
            memcpy(y + k / n->substeps * N, now, N * sizeof *y);
        }
        if (k == frames * n->substeps) {
            return -1;
        }
        step(n, p, k, now, n->step + (k + 1) * N);
    }
}

void compound_net_adjoint(const compound_net *n, const compound *p, uint64_t frames, const double *y_bar,
                          double *x_bar, double *w_bar)
{
    double bar[N], k_bar[C] = {0};
    memcpy(bar, y_bar + frames * N, sizeof bar);
    for (uint64_t k = frames * n->substeps; k-- > 0;) {
        step_reverse(n, p, k, bar, k_bar, w_bar);
        for (int i = 0; i < N && k % n->substeps == 0; i++) {
            bar[i] += y_bar[k / n->substeps * N + (uint64_t)i];
        }
    }
    for (int i = 0; i < K; i++) {
        for (int c = 0; c < C; c++) {
            x_bar[i] += p->slope[c][i] * k_bar[c];
        }
        for (int s = 0; s < N; s++) {
            x_bar[i] += p->start_dot[s * K + i] * bar[s];
        }
    }
}

void compound_net_tangent(const compound_net *n, const compound *p, uint64_t frames, const double *x_dot,
                          const double *w_dot, double *y_dot)
{
    double dot[N] = {0}, k_dot[C] = {0};
    for (int i = 0; i < K; i++) {
        for (int c = 0; c < C; c++) {
            k_dot[c] += p->slope[c][i] * x_dot[i];
        }
        for (int s = 0; s < N; s++) {
            dot[s] += p->start_dot[s * K + i] * x_dot[i];
        }
    }
    memcpy(y_dot, dot, sizeof dot);
    for (uint64_t k = 0; k < frames * n->substeps; k++) {
        step_tangent(n, p, k, dot, k_dot, w_dot);
        if ((k + 1) % n->substeps == 0) {
            memcpy(y_dot + (k + 1) / n->substeps * N, dot, sizeof dot);
        }
    }
}
