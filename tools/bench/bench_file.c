/* SPDX-License-Identifier: Apache-2.0 */
/* bench_file.c - reads experiment files: first all lines, then what they mean: sections have no order. */
#include "config.h"

#include "bench/bench_file.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench_lines.h"
#include "bench/bench_sweep.h"
#include "config/run_options.h"
#include "run/session.h"

#define WORDS(name_, doc_)                                                                                   \
    (&(const ds_param){sizeof(ds_param), DS_PARAM_TEXT, DS_PARAM_WORDS, 0, 0, 0, name_, "", "", doc_, NULL})

const ds_param *const ds_bench_schema[] = {
    WORDS("envs", "Names of the environments: plugin ids, or names that an [env NAME] section explains."),
    WORDS("opts", "Names of the optimizers, likewise."),
    DS_TEXT("seed", "0", "Seed of the first run of every cell, 0 to 18446744073709551615."),
    DS_INT("runs", "10", 1, 1e6, "", "Runs of every cell, with seeds seed, seed + 1, ..."),
    WORDS("skip", "Cells to leave out: patterns like fluid/ppo or */sac."),
    DS_TEXT("out", "", "Result folder, below the working directory; empty = results/FILE without .ini."),
    DS_INT("jobs", "0", 0, 4096, "",
           "Runs at the same time, on each machine; 0 = as many as fit on the processors."),
    NULL};

/* ---- [bench] and [run] ---- */

const char *ds_bench_elsewhere(const char *key)
{
    static const char *const to[][2] = {{"env", "name the environments in [bench] envs"},
                                        {"opt", "name the optimizers in [bench] opts"},
                                        {"seed", "it belongs into [bench]"},
                                        {"runs", "it belongs into [bench]"},
                                        {"out", "it belongs into [bench]"},
                                        {"x", "it is for one evaluation"},
                                        {"noise_key", "it is for one evaluation"}};
    for (size_t i = 0; i < sizeof(to) / sizeof(to[0]); i++) {
        if (strcmp(key, to[i][0]) == 0) {
            return to[i][1];
        }
    }
    return NULL;
}

static int add_run(ds_bench_file *f, const char *key, const char *value, const char *origin, const char *base,
                   int status, int layer, ds_error *e)
{
    const char *why = ds_bench_elsewhere(key);
    if (why != NULL) {
        return ds_fail(e, DS_EXIT_CONFIG, "%s: '%s' is no key of [run] here: %s", origin, key, why);
    }
    return ds_settings_add(&f->run, DS_SECTION_RUN, key, value, origin, base, status, layer, e);
}

/* [run] has other defaults here: one worker per run, since there are many runs, and no pictures. */
static int add_defaults(ds_bench_file *f, ds_error *e)
{
    static const char *const preset[][2] = {{"jobs", "1"}, {"pictures", "false"}};
    int rc = 0;
    for (int i = 0; i < 2 && rc == 0; i++) {
        if (ds_settings_find(&f->run, DS_SECTION_RUN, preset[i][0]) == NULL) {
            rc = add_run(f, preset[i][0], preset[i][1], "default of bench", NULL, DS_EXIT_CONFIG,
                         DS_LAYER_FILE, e);
        }
    }
    return rc;
}

static int check_run(const ds_bench_file *f, ds_error *e)
{
    ds_run_options o;
    int rc = ds_run_options_make(&f->run, &o, e);
    if (rc == 0) {
        ds_run_options_clear(&o);
    }
    return rc;
}

/* Is this a key of [bench]? */
static int check_key(const ds_bench_line *l, ds_error *e)
{
    const char *known[16];
    size_t count = 0;
    for (; ds_bench_schema[count] != NULL; count++) {
        known[count] = ds_bench_schema[count]->name;
        if (strcmp(known[count], l->key) == 0) {
            return 0;
        }
    }
    const char *near = ds_nearest(l->key, known, count);
    return near != NULL
               ? ds_fail(e, DS_EXIT_CONFIG, "%s: unknown key '%s' in [bench]; did you mean '%s'?", l->origin,
                         l->key, near)
               : ds_fail(e, DS_EXIT_CONFIG, "%s: unknown key '%s' in [bench]; `dshost help bench` lists them",
                         l->origin, l->key);
}

