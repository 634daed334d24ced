/* SPDX-License-Identifier: Apache-2.0 */
/* bench_plan.c - from an experiment file to cells and runs, and to the files that describe them. */
#include "config.h"

#include "bench/bench_plan.h"

#include <ctype.h>
#include <dirent.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/stop.h"
#include "base/text.h"
#include "config/expect.h"
#include "config/inifile.h"
#include "evaluate/trust.h"
#include "plugin/instance.h"
#include "results/results.h"
#include "run/run.h"
#include "run/session.h"
#include "store/run_folder.h"
#include "worker/process.h"

/* ---- plugins ---- */

/* Collects the names that could not be loaded, for one message. */
typedef struct missing {
    char names[2][300];
    size_t count[2];
    char reason[400]; /* of the first failure */
} missing;

static void note_missing(missing *m, int which, const ds_bench_part *p, const ds_error *why)
{
    size_t used = strlen(m->names[which]);
    const char *name = strrchr(p->plugin, '/') != NULL ? strrchr(p->plugin, '/') + 1 : p->plugin;
    if (m->count[0] + m->count[1] == 0) {
        snprintf(m->reason, sizeof(m->reason), "%.390s", why->text);
    }
    m->count[which]++;
    if (used + strlen(name) + 8 < sizeof(m->names[which])) {
        snprintf(m->names[which] + used, sizeof(m->names[which]) - used, " %s", name);
    } else if (used + 5 < sizeof(m->names[which]) && strcmp(m->names[which] + used - 4, " ...") != 0) {
        strcat(m->names[which], " ...");
    }
}

static int report_missing(const ds_bench_plan *p, const missing *m, int skip, ds_error *e)
{
    char what[700];
    if (m->count[0] + m->count[1] == 0) {
        return 0;
    }
    snprintf(what, sizeof(what), "%s%s%s%s%s%s",
             m->count[0] > 1   ? "environments"
             : m->count[0] > 0 ? "environment"
                               : "",
             m->names[0], m->count[0] > 0 && m->count[1] > 0 ? ", " : "",
             m->count[1] > 1   ? "optimizers"
             : m->count[1] > 0 ? "optimizer"
                               : "",
             m->names[1], "");
    if (!skip) {
        return ds_fail(e, DS_EXIT_PLUGIN,
                       "%s: cannot be loaded: %s; install them, or leave them out with --skip-missing (%s)",
                       p->path, what, m->reason);
    }
    ds_log(DS_LOG_WARNING, NULL, "%s: left out, because they cannot be loaded: %s", p->path, what);
    return 0;
}

/* Uses the runs' limit for start-up code; wrong settings are reported later. */
static double start_limit(const ds_bench_plan *p)
{
    ds_run_options o;
    double limit = 0.0;
    if (ds_run_options_make(&p->file.run, &o, NULL) == 0) {
        limit = o.start_timeout;
        ds_run_options_clear(&o);
    }
    return limit;
}

static int load_variants(ds_bench_plan *p, int which, int of_record, missing *m, ds_error *e)
{
    const ds_bench_parts *parts = &p->file.part[which];
    uint32_t kind = which == DS_BENCH_ENV ? DS_KIND_ENV : DS_KIND_OPTIMIZER;
    int section = which == DS_BENCH_ENV ? DS_SECTION_ENV : DS_SECTION_OPT;
    const ds_describe_config probe = {.start_timeout = start_limit(p), .stop = &ds_stop_flag};
    int rc = 0;
    p->variant[which] = calloc(parts->count + 1, sizeof(*p->variant[which]));
    if (p->variant[which] == NULL) {
        return ds_no_memory(e);
    }
    for (size_t i = 0; i < parts->count && rc == 0; i++) {
        const ds_bench_part *part = &parts->item[i];
        ds_bench_variant v = {part, NULL, NULL};
        ds_error why = {0, ""};
        rc = of_record ? ds_trust_plugin(part->origin, part->plugin, &why) : 0;
        if (rc != 0) {
            return ds_fail(e, rc, "%s", why.text);
        }
        rc = ds_describe_name(part->plugin, kind, &probe, &v.module, &why);
        if (rc != 0) {
            note_missing(m, which, part, &why);
            rc = rc == DS_EXIT_PLUGIN ? 0 : ds_fail(e, rc, "%s", why.text);
            continue;
        }
        rc = ds_params_make(v.module->plugin->desc->params, v.module->id, &part->settings, section, &v.params,
                            e);
        p->variant[which][p->variants[which]++] = v;
    }
    return rc;
}

