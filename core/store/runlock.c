/* SPDX-License-Identifier: Apache-2.0 */
/* runlock.c - flock() on a file that names the process which holds it. */
#include "config.h"

#include "store/runlock.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "store/run_folder.h"

enum { WAIT_NS = 20000000, WAITS_MAX = 100 /* 2 s for a dead holder's children */ };

struct ds_runlock {
    int fd;
    char *path;
};

/* Is the open file the one at the path? Not where the folder was moved, and another took its place. */
static int is_at(int fd, const char *path)
{
    struct stat mine, there;
    return fstat(fd, &mine) == 0 && lstat(path, &there) == 0 && mine.st_ino == there.st_ino &&
           mine.st_dev == there.st_dev;
}

/* One attempt. 1 = the file was removed by its last holder in between: try again. */
static int attempt(const char *path, int *out, long *holder, ds_error *e)
{
    int fd = ds_file_inside(path, O_RDWR | O_CREAT, 0666);
    if (fd < 0) {
        return ds_fail(e, DS_EXIT_IO, "%s: %s", path, ds_file_inside_error(errno));
    }
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        int code = errno;
        char pid[32] = "";
        ssize_t got = pread(fd, pid, sizeof(pid) - 1, 0);
        pid[got > 0 ? got : 0] = '\0';
        pid[strspn(pid, "0123456789")] = '\0';
        close(fd);
        *holder = strtol(pid, NULL, 10);
        if (code == EWOULDBLOCK) {
            return ds_fail(e, DS_EXIT_LOCKED, "%s: process %s is working on this run; wait for it or stop it",
                           path, pid[0] != '\0' ? pid : "(unknown)");
        }
        return ds_fail(e, DS_EXIT_IO, "%s: cannot be locked: %s; put the result folder on a local disk", path,
                       strerror(code));
    }
    if (!is_at(fd, path)) {
        close(fd);
        return 1;
    }
    *out = fd;
    return 0;
}

int ds_runlock_take(const char *folder, ds_runlock **out, ds_error *e)
{
    ds_runlock *lock = calloc(1, sizeof(*lock));
    if (lock == NULL || (lock->path = ds_folder_path(folder, "run.lock")) == NULL) {
        free(lock);
        return ds_no_memory(e);
    }
    int rc, waits = 0;
    long holder = 0;
    do {
        rc = attempt(lock->path, &lock->fd, &holder, e);
        /* A killed process leaves its lock to a child that has not yet become a worker: wait for that. */
        if (rc == DS_EXIT_LOCKED && holder > 0 && kill((pid_t)holder, 0) != 0 && errno == ESRCH &&
            waits++ < WAITS_MAX) {
            struct timespec nap = {0, WAIT_NS};
            nanosleep(&nap, NULL);
            rc = 1;
        }
    } while (rc == 1);
    if (rc == 0) {
        char pid[32];
        int len = snprintf(pid, sizeof(pid), "%ld\n", (long)getpid());
        /* Where there is no room for the number, the lock holds without. */
        if (ftruncate(lock->fd, 0) != 0 || (pwrite(lock->fd, pid, (size_t)len, 0) != len && errno != ENOSPC &&
                                            errno != EDQUOT && errno != EFBIG)) {
            rc = ds_fail(e, DS_EXIT_IO, "%s: cannot be written: %s", lock->path, strerror(errno));
            unlink(lock->path);
            close(lock->fd);
        }
    }
    if (rc != 0) {
        free(lock->path);
        free(lock);
        return rc;
    }
    *out = lock;
    return 0;
}

void ds_runlock_drop(ds_runlock *lock)
{
    if (lock != NULL) {
        if (is_at(lock->fd, lock->path)) {
            unlink(lock->path); /* before the lock is given up: the next holder makes a new file */
        }
        close(lock->fd);
        free(lock->path);
        free(lock);
    }
}
