/* SPDX-License-Identifier: Apache-2.0 */
/* program.h - the folders and programs of this dshost or libdiffsim: of a build tree, or of an installation,
 * which can be moved as a whole: its folders are found relative to the file with this code, in their
 * configured arrangement. Programs start each other by name. */
#ifndef DS_BASE_PROGRAM_H
#define DS_BASE_PROGRAM_H

#include <limits.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

typedef enum ds_installed {
    DS_INSTALLED_BIN,       /* dshost */
    DS_INSTALLED_LIBEXEC,   /* dshost-worker and the other commands */
    DS_INSTALLED_LIB,       /* libdiffsim */
    DS_INSTALLED_PLUGINS,   /* envs/ and optimizers/ */
    DS_INSTALLED_MODULES,   /* for MPI */
    DS_INSTALLED_INCLUDE,   /* the folder with diffsim/ */
    DS_INSTALLED_PKGCONFIG, /* diffsim.pc */
    DS_INSTALLED_COUNT
} ds_installed;

/* The folder of the running program with links resolved, or that of libdiffsim where another program runs.
 * Returns 1 and *out, or 0 where it is unknown. */
int ds_installation_own_folder(char out[PATH_MAX]);

/* The top of the build tree where this code was built and not installed. Returns 1 and *out, or 0. */
int ds_installation_build_tree(char out[PATH_MAX]);

/* A folder of this installation: 1 = its present place, 0 = its configured place. A missing folder counts as
 * not moved; in a build tree the result is the configured place as well. */
int ds_installation_folder(ds_installed which, char out[PATH_MAX]);

/* Finds program `name` ("dshost-worker"): next to this program or libdiffsim, in their build tree or
 * installation, on PATH. Returns 0, or DS_EXIT_IO where it is missing. */
int ds_program_find(const char *name, char out[PATH_MAX], ds_error *e);

/* Occupies closed standard descriptors with ones that can neither be read nor written, so that no file,
 * socket or memory gets their numbers, and with them printed text. Call it first in main(). */
void ds_program_hold_standard(void);

/* Open files: a process has a soft limit, which it may raise up to a hard one (`ulimit -Sn`, `ulimit -Hn`).
 *
 * ds_files_least() is for the programs of dshost: it raises a soft limit below 1024 to 1024 or the hard
 * limit. ds_files_reserve() raises the soft limit only where `count` more descriptors need it, so libdiffsim
 * may call it. Returns 1, or 0 where the hard limit is too low; *limit is the limit, *need the required
 * number (both may be NULL). */
void ds_files_least(void);
int ds_files_reserve(uint64_t count, uint64_t *limit, uint64_t *need);

/* The soft limit before it was raised, for processes with third-party code; 0 = not raised. */
uint64_t ds_files_before(void);

/* One worker per processor, or as many as the limit of open files allows. */
uint32_t ds_jobs_default(void);

/* Descriptors of this process per worker, and for everything else in a run. */
enum { DS_FILES_PER_WORKER = 4, DS_FILES_SPARE = 24 };

/* Path of the running program, to start it again. */
const char *ds_program_self(void);

/* How a started program relates to this one. */
enum {
    DS_PROGRAM_WITH_US =
        /* SIGINT, SIGTERM and SIGHUP are blocked: this program handles them, and the other ignores them
         * before it unblocks them */
    0,
    DS_PROGRAM_GROUP = 1, /* its own process group, which gets no signals of the terminal */
    DS_PROGRAM_APART =
        /* the same, with those three signals blocked: not a session, in which the kernel may ignore `nice` */
    2
};

/* Starts a program with default signals; its descriptors 0, 1, ... are those of `fd`, where -1 means
 * /dev/null. Returns 0 and *pid, or an errno. */
int ds_program_start(const char *path, char *const argv[], const int *fd, int fds, int belongs, pid_t *pid);

#endif