/* ---- cells ---- */

/* Does any of the patterns (separated by spaces or commas) match? Sets used[i] of those that do. */
static int matches(const ds_bench_words *patterns, const char *name, char *used)
{
    int found = 0;
    for (size_t i = 0; i < patterns->count; i++) {
        int hit = fnmatch(patterns->item[i], name, 0) == 0;
        used[i] = (char)(used[i] | hit);
        found |= hit;
    }
    return found;
}

/* A pattern that matches nothing is most likely a typing error. */
static void warn_unused(const ds_bench_plan *p, const char *what, const ds_bench_words *patterns,
                        const char *used)
{
    for (size_t i = 0; i < patterns->count; i++) {
        if (!used[i]) {
            ds_log(DS_LOG_WARNING, NULL, "%s: %s %s matches no cell (cells are called ENV/OPT)", p->path,
                   what, patterns->item[i]);
        }
    }
}

static int add_cell(ds_bench_plan *p, size_t i, size_t k, const char *name, int wanted, ds_error *e)
{
    const ds_bench_variant *env = &p->variant[0][i];
    const ds_bench_variant *opt = &p->variant[1][k];
    const ds_offer offer = ds_offer_of_env(env->module->plugin->desc);
    const char *lacks = ds_need_unmet(opt->module->plugin->desc, &offer);
    if (lacks != NULL) {
        if (wanted) {
            ds_log(DS_LOG_WARNING, NULL, "%s: %s is left out: %s needs %s, which %s does not have", p->path,
                   name, opt->module->id, ds_need_words(lacks), env->module->id);
        }
        return 0;
    }
    p->cell[p->cells] = (ds_bench_cell){i, k, strdup(name), wanted};
    return p->cell[p->cells++].name != NULL ? 0 : ds_no_memory(e);
}

static int fill_cells(ds_bench_plan *p, const ds_bench_words *skip, const ds_bench_words *only, int all,
                      ds_error *e)
{
    int complete = p->variants[0] == p->file.part[0].count && p->variants[1] == p->file.part[1].count;
    char skipped[DS_BENCH_WORDS] = {0}, matched[DS_BENCH_WORDS] = {0};
    int rc = 0;
    for (size_t i = 0; i < p->variants[0] && rc == 0; i++) {
        for (size_t k = 0; k < p->variants[1] && rc == 0; k++) {
            char name[2 * DS_BENCH_NAME + 2];
            snprintf(name, sizeof(name), "%s/%s", p->variant[0][i].part->name, p->variant[1][k].part->name);
            int wanted = all || matches(only, name, matched);
            if (!matches(skip, name, skipped)) {
                rc = add_cell(p, i, k, name, wanted, e);
            }
        }
    }
    if (rc == 0 && complete) { /* else it may refer to a missing plugin */
        warn_unused(p, "skip", skip, skipped);
    }
    if (rc == 0 && complete && ds_bench_wanted_cells(p) > 0) {
        warn_unused(p, "--only", only, matched);
    }
    return rc;
}

