/* SPDX-License-Identifier: Apache-2.0 */
/* check_items.c - see check_items.h. */
#include "config.h"

#include "check/check_items.h"

#include <fenv.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/plugin_memory.h"
#include "check/check_queries.h"
#include "harness/check_process.h"

/* Calls of the plugin. */
enum { EVALUATE, RESET, STEP, BEGIN, BACK };
/* Layout of the numbers of each call, before its arrays. */
enum { STATUS, OUTCOME, LOSS, BAD_STEP, COST, GRAD_KIND, PRODUCT_KIND, MESSAGE, HEAD };
enum { STEP_ENDED = 2, STEP_REWARD, STEP_LOSS, STEP_COST, STEP_MESSAGE, STEP_HEAD };
/* Adjoints of a sweep: PLAIN, rewards of -1 and no observations; FULL, everything at every step. */
enum { PLAIN, FULL };

enum { POINTS = 4, EPISODE_POINTS = 3, PRODUCTS = 12 };
/* Limits on the numbers of an item, and on the channel values requested in one evaluation. */
static const uint64_t ITEM_NUMBERS = 1000000, VALUE_NUMBERS = 100000;
/* Time for playing all items once, and for finding a point without a loss, seconds. */
static const double ITEMS_SECONDS = 0.5, SEARCH_SECONDS = 0.0004, SEARCH_LONGEST = 0.2;

double ds_check_number(uint64_t a, uint64_t b, uint64_t i)
{
    const uint64_t bits = ds_random_mix(ds_random_mix(ds_random_mix(a + 0x9e37u) ^ b) + i);
    return 2 * ((double)(bits >> 11) * 0x1p-53) - 1;
}

static uint64_t key_of(uint64_t point)
{
    return point % 2 == 0 ? 0 : 0x5eed0000u + point / 4; /* two points share a key */
}

static uint64_t elements(const ds_check_items *s, uint64_t channel)
{
    return ds_channel_elements(s->channels.list[channel]);
}

static uint64_t product_numbers(const ds_check_items *s, const ds_check_request *q)
{
    return q->op == 0 ? 0 : q->op == DS_QUERY_JV ? elements(s, q->channel) : s->n;
}

static uint64_t value_numbers(const ds_check_items *s)
{
    uint64_t sum = 0;
    for (uint64_t k = 0; k < s->shown; k++) {
        sum += elements(s, k);
    }
    return sum;
}

/* ---- which items ---- */

static void add_request(ds_check_items *s, uint32_t want, int values, uint64_t channel, uint32_t op)
{
    if (s->requests < DS_CHECK_REQUESTS) {
        s->request[s->requests++] =
            (ds_check_request){.want = want, .op = op, .channel = channel, .values = values};
    }
}

/* The loss alone comes first, then each array alone, then combinations. */
static void make_requests(ds_check_items *s, const ds_check_env *env)
{
    const uint32_t grad = env->has_gradient ? DS_WANT_GRAD : 0;
    uint64_t products = 0;
    add_request(s, 0, 0, 0, 0);
    if (grad != 0) {
        add_request(s, grad, 0, 0, 0);
    }
    if (s->shown > 0) {
        add_request(s, 0, 1, 0, 0);
        if (grad != 0) {
            add_request(s, grad, 1, 0, 0);
        }
    }
    for (uint64_t k = 0; k < s->channels.count; k++) {
        for (uint32_t op = DS_QUERY_JV; op <= DS_QUERY_HV && products < PRODUCTS; op++) {
            if ((s->channels.list[k]->ops & DS_CAN(op)) != 0 && elements(s, k) <= VALUE_NUMBERS) {
                add_request(s, 0, 0, k, op);
                if (grad != 0) {
                    add_request(s, grad, 0, k, op);
                }
                add_request(s, grad, 1, k, op);
                products++;
            }
        }
    }
}

static ds_check_item_call *add_call(ds_check_item *item, int what, uint64_t step, uint64_t count)
{
    ds_check_item_call *call = &item->call[item->calls++];
    *call = (ds_check_item_call){.what = what, .step = step, .at = item->size, .count = count};
    item->size += count;
    return call;
}

static void add_steps(const ds_check_items *s, ds_check_item *item, uint64_t from, uint64_t to)
{
    for (uint64_t t = from; t < to; t++) {
        add_call(item, STEP, t, STEP_HEAD + s->rl.n_obs);
    }
}

static void add_sweep(const ds_check_items *s, ds_check_item *item, uint64_t last, uint64_t stop,
                      uint64_t weights)
{
    if (s->has_sweeps) {
        add_call(item, BEGIN, last, 1);
        for (uint64_t t = last; t-- > stop;) {
            ds_check_item_call *back = add_call(item, BACK, t, 1 + s->rl.n_act);
            back->weights = weights;
            back->last = last;
        }
    }
}

/* An episode with sweeps from its end: its gradient, and a window. With `disturbed`, an abandoned episode
 * comes first, sweeps run between steps, and all sweeps are repeated. */
