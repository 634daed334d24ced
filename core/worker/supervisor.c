/* SPDX-License-Identifier: Apache-2.0 */
/* supervisor.c - one thread of the host starts workers, passes on their output, enforces the time limit, and
 * handles their death: the running evaluation fails, and a new worker takes over the rest. */
#include "config.h"

#include "worker/supervisor.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/program.h"
#include "protect/call_state.h"
#include "worker/process.h"
#include "worker/handshake.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    IDLE_DEATHS_MAX = 5,   /* deaths in a row between evaluations before the pool fails */
    WAIT_NS = 50000000,    /* longest sleep between two checks of the stop flag */
    STOP_NS = 1000000000,  /* time for running evaluations to notice a stop */
    LOOK_NS = 100000000,   /* between two checks of the shared memory */
    STILL_NS = 1000000000, /* a slot may stay unchanged for this long before it is checked */
    BROKEN_MS = 20         /* between two checks when poll() fails */
};
static const uint64_t CLOSE_NS = 2000000000; /* time to end, after a request */
static const uint64_t LIFE_NS = 10000000000; /* a worker that lived this long may die without suspicion */

/* State of a worker that only the watching thread uses. */
typedef struct ds_member {
    int missing;            /* could not be started; the others continue without it */
    uint64_t unclear_since; /* since when it holds a slot without a plausible start time; 0 = it does not */
} ds_member;

/* The slot that the caller waits for, and since when it is unchanged. */
typedef struct stall_watch {
    uint64_t ticket, since, looked;
    uint32_t state;
    int impossible; /* the last check found it in an impossible state */
} stall_watch;

struct ds_supervisor {
    ds_supervisor_config config;
    char *program;
    ds_start_arguments start;
    int share_fd, scene_fd, event_fd;
    ds_ring ring;
    ds_ring *share; /* the ring after the first handshake, NULL before */
    ds_handshake env;
    ds_member *member; /* config.jobs, as processes */
    ds_process *process;
    stall_watch stall; /* of the thread that waits for results */
    int given_up;      /* config.waiting() ended the wait */
    int idle_deaths, reported_bad_end, reported_missing;
    pthread_t thread;
    int thread_runs;
    pthread_mutex_t lock; /* of ready and error */
    pthread_cond_t changed;
    int ready; /* the first worker has reported its instance */
    ds_error error;
    atomic_int failed;  /* error is valid */
    atomic_uint wanted; /* how many workers there should be */
    atomic_int quit, killed;
};

/* Keeps the first fatal failure, and wakes all waiting threads. */
static void fail(ds_supervisor *c, const ds_error *why)
{
    pthread_mutex_lock(&c->lock);
    if (!atomic_load(&c->failed)) {
        c->error = *why;
        atomic_store(&c->failed, 1);
    }
    pthread_cond_broadcast(&c->changed);
    pthread_mutex_unlock(&c->lock);
    if (c->share != NULL) {
        ds_futex_wake(&c->share->head->done, 1);
    }
}

/* ---- starting workers ---- */

static int alive(const ds_supervisor *c)
{
    for (uint32_t w = 0; w < c->config.jobs; w++) {
        if (c->process[w].state != DS_PROCESS_NONE) {
            return 1;
        }
    }
    return 0;
}

static void start_process(ds_supervisor *c, uint32_t w)
{
    ds_process_place place = {c->program, c->share_fd, c->scene_fd, c->config.module->id};
    ds_error e = {0, ""};
    if (ds_process_start(&c->process[w], &place, &c->start, w, 0, &e) == 0) {
        return;
    }
    if (!alive(c)) {
        fail(c, &e);
        return;
    }
    c->member[w].missing = 1;
    if (!c->reported_missing) {
        c->reported_missing = 1;
        ds_log(DS_LOG_WARNING, NULL, "%s; the other workers continue", e.text);
    }
}

