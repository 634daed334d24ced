/* SPDX-License-Identifier: Apache-2.0 */
/* check_run.c - the parent of the conformance kit: runs every test in a child process and collects its
 * records, so that a crash, an exit or a hang of the plugin is a result like any other. */
#include "config.h"

#include "check/check_tests.h"

#include "base/json_text.h"
#include "base/log.h"
#include "base/program.h"
#include "harness/check.h"
#include "harness/check_process.h"
#include "harness/check_host.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* A test is skipped if the evaluations that it needs at least would take longer than this. */
static const double LEAST_SECONDS = 100;

enum { TESTS_MAX = 100 };

/* Descriptors of a child: its lines, evaluations in progress, results of the items. */
enum { RESULT = 3, FLIGHT = 4, KEPT = 5 };

static const ds_check_test describe_test = {"describe", "", 0, 0, 0, ds_check_describe};
static const ds_check_test env_measure_test = {"measure_env", "", DS_CHECK_ENV, 1, 1, ds_check_env_measure};
static const ds_check_test opt_measure_test = {"measure_opt", "", 0, 0, 0, ds_check_opt_measure};

static const ds_check_test *const hidden[] = {&describe_test, &env_measure_test, &opt_measure_test};
/* By kind of the plugin; 0 = every plugin. */
static const ds_check_test *const *const tables[] = {
    (const ds_check_test *const[]){ds_check_load_tests, NULL},
    (const ds_check_test *const[]){ds_check_instance_tests, ds_check_eval_tests, ds_check_pure_tests,
                                   ds_check_gradient_tests, ds_check_rows_tests, ds_check_channel_tests,
                                   ds_check_extension_tests, ds_check_steps_tests, ds_check_sweep_tests,
                                   NULL},
    (const ds_check_test *const[]){ds_check_instance_tests, ds_check_search_tests, NULL}};

/* Test k of a kind, or NULL. */
static const ds_check_test *test_at(size_t kind, size_t k)
{
    for (const ds_check_test *const *table = tables[kind]; *table != NULL; table++) {
        for (const ds_check_test *t = *table; t->id != NULL; t++) {
            if (k-- == 0) {
                return t;
            }
        }
    }
    return NULL;
}

static const ds_check_test *find_test(const char *id)
{
    for (size_t i = 0; i < sizeof hidden / sizeof hidden[0]; i++) {
        if (strcmp(hidden[i]->id, id) == 0) {
            return hidden[i];
        }
    }
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        const ds_check_test *t;
        for (size_t k = 0; (t = test_at(i, k)) != NULL; k++) {
            if (strcmp(t->id, id) == 0) {
                return t;
            }
        }
    }
    return NULL;
}

void ds_check_list(uint32_t kind)
{
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        const ds_check_test *t;
        for (size_t k = 0; (i == 0 || kind == 0 || i == kind) && (t = test_at(i, k)) != NULL; k++) {
            printf("%-16s %s\n", t->id, t->title);
        }
    }
}

/* ---- the child ---- */

/* An instance shared by several tests of one process, one after the other. */
typedef struct shared {
    ds_check_env env;
    double tolerance, *width; /* copies for ds_check */
    int open;
} shared;

static void close_shared(shared *in)
{
    if (in->open) {
        ds_check_env_close(&in->env);
        free(in->width);
    }
    in->open = 0;
}

static double *copy_of(const double *numbers, uint64_t n)
{
    double *copy = malloc(n * sizeof *copy);
    if (copy != NULL) {
        memcpy(copy, numbers, n * sizeof *copy);
    }
    return copy;
}

/* Gives a test the shared instance, reset to its initial state, or a new one that is shared from now on. */
static int take_shared(ds_check *c, shared *in)
{
    ds_env_info info = {.struct_size = sizeof info, .loss_floor = -INFINITY};
    if (in->open) {
        c->tolerance = in->tolerance;
        c->width = copy_of(in->width, in->env.n);
        in->env.vt->info(in->env.self, &info);
        in->env.loss_floor = info.loss_floor;
        memcpy(in->env.x, in->env.x0, in->env.n * sizeof *in->env.x);
        return c->width != NULL;
    }
    in->open = ds_check_env_open(c, 1, &in->env);
    in->tolerance = c->tolerance;
    in->width = in->open ? copy_of(c->width, in->env.n) : NULL;
    return in->open && in->width != NULL;
}

