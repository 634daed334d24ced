/* SPDX-License-Identifier: Apache-2.0 */
/* mlp.c - forward and backward passes as matrix products, see mlp.h: those of mlp_loops.h, of BLAS for large
 * layers. */
#include "methods/rl/mlp.h"

#include "methods/base/blas.h"
#include "methods/rl/mlp_loops.h"

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

/* Sides of a matrix that would not fill a vector. */
enum { NARROW = 8 };

static int is_large(size_t in, size_t out)
{
    return in > NARROW && out > NARROW && in * out > LOOP_LARGE;
}

int mlp_tape_init(mlp_tape *tape, const mlp *net, size_t rows)
{
    size_t widest = 0, sum = 0, turned = 0;
    memset(tape, 0, sizeof *tape);
    for (int l = 1; l <= net->layers; l++) {
        size_t in = net->size[l - 1], out = net->size[l];
        sum += loop_room(out * rows);
        widest = out > widest ? out : widest;
        turned = !is_large(in, out) && in * out > turned ? in * out : turned;
    }
    tape->rows = rows;
    size_t work = loop_room(widest * rows);
    float *at = tape->memory = loop_memory(sum + 2 * work + turned);
    if (!at) {
        return 0;
    }
    for (int l = 0; l < net->layers; l++) {
        tape->layer[l] = at;
        at += loop_room(net->size[l + 1] * rows);
    }
    tape->slope[0] = at;
    tape->slope[1] = at + work;
    tape->turned = at + 2 * work;
    return 1;
}

void mlp_tape_free(mlp_tape *tape)
{
    free(tape->memory);
    tape->memory = NULL;
}

void mlp_tape_keep(const mlp *net, mlp_tape *tape, size_t count, const size_t *keep)
{
    for (int l = 0; l < net->layers; l++) {
        size_t width = net->size[l + 1];
        for (size_t r = 0; r < count; r++) {
            memmove(tape->layer[l] + r * width, tape->layer[l] + keep[r] * width, width * sizeof(float));
        }
    }
}

/* y = f(W x + b) for each row. */
static void affine(size_t rows, size_t in, size_t out, const float *x, const float *matrix, const float *b,
                   int f, mlp_tape *tape, float *y)
{
    if (is_large(in, out)) {
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)rows, (int)out, (int)in, 1.0f, x, (int)in,
                    matrix, (int)in, 0.0f, y, (int)out);
    } else if (rows > 1 && out > NARROW) {
        loop_transpose(out, in, matrix, tape->turned);
        loop_product(&(loop_factors){rows, in, out, x, in, 1, tape->turned, b, f, NULL}, y);
        return;
    } else {
        loop_dots(rows, in, out, x, matrix, y);
    }
    loop_bias(rows, out, b, f == LOOP_RELU, y);
    if (f == LOOP_TANH) {
        loop_squash(rows * out, y, y);
    }
}

static int loop_of(const mlp *net, int l)
{
    return l + 1 == net->layers ? LOOP_LINEAR : (net->activation == MLP_RELU ? LOOP_RELU : LOOP_TANH);
}

const float *mlp_forward(const mlp *net, const float *w, size_t rows, const float *x, mlp_tape *tape)
{
    const float *in = x;
    for (int l = 0; l < net->layers; l++) {
        float *out = tape->layer[l];
        affine(rows, net->size[l], net->size[l + 1], in, w + mlp_matrix(net, l), w + mlp_bias(net, l),
               loop_of(net, l), tape, out);
        in = out;
    }
    return in;
}

/* Gradients of an affine map's matrix and bias from its inputs x and d = d loss / d outputs. */
static void affine_gradient(size_t rows, size_t in, size_t out, const float *x, const float *d,
                            mlp_tape *tape, float *matrix, float *b)
{
    if (is_large(in, out)) {
        cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, (int)out, (int)in, (int)rows, 1.0f, d, (int)out,
                    x, (int)in, 0.0f, matrix, (int)in);
    } else if (in <= NARROW) {
        loop_product(&(loop_factors){in, rows, out, x, 1, in, d, NULL, LOOP_LINEAR, NULL}, tape->turned);
        loop_transpose(in, out, tape->turned, matrix);
    } else {
        loop_product(&(loop_factors){out, rows, in, d, 1, out, x, NULL, LOOP_LINEAR, NULL}, matrix);
    }
    loop_sums(rows, out, d, b);
}