/* Makes the process that described the plugin, if it still waits, worker 0. */
static void take_over_described_process(ds_supervisor *c)
{
    ds_described_process described;
    if (!ds_describe_take_process(c->config.module, &described)) {
        return;
    }
    close(c->share_fd);
    close(c->scene_fd);
    c->share_fd = described.share_fd;
    c->scene_fd = described.scene_fd;
    c->process[0] = described.process;
    if (ds_process_instruct(&c->process[0], &c->start) != 0) {
        ds_process_reap(&c->process[0], 1); /* it ended in the meantime: start another one */
    }
}

/* Reads the handshake of the first worker, or compares that of another one. */
static int read_handshake(ds_supervisor *c, int fd, ds_error *e)
{
    const char *id = c->config.module->id;
    if (c->share != NULL) {
        return ds_handshake_compare(id, fd, &c->env, e);
    }
    if (ds_handshake_read(id, fd, &c->env, e) != 0) {
        return e->status;
    }
    ds_ring_plan plan = {.workers = c->config.jobs,
                         .n = c->env.facts.info.n,
                         .capacity = c->config.capacity,
                         .extra = c->config.extra,
                         .rows = c->env.facts.max_rows,
                         .watched = c->config.timeout > 0.0};
    ds_query_layout_room(&c->env.channels, plan.n, &plan.in, &plan.out);
    ds_score_room(&c->env.facts.score, plan.n, &plan.in, &plan.out);
    int rc = ds_ring_make(c->share_fd, &plan, &c->ring, e);
    c->share = rc == 0 ? &c->ring : NULL;
    return rc;
}

/* Handles the report of a worker: its instance is made, or why not. */
static void handshake(ds_supervisor *c, uint32_t w)
{
    ds_process *m = &c->process[w];
    ds_error e = {0, ""};
    if (read_handshake(c, m->start, &e) != 0) {
        fail(c, &e);
        return;
    }
    m->state = DS_PROCESS_READY;
    char go = DS_WORKER_GO;
    if (send(m->socket, &go, 1, MSG_NOSIGNAL) != 1) {
        return; /* it has ended; poll() reports that soon */
    }
    pthread_mutex_lock(&c->lock);
    c->ready = 1;
    pthread_cond_broadcast(&c->changed);
    pthread_mutex_unlock(&c->lock);
}

/* ---- reclaiming the slots of a dead worker ---- */

/* How many slots have ever been posted: the others are free, and need no memory before someone reads them. */
static uint64_t slots_used(const ds_ring *s)
{
    const uint64_t posted = ds_ring_posted(s);
    return posted < s->at.capacity ? posted : s->at.capacity;
}

/* The slot that worker w is evaluating; NULL = none. */
static ds_slot *held_slot(const ds_ring *s, uint32_t w)
{
    const uint64_t used = slots_used(s);
    for (uint64_t i = 0; i < used; i++) {
        ds_slot *slot = ds_ring_slot(s, i);
        if (atomic_load_explicit(&slot->state, memory_order_relaxed) == DS_SLOT_OF(DS_SLOT_RUNNING, w)) {
            return slot;
        }
    }
    return NULL;
}

/* Writes the result for an evaluation whose worker ended. */
static void answer_for(ds_ring *s, uint32_t w, const ds_process *m, double timeout, int status, ds_slot *slot)
{
    const uint64_t started = atomic_load(&s->head->worker[w].started), now = ds_clock_ns();
    char limit[80];
    ds_answer a = {.loss = INFINITY, .outcome = DS_EVAL_CRASHED, .grad_kind = DS_GRAD_NONE, .bad_step = -1};
    a.outcome = m->timed_out ? DS_EVAL_TIMEOUT : DS_EVAL_CRASHED;
    a.wall_s = started > m->born && started < now ? 1e-9 * (double)(now - started) : 0.0;
    snprintf(limit, sizeof(limit), "%g s (timeout_s)", timeout);
    ds_process_describe_end(m, "the worker", status, limit, a.message, sizeof(a.message));
    slot->answer = a;
    memset((unsigned char *)slot - s->at.slot, 0, s->at.x);
    memset(ds_slot_grad(s, slot), 0, s->at.n * sizeof(double));
    atomic_store(&slot->state, DS_SLOT_DONE);
    ds_ring_finished(s, 1);
}

