/* SPDX-License-Identifier: Apache-2.0 */
/* program.c - programs by name. All is relative to the running program first, or to libdiffsim where another
 * program runs, so that an installation can be moved and a build tree is used as it stands. */
#include "config.h"

#include "base/program.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

extern char **environ;

enum { TREE_DEPTH = 3 }; /* of a program in the build tree: tests/unit/.libs */

static int go_up(char *path)
{
    char *slash = strrchr(path, '/');
    if (slash != NULL) {
        *slash = '\0';
    }
    return slash != NULL;
}

enum { PROGRAM, LIBRARY, OWN_PLACES };

/* The folder of the running program, or that of the file with this code, which may be libdiffsim. */
static int own_folder(int place, char out[PATH_MAX])
{
    static const char here;
    Dl_info file;
    if (place == LIBRARY) {
        return dladdr(&here, &file) != 0 && realpath(file.dli_fname, out) != NULL && go_up(out);
    }
    ssize_t n = readlink("/proc/self/exe", out, PATH_MAX - 1);
    out[n > 0 ? n : 0] = '\0';
    return go_up(out);
}

/* The build tree above a folder. */
static int tree_above(int there, char out[PATH_MAX])
{
    char mark[PATH_MAX];
    for (int k = 0; there && k <= TREE_DEPTH; k++) {
        int n = snprintf(mark, sizeof mark, "%s/.dshost-build", out);
        if (n < (int)sizeof mark && access(mark, F_OK) == 0) {
            return 1;
        }
        there = go_up(out);
    }
    return 0;
}

int ds_program_build_tree(char out[PATH_MAX])
{
    int found = 0;
    for (int place = 0; place < OWN_PLACES && !found; place++) {
        found = tree_above(own_folder(place, out), out);
    }
    return found;
}

/* Is FOLDER/BELOW/NAME a program? Then it is in *out. */
static int try_folder(const char *folder, size_t length, const char *below, const char *name,
                      char out[PATH_MAX])
{
    struct stat st;
    int n = snprintf(out, PATH_MAX, "%.*s%s/%s", (int)length, folder, below, name);
    return length > 0 && n < PATH_MAX && stat(out, &st) == 0 && S_ISREG(st.st_mode) && access(out, X_OK) == 0;
}

static int try_path(const char *name, char out[PATH_MAX])
{
    const char *path = getenv("PATH");
    while (path != NULL && *path != '\0') {
        size_t n = strcspn(path, ":");
        if (try_folder(path, n, "", name, out)) {
            return 1;
        }
        path += n + (path[n] == ':');
    }
    return 0;
}

int ds_program_find(const char *name, char out[PATH_MAX], ds_error *e)
{
    static const char *const near[] = {"", "/../libexec/diffsim", "/../../bin"};
    char folder[PATH_MAX];
    int found = 0;
    for (int k = 0; k < 3 * OWN_PLACES && !found; k++) {
        found = own_folder(k / 3, folder) && try_folder(folder, strlen(folder), near[k % 3], name, out);
    }
    if (!found && ds_program_build_tree(folder)) {
        found = try_folder(folder, strlen(folder), "/libexec", name, out) ||
                try_folder(folder, strlen(folder), "", name, out);
    }
    if (found || try_folder(DS_LIBEXECDIR, strlen(DS_LIBEXECDIR), "", name, out) ||
        try_folder(DS_BINDIR, strlen(DS_BINDIR), "", name, out) || try_path(name, out)) {
        return 0;
    }
    return ds_fail(e, DS_EXIT_IO, "there is no program %.80s: neither in %s nor on PATH; install dshost anew",
                   name, DS_LIBEXECDIR);
}

int ds_program_start(const char *path, char *const argv[], const int *fd, int fds, int own_group, pid_t *pid)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attr;
    sigset_t all, blocked;
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attr);
    for (int k = 0; k < fds; k++) {
        if (fd[k] < 0) {
            posix_spawn_file_actions_addopen(&files, k, "/dev/null", k == 0 ? O_RDONLY : O_WRONLY, 0);
        } else {
            posix_spawn_file_actions_adddup2(&files, fd[k], k);
        }
    }
    sigfillset(&all);
    posix_spawnattr_setsigdefault(&attr, &all);
    sigemptyset(&blocked);
    if (!own_group) {
        sigaddset(&blocked, SIGINT);
        sigaddset(&blocked, SIGTERM);
        sigaddset(&blocked, SIGHUP);
    }
    posix_spawnattr_setsigmask(&attr, &blocked);
    posix_spawnattr_setflags(&attr, (short)(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK |
                                            (own_group ? POSIX_SPAWN_SETPGROUP : 0)));
    int code = posix_spawn(pid, path, &files, &attr, argv, environ);
    posix_spawnattr_destroy(&attr);
    posix_spawn_file_actions_destroy(&files);
    return code;
}
