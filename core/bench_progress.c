/* SPDX-License-Identifier: Apache-2.0 */
/* bench_progress.c - how long an experiment still takes, from the runs that are done and those at work. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench_state.h"
#include "progress.h"
#include "share.h"

enum { CELLS_SHOWN = 3 };

/* Evaluations, and the seconds they took. */
typedef struct rate {
    double evaluations, seconds;
} rate;

static void add_run(rate *sum, const ds_bench_run *r, uint64_t now)
{
    if (r->state == DS_BENCH_RUNNING && r->evaluations > r->begun) {
        sum->evaluations += (double)(r->evaluations - r->begun);
        sum->seconds += 1e-9 * (double)(now - r->since);
    } else if (r->state == DS_BENCH_DONE && isfinite(r->wall_s)) {
        sum->evaluations += (double)r->evaluations;
        sum->seconds += r->wall_s;
    }
}

/* Seconds per evaluation in a cell; where none of its runs tells, that of the environment's other cells. */
static double pace(const ds_bench_state *s, size_t cell, uint64_t now)
{
    const ds_bench_plan *p = s->plan;
    rate own = {0, 0}, alike = {0, 0};
    for (size_t k = 0; k < p->runs; k++) {
        if (k % p->cells == cell) {
            add_run(&own, &s->run[k], now);
        }
        if (p->cell[k % p->cells].env == p->cell[cell].env) {
            add_run(&alike, &s->run[k], now);
        }
    }
    own = own.evaluations > 0 ? own : alike;
    return own.evaluations > 0 ? own.seconds / own.evaluations : (double)INFINITY;
}

/* Evaluations that are left in a cell, and the runs at work in it. */
static double count_left(const ds_bench_state *s, size_t cell, size_t *running, size_t *done, size_t *all)
{
    const ds_bench_plan *p = s->plan;
    double left = 0.0;
    *running = *done = *all = 0;
    for (size_t k = cell; k < p->runs; k += p->cells) {
        const ds_bench_run *r = &s->run[k];
        if (!ds_bench_is_mine(p, k)) {
            continue;
        }
        *all += 1;
        *running += r->state == DS_BENCH_RUNNING;
        *done += r->state >= DS_BENCH_DONE;
        if (r->state < DS_BENCH_DONE && r->evaluations < p->budget) {
            left += (double)(p->budget - r->evaluations);
        }
    }
    return left;
}

double ds_bench_cell_left(const ds_bench_state *s, size_t cell)
{
    size_t running, done, all;
    double left = count_left(s, cell, &running, &done, &all);
    return left > 0.0 ? left * pace(s, cell, ds_clock_ns()) / (double)(running > 0 ? running : 1) : 0.0;
}

double ds_bench_all_left(const ds_bench_state *s, size_t slots)
{
    uint64_t now = ds_clock_ns();
    double sum = 0.0;
    for (size_t c = 0; c < s->plan->cells; c++) {
        size_t running, done, all;
        double left = count_left(s, c, &running, &done, &all);
        sum += left > 0.0 ? left * pace(s, c, now) : 0.0;
    }
    return sum / (double)(slots > 0 ? slots : 1);
}

void ds_bench_progress(const ds_bench_state *s, size_t slots, char *out, size_t size)
{
    char time[32];
    char failed[48] = "";
    size_t shown = 0, more = 0;
    ds_duration_text(ds_bench_all_left(s, slots), time, sizeof(time));
    if (s->failed > 0) {
        snprintf(failed, sizeof(failed), ", %zu failed", s->failed);
    }
    size_t used =
        (size_t)snprintf(out, size, "%zu of %zu runs done%s, %s left", s->done, s->mine, failed, time);
    for (size_t c = 0; c < s->plan->cells && used < size; c++) {
        size_t running, done, all;
        count_left(s, c, &running, &done, &all);
        if (running == 0) {
            continue;
        }
        if (shown++ >= CELLS_SHOWN) {
            more++;
            continue;
        }
        ds_duration_text(ds_bench_cell_left(s, c), time, sizeof(time));
        used += (size_t)snprintf(out + used, size - used, "; %s %zu/%zu, %s", s->plan->cell[c].name, done,
                                 all, time);
    }
    if (more > 0 && used < size) {
        snprintf(out + used, size - used, "; and %zu more", more);
    }
}
