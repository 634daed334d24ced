/* SPDX-License-Identifier: Apache-2.0 */
/* engine.c - the fast engine: set-up, the episode forward and backward. */
#include "engines/physics/mpm/fast/engine_internal.h"

#include "engines/kit/memory_share.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    SORT_INTERVAL = 38, /* substeps; with more, particles of a cell are scattered in the order */
    PARTICLES_PER_BLOCK = 2500
};

static const size_t least_budget = 235000000, budget_per_particle = 17500;

static size_t good_budget(const mpm_sim *sim)
{
    size_t bytes = budget_per_particle * sim->n_particles;
    return bytes > least_budget ? bytes : least_budget;
}

void mpm_fast_on_stop(mpm_fast *f, uint32_t (*should_stop)(const void *context), const void *context)
{
    f->should_stop = should_stop;
    f->stop_context = context;
}

/* Groups without particles are left out. */
static void make_groups(mpm_fast *f)
{
    size_t chunk = (size_t)f->kernels->chunk;
    for (uint32_t k = 0; k < f->sim->n_phases; k++) {
        const mpm_phase *phase = &f->sim->phases[k];
        if (phase->count > 0) {
            mpm_group *g = &f->groups[f->n_groups++];
            g->phase = phase;
            g->room.first = f->padded;
            g->room.slots = (phase->count + chunk - 1) / chunk * chunk;
            g->room.first_f = f->gradients;
            g->room.width = mpm_width(phase->material.law);
            f->padded += g->room.slots;
            f->gradients += g->room.slots * g->room.width;
        }
    }
    for (int k = 0; k < f->n_groups; k++) {
        f->groups[k].room.padded = f->padded;
    }
}

static void make_group_blocks(mpm_fast *f, int index, uint32_t most)
{
    const mpm_group *g = &f->groups[index];
    uint32_t n = g->phase->count, chunk = (uint32_t)f->kernels->chunk;
    uint32_t wanted = (n + PARTICLES_PER_BLOCK - 1) / PARTICLES_PER_BLOCK;
    wanted = wanted < 2 && n >= PARTICLES_PER_BLOCK / 4 ? 2 : wanted;
    wanted = wanted > most ? most : wanted;
    size_t chunks = g->room.slots / chunk, done = 0;
    for (uint32_t b = 0; b < wanted; b++) {
        size_t end = chunks * (b + 1) / wanted;
        uint32_t first = (uint32_t)done * chunk, last = (uint32_t)end * chunk;
        if (end > done) {
            mpm_block *block = &f->blocks[f->n_blocks++];
            block->first = (uint32_t)g->room.first + first;
            block->first_f = g->room.first_f + first * g->room.width;
            block->count = (last < n ? last : n) - first;
            block->group = (uint32_t)index;
        }
        done = end;
    }
}

static void make_blocks(mpm_fast *f)
{
    for (int k = 0; k < f->n_groups; k++) {
        make_group_blocks(f, k, (uint32_t)(MPM_MAX_BLOCKS - f->n_blocks - (f->n_groups - 1 - k)));
    }
}

static void set_limits(mpm_fast *f)
{
    const mpm_domain *domain = &f->sim->domain;
    for (int d = 0; d < 3; d++) {
        f->lowest[d] = (int)(mpm_in_spacings(domain, domain->low[d]) - 0.5);
        f->highest[d] = (int)(mpm_in_spacings(domain, domain->high[d]) - 0.5);
    }
}

