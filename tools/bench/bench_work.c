/* SPDX-License-Identifier: Apache-2.0 */
/* bench_work.c - the child processes of runs, and their messages. */
#include "config.h"

#include "bench/experiment.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/program.h"
#include "evaluate/trust.h"
#include "results/results.h"
#include "run/run.h"
#include "store/run_folder.h"

enum { ARGS_MAX = 48, LINE_BYTES = 1200, LOG_BYTES = 8192, BLIND_MS = 20, FILES_PER_SLOT = 2 };

typedef struct child {
    pid_t pid; /* 0 = free */
    int fd;    /* its stderr */
    size_t run;
    char line[LINE_BYTES]; /* begun */
    size_t length;
    char error[400];
    char log[LOG_BYTES]; /* the last error message */
    size_t logged;
} child;

struct ds_bench_work {
    const ds_bench_plan *plan;
    child *slot;
    size_t slots, busy;
    int stopped;
};

int ds_bench_work_open(const ds_bench_plan *plan, size_t slots, ds_bench_work **out, ds_error *e)
{
    uint64_t limit, need;
    if (!ds_files_reserve((uint64_t)FILES_PER_SLOT * slots + DS_FILES_SPARE, &limit, &need) && slots > 1) {
        return ds_fail(e, DS_EXIT_IO,
                       "bench: %zu runs at once need %llu open files, but only %llu are allowed (ulimit -n): "
                       "use fewer jobs, or raise the limit",
                       slots, (unsigned long long)need, (unsigned long long)limit);
    }
    ds_bench_work *w = calloc(1, sizeof(*w));
    if (w == NULL || (w->slot = calloc(slots, sizeof(*w->slot))) == NULL) {
        free(w);
        return ds_no_memory(e);
    }
    /* Resumed runs read the plugins named by the plan from their records. */
    for (int which = 0; which < 2; which++) {
        for (size_t i = 0; i < plan->variants[which]; i++) {
            ds_trust_named(plan->variant[which][i].part->plugin, 0, 1);
        }
    }
    w->plan = plan;
    w->slots = slots;
    *out = w;
    return 0;
}

size_t ds_bench_work_free(const ds_bench_work *w)
{
    return w->stopped ? 0 : w->slots - w->busy;
}

size_t ds_bench_work_busy(const ds_bench_work *w)
{
    return w->busy;
}

/* ---- start ---- */

/* A command line under construction. */
typedef struct arguments {
    char *item[ARGS_MAX + 1];
    size_t count;
    int bad;
} arguments;

static void add_argument(arguments *a, const char *text)
{
    a->bad |= text == NULL || a->count == ARGS_MAX || (a->item[a->count] = strdup(text)) == NULL;
    a->count += !a->bad;
}

/* "--max-failed" for "max_failed", and its value. */
static void add_flag(arguments *a, const char *key, const char *value)
{
    char flag[64];
    snprintf(flag, sizeof(flag), "--%s", key);
    for (char *c = flag; *c != '\0'; c++) {
        *c = (char)(*c == '_' ? '-' : *c);
    }
    add_argument(a, flag);
    add_argument(a, value);
}

/* For a run that ended at its time limit: the remaining part of a larger limit, since every process counts
 * from its own start. */
static double seconds_left(const char *folder, double limit)
{
    ds_result r;
    ds_error ignored = {0, ""};
    double left = limit;
    if (limit > 0 && ds_result_read(folder, &r, &ignored) == 1) {
        left = strcmp(r.ended, "time") == 0 && r.wall_s < limit ? limit - r.wall_s : limit;
        ds_result_clear(&r);
    }
    return left;
}

