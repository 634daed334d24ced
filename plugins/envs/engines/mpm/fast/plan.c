/* SPDX-License-Identifier: Apache-2.0 */
/* What the engine keeps for the adjoint, and where: all states, or checkpoints and as much of the grid as
 * the memory budget allows. */
#include "engine_internal.h"

#include <stdlib.h>
#include <string.h>

/* Bytes. Beyond what it must have, the engine keeps as much of the grid for the adjoint as fits. */
static const size_t memory_budget = 235000000;

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

mpm_result mpm_fast_reserve_history(mpm_fast *f, uint32_t index)
{
    mpm_segment *s = &f->segments[index];
    uint32_t count = mpm_fast_most_substeps(f, s);
    if (f->store) {
        if (!s->history) {
            s->history = calloc(1, sizeof *s->history);
        }
    } else {
        s->history = &f->shared;
        f->shared_owner = index;
    }
    if (!s->history || !mpm_history_reserve(s->history, f->kernels, f->padded, count)) {
        return MPM_NO_MEMORY;
    }
    return s->keeps_grid || mpm_grid_history_reserve(&f->shared_grid, count) ? MPM_OK : MPM_NO_MEMORY;
}

bool mpm_fast_affords_grid(const mpm_fast *f, const mpm_segment *s)
{
    size_t later = (f->substeps - s->first - 1) / f->interval;
    size_t substep = f->packed ? f->packed + f->packed / 16 : s->box.nodes * 4 * f->kernels->real;
    size_t history = f->interval * (f->padded * 13 * f->kernels->real + substep);
    size_t grid = mpm_fast_most_substeps(f, s) * substep;
    size_t used = mpm_fast_memory(f) - mpm_history_bytes(&f->shared) -
                  mpm_grid_history_bytes(&f->shared_grid) - mpm_grid_history_bytes(&s->grid);
    for (uint32_t i = f->n_segments; i < f->segment_capacity; i++) {
        used -= mpm_segment_bytes(&f->segments[i]);
    }
    return used + history + grid + later * (s->state.bytes + s->order.bytes) <= memory_budget;
}

mpm_history *mpm_fast_forward_history(mpm_fast *f, uint32_t index)
{
    const mpm_segment *s = &f->segments[index];
    return f->with_adjoint && (f->store || f->shared_owner == index) ? s->history : NULL;
}

mpm_grid_history *mpm_fast_grid_history(mpm_fast *f, uint32_t index)
{
    mpm_segment *s = &f->segments[index];
    return s->keeps_grid ? &s->grid : f->with_adjoint && f->shared_owner == index ? &f->shared_grid : NULL;
}
