/* SPDX-License-Identifier: Apache-2.0 */
/* bench_state.c - the queue of an experiment, its file bench.json, and the time remaining. */
#include "config.h"

#include "bench/experiment.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/json_text.h"
#include "base/log.h"
#include "progress/progress.h"
#include "results/results.h"
#include "store/run_folder.h"

enum { WAITS_MAX = 50 /* attempts at a locked run */ };
static const double WRITE_EVERY = 2.0;

/* ---- reading folders ---- */

/* Did a run end at a limit that has been raised since? */
static int may_continue(const ds_bench_plan *p, size_t run, const ds_result *r)
{
    return r->evaluations < ds_bench_budget(p, ds_bench_cell_of(p, run)) &&
           (strcmp(r->ended, "budget") == 0 ||
            (strcmp(r->ended, "time") == 0 && (p->seconds <= 0 || r->wall_s < p->seconds)));
}

/* Why a run is not repeated, and where to read more; to be freed. */
static char *skipped_text(const ds_bench_plan *p, size_t run)
{
    char *name = ds_bench_run_name(p, run);
    char *text = NULL;
    int bad = name == NULL || asprintf(&text,
                                       "too many evaluations failed, see %s/%s.log; --retry repeats the run, "
                                       "and so does a larger max_failed",
                                       p->out, name) < 0;
    free(name);
    return bad ? NULL : text;
}

static void fail_run(ds_bench_run *r, int status, const char *error)
{
    r->state = DS_BENCH_FAILED;
    r->status = status;
    free(r->error);
    r->error = error[0] != '\0' ? strdup(error) : NULL;
}

static void take_text(char **to, char **from)
{
    free(*to);
    *to = *from;
    *from = NULL;
}

/* Copies the results from the record of a finished run. */
static int read_run(ds_bench_state *s, size_t k, int retry, ds_error *e)
{
    ds_bench_run *r = &s->run[k];
    ds_result found;
    char *folder = ds_bench_run_folder(s->plan, k);
    int has = folder == NULL ? ds_no_memory(e), -1 : ds_result_read(folder, &found, e);
    if (has < 0) {
        free(folder);
        return e->status;
    }
    r->state = DS_BENCH_OPEN;
    int rc = has == 1 && ds_folder_has_run(folder) ? ds_result_check(&found, e) : 0;
    if (rc == 0 && found.damaged) {
        fail_run(r, DS_EXIT_IO, found.error);
    } else if (rc == 0 && found.ended != NULL && ds_folder_has_run(folder)) {
        r->evaluations = found.evaluations;
        r->cost_steps = found.cost_steps;
        r->best = found.best_loss;
        r->wall_s = found.wall_s;
        take_text(&r->arithmetic, &found.arithmetic);
        take_text(&r->processor, &found.processor);
        if (ds_result_is_done(&found) && !may_continue(s->plan, k, &found)) {
            r->state = DS_BENCH_DONE;
        } else if (!retry && strcmp(found.ended, "too_many_failures") == 0) {
            r->state = DS_BENCH_FAILED;
            r->status = DS_EXIT_ENV;
            free(r->error);
            r->error = skipped_text(s->plan, k);
        }
    }
    ds_result_clear(&found);
    free(folder);
    return rc;
}

int ds_bench_state_open(const ds_bench_plan *plan, int retry, ds_bench_state *out, ds_error *e)
{
    memset(out, 0, sizeof(*out));
    out->plan = plan;
    out->run = calloc(plan->runs, sizeof(*out->run));
    int rc = out->run == NULL ? ds_no_memory(e) : 0;
    for (size_t k = 0; k < plan->runs && rc == 0; k++) {
        int mine = ds_bench_is_mine(plan, k);
        out->run[k].best = (double)INFINITY;
        rc = ds_bench_is_here(plan, k) ? read_run(out, k, retry && mine, e) : 0;
        out->mine += mine;
        out->done += mine && out->run[k].state == DS_BENCH_DONE;
        out->failed += mine && out->run[k].state == DS_BENCH_FAILED;
    }
    return rc;
}

void ds_bench_state_close(ds_bench_state *s)
{
    for (size_t k = 0; s->run != NULL && k < s->plan->runs; k++) {
        free(s->run[k].error);
        free(s->run[k].arithmetic);
        free(s->run[k].processor);
    }
    free(s->run);
    memset(s, 0, sizeof(*s));
}

