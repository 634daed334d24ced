/* SPDX-License-Identifier: Apache-2.0 */
/* asker.c - an optimizer that asks for values, products, gradients and common noise in many combinations, for
 * tests of the host. The points of a batch depend on every bit of all answers before it, so two runs have the
 * same record only where they were answered the same. It says what it got with log(), and fails where an
 * answer breaks a rule. */
#include <diffsim/ext/channel.h>
#include <diffsim/helper/random.h>
#include <diffsim/plugin.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const faults[] = {"none", "twice",     "products", "operation", "bytes",
                                     "nan",  "no_vector", "channel",  NULL};
enum { A_NONE, A_TWICE, A_PRODUCTS, A_OPERATION, A_BYTES, A_NAN, A_NO_VECTOR, A_CHANNEL };

static const ds_param *const params[] = {
    DS_INT("rows", "5", 3, 1000, "", "Rows of a batch."),
    DS_BOOL("same_noise", "true", "Rows of one batch share noise groups."),
    DS_BOOL("noisy", "false", "Other noise gives another loss."),
    DS_ENUM("fault", "none", faults, "Which rule the sixth batch breaks."), NULL};

typedef struct search {
    const ds_host *host;
    const ds_problem *problem;
    const ds_objective_channels *channels;
    int64_t rows, same_noise, noisy, fault;
    uint64_t hash, number; /* of all answers; of batches */
    ds_random random;
    double *x, *loss, *grad;
    uint32_t *outcome;
    uint64_t *noise, *cost;
    ds_ask ask[DS_MAX_ASKS], *list[DS_MAX_ASKS];
} search;

static void destroy(void *self)
{
    search *s = self;
    if (s != NULL) {
        free(s->x);
        free(s->outcome);
        free(s->noise);
        free(s);
    }
}

static ds_status create(const ds_host *host, const ds_problem *problem, void **out)
{
    search *s = calloc(1, sizeof(*s));
    if (s == NULL || host->get_int(host, "rows", &s->rows) != DS_OK ||
        host->get_int(host, "same_noise", &s->same_noise) != DS_OK ||
        host->get_int(host, "noisy", &s->noisy) != DS_OK ||
        host->get_int(host, "fault", &s->fault) != DS_OK) {
        free(s);
        return DS_E_GENERIC;
    }
    size_t rows = (size_t)s->rows;
    s->host = host;
    s->problem = problem;
    s->x = calloc(rows * (2 * problem->n + 1), sizeof(double));
    s->outcome = calloc(rows, sizeof(uint32_t));
    s->noise = calloc(2 * rows, sizeof(uint64_t));
    if (s->x == NULL || s->outcome == NULL || s->noise == NULL) {
        destroy(s);
        host->error(host, DS_E_NOMEM, "out of memory");
        return DS_E_NOMEM;
    }
    s->grad = s->x + rows * problem->n;
    s->loss = s->grad + rows * problem->n;
    s->cost = s->noise + rows;
    *out = s;
    return DS_OK;
}

/* ---- a batch ---- */

static uint64_t count_of(const search *s, const ds_ask *q, int weights)
{
    uint64_t elements = ds_channel_elements(s->channels->channel[q->channel]);
    return weights ? elements : q->op == DS_ASK_JTV ? elements : s->problem->n;
}

static double *random_numbers(search *s, uint64_t count)
{
    double *v = malloc(count * sizeof(double));
    for (uint64_t i = 0; v != NULL && i < count; i++) {
        v[i] = 2 * ds_random_uniform(&s->random) - 1;
    }
    return v;
}

static void add_ask(search *s, ds_batch *b, uint32_t channel, uint32_t op)
{
    ds_ask *q = &s->ask[b->asks];
    const ds_channel *c = s->channels->channel[channel];
    *q = (ds_ask){.struct_size = sizeof(*q), .op = op, .channel = channel, .kind = 77};
    if (op != DS_ASK_VALUE) {
        q->v = random_numbers(s, b->count * count_of(s, q, 0));
    }
    if (op == DS_ASK_HV && ds_random_below(&s->random, 2) == 0) {
        q->w = random_numbers(s, b->count * count_of(s, q, 1));
    }
    q->out_bytes = b->count * ds_channel_bytes(c, op, s->problem->n);
    q->out = malloc(q->out_bytes);
    if (q->out != NULL) {
        memset(q->out, 0xcc, q->out_bytes);
    }
    s->list[b->asks++] = q;
}

