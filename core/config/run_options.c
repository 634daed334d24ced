/* SPDX-License-Identifier: Apache-2.0 */
/* run_options.c - the schema of section [run] and its conversion. */
#include "config.h"

#include "config/run_options.h"

#include <math.h>
#include <string.h>

#include "base/program.h"
#include "base/text.h"

static const char *const isolations[] = {"process", "none", NULL};
static const char *const apart[] = {"auto", "true", "false", NULL};

#define DS_PLUGIN_NAME(name_, doc_)                                                                          \
    (&(const ds_param){sizeof(ds_param), DS_PARAM_TEXT, DS_PARAM_NAME_OR_PATH, 0, 0, 0, name_, "", "", doc_, \
                       NULL})

const ds_param *const ds_run_schema[] = {
    DS_PLUGIN_NAME("env", "Environment: an id, a file name found on the plugin path, or a path."),
    DS_PLUGIN_NAME("opt", "Optimizer: an id, a file name found on the plugin path, or a path."),
    DS_INT("budget", "1000", 1, 1e12, "evaluations",
           "How many episodes the run may simulate, with or without gradient."),
    DS_REAL("seconds", "0", 0, INFINITY, "s",
            "Wall time of the search; 0 = no limit. Replaying the record of a resumed run does not count."),
    DS_REAL("target", "-inf", -INFINITY, INFINITY, "", "Stop at the first loss not above this one."),
    &(const ds_param){
        sizeof(ds_param), DS_PARAM_TEXT, DS_PARAM_WORDS, 0, 0, 0, "fix", "", "",
        "Variables that keep a value, NAME=VALUE (a name, or a number from 0: x[3]=1): the optimizer "
        "searches for the others. The flag may be repeated.",
        NULL},
    DS_TEXT("seed", "0", "Seed of all randomness, 0 to 18446744073709551615."),
    DS_INT("runs", "1", 1, 1e6, "", "Number of runs, with seeds seed, seed + 1, ..."),
    DS_INT("jobs", "0", 0, 1024, "",
           "Worker processes that evaluate in parallel; 0 = one per processor. Results do not "
           "depend on it."),
    DS_INT("threads", "1", 1, 1024, "", "Threads inside one evaluation. Results do not depend on it."),
    DS_ENUM("isolation", "process", isolations,
            "process: evaluate in worker processes, so that a crash costs one evaluation; none: in this "
            "process."),
    DS_ENUM("isolate_optimizer", "auto", apart,
            "Run the optimizer in its own process, so that its crash is one line and a run to resume; auto: "
            "only a third-party optimizer. Results do not depend on it."),
    DS_BOOL("portable", "false",
            "Portable mode: the same bits on every x86-64 processor, for a little more time; a resumed run "
            "stays in it."),
    DS_TEXT("out", "",
            "Result folder, made by the run below the working directory; empty = results/ENV-OPT-sSEED."),
    DS_REAL("timeout_s", "600", 0, INFINITY, "s", "Time limit of one evaluation; 0 = none."),
    DS_REAL("start_timeout_s", "0", 0, INFINITY, "s",
            "Time limit of loading a plugin in its own process, and of its create(); 0 = 30 s for loading "
            "it, and timeout_s, but at least 60 s, for create()."),
    DS_INT("memory_mb", "8192", 0, 1e9, "MiB",
           "Memory limit of one worker, or of an isolated optimizer, beyond its start; 0 = none."),
    DS_REAL("max_failed", "0.5", 0, 1, "",
            "End the run with status 5 when a larger share of its evaluations failed (checked from 50 "
            "evaluations on)."),
    DS_BOOL("pictures", "true", "Draw convergence.png, convergence.svg and best.png."),
    DS_BOOL("page", "true",
            "With the pictures, write best.html when the run ends: a page that plays the best episode."),
    &(const ds_param){sizeof(ds_param), DS_PARAM_BOOL, DS_PARAM_ADVANCED, 0, 0, 1, "verify", "true", "",
                      "Before `dshost resume` continues, repeat the best evaluation of the record, and end "
                      "with status 4 where the result differs: the environment has changed.",
                      NULL},
    &(const ds_param){
        sizeof(ds_param), DS_PARAM_INT, DS_PARAM_ADVANCED, 0, 0, 9007199254740992.0, "noise_key", "0", "",
        "Noise of one evaluation, for `dshost eval`: written by reproducer files; 0 = no noise.", NULL},
    &(const ds_param){sizeof(ds_param), DS_PARAM_LIST, DS_PARAM_ADVANCED, 0, -INFINITY, INFINITY, "x", "", "",
                      "One point, for `dshost eval`: written by reproducer files.", NULL},
    NULL};

