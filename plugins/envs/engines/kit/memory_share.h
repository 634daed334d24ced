/* SPDX-License-Identifier: Apache-2.0 */
/* memory_share.h - how much memory an engine may use to save time. As many engines as the machine has
 * processors still leave most of the memory free. */
#ifndef DS_ENGINES_MEMORY_SHARE_H
#define DS_ENGINES_MEMORY_SHARE_H

#include <stddef.h>
#include <stdint.h>

/* Bytes for an engine with this number of threads; 0 if nothing is known. It is the smallest of: the engine's
 * share, by processors, of a quarter of the available memory; its share of a quarter of the control group's
 * limit, by usable processors; and a quarter of the address-space limit. `root`: "", or a folder with
 * replacements of proc/meminfo, proc/self/cgroup and sys/fs/cgroup/... (for tests). */
size_t kit_memory_share(const char *root, uint32_t threads);

#endif
