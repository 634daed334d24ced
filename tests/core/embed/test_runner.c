/* SPDX-License-Identifier: Apache-2.0 */
/* test_runner - whole runs inside another program (diffsim/lib/run.h): the folder and the result of a run of
 * dshost, progress, stops, resumed runs, several at once, and what is refused. */
#include "store/store.h"
#include "temporary.h"
#include "test.h"

#include <diffsim/lib/environment.h>
#include <diffsim/lib/library.h>
#include <diffsim/lib/run.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>

static temporary place;
static char faulty[4096], badopt[4096];

static ds_runner_options options(const char *folder, const char *run)
{
    return (ds_runner_options){.struct_size = sizeof(ds_runner_options),
                               .environment = "analytic",
                               .optimizer = "cmaes",
                               .folder = folder,
                               .run = run,
                               .env = "dim = 3",
                               .opt = "lambda = 6"};
}

static ds_runner *must_open(const ds_runner_options *o)
{
    char why[600] = "";
    ds_runner *r = ds_runner_open(o, why, sizeof why);
    if (r == NULL) {
        print_message("%s\n", why);
    }
    assert_non_null(r);
    return r;
}

/* Runs and closes; *out and *x (3 values) keep the result. */
static ds_status run(const ds_runner_options *o, ds_runner_result *out, double *x)
{
    ds_runner *r = must_open(o);
    *out = (ds_runner_result){.struct_size = sizeof *out};
    assert_int_equal(ds_runner_describe(r, out), DS_E_STATE);
    ds_status status = ds_runner_run(r);
    if (ds_runner_describe(r, out) == DS_OK && out->best_x != NULL) {
        memcpy(x, out->best_x, 3 * sizeof *x);
    }
    if (status < 0) {
        print_message("%s\n", ds_runner_message(r));
        assert_true(ds_runner_message(r)[0] != '\0');
    }
    assert_int_equal(ds_runner_run(r), DS_E_STATE);
    ds_runner_close(r);
    return status;
}

static uint64_t rows_of(const char *folder, double *best)
{
    char path[800];
    ds_store *store = NULL;
    ds_error e = {0, ""};
    uint64_t count = 0;
    snprintf(path, sizeof path, "%s/run.sqlite", folder);
    assert_int_equal(ds_store_open(path, DS_STORE_READ, &store, &e), 0);
    assert_int_equal(ds_store_count(store, &count, &e), 0);
    assert_int_equal(ds_store_best(store, best, &e), 0);
    ds_store_close(store, NULL);
    return count;
}

/* The result is that of the record, and the environment confirms the best point. */
static void test_run(void **state)
{
    char *folder = strdup(temporary_path(&place, "run"));
    ds_runner_options o = options(folder, "budget = 100\nseed = 4\njobs = 2");
    ds_runner_result result;
    double x[3], best, loss, again[3];
    assert_int_equal(run(&o, &result, x), DS_OK);
    assert_true(result.exit_status == 0 && result.evaluations == 100 && result.budget == 100 &&
                result.n == 3);
    assert_int_equal(rows_of(folder, &best), 100);
    assert_true(best == result.best_loss && result.best >= 1 && result.best <= 100 && result.failed == 0);
    ds_environment_options eo = {
        .struct_size = sizeof eo, .isolation = DS_ISOLATE_NONE, .settings = "dim = 3"};
    ds_environment *e = ds_environment_open("analytic", &eo, NULL, 0);
    assert_non_null(e);
    assert_int_equal(ds_environment_evaluate(e, x, 0, &loss, NULL, NULL), DS_OK);
    assert_true(loss == best);
    ds_environment_close(e);

    char *other = strdup(temporary_path(&place, "again"));
    o = options(other, "budget = 100\nseed = 4\nisolation = none");
    assert_int_equal(run(&o, &result, again), DS_OK);
    assert_memory_equal(x, again, sizeof x);
    free(folder);
    free(other);
}

/* Runs 60 of 100 evaluations, then resumes: the same as in one go. */
static void test_resume(void **state)
{
    char *folder = strdup(temporary_path(&place, "resume"));
    ds_runner_options o = options(folder, "budget = 60\nseed = 4\njobs = 2");
    ds_runner_result result;
    double x[3], best;
    assert_int_equal(run(&o, &result, x), DS_OK);
    ds_runner_options more = {
        .struct_size = sizeof more, .resume = 1, .folder = folder, .run = "budget = 100\njobs = 1"};
    assert_int_equal(run(&more, &result, x), DS_OK);
    assert_true(result.evaluations == 100 && result.repeated == 60);
    assert_int_equal(rows_of(folder, &best), 100);
    assert_true(best == result.best_loss);
    assert_int_equal(run(&more, &result, x), DS_OK); /* nothing to do */
    assert_int_equal(result.evaluations, 100);
    free(folder);
}

static uint32_t count_steps(void *ctx, const ds_runner_result *now)
{
    uint64_t *steps = ctx;
    ++*steps;
    assert_string_equal(now->ended, "running");
    assert_true(now->evaluations > 0 && now->budget == 1000 && now->best_x != NULL &&
                isfinite(now->best_loss));
    return now->evaluations >= 50;
}

