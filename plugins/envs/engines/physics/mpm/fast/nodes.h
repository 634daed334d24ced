/* SPDX-License-Identifier: Apache-2.0 */
/* nodes.h - grid step for whole planes of nodes: sum of the private slabs, velocity from momentum, gravity,
 * floor and walls that only stop; its adjoint; packing. strike.c handles tools and floors with friction at
 * single nodes. Also conversion of particles between the engine's arrays and mpm_particle, and from one order
 * to another. */
#ifndef MPM_FAST_NODES_H
#define MPM_FAST_NODES_H

#include "engines/physics/mpm/fast/kernels.h"
#include "engines/physics/mpm/fast/lanes.h"

#include <string.h>

/* As in grid.c: lighter nodes keep velocity 0. */
static const real mass_floor = R(1e-12);

/* The slabs that hold a plane, in the order of the blocks, which is the order of summation. */
typedef struct plane_sources {
    int n;
    real *slab[MPM_MAX_BLOCKS];
} plane_sources;

INLINE plane_sources sources_of(const mpm_nodes *nodes, int plane)
{
    plane_sources s;
    s.n = 0;
    for (int b = 0; b < nodes->n_blocks; b++) {
        const mpm_block *block = &nodes->blocks[b];
        int own = plane - block->plane;
        if (own >= 0 && own < block->planes) {
            s.slab[s.n++] = (real *)block->slab + (ptrdiff_t)own * nodes->box.stride_x * 4;
        }
    }
    return s;
}

/* The sum at `at`; clears the slabs for their next use. */
INLINE vec take(const plane_sources *s, int at)
{
    vec sum = all(R(0));
    for (int i = 0; i < s->n; i++) {
        sum += load(s->slab[i] + at);
        store(s->slab[i] + at, all(R(0)));
    }
    return sum;
}

static void nodes_forward(const mpm_nodes *nodes, int plane)
{
    plane_sources s = sources_of(nodes, plane);
    int reals = nodes->box.stride_x * 4;
    real *velocity = (real *)nodes->velocity + (ptrdiff_t)plane * reals;
    const vec fall = quad_constant(R(nodes->fall[0]), R(nodes->fall[1]), R(nodes->fall[2]), R(0));
    const mask is_mass = (mask)(quad_constant(R(0), R(0), R(0), R(1)) > all(R(0)));
    for (int at = 0; at < reals; at += VL) {
        vec q = take(&s, at), m = SPREAD(q, 3);
        mask heavy = less(all(mass_floor), m);
        vec u = q / choose(heavy, m, all(R(1))) + fall;
        u = choose(heavy, u, all(R(0)));
        store(velocity + at, choose(is_mass, m, u));
    }
}

/* A wall marks a velocity component it stopped with -0.0, for the adjoint. Nothing else gives -0.0, since
 * sums start from 0. */
static const whole minus_zero = MPM_REAL_BITS == 64 ? (whole)INT64_MIN : (whole)INT32_MIN;

typedef whole quad_mask __attribute__((vector_size(4 * MPM_REAL_BITS / 8), may_alias));

/* Limits of the velocity at node `at` along axis d: in a wall it may only point inwards. */
INLINE void wall_limits(const mpm_nodes *nodes, int d, int at, quad *low, quad *high)
{
    if (at <= nodes->wall_low[d]) {
        (*low)[d] = R(0);
    }
    if (at >= nodes->wall_high[d]) {
        (*high)[d] = R(0);
    }
}

