/* SPDX-License-Identifier: Apache-2.0 */
/* check_channels.c - conformance of the extension channels: the list, values, independence of queries, and
 * buffers. Products are in check_products.c and check_linear.c. */
#include "config.h"

#include "check/check_items.h"
#include "check/check_queries.h"
#include "check/check_tests.h"
#include "harness/check_process.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { POINTS = 4, EXTRA = 64, FILL = 0x5a };

/* ---- the list ---- */

static const char *name_of(const ds_check_channels *b, uint64_t i)
{
    return b->channels.entry[i].name;
}

/* Checks what describe() writes, before the host corrects it. */
static void check_description(ds_check *c, ds_check_channels *b, uint64_t i)
{
    const uint32_t known =
        DS_CAN(DS_QUERY_VALUE) | DS_CAN(DS_QUERY_JV) | DS_CAN(DS_QUERY_JTV) | DS_CAN(DS_QUERY_HV);
    union {
        ds_channel channel;
        unsigned char bytes[sizeof(ds_channel) + EXTRA];
    } u;
    memset(&u, FILL, sizeof u);
    u.channel = (ds_channel){.struct_size = sizeof u, .lower = -INFINITY, .upper = INFINITY};
    ds_status st = b->table->describe(c->env->self, i, &u.channel);
    const ds_channel *q = &u.channel;
    if (st != DS_OK || q->struct_size != sizeof u) {
        ds_check_fail(c,
                      "channel %s: describe() into a struct of %zu bytes returned %s and left struct_size %u",
                      name_of(b, i), sizeof u, ds_status_name(st), q->struct_size);
        ds_check_hint(c, "fill the fields that you know; struct_size belongs to the caller");
        return;
    }
    for (size_t k = sizeof *q; k < sizeof u; k++) {
        if (u.bytes[k] != FILL) {
            ds_check_fail(c,
                          "channel %s: describe() wrote past the end of the struct that its ABI version "
                          "defines: fill only its own fields",
                          name_of(b, i));
            break;
        }
    }
    if ((q->ops & ~known) != 0) {
        ds_check_fail(c, "channel %s: ops is %#x, which has unknown bits", name_of(b, i), q->ops);
        ds_check_hint(
            c, "ops is DS_CAN(DS_QUERY_VALUE) | DS_CAN(DS_QUERY_JV) | ..., not the numbers themselves");
    }
    if (q->role < DS_CHANNEL_RESIDUAL || q->role > DS_CHANNEL_LOSS || q->type < DS_TYPE_F64 ||
        q->type > DS_TYPE_U8) {
        ds_check_fail(c, "channel %s: role %u or type %u is unknown", name_of(b, i), q->role, q->type);
        ds_check_hint(c, "a role is one of DS_CHANNEL_*, a type one of DS_TYPE_*");
    }
    if (q->role != DS_CHANNEL_CONSTRAINT && (isfinite(q->lower) || isfinite(q->upper))) {
        ds_check_fail(c, "channel %s has the limits %g..%g, but is not a constraint", name_of(b, i), q->lower,
                      q->upper);
        ds_check_hint(c, "leave lower and upper as they are, or give it the role DS_CHANNEL_CONSTRAINT");
    }
    if (q->role == DS_CHANNEL_IMAGE && (q->ndim < 2 || q->ndim > 3)) {
        ds_check_fail(
            c,
            "channel %s is an image of %u dimensions: expected height x width, or height x width x colours",
            name_of(b, i), q->ndim);
    }
    if (q->role == DS_CHANNEL_LOSS && q->type != DS_TYPE_F64) {
        ds_check_fail(c, "channel %s is the loss: set its type to DS_TYPE_F64", name_of(b, i));
    }
}