static int make_cells(ds_bench_plan *p, const char *only, ds_error *e)
{
    ds_bench_words *list = calloc(2, sizeof(*list));
    p->cell = calloc(p->variants[0] * p->variants[1] + 1, sizeof(*p->cell));
    int rc = list == NULL || p->cell == NULL ? ds_no_memory(e) : 0;
    rc = rc != 0 ? rc : ds_bench_split(ds_bench_text(&p->file, "skip"), " \t,", p->path, &list[0], e);
    rc = rc != 0 ? rc : ds_bench_split(only != NULL ? only : "", " \t,", "--only", &list[1], e);
    rc = rc != 0 ? rc : fill_cells(p, &list[0], &list[1], only == NULL, e);
    for (int i = 0; list != NULL && i < 2; i++) {
        free(list[i].text);
    }
    free(list);
    if (rc == 0 && p->cells == 0) {
        rc = ds_fail(e, DS_EXIT_CONFIG, "%s: no cell is left", p->path);
    } else if (rc == 0 && ds_bench_wanted_cells(p) == 0) {
        rc =
            ds_fail(e, DS_EXIT_USAGE, "%s: --only %.200s matches none of %zu cells (they are called ENV/OPT)",
                    p->path, only, p->cells);
    }
    return rc;
}

/* results/NAME for dir/NAME.ini; to be freed. */
static char *default_folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    size_t n = strlen(name);
    char *out = NULL;
    n -= n > 4 && strcmp(name + n - 4, ".ini") == 0 ? 4 : 0;
    return asprintf(&out, "results/%.*s", (int)n, name) < 0 ? NULL : out;
}

/* A shard has its own folder, OUT-2of4, so that shards can run on machines that share nothing. */
static int choose_folder(ds_bench_plan *p, const ds_bench_choice *choice, ds_error *e)
{
    const char *out = choice->out != NULL ? choice->out : ds_bench_text(&p->file, "out");
    if (choice->out == NULL && ds_path_leaves(out)) {
        return ds_fail(e, DS_EXIT_CONFIG,
                       "%s: out = %.200s: a file may only name a folder below the working directory; for "
                       "another one use --out %.200s",
                       p->path, out, out);
    }
    char *base = out[0] != '\0' ? strdup(out) : default_folder(p->path);
    if (base == NULL) {
        return ds_no_memory(e);
    }
    size_t n = strlen(base);
    while (n > 1 && base[n - 1] == '/') {
        base[--n] = '\0';
    }
    if (base[0] == '-') { /* `dshost resume` would read it as a flag */
        char *dotted = ds_folder_path(".", base);
        free(base);
        if (dotted == NULL) {
            return ds_no_memory(e);
        }
        base = dotted;
    }
    if (choice->shards > 1 && choice->out == NULL) {
        p->out =
            asprintf(&p->out, "%s-%zuof%zu", base, choice->shard + 1, choice->shards) < 0 ? NULL : p->out;
        free(base);
    } else {
        p->out = base;
    }
    return p->out != NULL ? 0 : ds_no_memory(e);
}

/* Budget and jobs: as many runs at a time as their workers and threads leave room for. */
static int read_options(ds_bench_plan *p, ds_error *e)
{
    ds_run_options o;
    int rc = ds_run_options_make(&p->file.run, &o, e);
    if (rc == 0) {
        int64_t each = o.jobs * o.threads;
        int64_t fit = ds_processors() / (each > 0 ? each : 1);
        p->budget = (uint64_t)o.budget;
        p->seconds = o.seconds;
        p->jobs = ds_bench_int(&p->file, "jobs");
        p->jobs = p->jobs > 0 ? p->jobs : fit > 1 ? fit : 1;
        ds_run_options_clear(&o);
    }
    return rc;
}

