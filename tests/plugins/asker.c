/* SPDX-License-Identifier: Apache-2.0 */
/* asker.c - an optimizer that requests values, products, gradients and common noise in many combinations, for
 * tests of the host. The points of a request depend on every bit of all results before it, so two runs have
 * the same record only if their results were the same. It logs what it got, and fails if a result breaks a
 * rule. */
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
    DS_INT("rows", "5", 3, 1000, "", "Rows of a request."),
    DS_BOOL("same_noise", "true", "Rows of one request share noise groups."),
    DS_BOOL("noisy", "false", "Other noise gives another loss."),
    DS_ENUM("fault", "none", faults, "Which rule the sixth request breaks."), NULL};

typedef struct search {
    const ds_host *host;
    const ds_problem *problem;
    const ds_objective_channels *channels;
    int64_t rows, same_noise, noisy, fault;
    uint64_t hash, number; /* of all results; of requests */
    ds_random random;
    double *x, *loss, *grad;
    uint32_t *outcome;
    uint64_t *noise, *cost;
    ds_query query[DS_MAX_QUERIES];
    const ds_query *queries[DS_MAX_QUERIES];
    ds_reply reply[DS_MAX_QUERIES];
    const ds_reply *replies[DS_MAX_QUERIES];
} search;

/* A request and its results. */
typedef struct request {
    ds_rows rows;
    ds_results results;
    ds_label label;
    uint64_t done;
} request;

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

/* ---- a request ---- */

static uint64_t count_of(const search *s, const ds_query *q, int weights)
{
    uint64_t elements = ds_channel_elements(s->channels->channel[q->channel]);
    return weights ? elements : q->op == DS_QUERY_JTV ? elements : s->problem->n;
}

static double *random_numbers(search *s, uint64_t count)
{
    double *v = malloc(count * sizeof(double));
    for (uint64_t i = 0; v != NULL && i < count; i++) {
        v[i] = 2 * ds_random_uniform(&s->random) - 1;
    }
    return v;
}

static void add_query(search *s, request *b, uint32_t channel, uint32_t op)
{
    const uint64_t i = b->rows.queries, count = b->rows.count;
    ds_query *q = &s->query[i];
    ds_reply *r = &s->reply[i];
    *q = (ds_query){.struct_size = sizeof(*q), .op = op, .channel = channel};
    *r = (ds_reply){.struct_size = sizeof(*r)};
    if (op != DS_QUERY_VALUE) {
        q->v_stride = count_of(s, q, 0);
        q->v = random_numbers(s, count * q->v_stride);
    }
    if (op == DS_QUERY_HV && ds_random_below(&s->random, 2) == 0) {
        q->w_stride = count_of(s, q, 1);
        q->w = random_numbers(s, count * q->w_stride);
    }
    r->bytes = ds_channel_bytes(s->channels->channel[channel], op, s->problem->n);
    r->stride = (r->bytes + 7) / 8 * 8;
    r->out = malloc(count * r->stride);
    r->kind = malloc(count * sizeof(uint32_t));
    if (r->out != NULL && r->kind != NULL) {
        memset(r->out, 0xcc, count * r->stride);
        memset(r->kind, 77, count * sizeof(uint32_t));
    }
    s->queries[i] = q;
    s->replies[i] = r;
    b->rows.queries++;
}

static void release_queries(search *s, request *b)
{
    for (uint64_t i = 0; i < b->rows.queries; i++) {
        free(s->reply[i].out);
        free(s->reply[i].kind);
        free((double *)(uintptr_t)s->query[i].v);
        free((double *)(uintptr_t)s->query[i].w);
    }
    b->rows.queries = 0;
}

/* Some values, and at most one product, which may stand anywhere. */
static void choose(search *s, request *b)
{
    const uint64_t count = s->channels->count;
    uint64_t derivative = ds_random_below(&s->random, 5); /* a gradient, nothing, products, both */
    uint64_t of = ds_random_below(&s->random, count), op = DS_QUERY_JV + ds_random_below(&s->random, 3);
    b->rows.want = derivative == 0 || derivative == 4 ? DS_WANT_GRAD : 0;
    for (uint32_t i = 0; i < count; i++) {
        const ds_channel *c = s->channels->channel[i];
        if (derivative > 1 && i == of && (c->ops & DS_CAN(op)) != 0) {
            add_query(s, b, i, (uint32_t)op);
        }
        if (c->ops != 0 && ds_random_below(&s->random, 3) > 0) {
            add_query(s, b, i, DS_QUERY_VALUE);
        }
    }
}

