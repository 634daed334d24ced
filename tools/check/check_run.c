/* SPDX-License-Identifier: Apache-2.0 */
/* check_run.c - the parent of the conformance kit: starts a process for every test and collects what it
 * recorded. A crash, an exit or a hang of the plugin is then a result like any other. */
#include "config.h"

#include "check/check_run.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/program.h"
#include "check/check_report.h"
#include "check/check_tests.h"
#include "harness/check_flight.h"
#include "harness/check_host.h"
#include "harness/check_point.h"

extern char **environ;

/* A test is left out where the evaluations that it cannot do without would take longer than this. */
static const double LEAST_SECONDS = 100;

enum { TESTS_MAX = 100 };

/* Descriptors of a child: its lines, the evaluations that are going on, numbers of the items. */
enum { RESULT = 3, FLIGHT = 4, KEPT = 5 };

static const ds_check_test describe_test = {"describe", "", 0, 0, 0, ds_check_describe};
static const ds_check_test env_measure_test = {"measure_env", "", DS_CHECK_ENV, 1, 1, ds_check_env_measure};
static const ds_check_test opt_measure_test = {"measure_opt", "", 0, 0, 0, ds_check_opt_measure};

static const ds_check_test *const hidden[] = {&describe_test, &env_measure_test, &opt_measure_test};
/* By kind of the plugin; 0 = of all. */
static const ds_check_test *const *const tables[] = {
    (const ds_check_test *const[]){ds_check_load_tests, NULL},
    (const ds_check_test *const[]){ds_check_instance_tests, ds_check_info_tests, ds_check_eval_tests,
                                   ds_check_pure_tests, ds_check_gradient_tests, ds_check_extension_tests,
                                   ds_check_channel_tests, ds_check_variables_tests, ds_check_scene_tests,
                                   ds_check_rl_tests, ds_check_sweep_tests, ds_check_score_tests,
                                   ds_check_hook_tests, NULL},
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

/* ---- the test's own process ---- */

/* An instance that several tests of one process use in turn. */
typedef struct common {
    ds_check_env env;
    double tolerance, *width; /* those of ds_check */
    int open;
} common;

static void close_common(common *in)
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

/* The instance of a test: the common one, as good as new, or one that becomes it. */
static int take_common(ds_check *c, common *in)
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
                     common *in)
{
    ds_check c = {.options = o, .test = test, .fd = fd, .lines = lines};
    const int raw = is_raw(test);

    c.random = ds_random_open(o->seed, test->id, 0);
    c.idle = in->open && (test->flags & DS_CHECK_ENV) == 0 ? &in->env : NULL;
    const int idle = c.idle != NULL;
    if (raw || ds_check_load(&c)) {
        c.env = (test->flags & DS_CHECK_ENV) != 0 && take_common(&c, in) ? &in->env : NULL;
        if (c.env != NULL || (test->flags & DS_CHECK_ENV) == 0) {
            test->run(&c);
        }
        if (c.distance > 0 && c.tolerance > 0) {
            ds_check_note(&c, "answers are up to %.2g apart, the tolerance is %.2g", c.distance, c.tolerance);
        }
    }
    free(c.width);
    if (idle && c.idle == NULL) { /* closed: it may want the process to itself */
        free(in->width);
        in->open = 0;
    }
    if (c.failed > 0) {
        close_common(in);
    }
    ds_check_record(&c, DS_CHECK_END, "");
}

int ds_check_child(ds_check_options *o, const char *ids, int flight, int kept, ds_error *e)
{
    const int fd = RESULT;
    const struct rlimit no_core = {0, 0};
    common in = {.open = 0};
    char id[64];

    if (fcntl(fd, F_GETFD) < 0) {
        return ds_fail(e, DS_EXIT_USAGE, "check: --child is for the program itself");
    }
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    if (flight && fcntl(FLIGHT, F_SETFD, FD_CLOEXEC) == 0) {
        ds_flight_attach(FLIGHT);
    }
    o->kept = kept && fcntl(KEPT, F_SETFD, FD_CLOEXEC) == 0 ? KEPT : -1;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setrlimit(RLIMIT_CORE, &no_core);
    ds_log_set_level(DS_LOG_ERROR + 1); /* stderr belongs to what the plugin prints */
    for (const char *at = ids; *at != '\0'; at += *at == ',') {
        const size_t n = strcspn(at, ",");
        snprintf(id, sizeof id, "%.*s", (int)n, at);
        const ds_check_test *test = find_test(id);
        if (test == NULL) {
            return ds_fail(e, DS_EXIT_USAGE, "check: --child is for the program itself");
        }
        if (at != ids) {
            ds_check next = {.options = o, .fd = fd};
            ds_check_record(&next, DS_CHECK_NEXT, "");
        }
        run_test(o, test, fd, NULL, &in);
        at += n;
    }
    close_common(&in);
    return 0;
}

