/* SPDX-License-Identifier: Apache-2.0 */
/* Derivatives of stepwise control, see sweep.h. */
#include "sweep.h"

#include "stepwise.h"

#include <diffsim/helper/fail.h>
#include <string.h>

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
    default: /* what has been simulated once cannot fail the second time */
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

/* What the state after output step `step` is asked for beside what came back to it: through the observation
 * (NULL: there is none), through the loss (times `scale`). */
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
        if (final) { /* the reward: the loss of the state before the segment minus that of the one after it */
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