/* Breaks a rule. */
static void spoil(search *s, request *b)
{
    release_queries(s, b);
    b->rows.want = 0;
    add_query(s, b, 0, DS_QUERY_JV);
    if (s->fault == A_TWICE || s->fault == A_PRODUCTS) {
        add_query(s, b, 0, s->fault == A_TWICE ? DS_QUERY_JV : DS_QUERY_JTV);
    }
    s->query[0].op = s->fault == A_OPERATION ? 9 : DS_QUERY_JV;
    s->query[0].channel = s->fault == A_CHANNEL ? 200 : 0;
    s->reply[0].bytes -= s->fault == A_BYTES;
    if (s->fault == A_NAN) {
        ((double *)(uintptr_t)s->query[0].v)[1] = NAN;
    } else if (s->fault == A_NO_VECTOR) {
        free((double *)(uintptr_t)s->query[0].v);
        s->query[0].v = NULL;
    }
}

/* The first three rows are the same point: two with the same noise, one with another. */
static void draw(search *s, request *b)
{
    const ds_problem *p = s->problem;
    s->random = ds_random_open(s->host->seed ^ s->hash, "batch", s->number);
    for (uint64_t r = 0; r < b->rows.count; r++) {
        for (uint64_t i = 0; i < p->n; i++) {
            double u = ds_random_uniform(&s->random);
            s->x[r * p->n + i] =
                r == 1 || r == 2 ? s->x[i] : fmin(p->upper[i], p->lower[i] + u * (p->upper[i] - p->lower[i]));
        }
        s->noise[r] = r < 3 ? 2 * s->number + 1 + r / 2 : 0;
        s->outcome[r] = 99;
        s->cost[r] = 99999;
    }
    b->label.noise = s->same_noise ? s->noise : NULL;
    choose(s, b);
    if (s->fault != A_NONE && s->number == 5) {
        spoil(s, b);
    }
    b->rows.query = s->queries;
    b->results.reply = s->replies;
}

/* ---- the results ---- */

static void hash_in(search *s, const void *bytes, uint64_t count)
{
    const unsigned char *p = bytes;
    for (uint64_t i = 0; i < count; i++) {
        s->hash = (s->hash ^ p[i]) * 0x100000001b3u;
    }
}

