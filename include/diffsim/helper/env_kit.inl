/* SPDX-License-Identifier: Apache-2.0 */
/* diffsim/helper/env_kit.inl - the functions of env_kit.h, which includes it. */

/* For functions that an evaluation without queries does not call: kept out of line, so that the few
 * instructions of the caller stay together. */
#if defined(__GNUC__)
#define DS_ENV_KIT_APART_ static __attribute__((noinline, unused))
#else
#define DS_ENV_KIT_APART_ static inline
#endif

enum { DS_ENV_KIT_ROWS = 64 }; /* kit.max_rows unless read() sets it */

static const ds_env_kit_lane ds_env_kit_closed_ = {DS_ENV_KIT_CLOSED, DS_ENV_KIT_CLOSED, DS_ENV_KIT_CLOSED};

/* ---- an instance ---- */

static inline void ds_env_kit_open_scene(ds_env_kit *kit)
{
    const ds_env_table *env = kit->env;
    if (env->place == NULL) {
        return;
    }
    ds_scene_kit_open(&kit->scene, &kit->memory, kit->steps, kit->dt, env->place);
    for (const ds_scene_kit_label *m = env->metrics; m != NULL && m->name != NULL; m++) {
        ds_scene_kit_metric(&kit->scene, m->name, m->unit);
    }
    ds_scene_kit_view(&kit->scene, &kit->camera);
    env->bodies(kit, &kit->scene);
    ds_scene_kit_ready(&kit->scene);
}

static inline ds_status ds_env_kit_no_memory(const ds_env_table *env, const ds_host *host)
{
    const char *advice = env->advice != NULL ? env->advice : "";
    return ds_host_fail(host, DS_E_NOMEM, "out of memory%s%s", *advice ? ": " : "", advice);
}

static inline ds_status ds_env_kit_wire(ds_env_kit *kit, const ds_host *host)
{
    kit->hooks = kit->env->hook_points(kit, kit->hook);
    return ds_hybrid_open(&kit->hybrid, host, kit->hooks, kit->hook);
}

static inline ds_status ds_env_kit_open(ds_env_kit *kit, const ds_env_table *env, const ds_host *host)
{
    ds_param_reader in = {host, DS_OK};
    kit->env = env;
    kit->host = host;
    kit->grad_kind = DS_GRAD_ADJOINT;
    kit->next = kit->taken = kit->back = DS_ENV_KIT_CLOSED;
    env->read(kit, &in);
    kit->lanes = kit->lanes > 0 ? kit->lanes : 1;
    if (in.status == DS_OK && env->hook_points != NULL) {
        in.status = ds_env_kit_wire(kit, host);
    }
    if (in.status == DS_OK && env->allocate != NULL) {
        in.status = env->allocate(kit);
    }
    if (in.status == DS_OK && env->rows != NULL) {
        kit->max_rows = kit->max_rows > 0 ? kit->max_rows : DS_ENV_KIT_ROWS;
        kit->row = (ds_eval *)ds_memory_take(&kit->memory, (size_t)kit->max_rows, sizeof *kit->row);
        kit->rows = (ds_eval **)ds_memory_take(&kit->memory, (size_t)kit->max_rows, sizeof(ds_eval *));
    }
    if (in.status == DS_OK && env->act != NULL) {
        kit->others = (ds_env_kit_lane *)ds_memory_take(&kit->memory, (size_t)kit->lanes, sizeof *kit->others);
    }
    in.status = in.status == DS_OK && kit->memory.failed ? DS_E_NOMEM : in.status;
    if (in.status == DS_OK) {
        for (uint64_t i = 0; kit->others != NULL && i < kit->lanes; i++) {
            kit->others[i] = ds_env_kit_closed_;
        }
        ds_env_kit_open_scene(kit);
        in.status = kit->memory.failed ? ds_env_kit_no_memory(env, host) : DS_OK;
    }
    return in.status;
}

static inline ds_status ds_env_kit_create(const ds_env_table *env, const ds_host *host, void **out)
{
    ds_env_kit *kit = (ds_env_kit *)calloc(1, (size_t)env->size);
    ds_status status = kit != NULL ? ds_env_kit_open(kit, env, host) : DS_E_NOMEM;
    if (kit == NULL || (status == DS_E_NOMEM && (env->advice == NULL || *env->advice))) {
        ds_env_kit_no_memory(env, host);
    }
    if (status != DS_OK) {
        ds_env_kit_destroy(kit);
        return status;
    }
    *out = kit;
    return DS_OK;
}

