/* SPDX-License-Identifier: Apache-2.0 */
/* float_adam.c - see float_adam.h. */
#include "methods/rl/float_adam.h"

#include "methods/rl/mlp_loops.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Up to here 1 - b of a b in single precision is right to 3e-5; at 0.999999 it is off by 1.3 %. */
#define MOST_PLAIN 0.999

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

void float_adam_step(float_adam *a, double lr, double scale, const float *g, float *w)
{
    a->steps++;
    double t = (double)a->steps;
    float rate = (float)(lr / (1.0 - pow(a->beta1, t)));
    float root = (float)(1.0 / sqrt(1.0 - pow(a->beta2, t)));
    if (fmax(a->beta1, a->beta2) > MOST_PLAIN) {
        loop_adam_slow(a->count, (float)scale, (float)(1.0 - a->beta1), (float)(1.0 - a->beta2), rate, root,
                       (float)a->eps, g, a->m, a->v, w);
    } else {
        loop_adam(a->count, (float)scale, (float)a->beta1, (float)a->beta2, rate, root, (float)a->eps, g,
                  a->m, a->v, w);
    }
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

double float_length(size_t count, const float *g)
{
    double sum;
    loop_squares(count, g, &sum);
    return sqrt(sum);
}