/* ---- queue ---- */

long ds_bench_take(ds_bench_state *s)
{
    for (size_t k = s->next; k < s->plan->runs; k++) {
        ds_bench_run *r = &s->run[k];
        if (r->state == DS_BENCH_OPEN && r->status == 0 && ds_bench_is_mine(s->plan, k)) {
            s->next = k + 1;
            r->state = DS_BENCH_RUNNING;
            r->begun = r->evaluations;
            r->since = ds_clock_ns();
            s->running++;
            return (long)k;
        }
    }
    s->next = s->plan->runs;
    return -1;
}

void ds_bench_give_back(ds_bench_state *s, size_t run)
{
    s->run[run].state = DS_BENCH_OPEN;
    s->next = run < s->next ? run : s->next;
    s->running--;
}

void ds_bench_ended(ds_bench_state *s, size_t run, int status, const char *error)
{
    ds_bench_run *r = &s->run[run];
    ds_error e = {0, ""};
    s->running--;
    r->status = 0;
    if (read_run(s, run, 0, &e) != 0) {
        fail_run(r, e.status, e.text);
    } else if (status == DS_EXIT_SIGINT || status == DS_EXIT_SIGTERM) {
        r->status = status;
    } else if (status == DS_EXIT_LOCKED && r->waits < WAITS_MAX) {
        /* Locked by a process that was just killed with its parent, or that works on this run alone. */
        r->state = DS_BENCH_OPEN;
        r->waits++;
        s->next = run < s->next ? run : s->next;
        return;
    } else if (status > DS_EXIT_UNMET || r->state == DS_BENCH_FAILED) {
        fail_run(r, status > DS_EXIT_UNMET ? status : DS_EXIT_ENV, error);
    } else if (r->state == DS_BENCH_OPEN) {
        fail_run(r, DS_EXIT_IO, "it ended without a summary");
    }
    s->done += r->state == DS_BENCH_DONE;
    s->failed += r->state == DS_BENCH_FAILED;
    s->stopped += r->state == DS_BENCH_OPEN;
    s->changed = 1;
}

int ds_bench_status(const ds_bench_state *s)
{
    int stopped = 0;
    for (size_t k = 0; k < s->plan->runs; k++) {
        const ds_bench_run *r = &s->run[k];
        if (!ds_bench_is_mine(s->plan, k)) {
            continue;
        }
        if (r->state == DS_BENCH_FAILED) {
            return r->status < 126 ? r->status : DS_EXIT_PLUGIN;
        }
        stopped = stopped == 0 && r->state == DS_BENCH_OPEN ? r->status : stopped;
    }
    return stopped;
}

/* ---- bench.json ---- */

static json_t *variants_json(const ds_bench_plan *p, int which)
{
    json_t *list = json_array();
    for (size_t i = 0; i < p->variants[which]; i++) {
        const ds_bench_variant *v = &p->variant[which][i];
        json_array_append_new(list, json_pack("{s:s, s:s, s:s}", "name", v->part->name, "plugin",
                                              v->module->id, "version", v->module->plugin->desc->version));
    }
    return list;
}

static json_t *run_json(const ds_bench_state *s, size_t k)
{
    static const char *const names[] = {"open", "open", "done", "failed"};
    const ds_bench_run *r = &s->run[k];
    const ds_bench_cell *c = ds_bench_cell_of(s->plan, k);
    char *name = ds_bench_run_name(s->plan, k);
    uint64_t seed = ds_bench_seed_of(s->plan, k);
    char text[32];
    snprintf(text, sizeof(text), "%llu", (unsigned long long)seed);
    json_t *o = json_pack(
        "{s:o, s:s*, s:s*, s:o, s:s*, s:o, s:o, s:I, s:o, s:I, s:o, s:s*, s:s*}", "folder",
        ds_json_text(name != NULL ? name : ""), "env", s->plan->variant[0][c->env].part->name, "opt",
        s->plan->variant[1][c->opt].part->name, "seed",
        seed <= INT64_MAX ? json_integer((json_int_t)seed) : json_string(text), "state", names[r->state],
        "status", json_integer(r->state == DS_BENCH_FAILED ? r->status : 0), "error",
        r->error != NULL ? ds_json_text(r->error) : json_null(), "evaluations", (json_int_t)r->evaluations,
        "best_loss", ds_json_real(r->best), "cost_steps", (json_int_t)r->cost_steps, "wall_s",
        ds_json_real(r->wall_s), "processor", r->processor, "arithmetic", r->arithmetic);
    free(name);
    return o;
}

