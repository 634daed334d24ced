/* SPDX-License-Identifier: Apache-2.0 */
/* test_environment.c - environments inside another program (diffsim/lib/environment.h): single points and
 * tables, with and without workers, crashes and limits, scenes, episodes, stops, and refusals. */
#include "config.h"

#include "test.h"

#include <diffsim/ext/scene.h>
#include <diffsim/lib/environment.h>
#include <diffsim/lib/library.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>

enum { MANY = 200 };

static char faulty[4096], faulty_rl[4096], alone[4096];

/* Does the message say what ended the worker? Sanitizers turn every crash into an exit. */
static int tells(const char *line, const char *part)
{
#ifdef DS_SANITIZERS
    if (strstr(line, "the worker ended by itself") != NULL) {
        return 1;
    }
#endif
    return strstr(line, part) != NULL;
}

static ds_environment_options options(const char *settings, uint32_t isolation)
{
    return (ds_environment_options){.struct_size = sizeof(ds_environment_options),
                                    .isolation = isolation,
                                    .settings = settings,
                                    .jobs = 3};
}

static ds_environment *must_open(const char *name, const char *settings, uint32_t isolation)
{
    char why[600] = "";
    ds_environment_options o = options(settings, isolation);
    ds_environment *e = ds_environment_open(name, &o, why, sizeof why);
    if (e == NULL) {
        print_message("%s\n", why);
    }
    assert_non_null(e);
    return e;
}

static ds_environment_box box_of(const ds_environment *e)
{
    ds_environment_box box = {.struct_size = sizeof box};
    assert_int_equal(ds_environment_describe(e, &box), DS_OK);
    return box;
}

/* ---- one point ---- */

static void test_one(void **state)
{
    for (uint32_t isolation = DS_ISOLATE_PROCESS; isolation <= DS_ISOLATE_NONE; isolation++) {
        ds_environment *e = must_open("analytic", "dim = 4\nfunction = rosenbrock", isolation);
        ds_environment_box box = box_of(e);
        double x[4], grad[4], loss, up, down, h = 1e-6;
        uint32_t outcome = 99;
        assert_true(box.n == 4 && box.has_gradient == 1 && box.stepwise == 0);
        for (int i = 0; i < 4; i++) {
            assert_true(box.lower[i] < box.upper[i] && box.x0[i] >= box.lower[i] &&
                        box.x0[i] <= box.upper[i]);
            x[i] = 0.5 * box.x0[i] + 0.2 * box.lower[i] + 0.3 * box.upper[i];
        }
        assert_int_equal(ds_environment_evaluate(e, x, 0, &loss, grad, &outcome), DS_OK);
        assert_int_equal(outcome, DS_EVAL_OK);
        assert_string_equal(ds_environment_message(e), "");
        assert_true(isfinite(loss) && loss > box.loss_floor);
        for (int i = 0; i < 4; i++) {
            double middle = x[i];
            x[i] = middle + h;
            ds_environment_evaluate(e, x, 0, &up, NULL, NULL);
            x[i] = middle - h;
            ds_environment_evaluate(e, x, 0, &down, NULL, NULL);
            x[i] = middle;
            assert_true(fabs((up - down) / (2 * h) - grad[i]) < 1e-5 * (1 + fabs(grad[i])));
        }
        x[2] = box.upper[2] + 1;
        assert_int_equal(ds_environment_evaluate(e, x, 0, &loss, NULL, NULL), DS_E_ARG);
        assert_non_null(strstr(ds_environment_message(e), "variable 2"));
        x[2] = NAN;
        assert_int_equal(ds_environment_evaluate(e, x, 0, &loss, NULL, NULL), DS_E_ARG);
        ds_environment_close(e);
    }
}

static void refused(const char *name, const ds_environment_options *o, const char *part)
{
    char why[600] = "";
    assert_null(ds_environment_open(name, o, why, sizeof why));
    if (!tells(why, part) || strchr(why, '\n') != NULL) {
        print_message("'%s' does not contain '%s'\n", why, part);
        fail();
    }
    assert_null(ds_environment_open(name, o, NULL, 0));
}

static void *status_of_a_thread(void *state)
{
    assert_int_equal(ds_library_exit_status(), 0);
    assert_null(ds_environment_open("tours", NULL, NULL, 0));
    assert_int_equal(ds_library_exit_status(), 4);
    return state;
}

/* A failed open has the exit status of dshost, per thread. */
static void test_exit_status(void **state)
{
    ds_environment_options o = options("dim = -1", DS_ISOLATE_NONE);
    pthread_t thread;
    assert_string_equal(ds_library_version(), PACKAGE_VERSION);
    assert_null(ds_environment_open("analytic", &o, NULL, 0));
    assert_int_equal(ds_library_exit_status(), 3);
    assert_int_equal(pthread_create(&thread, NULL, status_of_a_thread, NULL), 0);
    pthread_join(thread, NULL);
    assert_int_equal(ds_library_exit_status(), 3);
    assert_null(ds_environment_open(NULL, &o, NULL, 0));
    assert_int_equal(ds_library_exit_status(), 2);
    o.settings = "dim = 2";
    ds_environment *e = ds_environment_open("analytic", &o, NULL, 0);
    assert_non_null(e);
    assert_int_equal(ds_library_exit_status(), 0);
    ds_environment_close(e);
}