/* Reposts or answers the slots that a dead worker held; `status` is its wait status. Returns 0 where it held
 * none. */
static int reclaim_slots(ds_ring *s, uint32_t w, const ds_process *m, double timeout, int status)
{
    ds_ring_worker *its = &s->head->worker[w];
    const uint64_t used = slots_used(s);
    uint64_t found = 0;
    for (uint64_t i = 0; i < used; i++) {
        ds_slot *slot = ds_ring_slot(s, i);
        uint32_t state = atomic_load(&slot->state);
        if (state != DS_SLOT_OF(DS_SLOT_RUNNING, w) && state != DS_SLOT_OF(DS_SLOT_KILLED, w)) {
            continue;
        }
        found++;
        /* One of several rows is to blame: give each one try alone. */
        if (atomic_load(&its->many) != 0 && atomic_exchange(&s->alone[i], 1) == 0) {
            slot->alone = 1;
            atomic_store(&slot->state, DS_SLOT_POSTED);
        } else {
            answer_for(s, w, m, timeout, status, slot);
        }
    }
    /* It may have released the others without counting them. */
    const uint64_t many = atomic_load(&its->many), held = many < s->at.capacity ? many : s->at.capacity;
    if (held > found) {
        ds_ring_finished(s, (uint32_t)(held - found));
    }
    atomic_store(&its->started, 0);
    atomic_store(&its->many, 0);
    return found > 0;
}

/* Lets the successor of worker w look at every ticket that may have been taken; it skips what is done or what
 * others hold. */
static void hand_over_tickets(ds_ring *s, uint32_t w)
{
    uint64_t taken = atomic_load(&s->head->taken), posted = ds_ring_posted(s);
    taken = taken < posted ? taken : posted;
    uint64_t oldest = taken > s->at.capacity ? taken - s->at.capacity : 0;
    atomic_store(&s->head->worker[w].next, oldest);
    atomic_store(&s->head->worker[w].end, taken);
}

/* ---- the end of a worker ---- */

static int corrupt(const ds_supervisor *c, ds_error *e)
{
    return ds_fail(e, DS_EXIT_PLUGIN,
                   "%s: the memory shared by host and workers was overwritten: the plugin, or a library that "
                   "it uses, writes out of bounds",
                   c->config.module->id);
}

/* Seconds that a worker has for its start, 0 = no limit; *name gets the setting that determines it. */
static double start_limit(const ds_supervisor *c, const char **name)
{
    return ds_process_start_limit(c->config.start_timeout, c->config.timeout, name);
}

/* Handles a worker that died before it was ready: fills *e, unless it was killed from outside and another may
 * try. */
static int failed_to_start(const ds_supervisor *c, uint32_t w, int status, ds_error *e)
{
    const ds_process *m = &c->process[w];
    char how[200], limit[80];
    const char *name;
    const double seconds = start_limit(c, &name);
    snprintf(limit, sizeof(limit), "%g s (%s)", seconds, name);
    if (c->share != NULL && !m->timed_out && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL &&
        !m->cut_off) {
        return 0;
    }
    if (ds_process_was_refused(c->config.module->id, status, e) != 0) {
        return e->status;
    }
    ds_process_describe_end(m, "the worker", status, limit, how, sizeof(how));
    return ds_fail(e, DS_EXIT_PLUGIN, "%s: create() failed: %s", c->config.module->id, how);
}

/* Reports a crash in destroy(), although it loses nothing. */
static void report_bad_end(ds_supervisor *c, const ds_process *m, int status)
{
    char how[200];
    int bad = WIFSIGNALED(status) ? WTERMSIG(status) != SIGKILL : WEXITSTATUS(status) != 0;
    if (bad && !c->reported_bad_end && !m->cut_off && !atomic_load(&c->killed) && !atomic_load(&c->failed)) {
        c->reported_bad_end = 1;
        ds_process_describe_end(m, "a worker", status, "time", how, sizeof(how));
        ds_log(DS_LOG_WARNING, c->config.module->id, "at the end %s", how);
    }
}

