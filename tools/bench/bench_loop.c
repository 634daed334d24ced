/* SPDX-License-Identifier: Apache-2.0 */
/* bench_loop.c - works through the queue, on one or many machines. */
#include "config.h"

#include "bench/experiment.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/stop.h"
#include "base/text.h"

enum {
    HELLO = 1, /* rank -> 0: fingerprint of the experiment */
    ASK,       /* rank -> 0: a slot is free */
    EVENT,     /* rank -> 0: a run has progressed or ended */
    HALT,      /* both ways: a signal arrived, end the runs */
    RUN,       /* 0 -> rank: start this run */
    QUIT,      /* 0 -> rank: all is done */
    ALIVE,     /* both ways: every ALIVE_NS */
};

enum { WAIT_ALONE_MS = 200, WAIT_MS = 3, PROGRESS_NS = 500000000, LOCKED_MS = 100 };

static const uint64_t ALIVE_NS = 1000000000;

/* Ranks wait this many times longer for rank 0, which may have to write to a slow disk. */
enum { LEADER_PATIENCE = 5 };

/* A rank that is silent for this long is lost: its runs return to the queue. */
static uint64_t patience_ns(void)
{
    const char *text = getenv("DS_RANK_TIMEOUT");
    int64_t seconds = 0;
    int given = text != NULL && ds_parse_int(text, &seconds) && seconds > 0 && seconds < 1000000;
    return 1000000000u * (uint64_t)(given ? seconds : 60);
}

typedef struct message {
    int kind, status;
    uint64_t digest;
    ds_bench_event event;
    char text[1024];
} message;

static int is_alone(const ds_ranks *ranks)
{
    return ranks == NULL || ranks->size < 2;
}

static void say(const ds_ranks *ranks, int to, int kind, size_t run)
{
    const message m = {.kind = kind, .event.run = run};
    ranks->send(ranks, to, &m, sizeof(m));
}

static void say_all(const ds_ranks *ranks, int kind)
{
    for (int r = 1; !is_alone(ranks) && r < ranks->size; r++) {
        say(ranks, r, kind, 0);
    }
}

void ds_bench_dismiss(const ds_ranks *ranks)
{
    say_all(ranks, QUIT);
}

/* ---- agreement ---- */

/* FNV-1a of the effective experiment, which detects ranks with another file or other plugins. */
static uint64_t digest_of(const ds_bench_plan *p)
{
    ds_error e = {0, ""};
    char *text = ds_bench_plan_text(p, &e);
    uint64_t h = 14695981039346656037u;
    for (const char *c = text; c != NULL && *c != '\0'; c++) {
        h = (h ^ (unsigned char)*c) * 1099511628211u;
    }
    for (size_t i = 0; i < p->cells; i++) { /* --only */
        h = (h ^ (unsigned)p->cell[i].wanted) * 1099511628211u;
    }
    free(text);
    return h;
}

static void wait_for(const ds_ranks *ranks, int *from, message *m)
{
    while (!ranks->receive(ranks, from, m, sizeof(*m))) {
        ds_sleep_ms(WAIT_MS);
    }
}

int ds_bench_agree(const ds_bench_plan *plan, const ds_ranks *ranks, int status, ds_error *e)
{
    message m = {0};
    int from = 0;
    int failed = status != 0;
    uint64_t mine = failed ? 0 : digest_of(plan);
    if (is_alone(ranks)) {
        return status;
    }
    if (ranks->rank != 0) {
        m.kind = HELLO;
        m.status = status;
        m.digest = mine;
        snprintf(m.text, sizeof(m.text), "%s", failed ? e->text : "");
        ranks->send(ranks, 0, &m, sizeof(m));
        wait_for(ranks, &from, &m);
        return m.kind == HELLO ? 0 : -1;
    }
    for (int k = 1; k < ranks->size; k++) {
        wait_for(ranks, &from, &m);
        if (status == 0 && m.status != 0) {
            status = ds_fail(e, m.status, "rank %d: %.900s", from, m.text);
        } else if (status == 0 && m.digest != mine) {
            status = ds_fail(e, DS_EXIT_CONFIG,
                             "rank %d sees another experiment than rank 0: its %s, or the versions or "
                             "parameters of its plugins, differ; install the same everywhere",
                             from, plan->path);
        }
    }
    say_all(ranks, status == 0 ? HELLO : QUIT);
    return status;
}

