/* SPDX-License-Identifier: Apache-2.0 */
/* test_env_kit.c - the public headers memory.h, scene_kit.h, env_kit.h, things.h and simple.h: every feature
 * of the short form combines with every other, the descriptor lists exactly what is there, errors reach the
 * host, tables grow. */
#include "test.h"

#include <diffsim/helper/simple.h>
#include <pthread.h>

/* ---- a host ---- */

typedef struct fixture {
    ds_host host;
    char error[512];
} fixture;

static void host_error(const ds_host *host, ds_status status, const char *line)
{
    fixture *f = host->ctx;
    (void)status;
    snprintf(f->error, sizeof f->error, "%s", line);
}

static ds_status host_int(const ds_host *host, const char *name, int64_t *out)
{
    *out = strcmp(name, "choice") == 0 ? 2 : 1;
    return DS_OK;
}

static ds_status host_real(const ds_host *host, const char *name, double *out)
{
    *out = 0.25;
    return DS_OK;
}

static ds_status host_text(const ds_host *host, const char *name, const char **out)
{
    *out = "a text";
    return DS_OK;
}

static ds_status host_list(const ds_host *host, const char *name, const double **out, uint64_t *count)
{
    static const double values[] = {1, 2, 3, 4};
    (void)host, (void)name;
    *out = values;
    *count = 4;
    return DS_OK;
}

static ds_status host_array(const ds_host *host, const char *name, const double **data, uint64_t *ndim,
                            uint64_t shape[8])
{
    static const double values[] = {5, 6};
    (void)host, (void)name;
    *data = values;
    *ndim = 1;
    shape[0] = 2;
    return DS_OK;
}

static void open_host(fixture *f)
{
    *f = (fixture){.host = {.struct_size = sizeof f->host,
                            .abi_minor = DS_ABI_MINOR,
                            .threads = 1,
                            .error = host_error,
                            .get_int = host_int,
                            .get_real = host_real,
                            .get_text = host_text,
                            .get_list = host_list,
                            .get_array = host_array}};
    f->host.ctx = f;
}

/* ---- instances of a ds_simple_env ---- */

static const ds_env_vtable no_vtable;

static ds_status try_open(fixture *f, ds_simple_plugin *p, void **self)
{
    open_host(f);
    *self = NULL;
    ds_simple_query(p, &no_vtable);
    return ds_env_kit_create(&p->table, &f->host, self);
}

static void *open_env(fixture *f, ds_simple_plugin *p)
{
    void *self;
    const ds_status status = try_open(f, p, &self);
    if (status != DS_OK) {
        fail_msg("create: %s", f->error);
    }
    return self;
}

/* create() refuses the environment with `word` in its message. */
static void refuses(const ds_simple_env *env, const char *word)
{
    ds_simple_plugin p = {.env = env};
    fixture f;
    void *self;
    assert_int_equal(try_open(&f, &p, &self), DS_E_PARAM);
    assert_null(self);
    if (strstr(f.error, word) == NULL) {
        fail_msg("'%s' instead of '%s'", f.error, word);
    }
}

static ds_eval evaluate(const ds_simple_plugin *p, void *self, const double *x, uint64_t n, double *grad)
{
    ds_eval io = {.want = grad ? DS_WANT_GRAD : 0, .n = n, .x = x, .grad = grad};
    assert_int_equal(ds_env_kit_evaluate(&p->table, self, &io), DS_OK);
    return io;
}

/* ---- a bowl: loss = sum of (x_i - 1)^2, which steps take one by one ---- */

enum { N = 3, MANY = 150 };
static const double start[N] = {0.5, -0.25, 2};
static uint64_t rows_calls, loss_calls;

static double bowl(const ds_simple_episode *e)
{
    double sum = 0;
    loss_calls++;
    for (uint64_t i = 0; i < N; i++) {
        const double miss = e->x[i] - 1;
        ds_see(i, 0, e->x[i], 0, 0);
        ds_see(i, 1, 0, 1, 0);
        sum += miss * miss;
        if (e->grad != NULL) {
            e->grad[i] = 2 * miss;
        }
        if (e->channel != NULL && e->channel[0].value != NULL) {
            e->channel[0].value[i] = miss;
            e->channel[0].jacobian[i * N + i] = 1;
        }
    }
    ds_see(N, 0, sum, 0, 0);
    return sum;
}

