/* SPDX-License-Identifier: Apache-2.0 */
/* variant.c - particles side by side (penalty_law.h), compiled for each instruction set: LANES_ISA is
 * its name, VECTOR_LANES its width.
 *
 * Every lane has its own time. Lanes fly until each is in contact or at its end, those in contact wait for
 * the others; then they take their steps in contact together, until each flies again. So a vector of
 * episodes takes about as many steps with contact as the longest of them, although contacts do not coincide.
 *
 * Terms of penalty.c that are multiplied by a 0 of a normal are left out: they change no bit of a finite
 * state. An episode that is not finite is evaluated alone. */
#include "penalty_law.h"

#include "engines/kit/lanes.h"

static const double smallest = 1e-12; /* as in penalty.c */

enum { AHEAD = 8 }; /* steps of a flight without a test, where no plane can be reached */

typedef struct state {
    vec t, x, y, z, u, v, w; /* steps, position, velocity: no arrays, which compilers keep in memory */
} state;

VEC_INLINE vec_bits touches(const penalty_params *p, const state *s)
{
    return (vec_bits)(s->y < p->radius) | ~(vec_bits)(s->x < p->wall - p->radius);
}

VEC_INLINE void fly_once(const penalty_params *p, double fall, state *s)
{
    s->v -= fall;
    s->x += p->h * s->u;
    s->y += p->h * s->v;
    s->z += p->h * s->w;
}

VEC_INLINE void take(vec_bits yes, const state *from, double steps, state *to)
{
    to->t += vec_only(yes, vec_all(steps));
    to->x = vec_choose(yes, from->x, to->x);
    to->y = vec_choose(yes, from->y, to->y);
    to->z = vec_choose(yes, from->z, to->z);
    to->u = vec_choose(yes, from->u, to->u);
    to->v = vec_choose(yes, from->v, to->v);
    to->w = vec_choose(yes, from->w, to->w);
}

/* Flies until no lane does. */
VEC_INLINE void fly(const penalty_params *p, double steps, state *s)
{
    /* Ground and wall cannot be reached within AHEAD steps; 1.1: more than rounding can need. */
    const double fall = p->h * p->gravity, ahead = 1.1 * AHEAD * p->h, fallen = AHEAD * (fall > 0 ? fall : 0);
    for (;;) {
        const vec_bits flying = ~touches(p, s) & (vec_bits)(s->t < steps);
        if (!vec_any(flying)) {
            return;
        }
        state next = *s;
        const vec down = vec_most(fallen - s->v, vec_all(0)), right = vec_most(s->u, vec_all(0));
        const vec_bits far = flying & (vec_bits)(s->t <= steps - AHEAD) &
                             (vec_bits)(s->y - p->radius > ahead * down) &
                             (vec_bits)((p->wall - p->radius) - s->x > ahead * right);
        if (vec_any(far)) {
            for (int k = 0; k < AHEAD; k++) {
                fly_once(p, fall, &next);
            }
            take(far, &next, AHEAD, s);
        } else {
            fly_once(p, fall, &next);
            take(flying, &next, 1, s);
        }
    }
}

/* ---- contact with one plane ---- */

enum { WALL = 0, GROUND = 1 }; /* the axis of the normal; that of the wall points against it */

/* along: the component of the velocity along the axis of the normal; a, b: the others. */
typedef struct touch {
    vec approach, push, N, speed;
    vec_bits sliding;
} touch;

VEC_INLINE vec gap_of(const penalty_params *p, vec x, vec y, const int axis)
{
    return axis == GROUND ? y - p->radius : p->wall - x - p->radius;
}

VEC_INLINE vec_bits is_touching(vec c, const int axis)
{
    return axis == GROUND ? (vec_bits)(c < 0.0) : (vec_bits)(c <= 0.0);
}