static inline void ds_env_kit_destroy(void *self)
{
    ds_env_kit *kit = (ds_env_kit *)self;
    if (kit == NULL) {
        return;
    }
    if (kit->env->release != NULL) {
        kit->env->release(kit);
    }
    ds_hybrid_close(&kit->hybrid);
    ds_memory_free(&kit->memory);
    free(kit);
}

static inline ds_status ds_env_kit_info(void *self, ds_env_info *out)
{
    const ds_env_kit *kit = (const ds_env_kit *)self;
    out->flags = kit->flags;
    out->n = kit->n + kit->hybrid.variables;
    out->steps = kit->steps;
    out->dt = kit->dt;
    out->loss_floor = kit->loss_floor;
    out->max_rows = kit->env->rows != NULL ? kit->max_rows : 1;
    return DS_OK;
}

static inline ds_status ds_env_kit_bounds(void *self, uint64_t n, double *lower, double *upper, double *x0)
{
    const ds_env_kit *kit = (const ds_env_kit *)self;
    const ds_env_table *env = kit->env;
    const uint64_t all = kit->n + kit->hybrid.variables;
    if (n != all) {
        return ds_host_fail(kit->host, DS_E_ARG, "bounds of %llu variables were requested, but there are %llu",
                            (unsigned long long)n, (unsigned long long)all);
    }
    for (uint64_t i = 0; i < n; i++) {
        double start = 0;
        lower[i] = -env->limit;
        upper[i] = env->limit;
        if (i >= kit->n) {
            ds_hybrid_range(&kit->hybrid, i - kit->n, &lower[i], &upper[i], &start);
        } else if (env->range != NULL) {
            env->range(kit, i, &lower[i], &upper[i], &start);
        }
        if (x0 != NULL) {
            x0[i] = start;
        }
    }
    return DS_OK;
}

/* ---- an evaluation ---- */

/* Completes an episode that has no loss. */
DS_ENV_KIT_APART_ void ds_env_kit_diverged(ds_env_kit *kit, ds_eval *io)
{
    const ds_env_table *env = kit->env;
    io->outcome = DS_EVAL_DIVERGED;
    if (io->bad_step < 0 && env->bad_step != NULL) {
        io->bad_step = env->bad_step(kit, io);
    }
    if (io->bad_step < 0) { /* all states are finite, but the last one is too far away for a finite loss */
        io->bad_step = (int64_t)kit->steps - 1;
    }
    io->loss = INFINITY;
    if (env->cure != NULL) {
        ds_host_fail(kit->host, DS_OK, "not finite any more at %.4g s: %s",
                     (double)(io->bad_step + 1) * kit->dt, env->cure);
    }
    if (io->want & DS_WANT_GRAD) {
        memset(io->grad, 0, (size_t)io->n * sizeof *io->grad);
    }
}

/* `swept`: rows() has written the gradient. */
static inline ds_status ds_env_kit_differentiate(ds_env_kit *kit, ds_eval *io, int swept)
{
    const ds_env_table *env = kit->env;
    if (env->adjoint != NULL) {
        const ds_status status = swept ? DS_OK : env->adjoint(kit, io);
        if (status != DS_OK) {
            return status;
        }
        if (kit->hybrid.nets > 0) {
            ds_hybrid_penalty(&kit->hybrid, io->x + kit->n, io->grad + kit->n);
        }
        io->grad_kind = kit->grad_kind;
        io->cost_steps += env->passes * (kit->cost ? kit->cost : kit->steps);
    }
    for (uint64_t i = 0; io->grad_kind != DS_GRAD_NONE && i < io->n; i++) {
        if (!isfinite(io->grad[i])) {
            memset(io->grad, 0, (size_t)io->n * sizeof *io->grad);
            io->outcome = DS_EVAL_BAD_GRAD;
        }
    }
    return DS_OK;
}

static inline void ds_env_kit_keep_scene(ds_env_kit *kit)
{
    ds_scene_kit *s = &kit->scene;
    if (kit->env->measure != NULL) {
        ds_scene_kit_reset_box(s);
        for (uint64_t k = 0; k <= kit->steps; k++) {
            kit->env->measure(kit, k, s->row);
            ds_scene_kit_measured(s, k, s->row);
        }
    }
    s->kept = 1;
}

