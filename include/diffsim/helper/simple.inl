/* SPDX-License-Identifier: Apache-2.0 */
/* diffsim/helper/simple.inl - the functions of simple.h, which includes it: the table of env_kit.h for a
 * ds_simple_env. */

/* An instance. */
typedef struct ds_simple {
    ds_env_kit kit; /* first */
    const ds_simple_env *env;
    ds_simple_episode base; /* fields that all episodes share; state, step and noise of the open one */
    void *data;
    ds_simple_channel *channel;
    ds_things things;
    double loss;            /* stepwise control: the loss so far */
    ds_simple_episode *row; /* of one call of rows(): max_rows each */
    double *row_loss;
} ds_simple;

static inline double ds_simple_squares(const ds_simple_episode *e, uint64_t k, uint64_t count)
{
    const ds_simple_channel *c = &e->channel[k];
    double sum = 0;
    for (uint64_t j = 0; j < e->n && e->grad != NULL; j++) {
        e->grad[j] = 0;
    }
    for (uint64_t i = 0; i < count; i++) {
        sum += c->value[i] * c->value[i];
        for (uint64_t j = 0; j < e->n && e->grad != NULL; j++) {
            e->grad[j] += 2 * c->value[i] * c->jacobian[i * e->n + j];
        }
    }
    return sum;
}

/* ---- an instance ---- */

/* The numbers of a schema, in its order. */
static inline const double *ds_simple_numbers(ds_memory *memory, ds_param_reader *in,
                                              const ds_param *const *params)
{
    uint64_t count = 0;
    while (params != NULL && params[count] != NULL) {
        count++;
    }
    double *value = ds_memory_doubles(memory, (size_t)count);
    for (uint64_t i = 0; value != NULL && i < count; i++) {
        const uint32_t type = params[i]->type;
        if (type == DS_PARAM_REAL) {
            value[i] = ds_param_real(in, params[i]->name);
        } else if (type == DS_PARAM_BOOL || type == DS_PARAM_INT || type == DS_PARAM_ENUM) {
            value[i] = (double)ds_param_int(in, params[i]->name);
        }
    }
    return value;
}

/* Makes the author's data. */
static inline void ds_simple_run_setup(ds_simple *s, ds_param_reader *in)
{
    const ds_simple_env *env = s->env;
    ds_env_kit *kit = &s->kit;
    ds_simple_setup setup = {.in = in,
                             .param = s->base.param,
                             .memory = &kit->memory,
                             .n = kit->n,
                             .steps = kit->steps,
                             .dt = kit->dt};
    if (env->data_size > 0) {
        s->data = ds_memory_take(&kit->memory, 1, env->data_size);
        setup.data = s->data;
        s->base.data = s->data;
    }
    if (in->status == DS_OK && !kit->memory.failed && env->setup != NULL) {
        env->setup(&setup);
        kit->n = setup.n;
        kit->steps = setup.steps;
        kit->dt = setup.dt;
    }
}

/* ds_env_table.read. */
static inline void ds_simple_read(void *self, ds_param_reader *in)
{
    ds_simple *s = (ds_simple *)self;
    ds_env_kit *kit = &s->kit;
    const ds_simple_env *env = ((const ds_simple_plugin *)(const void *)kit->env)->env;
    s->env = env;
    kit->n = env->n;
    kit->steps = env->steps > 0 ? env->steps : 1;
    kit->dt = env->dt;
    kit->max_rows = env->max_rows > 0 ? env->max_rows : DS_SIMPLE_ROWS;
    kit->loss_floor = env->nonnegative ? 0 : -INFINITY;
    kit->grad_kind = env->grad_kind != DS_GRAD_NONE ? env->grad_kind : (uint32_t)DS_GRAD_ADJOINT;
    s->base.param = ds_simple_numbers(&kit->memory, in, env->params);
    ds_simple_run_setup(s, in);
    if (env->step != NULL) {
        kit->horizon = kit->steps;
        kit->n = kit->n > 0 ? kit->n : kit->steps * env->n_act;
        kit->n_obs = env->n_obs;
        kit->control_dt = kit->dt;
        kit->time_limit = env->time_limit;
    }
    s->base.n = kit->n;
    s->base.steps = kit->steps;
    if (in->status == DS_OK && (kit->n == 0 || (env->loss == NULL && env->step == NULL))) {
        in->status = ds_host_fail(in->host, DS_E_PARAM, "%s: set %s of ds_simple_env", env->id,
                                  kit->n == 0 ? "n" : "loss or step");
    }
    if (in->status == DS_OK && env->step != NULL && kit->n != kit->steps * env->n_act) {
        in->status =
            ds_host_fail(in->host, DS_E_PARAM, "%s: n of ds_simple_env is not steps x n_act", env->id);
    }
}

