/* SPDX-License-Identifier: Apache-2.0 */
/* bayes_search.c - data, best point and refinement of Bayesian optimization, see bayes_search.h. */
#include "methods/bayes/bayes_search.h"

#include "methods/base/own.h"

#include <string.h>

ds_status bayes_check_size(const ds_host *host, size_t n)
{
    return opt_check_size(host, n, "its model holds all points",
                          "cmaes, or with gradients racer, adam or lbfgsb");
}

void bayes_read(bayes_search *b, ds_param_reader *in, const char *share)
{
    double part = ds_param_real(in, share);
    b->refine_from = part > 0.0 ? (int64_t)ceil((1.0 - part) * (double)b->kit.problem->budget) : INT64_MAX;
    b->options = surrogate_read_options(in);
    b->best_loss = b->refined = INFINITY;
}

int bayes_allocate(bayes_search *b, size_t rows, unsigned arms)
{
    ds_opt_kit *kit = &b->kit;
    size_t most = refine_rows(kit->n);
    b->best = ds_memory_doubles(&kit->memory, kit->n);
    b->model = surrogate_create(kit->host, kit->problem, &b->options);
    arms = kit->has_gradient ? arms : 1u << REFINE_SAMPLES;
    if (!refine_suits(kit->n, arms)) { /* the search continues instead */
        b->refine_from = INT64_MAX;
    }
    if (b->refine_from != INT64_MAX) {
        b->refine = refine_create(kit->n, arms, kit->host->seed);
        if (b->refine) {
            refine_know_floor(b->refine, kit->problem->loss_floor);
        }
    }
    return b->best && b->model && (b->refine || b->refine_from == INT64_MAX) &&
           ds_opt_kit_rows(kit, rows > most ? rows : most);
}

void bayes_release(bayes_search *b)
{
    surrogate_destroy(b->model);
    refine_destroy(b->refine);
}

/* A point and its loss enter the model; 0 without memory. */
static int learn(bayes_search *b, const double *v, double loss, int is_start)
{
    b->told++;
    if (!b->is_deaf && !surrogate_add(b->model, 1, v, &loss, is_start)) {
        return 0;
    }
    if (loss < b->best_loss) {
        b->best_loss = loss;
        memcpy(b->best, v, b->kit.n * sizeof(double));
    }
    return 1;
}

int bayes_take_start(bayes_search *b)
{
    const ds_evaluator_start *s = &b->kit.start;
    return !s->evaluated || learn(b, s->v, s->loss, 1);
}

ds_status bayes_propose(bayes_search *b, uint64_t number, size_t count, const double *points,
                        const double *loss, double *v)
{
    if (number == 1 && b->kit.start.v) {
        memcpy(v, b->kit.start.v, b->kit.n * sizeof(double));
        return DS_OK;
    }
    return surrogate_propose_beside(b->model, number, count, points, loss, v);
}

ds_status bayes_simulate(bayes_search *b, const char *tag, size_t count, const unsigned char *start,
                         const double *v, double *loss, double *gradient, uint32_t *outcome)
{
    size_t done, n = b->kit.n;
    gradient = b->kit.has_gradient ? gradient : NULL;
    ds_status status = ds_evaluator_run(&b->kit.evaluator, (ds_evaluator_label){tag, b->group}, count, v,
                                        loss, gradient, outcome, &done);
    for (size_t i = 0; i < done; i++) {
        if (!learn(b, v + i * n, loss[i], start != NULL && start[i])) {
            return DS_E_NOMEM;
        }
    }
    return status;
}

ds_status bayes_design(bayes_search *b, size_t count)
{
    if (count <= 1) {
        return DS_OK;
    }
    double *v = ds_memory_doubles(&b->kit.memory, count * b->kit.n);
    double *loss = ds_memory_doubles(&b->kit.memory, count);
    if (!v || !loss) {
        return DS_E_NOMEM;
    }
    surrogate_design(b->model, count, v);
    return bayes_simulate(b, "init", count, NULL, v, loss, NULL, NULL);
}

ds_status bayes_report(bayes_search *b)
{
    static const char *const names[] = {"length", "points"};
    const double values[] = {surrogate_length(b->model), (double)surrogate_size(b->model)};
    return ds_evaluator_report(&b->kit.evaluator, 2, names, values, NULL);
}

int bayes_refine_due(const bayes_search *b)
{
    return b->refine && b->told >= b->refine_from && b->best_loss < b->refined;
}

static ds_status simulate(void *self, const char *tag, size_t count, const double *v, double *loss,
                          double *gradient, uint32_t *outcome)
{
    return bayes_simulate(self, tag, count, NULL, v, loss, gradient, outcome);
}

ds_status bayes_refine(bayes_search *b)
{
    ds_status status = refine_run(b->refine, b->best, &b->best_loss, simulate, b);
    b->refined = b->best_loss;
    return status;
}
