/* SPDX-License-Identifier: Apache-2.0 */
/* test_check_clock.c - the clock of the conformance kit stops while others have the processor, so that the
 * coverage of a test does not depend on the load; it continues while sleeping, so that hangs are found. */
#define _GNU_SOURCE 1
#include "harness/check.h"
#include "test.h"

#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { OTHERS = 3 };

static void rest(double seconds)
{
    const struct timespec pause = {0, (long)(1e9 * seconds)};
    nanosleep(&pause, NULL);
}

/* A process that keeps a processor busy, or sleeps. */
static pid_t start(int busy)
{
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;) {
            if (!busy) {
                pause(); /* a process that wakes up often would wait for the busy processor instead */
            }
        }
    }
    return pid;
}

static void end(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

/* Among three busy processes on one processor, a quarter of the time is one's own. */
static void crowd(pid_t others[OTHERS], cpu_set_t *before)
{
    cpu_set_t one;
    int cpu = 0;
    assert_int_equal(sched_getaffinity(0, sizeof *before, before), 0);
    while (!CPU_ISSET(cpu, before)) {
        cpu++;
    }
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    for (int i = 0; i < OTHERS; i++) {
        others[i] = start(1);
    }
}

static void leave(pid_t others[OTHERS], const cpu_set_t *before)
{
    for (int i = 0; i < OTHERS; i++) {
        end(others[i]);
    }
    assert_int_equal(sched_setaffinity(0, sizeof *before, before), 0);
}

static void busy_machine(void **state)
{
    pid_t others[OTHERS];
    cpu_set_t before;
    volatile double x = 1;
    crowd(others, &before);
    rest(0.05);
    const double wall = ds_check_now(), work = ds_check_worked();
    while (ds_check_now() < wall + 0.4) {
        for (int i = 0; i < 1000; i++) {
            x = 0.5 * x + 1;
        }
    }
    const double worked = ds_check_worked() - work;
    leave(others, &before);
    assert_true(worked > 0);
    assert_true(worked < 0.7 * 0.4);
}

static void pause_counts(void **state)
{
    const double before = ds_check_worked();
    rest(0.05);
    assert_true(ds_check_worked() - before >= 0.05);
}

/* For another process: if it computes next to others, a part of the time counts; if it sleeps, all of it. */
static void of_another(void **state)
{
    pid_t others[OTHERS];
    cpu_set_t before;
    ds_check_other busy, asleep;
    crowd(others, &before);
    const pid_t sleeper = start(0);
    ds_check_other_open(&busy, others[0], 1);
    ds_check_other_open(&asleep, sleeper, 0.3);
    int over = 0;
    for (int i = 0; i < 40; i++) {
        assert_false(ds_check_other_over(&busy));
        over = ds_check_other_over(&asleep);
        rest(0.01);
    }
    end(sleeper);
    leave(others, &before);
    assert_true(over);
    assert_true(busy.spent < 0.7 * busy.all);
}

RUN_TESTS(busy_machine, pause_counts, of_another)
