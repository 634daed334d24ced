/* SPDX-License-Identifier: Apache-2.0 */
/* objective_residuals.c - residuals and products with their Jacobian. Each is an evaluation like any other: counted,
 * recorded, answered again on replay. Residuals are kept beside their row; a product is computed again, and the loss
 * that comes with it has to be the recorded one. */
#include "config.h"

#include "run/objective_residuals.h"

#include <math.h>
#include <stdio.h>

#include "run/objective_rl.h"

static ds_status refuse(const ds_client *c, const char *text)
{
    return ds_journal_refuse(c->journal, "evaluate()", text);
}

static ds_status check(const ds_client *c, const ds_residual_batch *b)
{
    if (b == NULL || !DS_HAS(ds_residual_batch, b, done)) {
        return refuse(c, "the batch of residuals is missing or its struct_size is too small");
    }
    if (ds_run_episodes_open(c) > 0) {
        return refuse(c, "episodes are open");
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
    const ds_batch points = {
        .struct_size = sizeof(points), .count = b->count, .x = b->x, .loss = b->loss, .outcome = b->outcome};
    char text[DS_BATCH_TEXT];
    return ds_batch_allowed(&points, &c->problem, text) ? DS_OK : refuse(c, text);
}

static ds_status evaluate(const ds_objective *objective, ds_residual_batch *b)
{
    ds_client *c = objective->ctx;
    if (ds_journal_over(c->journal)) {
        if (b != NULL && DS_HAS(ds_residual_batch, b, done)) {
            b->done = 0;
        }
        return DS_STOPPED;
    }
    ds_status st = check(c, b);
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

const ds_residual_objective *ds_run_residuals_of(ds_client *c)
{
    uint64_t m = c->journal->env->residuals;
    c->residuals =
        (ds_residual_objective){.struct_size = sizeof(ds_residual_objective), .m = m, .evaluate = evaluate};
    return m > 0 ? &c->residuals : NULL;
}
