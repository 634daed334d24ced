/* SPDX-License-Identifier: Apache-2.0 */
/* test_opt_kit.c - the public headers box.h, evaluator.h, opt_kit.h and simple_optimizer.h: what reaches the
 * binary interface, the order of a search's calls, and the messages to the user. */
#include "test.h"

#include <diffsim/helper/simple_optimizer.h>

enum { N = 3, MOST = 64, ELEMENTS = 2 };

/* ---- a host with a few parameters, and an objective that keeps its input ---- */

typedef struct fixture {
    ds_host host;
    ds_problem problem;
    ds_objective objective;
    ds_objective_channels channels;
    const ds_channel *channel[2];
    int64_t use_x0;
    double x0[MOST];
    uint64_t x0_count;
    uint64_t budget, evaluations, calls, polls, stop_after;
    char error[512], saved[64];
    /* The last table. */
    uint32_t want;
    uint64_t group, count, noise[MOST];
    char tag[16];
    double x[MOST * N], first[N]; /* first: point of evaluation 0 */
} fixture;

static const double lower[N] = {-3, 0.1, -1e6}, upper[N] = {5, 0.3, 2e6}, suggested[N] = {0.1, 0.3, 7};

static void host_error(const ds_host *host, ds_status status, const char *line)
{
    fixture *f = host->ctx;
    (void)status;
    snprintf(f->error, sizeof f->error, "%s", line);
}

static uint32_t host_stop(const ds_host *host)
{
    fixture *f = host->ctx;
    return f->stop_after > 0 && ++f->polls >= f->stop_after;
}

static ds_status host_int(const ds_host *host, const char *name, int64_t *out)
{
    const fixture *f = host->ctx;
    *out = strcmp(name, "use_x0") == 0 ? f->use_x0 : 2;
    return DS_OK;
}

static ds_status host_real(const ds_host *host, const char *name, double *out)
{
    *out = 0.25;
    return strcmp(name, "undeclared") == 0 ? DS_E_PARAM : DS_OK;
}

static ds_status host_text(const ds_host *host, const char *name, const char **out)
{
    *out = name;
    return DS_OK;
}

static ds_status host_list(const ds_host *host, const char *name, const double **out, uint64_t *count)
{
    const fixture *f = host->ctx;
    (void)name;
    *out = f->x0;
    *count = f->x0_count;
    return DS_OK;
}

/* loss = sum of (x - suggested)^2, channels: the first two differences. */
static void answer(const fixture *f, const ds_rows *rows, const ds_results *results, uint64_t row)
{
    const double *x = rows->x + row * rows->stride;
    results->loss[row] = 0;
    for (size_t k = 0; k < N; k++) {
        const double d = x[k] - suggested[k];
        results->loss[row] += d * d;
        if (results->grad) {
            results->grad[row * results->stride + k] = 2 * d;
        }
    }
    if (results->outcome) {
        results->outcome[row] = DS_EVAL_OK;
    }
    if (results->cost_steps) {
        results->cost_steps[row] = 10 + f->evaluations;
    }
    for (uint64_t k = 0; k < rows->queries; k++) {
        const ds_query *q = rows->query[k];
        const ds_reply *r = results->reply[k];
        double *out = (double *)r->out + row * (r->stride / sizeof(double));
        if (r->kind) {
            r->kind[row] = q->op == DS_QUERY_VALUE ? DS_GRAD_NONE : DS_GRAD_FORWARD;
        }
        for (size_t i = 0; i < ELEMENTS; i++) {
            out[i] = q->op == DS_QUERY_JV ? q->v[row * q->v_stride + i] : x[i] - suggested[i];
        }
    }
}