static void test_refused(void **state)
{
    static const char *const cases[][3] = {
        {"tours", NULL, "torus"},
        {"cmaes", NULL, "cmaes"},
        {"torus", "stepz = 4", "settings:1: torus: unknown parameter 'stepz'"},
        {"torus", "steps = -1", "steps"},
        {"torus", "[run]\njobs = 3", "[run]"},
        {"cartpole", "links = 1\nlinks = 2", "links"}};
    ds_environment_options o = options(NULL, DS_ISOLATE_NONE), bad = o;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        for (uint32_t isolation = DS_ISOLATE_PROCESS; isolation <= DS_ISOLATE_NONE; isolation++) {
            bad = options(cases[k][1], isolation);
            refused(cases[k][0], &bad, cases[k][2]);
        }
    }
    refused(NULL, &o, "missing");
    bad = o;
    bad.struct_size = 8;
    refused("analytic", &bad, "struct_size");
    bad = o;
    bad.isolation = 2;
    refused("analytic", &bad, "isolation is 2");
    bad = o;
    bad.jobs = 1025;
    refused("analytic", &bad, "jobs = 1025");
    bad = o;
    bad.threads = 1025;
    refused("analytic", &bad, "threads = 1025");
    bad = o;
    bad.timeout_s = -1;
    refused("analytic", &bad, "timeout_s = -1");
    bad.timeout_s = NAN;
    refused("analytic", &bad, "timeout_s");
    bad = o;
    bad.memory_mb = UINT64_MAX;
    refused("analytic", &bad, "memory_mb");
    refused(alone, &o, "alone needs a process of its own for each instance");
    bad = options("fault = error\nstage = create", DS_ISOLATE_PROCESS);
    refused(faulty, &bad, "refused as asked");
    bad = options("fault = segv\nstage = create", DS_ISOLATE_PROCESS);
    refused(faulty, &bad, "SIGSEGV");
}

static void test_null(void **state)
{
    ds_environment *e = must_open("analytic", "dim = 2", DS_ISOLATE_NONE);
    ds_environment_box box = {.struct_size = 4};
    ds_rows rows = {.struct_size = 4};
    ds_results results = {.struct_size = sizeof results};
    ds_step_rows lanes = {.struct_size = sizeof lanes};
    ds_step_results stepped = {.struct_size = sizeof stepped};
    ds_steps_info info = {.struct_size = sizeof info};
    ds_scene_view scene = {.struct_size = 4};
    double x[2] = {0, 0}, loss;
    assert_int_equal(ds_environment_describe(e, &box), DS_E_ARG);
    assert_int_equal(ds_environment_describe(e, NULL), DS_E_ARG);
    assert_int_equal(ds_environment_describe(NULL, &box), DS_E_ARG);
    assert_int_equal(ds_environment_evaluate(NULL, x, 0, &loss, NULL, NULL), DS_E_ARG);
    assert_int_equal(ds_environment_evaluate(e, NULL, 0, &loss, NULL, NULL), DS_E_ARG);
    assert_int_equal(ds_environment_evaluate(e, x, 0, NULL, NULL, NULL), DS_E_ARG);
    assert_int_equal(ds_environment_simulate(e, NULL, 0, 0, NULL, NULL), DS_E_STATE);
    assert_int_equal(ds_environment_evaluate_many(NULL, &rows, &results, NULL, NULL), DS_E_ARG);
    assert_int_equal(ds_environment_evaluate_many(e, NULL, &results, NULL, NULL), DS_E_ARG);
    assert_int_equal(ds_environment_evaluate_many(e, &rows, &results, NULL, NULL), DS_E_ARG);
    assert_non_null(strstr(ds_environment_message(e), "the rows: struct_size"));
    rows = (ds_rows){.struct_size = sizeof rows, .n = 2, .stride = 2, .x = x};
    assert_int_equal(ds_environment_evaluate_many(e, &rows, NULL, NULL, NULL), DS_E_ARG);
    results.loss = &loss;
    results.struct_size = 4;
    assert_int_equal(ds_environment_evaluate_many(e, &rows, &results, NULL, NULL), DS_E_ARG);
    assert_non_null(strstr(ds_environment_message(e), "the results: struct_size"));
    results.struct_size = sizeof results;
    assert_int_equal(ds_environment_evaluate_many(e, &rows, &results, NULL, NULL), DS_E_ARG); /* no rows */
    rows.count = 1;
    assert_int_equal(ds_environment_evaluate_many(e, &rows, &results, NULL, NULL), DS_OK);
    rows.n = 1;
    assert_int_equal(ds_environment_evaluate_many(e, &rows, &results, NULL, NULL), DS_E_ARG);
    rows.n = 2;
    rows.stride = 1;
    assert_int_equal(ds_environment_evaluate_many(e, &rows, &results, NULL, NULL), DS_E_ARG);
    rows.stride = 2;
    rows.memory = 1;
    assert_int_equal(ds_environment_evaluate_many(e, &rows, &results, NULL, NULL), DS_E_ARG);
    rows.memory = DS_MEMORY_HOST;
    rows.want = DS_WANT_SCENE;
    assert_int_equal(ds_environment_evaluate_many(e, &rows, &results, NULL, NULL), DS_E_ARG);
    rows.want = DS_WANT_GRAD; /* without an array for gradients */
    assert_int_equal(ds_environment_evaluate_many(e, &rows, &results, NULL, NULL), DS_E_ARG);
    results.grad = x;
    results.stride = 1;
    assert_int_equal(ds_environment_evaluate_many(e, &rows, &results, NULL, NULL), DS_E_ARG);
    assert_int_equal(ds_environment_simulate(NULL, x, 0, 0, NULL, NULL), DS_E_ARG);
    assert_int_equal(ds_environment_simulate(e, x, 0, 3, NULL, NULL), DS_E_ARG);
    assert_int_equal(ds_environment_scene(e, &scene), DS_E_ARG);
    assert_int_equal(ds_environment_scene(NULL, NULL), DS_E_ARG);
    assert_int_equal(ds_environment_episodes(e, &info), DS_E_UNSUPPORTED);
    assert_int_equal(ds_environment_episodes(e, NULL), DS_E_ARG);
    assert_int_equal(ds_environment_lanes(NULL), 0);
    assert_int_equal(ds_environment_lanes(e), 0);
    assert_int_equal(ds_environment_reset(NULL, &lanes, &stepped, NULL), DS_E_ARG);
    assert_int_equal(ds_environment_reset(e, NULL, &stepped, NULL), DS_E_ARG);
    assert_int_equal(ds_environment_reset(e, &lanes, &stepped, NULL), DS_E_UNSUPPORTED);
    assert_int_equal(ds_environment_step(e, &lanes, NULL, NULL), DS_E_ARG);
    assert_int_equal(ds_environment_step(e, &lanes, &stepped, NULL), DS_E_UNSUPPORTED);
    assert_int_equal(ds_environment_noise_key(NULL, 1), 0);
    assert_string_equal(ds_environment_message(NULL), "");
    assert_string_equal(ds_environment_message_of(NULL, 0), "");
    assert_string_equal(ds_environment_message_of(e, 77), "");
    ds_environment_stop(NULL);
    ds_environment_close(NULL);
    ds_environment_close(e);
}

