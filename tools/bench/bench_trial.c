/* SPDX-License-Identifier: Apache-2.0 */
/* bench_trial.c - `dshost bench --dry-run`. */
#include "config.h"

#include "bench/bench_trial.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <diffsim/helper/random.h>

#include "base/clock.h"
#include "base/json_text.h"
#include "base/stop.h"
#include "bench/optimizer_cost.h"
#include "evaluate/pool.h"
#include "plugin/descriptor.h"
#include "run/run.h"

/* Seconds of one evaluation of an environment. */
typedef struct trial_cost {
    uint64_t n;            /* variables */
    double loss, gradient; /* without and with gradient; INFINITY = it failed, or there is none */
    int status;            /* exit status where it cannot be made at all */
    char error[400];
} trial_cost;

enum { POINTS = 4 /* the first one warms up */ };
static const double ENOUGH_S = 2.0; /* no further point of an environment when this time is spent */
static const double OWN_S = 0.3;    /* of one search that shows what an optimizer itself takes */

typedef struct timing {
    double wall;
    uint32_t outcome;
    char message[200];
} timing;

static int keep(void *ctx, uint64_t i, const ds_answer *answer, const double *grad, const void *out)
{
    timing *t = ctx;
    (void)i, (void)grad, (void)out;
    t->wall = answer->wall_s;
    t->outcome = answer->outcome;
    snprintf(t->message, sizeof(t->message), "%.199s", answer->message);
    return 0;
}

/* Mean time of random points; INFINITY where the first one fails. */
static double measure(ds_pool *pool, uint32_t want, double *x, char *why, size_t room)
{
    const ds_pool_env *env = ds_pool_env_of(pool);
    ds_random random = ds_random_open(1, "trial", want);
    uint64_t begin = ds_clock_ns();
    double sum = 0.0, first = 0.0;
    int count = 0, good = 0;
    for (int k = 0; k < POINTS && (k == 0 || 1e-9 * (double)(ds_clock_ns() - begin) < ENOUGH_S); k++) {
        timing t = {0.0, DS_EVAL_OK, ""};
        ds_error e = {0, ""};
        for (uint64_t i = 0; i < env->info.n; i++) {
            double u = ds_random_uniform(&random);
            x[i] = env->lower[i] + u * (env->upper[i] - env->lower[i]);
        }
        int rc = ds_pool_evaluate(pool, 1, x, want, (uint64_t)k + 1, keep, &t, &e);
        if (rc != 0 || (t.outcome != DS_EVAL_OK && t.message[0] != '\0' && k == 0)) {
            snprintf(why, room, "%.390s", rc != 0 ? e.text : t.message);
            return count > 0 ? first : (double)INFINITY;
        }
        good += t.outcome == DS_EVAL_OK;
        first = k == 0 ? t.wall : first;
        sum += k > 0 ? t.wall : 0.0;
        count += k > 0;
    }
    if (good == 0) {
        snprintf(why, room, "no trial point had a loss");
    }
    return count > 0 ? sum / count : first;
}

/* Evaluates a few points of an environment (variant `env`), for a few seconds at most. */
static void evaluate_trial(const ds_bench_plan *plan, size_t env, trial_cost *out)
{
    const ds_bench_variant *v = &plan->variant[DS_BENCH_ENV][env];
    ds_run_options o = {0};
    ds_settings s = {0};
    ds_error e = {0, ""};
    ds_pool *pool = NULL;
    double *x = NULL;
    *out = (trial_cost){.loss = (double)INFINITY, .gradient = (double)INFINITY};
    int rc = ds_settings_copy(&s, &v->part->settings, &e);
    rc = rc != 0 ? rc : ds_run_options_make(&plan->file.run, &o, &e);
    if (rc == 0) {
        ds_pool_config c = ds_pool_config_of(v->module, &s, &o);
        c.seed = plan->file.seed;
        c.jobs = 1;
        rc = ds_pool_open(&c, &pool, &e);
    }
    if (rc == 0) {
        out->n = ds_pool_env_of(pool)->info.n;
        x = calloc(out->n, sizeof(*x));
        rc = x == NULL ? ds_no_memory(&e) : 0;
    }
    if (rc == 0) {
        out->loss = measure(pool, 0, x, out->error, sizeof(out->error));
        if (ds_pool_env_of(pool)->has_gradient && isfinite(out->loss)) {
            out->gradient = measure(pool, DS_WANT_GRAD, x, out->error, sizeof(out->error));
        }
    } else {
        snprintf(out->error, sizeof(out->error), "%.399s", e.text);
        out->status = rc;
    }
    free(x);
    ds_pool_close(pool);
    ds_run_options_clear(&o);
    ds_settings_clear(&s);
}

/* ---- table ---- */

/* One row of the table. */
typedef struct row {
    size_t runs, done, failed;
    double evaluations; /* left */
    double each;        /* seconds of one evaluation, INFINITY = not known */
    double own;   /* seconds of the optimizer itself in one run; INFINITY = not known; 0 = part of `each` */
    int measured; /* by runs that are there, not by a trial */
} row;