static double bowl_without_channels(const ds_simple_episode *e)
{
    ds_simple_episode without = *e;
    without.channel = NULL;
    return bowl(&without);
}

static void bowl_rows(const ds_simple_episode *e, uint64_t count, double *loss)
{
    rows_calls++;
    assert_true(count >= 1 && count <= MANY);
    for (uint64_t k = 0; k < count; k++) {
        assert_null(e[k].channel);
        loss[k] = bowl_without_channels(&e[k]);
    }
}

static void bowl_reset(const ds_simple_episode *e)
{
    assert_true(e->state[0] == 0);
}

static double bowl_step(const ds_simple_episode *e, const double *action)
{
    assert_true(e->state[0] == (double)e->step);
    e->state[0] += 1;
    return (action[0] - 1) * (action[0] - 1);
}

static void bowl_observe(const ds_simple_episode *e, double *obs)
{
    obs[0] = e->state[0];
}

static const ds_channel *const bowl_channels[] = {DS_RESIDUALS("misses", N, "m", "Of 1."), NULL};
static const ds_simple_variable bowl_variables[N] = {
    {"push.1", "N", "push", -1, 2, 0.5}, {"push.2", "N", "push", -2, 2, 0}, {"push.3", NULL, NULL, -3, 3, 0}};
static const ds_thing bowl_things[] = {DS_THING("ball", DS_BODY_SPHERE, DS_ROLE_MATERIAL, 0.1),
                                       DS_THING("goal", DS_BODY_BOX, DS_ROLE_TARGET, 0.1, 0.1, 0.1),
                                       DS_LINK("string", DS_ROLE_MATERIAL, 0, 1, 0.01)};

/* ---- all combinations of features ---- */

enum { VARIABLES = 1, SCENE = 2, CHANNELS = 4, STEPS = 8, ROWS = 16, COMBINATIONS = 32 };

static ds_simple_env combine(unsigned features)
{
    ds_simple_env env = {.id = "bowl",
                         .summary = "A bowl.",
                         .flags = DS_ENV_GRADIENT,
                         .n = N,
                         .lower = -1,
                         .upper = 1,
                         .start = 0.5,
                         .steps = N,
                         .dt = 0.1,
                         .nonnegative = 1,
                         .loss = features & CHANNELS ? bowl : bowl_without_channels};
    env.variables = features & VARIABLES ? bowl_variables : NULL;
    env.things = features & SCENE ? bowl_things : NULL;
    env.kinds = features & SCENE ? 3 : 0;
    env.channels = features & CHANNELS ? bowl_channels : NULL;
    env.rows = features & ROWS ? bowl_rows : NULL;
    env.max_rows = MANY;
    if (features & STEPS) {
        env.n_act = env.n_obs = env.n_state = 1;
        env.reset = bowl_reset;
        env.step = bowl_step;
        env.observe = bowl_observe;
    }
    return env;
}

static int lists(const ds_desc *desc, const char *id)
{
    for (const char *const *at = desc->extensions; at != NULL && *at != NULL; at++) {
        if (strcmp(*at, id) == 0) {
            return 1;
        }
    }
    return 0;
}

/* The descriptor lists the extension and the instance returns it exactly where the feature is present. */
static const void *offers(const ds_desc *desc, void *self, const char *id, int expected)
{
    const void *table = ds_env_kit_extension(self, id);
    assert_int_equal(lists(desc, id), expected);
    assert_int_equal(table != NULL, expected);
    return table;
}

/* A camera appears in the info; a host that does not know cameras gets the other fields only. */
static void play_camera(const ds_scene *scene, void *self, ds_scene_info info)
{
    const ds_scene_kit_camera none = {.given = 0}, from = {.given = 1, .azimuth = 40, .elevation = -5};
    ds_scene_info old;
    assert_int_equal(info.camera, 0);
    ds_scene_kit_view(self, &from);
    assert_int_equal(scene->info(self, &info), DS_OK);
    assert_true(info.camera == 1 && info.azimuth == 40 && info.elevation == -5);
    memset(&old, 0x5a, sizeof old);
    old.struct_size = DS_SCENE_INFO_SIZE_1_0;
    assert_int_equal(scene->info(self, &old), DS_OK);
    assert_int_equal(old.bodies, info.bodies);
    assert_int_equal(old.camera, 0x5a5a5a5a);
    ds_scene_kit_view(self, &none);
    assert_int_equal(scene->info(self, &info), DS_OK);
    assert_int_equal(info.camera, 0);
}

