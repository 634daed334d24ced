/* SPDX-License-Identifier: Apache-2.0 */
/* bench_loop.c - the queue at work, on one or on many machines. */
#include "config.h"

#include "bench_loop.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench_work.h"
#include "log.h"
#include "share.h"
#include "signals.h"

enum {
    HELLO = 1, /* rank -> 0: what it thinks the experiment is */
    ASK,       /* rank -> 0: a slot is free */
    EVENT,     /* rank -> 0: a run got on, or ended */
    HALT,      /* both ways: a signal came, end the runs */
    RUN,       /* 0 -> rank: do this run */
    QUIT,      /* 0 -> rank: all is done */
};

enum { WAIT_ALONE_MS = 200, WAIT_MS = 3, PROGRESS_NS = 500000000, LOCKED_MS = 100 };

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
    message m;
    memset(&m, 0, sizeof(m));
    m.kind = kind;
    m.event.run = run;
    ranks->send(ranks, to, &m, sizeof(m));
}

static void say_all(const ds_ranks *ranks, int kind)
{
    for (int r = 1; !is_alone(ranks) && r < ranks->size; r++) {
        say(ranks, r, kind, 0);
    }
}

/* ---- agreement ---- */

/* FNV-1a of the effective experiment, so that a rank with another file or other plugins is found out. */
static uint64_t digest_of(const ds_bench_plan *p)
{
    ds_error e = {0, ""};
    char *text = ds_bench_plan_text(p, &e);
    uint64_t h = 14695981039346656037u;
    for (const char *c = text; c != NULL && *c != '\0'; c++) {
        h = (h ^ (unsigned char)*c) * 1099511628211u;
    }
    for (size_t i = 0; i < p->cells; i++) { /* --only */
        for (const char *c = p->cell[i].name; *c != '\0'; c++) {
            h = (h ^ (unsigned char)*c) * 1099511628211u;
        }
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
    message m;
    int from = 0;
    int failed = status != 0;
    uint64_t mine = failed ? 0 : digest_of(plan);
    if (is_alone(ranks)) {
        return status;
    }
    memset(&m, 0, sizeof(m));
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
            status = ds_fail(
                e, DS_EXIT_CONFIG,
                "rank %d sees another experiment than rank 0: its %s, or the versions or parameters of its "
                "plugins, differ; install the same everywhere",
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
    size_t slots;  /* of all ranks, as far as they have asked */
    size_t *of_rank;
    uint64_t shown;
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
    ds_bench_ended(s, v->run, v->status, v->error);
    if (v->status == DS_EXIT_LOCKED) { /* the one who has it may be about to end */
        ds_sleep_ms(LOCKED_MS);
    }
    if (r->state == DS_BENCH_FAILED) {
        char *name = ds_bench_run_name(s->plan, v->run);
        ds_log(DS_LOG_WARNING, NULL, "%s failed (status %d): %s", name != NULL ? name : "?", r->status,
               r->error != NULL ? r->error : "it said nothing");
        free(name);
    }
    int rc = ds_bench_state_write(s, r->state == DS_BENCH_FAILED, l->e);
    l->status = l->status != 0 ? l->status : rc;
}

static void start_here(leader *l)
{
    long k;
    while (ds_bench_work_free(l->work) > 0 && (k = ds_bench_take(l->state)) >= 0) {
        ds_bench_event v;
        ds_error why = {0, ""};
        memset(&v, 0, sizeof(v));
        if (ds_bench_work_start(l->work, (size_t)k, &why) != 0) {
            v.run = (size_t)k;
            v.ended = 1;
            v.status = why.status;
            snprintf(v.error, sizeof(v.error), "%.399s", why.text);
            note(l, &v);
        }
    }
}

/* Answers those who asked, as long as there is work. */
static void start_elsewhere(leader *l)
{
    for (int r = 1; !is_alone(l->ranks) && r < l->ranks->size; r++) {
        long k;
        while (l->asked[r] > 0 && (k = ds_bench_take(l->state)) >= 0) {
            l->asked[r]--;
            say(l->ranks, r, RUN, (size_t)k);
        }
    }
}

static void receive_all(leader *l)
{
    message m;
    int from = 0;
    while (!is_alone(l->ranks) && l->ranks->receive(l->ranks, &from, &m, sizeof(m))) {
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

int ds_bench_loop(ds_bench_state *state, const ds_ranks *ranks, ds_error *e)
{
    size_t jobs = (size_t)state->plan->jobs;
    size_t size = is_alone(ranks) ? 1 : (size_t)ranks->size;
    leader l = {.state = state, .ranks = ranks, .slots = jobs, .e = e, .shown = ds_clock_ns()};
    l.asked = calloc(size, sizeof(*l.asked));
    l.of_rank = calloc(size, sizeof(*l.of_rank));
    int rc = l.asked == NULL || l.of_rank == NULL ? ds_fail(e, DS_EXIT_MEMORY, "out of memory")
                                                  : ds_bench_work_open(state->plan, jobs, &l.work, e);
    rc = rc != 0 ? rc : ds_bench_state_write(state, 1, e);
    while (rc == 0) {
        int halt = atomic_load(&ds_stop_flag) != 0 || l.status != 0;
        if (halt && !l.halted) {
            l.halted = 1;
            ds_bench_work_stop(l.work);
            say_all(ranks, HALT);
        }
        receive_all(&l);
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
        show(&l);
    }
    ds_log_progress("");
    say_all(ranks, QUIT);
    ds_bench_work_close(l.work);
    free(l.asked);
    free(l.of_rank);
    rc = rc != 0 ? rc : l.status;
    ds_error late = {0, ""};
    int wrote = ds_bench_state_write(state, 1, rc == 0 ? e : &late);
    return rc != 0 ? rc : wrote;
}

/* ---- the other ranks ---- */

static void report(const ds_ranks *ranks, const ds_bench_event *v)
{
    message m;
    memset(&m, 0, sizeof(m));
    m.kind = EVENT;
    m.event = *v;
    ranks->send(ranks, 0, &m, sizeof(m));
}

static void begin(const ds_ranks *ranks, ds_bench_work *work, size_t run)
{
    ds_bench_event v;
    ds_error why = {0, ""};
    memset(&v, 0, sizeof(v));
    if (ds_bench_work_free(work) == 0) { /* halted while it was on its way */
        v = (ds_bench_event){.run = run, .ended = 1, .status = DS_EXIT_SIGTERM};
    } else if (ds_bench_work_start(work, run, &why) != 0) {
        v = (ds_bench_event){.run = run, .ended = 1, .status = why.status};
        snprintf(v.error, sizeof(v.error), "%.399s", why.text);
    }
    if (v.ended) {
        report(ranks, &v);
    }
}

int ds_bench_follow(const ds_bench_plan *plan, const ds_ranks *ranks, ds_error *e)
{
    size_t asked = 0;
    int quit = 0, halted = 0;
    ds_bench_work *work = NULL;
    int rc = ds_bench_work_open(plan, (size_t)plan->jobs, &work, e);
    if (rc != 0) {
        return rc;
    }
    while (!quit || ds_bench_work_busy(work) > 0) {
        message m;
        int from = 0;
        ds_bench_event v;
        if (atomic_load(&ds_stop_flag) != 0 && !halted) {
            halted = 1;
            ds_bench_work_stop(work);
            memset(&m, 0, sizeof(m));
            m.kind = HALT;
            m.status = atomic_load(&ds_stop_flag);
            ranks->send(ranks, 0, &m, sizeof(m));
        }
        for (; !quit && asked < ds_bench_work_free(work); asked++) {
            say(ranks, 0, ASK, 0);
        }
        while (ranks->receive(ranks, &from, &m, sizeof(m))) {
            if (m.kind == RUN) {
                asked--;
                begin(ranks, work, m.event.run);
            } else if (m.kind == HALT) {
                ds_stop_raise(SIGTERM);
            } else if (m.kind == QUIT) {
                quit = 1;
            }
        }
        if (ds_bench_work_next(work, WAIT_MS, &v)) {
            report(ranks, &v);
        }
    }
    ds_bench_work_close(work);
    return 0;
}