static void test_variables(void **state)
{
    for (uint32_t isolation = DS_ISOLATE_PROCESS; isolation <= DS_ISOLATE_NONE; isolation++) {
        ds_environment *e = must_open("pendulum", NULL, isolation),
                       *none = must_open("analytic", "dim = 2", isolation);
        ds_variable v = {.struct_size = sizeof v};
        uint64_t n = box_of(e).n;
        for (uint64_t i = 0; i < n; i++) {
            v.name = v.unit = v.group = NULL;
            assert_int_equal(ds_environment_variable(e, i, &v), DS_OK);
            assert_true(v.name[0] != '\0' && v.unit != NULL && v.group != NULL);
        }
        assert_int_equal(ds_environment_variable(e, n, &v), DS_E_ARG);
        assert_int_equal(ds_environment_variable(e, 0, NULL), DS_E_ARG);
        assert_int_equal(ds_environment_variable(NULL, 0, &v), DS_E_ARG);
        assert_int_equal(ds_environment_variable(none, 0, &v), DS_E_UNSUPPORTED);
        v.struct_size = 8;
        assert_int_equal(ds_environment_variable(e, 0, &v), DS_E_ARG);
        ds_environment_close(e);
        ds_environment_close(none);
    }
}

/* ---- many points ---- */

typedef struct answers {
    double x[MANY * 2], loss[MANY], grad[MANY * 2], seconds[MANY];
    uint32_t outcome[MANY], kind[MANY];
    uint64_t key[MANY], cost[MANY], done;
    int64_t bad_step[MANY];
    ds_rows rows;
    ds_results results;
} answers;

static void prepare(answers *a)
{
    for (int k = 0; k < MANY; k++) {
        a->x[2 * k] = -1.0 + 2.0 * k / (MANY - 1);
        a->x[2 * k + 1] = 0.5;
        a->key[k] = (uint64_t)(k / 2);
    }
    a->rows = (ds_rows){.struct_size = sizeof a->rows,
                        .want = DS_WANT_GRAD,
                        .count = MANY,
                        .n = 2,
                        .stride = 2,
                        .x = a->x,
                        .noise_key = a->key};
    a->results = (ds_results){.struct_size = sizeof a->results,
                              .stride = 2,
                              .loss = a->loss,
                              .grad = a->grad,
                              .outcome = a->outcome,
                              .grad_kind = a->kind,
                              .bad_step = a->bad_step,
                              .cost_steps = a->cost};
    a->done = 99;
}

static ds_status evaluate(ds_environment *e, answers *a)
{
    return ds_environment_evaluate_many(e, &a->rows, &a->results, a->seconds, &a->done);
}

