/* SPDX-License-Identifier: Apache-2.0 */
/* check_objective.c - the watching objective: points, what is asked about their channels, and files, which
 * are looked at and thrown away. */
#include "config.h"

#include "harness/check_objective.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/sized.h"
#include "base/text.h"
#include "harness/check_asks.h"
#include "harness/check_episodes.h"
#include "store/file_name.h"

/* Calls after DS_STOPPED that are still taken for finishing. */
enum { AFTER_FINE = 100 };

/* Is the batch what the contract says? Records the first thing that is not. */
static int sound_batch(ds_check_watch *w, const ds_batch *b)
{
    const ds_problem *p = &w->problem.problem;
    if (b->count < 1 || b->x == NULL || b->loss == NULL) {
        ds_check_breach(w, "a batch without points or without a place for losses");
        ds_check_advise(
            w, "ds_batch batch = {.struct_size = sizeof batch, .count = ..., .x = ..., .loss = ...};");
        return 0;
    }
    if ((b->want & ~(uint32_t)DS_WANT_GRAD) != 0 || ((b->want & DS_WANT_GRAD) != 0 && b->grad == NULL)) {
        ds_check_breach(w, "a batch with want = %u and grad %s", b->want, b->grad == NULL ? "NULL" : "set");
        ds_check_advise(w, "want is 0, or DS_WANT_GRAD with count x n numbers in grad");
        return 0;
    }
    if ((b->want & DS_WANT_GRAD) != 0 && !p->has_gradient) {
        ds_check_breach(w, "a gradient is wanted of a problem that has none");
        ds_check_advise(w, "look at problem->has_gradient; an optimizer that cannot do without lists "
                           "DS_HAS_GRADIENT in `needs`");
        return 0;
    }
    if (b->tag != NULL && strnlen(b->tag, DS_MAX_TAG + 1) > DS_MAX_TAG) {
        ds_check_breach(w, "the tag of a batch is longer than %u bytes", DS_MAX_TAG);
    }
    if (!ds_check_asks_sound(w, b)) {
        return 0;
    }
    for (uint64_t r = 0; r < b->count; r++) {
        for (uint64_t i = 0; i < p->n; i++) {
            double v = b->x[r * p->n + i];
            if (!(v >= p->lower[i] && v <= p->upper[i])) {
                ds_check_breach(w, "evaluation %llu: variable %llu is %s, outside of its bounds %s..%s",
                                (unsigned long long)(w->s->used + r), (unsigned long long)i, DS_TEXT_OF(v),
                                DS_TEXT_OF(p->lower[i]), DS_TEXT_OF(p->upper[i]));
                ds_check_advise(
                    w, isnan(v) ? "a NaN comes from INFINITY - INFINITY or 0/0: failed points have the loss "
                                  "+INFINITY; leave them out of sums and differences"
                                : "bring every point back into the box (reflect, or clip with fmin and fmax) "
                                  "before it is evaluated");
                return 0;
            }
        }
    }
    return 1;
}

static void answer_row(ds_check_watch *w, ds_batch *b, uint64_t r)
{
    ds_check_search *s = w->s;
    uint64_t n = s->n, hash = ds_check_hash_row(b->x + r * n, n, b->want);
    double *g = (b->want & DS_WANT_GRAD) != 0 ? b->grad + r * n : NULL;
    double f = ds_check_problem_value(s->function, n, b->x + r * n, g);
    double chance = (double)(ds_check_hash_row(b->x + r * n, n, 77) >> 12) * 0x1p-52;
    uint32_t outcome = DS_EVAL_OK;
    int zero = s->failure == DS_CHECK_FAIL_ZERO;

    if (s->failure == DS_CHECK_FAIL_ALL || (s->failure == DS_CHECK_FAIL_SOME && chance < 0.3)) {
        f = INFINITY;
        outcome = chance < 0.2 ? DS_EVAL_DIVERGED : DS_EVAL_CRASHED;
        zero = 1;
    } else if (s->failure == DS_CHECK_FAIL_HUGE) {
        f = chance < 0.5 ? 1e300 : -1e300;
    } else if (s->failure == DS_CHECK_FAIL_GRADIENT && (g != NULL || w->asks.product) && chance < 0.3) {
        outcome = DS_EVAL_BAD_GRAD;
        zero = 1;
    }
    for (uint64_t i = 0; g != NULL && zero && i < n; i++) {
        g[i] = 0;
    }
    b->loss[r] = f;
    if (b->outcome != NULL) {
        b->outcome[r] = outcome;
    }
    if (b->cost_steps != NULL) {
        b->cost_steps[r] = 1;
    }
    ds_check_asks_answer(w, b, r, outcome);
    s->trace[s->used++] = hash;
    s->wanted_gradient += g != NULL;
    s->best = fmin(s->best, f);
}

