/* SPDX-License-Identifier: Apache-2.0 */
/* check_queries.c - makes queries about channels, examines the results, and compares them. */
#include "config.h"

#include "check/check_queries.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/check_process.h"

int ds_check_channels_open(ds_check *c, ds_check_channels *b)
{
    ds_error e = {0};
    *b = (ds_check_channels){.c = c, .table = ds_check_extension(c->env, DS_EXT_CHANNELS), .x = c->env->x};
    if (b->table == NULL) {
        ds_check_skip(c, "this environment does not offer them");
        return 0;
    }
    if (ds_channels_read(c->module->id, b->table, c->env->self, &b->channels, &e) != 0) {
        ds_check_fail(c, "the channels are invalid: %.400s", e.text);
        ds_check_hint(c, "diffsim/ext/channel.h defines what a channel may be");
        ds_channels_clear(&b->channels);
    } else {
        return 1;
    }
    return 0;
}

void ds_check_channels_close(ds_check_channels *b)
{
    ds_channels_clear(&b->channels);
}

int ds_check_query_open(ds_check_channels *b, uint64_t channel, uint32_t op, const double *x,
                        ds_check_query *q)
{
    ds_check_env *env = b->c->env;
    const ds_channel *ch = b->channels.list[channel];
    uint64_t elements = ds_channel_elements(ch), bytes = ds_channel_bytes(ch, op, env->n);
    memset(q, 0, sizeof *q);
    q->x = x;
    q->v_count = op == DS_QUERY_VALUE ? 0 : op == DS_QUERY_JTV ? elements : env->n;
    q->w_count = op == DS_QUERY_HV ? elements : 0;
    q->v = malloc((q->v_count + q->w_count + 1) * sizeof *q->v);
    q->ask = (ds_eval_query){.op = op, .channel = (uint32_t)channel, .out = malloc(bytes), .bytes = bytes};
    if (q->v == NULL || q->ask.out == NULL) {
        ds_check_fail(b->c, "out of memory");
        ds_check_query_close(q);
        return 0;
    }
    q->w = q->v + q->v_count;
    for (uint64_t i = 0; i < q->v_count + q->w_count; i++) {
        double width = op != DS_QUERY_JTV && i < env->n ? env->upper[i] - env->lower[i] : 1;
        q->v[i] = width * (2 * ds_random_uniform(&b->c->random) - 1);
    }
    q->ask.v = q->v_count > 0 ? q->v : NULL;
    q->ask.w = q->w_count > 0 ? q->w : NULL;
    return 1;
}

void ds_check_query_close(ds_check_query *q)
{
    free(q->v);
    free(q->ask.out);
}

void ds_check_evaluate_queries_raw(ds_check_env *env, const double *x, uint32_t want, double *grad,
                                   uint64_t asks, ds_eval_query *const *ask, ds_check_result *a)
{
    memset(a, 0, sizeof *a);
    a->io = (ds_eval){.want = want,
                      .n = env->n,
                      .x = x,
                      .grad = grad,
                      .loss = ds_check_poison(),
                      .outcome = DS_EVAL_OK,
                      .bad_step = -1,
                      .queries = asks,
                      .query = ask};
    env->h.errors = 0;
    env->h.error_text[0] = '\0';
    ds_flight_begin(x, env->n, want, 0, 1);
    a->status = ds_eval_call(env->vt, env->self, &a->io);
    ds_flight_end();
}

void ds_check_evaluate_queries(ds_check_env *env, const double *x, uint32_t want, double *grad, uint64_t asks,
                               ds_eval_query *const *ask, ds_check_result *a)
{
    for (uint64_t i = 0; i < asks; i++) {
        memset(ask[i]->out, 0xff, ask[i]->bytes);
        ask[i]->kind = DS_GRAD_NONE;
    }
    for (uint64_t i = 0; grad != NULL && i < env->n; i++) {
        grad[i] = ds_check_poison();
    }
    ds_check_evaluate_queries_raw(env, x, want, grad, asks, ask, a);
}

double ds_check_element(const ds_channel *c, const void *values, uint64_t k)
{
    return c->type == DS_TYPE_U8    ? ((const uint8_t *)values)[k]
           : c->type == DS_TYPE_F32 ? (double)((const float *)values)[k]
                                    : ((const double *)values)[k];
}

int ds_check_same_loss(const ds_check_channels *b, double first, double second)
{
    return ds_check_near(b->c, ds_check_loss_distance(first, second));
}

/* Products are doubles, whatever the type of the channel. */
static const ds_channel doubles = {.type = DS_TYPE_F64};

/* How the numbers of a result are stored; *count receives how many there are. */
static const ds_channel *stored_as(const ds_check_channels *b, const ds_eval_query *q, uint64_t *count)
{
    const ds_channel *as = q->op == DS_QUERY_VALUE ? b->channels.list[q->channel] : &doubles;
    *count = q->bytes / (as->type == DS_TYPE_U8 ? 1 : as->type == DS_TYPE_F32 ? 4 : 8);
    return as;
}