static ds_status evaluate(const ds_objective *objective, const ds_rows *rows, const ds_label *label,
                          const ds_results *results, uint64_t *done)
{
    fixture *f = objective->ctx;
    assert_int_equal(rows->struct_size, sizeof *rows);
    assert_int_equal(results->struct_size, sizeof *results);
    assert_int_equal(label->struct_size, sizeof *label);
    assert_in_range(rows->count, 1, MOST);
    assert_true(rows->n == N && rows->stride >= N && !rows->noise_key && rows->memory == DS_MEMORY_HOST);
    f->calls++;
    f->want = rows->want;
    f->group = label->group;
    f->count = rows->count;
    snprintf(f->tag, sizeof f->tag, "%s", label->tag ? label->tag : "");
    for (uint64_t k = 0; k < rows->count; k++) {
        memcpy(f->x + k * N, rows->x + k * rows->stride, N * sizeof *rows->x);
    }
    memset(f->noise, 0, sizeof f->noise);
    if (label->noise) {
        memcpy(f->noise, label->noise, rows->count * sizeof *label->noise);
    }
    for (uint64_t k = 0; k < rows->queries; k++) {
        const ds_query *q = rows->query[k];
        const ds_reply *r = results->reply[k];
        assert_int_equal(q->struct_size, sizeof *q);
        assert_int_equal(r->struct_size, sizeof *r);
        if (q->channel >= f->channels.count) {
            return ds_host_fail(&f->host, DS_E_ARG, "no such channel");
        }
        assert_int_equal(r->bytes, ELEMENTS * sizeof(double));
        assert_true(r->stride >= r->bytes && (!q->v || q->v_stride >= N));
    }
    for (*done = 0; *done < rows->count; ++*done) {
        if (f->evaluations == f->budget) {
            return DS_STOPPED;
        }
        answer(f, rows, results, *done);
        if (f->evaluations++ == 0) {
            memcpy(f->first, rows->x, sizeof f->first);
        }
    }
    return DS_OK;
}

static ds_status save(const ds_objective *objective, const char *name, const void *data, uint64_t bytes)
{
    fixture *f = objective->ctx;
    snprintf(f->saved, sizeof f->saved, "%s:%.*s", name, (int)bytes, (const char *)data);
    return DS_OK;
}

static const ds_objective_files files = {.struct_size = sizeof files, .save = save};

static const void *extension(const ds_objective *objective, const char *id)
{
    const fixture *f = objective->ctx;
    return strcmp(id, DS_EXT_OBJECTIVE_CHANNELS) == 0 ? (const void *)&f->channels
           : strcmp(id, DS_EXT_FILES) == 0            ? (const void *)&files
                                                      : NULL;
}

static const ds_channel point = {.struct_size = sizeof(ds_channel),
                                 .role = DS_CHANNEL_STATE,
                                 .type = DS_TYPE_F64,
                                 .ops = DS_CAN(DS_QUERY_VALUE),
                                 .ndim = 1,
                                 .shape = {ELEMENTS}},
                        residual = {.struct_size = sizeof(ds_channel),
                                    .role = DS_CHANNEL_RESIDUAL,
                                    .type = DS_TYPE_F64,
                                    .ops = DS_CAN(DS_QUERY_VALUE) | DS_CAN(DS_QUERY_JV),
                                    .ndim = 1,
                                    .shape = {ELEMENTS}};

static void prepare(fixture *f)
{
    memset(f, 0, sizeof *f);
    f->host = (ds_host){.struct_size = sizeof f->host,
                        .ctx = f,
                        .seed = 5,
                        .error = host_error,
                        .should_stop = host_stop,
                        .get_int = host_int,
                        .get_real = host_real,
                        .get_text = host_text,
                        .get_list = host_list};
    f->problem = (ds_problem){.struct_size = sizeof f->problem,
                              .has_gradient = 1,
                              .n = N,
                              .lower = lower,
                              .upper = upper,
                              .x0 = suggested,
                              .budget = 20,
                              .target = -INFINITY,
                              .loss_floor = 0};
    f->objective = (ds_objective){
        .struct_size = sizeof f->objective, .ctx = f, .evaluate = evaluate, .get_extension = extension};
    f->channel[0] = &point;
    f->channel[1] = &residual;
    f->channels =
        (ds_objective_channels){.struct_size = sizeof f->channels, .count = 2, .channel = f->channel};
    f->budget = 20;
}

/* ---- box ---- */