/* ---- rank 0 ---- */

typedef struct leader {
    ds_bench_state *state;
    const ds_ranks *ranks;
    ds_bench_work *work;
    size_t *asked; /* free slots of every rank that wait for a run */
    size_t slots;  /* of all ranks that have asked */
    size_t *of_rank;
    int *owner;      /* rank that does the run, or 0 */
    uint64_t *heard; /* ds_clock_ns() of the last message of every rank; 0 = lost */
    char *told;      /* lost ranks that were heard again, and dismissed */
    uint64_t looked; /* ds_clock_ns() of the last check of the ranks */
    uint64_t patience, shown, alive;
    int halted;
    int status;
    ds_error *e;
} leader;

static void note(leader *l, const ds_bench_event *v)
{
    ds_bench_state *s = l->state;
    ds_bench_run *r = &s->run[v->run];
    if (!v->ended) {
        r->evaluations = v->evaluations > r->evaluations ? v->evaluations : r->evaluations;
        return;
    }
    l->owner[v->run] = 0;
    ds_bench_ended(s, v->run, v->status, v->error);
    if (v->status == DS_EXIT_LOCKED) { /* its owner may be about to end */
        ds_sleep_ms(LOCKED_MS);
    }
    if (r->state == DS_BENCH_FAILED) {
        char *name = ds_bench_run_name(s->plan, v->run);
        ds_log(DS_LOG_WARNING, NULL, "%s failed (status %d): %s", name != NULL ? name : "?", r->status,
               r->error != NULL ? r->error : "no message");
        free(name);
        int rc = ds_bench_state_write(s, 1, l->e);
        l->status = l->status != 0 ? l->status : rc;
    }
}

/* Starts a run; on failure *v gives the reason, and 1 is returned. */
static int begin_failed(ds_bench_work *work, size_t run, ds_bench_event *v)
{
    ds_error why = {0, ""};
    int rc = ds_bench_work_start(work, run, &why);
    *v = (ds_bench_event){.run = run, .ended = rc != 0, .status = why.status};
    snprintf(v->error, sizeof(v->error), "%.399s", why.text);
    return rc != 0;
}

static void start_here(leader *l)
{
    long k;
    ds_bench_event v;
    while (ds_bench_work_free(l->work) > 0 && (k = ds_bench_take(l->state)) >= 0) {
        if (begin_failed(l->work, (size_t)k, &v)) {
            note(l, &v);
        }
    }
}

/* Gives runs to the ranks that wait, while there are any. */
static void start_elsewhere(leader *l)
{
    for (int r = 1; !is_alone(l->ranks) && r < l->ranks->size; r++) {
        long k;
        while (l->asked[r] > 0 && (k = ds_bench_take(l->state)) >= 0) {
            l->asked[r]--;
            l->owner[k] = r;
            say(l->ranks, r, RUN, (size_t)k);
        }
    }
}

/* A rank given up as lost is alive: others do its runs by now, so it must save and end. */
static void send_home(leader *l, int rank)
{
    if (!l->told[rank]) {
        l->told[rank] = 1;
        say(l->ranks, rank, HALT, 0);
        say(l->ranks, rank, QUIT, 0);
    }
}

static void receive_all(leader *l)
{
    message m;
    int from = 0;
    while (!is_alone(l->ranks) && l->ranks->receive(l->ranks, &from, &m, sizeof(m))) {
        if (l->heard[from] == 0) {
            send_home(l, from);
            continue;
        }
        l->heard[from] = ds_clock_ns();
        switch (m.kind) {
        case ASK:
            l->asked[from]++;
            if (l->asked[from] > l->of_rank[from]) {
                l->of_rank[from] = l->asked[from];
                l->slots++;
            }
            break;
        case EVENT:
            note(l, &m.event);
            break;
        case HALT:
            ds_stop_raise(m.status);
            break;
        default:
            break;
        }
    }
}

static void halt_all(leader *l)
{
    for (int r = 1; !is_alone(l->ranks) && r < l->ranks->size; r++) {
        if (l->heard[r] != 0) {
            say(l->ranks, r, HALT, 0);
        }
    }
}

