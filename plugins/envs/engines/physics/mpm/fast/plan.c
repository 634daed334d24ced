/* SPDX-License-Identifier: Apache-2.0 */
/* What the engine keeps for the adjoint, and where: all states, or checkpoints and as much of the grid, then
 * of the states, as the memory budget allows. */
#include "engine_internal.h"

#include <stdlib.h>
#include <string.h>

mpm_segment *mpm_fast_add_segment(mpm_fast *f)
{
    if (f->n_segments == f->segment_capacity) {
        uint32_t capacity = f->segment_capacity ? 2 * f->segment_capacity : 32;
        mpm_segment *segments = realloc(f->segments, capacity * sizeof *segments);
        if (!segments) {
            return NULL;
        }
        memset(segments + f->segment_capacity, 0, (capacity - f->segment_capacity) * sizeof *segments);
        f->segments = segments;
        f->segment_capacity = capacity;
    }
    mpm_segment *s = &f->segments[f->n_segments++];
    s->count = 0;
    return s;
}

uint32_t mpm_fast_most_substeps(const mpm_fast *f, const mpm_segment *s)
{
    uint32_t left = f->substeps - s->first;
    return s->count ? s->count : left < f->interval ? left : f->interval;
}

mpm_history *mpm_fast_history(mpm_fast *f, mpm_segment *s)
{
    return s->keeps_history ? &s->history : &f->shared;
}

mpm_result mpm_fast_reserve_history(mpm_fast *f, uint32_t index)
{
    mpm_segment *s = &f->segments[index];
    uint32_t count = mpm_fast_most_substeps(f, s);
    f->shared_owner = s->keeps_history ? f->shared_owner : index;
    if (!mpm_history_reserve(mpm_fast_history(f, s), f->kernels, f->padded, f->gradients, count)) {
        return MPM_NO_MEMORY;
    }
    return s->keeps_grid || mpm_grid_history_reserve(&f->shared_grid, count) ? MPM_OK : MPM_NO_MEMORY;
}

/* Bytes of the grid of one substep, as far as that can be foreseen. */
static size_t grid_bytes(const mpm_fast *f, const mpm_segment *s)
{
    return f->packed ? f->packed + f->packed / 16 : s->box.nodes * 4 * f->kernels->real;
}

/* What is held for this segment, the latest, and for those before, without what it may come to keep itself
 * and without what may be shared. */
static size_t held_bytes(const mpm_fast *f, const mpm_segment *s)
{
    size_t used = mpm_fast_memory(f) - mpm_history_bytes(&f->shared) -
                  mpm_grid_history_bytes(&f->shared_grid) + s->start.bytes + s->order.bytes;
    for (uint32_t i = f->n_segments - 1; i < f->segment_capacity; i++) {
        used -= mpm_segment_bytes(&f->segments[i]);
    }
    return used;
}

void mpm_fast_plan_segment(mpm_fast *f, mpm_segment *s)
{
    size_t own = mpm_fast_most_substeps(f, s), later = (f->substeps - s->first - 1) / f->interval;
    size_t substep = grid_bytes(f, s), particles = (4 * f->padded + f->gradients) * f->kernels->real;
    size_t state = mpm_checkpoint_bytes(f, &s->box) + s->order.bytes;
    size_t least = held_bytes(f, s) + f->interval * (particles + substep) + later * state;
    s->keeps_grid = f->with_adjoint && (f->store || least + own * substep <= f->budget);
    /* the grids of all come first: they spare more time for each byte */
    size_t grids = (own + later * f->interval) * substep;
    s->keeps_history = f->with_adjoint && (f->store || least + grids + own * particles <= f->budget);
    if (!s->keeps_history) {
        mpm_history_free(&s->history);
    }
}

mpm_history *mpm_fast_forward_history(mpm_fast *f, uint32_t index)
{
    mpm_segment *s = &f->segments[index];
    return f->with_adjoint && (s->keeps_history || f->shared_owner == index) ? mpm_fast_history(f, s) : NULL;
}

mpm_grid_history *mpm_fast_grid_history(mpm_fast *f, uint32_t index)
{
    mpm_segment *s = &f->segments[index];
    return s->keeps_grid ? &s->grid : f->with_adjoint && f->shared_owner == index ? &f->shared_grid : NULL;
}
