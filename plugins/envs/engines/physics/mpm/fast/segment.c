/* SPDX-License-Identifier: Apache-2.0 */
/* segment.c - memory of the fast engine: what a segment stores, the order of its particles, its box of nodes,
 * and its checkpoint. */
#include "engines/physics/mpm/fast/engine_internal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Large buffers begin with pages of this size if the system has them: allocation and address translation take
 * less time. */
static const size_t huge_page = 2097152;

bool mpm_buffer_reserve(mpm_buffer *b, size_t bytes)
{
    if (bytes <= b->bytes) {
        return true;
    }
    mpm_buffer_free(b);
    bytes = (bytes + 4095) / 4096 * 4096;
    bool huge = bytes >= 2 * huge_page;
    b->at = NULL;
    if (posix_memalign(&b->at, huge ? huge_page : 4096, bytes) != 0) {
        b->at = NULL;
    }
#if defined(MADV_HUGEPAGE)
    if (b->at && huge) {
        (void)madvise(b->at, bytes, MADV_HUGEPAGE); /* if refused, ordinary pages work too */
    }
#endif
    b->bytes = b->at ? bytes : 0;
    return b->at != NULL;
}

void mpm_buffer_free(mpm_buffer *b)
{
    free(b->at);
    memset(b, 0, sizeof *b);
}

/* Floats per particle without F: x, v, three moments (4 each). */
enum { FIELD_FLOATS = 4 + 4 + 12 };

size_t mpm_fields_bytes(const mpm_kernels *k, size_t padded, size_t gradients)
{
    return (padded * FIELD_FLOATS + gradients) * k->real;
}

mpm_fields mpm_fields_in(const mpm_kernels *k, size_t padded, void *at)
{
    char *bytes = at;
    size_t quads = padded * 4 * k->real;
    mpm_fields f = {.x = bytes, .v = bytes + quads, .m = bytes + 2 * quads, .f = bytes + 5 * quads};
    return f;
}

static bool mpm_history_reserve(mpm_history *h, const mpm_kernels *k, size_t padded, size_t gradients,
                                uint32_t substeps)
{
    h->complete = false;
    return mpm_buffer_reserve(&h->x, substeps * padded * 4 * k->real) &&
           mpm_buffer_reserve(&h->f, substeps * gradients * k->real);
}

void mpm_history_free(mpm_history *h)
{
    mpm_buffer_free(&h->x);
    mpm_buffer_free(&h->f);
}

static size_t mpm_history_bytes(const mpm_history *h)
{
    return h->x.bytes + h->f.bytes;
}

/* Packed data gets its room from mpm_packed_reserve(). */
static bool mpm_grid_history_reserve(mpm_grid_history *h, uint32_t substeps)
{
    bool done = mpm_buffer_reserve(&h->starts, 2 * MPM_PLANE_TASKS * (substeps + (size_t)1) * sizeof(size_t));
    size_t *starts = h->starts.at;
    for (size_t t = 0; done && t < MPM_PLANE_TASKS; t++) {
        h->struck[t].start = starts + 2 * t * (substeps + (size_t)1);
        h->struck[t].count = 0;
        h->velocity[t].start = starts + (2 * t + 1) * (substeps + (size_t)1);
        h->velocity[t].used = 0;
    }
    h->complete = false;
    return done;
}

size_t mpm_packed_plane(const mpm_kernels *k, const mpm_box *box)
{
    return (size_t)box->stride_x * 4 * k->real + ((size_t)box->size[1] + 8) * sizeof(mpm_span);
}

bool mpm_packed_reserve(mpm_packed *p, size_t bytes, uint32_t local, uint32_t substeps)
{
    if (p->used + bytes <= p->buffer.bytes) {
        return true;
    }
    mpm_buffer grown = {0};
    size_t foreseen = local > 0 && substeps > local ? p->used / local * (substeps - local) : 0;
    if (!mpm_buffer_reserve(&grown, p->used + bytes + foreseen + foreseen / 32)) {
        return false;
    }
    if (p->used > 0) {
        memcpy(grown.at, p->buffer.at, p->used);
    }
    mpm_buffer_free(&p->buffer);
    p->buffer = grown;
    return true;
}

void mpm_grid_history_free(mpm_grid_history *h)
{
    mpm_buffer_free(&h->starts);
    for (int t = 0; t < MPM_PLANE_TASKS; t++) {
        mpm_buffer_free(&h->velocity[t].buffer);
        free(h->struck[t].nodes);
    }
    memset(h, 0, sizeof *h);
}

