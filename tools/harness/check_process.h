/* SPDX-License-Identifier: Apache-2.0 */
/* check_process.h - what a plugin must not change in its process; memory in use; captured output; parts of a
 * test in a child process. */
#ifndef DS_HARNESS_CHECK_PROCESS_H
#define DS_HARNESS_CHECK_PROCESS_H

#include "base/plugin_memory.h"
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

/* ---- crashes ---- */

/* What is known where a plugin crashes: buffers between inaccessible pages, so that an access
 * outside of one is reported with its name and distance; and the evaluations in progress, in memory that
 * outlives the process. */

typedef struct ds_check_buffer {
    const char *name;
    const char *size; /* its size in words; NULL = n numbers */
    ds_guard guard;
} ds_check_buffer;

/* Makes room for n numbers; 1 = ok. The owner closes the guard. */
int ds_check_buffer_open(ds_check_buffer *b, const char *name, uint64_t n, int at_end);

/* Records a failure if a mark next to the numbers was overwritten. */
void ds_check_buffer_check(ds_check *c, const ds_check_buffer *b, const char *who);

/* From now on a segmentation fault is recorded with the nearest buffer and ends the process. For children
 * only. `buffers` must stay valid. */
void ds_check_buffer_watch(ds_check *c, const ds_check_buffer *buffers, size_t count, const char *who);

/* ---- evaluations in progress ---- */

/* An evaluation in progress; its x follows in memory. */
typedef struct ds_flight {
    uint64_t noise_key;
    uint32_t want;
    uint32_t rows; /* points of the call, x being the first; 0 = the slot is unused */
} ds_flight;

enum { DS_FLIGHTS = 8 /* threads that may evaluate at the same time */ };

/* In the test: logs evaluations to the memory file `fd` from now on. Without this call nothing is logged. */
void ds_flight_attach(int fd);

/* Makes room for points with n variables. */
void ds_flight_room(uint64_t n);

/* Called before and after a call of the plugin. Each thread has its own slot. */
void ds_flight_begin(const double *x, uint64_t n, uint32_t want, uint64_t noise_key, uint32_t rows);
void ds_flight_end(void);

/* In the parent: calls fn for every evaluation that was in progress, with its n values. */
void ds_flight_read(int fd, void (*fn)(void *ctx, const ds_flight *f, const double *x, uint64_t n),
                    void *ctx);

#endif
