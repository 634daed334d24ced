/* SPDX-License-Identifier: Apache-2.0 */
/* pool.h - evaluation of batches of points, by worker processes or in this process, with answers in the order
 * of the rows. A crash, a hang or a memory blow-up of the environment costs one evaluation.
 *
 * All functions are called from one thread.
 */
#ifndef DS_EVALUATE_POOL_H
#define DS_EVALUATE_POOL_H

#include <diffsim/optimizer.h>

#include "config/run_options.h"
#include "plugin/instance.h"
#include "worker/supervisor.h"

typedef struct ds_pool_config {
    const ds_module *module;     /* of the environment */
    const ds_settings *settings; /* section [env]; of [run] fix (fix.h) */
    uint64_t seed;               /* of the run */
    uint32_t threads;
    uint32_t jobs;
    int isolation;             /* DS_ISOLATION_* */
    double timeout;            /* seconds of one evaluation; 0 = no limit; process isolation only */
    double start_timeout;      /* of making an instance; 0 = the timeout, but at least DS_START_SECONDS */
    int64_t memory;            /* MiB of one worker; 0 = no limit; process isolation only */
    const char *program;       /* of the workers; NULL = dshost-worker */
    const atomic_int *stop;    /* nonzero = end; may be NULL */
    int (*waiting)(void *ctx); /* see supervisor.h; process isolation only, may be NULL */
    void *ctx;
    int exact;          /* every evaluation gets the noise key below */
    uint64_t noise_key; /* 0 = stochastic environments answer without noise */
} ds_pool_config;

typedef struct ds_pool ds_pool;

/* Sets config->module to the environment that the user means by `name`. With process isolation a
 * worker process loads it and describes it (probe.h), with none this process. Looks at isolation,
 * timeout, program, stop and waiting. */
int ds_pool_find_env(ds_pool_config *config, const char *name, ds_error *e);

/* Checks the settings, starts the first worker and makes an instance in it; further ones start when batches
 * are large enough. */
int ds_pool_open(const ds_pool_config *config, ds_pool **out, ds_error *e);
void ds_pool_close(ds_pool *p);

/* The environment as its instances describe it; valid until close. */
typedef ds_env_facts ds_pool_env;
const ds_pool_env *ds_pool_env_of(const ds_pool *p);
const ds_pool_config *ds_pool_config_in(const ds_pool *p);

/* For more workers like those of the pool: their settings with process isolation, the
 * instance (else NULL) with none. */
ds_supervisor_config ds_pool_supervisor_config(const ds_pool *p, uint32_t jobs);
ds_env *ds_pool_local(const ds_pool *p);

/* Gets the answer of row i; `grad` (n values) and `out` (as the questions are laid out) are NULL unless
 * asked for. Called in the order of the rows, from the thread that called ds_pool_execute(). Nonzero = enough:
 * the rows behind are dropped, and the pool is of no more use. */
typedef int ds_pool_sink(void *ctx, uint64_t i, const ds_answer *answer, const double *grad, const void *out);

enum { DS_POOL_STOPPED = DS_SUPERVISOR_STOPPED };

/* What is asked of a number of points. */
typedef struct ds_pool_request {
    uint64_t count;
    const double *x;                /* count x n */
    uint32_t want;                  /* DS_WANT_* */
    const ds_query_layout *queries; /* of every row; NULL = none */
    const double *in;               /* count x asks->in; NULL where that is 0 */
    uint64_t first;                 /* number (from 1) of the evaluation of row 0, which selects its noise */
    const uint64_t
        *noise; /* count numbers: rows with the same one, not 0, have the same noise; NULL = none have */
    const uint64_t *key; /* count noise keys, whatever `first` and `noise` say; NULL = they decide */
} ds_pool_request;

/* Evaluates the rows. Returns 0, DS_POOL_STOPPED when config.stop or the sink ended it, or an exit status. */
int ds_pool_execute(ds_pool *p, const ds_pool_request *q, ds_pool_sink *sink, void *ctx, ds_error *e);

/* The same for losses and gradients alone. */
int ds_pool_evaluate(ds_pool *p, uint64_t count, const double *x, uint32_t want, uint64_t first,
                     ds_pool_sink *sink, void *ctx, ds_error *e);

/* Noise key of evaluation `id` (1, 2, ...), or of all that share noise `group` where that is not 0: 0 for
 * environments without noise; config.noise_key where config.exact. */
uint64_t ds_pool_noise_key(const ds_pool *p, uint64_t id, uint64_t group);

/* The key that evaluation `id` of a run with this seed gets, where its environment is stochastic. */
uint64_t ds_noise_key_of(uint64_t seed, uint64_t id);

/* ---- stepwise control ---- */

/* One step of the episode in a lane, see ds_episode_step. */
typedef struct ds_lane_step {
    uint64_t lane, key, step;
    const double *x;  /* actions of the steps 1..step, and room to n values */
    double *obs;      /* out: n_obs values */
    double reward;    /* out */
    uint32_t ended;   /* out: DS_STEPS_* */
    ds_answer answer; /* out */
} ds_lane_step;

/* One step backwards, see ds_episode_back. */
typedef struct ds_lane_back {
    uint64_t lane, key, taken, step;
    double reward_bar;
    const double *obs_bar; /* n_obs values */
    double *action_bar;    /* out: n_act values */
    int lost;              /* out */
    ds_answer answer;      /* out */
} ds_lane_back;

/* Lanes that may be used: their numbers are below this one. */
uint64_t ds_pool_lanes(const ds_pool *p);

/* Makes `count` steps in different lanes, in parallel, of an environment whose steps.horizon is not 0. 0,
 * DS_POOL_STOPPED when config.stop ended it, or an exit status. A crash costs the episode of the step in
 * hand; the other lanes of that worker are brought back to where they were. */
int ds_pool_step(ds_pool *p, uint64_t count, ds_lane_step *step, ds_error *e);

/* Goes one step backwards in `count` different lanes, in parallel; else as ds_pool_step(). A crash costs the
 * sweep of the step in hand; the other lanes of that worker are lost. */
int ds_pool_back(ds_pool *p, uint64_t count, ds_lane_back *back, ds_error *e);

/* ---- the contract ---- */

enum { DS_BATCH_TEXT = 300 };

/* What an optimizer may ask for: 1 where the request of ds_objective.evaluate() keeps the rules for a
 * problem, else 0 and what is wrong in `text`. */
int ds_rows_allowed(const ds_rows *r, const ds_results *results, const ds_problem *problem,
                    char text[DS_BATCH_TEXT]);

#endif
