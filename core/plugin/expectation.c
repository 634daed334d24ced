/* SPDX-License-Identifier: Apache-2.0 */
/* expectation.c - opens environments. With env.expect, an evaluation is the mean of several episodes with
 * random settings (config/expect.h): a table of functions evaluates each row once for every draw, with
 * instances of the same plugin. To the rest of the host it is an instance like any other: one row, one
 * result.
 *
 * Loss, gradient and channels of role loss and objective are means. Other channels hold the elements of all
 * draws, one draw after the other in the first dimension; residuals are divided by sqrt(draws), so that the
 * sum of their squares is the loss. The channel "expect_draws" has the drawn values. The scene is that of
 * draw 0. Stepwise control is not offered: a step belongs to one episode.
 *
 * One instance serves all draws that share their parameters: noise and moves of x need no other. Draws of
 * parameters have one instance each, which live as long as the whole (expect_draws = run), or are made for
 * the row (row). Sums run over the draws in their order, so that results do not depend on the other rows. */
#include "config.h"

#include "config/expect.h"
#include "plugin/instance.h"

#include <diffsim/ext/variables.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct expectation {
    ds_expect expect;
    const ds_host *host; /* of the whole instance */
    const ds_module *module;
    ds_params *params; /* belong to its services */
    ds_place place;
    const atomic_int *stop;
    uint64_t seed;
    ds_env **child; /* one, or one for each draw */
    uint64_t children;
    ds_env *shown;                /* made for a row: its scene; NULL = that of child 0 */
    double *number;               /* children x expect.numbers: the drawn values */
    char (*text)[DS_EXPECT_TEXT]; /* children: in words */
    const ds_env *first;          /* child 0, for what all have in common */
} expectation;

/* ---- draws ---- */

static int open_draw(expectation *x, uint64_t seed, uint64_t k, ds_env **out, double *number,
                     char text[DS_EXPECT_TEXT], ds_error *e)
{
    ds_settings settings = {0};
    ds_place place = x->place;
    place.quiet |= k > 0; /* one warning is enough */
    int rc = ds_expect_draw(&x->expect, x->params, seed, k, &settings, number, text, e);
    rc = rc != 0 ? rc : ds_env_open_by(x->module, &settings, x->seed, &place, x->stop, NULL, NULL, out, e);
    ds_settings_clear(&settings);
    return rc;
}

/* Draws may differ in physics, not in their variables. */
static int same_problem(const ds_env *a, const ds_env *b)
{
    const uint64_t n = a->info.n;
    return n == b->info.n && a->has_gradient == b->has_gradient && a->info.steps == b->info.steps &&
           memcmp(a->lower, b->lower, 2 * n * sizeof *a->lower) == 0 &&
           ds_channels_equal(&a->channels, &b->channels);
}

static int refuse_draw(const expectation *x, uint64_t k, const char *text, ds_error *e)
{
    return ds_fail(
        e, DS_EXIT_CONFIG,
        "%s: expect_over: draw %llu (%s) has other variables, bounds, steps or channels than draw 0: "
        "draw only parameters that leave them as they are",
        x->module->id, (unsigned long long)k, text);
}

/* A draw that is made for one row. */
static int open_for_row(expectation *x, uint64_t key, uint64_t k, ds_env **out, double *number,
                        char text[DS_EXPECT_TEXT], ds_error *e)
{
    int rc = open_draw(x, ds_expect_seed_of(&x->expect, key), k, out, number, text, e);
    if (rc == 0 && !same_problem(x->first, *out)) {
        ds_env_close(*out);
        rc = refuse_draw(x, k, text, e);
    }
    return rc;
}

/* ---- channels ---- */

/* Is the channel a mean, and not the list of all draws? */
static int is_mean(const ds_channel *c)
{
    return c->role == DS_CHANNEL_LOSS || c->role == DS_CHANNEL_OBJECTIVE;
}

