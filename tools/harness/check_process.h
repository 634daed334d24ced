/* SPDX-License-Identifier: Apache-2.0 */
/* check_process.h - what a plugin must not change in its process; memory in use; captured output; parts of a
 * test in a child process. */
#ifndef DS_HARNESS_CHECK_PROCESS_H
#define DS_HARNESS_CHECK_PROCESS_H

#include "harness/check.h"

#include <limits.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>

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
    uint64_t fd_target[DS_PROCESS_FDS]; /* hash of the descriptor's target */
} ds_process;

/* NULL without memory. To be freed. */
ds_process *ds_process_snapshot(void);

/* Records every difference with a hint; `who` names the calls between the snapshots ("loading",
 * "evaluate()"). */
void ds_process_compare(ds_check *c, const ds_process *before, const ds_process *after, const char *who);

/* Records a failure if there are more threads than before: threads must end before destroy() returns. */
void ds_process_compare_threads(ds_check *c, const ds_process *before, const char *who);

/* Bytes of the heap in use (0 with a sanitizer's allocator), and resident bytes of the process. */
uint64_t ds_process_heap(void);
uint64_t ds_process_resident(void);

/* A hash of the static variables of the shared object that contains `code`; 0 if there are none, or more than
 * `most` bytes. */
uint64_t ds_process_statics(const void *code, uint64_t most);

/* Redirects stdout and stderr to a memory file until ds_capture_end(), which records a failure with an
 * excerpt if anything was printed. NULL on failure. */
typedef struct ds_capture ds_capture;
ds_capture *ds_capture_start(void);
void ds_capture_end(ds_check *c, ds_capture *capture, const char *who);

/* ---- parts of a test in a child process ---- */

/* For instances that need their own process (DS_ENV_OWN_PROCESS), and for calls that may never end. */

/* Does every instance of the plugin need its own process? */
int ds_check_needs_process(const ds_check *c);

/* Calls fn(c, arg), which creates an instance: in a forked child if the plugin needs that, else here. The
 * records of fn and what it leaves in the `size` bytes at `arg` are copied back. If the child dies, this
 * process ends the same way. */
void ds_check_in_child(ds_check *c, void (*fn)(ds_check *c, void *arg), void *arg, size_t size);

/* The same, always in a child, and for at most `seconds`; 0 = the child was killed at the limit. With
 * --in-process, runs here and without a limit. */
int ds_check_limited(ds_check *c, void (*fn)(ds_check *c, void *arg), void *arg, size_t size, double seconds);

#endif
