/* SPDX-License-Identifier: Apache-2.0 */
/* diffsim/helper/eval.inl - the functions that diffsim/helper/eval.h declares; include that header. */

static inline ds_eval ds_eval_row(const ds_rows *rows, const ds_results *results, uint64_t k,
                                  ds_eval_query *query, ds_eval_query **list)
{
    ds_eval io;
    const uint64_t queries = rows->queries < DS_MAX_QUERIES ? rows->queries : DS_MAX_QUERIES;
    io.want = rows->want;
    io.outcome = DS_EVAL_OK;
    io.n = rows->n;
    io.x = rows->x + k * rows->stride;
    io.noise_key = rows->noise_key ? rows->noise_key[k] : 0;
    io.grad = (rows->want & DS_WANT_GRAD) && results->grad ? results->grad + k * results->stride : 0;
    io.loss = results->loss[k];
    io.bad_step = -1;
    io.cost_steps = 0;
    io.grad_kind = DS_GRAD_NONE;
    io.reserved = 0;
    io.queries = queries;
    io.query = list;
    for (uint64_t i = 0; i < queries; i++) {
        const ds_query *q = rows->query[i];
        const ds_reply *r = results->reply[i];
        query[i].op = q->op;
        query[i].channel = q->channel;
        query[i].kind = DS_GRAD_NONE;
        query[i].reserved = 0;
        query[i].v = q->v ? q->v + k * q->v_stride : 0;
        query[i].w = q->w ? q->w + k * q->w_stride : 0;
        query[i].out = (unsigned char *)r->out + k * r->stride;
        query[i].bytes = r->bytes;
        list[i] = &query[i];
    }
    return io;
}

static inline void ds_eval_store(const ds_eval *io, const ds_results *results, uint64_t k)
{
    results->loss[k] = io->loss;
    results->outcome[k] = io->outcome;
    results->grad_kind[k] = io->grad_kind;
    results->bad_step[k] = io->bad_step;
    results->cost_steps[k] = io->cost_steps;
    for (uint64_t i = 0; i < io->queries; i++) {
        results->reply[i]->kind[k] = io->query[i]->kind;
    }
}

static inline ds_status ds_eval_each(void *self, const ds_rows *rows, const ds_results *results,
                                     ds_status (*one)(void *self, ds_eval *io))
{
    ds_eval_query query[DS_MAX_QUERIES], *list[DS_MAX_QUERIES];
    ds_status status = DS_OK;
    for (uint64_t k = 0; k < rows->count && status == DS_OK; k++) {
        ds_eval io = ds_eval_row(rows, results, k, query, list);
        status = one(self, &io);
        ds_eval_store(&io, results, k);
    }
    return status;
}

static inline void ds_eval_table_of(ds_eval *io, ds_eval_table *t)
{
    const uint64_t count = io->queries < DS_MAX_QUERIES ? io->queries : DS_MAX_QUERIES;
    for (uint64_t i = 0; i < count; i++) {
        ds_eval_query *q = io->query[i];
        t->query[i].struct_size = sizeof t->query[i];
        t->query[i].op = q->op;
        t->query[i].channel = q->channel;
        t->query[i].reserved = 0;
        t->query[i].v = q->v;
        t->query[i].w = q->w;
        t->query[i].v_stride = t->query[i].w_stride = 0;
        t->reply[i].struct_size = sizeof t->reply[i];
        t->reply[i].reserved = 0;
        t->reply[i].out = q->out;
        t->reply[i].stride = q->bytes;
        t->reply[i].bytes = q->bytes;
        t->reply[i].kind = &q->kind;
        t->queries[i] = &t->query[i];
        t->replies[i] = &t->reply[i];
    }
    t->rows.struct_size = sizeof t->rows;
    t->rows.want = io->want;
    t->rows.count = 1;
    t->rows.n = t->rows.stride = io->n;
    t->rows.x = io->x;
    t->rows.noise_key = &io->noise_key;
    t->rows.queries = count;
    t->rows.query = count > 0 ? t->queries : 0;
    t->rows.memory = t->rows.device = 0;
    t->results.struct_size = sizeof t->results;
    t->results.reserved = 0;
    t->results.stride = io->n;
    t->results.loss = &io->loss;
    t->results.grad = io->grad;
    t->results.outcome = &io->outcome;
    t->results.grad_kind = &io->grad_kind;
    t->results.bad_step = &io->bad_step;
    t->results.cost_steps = &io->cost_steps;
    t->results.reply = count > 0 ? t->replies : 0;
}

