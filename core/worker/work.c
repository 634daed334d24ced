/* SPDX-License-Identifier: Apache-2.0 */
/* work.c - a worker process takes tickets from the ring, evaluates their rows on copies between guard pages,
 * and writes the answers. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "scene/scene_write.h"
#include "worker/duty.h"
#include "worker/life.h"

enum {
    CHUNK_MAX = 16,        /* tickets taken at once, when evaluations are cheap */
    GAP = DS_DUTY_GAP,     /* numbers between two of them */
    CHEAP_NS = 20000,      /* work that is worth taking at once */
    SLEEP_NS = 1000000000, /* a sleeping worker looks up now and then */
    PATIENCE_S = 10        /* for the host to kill it */
};

/* ---- stepwise control: an instance for each lane; the worker's own serves the first ---- */

static int prepare_lane(ds_duty *w, ds_episode *ep, ds_error *e)
{
    int taken = 0, rc = 0;
    if (w->actions == NULL) {
        w->actions = malloc(w->share->at.n * sizeof(double));
        w->obs = malloc(w->env->rl_info.n_obs * sizeof(double));
    }
    if (w->actions == NULL || w->obs == NULL) {
        return ds_no_memory(e);
    }
    for (size_t i = 0; i < DS_MAX_LANES; i++) {
        taken |= w->lane[i].env == w->env;
    }
    if (ep->env == NULL && !taken) {
        ep->env = w->env;
    } else if (ep->env == NULL && (rc = ds_duty_make_env(w, &ep->env, e)) == 0) {
        ep->env->services.stop = &w->share->head->stop;
    }
    return rc;
}

/* Makes the step in a slot. */
static void step(ds_duty *w, ds_slot *slot)
{
    const ds_rl_info *info = &w->env->rl_info;
    ds_episode *ep = &w->lane[(slot->ask.episode - 1) % DS_MAX_LANES];
    double *head = ds_slot_extra(w->share, slot);
    uint64_t number = (uint64_t)head[DS_SLOT_STEP];
    ds_episode_answer out;
    ds_error e = {0, ""};
    if (w->env->rl == NULL || number > info->horizon || prepare_lane(w, ep, &e) != 0) {
        slot->answer = (ds_answer){.loss = INFINITY, .outcome = DS_EVAL_ERROR, .bad_step = -1};
        snprintf(slot->answer.message, sizeof(slot->answer.message), "%.199s", e.text);
        return;
    }
    memcpy(w->actions, ds_slot_x(slot), number * info->n_act * sizeof(double));
    ds_episode_advance(ep, slot->ask.noise_key, number, w->actions, w->obs, &out);
    ds_life_after("step()");
    if (out.answer.outcome == DS_EVAL_STOPPED && atomic_load(&w->share->head->stop) == 0) {
        out.answer.outcome = DS_EVAL_INVALID;
        strcpy(out.answer.message, "step() returned DS_STOPPED though nobody asked to stop");
    }
    slot->answer = out.answer;
    head[DS_SLOT_REWARD] = out.reward;
    head[DS_SLOT_ENDED] = out.ended;
    if (out.answer.outcome == DS_EVAL_OK) {
        memcpy(head + DS_SLOT_STEP_HEAD, w->obs, info->n_obs * sizeof(double));
    }
}