static int read_options(const ds_bench_lines *all, const char *base, const ds_settings *flags,
                        const ds_settings *sets, ds_bench_file *f, ds_error *e)
{
    ds_settings bench = {0};
    int rc = ds_settings_copy(&bench, flags, e);
    for (size_t i = 0; i < all->count && rc == 0; i++) {
        const ds_bench_line *l = &all->item[i];
        if (l->kind == DS_BENCH_IN_BENCH && l->key != NULL) { /* lists of names may go on in further lines */
            rc = check_key(l, e);
            rc = rc != 0 ? rc
                         : ds_settings_add(&bench, DS_SECTION_RUN, l->key, l->value, l->origin, base,
                                           DS_EXIT_CONFIG, DS_LAYER_FILE, e);
        } else if (l->kind == DS_BENCH_IN_RUN && l->key != NULL) {
            rc = add_run(f, l->key, l->value, l->origin, base, DS_EXIT_CONFIG, DS_LAYER_FILE, e);
        }
    }
    for (size_t i = 0; i < sets->section[DS_SECTION_RUN].count && rc == 0; i++) {
        const ds_setting *s = &sets->section[DS_SECTION_RUN].item[i];
        rc = add_run(f, s->key, s->value, s->origin, NULL, s->status, s->layer, e);
    }
    rc = rc != 0 ? rc : add_defaults(f, e);
    rc = rc != 0 ? rc : ds_params_make(ds_bench_schema, "bench", &bench, DS_SECTION_RUN, &f->options, e);
    const ds_setting *seed = ds_settings_find(&bench, DS_SECTION_RUN, "seed");
    if (rc == 0 && !ds_parse_seed(ds_bench_text(f, "seed"), &f->seed)) {
        rc = ds_fail(e, seed->status,
                     "%s: seed = %.60s: expected a whole number from 0 to 18446744073709551615", seed->origin,
                     seed->value);
    }
    if (rc == 0 && f->seed > UINT64_MAX - (uint64_t)(ds_bench_int(f, "runs") - 1)) {
        rc = ds_fail(e, seed->status, "%s: seed = %s with %lld runs: the last seed would be over %llu",
                     seed->origin, seed->value, (long long)ds_bench_int(f, "runs"),
                     (unsigned long long)UINT64_MAX);
    }
    ds_settings_clear(&bench);
    rc = rc != 0 ? rc : check_run(f, e);
    return rc != 0 ? rc : ds_portable_adopt(&f->run, e);
}

const char *ds_bench_text(const ds_bench_file *f, const char *key)
{
    const char *text = "";
    ds_params_text(f->options, key, &text);
    return text;
}

int64_t ds_bench_int(const ds_bench_file *f, const char *key)
{
    int64_t value = 0;
    ds_params_int(f->options, key, &value);
    return value;
}

/* ---- names ---- */

/* Files and folders that dshost itself makes where the folders of environments lie. */
static int is_taken(const char *s)
{
    static const char *const taken[] = {"bench.ini", "bench.json", "run.lock", "report", "export"};
    int found = 0;
    for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++) {
        found |= strcmp(s, taken[i]) == 0;
    }
    return found;
}

static int is_name(const char *s)
{
    size_t n = strlen(s);
    int good = n <= DS_BENCH_NAME && s[0] != '.' && s[0] != '-';
    for (; *s != '\0'; s++) {
        good &= isalnum((unsigned char)*s) || strchr("_.+-@=", *s) != NULL;
    }
    return good;
}