static double weight_of(const expectation *x, const ds_channel *c)
{
    const double draws = (double)x->expect.episodes;
    return is_mean(c) ? 1 / draws : c->role == DS_CHANNEL_RESIDUAL ? 1 / sqrt(draws) : 1;
}

static ds_status count_channels(void *self, uint64_t *count)
{
    const expectation *x = self;
    *count = x->first->channels.count + (x->expect.numbers > 0);
    return DS_OK;
}

static ds_status describe_channel(void *self, uint64_t i, ds_channel *out)
{
    const expectation *x = self;
    const uint32_t size = out->struct_size;
    if (i < x->first->channels.count) {
        *out = x->first->channels.entry[i].c;
        if (!is_mean(out)) {
            out->shape[0] = (out->ndim > 0 ? out->shape[0] : 1) * x->expect.episodes;
            out->ndim = out->ndim > 0 ? out->ndim : 1;
        }
    } else {
        *out = (ds_channel){.role = DS_CHANNEL_STATE,
                            .type = DS_TYPE_F64,
                            .ops = DS_CAN(DS_QUERY_VALUE),
                            .ndim = 2,
                            .shape = {x->expect.episodes, x->expect.numbers},
                            .lower = -INFINITY,
                            .upper = INFINITY,
                            .name = "expect_draws",
                            .unit = "",
                            .doc = "The values that expect_over drew, in the order of its terms."};
    }
    out->struct_size = size;
    return DS_OK;
}

/* ---- one call of evaluate() ---- */

/* Buffers for a child. */
typedef struct room {
    double *x, *grad, *in;
    uint64_t *out, *key;
    ds_answer *answer, **list;
    unsigned char *free; /* variables that were not clamped, for each row */
} room;

typedef struct call {
    expectation *x;
    const ds_rows *rows;
    const ds_results *results;
    ds_query_layout layout; /* of a child; count 0 = no queries of its channels */
    room r;
} call;

static void room_close(room *r)
{
    free(r->x);
    free(r->grad);
    free(r->in);
    free(r->out);
    free(r->key);
    free(r->answer);
    free(r->list);
    free(r->free);
}

static int room_open(call *c)
{
    const uint64_t count = c->rows->count, n = c->rows->n;
    room *r = &c->r;
    r->x = malloc(count * n * sizeof *r->x);
    r->grad = malloc(count * n * sizeof *r->grad);
    r->in = malloc((count * c->layout.in + 1) * sizeof *r->in);
    r->out = malloc((count * c->layout.out + 1) * sizeof *r->out);
    r->key = malloc(count * sizeof *r->key);
    r->answer = malloc(count * sizeof *r->answer);
    r->list = malloc(count * sizeof(ds_answer *));
    r->free = malloc(count * n);
    for (uint64_t k = 0; r->list != NULL && k < count; k++) {
        r->list[k] = &r->answer[k];
    }
    return r->x != NULL && r->grad != NULL && r->in != NULL && r->out != NULL && r->key != NULL &&
                   r->answer != NULL && r->list != NULL && r->free != NULL
               ? 0
               : -1;
}

static const double *row_x(const call *c, uint64_t row)
{
    return c->rows->x + row * c->rows->stride;
}

/* The queries about channels of a child; one about the draws is answered without it. */
static int lay_out(call *c, char text[DS_QUERY_TEXT])
{
    const uint64_t own = c->x->first->channels.count;
    for (uint64_t i = 0; i < c->rows->queries; i++) {
        const ds_query *q = c->rows->query[i];
        if (q->channel < own) {
            c->layout.query[c->layout.count++] =
                (ds_placed_query){.op = q->op, .channel = q->channel, .weighted = q->w != NULL};
        }
    }
    return ds_query_layout_make(&c->layout, &c->x->first->channels, c->rows->n, NULL, text);
}