/* Replaces a product that is not finite by zeros. */
static inline void ds_env_kit_judge_product(ds_eval *io, const ds_eval_query *ask)
{
    const double *out = (const double *)ask->out;
    for (uint64_t i = 0; i < ask->bytes / sizeof *out; i++) {
        if (!isfinite(out[i])) {
            memset(ask->out, 0, (size_t)ask->bytes);
            io->outcome = DS_EVAL_BAD_GRAD;
            return;
        }
    }
}

/* Serves the queries for values, or those for products. */
static inline ds_status ds_env_kit_answer(ds_env_kit *kit, ds_eval *io, int products)
{
    ds_status status = DS_OK;
    for (uint64_t i = 0; status == DS_OK && i < io->queries; i++) {
        ds_eval_query *ask = io->query[i];
        if ((ask->op != DS_QUERY_VALUE) == products) {
            ask->kind = DS_GRAD_NONE;
            status = kit->env->answer != NULL ? kit->env->answer(kit, io, ask) : DS_E_UNSUPPORTED;
            if (products && status == DS_OK) {
                ds_env_kit_judge_product(io, ask);
            }
        }
    }
    return status;
}

/* Does what an evaluation wants besides the loss. */
DS_ENV_KIT_APART_ ds_status ds_env_kit_more(ds_env_kit *kit, ds_eval *io, int swept)
{
    ds_status status = ds_env_kit_answer(kit, io, 0);
    if (status == DS_OK && (io->want & DS_WANT_GRAD)) {
        status = ds_env_kit_differentiate(kit, io, swept);
    }
    if (status == DS_OK && (io->want & DS_WANT_SCENE) && io->outcome != DS_EVAL_DIVERGED) {
        ds_env_kit_keep_scene(kit);
    }
    return status == DS_OK && io->outcome == DS_EVAL_OK ? ds_env_kit_answer(kit, io, 1) : status;
}

/* Adds what the weights of networks cost. */
DS_ENV_KIT_APART_ void ds_env_kit_penalize(const ds_env_kit *kit, ds_eval *io)
{
    io->loss += ds_hybrid_penalty(&kit->hybrid, io->x + kit->n, NULL);
}

/* An evaluation ends all open episodes. */
DS_ENV_KIT_APART_ void ds_env_kit_close_lanes(ds_env_kit *kit)
{
    for (uint64_t i = 0; i < kit->lanes; i++) {
        kit->others[i] = ds_env_kit_closed_;
    }
    kit->next = kit->taken = kit->back = DS_ENV_KIT_CLOSED;
    kit->has_begun = 0;
}

/* Before simulate(), and after it returned `status`. */
static inline void ds_env_kit_before(ds_env_kit *kit, ds_eval *io)
{
    kit->scene.kept = 0;
    if (kit->has_begun) {
        ds_env_kit_close_lanes(kit);
    }
    io->outcome = DS_EVAL_OK;
    io->grad_kind = DS_GRAD_NONE;
    io->bad_step = -1;
    io->cost_steps = kit->cost ? kit->cost : kit->steps;
}

static inline ds_status ds_env_kit_after(ds_env_kit *kit, ds_eval *io, ds_status status, int swept)
{
    if (kit->hybrid.nets > 0) {
        ds_env_kit_penalize(kit, io);
    }
    if (status == DS_OK && !isfinite(io->loss)) {
        ds_env_kit_diverged(kit, io);
    } else if (status == DS_OK) {
        io->bad_step = -1;
        status = (io->want | io->queries) != 0 ? ds_env_kit_more(kit, io, swept) : DS_OK;
    }
    return status;
}

static inline ds_status ds_env_kit_evaluate(const ds_env_table *env, void *self, ds_eval *io)
{
    ds_env_kit *kit = (ds_env_kit *)self;
    ds_env_kit_before(kit, io);
    const ds_status status = env->simulate(self, io);
    return ds_env_kit_after(kit, io, status, 0);
}

/* ---- many points in one call ---- */

