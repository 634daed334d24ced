/* SPDX-License-Identifier: Apache-2.0 */
/* child.c - worker processes by posix_spawn: exec, default signals, seven descriptors. */
#include "config.h"

#include "worker/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/file.h"
#include "base/program.h"

extern char **environ;

int ds_memory_file(const char *name)
{
    int fd = memfd_create(name, MFD_CLOEXEC);
    if (fd < 0) {
        return -1;
    }
    int high = fcntl(fd, F_DUPFD_CLOEXEC, DS_WORKER_FDS + 3);
    close(fd);
    return high;
}

/* Moves a descriptor above those that the worker is to have, so that dup2() overwrites none that is still
 * needed. */
static int move_up(int *fd)
{
    int high = fcntl(*fd, F_DUPFD_CLOEXEC, DS_WORKER_FDS + 3);
    if (high < 0) {
        return -1;
    }
    close(*fd);
    *fd = high;
    return 0;
}

static int write_start(int fd, const ds_worker_start *head, const char *texts, ds_error *e)
{
    int rc = ds_fd_write_all(fd, head, sizeof(*head), "start file of a worker", e);
    return rc != 0 ? rc : ds_fd_write_all(fd, texts, head->texts, "start file of a worker", e);
}

static int launch(const char *program, const int source[DS_WORKER_FDS], pid_t *pid)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attr;
    sigset_t set;
    char name[] = "dshost-worker";
    char *argv[] = {name, NULL};

    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attr);
    for (int fd = 0; fd < DS_WORKER_FDS; fd++) {
        posix_spawn_file_actions_adddup2(&files, source[fd], fd);
    }
    sigfillset(&set);
    posix_spawnattr_setsigdefault(&attr, &set);
    /* Signals of the terminal are for the host; the worker ignores them before it unblocks them. */
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    posix_spawnattr_setsigmask(&attr, &set);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    int code = posix_spawn(pid, program, &files, &attr, argv, environ);
    posix_spawnattr_destroy(&attr);
    posix_spawn_file_actions_destroy(&files);
    return code;
}

int ds_spawn_worker(const char *program, const ds_worker_start *head, const char *texts, int share, int scene,
                    ds_child *out, ds_error *e)
{
    int pair[2] = {-1, -1};
    int pipes[2] = {-1, -1};
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    int start = ds_memory_file("diffsim-start");
    char found[PATH_MAX];
    int rc = program == NULL ? ds_program_find("dshost-worker", found, e) : 0;
    program = program == NULL ? found : program;
    if (rc == 0 && (null < 0 || start < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0 ||
                    pipe2(pipes, O_CLOEXEC) != 0 || move_up(&null) != 0 || move_up(&pair[1]) != 0 ||
                    move_up(&pipes[1]) != 0)) {
        rc = ds_fail(e, DS_EXIT_IO, "cannot make the channels of a worker process: %s", strerror(errno));
    }
    rc = rc != 0 ? rc : write_start(start, head, texts, e);
    if (rc == 0) {
        const int source[DS_WORKER_FDS] = {null, pipes[1], pipes[1], pair[1], start, share, scene};
        int code = launch(program, source, &out->pid);
        if (code != 0) {
            rc = ds_fail(e, code == ENOMEM ? DS_EXIT_MEMORY : DS_EXIT_IO,
                         "cannot start a worker process (%s): %s", program, strerror(code));
        }
    }
    int mine[] = {null, pair[1], pipes[1]};
    for (int i = 0; i < 3; i++) {
        if (mine[i] >= 0) {
            close(mine[i]);
        }
    }
    out->socket = pair[0];
    out->output = pipes[0];
    out->start = start;
    if (rc != 0) {
        ds_child_close(out);
        return rc;
    }
    fcntl(out->output, F_SETFL, O_NONBLOCK);
    return 0;
}

int ds_child_tell(const ds_child *child, const ds_worker_start *head, const char *texts)
{
    char byte = DS_WORKER_SETTINGS;
    int bad = ftruncate(child->start, 0) != 0 || lseek(child->start, 0, SEEK_SET) != 0 ||
              write_start(child->start, head, texts, NULL) != 0;
    return bad || send(child->socket, &byte, 1, MSG_NOSIGNAL) != 1 ? -1 : 0;
}

void ds_child_close(ds_child *child)
{
    int *fds[] = {&child->socket, &child->output, &child->start};
    for (int i = 0; i < 3; i++) {
        if (*fds[i] >= 0) {
            close(*fds[i]);
            *fds[i] = -1;
        }
    }
    child->pid = 0;
}