static int add_episode(ds_check_items *s, ds_check_item *item, uint64_t point, int disturbed)
{
    const uint64_t h = s->rl.horizon, most = 16 + 12 * h;
    const uint64_t middle = h < 2 ? h : 1 + ds_random_mix(point + 77) % (h - 1), part = middle / 2;
    *item = (ds_check_item){.point = point};
    item->call = calloc(most, sizeof *item->call);
    if (item->call == NULL) {
        return 0;
    }
    if (disturbed) {
        add_call(item, RESET, 1, 2 + s->rl.n_obs);
        add_steps(s, item, h > 1 ? 1 : 0, h > 3 ? 3 : h > 1 ? 2 : 1); /* with the actions of other steps */
        add_sweep(s, item, 1, 0, FULL);
    }
    add_call(item, RESET, 0, 2 + s->rl.n_obs);
    add_steps(s, item, 0, middle);
    if (disturbed) {
        add_sweep(s, item, middle, 0, FULL);
        add_sweep(s, item, middle, part, FULL);
    }
    add_steps(s, item, middle, h);
    add_sweep(s, item, h, 0, PLAIN);
    add_sweep(s, item, middle, 0, FULL);
    if (disturbed) {
        add_sweep(s, item, h, 0, FULL);
        add_sweep(s, item, h, part, PLAIN);
        add_sweep(s, item, h, 0, FULL);
    }
    const ds_check_options *o = s->c->options;
    item->seconds = (disturbed ? 1.5 : 1) * o->cost +
                    (s->has_sweeps ? (disturbed ? 6 : 2) * (o->cost_gradient + 1e-7 * (double)h) : 0);
    return 1;
}

static int add_evaluation(ds_check_items *s, ds_check_item *item, const ds_check_request *q, uint64_t point)
{
    const ds_check_options *o = s->c->options;
    *item = (ds_check_item){.request = q, .point = point, .call = calloc(1, sizeof *item->call)};
    if (item->call == NULL) {
        return 0;
    }
    add_call(item, EVALUATE, 0,
             HEAD + (q->want != 0 ? s->n : 0) + (q->values ? value_numbers(s) : 0) + product_numbers(s, q));
    item->seconds = q->want != 0 || q->op != 0 ? o->cost_gradient + (q->op != 0 ? o->cost : 0) : o->cost;
    return 1;
}

/* Replaces x by a point of the box without a loss or a gradient, if one is soon found: failures must be
 * repeatable too. */
static void find_failure(ds_check_items *s, ds_check_env *env, ds_random *random, double *x)
{
    const double each = fmax(s->c->options->cost_gradient, 1e-7);
    uint64_t most = (uint64_t)fmin(200, fmax(SEARCH_SECONDS / each, fmin(12, SEARCH_LONGEST / each)));
    double *at = env->x, *grad = env->has_gradient ? env->g : NULL;
    for (uint64_t k = 0; k < most; k++) {
        ds_check_result a;
        for (uint64_t i = 0; i < s->n; i++) {
            const double u = k < 2 ? (double)k : ds_random_uniform(random);
            const double mixed = k % 3 == 2 ? (u < 0.5 ? 0 : 1) : u; /* corners are the extreme cases */
            at[i] = fmin(env->lower[i] + mixed * (env->upper[i] - env->lower[i]), env->upper[i]);
        }
        ds_check_evaluate(env, at, grad != NULL ? DS_WANT_GRAD : 0, 0, grad, &a);
        if (a.status != DS_OK || a.io.outcome != DS_EVAL_OK) {
            memcpy(x, at, s->n * sizeof *x);
            break;
        }
    }
    memcpy(env->x, env->x0, s->n * sizeof *at);
}

static int make_points(ds_check_items *s, ds_check_env *env)
{
    ds_random random = ds_random_open(s->c->options->seed, "items", 0);
    s->x = calloc(s->points * s->n, sizeof *s->x);
    if (s->x == NULL) {
        return 0;
    }
    memcpy(s->x, env->x0, s->n * sizeof *s->x);
    for (uint64_t k = s->n; k < s->points * s->n; k++) {
        const uint64_t i = k % s->n;
        const double u = ds_random_uniform(&random);
        s->x[k] = fmin(env->lower[i] + u * (env->upper[i] - env->lower[i]), env->upper[i]);
    }
    if (s->points > 2) { /* the one whose key is 0 */
        find_failure(s, env, &random, s->x + 2 * s->n);
    }
    return 1;
}

/* How many points there is time for, if all items of one point take `each` seconds. */
static uint64_t plan_points(double each)
{
    return each > 0 ? (uint64_t)fmin(POINTS, fmax(1, ITEMS_SECONDS / each)) : POINTS;
}

static int make_items(ds_check_items *s)
{
    const uint64_t episodes =
        s->has_steps ? 2 * (s->points < EPISODE_POINTS ? s->points : EPISODE_POINTS) : 0;
    s->item = calloc(s->requests * s->points + episodes, sizeof *s->item);
    int made = s->item != NULL;
    for (uint64_t q = 0; made && q < s->requests; q++) {
        for (uint64_t k = 0; made && k < s->points; k++) {
            made = add_evaluation(s, &s->item[s->count++], &s->request[q], k);
        }
    }
    for (uint64_t k = 0; made && k < episodes; k++) {
        made = add_episode(s, &s->item[s->count++], k / 2, k % 2 != 0);
    }
    for (uint64_t k = 0; made && k < s->count; k++) {
        s->size += s->item[k].size;
        s->seconds += s->item[k].seconds;
    }
    return made;
}

