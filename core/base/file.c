/* SPDX-License-Identifier: Apache-2.0 */
/* file.c - reading whole files, and writing files so that a reader sees the old or the new content, never a
 * part. */
#include "config.h"

#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

enum {
    BUFFER = 1 << 16,
    STREAM_LIMIT = 1 << 28, /* devices such as /dev/zero never end */
    WRITER_MS = 2000        /* limit for the writer of a named pipe */
};

struct ds_file {
    char *path;      /* as the caller wrote it, for messages */
    char *target;    /* the file to replace: path with symbolic links resolved */
    char *temporary; /* its name, where it has one before it is complete */
    int fd;
    int direct; /* writes to the target itself */
    int failed; /* exit status of the first failure, 0 = none */
    int error;  /* errno of that failure */
    size_t used;
    unsigned char buffer[BUFFER];
};

int ds_file_write_failed(const char *name, int error, ds_error *e)
{
    return ds_fail(e, DS_EXIT_IO, "%s: cannot write: %s%s", name, strerror(error),
                   error == ENOSPC || error == EDQUOT ? "; free some space or choose another folder"
                   : error == EFBIG                   ? "; the file size limit (ulimit -f) is too small"
                                                      : "");
}

/* Returns 0 or an errno. */
static int write_fully(int fd, const void *data, size_t len)
{
    const unsigned char *p = data;
    while (len > 0) {
        ssize_t n = write(fd, p, len < (size_t)1 << 30 ? len : (size_t)1 << 30);
        if (n > 0) {
            p += n;
            len -= (size_t)n;
        } else if (n == 0 || errno != EINTR) {
            return n == 0 ? ENOSPC : errno;
        }
    }
    return 0;
}

int ds_fd_write_all(int fd, const void *data, size_t len, const char *name, ds_error *e)
{
    int error = write_fully(fd, data, len);
    return error == 0 ? 0 : ds_file_write_failed(name, error, e);
}

/* ---- in folders that others may have filled ---- */

/* Returns 0, or the errno that describes the fault. */
static int fault_inside(const struct stat *st)
{
    return S_ISLNK(st->st_mode) ? ELOOP : !S_ISREG(st->st_mode) ? EINVAL : st->st_nlink > 1 ? EMLINK : 0;
}

int ds_file_inside(const char *path, int flags, mode_t mode)
{
    struct stat st;
    int error = lstat(path, &st) == 0 ? fault_inside(&st) : errno == ENOENT ? 0 : errno;
    int fd = error == 0 ? open(path, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY, mode) : -1;
    error = error == 0 && fd < 0 ? errno : error;
    if (fd >= 0 && (error = fstat(fd, &st) != 0 ? errno : S_ISREG(st.st_mode) ? 0 : EINVAL) == 0) {
        /* no link: another process that had locked the file has removed it, which the caller notices */
        error = st.st_nlink > 1 ? EMLINK : 0;
    }
    if (error != 0 && fd >= 0) {
        close(fd);
        fd = -1;
    }
    errno = error != 0 ? error : errno;
    return fd;
}

const char *ds_file_inside_error(int error)
{
    return error == ELOOP ? "is a symbolic link; dshost changes nothing outside the result folder: remove it"
           : error == EMLINK ? "has a second name (a hard link); dshost changes nothing outside the result "
                               "folder: put a copy in its place"
           : error == EINVAL ? "is not a regular file; remove it"
                             : strerror(error);
}

int ds_file_check_inside(const char *path, ds_error *e)
{
    struct stat st;
    const int error = lstat(path, &st) == 0 ? fault_inside(&st) : 0;
    return error == 0 ? 0 : ds_fail(e, DS_EXIT_IO, "%s: %s", path, ds_file_inside_error(error));
}

enum { NAMED_MOST = 32 };
static char *named_path[NAMED_MOST];
static size_t named_count;

void ds_file_named(const char *path)
{
    if (path != NULL && named_count < NAMED_MOST && (named_path[named_count] = strdup(path)) != NULL) {
        named_count++;
    }
}

static int is_named(const char *path)
{
    size_t i = 0;
    while (i < named_count && strcmp(named_path[i], path) != 0) {
        i++;
    }
    return i < named_count;
}

