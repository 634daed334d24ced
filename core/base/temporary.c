/* SPDX-License-Identifier: Apache-2.0 */
/* temporary.c - see temporary.h. */
#include "config.h"

#include "base/temporary.h"

#include <dirent.h>
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

enum {
    ATTEMPTS = 10000,
    SETTLED_S = 60 /* a younger file may be one that is not locked yet */
};
static const char prefix[] = ".tmp-";

/* "DIR/" of a path, "" where it has none; to be freed. */
static char *folder_of(const char *target)
{
    const char *slash = strrchr(target, '/');
    return strndup(target, slash != NULL ? (size_t)(slash - target) + 1 : 0);
}

/* ---- what killed processes have left ---- */

/* The process of ".tmp-PID-N"; 0 = another name. */
static long owner_of(const char *name)
{
    char *end;
    if (strncmp(name, prefix, sizeof prefix - 1) != 0) {
        return 0;
    }
    const char *digits = name + sizeof prefix - 1;
    long pid = strtol(digits, &end, 10);
    size_t rest = *end == '-' ? strspn(end + 1, "0123456789") : 0;
    return pid > 0 && digits[0] >= '0' && digits[0] <= '9' && rest > 0 && end[1 + rest] == '\0' ? pid : 0;
}

/* Nobody holds it. That its process is not here says nothing where another machine writes to the same folder,
 * and that there is one says nothing, either: its number may be another's by now. */
static void remove_if_left(int folder, const char *name, long pid)
{
    struct stat st, there;
    int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) {
        return;
    }
    int old = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
              ((kill((pid_t)pid, 0) != 0 && errno == ESRCH) || time(NULL) - st.st_mtime > SETTLED_S);
    if (old && flock(fd, LOCK_EX | LOCK_NB) == 0 && fstatat(folder, name, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
        there.st_ino == st.st_ino && there.st_dev == st.st_dev) {
        unlinkat(folder, name, 0);
    }
    close(fd);
}

static void sweep(const char *folder)
{
    static dev_t device; /* the last one; a race does it twice, which does no harm */
    static ino_t inode;
    struct stat st;
    DIR *d = opendir(folder[0] != '\0' ? folder : ".");
    if (d == NULL) {
        return;
    }
    if (fstat(dirfd(d), &st) == 0 && (st.st_dev != device || st.st_ino != inode)) {
        device = st.st_dev;
        inode = st.st_ino;
        for (struct dirent *item; (item = readdir(d)) != NULL;) {
            long pid = owner_of(item->d_name);
            if (pid > 0 && pid != (long)getpid()) {
                remove_if_left(dirfd(d), item->d_name, pid);
            }
        }
    }
    closedir(d);
}

/* ---- new ones ---- */

/* The next free name; `taken` tries it and returns 0 or an errno. */
static int find_name(const char *folder, int fd, mode_t mode, int *made, char **name)
{
    size_t room = strlen(folder) + 64;
    int error = EEXIST;
    *name = malloc(room);
    for (int k = 0; *name != NULL && k < ATTEMPTS && error == EEXIST; k++) {
        char link[40];
        snprintf(*name, room, "%s%s%ld-%d", folder, prefix, (long)getpid(), k);
        if (made != NULL) {
            *made = open(*name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
            error = *made < 0 ? errno : 0;
        } else {
            snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
            error = linkat(AT_FDCWD, link, AT_FDCWD, *name, AT_SYMLINK_FOLLOW) != 0 ? errno : 0;
        }
    }
    error = *name == NULL ? ENOMEM : error;
    if (error != 0) {
        free(*name);
        *name = NULL;
    }
    return error;
}

int ds_temporary_open(const char *target, mode_t mode, int *fd, char **name)
{
    char *folder = folder_of(target);
    *name = NULL;
    *fd = -1;
    if (folder == NULL) {
        return ENOMEM;
    }
    sweep(folder);
    int error = 0;
    *fd = open(folder[0] != '\0' ? folder : ".", O_WRONLY | O_TMPFILE | O_CLOEXEC, mode);
    if (*fd >= 0 && access("/proc/self/fd", X_OK) != 0) { /* it could not get its name */
        close(*fd);
        *fd = -1;
    }
    if (*fd < 0) {
        error = find_name(folder, -1, mode, fd, name);
    }
    if (error == 0) {
        (void)!flock(*fd, LOCK_EX | LOCK_NB);
    }
    free(folder);
    return error;
}

int ds_temporary_rename(const char *target, int fd, char **name)
{
    int error = 0;
    if (*name == NULL) {
        char *folder = folder_of(target);
        error = folder == NULL ? ENOMEM : find_name(folder, fd, 0, NULL, name);
        free(folder);
    }
    if (error == 0 && rename(*name, target) != 0) {
        error = errno;
    }
    return error;
}