static void lose(leader *l, int rank, uint64_t silent)
{
    size_t back = 0;
    l->heard[rank] = 0;
    l->slots -= l->of_rank[rank];
    l->asked[rank] = 0;
    for (size_t k = 0; k < l->state->plan->runs; k++) {
        if (l->owner[k] == rank) {
            l->owner[k] = 0;
            ds_bench_give_back(l->state, k);
            back++;
        }
    }
    ds_log(DS_LOG_WARNING, NULL, "rank %d is lost (silent for %llu s): its %zu runs go back to the queue",
           rank, (unsigned long long)(silent / 1000000000), back);
}

static void lose_silent(leader *l)
{
    uint64_t now = ds_clock_ns();
    int asleep = now - l->looked > l->patience / 2; /* this process was halted, not they */
    l->looked = now;
    for (int r = 1; !is_alone(l->ranks) && r < l->ranks->size; r++) {
        l->heard[r] = asleep && l->heard[r] != 0 ? now : l->heard[r];
        if (l->heard[r] != 0 && now - l->heard[r] > l->patience) {
            lose(l, r, now - l->heard[r]);
        }
    }
}

/* Keeps ranks whose leader is lost from waiting forever. */
static void say_alive(leader *l)
{
    uint64_t now = ds_clock_ns();
    if (now - l->alive < ALIVE_NS) {
        return;
    }
    l->alive = now;
    for (int r = 1; !is_alone(l->ranks) && r < l->ranks->size; r++) {
        if (l->heard[r] != 0) {
            say(l->ranks, r, ALIVE, 0);
        }
    }
}

static void show(leader *l)
{
    uint64_t now = ds_clock_ns();
    if (now - l->shown >= PROGRESS_NS) {
        char line[500];
        l->shown = now;
        ds_bench_progress(l->state, l->slots, line, sizeof(line));
        ds_log_progress(line);
    }
}

static int open_leader(leader *l, size_t size, ds_error *e)
{
    size_t jobs = (size_t)l->state->plan->jobs;
    l->asked = calloc(size, sizeof(*l->asked));
    l->of_rank = calloc(size, sizeof(*l->of_rank));
    l->owner = calloc(l->state->plan->runs, sizeof(*l->owner));
    l->heard = calloc(size, sizeof(*l->heard));
    l->told = calloc(size, sizeof(*l->told));
    if (l->asked == NULL || l->of_rank == NULL || l->owner == NULL || l->heard == NULL || l->told == NULL) {
        return ds_no_memory(e);
    }
    for (size_t r = 0; r < size; r++) {
        l->heard[r] = l->looked;
    }
    int rc = ds_bench_work_open(l->state->plan, jobs, &l->work, e);
    return rc != 0 ? rc : ds_bench_state_write(l->state, 1, e);
}

/* Dismisses all ranks; returns how many are lost. */
static size_t close_leader(leader *l, size_t size)
{
    size_t lost = 0;
    for (size_t r = 1; r < size; r++) {
        if (l->heard != NULL && l->heard[r] == 0) {
            lost++;
        } else {
            say(l->ranks, (int)r, QUIT, 0);
        }
    }
    ds_bench_work_close(l->work);
    free(l->asked);
    free(l->of_rank);
    free(l->owner);
    free(l->heard);
    free(l->told);
    return lost;
}

int ds_bench_loop(ds_bench_state *state, const ds_ranks *ranks, size_t *lost, ds_error *e)
{
    size_t size = is_alone(ranks) ? 1 : (size_t)ranks->size;
    uint64_t now = ds_clock_ns();
    leader l = {.state = state,
                .ranks = ranks,
                .slots = (size_t)state->plan->jobs,
                .e = e,
                .shown = now,
                .looked = now,
                .patience = patience_ns()};
    int rc = open_leader(&l, size, e);
    while (rc == 0) {
        int halt = atomic_load(&ds_stop_flag) != 0 || l.status != 0;
        if (halt && !l.halted) {
            l.halted = 1;
            ds_bench_work_stop(l.work);
            halt_all(&l);
        }
        receive_all(&l);
        lose_silent(&l);
        say_alive(&l);
        if (!l.halted) {
            start_here(&l);
            start_elsewhere(&l);
        }
        if (state->running == 0 &&
            (l.halted || state->done + state->failed + state->stopped == state->mine)) {
            break;
        }
        ds_bench_event v;
        if (ds_bench_work_next(l.work, is_alone(ranks) ? WAIT_ALONE_MS : WAIT_MS, &v)) {
            note(&l, &v);
        }
        int wrote = ds_bench_state_write(state, 0, e);
        l.status = l.status != 0 ? l.status : wrote;
        show(&l);
    }
    ds_log_progress("");
    *lost = close_leader(&l, size);
    rc = rc != 0 ? rc : l.status;
    ds_error late = {0, ""};
    int wrote = ds_bench_state_write(state, 1, rc == 0 ? e : &late);
    return rc != 0 ? rc : wrote;
}

