/* SPDX-License-Identifier: Apache-2.0 */
/* test_pool.c - evaluation by workers: results in order and equal for any number of jobs; each fault costs
 * one evaluation; tables and lanes need few calls. */
#include "config.h"

#include "base/clock.h"
#include "base/log.h"
#include "evaluate/pool.h"
#include "snapshot/episode_scene.h"
#include "test.h"

#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

static char program[4096], plugin[4096], log_path[64];
static const ds_module *module, *counted; /* faulty; calls, which counts its calls */
static atomic_int stop;

typedef struct seen {
    uint64_t rows, limit, n;
    double *loss, *grad;
    uint32_t *outcome;
    char message[200]; /* of the last failure */
    uint64_t failures;
} seen;

static int note(void *ctx, uint64_t i, const ds_answer *a, const double *grad, const void *out)
{
    seen *s = ctx;
    (void)out;
    assert_int_equal(i, s->rows);
    s->loss[i] = a->loss;
    s->outcome[i] = a->outcome;
    if (grad != NULL) {
        memcpy(s->grad + i * s->n, grad, s->n * sizeof(double));
    }
    if (a->outcome != DS_EVAL_OK) {
        s->failures++;
        strcpy(s->message, a->message);
    }
    s->rows++;
    return s->rows >= s->limit;
}

static ds_settings given; /* of the open pool, which makes instances for lanes later */

/* Opens a pool with "key=value" settings of an environment, separated by blanks. */
static ds_pool *open_pool_of(const ds_module *env, const char *settings, uint32_t jobs, int isolation,
                             double timeout, int64_t memory)
{
    ds_error e = {0, ""};
    ds_pool *p = NULL;
    char text[256];
    ds_settings_clear(&given);
    snprintf(text, sizeof(text), "%s", settings);
    for (char *save, *t = strtok_r(text, " ", &save); t != NULL; t = strtok_r(NULL, " ", &save)) {
        char assignment[128];
        snprintf(assignment, sizeof(assignment), "env.%s", t);
        assert_int_equal(ds_settings_set(&given, assignment, &e), 0);
    }
    ds_pool_config c = {.module = env,
                        .settings = &given,
                        .seed = 7,
                        .threads = 1,
                        .jobs = jobs,
                        .isolation = isolation,
                        .timeout = timeout,
                        .memory = memory,
                        .program = program,
                        .stop = &stop};
    if (ds_pool_open(&c, &p, &e) != 0) {
        print_message("%s\n", e.text);
        p = NULL;
    }
    return p;
}

static ds_pool *open_pool(const char *settings, uint32_t jobs, int isolation, double timeout, int64_t memory)
{
    return open_pool_of(module, settings, jobs, isolation, timeout, memory);
}

static double *points(uint64_t count, uint64_t n)
{
    double *x = malloc(count * n * sizeof(double));
    uint64_t state = 12345;
    for (uint64_t i = 0; i < count * n; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        x[i] = (double)(state >> 11) * 0x1p-52 - 1.0;
    }
    return x;
}

static seen make_seen(uint64_t count, uint64_t n)
{
    seen s = {0,
              UINT64_MAX,
              n,
              calloc(count, sizeof(double)),
              calloc(count * n, sizeof(double)),
              calloc(count, sizeof(uint32_t)),
              "",
              0};
    return s;
}

static void free_seen(seen *s)
{
    free(s->loss);
    free(s->grad);
    free(s->outcome);
}

