/* SPDX-License-Identifier: Apache-2.0 */
/* point.c - points that users specify, and whether a run belongs to the current environment (see point.h). */
#include "config.h"

#include "results/point.h"

#include "base/log.h"
#include "base/text.h"
#include "config/npy.h"
#include "results/results.h"
#include "store/run_folder.h"

#include <diffsim/helper/random.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NAMED = 4 /* number of parameters that a warning names */ };

/* The parameters of the run, read with the schema of the current environment; to be freed. */
static int stored_params(ds_store *store, const char *id, const ds_params *like, ds_params **out, ds_error *e)
{
    size_t count = ds_params_count(like);
    const ds_param **schema = calloc(count + 1, sizeof *schema);
    ds_settings s = {0};
    int rc = schema == NULL ? ds_no_memory(e) : ds_store_get_settings(store, &s, e);
    for (size_t i = 0; i < count && rc == 0; i++) {
        schema[i] = ds_params_info(like, i);
    }
    rc = rc != 0 ? rc : ds_params_make(schema, id, &s, DS_SECTION_ENV, out, e);
    ds_settings_clear(&s);
    free(schema);
    return rc;
}

static void warn_different(const char *what, const ds_params *then, const ds_params *now)
{
    char list[600] = "";
    size_t used = 0;
    unsigned different = 0;
    for (size_t i = 0; i < ds_params_count(now); i++) {
        if (ds_params_same(then, now, i)) {
            continue;
        }
        if (different++ < NAMED && used < sizeof list) {
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%s = %.40s (here %.40s)",
                                     different > 1 ? ", " : "", ds_params_info(now, i)->name,
                                     ds_params_value_text(then, i), ds_params_value_text(now, i));
        }
    }
    if (different > 0) {
        ds_log(DS_LOG_WARNING, NULL,
               "%.200s: that run has other parameters of the environment, so its points have other losses "
               "here: %s%s",
               what, list, different > NAMED ? ", and more" : "");
    }
}

int ds_provenance_compare(ds_store *store, const char *what, const char *id, const ds_params *params,
                          ds_error *e)
{
    ds_params *then = NULL;
    char *env = NULL;
    ds_error why = {0, ""};
    int rc = ds_store_get(store, "env", &env, e);
    if (rc == 0 && env != NULL && strcmp(env, id) != 0) {
        rc = ds_fail(e, DS_EXIT_CONFIG, "%.200s: a run of %s, not of %s: name a run of the same environment",
                     what, env, id);
    } else if (rc == 0 && stored_params(store, id, params, &then, &why) == 0) {
        warn_different(what, then, params);
    } else if (rc == 0) {
        ds_log(DS_LOG_WARNING, NULL,
               "%.200s: cannot check whether that run has the same parameters of the environment: %s", what,
               why.text);
    }
    ds_params_free(then);
    free(env);
    return rc;
}

/* Adds a section of the run; of [run] only what affects the environment. */
static int adopt_section(const ds_settings *from, int section, ds_settings *to, ds_error *e)
{
    int rc = 0;
    for (size_t i = 0; i < from->section[section].count && rc == 0; i++) {
        const ds_setting *s = &from->section[section].item[i];
        int wanted = section != DS_SECTION_RUN || strcmp(s->key, "env") == 0 || strcmp(s->key, "seed") == 0;
        if (wanted && ds_settings_find(to, section, s->key) == NULL) {
            rc = ds_settings_add(to, section, s->key, s->value, s->origin, s->base, s->status, s->layer, e);
        }
    }
    return rc;
}

int ds_provenance_adopt(const ds_settings *from, ds_settings *settings, ds_error *e)
{
    int rc = adopt_section(from, DS_SECTION_RUN, settings, e);
    return rc != 0 ? rc : adopt_section(from, DS_SECTION_ENV, settings, e);
}

int ds_provenance_load(const char *folder, ds_settings *settings, ds_error *e)
{
    ds_store *store = NULL;
    ds_settings of_run = {0};
    int rc = ds_result_store(folder, &store, e);
    rc = rc != 0 ? rc : ds_store_get_settings(store, &of_run, e);
    rc = rc != 0 ? rc : ds_provenance_adopt(&of_run, settings, e);
    ds_settings_clear(&of_run);
    ds_store_close(store, NULL);
    return rc;
}

/* ---- points ---- */

int ds_point_wrong_count(const char *origin, const char *id, uint64_t count, uint64_t n, ds_error *e)
{
    return ds_fail(e, DS_EXIT_CONFIG, "%s: %" PRIu64 " numbers, but %s has %" PRIu64 " variables", origin,
                   count, id, n);
}

