/* SPDX-License-Identifier: Apache-2.0 */
/* disambiguate.c - names of environments and optimizers (see results.h): tells apart runs that share a name
 * but not their problem or method, whose joint statistics would be meaningless; warns of runs that do not
 * compare; and pools variants. */
#include "config.h"

#include "base/log.h"
#include "results/results.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VALUE_MAX = 24, NAME_MAX_BYTES = 90 /* names become file names */ };

/* Compared like settings; no parameter has such a name. */
static const char version[] = " version", variables[] = " variables";

/* The runs that count and share a name, of all sets. Runs with the same class are alike. */
typedef struct bunch {
    ds_result **run;
    size_t count, *class, *spare, classes;
    int section; /* DS_SECTION_ENV or DS_SECTION_OPT */
    int any_version;
} bunch;

static char **name_of(ds_result *r, int section)
{
    return section == DS_SECTION_ENV ? &r->env : &r->opt;
}

/* The value of a key, "" if it is not set; `room` holds numbers. */
static const char *value_of(const ds_result *r, int section, const char *key, char room[32])
{
    const char *text;
    if (key == variables) {
        snprintf(room, 32, "%llu", (unsigned long long)r->n);
        return room;
    }
    if (key == version) {
        text = section == DS_SECTION_ENV ? r->env_version : r->opt_version;
    } else {
        const ds_setting *s = ds_settings_find(&r->settings, section, key);
        text = s != NULL ? s->value : NULL;
    }
    return text != NULL ? text : "";
}

/* Versions of bundled environments with bit-identical results as long as a setting has this value. Evidence:
 * the commits that raised the versions ("hybrid: outputs without hidden layers are identity ...": changes
 * only some network wirings; "networks: ... have hook points": identical without networks; "realtosim: what
 * is held out ...": identical with held_out = 0), and repeated runs (docs/experiments.md). VERSIONING.md
 * lists them. */
static const struct {
    const char *ids, *from, *to, *key, *value;
} compatible[] = {
    {" bounce cartpole pinball ", "2", "3", "residual", ""},
    {" swing double_pendulum ", "3", "4", "residual", ""},
    {" rigid_contact rigid_mass ", "1", "2", "residual", ""},
    {" assembly chopsticks move pinch rollingpin rope table torus triplemove writer ", "0.2.0", "0.2.1",
     "residual", ""},
    {" realtosim ", "2", "3", "held_out", "0"},
    {" friction lqr planar_hand push push_far roomba spring_wall tennis smoke beam cloth_velocity jellyfish "
     "soft_ball spring_cage pendulum_id pivot ball_wall_soft billiards soft hydro2d ",
     "1", "2", "residual", ""},
    {" ball2d cloth_throw gear walker ", "2", "3", "residual", ""},
    {" cartpole_gym pendulum realtosim ", "3", "4", "residual", ""},
    {" fluid ", "0.2.0", "0.2.1", "residual", ""},
    {" cloth ", "0.1.0", "0.1.1", "residual", ""},
};
enum { COMPATIBLE = sizeof compatible / sizeof *compatible };

/* The plugin of a bunch: from a run that records it, else (rows of tables) the name without the number of a
 * variant. */
static void plugin_of(const bunch *b, char id[64])
{
    const char *name = b->run[0]->env;
    for (size_t i = 0; i < b->count; i++) {
        if (b->run[i]->env_id != NULL) {
            snprintf(id, 64, " %.60s ", b->run[i]->env_id);
            return;
        }
    }
    size_t n = strcspn(name, "@");
    while (n > 0 && isdigit((unsigned char)name[n - 1])) {
        n--;
    }
    snprintf(id, 64, " %.*s ", (int)(n < 60 ? n : 60), name);
}

static int has_setting(const ds_result *r, const char *key, const char *value)
{
    const ds_setting *s = ds_settings_find(&r->settings, DS_SECTION_ENV, key);
    return s == NULL ||
           /* an older version may lack the setting; tables do not record settings */
           strcmp(s->value, value) == 0;
}