/* below = d W, rows x in, times the slope of f where its values are `of` (NULL: no f). */
static void affine_back(size_t rows, size_t in, size_t out, const float *d, const float *matrix, int f,
                        const float *of, mlp_tape *tape, float *below)
{
    if (is_large(in, out)) {
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)rows, (int)in, (int)out, 1.0f, d,
                    (int)out, matrix, (int)in, 0.0f, below, (int)in);
    } else if (in > NARROW) {
        loop_product(&(loop_factors){rows, out, in, d, out, 1, matrix, NULL, f, of}, below);
        return;
    } else {
        loop_transpose(out, in, matrix, tape->turned);
        loop_dots(rows, out, in, d, tape->turned, below);
    }
    if (of && f == LOOP_RELU) {
        loop_relu_slope(rows * in, of, below);
    } else if (of) {
        loop_tanh_slope(rows * in, of, below);
    }
}

void mlp_backward(const mlp *net, const float *w, size_t rows, const float *x, mlp_tape *tape,
                  const float *dy, float *dw, float *dx)
{
    const float *d = dy;
    for (int l = net->layers - 1; l >= 0; l--) {
        size_t in = net->size[l], out = net->size[l + 1];
        const float *from = l > 0 ? tape->layer[l - 1] : x;
        if (dw) {
            affine_gradient(rows, in, out, from, d, tape, dw + mlp_matrix(net, l), dw + mlp_bias(net, l));
        }
        float *below = l > 0 ? tape->slope[l % 2] : dx;
        if (below) {
            affine_back(rows, in, out, d, w + mlp_matrix(net, l), l > 0 ? loop_of(net, l - 1) : LOOP_LINEAR,
                        l > 0 ? from : NULL, tape, below);
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

/* ---- Adam and averages of weights ---- */

/* Up to here 1 - b of a b in single precision is right to 3e-5; at 0.999999 it is off by 1.3 %. */
#define MOST_PLAIN 0.999

int float_adam_init(float_adam *a, size_t count, double eps)
{
    a->count = count;
    a->eps = eps;
    a->beta1 = 0.9;
    a->beta2 = 0.999;
    a->steps = 0;
    a->m = loop_memory(2 * loop_room(count));
    a->v = a->m ? a->m + loop_room(count) : NULL;
    return a->m != NULL;
}

void float_adam_free(float_adam *a)
{
    free(a->m);
    a->m = a->v = NULL;
}

void float_adam_step(float_adam *a, double lr, double scale, const float *g, float *w)
{
    a->steps++;
    double t = (double)a->steps;
    float rate = (float)(lr / (1.0 - pow(a->beta1, t)));
    float root = (float)(1.0 / sqrt(1.0 - pow(a->beta2, t)));
    if (fmax(a->beta1, a->beta2) > MOST_PLAIN) {
        loop_adam_slow(a->count, (float)scale, (float)(1.0 - a->beta1), (float)(1.0 - a->beta2), rate, root,
                       (float)a->eps, g, a->m, a->v, w);
    } else {
        loop_adam(a->count, (float)scale, (float)a->beta1, (float)a->beta2, rate, root, (float)a->eps, g,
                  a->m, a->v, w);
    }
}

void float_average(size_t count, double tau, const float *w, float *target)
{
    if (tau == 1.0) { /* exactly */
        memcpy(target, w, count * sizeof *w);
    } else {
        loop_average(count, (float)tau, w, target);
    }
}

double float_length(size_t count, const float *g)
{
    double sum;
    loop_squares(count, g, &sum);
    return sqrt(sum);
}