/* Floor and walls of a plane, after the tools: those without friction, and the sticky floor. */
static void nodes_walls(const mpm_nodes *nodes, int plane)
{
    const mpm_box *box = &nodes->box;
    const real far = R(__builtin_inf());
    quad plane_low = (quad){0} - far, plane_high = (quad){0} + far;
    wall_limits(nodes, 0, box->lower[0] + plane, &plane_low, &plane_high);
    bool beside = plane_low[0] == R(0) || plane_high[0] == R(0);
    bool ends =
        box->lower[2] <= nodes->wall_low[2] || box->lower[2] + box->size[2] - 1 >= nodes->wall_high[2];
    for (int j = 0; j < box->size[1]; j++) {
        int height = box->lower[1] + j;
        quad row_low = plane_low, row_high = plane_high;
        wall_limits(nodes, 1, height, &row_low, &row_high);
        bool sticky = nodes->sticky_floor && height <= nodes->wall_low[1];
        if (!beside && !ends && row_low[1] != R(0) && row_high[1] != R(0)) {
            continue;
        }
        real *row =
            (real *)nodes->velocity + 4 * (plane * (ptrdiff_t)box->stride_x + j * (ptrdiff_t)box->stride_y);
        for (int k = 0; k < box->size[2]; k++) {
            quad low = row_low, high = row_high, u = *(quad *)(row + 4 * k);
            if (ends) {
                wall_limits(nodes, 2, box->lower[2] + k, &low, &high);
            }
            quad_mask stopped = (u < low) | (u > high);
            if (sticky && u[1] < R(0)) {
                stopped = (quad_mask){-1, -1, -1, 0};
            }
            *(quad *)(row + 4 * k) = (quad)((stopped & minus_zero) | (~stopped & (quad_mask)u));
        }
    }
}

static double nodes_speed(const mpm_nodes *nodes, int plane)
{
    int reals = nodes->box.stride_x * 4;
    const real *velocity = (const real *)nodes->velocity + (ptrdiff_t)plane * reals;
    const vec mark = quad_constant(R(1), R(1), R(1), R(0));
    vec speed = all(R(0));
    mask odd = speed != speed;
    for (int at = 0; at < reals; at += VL) {
        vec u = mark * load(velocity + at);
        u = most(u, -u);
        odd |= ~less(u, all(R(1e30)));
        speed = most(speed, u);
    }
    real top = largest_lane(choose(odd, all(R(1e30)), speed));
    return top < R(1e30) ? (double)top : (double)__builtin_inf();
}

/* ---- packed planes of velocities, see kernels.h ---- */

INLINE const real *plane_row(const mpm_box *box, const void *field, int plane, int j)
{
    return (const real *)field + 4 * (plane * (ptrdiff_t)box->stride_x + j * (ptrdiff_t)box->stride_y);
}

/* Copies `count` nodes, or clears them if `from` is NULL; never touches the memory after them, which may
 * belong to another thread. */
INLINE void fill_nodes(real *to, const real *from, int count)
{
    const vec none = all(R(0));
    int k = 0;
    for (; k + QUADS <= count; k += QUADS) {
        store(to + 4 * k, from ? load(from + 4 * k) : none);
    }
    for (; k < count; k++) {
        *(loose_quad *)(to + 4 * k) = from ? *(const loose_quad *)(from + 4 * k) : (loose_quad){0};
    }
}

static size_t pack_plane(const mpm_box *box, const void *field, int plane, void *to)
{
    mpm_span *spans = to;
    quad *nodes = (quad *)(void *)(spans + (box->size[1] + 7) / 8 * 8), *first = nodes;
    for (int j = 0; j < box->size[1]; j++) {
        const real *row = plane_row(box, field, plane, j);
        int low = 0, high = box->size[2];
        while (low < high && row[4 * low + 3] == R(0)) {
            low++;
        }
        while (low < high && row[4 * high - 1] == R(0)) {
            high--;
        }
        spans[j] = (mpm_span){(uint16_t)low, (uint16_t)high};
        fill_nodes((real *)nodes, row + 4 * low, high > low ? high - low : 0);
        nodes += high > low ? high - low : 0;
    }
    return (size_t)((char *)first - (char *)to) + (size_t)(nodes - first) * sizeof *nodes;
}

