/* SPDX-License-Identifier: Apache-2.0 */
/* check_linear.c - conformance of products as linear maps: unit vectors, sums, multiples, signs and zeros.
 * What agrees with differences along random directions may still be wrong along those that are asked for:
 * columns of a Jacobian are products with unit vectors. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check/channels/check_product_point.h"

/* Unit vectors of one product at most, and points. */
enum { UNITS = 1000, LINEAR_POINTS = 2 };
static const double LINEAR_SECONDS = 3;
/* What sums may be off: relative to a number, and to the largest one; in single precision; of differences. */
static const double EXACT = 1e-6, BESIDE = 1e-9, SINGLE = 1e-4;

typedef struct linear {
    ds_check_product_point *t;
    uint32_t op;
    uint64_t in, out;             /* numbers of a vector, and of a product */
    double *v, *u, *sum;          /* vectors */
    double *of_v, *of_u, *of_sum; /* products with them */
    const double *w;              /* of H v; NULL elsewhere */
    double exact, beside;
    double end; /* of the time for unit vectors */
    uint64_t units;
} linear;

static int ask(linear *l, const double *v, double *out)
{
    return ds_check_product_get(l->t, l->op, l->t->x, v, l->w, out);
}

/* Is of_sum = a + factor * b? NULL = 0. *first gets the number that is not. */
static int adds_up(const linear *l, const double *a, double factor, const double *b, uint64_t *first)
{
    double largest = 0;
    for (uint64_t i = 0; i < l->out; i++) {
        largest = fmax(largest, fmax(a != NULL ? fabs(a[i]) : 0, b != NULL ? fabs(factor * b[i]) : 0));
    }
    for (*first = 0; *first < l->out; ++*first) {
        const double one = a != NULL ? a[*first] : 0, two = b != NULL ? factor * b[*first] : 0;
        if (!(fabs(one + two - l->of_sum[*first]) <=
              l->exact * (fabs(one) + fabs(two)) + l->beside * largest)) {
            return 0;
        }
    }
    return 1;
}

static void fail(const linear *l, uint64_t i, const char *what, double expected)
{
    ds_check *c = l->t->b->c;
    ds_check_fail(c, "channel %s: %s is not linear: number %llu of the product with %s is %.9g, not %.9g",
                  l->t->ch->name, ds_check_op_name(l->op), (unsigned long long)i, what, l->of_sum[i],
                  expected);
    ds_check_hint(
        c, "a product with a derivative is linear in its vector, whatever its size and sign, and however "
           "many of its numbers are 0: no limits, no thresholds, no absolute values, no lengths");
}

/* v times a factor. */
static int try_size(linear *l, double factor)
{
    uint64_t i;
    char what[60];
    for (i = 0; i < l->in; i++) {
        l->sum[i] = factor * l->v[i];
    }
    if (!ask(l, l->sum, l->of_sum)) {
        return 0;
    }
    for (i = 0; factor != 0 && i < l->out; i++) {
        l->of_sum[i] /= factor;
    }
    if (factor == 0) {
        for (i = 0; i < l->out && l->of_sum[i] == 0; i++) {
        }
        if (i < l->out) {
            fail(l, i, "a vector of zeros", 0);
        }
        return i == l->out;
    }
    if (!adds_up(l, l->of_v, 0, NULL, &i)) {
        snprintf(what, sizeof what, "%g v, divided by %g,", factor, factor);
        fail(l, i, what, l->of_v[i]);
        return 0;
    }
    return 1;
}

/* v + u, where u has the length `factor` along `one`, or, where that is `in`, everywhere. */
static int try_sum(linear *l, uint64_t one, double factor, const char *what)
{
    uint64_t i;
    char text[100];
    for (i = 0; i < l->in; i++) {
        l->u[i] = one == l->in ? l->u[i] : i == one;
        l->sum[i] = l->v[i] + factor * l->u[i];
    }
    if (!ask(l, l->u, l->of_u) || !ask(l, l->sum, l->of_sum)) {
        return 0;
    }
    if (!adds_up(l, l->of_v, factor, l->of_u, &i)) {
        snprintf(text, sizeof text, "v + %.3g u, where u is %s,", factor, what);
        fail(l, i, text, l->of_v[i] + factor * l->of_u[i]);
        return 0;
    }
    return 1;
}

/* A unit vector: alone, turned round, and beside v. */
static int try_unit(linear *l, uint64_t one, double width)
{
    char what[60];
    snprintf(what, sizeof what, "unit vector %llu", (unsigned long long)one);
    if (!try_sum(l, one, width, what)) {
        return 0;
    }
    uint64_t i;
    for (i = 0; i < l->in; i++) {
        l->u[i] = -l->u[i];
    }
    if (!ask(l, l->u, l->of_sum)) {
        return 0;
    }
    if (!adds_up(l, NULL, -1, l->of_u, &i)) {
        snprintf(what, sizeof what, "minus unit vector %llu", (unsigned long long)one);
        fail(l, i, what, -l->of_u[i]);
        return 0;
    }
    return 1;
}

