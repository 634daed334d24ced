/* SPDX-License-Identifier: Apache-2.0 */
/* program.h - where the programs of diffsim are: the host is one of several that start each other by name. */
#ifndef DS_BASE_PROGRAM_H
#define DS_BASE_PROGRAM_H

#include <limits.h>
#include <sys/types.h>

#include "base/error.h"

/* The top of the build tree in which this program, or libdiffsim in it, was built and not yet
 * installed: 1 and *out, or 0. */
int ds_program_build_tree(char out[PATH_MAX]);

/* The path of program `name` ("dshost-worker"): beside this program or libdiffsim, in the libexec folder of
 * the same installation, in the build tree, where the installation was configured to be, on PATH. 0, or
 * DS_EXIT_IO where there is none. */
int ds_program_find(const char *name, char out[PATH_MAX], ds_error *e);

/* Starts a program with default signals; its descriptors 0, 1, ... are those of `fd`, where -1 is
 * /dev/null. In a group of its own it does not hear the terminal; else SIGINT, SIGTERM and SIGHUP are
 * blocked: they are for us, and it ignores them before it unblocks them. 0 and *pid, or an errno. */
int ds_program_start(const char *path, char *const argv[], const int *fd, int fds, int own_group, pid_t *pid);

#endif
