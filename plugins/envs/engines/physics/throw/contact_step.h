/* SPDX-License-Identifier: Apache-2.0 */
/* contact_step.h - force of one compliant contact and its adjoint (contact_law.h), around its networks,
 * written once for one motion and for several side by side. The file that includes it defines those of
 * contact_types.h and
 *     real_choose(mask, a, b), real_sqrt(), real_abs(), real_exp(), real_tanh()
 *     real_power()    |a|^(1/20)
 * of which a lane has the bits of a double's. */
#ifndef DS_ENGINES_CONTACT_STEP_H
#define DS_ENGINES_CONTACT_STEP_H

#include "contact_types.h"

#define CONTACT_INLINE static inline __attribute__((always_inline, unused))

/* a where yes, else 0. */
#define REAL_ONLY(yes, a) real_choose(yes, a, (real){0})

/* The friction mu p(u) + (mu_s - mu) q(u) with its derivatives. */
CONTACT_INLINE contact_friction mixed(const contact_constants *l, real u, real p, real p_u, real q, real q_u)
{
    const real mu = l->theta[LAW_MU], more = l->theta[LAW_MU_STATIC] - mu, by_u = mu * p_u + more * q_u;
    return (contact_friction){mu * p + more * q, by_u * l->per_slip, p - q, q, -by_u * u * l->per_slip};
}

CONTACT_INLINE contact_friction friction_of(const contact_kind *kind, const contact_constants *l, real v)
{
    const real *theta = l->theta, u = v * l->per_slip, none = {0};
    if (kind->friction == FRICTION_COULOMB) {
        return (contact_friction){theta[LAW_MU], none, none + 1.0, none, none};
    }
    if (kind->friction == FRICTION_TANH) {
        const real t = real_tanh(u);
        return mixed(l, u, t, 1 - t * t, none, none);
    }
    if (kind->friction == FRICTION_ANDERSSON) {
        const real t = real_tanh(v), e = real_exp(-v), slope = 1 - t * t;
        contact_friction f = mixed(l, u, t, none, e * t, none);
        f.by_v = theta[LAW_MU] * slope + (theta[LAW_MU_STATIC] - theta[LAW_MU]) * e * (slope - t);
        f.by_slip = none;
        return f;
    }
    if (kind->friction == FRICTION_HOLLARS) {
        const real_mask slow = (real_mask)(u < 1.0);
        const real most = real_choose(slow, u, none + 1.0), rises = REAL_ONLY(slow, none + 1.0);
        const real q = 2 / (1 + u * u);
        return mixed(l, u, most, rises, most * q, rises * q - most * q * q * u);
    }
    if (kind->friction == FRICTION_BROWN) {
        const real t = real_tanh(4 * u), per = 1 / (0.25 * u * u + 0.75), square = per * per;
        return mixed(l, u, t, 4 * (1 - t * t), u * square, square - u * u * square * per);
    }
    return (contact_friction){none, none, none, none, none};
}

/* S(x), and its derivative. */
CONTACT_INLINE real fade_of(const contact_kind *kind, real x, real *by_x)
{
    const double a = kind->fade_rate;
    const real u = a * x;
    if (kind->fade == FADE_SIGMOID) {
        const real s = 1 / (1 + real_exp(u));
        *by_x = -a * s * (1 - s);
        return s;
    }
    if (kind->fade == FADE_TANH) {
        const real t = real_tanh(u / 2);
        *by_x = -a * (1 - t * t) / 4;
        return (1 - t) / 2;
    }
    const real per = 1 / (1 + real_abs(u));
    *by_x = -a * per * per / 2;
    return (1 - u * per) / 2;
}