/* Does a row need the episode after its simulation? */
static inline int ds_env_kit_is_followed(const ds_env_table *env, const ds_rows *rows)
{
    return rows->queries > 0 || (rows->want & DS_WANT_SCENE) != 0 ||
           ((rows->want & DS_WANT_GRAD) != 0 && env->adjoint != NULL && !env->rows_adjoint);
}

/* All rows in one call of rows(). */
static inline ds_status ds_env_kit_evaluate_rows(const ds_env_table *env, ds_env_kit *kit,
                                                 const ds_rows *rows, const ds_results *results)
{
    const uint64_t count = rows->count;
    for (uint64_t k = 0; k < count; k++) {
        kit->row[k] = ds_eval_row(rows, results, k, NULL, NULL);
        kit->rows[k] = &kit->row[k];
        ds_env_kit_before(kit, kit->rows[k]);
    }
    ds_status status = env->rows(kit, count, kit->rows);
    for (uint64_t k = 0; status == DS_OK && k < count; k++) {
        if (env->bad_step != NULL && !isfinite(kit->rows[k]->loss)) { /* which looks at the last episode */
            status = ds_env_kit_evaluate(env, kit, kit->rows[k]);
        } else {
            status = ds_env_kit_after(kit, kit->rows[k], DS_OK, 1);
        }
        ds_eval_store(kit->rows[k], results, k);
    }
    return status;
}

static inline ds_status ds_env_kit_evaluate_table(const ds_env_table *env, void *self, const ds_rows *rows,
                                                  const ds_results *results)
{
    ds_eval_query query[DS_MAX_QUERIES], *list[DS_MAX_QUERIES];
    ds_status status = DS_OK;
    if (rows->memory != DS_MEMORY_HOST) {
        return DS_E_UNSUPPORTED;
    }
    if (env->rows != NULL && rows->count > 1 && !ds_env_kit_is_followed(env, rows)) {
        return ds_env_kit_evaluate_rows(env, (ds_env_kit *)self, rows, results);
    }
    for (uint64_t k = 0; status == DS_OK && k < rows->count; k++) {
        ds_eval io = ds_eval_row(rows, results, k, query, list);
        status = ds_env_kit_evaluate(env, self, &io);
        ds_eval_store(&io, results, k);
    }
    return status;
}

/* ---- channels ---- */

static inline ds_status ds_env_kit_channel_count(void *self, uint64_t *count)
{
    *count = ((const ds_env_kit *)self)->env->channels(self);
    return DS_OK;
}

static inline ds_status ds_env_kit_describe_channel(void *self, uint64_t i, ds_channel *out)
{
    out->type = DS_TYPE_F64;
    out->ndim = 1;
    out->unit = "";
    ((const ds_env_kit *)self)->env->channel(self, i, out);
    return DS_OK;
}

/* ---- stepwise control ---- */

static inline ds_status ds_env_kit_steps_info(void *self, ds_steps_info *out)
{
    const ds_env_kit *kit = (const ds_env_kit *)self;
    out->horizon = kit->horizon;
    out->n_act = kit->n / kit->horizon;
    out->n_obs = kit->n_obs;
    out->dt = kit->control_dt;
    out->max_lanes = kit->lanes;
    out->flags = kit->time_limit ? DS_STEPS_TIME_LIMIT : 0;
    return DS_OK;
}

static inline uint64_t ds_env_kit_lanes_of(uint64_t bytes)
{
    const uint64_t most = ((uint64_t)32 << 20) / (bytes > 0 ? bytes : 1);
    return most < 1 ? 1 : most < DS_ENV_KIT_ROWS ? most : DS_ENV_KIT_ROWS;
}

/* Makes `lane` the present one; 0 = there is none with this number. */
static inline int ds_env_kit_enter(ds_env_kit *kit, uint64_t lane)
{
    if (lane >= kit->lanes) {
        return 0;
    }
    if (lane != kit->lane) {
        const ds_env_kit_lane present = {kit->next, kit->taken, kit->back};
        kit->others[kit->lane] = present;
        kit->next = kit->others[lane].next;
        kit->taken = kit->others[lane].taken;
        kit->back = kit->others[lane].back;
        kit->lane = lane;
    }
    return 1;
}

