/* SPDX-License-Identifier: Apache-2.0 */
/* Set-up of the fast engine: particles in groups of one matter and blocks, threads, and the
 * memory that stays. */
#include "engine_internal.h"

#include <stdlib.h>
#include <string.h>

enum {
    SORT_INTERVAL = 38, /* substeps: longer, and particles of one cell are scattered in the order */
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
