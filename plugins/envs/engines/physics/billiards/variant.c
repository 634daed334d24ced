/* SPDX-License-Identifier: Apache-2.0 */
/* variant.c - tables of balls side by side (billiards.h), compiled for each instruction set: LANES_ISA is its
 * name, VECTOR_LANES its width. A sweep changes nothing in a lane whose balls have come to rest, so lanes
 * sweep until the last one is done. */
#include "billiards.h"

#include "engines/kit/lanes.h"

typedef struct dual_vec {
    vec v, d[BILLIARDS_VARIABLES];
} dual_vec;

typedef struct ball_vec {
    dual_vec x[2], v[2], w;
} ball_vec;

#define real vec
#define real_mask vec_bits
#define real_sqrt vec_sqrt
#define real_choose vec_choose
#define real_any vec_any
#define dual dual_vec
#define ball_state ball_vec
#include "billiards_step.h"
#undef dual
#undef ball_state

static dual_vec every(dual a)
{
    return (dual_vec){vec_all(a.v), {vec_all(a.d[0]), vec_all(a.d[1])}};
}

INLINE void step(const billiards *t, ball_vec *ball, const int D)
{
    contact c[BILLIARDS_PAIRS];
    const int count = collect(t, ball, c, D);
    int moved = 1;
    for (int sweep = 0; moved && sweep < t->sweeps; sweep++) {
        moved = 0;
        for (int i = 0; i < count; i++) {
            moved |= vec_any(resolve(t, &c[i], D).acts);
        }
    }
    move(t, ball, D);
}

INLINE void run(const billiards *b, uint64_t steps, ball_vec *ball, const int D)
{
    for (uint64_t k = 0; k < steps; k++) {
        step(b, ball, D);
    }
}

static void simulate(const billiards *b, uint64_t steps, int derivatives, int pushed, const double *v,
                     int aimed, double *last)
{
    const billiards rules = *b; /* nothing that is written can change it */
    ball_vec ball[BILLIARDS_BALLS];
    for (int i = 0; i < BILLIARDS_BALLS; i++) {
        for (int k = 0; k < 2; k++) {
            ball[i].x[k] = every(b->ball[i].x[k]);
            ball[i].v[k] = every(b->ball[i].v[k]);
        }
        ball[i].w = every(b->ball[i].w);
    }
    ball[pushed].v[0].v = vec_load(v);
    ball[pushed].v[1].v = vec_load(v + VECTOR_LANES);
    if (derivatives) {
        run(&rules, steps, ball, BILLIARDS_VARIABLES);
    } else {
        run(&rules, steps, ball, 0);
    }
    for (int k = 0; k < 2; k++, last += 3 * VECTOR_LANES) {
        vec_store(last, ball[aimed].x[k].v);
        vec_store(last + VECTOR_LANES, ball[aimed].x[k].d[0]);
        vec_store(last + 2 * VECTOR_LANES, ball[aimed].x[k].d[1]);
    }
}

ISA_DEFINE(billiards_lanes) = {ISA_NAME(LANES_ISA), VECTOR_LANES, simulate};