/* Makes the step backwards in a slot. */
static void step_back(ds_duty *w, ds_slot *slot)
{
    const ds_rl_info *info = &w->env->rl_info;
    ds_episode *ep = &w->lane[(slot->ask.episode - 1) % DS_MAX_LANES];
    double *head = ds_slot_extra(w->share, slot);
    ds_error e = {0, ""};
    int lost = 0;
    if (w->env->rl_gradient == NULL || prepare_lane(w, ep, &e) != 0) {
        slot->answer = (ds_answer){.loss = INFINITY, .outcome = DS_EVAL_ERROR, .bad_step = -1};
        snprintf(slot->answer.message, sizeof(slot->answer.message), "%.199s", e.text);
        return;
    }
    const ds_episode_back b = {.key = slot->ask.noise_key,
                               .taken = (uint64_t)head[DS_SLOT_ENDED],
                               .step = (uint64_t)head[DS_SLOT_STEP],
                               .reward_bar = head[DS_SLOT_REWARD],
                               .obs_bar = w->obs,
                               .action_bar = w->actions};
    memcpy(w->obs, head + DS_SLOT_STEP_HEAD, info->n_obs * sizeof(double));
    ds_episode_go_back(ep, &b, &lost, &slot->answer);
    ds_life_after("back()");
    if (slot->answer.outcome == DS_EVAL_STOPPED && atomic_load(&w->share->head->stop) == 0) {
        slot->answer.outcome = DS_EVAL_INVALID;
        strcpy(slot->answer.message, "back() returned DS_STOPPED though nobody asked to stop");
    }
    memcpy(ds_slot_grad(w->share, slot), w->actions, info->n_act * sizeof(double));
    head[DS_SLOT_ENDED] = lost ? DS_SLOT_LOST : DS_SLOT_BACK;
}

void ds_work_end(ds_duty *w)
{
    for (size_t i = 0; i < DS_MAX_LANES; i++) {
        if (w->lane[i].env != w->env) {
            ds_env_close(w->lane[i].env);
        }
    }
    free(w->actions);
    free(w->obs);
}

/* ---- work ---- */

static void refuse(ds_answer *a, const char *text)
{
    a->loss = INFINITY;
    a->outcome = DS_EVAL_INVALID;
    a->grad_kind = DS_GRAD_NONE;
    snprintf(a->message, sizeof(a->message), "%s", text);
}

/* The frames and metrics of the evaluation just made go to the scene file. An empty file means
 * that there are none, one that begins with DS_SCENE_REFUSED has the exit status and the reason
 * why they could not be written. */
static void write_scene(ds_duty *w, const ds_answer *a, uint32_t keep)
{
    const ds_scene *vt = ds_env_scene(w->env);
    uint64_t room[DS_TRACE_FRAMES], count;
    ds_error e = {0, ""};
    char *block;
    size_t size;
    if (ds_duty_empty(DS_WORKER_SCENE) != 0 || vt == NULL || a->outcome == DS_EVAL_STOPPED) {
        return;
    }
    const uint64_t *frames = ds_scene_frames(vt, w->env->self, keep, room, &count);
    w->env->services.last_error[0] = '\0';
    int rc = ds_scene_write(vt, w->env->self, frames, count, &block, &size, &e);
    rc = ds_services_explain(&w->env->services, rc, &e);
    rc = rc != 0 ? rc : ds_fd_write_all(DS_WORKER_SCENE, block, size, "scene", &e);
    free(block);
    if (rc != 0 && (ds_duty_empty(DS_WORKER_SCENE) != 0 ||
                    dprintf(DS_WORKER_SCENE, "%c%d %s", DS_SCENE_REFUSED, e.status, e.text) < 0)) {
        ds_log(DS_LOG_WARNING, w->env->module->id, "scene: %s", e.text);
    }
}

/* After a call of the plugin for a slot: has it kept to the rules? */
static void check(ds_duty *w, ds_slot *slot, const ds_inquiry *q)
{
    ds_answer *a = &slot->answer;
    ds_guard *g = w->guard;
    if (a->outcome == DS_EVAL_STOPPED && atomic_load(&w->share->head->stop) == 0) {
        refuse(a, "evaluate() returned DS_STOPPED though nobody asked to stop");
    }
    if (!ds_guard_intact(&g[DS_DUTY_GRAD]) || !ds_guard_intact(&g[DS_DUTY_X]) ||
        (q != NULL && (!ds_guard_intact(&g[DS_DUTY_OUT]) || !ds_guard_intact(&g[DS_DUTY_IN])))) {
        refuse(a, "evaluate() wrote before the beginning of one of its buffers");
    }
    if (memcmp(g[DS_DUTY_X].data, ds_slot_x(slot), w->share->at.n * sizeof(double)) != 0 ||
        (q != NULL && memcmp(q->in, ds_slot_in(w->share, slot), q->asks->in * sizeof(double)) != 0)) {
        refuse(a, q != NULL ? "evaluate() changed x, v or w" : "evaluate() changed x");
    }
}

