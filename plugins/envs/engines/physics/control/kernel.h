/* SPDX-License-Identifier: Apache-2.0 */
/* kernel.h - functions of each variant of the controllers' kernel. All variants give the same bits. */
#ifndef DS_ENGINES_CONTROL_KERNEL_H
#define DS_ENGINES_CONTROL_KERNEL_H

#include <stddef.h>

typedef struct control_kernel {
    const char *isa;
    /* out[n] = tanh(sum over p of signal[p] weight[p][n]); n is a multiple of 8. */
    void (*activate)(size_t n, size_t phases, const double *signal, const double *weight, double *out);
    /* bar[p][n] += signal[p] scale (1 - tanh^2) act_bar[n]; act_bar is overwritten. */
    void (*adjoint)(size_t n, size_t phases, double scale, const double *signal, const double *tanh,
                    double *act_bar, double *bar);
} control_kernel;

#endif
