/* SPDX-License-Identifier: Apache-2.0 */
/* test_memory_share.c - an engine's part of the memory follows what is available, the limits of control
 * groups of both kinds, wherever in the tree they are set, and the number of threads. */
#define _GNU_SOURCE /* sched_getaffinity */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engines/kit/memory_share.h"
#include "temporary.h"

static temporary root;

/* A file below the root, and its folders. */
static void put(const char *name, const char *text)
{
    char path[600];
    snprintf(path, sizeof path, "%s/%s", root.folder, name);
    for (char *slash = strchr(path + strlen(root.folder) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0700);
        *slash = '/';
    }
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

static int make_root(void **state)
{
    (void)state;
    temporary_open(&root);
    return 0;
}

static int remove_root(void **state)
{
    char command[300];
    (void)state;
    snprintf(command, sizeof command, "rm -rf '%s'", root.folder);
    return system(command) == 0 ? 0 : 1;
}

/* More than a machine has processors: such an engine gets the quarter. */
static const uint32_t all_threads = 100000;

static void nothing_known(void **state)
{
    (void)state;
    assert_int_equal(kit_memory_share(root.folder, 1), 0);
    put("proc/meminfo", "MemTotal:       1000 kB\nMemFree:    500 kB\n");
    assert_int_equal(kit_memory_share(root.folder, 1), 0);
}

static void available(void **state)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    (void)state;
    put("proc/meminfo", "MemTotal:       99999999 kB\nMemFree: 5 kB\nMemAvailable:   8388608 kB\n");
    const uint64_t quarter = 8388608ull * 1024 / 4;
    assert_int_equal(kit_memory_share(root.folder, all_threads), quarter);
    assert_int_equal(kit_memory_share(root.folder, 1), quarter / (uint64_t)processors);
}

/* Each alone, of 2^30 bytes: below what is available. */
static void groups(void **state)
{
    static const struct {
        const char *of_process, *file, *text;
        uint64_t limit; /* 0: none */
    } cases[] = {
        {"0::/\n", "sys/fs/cgroup/memory.max", "1073741824\n", 1073741824},
        {"0::/a/b\n", "sys/fs/cgroup/a/b/memory.max", "1073741824\n", 1073741824},
        {"0::/a/b\n", "sys/fs/cgroup/a/memory.max", "1073741824\n", 1073741824},
        {"0::/a/b\n", "sys/fs/cgroup/memory.max", "1073741824\n", 1073741824},
        {"0::/a/b\n", "sys/fs/cgroup/a/b/memory.max", "max\n", 0},
        {"0::/a\n", "sys/fs/cgroup/b/memory.max", "1073741824\n", 0},
        {"9:cpu:/x\n4:memory:/x/y\n", "sys/fs/cgroup/memory/x/y/memory.limit_in_bytes", "1073741824\n",
         1073741824},
        {"4:memory:/x/y\n", "sys/fs/cgroup/memory/memory.limit_in_bytes", "1073741824\n", 1073741824},
        {"4:cpuset,memory_x:/x\n", "sys/fs/cgroup/memory/x/memory.limit_in_bytes", "1073741824\n", 0},
        {"nonsense\n:\n", "sys/fs/cgroup/memory.max", "1073741824\n", 0},
    };
    const uint64_t quarter = 8388608ull * 1024 / 4;
    cpu_set_t set;
    uint64_t usable = (uint64_t)sysconf(_SC_NPROCESSORS_ONLN);
    (void)state;
    if (sched_getaffinity(0, sizeof set, &set) == 0) {
        usable = (uint64_t)CPU_COUNT(&set);
    }
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(remove_root(NULL), 0);
        assert_int_equal(mkdir(root.folder, 0700), 0);
        put("proc/meminfo", "MemAvailable:   8388608 kB\n");
        put("proc/self/cgroup", cases[i].of_process);
        put(cases[i].file, cases[i].text);
        uint64_t alone = kit_memory_share(root.folder, 1);
        if (cases[i].limit) {
            assert_int_equal(alone, cases[i].limit / 4 / usable);
            assert_true(kit_memory_share(root.folder, 2) == 2 * alone);
        } else {
            assert_int_equal(kit_memory_share(root.folder, all_threads), quarter);
        }
    }
}

static void this_machine(void **state)
{
    const uint64_t total = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    (void)state;
    assert_true(kit_memory_share("", 1) <= total / 4);
    assert_true(kit_memory_share("", 1) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_known),
        cmocka_unit_test(available),
        cmocka_unit_test(groups),
        cmocka_unit_test(this_machine),
    };
    return cmocka_run_group_tests(tests, make_root, remove_root);
}
