/* SPDX-License-Identifier: Apache-2.0 */
/* work.c - a worker takes tickets from the ring, evaluates their rows on copies between guard pages, and
 * writes the results. */
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
#include "worker/context.h"

enum {
    CHUNK_MAX = 16,        /* tickets taken at once when evaluations are cheap */
    GAP = DS_GUARD_GAP,    /* doubles between two rows */
    AHEAD = 4,             /* slots that are fetched before they are used */
    CHEAP_NS = 20000,      /* work that one worker takes at once */
    SLEEP_NS = 1000000000, /* longest sleep of a worker */
    PATIENCE_S = 10        /* how long to wait for the host to kill us */
};

static void fail_row(ds_answer *a, const char *text)
{
    a->loss = INFINITY;
    a->outcome = DS_EVAL_INVALID;
    a->grad_kind = DS_GRAD_NONE;
    snprintf(a->message, sizeof(a->message), "%s", text);
}

/* Rejects a stop that was not requested. */
static void reject_stop(const ds_worker_context *w, ds_answer *a, const char *function)
{
    char text[100];
    if (a->outcome == DS_EVAL_STOPPED && atomic_load(&w->share->head->stop) == 0) {
        snprintf(text, sizeof text, "%s returned DS_STOPPED without a request to stop", function);
        fail_row(a, text);
    }
}

/* ---- stepwise control ---- */

static int make_lane_env(void *ctx, ds_env **out, ds_error *e)
{
    ds_worker_context *w = ctx;
    if (!w->serves_lanes) { /* the first lanes use the worker's own instance */
        w->serves_lanes = 1;
        *out = w->env;
        return 0;
    }
    int rc = ds_worker_make_env(w, out, e);
    if (rc == 0) {
        (*out)->services.stop = &w->share->head->stop;
    }
    return rc;
}

static void fail_slot(ds_slot *slot, const ds_error *e)
{
    slot->answer = (ds_answer){.loss = INFINITY, .outcome = DS_EVAL_ERROR, .bad_step = -1};
    snprintf(slot->answer.message, sizeof(slot->answer.message), "%.199s", e->text);
}

/* The episode of a slot; NULL after writing the failure to the slot. */
static ds_episode *episode_of(ds_worker_context *w, ds_slot *slot)
{
    const ds_steps_info *info = &w->env->steps_info;
    const int back = slot->request.what == DS_DO_BACK;
    ds_error e = {DS_EXIT_PLUGIN, "the shared memory was overwritten"};
    ds_episode *ep = NULL;
    if (w->env->steps == NULL || slot->steps.step > info->horizon || slot->steps.taken > info->horizon ||
        (back && w->env->steps_gradient == NULL) ||
        ds_lane_set_find(&w->lanes, slot->steps.lane, info->max_lanes, &ep, &e) != 0) {
        fail_slot(slot, &e);
        return NULL;
    }
    return ep;
}

/* Takes the steps of some slots. */
static void step_slots(ds_worker_context *w, ds_slot *const *slot, uint64_t count)
{
    ds_episode_step *step = calloc(count, sizeof *step), **list = calloc(count, sizeof(ds_episode_step *));
    uint64_t live = 0;
    for (uint64_t k = 0; k < count; k++) {
        ds_episode *ep = step != NULL && list != NULL ? episode_of(w, slot[k]) : NULL;
        double *extra = ds_slot_extra(w->share, slot[k]);
        extra[DS_SLOT_REWARD] = 0.0;
        extra[DS_SLOT_ENDED] = DS_STEPS_TERMINATED;
        if (step == NULL || list == NULL) {
            fail_slot(slot[k], &(ds_error){DS_EXIT_MEMORY, "out of memory"});
        } else if (ep != NULL) {
            step[k] = (ds_episode_step){.episode = ep,
                                        .key = slot[k]->request.noise_key,
                                        .step = slot[k]->steps.step,
                                        .x = ds_slot_x(w->share, slot[k]),
                                        .obs = extra + DS_SLOT_STEP_HEAD,
                                        .answer = &slot[k]->answer};
            list[live++] = &step[k];
        }
    }
    if (live > 0) {
        ds_episodes_advance(live, list);
        ds_worker_after_call("step()");
    }
    for (uint64_t k = 0; k < count && live > 0; k++) {
        if (step[k].episode != NULL) {
            double *extra = ds_slot_extra(w->share, slot[k]);
            reject_stop(w, &slot[k]->answer, "step()");
            extra[DS_SLOT_REWARD] = step[k].reward;
            extra[DS_SLOT_ENDED] = step[k].ended;
        }
    }
    free(step);
    free(list);
}