static void play_scene(const ds_scene *scene, const ds_simple_plugin *p, void *self)
{
    ds_scene_info info = {.struct_size = sizeof info};
    ds_scene_body body = {.struct_size = sizeof body};
    double grad[N], pose[7], ends[6];
    ds_eval io = {.want = DS_WANT_SCENE, .n = N, .x = start, .grad = grad};
    assert_int_equal(scene->info(self, &info), DS_E_STATE);
    assert_int_equal(ds_env_kit_evaluate(&p->table, self, &io), DS_OK);
    assert_int_equal(scene->info(self, &info), DS_OK);
    assert_int_equal(info.frames, N + 1);
    assert_int_equal(info.bodies, 3);
    assert_int_equal(info.flat, 1);
    assert_true(info.box[0] < -0.25 && info.box[3] > 2 && info.box[4] > 1);
    play_camera(scene, self, info);
    assert_int_equal(scene->body(self, 2, &body), DS_OK);
    assert_string_equal(body.name, "string");
    assert_int_equal(body.index_count, 2);
    assert_int_equal(scene->frame(self, 2, 0, 6, pose), DS_E_ARG);
    assert_int_equal(scene->frame(self, 2, 0, 7, pose), DS_OK);
    assert_true(pose[0] == start[2] && pose[3] == 1);
    assert_int_equal(scene->frame(self, N, 1, 7, pose), DS_OK); /* a target stays at its position for 0 */
    assert_true(pose[1] == 1);
    assert_int_equal(scene->frame(self, 1, 2, 6, ends), DS_OK);
    assert_true(ends[0] == start[1] && ends[4] == 1);
    evaluate(p, self, start, N, NULL);
    assert_int_equal(scene->info(self, &info), DS_E_STATE);
}

static void ask_channels(const ds_env_channels *channels, const ds_simple_plugin *p, void *self)
{
    static const double v[N] = {1, 10, 100};
    double value[N], jv[N], grad[N];
    uint64_t count;
    ds_channel c = {.struct_size = sizeof c};
    assert_int_equal(channels->count(self, &count), DS_OK);
    assert_int_equal(count, 1);
    assert_int_equal(channels->describe(self, 0, &c), DS_OK);
    assert_int_equal(c.shape[0], N);
    assert_string_equal(c.unit, "m");
    ds_eval_query values = {.op = DS_QUERY_VALUE, .out = value, .bytes = sizeof value};
    ds_eval_query product = {.op = DS_QUERY_JTV, .v = v, .out = jv, .bytes = sizeof jv};
    ds_eval_query *const ask[] = {&values, &product};
    ds_eval io = {.want = DS_WANT_GRAD, .n = N, .x = start, .grad = grad, .queries = 2, .query = ask};
    assert_int_equal(ds_env_kit_evaluate(&p->table, self, &io), DS_OK);
    assert_int_equal(product.kind, DS_GRAD_ADJOINT);
    for (int i = 0; i < N; i++) {
        assert_true(value[i] == start[i] - 1 && jv[i] == v[i]);
    }
}

static void take_steps(const ds_env_steps *rl, void *self, double loss)
{
    double obs, sum = 0;
    ds_steps_info info = {.struct_size = sizeof info};
    assert_int_equal(rl->info(self, &info), DS_OK);
    assert_int_equal(info.horizon, N);
    assert_int_equal(info.n_act, 1);
    assert_int_equal(ds_step_begin_call(rl, self, 0, 0, &obs, NULL), DS_OK);
    for (int k = 0; k < N; k++) {
        ds_step io = {.action = &start[k], .obs = &obs};
        assert_int_equal(ds_step_call(rl, self, 0, &io), DS_OK);
        assert_int_equal(io.ended, k + 1 < N ? DS_STEPS_CONTINUES : DS_STEPS_TERMINATED);
        assert_true(obs == k + 1);
        sum += io.reward;
        assert_true(k + 1 < N || io.loss == loss);
    }
    assert_true(sum == -loss);
}