static void test_same_for_all_jobs(void **state)
{
    enum { COUNT = 3000, N = 5 };
    double *x = points(COUNT, N);
    seen first = make_seen(COUNT, N);
    for (int variant = 0; variant < 7; variant++) { /* the last ones with many points in one call */
        static const uint32_t jobs[] = {1, 1, 2, 4, 1, 1, 3};
        seen s = make_seen(COUNT, N);
        ds_error e = {0, ""};
        ds_pool *p =
            open_pool(variant < 4 ? "n=5 fault=error share=0.05 noise=0.1"
                                  : "n=5 fault=error share=0.05 noise=0.1 batch=true",
                      jobs[variant], variant % 4 == 0 ? DS_ISOLATION_NONE : DS_ISOLATION_PROCESS, 60.0, 0);
        assert_non_null(p);
        assert_int_equal(ds_pool_env_of(p)->info.n, N);
        assert_int_equal(ds_pool_env_of(p)->has_gradient, 1);
        assert_true(ds_pool_env_of(p)->lower[4] == -1.0 && ds_pool_env_of(p)->x0[0] == 0.5);
        uint64_t done = 0;
        for (uint64_t batch = 1; done < COUNT; batch = batch * 3 + 1) {
            uint64_t count = done + batch > COUNT ? COUNT - done : batch;
            seen part = s;
            part.rows = 0;
            part.loss += done;
            part.grad += done * N;
            part.outcome += done;
            assert_int_equal(
                ds_pool_evaluate(p, count, x + done * N, DS_WANT_GRAD, done + 1, note, &part, &e), 0);
            assert_int_equal(part.rows, count);
            s.failures = part.failures;
            done += count;
        }
        ds_pool_close(p);
        if (variant == 0) {
            free_seen(&first);
            first = s;
            assert_true(s.failures > 50);
        } else {
            assert_memory_equal(first.loss, s.loss, COUNT * sizeof(double));
            assert_memory_equal(first.grad, s.grad, COUNT * N * sizeof(double));
            assert_memory_equal(first.outcome, s.outcome, COUNT * sizeof(uint32_t));
            free_seen(&s);
        }
    }
    free_seen(&first);
    free(x);
}

/* A fault in a share of the points: these fail as expected, all others are evaluated. */
static void fault(const char *settings, uint32_t outcome, const char *text, uint64_t count, double timeout,
                  int64_t memory)
{
    double *x = points(count, 2);
    for (uint32_t jobs = 1; jobs <= 2; jobs++) {
        seen s = make_seen(count, 2);
        ds_error e = {0, ""};
        ds_pool *p = open_pool(settings, jobs, DS_ISOLATION_PROCESS, timeout, memory);
        assert_non_null(p);
        assert_int_equal(ds_pool_evaluate(p, count, x, DS_WANT_GRAD, 1, note, &s, &e), 0);
        assert_int_equal(s.rows, count);
        if (!(s.failures > 0 && s.failures < count)) {
            fail_msg("%s: %llu failures of %llu", settings, (unsigned long long)s.failures,
                     (unsigned long long)count);
        }
        uint64_t failed = 0;
        for (uint64_t i = 0; i < count; i++) {
            if (s.outcome[i] == DS_EVAL_OK) {
                assert_true(s.loss[i] == x[2 * i] * x[2 * i] + x[2 * i + 1] * x[2 * i + 1]);
                assert_true(s.grad[2 * i + 1] == 2.0 * x[2 * i + 1]);
            } else {
                failed++;
                assert_int_equal(s.outcome[i], outcome);
                if (outcome != DS_EVAL_BAD_GRAD) {
                    assert_true(isinf(s.loss[i]));
                }
                assert_true(s.grad[2 * i] == 0.0 && s.grad[2 * i + 1] == 0.0);
            }
        }
        assert_int_equal(failed, s.failures);
#ifndef DS_SANITIZERS
        if (strstr(s.message, text) == NULL) {
            fail_msg("message '%s' without '%s'", s.message, text);
        }
#else
        (void)text;
#endif
        ds_pool_close(p);
        free_seen(&s);
    }
    free(x);
}