/* Did the worker end because of what it found in the shared memory? */
static int ended_by_corruption(const ds_supervisor *c, int status)
{
    return WIFEXITED(status) && (WEXITSTATUS(status) == DS_WORKER_CORRUPT ||
                                 (c->share != NULL && atomic_load(&c->share->head->quit) != 0));
}

/* Did it exceed the CPU time limit, which the host shares? Every successor would exceed it too. */
static int out_of_time(const ds_supervisor *c, int status, ds_error *e)
{
    struct rlimit limit;
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGXCPU || getrlimit(RLIMIT_CPU, &limit) != 0 ||
        limit.rlim_max == RLIM_INFINITY) {
        return 0;
    }
    return ds_fail(e, DS_EXIT_MEMORY,
                   "%s: a worker used up the CPU time limit of %llu s (ulimit -t); raise it and resume",
                   c->config.module->id, (unsigned long long)limit.rlim_max);
}

/* Handles a worker that is dead or cut off. */
static void reap(ds_supervisor *c, uint32_t w)
{
    ds_process *m = &c->process[w];
    ds_error e = {0, ""};
    int state = m->state;
    int status = ds_process_reap(m, 0);
    if (atomic_load(&c->quit) || atomic_load(&c->killed) || atomic_load(&c->failed)) {
        report_bad_end(c, m, status);
        return;
    }
    if (out_of_time(c, status, &e) != 0 ||
        (state == DS_PROCESS_STARTING && failed_to_start(c, w, status, &e) != 0) ||
        (ended_by_corruption(c, status) && corrupt(c, &e) != 0)) {
        fail(c, &e);
        return;
    }
    if (reclaim_slots(c->share, w, m, c->config.timeout, status) || ds_clock_ns() - m->born > LIFE_NS) {
        c->idle_deaths = 0;
    } else if (++c->idle_deaths > IDLE_DEATHS_MAX) {
        char how[200];
        ds_process_describe_end(m, "the worker", status, "time", how, sizeof(how));
        ds_fail(&e, DS_EXIT_PLUGIN, "%s: workers keep dying between evaluations: %s", c->config.module->id,
                how);
        fail(c, &e);
        return;
    }
    hand_over_tickets(c->share, w);
    start_process(c, w);
}

/* ---- the thread ---- */

/* When a worker began its evaluation; 0 = it has none. The worker writes the time to memory that its plugin
 * can overwrite; where it is not plausible, the time counts from the first check. */
static uint64_t started_at(ds_supervisor *c, uint32_t w, uint64_t now)
{
    ds_member *r = &c->member[w];
    uint64_t started = atomic_load(&c->share->head->worker[w].started);
    if ((started > c->process[w].born && started <= now) || held_slot(c->share, w) == NULL) {
        r->unclear_since = 0;
        return started <= now ? started : 0;
    }
    r->unclear_since = r->unclear_since != 0 ? r->unclear_since : now;
    return r->unclear_since;
}

static void kill_late(ds_process *m)
{
    m->timed_out = 1;
    ds_process_kill(m);
}

/* Kills a worker whose evaluation, or start, exceeded the time limit. */
static void enforce_limit(ds_supervisor *c, uint32_t w)
{
    ds_process *m = &c->process[w];
    uint64_t now = ds_clock_ns();
    const char *name;
    double limit = m->state == DS_PROCESS_STARTING ? start_limit(c, &name) : c->config.timeout;
    if (limit <= 0.0 || m->timed_out) {
        return;
    }
    if (m->state == DS_PROCESS_STARTING) {
        if (1e-9 * (double)(now - m->born) > limit) {
            kill_late(m);
        }
        return;
    }
    uint64_t started = started_at(c, w, now);
    const unsigned rows = atomic_load(&c->share->head->worker[w].many); /* each has the full time */
    if (started == 0 || 1e-9 * (double)(now - started) <= limit * (rows > 1 ? rows : 1)) {
        return;
    }
    ds_slot *slot = held_slot(c->share, w);
    uint32_t state = DS_SLOT_OF(DS_SLOT_RUNNING, w);
    if (slot != NULL && started_at(c, w, now) == started &&
        atomic_compare_exchange_strong(&slot->state, &state, DS_SLOT_OF(DS_SLOT_KILLED, w))) {
        kill_late(m);
    }
}

