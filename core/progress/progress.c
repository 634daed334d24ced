/* SPDX-License-Identifier: Apache-2.0 */
/* progress.c - counts, the best point, the progress line of a run, and its clock. */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "progress/pieces.h"
#include "base/stop.h"
#include "protect/call_state.h"
#include "progress/progress.h"

enum { TICK_NS = 250000000, MEMORY_TICKS = 40 /* the rate is that of the last 10 s */, RATE_COUNT = 10 };

struct ds_progress {
    const ds_statistics *statistics;
    char *title;
    uint64_t budget;
    double seconds;
    uint64_t recorded; /* evaluations that are repeated first */
    atomic_int *stop;
    atomic_ullong start; /* ds_clock_ns() of the first live evaluation; 0 = still repeating the record */
    pthread_t thread;
    sem_t quit;
    uint64_t past[MEMORY_TICKS]; /* live evaluations at the last ticks */
    uint64_t when[MEMORY_TICKS];
    uint64_t tick;
};

int ds_statistics_open(ds_statistics *l, uint64_t n)
{
    memset(l, 0, sizeof(*l));
    l->n = n;
    l->best_loss = (double)INFINITY;
    atomic_store(&l->shown_best, (double)INFINITY);
    l->best_x = calloc(n, sizeof(double));
    return l->best_x != NULL ? 0 : -1;
}

void ds_statistics_close(ds_statistics *l)
{
    free(l->best_x);
    l->best_x = NULL;
}

int ds_statistics_add(ds_statistics *l, const double *x, const ds_answer *answer, uint32_t want, int replayed)
{
    l->count++;
    l->outcome[answer->outcome < DS_OUTCOMES ? answer->outcome : DS_EVAL_INVALID]++;
    l->cost_steps = ds_cost_sum(l->cost_steps, answer->cost_steps);
    l->wall_s += answer->wall_s;
    l->gradients += (want & DS_WANT_GRAD) != 0;
    if (answer->outcome > DS_EVAL_BAD_GRAD && answer->outcome != DS_EVAL_INFEASIBLE) {
        l->failed++;
        atomic_store_explicit(&l->shown_failed, l->failed, memory_order_relaxed);
    }
    if (replayed) {
        l->replayed++;
        atomic_store_explicit(&l->shown_replayed, l->replayed, memory_order_relaxed);
    }
    atomic_store_explicit(&l->shown_count, l->count, memory_order_relaxed);
    if (!(answer->loss < l->best_loss)) {
        return 0;
    }
    l->best_loss = answer->loss;
    l->best_id = l->count;
    memcpy(l->best_x, x, l->n * sizeof(double));
    atomic_store_explicit(&l->shown_best, l->best_loss, memory_order_relaxed);
    return 1;
}

/* While the record is repeated there is no rate worth showing. */
static void show_replay(const ds_progress *p)
{
    char line[400];
    uint64_t done = atomic_load_explicit(&p->statistics->shown_replayed, memory_order_relaxed);
    ds_piece piece[] = {
        {.weight = 1}, {.text = "repeating the record, ", .brief = "record ", .weight = 2}, {.weight = 3}};
    snprintf(piece[0].text, sizeof piece[0].text, "%s: ", p->title);
    snprintf(piece[2].text, sizeof piece[2].text, "%llu of %llu", (unsigned long long)done,
             (unsigned long long)p->recorded);
    ds_pieces_line(line, sizeof line, ds_log_columns(), piece, sizeof piece / sizeof *piece);
    ds_log_progress(line);
}