mpm_fast *mpm_fast_create(const mpm_sim *sim, const mpm_fast_options *options)
{
    const mpm_kernels *kernels = mpm_kernels_find(options->bits, options->isa);
    mpm_fast *f = kernels && sim->n_particles > 0 ? calloc(1, sizeof *f) : NULL;
    if (!f) {
        return NULL;
    }
    f->kernels = kernels;
    f->sim = sim;
    f->store = options->store;
    f->budget = options->budget ? options->budget : good_budget(sim);
    f->later_budget = options->later_budget;
    f->own_budget = options->budget == 0 && options->later_budget == 0;
    f->times = options->times;
    f->interval = options->interval ? options->interval : SORT_INTERVAL;
    f->threads = options->threads ? options->threads : 1;
    make_groups(f);
    set_limits(f);
    f->shared_owner = MPM_NONE;
    make_blocks(f);
    f->threads = f->threads > MPM_MAX_BLOCKS ? MPM_MAX_BLOCKS : f->threads;
    f->team = kit_team_create(f->threads);
    size_t nodes = (size_t)sim->domain.n * (size_t)sim->domain.n;
    f->marks_stride = (nodes + kernels->lanes) * (sizeof(uint32_t) + 1);
    size_t n = sim->n_particles, cells = nodes * (size_t)sim->domain.n;
    if (!f->team || !mpm_buffer_reserve(&f->work, mpm_fields_bytes(kernels, f->padded, f->gradients)) ||
        !mpm_buffer_reserve(&f->scratch, f->threads * (kernels->scratch + f->marks_stride + 128)) ||
        !mpm_buffer_reserve(&f->loose, mpm_fields_bytes(kernels, f->padded, f->gradients)) ||
        !mpm_buffer_reserve(&f->sorting, 6 * n + 64 + 4 * (n + cells + 1 + 3 * n))) {
        mpm_fast_destroy(f);
        return NULL;
    }
    memset(f->scratch.at, 0, f->scratch.bytes);
    memset(f->work.at, 0, f->work.bytes);
    memset(f->loose.at, 0, f->loose.bytes);
    f->now = mpm_fields_in(kernels, f->padded, f->work.at);
    f->between = mpm_fields_in(kernels, f->padded, f->loose.at);
    return f;
}

void mpm_fast_destroy(mpm_fast *f)
{
    if (!f) {
        return;
    }
    kit_team_destroy(f->team);
    for (uint32_t s = 0; s < f->segment_capacity; s++) {
        mpm_buffer_free(&f->segments[s].order);
        mpm_buffer_free(&f->segments[s].start);
        mpm_grid_history_free(&f->segments[s].grid);
        mpm_history_free(&f->segments[s].history);
    }
    free(f->segments);
    for (int t = 0; t < MPM_PLANE_TASKS; t++) {
        mpm_near_free(&f->near[t]);
    }
    mpm_history_free(&f->shared);
    mpm_grid_history_free(&f->shared_grid);
    mpm_buffer_free(&f->slabs);
    mpm_buffer_free(&f->scratch);
    mpm_buffer_free(&f->work);
    mpm_buffer_free(&f->bars);
    mpm_buffer_free(&f->loose);
    mpm_buffer_free(&f->state);
    mpm_buffer_free(&f->velocity);
    mpm_buffer_free(&f->other_velocity);
    mpm_buffer_free(&f->node_bar);
    mpm_buffer_free(&f->sorting);
    free(f);
}

/* ---- episode forward ----
 *
 * The episode forward, one substep at a time; starts a new segment when the current one has used up its room.
 */

static void raise_budget(mpm_fast *f)
{
    if (f->adjoints++ == MPM_EARLY_EPISODES) {
        size_t later = f->own_budget ? kit_memory_share("", f->threads) : f->later_budget;
        f->budget = later > f->budget ? later : f->budget;
    }
}

mpm_result mpm_fast_start(mpm_fast *f, const mpm_particle *particles, const mpm_pose *poses,
                          uint32_t substeps, bool with_adjoint)
{
    uint32_t n = f->sim->n_particles;
    const mpm_domain *domain = &f->sim->domain;
    f->poses = poses;
    f->substeps = substeps;
    f->with_adjoint = with_adjoint;
    f->backward = false;
    f->frame = f->repeated = 0;
    f->n_segments = 0;
    f->shared_owner = MPM_NONE;
    f->speed = 0.0;
    if (with_adjoint) {
        raise_budget(f);
    }
    if (with_adjoint && !f->bars.at) {
        size_t bytes = mpm_fields_bytes(f->kernels, f->padded, f->gradients);
        if (!mpm_buffer_reserve(&f->bars, bytes)) {
            return MPM_NO_MEMORY;
        }
        f->bar = mpm_fields_in(f->kernels, f->padded, f->bars.at);
    }
    uint32_t *identity = mpm_fast_local_order(f) + 2 * (size_t)n;
    for (uint32_t p = 0; p < n; p++) {
        for (int d = 0; d < 3; d++) {
            double x = particles[p].x[d], v = fabs(particles[p].v[d]);
            if (!(x >= domain->low[d] && x <= domain->high[d])) {
                return MPM_DIVERGED;
            }
            f->speed = v > f->speed ? v : f->speed;
        }
        identity[p] = p;
    }
    mpm_fields to = f->between;
    to.f = f->now.f;
    for (int k = 0; k < f->n_groups; k++) {
        const mpm_group *g = &f->groups[k];
        f->kernels->import(&to, &g->room, g->phase->count, identity + g->phase->first, domain->inv_dx,
                           domain->offset, particles);
    }
    return mpm_fast_begin_segment(f, identity);
}