/* The questions of a slot between the guard pages; the host alone writes there, yet a wild plugin might. */
static int take_questions(ds_duty *w, ds_slot *slot, ds_asks *asks, ds_inquiry *q)
{
    *asks = *ds_slot_asks(w->share, slot);
    if (asks->count > DS_MAX_ASKS || asks->in > w->share->at.in || asks->out > w->share->at.out) {
        return -1;
    }
    double *in = w->guard[DS_DUTY_IN].data + (w->guard[DS_DUTY_IN].n - asks->in);
    memcpy(in, ds_slot_in(w->share, slot), asks->in * sizeof(double));
    *q = (ds_inquiry){asks, in, w->guard[DS_DUTY_OUT].data + (w->guard[DS_DUTY_OUT].n - asks->out)};
    return 0;
}

/* Evaluates the row in a slot. The plugin works on copies between guard pages;
 * numbers lie directly before them. */
static void evaluate_slot(ds_duty *w, ds_slot *slot)
{
    uint64_t n = w->share->at.n;
    ds_answer *a = &slot->answer;
    const ds_slot_ask ask = slot->ask;
    const uint32_t want = ask.want;
    double *x = w->guard[DS_DUTY_X].data, *grad = w->guard[DS_DUTY_GRAD].data;
    ds_asks asks;
    ds_inquiry inquiry, *q = ask.asks != 0 ? &inquiry : NULL;
    if (atomic_load_explicit(&w->share->head->stop, memory_order_relaxed) != 0) {
        a->outcome = DS_EVAL_STOPPED;
        a->message[0] = '\0';
        return;
    }
    if (ask.episode != 0) {
        ((want & DS_WANT_GRAD) != 0 ? step_back : step)(w, slot);
        return;
    }
    memcpy(x, ds_slot_x(slot), n * sizeof(double));
    if (q != NULL && take_questions(w, slot, &asks, q) != 0) {
        refuse(a, "the shared memory was overwritten");
        return;
    }
    if ((want & DS_WANT_GRAD) != 0) {
        memset(grad, 0xff, n * sizeof(double)); /* NaN: a gradient that is not filled is noticed */
    }
    ds_env_inquire(w->env, x, ask.noise_key, want, grad, q, a);
    ds_life_after("evaluate()");
    check(w, slot, q);
    if ((want & DS_WANT_GRAD) != 0 && a->outcome == DS_EVAL_OK) {
        memcpy(ds_slot_grad(w->share, slot), grad, n * sizeof(double));
    } else if ((want & DS_WANT_GRAD) != 0) {
        memset(ds_slot_grad(w->share, slot), 0, n * sizeof(double));
    }
    if (q != NULL && a->outcome <= DS_EVAL_BAD_GRAD) {
        memcpy(ds_slot_out(w->share, slot), q->out, asks.out * sizeof(double));
    } else if (q != NULL) {
        memset(ds_slot_out(w->share, slot), 0, asks.out * sizeof(double));
    }
    if ((want & DS_WANT_SCENE) != 0) {
        write_scene(w, a, ask.keep);
        ds_life_after("the scene");
    }
    w->typical_ns += 0.1 * (1e9 * a->wall_s - w->typical_ns);
}

/* The rows of several slots in one call, apart and with marks behind each; all want the same. Where the
 * plugin has touched what is not its own, each gets its own try, as if there were no extension. */