/* Does a test look at the file alone? */
static int is_raw(const ds_check_test *test)
{
    return strncmp(test->id, "load.", 5) == 0 || strncmp(test->id, "desc.", 5) == 0;
}

static void run_test(const ds_check_options *o, const ds_check_test *test, int fd, ds_check_lines *lines,
                     shared *in)
{
    ds_check c = {.options = o, .test = test, .fd = fd, .lines = lines};
    const int raw = is_raw(test);

    c.random = ds_random_open(o->seed, test->id, 0);
    c.idle = in->open && (test->flags & DS_CHECK_ENV) == 0 ? &in->env : NULL;
    const int idle = c.idle != NULL;
    if (raw || ds_check_load(&c)) {
        c.env = (test->flags & DS_CHECK_ENV) != 0 && take_shared(&c, in) ? &in->env : NULL;
        if (c.env != NULL || (test->flags & DS_CHECK_ENV) == 0) {
            test->run(&c);
        }
        if (c.distance > 0 && c.tolerance > 0) {
            ds_check_note(&c, "results are up to %.2g apart, the tolerance is %.2g", c.distance, c.tolerance);
        }
    }
    free(c.width);
    if (idle && c.idle == NULL) { /* the test closed it, since its own instance may need the process alone */
        free(in->width);
        in->open = 0;
    }
    if (c.failed > 0) {
        close_shared(in);
    }
    ds_check_record(&c, DS_CHECK_END, "");
}

int ds_check_child(ds_check_options *o, const char *ids, int flight, int kept, ds_error *e)
{
    const int fd = RESULT;
    const struct rlimit no_core = {0, 0};
    shared in = {.open = 0};
    char id[64];

    if (fcntl(fd, F_GETFD) < 0) {
        return ds_fail(e, DS_EXIT_USAGE,
                       "check: --child is internal: run dshost check PLUGIN.so --only TEST instead");
    }
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    if (flight && fcntl(FLIGHT, F_SETFD, FD_CLOEXEC) == 0) {
        ds_flight_attach(FLIGHT);
    }
    o->kept = kept && fcntl(KEPT, F_SETFD, FD_CLOEXEC) == 0 ? KEPT : -1;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setrlimit(RLIMIT_CORE, &no_core);
    ds_log_set_level(DS_LOG_ERROR + 1); /* stderr is for what the plugin prints */
    for (const char *at = ids; *at != '\0'; at += *at == ',') {
        const size_t n = strcspn(at, ",");
        snprintf(id, sizeof id, "%.*s", (int)n, at);
        const ds_check_test *test = find_test(id);
        if (test == NULL) {
            return ds_fail(e, DS_EXIT_USAGE,
                           "check: --child is internal: run dshost check PLUGIN.so --only TEST instead");
        }
        if (at != ids) {
            ds_check next = {.options = o, .fd = fd};
            ds_check_record(&next, DS_CHECK_NEXT, "");
        }
        run_test(o, test, fd, NULL, &in);
        at += n;
    }
    close_shared(&in);
    return 0;
}

/* ---- the report: TAP version 13 while the tests end, or one JSON object ---- */

typedef struct test_result {
    const ds_check_test *test;
    ds_check_lines lines;
    double wall; /* seconds */
} test_result;

typedef struct report {
    const ds_check_options *options;
    uint32_t kind;  /* 0 = the plugin cannot be loaded */
    uint64_t flags; /* DS_ENV_* or DS_OPT_* */
    char id[64];
    test_result *result;
    size_t count;
    size_t failed, skipped;
} report;

static const char *kind_name(uint32_t kind)
{
    return kind == DS_KIND_ENV         ? "environment"
           : kind == DS_KIND_OPTIMIZER ? "optimizer"
                                       : "plugin that does not load";
}

static void report_begin(report *r)
{
    if (r->options->json) {
        return;
    }
    printf("TAP version 13\n# dshost %s, plugin ABI %u.%u: %s, %s, seed %llu\n1..%zu\n", PACKAGE_VERSION,
           DS_ABI_MAJOR, DS_ABI_MINOR, r->options->path, kind_name(r->kind),
           (unsigned long long)r->options->seed, r->count);
    fflush(stdout);
}

static int printed_before(const ds_check_lines *lines, size_t k)
{
    for (size_t i = 0; i < k; i++) {
        if (lines->item[i].kind == lines->item[k].kind &&
            strcmp(lines->item[i].text, lines->item[k].text) == 0) {
            return 1;
        }
    }
    return 0;
}