/* Counts all runs in bench.json. */
static json_t *counts_json(const ds_bench_state *s)
{
    size_t all = 0, done = 0, failed = 0;
    for (size_t k = 0; k < s->plan->runs; k++) {
        int here = ds_bench_is_here(s->plan, k);
        all += here;
        done += here && s->run[k].state == DS_BENCH_DONE;
        failed += here && s->run[k].state == DS_BENCH_FAILED;
    }
    return json_pack("{s:I, s:I, s:I, s:I}", "runs", (json_int_t)all, "done", (json_int_t)done, "failed",
                     (json_int_t)failed, "open", (json_int_t)(all - done - failed));
}

static json_t *state_json(const ds_bench_state *s)
{
    const ds_bench_plan *p = s->plan;
    const char *slash = strrchr(p->out, '/');
    const char *name = slash != NULL ? slash + 1 : p->out;
    char shard[64];
    snprintf(shard, sizeof(shard), "%zu/%zu", p->shard + 1, p->shards);
    json_t *o = json_object();
    json_t *list = json_array();
    json_object_set_new(o, "format", json_integer(1));
    json_object_set_new(o, "dshost", json_string(PACKAGE_VERSION));
    json_object_set_new(o, "name", ds_json_text(name));
    json_object_set_new(o, "budget", json_integer((json_int_t)p->budget));
    json_object_set_new(o, "shard", p->shards > 1 ? json_string(shard) : json_null());
    json_object_set_new(o, "counts", counts_json(s));
    json_object_set_new(o, "envs", variants_json(p, DS_BENCH_ENV));
    json_object_set_new(o, "opts", variants_json(p, DS_BENCH_OPT));
    for (size_t k = 0; k < p->runs; k++) {
        if (ds_bench_is_here(p, k)) {
            json_array_append_new(list, run_json(s, k));
        }
    }
    json_object_set_new(o, "runs", list);
    return o;
}

int ds_bench_state_write(ds_bench_state *s, int now, ds_error *e)
{
    uint64_t t = ds_clock_ns();
    if (!now && (!s->changed || 1e-9 * (double)(t - s->written) < WRITE_EVERY)) {
        return 0;
    }
    json_t *o = state_json(s);
    char *text = json_dumps(o, JSON_INDENT(1) | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(17));
    char *path = ds_folder_path(s->plan->out, "bench.json");
    int rc = text == NULL || path == NULL ? ds_no_memory(e) : 0;
    if (rc == 0) {
        size_t len = strlen(text);
        text[len] = '\n'; /* replaces the NUL: the length is stored */
        rc = ds_file_write_atomic(path, text, len + 1, e);
    }
    s->written = t;
    s->changed = 0;
    free(text);
    free(path);
    json_decref(o);
    return rc;
}

/* ---- time remaining, from finished and current runs ---- */

enum { CELLS_SHOWN = 3 };

/* Evaluations and their time. */
typedef struct rate {
    double evaluations, seconds;
} rate;

typedef struct cell_sum {
    size_t all, done, running;
    rate pace;
    double left; /* seconds, INFINITY = unknown */
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

/* Remaining time of a run, limited by its time limit. */
static double left_of(const ds_bench_plan *p, uint64_t budget, const ds_bench_run *r, double pace,
                      uint64_t now)
{
    double left = r->evaluations < budget ? (double)(budget - r->evaluations) * pace : 0.0;
    double spent = r->state == DS_BENCH_RUNNING ? 1e-9 * (double)(now - r->since) : 0.0;
    return p->seconds > 0 ? fmin(left, fmax(0.0, p->seconds - spent)) : left;
}

/* If no run of a cell gives its pace, uses that of the environment's other cells. */
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
        double left = left_of(p, ds_bench_budget(p, ds_bench_cell_of(p, k)), &s->run[k], pace, now);
        c->left += left;
        out->left += left;
    }
}

double ds_bench_parallel(double seconds, size_t open, size_t slots)
{
    size_t most = open < slots ? open : slots;
    return seconds / (double)(most > 0 ? most : 1);
}

/* In a narrow space, drop cells first, from the last one on. */
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