/* Every row has the result that it has alone, whoever evaluates it, with its own noise. */
static void test_many(void **state)
{
    static answers a, b;
    ds_environment *here = must_open(faulty, "noise = 0.5", DS_ISOLATE_NONE);
    ds_environment *there = must_open(faulty, "noise = 0.5", DS_ISOLATE_PROCESS);
    assert_int_equal(box_of(here).stochastic, 1);
    prepare(&a);
    prepare(&b);
    assert_int_equal(evaluate(here, &a), DS_OK);
    assert_int_equal(evaluate(there, &b), DS_OK);
    assert_true(a.done == MANY && b.done == MANY);
    assert_memory_equal(a.loss, b.loss, sizeof a.loss);
    assert_memory_equal(a.grad, b.grad, sizeof a.grad);
    for (int k = 0; k < MANY; k++) {
        double single, grad[2];
        assert_int_equal(ds_environment_evaluate(here, a.x + 2 * k, a.key[k], &single, grad, NULL), DS_OK);
        assert_true(single == a.loss[k] && grad[0] == a.grad[2 * k] && a.grad[2 * k] != 0);
        assert_true(a.outcome[k] == DS_EVAL_OK && b.outcome[k] == DS_EVAL_OK && b.kind[k] == a.kind[k]);
        assert_true(a.kind[k] != DS_GRAD_NONE && a.cost[k] == b.cost[k] && b.seconds[k] >= 0);
        assert_true(a.bad_step[k] == -1 && b.bad_step[k] == -1);
    }
    assert_true(a.loss[0] != a.loss[2]); /* key 0 means no noise */
    assert_int_not_equal(ds_environment_noise_key(here, 1), ds_environment_noise_key(here, 2));
    assert_int_equal(ds_environment_noise_key(here, 5), ds_environment_noise_key(there, 5));
    a.x[7] = 2;
    assert_int_equal(evaluate(here, &a), DS_E_ARG);
    assert_non_null(strstr(ds_environment_message(here), "point 3, variable 1"));
    ds_environment_close(here);
    ds_environment_close(there);
}

/* A crash is the outcome of its row, with a message; all other rows are evaluated. */
static void test_crashes(void **state)
{
    static const struct {
        const char *settings, *message;
        uint32_t outcome;
    } cases[] = {{"fault = segv\nabove = 0.9", "SIGSEGV", DS_EVAL_CRASHED},
                 {"fault = abort\nabove = 0.9", "SIGABRT", DS_EVAL_CRASHED},
                 {"fault = exit\nabove = 0.9", "exit status 3", DS_EVAL_CRASHED},
                 {"fault = loop\nabove = 0.98", "timeout_s", DS_EVAL_TIMEOUT},
                 {"fault = error\nabove = 0.9", "", DS_EVAL_ERROR},
                 {"fault = nan\nabove = 0.9", "not finite", DS_EVAL_INVALID}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        static answers a;
        ds_environment_options o = options(cases[k].settings, DS_ISOLATE_PROCESS);
        o.timeout_s = cases[k].outcome == DS_EVAL_TIMEOUT ? 0.3 : 60;
        o.memory_mb = 256;
        ds_environment *e = ds_environment_open(faulty, &o, NULL, 0);
        uint64_t failed = 0;
        assert_non_null(e);
        prepare(&a);
        assert_int_equal(evaluate(e, &a), DS_OK);
        for (uint64_t row = 0; row < MANY; row++) {
            const char *why = ds_environment_message_of(e, row);
            if (a.outcome[row] != DS_EVAL_OK) {
                assert_int_equal(a.outcome[row], cases[k].outcome);
                assert_true(isinf(a.loss[row]) && a.grad[2 * row] == 0 && a.kind[row] == DS_GRAD_NONE);
                assert_true(a.x[2 * row] > 0.9 && why[0] != '\0' && tells(why, cases[k].message));
                failed++;
            } else {
                assert_true(isfinite(a.loss[row]) && why[0] == '\0');
            }
        }
        assert_true(failed > 0 && failed < 30);
        assert_true(tells(ds_environment_message(e), cases[k].message));
        ds_environment_close(e);
    }
}

static void test_no_gradient(void **state)
{
    ds_environment *e = must_open("cartpole_gym", NULL, DS_ISOLATE_NONE);
    ds_environment_box box = box_of(e);
    double loss, *grad = calloc(box.n, sizeof *grad);
    assert_int_equal(box.has_gradient, 0);
    assert_int_equal(ds_environment_evaluate(e, box.x0, 0, &loss, grad, NULL), DS_E_UNSUPPORTED);
    assert_non_null(strstr(ds_environment_message(e), "no gradient"));
    assert_int_equal(ds_environment_evaluate(e, box.x0, 0, &loss, NULL, NULL), DS_OK);
    free(grad);
    ds_environment_close(e);
}

static void *stop_soon(void *e)
{
    const struct timespec nap = {0, 200000000};
    nanosleep(&nap, NULL);
    ds_environment_stop(e);
    return NULL;
}

static void test_stop(void **state)
{
    for (uint32_t isolation = DS_ISOLATE_PROCESS; isolation <= DS_ISOLATE_NONE; isolation++) {
        static answers a;
        pthread_t thread;
        double loss;
        ds_environment *e = must_open(faulty, "work = 0.05", isolation);
        prepare(&a);
        assert_int_equal(pthread_create(&thread, NULL, stop_soon, e), 0);
        assert_int_equal(evaluate(e, &a), DS_STOPPED);
        pthread_join(thread, NULL);
        assert_true(a.done < MANY);
        assert_int_equal(ds_environment_evaluate(e, a.x, 0, &loss, NULL, NULL), DS_STOPPED);
        assert_int_equal(ds_environment_simulate(e, a.x, 0, DS_FRAMES_ALL, NULL, NULL), DS_STOPPED);
        ds_environment_close(e);
    }
}

static uint32_t give_up(void *ctx)
{
    int *left = ctx;
    return --*left <= 0;
}