static void compare_lists(ds_check *c, const ds_check_channels *b, const ds_channels *other, const char *what)
{
    int same = ds_channels_equal(&b->channels, other);
    for (uint64_t i = 0; same && i < other->count; i++) {
        const ds_channel_entry *p = &b->channels.entry[i], *q = &other->entry[i];
        same = p->c.lower == q->c.lower && p->c.upper == q->c.upper && strcmp(p->unit, q->unit) == 0;
    }
    if (!same) {
        ds_check_fail(c,
                      "%s has other channels: %llu of them, then %llu, or another name, role, shape, type, "
                      "limit or operation",
                      what, (unsigned long long)b->channels.count, (unsigned long long)other->count);
        ds_check_hint(c, "channels must depend on the parameters alone and stay the same until destroy()");
    }
}

/* Reads the list of an instance again; 0 after recording a failure. */
static int query_again(ds_check *c, ds_check_env *env, const char *what, ds_channels *out)
{
    ds_error e = {0};
    const ds_env_channels *t = ds_check_extension(env, DS_EXT_CHANNELS);
    int made = t != NULL && ds_channels_read(c->module->id, t, env->self, out, &e) == 0;
    if (!made) {
        ds_check_fail(c, "%s: %s", what, t == NULL ? "the extension is not offered" : e.text);
    }
    return made;
}

static void note_list(ds_check *c, const ds_check_channels *b)
{
    static const char *const types[] = {"?", "f64", "f32", "u8"};
    static const char *const names[] = {"", "value", " J v", " J' v", " H v"};
    for (uint64_t i = 0; i < b->channels.count; i++) {
        const ds_channel *q = b->channels.list[i];
        char ops[40] = "";
        for (uint32_t op = DS_QUERY_VALUE; op <= DS_QUERY_HV; op++) {
            strcat(ops, (q->ops & DS_CAN(op)) != 0 ? names[op] : "");
        }
        ds_check_note(c, "%s: %s, %llu %s, %s", q->name, ds_channel_role_name(q->role),
                      (unsigned long long)ds_channel_elements(q), types[q->type < 4 ? q->type : 0], ops);
    }
}

static void channel_list(ds_check *c)
{
    ds_check_channels b;
    ds_check_env other;
    if (!ds_check_channels_open(c, &b)) {
        return;
    }
    for (uint64_t i = 0; i < b.channels.count; i++) {
        check_description(c, &b, i);
    }
    note_list(c, &b);
    ds_channels again = {0}, second = {0};
    ds_check_result a;
    ds_check_call(c->env, c->env->x, 0, &a);
    if (query_again(c, c->env, "after an evaluation", &again)) {
        compare_lists(c, &b, &again, "the instance after an evaluation");
    }
    if (!ds_check_needs_process(c) && ds_check_env_open(c, 1, &other)) {
        if (query_again(c, &other, "a second instance", &second)) {
            compare_lists(c, &b, &second, "a second instance");
        }
        ds_check_env_close(&other);
    }
    ds_channels_clear(&again);
    ds_channels_clear(&second);
    ds_check_channels_close(&b);
}

/* ---- values ---- */

static void report_loss(ds_check *c, const char *where, double alone, double asked, const char *what)
{
    ds_check_fail(c, "%s: the loss is %.17g, but %.17g when %s is requested", where, alone, asked, what);
    ds_check_hint(c, "one x has one loss, bit for bit: compute it in the same way whatever is requested");
}

