/* SPDX-License-Identifier: Apache-2.0 */
/* bench_file.c - reads experiment files: collects all lines first, since sections may come in any order, then
 * interprets them and expands sweeps. */
#include "config.h"

#include "bench/bench_file.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/run_options.h"
#include "run/session.h"

/* ---- lines ---- */

enum { IN_BENCH, IN_RUN, IN_ENV, IN_OPT, SWEEP_ENV, SWEEP_OPT };

typedef struct line {
    int kind;    /* IN_*, SWEEP_* */
    char *names; /* names of the section: "A B" */
    char *key;   /* NULL = beginning of a section */
    char *value, *origin;
    int more;
} line;

typedef struct lines {
    line *item;
    size_t count, capacity;
    int kind;
    char names[DS_INI_NAME_LIMIT + 1];
} lines;

static int add_line(lines *all, const char *key, const char *value, const char *origin, int more, ds_error *e)
{
    if (all->count == all->capacity) {
        size_t capacity = all->capacity == 0 ? 64 : 2 * all->capacity;
        line *grown = realloc(all->item, capacity * sizeof(*grown));
        if (grown == NULL) {
            return ds_no_memory(e);
        }
        all->item = grown;
        all->capacity = capacity;
    }
    line *l = &all->item[all->count];
    *l = (line){all->kind,
                strdup(all->names),
                key != NULL ? strdup(key) : NULL,
                value != NULL ? strdup(value) : NULL,
                strdup(origin),
                more};
    all->count++;
    return l->names == NULL || l->origin == NULL || (key != NULL && l->key == NULL) ||
                   (value != NULL && l->value == NULL)
               ? ds_no_memory(e)
               : 0;
}

static void clear_lines(lines *all)
{
    for (size_t i = 0; i < all->count; i++) {
        free(all->item[i].names);
        free(all->item[i].key);
        free(all->item[i].value);
        free(all->item[i].origin);
    }
    free(all->item);
}

#define SECTIONS "[bench], [run], [env NAME], [opt NAME] or [sweep env|opt NAME]"

static int on_section(void *user, const char *name, const char *origin, ds_error *e)
{
    static const struct {
        const char *begin;
        int named;
    } known[] = {[IN_BENCH] = {"bench", 0}, [IN_RUN] = {"run", 0},          [IN_ENV] = {"env", 1},
                 [IN_OPT] = {"opt", 1},     [SWEEP_ENV] = {"sweep env", 1}, [SWEEP_OPT] = {"sweep opt", 1}};
    lines *all = user;
    for (int k = 0; k <= SWEEP_OPT; k++) {
        size_t n = strlen(known[k].begin);
        if (strncmp(name, known[k].begin, n) == 0 && (name[n] == '\0' || name[n] == ' ')) {
            const char *names = name + n + strspn(name + n, " ,");
            if ((names[0] != '\0') != known[k].named) {
                return ds_fail(e, DS_EXIT_CONFIG, "%s: section [%s]: %s", origin, name,
                               known[k].named
                                   ? "name the environments or optimizers it applies to, as in [env torus]"
                                   : "remove the names: this section takes none");
            }
            all->kind = k;
            snprintf(all->names, sizeof(all->names), "%s", names);
            return add_line(all, NULL, NULL, origin, 0, e);
        }
    }
    return ds_fail(e, DS_EXIT_CONFIG, "%s: unknown section [%s]: use " SECTIONS, origin, name);
}

static int on_value(void *user, const char *key, const char *value, const char *origin, int more, ds_error *e)
{
    return add_line(user, key, value, origin, more, e);
}

/* A reader that collects lines in *all, which must be zeroed. */
static ds_ini_handler line_handler(lines *all)
{
    return (ds_ini_handler){all, SECTIONS, on_section, on_value};
}

/* ---- lists ---- */

static void clear_part(ds_bench_part *p)
{
    free(p->name);
    free(p->plugin);
    free(p->origin);
    ds_settings_clear(&p->settings);
}

