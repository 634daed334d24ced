/* SPDX-License-Identifier: Apache-2.0 */
/* billiards_step.h - one step of the balls (see billiards.h), written once for one table and for several side
 * by side. The file that includes it defines
 *     real, real_mask    a double and an int, or vectors with one table in each lane
 *     real_sqrt(), real_choose(mask, a, b), real_any(mask)
 *     dual, ball_state   a number with its derivatives, and a ball, made of reals
 * of which a lane has the bits of a double's. Each function computes the first `D` derivatives. */
#ifndef DS_ENGINES_BILLIARDS_STEP_H
#define DS_ENGINES_BILLIARDS_STEP_H

#define INLINE static inline __attribute__((always_inline, unused))

/* ---- numbers with derivatives ---- */

INLINE dual add(dual a, dual b, const int D)
{
    for (int i = 0; i < D; i++) {
        a.d[i] += b.d[i];
    }
    a.v += b.v;
    return a;
}

INLINE dual times(double s, dual a, const int D)
{
    for (int i = 0; i < D; i++) {
        a.d[i] *= s;
    }
    a.v *= s;
    return a;
}

INLINE dual product(dual a, dual b, const int D)
{
    dual out = {.v = a.v * b.v};
    for (int i = 0; i < D; i++) {
        out.d[i] = a.d[i] * b.v + a.v * b.d[i];
    }
    return out;
}

INLINE dual minus(dual a, dual b, const int D)
{
    return add(a, times(-1, b, D), D);
}

/* |(a, b)|, which must not be 0. */
INLINE dual norm(dual a, dual b, const int D)
{
    dual out = {.v = real_sqrt(a.v * a.v + b.v * b.v)};
    for (int i = 0; i < D; i++) {
        out.d[i] = (a.v * a.d[i] + b.v * b.d[i]) / out.v;
    }
    return out;
}

INLINE dual quotient(dual a, dual b, const int D)
{
    dual out = {.v = a.v / b.v};
    for (int i = 0; i < D; i++) {
        out.d[i] = (a.d[i] - out.v * b.d[i]) / b.v;
    }
    return out;
}

INLINE dual choose(real_mask yes, dual a, dual b, const int D)
{
    dual out = {.v = real_choose(yes, a.v, b.v)};
    for (int i = 0; i < D; i++) {
        out.d[i] = real_choose(yes, a.d[i], b.d[i]);
    }
    return out;
}

/* ---- contacts ---- */

/* Of two balls, in the lanes `near`. */
typedef struct contact {
    ball_state *a, *b;
    dual n[2], gap;
    real_mask near;
} contact;

/* Finds the pairs of balls that are in contact in any lane. Returns their number. */
INLINE int collect(const billiards *t, ball_state *ball, contact *out, const int D)
{
    int count = 0;
    const double wide = 2 * t->radius;
    for (int i = 0; i < BILLIARDS_BALLS; i++) {
        for (int j = i + 1; j < BILLIARDS_BALLS; j++) {
            ball_state *a = &ball[i], *b = &ball[j];
            const real dx = a->x[0].v - b->x[0].v, dy = a->x[1].v - b->x[1].v;
            const real_mask near =
                t->apart ? (real_mask)(dx == dx) : (real_mask)(dx * dx + dy * dy >= wide * wide) == 0;
            if (!real_any(near)) {
                continue;
            }
            const dual x = minus(a->x[0], b->x[0], D), y = minus(a->x[1], b->x[1], D), far = norm(x, y, D);
            contact *c = &out[count++];
            c->a = a;
            c->b = b;
            c->n[0] = quotient(x, far, D);
            c->n[1] = quotient(y, far, D);
            c->gap = far;
            c->gap.v -= wide;
            c->near = near;
        }
    }
    return count;
}

INLINE void push(ball_state *s, dual x, dual y, double per_mass, real_mask on, const int D)
{
    s->v[0] = choose(on, add(s->v[0], times(per_mass, x, D), D), s->v[0], D);
    s->v[1] = choose(on, add(s->v[1], times(per_mass, y, D), D), s->v[1], D);
}

/* What an impulse did, by lanes. */
typedef struct effect {
    real_mask acts, rubs, sticks; /* there is one; with friction; without sliding */
    real size;                    /* N s, where it acts */
} effect;

/* Applies the impulse of a contact. */
INLINE effect resolve(const billiards *t, const contact *c, const int D)
{
    const real vx = c->a->v[0].v - c->b->v[0].v,
               vy = c->a->v[1].v - c->b->v[1].v; /* spin does not contribute to u.n */
    const real near = vx * c->n[0].v + vy * c->n[1].v;
    const real wanted = -(1 + t->restitution) * near - t->mending * c->gap.v / t->h;
    effect out = {.acts = c->near & (real_mask)(wanted > 0)};
    out.acts &= t->apart ? out.acts : (real_mask)(near < 0);
    if (!real_any(out.acts)) {
        return out;
    }
    const dual spin = times(t->radius, add(c->a->w, c->b->w, D), D);
    /* Velocity of the touching points, at -r n and r n from the centres: v + w x arm. */
    const dual ux = add(minus(c->a->v[0], c->b->v[0], D), product(spin, c->n[1], D), D);
    const dual uy = minus(minus(c->a->v[1], c->b->v[1], D), product(spin, c->n[0], D), D);
    const dual un = add(product(ux, c->n[0], D), product(uy, c->n[1], D), D);
    const double half = t->mass / 2; /* 1 / (1/m + 1/m) */
    out.size = half * wanted;
    const dual j =
        times(half, add(times(-(1 + t->restitution), un, D), times(-t->mending / t->h, c->gap, D), D), D);
    const dual jx = product(j, c->n[0], D), jy = product(j, c->n[1], D);
    push(c->a, jx, jy, 1 / t->mass, out.acts, D);
    push(c->b, jx, jy, -1 / t->mass, out.acts, D);
    const dual lx = minus(ux, product(un, c->n[0], D), D), ly = minus(uy, product(un, c->n[1], D), D);
    out.rubs = out.acts & (real_mask)(lx.v * lx.v + ly.v * ly.v > 1e-8);
    if (!(t->friction > 0 && real_any(out.rubs))) {
        out.rubs &= 0;
        return out;
    }
    const dual slide = norm(lx, ly, D), trial = times(half, slide, D), most = times(t->friction, j, D);
    out.sticks = (real_mask)(trial.v < most.v);
    const dual f = choose(out.sticks, trial, most, D);
    const dual fx = times(-1, product(f, quotient(lx, slide, D), D), D),
               fy = times(-1, product(f, quotient(ly, slide, D), D), D);
    push(c->a, fx, fy, 1 / t->mass, out.rubs, D);
    push(c->b, fx, fy, -1 / t->mass, out.rubs, D);
    /* Both arms turn the same way: -r n x f, r n x -f. */
    const dual turn = minus(product(c->n[0], fy, D), product(c->n[1], fx, D), D);
    const double per_inertia = -t->radius / (0.4 * t->mass * t->radius * t->radius);
    c->a->w = choose(out.rubs, add(c->a->w, times(per_inertia, turn, D), D), c->a->w, D);
    c->b->w = choose(out.rubs, add(c->b->w, times(per_inertia, turn, D), D), c->b->w, D);
    return out;
}

INLINE void move(const billiards *t, ball_state *ball, const int D)
{
    for (int i = 0; i < BILLIARDS_BALLS; i++) {
        for (int k = 0; k < 2; k++) {
            ball[i].x[k] = add(ball[i].x[k], times(t->h, ball[i].v[k], D), D);
        }
    }
}

#endif
