/* SPDX-License-Identifier: Apache-2.0 */
/* bench_state.c - the queue of an experiment and its file bench.json. */
#include "config.h"

#include "bench/bench_state.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/json_text.h"
#include "results/results.h"
#include "store/run_folder.h"

enum { WAITS_MAX = 50 /* times that a locked run is tried again */ };
static const double WRITE_EVERY = 2.0;

/* ---- looking at folders ---- */

/* Did a run end at a limit that has been raised since? */
static int goes_on(const ds_bench_plan *p, const ds_result *r)
{
    return (strcmp(r->ended, "budget") == 0 && r->evaluations < p->budget) ||
           (strcmp(r->ended, "time") == 0 && r->evaluations < p->budget &&
            (p->seconds <= 0 || r->wall_s < p->seconds));
}

/* Why a run is not tried again, and where to read more; to be freed. */
static char *skipped_text(const ds_bench_plan *p, size_t run)
{
    char *name = ds_bench_run_name(p, run);
    char *text = NULL;
    int bad = name == NULL || asprintf(&text,
                                       "too many evaluations failed, see %s/%s.log; --retry tries it again, "
                                       "as with a larger max_failed",
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

/* Takes over what the record of a run says that has come to an end. */
static int look_at_run(ds_bench_state *s, size_t k, int retry, ds_error *e)
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
        if (ds_result_is_done(&found) && !goes_on(s->plan, &found)) {
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
        rc = ds_bench_is_here(plan, k) ? look_at_run(out, k, retry && mine, e) : 0;
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
    if (look_at_run(s, run, 0, &e) != 0) {
        fail_run(r, e.status, e.text);
    } else if (status == DS_EXIT_SIGINT || status == DS_EXIT_SIGTERM) {
        r->status = status;
    } else if (status == DS_EXIT_LOCKED && r->waits < WAITS_MAX) {
        /* By a process that was killed just now, with its parent, or that works on the run by itself. */
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

/* Of all runs that bench.json lists. */
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
        text[len] = '\n'; /* in place of the NUL: the length is given */
        rc = ds_file_write_atomic(path, text, len + 1, e);
    }
    s->written = t;
    s->changed = 0;
    free(text);
    free(path);
    json_decref(o);
    return rc;
}
