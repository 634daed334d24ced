/* SPDX-License-Identifier: Apache-2.0 */
/* variant.c - thrown cubes side by side (throw_lanes.h), compiled for each instruction set: LANES_ISA is its
 * name, VECTOR_LANES its width. A corner is evaluated for all lanes where it touches the plane in any, and
 * acts in these. */
#include "engines/kit/lanes.h"

#define real vec
#define real_mask vec_bits
#define real_choose vec_choose
#define real_sqrt vec_sqrt
#define real_abs vec_abs
#define real_exp vec_exp
#define real_tanh vec_tanh
#define real_power power
#include "contact_types.h"

/* As that of a double: the C library's. */
VEC_INLINE vec power(vec a)
{
    for (int lane = 0; lane < VECTOR_LANES; lane++) {
        a[lane] = a[lane] < 0 ? pow(-a[lane], 0.05) : 0;
    }
    return a;
}

#include "contact_step.h"
#include "throw_step.h"

/* What differs between motions: vectors only, in the order of throw_table.law. */
typedef struct laws {
    contact_constants first;
    law_net net;
} laws;

/* A corner that touches the plane in a step. */
typedef struct touch {
    vec_bits acts;
    vec arm[3]; /* from the centre of the cube to the lowest point */
    contact_record law;
    uint64_t step, corner;
} touch;

VEC_INLINE laws laws_of(const throw_table *t)
{
    laws l;
    vec *to = (vec *)&l;
    for (int i = 0; i < THROW_LAW; i++) {
        to[i] = vec_load(t->law + i * VECTOR_LANES);
    }
    return l;
}

/* ---- the network of the paper: law_net_forward() and law_net_reverse() of lanes ---- */

/* The last unit is the constant 1. */
VEC_INLINE vec net_forward(const law_net *n, vec normal, vec speed, vec unit[LAW_UNITS])
{
    vec sum[2] = {vec_all(0), vec_all(0)};
    for (int i = 0; i < LAW_UNITS; i++) {
        if (i + 1 < LAW_UNITS) {
            const vec z = n->c[i] + (normal * n->w[0][i] + speed * n->w[1][i]);
            unit[i] = vec_choose((vec_bits)(z >= 0.0), z, vec_expm1(z));
        } else {
            unit[i] = vec_all(1);
        }
        sum[i % 2] += n->e[i] * unit[i];
    }
    return sum[0] + sum[1];
}

VEC_INLINE void net_reverse(const law_net *n, const vec x[LAW_INPUTS], const vec unit[LAW_UNITS], vec y_bar,
                            vec_bits acts, law_net_sums *sums, vec x_bar[LAW_INPUTS])
{
    vec to[LAW_NET_INPUTS][2] = {{vec_all(0), vec_all(0)}, {vec_all(0), vec_all(0)}};
    for (int i = 0; i < LAW_UNITS; i++) {
        sums->a[i] += vec_only(acts, y_bar * unit[i]);
        if (i + 1 == LAW_UNITS) {
            break; /* a constant has no input */
        }
        const vec slope = vec_choose((vec_bits)(unit[i] >= 0.0), vec_all(1), unit[i] + 1.0);
        const vec z_bar = y_bar * n->e[i] * slope;
        sums->z[i] += vec_only(acts, z_bar);
        for (int j = 0; j < LAW_NET_INPUTS; j++) {
            sums->zx[j][i] += vec_only(acts, x[j] * z_bar);
            to[j][i % 2] += n->w[j][i] * z_bar;
        }
    }
    for (int j = 0; j < LAW_NET_INPUTS; j++) {
        x_bar[j] += to[j][0] + to[j][1];
    }
}

/* ---- forward ---- */

VEC_INLINE void force_of(const contact_kind *kind, int network, const laws *l, vec depth, const vec v[3],
                         contact_record *r)
{
    vec net[LAW_OUTPUTS] = {vec_all(0), vec_all(0)};
    contact_begin(kind, &l->first, depth, v, r);
    if (network) {
        vec in[LAW_INPUTS];
        contact_inputs(kind, r, in);
        net[LAW_OUT_FRICTION] = net_forward(&l->net, in[LAW_IN_NORMAL], in[LAW_IN_SPEED], r->unit);
        contact_near(kind, &l->first, r);
    }
    contact_end(kind, v, net, r);
}

