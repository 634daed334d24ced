/* SPDX-License-Identifier: Apache-2.0 */
/* objective.c - analytic objectives for optimizer tests, see objective.h. */
#include "objective.h"

#include "functions.h"
#include "plugin/channels.h"
#include "test.h"

#include <diffsim/ext/channel.h>
#include <diffsim/helper/random.h>

typedef struct fake_objective {
    const fake_problem *problem;
    ds_problem described;
    ds_objective objective;
    ds_channels channels; /* with residuals: channels for the point and the residuals */
    ds_objective_channels table;
    fake_result *result;
    uint64_t room;
    int stopped;
} fake_objective;

/* Whether evaluation number `i` of the run fails; the same for every seed. */
static int happens(uint64_t i, const char *what, double rate)
{
    ds_random r = ds_random_open(0, what, i);
    return ds_random_uniform(&r) < rate;
}

static int inside(const fake_problem *p, const double *x)
{
    for (size_t k = 0; k < p->n; k++) {
        if (!(x[k] >= p->lower && x[k] <= p->upper)) {
            return 0;
        }
    }
    return 1;
}

static void record(fake_objective *f, uint32_t want, const ds_label *label, const double *x, double loss,
                   uint32_t outcome)
{
    fake_result *r = f->result;
    size_t n = f->problem->n;
    if (r->evaluations == f->room) {
        f->room = f->room ? 2 * f->room : 256;
        r->x = realloc(r->x, f->room * n * sizeof(double));
        r->rows = realloc(r->rows, f->room * sizeof(fake_row));
    }
    memcpy(r->x + r->evaluations * n, x, n * sizeof(double));
    fake_row *row = r->rows + r->evaluations++;
    row->loss = loss;
    row->want = want;
    row->outcome = outcome;
    row->group = label ? label->group : 0;
    snprintf(row->tag, sizeof(row->tag), "%s", label && label->tag ? label->tag : "");
    r->best = loss < r->best ? loss : r->best;
}

/* ---- channels ---- */

enum { POINT, RESIDUAL, CHANNELS };

/* The residuals are not the first channel, so that plugins must search for their role. */
static void offer_channels(fake_objective *f)
{
    const fake_problem *p = f->problem;
    ds_channel_entry *entry = calloc(CHANNELS, sizeof(*entry));
    ds_error e;
    for (uint32_t i = 0; i < CHANNELS; i++) {
        int residual = i == RESIDUAL;
        entry[i].c = (ds_channel){.struct_size = sizeof(ds_channel),
                                  .role = residual ? DS_CHANNEL_RESIDUAL : DS_CHANNEL_STATE,
                                  .type = DS_TYPE_F64,
                                  .ops = DS_CAN(DS_QUERY_VALUE),
                                  .ndim = 1,
                                  .shape = {residual ? p->m : p->n},
                                  .lower = -INFINITY,
                                  .upper = INFINITY};
        entry[i].c.ops |= residual ? DS_CAN(DS_QUERY_JV) | DS_CAN(DS_QUERY_JTV) : 0;
        snprintf(entry[i].name, sizeof(entry[i].name), "%s", residual ? "residual" : "point");
    }
    if (ds_channels_receive("test", entry, CHANNELS, &f->channels, &e) != 0) {
        fprintf(stderr, "%s\n", e.text);
        abort();
    }
    f->table = (ds_objective_channels){
        .struct_size = sizeof(f->table), .count = f->channels.count, .channel = f->channels.list};
}

/* Do the queries keep the contract? */
static int sound_queries(const fake_objective *f, const ds_rows *b, const ds_results *results)
{
    ds_query_layout queries = {.count = (uint32_t)b->queries};
    uint32_t place[DS_MAX_QUERIES];
    char text[DS_QUERY_TEXT];
    if (b->queries == 0) {
        return 1;
    }
    if (b->queries > DS_MAX_QUERIES || !b->query || !results->reply) {
        return 0;
    }
    for (uint64_t i = 0; i < b->queries; i++) {
        const ds_query *q = b->query[i];
        queries.query[i] = (ds_placed_query){.op = q->op, .channel = q->channel, .weighted = q->w != NULL};
    }
    if (ds_query_layout_make(&queries, &f->channels, f->problem->n, place, text) != 0 ||
        (queries.product && (b->want & DS_WANT_GRAD) != 0)) {
        return 0;
    }
    for (uint64_t i = 0; i < b->queries; i++) {
        const ds_query *q = b->query[i];
        const ds_reply *r = results->reply[i];
        const ds_placed_query *a = &queries.query[place[i]];
        if (q->struct_size < DS_QUERY_SIZE_1_0 || r->struct_size < DS_REPLY_SIZE_1_0 || !r->out ||
            r->bytes != a->bytes || r->stride < r->bytes || q->w || (q->v != NULL) != (a->v_count > 0) ||
            (q->v && q->v_stride < a->v_count)) {
            return 0;
        }
        for (uint64_t k = 0; k < b->count * a->v_count; k++) {
            if (!isfinite(q->v[k / a->v_count * q->v_stride + k % a->v_count])) {
                return 0;
            }
        }
    }
    return 1;
}

