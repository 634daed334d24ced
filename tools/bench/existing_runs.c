/* SPDX-License-Identifier: Apache-2.0 */
/* existing_runs.c - what a result folder holds already, and whether an experiment can go on in it.
 *
 * What the runs of a cell were made with is in its run.ini, whatever bench.ini says by now: a variant may
 * have been taken out of the file in between. */
#include "config.h"

#include "bench/bench_plan.h"

#include <ctype.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "results/results.h"
#include "run/run.h"
#include "store/run_folder.h"

/* ---- parameters ---- */

/* Equal word for word: lists are written with blanks, whatever was between their numbers. */
static int same_words(const char *a, const char *b)
{
    for (;;) {
        a += strspn(a, " \t,");
        b += strspn(b, " \t,");
        size_t n = strcspn(a, " \t,");
        if (n != strcspn(b, " \t,") || strncmp(a, b, n) != 0) {
            return 0;
        }
        if (n == 0) {
            return 1;
        }
        a += n;
        b += n;
    }
}

static int differs(const ds_bench_plan *p, const char *what, const char *key, const char *then,
                   const char *now, ds_error *e)
{
    return ds_fail(e, DS_EXIT_CONFIG,
                   "%s holds runs of %s with %s = %.60s, the file now says %.60s: give the variant another "
                   "name, or choose another --out",
                   p->out, what, key, then, now);
}

/* Parameters that are new in the plugin have their default now, which is what it did without them. */
static int compare(const ds_bench_plan *p, const char *what, const ds_settings *then, int section,
                   const ds_params *now, ds_error *e)
{
    int rc = 0;
    for (size_t i = 0; i < ds_params_count(now) && rc == 0; i++) {
        const char *key = ds_params_info(now, i)->name;
        const char *value = ds_params_value_text(now, i);
        const ds_setting *old = ds_settings_find(then, section, key);
        int is_free = ds_run_may_override(key) || ds_bench_elsewhere(key) != NULL;
        /* but for these, which may be set where those runs knew nothing of them */
        const char *before = strcmp(key, "portable") == 0 ? "false" : strcmp(key, "fix") == 0 ? "" : NULL;
        const char *then_value = old != NULL ? old->value : section == DS_SECTION_RUN ? before : NULL;
        if (then_value != NULL && !(section == DS_SECTION_RUN && is_free) && !same_words(then_value, value)) {
            rc = differs(p, what, key, then_value, value, e);
        }
    }
    return rc;
}

static int compare_variant(const ds_bench_plan *p, int which, const char *name, const ds_settings *then,
                           ds_error *e)
{
    const ds_bench_variant *v = NULL;
    for (size_t i = 0; i < p->variants[which] && v == NULL; i++) {
        v = strcmp(p->variant[which][i].part->name, name) == 0 ? &p->variant[which][i] : NULL;
    }
    if (v == NULL) {
        return 0;
    }
    const ds_setting *old = ds_settings_find(then, DS_SECTION_RUN, which == DS_BENCH_ENV ? "env" : "opt");
    const ds_plugin_name now = ds_session_plugin(v->module, v->part->plugin);
    const char *plugin = ds_folder_plugin_name(&now);
    if (old != NULL && strcmp(old->value, plugin) != 0) {
        return ds_fail(e, DS_EXIT_CONFIG,
                       "%s holds runs of %s with plugin %.200s, the file now says %.200s: give the variant "
                       "another name, or choose another --out",
                       p->out, name, old->value, plugin);
    }
    return compare(p, name, then, which == DS_BENCH_ENV ? DS_SECTION_ENV : DS_SECTION_OPT, v->params, e);
}

/* ---- folders ---- */

static int is_run(const char *cell, const char *name)
{
    const char *seed = name + 5;
    if (strncmp(name, "seed-", 5) != 0 || *seed == '\0' || seed[strspn(seed, "0123456789")] != '\0') {
        return 0;
    }
    char *folder = ds_folder_path(cell, name);
    int has = folder != NULL && ds_folder_has_run(folder);
    free(folder);
    return has;
}

static int has_runs(const char *cell)
{
    int has = 0;
    DIR *d = opendir(cell);
    for (struct dirent *entry; d != NULL && !has && (entry = readdir(d)) != NULL;) {
        has = is_run(cell, entry->d_name);
    }
    if (d != NULL) {
        closedir(d);
    }
    return has;
}

/* A cell of OUT, also one that is not in the plan; *any is set where it has runs. */
static int look_at_cell(const ds_bench_plan *p, const ds_params *run, const char *env, const char *opt,
                        int *any, ds_error *e)
{
    char *cell = NULL, *ini = NULL;
    ds_settings then = {0};
    int rc = 0;
    if (asprintf(&cell, "%s/%s/%s", p->out, env, opt) < 0 ||
        (ini = ds_folder_path(cell, "run.ini")) == NULL) {
        rc = ds_no_memory(e);
    } else if (access(ini, F_OK) == 0 && has_runs(cell)) {
        *any = 1;
        rc = ds_settings_read(&then, ini, e);
        rc = rc != 0 ? rc : compare_variant(p, DS_BENCH_ENV, env, &then, e);
        rc = rc != 0 ? rc : compare_variant(p, DS_BENCH_OPT, opt, &then, e);
        rc = rc != 0 ? rc : compare(p, "all", &then, DS_SECTION_RUN, run, e);
    }
    ds_settings_clear(&then);
    free(ini);
    free(cell);
    return rc;
}

