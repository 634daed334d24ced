/* SPDX-License-Identifier: Apache-2.0 */
/* Order of the particles, box of nodes and slabs for a stretch of substeps: a new segment is laid out with
 * room for the particles to move, and ends when that is used up. */
#include "engine_internal.h"

#include <string.h>

enum { MOST_DRIFT_ROOM = 4 }; /* cells */

/* Bound of the sum of |weights| of a stencil: 1, but for positions within half a cell of the origin 1.5
 * per axis. */
static const double weight_bound = 3.375;

/* Base nodes that a particle may come to from `base` within one substep. */
static int step_room(const mpm_fast *f)
{
    double cells = f->speed * weight_bound * f->sim->domain.dt * f->sim->domain.inv_dx;
    return cells < f->sim->domain.n ? 1 + (int)cells : f->sim->domain.n;
}

bool mpm_fast_room_left(const mpm_fast *f, const mpm_segment *s)
{
    int room = step_room(f);
    for (int b = 0; b < f->n_blocks; b++) {
        const mpm_block *block = &f->blocks[b];
        for (int d = 0; d < 3; d++) {
            int low = d == 0 ? s->block_low[b] : s->low[d], high = d == 0 ? s->block_high[b] : s->high[d];
            if ((low > f->lowest[d] && (int)block->lower[d] - room < low) ||
                (high < f->highest[d] && (int)block->upper[d] + room > high)) {
                return false;
            }
        }
    }
    return true;
}

/* Low and high ends of the base nodes of particles [from, to) along axis d. */
static void extent(const int16_t *base, const uint32_t *order, uint32_t from, uint32_t to, int d, int *low,
                   int *high)
{
    *low = INT16_MAX;
    *high = 0;
    for (uint32_t i = from; i < to; i++) {
        int b = base[3 * (size_t)(order ? order[i] : i) + (size_t)d];
        *low = b < *low ? b : *low;
        *high = b > *high ? b : *high;
    }
}

static int low_end(const mpm_fast *f, int d, int base)
{
    return base > f->lowest[d] ? base : f->lowest[d];
}

static int high_end(const mpm_fast *f, int d, int base)
{
    return base < f->highest[d] ? base : f->highest[d];
}

uint32_t *mpm_fast_local_order(const mpm_fast *f)
{
    size_t n = f->sim->n_particles, cells = (size_t)f->sim->domain.n;
    cells *= cells * cells;
    return (uint32_t *)(void *)((char *)f->sorting.at + (n * 6 + 63) / 64 * 64) + n + cells + 1;
}

/* Box, order of the particles (in `order`, by their present index within their group), and slabs
 * for a new segment. */
static mpm_result lay_out(mpm_fast *f, mpm_segment *s, const void *x, uint32_t *order)
{
    uint32_t n = f->sim->n_particles;
    int16_t *base = f->sorting.at;
    uint32_t *keys = (uint32_t *)(void *)((char *)f->sorting.at + ((size_t)n * 6 + 63) / 64 * 64);
    uint32_t *counts = keys + n;
    int low[3], high[3];
    double drift = f->speed * f->sim->domain.dt * f->sim->domain.inv_dx * f->interval;
    int room = step_room(f) + (drift < MOST_DRIFT_ROOM ? 1 + (int)drift : MOST_DRIFT_ROOM);
    for (int k = 0; k < f->n_groups; k++) {
        const mpm_group *g = &f->groups[k];
        f->kernels->bases((const char *)x + g->room.first * 4 * f->kernels->real, g->phase->count,
                          base + 3 * (size_t)g->phase->first);
    }
    for (int d = 0; d < 3; d++) {
        extent(base, NULL, 0, n, d, &low[d], &high[d]);
        s->low[d] = low_end(f, d, low[d] - room);
        s->high[d] = high_end(f, d, high[d] + room);
    }
    for (int k = 0; k < f->n_groups; k++) {
        const mpm_phase *phase = f->groups[k].phase;
        mpm_sort_by_cell(base + 3 * (size_t)phase->first, phase->count, low, high, keys, counts,
                         order + phase->first);
    }
    s->box = mpm_box_make(s->low, s->high, f->kernels->lanes / 4);
    size_t plane = (size_t)s->box.stride_x * 4 * f->kernels->real, used = 0;
    for (int b = 0; b < f->n_blocks; b++) {
        mpm_block *block = &f->blocks[b];
        int l, h;
        const mpm_group *g = &f->groups[block->group];
        uint32_t first = block->first - (uint32_t)g->room.first;
        extent(base + 3 * (size_t)g->phase->first, order + g->phase->first, first, first + block->count, 0,
               &l, &h);
        s->block_low[b] = low_end(f, 0, l - room);
        s->block_high[b] = high_end(f, 0, h + room);
        used += (size_t)(s->block_high[b] - s->block_low[b] + 3) * plane + MPM_ROOM;
    }
    return mpm_buffer_reserve(&f->slabs, used) ? MPM_OK : MPM_NO_MEMORY;
}

typedef struct permutation {
    const mpm_fast *f;
    const mpm_fields *to, *from;
    uint32_t *local; /* order of the particles of each group */
    /* NULL: `local` is known; else it follows from the orders before and after in the caller's terms */
    uint32_t *inverse;
    const uint32_t *order_before, *order_after;
    double rest;
} permutation;

