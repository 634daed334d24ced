/* SPDX-License-Identifier: Apache-2.0 */
/* results.c - finds runs in folders, and reads summary.json and the losses of the store (see results.h). */
#include "config.h"

#include "results/results.h"

#include "base/json_text.h"
#include "base/log.h"
#include "base/text.h"
#include "store/run_folder.h"
#include "store/store.h"

#include <dirent.h>
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DEPTH_MAX = 16 };

/* ---- one run ---- */

static char *text_of(const json_t *o, const char *key)
{
    const char *text = json_string_value(json_object_get(o, key));
    return text != NULL ? strdup(text) : NULL;
}

static uint64_t count_of(const json_t *o, const char *key)
{
    json_int_t v = json_integer_value(json_object_get(o, key));
    return v > 0 ? (uint64_t)v : 0;
}

/* null stands for a number that is not finite. */
static double real_of(const json_t *o, const char *key)
{
    const json_t *v = json_object_get(o, key);
    return json_is_number(v) ? json_number_value(v) : (double)INFINITY;
}

/* Seeds above 2^63 are texts. */
static uint64_t seed_of(const json_t *o)
{
    uint64_t seed = count_of(o, "seed");
    const char *text = json_string_value(json_object_get(o, "seed"));
    if (text != NULL) {
        ds_parse_seed(text, &seed);
    }
    return seed;
}

void ds_result_clean_name(char *name)
{
    enum { LONGEST = 120 };
    if (name == NULL) {
        return;
    }
    if (strlen(name) > LONGEST) {
        name[LONGEST] = '\0';
    }
    ds_text_clean(name);
    for (char *c = name; *c != '\0'; c++) {
        *c = *c == '/' || *c == '\\' || *c == '\t' ? '_' : *c;
    }
    if (name[0] == '.' || name[0] == '-') {
        name[0] = '_';
    }
}

/* Takes the names of the last two folders above seed-K, if an experiment is above them. */
static void names_of(ds_result *r)
{
    char *path = r->place != NULL ? strdup(r->place) : NULL;
    char *cut[3];
    for (int k = 0; path != NULL && k < 3; k++) {
        cut[k] = strrchr(path, '/');
        if (cut[k] == NULL || cut[k] == path) {
            free(path);
            return;
        }
        *cut[k] = '\0';
    }
    char *ini = path != NULL ? ds_folder_path(path, "bench.ini") : NULL;
    if (ini != NULL && access(ini, F_OK) == 0 && strncmp(cut[0] + 1, "seed-", 5) == 0) {
        free(r->env);
        free(r->opt);
        r->env = strdup(cut[2] + 1);
        r->opt = strdup(cut[1] + 1);
        r->named = 1;
        ds_parse_seed(cut[0] + 6, &r->seed);
    }
    free(ini);
    free(path);
}

int ds_result_read(const char *folder, ds_result *out, ds_error *e)
{
    char *path = ds_folder_path(folder, "summary.json");
    memset(out, 0, sizeof(*out));
    out->folder = strdup(folder);
    out->place = realpath(folder, NULL);
    out->best_loss = (double)INFINITY;
    out->recommended = out->recommended_se = out->first_loss = NAN;
    if (path == NULL || out->folder == NULL) {
        free(path);
        ds_no_memory(e);
        return -1;
    }
    json_t *o = ds_json_read_file(path);
    free(path);
    if (o != NULL) {
        out->env_id = text_of(o, "env");
        out->opt_id = text_of(o, "opt");
        out->ended = text_of(o, "ended");
        out->error = text_of(o, "error");
        out->seed = seed_of(o);
        out->n = count_of(o, "n");
        out->budget = count_of(o, "budget");
        out->evaluations = count_of(o, "evaluations");
        out->gradients = count_of(o, "gradients");
        out->cost_steps = count_of(o, "cost_steps");
        out->best_id = count_of(o, "best_evaluation");
        out->best_loss = real_of(o, "best_loss");
        out->evaluation_s = real_of(o, "evaluation_s");
        out->wall_s = real_of(o, "wall_s");
        out->inexact = json_number_value(json_object_get(o, "inexact"));
        const json_t *versions = json_object_get(o, "versions");
        out->host_version = text_of(versions, "dshost");
        out->env_version = text_of(versions, "env");
        out->opt_version = text_of(versions, "opt");
        out->processor = text_of(o, "processor");
        out->arithmetic = text_of(o, "arithmetic");
        out->env = out->env_id != NULL ? strdup(out->env_id) : NULL;
        out->opt = out->opt_id != NULL ? strdup(out->opt_id) : NULL;
        json_decref(o);
    }
    names_of(out);
    ds_result_clean_name(out->env);
    ds_result_clean_name(out->opt);
    out->env = out->env != NULL ? out->env : strdup("?");
    out->opt = out->opt != NULL ? out->opt : strdup("?");
    if (out->env == NULL || out->opt == NULL) {
        ds_no_memory(e);
        return -1;
    }
    return out->ended != NULL;
}

