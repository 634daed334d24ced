/* SPDX-License-Identifier: Apache-2.0 */
/* test_instance.c - the host's services as a plugin sees them, tests of what environments return, tables of
 * rows, queries and lanes, names of status codes, and messages on a terminal. The environment is defined
 * here, without a plugin file. */
#include "base/log.h"
#include "plugin/instance.h"
#include "test.h"

#include <diffsim/ext/variables.h>
#include <pty.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* What fails in rows with x[0] > 0.5, and in steps with such an action. */
enum {
    FAILS_NOT,
    FAILS_OUTCOME, /* diverged */
    FAILS_STATUS,  /* the call returns an error */
    FAILS_STOP,    /* the call stops */
    FAILS_LOSS,    /* not finite */
    FAILS_GRAD,    /* not finite */
    FAILS_SILENT,  /* the result of a query is not written */
    FAILS_KIND     /* a product has no kind */
};

/* What the environment of a test returns. */
static struct plan {
    ds_status create, info, bounds, evaluate;
    int no_instance, fails;
    uint64_t n, max_rows, max_lanes, horizon;
    double tolerance, loss_floor, dt;
    double lower, upper, x0, loss, grad;
    uint32_t outcome, kind;
    const char *error;
} plan;

enum { MOST_LANES = 3 };

typedef struct lane {
    int open;
    uint64_t key, step;
    double sum;
} lane;

typedef struct instance {
    const ds_host *host;
    uint64_t number; /* 0, 1, ... in the order of create() */
    lane lane[MOST_LANES];
} instance;

static const ds_host *host_seen;
static uint64_t instances;
static char calls[1000]; /* log of calls, see note() */

/* Logs a call: a letter and the number of its rows, or the instance and its lanes. */
static void note(char what, uint64_t rows, const instance *in, const uint64_t *lanes)
{
    size_t at = strlen(calls);
    assert_true(at < sizeof calls - 40);
    at += (size_t)sprintf(calls + at, "%c%llu", what, (unsigned long long)(in != NULL ? in->number : rows));
    for (uint64_t k = 0; lanes != NULL && k < rows; k++) {
        at += (size_t)sprintf(calls + at, "%s%llu", k == 0 ? ":" : "", (unsigned long long)lanes[k]);
    }
    strcpy(calls + at, " ");
}

/* The calls since the last check. */
static void called_were(const char *want)
{
    if (strcmp(calls, want) != 0) {
        fail_msg("calls '%s' instead of '%s'", calls, want);
    }
    calls[0] = '\0';
}

static ds_status create(const ds_host *host, void **out)
{
    host_seen = host;
    if (plan.create != DS_OK) {
        host->error(host, plan.create, plan.error);
        return plan.create;
    }
    instance *in = plan.no_instance ? NULL : calloc(1, sizeof *in);
    if (in != NULL) {
        in->host = host;
        in->number = instances++;
    }
    *out = in;
    return DS_OK;
}

static void destroy(void *self)
{
    free(self);
}

static ds_status info(void *self, ds_env_info *out)
{
    out->n = plan.n;
    out->max_rows = plan.max_rows;
    out->tolerance = plan.tolerance;
    out->loss_floor = plan.loss_floor;
    out->dt = plan.dt;
    return plan.info;
}

static ds_status bounds(void *self, uint64_t n, double *lower, double *upper, double *x0)
{
    for (uint64_t i = 0; i < n; i++) {
        lower[i] = plan.lower;
        upper[i] = plan.upper;
        x0[i] = plan.x0;
    }
    return plan.bounds;
}

static void complain(const ds_host *host, double x)
{
    char text[60];
    snprintf(text, sizeof text, "it fails at %g", x);
    host->error(host, DS_E_NUMERIC, text);
}

/* ---- its channels: an error of two numbers, a photo of three ---- */

enum { ERROR, PHOTO, CHANNELS };

static ds_status count_channels(void *self, uint64_t *count)
{
    *count = CHANNELS;
    return DS_OK;
}

static ds_status describe_channel(void *self, uint64_t i, ds_channel *out)
{
    out->name = i == ERROR ? "error" : "photo";
    out->role = i == ERROR ? DS_CHANNEL_RESIDUAL : DS_CHANNEL_IMAGE;
    out->type = i == ERROR ? DS_TYPE_F64 : DS_TYPE_F32;
    out->ops = DS_CAN(DS_QUERY_VALUE) | (i == ERROR ? DS_CAN(DS_QUERY_JV) | DS_CAN(DS_QUERY_HV) : 0u);
    out->ndim = 1;
    out->shape[0] = i == ERROR ? 2 : 3;
    out->unit = out->doc = "";
    return DS_OK;
}

/* The result of query i for row k: numbers that identify row, vectors and element. */
static void answer_query(const ds_rows *rows, const ds_results *results, uint64_t i, uint64_t k, int fails)
{
    const ds_query *q = rows->query[i];
    const ds_reply *r = results->reply[i];
    unsigned char *out = (unsigned char *)r->out + k * r->stride;
    const double x = rows->x[k * rows->stride];
    assert_true(q->struct_size == sizeof *q && r->struct_size == sizeof *r && r->stride >= r->bytes);
    assert_true(r->kind[k] == DS_GRAD_NONE && out[0] == 0xff && out[r->bytes - 1] == 0xff); /* preset */
    assert_true((q->v != NULL) == (q->op != DS_QUERY_VALUE) && (q->w != NULL) == (q->op == DS_QUERY_HV));
    if (q->op == DS_QUERY_VALUE && q->channel == PHOTO) {
        const float photo[3] = {(float)x, (float)x + 1, (float)x + 2};
        assert_int_equal(r->bytes, sizeof photo);
        memcpy(out, photo, sizeof photo);
    } else if (q->op == DS_QUERY_VALUE && !(fails && plan.fails == FAILS_SILENT)) {
        const double error[2] = {x + 10, x + 20};
        assert_int_equal(r->bytes, sizeof error);
        memcpy(out, error, sizeof error);
    } else if (q->op != DS_QUERY_VALUE) {
        const double *v = q->v + k * q->v_stride, *w = q->w != NULL ? q->w + k * q->w_stride : v;
        const double product[2] = {v[0] + 100 * w[1], v[1]};
        assert_int_equal(r->bytes, sizeof product);
        memcpy(out, product, sizeof product);
        r->kind[k] = fails && plan.fails == FAILS_KIND ? DS_GRAD_NONE : DS_GRAD_FORWARD;
    }
}

/* ---- its evaluations ---- */