static inline ds_status ds_env_kit_steps_begin_one(void *self, uint64_t lane, uint64_t noise_key, double *obs)
{
    ds_env_kit *kit = (ds_env_kit *)self;
    if (!ds_env_kit_enter(kit, lane)) {
        return DS_E_ARG;
    }
    kit->scene.kept = 0;
    kit->next = kit->taken = kit->back = DS_ENV_KIT_CLOSED;
    kit->has_begun = 1;
    const ds_status status = kit->env->begin(kit, noise_key);
    if (status == DS_OK) {
        kit->next = kit->taken = 0;
        kit->env->observe(kit, obs);
    }
    return status;
}

/* Completes a step that failed. */
static inline void ds_env_kit_steps_failed(ds_env_kit *kit, ds_step *io, ds_status status)
{
    if (status == DS_OK && io->outcome == DS_EVAL_DIVERGED && kit->env->cure != NULL) {
        ds_host_fail(kit->host, DS_OK, "not finite any more in control step %llu: %s",
                     (unsigned long long)(kit->next - 1), kit->env->cure);
    }
    io->ended = DS_STEPS_TERMINATED;
    io->reward = 0;
    io->loss = INFINITY;
}

/* Whether a lane can take a step. */
static inline ds_status ds_env_kit_step_ready(ds_env_kit *kit, uint64_t lane)
{
    if (!ds_env_kit_enter(kit, lane)) {
        return DS_E_ARG;
    }
    return kit->next >= kit->horizon ? DS_E_STATE : DS_OK;
}

/* Completes a step of the present lane, for which act() returned `status`. */
static inline void ds_env_kit_step_done(ds_env_kit *kit, ds_step *io, ds_status status)
{
    if (status == DS_E_ARG) { /* the action was refused and the episode is unchanged */
        return;
    }
    kit->next++;
    kit->back = DS_ENV_KIT_CLOSED;
    if (status != DS_OK || io->outcome != DS_EVAL_OK) {
        ds_env_kit_steps_failed(kit, io, status);
    } else {
        kit->taken = kit->next;
        if (io->ended == DS_STEPS_CONTINUES && kit->next == kit->horizon) {
            io->ended = kit->time_limit ? DS_STEPS_TRUNCATED : DS_STEPS_TERMINATED;
        }
        io->loss = io->ended != DS_STEPS_CONTINUES ? io->loss : 0;
        kit->env->observe(kit, io->obs);
    }
    kit->next = io->ended != DS_STEPS_CONTINUES ? DS_ENV_KIT_CLOSED : kit->next;
}

static inline ds_status ds_env_kit_steps_step_one(void *self, uint64_t lane, ds_step *io)
{
    ds_env_kit *kit = (ds_env_kit *)self;
    ds_status status = ds_env_kit_step_ready(kit, lane);
    if (status == DS_OK) {
        io->outcome = DS_EVAL_OK;
        io->ended = DS_STEPS_CONTINUES;
        status = kit->env->act(kit, kit->next, io);
        ds_env_kit_step_done(kit, io, status);
    }
    return status;
}

static inline ds_status ds_env_kit_steps_begin(void *self, const ds_step_rows *rows,
                                               const ds_step_results *results)
{
    return ds_step_begin_each(self, rows, results, ((const ds_env_kit *)self)->n_obs,
                              ds_env_kit_steps_begin_one);
}

/* Takes the steps of rows `from` .. `from` + count - 1 in one call. */
static inline ds_status ds_env_kit_step_many(ds_env_kit *kit, const ds_step_rows *rows,
                                             const ds_step_results *results, uint64_t from, uint64_t count)
{
    const uint64_t n_act = kit->n / kit->horizon;
    ds_env_kit_act act[DS_ENV_KIT_ROWS];
    ds_status ready = DS_OK;
    uint64_t taken = 0;
    for (; taken < count && ready == DS_OK; taken += ready == DS_OK) {
        const uint64_t i = from + taken;
        ready = ds_env_kit_step_ready(kit, rows->lane[i]);
        const ds_env_kit_act each = {
            rows->lane[i],
            kit->next,
            {DS_EVAL_OK, DS_STEPS_CONTINUES, rows->action + i * n_act, results->obs + i * kit->n_obs, 0, 0, 0}};
        act[taken] = each;
    }
    const ds_status status = taken > 0 ? kit->env->act_many(kit, taken, act) : DS_OK;
    for (uint64_t k = 0; k < taken; k++) {
        ds_step *io = &act[k].io;
        ds_env_kit_enter(kit, act[k].lane);
        ds_env_kit_step_done(kit, io, status);
        results->reward[from + k] = io->reward;
        results->ended[from + k] = io->ended;
        results->loss[from + k] = io->loss;
        results->outcome[from + k] = io->outcome;
        results->cost_steps[from + k] = io->cost_steps;
    }
    return status != DS_OK ? status : ready;
}