/* Values of the residuals, or one of their products, at x. */
static void answer_residuals(const fake_problem *p, const ds_query *q, uint64_t row, const double *x,
                             double *to)
{
    double *r = calloc(p->m * (p->n + 1), sizeof(double)), *j = r + p->m;
    const size_t out = q->op == DS_QUERY_JTV ? p->n : p->m;
    p->squares(p->ctx, p->n, x, r, j);
    for (size_t i = 0; i < out; i++) {
        to[i] = q->op == DS_QUERY_VALUE ? r[i] : 0;
    }
    for (size_t i = 0; q->op != DS_QUERY_VALUE && i < p->m * p->n; i++) {
        size_t line = i / p->n, column = i % p->n;
        to[q->op == DS_QUERY_JV ? line : column] +=
            j[i] * q->v[row * q->v_stride + (q->op == DS_QUERY_JV ? column : line)];
    }
    free(r);
}

static void answer_queries(const fake_problem *p, const ds_rows *b, const ds_results *results, uint64_t row,
                           uint32_t outcome)
{
    for (uint64_t i = 0; i < b->queries; i++) {
        const ds_query *q = b->query[i];
        const ds_reply *r = results->reply[i];
        double *to = (double *)r->out + row * (r->stride / sizeof(double));
        const double *x = b->x + row * b->stride;
        if (r->kind) {
            r->kind[row] = q->op == DS_QUERY_VALUE ? DS_GRAD_NONE : DS_GRAD_FORWARD;
        }
        if (outcome > (q->op == DS_QUERY_VALUE ? DS_EVAL_BAD_GRAD : DS_EVAL_OK)) {
            memset(to, 0, r->bytes);
        } else if (q->channel == POINT) {
            memcpy(to, x, r->bytes);
        } else {
            answer_residuals(p, q, row, x, to);
        }
    }
}

/* ---- rows ---- */

/* Evaluates row i, the next evaluation of the run. */
static void answer_row(fake_objective *f, const ds_rows *rows, const ds_label *label,
                       const ds_results *results, uint64_t i)
{
    const fake_problem *p = f->problem;
    fake_result *r = f->result;
    const double *x = rows->x + i * rows->stride;
    double *g = (rows->want & DS_WANT_GRAD) != 0 ? results->grad + i * results->stride : NULL;
    double loss = p->f(p->ctx, p->n, x, g);
    uint32_t outcome = DS_EVAL_OK;
    if (happens(r->evaluations, "failure", p->failure_rate)) {
        loss = INFINITY;
        outcome = DS_EVAL_DIVERGED;
    } else if (g && happens(r->evaluations, "gradient", p->bad_gradient_rate)) {
        outcome = DS_EVAL_BAD_GRAD;
    }
    if (g && outcome != DS_EVAL_OK) {
        memset(g, 0, p->n * sizeof(double));
    }
    results->loss[i] = loss;
    if (results->outcome) {
        results->outcome[i] = outcome;
    }
    if (results->grad_kind) {
        results->grad_kind[i] = g && outcome == DS_EVAL_OK ? DS_GRAD_ADJOINT : DS_GRAD_NONE;
    }
    if (results->bad_step) {
        results->bad_step[i] = -1;
    }
    if (results->cost_steps) {
        results->cost_steps[i] = 1;
    }
    answer_queries(p, rows, results, i, outcome);
    record(f, rows->want, label, x, loss, outcome);
    f->stopped = r->evaluations >= p->budget || loss <= p->target;
}

