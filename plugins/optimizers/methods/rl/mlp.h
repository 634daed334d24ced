/* SPDX-License-Identifier: Apache-2.0 */
/* mlp.h - fully connected networks in single precision: forward pass, backward pass, initial weights.
 *
 *     h_0 = x,   h_l = f(W_l h_{l-1} + b_l) for the hidden layers,   y = W_L h_{L-1} + b_L
 *
 * with f = tanh or max(0, .). All weights of a network are one vector of floats, layer after layer: W_l
 * (outputs x inputs, row-major), then b_l. A batch is a matrix with one sample per row.
 */
#ifndef DS_METHODS_MLP_H
#define DS_METHODS_MLP_H

#include <diffsim/helper/random.h>

#include <stddef.h>
#include <stdint.h>

enum { MLP_MAX_LAYERS = 9 };
enum { MLP_TANH = 0, MLP_RELU = 1 };

typedef struct mlp {
    int layers;                      /* affine maps: hidden layers and 1 */
    int activation;                  /* MLP_* of the hidden layers */
    size_t size[MLP_MAX_LAYERS + 1]; /* inputs, hidden, outputs */
    size_t weights;                  /* floats of the weight vector */
} mlp;

/* Outputs of every layer for up to `rows` samples; the last one is the network's. */
typedef struct mlp_tape {
    size_t rows;
    float *layer[MLP_MAX_LAYERS];
    float *slope[2]; /* work space of the backward pass */
    float *turned;   /* a matrix transposed */
    float *memory;
} mlp_tape;

/* At most MLP_MAX_LAYERS - 1 hidden layers. */
mlp mlp_make(size_t inputs, size_t hidden_count, const size_t *hidden, size_t outputs, int activation);

/* Where W_l (l = 0 ... layers - 1) begins in the weight vector, and where b_l does. */
size_t mlp_matrix(const mlp *net, int l);
size_t mlp_bias(const mlp *net, int l);

/* 0 without memory. Release with mlp_tape_free() (NULLs are fine). */
int mlp_tape_init(mlp_tape *tape, const mlp *net, size_t rows);
void mlp_tape_free(mlp_tape *tape);

/* y (rows x outputs) for x (rows x inputs), rows <= tape->rows. Returns the output layer of the tape. */
const float *mlp_forward(const mlp *net, const float *w, size_t rows, const float *x, mlp_tape *tape);

/* Backward pass for the first `rows` samples of the last forward pass with the same w and x. dy (rows x
 * outputs): d loss / d y. Writes, where not NULL, d loss / d w to dw and d loss / d x (rows x inputs) to dx.
 */
void mlp_backward(const mlp *net, const float *w, size_t rows, const float *x, mlp_tape *tape,
                  const float *dy, float *dw, float *dx);

/* Only the rows keep[0] < keep[1] < ... of the last forward pass remain, as rows 0 ... count - 1. */
void mlp_tape_keep(const mlp *net, mlp_tape *tape, size_t count, const size_t *keep);

/* Orthogonal matrices times `gain` in the hidden layers and `gain_out` in the last one, zero biases (A. Saxe
 * et al., arXiv:1312.6120). 0 without memory. */
int mlp_init_orthogonal(const mlp *net, float *w, double gain, double gain_out, ds_random *random);

/* Weights and biases uniform in +-1/sqrt(inputs of the layer), as PyTorch's Linear has them. */
void mlp_init_uniform(const mlp *net, float *w, ds_random *random);

/* ---- Adam and averages of weights ---- */

/* Adam for the weights of networks, and the averages of weights that target networks are.
 *
 *     m = b1 m + (1 - b1) g,   v = b2 v + (1 - b2) g^2
 *     w = w - lr / (1 - b1^t) m / (sqrt(v / (1 - b2^t)) + eps),     b1 = 0.9, b2 = 0.999 unless set
 *
 * Source: D. Kingma, J. Ba, "Adam: a method for stochastic optimization", ICLR 2015. */

typedef struct float_adam {
    size_t count;
    double eps;
    double beta1, beta2; /* 0.9, 0.999 by float_adam_init() */
    int64_t steps;
    float *m, *v;
} float_adam;

/* 0 without memory. */
int float_adam_init(float_adam *a, size_t count, double eps);
void float_adam_free(float_adam *a);

/* One step against the gradient g times `scale`. */
void float_adam_step(float_adam *a, double lr, double scale, const float *g, float *w);

/* target += tau (w - target) */
void float_average(size_t count, double tau, const float *w, float *target);

/* Euclidean norm, summed in double in sixteen parts. */
double float_length(size_t count, const float *g);

#endif
