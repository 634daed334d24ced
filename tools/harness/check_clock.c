/* SPDX-License-Identifier: Apache-2.0 */
/* check_clock.c - time that does not depend on what else the machine does. */
#include "config.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "harness/check.h"

static double clock_seconds(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double ds_check_now(void)
{
    return clock_seconds(CLOCK_MONOTONIC);
}

double ds_check_worked(void)
{
    static _Thread_local double sum, wall, work;
    static _Thread_local long waits = -1;
    struct rusage u;
    getrusage(RUSAGE_THREAD, &u);
    const double now = ds_check_now(), worked = clock_seconds(CLOCK_THREAD_CPUTIME_ID);
    if (waits >= 0) {
        const double passed = now - wall, had = worked - work;
        sum += u.ru_nvcsw == waits && had < passed ? had : passed;
    }
    wall = now;
    work = worked;
    waits = u.ru_nvcsw;
    return sum;
}

/* State of a process's first thread, and the processor time that it has had; 'R' wants a processor. */
static char look_at(pid_t pid, double *work)
{
    char path[64], text[1024], state = '?';
    unsigned long user = 0, system = 0;
    snprintf(path, sizeof path, "/proc/%ld/task/%ld/stat", (long)pid, (long)pid);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
    if (fd >= 0) {
        close(fd);
    }
    text[n > 0 ? n : 0] = '\0';
    const char *rest = strrchr(text, ')'); /* behind the name, which may hold anything */
    if (rest == NULL || sscanf(rest + 1, " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &state, &user,
                               &system) != 3) {
        return '?';
    }
    *work = (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
    return state;
}

void ds_check_other_open(ds_check_other *o, pid_t pid, double limit)
{
    *o = (ds_check_other){.pid = pid, .limit = limit, .wall = ds_check_now()};
}

int ds_check_other_over(ds_check_other *o)
{
    const double now = ds_check_now(), passed = now - o->wall;
    double work = o->work;
    const char state = look_at(o->pid, &work);
    const double had = work - o->work;
    o->spent += state == 'R' && had < passed ? had : passed;
    o->all += passed;
    o->wall = now;
    o->work = work;
    return o->spent > o->limit || o->all > DS_CHECK_STARVED * o->limit;
}