static inline ds_status ds_env_kit_steps_step(void *self, const ds_step_rows *rows,
                                              const ds_step_results *results)
{
    ds_env_kit *kit = (ds_env_kit *)self;
    ds_status status = DS_OK;
    if (kit->env->act_many == NULL || kit->max_rows == 1 || rows->count < 2) {
        return ds_step_each(self, rows, results, kit->n / kit->horizon, kit->n_obs,
                            ds_env_kit_steps_step_one);
    }
    for (uint64_t k = 0; k < rows->count && status == DS_OK; k += DS_ENV_KIT_ROWS) {
        const uint64_t left = rows->count - k;
        status = ds_env_kit_step_many(kit, rows, results, k, left < DS_ENV_KIT_ROWS ? left : DS_ENV_KIT_ROWS);
    }
    return status;
}

/* ---- derivatives of control steps ---- */

/* Whether a lane can go back over a step; begins a sweep where the row says so. */
static inline ds_status ds_env_kit_back_ready(ds_env_kit *kit, uint64_t lane, ds_back *io)
{
    ds_status status = DS_OK;
    if (!ds_env_kit_enter(kit, lane)) {
        return DS_E_ARG;
    }
    if (io->begins && (kit->taken == DS_ENV_KIT_CLOSED || io->step >= kit->taken)) {
        return DS_E_STATE;
    }
    if (io->begins) {
        kit->back = io->step + 1;
        status = kit->env->back_begin(kit, io->step + 1);
        kit->back = status == DS_OK ? kit->back : DS_ENV_KIT_CLOSED;
    }
    if (status == DS_OK && (kit->back == DS_ENV_KIT_CLOSED || kit->back == 0 || io->step != kit->back - 1)) {
        return DS_E_STATE;
    }
    io->cost_steps = 0;
    return status;
}

static inline ds_status ds_env_kit_back_one(void *self, uint64_t lane, ds_back *io)
{
    ds_env_kit *kit = (ds_env_kit *)self;
    ds_status status = ds_env_kit_back_ready(kit, lane, io);
    if (status == DS_OK) {
        status = kit->env->back(kit, io);
        kit->back = status == DS_OK ? io->step : DS_ENV_KIT_CLOSED;
    }
    return status;
}

/* Goes back over the steps of rows `from` .. `from` + count - 1 in one call. */
static inline ds_status ds_env_kit_back_many(ds_env_kit *kit, const ds_back_rows *rows,
                                             const ds_back_results *results, uint64_t from, uint64_t count)
{
    const uint64_t n_act = kit->n / kit->horizon;
    ds_env_kit_sweep sweep[DS_ENV_KIT_ROWS];
    ds_status ready = DS_OK;
    uint64_t taken = 0;
    for (; taken < count && ready == DS_OK; taken += ready == DS_OK) {
        const uint64_t i = from + taken;
        const ds_env_kit_sweep each = {rows->lane[i],
                                       {rows->step[i], rows->reward_bar[i], rows->obs_bar + i * kit->n_obs,
                                        results->action_bar + i * n_act, rows->begins[i], DS_EVAL_OK, 0}};
        sweep[taken] = each;
        ready = ds_env_kit_back_ready(kit, each.lane, &sweep[taken].io);
    }
    const ds_status status = taken > 0 ? kit->env->back_many(kit, taken, sweep) : DS_OK;
    for (uint64_t k = 0; k < taken; k++) {
        ds_env_kit_enter(kit, sweep[k].lane);
        kit->back = status == DS_OK ? sweep[k].io.step : DS_ENV_KIT_CLOSED;
        results->outcome[from + k] = sweep[k].io.outcome;
        results->cost_steps[from + k] = sweep[k].io.cost_steps;
    }
    return status != DS_OK ? status : ready;
}

