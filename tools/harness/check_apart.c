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
    fn(c, l->arg);
    l->failed = c->failed;
    l->hints = c->hints;
    l->tolerance = c->tolerance;
    l->distance = c->distance;
    _exit(0);
}

/* Waits for the child and ends as it did where that was no good end. */
static void follow(pid_t child)
{
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (WIFSIGNALED(status)) {
        signal(WTERMSIG(status), SIG_DFL);
        raise(WTERMSIG(status));
    } else if (WEXITSTATUS(status) != 0) {
        _exit(WEXITSTATUS(status));
    }
}

void ds_check_apart(ds_check *c, void (*fn)(ds_check *c, void *arg), void *arg, size_t size)
{
    if (!ds_check_alone(c)) {
        fn(c, arg);
        return;
    }
    size_t bytes = sizeof(letter) + size;
    letter *l = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (l == MAP_FAILED) {
        ds_check_fail(c, "out of memory");
        return;
    }
    memcpy(l->arg, arg, size);
    pid_t child = fork();
    if (child == 0) {
        in_child(c, fn, l);
    }
    if (child < 0) {
        ds_check_fail(c, "no process for an instance: %s", strerror(errno));
    } else {
        follow(child);
        memcpy(arg, l->arg, size);
        c->failed = l->failed;
        c->hints = l->hints;
        c->tolerance = l->tolerance;
        c->distance = l->distance;
    }
    munmap(l, bytes);
}