/* The first entry of a chain that leads from version v to w for both runs, or COMPATIBLE. */
static size_t find_link(const char *id, const ds_result *x, const ds_result *y, const char *v, const char *w)
{
    for (size_t k = 0; k < COMPATIBLE; k++) {
        if (strcmp(v, compatible[k].from) == 0 && strstr(compatible[k].ids, id) != NULL &&
            has_setting(x, compatible[k].key, compatible[k].value) &&
            has_setting(y, compatible[k].key, compatible[k].value) &&
            (strcmp(w, compatible[k].to) == 0 || find_link(id, x, y, compatible[k].to, w) < COMPATIBLE)) {
            return k;
        }
    }
    return COMPATIBLE;
}

/* The same for two runs, the older version first. id is that of plugin_of(). */
static size_t find_compatible(const char *id, const ds_result **x, const ds_result **y)
{
    const char *v = (*x)->env_version != NULL ? (*x)->env_version : "",
               *w = (*y)->env_version != NULL ? (*y)->env_version : "";
    const size_t k = find_link(id, *x, *y, v, w);
    if (k < COMPATIBLE) {
        return k;
    }
    const ds_result *const later = *x;
    *x = *y;
    *y = later;
    return find_link(id, *x, *y, w, v);
}

/* May a setting be missing in one of two versions that compute the same? It belongs to the key that decides:
 * "residual_limit" means nothing where residual is empty. */
static int may_be_missing(const bunch *b, const ds_result *x, const ds_result *y, const char *key)
{
    char id[64];
    plugin_of(b, id);
    for (size_t k = find_compatible(id, &x, &y); k < COMPATIBLE;
         k = find_link(id, x, y, compatible[k].to, y->env_version)) {
        const size_t n = strlen(compatible[k].key);
        if (strncmp(key, compatible[k].key, n) == 0 && (key[n] == '_' || key[n] == '\0')) {
            return 1;
        }
    }
    return 0;
}

static const char *setting_of(const ds_result *r, int section, const char *key)
{
    const ds_setting *s =
        key == version || key == variables ? NULL : ds_settings_find(&r->settings, section, key);
    return s != NULL ? s->value : NULL;
}

static int same_value(const bunch *b, size_t i, size_t j, const char *key)
{
    char one[32], other[32], id[64];
    const ds_result *x = b->run[i], *y = b->run[j];
    if (strcmp(value_of(x, b->section, key, one), value_of(y, b->section, key, other)) == 0) {
        return 1;
    }
    if (b->section != DS_SECTION_ENV || key == variables) {
        return 0;
    }
    if (key != version) {
        return (setting_of(x, b->section, key) == NULL) != (setting_of(y, b->section, key) == NULL) &&
               may_be_missing(b, x, y, key);
    }
    plugin_of(b, id);
    return find_compatible(id, &x, &y) < COMPATIBLE;
}

/* Reports which versions are treated as one, and why. */
static void tell_compatible(const bunch *b)
{
    char id[64];
    plugin_of(b, id);
    for (size_t i = 1; b->section == DS_SECTION_ENV && !b->any_version && i < b->count; i++) {
        const ds_result *x = b->run[0], *y = b->run[i];
        size_t k = b->class[i] == b->class[0] ? find_compatible(id, &x, &y) : COMPATIBLE;
        const int found = k < COMPATIBLE;
        for (; k < COMPATIBLE; k = find_link(id, x, y, compatible[k].to, y->env_version)) {
            ds_log(DS_LOG_INFO, NULL,
                   "%s: versions %s and %s are treated as one: they compute the same where %s is %s",
                   b->run[0]->env, compatible[k].from, compatible[k].to, compatible[k].key,
                   compatible[k].value[0] != '\0' ? compatible[k].value : "empty");
        }
        if (found) {
            return;
        }
    }
}

/* Does the parameter exist in only one of the versions, with one value there? */
static int is_of_a_version(const bunch *b, const char *key)
{
    const ds_result *with = NULL, *without = NULL;
    for (size_t i = 0; i < b->count; i++) {
        const char *value = setting_of(b->run[i], b->section, key);
        if (value == NULL) {
            without = b->run[i];
        } else if (with != NULL && strcmp(setting_of(with, b->section, key), value) != 0) {
            return 0;
        } else {
            with = b->run[i];
        }
    }
    for (size_t i = 0; with != NULL && without != NULL && i < b->count; i++) {
        const ds_result *other = setting_of(b->run[i], b->section, key) == NULL ? with : without;
        if (strcmp(value_of(b->run[i], b->section, version, NULL),
                   value_of(other, b->section, version, NULL)) == 0) {
            return 0;
        }
    }
    return with != NULL && without != NULL;
}