static void test_progress_stops(void **state)
{
    char *folder = strdup(temporary_path(&place, "progress"));
    ds_runner_options o = options(folder, "budget = 1000");
    ds_runner_result result;
    uint64_t steps = 0;
    double x[3], best;
    o.progress = count_steps;
    o.ctx = &steps;
    assert_int_equal(run(&o, &result, x), DS_STOPPED);
    assert_true(steps == 9 && result.evaluations == 54 && result.exit_status == 130);
    assert_int_equal(rows_of(folder, &best), 54);
    free(folder);
}

static void *stop_soon(void *r)
{
    const struct timespec nap = {0, 300000000};
    nanosleep(&nap, NULL);
    ds_runner_stop(r);
    return NULL;
}

/* Stopped before the start, and in the middle of a batch; signal handlers are unchanged. */
static void test_stop(void **state)
{
    char *folder = strdup(temporary_path(&place, "stop"));
    ds_runner_options o = options(folder, "budget = 1000\njobs = 2");
    ds_runner_result result = {.struct_size = sizeof result};
    struct sigaction before[32], after;
    pthread_t thread;
    o.environment = faulty;
    o.env = "work = 0.05\nn = 3";
    ds_runner *r = must_open(&o);
    ds_runner_stop(r);
    assert_int_equal(ds_runner_run(r), DS_STOPPED);
    ds_runner_close(r);
    for (int k = 1; k < 32; k++) {
        sigaction(k, NULL, &before[k]);
    }
    char *later = strdup(temporary_path(&place, "stop2"));
    o.folder = later;
    r = must_open(&o);
    assert_int_equal(pthread_create(&thread, NULL, stop_soon, r), 0);
    assert_int_equal(ds_runner_run(r), DS_STOPPED);
    pthread_join(thread, NULL);
    for (int k = 1; k < 32; k++) {
        sigaction(k, NULL, &after);
        assert_true(after.sa_handler == before[k].sa_handler);
    }
    assert_int_equal(ds_runner_describe(r, &result), DS_OK);
    assert_string_equal(result.ended, "signal");
    assert_true(result.evaluations < 1000 && strstr(result.summary, "\"ended\": \"signal\"") != NULL);
    ds_runner_close(r);
    free(folder);
    free(later);
}

/* Crashes of the environment are outcomes; too many of them end the run, not the program. */
static void test_crashes(void **state)
{
    char *folder = strdup(temporary_path(&place, "crash"));
    ds_runner_options o = options(folder, "budget = 80\njobs = 2");
    ds_runner_result result;
    double x[3];
    o.environment = faulty;
    o.env = "fault = segv\nshare = 0.1\nn = 3";
    assert_int_equal(run(&o, &result, x), DS_OK);
    assert_true(result.failed > 0 && result.failed < 40 && result.evaluations == 80);
    char *other = strdup(temporary_path(&place, "crash2"));
    o.folder = other;
    o.env = "fault = segv\nn = 3";
    assert_int_equal(run(&o, &result, x), DS_E_NUMERIC);
    assert_string_equal(result.folder != NULL ? "told" : "", "told");
    assert_true(result.best_x == NULL && isinf(result.best_loss) && result.exit_status == 5);
    free(folder);
    free(other);
}

/* An optimizer in its own process: its crash ends the run, never the program. */
static void test_isolated_optimizer(void **state)
{
    static const char *const faults[] = {"fault = segv", "fault = exit", "fault = none"};
    for (size_t k = 0; k < 3; k++) {
        char name[20];
        snprintf(name, sizeof name, "own%zu", k);
        char *folder = strdup(temporary_path(&place, name));
        ds_runner_options o = options(folder, "budget = 60\nisolate_optimizer = true");
        ds_runner_result result;
        double x[3], best;
        o.optimizer = badopt;
        o.opt = faults[k];
        ds_status status = run(&o, &result, x);
        assert_int_equal(status, k < 2 ? DS_E_GENERIC : DS_OK);
        assert_int_equal(result.exit_status, k < 2 ? 4 : 0);
        assert_true(result.evaluations >= 20 && rows_of(folder, &best) == result.evaluations);
        free(folder);
    }
}

/* One ends by its time limit, the other one continues. */
typedef struct part {
    char folder[600];
    const char *run;
    ds_status status;
    uint64_t evaluations;
    double x[3];
} part;

static void *run_part(void *self)
{
    part *p = self;
    ds_runner_options o = options(p->folder, p->run);
    ds_runner *r = ds_runner_open(&o, NULL, 0);
    ds_runner_result result = {.struct_size = sizeof result};
    p->status = r != NULL ? ds_runner_run(r) : DS_E_GENERIC;
    if (ds_runner_describe(r, &result) == DS_OK) {
        p->evaluations = result.evaluations;
        memcpy(p->x, result.best_x, sizeof p->x);
    }
    ds_runner_close(r);
    return NULL;
}