int ds_point_check(const ds_point_request *q, const double *x, ds_error *e)
{
    const ds_pool_env *env = q->env;
    for (uint64_t i = 0; i < env->info.n; i++) {
        if (!(x[i] >= env->lower[i] && x[i] <= env->upper[i])) {
            return ds_fail(e, DS_EXIT_CONFIG, "%s: variable %" PRIu64 " is %s, outside of its bounds %s..%s",
                           q->origin, i, DS_TEXT_OF(x[i]), DS_TEXT_OF(env->lower[i]),
                           DS_TEXT_OF(env->upper[i]));
        }
    }
    return 0;
}

static int take_array(const ds_point_request *q, const char *spec, ds_array *a, double *x, ds_error *e)
{
    char origin[300];
    int status = 0;
    if (a->size != q->env->info.n) {
        snprintf(origin, sizeof origin, "%s %.200s", q->origin, spec);
        status = ds_point_wrong_count(origin, q->id, a->size, q->env->info.n, e);
    } else {
        memcpy(x, a->data, a->size * sizeof *x);
    }
    ds_array_free(a);
    return status;
}

/* The first item that is not a number in what looks like a list, "abc" of "1,2,abc"; NULL = it is not such a
 * list. */
static const char *not_a_number(const char *spec, size_t *length)
{
    const char *at = spec;
    char *end = NULL;
    if (strchr(spec, ',') == NULL || strchr(spec, '/') != NULL || access(spec, F_OK) == 0) {
        return NULL;
    }
    ds_strtod(spec, &end);
    while (end != at && (*end == ',' || *end == ' ')) {
        at = end + strspn(end, ", ");
        ds_strtod(at, &end);
    }
    *length = strcspn(at, ", ");
    return at != spec && *length > 0 ? at : NULL;
}

static int from_file(const ds_point_request *q, const char *spec, double *x, ds_error *e)
{
    ds_array a = {0};
    size_t length = 0;
    const char *wrong = not_a_number(spec, &length);
    if (wrong != NULL) {
        return ds_fail(e, DS_EXIT_CONFIG, "%s %.200s: '%.*s' is not a number", q->origin, spec,
                       length < 60 ? (int)length : 60, wrong);
    }
    if (strcmp(spec, "-") != 0 && access(spec, F_OK) != 0) {
        return ds_fail(e, DS_EXIT_CONFIG,
                       "%s %.200s: cannot open: %s; a point is a list of numbers (1,2,3), a file, -, start, "
                       "center, random:SEED, or the folder of a run",
                       q->origin, spec, strerror(errno));
    }
    int status = ds_array_read(spec, 0, DS_EXIT_CONFIG, &a, e);
    return status != 0 ? status : take_array(q, spec, &a, x, e);
}

/* A list of numbers, unless a file has that name. */
static int is_list(const char *spec)
{
    const char *digit = spec + strspn(spec, "+-.");
    return *digit >= '0' && *digit <= '9' && strspn(spec, "0123456789+-.eE, \t") == strlen(spec) &&
           access(spec, F_OK) != 0;
}

static int from_list(const ds_point_request *q, const char *spec, double *x, ds_error *e)
{
    ds_array a = {0};
    char name[300];
    snprintf(name, sizeof name, "%s %.200s", q->origin, spec);
    int status = ds_array_parse_text(spec, strlen(spec), name, 0, DS_EXIT_CONFIG, &a, e);
    return status != 0 ? status : take_array(q, spec, &a, x, e);
}

static int from_seed(const ds_point_request *q, const char *seed_text, double *x, ds_error *e)
{
    uint64_t seed;
    if (!ds_parse_seed(seed_text, &seed)) {
        return ds_fail(e, DS_EXIT_USAGE,
                       "%s random%s%.60s: expected random:SEED, SEED from 0 to 18446744073709551615",
                       q->origin, *seed_text != '\0' ? ":" : "", seed_text);
    }
    ds_random r = ds_random_open(seed, "eval.x", 0);
    for (uint64_t i = 0; i < q->env->info.n; i++) {
        double lower = q->env->lower[i], upper = q->env->upper[i];
        x[i] = fmin(lower + (upper - lower) * ds_random_uniform(&r), upper);
    }
    return 0;
}

/* Is it a run of this environment, with as many variables? */
static int belongs(const ds_point_request *q, const char *folder, ds_store *store, ds_error *e)
{
    char what[300];
    snprintf(what, sizeof what, "%s %.200s", q->origin, folder);
    int rc = ds_provenance_compare(store, what, q->id, q->env->params, e);
    return rc != 0 || ds_store_n(store) == q->env->info.n
               ? rc
               : ds_point_wrong_count(what, q->id, ds_store_n(store), q->env->info.n, e);
}

