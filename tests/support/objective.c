/* SPDX-License-Identifier: Apache-2.0 */
/* objective.c - analytic objectives for optimizer tests, see objective.h. */
#include "objective.h"

#include <diffsim/ext/residuals.h>
#include <diffsim/helper/random.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct fake_objective {
    const fake_problem *problem;
    ds_problem described;
    ds_objective objective;
    ds_residual_objective residuals;
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

static void record(fake_objective *f, const ds_batch *batch, const double *x, double loss, uint32_t outcome)
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
    row->want = batch->want;
    row->outcome = outcome;
    row->group = batch->group;
    snprintf(row->tag, sizeof(row->tag), "%s", batch->tag ? batch->tag : "");
    r->best = loss < r->best ? loss : r->best;
}

static ds_status evaluate(const ds_objective *objective, ds_batch *batch)
{
    fake_objective *f = objective->ctx;
    const fake_problem *p = f->problem;
    fake_result *r = f->result;
    r->calls++;
    batch->done = 0;
    if (f->stopped) {
        return DS_STOPPED;
    }
    int gradient = (batch->want & DS_WANT_GRAD) != 0;
    if (batch->count == 0 || (gradient && (p->no_gradient || !batch->grad))) {
        r->violations++;
        return DS_E_ARG;
    }
    for (size_t i = 0; i < batch->count; i++) {
        if (!inside(p, batch->x + i * p->n)) {
            r->violations++;
            return DS_E_ARG;
        }
    }
    for (size_t i = 0; i < batch->count && !f->stopped; i++) {
        const double *x = batch->x + i * p->n;
        double *g = gradient ? batch->grad + i * p->n : NULL;
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
        batch->loss[i] = loss;
        if (batch->outcome) {
            batch->outcome[i] = outcome;
        }
        record(f, batch, x, loss, outcome);
        batch->done = i + 1;
        f->stopped = r->evaluations >= p->budget || loss <= p->target;
    }
    return f->stopped ? DS_STOPPED : DS_OK;
}

static ds_status evaluate_residuals(const ds_objective *objective, ds_residual_batch *batch)
{
    fake_objective *f = objective->ctx;
    const fake_problem *p = f->problem;
    size_t in = batch->kind == DS_RESIDUALS_JV ? p->n : p->m,
           out = batch->kind == DS_RESIDUALS_JTV ? p->n : p->m;
    ds_batch plain = {.struct_size = sizeof(plain),
                      .count = batch->count,
                      .x = batch->x,
                      .loss = batch->loss,
                      .outcome = batch->outcome,
                      .tag = batch->tag,
                      .group = batch->group};
    double *r = calloc(p->m * (p->n + 1), sizeof(double)), *j = r + p->m;
    if (batch->kind < DS_RESIDUALS_VALUE || batch->kind > DS_RESIDUALS_JTV || !batch->out ||
        (!batch->v && batch->kind != DS_RESIDUALS_VALUE)) {
        f->result->violations++;
        free(r);
        return DS_E_ARG;
    }
    ds_status status = evaluate(objective, &plain);
    batch->done = plain.done;
    for (size_t k = 0; k < plain.done; k++) {
        const double *v = batch->v + k * in;
        double *to = batch->out + k * out;
        p->squares(p->ctx, p->n, batch->x + k * p->n, r, j);
        for (size_t i = 0; i < out; i++) {
            to[i] = batch->kind == DS_RESIDUALS_VALUE ? r[i] : 0;
        }
        for (size_t i = 0; batch->kind != DS_RESIDUALS_VALUE && i < p->m * p->n; i++) {
            size_t row = i / p->n, column = i % p->n;
            to[batch->kind == DS_RESIDUALS_JV ? row : column] +=
                j[i] * v[batch->kind == DS_RESIDUALS_JV ? column : row];
        }
        for (size_t i = 0; i < out && batch->loss[k] > 1e308; i++) {
            to[i] = 0;
        }
    }
    free(r);
    return status;
}

static const void *objective_extension(const ds_objective *objective, const char *id)
{
    fake_objective *f = objective->ctx;
    f->residuals = (ds_residual_objective){sizeof(f->residuals), 0, f->problem->m, evaluate_residuals};
    return f->problem->m > 0 && strcmp(id, DS_EXT_RESIDUALS) == 0 ? &f->residuals : NULL;
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
    f.objective = (ds_objective){sizeof(ds_objective), 0, &f, evaluate, objective_extension};
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
