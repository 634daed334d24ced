/* SPDX-License-Identifier: Apache-2.0 */
/* variant.c - the fused passes of one substep over the particles: velocities from the grid of the previous
 * substep, constitutive law, momentum to the grid; and the same backwards. Compiled once per float type and
 * instruction set (see local.mk). */
#include "engines/physics/mpm/fast/kernels.h"

#include "common/isa.h"
#include "engines/physics/mpm/fast/chunk.h"
#include "engines/physics/mpm/fast/nodes.h"

#include <string.h>

/* ---- forward ---- */

/* F before the pass, for the adjoint. */
INLINE void keep_gradients(real *to, const real *f_records, size_t width)
{
    for (size_t k = 0; k < width * CHUNK; k += VL) {
        stream(to + k, load(f_records + k));
    }
}

/* A chunk in a substep: at the start of a segment (`first`) or within it; does not spread to the grid if its
 * velocities after this substep are known (`known`). */
static void forward_chunk(const mpm_pass *p, mpm_block *block, int start, int count, reach *bounds, work *w,
                          bool first, bool known)
{
    size_t at = block->first + (size_t)start, width = mpm_width(p->law->law);
    size_t f_at = block->first_f + width * (size_t)start;
    real *x = (real *)p->now.x + 4 * at, *f_records = (real *)p->now.f + f_at;
    real *keep_x = p->keep_x ? (real *)p->keep_x + 4 * at : NULL;
    real *keep_f = p->keep_f ? (real *)p->keep_f + f_at : NULL;
    const real *velocity = first ? (const real *)p->now.v + 4 * at : w->moved.part[0][0];
    const real *columns[3];
    for (size_t k = 0; k < 3; k++) {
        columns[k] = first ? (const real *)p->now.m + 4 * (k * p->padded + at) : w->moved.part[1 + k][0];
    }
    fetch(x + 4 * CHUNK, 4 * CHUNK);
    fetch(f_records + width * CHUNK, (int)width * CHUNK);
    if (!first) {
        locate(&p->box, x, &w->before);
        gather_chunk(p, &w->before, count, &w->moved);
        for (int i = 0; i < CHUNK; i += QUADS) {
            store(x + 4 * i, move(&w->by, load(x + 4 * i), load(velocity + 4 * i)));
        }
    }
    if (keep_x) {
        for (int k = 0; k < 4 * CHUNK; k += VL) {
            stream(keep_x + k, load(x + k));
        }
        keep_gradients(keep_f, f_records, width);
    }
    law_chunk(p, w, columns, f_records, !known);
    if (known) {
        return;
    }
    locate_and_bound(&p->box, x, &w->now, bounds);
    for (int i = 0; i < CHUNK; i += QUADS) {
        vec field[4];
        momentum_quads(w, velocity, columns, i, field);
        save_field(&w->field, &w->now, i, field);
    }
    scatter_chunk(p, block, &w->now, count, &w->field);
}

static reach nowhere(void)
{
    reach r;
    for (int d = 0; d < 3; d++) {
        r.lower[d] = all(R(1e6));
        r.upper[d] = all(R(-1e6));
    }
    return r;
}

static void report_reach(mpm_block *block, const reach *r)
{
    for (int d = 0; d < 3; d++) {
        block->lower[d] = -(double)largest_lane(-r->lower[d]);
        block->upper[d] = (double)largest_lane(r->upper[d]);
    }
}

static void forward_block(const mpm_pass *pass, mpm_block *block, void *scratch, bool first, bool known)
{
    work *w = scratch;
    reach bounds = nowhere();
    set_constants(pass, &w->by);
    for (int i = 0; i < (int)block->count; i += CHUNK) {
        forward_chunk(pass, block, i, chunk_count(block, i), &bounds, w, first, known);
    }
    if (!known) {
        report_reach(block, &bounds);
    }
}

static void forward(const mpm_pass *pass, mpm_block *block, void *scratch)
{
    forward_block(pass, block, scratch, false, false);
}

static void forward_first(const mpm_pass *pass, mpm_block *block, void *scratch)
{
    forward_block(pass, block, scratch, true, false);
}

static void repeat(const mpm_pass *pass, mpm_block *block, void *scratch)
{
    forward_block(pass, block, scratch, false, true);
}

