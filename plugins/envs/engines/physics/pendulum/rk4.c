/* SPDX-License-Identifier: Apache-2.0 */
/* rk4.c - roll-outs by the classical Runge-Kutta method, discrete adjoint and tangent (see rk4.h). */
#include "rk4.h"

#include "engines/kit/norm.h"

#include <string.h>

struct rk4 {
    rk4_law law;
    uint64_t substeps, frames;
    const void *self;
    double h;
    double *theta;
    double *state; /* of every step */
    /* For one step: the states of the stages, the rates, and their derivatives. */
    double *stage[4], *rate[4], *dot;
};

static const double weight[4] = {1.0 / 6, 1.0 / 3, 1.0 / 3, 1.0 / 6};
static const double ahead[4] = {0, 0.5, 0.5, 1};

rk4 *rk4_create(ds_memory *m, const rk4_law *law, uint64_t frames, uint64_t substeps)
{
    rk4 *r = ds_memory_take(m, 1, sizeof *r);
    const size_t n = law->states;
    double *theta = ds_memory_doubles(m, law->parameters + 1);
    double *state = ds_memory_doubles(m, (frames * substeps + 1) * n), *work = ds_memory_doubles(m, 9 * n);
    if (m->failed) {
        return NULL;
    }
    *r = (rk4){.law = *law, .substeps = substeps, .theta = theta, .state = state, .dot = work + 8 * n};
    for (size_t k = 0; k < 4; k++) {
        r->stage[k] = work + k * n;
        r->rate[k] = work + (4 + k) * n;
    }
    return r;
}

/* Computes the stages and rates of the step from y. */
static void stages(const rk4 *r, const double *y)
{
    for (int k = 0; k < 4; k++) {
        for (size_t i = 0; i < r->law.states; i++) {
            r->stage[k][i] = k > 0 ? y[i] + r->h * ahead[k] * r->rate[k - 1][i] : y[i];
        }
        r->law.rate(r->self, r->theta, r->stage[k], r->rate[k]);
    }
}

static void advance(const rk4 *r, const double *y, double *next)
{
    stages(r, y);
    for (size_t i = 0; i < r->law.states; i++) {
        double sum = 0;
        for (int k = 0; k < 4; k++) {
            sum += weight[k] * r->rate[k][i];
        }
        next[i] = y[i] + r->h * sum;
    }
}

int64_t rk4_simulate(rk4 *r, const void *self, const double *theta, const double *start, double dt,
                     uint64_t frames)
{
    const size_t n = r->law.states;
    r->self = self;
    r->h = dt / (double)r->substeps;
    memcpy(r->theta, theta, r->law.parameters * sizeof *theta);
    memcpy(r->state, start, n * sizeof *start);
    double *y = r->state;
    for (r->frames = 0; r->frames < frames; r->frames++) {
        for (uint64_t t = 0; t < r->substeps; t++, y += n) {
            advance(r, y, y + n);
        }
        if (!all_finite(n, y)) {
            return (int64_t)r->frames + 1;
        }
    }
    return -1;
}

uint64_t rk4_frames(const rk4 *r)
{
    return r->frames;
}

const double *rk4_frame(const rk4 *r, uint64_t frame)
{
    return r->state + frame * r->substeps * r->law.states;
}

/* Derivatives by rate k: h weight y_bar plus the part through stage k + 1. */
static void reverse(const rk4 *r, const double *y, double *y_bar, double *theta_bar)
{
    const size_t n = r->law.states;
    double *rate_bar = r->dot;
    stages(r, y);
    for (size_t i = 0; i < n; i++) {
        rate_bar[i] = r->h * weight[3] * y_bar[i];
    }
    for (int k = 3; k >= 0; k--) {
        double *stage_bar = r->rate[k]; /* not needed again */
        memset(stage_bar, 0, n * sizeof *stage_bar);
        r->law.rate_adjoint(r->self, r->theta, r->stage[k], rate_bar, stage_bar, theta_bar);
        for (size_t i = 0; k > 0 && i < n; i++) {
            rate_bar[i] = r->h * (weight[k - 1] * y_bar[i] + ahead[k] * stage_bar[i]);
        }
    }
    for (size_t i = 0; i < n; i++) {
        y_bar[i] += (r->rate[0][i] + r->rate[1][i]) + (r->rate[2][i] + r->rate[3][i]);
    }
}

int rk4_adjoint(rk4 *r, uint64_t from, uint64_t to, double *y_bar, double *theta_bar)
{
    const size_t n = r->law.states;
    for (uint64_t t = to * r->substeps; t-- > from * r->substeps;) {
        reverse(r, r->state + t * n, y_bar, theta_bar);
    }
    return all_finite(n, y_bar) && all_finite(r->law.parameters, theta_bar);
}

static void forward(const rk4 *r, const double *y, double *y_dot, const double *theta_dot)
{
    const size_t n = r->law.states;
    stages(r, y);
    for (int k = 0; k < 4; k++) {
        double *rate_dot = r->rate[k];
        for (size_t i = 0; i < n; i++) {
            r->dot[i] = y_dot[i] + (k > 0 ? r->h * ahead[k] * r->rate[k - 1][i] : 0);
        }
        r->law.rate_tangent(r->self, r->theta, r->stage[k], theta_dot, r->dot, rate_dot);
    }
    for (size_t i = 0; i < n; i++) {
        for (int k = 0; k < 4; k++) {
            y_dot[i] += r->h * weight[k] * r->rate[k][i];
        }
    }
}

int rk4_tangent(rk4 *r, uint64_t from, uint64_t to, double *y_dot, const double *theta_dot)
{
    const size_t n = r->law.states;
    for (uint64_t t = from * r->substeps; t < to * r->substeps; t++) {
        forward(r, r->state + t * n, y_dot, theta_dot);
    }
    return all_finite(n, y_dot);
}