int ds_bench_plan_make(const char *path, const ds_settings *flags, const ds_settings *sets,
                       const ds_bench_choice *choice, ds_bench_plan *out, ds_error *e)
{
    missing m = {0};
    memset(out, 0, sizeof(*out));
    out->path = strdup(path);
    out->shard = choice->shard;
    out->shards = choice->shards;
    int rc = out->path == NULL ? ds_no_memory(e) : ds_bench_file_read(path, flags, sets, &out->file, e);
    rc = rc != 0 ? rc : load_variants(out, DS_BENCH_ENV, choice->of_record, &m, e);
    rc = rc != 0 ? rc : load_variants(out, DS_BENCH_OPT, choice->of_record, &m, e);
    rc = rc != 0 ? rc : report_missing(out, &m, choice->skip_missing, e);
    rc = rc != 0 ? rc : make_cells(out, choice->only, e);
    rc = rc != 0 ? rc : choose_folder(out, choice, e);
    rc = rc != 0 ? rc : read_options(out, e);
    if (rc == 0) {
        out->seeds = out->wanted = (size_t)ds_bench_int(&out->file, "runs");
        out->runs = out->cells * out->seeds;
    }
    return rc;
}

void ds_bench_plan_clear(ds_bench_plan *p)
{
    for (int which = 0; which < 2; which++) {
        for (size_t i = 0; i < p->variants[which]; i++) {
            ds_params_free(p->variant[which][i].params);
        }
        free(p->variant[which]);
    }
    for (size_t i = 0; i < p->cells; i++) {
        free(p->cell[i].name);
    }
    free(p->cell);
    free(p->path);
    free(p->out);
    ds_bench_file_clear(&p->file);
    memset(p, 0, sizeof(*p));
}

/* ---- runs ---- */

const ds_bench_cell *ds_bench_cell_of(const ds_bench_plan *p, size_t run)
{
    return &p->cell[run % p->cells];
}

uint64_t ds_bench_budget(const ds_bench_plan *p, const ds_bench_cell *cell)
{
    return p->budget / ds_expect_episodes(&p->variant[DS_BENCH_ENV][cell->env].part->settings);
}

uint64_t ds_bench_seed_of(const ds_bench_plan *p, size_t run)
{
    const uint64_t number = run / p->cells;
    if (number < p->wanted) {
        return p->file.seed + number;
    }
    const uint64_t other = number - p->wanted;
    return other < p->before ? ds_bench_first_seed(p) + other : p->file.seed + number - p->before;
}

uint64_t ds_bench_first_seed(const ds_bench_plan *p)
{
    return p->file.seed - p->before;
}

/* Diagonal, which spreads the seeds of every cell over the shards. */
int ds_bench_is_here(const ds_bench_plan *p, size_t run)
{
    return p->shards <= 1 || (run % p->cells + run / p->cells) % p->shards == p->shard;
}

int ds_bench_is_mine(const ds_bench_plan *p, size_t run)
{
    return ds_bench_is_here(p, run) && run / p->cells < p->wanted && ds_bench_cell_of(p, run)->wanted;
}

size_t ds_bench_wanted_cells(const ds_bench_plan *p)
{
    size_t count = 0;
    for (size_t i = 0; i < p->cells; i++) {
        count += p->cell[i].wanted != 0;
    }
    return count;
}

char *ds_bench_run_name(const ds_bench_plan *p, size_t run)
{
    const char *cell = ds_bench_cell_of(p, run)->name;
    char *name = NULL;
    return asprintf(&name, "%s/seed-%llu", cell, (unsigned long long)ds_bench_seed_of(p, run)) < 0 ? NULL
                                                                                                   : name;
}

char *ds_bench_run_folder(const ds_bench_plan *p, size_t run)
{
    char *name = ds_bench_run_name(p, run);
    char *folder = name != NULL ? ds_folder_path(p->out, name) : NULL;
    free(name);
    return folder;
}

int ds_bench_cell_settings(const ds_bench_plan *p, const ds_bench_cell *c, ds_settings *out, ds_error *e)
{
    const ds_bench_part *env = p->variant[0][c->env].part;
    const ds_bench_part *opt = p->variant[1][c->opt].part;
    char seed[32], runs[32];
    snprintf(seed, sizeof(seed), "%llu", (unsigned long long)ds_bench_first_seed(p));
    snprintf(runs, sizeof(runs), "%zu", p->seeds);
    const struct {
        const char *key, *value;
    } more[] = {{"env", env->plugin}, {"opt", opt->plugin}, {"seed", seed}, {"runs", runs}};
    int rc = ds_settings_copy(out, &p->file.run, e);
    rc = rc != 0 ? rc : ds_settings_copy(out, &env->settings, e);
    rc = rc != 0 ? rc : ds_settings_copy(out, &opt->settings, e);
    for (size_t i = 0; i < sizeof(more) / sizeof(more[0]) && rc == 0; i++) {
        rc = ds_settings_add(out, DS_SECTION_RUN, more[i].key, more[i].value, p->path, NULL, DS_EXIT_CONFIG,
                             DS_LAYER_FLAG, e);
    }
    return rc;
}