/* Goes back over the steps of some slots. */
static void back_slots(ds_worker_context *w, ds_slot *const *slot, uint64_t count)
{
    ds_episode_back *back = calloc(count, sizeof *back), **list = calloc(count, sizeof(ds_episode_back *));
    uint64_t live = 0;
    for (uint64_t k = 0; k < count; k++) {
        ds_episode *ep = back != NULL && list != NULL ? episode_of(w, slot[k]) : NULL;
        const double *extra = ds_slot_extra(w->share, slot[k]);
        if (back == NULL || list == NULL) {
            fail_slot(slot[k], &(ds_error){DS_EXIT_MEMORY, "out of memory"});
        } else if (ep != NULL) {
            back[k] = (ds_episode_back){.episode = ep,
                                        .key = slot[k]->request.noise_key,
                                        .taken = slot[k]->steps.taken,
                                        .step = slot[k]->steps.step,
                                        .reward_bar = extra[DS_SLOT_REWARD],
                                        .obs_bar = extra + DS_SLOT_STEP_HEAD,
                                        .action_bar = ds_slot_grad(w->share, slot[k]),
                                        .answer = &slot[k]->answer};
            list[live++] = &back[k];
        }
    }
    if (live > 0) {
        ds_episodes_go_back(live, list);
        ds_worker_after_call("back()");
    }
    for (uint64_t k = 0; k < count && live > 0; k++) {
        if (back[k].episode != NULL) {
            reject_stop(w, &slot[k]->answer, "back()");
            ds_slot_extra(w->share, slot[k])[DS_SLOT_ENDED] = back[k].lost ? DS_SLOT_LOST : DS_SLOT_BACK;
        }
    }
    free(back);
    free(list);
}

int ds_work_begin(ds_worker_context *w)
{
    const ds_ring_layout *at = &w->share->at;
    w->many = w->env->max_rows < at->capacity ? w->env->max_rows : at->capacity;
    const uint64_t numbers[DS_BUFFERS] = {at->n, at->n, at->in, at->out};
    for (int i = 0; i < DS_BUFFERS; i++) {
        if (numbers[i] > 0 && ds_guard_open(&w->buffer[i].guard, w->many * (numbers[i] + GAP), 1) != 0) {
            return -1;
        }
    }
    w->lanes.make = make_lane_env;
    w->lanes.ctx = w;
    w->key = calloc(w->many, sizeof *w->key);
    w->answer = calloc(w->many, sizeof(ds_answer *));
    w->slot = calloc(at->capacity, sizeof(ds_slot *));
    return w->key != NULL && w->answer != NULL && w->slot != NULL ? 0 : -1;
}

void ds_work_end(ds_worker_context *w)
{
    ds_lane_set_close(&w->lanes, w->env);
    for (int i = 0; i < DS_BUFFERS; i++) {
        ds_guard_close(&w->buffer[i].guard);
    }
    free(w->key);
    free(w->answer);
    free(w->slot);
}

/* ---- evaluations ---- */

/* Writes frames and metrics of the last evaluation to the scene file. An empty file means that there are
 * none; one that begins with DS_SCENE_REFUSED holds the exit status and the reason why they could not be
 * written. */
