/* SPDX-License-Identifier: Apache-2.0 */
/* pictures.c - decides when to start dshost-picture: one at a time, for a small share of the time, and at the
 * end. */
#include "config.h"

#include "cli/pictures.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/program.h"

enum {
    CLOCK_CALLS = 64, /* cheap steps between two reads of the clock */
    NICE = 10         /* niceness of dshost-picture during the run */
};
static const double SHARE = 0.05;        /* of the time of a run may go into images */
static const double APART_SECONDS = 2.0; /* at least, between two images */
static const double CHEAP_SECONDS = 1.0; /* longest image that may delay a stop by the user */

typedef struct pictures {
    pid_t pid;         /* running dshost-picture; 0 = none */
    int answer;        /* pipe from it: the evaluation that it shows */
    int failed;        /* do not try again before the end */
    uint64_t shown_id; /* evaluation that best.png shows; 0 = none */
    uint64_t start_ns;
    uint64_t last_ns;    /* when the last one finished; 0 = none yet */
    double spent;        /* CPU seconds */
    double evaluation_s; /* as the last step reported it */
    uint32_t idle_calls; /* since the last read of the clock */
} pictures;

/* ---- the process ---- */

enum { KINDS = 3 /* one flag per kind of image */ };

/* Starts it for some kinds of images, whose flags end with NULL. */
static void start(pictures *p, const char *folder, const char *const kind[KINDS + 1])
{
    char program[PATH_MAX], parent[32];
    int pipes[2] = {-1, -1};
    ds_error e = {0, ""};
    snprintf(parent, sizeof parent, "--of=%ld", (long)getpid());
    int rc = ds_program_find("dshost-picture", program, &e);
    if (rc == 0 && pipe2(pipes, O_CLOEXEC | O_NONBLOCK) != 0) {
        rc = ds_fail(&e, DS_EXIT_IO, "cannot make a pipe: %s", strerror(errno));
    }
    if (rc == 0) {
        const char *argv[KINDS + 5] = {program, parent};
        size_t n = 2;
        for (; *kind != NULL; kind++) {
            argv[n++] = *kind;
        }
        argv[n++] = "--";
        argv[n] = folder;
        const int fd[] = {-1, pipes[1]};
        int code =
            ds_program_start(program, (char *const *)(uintptr_t)argv, fd, 2, DS_PROGRAM_WITH_US, &p->pid);
        rc = code != 0 ? ds_fail(&e, DS_EXIT_IO, "cannot start %.200s: %s", program, strerror(code)) : 0;
        close(pipes[1]);
        p->answer = pipes[0];
    }
    if (rc != 0) {
        ds_log(DS_LOG_WARNING, NULL, "no pictures: %s", e.text);
        p->failed = 1;
        p->pid = 0;
        close(pipes[0]);
    }
}

/* Checks whether it has ended; waits for that unless `flags` is WNOHANG. */
static void reap(pictures *p, int flags)
{
    struct rusage used;
    char text[32] = "";
    int status = 0;
    pid_t pid;
    while ((pid = wait4(p->pid, &status, flags, &used)) < 0 && errno == EINTR) {
    }
    if (pid == 0) {
        return;
    }
    if (read(p->answer, text, sizeof text - 1) > 0) {
        p->shown_id = strtoull(text, NULL, 10);
    }
    close(p->answer);
    if (WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL) {
        ds_log(DS_LOG_WARNING, NULL, "no pictures: dshost-picture was ended by signal %d", WTERMSIG(status));
    }
    p->failed = status != 0;
    p->pid = 0;
    p->last_ns = ds_clock_ns();
    p->spent += (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
                1e-6 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

/* ---- when to start it ---- */

/* Images may take SHARE of the time, and come at least APART_SECONDS apart. */
static void step(pictures *p, const ds_observed *run)
{
    double last = run->evaluation_s - p->evaluation_s;
    p->evaluation_s = run->evaluation_s;
    if (p->failed || (p->pid == 0 && run->best_id == p->shown_id) ||
        (last < 1e-3 && ++p->idle_calls < CLOCK_CALLS)) {
        return;
    }
    p->idle_calls = 0;
    if (p->pid != 0) {
        reap(p, WNOHANG);
    }
    uint64_t now = ds_clock_ns();
    uint64_t since = p->last_ns != 0 ? p->last_ns : p->start_ns;
    double elapsed = 1e-9 * (double)(now - p->start_ns);
    /* The first one takes about as long as an episode, which the last step reported. */
    double spent = p->last_ns != 0 ? p->spent : last;
    if (p->pid == 0 && !p->failed && run->best_id != p->shown_id &&
        1e-9 * (double)(now - since) >= APART_SECONDS && spent <= SHARE * elapsed) {
        start(p, run->folder, (const char *const[KINDS + 1]){"--best"});
        if (p->pid != 0) {
            setpriority(PRIO_PROCESS, (id_t)p->pid, NICE);
        }
    }
}

static void end(pictures *p, const ds_observed *run)
{
    double episode = run->evaluations > 0 ? run->evaluation_s / (double)run->evaluations : 0.0;
    int hurry = run->interrupted && !(episode < CHEAP_SECONDS);
    if (p->pid != 0) {
        if (hurry) {
            kill(p->pid, SIGKILL);
        }
        reap(p, 0);
    }
    if (run->evaluations == 0) {
        return;
    }
    const char *kind[KINDS + 1] = {"--convergence"};
    size_t n = 1;
    if (run->best_id != 0 && !hurry && run->best_id != p->shown_id) {
        kind[n++] = "--best";
    }
    if (run->best_id != 0 && !hurry && run->options->page) {
        kind[n] = "--page";
    }
    start(p, run->folder, kind);
    if (p->pid != 0) {
        reap(p, 0);
    }
}

static void see(void *ctx, int event, const ds_observed *run)
{
    pictures *p = ctx;
    if (!run->options->pictures) {
        return;
    }
    if (event == DS_RUN_BEGINS) {
        *p = (pictures){.start_ns = ds_clock_ns()};
    } else if (event == DS_RUN_STEP) {
        step(p, run);
    } else {
        end(p, run);
    }
}

static pictures pictures_of_run;
const ds_observer ds_pictures = {.ctx = &pictures_of_run, .see = see};
