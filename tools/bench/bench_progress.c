/* SPDX-License-Identifier: Apache-2.0 */
/* bench_progress.c - how long an experiment still takes, from the runs that are done and those at work. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "progress/progress.h"
#include "bench/bench_state.h"

enum { CELLS_SHOWN = 3 };

/* Evaluations, and the seconds they took. */
typedef struct rate {
    double evaluations, seconds;
} rate;

typedef struct cell_sum {
    size_t all, done, running;
    rate pace;
    double left; /* seconds, INFINITY = not known */
} cell_sum;

/* What is known of all cells at one moment. */
typedef struct sums {
    cell_sum *cell;
    rate *env; /* pace of all cells of an environment */
    double left;
    size_t open;
} sums;

static void add_rate(rate *sum, const ds_bench_run *r, uint64_t now)
{
    if (r->state == DS_BENCH_RUNNING && r->evaluations > r->begun) {
        sum->evaluations += (double)(r->evaluations - r->begun);
        sum->seconds += 1e-9 * (double)(now - r->since);
    } else if (r->state == DS_BENCH_DONE && isfinite(r->wall_s)) {
        sum->evaluations += (double)r->evaluations;
        sum->seconds += r->wall_s;
    }
}

static void count_runs(const ds_bench_state *s, uint64_t now, sums *out)
{
    const ds_bench_plan *p = s->plan;
    for (size_t k = 0; k < p->runs; k++) {
        const ds_bench_run *r = &s->run[k];
        cell_sum *c = &out->cell[k % p->cells];
        if (ds_bench_is_here(p, k)) {
            add_rate(&c->pace, r, now);
            add_rate(&out->env[p->cell[k % p->cells].env], r, now);
        }
        if (ds_bench_is_mine(p, k)) {
            c->all++;
            c->running += r->state == DS_BENCH_RUNNING;
            c->done += r->state >= DS_BENCH_DONE;
            out->open += r->state < DS_BENCH_DONE;
        }
    }
}

/* Seconds that a run still takes, with the limit of its time. */
static double left_of(const ds_bench_plan *p, const ds_bench_run *r, double pace, uint64_t now)
{
    double left = r->evaluations < p->budget ? (double)(p->budget - r->evaluations) * pace : 0.0;
    double spent = r->state == DS_BENCH_RUNNING ? 1e-9 * (double)(now - r->since) : 0.0;
    return p->seconds > 0 ? fmin(left, fmax(0.0, p->seconds - spent)) : left;
}

/* Where no run of a cell tells its pace, that of the environment's other cells. */
static void add_times(const ds_bench_state *s, uint64_t now, sums *out)
{
    const ds_bench_plan *p = s->plan;
    for (size_t k = 0; k < p->runs; k++) {
        cell_sum *c = &out->cell[k % p->cells];
        if (!ds_bench_is_mine(p, k) || s->run[k].state >= DS_BENCH_DONE) {
            continue;
        }
        const rate *r = c->pace.evaluations > 0 ? &c->pace : &out->env[p->cell[k % p->cells].env];
        double pace = r->evaluations > 0 ? r->seconds / r->evaluations : (double)INFINITY;
        double left = left_of(p, &s->run[k], pace, now);
        c->left += left;
        out->left += left;
    }
}

double ds_bench_parallel(double seconds, size_t open, size_t slots)
{
    size_t most = open < slots ? open : slots;
    return seconds / (double)(most > 0 ? most : 1);
}

/* Where there is little room the cells go first, the last of them before the others. */
static void print_sums(const ds_bench_state *s, const sums *all, size_t slots, char *out, size_t size)
{
    char time[32];
    ds_piece piece[3 + CELLS_SHOWN + 1] = {{.weight = 20}, {.weight = 18}, {.weight = 19}};
    size_t shown = 0, more = 0;
    ds_duration_text(ds_bench_parallel(all->left, all->open, slots), time, sizeof(time));
    snprintf(piece[0].text, sizeof piece[0].text, "%zu of %zu runs done", s->done, s->mine);
    snprintf(piece[0].brief, sizeof piece[0].brief, "%zu/%zu runs", s->done, s->mine);
    if (s->failed > 0) {
        snprintf(piece[1].text, sizeof piece[1].text, ", %zu failed", s->failed);
    }
    snprintf(piece[2].text, sizeof piece[2].text, ", %s left", time);
    for (size_t i = 0; i < s->plan->cells; i++) {
        const cell_sum *c = &all->cell[i];
        if (c->running == 0) {
            continue;
        }
        if (shown == CELLS_SHOWN) {
            more++;
            continue;
        }
        ds_piece *p = &piece[3 + shown++];
        p->weight = 10 - (int)shown;
        ds_duration_text(c->left / (double)c->running, time, sizeof(time));
        snprintf(p->text, sizeof p->text, "; %.90s %zu/%zu, %s", s->plan->cell[i].name, c->done, c->all,
                 time);
    }
    if (more > 0) {
        snprintf(piece[3 + CELLS_SHOWN].text, sizeof piece[0].text, "; and %zu more", more);
    }
    ds_pieces_line(out, size, ds_log_columns(), piece, sizeof piece / sizeof *piece);
}

void ds_bench_progress(const ds_bench_state *s, size_t slots, char *out, size_t size)
{
    uint64_t now = ds_clock_ns();
    sums all = {.cell = calloc(s->plan->cells, sizeof(*all.cell)),
                .env = calloc(s->plan->variants[DS_BENCH_ENV], sizeof(*all.env))};
    out[0] = '\0';
    if (all.cell != NULL && all.env != NULL) {
        count_runs(s, now, &all);
        add_times(s, now, &all);
        print_sums(s, &all, slots, out, size);
    }
    free(all.cell);
    free(all.env);
}
