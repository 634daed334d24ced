/* SPDX-License-Identifier: Apache-2.0 */
/* pool.h - evaluates tables of points, in worker processes or in this process, with results in the order of
 * the rows. A crash, hang or memory blow-up of the environment costs one evaluation.
 *
 * Call all functions from one thread. */
#ifndef DS_EVALUATE_POOL_H
#define DS_EVALUATE_POOL_H

#include <diffsim/optimizer.h>

#include "config/run_options.h"
#include "evaluate/request.h"
#include "plugin/instance.h"
#include "worker/supervisor.h"

typedef struct ds_pool_config {
    const ds_module *module;     /* of the environment */
    const ds_settings *settings; /* section [env], and fix of [run] (fix.h); must outlive the pool */
    uint64_t seed;               /* of the run */
    uint32_t threads;
    uint32_t jobs;
    int isolation;             /* DS_ISOLATION_* */
    double timeout;            /* seconds of one evaluation; 0 = no limit; process isolation only */
    double start_timeout;      /* for making an instance; 0 = the timeout, but at least DS_START_SECONDS */
    int64_t memory;            /* MiB of one worker; 0 = no limit; process isolation only */
    const char *program;       /* of the workers; NULL = dshost-worker */
    const atomic_int *stop;    /* nonzero = end; may be NULL */
    int (*waiting)(void *ctx); /* see supervisor.h; process isolation only, may be NULL */
    void *ctx;
    int exact;          /* every evaluation gets the noise key below */
    uint64_t noise_key; /* 0 = stochastic environments evaluate without noise */
} ds_pool_config;

typedef struct ds_pool ds_pool;

/* Sets config->module to the environment called `name`. With process isolation a worker process loads and
 * describes it (process.h), with none this process. Reads isolation, timeout, program, stop and waiting. */
int ds_pool_find_env(ds_pool_config *config, const char *name, ds_error *e);

/* Checks the settings, starts the first worker and makes an instance in it. More workers start when tables
 * are large enough. */
int ds_pool_open(const ds_pool_config *config, ds_pool **out, ds_error *e);
void ds_pool_close(ds_pool *p);

/* The environment as its instances describe it; valid until ds_pool_close(). */
typedef ds_env_facts ds_pool_env;
const ds_pool_env *ds_pool_env_of(const ds_pool *p);

/* For more workers like those of the pool: their configuration (process isolation); the instance of this
 * process, NULL with process isolation. */
ds_supervisor_config ds_pool_supervisor_config(const ds_pool *p, uint32_t jobs);

/* The pool's own workers, which take other requests between two calls of the pool; NULL without process
 * isolation. */
ds_supervisor *ds_pool_supervisor(const ds_pool *p);
ds_env *ds_pool_local(const ds_pool *p);

/* Gets the result of row i; `grad` (n values) and `out` (as the queries are laid out) are NULL unless
 * requested. Called in the order of the rows, in the thread that called ds_pool_execute(). Return nonzero for
 * enough: the other rows are dropped, and the pool cannot be used any more. */
typedef int ds_pool_sink(void *ctx, uint64_t i, const ds_answer *answer, const double *grad, const void *out);

enum { DS_POOL_STOPPED = DS_SUPERVISOR_STOPPED };

/* Points to evaluate. */
typedef struct ds_pool_request {
    uint64_t count;
    const double *x;                /* count x n */
    uint32_t want;                  /* DS_WANT_* */
    const ds_query_layout *queries; /* of every row; NULL = none */
    const double *in;               /* count x queries->in; NULL where that is 0 */
    uint64_t first;                 /* number (from 1) of the evaluation of row 0; selects its noise */
    const uint64_t
        *noise; /* count numbers: rows with the same number, not 0, share their noise; NULL = none do */
    const uint64_t *key; /* count noise keys that override `first` and `noise`; NULL = they decide */
} ds_pool_request;

/* Evaluates the rows. Returns 0, DS_POOL_STOPPED when config.stop or the sink ended it, or an exit status. */
int ds_pool_execute(ds_pool *p, const ds_pool_request *q, ds_pool_sink *sink, void *ctx, ds_error *e);

/* The same without queries and noise groups. */
int ds_pool_evaluate(ds_pool *p, uint64_t count, const double *x, uint32_t want, uint64_t first,
                     ds_pool_sink *sink, void *ctx, ds_error *e);

/* The noise key of evaluation `id` (1, 2, ...), or of all evaluations of noise `group` if that is not 0. 0
 * for environments without noise; config.noise_key with config.exact. */
uint64_t ds_pool_noise_key(const ds_pool *p, uint64_t id, uint64_t group);

/* The noise key of evaluation `id` of a run with this seed, if its environment is stochastic. */
uint64_t ds_noise_key_of(uint64_t seed, uint64_t id);

/* ---- stepwise control ---- */

/* One step of the episode in a lane; see ds_episode_step. */
typedef struct ds_lane_step {
    uint64_t lane, key, step;
    const double *x;  /* actions of steps 1..step, with room for n values */
    double *obs;      /* out: n_obs values */
    double reward;    /* out */
    uint32_t ended;   /* out: DS_STEPS_* */
    ds_answer answer; /* out */
} ds_lane_step;

/* One step backwards; see ds_episode_back. */
typedef struct ds_lane_back {
    uint64_t lane, key, taken, step;
    double reward_bar;
    const double *obs_bar; /* n_obs values */
    double *action_bar;    /* out: n_act values */
    int lost;              /* out */
    ds_answer answer;      /* out */
} ds_lane_back;

/* Number of usable lanes. */
uint64_t ds_pool_lanes(const ds_pool *p);

/* Takes `count` steps in different lanes, in parallel, of an environment whose steps.horizon is not 0.
 * Returns 0, DS_POOL_STOPPED when config.stop ended it, or an exit status. A crash costs the episode of the
 * running step; the other lanes of that worker are brought back to their state. */
int ds_pool_step(ds_pool *p, uint64_t count, ds_lane_step *step, ds_error *e);

/* Goes one step backwards in `count` different lanes, in parallel; else as ds_pool_step(). A crash costs the
 * sweep of the step in hand; the other lanes of that worker are lost. */
int ds_pool_back(ds_pool *p, uint64_t count, ds_lane_back *back, ds_error *e);

#endif
