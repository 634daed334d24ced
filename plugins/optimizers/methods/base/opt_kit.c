/* SPDX-License-Identifier: Apache-2.0 */
/* opt_kit.c - the optimizer interface from a table, see opt_kit.h. */
#include "methods/base/opt_kit.h"

#include "methods/base/box.h"

#include <diffsim/ext/rl.h>
#include <diffsim/ext/rl_gradient.h>
#include <math.h>
#include <string.h>

const char *const opt_gradient[] = {DS_HAS_GRADIENT, NULL};
const char *const opt_residuals[] = {DS_HAS_RESIDUALS, DS_HAS_GRADIENT, NULL};
const char *const opt_episodes[] = {DS_EXT_RL, NULL};
const char *const opt_episode_gradients[] = {DS_EXT_RL, DS_EXT_RL_GRADIENT, NULL};

/* Reads parameters use_x0 and x0. */
static void read_start(opt_kit *kit, ds_param_reader *in)
{
    const ds_problem *p = kit->problem;
    opt_start *s = &kit->start;
    const int64_t use_x0 = ds_param_int(in, "use_x0");
    uint64_t count;
    const double *given = ds_param_list(in, "x0", &count);
    if (in->status != DS_OK || (count == 0 && !use_x0)) {
        return;
    }
    if (count > 1 && count != p->n) {
        in->status = ds_host_fail(in->host, DS_E_PARAM,
                                  "parameter x0 has %llu values: give one for all variables, or %llu",
                                  (unsigned long long)count, (unsigned long long)p->n);
        return;
    }
    s->x = ds_memory_doubles(&kit->memory, kit->n);
    s->v = ds_memory_doubles(&kit->memory, kit->n);
    for (size_t i = 0; s->x && s->v && i < kit->n; i++) {
        double x = count == 0 ? p->x0[i] : given[count == 1 ? 0 : i];
        if (!(x >= p->lower[i] && x <= p->upper[i])) {
            in->status = ds_host_fail(
                in->host, DS_E_PARAM,
                "parameter x0: value %g of variable %zu is outside its bounds [%g, %g]: give one inside", x,
                i, p->lower[i], p->upper[i]);
            return;
        }
        s->x[i] = x;
    }
    if (s->x && s->v) {
        box_v_from_x(kit->n, p->lower, p->upper, s->x, s->v);
        kit->evaluator.start = s;
    }
}

static ds_status open_kit(opt_kit *kit, const opt_table *table, const ds_host *host,
                          const ds_problem *problem)
{
    ds_param_reader in = {host, DS_OK};
    kit->table = table;
    kit->host = host;
    kit->problem = problem;
    kit->n = (size_t)problem->n;
    kit->has_gradient = problem->has_gradient != 0;
    read_start(kit, &in);
    if (in.status == DS_OK) {
        table->read(kit, &in);
    }
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
    ds_memory_free(&kit->memory);
    free(kit);
}

/* Evaluates the start, where there is one and the search does not do so itself. */
static ds_status evaluate_start(opt_kit *kit)
{
    opt_start *s = &kit->start;
    if (!s->v || (kit->table->begins_at_start && kit->table->begins_at_start(kit))) {
        return DS_OK;
    }
    ds_batch batch = {.struct_size = sizeof batch,
                      .want = s->gradient ? DS_WANT_GRAD : 0u,
                      .count = 1,
                      .x = s->x,
                      .loss = &s->loss,
                      .grad = s->gradient,
                      .tag = "init"};
    ds_status status = kit->objective->evaluate(kit->objective, &batch);
    s->evaluated = status == DS_OK;
    if (status == DS_OK && s->gradient) {
        box_gradient_to_v(kit->n, kit->problem->lower, kit->problem->upper, s->gradient);
    }
    return status;
}

ds_status opt_kit_run(void *self, const ds_objective *objective)
{
    opt_kit *kit = self;
    kit->objective = kit->evaluator.objective = objective;
    ds_status status = evaluate_start(kit);
    status = status == DS_OK && kit->table->begin ? kit->table->begin(kit) : status;
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

void opt_kit_random_start(const ds_host *host, uint64_t number, size_t n, double *v)
{
    ds_random random = ds_random_open(host->seed, "start", number);
    for (size_t i = 0; i < n; i++) {
        v[i] = 2.0 * ds_random_uniform(&random) - 1.0;
    }
}

void opt_kit_start(const opt_kit *kit, uint64_t number, double *v)
{
    if (number == 1 && kit->start.v) {
        memcpy(v, kit->start.v, kit->n * sizeof(double));
    } else {
        opt_kit_random_start(kit->host, number, kit->n, v);
    }
}

int opt_kit_begins_at_start(const void *self)
{
    (void)self;
    return 1;
}

ds_status opt_kit_check_size(const ds_host *host, size_t n, const char *grows, const char *instead)
{
    return n <= OPT_KIT_MOST ? DS_OK
                             : ds_host_fail(host, DS_E_PARAM,
                                            "%zu variables are too many: %s, so it takes at most %d; take %s",
                                            n, grows, (int)OPT_KIT_MOST, instead);
}

void opt_kit_x0(const ds_problem *problem, double *v)
{
    box_v_from_x((size_t)problem->n, problem->lower, problem->upper, problem->x0, v);
}

double *opt_kit_box(ds_memory *m, size_t n)
{
    double *corners = ds_memory_doubles(m, 2 * n);
    for (size_t i = 0; corners && i < n; i++) {
        corners[i] = -1.0;
        corners[n + i] = 1.0;
    }
    return corners;
}
