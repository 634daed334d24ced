/* SPDX-License-Identifier: Apache-2.0 */
/* An evaluation as an episode, see evaluate.h. */
#include "evaluate.h"

#include <diffsim/helper/fail.h>
#include <math.h>
#include <string.h>

uint32_t mpm_env_should_stop(const void *context)
{
    const ds_host *host = context;
    return host->should_stop(host);
}

bool mpm_env_finite(uint64_t n, const double *values)
{
    for (uint64_t i = 0; i < n; i++) {
        if (!isfinite(values[i])) {
            return false;
        }
    }
    return true;
}

void mpm_env_say_diverged(const ds_host *host, int64_t step)
{
    ds_host_fail(
        host, DS_OK,
        "in output step %lld a particle leaves the grid, or the loss is not finite: move the tools less",
        (long long)step);
}

ds_status mpm_env_episode(mpm_episode *e, const ds_host *host, ds_eval *io, mpm_step_hook *hook,
                          void *context)
{
    bool grad = (io->want & DS_WANT_GRAD) != 0;
    if (io->n != mpm_episode_dim(e) || !mpm_env_finite(io->n, io->x)) {
        return ds_host_fail(host, DS_E_ARG, "x must hold %u finite numbers", mpm_episode_dim(e));
    }
    mpm_outcome outcome;
    mpm_result result = mpm_episode_run(e, io->x, grad ? io->grad : NULL, hook, context, &outcome);
    if (result == MPM_STOPPED) {
        return DS_STOPPED;
    }
    if (result == MPM_NO_MEMORY) {
        return ds_host_fail(host, DS_E_NOMEM, "no memory for %u particles over %u steps%s: lower one of them",
                            e->sim.n_particles, e->steps, grad ? " with gradient" : "");
    }
    io->loss = outcome.loss;
    io->outcome = DS_EVAL_OK;
    io->grad_kind = grad ? DS_GRAD_ADJOINT : DS_GRAD_NONE;
    io->bad_step = -1;
    io->cost_steps = outcome.cost;
    if (result == MPM_DIVERGED) {
        io->loss = INFINITY;
        io->outcome = DS_EVAL_DIVERGED;
        io->bad_step = outcome.bad_step;
        mpm_env_say_diverged(host, outcome.bad_step);
    } else if (grad && !mpm_env_finite(io->n, io->grad)) {
        io->outcome = DS_EVAL_BAD_GRAD;
    }
    if (grad && io->outcome != DS_EVAL_OK) {
        memset(io->grad, 0, io->n * sizeof(double));
    }
    return DS_OK;
}
