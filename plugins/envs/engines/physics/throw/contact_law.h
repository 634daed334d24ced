/* SPDX-License-Identifier: Apache-2.0 */
/* contact_law.h - the force of one compliant contact with a plane z = const, from penetration and relative
 * velocity, with adjoint and tangent. Normal force after K. Hunt, F. Crossley, "Coefficient of restitution
 * interpreted as damping in vibroimpact" (1975). Friction that is smooth in the sliding velocity, and
 * networks that add to it or replace it, after E. Heiden et al., "NeuralSim" (ICRA 2021). With penetration x
 * > 0, its rate r and sliding speed v,
 *     F0 = max(0, k x^(3/2) + d x^(3/2) r),  F = max(0, F0 + f M),
 *     friction = F g(v) + tanh(v / v_s) f N, against the sliding,
 * with M and N, the outputs of networks of F0 / f, v, x and r. If a network replaces, F0 in F, or F g(v), is
 * omitted. Damping may fade with penetration: r S(x) replaces r. With `suction`, as in the program of that
 * paper, r < 0 counts as -|r|^(1/20), almost a constant, and neither F0 nor F is cut at 0: an opening contact
 * is held back. */
#ifndef DS_ENGINES_CONTACT_LAW_H
#define DS_ENGINES_CONTACT_LAW_H

#include "common/vector_math.h"

#define real double
#define real_mask int
#include "contact_types.h"

#include <diffsim/helper/hybrid.h>

/* ---- the network of the paper ---- */

/* The network of the paper, 2 - 3 - 2 - 1 with all biases, exponential linear, then linear: value and
 * derivatives in few operations. The linear part is multiplied out once per motion,
 *
 *     y = e . a + e_0,   a_i = elu(z_i),   z = W x + c,
 *     c = W_1 b_0 + b_1,   e = w_3 W_2,   e_0 = w_3 . b_2 + b_3
 *
 * in vectors of four numbers, the last of which is e_0 with a = 1. The loss depends on the later layers only
 * through e . a, so the derivatives by their weights follow from sums over all contacts. Weights are in the
 * order of diffsim/helper/network.h. */

#if VECTOR_LANES != 2
#error "law_net needs VECTOR_LANES = 2"
#endif

/* Multiplies out weights[LAW_WEIGHTS]. */
void law_net_make(const double *weights, law_net *n);
/* Its change along weights_dot[LAW_WEIGHTS]. */
void law_net_make_tangent(const double *weights, const double *weights_dot, law_net *n_dot);
/* Adds the derivatives by the weights to weights_bar[LAW_WEIGHTS]. */
void law_net_gather(const double *weights, const law_net_sums *sums, double *weights_bar);

/* Returns y; sets a[LAW_UNITS] for the functions below. */
VEC_INLINE double law_net_forward(const law_net *n, const double x[LAW_NET_INPUTS], double *a)
{
    vec sum = vec_all(0);
    for (int i = 0; i < LAW_UNITS; i += VECTOR_LANES) {
        const vec z = vec_load(n->c + i) + (x[0] * vec_load(n->w[0] + i) + x[1] * vec_load(n->w[1] + i));
        const vec unit = vec_choose((vec_bits)(z >= 0.0), z, vec_expm1(z));
        vec_store(a + i, unit);
        sum += vec_load(n->e + i) * unit;
    }
    return sum[0] + sum[1];
}

/* Reverse: adds to the sums and to x_bar. */
VEC_INLINE void law_net_reverse(const law_net *n, const double x[LAW_NET_INPUTS], const double *a,
                                double y_bar, law_net_sums *sums, double x_bar[LAW_NET_INPUTS])
{
    vec to[LAW_NET_INPUTS] = {vec_all(0), vec_all(0)};
    for (int i = 0; i < LAW_UNITS; i += VECTOR_LANES) {
        const vec unit = vec_load(a + i), slope = vec_choose((vec_bits)(unit >= 0.0), vec_all(1), unit + 1.0);
        const vec z_bar = y_bar * vec_load(n->e + i) * slope;
        vec_store(sums->a + i, vec_load(sums->a + i) + y_bar * unit);
        vec_store(sums->z + i, vec_load(sums->z + i) + z_bar);
        for (int j = 0; j < LAW_NET_INPUTS; j++) {
            vec_store(sums->zx[j] + i, vec_load(sums->zx[j] + i) + x[j] * z_bar);
            to[j] += vec_load(n->w[j] + i) * z_bar;
        }
    }
    for (int j = 0; j < LAW_NET_INPUTS; j++) {
        x_bar[j] += to[j][0] + to[j][1];
    }
}