static void write_scene(ds_worker_context *w, const ds_answer *a, uint32_t keep)
{
    const ds_scene *vt = ds_env_scene(w->env);
    uint64_t room[DS_TRACE_FRAMES], count;
    ds_error e = {0, ""};
    char *block;
    size_t size;
    if (ds_worker_truncate(DS_WORKER_SCENE) != 0 || vt == NULL || a->outcome == DS_EVAL_STOPPED) {
        return;
    }
    const uint64_t *frames = ds_scene_frames(vt, w->env->self, keep, room, &count);
    w->env->services.last_error[0] = '\0';
    int rc = ds_scene_write(vt, w->env->self, frames, count, &block, &size, &e);
    rc = ds_services_explain(&w->env->services, rc, &e);
    rc = rc != 0 ? rc : ds_fd_write_all(DS_WORKER_SCENE, block, size, "scene", &e);
    free(block);
    if (rc != 0 && (ds_worker_truncate(DS_WORKER_SCENE) != 0 ||
                    dprintf(DS_WORKER_SCENE, "%c%d %s", DS_SCENE_REFUSED, e.status, e.text) < 0)) {
        ds_log(DS_LOG_WARNING, w->env->module->id, "scene: %s", e.text);
    }
}

/* ---- rows between guard pages ---- */

#define MARK 0xa67ac1d49b3e5f08u /* as a number about -2.5e-123 */

/* `count` rows of `n` doubles in a guarded buffer: the last row ends at the guard page, and marks lie before
 * each row. */
typedef struct span {
    ds_worker_buffer *buffer;
    double *first;
    uint64_t count, n, stride;
} span;

/* The marks as words. */
static uint64_t *span_marks(const span *s, uint64_t k)
{
    return (uint64_t *)(void *)(s->first + k * s->stride - GAP);
}

/* Rows of the same length lie at the same places in every call, counted from the end, so that marks which
 * were found sound need not be written again. */
static span span_open(ds_worker_buffer *b, uint64_t count, uint64_t n)
{
    const ds_guard *g = &b->guard;
    const uint64_t stride = n + GAP, marked = b->n == n ? b->marked : 0;
    const span s = {b, n > 0 ? g->data + g->n - count * stride + GAP : NULL, count, n, stride};
    if (n == 0 || marked >= count) {
        return s;
    }
    for (uint64_t k = 0; k < count; k++) {
        uint64_t *mark = span_marks(&s, k);
        for (uint64_t i = 0; i < GAP; i++) {
            mark[i] = MARK;
        }
    }
    b->n = n;
    b->marked = count;
    return s;
}

static double *span_row(const span *s, uint64_t k)
{
    return s->first + k * s->stride;
}

static int span_sound(const span *s)
{
    if (s->n == 0) {
        return 1;
    }
    uint64_t wrong = !ds_guard_intact(&s->buffer->guard);
    for (uint64_t k = 0; k < s->count; k++) {
        const uint64_t *mark = span_marks(s, k);
        for (uint64_t i = 0; i < GAP; i++) {
            wrong |= mark[i] ^ MARK;
        }
    }
    if (wrong != 0) {
        s->buffer->marked = 0;
    }
    return wrong == 0;
}

/* The buffers that the plugin gets for some slots. */
typedef struct rows {
    span x, grad, in, out;
    ds_query_layout queries;
} rows;

/* Copies requests of slots between the guard pages; -1 where they are impossible: only the host writes there,
 * but a stray write might. */
