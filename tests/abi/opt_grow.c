/* SPDX-License-Identifier: Apache-2.0 */
/* opt_grow - an optimizer that uses every struct of an optimizer: an episode, a point with the queries that
 * channels offer, then descent (with a gradient) or steps to and fro. grow.sh compiles it with the public
 * headers, and with a copy of them whose structs are longer. */
#include <diffsim/ext/channel.h>
#include <diffsim/ext/draft/files.h>
#include <diffsim/ext/steps.h>
#include <diffsim/plugin.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LANES = 2, ROWS = 4 };

typedef struct search {
    const ds_host *host;
    const ds_problem *problem;
    double rate;
    double *x, *grad;     /* ROWS rows each */
    double *best, *slope; /* the best point, and the gradient there */
    double best_loss;
} search;

static const ds_param *const params[] = {
    DS_REAL("rate", "0.3", 0, 10, "", "Length of the first step, in widths of the box."), NULL};

static void destroy(void *self)
{
    search *s = self;
    if (s != NULL) {
        free(s->x);
    }
    free(s);
}

static ds_status create(const ds_host *host, const ds_problem *problem, void **out)
{
    search *s = calloc(1, sizeof *s);
    if (s == NULL || (s->x = calloc(2 * (ROWS + 1) * problem->n, sizeof *s->x)) == NULL ||
        host->get_real(host, "rate", &s->rate) != DS_OK) {
        host->error(host, DS_E_NOMEM, "no memory or no rate");
        destroy(s);
        return DS_E_NOMEM;
    }
    s->host = host;
    s->problem = problem;
    s->grad = s->x + ROWS * problem->n;
    s->best = s->grad + ROWS * problem->n;
    s->slope = s->best + problem->n;
    s->best_loss = INFINITY;
    memcpy(s->best, problem->x0, problem->n * sizeof *s->best);
    *out = s;
    return DS_OK;
}

/* Evaluates the first `count` rows of s->x and remembers the best one. */
static ds_status look(search *s, const ds_objective *objective, uint64_t count, uint64_t queries,
                      const ds_query *const *query, const ds_reply *const *reply, uint64_t group)
{
    static const uint64_t noise[ROWS] = {1, 1, 1, 1};
    double loss[ROWS];
    uint32_t outcome[ROWS], kind[ROWS];
    int64_t bad_step[ROWS];
    uint64_t cost[ROWS] = {0}, n = s->problem->n, found = count, done = 0;
    const ds_rows rows = {.struct_size = sizeof rows,
                          .want = s->problem->has_gradient ? DS_WANT_GRAD : 0,
                          .count = count,
                          .n = n,
                          .stride = n,
                          .x = s->x,
                          .queries = queries,
                          .query = query};
    const ds_results results = {.struct_size = sizeof results,
                                .stride = n,
                                .loss = loss,
                                .grad = s->problem->has_gradient ? s->grad : NULL,
                                .outcome = outcome,
                                .grad_kind = kind,
                                .bad_step = bad_step,
                                .cost_steps = cost,
                                .reply = reply};
    const ds_label label = {
        .struct_size = sizeof label, .tag = queries > 0 ? "asked" : "step", .group = group, .noise = noise};
    ds_status status = objective->evaluate(objective, &rows, &label, &results, &done);
    for (uint64_t k = 0; k < done; k++) {
        if (outcome[k] <= DS_EVAL_BAD_GRAD && loss[k] < s->best_loss) {
            s->best_loss = loss[k];
            found = k;
        }
    }
    if (found < count) {
        memcpy(s->best, s->x + found * n, n * sizeof *s->best);
        memcpy(s->slope, s->grad + found * n, n * sizeof *s->slope);
    }
    return status;
}

/* ---- the three parts ---- */

/* Two episodes along the start point. */
static ds_status play(search *s, const ds_objective *objective)
{
    const ds_objective_steps *steps = objective->get_extension(objective, DS_EXT_OBJECTIVE_STEPS);
    if (steps == NULL || steps->lanes < LANES || (s->problem->budget != 0 && s->problem->budget < 10)) {
        return DS_OK;
    }
    uint64_t m = steps->info->n_act, o = steps->info->n_obs, lane[LANES] = {0, 1}, cost[LANES], done = 0;
    double *room = calloc(LANES * (m + o), sizeof *room), reward[LANES], loss[LANES];
    uint32_t ended[LANES] = {0}, outcome[LANES];
    if (room == NULL) {
        return DS_E_NOMEM;
    }
    ds_step_rows rows = {.struct_size = sizeof rows, .count = LANES, .lane = lane};
    const ds_step_results results = {.struct_size = sizeof results,
                                     .obs = room + LANES * m,
                                     .reward = reward,
                                     .ended = ended,
                                     .loss = loss,
                                     .outcome = outcome,
                                     .cost_steps = cost};
    const ds_label label = {.struct_size = sizeof label, .tag = "episode", .group = 1};
    ds_status status = steps->begin(objective, &rows, &label, &results, &done);
    rows.count = done;
    rows.action = room;
    for (uint64_t t = 0; status == DS_OK && rows.count > 0 && t < steps->info->horizon; t++) {
        for (uint64_t k = 0; k < rows.count; k++) {
            memcpy(room + k * m, s->problem->x0 + t * m, m * sizeof *room);
        }
        status = steps->step(objective, &rows, &results, &done);
        uint64_t open = 0;
        for (uint64_t k = 0; k < rows.count; k++) {
            lane[open] = lane[k];
            open += ended[k] == DS_STEPS_CONTINUES;
        }
        rows.count = open;
    }
    free(room);
    return status;
}

