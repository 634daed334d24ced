/* SPDX-License-Identifier: Apache-2.0 */
/* bbob_draw.c - the random numbers of the BBOB suite (a minimal standard generator with a shuffle table, as
 * RR-6829 documents it), and the two distortions T_osz and T_asy. */
#include "bbob_draw.h"

#include <math.h>
#include <stdlib.h>

enum { TABLE = 32, WARM_UP = 40 };

static const double modulus = 2147483647; /* 2^31 - 1 */
static const double pi = 3.14159265358979323846;

/* Park and Miller's generator by Schrage's method: no product leaves 2^31. */
static double next_state(double state)
{
    double high = floor(state / 127773);
    state = 16807 * (state - high * 127773) - 2836 * high;
    return state < 0 ? state + modulus : state;
}

void bbob_uniform(double seed, uint64_t count, double *out)
{
    double table[TABLE], state = fmod(fabs(seed), modulus);
    state = state < 1 ? 1 : state;
    for (int i = WARM_UP; i-- > 0;) {
        state = next_state(state);
        if (i < TABLE) {
            table[i] = state;
        }
    }
    double drawn = table[0];
    for (uint64_t i = 0; i < count; i++) {
        state = next_state(state);
        int slot = (int)floor(drawn / 67108865);
        drawn = table[slot];
        table[slot] = state;
        out[i] = drawn > 0 ? drawn / modulus : 1e-99;
    }
}

/* Normal numbers (Box and Muller, cosine only), then Gram and Schmidt row by row. */
int bbob_rotation(double seed, uint64_t n, double *out)
{
    uint64_t count = n * n;
    double *u = malloc(2 * count * sizeof(double));
    if (!u) {
        return 0;
    }
    bbob_uniform(seed, 2 * count, u);
    for (uint64_t k = 0; k < count; k++) {
        double g = sqrt(-2 * log(u[k])) * cos(2 * pi * u[count + k]);
        out[k] = g != 0 ? g : 1e-99;
    }
    free(u);
    for (uint64_t i = 0; i < n; i++) {
        double *row = out + i * n, square = 0;
        for (uint64_t j = 0; j < i; j++) {
            double dot = 0;
            for (uint64_t k = 0; k < n; k++) {
                dot += row[k] * out[j * n + k];
            }
            for (uint64_t k = 0; k < n; k++) {
                row[k] -= dot * out[j * n + k];
            }
        }
        for (uint64_t k = 0; k < n; k++) {
            square += row[k] * row[k];
        }
        for (uint64_t k = 0; k < n; k++) {
            row[k] /= sqrt(square);
        }
    }
    return 1;
}

double bbob_osz(double t, double *slope)
{
    if (t == 0) {
        if (slope) {
            *slope = 1;
        }
        return 0;
    }
    double c1 = t > 0 ? 10 : 5.5, c2 = t > 0 ? 7.9 : 3.1, l = log(fabs(t));
    double ratio = exp(0.049 * (sin(c1 * l) + sin(c2 * l)));
    if (slope) {
        *slope = ratio * (1 + 0.049 * (c1 * cos(c1 * l) + c2 * cos(c2 * l)));
    }
    return t * ratio;
}

double bbob_asy(double t, double power, double *slope)
{
    if (!(t > 0) || power == 0) {
        if (slope) {
            *slope = 1;
        }
        return t;
    }
    double root = power * sqrt(t), l = log(t), ratio = exp(root * l);
    if (slope) {
        *slope = ratio * (1 + root + 0.5 * root * l);
    }
    return t * ratio;
}
