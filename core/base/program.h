/* SPDX-License-Identifier: Apache-2.0 */
/* program.h - what belongs to this dshost, or to this libdiffsim: a build tree, or an installation, which can
 * be moved as a whole: its folders are found relative to the file with this code, in the arrangement that it
 * was configured with; and the programs there, which start each other by name. */
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

/* The folder of the running program, links resolved; where another program runs and this code is in
 * libdiffsim, that of libdiffsim. 1 and *out, or 0 where it cannot be told. */
int ds_installation_own_folder(char out[PATH_MAX]);

/* The top of the build tree, where this code was built in one and not installed: 1 and *out, or 0. */
int ds_installation_build_tree(char out[PATH_MAX]);

/* A folder of this installation: where it is now, or else where it was configured to be, which is 0. A folder
 * that is not there counts as not moved. In a build tree, too, what was configured. */
int ds_installation_folder(ds_installed which, char out[PATH_MAX]);

/* The path of program `name` ("dshost-worker"): beside this program or libdiffsim, in their build tree or
 * installation (above), on PATH. 0, or DS_EXIT_IO where there is none. */
int ds_program_find(const char *name, char out[PATH_MAX], ds_error *e);

/* Standard input, output and error where they were closed: descriptors that can neither be read nor be
 * written, so that no file, socket or memory gets their numbers, and with them what is printed. First thing
 * in main(). */
void ds_program_hold_standard(void);

/* Open files: a process has a soft limit, which it may raise itself up to a hard one (`ulimit -Sn`, `ulimit
 * -Hn`).
 *
 * ds_files_least() is for the programs of dshost: it raises a soft limit below 1024 to that, or to the hard
 * one. ds_files_reserve() raises the soft limit where `count` more descriptors need it, and does nothing
 * else, so that libdiffsim may call it. 1, or 0 where the hard limit is below that; *limit is what is
 * allowed, *need what would be needed (both may be NULL). */
void ds_files_least(void);
int ds_files_reserve(uint64_t count, uint64_t *limit, uint64_t *need);

/* The soft limit from before, for processes that are started with code of others; 0 = it was not raised. */
uint64_t ds_files_before(void);

/* As many workers as there are processors, or as the limit of open files allows. */
uint32_t ds_jobs_default(void);

/* Descriptors of this process for one worker, and for everything else that a run opens. */
enum { DS_FILES_PER_WORKER = 4, DS_FILES_SPARE = 24 };

/* The running program, to start it once more. */
const char *ds_program_self(void);

/* Whom a program that is started belongs to. */
enum {
    DS_PROGRAM_WITH_US =
        0, /* SIGINT, SIGTERM and SIGHUP are blocked: they are for us, and it ignores them before
                               it unblocks them */
    DS_PROGRAM_GROUP = 1, /* a process group of its own, which does not hear the terminal */
    DS_PROGRAM_APART =
        2 /* the same, and those three are blocked: no session of its own, in which the kernel may
                               let `nice` count for nothing */
};

/* Starts a program with default signals; its descriptors 0, 1, ... are those of `fd`, where -1 is
 * /dev/null. 0 and *pid, or an errno. */
int ds_program_start(const char *path, char *const argv[], const int *fd, int fds, int belongs, pid_t *pid);

#endif
