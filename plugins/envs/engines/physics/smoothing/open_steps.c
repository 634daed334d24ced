/* SPDX-License-Identifier: Apache-2.0 */
/* open_steps.c - open-loop environments step by step, and linear models of their steps (see rollout.h). */
#include "rollout.h"

#include "engines/kit/linear_model.h"

#include <math.h>
#include <string.h>

/* ---- stepwise control ---- */

/* The episode of the present lane, which becomes the last one of o->roll. */
static open_episode *enter(open_loop *o)
{
    open_episode *ep = &o->episode[o->kit.lane];
    o->roll.x = ep->x;
    o->roll.u = ep->u;
    return ep;
}

ds_status open_loop_begin(void *self, uint64_t noise_key)
{
    open_loop *o = self;
    (void)noise_key;
    enter(o)->running = 0;
    rollout_begin(&o->roll);
    return DS_OK;
}

void open_loop_observe(const void *self, double *obs)
{
    const open_loop *o = self;
    const uint64_t ns = o->roll.system->states;
    memcpy(obs, o->episode[o->kit.lane].x + o->kit.next * ns, ns * sizeof *obs);
}

ds_status open_loop_act(void *self, uint64_t k, ds_step *io)
{
    open_loop *o = self;
    open_episode *ep = enter(o);
    const double cost = rollout_advance(&o->roll, k, io->action);
    const double *x = open_loop_state(o, k + 1);
    ep->running += cost;
    io->reward = -cost;
    io->outcome = isfinite(cost) ? DS_EVAL_OK : DS_EVAL_DIVERGED;
    for (uint64_t i = 0; i < o->roll.system->states; i++) {
        io->outcome = isfinite(x[i]) ? io->outcome : DS_EVAL_DIVERGED;
    }
    if (k + 1 == o->kit.steps && io->outcome == DS_EVAL_OK) {
        const double end = rollout_cost(&o->roll, k + 1), term = o->term != NULL ? o->term(o) : 0;
        io->reward -= end + term;
        io->loss = ep->running + end + term;
        io->outcome = isfinite(io->loss) ? DS_EVAL_OK : DS_EVAL_DIVERGED;
    }
    io->cost_steps = 1;
    return DS_OK;
}

int open_loop_differentiable(const void *self)
{
    return ((const open_loop *)self)->kit.grad_kind == DS_GRAD_ADJOINT;
}

ds_status open_loop_back_begin(void *self, uint64_t last)
{
    open_loop *o = self;
    open_episode *ep = enter(o);
    (void)last;
    ep->end_bar = 0;
    memset(ep->bar, 0, sizeof ep->bar);
    return DS_OK;
}

/* Adds end_bar times the derivatives of `term` by state t to the adjoint. */
static void add_term(open_loop *o, double end_bar, uint64_t t)
{
    const uint64_t ns = o->roll.system->states;
    const double *bar = o->term_back != NULL && end_bar != 0 ? o->term_back(o) + t * ns : NULL;
    for (uint64_t i = 0; bar != NULL && i < ns; i++) {
        o->roll.bar[i] += end_bar * bar[i];
    }
}

ds_status open_loop_back(void *self, ds_back *io)
{
    open_loop *o = self;
    rollout *r = &o->roll;
    open_episode *ep = enter(o);
    const uint64_t ns = r->system->states, k = io->step;
    for (uint64_t i = 0; i < ns; i++) {
        r->bar[i] = ep->bar[i] + io->obs_bar[i];
    }
    if (k + 1 == o->kit.steps) {
        const double *x = open_loop_state(o, k + 1);
        ep->end_bar = -io->reward_bar;
        for (uint64_t i = 0; i < ns; i++) {
            r->bar[i] += ep->end_bar * 2 * r->qd[i] * (x[i] - r->goal[i]);
        }
        add_term(o, ep->end_bar, k + 1);
    }
    rollout_back_step(r, k, -io->reward_bar, io->action_bar);
    add_term(o, ep->end_bar, k);
    memcpy(ep->bar, r->bar, ns * sizeof *r->bar);
    io->cost_steps = 1;
    return DS_OK;
}

/* ---- linear models ---- */

/* Their controls are all variables, so not with networks. */
uint64_t open_loop_channels(const void *self)
{
    return ((const open_loop *)self)->kit.hybrid.nets == 0 ? MODEL_CHANNELS : 0;
}

void open_loop_channel(const void *self, uint64_t i, ds_channel *out)
{
    const open_loop *o = self;
    linear_model_describe(i, o->roll.steps, o->roll.system->states, o->roll.system->controls, out);
}

/* Writes the Jacobians of step t to o->model: n x n, then n x m. */
static void linearise(open_loop *o, uint64_t t)
{
    rollout *r = &o->roll;
    const uint64_t ns = r->system->states, nu = r->system->controls;
    memset(o->model, 0, ns * (ns + nu) * sizeof *o->model);
    memset(r->bar, 0, ns * sizeof *r->bar);
    for (uint64_t i = 0; i < ns; i++) {
        r->bar[i] = 1;
        r->system->back(r->self, r->x + t * ns, r->u + t * nu, r->bar, o->model + i * ns,
                        o->model + ns * ns + i * nu);
        r->bar[i] = 0;
    }
}

/* Derivatives of the cost of step t, or of the last state, of order 1 or 2. */
static void cost_of(const rollout *r, uint64_t t, int order, double *out)
{
    const uint64_t ns = r->system->states, nu = r->system->controls;
    const double *weight = t < r->steps ? r->q : r->qd;
    for (uint64_t i = 0; i < ns; i++) {
        out[i] = 2 * weight[i] * (order == 1 ? r->x[t * ns + i] - r->goal[i] : 1);
    }
    for (uint64_t i = 0; i < nu; i++) {
        out[ns + i] = t < r->steps ? 2 * r->r[i] * (order == 1 ? r->u[t * nu + i] : 1) : 0;
    }
}

ds_status open_loop_answer(void *self, ds_eval *io, ds_eval_query *ask)
{
    open_loop *o = self;
    const rollout *r = &o->roll;
    const uint64_t ns = r->system->states, nu = r->system->controls, T = r->steps;
    double *out = ask->out;
    (void)io;
    for (uint64_t t = 0; t <= T && ask->channel >= MODEL_COST_GRADIENT; t++) {
        cost_of(r, t, ask->channel == MODEL_COST_GRADIENT ? 1 : 2, out + t * (ns + nu));
    }
    if (ask->channel == MODEL_STATE) {
        memcpy(out, r->x, (T + 1) * ns * sizeof *out);
    }
    for (uint64_t t = 0;
         t < T && (ask->channel == MODEL_STATE_JACOBIAN || ask->channel == MODEL_CONTROL_JACOBIAN); t++) {
        linearise(o, t);
        if (ask->channel == MODEL_STATE_JACOBIAN) {
            memcpy(out + t * ns * ns, o->model, ns * ns * sizeof *out);
        } else {
            memcpy(out + t * ns * nu, o->model + ns * ns, ns * nu * sizeof *out);
        }
    }
    ask->kind = DS_GRAD_NONE;
    return DS_OK;
}