/* Where the particles of a block are: in their group, and in orders. */
static uint32_t place_of(const permutation *p, const mpm_block *block, uint32_t *in_order)
{
    const mpm_group *g = &p->f->groups[block->group];
    uint32_t first = block->first - (uint32_t)g->room.first;
    *in_order = g->phase->first + first;
    return first;
}

static void invert_block(void *context, int task, int member)
{
    const permutation *p = context;
    const mpm_block *block = &p->f->blocks[task];
    uint32_t at;
    (void)member;
    place_of(p, block, &at);
    for (uint32_t i = at; i < at + block->count; i++) {
        p->inverse[p->order_before[i]] = i;
    }
}

static void permute_block(void *context, int task, int member)
{
    const permutation *p = context;
    const mpm_block *block = &p->f->blocks[task];
    const mpm_group *g = &p->f->groups[block->group];
    uint32_t at, first = place_of(p, block, &at);
    (void)member;
    for (uint32_t i = at; p->inverse && i < at + block->count; i++) {
        p->local[i] = p->inverse[p->order_after[i]] - g->phase->first;
    }
    p->f->kernels->permute(p->to, p->from, &g->room, first, first + block->count, g->phase->count,
                           p->local + g->phase->first, p->rest);
}

void mpm_fast_reorder(mpm_fast *f, const mpm_fields *to, uint32_t to_index, const mpm_fields *from,
                      uint32_t from_index, double rest)
{
    uint32_t *local = mpm_fast_local_order(f);
    permutation p = {.f = f,
                     .to = to,
                     .from = from,
                     .local = local,
                     .inverse = local + f->sim->n_particles,
                     .order_before = f->segments[from_index].order.at,
                     .order_after = f->segments[to_index].order.at,
                     .rest = rest};
    kit_team_run(f->team, invert_block, &p, f->n_blocks);
    kit_team_run(f->team, permute_block, &p, f->n_blocks);
}

void mpm_fast_use_slabs(mpm_fast *f, const mpm_segment *s)
{
    size_t plane = (size_t)s->box.stride_x * 4 * f->kernels->real;
    char *at = f->slabs.at;
    for (int b = 0; b < f->n_blocks; b++) {
        mpm_block *block = &f->blocks[b];
        block->plane = s->block_low[b] - s->box.lower[0];
        block->planes = s->block_high[b] - s->block_low[b] + 3;
        block->slab = at;
        at += (size_t)block->planes * plane + MPM_ROOM;
    }
    for (int t = 0; t < MPM_PLANE_TASKS; t++) {
        f->near[t].valid = false;
    }
    mpm_fast_clear(f, f->slabs.at, (size_t)(at - (char *)f->slabs.at));
}

mpm_result mpm_fast_begin_segment(mpm_fast *f, const uint32_t *order)
{
    uint32_t index = f->with_adjoint ? f->n_segments : 0, n = f->sim->n_particles;
    uint32_t *local = mpm_fast_local_order(f), *composed = local + n;
    mpm_segment *s = f->with_adjoint || f->n_segments == 0 ? mpm_fast_add_segment(f) : f->segments;
    size_t node_bytes;
    if (!s || !mpm_buffer_reserve(&s->order, n * sizeof(uint32_t)) ||
        !mpm_buffer_reserve(&f->state, mpm_fields_bytes(f->kernels, f->padded, f->gradients))) {
        return MPM_NO_MEMORY;
    }
    s->first = f->frame;
    s->count = 0;
    f->state_owner = index;
    f->start = mpm_fields_in(f->kernels, f->padded, f->state.at);
    mpm_fields source = f->between;
    source.f = f->now.f;
    if (lay_out(f, s, source.x, local) != MPM_OK) {
        return MPM_NO_MEMORY;
    }
    for (int k = 0; k < f->n_groups; k++) {
        const mpm_group *g = &f->groups[k];
        uint32_t first = g->phase->first, count = g->phase->count;
        for (uint32_t i = first; i < first + count; i++) {
            composed[i] = order[first + local[i]];
        }
    }
    permutation p = {.f = f, .to = &f->start, .from = &source, .local = local, .rest = 1.0};
    kit_team_run(f->team, permute_block, &p, f->n_blocks);
    memcpy(s->order.at, composed, n * sizeof(uint32_t));
    if (f->with_adjoint && mpm_fast_keep_start(f, index) != MPM_OK) {
        return MPM_NO_MEMORY;
    }
    node_bytes = s->box.nodes * 4 * f->kernels->real + MPM_ROOM;
    f->held_segment = MPM_NONE;
    if (!mpm_buffer_reserve(&f->velocity, node_bytes) ||
        (f->with_adjoint && (!mpm_buffer_reserve(&f->node_bar, node_bytes) ||
                             !mpm_buffer_reserve(&f->other_velocity, node_bytes)))) {
        return MPM_NO_MEMORY;
    }
    mpm_fast_use_slabs(f, s);
    mpm_fast_plan_segment(f, s);
    if (s->keeps_grid && !mpm_grid_history_reserve(&s->grid, mpm_fast_most_substeps(f, s))) {
        return MPM_NO_MEMORY;
    }
    bool keep = s->keeps_history || (f->with_adjoint && f->substeps - s->first <= f->interval);
    return keep ? mpm_fast_reserve_history(f, index) : MPM_OK;
}