/* Fills the buffers of rows `from` .. `from + count - 1` for draw k. */
static void prepare(const call *c, uint64_t from, uint64_t count, uint64_t k)
{
    const expectation *x = c->x;
    const uint64_t n = c->rows->n;
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t row = from + i, seed = ds_expect_seed_of(&x->expect, c->rows->noise_key[row]);
        double *at = c->r.x + i * n;
        memcpy(at, row_x(c, row), n * sizeof *at);
        c->r.key[i] =
            (x->module->plugin->desc->flags & DS_ENV_STOCHASTIC) != 0 ? ds_expect_noise_key(seed, k) : 0;
        if (x->expect.variables) {
            ds_expect_move(&x->expect, seed, k, n, x->first->lower, x->first->upper, at, c->r.free + i * n);
        }
    }
}

/* Sets the vectors of the queries: a part of those of the whole. */
static void fill_queries(const call *c, uint64_t from, uint64_t count, uint64_t k)
{
    const expectation *x = c->x;
    const uint64_t n = c->rows->n;
    for (uint64_t i = 0, at = 0; i < c->rows->queries; i++) {
        const ds_query *q = c->rows->query[i];
        if (q->channel >= x->first->channels.count) {
            continue;
        }
        const ds_placed_query *to = &c->layout.query[at++];
        const ds_channel *channel = &x->first->channels.entry[q->channel].c;
        const uint64_t skip = is_mean(channel) ? 0 : k * ds_channel_elements(channel);
        const double weight = weight_of(x, channel);
        for (uint64_t row = 0; row < count; row++) {
            double *in = c->r.in + row * c->layout.in;
            const double *v = q->v != NULL ? q->v + (from + row) * q->v_stride : NULL;
            const double *w = q->w != NULL ? q->w + (from + row) * q->w_stride : NULL;
            const unsigned char *free = c->r.free + row * n;
            for (uint64_t j = 0; j < to->v_count; j++) {
                in[to->v + j] = q->op == DS_QUERY_JTV             ? weight * v[skip + j]
                                : x->expect.variables && !free[j] ? 0
                                                                  : v[j];
            }
            for (uint64_t j = 0; j < to->w_count; j++) {
                in[to->w + j] = weight * w[skip + j];
            }
        }
    }
}

/* Takes `count` numbers of a reply: adds them to `to`, or puts them there. */
static void take_numbers(double *to, const double *from, uint64_t count, double weight, int add)
{
    for (uint64_t j = 0; j < count; j++) {
        to[j] = (add ? to[j] : 0) + weight * from[j];
    }
}

/* Takes the replies of row `row`, the i-th of its call, from draw k. */
static void take_replies(const call *c, uint64_t row, uint64_t i, uint64_t k, const double *number)
{
    const expectation *x = c->x;
    const uint64_t n = c->rows->n;
    for (uint64_t q = 0, at = 0; q < c->rows->queries; q++) {
        const uint32_t op = c->rows->query[q]->op, index = c->rows->query[q]->channel;
        unsigned char *to = (unsigned char *)c->results->reply[q]->out + row * c->results->reply[q]->stride;
        if (index >= x->first->channels.count) {
            memcpy(to + k * x->expect.numbers * sizeof *number, number, x->expect.numbers * sizeof *number);
            continue;
        }
        const ds_placed_query *from = &c->layout.query[at++];
        const ds_channel *channel = &x->first->channels.entry[index].c;
        const void *out = c->r.out + i * c->layout.out + from->out;
        double *product = (double *)(void *)to;
        /* HV without weights: the Hessian of the sum of all elements, each with its own weight */
        const double weight =
            op == DS_QUERY_JTV || (op == DS_QUERY_HV && from->weighted) ? 1 : weight_of(x, channel);
        if (op == DS_QUERY_JTV || op == DS_QUERY_HV) {
            const unsigned char *free = c->r.free + i * n;
            for (uint64_t j = 0; j < n; j++) {
                const double v = x->expect.variables && !free[j] ? 0 : ((const double *)out)[j];
                product[j] = (k > 0 ? product[j] : 0) + weight * v;
            }
        } else if (is_mean(channel) && (op == DS_QUERY_JV || channel->type == DS_TYPE_F64)) {
            take_numbers(product, out, from->elements, weight, k > 0);
        } else if (op == DS_QUERY_JV || (channel->type == DS_TYPE_F64 && weight < 1)) {
            take_numbers(product + k * from->elements, out, from->elements, weight, 0);
        } else if (channel->type == DS_TYPE_F32 && weight < 1) {
            float *value = (float *)(void *)to + (is_mean(channel) ? 0 : k * from->elements);
            for (uint64_t j = 0; j < from->elements; j++) {
                value[j] =
                    (is_mean(channel) && k > 0 ? value[j] : 0) + (float)weight * ((const float *)out)[j];
            }
        } else {
            memcpy(to + k * from->bytes, out, from->bytes);
        }
        if (op != DS_QUERY_VALUE && c->results->reply[q]->kind[row] < c->r.answer[i].product_kind) {
            c->results->reply[q]->kind[row] = c->r.answer[i].product_kind;
        }
    }
}

