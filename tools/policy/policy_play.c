/* SPDX-License-Identifier: Apache-2.0 */
/* policy_play.c - see policy_play.h. */
#include "config.h"

#include "policy/policy_play.h"

#include <stdlib.h>
#include <string.h>

#include "base/stop.h"
#include "evaluate/pool.h"

/* What an episode is played with. */
typedef struct player {
    const ds_pool_env *env;
    ds_pool *pool;
    ds_policy *policy;
    double *x, *obs;
} player;

static int advance(player *p, const ds_played *of, uint64_t step, ds_lane_step *out, ds_error *e)
{
    *out = (ds_lane_step){.lane = 0, .key = of->key, .step = step, .x = p->x, .obs = p->obs};
    int rc = ds_pool_step(p->pool, 1, out, e);
    return rc == DS_POOL_STOPPED ? ds_fail(e, DS_EXIT_SIGINT, "stopped") : rc;
}

static int play(player *p, ds_played *of, ds_error *e)
{
    const ds_pool_env *env = p->env;
    const uint64_t m = env->steps.n_act;
    ds_random random = ds_random_open(of->seed, "policy", 0);
    ds_lane_step out;
    int rc = advance(p, of, 0, &out, e), ended = 0;
    memcpy(p->x, env->x0, env->info.n * sizeof *p->x);
    of->steps = 0;
    while (rc == 0 && !ended && out.answer.outcome == DS_EVAL_OK) {
        double *action = p->x + of->steps * m;
        ds_policy_act(p->policy, p->obs, of->steps, env->steps.horizon, of->stochastic ? &random : NULL,
                      action);
        for (uint64_t k = 0; k < m; k++) { /* the bounds may be others than those of the policy */
            const double lower = env->lower[of->steps * m + k], upper = env->upper[of->steps * m + k];
            action[k] = action[k] < lower ? lower : action[k] > upper ? upper : action[k];
        }
        of->steps++;
        rc = advance(p, of, of->steps, &out, e);
        ended = out.ended != DS_STEPS_CONTINUES;
    }
    of->answer = out.answer;
    return rc;
}

int ds_policy_play(ds_pool *pool, ds_policy *policy, uint64_t count, ds_played *played, double *x,
                   ds_error *e)
{
    player p = {.env = ds_pool_env_of(pool), .pool = pool, .policy = policy};
    const size_t n = p.env->info.n;
    p.x = calloc(n + p.env->steps.n_obs, sizeof *p.x);
    int rc = p.x == NULL ? ds_no_memory(e) : 0;
    p.obs = p.x != NULL ? p.x + n : NULL;
    for (uint64_t i = 0; rc == 0 && i < count; i++) {
        rc = play(&p, &played[i], e);
    }
    if (rc == 0 && x != NULL) {
        memcpy(x, p.x, n * sizeof *x);
    }
    free(p.x);
    return rc;
}
