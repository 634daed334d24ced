/* SPDX-License-Identifier: Apache-2.0 */
/* progress.c - statistics and progress line of a run with its clock, and the table of several runs. */
#include "config.h"

#include "progress/progress.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/stop.h"
#include "base/text.h"
#include "protect/call_state.h"

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

enum { TICK_NS = 250000000, MEMORY_TICKS = 40 /* the rate is that of the last 10 s */, RATE_COUNT = 10 };

struct ds_progress {
    const ds_statistics *statistics;
    char *title;
    uint64_t budget;
    double seconds;
    uint64_t recorded; /* evaluations in the record */
    atomic_int *stop;
    atomic_ullong start; /* ds_clock_ns() of the first live evaluation; 0 = still replaying */
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

/* The rate of a replay would mislead, so none is shown. */
static void show_replay(const ds_progress *p)
{
    char line[400];
    uint64_t done = atomic_load_explicit(&p->statistics->shown_replayed, memory_order_relaxed);
    ds_piece piece[] = {
        {.weight = 1}, {.text = "replaying the record, ", .brief = "record ", .weight = 2}, {.weight = 3}};
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
    /* Slow evaluations need the mean of all: the last 10 s hold too few. */
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
    /* Without room for all: progress, time and loss stay longest, the rate goes first. */
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
        uint64_t start = atomic_load(&p->start);
        int limited = p->seconds > 0.0 && start != 0;
        double left = limited ? p->seconds - 1e-9 * (double)(ds_clock_ns() - start) : 1.0;
        const uint64_t until =
            ds_clock_ns() + (left > 0.0 && 1e9 * left < TICK_NS ? (uint64_t)(1e9 * left) + 1000 : TICK_NS);
        int rc;
        while ((rc = ds_sem_wait_until(&p->quit, until)) != 0 && errno == EINTR) {
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

/* ---- lines for a given width ---- */

enum { PIECES_MAX = 16 };
enum { WHOLE = 0, SHORT = 1, OUT = 2 };

size_t ds_text_columns(const char *text)
{
    size_t n = 0;
    for (; *text != '\0'; text++) {
        n += ((unsigned char)*text & 0xc0) != 0x80;
    }
    return n;
}

static const char *said(const ds_piece *p, int how)
{
    return how == WHOLE ? p->text : how == SHORT ? p->brief : "";
}

void ds_pieces_line(char *out, size_t room, size_t width, const ds_piece *piece, size_t count)
{
    int how[PIECES_MAX] = {WHOLE};
    count = count < PIECES_MAX ? count : PIECES_MAX;
    for (;;) {
        size_t columns = 0, bytes = 0, least = count;
        for (size_t i = 0; i < count; i++) {
            columns += ds_text_columns(said(&piece[i], how[i]));
            bytes += strlen(said(&piece[i], how[i]));
            if (how[i] != OUT && (least == count || piece[i].weight < piece[least].weight)) {
                least = i;
            }
        }
        if (least == count || (columns <= width && bytes < room)) {
            break;
        }
        how[least] = how[least] == WHOLE && piece[least].brief[0] != '\0' ? SHORT : OUT;
    }
    out[0] = '\0';
    for (size_t i = 0, n = 0; i < count; i++) {
        n += (size_t)snprintf(out + n, room - n, "%s", said(&piece[i], how[i]));
    }
}

/* ---- tables of runs ---- */

enum { ROWS_MAX = 60, NAME_MAX_COLUMNS = 28 };

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Quantile of sorted losses with linear interpolation, as in reports. */
static double quantile(const double *x, size_t n, double q)
{
    const double at = q * (double)(n - 1), share = at - floor(at);
    const size_t k = (size_t)at;
    return n == 0                                               ? (double)NAN
           : share > 0 && x[k] < x[k + 1] && isfinite(x[k + 1]) ? x[k] + share * (x[k + 1] - x[k])
           : share > 0 && x[k] < x[k + 1]                       ? (double)INFINITY
                                                                : x[k];
}

static int by_median(const void *a, const void *b)
{
    const ds_runs_row *x = a, *y = b;
    const double s = quantile(x->loss, x->done, 0.5), t = quantile(y->loss, y->done, 0.5);
    return isnan(s) || isnan(t) ? isnan(s) - isnan(t) : (s > t) - (s < t);
}

static const char *loss_text(double v, char text[24])
{
    snprintf(text, 24, isnan(v) ? "-" : isinf(v) ? "none" : "%.5g", v);
    return text;
}

/* Writes "name" padded to `width` columns. A longer name loses letters in the middle, so that names with
 * different ends (`@seed=1`, `@seed=2`) stay different. */
static void pad(char *out, size_t room, const char *name, size_t width)
{
    const size_t all = ds_text_columns(name), cut = all > width ? all - width + 2 : 0;
    const size_t from = cut > 0 ? (width - 2) / 2 : all, to = from + cut; /* letters to leave out */
    size_t n = 0, columns = 0;
    for (size_t i = 0, letter = 0; name[i] != '\0' && n + 4 < room; i++) {
        const int begins = ((unsigned char)name[i] & 0xc0) != 0x80;
        letter += (size_t)begins;
        if (letter > from && letter <= to) {
            if (begins && letter <= from + 2) {
                out[n++] = '.';
                columns++;
            }
            continue;
        }
        columns += (size_t)begins;
        out[n++] = name[i];
    }
    for (; columns < width && n + 1 < room; columns++) {
        out[n++] = ' ';
    }
    out[n] = '\0';
}

static size_t widest(const ds_runs_row *row, size_t rows, int opt)
{
    size_t width = opt ? strlen("optimizer") : strlen("environment");
    for (size_t i = 0; i < rows; i++) {
        const size_t n = ds_text_columns(opt ? row[i].opt : row[i].env);
        width = n > width ? n : width;
    }
    return width < NAME_MAX_COLUMNS ? width : NAME_MAX_COLUMNS;
}

static void say_row(const ds_runs_row *r, size_t env_width, size_t opt_width)
{
    char env[160], opt[160], best[24], median[24], low[24], high[24], half[52] = "-", runs[48], time[32];
    pad(env, sizeof env, r->env, env_width);
    pad(opt, sizeof opt, r->opt, opt_width);
    snprintf(runs, sizeof runs, r->done < r->planned ? "%zu of %zu" : "%zu", r->done, r->planned);
    if (r->done > 1) {
        snprintf(half, sizeof half, "%s .. %s", loss_text(quantile(r->loss, r->done, 0.25), low),
                 loss_text(quantile(r->loss, r->done, 0.75), high));
    }
    if (r->wall_s < 10) {
        snprintf(time, sizeof time, "%.1f s", r->wall_s);
    } else {
        ds_duration_text(r->wall_s, time, sizeof time);
    }
    ds_log(DS_LOG_INFO, NULL, "  %s  %s  %8s  %11s  %11s  %23s  %9s  %6zu", env, opt, runs,
           loss_text(r->done > 0 ? r->loss[0] : (double)NAN, best),
           loss_text(quantile(r->loss, r->done, 0.5), median), half, time, r->failed);
}

void ds_runs_table(ds_runs_row *row, size_t rows, const char *folder)
{
    char env[160], opt[160], *word = NULL;
    size_t size = 0;
    for (size_t i = 0; i < rows; i++) {
        qsort(row[i].loss, row[i].done, sizeof *row[i].loss, ascending);
    }
    for (size_t i = 0, end; i < rows; i = end) {
        for (end = i; end < rows && strcmp(row[end].env, row[i].env) == 0; end++) {
        }
        qsort(row + i, end - i, sizeof *row, by_median);
    }
    const size_t env_width = widest(row, rows, 0), opt_width = widest(row, rows, 1);
    pad(env, sizeof env, "environment", env_width);
    pad(opt, sizeof opt, "optimizer", opt_width);
    ds_log(DS_LOG_INFO, NULL, "  %s  %s  %8s  %11s  %11s  %23s  %9s  %6s", env, opt, "runs", "best loss",
           "median", "interquartile range", "time", "failed");
    for (size_t i = 0; i < rows && i < ROWS_MAX; i++) {
        say_row(&row[i], env_width, opt_width);
    }
    if (rows > ROWS_MAX) {
        ds_log(DS_LOG_INFO, NULL, "  and %zu more", rows - ROWS_MAX);
    }
    FILE *f = open_memstream(&word, &size);
    if (f != NULL) {
        ds_text_shell_word(f, folder);
        if (fclose(f) == 0) {
            ds_log(DS_LOG_INFO, NULL, "figures, intervals and tests: dshost report %s", word);
        }
    }
    free(word);
}
