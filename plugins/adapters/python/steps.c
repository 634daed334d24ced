/* SPDX-License-Identifier: Apache-2.0 */
/* steps.c - stepwise control of an environment whose reset() and step() are Python: actions go into the
 * shared memory, observations follow them there. */
#include <diffsim/helper/fail.h>
#include <string.h>

#include "adapters/python/environment.h"

static const char *observed(const python_env *p)
{
    return p->child.talk.room + p->steps.n_act * sizeof(double);
}

static ds_status steps_info(void *self, ds_steps_info *out)
{
    const python_env *p = self;
    ds_steps_info all = p->steps;
    all.struct_size = out->struct_size;
    memcpy(out, &all, out->struct_size < sizeof all ? out->struct_size : sizeof all);
    return DS_OK;
}

static ds_status begin_one(void *self, uint64_t lane, uint64_t noise_key, double *obs)
{
    python_env *p = self;
    (void)lane; /* an instance holds one episode */
    picture_clear(&p->picture);
    p->open = 0;
    ds_status st = child_settle(&p->child, p->host);
    if (st != DS_OK) {
        return st;
    }
    p->child.talk.head->key = noise_key;
    st = child_ask(&p->child, p->host, TALK_RESET);
    if (st != DS_OK) {
        return st > 0 ? st : ds_host_fail(p->host, st, "%.500s", p->child.talk.head->text);
    }
    memcpy(obs, observed(p), p->steps.n_obs * sizeof *obs);
    p->open = 1;
    return DS_OK;
}

static ds_status step_one(void *self, uint64_t lane, ds_step *io)
{
    python_env *p = self;
    (void)lane;
    talk_head *h = p->child.talk.head;
    if (!p->open) {
        return ds_host_fail(p->host, DS_E_STATE, "step() without an episode: reset() begins one");
    }
    p->open = 0;
    ds_status st = child_settle(&p->child, p->host);
    if (st != DS_OK) {
        return st;
    }
    memcpy(p->child.talk.room, io->action, p->steps.n_act * sizeof *io->action);
    st = child_ask(&p->child, p->host, TALK_STEP);
    if (st != DS_OK) {
        return st > 0 ? st : ds_host_fail(p->host, st, "%.500s", h->text);
    }
    io->outcome = h->outcome;
    io->ended = h->ended;
    io->reward = h->reward;
    io->loss = h->loss;
    io->cost_steps = 1;
    if (h->outcome != DS_EVAL_OK) {
        p->host->error(p->host, DS_E_NUMERIC, h->text);
        return DS_OK;
    }
    memcpy(io->obs, observed(p), p->steps.n_obs * sizeof *io->obs);
    p->open = h->ended == DS_STEPS_CONTINUES;
    return DS_OK;
}

static ds_status steps_begin(void *self, const ds_step_rows *rows, const ds_step_results *results)
{
    return ds_step_begin_each(self, rows, results, ((const python_env *)self)->steps.n_obs, begin_one);
}

static ds_status steps_step(void *self, const ds_step_rows *rows, const ds_step_results *results)
{
    const python_env *p = self;
    return ds_step_each(self, rows, results, p->steps.n_act, p->steps.n_obs, step_one);
}

const ds_env_steps python_env_steps = {
    .struct_size = sizeof python_env_steps, .info = steps_info, .begin = steps_begin, .step = steps_step};
