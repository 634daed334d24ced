/* SPDX-License-Identifier: Apache-2.0 */
/* diffsim/helper/evaluator.inl - the functions that diffsim/helper/evaluator.h declares; include that header.
 */

/* The structs of the binary interface for the queries of a request. */
typedef struct ds_evaluator_queries_ {
    ds_query query[DS_MAX_QUERIES];
    const ds_query *queries[DS_MAX_QUERIES];
    ds_reply reply[DS_MAX_QUERIES];
    const ds_reply *replies[DS_MAX_QUERIES];
} ds_evaluator_queries_;

static inline void ds_evaluator_open(ds_evaluator *e, const ds_host *host, const ds_problem *problem)
{
    memset(e, 0, sizeof *e);
    e->host = host;
    e->problem = problem;
    e->n = (size_t)problem->n;
}

static inline void ds_evaluator_begin(ds_evaluator *e, const ds_objective *objective)
{
    e->objective = objective;
}

static inline void ds_evaluator_close(ds_evaluator *e)
{
    free(e->x);
    e->x = NULL;
    e->rows = 0;
}

static inline int ds_evaluator_reserve(ds_evaluator *e, size_t rows)
{
    if (rows <= e->rows) {
        return 1;
    }
    double *x = rows <= SIZE_MAX / sizeof *x / e->n ? (double *)malloc(rows * e->n * sizeof *x) : NULL;
    if (x == NULL) {
        return 0;
    }
    free(e->x); /* its points belong to a finished request */
    e->x = x;
    e->rows = rows;
    return 1;
}

static inline void ds_evaluator_x(const ds_evaluator *e, const double *v, double *x)
{
    const ds_evaluator_start *s = e->start;
    if (s != NULL && s->v != NULL && v[0] == s->v[0] && memcmp(v, s->v, e->n * sizeof *v) == 0) {
        memcpy(x, s->x, e->n * sizeof *x);
    } else {
        ds_box_x_from_v(e->n, e->problem->lower, e->problem->upper, v, x);
    }
}

static inline const void *ds_evaluator_extension(const ds_evaluator *e, const char *id)
{
    const ds_objective *o = e->objective;
    return o->get_extension != NULL ? o->get_extension(o, id) : NULL;
}

static inline const ds_objective_channels *ds_evaluator_channels(const ds_evaluator *e)
{
    return (const ds_objective_channels *)ds_evaluator_extension(e, DS_EXT_OBJECTIVE_CHANNELS);
}

static inline const ds_objective_variables *ds_evaluator_variables(const ds_evaluator *e)
{
    return (const ds_objective_variables *)ds_evaluator_extension(e, DS_EXT_OBJECTIVE_VARIABLES);
}

static inline ds_status ds_evaluator_report(ds_evaluator *e, size_t count, const char *const *name,
                                            const double *value, const double *v)
{
    const ds_objective_progress *progress =
        (const ds_objective_progress *)ds_evaluator_extension(e, DS_EXT_OBJECTIVE_PROGRESS);
    ds_progress_report report;
    memset(&report, 0, sizeof report);
    report.struct_size = sizeof report;
    report.count = count;
    report.name = name;
    report.value = value;
    if (progress == NULL) {
        return DS_OK;
    }
    if (v != NULL) {
        if (!ds_evaluator_reserve(e, 1)) {
            return DS_E_NOMEM;
        }
        ds_evaluator_x(e, v, e->x);
        report.x = e->x;
    }
    return progress->report(e->objective, &report);
}

static inline const ds_channel *ds_evaluator_find(const ds_evaluator *e, uint32_t role, uint32_t type,
                                                  uint32_t ops, uint32_t *number)
{
    const ds_objective_channels *all = ds_evaluator_channels(e);
    for (uint32_t i = 0; all != NULL && i < all->count; i++) {
        const ds_channel *c = all->channel[i];
        if (c->role == role && c->type == type && (c->ops & ops) == ops) {
            *number = i;
            return c;
        }
    }
    return NULL;
}

/* Fills them in. A channel that does not exist gets 0 bytes: the host refuses it and says why. `kind` has
 * room for a number of each row. Private to this header. */