/* Returns the change of y along those of the weights and of x. */
VEC_INLINE double law_net_tangent(const law_net *n, const law_net *n_dot, const double x[LAW_NET_INPUTS],
                                  const double *a, const double x_dot[LAW_NET_INPUTS])
{
    vec sum = vec_all(0);
    for (int i = 0; i < LAW_UNITS; i += VECTOR_LANES) {
        const vec unit = vec_load(a + i), slope = vec_choose((vec_bits)(unit >= 0.0), vec_all(1), unit + 1.0);
        vec z_dot = vec_load(n_dot->c + i);
        for (int j = 0; j < LAW_NET_INPUTS; j++) {
            z_dot += x[j] * vec_load(n_dot->w[j] + i) + x_dot[j] * vec_load(n->w[j] + i);
        }
        sum += vec_load(n_dot->e + i) * unit + vec_load(n->e + i) * slope * z_dot;
    }
    return sum[0] + sum[1];
}

enum { LAW_HOOKS = LAW_INPUTS + LAW_OUTPUTS };
extern const ds_hook contact_law_hook[LAW_HOOKS]; /* one number each, in that order */

/* A law and its constants in one motion: call contact_law_set() first, then evaluate contacts. */
typedef struct contact_law {
    contact_kind kind;
    int network; /* 1: the network of the paper, with its parameters among the constants */
    /* that network, from normal force and sliding speed to friction: 2 - 3 - 2 - 1, exponential linear, then
     * linear, with all biases; evaluated by law_net_forward() */
    ds_hybrid source;
    /* Networks of the caller, or NULL; their parameters, the change of these for a tangent, where an adjoint
     * adds derivatives by them, and a tape. */
    const ds_hybrid *hybrid;
    const double *w, *w_dot;
    double *w_bar, *tape;
    /* Constants of the motion. */
    double theta[LAW_CONSTANTS];
    contact_constants first; /* the first of them */
    /* What is evaluated: law_net with these weights (of the constants, or of the caller's network if it is
     * the same), and the other networks of the caller; either may be NULL. */
    const double *weights;
    const ds_hybrid *others;
    law_net net;
} contact_law;

/* The change of constants. */
typedef struct contact_change {
    double theta[LAW_NETWORK];
    law_net net;
} contact_change;

void contact_law_open(contact_law *l, friction_law friction, int network, double force);
/* Sets theta[LAW_CONSTANTS] of the following contacts; set hybrid and w before. */
void contact_law_set(contact_law *l, const double *theta);

/* Force at penetration x > 0 and velocity v[3] of the point. */
void contact_law_force(const contact_law *l, double x, const double v[3], contact_record *out);
/* Adds the derivatives of f_bar . force. */
void contact_law_adjoint(const contact_law *l, const contact_record *r, const double f_bar[3], double *x_bar,
                         double v_bar[3], contact_sums *sums);
/* Adds the derivatives that follow from the sums to theta_bar[LAW_CONSTANTS]. */
void contact_law_gather(const contact_law *l, const contact_sums *sums, double *theta_bar);
/* Change of the constants along theta_dot[LAW_CONSTANTS]. */
void contact_law_change(const contact_law *l, const double *theta_dot, contact_change *out);
/* f_dot = change of the force along those of x, v and the constants. */
void contact_law_tangent(const contact_law *l, const contact_record *r, const contact_change *change,
                         double x_dot, const double v_dot[3], double f_dot[3]);

#endif