static void report_result(report *r, size_t i)
{
    const test_result *t = &r->result[i];
    const char *skip = ds_check_lines_find(&t->lines, DS_CHECK_SKIP);
    int failed = ds_check_lines_find(&t->lines, DS_CHECK_FAILURE) != NULL;

    r->failed += failed != 0;
    r->skipped += !failed && skip != NULL;
    if (r->options->json) {
        return;
    }
    printf("%sok %zu - %s: %s%s%s\n", failed ? "not " : "", i + 1, t->test->id, t->test->title,
           !failed && skip != NULL ? " # SKIP " : "", !failed && skip != NULL ? skip : "");
    for (size_t k = 0; k < t->lines.count; k++) {
        const ds_check_line *l = &t->lines.item[k];
        switch (l->kind) {
        case DS_CHECK_FAILURE:
        case DS_CHECK_NOTE:
            printf("# %s\n", l->text);
            break;
        case DS_CHECK_HINT: /* several failures may have the same hint */
            if (!printed_before(&t->lines, k)) {
                printf("# hint: %s\n", l->text);
            }
            break;
        default:
            break;
        }
    }
    fflush(stdout);
}

static json_t *texts(const ds_check_lines *lines, char kind)
{
    json_t *a = json_array();
    for (size_t k = 0; k < lines->count; k++) {
        if (lines->item[k].kind == kind) {
            json_array_append_new(a, json_string(lines->item[k].text));
        }
    }
    return a;
}

static int print_json(const report *r, ds_error *e)
{
    json_t *o = json_object(), *tests = json_array();
    for (size_t i = 0; i < r->count; i++) {
        const test_result *t = &r->result[i];
        const char *skip = ds_check_lines_find(&t->lines, DS_CHECK_SKIP);
        int failed = ds_check_lines_find(&t->lines, DS_CHECK_FAILURE) != NULL;
        json_t *j =
            json_pack("{s:s*, s:s*, s:s*, s:o, s:o, s:o, s:o, s:o}", "id", t->test->id, "title",
                      t->test->title, "result",
                      failed         ? "failed"
                      : skip != NULL ? "skipped"
                                     : "passed",
                      "seen", texts(&t->lines, DS_CHECK_FAILURE), "hints", texts(&t->lines, DS_CHECK_HINT),
                      "notes", texts(&t->lines, DS_CHECK_NOTE), "skip",
                      skip != NULL ? json_string(skip) : json_null(), "wall_s", ds_json_real(t->wall));
        json_array_append_new(tests, j);
    }
    json_object_set_new(o, "plugin", json_string(r->options->path));
    json_object_set_new(o, "id", r->id[0] != '\0' ? json_string(r->id) : json_null());
    json_object_set_new(o, "kind", r->kind != 0 ? json_string(kind_name(r->kind)) : json_null());
    json_object_set_new(o, "seed", json_integer((json_int_t)r->options->seed));
    json_object_set_new(o, "passed", json_integer((json_int_t)(r->count - r->failed - r->skipped)));
    json_object_set_new(o, "failed", json_integer((json_int_t)r->failed));
    json_object_set_new(o, "skipped", json_integer((json_int_t)r->skipped));
    json_object_set_new(o, "tests", tests);
    int status = ds_json_write(o, stdout, "standard output", e);
    json_decref(o);
    return status;
}

/* Returns 0, DS_EXIT_CHECK, or DS_EXIT_PLUGIN if the plugin does not load. */
static int report_end(report *r, int loads, ds_error *e)
{
    int status = 0;
    if (r->options->json) {
        status = print_json(r, e);
    } else {
        printf("# %zu passed, %zu failed, %zu skipped\n", r->count - r->failed - r->skipped, r->failed,
               r->skipped);
    }
    status = status != 0 ? status : ds_stdout_done(e);
    if (status != 0) {
        return status;
    }
    return !loads ? DS_EXIT_PLUGIN : r->failed > 0 ? DS_EXIT_CHECK : DS_EXIT_OK;
}

/* ---- starting a child ---- */

static double time_limit(const ds_check_options *o, const ds_check_test *test)
{
    if (test == &env_measure_test) {
        return 6 * o->timeout; /* the first evaluation of a slow environment, whose cost is still unknown */
    }
    return o->timeout + 3 * (test->least_loss * o->cost + test->least_grad * o->cost_gradient);
}

