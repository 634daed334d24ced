/* SPDX-License-Identifier: Apache-2.0 */
/* objective.c - how the optimizer of a run asks for evaluations and for residuals: the contract of a batch, which the
 * journal then answers. */
#include "config.h"

#include "run/objective.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "run/objective_rl.h"

static ds_status refuse(const ds_client *c, const char *text)
{
    return ds_journal_refuse(c->journal, "evaluate()", text);
}

static ds_status check_batch(const ds_client *c, const ds_batch *b)
{
    char text[DS_BATCH_TEXT];
    return ds_run_episodes_open(c) > 0               ? refuse(c, "episodes are open")
           : !ds_batch_allowed(b, &c->problem, text) ? refuse(c, text)
                                                     : DS_OK;
}

static ds_status evaluate(const ds_objective *objective, ds_batch *b)
{
    ds_client *c = objective->ctx;
    if (ds_journal_over(c->journal)) {
        if (b != NULL && DS_HAS(ds_batch, b, done)) {
            b->done = 0;
        }
        return DS_STOPPED;
    }
    ds_status st = check_batch(c, b);
    if (st != DS_OK) {
        return st;
    }
    const ds_question q = {.count = b->count,
                           .x = b->x,
                           .want = b->want,
                           .tag = b->tag,
                           .group = b->group,
                           .loss = b->loss,
                           .outcome = b->outcome,
                           .values = b->grad};
    return ds_journal_ask(c->journal, &q, &b->done);
}

/* ---- residuals ---- */

static ds_status check_residuals(const ds_client *c, const ds_residual_batch *b)
{
    if (b == NULL || !DS_HAS(ds_residual_batch, b, done)) {
        return refuse(c, "the batch of residuals is missing or its struct_size is too small");
    }
    if (b->kind < DS_RESIDUALS_VALUE || b->kind > DS_RESIDUALS_JTV) {
        return refuse(c, "the kind of a batch of residuals is none of DS_RESIDUALS_*");
    }
    if (b->count == 0 || b->x == NULL || b->loss == NULL || b->out == NULL ||
        (b->kind != DS_RESIDUALS_VALUE && b->v == NULL)) {
        return refuse(c, "of a batch of residuals count is 0, or x, v, out or loss is NULL");
    }
    uint64_t in = ds_residual_input(b->kind, c->problem.n, c->journal->env->residuals);
    for (uint64_t i = 0; i < b->count * in; i++) {
        if (!isfinite(b->v[i])) {
            char text[120];
            snprintf(text, sizeof(text), "component %llu of v is not finite", (unsigned long long)i);
            return refuse(c, text);
        }
    }
    const ds_batch points = {.struct_size = sizeof(points), .count = b->count, .x = b->x, .loss = b->loss};
    return check_batch(c, &points);
}

static ds_status evaluate_residuals(const ds_objective *objective, ds_residual_batch *b)
{
    ds_client *c = objective->ctx;
    if (ds_journal_over(c->journal)) {
        if (b != NULL && DS_HAS(ds_residual_batch, b, done)) {
            b->done = 0;
        }
        return DS_STOPPED;
    }
    ds_status st = check_residuals(c, b);
    if (st != DS_OK) {
        return st;
    }
    const ds_question q = {.count = b->count,
                           .x = b->x,
                           .residuals = b->kind,
                           .v = b->v,
                           .tag = b->tag,
                           .group = b->group,
                           .loss = b->loss,
                           .outcome = b->outcome,
                           .values = b->out};
    return ds_journal_ask(c->journal, &q, &b->done);
}

static const ds_residual_objective *residuals_of(ds_client *c)
{
    uint64_t m = c->journal->env->residuals;
    c->residuals = (ds_residual_objective){
        .struct_size = sizeof(ds_residual_objective), .m = m, .evaluate = evaluate_residuals};
    return m > 0 ? &c->residuals : NULL;
}

static const void *extension(const ds_objective *objective, const char *id)
{
    ds_client *c = objective->ctx;
    return strcmp(id, DS_EXT_EPISODES) == 0    ? (const void *)ds_run_episodes_of(c)
           : strcmp(id, DS_EXT_RESIDUALS) == 0 ? residuals_of(c)
                                               : NULL;
}

void ds_objective_init(ds_client *c)
{
    c->objective = (ds_objective){
        .struct_size = sizeof(ds_objective), .ctx = c, .evaluate = evaluate, .get_extension = extension};
}