/* Reads the extensions that the instance offers. */
static void read_extensions(ds_check_items *s, ds_check_env *env, int episodes)
{
    ds_env_steps rl;
    ds_error e;
    const ds_env_channels *channels = ds_check_extension(env, DS_EXT_CHANNELS);
    if (channels != NULL && ds_channels_read(s->c->module->id, channels, env->self, &s->channels, &e) != 0) {
        ds_channels_clear(&s->channels);
    }
    while (s->shown < s->channels.count && s->shown + 1 < DS_MAX_QUERIES) {
        s->shown++;
        if (value_numbers(s) > VALUE_NUMBERS) {
            s->shown--;
            break;
        }
    }
    s->rl.struct_size = sizeof s->rl;
    const ds_env_steps *theirs = episodes ? ds_check_extension(env, DS_EXT_STEPS) : NULL;
    s->has_steps = theirs != NULL && DS_SIZED_READ(&rl, theirs, DS_ENV_STEPS_SIZE_1_0, "", "", &e) == 0 &&
                   rl.info(env->self, &s->rl) == DS_OK && s->rl.horizon > 0 && s->rl.n_act > 0 &&
                   s->rl.n_obs > 0 && s->rl.horizon * s->rl.n_act == s->n &&
                   s->rl.horizon * (s->rl.n_obs + s->rl.n_act + 8) < ITEM_NUMBERS / 4;
    s->has_sweeps = s->has_steps && ds_check_extension(env, DS_EXT_STEPS_GRADIENT) != NULL;
}

int ds_check_items_open(ds_check *c, ds_check_env *env, uint64_t points, int episodes, ds_check_items *s)
{
    const double plain = c->options->cost, full = c->options->cost_gradient;
    *s = (ds_check_items){.c = c, .n = env->n};
    read_extensions(s, env, episodes);
    make_requests(s, env);
    s->points = points;
    if (points == 0) {
        double each = 0;
        for (uint64_t q = 0; q < s->requests; q++) {
            each += s->request[q].want != 0 || s->request[q].op != 0 ? full : plain;
        }
        each += s->has_steps ? 3 * plain + (s->has_sweeps ? 8 * full : 0) : 0;
        s->points = plan_points(each);
        if (each > 2 * ITEMS_SECONDS) { /* too slow for everything: other tests cover the parts */
            s->requests = 1;
            s->has_steps = s->has_sweeps = 0;
        }
    }
    if (!make_points(s, env) || !make_items(s)) {
        ds_check_fail(c, "out of memory");
        ds_check_items_close(s);
        return 0;
    }
    return 1;
}

void ds_check_items_close(ds_check_items *s)
{
    for (uint64_t k = 0; s->item != NULL && k < s->count; k++) {
        free(s->item[k].call);
    }
    free(s->item);
    free(s->x);
    ds_channels_clear(&s->channels);
    memset(s, 0, sizeof *s);
}

/* ---- evaluations ---- */

int ds_check_row_open(const ds_check_items *s, ds_check_row *r)
{
    uint64_t most = 1, bytes = 8 * s->n;
    for (uint64_t k = 0; k < s->channels.count; k++) {
        most = elements(s, k) > most ? elements(s, k) : most;
    }
    for (uint64_t k = 0; k < s->shown; k++) {
        bytes += ds_channel_bytes(s->channels.list[k], DS_QUERY_VALUE, s->n) + 8;
    }
    bytes += 8 * most;
    r->room = calloc(4 * s->n + 2 * most, sizeof *r->room);
    r->out = malloc(bytes);
    if (r->room == NULL || r->out == NULL) {
        ds_check_fail(s->c, "out of memory");
        ds_check_row_close(r);
        return 0;
    }
    r->x = r->room;
    r->grad = r->x + s->n;
    r->v = r->grad + s->n;
    r->w = r->v + s->n + most;
    return 1;
}

void ds_check_row_close(ds_check_row *r)
{
    free(r->room);
    free(r->out);
    r->room = NULL;
    r->out = NULL;
}

/* Direction and weights of a product: numbers up to the width of the box, a unit vector, or few numbers,
 * depending on the point. */
static void draw_vectors(const ds_check_items *s, const ds_check_item *item, ds_check_row *r)
{
    const ds_check_request *q = item->request;
    const uint64_t m = elements(s, q->channel), count = q->op == DS_QUERY_JTV ? m : s->n;
    const uint64_t one = ds_random_mix(item->point + 5) % count;
    for (uint64_t i = 0; i < count; i++) {
        const double any = ds_check_number(item->point, 1, i);
        r->v[i] = item->point % 4 == 1   ? (i == one ? 1 : 0)
                  : item->point % 4 == 3 ? (i % 3 == one % 3 ? any : 0)
                                         : any;
        r->v[i] *= q->op != DS_QUERY_JTV && item->point % 4 != 1 ? s->c->width[i] : 1;
    }
    for (uint64_t i = 0; q->op == DS_QUERY_HV && i < m; i++) {
        r->w[i] = ds_check_number(item->point, 2, i);
    }
}