/* `dshost run` with the run.ini of its cell, or `dshost resume` if there is a record. */
static int make_arguments(const ds_bench_plan *p, size_t run, const char *folder, arguments *a, ds_error *e)
{
    char number[32];
    int rc = 0;
    snprintf(number, sizeof(number), "%ld", (long)getpid());
    add_argument(a, "dshost-bench");
    add_argument(a, "--run");
    add_argument(a, number);
    if (ds_folder_has_run(folder)) {
        ds_run_options o;
        rc = ds_run_options_make(&p->file.run, &o, e);
        add_argument(a, "resume");
        add_argument(a, folder);
        for (size_t i = 0; rc == 0 && i < ds_params_count(o.params); i++) {
            const char *key = ds_params_info(o.params, i)->name;
            if (strcmp(key, "seconds") == 0) {
                char seconds[40];
                snprintf(seconds, sizeof(seconds), "%.17g", seconds_left(folder, p->seconds));
                add_flag(a, key, seconds);
            } else if (ds_run_may_override(key)) {
                add_flag(a, key, ds_params_value_text(o.params, i));
            }
        }
        ds_run_options_clear(&o);
    } else {
        char *cell = ds_folder_path(p->out, ds_bench_cell_of(p, run)->name);
        char *config = cell != NULL ? ds_folder_path(cell, "run.ini") : NULL;
        snprintf(number, sizeof(number), "%llu", (unsigned long long)ds_bench_seed_of(p, run));
        add_argument(a, "run");
        add_flag(a, "config", config);
        add_flag(a, "runs", "1");
        add_flag(a, "seed", number);
        add_flag(a, "out", folder);
        free(cell);
        free(config);
    }
    return rc == 0 && a->bad ? ds_no_memory(e) : rc;
}

int ds_bench_work_start(ds_bench_work *w, size_t run, ds_error *e)
{
    arguments a = {{NULL}, 0, 0};
    int pipes[2] = {-1, -1};
    child *c = w->slot;
    char *folder = ds_bench_run_folder(w->plan, run);
    while (c->pid != 0) {
        c++;
    }
    memset(c, 0, sizeof(*c));
    c->run = run;
    int rc = folder == NULL ? ds_no_memory(e) : ds_folder_check_below(w->plan->out, folder, e);
    rc = rc != 0 ? rc : make_arguments(w->plan, run, folder, &a, e);
    if (rc == 0 && pipe2(pipes, O_CLOEXEC | O_NONBLOCK) != 0) {
        rc = ds_fail(e, DS_EXIT_IO, "cannot create a pipe: %s%s", strerror(errno),
                     errno == EMFILE ? " (ulimit -n)" : "");
    }
    if (rc == 0) {
        fcntl(pipes[1], F_SETFL, 0); /* the child may block, this process must not */
        const int fd[] = {-1, -1, pipes[1]};
        /* Its own process group: Ctrl-C on the terminal reaches this process, which passes it on. */
        int code = ds_program_start(ds_program_self(), a.item, fd, 3, DS_PROGRAM_GROUP, &c->pid);
        if (code != 0) {
            c->pid = 0;
            rc = ds_fail(e, code == ENOMEM ? DS_EXIT_MEMORY : DS_EXIT_IO, "cannot start a process: %s",
                         strerror(code));
        }
        close(pipes[1]);
    }
    if (rc == 0) {
        c->fd = pipes[0];
        w->busy++;
    } else if (pipes[0] >= 0) {
        close(pipes[0]);
    }
    for (size_t i = 0; i < a.count; i++) {
        free(a.item[i]);
    }
    free(folder);
    return rc;
}

/* ---- messages ---- */

static void keep(child *c, const char *text, size_t n)
{
    if (n > LOG_BYTES) {
        text += n - LOG_BYTES;
        n = LOG_BYTES;
    }
    if (c->logged + n > LOG_BYTES) {
        size_t drop = c->logged + n - LOG_BYTES;
        memmove(c->log, c->log + drop, c->logged - drop);
        c->logged -= drop;
    }
    memcpy(c->log + c->logged, text, n);
    c->logged += n;
}

/* Handles a complete line. A progress line has "57/1000, best loss": evaluations so far. */
static uint64_t take_line(child *c)
{
    static const char error[] = "dshost: error: ";
    const char *progress = strstr(c->line, ", best loss ");
    if (strncmp(c->line, error, sizeof(error) - 1) == 0) {
        snprintf(c->error, sizeof(c->error), "%.399s", c->line + sizeof(error) - 1);
    }
    if (progress == NULL) {
        return 0;
    }
    const char *p = progress;
    while (p > c->line && p[-1] >= '0' && p[-1] <= '9') {
        p--;
    }
    if (p == c->line || p[-1] != '/') {
        return 0;
    }
    for (p--; p > c->line && p[-1] >= '0' && p[-1] <= '9'; p--) {
    }
    return strtoull(p, NULL, 10);
}