/* `MANY` points in one call. */
static void evaluate_rows(const ds_simple_plugin *p, void *self)
{
    enum { GAP = 2 };
    static double x[MANY][N + GAP], grad[MANY][N + GAP], loss[MANY];
    static uint32_t outcome[MANY], kind[MANY];
    static int64_t bad[MANY];
    static uint64_t cost[MANY];
    for (int k = 0; k < MANY; k++) {
        for (int i = 0; i < N; i++) {
            x[k][i] = 0.01 * k - i;
        }
    }
    const ds_rows rows = {.struct_size = sizeof rows,
                          .want = DS_WANT_GRAD,
                          .count = MANY,
                          .n = N,
                          .stride = N + GAP,
                          .x = x[0]};
    const ds_results results = {.struct_size = sizeof results,
                                .stride = N + GAP,
                                .loss = loss,
                                .grad = grad[0],
                                .outcome = outcome,
                                .grad_kind = kind,
                                .bad_step = bad,
                                .cost_steps = cost};
    rows_calls = 0;
    assert_int_equal(ds_env_kit_evaluate_table(&p->table, self, &rows, &results), DS_OK);
    assert_int_equal(rows_calls, 1);
    for (int k = 0; k < MANY; k++) {
        double alone[N];
        const ds_eval one = evaluate(p, self, x[k], N, alone);
        assert_true(loss[k] == one.loss && outcome[k] == DS_EVAL_OK && cost[k] == one.cost_steps);
        assert_int_equal(kind[k], DS_GRAD_ADJOINT);
        assert_memory_equal(alone, grad[k], sizeof alone);
    }
}

static void features_combine(void **state)
{
    for (unsigned features = 0; features < COMBINATIONS; features++) {
        const ds_simple_env env = combine(features);
        ds_simple_plugin p = {.env = &env};
        fixture f;
        void *self = open_env(&f, &p);
        double grad[N], lower[N], upper[N], x0[N];
        const ds_desc *desc = p.kit.plugin.desc;
        const ds_eval io = evaluate(&p, self, start, N, grad);
        assert_true(io.loss == 0.25 + 1.25 * 1.25 + 1 && io.outcome == DS_EVAL_OK);
        assert_true(grad[2] == 2 && io.cost_steps == N);
        assert_int_equal(ds_env_kit_bounds(self, N, lower, upper, x0), DS_OK);
        assert_true(features & VARIABLES ? upper[2] == 3 && x0[0] == 0.5 : upper[2] == 1 && x0[2] == 0.5);
        const ds_env_variables *variables = offers(desc, self, DS_EXT_VARIABLES, (features & VARIABLES) != 0);
        const ds_scene *scene = offers(desc, self, DS_EXT_SCENE, (features & SCENE) != 0);
        const ds_env_channels *channels = offers(desc, self, DS_EXT_CHANNELS, (features & CHANNELS) != 0);
        const ds_env_steps *rl = offers(desc, self, DS_EXT_STEPS, (features & STEPS) != 0);
        ds_env_info info = {.struct_size = sizeof info};
        assert_int_equal(ds_env_kit_info(self, &info), DS_OK);
        assert_int_equal(info.max_rows, features & ROWS ? MANY : 1);
        offers(desc, self, DS_EXT_STEPS_GRADIENT, 0);
        offers(desc, self, DS_EXT_HOOKS, 0);
        if (variables != NULL) {
            ds_variable v = {.struct_size = sizeof v};
            assert_int_equal(variables->describe(self, 1, &v), DS_OK);
            assert_string_equal(v.name, "push.2");
            assert_int_equal(variables->describe(self, N, &v), DS_E_ARG);
        }
        if (scene != NULL) {
            play_scene(scene, &p, self);
        }
        if (channels != NULL) {
            ask_channels(channels, &p, self);
        }
        if (rl != NULL) {
            take_steps(rl, self, io.loss);
        }
        if (info.max_rows > 1) {
            evaluate_rows(&p, self);
        }
        ds_env_kit_destroy(self);
    }
}

