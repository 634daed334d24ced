/* SPDX-License-Identifier: Apache-2.0 */
/* law_net.h - the network of contact_law.h, 2 - 3 - 2 - 1 with all biases, exponential linear, then linear:
 * value and derivatives in few operations. What is linear is multiplied out once for a motion,
 *
 *     y = e . a + e_0,   a_i = elu(z_i),   z = W x + c,
 *     c = W_1 b_0 + b_1,   e = w_3 W_2,   e_0 = w_3 . b_2 + b_3
 *
 * in vectors of four numbers, the last of which is e_0 with a = 1; and since e . a is all that the loss sees
 * of the later layers, the derivatives by their weights are those of sums over all contacts. Weights are in
 * the order of diffsim/helper/network.h. */
#ifndef DS_ENGINES_LAW_NET_H
#define DS_ENGINES_LAW_NET_H

#include "common/vector_math.h"

#if VECTOR_LANES != 2
#error "the vectors here are two of two"
#endif

enum { LAW_WEIGHTS = 22, LAW_NET_INPUTS = 2, LAW_UNITS = 4 };

/* Multiplied out; or its change along one of the weights. */
typedef struct law_net {
    double w[LAW_NET_INPUTS][LAW_UNITS], c[LAW_UNITS], e[LAW_UNITS];
} law_net;

/* Sums over contacts of what the derivatives by the weights are made of: of y_bar a, z_bar and z_bar x. */
typedef struct law_net_sums {
    double a[LAW_UNITS], z[LAW_UNITS], zx[LAW_NET_INPUTS][LAW_UNITS];
} law_net_sums;

/* Of weights[LAW_WEIGHTS]. */
void law_net_make(const double *weights, law_net *n);
/* The change of that along weights_dot[LAW_WEIGHTS]. */
void law_net_make_tangent(const double *weights, const double *weights_dot, law_net *n_dot);
/* Adds the derivatives by the weights to weights_bar[LAW_WEIGHTS]. */
void law_net_gather(const double *weights, const law_net_sums *sums, double *weights_bar);

/* y; a[LAW_UNITS] is for the functions below. */
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

/* Adds to the sums and to x_bar. */
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

/* The change of y along those of the weights and of x. */
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

#endif