/* The values alone, twice, into memory with different contents. */
static void value_alone(ds_check_channels *b, ds_check_query *q, const char *where, double loss)
{
    ds_check *c = b->c;
    const ds_channel *ch = b->channels.list[q->ask.channel];
    unsigned char *first = malloc(q->ask.bytes);
    if (first == NULL || !ds_check_query_run(b, q, where, 0xff)) {
        free(first);
        return;
    }
    if (!ds_check_same_loss(b, loss, q->io.loss)) {
        report_loss(c, where, loss, q->io.loss, ch->name);
    }
    if (q->ask.kind != DS_GRAD_NONE) {
        ds_check_fail(c, "%s, channel %s: kind is %u, but values are not a derivative", where, ch->name,
                      q->ask.kind);
        ds_check_hint(c, "leave ds_eval_query.kind at DS_GRAD_NONE for DS_QUERY_VALUE");
    }
    memcpy(first, q->ask.out, q->ask.bytes);
    if (ds_check_query_run(b, q, where, 0x11)) {
        uint64_t i;
        if (!ds_check_same_result(b, &q->ask, first, q->ask.out, &i)) {
            ds_check_fail(c, "%s, channel %s: element %llu is different, or not written, the second time",
                          where, ch->name, (unsigned long long)i);
            ds_check_hint(c, "write all elements, zeros too; a value depends on x alone, bit for bit");
        }
    }
    free(first);
}

/* All values in one evaluation, as many as fit, with the gradient. */
static void values_together(ds_check_channels *b, ds_check_query *all, const double *x, double loss,
                            const char *where)
{
    ds_check *c = b->c;
    ds_check_env *env = c->env;
    uint64_t count = b->channels.count < DS_MAX_QUERIES ? b->channels.count : DS_MAX_QUERIES;
    ds_eval_query ask[DS_MAX_QUERIES], *list[DS_MAX_QUERIES];
    unsigned char *out[DS_MAX_QUERIES] = {NULL};
    ds_check_result a;
    int room = 1;
    for (uint64_t i = 0; i < count; i++) {
        out[i] = malloc(all[i].ask.bytes);
        room = room && out[i] != NULL;
        ask[i] = all[i].ask;
        ask[i].out = out[i];
        list[i] = &ask[i];
    }
    if (room) {
        ds_check_evaluate_queries(env, x, env->has_gradient ? DS_WANT_GRAD : 0,
                                  env->has_gradient ? env->g : NULL, count, list, &a);
        if (!ds_check_result_check(c, env, &a, where)) {
            ds_check_fail(c,
                          "%s: there is a loss, but none when all values are requested: queries must not "
                          "change the outcome",
                          where);
        } else if (!ds_check_same_loss(b, loss, a.io.loss)) {
            report_loss(c, where, loss, a.io.loss, "everything");
        }
        for (uint64_t i = 0; a.io.outcome <= DS_EVAL_BAD_GRAD && i < count; i++) {
            if (!ds_check_same_result(b, &ask[i], all[i].ask.out, out[i], NULL)) {
                ds_check_fail(c,
                              "%s, channel %s: the values change when the gradient and other channels are "
                              "requested, too",
                              where, name_of(b, i));
                ds_check_hint(c, "a result must not depend on what else is requested");
            }
        }
    }
    for (uint64_t i = 0; i < count; i++) {
        free(out[i]);
    }
}

/* Checks what the role of channel i implies for its values. */
static void check_role(ds_check_channels *b, const ds_check_query *q, const char *where, double loss)
{
    ds_check *c = b->c;
    const ds_channel *ch = b->channels.list[q->ask.channel];
    uint64_t m = ds_channel_elements(ch);
    double sum = 0;
    for (uint64_t k = 0; k < m; k++) {
        double v = ds_check_element(ch, q->ask.out, k);
        sum += v * v;
        if (ch->role == DS_CHANNEL_IMAGE && ch->type != DS_TYPE_U8 && !(v >= 0 && v <= 1)) {
            ds_check_fail(c,
                          "%s, channel %s: pixel %llu is %g, outside of 0..1: scale the pixels, 0 is black",
                          where, ch->name, (unsigned long long)k, v);
            break;
        }
    }
    double allowed = (ch->type == DS_TYPE_F64 ? 1e-9 : 1e-5) + 4 * c->tolerance;
    if (ch->role == DS_CHANNEL_RESIDUAL && fabs(sum - loss) > allowed * fmax(fabs(sum), fabs(loss))) {
        ds_check_fail(c, "%s, channel %s: the sum of the squares of the residuals is %.10g, the loss %.10g",
                      where, ch->name, sum, loss);
        ds_check_hint(c, "loss = sum of r_i^2: without a factor 1/2, and with weights inside the residuals");
    }
    if (ch->role == DS_CHANNEL_LOSS && !ds_check_same_loss(b, loss, ds_check_element(ch, q->ask.out, 0))) {
        ds_check_fail(c, "%s, channel %s is %.17g, the loss %.17g", where, ch->name,
                      ds_check_element(ch, q->ask.out, 0), loss);
        ds_check_hint(c, "the channel of role DS_CHANNEL_LOSS must equal io->loss in every bit");
    }
}

