/* SPDX-License-Identifier: Apache-2.0 */
/* What all passes over the particles do with a chunk of them: where it is on the grid, what comes from there
 * and what goes there. */
#ifndef MPM_FAST_CHUNK_H
#define MPM_FAST_CHUNK_H

#include "kernels.h"
#include "lanes.h"
#include "law.h"
#include "stencil.h"

#include <string.h>

enum { GROUPS = CHUNK / VL }; /* vectors of particles in a chunk */

/* Constants of a pass for quads: built once, because the compiler would do so in every loop. */
typedef struct constants {
    vec low, high, drift;    /* where particles are stopped; displacement per velocity */
    vec apic, inertia, mass; /* factors of moments, velocity; what component 3 of the momentum field holds */
} constants;

typedef struct work {
    constants by;
    site before, now; /* where the particles were and are on the grid */
    affine moved;     /* grid velocity at `before`: value and moments */
    affine field;     /* what goes to the grid */
    /* adjoint pass: of the grid velocity; of the adjoint of momentum and mass, where its derivatives are
     * wanted contracted with the field alone */
    gathered own;
    affine other;
    real position_bar[CHUNK_ROOM][4];
    /* forgotten at the start of each block, because the grids change */
    known_cell velocity_cell, bar_cell;
    real stress[3][CHUNK][4]; /* columns of the scaled stress */
    strain strains[GROUPS];
    sym squares[GROUPS];
    vec log_series[GROUPS][3], log_slope[GROUPS][3];
    stress_function phi[GROUPS];
    vec growth[GROUPS]; /* of syrup */
} work;

static void set_constants(const mpm_pass *p, constants *by)
{
    by->low = quad_constant(R(p->low[0]), R(p->low[1]), R(p->low[2]), R(0));
    by->high = quad_constant(R(p->high[0]), R(p->high[1]), R(p->high[2]), R(0));
    by->drift = quad_constant(R(p->drift), R(p->drift), R(p->drift), R(0));
    by->apic = quad_constant(R(4 * p->mass), R(4 * p->mass), R(4 * p->mass), R(0));
    by->inertia = quad_constant(R(p->mass), R(p->mass), R(p->mass), R(0));
    by->mass = quad_constant(R(0), R(0), R(0), R(p->mass));
}

static void load_gradient(const real *records, int group, vec f[9])
{
    for (int k = 0; k < 9; k++) {
        f[k] = *(const vec *)(records + (9 * group + k) * VL);
    }
}

static void save_gradient(real *records, int group, const vec f[9])
{
    for (int k = 0; k < 9; k++) {
        *(vec *)(records + (9 * group + k) * VL) = f[k];
    }
}

/* dt C as lanes from the moments of a group of VL particles. `columns`: where the three moments of the
 * chunk start. */
INLINE void velocity_step(const real *const columns[3], int group, real factor, vec step[9])
{
#pragma GCC unroll 3
    for (int k = 0; k < 3; k++) {
        vec c[3];
        quads_to_lanes(columns[k] + (ptrdiff_t)group * VL * 4, c);
        step[k] = c[0] * factor;
        step[3 + k] = c[1] * factor;
        step[6 + k] = c[2] * factor;
    }
}

INLINE void save_columns(real (*columns)[CHUNK][4], int group, const vec t[9])
{
#pragma GCC unroll 3
    for (int k = 0; k < 3; k++) {
        lanes_to_quads(t[k], t[3 + k], t[6 + k], columns[k][group * VL]);
    }
}
/* The affine momentum field m v + Q (o - fx) dx of the particles, and their mass as component 3.
 * `velocity`, `columns`: velocity and moments. */
INLINE void momentum_quads(const work *w, const real *velocity, const real *const columns[3], int i,
                           vec field[4])
{
    field[0] = w->by.inertia * load(velocity + 4 * i) + w->by.mass;
#pragma GCC unroll 3
    for (int k = 0; k < 3; k++) {
        field[1 + k] = w->by.apic * load(columns[k] + 4 * i) + load(w->stress[k][i]);
    }
}

/* Stores an affine function of the offset to the particle as one of the offset to the middle node. */
INLINE void save_field(affine *to, const site *s, int i, const vec field[4])
{
    vec y = load(s->y[i]);
    store(to->part[0][i],
          field[0] - field[1] * SPREAD(y, 0) - field[2] * SPREAD(y, 1) - field[3] * SPREAD(y, 2));
    store(to->part[1][i], field[1]);
    store(to->part[2][i], field[2]);
    store(to->part[3][i], field[3]);
}

/* Zero at the particles that only fill the chunk. */
INLINE void clear_rest(real (*of_chunk)[4], int count)
{
    memset(of_chunk[count], 0, (size_t)(CHUNK - count) * sizeof of_chunk[0]);
}

/* Velocity and moments at the particles of a chunk, from the grid; zero for those that only
 * fill the chunk. */
CHUNK_STEP void gather_chunk(const mpm_pass *p, const site *s, int count, affine *out)
{
    for (int i = 0; i < count;) {
        int end = run_end(s, i, count);
        gather_run(&p->box, p->velocity, s, i, end, out);
        i = end;
    }
    for (int k = 0; k < 4 && count < CHUNK; k++) {
        clear_rest(out->part[k], count);
    }
}

/* Spreads an affine field to the slab of the block. */
CHUNK_STEP void scatter_chunk(const mpm_pass *p, mpm_block *block, const site *s, int count,
                              const affine *field)
{
    ptrdiff_t skip = (ptrdiff_t)block->plane * p->box.stride_x;
    for (int i = 0; i < count;) {
        int end = run_end(s, i, count);
        scatter_run(&p->box, block->slab, skip, s, i, end, field);
        i = end;
    }
}

INLINE void gather_derivatives(const mpm_pass *p, const void *grid, const site *s, int count,
                               known_cell *known, const sink *to)
{
    for (int i = 0; i < count;) {
        int end = run_end(s, i, count);
        gather_run_derivatives(&p->box, grid, s, i, end, known, to);
        i = end;
    }
    for (int k = 0; k < 4 && count < CHUNK; k++) {
        clear_rest(to->sums->part[k], count);
        for (int d = 0; to->all && d < 3; d++) {
            clear_rest(k ? to->all->by_moment[d][k - 1] : to->all->by_value[d], count);
        }
    }
    if (!to->all && count < CHUNK) {
        clear_rest(to->position_bar, count);
    }
}

/* Value, moments and their derivatives at the particles of a chunk. */
CHUNK_STEP void gather_chunk_derivatives(const mpm_pass *p, const void *grid, const site *s, int count,
                                         known_cell *known, gathered *out)
{
    gather_derivatives(p, grid, s, count, known, &(sink){.sums = &out->sums, .all = out});
}

/* Value, moments, and the derivative of the sum over the stencils of the grid field times that of the
 * particles. */
CHUNK_STEP void gather_chunk_contracted(const mpm_pass *p, const void *grid, const site *s, int count,
                                        known_cell *known, const affine *field, affine *sums,
                                        real (*position_bar)[4])
{
    gather_derivatives(p, grid, s, count, known,
                       &(sink){.sums = sums, .field = field, .position_bar = position_bar});
}

INLINE vec move(const constants *by, vec x, vec v)
{
    return least(most(x + v * by->drift, by->low), by->high);
}

static int chunk_count(const mpm_block *block, int start)
{
    int left = (int)block->count - start;
    return left < CHUNK ? left : CHUNK;
}

#endif