static void maps_stay_inside(void **state)
{
    const double edge[N] = {-1, 1, 0.3}, wide_lower[1] = {-1.7e308}, wide_upper[1] = {1.7e308};
    double x[N], v[N], u[N];
    ds_box_x_from_v(N, lower, upper, edge, x);
    assert_true(x[0] == lower[0] && x[1] == upper[1] && x[2] > lower[2] && x[2] < upper[2]);
    ds_box_v_from_x(N, lower, upper, x, v);
    for (size_t k = 0; k < N; k++) {
        assert_true(fabs(v[k] - edge[k]) < 1e-15 && fabs(v[k]) <= 1);
    }
    ds_box_u_from_v(N, edge, u);
    assert_true(u[0] == 0 && u[1] == 1 && fabs(u[2] - 0.65) < 1e-15);
    ds_box_v_from_u(N, u, v);
    assert_true(v[0] == -1 && v[1] == 1 && fabs(v[2] - 0.3) < 1e-15);
    ds_box_x_from_v(1, wide_lower, wide_upper, edge + 1, x);
    assert_true(x[0] == wide_upper[0] && isfinite(ds_box_half(wide_lower[0], wide_upper[0])));
    double near[2] = {0.3, nextafter(0.3, 1)}, g[N] = {1, 1, 1};
    ds_box_snap(2, near);
    assert_true(near[0] == near[1]);
    ds_box_gradient_to_v(N, lower, upper, g);
    assert_true(g[0] == 4 && fabs(g[1] - 0.1) < 1e-16 && g[2] == 1.5e6);
    assert_true(isnan(ds_box_clamp(NAN, 0, 1)));
}

/* ---- evaluator ---- */

static void a_request_reaches_the_host(void **state)
{
    fixture f;
    prepare(&f);
    ds_evaluator e;
    ds_evaluator_open(&e, &f.host, &f.problem);
    ds_evaluator_begin(&e, &f.objective);
    const double v[2 * N] = {0, 0.5, -0.5, 1, -1, 1};
    const uint64_t noise[2] = {7, 7};
    double loss[2], gradient[2 * N], of_x[2 * N];
    uint64_t steps[2];
    uint32_t outcome[2] = {99, 99};
    ds_evaluator_request r = {.count = 2,
                              .v = v,
                              .noise = noise,
                              .loss = loss,
                              .gradient = gradient,
                              .outcome = outcome,
                              .cost_steps = steps};
    assert_int_equal(ds_evaluator_send(&e, (ds_evaluator_label){"descent", 4}, &r), DS_OK);
    assert_true(r.done == 2 && f.want == DS_WANT_GRAD && f.group == 4 && strcmp(f.tag, "descent") == 0);
    assert_true(f.noise[0] == 7 && f.noise[1] == 7 && outcome[1] == DS_EVAL_OK && steps[1] == 11);
    assert_true(f.x[0] == 1 && f.x[3] == upper[0] && f.x[4] == lower[1]);
    /* The same points in the units of the environment: the same losses, gradients by x. */
    double x[2 * N];
    memcpy(x, f.x, sizeof x);
    ds_evaluator_request again = {.count = 2, .x = x, .loss = loss, .gradient = of_x};
    const double before = loss[1];
    assert_int_equal(ds_evaluator_send(&e, (ds_evaluator_label){NULL, 0}, &again), DS_OK);
    assert_true(loss[1] == before && f.noise[0] == 0 && f.tag[0] == '\0');
    for (size_t i = 0; i < 2 * N; i++) {
        assert_true(gradient[i] == of_x[i] * ds_box_half(lower[i % N], upper[i % N]));
    }
    ds_evaluator_close(&e);
}