static void repeat_first(const mpm_pass *pass, mpm_block *block, void *scratch)
{
    forward_block(pass, block, scratch, true, true);
}

/* Only the end of a substep: positions, velocities and moments to pass->out. */
static void gather(const mpm_pass *p, mpm_block *block, void *scratch)
{
    work *w = scratch;
    set_constants(p, &w->by);
    for (int i = 0; i < (int)block->count; i += CHUNK) {
        size_t at = block->first + (size_t)i;
        const real *x = (const real *)p->now.x + 4 * at;
        locate(&p->box, x, &w->before);
        gather_chunk(p, &w->before, chunk_count(block, i), &w->moved);
        for (int j = 0; j < CHUNK; j += QUADS) {
            store((real *)p->out.x + 4 * at + 4 * j,
                  move(&w->by, load(x + 4 * j), load(w->moved.part[0][j])));
        }
        memcpy((real *)p->out.v + 4 * at, w->moved.part[0], 4 * CHUNK * sizeof(real));
        for (size_t k = 0; k < 3; k++) {
            memcpy((real *)p->out.m + 4 * (k * p->padded + at), w->moved.part[1 + k],
                   4 * CHUNK * sizeof(real));
        }
    }
}

/* ---- adjoint ---- */

/* Adjoint of the end of the previous substep: h: adjoint of velocity and moments at QUADS particles, x_bar:
 * of the new position. Saves what is spread to the grid and returns the adjoint of the old position. */
INLINE vec gather_adjoint_quads(work *w, int i, vec x_bar, vec x, vec h[4])
{
    mask free = less(w->by.low, x) & less(x, w->by.high);
    x_bar = choose(free, x_bar, all(R(0)));
    h[0] += w->by.drift * x_bar;
    save_field(&w->field, &w->before, i, h);
    return x_bar + R(0.5) * position_adjoint(&w->own, h[0], h[1], h[2], h[3], i);
}

static void adjoint_chunk(const mpm_pass *p, mpm_block *block, int start, int count, work *w, bool first)
{
    size_t at = block->first + (size_t)start, width = mpm_width(p->law->law);
    size_t f_at = block->first_f + width * (size_t)start;
    const real *x = (const real *)p->now.x + 4 * at, *f_records = (const real *)p->now.f + f_at;
    real *x_bar = (real *)p->bar.x + 4 * at, *f_bar = (real *)p->bar.f + f_at;
    real turned[3][CHUNK][4] __attribute__((aligned(64)));
    const real *velocity = first ? (const real *)p->now.v + 4 * at : w->own.sums.part[0][0];
    const real *columns[3];
    for (size_t k = 0; k < 3; k++) {
        columns[k] = first ? (const real *)p->now.m + 4 * (k * p->padded + at) : w->own.sums.part[1 + k][0];
    }
    fetch(x + 4 * CHUNK, 4 * CHUNK);
    fetch(x_bar + 4 * CHUNK, 4 * CHUNK);
    fetch(f_records + width * CHUNK, (int)width * CHUNK);
    fetch(f_bar + width * CHUNK, (int)width * CHUNK);
    if (!first) {
        fetch((const real *)p->x_before + 4 * (at + CHUNK), 4 * CHUNK);
        locate_to_spread(&p->box, (const real *)p->x_before + 4 * at, &w->before);
        gather_chunk_derivatives(p, p->velocity, &w->before, count, &w->cells, &w->own);
    }
    locate(&p->box, x, &w->now);
    const law_state state = law_again_chunk(p, w, columns, f_records);
    for (int i = 0; i < CHUNK; i += QUADS) {
        vec field[4];
        momentum_quads(w, velocity, columns, i, field);
#pragma GCC unroll 4
        for (int k = 0; k < 4; k++) {
            store(w->field.part[k][i], field[k]);
        }
    }
    gather_chunk_contracted(p, p->node_bar, &w->now, count, &w->cells, &w->field, &w->other, w->position_bar);
    law_adjoint_chunk(p, w, &state, columns, f_records, f_bar, turned);
    if (p->law->bar) {
        inertia_adjoint(p, w, velocity, columns, count);
    }

    for (int i = 0; i < CHUNK; i += QUADS) {
        vec h[4], bar = load(x_bar + 4 * i) + R(0.5) * load(w->position_bar[i]);
        h[0] = w->by.inertia * load(w->other.part[0][i]);
#pragma GCC unroll 3
        for (int k = 0; k < 3; k++) {
            h[1 + k] = w->by.apic * load(w->other.part[1 + k][i]) + R(p->stretch) * load(turned[k][i]);
        }
        if (first) {
            store((real *)p->bar.v + 4 * (at + (size_t)i), h[0]);
            for (size_t k = 0; k < 3; k++) {
                store((real *)p->bar.m + 4 * (k * p->padded + at + (size_t)i), h[1 + k]);
            }
        } else {
            bar = gather_adjoint_quads(w, i, bar, load(x + 4 * i), h);
        }
        store(x_bar + 4 * i, bar);
    }
    if (!first) {
        scatter_chunk(p, block, &w->before, count, &w->field);
    }
}