/* Rows that query a channel use loss(), because rows() writes no channels. */
static void rows_with_questions(void **state)
{
    const ds_simple_env env = combine(CHANNELS | ROWS);
    ds_simple_plugin p = {.env = &env};
    fixture f;
    void *self = open_env(&f, &p);
    double value[2][N], loss[2];
    uint32_t outcome[2], kind[2], made[2];
    int64_t bad[2];
    uint64_t cost[2];
    const double x[2][N] = {{1, 2, 3}, {4, 5, 6}};
    const ds_query query = {.struct_size = sizeof query, .op = DS_QUERY_VALUE};
    const ds_query *const queries[] = {&query};
    const ds_reply reply = {.struct_size = sizeof reply,
                            .out = value[0],
                            .stride = sizeof value[0],
                            .bytes = sizeof value[0],
                            .kind = made};
    const ds_reply *const replies[] = {&reply};
    const ds_rows rows = {.struct_size = sizeof rows,
                          .count = 2,
                          .n = N,
                          .stride = N,
                          .x = x[0],
                          .queries = 1,
                          .query = queries};
    const ds_results results = {.struct_size = sizeof results,
                                .loss = loss,
                                .outcome = outcome,
                                .grad_kind = kind,
                                .bad_step = bad,
                                .cost_steps = cost,
                                .reply = replies};
    rows_calls = loss_calls = 0;
    assert_int_equal(ds_env_kit_evaluate_table(&p.table, self, &rows, &results), DS_OK);
    assert_true(rows_calls == 0 && loss_calls == 2);
    assert_true(value[0][2] == 2 && value[1][0] == 3);
    ds_env_kit_destroy(self);
}

/* ---- parameters and setup() ---- */

static const char *const choices[] = {"a", "b", "c", NULL};
static const ds_param *const params[] = {DS_TEXT("text", "", "A text."),
                                         DS_REAL("real", "0.25", 0, 1, "", "A number."),
                                         DS_ENUM("choice", "c", choices, "A choice."),
                                         DS_LIST("list", "", 0, 9, 0, "", "A list."),
                                         DS_ARRAY("array", "", "An array."),
                                         DS_BOOL("switch", "true", "A switch."),
                                         NULL};

typedef struct data {
    const char *text;
    double *list;
    uint64_t count, released;
} data;

static uint64_t releases;

static void setup(ds_simple_setup *s)
{
    data *d = s->data;
    const double *list = ds_param_list(s->in, "list", &d->count);
    assert_true(d->text == NULL && d->list == NULL);
    d->text = ds_param_text(s->in, "text");
    d->list = ds_memory_doubles(s->memory, d->count);
    assert_non_null(d->list);
    memcpy(d->list, list, d->count * sizeof *list);
    s->n = d->count;
    s->steps = 7;
}

static void release(void *at)
{
    const data *d = at;
    assert_string_equal(d->text, "a text");
    releases++;
}

static double of_parameters(const ds_simple_episode *e)
{
    static const double expected[] = {0, 0.25, 2, 0, 0, 1};
    const data *d = e->data;
    double sum = 0;
    assert_memory_equal(e->param, expected, sizeof expected);
    assert_int_equal(e->steps, 7);
    for (uint64_t i = 0; i < e->n; i++) {
        sum += d->list[i] * e->x[i];
    }
    return sum;
}

static const ds_simple_env with_setup = {.id = "with_setup",
                                         .summary = "",
                                         .params = params,
                                         .n = 1,
                                         .upper = 1,
                                         .data_size = sizeof(data),
                                         .setup = setup,
                                         .release = release,
                                         .loss = of_parameters};

static void parameters_of_all_types(void **state)
{
    ds_simple_plugin p = {.env = &with_setup};
    fixture f;
    void *self = open_env(&f, &p);
    const double x[4] = {1, 1, 1, 1};
    ds_env_info info = {.struct_size = sizeof info};
    assert_int_equal(ds_env_kit_info(self, &info), DS_OK);
    assert_true(info.n == 4 && info.steps == 7 && isinf(info.loss_floor));
    assert_true(evaluate(&p, self, x, 4, NULL).loss == 10);
    releases = 0;
    ds_env_kit_destroy(self);
    assert_int_equal(releases, 1);
}

static void refuse_setup(ds_simple_setup *s)
{
    setup(s);
    s->in->status = ds_host_fail(s->in->host, DS_E_PARAM, "parameter list: too long");
}

