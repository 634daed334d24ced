/* SPDX-License-Identifier: Apache-2.0 */
/* gp_kernel.c - see gp_kernel.h: one loop, compiled for several instruction sets, with our own exponential
 * function, which a compiler turns into vectors. */
#include "methods/bayes/gp_kernel.h"

#include "common/exp.h"

#if defined(__x86_64__) && defined(__GNUC__)
#define ISA_X86 1
#endif

#include "common/isa.h"

#include <math.h>

#define INLINE static inline __attribute__((always_inline))

/* `kernel` is constant where this is inlined. */
INLINE void values(int kernel, double variance, size_t count, double *restrict r2, double *restrict h)
{
    for (size_t i = 0; i < count; i++) {
        const double square = r2[i] > 0.0 ? r2[i] : 0.0;
        if (kernel == GP_SE) {
            r2[i] = h[i] = variance * exp_same(-0.5 * square);
        } else {
            const double q = sqrt(5.0 * square), e = variance * exp_same(-q);
            h[i] = (5.0 / 3.0) * (1.0 + q) * e;
            r2[i] = (1.0 + q + q * q / 3.0) * e;
        }
    }
}

INLINE void any_values(int kernel, double variance, size_t count, double *r2, double *h)
{
    if (kernel == GP_SE) {
        values(GP_SE, variance, count, r2, h);
    } else {
        values(GP_MATERN52, variance, count, r2, h);
    }
}

typedef void (*variant)(int kernel, double variance, size_t count, double *r2, double *h);

#define VARIANT(set, target)                                                                                 \
    target static void values_##set(int kernel, double variance, size_t count, double *r2, double *h)        \
    {                                                                                                        \
        any_values(kernel, variance, count, r2, h);                                                          \
    }

VARIANT(baseline, )
#ifdef ISA_X86
VARIANT(avx2, __attribute__((target("avx2"))))
VARIANT(avx512, __attribute__((target("avx512f,avx512dq,avx512vl"))))
#endif

static int set_here = ISA_BASELINE;

__attribute__((constructor)) static void choose_set(void)
{
    kernel_set(NULL);
}

int kernel_set(const char *name)
{
    return set_here = isa_choose(name);
}

void kernel_values(int kernel, double variance, size_t count, double *r2, double *h)
{
    enum { PIECE = 256 };
    static const variant table[] = ISA_VARIANTS(values, NULL);
    double unused[PIECE];
    for (size_t i = 0; i < count && !h; i += PIECE) {
        table[set_here](kernel, variance, count - i < PIECE ? count - i : PIECE, r2 + i, unused);
    }
    if (h) {
        table[set_here](kernel, variance, count, r2, h);
    }
}
