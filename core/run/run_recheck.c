/* SPDX-License-Identifier: Apache-2.0 */
/* run_recheck.c - before a resumed run goes on, its best evaluation is repeated: a rebuilt environment with
 * the same version would otherwise mix two problems in one record. The repetition is neither counted nor
 * recorded. */
#include "config.h"

#include "run/session.h"

#include <math.h>
#include <string.h>

#include "base/log.h"

/* What other processors may make of the same program, relative to the losses of the run. An environment may
 * say that it is less exact. */
static const double TOLERANCE = 1e-6;

typedef struct choice {
    uint64_t id; /* of the lowest loss; 0 = no loss yet */
    double best, first;
} choice;

static int choose(void *ctx, uint64_t id, double loss, uint64_t cost_steps, double wall_s)
{
    choice *c = ctx;
    (void)cost_steps;
    (void)wall_s;
    if (isfinite(loss) && (c->id == 0 || loss < c->best)) {
        c->first = c->id == 0 ? loss : c->first;
        c->best = loss;
        c->id = id;
    }
    return 0;
}

/* The answer of now. */
typedef struct repetition {
    const ds_session *session;
    const ds_row *row;
    double scale;      /* of losses */
    double difference; /* relative, of loss and gradient */
    ds_answer answer;
} repetition;

/* Differences of gradients are measured like those of losses: across the box. */
static double gradient_difference(const repetition *r, const double *grad)
{
    double size = r->scale, difference = 0;
    for (uint64_t i = 0; i < r->row->n; i++) {
        size = fmax(size, fabs(r->row->grad[i]) * r->session->journal.width[i]);
        difference = fmax(difference, fabs(r->row->grad[i] - grad[i]) * r->session->journal.width[i]);
    }
    return difference > 0 ? difference / size : 0;
}

static int compare(void *ctx, uint64_t i, const ds_answer *answer, const double *grad, const void *out)
{
    repetition *r = ctx;
    const ds_row *row = r->row;
    (void)i, (void)out;
    r->answer = *answer;
    r->difference = INFINITY;
    if (!isfinite(answer->loss)) {
        return 0;
    }
    r->scale = fmax(r->scale, fabs(answer->loss));
    double d = fabs(answer->loss - row->answer.loss);
    r->difference = d > 0 ? d / r->scale : 0;
    int both = row->grad != NULL && grad != NULL && row->answer.outcome == DS_EVAL_OK;
    if (both && answer->outcome == DS_EVAL_OK) {
        r->difference = fmax(r->difference, gradient_difference(r, grad));
    } else if (both) {
        r->difference = INFINITY;
    }
    return 0;
}

/* Asks what was asked then: a loss without its gradient may be rounded in another way. */
static int query(const ds_session *session, const ds_row *row, repetition *r, ds_error *e)
{
    ds_query_layout queries;
    uint64_t noise;
    ds_pool_request q = {.count = 1, .x = row->x, .first = row->id, .noise = &noise};
    if (ds_asked_read(&row->extra, session->env->channels, row->n, &queries, &q.in, &noise) != 0) {
        return ds_fail(
            e, DS_EXIT_PLUGIN,
            "%s: evaluation %llu asks for channels that %s does not have any more: it is not what it "
            "was when this run was made; nothing was changed",
            session->folder, (unsigned long long)row->id, session->env_module->id);
    }
    q.want = row->grad != NULL ? DS_WANT_GRAD : 0;
    q.queries = queries.count > 0 ? &queries : NULL;
    return ds_pool_execute(session->pool, &q, compare, r, e);
}

static int judge(const repetition *r, ds_error *e)
{
    const ds_session *session = r->session;
    const char *id = session->env_module->id;
    double own = session->env->info.tolerance, allowed = fmax(TOLERANCE, own);
    char now[120];
    if (!(r->difference > own)) {
        return 0;
    }
    if (r->difference <= allowed) {
        ds_log(DS_LOG_WARNING, NULL,
               "evaluation %llu of the record comes out differently in the last digits (by %.1e relative): "
               "another machine or compiler; so will the new ones",
               (unsigned long long)r->row->id, r->difference);
        return 0;
    }
    if (ds_journal_worker_lost(&r->answer)) {
        return ds_journal_not_repeated(session->folder, r->row->id, &r->answer, e);
    }
    if (!isfinite(r->answer.loss)) {
        snprintf(now, sizeof(now), "fails now (%s)", ds_outcome_name(r->answer.outcome));
    } else if (fabs(r->answer.loss - r->row->answer.loss) > allowed * r->scale) {
        snprintf(now, sizeof(now), "has the loss %.10g now", r->answer.loss);
    } else {
        snprintf(now, sizeof(now), "has another gradient now");
    }
    return ds_fail(
        e, DS_EXIT_PLUGIN,
        "%s: evaluation %llu, with the recorded loss %.10g, %s: %s is not what it was when this run "
        "was made; give back the old plugin, begin a new run with --out, or go on all the same with "
        "--verify false; nothing was changed",
        session->folder, (unsigned long long)r->row->id, r->row->answer.loss, now, id);
}

int ds_run_recheck(const ds_session *session, ds_error *e)
{
    choice c = {0, INFINITY, 0};
    ds_cursor *cursor = NULL;
    ds_row row;
    int rc = ds_store_scan(session->journal.store, choose, &c, e);
    if (rc != 0 || c.id == 0) {
        return rc;
    }
    rc = ds_cursor_open(session->journal.store, c.id, &cursor, e);
    if (rc == 0 && ds_cursor_next(cursor, &row, e) != 1) {
        rc = e->status != 0 ? e->status
                            : ds_fail(e, DS_EXIT_IO, "%s: damaged", ds_store_path(session->journal.store));
    }
    if (rc == 0) {
        repetition r = {.session = session, .row = &row, .scale = fmax(fabs(c.best), fabs(c.first))};
        rc = query(session, &row, &r, e);
        if (rc == 0 && ds_journal_worker_lost(&r.answer)) { /* which may have been for want of memory */
            rc = query(session, &row, &r, e);
        }
        rc = rc != 0 ? rc : judge(&r, e);
    }
    ds_cursor_close(cursor);
    if (rc == DS_POOL_STOPPED) {
        ds_log(DS_LOG_INFO, NULL,
               "stopped by a signal before anything new was evaluated: nothing was changed");
        rc = ds_session_signal_status(session);
    }
    return rc;
}