static void add_ask(ds_check_row *r, const ds_check_items *s, uint64_t channel, uint32_t op, uint64_t *at)
{
    const uint64_t bytes = ds_channel_bytes(s->channels.list[channel], op, s->n);
    ds_eval_query *ask = &r->ask[r->io.queries];
    *ask = (ds_eval_query){.op = op,
                           .channel = (uint32_t)channel,
                           .v = op == DS_QUERY_VALUE ? NULL : r->v,
                           .w = op == DS_QUERY_HV ? r->w : NULL,
                           .out = r->out + *at,
                           .bytes = bytes};
    memset(ask->out, 0xff, bytes);
    *at += (bytes + 7) / 8 * 8;
    r->list[r->io.queries++] = ask;
}

void ds_check_row_request(const ds_check_items *s, const ds_check_item *item, ds_check_row *r)
{
    const ds_check_request *q = item->request;
    uint64_t at = 0;
    memcpy(r->x, s->x + item->point * s->n, s->n * sizeof *r->x);
    for (uint64_t i = 0; q->want != 0 && i < s->n; i++) {
        r->grad[i] = ds_check_poison();
    }
    r->io = (ds_eval){.want = q->want,
                      .n = s->n,
                      .x = r->x,
                      .noise_key = key_of(item->point),
                      .grad = q->want != 0 ? r->grad : NULL,
                      .loss = ds_check_poison(),
                      .outcome = DS_EVAL_OK,
                      .bad_step = -1};
    if (q->op != 0) {
        draw_vectors(s, item, r);
        add_ask(r, s, q->channel, q->op, &at);
    }
    for (uint64_t k = 0; q->values && k < s->shown; k++) {
        add_ask(r, s, k, DS_QUERY_VALUE, &at);
    }
    r->io.query = r->io.queries > 0 ? r->list : NULL;
}

/* A text as a number. */
static double text_number(const char *text)
{
    uint64_t hash = 0;
    for (; *text != '\0'; text++) {
        hash = ds_random_mix(hash ^ (unsigned char)*text);
    }
    return (double)(hash >> 12);
}

void ds_check_row_results(const ds_check_items *s, const ds_check_item *item, const ds_check_row *r,
                          ds_status status, const char *message, double *out)
{
    const ds_check_request *q = item->request;
    const ds_eval *io = &r->io;
    const uint64_t grads = q->want != 0 ? s->n : 0;
    double *to = out + HEAD + grads;
    memset(out, 0, item->size * sizeof *out);
    out[STATUS] = (double)status;
    if (status != DS_OK) { /* nothing else is compared */
        out[MESSAGE] = text_number(message);
        return;
    }
    const int lost = io->outcome >= DS_EVAL_DIVERGED, good = io->outcome == DS_EVAL_OK;
    out[OUTCOME] = (double)io->outcome;
    out[LOSS] = io->loss;
    out[BAD_STEP] = (double)io->bad_step;
    out[COST] = (double)io->cost_steps;
    out[GRAD_KIND] = q->want != 0 && good ? (double)io->grad_kind : 0;
    out[MESSAGE] = good || message == NULL ? 0 : text_number(message);
    if (good && grads > 0) {
        memcpy(out + HEAD, r->grad, grads * sizeof *out);
    }
    if (q->values && !lost) {
        for (uint64_t k = 0, ask = q->op != 0; k < s->shown; k++, ask++) {
            for (uint64_t i = 0; i < elements(s, k); i++) {
                *to++ = ds_check_element(s->channels.list[k], r->ask[ask].out, i);
            }
        }
    }
    if (q->op != 0 && good) {
        out[PRODUCT_KIND] = (double)r->ask[0].kind;
        memcpy(out + item->size - product_numbers(s, q), r->ask[0].out, product_numbers(s, q) * sizeof *out);
    }
}

static void forget_row(const ds_check_items *s, const ds_check_item *item, ds_check_row *r)
{
    r->x[0] = r->x[s->n - 1] = r->v[0] = r->w[0] = ds_check_poison(); /* invalid for the plugin from now on */
    r->grad[0] = item->request->want != 0 ? ds_check_poison() : r->grad[0];
}

static void evaluate(ds_check_player *p, double *out)
{
    const ds_check_items *s = p->s;
    ds_check_env *env = p->env;
    ds_check_row *r = &p->row;
    ds_check_row_request(s, p->item, r);
    env->h.errors = 0;
    env->h.error_text[0] = '\0';
    ds_flight_begin(r->x, s->n, r->io.want, r->io.noise_key, 1);
    const ds_status status = ds_eval_call(env->vt, env->self, &r->io);
    ds_flight_end();
    ds_check_row_results(s, p->item, r, status, env->h.error_text, out);
    forget_row(s, p->item, r);
}

/* ---- episodes ---- */

static void fill(double *numbers, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        numbers[i] = ds_check_poison();
    }
}

static void reset(ds_check_player *p, const ds_check_item_call *call, double *out)
{
    const uint64_t key = key_of(p->item->point) + (call->step != 0 ? 3 : 0);
    p->env->h.error_text[0] = '\0';
    fill(p->obs, p->s->rl.n_obs);
    const ds_status status = ds_step_begin_call(&p->rl, p->env->self, 0, key, p->obs, NULL);
    out[0] = (double)status;
    out[1] = status != DS_OK ? text_number(p->env->h.error_text) : 0;
    if (status == DS_OK) {
        memcpy(out + 2, p->obs, p->s->rl.n_obs * sizeof *out);
    }
    fill(p->obs, p->s->rl.n_obs);
    p->taken = 0;
    p->sweeping = 0;
    p->over = status != DS_OK;
}

