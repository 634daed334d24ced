/* SPDX-License-Identifier: Apache-2.0 */
/* rollout.c - episodes with quadratic cost and their reverse sweep, see rollout.h. */
#include "rollout.h"

#include <math.h>
#include <string.h>

void rollout_open(rollout *r, ds_memory *m, const rollout_system *system, const void *self, uint64_t steps)
{
    const size_t ns = system->states, nu = system->controls;
    *r = (rollout){.system = system, .self = self, .steps = steps};
    ds_memory_each(m, ns, (double **const[]){&r->start, &r->goal, &r->q, &r->qd, &r->bar, &r->x_bar, NULL});
    ds_memory_each(m, nu, (double **const[]){&r->r, &r->u_bar, NULL});
    r->x = ds_memory_doubles(m, (steps + 1) * ns);
    r->u = ds_memory_doubles(m, steps * nu);
}

/* Asks about every 2^20 operations of a policy whether to stop. */
static int stops(rollout *r, uint64_t t)
{
    const uint64_t work = r->system->states * r->system->controls + 64;
    if (r->host != NULL && t % (((uint64_t)1 << 20) / work + 1) == 0 && r->host->should_stop(r->host)) {
        r->stopped = 1;
    }
    return r->stopped;
}

/* sum of weight (v - from)^2; from may be NULL. */
static double squares(uint64_t n, const double *weight, const double *v, const double *from)
{
    double sum = 0;
    for (uint64_t i = 0; i < n; i++) {
        const double d = from != NULL ? v[i] - from[i] : v[i];
        sum += weight[i] * d * d;
    }
    return sum;
}

double rollout_cost(const rollout *r, uint64_t t)
{
    const uint64_t ns = r->system->states, nu = r->system->controls;
    return t < r->steps ? squares(ns, r->q, r->x + t * ns, r->goal) + squares(nu, r->r, r->u + t * nu, NULL)
                        : squares(ns, r->qd, r->x + t * ns, r->goal);
}

/* Step t with the control that stands in r->u; returns its cost. */
static double advance(rollout *r, uint64_t t)
{
    const uint64_t ns = r->system->states, nu = r->system->controls;
    r->system->step(r->self, r->x + t * ns, r->u + t * nu, r->x + (t + 1) * ns);
    return rollout_cost(r, t);
}

double rollout_simulate(rollout *r, const double *u)
{
    double cost = 0;
    r->stopped = 0;
    memcpy(r->x, r->start, r->system->states * sizeof *r->x);
    memcpy(r->u, u, r->steps * r->system->controls * sizeof *r->u);
    for (uint64_t t = 0; t < r->steps && !stops(r, t); t++) {
        cost += advance(r, t);
    }
    return cost + rollout_cost(r, r->steps);
}

static void begin_back(rollout *r, const double *more)
{
    const uint64_t ns = r->system->states;
    const double *last = r->x + r->steps * ns;
    for (uint64_t i = 0; i < ns; i++) {
        r->bar[i] = 2 * r->qd[i] * (last[i] - r->goal[i]) + (more != NULL ? more[r->steps * ns + i] : 0);
    }
}

/* From r->bar behind step t to r->x_bar before it, and the derivatives by its control, which are added to
 * those of its cost. */
static void back(rollout *r, uint64_t t, double *u_bar)
{
    const uint64_t ns = r->system->states, nu = r->system->controls;
    const double *x = r->x + t * ns, *u = r->u + t * nu;
    for (uint64_t i = 0; i < ns; i++) {
        r->x_bar[i] = 2 * r->q[i] * (x[i] - r->goal[i]);
    }
    for (uint64_t i = 0; i < nu; i++) {
        u_bar[i] = 2 * r->r[i] * u[i];
    }
    r->system->back(r->self, x, u, r->bar, r->x_bar, u_bar);
}

static void turn(rollout *r)
{
    double *swapped = r->bar;
    r->bar = r->x_bar;
    r->x_bar = swapped;
}

void rollout_back(rollout *r, const double *more, double *u_bar)
{
    const uint64_t ns = r->system->states;
    begin_back(r, more);
    for (uint64_t t = r->steps; t-- > 0 && !stops(r, t);) {
        back(r, t, u_bar + t * r->system->controls);
        for (uint64_t i = 0; more != NULL && i < ns; i++) {
            r->x_bar[i] += more[t * ns + i];
        }
        turn(r);
    }
}

/* ---- a linear policy ---- */

/* Four sums side by side, whose order does not depend on the machine. */
static double dot(uint64_t n, const double *a, const double *b)
{
    double s[4] = {0, 0, 0, 0};
    uint64_t i = 0;
    for (; i + 4 <= n; i += 4) {
        for (int k = 0; k < 4; k++) {
            s[k] += a[i + (uint64_t)k] * b[i + (uint64_t)k];
        }
    }
    for (; i < n; i++) {
        s[0] += a[i] * b[i];
    }
    return (s[0] + s[1]) + (s[2] + s[3]);
}

static void add_multiple(uint64_t n, double factor, const double *restrict a, double *restrict out)
{
    for (uint64_t i = 0; i < n; i++) {
        out[i] += factor * a[i];
    }
}

double rollout_follow(rollout *r, const double *gain, const double *noise)
{
    const uint64_t ns = r->system->states, nu = r->system->controls;
    double cost = 0;
    r->stopped = 0;
    memcpy(r->x, r->start, ns * sizeof *r->x);
    for (uint64_t t = 0; t < r->steps && !stops(r, t); t++) {
        for (uint64_t i = 0; i < nu; i++) {
            r->u[t * nu + i] =
                dot(ns, gain + i * ns, r->x + t * ns) + (noise != NULL ? noise[t * nu + i] : 0);
        }
        cost += advance(r, t);
    }
    return cost + rollout_cost(r, r->steps);
}

void rollout_follow_back(rollout *r, const double *gain, double *gain_bar)
{
    const uint64_t ns = r->system->states, nu = r->system->controls;
    memset(gain_bar, 0, ns * nu * sizeof *gain_bar);
    begin_back(r, NULL);
    for (uint64_t t = r->steps; t-- > 0 && !stops(r, t);) {
        back(r, t, r->u_bar);
        for (uint64_t i = 0; i < nu; i++) {
            add_multiple(ns, r->u_bar[i], r->x + t * ns, gain_bar + i * ns);
            add_multiple(ns, r->u_bar[i], gain + i * ns, r->x_bar);
        }
        turn(r);
    }
}

void rollout_score(const rollout *r, const double *noise, double *score)
{
    const uint64_t ns = r->system->states, nu = r->system->controls;
    memset(score, 0, ns * nu * sizeof *score);
    for (uint64_t t = 0; t < r->steps; t++) {
        for (uint64_t i = 0; i < nu; i++) {
            add_multiple(ns, noise[t * nu + i], r->x + t * ns, score + i * ns);
        }
    }
}

int64_t rollout_bad_step(const rollout *r)
{
    const uint64_t ns = r->system->states;
    for (uint64_t k = ns; k < (r->steps + 1) * ns; k++) {
        if (!isfinite(r->x[k])) {
            return (int64_t)(k / ns) - 1;
        }
    }
    return -1;
}
