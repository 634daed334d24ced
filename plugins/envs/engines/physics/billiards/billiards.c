/* SPDX-License-Identifier: Apache-2.0 */
/* billiards.c - balls that push each other by sequential impulses (see billiards.h). */
#include "billiards.h"

#include <math.h>

enum { D = BILLIARDS_VARIABLES };
#define SMALL 1e-6 /* N s: smaller impulses are round-off of balls at rest and switch without effect */

/* ---- numbers with derivatives ---- */

static inline dual add(dual a, dual b)
{
    for (int i = 0; i < D; i++) {
        a.d[i] += b.d[i];
    }
    a.v += b.v;
    return a;
}

static inline dual times(double s, dual a)
{
    for (int i = 0; i < D; i++) {
        a.d[i] *= s;
    }
    a.v *= s;
    return a;
}

static inline dual product(dual a, dual b)
{
    dual out = {.v = a.v * b.v};
    for (int i = 0; i < D; i++) {
        out.d[i] = a.d[i] * b.v + a.v * b.d[i];
    }
    return out;
}

static inline dual minus(dual a, dual b)
{
    return add(a, times(-1, b));
}

/* |(a, b)|, which must not be 0. */
static inline dual norm(dual a, dual b)
{
    dual out = {.v = sqrt(a.v * a.v + b.v * b.v)};
    for (int i = 0; i < D; i++) {
        out.d[i] = (a.v * a.d[i] + b.v * b.d[i]) / out.v;
    }
    return out;
}

static inline dual quotient(dual a, dual b)
{
    dual out = {.v = a.v / b.v};
    for (int i = 0; i < D; i++) {
        out.d[i] = (a.d[i] - out.v * b.d[i]) / b.v;
    }
    return out;
}

/* ---- contacts ---- */

typedef struct contact {
    ball_state *a, *b;
    dual n[2], gap;
} contact;

static int collect(billiards *t, contact *out)
{
    int count = 0;
    for (int i = 0; i < BILLIARDS_BALLS; i++) {
        for (int j = i + 1; j < BILLIARDS_BALLS; j++) {
            ball_state *a = &t->ball[i], *b = &t->ball[j];
            const dual x = minus(a->x[0], b->x[0]), y = minus(a->x[1], b->x[1]);
            const double wide = 2 * t->radius;
            if (!t->apart && x.v * x.v + y.v * y.v >= wide * wide) {
                continue;
            }
            dual far = norm(x, y);
            contact *c = &out[count++];
            *c = (contact){a, b, {quotient(x, far), quotient(y, far)}, far};
            c->gap.v -= wide;
        }
    }
    return count;
}

static void push(ball_state *s, dual x, dual y, double per_mass)
{
    s->v[0] = add(s->v[0], times(per_mass, x));
    s->v[1] = add(s->v[1], times(per_mass, y));
}

/* Applies the impulse of a contact. Returns 0: none, else which branch. *size: of the impulse. */
static int resolve(const billiards *t, contact *c, double *size)
{
    const double vx = c->a->v[0].v - c->b->v[0].v,
                 vy = c->a->v[1].v - c->b->v[1].v; /* spin does not contribute to u.n */
    const double near = vx * c->n[0].v + vy * c->n[1].v;
    const double wanted = -(1 + t->restitution) * near - t->mending * c->gap.v / t->h;
    if ((!t->apart && !(near < 0)) || !(wanted > 0)) {
        return 0;
    }
    const dual spin = times(t->radius, add(c->a->w, c->b->w));
    /* Velocity of the touching points, at -r n and r n from the centres: v + w x arm. */
    const dual ux = add(minus(c->a->v[0], c->b->v[0]), product(spin, c->n[1]));
    const dual uy = minus(minus(c->a->v[1], c->b->v[1]), product(spin, c->n[0]));
    const dual un = add(product(ux, c->n[0]), product(uy, c->n[1]));
    const double half = t->mass / 2; /* 1 / (1/m + 1/m) */
    *size = half * wanted;
    const dual j = times(half, add(times(-(1 + t->restitution), un), times(-t->mending / t->h, c->gap)));
    const dual jx = product(j, c->n[0]), jy = product(j, c->n[1]);
    push(c->a, jx, jy, 1 / t->mass);
    push(c->b, jx, jy, -1 / t->mass);
    const dual lx = minus(ux, product(un, c->n[0])), ly = minus(uy, product(un, c->n[1]));
    if (!(t->friction > 0 && lx.v * lx.v + ly.v * ly.v > 1e-8)) {
        return 1;
    }
    const dual slide = norm(lx, ly), trial = times(half, slide), most = times(t->friction, j);
    const int sticks = trial.v < most.v;
    const dual f = sticks ? trial : most;
    const dual fx = times(-1, product(f, quotient(lx, slide))),
               fy = times(-1, product(f, quotient(ly, slide)));
    push(c->a, fx, fy, 1 / t->mass);
    push(c->b, fx, fy, -1 / t->mass);
    /* Both arms turn the same way: -r n x f, r n x -f. */
    const dual turn = minus(product(c->n[0], fy), product(c->n[1], fx));
    const double per_inertia = -t->radius / (0.4 * t->mass * t->radius * t->radius);
    c->a->w = add(c->a->w, times(per_inertia, turn));
    c->b->w = add(c->b->w, times(per_inertia, turn));
    return sticks ? 2 : 3;
}

void billiards_step(billiards *t)
{
    contact c[BILLIARDS_PAIRS];
    const int count = collect(t, c);
    int moved = 1, ways[BILLIARDS_PAIRS] = {0};
    t->impulses = 0;
    for (int sweep = 0; moved && sweep < t->sweeps; sweep++) {
        moved = 0;
        for (int i = 0; i < count; i++) {
            double size = 0;
            const int way = resolve(t, &c[i], &size);
            moved |= way;
            t->impulses += way != 0;
            ways[i] |= size > SMALL ? 1 << way : 0;
        }
    }
    for (int i = 0; i < count; i++) {
        const uint64_t pair = (uint64_t)(8 * (c[i].a - t->ball) + (c[i].b - t->ball));
        t->switches =
            ways[i] != 0 ? (t->switches ^ (16 * pair + (uint64_t)ways[i])) * 0x100000001b3u : t->switches;
    }
    t->switches = t->switches * 31 + 7;
    for (int i = 0; i < BILLIARDS_BALLS; i++) {
        for (int d = 0; d < 2; d++) {
            t->ball[i].x[d] = add(t->ball[i].x[d], times(t->h, t->ball[i].v[d]));
        }
    }
}
