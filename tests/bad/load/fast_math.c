/* SPDX-License-Identifier: Apache-2.0 */
/* fast_math - switches denormals off when it is loaded, as start-up code of -ffast-math does. */
#define BAD_ID "fast_math"
#if defined(__x86_64__)
#include <xmmintrin.h>
__attribute__((constructor)) static void start(void)
{
    _mm_setcsr(_mm_getcsr() | 0x8040u);
}
#endif
#include "env_base.h"
