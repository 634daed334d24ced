/* SPDX-License-Identifier: Apache-2.0 */
/* test_team.c - a team of threads does every task of every round once, whoever does it, and one member alone
 * does what the others leave. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <stdatomic.h>
#include <time.h>

#include "engines/kit/team.h"

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
    (void)state;
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

/* Rounds that follow at once, with few tasks: late members may find those of the next round. */
static void many_rounds(void **state)
{
    static round_of_tasks r;
    (void)state;
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

/* While one member is held up by a task of its own, the rest of its tasks are done by others. */
static void others_help(void **state)
{
    static round_of_tasks r;
    (void)state;
    r.size = 2;
    kit_team *team = kit_team_create(r.size);
    assert_non_null(team);
    int helped = 0;
    for (int attempt = 0; attempt < 20 && !helped; attempt++) {
        r.slow = attempt % 2 ? 0 : 8; /* the first of one of the two */
        run_once(team, &r, 16);
        helped = r.by[0] > 8 || r.by[1] > 8;
    }
    assert_true(helped);
    kit_team_destroy(team);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_task_once),
        cmocka_unit_test(many_rounds),
        cmocka_unit_test(others_help),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
