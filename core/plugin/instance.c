/* SPDX-License-Identifier: Apache-2.0 */
/* instance.c - evaluations of an environment instance, one or many at once, and their answers made safe. */
#include "config.h"

#include "plugin/instance.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"

static void set_message(ds_answer *a, const char *text)
{
    size_t n = strnlen(text, sizeof a->message - 1);
    memcpy(a->message, text, n);
    a->message[n] = '\0';
    ds_text_clean(a->message); /* it may have been cut inside a character */
}

void ds_answer_fail(ds_answer *a, uint32_t outcome, const char *text)
{
    a->outcome = outcome;
    a->loss = INFINITY;
    a->grad_kind = DS_GRAD_NONE;
    set_message(a, text);
}

void ds_answer_fail_status(const ds_env *env, ds_answer *a, ds_status st)
{
    const char *why = env->services.last_error;
    ds_answer_fail(a, st > 0 ? DS_EVAL_STOPPED : DS_EVAL_ERROR, why[0] != '\0' ? why : ds_status_text(st));
}

/* What one evaluation was told. The plugin gets it in a struct that it can write to: answers are looked at
 * through this copy alone. */
typedef struct told {
    const double *x;
    double *grad; /* NULL where none is wanted */
    uint64_t noise_key, asks;
    ds_ask *const *ask;
    uint32_t want;
} told;

/* The field of the question that the plugin has changed, or NULL. */
static const char *rewritten(const ds_env *env, const told *t, const ds_eval *io)
{
    return io->grad != t->grad              ? "grad"
           : io->n != env->info.n           ? "n"
           : io->want != t->want            ? "want"
           : io->x != t->x                  ? "x"
           : io->noise_key != t->noise_key  ? "noise_key"
           : io->asks != t->asks            ? "asks"
           : io->ask != t->ask              ? "ask"
           : io->struct_size != sizeof(*io) ? "struct_size"
                                            : NULL;
}

static void validate_gradient(const ds_env *env, const told *t, const ds_eval *io, ds_answer *a)
{
    for (uint64_t i = 0; i < env->info.n; i++) {
        if (!isfinite(t->grad[i])) {
            a->outcome = DS_EVAL_BAD_GRAD;
            snprintf(a->message, sizeof a->message, "component %llu of the gradient is not finite",
                     (unsigned long long)i);
            return;
        }
    }
    if (io->grad_kind == DS_GRAD_NONE) {
        a->outcome = DS_EVAL_BAD_GRAD;
        set_message(a, "evaluate() did not say which kind of gradient it returned");
    } else if (io->grad_kind > DS_GRAD_SMOOTHED) {
        a->grad_kind = DS_GRAD_SMOOTHED; /* of a later version: the least that it can be */
    }
}

/* Without success there is no gradient. */
static void drop_gradient(const ds_env *env, const told *t, ds_answer *a)
{
    if (t->grad != NULL && a->outcome != DS_EVAL_OK) {
        memset(t->grad, 0, env->info.n * sizeof *t->grad);
        a->grad_kind = DS_GRAD_NONE;
    }
}

/* What evaluate() answered, made safe. */
static void validate(const ds_env *env, const told *t, const ds_eval *io, ds_answer *a)
{
    const char *field = rewritten(env, t, io);
    a->loss = io->loss;
    a->outcome = io->outcome;
    a->grad_kind = (t->want & DS_WANT_GRAD) != 0 ? io->grad_kind : DS_GRAD_NONE;
    a->bad_step = io->bad_step;
    a->cost_steps = ds_cost_of(io->cost_steps);
    if (field != NULL) {
        char text[sizeof a->message];
        snprintf(text, sizeof text, "evaluate() changed %s in ds_eval, which belongs to the host", field);
        ds_answer_fail(a, DS_EVAL_INVALID, text);
    } else if (io->outcome >= DS_EVAL_OUTCOMES) {
        ds_answer_fail(a, DS_EVAL_ERROR, "evaluate() set an outcome that this host does not know");
    } else if (io->outcome > DS_EVAL_INFEASIBLE) {
        ds_answer_fail(a, DS_EVAL_INVALID, "evaluate() set an outcome that only the host sets");
    } else if (io->outcome >= DS_EVAL_DIVERGED) {
        ds_answer_fail(a, io->outcome, env->services.last_error);
    } else if (!isfinite(io->loss)) {
        ds_answer_fail(a, DS_EVAL_INVALID, "evaluate() returned a loss that is not finite as a success");
    } else if (io->outcome == DS_EVAL_BAD_GRAD) {
        set_message(a, env->services.last_error);
    } else if (t->grad != NULL) {
        validate_gradient(env, t, io, a);
    }
    drop_gradient(env, t, a);
}

/* Field by field: a copy of the whole would wait for its parts to be written. */
static void question(ds_eval *io, const ds_env *env, const told *t)
{
    io->struct_size = sizeof *io;
    io->want = t->want;
    io->n = env->info.n;
    io->x = t->x;
    io->noise_key = t->noise_key;
    io->grad = t->grad;
    io->loss = NAN;
    io->outcome = DS_EVAL_OK;
    io->grad_kind = DS_GRAD_NONE;
    io->bad_step = -1;
    io->cost_steps = 0;
    io->asks = t->asks;
    io->ask = t->ask;
}