/* Adds draw k to the result of a row. */
static ds_status take_row(const call *c, uint64_t row, uint64_t i, uint64_t k, const char *text,
                          const double *number)
{
    const ds_answer *a = &c->r.answer[i];
    const ds_results *to = c->results;
    const uint64_t n = c->rows->n;
    const int graded = (c->rows->want & DS_WANT_GRAD) != 0;
    to->cost_steps[row] = ds_cost_sum(k > 0 ? to->cost_steps[row] : 0, a->cost_steps);
    if (a->outcome > to->outcome[row]) {
        char line[DS_EXPECT_TEXT + sizeof a->message + 40];
        to->outcome[row] = a->outcome;
        to->bad_step[row] = a->bad_step;
        snprintf(line, sizeof line, "draw %llu%s%s%s: %s", (unsigned long long)k, text[0] != '\0' ? " (" : "",
                 text, text[0] != '\0' ? ")" : "", a->message);
        c->x->host->error(c->x->host, DS_E_NUMERIC, line);
    }
    if (a->outcome > DS_EVAL_INFEASIBLE) {
        return a->outcome == DS_EVAL_STOPPED ? DS_STOPPED : DS_E_NUMERIC;
    }
    if (to->outcome[row] > DS_EVAL_BAD_GRAD) {
        to->loss[row] = INFINITY;
        return DS_OK;
    }
    to->loss[row] = (k > 0 ? to->loss[row] : 0) + a->loss;
    for (uint64_t j = 0; graded && j < n; j++) {
        const double g = c->x->expect.variables && !c->r.free[i * n + j] ? 0 : c->r.grad[i * n + j];
        double *sum = &to->grad[row * to->stride + j];
        *sum = (k > 0 ? *sum : 0) + g;
    }
    if (graded && a->grad_kind > to->grad_kind[row]) {
        to->grad_kind[row] = a->grad_kind;
    }
    take_replies(c, row, i, k, number);
    return DS_OK;
}

/* Evaluates rows for draw k, with the instance that belongs to it. */
static ds_status evaluate_draw(const call *c, uint64_t from, uint64_t count, uint64_t k)
{
    expectation *x = c->x;
    const int own = x->expect.each_row && x->expect.parameters;
    const uint64_t n = c->rows->n, at = x->children > 1 ? k : 0;
    char drawn[DS_EXPECT_TEXT];
    const char *text = x->text[at];
    double *number = x->number + at * x->expect.numbers, *made = NULL;
    ds_env *env = x->child[at];
    ds_error e;
    if (own) {
        made = malloc((x->expect.numbers + 1) * sizeof *made);
        if (made == NULL || open_for_row(x, c->rows->noise_key[from], k, &env, made, drawn, &e) != 0) {
            x->host->error(x->host, DS_E_PARAM, made != NULL ? e.text : "out of memory");
            free(made);
            return DS_E_PARAM;
        }
        number = made;
        text = drawn;
    }
    prepare(c, from, count, k);
    fill_queries(c, from, count, k);
    const ds_env_rows t = {.count = count,
                           .want = k == 0 ? c->rows->want : c->rows->want & ~(uint32_t)DS_WANT_SCENE,
                           .x = c->r.x,
                           .x_stride = n,
                           .noise_key = c->r.key,
                           .queries = c->layout.count > 0 ? &c->layout : NULL,
                           .in = c->r.in,
                           .in_stride = c->layout.in,
                           .grad = c->r.grad,
                           .grad_stride = n,
                           .out = c->r.out,
                           .out_stride = c->layout.out,
                           .answer = c->r.list};
    ds_status st = ds_env_evaluate_table(env, &t);
    for (uint64_t i = 0; st == DS_OK && i < count; i++) {
        st = take_row(c, from + i, i, k, text, number);
    }
    if (own && k == 0 && (c->rows->want & DS_WANT_SCENE) != 0) {
        x->shown = env;
    } else if (own) {
        ds_env_close(env);
    }
    free(made);
    return st;
}