static void test_crashes(void **state)
{
    fault("fault=segv share=0.03", DS_EVAL_CRASHED, "SIGSEGV", 200, 60.0, 0);
    fault("fault=abort share=0.03", DS_EVAL_CRASHED, "SIGABRT", 200, 60.0, 0);
    fault("fault=exit share=0.03", DS_EVAL_CRASHED, "exit status 3", 200, 60.0, 0);
#ifndef DS_SANITIZERS /* sanitizers use their own stack and guards */
    fault("fault=stack share=0.03", DS_EVAL_CRASHED, "SIGSEGV", 100, 60.0, 0);
    fault("fault=overflow share=0.03", DS_EVAL_CRASHED, "SIGSEGV", 200, 60.0, 0);
    fault("fault=under share=0.03", DS_EVAL_INVALID, "before the beginning", 200, 60.0, 0);
    fault("fault=alloc share=0.03", DS_EVAL_CRASHED, "SIGABRT", 100, 60.0, 100);
#endif
}

/* Many points in one call: a fault still costs only the points it belongs to. */
static void test_batch_faults(void **state)
{
    fault("batch=true fault=segv share=0.03", DS_EVAL_CRASHED, "SIGSEGV", 200, 60.0, 0);
    fault("batch=true fault=exit share=0.03", DS_EVAL_CRASHED, "exit status 3", 200, 60.0, 0);
#ifndef DS_SANITIZERS
    fault("batch=true fault=under share=0.03", DS_EVAL_INVALID, "before the beginning", 200, 60.0, 0);
    fault("batch=true fault=overflow share=0.03", DS_EVAL_CRASHED, "SIGSEGV", 200, 60.0, 0);
#endif
    fault("batch=true fault=nangrad share=0.1", DS_EVAL_BAD_GRAD, "not finite", 200, 60.0, 0);
    fault("batch=true fault=writex share=0.1", DS_EVAL_INVALID, "changed x", 200, 60.0, 0);
    fault("batch=true fault=error share=0.1", DS_EVAL_ERROR, "did not converge", 200, 60.0, 0);
    fault("batch=true fault=diverge share=0.1", DS_EVAL_DIVERGED, "", 200, 60.0, 0);
    fault("batch=true fault=stopped share=0.1", DS_EVAL_INVALID, "without a request to stop", 200, 60.0, 0);
    fault("batch=true fault=loop share=0.06", DS_EVAL_TIMEOUT, "no answer within 0.15 s", 50, 0.15, 0);
}

static void test_broken_contracts(void **state)
{
    fault("fault=nan share=0.1", DS_EVAL_INVALID, "not finite", 200, 60.0, 0);
    fault("fault=nangrad share=0.1", DS_EVAL_BAD_GRAD, "not finite", 200, 60.0, 0);
    fault("fault=nograd share=0.1", DS_EVAL_BAD_GRAD, "not finite", 200, 60.0, 0);
    fault("fault=writex share=0.1", DS_EVAL_INVALID, "changed x", 200, 60.0, 0);
    fault("fault=error share=0.1", DS_EVAL_ERROR, "did not converge", 200, 60.0, 0);
    fault("fault=diverge share=0.1", DS_EVAL_DIVERGED, "", 200, 60.0, 0);
    fault("fault=stopped share=0.1", DS_EVAL_INVALID, "without a request to stop", 200, 60.0, 0);
}

static void test_timeouts(void **state)
{
    fault("fault=loop share=0.06", DS_EVAL_TIMEOUT, "no answer within 0.15 s", 50, 0.15, 0);
    fault("fault=sleep share=0.06", DS_EVAL_TIMEOUT, "no answer within 0.15 s", 50, 0.15, 0);
}