int ds_file_open(ds_file **out, const char *path, ds_error *e)
{
    *out = NULL;
    ds_file *f = calloc(1, sizeof *f);
    char *copy = strdup(path);
    if (f == NULL || copy == NULL) {
        free(f);
        free(copy);
        return ds_fail(e, DS_EXIT_MEMORY, "%s: out of memory", path);
    }
    f->path = copy;
    f->fd = -1;
    int error = 0;
    struct stat st;
    const int named = is_named(path);
    if ((named ? stat(path, &st) : lstat(path, &st)) == 0) {
        if (S_ISDIR(st.st_mode)) {
            error = EISDIR;
        } else if (!S_ISREG(st.st_mode) && !named) {
            ds_file_abort(f);
            return ds_fail(e, DS_EXIT_IO, "%s: %s", path, ds_file_inside_error(fault_inside(&st)));
        } else if (!S_ISREG(st.st_mode)) {
            f->fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
            f->direct = 1;
            error = f->fd < 0 ? errno : 0;
        } else {
            f->target = named ? realpath(path, NULL) : strdup(path);
            error = f->target == NULL ? errno : ds_temporary_open(f->target, 0600, &f->fd, &f->temporary);
            if (error == 0 && fchmod(f->fd, st.st_mode & 0777) != 0) {
                error = errno;
            }
        }
    } else if (errno == ENOENT) {
        f->target = strdup(path);
        error = f->target == NULL ? ENOMEM : ds_temporary_open(f->target, 0666, &f->fd, &f->temporary);
    } else {
        error = errno;
    }
    if (error != 0) {
        ds_file_abort(f);
        return ds_file_write_failed(path, error, e);
    }
    *out = f;
    return 0;
}

static int fail_with(ds_file *f, int error, ds_error *e)
{
    f->failed = DS_EXIT_IO;
    f->error = error;
    return ds_file_write_failed(f->path, error, e);
}

static int put(ds_file *f, const void *data, size_t len, ds_error *e)
{
    int error = write_fully(f->fd, data, len);
    return error == 0 ? 0 : fail_with(f, error, e);
}

static int flush(ds_file *f, ds_error *e)
{
    size_t used = f->used;
    f->used = 0;
    return put(f, f->buffer, used, e);
}

int ds_file_write(ds_file *f, const void *data, size_t len, ds_error *e)
{
    if (f->failed != 0) {
        return ds_file_write_failed(f->path, f->error, e);
    }
    int status = len > BUFFER - f->used ? flush(f, e) : 0;
    if (status != 0 || len >= BUFFER) {
        return status != 0 ? status : put(f, data, len, e);
    }
    if (len > 0) {
        memcpy(f->buffer + f->used, data, len);
        f->used += len;
    }
    return 0;
}

/* Makes the rename durable. Some file systems cannot; the content is safe either way. */
static void sync_folder(const char *target)
{
    const char *slash = strrchr(target, '/');
    char *folder = slash == NULL ? strdup(".") : strndup(target, (size_t)(slash - target) + 1);
    int fd = folder != NULL ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    free(folder);
    if (fd >= 0) {
        (void)!fsync(fd);
        close(fd);
    }
}

int ds_file_commit(ds_file *f, ds_error *e)
{
    int status = f->failed != 0 ? ds_file_write_failed(f->path, f->error, e) : flush(f, e);
    if (status == 0 && fsync(f->fd) != 0 && errno != EINVAL && errno != EROFS && errno != ENOTSUP) {
        status = fail_with(f, errno, e);
    }
    /* Renames while the lock is held, so that no process takes the file for a leftover. */
    int error = status == 0 && !f->direct ? ds_temporary_rename(f->target, f->fd, &f->temporary) : 0;
    status = error != 0 ? fail_with(f, error, e) : status;
    int fd = f->fd;
    if (status == 0) {
        f->fd = -1;
        if (close(fd) != 0 && errno != EINTR) {
            status = fail_with(f, errno, e);
        }
    }
    if (status == 0 && !f->direct) {
        free(f->temporary);
        f->temporary = NULL;
        sync_folder(f->target);
    }
    ds_file_abort(f);
    return status;
}

void ds_file_abort(ds_file *f)
{
    if (f == NULL) {
        return;
    }
    if (f->temporary != NULL && (f->fd >= 0 || f->failed != 0)) {
        unlink(f->temporary);
    }
    if (f->fd >= 0) {
        close(f->fd);
    }
    free(f->path);
    free(f->target);
    free(f->temporary);
    free(f);
}

int ds_file_write_atomic(const char *path, const void *data, size_t len, ds_error *e)
{
    ds_file *f;
    int status = ds_file_open(&f, path, e);
    if (status == 0) {
        (void)ds_file_write(f, data, len, NULL); /* a failure is kept in f and reported by commit() */
        status = ds_file_commit(f, e);
    }
    return status;
}