static ds_status evaluate_row(const ds_rows *rows, const ds_results *r, uint64_t k)
{
    const double *x = rows->x + k * rows->stride;
    const int fails = x[0] > 0.5 && plan.fails != FAILS_NOT;
    assert_true(isnan(r->loss[k]) && r->outcome[k] == DS_EVAL_OK && r->grad_kind[k] == DS_GRAD_NONE &&
                r->bad_step[k] == -1 && r->cost_steps[k] == 0); /* preset */
    r->loss[k] =
        fails && plan.fails == FAILS_LOSS ? (double)NAN : plan.loss + x[0] + (double)rows->noise_key[k];
    r->outcome[k] = fails && plan.fails == FAILS_OUTCOME ? DS_EVAL_DIVERGED : plan.outcome;
    r->grad_kind[k] = plan.kind;
    r->cost_steps[k] = 3;
    for (uint64_t i = 0; (rows->want & DS_WANT_GRAD) != 0 && i < rows->n; i++) {
        r->grad[k * r->stride + i] = plan.grad + x[i];
    }
    if (fails && plan.fails == FAILS_GRAD) {
        r->grad[k * r->stride + 1] = INFINITY;
    }
    for (uint64_t i = 0; i < rows->queries; i++) {
        answer_query(rows, r, i, k, fails);
    }
    if (plan.error != NULL) {
        host_seen->error(host_seen, DS_E_NUMERIC, plan.error);
    }
    if (fails && plan.fails <= FAILS_STATUS) {
        complain(host_seen, x[0]);
    }
    return !fails                       ? DS_OK
           : plan.fails == FAILS_STATUS ? DS_E_NUMERIC
           : plan.fails == FAILS_STOP   ? DS_STOPPED
                                        : DS_OK;
}

static ds_status evaluate(void *self, const ds_rows *rows, const ds_results *results)
{
    ds_status status = DS_OK;
    (void)self;
    assert_true(rows->struct_size == sizeof *rows && results->struct_size == sizeof *results);
    assert_true(rows->n == plan.n && rows->memory == DS_MEMORY_HOST && rows->count >= 1 &&
                (rows->count == 1 || rows->count <= plan.max_rows));
    assert_true((results->grad != NULL) == ((rows->want & DS_WANT_GRAD) != 0));
    note('e', rows->count, NULL, NULL);
    for (uint64_t k = 0; k < rows->count && status == DS_OK; k++) {
        status = evaluate_row(rows, results, k);
    }
    return status != DS_OK ? status : plan.evaluate;
}

/* ---- its stepwise control: a state that is the noise key and the sum of the actions ---- */

static ds_status steps_info(void *self, ds_steps_info *out)
{
    out->horizon = plan.horizon;
    out->n_act = 1;
    out->n_obs = 2;
    out->max_lanes = plan.max_lanes;
    return DS_OK;
}

static ds_status begin(void *self, const ds_step_rows *rows, const ds_step_results *results)
{
    instance *in = self;
    note('b', rows->count, in, rows->lane);
    for (uint64_t k = 0; k < rows->count; k++) {
        assert_true(rows->lane[k] < MOST_LANES && rows->action == NULL);
        in->lane[rows->lane[k]] = (lane){.open = 1, .key = rows->noise_key[k]};
        results->obs[2 * k] = (double)rows->noise_key[k];
        results->obs[2 * k + 1] = 0;
    }
    return DS_OK;
}

static ds_status step_row(instance *in, const ds_step_rows *rows, const ds_step_results *r, uint64_t k)
{
    lane *l = &in->lane[rows->lane[k]];
    const double action = rows->action[k];
    const int fails = action > 0.5 && plan.fails != FAILS_NOT;
    assert_true(r->reward[k] == 0 && r->loss[k] == 0 && r->ended[k] == DS_STEPS_CONTINUES &&
                r->outcome[k] == DS_EVAL_OK && r->cost_steps[k] == 0); /* preset */
    if (!l->open) {
        return DS_E_STATE;
    }
    if (fails) {
        complain(in->host, action);
    }
    l->sum += action;
    l->step++;
    r->obs[2 * k] = (double)l->key + l->sum;
    r->obs[2 * k + 1] = (double)l->step;
    r->reward[k] = -action;
    r->cost_steps[k] = 5;
    r->outcome[k] = fails && plan.fails == FAILS_OUTCOME ? DS_EVAL_DIVERGED : plan.outcome;
    if (l->step == plan.horizon) {
        r->ended[k] = DS_STEPS_TERMINATED;
        r->loss[k] = (double)l->key + l->sum;
        l->open = 0;
    }
    return fails && plan.fails == FAILS_STATUS ? DS_E_NUMERIC : DS_OK;
}

static ds_status step(void *self, const ds_step_rows *rows, const ds_step_results *results)
{
    instance *in = self;
    ds_status status = DS_OK;
    assert_true(rows->struct_size == sizeof *rows && results->struct_size == sizeof *results);
    note('s', rows->count, in, rows->lane);
    for (uint64_t k = 0; k < rows->count && status == DS_OK; k++) {
        status = step_row(in, rows, results, k);
    }
    return status != DS_OK ? status : plan.evaluate;
}

/* The derivative identifies the step, whether it begins a sweep, and the adjoints. */
static ds_status back(void *self, const ds_back_rows *rows, const ds_back_results *results)
{
    instance *in = self;
    assert_true(rows->struct_size == sizeof *rows && results->struct_size == sizeof *results);
    note('k', rows->count, in, rows->lane);
    for (uint64_t k = 0; k < rows->count; k++) {
        const int fails = plan.fails != FAILS_NOT && rows->reward_bar[k] > 0.5;
        assert_true(results->outcome[k] == DS_EVAL_OK && results->cost_steps[k] == 0); /* preset */
        assert_true(rows->step[k] < in->lane[rows->lane[k]].step);
        results->action_bar[k] = (double)(10 * rows->step[k]) + (rows->begins[k] ? 1000 : 0) +
                                 100 * rows->obs_bar[2 * k + 1] + rows->reward_bar[k];
        results->outcome[k] = fails ? DS_EVAL_BAD_GRAD : DS_EVAL_OK;
        results->cost_steps[k] = 7;
    }
    return DS_OK;
}

/* All extensions of the environment, according to the plan. */
static const void *all_extensions(void *self, const char *wanted)
{
    static const ds_env_channels channels = {
        .struct_size = sizeof channels, .count = count_channels, .describe = describe_channel};
    static const ds_env_steps steps = {
        .struct_size = sizeof steps, .info = steps_info, .begin = begin, .step = step};
    static const ds_env_steps_gradient gradient = {.struct_size = sizeof gradient, .back = back};
    (void)self;
    return strcmp(wanted, DS_EXT_CHANNELS) == 0                             ? (const void *)&channels
           : strcmp(wanted, DS_EXT_STEPS) == 0 && plan.horizon > 0          ? (const void *)&steps
           : strcmp(wanted, DS_EXT_STEPS_GRADIENT) == 0 && plan.horizon > 0 ? (const void *)&gradient
                                                                            : NULL;
}

static const ds_param *const params[] = {
    DS_INT("steps", "5", 1, 9, "", ""), DS_REAL("mass", "2.5", 0, 9, "", ""),
    DS_TEXT("label", "hello", ""),      DS_LIST("list", "1 2", 0, 9, 0, "", ""),
    DS_ARRAY("array", "", ""),          NULL};

static ds_desc desc = {.struct_size = sizeof desc,
                       .kind = DS_KIND_ENV,
                       .flags = DS_ENV_GRADIENT,
                       .id = "toy",
                       .version = "1",
                       .license = "",
                       .summary = "",
                       .description = "",
                       .citation = "",
                       .params = params};