/* Milliseconds between two checks of the time limits. */
static int poll_interval(const ds_supervisor *c)
{
    int ms = -1;
    if (c->config.timeout > 0.0 || c->config.start_timeout > 0.0) {
        double tenth = 100.0 * (c->config.timeout > 0.0 ? c->config.timeout : c->config.start_timeout);
        ms = tenth > 100.0 ? 100 : tenth < 2.0 ? 2 : (int)tenth;
    }
    for (uint32_t w = 0; w < c->config.jobs; w++) {
        ms = ds_process_poll_ms(&c->process[w], ms);
    }
    return ms;
}

/* Kills all workers, or only those that are not ready yet. */
static void kill_members(ds_supervisor *c, int starting_only)
{
    for (uint32_t w = 0; w < c->config.jobs; w++) {
        int state = c->process[w].state;
        if (state == DS_PROCESS_STARTING || (state == DS_PROCESS_READY && !starting_only)) {
            ds_process_kill(&c->process[w]);
        }
    }
}

/* Lists what to wait for: descriptors of the existing workers, packed, because poll() takes no more
 * descriptors than may be open; then event_fd. Returns their number. */
static size_t list_polls(const ds_supervisor *c, struct pollfd *fds)
{
    size_t n = 0;
    for (uint32_t w = 0; w < c->config.jobs; w++) {
        if (c->process[w].state != DS_PROCESS_NONE) {
            ds_process_poll(&c->process[w], fds + n);
            n += DS_PROCESS_POLLS;
        }
    }
    fds[n++] = (struct pollfd){c->event_fd, POLLIN, 0};
    return n;
}

/* Handles the result of poll() for the list of list_polls(). */
static void look(ds_supervisor *c, const struct pollfd *fds)
{
    for (uint32_t w = 0; w < c->config.jobs; w++) {
        ds_process *m = &c->process[w];
        char byte;
        if (m->state == DS_PROCESS_NONE) {
            continue;
        }
        const struct pollfd *its = fds;
        fds += DS_PROCESS_POLLS;
        if (!ds_process_read(m, its, &byte)) {
            reap(c, w);
            continue;
        }
        if (byte == DS_WORKER_HELLO && m->state == DS_PROCESS_STARTING) {
            handshake(c, w);
        }
        enforce_limit(c, w);
    }
}

/* poll() failed: ends the pool with the system's message, without using poll(). */
static void cannot_wait(ds_supervisor *c, int code)
{
    ds_error e;
    ds_fail(&e, code == ENOMEM ? DS_EXIT_MEMORY : DS_EXIT_IO, "%s: cannot wait for the workers: %s",
            c->config.module->id,
            code == EINVAL ? "too few open files are allowed (ulimit -n)" : strerror(code));
    fail(c, &e);
    for (uint32_t w = 0; w < c->config.jobs; w++) {
        if (c->process[w].state != DS_PROCESS_NONE) {
            ds_process_reap(&c->process[w], 1);
        }
    }
    ds_sleep_ms(BROKEN_MS);
}