/* Rows evaluated before the stop count; their gradients are by v, the others are unchanged. */
static void a_stop_counts_rows(void **state)
{
    fixture f;
    prepare(&f);
    f.budget = 1;
    ds_evaluator e;
    ds_evaluator_open(&e, &f.host, &f.problem);
    ds_evaluator_begin(&e, &f.objective);
    const double v[2 * N] = {0};
    double loss[2], gradient[2 * N] = {0, 0, 0, 3, 3, 3};
    size_t done = 99;
    ds_status status = ds_evaluator_run(&e, (ds_evaluator_label){"x", 0}, 2, v, loss, gradient, NULL, &done);
    assert_int_equal(status, DS_STOPPED);
    assert_int_equal(done, 1);
    assert_true(gradient[0] == 4 * 2 * (1 - suggested[0]) && gradient[3] == 3);
    ds_evaluator_close(&e);
}

/* No reservation is needed, and a larger request may follow a smaller one. */
static void requests_make_room(void **state)
{
    fixture f;
    prepare(&f);
    f.budget = 1000;
    ds_evaluator e;
    ds_evaluator_open(&e, &f.host, &f.problem);
    ds_evaluator_begin(&e, &f.objective);
    double v[MOST * N] = {0}, loss[MOST];
    size_t done;
    for (size_t count = 1; count <= MOST; count *= 4) {
        v[(count - 1) * N] = 1;
        ds_status status =
            ds_evaluator_run(&e, (ds_evaluator_label){"x", 0}, count, v, loss, NULL, NULL, &done);
        assert_int_equal(status, DS_OK);
        assert_true(done == count && f.count == count && f.x[(count - 1) * N] == upper[0]);
    }
    assert_true(ds_evaluator_reserve(&e, 1) && !ds_evaluator_reserve(&e, SIZE_MAX / 8));
    ds_evaluator_close(&e);
}

static void queries_reach_their_channel(void **state)
{
    fixture f;
    prepare(&f);
    ds_evaluator e;
    uint32_t number = 99;
    ds_evaluator_open(&e, &f.host, &f.problem);
    ds_evaluator_begin(&e, &f.objective);
    assert_null(ds_evaluator_find(&e, DS_CHANNEL_RESIDUAL, DS_TYPE_F64, DS_CAN(DS_QUERY_JTV), &number));
    assert_null(ds_evaluator_find(&e, DS_CHANNEL_RESIDUAL, DS_TYPE_F32, DS_CAN(DS_QUERY_VALUE), &number));
    assert_ptr_equal(ds_evaluator_find(&e, DS_CHANNEL_RESIDUAL, DS_TYPE_F64, DS_CAN(DS_QUERY_JV), &number),
                     &residual);
    assert_int_equal(number, 1);
    const double v[2 * N] = {0, 0, 0, 1, 1, 1}, seed[2 * N] = {1, 2, 0, 3, 4, 0};
    double loss[2], value[2 * ELEMENTS], product[2 * ELEMENTS];
    ds_evaluator_query query[DS_MAX_QUERIES + 1] = {
        {.op = DS_QUERY_VALUE, .channel = 1, .out = value, .kind = 99},
        {.op = DS_QUERY_JV, .channel = 1, .v = seed, .out = product}};
    ds_evaluator_request r = {.count = 2, .v = v, .loss = loss, .queries = 2, .query = query};
    assert_int_equal(ds_evaluator_send(&e, (ds_evaluator_label){NULL, 0}, &r), DS_OK);
    assert_true(query[0].kind == DS_GRAD_NONE && query[1].kind == DS_GRAD_FORWARD);
    assert_true(value[2] == upper[0] - suggested[0] && product[1] == 2 && product[2] == 3);
    query[0].channel = 2;
    assert_int_equal(ds_evaluator_send(&e, (ds_evaluator_label){NULL, 0}, &r), DS_E_ARG);
    assert_int_equal(r.done, 0);
    r.queries = DS_MAX_QUERIES + 1;
    assert_int_equal(ds_evaluator_send(&e, (ds_evaluator_label){NULL, 0}, &r), DS_E_ARG);
    assert_non_null(strstr(f.error, "17 queries; send at most 16"));
    /* An objective without extensions. */
    f.objective.get_extension = NULL;
    ds_evaluator_lanes lanes;
    assert_null(ds_evaluator_channels(&e));
    assert_null(ds_evaluator_find(&e, DS_CHANNEL_RESIDUAL, DS_TYPE_F64, 0, &number));
    assert_int_equal(ds_evaluator_lanes_open(&e, &lanes), DS_E_UNSUPPORTED);
    assert_non_null(strstr(f.error, "no stepwise control"));
    ds_evaluator_close(&e);
}

