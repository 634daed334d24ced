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
    const ds_settings *settings; /* section [env] */
    uint64_t seed;               /* of the run */
    uint32_t threads;
    uint32_t jobs;
    int isolation;          /* DS_ISOLATION_* */
    double timeout;         /* seconds of one evaluation; 0 = no limit; process isolation only */
    int64_t memory;         /* MiB of one worker; 0 = no limit; process isolation only */
    const char *program;    /* of the workers; NULL = dshost-worker */
    const atomic_int *stop; /* nonzero = end; may be NULL */
    int exact;              /* every evaluation gets the noise key below */
    uint64_t noise_key;     /* 0 = stochastic environments answer without noise */
} ds_pool_config;

typedef struct ds_pool ds_pool;

/* Sets config->module to the environment that the user means by `name`. With process isolation a worker process loads
 * it and describes it (probe.h), with none this process. Looks at isolation, timeout, program and stop. */
int ds_pool_find_env(ds_pool_config *config, const char *name, ds_error *e);

/* Checks the settings, starts the first worker and makes an instance in it; further ones start when batches
 * are large enough. */
int ds_pool_open(const ds_pool_config *config, ds_pool **out, ds_error *e);
void ds_pool_close(ds_pool *p);

/* The environment as its instances describe it; valid until close. */
typedef ds_env_facts ds_pool_env;
const ds_pool_env *ds_pool_env_of(const ds_pool *p);
const ds_pool_config *ds_pool_config_in(const ds_pool *p);

/* For more workers like those of the pool: their settings with process isolation, the instance (else NULL) with none. */
ds_supervisor_config ds_pool_crew(const ds_pool *p, uint32_t jobs);
ds_env *ds_pool_local(const ds_pool *p);

/* Gets the answer of row i; `grad` (n values) is NULL unless asked for. Called in the order of the rows, from
 * the thread that called ds_pool_evaluate(). Nonzero = enough: the rows behind are dropped, and the pool is
 * of no more use. */
typedef int ds_pool_sink(void *ctx, uint64_t i, const ds_answer *answer, const double *grad);

enum { DS_POOL_STOPPED = DS_SUPERVISOR_STOPPED };

/* Evaluates `count` rows of x. `first` is the number (from 1) of the evaluation of row 0, which selects the
 * noise of stochastic environments. Returns 0, DS_POOL_STOPPED when config.stop or the sink ended it, or an
 * exit status. */
int ds_pool_evaluate(ds_pool *p, uint64_t count, const double *x, uint32_t want, uint64_t first,
                     ds_pool_sink *sink, void *ctx, ds_error *e);

/* The same with the noise keys of the rows in place of their numbers. */
int ds_pool_evaluate_keys(ds_pool *p, uint64_t count, const double *x, uint32_t want,
                          const uint64_t *noise_key, ds_pool_sink *sink, void *ctx, ds_error *e);

/* Residuals of `count` rows of x, or products of their Jacobian with rows of v (kind is DS_RESIDUALS_*): as
 * ds_pool_evaluate(), and the sink gets in place of a gradient what was asked for. */
int ds_pool_residuals(ds_pool *p, uint32_t kind, uint64_t count, const double *x, const double *v,
                      uint64_t first, ds_pool_sink *sink, void *ctx, ds_error *e);

/* Noise key of evaluation `id` (1, 2, ...): 0 for environments without noise;
 * config.noise_key where config.exact. */
uint64_t ds_pool_noise_key(const ds_pool *p, uint64_t id);

enum { DS_BATCH_TEXT = 300 };

/* What an optimizer may ask for: 1 where the batch of ds_objective.evaluate() keeps the rules for a problem, else 0
 * and what is wrong in `text`. */
int ds_batch_allowed(const ds_batch *b, const ds_problem *problem, char text[DS_BATCH_TEXT]);

#endif