/* Turns sums into means. */
static void divide(const call *c, uint64_t row)
{
    const ds_results *to = c->results;
    const double draws = (double)c->x->expect.episodes;
    if (to->outcome[row] > DS_EVAL_BAD_GRAD) {
        return;
    }
    to->loss[row] /= draws;
    for (uint64_t j = 0; (c->rows->want & DS_WANT_GRAD) != 0 && j < c->rows->n; j++) {
        to->grad[row * to->stride + j] /= draws;
    }
}

static ds_status evaluate_all(const call *c)
{
    const expectation *x = c->x;
    const uint64_t block = x->expect.each_row && x->expect.parameters ? 1 : c->rows->count;
    ds_status st = DS_OK;
    for (uint64_t from = 0; st == DS_OK && from < c->rows->count; from += block) {
        for (uint64_t k = 0; st == DS_OK && k < x->expect.episodes; k++) {
            st = evaluate_draw(c, from, block, k);
        }
        for (uint64_t i = 0; st == DS_OK && i < block; i++) {
            divide(c, from + i);
        }
    }
    return st;
}

static ds_status evaluate(void *self, const ds_rows *rows, const ds_results *results)
{
    expectation *x = self;
    call c = {.x = x, .rows = rows, .results = results};
    char text[DS_QUERY_TEXT];
    ds_env_close(x->shown);
    x->shown = NULL;
    ds_status st = DS_OK;
    if (lay_out(&c, text) != 0) {
        x->host->error(x->host, DS_E_ARG, text);
        st = DS_E_ARG;
    } else if (room_open(&c) != 0) {
        x->host->error(x->host, DS_E_NOMEM, "out of memory");
        st = DS_E_NOMEM;
    }
    st = st != DS_OK ? st : evaluate_all(&c);
    room_close(&c.r);
    return st;
}

/* ---- what is passed on ---- */

static ds_env *shown(const expectation *x)
{
    return x->shown != NULL ? x->shown : x->child[0];
}

static ds_status scene_info(void *self, ds_scene_info *out)
{
    ds_env *c = shown(self);
    return ds_env_scene(c)->info(c->self, out);
}

static ds_status scene_body(void *self, uint64_t b, ds_scene_body *out)
{
    ds_env *c = shown(self);
    return ds_env_scene(c)->body(c->self, b, out);
}

static ds_status scene_frame(void *self, uint64_t k, uint64_t b, uint64_t capacity, double *out)
{
    ds_env *c = shown(self);
    return ds_env_scene(c)->frame(c->self, k, b, capacity, out);
}

static ds_status scene_metric(void *self, uint64_t m, ds_scene_metric *out)
{
    ds_env *c = shown(self);
    return ds_env_scene(c)->metric(c->self, m, out);
}

static ds_status describe_variable(void *self, uint64_t i, ds_variable *out)
{
    const expectation *x = self;
    const ds_env_variables *table = ds_env_extension(x->first, DS_EXT_VARIABLES);
    return table->describe(x->first->self, i, out);
}

static ds_status count_hooks(void *self, uint64_t *count)
{
    const expectation *x = self;
    *count = x->first->hooks.count;
    return DS_OK;
}