/* Times of optimizers that have been measured; they depend on the problem's size alone. */
typedef struct own_time {
    size_t opt;
    uint64_t n;
    int gradient;
    double s;
} own_time;

typedef struct estimate {
    const ds_bench_state *state;
    trial_cost *cost; /* per variant of the environment */
    own_time *own;    /* at most one per cell */
    size_t owns;
} estimate;

static double own_of(estimate *q, size_t cell)
{
    const ds_bench_plan *p = q->state->plan;
    const trial_cost *cost = &q->cost[p->cell[cell].env];
    const ds_bench_variant *opt = &p->variant[DS_BENCH_OPT][p->cell[cell].opt];
    own_time t = {p->cell[cell].opt, cost->n, isfinite(cost->gradient), 0.0};
    if (cost->n == 0) {
        return (double)INFINITY;
    }
    for (size_t i = 0; i < q->owns; i++) {
        if (q->own[i].opt == t.opt && q->own[i].n == t.n && q->own[i].gradient == t.gradient) {
            return q->own[i].s;
        }
    }
    fflush(stdout); /* nothing that waits there is written twice by the process that searches */
    t.s = ds_optimizer_cost(opt->module, &opt->part->settings, t.n, p->budget, t.gradient, OWN_S);
    q->own[q->owns++] = t;
    return t.s;
}

static row make_row(estimate *q, size_t cell)
{
    const ds_bench_state *s = q->state;
    const trial_cost *cost = &q->cost[s->plan->cell[cell].env];
    const ds_bench_plan *p = s->plan;
    const ds_desc *opt = p->variant[DS_BENCH_OPT][p->cell[cell].opt].module->plugin->desc;
    row r = {0, 0, 0, 0.0, 0.0, 0.0, 0};
    double seconds = 0.0, evaluations = 0.0;
    for (size_t k = cell; k < p->runs; k += p->cells) {
        const ds_bench_run *run = &s->run[k];
        if (!ds_bench_is_mine(p, k)) {
            continue;
        }
        r.runs++;
        r.done += run->state == DS_BENCH_DONE;
        r.failed += run->state == DS_BENCH_FAILED;
        if (run->state == DS_BENCH_DONE && isfinite(run->wall_s)) {
            seconds += run->wall_s;
            evaluations += (double)run->evaluations;
        }
        if (run->state < DS_BENCH_DONE && run->evaluations < p->budget) {
            r.evaluations += (double)(p->budget - run->evaluations);
        }
    }
    int gradient = ds_desc_uses(opt, DS_HAS_GRADIENT);
    r.measured = evaluations > 0;
    r.each = r.measured                             ? seconds / evaluations
             : gradient && isfinite(cost->gradient) ? cost->gradient
                                                    : cost->loss;
    r.own = r.measured || r.evaluations <= 0 ? 0.0 : own_of(q, cell);
    return r;
}

/* Seconds of all evaluations of a run; what is not known is left out. */
static double budget_seconds(const ds_bench_plan *p, const row *r)
{
    return r->each * (double)p->budget + (isfinite(r->own) ? r->own : 0.0);
}

/* The same with the limit of a run's time, and those of all runs that are left. */
static double run_seconds(const ds_bench_plan *p, const row *r)
{
    double s = budget_seconds(p, r);
    return p->seconds > 0 ? fmin(s, p->seconds) : s;
}

static double left_seconds(const ds_bench_plan *p, const row *r)
{
    return r->evaluations > 0 ? run_seconds(p, r) * r->evaluations / (double)p->budget : 0.0;
}

static void print_row(const ds_bench_state *s, size_t cell, const row *r, const trial_cost *cost)
{
    char run[32], all[32], each[32];
    ds_duration_text(run_seconds(s->plan, r), run, sizeof(run));
    ds_duration_text(left_seconds(s->plan, r), all, sizeof(all));
    snprintf(each, sizeof(each), isfinite(r->each) ? "%.3g%s" : "?",
             budget_seconds(s->plan, r) / (double)s->plan->budget,
             r->measured        ? ""
             : isfinite(r->own) ? "*"
                                : "+");
    printf("%-32s %6llu %5zu %5zu %5zu %10s %11s %11s%s%.120s\n", s->plan->cell[cell].name,
           (unsigned long long)cost->n, r->runs, r->done, r->failed, each, run, all,
           cost->error[0] != '\0' ? "  " : "", cost->error);
}

static json_t *row_json(const ds_bench_state *s, size_t cell, const row *r, const trial_cost *cost)
{
    json_t *o = json_pack("{s:s*, s:I, s:I, s:I, s:I, s:o, s:o, s:o, s:s*, s:o, s:o}", "cell",
                          s->plan->cell[cell].name, "n", (json_int_t)cost->n, "runs", (json_int_t)r->runs,
                          "done", (json_int_t)r->done, "failed", (json_int_t)r->failed, "evaluations_left",
                          ds_json_real(r->evaluations), "evaluation_s", ds_json_real(r->each), "optimizer_s",
                          ds_json_real(r->own), "measured", r->measured ? "runs" : "trial", "left_s",
                          ds_json_real(left_seconds(s->plan, r)), "error",
                          cost->error[0] != '\0' ? ds_json_text(cost->error) : json_null());
    return o;
}

