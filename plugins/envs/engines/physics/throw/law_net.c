/* SPDX-License-Identifier: Apache-2.0 */
/* law_net.c - the network of contact_law.h is multiplied out, and its derivatives are put together
 * (see law_net.h). */
#include "law_net.h"

#include <string.h>

/* Hidden units of the first and of the second layer; where the layers begin among the weights. */
enum { FIRST = 3, SECOND = 2 };
enum { W1, W2 = 6, W3 = 12, B0 = 14, B1 = 16, B2 = 19, B3 = 21 };

void law_net_make(const double *weights, law_net *n)
{
    const double *w1 = weights + W1, *w2 = weights + W2, *w3 = weights + W3, *b0 = weights + B0;
    memset(n, 0, sizeof *n);
    for (int i = 0; i < FIRST; i++) {
        n->w[0][i] = w1[2 * i];
        n->w[1][i] = w1[2 * i + 1];
        n->c[i] = w1[2 * i] * b0[0] + w1[2 * i + 1] * b0[1] + weights[B1 + i];
        n->e[i] = w3[0] * w2[i] + w3[1] * w2[FIRST + i];
    }
    n->c[FIRST] = 1;
    n->e[FIRST] = w3[0] * weights[B2] + w3[1] * weights[B2 + 1] + weights[B3];
}

void law_net_make_tangent(const double *weights, const double *weights_dot, law_net *n_dot)
{
    const double *w1 = weights + W1, *w2 = weights + W2, *w3 = weights + W3, *b0 = weights + B0;
    const double *w1_dot = weights_dot + W1, *w2_dot = weights_dot + W2, *w3_dot = weights_dot + W3;
    memset(n_dot, 0, sizeof *n_dot);
    for (int i = 0; i < FIRST; i++) {
        n_dot->c[i] = weights_dot[B1 + i];
        for (int j = 0; j < LAW_NET_INPUTS; j++) {
            n_dot->w[j][i] = w1_dot[2 * i + j];
            n_dot->c[i] += w1_dot[2 * i + j] * b0[j] + w1[2 * i + j] * weights_dot[B0 + j];
        }
        for (int k = 0; k < SECOND; k++) {
            n_dot->e[i] += w3_dot[k] * w2[FIRST * k + i] + w3[k] * w2_dot[FIRST * k + i];
        }
    }
    n_dot->e[FIRST] = weights_dot[B3];
    for (int k = 0; k < SECOND; k++) {
        n_dot->e[FIRST] += w3_dot[k] * weights[B2 + k] + w3[k] * weights_dot[B2 + k];
    }
}

void law_net_gather(const double *weights, const law_net_sums *sums, double *weights_bar)
{
    const double *w1 = weights + W1, *w2 = weights + W2, *w3 = weights + W3, *b0 = weights + B0;
    const double of_all = sums->a[FIRST];
    for (int i = 0; i < FIRST; i++) {
        for (int j = 0; j < LAW_NET_INPUTS; j++) {
            weights_bar[W1 + 2 * i + j] += sums->zx[j][i] + b0[j] * sums->z[i];
            weights_bar[B0 + j] += w1[2 * i + j] * sums->z[i];
        }
        weights_bar[B1 + i] += sums->z[i];
        for (int k = 0; k < SECOND; k++) {
            weights_bar[W2 + FIRST * k + i] += w3[k] * sums->a[i];
            weights_bar[W3 + k] += w2[FIRST * k + i] * sums->a[i];
        }
    }
    for (int k = 0; k < SECOND; k++) {
        weights_bar[W3 + k] += weights[B2 + k] * of_all;
        weights_bar[B2 + k] += w3[k] * of_all;
    }
    weights_bar[B3] += of_all;
}
