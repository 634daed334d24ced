/* SPDX-License-Identifier: Apache-2.0 */
/* billiards.c - balls that push each other by sequential impulses (see billiards.h). */
#include "billiards.h"

#include <math.h>

#define real double
#define real_mask int
#define real_sqrt sqrt
#define real_choose(yes, a, b) ((yes) ? (a) : (b))
#define real_any(mask) ((mask)&1)
#include "billiards_step.h"

#define SMALL 1e-6 /* N s: smaller impulses are round-off of balls at rest and switch without effect */

/* Which branch an impulse took; 0: there is none. */
static inline int way_of(const effect *f)
{
    return !f->acts ? 0 : !f->rubs ? 1 : f->sticks ? 2 : 3;
}

INLINE void step(billiards *t, const int D)
{
    contact c[BILLIARDS_PAIRS];
    const int count = collect(t, t->ball, c, D);
    int moved = 1, ways[BILLIARDS_PAIRS] = {0};
    t->impulses = 0;
    for (int sweep = 0; moved && sweep < t->sweeps; sweep++) {
        moved = 0;
        for (int i = 0; i < count; i++) {
            const effect f = resolve(t, &c[i], D);
            const int way = way_of(&f);
            moved |= way;
            t->impulses += way != 0;
            ways[i] |= way != 0 && f.size > SMALL ? 1 << way : 0;
        }
    }
    for (int i = 0; i < count; i++) {
        const uint64_t pair = (uint64_t)(8 * (c[i].a - t->ball) + (c[i].b - t->ball));
        t->switches =
            ways[i] != 0 ? (t->switches ^ (16 * pair + (uint64_t)ways[i])) * 0x100000001b3u : t->switches;
    }
    t->switches = t->switches * 31 + 7;
    move(t, t->ball, D);
}

void billiards_step(billiards *t, int derivatives)
{
    if (derivatives) {
        step(t, BILLIARDS_VARIABLES);
    } else {
        step(t, 0);
    }
}