static void step(ds_check_player *p, const ds_check_item_call *call, double *out)
{
    const ds_steps_info *rl = &p->s->rl;
    const double *actions = p->s->x + p->item->point * p->s->n;
    if (p->over) {
        return;
    }
    memcpy(p->action, actions + call->step * rl->n_act, rl->n_act * sizeof *p->action);
    fill(p->obs, rl->n_obs);
    ds_step io = {.action = p->action, .obs = p->obs, .reward = ds_check_poison(), .loss = ds_check_poison()};
    p->env->h.error_text[0] = '\0';
    const ds_status status = ds_step_call(&p->rl, p->env->self, 0, &io);
    const int good = status == DS_OK && io.outcome == DS_EVAL_OK;
    out[STATUS] = (double)status;
    out[OUTCOME] = (double)io.outcome;
    out[STEP_COST] = (double)io.cost_steps;
    out[STEP_MESSAGE] = good ? 0 : text_number(p->env->h.error_text);
    if (good) {
        out[STEP_ENDED] = (double)io.ended;
        out[STEP_REWARD] = io.reward;
        out[STEP_LOSS] = io.ended != DS_STEPS_CONTINUES ? io.loss : 0;
        memcpy(out + STEP_HEAD, p->obs, rl->n_obs * sizeof *out);
    }
    p->taken += good != 0;
    p->over = !good || io.ended != DS_STEPS_CONTINUES;
    p->sweeping = 0;
    fill(p->obs, rl->n_obs); /* invalid for the plugin from now on */
    fill(p->action, rl->n_act);
}

static void begin(ds_check_player *p, const ds_check_item_call *call, double *out)
{
    const uint64_t last = call->step < p->taken ? call->step : p->taken;
    if (last > 0) {
        out[STATUS] = (double)DS_OK;
        p->sweeping = 1;
        p->last = last;
    }
}

static void back(ds_check_player *p, const ds_check_item_call *call, double *out)
{
    const ds_steps_info *rl = &p->s->rl;
    const uint64_t point = p->item->point;
    if (!p->sweeping || call->step >= p->taken) {
        return;
    }
    for (uint64_t i = 0; i < rl->n_obs; i++) {
        p->obs[i] = call->weights == PLAIN ? 0 : ds_check_number(point + 11, call->step, i);
    }
    fill(p->bar, rl->n_act);
    ds_back io = {.step = call->step,
                  .begins = call->step + 1 == p->last,
                  .reward_bar = call->weights == PLAIN ? -1 : ds_check_number(point + 12, call->step, 0),
                  .obs_bar = p->obs,
                  .action_bar = p->bar};
    const ds_status status = ds_back_call(&p->sweeps, p->env->self, 0, &io);
    out[STATUS] = (double)status;
    p->sweeping = status == DS_OK;
    if (status == DS_OK) {
        memcpy(out + 1, p->bar, rl->n_act * sizeof *out);
    }
    fill(p->obs, rl->n_obs);
}

/* ---- playing ---- */

int ds_check_player_open(const ds_check_items *s, ds_check_env *env, ds_check_player *p)
{
    ds_error e;
    *p = (ds_check_player){.s = s, .env = env};
    fesetenv(FE_DFL_ENV);
    if (!ds_check_row_open(s, &p->row)) {
        return 0;
    }
    if (s->has_steps) {
        p->action = calloc(2 * s->rl.n_act + s->rl.n_obs, sizeof *p->action);
        p->bar = p->action + s->rl.n_act;
        p->obs = p->bar + s->rl.n_act;
        if (p->action == NULL ||
            DS_SIZED_READ(&p->rl, (const ds_env_steps *)ds_check_extension(env, DS_EXT_STEPS),
                          DS_ENV_STEPS_SIZE_1_0, "", "the table of " DS_EXT_STEPS, &e) != 0 ||
            (s->has_sweeps &&
             (DS_SIZED_READ(
                  &p->sweeps, (const ds_env_steps_gradient *)ds_check_extension(env, DS_EXT_STEPS_GRADIENT),
                  DS_ENV_STEPS_GRADIENT_SIZE_1_0, "", "the table of " DS_EXT_STEPS_GRADIENT, &e) != 0 ||
              p->sweeps.back == NULL))) {
            ds_check_fail(
                s->c, "the tables of stepwise control cannot be read: set their struct_size to their sizeof");
            ds_check_player_close(p);
            return 0;
        }
    }
    return 1;
}

void ds_check_player_close(ds_check_player *p)
{
    ds_check_row_close(&p->row);
    free(p->action);
    p->action = NULL;
}

void ds_check_item_begin(ds_check_player *p, const ds_check_item *item, double *out)
{
    p->item = item;
    p->out = out;
    p->at = 0;
    p->taken = 0;
    p->sweeping = 0;
    p->over = 0;
    memset(out, 0, item->size * sizeof *out);
}

int ds_check_item_next(ds_check_player *p)
{
    static void (*const play[])(ds_check_player *, const ds_check_item_call *,
                                double *) = {[RESET] = reset, [STEP] = step, [BEGIN] = begin, [BACK] = back};
    if (p->at == p->item->calls) {
        return 0;
    }
    const ds_check_item_call *call = &p->item->call[p->at++];
    double *out = p->out + call->at;
    if (call->what == EVALUATE) {
        evaluate(p, out);
    } else {
        play[call->what](p, call, out);
    }
    fesetenv(FE_DFL_ENV); /* the host restores it, too; eval.state tests that */
    return 1;
}

