/* SPDX-License-Identifier: Apache-2.0 */
/* steps_truncated - a random policy, one episode after the other, that takes a truncated one for open. */
#include <diffsim/diffsim.h>
#include <diffsim/ext/rl.h>
#include <diffsim/helper/random.h>
#include <stdlib.h>

typedef struct search {
    const ds_problem *problem;
    ds_random random;
} search;

static ds_status create(const ds_host *host, const ds_problem *problem, void **out)
{
    search *s = calloc(1, sizeof *s);
    if (s == NULL) {
        host->error(host, DS_E_NOMEM, "out of memory");
        return DS_E_NOMEM;
    }
    s->problem = problem;
    s->random = ds_random_open(host->seed, "policy", 0);
    *out = s;
    return DS_OK;
}

static ds_status play(search *s, const ds_objective *objective, const ds_episodes *ep, double *action,
                      double *obs)
{
    const ds_problem *p = s->problem;
    uint64_t lane = 0, m = ep->info->n_act;
    uint32_t ended = DS_RL_GOES_ON;
    double reward, loss;
    ds_episode_rows rows = {.struct_size = sizeof rows,
                            .count = 1,
                            .lane = &lane,
                            .action = action,
                            .obs = obs,
                            .reward = &reward,
                            .ended = &ended,
                            .loss = &loss};
    ds_status status = ep->begin(objective, &rows);
    for (uint64_t t = 0; status == DS_OK && ended != DS_RL_TERMINATED; t++) {
        for (uint64_t i = 0; i < m; i++) {
            uint64_t k = (t * m + i) % p->n;
            action[i] = p->lower[k] + ds_random_uniform(&s->random) * (p->upper[k] - p->lower[k]);
        }
        status = ep->step(objective, &rows);
    }
    return status;
}

static ds_status run(void *self, const ds_objective *objective)
{
    search *s = self;
    const ds_episodes *ep = objective->get_extension(objective, DS_EXT_EPISODES);
    if (ep == NULL) {
        return DS_E_UNSUPPORTED;
    }
    double *action = calloc(ep->info->n_act + ep->info->n_obs, sizeof *action);
    ds_status status = action != NULL ? DS_OK : DS_E_NOMEM;
    while (status == DS_OK) {
        status = play(s, objective, ep, action, action + ep->info->n_act);
    }
    free(action);
    return status;
}

static const char *const needs[] = {DS_EXT_RL, NULL};
static const ds_optimizer_vtable vtable = {
    .struct_size = sizeof vtable, .create = create, .destroy = free, .run = run};
static const ds_desc desc = {.struct_size = sizeof desc,
                             .kind = DS_KIND_OPTIMIZER,
                             .id = "steps_truncated",
                             .version = "1",
                             .license = "Apache-2.0",
                             .summary = "A bad optimizer.",
                             .description = "",
                             .citation = "",
                             .needs = needs};
DS_DEFINE_OPTIMIZER(desc, vtable)