static int look_at_cells(const ds_bench_plan *p, int *any, ds_error *e)
{
    ds_run_options o;
    *any = 0;
    int rc = ds_run_options_make(&p->file.run, &o, e);
    DIR *out = rc == 0 ? opendir(p->out) : NULL;
    for (struct dirent *env; out != NULL && rc == 0 && (env = readdir(out)) != NULL;) {
        char *folder = env->d_name[0] != '.' ? ds_folder_path(p->out, env->d_name) : NULL;
        DIR *d = folder != NULL ? opendir(folder) : NULL;
        for (struct dirent *opt; d != NULL && rc == 0 && (opt = readdir(d)) != NULL;) {
            rc = opt->d_name[0] != '.' ? look_at_cell(p, o.params, env->d_name, opt->d_name, any, e) : 0;
        }
        if (d != NULL) {
            closedir(d);
        }
        free(folder);
    }
    if (out != NULL) {
        closedir(out);
    }
    ds_run_options_clear(&o);
    return rc;
}

/* ---- budget ---- */

static int64_t int_of(const ds_settings *s, const char *key)
{
    const ds_setting *found = ds_settings_find(s, DS_SECTION_RUN, key);
    int64_t value = 0;
    return found != NULL && ds_parse_int(found->value, &value) ? value : 0;
}

/* What a run was planned for, or has by now. */
static uint64_t budget_of(const char *folder)
{
    char *ini = ds_folder_path(folder, "run.ini");
    ds_settings s = {0};
    ds_result r;
    ds_error ignored = {0, ""};
    uint64_t most = 0;
    if (ini != NULL && ds_settings_read(&s, ini, &ignored) == 0) {
        most = (uint64_t)int_of(&s, "budget");
    }
    if (ds_result_read(folder, &r, &ignored) >= 0) {
        most = r.evaluations > most ? r.evaluations : most;
        ds_result_clear(&r);
    }
    ds_settings_clear(&s);
    free(ini);
    return most;
}

static int check_budget(const ds_bench_plan *p, ds_error *e)
{
    int rc = 0;
    for (size_t k = 0; k < p->runs && rc == 0; k++) {
        char *name = ds_bench_run_name(p, k);
        char *folder = name != NULL ? ds_folder_path(p->out, name) : NULL;
        uint64_t held = folder != NULL && ds_folder_has_run(folder) ? budget_of(folder) : 0;
        if (folder == NULL) {
            rc = ds_no_memory(e);
        } else if (held > p->budget) {
            rc = ds_fail(e, DS_EXIT_USAGE,
                         "%s/%s has a budget of %llu evaluations, %llu are too few: give at least as many, "
                         "or choose another --out",
                         p->out, name, (unsigned long long)held, (unsigned long long)p->budget);
        }
        free(folder);
        free(name);
    }
    return rc;
}

int ds_bench_out_is_free(const char *out, ds_error *e)
{
    const char *what = ds_folder_has_run(out)         ? "run"
                       : ds_folder_has_landscape(out) ? "landscape"
                       : ds_series_is(out)            ? "series of runs"
                                                      : NULL;
    return what == NULL
               ? 0
               : ds_fail(e, DS_EXIT_IO,
                         "%s holds a %s: an experiment needs a folder of its own; choose another --out", out,
                         what);
}

/* ---- seeds ---- */

/* Are these two ranges, each by its first and last number, one without a gap? */
static int is_one_range(const uint64_t a[2], const uint64_t b[2])
{
    return (a[0] <= b[1] || a[0] - b[1] == 1) && (b[0] <= a[1] || b[0] - a[1] == 1);
}

/* bench.ini tells a first seed and a number, so that what it tells of has no gap. The runs of a shard go by
 * the number of their seed, which another first one would change. */
static int join_seeds(ds_bench_plan *p, const ds_bench_file *held, ds_error *e)
{
    const uint64_t then[2] = {held->seed, held->seed + (uint64_t)ds_bench_int(held, "runs") - 1};
    const uint64_t now[2] = {p->file.seed, p->file.seed + (p->wanted - 1)};
    if (then[0] != now[0] && (p->shards > 1 || !is_one_range(then, now))) {
        return ds_fail(e, DS_EXIT_USAGE,
                       "%s holds runs of seeds %llu to %llu, which bench.ini would forget with seeds %llu to "
                       "%llu: %s, or choose another --out",
                       p->out, (unsigned long long)then[0], (unsigned long long)then[1],
                       (unsigned long long)now[0], (unsigned long long)now[1],
                       p->shards > 1 ? "keep the first one of a shard" : "leave no gap between them");
    }
    const uint64_t last = then[1] > now[1] ? then[1] : now[1];
    p->before = then[0] < now[0] ? (size_t)(now[0] - then[0]) : 0;
    p->seeds = (size_t)(last - ds_bench_first_seed(p)) + 1;
    p->runs = p->cells * p->seeds;
    return 0;
}

int ds_bench_plan_join(ds_bench_plan *p, ds_error *e)
{
    int any = 0;
    char *path = ds_folder_path(p->out, "bench.ini");
    ds_settings none = {0};
    ds_bench_file held = {0};
    ds_error why = {0, ""};
    int there = path != NULL && access(path, F_OK) == 0;
    int rc = path == NULL ? ds_no_memory(e) : look_at_cells(p, &any, e);
    if (rc == 0 && there && ds_bench_file_read(path, &none, &none, &held, &why) != 0) {
        /* Older versions wrote lines that are too long. */
        rc = why.status == DS_EXIT_MEMORY ? ds_no_memory(e) : 0;
        ds_log(DS_LOG_WARNING, NULL, "%s, so that it is replaced", why.text);
    } else if (rc == 0 && there) {
        rc = any || held.seed == p->file.seed ? join_seeds(p, &held, e) : 0;
        rc = rc == 0 && (uint64_t)int_of(&held.run, "budget") > p->budget ? check_budget(p, e) : rc;
    }
    ds_bench_file_clear(&held);
    free(path);
    return rc;
}