static inline ds_status ds_env_kit_back(void *self, const ds_back_rows *rows, const ds_back_results *results)
{
    ds_env_kit *kit = (ds_env_kit *)self;
    ds_status status = DS_OK;
    if (kit->env->back_many == NULL || kit->max_rows == 1 || rows->count < 2) {
        return ds_back_each(self, rows, results, kit->n / kit->horizon, kit->n_obs, ds_env_kit_back_one);
    }
    for (uint64_t k = 0; k < rows->count && status == DS_OK; k += DS_ENV_KIT_ROWS) {
        const uint64_t left = rows->count - k;
        status = ds_env_kit_back_many(kit, rows, results, k, left < DS_ENV_KIT_ROWS ? left : DS_ENV_KIT_ROWS);
    }
    return status;
}

/* ---- names of the variables ---- */

static inline void ds_env_variable_put(char text[DS_MAX_NAME + 1], const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(text, DS_MAX_NAME + 1, format, args);
    va_end(args);
}

static inline void ds_env_variable_unit(ds_env_variable *v, double size, const char *unit)
{
    if (fabs(size) > 0 && fabs(size - 1) > 0) {
        ds_env_variable_put(v->unit, "%.6g %s", size, unit);
    } else {
        ds_env_variable_put(v->unit, "%s", fabs(size) > 0 ? unit : "");
    }
}

static inline ds_status ds_env_kit_describe(void *self, uint64_t i, ds_variable *out)
{
    ds_env_kit *kit = (ds_env_kit *)self;
    const uint64_t all = kit->n + kit->hybrid.variables;
    ds_env_variable *v = &kit->described;
    if (i >= all) {
        return ds_host_fail(kit->host, DS_E_ARG, "variable %llu was requested, but there are %llu",
                            (unsigned long long)i, (unsigned long long)all);
    }
    memset(v, 0, sizeof *v);
    if (i < kit->n) {
        kit->env->variable(kit, i, v);
    } else {
        ds_hybrid_name(&kit->hybrid, i - kit->n, v->name, v->group, sizeof v->name);
    }
    out->flags = 0;
    out->name = v->name;
    out->unit = v->unit;
    out->group = v->group;
    return DS_OK;
}

/* ---- hook points ---- */

static inline void ds_env_kit_hook(ds_hook *out, uint64_t *count, uint32_t kind, uint64_t numbers,
                                   const char *name, const char *unit, const char *doc)
{
    const ds_hook hook = {
        .struct_size = sizeof *out, .kind = kind, .count = numbers, .name = name, .unit = unit, .doc = doc};
    out[(*count)++] = hook;
}

static inline ds_status ds_env_kit_hook_count(void *self, uint64_t *count)
{
    *count = ((const ds_env_kit *)self)->hooks;
    return DS_OK;
}

static inline ds_status ds_env_kit_describe_hook(void *self, uint64_t i, ds_hook *out)
{
    const ds_hook *h = &((const ds_env_kit *)self)->hook[i];
    out->kind = h->kind;
    out->count = h->count;
    out->name = h->name;
    out->unit = h->unit;
    out->doc = h->doc;
    return DS_OK;
}

/* ---- extensions ---- */

/* An extension that the kit provides: its id, the table for get_extension(), and whether an environment has
 * it. */
typedef struct ds_env_kit_offer {
    const char *id;
    const void *table;
    int is_offered;
} ds_env_kit_offer;

enum { DS_ENV_KIT_OWN = 6 }; /* extensions of the kit */

static inline void ds_env_kit_own_offers(const ds_env_table *env, ds_env_kit_offer out[DS_ENV_KIT_OWN])
{
    static const ds_env_channels channels = {.struct_size = sizeof channels,
                                             .count = ds_env_kit_channel_count,
                                             .describe = ds_env_kit_describe_channel};
    static const ds_env_steps steps = {.struct_size = sizeof steps,
                                       .info = ds_env_kit_steps_info,
                                       .begin = ds_env_kit_steps_begin,
                                       .step = ds_env_kit_steps_step};
    static const ds_env_steps_gradient steps_gradient = {.struct_size = sizeof steps_gradient,
                                                         .back = ds_env_kit_back};
    static const ds_env_variables variables = {.struct_size = sizeof variables,
                                               .describe = ds_env_kit_describe};
    static const ds_env_hooks hooks = {
        .struct_size = sizeof hooks, .count = ds_env_kit_hook_count, .describe = ds_env_kit_describe_hook};
    const ds_env_kit_offer offers[DS_ENV_KIT_OWN] = {
        {DS_EXT_SCENE, ds_scene_kit_table(), env->place != NULL},
        {DS_EXT_CHANNELS, &channels, env->channels != NULL},
        {DS_EXT_STEPS, &steps, env->act != NULL},
        {DS_EXT_STEPS_GRADIENT, &steps_gradient, env->act != NULL && env->back != NULL},
        {DS_EXT_VARIABLES, &variables, env->variable != NULL},
        {DS_EXT_HOOKS, &hooks, env->hook_points != NULL}};
    memcpy(out, offers, sizeof offers);
}