/* Some values, and at most one product, which may stand anywhere. */
static void choose(search *s, ds_batch *b)
{
    const uint64_t count = s->channels->count;
    uint64_t derivative = ds_random_below(&s->random, 5); /* a gradient, nothing, products, both */
    uint64_t of = ds_random_below(&s->random, count), op = DS_ASK_JV + ds_random_below(&s->random, 3);
    b->want = derivative == 0 || derivative == 4 ? DS_WANT_GRAD : 0;
    for (uint32_t i = 0; i < count; i++) {
        const ds_channel *c = s->channels->channel[i];
        if (derivative > 1 && i == of && (c->ops & DS_CAN(op)) != 0) {
            add_ask(s, b, i, (uint32_t)op);
        }
        if (c->ops != 0 && ds_random_below(&s->random, 3) > 0) {
            add_ask(s, b, i, DS_ASK_VALUE);
        }
    }
}

/* Breaks a rule. */
static void spoil(search *s, ds_batch *b)
{
    for (uint64_t i = 0; i < b->asks; i++) {
        free(s->ask[i].out);
        free((double *)(uintptr_t)s->ask[i].v);
        free((double *)(uintptr_t)s->ask[i].w);
    }
    b->asks = 0;
    b->want = 0;
    add_ask(s, b, 0, DS_ASK_JV);
    if (s->fault == A_TWICE || s->fault == A_PRODUCTS) {
        add_ask(s, b, 0, s->fault == A_TWICE ? DS_ASK_JV : DS_ASK_JTV);
    }
    s->ask[0].op = s->fault == A_OPERATION ? 9 : DS_ASK_JV;
    s->ask[0].channel = s->fault == A_CHANNEL ? 200 : 0;
    s->ask[0].out_bytes -= s->fault == A_BYTES;
    if (s->fault == A_NAN) {
        ((double *)(uintptr_t)s->ask[0].v)[1] = NAN;
    } else if (s->fault == A_NO_VECTOR) {
        free((double *)(uintptr_t)s->ask[0].v);
        s->ask[0].v = NULL;
    }
}

/* The first three rows are the same point: two with the same noise, one with another. */
static void draw(search *s, ds_batch *b)
{
    const ds_problem *p = s->problem;
    s->random = ds_random_open(s->host->seed ^ s->hash, "batch", s->number);
    for (uint64_t r = 0; r < b->count; r++) {
        for (uint64_t i = 0; i < p->n; i++) {
            double u = ds_random_uniform(&s->random);
            s->x[r * p->n + i] =
                r == 1 || r == 2 ? s->x[i] : fmin(p->upper[i], p->lower[i] + u * (p->upper[i] - p->lower[i]));
        }
        s->noise[r] = r < 3 ? 2 * s->number + 1 + r / 2 : 0;
        s->outcome[r] = 99;
        s->cost[r] = 99999;
    }
    b->noise = s->same_noise ? s->noise : NULL;
    choose(s, b);
    if (s->fault != A_NONE && s->number == 5) {
        spoil(s, b);
    }
    b->ask = s->list;
}

/* ---- the answers ---- */

static void take_in(search *s, const void *bytes, uint64_t count)
{
    const unsigned char *p = bytes;
    for (uint64_t i = 0; i < count; i++) {
        s->hash = (s->hash ^ p[i]) * 0x100000001b3u;
    }
}

static ds_status complain(const search *s, uint64_t row, const char *what)
{
    char text[200];
    snprintf(text, sizeof(text), "batch %llu, row %llu: %s", (unsigned long long)s->number,
             (unsigned long long)row, what);
    s->host->error(s->host, DS_E_DATA, text);
    return DS_E_DATA;
}

static int is_zero(const unsigned char *p, uint64_t count)
{
    while (count > 0 && *p == 0) {
        p++;
        count--;
    }
    return count == 0;
}

/* Is the row's part of an answer what its outcome says? */
static ds_status look_at_answer(const search *s, const ds_batch *b, uint64_t r, const ds_ask *q)
{
    const ds_channel *c = s->channels->channel[q->channel];
    const uint64_t bytes = q->out_bytes / b->count;
    const unsigned char *out = (const unsigned char *)q->out + r * bytes;
    uint32_t last_answer = q->op == DS_ASK_VALUE ? DS_EVAL_BAD_GRAD : DS_EVAL_OK;
    if (b->outcome[r] > last_answer && !is_zero(out, bytes)) {
        return complain(s, r, "an answer where there is none");
    }
    if (q->op == DS_ASK_VALUE && c->role == DS_CHANNEL_LOSS && b->outcome[r] <= last_answer &&
        memcmp(out, &b->loss[r], sizeof(double)) != 0) {
        return complain(s, r, "the loss as a channel is another");
    }
    if ((q->op == DS_ASK_VALUE) != (q->kind == DS_GRAD_NONE) && b->outcome[r] == DS_EVAL_OK) {
        return complain(s, r, "the kind of a product is missing, or values have one");
    }
    return DS_OK;
}

