/* SPDX-License-Identifier: Apache-2.0 */
/* eval_policy.h - `dshost eval --policy`: episodes of a policy that was learned, as a point or as a table. */
#ifndef DS_EVAL_POLICY_H
#define DS_EVAL_POLICY_H

#include <jansson.h>

#include "policy/policy_play.h"

/* What the flags say. */
typedef struct ds_policy_request {
    const char *spec; /* --policy: a run's folder, or a file; NULL = none */
    char *seed_spec;  /* of all flags --seeds, owned; NULL = none */
    int stochastic;
    uint64_t *seed, seeds; /* of --seeds; none without it */
} ds_policy_request;

/* Tests --seeds. To be released. */
int ds_policy_request_check(ds_policy_request *q, ds_error *e);
void ds_policy_request_clear(ds_policy_request *q);

/* Reads the policy. Where the settings name no environment, that of the run it lies in is added, with its
 * parameters, else those that are written in the file. */
int ds_policy_open(const ds_policy_request *q, ds_settings *settings, ds_policy *p, ds_error *e);

/* One episode, whose actions become x; or one for each seed. *played (to be freed) has how they went. An
 * environment without noise, for which all seeds are the same, is refused. */
int ds_policy_episodes(const ds_policy_request *q, ds_pool *pool, const char *id, uint64_t run_seed,
                       ds_policy *p, ds_played **played, double *x, ds_error *e);

/* A line about the policy and the one episode, and a table of several with mean and spread. */
void ds_policy_print(const ds_policy_request *q, const ds_policy *p, const ds_played *played);
void ds_policy_print_table(const ds_policy_request *q, const ds_played *played);

/* The same as JSON: an object about the policy, and one about several episodes. */
json_t *ds_policy_json(const ds_policy_request *q, const ds_policy *p, const ds_played *played);
json_t *ds_policy_table_json(const ds_policy_request *q, const ds_played *played);

/* DS_EXIT_ENV where an episode of the table has failed. */
int ds_policy_table_status(const ds_policy_request *q, const char *id, const ds_played *played, ds_error *e);

#endif