/* ---- the parent ---- */

static double time_limit(const ds_check_options *o, const ds_check_test *test)
{
    if (test == &env_measure_test) {
        return 6 * o->timeout; /* the first evaluation of a slow environment: nothing is known of it yet */
    }
    return o->timeout + 3 * (test->least_loss * o->cost + test->least_grad * o->cost_gradient);
}

/* Settings of glibc's allocator for a test, or NULL. Without its cache of freed blocks the heap of a test
 * that looks for leaks is counted exactly; with new memory filled with a pattern, a test that compares with
 * the parent's measurement sees where uninitialised memory is used. */
static const char *allocator_of(const ds_check_test *test)
{
    return strstr(test->id, "leak") != NULL || strcmp(test->id, "inst.errors") == 0
               ? "glibc.malloc.tcache_count=0"
           : strstr(test->id, "process") != NULL ? "glibc.malloc.perturb=85"
                                                 : NULL;
}

/* The environment of a child: this one's, and those settings. */
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
        /* Those of the user stay: some choose how libm computes. */
        static char tunables[1200];
        const char *old = getenv("GLIBC_TUNABLES"), *own = allocator_of(test);
        const char *both[] = {old != NULL ? old : own, old != NULL ? own : NULL};
        snprintf(tunables, sizeof tunables, "GLIBC_TUNABLES=%.1000s%s%s", both[0] != NULL ? both[0] : "",
                 both[1] != NULL ? ":" : "", both[1] != NULL ? both[1] : "");
        e[n] = both[0] != NULL ? tunables : NULL;
    }
    return e;
}

/* A child can be a copy of this process, which is quicker than a program of its own, except where its memory
 * is to be laid out in another way (the measurements, and what needs settings of the allocator), or where
 * something is to happen at the end of the program (sanitizers). */
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
    fflush(stdout); /* else the child would print it as well */
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
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP); /* what a plugin starts is killed with it */
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

/* Results of the tests of one child, which come one after the other. */
typedef struct series {
    const ds_check_options *o;
    ds_check_result *result;
    size_t at;    /* the present one */
    double begin; /* of it */
    int changed;  /* there was another one before */
} series;

/* Takes the complete lines out of the text received so far. */
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

/* Reads until the child is gone. Returns its wait status, or -1 after killing it at the end of its time. */
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
        } else if (n == 0) {
            open = 0;
        } else if (gone) { /* a process started by the plugin holds the pipe */
            open = 0;
        }
        gone = gone || waitpid(pid, &status, WNOHANG) == pid;
        if (!gone && ds_check_other_over(&child)) {
            kill(-pid, SIGKILL);
            waitpid(pid, &status, 0);
            return -1;
        }
    }
    while (!gone && waitpid(pid, &status, WNOHANG) != pid) {
        if (ds_check_other_over(&child)) {
            kill(-pid, SIGKILL);
            waitpid(pid, &status, 0);
            return -1;
        }
        usleep(1000);
    }
    kill(-pid, SIGKILL);
    return status;
}

/* The line of the child's stderr that says most: a sanitizer's summary, else the last one. */
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

/* Where the lines about evaluations that were going on go. */
typedef struct in_flight {
    const ds_check_options *o;
    ds_check_result *r;
} in_flight;

static void tell_flight(void *ctx, const ds_flight *f, const double *x, uint64_t n)
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
        snprintf(text, sizeof text, " of %u points together, of which this is the first", f->rows);
    }
    int strange = strcmp(t->r->test->id, "eval.strange") == 0;
    char *command = ds_check_point_command(t->o, x, n, flags);
    if (command != NULL &&
        asprintf(&line, "it was in evaluate()%s; %s: %s", text,
                 strange ? "the point is outside of the box on purpose, dshost eval takes no such"
                         : "that point alone",
                 command) >= 0) {
        ds_check_lines_add(&t->r->lines, DS_CHECK_NOTE, line, strlen(line));
        free(line);
    }
    free(command);
}

/* Says at which x the child died or was ended. */
static void tell_flights(const ds_check_options *o, ds_check_result *r, int flight)
{
    in_flight t = {o, r};
    ds_flight_read(flight, tell_flight, &t);
}

