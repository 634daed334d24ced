/* SPDX-License-Identifier: Apache-2.0 */
/* digester.c - an optimizer that uses every field of a request, rightly and wrongly. Its last points depend
 * on every bit of the results before, so that a wrong bit shows. For tests of everything between an optimizer
 * and its objective. */
#include <diffsim/ext/channel.h>
#include <diffsim/plugin.h>

#include <stdlib.h>
#include <string.h>

enum { ROWS = 3, MANY = 5000 };

typedef struct search {
    const ds_host *host;
    const ds_problem *problem;
    uint64_t digest;
} search;

static void fold(search *s, const void *bytes, uint64_t count)
{
    const unsigned char *b = bytes;
    for (uint64_t i = 0; i < count; i++) {
        s->digest = (s->digest ^ b[i]) * 1099511628211u;
    }
}

static void fold_number(search *s, uint64_t number)
{
    fold(s, &number, sizeof(number));
}

static ds_status create(const ds_host *host, const ds_problem *problem, void **out)
{
    search *s = calloc(1, sizeof(*s));
    if (s == NULL) {
        return DS_E_NOMEM;
    }
    s->host = host;
    s->problem = problem;
    s->digest = 14695981039346656037u;
    *out = s;
    return DS_OK;
}

static void destroy(void *self)
{
    free(self);
}

static void look_at_channels(search *s, const ds_objective_channels *c)
{
    fold_number(s, c->count);
    for (uint64_t i = 0; i < c->count; i++) {
        const ds_channel *k = c->channel[i];
        const uint32_t numbers[] = {k->role, k->type, k->ops, k->ndim};
        const double limits[] = {k->lower, k->upper};
        fold(s, numbers, sizeof(numbers));
        fold(s, limits, sizeof(limits));
        fold(s, k->shape, sizeof(k->shape));
        fold(s, k->name, strlen(k->name));
        fold(s, k->unit, strlen(k->unit));
        fold(s, k->doc, strlen(k->doc));
    }
}

static void fill(search *s, double *x, uint64_t rows)
{
    uint64_t n = s->problem->n;
    for (uint64_t i = 0; i < rows * n; i++) {
        double u = (double)((s->digest >> i % 40) & 1023u) / 1023.0;
        x[i] = s->problem->lower[i % n] + u * (s->problem->upper[i % n] - s->problem->lower[i % n]);
    }
}

/* Buffers of a call with queries: at most four variables and five elements. */
typedef struct buffers {
    double x[ROWS * 4], loss[ROWS], grad[ROWS * 4], v[ROWS * 5], w[ROWS * 5], values[ROWS * 5],
        product[ROWS * 5];
    uint64_t noise[ROWS], cost[ROWS];
    int64_t bad_step[ROWS];
    uint32_t outcome[ROWS], grad_kind[ROWS], kind[4][ROWS];
    unsigned char image[ROWS * 8];
} buffers;

/* Makes a request with everything; `wrong` spoils it. */
static void ask(search *s, const ds_objective *o, const char *tag, int wrong)
{
    buffers b;
    memset(&b, 0x55, sizeof(b)); /* shows what is not written */
    for (int i = 0; i < ROWS; i++) {
        fill(s, b.x + i * 4, 1);
    }
    for (int i = 0; i < ROWS * 5; i++) {
        b.v[i] = 0.5 * i;
        b.w[i] = 1.0 / (i + 1);
    }
    for (int i = 0; i < ROWS; i++) {
        b.noise[i] = (uint64_t)i * 7;
    }
    const uint64_t n = s->problem->n;
    const ds_query image = {.struct_size = sizeof(image), .op = DS_QUERY_VALUE};
    const ds_query values = {
        .struct_size = sizeof(values), .op = DS_QUERY_VALUE, .channel = wrong == 3 ? 9 : 1};
    const ds_query transposed = {
        .struct_size = sizeof(transposed), .op = DS_QUERY_JTV, .channel = 1, .v = b.v, .v_stride = 5};
    ds_query curved = transposed;
    curved.op = DS_QUERY_HV;
    curved.w = b.w;
    curved.w_stride = 5;
    const ds_query *query[DS_MAX_QUERIES + 1] = {&image, &values, wrong == 2 ? NULL : &transposed, &curved};
    const ds_reply reply[] = {
        {.struct_size = sizeof(ds_reply), .out = b.image, .stride = 8, .bytes = 6, .kind = b.kind[0]},
        {.struct_size = sizeof(ds_reply), .out = b.values, .stride = 40, .bytes = 40, .kind = b.kind[1]},
        {.struct_size = sizeof(ds_reply), .out = b.product, .stride = 40, .bytes = n * 8, .kind = b.kind[2]},
        {.struct_size = sizeof(ds_reply), .out = b.product, .stride = 40, .bytes = n * 8, .kind = b.kind[3]}};
    const ds_reply *replies[DS_MAX_QUERIES + 1] = {&reply[0], &reply[1], &reply[2], &reply[3]};
    const ds_rows rows = {.struct_size = sizeof(rows),
                          .want = DS_WANT_GRAD,
                          .count = ROWS,
                          .n = n,
                          .stride = 4,
                          .x = b.x,
                          .queries = wrong == 1 ? DS_MAX_QUERIES + 1 : 4,
                          .query = query};
    const ds_results results = {.struct_size = sizeof(results),
                                .stride = 4,
                                .loss = b.loss,
                                .grad = b.grad,
                                .outcome = b.outcome,
                                .grad_kind = b.grad_kind,
                                .bad_step = b.bad_step,
                                .cost_steps = b.cost,
                                .reply = replies};
    const ds_label label = {.struct_size = sizeof(label), .tag = tag, .group = 5, .noise = b.noise};
    uint64_t done = 77;
    fold_number(s, (uint64_t)(int64_t)o->evaluate(o, &rows, &label, &results, &done));
    fold_number(s, done);
    fold(s, &b, sizeof(b));
}