/* Failures of create() are passed on; a death in it is reported. */
static void test_start_failures(void **state)
{
    ds_settings s;
    ds_error e = {0, ""};
    ds_pool *p = NULL;
    memset(&s, 0, sizeof(s));
    ds_settings_set(&s, "env.fault=error", &e);
    ds_settings_set(&s, "env.stage=create", &e);
    ds_pool_config c = {
        .module = module, .settings = &s, .seed = 7, .threads = 1, .jobs = 2, .program = program};
    assert_int_equal(ds_pool_open(&c, &p, &e), DS_EXIT_CONFIG);
    assert_non_null(strstr(e.text, "refused as asked"));
    ds_settings_clear(&s);
    ds_settings_set(&s, "env.fault=segv", &e);
    ds_settings_set(&s, "env.stage=create", &e);
    assert_int_equal(ds_pool_open(&c, &p, &e), DS_EXIT_PLUGIN);
    assert_non_null(strstr(e.text, "create() failed"));
    c.program = "/nonexistent";
    assert_int_equal(ds_pool_open(&c, &p, &e), DS_EXIT_IO);
    ds_settings_clear(&s);
}

/* The sink ends a table: it gets no further row, and closing is quick. */
static void test_sink_ends_batch(void **state)
{
    double *x = points(500, 2);
    for (uint32_t jobs = 1; jobs <= 2; jobs++) {
        seen s = make_seen(500, 2);
        ds_error e = {0, ""};
        ds_pool *p = open_pool("work=0.001", jobs, DS_ISOLATION_PROCESS, 0.0, 0);
        assert_non_null(p);
        s.limit = 7;
        assert_int_equal(ds_pool_evaluate(p, 500, x, 0, 1, note, &s, &e), DS_POOL_STOPPED);
        assert_int_equal(s.rows, 7);
        assert_int_equal(ds_pool_evaluate(p, 1, x, 0, 1, note, &s, &e), DS_POOL_STOPPED);
        assert_int_equal(s.rows, 7);
        uint64_t start = ds_clock_ns();
        ds_pool_close(p);
        assert_true(ds_clock_ns() - start < 1500000000u);
        free_seen(&s);
    }
    free(x);
}

static void *stop_soon(void *arg)
{
    usleep(230000);
    atomic_store(&stop, 1);
    return NULL;
}

/* The stop flag ends evaluations that poll it; workers that do not are killed. */
static void test_stop(void **state)
{
    double *x = points(500, 2);
    for (int variant = 0; variant < 3; variant++) {
        static const char *const settings[] = {"work=0.05", "work=0.05", "fault=loop above=0.9"};
        seen s = make_seen(500, 2);
        ds_error e = {0, ""};
        ds_pool *p =
            open_pool(settings[variant], 2, variant == 0 ? DS_ISOLATION_NONE : DS_ISOLATION_PROCESS, 0.0, 0);
        assert_non_null(p);
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, stop_soon, NULL), 0);
        uint64_t start = ds_clock_ns();
        assert_int_equal(ds_pool_evaluate(p, 500, x, 0, 1, note, &s, &e), DS_POOL_STOPPED);
        assert_true(ds_clock_ns() - start < (variant == 2 ? 2000000000u : 600000000u));
        assert_true(s.rows > 0 && s.rows < 500);
        assert_int_equal(s.failures, 0);
        pthread_join(thread, NULL);
        ds_pool_close(p);
        free_seen(&s);
        atomic_store(&stop, 0);
    }
    free(x);
}

/* Kills the children of this process four times. */
static void *kill_workers(void *arg)
{
    for (int round = 0; round < 4; round++) {
        usleep(100000);
        DIR *tasks = opendir("/proc/self/task");
        for (struct dirent *d; tasks != NULL && (d = readdir(tasks)) != NULL;) {
            char name[320];
            long pid;
            snprintf(name, sizeof(name), "/proc/self/task/%s/children", d->d_name);
            FILE *f = fopen(name, "r");
            while (f != NULL && fscanf(f, "%ld", &pid) == 1) {
                kill((pid_t)pid, SIGKILL);
            }
            if (f != NULL) {
                fclose(f);
            }
        }
        closedir(tasks);
    }
    return NULL;
}