static const ds_env_vtable vtable = {sizeof vtable, 0, create, destroy, info, bounds, evaluate, NULL};
static const ds_plugin plugin = {DS_MAGIC, sizeof plugin, DS_ABI_MAJOR, DS_ABI_MINOR, DS_LAYOUT, 0,
                                 "",       &desc,         &vtable,      NULL};
static char path[200];
static char id[] = "toy";
static ds_module module = {.path = path, .id = id, .plugin = &plugin};

static int good_plan(void **state)
{
    module.env = vtable;
    desc.flags = DS_ENV_GRADIENT;
    desc.needs = NULL;
    instances = 0;
    calls[0] = '\0';
    plan = (struct plan){.n = 2, .lower = -1, .upper = 1, .loss = 3, .grad = 4, .kind = DS_GRAD_ADJOINT};
    return 0;
}

static ds_env *open_env(void)
{
    ds_settings none = {0};
    ds_env *env = NULL;
    ds_error e = {0};
    if (ds_env_open(&module, &none, 42, 3, NULL, &env, &e) != 0) {
        fail_msg("%s", e.text);
    }
    return env;
}

static void services(void **state)
{
    ds_env *env = open_env();
    const ds_host *h = host_seen;
    int64_t i = 0;
    double r = 0;
    const char *t = NULL;
    const double *list = NULL;
    uint64_t n = 0, shape[8];
    assert_true(h->struct_size == sizeof *h && h->abi_minor == DS_ABI_MINOR && h->threads == 3);
    assert_int_equal(h->seed, 0); /* an environment draws only from its parameters and the noise key */
    assert_int_equal(h->should_stop(h), 0);
    assert_null(h->get_extension(h, "ds.host.nothing/1"));
    assert_int_equal(h->get_int(h, "steps", &i), DS_OK);
    assert_int_equal(h->get_real(h, "mass", &r), DS_OK);
    assert_int_equal(h->get_text(h, "label", &t), DS_OK);
    assert_int_equal(h->get_list(h, "list", &list, &n), DS_OK);
    assert_true(i == 5 && r == 2.5 && strcmp(t, "hello") == 0 && n == 2 && list[1] == 2);
    assert_int_equal(h->get_array(h, "array", &list, &n, shape), DS_OK);
    assert_true(n == 0 && list == NULL);
    assert_int_equal(h->get_int(h, "mass", &i), DS_E_PARAM); /* and reports it on stderr */
    ds_env_close(env);
    ds_env_close(NULL);
}

static void stop_flag(void **state)
{
    ds_settings none = {0};
    ds_env *env = NULL;
    ds_error e = {0};
    atomic_int stop = 0;
    assert_int_equal(ds_env_open(&module, &none, 0, 0, &stop, &env, &e), 0);
    assert_int_equal(host_seen->threads, 1);
    assert_int_equal(host_seen->should_stop(host_seen), 0);
    stop = 15;
    assert_int_equal(host_seen->should_stop(host_seen), 1);
    ds_env_close(env);
}

static void resources(void **state)
{
    char dir[] = "/tmp/test_instance.XXXXXX", file[100], found[300];
    assert_non_null(mkdtemp(dir));
    snprintf(file, sizeof file, "%s/.libs", dir);
    mkdir(file, 0700);
    snprintf(path, sizeof path, "%s/.libs/toy.so", dir);
    snprintf(file, sizeof file, "%s/data.bin", dir);
    FILE *f = fopen(file, "w");
    fclose(f);
    ds_env *env = open_env();
    const ds_host *h = host_seen;
    /* In a build tree the data lie one folder above the module. */
    assert_int_equal(h->resource(h, "data.bin", found, sizeof found, NULL), DS_OK);
    assert_int_equal(access(found, R_OK), 0);
    assert_int_equal(found[0], '/');
    assert_int_equal(h->resource(h, "nothing.bin", found, sizeof found, NULL), DS_E_IO);
    assert_int_equal(h->resource(h, "data.bin", found, 10, NULL), DS_E_ARG);
    assert_int_equal(h->resource(h, "/etc/passwd", found, sizeof found, NULL), DS_E_ARG);
    assert_int_equal(h->resource(h, "../data.bin", found, sizeof found, NULL), DS_E_ARG);
    ds_env_close(env);
    unlink(file);
    snprintf(file, sizeof file, "%s/.libs", dir);
    rmdir(file);
    rmdir(dir);
}

/* Opening fails with this status and text. */
static void refused(int status, const char *text)
{
    ds_settings none = {0};
    ds_env *env = NULL;
    ds_error e = {0};
    assert_int_equal(ds_env_open(&module, &none, 0, 1, NULL, &env, &e), status);
    assert_null(env);
    if (strstr(e.text, text) == NULL) {
        fail_msg("'%s' without '%s'", e.text, text);
    }
    good_plan(NULL);
}

static void refuses_instances(void **state)
{
    plan.create = DS_E_PARAM;
    plan.error = "steps = 5:\nnot today\xff";
    refused(3, "toy: create() failed: steps = 5: not today? (DS_E_PARAM)");
    plan.create = DS_E_NOMEM;
    plan.error = "";
    refused(7, "out of memory (DS_E_NOMEM)");
    plan.no_instance = 1;
    refused(4, "toy: create() returned DS_OK without an instance");
    plan.info = DS_E_GENERIC;
    refused(4, "toy: info() failed: error (DS_E_GENERIC)");
    plan.n = 0;
    refused(4, "toy: info() returned 0 variables: 1 to ");
    plan.n = UINT64_MAX;
    refused(4, "toy: info() returned 18446744073709551615 variables");
    plan.tolerance = 1e-6;
    refused(4, "toy: info() returned tolerance 1e-06, but the descriptor lacks DS_ENV_INEXACT");
    desc.flags = DS_ENV_INEXACT;
    plan.tolerance = -1;
    refused(4, "toy: info() returned tolerance -1: it must be finite and at least 0");
    desc.flags = DS_ENV_INEXACT;
    plan.tolerance = NAN;
    refused(4, "tolerance nan");
    plan.loss_floor = NAN;
    refused(4, "toy: info() returned loss_floor nan: return a lower bound of the loss");
    plan.loss_floor = INFINITY;
    refused(4, "loss_floor inf");
    plan.dt = INFINITY;
    refused(4, "toy: info() returned dt inf s: return the seconds of a step");
    plan.dt = -0.1;
    refused(4, "dt -0.1 s");
    plan.bounds = DS_E_IO;
    refused(6, "toy: bounds() failed");
    plan.lower = 2;
    refused(4, "toy: bounds of variable 0 are 2..1: they must be finite and lower <= upper");
    plan.upper = INFINITY;
    refused(4, "they must be finite");
    plan.lower = NAN;
    refused(4, "they must be finite");
    plan.x0 = 2;
    refused(4, "start point: variable 0 is 2, outside");
    plan.x0 = NAN;
    refused(4, "start point: variable 0 is nan");
}