/* Settings of glibc's allocator for a test, or NULL. Without the cache of freed blocks, tests for leaks count
 * the heap exactly; with new memory filled with a pattern, tests that compare with the parent's measurement
 * detect the use of uninitialised memory. */
static const char *allocator_of(const ds_check_test *test)
{
    return strstr(test->id, "leak") != NULL || strcmp(test->id, "inst.errors") == 0
               ? "glibc.malloc.tcache_count=0"
           : strstr(test->id, "process") != NULL ? "glibc.malloc.perturb=85"
                                                 : NULL;
}

/* Adds a line from the parent to the records of a test. */
__attribute__((format(printf, 3, 4))) static void say(test_result *r, char kind, const char *format, ...)
{
    char text[1600];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    ds_check_lines_add(&r->lines, kind, text, strlen(text));
}

/* This process's environment with those settings. */
static const char **child_environment(const ds_check_test *test)
{
    size_t count = 0, n = 0;
    while (environ[count] != NULL) {
        count++;
    }
    const char **e = calloc(count + 2, sizeof *e);
    for (size_t i = 0; e != NULL && i < count; i++) {
        if (strncmp(environ[i], "GLIBC_TUNABLES=", 15) != 0) {
            e[n++] = environ[i];
        }
    }
    if (e != NULL) {
        /* Keep the user's own tunables: some choose how libm computes. */
        static char tunables[1200];
        const char *old = getenv("GLIBC_TUNABLES"), *own = allocator_of(test);
        const char *both[] = {old != NULL ? old : own, old != NULL ? own : NULL};
        snprintf(tunables, sizeof tunables, "GLIBC_TUNABLES=%.1000s%s%s", both[0] != NULL ? both[0] : "",
                 both[1] != NULL ? ":" : "", both[1] != NULL ? both[1] : "");
        e[n] = both[0] != NULL ? tunables : NULL;
    }
    return e;
}

/* A fork is quicker than a new program. A new program is needed where memory must be laid out differently
 * (the measurements, and tests with allocator settings), and with sanitizers, which report at the end of a
 * program. */
static int may_fork(const ds_check_test *test)
{
#ifdef DS_SANITIZERS
    (void)test;
    return 0;
#else
    return allocator_of(test) == NULL && test != &env_measure_test && test != &opt_measure_test;
#endif
}

static pid_t fork_child(const ds_check_options *o, const char *ids, int result, int errors, int flight)
{
    fflush(stdout); /* else the child would print it again */
    const pid_t pid = fork();
    if (pid != 0) {
        return pid;
    }
    const int from[] = {
        open("/dev/null", O_RDONLY), open("/dev/null", O_WRONLY), errors, result, flight, o->kept};
    ds_check_options own = *o;
    ds_error e = {0};
    setpgid(0, 0);
    for (int to = 0; to < (int)(sizeof from / sizeof from[0]); to++) {
        if (from[to] >= 0 && dup2(from[to], to) < 0) {
            _exit(1);
        }
    }
    syscall(SYS_close_range, KEPT + 1, ~0u, 0);
    _exit(ds_check_child(&own, ids, flight >= 0, o->kept >= 0, &e));
}

static pid_t start_child(const ds_check_options *o, const ds_check_test *test, int result, int errors,
                         int flight)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    char numbers[4][64];
    const char **argv = calloc(2 * o->set_count + 24, sizeof *argv);
    const char **environment = child_environment(test);
    size_t n = 0;
    pid_t pid = -1;

    if (argv == NULL || environment == NULL) {
        free(argv);
        free(environment);
        return -1;
    }
    snprintf(numbers[0], sizeof numbers[0], "%llu", (unsigned long long)o->seed);
    snprintf(numbers[1], sizeof numbers[1], "%.9g,%.9g", o->cost, o->cost_gradient);
    snprintf(numbers[2], sizeof numbers[2], "%llx,%llx", (unsigned long long)o->reference.loss,
             (unsigned long long)o->reference.grad);
    const char *fixed[] = {"dshost-check", "--child", test->id, "--seed", numbers[0], "--cost", numbers[1]};
    for (size_t i = 0; i < sizeof fixed / sizeof fixed[0]; i++) {
        argv[n++] = fixed[i];
    }
    if (flight >= 0) {
        argv[n++] = "--flight";
    }
    if (o->kept >= 0) {
        argv[n++] = "--kept";
    }
    if (o->has_reference) {
        argv[n++] = "--reference";
        argv[n++] = numbers[2];
    }
    for (size_t i = 0; i < o->set_count; i++) {
        argv[n++] = "--set";
        argv[n++] = o->sets[i];
    }
    argv[n++] = "--";
    argv[n++] = o->path;

    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, errors, 2);
    posix_spawn_file_actions_adddup2(&actions, result, RESULT);
    if (flight >= 0) {
        posix_spawn_file_actions_adddup2(&actions, flight, FLIGHT);
    }
    if (o->kept >= 0) {
        posix_spawn_file_actions_adddup2(&actions, o->kept, KEPT);
    }
    posix_spawnattr_init(&attributes);
    /* processes started by the plugin are killed with it */
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    if (posix_spawn(&pid, ds_program_self(), &actions, &attributes, (char *const *)(uintptr_t)argv,
                    (char *const *)(uintptr_t)environment) != 0) {
        pid = -1;
    }
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    free(argv);
    free(environment);
    return pid;
}