static ds_status look_at_row(const search *s, const ds_batch *b, uint64_t r)
{
    ds_status st = DS_OK;
    int there = b->outcome[r] <= DS_EVAL_BAD_GRAD;
    if (b->outcome[r] >= DS_EVAL_OUTCOMES || there != (isfinite(b->loss[r]) != 0)) {
        return complain(s, r, "no outcome, or a loss that does not fit it");
    }
    if (b->outcome[r] == DS_EVAL_OK && (b->cost_steps[r] < 10 || b->cost_steps[r] > 100)) {
        return complain(s, r, "no cost_steps");
    }
    if ((b->want & DS_WANT_GRAD) != 0 && b->outcome[r] != DS_EVAL_OK &&
        !is_zero((const unsigned char *)(b->grad + r * s->problem->n), s->problem->n * sizeof(double))) {
        return complain(s, r, "a gradient where there is none");
    }
    for (uint64_t i = 0; st == DS_OK && i < b->asks; i++) {
        st = look_at_answer(s, b, r, b->ask[i]);
    }
    return st;
}

/* Common noise is common, other noise is other noise. */
static ds_status look_at_noise(const search *s, const ds_batch *b)
{
    if (!s->problem->stochastic || b->noise == NULL || b->done < 3 || !isfinite(b->loss[0]) ||
        !isfinite(b->loss[2])) {
        return DS_OK;
    }
    if (b->loss[0] != b->loss[1]) {
        return complain(s, 1, "the same point with the same noise group has another loss");
    }
    return s->noisy && b->loss[0] == b->loss[2] ? complain(s, 2, "another noise group has the same noise")
                                                : DS_OK;
}

static ds_status look(search *s, const ds_batch *b)
{
    ds_status st = look_at_noise(s, b);
    char line[120];
    take_in(s, b->loss, b->done * sizeof(double));
    take_in(s, b->outcome, b->done * sizeof(uint32_t));
    take_in(s, b->cost_steps, b->done * sizeof(uint64_t));
    if ((b->want & DS_WANT_GRAD) != 0) {
        take_in(s, b->grad, b->done * s->problem->n * sizeof(double));
    }
    for (uint64_t i = 0; i < b->asks; i++) {
        take_in(s, b->ask[i]->out, b->done * (b->ask[i]->out_bytes / b->count));
        take_in(s, &b->ask[i]->kind, sizeof(uint32_t));
    }
    for (uint64_t r = 0; st == DS_OK && r < b->done; r++) {
        st = look_at_row(s, b, r);
    }
    snprintf(line, sizeof(line), "batch %llu: %llu rows, %llu questions, answers %016llx",
             (unsigned long long)s->number, (unsigned long long)b->done, (unsigned long long)b->asks,
             (unsigned long long)s->hash);
    s->host->log(s->host, DS_LOG_INFO, line);
    return st;
}

static ds_status one_batch(search *s, const ds_objective *objective)
{
    ds_batch b = {.struct_size = sizeof(b),
                  .count = (uint64_t)s->rows,
                  .x = s->x,
                  .loss = s->loss,
                  .grad = s->grad,
                  .outcome = s->outcome,
                  .tag = "ask",
                  .group = s->number,
                  .cost_steps = s->cost};
    int room = 1;
    draw(s, &b);
    for (uint64_t i = 0; i < b.asks; i++) {
        room = room && s->ask[i].out != NULL &&
               (s->ask[i].op == DS_ASK_VALUE || s->ask[i].v != NULL || s->fault);
    }
    ds_status st = room ? objective->evaluate(objective, &b) : DS_E_NOMEM;
    ds_status looked = st >= 0 ? look(s, &b) : DS_OK;
    for (uint64_t i = 0; i < b.asks; i++) {
        free(s->ask[i].out);
        free((double *)(uintptr_t)s->ask[i].v);
        free((double *)(uintptr_t)s->ask[i].w);
    }
    s->number++;
    return looked != DS_OK ? looked : st;
}

static ds_status run(void *self, const ds_objective *objective)
{
    search *s = self;
    ds_status st = DS_OK;
    s->channels = objective->get_extension(objective, DS_EXT_OBJECTIVE_CHANNELS);
    if (s->channels == NULL) {
        s->host->error(s->host, DS_E_UNSUPPORTED, "this environment has no channels");
        return DS_E_UNSUPPORTED;
    }
    while (st == DS_OK) {
        st = one_batch(s, objective);
    }
    return st;
}

static const ds_desc desc = {
    .struct_size = sizeof(ds_desc),
    .kind = DS_KIND_OPTIMIZER,
    .id = "asker",
    .version = "1",
    .license = "Apache-2.0",
    .summary = "An optimizer that asks for everything.",
    .description = "",
    .citation = "",
    .params = params,
};

static const ds_optimizer_vtable vtable = {
    .struct_size = sizeof(ds_optimizer_vtable),
    .create = create,
    .destroy = destroy,
    .run = run,
};

DS_DEFINE_OPTIMIZER(desc, vtable)