/* Reads what has arrived; 1 = the child is gone. */
static int read_child(child *c, uint64_t *evaluations)
{
    char text[4096];
    ssize_t n;
    while ((n = read(c->fd, text, sizeof(text))) > 0) {
        keep(c, text, (size_t)n);
        for (ssize_t i = 0; i < n; i++) {
            if (text[i] == '\n') {
                c->line[c->length] = '\0';
                uint64_t count = take_line(c);
                *evaluations = count > 0 ? count : *evaluations;
                c->length = 0;
            } else if (c->length + 1 < LINE_BYTES) {
                c->line[c->length++] = text[i];
            }
        }
    }
    return n == 0 || (errno != EAGAIN && errno != EINTR);
}

/* Keeps the messages of a failed run next to its folder, or removes those of an earlier failure. */
static void write_log(const ds_bench_work *w, const child *c, int failed)
{
    char *folder = ds_bench_run_folder(w->plan, c->run);
    char *path = NULL;
    if (folder != NULL && asprintf(&path, "%s.log", folder) >= 0) {
        if (failed) {
            ds_file_write_atomic(path, c->log, c->logged, NULL);
        } else {
            unlink(path);
        }
    }
    free(path);
    free(folder);
}

static void bury(ds_bench_work *w, child *c, ds_bench_event *out)
{
    int how = 0;
    while (waitpid(c->pid, &how, 0) < 0 && errno == EINTR) {
    }
    out->ended = 1;
    out->status = WIFEXITED(how) ? WEXITSTATUS(how) : 128 + WTERMSIG(how);
    if (!WIFEXITED(how) && c->error[0] == '\0') {
        snprintf(c->error, sizeof(c->error), "killed by signal %d (%s)", WTERMSIG(how),
                 strsignal(WTERMSIG(how)));
    }
    strcpy(out->error, c->error);
    int failed = out->status > DS_EXIT_UNMET && out->status != DS_EXIT_LOCKED &&
                 out->status != DS_EXIT_SIGINT && out->status != DS_EXIT_SIGTERM;
    write_log(w, c, failed);
    close(c->fd);
    c->pid = 0;
    w->busy--;
}

int ds_bench_work_next(ds_bench_work *w, int ms, ds_bench_event *out)
{
    struct pollfd *fds = calloc(w->slots, sizeof(*fds));
    int found = 0;
    if (fds == NULL) {
        return 0;
    }
    size_t n =
        0; /* poll() accepts no more descriptors than may be open: pass those of existing children only */
    for (size_t i = 0; i < w->slots; i++) {
        if (w->slot[i].pid != 0) {
            fds[n++] = (struct pollfd){w->slot[i].fd, POLLIN, 0};
        }
    }
    const int blind = poll(fds, n, ms) < 0 && errno != EINTR; /* checked anyway, at intervals */
    if (blind) {
        ds_sleep_ms(BLIND_MS);
    }
    n = 0;
    for (size_t i = 0; i < w->slots && !found; i++) {
        child *c = &w->slot[i];
        if (c->pid == 0 || (fds[n++].revents == 0 && !blind)) {
            continue;
        }
        memset(out, 0, sizeof(*out));
        out->run = c->run;
        if (read_child(c, &out->evaluations)) {
            bury(w, c, out);
            found = 1;
        } else {
            found = out->evaluations > 0;
        }
    }
    free(fds);
    return found;
}

void ds_bench_work_stop(ds_bench_work *w)
{
    for (size_t i = 0; i < w->slots && !w->stopped; i++) {
        if (w->slot[i].pid != 0) {
            kill(w->slot[i].pid, SIGTERM);
        }
    }
    w->stopped = 1;
}

void ds_bench_work_close(ds_bench_work *w)
{
    for (size_t i = 0; w != NULL && i < w->slots; i++) {
        if (w->slot[i].pid != 0) {
            kill(w->slot[i].pid, SIGKILL);
            waitpid(w->slot[i].pid, NULL, 0);
            close(w->slot[i].fd);
        }
    }
    if (w != NULL) {
        free(w->slot);
        free(w);
    }
}