/* Evaluates once: the outcome, the text of its message, and whether loss and gradient are passed on. */
static void answers(uint32_t want, uint32_t outcome, const char *text)
{
    ds_env *env = open_env();
    double x[2] = {0, 0}, grad[2] = {7, 7};
    ds_answer a;
    memset(&a, 0xff, sizeof a);
    ds_status st = ds_env_evaluate(env, x, 0, want, grad, &a);
    assert_int_equal(st, plan.evaluate == DS_STOPPED ? DS_STOPPED : DS_OK);
    assert_int_equal(a.outcome, outcome);
    if (strstr(a.message, text) == NULL || (text[0] == '\0' && a.message[0] != '\0')) {
        fail_msg("'%s' without '%s'", a.message, text);
    }
    assert_true(outcome <= DS_EVAL_BAD_GRAD ? a.loss == plan.loss : a.loss == HUGE_VAL);
    if ((want & DS_WANT_GRAD) == 0) {
        assert_true(grad[0] == 7 && a.grad_kind == DS_GRAD_NONE);
    } else if (outcome == DS_EVAL_OK) {
        assert_true(grad[1] == 4 && a.grad_kind == DS_GRAD_ADJOINT);
    } else {
        assert_true(grad[0] == 0 && grad[1] == 0 && a.grad_kind == DS_GRAD_NONE);
    }
    assert_int_equal(a.cost_steps, 3);
    assert_true(a.wall_s >= 0 && a.wall_s < 60);
    ds_env_close(env);
    good_plan(NULL);
}

static void vets_answers(void **state)
{
    answers(DS_WANT_GRAD, DS_EVAL_OK, "");
    answers(0, DS_EVAL_OK, "");
    for (uint32_t want = 0; want < 2; want++) {
        plan.loss = NAN;
        answers(want, DS_EVAL_INVALID, "not finite");
        plan.loss = INFINITY;
        answers(want, DS_EVAL_INVALID, "not finite");
        plan.outcome = DS_EVAL_CRASHED;
        answers(want, DS_EVAL_INVALID, "an outcome that only the host sets");
        plan.outcome = DS_EVAL_DIVERGED;
        plan.error = "det F < 0";
        answers(want, DS_EVAL_DIVERGED, "det F < 0");
        plan.outcome = DS_EVAL_INFEASIBLE;
        answers(want, DS_EVAL_INFEASIBLE, "");
        plan.evaluate = DS_E_NUMERIC;
        plan.error = "no convergence";
        answers(want, DS_EVAL_ERROR, "no convergence");
        plan.evaluate = DS_E_NUMERIC;
        answers(want, DS_EVAL_ERROR, "numerical failure");
        plan.evaluate = DS_STOPPED;
        answers(want, DS_EVAL_STOPPED, "on request of the host");
    }
    plan.grad = NAN;
    answers(DS_WANT_GRAD, DS_EVAL_BAD_GRAD, "component 0 of the gradient is not finite");
    plan.kind = DS_GRAD_NONE;
    answers(DS_WANT_GRAD, DS_EVAL_BAD_GRAD, "set the kind");
    plan.outcome = DS_EVAL_BAD_GRAD;
    plan.error = "at a kink";
    answers(DS_WANT_GRAD, DS_EVAL_BAD_GRAD, "at a kink");
}

/* ---- tables ---- */

enum { ROWS = 5, X_STRIDE = 3, GRAD_STRIDE = 4, ROOM = 12 };
#define GAP (-77.0)

typedef struct row_table {
    double x[ROWS * X_STRIDE], grad[ROWS * GRAD_STRIDE], in[ROWS * ROOM];
    uint64_t key[ROWS], out[ROWS * ROOM];
    ds_answer answer[ROWS], *list[ROWS];
    ds_query_layout queries;
    ds_env_rows t;
} row_table;

/* Rows with x[0] = 0.1, 0.9, 0.3, 0.7, 0.5, of which the second and the fourth may fail; keys 0, 10, ... */
static void make_table(row_table *t, uint32_t want)
{
    static const double first[ROWS] = {0.1, 0.9, 0.3, 0.7, 0.5};
    memset(t, 0, sizeof *t);
    for (uint64_t k = 0; k < ROWS; k++) {
        t->x[k * X_STRIDE] = first[k];
        t->x[k * X_STRIDE + 1] = -first[k];
        t->x[k * X_STRIDE + 2] = NAN;
        for (uint64_t i = 0; i < GRAD_STRIDE; i++) {
            t->grad[k * GRAD_STRIDE + i] = GAP;
        }
        t->key[k] = 10 * k;
        memset(&t->answer[k], 0xff, sizeof t->answer[k]);
        t->list[k] = &t->answer[k];
    }
    t->t = (ds_env_rows){.count = ROWS,
                         .want = want,
                         .x = t->x,
                         .x_stride = X_STRIDE,
                         .noise_key = t->key,
                         .grad = t->grad,
                         .grad_stride = GRAD_STRIDE,
                         .answer = t->list};
}

/* Does row k have the result that it has alone? */
static void row_is_good(const row_table *t, uint64_t k)
{
    const ds_answer *a = &t->answer[k];
    const double *x = t->x + k * X_STRIDE, *grad = t->grad + k * GRAD_STRIDE;
    assert_true(a->outcome == DS_EVAL_OK && a->loss == plan.loss + x[0] + (double)t->key[k]);
    assert_true(a->bad_step == -1 && a->cost_steps == 3 && a->wall_s >= 0 && a->message[0] == '\0');
    if ((t->t.want & DS_WANT_GRAD) != 0) {
        assert_true(a->grad_kind == DS_GRAD_ADJOINT && grad[0] == plan.grad + x[0] &&
                    grad[1] == plan.grad + x[1]);
    } else {
        assert_true(grad[0] == GAP && grad[1] == GAP);
    }
    assert_true(grad[2] == GAP && grad[3] == GAP);
}

static void row_has_failed(const row_table *t, uint64_t k, uint32_t outcome, const char *text)
{
    const ds_answer *a = &t->answer[k];
    const double *grad = t->grad + k * GRAD_STRIDE;
    assert_int_equal(a->outcome, outcome);
    assert_true(isinf(a->loss) == (outcome != DS_EVAL_BAD_GRAD) && a->grad_kind == DS_GRAD_NONE);
    if ((t->t.want & DS_WANT_GRAD) != 0) {
        assert_true(grad[0] == 0 && grad[1] == 0);
    }
    assert_true(grad[2] == GAP && grad[3] == GAP);
    if (strstr(a->message, text) == NULL) {
        fail_msg("row %llu: '%s' without '%s'", (unsigned long long)k, a->message, text);
    }
}