static ds_status describe_hook(void *self, uint64_t i, ds_hook *out)
{
    const expectation *x = self;
    const ds_env_hooks *table = ds_env_extension(x->first, DS_EXT_HOOKS);
    return table->describe(x->first->self, i, out);
}

static const void *get_extension(void *self, const char *id)
{
    static const ds_env_channels channels = {
        .struct_size = sizeof channels, .count = count_channels, .describe = describe_channel};
    static const ds_scene scene = {.struct_size = sizeof scene,
                                   .info = scene_info,
                                   .body = scene_body,
                                   .frame = scene_frame,
                                   .metric = scene_metric};
    static const ds_env_variables variables = {.struct_size = sizeof variables,
                                               .describe = describe_variable};
    static const ds_env_hooks hooks = {
        .struct_size = sizeof hooks, .count = count_hooks, .describe = describe_hook};
    const expectation *x = self;
    uint64_t count = 0;
    count_channels(self, &count);
    const struct {
        const char *id;
        const void *table;
        int there;
    } offer[] = {{DS_EXT_CHANNELS, &channels, count > 0},
                 {DS_EXT_HOOKS, &hooks, x->first->hooks.count > 0},
                 {DS_EXT_SCENE, &scene, ds_env_scene(x->first) != NULL},
                 {DS_EXT_VARIABLES, &variables, ds_env_extension(x->first, DS_EXT_VARIABLES) != NULL}};
    for (size_t i = 0; i < sizeof offer / sizeof offer[0]; i++) {
        if (strcmp(id, offer[i].id) == 0) {
            return offer[i].there ? offer[i].table : NULL;
        }
    }
    return NULL;
}

/* ---- size and bounds ---- */

static ds_status info(void *self, ds_env_info *out)
{
    const expectation *x = self;
    const uint32_t size = out->struct_size;
    *out = x->first->info;
    out->struct_size = size;
    for (uint64_t k = 1; k < x->children; k++) {
        const ds_env_info *other = &x->child[k]->info;
        out->loss_floor = fmin(out->loss_floor, other->loss_floor);
        out->tolerance = fmax(out->tolerance, other->tolerance);
        out->max_rows = other->max_rows < out->max_rows ? other->max_rows : out->max_rows;
    }
    out->good_rows = out->good_rows < out->max_rows ? out->good_rows : out->max_rows;
    if (x->expect.each_row && x->expect.parameters) {
        out->loss_floor = -INFINITY; /* of draws that are not made yet */
    }
    return DS_OK;
}

static ds_status bounds(void *self, uint64_t n, double *lower, double *upper, double *x0)
{
    const expectation *x = self;
    memcpy(lower, x->first->lower, n * sizeof *lower);
    memcpy(upper, x->first->upper, n * sizeof *upper);
    if (x0 != NULL) {
        memcpy(x0, x->first->x0, n * sizeof *x0);
    }
    return DS_OK;
}

static void destroy(void *self)
{
    expectation *x = self;
    if (x != NULL) {
        for (uint64_t k = 0; x->child != NULL && k < x->children; k++) {
            ds_env_close(x->child[k]);
        }
        ds_env_close(x->shown);
        ds_expect_clear(&x->expect);
        free(x->child);
        free(x->number);
        free(x->text);
        free(x);
    }
}

static const ds_env_vtable table = {.struct_size = sizeof table,
                                    .destroy = destroy,
                                    .info = info,
                                    .bounds = bounds,
                                    .evaluate = evaluate,
                                    .get_extension = get_extension};

/* ---- open ---- */