void ds_result_clear(ds_result *r)
{
    char *const text[] = {r->folder,       r->table,       r->where,       r->place,   r->env,
                          r->opt,          r->env_id,      r->opt_id,      r->ended,   r->error,
                          r->host_version, r->env_version, r->opt_version, r->created, r->machine,
                          r->processor,    r->arithmetic,  r->variant};
    for (size_t i = 0; i < sizeof(text) / sizeof(text[0]); i++) {
        free(text[i]);
    }
    ds_settings_clear(&r->settings);
    memset(r, 0, sizeof(*r));
}

int ds_result_is_done(const ds_result *r)
{
    static const char *const good[] = {"budget", "target", "time", "optimizer_finished"};
    for (size_t i = 0; r->ended != NULL && i < sizeof(good) / sizeof(good[0]); i++) {
        if (strcmp(r->ended, good[i]) == 0) {
            return 1;
        }
    }
    return 0;
}

int ds_result_is_finished(const ds_result *r)
{
    return r->error == NULL && ds_result_is_done(r);
}

int ds_result_counts(const ds_result *r)
{
    return r->partial || ds_result_is_finished(r);
}

const char *ds_result_where(const ds_result *r)
{
    return r->where != NULL ? r->where : r->folder;
}

const char *ds_result_open_reason(const ds_result *r)
{
    return ds_result_is_finished(r) ? ""
           : r->error != NULL       ? r->error
           : r->ended != NULL       ? r->ended
                                    : "no summary yet";
}

/* ---- stores ---- */

int ds_result_store(const char *folder, ds_store **out, ds_error *e)
{
    char *path = ds_folder_path(folder, "run.sqlite");
    int rc = path == NULL ? ds_no_memory(e) : ds_store_open(path, DS_STORE_READ, out, e);
    free(path);
    return rc;
}

int ds_result_whole(const char *folder, ds_store **out, ds_error *e)
{
    *out = NULL;
    int rc = ds_result_store(folder, out, e);
    rc = rc != 0 ? rc : ds_store_verify(*out, e);
    if (rc != 0) {
        ds_store_close(*out, NULL);
        *out = NULL;
    }
    return rc;
}

/* The losses of a run. */
typedef struct tally {
    uint64_t evaluations, best_id, cost_steps;
    double best_loss, evaluation_s, first_loss;
    uint64_t losses; /* see ds_result */
} tally;

static int count_row(void *ctx, uint64_t id, double loss, uint64_t cost_steps, double wall_s)
{
    tally *t = ctx;
    uint64_t bits;
    memcpy(&bits, &loss, sizeof bits);
    t->losses = (t->losses ^ bits) * 0x9e3779b97f4a7c15u;
    t->losses ^= t->losses >> 29;
    t->losses += t->losses == 0;
    t->first_loss = isfinite(loss) && isnan(t->first_loss) ? loss : t->first_loss;
    t->evaluations = id;
    t->cost_steps += cost_steps;
    t->evaluation_s += wall_s;
    if (loss < t->best_loss) {
        t->best_loss = loss;
        t->best_id = id;
    }
    return 0;
}

/* Replaces a text of the summary by that of the store. Returns whether they differ. */
static int take_text(ds_store *s, const char *key, char **text, int *rc, ds_error *e)
{
    char *found = NULL;
    *rc = *rc != 0 ? *rc : ds_store_get(s, key, &found, e);
    if (*rc != 0 || found == NULL) {
        return 0;
    }
    int other = *text != NULL && strcmp(*text, found) != 0;
    free(*text);
    *text = found;
    return other;
}

static int take_count(uint64_t *count, uint64_t found)
{
    int other = *count != found;
    *count = found;
    return other;
}

