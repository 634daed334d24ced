/* SPDX-License-Identifier: Apache-2.0 */
/* bench_file.c - reads experiment files: first all lines, then what they mean, so that sections may stand in
 * any order. */
#include "config.h"

#include "bench_file.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "inifile.h"
#include "run_options.h"

enum { BENCH, RUN, ENV, OPT, SWEEP_ENV, SWEEP_OPT };
enum { VARIANTS_MAX = 1000, WORDS_MAX = 1000 };

const ds_param *const ds_bench_schema[] = {
    DS_TEXT("envs", "",
            "Names of the environments: plugin ids, or names that an [env NAME] section explains."),
    DS_TEXT("opts", "", "Names of the optimizers, likewise."),
    DS_TEXT("seed", "0", "Seed of the first run of every cell, 0 to 18446744073709551615."),
    DS_INT("runs", "10", 1, 1e6, "", "Runs of every cell, with seeds seed, seed + 1, ..."),
    DS_TEXT("skip", "", "Cells to leave out: patterns like fluid/ppo or */sac."),
    DS_TEXT("out", "", "Result folder, below the working directory; empty = results/FILE without .ini."),
    DS_INT("jobs", "0", 0, 4096, "",
           "Runs at the same time, on each machine; 0 = as many as fit on the processors."),
    NULL};

/* ---- lines ---- */

typedef struct line {
    int kind;
    char *names; /* of the section: "A B" */
    char *key;   /* NULL = the section begins */
    char *value, *origin;
    int more;
} line;

typedef struct lines {
    line *item;
    size_t count, capacity;
    int kind;
    char names[DS_INI_NAME_LIMIT + 1];
} lines;

static int no_memory(ds_error *e)
{
    return ds_fail(e, DS_EXIT_MEMORY, "out of memory");
}