static ds_status complain(const search *s, uint64_t row, const char *what)
{
    char text[200];
    snprintf(text, sizeof(text), "request %llu, row %llu: %s", (unsigned long long)s->number,
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

/* Does the result of a row's query fit its outcome? */
static ds_status check_result(const search *s, const request *b, uint64_t r, uint64_t i)
{
    const ds_query *q = &s->query[i];
    const ds_reply *p = &s->reply[i];
    const ds_channel *c = s->channels->channel[q->channel];
    const unsigned char *out = (const unsigned char *)p->out + r * p->stride;
    const uint32_t outcome = b->results.outcome[r];
    uint32_t last_answer = q->op == DS_QUERY_VALUE ? DS_EVAL_BAD_GRAD : DS_EVAL_OK;
    if (outcome > last_answer && !is_zero(out, p->bytes)) {
        return complain(s, r, "an answer where there is none");
    }
    if (q->op == DS_QUERY_VALUE && c->role == DS_CHANNEL_LOSS && outcome <= last_answer &&
        memcmp(out, &b->results.loss[r], sizeof(double)) != 0) {
        return complain(s, r, "the loss as a channel is another");
    }
    if (outcome != DS_EVAL_OK && p->kind[r] != DS_GRAD_NONE) {
        return complain(s, r, "a row that failed has the kind of a product");
    }
    if ((q->op == DS_QUERY_VALUE) != (p->kind[r] == DS_GRAD_NONE) && outcome == DS_EVAL_OK) {
        return complain(s, r, "the kind of a product is missing, or values have one");
    }
    return DS_OK;
}

static ds_status look_at_row(const search *s, const request *b, uint64_t r)
{
    ds_status st = DS_OK;
    int there = b->results.outcome[r] <= DS_EVAL_BAD_GRAD;
    if (b->results.outcome[r] >= DS_EVAL_OUTCOMES || there != (isfinite(b->results.loss[r]) != 0)) {
        return complain(s, r, "no outcome, or a loss that does not fit it");
    }
    if (b->results.outcome[r] == DS_EVAL_OK &&
        (b->results.cost_steps[r] < 10 || b->results.cost_steps[r] > 100)) {
        return complain(s, r, "no cost_steps");
    }
    if ((b->rows.want & DS_WANT_GRAD) != 0 && b->results.outcome[r] != DS_EVAL_OK &&
        !is_zero((const unsigned char *)(b->results.grad + r * s->problem->n),
                 s->problem->n * sizeof(double))) {
        return complain(s, r, "a gradient where there is none");
    }
    for (uint64_t i = 0; st == DS_OK && i < b->rows.queries; i++) {
        st = check_result(s, b, r, i);
    }
    return st;
}

/* Rows with common noise agree, others differ. */
static ds_status check_noise(const search *s, const request *b)
{
    if (!s->problem->stochastic || b->label.noise == NULL || b->done < 3 || !isfinite(b->results.loss[0]) ||
        !isfinite(b->results.loss[2])) {
        return DS_OK;
    }
    if (b->results.loss[0] != b->results.loss[1]) {
        return complain(s, 1, "the same point with the same noise group has another loss");
    }
    return s->noisy && b->results.loss[0] == b->results.loss[2]
               ? complain(s, 2, "another noise group has the same noise")
               : DS_OK;
}

static ds_status look(search *s, const request *b)
{
    ds_status st = check_noise(s, b);
    char line[120];
    hash_in(s, b->results.loss, b->done * sizeof(double));
    hash_in(s, b->results.outcome, b->done * sizeof(uint32_t));
    hash_in(s, b->results.cost_steps, b->done * sizeof(uint64_t));
    if ((b->rows.want & DS_WANT_GRAD) != 0) {
        hash_in(s, b->results.grad, b->done * s->problem->n * sizeof(double));
    }
    for (uint64_t i = 0; i < b->rows.queries; i++) {
        for (uint64_t r = 0; r < b->done; r++) {
            hash_in(s, (const unsigned char *)s->reply[i].out + r * s->reply[i].stride, s->reply[i].bytes);
            hash_in(s, &s->reply[i].kind[r], sizeof(uint32_t));
        }
    }
    for (uint64_t r = 0; st == DS_OK && r < b->done; r++) {
        st = look_at_row(s, b, r);
    }
    snprintf(line, sizeof(line), "request %llu: %llu rows, %llu queries, answers %016llx",
             (unsigned long long)s->number, (unsigned long long)b->done, (unsigned long long)b->rows.queries,
             (unsigned long long)s->hash);
    s->host->log(s->host, DS_LOG_INFO, line);
    return st;
}

static ds_status one_request(search *s, const ds_objective *objective)
{
    const uint64_t n = s->problem->n;
    request b = {
        .rows = {.struct_size = sizeof(ds_rows), .count = (uint64_t)s->rows, .n = n, .stride = n, .x = s->x},
        .results = {.struct_size = sizeof(ds_results),
                    .stride = n,
                    .loss = s->loss,
                    .grad = s->grad,
                    .outcome = s->outcome,
                    .cost_steps = s->cost},
        .label = {.struct_size = sizeof(ds_label), .tag = "ask", .group = s->number}};
    int room = 1;
    draw(s, &b);
    for (uint64_t i = 0; i < b.rows.queries; i++) {
        room = room && s->reply[i].out != NULL && s->reply[i].kind != NULL &&
               (s->query[i].op == DS_QUERY_VALUE || s->query[i].v != NULL || s->fault);
    }
    ds_status st = room ? objective->evaluate(objective, &b.rows, &b.label, &b.results, &b.done) : DS_E_NOMEM;
    ds_status looked = st >= 0 ? look(s, &b) : DS_OK;
    release_queries(s, &b);
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
        st = one_request(s, objective);
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