static void evaluate_many(ds_duty *w, ds_slot *const *slot, uint64_t count)
{
    static const double mark = -1.25e-123;
    uint64_t n = w->share->at.n, stride = n + GAP, key[DS_MAX_ROWS];
    uint32_t want = slot[0]->ask.want;
    double *x = w->guard[DS_DUTY_XS].data + (w->many - count) * stride,
           *grad = w->guard[DS_DUTY_GRADS].data + (w->many - count) * stride;
    ds_answer *answer[DS_MAX_ROWS];
    for (uint64_t k = 0; k < count; k++) {
        memcpy(x + k * stride, ds_slot_x(slot[k]), n * sizeof(double));
        memset(grad + k * stride, 0xff, n * sizeof(double));
        for (uint64_t i = n; i < stride; i++) {
            x[k * stride + i] = grad[k * stride + i] = mark;
        }
        key[k] = slot[k]->ask.noise_key;
        answer[k] = &slot[k]->answer;
    }
    ds_env_evaluate_many(w->env, count, x, stride, key, want, grad, answer);
    ds_life_after("evaluate() of " DS_EXT_BATCH);
    int sound = ds_guard_intact(&w->guard[DS_DUTY_GRADS]) && ds_guard_intact(&w->guard[DS_DUTY_XS]);
    for (uint64_t k = 0; k < count; k++) {
        sound = sound && memcmp(x + k * stride, ds_slot_x(slot[k]), n * sizeof(double)) == 0 &&
                answer[k]->outcome != DS_EVAL_STOPPED;
        for (uint64_t i = n; i < stride; i++) {
            sound = sound && memcmp(&x[k * stride + i], &mark, sizeof mark) == 0 &&
                    memcmp(&grad[k * stride + i], &mark, sizeof mark) == 0;
        }
    }
    for (uint64_t k = 0; k < count; k++) {
        if (!sound) {
            evaluate_slot(w, slot[k]);
            continue;
        }
        if ((want & DS_WANT_GRAD) != 0) {
            memcpy(ds_slot_grad(w->share, slot[k]), grad + k * stride, n * sizeof(double));
        }
        w->typical_ns += 0.1 * (1e9 * answer[k]->wall_s - w->typical_ns);
    }
}

/* How many of the tickets `first` .. `first + there - 1` this worker takes at once. The host has divided
 * a table into equal calls for an environment that takes many rows in one; else several at once while they
 * are cheap, but never more than a fair share of what is there. */
static uint64_t count_to_take(const ds_duty *w, uint64_t first, uint64_t there)
{
    uint64_t count = ds_ring_slot(w->share, first)->ask.rows;
    if (count < 2) {
        const uint64_t fair = there / (2u * w->share->at.workers);
        const uint64_t cheap =
            w->typical_ns > CHEAP_NS / CHUNK_MAX ? (uint64_t)(CHEAP_NS / w->typical_ns) : CHUNK_MAX;
        count = fair < cheap ? fair : cheap;
    }
    count = count < there ? count : there;
    return count > 0 ? count : 1;
}

/* Takes the next tickets. 0 = there are none. */
static int take(ds_duty *w)
{
    ds_ring *s = w->share;
    for (;;) {
        /* In this order: `taken` grows towards what was posted. More than there are slots cannot be; the host
         * finds that out. */
        unsigned long long posted = atomic_load(&s->head->posted), taken = atomic_load(&s->head->taken);
        if (taken >= posted || posted - taken > s->at.capacity) {
            return 0;
        }
        const unsigned long long count = count_to_take(w, taken, posted - taken);
        if (atomic_compare_exchange_weak(&s->head->taken, &taken, taken + count)) {
            atomic_store_explicit(&w->mine->next, taken, memory_order_relaxed);
            atomic_store_explicit(&w->mine->end, taken + count, memory_order_release);
            return 1;
        }
    }
}

static int something_to_do(const void *ctx)
{
    const ds_ring *s = ctx;
    return atomic_load_explicit(&s->head->taken, memory_order_relaxed) <
               atomic_load_explicit(&s->head->posted, memory_order_acquire) ||
           atomic_load_explicit(&s->head->quit, memory_order_relaxed) != 0;
}

/* Waits until there is something to do. */
static void rest(ds_duty *w)
{
    ds_ring *s = w->share;
    uint32_t seen = atomic_load(&s->head->work);
    if (ds_spin_until(&w->spin, something_to_do, s)) {
        return;
    }
    atomic_fetch_add(&s->head->sleepers, 1);
    if (!something_to_do(s)) {
        ds_futex_wait(&s->head->work, seen, SLEEP_NS);
    }
    atomic_fetch_sub(&s->head->sleepers, 1);
    if (!something_to_do(s) && ds_life_orphaned()) {
        _exit(DS_EXIT_UNMET);
    }
}

/* Makes a posted slot ours. 0 = another worker has it already. */
static int seize(const ds_duty *w, ds_slot *slot)
{
    uint32_t state = DS_SLOT_POSTED;
    return atomic_compare_exchange_strong(&slot->state, &state, DS_SLOT_OF(DS_SLOT_RUNNING, w->start.index));
}