static void errors_reach_the_host(void **state)
{
    static const ds_thing no_size[] = {DS_THING("ball", DS_BODY_SPHERE, DS_ROLE_MATERIAL, 0)};
    static const ds_thing no_end[] = {DS_THING("ball", DS_BODY_SPHERE, DS_ROLE_MATERIAL, 1),
                                      DS_LINK("string", DS_ROLE_MATERIAL, 0, 1, 0.1)};
    ds_simple_env env = combine(0);
    env.loss = NULL;
    refuses(&env, "bowl: set loss or step of ds_simple_env");
    env = combine(0);
    env.n = 0;
    refuses(&env, "bowl: set n of ds_simple_env");
    env = combine(STEPS);
    env.n_act = 2;
    refuses(&env, "n of ds_simple_env is not steps x n_act");
    env = combine(SCENE);
    env.things = no_size;
    env.kinds = 1;
    refuses(&env, "row 0 of the table of things (ball): size[0] must be above 0");
    env.things = no_end;
    env.kinds = 2;
    refuses(&env, "row 1 of the table of things (string): its lines join things that there are not");
    env = with_setup;
    env.setup = refuse_setup;
    releases = 0;
    refuses(&env, "parameter list: too long");
    assert_int_equal(releases, 1);
}

/* ---- values that are not finite ---- */

static const ds_channel *const broken_channels[] = {DS_CONSTRAINTS("c", 1, 0, 1, "", "One."), NULL};

static double broken(const ds_simple_episode *e)
{
    e->channel[0].value[0] = e->x[0] > 1 ? HUGE_VAL : e->x[0];
    e->channel[0].jacobian[0] = e->x[0] > 0 ? (double)NAN : 1;
    if (e->grad != NULL) {
        e->grad[0] = e->x[0] > 0 ? (double)NAN : 1;
    }
    return e->x[0] > 2 ? (double)NAN : e->x[0];
}

static void not_finite(void **state)
{
    static const ds_simple_env env = {.id = "broken",
                                      .summary = "",
                                      .flags = DS_ENV_GRADIENT,
                                      .n = 1,
                                      .steps = 5,
                                      .channels = broken_channels,
                                      .loss = broken};
    ds_simple_plugin p = {.env = &env};
    fixture f;
    void *self = open_env(&f, &p);
    double grad = 9, out = 9, v = 1, x = -1;
    assert_int_equal(evaluate(&p, self, &x, 1, &grad).outcome, DS_EVAL_OK);
    x = 0.5; /* no gradient */
    assert_int_equal(evaluate(&p, self, &x, 1, NULL).outcome, DS_EVAL_OK);
    const ds_eval no_gradient = evaluate(&p, self, &x, 1, &grad);
    assert_true(no_gradient.outcome == DS_EVAL_BAD_GRAD && no_gradient.loss == 0.5 && grad == 0);
    ds_eval_query ask = {.op = DS_QUERY_JV, .v = &v, .out = &out, .bytes = sizeof out};
    ds_eval_query *const asks[] = {&ask};
    ds_eval io = {.n = 1, .x = &x, .queries = 1, .query = asks};
    assert_int_equal(ds_env_kit_evaluate(&p.table, self, &io), DS_OK);
    assert_true(io.outcome == DS_EVAL_BAD_GRAD && out == 0);
    for (x = 1.5; x < 4; x += 1) { /* a channel, then the loss */
        const ds_eval diverged = evaluate(&p, self, &x, 1, NULL);
        assert_true(diverged.outcome == DS_EVAL_DIVERGED && isinf(diverged.loss));
        assert_int_equal(diverged.bad_step, 4);
    }
    ds_env_kit_destroy(self);
}

static double seen_step(const ds_simple_episode *e, const double *action)
{
    const double *const misses = e->channel[0].value;
    e->channel[0].value[e->step] = action[0] - 1;
    e->channel[0].jacobian[e->step * N + e->step] = 1;
    ds_see(e->step + 1, 0, action[0], 0, 0);
    return misses[e->step] * misses[e->step];
}

