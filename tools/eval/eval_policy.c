/* SPDX-License-Identifier: Apache-2.0 */
/* eval_policy.c - policies of `dshost eval --policy`. */
#include "config.h"

#include "eval/eval.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json_text.h"
#include "base/text.h"
#include "results/point.h"
#include "stats/sample.h"
#include "store/run_folder.h"

enum { MOST_SEEDS = 100000 };

/* ---- seeds ---- */

static int bad_seeds(const char *spec, ds_error *e)
{
    return ds_fail(
        e, DS_EXIT_USAGE,
        "--seeds %.100s: expected a seed (7), a list (1,4,9) or a range (0..9) of at most %d seeds", spec,
        MOST_SEEDS);
}

/* Adds first, first + 1, ... last. */
static int add_seeds(ds_policy_request *q, uint64_t first, uint64_t last, ds_error *e)
{
    if (last < first || last - first >= MOST_SEEDS - q->seeds) {
        return bad_seeds(q->seed_spec, e);
    }
    const uint64_t count = last - first + 1;
    uint64_t *more = realloc(q->seed, (q->seeds + count) * sizeof *more);
    if (more == NULL) {
        return ds_no_memory(e);
    }
    q->seed = more;
    for (uint64_t k = 0; k < count; k++) {
        q->seed[q->seeds++] = first + k;
    }
    return 0;
}

int ds_policy_request_check(ds_policy_request *q, ds_error *e)
{
    if (q->spec == NULL && (q->seed_spec != NULL || q->stochastic)) {
        return ds_fail(e, DS_EXIT_USAGE, "%s needs --policy", q->stochastic ? "--stochastic" : "--seeds");
    }
    char *copy = q->seed_spec != NULL ? strdup(q->seed_spec) : NULL, *rest = copy;
    int rc = q->seed_spec != NULL && copy == NULL ? ds_no_memory(e) : 0;
    for (char *item; rc == 0 && rest != NULL && (item = strsep(&rest, ",")) != NULL;) {
        char *dots = strstr(item, "..");
        uint64_t first = 0, last = 0;
        if (dots != NULL) {
            *dots = '\0';
        }
        const int fine = ds_parse_seed(item, &first) && ds_parse_seed(dots != NULL ? dots + 2 : item, &last);
        rc = fine ? add_seeds(q, first, last, e) : bad_seeds(q->seed_spec, e);
    }
    free(copy);
    return rc;
}

void ds_policy_request_clear(ds_policy_request *q)
{
    free(q->seed_spec);
    free(q->seed);
    q->seed_spec = NULL;
    q->seed = NULL;
}

/* ---- the policy ---- */

/* The folder of the run that contains a file, to be freed, or NULL. */
static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *folder = slash == NULL   ? strdup(".")
                   : slash == path ? strdup("/")
                                   : strndup(path, (size_t)(slash - path));
    if (folder != NULL && !ds_folder_has_run(folder)) {
        free(folder);
        return NULL;
    }
    return folder;
}

/* Adds the environment stored in the file. */
static int adopt_file(const ds_policy *p, ds_settings *settings, ds_error *e)
{
    ds_settings from = {0};
    char name[320];
    snprintf(name, sizeof name, "%.300s: env_settings", p->path);
    int rc = ds_settings_add(&from, DS_SECTION_RUN, "env", p->env, p->path, NULL, DS_EXIT_CONFIG,
                             DS_LAYER_RECORD, e);
    rc = rc == 0 && p->env_settings[0] != '\0'
             ? ds_settings_parse_section(&from, DS_SECTION_ENV, p->env_settings, name, e)
             : rc;
    for (size_t i = 0; i < from.section[DS_SECTION_ENV].count; i++) {
        from.section[DS_SECTION_ENV].item[i].layer = DS_LAYER_RECORD;
    }
    rc = rc != 0 ? rc : ds_provenance_adopt(&from, settings, e);
    ds_settings_clear(&from);
    return rc;
}

int ds_policy_open(const ds_policy_request *q, ds_settings *settings, ds_policy *p, ds_error *e)
{
    const int is_run = ds_folder_has_run(q->spec);
    char *path = is_run ? ds_folder_path(q->spec, "policy.npz") : strdup(q->spec);
    char *folder = is_run ? strdup(q->spec) : folder_of(q->spec);
    memset(p, 0, sizeof *p);
    int rc = path == NULL ? ds_no_memory(e) : 0;
    if (rc == 0 && is_run && access(path, F_OK) != 0) {
        rc = ds_fail(e, DS_EXIT_CONFIG,
                     "%.300s: the run has no policy (policy.npz): ppo, sac, apg and shac write one when they "
                     "end; if the run was killed, dshost resume writes it",
                     q->spec);
    }
    rc = rc != 0 ? rc : ds_policy_read(p, path, e);
    if (rc == 0 && ds_settings_find(settings, DS_SECTION_RUN, "env") == NULL) {
        rc = folder != NULL ? ds_provenance_load(folder, settings, e) : adopt_file(p, settings, e);
    }
    free(path);
    free(folder);
    return rc;
}

/* ---- episodes ---- */

