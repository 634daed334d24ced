/* SPDX-License-Identifier: Apache-2.0 */
/* open_loop.c - environments whose variables are all controls of a rollout, see open_loop.h. */
#include "open_loop.h"

#include <string.h>

void open_loop_read(open_loop *o, ds_param_reader *in, const rollout_system *system,
                    const open_loop_usual *usual)
{
    const uint64_t ns = system->states, nu = system->controls;
    const uint64_t steps = (uint64_t)ds_param_int(in, "steps");
    o->h = usual->h;
    ds_param_values(in, "h", 1, &o->h);
    o->limit = ds_param_real(in, "limit");
    o->guess = usual->guess;
    ds_param_values(in, "guess", 1, &o->guess);
    rollout *r = &o->roll;
    rollout_open(r, &o->kit.memory, system, o, steps > 0 ? steps : usual->steps);
    r->host = in->host;
    o->kit.steps = r->steps;
    o->kit.n = r->steps * nu;
    o->kit.dt = o->h;
    if (in->status != DS_OK || o->kit.memory.failed) {
        return;
    }
    memcpy(r->start, usual->start, ns * sizeof *r->start);
    memcpy(r->goal, usual->goal, ns * sizeof *r->goal);
    memcpy(r->q, usual->q, ns * sizeof *r->q);
    memcpy(r->qd, usual->qd, ns * sizeof *r->qd);
    memcpy(r->r, usual->r, nu * sizeof *r->r);
    ds_param_values(in, "start", ns, r->start);
    ds_param_values(in, "goal", ns, r->goal);
    ds_param_values(in, "q", ns, r->q);
    ds_param_values(in, "qd", ns, r->qd);
    ds_param_values(in, "r", nu, r->r);
}

void open_loop_range(const void *self, uint64_t i, double *lower, double *upper, double *start)
{
    const open_loop *o = self;
    (void)i;
    *lower = -o->limit;
    *upper = o->limit;
    *start = fmin(fmax(o->guess, -o->limit), o->limit);
}

void open_loop_variable(const void *self, uint64_t i, ds_env_variable *out)
{
    const open_loop *o = self;
    const uint64_t nu = o->roll.system->controls;
    ds_env_variable_put(out->name, "%s.%u", o->names[i % nu], (unsigned)(i / nu));
    ds_env_variable_put(out->unit, "%s", o->unit);
    ds_env_variable_put(out->group, "%s", o->names[i % nu]);
}

ds_status open_loop_simulate(void *self, ds_eval *io)
{
    open_loop *o = self;
    io->loss = rollout_simulate(&o->roll, io->x);
    return o->roll.stopped ? DS_STOPPED : DS_OK;
}

int64_t open_loop_bad_step(void *self, ds_eval *io)
{
    const open_loop *o = self;
    (void)io;
    return rollout_bad_step(&o->roll);
}

ds_status open_loop_adjoint(void *self, ds_eval *io)
{
    open_loop *o = self;
    rollout_back(&o->roll, NULL, io->grad);
    return o->roll.stopped ? DS_STOPPED : DS_OK;
}

const double *open_loop_state(const open_loop *o, uint64_t t)
{
    return o->roll.x + t * o->roll.system->states;
}

double open_loop_control(const open_loop *o, uint64_t t, uint64_t i)
{
    return t < o->roll.steps ? o->roll.u[t * o->roll.system->controls + i] : (double)NAN;
}
