/* SPDX-License-Identifier: Apache-2.0 */
/* memory_share.c - finds available memory and limits (Linux: proc(5), cgroups(7)) and divides them. */
#define _GNU_SOURCE /* sched_getaffinity */
#include "engines/kit/memory_share.h"

#include <inttypes.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { PART = 4, LONGEST_PATH = 4096 };

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* MemAvailable in bytes; UINT64_MAX if unknown. */
static uint64_t available(const char *root)
{
    char path[LONGEST_PATH], line[256];
    uint64_t kib = 0;
    bool found = false;
    snprintf(path, sizeof path, "%s/proc/meminfo", root);
    FILE *f = fopen(path, "re");
    while (f && !found && fgets(line, sizeof line, f)) {
        found = sscanf(line, "MemAvailable: %" SCNu64 " kB", &kib) == 1;
    }
    if (f) {
        fclose(f);
    }
    return found ? kib * 1024 : UINT64_MAX;
}

/* The limit in a file; UINT64_MAX for "max" and for a missing file. */
static uint64_t limit_in(const char *path)
{
    uint64_t bytes = UINT64_MAX;
    FILE *f = fopen(path, "re");
    if (f) {
        if (fscanf(f, "%" SCNu64, &bytes) != 1) {
            bytes = UINT64_MAX;
        }
        fclose(f);
    }
    return bytes;
}

/* The smallest limit of a group and its parents. */
static uint64_t limit_of_group(const char *root, const char *mount, const char *group, const char *file)
{
    char inner[LONGEST_PATH], path[LONGEST_PATH + 256];
    uint64_t least = UINT64_MAX;
    snprintf(inner, sizeof inner, "%s", group);
    for (;;) {
        snprintf(path, sizeof path, "%s%s%s/%s", root, mount, inner, file);
        least = smaller(least, limit_in(path));
        char *slash = strrchr(inner, '/');
        if (!slash) {
            return least;
        }
        *slash = '\0';
    }
}

/* The smallest limit of the control groups of this process, versions 1 and 2. */
static uint64_t limit_of_groups(const char *root)
{
    char path[LONGEST_PATH], line[LONGEST_PATH];
    uint64_t least = UINT64_MAX;
    snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    FILE *f = fopen(path, "re");
    while (f && fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = '\0';
        const char *first = strchr(line, ':'), *second = first ? strchr(first + 1, ':') : NULL;
        if (!second) {
            continue;
        }
        size_t length = (size_t)(second - first - 1);
        if (length == 0) {
            least = smaller(least, limit_of_group(root, "/sys/fs/cgroup", second + 1, "memory.max"));
        } else if (length == strlen("memory") && strncmp(first + 1, "memory", length) == 0) {
            least = smaller(
                least, limit_of_group(root, "/sys/fs/cgroup/memory", second + 1, "memory.limit_in_bytes"));
        }
    }
    if (f) {
        fclose(f);
    }
    return least;
}

static uint64_t processors(bool usable)
{
    cpu_set_t set;
    if (usable && sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0) {
        return (uint64_t)CPU_COUNT(&set);
    }
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (uint64_t)n : 1;
}

size_t kit_memory_share(const char *root, uint32_t threads)
{
    struct rlimit addresses;
    uint64_t all = available(root), group = limit_of_groups(root), share = UINT64_MAX;
    if (all == UINT64_MAX) {
        return 0;
    }
    share = all / PART / processors(false) * threads;
    if (group != UINT64_MAX) {
        share = smaller(share, group / PART / processors(true) * threads);
    }
    share = smaller(share, all / PART);
    if (getrlimit(RLIMIT_AS, &addresses) == 0 && addresses.rlim_cur != RLIM_INFINITY) {
        share = smaller(share, addresses.rlim_cur / PART);
    }
    return share < SIZE_MAX ? (size_t)share : SIZE_MAX;
}