void ds_bench_parts_clear(ds_bench_parts *list)
{
    for (size_t i = 0; i < list->count; i++) {
        clear_part(&list->item[i]);
    }
    free(list->item);
    *list = (ds_bench_parts){NULL, 0};
}

static ds_bench_part *ds_bench_parts_find(const ds_bench_parts *list, const char *name)
{
    for (size_t i = 0; i < list->count; i++) {
        if (strcmp(list->item[i].name, name) == 0) {
            return &list->item[i];
        }
    }
    return NULL;
}

int ds_bench_split(const char *text, const char *separators, const char *origin, ds_bench_words *out,
                   ds_error *e)
{
    char *rest = NULL;
    out->count = 0;
    out->text = strdup(text);
    if (out->text == NULL) {
        return ds_no_memory(e);
    }
    for (char *w = strtok_r(out->text, separators, &rest); w != NULL; w = strtok_r(NULL, separators, &rest)) {
        if (out->count == DS_BENCH_WORDS) {
            free(out->text);
            out->text = NULL;
            return ds_fail(e, DS_EXIT_CONFIG, "%s: more than %d names or values in one list", origin,
                           DS_BENCH_WORDS);
        }
        out->item[out->count++] = w;
    }
    return 0;
}

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
                                        {"seed", "move it to [bench]"},
                                        {"runs", "move it to [bench]"},
                                        {"out", "move it to [bench]"},
                                        {"x", "remove it: it is for single evaluations"},
                                        {"noise_key", "remove it: it is for single evaluations"}};
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
        return ds_fail(e, DS_EXIT_CONFIG, "%s: '%s' is not a key of [run] in experiments: %s", origin, key,
                       why);
    }
    return ds_settings_add(&f->run, DS_SECTION_RUN, key, value, origin, base, status, layer, e);
}

/* Defaults of [run] that differ here: one worker per run, since there are many runs, and no pictures. */
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
static int check_key(const line *l, ds_error *e)
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