/* A worker killed from outside, between or during evaluations, is replaced. */
static void test_killed_from_outside(void **state)
{
    enum { COUNT = 400 };
    double *x = points(COUNT, 2);
    seen s = make_seen(COUNT, 2);
    ds_error e = {0, ""};
    ds_pool *p = open_pool("work=0.002", 2, DS_ISOLATION_PROCESS, 60.0, 0);
    assert_non_null(p);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, kill_workers, NULL), 0);
    assert_int_equal(ds_pool_evaluate(p, COUNT, x, 0, 1, note, &s, &e), 0);
    assert_int_equal(s.rows, COUNT);
    assert_true(s.failures <= 8);
    pthread_join(thread, NULL);
    ds_pool_close(p);
    free_seen(&s);
    free(x);
}

/* ---- rows per call ---- */

/* Opens a pool of the counting environment, with an empty log. */
static ds_pool *open_counted(const char *settings, uint32_t jobs, int isolation)
{
    char text[200];
    snprintf(text, sizeof text, "log=%s %s", log_path, settings);
    ds_pool *p = open_pool_of(counted, text, jobs, isolation, 60.0, 0);
    assert_non_null(p);
    unlink(log_path);
    return p;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* The new lines of the log, sorted, because the order of the workers varies. */
static void calls_were(const char *want)
{
    enum { LINES = 1000, LONG = 16 };
    static char line[LINES][LONG], all[LINES * (LONG + 1)];
    size_t count = 0, at = 0;
    FILE *f = fopen(log_path, "r");
    while (f != NULL && count < LINES && fgets(line[count], LONG, f) != NULL) {
        line[count][strcspn(line[count], "\n")] = '\0';
        count++;
    }
    if (f != NULL) {
        fclose(f);
    }
    qsort(line, count, LONG, by_text);
    all[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        at += (size_t)snprintf(all + at, sizeof all - at, "%s ", line[i]);
    }
    if (strcmp(all, want) != 0) {
        fail_msg("calls '%s' instead of '%s'", all, want);
    }
    unlink(log_path);
}

/* Expected results of the counting environment: residuals x, and J v = v or nothing. */
typedef struct tabled {
    uint64_t count, rows;
    const double *x, *in;
    const ds_query_layout *queries;
    uint32_t want;
} tabled;

static int look(void *ctx, uint64_t i, const ds_answer *a, const double *grad, const void *out)
{
    enum { N = 6 };
    tabled *t = ctx;
    const double *x = t->x + i * N, *answers = out;
    double loss = 0;
    assert_int_equal(i, t->rows++);
    for (int k = 0; k < N; k++) {
        loss += x[k] * x[k];
        assert_true((grad != NULL) == (t->want != 0) && (grad == NULL || grad[k] == 2 * x[k]));
        assert_true((out != NULL) == (t->queries != NULL));
        assert_true(out == NULL || (answers[k] == x[k] && answers[N + k] == t->in[i * N + k]));
    }
    assert_true(a->outcome == DS_EVAL_OK && a->loss == loss && a->cost_steps == 1);
    assert_int_equal(a->grad_kind, grad != NULL ? DS_GRAD_ADJOINT : out != NULL ? DS_GRAD_FORWARD : 0);
    assert_int_equal(a->product_kind, out != NULL ? DS_GRAD_FORWARD : DS_GRAD_NONE);
    return 0;
}

/* The host divides a table evenly among the workers and gives each its share in one call, with or without
 * gradients and queries. */
static void test_shares(void **state)
{
    enum { N = 6, MOST = 200 };
    static const struct {
        uint64_t count;
        uint32_t jobs;
        int isolation;
        const char *settings, *calls;
    } cases[] = {{64, 1, DS_ISOLATION_PROCESS, "", "64 "},
                 {100, 2, DS_ISOLATION_PROCESS, "", "50 50 "},
                 {65, 2, DS_ISOLATION_PROCESS, "", "32 33 "},
                 {130, 2, DS_ISOLATION_PROCESS, "", "31 33 33 33 "},
                 {100, 3, DS_ISOLATION_PROCESS, "", "32 34 34 "},
                 {200, 1, DS_ISOLATION_PROCESS, "", "64 64 64 8 "},
                 {200, 2, DS_ISOLATION_PROCESS, "max_rows=1000", "100 100 "},
                 {200, 1, DS_ISOLATION_NONE, "", "64 64 64 8 "},
                 {200, 2, DS_ISOLATION_NONE, "max_rows=1000", "200 "}};
    double *x = points(MOST, N), *in = points(MOST, N);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        ds_error e = {0, ""};
        char text[DS_QUERY_TEXT];
        ds_pool *p = open_counted(cases[c].settings, cases[c].jobs, cases[c].isolation);
        ds_query_layout queries = {.count = 2, .query = {{.op = DS_QUERY_VALUE}, {.op = DS_QUERY_JV}}};
        assert_int_equal(ds_query_layout_make(&queries, ds_pool_env_of(p)->channels, N, NULL, text), 0);
        assert_true(queries.in == N && queries.out == 2 * N);
        for (int variant = 0; variant < 4; variant++) {
            const int with_queries = variant % 2;
            tabled t = {.count = cases[c].count,
                        .x = x,
                        .in = in,
                        .queries = with_queries ? &queries : NULL,
                        .want = variant < 2 ? 0 : DS_WANT_GRAD};
            const ds_pool_request q = {.count = t.count,
                                       .x = x,
                                       .want = t.want,
                                       .queries = t.queries,
                                       .in = with_queries ? in : NULL,
                                       .first = 1};
            assert_int_equal(ds_pool_execute(p, &q, look, &t, &e), 0);
            assert_int_equal(t.rows, t.count);
            calls_were(cases[c].calls);
        }
        ds_pool_close(p);
    }
    free(x);
    free(in);
}