static inline void ds_evaluator_fill_(const ds_evaluator *e, const ds_evaluator_request *r,
                                      ds_evaluator_queries_ *to, uint32_t *kind)
{
    const ds_objective_channels *all = ds_evaluator_channels(e);
    for (size_t k = 0; k < r->queries; k++) {
        const ds_evaluator_query *q = &r->query[k];
        const ds_channel *channel = all != NULL && q->channel < all->count ? all->channel[q->channel] : NULL;
        const uint64_t elements = channel != NULL ? ds_channel_elements(channel) : 0;
        memset(&to->query[k], 0, sizeof to->query[k]);
        memset(&to->reply[k], 0, sizeof to->reply[k]);
        to->query[k].struct_size = sizeof to->query[k];
        to->query[k].op = q->op;
        to->query[k].channel = q->channel;
        to->query[k].v = q->v;
        to->query[k].w = q->w;
        to->query[k].v_stride = q->op == DS_QUERY_JTV ? elements : e->n;
        to->query[k].w_stride = elements;
        to->reply[k].struct_size = sizeof to->reply[k];
        to->reply[k].out = q->out;
        to->reply[k].bytes = channel != NULL ? ds_channel_bytes(channel, q->op, e->n) : 0;
        to->reply[k].stride = to->reply[k].bytes;
        to->reply[k].kind = q->op != DS_QUERY_VALUE ? kind : NULL; /* there is one product at most */
        to->queries[k] = &to->query[k];
        to->replies[k] = &to->reply[k];
    }
}

/* Sends a table with the queries of a request. Private to this header. */
static inline ds_status ds_evaluator_table_(ds_evaluator *e, ds_rows *rows, const ds_label *label,
                                            ds_results *results, ds_evaluator_request *r)
{
    ds_evaluator_queries_ q;
    uint64_t done = 0;
    uint32_t *kind = r->queries > 0 ? (uint32_t *)calloc(r->count, sizeof *kind) : NULL;
    if (r->queries > DS_MAX_QUERIES || (r->queries > 0 && kind == NULL)) {
        free(kind);
        return r->queries > DS_MAX_QUERIES
                   ? ds_host_fail(e->host, DS_E_ARG, "a request has %llu queries; send at most %u",
                                  (unsigned long long)r->queries, DS_MAX_QUERIES)
                   : ds_host_fail(e->host, DS_E_NOMEM, "out of memory for a request of %llu points",
                                  (unsigned long long)r->count);
    }
    ds_evaluator_fill_(e, r, &q, kind);
    rows->queries = r->queries;
    rows->query = r->queries > 0 ? q.queries : NULL;
    results->reply = r->queries > 0 ? q.replies : NULL;
    ds_status status = e->objective->evaluate(e->objective, rows, label, results, &done);
    for (size_t k = 0; k < r->queries; k++) {
        r->query[k].kind = (uint32_t)DS_GRAD_NONE;
        for (size_t row = 0; r->query[k].op != DS_QUERY_VALUE && row < done && r->query[k].kind == DS_GRAD_NONE;
             row++) {
            r->query[k].kind = kind[row];
        }
    }
    free(kind);
    r->done = status == DS_OK ? r->count : (status > 0 ? (size_t)done : 0);
    return status;
}

static inline ds_status ds_evaluator_send(ds_evaluator *e, ds_evaluator_label label, ds_evaluator_request *r)
{
    const ds_problem *p = e->problem;
    ds_rows rows;
    ds_label tag;
    ds_results results;
    r->done = 0;
    if (r->v != NULL && !ds_evaluator_reserve(e, r->count)) {
        return ds_host_fail(e->host, DS_E_NOMEM, "out of memory for a request of %llu points",
                            (unsigned long long)r->count);
    }
    for (size_t i = 0; r->v != NULL && i < r->count; i++) {
        ds_evaluator_x(e, r->v + i * e->n, e->x + i * e->n);
    }
    memset(&rows, 0, sizeof rows);
    rows.struct_size = sizeof rows;
    rows.want = r->gradient != NULL ? DS_WANT_GRAD : 0;
    rows.count = r->count;
    rows.n = rows.stride = e->n;
    rows.x = r->v != NULL ? e->x : r->x;
    memset(&tag, 0, sizeof tag);
    tag.struct_size = sizeof tag;
    tag.tag = label.tag;
    tag.group = label.group;
    tag.noise = r->noise;
    memset(&results, 0, sizeof results);
    results.struct_size = sizeof results;
    results.stride = e->n;
    results.loss = r->loss;
    results.grad = r->gradient;
    results.outcome = r->outcome;
    results.cost_steps = r->cost_steps;
    ds_status status = ds_evaluator_table_(e, &rows, &tag, &results, r);
    for (size_t i = 0; r->v != NULL && r->gradient != NULL && i < r->done; i++) {
        ds_box_gradient_to_v(e->n, p->lower, p->upper, r->gradient + i * e->n);
    }
    return status;
}