static size_t unpack_plane(const mpm_box *box, const void *from, int plane, void *field)
{
    const mpm_span *spans = from;
    const quad *first = (const quad *)(const void *)(spans + (box->size[1] + 7) / 8 * 8), *nodes = first;
    for (int j = 0; j < box->size[1]; j++) {
        real *row = (real *)(uintptr_t)plane_row(box, field, plane, j);
        const int low = spans[j].from, high = spans[j].to;
        fill_nodes(row, NULL, low);
        fill_nodes(row + 4 * low, (const real *)nodes, high - low);
        fill_nodes(row + 4 * high, NULL, box->size[2] - high);
        nodes += high - low;
    }
    return (size_t)((const char *)first - (const char *)from) + (size_t)(nodes - first) * sizeof *nodes;
}

/* Adjoint of momentum and mass at the nodes that were not struck. */
static void nodes_adjoint(const mpm_nodes *nodes, int plane)
{
    plane_sources s = sources_of(nodes, plane);
    int reals = nodes->box.stride_x * 4;
    const real *velocity = (const real *)nodes->velocity + (ptrdiff_t)plane * reals;
    real *out = (real *)nodes->node_bar + (ptrdiff_t)plane * reals;
    const vec fall = quad_constant(R(nodes->fall[0]), R(nodes->fall[1]), R(nodes->fall[2]), R(0));
    const vec mark = quad_constant(R(1), R(1), R(1), R(0));
    const mask is_mass = (mask)(quad_constant(R(0), R(0), R(0), R(1)) > all(R(0)));
    for (int at = 0; at < reals; at += VL) {
        vec g = load(velocity + at), m = SPREAD(g, 3);
        mask heavy = less(all(mass_floor), m);
        vec u_bar = mark * take(&s, at) / choose(heavy, m, all(R(1)));
        u_bar = choose(heavy & ((mask)g != minus_zero), u_bar, all(R(0)));
        vec own = g - fall;
        store(out + at, choose(is_mass, -quad_sum(u_bar * own), u_bar));
    }
}

/* ---- conversion of particles ---- */

INLINE real *quad_at(void *field, size_t i)
{
    return (real *)field + 4 * i;
}

/* F of particle i of the fields, which is in `room`. */
INLINE real *gradient_at(void *f, const mpm_room *room, size_t i)
{
    i -= room->first;
    return (real *)f + room->first_f + i / VL * (room->width * VL) + i % VL;
}

INLINE void set_quad(void *field, size_t i, const double value[3], double factor, double offset)
{
    real *to = quad_at(field, i);
    for (int d = 0; d < 3; d++) {
        to[d] = R(value[d] * factor + offset);
    }
    to[3] = R(0);
}

/* Padding particles of the last chunk: at rest at the last particle. `rest`: diagonal of F. */
static void pad(const mpm_fields *to, const mpm_room *room, uint32_t n, double rest)
{
    static const double none[3] = {0.0};
    size_t end = room->first + room->slots, last = room->first + n - 1;
    for (size_t i = last + 1; i < end; i++) {
        *(quad *)quad_at(to->x, i) = *(const quad *)quad_at(to->x, last);
        set_quad(to->v, i, none, 0.0, 0.0);
        for (int k = 0; k < 3; k++) {
            set_quad(to->m, (size_t)k * room->padded + i, none, 0.0, 0.0);
        }
        for (size_t k = 0; k < room->width; k++) {
            gradient_at(to->f, room, i)[k * VL] = k % 4 == 0 ? R(rest) : R(0);
        }
    }
}

static void import_particles(const mpm_fields *to, const mpm_room *room, uint32_t n, const uint32_t *order,
                             double inv_dx, double offset, const mpm_particle *from)
{
    for (uint32_t q = 0; q < n; q++) {
        const mpm_particle *p = &from[order[q]];
        size_t i = room->first + q;
        set_quad(to->x, i, p->x, inv_dx, offset);
        set_quad(to->v, i, p->v, 1.0, 0.0);
        for (size_t k = 0; k < 3; k++) {
            const double column[3] = {p->c[k], p->c[3 + k], p->c[6 + k]};
            set_quad(to->m, k * room->padded + i, column, 0.25 / inv_dx, 0.0);
        }
        for (size_t k = 0; k < room->width; k++) {
            gradient_at(to->f, room, i)[k * VL] = R(p->f[k]);
        }
    }
    pad(to, room, n, 1.0);
}