/* Several rows in one call; those that fail are called once more, alone, and get messages of their own. */
static void tables(void **state)
{
    static const struct {
        int fails;
        uint32_t outcome;
        const char *calls, *text[2];
    } cases[] = {{FAILS_NOT, DS_EVAL_OK, "e5 ", {"", ""}},
                 {FAILS_OUTCOME, DS_EVAL_DIVERGED, "e5 e1 e1 ", {"it fails at 0.9", "it fails at 0.7"}},
                 {FAILS_STATUS, DS_EVAL_ERROR, "e5 e1 e1 e1 e1 e1 ", {"it fails at 0.9", "it fails at 0.7"}},
                 {FAILS_STOP, DS_EVAL_STOPPED, "e5 e1 e1 e1 e1 e1 ", {"request", "request"}},
                 {FAILS_LOSS, DS_EVAL_INVALID, "e5 e1 e1 ", {"not finite", "not finite"}},
                 {FAILS_GRAD, DS_EVAL_BAD_GRAD, "e5 e1 e1 ", {"component 1", "component 1"}}};
    plan.max_rows = 8;
    ds_env *env = open_env();
    assert_int_equal(env->max_rows, 8);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        for (uint32_t want = 0; want < 2; want++) {
            row_table t;
            if (want == 0 && cases[c].fails == FAILS_GRAD) {
                continue;
            }
            make_table(&t, want);
            plan.fails = cases[c].fails;
            assert_int_equal(ds_env_evaluate_table(env, &t.t), plan.fails == FAILS_STOP ? DS_STOPPED : DS_OK);
            called_were(cases[c].calls);
            for (uint64_t k = 0; k < ROWS; k++) {
                if (k % 2 == 0 || plan.fails == FAILS_NOT) {
                    row_is_good(&t, k);
                } else {
                    row_has_failed(&t, k, cases[c].outcome, cases[c].text[k / 2]);
                }
            }
            t.t.count = 1; /* a failed row alone is not called again */
            t.t.x = t.x + X_STRIDE;
            ds_env_evaluate_table(env, &t.t);
            called_were("e1 ");
        }
    }
    ds_env_close(env);
}

/* After the host requested a stop, no row is called again. */
static void table_stops(void **state)
{
    ds_settings none = {0};
    ds_error e = {0};
    ds_env *env = NULL;
    atomic_int stop = 0;
    row_table t;
    plan.max_rows = 8;
    plan.fails = FAILS_STOP;
    assert_int_equal(ds_env_open(&module, &none, 0, 1, &stop, &env, &e), 0);
    make_table(&t, DS_WANT_GRAD);
    stop = 1;
    assert_int_equal(ds_env_evaluate_table(env, &t.t), DS_STOPPED);
    called_were("e5 ");
    for (uint64_t k = 0; k < ROWS; k++) {
        row_has_failed(&t, k, DS_EVAL_STOPPED, "request");
    }
    ds_env_close(env);
}

/* How many rows a call has: what the plugin says, limited by buffers of a bounded size. */
static void table_sizes(void **state)
{
    static const struct {
        uint64_t n, said, taken;
    } cases[] = {{2, 0, 1}, {2, 1, 1}, {2, 7, 7}, {2, UINT64_MAX, 1 << 19}, {1 << 20, 5, 1}, {1 << 21, 5, 1}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        plan.n = cases[c].n;
        plan.max_rows = cases[c].said;
        ds_env *env = open_env();
        assert_int_equal(env->max_rows, cases[c].taken);
        assert_int_equal(ds_env_facts_of(env).max_rows, cases[c].taken);
        ds_env_close(env);
    }
}

static void make_queries(row_table *t, const ds_env *env, uint32_t op, uint32_t want)
{
    char text[DS_QUERY_TEXT];
    make_table(t, want);
    t->queries = (ds_query_layout){.count = 3,
                                   .query = {{.op = DS_QUERY_VALUE, .channel = PHOTO},
                                             {.op = DS_QUERY_VALUE, .channel = ERROR},
                                             {.op = op, .channel = ERROR, .weighted = op == DS_QUERY_HV}}};
    assert_int_equal(ds_query_layout_make(&t->queries, &env->channels, plan.n, NULL, text), 0);
    assert_true(t->queries.in < ROOM && t->queries.out < ROOM);
    for (uint64_t i = 0; i < (uint64_t)ROWS * ROOM; i++) {
        t->in[i] = i % ROOM < t->queries.in ? (double)i : (double)NAN;
        memcpy(&t->out[i], &(double){GAP}, sizeof(double));
    }
    t->t.queries = &t->queries;
    t->t.in = t->in;
    t->t.out = t->out;
    t->t.in_stride = t->t.out_stride = ROOM;
}

/* The numbers of row k: zeros from word `from` on, gaps unchanged. */
static const double *numbers_of(const row_table *t, uint64_t k, uint64_t from)
{
    const double *out = (const double *)(const void *)(t->out + k * ROOM);
    for (uint64_t i = from; i < ROOM; i++) {
        assert_true(out[i] == (i < t->queries.out ? 0 : GAP));
    }
    return out;
}

/* Do the queries of row k have the results that they have alone? The product follows the values. */
static void queries_are_good(const row_table *t, uint64_t k)
{
    const ds_placed_query *photo = &t->queries.query[0], *error = &t->queries.query[1],
                          *product = &t->queries.query[2];
    const double *out = numbers_of(t, k, t->queries.out), *in = t->in + k * ROOM, x = t->x[k * X_STRIDE];
    const double *w = product->w_count > 0 ? in + product->w : in + product->v;
    float last;
    memcpy(&last, (const char *)(out + photo->out) + 2 * sizeof last, sizeof last);
    row_is_good(t, k);
    assert_true(last == (float)x + 2 && out[error->out] == x + 10 && out[error->out + 1] == x + 20);
    assert_true(out[product->out] == in[product->v] + 100 * w[1]);
    assert_true(out[product->out + 1] == in[product->v + 1]);
    assert_int_equal(t->answer[k].product_kind, DS_GRAD_FORWARD);
}

static void queries_in_tables(void **state)
{
    static const struct {
        int fails;
        uint32_t outcome;
        const char *calls, *text;
    } cases[] = {{FAILS_NOT, DS_EVAL_OK, "e5 ", ""},
                 {FAILS_SILENT, DS_EVAL_INVALID, "e5 e1 e1 ", "channel error: element 0 is not finite"},
                 {FAILS_KIND, DS_EVAL_BAD_GRAD, "e5 e1 e1 ", "did not set the kind of the product"},
                 {FAILS_OUTCOME, DS_EVAL_DIVERGED, "e5 e1 e1 ", "it fails at 0."},
                 {FAILS_STATUS, DS_EVAL_ERROR, "e5 e1 e1 e1 e1 e1 ", "it fails at 0."}};
    module.env.get_extension = all_extensions;
    plan.max_rows = 8;
    ds_env *env = open_env();
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        for (int variant = 0; variant < 4; variant++) {
            row_table t;
            const uint32_t want = variant < 2 ? 0 : DS_WANT_GRAD;
            plan.fails = cases[c].fails;
            make_queries(&t, env, variant % 2 == 0 ? DS_QUERY_JV : DS_QUERY_HV, want);
            if (want == 0) { /* the kind of the product is that of the row */
                t.t.grad = NULL;
            }
            assert_int_equal(ds_env_evaluate_table(env, &t.t), DS_OK);
            called_were(cases[c].calls);
            for (uint64_t k = 0; k < ROWS; k++) {
                if (want == 0 && t.answer[k].outcome == DS_EVAL_OK) {
                    assert_int_equal(t.answer[k].grad_kind, DS_GRAD_FORWARD);
                }
                if (k % 2 == 0 || plan.fails == FAILS_NOT) {
                    queries_are_good(&t, k);
                    continue;
                }
                row_has_failed(&t, k, cases[c].outcome, cases[c].text);
                const int values = cases[c].outcome == DS_EVAL_BAD_GRAD; /* these are valid */
                const double *out = numbers_of(&t, k, values ? t.queries.values : 0);
                assert_true(!values || out[t.queries.query[1].out] == t.x[k * X_STRIDE] + 10);
                assert_int_equal(t.answer[k].product_kind, DS_GRAD_NONE);
            }
        }
    }
    ds_env_close(env);
}

