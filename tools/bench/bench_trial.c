/* SPDX-License-Identifier: Apache-2.0 */
/* bench_trial.c - `dshost bench --dry-run`: what an experiment will cost, from trial evaluations and
 * searches. */
#include "config.h"

#include "bench/experiment.h"

#include <diffsim/ext/steps.h>
#include <diffsim/helper/random.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json_text.h"
#include "base/log.h"
#include "base/stop.h"
#include "embed/embed.h"
#include "evaluate/pool.h"
#include "plugin/descriptor.h"
#include "run/run.h"

/* ---- time of an optimizer itself ---- */

/* Trial searches run in a child process, which may crash, and is killed at the limit. */

enum { PATIENCE = 10 /* this many times the limit, for one call between two looks at the clock */ };

/* Own time up to evaluation `used`, seconds. */
typedef struct moment {
    double used, s;
} moment;

typedef struct watch {
    ds_search *search;
    uint64_t n;
    double *loss, *grad; /* of the current batch */
    moment *moment;      /* one per batch */
    size_t count, room;
} watch;

/* A bowl with ripples, on which no optimizer is finished at once. */
static double stand_in(uint64_t n, const double *x, double *gradient)
{
    double sum = 0.0;
    for (uint64_t i = 0; i < n; i++) {
        double d = x[i] - 0.3;
        sum += d * d + 0.1 * (1.0 - cos(12.0 * d));
        gradient[i] = 2.0 * d + 1.2 * sin(12.0 * d);
    }
    return sum;
}

/* 0 without memory. */
static int answer(watch *w, uint64_t count, const double *x)
{
    double *loss = realloc(w->loss, count * sizeof *loss),
           *grad = realloc(w->grad, count * w->n * sizeof *grad);
    w->loss = loss != NULL ? loss : w->loss;
    w->grad = grad != NULL ? grad : w->grad;
    if (loss == NULL || grad == NULL) {
        return 0;
    }
    for (uint64_t k = 0; k < count; k++) {
        loss[k] = stand_in(w->n, x + k * w->n, grad + k * w->n);
    }
    return ds_search_tell(w->search, loss, grad) == DS_OK;
}

static int remember(watch *w, double s)
{
    if (w->count == w->room) {
        size_t room = 2 * w->room + 256;
        moment *m = realloc(w->moment, room * sizeof *m);
        if (m == NULL) {
            return 0;
        }
        w->moment = m;
        w->room = room;
    }
    w->moment[w->count++] = (moment){(double)ds_search_used(w->search), s};
    return 1;
}

/* Time of the whole search: measured if it ends within the limit, else extrapolated. */
static double follow_search(watch *w, uint64_t budget, double limit)
{
    const double *x;
    uint64_t count;
    uint32_t want;
    double s = 0.0;
    while (s < limit) {
        uint64_t begin = ds_clock_ns();
        ds_status status = ds_search_ask(w->search, &count, &x, &want);
        s += 1e-9 * (double)(ds_clock_ns() - begin);
        if (status != DS_OK) {
            return s;
        }
        if (!remember(w, s) || !answer(w, count, x)) {
            return (double)INFINITY;
        }
    }
    const moment *last = &w->moment[w->count - 1], *half = last;
    while (half > w->moment && half->used > 0.5 * last->used) {
        half--;
    }
    double grown = last->used > 0 ? log(last->s / half->s) / log(last->used / half->used) : 1.0;
    double power = isfinite(grown) ? fmin(fmax(grown, 1.0), 3.0) : 1.0;
    return last->used > 0 ? last->s * pow((double)budget / last->used, power) : (double)INFINITY;
}

static double search_for(const ds_module *optimizer, const ds_settings *settings, uint64_t n, uint64_t budget,
                         int has_gradient, double limit)
{
    double own = (double)INFINITY, *bound = calloc(2 * n, sizeof *bound);
    ds_error ignored = {0, ""};
    watch w = {.n = n};
    for (uint64_t i = 0; bound != NULL && i < n; i++) {
        bound[i] = -1.0;
        bound[n + i] = 1.0;
    }
    if (bound != NULL) {
        const ds_search_options o = {.struct_size = sizeof o,
                                     .has_gradient = (uint32_t)has_gradient,
                                     .n = n,
                                     .lower = bound,
                                     .upper = bound + n,
                                     .budget = budget};
        w.search = ds_search_start(optimizer, settings, &o, &ignored);
    }
    if (w.search != NULL) {
        own = follow_search(&w, budget, limit);
        ds_search_close(w.search);
    }
    free(w.loss);
    free(w.grad);
    free(w.moment);
    free(bound);
    return own;
}

/* Own time of one run of `budget` evaluations in `n` variables, seconds, without simulation: measured on a
 * function that costs nothing, cut off after `limit` seconds, and extrapolated by the power of the
 * evaluations with which the time has grown. INFINITY if the optimizer needs an environment (stepwise
 * control). */