static size_t open_runs(const row *sum)
{
    return sum->runs - sum->done - sum->failed;
}

static void print_sum(const ds_bench_plan *p, const row *sum, double seconds, int unknown)
{
    char one[32], many[32];
    ds_duration_text(seconds, one, sizeof(one));
    ds_duration_text(ds_bench_parallel(seconds, open_runs(sum), (size_t)p->jobs), many, sizeof(many));
    printf("\n%zu runs in %zu cells, %zu done, %zu failed; %.0f evaluations are left: %s%s of computing, "
           "%s%s with %lld at a time\n",
           sum->runs, ds_bench_wanted_cells(p), sum->done, sum->failed, sum->evaluations,
           unknown ? "at least " : "", one, unknown ? "at least " : "", many, (long long)p->jobs);
    printf("* from trial evaluations, and a trial search on a function that costs nothing\n"
           "+ from trial evaluations: simulation only, without the time of the optimizer itself\n"
           "results: %s\n",
           p->out);
}

/* The first environment that cannot be made: the experiment would end with its status. */
static int broken_status(const ds_bench_plan *p, const trial_cost *cost, ds_error *e)
{
    for (size_t i = 0; i < p->variants[DS_BENCH_ENV]; i++) {
        if (cost[i].status != 0) {
            return ds_fail(e, cost[i].status, "%s: %.390s", p->variant[DS_BENCH_ENV][i].part->name,
                           cost[i].error);
        }
    }
    return 0;
}

static int print_all(const estimate *q, const row *sum, double seconds, int unknown, json_t *list,
                     ds_error *e)
{
    const ds_bench_plan *p = q->state->plan;
    if (list == NULL) {
        print_sum(p, sum, seconds, unknown);
        int rc = ds_stdout_done(e);
        return rc != 0 ? rc : broken_status(p, q->cost, e);
    }
    double parallel = ds_bench_parallel(seconds, open_runs(sum), (size_t)p->jobs);
    json_t *o = json_pack("{s:s, s:I, s:I, s:I, s:o, s:o, s:O}", "out", p->out, "runs", (json_int_t)sum->runs,
                          "done", (json_int_t)sum->done, "failed", (json_int_t)sum->failed, "left_s",
                          ds_json_real(seconds), "left_parallel_s", ds_json_real(parallel), "cells", list);
    int rc = ds_json_write(o, stdout, "standard output", e);
    json_decref(o);
    rc = rc != 0 ? rc : ds_stdout_done(e);
    return rc != 0 ? rc : broken_status(p, q->cost, e);
}

int ds_bench_dry_run(const ds_bench_state *s, int json, ds_error *e)
{
    const ds_bench_plan *p = s->plan;
    estimate q = {s, calloc(p->variants[DS_BENCH_ENV], sizeof(*q.cost)), calloc(p->cells, sizeof(*q.own)), 0};
    json_t *list = json ? json_array() : NULL;
    row sum = {0, 0, 0, 0.0, 0.0, 0.0, 0};
    double seconds = 0.0;
    int unknown = 0;
    int rc = q.cost == NULL || q.own == NULL ? ds_no_memory(e) : 0;
    if (rc == 0 && !json) {
        printf("%-32s %6s %5s %5s %5s %10s %11s %11s\n", "cell", "n", "runs", "done", "fail", "s/eval",
               "one run", "left");
    }
    for (size_t c = 0; c < p->cells && rc == 0; c++) {
        trial_cost *mine = &q.cost[p->cell[c].env];
        if (!p->cell[c].wanted) {
            continue;
        }
        if (mine->loss == 0.0 && mine->n == 0) {
            evaluate_trial(p, p->cell[c].env, mine);
        }
        row r = make_row(&q, c);
        int sig = atomic_load(&ds_stop_flag);
        if (sig != 0) {
            rc = ds_fail(e, 128 + sig, "stopped by a signal: the estimate is not complete");
            break;
        }
        sum.runs += r.runs;
        sum.done += r.done;
        sum.failed += r.failed;
        sum.evaluations += r.evaluations;
        unknown |= r.evaluations > 0 && (!isfinite(r.each) || !isfinite(r.own));
        seconds += isfinite(left_seconds(p, &r)) ? left_seconds(p, &r) : 0.0;
        if (json) {
            json_array_append_new(list, row_json(s, c, &r, mine));
        } else {
            print_row(s, c, &r, mine);
            fflush(stdout);
        }
    }
    rc = rc != 0 ? rc : print_all(&q, &sum, seconds, unknown, list, e);
    free(q.cost);
    free(q.own);
    json_decref(list);
    return rc;
}