static int rows_open(ds_worker_context *w, ds_slot *const *slot, uint64_t count, rows *r)
{
    const ds_ring *s = w->share;
    const uint64_t n = s->at.n;
    const int graded = (slot[0]->request.want & DS_WANT_GRAD) != 0;
    r->queries.count = 0;
    r->queries.in = r->queries.out = 0;
    if (slot[0]->request.queries != 0) {
        r->queries = *ds_slot_queries(s, slot[0]);
        if (r->queries.count > DS_MAX_QUERIES || r->queries.in > s->at.in || r->queries.out > s->at.out) {
            return -1;
        }
    }
    r->x = span_open(&w->buffer[DS_BUFFER_X], count, n);
    r->grad = span_open(&w->buffer[DS_BUFFER_GRAD], count, graded ? n : 0);
    r->in = span_open(&w->buffer[DS_BUFFER_IN], count, r->queries.in);
    r->out = span_open(&w->buffer[DS_BUFFER_OUT], count, r->queries.out);
    for (uint64_t k = 0; k < count; k++) {
        memcpy(span_row(&r->x, k), ds_slot_x(s, slot[k]), n * sizeof(double));
        if (graded) {
            /* NaN shows what the plugin did not fill */
            memset(span_row(&r->grad, k), 0xff, n * sizeof(double));
        }
        if (r->queries.in > 0) {
            memcpy(span_row(&r->in, k), ds_slot_in(s, slot[k]), r->queries.in * sizeof(double));
        }
        w->key[k] = slot[k]->request.noise_key;
        w->answer[k] = &slot[k]->answer;
    }
    return 0;
}

/* What the plugin did wrong with its buffers; NULL = nothing. */
static const char *breach(const ds_worker_context *w, ds_slot *const *slot, const rows *r)
{
    if (!span_sound(&r->x) || !span_sound(&r->grad) || !span_sound(&r->in) || !span_sound(&r->out)) {
        return "evaluate() wrote before the beginning of one of its buffers";
    }
    for (uint64_t k = 0; k < r->x.count; k++) {
        if (memcmp(span_row(&r->x, k), ds_slot_x(w->share, slot[k]), r->x.n * sizeof(double)) != 0) {
            return "evaluate() changed x";
        }
        if (r->in.n > 0 &&
            memcmp(span_row(&r->in, k), ds_slot_in(w->share, slot[k]), r->in.n * sizeof(double)) != 0) {
            return "evaluate() changed v or w";
        }
    }
    return NULL;
}

/* Copies the result of row k to its slot. */
static void take_row(ds_worker_context *w, ds_slot *slot, const rows *r, uint64_t k)
{
    const ds_answer *a = &slot->answer;
    if (r->grad.n > 0 && a->outcome == DS_EVAL_OK) {
        memcpy(ds_slot_grad(w->share, slot), span_row(&r->grad, k), r->grad.n * sizeof(double));
    } else if (r->grad.n > 0) {
        memset(ds_slot_grad(w->share, slot), 0, r->grad.n * sizeof(double));
    }
    if (r->queries.count > 0 && a->outcome <= DS_EVAL_BAD_GRAD) {
        memcpy(ds_slot_out(w->share, slot), span_row(&r->out, k), r->queries.out * sizeof(double));
    } else if (r->queries.count > 0) {
        memset(ds_slot_out(w->share, slot), 0, r->queries.out * sizeof(double));
    }
    if ((slot->request.want & DS_WANT_SCENE) != 0) {
        write_scene(w, a, slot->request.keep);
        ds_worker_after_call("the scene");
    }
}

/* Evaluates the rows of some slots, which want the same, in one call. If the plugin wrote out of bounds,
 * evaluates each row alone. */