/* All unit vectors, or as many as there is time for, from a random one on. */
static void try_units(linear *l)
{
    const ds_check_env *env = l->t->b->c->env;
    const uint64_t count = l->in < UNITS ? l->in : UNITS, from = ds_random_u32(&l->t->b->c->random) % l->in;
    const uint64_t stride = l->in / count;
    for (uint64_t k = 0; k < count && (k < 3 || ds_check_worked() < l->end); k++) {
        const uint64_t i = (from + k * stride) % l->in;
        const double width = l->op == DS_QUERY_JTV ? 1 : env->upper[i] - env->lower[i];
        l->units++;
        if (!try_unit(l, i, width)) {
            return;
        }
    }
}

static void try_product(linear *l)
{
    static const double sizes[] = {0, -1, 0.5, 3, 1e-8, 1e8, 0x1p-200, 0x1p200};
    const int differenced = l->t->differenced;
    uint64_t left = sizeof sizes / sizeof sizes[0];
    ds_check_product_point *t = l->t;
    memcpy(l->v, l->op == DS_QUERY_JTV ? t->w : t->v, l->in * sizeof *l->v);
    memcpy(l->u, t->u, (l->op == DS_QUERY_JTV ? 0 : l->in) * sizeof *l->u);
    for (uint64_t i = 0; l->op == DS_QUERY_JTV && i < l->in; i++) {
        l->u[i] = 2 * ds_random_uniform(&t->b->c->random) - 1;
    }
    if (!ask(l, l->v, l->of_v)) {
        return;
    }
    int single = 1;
    for (uint64_t i = 0; i < l->out; i++) {
        single = single && (double)(float)l->of_v[i] == l->of_v[i];
    }
    /* Differences and smoothed values are linear as far as their steps let them be. */
    const int rough = t->differenced || t->smoothed || differenced;
    l->exact = (rough ? DS_CHECK_DIFFERENCED : single ? SINGLE : EXACT) + 4 * t->b->c->tolerance;
    l->beside = rough ? DS_CHECK_DIFFERENCED : single ? SINGLE : BESIDE;
    left = rough || single ? 4 : left; /* others may be too short or too long */
    for (uint64_t k = 0; k < left; k++) {
        if (!try_size(l, sizes[k])) {
            return;
        }
    }
    if (try_sum(l, l->in, 1, "another vector")) {
        try_units(l);
    }
}

static void try_channel(ds_check_asking *b, uint64_t channel, double end)
{
    static const uint32_t ops[] = {DS_QUERY_JV, DS_QUERY_JTV, DS_QUERY_HV};
    ds_check_product_point t = ds_check_product_point_of(b, channel);
    const uint64_t n = t.n, m = t.elements;
    double *memory = calloc(4 * n + m + 8 * t.most, sizeof *memory);
    if (memory == NULL) {
        ds_check_fail(b->c, "out of memory");
        return;
    }
    t.x = memory;
    t.y = t.x + n;
    t.v = t.y + n;
    t.u = t.v + n;
    t.w = t.u + n;
    t.low = t.w + m;
    t.high = t.low + t.most;
    double *room = t.high + t.most;
    uint64_t units = 0;
    ds_check_product_draw(&t);
    for (size_t k = 0; k < sizeof ops / sizeof ops[0] && b->c->failed == 0; k++) {
        linear l = {.t = &t, .op = ops[k], .end = end};
        l.in = ops[k] == DS_QUERY_JTV ? m : n;
        l.out = ops[k] == DS_QUERY_JV ? m : n;
        l.w = ops[k] == DS_QUERY_HV ? t.w : NULL;
        double **const parts[] = {&l.v, &l.u, &l.sum, &l.of_v, &l.of_u, &l.of_sum};
        for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
            *parts[i] = room + i * t.most;
        }
        if (ds_check_product_can(&t, ops[k])) {
            try_product(&l);
            units += l.units;
        }
    }
    ds_check_note(b->c, "%s: %llu unit vectors", t.ch->name, (unsigned long long)units);
    free(memory);
}

void ds_check_channel_linear(ds_check *c)
{
    const uint32_t products = DS_CAN(DS_QUERY_JV) | DS_CAN(DS_QUERY_JTV) | DS_CAN(DS_QUERY_HV);
    ds_check_asking b;
    uint64_t with = 0, tried = 0;
    if (!ds_check_asking_open(c, &b)) {
        return;
    }
    for (uint64_t i = 0; i < b.channels.count; i++) {
        with += (b.channels.list[i]->ops & products) != 0;
    }
    const double each = with > 0 ? LINEAR_SECONDS / (double)(with * LINEAR_POINTS) : 0;
    const uint64_t points = ds_check_plan(c, "points", LINEAR_POINTS, 1,
                                          (double)with * 30 * (c->options->cost + c->options->cost_gradient));
    for (uint64_t k = 0; k < points; k++) {
        for (uint64_t i = 0; i < b.channels.count && c->failed == 0; i++) {
            if ((b.channels.list[i]->ops & products) != 0 &&
                (tried == 0 || ds_check_worked() < 0.5 * c->options->timeout)) {
                try_channel(&b, i, ds_check_worked() + each);
                tried++;
            }
        }
    }
    if (with == 0) {
        ds_check_skip(c, "no channel offers a product");
    }
    ds_check_asking_close(&b);
}
