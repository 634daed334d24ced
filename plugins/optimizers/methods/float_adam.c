/* SPDX-License-Identifier: Apache-2.0 */
/* methods/float_adam.c - see float_adam.h. */
#include "float_adam.h"

#include <math.h>
#include <stdlib.h>

static const float b1 = 0.9f, b2 = 0.999f;
static const float huge = 1e15f; /* the square of a larger gradient would overflow */

int float_adam_init(float_adam *a, size_t count, double eps)
{
    a->count = count;
    a->eps = eps;
    a->steps = 0;
    a->m = calloc(2 * count, sizeof(float));
    a->v = a->m ? a->m + count : NULL;
    return a->m != NULL;
}

void float_adam_free(float_adam *a)
{
    free(a->m);
    a->m = a->v = NULL;
}

void float_adam_step(float_adam *a, double lr, double scale, const float *g_, float *w_)
{
    float *restrict m = a->m, *restrict v = a->v, *restrict w = w_;
    const float *restrict g = g_;
    a->steps++;
    double t = (double)a->steps;
    float rate = (float)(lr / (1.0 - pow(0.9, t))), eps = (float)a->eps, s = (float)scale;
    float root = (float)(1.0 / sqrt(1.0 - pow(0.999, t)));
    for (size_t i = 0; i < a->count; i++) {
        float gi = s * g[i];
        gi = gi > huge ? huge : (gi < -huge ? -huge : gi);
        m[i] = b1 * m[i] + (1.0f - b1) * gi;
        v[i] = b2 * v[i] + (1.0f - b2) * gi * gi;
        w[i] -= rate * m[i] / (root * sqrtf(v[i]) + eps);
    }
}

void float_average(size_t count, double tau, const float *w_, float *target_)
{
    const float *restrict w = w_;
    float *restrict target = target_, share = (float)tau;
    if (tau == 1.0) { /* exactly */
        for (size_t i = 0; i < count; i++) {
            target[i] = w[i];
        }
        return;
    }
    for (size_t i = 0; i < count; i++) {
        target[i] += share * (w[i] - target[i]);
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
