/* SPDX-License-Identifier: Apache-2.0 */
/* diffsim/helper/network.h - small dense networks inside of a simulation: values, derivatives,
 * initial weights.
 *
 * Header only, optional, no part of the binary interface. A network maps `size[0]` inputs to `size[layers]`
 * outputs,
 *
 *     a_0 = x + c_0,    z_l = W_l a_(l-1) + c_l,    a_l = f_l(z_l),    y = a_layers
 *
 * where any of the biases c_l may be missing. Its parameters are one vector w of `weights` + `biases`
 * doubles: first all weights, layer by layer, row by row (a row belongs to an output of the layer), then all
 * biases, the input bias c_0 first. A step of a simulation and its adjoint:
 *
 *     const uint32_t size[] = {2, 5, 5, 1}, f[] = {DS_NETWORK_ELU, DS_NETWORK_ELU, DS_NETWORK_IDENTITY};
 *     ds_network net;
 *     ds_network_make(&net, 3, size, f, NULL);
 *     ...
 *     force += ds_network_forward(&net, w, state, tape)[0];                     a tape for each call
 *     ...
 *     ds_network_reverse(&net, w, tape, &force_bar, w_bar, state_bar);          adds to both
 *
 * A tape is an array of net.tape doubles of the caller. An adjoint may keep one for each step, or keep the
 * inputs only and go forward again. Nothing is allocated, no function can fail but ds_network_make(); one
 * network serves any number of threads.
 *
 * Networks as parts of the equations of motion: E. Heiden, D. Millard, E. Coumans, Y. Sheng, G. Sukhatme,
 * "NeuralSim: Augmenting differentiable simulators with neural networks", ICRA 2021.
 */
#ifndef DIFFSIM_HELPER_NETWORK_H
#define DIFFSIM_HELPER_NETWORK_H

#include <diffsim/helper/random.h>

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum {
    DS_NETWORK_LAYERS = 8, /* affine maps of a network */
    DS_NETWORK_UNITS = 256 /* of a layer, and inputs */
};

/* f(z) of a layer. */
enum {
    DS_NETWORK_IDENTITY = 0,
    DS_NETWORK_TANH = 1,
    DS_NETWORK_SIN = 2,
    DS_NETWORK_RELU = 3,     /* max(0, z); slope 0 at 0 */
    DS_NETWORK_SOFTRELU = 4, /* log(1 + exp z) */
    DS_NETWORK_ELU = 5,      /* z, below 0 exp(z) - 1 */
    DS_NETWORK_SIGMOID = 6,  /* 1 / (1 + exp -z) */
    DS_NETWORK_SOFTSIGN = 7, /* z / (1 + |z|) */
    DS_NETWORK_ACTIVATIONS = 8
};

/* How initial weights are drawn. */
enum {
    /* Normal with variance 2 / (inputs + outputs) of the layer, biases 0 (X. Glorot, Y. Bengio,
     * "Understanding the difficulty of training deep feedforward neural networks", AISTATS 2010). */
    DS_NETWORK_XAVIER = 0,
    /* As google-research/tiny-differentiable-simulator draws them: that number as the standard deviation, and
     * biases of 0.5. */
    DS_NETWORK_TDS = 1
};

/* A network without its parameters. Made by ds_network_make(), then only read. */
typedef struct ds_network {
    uint32_t layers;                        /* affine maps, hidden layers and 1 */
    uint32_t size[DS_NETWORK_LAYERS + 1];   /* inputs, units of the hidden layers, outputs */
    uint32_t activation[DS_NETWORK_LAYERS]; /* DS_NETWORK_*, of layers 1 .. layers */
    uint32_t bias[DS_NETWORK_LAYERS + 1];   /* is there a c_l, l = 0 .. layers? */
    uint64_t weights, biases;               /* w is `weights`, then `biases` doubles */
    uint64_t tape;                          /* doubles of a tape */
} ds_network;

/* The name of an activation in files and settings; NULL for a number that is none. */
static inline const char *ds_network_activation_name(uint32_t activation);

/* The activation with this name, or DS_NETWORK_ACTIVATIONS where there is none. */
static inline uint32_t ds_network_activation_named(const char *name);

/* A network of `layers` affine maps with `size` (layers + 1 numbers), `activation` (layers) and `bias`
 * (layers + 1, each 0 or 1; NULL: all but the input bias). Returns 0, *net as zeros, where a number is out
 * of range. */
static inline int ds_network_make(ds_network *net, uint32_t layers, const uint32_t *size,
                                  const uint32_t *activation, const uint32_t *bias);

/* All parameters of a network. */
static inline uint64_t ds_network_count(const ds_network *net);

/* Offsets in w of W_l (l = 1 .. layers) and c_l (l = 0 .. layers); a missing one has length 0. */
static inline uint64_t ds_network_weight_at(const ds_network *net, uint32_t l);
static inline uint64_t ds_network_bias_at(const ds_network *net, uint32_t l);

/* What parameter i is called: "w1.2.3" (layer 1, output 2, input 3) or "b0.2" (bias c_0 of input 2), counted
 * from 1. */
static inline void ds_network_name(const ds_network *net, uint64_t i, char *out, size_t size);

/* f(z), and f'(z) from z and f(z). */
static inline double ds_network_value(uint32_t activation, double z);
static inline double ds_network_slope(uint32_t activation, double z, double value);

/* y for x (size[0] numbers) and parameters w. Returns the outputs (size[layers] numbers), which are the end
 * of the tape. */
static inline const double *ds_network_forward(const ds_network *net, const double *w, const double *x,
                                               double *tape);

/* Reverse of the forward pass that wrote `tape` with the same w. y_bar: dL/dy. Adds dL/dw to w_bar and dL/dx
 * to x_bar; either may be NULL. */
static inline void ds_network_reverse(const ds_network *net, const double *w, const double *tape,
                                      const double *y_bar, double *w_bar, double *x_bar);

/* Directional derivative of the forward pass that wrote `tape` with the same w: writes dy/dw w_dot + dy/dx
 * x_dot to y_dot. w_dot, x_dot: NULL = 0. */
static inline void ds_network_tangent(const ds_network *net, const double *w, const double *tape,
                                      const double *w_dot, const double *x_dot, double *y_dot);

/* l1 |W_1| + l2 |w|^2: sparse inputs, and small parameters (weights and biases). Adds its derivative to
 * w_bar, which may be NULL; the derivative of |x| at 0 counts as 0. */
static inline double ds_network_penalty(const ds_network *net, const double *w, double l1, double l2,
                                        double *w_bar);

/* Draws initial parameters as `how` (DS_NETWORK_XAVIER, DS_NETWORK_TDS) says, in the order of w. */
static inline void ds_network_init(const ds_network *net, double *w, uint32_t how, ds_random *random);

#include <diffsim/helper/network.inl>

#endif