/* ---- lanes ---- */

static const ds_steps_info episode = {.struct_size = sizeof episode, .horizon = 2, .n_act = 1, .n_obs = 2};
static struct {
    ds_step_rows rows;
    ds_step_results results;
    ds_label label;
    ds_back_rows back;
    ds_back_results bars;
} sent;

static ds_status begin_rows(const ds_objective *objective, const ds_step_rows *rows, const ds_label *label,
                            const ds_step_results *results, uint64_t *done)
{
    sent.rows = *rows;
    sent.label = *label;
    sent.results = *results;
    *done = 1; /* the budget allows one more */
    return DS_OK;
}

static ds_status step_rows(const ds_objective *objective, const ds_step_rows *rows,
                           const ds_step_results *results, uint64_t *done)
{
    sent.rows = *rows;
    sent.results = *results;
    *done = rows->count;
    results->reward[1] = rows->action[1];
    return DS_OK;
}

static ds_status back_rows(const ds_objective *objective, const ds_back_rows *rows,
                           const ds_back_results *results, uint64_t *done)
{
    sent.back = *rows;
    sent.bars = *results;
    *done = 0;
    return DS_E_ARG;
}

static const ds_objective_steps episodes = {sizeof episodes, 0, &episode, 4, begin_rows, step_rows};
static const ds_objective_steps_gradient episode_gradients = {sizeof episode_gradients, 0, back_rows};

static const void *episode_extension(const ds_objective *objective, const char *id)
{
    const fixture *f = objective->ctx;
    return strcmp(id, DS_EXT_OBJECTIVE_STEPS) == 0            ? (const void *)&episodes
           : strcmp(id, DS_EXT_OBJECTIVE_STEPS_GRADIENT) == 0 ? (f->budget > 0 ? &episode_gradients : NULL)
                                                              : NULL;
}

static void lanes_reach_the_host(void **state)
{
    fixture f;
    prepare(&f);
    f.objective.get_extension = episode_extension;
    ds_evaluator e;
    ds_evaluator_lanes lanes;
    ds_evaluator_open(&e, &f.host, &f.problem);
    ds_evaluator_begin(&e, &f.objective);
    assert_int_equal(ds_evaluator_lanes_open(&e, &lanes), DS_OK);
    assert_true(lanes.count == 4 && lanes.info->horizon == 2);
    const uint64_t lane[2] = {3, 1}, at[2] = {1, 0};
    const double action[2] = {0.5, 0.25};
    double obs[4], reward[2], loss[2], bar[2];
    uint32_t ended[2], outcome[2];
    ds_evaluator_steps rows = {.count = 2,
                               .lane = lane,
                               .action = action,
                               .obs = obs,
                               .reward = reward,
                               .ended = ended,
                               .loss = loss,
                               .outcome = outcome};
    assert_int_equal(ds_evaluator_lanes_begin(&lanes, (ds_evaluator_label){"train", 8}, &rows), DS_OK);
    assert_true(rows.done == 1 && sent.label.group == 8 && strcmp(sent.label.tag, "train") == 0);
    assert_true(sent.label.struct_size == sizeof(ds_label) && !sent.rows.noise_key &&
                sent.results.obs == obs);
    assert_true(sent.rows.struct_size == sizeof(ds_step_rows) &&
                sent.results.struct_size == sizeof(ds_step_results));
    assert_int_equal(ds_evaluator_lanes_step(&lanes, &rows), DS_OK);
    assert_true(rows.done == 2 && reward[1] == 0.25 && sent.rows.lane == lane);
    assert_true(sent.results.ended == ended && sent.results.loss == loss && sent.results.outcome == outcome);
    assert_int_equal(ds_evaluator_lanes_differentiate(&lanes), DS_OK);
    ds_evaluator_back back = {.count = 2,
                              .lane = lane,
                              .step = at,
                              .reward_bar = reward,
                              .obs_bar = obs,
                              .action_bar = bar,
                              .outcome = outcome};
    assert_int_equal(ds_evaluator_lanes_back(&lanes, &back), DS_E_ARG);
    assert_true(sent.back.step == at && sent.bars.action_bar == bar && sent.back.obs_bar == obs &&
                !sent.back.begins);
    f.budget = 0;
    assert_int_equal(ds_evaluator_lanes_differentiate(&lanes), DS_E_UNSUPPORTED);
    assert_non_null(strstr(f.error, "no gradients of stepwise control"));
    ds_evaluator_close(&e);
}