int ds_policy_episodes(const ds_policy_request *q, ds_pool *pool, const char *id, uint64_t run_seed,
                       ds_policy *p, ds_played **played, double *x, ds_error *e)
{
    const ds_pool_env *env = ds_pool_env_of(pool);
    const uint64_t count = q->seeds > 0 ? q->seeds : 1;
    int rc = ds_policy_check(p, id, env, e);
    if (rc == 0 && q->seeds > 0 && !env->stochastic && !q->stochastic) {
        rc = ds_fail(e, DS_EXIT_USAGE,
                     "--seeds: %s has no noise with these parameters, so all episodes are the same: use "
                     "other parameters (--set env.KEY=VALUE), or draw the actions (--stochastic)",
                     id);
    }
    *played = rc == 0 ? calloc(count, sizeof **played) : NULL;
    rc = rc == 0 && *played == NULL ? ds_no_memory(e) : rc;
    for (uint64_t i = 0; rc == 0 && i < count; i++) {
        const uint64_t seed = q->seeds > 0 ? q->seed[i] : run_seed;
        (*played)[i] = (ds_played){.key = count > 1 && env->stochastic ? ds_noise_key_of(seed, 1)
                                                                       : ds_pool_noise_key(pool, 1, 0),
                                   .stochastic = q->stochastic,
                                   .seed = seed};
    }
    return rc != 0 ? rc : ds_policy_play(pool, p, count, *played, count == 1 ? x : NULL, e);
}

/* ---- output ---- */

void ds_policy_print(const ds_policy_request *q, const ds_policy *p, const ds_played *played)
{
    printf("policy    %s: %s %s after %" PRIu64 " evaluations, %s", p->path, p->method, p->method_version,
           p->evaluations, q->stochastic ? "drawn actions" : "mean actions");
    if (q->seeds <= 1) {
        printf(", episode of %" PRIu64 " steps", played->steps);
    }
    printf("\n");
}

/* Collects the losses of episodes that have not failed; returns their number. */
static uint64_t losses(const ds_policy_request *q, const ds_played *played, double *out)
{
    uint64_t good = 0;
    for (uint64_t i = 0; i < q->seeds; i++) {
        if (played[i].answer.outcome == DS_EVAL_OK) {
            out[good++] = played[i].answer.loss;
        }
    }
    ds_sample_sort(out, good);
    return good;
}

void ds_policy_print_table(const ds_policy_request *q, const ds_played *played)
{
    double *loss = calloc(q->seeds, sizeof *loss);
    const uint64_t good = loss != NULL ? losses(q, played, loss) : 0;
    printf("\n%20s %12s %8s %24s\n", "seed", "outcome", "steps", "loss");
    for (uint64_t i = 0; i < q->seeds; i++) {
        printf("%20" PRIu64 " %12s %8" PRIu64 " %24.17g\n", played[i].seed,
               ds_outcome_name(played[i].answer.outcome), played[i].steps, played[i].answer.loss);
    }
    printf("\n%" PRIu64 " episodes, %" PRIu64 " failed\n", q->seeds, q->seeds - good);
    if (good > 0) {
        printf("loss      mean %.9g, standard deviation %.4g, lowest %.9g, median %.9g, highest %.9g\n",
               ds_sample_mean(loss, good), good > 1 ? ds_sample_sd(loss, good) : 0.0, loss[0],
               ds_sorted_quantile(loss, good, 0.5), loss[good - 1]);
    }
    free(loss);
}

json_t *ds_policy_json(const ds_policy_request *q, const ds_policy *p, const ds_played *played)
{
    return json_pack("{s:s*, s:s*, s:s*, s:I, s:b, s:o*}", "file", p->path, "method", p->method,
                     "method_version", p->method_version, "evaluations", (json_int_t)p->evaluations,
                     "stochastic", q->stochastic, "steps",
                     q->seeds <= 1 ? json_integer((json_int_t)played->steps) : NULL);
}

json_t *ds_policy_table_json(const ds_policy_request *q, const ds_played *played)
{
    double *loss = calloc(q->seeds, sizeof *loss);
    const uint64_t good = loss != NULL ? losses(q, played, loss) : 0;
    json_t *rows = json_array(), *o = json_object();
    for (uint64_t i = 0; i < q->seeds; i++) {
        const ds_answer *a = &played[i].answer;
        json_array_append_new(rows, json_pack("{s:o, s:s*, s:I, s:o}", "seed", ds_json_seed(played[i].seed),
                                              "outcome", ds_outcome_name(a->outcome), "steps",
                                              (json_int_t)played[i].steps, "loss", ds_json_real(a->loss)));
    }
    json_object_set_new(o, "episodes", rows);
    json_object_set_new(o, "failed", ds_json_whole(q->seeds - good));
    json_object_set_new(o, "mean", good > 0 ? ds_json_real(ds_sample_mean(loss, good)) : json_null());
    json_object_set_new(o, "standard_deviation",
                        good > 1 ? ds_json_real(ds_sample_sd(loss, good)) : json_null());
    json_object_set_new(o, "lowest", good > 0 ? ds_json_real(loss[0]) : json_null());
    json_object_set_new(o, "median",
                        good > 0 ? ds_json_real(ds_sorted_quantile(loss, good, 0.5)) : json_null());
    json_object_set_new(o, "highest", good > 0 ? ds_json_real(loss[good - 1]) : json_null());
    free(loss);
    return o;
}

int ds_policy_table_status(const ds_policy_request *q, const char *id, const ds_played *played, ds_error *e)
{
    uint64_t failed = 0, first = 0;
    for (uint64_t i = q->seeds; i-- > 0;) {
        const int bad = played[i].answer.outcome != DS_EVAL_OK;
        failed += (uint64_t)bad;
        first = bad ? i : first;
    }
    const ds_answer *a = &played[first].answer;
    return failed == 0 ? 0
                       : ds_fail(e, DS_EXIT_ENV,
                                 "%s: %" PRIu64 " of %" PRIu64 " episodes failed, first that of seed %" PRIu64
                                 ": %s%s%s",
                                 id, failed, q->seeds, played[first].seed, ds_outcome_name(a->outcome),
                                 a->message[0] != '\0' ? ": " : "", a->message);
}
