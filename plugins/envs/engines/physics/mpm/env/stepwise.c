/* SPDX-License-Identifier: Apache-2.0 */
/* stepwise.c - stepwise control of an episode and its derivatives. The losses are summed in the order of
 * mpm_episode_run(), so that the sum is bit-identical. */
#include "engines/physics/mpm/env/stepwise.h"

#include <diffsim/helper/fail.h>
#include <math.h>
#include <string.h>

/* Output step at which segment k begins. */
static uint32_t mpm_stepwise_begin_of(const mpm_episode *e, uint32_t k)
{
    return (uint32_t)(((uint64_t)k * e->steps + e->segments - 1) / e->segments);
}

const mpm_pose *mpm_stepwise_poses(const mpm_episode *e)
{
    return mpm_episode_poses(e, mpm_stepwise_begin_of(e, e->parts.segment));
}

/* If rewards are decreases of the loss of the present state, after output step `step`, returns that loss; the
 * last one has been computed. */
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
    p->value = result == MPM_OK ? p->value : (double)INFINITY; /* the first step reports it */
    p->open = true;
    return DS_OK;
}

/* Simulates the episode again up to the beginning of segment k; keep: store the data of a sweep. Adds to
 * parts.cost. */
static mpm_result mpm_stepwise_again(mpm_episode *e, uint32_t k, bool keep)
{
    mpm_parts *p = &e->parts;
    mpm_outcome out;
    uint32_t to = mpm_stepwise_begin_of(e, k);
    mpm_result result = mpm_episode_begin(e, keep, &out);
    result = result == MPM_OK && to > 0 ? mpm_episode_advance(e, p->x, 0, to, keep, &out) : result;
    p->kept = keep && result == MPM_OK;
    p->turned = result != MPM_OK; /* an incomplete repetition is unusable */
    p->cost += out.cost;
    return result;
}

/* Simulates the segment whose action is stored; *value is the base of the next reward. */
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
    if (from == to) { /* with more segments than steps, this one is empty */
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

/* ---- derivatives ---- */

static ds_status status_of(const mpm_episode *e, const ds_host *host, mpm_result result)
{
    switch (result) {
    case MPM_OK:
        return DS_OK;
    case MPM_STOPPED:
        return DS_STOPPED;
    case MPM_NO_MEMORY:
        return ds_host_fail(host, DS_E_NOMEM, "no memory for the derivatives of %u particles",
                            e->sim.n_particles);
    default: /* what succeeded once cannot fail the second time */
        return ds_host_fail(host, DS_E_STATE, "the episode diverged when it was simulated again");
    }
}

ds_status mpm_sweep_begin(mpm_episode *e, const ds_host *host, uint64_t last)
{
    mpm_parts *p = &e->parts;
    mpm_result result = MPM_OK;
    p->wanted = true;
    p->cost = 0;
    p->value_bar = 0.0;
    if (!p->grad) {
        p->grad = ds_memory_doubles(&e->memory, mpm_episode_dim(e));
        result = p->grad ? MPM_OK : MPM_NO_MEMORY;
    }
    if (result == MPM_OK && (!p->kept || p->turned || last != p->segment)) {
        result = mpm_stepwise_again(e, (uint32_t)last, true);
    }
    if (result == MPM_OK) {
        p->turned = true;
        memset(p->pose_bar, 0, sizeof p->pose_bar);
        mpm_episode_turn(e);
    }
    return status_of(e, host, result);
}

/* Adds the derivatives by the state after output step `step` through the observation (NULL: none) and through
 * the loss (times `scale`). */
static mpm_result add_state(mpm_episode *e, uint32_t step, double scale, const double *obs_bar,
                            mpm_observe_adjoint *observed, const void *self)
{
    mpm_parts *p = &e->parts;
    mpm_result result = MPM_OK;
    if (scale != 0.0) {
        result = mpm_episode_loss_adjoint(e, step, scale, e->loss_bar, p->pose_bar);
    } else if (obs_bar) {
        memset(e->loss_bar, 0, e->sim.n_particles * sizeof *e->loss_bar);
    } else {
        return MPM_OK;
    }
    if (result == MPM_OK && obs_bar) {
        if (e->fast) {
            mpm_fast_open_bar(e->fast);
        }
        observed(self, obs_bar, e->loss_bar, p->pose_bar);
    }
    if (result == MPM_OK) {
        mpm_episode_add_bar(e, e->loss_bar);
    }
    return result;
}

static bool any(const double *values, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        if (values[i] != 0.0) {
            return true;
        }
    }
    return false;
}

ds_status mpm_sweep_back(mpm_episode *e, const ds_host *host, ds_back *io, mpm_observe_adjoint *observed,
                         const void *self)
{
    mpm_parts *p = &e->parts;
    const uint32_t k = (uint32_t)io->step, from = mpm_stepwise_begin_of(e, k),
                   to = mpm_stepwise_begin_of(e, k + 1);
    const bool final = e->loss_mode == MPM_LOSS_FINAL;
    const double *obs_bar = any(io->obs_bar, p->n_obs) ? io->obs_bar : NULL;
    mpm_outcome out = {0.0, -1, 0};
    mpm_result result = MPM_OK;
    memset(p->grad, 0, mpm_episode_dim(e) * sizeof *p->grad);
    if (from == to && obs_bar) { /* a segment without steps: its observation is that of the state */
        result = to > 0 ? add_state(e, to, 0.0, obs_bar, observed, self) : MPM_OK;
    }
    for (uint32_t step = to; step > from && result == MPM_OK; step--) {
        double scale = 0.0;
        if (final) { /* the reward: the loss of the state before the segment minus the loss after it */
            scale = step == to ? p->value_bar - io->reward_bar : 0.0;
        } else if (mpm_episode_counts(e, step)) {
            scale = -io->reward_bar;
        }
        result = add_state(e, step, scale, step == to ? obs_bar : NULL, observed, self);
        if (result == MPM_OK) {
            result = mpm_episode_retreat(e, p->x, step - 1, p->pose_bar, p->grad, &out);
        }
    }
    p->value_bar = final && from < to ? io->reward_bar : p->value_bar;
    memcpy(io->action_bar, p->grad + (size_t)k * e->action_dim, e->action_dim * sizeof *io->action_bar);
    io->cost_steps = p->cost + out.cost;
    p->cost = 0;
    return status_of(e, host, result);
}
