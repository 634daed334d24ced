/* SPDX-License-Identifier: Apache-2.0 */
/* float_mode.c - see float_mode.h. */
#include "config.h"

#include "worker/float_mode.h"

#include <fenv.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

uint32_t ds_float_mode(void)
{
#if defined(__x86_64__)
    uint16_t x87;
    __asm__ volatile("fnstcw %0" : "=m"(x87));
    return (_mm_getcsr() & ~0x3fu) | ((uint32_t)x87 << 16);
#elif defined(__aarch64__)
    uint64_t fpcr;
    __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
    return (uint32_t)fpcr;
#else
    return (uint32_t)fegetround();
#endif
}

void ds_float_mode_set(uint32_t mode)
{
#if defined(__x86_64__)
    uint16_t x87 = (uint16_t)(mode >> 16);
    __asm__ volatile("fnclex\n\tfldcw %0" : : "m"(x87));
    _mm_setcsr(mode & 0xffffu);
#elif defined(__aarch64__)
    uint64_t fpcr = mode;
    __asm__ volatile("msr fpcr, %0" : : "r"(fpcr));
#else
    fesetround((int)mode);
#endif
}
