/* SPDX-License-Identifier: Apache-2.0 */
/* rl_worker.c - steps of episodes in a worker, see rl_worker.h. */
#include "config.h"

#include "worker/rl_worker.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int prepare(ds_worker_lanes *l, ds_ring *share, ds_episode *ep, ds_env *own, ds_make_instance *make,
                   void *ctx, ds_error *e)
{
    if (l->x == NULL) {
        l->x = malloc(share->n * sizeof(double));
        l->obs = malloc(own->rl_info.n_obs * sizeof(double));
    }
    if (l->x == NULL || l->obs == NULL) {
        return ds_fail(e, DS_EXIT_MEMORY, "out of memory");
    }
    if (ep->env != NULL) {
        return 0;
    }
    for (size_t i = 0; i < DS_EPISODE_LANES; i++) {
        if (l->lane[i].env == own) {
            int rc = make(ctx, &ep->env, e);
            if (rc == 0) {
                ep->env->services.stop = &share->stop;
            }
            return rc;
        }
    }
    ep->env = own;
    return 0;
}

void ds_worker_step(ds_worker_lanes *l, ds_ring *share, ds_slot *slot, ds_env *own, ds_make_instance *make,
                    void *ctx)
{
    ds_episode *ep = &l->lane[(slot->ask.episode - 1) % DS_EPISODE_LANES];
    double *head = ds_slot_extra(share, slot);
    uint64_t step = (uint64_t)head[DS_SLOT_STEP];
    ds_episode_answer out;
    ds_error e = {0, ""};
    if (own->rl == NULL || step > own->rl_info.horizon || prepare(l, share, ep, own, make, ctx, &e) != 0) {
        slot->answer = (ds_answer){.loss = INFINITY, .outcome = DS_EVAL_ERROR, .bad_step = -1};
        snprintf(slot->answer.message, sizeof(slot->answer.message), "%.199s", e.text);
        return;
    }
    memcpy(l->x, ds_slot_x(slot), step * own->rl_info.n_act * sizeof(double));
    ds_episode_advance(ep, slot->ask.noise_key, step, l->x, l->obs, &out);
    if (out.answer.outcome == DS_EVAL_STOPPED && atomic_load(&share->stop) == 0) {
        out.answer.outcome = DS_EVAL_INVALID;
        strcpy(out.answer.message, "step() returned DS_STOPPED though nobody asked to stop");
    }
    slot->answer = out.answer;
    head[DS_SLOT_REWARD] = out.reward;
    head[DS_SLOT_ENDED] = out.ended;
    if (out.answer.outcome == DS_EVAL_OK) {
        memcpy(head + DS_SLOT_STEP_HEAD, l->obs, own->rl_info.n_obs * sizeof(double));
    }
}

void ds_worker_lanes_close(ds_worker_lanes *l, const ds_env *own)
{
    for (size_t i = 0; i < DS_EPISODE_LANES; i++) {
        if (l->lane[i].env != own) {
            ds_env_close(l->lane[i].env);
        }
    }
    free(l->x);
    free(l->obs);
}
