/* SPDX-License-Identifier: Apache-2.0 */
/* opt_kit.c - the optimizer interface from a table, see opt_kit.h. */
#include "methods/base/opt_kit.h"

#include "methods/base/box.h"

#include <diffsim/ext/rl.h>
#include <diffsim/ext/rl_gradient.h>

const char *const opt_gradient[] = {DS_HAS_GRADIENT, NULL};
const char *const opt_residuals[] = {DS_HAS_RESIDUALS, DS_HAS_GRADIENT, NULL};
const char *const opt_episodes[] = {DS_EXT_RL, NULL};
const char *const opt_episode_gradients[] = {DS_EXT_RL, DS_EXT_RL_GRADIENT, NULL};

static ds_status open_kit(opt_kit *kit, const opt_table *table, const ds_host *host,
                          const ds_problem *problem)
{
    ds_param_reader in = {host, DS_OK};
    kit->table = table;
    kit->host = host;
    kit->problem = problem;
    kit->n = (size_t)problem->n;
    kit->has_gradient = problem->has_gradient != 0;
    table->read(kit, &in);
    if (in.status != DS_OK) {
        return in.status;
    }
    int made = !table->allocate || table->allocate(kit);
    return made && !kit->memory.failed ? DS_OK : DS_E_NOMEM;
}

ds_status opt_kit_create(const opt_table *table, const ds_host *host, const ds_problem *problem, void **out)
{
    ds_status status =
        table->needs_gradient ? opt_kit_need_gradient(host, problem, table->needs_gradient) : DS_OK;
    if (status != DS_OK) {
        return status;
    }
    opt_kit *kit = calloc(1, table->size);
    status = kit ? open_kit(kit, table, host, problem) : DS_E_NOMEM;
    if (status == DS_E_NOMEM) {
        ds_host_fail(host, status, "%s", table->no_memory ? table->no_memory : "out of memory");
    }
    if (status != DS_OK) {
        opt_kit_destroy(kit);
        return status;
    }
    *out = kit;
    return DS_OK;
}

void opt_kit_destroy(void *self)
{
    opt_kit *kit = self;
    if (!kit) {
        return;
    }
    if (kit->table->release) {
        kit->table->release(kit);
    }
    evaluator_free(&kit->evaluator);
    memory_free(&kit->memory);
    free(kit);
}

ds_status opt_kit_run(void *self, const ds_objective *objective)
{
    opt_kit *kit = self;
    kit->objective = kit->evaluator.objective = objective;
    ds_status status = kit->table->begin ? kit->table->begin(kit) : DS_OK;
    while (status == DS_OK && !kit->finished) {
        kit->round++;
        status = kit->table->round(kit);
        if (status == DS_OK && !kit->finished && kit->host->should_stop(kit->host)) {
            status = DS_STOPPED;
        }
    }
    if (status >= 0 && kit->table->end) {
        kit->table->end(kit);
    }
    if (status == DS_E_NOMEM && kit->table->no_memory_run) {
        ds_host_fail(kit->host, status, "%s", kit->table->no_memory_run);
    }
    return status;
}

int opt_kit_rows(opt_kit *kit, size_t rows)
{
    return evaluator_init(&kit->evaluator, kit->problem, rows);
}

ds_status opt_kit_need_gradient(const ds_host *host, const ds_problem *problem, const char *name)
{
    if (problem->has_gradient) {
        return DS_OK;
    }
    return ds_host_fail(
        host, DS_E_UNSUPPORTED,
        "%.60s needs gradients and this environment has none: choose another optimizer, for example cmaes",
        name);
}

void opt_kit_check_polish(ds_param_reader *in, const ds_problem *problem, double share)
{
    if (in->status == DS_OK && share > 0.0 && problem->budget == 0) {
        in->status = ds_host_fail(in->host, DS_E_PARAM,
                                  "polish is a share of the budget: give the run a budget, or polish = 0");
    }
}

void opt_kit_start(const ds_host *host, uint64_t number, size_t n, double *v)
{
    ds_random random = ds_random_open(host->seed, "start", number);
    for (size_t i = 0; i < n; i++) {
        v[i] = 2.0 * ds_random_uniform(&random) - 1.0;
    }
}

void opt_kit_x0(const ds_problem *problem, double *v)
{
    box_v_from_x((size_t)problem->n, problem->lower, problem->upper, problem->x0, v);
}

double *opt_kit_box(memory *m, size_t n)
{
    double *corners = memory_doubles(m, 2 * n);
    for (size_t i = 0; corners && i < n; i++) {
        corners[i] = -1.0;
        corners[n + i] = 1.0;
    }
    return corners;
}