static ds_status evaluate(const ds_objective *objective, const ds_rows *rows, const ds_label *label,
                          const ds_results *results, uint64_t *done)
{
    fake_objective *f = objective->ctx;
    const fake_problem *p = f->problem;
    fake_result *r = f->result;
    r->calls++;
    *done = 0;
    if (f->stopped) {
        return DS_STOPPED;
    }
    const int graded = (rows->want & DS_WANT_GRAD) != 0;
    int sound = rows->count > 0 && rows->n == p->n && rows->stride >= p->n && !rows->noise_key &&
                !(graded && (p->no_gradient || !results->grad || results->stride < p->n)) &&
                sound_queries(f, rows, results);
    for (size_t i = 0; sound && i < rows->count; i++) {
        sound = inside(p, rows->x + i * rows->stride);
    }
    if (!sound) {
        r->violations++;
        return DS_E_ARG;
    }
    for (size_t i = 0; i < rows->count && !f->stopped; i++) {
        answer_row(f, rows, label, results, i);
        *done = i + 1;
    }
    return f->stopped ? DS_STOPPED : DS_OK;
}

static const void *objective_extension(const ds_objective *objective, const char *id)
{
    const fake_objective *f = objective->ctx;
    return f->channels.count > 0 && strcmp(id, DS_EXT_OBJECTIVE_CHANNELS) == 0 ? &f->table : NULL;
}

static void describe(fake_objective *f, double *bounds)
{
    const fake_problem *p = f->problem;
    for (size_t k = 0; k < p->n; k++) {
        bounds[k] = p->lower;
        bounds[p->n + k] = p->upper;
        bounds[2 * p->n + k] = 0.5 * (p->lower + p->upper);
    }
    f->described = (ds_problem){.struct_size = sizeof(ds_problem),
                                .has_gradient = !p->no_gradient,
                                .n = p->n,
                                .lower = bounds,
                                .upper = bounds + p->n,
                                .x0 = bounds + 2 * p->n,
                                .budget = p->budget,
                                .target = p->target,
                                .loss_floor = p->loss_floor};
}

/* "name=value name=value" as a list; `text` is cut into pieces. */
static void split(char *text, const char **list, size_t room)
{
    size_t count = 0;
    for (char *save, *t = strtok_r(text, " ", &save); t && count + 1 < room; t = strtok_r(NULL, " ", &save)) {
        list[count++] = t;
    }
    list[count] = NULL;
}

fake_result fake_run(const char *plugin, const char *parameters, const fake_problem *problem, uint64_t seed)
{
    fake_result result = {.best = INFINITY};
    fake_objective f = {.problem = problem, .result = &result};
    fake_host host;
    char name[256], text[1024];
    const char *settings[64];
    snprintf(name, sizeof(name), "optimizers/%s", plugin);
    snprintf(text, sizeof(text), "%s", parameters ? parameters : "");
    split(text, settings, 64);
    fake_host_open(&host, name, seed, settings);
    host.stop_after = problem->stop_after > 0 ? problem->stop_after + 1 : 0;
    double *bounds = calloc(3 * problem->n, sizeof(double));
    describe(&f, bounds);
    if (problem->m > 0) {
        offer_channels(&f);
    }
    f.objective = (ds_objective){.struct_size = sizeof(ds_objective),
                                 .ctx = &f,
                                 .evaluate = evaluate,
                                 .get_extension = objective_extension};
    const ds_optimizer_vtable *vtable = host.plugin->optimizer;
    void *self = NULL;
    result.create_status = vtable->create(&host.services.host, &f.described, &self);
    if (result.create_status == DS_OK) {
        result.status = vtable->run(self, &f.objective);
        vtable->destroy(self);
    }
    snprintf(result.error, sizeof(result.error), "%s", host.error);
    snprintf(result.log, sizeof(result.log), "%s", host.log);
    result.polls = host.polls;
    fake_host_close(&host);
    ds_channels_clear(&f.channels);
    free(bounds);
    return result;
}

void fake_free(fake_result *result)
{
    free(result->x);
    free(result->rows);
    memset(result, 0, sizeof(*result));
}

uint64_t fake_count(const fake_result *result, const char *tag)
{
    uint64_t count = 0;
    for (uint64_t i = 0; i < result->evaluations; i++) {
        count += strcmp(result->rows[i].tag, tag) == 0;
    }
    return count;
}

uint64_t fake_groups(const fake_result *result)
{
    uint64_t groups = 0;
    for (uint64_t i = 0; i < result->evaluations; i++) {
        groups = result->rows[i].group > groups ? result->rows[i].group : groups;
    }
    return groups;
}

double fake_best_after(const fake_result *result, uint64_t count)
{
    double best = INFINITY;
    for (uint64_t i = 0; i < count && i < result->evaluations; i++) {
        best = result->rows[i].loss < best ? result->rows[i].loss : best;
    }
    return best;
}

