/* SPDX-License-Identifier: Apache-2.0 */
/* check_apart.c - see check_apart.h. */
#include "config.h"

#include "harness/check_apart.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* What comes back. */
typedef struct letter {
    unsigned failed, hints;
    double tolerance, distance;
    max_align_t arg[];
} letter;

int ds_check_alone(const ds_check *c)
{
    const ds_desc *d = c->module != NULL ? c->module->plugin->desc : NULL;
    return d != NULL && d->kind == DS_KIND_ENV && (d->flags & DS_ENV_OWN_PROCESS) != 0;
}

static void in_child(ds_check *c, void (*fn)(ds_check *c, void *arg), letter *l)
{
    c->idle = NULL; /* the parent's */
    fn(c, l->arg);
    l->failed = c->failed;
    l->hints = c->hints;
    l->tolerance = c->tolerance;
    l->distance = c->distance;
    _exit(0);
}

/* Waits for the child; -1 after killing it at the end of its time (0 = it has as long as it likes). */
static int await(pid_t child, double seconds)
{
    const struct timespec pause = {0, 1000000};
    double end = ds_check_now() + seconds;
    int status = 0;
    pid_t ended;
    while ((ended = waitpid(child, &status, seconds > 0 ? WNOHANG : 0)) != child) {
        if (ended < 0 && errno != EINTR) {
            return 1 << 8; /* the plugin has collected it: as one that ended with status 1 */
        }
        if (seconds > 0 && ds_check_now() > end) {
            kill(child, SIGKILL);
            waitpid(child, &status, 0);
            return -1;
        }
        if (seconds > 0) {
            nanosleep(&pause, NULL);
        }
    }
    return status;
}

/* Ends as the child did where that was no good end. */
static void follow(int status)
{
    if (WIFSIGNALED(status)) {
        signal(WTERMSIG(status), SIG_DFL);
        raise(WTERMSIG(status));
    } else if (WEXITSTATUS(status) != 0) {
        _exit(WEXITSTATUS(status));
    }
}

static int forked(ds_check *c, void (*fn)(ds_check *c, void *arg), void *arg, size_t size, double seconds)
{
    size_t bytes = sizeof(letter) + size;
    letter *l = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int status = 0;
    if (l == MAP_FAILED) {
        ds_check_fail(c, "out of memory");
        return 1;
    }
    memcpy(l->arg, arg, size);
    pid_t child = fork();
    if (child == 0) {
        in_child(c, fn, l);
    }
    if (child < 0) {
        ds_check_fail(c, "no process for an instance: %s", strerror(errno));
    } else if ((status = await(child, seconds)) >= 0) {
        follow(status);
        memcpy(arg, l->arg, size);
        c->failed = l->failed;
        c->hints = l->hints;
        c->tolerance = l->tolerance;
        c->distance = l->distance;
    }
    munmap(l, bytes);
    return status >= 0;
}

void ds_check_apart(ds_check *c, void (*fn)(ds_check *c, void *arg), void *arg, size_t size)
{
    if (ds_check_alone(c)) {
        forked(c, fn, arg, size, 0);
    } else {
        fn(c, arg);
    }
}

int ds_check_limited(ds_check *c, void (*fn)(ds_check *c, void *arg), void *arg, size_t size, double seconds)
{
    if (!c->options->in_process) {
        return forked(c, fn, arg, size, seconds);
    }
    fn(c, arg);
    return 1;
}