/* Allocates the values and the Jacobians of the channels. */
static inline void ds_simple_open_channels(ds_simple *s)
{
    const size_t row = (size_t)s->kit.n * sizeof(double); /* of a Jacobian */
    const ds_channel *const *list = s->env->channels;
    uint64_t count = 0;
    while (list != NULL && list[count] != NULL) {
        count++;
    }
    s->channel = (ds_simple_channel *)ds_memory_take(&s->kit.memory, (size_t)count, sizeof *s->channel);
    for (uint64_t k = 0; s->channel != NULL && k < count; k++) {
        ds_simple_channel *c = &s->channel[k];
        const size_t elements = (size_t)ds_channel_elements(list[k]);
        if (list[k]->type == DS_TYPE_F32) {
            c->pixel = (float *)ds_memory_take(&s->kit.memory, elements, sizeof *c->pixel);
        } else {
            c->value = ds_memory_doubles(&s->kit.memory, elements);
        }
        if ((list[k]->ops & DS_SIMPLE_PRODUCTS_) != 0) {
            c->jacobian = (double *)ds_memory_take(&s->kit.memory, elements, row);
        }
    }
    s->base.channel = s->channel;
}

/* ds_env_table.allocate. */
static inline ds_status ds_simple_allocate(void *self)
{
    ds_simple *s = (ds_simple *)self;
    const ds_simple_env *env = s->env;
    ds_simple_open_channels(s);
    s->base.state = ds_memory_doubles(&s->kit.memory, (size_t)env->n_state);
    if (env->rows != NULL) {
        s->row = (ds_simple_episode *)ds_memory_take(&s->kit.memory, (size_t)s->kit.max_rows, sizeof *s->row);
        s->row_loss = ds_memory_doubles(&s->kit.memory, (size_t)s->kit.max_rows);
    }
    return env->kinds == 0 ? DS_OK
                           : ds_things_open(&s->things, s->kit.host, &s->kit.memory, env->things, env->kinds,
                                            s->kit.steps + 1);
}

/* ds_env_table.release. */
static inline void ds_simple_release(void *self)
{
    const ds_simple *s = (const ds_simple *)self;
    if (s->data != NULL) {
        s->env->release(s->data);
    }
}

/* ---- variables ---- */

static inline void ds_simple_range(const void *self, uint64_t i, double *lower, double *upper, double *start)
{
    const ds_simple *s = (const ds_simple *)self;
    const ds_simple_env *env = s->env;
    *lower = env->variables != NULL ? env->variables[i].lower : env->lower;
    *upper = env->variables != NULL ? env->variables[i].upper : env->upper;
    *start = env->variables != NULL ? env->variables[i].start : env->start;
    if (env->range != NULL) {
        env->range(&s->base, i, lower, upper, start);
    }
}

static inline void ds_simple_describe_variable(const void *self, uint64_t i, ds_env_variable *out)
{
    const ds_simple *s = (const ds_simple *)self;
    if (s->env->variables != NULL) {
        const ds_simple_variable *v = &s->env->variables[i];
        ds_env_variable_put(out->name, "%s", v->name);
        ds_env_variable_put(out->unit, "%s", v->unit != NULL ? v->unit : "");
        ds_env_variable_put(out->group, "%s", v->group != NULL ? v->group : "");
    }
    if (s->env->variable != NULL) {
        s->env->variable(&s->base, i, out);
    }
}

/* ---- stepwise control ---- */

/* Begins an episode. */
static inline void ds_simple_begin_episode(ds_simple *s, uint64_t noise_key)
{
    memset(s->base.state, 0, (size_t)s->env->n_state * sizeof *s->base.state);
    s->base.noise_key = noise_key;
    s->base.step = 0;
    s->loss = 0;
    s->env->reset(&s->base);
}

/* Takes a step and returns what it costs. */
static inline double ds_simple_advance(ds_simple *s, const double *action)
{
    const double cost = s->env->step(&s->base, action);
    s->loss += cost;
    s->base.step++;
    return cost;
}