/* Forces and torques on the next state; `c` is the first free place for contacts. Returns their number. */
VEC_INLINE uint64_t add_forces(const throw_table *t, const laws *l, uint64_t step, const vec *at, vec *next,
                               touch *c)
{
    const vec height = at[THROW_PLACE + 2] - throw_radius;
    const touch *first = c;
    edges e;
    for (int i = 0; i < 6; i++) {
        next[THROW_FORCE + i] = vec_all(0);
    }
    edges_of(at + THROW_TURN, &e);
    const vec reach = vec_abs(e.e[0][2]) + vec_abs(e.e[1][2]) + vec_abs(e.e[2][2]) + 1e-9;
    if (!vec_any(~(vec_bits)(height > reach))) {
        return 0; /* all spheres are above the plane, the usual case */
    }
    for (uint64_t i = 0; i < THROW_CORNERS; i++) {
        const vec up = corner_of(&e, i, 2), depth = -(height + up);
        const vec_bits acts = (vec_bits)(depth > 0.0);
        if (!vec_any(acts)) {
            continue;
        }
        vec v[3] = {next[THROW_VELOCITY], next[THROW_VELOCITY + 1], next[THROW_VELOCITY + 2]};
        vec torque[3] = {vec_all(0), vec_all(0), vec_all(0)};
        c->acts = acts;
        c->step = step;
        c->corner = i;
        c->arm[0] = corner_of(&e, i, 0);
        c->arm[1] = corner_of(&e, i, 1);
        c->arm[2] = up - throw_radius;
        add_cross(next + THROW_SPIN, c->arm, v);
        force_of(&t->kind, t->network, l, depth, v, &c->law);
        add_cross(c->arm, c->law.force, torque);
        for (int d = 0; d < 3; d++) {
            next[THROW_FORCE + d] += vec_only(acts, c->law.force[d]);
            next[THROW_TORQUE + d] += vec_only(acts, torque[d]);
        }
        c++;
    }
    return (uint64_t)(c - first);
}

/* Simulated minus target number i of a state, 0 if not recorded. */
VEC_INLINE vec error_of(const vec *is, const double *should, int i)
{
    return isnan(should[i]) ? vec_all(0) : is[i] - should[i];
}

VEC_INLINE vec add_squares(const vec *is, const double *should, vec sum)
{
    for (int i = 0; i < THROW_STATES; i++) {
        const vec error = error_of(is, should, i);
        sum += error * error;
    }
    return sum;
}

static void simulate(throw_table *t, double *loss)
{
    const throw_table own = *t; /* nothing that is written can change it */
    const laws l = laws_of(&own);
    vec *kept = (vec *)own.kept, squares = vec_all(0), doubt = vec_all(0);
    touch *contact = (touch *)(void *)own.contact, *c = contact;
    for (int i = 0; i < THROW_KEPT; i++) {
        kept[i] = vec_all(i < THROW_STATES ? own.start[i] : 0);
    }
    squares = add_squares(kept, own.target, squares);
    for (uint64_t k = 0; k < own.steps; k++) {
        const vec *at = kept + k * THROW_KEPT;
        vec *next = kept + (k + 1) * THROW_KEPT, sum = vec_all(0);
        accelerate(own.h, at, next);
        c += add_forces(&own, &l, k, at, next, c);
        next[THROW_NORM] = throw_move(own.h, at, next);
        squares = add_squares(next, own.target + (k + 1) * THROW_STATES, squares);
        for (int i = 0; i < THROW_KEPT; i++) {
            sum += next[i];
        }
        doubt += sum - sum; /* 0 while everything is finite */
    }
    t->contacts = (uint64_t)(c - contact);
    vec_store(loss, squares + doubt);
}

/* ---- adjoint ---- */

