/* SPDX-License-Identifier: Apache-2.0 */
/* run_options.h - section [run]: what to run, how long, where, and the limits of one evaluation. */
#ifndef DS_CONFIG_RUN_OPTIONS_H
#define DS_CONFIG_RUN_OPTIONS_H

#include "config/params.h"

enum { DS_ISOLATION_PROCESS = 0, DS_ISOLATION_NONE = 1 };
enum { DS_ISOLATE_AUTO = 0, DS_ISOLATE_YES = 1, DS_ISOLATE_NO = 2 };

/* The schema of [run]; the names are also the long flags of `dshost run`, with '-' for '_'. */
extern const ds_param *const ds_run_schema[];

typedef struct ds_run_options {
    const char *env, *opt; /* as the user wrote them; "" = not given */
    int64_t budget;        /* evaluations */
    double seconds;        /* wall time of the run; 0 = no limit */
    double target;         /* -INFINITY = none */
    uint64_t seed;
    int64_t runs;          /* seeds seed, seed + 1, ... */
    int64_t jobs;          /* worker processes; 0 is replaced by the number of processors */
    uint32_t threads;      /* threads of one evaluation */
    int isolation;         /* DS_ISOLATION_* */
    int isolate_optimizer; /* DS_ISOLATE_*: in its own process? */
    int portable;          /* in portable mode (arithmetic/portable.h) */
    const char *out;       /* result folder; "" = results/ENV-OPT-sSEED-TIME */
    double timeout;        /* seconds of one evaluation; 0 = no limit */
    double start_timeout;  /* seconds of loading a plugin and of create(); 0 = from the timeout */
    int64_t memory;        /* MiB of one worker; 0 = no limit */
    double max_failed;     /* end with DS_EXIT_ENV when a larger share of at least 50 evaluations failed */
    int pictures;
    int page;           /* with the pictures, best.html at the end */
    int verify;         /* repeat a recorded evaluation before a resumed run continues */
    uint64_t noise_key; /* of one evaluation, in reproducer files; 0 = no noise */
    const double *x;    /* one point, in reproducer files; NULL = none */
    uint64_t x_count;
    ds_params *params; /* owns the texts */
} ds_run_options;

/* Converts section [run]. */
int ds_run_options_make(const ds_settings *settings, ds_run_options *out, ds_error *e);
void ds_run_options_clear(ds_run_options *o);

#endif
