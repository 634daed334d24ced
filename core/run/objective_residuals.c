/* SPDX-License-Identifier: Apache-2.0 */
/* objective_residuals.c - residuals and products with their Jacobian for the optimizer of a run. Each is an
 * evaluation like any other: counted, recorded, answered again on replay. Residuals are kept beside their
 * row; a product is computed again, and the loss that comes with it has to be the recorded one. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run/run_internal.h"

/* ---- the contract of a batch ---- */

static uint64_t inputs(const ds_run *run, const ds_residual_batch *b)
{
    return ds_residual_input(b->kind, run->problem.n, run->env->residuals);
}

static uint64_t outputs(const ds_run *run, const ds_residual_batch *b)
{
    return ds_residual_output(b->kind, run->problem.n, run->env->residuals);
}

static ds_status check_residuals(ds_run *run, const ds_residual_batch *b)
{
    if (b == NULL || !DS_HAS(ds_residual_batch, b, done)) {
        return ds_objective_refuse(run, "the batch of residuals is missing or its struct_size is too small");
    }
    if (ds_run_episodes_open(run) > 0) {
        return ds_objective_refuse(run, "episodes are open");
    }
    if (b->kind < DS_RESIDUALS_VALUE || b->kind > DS_RESIDUALS_JTV) {
        return ds_objective_refuse(run, "the kind of a batch of residuals is none of DS_RESIDUALS_*");
    }
    if (b->count == 0 || b->x == NULL || b->loss == NULL || b->out == NULL ||
        (b->kind != DS_RESIDUALS_VALUE && b->v == NULL)) {
        return ds_objective_refuse(run, "of a batch of residuals count is 0, or x, v, out or loss is NULL");
    }
    for (uint64_t i = 0; i < b->count * inputs(run, b); i++) {
        if (!isfinite(b->v[i])) {
            char text[120];
            snprintf(text, sizeof(text), "component %llu of v is not finite", (unsigned long long)i);
            return ds_objective_refuse(run, text);
        }
    }
    return DS_OK;
}

/* ---- one row ---- */

ds_extra ds_residuals_extra(const ds_run *run, uint64_t i, const double *values)
{
    const ds_residual_batch *b = run->residuals;
    ds_extra extra = {.kind = b->kind, .asked_count = inputs(run, b)};
    extra.asked = extra.asked_count > 0 ? b->v + i * extra.asked_count : NULL;
    if (b->kind == DS_RESIDUALS_VALUE) { /* products are too large to keep */
        extra.answered = values;
        extra.answered_count = run->env->residuals;
    }
    return extra;
}

void ds_residuals_take(ds_run *run, uint64_t i, const double *values)
{
    const ds_residual_batch *b = run->residuals;
    uint64_t count = outputs(run, b);
    memcpy(b->out + i * count, values, count * sizeof(double));
}

/* ---- replay ---- */

/* Products of recorded rows that are computed again. */
typedef struct repetition {
    ds_run *run;
    const double *loss; /* recorded */
    double *out;
    uint64_t count, first;
    int differs;
} repetition;

static int repeat_row(void *ctx, uint64_t i, const ds_answer *a, const double *values)
{
    repetition *r = ctx;
    memcpy(r->out + i * r->count, values, r->count * sizeof(double));
    if (a->outcome != DS_EVAL_OK || !(fabs(a->loss - r->loss[i]) <= 1e-9 * fabs(r->loss[i]))) {
        ds_fail(&r->run->error, DS_EXIT_PLUGIN,
                "%s: evaluation %llu now gives the loss %.17g (%s), recorded %.17g: the environment is not "
                "deterministic, or not the version that made this run; nothing was changed",
                ds_store_path(r->run->store), (unsigned long long)(r->first + i), a->loss,
                ds_outcome_name(a->outcome), r->loss[i]);
        r->differs = 1;
    }
    return r->differs;
}

/* Computes the products of `rows` rows of the batch again. */
static int repeat_products(ds_run *run, uint64_t from, uint64_t rows, const double *loss)
{
    const ds_residual_batch *b = run->residuals;
    uint64_t n = run->problem.n, in = inputs(run, b), out = outputs(run, b);
    repetition r = {.run = run,
                    .loss = loss,
                    .out = b->out + from * out,
                    .count = out,
                    .first = run->statistics.count + 1};
    int rc = ds_pool_residuals(run->pool, b->kind, rows, b->x + from * n, b->v + from * in, r.first,
                               repeat_row, &r, &run->error);
    if (rc > 0 || r.differs) {
        run->end = DS_END_ERROR;
        return DS_POOL_STOPPED;
    }
    return rc;
}