/* ---- lanes ---- */

enum { LANES = 7, HORIZON = 4 };

/* Lanes of a process, and a step of each. */
typedef struct lanes {
    ds_lane_set set;
    ds_answer answer[LANES];
    double x[LANES][HORIZON], obs[LANES][2], action_bar[LANES], obs_bar[LANES][2];
    ds_episode_step step[LANES], *list[LANES];
    ds_episode_back back[LANES], *backs[LANES];
} lanes;

static int make_instance(void *ctx, ds_env **out, ds_error *e)
{
    ds_settings none = {0};
    (void)ctx;
    return ds_env_open(&module, &none, 0, 1, NULL, out, e);
}

static void lanes_close(lanes *l)
{
    ds_lane_set_close(&l->set, NULL);
}

static ds_episode *episode_of(lanes *l, uint64_t k)
{
    ds_episode *ep = NULL;
    ds_error e = {0};
    assert_int_equal(ds_lane_set_find(&l->set, k, plan.max_lanes, &ep, &e), 0);
    return ep;
}

/* Actions -0.01, -0.02, ... that identify lane and step; noise keys 1, 2, ... */
static void lanes_open(lanes *l)
{
    memset(l, 0, sizeof *l);
    module.env.get_extension = all_extensions;
    plan.n = plan.horizon = HORIZON;
    plan.max_lanes = MOST_LANES;
    l->set.make = make_instance;
    for (uint64_t k = 0; k < LANES; k++) {
        for (int t = 0; t < HORIZON; t++) {
            l->x[k][t] = -0.01 * (double)(k + 1) - 0.1 * t;
        }
        l->step[k] = (ds_episode_step){.key = k + 1, .x = l->x[k], .obs = l->obs[k], .answer = &l->answer[k]};
        l->back[k] = (ds_episode_back){
            .obs_bar = l->obs_bar[k], .action_bar = &l->action_bar[k], .answer = &l->answer[k]};
    }
}

/* Brings lanes 0 .. count - 1 to step `step` of their episodes. */
static ds_status lanes_to(lanes *l, uint64_t count, uint64_t step)
{
    for (uint64_t k = 0; k < count; k++) {
        l->list[k] = &l->step[k];
        l->step[k].episode = episode_of(l, k);
        l->step[k].step = step;
    }
    return ds_episodes_advance(count, l->list);
}

/* Is lane k where its actions lead to, with the cost of one step? */
static void lane_is_at(const lanes *l, uint64_t k, uint64_t step)
{
    double sum = 0;
    for (uint64_t t = 0; t < step; t++) {
        sum += l->x[k][t];
    }
    const double state = (double)l->step[k].key + sum;
    assert_true(l->answer[k].outcome == DS_EVAL_OK && l->answer[k].message[0] == '\0');
    assert_true(l->obs[k][0] == state && l->obs[k][1] == (double)step);
    assert_true(l->step[k].reward == (step > 0 ? -l->x[k][step - 1] : 0));
    assert_int_equal(l->step[k].ended, step == HORIZON ? DS_STEPS_TERMINATED : DS_STEPS_CONTINUES);
    assert_true(l->answer[k].loss == (step == HORIZON ? state : 0));
    assert_int_equal(l->answer[k].cost_steps, step > 0 ? 5 : 0);
}

/* An instance holds three lanes; all of them get a step in one call. */
static void lanes_share_calls(void **state)
{
    static const char *const want[HORIZON + 1] = {"b0:012 b1:012 b2:0 ", "s0:012 s1:012 s2:0 ",
                                                  "s0:012 s1:012 s2:0 ", "s0:012 s1:012 s2:0 ",
                                                  "s0:012 s1:012 s2:0 "};
    lanes l;
    lanes_open(&l);
    for (uint64_t t = 0; t <= HORIZON; t++) {
        assert_int_equal(lanes_to(&l, LANES, t), DS_OK);
        called_were(want[t]);
        for (uint64_t k = 0; k < LANES; k++) {
            lane_is_at(&l, k, t);
        }
    }
    assert_int_equal(instances, 3);
    lanes_close(&l);
}

/* How many lanes of an instance are used: what the plugin says, within limits. */
static void lane_counts(void **state)
{
    static const struct {
        uint64_t n, said, taken;
    } cases[] = {{4, 0, 1},           {4, 1, 1},
                 {4, 4096, 4096},     {4, UINT64_MAX, 65536},
                 {1 << 20, 1000, 63}, {1 << 20, UINT64_MAX, 63},
                 {1 << 24, 9, 3}};
    module.env.get_extension = all_extensions;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        plan.n = plan.horizon = cases[c].n;
        plan.max_lanes = cases[c].said;
        ds_env *env = open_env();
        assert_int_equal(env->steps_info.max_lanes, cases[c].taken);
        assert_int_equal(ds_env_facts_of(env).steps.max_lanes, cases[c].taken);
        ds_env_close(env);
    }
}

/* A lane starts again while others stay open; a lane that gets another episode follows it. */
static void lanes_begin_again(void **state)
{
    lanes l;
    lanes_open(&l);
    lanes_to(&l, 3, 0);
    lanes_to(&l, 3, 1);
    lanes_to(&l, 3, 2);
    called_were("b0:012 s0:012 s0:012 ");
    l.step[1].key = 99;
    l.step[1].step = 0;
    assert_int_equal(ds_episodes_advance(1, &l.list[1]), DS_OK);
    called_were("b0:1 ");
    lane_is_at(&l, 1, 0);
    l.step[0].step = l.step[2].step = 3;
    l.step[1].step = 1;
    assert_int_equal(ds_episodes_advance(3, l.list), DS_OK);
    called_were("s0:012 ");
    lane_is_at(&l, 0, 3);
    lane_is_at(&l, 1, 1);
    lane_is_at(&l, 2, 3);
    l.step[2].key = 55; /* two steps into an episode that is not the lane's */
    l.step[2].step = l.step[1].step = 2;
    l.step[0].step = 4;
    assert_int_equal(ds_episodes_advance(3, l.list), DS_OK);
    called_were("b0:2 s0:2 s0:012 ");
    lane_is_at(&l, 0, 4);
    lane_is_at(&l, 1, 2);
    lane_is_at(&l, 2, 2);
    /* Another episode at the same step, and an earlier step of the same one. */
    l.step[1].key = 66;
    l.step[1].step = 3;
    assert_int_equal(ds_episodes_advance(2, l.list + 1), DS_OK);
    called_were("b0:12 s0:1 s0:1 s0:2 s0:12 ");
    lane_is_at(&l, 1, 3);
    lane_is_at(&l, 2, 2);
    lanes_close(&l);
}

/* The instance is new, as after a crash: its lanes repeat their steps, which are not counted, and take the
 * next one together. */
