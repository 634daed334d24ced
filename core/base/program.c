/* SPDX-License-Identifier: Apache-2.0 */
/* program.c - the folders of this installation or build tree, and the programs in them by name. */
#include "config.h"

#include "base/program.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <stdatomic.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"

extern char **environ;

/* ---- folders ---- */

static const char *const configured[DS_INSTALLED_COUNT] = {
    [DS_INSTALLED_BIN] = DS_BINDIR,
    [DS_INSTALLED_LIBEXEC] = DS_LIBEXECDIR,
    [DS_INSTALLED_LIB] = DS_LIBDIR,
    [DS_INSTALLED_PLUGINS] = DS_PLUGINDIR,
    [DS_INSTALLED_MODULES] = DS_MODULEDIR,
    [DS_INSTALLED_INCLUDE] = DS_INCLUDEDIR,
    [DS_INSTALLED_PKGCONFIG] = DS_PKGCONFIGDIR,
};

static const char MARK[] = ".dshost-build"; /* make creates it; it is never installed */
enum { TREE_DEPTH = 3 };                    /* of a program in the build tree: tests/unit/.libs */

/* Determined once: a folder can be moved while a program runs, and its name then means another one. */
static struct {
    char own[PATH_MAX], tree[PATH_MAX]; /* "" = unknown, none */
    ds_installed place;                 /* which folder of the installation `own` is */
    int library;
} here;

static int exists(const char *folder, const char *name)
{
    char path[PATH_MAX];
    return (size_t)snprintf(path, sizeof path, "%s/%s", folder, name) < sizeof path &&
           access(path, F_OK) == 0;
}

static int go_up(char *path)
{
    char *slash = strrchr(path, '/');
    if (slash != NULL) {
        *slash = '\0';
    }
    return slash != NULL && path[0] != '\0';
}

/* Is this code in the program itself, or in a library? *file gets the name of the file. */
static int in_library(Dl_info *file)
{
    Dl_info program;
    const unsigned long headers = getauxval(AT_PHDR);
    return dladdr(MARK, file) != 0 && headers != 0 && dladdr((const void *)headers, &program) != 0 &&
           program.dli_fbase != file->dli_fbase;
}

static int program_file(char out[PATH_MAX])
{
    ssize_t n = readlink("/proc/self/exe", out, PATH_MAX - 1);
    const char *started = (const char *)getauxval(AT_EXECFN);
    out[n > 0 ? n : 0] = '\0';
    return n > 0 || (started != NULL && realpath(started, out) != NULL); /* a container may lack /proc */
}

/* Length of the common beginning of two configured folders, in whole names. */
static size_t common(const char *a, const char *b)
{
    size_t n = 0;
    for (size_t i = 0;; i++) {
        const int ends = a[i] == '\0' || a[i] == '/', other_ends = b[i] == '\0' || b[i] == '/';
        if (ends && other_ends) {
            n = i;
        }
        if (a[i] != b[i] || a[i] == '\0') {
            return n;
        }
    }
}

/* Finds folder `to`, where `own` is folder `from`. Returns 0 where `own` does not have its configured name.
 */
static int relate(const char *own, ds_installed from, ds_installed to, char out[PATH_MAX])
{
    const size_t n = common(configured[from], configured[to]);
    const char *tail = configured[from] + n;
    const size_t length = strlen(own), cut = strlen(tail);
    return length >= cut && strcmp(own + length - cut, tail) == 0 &&
           snprintf(out, PATH_MAX, "%.*s%s", (int)(length - cut), own, configured[to] + n) < PATH_MAX &&
           access(out, F_OK) == 0;
}

/* Is `own` the top of a build tree, its libexec/ or its .libs/, whatever is installed around it? */
static int is_built_here(const char *own)
{
    const char *name = strrchr(own, '/');
    char above[PATH_MAX];
    snprintf(above, sizeof above, "%s", own);
    return exists(own, MARK) ||
           (name != NULL && (strcmp(name, "/libexec") == 0 || strcmp(name, "/.libs") == 0) && go_up(above) &&
            exists(above, MARK));
}

static int is_installed(void)
{
    char plugins[PATH_MAX];
    if (here.library) {
        return relate(here.own, DS_INSTALLED_LIB, DS_INSTALLED_PLUGINS, plugins);
    }
    here.place = exists(here.own, "dshost-worker") ? DS_INSTALLED_LIBEXEC : DS_INSTALLED_BIN;
    return relate(here.own, here.place, DS_INSTALLED_PLUGINS, plugins);
}

static void look(void)
{
    Dl_info file;
    here.library = in_library(&file);
    here.place = here.library ? DS_INSTALLED_LIB : DS_INSTALLED_BIN;
    const int known = here.library ? realpath(file.dli_fname, here.own) != NULL : program_file(here.own);
    if (!known || !go_up(here.own)) {
        here.own[0] = '\0';
        return;
    }
    if (!is_built_here(here.own) && is_installed()) {
        return;
    }
    char above[PATH_MAX];
    snprintf(above, sizeof above, "%s", here.own);
    for (int k = 0; k <= TREE_DEPTH; k++) {
        if (exists(above, MARK)) {
            snprintf(here.tree, sizeof here.tree, "%s", above);
            return;
        }
        if (!go_up(above)) {
            return;
        }
    }
}

static void look_once(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, look);
}

int ds_installation_own_folder(char out[PATH_MAX])
{
    look_once();
    snprintf(out, PATH_MAX, "%s", here.own);
    return out[0] != '\0';
}