VEC_INLINE touch examine(const penalty_params *p, vec c, vec along, vec a, vec b, const int axis,
                         const int friction)
{
    const vec vn = axis == GROUND ? along : -along;
    touch t;
    t.approach = vec_only((vec_bits)(vn < 0.0) & is_touching(c, axis), vn);
    t.push = p->ke * vec_only((vec_bits)(c < 0.0), -c);
    t.N = axis == GROUND ? t.push - p->kd * t.approach : t.push;
    t.speed = friction ? vec_sqrt(a * a + b * b + smallest) : vec_all(0);
    t.sliding = (vec_bits)(p->mu * t.N < p->kf * t.speed);
    return t;
}

/* Adds the force of a plane in the lanes `on` to f (along the axis) and fa, fb. */
VEC_INLINE void add_force(const penalty_params *p, vec c, vec along, vec a, vec b, vec_bits on,
                          const int axis, const int friction, vec *f, vec *fa, vec *fb)
{
    const touch t = examine(p, c, along, a, b, axis, friction);
    const vec press = p->kd * t.approach - t.push;
    *f -= vec_only(on, axis == GROUND ? press : -press);
    if (friction) {
        const vec drag = vec_choose(t.sliding, p->mu * t.N / t.speed, vec_all(p->kf));
        *fa -= vec_only(on, a * drag);
        *fb -= vec_only(on, b * drag);
    }
}

/* A step of the lanes in contact. */
VEC_INLINE void contact_step(const penalty_params *p, vec_bits active, const int friction, state *s)
{
    state next = *s;
    const vec ground = gap_of(p, s->x, s->y, GROUND), wall = gap_of(p, s->x, s->y, WALL);
    const vec_bits on_ground = active & is_touching(ground, GROUND),
                   on_wall = active & is_touching(wall, WALL);
    vec fx = {0}, fy = {0}, fz = {0};
    add_force(p, ground, s->v, s->u, s->w, on_ground, GROUND, friction, &fy, &fx, &fz);
    if (vec_any(on_wall)) {
        add_force(p, wall, s->u, s->v, s->w, on_wall, WALL, friction, &fx, &fy, &fz);
    }
    next.u += p->h * (fx / p->mass);
    next.v += p->h * (fy / p->mass - p->gravity);
    next.w += p->h * (fz / p->mass);
    next.x += p->h * next.u;
    next.y += p->h * next.v;
    next.z += p->h * next.w;
    take(active, &next, 1, s);
}

VEC_INLINE uint64_t run(const penalty_params *p, uint64_t steps, double *record, double *x, double *v,
                        const int friction)
{
    const double end = (double)steps;
    const uint64_t n = VECTOR_LANES;
    uint64_t records = 0;
    state s = {vec_all(0),  vec_load(x),     vec_load(x + n),    vec_load(x + 2 * n),
               vec_load(v), vec_load(v + n), vec_load(v + 2 * n)};
    for (;;) {
        fly(p, end, &s);
        vec_bits active = (vec_bits)(s.t < end);
        if (!vec_any(active)) {
            break;
        }
        for (; vec_any(active); active &= touches(p, &s) & (vec_bits)(s.t < end)) {
            if (record != NULL) {
                double *r = record + records++ * PENALTY_RECORD * n;
                vec_store(r, s.t);
                vec_store(r + n, (vec)active);
                vec_store(r + 2 * n, s.x);
                vec_store(r + 3 * n, s.y);
                vec_store(r + 4 * n, s.u);
                vec_store(r + 5 * n, s.v);
                vec_store(r + 6 * n, s.w);
            }
            contact_step(p, active, friction, &s);
        }
    }
    vec_store(x, s.x);
    vec_store(x + n, s.y);
    vec_store(x + 2 * n, s.z);
    vec_store(v, s.u);
    vec_store(v + n, s.v);
    vec_store(v + 2 * n, s.w);
    return records;
}

static uint64_t simulate(const penalty_params *p, uint64_t steps, double *record, double *x, double *v)
{
    return p->kf > 0 ? run(p, steps, record, x, v, 1) : run(p, steps, record, x, v, 0);
}

/* ---- reverse ---- */

/* reverse_force() of penalty.c in the lanes `on`. f, fa, fb: derivatives by the force along the axis and the
 * others; adds to those by the position along the axis and by the velocity. */