static inline ds_status ds_simple_begin(void *self, uint64_t noise_key)
{
    ds_simple_begin_episode((ds_simple *)self, noise_key);
    return DS_OK;
}

static inline void ds_simple_observe(const void *self, double *obs)
{
    const ds_simple *s = (const ds_simple *)self;
    s->env->observe(&s->base, obs);
}

static inline ds_status ds_simple_act(void *self, uint64_t k, ds_step *io)
{
    ds_simple *s = (ds_simple *)self;
    (void)k;
    for (uint64_t i = 0; i < s->env->n_act; i++) {
        if (!isfinite(io->action[i])) {
            return ds_host_fail(s->kit.host, DS_E_ARG, "number %d of the action is not finite", (int)i);
        }
    }
    io->reward = -ds_simple_advance(s, io->action);
    io->outcome = isfinite(s->loss) ? DS_EVAL_OK : DS_EVAL_DIVERGED;
    io->loss = s->loss;
    io->cost_steps = 1;
    return DS_OK;
}

/* All steps of an episode with the actions x. */
static inline double ds_simple_all_steps(ds_simple *s, const double *x, ds_eval *io)
{
    ds_simple_begin_episode(s, io->noise_key);
    while (s->base.step < s->kit.steps && isfinite(s->loss)) {
        ds_simple_advance(s, x + s->base.step * s->env->n_act);
    }
    io->cost_steps = s->base.step;
    io->bad_step = (int64_t)s->base.step - 1; /* the kit ignores it where the loss is finite */
    return s->loss;
}

/* the kit ignores it if the loss is finite */

/* Are all elements of all channels finite? If not, the episode diverged, whichever channels are queried: the
 * outcome does not depend on the queries. */
static inline int ds_simple_channels_finite(const ds_simple *s)
{
    int finite = 1;
    for (uint64_t k = 0; s->env->channels != NULL && s->env->channels[k] != NULL; k++) {
        const ds_simple_channel *c = &s->channel[k];
        for (uint64_t i = ds_channel_elements(s->env->channels[k]); i-- > 0;) {
            finite = finite && isfinite(c->value != NULL ? c->value[i] : (double)c->pixel[i]);
        }
    }
    return finite;
}

static inline int ds_simple_wants_gradient(const ds_simple *s, const ds_eval *io)
{
    return (io->want & DS_WANT_GRAD) != 0 && (s->env->flags & DS_ENV_GRADIENT) != 0;
}

static inline ds_status ds_simple_simulate(void *self, ds_eval *io)
{
    ds_simple *s = (ds_simple *)self;
    const int graded = ds_simple_wants_gradient(s, io);
    if (s->env->kinds > 0) {
        ds_things_watch((io->want & DS_WANT_SCENE) != 0 ? &s->things : NULL);
    }
    if (s->env->loss != NULL) {
        ds_simple_episode e = s->base;
        e.x = io->x;
        e.grad = graded ? io->grad : NULL;
        e.noise_key = io->noise_key;
        io->loss = s->env->loss(&e);
        io->grad_kind = graded ? s->kit.grad_kind : (uint32_t)DS_GRAD_NONE;
    } else {
        io->loss = ds_simple_all_steps(s, io->x, io);
    }
    ds_things_watched = NULL;
    if (s->env->channels != NULL && isfinite(io->loss) && !ds_simple_channels_finite(s)) {
        io->loss = INFINITY;
    }
    return DS_OK;
}

static inline ds_status ds_simple_rows(void *self, uint64_t count, ds_eval *const *io)
{
    ds_simple *s = (ds_simple *)self;
    for (uint64_t k = 0; k < count; k++) {
        s->row[k] = s->base;
        s->row[k].x = io[k]->x;
        s->row[k].grad = ds_simple_wants_gradient(s, io[k]) ? io[k]->grad : NULL;
        s->row[k].noise_key = io[k]->noise_key;
        s->row[k].channel = NULL;
    }
    s->env->rows(s->row, count, s->row_loss);
    for (uint64_t k = 0; k < count; k++) {
        io[k]->loss = s->row_loss[k];
        io[k]->grad_kind = s->row[k].grad != NULL ? s->kit.grad_kind : (uint32_t)DS_GRAD_NONE;
    }
    return DS_OK;
}

/* ---- channels ---- */