/* The tests of one child, one after the other. */
typedef struct series {
    const ds_check_options *o;
    test_result *result;
    size_t at;    /* the current test */
    double begin; /* its start time */
    int changed;  /* another test has begun */
} series;

/* Moves complete lines from the text received so far to the results. */
static void take_lines(char *text, size_t *length, series *s)
{
    char *from = text, *end = text + *length, *newline;
    while ((newline = memchr(from, '\n', (size_t)(end - from))) != NULL) {
        if (newline - from >= 2 && from[0] == DS_CHECK_NEXT) {
            const double now = ds_check_now();
            s->result[s->at++].wall = now - s->begin;
            s->begin = now;
            s->changed = 1;
        } else if (newline - from >= 2) {
            ds_check_lines_add(&s->result[s->at].lines, from[0], from + 2, (size_t)(newline - from) - 2);
        }
        from = newline + 1;
    }
    *length = (size_t)(end - from);
    memmove(text, from, *length);
}

static int end_child(pid_t pid)
{
    kill(-pid, SIGKILL);
    waitpid(pid, NULL, 0);
    return -1;
}

/* Reads until the child has ended. Returns its wait status, or -1 after killing it at its time limit. */
static int follow_child(pid_t pid, int fd, series *s)
{
    char text[8192];
    size_t length = 0;
    int status = 0, open = 1, gone = 0;
    ds_check_other child;
    ds_check_other_open(&child, pid, time_limit(s->o, s->result[s->at].test));

    while (open) {
        struct pollfd p = {fd, POLLIN, 0};
        poll(&p, 1, 50);
        ssize_t n =
            (p.revents & (POLLIN | POLLHUP)) != 0 ? read(fd, text + length, sizeof text - length) : -1;
        if (n > 0) {
            length += (size_t)n;
            take_lines(text, &length, s);
            length = length == sizeof text ? 0 : length;
            if (s->changed) { /* each test has its own time */
                ds_check_other_open(&child, pid, time_limit(s->o, s->result[s->at].test));
                s->changed = 0;
            }
        } else if (n == 0 || gone) { /* gone: a process started by the plugin keeps the pipe open */
            open = 0;
        }
        gone = gone || waitpid(pid, &status, WNOHANG) == pid;
        if (!gone && ds_check_other_over(&child)) {
            return end_child(pid);
        }
    }
    for (; !gone && waitpid(pid, &status, WNOHANG) != pid; usleep(1000)) {
        if (ds_check_other_over(&child)) {
            return end_child(pid);
        }
    }
    kill(-pid, SIGKILL);
    return status;
}

/* The most informative line of the child's stderr: a sanitizer's error, else the last line. */
static void error_excerpt(int fd, char *out, size_t size)
{
    char text[1 << 16];
    ssize_t n = pread(fd, text, sizeof text - 1, 0);
    out[0] = '\0';
    text[n > 0 ? n : 0] = '\0';
    for (char *line = text, *next; *line != '\0'; line = next) {
        next = line + strcspn(line, "\n");
        next += *next == '\n';
        int length = (int)(next - line) - (next > line && next[-1] == '\n');
        if (length > 0) {
            snprintf(out, size, "%.*s", length, line);
        }
        if (strstr(out, "ERROR: ") != NULL || strstr(out, "runtime error: ") != NULL) {
            return;
        }
    }
}

/* ---- the end of a child ---- */

typedef struct in_flight {
    const ds_check_options *o;
    test_result *r;
} in_flight;