static int read_options(const lines *all, const char *base, const ds_settings *flags, const ds_settings *sets,
                        ds_bench_file *f, ds_error *e)
{
    ds_settings bench = {0};
    int rc = ds_settings_copy(&bench, flags, e);
    for (size_t i = 0; i < all->count && rc == 0; i++) {
        const line *l = &all->item[i];
        if (l->kind == IN_BENCH && l->key != NULL) { /* lists of names may continue on the next line */
            rc = check_key(l, e);
            rc = rc != 0 ? rc
                         : ds_settings_add(&bench, DS_SECTION_RUN, l->key, l->value, l->origin, base,
                                           DS_EXIT_CONFIG, DS_LAYER_FILE, e);
        } else if (l->kind == IN_RUN && l->key != NULL) {
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
        rc = ds_fail(e, seed->status,
                     "%s: seed = %s with %lld runs: the last seed would exceed %llu: use a smaller seed",
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

/* ---- names of environments and optimizers ---- */

/* Files and folders that dshost itself creates next to those of environments. */
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

static int name_parts(const char *path, const lines *all, const char *key, const char *text,
                      ds_bench_parts *out, ds_error *e)
{
    const char *origin = path;
    ds_bench_words w;
    for (size_t i = 0; i < all->count; i++) {
        const line *l = &all->item[i];
        if (l->kind == IN_BENCH && l->key != NULL && strcmp(l->key, key) == 0) {
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
            rc = ds_fail(e, DS_EXIT_CONFIG,
                         "%s: %s: '%.60s' cannot be a name (letters, digits, _ . + - @ =, at most %d bytes); "
                         "for a plugin elsewhere choose a name and set plugin = PATH in its section",
                         origin, key, w.item[i], DS_BENCH_NAME);
        } else if (strcmp(key, "envs") == 0 && is_taken(w.item[i])) {
            rc = ds_fail(e, DS_EXIT_CONFIG,
                         "%s: %s: '%s' cannot be a name, since the result folder has a file or folder of "
                         "that name: choose another name and set plugin in its section",
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

static int set_plugin(ds_bench_part *p, const char *base, const line *l, ds_error *e)
{
    /* relative to the experiment file */
    const int relative = strchr(l->value, '/') != NULL && l->value[0] != '/';
    char *path = NULL;
    if (asprintf(&path, "%s%s%s", relative ? base : "", relative ? "/" : "", l->value) < 0) {
        return ds_no_memory(e);
    }
    free(p->plugin);
    p->plugin = path;
    return l->value[0] != '\0'
               ? 0
               : ds_fail(e, DS_EXIT_CONFIG, "%s: plugin is empty: set it to an id or a path", l->origin);
}

/* Interprets a line of a section for one of its names. */
static int take_line(ds_bench_part *p, int which, const char *base, const line *l, ds_error *e)
{
    int section = which == DS_BENCH_ENV ? DS_SECTION_ENV : DS_SECTION_OPT;
    if (l->key == NULL || l->kind == SWEEP_ENV || l->kind == SWEEP_OPT) {
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

static int unknown_name(const ds_bench_parts *list, int which, const line *l, const char *name, ds_error *e)
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
    return kind == IN_ENV || kind == SWEEP_ENV   ? DS_BENCH_ENV
           : kind == IN_OPT || kind == SWEEP_OPT ? DS_BENCH_OPT
                                                 : -1;
}

static int read_parts(const lines *all, const char *base, ds_bench_file *f, ds_error *e)
{
    int rc = 0;
    for (size_t i = 0; i < all->count && rc == 0; i++) {
        const line *l = &all->item[i];
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

/* ---- sweeps ---- */

enum { VARIANTS = 1000 };

/* "boleap" and k = 5 -> "boleap@k=5"; characters that a name cannot have become '_'. */
static char *variant_name(const char *name, const char *key, const char *value)
{
    char *out = NULL;
    if (asprintf(&out, "%s@%s=%s", name, key, value) < 0) {
        return NULL;
    }
    for (char *c = out; *c != '\0'; c++) {
        *c = isalnum((unsigned char)*c) || strchr("_.+-@=", *c) != NULL ? *c : '_';
    }
    return out;
}

/* Makes one variant of *from with key = value, which overrides the value in the section of the name. */
static int make_variant(const ds_bench_part *from, int section, const line *l, const char *value,
                        const char *base, ds_bench_part *out, ds_error *e)
{
    const ds_setting *old = ds_settings_find(&from->settings, section, l->key);
    if (old != NULL && old->layer == DS_LAYER_SET) {
        return ds_fail(e, DS_EXIT_CONFIG, "%s: '%s' is swept twice (first at %s)", l->origin, l->key,
                       old->origin);
    }
    out->name = variant_name(from->name, l->key, value);
    out->plugin = strdup(from->plugin);
    out->origin = strdup(l->origin);
    out->stem = from->stem > 0 ? from->stem : strlen(from->name);
    if (out->name == NULL || out->plugin == NULL || out->origin == NULL) {
        return ds_no_memory(e);
    }
    int rc = ds_settings_copy(&out->settings, &from->settings, e);
    return rc != 0 ? rc
                   : ds_settings_add(&out->settings, section, l->key, value, l->origin, base, DS_EXIT_CONFIG,
                                     DS_LAYER_SET, e);
}

/* Is a part the one that a sweep names, or one of its variants? */
static int is_variant_of(const ds_bench_part *p, const char *name)
{
    size_t stem = p->stem > 0 ? p->stem : strlen(p->name);
    return strlen(name) == stem && strncmp(p->name, name, stem) == 0;
}

static int too_many(const char *origin, ds_error *e)
{
    return ds_fail(e, DS_EXIT_CONFIG, "%s: more than %d variants: sweep fewer values", origin, VARIANTS);
}

/* Appends the variants of *from for all values. */
static int add_variants(const ds_bench_part *from, int section, const line *l, const ds_bench_words *values,
                        const char *base, ds_bench_parts *to, ds_error *e)
{
    int rc = 0;
    for (size_t k = 0; k < values->count && rc == 0; k++) {
        const char *value = values->item[k];
        size_t length = strlen(value);
        ds_ini_trim(&value, &length);
        char *copy = strndup(value, length);
        ds_bench_part *fresh = &to->item[to->count++];
        rc = copy == NULL ? ds_no_memory(e) : make_variant(from, section, l, copy, base, fresh, e);
        free(copy);
    }
    return rc;
}

/* Replaces the parts that a sweep line names (also variants by earlier lines) by their variants. */
static int sweep_one(ds_bench_parts *list, int which, const char *name, const line *l, const char *base,
                     ds_error *e)
{
    int section = which == DS_BENCH_ENV ? DS_SECTION_ENV : DS_SECTION_OPT;
    ds_bench_parts fresh = {NULL, 0};
    ds_bench_words values;
    int rc = ds_bench_split(l->value, "|", l->origin, &values, e);
    if (rc != 0) {
        return rc;
    }
    size_t most = list->count;
    for (size_t i = 0; i < list->count; i++) {
        most += is_variant_of(&list->item[i], name) ? values.count : 0;
    }
    if (strcmp(l->key, "plugin") == 0 || values.count == 0) {
        rc = ds_fail(e, DS_EXIT_CONFIG, "%s: sweep of %s: expected VALUE | VALUE | ... of a parameter",
                     l->origin, l->key);
    } else if (most > 2 * VARIANTS) {
        rc = too_many(l->origin, e);
    } else if ((fresh.item = calloc(most + 1, sizeof(*fresh.item))) == NULL) {
        rc = ds_no_memory(e);
    }
    for (size_t i = 0; i < list->count && rc == 0; i++) {
        ds_bench_part *from = &list->item[i];
        if (is_variant_of(from, name)) {
            rc = add_variants(from, section, l, &values, base, &fresh, e);
        } else {
            fresh.item[fresh.count++] = *from;
            memset(from, 0, sizeof(*from));
        }
    }
    if (rc == 0 && fresh.count > VARIANTS) {
        rc = too_many(l->origin, e);
    }
    free(values.text);
    if (rc != 0) {
        ds_bench_parts_clear(&fresh);
        return rc;
    }
    ds_bench_parts_clear(list);
    *list = fresh;
    return 0;
}

/* ---- names of variants ---- */

static int is_sibling(const ds_bench_part *a, const ds_bench_part *b)
{
    return a->stem == b->stem && strncmp(a->name, b->name, a->stem) == 0;
}

static int rename_variant(ds_bench_part *v, int number, ds_error *e)
{
    char *name = NULL;
    if (asprintf(&name, "%.*s@%d", (int)v->stem, v->name, number) < 0) {
        return ds_no_memory(e);
    }
    free(v->name);
    v->name = name;
    return 0;
}

/* If one variant of a name would be too long for a folder and a section, all of its variants are numbered:
 * "boleap@1", "boleap@2", ... */
static int number_variants(ds_bench_parts *list, size_t first, ds_error *e)
{
    const ds_bench_part *p = &list->item[first];
    int number = 0, long_one = 0;
    for (size_t i = first; i < list->count && !long_one; i++) {
        long_one = is_sibling(&list->item[i], p) && strlen(list->item[i].name) > DS_BENCH_NAME;
    }
    if (!long_one) {
        return 0;
    }
    if (p->stem + sizeof("@1000") - 1 > DS_BENCH_NAME) {
        return ds_fail(e, DS_EXIT_CONFIG, "%s: the name '%.*s' is too long for variants: at most %d bytes",
                       p->origin, (int)p->stem, p->name, (int)(DS_BENCH_NAME + 1 - sizeof("@1000")));
    }
    for (size_t i = first; i < list->count; i++) {
        ds_bench_part *v = &list->item[i];
        if (is_sibling(v, p)) { /* keeps the stem, so that the next one is found */
            int rc = rename_variant(v, ++number, e);
            if (rc != 0) {
                return rc;
            }
        }
    }
    return 0;
}

static int check_names(const ds_bench_parts *list, ds_error *e)
{
    for (size_t i = 0; i < list->count; i++) {
        for (size_t k = 0; k < i; k++) {
            if (strcmp(list->item[i].name, list->item[k].name) == 0) {
                return ds_fail(
                    e, DS_EXIT_CONFIG,
                    "%s: two variants would be called '%s': write them as sections with their own names",
                    list->item[i].origin, list->item[i].name);
            }
        }
    }
    return 0;
}

static int expand_sweeps(const lines *all, const char *base, ds_bench_parts part[2], ds_error *e)
{
    int rc = 0;
    for (size_t i = 0; i < all->count && rc == 0; i++) {
        const line *l = &all->item[i];
        ds_bench_words w;
        if ((l->kind != SWEEP_ENV && l->kind != SWEEP_OPT) || l->key == NULL) {
            continue;
        }
        rc = ds_bench_split(l->names, " \t,", l->origin, &w, e);
        if (rc != 0) {
            return rc;
        }
        for (size_t k = 0; k < w.count && rc == 0; k++) {
            int which = l->kind == SWEEP_ENV ? DS_BENCH_ENV : DS_BENCH_OPT;
            rc = sweep_one(&part[which], which, w.item[k], l, base, e);
        }
        free(w.text);
    }
    for (int which = 0; which < 2 && rc == 0; which++) {
        ds_bench_parts *list = &part[which];
        for (size_t i = 0; i < list->count && rc == 0; i++) {
            rc = list->item[i].stem > 0 ? number_variants(list, i, e) : 0;
        }
        rc = rc != 0 ? rc : check_names(list, e);
    }
    return rc;
}

/* ---- file ---- */

/* Interprets the collected lines. */
static int understand(const lines *all, const char *path, const char *base, const ds_settings *flags,
                      const ds_settings *sets, ds_bench_file *out, ds_error *e)
{
    int rc = read_options(all, base, flags, sets, out, e);
    rc = rc != 0 ? rc : name_parts(path, all, "envs", ds_bench_text(out, "envs"), &out->part[0], e);
    rc = rc != 0 ? rc : name_parts(path, all, "opts", ds_bench_text(out, "opts"), &out->part[1], e);
    rc = rc != 0 ? rc : read_parts(all, base, out, e);
    return rc != 0 ? rc : expand_sweeps(all, base, out->part, e);
}

int ds_bench_file_parse(const char *text, size_t length, const char *name, const char *base,
                        const ds_settings *flags, const ds_settings *sets, ds_bench_file *out, ds_error *e)
{
    lines all = {NULL, 0, 0, IN_BENCH, ""};
    const ds_ini_handler handler = line_handler(&all);
    memset(out, 0, sizeof(*out));
    int rc = ds_ini_parse(NULL, text, length, DS_INI_LARGE_LIMIT, name, &handler, e);
    rc = rc != 0 ? rc : understand(&all, name, base, flags, sets, out, e);
    clear_lines(&all);
    return rc;
}

int ds_bench_file_read(const char *path, const ds_settings *flags, const ds_settings *sets,
                       ds_bench_file *out, ds_error *e)
{
    lines all = {NULL, 0, 0, IN_BENCH, ""};
    char *base = NULL;
    const ds_ini_handler handler = line_handler(&all);
    memset(out, 0, sizeof(*out));
    int rc = ds_ini_read(path, DS_INI_LARGE_LIMIT, &handler, &base, e);
    rc = rc != 0 ? rc : understand(&all, path, base, flags, sets, out, e);
    clear_lines(&all);
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