void ds_check_item_play(ds_check_player *p, const ds_check_item *item, double *out)
{
    ds_check_item_begin(p, item, out);
    while (ds_check_item_next(p)) {
    }
}

void ds_check_items_play(ds_check_player *p, double *out)
{
    for (uint64_t k = 0; k < p->s->count; k++) {
        ds_check_item_play(p, &p->s->item[k], out);
        out += p->s->item[k].size;
    }
}

/* ---- comparing ---- */

/* An array among the numbers of an item. */
typedef struct part {
    const char *name;
    uint64_t at, count;
    int exact; /* ignored for inexact environments */
    const double *width;
} part;

enum { PARTS = 12 };

/* Splits a call into its parts; returns their number. */
static int parts_of(const ds_check_items *s, const ds_check_item *item, const ds_check_item_call *call,
                    part parts[PARTS])
{
    static const char *const of_evaluate[HEAD] = {
        "status", "outcome", "loss", "bad_step", "cost_steps", "grad_kind", "kind of the product", "message"};
    static const char *const of_step[STEP_HEAD] = {"status", "outcome",    "`ended`", "reward",
                                                   "loss",   "cost_steps", "message"};
    const ds_check_request *q = item->request;
    const char *const *names = call->what == EVALUATE ? of_evaluate : of_step;
    const uint64_t heads[] = {[EVALUATE] = HEAD, [RESET] = 1, [STEP] = STEP_HEAD, [BEGIN] = 1, [BACK] = 1};
    int count = 0;
    uint64_t at = 0;
    for (; at < heads[call->what]; at++) {
        const int whole = call->what == EVALUATE ? at >= BAD_STEP : at >= STEP_COST || at == STEP_REWARD;
        parts[count++] = (part){names[at], at, 1, whole, NULL};
    }
    if (call->what == EVALUATE) {
        if (q->want != 0) {
            parts[count++] = (part){"gradient", at, s->n, 0, s->c->width};
            at += s->n;
        }
        if (q->values) {
            parts[count++] = (part){"values of the channels", at, value_numbers(s), 0, NULL};
            at += value_numbers(s);
        }
        if (q->op != 0) {
            parts[count++] = (part){ds_check_op_name(q->op), at, product_numbers(s, q), 0, NULL};
        }
    } else if (call->what == RESET) {
        parts[count++] = (part){"message", at++, 1, 1, NULL};
        parts[count++] = (part){"first observation", at, s->rl.n_obs, 1, NULL};
    } else if (call->what == STEP) {
        parts[count++] = (part){"observation", at, s->rl.n_obs, 1, NULL};
    } else if (call->what == BACK) {
        parts[count++] = (part){"adjoint of the action", at, s->rl.n_act, 1, NULL};
    }
    return count;
}

/* Index of the first difference; `count` if there is none. */
static uint64_t first_apart(const ds_check *c, const part *p, const double *a, const double *b)
{
    const double tolerance = 1.001 * c->tolerance; /* numbers are rounded, too */
    double largest = 0;
    uint64_t i = 0;
    if (memcmp(a, b, p->count * sizeof *a) == 0 || (p->exact && tolerance > 0)) {
        return p->count;
    }
    for (uint64_t k = 0; k < p->count; k++) {
        largest = fmax(largest, fmax(fabs(a[k]), fabs(b[k])) * (p->width != NULL ? p->width[k] : 1));
    }
    while (i < p->count && (memcmp(&a[i], &b[i], sizeof *a) == 0 ||
                            (tolerance > 0 && fabs(a[i] - b[i]) * (p->width != NULL ? p->width[i] : 1) <=
                                                  tolerance * largest))) {
        i++;
    }
    return i;
}

void ds_check_item_name(const ds_check_items *s, const ds_check_item *item, char *text, size_t size)
{
    const ds_check_request *q = item->request;
    if (q == NULL) {
        snprintf(text, size, "episode %llu", (unsigned long long)item->point);
    } else if (q->op != 0) {
        snprintf(text, size, "point %llu, %s of channel %s%s%s", (unsigned long long)item->point,
                 ds_check_op_name(q->op), s->channels.entry[q->channel].name,
                 q->want != 0 ? " with the gradient" : "", q->values ? " and all values" : "");
    } else {
        snprintf(text, size, "point %llu%s%s", (unsigned long long)item->point,
                 q->want != 0 ? " with the gradient" : "", q->values ? " with all values" : "");
    }
}

static void name_call(const ds_check_items *s, const ds_check_item *item, const ds_check_item_call *call,
                      char *text, size_t size)
{
    static const char *const calls[] = {[RESET] = "reset()",
                                        [STEP] = "step",
                                        [BEGIN] = "begin() of a sweep after step",
                                        [BACK] = "back over step"};
    ds_check_item_name(s, item, text, size);
    if (item->request == NULL) {
        const size_t at = strlen(text);
        snprintf(text + at, size - at, ", %s %llu", calls[call->what], (unsigned long long)call->step);
    }
}