/* Turns the way in which the child ended into lines. */
static void judge_end(const ds_check_options *o, ds_check_result *r, int status, double limit,
                      const char *excerpt, int flight)
{
    char text[1500], again[800];
    int ended = ds_check_lines_find(&r->lines, DS_CHECK_END) != NULL;
    const char *doing = ds_check_lines_find(&r->lines, DS_CHECK_DOING);
    const char *before = excerpt[0] != '\0' ? ": " : "";

    doing = doing != NULL ? doing : "";
    snprintf(again, sizeof again,
             (r->test->flags & DS_CHECK_ALONE) != 0 ? "dshost check --child %s %.600s 3> /dev/null"
                                                    : "dshost check --in-process --only %s %.600s",
             r->test->id, o->path);
    if (status == -1) {
        snprintf(text, sizeof text, "no end after %.0f s", limit);
        ds_check_lines_add(&r->lines, DS_CHECK_FAILURE, text, strlen(text));
        snprintf(text, sizeof text, "an endless loop, a deadlock, or slow: --timeout-s gives more time");
    } else if (WIFSIGNALED(status)) {
        snprintf(text, sizeof text, "the process died of signal %d (%s)%s%s%s", WTERMSIG(status),
                 strsignal(WTERMSIG(status)), doing, before, excerpt);
        ds_check_lines_add(&r->lines, DS_CHECK_FAILURE, text, strlen(text));
        snprintf(text, sizeof text, "gdb --args %s", again);
    } else if (!ended || WEXITSTATUS(status) != 0) {
        const char *leak = strstr(excerpt, "LeakSanitizer") != NULL ? " (memory leaked)" : "";
        snprintf(text, sizeof text, "the process ended itself with status %d%s%s%s%s", WEXITSTATUS(status),
                 doing, leak, before, excerpt);
        ds_check_lines_add(&r->lines, DS_CHECK_FAILURE, text, strlen(text));
        if (strstr(excerpt, "Sanitizer") != NULL || strstr(excerpt, "runtime error: ") != NULL) {
            snprintf(text, sizeof text, "the sanitizer's whole report: %s", again);
        } else {
            snprintf(text, sizeof text,
                     "a plugin never calls exit(): it returns an error status after host->error()");
        }
    } else {
        return;
    }
    tell_flights(o, r, flight);
    ds_check_lines_add(&r->lines, DS_CHECK_HINT, text, strlen(text));
}

/* Runs the tests of `count` results in one child, more than one only where may_join() says so; returns how
 * many it came to. */