static inline ds_status ds_evaluator_run(ds_evaluator *e, ds_evaluator_label label, size_t count,
                                         const double *v, double *loss, double *gradient, uint32_t *outcome,
                                         size_t *done)
{
    ds_evaluator_request r;
    memset(&r, 0, sizeof r);
    r.count = count;
    r.v = v;
    r.loss = loss;
    r.gradient = gradient;
    r.outcome = outcome;
    ds_status status = ds_evaluator_send(e, label, &r);
    *done = r.done;
    return status;
}

static inline ds_status ds_evaluator_lanes_open(const ds_evaluator *e, ds_evaluator_lanes *l)
{
    memset(l, 0, sizeof *l);
    l->host = e->host;
    l->objective = e->objective;
    l->episodes = (const ds_objective_steps *)ds_evaluator_extension(e, DS_EXT_OBJECTIVE_STEPS);
    if (l->episodes == NULL) {
        return ds_host_fail(e->host, DS_E_UNSUPPORTED,
                            "this environment has no stepwise control (" DS_EXT_STEPS
                            "): take another optimizer");
    }
    l->info = l->episodes->info;
    l->count = (size_t)l->episodes->lanes;
    return DS_OK;
}

static inline ds_status ds_evaluator_lanes_differentiate(ds_evaluator_lanes *l)
{
    l->gradients = (const ds_objective_steps_gradient *)l->objective->get_extension(
        l->objective, DS_EXT_OBJECTIVE_STEPS_GRADIENT);
    return l->gradients != NULL
               ? DS_OK
               : ds_host_fail(l->host, DS_E_UNSUPPORTED,
                              "this environment has no gradients of stepwise control (" DS_EXT_STEPS_GRADIENT
                              "): take another optimizer, for example ppo");
}

/* Fills in the structs of the binary interface. Private to this header. */
static inline void ds_evaluator_rows_(const ds_evaluator_steps *s, ds_step_rows *rows,
                                      ds_step_results *results)
{
    memset(rows, 0, sizeof *rows);
    memset(results, 0, sizeof *results);
    rows->struct_size = sizeof *rows;
    rows->count = s->count;
    rows->lane = s->lane;
    rows->action = s->action;
    results->struct_size = sizeof *results;
    results->obs = s->obs;
    results->reward = s->reward;
    results->ended = s->ended;
    results->loss = s->loss;
    results->outcome = s->outcome;
}

static inline ds_status ds_evaluator_lanes_begin(const ds_evaluator_lanes *l, ds_evaluator_label label,
                                                 ds_evaluator_steps *s)
{
    ds_step_rows rows;
    ds_step_results results;
    ds_label tag;
    uint64_t done = 0;
    ds_evaluator_rows_(s, &rows, &results);
    memset(&tag, 0, sizeof tag);
    tag.struct_size = sizeof tag;
    tag.tag = label.tag;
    tag.group = label.group;
    ds_status status = l->episodes->begin(l->objective, &rows, &tag, &results, &done);
    s->done = status >= 0 ? (size_t)done : 0;
    return status;
}

static inline ds_status ds_evaluator_lanes_step(const ds_evaluator_lanes *l, ds_evaluator_steps *s)
{
    ds_step_rows rows;
    ds_step_results results;
    uint64_t done = 0;
    ds_evaluator_rows_(s, &rows, &results);
    ds_status status = l->episodes->step(l->objective, &rows, &results, &done);
    s->done = status >= 0 ? (size_t)done : 0;
    return status;
}

static inline ds_status ds_evaluator_lanes_back(const ds_evaluator_lanes *l, ds_evaluator_back *b)
{
    ds_back_rows rows;
    ds_back_results results;
    uint64_t done = 0;
    memset(&rows, 0, sizeof rows);
    memset(&results, 0, sizeof results);
    rows.struct_size = sizeof rows;
    rows.count = b->count;
    rows.lane = b->lane;
    rows.step = b->step;
    rows.reward_bar = b->reward_bar;
    rows.obs_bar = b->obs_bar;
    results.struct_size = sizeof results;
    results.action_bar = b->action_bar;
    results.outcome = b->outcome;
    return l->gradients->back(l->objective, &rows, &results, &done);
}