static ds_status evaluate(const ds_objective *objective, ds_batch *theirs)
{
    ds_check_watch *w = objective->ctx;
    ds_check_search *s = w->s;
    ds_batch own, *b = &own;
    ds_error why;
    uint64_t limit = s->stop_after > 0 ? s->stop_after : s->budget;
    int readable = DS_SIZED_READ(b, theirs, DS_BATCH_SIZE_1_0, "", "the batch", &why) == 0;

    if (readable) {
        theirs->done = b->done = 0;
    }
    if (w->stopped) {
        return ds_check_asked_after(w);
    }
    if (!readable) {
        ds_check_breach(w, "%s", why.text);
        ds_check_advise(w, "ds_batch batch = {.struct_size = sizeof batch, ...};");
    }
    if (!readable || !sound_batch(w, b)) {
        longjmp(w->cut, 2);
    }
    if (ds_check_time_is_up(w)) {
        return ds_check_watch_stop(w);
    }
    while (b->done < b->count) {
        if (s->used >= limit) {
            return ds_check_watch_stop(w);
        }
        answer_row(w, b, b->done++);
        theirs->done = b->done;
    }
    return DS_OK;
}

static void fold(uint64_t *hash, const void *data, uint64_t bytes)
{
    const unsigned char *b = data;
    for (uint64_t i = 0; i < bytes; i++) {
        *hash = ds_random_mix(*hash ^ b[i]);
    }
}

static ds_status save(const ds_objective *objective, const char *name, const void *data, uint64_t bytes)
{
    ds_check_watch *w = objective->ctx;
    char text[DS_FILES_TEXT];
    if (ds_file_allowed(name, data, bytes, text) != DS_OK) {
        ds_check_breach(w, "save(): %s", text);
        return DS_E_ARG;
    }
    w->s->saved++;
    fold(&w->s->saved_hash, name, strlen(name) + 1);
    fold(&w->s->saved_hash, data, bytes);
    return DS_OK;
}

static const void *extension(const ds_objective *objective, const char *id)
{
    ds_check_watch *w = objective->ctx;
    if (strcmp(id, DS_EXT_FILES) == 0) {
        w->files = (ds_objective_files){.struct_size = sizeof w->files,
                                        .env = ds_check_function_name(w->s->function),
                                        .env_version = "1",
                                        .env_settings = "",
                                        .save = save};
        return &w->files;
    }
    if (strcmp(id, DS_EXT_EPISODES) == 0) {
        return ds_check_episodes_of(w);
    }
    if (strcmp(id, DS_EXT_EPISODE_GRADIENTS) == 0) {
        return ds_check_episode_gradients_of(w);
    }
    return w->channels.count > 0 && strcmp(id, DS_EXT_OBJECTIVE_CHANNELS) == 0 ? &w->table : NULL;
}

/* run(), cut off where it breaks the contract or does not end. 0 = cut off: the instance is in no state
 * to be used. */
static int run_watched(ds_check_watch *w, void *self)
{
    if (setjmp(w->cut) != 0) {
        return 0;
    }
    w->s->status = w->c->module->opt.run(self, &w->objective);
    return 1;
}