static int name_parts(const char *path, const ds_bench_lines *all, const char *key, const char *text,
                      ds_bench_parts *out, ds_error *e)
{
    const char *origin = path;
    ds_bench_words w;
    for (size_t i = 0; i < all->count; i++) {
        const ds_bench_line *l = &all->item[i];
        if (l->kind == DS_BENCH_IN_BENCH && l->key != NULL && strcmp(l->key, key) == 0) {
            origin = l->origin;
        }
    }
    int rc = ds_bench_split(text, " \t,", origin, &w, e);
    if (rc != 0) {
        return rc;
    }
    out->item = calloc(w.count + 1, sizeof(*out->item));
    rc = out->item == NULL ? ds_no_memory(e) : 0;
    for (size_t i = 0; i < w.count && rc == 0; i++) {
        ds_bench_part *p = &out->item[out->count];
        if (!is_name(w.item[i])) {
            rc = ds_fail(
                e, DS_EXIT_CONFIG,
                "%s: %s: '%.60s' cannot be a name (letters, digits, _ . + - @ =, at most %d bytes); for a "
                "plugin elsewhere choose a name and set plugin = PATH in its section",
                origin, key, w.item[i], DS_BENCH_NAME);
        } else if (strcmp(key, "envs") == 0 && is_taken(w.item[i])) {
            rc = ds_fail(e, DS_EXIT_CONFIG,
                         "%s: %s: '%s' cannot be a name: the result folder has a file or folder of this "
                         "name; choose another one and set plugin in its section",
                         origin, key, w.item[i]);
        } else if (ds_bench_parts_find(out, w.item[i]) != NULL) {
            rc =
                ds_fail(e, DS_EXIT_CONFIG, "%s: %s: '%s' is named twice: remove one", origin, key, w.item[i]);
        } else {
            p->name = strdup(w.item[i]);
            p->plugin = strdup(w.item[i]);
            p->origin = strdup(origin);
            out->count++;
            rc = p->name == NULL || p->plugin == NULL || p->origin == NULL ? ds_no_memory(e) : 0;
        }
    }
    if (rc == 0 && w.count == 0) {
        rc = ds_fail(e, DS_EXIT_CONFIG, "%s: [bench] %s is missing: name at least one, as in %s = %s", path,
                     key, key, strcmp(key, "envs") == 0 ? "torus pinball" : "rand cmaes boleap");
    }
    free(w.text);
    return rc;
}

/* ---- [env NAME], [opt NAME] ---- */

static int set_plugin(ds_bench_part *p, const char *base, const ds_bench_line *l, ds_error *e)
{
    const int relative = strchr(l->value, '/') != NULL && l->value[0] != '/'; /* to the file it stands in */
    char *path = NULL;
    if (asprintf(&path, "%s%s%s", relative ? base : "", relative ? "/" : "", l->value) < 0) {
        return ds_no_memory(e);
    }
    free(p->plugin);
    p->plugin = path;
    return l->value[0] != '\0' ? 0 : ds_fail(e, DS_EXIT_CONFIG, "%s: plugin is empty", l->origin);
}

/* What a line of a section says about one of its names. */
static int take_line(ds_bench_part *p, int which, const char *base, const ds_bench_line *l, ds_error *e)
{
    int section = which == DS_BENCH_ENV ? DS_SECTION_ENV : DS_SECTION_OPT;
    if (l->key == NULL || l->kind == DS_BENCH_SWEEP_ENV || l->kind == DS_BENCH_SWEEP_OPT) {
        return 0;
    }
    if (strcmp(l->key, "plugin") == 0) {
        return set_plugin(p, base, l, e);
    }
    int rc = ds_settings_add(&p->settings, section, l->key, l->value, l->origin, base, DS_EXIT_CONFIG,
                             DS_LAYER_FILE, e);
    if (rc == 0) {
        ds_section *sec = &p->settings.section[section];
        sec->item[sec->count - 1].more = l->more;
    }
    return rc;
}