static void show(ds_progress *p, uint64_t start)
{
    const ds_statistics *l = p->statistics;
    uint64_t now = ds_clock_ns();
    uint64_t count = atomic_load_explicit(&l->shown_count, memory_order_relaxed);
    uint64_t replayed = atomic_load_explicit(&l->shown_replayed, memory_order_relaxed);
    uint64_t failed = atomic_load_explicit(&l->shown_failed, memory_order_relaxed);
    double best = atomic_load_explicit(&l->shown_best, memory_order_relaxed);
    uint64_t live = count > replayed ? count - replayed : 0;
    uint64_t slot = p->tick % MEMORY_TICKS;
    /* Where evaluations are slow the last 10 s say nothing: take the mean of all. */
    int recent = p->tick >= MEMORY_TICKS && live - p->past[slot] >= RATE_COUNT;
    uint64_t since = recent ? p->when[slot] : start;
    uint64_t then = recent ? p->past[slot] : 0;
    double rate = (double)(live - then) / (1e-9 * (double)(now - since) + 1e-9);
    char eta[32] = "?";
    char line[400];
    p->past[slot] = live;
    p->when[slot] = now;
    p->tick++;
    double left =
        rate > 0.0 ? (double)(p->budget - (count < p->budget ? count : p->budget)) / rate : (double)INFINITY;
    double clock_left = p->seconds > 0.0 ? p->seconds - 1e-9 * (double)(now - start) : (double)INFINITY;
    left = left < clock_left ? left : clock_left;
    if (isfinite(left)) {
        ds_duration_text(left > 0.0 ? left : 0.0, eta, sizeof(eta));
    }
    /* Where there is little room: how far, how long, how good; the rate goes first. */
    ds_piece piece[] = {{.weight = 2}, {.weight = 6}, {.weight = 3},
                        {.weight = 1}, {.weight = 5}, {.weight = 4}};
    snprintf(piece[0].text, sizeof piece[0].text, "%s: ", p->title);
    snprintf(piece[1].text, sizeof piece[1].text, "%llu/%llu", (unsigned long long)count,
             (unsigned long long)p->budget);
    if (isfinite(best)) {
        snprintf(piece[2].text, sizeof piece[2].text, ", best loss %.6g", best);
        snprintf(piece[2].brief, sizeof piece[2].brief, ", best %.4g", best);
    }
    if (live > 0) {
        snprintf(piece[3].text, sizeof piece[3].text, ", %.*f evaluations/s", rate < 10.0 ? 2 : 0, rate);
        snprintf(piece[3].brief, sizeof piece[3].brief, ", %.*f/s", rate < 10.0 ? 2 : 0, rate);
    } else {
        snprintf(piece[3].text, sizeof piece[3].text, ", first evaluations running");
    }
    snprintf(piece[4].text, sizeof piece[4].text, ", %s left", eta);
    if (failed > 0) {
        snprintf(piece[5].text, sizeof piece[5].text, ", %llu failed", (unsigned long long)failed);
    }
    ds_pieces_line(line, sizeof line, ds_log_columns(), piece, sizeof piece / sizeof *piece);
    ds_log_progress(line);
}

static void *tick(void *arg)
{
    ds_progress *p = arg;
    ds_locale_use_c();
    for (;;) {
        struct timespec until;
        uint64_t start = atomic_load(&p->start);
        int limited = p->seconds > 0.0 && start != 0;
        double left = limited ? p->seconds - 1e-9 * (double)(ds_clock_ns() - start) : 1.0;
        clock_gettime(CLOCK_MONOTONIC, &until); /* the other clock may be set back */
        until.tv_nsec += left > 0.0 && 1e9 * left < TICK_NS ? (long)(1e9 * left) + 1000 : TICK_NS;
        if (until.tv_nsec >= 1000000000) {
            until.tv_nsec -= 1000000000;
            until.tv_sec++;
        }
        int rc;
        while ((rc = sem_clockwait(&p->quit, CLOCK_MONOTONIC, &until)) != 0 && errno == EINTR) {
        }
        if (rc == 0) {
            return NULL;
        }
        if (start == 0) {
            if (p->title != NULL) {
                show_replay(p);
            }
            continue;
        }
        if (limited && 1e-9 * (double)(ds_clock_ns() - start) >= p->seconds) {
            ds_stop_raise_flag(p->stop, DS_STOP_TIME);
        }
        if (p->title != NULL) {
            show(p, start);
        }
    }
}

static void discard(ds_progress *p)
{
    sem_destroy(&p->quit);
    free(p->title);
    free(p);
}

int ds_progress_open(const ds_statistics *statistics, const ds_progress_config *config, ds_progress **out,
                     ds_error *e)
{
    ds_progress *p = calloc(1, sizeof(*p));
    if (p == NULL || (config->title != NULL && (p->title = strdup(config->title)) == NULL)) {
        free(p);
        return ds_no_memory(e);
    }
    p->statistics = statistics;
    p->budget = config->budget;
    p->seconds = config->seconds;
    p->recorded = config->recorded;
    p->stop = config->stop;
    atomic_store(&p->start, p->recorded > 0 ? 0 : ds_clock_ns());
    sem_init(&p->quit, 0, 0);
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int code = pthread_create(&p->thread, NULL, tick, p);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (code != 0) {
        discard(p);
        return ds_no_thread("of the progress line", code, e);
    }
    *out = p;
    return 0;
}

void ds_progress_live(ds_progress *p)
{
    unsigned long long none = 0;
    if (p != NULL) {
        atomic_compare_exchange_strong(&p->start, &none, ds_clock_ns());
    }
}

void ds_progress_close(ds_progress *p)
{
    if (p != NULL) {
        sem_post(&p->quit);
        pthread_join(p->thread, NULL);
        if (p->title != NULL) {
            ds_log_progress("");
        }
        discard(p);
    }
}
