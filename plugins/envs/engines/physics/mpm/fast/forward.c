/* SPDX-License-Identifier: Apache-2.0 */
/* The episode forward, a substep at a time, with a new segment whenever one has used up its room. */
#include "engine_internal.h"
#include "engines/kit/memory_share.h"

#include <math.h>

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

void mpm_fast_complete(mpm_fast *f, uint32_t index)
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

void mpm_fast_export(mpm_fast *f, const mpm_fields *from, const mpm_segment *s, double inv_dx, double offset,
                     mpm_particle *to)
{
    for (int k = 0; k < f->n_groups; k++) {
        const mpm_group *g = &f->groups[k];
        const uint32_t *order = s->order.at;
        f->kernels->export(from, &g->room, g->phase->count, order + g->phase->first, inv_dx, offset, to);
    }
}

void mpm_fast_clear_unused(const mpm_phase *phase, double rest, mpm_particle *particles)
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