/* ---- existing results: parameters ---- */

/* The parameters of a cell's runs are in its run.ini, whatever bench.ini says: a variant may have been
 * removed from the file in the meantime. */

/* Compares word for word: lists are written with spaces, whatever separated their numbers. */
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
                   "%s holds runs of %s with %s = %.60s, but the file says %.60s: give the variant another "
                   "name, or choose another --out",
                   p->out, what, key, then, now);
}

/* A parameter that is new in the plugin has its default, which is the behaviour without it. */
static int compare(const ds_bench_plan *p, const char *what, const ds_settings *then, int section,
                   const ds_params *now, ds_error *e)
{
    int rc = 0;
    for (size_t i = 0; i < ds_params_count(now) && rc == 0; i++) {
        const char *key = ds_params_info(now, i)->name;
        const char *value = ds_params_value_text(now, i);
        const ds_setting *old = ds_settings_find(then, section, key);
        int is_free = ds_run_may_override(key) || ds_bench_elsewhere(key) != NULL;
        /* may be set although those runs did not know them */
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
                       "%s holds runs of %s with plugin %.200s, but the file says %.200s: give the variant "
                       "another name, or choose another --out",
                       p->out, name, old->value, plugin);
    }
    return compare(p, name, then, which == DS_BENCH_ENV ? DS_SECTION_ENV : DS_SECTION_OPT, v->params, e);
}

/* ---- existing results: folders ---- */

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