/* waiting() is called while an evaluation or a scene takes long, and can end it. */
static void test_waiting(void **state)
{
    for (int scene = 0; scene < 2; scene++) {
        int left = 1000;
        double x[2] = {0.1, 0.1}, bad[2] = {0.9, 0.1}, loss;
        ds_environment_options o = options("fault = sleep\nabove = 0.5", DS_ISOLATE_PROCESS);
        o.waiting = give_up;
        o.ctx = &left;
        ds_environment *e = ds_environment_open(faulty, &o, NULL, 0);
        assert_non_null(e);
        for (int k = 0; k < 50; k++) {
            assert_int_equal(ds_environment_evaluate(e, x, 0, &loss, NULL, NULL), DS_OK);
        }
        left = 3;
        assert_int_equal(scene ? ds_environment_simulate(e, bad, 0, DS_FRAMES_ALL, NULL, NULL)
                               : ds_environment_evaluate(e, bad, 0, &loss, NULL, NULL),
                         DS_STOPPED);
        assert_true(left <= 0);
        assert_int_equal(ds_environment_evaluate(e, x, 0, &loss, NULL, NULL), DS_STOPPED);
        ds_environment_close(e);
    }
}

/* Opened by a thread that ends, used by another one; two at once. */
static void *open_there(void *out)
{
    *(ds_environment **)out = must_open("analytic", "dim = 3", DS_ISOLATE_PROCESS);
    return NULL;
}

static void test_threads(void **state)
{
    ds_environment *e[2] = {NULL, NULL};
    pthread_t thread[2];
    double loss[2];
    for (int k = 0; k < 2; k++) {
        assert_int_equal(pthread_create(&thread[k], NULL, open_there, &e[k]), 0);
    }
    for (int k = 0; k < 2; k++) {
        uint32_t outcome = 99;
        assert_int_equal(pthread_join(thread[k], NULL), 0);
        assert_int_equal(ds_environment_evaluate(e[k], box_of(e[k]).x0, 0, &loss[k], NULL, &outcome), DS_OK);
        assert_int_equal(outcome, DS_EVAL_OK);
    }
    assert_true(loss[0] == loss[1]);
    ds_environment_close(e[0]);
    ds_environment_close(e[1]);
}

/* ---- channels ---- */

enum { DIM = 3, POINTS = 5, MOST = 16, MOST_ASKED = 4 };

/* Queries with gaps of one number between rows. */
typedef struct question {
    ds_query query;
    ds_reply reply;
    uint32_t kind[POINTS];
} question;

static void make_question(question *q, uint32_t op, const double *v, uint64_t v_count, void *out,
                          uint64_t count)
{
    q->query = (ds_query){.struct_size = sizeof q->query, .op = op, .v = v, .v_stride = v_count + 1};
    q->reply = (ds_reply){.struct_size = sizeof q->reply,
                          .out = out,
                          .stride = (count + 1) * sizeof(double),
                          .bytes = count * sizeof(double),
                          .kind = q->kind};
    memset(q->kind, 0x7f, sizeof q->kind);
}

/* Evaluates losses and `count` queries; NULL as the last query = no reply. */
static ds_status ask(ds_environment *e, const double *x, double *loss, double *grad, uint64_t count,
                     question *const *q)
{
    const ds_query *query[MOST_ASKED] = {NULL};
    const ds_reply *reply[MOST_ASKED] = {NULL};
    for (uint64_t i = 0; i < count; i++) {
        query[i] = q[i] != NULL ? &q[i]->query : NULL;
        reply[i] = q[i] != NULL ? &q[i]->reply : NULL;
    }
    const ds_rows rows = {.struct_size = sizeof rows,
                          .want = grad != NULL ? DS_WANT_GRAD : 0,
                          .count = POINTS,
                          .n = DIM,
                          .stride = DIM + 1,
                          .x = x,
                          .queries = count,
                          .query = query};
    const ds_results results = {
        .struct_size = sizeof results, .stride = DIM + 1, .loss = loss, .grad = grad, .reply = reply};
    return ds_environment_evaluate_many(e, &rows, &results, NULL, NULL);
}

static double not_a_number(double x)
{
    return 0 * x + (double)NAN;
}

/* Fills every element with a number, and the gap after each row of `width` numbers with NaN. */
static void fill_rows(double *to, uint64_t width, double (*of)(double))
{
    for (uint64_t i = 0; i < POINTS * (width + 1); i++) {
        to[i] = i % (width + 1) < width ? of(3.0 * (double)i + 1) : (double)NAN;
    }
}

static void gaps_untouched(const double *in, uint64_t width)
{
    for (uint64_t k = 0; k < POINTS; k++) {
        assert_true(isnan(in[k * (width + 1) + width]));
    }
}

