/* SPDX-License-Identifier: Apache-2.0 */
/* The episode backward, a substep at a time: where there is no history of a segment, its particles are
 * simulated again. */
#include "engine_internal.h"

#include <string.h>

void mpm_fast_turn(mpm_fast *f)
{
    mpm_fast_complete(f, mpm_fast_present_segment(f));
    f->backward = true;
    f->bar_segment = mpm_fast_present_segment(f);
    f->pending = MPM_NONE;
    memset(f->bars.at, 0, f->bars.bytes);
}

void mpm_fast_add_bar(mpm_fast *f, const mpm_particle *bar)
{
    mpm_fields to = f->bar;
    if (f->pending != MPM_NONE) {
        to.v = to.m = to.f = NULL;
    }
    const uint32_t *order = f->segments[f->bar_segment].order.at;
    for (int k = 0; k < f->n_groups; k++) {
        const mpm_group *g = &f->groups[k];
        f->kernels->add_bar(&to, &g->room, g->phase->count, order + g->phase->first, f->sim->domain.inv_dx,
                            bar);
    }
}

/* Sees to it that f->start is the state at the start of a segment. */
static void restore_start(mpm_fast *f, uint32_t index)
{
    mpm_fields moved;
    const void *velocity;
    if (f->state_owner == index) {
        return;
    }
    f->state_owner = index;
    if (!mpm_fast_take_start(f, index, &moved, &velocity)) {
        mpm_fast_gather(f, &f->segments[index - 1], moved.x, velocity);
        mpm_fields from = f->between;
        from.f = moved.f;
        mpm_fast_reorder(f, &f->start, index, &from, index - 1, 1.0);
    }
}

static void first_adjoint(mpm_fast *f)
{
    restore_start(f, f->bar_segment);
    mpm_fast_first_adjoint(f);
}

void mpm_fast_open_bar(mpm_fast *f)
{
    if (f->pending == 0) {
        first_adjoint(f);
    } else if (f->pending != MPM_NONE) {
        mpm_fast_part_adjoint(f);
    }
}

static mpm_result ensure_history(mpm_fast *f, uint32_t index)
{
    mpm_segment *s = &f->segments[index];
    mpm_history *history = mpm_fast_history(f, s);
    if (history->complete && (s->keeps_history || f->shared_owner == index)) {
        return MPM_OK;
    }
    mpm_result result = mpm_fast_reserve_history(f, index);
    restore_start(f, index);
    mpm_grid_history *grid = mpm_fast_grid_history(f, index);
    for (uint32_t local = 0; local < s->count && result == MPM_OK; local++) {
        if (f->should_stop && f->should_stop(f->stop_context) != 0) {
            return MPM_STOPPED;
        }
        result = mpm_fast_step(f, s, history, grid, local);
        f->repeated++;
    }
    if (result == MPM_OK) {
        history->complete = grid->complete = true;
    }
    return result;
}

uint32_t mpm_fast_repeated(const mpm_fast *f)
{
    return f->repeated;
}

/* Brings `bar` from the order of its segment to that of the one before. */
static void leave_segment(mpm_fast *f)
{
    mpm_fast_reorder(f, &f->between, f->bar_segment - 1, &f->bar, f->bar_segment, 0.0);
    f->bar_segment--;
    mpm_fields swap = f->bar;
    mpm_buffer buffer = f->bars;
    f->bar = f->between;
    f->bars = f->loose;
    f->between = swap;
    f->loose = buffer;
    mpm_fast_use_slabs(f, &f->segments[f->bar_segment]);
}

mpm_result mpm_fast_retreat(mpm_fast *f, mpm_pose *now_bar, mpm_pose *next_bar)
{
    if (f->frame == f->segments[f->bar_segment].first) {
        mpm_fast_open_bar(f);
        double begin = mpm_fast_begin_time(f);
        leave_segment(f);
        mpm_fast_end_time(f, MPM_TIME_SORT, begin);
    }
    mpm_segment *s = &f->segments[f->bar_segment];
    mpm_result result = ensure_history(f, f->bar_segment);
    if (result != MPM_OK) {
        return result;
    }
    mpm_fast_step_adjoint(f, s, f->frame - 1 - s->first, now_bar, next_bar);
    f->frame--;
    return MPM_OK;
}

mpm_result mpm_fast_bar(mpm_fast *f, mpm_particle *bar)
{
    if (f->pending == 0) {
        first_adjoint(f);
    }
    uint32_t n = f->sim->n_particles;
    const mpm_segment *s = &f->segments[f->bar_segment];
    double inv_dx = f->sim->domain.inv_dx;
    mpm_fast_export(f, &f->bar, s, 1.0 / inv_dx, 0.0, bar);
    for (int k = 0; k < f->n_groups; k++) {
        mpm_fast_clear_unused(f->groups[k].phase, 0.0, bar);
    }
    for (uint32_t p = 0; p < n; p++) {
        for (int k = 0; k < 9; k++) {
            bar[p].c[k] /= 16.0; /* moments are C dx / 4, so their adjoints are those of C times 4 / dx */
        }
    }
    return MPM_OK;
}
