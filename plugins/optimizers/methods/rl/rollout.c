/* SPDX-License-Identifier: Apache-2.0 */
/* rollout.c - see rollout.h. */
#include "methods/rl/rollout.h"

#include <string.h>

int rollout_init(rollout *r, size_t rows, size_t lanes, size_t obs, size_t act, size_t most)
{
    memset(r, 0, sizeof *r);
    r->n = obs;
    r->m = act;
    r->obs = ds_memory_take(&r->memory, rows * obs, sizeof(float));
    r->action = ds_memory_take(&r->memory, rows * act, sizeof(float));
    r->mini_obs = ds_memory_take(&r->memory, most * obs, sizeof(float));
    r->mini_action = ds_memory_take(&r->memory, most * act, sizeof(float));
    double **column[] = {&r->log_density, &r->reward, &r->value, &r->advantage, &r->target};
    for (size_t i = 0; i < sizeof column / sizeof column[0]; i++) {
        *column[i] = ds_memory_doubles(&r->memory, rows);
    }
    r->mini = ds_memory_doubles(&r->memory, 4 * most);
    r->segment = ds_memory_take(&r->memory, rows + lanes, sizeof *r->segment);
    r->order = ds_memory_take(&r->memory, rows, sizeof *r->order);
    r->block = ds_memory_take(&r->memory, lanes, sizeof *r->block);
    r->fill = ds_memory_take(&r->memory, lanes, sizeof *r->fill);
    return !r->memory.failed;
}

void rollout_free(rollout *r)
{
    ds_memory_free(&r->memory);
}

void rollout_clear(rollout *r)
{
    r->used = r->segments = 0;
}

void rollout_place(rollout *r, size_t lane, size_t row)
{
    r->block[lane] = row;
    r->fill[lane] = 0;
}

/* Where the next step of a lane is recorded. */
static size_t row_of(const rollout *r, size_t lane)
{
    return r->block[lane] + r->fill[lane];
}

void rollout_action(rollout *r, size_t lane, const float *obs, const float *action, double log_density,
                    double value)
{
    size_t row = row_of(r, lane);
    memcpy(r->obs + row * r->n, obs, r->n * sizeof(float));
    memcpy(r->action + row * r->m, action, r->m * sizeof(float));
    r->log_density[row] = log_density;
    r->value[row] = value;
}

void rollout_reward(rollout *r, size_t lane, double reward)
{
    size_t row = row_of(r, lane);
    r->reward[row] = reward;
    r->order[r->used++] = row;
    r->fill[lane]++;
}

void rollout_close(rollout *r, size_t lane, double last)
{
    if (r->fill[lane] > 0) {
        r->segment[r->segments++] = (rollout_segment){r->block[lane], r->fill[lane], last};
        rollout_place(r, lane, row_of(r, lane));
    }
}

void rollout_estimate(rollout *r, double gamma, double lambda)
{
    for (size_t i = 0; i < r->segments; i++) {
        rollout_segment g = r->segment[i];
        advantage_estimate(g.length, r->reward + g.start, r->value + g.start, g.last, gamma, lambda,
                           r->advantage + g.start, r->target + g.start);
    }
}

void rollout_shuffle(rollout *r, ds_random *random)
{
    for (size_t i = r->used; i > 1; i--) {
        size_t k = (size_t)ds_random_below(random, i), swap = r->order[k];
        r->order[k] = r->order[i - 1];
        r->order[i - 1] = swap;
    }
}

ppo_minibatch rollout_take(rollout *r, size_t at, size_t most)
{
    size_t count = r->used - at < most ? r->used - at : most;
    double *density = r->mini, *advantage = density + count, *target = advantage + count,
           *value = target + count;
    for (size_t i = 0; i < count; i++) {
        size_t row = r->order[at + i];
        memcpy(r->mini_obs + i * r->n, r->obs + row * r->n, r->n * sizeof(float));
        memcpy(r->mini_action + i * r->m, r->action + row * r->m, r->m * sizeof(float));
        density[i] = r->log_density[row];
        advantage[i] = r->advantage[row];
        target[i] = r->target[row];
        value[i] = r->value[row];
    }
    return (ppo_minibatch){count, r->mini_obs, r->mini_action, density, advantage, target, value};
}
