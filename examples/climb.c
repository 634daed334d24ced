/* SPDX-License-Identifier: Apache-2.0 */
/* climb - an optimizer for stepwise control: it learns a linear policy, action = tanh(W observation), by
 * random changes of W that it keeps unless the episode is worse. */
#include <diffsim/helper/simple.h>

static const ds_param *const params[] = {
    DS_REAL("sigma", "0.3", 1e-9, 10, "", "Standard deviation of a change."), NULL};

/* The action of step t: weights w, n_act rows of n_obs, scaled to the bounds. */
static void act(const ds_problem *p, const ds_steps_info *info, uint64_t t, const double *w,
                const double *obs, double *action)
{
    for (uint64_t a = 0; a < info->n_act; a++) {
        const double lower = p->lower[t * info->n_act + a], upper = p->upper[t * info->n_act + a];
        double sum = 0;
        for (uint64_t k = 0; k < info->n_obs; k++) {
            sum += w[a * info->n_obs + k] * obs[k];
        }
        action[a] = ds_box_clamp(lower + (upper - lower) * 0.5 * (1 + tanh(sum)), lower, upper);
    }
}

static ds_status search(ds_simple_search *s)
{
    ds_evaluator_lanes lanes;
    ds_status status = ds_evaluator_lanes_open(&s->kit.evaluator, &lanes);
    if (status != DS_OK) {
        return status;
    }
    const ds_steps_info *info = lanes.info;
    const uint64_t lane = 0, n = info->n_act * info->n_obs;
    double *best = ds_memory_doubles(&s->kit.memory, n), *w = ds_memory_doubles(&s->kit.memory, n);
    double *obs = ds_memory_doubles(&s->kit.memory, info->n_obs);
    double *action = ds_memory_doubles(&s->kit.memory, info->n_act);
    double least = INFINITY, loss = 0, reward;
    uint32_t ended;
    ds_evaluator_steps row = {.count = 1,
                              .lane = &lane,
                              .action = action,
                              .obs = obs,
                              .reward = &reward,
                              .ended = &ended,
                              .loss = &loss};
    if (s->kit.memory.failed) {
        return ds_host_fail(s->host, DS_E_NOMEM, "out of memory for %llu weights", (unsigned long long)n);
    }
    for (uint64_t episode = 1; status == DS_OK; episode++) {
        for (uint64_t k = 0; k < n; k++) {
            w[k] = best[k] + s->param[0] * ds_random_normal(&s->random);
        }
        status = ds_evaluator_lanes_begin(&lanes, (ds_evaluator_label){"rollout", episode}, &row);
        ended = DS_STEPS_CONTINUES;
        for (uint64_t t = 0; status == DS_OK && ended == DS_STEPS_CONTINUES; t++) {
            act(s->problem, info, t, w, obs, action);
            status = ds_evaluator_lanes_step(&lanes, &row);
        }
        if (status == DS_OK && loss <= least) {
            least = loss;
            memcpy(best, w, n * sizeof *w);
        }
    }
    return status;
}

DS_SIMPLE_OPTIMIZER("climb", "Random changes of a linear policy.", params, DS_SIMPLE_NEEDS_STEPS, search)