int ds_check_same_result(const ds_check_channels *b, const ds_eval_query *q, const void *first,
                         const void *second, uint64_t *element)
{
    uint64_t count, size, i = 0;
    const ds_channel *as = stored_as(b, q, &count);
    double largest = 0;
    size = q->bytes / count;
    for (uint64_t k = 0; b->c->tolerance > 0 && k < count; k++) {
        largest = fmax(largest, fabs(ds_check_element(as, first, k)));
    }
    while (i < count && (memcmp((const char *)first + i * size, (const char *)second + i * size, size) == 0 ||
                         fabs(ds_check_element(as, first, i) - ds_check_element(as, second, i)) <
                             b->c->tolerance * largest)) {
        i++;
    }
    if (element != NULL) {
        *element = i;
    }
    return i == count;
}

const char *ds_check_op_name(uint32_t op)
{
    static const char *const names[] = {"nothing", "its values", "J v", "J' v", "H v"};
    return names[op <= DS_QUERY_HV ? op : 0];
}

/* Are the numbers of a result finite? 0 after recording the first that is not. */
static int check_numbers(ds_check_channels *b, const ds_check_query *q, const char *where)
{
    const ds_channel *ch = b->channels.list[q->ask.channel];
    uint64_t count;
    const ds_channel *as = stored_as(b, &q->ask, &count);
    for (uint64_t k = 0; k < count; k++) {
        if (!isfinite(ds_check_element(as, q->ask.out, k))) {
            ds_check_fail(b->c, "%s, channel %s: number %llu of %s is not finite, or not written", where,
                          ch->name, (unsigned long long)k, ds_check_op_name(q->ask.op));
            ds_check_hint(
                b->c,
                "write all %llu of them; if a product is not finite, set the outcome to DS_EVAL_BAD_GRAD",
                (unsigned long long)count);
            return 0;
        }
    }
    return 1;
}

int ds_check_query_run(ds_check_channels *b, ds_check_query *q, const char *where, int fill)
{
    ds_check *c = b->c;
    ds_eval_query *list[] = {&q->ask};
    ds_check_result a;
    const char *name = b->channels.entry[q->ask.channel].name;
    memset(q->ask.out, fill, q->ask.bytes);
    q->ask.kind = DS_GRAD_NONE;
    ds_check_evaluate_queries_raw(c->env, q->x, 0, NULL, 1, list, &a);
    q->io = a.io;
    if (a.status != DS_OK || a.io.outcome > DS_EVAL_INFEASIBLE) {
        ds_check_result_check(c, c->env, &a, where);
        ds_check_note(c, "... when %s of channel %s was requested", ds_check_op_name(q->ask.op), name);
        return 0;
    }
    if (a.io.outcome > (q->ask.op == DS_QUERY_VALUE ? DS_EVAL_BAD_GRAD : DS_EVAL_OK)) {
        ds_check_result plain;
        ds_check_evaluate(c->env, q->x, 0, 0, NULL, &plain);
        if (q->ask.op == DS_QUERY_VALUE && plain.status == DS_OK && plain.io.outcome <= DS_EVAL_BAD_GRAD) {
            ds_check_fail(c, "%s: there is a loss, but none when the values of channel %s are requested",
                          where, name);
        }
        return 0;
    }
    if (q->ask.op != DS_QUERY_VALUE && (q->ask.kind == DS_GRAD_NONE || q->ask.kind > DS_GRAD_SMOOTHED)) {
        ds_check_fail(c, "%s, channel %s: kind of %s is %u", where, name, ds_check_op_name(q->ask.op),
                      q->ask.kind);
        ds_check_hint(
            c,
            "set ds_eval_query.kind to how it was computed: DS_GRAD_ADJOINT, DS_GRAD_FORWARD or DS_GRAD_FD");
        return 0;
    }
    return check_numbers(b, q, where);
}

/* ---- a point where products are compared ---- */

ds_check_product_point ds_check_product_point_of(ds_check_channels *b, uint64_t channel)
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
    for (uint64_t i = 0; i < t->n; i++) { /* inside of the box, with room for the quotients */
        double width = env->upper[i] - env->lower[i];
        t->x[i] = 0.1 * (0.5 * env->lower[i] + 0.5 * env->upper[i]) + 0.9 * t->x[i];
        t->v[i] = (2 * ds_random_uniform(r) - 1) * width;
        t->u[i] = (2 * ds_random_uniform(r) - 1) * width;
    }
    for (uint64_t i = 0; i < t->elements; i++) {
        t->w[i] = 2 * ds_random_uniform(r) - 1;
    }
}