/* Splits the classes by the value of a key. Returns whether their number has grown. */
static int refine(bunch *b, const char *key)
{
    size_t *first = b->spare, classes = 0; /* first run of each new class */
    size_t *to = b->spare + b->count;
    for (size_t i = 0; i < b->count; i++) {
        size_t k = 0;
        while (k < classes && (b->class[first[k]] != b->class[i] || !same_value(b, first[k], i, key))) {
            k++;
        }
        if (k == classes) {
            first[classes++] = i;
        }
        to[i] = k;
    }
    const int more = classes > b->classes;
    memcpy(b->class, to, b->count * sizeof *to);
    b->classes = classes;
    return more;
}

/* Groups runs by what must be equal; an optimizer's settings may differ between environments. */
static void begin_bunch(bunch *b)
{
    b->classes = 1;
    memset(b->class, 0, b->count * sizeof *b->class);
    if (b->section == DS_SECTION_OPT) {
        size_t classes = 0, *first = b->spare; /* first run of each class */
        for (size_t i = 0; i < b->count; i++) {
            size_t k = 0;
            while (k < classes && strcmp(b->run[first[k]]->env, b->run[i]->env) != 0) {
                k++;
            }
            b->class[i] = k;
            if (k == classes) {
                first[classes++] = i;
            }
        }
        b->classes = classes;
    }
}

/* ---- names ---- */

static void append(char *name, const char *key, const char *value)
{
    size_t n = strlen(name);
    n += (size_t)snprintf(name + n, NAME_MAX_BYTES - n, "@%s=", key[0] == ' ' ? key + 1 : key);
    for (size_t i = 0; value[i] != '\0' && i < VALUE_MAX && n + 1 < NAME_MAX_BYTES; i++) {
        name[n++] = isalnum((unsigned char)value[i]) || strchr("_.+-", value[i]) != NULL ? value[i] : '_';
        name[n] = '\0';
    }
}

/* Does a run outside this bunch, or of an earlier class, have this name? */
static int is_taken(const char *name, ds_run_results *const *set, size_t sets, const bunch *b,
                    char *const *given, size_t classes)
{
    for (size_t k = 0; k < classes; k++) {
        if (strcmp(given[k], name) == 0) {
            return 1;
        }
    }
    for (size_t s = 0; s < sets; s++) {
        for (size_t i = 0; i < set[s]->count; i++) {
            if (strcmp(*name_of(&set[s]->item[i], b->section), name) == 0) {
                return 1;
            }
        }
    }
    return 0;
}

/* Makes one name per class from the values that differ; long values with the same beginning are numbered. */
static int make_names(const bunch *b, const char *const *key, size_t keys, ds_run_results *const *set,
                      size_t sets, char **given)
{
    for (size_t k = 0; k < b->classes; k++) {
        char name[NAME_MAX_BYTES + 32], room[32];
        size_t i = 0;
        while (b->class[i] != k) {
            i++;
        }
        snprintf(name, NAME_MAX_BYTES, "%s", *name_of(b->run[i], b->section));
        for (size_t j = 0; j < keys; j++) {
            append(name, key[j], value_of(b->run[i], b->section, key[j], room));
        }
        const size_t n = strlen(name);
        for (size_t copy = 2; is_taken(name, set, sets, b, given, k); copy++) {
            snprintf(name + n, sizeof name - n, "@%zu", copy);
        }
        if ((given[k] = strdup(name)) == NULL) {
            return -1;
        }
    }
    return 0;
}

static void warn(const bunch *b, const char *const *key, size_t keys, char *const *given)
{
    char text[200] = "";
    for (size_t j = 0, n = 0; j < keys && n < sizeof text; j++) {
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%s", j > 0 ? ", " : "",
                              key[j][0] == ' ' ? key[j] + 1 : key[j]);
    }
    int versions = b->section == DS_SECTION_ENV;
    for (size_t j = 0; j < keys; j++) {
        versions &= key[j] == version || is_of_a_version(b, key[j]);
    }
    ds_log(DS_LOG_WARNING, NULL, "%s: its runs differ in %s: they are kept apart, as %s and %s%s%s",
           *name_of(b->run[0], b->section), text, given[0], given[1], b->classes > 2 ? " and more" : "",
           versions ? "; --any-version treats them as one" : "");
}