/* The gradient of the loss is 2 J' r for residuals, J' 1 for the loss. */
static void check_gradient(ds_check_channels *b, const ds_check_query *value, const double *x,
                           const char *where)
{
    ds_check *c = b->c;
    ds_check_env *env = c->env;
    const ds_channel *ch = b->channels.list[value->ask.channel];
    ds_check_result a;
    ds_check_query q;
    double factor = ch->role == DS_CHANNEL_RESIDUAL ? 2 : 1, error = 0, size = 0;
    if (!env->has_gradient || (ch->ops & DS_CAN(DS_QUERY_JTV)) == 0 ||
        (ch->role != DS_CHANNEL_RESIDUAL && ch->role != DS_CHANNEL_LOSS)) {
        return;
    }
    ds_check_evaluate(env, x, DS_WANT_GRAD, 0, env->g, &a);
    if (a.status != DS_OK || a.io.outcome != DS_EVAL_OK ||
        !ds_check_query_open(b, value->ask.channel, DS_QUERY_JTV, x, &q)) {
        return;
    }
    for (uint64_t k = 0; k < ds_channel_elements(ch); k++) {
        q.v[k] = ch->role == DS_CHANNEL_RESIDUAL ? ds_check_element(ch, value->ask.out, k) : 1;
    }
    if (ds_check_query_run(b, &q, where, 0xff)) {
        const double *product = q.ask.out;
        for (uint64_t i = 0; i < env->n; i++) {
            double d = env->g[i] - factor * product[i];
            error += d * d;
            size += env->g[i] * env->g[i];
        }
        error = sqrt(error) / (size > 0 ? sqrt(size) : 1);
        if (error > 1e-5 + 4 * c->tolerance && q.ask.kind != DS_GRAD_SMOOTHED &&
            a.io.grad_kind != DS_GRAD_SMOOTHED) {
            ds_check_fail(c, "%s: %s of channel %s differs from the gradient of the loss by %.2g relative",
                          where, factor > 1 ? "2 J' r" : "J' 1", ch->name, error);
        }
    }
    ds_check_query_close(&q);
}

/* A product requested with the values must change neither them nor the loss, and be the same the second time.
 */