static int take_number(ds_store *s, const char *key, double *number, int *rc, ds_error *e)
{
    char *text = NULL;
    double found;
    int other = 0;
    *rc = *rc != 0 ? *rc : ds_store_get(s, key, &text, e);
    if (*rc == 0 && text != NULL && ds_parse_real(text, &found)) {
        other = *number != found;
        *number = found;
    }
    free(text);
    return other;
}

/* Ids, and names unless an experiment gives others. */
static int take_plugin(ds_store *s, const char *key, int named, char **id, char **name, int *rc, ds_error *e)
{
    int other = take_text(s, key, id, rc, e);
    if (*rc == 0 && *id != NULL && !named) {
        char *copy = strdup(*id);
        if (copy == NULL) {
            *rc = ds_no_memory(e);
            return 0;
        }
        ds_result_clean_name(copy);
        free(*name);
        *name = copy;
    }
    return other;
}

static int fill_text(ds_store *s, const char *key, char **text, ds_error *e)
{
    return *text != NULL ? 0 : ds_store_get(s, key, text, e);
}

/* The recorded machine in one line. */
static int read_machine(ds_result *r, ds_store *s, ds_error *e)
{
    static const char *const key[] = {"processor", "arithmetic", "machine"};
    char *text = NULL, *part = NULL;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < sizeof key / sizeof *key; i++) {
        rc = ds_store_get(s, key[i], &part, e);
        if (rc == 0 && part != NULL && part[0] != '\0') {
            char *longer = NULL;
            rc = asprintf(&longer, "%s%s%s", text != NULL ? text : "", text != NULL ? ", " : "", part) < 0
                     ? ds_no_memory(e)
                     : 0;
            free(text);
            text = rc == 0 ? longer : NULL;
        }
        free(part);
        part = NULL;
    }
    r->machine = text;
    return rc;
}

/* Reads what the run recommends under noise (core/run/recommend.h). */
static int read_recommended(ds_result *r, ds_store *s, ds_error *e)
{
    char *text = NULL;
    int rc = ds_store_get(s, "recommended", &text, e);
    json_t *o = rc == 0 && text != NULL && text[0] != '\0' ? json_loads(text, 0, NULL) : NULL;
    const json_t *mean = json_object_get(o, "mean"), *keys = json_object_get(o, "n_keys");
    if (json_is_number(mean) && json_is_integer(keys) && json_integer_value(keys) > 0) {
        r->recommended = json_number_value(mean);
        r->recommended_se = json_number_value(json_object_get(o, "se"));
        r->recommended_keys = (uint64_t)json_integer_value(keys);
    }
    json_decref(o);
    free(text);
    return rc;
}

/* Fixed variables make a different problem, so they count as a setting of the environment. */
static int count_fix(ds_result *r, ds_error *e)
{
    const ds_setting *s = ds_settings_find(&r->settings, DS_SECTION_RUN, "fix");
    return s == NULL || s->value[0] == '\0' || ds_settings_find(&r->settings, DS_SECTION_ENV, "fix") != NULL
               ? 0
               : ds_settings_add(&r->settings, DS_SECTION_ENV, "fix", s->value, s->origin, NULL, s->status,
                                 s->layer, e);
}

/* Reads settings, variables, and the contents of the summary, for which the store has precedence. Every row
 * is checked, needed or not: no figure or table is made from a damaged record. */