static void hint_about(ds_check *c, const ds_check_item_call *call, const part *p)
{
    if (strcmp(p->name, "message") == 0 || strcmp(p->name, "bad_step") == 0 ||
        strcmp(p->name, "cost_steps") == 0) {
        ds_check_hint(c, "message, bad_step and cost_steps are recorded: they must not contain times, "
                         "addresses, process ids or numbers of calls");
    } else if (call->what == EVALUATE) {
        ds_check_hint(c, "a result depends only on x, noise key, v and w, bit for bit: use no static "
                         "variables, keep no state from earlier calls, keep no pointers");
    } else if (call->what == BEGIN || call->what == BACK) {
        ds_check_hint(c, "a sweep begins with adjoints of 0 and changes nothing that a step or another sweep "
                         "can see; it may begin while the episode is open, and more than once");
    } else {
        ds_check_hint(c, "reset() initialises the whole state of an episode, which belongs to its instance: "
                         "use no static variables, keep no pointers to actions or observations");
    }
}

/* Compares two calls, with `costs` including their cost; 1 = equal. */
static int same_call(ds_check *c, const ds_check_items *s, const ds_check_item *item,
                     const ds_check_item_call *call, const double *first, const double *again, int costs,
                     const char *what)
{
    part parts[PARTS];
    const int count = parts_of(s, item, call, parts);
    for (int k = 0; k < count; k++) {
        const part *p = &parts[k];
        const uint64_t i = first_apart(s->c, p, first + p->at, again + p->at);
        char name[160], number[40] = "";
        if (i == p->count || (!costs && strcmp(p->name, "cost_steps") == 0)) {
            continue;
        }
        if (c != NULL) {
            name_call(s, item, call, name, sizeof name);
            if (p->count > 1) {
                snprintf(number, sizeof number, "number %llu of ", (unsigned long long)i);
            }
            if (strcmp(p->name, "message") == 0) {
                ds_check_fail(c, "%s: %s: the message to host->error() is different", what, name);
            } else {
                ds_check_fail(c, "%s: %s: %sthe %s is %.17g, then %.17g", what, name, number, p->name,
                              first[p->at + i], again[p->at + i]);
            }
            hint_about(c, call, p);
        }
        return 0;
    }
    return 1;
}

int ds_check_item_same(ds_check *c, const ds_check_items *s, const ds_check_item *item, const double *first,
                       const double *again, const char *what)
{
    if (memcmp(first, again, item->size * sizeof *first) == 0) {
        return 1;
    }
    for (uint64_t k = 0; k < item->calls; k++) {
        const ds_check_item_call *call = &item->call[k];
        if (!same_call(c, s, item, call, first + call->at, again + call->at, 1, what)) {
            return 0;
        }
    }
    return 1;
}

void ds_check_row_same(ds_check *c, const ds_check_items *s, const ds_check_item *item, const double *alone,
                       double *together, const char *what)
{
    if (alone[STATUS] == 0) {
        together[MESSAGE] = alone[MESSAGE];
        ds_check_item_same(c, s, item, alone, together, what);
    } else if (together[OUTCOME] == DS_EVAL_OK) {
        ds_check_fail(c, "%s: the point alone has no result, but as one of several rows it has", what);
    }
}

/* ---- agreement of items ---- */

/* An array that both evaluations have. */
static void agree_in(ds_check *c, const ds_check_items *s, const ds_check_item *a, const ds_check_item *b,
                     const double *first, const double *again)
{
    part of_a[PARTS], of_b[PARTS];
    const int as = parts_of(s, a, a->call, of_a), bs = parts_of(s, b, b->call, of_b);
    char one[160], two[160];
    const int lost = first[OUTCOME] >= DS_EVAL_DIVERGED, fine = first[OUTCOME] == 0 && again[OUTCOME] == 0;
    if (first[STATUS] != again[STATUS] || lost != (again[OUTCOME] >= DS_EVAL_DIVERGED)) {
        name_call(s, a, a->call, one, sizeof one);
        name_call(s, b, b->call, two, sizeof two);
        ds_check_fail(c, "%s: outcome %g; %s: outcome %g", one, first[OUTCOME], two, again[OUTCOME]);
        return;
    }
    for (int i = 0; i < as && first[STATUS] == 0; i++) {
        for (int k = 0; k < bs; k++) {
            const int loss = of_a[i].at == LOSS;
            if ((of_a[i].at < HEAD && !loss) || strcmp(of_a[i].name, of_b[k].name) != 0 ||
                (of_a[i].at >= HEAD && !fine)) {
                continue;
            }
            const uint64_t at = first_apart(s->c, &of_a[i], first + of_a[i].at, again + of_b[k].at);
            if (at < of_a[i].count) {
                name_call(s, a, a->call, one, sizeof one);
                name_call(s, b, b->call, two, sizeof two);
                ds_check_fail(c, "number %llu of the %s is %.17g (%s), and %.17g (%s)",
                              (unsigned long long)at, of_a[i].name, first[of_a[i].at + at], one,
                              again[of_b[k].at + at], two);
                ds_check_hint(c, "a result must not depend on what else is requested in the same call: share "
                                 "no buffer and no adjoint between the gradient, values and products");
            }
        }
    }
}