/* Reads row `id`, or the first row with the lowest loss if id is 0. */
static int from_store(const ds_point_request *q, const char *folder, uint64_t id, double *x, ds_error *e)
{
    ds_store *store = NULL;
    ds_cursor *cursor = NULL;
    ds_row row;
    double best = (double)INFINITY;
    uint64_t n = q->env->info.n;
    int found = 0, step = 0;
    int rc = ds_result_whole(folder, &store, e);
    rc = rc != 0 ? rc : belongs(q, folder, store, e);
    rc = rc != 0 ? rc : ds_cursor_open(store, id > 0 ? id : 1, &cursor, e);
    while (rc == 0 && !(id > 0 && found) && (step = ds_cursor_next(cursor, &row, e)) == 1) {
        if (id > 0 || row.answer.loss < best) {
            best = row.answer.loss;
            found = 1;
            memcpy(x, row.x, n * sizeof *x);
        }
    }
    rc = rc == 0 && step < 0 ? e->status : rc;
    if (rc == 0 && !found && id > 0) {
        rc = ds_fail(e, DS_EXIT_CONFIG, "%s %.200s: the run has no evaluation %" PRIu64, q->origin, folder,
                     id);
    } else if (rc == 0 && !found) {
        rc = ds_fail(e, DS_EXIT_CONFIG, "%s %.200s: the run has no point with a loss", q->origin, folder);
    }
    ds_cursor_close(cursor);
    ds_store_close(store, NULL);
    return rc;
}

int ds_point_names_run(const char *spec, char **folder, uint64_t *id)
{
    const char *colon = strrchr(spec, ':');
    *id = 0;
    if (ds_folder_has_run(spec)) {
        *folder = strdup(spec);
        return *folder != NULL;
    }
    if (colon == NULL || !ds_parse_seed(colon + 1, id) || *id == 0) {
        return 0;
    }
    *folder = strndup(spec, (size_t)(colon - spec));
    if (*folder != NULL && !ds_folder_has_run(*folder)) {
        free(*folder);
        *folder = NULL;
    }
    return *folder != NULL;
}

/* The first run in a folder of several ("seed-1"), to be freed; NULL = none. */
static char *run_inside(const char *folder)
{
    char *first = NULL;
    DIR *d = opendir(folder);
    for (struct dirent *item; d != NULL && (item = readdir(d)) != NULL;) {
        char *path = strncmp(item->d_name, "seed-", 5) == 0 ? ds_folder_path(folder, item->d_name) : NULL;
        if (path != NULL && ds_folder_has_run(path) && (first == NULL || strverscmp(path, first) < 0)) {
            free(first);
            first = path;
            path = NULL;
        }
        free(path);
    }
    if (d != NULL) {
        closedir(d);
    }
    return first;
}

int ds_point_check_run(const char *origin, const char *spec, ds_error *e)
{
    char *inside = ds_folder_has_run(spec) ? NULL : run_inside(spec);
    if (inside != NULL) {
        ds_fail(e, DS_EXIT_CONFIG, "%s %.200s: a folder of several runs: name one of them, such as %.300s",
                origin, spec, inside);
        free(inside);
        return DS_EXIT_CONFIG;
    }
    const char *colon = strrchr(spec, ':');
    char *folder = colon != NULL ? strndup(spec, (size_t)(colon - spec)) : NULL;
    uint64_t id = 0;
    const int wrong = folder != NULL && ds_folder_has_run(folder) && access(spec, F_OK) != 0 &&
                      !(ds_parse_seed(colon + 1, &id) && id > 0);
    free(folder);
    return wrong ? ds_fail(e, DS_EXIT_CONFIG,
                           "%s %.200s: expected DIR:ID, the evaluations of a run are numbered from 1", origin,
                           spec)
                 : 0;
}

int ds_point_read(const ds_point_request *q, const char *spec, double *x, ds_error *e)
{
    const ds_pool_env *env = q->env;
    char *folder = NULL;
    uint64_t id = 0;
    int status = ds_point_check_run(q->origin, spec, e);

    if (status != 0) {
        return status;
    }
    if (strcmp(spec, "start") == 0) {
        memcpy(x, env->x0, env->info.n * sizeof *x);
    } else if (strcmp(spec, "center") == 0) {
        for (uint64_t i = 0; i < env->info.n; i++) {
            x[i] = 0.5 * env->lower[i] + 0.5 * env->upper[i];
        }
    } else if (strncmp(spec, "random", 6) == 0 && (spec[6] == ':' || spec[6] == '\0')) {
        status = from_seed(q, spec[6] == ':' ? spec + 7 : "", x, e);
    } else if (ds_point_names_run(spec, &folder, &id)) {
        status = from_store(q, folder, id, x, e);
        free(folder);
    } else if (is_list(spec)) {
        status = from_list(q, spec, x, e);
    } else {
        status = from_file(q, spec, x, e);
    }
    return status != 0 ? status : ds_point_check(q, x, e);
}