static void evaluate_slots(ds_worker_context *w, ds_slot *const *slot, uint64_t count)
{
    rows r;
    if (rows_open(w, slot, count, &r) != 0) {
        for (uint64_t k = 0; k < count; k++) {
            fail_row(&slot[k]->answer, "the shared memory was overwritten");
        }
        return;
    }
    const ds_env_rows t = {.count = count,
                           .want = slot[0]->request.want,
                           .x = r.x.first,
                           .x_stride = r.x.stride,
                           .noise_key = w->key,
                           .queries = r.queries.count > 0 ? &r.queries : NULL,
                           .in = r.in.first,
                           .in_stride = r.in.stride,
                           .grad = r.grad.first,
                           .grad_stride = r.grad.stride,
                           .out = (uint64_t *)(void *)r.out.first,
                           .out_stride = r.out.stride,
                           .answer = w->answer};
    ds_env_evaluate_table(w->env, &t);
    ds_worker_after_call("evaluate()");
    const double weight = count < 10 ? 0.1 * (double)count : 1.0; /* all rows of a call have the same time */
    w->typical_ns += weight * (1e9 * slot[0]->answer.wall_s - w->typical_ns);
    const char *wrong = breach(w, slot, &r);
    for (uint64_t k = 0; k < count; k++) {
        if (wrong != NULL && count > 1) {
            evaluate_slots(w, slot + k, 1);
            continue;
        }
        reject_stop(w, &slot[k]->answer, "evaluate()");
        if (wrong != NULL) {
            fail_row(&slot[k]->answer, wrong);
        }
        take_row(w, slot[k], &r, k);
    }
}

static void work_slots(ds_worker_context *w, ds_slot *const *slot, uint64_t count)
{
    if (atomic_load_explicit(&w->share->head->stop, memory_order_relaxed) != 0) {
        for (uint64_t k = 0; k < count; k++) {
            slot[k]->answer.outcome = DS_EVAL_STOPPED;
            slot[k]->answer.message[0] = '\0';
        }
        return;
    }
    const uint32_t what = slot[0]->request.what;
    (what == DS_DO_STEP ? step_slots : what == DS_DO_BACK ? back_slots : evaluate_slots)(w, slot, count);
}

/* ---- tickets ---- */

/* How many of the tickets `first` .. `first + there - 1` to take at once. For an environment that takes many
 * rows, the host has divided the table into equal calls. Else several while they are cheap, but at most a
 * fair share of what is there. */
static uint64_t count_to_take(const ds_worker_context *w, uint64_t first, uint64_t there)
{
    uint64_t count = ds_ring_slot(w->share, first)->request.rows;
    if (count < 2) {
        const uint64_t fair = there / (2u * w->share->at.workers);
        const uint64_t cheap =
            w->typical_ns > CHEAP_NS / CHUNK_MAX ? (uint64_t)(CHEAP_NS / w->typical_ns) : CHUNK_MAX;
        count = fair < cheap ? fair : cheap;
    }
    count = count < there ? count : there;
    return count > 0 ? count : 1;
}