/* Requests only losses, many at once. */
static ds_status request_losses(search *s, const ds_objective *o)
{
    double *x = malloc(MANY * s->problem->n * sizeof(double)), *loss = malloc(MANY * sizeof(double));
    if (x == NULL || loss == NULL) {
        free(x);
        free(loss);
        return DS_E_NOMEM;
    }
    fill(s, x, MANY);
    const uint64_t n = s->problem->n;
    const ds_rows rows = {.struct_size = sizeof(rows), .count = MANY, .n = n, .stride = n, .x = x};
    const ds_results results = {.struct_size = sizeof(results), .loss = loss};
    const ds_label label = {.struct_size = sizeof(label), .tag = "many"};
    uint64_t done = 77;
    fold_number(s, (uint64_t)(int64_t)o->evaluate(o, &rows, &label, &results, &done));
    fold_number(s, done);
    fold(s, loss, MANY * sizeof(double));
    free(x);
    free(loss);
    return DS_OK;
}

static ds_status run(void *self, const ds_objective *o)
{
    search *s = self;
    double x[4], loss;
    const ds_objective_channels *channels = o->get_extension(o, DS_EXT_OBJECTIVE_CHANNELS);
    if (channels == NULL || s->problem->n > 4) {
        return DS_E_UNSUPPORTED;
    }
    look_at_channels(s, channels);
    fold_number(s, o->get_extension(o, "org.example.unknown/1") == NULL);
    fold_number(s, o->get_extension(o, DS_EXT_OBJECTIVE_CHANNELS) == (const void *)channels);
    fold_number(s, s->host->should_stop(s->host) + s->host->seed);
    ask(s, o, "asked", 0);
    for (int wrong = 1; wrong <= 3; wrong++) {
        ask(s, o, "wrong", wrong);
    }
    ds_status st = request_losses(s, o);
    ask(s, o, "a tag of more than fifteen bytes", 0);
    ask(s, o, "part", 0);
    fill(s, x, 1);
    const uint64_t n = s->problem->n;
    const ds_rows rows = {.struct_size = sizeof(rows), .count = 1, .n = n, .stride = n, .x = x};
    const ds_results results = {.struct_size = sizeof(results), .loss = &loss};
    const ds_label label = {.struct_size = sizeof(label), .tag = "digest", .group = s->digest};
    uint64_t done;
    o->evaluate(o, &rows, &label, &results, &done);
    s->host->error(s->host, DS_E_NUMERIC, "it has asked enough");
    return st != DS_OK ? st : DS_E_NUMERIC;
}

static const ds_desc desc = {
    .struct_size = sizeof(ds_desc),
    .kind = DS_KIND_OPTIMIZER,
    .id = "digester",
    .version = "1",
    .license = "Apache-2.0",
    .summary = "An optimizer that uses every field of a request.",
    .description = "",
    .citation = "",
};

static const ds_optimizer_vtable vtable = {
    .struct_size = sizeof(ds_optimizer_vtable),
    .create = create,
    .destroy = destroy,
    .run = run,
};

DS_DEFINE_OPTIMIZER(desc, vtable)