/* ---- kit ---- */

typedef struct trace {
    ds_opt_kit kit;
    double start[N];
} trace;

static char calls[32]; /* a letter or digit for each call */

static void note(char letter)
{
    const size_t at = strlen(calls);
    calls[at] = letter;
    calls[at + 1] = '\0';
}

static int lacks_memory, begins_itself;
static ds_status second_round;

static void trace_read(void *self, ds_param_reader *in)
{
    note('p');
    (void)ds_param_real(in, "rate");
}

static int trace_allocate(void *self)
{
    trace *t = self;
    note('a');
    t->kit.start.gradient = ds_memory_doubles(&t->kit.memory, N);
    return !lacks_memory;
}

static void trace_release(void *self)
{
    note('r');
}

static ds_status trace_begin(void *self)
{
    trace *t = self;
    note('b');
    assert_int_equal(t->kit.round, 0);
    ds_opt_kit_start(&t->kit, 1, t->start);
    return DS_OK;
}

static ds_status trace_round(void *self)
{
    trace *t = self;
    double loss;
    size_t done;
    note((char)('0' + t->kit.round));
    ds_status status = ds_evaluator_run(&t->kit.evaluator, (ds_evaluator_label){"sample", t->kit.round}, 1,
                                        t->start, &loss, NULL, NULL, &done);
    t->kit.finished = t->kit.round == 3;
    return status == DS_OK && t->kit.round == 2 ? second_round : status;
}

static void trace_end(void *self)
{
    trace *t = self;
    note('e');
    ds_opt_kit_save(&t->kit, "found.txt", "it", 2);
}

static int trace_begins(const void *self)
{
    return begins_itself;
}

static const ds_param *const start_params[] = {DS_REAL("rate", "1", 0, 1, "", "Rate."),
                                               DS_OPT_START_PARAMS("false"), NULL};
static const ds_param *const no_start[] = {DS_REAL("rate", "1", 0, 1, "", "Rate."), NULL};
static const ds_desc desc = {DS_OPT_KIT_DESC("trace", "1", "Apache-2.0", start_params),
                             .needs = DS_OPT_IDS(DS_HAS_GRADIENT)},
                     bare_desc = {DS_OPT_KIT_DESC("bare", "1", "Apache-2.0", no_start)};
static const ds_opt_table table = {.size = sizeof(trace),
                                   .no_memory = "lower the rate",
                                   .no_memory_run = "lower it more",
                                   .read = trace_read,
                                   .allocate = trace_allocate,
                                   .release = trace_release,
                                   .begins_at_start = trace_begins,
                                   .begin = trace_begin,
                                   .round = trace_round,
                                   .end = trace_end};

/* Creates, runs and destroys; the calls must be the expected ones. */
static ds_status go(fixture *f, const ds_desc *d, const char *expected)
{
    void *self = NULL;
    calls[0] = '\0';
    ds_status status = ds_opt_kit_create(&table, d, &f->host, &f->problem, &self);
    if (status == DS_OK) {
        status = ds_opt_kit_run(self, &f->objective);
        ds_opt_kit_destroy(self);
    } else {
        assert_null(self);
    }
    assert_string_equal(calls, expected);
    return status;
}