static void *watch(void *arg)
{
    ds_supervisor *c = arg;
    struct pollfd *fds = calloc(DS_PROCESS_POLLS * (size_t)c->config.jobs + 1, sizeof(*fds));
    uint64_t closing = 0;
    ds_locale_use_c();
    if (fds == NULL) {
        ds_error e;
        ds_fail(&e, DS_EXIT_MEMORY, "out of memory");
        fail(c, &e);
        return NULL;
    }
    for (;;) {
        int ms = poll_interval(c);
        if (atomic_load(&c->quit)) {
            if (!alive(c)) {
                break;
            }
            uint64_t now = ds_clock_ns();
            closing = closing == 0 ? now : closing;
            kill_members(c, now - closing <= CLOSE_NS);
            ms = 50;
        } else if (!atomic_load(&c->killed) && !atomic_load(&c->failed)) {
            uint32_t wanted = atomic_load(&c->wanted);
            for (uint32_t w = 0; w < wanted; w++) {
                if (c->process[w].state == DS_PROCESS_NONE && !c->member[w].missing) {
                    start_process(c, w);
                }
            }
        }
        const size_t polls = list_polls(c, fds);
        if (poll(fds, (nfds_t)polls, ms) < 0) {
            if (errno != EINTR) {
                cannot_wait(c, errno);
            }
            continue;
        }
        if (fds[polls - 1].revents != 0) {
            uint64_t ignored;
            if (read(c->event_fd, &ignored, sizeof(ignored)) < 0 && errno != EINTR && errno != EAGAIN) {
                cannot_wait(c, errno);
            }
            if (atomic_load(&c->killed)) {
                kill_members(c, 0);
            }
        }
        look(c, fds);
    }
    free(fds);
    return NULL;
}

static void signal_thread(ds_supervisor *c)
{
    uint64_t one = 1;
    while (write(c->event_fd, &one, sizeof(one)) < 0 && errno == EINTR) {
    }
}

/* ---- functions for the thread that waits for results ---- */

/* Ends all evaluations unfinished; no worker starts any more. */
static void kill_all(ds_supervisor *c)
{
    atomic_store(&c->killed, 1);
    signal_thread(c);
}

static int has_failed(ds_supervisor *c, ds_error *e)
{
    if (!atomic_load(&c->failed)) {
        return 0;
    }
    pthread_mutex_lock(&c->lock);
    int rc = ds_fail(e, c->error.status, "%s", c->error.text);
    pthread_mutex_unlock(&c->lock);
    return rc;
}

