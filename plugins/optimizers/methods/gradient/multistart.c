/* SPDX-License-Identifier: Apache-2.0 */
/* multistart.c - local searches from random starts, several in step, see multistart.h. */
#include "methods/gradient/multistart.h"

#include "methods/base/box.h"

#include <diffsim/helper/fail.h>
#include <diffsim/random.h>
#include <stdlib.h>
#include <string.h>

ds_status multistart_init(multistart *m, ds_param_reader *in, const ds_problem *problem)
{
    memset(m, 0, sizeof(*m));
    m->host = in->host;
    m->n = (size_t)problem->n;
    m->arms = (size_t)ds_param_int(in, "arms");
    m->use_x0 = ds_param_int(in, "use_x0") != 0;
    if (in->status != DS_OK) {
        return in->status;
    }
    m->v = calloc(m->arms * (2 * m->n + 1) + m->n, sizeof(double));
    m->number = calloc(m->arms, sizeof(*m->number));
    m->fresh = calloc(m->arms, sizeof(*m->fresh));
    m->outcome = calloc(m->arms, sizeof(*m->outcome));
    if (!evaluator_init(&m->evaluator, problem, m->arms) || !m->v || !m->number || !m->fresh || !m->outcome) {
        return ds_host_fail(m->host, DS_E_NOMEM, "out of memory: lower arms");
    }
    m->gradient = m->v + m->arms * m->n;
    m->loss = m->gradient + m->arms * m->n;
    m->start = m->loss + m->arms;
    return DS_OK;
}

void multistart_free(multistart *m)
{
    evaluator_free(&m->evaluator);
    free(m->v);
    free(m->number);
    free(m->fresh);
    free(m->outcome);
}

static void begin_search(multistart *m, size_t arm, const local_search *search, void *self)
{
    const ds_problem *p = m->evaluator.problem;
    if (m->use_x0 && m->starts == 0) {
        box_v_from_x(m->n, p->lower, p->upper, p->x0, m->start);
    }
    m->number[arm] = ++m->starts;
    m->fresh[arm] = 1;
    ds_random rng = ds_random_open(m->host->seed, "start", m->starts);
    for (size_t k = 0; k < m->n; k++) {
        double drawn = 2.0 * ds_random_uniform(&rng) - 1.0;
        m->start[k] = m->use_x0 && m->starts == 1 ? m->start[k] : drawn;
    }
    search->begin(self, arm, m->start);
}

/* Simulates the next point of every arm in one batch. */
static ds_status simulate_arms(multistart *m, const local_search *search, void *self, size_t *done)
{
    batch_label label = {"init", m->starts};
    for (size_t arm = 0; arm < m->arms; arm++) {
        memcpy(m->v + arm * m->n, search->point(self, arm), m->n * sizeof(double));
        if (!m->fresh[arm]) {
            label.tag = "descent";
        }
        if (m->number[arm] < label.group) {
            label.group = m->number[arm];
        }
        m->fresh[arm] = 0;
    }
    return evaluator_run(&m->evaluator, label, m->arms, m->v, m->loss, m->gradient, m->outcome, done);
}

ds_status multistart_run(multistart *m, const ds_objective *objective, const local_search *search, void *self)
{
    ds_status status = DS_OK;
    m->evaluator.objective = objective;
    for (size_t arm = 0; arm < m->arms; arm++) {
        begin_search(m, arm, search, self);
    }
    while (status == DS_OK) {
        size_t done;
        status = simulate_arms(m, search, self, &done);
        for (size_t arm = 0; status == DS_OK && arm < m->arms; arm++) {
            if (!search->tell(self, arm, m->loss[arm], m->gradient + arm * m->n, m->outcome[arm])) {
                begin_search(m, arm, search, self);
            }
        }
        if (status == DS_OK && m->host->should_stop(m->host)) {
            status = DS_STOPPED;
        }
    }
    return status;
}

ds_status multistart_need_gradient(const ds_host *host, const ds_problem *problem, const char *name)
{
    if (problem->has_gradient) {
        return DS_OK;
    }
    return ds_host_fail(
        host, DS_E_UNSUPPORTED,
        "%.60s needs gradients and this environment has none: choose another optimizer, for example cmaes",
        name);
}
