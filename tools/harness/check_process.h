/* SPDX-License-Identifier: Apache-2.0 */
/* check_process.h - what a plugin must not change in its process; memory in use; captured output. */
#ifndef DS_HARNESS_CHECK_PROCESS_H
#define DS_HARNESS_CHECK_PROCESS_H

#include <limits.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/check.h"

enum { DS_PROCESS_FDS = 256, DS_PROCESS_SIGNALS = 65 };

typedef struct ds_process {
    uint32_t fp_control; /* rounding, exception masks, treatment of denormals */
    char cwd[PATH_MAX];
    unsigned umask;
    char locale[512];
    struct sigaction handler[DS_PROCESS_SIGNALS];
    sigset_t mask;
    uint64_t environment; /* hash of the environment variables */
    unsigned threads;
    unsigned fds;
    int fd[DS_PROCESS_FDS];
    uint64_t fd_target[DS_PROCESS_FDS]; /* hash of what the descriptor refers to */
} ds_process;

/* NULL where there is no memory or no /proc. Released by free(). */
ds_process *ds_process_snapshot(void);

/* Records every difference with a hint; `who` names what was called in between ("loading", "evaluate()"). */
void ds_process_compare(ds_check *c, const ds_process *before, const ds_process *after, const char *who);

/* The same where there are more threads than before: none outlives destroy(). */
void ds_process_compare_threads(ds_check *c, const ds_process *before, const char *who);

/* Bytes of the heap in use (0 with a sanitizer's allocator), and resident bytes of the process. */
uint64_t ds_process_heap(void);
uint64_t ds_process_resident(void);

/* A hash of the static variables of the shared object that `code` belongs to; 0 where there are none, or more
 * than `most` bytes of them. */
uint64_t ds_process_statics(const void *code, uint64_t most);

/* Sends stdout and stderr to a memory file until capture_end(), which records an excerpt if anything came.
 * Returns a handle for it, or NULL. */
typedef struct ds_capture ds_capture;
ds_capture *ds_capture_start(void);
void ds_capture_end(ds_check *c, ds_capture *capture, const char *who);

#endif