static void calls_come_in_order(void **state)
{
    fixture f;
    prepare(&f);
    lacks_memory = begins_itself = 0;
    second_round = DS_OK;
    assert_int_equal(go(&f, &desc, "pab123er"), DS_OK);
    assert_true(f.evaluations == 3 && f.group == 3 && strcmp(f.saved, "found.txt:it") == 0);
    f.budget = f.evaluations + 1;
    assert_int_equal(go(&f, &desc, "pab12er"), DS_STOPPED);
    prepare(&f);
    f.stop_after = 1;
    assert_int_equal(go(&f, &desc, "pab1er"), DS_STOPPED);
    prepare(&f);
    second_round = DS_E_NUMERIC;
    assert_int_equal(go(&f, &desc, "pab12r"), DS_E_NUMERIC);
    second_round = DS_E_NOMEM;
    assert_int_equal(go(&f, &desc, "pab12r"), DS_E_NOMEM);
    assert_string_equal(f.error, "lower it more");
    second_round = DS_OK;
    lacks_memory = 1;
    assert_int_equal(go(&f, &desc, "par"), DS_E_NOMEM);
    assert_string_equal(f.error, "lower the rate");
    lacks_memory = 0;
    f.problem.has_gradient = 0;
    assert_int_equal(go(&f, &desc, ""), DS_E_UNSUPPORTED);
    assert_non_null(strstr(f.error, "trace needs gradients"));
    assert_int_equal(go(&f, &bare_desc, "pab123er"), DS_OK);
    ds_opt_kit_destroy(NULL);
}

/* The start of the user, or of the environment, is evaluated first and exactly; a mapping forth and back
 * would round. */
static void starts_are_exact(void **state)
{
    fixture f;
    const double given[N] = {0.3, 0.1 + 0.1 / 3, 1.0 / 3};
    second_round = DS_OK;
    for (begins_itself = 0; begins_itself < 2; begins_itself++) {
        prepare(&f);
        f.use_x0 = 1;
        assert_int_equal(go(&f, &desc, "pab123er"), DS_OK);
        assert_memory_equal(f.first, suggested, sizeof suggested);
        assert_int_equal(f.evaluations, begins_itself ? 3 : 4);
        prepare(&f);
        f.use_x0 = 1; /* x0 has priority */
        f.x0_count = N;
        memcpy(f.x0, given, sizeof given);
        assert_int_equal(go(&f, &desc, "pab123er"), DS_OK);
        assert_memory_equal(f.first, given, sizeof given);
    }
    begins_itself = 0;
    prepare(&f);
    f.x0_count = 1;
    f.x0[0] = 0.2;
    assert_int_equal(go(&f, &desc, "pab123er"), DS_OK);
    assert_true(f.first[0] == 0.2 && f.first[1] == 0.2 && f.first[2] == 0.2);
    f.x0_count = 2;
    assert_int_equal(go(&f, &desc, "r"), DS_E_PARAM);
    assert_non_null(strstr(f.error, "x0 has 2 values: give one for all variables, or 3"));
    f.x0_count = 1;
    f.x0[0] = 0.5; /* outside the bounds of variable 1 */
    assert_int_equal(go(&f, &desc, "r"), DS_E_PARAM);
    assert_non_null(strstr(f.error, "value 0.5 of variable 1 is outside its bounds [0.1, 0.3]"));
    /* Without these entries in the schema the kit does not read them. */
    assert_int_equal(go(&f, &bare_desc, "pab123er"), DS_OK);
}

/* Random starts depend on seed and number alone. */
static void starts_are_numbered(void **state)
{
    fixture f;
    double a[N], b[N], c[N];
    prepare(&f);
    ds_opt_kit_random_start(&f.host, 2, N, a);
    ds_opt_kit_random_start(&f.host, 2, N, b);
    ds_opt_kit_random_start(&f.host, 3, N, c);
    assert_memory_equal(a, b, sizeof a);
    assert_true(a[0] != c[0] && fabs(a[0]) < 1 && fabs(c[2]) < 1);
    ds_opt_kit_x0(&f.problem, a);
    ds_box_v_from_x(N, lower, upper, suggested, b);
    assert_memory_equal(a, b, sizeof a);
    ds_memory m = {0};
    const double *box = ds_opt_kit_box(&m, N);
    assert_true(box[0] == -1 && box[N - 1] == -1 && box[N] == 1 && box[2 * N - 1] == 1);
    ds_memory_free(&m);
}