/* Reads to the end into a growing buffer. Returns 0, an errno, or EFBIG for more than `limit` bytes. */
static int read_fully(int fd, size_t room, size_t limit, unsigned char **data, size_t *len)
{
    unsigned char *more;
    ssize_t n = 1;
    while (n != 0 && *len <= limit && (more = realloc(*data, room + 1)) != NULL) {
        *data = more;
        while (*len < room && (n = read(fd, more + *len, room - *len)) != 0) {
            if (n < 0 && errno != EINTR) {
                return errno;
            }
            *len += n > 0 ? (size_t)n : 0;
        }
        more[*len] = '\0';
        room = room > limit / 2 ? limit + 1 : room * 2;
    }
    return *len > limit ? EFBIG : n != 0 ? ENOMEM : 0;
}

/* Opening a named pipe for reading blocks until it has a writer, perhaps for ever: waits some seconds for
 * data. An unnamed pipe (process substitution) has its writer. Returns 0 or an errno. */
static int await_writer(int fd)
{
    struct statfs fs;
    struct pollfd p = {.fd = fd, .events = POLLIN};
    int unnamed = fstatfs(fd, &fs) == 0 && fs.f_type == PIPEFS_MAGIC;
    return unnamed || poll(&p, 1, WRITER_MS) > 0 ? 0 : ETIMEDOUT;
}

int ds_file_open_input(const char *path)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    int error = fd < 0 || fstat(fd, &st) != 0 ? errno : S_ISDIR(st.st_mode) ? EISDIR : 0;
    error = error == 0 && S_ISFIFO(st.st_mode) ? await_writer(fd) : error;
    error = error == 0 && fcntl(fd, F_SETFL, 0) != 0 ? errno : error;
    if (error != 0 && fd >= 0) {
        close(fd);
    }
    errno = error;
    return error == 0 ? fd : -1;
}

const char *ds_file_input_error(int error)
{
    return error == ETIMEDOUT ? "it is a named pipe that no program writes to" : strerror(error);
}

int ds_file_read(const char *path, size_t limit, void **data, size_t *len, int status, ds_error *e)
{
    *data = NULL;
    *len = 0;
    limit = limit > SIZE_MAX - 2 ? SIZE_MAX - 2 : limit;
    int from_stdin = strcmp(path, "-") == 0;
    const char *name = from_stdin ? "standard input" : path;
    int fd = from_stdin ? STDIN_FILENO : ds_file_open_input(path);
    if (fd < 0) {
        return ds_fail(e, status, "%s: cannot open: %s", name, ds_file_input_error(errno));
    }
    struct stat st;
    size_t room = 4096;
    unsigned char *bytes = NULL;
    int error = fstat(fd, &st) != 0 ? errno : S_ISDIR(st.st_mode) ? EISDIR : 0;
    if (error == 0 && S_ISREG(st.st_mode)) {
        error = (uint64_t)st.st_size > limit ? EFBIG : 0;
        room = st.st_size < 4096 ? room : (size_t)st.st_size + 1;
    } else if (error == 0 && limit > STREAM_LIMIT) {
        limit = STREAM_LIMIT;
    }
    error = error != 0 ? error : read_fully(fd, room, limit, &bytes, len);
    if (!from_stdin) {
        close(fd);
    }
    if (error == 0) {
        *data = bytes;
        return 0;
    }
    *len = 0;
    free(bytes);
    return error == ENOMEM  ? ds_fail(e, DS_EXIT_MEMORY, "%s: out of memory while reading", name)
           : error == EFBIG ? ds_fail(e, status, "%s: too large: at most %zu bytes are read", name, limit)
                            : ds_fail(e, status, "%s: cannot read: %s", name, strerror(error));
}

/* ---- temporary files ---- */

enum {
    ATTEMPTS = 10000,
    SETTLED_S = 60 /* a younger file may not be locked yet */
};
static const char prefix[] = ".tmp-";

/* "DIR/" of a path, "" where it has none; to be freed. */
static char *folder_of(const char *target)
{
    const char *slash = strrchr(target, '/');
    return strndup(target, slash != NULL ? (size_t)(slash - target) + 1 : 0);
}

/* ---- leftovers of killed processes ---- */

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

/* Removes a file that no process has locked. A process number proves nothing: another machine may write into
 * the folder, and a new process may have the number of the old one. */
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
    static dev_t device; /* the last folder; a race sweeps it twice, which does no harm */
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

/* ---- new files ---- */

/* Creates or links the next free name. Returns 0 or an errno. */
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
    if (*fd >= 0 && access("/proc/self/fd", X_OK) != 0) { /* it could not get a name */
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
