/* SPDX-License-Identifier: Apache-2.0 */
/* gp_kernel.h - values of the kernels of a Gaussian process and of their slopes, many at once. */
#ifndef DS_METHODS_GP_KERNEL_H
#define DS_METHODS_GP_KERNEL_H

#include <stddef.h>

enum { GP_SE, GP_MATERN52 };

/* Squared distances r2 (overwritten) to kernel values k of kernel GP_SE or GP_MATERN52 with this
 * variance; h, where wanted, is the factor of d k / d ln length_j = h (z_j - z'_j)^2, which is regular at
 * r = 0. The same bits with every instruction set. */
void kernel_values(int kernel, double variance, size_t count, double *r2, double *h);

/* For tests: uses this instruction set from now on (common/isa.h; NULL: the widest), if the processor has it.
 * Returns its number. */
int kernel_set(const char *name);

#endif
