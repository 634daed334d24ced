/* SPDX-License-Identifier: Apache-2.0 */
/* Grid step for whole planes of nodes: sum of the private slabs, velocity from momentum, gravity; and its adjoint. What
 * tools, floor and walls do to single nodes is in strike.c. */
#ifndef MPM_FAST_NODES_H
#define MPM_FAST_NODES_H

#include "kernels.h"
#include "lanes.h"

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

/* The sum at `at`; leaves zeros for the next use of the slabs. */
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
        mask heavy = m > all(mass_floor);
        vec u = q / choose(heavy, m, all(R(1))) + fall;
        u = choose(heavy, u, all(R(0)));
        store(velocity + at, choose(is_mass, m, u));
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
        odd |= ~(u < all(R(1e30)));
        speed = most(speed, u);
    }
    real top = largest_lane(choose(odd, all(R(1e30)), speed));
    return top < R(1e30) ? (double)top : (double)__builtin_inf();
}

/* Adjoint of momentum and mass at the nodes that nothing struck. */
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
        mask heavy = m > all(mass_floor);
        vec u_bar = mark * take(&s, at) / choose(heavy, m, all(R(1)));
        u_bar = choose(heavy, u_bar, all(R(0)));
        vec own = g - fall;
        store(out + at, choose(is_mass, -quad_sum(u_bar * own), u_bar));
    }
}

#endif