static int shares(const ds_check_item *a, const ds_check_item *b)
{
    const ds_check_request *p = a->request, *q = b->request;
    return a->point == b->point && (p->op == 0 || q->op == 0 || (p->op == q->op && p->channel == q->channel));
}

/* Finds, among the first `calls`, the first backward call over the same step in a sweep with the same
 * adjoints and start; NULL if there is none. */
static const ds_check_item_call *same_sweep(const ds_check_item *item, uint64_t calls,
                                            const ds_check_item_call *back)
{
    for (uint64_t k = 0; k < calls; k++) {
        const ds_check_item_call *call = &item->call[k];
        if (call->what == BACK && call->last == back->last && call->weights == back->weights) {
            const uint64_t at = k + (call->step - back->step);
            const int there = call->step >= back->step && at < calls && item->call[at].what == BACK &&
                              item->call[at].step == back->step;
            return there ? &item->call[at] : NULL;
        }
    }
    return NULL;
}

/* A step has the same result in both episodes, and so has a sweep wherever it runs. A step after a sweep may
 * take more simulation steps, since states may have to be recomputed. */
static void agree_in_episodes(ds_check *c, const ds_check_items *s, const ds_check_item *a,
                              const ds_check_item *b, const double *first, const double *again)
{
    uint64_t from = 0;
    for (uint64_t k = 0; k < b->calls; k++) { /* after the abandoned episode */
        from = b->call[k].what == RESET ? k : from;
    }
    for (uint64_t k = from; k < b->calls && c->failed == 0; k++) {
        const ds_check_item_call *call = &b->call[k], *other = NULL;
        const double *where = first;
        if (call->what == RESET || call->what == STEP) {
            other = &a->call[call->what == RESET ? 0 : 1 + call->step];
        } else if (call->what == BACK) {
            other = same_sweep(a, a->calls, call);
            if (other == NULL) {
                other = same_sweep(b, k, call);
                where = again;
            }
        }
        if (other != NULL) {
            same_call(c, s, b, call, where + other->at, again + call->at, 0,
                      call->what == BACK ? "in another sweep of the same episode"
                                         : "in an episode with sweeps between its steps");
        }
    }
}

void ds_check_items_agree(ds_check *c, const ds_check_items *s, const double *out, int episodes)
{
    const double *one = out;
    for (uint64_t i = 0; i < s->count && c->failed == 0; one += s->item[i++].size) {
        const ds_check_item *a = &s->item[i];
        if (a->request == NULL && episodes && i + 1 < s->count && a->point == s->item[i + 1].point) {
            agree_in_episodes(c, s, a, &s->item[i + 1], one, one + a->size);
        }
        const double *two = one;
        for (uint64_t k = i; a->request != NULL && !episodes && k < s->count && c->failed == 0;
             two += s->item[k++].size) {
            if (k > i && s->item[k].request != NULL && shares(a, &s->item[k])) {
                agree_in(c, s, a, &s->item[k], one, two);
            }
        }
    }
}

/* ---- another process ---- */

/* Head of the file: identifies the items. */
typedef struct kept_head {
    uint64_t points, requests, count, size;
} kept_head;

void ds_check_items_keep(ds_check *c, ds_check_env *env)
{
    ds_check_items s;
    ds_check_player p;
    if (c->options->kept < 0 || !ds_check_items_open(c, env, 0, 1, &s)) {
        return;
    }
    const kept_head head = {s.points, s.requests, s.count, s.size};
    double *out = malloc(s.size * sizeof *out);
    if (out != NULL && ds_check_player_open(&s, env, &p)) {
        ds_check_items_play(&p, out);
        const ssize_t bytes = (ssize_t)(s.size * sizeof *out);
        if (pwrite(c->options->kept, out, (size_t)bytes, sizeof head) != bytes ||
            pwrite(c->options->kept, &head, sizeof head, 0) != sizeof head) {
            ds_check_note(c, "no memory for comparing processes");
        }
        ds_check_player_close(&p);
    }
    free(out);
    ds_check_items_close(&s);
}

void ds_check_items_as_kept(ds_check *c, ds_check_env *env, const char *what)
{
    ds_check_items s;
    ds_check_player p;
    kept_head head = {0};
    if (c->options->kept < 0 || pread(c->options->kept, &head, sizeof head, 0) != sizeof head ||
        !ds_check_items_open(c, env, 0, 1, &s)) {
        return; /* the first evaluation failed, or memory is short (recorded) */
    }
    const kept_head own = {s.points, s.requests, s.count, s.size};
    double *kept = malloc(2 * s.size * sizeof *kept), *out = kept + s.size;
    const ssize_t bytes = (ssize_t)(s.size * sizeof *out);
    if (memcmp(&own, &head, sizeof own) != 0) {
        ds_check_fail(c, "%s: variables, channels or control steps are different", what);
    } else if (kept != NULL && pread(c->options->kept, kept, (size_t)bytes, sizeof head) == bytes &&
               ds_check_player_open(&s, env, &p)) {
        uint64_t at = 0;
        for (uint64_t k = 0; k < s.count && c->failed == 0; at += s.item[k++].size) {
            ds_check_item_play(&p, &s.item[k], out);
            ds_check_item_same(c, &s, &s.item[k], kept + at, out, what);
        }
        ds_check_player_close(&p);
    }
    free(kept);
    ds_check_items_close(&s);
}