/* Without loss() the steps give the loss, the scene and the channels. */
static void steps_alone(void **state)
{
    ds_simple_env env = combine(STEPS | SCENE | CHANNELS);
    env.n = 0;
    env.flags = 0;
    env.loss = NULL;
    env.step = seen_step;
    env.observe = bowl_observe;
    ds_simple_plugin p = {.env = &env};
    fixture f;
    void *self = open_env(&f, &p);
    double value[N], pose[7];
    ds_env_info info = {.struct_size = sizeof info};
    assert_int_equal(ds_env_kit_info(self, &info), DS_OK);
    assert_int_equal(info.n, N);
    ds_eval_query query = {.op = DS_QUERY_VALUE, .out = value, .bytes = sizeof value};
    ds_eval_query *const queries[] = {&query};
    ds_eval io = {.want = DS_WANT_SCENE, .n = N, .x = start, .queries = 1, .query = queries};
    assert_int_equal(ds_env_kit_evaluate(&p.table, self, &io), DS_OK);
    assert_true(io.loss == 0.25 + 1.25 * 1.25 + 1 && value[1] == -1.25 && io.grad_kind == DS_GRAD_NONE);
    const ds_scene *scene = ds_env_kit_extension(self, DS_EXT_SCENE);
    assert_int_equal(scene->frame(self, N, 0, 7, pose), DS_OK);
    assert_true(pose[0] == start[2]);
    assert_int_equal(scene->frame(self, 0, 0, 7, pose), DS_OK);
    assert_true(isnan(pose[0]) && pose[3] == 1); /* nothing was reported */
    ds_env_kit_destroy(self);
}

static double fall(const ds_simple_episode *e, const double *action)
{
    return e->step == 1 ? (double)NAN : action[0];
}

/* Diverging steps; an action that is not finite changes nothing. */
static void steps_that_fail(void **state)
{
    ds_simple_env env = combine(STEPS);
    env.loss = NULL;
    env.flags = 0;
    env.step = fall;
    ds_simple_plugin p = {.env = &env};
    fixture f;
    void *self = open_env(&f, &p);
    const ds_env_steps *rl = ds_env_kit_extension(self, DS_EXT_STEPS);
    const double bad = NAN;
    double obs;
    const ds_eval all = evaluate(&p, self, start, N, NULL);
    assert_true(all.outcome == DS_EVAL_DIVERGED && all.bad_step == 1 && all.cost_steps == 2);
    ds_step io = {.action = &bad, .obs = &obs};
    assert_int_equal(ds_step_call(rl, self, 0, &io), DS_E_STATE);
    assert_int_equal(ds_step_begin_call(rl, self, 0, 0, &obs, NULL), DS_OK);
    assert_int_equal(ds_step_call(rl, self, 0, &io), DS_E_ARG);
    io.action = start;
    assert_int_equal(ds_step_call(rl, self, 0, &io), DS_OK);
    assert_true(io.outcome == DS_EVAL_OK && io.reward == -0.5);
    assert_int_equal(ds_step_call(rl, self, 0, &io), DS_OK);
    assert_true(io.outcome == DS_EVAL_DIVERGED && io.ended == DS_STEPS_TERMINATED && io.reward == 0);
    assert_int_equal(ds_step_call(rl, self, 0, &io), DS_E_STATE);
    ds_env_kit_destroy(self);
}

/* ---- the plugin ---- */

static void *query(void *p)
{
    return (void *)(uintptr_t)ds_simple_query(p, &no_vtable);
}

/* Threads that query at the same time get the same, complete descriptor. */
static void queries_at_once(void **state)
{
    enum { THREADS = 4, ROUNDS = 50 };
    for (int round = 0; round < ROUNDS; round++) {
        const ds_simple_env env = combine(COMBINATIONS - 1);
        ds_simple_plugin p = {.env = &env};
        pthread_t thread[THREADS];
        for (int i = 0; i < THREADS; i++) {
            assert_int_equal(pthread_create(&thread[i], NULL, query, &p), 0);
        }
        for (int i = 0; i < THREADS; i++) {
            void *plugin;
            assert_int_equal(pthread_join(thread[i], &plugin), 0);
            assert_ptr_equal(plugin, &p.kit.plugin);
            assert_true(lists(((const ds_plugin *)plugin)->desc, DS_EXT_VARIABLES));
        }
    }
}

