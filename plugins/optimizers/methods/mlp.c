/* SPDX-License-Identifier: Apache-2.0 */
/* methods/mlp.c - forward and backward passes as matrix products, see mlp.h. */
#include "mlp.h"

#include "blas.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

mlp mlp_make(size_t inputs, size_t hidden_count, const size_t *hidden, size_t outputs, int activation)
{
    mlp net = {.layers = (int)hidden_count + 1, .activation = activation};
    net.size[0] = inputs;
    for (size_t i = 0; i < hidden_count; i++) {
        net.size[i + 1] = hidden[i];
    }
    net.size[net.layers] = outputs;
    net.weights = mlp_matrix(&net, net.layers);
    return net;
}

size_t mlp_matrix(const mlp *net, int l)
{
    size_t at = 0;
    for (int i = 0; i < l; i++) {
        at += (net->size[i] + 1) * net->size[i + 1];
    }
    return at;
}

size_t mlp_bias(const mlp *net, int l)
{
    return mlp_matrix(net, l) + net->size[l] * net->size[l + 1];
}

int mlp_tape_init(mlp_tape *tape, const mlp *net, size_t rows)
{
    size_t widest = 0, sum = 0;
    memset(tape, 0, sizeof *tape);
    for (int l = 1; l <= net->layers; l++) {
        sum += net->size[l];
        widest = net->size[l] > widest ? net->size[l] : widest;
    }
    tape->rows = rows;
    tape->memory = malloc((sum + 2 * widest) * rows * sizeof(float));
    if (!tape->memory) {
        return 0;
    }
    float *at = tape->memory;
    for (int l = 0; l < net->layers; l++) {
        tape->layer[l] = at;
        at += net->size[l + 1] * rows;
    }
    tape->slope[0] = at;
    tape->slope[1] = at + widest * rows;
    return 1;
}

void mlp_tape_free(mlp_tape *tape)
{
    free(tape->memory);
    tape->memory = NULL;
}

/* Near 0 an odd polynomial, else 1 - 2/(exp(2|x|) + 1); one formula for both branches, so that compilers
 * vectorise it. Coefficients: S. Moshier, Cephes, tanhf.c and expf.c. */
static inline float tanh_of(float x)
{
    float a = fminf(fabsf(x), 10.0f), z = a * a;
    float small =
        ((((-5.70498872745e-3f * z + 2.06390887954e-2f) * z - 5.37397155531e-2f) * z + 1.33314422036e-1f) *
             z -
         3.33332819422e-1f) *
            z * a +
        a;
    float t = 2.0f * a, n = (float)(int)(t * 1.44269504088896341f + 0.5f);
    float r = t - n * 0.693359375f + n * 2.12194440e-4f;
    float p =
        ((((1.9875691500e-4f * r + 1.3981999507e-3f) * r + 8.3334519073e-3f) * r + 4.1665795894e-2f) * r +
         1.6666665459e-1f) *
            r +
        5.0000001201e-1f;
    union {
        int bits;
        float value;
    } power = {((int)n + 127) << 23};
    float e = (p * r * r + r + 1.0f) * power.value;
    float large = 1.0f - 2.0f / (e + 1.0f);
    float y = copysignf(a < 0.625f ? small : large, x);
    return isnan(x) ? x : y;
}

void mlp_tanh(size_t count, const float *x, float *y)
{
    for (size_t i = 0; i < count; i++) {
        y[i] = tanh_of(x[i]);
    }
}

/* y = f(y + b), row by row. */
static void bias_and_activation(size_t rows, size_t width, const float *restrict b, int activation,
                                float *restrict y)
{
    for (size_t r = 0; r < rows; r++, y += width) {
        if (activation == MLP_RELU) {
            for (size_t i = 0; i < width; i++) {
                float t = y[i] + b[i];
                y[i] = t < 0.0f ? 0.0f : t;
            }
            continue;
        }
        for (size_t i = 0; i < width; i++) {
            y[i] += b[i];
        }
        if (activation == MLP_TANH) {
            mlp_tanh(width, y, y);
        }
    }
}