/* Notes an evaluation in progress, with the command that repeats it. */
static void note_flight(void *ctx, const ds_flight *f, const double *x, uint64_t n)
{
    const in_flight *t = ctx;
    char flags[80] = "", text[200] = "", *line = NULL;
    size_t at = 0;
    if ((f->want & DS_WANT_GRAD) != 0) {
        at = (size_t)snprintf(flags, sizeof flags, " --gradient");
    }
    if (f->noise_key != 0) {
        snprintf(flags + at, sizeof flags - at, " --set run.noise_key=%llu",
                 (unsigned long long)f->noise_key);
    }
    if (f->rows > 1) {
        snprintf(text, sizeof text, " with %u points, of which this is the first", f->rows);
    }
    int strange = strcmp(t->r->test->id, "eval.strange") == 0;
    char *command = ds_check_point_command(t->o, x, n, flags);
    if (command != NULL &&
        asprintf(&line, "it was in evaluate()%s; %s: %s", text,
                 strange ? "the point is outside of the box on purpose, and dshost eval refuses such points"
                         : "to evaluate this point alone",
                 command) >= 0) {
        ds_check_lines_add(&t->r->lines, DS_CHECK_NOTE, line, strlen(line));
        free(line);
    }
    free(command);
}

/* Records a bad end of the child, with a hint and the evaluations in progress. */
static void judge_end(const ds_check_options *o, test_result *r, int status, double limit,
                      const char *excerpt, int flight)
{
    char hint[900], again[800];
    const int ended = ds_check_lines_find(&r->lines, DS_CHECK_END) != NULL;
    const char *doing = ds_check_lines_find(&r->lines, DS_CHECK_DOING);
    const char *before = excerpt[0] != '\0' ? ": " : "";
    in_flight t = {o, r};

    doing = doing != NULL ? doing : "";
    snprintf(again, sizeof again,
             (r->test->flags & DS_CHECK_ALONE) != 0 ? "dshost check --child %s %.600s 3> /dev/null"
                                                    : "dshost check --in-process --only %s %.600s",
             r->test->id, o->path);
    if (status == -1) {
        say(r, DS_CHECK_FAILURE, "no end after %.0f s", limit);
        snprintf(hint, sizeof hint,
                 "look for an endless loop or a deadlock; if it is just slow, raise --timeout-s");
    } else if (WIFSIGNALED(status)) {
        say(r, DS_CHECK_FAILURE, "the process was killed by signal %d (%s)%s%s%s", WTERMSIG(status),
            strsignal(WTERMSIG(status)), doing, before, excerpt);
        snprintf(hint, sizeof hint, "gdb --args %s", again);
    } else if (!ended || WEXITSTATUS(status) != 0) {
        const char *leak = strstr(excerpt, "LeakSanitizer") != NULL ? " (memory leaked)" : "";
        say(r, DS_CHECK_FAILURE, "the process ended itself with status %d%s%s%s%s", WEXITSTATUS(status),
            doing, leak, before, excerpt);
        if (strstr(excerpt, "Sanitizer") != NULL || strstr(excerpt, "runtime error: ") != NULL) {
            snprintf(hint, sizeof hint, "the sanitizer's whole report: %s", again);
        } else {
            snprintf(hint, sizeof hint,
                     "a plugin must not call exit(): return an error status after host->error()");
        }
    } else {
        return;
    }
    ds_flight_read(flight, note_flight, &t);
    say(r, DS_CHECK_HINT, "%s", hint);
}

/* Runs the tests of `count` results in one child (several only if may_join() allows it); returns how many
 * were begun. */