/* ---- the other ranks ---- */

static void report(const ds_ranks *ranks, const ds_bench_event *v)
{
    const message m = {.kind = EVENT, .event = *v};
    ranks->send(ranks, 0, &m, sizeof(m));
}

static void begin_run(const ds_ranks *ranks, ds_bench_work *work, size_t run)
{
    /* Without a free slot: a stop arrived in the meantime. */
    ds_bench_event v = {.run = run, .ended = 1, .status = DS_EXIT_SIGTERM};
    if (ds_bench_work_free(work) == 0 || begin_failed(work, run, &v)) {
        report(ranks, &v);
    }
}

typedef struct follower {
    size_t asked;
    int quit, halted;
    uint64_t heard; /* ds_clock_ns() of the last message of rank 0; 0 = its loop has not begun */
    uint64_t told;  /* ds_clock_ns() of our last ALIVE */
    uint64_t patience;
} follower;

static void halt_leader(const ds_ranks *ranks)
{
    const message m = {.kind = HALT, .status = atomic_load(&ds_stop_flag)};
    ranks->send(ranks, 0, &m, sizeof(m));
}

/* Handles a message of rank 0. */
static void obey(const ds_ranks *ranks, ds_bench_work *work, follower *f)
{
    message m;
    int from = 0;
    while (ranks->receive(ranks, &from, &m, sizeof(m))) {
        f->heard = ds_clock_ns();
        if (m.kind == RUN) {
            f->asked--;
            begin_run(ranks, work, m.event.run);
        } else if (m.kind == HALT) {
            ds_stop_raise(SIGTERM);
        } else if (m.kind == QUIT) {
            f->quit = 1;
        }
    }
}

/* Sends ALIVE to rank 0. Returns whether rank 0 is alive. */
static int keep_touch(const ds_ranks *ranks, follower *f)
{
    uint64_t now = ds_clock_ns();
    int asleep = now - f->told > f->patience / 2;
    f->heard = asleep && f->heard != 0 ? now : f->heard;
    if (now - f->told > ALIVE_NS) {
        f->told = now;
        say(ranks, 0, ALIVE, 0);
    }
    return f->heard == 0 || now - f->heard < LEADER_PATIENCE * f->patience;
}

int ds_bench_follow(const ds_bench_plan *plan, const ds_ranks *ranks, size_t *lost, ds_error *e)
{
    follower f = {.told = ds_clock_ns(), .patience = patience_ns()};
    ds_bench_work *work = NULL;
    int rc = ds_bench_work_open(plan, (size_t)plan->jobs, &work, e);
    *lost = 0;
    if (rc != 0) {
        return rc;
    }
    while (!f.quit || ds_bench_work_busy(work) > 0) {
        ds_bench_event v;
        if (atomic_load(&ds_stop_flag) != 0 && !f.halted) {
            f.halted = 1;
            ds_bench_work_stop(work);
            halt_leader(ranks);
        }
        for (; !f.quit && f.asked < ds_bench_work_free(work); f.asked++) {
            say(ranks, 0, ASK, 0);
        }
        obey(ranks, work, &f);
        if (!f.quit && !keep_touch(ranks, &f)) {
            *lost = 1;
            rc = ds_fail(e, DS_EXIT_IO, "rank %d: rank 0 is lost; run the same command again to continue",
                         ranks->rank);
            break;
        }
        if (ds_bench_work_next(work, WAIT_MS, &v)) {
            report(ranks, &v);
        }
    }
    ds_bench_work_close(work);
    return rc;
}