/* The episode with noise on the actions, its score and, where asked for, its baseline: `out` is filled. */
static ds_status evaluate_score(ds_env *env, const ds_inquiry *q, ds_eval *io)
{
    const uint64_t n = env->info.n;
    double *out = q->out;
    memset(out, 0xff, (n + 1) * sizeof *out); /* NaN: a score that is not filled is noticed */
    ds_score ask = {.struct_size = sizeof ask,
                    .flags = ds_score_baseline_asked(q->asks) ? DS_SCORE_BASELINE : 0,
                    .sigma = q->in[0],
                    .score = out,
                    .baseline = NAN};
    ds_status st = env->score.noise > 0 ? env->score_table.evaluate(env->self, io, &ask) : DS_E_UNSUPPORTED;
    out[n] = ask.baseline;
    return st;
}

/* A score that is not finite spoils the row, as does a baseline that is NaN; one that diverged
 * is INFINITY. */
static void check_score(const ds_env *env, const ds_inquiry *q, ds_answer *a)
{
    const uint64_t n = env->info.n;
    double *out = q->out;
    uint64_t finite = 0;
    while (finite < n && isfinite(out[finite])) {
        finite++;
    }
    if (a->outcome <= DS_EVAL_BAD_GRAD && finite < n) {
        ds_answer_fail(a, DS_EVAL_INVALID, "evaluate() of " DS_EXT_SCORE " gave a score that is not finite");
    } else if (a->outcome <= DS_EVAL_BAD_GRAD && ds_score_baseline_asked(q->asks) && isnan(out[n])) {
        ds_answer_fail(a, DS_EVAL_INVALID, "evaluate() of " DS_EXT_SCORE " gave no baseline");
    }
    if (a->outcome > DS_EVAL_BAD_GRAD) {
        memset(out, 0, (n + 1) * sizeof *out);
    } else if (!ds_score_baseline_asked(q->asks)) {
        out[n] = 0;
    }
}

ds_status ds_env_inquire(ds_env *env, const double *x, uint64_t noise_key, uint32_t want, double *grad,
                         const ds_inquiry *inquiry, ds_answer *answer)
{
    ds_ask ask[DS_MAX_ASKS], *list[DS_MAX_ASKS];
    ds_eval io;
    told t = {x, (want & DS_WANT_GRAD) != 0 ? grad : NULL, noise_key, 0, NULL, want};
    const int scored = inquiry != NULL && ds_score_asked(inquiry->asks);
    if (inquiry != NULL && !scored) {
        ds_inquiry_open(inquiry, ask, list);
        t.asks = inquiry->asks->count;
        t.ask = list;
    }
    question(&io, env, &t);
    double start = ds_clock_s();
    answer->message[0] = '\0';
    answer->product_kind = DS_GRAD_NONE;
    env->services.last_error[0] = '\0';
    ds_status st = scored ? evaluate_score(env, inquiry, &io) : env->vt->evaluate(env->self, &io);
    if (st == DS_OK) {
        validate(env, &t, &io, answer);
    } else {
        answer->bad_step = -1;
        answer->cost_steps = ds_cost_of(io.cost_steps);
        ds_answer_fail_status(env, answer, st);
        drop_gradient(env, &t, answer);
    }
    if (scored) {
        check_score(env, inquiry, answer);
        drop_gradient(env, &t, answer);
    } else if (inquiry != NULL) {
        ds_inquiry_check(&env->channels, inquiry, ask, answer);
        answer->grad_kind = (want & DS_WANT_GRAD) != 0 ? answer->grad_kind : answer->product_kind;
        drop_gradient(env, &t, answer); /* an answer that is not finite spoils the row */
    }
    answer->wall_s = ds_clock_s() - start;
    return st > 0 ? DS_STOPPED : DS_OK;
}

ds_status ds_env_evaluate(ds_env *env, const double *x, uint64_t noise_key, uint32_t want, double *grad,
                          ds_answer *answer)
{
    return ds_env_inquire(env, x, noise_key, want, grad, NULL, answer);
}

void ds_env_evaluate_many(ds_env *env, uint64_t count, const double *x, uint64_t stride,
                          const uint64_t *noise_key, uint32_t want, double *grad, ds_answer *const *answer)
{
    ds_eval io[DS_MAX_ROWS], *list[DS_MAX_ROWS];
    told t[DS_MAX_ROWS];
    double start = ds_clock_s();
    for (uint64_t k = 0; k < count; k++) {
        t[k] = (told){x + k * stride, NULL, noise_key[k], 0, NULL, want};
        t[k].grad = (want & DS_WANT_GRAD) != 0 && grad != NULL ? grad + k * stride : NULL;
        question(&io[k], env, &t[k]);
        list[k] = &io[k];
    }
    ds_status st = env->batch->evaluate(env->self, count, list);
    double each = (ds_clock_s() - start) / (double)count;
    for (uint64_t k = 0; k < count; k++) {
        if (st != DS_OK || io[k].outcome != DS_EVAL_OK) {
            /* Alone once more: then the message that the plugin gives belongs to this point. */
            ds_env_evaluate(env, x + k * stride, noise_key[k], want, t[k].grad, answer[k]);
            continue;
        }
        answer[k]->message[0] = '\0';
        answer[k]->product_kind = DS_GRAD_NONE;
        validate(env, &t[k], &io[k], answer[k]);
        answer[k]->wall_s = each;
    }
}

const void *ds_env_extension(const ds_env *env, const char *id)
{
    return env->vt->get_extension != NULL ? env->vt->get_extension(env->self, id) : NULL;
}

const ds_scene *ds_env_scene(const ds_env *env)
{
    return ds_env_extension(env, DS_EXT_SCENE);
}