static double optimizer_cost(const ds_module *optimizer, const ds_settings *settings, uint64_t n,
                             uint64_t budget, int has_gradient, double limit)
{
    double own = (double)INFINITY;
    int ends[2];
    if (ds_desc_needs(optimizer->plugin->desc, DS_EXT_STEPS) || pipe(ends) != 0) {
        return own;
    }
    pid_t child = fork();
    if (child == 0) {
        ds_log_set_level(DS_LOG_ERROR + 1); /* what an optimizer says of this function is not for the user */
        own = search_for(optimizer, settings, n, budget, has_gradient, limit);
        _exit(write(ends[1], &own, sizeof own) == sizeof own ? 0 : 1);
    }
    close(ends[1]);
    struct pollfd p = {.fd = ends[0], .events = POLLIN};
    if (child < 0 || poll(&p, 1, (int)(1000 * PATIENCE * limit)) != 1 ||
        read(ends[0], &own, sizeof own) != sizeof own) {
        own = (double)INFINITY;
    }
    close(ends[0]);
    if (child > 0) {
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
    }
    return own;
}

/* ---- time of an environment ---- */
typedef struct trial_cost {
    uint64_t n;            /* variables */
    double loss, gradient; /* without and with gradient; INFINITY = failed, or not available */
    int status;            /* exit status if it cannot be created */
    char error[400];
} trial_cost;

enum { POINTS = 4 /* including one to warm up */ };
static const double ENOUGH_S = 2.0; /* no further point after this time */
static const double OWN_S = 0.3;    /* time limit of a trial search */

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

/* Mean time of random points; INFINITY if the first one fails. */
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

/* Evaluates some points of an environment (variant `env`), for a few seconds at most. */
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
    uint64_t budget;    /* evaluations of a run */
    double evaluations; /* remaining */
    double each;        /* seconds per evaluation, INFINITY = unknown */
    double own;   /* own time of the optimizer per run, seconds; INFINITY = unknown; 0 = included in `each` */
    int measured; /* from existing runs, not from a trial */
} row;

/* Measured optimizer times, which depend only on the problem's size. */
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
    fflush(stdout); /* so that buffered text is not written twice */
    t.s = optimizer_cost(opt->module, &opt->part->settings, t.n, ds_bench_budget(p, &p->cell[cell]),
                         t.gradient, OWN_S);
    q->own[q->owns++] = t;
    return t.s;
}

static row make_row(estimate *q, size_t cell)
{
    const ds_bench_state *s = q->state;
    const trial_cost *cost = &q->cost[s->plan->cell[cell].env];
    const ds_bench_plan *p = s->plan;
    const ds_desc *opt = p->variant[DS_BENCH_OPT][p->cell[cell].opt].module->plugin->desc;
    row r = {.budget = ds_bench_budget(p, &p->cell[cell])};
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
        if (run->state < DS_BENCH_DONE && run->evaluations < r.budget) {
            r.evaluations += (double)(r.budget - run->evaluations);
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

/* Time of all evaluations of a run; unknown parts are left out. */
static double budget_seconds(const row *r)
{
    return r->each * (double)r->budget + (isfinite(r->own) ? r->own : 0.0);
}

/* The same with the time limit of a run, and for all remaining runs. */
static double run_seconds(const ds_bench_plan *p, const row *r)
{
    double s = budget_seconds(r);
    return p->seconds > 0 ? fmin(s, p->seconds) : s;
}

static double left_seconds(const ds_bench_plan *p, const row *r)
{
    return r->evaluations > 0 ? run_seconds(p, r) * r->evaluations / (double)r->budget : 0.0;
}

static void print_row(const ds_bench_state *s, size_t cell, const row *r, const trial_cost *cost)
{
    char run[32], all[32], each[32];
    ds_duration_text(run_seconds(s->plan, r), run, sizeof(run));
    ds_duration_text(left_seconds(s->plan, r), all, sizeof(all));
    snprintf(each, sizeof(each), isfinite(r->each) ? "%.3g%s" : "?", budget_seconds(r) / (double)r->budget,
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
    printf("\n%zu runs in %zu cells, %zu done, %zu failed; %.0f evaluations remaining: %s%s of computing, "
           "%s%s with %lld at a time\n",
           sum->runs, ds_bench_wanted_cells(p), sum->done, sum->failed, sum->evaluations,
           unknown ? "at least " : "", one, unknown ? "at least " : "", many, (long long)p->jobs);
    printf("* from trial evaluations, and a trial search on a function that costs nothing\n"
           "+ from trial evaluations: simulation only, without the time of the optimizer itself\n"
           "results: %s\n",
           p->out);
}

/* The first environment that cannot be created: the experiment would end with its status. */
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
    row sum = {.runs = 0};
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
            rc = ds_fail(e, 128 + sig, "stopped by a signal: the estimate is incomplete");
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