/* Takes the next tickets; 0 = there are none. */
static int take(ds_worker_context *w)
{
    ds_ring *s = w->share;
    for (;;) {
        /* Read in this order: `taken` grows towards what was posted. More than `capacity` is impossible; the
         * host detects that. */
        unsigned long long posted = atomic_load(&s->head->posted), taken = atomic_load(&s->head->taken);
        if (taken >= posted || posted - taken > s->at.capacity) {
            return 0;
        }
        __builtin_prefetch(&ds_ring_slot(s, taken)->state, 1); /* the exchange waits for earlier reads */
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
static void rest(ds_worker_context *w)
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
    if (!something_to_do(s) && ds_worker_orphaned()) {
        _exit(DS_EXIT_UNMET);
    }
}

/* Changes the state of a slot if it is `from`, else *from becomes what it is. An atomic exchange takes as
 * long as the copy of a short row, so use none where the slot has no `rival`. */
static int change_state(ds_slot *slot, uint32_t *from, uint32_t to, int rival)
{
    if (rival) {
        return atomic_compare_exchange_strong(&slot->state, from, to);
    }
    const uint32_t is = atomic_load_explicit(&slot->state, memory_order_acquire);
    const int as_expected = is == *from;
    *from = is;
    if (as_expected) {
        atomic_store_explicit(&slot->state, to, memory_order_release);
    }
    return as_expected;
}

/* Makes a posted slot ours; 0 = another worker has it already. */
static int seize(const ds_worker_context *w, ds_slot *slot)
{
    uint32_t state = DS_SLOT_POSTED;
    return change_state(slot, &state, DS_SLOT_OF(DS_SLOT_RUNNING, w->start.index), w->share->at.workers > 1);
}

static void watch_from(ds_worker_context *w, uint64_t now)
{
    if (w->share->at.watched) {
        atomic_store_explicit(&w->mine->started, now, memory_order_release);
    }
}

/* Ends the evaluation of some slots. */
static void release(ds_worker_context *w, ds_slot *const *slot, uint64_t count)
{
    for (uint64_t k = 0; k < count; k++) {
        uint32_t running = DS_SLOT_OF(DS_SLOT_RUNNING, w->start.index);
        if (!change_state(slot[k], &running, DS_SLOT_DONE, w->share->at.watched != 0)) {
            /* The host decided that we took too long and is about to kill us; or the memory was overwritten.
             */
            for (int i = 0; i < PATIENCE_S && running == DS_SLOT_OF(DS_SLOT_KILLED, w->start.index); i++) {
                sleep(1);
            }
            _exit(DS_WORKER_CORRUPT);
        }
    }
    ds_ring_finished(w->share, (uint32_t)count);
}

/* Can this slot be in one call with `first`? Only the host writes these fields. */
static int can_join(const ds_slot *first, const ds_slot *slot)
{
    return slot->alone == 0 && first->alone == 0 && slot->request.what == first->request.what &&
           slot->request.want == first->request.want && slot->request.queries == first->request.queries &&
           (slot->request.want & DS_WANT_SCENE) == 0;
}

/* Rows of the call that begins with this ticket, at most as many as the buffers hold. */
static uint64_t rows_at(const ds_worker_context *w, uint64_t ticket, uint64_t end)
{
    const ds_slot_request *request = &ds_ring_slot(w->share, ticket)->request;
    const uint64_t most = request->what == DS_DO_EVALUATE ? w->many : w->share->at.capacity;
    uint64_t count = request->rows < most ? request->rows : most;
    count = count < end - ticket ? count : end - ticket;
    return count > 1 ? count : 1;
}

/* Evaluates the tickets of one call from `ticket` on; returns their number. */
static uint64_t do_tickets(ds_worker_context *w, uint64_t ticket, uint64_t end)
{
    ds_ring *s = w->share;
    const uint64_t most = rows_at(w, ticket, end);
    uint64_t count = 0, taken = 0;
    if (most > 1) { /* set before we own the first, for our successor */
        atomic_store(&w->mine->many, (unsigned)most);
    }
    for (; taken < most; taken++) {
        ds_slot *next = ds_ring_slot(s, ticket + taken);
        if (end - ticket > taken + AHEAD) {
            ds_ring_fetch(s, ticket + taken + AHEAD);
        }
        if (!seize(w, next)) {
            continue;
        }
        if (count > 0 && !can_join(w->slot[0], next)) {
            atomic_store(&next->state, DS_SLOT_POSTED); /* still ours: no other worker holds this ticket */
            break;
        }
        w->slot[count++] = next;
    }
    if (count == 1 && most > 1) {
        atomic_store(&w->mine->many, 0);
    }
    if (count > 0) {
        watch_from(w, s->at.watched ? ds_clock_ns() : 0);
        work_slots(w, w->slot, count);
        watch_from(w, 0);
        release(w, w->slot, count);
    }
    if (most > 1) {
        atomic_store(&w->mine->many, 0);
    }
    return taken;
}

/* Was the slot of this ticket posted again for a later one? The successor of a dead worker goes through all
 * slots that were taken: under an old ticket it would evaluate a new one that it has not taken. */
static int is_past(const ds_worker_context *w, uint64_t ticket)
{
    return atomic_load(&w->share->head->posted) > ticket + w->share->at.capacity;
}

void ds_work(ds_worker_context *w)
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