static void watch_from(ds_duty *w, uint64_t now)
{
    if (w->share->at.watched) {
        atomic_store_explicit(&w->mine->started, now, memory_order_release);
    }
}

static void release(ds_duty *w, ds_slot *slot)
{
    uint32_t running = DS_SLOT_OF(DS_SLOT_RUNNING, w->start.index);
    if (!atomic_compare_exchange_strong(&slot->state, &running, DS_SLOT_DONE)) {
        /* The host has decided that it took too long, and is about to kill us; or the memory was
         * overwritten. */
        for (int i = 0; i < PATIENCE_S && running == DS_SLOT_OF(DS_SLOT_KILLED, w->start.index); i++) {
            sleep(1);
        }
        _exit(DS_WORKER_SPOILT);
    }
    ds_ring_finished(w->share);
}

/* Works off the ticket at hand. */
static void do_ticket(ds_duty *w, uint64_t ticket)
{
    ds_slot *slot = ds_ring_slot(w->share, ticket);
    if (seize(w, slot)) {
        watch_from(w, w->share->at.watched ? ds_clock_ns() : 0);
        evaluate_slot(w, slot);
        watch_from(w, 0);
        release(w, slot);
    }
}

/* May this posted slot be evaluated together with others that want the same? Only the host writes there. */
static int sociable(const ds_slot *slot, uint32_t want)
{
    return slot->ask.asks == 0 && slot->ask.alone == 0 && slot->ask.want == want &&
           (want & DS_WANT_SCENE) == 0;
}

/* Works off tickets from the one at hand on, as many as go together; returns their number. */
static uint64_t do_tickets(ds_duty *w, uint64_t ticket, uint64_t end)
{
    ds_ring *s = w->share;
    ds_slot *slot[DS_MAX_ROWS];
    uint64_t count = 0, taken = 0, most = ds_ring_slot(s, ticket)->ask.rows;
    most = most < w->many ? most : w->many;
    if (most < 2 || end - ticket < 2 || atomic_load_explicit(&s->head->stop, memory_order_relaxed) != 0) {
        do_ticket(w, ticket);
        return 1;
    }
    atomic_store(&w->mine->many, 1); /* before the first is ours: our successor has to know */
    for (; ticket + taken < end && taken < most; taken++) {
        ds_slot *next = ds_ring_slot(s, ticket + taken);
        if (!seize(w, next)) {
            continue;
        }
        if (!sociable(next, count > 0 ? slot[0]->ask.want : next->ask.want)) {
            atomic_store(&next->state, DS_SLOT_POSTED); /* ours still: nobody else holds this ticket */
            break;
        }
        slot[count++] = next;
    }
    if (count > 0) {
        watch_from(w, s->at.watched ? ds_clock_ns() : 0);
        evaluate_many(w, slot, count);
        watch_from(w, 0);
        for (uint64_t k = 0; k < count; k++) {
            release(w, slot[k]);
        }
    }
    atomic_store(&w->mine->many, 0);
    if (taken == 0) {
        do_ticket(w, ticket);
        return 1;
    }
    return taken;
}

/* Has the slot of this ticket been posted anew? The successor of a dead worker goes through all slots that
 * were taken: met under their old tickets, new ones would be worked off without being taken. */
static int is_past(const ds_duty *w, uint64_t ticket)
{
    return atomic_load(&w->share->head->posted) > ticket + w->share->at.capacity;
}

void ds_work(ds_duty *w)
{
    while (atomic_load_explicit(&w->share->head->quit, memory_order_relaxed) == 0) {
        uint64_t next = atomic_load_explicit(&w->mine->next, memory_order_relaxed);
        uint64_t end = atomic_load_explicit(&w->mine->end, memory_order_relaxed);
        if (next < end && end - next <= w->share->at.capacity) {
            next += is_past(w, next) ? 1 : do_tickets(w, next, end);
            atomic_store_explicit(&w->mine->next, next, memory_order_relaxed);
        } else if (!take(w)) {
            rest(w);
        }
    }
}
