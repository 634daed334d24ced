/* SPDX-License-Identifier: Apache-2.0 */
/* check_product_point.c - where products of a channel are compared: a random point and directions, answers
 * there. */
#include "config.h"

#include "check/channels/check_product_point.h"

#include <stdio.h>

ds_check_product_point ds_check_product_point_of(ds_check_asking *b, uint64_t channel)
{
    const uint64_t n = b->c->env->n, elements = ds_channel_elements(b->channels.list[channel]);
    return (ds_check_product_point){.b = b,
                                    .ch = b->channels.list[channel],
                                    .channel = channel,
                                    .n = n,
                                    .elements = elements,
                                    .most = elements > n ? elements : n};
}

double ds_check_dot(uint64_t count, const double *a, const double *b)
{
    double sum = 0;
    for (uint64_t i = 0; i < count; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

int ds_check_product_can(const ds_check_product_point *t, uint32_t op)
{
    return (t->ch->ops & DS_CAN(op)) != 0;
}

int ds_check_product_get(ds_check_product_point *t, uint32_t op, const double *x, const double *v,
                         const double *w, double *out)
{
    ds_check_query q;
    char where[80];
    if (!ds_check_query_open(t->b, t->channel, op, x, &q)) {
        return 0;
    }
    q.ask.v = v;
    q.ask.w = w;
    snprintf(where, sizeof where, "point %llu", (unsigned long long)t->point);
    int there = ds_check_query_run(t->b, &q, where, 0xff);
    uint64_t count = op == DS_QUERY_VALUE || op == DS_QUERY_JV ? t->elements : t->n;
    for (uint64_t i = 0; there && i < count; i++) {
        out[i] =
            op == DS_QUERY_VALUE ? ds_check_element(t->ch, q.ask.out, i) : ((const double *)q.ask.out)[i];
    }
    t->differenced |= op != DS_QUERY_VALUE && q.ask.kind == DS_GRAD_FD;
    t->smoothed |= op != DS_QUERY_VALUE && q.ask.kind == DS_GRAD_SMOOTHED;
    ds_check_query_close(&q);
    return there;
}

void ds_check_product_draw(ds_check_product_point *t)
{
    const ds_check_env *env = t->b->c->env;
    ds_random *r = &t->b->c->random;
    ds_check_random_point(t->b->c, env, t->x);
    for (uint64_t i = 0; i < t->n; i++) { /* inside of the box, for the quotients */
        double width = env->upper[i] - env->lower[i];
        t->x[i] = 0.1 * (0.5 * env->lower[i] + 0.5 * env->upper[i]) + 0.9 * t->x[i];
        t->v[i] = (2 * ds_random_uniform(r) - 1) * width;
        t->u[i] = (2 * ds_random_uniform(r) - 1) * width;
    }
    for (uint64_t i = 0; i < t->elements; i++) {
        t->w[i] = 2 * ds_random_uniform(r) - 1;
    }
}