/* Sets the factor of d besides x^(3/2) if it is not the rate; returns its derivative by x. */
CONTACT_INLINE real other_brake(const contact_kind *kind, contact_record *r)
{
    real by_x = {0};
    if (kind->suction) {
        const real_mask opens = (real_mask)(r->rate < 0.0);
        const real held = -real_power(r->rate);
        r->brake = real_choose(opens, held, r->brake);
        r->brake_by_rate = real_choose(opens, 0.05 * r->brake / r->rate, r->brake_by_rate);
    }
    if (kind->fade != FADE_NONE) {
        const real fade = fade_of(kind, r->x, &by_x);
        by_x *= r->brake;
        r->brake *= fade;
        r->brake_by_rate *= fade;
    }
    return by_x;
}

/* Normal force of the springs. */
CONTACT_INLINE void press(const contact_kind *kind, const contact_constants *l, contact_record *r)
{
    const int other = kind->suction || kind->fade != FADE_NONE;
    const real_mask always = (real_mask){0} - (kind->suction != 0);
    r->brake = r->rate;
    r->brake_by_rate = (real){0} + 1.0;
    const real brake_by_x = other ? other_brake(kind, r) : (real){0};
    const real stiff = l->theta[LAW_STIFFNESS] + l->theta[LAW_DAMPING] * r->brake;
    r->pressed = (real_mask)(stiff > 0.0) | always;
    r->spring = REAL_ONLY(r->pressed, r->x * r->root * stiff);
    r->spring_by_x = REAL_ONLY(r->pressed, 1.5 * r->root * stiff);
    if (other) {
        r->spring_by_x = real_choose(
            r->pressed, r->spring_by_x + r->x * r->root * l->theta[LAW_DAMPING] * brake_by_x, r->spring_by_x);
    }
}

/* At penetration x > 0 and velocity v of the point: what the networks see, and the friction of the law. */
CONTACT_INLINE void contact_begin(const contact_kind *kind, const contact_constants *l, real x,
                                  const real v[3], contact_record *r)
{
    r->x = x;
    r->root = real_sqrt(x);
    r->rate = -v[2];
    press(kind, l, r);
    r->speed = real_sqrt(v[0] * v[0] + v[1] * v[1]);
    const real per_speed = REAL_ONLY((real_mask)(r->speed > 0.0), 1 / r->speed);
    r->along[0] = v[0] * per_speed;
    r->along[1] = v[1] * per_speed;
    r->friction = friction_of(kind, l, r->speed);
    r->near = r->by_near = (real){0};
}

/* Inputs of the networks; the network of the paper uses the first two. */
CONTACT_INLINE void contact_inputs(const contact_kind *kind, const contact_record *r, real in[LAW_INPUTS])
{
    in[LAW_IN_NORMAL] = r->spring / kind->force;
    in[LAW_IN_SPEED] = r->speed;
    in[LAW_IN_DEPTH] = r->x;
    in[LAW_IN_RATE] = r->rate;
}

/* With networks: how their friction begins with the speed. */
CONTACT_INLINE void contact_near(const contact_kind *kind, const contact_constants *l, contact_record *r)
{
    r->near = kind->friction == FRICTION_TANH ? r->friction.by_mu : real_tanh(r->speed * l->per_slip);
    r->by_near = (1 - r->near * r->near) * l->per_slip;
}

/* Sets the force, with the outputs of the networks in units of f (0 without). */
CONTACT_INLINE void contact_end(const contact_kind *kind, const real v[3], const real net[LAW_OUTPUTS],
                                contact_record *r)
{
    const real_mask always = (real_mask){0} - (kind->suction != 0);
    const real per_speed = REAL_ONLY((real_mask)(r->speed > 0.0), 1 / r->speed);
    r->net[LAW_OUT_FRICTION] = kind->force * net[LAW_OUT_FRICTION];
    r->net[LAW_OUT_NORMAL] = kind->force * net[LAW_OUT_NORMAL];
    const real normal = kind->kept[LAW_OUT_NORMAL] * r->spring + r->net[LAW_OUT_NORMAL];
    r->touched = (real_mask)(normal > 0.0) | always;
    r->normal = REAL_ONLY(r->touched, normal);
    const real kept = kind->kept[LAW_OUT_FRICTION] * r->normal;
    r->by_speed = kept * r->friction.by_v + r->by_near * r->net[LAW_OUT_FRICTION];
    r->per_speed =
        real_choose((real_mask)(r->speed > 1e-12),
                    (kept * r->friction.g + r->near * r->net[LAW_OUT_FRICTION]) * per_speed, r->by_speed);
    r->force[0] = -r->per_speed * v[0];
    r->force[1] = -r->per_speed * v[1];
    r->force[2] = r->normal;
}