static int add_line(lines *all, const char *key, const char *value, const char *origin, int more, ds_error *e)
{
    if (all->count == all->capacity) {
        size_t capacity = all->capacity == 0 ? 64 : 2 * all->capacity;
        line *grown = realloc(all->item, capacity * sizeof(*grown));
        if (grown == NULL) {
            return no_memory(e);
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
               ? no_memory(e)
               : 0;
}

static void free_lines(lines *all)
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
    } known[] = {[BENCH] = {"bench", 0},
                 [RUN] = {"run", 0},
                 [ENV] = {"env", 1},
                 [OPT] = {"opt", 1},
                 [SWEEP_ENV] = {"sweep env", 1},
                 [SWEEP_OPT] = {"sweep opt", 1}};
    lines *all = user;
    for (int k = 0; k <= SWEEP_OPT; k++) {
        size_t n = strlen(known[k].begin);
        if (strncmp(name, known[k].begin, n) == 0 && (name[n] == '\0' || name[n] == ' ')) {
            const char *names = name + n + strspn(name + n, " ,");
            if ((names[0] != '\0') != known[k].named) {
                return ds_fail(e, DS_EXIT_CONFIG, "%s: section [%s]: %s", origin, name,
                               known[k].named
                                   ? "name the environments or optimizers it is for, as in [env torus]"
                                   : "no names are possible here");
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

/* ---- words ---- */

typedef struct words {
    char *text;
    char *item[WORDS_MAX];
    size_t count;
} words;

/* Splits at any of the characters in `separators`. -1 without memory or with too many. */
static int split(const char *text, const char *separators, words *out)
{
    char *rest = NULL;
    out->count = 0;
    out->text = strdup(text);
    for (char *w = out->text != NULL ? strtok_r(out->text, separators, &rest) : NULL; w != NULL;
         w = strtok_r(NULL, separators, &rest)) {
        if (out->count == WORDS_MAX) {
            free(out->text);
            return -1;
        }
        out->item[out->count++] = w;
    }
    return out->text != NULL ? 0 : -1;
}

/* ---- [bench] and [run] ---- */

/* Keys of [run] that stand in [bench], or make no sense for many runs. */
static const char *misplaced(const char *key)
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
    const char *why = misplaced(key);
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
    ds_settings bench;
    memset(&bench, 0, sizeof(bench));
    int rc = ds_settings_copy(&bench, flags, e);
    for (size_t i = 0; i < all->count && rc == 0; i++) {
        const line *l = &all->item[i];
        if (l->kind == BENCH && l->key != NULL) { /* lists of names may go on in further lines */
            rc = check_key(l, e);
            rc = rc != 0 ? rc
                         : ds_settings_add(&bench, DS_SECTION_RUN, l->key, l->value, l->origin, base,
                                           DS_EXIT_CONFIG, DS_LAYER_FILE, e);
        } else if (l->kind == RUN && l->key != NULL) {
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
    ds_settings_clear(&bench);
    return rc != 0 ? rc : check_run(f, e);
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

static void clear_part(ds_bench_part *p)
{
    free(p->name);
    free(p->plugin);
    free(p->origin);
    ds_settings_clear(&p->settings);
}

static void clear_parts(ds_bench_parts *list)
{
    for (size_t i = 0; i < list->count; i++) {
        clear_part(&list->item[i]);
    }
    free(list->item);
    *list = (ds_bench_parts){NULL, 0};
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

static ds_bench_part *find_part(const ds_bench_parts *list, const char *name)
{
    for (size_t i = 0; i < list->count; i++) {
        if (strcmp(list->item[i].name, name) == 0) {
            return &list->item[i];
        }
    }
    return NULL;
}

static int name_parts(const char *path, const lines *all, const char *key, const char *text,
                      ds_bench_parts *out, ds_error *e)
{
    const char *origin = path;
    words w;
    int rc = split(text, " \t,", &w) != 0 ? no_memory(e) : 0;
    if (rc != 0) {
        return rc;
    }
    for (size_t i = 0; i < all->count; i++) {
        if (all->item[i].kind == BENCH && all->item[i].key != NULL && strcmp(all->item[i].key, key) == 0) {
            origin = all->item[i].origin;
        }
    }
    out->item = calloc(w.count + 1, sizeof(*out->item));
    rc = out->item == NULL ? no_memory(e) : 0;
    for (size_t i = 0; i < w.count && rc == 0; i++) {
        ds_bench_part *p = &out->item[out->count];
        if (!is_name(w.item[i])) {
            rc = ds_fail(
                e, DS_EXIT_CONFIG,
                "%s: %s: '%.60s' cannot be a name (letters, digits, _ . + - @ =, at most %d bytes); for a "
                "plugin elsewhere choose a name and set plugin = PATH in its section",
                origin, key, w.item[i], DS_BENCH_NAME);
        } else if (find_part(out, w.item[i]) != NULL) {
            rc =
                ds_fail(e, DS_EXIT_CONFIG, "%s: %s: '%s' is named twice: remove one", origin, key, w.item[i]);
        } else {
            p->name = strdup(w.item[i]);
            p->plugin = strdup(w.item[i]);
            p->origin = strdup(origin);
            out->count++;
            rc = p->name == NULL || p->plugin == NULL || p->origin == NULL ? no_memory(e) : 0;
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
    size_t size = strlen(base) + strlen(l->value) + 2;
    char *path = malloc(size);
    if (path == NULL) {
        return no_memory(e);
    }
    if (strchr(l->value, '/') != NULL && l->value[0] != '/') { /* relative to the file it stands in */
        snprintf(path, size, "%s/%s", base, l->value);
    } else {
        snprintf(path, size, "%s", l->value);
    }
    free(p->plugin);
    p->plugin = path;
    return l->value[0] != '\0' ? 0 : ds_fail(e, DS_EXIT_CONFIG, "%s: plugin is empty", l->origin);
}

/* What a line of a section says about one of its names. */
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
    return kind == ENV || kind == SWEEP_ENV   ? DS_BENCH_ENV
           : kind == OPT || kind == SWEEP_OPT ? DS_BENCH_OPT
                                              : -1;
}

static int read_parts(const lines *all, const char *base, ds_bench_file *f, ds_error *e)
{
    int rc = 0;
    for (size_t i = 0; i < all->count && rc == 0; i++) {
        const line *l = &all->item[i];
        int which = which_of(l->kind);
        words w;
        if (which < 0) {
            continue;
        }
        if (split(l->names, " \t,", &w) != 0) {
            return no_memory(e);
        }
        for (size_t k = 0; k < w.count && rc == 0; k++) {
            ds_bench_part *p = find_part(&f->part[which], w.item[k]);
            rc = p == NULL ? unknown_name(&f->part[which], which, l, w.item[k], e)
                           : take_line(p, which, base, l, e);
        }
        free(w.text);
    }
    return rc;
}

/* ---- sweeps ---- */

/* "boleap" and k = 5 -> "boleap@k=5"; what cannot stand in a name becomes '_'. */
static char *variant_name(const char *name, const char *key, const char *value)
{
    size_t size = strlen(name) + strlen(key) + strlen(value) + 3;
    char *out = malloc(size);
    if (out != NULL) {
        snprintf(out, size, "%s@%s=%s", name, key, value);
        for (char *c = out; *c != '\0'; c++) {
            *c = isalnum((unsigned char)*c) || strchr("_.+-@=", *c) != NULL ? *c : '_';
        }
    }
    return out;
}

/* One variant of *from with key = value, in *out. */
static int make_variant(const ds_bench_part *from, int section, const line *l, const char *value,
                        const char *base, ds_bench_part *out, ds_error *e)
{
    memset(out, 0, sizeof(*out));
    out->name = variant_name(from->name, l->key, value);
    out->plugin = strdup(from->plugin);
    out->origin = strdup(l->origin);
    if (out->name == NULL || out->plugin == NULL || out->origin == NULL) {
        return no_memory(e);
    }
    if (strlen(out->name) > DS_BENCH_NAME) {
        return ds_fail(e, DS_EXIT_CONFIG,
                       "%s: the name '%.80s' of this variant is longer than %d bytes: write the variants as "
                       "sections [env NAME] or [opt NAME] with plugin = %s",
                       l->origin, out->name, DS_BENCH_NAME, from->plugin);
    }
    int rc = ds_settings_copy(&out->settings, &from->settings, e);
    return rc != 0 ? rc
                   : ds_settings_add(&out->settings, section, l->key, value, l->origin, base, DS_EXIT_CONFIG,
                                     DS_LAYER_FILE, e);
}

/* Replaces the parts that a sweep line names (also variants of earlier lines of the sweep) by their variants.
 */
static int sweep_one(ds_bench_parts *list, int which, const char *name, const line *l, const char *base,
                     ds_error *e)
{
    int section = which == DS_BENCH_ENV ? DS_SECTION_ENV : DS_SECTION_OPT;
    ds_bench_parts fresh = {NULL, 0};
    size_t n = strlen(name);
    words values;
    int rc = split(l->value, "|", &values) != 0 ? no_memory(e) : 0;
    if (rc != 0) {
        return rc;
    }
    size_t most = list->count * (values.count + 1);
    fresh.item = most <= VARIANTS_MAX * 4 ? calloc(most + 1, sizeof(*fresh.item)) : NULL;
    if (strcmp(l->key, "plugin") == 0 || values.count == 0) {
        rc = ds_fail(e, DS_EXIT_CONFIG, "%s: sweep of %s: expected VALUE | VALUE | ... of a parameter",
                     l->origin, l->key);
    } else if (fresh.item == NULL) {
        rc = ds_fail(e, DS_EXIT_CONFIG, "%s: more than %d variants", l->origin, VARIANTS_MAX);
    }
    for (size_t i = 0; i < list->count && rc == 0; i++) {
        ds_bench_part *from = &list->item[i];
        int mine = strncmp(from->name, name, n) == 0 && (from->name[n] == '\0' || from->name[n] == '@');
        for (size_t k = 0; k < values.count && rc == 0 && mine; k++) {
            const char *value = values.item[k];
            size_t length = strlen(value);
            ds_ini_trim(&value, &length);
            char *copy = strndup(value, length);
            ds_bench_part *to = &fresh.item[fresh.count];
            rc = copy == NULL ? no_memory(e) : make_variant(from, section, l, copy, base, to, e);
            fresh.count++;
            for (size_t j = 0; rc == 0 && j + 1 < fresh.count; j++) {
                if (strcmp(fresh.item[j].name, to->name) == 0) {
                    rc = ds_fail(e, DS_EXIT_CONFIG,
                                 "%s: two variants would be called '%s': write them as sections "
                                 "with names of their own",
                                 l->origin, to->name);
                }
            }
            free(copy);
        }
        if (!mine) {
            fresh.item[fresh.count++] = *from;
            memset(from, 0, sizeof(*from));
        }
    }
    if (rc == 0 && fresh.count > VARIANTS_MAX) {
        rc = ds_fail(e, DS_EXIT_CONFIG, "%s: more than %d variants", l->origin, VARIANTS_MAX);
    }
    free(values.text);
    if (rc != 0) {
        clear_parts(&fresh);
        return rc;
    }
    clear_parts(list);
    *list = fresh;
    return 0;
}

static int sweep_all(const lines *all, const char *base, ds_bench_file *f, ds_error *e)
{
    int rc = 0;
    for (size_t i = 0; i < all->count && rc == 0; i++) {
        const line *l = &all->item[i];
        words w;
        if ((l->kind != SWEEP_ENV && l->kind != SWEEP_OPT) || l->key == NULL) {
            continue;
        }
        if (split(l->names, " \t,", &w) != 0) {
            return no_memory(e);
        }
        for (size_t k = 0; k < w.count && rc == 0; k++) {
            int which = l->kind == SWEEP_ENV ? DS_BENCH_ENV : DS_BENCH_OPT;
            rc = sweep_one(&f->part[which], which, w.item[k], l, base, e);
        }
        free(w.text);
    }
    return rc;
}

/* ---- file ---- */

/* All lines are there: what they mean. */
static int understand(const lines *all, const char *path, const char *base, const ds_settings *flags,
                      const ds_settings *sets, ds_bench_file *out, ds_error *e)
{
    int rc = read_options(all, base, flags, sets, out, e);
    rc = rc != 0 ? rc : name_parts(path, all, "envs", ds_bench_text(out, "envs"), &out->part[0], e);
    rc = rc != 0 ? rc : name_parts(path, all, "opts", ds_bench_text(out, "opts"), &out->part[1], e);
    rc = rc != 0 ? rc : read_parts(all, base, out, e);
    return rc != 0 ? rc : sweep_all(all, base, out, e);
}

int ds_bench_file_parse(const char *text, size_t length, const char *name, const char *base,
                        const ds_settings *flags, const ds_settings *sets, ds_bench_file *out, ds_error *e)
{
    lines all = {NULL, 0, 0, BENCH, ""};
    const ds_ini_handler handler = {&all, SECTIONS, on_section, on_value};
    memset(out, 0, sizeof(*out));
    int rc = ds_ini_parse(text, length, name, &handler, e);
    rc = rc != 0 ? rc : understand(&all, name, base, flags, sets, out, e);
    free_lines(&all);
    return rc;
}

int ds_bench_file_read(const char *path, const ds_settings *flags, const ds_settings *sets,
                       ds_bench_file *out, ds_error *e)
{
    lines all = {NULL, 0, 0, BENCH, ""};
    char *base = NULL;
    const ds_ini_handler handler = {&all, SECTIONS, on_section, on_value};
    memset(out, 0, sizeof(*out));
    int rc = ds_ini_read(path, &handler, &base, e);
    rc = rc != 0 ? rc : understand(&all, path, base, flags, sets, out, e);
    free_lines(&all);
    free(base);
    return rc;
}

void ds_bench_file_clear(ds_bench_file *f)
{
    ds_params_free(f->options);
    ds_settings_clear(&f->run);
    clear_parts(&f->part[0]);
    clear_parts(&f->part[1]);
    memset(f, 0, sizeof(*f));
}