static int rename_all(bunch *b, const char *const *key, size_t keys, ds_run_results *const *set, size_t sets,
                      ds_error *e)
{
    /* Classes by the keys alone: an optimizer has the same name on all environments. */
    memset(b->class, 0, b->count * sizeof *b->class);
    b->classes = 1;
    for (size_t j = 0; j < keys; j++) {
        refine(b, key[j]);
    }
    char **given = calloc(b->classes, sizeof *given);
    int rc = given == NULL || make_names(b, key, keys, set, sets, given) != 0 ? ds_no_memory(e) : 0;
    if (rc == 0) {
        warn(b, key, keys, given);
    }
    for (size_t i = 0; rc == 0 && i < b->count; i++) {
        char **name = name_of(b->run[i], b->section), *copy = strdup(given[b->class[i]]);
        rc = copy == NULL ? ds_no_memory(e) : 0;
        if (rc == 0) {
            free(*name);
            *name = copy;
        }
    }
    for (size_t k = 0; given != NULL && k < b->classes; k++) {
        free(given[k]);
    }
    free(given);
    return rc;
}

/* ---- keys ---- */

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Unknown settings do not count as a difference. */
static int has_table(const bunch *b)
{
    for (size_t i = 0; i < b->count; i++) {
        if (b->run[i]->table != NULL) {
            return 1;
        }
    }
    return 0;
}

/* All keys of the section in any of the runs, sorted, then the others; to be freed. */
static const char **keys_of(const bunch *b, size_t *count)
{
    const size_t runs = has_table(b) ? 0 : b->count; /* runs with settings */
    size_t all = 2, n = 0;
    for (size_t i = 0; i < runs; i++) {
        all += b->run[i]->settings.section[b->section].count;
    }
    const char **key = malloc(all * sizeof *key);
    for (size_t i = 0; key != NULL && i < runs; i++) {
        const ds_section *s = &b->run[i]->settings.section[b->section];
        for (size_t j = 0; j < s->count; j++) {
            key[n++] = s->item[j].key;
        }
    }
    if (key == NULL) {
        return NULL;
    }
    qsort(key, n, sizeof *key, by_text);
    *count = 0;
    for (size_t j = 0; j < n; j++) {
        if (*count == 0 || strcmp(key[*count - 1], key[j]) != 0) {
            key[(*count)++] = key[j];
        }
    }
    if (b->section == DS_SECTION_ENV) {
        key[(*count)++] = variables;
    }
    if (b->section != DS_SECTION_ENV || !b->any_version) {
        key[(*count)++] = version;
    }
    return key;
}

/* Renames the runs of a bunch if they differ, by as few keys as needed. */
static int split(bunch *b, ds_run_results *const *set, size_t sets, ds_error *e)
{
    size_t all = 0, keys = 0;
    const char **key = keys_of(b, &all);
    b->class = malloc(3 * b->count * sizeof *b->class);
    int rc = key == NULL || b->class == NULL ? ds_no_memory(e) : 0;
    if (rc == 0) {
        b->spare = b->class + b->count;
        begin_bunch(b);
        for (size_t j = 0; j < all; j++) {
            const int passed = b->section == DS_SECTION_ENV && b->any_version && is_of_a_version(b, key[j]);
            if (!passed && refine(b, key[j])) {
                key[keys++] = key[j];
            }
        }
        tell_compatible(b);
        rc = keys > 0 ? rename_all(b, key, keys, set, sets, e) : 0;
    }
    free(key);
    free(b->class);
    return rc;
}

/* ---- sets ---- */

static int by_env(const void *a, const void *b)
{
    return strcmp((*(ds_result *const *)a)->env, (*(ds_result *const *)b)->env);
}

static int by_opt(const void *a, const void *b)
{
    return strcmp((*(ds_result *const *)a)->opt, (*(ds_result *const *)b)->opt);
}

