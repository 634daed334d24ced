/* SPDX-License-Identifier: Apache-2.0 */
/* contact_law.h - the force of one compliant contact with a plane z = const, from penetration and relative
 * velocity, with adjoint and tangent. Normal force after K. Hunt, F. Crossley, "Coefficient of restitution
 * interpreted as damping in vibroimpact" (1975); friction that is smooth in the sliding velocity, and what a
 * network adds to it or has in its place, after E. Heiden et al., "NeuralSim" (ICRA 2021). With penetration
 * x > 0, its rate r and sliding speed v,
 *     F0 = max(0, k x^(3/2) + d x^(3/2) r),  F = max(0, F0 + f M),
 *     friction = F g(v) + tanh(v / v_s) f N, against the sliding,
 * with what networks make, M and N, of F0 / f, v, x and r. Where they replace, F0 in F, or F g(v), is left
 * out. Damping may fade with penetration, r S(x) in place of r; and as the program of that paper has it
 * (`suction`), r < 0 counts as -|r|^(1/20), almost a constant, and neither F0 nor F is cut at 0: a contact
 * that opens is held back. */
#ifndef DS_ENGINES_CONTACT_LAW_H
#define DS_ENGINES_CONTACT_LAW_H

#include "law_net.h"

#include <diffsim/helper/hybrid.h>

/* Constants: k (N m^-3/2), d (N s m^-5/2), friction while sliding and the most of it, velocity v_s (m/s)
 * below which it is less; then the parameters of the network. */
enum { LAW_STIFFNESS, LAW_DAMPING, LAW_MU, LAW_MU_STATIC, LAW_SLIP, LAW_NETWORK };
enum { LAW_CONSTANTS = LAW_NETWORK + LAW_WEIGHTS };

/* Inputs of networks, normal force in units of f, and their outputs, in that unit. */
enum { LAW_IN_NORMAL, LAW_IN_SPEED, LAW_IN_DEPTH, LAW_IN_RATE, LAW_INPUTS };
enum { LAW_OUT_FRICTION, LAW_OUT_NORMAL, LAW_OUTPUTS };
enum { LAW_HOOKS = LAW_INPUTS + LAW_OUTPUTS };
extern const ds_hook contact_law_hook[LAW_HOOKS]; /* of one number each, in that order */

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

/* S(x), with a = `fade_rate`: 1; 1 / (1 + e^(a x)); the same written as 1/2 - tanh(a x / 2) / 2; 1/2 - a x /
 * (2 (1 + |a x|)). */
typedef enum law_fade { FADE_NONE, FADE_SIGMOID, FADE_TANH, FADE_SOFTSIGN } law_fade;

/* A law, and its constants in one motion: contact_law_set() comes first, then contacts. */
typedef struct contact_law {
    friction_law friction;
    law_fade fade;
    double fade_rate; /* 1/m */
    int suction;
    int network;  /* the one of the source: its parameters are among the constants */
    double force; /* f, N */
    /* that one, of normal force and sliding speed for the friction: 2 - 3 - 2 - 1, exponential linear,
     * then linear, with all biases; law_net.h asks it */
    ds_hybrid source;
    /* Networks of the caller behind it, or NULL; their parameters, the change of them for a tangent, where an
     * adjoint adds the derivatives by them, and a tape. */
    const ds_hybrid *hybrid;
    const double *w, *w_dot;
    double *w_bar, *tape;
    /* Of the motion. */
    double theta[LAW_CONSTANTS], per_slip;
    double kept[LAW_OUTPUTS]; /* 1, or 0: replaced */
    /* What is asked: law_net.h with these weights, of the constants or of one network of the caller that is
     * the same, and the other networks of the caller; either may be NULL. */
    const double *weights;
    const ds_hybrid *others;
    law_net net;
} contact_law;

/* g(v) and its derivatives by v, mu, mu_s and v_s. */
typedef struct contact_friction {
    double g, by_v, by_mu, by_static, by_slip;
} contact_friction;

/* One contact: the force, what it is made of, and derivatives that are known with it. */
typedef struct contact_record {
    double force[3], x, speed, along[2];    /* along: its direction */
    double root, rate, spring, spring_by_x; /* root of x; rate of x; F0 */
    double brake,
        brake_by_rate;    /* what d is multiplied with besides x^(3/2): r where nothing else is asked */
    int pressed, touched; /* F0, F depend on the state: they are not cut at 0 */
    double normal, by_speed, per_speed;     /* F; friction by the speed without networks, over it */
    contact_friction friction;              /* of the law */
    double near, by_near, net[LAW_OUTPUTS]; /* tanh(v / v_s) and its derivative; of the networks, times f */
    double unit[LAW_UNITS];                 /* of the network of the source */
} contact_record;

/* Sums over contacts: derivatives by the first constants, and those of the network. */
typedef struct contact_sums {
    double theta[LAW_NETWORK];
    law_net_sums net;
} contact_sums;

/* The change of constants. */
typedef struct contact_change {
    double theta[LAW_NETWORK];
    law_net net;
} contact_change;

void contact_law_open(contact_law *l, friction_law friction, int network, double force);
/* The constants of the contacts that follow, theta[LAW_CONSTANTS]; hybrid and w are what they will be. */
void contact_law_set(contact_law *l, const double *theta);

/* Force at penetration x > 0 and velocity v[3] of the point. */
void contact_law_force(const contact_law *l, double x, const double v[3], contact_record *out);
/* Adds the derivatives of f_bar . force. */
void contact_law_adjoint(const contact_law *l, const contact_record *r, const double f_bar[3], double *x_bar,
                         double v_bar[3], contact_sums *sums);
/* Adds what the sums are to theta_bar[LAW_CONSTANTS]. */
void contact_law_gather(const contact_law *l, const contact_sums *sums, double *theta_bar);
/* What theta_dot[LAW_CONSTANTS] changes. */
void contact_law_change(const contact_law *l, const double *theta_dot, contact_change *out);
/* f_dot = the change of the force along changes of x, v and the constants. */
void contact_law_tangent(const contact_law *l, const contact_record *r, const contact_change *change,
                         double x_dot, const double v_dot[3], double f_dot[3]);

#endif
