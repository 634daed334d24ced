/* SPDX-License-Identifier: Apache-2.0 */
/* variant.c - chains side by side (chain_law.h), compiled for each instruction set: LANES_ISA is its
 * name, VECTOR_LANES its width. */
#include "chain_law.h"

#include "engines/kit/lanes.h"

#define real vec
#define real_sincos vec_sincos_same
#include "chain_step.h"

#include <math.h>

/* The controls of block k: scale times variables. */
INLINE void controls(const chain_table *t, uint64_t k, real *u, const int n)
{
    for (int j = 0; j <= n; j++) {
        u[j] = t->scale[j] * lanes_load(t->x, k * (uint64_t)(n + 1) + (uint64_t)j);
    }
}

INLINE void simulate(const chain_law *c, const chain_table *t, const chain_state *start, real *tape, int keep,
                     chain_state *end, const int n, const int force)
{
    real *r = tape, *next, u[N + 1];
    uint64_t held = 0, block = 0;
    for (int i = 0; i < n; i++) {
        THETA(r, n)[i] = vec_all(start->theta[i]);
        OMEGA(r, n)[i] = vec_all(start->omega[i]);
    }
    CART(r, n)[0] = vec_all(start->x);
    CART(r, n)[1] = vec_all(start->v);
    controls(t, 0, u, n);
    for (uint64_t s = 0; s < t->steps; s++, r = next) {
        next = keep || r == tape ? r + RECORD(n) : tape;
        accelerate(c, r, u, CART(r, n)[1], n, force);
        advance(c, r, next, n);
        if (++held == t->hold && s + 1 < t->steps) {
            held = 0;
            controls(t, ++block, u, n);
        }
    }
    for (int lane = 0; lane < VECTOR_LANES; lane++) {
        for (int i = 0; i < n; i++) {
            end[lane].theta[i] = THETA(r, n)[i][lane];
            end[lane].omega[i] = OMEGA(r, n)[i][lane];
        }
        end[lane].x = CART(r, n)[0][lane];
        end[lane].v = CART(r, n)[1][lane];
    }
}

INLINE void reverse(const chain_law *c, const chain_table *t, const real *tape, const chain_state *bar,
                    double *const *grad, const int n, const int force)
{
    real cart_bar[2], tb[N], ob[N], ub[N + 1] = {{0}};
    uint64_t left = t->steps % t->hold ? t->steps % t->hold : t->hold, block = (t->steps - 1) / t->hold;
    for (int lane = 0; lane < VECTOR_LANES; lane++) {
        cart_bar[0][lane] = bar[lane].x;
        cart_bar[1][lane] = bar[lane].v;
        for (int i = 0; i < n; i++) {
            tb[i][lane] = bar[lane].theta[i];
            ob[i][lane] = bar[lane].omega[i];
        }
    }
    for (uint64_t s = t->steps; s-- > 0;) {
        reverse_step(c, tape + s * (uint64_t)RECORD(n), cart_bar, tb, ob, ub, n, force);
        if (--left == 0) {
            for (int j = 0; j <= n; j++) {
                lanes_store(grad, block * (uint64_t)(n + 1) + (uint64_t)j, t->scale[j] * ub[j]);
                ub[j] = vec_all(0);
            }
            left = t->hold;
            block--;
        }
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
    FOR_LINKS(simulate, law, t, start, (vec *)tape, keep, end);
}

static void adjoint_lanes(const chain_law *law, const chain_table *t, const double *tape,
                          const chain_state *bar, double *const *grad)
{
    FOR_LINKS(reverse, law, t, (const vec *)tape, bar, grad);
}

extern const chain_lanes ISA_VARIANT(chain_lanes, LANES_ISA);
const chain_lanes ISA_VARIANT(chain_lanes, LANES_ISA) = {ISA_NAME(LANES_ISA), VECTOR_LANES, simulate_lanes,
                                                         adjoint_lanes};