static void product_with_values(ds_check_channels *b, const ds_check_query *value, uint32_t op,
                                const double *x, double loss, const char *where)
{
    ds_check *c = b->c;
    const char *name = name_of(b, value->ask.channel);
    unsigned char *values = malloc(value->ask.bytes);
    double *first = NULL;
    ds_check_query q;
    ds_check_result a;
    if (values != NULL && ds_check_query_open(b, value->ask.channel, op, x, &q)) {
        ds_eval_query beside = value->ask, *list[] = {&beside, &q.ask};
        beside.out = values;
        memset(q.ask.out, 0xff, q.ask.bytes);
        ds_check_evaluate_queries(c->env, x, 0, NULL, 2, list, &a);
        int answered = a.status == DS_OK && a.io.outcome <= DS_EVAL_BAD_GRAD;
        if (!answered) {
            ds_check_fail(c, "%s: there is a loss, but none when %s of channel %s is requested", where,
                          ds_check_op_name(op), name);
        } else if (!ds_check_same_loss(b, loss, a.io.loss)) {
            report_loss(c, where, loss, a.io.loss, ds_check_op_name(op));
        } else if (!ds_check_same_result(b, &beside, value->ask.out, values, NULL)) {
            ds_check_fail(c, "%s, channel %s: the values change when %s is requested, too", where, name,
                          ds_check_op_name(op));
            ds_check_hint(c, "a result must not depend on what else is requested");
        }
        first = answered && a.io.outcome == DS_EVAL_OK ? malloc(q.ask.bytes) : NULL;
        if (first != NULL) {
            memcpy(first, q.ask.out, q.ask.bytes);
            if (ds_check_query_run(b, &q, where, 0x11) &&
                !ds_check_same_result(b, &q.ask, first, q.ask.out, NULL)) {
                ds_check_fail(c, "%s, channel %s: another %s the second time", where, name,
                              ds_check_op_name(op));
                ds_check_hint(c, "a product depends on x, v and w alone, bit for bit");
            }
        }
        ds_check_query_close(&q);
    }
    free(first);
    free(values);
}

static void values_at(ds_check_channels *b, const double *x, const char *where)
{
    ds_check *c = b->c;
    uint64_t count = b->channels.count, made = 0;
    ds_check_query *all = calloc(count, sizeof *all);
    ds_check_result a;
    ds_check_evaluate(c->env, x, 0, 0, NULL, &a);
    if (all == NULL || a.status != DS_OK || a.io.outcome > DS_EVAL_BAD_GRAD) {
        free(all);
        return;
    }
    unsigned failed = c->failed;
    while (made < count && ds_check_query_open(b, made, DS_QUERY_VALUE, x, &all[made])) {
        value_alone(b, &all[made], where, a.io.loss);
        made++;
    }
    b->answered += made == count;
    if (made == count && c->failed == failed) {
        values_together(b, all, x, a.io.loss, where);
    }
    for (uint64_t i = 0; made == count && c->failed == failed && i < count; i++) {
        check_role(b, &all[i], where, a.io.loss);
        check_gradient(b, &all[i], x, where);
        for (uint32_t op = DS_QUERY_JV; op <= DS_QUERY_HV; op++) {
            if ((b->channels.list[i]->ops & DS_CAN(op)) != 0) {
                product_with_values(b, &all[i], op, x, a.io.loss, where);
            }
        }
    }
    while (made > 0) {
        ds_check_query_close(&all[--made]);
    }
    free(all);
}

/* The numbers must be the same whatever else is requested in the same call. */
static void with_others(ds_check *c)
{
    ds_check_items s;
    ds_check_player p;
    if (!ds_check_items_open(c, c->env, 0, 0, &s)) {
        return;
    }
    double *out = malloc(s.size * sizeof *out);
    if (out != NULL && ds_check_player_open(&s, c->env, &p)) {
        ds_check_items_play(&p, out);
        ds_check_items_agree(c, &s, out, 0);
        ds_check_player_close(&p);
    }
    free(out);
    ds_check_items_close(&s);
}

static void channel_value(ds_check *c)
{
    ds_check_channels b;
    char where[40];
    if (!ds_check_channels_open(c, &b)) {
        return;
    }
    uint64_t points =
        ds_check_plan(c, "points", POINTS, 1,
                      (double)b.channels.count * (4 * c->options->cost + 8 * c->options->cost_gradient));
    for (uint64_t k = 0; k < points && c->failed == 0; k++) {
        snprintf(where, sizeof where, "point %llu", (unsigned long long)k);
        if (k > 0) {
            ds_check_random_point(c, c->env, b.x);
        }
        values_at(&b, b.x, where);
    }
    if (b.answered == 0 && c->failed == 0) {
        ds_check_skip(c, "no point has a loss");
    } else if (c->failed == 0) {
        with_others(c);
    }
    ds_check_channels_close(&b);
}

