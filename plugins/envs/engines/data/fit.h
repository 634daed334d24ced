/* SPDX-License-Identifier: Apache-2.0 */
/* fit.h - how far a simulated motion is from a recorded one: residuals and the sum of their squares, over a
 * part of the samples; angles are compared on the circle, what is missing in the recording counts nothing,
 * and the weight may fall with time. After E. Heiden et al., "NeuralSim: Augmenting differentiable simulators
 * with neural networks" (ICRA 2021), equation 1, whose program gives the term at time t the weight 1 /
 * (a t)^b. */
#ifndef DS_ENGINES_RECORDING_FIT_H
#define DS_ENGINES_RECORDING_FIT_H

#include <diffsim/helper/memory.h>

enum { FIT_QUANTITIES = 16 };

typedef struct fit {
    /* samples, and how many of them the loss counts: the first; the others are held out */
    uint64_t rows, fitted;
    uint64_t quantities; /* numbers of a sample */
    uint32_t angles;     /* bit q: quantity q is an angle, rad */
    double *target;      /* [rows][quantities]; NAN: missing */
    double *weight;      /* [rows][quantities], of the residual: the square root of that of its square */
} fit;

/* Arrays for it of `m`, with weights of 1. 0: no memory. */
int fit_open(fit *f, ds_memory *m, uint64_t rows, uint64_t quantities);
/* Multiplies the weights of sample i by those of its time, i dt: (a t)^(-b/2); that of sample 0, which the
 * start makes what it is, becomes 0. */
void fit_fade(fit *f, double dt, double a, double b);

/* Simulated minus recorded, of an angle in [-pi, pi], without its weight; 0 where it is missing. */
double fit_error(const fit *f, uint64_t row, uint64_t quantity, double got);
/* Residuals r[fitted][quantities], or NULL, for what was simulated, got[rows][quantities]; returns the sum of
 * their squares. */
double fit_residuals(const fit *f, const double *got, double *r);
/* The root mean square of the errors without weights over samples `from` .. `to` - 1, over all quantities
 * that are there; NAN where none is. */
double fit_rms(const fit *f, const double *got, uint64_t from, uint64_t to);

#endif
