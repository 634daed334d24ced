/* SPDX-License-Identifier: Apache-2.0 */
/* team.c - threads that wait for work by spinning briefly and then sleeping. Rounds of an engine follow each
 * other within microseconds, but on a loaded machine a spinning thread would keep the others from working. */
#include "engines/kit/team.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { SPINS = 5000 };

typedef struct seat {
    /* own tasks not taken yet: first << 32 | end; in a cache line of its own */
    _Alignas(64) _Atomic uint64_t open;
    kit_team *team;
    int member;
    pthread_t thread; /* of the members 1 .. size - 1 */
} seat;

struct kit_team {
    int size;
    seat *seats;
    kit_team_task *task;
    void *context;
    _Atomic int left; /* tasks not done yet */
    _Atomic uint32_t round;
    _Atomic int asleep;
    _Atomic bool over;
    pthread_mutex_t lock;
    pthread_cond_t wake;
};

static void pause_briefly(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

/* Takes the first or last task of a seat; -1: none left. A late member may find tasks of the next round; this
 * is safe because task and context are read after a task is taken. */
static int take(seat *from, bool last)
{
    uint64_t open = atomic_load(&from->open);
    for (;;) {
        uint32_t first = (uint32_t)(open >> 32), end = (uint32_t)open;
        if (first >= end) {
            return -1;
        }
        uint64_t rest = last ? open - 1 : open + ((uint64_t)1 << 32);
        if (atomic_compare_exchange_weak(&from->open, &open, rest)) {
            return (int)(last ? end - 1 : first);
        }
    }
}

/* Works until no task is left. First come the member's own tasks, the same in every round of as many tasks,
 * so that their data stays in this processor's cache; then the far end of the other members' tasks. */
static void work(kit_team *team, int member)
{
    for (int k = 0; k < team->size; k++) {
        seat *from = &team->seats[(member + k) % team->size];
        for (int task = take(from, k > 0); task >= 0; task = take(from, k > 0)) {
            team->task(team->context, task, member);
            atomic_fetch_sub(&team->left, 1);
        }
    }
}

/* Waits for a round after `seen`; returns its number. */
static uint32_t await_round(kit_team *team, uint32_t seen)
{
    for (int i = 0; i < SPINS; i++) {
        uint32_t round = atomic_load(&team->round);
        if (round != seen) {
            return round;
        }
        pause_briefly();
    }
    pthread_mutex_lock(&team->lock);
    atomic_fetch_add(&team->asleep, 1);
    while (atomic_load(&team->round) == seen) {
        pthread_cond_wait(&team->wake, &team->lock);
    }
    atomic_fetch_sub(&team->asleep, 1);
    pthread_mutex_unlock(&team->lock);
    return atomic_load(&team->round);
}

static void *member_main(void *argument)
{
    seat *own = argument;
    kit_team *team = own->team;
    uint32_t round = 0;
    for (;;) {
        round = await_round(team, round);
        if (team->over) {
            return NULL;
        }
        work(team, own->member);
    }
}

static void open_round(kit_team *team, uint32_t n)
{
    for (uint64_t m = 0; m < (uint64_t)team->size; m++) {
        uint64_t first = n * m / (uint64_t)team->size, end = n * (m + 1) / (uint64_t)team->size;
        atomic_store(&team->seats[m].open, first << 32 | end);
    }
    atomic_fetch_add(&team->round, 1);
    if (atomic_load(&team->asleep) > 0) {
        pthread_mutex_lock(&team->lock);
        pthread_cond_broadcast(&team->wake);
        pthread_mutex_unlock(&team->lock);
    }
}

kit_team *kit_team_create(uint32_t size)
{
    kit_team *team = calloc(1, sizeof *team);
    if (!team) {
        return NULL;
    }
    team->size = 1;
    pthread_mutex_init(&team->lock, NULL);
    pthread_cond_init(&team->wake, NULL);
    if (posix_memalign((void **)&team->seats, 64, (size + (size_t)1) * sizeof *team->seats) != 0) {
        team->seats = NULL;
    } else {
        memset(team->seats, 0, (size + (size_t)1) * sizeof *team->seats);
    }
    while (team->seats && team->size < (int)size) {
        seat *s = &team->seats[team->size];
        s->team = team;
        s->member = team->size;
        if (pthread_create(&s->thread, NULL, member_main, s) != 0) {
            break;
        }
        team->size++;
    }
    return team;
}

void kit_team_destroy(kit_team *team)
{
    if (!team) {
        return;
    }
    team->over = true;
    open_round(team, 0);
    for (int i = 1; i < team->size; i++) {
        pthread_join(team->seats[i].thread, NULL);
    }
    pthread_mutex_destroy(&team->lock);
    pthread_cond_destroy(&team->wake);
    free(team->seats);
    free(team);
}

void kit_team_run(kit_team *team, kit_team_task *task, void *context, int n)
{
    if (team->size == 1 || n == 1) {
        for (int i = 0; i < n; i++) {
            task(context, i, 0);
        }
        return;
    }
    /* members read these only after taking a task */
    team->task = task;
    team->context = context;
    atomic_store(&team->left, n);
    open_round(team, (uint32_t)n);
    work(team, 0);
    for (int i = 0; atomic_load(&team->left) > 0; i++) {
        if (i < SPINS) {
            pause_briefly();
        } else {
            sched_yield();
        }
    }
}