/* Splits all bunches, or only those with runs of tables. */
static int split_all(ds_run_results *const *set, size_t sets, int section, int just_tables, int any_version,
                     ds_error *e)
{
    size_t all = 0, n = 0;
    int rc = 0;
    for (size_t s = 0; s < sets; s++) {
        all += set[s]->count;
    }
    ds_result **run = malloc((all + 1) * sizeof *run);
    if (run == NULL) {
        return ds_no_memory(e);
    }
    for (size_t s = 0; s < sets; s++) {
        for (size_t i = 0; i < set[s]->count; i++) {
            if (ds_result_counts(&set[s]->item[i])) {
                run[n++] = &set[s]->item[i];
            }
        }
    }
    qsort(run, n, sizeof *run, section == DS_SECTION_ENV ? by_env : by_opt);
    for (size_t i = 0, k; rc == 0 && i < n; i = k) {
        for (k = i; k < n && strcmp(*name_of(run[k], section), *name_of(run[i], section)) == 0; k++) {
        }
        bunch b = {.run = run + i, .count = k - i, .section = section, .any_version = any_version};
        rc = just_tables && !has_table(&b) ? 0 : split(&b, set, sets, e);
    }
    free(run);
    return rc;
}

int ds_results_tell_apart(ds_run_results *const *set, size_t sets, int any_version, ds_error *e)
{
    int rc = split_all(set, sets, DS_SECTION_ENV, 1, any_version, e);
    for (size_t s = 0; s < sets; s++) {
        rc = rc != 0 ? rc : split_all(&set[s], 1, DS_SECTION_OPT, 1, any_version, e);
        ds_results_sort(set[s]);
    }
    return rc;
}

/* Copies of a folder would count twice. */
static void warn_of_copies(const ds_run_results *r)
{
    const ds_result *first = NULL, *second = NULL;
    size_t copies = 0;
    for (size_t i = 1; i < r->count; i++) {
        const ds_result *a = &r->item[i - 1], *b = &r->item[i];
        if (ds_result_counts(a) && ds_result_counts(b) && a->seed == b->seed && strcmp(a->env, b->env) == 0 &&
            strcmp(a->opt, b->opt) == 0) {
            first = copies == 0 ? a : first;
            second = copies++ == 0 ? b : second;
        }
    }
    if (copies > 0) {
        ds_log(DS_LOG_WARNING, NULL,
               "%s and %s have the same environment, optimizer and seed%s; each of them counts as a run",
               ds_result_where(first), ds_result_where(second), copies > 1 ? ", and there are more" : "");
    }
}

/* Sets may be parts of one folder, which should be reported once. */
static int has_same_runs(const ds_run_results *a, const ds_run_results *b)
{
    return a != b && a->count == b->count && a->count > 0 && a->item[0].place != NULL &&
           b->item[0].place != NULL && strcmp(a->item[0].place, b->item[0].place) == 0;
}

int ds_results_disambiguate(ds_run_results *const *set, size_t sets, int any_version, ds_error *e)
{
    int rc = split_all(set, sets, DS_SECTION_ENV, 0, any_version, e);
    for (size_t s = 0; rc == 0 && s < sets; s++) {
        rc = split_all(&set[s], 1, DS_SECTION_OPT, 0, any_version, e);
        ds_results_sort(set[s]);
    }
    for (size_t s = 0; rc == 0 && s < sets; s++) {
        if (has_same_runs(set[s], set[0])) {
            continue;
        }
        warn_of_copies(set[s]);
        for (size_t i = 0; i < set[s]->count; i++) {
            if (set[s]->item[i].damaged) {
                ds_log(DS_LOG_WARNING, NULL, "left out: %s", set[s]->item[i].error);
            }
        }
    }
    return rc;
}

/* ---- runs that do not compare ---- */

/* The last part of the text names the BLAS; runs that use none lack it: "x86_64 avx2, glibc 2.36 (libm
 * 5f3c2a91), OpenBLAS 0.3.21 Haswell". */
static size_t without_blas(const char *text)
{
    const char *end = strchr(text, ')');
    return end != NULL ? (size_t)(end + 1 - text) : strlen(text);
}

static int differs(const char *a, const char *b)
{
    size_t n = without_blas(a), m = without_blas(b);
    return n != m || strncmp(a, b, n) != 0 || (a[n] != '\0' && b[m] != '\0' && strcmp(a + n, b + m) != 0);
}

static const char *arithmetic_of(const ds_result *r)
{
    return ds_result_is_finished(r) ? r->arithmetic : NULL;
}

