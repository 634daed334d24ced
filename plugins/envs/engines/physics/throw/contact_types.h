/* SPDX-License-Identifier: Apache-2.0 */
/* contact_types.h - one compliant contact (contact_law.h): its constants, and what is kept of it; for one
 * motion and for several side by side. The file that includes it defines
 *     real, real_mask    a double and an int, or vectors with one motion in each lane. */
#ifndef DS_ENGINES_CONTACT_TYPES_H
#define DS_ENGINES_CONTACT_TYPES_H

/* Constants: k (N m^-3/2), d (N s m^-5/2), sliding and maximal friction mu and mu_s, velocity v_s (m/s) below
 * which friction decreases; then the parameters of the network. */
enum { LAW_STIFFNESS, LAW_DAMPING, LAW_MU, LAW_MU_STATIC, LAW_SLIP, LAW_NETWORK };

/* Inputs of networks (normal force in units of f) and their outputs (in units of f). */
enum { LAW_IN_NORMAL, LAW_IN_SPEED, LAW_IN_DEPTH, LAW_IN_RATE, LAW_INPUTS };
enum { LAW_OUT_FRICTION, LAW_OUT_NORMAL, LAW_OUTPUTS };

/* The network of the paper: weights, inputs, units. */
enum { LAW_WEIGHTS = 22, LAW_NET_INPUTS = 2, LAW_UNITS = 4 };
enum { LAW_CONSTANTS = LAW_NETWORK + LAW_WEIGHTS };

/* g(v), with u = v / v_s:
 *   Coulomb    mu
 *   tanh       mu tanh u
 *   Andersson  (mu + (mu_s - mu) e^-v) tanh v                                 (v in m/s)
 *   Hollars    min(u, 1) (mu + 2 (mu_s - mu) / (1 + u^2))
 *   Brown      mu tanh 4u + (mu_s - mu) u / (u^2 / 4 + 3/4)^2 */
typedef enum friction_law {
    FRICTION_NONE,
    FRICTION_COULOMB,
    FRICTION_TANH,
    FRICTION_ANDERSSON,
    FRICTION_HOLLARS,
    FRICTION_BROWN
} friction_law;

/* S(x), with a = `fade_rate`: 1; 1 / (1 + e^(a x)); the same as 1/2 - tanh(a x / 2) / 2; 1/2 - a x / (2 (1 +
 * |a x|)). */
typedef enum law_fade { FADE_NONE, FADE_SIGMOID, FADE_TANH, FADE_SOFTSIGN } law_fade;

/* Which law, for all motions side by side. */
typedef struct contact_kind {
    friction_law friction;
    law_fade fade;
    double fade_rate; /* 1/m */
    int suction;
    double force;             /* f, N */
    double kept[LAW_OUTPUTS]; /* 1, or 0: networks replace it */
} contact_kind;

#ifdef real
/* The first constants, and 1 / v_s. */
typedef struct contact_constants {
    real theta[LAW_NETWORK], per_slip;
} contact_constants;

/* The network multiplied out, or its change along its weights. */
typedef struct law_net {
    real w[LAW_NET_INPUTS][LAW_UNITS], c[LAW_UNITS], e[LAW_UNITS];
} law_net;

/* Sums over contacts of y_bar a, z_bar and z_bar x, which give the derivatives by the weights. */
typedef struct law_net_sums {
    real a[LAW_UNITS], z[LAW_UNITS], zx[LAW_NET_INPUTS][LAW_UNITS];
} law_net_sums;

/* g(v) and its derivatives by v, mu, mu_s and v_s. */
typedef struct contact_friction {
    real g, by_v, by_mu, by_static, by_slip;
} contact_friction;

/* One contact: force, intermediate values, and the derivatives that come with them. */
typedef struct contact_record {
    real force[3], x, speed, along[2];    /* along: direction of the sliding */
    real root, rate, spring, spring_by_x; /* root of x; rate of x; F0 */
    real brake, brake_by_rate;            /* factor of d besides x^(3/2); usually r */
    real_mask pressed, touched;           /* yes: F0, F depend on the state (not cut at 0) */
    real normal, by_speed, per_speed;     /* F; derivative of friction by the speed; friction / speed */
    contact_friction friction;            /* of the law */
    /* tanh(v / v_s) and its derivative; outputs of the networks times f */
    real near, by_near, net[LAW_OUTPUTS];
    real unit[LAW_UNITS]; /* units of the network of the paper */
} contact_record;

/* Sums over contacts: derivatives by the first constants, and sums for those of the network. */
typedef struct contact_sums {
    real theta[LAW_NETWORK];
    law_net_sums net;
} contact_sums;
#endif

#endif