static size_t mpm_grid_history_bytes(const mpm_grid_history *h)
{
    size_t bytes = h->starts.bytes;
    for (int t = 0; t < MPM_PLANE_TASKS; t++) {
        bytes += h->velocity[t].buffer.bytes + h->struck[t].capacity * sizeof(mpm_struck);
    }
    return bytes;
}

/* Sorts particles by cell, x slowest. base: 3 per particle, order[i]: index in it of the i-th one. Equal
 * cells keep their order. `keys` and `counts` are scratch. */
static void mpm_sort_by_cell(const int16_t *base, uint32_t n, const int low[3], const int high[3],
                             uint32_t *keys, uint32_t *counts, uint32_t *order)
{
    uint32_t ny = (uint32_t)(high[1] - low[1] + 1), nz = (uint32_t)(high[2] - low[2] + 1);
    uint32_t cells = (uint32_t)(high[0] - low[0] + 1) * ny * nz;
    memset(counts, 0, (cells + (size_t)1) * sizeof *counts);
    for (uint32_t p = 0; p < n; p++) {
        const int16_t *own = base + 3 * (size_t)p;
        uint32_t x = (uint32_t)(own[0] - low[0]), y = (uint32_t)(own[1] - low[1]);
        keys[p] = (x * ny + y) * nz + (uint32_t)(own[2] - low[2]);
        counts[keys[p] + 1]++;
    }
    for (uint32_t c = 0; c < cells; c++) {
        counts[c + 1] += counts[c];
    }
    for (uint32_t p = 0; p < n; p++) {
        order[counts[keys[p]]++] = p;
    }
}

/* The box for base nodes from `low` to `high`; planes are whole vectors of `quads` nodes. */
static mpm_box mpm_box_make(const int low[3], const int high[3], int quads)
{
    mpm_box box;
    for (int d = 0; d < 3; d++) {
        box.lower[d] = low[d];
        box.size[d] = high[d] - low[d] + 3;
    }
    box.stride_y = box.size[2];
    box.stride_x = (box.size[1] * box.size[2] + quads - 1) / quads * quads;
    box.nodes = (size_t)box.size[0] * (size_t)box.stride_x;
    return box;
}

/* ---- bytes ----
 *
 * Copies and clears large memory with all threads: threads that wait between two segments would fall asleep.
 */

enum { SLICES = 8, LEAST = 65536 };

typedef struct piece {
    char *to;
    const char *from; /* NULL: zeros */
    size_t bytes;
} piece;

static void do_slice(void *context, int task, int member)
{
    const piece *p = context;
    size_t slice = (p->bytes / SLICES + 64) / 64 * 64, at = slice * (size_t)task;
    (void)member;
    if (at < p->bytes) {
        size_t bytes = p->bytes - at < slice ? p->bytes - at : slice;
        if (p->from) {
            memcpy(p->to + at, p->from + at, bytes);
        } else {
            memset(p->to + at, 0, bytes);
        }
    }
}

static void do_piece(const mpm_fast *f, piece p)
{
    if (p.bytes >= LEAST) {
        kit_team_run(f->team, do_slice, &p, SLICES);
    } else if (p.from) {
        memcpy(p.to, p.from, p.bytes);
    } else {
        memset(p.to, 0, p.bytes);
    }
}

void mpm_fast_copy(const mpm_fast *f, void *to, const void *from, size_t bytes)
{
    do_piece(f, (piece){.to = to, .from = from, .bytes = bytes});
}

/* To zeros. */
static void mpm_fast_clear(const mpm_fast *f, void *at, size_t bytes)
{
    do_piece(f, (piece){.to = at, .bytes = bytes});
}

static size_t mpm_segment_bytes(const mpm_segment *s)
{
    return s->order.bytes + s->start.bytes + mpm_grid_history_bytes(&s->grid) +
           mpm_history_bytes(&s->history);
}

size_t mpm_fast_memory(const mpm_fast *f)
{
    size_t bytes = f->slabs.bytes + f->scratch.bytes + f->work.bytes + f->bars.bytes + f->loose.bytes +
                   f->state.bytes + f->velocity.bytes + f->other_velocity.bytes + f->node_bar.bytes +
                   f->sorting.bytes + mpm_history_bytes(&f->shared) + mpm_grid_history_bytes(&f->shared_grid);
    for (uint32_t s = 0; s < f->segment_capacity; s++) {
        bytes += mpm_segment_bytes(&f->segments[s]);
    }
    return bytes;
}

/* ---- checkpoints ----
 *
 * The checkpoint of a segment, for the way back: x and f before the last move of the previous segment, and
 * the grid that moved them. Velocities and moments are many numbers, and one gather recomputes them. */