/* ---- buffers ---- */

enum { X, GRAD, V, W, OUT, GUARDS };

static const char *const guard_names[GUARDS] = {"x", "grad", "ask->v", "ask->w", "ask->out"};
static const char *const guard_sizes[GUARDS] = {
    NULL, NULL, "n entries, for DS_QUERY_JTV one per element of the channel",
    "one entry per element of the channel", "ask->bytes bytes, as the type and shape of the channel imply"};

/* Buffers of a query between inaccessible pages; `out` may be no whole number of words. */
static int open_guards(const ds_check_channels *b, const ds_check_query *q, int at_end, ds_check_buffer *g,
                       unsigned char **out)
{
    const uint64_t n = b->c->env->n, words = (q->ask.bytes + 7) / 8;
    const uint64_t size[GUARDS] = {n, n, q->v_count > 0 ? q->v_count : 1, q->w_count > 0 ? q->w_count : 1,
                                   words};
    for (int i = 0; i < GUARDS; i++) {
        g[i].size = guard_sizes[i];
        if (!ds_check_buffer_open(&g[i], guard_names[i], size[i], at_end)) {
            return 0;
        }
    }
    memcpy(g[X].guard.data, q->x, n * sizeof(double));
    memcpy(g[V].guard.data, q->v, q->v_count * sizeof(double));
    memcpy(g[W].guard.data, q->w, q->w_count * sizeof(double));
    memset(g[OUT].guard.data, FILL, words * 8);
    *out = (unsigned char *)g[OUT].guard.data + (at_end ? words * 8 - q->ask.bytes : 0);
    for (uint64_t i = 0; i < n; i++) {
        g[GRAD].guard.data[i] = ds_check_poison();
    }
    return 1;
}

/* Bytes next to the result. */
static void check_outside(ds_check *c, const ds_eval_query *before, const ds_guard *out)
{
    const unsigned char *data = (const unsigned char *)out->data, *from = before->out;
    for (size_t i = 0; i < out->n * sizeof(double); i++) {
        if ((data + i < from || data + i >= from + before->bytes) && data[i] != FILL) {
            ds_check_fail(c, "evaluate() wrote outside of ask->out of %llu bytes",
                          (unsigned long long)before->bytes);
            ds_check_hint(c, "check the type of the channel: the result has ask->bytes bytes");
            break;
        }
    }
}

/* One query alone, between guards; and an unknown bit of `want`. */
static void guarded(ds_check_channels *b, const ds_check_query *q, int at_end, double loss)
{
    ds_check *c = b->c;
    ds_check_env *env = c->env;
    ds_check_buffer g[GUARDS] = {0};
    ds_eval_query ask = q->ask;
    ds_eval_query *list[] = {&ask};
    ds_check_result a;
    unsigned char *out = NULL;
    ds_check_buffer_watch(c, g, GUARDS, "evaluate()");
    if (!open_guards(b, q, at_end, g, &out)) {
        ds_check_note(c, "no memory for guarded buffers");
    } else {
        ask.v = q->v_count > 0 ? g[V].guard.data : NULL;
        ask.w = q->w_count > 0 ? g[W].guard.data : NULL;
        ask.out = out;
        const ds_eval_query before = ask;
        const int in[] = {X, V, W};
        for (size_t k = 0; k < sizeof in / sizeof in[0]; k++) {
            ds_guard_readonly(&g[in[k]].guard, 1);
        }
        ds_check_evaluate_queries_raw(env, g[X].guard.data, at_end ? 0 : 0x40000000u, g[GRAD].guard.data, 1,
                                      list, &a);
        for (size_t k = 0; k < sizeof in / sizeof in[0]; k++) {
            ds_guard_readonly(&g[in[k]].guard, 0);
        }
        check_outside(c, &before, &g[OUT].guard);
        for (int i = 0; i < GUARDS; i++) {
            ds_check_buffer_check(c, &g[i], "evaluate()");
        }
        if (!ds_check_is_poison(g[GRAD].guard.data[0]) ||
            !ds_check_is_poison(g[GRAD].guard.data[env->n - 1])) {
            ds_check_fail(c, "grad was written although no gradient was requested");
            ds_check_hint(c, "write io->grad only if io->want has DS_WANT_GRAD, whatever else is requested");
        }
        if (a.status == DS_OK && a.io.outcome <= DS_EVAL_BAD_GRAD &&
            !ds_check_same_loss(b, loss, a.io.loss)) {
            ds_check_fail(c, "the loss is %.17g, but %.17g with %s and %s", loss, a.io.loss,
                          ds_check_op_name(q->ask.op), at_end ? "other buffers" : "an unknown bit in want");
            ds_check_hint(c, "ignore unknown bits; the loss must not depend on what is requested");
        }
    }
    for (int i = 0; i < GUARDS; i++) {
        ds_guard_close(&g[i].guard);
    }
}