/* The residuals of a sum of squares fit its loss, its gradient and their products, row by row. */
static void test_channels(void **state)
{
    for (uint32_t isolation = DS_ISOLATE_PROCESS; isolation <= DS_ISOLATE_NONE; isolation++) {
        ds_environment *e = must_open("analytic", "dim = 3\nfunction = rosenbrock", isolation);
        ds_environment_box box = box_of(e);
        ds_channel c = {.struct_size = sizeof c};
        enum { WIDE = DIM + 1 };
        double x[POINTS * WIDE], loss[POINTS], grad[POINTS * WIDE], v[POINTS * WIDE], jtw[POINTS * WIDE],
            r[POINTS * (MOST + 1)], jv[POINTS * (MOST + 1)], w[POINTS * (MOST + 1)];
        assert_int_equal(ds_environment_channels(e), 1);
        assert_int_equal(ds_environment_channel(e, 0, &c), DS_OK);
        assert_true(c.role == DS_CHANNEL_RESIDUAL && c.type == DS_TYPE_F64 && c.name[0] != '\0');
        const uint64_t m = ds_channel_elements(&c), row = m + 1;
        assert_true(m >= 1 && m <= MOST);
        fill_rows(x, DIM, sin);
        fill_rows(v, DIM, cos);
        fill_rows(w, m, sin);
        for (int i = 0; i < POINTS * WIDE; i++) { /* gaps stay NaN */
            x[i] = box.lower[i % WIDE % DIM] +
                   (0.5 + 0.4 * x[i]) * (box.upper[i % WIDE % DIM] - box.lower[i % WIDE % DIM]);
        }
        fill_rows(r, m, not_a_number);
        fill_rows(jv, m, not_a_number);
        fill_rows(jtw, DIM, not_a_number);
        fill_rows(grad, DIM, not_a_number);
        question value, forward, backward;
        make_question(&value, DS_QUERY_VALUE, NULL, 0, r, m);
        make_question(&forward, DS_QUERY_JV, v, DIM, jv, m);
        make_question(&backward, DS_QUERY_JTV, w, m, jtw, DIM);
        question *const both[] = {&value, &forward}, *const one[] = {&backward},
                        *const two[] = {&forward, &backward}, *const none[] = {NULL};
        assert_int_equal(ask(e, x, loss, NULL, 2, both), DS_OK);
        assert_int_equal(ask(e, x, loss, NULL, 1, one), DS_OK);
        assert_int_equal(ask(e, x, loss, grad, 0, NULL), DS_OK);
        gaps_untouched(r, m);
        gaps_untouched(jv, m);
        gaps_untouched(jtw, DIM);
        gaps_untouched(grad, DIM);
        for (uint64_t k = 0; k < POINTS; k++) {
            double sum = 0, slope = 0, expected = 0, left = 0, right = 0;
            assert_true(value.kind[k] == DS_GRAD_NONE && forward.kind[k] != DS_GRAD_NONE);
            assert_true(forward.kind[k] <= DS_GRAD_SMOOTHED && backward.kind[k] <= DS_GRAD_SMOOTHED &&
                        backward.kind[k] != DS_GRAD_NONE);
            for (uint64_t i = 0; i < m; i++) {
                sum += r[k * row + i] * r[k * row + i];
                slope += 2 * r[k * row + i] * jv[k * row + i];
                left += w[k * row + i] * jv[k * row + i];
            }
            for (uint64_t i = 0; i < DIM; i++) {
                expected += grad[k * WIDE + i] * v[k * WIDE + i];
                right += jtw[k * WIDE + i] * v[k * WIDE + i];
            }
            assert_true(fabs(sum - loss[k]) <= 1e-12 * loss[k]);
            assert_true(fabs(slope - expected) <= 1e-9 * (1 + fabs(expected)));
            assert_true(fabs(left - right) <= 1e-9 * (1 + fabs(left)));
        }
        double before[POINTS * WIDE];
        memcpy(before, jtw, sizeof before);
        fill_rows(jtw, DIM, cos);
        assert_int_equal(ask(e, x, loss, grad, 1, one), DS_OK); /* a product next to the gradient */
        assert_memory_equal(jtw, before, sizeof before);
        assert_int_equal(ask(e, x, loss, NULL, 2, two), DS_E_ARG); /* two products */
        value.reply.bytes--;
        assert_int_equal(ask(e, x, loss, NULL, 1, both), DS_E_ARG);
        assert_non_null(strstr(ds_environment_message(e), "query 0 has a reply whose bytes"));
        make_question(&value, DS_QUERY_VALUE, NULL, 0, r, m);
        value.reply.stride = 8 * m - 8;
        assert_int_equal(ask(e, x, loss, NULL, 1, both), m > 1 ? DS_E_ARG : DS_OK);
        make_question(&value, DS_QUERY_VALUE, NULL, 0, r, m);
        value.query.channel = 1;
        assert_int_equal(ask(e, x, loss, NULL, 1, both), DS_E_ARG); /* no such channel */
        assert_int_equal(ask(e, x, loss, NULL, 1, none), DS_E_ARG);
        assert_int_equal(ds_environment_channel(e, 1, &c), DS_E_ARG);
        assert_int_equal(ds_environment_channel(e, 0, NULL), DS_E_ARG);
        c.struct_size = 8;
        assert_int_equal(ds_environment_channel(e, 0, &c), DS_E_ARG);
        assert_int_equal(ds_environment_channel(NULL, 0, &c), DS_E_ARG);
        assert_int_equal(ds_environment_channels(NULL), 0);
        ds_environment_close(e);
    }
}

/* ---- scenes ---- */

