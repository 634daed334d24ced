/* SPDX-License-Identifier: Apache-2.0 */
/* billiards.h - balls on a plane collide by sequential impulses with friction; derivatives of the whole
 * motion by two variables. After the billiards example in E. Coumans, E. Heiden and others,
 * google-research/tiny-differentiable-simulator. One step: forces; impulses of all contacts in turn, sweep
 * after sweep; then x += h v. A contact with distance d (negative if the balls overlap), normal n from b to a
 * and relative velocity u of a has
 *     if d < 0 and u.n < 0:  J = (-(1 + e) u.n - beta d / h) / (1/m + 1/m) along n, if positive,
 *                            and min(|u_t| / (1/m + 1/m), mu J) against the lateral velocity u_t.
 * `apart` omits both tests: balls that approach faster than beta d / h push each other before they touch, so
 * few contacts are missed. With friction these derivatives grow by factors in each step in which the rack
 * slides against itself, up to 1e16: exact at a point but useless next to it. Without friction they have the
 * size of the motion. */
#ifndef DS_ENGINES_BILLIARDS_H
#define DS_ENGINES_BILLIARDS_H

#include <stdint.h>

enum { BILLIARDS_BALLS = 7, BILLIARDS_PAIRS = 21, BILLIARDS_VARIABLES = 2 };

/* A number and its derivatives by the two variables. */
typedef struct dual {
    double v, d[BILLIARDS_VARIABLES];
} dual;

typedef struct ball_state {
    dual x[2], v[2], w; /* m, m/s, rad/s */
} ball_state;

typedef struct billiards {
    double h, radius, mass, friction, restitution, mending; /* s, m, kg, mu, e, beta */
    int sweeps, apart;
    ball_state ball[BILLIARDS_BALLS];
    uint64_t impulses; /* of the last step */
    uint64_t switches; /* hash of all contacts so far: which pushed, in which step, sliding or not */
} billiards;

/* Performs one step; without `derivatives` those of the balls keep their values. */
void billiards_step(billiards *b, int derivatives);

/* Tables side by side, one in each lane (engines/kit/lanes.h). */
typedef struct billiards_lanes {
    const char *isa;
    uint64_t width;
    /* Simulates `steps` steps of `width` tables that begin like b, except for velocity v of ball `pushed`.
     * last: the final position of ball `aimed`, and with `derivatives` its derivatives, x, x by the first
     * variable, x by the second, y, ... Component i of lane k is at i width + k of v and last. */
    void (*simulate)(const billiards *b, uint64_t steps, int derivatives, int pushed, const double *v,
                     int aimed, double *last);
} billiards_lanes;

/* The kernels of this machine. */
const billiards_lanes *billiards_lanes_find(void);

#endif