static int read_store(ds_result *r, ds_store *s, ds_error *e)
{
    const int has_summary = r->ended != NULL;
    double budget = (double)r->budget;
    uint64_t seed = 0;
    tally t = {.best_loss = (double)INFINITY, .first_loss = NAN};
    char *ended = NULL;
    int rc = ds_store_get_settings(s, &r->settings, e);
    rc = rc != 0 ? rc : count_fix(r, e);
    rc = rc != 0 ? rc : ds_store_verify(s, e);
    rc = rc != 0 ? rc : ds_store_scan(s, count_row, &t, e);
    rc = rc != 0 ? rc : ds_store_get(s, "ended", &ended, e);
    rc = rc != 0 ? rc : fill_text(s, "created", &r->created, e);
    rc = rc != 0 ? rc : fill_text(s, "dshost_version", &r->host_version, e);
    rc = rc != 0 ? rc : read_machine(r, s, e);
    rc = rc != 0 ? rc : read_recommended(r, s, e);
    int other = take_plugin(s, "env", r->named, &r->env_id, &r->env, &rc, e);
    other |= take_plugin(s, "opt", r->named, &r->opt_id, &r->opt, &rc, e);
    other |= take_text(s, "env_version", &r->env_version, &rc, e);
    other |= take_text(s, "opt_version", &r->opt_version, &rc, e);
    other |= take_number(s, "budget", &budget, &rc, e);
    if (rc != 0) {
        free(ended);
        return rc;
    }
    const ds_setting *given = ds_settings_find(&r->settings, DS_SECTION_RUN, "seed");
    if (given != NULL && ds_parse_seed(given->value, &seed)) {
        other |= take_count(&r->seed, seed);
    }
    other |= take_count(&r->n, ds_store_n(s));
    other |= take_count(&r->evaluations, t.evaluations);
    other |= take_count(&r->best_id, t.best_id);
    other |= take_count(&r->cost_steps, t.cost_steps);
    other |= memcmp(&r->best_loss, &t.best_loss, sizeof t.best_loss) != 0 && r->best_loss != t.best_loss;
    other |= has_summary && ended != NULL && strcmp(ended, r->ended) != 0;
    r->best_loss = t.best_loss;
    r->first_loss = t.first_loss;
    r->losses = t.losses;
    r->evaluation_s = t.evaluation_s;
    r->budget = budget > 0 ? (uint64_t)budget : 0;
    r->format = ds_store_format(s);
    if (has_summary && ended != NULL) {
        free(r->ended);
        r->ended = ended[0] != '\0' ? ended : NULL;
        ended = r->ended != NULL ? NULL : ended;
    }
    if (has_summary && other && r->ended != NULL) {
        ds_log(DS_LOG_WARNING, NULL, "%s/summary.json differs from run.sqlite; the store is used", r->folder);
    }
    free(ended);
    return 0;
}

/* An unreadable store is not a failure: the run counts as failed. */
int ds_result_check(ds_result *r, ds_error *e)
{
    ds_store *s = NULL;
    ds_error why = {0, ""};
    int rc = ds_result_store(r->folder, &s, &why);
    rc = rc != 0 ? rc : read_store(r, s, &why);
    ds_store_close(s, NULL);
    if (rc == DS_EXIT_MEMORY) {
        return ds_no_memory(e);
    }
    return rc != 0 ? ds_result_damaged(r, why.text, e) : 0;
}

int ds_results_left_out(size_t damaged, ds_error *e)
{
    return damaged == 0
               ? 0
               : ds_fail(e, DS_EXIT_IO,
                         "%zu damaged run%s left out (see the warnings); the output covers the others",
                         damaged, damaged == 1 ? " was" : "s were");
}

int ds_result_damaged(ds_result *r, const char *why, ds_error *e)
{
    char *text = strdup(why);
    if (text == NULL) {
        return ds_no_memory(e);
    }
    free(r->error);
    r->error = text;
    r->damaged = 1;
    return 0;
}

/* ---- folders ---- */

static int add_run(const char *folder, ds_run_results *all, ds_error *e)
{
    if ((all->count & (all->count - 1)) == 0) { /* at 0, 1, 2, 4, ... the array is full */
        ds_result *grown = realloc(all->item, (all->count == 0 ? 1 : 2 * all->count) * sizeof(*grown));
        if (grown == NULL) {
            return ds_no_memory(e);
        }
        all->item = grown;
    }
    ds_result *r = &all->item[all->count];
    int has = ds_result_read(folder, r, e);
    if (has < 0) {
        ds_result_clear(r);
        return e->status;
    }
    all->count++;
    int rc = ds_result_check(r, e);
    all->damaged += (size_t)(rc == 0 && r->damaged);
    return rc;
}

/* `run` is the run whose folder contains this one, or NULL. */
static int walk(const char *folder, const char *run, int depth, ds_run_results *all, ds_error *e)
{
    int rc = 0;
    if (ds_folder_has_run(folder)) {
        if (run != NULL) {
            ds_log(DS_LOG_WARNING, NULL, "%s is inside the folder of another run, %s; both count", folder,
                   run);
        }
        run = folder;
        rc = add_run(folder, all, e);
    }
    DIR *d = rc == 0 ? opendir(folder) : NULL;
    if (d == NULL) {
        return rc != 0 ? rc : ds_fail(e, DS_EXIT_IO, "%s: %s", folder, strerror(errno));
    }
    for (struct dirent *item; rc == 0 && depth < DEPTH_MAX && (item = readdir(d)) != NULL;) {
        struct stat st;
        char *path = item->d_name[0] != '.' ? ds_folder_path(folder, item->d_name) : NULL;
        if (path != NULL && lstat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
            rc = walk(path, run, depth + 1, all, e);
        }
        free(path);
    }
    closedir(d);
    return rc;
}