static void lanes_catch_up(void **state)
{
    lanes l;
    lanes_open(&l);
    lanes_to(&l, 3, 0);
    lanes_to(&l, 3, 1);
    lanes_to(&l, 3, 2);
    lanes_close(&l);
    calls[0] = '\0';
    assert_int_equal(lanes_to(&l, 3, 3), DS_OK);
    called_were("b1:012 s1:0 s1:0 s1:1 s1:1 s1:2 s1:2 s1:012 ");
    for (uint64_t k = 0; k < 3; k++) {
        lane_is_at(&l, k, 3);
    }
    lanes_close(&l);
}

/* A lane that fails ends only its own episode; an error of the call ends those of all its lanes. */
static void lanes_fail(void **state)
{
    lanes l;
    lanes_open(&l);
    plan.fails = FAILS_OUTCOME;
    l.x[1][1] = 0.9;
    lanes_to(&l, 4, 0);
    lanes_to(&l, 4, 1);
    assert_int_equal(lanes_to(&l, 4, 2), DS_OK);
    called_were("b0:012 b1:0 s0:012 s1:0 s0:012 s1:0 ");
    for (uint64_t k = 0; k < 4; k++) {
        if (k != 1) {
            lane_is_at(&l, k, 2);
        }
    }
    assert_true(l.answer[1].outcome == DS_EVAL_DIVERGED && isinf(l.answer[1].loss));
    assert_true(l.step[1].ended == DS_STEPS_TERMINATED && l.step[1].reward == 0);
    assert_int_equal(l.answer[1].bad_step, 0);
    lanes_close(&l);
    plan.fails = FAILS_STATUS;
    lanes_to(&l, 4, 0);
    lanes_to(&l, 4, 1);
    assert_int_equal(lanes_to(&l, 4, 2), DS_OK);
    for (uint64_t k = 0; k < 3; k++) {
        assert_true(l.answer[k].outcome == DS_EVAL_ERROR && l.step[k].ended == DS_STEPS_TERMINATED);
        assert_string_equal(l.answer[k].message, "step(): it fails at 0.9");
    }
    lane_is_at(&l, 3, 2); /* of another instance */
    lanes_close(&l);
}

/* Sweeps of several lanes in one call; only a lane whose episode does not exist is lost. */
static void lanes_go_back(void **state)
{
    lanes l;
    lanes_open(&l);
    for (uint64_t t = 0; t <= 3; t++) {
        lanes_to(&l, 4, t);
    }
    calls[0] = '\0';
    for (uint64_t k = 0; k < 4; k++) {
        l.backs[k] = &l.back[k];
        l.back[k].episode = l.step[k].episode;
        l.back[k].key = k + 1;
        l.back[k].taken = 3;
        l.back[k].step = 2;
        l.back[k].reward_bar = 0.25;
        l.obs_bar[k][1] = (double)k;
    }
    assert_int_equal(ds_episodes_go_back(4, l.backs), DS_OK);
    called_were("k0:012 k1:0 ");
    for (uint64_t k = 0; k < 4; k++) {
        assert_true(!l.back[k].lost && l.answer[k].outcome == DS_EVAL_OK && l.answer[k].cost_steps == 7);
        assert_true(l.action_bar[k] == 1000 + 20 + 100 * (double)k + 0.25);
        l.back[k].step = 1;
    }
    l.back[1].key = 99;         /* another episode */
    l.back[2].reward_bar = 0.9; /* derivatives that are not finite */
    plan.fails = FAILS_OUTCOME;
    assert_int_equal(ds_episodes_go_back(4, l.backs), DS_OK);
    called_were("k0:02 k1:0 ");
    assert_true(l.back[1].lost && l.action_bar[1] == 0 && !l.back[0].lost && !l.back[2].lost);
    assert_true(l.action_bar[0] == 10 + 0.25 && l.action_bar[3] == 10 + 300 + 0.25);
    assert_true(l.answer[2].outcome == DS_EVAL_BAD_GRAD && l.action_bar[2] == 0);
    for (uint64_t k = 0; k < 4; k++) {
        l.back[k].step = 0;
    }
    assert_int_equal(ds_episodes_go_back(4, l.backs), DS_OK);
    called_were("k0:0 k1:0 ");
    assert_true(l.back[1].lost && l.back[2].lost); /* its sweep has failed */
    /* The other lanes are where they were. */
    plan.fails = FAILS_NOT;
    assert_int_equal(lanes_to(&l, 4, 4), DS_OK);
    called_were("s0:012 s1:0 ");
    lane_is_at(&l, 2, 4);
    lanes_close(&l);
}

/* ---- names of variables ---- */

static ds_variable called[2];
static ds_status describe_status;
static ds_env_variables table;

static ds_status describe(void *self, uint64_t i, ds_variable *out)
{
    if (describe_status != DS_OK) {
        host_seen->error(host_seen, describe_status, "no names today");
        return describe_status;
    }
    out->flags = called[i].flags;
    out->name = called[i].name;
    out->unit = called[i].unit;
    out->group = called[i].group;
    return DS_OK;
}

static const void *offer(void *self, const char *wanted)
{
    return strcmp(wanted, DS_EXT_VARIABLES) == 0 ? &table : NULL;
}

static void good_names(void)
{
    table = (ds_env_variables){.struct_size = sizeof table, .describe = describe};
    describe_status = DS_OK;
    called[0] = (ds_variable){.name = "push.x.12", .unit = "N/m\xc2\xb2", .group = "push"};
    called[1] = (ds_variable){.name = "K_2", .unit = "", .group = "", .flags = DS_VARIABLE_LOG};
}

/* Reading the names ends with this status, and this text where it is not 0. */
static void asked(int status, const char *text)
{
    ds_error e = {0};
    module.env.get_extension = offer;
    ds_env *env = open_env();
    assert_null(env->variables);
    assert_int_equal(ds_env_read_variables(env, &e), status);
    if (strcmp(e.text, text) != 0) {
        fail_msg("'%s' instead of '%s'", e.text, text);
    }
    if (status == 0 && table.describe != NULL) {
        assert_string_equal(ds_env_facts_of(env).variables[1].name, called[1].name);
        assert_int_equal(env->variables[1].flags, called[1].flags);
    }
    ds_env_close(env);
    good_names();
}

