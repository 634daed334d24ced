/* SPDX-License-Identifier: Apache-2.0 */
/* results.c - finds runs in folders, and reads summary.json and the losses of the store. */
#include "config.h"

#include "results/results.h"

#include <dirent.h>
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "store/run_folder.h"
#include "store/store.h"

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

/* null stands for what is not finite. */
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

/* The last two folders above seed-K, where an experiment lies above them. */
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
    if (path == NULL || out->folder == NULL) {
        free(path);
        ds_no_memory(e);
        return -1;
    }
    json_t *o = json_load_file(path, 0, NULL);
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
        const json_t *versions = json_object_get(o, "versions");
        out->host_version = text_of(versions, "dshost");
        out->env_version = text_of(versions, "env");
        out->opt_version = text_of(versions, "opt");
        out->env = out->env_id != NULL ? strdup(out->env_id) : NULL;
        out->opt = out->opt_id != NULL ? strdup(out->opt_id) : NULL;
        json_decref(o);
    }
    names_of(out);
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
    char *const text[] = {r->folder, r->place, r->env,          r->opt,         r->env_id,     r->opt_id,
                          r->ended,  r->error, r->host_version, r->env_version, r->opt_version};
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

static void take_text(char **text, char **found)
{
    if (*found != NULL) {
        free(*text);
        *text = *found;
        *found = NULL;
    }
}

/* What only the store knows: settings, variables, and how far a run got that did not finish. */
static int read_store(ds_result *r, ds_store *s, ds_error *e)
{
    char *env = NULL, *opt = NULL;
    int rc = ds_store_get_settings(s, &r->settings, e);
    r->n = ds_store_n(s);
    rc = rc != 0 || ds_result_is_finished(r) ? rc : ds_store_count(s, &r->evaluations, e);
    if (rc == 0 && r->env[0] == '?') { /* interrupted before its first summary */
        rc = ds_store_get(s, "env", &env, e);
        rc = rc != 0 ? rc : ds_store_get(s, "opt", &opt, e);
        take_text(&r->env, &env);
        take_text(&r->opt, &opt);
    }
    free(env);
    free(opt);
    return rc;
}

/* A store that cannot be read is no failure: the run then counts as one that failed. */
static int look_into_store(ds_result *r, ds_error *e)
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

static int add_run(const char *folder, ds_results *all, ds_error *e)
{
    if ((all->count & (all->count - 1)) == 0) { /* 0, 1, 2, 4, ...: the array is full */
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
    return look_into_store(r, e);
}

static int walk(const char *folder, int depth, ds_results *all, ds_error *e)
{
    if (ds_folder_has_run(folder)) {
        return add_run(folder, all, e);
    }
    DIR *d = opendir(folder);
    if (d == NULL) {
        return ds_fail(e, DS_EXIT_IO, "%s: %s", folder, strerror(errno));
    }
    int rc = 0;
    for (struct dirent *item; rc == 0 && depth < DEPTH_MAX && (item = readdir(d)) != NULL;) {
        struct stat st;
        char *path = item->d_name[0] != '.' ? ds_folder_path(folder, item->d_name) : NULL;
        if (path != NULL && lstat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
            rc = walk(path, depth + 1, all, e);
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
    return c != 0 ? c : strcmp(x->folder, y->folder);
}

static int by_place(const void *a, const void *b)
{
    const ds_result *x = a;
    const ds_result *y = b;
    int c = strcmp(x->place != NULL ? x->place : x->folder, y->place != NULL ? y->place : y->folder);
    return c != 0 ? c : strcmp(x->folder, y->folder);
}

/* A folder that is named twice, or lies in another one that is named, has its runs once. */
static void drop_repeated(ds_results *r)
{
    size_t kept = 0;
    qsort(r->item, r->count, sizeof(*r->item), by_place);
    for (size_t i = 0; i < r->count; i++) {
        const char *place = r->item[i].place;
        if (kept > 0 && place != NULL && r->item[kept - 1].place != NULL &&
            strcmp(r->item[kept - 1].place, place) == 0) {
            ds_result_clear(&r->item[i]);
        } else {
            r->item[kept++] = r->item[i];
        }
    }
    r->count = kept;
}

void ds_results_keep_finished(ds_results *r, const char *opt)
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

void ds_results_sort(ds_results *r)
{
    qsort(r->item, r->count, sizeof(*r->item), by_names);
}

int ds_results_read(const char *const *folders, size_t count, ds_results *out, ds_error *e)
{
    int rc = 0;
    *out = (ds_results){NULL, 0};
    for (size_t i = 0; i < count && rc == 0; i++) {
        rc = walk(folders[i], 0, out, e);
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

void ds_results_clear(ds_results *r)
{
    for (size_t i = 0; i < r->count; i++) {
        ds_result_clear(&r->item[i]);
    }
    free(r->item);
    *r = (ds_results){NULL, 0};
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
    c->all_cost_steps += cost_steps;
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

void ds_curve_clear(ds_curve *c)
{
    free(c->id);
    free(c->loss);
    free(c->cost_steps);
    free(c->wall);
    memset(c, 0, sizeof(*c));
}
