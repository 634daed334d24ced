/* SPDX-License-Identifier: Apache-2.0 */
/* life.h - a worker process as such: how it belongs to its host, its limits, and what a plugin may have
 * changed about it. */
#ifndef DS_WORKER_LIFE_H
#define DS_WORKER_LIFE_H

#include <stdint.h>

/* Dies with the host (process `parent`), leaves no core file, leaves the signals of the terminal to the host,
 * and its descriptors to nobody that the plugin starts. `files`: the soft limit of open files that the host
 * has raised for itself, which is put back; 0 = none. -1 where the host is gone. */
int ds_worker_process_begin(int64_t parent, uint64_t files);

/* Is the host gone? A plugin may have undone what ds_worker_process_begin() has arranged. */
int ds_worker_orphaned(void);

/* Limits the address space to `extra` bytes more than is mapped now; 0 = no limit. */
void ds_worker_limit_address_space(int64_t extra);

/* Lets it be larger by `bytes` that are not the plugin's. */
void ds_worker_allow_memory(uint64_t bytes);

/* After a call of the plugin's `function`: a copy of this process that it has forked, and let return, ends
 * here; the floating-point mode is put back, and that it was changed is said once. Quick. */
void ds_worker_after_call(const char *function);

#endif
