/* SPDX-License-Identifier: Apache-2.0 */
/* float_adam.c - see float_adam.h. */
#include "methods/rl/float_adam.h"

#include "methods/rl/mlp_loops.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int float_adam_init(float_adam *a, size_t count, double eps)
{
    a->count = count;
    a->eps = eps;
    a->beta1 = 0.9;
    a->beta2 = 0.999;
    a->steps = 0;
    a->m = loop_memory(2 * loop_room(count));
    a->v = a->m ? a->m + loop_room(count) : NULL;
    return a->m != NULL;
}

void float_adam_free(float_adam *a)
{
    free(a->m);
    a->m = a->v = NULL;
}

/* With other decays than those that loop_adam() is made for. */
static void step_with_decays(float_adam *a, double lr, double scale, const float *g, float *w)
{
    double t = (double)a->steps;
    double rate = lr / (1.0 - pow(a->beta1, t)), root = 1.0 / sqrt(1.0 - pow(a->beta2, t));
    for (size_t i = 0; i < a->count; i++) {
        double d = fmin(fmax(scale * (double)g[i], -1e15), 1e15);
        double m = a->beta1 * (double)a->m[i] + (1.0 - a->beta1) * d;
        double v = a->beta2 * (double)a->v[i] + (1.0 - a->beta2) * d * d;
        a->m[i] = (float)m;
        a->v[i] = (float)v;
        w[i] = (float)((double)w[i] - rate * m / (root * sqrt(v) + a->eps));
    }
}

void float_adam_step(float_adam *a, double lr, double scale, const float *g, float *w)
{
    a->steps++;
    double t = (double)a->steps;
    if (a->beta1 < 0.9 || a->beta1 > 0.9 || a->beta2 < 0.999 || a->beta2 > 0.999) {
        step_with_decays(a, lr, scale, g, w);
        return;
    }
    float rate = (float)(lr / (1.0 - pow(0.9, t)));
    float root = (float)(1.0 / sqrt(1.0 - pow(0.999, t)));
    loop_adam(a->count, (float)scale, rate, root, (float)a->eps, g, a->m, a->v, w);
}

void float_average(size_t count, double tau, const float *w, float *target)
{
    if (tau == 1.0) { /* exactly */
        memcpy(target, w, count * sizeof *w);
    } else {
        loop_average(count, (float)tau, w, target);
    }
}

double float_norm(size_t count, const float *g)
{
    double sum = 0.0;
    for (size_t i = 0; i < count; i++) {
        sum += (double)g[i] * (double)g[i];
    }
    return sqrt(sum);
}