/* Does this instance have the extension, which depends on its parameters? */
static inline int ds_env_kit_has(const ds_env_kit *kit, const char *id)
{
    const ds_env_table *env = kit->env;
    if (strcmp(id, DS_EXT_CHANNELS) == 0) {
        return env->channels(kit) > 0;
    }
    if (strcmp(id, DS_EXT_HOOKS) == 0) {
        return kit->hooks > 0;
    }
    /* Weights are not actions: with networks, the variables are not the actions of control steps. */
    if (strcmp(id, DS_EXT_STEPS) == 0) {
        return kit->horizon > 0 && kit->hybrid.nets == 0;
    }
    if (strcmp(id, DS_EXT_STEPS_GRADIENT) == 0) {
        return kit->horizon > 0 && kit->hybrid.nets == 0 && (env->differentiable == NULL || env->differentiable(kit));
    }
    return 1;
}

static inline const void *ds_env_kit_extension(void *self, const char *id)
{
    const ds_env_table *env = ((const ds_env_kit *)self)->env;
    ds_env_kit_offer own[DS_ENV_KIT_OWN];
    ds_env_kit_own_offers(env, own);
    for (int i = 0; i < DS_ENV_KIT_OWN; i++) {
        if (own[i].is_offered && strcmp(id, own[i].id) == 0) {
            return ds_env_kit_has((const ds_env_kit *)self, id) ? own[i].table : NULL;
        }
    }
    return env->extension != NULL ? env->extension(self, id) : NULL;
}

/* ---- the plugin ---- */

/* Writes what ds_plugin_query() returns: the author's descriptor with all extensions in its list. */
static inline void ds_env_kit_fill(ds_env_kit_plugin *p, const ds_env_table *env, const ds_desc *desc,
                                   const ds_env_vtable *vtable)
{
    ds_env_kit_offer own[DS_ENV_KIT_OWN];
    uint32_t count = 0;
    ds_env_kit_own_offers(env, own);
    for (int i = 0; i < DS_ENV_KIT_OWN; i++) {
        if (own[i].is_offered) {
            p->offers[count++] = own[i].id;
        }
    }
    for (const char *const *id = desc->extensions; id != NULL && *id != NULL && count < DS_ENV_KIT_OFFERS;) {
        p->offers[count++] = *id++;
    }
    p->desc = *desc;
    p->desc.extensions = count > 0 ? p->offers : NULL;
    p->plugin.magic = DS_MAGIC;
    p->plugin.struct_size = sizeof(ds_plugin);
    p->plugin.abi_major = DS_ABI_MAJOR;
    p->plugin.abi_minor = DS_ABI_MINOR;
    p->plugin.layout = DS_LAYOUT;
    p->plugin.build = __VERSION__;
    p->plugin.desc = &p->desc;
    p->plugin.env = vtable;
}

/* Returns 1 to the one caller that has to write, and then call ds_env_kit_written(); makes all others wait
 * for it. */
static inline int ds_env_kit_must_write(atomic_uint *state)
{
    unsigned seen = 0;
    const int first = atomic_compare_exchange_strong(state, &seen, 1u);
    while (!first && atomic_load(state) != 2u) { /* less than a microsecond */
    }
    return first;
}

static inline void ds_env_kit_written(atomic_uint *state)
{
    atomic_store(state, 2u);
}

static inline const ds_plugin *ds_env_kit_query(ds_env_kit_plugin *p, const ds_env_table *env,
                                                const ds_desc *desc, const ds_env_vtable *vtable)
{
    if (ds_env_kit_must_write(&p->state)) {
        ds_env_kit_fill(p, env, desc, vtable);
        ds_env_kit_written(&p->state);
    }
    return &p->plugin;
}