int ds_installation_build_tree(char out[PATH_MAX])
{
    look_once();
    snprintf(out, PATH_MAX, "%s", here.tree);
    return out[0] != '\0';
}

int ds_installation_folder(ds_installed which, char out[PATH_MAX])
{
    look_once();
    if (here.own[0] != '\0' && here.tree[0] == '\0' && relate(here.own, here.place, which, out)) {
        return 1;
    }
    snprintf(out, PATH_MAX, "%s", configured[which]);
    return 0;
}

/* ---- programs ---- */

/* Is FOLDER/NAME a program? Then *out is its path. */
static int try_folder(const char *folder, size_t length, const char *name, char out[PATH_MAX])
{
    struct stat st;
    int n = snprintf(out, PATH_MAX, "%.*s/%s", (int)length, folder, name);
    return length > 0 && n < PATH_MAX && stat(out, &st) == 0 && S_ISREG(st.st_mode) && access(out, X_OK) == 0;
}

static int try_path(const char *name, char out[PATH_MAX])
{
    const char *path = getenv("PATH");
    while (path != NULL && *path != '\0') {
        size_t n = strcspn(path, ":");
        if (try_folder(path, n, name, out)) {
            return 1;
        }
        path += n + (path[n] == ':');
    }
    return 0;
}

static int try_tree(const char *tree, const char *name, char out[PATH_MAX])
{
    char below[PATH_MAX];
    int n = snprintf(below, sizeof below, "%s/libexec", tree);
    return (n < (int)sizeof below && try_folder(below, (size_t)n, name, out)) ||
           try_folder(tree, strlen(tree), name, out);
}

int ds_program_find(const char *name, char out[PATH_MAX], ds_error *e)
{
    char folder[PATH_MAX];
    if (ds_installation_own_folder(folder) && try_folder(folder, strlen(folder), name, out)) {
        return 0;
    }
    if (ds_installation_build_tree(folder) && try_tree(folder, name, out)) {
        return 0;
    }
    ds_installation_folder(DS_INSTALLED_BIN, folder);
    if (try_folder(folder, strlen(folder), name, out)) {
        return 0;
    }
    ds_installation_folder(DS_INSTALLED_LIBEXEC, folder);
    if (try_folder(folder, strlen(folder), name, out) || try_path(name, out)) {
        return 0;
    }
    return ds_fail(e, DS_EXIT_IO,
                   "the program %.80s is missing: neither in %s nor on PATH; install dshost again", name,
                   folder);
}

void ds_program_hold_standard(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) < 0) { /* the first free number: all below are open */
            int held = open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
            (void)held;
        }
    }
}

/* ---- open files ---- */

static atomic_ullong files_before;

/* Raises the soft limit to `wanted`, at most to the hard one. Returns the new limit. */
static rlim_t raise_files(rlim_t wanted)
{
    struct rlimit l;
    if (getrlimit(RLIMIT_NOFILE, &l) != 0) {
        return RLIM_INFINITY;
    }
    if (l.rlim_cur < wanted) {
        const rlim_t before = l.rlim_cur;
        unsigned long long none = 0;
        l.rlim_cur = l.rlim_max < wanted ? l.rlim_max : wanted;
        if (l.rlim_cur == before || setrlimit(RLIMIT_NOFILE, &l) != 0) {
            return before;
        }
        atomic_compare_exchange_strong(&files_before, &none, before);
    }
    return l.rlim_cur;
}

/* The lowest free descriptor: about as many are open. */
static uint64_t files_open(void)
{
    const int fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
    if (fd >= 0) {
        close(fd);
    }
    return fd >= 0 ? (uint64_t)fd : 0;
}

void ds_files_least(void)
{
    enum { LEAST = 1024 }; /* the default of most systems, safe for every program */
    raise_files(LEAST);
}

int ds_files_reserve(uint64_t count, uint64_t *limit, uint64_t *need)
{
    const uint64_t all = files_open() + count;
    const rlim_t allowed = raise_files(all);
    if (limit != NULL) {
        *limit = allowed;
    }
    if (need != NULL) {
        *need = all;
    }
    return allowed >= all;
}

uint64_t ds_files_before(void)
{
    return atomic_load(&files_before);
}

uint32_t ds_jobs_default(void)
{
    const uint64_t processors = ds_processors(), taken = files_open() + DS_FILES_SPARE;
    struct rlimit l;
    const rlim_t most = getrlimit(RLIMIT_NOFILE, &l) == 0 ? l.rlim_max : RLIM_INFINITY;
    const uint64_t fit = most > taken ? (most - taken) / DS_FILES_PER_WORKER : 0;
    return (uint32_t)(fit < 1 ? 1 : fit < processors ? fit : processors);
}

const char *ds_program_self(void)
{
    static const char link[] = "/proc/self/exe";
    return access(link, X_OK) == 0 ? link : (const char *)getauxval(AT_EXECFN);
}

int ds_program_start(const char *path, char *const argv[], const int *fd, int fds, int belongs, pid_t *pid)
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
    if (belongs != DS_PROGRAM_GROUP) {
        sigaddset(&blocked, SIGINT);
        sigaddset(&blocked, SIGTERM);
        sigaddset(&blocked, SIGHUP);
    }
    posix_spawnattr_setsigmask(&attr, &blocked);
    const int apart = belongs != DS_PROGRAM_WITH_US ? POSIX_SPAWN_SETPGROUP : 0;
    posix_spawnattr_setflags(&attr, (short)(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | apart));
    int code = posix_spawn(pid, path, &files, &attr, argv, environ);
    posix_spawnattr_destroy(&attr);
    posix_spawn_file_actions_destroy(&files);
    return code;
}
