/* SPDX-License-Identifier: Apache-2.0 */
/* test_kit.c - a team of threads does every task of every round exactly once; an engine's share of memory
 * follows the available memory, the limits of control groups and the number of threads; vector functions
 * against long double. */
#define _GNU_SOURCE /* sched_getaffinity */
#include "common/vector_math.h"
#include "engines/kit/memory_share.h"
#include "engines/kit/team.h"
#include "temporary.h"
#include "test.h"

#include <diffsim/helper/random.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* ---- share of memory ---- */

static temporary root;

/* Writes a file below the root and creates its folders. */
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
    temporary_open(&root);
    return 0;
}

static int remove_root(void **state)
{
    return temporary_close(&root);
}

/* More than any machine has processors: such an engine gets a quarter. */
static const uint32_t all_threads = 100000;

static void nothing_known(void **state)
{
    assert_int_equal(kit_memory_share(root.folder, 1), 0);
    put("proc/meminfo", "MemTotal:       1000 kB\nMemFree:    500 kB\n");
    assert_int_equal(kit_memory_share(root.folder, 1), 0);
}

static void available(void **state)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    put("proc/meminfo", "MemTotal:       99999999 kB\nMemFree: 5 kB\nMemAvailable:   8388608 kB\n");
    const uint64_t quarter = 8388608ull * 1024 / 4;
    assert_int_equal(kit_memory_share(root.folder, all_threads), quarter);
    assert_int_equal(kit_memory_share(root.folder, 1), quarter / (uint64_t)processors);
}

/* Each alone, of 2^30 bytes: below the available memory. */
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
    assert_true(kit_memory_share("", 1) <= total / 4);
    assert_true(kit_memory_share("", 1) > 0);
}

/* ---- team of threads ---- */

enum { MOST = 20000 };

typedef struct round_of_tasks {
    _Atomic int times[MOST];
    _Atomic int by[8];
    uint32_t size;
    int slow; /* a task that takes long; -1: none */
    _Atomic int wrong;
} round_of_tasks;

static void count(void *context, int task, int member)
{
    round_of_tasks *r = context;
    if (task < 0 || task >= MOST || member < 0 || (uint32_t)member >= r->size) {
        atomic_fetch_add(&r->wrong, 1); /* a thread of the team cannot end the test */
        return;
    }
    atomic_fetch_add(&r->times[task], 1);
    atomic_fetch_add(&r->by[member], 1);
    if (task == r->slow) {
        nanosleep(&(struct timespec){0, 20000000}, NULL);
    }
}

static void run_once(kit_team *team, round_of_tasks *r, int n)
{
    memset(r->times, 0, sizeof r->times);
    memset(r->by, 0, sizeof r->by);
    kit_team_run(team, count, r, n);
    assert_int_equal(r->wrong, 0);
    for (int i = 0; i < MOST; i++) {
        assert_int_equal(r->times[i], i < n);
    }
}

static void every_task_once(void **state)
{
    static round_of_tasks r;
    static const int n[] = {0, 1, 2, 3, 7, 8, 9, 64, 1000, MOST};
    for (r.size = 1; r.size <= 8; r.size++) {
        kit_team *team = kit_team_create(r.size);
        assert_non_null(team);
        r.slow = -1;
        for (int repeat = 0; repeat < 20; repeat++) {
            for (size_t k = 0; k < sizeof n / sizeof n[0]; k++) {
                run_once(team, &r, n[k]);
            }
        }
        kit_team_destroy(team);
    }
}

/* Rounds in quick succession, with few tasks: late members may find the tasks of the next round. */
static void many_rounds(void **state)
{
    static round_of_tasks r;
    r.size = 4;
    r.slow = -1;
    kit_team *team = kit_team_create(r.size);
    assert_non_null(team);
    for (int round = 0; round < 20000; round++) {
        kit_team_run(team, count, &r, 1 + round % 9);
    }
    int done = 0;
    for (int m = 0; m < 8; m++) {
        done += r.by[m];
    }
    int want = 0;
    for (int round = 0; round < 20000; round++) {
        want += 1 + round % 9;
    }
    assert_int_equal(done, want);
    assert_int_equal(r.wrong, 0);
    kit_team_destroy(team);
}

/* While one member is busy with a long task, others do the rest of its tasks. */
static void others_help(void **state)
{
    static round_of_tasks r;
    r.size = 2;
    kit_team *team = kit_team_create(r.size);
    assert_non_null(team);
    int helped = 0;
    for (int attempt = 0; attempt < 20 && !helped; attempt++) {
        r.slow = attempt % 2 ? 0 : 8; /* the first task of one of the two members */
        run_once(team, &r, 16);
        helped = r.by[0] > 8 || r.by[1] > 8;
    }
    assert_true(helped);
    kit_team_destroy(team);
}