static inline uint64_t ds_simple_channels(const void *self)
{
    uint64_t count = 0;
    while (((const ds_simple *)self)->env->channels[count] != NULL) {
        count++;
    }
    return count;
}

static inline void ds_simple_describe_channel(const void *self, uint64_t i, ds_channel *out)
{
    ds_scene_kit_fill(out, ((const ds_simple *)self)->env->channels[i], sizeof *out);
}

/* Serves a query from what the episode has written. */
static inline ds_status ds_simple_answer(void *self, ds_eval *io, ds_eval_query *ask)
{
    const ds_simple *s = (const ds_simple *)self;
    const ds_simple_channel *c = &s->channel[ask->channel];
    const uint64_t elements = ds_channel_elements(s->env->channels[ask->channel]), n = io->n;
    double *out = (double *)ask->out;
    if (ask->op == DS_QUERY_VALUE) {
        memcpy(ask->out, c->value != NULL ? (const void *)c->value : c->pixel, (size_t)ask->bytes);
        return DS_OK;
    }
    ask->kind = s->kit.grad_kind;
    memset(out, 0, (size_t)ask->bytes);
    for (uint64_t i = 0; i < elements; i++) {
        for (uint64_t j = 0; j < n; j++) {
            const double d = c->jacobian[i * n + j];
            out[ask->op == DS_QUERY_JV ? i : j] += d * ask->v[ask->op == DS_QUERY_JV ? j : i];
        }
    }
    return DS_OK;
}

/* ---- scene ---- */

static inline void ds_simple_bodies(void *self, ds_scene_kit *scene)
{
    ds_things_add(&((const ds_simple *)self)->things, scene);
}

static inline void ds_simple_place(const void *self, uint64_t k, uint64_t b, double *out)
{
    ds_things_place(&((const ds_simple *)self)->things, k, b, out);
}

static inline void ds_simple_measure(void *self, uint64_t k, double *out)
{
    ds_simple *s = (ds_simple *)self;
    (void)out;
    ds_things_measure(&s->things, &s->kit.scene, k);
}

/* ---- the plugin ---- */

/* The table for the features that an environment has. */
static inline ds_env_table ds_simple_env_table(const ds_simple_env *env)
{
    const int seen = env->kinds > 0, stepwise = env->step != NULL, channels = env->channels != NULL;
    const ds_env_table table = {
        .size = sizeof(ds_simple),
        .read = ds_simple_read,
        .allocate = ds_simple_allocate,
        .release = env->release != NULL ? ds_simple_release : NULL,
        .range = ds_simple_range,
        .variable = env->variables != NULL || env->variable != NULL ? ds_simple_describe_variable : NULL,
        .simulate = ds_simple_simulate,
        .rows = env->rows != NULL ? ds_simple_rows : NULL,
        .bodies = seen ? ds_simple_bodies : NULL,
        .place = seen ? ds_simple_place : NULL,
        .measure = seen ? ds_simple_measure : NULL,
        .begin = stepwise ? ds_simple_begin : NULL,
        .observe = stepwise ? ds_simple_observe : NULL,
        .act = stepwise ? ds_simple_act : NULL,
        .channels = channels ? ds_simple_channels : NULL,
        .channel = channels ? ds_simple_describe_channel : NULL,
        .answer = channels ? ds_simple_answer : NULL};
    return table;
}

static inline ds_desc ds_simple_env_desc(const ds_simple_env *env)
{
    const char *version = env->version != NULL ? env->version : DS_SIMPLE_VERSION;
    const char *license = env->license != NULL ? env->license : DS_SIMPLE_LICENSE;
    const ds_desc desc = {DS_ENV_KIT_DESC(env->id, version, license, env->params), .flags = env->flags,
                          .summary = env->summary,
                          .description = env->description != NULL ? env->description : DS_SIMPLE_DESCRIPTION,
                          .citation = env->citation != NULL ? env->citation : ""};
    return desc;
}

static inline const ds_plugin *ds_simple_query(ds_simple_plugin *p, const ds_env_vtable *vtable)
{
    if (ds_env_kit_must_write(&p->kit.state)) {
        p->table = ds_simple_env_table(p->env);
        p->desc = ds_simple_env_desc(p->env);
        ds_env_kit_fill(&p->kit, &p->table, &p->desc, vtable);
        ds_env_kit_written(&p->kit.state);
    }
    return &p->kit.plugin;
}