static size_t run_in_child(const ds_check_options *o, test_result *r, size_t count)
{
    int result[2] = {-1, -1};
    int errors = memfd_create("stderr", MFD_CLOEXEC), memory = memfd_create("flight", MFD_CLOEXEC);
    int flight =
        memory >= 0 ? fcntl(memory, F_DUPFD_CLOEXEC, 10) : -1; /* above the descriptors that the child uses */
    series s = {.o = o, .result = r, .begin = ds_check_now()};
    char excerpt[1000] = "", ids[64 * TESTS_MAX] = "";
    pid_t pid = -1;

    for (size_t k = 0; k < count; k++) {
        strcat(strcat(ids, k > 0 ? "," : ""), r[k].test->id);
    }
    if (errors >= 0 && pipe2(result, O_CLOEXEC) == 0) {
        if (result[1] == 3) { /* adddup2 of 3 to itself would leave it close-on-exec */
            int moved = fcntl(result[1], F_DUPFD_CLOEXEC, 4);
            close(result[1]);
            result[1] = moved;
        }
        pid = may_fork(r->test) ? fork_child(o, ids, result[1], errors, flight)
                                : start_child(o, r->test, result[1], errors, flight);
        close(result[1]);
    }
    if (pid < 0) {
        say(r, DS_CHECK_FAILURE, "the process of the test could not be started: out of processes or memory");
    } else {
        int status = follow_child(pid, result[0], &s);
        error_excerpt(errors, excerpt, sizeof excerpt);
        judge_end(o, &r[s.at], status, time_limit(o, r[s.at].test), excerpt, flight);
    }
    r[s.at].wall = ds_check_now() - s.begin;
    if (result[0] >= 0) {
        close(result[0]);
    }
    const int own[] = {errors, memory, flight};
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) {
        if (own[i] >= 0) {
            close(own[i]);
        }
    }
    return s.at + 1;
}

static double least_seconds(const ds_check_options *o, const ds_check_test *test)
{
    return test->least_loss * o->cost + test->least_grad * o->cost_gradient;
}

/* May a test share its process with others? Plugins of an adapter run in other processes anyway, which take
 * long to start: an interpreter and its imports. */
static int may_join(const ds_check_options *o, const ds_check_test *test)
{
    const size_t n = strlen(o->path);
    const int shared_object = n > 3 && strcmp(o->path + n - 3, ".so") == 0;
    return !shared_object && !o->in_process && may_fork(test) && (test->flags & DS_CHECK_ALONE) == 0 &&
           least_seconds(o, test) <= LEAST_SECONDS;
}

/* Runs the first test, and those of the following `count` - 1 that may share its process; returns how many.
 */
static size_t perform(const ds_check_options *o, test_result *r, size_t count)
{
    const double begin = ds_check_now(), least = least_seconds(o, r->test);
    size_t joined = 1;

    if (least > LEAST_SECONDS) {
        say(r, DS_CHECK_SKIP, "needs at least %.0f s of evaluations: set smaller parameters with --set",
            least);
    } else if (o->in_process && (r->test->flags & DS_CHECK_ALONE) != 0) {
        say(r, DS_CHECK_SKIP, "needs its own process: leave out --in-process");
    } else if (o->in_process) {
        shared in = {.open = 0};
        run_test(o, r->test, -1, &r->lines, &in);
        close_shared(&in);
    } else {
        while (joined < count && may_join(o, r->test) && may_join(o, r[joined].test)) {
            joined++;
        }
        return run_in_child(o, r, joined);
    }
    r->wall = ds_check_now() - begin;
    return 1;
}

/* Learns the kind of the plugin, and whether it loads at all (*loads), before tests are chosen. Fails on
 * wrong settings. */
static int learn(ds_check_options *o, report *all, int *loads, ds_error *e)
{
    test_result r = {.test = &describe_test};
    const char *text;
    unsigned long long flags = 0;

    perform(o, &r, 1);
    text = ds_check_lines_find(&r.lines, DS_CHECK_KIND);
    if (text != NULL && sscanf(text, "%u %llu %63s", &all->kind, &flags, all->id) != 3) {
        all->kind = 0;
    }
    text = ds_check_lines_find(&r.lines, DS_CHECK_REFUSED);
    if (text != NULL) {
        ds_fail(e, DS_EXIT_CONFIG, "check: %s", text);
    }
    ds_check_lines_clear(&r.lines);
    *loads = all->kind != 0;
    if (e->status != 0 || !*loads) {
        return e->status;
    }
    all->flags = flags;
    if (o->in_process && all->kind == DS_KIND_ENV && (flags & DS_ENV_OWN_PROCESS) != 0) {
        return ds_fail(
            e, DS_EXIT_USAGE,
            "check: each instance of %s needs its own process (DS_ENV_OWN_PROCESS): leave out --in-process",
            all->id);
    }
    return 0;
}