static inline ds_status ds_eval_call(const ds_env_vtable *vt, void *self, ds_eval *io)
{
    ds_eval_table t;
    ds_eval_table_of(io, &t);
    return vt->evaluate(self, &t.rows, &t.results);
}

static inline ds_status
ds_step_begin_each(void *self, const ds_step_rows *rows, const ds_step_results *results, uint64_t n_obs,
                   ds_status (*one)(void *self, uint64_t lane, uint64_t noise_key, double *obs))
{
    ds_status status = DS_OK;
    for (uint64_t k = 0; k < rows->count && status == DS_OK; k++) {
        status = one(self, rows->lane[k], rows->noise_key ? rows->noise_key[k] : 0, results->obs + k * n_obs);
    }
    return status;
}

static inline ds_status ds_step_each(void *self, const ds_step_rows *rows, const ds_step_results *results,
                                     uint64_t n_act, uint64_t n_obs,
                                     ds_status (*one)(void *self, uint64_t lane, ds_step *io))
{
    ds_status status = DS_OK;
    for (uint64_t k = 0; k < rows->count && status == DS_OK; k++) {
        ds_step io = {
            DS_EVAL_OK, DS_STEPS_CONTINUES, rows->action + k * n_act, results->obs + k * n_obs, 0, 0, 0};
        status = one(self, rows->lane[k], &io);
        results->reward[k] = io.reward;
        results->ended[k] = io.ended;
        results->loss[k] = io.loss;
        results->outcome[k] = io.outcome;
        results->cost_steps[k] = io.cost_steps;
    }
    return status;
}

static inline ds_status ds_back_each(void *self, const ds_back_rows *rows, const ds_back_results *results,
                                     uint64_t n_act, uint64_t n_obs,
                                     ds_status (*one)(void *self, uint64_t lane, ds_back *io))
{
    ds_status status = DS_OK;
    for (uint64_t k = 0; k < rows->count && status == DS_OK; k++) {
        ds_back io = {rows->step[k],
                      rows->reward_bar[k],
                      rows->obs_bar + k * n_obs,
                      results->action_bar + k * n_act,
                      rows->begins[k],
                      DS_EVAL_OK,
                      0};
        status = one(self, rows->lane[k], &io);
        results->outcome[k] = io.outcome;
        results->cost_steps[k] = io.cost_steps;
    }
    return status;
}

static inline ds_status ds_step_begin_call(const ds_env_steps *table, void *self, uint64_t lane,
                                           uint64_t noise_key, double *obs, uint32_t *outcome)
{
    double reward = 0, loss = 0;
    uint32_t ended = DS_STEPS_CONTINUES, own = DS_EVAL_OK;
    uint64_t cost = 0;
    const ds_step_rows rows = {sizeof rows, 0, 1, &lane, &noise_key, 0};
    const ds_step_results results = {sizeof results, 0, obs, &reward, &ended, &loss, &own, &cost};
    const ds_status status = table->begin(self, &rows, &results);
    if (outcome) {
        *outcome = own;
    }
    return status;
}

static inline ds_status ds_step_call(const ds_env_steps *table, void *self, uint64_t lane, ds_step *io)
{
    const ds_step_rows rows = {sizeof rows, 0, 1, &lane, 0, io->action};
    const ds_step_results results = {sizeof results, 0,         io->obs,      &io->reward,
                                     &io->ended,     &io->loss, &io->outcome, &io->cost_steps};
    return table->step(self, &rows, &results);
}

static inline ds_status ds_back_call(const ds_env_steps_gradient *table, void *self, uint64_t lane,
                                     ds_back *io)
{
    const ds_back_rows rows = {sizeof rows,     0,          1, &lane, &io->step, &io->begins,
                               &io->reward_bar, io->obs_bar};
    const ds_back_results results = {sizeof results, 0, io->action_bar, &io->outcome, &io->cost_steps};
    return table->back(self, &rows, &results);
}