static int start_thread(ds_supervisor *c, ds_error *e)
{
    /* Signals belong to the thread that runs the optimizer. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int code = pthread_create(&c->thread, NULL, watch, c);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (code != 0) {
        return ds_no_thread("that watches the workers", code, e);
    }
    c->thread_runs = 1;
    return 0;
}

/* Has the flag, or the waiting caller, ended the wait? */
static int must_stop(const ds_supervisor *c)
{
    return c->given_up ||
           (c->config.stop != NULL && atomic_load_explicit(c->config.stop, memory_order_relaxed) != 0);
}

/* No result for a while: ask the caller whether to continue waiting. */
static void poll_waiter(ds_supervisor *c)
{
    if (c->config.waiting != NULL && c->config.waiting(c->config.ctx) != 0) {
        c->given_up = 1;
    }
}

/* Waits for the first worker. */
static int wait_ready(ds_supervisor *c, ds_error *e)
{
    int rc = 0;
    pthread_mutex_lock(&c->lock);
    while (!c->ready && !atomic_load(&c->failed) && rc == 0) {
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += 50000000;
        if (until.tv_nsec >= 1000000000) {
            until.tv_nsec -= 1000000000;
            until.tv_sec++;
        }
        if (pthread_cond_timedwait(&c->changed, &c->lock, &until) == ETIMEDOUT) {
            pthread_mutex_unlock(&c->lock);
            poll_waiter(c);
            pthread_mutex_lock(&c->lock);
        }
        if (must_stop(c)) {
            rc = ds_fail(e, DS_EXIT_SIGINT, "stopped before the first evaluation");
            kill_all(c);
        }
    }
    pthread_mutex_unlock(&c->lock);
    return rc != 0 ? rc : has_failed(c, e);
}

/* Reserves descriptors for this many workers. One worker is tried in any case. */
static int reserve_files(uint32_t jobs, const char *id, ds_error *e)
{
    uint64_t limit, need;
    if (ds_files_reserve((uint64_t)DS_FILES_PER_WORKER * jobs + DS_FILES_SPARE, &limit, &need) || jobs <= 1) {
        return 0;
    }
    const uint64_t other = need - (uint64_t)DS_FILES_PER_WORKER * jobs;
    const uint64_t most = limit > other + DS_FILES_PER_WORKER ? (limit - other) / DS_FILES_PER_WORKER : 1;
    return ds_fail(e, DS_EXIT_IO,
                   "%s: %u workers need %llu open files, but only %llu are allowed (ulimit -n); set jobs to "
                   "%llu or less, or raise the limit",
                   id, jobs, (unsigned long long)need, (unsigned long long)limit, (unsigned long long)most);
}

int ds_supervisor_open(const ds_supervisor_config *config, ds_supervisor **out, ds_error *e)
{
    if (reserve_files(config->jobs, config->module->id, e) != 0) {
        return e->status;
    }
    ds_supervisor *c = calloc(1, sizeof(*c));
    if (c == NULL) {
        return ds_fail(e, DS_EXIT_MEMORY, "out of memory");
    }
    pthread_mutex_init(&c->lock, NULL);
    pthread_condattr_t monotonic; /* setting the clock back must not delay wait_ready() */
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&c->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    c->config = *config;
    c->config.jobs = config->jobs > 0 ? config->jobs : 1;
    c->program = config->program != NULL ? strdup(config->program) : NULL;
    c->process = calloc(c->config.jobs, sizeof(*c->process));
    c->member = calloc(c->config.jobs, sizeof(*c->member));
    c->share_fd = ds_memory_file("diffsim-share");
    c->scene_fd = ds_memory_file("diffsim-scene");
    c->event_fd = eventfd(0, EFD_CLOEXEC);
    atomic_store(&c->wanted, 1);
    int rc = 0;
    if (c->process == NULL || c->member == NULL) {
        rc = ds_no_memory(e);
    } else if (c->share_fd < 0 || c->scene_fd < 0 || c->event_fd < 0) {
        rc = ds_no_descriptors("cannot make the shared memory of the workers", errno, e);
    }
    c->start = (ds_start_arguments){.seed = config->seed,
                                    .memory = config->memory > 0 ? config->memory << 20 : 0,
                                    .threads = config->threads,
                                    .first = config->first,
                                    .workers = config->workers > 0 ? config->workers : config->jobs};
    rc = rc != 0 ? rc
                 : ds_start_arguments_make(&c->start, config->module->path, config->module->id,
                                           config->params, e);
    if (rc == 0) {
        take_over_described_process(c);
        rc = start_thread(c, e);
    }
    rc = rc != 0 ? rc : wait_ready(c, e);
    if (rc != 0) {
        ds_supervisor_close(c);
        return rc;
    }
    *out = c;
    return 0;
}

void ds_supervisor_close(ds_supervisor *c)
{
    if (c == NULL) {
        return;
    }
    atomic_store(&c->quit, 1);
    if (c->share != NULL) {
        ds_ring_end(c->share);
    }
    if (c->thread_runs) {
        if (c->share == NULL) {
            atomic_store(&c->killed, 1); /* no shared memory that could carry the request */
        }
        signal_thread(c);
        pthread_join(c->thread, NULL);
    } else if (c->process != NULL && c->process[0].state != DS_PROCESS_NONE) {
        ds_process_reap(&c->process[0], 1);
    }
    int fds[] = {c->share_fd, c->scene_fd, c->event_fd};
    for (int i = 0; i < 3; i++) {
        if (fds[i] >= 0) {
            close(fds[i]);
        }
    }
    ds_ring_close(&c->ring);
    pthread_mutex_destroy(&c->lock);
    pthread_cond_destroy(&c->changed);
    ds_handshake_clear(&c->env);
    free(c->process);
    free(c->member);
    free(c->start.texts);
    free(c->program);
    free(c);
}

const ds_env_facts *ds_supervisor_env_of(const ds_supervisor *c)
{
    return &c->env.facts;
}

ds_ring *ds_supervisor_share(ds_supervisor *c)
{
    return c->share;
}

void ds_supervisor_want(ds_supervisor *c, uint32_t count)
{
    count = count > c->config.jobs ? c->config.jobs : count;
    if (count > atomic_load(&c->wanted)) {
        atomic_store(&c->wanted, count);
        signal_thread(c);
    }
}

int ds_supervisor_corrupt(ds_supervisor *c, ds_error *e)
{
    int rc = has_failed(c, e);
    ds_error why;
    if (rc == 0) {
        rc = corrupt(c, &why);
        fail(c, &why);
        rc = has_failed(c, e);
    }
    return rc;
}

/* Does worker w claim to hold this ticket? */
static int claims_ticket(const ds_supervisor *c, uint32_t w, uint64_t ticket)
{
    if (w >= c->config.jobs) {
        return 0;
    }
    const ds_ring_worker *its = &c->share->head->worker[w];
    return atomic_load(&its->next) <= ticket && ticket < atomic_load(&its->end);
}

/* Checks a slot that has not changed for a while. A posted slot that no worker took is posted again. An
 * impossible state seen twice (once may be a race) ends the pool. */
static int check_stalled_slot(ds_supervisor *c, ds_error *e)
{
    stall_watch *p = &c->stall;
    uint32_t kind = p->state & 0xff, w = p->state >> 8;
    if (kind == DS_SLOT_POSTED) {
        ds_ring_publish_again(c->share, p->ticket);
        p->since = p->looked;
        return 0;
    }
    int impossible = (kind != DS_SLOT_RUNNING && kind != DS_SLOT_KILLED) || !claims_ticket(c, w, p->ticket);
    if (impossible && p->impossible) {
        return ds_supervisor_corrupt(c, e);
    }
    p->impossible = impossible;
    return 0;
}

/* Checks at intervals whether the result can still arrive. */
static int check_progress(ds_supervisor *c, uint64_t ticket, ds_error *e)
{
    stall_watch *p = &c->stall;
    uint64_t now = ds_clock_ns();
    uint32_t state = atomic_load(&ds_ring_slot(c->share, ticket)->state);
    if (p->ticket != ticket || p->state != state) {
        *p = (stall_watch){.ticket = ticket, .since = now, .looked = p->looked, .state = state};
    }
    if (now - p->looked < LOOK_NS) {
        return 0;
    }
    p->looked = now;
    if (!ds_ring_sound(c->share)) {
        return ds_supervisor_corrupt(c, e);
    }
    if (state == DS_SLOT_DONE || now - p->since < STILL_NS) {
        return 0;
    }
    return check_stalled_slot(c, e);
}

int ds_supervisor_sleep(ds_supervisor *c, uint64_t ticket, uint32_t wake_at, uint64_t *stop_at, ds_error *e)
{
    ds_ring *s = c->share;
    if (must_stop(c)) {
        ds_ring_stop(s);
        *stop_at = *stop_at == 0 ? ds_clock_ns() + STOP_NS : *stop_at;
    }
    if (*stop_at != 0 && ds_clock_ns() > *stop_at) {
        kill_all(c);
        return DS_SUPERVISOR_STOPPED;
    }
    int rc = has_failed(c, e);
    rc = rc != 0 ? rc : check_progress(c, ticket, e);
    if (rc != 0) {
        return rc;
    }
    ds_ring_head *h = s->head;
    atomic_store(&h->wake_at, wake_at);
    atomic_store(&h->waiting, 1);
    uint32_t now = atomic_load(&h->done);
    if (!ds_slot_done(ds_ring_slot(s, ticket)) && (int32_t)(now - wake_at) < 0) {
        ds_futex_wait(&h->done, now, *stop_at != 0 ? WAIT_NS / 10 : WAIT_NS);
        if (atomic_load(&h->done) == now && *stop_at == 0) {
            poll_waiter(c);
        }
    }
    atomic_store(&h->waiting, 0);
    return 0;
}

int ds_supervisor_scene_fd(const ds_supervisor *c)
{
    return c->scene_fd;
}
