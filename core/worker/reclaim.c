/* SPDX-License-Identifier: Apache-2.0 */
/* estate.c - see estate.h. */
#include "config.h"

#include "worker/reclaim.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"

ds_slot *ds_reclaim_held(const ds_ring *s, uint32_t w)
{
    for (uint64_t i = 0; i < s->at.capacity; i++) {
        ds_slot *slot = ds_ring_slot(s, i);
        if (atomic_load_explicit(&slot->state, memory_order_relaxed) == DS_SLOT_OF(DS_SLOT_RUNNING, w)) {
            return slot;
        }
    }
    return NULL;
}

/* Writes the answer of an evaluation whose worker has died into its slot. */
static void answer_for(ds_ring *s, uint32_t w, const ds_process *m, double timeout, int status, ds_slot *slot)
{
    const uint64_t started = atomic_load(&s->head->worker[w].started), now = ds_clock_ns();
    char limit[80];
    ds_answer a = {.loss = INFINITY, .outcome = DS_EVAL_CRASHED, .grad_kind = DS_GRAD_NONE, .bad_step = -1};
    a.outcome = m->timed_out ? DS_EVAL_TIMEOUT : DS_EVAL_CRASHED;
    a.wall_s = started > m->born && started < now ? 1e-9 * (double)(now - started) : 0.0;
    snprintf(limit, sizeof(limit), "%g s (timeout_s)", timeout);
    ds_process_say_how(m, "the worker", status, limit, a.message, sizeof(a.message));
    slot->answer = a;
    memset(ds_slot_grad(s, slot), 0, s->at.stride - sizeof(*slot) - s->at.n * sizeof(double));
    atomic_store(&slot->state, DS_SLOT_DONE);
    ds_ring_finished(s);
}

int ds_reclaim_slots(ds_ring *s, uint32_t w, const ds_process *m, double timeout, int status)
{
    ds_ring_worker *its = &s->head->worker[w];
    int found = 0;
    for (uint64_t i = 0; i < s->at.capacity; i++) {
        ds_slot *slot = ds_ring_slot(s, i);
        uint32_t state = atomic_load(&slot->state);
        if (state != DS_SLOT_OF(DS_SLOT_RUNNING, w) && state != DS_SLOT_OF(DS_SLOT_KILLED, w)) {
            continue;
        }
        found = 1;
        /* Of several one is to blame: each gets its own try, and one only. */
        if (atomic_load(&its->many) != 0 && atomic_exchange(&s->alone[i], 1) == 0) {
            slot->request.alone = 1;
            atomic_store(&slot->state, DS_SLOT_POSTED);
        } else {
            answer_for(s, w, m, timeout, status, slot);
        }
    }
    atomic_store(&its->started, 0);
    atomic_store(&its->many, 0);
    return found;
}

void ds_reclaim_hand_over(ds_ring *s, uint32_t w)
{
    uint64_t taken = atomic_load(&s->head->taken), posted = ds_ring_posted(s);
    taken = taken < posted ? taken : posted;
    uint64_t oldest = taken > s->at.capacity ? taken - s->at.capacity : 0;
    atomic_store(&s->head->worker[w].next, oldest);
    atomic_store(&s->head->worker[w].end, taken);
}