static int by_names(const void *a, const void *b)
{
    const ds_result *x = a;
    const ds_result *y = b;
    int c = strcmp(x->env, y->env);
    c = c != 0 ? c : strcmp(x->opt, y->opt);
    c = c != 0 ? c : (x->seed > y->seed) - (x->seed < y->seed);
    c = c != 0 ? c : strcmp(x->folder, y->folder);
    return c != 0 || x->where == NULL || y->where == NULL ? c : strcmp(x->where, y->where);
}

static int by_place(const void *a, const void *b)
{
    const ds_result *x = a;
    const ds_result *y = b;
    int c = strcmp(x->place != NULL ? x->place : x->folder, y->place != NULL ? y->place : y->folder);
    return c != 0 ? c : strcmp(x->folder, y->folder);
}

/* Runs of a folder that is named twice, or inside another named folder, count once. */
static void drop_repeated(ds_run_results *r)
{
    size_t kept = 0;
    qsort(r->item, r->count, sizeof(*r->item), by_place);
    for (size_t i = 0; i < r->count; i++) {
        const char *place = r->item[i].place;
        if (kept > 0 && place != NULL && r->item[kept - 1].place != NULL &&
            strcmp(r->item[kept - 1].place, place) == 0) {
            r->damaged -= (size_t)r->item[i].damaged;
            ds_result_clear(&r->item[i]);
        } else {
            r->item[kept++] = r->item[i];
        }
    }
    r->count = kept;
}

static int is_interrupted(const ds_result *r)
{
    return r->error == NULL && r->evaluations > 0 && (r->ended == NULL || strcmp(r->ended, "signal") == 0);
}

void ds_results_take_unfinished(ds_run_results *r)
{
    for (size_t i = 0, end; i < r->count; i = end) { /* sorted: runs with the same name are adjacent */
        int finished = 0;
        for (end = i; end < r->count && strcmp(r->item[end].env, r->item[i].env) == 0 &&
                      strcmp(r->item[end].opt, r->item[i].opt) == 0;
             end++) {
            finished |= ds_result_is_finished(&r->item[end]);
        }
        for (size_t k = i; k < end; k++) {
            r->item[k].partial = !finished && is_interrupted(&r->item[k]);
        }
    }
}

void ds_results_keep_finished(ds_run_results *r, const char *opt)
{
    size_t kept = 0;
    for (size_t i = 0; i < r->count; i++) {
        if (ds_result_is_finished(&r->item[i]) && (opt == NULL || strcmp(r->item[i].opt, opt) == 0)) {
            r->item[kept++] = r->item[i];
        } else {
            ds_result_clear(&r->item[i]);
        }
    }
    r->count = kept;
}

size_t ds_results_unchecked(const ds_run_results *r, const ds_result **first)
{
    size_t count = 0;
    for (size_t i = r->count; i-- > 0;) {
        if (r->item[i].format == 1) {
            *first = &r->item[i];
            count++;
        }
    }
    return count;
}

void ds_results_sort(ds_run_results *r)
{
    if (r->count > 1) {
        qsort(r->item, r->count, sizeof(*r->item), by_names);
    }
}

int ds_results_read(const char *const *folders, size_t count, ds_run_results *out, ds_error *e)
{
    int rc = 0;
    *out = (ds_run_results){NULL, 0, 0};
    for (size_t i = 0; i < count && rc == 0; i++) {
        rc = walk(folders[i], NULL, 0, out, e);
    }
    if (rc == 0 && out->count == 0) {
        rc = ds_fail(e, DS_EXIT_IO, "%s%s holds no run (there is no run.sqlite at any depth)",
                     count > 0 ? folders[0] : "", count > 1 ? ", ..." : "");
    }
    if (rc != 0) {
        ds_results_clear(out);
        return rc;
    }
    drop_repeated(out);
    ds_results_sort(out);
    return 0;
}

void ds_results_clear(ds_run_results *r)
{
    for (size_t i = 0; i < r->count; i++) {
        ds_result_clear(&r->item[i]);
    }
    free(r->item);
    *r = (ds_run_results){NULL, 0, 0};
}

/* ---- curves ---- */