static void variables(void **state)
{
    static char longest[DS_MAX_NAME + 1], too_long[DS_MAX_NAME + 2];
    char room[24], label[DS_VARIABLE_LABEL];
    memset(longest, 'n', DS_MAX_NAME);
    memset(too_long, 'n', DS_MAX_NAME + 1);
    good_names();
    asked(0, "");
    called[1].name = called[1].unit = called[1].group = longest;
    asked(0, "");
    called[1].name = "push.x.12";
    asked(4, "toy: ds.env.variables/1: variables 0 and 1 are both called 'push.x.12': names must be unique");
    called[1].name = too_long;
    asked(4, "toy: ds.env.variables/1: variable 1: the name is longer than 47 bytes");
    called[0].unit = too_long;
    asked(4, "toy: ds.env.variables/1: variable 0: the unit is longer than 47 bytes");
    called[0].unit = "a\nb";
    asked(4, "toy: ds.env.variables/1: variable 0: the unit is not one line of UTF-8");
    called[0].unit = "\xff";
    asked(4, "toy: ds.env.variables/1: variable 0: the unit is not one line of UTF-8");
    called[0].unit = NULL;
    asked(4, "toy: ds.env.variables/1: variable 0: the unit is NULL");
    static const char *const bad[] = {"", "2x", "_x", "a b", "a-b", "gr\xc3\xb6\xc3\x9f"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[200];
        snprintf(text, sizeof text,
                 "toy: ds.env.variables/1: variable 1: the name is '%s': use a letter, then letters, digits, "
                 "'_' and '.'",
                 bad[i]);
        called[1].name = bad[i];
        asked(4, text);
    }
    called[1].group = "two words";
    asked(4, "toy: ds.env.variables/1: variable 1: the group is 'two words': use a letter, then letters, "
             "digits, '_' and '.'");
    describe_status = DS_E_STATE;
    asked(4, "toy: describe() of ds.env.variables/1 failed: no names today (DS_E_STATE)");
    table.describe = NULL;
    asked(4, "toy: extension ds.env.variables/1: a function is missing");
    table.struct_size = offsetof(ds_env_variables, describe);
    asked(4, "toy: the table of ds.env.variables/1: struct_size is 8, 16 to 65536 are possible: set it to "
             "the sizeof of "
             "the type");
    table.struct_size = 1000000;
    asked(4, "toy: the table of ds.env.variables/1: struct_size is 1000000, 16 to 65536 are possible: set it "
             "to the "
             "sizeof of the type");
    plan.n = DS_MAX_NAMED + 1;
    table.describe = NULL; /* would be a breach, but is not read */
    asked(0, "");
    assert_string_equal(ds_variable_name(NULL, 17, room), "x17");
    ds_variable_label(NULL, 17, label);
    assert_string_equal(label, "x17");
}

/* Values of a later version of the interface that this host does not know, by the rules of base.h. */
static void later_versions(void **state)
{
    static const char *const later[] = {"ds.host.later/1", NULL};
    double x[2] = {0, 0}, grad[2] = {7, 7};
    ds_answer a;
    for (uint32_t want = 0; want < 2; want++) {
        plan.outcome = DS_EVAL_OUTCOMES;
        answers(want, DS_EVAL_ERROR, "an outcome unknown to this host");
        plan.outcome = UINT32_MAX;
        answers(want, DS_EVAL_ERROR, "an outcome unknown to this host");
        plan.evaluate = -1234;
        answers(want, DS_EVAL_ERROR, "error");
    }
    desc.flags |= (uint64_t)1 << 40;
    ds_env *env = open_env();
    plan.kind = DS_GRAD_SMOOTHED + 1;
    assert_int_equal(ds_env_evaluate(env, x, 0, DS_WANT_GRAD, grad, &a), DS_OK);
    assert_true(a.outcome == DS_EVAL_OK && a.grad_kind == DS_GRAD_SMOOTHED && grad[0] == 4);
    plan.evaluate = DS_STOPPED + 1;
    assert_int_equal(ds_env_evaluate(env, x, 0, 0, NULL, &a), DS_STOPPED);
    assert_int_equal(a.outcome, DS_EVAL_STOPPED);
    ds_env_close(env);
    module.env.get_extension = all_extensions;
    plan.evaluate = DS_OK;
    plan.horizon = 2;
    env = open_env();
    ds_episode episode = {.env = env};
    ds_episode_step one = {.episode = &episode, .step = 1, .x = x, .obs = grad, .answer = &a};
    ds_episode_step *const list[] = {&one};
    plan.outcome = DS_EVAL_OUTCOMES;
    assert_int_equal(ds_episodes_advance(1, list), DS_OK);
    assert_int_equal(a.outcome, DS_EVAL_ERROR);
    plan.outcome = DS_EVAL_OK;
    plan.evaluate = DS_STOPPED + 1;
    assert_int_equal(ds_episodes_advance(1, list), DS_STOPPED);
    ds_env_close(env);
    desc.needs = later;
    refused(4, "toy needs ds.host.later/1, which this host does not have; use a newer host, or another "
               "environment");
}

static void names(void **state)
{
    assert_string_equal(ds_status_name(DS_E_PARAM), "DS_E_PARAM");
    assert_string_equal(ds_status_text(DS_E_PARAM), "bad or unknown parameter");
    assert_string_equal(ds_status_name(-1234), "DS_E_GENERIC");
    assert_string_equal(ds_status_text(-1234), "error");
    assert_int_equal(ds_status_exit(-1234), 4);
    assert_string_equal(ds_status_name(1234), "?");
    assert_string_equal(ds_outcome_name(DS_EVAL_BAD_GRAD), "bad_gradient");
    assert_string_equal(ds_outcome_name(77), "?");
    assert_int_equal(ds_status_exit(DS_E_DATA), 3);
    assert_int_equal(ds_status_exit(DS_E_IO), 6);
    assert_int_equal(ds_status_exit(DS_E_NOMEM), 7);
    assert_int_equal(ds_status_exit(DS_E_STATE), 4);
    ds_error e;
    assert_int_equal(ds_fail(&e, 5, "a %s\nb", "long"), 5);
    assert_string_equal(e.text, "a long b");
    assert_int_equal(ds_fail(NULL, 6, "nobody listens"), 6);
}

/* On a terminal a message erases the progress line and draws it again; the line never wraps. */
static void terminal(void **state)
{
    struct winsize size = {.ws_row = 24, .ws_col = 20};
    char out[1000] = "";
    size_t used = 0;
    int fd;
    pid_t child = forkpty(&fd, NULL, NULL, &size);
    assert_true(child >= 0);
    if (child == 0) {
        setenv("TERM", "vt100", 1);
        ds_log_progress("evaluation 1 of 1000, best 3.14");
        ds_log(DS_LOG_WARNING, "toy", "something\nhappened");
        ds_log(DS_LOG_DEBUG, NULL, "not shown");
        ds_log_set_level(DS_LOG_DEBUG);
        ds_log(DS_LOG_DEBUG, NULL, "shown");
        ds_log_progress("");
        _exit(ds_log_is_terminal() ? 0 : 1);
    }
    for (ssize_t n; used < sizeof out - 1 && (n = read(fd, out + used, sizeof out - 1 - used)) > 0;) {
        used += (size_t)n;
    }
    int status;
    waitpid(child, &status, 0);
    close(fd);
    out[used] = '\0';
    assert_int_equal(status, 0);
    /* What does not fit is dropped word by word: no number is cut. */
    assert_string_equal(out, "evaluation 1 of\r\033[Kdshost: warning: toy: something happened\r\n"
                             "evaluation 1 of\r\033[Kdshost: debug: shown\r\n"
                             "evaluation 1 of\r\033[K");
}

RUN_EACH_WITH(good_plan, NULL, services, stop_flag, resources, refuses_instances, vets_answers, tables,
              table_stops, table_sizes, queries_in_tables, lanes_share_calls, lane_counts, lanes_begin_again,
              lanes_catch_up, lanes_fail, lanes_go_back, variables, later_versions, names, terminal)