/* Measures time and results of an evaluation for the tests. */
static void measure(ds_check_options *o, const report *all)
{
    test_result r = {.test = all->kind == DS_KIND_ENV ? &env_measure_test : &opt_measure_test};
    unsigned long long loss = 0, grad = 0;
    int raw = 1, kept = 0;
    for (size_t k = 0; k < all->count; k++) {
        raw = raw && is_raw(all->result[k].test);
        kept = kept || (all->result[k].test->flags & DS_CHECK_KEPT) != 0;
    }
    if (raw) {
        return;
    }
    if (kept) {
        const int fd = memfd_create("kept", MFD_CLOEXEC);
        /* above the descriptors that the child uses */
        o->kept = fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 10) : -1;
        close(fd);
    }
    perform(o, &r, 1);
    const char *text = ds_check_lines_find(&r.lines, DS_CHECK_COST);
    if (text != NULL && sscanf(text, "%lf %lf", &o->cost, &o->cost_gradient) != 2) {
        o->cost = o->cost_gradient = 0;
    }
    text = ds_check_lines_find(&r.lines, DS_CHECK_BITS);
    if (text != NULL && sscanf(text, "%llx %llx", &loss, &grad) == 2) {
        o->reference.loss = loss;
        o->reference.grad = grad;
        o->has_reference = 1;
    }
    ds_check_lines_clear(&r.lines);
}

/* Copies the next comma-separated text, and returns what follows. "rl" is the former prefix of the ids
 * "steps". */
static const char *next_text(const char *texts, char text[64])
{
    const size_t n = strcspn(texts, ",");
    const size_t old = n >= 2 && strncmp(texts, "rl", 2) == 0 && (n == 2 || texts[2] == '.') ? 2 : 0;
    snprintf(text, 64, "%s%.*s", old > 0 ? "steps" : "", (int)(n - old), texts + old);
    return texts + n + (texts[n] == ',');
}

/* Does the id contain one of the comma-separated texts? */
static int named(const char *texts, const char *id)
{
    char text[64];
    while (*texts != '\0') {
        texts = next_text(texts, text);
        if (text[0] != '\0' && strstr(id, text) != NULL) {
            return 1;
        }
    }
    return 0;
}

/* Every text of --only must occur in the id of some test, of whatever kind: one list may serve both kinds of
 * plugins. */
static int texts_known(const char *texts, ds_error *e)
{
    char text[64];
    while (*texts != '\0') {
        texts = next_text(texts, text);
        int found = text[0] == '\0';
        for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
            const ds_check_test *t;
            for (size_t k = 0; !found && (t = test_at(i, k)) != NULL; k++) {
                found = named(text, t->id);
            }
        }
        if (!found) {
            return ds_fail(e, DS_EXIT_USAGE, "check: no test has an id with %.60s; --list prints them", text);
        }
    }
    return 0;
}

static int wanted(const ds_check_options *o, const report *all, const ds_check_test *t)
{
    return o->only != NULL && !named(o->only, t->id)
               ? 0
               : (t->flags & DS_CHECK_GRADIENT) == 0 || (all->flags & DS_ENV_GRADIENT) != 0;
}

static void choose(const ds_check_options *o, report *all, size_t kind)
{
    const ds_check_test *t;
    for (size_t k = 0; (t = test_at(kind, k)) != NULL && all->count < TESTS_MAX; k++) {
        if (wanted(o, all, t)) {
            all->result[all->count++].test = t;
        }
    }
}

int ds_check_run(ds_check_options *o, ds_error *e)
{
    report all = {.options = o};
    int loads = 0, status = o->only != NULL ? texts_known(o->only, e) : 0;
    o->kept = -1;
    status = status != 0 ? status : learn(o, &all, &loads, e);

    if (status != 0) {
        return status;
    }
    all.result = calloc(TESTS_MAX, sizeof *all.result);
    if (all.result == NULL) {
        return ds_no_memory(e);
    }
    choose(o, &all, 0);
    if (all.kind != 0) {
        choose(o, &all, all.kind);
    }
    if (all.count == 0 && all.kind == 0) {
        ds_check_options any = *o; /* nothing that was selected can be tried: the tests of loading say why */
        any.only = NULL;
        choose(&any, &all, 0);
    }
    if (all.count == 0) {
        free(all.result);
        return ds_fail(e, DS_EXIT_USAGE,
                       "check: no test of this plugin has an id with %.60s; --list prints them", o->only);
    }
    if (loads) {
        measure(o, &all);
    }
    report_begin(&all);
    for (size_t k = 0, done; k < all.count;) {
        for (done = k + perform(o, &all.result[k], all.count - k); k < done; k++) {
            report_result(&all, k);
        }
    }
    status = report_end(&all, loads, e);
    for (size_t k = 0; k < all.count; k++) {
        ds_check_lines_clear(&all.result[k].lines);
    }
    free(all.result);
    return status;
}
