/* SPDX-License-Identifier: Apache-2.0 */
/* variant.c - chains side by side (chain_law.h), compiled for each instruction set: LANES_ISA is its
 * name, VECTOR_LANES its width.
 *
 * A step waits for the one before it longer than it takes, so GROUPS vectors of chains take turns. */
#include "chain_law.h"

#include "engines/kit/lanes.h"

#define real vec
#define real_sincos vec_sincos_same
#include "chain_step.h"

#include <math.h>

enum { GROUPS = 2, WIDTH = GROUPS * VECTOR_LANES };

/* The controls of block k of a group: scale times variables. */
INLINE void controls(const chain_table *t, uint64_t group, uint64_t k, real *u, const int n)
{
    for (int j = 0; j <= n; j++) {
        u[j] = t->scale[j] * lanes_load(t->x + group * VECTOR_LANES, k * (uint64_t)(n + 1) + (uint64_t)j);
    }
}

INLINE void begin(const chain_state *start, uint64_t apart, real *r, const int n)
{
    for (int lane = 0; lane < VECTOR_LANES; lane++, start += apart) {
        for (int i = 0; i < n; i++) {
            THETA(r, n)[i][lane] = start->theta[i];
            OMEGA(r, n)[i][lane] = start->omega[i];
        }
        CART(r, n)[0][lane] = start->x;
        CART(r, n)[1][lane] = start->v;
    }
}

INLINE void finish(const real *r, chain_state *end, const int n)
{
    for (int lane = 0; lane < VECTOR_LANES; lane++) {
        for (int i = 0; i < n; i++) {
            end[lane].theta[i] = THETA(r, n)[i][lane];
            end[lane].omega[i] = OMEGA(r, n)[i][lane];
        }
        end[lane].x = CART(r, n)[0][lane];
        end[lane].v = CART(r, n)[1][lane];
    }
}

/* The tape of a group begins tape_of() records after that of the first one. */
INLINE uint64_t tape_of(const chain_table *t, uint64_t group, const int n)
{
    return group * (t->steps + 1) * (uint64_t)RECORD(n);
}

INLINE void simulate(const chain_law *c, const chain_table *t, const chain_state *start, real *tape, int keep,
                     chain_state *end, const int n, const int force)
{
    real u[GROUPS][N + 1];
    uint64_t held = 0, block = 0, at = 0, next;
    for (uint64_t g = 0; g < GROUPS; g++) {
        begin(start + g * VECTOR_LANES * t->apart, t->apart, tape + tape_of(t, g, n), n);
        controls(t, g, 0, u[g], n);
    }
    for (uint64_t s = 0; s < t->steps; s++, at = next) {
        next = keep || at == 0 ? at + (uint64_t)RECORD(n) : 0;
        const int changes = ++held == t->hold && s + 1 < t->steps;
        held = changes ? 0 : held;
        block += (uint64_t)changes;
#pragma GCC unroll 2
        for (uint64_t g = 0; g < GROUPS; g++) {
            real *r = tape + tape_of(t, g, n) + at;
            accelerate(c, r, u[g], CART(r, n)[1], n, force);
            advance(c, r, tape + tape_of(t, g, n) + next, n);
            if (changes) {
                controls(t, g, block, u[g], n);
            }
        }
    }
    for (uint64_t g = 0; g < GROUPS; g++) {
        finish(tape + tape_of(t, g, n) + at, end + g * VECTOR_LANES, n);
    }
}

/* The adjoint of a group: of its state, and of the controls of the present block. */
typedef struct adjoint {
    real cart[2], theta[N], omega[N], u[N + 1];
} adjoint;

INLINE void adjoint_of(const chain_state *bar, adjoint *a, const int n)
{
    for (int lane = 0; lane < VECTOR_LANES; lane++) {
        a->cart[0][lane] = bar[lane].x;
        a->cart[1][lane] = bar[lane].v;
        for (int i = 0; i < n; i++) {
            a->theta[i][lane] = bar[lane].theta[i];
            a->omega[i][lane] = bar[lane].omega[i];
        }
    }
    for (int j = 0; j <= n; j++) {
        a->u[j] = vec_all(0);
    }
}

INLINE void adjoint_to(const adjoint *a, chain_state *bar, const int n)
{
    for (int lane = 0; lane < VECTOR_LANES; lane++) {
        bar[lane].x = a->cart[0][lane];
        bar[lane].v = a->cart[1][lane];
        for (int i = 0; i < n; i++) {
            bar[lane].theta[i] = a->theta[i][lane];
            bar[lane].omega[i] = a->omega[i][lane];
        }
    }
}

INLINE void reverse(const chain_law *c, const chain_table *t, const real *tape, chain_state *bar,
                    double *const *grad, const int n, const int force)
{
    adjoint a[GROUPS];
    uint64_t left = t->steps % t->hold ? t->steps % t->hold : t->hold, block = (t->steps - 1) / t->hold;
    for (uint64_t g = 0; g < GROUPS; g++) {
        adjoint_of(bar + g * VECTOR_LANES, &a[g], n);
    }
    for (uint64_t s = t->steps; s-- > 0;) {
        const int ends = --left == 0;
#pragma GCC unroll 2
        for (uint64_t g = 0; g < GROUPS; g++) {
            reverse_step(c, tape + tape_of(t, g, n) + s * (uint64_t)RECORD(n), a[g].cart, a[g].theta,
                         a[g].omega, a[g].u, n, force);
            for (int j = 0; ends && j <= n; j++) {
                lanes_store(grad + g * VECTOR_LANES, block * (uint64_t)(n + 1) + (uint64_t)j,
                            t->scale[j] * a[g].u[j]);
                a[g].u[j] = vec_all(0);
            }
        }
        left = ends ? t->hold : left;
        block -= (uint64_t)ends;
    }
    for (uint64_t g = 0; g < GROUPS; g++) {
        adjoint_to(&a[g], bar + g * VECTOR_LANES, n);
    }
}

/* Few numbers of links have loops of their own, so that they unroll. */
#define FOR_LINKS(call, ...)                                                                                 \
    do {                                                                                                     \
        const int any = law->p.links, force = law->p.control == CHAIN_FORCE;                                 \
        switch (any * 2 + force) {                                                                           \
        case 2:                                                                                              \
            call(__VA_ARGS__, 1, 0);                                                                         \
            break;                                                                                           \
        case 3:                                                                                              \
            call(__VA_ARGS__, 1, 1);                                                                         \
            break;                                                                                           \
        case 6:                                                                                              \
            call(__VA_ARGS__, 3, 0);                                                                         \
            break;                                                                                           \
        default:                                                                                             \
            call(__VA_ARGS__, any, force);                                                                   \
        }                                                                                                    \
    } while (0)

static void simulate_lanes(const chain_law *law, const chain_table *t, const chain_state *start, double *tape,
                           int keep, chain_state *end)
{
    const chain_law own = *law; /* nothing that is written can change it */
    FOR_LINKS(simulate, &own, t, start, (vec *)tape, keep, end);
}

static void adjoint_lanes(const chain_law *law, const chain_table *t, const double *tape, chain_state *bar,
                          double *const *grad)
{
    const chain_law own = *law;
    FOR_LINKS(reverse, &own, t, (const vec *)tape, bar, grad);
}

ISA_DEFINE(chain_lanes) = {ISA_NAME(LANES_ISA), WIDTH, simulate_lanes, adjoint_lanes};