static int unknown_name(const ds_bench_parts *list, int which, const ds_bench_line *l, const char *name,
                        ds_error *e)
{
    const char **known = calloc(list->count, sizeof(*known));
    const char *near = NULL;
    const char *key = which == DS_BENCH_ENV ? "envs" : "opts";
    if (known != NULL) {
        for (size_t i = 0; i < list->count; i++) {
            known[i] = list->item[i].name;
        }
        near = ds_nearest(name, known, list->count);
    }
    int rc = near != NULL ? ds_fail(e, DS_EXIT_CONFIG, "%s: '%s' is not in [bench] %s; did you mean '%s'?",
                                    l->origin, name, key, near)
                          : ds_fail(e, DS_EXIT_CONFIG,
                                    "%s: '%s' is not in [bench] %s: name it there too, or "
                                    "remove it here",
                                    l->origin, name, key);
    free(known);
    return rc;
}

static int which_of(int kind)
{
    return kind == DS_BENCH_IN_ENV || kind == DS_BENCH_SWEEP_ENV   ? DS_BENCH_ENV
           : kind == DS_BENCH_IN_OPT || kind == DS_BENCH_SWEEP_OPT ? DS_BENCH_OPT
                                                                   : -1;
}

static int read_parts(const ds_bench_lines *all, const char *base, ds_bench_file *f, ds_error *e)
{
    int rc = 0;
    for (size_t i = 0; i < all->count && rc == 0; i++) {
        const ds_bench_line *l = &all->item[i];
        int which = which_of(l->kind);
        ds_bench_words w;
        if (which < 0) {
            continue;
        }
        rc = ds_bench_split(l->names, " \t,", l->origin, &w, e);
        if (rc != 0) {
            return rc;
        }
        for (size_t k = 0; k < w.count && rc == 0; k++) {
            ds_bench_part *p = ds_bench_parts_find(&f->part[which], w.item[k]);
            rc = p == NULL ? unknown_name(&f->part[which], which, l, w.item[k], e)
                           : take_line(p, which, base, l, e);
        }
        free(w.text);
    }
    return rc;
}

/* ---- file ---- */

/* All lines are there: what they mean. */
static int understand(const ds_bench_lines *all, const char *path, const char *base, const ds_settings *flags,
                      const ds_settings *sets, ds_bench_file *out, ds_error *e)
{
    int rc = read_options(all, base, flags, sets, out, e);
    rc = rc != 0 ? rc : name_parts(path, all, "envs", ds_bench_text(out, "envs"), &out->part[0], e);
    rc = rc != 0 ? rc : name_parts(path, all, "opts", ds_bench_text(out, "opts"), &out->part[1], e);
    rc = rc != 0 ? rc : read_parts(all, base, out, e);
    return rc != 0 ? rc : ds_bench_sweep(all, base, out->part, e);
}

int ds_bench_file_parse(const char *text, size_t length, const char *name, const char *base,
                        const ds_settings *flags, const ds_settings *sets, ds_bench_file *out, ds_error *e)
{
    ds_bench_lines all = {NULL, 0, 0, DS_BENCH_IN_BENCH, ""};
    const ds_ini_handler handler = ds_bench_lines_handler(&all);
    memset(out, 0, sizeof(*out));
    int rc = ds_ini_parse(NULL, text, length, DS_INI_LARGE_LIMIT, name, &handler, e);
    rc = rc != 0 ? rc : understand(&all, name, base, flags, sets, out, e);
    ds_bench_lines_clear(&all);
    return rc;
}

int ds_bench_file_read(const char *path, const ds_settings *flags, const ds_settings *sets,
                       ds_bench_file *out, ds_error *e)
{
    ds_bench_lines all = {NULL, 0, 0, DS_BENCH_IN_BENCH, ""};
    char *base = NULL;
    const ds_ini_handler handler = ds_bench_lines_handler(&all);
    memset(out, 0, sizeof(*out));
    int rc = ds_ini_read(path, DS_INI_LARGE_LIMIT, &handler, &base, e);
    rc = rc != 0 ? rc : understand(&all, path, base, flags, sets, out, e);
    ds_bench_lines_clear(&all);
    free(base);
    return rc;
}

void ds_bench_file_clear(ds_bench_file *f)
{
    ds_params_free(f->options);
    ds_settings_clear(&f->run);
    ds_bench_parts_clear(&f->part[0]);
    ds_bench_parts_clear(&f->part[1]);
    memset(f, 0, sizeof(*f));
}