static void adjoint_block(const mpm_pass *pass, mpm_block *block, void *scratch, bool first)
{
    work *w = scratch;
    set_constants(pass, &w->by);
    for (int i = 0; i < (int)block->count; i += CHUNK) {
        adjoint_chunk(pass, block, i, chunk_count(block, i), w, first);
    }
}

static void adjoint(const mpm_pass *pass, mpm_block *block, void *scratch)
{
    adjoint_block(pass, block, scratch, false);
}

static void adjoint_first(const mpm_pass *pass, mpm_block *block, void *scratch)
{
    adjoint_block(pass, block, scratch, true);
}

/* Adjoint of gather(): from the adjoints of x, v and moments in pass->bar to those of x before and the grid.
 */
static void gather_adjoint(const mpm_pass *p, mpm_block *block, void *scratch)
{
    work *w = scratch;
    set_constants(p, &w->by);
    for (int start = 0; start < (int)block->count; start += CHUNK) {
        size_t at = block->first + (size_t)start;
        int count = chunk_count(block, start);
        const real *before = (const real *)p->x_before + 4 * at;
        real *x_bar = (real *)p->bar.x + 4 * at;
        locate_to_spread(&p->box, before, &w->before);
        gather_chunk_derivatives(p, p->velocity, &w->before, count, &w->cells, &w->own);
        for (int i = 0; i < CHUNK; i += QUADS) {
            vec h[4];
            h[0] = load((const real *)p->bar.v + 4 * (at + (size_t)i));
            for (size_t k = 0; k < 3; k++) {
                h[1 + k] = load((const real *)p->bar.m + 4 * (k * p->padded + at + (size_t)i));
            }
            vec x = move(&w->by, load(before + 4 * i), load(w->own.sums.part[0][i]));
            store(x_bar + 4 * i, gather_adjoint_quads(w, i, load(x_bar + 4 * i), x, h));
        }
        scatter_chunk(p, block, &w->before, count, &w->field);
    }
}

/* mpm_kernels_64_avx2 and so on */
#define KERNELS ISA_VARIANT(mpm_kernels, ISA_VARIANT(MPM_REAL_BITS, MPM_ISA))

extern const mpm_kernels KERNELS;
const mpm_kernels KERNELS = {
    .isa = ISA_NAME(MPM_ISA),
    .lanes = VL,
    .chunk = CHUNK,
    .real = sizeof(real),
    .scratch = sizeof(work),
    .particles = {[MPM_PASS_FORWARD] = forward,
                  [MPM_PASS_FORWARD_FIRST] = forward_first,
                  [MPM_PASS_REPEAT] = repeat,
                  [MPM_PASS_REPEAT_FIRST] = repeat_first,
                  [MPM_PASS_GATHER] = gather,
                  [MPM_PASS_ADJOINT] = adjoint,
                  [MPM_PASS_ADJOINT_FIRST] = adjoint_first,
                  [MPM_PASS_GATHER_ADJOINT] = gather_adjoint},
    .nodes_forward = nodes_forward,
    .nodes_walls = nodes_walls,
    .nodes_speed = nodes_speed,
    .nodes_adjoint = nodes_adjoint,
    .pack = pack_plane,
    .unpack = unpack_plane,
    .import = import_particles,
    .export = export_particles,
    .add_bar = add_bar,
    .permute = permute,
    .bases = bases,
    .node = get_node,
    .set_node = set_node,
};