/* Compares a recorded row with the one that is asked for; nonzero = the run ends with an error. */
static int compare(ds_run *run, uint64_t row, const ds_row *stored)
{
    ds_extra extra = ds_residuals_extra(run, row, NULL);
    extra.answered = NULL;
    extra.answered_count = run->residuals->kind == DS_RESIDUALS_VALUE ? run->env->residuals : 0;
    return ds_replay_compare_extra(run->replay, stored, &extra, &run->error);
}

/* Answers rows from the store while there are any. Sets of rows whose products have to be computed are
 * computed in one go, so that all workers are used. */
int ds_residuals_replay(ds_run *run, uint64_t rows)
{
    ds_batch *b = run->batch;
    uint64_t n = run->problem.n, out = outputs(run, run->residuals), most = rows - b->done;
    ds_answer *answer = malloc(most * sizeof(*answer));
    double *loss = malloc(most * sizeof(*loss));
    int rc = answer != NULL && loss != NULL ? 0 : DS_POOL_STOPPED;
    if (rc != 0) {
        ds_fail(&run->error, DS_EXIT_MEMORY, "out of memory");
        run->end = DS_END_ERROR;
    }
    while (rc == 0 && b->done < rows && run->replay != NULL && ds_replay_left(run->replay) > 0) {
        uint64_t from = b->done, count = 0, good = 0;
        int ended = 0;
        while (rc == 0 && !ended && from + count < rows && ds_replay_left(run->replay) > 0) {
            ds_row row;
            double *to = run->residuals->out + (from + count) * out;
            if (ds_run_stopped() != 0) {
                rc = DS_POOL_STOPPED;
                break;
            }
            if (ds_replay_next(run->replay, b->x + (from + count) * n, 0, &row, &run->error) != 0 ||
                compare(run, from + count, &row) != 0) {
                run->end = DS_END_ERROR;
                rc = DS_POOL_STOPPED;
                break;
            }
            answer[count] = row.answer;
            loss[count] = row.answer.loss;
            memset(to, 0, out * sizeof(double));
            if (row.extra.answered != NULL) {
                memcpy(to, row.extra.answered, out * sizeof(double));
            }
            ended = row.answer.outcome != DS_EVAL_OK; /* a failure is not tried again */
            good += !ended;
            count++;
        }
        if (rc == 0 && good > 0 && run->residuals->kind != DS_RESIDUALS_VALUE) {
            rc = repeat_products(run, from, good, loss);
        }
        for (uint64_t k = 0; rc == 0 && k < count; k++) {
            const double *values = run->residuals->out + (from + k) * out;
            rc = ds_objective_deliver(run, from + k, &answer[k], values, 1) != 0 ? DS_POOL_STOPPED : 0;
        }
    }
    free(answer);
    free(loss);
    return rc;
}

/* ---- evaluate ---- */

static ds_status evaluate_residuals(const ds_objective *objective, ds_residual_batch *b)
{
    ds_run *run = objective->ctx;
    if (run->end == DS_END_NONE) {
        ds_status st = check_residuals(run, b);
        if (st != DS_OK) {
            return st;
        }
        run->residuals = b;
    }
    int usable = b != NULL && DS_HAS(ds_residual_batch, b, done);
    ds_batch plain = {.struct_size = sizeof(plain),
                      .count = usable ? b->count : 0,
                      .x = usable ? b->x : NULL,
                      .loss = usable ? b->loss : NULL,
                      .outcome = usable ? b->outcome : NULL,
                      .tag = usable ? b->tag : NULL,
                      .group = usable ? b->group : 0};
    ds_status st = objective->evaluate(objective, &plain);
    run->residuals = NULL;
    if (usable) {
        b->done = plain.done;
    }
    return st;
}

const void *ds_objective_extension(const ds_objective *objective, const char *id)
{
    ds_run *run = objective->ctx;
    if (strcmp(id, DS_EXT_EPISODES) == 0) {
        return ds_run_episodes_of(run);
    }
    if (strcmp(id, DS_EXT_RESIDUALS) != 0 || run->env->residuals == 0) {
        return NULL;
    }
    run->residual_objective = (ds_residual_objective){.struct_size = sizeof(ds_residual_objective),
                                                      .m = run->env->residuals,
                                                      .evaluate = evaluate_residuals};
    return &run->residual_objective;
}