enum { HORIZON = 6, MOST_LANES = 4096 };

/* Episodes in lanes of the counting environment. */
typedef struct played {
    double *x, *obs; /* HORIZON actions and 2 observations of each */
    ds_lane_step *step;
    uint64_t lanes;
} played;

static played open_lanes(uint64_t lanes)
{
    played s = {points(lanes, HORIZON), calloc(lanes, 2 * sizeof(double)), calloc(lanes, sizeof *s.step),
                lanes};
    assert_true(s.x != NULL && s.obs != NULL && s.step != NULL);
    for (uint64_t k = 0; k < lanes; k++) {
        s.step[k] = (ds_lane_step){.lane = k, .key = k % 7 + 1, .x = s.x + k * HORIZON, .obs = s.obs + 2 * k};
    }
    return s;
}

static void close_lanes(played *s)
{
    free(s->x);
    free(s->obs);
    free(s->step);
}

static void step_lanes(ds_pool *p, played *s, uint64_t step)
{
    ds_error e = {0, ""};
    for (uint64_t k = 0; k < s->lanes; k++) {
        s->step[k].step = step;
    }
    assert_int_equal(ds_pool_step(p, s->lanes, s->step, &e), 0);
}

static void lane_is_at(const played *s, uint64_t k, uint64_t step)
{
    const ds_lane_step *l = &s->step[k];
    double loss = 0;
    for (uint64_t t = 0; t < step; t++) {
        loss += s->x[k * HORIZON + t] * s->x[k * HORIZON + t];
    }
    assert_int_equal(l->answer.outcome, DS_EVAL_OK);
    assert_true(l->obs[0] == (double)l->key && l->obs[1] == loss);
    assert_int_equal(l->ended, step == HORIZON ? DS_STEPS_TERMINATED : DS_STEPS_CONTINUES);
    assert_true(l->answer.loss == (step == HORIZON ? loss : 0));
    assert_int_equal(l->answer.cost_steps, step > 0);
}