/* Tests what needs no instance. */
static int check_expect(const expectation *x, ds_error *e)
{
    const uint64_t flags = x->module->plugin->desc->flags;
    if (x->expect.count == 0 && (flags & DS_ENV_STOCHASTIC) == 0) {
        return ds_fail(
            e, DS_EXIT_CONFIG,
            "%s: expect = %llu, but nothing differs between the episodes: set env.expect_over, for "
            "example to x+=normal(0,0.1); `dshost help expect` explains it",
            x->module->id, (unsigned long long)x->expect.episodes);
    }
    return x->expect.parameters && (flags & DS_ENV_OWN_PROCESS) != 0
               ? ds_fail(e, DS_EXIT_CONFIG,
                         "%s: each instance needs a process of its own, so expect_over cannot draw its "
                         "parameters; "
                         "it can move x",
                         x->module->id)
               : 0;
}

static int check_elements(const expectation *x, ds_error *e)
{
    for (size_t i = 0; i < x->expect.count; i++) {
        const ds_expect_term *t = &x->expect.term[i];
        if (t->info == NULL && t->element != UINT64_MAX && t->element >= x->first->info.n) {
            return ds_fail(
                e, DS_EXIT_CONFIG,
                "%s: expect_over: x[%llu] does not exist; the last of %llu variables is x[%llu]. Write "
                "x to move all of them",
                x->module->id, (unsigned long long)t->element, (unsigned long long)x->first->info.n,
                (unsigned long long)(x->first->info.n - 1));
        }
    }
    return 0;
}

static int open_children(expectation *x, ds_error *e)
{
    const uint64_t children = x->expect.parameters && !x->expect.each_row ? x->expect.episodes : 1;
    int rc = check_expect(x, e);
    x->child = calloc(children, sizeof(ds_env *));
    x->number = calloc(children * x->expect.numbers + 1, sizeof *x->number);
    x->text = calloc(children, sizeof *x->text);
    if (rc != 0 || x->child == NULL || x->number == NULL || x->text == NULL) {
        return rc != 0 ? rc : ds_no_memory(e);
    }
    for (; rc == 0 && x->children < children; x->children += rc == 0) {
        const uint64_t k = x->children;
        rc = open_draw(x, x->expect.seed, k, &x->child[k], x->number + k * x->expect.numbers, x->text[k], e);
        x->first = x->child[0];
        if (rc == 0 && !same_problem(x->first, x->child[k])) {
            ds_env_close(x->child[k]);
            rc = refuse_draw(x, k, x->text[k], e);
        }
    }
    return rc != 0 ? rc : check_elements(x, e);
}

/* What ds_env_open_at() was called with. */
typedef struct opening {
    const ds_settings *settings;
    uint64_t seed;
    const ds_place *place;
    const atomic_int *stop;
} opening;

/* Makes the instance of a plugin, or those of the draws and the table in front of them. */
static int make(ds_env *env, void *ctx, ds_error *e)
{
    const opening *o = ctx;
    ds_expect expect = {0};
    int rc = ds_expect_make(o->settings, env->services.params, env->module->id, &expect, e);
    if (rc != 0 || expect.episodes == 0) {
        return rc != 0 ? rc : ds_env_create(env, e);
    }
    expectation *x = calloc(1, sizeof *x);
    if (x == NULL) {
        ds_expect_clear(&expect);
        return ds_no_memory(e);
    }
    *x = (expectation){.expect = expect,
                       .host = &env->services.host,
                       .module = env->module,
                       .params = env->services.params,
                       .place = *o->place,
                       .stop = o->stop,
                       .seed = o->seed};
    env->self = x;
    env->vt = &table;
    env->episodes = x->expect.episodes;
    env->stochastic = x->expect.each_row;
    return open_children(x, e);
}

int ds_env_open_at(const ds_module *module, const ds_settings *settings, uint64_t seed, const ds_place *place,
                   const atomic_int *stop, ds_env **out, ds_error *e)
{
    opening o = {settings, seed, place, stop};
    return ds_env_open_by(module, settings, seed, place, stop, make, &o, out, e);
}

int ds_env_open(const ds_module *module, const ds_settings *settings, uint64_t seed, uint32_t threads,
                const atomic_int *stop, ds_env **out, ds_error *e)
{
    const ds_place place = {threads, 0, 1, 0};
    return ds_env_open_at(module, settings, seed, &place, stop, out, e);
}