/* An author's own ids follow the kit's; without any there is no list. */
static void lists_of_extensions(void **state)
{
    static const char *const own[] = {"org.example.a/1", "org.example.b/1", NULL};
    static const ds_env_table table = {.variable = ds_simple_describe_variable}, empty;
    static const ds_desc with = {.extensions = own}, without;
    ds_env_kit_plugin p = {.plugin = {.magic = 0}}, q = p;
    ds_env_kit_query(&p, &table, &with, &no_vtable);
    assert_string_equal(p.desc.extensions[0], DS_EXT_VARIABLES);
    assert_string_equal(p.desc.extensions[2], own[1]);
    assert_null(p.desc.extensions[3]);
    ds_env_kit_query(&q, &empty, &without, &no_vtable);
    assert_null(q.desc.extensions);
}

/* ---- memory and scene ---- */

static void memory_is_zero_and_aligned(void **state)
{
    ds_memory m = {0};
    for (size_t size = 0; size < 100; size++) {
        const unsigned char *at = ds_memory_take(&m, size, 1);
        assert_non_null(at);
        assert_int_equal((uintptr_t)at % _Alignof(max_align_t), 0);
        for (size_t i = 0; i < size; i++) {
            assert_int_equal(at[i], 0);
        }
    }
    assert_non_null(ds_memory_take(&m, 3, 0));
    assert_int_equal(m.failed, 0);
    assert_null(ds_memory_take(&m, SIZE_MAX / 4, 8)); /* the product does not fit */
    assert_int_equal(m.failed, 1);
    assert_non_null(ds_memory_doubles(&m, 1));
    assert_int_equal(m.failed, 1);
    ds_memory_free(&m);
    assert_int_equal(m.failed, 0);
    assert_null(m.last);
}

static void nowhere(const void *self, uint64_t k, uint64_t b, double *out)
{
    ds_scene_kit_pose((double)k, (double)b, 0, 0, out);
}

/* As many bodies and metrics as an author adds, keeping what was set before the lists grew. */
static void scenes_grow(void **state)
{
    enum { BODIES = 100, METRICS = 40, FRAMES = 3 };
    static char name[BODIES][8];
    ds_memory m = {0};
    ds_scene_kit s;
    double row[METRICS];
    const ds_scene *scene = ds_scene_kit_table();
    ds_scene_kit_open(&s, &m, FRAMES - 1, 0.1, nowhere);
    for (uint32_t i = 0; i < BODIES; i++) {
        snprintf(name[i], sizeof name[i], "b%u", i);
        const uint64_t b =
            ds_scene_kit_body(&s, name[i], DS_BODY_SPHERE, DS_ROLE_MATERIAL, 1, (double[4]){i + 1.0});
        assert_int_equal(b, i);
        ds_scene_kit_at(&s, b)->variety = i;
    }
    for (int i = 0; i < METRICS; i++) {
        assert_int_equal(ds_scene_kit_metric(&s, name[i], "m"), i);
        row[i] = i;
    }
    ds_scene_kit_at(&s, BODIES)->variety = 77; /* a body that does not exist */
    ds_scene_kit_include(&s, 0, 0, 0, 1);
    ds_scene_kit_ready(&s);
    assert_int_equal(m.failed, 0);
    ds_scene_kit_include(&s, 5, 0, 0, 1);
    assert_true(s.info.box[3] == 6);
    ds_scene_kit_reset_box(&s);
    assert_true(s.info.box[3] == 1);
    ds_scene_kit_measured(&s, 1, row);
    s.kept = 1;
    for (uint32_t i = 0; i < BODIES; i++) {
        ds_scene_body body = {.struct_size = sizeof body};
        assert_int_equal(scene->body(&s, i, &body), DS_OK);
        assert_true(body.variety == i && body.size[0] == i + 1.0 && strcmp(body.name, name[i]) == 0);
    }
    ds_scene_metric last = {.struct_size = sizeof last};
    assert_int_equal(scene->metric(&s, METRICS - 1, &last), DS_OK);
    assert_true(last.values != NULL && last.values[1] == METRICS - 1 &&
                strcmp(last.name, name[METRICS - 1]) == 0);
    assert_int_equal(scene->metric(&s, METRICS, &last), DS_E_ARG);
    ds_memory_free(&m);
}

RUN_TESTS(features_combine, rows_with_questions, parameters_of_all_types, errors_reach_the_host, not_finite,
          steps_that_fail, steps_alone, queries_at_once, lists_of_extensions, memory_is_zero_and_aligned,
          scenes_grow)
