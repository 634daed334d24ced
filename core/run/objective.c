/* SPDX-License-Identifier: Apache-2.0 */
/* objective.c - how the optimizer of a run evaluates: the contract of a batch, which the journal then answers. */
#include "config.h"

#include "run/objective.h"

#include <string.h>

#include "run/objective_residuals.h"
#include "run/objective_rl.h"

static ds_status evaluate(const ds_objective *objective, ds_batch *b)
{
    ds_client *c = objective->ctx;
    char text[DS_BATCH_TEXT];
    if (ds_journal_over(c->journal)) {
        if (b != NULL && DS_HAS(ds_batch, b, done)) {
            b->done = 0;
        }
        return DS_STOPPED;
    }
    if (ds_run_episodes_open(c) > 0) {
        return ds_journal_refuse(c->journal, "evaluate()", "episodes are open");
    }
    if (!ds_batch_allowed(b, &c->problem, text)) {
        return ds_journal_refuse(c->journal, "evaluate()", text);
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

static const void *extension(const ds_objective *objective, const char *id)
{
    ds_client *c = objective->ctx;
    return strcmp(id, DS_EXT_EPISODES) == 0    ? (const void *)ds_run_episodes_of(c)
           : strcmp(id, DS_EXT_RESIDUALS) == 0 ? ds_run_residuals_of(c)
                                               : NULL;
}

void ds_objective_init(ds_client *c)
{
    c->objective = (ds_objective){
        .struct_size = sizeof(ds_objective), .ctx = c, .evaluate = evaluate, .get_extension = extension};
}