/* ---- vector functions ---- */

static ds_random random_numbers;

static double uniform(double from, double to)
{
    return from + (to - from) * ds_random_uniform(&random_numbers);
}

static void check_below(const char *name, double error, double limit)
{
    if (!(error <= limit)) {
        fail_msg("%s is off by %g units of the last place, more than %g", name, error, limit);
    }
}

static double ulps(double a, long double exact)
{
    const double near = fabs((double)exact);
    return (double)(fabsl((long double)a - exact) / (long double)(nextafter(near, (double)INFINITY) - near));
}

/* The scalar functions have the bits of every lane. */
static void check_same_sines(double angle)
{
    vec sine, cosine;
    double s, c;
    vec_sincos_same(vec_all(angle), &sine, &cosine);
    sincos_same(angle, &s, &c);
    for (int lane = 0; lane < VECTOR_LANES; lane++) {
        const double lane_s = sine[lane], lane_c = cosine[lane];
        assert_true(memcmp(&lane_s, &s, sizeof s) == 0 || (isnan(s) && isnan(lane_s)));
        assert_true(memcmp(&lane_c, &c, sizeof c) == 0 || (isnan(c) && isnan(lane_c)));
    }
}

static void vector_functions_are_accurate(void **state)
{
    random_numbers = ds_random_open(11, "vector_math", 0);
    for (int i = 0; i < 100000; i++) {
        const double x = uniform(-700, 700), t = uniform(-5, 5) * pow(10, uniform(-8, 0)), y = uniform(-1, 1);
        const double z = uniform(-1, 1) * pow(10, uniform(-3, 3)), s = uniform(-1, 1);
        check_below("exp", ulps(vec_exp(vec_all(x))[0], expl(x)), 1.01);
        const double low = -fabs(t) * (i % 2 ? 1 : 8);
        check_below("expm1", ulps(vec_expm1(vec_all(low))[0], expm1l(low)), 2);
        check_below("tanh", ulps(vec_tanh(vec_all(t))[0], tanhl(t)), 3);
        check_below("atan2", ulps(vec_atan2(vec_all(y), vec_all(z))[1], atan2l(y, z)), 3);
        check_below("asin", ulps(vec_asin(vec_all(s))[1], asinl(s)), 3);
        const double angle = uniform(-1, 1) * pow(10, uniform(-8, 6));
        vec sine, cosine;
        vec_sincos(vec_all(angle), &sine, &cosine);
        check_below("sine", ulps(sine[0], sinl(angle)), 1);
        check_below("cosine", ulps(cosine[1], cosl(angle)), 1);
        check_same_sines(angle);
    }
    for (int i = 1; i <= 4000; i++) { /* near zeros: an absolute error of at most 1e-20 */
        const double angle = i * 1.57079632679489661923;
        vec sine, cosine;
        vec_sincos(vec_all(angle), &sine, &cosine);
        assert_true(fabsl((long double)sine[0] - sinl(angle)) <= 1.2e-16L * fabsl(sinl(angle)) + 1e-20L);
        assert_true(fabsl((long double)cosine[0] - cosl(angle)) <= 1.2e-16L * fabsl(cosl(angle)) + 1e-20L);
        check_same_sines(angle);
    }
    static const double far[] = {0.0, -0.0, 1e6, 1000001, -3e9, 1e300, INFINITY, NAN};
    for (size_t i = 0; i < sizeof far / sizeof *far; i++) {
        check_same_sines(far[i]);
    }
}

static void ends_are_right(void **state)
{
    assert_true(isnan(vec_tanh(vec_all(NAN))[0]) && isnan(vec_expm1(vec_all(NAN))[1]));
    assert_true(vec_expm1(vec_all(0))[0] == 0 && vec_expm1(vec_all(-1e3))[1] == -1);
    assert_true(vec_expm1(vec_all(762))[0] == 0); /* and no shift leaves its range */
    assert_true(isnan(vec_atan2(vec_all(NAN), vec_all(1))[0]));
    assert_true(vec_exp(vec_all(800))[0] == exp_same(800) && vec_exp(vec_all(-800))[0] == 0);
    assert_true(vec_tanh(vec_all(1e9))[0] == 1 && vec_tanh(vec_all(-50))[1] == -1);
    assert_true(vec_atan2(vec_all(0), vec_all(0))[0] == 0);
}

RUN_TESTS_WITH(make_root, remove_root, nothing_known, available, groups, this_machine, every_task_once,
               many_rounds, others_help, vector_functions_are_accurate, ends_are_right)