const float *mlp_forward(const mlp *net, const float *w, size_t rows, const float *x, mlp_tape *tape)
{
    const float *in = x;
    for (int l = 0; l < net->layers; l++) {
        int k = (int)net->size[l], n = (int)net->size[l + 1];
        float *out = tape->layer[l];
        const float *matrix = w + mlp_matrix(net, l);
        if (rows == 1) {
            cblas_sgemv(CblasRowMajor, CblasNoTrans, n, k, 1.0f, matrix, k, in, 1, 0.0f, out, 1);
        } else {
            cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)rows, n, k, 1.0f, in, k, matrix, k,
                        0.0f, out, n);
        }
        bias_and_activation(rows, net->size[l + 1], w + mlp_bias(net, l),
                            l + 1 < net->layers ? net->activation : -1, out);
        in = out;
    }
    return in;
}

/* Sums of the columns: the gradient of a bias. */
static void sum_rows(size_t rows, size_t width, const float *restrict d, float *restrict sum)
{
    memset(sum, 0, width * sizeof *sum);
    for (size_t r = 0; r < rows; r++, d += width) {
        for (size_t i = 0; i < width; i++) {
            sum[i] += d[i];
        }
    }
}

/* d *= f'(.), from the outputs y = f(.). */
static void slope_of_activation(size_t count, const float *restrict y, int activation, float *restrict d)
{
    if (activation == MLP_RELU) {
        for (size_t i = 0; i < count; i++) {
            d[i] = y[i] > 0.0f ? d[i] : 0.0f;
        }
    } else {
        for (size_t i = 0; i < count; i++) {
            d[i] *= 1.0f - y[i] * y[i];
        }
    }
}

void mlp_backward(const mlp *net, const float *w, size_t rows, const float *x, mlp_tape *tape,
                  const float *dy, float *dw, float *dx)
{
    const float *d = dy;
    for (int l = net->layers - 1; l >= 0; l--) {
        int k = (int)net->size[l], n = (int)net->size[l + 1];
        const float *in = l > 0 ? tape->layer[l - 1] : x;
        if (dw) {
            cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, n, k, (int)rows, 1.0f, d, n, in, k, 0.0f,
                        dw + mlp_matrix(net, l), k);
            sum_rows(rows, net->size[l + 1], d, dw + mlp_bias(net, l));
        }
        float *below = l > 0 ? tape->slope[l % 2] : dx;
        if (below) {
            cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)rows, k, n, 1.0f, d, n,
                        w + mlp_matrix(net, l), k, 0.0f, below, k);
        }
        if (l > 0) {
            slope_of_activation(rows * net->size[l], in, net->activation, below);
        }
        d = below;
    }
}

/* ---- initial weights ---- */

/* Rows 0..count-1 of `a` (length entries each, length >= count) become orthonormal: Gram-Schmidt, twice for
 * accuracy. Its triangular factor has a positive diagonal, so that the result is distributed evenly. */
static void orthonormalise(size_t count, size_t length, double *a)
{
    for (size_t i = 0; i < count; i++) {
        double *v = a + i * length;
        for (int pass = 0; pass < 2; pass++) {
            for (size_t k = 0; k < i; k++) {
                double dot = cblas_ddot((int)length, a + k * length, 1, v, 1);
                cblas_daxpy((int)length, -dot, a + k * length, 1, v, 1);
            }
        }
        cblas_dscal((int)length, 1.0 / cblas_dnrm2((int)length, v, 1), v, 1);
    }
}

int mlp_init_orthogonal(const mlp *net, float *w, double gain, double gain_out, ds_random *random)
{
    memset(w, 0, net->weights * sizeof *w);
    for (int l = 0; l < net->layers; l++) {
        size_t in = net->size[l], out = net->size[l + 1];
        size_t count = in < out ? in : out, length = in < out ? out : in;
        double g = l + 1 < net->layers ? gain : gain_out;
        double *a = malloc(count * length * sizeof *a);
        if (!a) {
            return 0;
        }
        for (size_t i = 0; i < count * length; i++) {
            a[i] = ds_random_normal(random);
        }
        orthonormalise(count, length, a);
        float *matrix = w + mlp_matrix(net, l);
        for (size_t o = 0; o < out; o++) {
            for (size_t i = 0; i < in; i++) {
                matrix[o * in + i] = (float)(g * (in < out ? a[i * length + o] : a[o * length + i]));
            }
        }
        free(a);
    }
    return 1;
}

void mlp_init_uniform(const mlp *net, float *w, ds_random *random)
{
    for (int l = 0; l < net->layers; l++) {
        double bound = 1.0 / sqrt((double)net->size[l]);
        for (size_t i = mlp_matrix(net, l); i < mlp_matrix(net, l + 1); i++) {
            w[i] = (float)(bound * (2.0 * ds_random_uniform(random) - 1.0));
        }
    }
}