static void warn_mixed(const ds_result *a, const ds_result *b)
{
    ds_log(DS_LOG_WARNING, NULL,
           "runs with different arithmetic are compared, and may differ for that reason alone: %s (%s), %s "
           "(%s); use --portable for comparable runs",
           ds_result_where(a), a->arithmetic, ds_result_where(b), b->arithmetic);
}

void ds_results_warn_mixed(ds_run_results *const *set, size_t sets)
{
    enum { KINDS = 64 }; /* distinct texts, with one run each; further ones are ignored */
    const ds_result *kind[KINDS];
    size_t kinds = 0;
    for (size_t s = 0; s < sets; s++) {
        for (size_t i = 0; i < set[s]->count; i++) {
            const ds_result *run = &set[s]->item[i];
            size_t k = 0;
            while (arithmetic_of(run) != NULL && k < kinds &&
                   strcmp(kind[k]->arithmetic, run->arithmetic) != 0) {
                k++;
            }
            if (arithmetic_of(run) == NULL || k < kinds) {
                continue;
            }
            for (k = 0; k < kinds; k++) {
                if (differs(kind[k]->arithmetic, run->arithmetic)) {
                    warn_mixed(kind[k], run);
                    return;
                }
            }
            if (kinds < KINDS) {
                kind[kinds++] = run;
            }
        }
    }
}

/* ---- pooling the environments of a sweep: every run on any of them is a sample ---- */

/* Finds "@object=3" in "ball@object=3@frames=2"; its length is `length`. *count receives the number of
 * matches. NULL if there is none. */
static const char *find_variant(const char *name, size_t length, const char *key, size_t *count)
{
    const char *const end = name + length;
    const size_t n = strlen(key);
    for (const char *at = name; (at = memchr(at, '@', (size_t)(end - at))) != NULL; at++) {
        if ((size_t)(end - at) > n + 1 && strncmp(at + 1, key, n) == 0 && at[1 + n] == '=') {
            const char *next = memchr(at + 1, '@', (size_t)(end - at - 1));
            *count = (size_t)((next != NULL ? next : end) - at);
            return at;
        }
    }
    return NULL;
}

const char *ds_result_variant_folder(const ds_result *r, size_t *length)
{
    const char *path = r->place != NULL ? r->place : r->folder, *end = path + strlen(path), *from = end;
    for (int k = 0; k < 3; k++) {
        end = k > 0 && from > path ? from - 1 : end;
        for (from = end; from > path && from[-1] != '/'; from--) {
        }
    }
    *length = memchr(from, '@', (size_t)(end - from)) != NULL ? (size_t)(end - from) : 0;
    return from;
}

/* Removes "@object=3" from the name of the environment and keeps it as the variant. A row that was pooled
 * when its table was written has it in its folder. Returns whether the name contained it, or -1 without
 * memory. */
static int strip(ds_result *r, const char *key)
{
    size_t count = 0, length = 0, in_folder = 0;
    const char *at = find_variant(r->env, strlen(r->env), key, &count);
    const char *folder = ds_result_variant_folder(r, &length);
    const char *other = find_variant(folder, length, key, &in_folder);
    if (at != NULL) {
        r->variant = strndup(at + 1, count - 1);
        memmove(r->env + (at - r->env), at + count, strlen(at + count) + 1);
        return r->variant != NULL ? 1 : -1;
    }
    if (r->table == NULL || other != NULL) {
        r->variant = r->table != NULL ? strndup(other + 1, in_folder - 1) : strdup("");
        return r->variant != NULL ? 0 : -1;
    }
    return 0;
}

int ds_results_pool(ds_run_results *r, const char *key, ds_error *e)
{
    size_t pooled = 0;
    for (size_t i = 0; i < r->count; i++) {
        const int had = strip(&r->item[i], key);
        if (had < 0) {
            return ds_no_memory(e);
        }
        pooled += had != 0;
    }
    if (pooled == 0) {
        return ds_fail(e, DS_EXIT_USAGE,
                       "--pool %.60s: no environment is a variant of a sweep over it, ENV@%.60s=VALUE; the "
                       "first is %.60s",
                       key, key, r->item[0].env);
    }
    ds_results_sort(r);
    return 0;
}

/* Runs of one optimizer on one environment, [first, end), by variant. */
typedef struct share {
    /* number of variants with runs, and the fewest and the most runs on one of them */
    size_t variants, least, most, runs;
    const char *lacking; /* the first variant without a run; NULL = none */
    int known;           /* the variant of every run is known */
} share;