/* ---- cases that every optimizer must pass ---- */

fake_problem optimizer_box(size_t n, double lower, double upper, fake_function f, uint64_t budget)
{
    fake_problem p = {.n = n, .lower = lower, .upper = upper, .f = f, .budget = budget};
    p.target = p.loss_floor = -INFINITY;
    return p;
}

void optimizer_assert_sound(const fake_result *r, uint64_t budget)
{
    assert_int_equal(r->create_status, DS_OK);
    assert_int_equal(r->violations, 0);
    assert_int_equal(r->status, DS_STOPPED);
    assert_int_equal(r->evaluations, budget);
}

void optimizer_assert_same(const fake_result *a, const fake_result *b, size_t n)
{
    uint64_t count = a->evaluations < b->evaluations ? a->evaluations : b->evaluations;
    assert_true(count > 0);
    assert_memory_equal(a->x, b->x, count * n * sizeof(double));
    for (uint64_t i = 0; i < count; i++) {
        assert_string_equal(a->rows[i].tag, b->rows[i].tag);
        assert_int_equal(a->rows[i].group, b->rows[i].group);
    }
}

/* A constant. */
static double plateau(void *ctx, size_t n, const double *x, double *g)
{
    if (g) {
        memset(g, 0, n * sizeof(double));
    }
    return 3.0;
}

/* A sphere times 1e200: squares of losses and gradients overflow. */
static double huge(void *ctx, size_t n, const double *x, double *g)
{
    double f = sphere(ctx, n, x, g);
    for (size_t k = 0; g && k < n; k++) {
        g[k] *= 1e200;
    }
    return 1e200 * f;
}

/* Steps without slope, and a wrong gradient. */
static double lying_stairs(void *ctx, size_t n, const double *x, double *g)
{
    double f = 0.0;
    (void)ctx;
    for (size_t k = 0; k < n; k++) {
        f += floor(4.0 * fabs(x[k]));
        if (g) {
            g[k] = cos(37.0 * x[k]) * 1e3;
        }
    }
    return f;
}

static void run_cases(const char *plugin, const char *parameters, const fake_problem *p, uint64_t seed)
{
    fake_result r = fake_run(plugin, parameters, p, seed);
    optimizer_assert_sound(&r, p->budget);
    fake_free(&r);
}

void optimizer_stands(const char *plugin, const char *parameters, uint64_t budget, size_t least,
                      int uses_budget)
{
    fake_problem p = optimizer_box(least > 3 ? least : 3, -2, 3, ripples, budget);
    fake_result a = fake_run(plugin, parameters, &p, 7);
    fake_result b = fake_run(plugin, parameters, &p, 7);
    optimizer_assert_sound(&a, budget);
    optimizer_assert_sound(&b, budget);
    optimizer_assert_same(&a, &b, p.n);
    fake_free(&b);
    if (!uses_budget) {
        p.budget = budget / 2 + 1;
        b = fake_run(plugin, parameters, &p, 7);
        optimizer_assert_sound(&b, p.budget);
        optimizer_assert_same(&a, &b, p.n);
        fake_free(&b);
    }
    fake_free(&a);
    p.budget = budget;
    p.failure_rate = p.bad_gradient_rate = 0.2;
    a = fake_run(plugin, parameters, &p, 8);
    optimizer_assert_sound(&a, budget);
    assert_true(isfinite(a.best));
    fake_free(&a);
    p.failure_rate = 1.0;
    run_cases(plugin, parameters, &p, 9);
    p.failure_rate = p.bad_gradient_rate = 0.0;
    static const fake_function nasty[] = {plateau, huge, lying_stairs};
    for (int i = 0; i < 3; i++) {
        p.f = nasty[i];
        run_cases(plugin, parameters, &p, 10);
    }
    p.f = sphere;
    p.n = least;
    run_cases(plugin, parameters, &p, 11);
    p.lower = -1e308; /* a box wider than the largest number */
    p.upper = 1e308;
    p.f = plateau;
    run_cases(plugin, parameters, &p, 12);
    p = optimizer_box(least > 4 ? least : 4, -1, 1, ripples, 1000000);
    p.stop_after = 20;
    p.budget = 20000;
    a = fake_run(plugin, parameters, &p, 13);
    assert_int_equal(a.status, DS_STOPPED);
    assert_true(a.evaluations < 20000);
    fake_free(&a);
}