typedef struct drawing {
    ds_curve *curve;
    size_t capacity;
    double best;
    ds_error *e;
} drawing;

static int grow(drawing *d)
{
    ds_curve *c = d->curve;
    size_t capacity = d->capacity == 0 ? 64 : 2 * d->capacity;
    uint64_t *id = realloc(c->id, capacity * sizeof(*id));
    c->id = id != NULL ? id : c->id;
    double *loss = realloc(c->loss, capacity * sizeof(*loss));
    c->loss = loss != NULL ? loss : c->loss;
    uint64_t *cost = realloc(c->cost_steps, capacity * sizeof(*cost));
    c->cost_steps = cost != NULL ? cost : c->cost_steps;
    double *wall = realloc(c->wall, capacity * sizeof(*wall));
    c->wall = wall != NULL ? wall : c->wall;
    if (id == NULL || loss == NULL || cost == NULL || wall == NULL) {
        return ds_no_memory(d->e);
    }
    d->capacity = capacity;
    return 0;
}

static int visit(void *ctx, uint64_t id, double loss, uint64_t cost_steps, double wall)
{
    drawing *d = ctx;
    ds_curve *c = d->curve;
    c->evaluations = id;
    c->all_cost_steps = ds_cost_sum(c->all_cost_steps, cost_steps);
    c->all_wall += wall;
    if (!(loss < d->best)) {
        return 0;
    }
    if (c->count == d->capacity) {
        int rc = grow(d);
        if (rc != 0) {
            return rc;
        }
    }
    d->best = loss;
    c->id[c->count] = id;
    c->loss[c->count] = loss;
    c->cost_steps[c->count] = c->all_cost_steps;
    c->wall[c->count] = c->all_wall;
    c->count++;
    return 0;
}

int ds_curve_read(const char *folder, ds_curve *out, ds_error *e)
{
    ds_store *s = NULL;
    drawing d = {out, 0, (double)INFINITY, e};
    memset(out, 0, sizeof(*out));
    int rc = ds_result_store(folder, &s, e);
    rc = rc != 0 ? rc : ds_store_scan(s, visit, &d, e);
    ds_store_close(s, NULL);
    if (rc != 0) {
        ds_curve_clear(out);
    }
    return rc;
}

/* Sums up to c->evaluations. */
static int add_until(void *ctx, uint64_t id, double loss, uint64_t cost_steps, double wall)
{
    ds_curve *c = ctx;
    (void)loss;
    if (id <= c->evaluations) {
        c->all_cost_steps = ds_cost_sum(c->all_cost_steps, cost_steps);
        c->all_wall += wall;
    }
    return 0;
}

int ds_curve_until(const char *folder, const ds_curve *c, uint64_t evaluations, ds_curve *out, ds_error *e)
{
    ds_store *s = NULL;
    *out = *c;
    if (c->evaluations <= evaluations) {
        return 0;
    }
    while (out->count > 0 && out->id[out->count - 1] > evaluations) {
        out->count--;
    }
    out->evaluations = evaluations;
    out->all_cost_steps = 0;
    out->all_wall = 0;
    int rc = ds_result_store(folder, &s, e);
    rc = rc != 0 ? rc : ds_store_scan(s, add_until, out, e);
    ds_store_close(s, NULL);
    return rc;
}

int ds_tolerance_read(const char *text, double *tolerance, ds_error *e)
{
    return ds_parse_real(text, tolerance) && isfinite(*tolerance) && *tolerance >= 0
               ? 0
               : ds_fail(e, DS_EXIT_USAGE, "--tolerance %.40s: expected a number of 0 or more", text);
}

int ds_results_identical(const ds_result *a, const ds_result *b)
{
    const int known = a->losses != 0 && b->losses != 0 && a->evaluations > 0;
    const char *x = a->variant != NULL ? a->variant : "", *y = b->variant != NULL ? b->variant : "";
    return known && a->losses == b->losses && a->evaluations == b->evaluations &&
           a->gradients == b->gradients && a->cost_steps == b->cost_steps && a->budget == b->budget &&
           a->seed != b->seed && strcmp(a->env, b->env) == 0 && strcmp(a->opt, b->opt) == 0 &&
           strcmp(x, y) == 0;
}

void ds_curve_clear(ds_curve *c)
{
    free(c->id);
    free(c->loss);
    free(c->cost_steps);
    free(c->wall);
    memset(c, 0, sizeof(*c));
}
