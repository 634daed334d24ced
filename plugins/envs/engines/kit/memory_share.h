/* SPDX-License-Identifier: Apache-2.0 */
/* memory_share.h - how much memory an engine may take to save time, such that as many of them as the machine
 * has processors leave the most of it to others. */
#ifndef DS_ENGINES_MEMORY_SHARE_H
#define DS_ENGINES_MEMORY_SHARE_H

#include <stddef.h>
#include <stdint.h>

/* Bytes for an engine of so many threads: its part, by processors, of a quarter of the memory that is
 * available now; no more than its part of a quarter of its control group's limit, by the processors that it
 * may run on, nor than a quarter of the process's limit of addresses. 0 where nothing is known.
 * `root`: "", or a folder that holds other files proc/meminfo, proc/self/cgroup and sys/fs/cgroup/... (for
 * tests). */
size_t kit_memory_share(const char *root, uint32_t threads);

#endif