/* The user's wish to stop, from another thread while the optimizer computes. */
static void *press_stop(void *arg)
{
    ds_check_watch *w = arg;
    const struct timespec pause = {0, 5000000};
    while (atomic_load(&w->timer_off) == 0) {
        if (ds_check_now() - w->begin >= w->s->stop_at) {
            atomic_store(&w->h.stop, 1);
            break;
        }
        nanosleep(&pause, NULL);
    }
    return NULL;
}

static void judge_end(ds_check_watch *w)
{
    const ds_check_search *s = w->s;
    if (s->asked_after > AFTER_FINE) {
        ds_check_breach(w, "it asked %llu%s more times after it was told DS_STOPPED",
                        (unsigned long long)s->asked_after,
                        s->asked_after >= DS_CHECK_AFTER_CUT ? " and" : "");
        ds_check_advise(w, "leave run() with DS_STOPPED when evaluate() returns it");
    } else if (w->stopped && s->status != DS_STOPPED && s->status >= 0) {
        ds_check_breach(w, "run() returned %s after the objective had said DS_STOPPED",
                        ds_status_name(s->status));
        ds_check_advise(w, "leave run() with DS_STOPPED when evaluate() returns it");
    } else if (!w->stopped && atomic_load(&w->h.stop) == 0 && s->status == DS_STOPPED) {
        ds_check_breach(w, "run() returned DS_STOPPED, and nobody had stopped it");
        ds_check_advise(w, "return DS_OK where the search is finished by itself");
    }
    if (s->status < 0) {
        ds_check_said_why(w->c, &w->h, "run()", s->status);
    }
}

int ds_check_search_run(ds_check *c, const char *name, ds_check_search *s)
{
    ds_check_watch *w = calloc(1, sizeof *w);
    void *self = NULL;
    pthread_t timer;
    int whole = 1;

    s->created = s->broken = 0;
    s->used = s->asked_after = s->wanted_gradient = s->wanted_residuals = s->wanted_products = 0;
    s->terminated = s->truncated = 0;
    s->wanted_episodes = 0;
    s->saved = s->saved_hash = 0;
    s->best = INFINITY;
    s->told_stop = s->wall = 0;
    s->trace = calloc(s->budget + 1, sizeof *s->trace);
    if (w == NULL || s->trace == NULL ||
        !ds_check_host_open(c, s->settings != NULL ? s->settings : &c->options->settings, s->seed,
                            s->threads > 0 ? s->threads : 1, 0, &w->h)) {
        free(w);
        return 0;
    }
    ds_check_problem_make(&w->problem, s->n, s->has_gradient, s->budget);
    w->objective = (ds_objective){
        .struct_size = sizeof w->objective, .ctx = w, .evaluate = evaluate, .get_extension = extension};
    w->c = c;
    w->name = name;
    w->s = s;
    if (!ds_check_asks_offer(w)) {
        ds_check_host_close(&w->h);
        free(w);
        return 0;
    }
    w->begin = ds_check_now();
    s->status = c->module->opt.create(w->h.host, &w->problem.problem, &self);
    if (s->status == DS_OK && self != NULL) {
        s->created = 1;
        w->begin = ds_check_now();
        const double worked = ds_check_worked();
        int timed = s->stop_at > 0 && pthread_create(&timer, NULL, press_stop, w) == 0;
        whole = run_watched(w, self);
        s->wall = ds_check_now() - w->begin;
        s->worked = ds_check_worked() - worked;
        if (timed) {
            atomic_store(&w->timer_off, 1);
            pthread_join(timer, NULL);
        }
        if (whole || s->asked_after > 0) {
            judge_end(w);
        }
        if (whole) {
            c->module->opt.destroy(self);
        }
    } else if (s->status == DS_OK) {
        ds_check_fail(c, "%s: create() returned DS_OK without an instance", name);
    } else {
        ds_check_said_why(c, &w->h, "create()", s->status);
    }
    snprintf(s->message, sizeof s->message, "%.255s", w->h.error_text);
    if (whole) { /* an instance that was cut off still points to its host */
        ds_check_host_close(&w->h);
        ds_channels_clear(&w->channels);
        free(w->episodes);
        free(w);
    }
    return 1;
}