/* Checks a cell of OUT, also one that is not in the plan; sets *any if it has runs. */
static int check_cell(const ds_bench_plan *p, const ds_params *run, const char *env, const char *opt,
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

static int check_cells(const ds_bench_plan *p, int *any, ds_error *e)
{
    ds_run_options o;
    *any = 0;
    int rc = ds_run_options_make(&p->file.run, &o, e);
    DIR *out = rc == 0 ? opendir(p->out) : NULL;
    for (struct dirent *env; out != NULL && rc == 0 && (env = readdir(out)) != NULL;) {
        char *folder = env->d_name[0] != '.' ? ds_folder_path(p->out, env->d_name) : NULL;
        DIR *d = folder != NULL ? opendir(folder) : NULL;
        for (struct dirent *opt; d != NULL && rc == 0 && (opt = readdir(d)) != NULL;) {
            rc = opt->d_name[0] != '.' ? check_cell(p, o.params, env->d_name, opt->d_name, any, e) : 0;
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

/* ---- existing results: budget ---- */

static int64_t int_of(const ds_settings *s, const char *key)
{
    const ds_setting *found = ds_settings_find(s, DS_SECTION_RUN, key);
    int64_t value = 0;
    return found != NULL && ds_parse_int(found->value, &value) ? value : 0;
}

/* Planned or finished evaluations of a run. */
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
        const uint64_t episodes = r.evaluations * ds_expect_episodes(&s);
        most = episodes > most ? episodes : most;
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
                         "%s/%s has a budget of %llu evaluations, so %llu are too few: raise the budget, or "
                         "choose another --out",
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
    return what == NULL ? 0
                        : ds_fail(e, DS_EXIT_IO,
                                  "%s holds a %s: an experiment needs its own folder; choose another --out",
                                  out, what);
}

/* ---- existing results: seeds ---- */

/* Do these two ranges, given by first and last number, overlap or adjoin? */
static int is_one_range(const uint64_t a[2], const uint64_t b[2])
{
    return (a[0] <= b[1] || a[0] - b[1] == 1) && (b[0] <= a[1] || b[0] - a[1] == 1);
}

/* bench.ini stores a first seed and a number, so its seeds have no gap. The runs of a shard depend on the
 * index of their seed, so its first seed must stay. */
static int join_seeds(ds_bench_plan *p, const ds_bench_file *held, ds_error *e)
{
    const uint64_t then[2] = {held->seed, held->seed + (uint64_t)ds_bench_int(held, "runs") - 1};
    const uint64_t now[2] = {p->file.seed, p->file.seed + (p->wanted - 1)};
    if (then[0] != now[0] && (p->shards > 1 || !is_one_range(then, now))) {
        return ds_fail(e, DS_EXIT_USAGE,
                       "%s holds runs of seeds %llu to %llu, which bench.ini would lose with seeds %llu to "
                       "%llu: %s, or choose another --out",
                       p->out, (unsigned long long)then[0], (unsigned long long)then[1],
                       (unsigned long long)now[0], (unsigned long long)now[1],
                       p->shards > 1 ? "keep the first seed of a shard" : "leave no gap between them");
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
    int rc = path == NULL ? ds_no_memory(e) : check_cells(p, &any, e);
    if (rc == 0 && there && ds_bench_file_read(path, &none, &none, &held, &why) != 0) {
        /* Older versions wrote lines that are too long. */
        rc = why.status == DS_EXIT_MEMORY ? ds_no_memory(e) : 0;
        ds_log(DS_LOG_WARNING, NULL, "%s, so it is replaced", why.text);
    } else if (rc == 0 && there) {
        rc = any || held.seed == p->file.seed ? join_seeds(p, &held, e) : 0;
        rc = rc == 0 && (uint64_t)int_of(&held.run, "budget") > p->budget ? check_budget(p, e) : rc;
    }
    ds_bench_file_clear(&held);
    free(path);
    return rc;
}

/* ---- text of the experiment ---- */

enum { LINE_BYTES = 150 /* column at which a list of names continues on the next line */ };

/* Appends a word to "key = a b c"; long lines continue on the next one. */
static void put_word(FILE *f, size_t *used, const char *word, size_t n)
{
    if (*used + n > LINE_BYTES) {
        *used = (size_t)fprintf(f, "\n   ");
    }
    *used += (size_t)fprintf(f, " %.*s", (int)n, word);
}

static void put_words(FILE *f, const char *key, const char *text)
{
    size_t used = (size_t)fprintf(f, "%s =", key);
    for (text += strspn(text, " \t,"); *text != '\0'; text += strspn(text, " \t,")) {
        size_t n = strcspn(text, " \t,");
        put_word(f, &used, text, n);
        text += n;
    }
    fputc('\n', f);
}

static void put_names(FILE *f, const ds_bench_plan *p, int which)
{
    size_t used = (size_t)fprintf(f, "%s =", which == DS_BENCH_ENV ? "envs" : "opts");
    for (size_t i = 0; i < p->variants[which]; i++) {
        const char *name = p->variant[which][i].part->name;
        put_word(f, &used, name, strlen(name));
    }
    fputc('\n', f);
}

static int put_run(FILE *f, const ds_bench_plan *p, ds_error *e)
{
    ds_run_options o;
    int rc = ds_run_options_make(&p->file.run, &o, e);
    if (rc != 0) {
        return rc;
    }
    fprintf(f, "\n[run]\n");
    for (size_t i = 0; i < ds_params_count(o.params); i++) {
        const char *key = ds_params_info(o.params, i)->name;
        if (ds_bench_elsewhere(key) == NULL) {
            fprintf(f, "%s = %s\n", key, ds_params_value_text(o.params, i));
        }
    }
    ds_run_options_clear(&o);
    return 0;
}

char *ds_bench_plan_text(const ds_bench_plan *p, ds_error *e)
{
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    if (f == NULL) {
        ds_no_memory(e);
        return NULL;
    }
    fprintf(f,
            "; The effective experiment, by dshost %s. The same again:\n;   dshost bench bench.ini --out "
            "OTHER\n\n",
            PACKAGE_VERSION);
    fprintf(f, "[bench]\n");
    put_names(f, p, DS_BENCH_ENV);
    put_names(f, p, DS_BENCH_OPT);
    fprintf(f, "seed = %llu\nruns = %zu\n", (unsigned long long)ds_bench_first_seed(p), p->seeds);
    if (ds_bench_text(&p->file, "skip")[0] != '\0') {
        put_words(f, "skip", ds_bench_text(&p->file, "skip"));
    }
    int rc = put_run(f, p, e);
    for (int which = 0; which < 2 && rc == 0; which++) {
        for (size_t i = 0; i < p->variants[which]; i++) {
            const ds_bench_variant *v = &p->variant[which][i];
            const ds_plugin_name plugin = ds_session_plugin(v->module, v->part->plugin);
            fprintf(f, "\n; %s %s\n[%s %s]\nplugin = %s\n", v->module->id, v->module->plugin->desc->version,
                    which == DS_BENCH_ENV ? "env" : "opt", v->part->name, ds_folder_plugin_name(&plugin));
            ds_params_write_ini(v->params, f);
        }
    }
    int bad = ferror(f);
    bad |= fclose(f) != 0;
    if (rc == 0 && bad) {
        rc = ds_no_memory(e);
    }
    if (rc != 0) {
        free(text);
        text = NULL;
    }
    return text;
}

/* ---- files ---- */

static int write_cell(const ds_bench_plan *p, const ds_bench_cell *c, ds_error *e)
{
    const ds_bench_variant *env = &p->variant[DS_BENCH_ENV][c->env];
    const ds_bench_variant *opt = &p->variant[DS_BENCH_OPT][c->opt];
    char *folder = ds_folder_path(p->out, c->name);
    ds_settings s = {0};
    ds_run_options o = {0};
    int rc = folder == NULL ? ds_no_memory(e) : ds_folder_make_below(p->out, folder, e);
    rc = rc != 0 ? rc : ds_bench_cell_settings(p, c, &s, e);
    rc = rc != 0 ? rc : ds_run_options_make(&s, &o, e);
    if (rc == 0) {
        const ds_run_spec r = {.kind = "run",
                               .env = ds_session_plugin(env->module, o.env),
                               .opt = ds_session_plugin(opt->module, o.opt),
                               .options = &o,
                               .section = {[DS_SECTION_ENV] = env->params, [DS_SECTION_OPT] = opt->params},
                               .all_runs = 1};
        rc = ds_folder_write_ini(folder, &r, e);
    }
    ds_run_options_clear(&o);
    ds_settings_clear(&s);
    free(folder);
    return rc;
}

int ds_bench_plan_write(const ds_bench_plan *p, ds_error *e)
{
    char *text = ds_bench_plan_text(p, e);
    char *path = ds_folder_path(p->out, "bench.ini");
    int rc = text == NULL ? e->status : path == NULL ? ds_no_memory(e) : 0;
    if (rc == 0 && strlen(text) > DS_INI_LARGE_LIMIT) { /* could not be read again */
        rc = ds_fail(
            e, DS_EXIT_CONFIG,
            "%s: all parameters of %zu environments and %zu optimizers exceed %d MiB: split the experiment",
            p->path, p->variants[0], p->variants[1], DS_INI_LARGE_LIMIT >> 20);
    }
    rc = rc != 0 ? rc : ds_folder_make(p->out, e);
    rc = rc != 0 ? rc : ds_file_write_atomic(path, text, strlen(text), e);
    for (size_t i = 0; i < p->cells && rc == 0; i++) {
        rc = p->cell[i].wanted ? write_cell(p, &p->cell[i], e) : 0;
    }
    free(text);
    free(path);
    return rc;
}