/* ---- adjoint ---- */

/* What the adjoint of a contact needs before and after that of the networks. */
typedef struct contact_bar {
    real against, normal;                  /* derivatives by the friction and by the normal force */
    real out[LAW_OUTPUTS], in[LAW_INPUTS]; /* of the networks */
} contact_bar;

/* f_bar: derivatives by the force; adds those by the constants where the contact `acts`. */
CONTACT_INLINE contact_bar contact_back(const contact_kind *kind, const contact_constants *l,
                                        const contact_record *r, const real f_bar[3], real_mask acts,
                                        int networks, real theta_bar[LAW_NETWORK])
{
    contact_bar b;
    b.against = -(f_bar[0] * r->along[0] + f_bar[1] * r->along[1]);
    const real kept = b.against * kind->kept[LAW_OUT_FRICTION], pressed = kept * r->normal;
    b.normal = REAL_ONLY(r->touched, f_bar[2] + kept * r->friction.g);
    theta_bar[LAW_MU] += REAL_ONLY(acts, pressed * r->friction.by_mu);
    theta_bar[LAW_MU_STATIC] += REAL_ONLY(acts, pressed * r->friction.by_static);
    theta_bar[LAW_SLIP] += REAL_ONLY(acts, pressed * r->friction.by_slip);
    for (int i = 0; i < LAW_INPUTS; i++) {
        b.in[i] = (real){0};
    }
    if (networks) {
        b.out[LAW_OUT_FRICTION] = b.against * r->near * kind->force;
        b.out[LAW_OUT_NORMAL] = b.normal * kind->force;
        theta_bar[LAW_SLIP] -=
            REAL_ONLY(acts, b.against * r->by_near * r->net[LAW_OUT_FRICTION] * r->speed * l->per_slip);
    }
    return b;
}

/* After the adjoint of the networks has set b->in: adds the derivatives by penetration and velocity. */
CONTACT_INLINE void contact_back_end(const contact_kind *kind, const contact_constants *l,
                                     const contact_record *r, const real f_bar[3], const contact_bar *b,
                                     real_mask acts, real *x_bar, real v_bar[3], real theta_bar[LAW_NETWORK])
{
    const real_mask pressed = r->pressed & acts;
    const real speed_bar = b->against * (r->by_speed - r->per_speed) + b->in[LAW_IN_SPEED];
    for (int i = 0; i < 2; i++) {
        v_bar[i] += speed_bar * r->along[i] - r->per_speed * f_bar[i];
    }
    *x_bar += b->in[LAW_IN_DEPTH];
    v_bar[2] -= b->in[LAW_IN_RATE];
    const real spring_bar = kind->kept[LAW_OUT_NORMAL] * b->normal + b->in[LAW_IN_NORMAL] / kind->force;
    const real power_bar = spring_bar * r->x * r->root;
    *x_bar = real_choose(pressed, *x_bar + spring_bar * r->spring_by_x, *x_bar);
    v_bar[2] =
        real_choose(pressed, v_bar[2] - l->theta[LAW_DAMPING] * power_bar * r->brake_by_rate, v_bar[2]);
    theta_bar[LAW_STIFFNESS] += REAL_ONLY(pressed, power_bar);
    theta_bar[LAW_DAMPING] += REAL_ONLY(pressed, power_bar * r->brake);
}

#endif