/* Without f: positions only. */
static void export_particles(const mpm_fields *from, const mpm_room *room, uint32_t n, const uint32_t *order,
                             double inv_dx, double offset, mpm_particle *to)
{
    for (uint32_t q = 0; q < n; q++) {
        mpm_particle *p = &to[order[q]];
        size_t i = room->first + q;
        for (int d = 0; d < 3; d++) {
            p->x[d] = ((double)quad_at(from->x, i)[d] - offset) / inv_dx;
        }
        for (int d = 0; from->f && d < 3; d++) {
            p->v[d] = from->v ? (double)quad_at(from->v, i)[d] : 0.0;
            for (size_t k = 0; k < 3; k++) {
                p->c[3 * (size_t)d + k] =
                    from->m ? 4.0 * inv_dx * (double)quad_at(from->m, k * room->padded + i)[d] : 0.0;
            }
        }
        for (size_t k = 0; from->f && k < room->width; k++) {
            p->f[k] = (double)gradient_at(from->f, room, i)[k * VL];
        }
    }
}

/* Adjoints: those of positions and APIC matrices scale inversely. */
static void add_bar(const mpm_fields *to, const mpm_room *room, uint32_t n, const uint32_t *order,
                    double inv_dx, const mpm_particle *from)
{
    for (uint32_t q = 0; q < n; q++) {
        const mpm_particle *p = &from[order[q]];
        size_t i = room->first + q;
        for (int d = 0; d < 3; d++) {
            quad_at(to->x, i)[d] += R(p->x[d] / inv_dx);
            if (to->v) {
                quad_at(to->v, i)[d] += R(p->v[d]);
                for (size_t k = 0; k < 3; k++) {
                    quad_at(to->m, k * room->padded + i)[d] += R(p->c[3 * (size_t)d + k] * 4.0 * inv_dx);
                }
            }
        }
        for (size_t k = 0; to->f && k < room->width; k++) {
            gradient_at(to->f, room, i)[k * VL] += R(p->f[k]);
        }
    }
}

static void permute(const mpm_fields *to, const mpm_fields *from, const mpm_room *room, uint32_t first,
                    uint32_t end, uint32_t n, const uint32_t *order, double rest)
{
    for (uint32_t q = first; q < end; q++) {
        size_t i = room->first + q, j = room->first + order[q];
        *(quad *)quad_at(to->x, i) = *(const quad *)quad_at(from->x, j);
        *(quad *)quad_at(to->v, i) = *(const quad *)quad_at(from->v, j);
        for (size_t k = 0; k < 3; k++) {
            *(quad *)quad_at(to->m, k * room->padded + i) =
                *(const quad *)quad_at(from->m, k * room->padded + j);
        }
        real *f = gradient_at(to->f, room, i);
        const real *g = gradient_at(from->f, room, j);
        for (size_t k = 0; k < room->width; k++) {
            f[k * VL] = g[k * VL];
        }
    }
    if (end == n) {
        pad(to, room, n, rest);
    }
}

static void bases(const void *x, uint32_t n, int16_t *base)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t d = 0; d < 3; d++) {
            base[3 * i + d] = (int16_t)(((const real *)x)[4 * i + d] - R(0.5));
        }
    }
}

static void get_node(const void *field, size_t index, double out[4])
{
    for (size_t c = 0; c < 4; c++) {
        out[c] = (double)((const real *)field)[4 * index + c];
    }
}

static void set_node(void *field, size_t index, const double value[4])
{
    for (size_t c = 0; c < 4; c++) {
        ((real *)field)[4 * index + c] = R(value[c]);
    }
}

#endif