/* Marks the stored data of a segment as complete. */
static void mpm_fast_complete(mpm_fast *f, uint32_t index)
{
    mpm_history *history = mpm_fast_forward_history(f, index);
    mpm_grid_history *grid = mpm_fast_grid_history(f, index);
    if (history) {
        history->complete = true;
    }
    if (grid) {
        grid->complete = true;
    }
}

mpm_result mpm_fast_advance(mpm_fast *f)
{
    uint32_t index = mpm_fast_present_segment(f);
    mpm_segment *s = &f->segments[index];
    uint32_t local = f->frame - s->first;
    if (local > 0 && (local >= f->interval || !mpm_fast_room_left(f, s))) {
        s->count = local;
        mpm_fast_settle(f, s, mpm_fast_grid_history(f, index), local - 1);
        mpm_fast_complete(f, index);
        double begin = mpm_fast_begin_time(f);
        mpm_result result = mpm_fast_begin_segment(f, s->order.at);
        mpm_fast_end_time(f, MPM_TIME_SORT, begin);
        if (result != MPM_OK) {
            return result;
        }
        index = mpm_fast_present_segment(f);
        s = &f->segments[index];
        local = 0;
    }
    mpm_result result =
        mpm_fast_step(f, s, mpm_fast_forward_history(f, index), mpm_fast_grid_history(f, index), local);
    s->count = local + 1;
    f->frame++;
    if (f->frame == f->substeps) {
        mpm_fast_complete(f, index);
    }
    return result;
}

static void mpm_fast_export(mpm_fast *f, const mpm_fields *from, const mpm_segment *s, double inv_dx,
                            double offset, mpm_particle *to)
{
    for (int k = 0; k < f->n_groups; k++) {
        const mpm_group *g = &f->groups[k];
        const uint32_t *order = s->order.at;
        f->kernels->export(from, &g->room, g->phase->count, order + g->phase->first, inv_dx, offset, to);
    }
}

/* Sets the part of F that syrup does not use: diag(J, rest, rest). */
static void mpm_fast_clear_unused(const mpm_phase *phase, double rest, mpm_particle *particles)
{
    for (uint32_t p = phase->first; phase->material.law == MPM_SYRUP && p < phase->first + phase->count;
         p++) {
        for (int i = 1; i < 9; i++) {
            particles[p].f[i] = i % 4 == 0 ? rest : 0.0;
        }
    }
}

/* Fields of the present frame; during the adjoint without v and m. */
static mpm_fields present(mpm_fast *f, uint32_t index)
{
    mpm_segment *s = &f->segments[index];
    mpm_fields from = f->start;
    uint32_t local = f->frame - s->first;
    if (f->backward && local < s->count) {
        from.x = mpm_history_x(f, mpm_fast_history(f, s), local);
        from.f = mpm_history_f(f, mpm_fast_history(f, s), local);
        from.v = from.m = NULL;
    } else if (f->frame > s->first) {
        mpm_fast_settle(f, s, mpm_fast_grid_history(f, index), f->frame - 1 - s->first);
        from = f->between;
        from.f = f->now.f;
    }
    return from;
}

mpm_result mpm_fast_state(mpm_fast *f, mpm_particle *particles)
{
    uint32_t index = f->backward ? f->bar_segment : mpm_fast_present_segment(f);
    mpm_fields from = present(f, index);
    mpm_fast_export(f, &from, &f->segments[index], f->sim->domain.inv_dx, f->sim->domain.offset, particles);
    for (int k = 0; k < f->n_groups; k++) {
        mpm_fast_clear_unused(f->groups[k].phase, 1.0, particles);
    }
    return MPM_OK;
}

mpm_result mpm_fast_positions(mpm_fast *f, mpm_particle *particles)
{
    uint32_t index = f->backward ? f->bar_segment : mpm_fast_present_segment(f);
    mpm_fields from = present(f, index);
    from.v = from.m = from.f = NULL;
    mpm_fast_export(f, &from, &f->segments[index], f->sim->domain.inv_dx, f->sim->domain.offset, particles);
    return MPM_OK;
}

/* ---- episode backward ----
 *
 * The episode backward, one substep at a time. Particles of a segment without history are simulated again. */

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

/* Makes f->start the state at the start of a segment. */
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

/* Reorders `bar` from its segment to the one before. */
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