VEC_INLINE void reverse_force(const penalty_params *p, vec c, vec along, vec a, vec b, vec_bits on,
                              const int axis, const int friction, vec f, vec fa, vec fb, vec *x_bar,
                              vec *along_bar, vec *a_bar, vec *b_bar)
{
    const double sign = axis == GROUND ? 1 : -1;
    const touch t = examine(p, c, along, a, b, axis, friction);
    vec press_bar = -(sign * f), push_bar = {0}, normal_bar = {0}, normal = {0};
    if (friction) {
        const vec work = a * fa + b * fb, drag = p->mu * t.N / t.speed, square = t.speed * t.speed;
        const vec N_bar = vec_only(t.sliding, -p->mu * work / t.speed), slow = vec_all(-p->kf);
        *a_bar += vec_only(on, vec_choose(t.sliding, -drag * (fa - a * work / square), slow * fa));
        *b_bar += vec_only(on, vec_choose(t.sliding, -drag * (fb - b * work / square), slow * fb));
        normal_bar = vec_choose(t.sliding, -drag * f, slow * f);
        normal = sign * normal_bar;
        if (axis == GROUND) {
            press_bar -= N_bar;
        } else {
            push_bar += N_bar;
        }
    }
    push_bar -= press_bar;
    const vec c_bar = -push_bar * p->ke; /* times the slope of the spring, 1 */
    const vec n_bar = vec_only((vec_bits)(t.approach < 0.0), p->kd * press_bar) - normal;
    *x_bar += vec_only(on, sign * c_bar);
    *along_bar += vec_only(on, normal_bar + sign * n_bar);
}

VEC_INLINE void reverse(const penalty_params *p, uint64_t steps, const double *record, uint64_t records,
                        double *x_bar, double *v_bar, const int friction)
{
    const uint64_t n = VECTOR_LANES;
    vec now = vec_all((double)steps), xb = vec_load(x_bar), yb = vec_load(x_bar + n),
        zb = vec_load(x_bar + 2 * n);
    vec ub = vec_load(v_bar), vb = vec_load(v_bar + n), wb = vec_load(v_bar + 2 * n);
    while (records-- > 0) {
        const double *r = record + records * PENALTY_RECORD * n;
        const vec t = vec_load(r), x = vec_load(r + 2 * n), y = vec_load(r + 3 * n);
        const vec u = vec_load(r + 4 * n), v = vec_load(r + 5 * n), w = vec_load(r + 6 * n);
        const vec_bits active = (vec_bits)vec_load(r + n);
        const vec flight = p->h * (now - t);
        const vec ground = gap_of(p, x, y, GROUND), wall = gap_of(p, x, y, WALL);
        const vec_bits on_ground = active & is_touching(ground, GROUND),
                       on_wall = active & is_touching(wall, WALL);
        ub += vec_only(active, flight * xb);
        vb += vec_only(active, flight * yb);
        wb += vec_only(active, flight * zb);
        const vec fx = p->h * ub / p->mass, fy = p->h * vb / p->mass, fz = p->h * wb / p->mass;
        reverse_force(p, ground, v, u, w, on_ground, GROUND, friction, fy, fx, fz, &yb, &vb, &ub, &wb);
        if (vec_any(on_wall)) {
            reverse_force(p, wall, u, v, w, on_wall, WALL, friction, fx, fy, fz, &xb, &ub, &vb, &wb);
        }
        now = vec_choose(active, t, now);
    }
    vec_store(x_bar, xb);
    vec_store(x_bar + n, yb);
    vec_store(x_bar + 2 * n, zb);
    vec_store(v_bar, ub + p->h * now * xb);
    vec_store(v_bar + n, vb + p->h * now * yb);
    vec_store(v_bar + 2 * n, wb + p->h * now * zb);
}

static void adjoint(const penalty_params *p, uint64_t steps, const double *record, uint64_t records,
                    double *x_bar, double *v_bar)
{
    if (p->kf > 0) {
        reverse(p, steps, record, records, x_bar, v_bar, 1);
    } else {
        reverse(p, steps, record, records, x_bar, v_bar, 0);
    }
}

ISA_DEFINE(penalty_lanes) = {ISA_NAME(LANES_ISA), VECTOR_LANES, simulate, adjoint};