/* The start point, with the values of the residuals and J' v where there is such a channel. */
static ds_status ask(search *s, const ds_objective *objective)
{
    const ds_objective_channels *channels = objective->get_extension(objective, DS_EXT_OBJECTIVE_CHANNELS);
    uint64_t n = s->problem->n, found = 0;
    while (channels != NULL && found < channels->count &&
           channels->channel[found]->role != DS_CHANNEL_RESIDUAL) {
        found++;
    }
    memcpy(s->x, s->problem->x0, n * sizeof *s->x);
    if (channels == NULL || found == channels->count ||
        (channels->channel[found]->ops & DS_CAN(DS_QUERY_JTV)) == 0) {
        return look(s, objective, 1, 0, NULL, NULL, 1);
    }
    const ds_channel *c = channels->channel[found];
    uint64_t m = ds_channel_elements(c), bytes = ds_channel_bytes(c, DS_QUERY_VALUE, n);
    double *v = calloc(2 * m + n, sizeof *v);
    if (v == NULL) {
        return DS_E_NOMEM;
    }
    for (uint64_t i = 0; i < m; i++) {
        v[i] = 1;
    }
    uint32_t kind[2];
    const ds_query value = {.struct_size = sizeof value, .op = DS_QUERY_VALUE, .channel = (uint32_t)found};
    const ds_query product = {
        .struct_size = sizeof product, .op = DS_QUERY_JTV, .channel = (uint32_t)found, .v = v, .v_stride = m};
    const ds_reply values = {
        .struct_size = sizeof values, .out = v + m, .stride = bytes, .bytes = bytes, .kind = &kind[0]};
    const ds_reply products = {.struct_size = sizeof products,
                               .out = v + 2 * m,
                               .stride = n * sizeof *v,
                               .bytes = n * sizeof *v,
                               .kind = &kind[1]};
    const ds_query *const query[] = {&value, &product};
    const ds_reply *const reply[] = {&values, &products};
    ds_status status = look(s, objective, 1, 2, query, reply, 1);
    /* What was answered is of consequence: it makes the next point. */
    for (uint64_t i = 0; i < n; i++) {
        double at = s->x[i] - 0.1 * v[2 * m + i];
        s->x[i] = fmin(fmax(at, s->problem->lower[i]), s->problem->upper[i]);
    }
    status = status != DS_OK ? status : look(s, objective, 1, 0, NULL, NULL, 1);
    free(v);
    return status;
}

/* Rows around the best point: along the gradient in several lengths, or one variable to and fro. */
static ds_status descend(search *s, const ds_objective *objective)
{
    uint64_t n = s->problem->n;
    double rate = s->rate;
    ds_status status = DS_OK;
    for (uint64_t round = 0; status == DS_OK && rate > 1e-9 && !s->host->should_stop(s->host); round++) {
        double before = s->best_loss, longest = 1e-300;
        for (uint64_t i = 0; s->problem->has_gradient && i < n; i++) {
            longest = fmax(longest, fabs(s->slope[i]));
        }
        for (uint64_t k = 0; k < ROWS; k++) {
            double length = ldexp(rate, -(int)(k / 2)) * (k % 2 == 0 ? -1 : 1);
            for (uint64_t i = 0; i < n; i++) {
                double width = s->problem->upper[i] - s->problem->lower[i];
                double way = s->problem->has_gradient ? s->slope[i] / longest : i == round % n ? 1 : 0;
                double at = s->best[i] + length * width * way;
                s->x[k * n + i] = fmin(fmax(at, s->problem->lower[i]), s->problem->upper[i]);
            }
        }
        status = look(s, objective, ROWS, 0, NULL, NULL, round + 2);
        rate *= s->best_loss < before || (!s->problem->has_gradient && round % n + 1 < n) ? 1 : 0.5;
    }
    return status;
}

/* The best point is left as a file, when the search is over. */
static ds_status leave(const search *s, const ds_objective *objective, ds_status status)
{
    const ds_objective_files *files = objective->get_extension(objective, DS_EXT_FILES);
    if (status < 0 || files == NULL || !DS_HAS(ds_objective_files, files, save)) {
        return status;
    }
    ds_status saved = files->save(objective, "learned.bin", s->best, s->problem->n * sizeof *s->best);
    saved = saved != DS_OK
                ? saved
                : files->save(objective, "learned.txt", files->env_settings, strlen(files->env_settings));
    return saved != DS_OK ? saved : status;
}

static ds_status run(void *self, const ds_objective *objective)
{
    search *s = self;
    ds_status status = play(s, objective);
    status = status != DS_OK ? status : ask(s, objective);
    status = status != DS_OK ? status : descend(s, objective);
    return leave(s, objective, status);
}

static const char *const uses[] = {DS_HAS_GRADIENT, DS_HAS_RESIDUALS, DS_EXT_STEPS, NULL};
static const ds_optimizer_vtable vtable = {
    .struct_size = sizeof vtable, .create = create, .destroy = destroy, .run = run};
static const ds_desc desc = {.struct_size = sizeof desc,
                             .kind = DS_KIND_OPTIMIZER,
                             .flags = DS_OPT_USES_BUDGET,
                             .id = "opt_grow",
                             .version = "1",
                             .license = "Apache-2.0",
                             .summary = "Optimizer with longer structs.",
                             .description = "Episodes, queries, then a descent.",
                             .citation = "",
                             .params = params,
                             .uses = uses};
DS_DEFINE_OPTIMIZER(desc, vtable)