static size_t run_in_child(const ds_check_options *o, ds_check_result *r, size_t count)
{
    int result[2] = {-1, -1};
    int errors = memfd_create("stderr", MFD_CLOEXEC), memory = memfd_create("flight", MFD_CLOEXEC);
    int flight =
        memory >= 0 ? fcntl(memory, F_DUPFD_CLOEXEC, 10) : -1; /* out of the way of the child's own */
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
        const char *text = "the test's process could not be started";
        ds_check_lines_add(&r->lines, DS_CHECK_FAILURE, text, strlen(text));
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

/* May a test share its process with others? A plugin of an adapter runs in processes of its own anyway, which
 * take long to start: an interpreter, and what it imports. */
static int may_join(const ds_check_options *o, const ds_check_test *test)
{
    const size_t n = strlen(o->path);
    const int shared_object = n > 3 && strcmp(o->path + n - 3, ".so") == 0;
    return !shared_object && !o->in_process && may_fork(test) && (test->flags & DS_CHECK_ALONE) == 0 &&
           least_seconds(o, test) <= LEAST_SECONDS;
}

/* Runs the first test, and those of the `count` that may share its process; returns how many. */
static size_t perform(const ds_check_options *o, ds_check_result *r, size_t count)
{
    const double begin = ds_check_now(), least = least_seconds(o, r->test);
    size_t joined = 1;
    char text[200];

    if (least > LEAST_SECONDS) {
        snprintf(text, sizeof text,
                 "needs at least %.0f s of evaluations: use smaller parameters, given with --set", least);
        ds_check_lines_add(&r->lines, DS_CHECK_SKIP, text, strlen(text));
    } else if (o->in_process && (r->test->flags & DS_CHECK_ALONE) != 0) {
        const char *why = "needs a process of its own";
        ds_check_lines_add(&r->lines, DS_CHECK_SKIP, why, strlen(why));
    } else if (o->in_process) {
        common in = {.open = 0};
        run_test(o, r->test, -1, &r->lines, &in);
        close_common(&in);
    } else {
        while (joined < count && may_join(o, r->test) && may_join(o, r[joined].test)) {
            joined++;
        }
        return run_in_child(o, r, joined);
    }
    r->wall = ds_check_now() - begin;
    return 1;
}

/* What the parent needs to know of the plugin before it chooses the tests. *loads: can it be loaded at all?
 * Fails where the settings are wrong. */
static int learn(ds_check_options *o, ds_check_report *report, int *loads, ds_error *e)
{
    ds_check_result r = {.test = &describe_test};
    const char *text;
    unsigned long long flags = 0;

    perform(o, &r, 1);
    text = ds_check_lines_find(&r.lines, DS_CHECK_KIND);
    if (text != NULL && sscanf(text, "%u %llu %63s", &report->kind, &flags, report->id) != 3) {
        report->kind = 0;
    }
    text = ds_check_lines_find(&r.lines, DS_CHECK_REFUSED);
    if (text != NULL) {
        ds_fail(e, DS_EXIT_CONFIG, "check: %s", text);
    }
    ds_check_lines_clear(&r.lines);
    *loads = report->kind != 0;
    if (e->status != 0 || !*loads) {
        return e->status;
    }
    report->flags = flags;
    if (o->in_process && report->kind == DS_KIND_ENV && (flags & DS_ENV_OWN_PROCESS) != 0) {
        return ds_fail(e, DS_EXIT_USAGE,
                       "check: each instance of %s wants a process to itself (DS_ENV_OWN_PROCESS): leave out "
                       "--in-process",
                       report->id);
    }
    return 0;
}

/* What the tests need to know of the plugin's answers: what they take, and what they are. */
static void measure(ds_check_options *o, const ds_check_report *report)
{
    ds_check_result r = {.test = report->kind == DS_KIND_ENV ? &env_measure_test : &opt_measure_test};
    unsigned long long loss = 0, grad = 0;
    int raw = 1, kept = 0;
    for (size_t k = 0; k < report->count; k++) {
        raw = raw && is_raw(report->result[k].test);
        kept = kept || (report->result[k].test->flags & DS_CHECK_KEPT) != 0;
    }
    if (raw) {
        return;
    }
    if (kept) {
        const int fd = memfd_create("kept", MFD_CLOEXEC);
        o->kept = fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 10) : -1; /* out of the way of the child's own */
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

/* Does the id contain one of the texts, which are separated by commas? */
static int named(const char *texts, const char *id)
{
    char text[64];
    while (*texts != '\0') {
        size_t n = strcspn(texts, ",");
        snprintf(text, sizeof text, "%.*s", (int)n, texts);
        if (n > 0 && strstr(id, text) != NULL) {
            return 1;
        }
        texts += n + (texts[n] == ',');
    }
    return 0;
}

/* A text of --only that is in the id of no test, of whatever kind (one list serves plugins of both), is
 * a slip. */
static int texts_known(const char *texts, ds_error *e)
{
    char text[64];
    for (; *texts != '\0'; texts += *texts == ',') {
        size_t n = strcspn(texts, ",");
        int found = n == 0;
        snprintf(text, sizeof text, "%.*s", (int)n, texts);
        for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
            const ds_check_test *t;
            for (size_t k = 0; !found && (t = test_at(i, k)) != NULL; k++) {
                found = named(text, t->id);
            }
        }
        if (!found) {
            return ds_fail(e, DS_EXIT_USAGE, "check: no test has an id with %.60s; --list shows them", text);
        }
        texts += n;
    }
    return 0;
}

static int wanted(const ds_check_options *o, const ds_check_report *report, const ds_check_test *t)
{
    return o->only != NULL && !named(o->only, t->id)
               ? 0
               : (t->flags & DS_CHECK_GRADIENT) == 0 || (report->flags & DS_ENV_GRADIENT) != 0;
}

static void choose(const ds_check_options *o, ds_check_report *report, size_t kind)
{
    const ds_check_test *t;
    for (size_t k = 0; (t = test_at(kind, k)) != NULL && report->count < TESTS_MAX; k++) {
        if (wanted(o, report, t)) {
            report->result[report->count++].test = t;
        }
    }
}

int ds_check_run(ds_check_options *o, ds_error *e)
{
    ds_check_report report = {.options = o};
    int loads = 0, status = o->only != NULL ? texts_known(o->only, e) : 0;
    o->kept = -1;
    status = status != 0 ? status : learn(o, &report, &loads, e);

    if (status != 0) {
        return status;
    }
    report.result = calloc(TESTS_MAX, sizeof *report.result);
    if (report.result == NULL) {
        return ds_no_memory(e);
    }
    choose(o, &report, 0);
    if (report.kind != 0) {
        choose(o, &report, report.kind);
    }
    if (report.count == 0 && report.kind == 0) {
        ds_check_options all = *o; /* what was asked for cannot be tried: the tests of loading say why */
        all.only = NULL;
        choose(&all, &report, 0);
    }
    if (report.count == 0) {
        free(report.result);
        return ds_fail(e, DS_EXIT_USAGE,
                       "check: no test of this plugin has an id with %.60s; --list shows them", o->only);
    }
    if (loads) {
        measure(o, &report);
    }
    ds_check_report_begin(&report);
    for (size_t k = 0, done; k < report.count;) {
        for (done = k + perform(o, &report.result[k], report.count - k); k < done; k++) {
            ds_check_report_result(&report, k);
        }
    }
    status = ds_check_report_end(&report, loads, e);
    for (size_t k = 0; k < report.count; k++) {
        ds_check_lines_clear(&report.result[k].lines);
    }
    free(report.result);
    return status;
}