/* With io->queries = 0 nothing is requested, whatever `query` points to. */
static void no_queries(ds_check_channels *b, ds_check_query *q)
{
    ds_check *c = b->c;
    ds_eval_query *list[] = {&q->ask};
    ds_check_result a;
    memset(q->ask.out, FILL, q->ask.bytes);
    ds_check_evaluate_queries_raw(c->env, q->x, 0, NULL, 0, list, &a);
    for (uint64_t i = 0; i < q->ask.bytes; i++) {
        if (((const unsigned char *)q->ask.out)[i] != FILL) {
            ds_check_fail(c, "channel %s was written although io->queries is 0", name_of(b, q->ask.channel));
            ds_check_hint(c, "answer the first io->queries queries of io->query, and nothing else");
            return;
        }
    }
}

static void channel_guard(ds_check *c)
{
    ds_check_channels b;
    ds_check_result a;
    unsigned requests = 0;
    if (!ds_check_channels_open(c, &b)) {
        return;
    }
    double begin = ds_check_worked();
    ds_check_evaluate(c->env, b.x, 0, 0, NULL, &a);
    for (uint64_t i = 0; i < b.channels.count; i++) {
        for (uint32_t op = DS_QUERY_VALUE; op <= DS_QUERY_HV; op++) {
            ds_check_query q;
            if ((b.channels.list[i]->ops & DS_CAN(op)) == 0 || c->failed > 0 ||
                ds_check_worked() - begin > 0.5 * c->options->timeout ||
                !ds_check_query_open(&b, i, op, b.x, &q)) {
                continue;
            }
            guarded(&b, &q, 1, a.io.loss);
            guarded(&b, &q, 0, a.io.loss);
            no_queries(&b, &q);
            ds_check_query_close(&q);
            requests++;
        }
    }
    ds_check_note(c, "%u queries, one at a time", requests);
    ds_check_channels_close(&b);
}

const ds_check_test ds_check_channel_tests[] = {
    {"channel.list", "the channels are valid, and the same at every call", DS_CHECK_ENV, 1, 0, channel_list},
    {"channel.value", "values are those of the loss, and no query changes a result", DS_CHECK_ENV, 8, 8,
     channel_value},
    {"channel.products", "products are derivatives of the values, and agree with each other", DS_CHECK_ENV, 8,
     4, ds_check_channel_products},
    {"channel.linear", "products are linear: unit vectors, sums, multiples, signs and zeros", DS_CHECK_ENV, 4,
     8, ds_check_channel_linear},
    {"channel.elements", "the derivative of each element equals its own difference quotients", DS_CHECK_ENV,
     8, 4, ds_check_channel_elements},
    {"channel.guard", "results stay inside their buffers", DS_CHECK_ENV, 2, 2, channel_guard},
    {NULL, NULL, 0, 0, 0, NULL}};