static int by_variant(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The distinct variants of the runs that count in [first, end), in order; `variant` has room for all. */
static size_t variants_of(const ds_run_results *r, size_t first, size_t end, const char **variant)
{
    size_t n = 0, kept = 0;
    for (size_t i = first; i < end; i++) {
        if (ds_result_counts(&r->item[i]) && r->item[i].variant != NULL) {
            variant[n++] = r->item[i].variant;
        }
    }
    qsort(variant, n, sizeof *variant, by_variant);
    for (size_t i = 0; i < n; i++) {
        if (kept == 0 || strcmp(variant[kept - 1], variant[i]) != 0) {
            variant[kept++] = variant[i];
        }
    }
    return kept;
}

static share share_of(const ds_run_results *r, size_t first, size_t end, const char *const *variant,
                      size_t variants)
{
    share s = {.least = SIZE_MAX, .known = 1};
    for (size_t i = first; i < end; i++) {
        s.runs += ds_result_counts(&r->item[i]);
        s.known &= !ds_result_counts(&r->item[i]) || r->item[i].variant != NULL;
    }
    for (size_t k = 0; s.known && k < variants; k++) {
        size_t runs = 0;
        for (size_t i = first; i < end; i++) {
            runs += ds_result_counts(&r->item[i]) && strcmp(r->item[i].variant, variant[k]) == 0;
        }
        s.lacking = runs == 0 && s.lacking == NULL ? variant[k] : s.lacking;
        s.variants += runs > 0;
        s.least = runs > 0 && runs < s.least ? runs : s.least;
        s.most = runs > s.most ? runs : s.most;
    }
    return s;
}

static int leave_out(ds_run_results *r, size_t first, size_t end, const char *why, ds_error *e)
{
    for (size_t i = first; i < end; i++) {
        if (ds_result_counts(&r->item[i])) {
            r->item[i].partial = 0;
            r->item[i].error = strdup(why);
            if (r->item[i].error == NULL) {
                return ds_no_memory(e);
            }
        }
    }
    return 0;
}

/* The runs of one optimizer on one environment that has `variants` variants. */
static int balance(ds_run_results *r, size_t first, size_t end, const char *const *variant, size_t variants,
                   const char *key, ds_error *e)
{
    const char *env = r->item[first].env, *opt = r->item[first].opt;
    const share s = share_of(r, first, end, variant, variants);
    char why[300];
    if (s.runs == 0 || !s.known) {
        return 0;
    }
    if (s.lacking != NULL) {
        const char *lacking = s.lacking[0] != '\0' ? s.lacking : "the environment itself";
        snprintf(why, sizeof why, "its optimizer ran on %zu of %zu variants, and not on %.100s", s.variants,
                 variants, lacking);
        ds_log(DS_LOG_WARNING, NULL,
               "--pool %s: %s ran on %zu of %zu variants of %s, and not on %s: its %zu run%s there %s left "
               "out; use --only ENV/OPT to choose variants on which all ran",
               key, opt, s.variants, variants, env, lacking, s.runs, s.runs == 1 ? "" : "s",
               s.runs == 1 ? "is" : "are");
        return leave_out(r, first, end, why, e);
    }
    if (s.least < s.most) {
        ds_log(DS_LOG_WARNING, NULL,
               "--pool %s: %s has %zu to %zu runs per variant of %s, so the variants have different weights",
               key, opt, s.least, s.most, env);
    }
    return 0;
}

int ds_results_balance(ds_run_results *r, const char *key, ds_error *e)
{
    const char **variant = calloc(r->count + 1, sizeof *variant);
    int rc = variant == NULL ? ds_no_memory(e) : 0;
    for (size_t i = 0, end; rc == 0 && i < r->count; i = end) {
        for (end = i; end < r->count && strcmp(r->item[end].env, r->item[i].env) == 0; end++) {
        }
        const size_t variants = variants_of(r, i, end, variant);
        for (size_t k = i, next; rc == 0 && variants > 1 && k < end; k = next) {
            for (next = k; next < end && strcmp(r->item[next].opt, r->item[k].opt) == 0; next++) {
            }
            rc = balance(r, k, next, variant, variants, key, e);
        }
    }
    free(variant);
    return rc;
}
