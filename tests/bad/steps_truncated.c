/* SPDX-License-Identifier: Apache-2.0 */
/* steps_truncated - a random policy, one episode after the other, that takes a truncated one for open. */
#include <diffsim/diffsim.h>
#include <diffsim/ext/steps.h>
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

static ds_status play(search *s, const ds_objective *objective, const ds_objective_steps *steps,
                      double *action, double *obs)
{
    const ds_problem *p = s->problem;
    uint64_t lane = 0, m = steps->info->n_act;
    uint32_t ended = DS_STEPS_CONTINUES;
    double reward, loss;
    uint64_t done;
    const ds_step_rows start = {.struct_size = sizeof start, .count = 1, .lane = &lane};
    const ds_step_rows rows = {.struct_size = sizeof rows, .count = 1, .lane = &lane, .action = action};
    const ds_step_results results = {
        .struct_size = sizeof results, .obs = obs, .reward = &reward, .ended = &ended, .loss = &loss};
    ds_status status = steps->begin(objective, &start, NULL, &results, &done);
    for (uint64_t t = 0; status == DS_OK && ended != DS_STEPS_TERMINATED; t++) {
        for (uint64_t i = 0; i < m; i++) {
            uint64_t k = (t * m + i) % p->n;
            action[i] = p->lower[k] + ds_random_uniform(&s->random) * (p->upper[k] - p->lower[k]);
        }
        status = steps->step(objective, &rows, &results, &done);
    }
    return status;
}

static ds_status run(void *self, const ds_objective *objective)
{
    search *s = self;
    const ds_objective_steps *steps = objective->get_extension(objective, DS_EXT_OBJECTIVE_STEPS);
    if (steps == NULL) {
        return DS_E_UNSUPPORTED;
    }
    double *action = calloc(steps->info->n_act + steps->info->n_obs, sizeof *action);
    ds_status status = action != NULL ? DS_OK : DS_E_NOMEM;
    while (status == DS_OK) {
        status = play(s, objective, steps, action, action + steps->info->n_act);
    }
    free(action);
    return status;
}

static const char *const needs[] = {DS_EXT_STEPS, NULL};
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
