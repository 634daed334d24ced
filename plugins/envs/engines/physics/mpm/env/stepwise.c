/* SPDX-License-Identifier: Apache-2.0 */
/* Stepwise control of an episode, see stepwise.h. The losses are summed in the order of mpm_episode_run(), so
 * that the sum is the same to the last bit. */
#include "stepwise.h"

#include "evaluate.h"

#include <diffsim/helper/fail.h>
#include <math.h>
#include <string.h>

uint32_t mpm_stepwise_begin_of(const mpm_episode *e, uint32_t k)
{
    return (uint32_t)(((uint64_t)k * e->steps + e->segments - 1) / e->segments);
}

const mpm_pose *mpm_stepwise_poses(const mpm_episode *e)
{
    return mpm_episode_poses(e, mpm_stepwise_begin_of(e, e->parts.segment));
}

/* Loss of the present state, after output step `step`, where that is what the rewards are decreases of;
 * the last one has been computed. */
static mpm_result value_of(mpm_episode *e, uint32_t step, double *value)
{
    *value = e->parts.sum.loss;
    return e->loss_mode == MPM_LOSS_FINAL && step < e->steps ? mpm_episode_loss(e, step, value) : MPM_OK;
}

static ds_status no_memory(const mpm_episode *e, const ds_host *host)
{
    return ds_host_fail(host, DS_E_NOMEM, "no memory for an episode of %u particles", e->sim.n_particles);
}

ds_status mpm_stepwise_reset(mpm_episode *e, const ds_host *host, uint64_t n_obs)
{
    mpm_parts *p = &e->parts;
    p->open = false;
    if (!p->x) {
        p->x = ds_memory_doubles(&e->memory, mpm_episode_dim(e));
    }
    mpm_result result = p->x ? mpm_episode_begin(e, p->wanted, &p->sum) : MPM_NO_MEMORY;
    p->segment = 0;
    p->n_obs = n_obs;
    p->kept = p->wanted;
    p->turned = false;
    result = result == MPM_OK ? value_of(e, 0, &p->value) : result;
    if (result == MPM_NO_MEMORY) {
        return no_memory(e, host);
    }
    p->value = result == MPM_OK ? p->value : (double)INFINITY; /* the first step says so */
    p->open = true;
    return DS_OK;
}

mpm_result mpm_stepwise_again(mpm_episode *e, uint32_t k, bool keep)
{
    mpm_parts *p = &e->parts;
    mpm_outcome out;
    uint32_t to = mpm_stepwise_begin_of(e, k);
    mpm_result result = mpm_episode_begin(e, keep, &out);
    result = result == MPM_OK && to > 0 ? mpm_episode_advance(e, p->x, 0, to, keep, &out) : result;
    p->kept = keep && result == MPM_OK;
    p->turned = result != MPM_OK; /* half a repetition is none */
    p->cost += out.cost;
    return result;
}

/* Simulates the segment whose action is in place; *value is what the next reward is to be measured from. */
static mpm_result simulate(mpm_episode *e, double *value)
{
    mpm_parts *p = &e->parts;
    uint32_t from = mpm_stepwise_begin_of(e, p->segment), to = mpm_stepwise_begin_of(e, p->segment + 1);
    *value = p->value;
    if (!isfinite(p->value)) {
        return MPM_DIVERGED;
    }
    const bool again = p->turned;
    mpm_result result = again ? mpm_stepwise_again(e, p->segment, true) : MPM_OK;
    if (from == to) { /* more segments than steps: this one has none */
        return result == MPM_OK && again ? mpm_episode_state(e) : result;
    }
    result = result == MPM_OK ? mpm_episode_advance(e, p->x, from, to, p->kept, &p->sum) : result;
    if (result == MPM_OK) {
        result = value_of(e, to, value);
    }
    if (result == MPM_OK) {
        result = mpm_episode_state(e);
    }
    return result == MPM_OK && !isfinite(*value) ? MPM_DIVERGED : result;
}

ds_status mpm_stepwise_act(mpm_episode *e, const ds_host *host, ds_step *io)
{
    mpm_parts *p = &e->parts;
    double value = 0.0;
    if (!p->open) {
        return DS_E_STATE;
    }
    if (!mpm_env_finite(e->action_dim, io->action)) {
        return ds_host_fail(host, DS_E_ARG, "an action must hold %u finite numbers", e->action_dim);
    }
    memcpy(p->x + (size_t)p->segment * e->action_dim, io->action, e->action_dim * sizeof *p->x);
    uint64_t cost = p->sum.cost;
    mpm_result result = simulate(e, &value);
    bool good = result == MPM_OK;
    p->segment++;
    io->outcome = good ? DS_EVAL_OK : DS_EVAL_DIVERGED;
    if (result == MPM_DIVERGED) {
        mpm_env_say_diverged(host, mpm_stepwise_begin_of(e, p->segment));
    }
    p->open = good && p->segment < e->segments;
    io->ended = p->open ? DS_STEPS_CONTINUES : DS_STEPS_TERMINATED;
    io->reward = good ? p->value - value : 0.0;
    io->loss = !good ? (double)INFINITY : p->open ? 0.0 : p->sum.loss;
    io->cost_steps = p->sum.cost - cost + p->cost;
    p->cost = 0;
    p->value = value;
    return result == MPM_STOPPED ? DS_STOPPED : result == MPM_NO_MEMORY ? no_memory(e, host) : DS_OK;
}
