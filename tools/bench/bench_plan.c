/* SPDX-License-Identifier: Apache-2.0 */
/* bench_plan.c - from an experiment file to cells and runs. */
#include "config.h"

#include "bench/bench_plan.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/stop.h"
#include "base/text.h"
#include "plugin/instance.h"
#include "evaluate/trust.h"
#include "store/run_folder.h"
#include "worker/describe.h"

/* ---- plugins ---- */

/* The names that could not be loaded, for one line. */
typedef struct missing {
    char names[2][300];
    size_t count[2];
    char reason[400]; /* of the first */
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
                       "%s: cannot be loaded: %s; install them, or leave them out with "
                       "--skip-missing (%s)",
                       p->path, what, m->reason);
    }
    ds_log(DS_LOG_WARNING, NULL, "%s: left out, because they cannot be loaded: %s", p->path, what);
    return 0;
}

/* The limit of start-up code is that of the runs; settings that are wrong are told of later. */
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

/* Do any of the patterns, between blanks or commas, match? Sets used[i] of those that do. */
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

/* A pattern that matches nothing is most likely a slip. */
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
    if (rc == 0 && complete) { /* else it may be for what is missing */
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

/* results/NAME of dir/NAME.ini; to be freed. */
static char *default_folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    size_t n = strlen(name);
    char *out = NULL;
    n -= n > 4 && strcmp(name + n - 4, ".ini") == 0 ? 4 : 0;
    return asprintf(&out, "results/%.*s", (int)n, name) < 0 ? NULL : out;
}

/* A shard has a folder of its own, so that shards can be on machines that share nothing: OUT-2of4. */
static int choose_folder(ds_bench_plan *p, const ds_bench_choice *choice, ds_error *e)
{
    const char *out = choice->out != NULL ? choice->out : ds_bench_text(&p->file, "out");
    if (choice->out == NULL && ds_path_leaves(out)) {
        return ds_fail(
            e, DS_EXIT_CONFIG,
            "%s: out = %.200s: a file may only name a folder below the working directory; name another "
            "one on the command line: --out %.200s",
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
    if (base[0] == '-') { /* `dshost resume` would take it for a flag */
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

/* Diagonal, so that the seeds of every cell are spread over the shards. */
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