/* Lanes of one instance get a step in one call: all lanes in this process, or those of each worker. */
static void test_lanes(void **state)
{
    static const struct {
        uint64_t lanes;
        uint32_t jobs;
        int isolation;
        const char *settings, *calls[2];
    } cases[] = {{MOST_LANES, 1, DS_ISOLATION_NONE, "max_lanes=4096", {"b4096 ", "s4096 "}},
                 {MOST_LANES, 2, DS_ISOLATION_NONE, "max_lanes=4096", {"b4096 ", "s4096 "}},
                 {MOST_LANES, 1, DS_ISOLATION_PROCESS, "max_lanes=4096", {"b4096 ", "s4096 "}},
                 {MOST_LANES, 2, DS_ISOLATION_PROCESS, "max_lanes=4096", {"b2048 b2048 ", "s2048 s2048 "}},
                 {7, 1, DS_ISOLATION_NONE, "max_lanes=3", {"b1 b3 b3 ", "s1 s3 s3 "}},
                 {7, 1, DS_ISOLATION_PROCESS, "max_lanes=3", {"b1 b3 b3 ", "s1 s3 s3 "}},
                 {7, 2, DS_ISOLATION_PROCESS, "max_lanes=3", {"b1 b3 b3 ", "s1 s3 s3 "}},
                 {3, 2, DS_ISOLATION_PROCESS, "max_lanes=1", {"b1 b1 b1 ", "s1 s1 s1 "}}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        ds_pool *p = open_counted(cases[c].settings, cases[c].jobs, cases[c].isolation);
        played s = open_lanes(cases[c].lanes);
        assert_int_equal(ds_pool_lanes(p), cases[c].lanes == MOST_LANES ? MOST_LANES : 64);
        for (uint64_t t = 0; t <= HORIZON; t++) {
            step_lanes(p, &s, t);
            calls_were(cases[c].calls[t > 0]);
            for (uint64_t k = 0; k < s.lanes; k++) {
                lane_is_at(&s, k, t);
            }
        }
        close_lanes(&s);
        ds_pool_close(p);
    }
}

/* A crash costs the episode of its own lane: others of the same instance, which dies too, are brought back to
 * their state. */
static void test_lane_crashes(void **state)
{
    enum { COUNT = 8, BAD = 5 };
    for (uint32_t jobs = 1; jobs <= 2; jobs++) {
        ds_pool *p = open_counted("max_lanes=8 crash=true", jobs, DS_ISOLATION_PROCESS);
        played s = open_lanes(COUNT);
        s.x[BAD * HORIZON + 2] = 2.9; /* in step 3 */
        for (uint64_t t = 0; t <= HORIZON; t++) {
            step_lanes(p, &s, t);
            for (uint64_t k = 0; k < COUNT; k++) {
                if (k != BAD || t < 3) {
                    lane_is_at(&s, k, t);
                }
            }
            if (t == 3) {
                const ds_lane_step *bad = &s.step[BAD];
                assert_int_equal(bad->answer.outcome, DS_EVAL_CRASHED);
                assert_true(isinf(bad->answer.loss) && bad->ended == DS_STEPS_TERMINATED && bad->reward == 0);
                s.x[BAD * HORIZON + 2] = 0.5; /* the lane is free for another episode */
                s.step[BAD].key = 77;
                s.step[BAD].step = 0;
                ds_error e = {0, ""};
                assert_int_equal(ds_pool_step(p, 1, &s.step[BAD], &e), 0);
                lane_is_at(&s, BAD, 0);
            }
            if (t >= 4) { /* which catches up */
                lane_is_at(&s, BAD, t);
            }
        }
        close_lanes(&s);
        ds_pool_close(p);
    }
}

