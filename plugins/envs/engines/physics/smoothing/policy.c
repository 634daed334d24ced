/* SPDX-License-Identifier: Apache-2.0 */
/* policy.c - environments of a noisy linear policy, and its score, see policy.h. */
#include "policy.h"

#include <string.h>

const char *const policy_starts[] = {"fixed", "random", NULL};

void policy_read(policy *p, ds_param_reader *in, const rollout_system *system, uint64_t steps, double dt,
                 void (*draw)(const void *self, ds_random *random, double *start))
{
    p->limit = ds_param_real(in, "limit");
    p->sigma = p->sigma_now = ds_param_real(in, "sigma");
    p->random_start = (int)ds_param_int(in, "begin");
    p->draw = draw;
    rollout_open(&p->roll, &p->kit.memory, system, p, steps);
    p->roll.host = in->host;
    p->noise = ds_memory_doubles(&p->kit.memory, steps * system->controls);
    p->usual = ds_memory_doubles(&p->kit.memory, system->states);
    p->kit.n = system->states * system->controls;
    p->kit.steps = steps;
    p->kit.dt = dt;
}

void policy_range(const void *self, uint64_t i, double *lower, double *upper, double *start)
{
    const policy *p = self;
    (void)i;
    *lower = -p->limit;
    *upper = p->limit;
    *start = 0;
}

void policy_variable(const void *self, uint64_t i, ds_env_variable *out)
{
    const policy *p = self;
    const uint64_t ns = p->roll.system->states;
    ds_env_variable_put(out->name, "gain.%u.%u", (unsigned)(i / ns), (unsigned)(i % ns));
    ds_env_variable_put(out->group, "gain");
}

/* Start and noise of a key; without one the usual start, and no noise. */
static const double *draw(policy *p, uint64_t key)
{
    rollout *r = &p->roll;
    const uint64_t numbers = r->steps * r->system->controls;
    memcpy(r->start, p->usual, r->system->states * sizeof *r->start);
    if (key == 0) {
        return NULL;
    }
    ds_random random = ds_random_open(key, "action", 0), begin = ds_random_open(key, "start", 0);
    for (uint64_t i = 0; i < numbers; i++) {
        p->noise[i] = p->sigma_now * ds_random_normal(&random);
    }
    if (p->random_start) {
        p->draw(p, &begin, r->start);
    }
    return p->noise;
}

ds_status policy_simulate(void *self, ds_eval *io)
{
    policy *p = self;
    const double *noise = draw(p, io->noise_key);
    io->loss = rollout_follow(&p->roll, io->x, noise);
    return p->roll.stopped ? DS_STOPPED : DS_OK;
}

int64_t policy_bad_step(void *self, ds_eval *io)
{
    const policy *p = self;
    (void)io;
    return rollout_bad_step(&p->roll);
}

ds_status policy_adjoint(void *self, ds_eval *io)
{
    policy *p = self;
    rollout_follow_back(&p->roll, io->x, io->grad);
    return p->roll.stopped ? DS_STOPPED : DS_OK;
}

/* ---- score ---- */

static ds_status score_info(void *self, ds_score_info *out)
{
    const policy *p = self;
    out->noise = p->roll.steps * p->roll.system->controls;
    out->action = p->roll.system->controls;
    out->sigma = p->sigma;
    return DS_OK;
}

/* The loss of the same start without noise. */
static double baseline(policy *p, const ds_eval *io)
{
    draw(p, io->noise_key);
    const double loss = rollout_follow(&p->roll, io->x, NULL);
    return isfinite(loss) ? loss : (double)INFINITY;
}

/* One episode, whose row is `io`. */
static ds_status score_episode(void *self, ds_eval *io, ds_score *ask)
{
    policy *p = self;
    const uint64_t numbers = p->roll.steps * p->roll.system->controls;
    if (!(ask->sigma >= 0 && isfinite(ask->sigma))) {
        return ds_host_fail(p->kit.host, DS_E_ARG, "sigma = %g of a score: give a positive number, or 0",
                            ask->sigma);
    }
    const int twice = (ask->flags & DS_SCORE_BASELINE) != 0;
    ask->baseline = twice ? baseline(p, io) : (double)NAN;
    if (twice && p->roll.stopped) {
        return DS_STOPPED;
    }
    p->sigma_now = ask->sigma > 0 ? ask->sigma : p->sigma;
    const ds_status status = ds_env_kit_evaluate(p->kit.env, self, io);
    p->sigma_now = p->sigma;
    io->cost_steps += twice ? p->roll.steps : 0;
    memset(ask->score, 0, p->kit.n * sizeof *ask->score);
    if (ask->noise != NULL) {
        memset(ask->noise, 0, numbers * sizeof *ask->noise);
    }
    if (status == DS_OK && io->noise_key != 0 && io->outcome <= DS_EVAL_BAD_GRAD) {
        rollout_score(&p->roll, p->noise, ask->score);
        if (ask->noise != NULL) {
            memcpy(ask->noise, p->noise, numbers * sizeof *ask->noise);
        }
    }
    return status;
}

static ds_status score_evaluate(void *self, const ds_rows *rows, const ds_results *results, ds_score *ask)
{
    ds_eval_query query[DS_MAX_QUERIES], *list[DS_MAX_QUERIES];
    ds_eval io = ds_eval_row(rows, results, 0, query, list);
    const ds_status status = score_episode(self, &io, ask);
    ds_eval_store(&io, results, 0);
    return status;
}

static const ds_env_score score = {
    .struct_size = sizeof score, .info = score_info, .evaluate = score_evaluate};

const void *policy_extension(const void *self, const char *id)
{
    (void)self;
    return strcmp(id, DS_EXT_SCORE) == 0 ? &score : NULL;
}
