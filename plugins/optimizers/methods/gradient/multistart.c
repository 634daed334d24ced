/* SPDX-License-Identifier: Apache-2.0 */
/* multistart.c - local searches from random starts, several in step, see multistart.h. */
#include "methods/gradient/multistart.h"

#include <math.h>
#include <string.h>

void multistart_read(multistart *m, ds_param_reader *in, const local_search *search)
{
    m->search = search;
    m->arms = (size_t)ds_param_int(in, "arms");
}

int multistart_allocate(multistart *m)
{
    ds_memory *own = &m->kit.memory;
    m->v = ds_memory_doubles(own, m->arms * m->kit.n);
    m->gradient = ds_memory_doubles(own, m->arms * m->kit.n);
    m->loss = ds_memory_doubles(own, m->arms);
    m->start = ds_memory_doubles(own, m->kit.n);
    m->number = ds_memory_take(own, m->arms, sizeof *m->number);
    m->fresh = ds_memory_take(own, m->arms, sizeof *m->fresh);
    m->outcome = ds_memory_take(own, m->arms, sizeof *m->outcome);
    return ds_opt_kit_rows(&m->kit, m->arms) && !own->failed;
}

static void begin_search(multistart *m, size_t arm)
{
    m->number[arm] = ++m->starts;
    m->fresh[arm] = 1;
    ds_opt_kit_start(&m->kit, m->starts, m->start);
    m->search->begin(m, arm, m->start);
}

/* Reports the mean length of the steps from the last points to the next ones, where the box is [-1, 1], and
 * how many searches have begun. */
static ds_status report(multistart *m)
{
    static const char *const names[] = {"searches", "step"};
    const size_t n = m->kit.n;
    double sum = 0.0;
    size_t steps = 0;
    for (size_t arm = 0; arm < m->arms; arm++) {
        const double *from = m->v + arm * n, *to = m->search->point(m, arm);
        double squares = 0.0;
        for (size_t k = 0; !m->fresh[arm] && k < n; k++) {
            squares += (to[k] - from[k]) * (to[k] - from[k]);
        }
        sum += sqrt(squares);
        steps += !m->fresh[arm];
    }
    const double values[] = {(double)m->starts, sum / (double)steps};
    return ds_evaluator_report(&m->kit.evaluator, steps > 0 ? 2 : 1, names, values, NULL);
}

/* Simulates the next point of every arm in one batch. */
static ds_status simulate_arms(multistart *m)
{
    size_t n = m->kit.n, done;
    ds_evaluator_label label = {"init", m->starts};
    for (size_t arm = 0; arm < m->arms; arm++) {
        memcpy(m->v + arm * n, m->search->point(m, arm), n * sizeof(double));
        if (!m->fresh[arm]) {
            label.tag = "descent";
        }
        if (m->number[arm] < label.group) {
            label.group = m->number[arm];
        }
        m->fresh[arm] = 0;
    }
    return ds_evaluator_run(&m->kit.evaluator, label, m->arms, m->v, m->loss, m->gradient, m->outcome, &done);
}

ds_status multistart_begin(void *self)
{
    multistart *m = self;
    for (size_t arm = 0; arm < m->arms; arm++) {
        begin_search(m, arm);
    }
    return DS_OK;
}

ds_status multistart_round(void *self)
{
    multistart *m = self;
    ds_status status = report(m);
    status = status != DS_OK ? status : simulate_arms(m);
    for (size_t arm = 0; status == DS_OK && arm < m->arms; arm++) {
        if (!m->search->tell(m, arm, m->loss[arm], m->gradient + arm * m->kit.n, m->outcome[arm])) {
            begin_search(m, arm);
        }
    }
    return status;
}