/* A short table uses the same slots again and again: each page of theirs costs a fault on both sides. */
static void test_slots_fit_caches(void **state)
{
    static const struct {
        uint64_t n, rows, most; /* bytes */
        uint32_t workers;
    } cases[] = {{200, 64, 1 << 20, 1},
                 {200, 1, 1 << 20, 2},
                 {2, 64, 1 << 20, 1},
                 {20000, 64, 64 << 20, 1},
                 {200, 64, 4 << 20, 8}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const ds_ring_plan plan = {.workers = cases[i].workers, .n = cases[i].n, .rows = cases[i].rows};
        const uint64_t calls = cases[i].workers * cases[i].rows;
        const int fd = memfd_create("test", MFD_ALLOW_SEALING);
        ds_ring ring;
        ds_error e = {0, ""};
        assert_int_equal(ds_ring_make(fd, &plan, &ring, &e), 0);
        assert_true(ring.at.capacity * ring.at.stride <= cases[i].most);
        assert_true(ring.at.capacity >= 2 * calls || cases[i].n > 2000);
        assert_true(ring.at.capacity >= 2 * cases[i].workers);
        ds_ring_close(&ring);
        close(fd);
    }
}

/* A pool of one worker needs no second one for a scene; one with a stop flag does, as it may have stopped. */
static void test_worker_of_scenes(void **state)
{
    static const double x[200];
    ds_error e = {0, ""};
    ds_settings none = {0};
    ds_pool_config config = {.settings = &none, .threads = 1, .jobs = 1, .program = program};
    char cartpole[4096];
    test_path(cartpole, "plugins/envs/.libs/cartpole.so");
    assert_int_equal(ds_pool_find_env(&config, cartpole, &e), 0);
    ds_snapshot *scene[2] = {NULL, NULL};
    for (int k = 0; k < 2; k++) {
        ds_scene_source source = {NULL, NULL};
        ds_answer answer = {0};
        config.stop = k == 1 ? &stop : NULL;
        assert_int_equal(ds_pool_open(&config, &source.pool, &e), 0);
        for (int again = 0; again < 2; again++) {
            ds_snapshot_free(scene[k]);
            assert_int_equal(ds_episode_scene(&source, x, 1, DS_KEEP_ALL, &answer, &scene[k], &e), 0);
            assert_non_null(scene[k]);
            seen s = {.limit = UINT64_MAX, .n = 200};
            s.loss = calloc(1, sizeof *s.loss);
            s.outcome = calloc(1, sizeof *s.outcome);
            const ds_pool_request row = {.count = 1, .x = x};
            assert_int_equal(ds_pool_execute(source.pool, &row, note, &s, &e), 0);
            assert_true(s.rows == 1 && s.loss[0] == answer.loss);
            free(s.loss);
            free(s.outcome);
        }
        assert_int_equal(source.supervisor != NULL, k);
        ds_scene_source_close(&source);
    }
    assert_int_equal(scene[0]->kept, scene[1]->kept);
    ds_snapshot_free(scene[0]);
    ds_snapshot_free(scene[1]);
}

static int find_files(void **state)
{
    ds_error e = {0, ""};
    test_path(program, "libexec/dshost-worker");
    test_path(plugin, "tests/plugins/.libs/faulty.so");
    ds_log_set_level(DS_LOG_ERROR);
    ds_pool_config config = {.program = program};
    if (ds_pool_find_env(&config, plugin, &e) != 0) {
        print_message("%s\n", e.text);
        return -1;
    }
    module = config.module;
    test_path(plugin, "tests/plugins/.libs/calls.so");
    if (ds_pool_find_env(&config, plugin, &e) != 0) {
        print_message("%s\n", e.text);
        return -1;
    }
    counted = config.module;
    snprintf(log_path, sizeof log_path, "/tmp/test_pool.XXXXXX");
    int fd = mkstemp(log_path);
    return fd >= 0 ? close(fd) : -1;
}

static int remove_files(void **state)
{
    ds_settings_clear(&given);
    unlink(log_path);
    return 0;
}

RUN_TESTS_WITH(find_files, remove_files, test_same_for_all_jobs, test_crashes, test_batch_faults,
               test_broken_contracts, test_timeouts, test_start_failures, test_sink_ends_batch, test_stop,
               test_killed_from_outside, test_shares, test_lanes, test_lane_crashes, test_slots_fit_caches,
               test_worker_of_scenes)