/* ---- the short form ---- */

static const char *const choices[] = {"a", "b", "c", NULL};
static const ds_param *const all_params[] = {DS_TEXT("text", "x", "A text."),
                                             DS_REAL("rate", "1", 0, 1, "", "A rate."),
                                             DS_ENUM("choice", "c", choices, "One."),
                                             DS_LIST("list", "1 2", 0, 9, 0, "", "A list."),
                                             DS_OPT_START_PARAMS("true"),
                                             NULL};
static double seen[5];

/* Evaluates its starts, then points in both units. */
static ds_status search(ds_simple_search *s)
{
    double *x = s->point, *v = s->point + N, loss[2], of_x[N], of_v[2 * N], two[2 * N];
    uint64_t count;
    assert_string_equal(ds_simple_text(s, "text"), "text");
    assert_ptr_equal(ds_simple_list(s, "list", &count), ((fixture *)s->host->ctx)->x0);
    assert_true(s->param[0] == 0 && s->param[1] == 0.25 && s->param[2] == 2 && s->param[3] == 0);
    assert_true(s->param[4] == (double)((fixture *)s->host->ctx)->use_x0 && s->problem->n == N);
    ds_random random = ds_random_open(s->host->seed, "short", 0);
    assert_memory_equal(&random, &s->random, sizeof random);
    ds_simple_start_x(s, 1, x);
    ds_status status = ds_simple_ask(s, x, loss, of_x);
    ds_simple_start_v(s, 1, v);
    memcpy(two, v, N * sizeof *v);
    ds_simple_start_v(s, 2, two + N);
    status = status != DS_OK ? status : ds_simple_ask_v(s, 2, two, loss, of_v);
    for (size_t k = 0; status == DS_OK && k < N; k++) {
        assert_true(of_v[k] == of_x[k] * ds_box_half(lower[k], upper[k]));
    }
    seen[0] = loss[0];
    return status;
}

#define ds_plugin_query short_query
DS_EXPORT const ds_plugin *DS_CALL short_query(uint32_t host_major, uint32_t host_minor);
DS_SIMPLE_OPTIMIZER("short", "All that the short way has.", all_params,
                    DS_SIMPLE_USES_GRADIENT | DS_SIMPLE_USES_RESIDUALS | DS_OPT_USES_BUDGET, search)

static void the_short_way_has_it_all(void **state)
{
    fixture f;
    prepare(&f);
    f.use_x0 = 1;
    const ds_plugin *p = short_query(DS_ABI_MAJOR, DS_ABI_MINOR);
    assert_true(p->desc->flags == DS_OPT_USES_BUDGET && p->desc->needs == NULL);
    assert_string_equal(p->desc->uses[0], DS_HAS_GRADIENT);
    assert_string_equal(p->desc->uses[1], DS_HAS_RESIDUALS);
    assert_null(p->desc->uses[2]);
    void *self;
    assert_int_equal(p->optimizer->create(&f.host, &f.problem, &self), DS_OK);
    assert_int_equal(p->optimizer->run(self, &f.objective), DS_OK);
    p->optimizer->destroy(self);
    assert_memory_equal(f.first, suggested, sizeof suggested);
    assert_true(f.evaluations == 3 && seen[0] == 0);
    assert_memory_equal(f.x, suggested, sizeof suggested); /* also by its v */
    f.budget = f.evaluations + 1;
    assert_int_equal(p->optimizer->create(&f.host, &f.problem, &self), DS_OK);
    assert_int_equal(p->optimizer->run(self, &f.objective), DS_STOPPED);
    p->optimizer->destroy(self);
}

RUN_TESTS(maps_stay_inside, a_request_reaches_the_host, a_stop_counts_rows, requests_make_room,
          queries_reach_their_channel, lanes_reach_the_host, calls_come_in_order, starts_are_exact,
          starts_are_numbered, the_short_way_has_it_all)