int ds_run_options_make(const ds_settings *settings, ds_run_options *out, ds_error *e)
{
    ds_params *p = NULL;
    const char *seed = "0";
    int64_t isolation = 0, isolate_optimizer = 0, portable = 0, pictures = 1, page = 1, verify = 1,
            threads = 1, noise_key = 0;
    memset(out, 0, sizeof *out);
    int status = ds_params_make(ds_run_schema, "", settings, DS_SECTION_RUN, &p, e);
    if (status != 0) {
        return status;
    }
    out->params = p;
    ds_params_text(p, "env", &out->env);
    ds_params_text(p, "opt", &out->opt);
    ds_params_int(p, "budget", &out->budget);
    ds_params_real(p, "seconds", &out->seconds);
    ds_params_real(p, "target", &out->target);
    ds_params_text(p, "seed", &seed);
    ds_params_int(p, "runs", &out->runs);
    ds_params_int(p, "jobs", &out->jobs);
    ds_params_int(p, "threads", &threads);
    ds_params_int(p, "isolation", &isolation);
    ds_params_int(p, "isolate_optimizer", &isolate_optimizer);
    ds_params_int(p, "portable", &portable);
    ds_params_text(p, "out", &out->out);
    ds_params_real(p, "timeout_s", &out->timeout);
    ds_params_real(p, "start_timeout_s", &out->start_timeout);
    ds_params_int(p, "memory_mb", &out->memory);
    ds_params_real(p, "max_failed", &out->max_failed);
    ds_params_int(p, "pictures", &pictures);
    ds_params_int(p, "page", &page);
    ds_params_int(p, "verify", &verify);
    ds_params_int(p, "noise_key", &noise_key);
    ds_params_list(p, "x", &out->x, &out->x_count);
    out->threads = (uint32_t)threads;
    out->isolation = (int)isolation;
    out->isolate_optimizer = (int)isolate_optimizer;
    out->portable = (int)portable;
    out->pictures = (int)pictures;
    out->page = (int)page;
    out->verify = (int)verify;
    out->noise_key = (uint64_t)noise_key;
    out->jobs = out->jobs == 0 ? ds_jobs_default() : out->jobs;
    const char *key = NULL;
    char why[400];
    const ds_setting *place = ds_settings_find(settings, DS_SECTION_RUN, "out");
    if (place != NULL && place->layer <= DS_LAYER_FILE && ds_path_leaves(place->value)) {
        key = "out";
        snprintf(why, sizeof why,
                 "%.100s: a file may only name a folder below the working directory; name another one on the "
                 "command line: --out %.100s",
                 place->value, place->value);
    } else if (!ds_parse_seed(seed, &out->seed)) {
        key = "seed";
        snprintf(why, sizeof why, "%.60s: expected a whole number from 0 to 18446744073709551615", seed);
    } else if (out->seed + (uint64_t)out->runs - 1 < out->seed) {
        key = "runs";
        snprintf(
            why, sizeof why,
            "%lld from seed %llu would go beyond the largest seed, 18446744073709551615: choose a smaller "
            "seed",
            (long long)out->runs, (unsigned long long)out->seed);
    }
    if (key == NULL) {
        return 0;
    }
    const ds_setting *s = ds_settings_find(settings, DS_SECTION_RUN, key);
    ds_run_options_clear(out);
    return ds_fail(e, s != NULL ? s->status : DS_EXIT_CONFIG, "%s: %s = %s",
                   s != NULL ? s->origin : "default", key, why);
}

void ds_run_options_clear(ds_run_options *o)
{
    ds_params_free(o->params);
    memset(o, 0, sizeof *o);
}
