/* SPDX-License-Identifier: Apache-2.0 */
/* smooth_base.h - a smooth environment with an exact adjoint: a swinging body is pushed by BAD_N controls;
 * the loss is a large term at the end and small ones at every step. The files beside it spoil the gradient:
 * BAD_TERM(t) is a factor of the small term of step t in the adjoint, BAD_EFFORT one of the other small term,
 * BAD_WEIGHT one of the speed at the end, BAD_PENALTY one of a penalty on positions beyond BAD_LIMIT;
 * BAD_AFTER are statements at the end, where g holds the gradient, BAD_LOSS_ONLY where none is wanted,
 * BAD_KEEPS declarations that both see; BAD_REAL is the type of all numbers, BAD_MS milliseconds of one
 * evaluation; BAD_FLAGS are those of the descriptor. */
#include <diffsim/helper/simple.h>
#include <string.h>
#include <time.h>

#ifndef BAD_N
#define BAD_N 40
#endif
#ifndef BAD_TERM
#define BAD_TERM(t) 1
#endif
#ifndef BAD_EFFORT
#define BAD_EFFORT 1
#endif
#ifndef BAD_WEIGHT
#define BAD_WEIGHT 1
#endif
#ifndef BAD_LIMIT
#define BAD_LIMIT 1e9
#endif
#ifndef BAD_PENALTY
#define BAD_PENALTY 1
#endif
#ifndef BAD_KEEPS
#define BAD_KEEPS
#endif
#ifndef BAD_LOSS_ONLY
#define BAD_LOSS_ONLY
#endif
#ifndef BAD_AFTER
#define BAD_AFTER
#endif
#ifndef BAD_REAL
#define BAD_REAL double
#endif
#ifndef BAD_FLAGS
#define BAD_FLAGS DS_ENV_GRADIENT
#endif
#ifndef BAD_MS
#define BAD_MS 0
#endif

enum { N = BAD_N, MIDDLE = N / 3 };
typedef BAD_REAL real;

static const ds_param *const params[] = {NULL};

static void take_time(void)
{
    struct timespec begin, now;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do {
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while (1e3 * (double)(now.tv_sec - begin.tv_sec) + 1e-6 * (double)(now.tv_nsec - begin.tv_nsec) <
             BAD_MS);
}

/* How far a position is beyond the limit. */
static real beyond(real p)
{
    return p > (real)(BAD_LIMIT) ? p - (real)(BAD_LIMIT) : 0;
}

BAD_KEEPS

static double loss(const double *param, const double *x, double *grad)
{
    const real h = (real)(4.0 / N);
    real p[N + 1], v[N + 1], sum = 0;
    double g[N];
    (void)param;
    if (BAD_MS > 0) {
        take_time();
    }
    p[0] = (real)0.3;
    v[0] = (real)-0.2;
    for (int t = 0; t < N; t++) {
        v[t + 1] = v[t] + h * ((real)x[t] - (real)0.5 * (real)sin((double)p[t]) - (real)0.1 * v[t]);
        p[t + 1] = p[t] + h * v[t + 1];
        sum += (real)0.001 * (real)x[t] * (real)x[t] + (real)0.01 * h * p[t + 1] * p[t + 1];
        sum += h * beyond(p[t + 1]) * beyond(p[t + 1]);
    }
    sum += 10 * (p[N] - 1) * (p[N] - 1) + (real)0.5 * v[N] * v[N];
    if (grad == NULL) {
        BAD_LOSS_ONLY
        return (double)sum;
    }
    real gp = 20 * (p[N] - 1), gv = (real)(BAD_WEIGHT)*v[N];
    for (int t = N - 1; t >= 0; t--) {
        gp += (real)(BAD_TERM(t)) * (real)0.02 * h * p[t + 1];
        gp += (real)(BAD_PENALTY)*2 * h * beyond(p[t + 1]);
        gv += h * gp;
        g[t] = (double)(h * gv + (real)(BAD_EFFORT) * (real)0.002 * (real)x[t]);
        gp -= (real)0.5 * (real)cos((double)p[t]) * h * gv;
        gv -= (real)0.1 * h * gv;
    }
    BAD_AFTER
    memcpy(grad, g, sizeof g);
    return (double)sum;
}

DS_SIMPLE_ENV(BAD_ID, "A smooth environment.", params, BAD_FLAGS, N, -1, 1, 0.5, loss)