static size_t x_bytes(const mpm_fast *f)
{
    return f->padded * 4 * f->kernels->real;
}

static size_t f_bytes(const mpm_fast *f)
{
    return f->gradients * f->kernels->real;
}

static size_t velocity_bytes(const mpm_fast *f, const mpm_box *box)
{
    return box->nodes * 4 * f->kernels->real + MPM_ROOM;
}

/* Bytes of the checkpoint of a segment that follows one with this box. */
static size_t mpm_checkpoint_bytes(const mpm_fast *f, const mpm_box *before)
{
    return x_bytes(f) + f_bytes(f) + velocity_bytes(f, before);
}

/* Stores the checkpoint of the latest segment. */
static mpm_result mpm_fast_keep_start(mpm_fast *f, uint32_t index)
{
    mpm_segment *s = &f->segments[index];
    const mpm_box *before = index > 0 ? &s[-1].box : NULL;
    if (!mpm_buffer_reserve(&s->start, before ? mpm_checkpoint_bytes(f, before) : f->state.bytes)) {
        return MPM_NO_MEMORY;
    }
    char *at = s->start.at;
    if (!before) {
        memcpy(at, f->state.at, f->state.bytes);
        return MPM_OK;
    }
    mpm_fast_copy(f, at, f->now.x, x_bytes(f));
    mpm_fast_copy(f, at + x_bytes(f), f->now.f, f_bytes(f));
    mpm_fast_copy(f, at + x_bytes(f) + f_bytes(f), f->velocity.at, velocity_bytes(f, before));
    return MPM_OK;
}

bool mpm_fast_take_start(mpm_fast *f, uint32_t index, mpm_fields *moved, const void **velocity)
{
    char *at = f->segments[index].start.at;
    if (index == 0) {
        memcpy(f->state.at, at, f->state.bytes);
        return true;
    }
    moved->x = at;
    moved->f = at + x_bytes(f);
    *velocity = at + x_bytes(f) + f_bytes(f);
    return false;
}

/* ---- what is stored ----
 *
 * Decides what the engine stores for the adjoint: all states, or checkpoints and as much of the grid, then of
 * the states, as the memory budget allows. */

static mpm_segment *mpm_fast_add_segment(mpm_fast *f)
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

/* Estimated bytes of the grid of one substep. */
static size_t grid_bytes(const mpm_fast *f, const mpm_segment *s)
{
    return f->packed ? f->packed + f->packed / 16 : s->box.nodes * 4 * f->kernels->real;
}

/* Bytes held for this segment, the latest, and for earlier ones, without what it may store itself and without
 * shared memory. */
static size_t held_bytes(const mpm_fast *f, const mpm_segment *s)
{
    size_t used = mpm_fast_memory(f) - mpm_history_bytes(&f->shared) -
                  mpm_grid_history_bytes(&f->shared_grid) + s->start.bytes + s->order.bytes;
    for (uint32_t i = f->n_segments - 1; i < f->segment_capacity; i++) {
        used -= mpm_segment_bytes(&f->segments[i]);
    }
    return used;
}

/* Decides what the latest segment stores during the first simulation, such that everything stays within the
 * budget. */
static void mpm_fast_plan_segment(mpm_fast *f, mpm_segment *s)
{
    size_t own = mpm_fast_most_substeps(f, s), later = (f->substeps - s->first - 1) / f->interval;
    size_t substep = grid_bytes(f, s), particles = (4 * f->padded + f->gradients) * f->kernels->real;
    size_t state = mpm_checkpoint_bytes(f, &s->box) + s->order.bytes;
    size_t least = held_bytes(f, s) + f->interval * (particles + substep) + later * state;
    s->keeps_grid = f->with_adjoint && (f->store || least + own * substep <= f->budget);
    /* grids come first: they save more time per byte */
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

/* ---- layout ----
 *
 * Order of the particles, box of nodes and slabs of a segment: laid out with room for the particles to move;
 * the segment ends when the room is used up. */

enum { MOST_DRIFT_ROOM = 4 }; /* cells */

/* Bound of the sum of |weights| of a stencil: 1, but 1.5 per axis for positions within half a cell of the
 * origin. */
static const double weight_bound = 3.375;

/* Base nodes that a particle may move from `base` within one substep. */
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

/* Lowest and highest base nodes of particles [from, to) along axis d. */
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

/* Box, order of the particles (in `order`, by their present index within their group) and slabs of a new
 * segment. */
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
    /* NULL if `local` is known; else `local` follows from the old and the new order */
    uint32_t *inverse;
    const uint32_t *order_before, *order_after;
    double rest;
} permutation;

/* Position of the particles of a block in their group and in orders. */
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