static void test_at_once(void **state)
{
    static part p[] = {{.run = "budget = 100000000\nseconds = 0.5"},
                       {.run = "budget = 3000\nseed = 4\njobs = 2"},
                       {.run = "budget = 3000\nseed = 4\nisolation = none"}};
    pthread_t thread[3];
    for (size_t k = 0; k < 3; k++) {
        snprintf(p[k].folder, sizeof p[k].folder, "%s/at%zu", place.folder, k);
        assert_int_equal(pthread_create(&thread[k], NULL, run_part, &p[k]), 0);
    }
    for (size_t k = 0; k < 3; k++) {
        assert_int_equal(pthread_join(thread[k], NULL), 0);
        assert_int_equal(p[k].status, DS_OK);
    }
    assert_true(p[0].evaluations < 100000000 && p[1].evaluations == 3000 && p[2].evaluations == 3000);
    assert_memory_equal(p[1].x, p[2].x, sizeof p[1].x);
}

static void refused(const ds_runner_options *o, const char *part_)
{
    char why[600] = "";
    assert_null(ds_runner_open(o, why, sizeof why));
    if (strstr(why, part_) == NULL || strchr(why, '\n') != NULL) {
        print_message("'%s' does not contain '%s'\n", why, part_);
        fail();
    }
    assert_null(ds_runner_open(o, NULL, 0));
}

static void test_refused(void **state)
{
    char *folder = strdup(temporary_path(&place, "run"));
    ds_runner_options o = options("nowhere", NULL), bad = o;
    ds_runner_result result = {.struct_size = sizeof result};
    refused(NULL, "options");
    bad.struct_size = 8;
    refused(&bad, "struct_size");
    bad = o;
    bad.folder = NULL;
    refused(&bad, "needs a folder");
    bad = o;
    bad.optimizer = NULL;
    refused(&bad, "missing");
    bad = o;
    bad.resume = 1;
    refused(&bad, "already");
    bad = (ds_runner_options){.struct_size = sizeof bad, .resume = 1, .folder = folder, .run = "seed = 3"};
    refused(&bad, "seed: a resumed run keeps its value");
    bad = o;
    bad.run = "budgit = 5";
    refused(&bad, "settings:1: unknown parameter 'budgit'");
    assert_int_equal(ds_library_exit_status(), 3);
    bad.run = "budget = 0";
    refused(&bad, "budget");
    bad.run = "runs = 2";
    refused(&bad, "runs = 2");
    bad.run = "out = elsewhere";
    refused(&bad, "out");
#if defined(__x86_64__)
    bad.run = "portable = true";
    refused(&bad, "start it with: env $(dshost doctor --portable) PROGRAM");
#endif
    bad.run = "[env]\ndim = 4";
    refused(&bad, "[env]");
    /* Errors that only the plugins can detect are reported by the run, which leaves no folder. */
    static const char *const late[][4] = {{"tours", "cmaes", NULL, "torus"},
                                          {"analytic", "cmeas", NULL, "cmaes"},
                                          {"analytic", "cmaes", "dimm = 3", "dim"},
                                          {"analytic", "ppo", NULL, "stepwise control"}};
    for (size_t k = 0; k < sizeof late / sizeof *late; k++) {
        o = options(temporary_path(&place, "late"), NULL);
        o.environment = late[k][0];
        o.optimizer = late[k][1];
        o.env = late[k][2];
        o.opt = NULL;
        ds_runner *r = must_open(&o);
        assert_true(ds_runner_run(r) < 0);
        assert_non_null(strstr(ds_runner_message(r), late[k][3]));
        assert_int_equal(ds_runner_describe(r, &result), DS_E_STATE);
        ds_runner_close(r);
        assert_int_not_equal(access(temporary_path(&place, "late"), F_OK), 0);
    }
    o = options(folder, NULL); /* a run exists */
    ds_runner *r = must_open(&o);
    assert_int_equal(ds_runner_run(r), DS_E_IO);
    assert_non_null(strstr(ds_runner_message(r), "already"));
    assert_int_equal(ds_runner_describe(r, NULL), DS_E_ARG);
    result.struct_size = 8;
    assert_int_equal(ds_runner_describe(r, &result), DS_E_ARG);
    ds_runner_close(r);
    assert_int_equal(ds_runner_run(NULL), DS_E_ARG);
    assert_int_equal(ds_runner_describe(NULL, &result), DS_E_ARG);
    assert_string_equal(ds_runner_message(NULL), "");
    ds_runner_stop(NULL);
    ds_runner_close(NULL);
    free(folder);
}

static int open_place(void **state)
{
    temporary_open(&place);
    test_find_plugins();
    test_path(faulty, "tests/plugins/.libs/faulty.so");
    test_path(badopt, "tests/plugins/.libs/badopt.so");
    return 0;
}

static int close_place(void **state)
{
    return temporary_close(&place);
}

RUN_TESTS_WITH(open_place, close_place, test_run, test_resume, test_progress_stops, test_stop, test_crashes,
               test_at_once, test_isolated_optimizer, test_refused)