/* Reverse of the contacts of a step, the last ones before `end`; returns the first. */
VEC_INLINE const touch *forces_adjoint(const throw_table *t, const laws *l, uint64_t step, const touch *end,
                                       const vec *at, const vec *next, const vec *next_bar, vec *at_bar,
                                       vec *velocity_bar, contact_sums *sums)
{
    const touch *first = (const touch *)(const void *)t->contact, *c = end;
    const vec *torque_bar = next_bar + THROW_TORQUE, none = {0};
    edges bar = {{{none, none, none}, {none, none, none}, {none, none, none}}};
    for (; c > first && c[-1].step == step; c--) {
        const touch *of = c - 1;
        const contact_record *r = &of->law;
        vec f_bar[3], arm_bar[3] = {none, none, none}, v_bar[3] = {none, none, none}, depth_bar = none;
        for (int d = 0; d < 3; d++) {
            f_bar[d] = next_bar[THROW_FORCE + d];
        }
        add_cross(torque_bar, of->arm, f_bar);
        contact_bar b = contact_back(&t->kind, &l->first, r, f_bar, of->acts, t->network, sums->theta);
        if (t->network) {
            vec in[LAW_INPUTS];
            contact_inputs(&t->kind, r, in);
            net_reverse(&l->net, in, r->unit, b.out[LAW_OUT_FRICTION], of->acts, &sums->net, b.in);
        }
        contact_back_end(&t->kind, &l->first, r, f_bar, &b, of->acts, &depth_bar, v_bar, sums->theta);
        add_cross(r->force, torque_bar, arm_bar);
        add_cross(v_bar, next + THROW_SPIN, arm_bar);
        vec spin_bar[3] = {velocity_bar[THROW_SPIN], velocity_bar[THROW_SPIN + 1],
                           velocity_bar[THROW_SPIN + 2]};
        add_cross(of->arm, v_bar, spin_bar);
        at_bar[THROW_PLACE + 2] =
            vec_choose(of->acts, at_bar[THROW_PLACE + 2] - depth_bar, at_bar[THROW_PLACE + 2]);
        arm_bar[2] -= depth_bar;
        for (int d = 0; d < 3; d++) {
            vec *spin = velocity_bar + THROW_SPIN + d, *velocity = velocity_bar + THROW_VELOCITY + d;
            *spin = vec_choose(of->acts, spin_bar[d], *spin);
            *velocity = vec_choose(of->acts, *velocity + v_bar[d], *velocity);
            for (int k = 0; k < 3; k++) {
                bar.e[k][d] += vec_only(of->acts, sign[of->corner][k] * arm_bar[d]);
            }
        }
    }
    if (c < end) {
        edges_adjoint(at + THROW_TURN, &bar, at_bar + THROW_TURN);
    }
    return c;
}

static void adjoint(const throw_table *t, double *out)
{
    const throw_table own = *t;
    const laws l = laws_of(&own);
    const vec none = {0}, *kept = (const vec *)own.kept;
    const touch *end = (const touch *)(const void *)own.contact + own.contacts;
    vec bar[THROW_KEPT];
    contact_sums sums;
    memset(&sums, 0, sizeof sums);
    for (int i = 0; i < THROW_KEPT; i++) {
        bar[i] = i < THROW_STATES
                     ? error_of(kept + own.steps * THROW_KEPT, own.target + own.steps * THROW_STATES, i) * 2.0
                     : none;
    }
    for (uint64_t k = own.steps; k-- > 0;) {
        const vec *at = kept + k * THROW_KEPT, *next = at + THROW_KEPT;
        vec at_bar[THROW_KEPT], velocity_bar[THROW_STATES];
        for (int i = 0; i < THROW_KEPT; i++) {
            at_bar[i] = none;
        }
        for (int i = 0; i < THROW_STATES; i++) {
            velocity_bar[i] = i < THROW_SPIN ? none : bar[i];
        }
        move_adjoint(own.h, at, next, bar, at_bar, velocity_bar);
        end = forces_adjoint(&own, &l, k, end, at, next, bar, at_bar, velocity_bar, &sums);
        for (int d = 0; d < 3; d++) {
            at_bar[THROW_VELOCITY + d] = velocity_bar[THROW_VELOCITY + d];
            at_bar[THROW_SPIN + d] = velocity_bar[THROW_SPIN + d];
            at_bar[THROW_FORCE + d] = own.h / throw_mass * velocity_bar[THROW_VELOCITY + d];
            at_bar[THROW_TORQUE + d] = own.h * velocity_bar[THROW_SPIN + d];
        }
        for (int i = 0; i < THROW_KEPT; i++) {
            const vec more = i < THROW_STATES ? error_of(at, own.target + k * THROW_STATES, i) * 2.0 : none;
            bar[i] = at_bar[i] + more;
        }
    }
    const vec *of = (const vec *)&sums;
    for (int i = 0; i < THROW_SUMS; i++) {
        vec_store(out + i * VECTOR_LANES, of[i]);
    }
}

_Static_assert(sizeof(laws) == THROW_LAW * sizeof(vec), "laws are vectors only");
_Static_assert(sizeof(contact_sums) == THROW_SUMS * sizeof(vec), "sums are vectors only");

ISA_DEFINE(throw_lanes) = {ISA_NAME(LANES_ISA), VECTOR_LANES, sizeof(touch) / sizeof(vec), simulate, adjoint};