static void test_scene(void **state)
{
    for (uint32_t isolation = DS_ISOLATE_PROCESS; isolation <= DS_ISOLATE_NONE; isolation++) {
        ds_environment *e = must_open("cartpole", NULL, isolation);
        ds_environment_box box = box_of(e);
        ds_scene_view scene = {.struct_size = sizeof scene};
        ds_body_view body = {.struct_size = sizeof body};
        ds_metric_view metric = {.struct_size = sizeof metric};
        double loss, again;
        uint32_t outcome;
        assert_int_equal(ds_environment_scene(e, &scene), DS_E_STATE);
        assert_int_equal(ds_environment_body(e, 0, &body), DS_E_STATE);
        assert_int_equal(ds_environment_metric(e, 0, &metric), DS_E_STATE);
        assert_int_equal(ds_environment_evaluate(e, box.x0, 0, &loss, NULL, NULL), DS_OK);
        assert_int_equal(ds_environment_simulate(e, NULL, 0, DS_FRAMES_ALL, &again, &outcome), DS_OK);
        assert_true(loss == again && outcome == DS_EVAL_OK);
        assert_int_equal(ds_environment_scene(e, &scene), DS_OK);
        assert_true(scene.frames == box.steps + 1 && scene.kept == scene.frames && scene.bodies > 0);
        for (uint64_t b = 0; b < scene.bodies; b++) {
            assert_int_equal(ds_environment_body(e, b, &body), DS_OK);
            assert_true(body.name[0] != '\0' && (body.width == 3 || body.width == 7) && body.count > 0);
            for (uint64_t i = 0; i < scene.kept * body.count * body.width; i++) {
                assert_true(isfinite(body.data[i]));
            }
        }
        assert_int_equal(ds_environment_body(e, scene.bodies, &body), DS_E_ARG);
        assert_true(scene.metrics > 0);
        for (uint64_t m = 0; m < scene.metrics; m++) {
            assert_int_equal(ds_environment_metric(e, m, &metric), DS_OK);
            assert_true(metric.name[0] != '\0' && metric.unit != NULL && metric.count == scene.frames);
            assert_false(isnan(metric.values[metric.count - 1]));
        }
        assert_int_equal(ds_environment_metric(e, scene.metrics, &metric), DS_E_ARG);
        body.struct_size = metric.struct_size = 8;
        assert_int_equal(ds_environment_body(e, 0, &body), DS_E_ARG);
        assert_int_equal(ds_environment_metric(e, 0, &metric), DS_E_ARG);
        assert_int_equal(ds_environment_simulate(e, box.x0, 0, DS_FRAMES_NONE, NULL, NULL), DS_OK);
        assert_int_equal(ds_environment_scene(e, &scene), DS_OK);
        assert_true(scene.kept == 0 && scene.metrics > 0);
        ds_environment_close(e);
    }
}

static void test_no_scene(void **state)
{
    const double x[2] = {0.5, 0.5};
    double loss = 0;
    uint32_t outcome = 0;
    ds_environment *e = must_open(faulty, "fault = segv\nabove = 0.9", DS_ISOLATE_PROCESS);
    const double bad[2] = {0.95, 0.5};
    assert_int_equal(ds_environment_simulate(e, x, 0, DS_FRAMES_ALL, NULL, NULL), DS_E_UNSUPPORTED);
    assert_non_null(strstr(ds_environment_message(e), "no scene"));
    assert_int_equal(ds_environment_simulate(e, bad, 0, DS_FRAMES_ALL, &loss, &outcome), DS_OK);
    assert_true(isinf(loss) && outcome == DS_EVAL_CRASHED);
    assert_true(tells(ds_environment_message(e), "SIGSEGV"));
    ds_environment_close(e);
}

/* ---- episodes ---- */

enum { LANES = 3, OBS = 64, ACT = 8 };

typedef struct rows {
    uint64_t lane[LANES], cost[LANES], done;
    double action[LANES * ACT], obs[LANES * OBS], reward[LANES], loss[LANES];
    uint32_t ended[LANES], outcome[LANES];
    ds_step_rows r;
    ds_step_results results;
} rows;

static void prepare_rows(rows *q, uint64_t count)
{
    for (uint64_t k = 0; k < LANES; k++) {
        q->lane[k] = 7 * k;
    }
    q->r = (ds_step_rows){.struct_size = sizeof q->r, .count = count, .lane = q->lane, .action = q->action};
    q->results = (ds_step_results){.struct_size = sizeof q->results,
                                   .obs = q->obs,
                                   .reward = q->reward,
                                   .ended = q->ended,
                                   .loss = q->loss,
                                   .outcome = q->outcome,
                                   .cost_steps = q->cost};
    q->done = 99;
}

static ds_status reset(ds_environment *e, rows *q)
{
    return ds_environment_reset(e, &q->r, &q->results, &q->done);
}

static ds_status step(ds_environment *e, rows *q)
{
    return ds_environment_step(e, &q->r, &q->results, &q->done);
}

/* In every lane the steps of an episode give the loss of the evaluation with all its actions. */
/* The environment holds max_lanes episodes in one instance. */
static void play_lanes(const char *id, uint32_t max_lanes)
{
    for (uint32_t isolation = DS_ISOLATE_PROCESS; isolation <= DS_ISOLATE_NONE; isolation++) {
        static rows q;
        ds_environment *e = must_open(id, NULL, isolation);
        ds_environment_box box = box_of(e);
        ds_steps_info info = {.struct_size = sizeof info};
        assert_int_equal(box.stepwise, 1);
        info.struct_size = DS_STEPS_INFO_SIZE_1_0 - 1;
        assert_int_equal(ds_environment_episodes(e, &info), DS_E_ARG);
        info.struct_size = sizeof info;
        assert_int_equal(ds_environment_episodes(e, &info), DS_OK);
        assert_true(info.max_lanes == max_lanes && ds_environment_lanes(e) >= LANES);
        assert_true(info.horizon * info.n_act == box.n && info.n_obs <= OBS && info.n_act <= ACT);
        double *x = calloc(LANES * box.n, sizeof *x), loss;
        prepare_rows(&q, LANES);
        assert_int_equal(step(e, &q), DS_E_STATE);
        assert_int_equal(reset(e, &q), DS_OK);
        assert_int_equal(q.done, LANES);
        for (uint64_t t = 0; t < info.horizon; t++) {
            for (uint64_t k = 0; k < LANES; k++) {
                for (uint64_t i = 0; i < info.n_act; i++) {
                    uint64_t at = t * info.n_act + i;
                    double share = 0.5 + 0.4 * sin(0.1 * (double)(at + 1) * (double)(k + 1));
                    q.action[k * info.n_act + i] = x[k * box.n + at] =
                        box.lower[at] + share * (box.upper[at] - box.lower[at]);
                }
            }
            assert_int_equal(step(e, &q), DS_OK);
            assert_int_equal(q.done, LANES);
            for (uint64_t k = 0; k < LANES; k++) {
                assert_true(q.outcome[k] == DS_EVAL_OK && q.cost[k] > 0);
                assert_int_equal(q.ended[k] != DS_STEPS_CONTINUES, t + 1 == info.horizon);
            }
        }
        assert_int_equal(step(e, &q), DS_E_STATE);
        for (uint64_t k = 0; k < LANES; k++) {
            assert_int_equal(ds_environment_evaluate(e, x + k * box.n, 0, &loss, NULL, NULL), DS_OK);
            assert_true(loss == q.loss[k]);
        }
        free(x);
        ds_environment_close(e);
    }
}

static void test_steps(void **state)
{
    play_lanes("pendulum", 64);
    play_lanes("pusher1d", 1);
}

static void test_steps_refused(void **state)
{
    static rows q;
    ds_environment *e = must_open("pendulum", NULL, DS_ISOLATE_NONE);
    ds_environment_box box = box_of(e);
    prepare_rows(&q, 2);
    assert_int_equal(ds_environment_reset(e, NULL, &q.results, NULL), DS_E_ARG);
    assert_int_equal(ds_environment_reset(e, &q.r, NULL, NULL), DS_E_ARG);
    q.results.struct_size = 8;
    assert_int_equal(reset(e, &q), DS_E_ARG);
    assert_int_equal(q.done, 0);
    prepare_rows(&q, 2);
    q.r.struct_size = 8;
    assert_int_equal(reset(e, &q), DS_E_ARG);
    prepare_rows(&q, 2);
    q.lane[1] = q.lane[0];
    assert_int_equal(reset(e, &q), DS_E_ARG);
    assert_non_null(strstr(ds_environment_message(e), "named twice"));
    q.lane[1] = ds_environment_lanes(e);
    assert_int_equal(reset(e, &q), DS_E_ARG);
    prepare_rows(&q, 0);
    assert_int_equal(reset(e, &q), DS_E_ARG);
    prepare_rows(&q, 1);
    q.results.obs = NULL;
    assert_int_equal(reset(e, &q), DS_E_ARG);
    prepare_rows(&q, 1);
    assert_int_equal(reset(e, &q), DS_OK);
    q.action[0] = nextafter(box.upper[0], INFINITY);
    assert_int_equal(step(e, &q), DS_E_ARG);
    char shown[64]; /* enough digits to tell two numbers apart */
    snprintf(shown, sizeof shown, "is %.17g, outside of its bounds", q.action[0]);
    assert_non_null(strstr(ds_environment_message(e), shown));
    q.action[0] = box.x0[0];
    q.results.reward = NULL;
    assert_int_equal(step(e, &q), DS_E_ARG);
    prepare_rows(&q, 1);
    assert_int_equal(step(e, &q), DS_OK);
    assert_int_equal(reset(e, &q), DS_OK); /* in the middle of an episode */
    ds_environment_close(e);
}

/* A crash in a step ends its episode and no other. */
static void test_step_crashes(void **state)
{
    static rows q;
    ds_environment *e = must_open(faulty_rl, "fault = segv\nshare = 1", DS_ISOLATE_PROCESS);
    ds_environment_box box = box_of(e);
    ds_steps_info info = {.struct_size = sizeof info};
    uint32_t crashed = 0;
    assert_int_equal(ds_environment_episodes(e, &info), DS_OK);
    prepare_rows(&q, 1);
    assert_int_equal(reset(e, &q), DS_OK);
    for (uint64_t t = 0; t < info.horizon && !crashed; t++) {
        memcpy(q.action, box.x0 + t * info.n_act, info.n_act * sizeof *q.action);
        assert_int_equal(step(e, &q), DS_OK);
        crashed = q.outcome[0] == DS_EVAL_CRASHED;
    }
    assert_true(crashed && q.ended[0] == DS_STEPS_TERMINATED && isinf(q.loss[0]) && q.reward[0] == 0);
    assert_true(tells(ds_environment_message(e), "SIGSEGV"));
    assert_int_equal(reset(e, &q), DS_OK);
    assert_int_equal(q.outcome[0], DS_EVAL_OK);
    ds_environment_close(e);
}

static int set_up(void **state)
{
    test_path(faulty, "tests/plugins/.libs/faulty.so");
    test_path(alone, "tests/plugins/.libs/alone.so");
    test_path(faulty_rl, "tests/plugins/.libs/faulty_rl.so");
    test_find_plugins();
    return 0;
}

RUN_TESTS_WITH(set_up, NULL, test_one, test_refused, test_exit_status, test_null, test_variables, test_many,
               test_crashes, test_no_gradient, test_stop, test_waiting, test_threads, test_channels,
               test_scene, test_no_scene, test_steps, test_steps_refused, test_step_crashes)
